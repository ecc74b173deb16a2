//! `vigil prompt`: the state of a working copy as a segment of a prompt. The same text follows each answer of gitstatusd for
//! shells that use Vigil's scripts.
//!
//! What a prompt shows is decided here for all shells: what, in which order and colours, and written so that neither shell nor
//! terminal interprets a name.

mod answer;
mod escape;
mod format;
mod segment;
mod settings;
mod visible;

use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_daemon::gitstatusd::{self, Drawer, Options, Whereabouts};
use vigil_git::environment::Environment;

use crate::command::Command;
use crate::hg;
use crate::options::{
    Argument, Given, OptionEntry, OptionTable, OwnOptions, Value, parse, refuse_others, usage,
};
use crate::reply::{Reply, bytes};
use crate::say::say;

use answer::Answer;
use escape::{Painter, Shell};
use format::Format;
use segment::Drawn;
use settings::Settings;

#[derive(Clone, Copy)]
enum Key {
    Shell,
    Format,
    Color,
}

const TABLE: OptionTable<Key> = OptionTable {
    synopsis: "vigil prompt [--shell=<shell>] [--format=<format>] [--color=<when>]",
    headings: &[],
    entries: &[
        OptionEntry {
            argument: Argument::Required("shell"),
            value: Value::Words(&["zsh", "bash", "fish", "tmux", "none"]),
            ..OptionEntry::flag(
                Key::Shell,
                "shell",
                "escape for the prompt of zsh, bash, fish or tmux; the default is none",
            )
        },
        OptionEntry {
            argument: Argument::Required("format"),
            ..OptionEntry::flag(Key::Format, "format", "text with elements like {where}")
        },
        OptionEntry {
            argument: Argument::Required("when"),
            value: Value::Words(&["always", "never", "auto"]),
            ..OptionEntry::flag(Key::Color, "color", "use color: always, never or auto")
        },
    ],
};

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "prompt",
    summary: "Show the state as a segment of a prompt",
    options: &TABLE,
    arguments: None,
    subcommands: &[],
    prose: include_str!("../../pages/prompt.txt"),
};

/// Whether to use colour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Never,
    /// If the output is for a shell, or is a terminal.
    Auto,
}

/// Runs the command with `arguments`, the words after its name, and returns the exit code.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> u8 {
    let (painter, settings) = match prepare(arguments, environment) {
        Ok(prepared) => prepared,
        Err(reply) => return say(&reply),
    };
    let Some((place, directory)) = place(environment) else {
        return 0;
    };
    if let Some(answered) = hg::prompt_record(environment) {
        let answer = Answer::of_mercurial(&answered.reply.stdout);
        let line = line(answer.as_ref(), directory.as_ref(), &settings, &painter);
        let code = say(&Reply::printed(line, 0));
        answered.save();
        return code;
    }
    let everything = Options {
        staged_max: usize::MAX,
        unstaged_max: usize::MAX,
        conflicted_max: usize::MAX,
        untracked_max: usize::MAX,
        threads: Some(usize::MAX),
        ..Options::default()
    };
    let answered = gitstatusd::answer(&everything, environment.clone(), place.as_ref(), false);
    let answer = Answer::of_record(&answered.record);
    let line = line(answer.as_ref(), directory.as_ref(), &settings, &painter);
    let code = say(&Reply::printed(line, 0));
    answered.save();
    code
}

/// The segment as a line; empty if there is no segment.
fn line(
    answer: Option<&Answer<'_>>,
    directory: &BStr,
    settings: &Settings,
    painter: &Painter,
) -> String {
    let mut line = segment::draw(answer, directory, settings, painter)
        .fresh
        .text;
    if !line.is_empty() {
        line.push('\n');
    }
    line
}

