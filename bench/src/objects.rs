//! Objects and names of commits: `cat-file` and `describe` beside git's.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

use crate::Done;
use crate::arguments::Arguments;
use crate::corpus::{cached, quiet_environment, succeeded};
use crate::history::{self, Tags};
use crate::machine::{Machine, docs_dir, workspace};
use crate::measure::{Summary, run_interleaved};
use crate::report;

/// The number of commits in the repository whose objects are asked for, unless another repository is named.
const COMMITS: usize = 5_000;
/// The number of tags in the repositories in which commits are described.
const TAGS: usize = 20_000;
/// The number of objects that are asked for one after the other.
const REQUESTS: usize = 2_000;
/// The number of bytes read at a time.
const READ_LEN: usize = 1 << 20;

/// A program that takes part.
#[derive(Clone)]
struct Peer {
    name: &'static str,
    program: PathBuf,
}

/// The kind of task.
#[derive(Clone, Copy)]
enum Work {
    /// A command with these arguments, whose whole output is read.
    Output(&'static [&'static str]),
    /// Requests for objects, each sent after the answer to the one before.
    Dialogue,
}

struct Task {
    title: &'static str,
    repository: PathBuf,
    work: Work,
    rounds: usize,
}

/// The times of all peers in one task. Ratios are to git.
#[derive(Serialize)]
struct Outcome {
    title: String,
    rounds: usize,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    peer: &'static str,
    #[serde(flatten)]
    summary: Summary,
    /// The most anonymous memory that it was seen to have, in KiB.
    anonymous_kib: Option<u64>,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    git: String,
    tasks: Vec<Outcome>,
}

