//! The status of a Mercurial working copy: Vigil beside hg and rhg.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Done;
use crate::arguments::Arguments;
use crate::corpus::{Random, keep_as, succeeded, tree};
use crate::machine::{Machine, corpora_dir, docs_dir, workspace};
use crate::measure::{Summary, run_interleaved};
use crate::peers::{Participant, on_path};
use crate::report;

/// The version of the corpora. Corpora kept from another version are made anew.
const VERSION: u32 = 1;
/// The numbers of tracked, changed and ignored files.
const FILES: usize = 100_000;
const CHANGED_FILES: usize = 10_000;
const IGNORED_FILES: usize = 500_000;
/// The number of ignored files in one directory.
const IGNORED_PER_DIR: usize = 500;
const ROUNDS: usize = 15;
/// The peer to which all ratios refer.
const BASE_PEER: usize = 0;

/// How a peer is asked.
#[derive(Clone, Copy)]
enum Mode {
    /// A process that computes the answer itself.
    Alone(&'static [&'static str]),
    /// A process that asks a daemon.
    ByDaemon(&'static [&'static str]),
}

struct Peer {
    name: &'static str,
    program: PathBuf,
    mode: Mode,
}

/// One situation, and the times of each peer in it. Ratios are to hg.
#[derive(Serialize)]
struct Situation {
    title: String,
    rounds: usize,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    peer: &'static str,
    #[serde(flatten)]
    summary: Summary,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    attendance: Vec<Participant>,
    files: usize,
    dirstate: u32,
    situations: Vec<Situation>,
}

/// The working copy in which the peers are asked.
struct HgWorkingCopy {
    dir: PathBuf,
    hg: PathBuf,
    hgrc: PathBuf,
}

pub(crate) fn run(arguments: &mut Arguments) -> Done<()> {
    let rounds = arguments.option_number("--rounds", ROUNDS)?;
    let files = arguments.option_number("--files", FILES)?;
    let changed = arguments.option_number("--changed", CHANGED_FILES)?;
    let ignored = arguments.option_number("--ignored", IGNORED_FILES)?;
    let dirstate = if arguments.flag("--v1") { 1 } else { 2 };
    arguments.end()?;
    let (peers, attendance) = find_peers()?;
    let Some(hg) = peers.first().filter(|peer| peer.name == "hg status") else {
        eprintln!("no hg: its working copies are left out");
        return Ok(());
    };
    let working_copy = HgWorkingCopy::new(files, dirstate, hg.program.clone())?;
    let daemon = Daemon::start(&vigil_build()?)?;
    let ask = |title: String| working_copy.ask(&peers, &daemon, title, rounds);
    let mut situations = vec![ask("clean".to_owned())?];
    let step = (files / changed.max(1)).max(1);
    let mut count = 0;
    for path in working_copy
        .tracked_files()?
        .iter()
        .step_by(step)
        .take(changed)
    {
        let mut file = OpenOptions::new().append(true).open(path)?;
        file.write_all(b"edited\n")?;
        count += 1;
    }
    let asked = ask(format!("{count} files changed"));
    working_copy.hg(&["update", "-q", "-C", "."])?;
    working_copy.settle()?;
    situations.push(asked?);
    working_copy.add_ignored(ignored)?;
    let asked = ask(format!("{ignored} files ignored"));
    fs::remove_dir_all(working_copy.dir.join("ignored"))?;
    situations.push(asked?);
    let report = Report {
        machine: Machine::of_this_host()?,
        attendance,
        files,
        dirstate,
        situations,
    };
    let docs = docs_dir()?;
    report::write_json(&docs.join("hg.json"), &report)?;
    report::replace_section(&docs.join("benchmarks.md"), "hg", &report.text())
}

/// The build of Vigil that takes part.
fn vigil_build() -> Done<PathBuf> {
    Ok(match std::env::var_os("VIGIL") {
        Some(program) => program.into(),
        None => workspace()?.join("target/release/vigil"),
    })
}

