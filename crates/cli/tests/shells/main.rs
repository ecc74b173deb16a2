//! Vigil in shells: the output of `vigil init`, evaluated on terminals; completions, manual pages, and what `make install`
//! installs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "all of this file is tests"
)]

mod bash;
mod command;
mod fish;
mod functions;
mod install;
mod late_answers;
mod pages;
mod prompt;
mod robustness;
mod sandbox;
mod shell;
mod tmux;
mod zsh;
