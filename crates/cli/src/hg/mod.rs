//! `vigil hg status`: prints what `hg status` would print, with the same exit codes.

mod aliases;
mod answer;
mod arguments;
mod between;
mod by_daemon;
mod clocks;
mod color;
mod complaint;
mod configuration;
mod daemon_writer;
mod defaults_and_aliases;
mod early_options;
mod extensions;
mod fallback;
mod file_system;
mod git_subrepository;
mod json;
mod open;
mod options;
mod own_commands;
mod own_format;
mod paging;
mod pair;
mod paths;
mod question;
mod refusals;
mod session;
mod settings;
mod shell_words;
mod show;
mod store_settings;
mod subject;
mod subrepositories;
mod template;
mod terse;
mod unfinished;

use std::io::IsTerminal;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};
use rustix::io::Errno;
use vigil_engine::hg_session::HgWorkingCopy;
use vigil_git::environment::Environment;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::config::{Config, ProcessContext};
use vigil_stamp::paths::path_of;
use vigil_store::NoSteps;

use crate::command::{Command, Options, Subcommand};
use crate::options::{OptionTable, Value, usage_without_table};
use crate::pager;
use crate::reply::{Reply, bytes};

use aliases::is_status;
use arguments::{Arguments, UsageError};
pub(crate) use by_daemon::{start_for, wants_daemon, watched};
pub(crate) use complaint::complain;
use configuration::Detailed;
pub(crate) use daemon_writer::answer_from_session;
use defaults_and_aliases::{may_be_status, refuse_alias, refuse_other_alias};
use early_options::EarlyOptions;
pub(crate) use open::{Opened, open, places, state_places, state_report, state_verification};
use options::{HelpStyle, SYNOPSIS, StatusOptions};
pub(crate) use own_commands::is_mercurial;
use paging::Paging;

/// The command, for the parser, the help, completions and the manual page.
pub(crate) const COMMAND: Command = Command {
    name: "hg",
    summary: "Show what changed in a Mercurial working copy, as 'hg status'",
    options: &OptionTable::<()>::without_options(SYNOPSIS),
    arguments: None,
    subcommands: &[Subcommand {
        name: "status",
        summary: "show changed files in the working directory",
        options: &StatusOptions,
        arguments: Some(Value::Path),
    }],
    prose: include_str!("../../pages/hg.txt"),
};

/// Runs `vigil hg` with `arguments`.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> Outcome {
    if arguments == ["-h"] || arguments == ["--help"] {
        return usage().into();
    }
    match Arguments::parse(arguments) {
        Ok(parsed) if parsed.is_status() || is_alias(&parsed, arguments, environment) => {
            run_parsed(&parsed, arguments, environment)
        }
        Ok(parsed) => {
            let mut unknown = UsageError::unknown_command(parsed.command.as_bstr());
            unknown.command = Some(parsed.command);
            refused(unknown, arguments, environment).into()
        }
        Err(wrong) => refused(wrong, arguments, environment).into(),
    }
}

/// Whether the command may be the status by an alias.
fn is_alias(parsed: &Arguments, arguments: &[BString], environment: &Environment) -> bool {
    let early = EarlyOptions::of(arguments);
    let read = read_before_parsing(&early, environment, &mut Vec::new());
    read.is_ok_and(|read| may_be_status(&read.config, parsed.command.as_bstr()))
}

fn usage() -> Reply {
    let text = usage_without_table(SYNOPSIS, &StatusOptions.entries());
    Reply::printed(text, 0)
}

