//! The programs that are compared, all asked the same question: what changed in this repository?

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Done;
use crate::corpus::quiet_environment;
use crate::machine::{corpora_dir, workspace};

/// How a peer is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// One process per question, with these arguments.
    Command(&'static [&'static str]),
    /// The gitstatusd protocol, with a new process per question.
    GitstatusdFirst(&'static [&'static str]),
    /// The same, with the state on disk switched off in the configuration.
    GitstatusdFirstWithoutState(&'static [&'static str]),
    /// The gitstatusd protocol, with one process for all questions.
    GitstatusdHot(&'static [&'static str]),
    /// The same as [`Self::GitstatusdHot`], with [`ROW_LEN`] questions in a row. The time is that of one question.
    GitstatusdRow(&'static [&'static str]),
    /// The floor program, which measures itself.
    Floor(&'static [&'static str]),
}

/// The number of questions in a row. With fewer, the processor's caches, as another program left them, and its clock
/// rate matter more than the answer.
const ROW_LEN: u32 = 100;

/// A program that takes part.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) name: String,
    program: PathBuf,
    mode: Mode,
    /// The state on disk is written by this build before each question, because another build that takes part replaces
    /// it.
    warms_up: bool,
}

/// A program that takes part, or one that could but is not installed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Participant {
    name: String,
    /// The version that the program reports, if it is installed.
    version: Option<String>,
    /// The program's file name, or where it was looked for.
    place: String,
}

impl Participant {
    /// The attendance of `name`. Without a `program` it is absent, and `place` says where it was looked for.
    pub(crate) fn new(name: &str, program: Option<&Path>, place: String) -> Self {
        let file_name = program.and_then(Path::file_name);
        Self {
            name: name.to_owned(),
            version: program.map(version),
            place: file_name.map_or(place, |name| name.to_string_lossy().into_owned()),
        }
    }

    pub(crate) fn sentence(&self) -> String {
        match &self.version {
            Some(version) => format!("- {}: {version}", self.name),
            None => format!("- {}: **absent** ({})", self.name, self.place),
        }
    }
}

const STATUS: &[&str] = &["status", "--porcelain"];
const STATUS_WITHOUT_STATE: &[&str] = &["-c", "vigil.stateFile=false", "status", "--porcelain"];
const GIT_STATUS: &[&str] = &[
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.fsmonitor=false",
    "status",
    "--porcelain",
];
/// Count everything: a program that may stop early does different work from the rest.
const GITSTATUSD: &[&str] = &[
    "-v", "FATAL", "-s", "-1", "-u", "-1", "-c", "-1", "-d", "-1",
];
const VIGIL_GITSTATUSD: &[&str] = &[
    "gitstatusd",
    "-v",
    "FATAL",
    "-s",
    "-1",
    "-u",
    "-1",
    "-c",
    "-1",
    "-d",
    "-1",
];

/// The ways in which Vigil is asked.
const VIGIL_MODES: [(&str, Mode); 6] = [
    ("status", Mode::Command(STATUS)),
    (
        "status, no state on disk",
        Mode::Command(STATUS_WITHOUT_STATE),
    ),
    ("gitstatusd, first", Mode::GitstatusdFirst(VIGIL_GITSTATUSD)),
    (
        "gitstatusd, first, no state on disk",
        Mode::GitstatusdFirstWithoutState(VIGIL_GITSTATUSD),
    ),
    ("gitstatusd, hot", Mode::GitstatusdHot(VIGIL_GITSTATUSD)),
    (
        "gitstatusd, hot, in a row",
        Mode::GitstatusdRow(VIGIL_GITSTATUSD),
    ),
];

/// The peer to which all ratios refer: the floor with listing.
pub(crate) const BASE_PEER: usize = 0;

