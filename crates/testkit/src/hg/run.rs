//! Plays many seeds, and compares the answers.

use std::fmt;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::operations::{PartialCheckouts, Player};
use super::questions::{plain_question, question};
use super::sandbox::HgSandbox;
use super::server::{HgOutput, Server};
use crate::daemon::Daemon;
use crate::random::rng::Rng;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program that is tested.
    pub candidate: PathBuf,
    /// Mercurial's program.
    pub oracle: PathBuf,
    /// Mercurial's Rust program, if it is to be run now and then: it records which directories hold nothing unknown.
    pub rhg: Option<PathBuf>,
    /// Where working copies are made.
    pub parent: PathBuf,
    /// The first seed.
    pub seed: u64,
    /// How many seeds are played.
    pub seeds: u64,
    /// The number of operations per seed.
    pub steps: u64,
    /// The number of questions after each operation.
    pub questions: u64,
    /// The number of threads.
    pub jobs: u64,
    /// No further seed is begun after this many mismatches.
    pub failures_max: u64,
    /// No further seed is begun after this time.
    pub time: Duration,
    /// Whether the dirstate is of the second format; if `None`, both take turns.
    pub dirstate_v2: Option<bool>,
    /// The store's format, an index into [`FORMATS`], or the next one for large files; if `None`, one in four has one of these.
    pub format: Option<usize>,
    /// Whether the candidate is asked through a daemon of its own.
    pub daemon: bool,
    /// Which partial working copies are tried.
    pub partial: PartialCheckouts,
}

/// Rare store formats, as lines of Mercurial's configuration. A release ignores what it does not know.
pub const FORMATS: [&str; 9] = [
    "[format]\nuse-delta-info-flags=yes\n",
    "[format]\nuse-fileindex-v1=yes\n",
    "[format]\nuse-fileindex-v1=yes\nexp-use-very-fragile-and-unsafe-plain-store-encoding=yes\n",
    "[format]\ndotencode=no\nexp-use-very-fragile-and-unsafe-plain-store-encoding=yes\n",
    "[experimental]\nrevlogv2=enable-unstable-format-and-corrupt-my-data\n",
    "[format]\nexp-use-changelog-v2=enable-unstable-format-and-corrupt-my-data\n",
    "[format]\nexp-use-copies-side-data-changeset=yes\n",
    "[experimental]\ntreemanifest=yes\n",
    "[extensions]\nlfs=\n[lfs]\ntrack=size('>1B')\n",
];

/// The configuration for large files, which counts as one more format.
const LARGE_FILES: &str = "[extensions]\nlargefiles=\n[largefiles]\npatterns=re:.*[b-e]$\n";

/// The results.
#[derive(Debug, Default)]
pub struct Totals {
    /// Questions with equal answers.
    pub same: u64,
    /// Questions that the candidate left to Mercurial.
    pub left_to_mercurial: u64,
    /// Questions where a separate Mercurial process agrees with the candidate, and the command server does not.
    pub doubtful: u64,
    /// Questions with different answers.
    pub mismatches: u64,
    /// Seeds that ended early because a program did.
    pub broken: u64,
    /// Questions that the daemon answered.
    pub by_daemon: u64,
    /// Questions that the daemon left to the client.
    pub left_by_daemon: u64,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} same, {} left to hg, {} doubtful, {} mismatches, {} seeds ended early, {} answered by a daemon and {} left by it",
            self.same,
            self.left_to_mercurial,
            self.doubtful,
            self.mismatches,
            self.broken,
            self.by_daemon,
            self.left_by_daemon
        )
    }
}

/// Plays the seeds, and writes differences to `report`.
///
/// # Errors
/// A working copy cannot be made, or a program does not run.
pub fn run(settings: &Settings, report: &Mutex<impl Write + Send>) -> io::Result<Totals> {
    let start = || Daemon::start(&settings.candidate, &settings.parent);
    let daemon = settings.daemon.then(start).transpose();
    let daemon = daemon.map_err(io::Error::other)?;
    let is_old = is_old(settings)?;
    let next = AtomicU64::new(settings.seed);
    let end = settings.seed.saturating_add(settings.seeds);
    let totals = Mutex::new(Totals::default());
    let begun = Instant::now();
    let worker = || -> io::Result<()> {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let failures = lock(&totals).mismatches;
            let is_over = begun.elapsed() > settings.time;
            if seed >= end || failures >= settings.failures_max || is_over {
                return Ok(());
            }
            if let Err(error) = play(settings, is_old, daemon.as_ref(), seed, &totals, report) {
                // Mercurial itself does not survive every operation.
                lock(&totals).broken += 1;
                writeln!(lock(report), "seed {seed} ended early: {error}")?;
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..settings.jobs).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            worker
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a worker ended")))?;
        }
        Ok::<(), io::Error>(())
    })?;
    if let Some(daemon) = &daemon {
        let status = daemon.final_status().map_err(io::Error::other)?;
        let mut totals = lock(&totals);
        (totals.by_daemon, totals.left_by_daemon) = (status.answered, status.left);
    }
    totals
        .into_inner()
        .map_err(|_| io::Error::other("a worker ended"))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The repository of a seed.
