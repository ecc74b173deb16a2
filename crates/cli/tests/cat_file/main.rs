//! `vigil cat-file` compared with `git cat-file`: the same bytes, messages and exit codes.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod batches;
mod contents;
mod damage;
mod names;
mod sandbox;
