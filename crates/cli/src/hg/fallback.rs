//! Hands what only Mercurial can answer to `hg`, if the user allows that.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use bstr::{BString, ByteSlice};
use vigil_git::environment::Environment;
use vigil_hg::abort::Abort;

use crate::reply::{Reply, bytes};

/// A variable that is set for the `hg` that is run here. That may be a script, or have an alias, which asks Vigil again: without
/// an end, if Vigil then ran `hg` again.
const IS_ASKED: &str = "VIGIL_ASKED_HG";

/// Runs `hg` with the same arguments, and says so.
pub(super) fn run(arguments: &[BString], environment: &Environment, why: &Abort) -> Reply {
    if environment.get(IS_ASKED).is_some() {
        let message = bytes!("abort: ", why.message, ", and hg asks vigil\n");
        return Reply::complained(message, 255);
    }
    let told = bytes!(why.message, ": asking hg\n");
    let _ = crate::say::write(rustix::stdio::stderr(), &told);
    let status = Command::new("hg")
        .args(arguments.iter().map(|argument| OsStr::from_bytes(argument)))
        .current_dir(environment.working_directory())
        .env(IS_ASKED, "1")
        .stdin(Stdio::inherit())
        .status();
    match status {
        Ok(status) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            Reply::printed(Vec::new(), code.unwrap_or(255))
        }
        Err(error) => {
            let reason = vigil_linux::errno::text_of(&error);
            Reply::complained(
                bytes!("abort: cannot run hg: ", reason.as_bytes().as_bstr(), "\n"),
                255,
            )
        }
    }
}