struct Layout {
    /// The configuration with which it is made and used.
    config: String,
    /// The lines for its rare format, if it has one.
    format: Option<&'static str>,
    has_dirstate_v2: bool,
    has_large_files: bool,
    /// Whether the extension eol is on.
    has_eol: bool,
}

impl Layout {
    /// Draws the repository of `seed`. `formats` are random numbers apart from the others, so that old failing seeds still play
    /// the same.
    fn draw(
        settings: &Settings,
        is_old: bool,
        seed: u64,
        rng: &mut Rng,
        formats: &mut Rng,
    ) -> Self {
        let any = formats
            .chance(25)
            .then(|| formats.below(FORMATS.len() as u64 + 1));
        let number = settings
            .format
            .or(any.and_then(|any| usize::try_from(any).ok()));
        let has_large_files = number == Some(FORMATS.len());
        let format = match has_large_files {
            true => Some(LARGE_FILES),
            false => number.and_then(|number| FORMATS.get(number).copied()),
        };
        // Before version 7, Mercurial loses the second one with large files, and says so in other words.
        let may_be_v2 = !(has_large_files && is_old);
        let is_v2 = may_be_v2 && settings.dirstate_v2.unwrap_or(seed.is_multiple_of(2));
        // Without its compiled extensions, Mercurial must be told that it may be slow.
        let mut config = format!(
            "[storage]\nall-slow-path=allow\ndirstate-v2.slow-path=allow\n[format]\nuse-dirstate-v2={is_v2}\n"
        );
        if rng.chance(20) {
            config.push_str("revlog-compression=zlib\n");
        }
        let needs_no_store = rng.chance(10) && format.is_none();
        if needs_no_store {
            config.push_str("usestore=no\n");
        }
        config.push_str(format.unwrap_or_default());
        let PartialCheckouts { sparse, narrow } = settings.partial;
        let has_eol = formats.chance(20);
        if has_eol {
            // The latter two have nothing to do there. In sparse working copies, largefiles is left to Mercurial.
            config.push_str("[extensions]\neol=\nkeyword=\n");
            config.push_str(if sparse { "" } else { "largefiles=\n" });
        }
        if sparse || narrow {
            config.push_str("[extensions]\nsparse=\nnarrow=\n");
        }
        Self {
            config,
            format,
            has_dirstate_v2: is_v2,
            has_large_files,
            has_eol,
        }
    }

    /// Returns its formats, as they are reported.
    fn described(&self) -> String {
        let version = 1 + u8::from(self.has_dirstate_v2);
        format!("dirstate v{version}\n{}", self.format.unwrap_or_default())
    }
}

