//! Error messages in Mercurial's words.

use vigil_hg::abort::{Abort, Kind};

use crate::reply::{Reply, bytes};

/// Returns the reply that says why there is no answer.
pub(crate) fn complain(abort: &Abort, detailed: bool) -> Reply {
    let begins = match (abort.kind, abort.message.starts_with(b"config error at ")) {
        (_, true) => "",
        (Kind::Config, false) => "config error: ",
        (Kind::Parse, false) => "hg: parse error: ",
        (Kind::Command, false) => "hg: ",
        _ => "abort: ",
    };
    let mut message = bytes!(begins, abort.message, "\n");
    if let Some(hint) = &abort.hint {
        message.extend(bytes!("(", hint.as_slice(), ")\n"));
    }
    Reply::complained(message, abort.exit_code(detailed))
}
