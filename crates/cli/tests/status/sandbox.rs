//! Repositories that vigil and git are asked about.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A repository in a folder of its own.
pub(crate) struct Sandbox {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) top: PathBuf,
}

impl Sandbox {
    /// Without any commit.
    pub(crate) fn empty() -> Self {
        Self::initialised(&[])
    }

    /// The same, with options of `git init`.
    pub(crate) fn initialised(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("work");
        std::fs::create_dir(&top).unwrap();
        let this = Self { folder, top };
        this.git(&[&["init", "-q", "-b", "main"], options].concat());
        this
    }

    /// With three commits that change the file `a`, and a few other files.
    pub(crate) fn with_history() -> Self {
        Self::empty().committed()
    }

    pub(crate) fn committed(self) -> Self {
        let this = self;
        for name in ["b", "c", "dir/d", "dir/e"] {
            this.write(name, &format!("{name}\nsome\nmore\nlines\n"));
        }
        this.git(&["add", "."]);
        for number in ["one", "two", "three"] {
            this.write("a", number);
            this.git(&["add", "a"]);
            this.git(&["commit", "-q", "-m", number]);
        }
        this
    }

    pub(crate) fn write(&self, name: &str, contents: &str) {
        let path = self.top.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    pub(crate) fn command(&self, program: &str, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.folder.path())
            .env("LC_ALL", "C")
            .env("TERM", "xterm")
            .env("COLUMNS", "60")
            .env("GIT_EDITOR", "true")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@b")
            .env("GIT_AUTHOR_DATE", "1700000000 +0000")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@b")
            .env("GIT_COMMITTER_DATE", "1700000000 +0000")
            .env_remove("GIT_CONFIG_GLOBAL")
            .env_remove("GIT_DIR");
        command
    }

    /// Runs git, which may end in a conflict.
    pub(crate) fn try_git(&self, arguments: &[&str]) -> bool {
        let output = self.command("git", &self.top, arguments).output().unwrap();
        output.status.success()
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        assert!(self.try_git(arguments), "git {arguments:?}");
    }

    /// The id that `revision` names.
    pub(crate) fn id(&self, revision: &str) -> String {
        let mut command = self.command("git", &self.top, &["rev-parse", revision]);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The same with something to read.
    pub(crate) fn git_fed(&self, arguments: &[&str], input: &str) {
        let mut command = self.command("git", &self.top, arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(input.as_bytes()).unwrap();
        drop(pipe);
        assert!(child.wait().unwrap().success(), "git {arguments:?}");
    }

    /// An interactive rebase with the list of commands that the `sed` script makes.
    pub(crate) fn rebase(&self, script: &str, onto: &str) {
        let mut command = self.command("git", &self.top, &["rebase", "-q", "-i", onto]);
        command.env("GIT_SEQUENCE_EDITOR", format!("sed -i -e '{script}'"));
        command.output().unwrap();
    }

    /// Both must say the same in `folder`.
    pub(crate) fn same_in(&self, folder: &str, arguments: &[&str]) {
        let folder = self.top.join(folder);
        let run =
            |program| -> Output { self.command(program, &folder, arguments).output().unwrap() };
        let text = |output: &Output| {
            format!(
                "{:?}\n{}\n{}",
                output.status.code(),
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            )
        };
        let (ours, theirs) = (text(&run(VIGIL)), text(&run("git")));
        assert_eq!(ours, theirs, "{arguments:?}");
    }

    pub(crate) fn same(&self, arguments: &[&str]) {
        self.same_in("", arguments);
    }

    /// Plain status, with and without hints, and with colours and comment prefix.
    pub(crate) fn same_status(&self) {
        self.same(&["status"]);
        self.same(&["-c", "advice.statusHints=false", "status"]);
        self.same(&[
            "-c",
            "color.ui=always",
            "-c",
            "color.status.header=blue bold",
            "-c",
            "status.displayCommentPrefix",
            "-c",
            "core.commentChar=;",
            "status",
        ]);
    }

    /// What vigil alone says.
    pub(crate) fn status(&self, arguments: &[&str]) -> String {
        let output = self.command(VIGIL, &self.top, arguments).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    }
}
