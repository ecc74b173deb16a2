//! A progress display on a terminal's standard error while a scan takes long, as git shows it.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use bstr::ByteSlice;
use vigil_git::environment::Environment;
use vigil_scan::progress::Progress;

const TITLE: &str = "Refreshing index";
/// The interval between updates.
const INTERVAL: Duration = Duration::from_millis(100);

/// Shows progress until it is dropped.
pub(super) struct Display {
    /// The sender whose drop ends the thread, and the thread.
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Display {
    /// Displays `progress` after some time (`GIT_PROGRESS_DELAY`, in seconds; one by default), if standard error is a terminal.
    pub(super) fn start(progress: Arc<Progress>, environment: &Environment) -> Self {
        let mut running = None;
        if rustix::termios::isatty(std::io::stderr()) {
            let seconds = environment
                .get("GIT_PROGRESS_DELAY")
                .and_then(|text| text.to_str().ok()?.parse().ok());
            let delay = Duration::from_secs(seconds.unwrap_or(1));
            let (end, ended) = channel();
            let show = move || {
                let mut shown = None;
                let mut wait = delay;
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    wait = INTERVAL;
                    let (seen, total) = progress.counts();
                    let percent = (seen * 100).checked_div(total);
                    if percent.is_some() && percent != shown && is_in_the_foreground() {
                        shown = percent;
                        print(seen, total, "\r");
                    }
                }
                if shown.is_some() {
                    let (_, total) = progress.counts();
                    print(total, total, ", done.\n");
                }
            };
            let thread = std::thread::Builder::new().spawn(show);
            running = thread.ok().map(|thread| (end, thread));
        }
        Self { running }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.running.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

fn print(seen: usize, total: usize, end: &str) {
    let percent = (seen * 100).checked_div(total).unwrap_or(100);
    // If the terminal is gone, nobody is waiting for this.
    let _ = write!(
        std::io::stderr(),
        "{TITLE}: {percent:3}% ({seen}/{total}){end}"
    );
}

/// Returns whether this process is in the terminal's foreground: a background process prints no progress.
fn is_in_the_foreground() -> bool {
    rustix::termios::tcgetpgrp(std::io::stderr())
        .is_ok_and(|group| group == rustix::process::getpgrp())
}
