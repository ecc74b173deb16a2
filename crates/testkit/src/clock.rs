//! The clock that stamps files, for tests that must be sure which stamp is older.

use rustix::time::{ClockId, Timespec, clock_gettime};

fn order(time: Timespec) -> (i64, i64) {
    (time.tv_sec, time.tv_nsec)
}

/// Waits until whatever was written so far bears a stamp before the time of the last tick. That stamp may be the exact time
/// (multigrain timestamps), and the time of a tick that came late is before moments that went by without it.
pub fn tick() {
    let written = order(clock_gettime(ClockId::Realtime));
    while order(clock_gettime(ClockId::RealtimeCoarse)) <= written {
        std::thread::yield_now();
    }
}
