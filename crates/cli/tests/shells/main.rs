//! Vigil in shells: completions, manual pages, and what `make install` puts in place.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "all of this file is tests"
)]

mod bash;
mod fish;
mod install;
mod pages;
mod sandbox;
mod zsh;