/// Plays one seed. It ends at the first mismatch, which is written to `report`.
fn play(
    settings: &Settings,
    is_old: bool,
    daemon: Option<&Daemon>,
    seed: u64,
    totals: &Mutex<Totals>,
    report: &Mutex<impl Write>,
) -> io::Result<()> {
    let mut sandbox = HgSandbox::new(&settings.parent, &settings.oracle)?;
    if let Some(daemon) = daemon {
        let folder = daemon.runtime_folder();
        sandbox.set_variable("VIGIL_RUNTIME_DIR", &folder.to_string_lossy());
        // A busy machine is slow, but the daemon is to be used all the same.
        sandbox.set_variable("VIGIL_DAEMON_PATIENCE_MS", "60000");
        sandbox.set_variable("VIGIL_DAEMON_REST_S", "0");
    }
    let mut rng = Rng::new(seed);
    if rng.chance(10) {
        sandbox.set_variable("HGPLAIN", "1");
    }
    let mut formats = Rng::new(!seed);
    let layout = Layout::draw(settings, is_old, seed, &mut rng, &mut formats);
    std::fs::write(sandbox.home().join("hgrc"), &layout.config)?;
    let mut server = Server::start(&sandbox)?;
    server.run(&["init"])?;
    let top = sandbox.top();
    let mut player = Player::new(&top, rng, is_old, settings.partial);
    if settings.partial.narrow {
        player.start_narrow()?;
    }
    player.has_eol = layout.has_eol;
    if layout.has_large_files {
        player.start_with_large_file(&mut server)?;
    }
    let mut hgeol = None;
    for _ in 0..settings.steps {
        player.perform_operation(&mut server)?;
        if layout.has_eol && formats.chance(8) {
            player.line_endings();
        }
        // A process reads the line endings once.
        let now = std::fs::read(top.join(".hgeol")).ok();
        if now != hgeol {
            hgeol = now;
            server = Server::start(&sandbox)?;
        }
        if let Some(rhg) = settings.rhg.as_ref().filter(|_| player.rng.chance(60)) {
            let output = sandbox.command(rhg, &top).arg("status").output()?;
            player
                .operations_log
                .push(format!("rhg status = {:?}", output.status.code()));
        }
        for _ in 0..settings.questions {
            // The daemon does not answer questions about a part.
            let words = match daemon.is_some() && player.rng.chance(75) {
                true => plain_question(&mut player),
                false => question(&mut player),
            };
            // Now and then the candidate answers without the daemon: it reads what the daemon wrote, and the daemon
            // what it wrote.
            let is_alone = daemon.is_some() && player.rng.chance(20);
            match compare(settings, &sandbox, &mut server, &words, is_alone)? {
                Verdict::Same => lock(totals).same += 1,
                Verdict::LeftToMercurial => lock(totals).left_to_mercurial += 1,
                Verdict::Doubtful => lock(totals).doubtful += 1,
                Verdict::Different(answers) => {
                    lock(totals).mismatches += 1;
                    let played = format!("seed {seed}, {}", layout.described());
                    let text = mismatch(&played, &player.operations_log, &words, &answers);
                    writeln!(lock(report), "{text}")?;
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// The result of one comparison.
enum Verdict {
    Same,
    LeftToMercurial,
    /// Another process of Mercurial agrees with the candidate, or crashes.
    Doubtful,
    /// What each program said, by the name under which it is reported.
    Different(Vec<(&'static str, HgOutput)>),
}

/// Asks the candidate and the command server `words`. If `is_alone`, the candidate asks no daemon.
fn compare(
    settings: &Settings,
    sandbox: &HgSandbox,
    server: &mut Server,
    words: &[Vec<u8>],
    is_alone: bool,
) -> io::Result<Verdict> {
    let top = sandbox.top();
    let mut candidate = sandbox.command(&settings.candidate, &top);
    candidate
        .arg("hg")
        .args(words.iter().map(|word| OsStr::from_bytes(word)));
    if is_alone {
        candidate.env("VIGIL_NO_DAEMON", "1");
    }
    let answer = hg_output(&candidate.output()?);
    if is_left_to_mercurial(&answer) {
        return Ok(Verdict::LeftToMercurial);
    }
    let expected = server.run(words)?;
    if answer == expected {
        return Ok(Verdict::Same);
    }
    let mut alone = sandbox.command(sandbox.hg_program(), &top);
    alone.args(words.iter().map(|word| OsStr::from_bytes(word)));
    let alone = hg_output(&alone.output()?);
    if answer == alone || has_crashed(&alone) {
        return Ok(Verdict::Doubtful);
    }
    Ok(Verdict::Different(vec![
        ("candidate", answer),
        ("hg", expected),
        ("hg alone", alone),
    ]))
}

/// Returns what to report of a mismatch in the seed `played`, after the `operations`.
fn mismatch(
    played: &str,
    operations: &[String],
    words: &[Vec<u8>],
    answers: &[(&str, HgOutput)],
) -> String {
    let mut text = played.to_owned();
    for line in operations {
        let _ = writeln!(text, "  {line}");
    }
    let shown: Vec<_> = words
        .iter()
        .map(|word| String::from_utf8_lossy(word))
        .collect();
    let _ = writeln!(text, "question {shown:?}");
    for (name, printed) in answers {
        let _ = writeln!(text, "--- {name}: exit code {}", printed.code);
        text.push_str(&String::from_utf8_lossy(&printed.stderr));
        text.push_str(&String::from_utf8_lossy(&printed.stdout));
    }
    text
}

/// Returns whether Mercurial's version is before 7.
fn is_old(settings: &Settings) -> io::Result<bool> {
    let sandbox = HgSandbox::new(&settings.parent, &settings.oracle)?;
    let version = sandbox.hg(["version", "-q", "-T", "{ver}"])?.stdout;
    let major = version
        .split(|byte| *byte == b'.')
        .next()
        .unwrap_or_default();
    let major = std::str::from_utf8(major).unwrap_or_default();
    Ok(major.parse::<u32>().is_ok_and(|major| major < 7))
}

/// Returns whether the candidate says that only Mercurial can answer.
fn is_left_to_mercurial(answer: &HgOutput) -> bool {
    let output = String::from_utf8_lossy(&answer.stderr);
    answer.code == 255 && output.contains("vigil does not answer this")
}

/// Returns whether Mercurial itself crashed on the question.
fn has_crashed(answer: &HgOutput) -> bool {
    let output = String::from_utf8_lossy(&answer.stderr);
    answer.code == 1 && output.contains("** unknown exception encountered")
}

fn hg_output(output: &std::process::Output) -> HgOutput {
    HgOutput {
        stdout: output.stdout.clone(),
        stderr: output.stderr.clone(),
        code: output.status.code().unwrap_or(-1),
    }
}
