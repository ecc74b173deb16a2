//! Tells whether a file or folder is still what was looked at: stamps, observations, and how far clocks and file systems
//! can be trusted. It also reads small files whole, so that the bytes read and the stamp belong to the same file.
//!
//! May import `model` and `linux`. Never knows what is in the files, and decides nothing but "the same" or "perhaps not".

pub mod file;
pub mod paths;
pub mod seen;
pub mod stamp;
pub mod survey;
pub mod trust;

pub use self::seen::SeenFile;
pub use self::stamp::{Observation, Stamp, mtime, now};
pub use self::survey::Survey;
