//! `vigil hg status`: prints what `hg status` would print, with the same exit codes.

mod answer;
mod arguments;
mod between;
mod by_daemon;
mod color;
mod complaint;
mod fallback;
mod kept;
mod kinds;
mod look;
mod nearest;
mod nested;
mod open;
mod options;
mod own_format;
mod paths;
mod settings;
mod show;
mod template;
mod terse;
mod unfinished;
mod words;

use std::io::IsTerminal;

use bstr::{BStr, BString};
use rustix::io::Errno;
use vigil_engine::hg_session::HgWorkingCopy;
use vigil_git::environment::Environment;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::bytes::path_of;
use vigil_hg::config::{Layers, Surroundings};
use vigil_store::NoSteps;

use crate::command::{Command, NO_OPTIONS, Subcommand};
use crate::options::Value;
use crate::reply::{Reply, bytes};

use arguments::{Arguments, Wrong};
pub(crate) use by_daemon::{start_for, wants_daemon, watched};
pub(crate) use complaint::complain;
pub(crate) use kept::write;
pub(crate) use nearest::is_mercurial;
pub(crate) use open::{Opened, open, places, state_places, state_report, state_verification};
use options::{OfStatus, SYNOPSIS};
pub(crate) use settings::beyond;

/// The command, for the parser, the help, completions and the manual page.
pub(crate) const COMMAND: Command = Command {
    name: "hg",
    summary: "Show what changed in a Mercurial working copy, as 'hg status'",
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
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> Answered {
    if arguments == ["--help"] {
        return Reply::printed(format!("usage: {SYNOPSIS}\n"), 0).into();
    }
    match Arguments::parse(arguments) {
        Ok(parsed) => run_parsed(&parsed, arguments, environment),
        Err(wrong) => refused(wrong, arguments, environment).into(),
    }
}

/// Runs `vigil status` with `arguments` in a Mercurial working copy; returns `None` elsewhere.
pub(crate) fn status_here(arguments: &[BString], environment: &Environment) -> Option<Answered> {
    if nearest::asks_for_help(arguments) || !is_mercurial(environment) {
        return None;
    }
    let hint = "(this is a working copy of Mercurial, where 'vigil status' has the options of 'hg status', --format=json and \
                --format=line)\n";
    let wrong = |mut reply: Reply| {
        // That help is for another command.
        reply.stdout.clear();
        reply.stderr.extend_from_slice(hint.as_bytes());
        Some(reply.into())
    };
    let Some((arguments, own)) = nearest::as_of_mercurial(arguments) else {
        return wrong(Reply::complained("hg status: unknown format\n", 255));
    };
    match Arguments::parse(&arguments) {
        Ok(mut parsed) => {
            parsed.own = own;
            Some(run_parsed(&parsed, &arguments, environment))
        }
        Err(error) => wrong(refused(error, &arguments, environment)),
    }
}

/// Returns what a prompt shows of the Mercurial working copy around the working directory, or `None` if there is none.
pub(crate) fn prompt_record(environment: &Environment) -> Option<Answered> {
    let answered = status_here(&[BString::from("--format=prompt")], environment)?;
    if answered.known.is_some() {
        // This process answered without the daemon, and the next prompt will ask soon.
        start_for(environment);
    }
    Some(answered)
}

/// Does the same for the working copy around `directory`.
pub(crate) fn prompt_record_in(directory: &BStr, environment: &Environment) -> Option<Vec<u8>> {
    let directory = path_of(directory);
    if !directory.is_absolute() || !nearest::is_mercurial_at(&directory, environment) {
        return None;
    }
    let variables = environment.variables();
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let answered = prompt_record(&Environment::new(variables, directory))?;
    let record = answered.reply.stdout.clone();
    answered.save();
    Some(record)
}

/// Returns the reply to `arguments` that cannot be parsed.
fn refused(wrong: Wrong, arguments: &[BString], environment: &Environment) -> Reply {
    let variable = |name: &str| environment.get(name).map(BString::from);
    let surroundings = Surroundings {
        variable: &variable,
        cwd: environment.working_directory().to_owned(),
        uid: rustix::process::geteuid().as_raw(),
    };
    let layers = Layers::of_user(&surroundings, &Arguments::configured_by(arguments));
    let is_detailed = |layers: Layers<'_>| settings::is_detailed(layers.config());
    match layers.and_then(is_detailed) {
        Ok(detailed) => wrong.into_reply(detailed),
        Err(abort) => complain(&abort, false),
    }
}

/// Runs the command whose `arguments` were parsed as `parsed`. The user's daemon answers if it can.
fn run_parsed(parsed: &Arguments, arguments: &[BString], environment: &Environment) -> Answered {
    let variable = |name: &str| environment.get(name).map(BString::from);
    let surroundings = match surroundings(parsed, &variable, environment) {
        Ok(surroundings) => surroundings,
        Err(abort) => return complain(&abort, false).into(),
    };
    if let Some(reply) = by_daemon::ask(parsed, arguments, &surroundings, environment) {
        return reply.into();
    }
    let mut known = HgWorkingCopy::default();
    let reply = answer(parsed, arguments, environment, &surroundings, &mut known);
    Answered {
        reply,
        known: Some(known),
    }
}

/// Returns the surroundings in which a command line applies: with `--cwd`, those of that directory.
///
/// # Errors
/// `--cwd` does not name a directory.
fn surroundings<'v>(
    parsed: &Arguments,
    variable: &'v (dyn Fn(&str) -> Option<BString> + Sync),
    environment: &Environment,
) -> Result<Surroundings<'v>, Abort> {
    let standing = environment.working_directory();
    let cwd = match parsed.cwd.last().filter(|cwd| !cwd.is_empty()) {
        None => standing.to_owned(),
        Some(named) => match std::fs::canonicalize(standing.join(path_of(named))) {
            Ok(real) if real.is_dir() => real,
            Ok(_) => return Err(gone(named, "Not a directory")),
            Err(error) => return Err(gone(named, &vigil_linux::errno::text_of(&error))),
        },
    };
    Ok(Surroundings {
        variable,
        cwd,
        uid: rustix::process::geteuid().as_raw(),
    })
}