/// Looks for all peers. The floors come first.
pub(crate) fn find_peers() -> Done<(Vec<Peer>, Vec<Participant>)> {
    let mut peers = Vec::new();
    let mut attendance = Vec::new();
    let here = std::env::current_exe()?;
    let floors: [(&str, &'static [&'static str]); 2] = [
        ("floor with listing", &["--list"]),
        ("floor without listing", &[]),
    ];
    for (name, flags) in floors {
        peers.push(Peer {
            name: name.to_owned(),
            program: here.clone(),
            mode: Mode::Floor(flags),
            warms_up: false,
        });
    }

    let before = std::env::var_os("VIGIL_BEFORE").map(PathBuf::from);
    let has_earlier = before.is_some();
    let mut add = |name: &str, program: Option<PathBuf>, place: String, modes: &[(&str, Mode)]| {
        attendance.push(Participant::new(name, program.as_deref(), place));
        for (name, mode) in modes {
            peers.extend(program.clone().map(|program| Peer {
                name: (*name).to_owned(),
                program,
                mode: *mode,
                warms_up: has_earlier && name.contains("vigil"),
            }));
        }
    };

    let vigil = match std::env::var_os("VIGIL") {
        Some(program) => program.into(),
        None => workspace()?.join("target/release/vigil"),
    };
    let builds =
        std::iter::once(("vigil", vigil)).chain(before.map(|vigil| ("earlier vigil", vigil)));
    for (build, vigil) in builds {
        let named = VIGIL_MODES.map(|(what, mode)| (format!("{build} {what}"), mode));
        let modes: Vec<_> = named
            .iter()
            .map(|(name, mode)| (name.as_str(), *mode))
            .collect();
        add(
            build,
            usable_vigil(&vigil).then(|| vigil.clone()),
            format!("no `vigil status` in `{}`", vigil.display()),
            &modes,
        );
    }
    let own = std::env::var_os("VIGIL_BENCH_GIT").map(PathBuf::from);
    let installed = ["/usr/local/bin/git", "/usr/bin/git"].map(PathBuf::from);
    for git in own.into_iter().chain(installed) {
        let name = match git.is_file() {
            true => version(&git).replace(" version", ""),
            false => format!("git in {}", git.display()),
        };
        let present = git.is_file().then(|| git.clone());
        let status = format!("{name} status");
        add(
            &name,
            present,
            "not installed".to_owned(),
            &[(&status, Mode::Command(GIT_STATUS))],
        );
    }
    let gitstatusd = std::env::var_os("GITSTATUSD").map(PathBuf::from);
    add(
        "gitstatusd",
        gitstatusd.filter(|program| program.is_file()),
        "GITSTATUSD does not name a program".to_owned(),
        &[
            ("gitstatusd, first", Mode::GitstatusdFirst(GITSTATUSD)),
            ("gitstatusd, hot", Mode::GitstatusdHot(GITSTATUSD)),
            ("gitstatusd, hot, in a row", Mode::GitstatusdRow(GITSTATUSD)),
        ],
    );
    add(
        "gix",
        on_path("gix"),
        "not on PATH".to_owned(),
        &[("gix status", Mode::Command(&["status"]))],
    );
    Ok((peers, attendance))
}

/// Whether the program can answer a status at all.
fn usable_vigil(program: &Path) -> bool {
    let Ok(empty) = tempfile::tempdir() else {
        return false;
    };
    let made = crate::corpus::git(empty.path(), &["init", "-q"]);
    std::fs::write(empty.path().join("new"), "").is_ok()
        && made.is_ok()
        && command(program, STATUS, empty.path())
            .stderr(Stdio::null())
            .output()
            .is_ok_and(|output| output.status.success() && output.stdout == b"?? new\n")
}

fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    match text.unwrap_or_default().lines().next() {
        Some(line) if !line.is_empty() => line.to_owned(),
        _ => "version not told".to_owned(),
    }
}

pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|program| program.is_file())
}

/// A command that runs in `repository`, without the user's git settings and without Vigil's daemon. The program must not write to
/// the index, so that every round finds what the one before found.
fn command(program: &Path, arguments: &[&str], repository: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(repository);
    quiet_environment(&mut command);
    command.env("GIT_OPTIONAL_LOCKS", "0");
    command.env("VIGIL_NO_DAEMON", "1");
    command
}

/// A peer at work in one repository.
pub(crate) struct Session {
    pub(crate) name: String,
    program: PathBuf,
    repository: PathBuf,
    mode: Mode,
    warms_up: bool,
    threads: Option<usize>,
    server: Option<Server>,
}

impl Peer {
    /// Whether the number of threads can be set.
    pub(crate) fn takes_threads(&self) -> bool {
        !matches!(self.mode, Mode::Command(_))
    }

    /// Whether it asks many times in a row, for which answers must be quick.
    pub(crate) fn asks_repeatedly(&self) -> bool {
        matches!(self.mode, Mode::GitstatusdRow(_))
    }

    /// Starts to ask about `repository`. Asks once, so that a process that stays is hot afterwards.
    pub(crate) fn session(&self, repository: &Path, threads: Option<usize>) -> Done<Session> {
        let mut session = Session {
            name: self.name.clone(),
            program: self.program.clone(),
            repository: repository.to_path_buf(),
            mode: self.mode,
            warms_up: self.warms_up,
            threads,
            server: None,
        };
        session.ask()?;
        Ok(session)
    }
}

