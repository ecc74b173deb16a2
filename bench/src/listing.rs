//! The development of the fast listing, measured step by step.

use std::ffi::CString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::Done;
use crate::arguments::Arguments;
use crate::corpus::Random;
use crate::machine::{Machine, corpora_dir, docs_dir};
use crate::measure::{Summary, run_interleaved};
use crate::report;
use crate::steps::{self, ListedDirectory};

/// The number of names in each directory: 32 names of 16 characters, as the author of gitstatus used, and a
/// large one.
const SIZES: [usize; 2] = [32, 1_000];
/// The number of names listed per measurement: enough that reading the clock does not matter, and few enough
/// that little interferes.
const NAMES_PER_TURN: usize = 2_000;

#[derive(Serialize)]
struct Listings {
    machine: Machine,
    rounds: usize,
    steps: Vec<StepResult>,
}

#[derive(Serialize)]
struct StepResult {
    about: &'static str,
    names: usize,
    /// The speed relative to the first step: that one is 100, and one twice as fast is 200.
    score: f64,
    /// `ratio` is the time relative to that of the system calls alone.
    #[serde(flatten)]
    summary: Summary,
}

pub(crate) fn run(arguments: &mut Arguments) -> Done<()> {
    let rounds = arguments.option_number("--rounds", 601)?;
    let root = tempfile::tempdir_in(corpora_dir()?)?;
    let mut results = Vec::new();
    for names in SIZES {
        results.extend(measure(root.path(), names, rounds)?);
    }
    let table = table(&results);
    println!("{table}");
    let machine = Machine::of_this_host()?;
    let text = format!("{}\n\n{table}", machine.sentence());
    let listings = Listings {
        machine,
        rounds,
        steps: results,
    };
    let docs = docs_dir()?;
    report::write_json(&docs.join("listing.json"), &listings)?;
    report::replace_section(&docs.join("benchmarks.md"), "listing", &text)
}

fn measure(root: &Path, names: usize, rounds: usize) -> Done<Vec<StepResult>> {
    let name = format!("names-{names}");
    let path = root.join(&name);
    std::fs::create_dir(&path)?;
    let mut random = Random::new(names as u64);
    for _ in 0..names {
        std::fs::write(path.join(format!("{:016x}", random.next())), "")?;
    }
    let name = CString::new(name)?;
    let path = CString::new(path.as_os_str().as_bytes())?;
    let parent = std::fs::File::open(root)?;
    let place = ListedDirectory {
        path: &path,
        parent: parent.as_fd(),
        name: &name,
    };
    let mut steps = steps::all();
    let turns = (NAMES_PER_TURN / names).max(1);
    let floor = steps.len().saturating_sub(1);
    let summaries = run_interleaved(&mut steps, floor, rounds, |(_, step)| {
        let start = processor_time()?;
        for _ in 0..turns {
            step.list(place)?;
        }
        Ok((processor_time()? - start) / turns as u32)
    })?;
    let slowest = summaries.first().map_or(f64::NAN, |first| first.median_us);
    let results = steps
        .iter()
        .zip(summaries)
        .map(|((about, _), summary)| StepResult {
            about,
            names,
            score: 100.0 * slowest / summary.median_us,
            summary,
        });
    Ok(results.collect())
}

/// The processor time that this thread has used. With a hot cache nothing waits, so this is the time that
/// listing takes, even on a machine with other work.
fn processor_time() -> Done<Duration> {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Ok(Duration::new(
        time.tv_sec.try_into()?,
        time.tv_nsec.try_into()?,
    ))
}

fn table(results: &[StepResult]) -> String {
    let mut rows = Vec::new();
    for names in SIZES {
        let of_size = results.iter().filter(|result| result.names == names);
        for (number, result) in (1..).zip(of_size) {
            rows.push(vec![
                names.to_string(),
                format!("v{number}"),
                result.about.to_owned(),
                report::microseconds(result.summary.median_us),
                format!("{:.1}", result.score),
                format!("{:.3}", result.summary.ratio),
            ]);
        }
    }
    report::table(
        &[
            "names",
            "step",
            "what it does",
            "time",
            "score",
            "by the calls alone",
        ],
        &rows,
    )
}
