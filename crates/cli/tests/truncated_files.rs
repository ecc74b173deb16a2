//! Mapped files that are cut while a command reads them: the missing part is never mistaken for data, and no signal ends the
//! process.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "all of this file is tests"
)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A repository in a folder of its own.
struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    /// Commits a file that passes the filter which cuts files.
    fn commit_filtered_file(&self) {
        self.write("filtered", "recorded\n");
        self.write(".gitattributes", "filtered filter=cut\n");
        self.git(["add", "."]);
        self.git(["commit", "-q", "-m", "filtered"]);
    }

    /// A repository of many files and references, all of them packed.
    fn new() -> Self {
        let mut sandbox = vigil_testkit::sandbox::Sandbox::new();
        sandbox.set_variable("GIT_OPTIONAL_LOCKS", "0");
        for number in 0..300 {
            let name = format!("dir{}/file{number}", number % 20);
            sandbox.write(name, format!("{number}\n").repeat(20));
        }
        sandbox.git(["add", "."]);
        for number in 0..5 {
            let message = format!("number {number}");
            sandbox.git(["commit", "-q", "--allow-empty", "-m", &message]);
        }
        sandbox.git(["tag", "-a", "-m", "a tag", "v1", "HEAD~3"]);
        let id = sandbox.git(["rev-parse", "HEAD~4"]);
        let creations: String = (0..1500)
            .map(|number| format!("create refs/heads/topic/{number:04} {id}\n"))
            .collect();
        sandbox.git_with_input(["update-ref", "--stdin"], creations);
        sandbox.git(["pack-refs", "--all"]);
        sandbox.git(["repack", "-q", "-a", "-d"]);
        Self(sandbox)
    }

    fn start(&self, program: &str, arguments: &[&str]) -> Child {
        let mut command = self.command(program, "", arguments);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        piped.stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The exit code and standard output.
    fn code_and_stdout(&self, program: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.command(program, "", arguments).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.code().is_some(), "{arguments:?}: {output:?}");
        (output.status.code(), stdout)
    }

    /// The files in a folder of the repository whose names end in `end`.
    fn files_ending_in(&self, folder: &str, end: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.top().join(".git").join(folder)).unwrap();
        let files = files.map(|file| file.unwrap().path());
        files
            .filter(|path| path.to_str().unwrap().ends_with(end))
            .collect()
    }

    /// Makes a file `filtered` that goes through a filter. When the file is looked at, once per answer, the filter cuts each of
    /// `files` to `left` bytes.
    fn truncate_when_filtered(&self, files: &[PathBuf], left: usize) {
        let names: Vec<&str> = files.iter().map(|path| path.to_str().unwrap()).collect();
        let filter = match files {
            [] => "cat".to_owned(),
            _ => format!("truncate -s {left} {} && cat", names.join(" ")),
        };
        self.git(["config", "filter.cut.clean", &filter]);
        fs::write(self.top().join("filtered"), "restored\n").unwrap();
    }
}

/// A file and its original contents.
struct SavedFile(PathBuf, Vec<u8>);

impl SavedFile {
    fn read(path: &Path) -> Self {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        Self(path.to_owned(), fs::read(path).unwrap())
    }

    fn truncate(&self, left: usize) {
        let file = File::options().write(true).open(&self.0).unwrap();
        file.set_len(left as u64).unwrap();
    }

    fn restore(&self) {
        fs::write(&self.0, &self.1).unwrap();
    }

    /// The lengths to cut it to: nothing, and a part.
    fn lengths_to_cut_to(&self) -> [usize; 2] {
        [0, self.1.len() / 2]
    }
}

#[test]
fn commands_start_again_when_a_file_is_cut() {
    let sandbox = Sandbox::new();
    sandbox.commit_filtered_file();
    sandbox.git(["repack", "-q", "-a", "-d"]);
    sandbox.git(["commit-graph", "write", "--reachable"]);
    let mut kept = Vec::new();
    for (folder, end) in [
        ("objects/pack", ".pack"),
        ("objects/pack", ".idx"),
        ("objects/info", "commit-graph"),
        ("", "packed-refs"),
    ] {
        kept.extend(
            sandbox
                .files_ending_in(folder, end)
                .iter()
                .map(|path| SavedFile::read(path)),
        );
    }
    assert_eq!(kept.len(), 4);
    let questions: [&[&str]; 3] = [
        &["status", "--porcelain=v2", "-b"],
        &["describe", "--dirty"],
        &["describe", "--all", "--dirty", "--abbrev=4"],
    ];
    for file in &kept {
        for left in file.lengths_to_cut_to() {
            for question in questions {
                file.restore();
                sandbox.truncate_when_filtered(&[], 0);
                let whole = sandbox.code_and_stdout("git", question);
                sandbox.truncate_when_filtered(std::slice::from_ref(&file.0), left);
                let ours = sandbox.code_and_stdout(VIGIL, question);
                // The answer is git's about what is left, or the whole truth if the missing part was not needed.
                assert_eq!(fs::metadata(&file.0).unwrap().len(), left as u64);
                let theirs = sandbox.code_and_stdout("git", question);
                let is_right = ours == theirs || ours == whole;
                assert!(
                    is_right,
                    "{question:?} {} {left}: {ours:?}",
                    file.0.display()
                );
            }
        }
        file.restore();
    }
}

