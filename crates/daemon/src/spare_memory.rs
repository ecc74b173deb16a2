//! Giving memory back once it is not needed for now.

use std::time::{Duration, Instant};

use vigil_linux::{map, memory};

/// What took so long had much to read, and so much to free.
const LONG: Duration = Duration::from_millis(50);

/// To be called after work that began at `start`.
pub(crate) fn give_back_after(start: Instant) {
    if start.elapsed() >= LONG {
        memory::give_back();
        map::let_go_of_all();
    }
}
