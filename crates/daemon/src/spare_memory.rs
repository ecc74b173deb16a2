//! Returns memory to the system when it is not needed for now.

use std::time::{Duration, Instant};

use vigil_linux::{map, memory};

/// Work that took at least this long read much, and so has much to free.
const LONG: Duration = Duration::from_millis(50);

/// Returns spare memory if the work that began at `start` took long. Call this after it.
pub(crate) fn give_back_after(start: Instant) {
    if start.elapsed() >= LONG {
        memory::trim();
        map::release_all();
    }
}
