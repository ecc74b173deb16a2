//! Reasons for which the command fails.

use rustix::io::Errno;
use vigil_git::objects;
use vigil_history::revision::Unresolved;
use vigil_model::raw_text::message_bytes;

use crate::pager;
use crate::reply::Reply;
use crate::say::say;
use crate::whole_files::cut_off;

/// Why the command ends early.
#[derive(Debug)]
pub(super) enum Failure {
    /// The command ends with this reply.
    Reply(Reply),
    /// Standard output cannot be written.
    Output(Errno),
    /// Nobody reads the answers any more, for a reason reported elsewhere.
    Unwanted,
    /// Something is damaged. What git then prints depends on what it read before, so a single thread has to print this object
    /// and all that follow, in order.
    Damaged,
    /// A mapped file was cut, so zeros may have been read from it. Nothing of it was written, so the question may be asked again.
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
        Self::Reply(Reply::fatal(message_bytes(&error)))
    }
}

impl Failure {
    /// A [`Self::Cut`] that cannot be retried: part of the answer was written, or it happened too often.
    pub(super) fn cut_for_good() -> Self {
        Self::Reply(cut_off())
    }

    /// The failure with which git exits when a name cannot be resolved.
    pub(super) fn of_name(why: Unresolved) -> Self {
        Self::Reply(match why {
            Unresolved::Fatal(text) => Reply::fatal(text),
            Unresolved::Failed(error) => Reply::fatal(message_bytes(&error)),
            _ => Reply::complained(Vec::new(), Reply::FATAL),
        })
    }

    /// Reports the failure and returns the exit code.
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
