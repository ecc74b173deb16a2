//! Writing replies.

use rustix::io::Errno;
pub(crate) use vigil_linux::blocking::write_all as write;

use crate::pager;
use crate::reply::Reply;

/// Writes both streams, standard error first and each in one go, and returns the exit code.
pub(crate) fn say(reply: &Reply) -> u8 {
    complain(&reply.stderr);
    match write(rustix::stdio::stdout(), &reply.stdout) {
        Ok(()) => reply.code,
        Err(Errno::PIPE) => pager::die_of_broken_pipe(),
        Err(error) => {
            let reason = vigil_linux::errno::text(error);
            let complaint = Reply::fatal(format!("write failure on standard output: {reason}"));
            complain(&complaint.stderr);
            complaint.code
        }
    }
}

/// Writes `text` to standard error. Like git, this process dies if the reader has gone; if writing fails otherwise, there is
/// nobody to tell.
pub(crate) fn complain(text: &[u8]) {
    if let Err(Errno::PIPE) = write(rustix::stdio::stderr(), text) {
        pager::die_of_broken_pipe();
    }
}
