//! Compares a candidate's Mercurial status with that of `hg` itself, over random operations.

mod operations;
mod portions;
mod prepared;
mod questions;
mod run;
pub mod sandbox;
pub mod server;

pub use operations::PartialCheckouts;
pub use run::{FORMATS, Settings, Totals, run};
