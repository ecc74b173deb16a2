//! `vigil cat-file`: prints objects as `git cat-file` does. Each is looked up once and written at once.

mod all;
mod arguments;
mod batch;
mod failure;
mod filter;
mod format;
mod input;
mod object_printer;
mod output;
mod say;
mod single;
mod sources;
mod threads;

use std::borrow::Cow;

use bstr::{BString, ByteSlice};
use vigil_convert::textconv::Drivers;
use vigil_git::environment::Environment;
use vigil_git::repository::settings::{CommandScope, Settings};
use vigil_linux::process::cores;
use vigil_objects::ObjectReader;

use crate::command::Command;
use crate::inside;
use crate::options::{OwnOptions, Value, usage};
use crate::output::color::HintColors;
use crate::reply::Reply;
use crate::whole_files::ATTEMPTS_MAX;

use arguments::{Arguments, BatchArguments, TABLE, Task};
use batch::{Lines, Questions};
use failure::Failure;
use format::Format;
use object_printer::ObjectPrinter;
use output::{Output, Sink};
use say::{say, say_texts};
use sources::{FoundRepository, Sources};
use threads::Limits;

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "cat-file",
    summary: "Print objects and their properties, as 'git cat-file'",
    options: &TABLE,
    arguments: Some(Value::Revision),
    subcommands: &[],
    prose: include_str!("../../pages/cat-file.txt"),
};

/// Runs the command with `arguments`, the words after its name. Returns the exit code.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> u8 {
    match arguments {
        [only] if only == "-h" => {
            let reply = inside::usage(usage(&TABLE, OwnOptions::IfVigil), environment, true);
            return crate::say::say(&reply.unwrap_or_else(|complaint| complaint));
        }
        [first, ..] if first == "--help" => {
            return crate::say::say(&Reply::printed(usage(&TABLE, OwnOptions::IfVigil), 0));
        }
        _ => {}
    }
    for _ in 0..ATTEMPTS_MAX {
        match answer(arguments, environment) {
            Err(Failure::Cut) => {}
            answered => return answered.unwrap_or_else(Failure::say),
        }
    }
    Failure::Cut.say()
}

fn answer(arguments: &[BString], environment: &Environment) -> Result<u8, Failure> {
    let mut environment = Cow::Borrowed(environment);
    if Arguments::parse(arguments).is_ok_and(|arguments| arguments.task.is_of_all_objects()) {
        // git then takes all objects as they are and does not look for replacements.
        environment.to_mut().set("GIT_NO_REPLACE_OBJECTS", "1");
    }
    let mut found = FoundRepository::find(&environment)?;
    say_texts(found.repository.config.messages());
    let mut drivers = Drivers::built_in();
    let mut hint_colors = HintColors::default();
    // git checks the whole configuration before it looks at the command line.
    Settings::of_any_command(&found.repository, CommandScope::Objects, |entry| {
        hint_colors.take(entry)?;
        drivers.take(entry)
    })
    .map_err(|error| Reply::fatal_after(error.messages(), &error))?;
    found.hint_colors = hint_colors.if_wanted(&environment);
    let Arguments { task, use_mailmap } = Arguments::parse(arguments)?;
    match task {
        Task::Single { single, name, path } => {
            let sources = opened(found, use_mailmap)?;
            let printed = single::print(
                &sources,
                &sources,
                single,
                name.as_bstr(),
                path.as_ref().map(|path| path.as_bstr()),
                use_mailmap,
            );
            if printed.is_err() || !sources.cut_guard.has_written() {
                sources.cut_guard.check()?;
            }
            printed
        }
        Task::Batch(arguments) if arguments.all_objects => {
            let sources = opened(found, use_mailmap)?;
            all_objects(&arguments, &sources, use_mailmap).map(|()| 0)
        }
        Task::Batch(arguments) => {
            in_batch(&arguments, found, &environment, use_mailmap).map(|()| 0)
        }
    }
}

/// Opens what names are resolved against, and reads `.mailmap` if it is used.
fn opened(found: FoundRepository, use_mailmap: bool) -> Result<Sources, Failure> {
    let sources = Sources::open(found)?;
    if use_mailmap {
        sources.load_mailmap()?;
    }
    Ok(sources)
}

/// Answers the lines on standard input. If a file was cut, unwritten answers are made again from newly opened files. With
/// buffered output many answers may be lost, so the command fails instead.
fn in_batch(
    arguments: &BatchArguments,
    found: FoundRepository,
    environment: &Environment,
    use_mailmap: bool,
) -> Result<(), Failure> {
    let mut questions = Questions::new(arguments, use_mailmap);
    let hint_colors = found.hint_colors.clone();
    let (mut found, mut first) = (Some(found), None);
    if use_mailmap {
        first = found.take().map(|found| opened(found, true)).transpose()?;
    }
    let format = Format::parse(arguments.format.as_bstr())?;
    // What changes until the first question counts, as for git: replacements, alternates, grafts.
    if !questions.wait() {
        return Ok(());
    }
    loop {
        // Release every cut file before anything is opened again.
        let sources = match (first.take(), found.take()) {
            (Some(sources), _) => sources,
            (None, Some(found)) => Sources::open(found)?,
            (None, None) => {
                let mut again = FoundRepository::find(environment)?;
                again.hint_colors.clone_from(&hint_colors);
                Sources::open(again)?
            }
        };
        let printer = printer(arguments, &format, &sources, questions.use_mailmap);
        match Lines::new(arguments, &sources, printer, &mut questions).run() {
            Err(Failure::Cut) if questions.retry_unwritten() => {}
            Err(Failure::Cut) => return Err(Failure::cut_for_good()),
            answered => return answered,
        }
    }
}

fn all_objects(
    arguments: &BatchArguments,
    sources: &Sources,
    use_mailmap: bool,
) -> Result<(), Failure> {
    let format = Format::parse(arguments.format.as_bstr())?;
    let printer = printer(arguments, &format, sources, use_mailmap);
    if sources.has_promisor()? {
        let text =
            "warning: This repository uses promisor remotes. Some objects may not be loaded.";
        say(&[text.into()]);
    }
    sources.begin();
    let limits = Limits {
        threads: cores(),
        bases_len_max: sources.bases_len_max(),
    };
    all::print(arguments, &format, &sources.store, printer, limits)
}

/// The printer for the objects of `sources`.
fn printer<'a>(
    arguments: &'a BatchArguments,
    format: &'a Format,
    sources: &'a Sources,
    use_mailmap: bool,
) -> ObjectPrinter<'a> {
    let mut reader = ObjectReader::new(&sources.store);
    if let Some(len_max) = sources.bases_len_max() {
        reader.limit_bases(len_max);
    }
    ObjectPrinter {
        arguments,
        format,
        reader,
        output: Output::new(Sink::Stdout, &sources.cut_guard),
        rewriter: Some(sources),
        use_mailmap,
        is_one_of_many: false,
    }
}
