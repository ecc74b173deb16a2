//! The pager: the program in which people read long output (`core.pager` and `pager.<cmd>` in git-config(1), `GIT_PAGER` in
//! git(1)). Which one shows Mercurial's output is decided by the hg command.
//!
//! It replaces this process's standard streams, which exist once per process. Hence the state of this module is global to the
//! process, too.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use bstr::{BStr, BString, ByteSlice};
use rustix::io::Errno;
use vigil_git::child::{needs_shell, not_started, shell_command};
use vigil_git::config::{self, Config, ConfigEntry};
use vigil_git::environment::Environment;
use vigil_git::repository::Repository;
use vigil_linux::{errno, process, signals};
use vigil_model::config_value;
use vigil_model::raw_text::raw;

use crate::reply::{Reply, bytes, labelled};

/// git's default.
const DEFAULT: &str = "less";

/// Variables that are set for the pager unless they have a value.
const VARIABLES: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// Tells the processes started from here that a pager shows their output.
const IN_USE: &str = "GIT_PAGER_IN_USE";

/// The command line's wishes.
struct PagerWish {
    /// `--paginate` or `--no-pager`.
    choice: Option<bool>,
    /// The command, whose configuration decides if neither option was given.
    command: BString,
}

static PAGER_WISH: OnceLock<PagerWish> = OnceLock::new();

/// The running pager.
struct Pager {
    child: Child,
    /// It also reads standard error.
    reads_errors: bool,
}

static RUNNING: Mutex<Option<Pager>> = Mutex::new(None);

/// Records whether the command line asks for a pager (`--paginate`) or for none (`--no-pager`), and for which `command`.
pub(crate) fn record_wish(choice: Option<bool>, command: &BStr) {
    let command = command.to_owned();
    let _ = PAGER_WISH.set(PagerWish { choice, command });
}

/// Returns whether only the configuration of `command` decides about a pager.
pub(crate) fn is_decided_by_configuration(command: &str) -> bool {
    PAGER_WISH
        .get()
        .is_some_and(|asked| asked.choice != Some(true) && asked.command == command)
}

/// Returns what the command line asks for, if anything: a pager (`--paginate`) or none (`--no-pager`).
pub(crate) fn choice() -> Option<bool> {
    PAGER_WISH.get().and_then(|asked| asked.choice)
}

/// Starts the pager for a command in `repository`, if one is wanted and standard output is a terminal.
///
/// # Errors
/// The configuration is invalid, or the pager cannot be run.
pub(crate) fn begin(repository: &mut Repository) -> Result<(), Reply> {
    let Repository {
        config,
        environment,
        work_tree,
        ..
    } = repository;
    // By then git is at the top of the working tree.
    let standing = environment.working_directory();
    let top = work_tree.clone().filter(|top| standing.starts_with(top));
    begin_with(config, environment, top.as_deref())
}

/// As [`begin`], if there is no repository.
///
/// # Errors
/// As for [`begin`].
pub(crate) fn begin_outside(environment: &Environment) -> Result<(), Reply> {
    let config = config::trusted(environment)
        .map_err(|error| Reply::fatal_after(error.messages(), &error))?;
    begin_with(&config, &mut environment.clone(), None)
}

/// As [`begin`], for output that needs no repository and is paged only with `--paginate`.
///
/// # Errors
/// As for [`begin`].
pub(crate) fn begin_anywhere(environment: &Environment) -> Result<(), Reply> {
    match PAGER_WISH.get() {
        Some(asked) if asked.choice == Some(true) => begin_outside(environment),
        _ => Ok(()),
    }
}

/// As [`begin`], for long output that needs no repository and is paged unless something forbids it, or nobody named a pager and
/// there is none.
///
/// # Errors
/// As for [`begin`].
pub(crate) fn begin_by_default(environment: &Environment) -> Result<(), Reply> {
    let config = config::trusted(environment)
        .map_err(|error| Reply::fatal_after(error.messages(), &error))?;
    begin_if(&config, &mut environment.clone(), None, true)
}

