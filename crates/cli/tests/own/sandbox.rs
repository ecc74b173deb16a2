//! A repository for Vigil's own commands.

use std::path::Path;

use serde_json::Value;
use vigil_testkit::sandbox::{TextOutput, vigil_program};

/// A repository in a folder of its own.
pub(crate) struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    /// Makes one with a commit of three files, an ignore rule and an untracked file.
    pub(crate) fn new() -> Self {
        let this = Self(vigil_testkit::sandbox::Sandbox::new());
        this.write("src/a.c", "int a;\n");
        this.write("src/deep/b.c", "int b;\n");
        this.write(".gitignore", "*.o\n");
        this.git(["add", "."]);
        this.git(["commit", "-q", "-m", "one"]);
        this.write("new", "");
        this.settle();
        this
    }

    pub(crate) fn vigil_in(&self, folder: &Path, arguments: &[&str]) -> TextOutput {
        let mut command = self.command(vigil_program(), folder, arguments);
        command.output().unwrap().into()
    }

    pub(crate) fn vigil(&self, arguments: &[&str]) -> TextOutput {
        self.vigil_in(&self.top(), arguments)
    }

    /// The output of a command that must succeed.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.vigil(arguments);
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (0, ""),
            "{arguments:?}"
        );
        output.stdout
    }

    /// The same output, parsed as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(arguments)).unwrap()
    }

    /// Has the state written, and asserts that both status commands print the same.
    pub(crate) fn assert_same_status(&self) {
        let arguments = ["status", "--porcelain"];
        assert_eq!(
            self.text(&arguments).into_bytes(),
            self.git_bytes(["--no-optional-locks", "status", "--porcelain"])
        );
    }
}
