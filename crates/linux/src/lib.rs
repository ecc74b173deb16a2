//! The Linux system calls that Vigil needs, behind safe functions.
//!
//! May import none of Vigil's other crates. It is the only one with `unsafe` code; each block says what it relies on. It
//! never interprets the kernel's answers, and knows nothing of git, Mercurial or Vigil's own formats.

pub mod activation;
pub mod blocking;
pub mod clock;
pub mod dir;
pub mod ending;
pub mod errno;
pub mod filesystem;
pub mod inotify;
pub mod limits;
pub mod lock;
pub mod map;
pub mod memory;
pub mod mounts;
pub mod opening;
pub mod process;
pub mod process_handle;
pub mod signals;
pub mod socket;
pub mod stat;

pub use rustix::io::Errno;