fn begin_with(
    config: &Config,
    environment: &mut Environment,
    directory: Option<&Path>,
) -> Result<(), Reply> {
    begin_if(config, environment, directory, false)
}

/// If neither the command line nor the configuration decides, `by_default` does.
fn begin_if(
    config: &Config,
    environment: &mut Environment,
    directory: Option<&Path>,
    by_default: bool,
) -> Result<(), Reply> {
    let Some(asked) = PAGER_WISH.get() else {
        return Ok(());
    };
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if running.is_some() {
        return Ok(());
    }
    let mut configured = None;
    let is_wanted = asked.choice.or_else(|| {
        let mut is_wanted = None;
        for entry in config.every(&format!("pager.{}", asked.command)) {
            // A value that is not a boolean is the pager, and remains so whatever a later entry says.
            is_wanted = Some(entry.boolean().unwrap_or_else(|_| {
                configured = entry.value.map(BStr::to_owned);
                true
            }));
        }
        is_wanted
    });
    match is_wanted {
        None if by_default => {}
        None => return Ok(()),
        Some(false) => {
            environment.set("GIT_PAGER", "cat");
            return Ok(());
        }
        Some(true) => {}
    }
    if !io::stdout().is_terminal() {
        return Ok(());
    }
    let named = match environment.get("GIT_PAGER") {
        Some(program) => Some(program.to_owned()),
        None => match configured.map_or_else(|| core_pager(config), |program| Ok(Some(program)))? {
            Some(program) => Some(program),
            None => environment.get("PAGER").map(BStr::to_owned),
        },
    };
    let can_do_without = is_wanted.is_none() && named.is_none();
    let program = named.unwrap_or_else(|| DEFAULT.into());
    if program.is_empty() || program == "cat" {
        return Ok(());
    }
    // Once the pager is in between, the terminal cannot be asked any more.
    if let Some(width) = terminal_width(environment) {
        environment.set("COLUMNS", width.to_string());
    }
    let pager = match start(program.as_bstr(), environment, directory) {
        // In a small container the text is better than a complaint about a pager that nobody wanted.
        Err(_) if can_do_without => return Ok(()),
        started => started?,
    };
    environment.set(IN_USE, "true");
    *running = Some(pager);
    Ok(())
}

/// The last `core.pager`. Each such entry must have a value.
fn core_pager(config: &Config) -> Result<Option<BString>, Reply> {
    let mut program = None;
    for entry in config.every("core.pager") {
        match entry.value {
            Some(value) => program = Some(value.to_owned()),
            None => return Err(missing_value(&entry)),
        }
    }
    Ok(program)
}

/// git reads this entry before all others, and its error names the place instead of the variable.
fn missing_value(entry: &ConfigEntry<'_>) -> Reply {
    let said = format!("error: missing value for '{}'", raw(entry.key));
    let place = match entry.position {
        Some((file, line)) => format!("bad config line {line} in file {file}", file = raw(file)),
        None => "unable to parse command-line config".to_owned(),
    };
    Reply::gave_up(&[said], "fatal: ", &place)
}

/// Runs `program` with a pipe to it in place of standard output, and of standard error if that is a terminal.
fn start(
    program: &BStr,
    environment: &Environment,
    directory: Option<&Path>,
) -> Result<Pager, Reply> {
    let mut command = piped(shell_command(program, &[]), environment);
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    let child = command.spawn().map_err(|error| {
        let said = not_started(program, &error);
        let mut reply = Reply::fatal(bytes!["unable to execute pager '", program, "'"]);
        reply.stderr.splice(..0, labelled("", &said));
        reply
    })?;
    Pager::of(child).map_err(|error| {
        let reason = errno::text(error);
        Reply::fatal(bytes!["cannot write to pager '", program, "': ", reason])
    })
}

