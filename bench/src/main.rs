//! Benchmarks: corpora, floor programs, and the runner that compares Vigil with its peers.

mod arguments;
mod corpus;
mod floor;
mod hg;
mod history;
mod listing;
mod machine;
mod measure;
mod objects;
mod peers;
mod plot;
mod report;
mod scan;
mod scenarios;
mod steps;

use std::error::Error;
use std::process::ExitCode;

use arguments::Arguments;

/// Any failure: a benchmark that cannot be run ends with the reason.
type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "\
usage: vigil-bench listing [--rounds R]
       vigil-bench corpus DIR N
       vigil-bench floor REPO [--list] [--threads T] [--rounds R | --serve]
       vigil-bench scan [--sizes 1k,10k,100k,1m] [--rounds R] [--cold] [--no-kernel]
       vigil-bench objects [--commits C] [--tags T] [--rounds R]
       vigil-bench hg [--files N] [--changed N] [--ignored N] [--v1] [--rounds R]
       vigil-bench all [the options of listing and scan]
Written by listing, scan, objects and hg: docs/benchmarks.md, docs/*.json, docs/*.svg.
Environment: VIGIL (the binary; else target/release/vigil), VIGIL_BEFORE (an earlier one that is to take part), GITSTATUSD (the binary, if it is to take part),
HG and RHG (Mercurial's programs; else those on PATH, if any), VIGIL_BENCH_GIT (the git that objects are compared with, else git; its status is measured, too),
VIGIL_BENCH_REPOSITORY (one whose objects are asked for, else one is made), VIGIL_BENCH_DIR (where corpora are kept; else target/bench-corpora).";

fn main() -> ExitCode {
    let mut arguments = Arguments::new(std::env::args_os().skip(1));
    match run(&mut arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vigil-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &mut Arguments) -> Done<()> {
    match arguments.next_word().as_deref() {
        Some("listing") => listing::run(arguments),
        Some("corpus") => corpus::run(arguments),
        Some("floor") => floor::run(arguments),
        Some("scan") => scan::run(arguments),
        Some("objects") => objects::run(arguments),
        Some("hg") => hg::run(arguments),
        // Serves as the floor of a dialogue.
        Some("echo") => objects::answer_every_line(),
        Some("all") => {
            listing::run(&mut arguments.clone())?;
            objects::run(&mut Arguments::new([]))?;
            hg::run(&mut Arguments::new([]))?;
            scan::run(arguments)
        }
        _ => Err(USAGE.into()),
    }
}
