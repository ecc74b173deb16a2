//! The sandbox methods for tests. All of them panic on failure.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::new_without_default,
    reason = "only tests call this, and a test that fails may panic"
)]

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use gix_hash::{Kind, ObjectId};

use super::{Sandbox, default_parent};
use crate::process;

/// How a repository stores its references (`--ref-format` of git-init(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefFormat {
    /// Files and `packed-refs`.
    Files,
    /// Reftables.
    Reftable,
}

/// Every combination of formats that git supports.
pub const FORMATS: [(RefFormat, Kind); 4] = [
    (RefFormat::Files, Kind::Sha1),
    (RefFormat::Files, Kind::Sha256),
    (RefFormat::Reftable, Kind::Sha1),
    (RefFormat::Reftable, Kind::Sha256),
];

/// The output of a program, and its exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOutput {
    /// The exit code. A program that was ended by a signal has none, which panics.
    pub code: i32,
    /// The standard output, with bytes that are not UTF-8 replaced.
    pub stdout: String,
    /// The standard error, likewise.
    pub stderr: String,
}

impl From<&Output> for TextOutput {
    fn from(output: &Output) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code();
        assert!(code.is_some(), "{output:?}");
        Self {
            code: code.unwrap(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl From<Output> for TextOutput {
    fn from(output: Output) -> Self {
        Self::from(&output)
    }
}

/// Runs `command` with `input` on its standard input, which it need not read to the end.
pub fn run_with_input(mut command: Command, input: &[u8]) -> Output {
    process::output(&mut command, input).unwrap()
}

/// The `vigil` program built with the running test: `target/PROFILE/vigil`, for a test in `target/PROFILE/deps`.
pub fn vigil_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("vigil")
}

/// Whether the program `git` has at least version 2.`minor`.
pub fn git_is_at_least(git: impl AsRef<OsStr>, minor: u32) -> bool {
    let version = Command::new(git).arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let mut numbers = version
        .split(|byte: char| !byte.is_ascii_digit())
        .filter_map(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(2), Some(minor))
}

/// Reports that the test `what` cannot run here, even if the output of tests is hidden. Fails if all tests must run
/// (`VIGIL_TESTS_MUST_RUN`).
pub fn skip_test(what: &str, reason: &str) {
    // A macro's output would be captured.
    let line = format!("SKIPPED: {what}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    assert!(std::env::var_os("VIGIL_TESTS_MUST_RUN").is_none(), "{line}");
}

/// Gives a tuple struct whose first field is a [`Sandbox`] all methods of the sandbox.
#[macro_export]
macro_rules! wraps_a_sandbox {
    ($wrapper:ty) => {
        impl std::ops::Deref for $wrapper {
            type Target = $crate::sandbox::Sandbox;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }
    };
}

/// The output as text, without its final newlines.
fn text(output: Vec<u8>) -> String {
    let text = String::from_utf8_lossy(&output);
    text.trim_end_matches('\n').to_owned()
}

impl Sandbox {
    /// Creates a sandbox with an empty repository in `work`, on the branch `main`.
    pub fn new() -> Self {
        Self::initialised(&[])
    }

    /// Creates a sandbox without a repository.
    pub fn empty() -> Self {
        Self::in_folder(&default_parent(), Path::new("git")).unwrap()
    }

    /// Same as [`Sandbox::new`], with options for `git init`.
    pub fn initialised(options: &[&str]) -> Self {
        let sandbox = Self::empty();
        std::fs::create_dir(sandbox.top()).unwrap();
        sandbox.git([&["init", "-q"], options].concat());
        sandbox
    }

    /// Same as [`Sandbox::new`], with a repository of the given formats.
    pub fn with_formats(format: RefFormat, hash: Kind) -> Self {
        let references = match format {
            RefFormat::Files => "--ref-format=files",
            RefFormat::Reftable => "--ref-format=reftable",
        };
        let objects = format!("--object-format={hash}");
        Self {
            format,
            hash,
            ..Self::initialised(&[references, &objects])
        }
    }

    /// Creates a sandbox with a history of `count` commits in one pack, with merges and unsteady clocks.
    pub fn with_history(count: usize) -> Self {
        let sandbox = Self::new();
        let mut input = String::new();
        for at in 0..count {
            let time_s = 1_600_000_000 + at * 60 - at * 7919 % 1000;
            let start = format!("commit refs/heads/main\nmark :{}\n", at + 1);
            let who = format!("committer C <c> {time_s} +0000\ndata 8\n{at:08}\n");
            input.push_str(&(start + &who));
            for (word, back) in [("from", 1), ("merge", 2 + at % 5), ("merge", 9 + at % 3)] {
                if at >= back && (back == 1 || at % 4 == 0) {
                    input.push_str(&format!("{word} :{}\n", at - back + 1));
                }
            }
            input.push('\n');
        }
        sandbox.git_with_input(["fast-import", "--quiet"], input);
        sandbox
    }

    /// Adds five commits in a row, each with a new file. Nothing is tagged.
    pub fn with_five_commits(self) -> Self {
        for number in 1..=5 {
            let name = format!("file{number}");
            self.write(&name, &name);
            self.git(["add", &name]);
            self.commit_at(&name, 1_700_000_000 + number * 60);
        }
        self
    }

    /// From now on, all programs see this variable.
    pub fn set_variable(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.extra_variables
            .push((name.into(), value.as_ref().into()));
    }

    /// From now on, no program sees this variable.
    pub fn hide_variable(&mut self, name: &str) {
        self.hidden_variables.push(name.into());
    }

    /// The user's home directory.
    pub fn home(&self) -> PathBuf {
        self.path_from_root("home")
    }

    /// The main worktree of the repository.
    pub fn top(&self) -> PathBuf {
        self.path_from_root("work")
    }

    /// The repository's `.git`.
    pub fn git_dir(&self) -> PathBuf {
        self.top().join(".git")
    }

    /// The file of the loose object `id`.
    pub fn loose_object(&self, id: &str) -> PathBuf {
        let (folder, file) = id.split_at(2);
        self.git_dir().join("objects").join(folder).join(file)
    }

    /// The only file with this extension among the packs.
    pub fn pack_file(&self, extension: &str) -> PathBuf {
        let packs = std::fs::read_dir(self.git_dir().join("objects/pack")).unwrap();
        let paths = packs.map(|entry| entry.unwrap().path());
        let found: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|other| other == extension))
            .collect();
        assert_eq!(found.len(), 1, "{extension}: {found:?}");
        found[0].clone()
    }

    /// The folder of Vigil's state for the working copy.
    pub fn state_folder(&self) -> PathBuf {
        self.git_dir().join("vigil")
    }

    /// The sorted names of the files there. Empty if there is no state.
    pub fn state_files(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.state_folder());
        let mut names: Vec<String> = files
            .into_iter()
            .flatten()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The data file there, which holds the blocks. The docket beside it has no extension.
    pub fn state_data(&self) -> PathBuf {
        let names = self.state_files();
        let data = names.iter().rfind(|name| name.contains('.'));
        self.state_folder().join(data.unwrap())
    }

    /// Creates a named pipe with this name in the root.
    pub fn make_pipe(&self, name: &str) -> PathBuf {
        let pipe = self.path_from_root(name);
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        pipe
    }

    /// The path of `name`, which is relative to the top of the working tree.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        match name.as_ref() {
            name if name == Path::new("") => self.top(),
            name => self.top().join(name),
        }
    }

    /// Writes a file in the working tree, and creates its directories.
    pub fn write(&self, name: impl AsRef<Path>, contents: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    /// The contents of a file in the working tree.
    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Makes a file look as if it had been written `age_s` seconds ago.
    pub fn age(&self, name: impl AsRef<Path>, age_s: i64) {
        let file = std::fs::File::options().write(true).open(self.path(name));
        let (now, age) = (SystemTime::now(), Duration::from_secs(age_s.unsigned_abs()));
        let then = if age_s < 0 { now + age } else { now - age };
        file.unwrap().set_modified(then).unwrap();
    }

    /// Waits until files written so far are no longer racy: the clock that stamps are compared with may lag by much more than a
    /// tick where other machines share the cores.
    pub fn settle(&self) {
        crate::clock::wait_for_tick();
    }

    /// A command that runs a program in a folder, relative to the top of the working tree. Not started yet.
    pub fn command<A: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        folder: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = self.isolated(program, b"");
        command.args(arguments).current_dir(self.path(folder));
        command
    }

    /// A shell command that runs in a folder on its own terminal (script(1)). Not started yet.
    pub fn on_a_terminal(&self, folder: impl AsRef<Path>, script: &str) -> Command {
        let mut command = self.command("script", folder, [""; 0]);
        process::on_a_terminal(&mut command, script);
        command
    }

    /// A command that runs Vigil at the top of the working tree. Not started yet.
    pub fn vigil<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        self.command(vigil_program(), "", arguments)
    }

    /// Runs git in a folder, relative to the top of the working tree, with `input`, and returns its output.
    pub fn output<A: AsRef<OsStr>>(
        &self,
        folder: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = A>,
        input: impl AsRef<[u8]>,
    ) -> Output {
        run_with_input(self.command("git", folder, arguments), input.as_ref())
    }

    /// Runs git in a folder with `input`; it must succeed. Returns the bytes of its output.
    fn git_output<A: AsRef<OsStr>>(
        &self,
        folder: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = A>,
        input: impl AsRef<[u8]>,
    ) -> Vec<u8> {
        let command = self.command("git", folder, arguments);
        let what = format!("{:?}", command.get_args());
        let output = run_with_input(command, input.as_ref());
        assert!(
            output.status.success(),
            "git {what}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    /// Runs git, which must succeed. Returns its output without the final newlines.
    pub fn git<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> String {
        text(self.git_output("", arguments, ""))
    }

    /// Same as [`Self::git`], in a folder relative to the top of the working tree.
    pub fn git_in<A: AsRef<OsStr>>(
        &self,
        folder: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = A>,
    ) -> String {
        text(self.git_output(folder, arguments, ""))
    }

    /// Runs git with `input`; it must succeed.
    pub fn git_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: impl AsRef<[u8]>,
    ) -> String {
        text(self.git_output("", arguments, input))
    }

    /// Runs git, which must succeed. Returns all bytes of its output.
    pub fn git_bytes<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Vec<u8> {
        self.git_output("", arguments, "")
    }

    /// Runs git, which may fail.
    pub fn try_git<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> TextOutput {
        self.output("", arguments, "").into()
    }

    /// Creates an empty commit with the given message and committer time.
    pub fn commit_at(&self, message: &str, time_s: i64) -> ObjectId {
        let arguments = ["commit", "-q", "--allow-empty", "-m", message];
        let mut command = self.command("git", "", arguments);
        command.env("GIT_COMMITTER_DATE", format!("@{time_s} +0000"));
        assert!(command.status().unwrap().success());
        self.id("HEAD")
    }

    /// Creates an empty commit.
    pub fn commit(&self, message: &str) -> ObjectId {
        self.commit_at(message, 1_700_000_000)
    }

    /// The id of a revision, as git resolves it.
    pub fn id(&self, revision: &str) -> ObjectId {
        let id = self.git(["rev-parse", "--verify", revision]);
        ObjectId::from_hex(id.as_bytes()).unwrap()
    }

    /// Asserts that Vigil and git give the same answer at the top of the working tree.
    #[track_caller]
    pub fn assert_same_as_git(&self, arguments: &[&str]) {
        self.assert_same("", arguments, b"");
    }

    /// Same as [`Self::assert_same_as_git`], in a folder relative to the top of the working tree.
    #[track_caller]
    pub fn assert_same_as_git_in(&self, folder: impl AsRef<Path>, arguments: &[&str]) {
        self.assert_same(folder, arguments, b"");
    }

    /// Same as [`Self::assert_same_as_git`], with `input`.
    #[track_caller]
    pub fn assert_same_as_git_with_input(&self, arguments: &[&str], input: impl AsRef<[u8]>) {
        self.assert_same("", arguments, input.as_ref());
    }

    #[track_caller]
    fn assert_same(&self, folder: impl AsRef<Path>, arguments: &[&str], input: &[u8]) {
        let [ours, theirs] = [vigil_program(), "git".into()].map(|program| {
            run_with_input(self.command(program, folder.as_ref(), arguments), input)
        });
        let input = bstr::BStr::new(input);
        assert_eq!(
            TextOutput::from(&ours),
            TextOutput::from(&theirs),
            "{arguments:?} {input:?}"
        );
        // Compare the bytes too, because some may have been replaced above.
        assert!(ours.stdout == theirs.stdout, "{arguments:?} {input:?}");
        assert!(ours.stderr == theirs.stderr, "{arguments:?} {input:?}");
    }
}