fn answer(
    parsed: &Arguments,
    arguments: &[BString],
    environment: &Environment,
    surroundings: &Surroundings<'_>,
    known: &mut HgWorkingCopy,
) -> Reply {
    let mut detailed = false;
    let is_terminal = std::io::stdout().is_terminal();
    match answer::answer(parsed, surroundings, &mut detailed, known, is_terminal) {
        Ok(reply) => reply,
        Err(error) => {
            // Mercurial does not know Vigil's own formats.
            let may_fall_back = error.may_fall_back && parsed.own.is_none();
            if error.abort.kind == Kind::Unsupported && may_fall_back {
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

/// The exit code of a failure of no particular kind.
const FAILED: u8 = 255;

/// The reply, and what this process learned about the working copy, unless the daemon answered.
pub(crate) struct Answered {
    pub(crate) reply: Reply,
    known: Option<HgWorkingCopy>,
}

impl Answered {
    /// Saves what was learned for later processes. To be called after the reply is out.
    pub(crate) fn save(self) {
        if let Some(mut known) = self.known {
            known.save(&NoSteps);
        }
    }

    /// Writes the reply, saves what was learned, and returns the exit code.
    pub(crate) fn say(self) -> u8 {
        let code = said(&self.reply);
        crate::pager::end_output();
        if let Some(mut known) = self.known {
            known.save(&NoSteps);
            // The process ends here, and freeing the memory of many directories would take longer than saving.
            std::mem::forget(known);
        }
        code
    }
}

/// Writes both streams, warnings first, and returns the exit code. If one cannot be written, that is Mercurial's code for this.
fn said(reply: &Reply) -> u8 {
    let on_stderr = |bytes: &[u8]| crate::say::write(rustix::stdio::stderr(), bytes);
    match on_stderr(&reply.stderr) {
        Ok(()) | Err(Errno::PIPE | Errno::IO | Errno::BADF) => {}
        Err(_) => return FAILED,
    }
    match crate::say::write(rustix::stdio::stdout(), &reply.stdout) {
        Ok(()) => reply.code,
        Err(Errno::PIPE) => crate::pager::die_of_broken_pipe(),
        Err(error) => {
            let reason = vigil_linux::errno::text(error);
            let _ = on_stderr(&bytes!("abort: ", reason, "\n"));
            FAILED
        }
    }
}

impl From<Reply> for Answered {
    fn from(reply: Reply) -> Self {
        Self { reply, known: None }
    }
}

fn gone(cwd: &BString, reason: &str) -> Abort {
    Abort::plain(bytes!(reason, ": '", cwd, "'"))
}
