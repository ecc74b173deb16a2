//! The thread that finds answers ahead of questions, and the thread that reads the kernel's events meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answers::Answers;
use crate::deputy::Deputy;
use crate::panics;
use crate::spare_memory;

/// Events come in bursts: all events of one such period are read at once.
const BURST: Duration = Duration::from_millis(10);

/// The pause after waiting for changes failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Works ahead for `answers`, as soon as something tells of changes. `tell` informs the subscribers of changes, and returns when
/// it must be called next. What may hang is done by the deputy: a disk that hangs must not hold up the others.
pub(crate) fn run(answers: &Arc<Answers>, tell: &dyn Fn(&mut Deputy) -> Option<Instant>) -> ! {
    let watcher = answers.wait_for_watcher();
    let late = answers.clone();
    let mut deputy = Deputy::new(move || late.wake());
    loop {
        let mut next: Option<Instant> = None;
        for slot in answers.sessions().all() {
            let now = Instant::now();
            let due_at = slot.ahead.lock().due_at(now);
            let Some(at) = due_at else {
                continue;
            };
            if at > now {
                next = Some(next.map_or(at, |next| next.min(at)));
                continue;
            }
            let work = slot.ahead.lock().begin(now);
            let (answers, asked_about) = (answers.clone(), slot.clone());
            deputy.have_done(move || {
                if work.is_premature() {
                    asked_about.ahead.lock().put_off(Instant::now());
                    return;
                }
                for question in &work.questions {
                    // After a defect, too, the work has to be finished: none is begun before.
                    let _ = panics::catch(|| answers.recompute(question));
                }
                asked_about.ahead.lock().finish(work, Instant::now());
                spare_memory::give_back_after(now);
            });
            let due_at = slot.ahead.lock().due_at(Instant::now());
            next = next.into_iter().chain(due_at).min();
        }
        let told = tell(&mut deputy);
        let next = next.into_iter().chain(told).min();
        let time = next.map(|next| next.saturating_duration_since(Instant::now()));
        if watcher.wait(time).is_err() {
            // Too little memory, say. Nobody else informs the subscribers.
            std::thread::sleep(PAUSE);
        }
    }
}

/// Reads the events of the working copies in `answers`, as soon as something tells of changes. An answer can take longer than
/// the kernel's queue takes to fill, so this thread finds none.
pub(crate) fn read_events(answers: &Answers) {
    let watcher = answers.wait_for_watcher();
    while watcher.read_events_as_they_come(BURST).is_err() {
        // Too little memory, say. Questions still read the events themselves, but subscribers ask none.
        std::thread::sleep(PAUSE);
    }
}