fn prepare(arguments: &[BString], environment: &Environment) -> Result<(Painter, Settings), Reply> {
    if arguments == ["--help"] {
        return Err(Reply::printed(usage(&TABLE, OwnOptions::IfVigil), 0));
    }
    let mut settings = Settings::of(environment);
    let (mut shell, mut when) = (Shell::None, When::Auto);
    let others = parse(&TABLE, arguments, |key, given| {
        match (key, given) {
            (Key::Shell, Given::With(name)) => {
                let complaint = || Reply::fatal(bytes!["unknown shell '", name, "'"]);
                shell = Shell::by_name(name).ok_or_else(complaint)?;
            }
            (Key::Shell, _) => shell = Shell::None,
            (Key::Format, Given::With(text)) => {
                let format = Format::parse(text).map_err(|unknown| {
                    Reply::fatal(format!("unknown element '{{{unknown}}}' in the format"))
                })?;
                settings.format = Some(format);
            }
            (Key::Format, _) => settings.format = None,
            (Key::Color, Given::With(name)) => {
                when = match name.as_bytes() {
                    b"always" => When::Always,
                    b"never" => When::Never,
                    b"auto" => When::Auto,
                    _ => {
                        let text: &[u8] =
                            b"option `color' expects \"always\", \"auto\", or \"never\"";
                        return Err(Reply::usage_error(text));
                    }
                };
            }
            (Key::Color, Given::Negated) => when = When::Never,
            (Key::Color, Given::Bare) => when = When::Always,
        }
        Ok(())
    })?;
    refuse_others(&TABLE, &others)?;
    let is_shown = shell != Shell::None || std::io::stdout().is_terminal();
    let has_color = match when {
        When::Always => true,
        When::Never => false,
        When::Auto => settings.has_color && is_shown,
    };
    Ok((Painter { shell, has_color }, settings))
}

/// The place to ask about, in gitstatusd's notation, and the directory to show. `None` if there is none.
fn place(environment: &Environment) -> Option<(BString, BString)> {
    let directory = environment.working_directory();
    if !directory.is_absolute() {
        return None;
    }
    let shown = BString::from(directory.as_os_str().as_bytes());
    let git_dir = environment.get("GIT_DIR").filter(|dir| !dir.is_empty());
    let place = match git_dir {
        Some(dir) => {
            let dir = directory.join(std::ffi::OsStr::from_bytes(dir));
            bytes![":", dir.as_os_str().as_bytes()].into()
        }
        None => shown.clone(),
    };
    Some((place, shown))
}

/// Makes the drawer that appends the segment to each answer for a shell's script. `None` if `shell` has no script.
pub(crate) fn drawer(shell: &BStr, environment: &Environment) -> Option<Drawer> {
    let shell = Shell::by_name(shell).filter(|shell| shell.has_script())?;
    let settings = Settings::of(environment);
    let painter = Painter {
        shell,
        has_color: settings.has_color,
    };
    let mut environment = environment.clone();
    // The value exported when the process started may be outdated: the shell sends the current one.
    environment.remove("GIT_DIR");
    Some(Arc::new(move |place: Whereabouts<'_>, mut record| {
        let directory = place.directory;
        let of_mercurial = match place.has_git_dir {
            true => None,
            false => hg::prompt_record_in(directory, &environment),
        };
        let answer = match &of_mercurial {
            Some(record) => Answer::of_mercurial(record),
            None => Answer::of_record(&record),
        };
        let drawn = segment::draw(answer.as_ref(), directory, &settings, &painter);
        append(&mut record, &drawn);
        record
    }))
}

/// Appends the fields of `drawn` to a record, before the record's end.
fn append(record: &mut Vec<u8>, drawn: &Drawn) {
    let Drawn {
        fresh,
        stale,
        directory,
    } = drawn;
    let end = record.pop();
    let columns = [fresh.columns, directory.columns].map(|columns| columns.to_string());
    let [fresh_columns, directory_columns] = &columns;
    for field in [
        &fresh.text,
        fresh_columns,
        &stale.text,
        &directory.text,
        directory_columns,
    ] {
        record.push(answer::FIELD_SEPARATOR);
        record.extend_from_slice(field.as_bytes());
    }
    record.extend(end);
}
