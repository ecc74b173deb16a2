//! The `vigil` command: reads the process's arguments and environment, runs one command, and prints its reply, in git's words
//! and with git's exit codes.
//!
//! May import every other crate. Command-line arguments, output formats and the pager are known only here. It never finds out
//! anything itself: it prints the answers, which are values, of the crates below.

mod by_daemon;
mod cat_file;
mod command;
mod commands;
mod completions;
mod config_env;
mod daemon;
mod describe;
mod doctor;
mod fsmonitor;
mod gitstatusd;
mod globals;
mod help;
mod hg;
mod init;
mod inside;
mod invocation;
mod options;
mod output;
mod page;
mod pager;
mod prompt;
mod reply;
mod say;
mod state;
mod status;
mod terminal;
mod time;
mod watch;
mod whole_files;
mod why;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

use bstr::{BStr, BString, ByteSlice};
use vigil_git::config;
use vigil_git::environment::Environment;
use vigil_store::NoSteps;

use reply::Reply;
use say::{say, write};
use whole_files::retry_if_cut;

fn main() -> ExitCode {
    vigil_linux::process::with_usual_stack(|| run(std::env::args_os().collect())).into()
}

/// Runs the command that the command line `arguments` calls for, and returns the exit code.
fn run(arguments: Vec<OsString>) -> u8 {
    vigil_linux::map::install_truncation_handler();
    vigil_linux::process::survive_long_files();
    let mut arguments = arguments.into_iter();
    let program = arguments.next().unwrap_or_default();
    let arguments: Vec<BString> = arguments
        .map(|argument| BString::from(argument.into_vec()))
        .collect();
    let environment = globals::of_process();
    if fsmonitor::is_hook(&program) {
        fsmonitor::run_hook(&arguments, &environment)
    } else if gitstatusd::is_meant(&program, &arguments) {
        gitstatusd::run(&arguments, environment)
    } else {
        let code = match invocation::record(&program) {
            Some(name) => run_link(name, &arguments, environment),
            None => dispatch(&arguments, environment),
        };
        pager::wait();
        code
    }
}

/// Runs the command that `arguments` begin with, after any global options, and returns the exit code.
fn dispatch(arguments: &[BString], mut environment: Environment) -> u8 {
    let (rest, paging) = match globals::take(arguments, &mut environment) {
        Ok(taken) => taken,
        Err(reply) => {
            let early = config::check_early(&globals::of_process());
            let early = early.map_err(|error| Reply::fatal_after(error.messages(), &error));
            return say(&early.err().unwrap_or(reply));
        }
    };
    let Some((command, arguments)) = rest.split_first() else {
        pager::record_wish(paging, "help".into());
        return say_paged(help::overview(COMMANDS, 1), &environment);
    };
    pager::record_wish(paging, command.as_bstr());
    run_command(command.as_bstr(), arguments, environment)
}

/// Runs the command for a link to this program that is called `git-` and `name`. If Vigil has no command of that name, the link
/// is another name for status.
fn run_link(name: &BStr, arguments: &[BString], environment: Environment) -> u8 {
    let command = if commands::find(name).is_some() {
        name
    } else {
        "status".into()
    };
    pager::record_wish(None, name);
    run_command(command, arguments, environment)
}

/// All commands, for lists and descriptions.
const COMMANDS: help::CommandSet = help::CommandSet {
    commands: commands::LISTED,
    globals: globals::OPTIONS,
};

/// Runs `command` with `arguments`, and returns the exit code.
fn run_command(command: &BStr, arguments: &[BString], environment: Environment) -> u8 {
    match command.as_bytes() {
        b"cat-file" => cat_file::run(arguments, &environment),
        b"completions" => {
            let script = completions::run(arguments, COMMANDS.commands, COMMANDS.globals);
            say_paged(script, &environment)
        }
        b"daemon" => daemon::run(arguments, &environment),
        b"describe" => say_whole(&environment, || describe::run(arguments, &environment)),
        b"doctor" => say_whole(&environment, || doctor::run(arguments, &environment)),
        b"fsmonitor" => fsmonitor::run(arguments, &environment),
        b"gitstatusd" => gitstatusd::run(arguments, environment),
        b"hg" => {
            let answered = retry_if_cut(&environment, || hg::run(arguments, &environment));
            answered.map_or_else(|reply| say(&reply), |outcome| outcome.say(&environment))
        }
        b"init" => say(&init::run(arguments, &environment)),
        b"man" => say_paged(help::man_page(COMMANDS, arguments), &environment),
        b"prompt" => prompt::run(arguments, &environment),
        b"state" => say_whole(&environment, || state::run(arguments, &environment)),
        b"status" => run_status(arguments, &environment),
        b"watch" => watch::run(arguments, &environment),
        b"why" => say_whole(&environment, || why::run(arguments, &environment)),
        b"version" | b"--version" | b"-v" => say_paged(help::version(arguments), &environment),
        b"help" | b"--help" | b"-h" => run_help(arguments, environment),
        _ => say_paged(help::unknown_command(command), &environment),
    }
}

/// Shows the status of the working copy around the working directory, whatever its system: by the daemon if one runs.
fn run_status(arguments: &[BString], environment: &Environment) -> u8 {
    match retry_if_cut(environment, || hg::status_here(arguments, environment)) {
        Ok(None) => {}
        Ok(Some(answered)) => return answered.say(environment),
        Err(reply) => return say(&reply),
    }
    if let Some(reply) = by_daemon::ask(arguments, environment) {
        return say(&reply);
    }
    let answered = retry_if_cut(environment, || status::run(arguments, environment));
    let (reply, session) = answered.unwrap_or_else(|reply| (reply, None));
    let code = say(&reply);
    if let Some(mut session) = session {
        if environment.get("VIGIL_DEBUG").is_some() {
            for reason in session.take_dropped_states() {
                let line = format!("debug: the state is not used: {reason}\n");
                let _ = write(rustix::stdio::stderr(), line.as_bytes());
            }
        }
        pager::end_output();
        // Only the next process would benefit, so a failure is not reported.
        let _ = session.save(&NoSteps);
        // The process ends here: freeing the memory of many directories would take longer than saving it.
        std::mem::forget(session);
    }
    code
}

/// Lists the commands, or shows the page of the named one.
fn run_help(arguments: &[BString], environment: Environment) -> u8 {
    match arguments {
        [] => say_paged(help::overview(COMMANDS, 0), &environment),
        [only] => match only.as_slice() {
            b"version" | b"-h" | b"--help" | b"-v" | b"--version" => {
                say_paged(help::overview(COMMANDS, 0), &environment)
            }
            [b'-', ..] => say(&help::wrong_command_line(arguments)),
            name => match help::show(COMMANDS, name.as_bstr(), &environment) {
                Some(code) => code,
                None => say_paged(help::unknown_command(name.as_bstr()), &environment),
            },
        },
        _ => say(&help::wrong_command_line(arguments)),
    }
}

/// As [`say()`], for the reply of `answer`, which may be made from mapped files.
fn say_whole(environment: &Environment, answer: impl Fn() -> Reply) -> u8 {
    say(&retry_if_cut(environment, answer).unwrap_or_else(|reply| reply))
}

/// As [`say()`], through a pager if the command line asks for one.
fn say_paged(reply: Reply, environment: &Environment) -> u8 {
    match pager::begin_anywhere(environment) {
        Ok(()) => say(&reply),
        Err(complaint) => say(&complaint),
    }
}
