//! Vigil against its peers, in every scenario.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::Done;
use crate::arguments::{Arguments, parse_count};
use crate::corpus;
use crate::machine::{Machine, docs_dir};
use crate::peers::{self, Participant, Peer};
use crate::plot::{Line, Plot};
use crate::report;
use crate::scenarios::{Change, Corpus, Scenario, can_drop_caches};

/// The sizes that are measured by default.
const SIZES: &str = "1k,10k,100k";
/// The size of the largest corpus for the scenarios with changed files and with varying threads.
const VARIED_FILES_MAX: usize = 100_000;
/// The shares of changed files, per thousand.
const SHARES_PER_MILLE: [usize; 3] = [1, 10, 100];
const THREADS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const ROUNDS_COLD: usize = 5;

#[derive(Serialize)]
struct Scans {
    machine: Machine,
    peers: Vec<Participant>,
    scenarios: Vec<Scenario>,
}

pub(crate) fn run(arguments: &mut Arguments) -> Done<()> {
    let sizes = arguments
        .option("--sizes")?
        .unwrap_or_else(|| SIZES.to_owned());
    let sizes: Option<Vec<_>> = sizes.split(',').map(parse_count).collect();
    let mut sizes = sizes
        .filter(|sizes| !sizes.contains(&0))
        .ok_or("--sizes: not numbers")?;
    sizes.sort_unstable();
    let rounds = arguments.option_number("--rounds", 0)?;
    let cold = arguments.flag("--cold");
    let kernel = !arguments.flag("--no-kernel");
    arguments.end()?;
    if cold && !can_drop_caches() {
        return Err("--cold: this user may not drop the system's caches".into());
    }

    let (peers, attendance) = peers::find_peers()?;
    for peer in &attendance {
        eprintln!("{}", peer.sentence());
    }
    let rounds_for = |files: usize| match (rounds, files) {
        (0, ..=1_000) => 101,
        (0, ..=10_000) => 41,
        (0, ..=100_000) => 15,
        (0, _) => 7,
        (rounds, _) => rounds,
    };
    let mut scenarios = Vec::new();
    let mut corpora = corpora(&sizes, kernel)?;
    for corpus in &corpora {
        record_scenario(
            &mut scenarios,
            corpus.measure_clean(&peers, rounds_for(corpus.files()))?,
        );
        if cold {
            record_scenario(&mut scenarios, corpus.measure_cold(&peers, ROUNDS_COLD)?);
        }
    }
    corpora.retain(|corpus| corpus.files() <= VARIED_FILES_MAX);
    corpora.sort_by_key(Corpus::files);
    if let Some(corpus) = corpora.last() {
        measure_variations(corpus, &peers, rounds_for(corpus.files()), &mut scenarios)?;
    }

    let machine = Machine::of_this_host()?;
    let scans = Scans {
        machine,
        peers: attendance,
        scenarios,
    };
    write(&scans, &docs_dir()?)
}

/// The repositories: one file, the requested sizes, and a kernel if one is installed.
fn corpora(sizes: &[usize], kernel: bool) -> Done<Vec<Corpus>> {
    let mut corpora = vec![Corpus::new("one file".to_owned(), corpus::cached(1)?)?];
    for files in sizes {
        corpora.push(Corpus::new(
            format!("{files} files"),
            corpus::cached(*files)?,
        )?);
    }
    if kernel {
        match corpus::kernel()? {
            Some(dir) => corpora.push(Corpus::new("kernel".to_owned(), dir)?),
            None => eprintln!("no packed kernel source is installed: not measured"),
        }
    }
    Ok(corpora)
}

/// Measures the scenarios that only one corpus is used for.
fn measure_variations(
    corpus: &Corpus,
    peers: &[Peer],
    rounds: usize,
    scenarios: &mut Vec<Scenario>,
) -> Done<()> {
    for change in [Change::Touched, Change::Edited] {
        for share in SHARES_PER_MILLE {
            let count = (corpus.files() * share / 1_000).max(1);
            record_scenario(
                scenarios,
                corpus.measure_changed(peers, change, count, rounds)?,
            );
        }
    }
    for threads in THREADS {
        record_scenario(
            scenarios,
            corpus.measure_with_threads(peers, threads, rounds)?,
        );
    }
    Ok(())
}

/// Records a scenario, and prints it to show progress.
fn record_scenario(scenarios: &mut Vec<Scenario>, scenario: Scenario) {
    eprintln!("\n{}\n{}", title(&scenario), table(&scenario));
    scenarios.push(scenario);
}

