//! The Linux system calls Vigil needs, behind safe functions.
//!
//! This crate is the only one with `unsafe` code; each block says what it relies on. It knows nothing of
//! git, Mercurial or Vigil's own formats.

pub mod clock;
pub mod dir;
pub mod errno;
pub mod filesystem;
pub mod inotify;
pub mod lock;
pub mod map;
pub mod memory;
pub mod process;
pub mod signals;
pub mod stat;

pub use rustix::io::Errno;
