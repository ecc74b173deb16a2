//! Why the command ends.

use rustix::io::Errno;
use vigil_git::objects;
use vigil_history::revision::Outcome;
use vigil_model::raw_text::said_by;

use crate::pager;
use crate::reply::Reply;
use crate::say::say;
use crate::whole_files::cut_off;

/// Why the command ends before its end.
#[derive(Debug)]
pub(super) enum Failure {
    /// With these words.
    Reply(Reply),
    /// Standard output cannot be written.
    Output(Errno),
    /// Nobody takes answers any more, for a reason that is told elsewhere.
    Unwanted,
    /// Something is damaged. What git says then depends on what it met before, so that one thread is to tell it, and what
    /// follows, in order.
    Damaged,
    /// A mapped file was cut, and zeros may have been read. Nothing of it was written: who asks anew is told what is left.
    Cut,
}

impl From<Reply> for Failure {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        Self::Output(error)
    }
}

impl From<objects::Error> for Failure {
    fn from(error: objects::Error) -> Self {
        Self::Reply(Reply::fatal(said_by(&error)))
    }
}

impl Failure {
    /// The same where a part was written, or it goes on and on.
    pub(super) fn cut_for_good() -> Self {
        Self::Reply(cut_off())
    }

    /// git ends where a name leads, though it leads nowhere.
    pub(super) fn of_name(outcome: Outcome) -> Self {
        Self::Reply(match outcome {
            Outcome::Fatal(text) => Reply::fatal(text),
            Outcome::Failed(error) => Reply::fatal(said_by(&error)),
            _ => Reply::complained(Vec::new(), Reply::FATAL),
        })
    }

    /// Says why, and returns the exit code.
    pub(super) fn say(self) -> u8 {
        match self {
            Self::Reply(reply) => say(&reply),
            Self::Output(Errno::PIPE) => pager::die_of_broken_pipe(),
            Self::Unwanted | Self::Damaged => Reply::FATAL,
            Self::Cut => say(&cut_off()),
            Self::Output(error) => {
                let reason = vigil_linux::errno::text(error);
                say(&Reply::fatal(format!("write error: {reason}")))
            }
        }
    }
}
