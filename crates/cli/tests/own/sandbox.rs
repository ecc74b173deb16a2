//! A repository that vigil is asked about.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use serde_json::Value;

/// What a command printed, and its exit code.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A repository in a folder of its own.
pub(crate) struct Sandbox {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) top: PathBuf,
}

impl Sandbox {
    /// With one commit of three files, an ignore rule and an untracked file.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&top).unwrap();
        let this = Self { folder, top };
        this.git(&["init", "-q", "-b", "main"]);
        this.write("src/a.c", "int a;\n");
        this.write("src/deep/b.c", "int b;\n");
        this.write(".gitignore", "*.o\n");
        this.git(&["add", "."]);
        this.git(&["commit", "-q", "-m", "one"]);
        this.write("new", "");
        this.settle();
        this
    }

    pub(crate) fn write(&self, name: &str, contents: &str) {
        let path = self.top.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }

    /// Has a file look as if it had been written `age_s` seconds ago.
    pub(crate) fn age(&self, name: &str, age_s: i64) {
        let file = std::fs::File::options()
            .write(true)
            .open(self.top.join(name));
        let (now, age) = (SystemTime::now(), Duration::from_secs(age_s.unsigned_abs()));
        let then = if age_s < 0 { now + age } else { now - age };
        file.unwrap().set_modified(then).unwrap();
    }

    /// Waits until what was written so far is not young any more: the clock that looks go by lags behind by up to a tick.
    pub(crate) fn settle(&self) {
        const TWO_TICKS: Duration = Duration::from_millis(20);
        let probe = self.folder.path().join("probe");
        let stamp = || {
            std::fs::write(&probe, "x").unwrap();
            probe.metadata().unwrap().modified().unwrap()
        };
        let settled = stamp() + TWO_TICKS;
        while stamp() < settled {}
    }

    /// Where the state is.
    pub(crate) fn state_folder(&self) -> PathBuf {
        self.top.join(".git/vigil")
    }

    fn command(&self, program: &str, folder: &Path, arguments: &[&str]) -> Said {
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.folder.path())
            .env("LC_ALL", "C")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@b")
            .env("GIT_AUTHOR_DATE", "1700000000 +0000")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@b")
            .env("GIT_COMMITTER_DATE", "1700000000 +0000")
            .env_remove("GIT_CONFIG_GLOBAL")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("GIT_DIR");
        command.output().unwrap().into()
    }

    /// Runs git, which may end in a conflict.
    pub(crate) fn try_git(&self, arguments: &[&str]) -> Said {
        self.command("git", &self.top, arguments)
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let said = self.try_git(arguments);
        assert_eq!(said.code, 0, "git {arguments:?}: {}", said.stderr);
        said.stdout
    }

    pub(crate) fn vigil_in(&self, folder: &Path, arguments: &[&str]) -> Said {
        self.command(env!("CARGO_BIN_EXE_vigil"), folder, arguments)
    }

    pub(crate) fn vigil(&self, arguments: &[&str]) -> Said {
        self.vigil_in(&self.top, arguments)
    }

    /// What a command that must succeed prints.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let said = self.vigil(arguments);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{arguments:?}");
        said.stdout
    }

    /// The same, as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(arguments)).unwrap()
    }

    /// Has the state written, and both status commands say the same.
    pub(crate) fn status(&self) {
        let arguments = ["status", "--porcelain"];
        assert_eq!(
            self.text(&arguments),
            self.git(&["--no-optional-locks", "status", "--porcelain"])
        );
    }
}
