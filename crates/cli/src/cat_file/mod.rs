//! `vigil cat-file`: objects, as `git cat-file` prints them, each looked up once and written at once.

mod all;
mod arguments;
mod batch;
mod failure;
mod filter;
mod format;
mod input;
mod output;
mod single;
mod sources;
mod tell;
mod threads;

use bstr::{BString, ByteSlice};
use vigil_git::environment::Environment;
use vigil_git::textconv::Drivers;
use vigil_linux::process::cores;
use vigil_objects::Reader;

use crate::inside;
use crate::options::{Audience, usage};
use crate::reply::{Reply, labelled};

use arguments::{Arguments, BatchArguments, TABLE, Task};
use batch::Lines;
use failure::Failure;
use format::Format;
use output::{Output, Sink};
use sources::Sources;
use tell::Teller;
use threads::Bounds;

/// Runs the command with what follows its name on the command line. Returns the exit code.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> u8 {
    match arguments {
        [only] if only == "-h" => {
            let reply = inside::usage(usage(&TABLE, Audience::Everyone), environment, true);
            return crate::say(&reply.unwrap_or_else(|complaint| complaint));
        }
        [first, ..] if first == "--help" => {
            return crate::say(&Reply::printed(usage(&TABLE, Audience::Everyone), 0));
        }
        _ => {}
    }
    answer(arguments, environment).unwrap_or_else(Failure::say)
}

fn answer(arguments: &[BString], environment: &Environment) -> Result<u8, Failure> {
    let sources = Sources::open(environment)?;
    let config = &sources.repository.config;
    say(config.said());
    let drivers = Drivers::of(config);
    drivers.map_err(|error| Reply::fatal_after(error.said(), &error))?;
    let Arguments { task, use_mailmap } = Arguments::parse(arguments)?;
    if use_mailmap {
        sources.load_mailmap()?;
    }
    match task {
        Task::Single { single, name, path } => single::print(
            &sources,
            &sources,
            single,
            name.as_bstr(),
            path.as_ref().map(|path| path.as_bstr()),
            use_mailmap,
        ),
        Task::Batch(arguments) => in_batch(&arguments, &sources, use_mailmap).map(|()| 0),
    }
}

fn in_batch(
    arguments: &BatchArguments,
    sources: &Sources,
    use_mailmap: bool,
) -> Result<(), Failure> {
    let format = Format::parse(arguments.format.as_bstr())?;
    let store = &sources.store;
    let mut reader = Reader::new(store);
    let bases_len_max = sources.bases_len_max();
    if let Some(len_max) = bases_len_max {
        reader.limit_bases(len_max);
    }
    let teller = Teller {
        arguments,
        format: &format,
        reader,
        output: Output::new(Sink::Stdout),
        rewriter: Some(sources),
        use_mailmap,
    };
    if !arguments.all_objects {
        return Lines::new(arguments, sources, teller).run();
    }
    if sources.has_promisor()? {
        let text =
            "warning: This repository uses promisor remotes. Some objects may not be loaded.";
        say(&[text]);
    }
    let bounds = Bounds {
        threads: cores(),
        bases_len_max,
    };
    all::print(arguments, &format, store, teller, bounds)
}

/// Whole lines on standard error.
fn say(lines: &[impl AsRef<[u8]>]) {
    if lines.is_empty() {
        return;
    }
    let mut text = Vec::new();
    for line in lines {
        text.extend(labelled("", line.as_ref()));
    }
    // Nobody is left to be told if standard error cannot be written.
    let _ = crate::write(rustix::stdio::stderr(), &text);
}
