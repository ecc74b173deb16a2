//! Runs Mercurial's commands in processes that are forked from one that has loaded its modules: starting Python and loading them
//! takes four fifths of the time of a command.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::process;

/// What runs in the process that is forked from.
const SCRIPT: &str = include_str!("prepared.py");

/// The variables that Mercurial reads when a command runs. What it reads of others may already have come into effect.
const READ_BY_COMMANDS: [&str; 3] = ["HOME", "HGRCPATH", "HGPLAIN"];

/// The processes that wait for a command. They end when this process does.
static WAITING: Mutex<Vec<Prepared>> = Mutex::new(Vec::new());

/// A process that has loaded Mercurial's modules.
struct Prepared {
    /// How it was started.
    settings: Settings,
    input: ChildStdin,
    output: ChildStdout,
    _child: Child,
}

/// What commands of one such process have in common.
#[derive(PartialEq, Eq)]
struct Settings {
    /// The command line that starts the program, without its arguments.
    beginning: Vec<OsString>,
    program: OsString,
    /// Other variables than those that commands read, sorted by name.
    variables: Vec<(OsString, OsString)>,
}

/// Runs `command`, which is Mercurial with arguments, a folder and a whole environment, as [`Command::output`] does. `beginning` is
/// put before it: a program that starts another, and its options.
///
/// # Errors
/// It cannot be started, or ends without an answer.
pub(super) fn output_of(beginning: &[&str], command: &Command) -> io::Result<Output> {
    let settings = Settings::of(beginning, command);
    let is_alike = |prepared: &Prepared| prepared.settings == settings;
    let take = |waiting: &mut Vec<Prepared>| {
        let place = waiting.iter().position(is_alike)?;
        Some(waiting.swap_remove(place))
    };
    let found = take(&mut waiting());
    let Some(mut prepared) = found.or_else(|| Prepared::start(settings)) else {
        return separate(beginning, command).output();
    };
    let output = prepared.run(command)?;
    waiting().push(prepared);
    Ok(output)
}

/// Returns the command for a process of its own.
fn separate(beginning: &[&str], command: &Command) -> Command {
    let words = beginning.iter().map(OsStr::new);
    let mut words = words
        .chain([command.get_program()])
        .chain(command.get_args());
    let mut separate = process::command(words.next().unwrap_or_default());
    let folder = command.get_current_dir().unwrap_or(Path::new("/"));
    separate
        .args(words)
        .current_dir(folder)
        .env_clear()
        .envs(variables_of(command));
    separate
}

fn waiting() -> MutexGuard<'static, Vec<Prepared>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Settings {
    fn of(beginning: &[&str], command: &Command) -> Self {
        let mut variables: Vec<_> = variables_of(command)
            .filter(|(name, _)| !is_read_by_commands(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        variables.sort();
        Self {
            beginning: beginning.iter().map(OsString::from).collect(),
            program: command.get_program().to_owned(),
            variables,
        }
    }
}

/// Returns the variables that are set for `command`.
fn variables_of(command: &Command) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    let all = command.get_envs();
    all.filter_map(|(name, value)| Some((name, value?)))
}

fn is_read_by_commands(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b"VIGIL_")
        || READ_BY_COMMANDS
            .iter()
            .any(|known| name == known.as_bytes())
}

impl Prepared {
    /// Starts a process. Returns `None` if the program is no script of Mercurial's in Python.
    fn start(settings: Settings) -> Option<Self> {
        let script = process::find_program(&settings.program)?;
        let interpreter = interpreter_of(&script)?;
        let mut words = settings.beginning.iter().chain(&interpreter);
        let program = words.next()?;
        let variables = settings.variables.iter();
        let mut child = Command::new(program)
            .args(words)
            .args(["-c", SCRIPT])
            .arg(script)
            .env_clear()
            .envs(variables.map(|(name, value)| (name, value)))
            // Folders of tests are deleted.
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (input, mut output) = (child.stdin.take()?, child.stdout.take()?);
        if output.read_exact(&mut [0]).is_err() {
            let _ = child.wait();
            return None;
        }
        Some(Self {
            settings,
            input,
            output,
            _child: child,
        })
    }

