//! The repository of these tests.

use std::path::Path;
use std::process::Output;

use vigil_testkit::privileges::without_privileges;
use vigil_testkit::sandbox::{TextOutput, run_with_input};

pub(crate) const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A repository of three commits that add the files `a`, `b` and `c`. The first is tagged `good`, the second `v2`.
pub(crate) struct Sandbox(pub(crate) vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::with_ref_format("files")
    }

    /// Makes one with references in this format.
    pub(crate) fn with_ref_format(format: &str) -> Self {
        let format = format!("--ref-format={format}");
        let sandbox = Self(vigil_testkit::sandbox::Sandbox::initialised(&[&format]));
        for (name, tag) in [("a", Some("good")), ("b", Some("v2")), ("c", None)] {
            sandbox.0.write(name, name);
            sandbox.git(["add", name]);
            sandbox.git(["commit", "-q", "-m", name]);
            if let Some(tag) = tag {
                sandbox.git(["tag", "-a", "-m", "x", tag]);
            }
        }
        sandbox
    }

    /// Makes an empty one whose references are at the location `uri`.
    pub(crate) fn empty_with_references_at(uri: &str) -> Self {
        let mut sandbox = vigil_testkit::sandbox::Sandbox::empty();
        std::fs::create_dir(sandbox.top()).unwrap();
        std::fs::create_dir(sandbox.path_from_root("elsewhere")).unwrap();
        sandbox.set_variable("GIT_REFERENCE_BACKEND", uri);
        sandbox.git(["init", "-q"]);
        sandbox.hide_variable("GIT_REFERENCE_BACKEND");
        Self(sandbox)
    }

    pub(crate) fn run(&self, program: &str, arguments: &[&str], input: &str) -> Output {
        run_with_input(self.command(program, "", arguments), input.as_bytes())
    }

    /// Writes a file inside `.git`.
    pub(crate) fn write_in_git_dir(&self, path: &str, content: &str) {
        self.0.write(Path::new(".git").join(path), content);
    }

    pub(crate) fn vigil_output(&self, arguments: &[&str], input: &str) -> TextOutput {
        self.run(VIGIL, arguments, input).into()
    }

    /// Asserts that both programs answer alike.
    pub(crate) fn assert_same(&self, arguments: &[&str], input: &str) {
        let ours = self.vigil_output(arguments, input);
        let mut theirs = TextOutput::from(self.run("git", arguments, input));
        // As newer versions of git word it.
        theirs.stderr = theirs
            .stderr
            .replace("git config advice.", "git config set advice.");
        assert_eq!(ours, theirs, "{arguments:?} {input:?}");
    }

    /// Asserts that both programs answer alike where permissions apply to them.
    pub(crate) fn assert_same_without_privileges(&self, arguments: &[&str]) {
        let Some(beginning) = without_privileges() else {
            return;
        };
        let [ours, theirs] = [VIGIL, "git"].map(|program| {
            let all = [beginning, &[program], arguments].concat();
            let (first, rest) = all.split_first().unwrap();
            TextOutput::from(self.run(first, rest, ""))
        });
        assert_eq!(ours, theirs, "{arguments:?}");
    }

    /// As [`Self::assert_same`], with one input line for `cat-file --batch-check`.
    pub(crate) fn assert_same_name(&self, name: &str) {
        self.assert_same(&["cat-file", "--batch-check"], &format!("{name}\n"));
    }
}

pub(crate) fn fatal_output(message: &str) -> TextOutput {
    TextOutput {
        code: 128,
        stdout: String::new(),
        stderr: message.to_owned(),
    }
}

pub(crate) const STATUS_COMMANDS: &[&[&str]] = &[
    &["status"],
    &["status", "-sb"],
    &["status", "--porcelain=v2", "--branch"],
];

/// Questions about objects, some of which need commits.
pub(crate) const QUESTIONS: &[&[&str]] = &[
    &["cat-file", "-t", "HEAD"],
    &["cat-file", "-e", "HEAD"],
    &["cat-file", "-p", "HEAD~1"],
    &["cat-file", "-p", "HEAD:a"],
    &["cat-file", "-t", "HEAD^{/a}"],
    &["cat-file", "-t", "nonsense"],
    &["cat-file", "-t", "v2^{}"],
    &["cat-file", "--batch-all-objects", "--batch-check"],
    &["describe"],
    &["describe", "HEAD~1"],
    &["describe", "--contains", "HEAD~1"],
    &["describe", "--exact-match"],
    &["describe", "--always", "--match=x", "HEAD", "HEAD~1"],
    &["describe", "--dirty"],
    &["describe", "--broken"],
    &["status"],
    &["status", "-sb"],
    &["status", "-v"],
    &["status", "--porcelain=v2"],
];

pub(crate) const DESCRIBE_WITH_MARKS: [&[&str]; 3] = [
    &["describe", "--dirty"],
    &["describe", "--broken"],
    &["describe", "--dirty", "--broken"],
];