/// Runs `vigil status` with `arguments` in a Mercurial working copy; returns `None` elsewhere.
pub(crate) fn status_here(arguments: &[BString], environment: &Environment) -> Option<Outcome> {
    if own_commands::asks_for_help(arguments) || !is_mercurial(environment) {
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
    let Some((arguments, own)) = own_commands::to_hg_arguments(arguments) else {
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
pub(crate) fn prompt_record(environment: &Environment) -> Option<Outcome> {
    let answered = status_here(&[BString::from("--format=prompt")], environment)?;
    if answered.working_copy.is_some() {
        // This process answered without the daemon, and the next prompt will ask soon.
        start_for(environment);
    }
    Some(answered)
}

/// Does the same for the working copy around `directory`.
pub(crate) fn prompt_record_in(directory: &BStr, environment: &Environment) -> Option<Vec<u8>> {
    let directory = path_of(directory);
    if !directory.is_absolute() || !own_commands::is_mercurial_at(directory, environment) {
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
fn refused(wrong: UsageError, arguments: &[BString], environment: &Environment) -> Reply {
    let early = EarlyOptions::of(arguments);
    let detailed = match check_before_parsing(&early.config, &early.cwd, environment) {
        Ok(detailed) => detailed,
        Err(reply) => return reply,
    };
    let mut said = Vec::new();
    let read = read_before_parsing(&early, environment, &mut said);
    let mut reply = match (read, detailed) {
        (Ok(read), Ok(detailed)) => {
            let config = &read.config;
            let (wrong, refused) = match wrong.command.as_ref().map(|command| command.as_bstr()) {
                Some(command) if !is_status(command) && !may_be_status(config, command) => {
                    let refused = refuse_other_alias(config, command);
                    (UsageError::unknown_command(command), refused)
                }
                Some(command) => (wrong.clone(), refuse_alias(config, command)),
                None => (wrong, Ok(())),
            };
            let refused =
                refused.and_then(|()| match wrong.unsupported(read.help, read.is_traced) {
                    Some(unsupported) => Err(Abort::unsupported(unsupported)),
                    None => Ok(()),
                });
            match refused {
                Ok(()) => wrong.into_reply(detailed, read.help),
                Err(abort) if abort.kind == Kind::Unsupported && read.may_fall_back() => {
                    return fallback::run(arguments, environment, &abort);
                }
                Err(abort) => complain(&abort, detailed),
            }
        }
        (Ok(_), Err(unsupported)) => complain(&unsupported, false),
        (Err(abort), detailed) => {
            let abort = configuration::failure(abort, &detailed);
            complain(&abort, detailed.unwrap_or(false))
        }
    };
    reply.stderr.splice(0..0, said);
    reply
}

/// What Mercurial reads before it parses the command line.
struct ReadBefore {
    config: Config,
    /// How the help is printed, by the user's own configuration, and that of the repository for extensions.
    help: HelpStyle,
    /// Whether a Python traceback is printed, by the user's own configuration.
    is_traced: bool,
}

impl ReadBefore {
    fn may_fall_back(&self) -> bool {
        self.config.boolean("vigil", "hg.fallback", false) == Ok(true)
    }
}

/// Reads the configuration of the repository as Mercurial does before it parses the command line with these `early` options. What
/// it says meanwhile is added to `said`.
///
/// # Errors
/// That configuration is wrong.
fn read_before_parsing(
    early: &EarlyOptions,
    environment: &Environment,
    said: &mut Vec<u8>,
) -> Result<ReadBefore, Abort> {
    let variable = |name: &str| environment.get(name).map(BString::from);
    let process = ProcessContext {
        cwd: directory(&early.cwd, environment)?,
        ..open::process_of(environment, &variable)
    };
    let layers = configuration::of_user(&process, &early.config, &mut Ok(false))?;
    let width = pager::terminal_width(environment);
    let mut help = settings::help_style(layers.config(), early, width);
    let is_traced = settings::is_traced(layers.config(), early);
    let (options, named) = (&early.config, &early.repository);
    let config = configuration::read_before_parsing(&process, layers, options, named, said)?;
    help.has_mq = extensions::has(&config, "mq");
    Ok(ReadBefore {
        config,
        help,
        is_traced,
    })
}

/// Checks what Mercurial checks before it parses the command line: the user's configuration, and that the working
/// directory and the one that `--cwd` names exist. Returns [`settings::is_detailed`].
///
/// # Errors
/// The reply that says what is wrong.
fn check_before_parsing(
    config: &[BString],
    cwd: &BString,
    environment: &Environment,
) -> Result<Detailed, Reply> {
    let variable = |name: &str| environment.get(name).map(BString::from);
    let process = open::process_of(environment, &variable);
    let mut detailed = Ok(false);
    let checked = match configuration::of_user(&process, config, &mut detailed) {
        Err(abort) => Err(abort),
        Ok(_) => directory(cwd, environment).map(drop),
    };
    match checked {
        Ok(()) => Ok(detailed),
        Err(abort) => {
            let abort = configuration::failure(abort, &detailed);
            Err(complain(&abort, detailed.unwrap_or(false)))
        }
    }
}

/// Runs the command whose `arguments` were parsed as `parsed`. The user's daemon answers if it can.
fn run_parsed(parsed: &Arguments, arguments: &[BString], environment: &Environment) -> Outcome {
    let variable = |name: &str| environment.get(name).map(BString::from);
    let process = match process_context(parsed, &variable, environment) {
        Ok(process) => process,
        Err(abort) => {
            let cwd = parsed.cwd.last().cloned().unwrap_or_default();
            let checked = check_before_parsing(&parsed.config, &cwd, environment);
            return checked
                .err()
                .unwrap_or_else(|| complain(&abort, false))
                .into();
        }
    };
    if let Some(answered) = by_daemon::ask(parsed, arguments, &process, environment) {
        return answered;
    }
    answer(parsed, arguments, environment, &process)
}

/// Returns the process as a command line sees it: with `--cwd`, in that directory.
///
/// # Errors
/// As for [`directory`].
fn process_context<'v>(
    parsed: &Arguments,
    variable: &'v (dyn Fn(&str) -> Option<BString> + Sync),
    environment: &Environment,
) -> Result<ProcessContext<'v>, Abort> {
    let cwd = directory(&parsed.cwd.last().cloned().unwrap_or_default(), environment)?;
    Ok(ProcessContext {
        cwd,
        ..open::process_of(environment, variable)
    })
}

/// Returns the directory that `--cwd` names: the working directory if `cwd` is empty.
///
/// # Errors
/// `cwd` is no directory, or not one that may be entered, or the working directory is gone.
fn directory(cwd: &BString, environment: &Environment) -> Result<PathBuf, Abort> {
    let working_directory = environment.working_directory();
    if working_directory.as_os_str().is_empty() {
        let message = "error getting current working directory: No such file or directory";
        return Err(Abort::plain(message));
    }
    if cwd.is_empty() {
        return Ok(working_directory.to_owned());
    }
    let failed = |error| gone(cwd, &vigil_linux::errno::text_of(&error));
    let real = std::fs::canonicalize(working_directory.join(path_of(cwd))).map_err(failed)?;
    // Mercurial goes there, for which it needs the permission to look up names: here, that of the directory itself.
    std::fs::metadata(real.join(".")).map_err(failed)?;
    Ok(real)
}

fn answer(
    parsed: &Arguments,
    arguments: &[BString],
    environment: &Environment,
    process: &ProcessContext<'_>,
) -> Outcome {
    let mut working_copy = HgWorkingCopy::default();
    let mut detailed = Ok(false);
    let is_terminal = std::io::stdout().is_terminal();
    let answered = answer::answer(
        parsed,
        process,
        &mut detailed,
        &mut working_copy,
        is_terminal,
    );
    let reply = match answered.result {
        Ok(reply) => reply,
        Err(error) => {
            // Mercurial does not know Vigil's own formats.
            let may_fall_back = error.may_fall_back && parsed.own.is_none();
            if error.abort.kind == Kind::Unsupported && may_fall_back {
                return fallback::run(arguments, environment, &error.abort).into();
            }
            if parsed.asks_for_help() {
                return usage().into();
            }
            let mut reply = complain(&error.abort, detailed.unwrap_or(false));
            if let Some(effects) = &error.colors {
                let text = std::mem::take(&mut reply.stderr);
                color::paint_with(&mut reply.stderr, &text, effects);
            }
            let text = std::mem::replace(&mut reply.stderr, error.warnings);
            reply.stderr.extend(text);
            reply
        }
    };
    Outcome {
        reply,
        paging: answered.paging,
        working_copy: Some(working_copy),
    }
}

/// The exit code of a failure of no particular kind.
const FAILED: u8 = 255;

/// The reply, and what this process learned about the working copy, unless the daemon answered.
pub(crate) struct Outcome {
    pub(crate) reply: Reply,
    /// The pager that shows it.
    paging: Option<Paging>,
    working_copy: Option<HgWorkingCopy>,
}

impl Outcome {
    /// Saves what was learned for later processes. Call this after the reply is out.
    pub(crate) fn save(self) {
        if let Some(mut working_copy) = self.working_copy {
            working_copy.save(&NoSteps);
        }
    }

    /// Writes the reply, saves what was learned, and returns the exit code.
    pub(crate) fn say(self, environment: &Environment) -> u8 {
        let code = write_reply(&self.reply, self.paging.as_ref(), environment);
        pager::end_output();
        if let Some(mut working_copy) = self.working_copy {
            working_copy.save(&NoSteps);
            // The process ends here, and freeing the memory of many directories would take longer than saving.
            std::mem::forget(working_copy);
        }
        code
    }
}

/// Writes both streams, warnings first, to the pager if there is one, and returns the exit code. If a stream cannot be
/// written, that is Mercurial's code for this.
fn write_reply(reply: &Reply, paging: Option<&Paging>, environment: &Environment) -> u8 {
    let (first, then) = match paging {
        Some(paging) if paging.shows_warnings => (Some(paging), None),
        paging => (None, paging),
    };
    if let Err(code) = begin_paging(first, environment) {
        return code;
    }
    match on_stderr(&reply.stderr) {
        Ok(()) | Err(Errno::PIPE | Errno::IO | Errno::BADF) => {}
        Err(_) => return FAILED,
    }
    if let Err(code) = begin_paging(then, environment) {
        return code;
    }
    match crate::say::write(rustix::stdio::stdout(), &reply.stdout) {
        Ok(()) => reply.code,
        // Mercurial takes the signal while a pager runs, and ignores it otherwise.
        Err(Errno::PIPE) if paging.is_some_and(Paging::needs_program) => {
            pager::die_of_broken_pipe()
        }
        Err(Errno::PIPE) => FAILED,
        Err(error) => {
            let reason = vigil_linux::errno::text(error);
            let _ = on_stderr(&bytes!("abort: ", reason, "\n"));
            FAILED
        }
    }
}

fn on_stderr(bytes: &[u8]) -> Result<(), Errno> {
    crate::say::write(rustix::stdio::stderr(), bytes)
}

/// Starts the pager, if there is one. A program that is missing is not used, and standard error says so.
///
/// # Errors
/// The exit code, if the pager cannot be started for another reason, which was said.
fn begin_paging(paging: Option<&Paging>, environment: &Environment) -> Result<(), u8> {
    let Some(paging) = paging else {
        return Ok(());
    };
    let announcement = paging.announcement.unwrap_or_default();
    let _ = crate::say::write(rustix::stdio::stdout(), announcement.as_bytes());
    if !paging.needs_program() {
        return Ok(());
    }
    let command = &paging.command;
    let Err(error) = pager::begin_with_program(command.as_bstr(), environment) else {
        return Ok(());
    };
    if error.kind() == std::io::ErrorKind::NotFound {
        let _ = on_stderr(&bytes!(
            "missing pager command '",
            command,
            "', skipping pager\n"
        ));
        return Ok(());
    }
    let reason = vigil_linux::errno::text_of(&error);
    let _ = on_stderr(&bytes!("abort: ", reason, ": '", command, "'\n"));
    Err(FAILED)
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        Self {
            reply,
            paging: None,
            working_copy: None,
        }
    }
}

fn gone(cwd: &BString, reason: &str) -> Abort {
    Abort::plain(bytes!(reason, ": '", cwd, "'"))
}
