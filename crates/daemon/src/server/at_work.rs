//! Tells waiting clients that their answers are being worked on. A client that hears it waits on, and does not do the same work
//! at the same time on the same disk. A process that is halted, or hangs as a whole, says nothing.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use crate::protocol::Response;
use crate::stream::timespec;

/// The interval between messages: well within the time that clients wait for a sign of life.
pub(super) const NOTICE_INTERVAL: Duration = Duration::from_millis(80);

/// The questions that are being answered.
#[derive(Debug)]
pub(super) struct AtWork {
    /// Runs while there are any questions.
    timer: OwnedFd,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    all: BTreeMap<u64, (Arc<OwnedFd>, Instant)>,
}

/// A question that is being answered.
pub(super) struct Answering<'a> {
    at_work: &'a AtWork,
    id: u64,
}

impl AtWork {
    /// Creates an empty set.
    ///
    /// # Errors
    /// A system call failed.
    pub(super) fn new() -> Result<Self, Errno> {
        Ok(Self {
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?,
            waiting: Mutex::default(),
        })
    }

    /// Keeps the client at `socket` informed until the returned value is dropped. Nothing else may be sent there meanwhile.
    pub(super) fn begin(&self, socket: Arc<OwnedFd>) -> Answering<'_> {
        let mut waiting = self.waiting.lock();
        let id = waiting.next;
        waiting.next = id.wrapping_add(1);
        if waiting.all.is_empty() {
            self.set_timer(NOTICE_INTERVAL);
        }
        waiting.all.insert(id, (socket, Instant::now()));
        Answering { at_work: self, id }
    }

    /// Waits for the timer, and informs the waiting clients. Returns whether it can be called again.
    pub(super) fn inform_clients(&self) -> bool {
        let mut times = [0; 8];
        match rustix::io::read(&self.timer, &mut times) {
            Ok(_) => {}
            Err(Errno::INTR) => return true,
            Err(_) => return false,
        }
        let frame = Response::AtWork.to_frame();
        let waiting = self.waiting.lock();
        for (socket, since) in waiting.all.values() {
            if since.elapsed() >= NOTICE_INTERVAL / 2 {
                // So few bytes are sent whole or not at all. A client that is gone has no use for them.
                let _ = send(socket, &frame, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
            }
        }
        true
    }

    fn set_timer(&self, every: Duration) {
        let every = timespec(every);
        let time = Itimerspec {
            it_interval: every,
            it_value: every,
        };
        // Without the timer nobody is told, and all clients compute their answers themselves.
        let _ = timerfd_settime(self.timer.as_fd(), TimerfdTimerFlags::empty(), &time);
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        let mut waiting = self.at_work.waiting.lock();
        waiting.all.remove(&self.id);
        if waiting.all.is_empty() {
            self.at_work.set_timer(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_waiting_client_is_informed_until_it_is_answered() {
        let at_work = AtWork::new().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let ours = Arc::new(OwnedFd::from(ours));
        let answering = at_work.begin(ours.clone());
        // A question that begins just before the timer fires is reported the next time.
        assert!(at_work.inform_clients() && at_work.inform_clients());
        drop(answering);
        drop(ours);
        let mut told = Vec::new();
        theirs.read_to_end(&mut told).unwrap();
        let frame = Response::AtWork.to_frame();
        assert!(!told.is_empty() && told.len().is_multiple_of(frame.len()));
        assert!(told.chunks(frame.len()).all(|one| one == frame));
        assert!(at_work.waiting.lock().all.is_empty());
    }

    #[test]
    fn who_is_gone_or_never_reads_keeps_nobody() {
        let at_work = AtWork::new().unwrap();
        let (gone, _) = UnixStream::pair().unwrap();
        let (full, _kept) = UnixStream::pair().unwrap();
        full.set_nonblocking(true).unwrap();
        let much = [0; 4096];
        while send(&full, &much, SendFlags::NOSIGNAL).is_ok() {}
        let sockets = [gone, full].map(|socket| Arc::new(OwnedFd::from(socket)));
        let _answering = sockets.map(|socket| at_work.begin(socket));
        assert!(at_work.inform_clients() && at_work.inform_clients());
    }
}
