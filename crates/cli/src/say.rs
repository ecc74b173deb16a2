//! Writing replies.

use rustix::io::Errno;
pub(crate) use vigil_linux::blocking::write_all as write;

use crate::pager;
use crate::reply::Reply;

/// Writes both streams, standard error first and each in one go, and returns the exit code.
pub(crate) fn say(reply: &Reply) -> u8 {
    // There is nobody to tell if standard error cannot be written.
    let _ = write(rustix::stdio::stderr(), &reply.stderr);
    match write(rustix::stdio::stdout(), &reply.stdout) {
        Ok(()) => reply.code,
        Err(Errno::PIPE) => pager::die_of_broken_pipe(),
        Err(error) => {
            let reason = vigil_linux::errno::text(error);
            let complaint = Reply::fatal(format!("write failure on standard output: {reason}"));
            let _ = write(rustix::stdio::stderr(), &complaint.stderr);
            complaint.code
        }
    }
}
