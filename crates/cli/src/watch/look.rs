//! Looks by this process itself, for when no daemon reports changes.

use std::time::{Duration, Instant};

use bstr::BString;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::fchdir;
use vigil_engine::removal;
use vigil_git::environment::Environment;
use vigil_git::state_place;
use vigil_linux::memory;
use vigil_store::NoSteps;

use crate::globals;
use crate::hg;
use crate::reply::Reply;
use crate::status;
use crate::whole_files::retry_if_cut;

/// The minimum rest between two looks.
const REST_MIN: Duration = Duration::from_secs(2);

/// The rest as a multiple of the time of the last look, so that looking takes at most a tenth of the time.
const REST_FACTOR: u32 = 10;

/// Looks at the status, and keeps a rest between looks.
pub(super) struct LocalStatus<'a> {
    arguments: &'a [BString],
    not_before: Option<Instant>,
}

impl<'a> LocalStatus<'a> {
    /// Looks at the status that `vigil status` prints with `arguments`.
    pub(super) fn new(arguments: &'a [BString]) -> Self {
        Self {
            arguments,
            not_before: None,
        }
    }

    /// When the next look may be; `None` for at once.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.not_before
    }

    /// Returns the reply as of now, in the working directory of `environment`. The process is in that directory afterwards, too.
    pub(super) fn look(&mut self, environment: &Environment) -> Reply {
        let start = Instant::now();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let place = open(".", flags, Mode::empty());
        let answered = retry_if_cut(environment, || {
            match hg::status_here(self.arguments, environment) {
                Some(answered) => {
                    let reply = answered.reply.clone();
                    answered.save();
                    (reply, None)
                }
                None => status::run(self.arguments, environment),
            }
        });
        let (reply, session) = answered.unwrap_or_else(|reply| (reply, None));
        // A look enters the top of the working tree. From there another repository may be found the next time, or none: by a
        // relative GIT_DIR, say, or after one was made in between.
        let returned = place.is_ok_and(|place| fchdir(place).is_ok());
        if !returned || globals::is_directory_gone() {
            // Another directory of that name may be followed when that is moved. If there is none, the next look reports it.
            let _ = std::env::set_current_dir(environment.working_directory());
        }
        if let Some(mut session) = session {
            drop(session.take_dropped_states());
            if !removal::may_be_under_way(&state_place::in_repository(session.repository())) {
                // Only the next look would benefit, so a failure is not reported.
                let _ = session.save(&NoSteps);
            }
        }
        // All that the look took is free, and the next one may be far away.
        memory::trim();
        let rest = REST_MIN.max(start.elapsed().saturating_mul(REST_FACTOR));
        self.not_before = Instant::now().checked_add(rest);
        reply
    }
}