/// Runs `program` with a pipe to it in place of standard output, and of standard error if that is a terminal, whatever
/// the command line and git's configuration say.
///
/// # Errors
/// The pager cannot be run, or the streams cannot be replaced.
pub(crate) fn begin_with_program(program: &BStr, environment: &Environment) -> io::Result<()> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if running.is_none() {
        let words = OsStr::from_bytes(program);
        let command = match needs_shell(program) {
            // Mercurial's shell goes by its own name.
            true => {
                let mut shell = Command::new("/bin/sh");
                shell.arg("-c").arg(words);
                shell
            }
            false => Command::new(words),
        };
        let child = piped(command, environment).spawn()?;
        *running = Some(Pager::of(child)?);
    }
    Ok(())
}

/// Gives the pager `command` its environment, and a pipe as its input.
fn piped(mut command: Command, environment: &Environment) -> Command {
    command.env_clear().stdin(Stdio::piped());
    for (name, value) in environment.variables() {
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
    }
    for (name, value) in VARIABLES {
        if environment.get(name).is_none() {
            command.env(name, value);
        }
    }
    command.env_remove(IN_USE);
    command
}

impl Pager {
    /// Makes the process `child` the pager of this process.
    fn of(mut child: Child) -> Result<Self, Errno> {
        let reads_errors = io::stderr().is_terminal();
        let pipe = child.stdin.take().map(OwnedFd::from);
        let pager = Self {
            child,
            reads_errors,
        };
        pager.take_over(pipe)?;
        Ok(pager)
    }

    fn take_over(&self, pipe: Option<OwnedFd>) -> Result<(), Errno> {
        let pipe = pipe.ok_or(Errno::BADF)?;
        let child = i32::try_from(self.child.id()).map_err(|_| Errno::RANGE)?;
        signals::wait_for_child_on_signal(child, sink()?, self.reads_errors)?;
        self.redirect(&pipe)
    }

    fn redirect(&self, to: &OwnedFd) -> Result<(), Errno> {
        rustix::stdio::dup2_stdout(to)?;
        if self.reads_errors {
            rustix::stdio::dup2_stderr(to)?;
        }
        Ok(())
    }
}

/// A descriptor that discards what is written to it.
fn sink() -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, OFlags, open};
    open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

/// Tells the pager, if one runs, that the output has ended.
pub(crate) fn end_output() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pager) = running.as_ref() {
        // Without this, pager and process would wait for each other forever.
        let _ = sink().and_then(|sink| pager.redirect(&sink));
    }
}

/// Waits until the user has left the pager, if one runs. Nothing may be written after that.
pub(crate) fn wait() {
    end_output();
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mut pager) = running.take() {
        // It does not matter how it ends.
        let _ = pager.child.wait();
    }
}

/// Once the pager has ended, ends this process the way writing to a closed pipe would.
pub(crate) fn die_of_broken_pipe() -> ! {
    wait();
    process::die_of_broken_pipe()
}

/// Returns whether a pager, of this process or of a parent, shows what is written to standard output.
pub(crate) fn is_in_use(environment: &Environment) -> bool {
    environment
        .get(IN_USE)
        .and_then(|value| config_value::boolean(Some(value)))
        == Some(true)
}

/// The width of the terminal in cells, from `COLUMNS` or the terminal itself. `None` if neither says.
pub(crate) fn terminal_width(environment: &Environment) -> Option<usize> {
    let leading_number = |text: &BStr| -> Option<usize> {
        let text = text.trim_ascii_start();
        let text = text.strip_prefix(b"+").unwrap_or(text);
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        text.get(..digits)?.to_str().ok()?.parse().ok()
    };
    let from_environment = environment
        .get("COLUMNS")
        .and_then(leading_number)
        .filter(|&width| width > 0);
    from_environment.or_else(|| {
        rustix::termios::tcgetwinsize(rustix::stdio::stdout())
            .ok()
            .map(|size| usize::from(size.ws_col))
            .filter(|&width| width > 0)
    })
}