    fn run(&mut self, command: &Command) -> io::Result<Output> {
        let request = request_of(command);
        let len = u32::try_from(request.len()).map_err(io::Error::other)?;
        self.input.write_all(&len.to_be_bytes())?;
        self.input.write_all(&request)?;
        let mut number = || {
            let mut bytes = [0; 4];
            let read = self.output.read_exact(&mut bytes);
            read.map(|()| u32::from_be_bytes(bytes))
        };
        let (status, stdout_len, stderr_len) = (number()?, number()?, number()?);
        let mut bytes = |len: u32| {
            let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
            self.output.read_exact(&mut bytes).map(|()| bytes)
        };
        Ok(Output {
            status: ExitStatus::from_raw(status.cast_signed()),
            stdout: bytes(stdout_len)?,
            stderr: bytes(stderr_len)?,
        })
    }
}

/// Returns the request to run `command`, as the script describes it.
fn request_of(command: &Command) -> Vec<u8> {
    let folder = command.get_current_dir().unwrap_or(Path::new("/"));
    let variables: Vec<Vec<u8>> = variables_of(command)
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
        .collect();
    let mut words = vec![
        folder.as_os_str().as_bytes().to_vec(),
        variables.len().to_string().into_bytes(),
    ];
    words.extend(variables);
    words.extend(command.get_args().map(|word| word.as_bytes().to_vec()));
    words.join(&0)
}

/// Returns the words of the line that says which Python runs this script.
fn interpreter_of(script: &Path) -> Option<Vec<OsString>> {
    let text = fs::read(script).ok()?;
    let line = text
        .strip_prefix(b"#!")?
        .split(|&byte| byte == b'\n')
        .next()?;
    let words = line
        .split(|&byte| byte == b' ')
        .filter(|word| !word.is_empty());
    let words: Vec<OsString> = words
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    let is_python = |word: &OsString| word.as_bytes().windows(6).any(|part| part == b"python");
    words.iter().any(is_python).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hg::sandbox::{HgSandbox, is_installed};
    use crate::sandbox::{default_parent, skip_test};

    #[test]
    fn an_answer_is_that_of_a_separate_process() {
        if !is_installed("hg") {
            return skip_test("Mercurial's prepared processes", "Mercurial is missing");
        }
        let sandbox = HgSandbox::new(&default_parent(), Path::new("hg")).unwrap();
        sandbox.hg(["init"]).unwrap();
        fs::create_dir(sandbox.top().join("d")).unwrap();
        fs::write(sandbox.top().join("d/\u{e9}"), "").unwrap();
        let commands: [&[&str]; 6] = [
            &["status"],
            &["status", "--config", "ui.relative-paths=yes", ""],
            &["status", "--nonsense"],
            &["root", "--debug"],
            &["config", "ui"],
            &["status", "--rev", "nothing"],
        ];
        for (folder, plain) in [(sandbox.top(), ""), (sandbox.top().join("d"), "1")] {
            for arguments in commands {
                let mut command = sandbox.command("hg", &folder);
                command.args(arguments).env("HGPLAIN", plain);
                let separate = command.output().unwrap();
                for beginning in [&[][..], &["env", "--"]] {
                    let prepared = output_of(beginning, &command).unwrap();
                    assert_eq!(prepared, separate, "{folder:?} {arguments:?} {plain:?}");
                }
            }
        }
        let is_hg = |prepared: &&Prepared| Path::new(&prepared.settings.program).ends_with("hg");
        assert!(waiting().iter().filter(is_hg).count() >= 2);
    }

    #[test]
    fn a_program_that_is_no_script_runs_as_it_is() {
        for program in ["echo", "/bin/echo", "ldd"] {
            let mut command = Command::new(program);
            command.arg("--version");
            let separate = command.output().unwrap();
            for beginning in [&[][..], &["env", "--"]] {
                let run = output_of(beginning, &command);
                assert_eq!(run.unwrap(), separate, "{program}");
            }
        }
    }
}
