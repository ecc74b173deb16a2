//! The clock that stamps files, for tests that need to know which stamp is older.

use rustix::time::{ClockId, Timespec, clock_gettime};

fn order(time: Timespec) -> (i64, i64) {
    (time.tv_sec, time.tv_nsec)
}

/// Waits until everything written so far has a stamp before the time of the last tick. That stamp may be the exact time
/// (multigrain timestamps), and a late tick bears a time that has already passed.
pub fn wait_for_tick() {
    let written = order(clock_gettime(ClockId::Realtime));
    while order(clock_gettime(ClockId::RealtimeCoarse)) <= written {
        std::thread::yield_now();
    }
}