/// Answers each line with one, until there are no more: the floor of a dialogue through two pipes.
pub(crate) fn answer_every_line() -> Done<()> {
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    let mut input = std::io::stdin().lock();
    while input.read_until(b'\n', &mut line)? > 0 {
        output.write_all(b"floor blob 0\n\n")?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}

pub(crate) fn run(arguments: &mut Arguments) -> Done<()> {
    let rounds = arguments.option_number("--rounds", 0)?;
    let commits = arguments.option_number("--commits", COMMITS)?;
    let tags = arguments.option_number("--tags", TAGS)?;
    let repository = match std::env::var_os("VIGIL_BENCH_REPOSITORY") {
        Some(repository) => repository.into(),
        None => history::packed(commits)?,
    };
    arguments.end()?;
    let variable = |name, default: PathBuf| std::env::var_os(name).map_or(default, PathBuf::from);
    let peers = [
        Peer {
            name: "git",
            program: variable("VIGIL_BENCH_GIT", "git".into()),
        },
        Peer {
            name: "vigil",
            program: variable("VIGIL", workspace()?.join("target/release/vigil")),
        },
    ];
    let of_rounds = |default| if rounds > 0 { rounds } else { default };
    let mut tasks = Vec::new();
    for (title, arguments) in [
        (
            "all contents, in any order",
            &["cat-file", "--batch-all-objects", "--batch", "--unordered"][..],
        ),
        (
            "all contents, by id",
            &["cat-file", "--batch-all-objects", "--batch"],
        ),
        (
            "types and sizes of all",
            &["cat-file", "--batch-all-objects", "--batch-check"],
        ),
    ] {
        tasks.push(Task {
            title,
            repository: repository.clone(),
            work: Work::Output(arguments),
            rounds: of_rounds(7),
        });
    }
    tasks.push(Task {
        title: "one object after the other, on one core, each",
        repository,
        work: Work::Dialogue,
        rounds: of_rounds(7),
    });
    for (title, repository) in [
        (
            "describe among many tags",
            history::tagged(tags, Tags::Annotated)?,
        ),
        (
            "describe among many loose tags",
            history::tagged(tags, Tags::Loose)?,
        ),
        (
            "describe where many tags do not count",
            history::tagged(tags, Tags::Lightweight)?,
        ),
        (
            "the same, all of one commit",
            history::tagged(tags, Tags::OfOneCommit)?,
        ),
        ("describe where there is one commit", cached(1)?),
    ] {
        tasks.push(Task {
            title,
            repository,
            work: Work::Output(&["describe", "--always"]),
            rounds: of_rounds(31),
        });
    }
    let tasks = tasks.iter().map(|task| measure_task(task, &peers));
    let report = Report {
        tasks: tasks.collect::<Done<_>>()?,
        machine: Machine::of_this_host()?,
        git: peers.first().map_or(Ok(String::new()), version)?,
    };
    let docs = docs_dir()?;
    let text = format!(
        "{}\n\nThe base is {}.\n\n{}",
        report.machine.sentence(),
        report.git,
        table(&report.tasks)
    );
    report::write_json(&docs.join("objects.json"), &report)?;
    report::replace_section(&docs.join("benchmarks.md"), "objects", &text)
}

fn version(peer: &Peer) -> Done<String> {
    let output = Command::new(&peer.program).arg("--version").output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn measure_task(task: &Task, peers: &[Peer]) -> Done<Outcome> {
    let ids = match task.work {
        Work::Output(_) => Vec::new(),
        Work::Dialogue => sample_ids(peers, &task.repository)?,
    };
    let mut peers = peers.to_vec();
    if let Work::Dialogue = task.work {
        peers.push(Peer {
            name: "two pipes alone",
            program: std::env::current_exe()?,
        });
    }
    let mut memory: Vec<Option<u64>> = vec![None; peers.len()];
    if let Work::Output(arguments) = task.work {
        for (peer, memory) in peers.iter().zip(&mut memory) {
            *memory = read_all(peer, arguments, &task.repository, true)?.1;
        }
    }
    let summaries = run_interleaved(&mut peers, 0, task.rounds, |peer| match task.work {
        Work::Output(arguments) => Ok(read_all(peer, arguments, &task.repository, false)?.0),
        Work::Dialogue => time_per_object(peer, &task.repository, &ids),
    })?;
    let rows = peers.iter().zip(summaries).zip(memory);
    let outcome = Outcome {
        title: task.title.to_owned(),
        rounds: task.rounds,
        rows: rows
            .map(|((peer, summary), anonymous_kib)| Row {
                peer: peer.name,
                summary,
                anonymous_kib,
            })
            .collect(),
    };
    eprintln!("\n{}", table(std::slice::from_ref(&outcome)));
    Ok(outcome)
}

fn table(outcomes: &[Outcome]) -> String {
    let rows: Vec<_> = outcomes
        .iter()
        .flat_map(|outcome| outcome.rows.iter().map(move |row| (outcome, row)))
        .map(|(outcome, row)| {
            let memory = row.anonymous_kib.map_or("–".to_owned(), |kib| {
                format!("{:.1} MiB", kib as f64 / 1024.0)
            });
            vec![
                outcome.title.clone(),
                row.peer.to_owned(),
                report::microseconds(row.summary.median_us),
                format!("{:.2}", row.summary.ratio),
                memory,
            ]
        })
        .collect();
    report::table(&["what", "who", "median", "by git", "own memory"], &rows)
}

fn command(program: &Path, arguments: &[&str], repository: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(repository)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    quiet_environment(&mut command);
    command
}

/// Runs a command and reads all its output. Returns the time, and the most anonymous memory that was seen, if
/// `looks`.
fn read_all(
    peer: &Peer,
    arguments: &[&str],
    repository: &Path,
    looks: bool,
) -> Done<(Duration, Option<u64>)> {
    let start = Instant::now();
    let mut child = command(&peer.program, arguments, repository)
        .stdin(Stdio::null())
        .spawn()?;
    let mut output = child.stdout.take().ok_or("no output")?;
    let mut buffer = vec![0; READ_LEN];
    let mut most = None;
    while output.read(&mut buffer)? > 0 {
        if looks {
            most = most.max(anonymous_kib(&child));
        }
    }
    succeeded(child.wait()?, peer.name)?;
    Ok((start.elapsed(), most))
}

/// The anonymous memory of a process, in KiB (proc_pid_status(5)).
fn anonymous_kib(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The ids of objects to ask for, from all over the repository.
fn sample_ids(peers: &[Peer], repository: &Path) -> Done<Vec<String>> {
    let git = peers.first().ok_or("no git")?;
    let arguments = [
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ];
    let listed = command(&git.program, &arguments, repository).output()?;
    let text = String::from_utf8(listed.stdout)?;
    let ids: Vec<_> = text.lines().map(str::to_owned).collect();
    let step = (ids.len() / REQUESTS).max(1);
    Ok(ids.into_iter().step_by(step).take(REQUESTS).collect())
}

/// Keeps this thread, and the programs that it starts, on one core while it lives. Otherwise most of the time of a short dialogue
/// may go to waking an idle core, twice per answer, and the scheduler decides whether it does.
struct OnOneCore {
    before: CpuSet,
}

impl OnOneCore {
    fn begin() -> Done<Self> {
        let before = sched_getaffinity(None)?;
        let first = (0..CpuSet::MAX_CPU).find(|core| before.is_set(*core));
        let mut one = CpuSet::new();
        one.set(first.ok_or("no core")?);
        sched_setaffinity(None, &one)?;
        Ok(Self { before })
    }
}

impl Drop for OnOneCore {
    fn drop(&mut self) {
        // It fails only if those cores are gone; then any are right.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// The median time of an object.
fn time_per_object(peer: &Peer, repository: &Path, ids: &[String]) -> Done<Duration> {
    let is_floor = Some(peer.program.as_path()) == std::env::current_exe().ok().as_deref();
    let arguments: &[&str] = match is_floor {
        true => &["echo"],
        false => &["cat-file", "--batch"],
    };
    let _on_one_core = OnOneCore::begin()?;
    let mut child = command(&peer.program, arguments, repository)
        .stdin(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("no input")?;
    let mut output = BufReader::with_capacity(1 << 16, child.stdout.take().ok_or("no output")?);
    let mut times = Vec::with_capacity(ids.len());
    let mut contents = Vec::new();
    for id in ids {
        let start = Instant::now();
        ask(id, &mut input, &mut output, &mut contents)?;
        times.push(start.elapsed());
    }
    drop(input);
    succeeded(child.wait()?, peer.name)?;
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied();
    median.ok_or_else(|| "no objects".into())
}

fn ask(
    id: &str,
    input: &mut ChildStdin,
    output: &mut BufReader<ChildStdout>,
    contents: &mut Vec<u8>,
) -> Done<()> {
    input.write_all(format!("{id}\n").as_bytes())?;
    contents.clear();
    output.read_until(b'\n', contents)?;
    let line = String::from_utf8_lossy(contents);
    let size = line.trim_end().rsplit(' ').next();
    let size: usize = size.ok_or("no answer")?.parse()?;
    contents.resize(size + 1, 0);
    Ok(output.read_exact(contents)?)
}