/// Looks for all peers; hg comes first.
fn find_peers() -> Done<(Vec<Peer>, Vec<Participant>)> {
    let named = |variable: &str, name: &str| {
        let named = std::env::var_os(variable).map(PathBuf::from);
        named
            .or_else(|| on_path(name))
            .filter(|program| program.is_file())
    };
    let vigil = Some(vigil_build()?).filter(|program| program.is_file());
    let of_vigil: &[(&str, Mode)] = &[
        (
            "vigil hg status, no state on disk",
            Mode::Alone(&["hg", "--config", "vigil.stateFile=no", "status"]),
        ),
        ("vigil hg status", Mode::Alone(&["hg", "status"])),
        (
            "vigil hg status, through the daemon",
            Mode::ByDaemon(&["hg", "status"]),
        ),
    ];
    let all = [
        (
            "hg",
            named("HG", "hg"),
            &[("hg status", Mode::Alone(&["status"]))][..],
        ),
        (
            "rhg",
            named("RHG", "rhg"),
            &[("rhg status", Mode::Alone(&["status"]))],
        ),
        ("vigil", vigil, of_vigil),
    ];
    let mut peers = Vec::new();
    let mut attendance = Vec::new();
    for (name, program, modes) in all {
        attendance.push(Participant::new(
            name,
            program.as_deref(),
            format!("neither on PATH nor named by {}", name.to_uppercase()),
        ));
        for (name, mode) in modes {
            peers.extend(program.clone().map(|program| Peer {
                name,
                program,
                mode: *mode,
            }));
        }
    }
    Ok((peers, attendance))
}

impl HgWorkingCopy {
    /// The kept working copy of `files` files: clean, and made first if necessary.
    fn new(files: usize, dirstate: u32, hg: PathBuf) -> Done<Self> {
        let dir = corpora_dir()?.join(format!("hg-{files}-v{dirstate}"));
        let working_copy = Self {
            hgrc: corpora_dir()?.join("hgrc"),
            dir,
            hg,
        };
        fs::write(
            &working_copy.hgrc,
            "[ui]\nusername = Bench\n[vigil]\nhg.fallback = no\n[storage]\ndirstate-v2.slow-path = allow\n",
        )?;
        let note = working_copy.dir.join(".hg/vigil-bench");
        keep_as(
            &working_copy.dir,
            &note,
            &format!("{VERSION} {files} {dirstate}"),
            || working_copy.hg(&["update", "-q", "-C", "."]),
            || working_copy.make(files, dirstate),
        )?;
        working_copy.settle()?;
        Ok(working_copy)
    }

    fn make(&self, files: usize, dirstate: u32) -> Done<()> {
        fs::create_dir_all(&self.dir)?;
        let format = format!("format.use-dirstate-v2={}", dirstate == 2);
        self.hg(&["init", "--config", &format])?;
        fs::write(self.dir.join(".hgignore"), "syntax: glob\n*.o\n*.tmp\n")?;
        for (path, text) in tree(files) {
            let path = self.dir.join(path);
            fs::create_dir_all(path.parent().ok_or("no folder")?)?;
            fs::write(path, text)?;
        }
        self.hg(&["commit", "-q", "-A", "-m", "Corpus", "-d", "0 0"])
    }

    fn hg(&self, arguments: &[&str]) -> Done<()> {
        let status = self.command(&self.hg).args(arguments).status()?;
        succeeded(status, &format!("hg {arguments:?}"))
    }

