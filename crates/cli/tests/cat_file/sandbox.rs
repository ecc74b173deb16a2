//! The repositories of these tests.

use std::process::Output;

use vigil_testkit::sandbox::run_with_input;

pub(crate) const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// Two repositories: one with loose and packed objects, a mailmap, attributes, tags and links, and an empty one.
pub(crate) struct Sandbox(pub(crate) vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    pub(crate) fn new(format: &str) -> Self {
        let mut sandbox =
            vigil_testkit::sandbox::Sandbox::initialised(&[&format!("--object-format={format}")]);
        for who in ["AUTHOR", "COMMITTER"] {
            sandbox.set_variable(&format!("GIT_{who}_NAME"), "Wrong Name");
            sandbox.set_variable(&format!("GIT_{who}_EMAIL"), "author@example.com");
        }
        let top = sandbox.top();
        for (name, contents) in [
            ("file", "one\n".repeat(400)),
            ("dir/data", "no end of line".to_owned()),
            ("dir/sub/empty", String::new()),
            (
                ".mailmap",
                "Right Name <right@example.com> <author@example.com>\n".to_owned(),
            ),
            (
                ".gitattributes",
                "*.id ident\n*.crlf text eol=crlf\n*.up diff=up\n".to_owned(),
            ),
            ("a.id", "$Id$\n".to_owned()),
            ("a.crlf", "a\nb\n".to_owned()),
            ("a.up", "shout\n".to_owned()),
        ] {
            sandbox.write(name, contents);
        }
        std::os::unix::fs::symlink("../file", top.join("dir/link")).unwrap();
        std::os::unix::fs::symlink("nowhere", top.join("dangling")).unwrap();
        std::os::unix::fs::symlink("../../outside", top.join("dir/out")).unwrap();
        std::os::unix::fs::symlink("circle", top.join("circle")).unwrap();
        sandbox.git(["config", "diff.up.textconv", "tr a-z A-Z <"]);
        sandbox.git(["add", "-A"]);
        sandbox.git(["commit", "-q", "-m", "first"]);
        std::fs::write(top.join("file"), format!("{}two\n", "one\n".repeat(399))).unwrap();
        sandbox.git(["commit", "-q", "-a", "-m", "second"]);
        sandbox.git(["tag", "-a", "-m", "tagged", "v1"]);
        sandbox.git(["repack", "-q", "-a", "-d", "-f"]);
        std::fs::write(top.join("late"), "loose\n").unwrap();
        sandbox.git(["add", "-A"]);
        sandbox.git(["commit", "-q", "-m", "third"]);
        Self(sandbox)
    }

    pub(crate) fn run(&self, program: &str, arguments: &[&str], input: &[u8]) -> Output {
        run_with_input(self.command(program, "", arguments), input)
    }

    /// What git prints, including the final newline.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.git_bytes(arguments)).unwrap()
    }

    /// Asserts that both programs answer `arguments` and `input` alike.
    pub(crate) fn assert_same_cat_file(&self, arguments: &[&str], input: &[u8]) {
        self.assert_same_as_git_with_input(&[&["cat-file"], arguments].concat(), input);
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        let all = self.git(&[
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname)",
        ]);
        all.lines().map(str::to_owned).collect()
    }
}

pub(crate) const REVISIONS: &[&str] = &[
    "HEAD",
    "v1",
    "v1^{}",
    "HEAD^{tree}",
    "HEAD:file",
    "HEAD:dir",
    "HEAD:dir/",
    "HEAD:no/such",
    ":file",
    "HEAD~2",
    "nonsense",
    "HEAD:dir/link",
    "HEAD:dangling",
    "HEAD:dir/out",
    "HEAD:circle",
    "HEAD:file/x",
    "HEAD:dir/link/x",
    "",
];