impl Session {
    /// Asks once. Returns the time until the whole answer was there.
    pub(crate) fn ask(&mut self) -> Done<Duration> {
        if self.warms_up && matches!(self.mode, Mode::Command(_) | Mode::GitstatusdFirst(_)) {
            let mut command = command(&self.program, STATUS, &self.repository);
            command.stdin(Stdio::null()).output()?;
        }
        self.try_ask()
            .map_err(|error| format!("{}: {error}", self.name).into())
    }

    fn try_ask(&mut self) -> Done<Duration> {
        let start = Instant::now();
        match self.mode {
            Mode::Command(arguments) => {
                let output = command(&self.program, arguments, &self.repository)
                    .stdin(Stdio::null())
                    .stderr(Stdio::null())
                    .output()?;
                let time = start.elapsed();
                match output.status.success() {
                    true => Ok(time),
                    false => Err(output.status.to_string().into()),
                }
            }
            Mode::GitstatusdFirst(arguments) => {
                let mut server = self.start(arguments)?;
                server.answer(&request(&self.repository), MESSAGE_END)?;
                Ok(start.elapsed())
            }
            Mode::GitstatusdFirstWithoutState(arguments) => {
                let settings = corpora_dir()?.join("gitconfig-without-state");
                std::fs::write(&settings, "[vigil]\n\tstateFile = false\n")?;
                let start = Instant::now();
                let mut command = self.gitstatusd(arguments);
                command.env("GIT_CONFIG_GLOBAL", &settings);
                Server::start(command)?.answer(&request(&self.repository), MESSAGE_END)?;
                Ok(start.elapsed())
            }
            Mode::GitstatusdHot(arguments) => {
                let request = request(&self.repository);
                self.server(arguments)?.answer(&request, MESSAGE_END)?;
                Ok(start.elapsed())
            }
            Mode::GitstatusdRow(arguments) => {
                let request = request(&self.repository);
                let server = self.server(arguments)?;
                for _ in 0..ROW_LEN {
                    server.answer(&request, MESSAGE_END)?;
                }
                Ok(start.elapsed() / ROW_LEN)
            }
            Mode::Floor(flags) => {
                let repository = self.repository.clone();
                let arguments = [&["floor", "--serve"], flags].concat();
                let server = match &mut self.server {
                    Some(server) => server,
                    None => {
                        let mut command = command(&self.program, &arguments, &repository);
                        command.arg(&repository);
                        if let Some(threads) = self.threads {
                            command.args(["--threads", &threads.to_string()]);
                        }
                        self.server.insert(Server::start(command)?)
                    }
                };
                let answer = server.answer(b"\n", b'\n')?;
                let time: u64 = String::from_utf8_lossy(&answer).trim().parse()?;
                Ok(Duration::from_micros(time))
            }
        }
    }

    fn server(&mut self, arguments: &[&str]) -> Done<&mut Server> {
        let server = match self.server.take() {
            Some(server) => server,
            None => self.start(arguments)?,
        };
        Ok(self.server.insert(server))
    }

    fn start(&self, arguments: &[&str]) -> Done<Server> {
        Server::start(self.gitstatusd(arguments))
    }

    fn gitstatusd(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.program, arguments, &self.repository);
        let threads = self.threads.unwrap_or_else(crate::machine::cores);
        command.args(["-t", &threads.to_string()]);
        command
    }
}

/// The end of a request and of an answer in the gitstatusd protocol.
const MESSAGE_END: u8 = 0x1e;

fn request(repository: &Path) -> Vec<u8> {
    let mut request = OsString::from("1\x1f");
    request.push(repository);
    let mut request = request.into_encoded_bytes();
    request.push(MESSAGE_END);
    request
}

/// A process that answers requests on its standard input.
struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(mut command: Command) -> Done<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = process.stdin.take().ok_or("no input")?;
        let output = process.stdout.take().ok_or("no output")?;
        Ok(Self {
            process,
            input,
            output: BufReader::new(output),
        })
    }

    fn answer(&mut self, request: &[u8], end: u8) -> Done<Vec<u8>> {
        self.input.write_all(request)?;
        self.input.flush()?;
        let mut answer = Vec::new();
        self.output.read_until(end, &mut answer)?;
        match answer.last() {
            Some(last) if *last == end => Ok(answer),
            _ => Err("ended without an answer".into()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
