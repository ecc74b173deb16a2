//! Repositories about which Vigil and git are asked.

pub(crate) const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A repository in a folder of its own, seen on a terminal of 60 columns.
pub(crate) struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    /// Makes one without commits.
    pub(crate) fn empty() -> Self {
        Self::initialised(&[])
    }

    /// The same, with options of `git init`.
    pub(crate) fn initialised(options: &[&str]) -> Self {
        let mut sandbox = vigil_testkit::sandbox::Sandbox::initialised(options);
        sandbox.set_variable("TERM", "xterm");
        sandbox.set_variable("COLUMNS", "60");
        // The choice of a pager is part of the answer.
        sandbox.hide_variable("GIT_PAGER");
        Self(sandbox)
    }

    /// Makes one with three commits that change the file `a`, and a few other files.
    pub(crate) fn with_history() -> Self {
        Self::empty().with_commits()
    }

    pub(crate) fn with_commits(self) -> Self {
        let this = self;
        for name in ["b", "c", "dir/d", "dir/e"] {
            this.write(name, format!("{name}\nsome\nmore\nlines\n"));
        }
        this.git(["add", "."]);
        for number in ["one", "two", "three"] {
            this.write("a", number);
            this.git(["add", "a"]);
            this.git(["commit", "-q", "-m", number]);
        }
        this
    }

    /// Starts an interactive rebase with the list of commands edited by the `sed` script `script`.
    pub(crate) fn rebase(&self, script: &str, onto: &str) {
        let mut command = self.command("git", "", ["rebase", "-q", "-i", onto]);
        command.env("GIT_SEQUENCE_EDITOR", format!("sed -i -e '{script}'"));
        command.output().unwrap();
    }

    /// Compares the plain status, with and without hints, and with colours and a comment prefix.
    pub(crate) fn assert_same_status(&self) {
        self.assert_same_as_git(&["status"]);
        self.assert_same_as_git(&["-c", "advice.statusHints=false", "status"]);
        self.assert_same_as_git(&[
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

    /// The output of Vigil alone.
    pub(crate) fn status(&self, arguments: &[&str]) -> String {
        let output = self.vigil(arguments).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    }
}
