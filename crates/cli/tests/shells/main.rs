//! Vigil in shells: completions and manual pages.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "all of this file is tests"
)]

mod bash;
mod fish;
mod pages;
mod sandbox;
mod zsh;
