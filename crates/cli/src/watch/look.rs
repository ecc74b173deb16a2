//! Looking by this process's own engine, where no daemon tells of changes.

use std::time::{Duration, Instant};

use bstr::BString;
use vigil_git::environment::Environment;
use vigil_store::NoSteps;

use crate::hg;
use crate::reply::Reply;
use crate::status;
use crate::whole_files::of_whole_files;

/// How long it is from one look to the next at least,
const REST_MIN: Duration = Duration::from_secs(2);

/// and so many times as long as the look took: it takes no more than a tenth of the time.
const REST: u32 = 10;

/// What looks, and when it may again.
pub(super) struct Looks<'a> {
    arguments: &'a [BString],
    environment: &'a Environment,
    rests_until: Option<Instant>,
}

impl<'a> Looks<'a> {
    /// At what `vigil status` with `arguments` says.
    pub(super) fn new(arguments: &'a [BString], environment: &'a Environment) -> Self {
        Self {
            arguments,
            environment,
            rests_until: None,
        }
    }

    /// When the next look may be: at once if there is no time.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.rests_until
    }

    /// What there is to say now.
    pub(super) fn look(&mut self) -> Reply {
        let start = Instant::now();
        let answered = of_whole_files(self.environment, || {
            match hg::status_here(self.arguments, self.environment) {
                Some(answered) => {
                    let reply = answered.reply.clone();
                    answered.save();
                    (reply, None)
                }
                None => status::run(self.arguments, self.environment),
            }
        });
        let (reply, session) = answered.unwrap_or_else(|reply| (reply, None));
        if let Some(mut session) = session {
            drop(session.take_dropped_states());
            // Only the next look would have gained by it.
            let _ = session.save(&NoSteps);
        }
        let rest = REST_MIN.max(start.elapsed().saturating_mul(REST));
        self.rests_until = Instant::now().checked_add(rest);
        reply
    }
}