fn title(scenario: &Scenario) -> String {
    let mut title = scenario.corpus.clone();
    if scenario.files > 1 && !title.ends_with("files") {
        title += &format!(" ({} files)", scenario.files);
    }
    match scenario.change {
        Change::None => {}
        Change::Touched => title += &format!(", {} touched", scenario.changed_files),
        Change::Edited => title += &format!(", {} edited", scenario.changed_files),
    }
    if let Some(threads) = scenario.threads {
        title += &format!(", {threads} threads");
    }
    if scenario.dropped_caches {
        title += ", caches dropped";
    }
    title
}

fn table(scenario: &Scenario) -> String {
    let rows: Vec<_> = scenario
        .rows
        .iter()
        .map(|row| {
            vec![
                row.peer.clone(),
                report::microseconds(row.summary.median_us),
                format!("{:.2}", row.summary.ratio),
            ]
        })
        .collect();
    report::table(&["who", "median", "by the floor"], &rows)
}

fn write(scans: &Scans, docs: &Path) -> Done<()> {
    let mut text = format!("{}\n\n### Who took part\n\n", scans.machine.sentence());
    for peer in &scans.peers {
        text += &format!("{}\n", peer.sentence());
    }
    for (name, about, plot) in plots(scans) {
        if let Some(svg) = plot.svg() {
            std::fs::write(docs.join(name), svg)?;
            text += &format!("\n![{about}]({name})\n");
        }
    }
    for scenario in &scans.scenarios {
        text += &format!("\n### {}\n\n{}", title(scenario), table(scenario));
    }
    report::write_json(&docs.join("benchmarks.json"), scans)?;
    report::replace_section(&docs.join("benchmarks.md"), "scan", &text)
}

fn plots(scans: &Scans) -> Vec<(&'static str, &'static str, Plot)> {
    let plot = |title: &str, x, x_text, lines| Plot {
        title: title.to_owned(),
        x,
        x_text,
        y: "time",
        y_text: |time| {
            report::microseconds(time)
                .replace(".00", "")
                .replace(".0", "")
        },
        lines,
    };
    let all = &scans.scenarios;
    let hot = || {
        all.iter()
            .filter(|scenario| !scenario.dropped_caches && scenario.threads.is_none())
    };
    let clean = hot()
        .filter(|scenario| scenario.change == Change::None && scenario.corpus.ends_with("files"));
    let share = |scenario: &Scenario| scenario.changed_files as f64 / scenario.files as f64;
    let changed = |change| {
        lines(
            hot().filter(move |scenario| scenario.change == change),
            share,
        )
    };
    let percent: fn(f64) -> String = |share| format!("{} %", share * 100.0);
    let threads = all.iter().filter(|scenario| scenario.threads.is_some());
    vec![
        (
            "time-by-size.svg",
            "Time by the number of files",
            plot(
                "Status of a clean working copy, hot cache",
                "tracked files",
                |files| files.to_string(),
                lines(clean, |scenario| scenario.files as f64),
            ),
        ),
        (
            "time-by-touched.svg",
            "Time by the share of touched files",
            plot(
                "Files with new times and old contents",
                "touched",
                percent,
                changed(Change::Touched),
            ),
        ),
        (
            "time-by-edited.svg",
            "Time by the share of edited files",
            plot(
                "Files with new contents",
                "edited",
                percent,
                changed(Change::Edited),
            ),
        ),
        (
            "time-by-threads.svg",
            "Time by the number of threads",
            plot(
                "Status by the number of threads",
                "threads",
                |threads| threads.to_string(),
                lines(threads, |scenario| scenario.threads.unwrap_or(1) as f64),
            ),
        ),
    ]
}

/// A line per peer through the scenarios.
fn lines<'a>(
    scenarios: impl Iterator<Item = &'a Scenario>,
    x: impl Fn(&Scenario) -> f64,
) -> Vec<Line> {
    let mut order = Vec::new();
    let mut lines: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for scenario in scenarios {
        for row in &scenario.rows {
            let points = lines.entry(&row.peer).or_insert_with(|| {
                order.push(row.peer.as_str());
                Vec::new()
            });
            points.push((x(scenario), row.summary.median_us));
        }
    }
    let line = |name: &str| Line {
        name: name.to_owned(),
        points: lines.remove(name).unwrap_or_default(),
    };
    order.into_iter().map(line).collect()
}
