//! Writing replies.

use rustix::io::Errno;

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

pub(crate) fn write(stream: rustix::fd::BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(stream, bytes))?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}