#[test]
fn a_state_that_is_cut_while_it_is_read_is_not_used() {
    let sandbox = Sandbox::new();
    sandbox.commit_filtered_file();
    let question = ["status", "--porcelain=v2", "-b", "-uall"];
    for part in 0..8 {
        // The state is that of the last saved answer.
        let before = sandbox.code_and_stdout(VIGIL, &question);
        let states = sandbox.files_ending_in("vigil", "");
        let data = states.iter().find(|path| path.extension().is_some());
        let data = SavedFile::read(data.unwrap());
        fs::write(sandbox.top().join("dir3/file3"), part.to_string()).unwrap();
        sandbox.truncate_when_filtered(std::slice::from_ref(&data.0), data.1.len() / 8 * part);
        let ours = sandbox.code_and_stdout(VIGIL, &question);
        assert_eq!(ours, sandbox.code_and_stdout("git", &question), "{part}");
        sandbox.git(["config", "filter.cut.clean", "cat"]);
        assert_eq!(sandbox.code_and_stdout(VIGIL, &question), ours, "{part}");
        assert_eq!(
            sandbox.code_and_stdout(VIGIL, &["state", "verify"]).0,
            Some(0)
        );
        assert!(before.0 == Some(0));
    }
}

/// A batch with a client that waits for each answer.
struct Batch {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Batch {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut child = sandbox.start(VIGIL, arguments);
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    /// Returns the line of the answer and, with `contents`, what follows it; empty if the command has ended.
    fn ask(&mut self, question: &str, contents: bool) -> String {
        // If the command has ended, it reads nothing.
        let _ = writeln!(self.input, "{question}");
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        let size = answer.trim_end().rsplit(' ').next().unwrap_or_default();
        if contents && let Ok(size) = size.parse::<usize>() {
            let mut rest = vec![0; size + 1];
            self.output.read_exact(&mut rest).unwrap();
            answer.push_str(&String::from_utf8_lossy(&rest));
        }
        answer
    }

    fn end(self) -> Option<i32> {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        let status = child.wait().unwrap();
        assert!(status.code().is_some(), "{status:?}");
        status.code()
    }
}

#[test]
fn a_batch_goes_on_when_a_file_is_cut_between_two_questions() {
    let sandbox = Sandbox::new();
    let names = ["HEAD:dir3/file3", "v1", "topic/0777", "HEAD~2^{tree}", "no"];
    for with_midx in [false, true] {
        if with_midx {
            sandbox.git(["multi-pack-index", "write"]);
        }
        let mut kept: Vec<SavedFile> = Vec::new();
        for (folder, end) in [
            ("objects/pack", ".pack"),
            ("objects/pack", ".idx"),
            ("objects/pack", "multi-pack-index"),
            ("", "packed-refs"),
        ] {
            kept.extend(
                sandbox
                    .files_ending_in(folder, end)
                    .iter()
                    .map(|path| SavedFile::read(path)),
            );
        }
        for (arguments, contents) in [
            (["cat-file", "--batch-check"], false),
            (["cat-file", "--batch-command"], true),
        ] {
            let is_command = arguments.contains(&"--batch-command");
            let question = |name: &str| match is_command {
                true => format!("contents {name}"),
                false => name.to_owned(),
            };
            let ask_new = |name: &str| {
                let mut batch = Batch::start(&sandbox, &arguments);
                let answer = batch.ask(&question(name), contents);
                (answer, batch.end())
            };
            for file in &kept {
                for left in file.lengths_to_cut_to() {
                    let mut batch = Batch::start(&sandbox, &arguments);
                    let whole = names.map(|name| batch.ask(&question(name), contents));
                    assert!(
                        whole
                            .iter()
                            .take(4)
                            .all(|answer| !answer.contains("missing"))
                    );
                    file.truncate(left);
                    for (name, whole) in names.iter().zip(&whole) {
                        // The answer is that of a new process, which may end with git's message about what is left. Or it is the
                        // truth, if the needed part is not gone.
                        let (new, code) = ask_new(name);
                        let told = batch.ask(&question(name), contents);
                        let is_right = told == new || told == *whole;
                        assert!(is_right, "{} {left} {name}: {told}", file.0.display());
                        if code != Some(0) || told.is_empty() {
                            break;
                        }
                    }
                    batch.end();
                    file.restore();
                }
            }
        }
    }
}

#[test]
fn all_objects_are_never_listed_from_files_that_are_gone() {
    let sandbox = Sandbox::new();
    let mut large = String::new();
    for number in 0..400_000 {
        large.push_str(&format!("{number:x}{:x}\n", number % 97 * 7919));
    }
    fs::write(sandbox.top().join("large"), large).unwrap();
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "large"]);
    sandbox.git(["-c", "core.compression=0", "repack", "-q", "-a", "-d", "-f"]);
    let list = "--batch-all-objects";
    let whole = sandbox
        .code_and_stdout(VIGIL, &["cat-file", list, "--batch", "--unordered"])
        .1;
    for (end, part) in [(".pack", 2), (".pack", 3), (".idx", 2), (".idx", 3)] {
        let file = SavedFile::read(&sandbox.files_ending_in("objects/pack", end)[0]);
        let mut child = sandbox.start(VIGIL, &["cat-file", list, "--batch", "--unordered"]);
        let mut output = child.stdout.take().unwrap();
        // The command has started and is blocked, since its output does not fit into the pipe.
        let mut told = vec![0; 1000];
        output.read_exact(&mut told).unwrap();
        file.truncate(file.1.len() / part);
        output.read_to_end(&mut told).unwrap();
        let status = child.wait().unwrap();
        assert!(status.code().is_some(), "{status:?}");
        // The output is complete, or the command reports failure.
        assert!(
            status.code() != Some(0) || told == whole.as_bytes(),
            "{end} {part}"
        );
        file.restore();
    }
}
