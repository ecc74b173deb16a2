//! `vigil hg status`: what `hg status` says, in its words and with its exit codes.

mod answer;
mod arguments;
mod between;
mod color;
mod fallback;
mod kinds;
mod look;
mod nested;
mod options;
mod paths;
mod settings;
mod show;
mod template;
mod terse;
mod unfinished;

use bstr::{BString, ByteSlice};
use vigil_git::environment::Environment;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::config::Surroundings;

use crate::command::{Command, NO_OPTIONS, Subcommand};
use crate::options::Value;
use crate::reply::{Reply, bytes};

use arguments::Arguments;
use options::{OfStatus, SYNOPSIS};

/// What is said of it.
pub(crate) const COMMAND: Command = Command {
    name: "hg",
    summary: "Show what changed in Mercurial's working copies, as 'hg status'",
    options: NO_OPTIONS,
    arguments: None,
    subcommands: &[Subcommand {
        name: "status",
        summary: "show changed files in the working directory",
        options: &OfStatus,
        arguments: Some(Value::Path),
    }],
    prose: include_str!("../../pages/hg.txt"),
};

/// Runs `vigil hg` with `arguments`.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> Reply {
    if arguments == ["--help"] {
        return Reply::printed(format!("usage: {SYNOPSIS}\n"), 0);
    }
    let variable = |name: &str| environment.get(name).map(BString::from);
    let mut surroundings = Surroundings {
        variable: &variable,
        cwd: environment.working_directory().to_path_buf(),
        uid: rustix::process::geteuid().as_raw(),
    };
    let parsed = match Arguments::parse(arguments) {
        Ok(parsed) => parsed,
        Err(wrong) => return wrong.into_reply(),
    };
    if let Some(cwd) = parsed.cwd.last().filter(|cwd| !cwd.is_empty()) {
        let folder = surroundings.cwd.join(vigil_hg::bytes::path_of(cwd));
        surroundings.cwd = match std::fs::canonicalize(&folder) {
            Ok(real) if real.is_dir() => real,
            Ok(_) => return complain(&gone(cwd, "Not a directory"), false),
            Err(error) => {
                let reason = vigil_linux::errno::text_of(&error);
                return complain(&gone(cwd, &reason), false);
            }
        };
    }
    let mut detailed = false;
    match answer::answer(&parsed, &surroundings, &mut detailed) {
        Ok(reply) => reply,
        Err(error) => {
            if error.abort.kind == Kind::Unsupported && error.may_fall_back {
                return fallback::run(arguments, environment, &error.abort);
            }
            let mut reply = complain(&error.abort, detailed);
            if let Some(effects) = &error.colors {
                let said = std::mem::take(&mut reply.stderr);
                color::painted(&mut reply.stderr, &said, effects);
            }
            let said = std::mem::replace(&mut reply.stderr, error.warnings);
            reply.stderr.extend(said);
            reply
        }
    }
}

fn gone(cwd: &BString, reason: &str) -> Abort {
    Abort::plain(bytes!(reason, ": '", cwd, "'"))
}

/// Says why there is no answer.
fn complain(abort: &Abort, detailed: bool) -> Reply {
    let begins = match (abort.kind, abort.message.starts_with(b"config error at ")) {
        (_, true) => "",
        (Kind::Config, false) => "config error: ",
        (Kind::Parse, false) => "hg: parse error: ",
        _ => "abort: ",
    };
    let mut said = bytes!(begins, abort.message, "\n");
    if let Some(hint) = &abort.hint {
        said.extend(bytes!("(", hint.as_bytes(), ")\n"));
    }
    Reply::complained(said, abort.exit_code(detailed))
}