    /// A command that runs in the working copy, without the user's settings.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.dir)
            .env("HGRCPATH", &self.hgrc)
            .env("VIGIL_NO_DAEMON", "1")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("HGPLAIN");
        command
    }

    /// Has the times of files recorded, once they are old enough to be trusted.
    fn settle(&self) -> Done<()> {
        std::thread::sleep(Duration::from_millis(1_100));
        let mut command = self.command(&self.hg);
        let status = command.arg("status").stdout(Stdio::null()).status()?;
        succeeded(status, "hg status")
    }

    /// The paths of the tracked files.
    fn tracked_files(&self) -> Done<Vec<PathBuf>> {
        use std::os::unix::ffi::OsStrExt;
        let listed = self.command(&self.hg).args(["files", "-0"]).output()?;
        let paths = listed.stdout.split(|byte| *byte == 0);
        let paths = paths.filter(|path| !path.is_empty());
        Ok(paths
            .map(|path| self.dir.join(std::ffi::OsStr::from_bytes(path)))
            .collect())
    }

    fn add_ignored(&self, count: usize) -> Done<()> {
        let mut random = Random::new(count as u64);
        let top = self.dir.join("ignored");
        fs::create_dir_all(&top)?;
        for number in 0..count {
            let dir = top.join(format!("d{}", number / IGNORED_PER_DIR));
            if number % IGNORED_PER_DIR == 0 {
                fs::create_dir_all(&dir)?;
            }
            fs::write(
                dir.join(format!("{:08x}{number}.o", random.next() >> 32)),
                "",
            )?;
        }
        Ok(())
    }

    /// Asks once. Returns the time and the answer.
    fn answer(&self, peer: &Peer, daemon: &Daemon) -> Done<(Duration, Vec<u8>)> {
        let mut command = self.command(&peer.program);
        match peer.mode {
            Mode::Alone(arguments) => command.args(arguments),
            Mode::ByDaemon(arguments) => command
                .args(arguments)
                .env_remove("VIGIL_NO_DAEMON")
                .env("VIGIL_RUNTIME_DIR", &daemon.folder),
        };
        let start = Instant::now();
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        let time = start.elapsed();
        succeeded(output.status, peer.name)?;
        Ok((time, output.stdout))
    }

    /// Asks all peers in turns. Each is asked once before, and must give the same answer as hg.
    fn ask(
        &self,
        peers: &[Peer],
        daemon: &Daemon,
        title: String,
        rounds: usize,
    ) -> Done<Situation> {
        let mut said = None;
        for peer in peers {
            let (_, answer) = self.answer(peer, daemon)?;
            let expected = said.get_or_insert_with(|| answer.clone());
            if answer != *expected {
                return Err(format!("{title}: {} says something else", peer.name).into());
            }
        }
        let mut things: Vec<&Peer> = peers.iter().collect();
        let summaries = run_interleaved(&mut things, BASE_PEER, rounds, |peer| {
            Ok(self.answer(peer, daemon)?.0)
        })?;
        let names = peers.iter().map(|peer| peer.name);
        Ok(Situation {
            title,
            rounds,
            rows: names
                .zip(summaries)
                .map(|(peer, summary)| Row { peer, summary })
                .collect(),
        })
    }
}

/// A daemon of the build that takes part.
struct Daemon {
    process: Child,
    folder: PathBuf,
    _folder: tempfile::TempDir,
}

impl Daemon {
    fn start(vigil: &Path) -> Done<Self> {
        let root = tempfile::tempdir()?;
        let folder = root.path().join("run");
        let mut process = Command::new(vigil)
            .args(["daemon", "run"])
            .env("VIGIL_RUNTIME_DIR", &folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = process.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let daemon = Self {
            process,
            folder,
            _folder: root,
        };
        match line.starts_with("serving on ") {
            true => Ok(daemon),
            false => Err(format!("no daemon: {line}").into()),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Report {
    fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.machine.sentence());
        for one in &self.attendance {
            text.push_str(&one.sentence());
            text.push('\n');
        }
        let (files, dirstate) = (self.files, self.dirstate);
        text.push_str(&format!(
            "\n{files} files, dirstate of version {dirstate}.\n"
        ));
        for situation in &self.situations {
            text.push_str(&format!("\n### {}\n\n", situation.title));
            let rows = situation.rows.iter().map(|row| {
                vec![
                    row.peer.to_owned(),
                    report::microseconds(row.summary.median_us),
                    format!("{:.3}", row.summary.ratio),
                ]
            });
            let rows: Vec<_> = rows.collect();
            text.push_str(&report::table(&["program", "time", "to hg"], &rows));
        }
        text
    }
}
