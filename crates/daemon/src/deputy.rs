//! Work that may hang, because a disk does: another thread does it, and is left alone if it takes too long.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use vigil_linux::process::thread_builder;

/// How long one piece of work is waited for. Most take far less.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(1);

type Work = Box<dyn FnOnce() + Send>;

/// Has work done by another thread, one piece after the other unless one hangs.
pub(crate) struct Deputy {
    running: Option<Running>,
    tell_late: Arc<dyn Fn() + Send + Sync>,
}

struct Running {
    work: Sender<Work>,
    done: Receiver<()>,
}

impl Deputy {
    /// `tell_late` is called after work that took so long that the caller may have given it up.
    pub(crate) fn new(tell_late: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            running: None,
            tell_late: Arc::new(tell_late),
        }
    }

    /// Does `work`, and waits for at most [`WAIT_MAX`] until it is done. If it takes longer, it goes on while the next piece is
    /// done by a new thread.
    pub(crate) fn have_done(&mut self, work: impl FnOnce() + Send + 'static) {
        self.have_done_within(WAIT_MAX, Box::new(work));
    }

    fn have_done_within(&mut self, time: Duration, work: Work) {
        let Some(running) = self.running.take().or_else(|| self.start()) else {
            // There can be no other thread.
            return work();
        };
        let sent = running.work.send(work).is_ok();
        if sent && running.done.recv_timeout(time).is_ok() {
            self.running = Some(running);
        }
        // The thread ends when it finds nobody who waits for it.
    }

    fn start(&self) -> Option<Running> {
        let (work, to_do) = channel::<Work>();
        let (tell, done) = channel();
        let tell_late = self.tell_late.clone();
        let run = move || {
            while let Ok(work) = to_do.recv() {
                let began_at = Instant::now();
                work();
                let is_gone = tell.send(()).is_err();
                // It may also have been given up just now.
                if is_gone || began_at.elapsed() >= WAIT_MAX / 2 {
                    tell_late();
                }
            }
        };
        let started = thread_builder().name("deputy".to_owned()).spawn(run);
        started.is_ok().then_some(Running { work, done })
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_hangs_holds_up_nothing_else_and_is_done_in_the_end() {
        let (tell, told) = channel();
        let (tell_late, late) = channel();
        let mut deputy = Deputy::new(move || {
            let _ = tell_late.send(());
        });
        let (let_go, hanging) = channel::<()>();
        let say = |what: &'static str| {
            let tell = tell.clone();
            move || {
                let _ = tell.send((what, thread::current().id()));
            }
        };
        deputy.have_done(say("first"));
        let (_, first) = told.try_recv().unwrap();
        deputy.have_done(say("second"));
        assert_eq!(told.try_recv().unwrap(), ("second", first));
        let end = say("end");
        let hang = move || {
            let _ = hanging.recv();
            end();
        };
        deputy.have_done_within(Duration::ZERO, Box::new(hang));
        deputy.have_done(say("third"));
        let (what, third) = told.try_recv().unwrap();
        assert_eq!(what, "third");
        assert_ne!(third, first);
        drop(let_go);
        assert_eq!(told.recv().unwrap(), ("end", first));
        late.recv().unwrap();
    }
}
