//! How the daemon knows what it answers.

use super::sandbox::{Sandbox, VIGIL};

impl Sandbox {
    /// The last line about `path`, without the path.
    fn last_explanation(&self, path: &str) -> String {
        let output = self.vigil("work", &["why", path]);
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let last = text.lines().last().unwrap_or_default();
        last.strip_prefix(&format!("{path}: ")).unwrap().to_owned()
    }

    fn daemon_json(&self, path: &str) -> serde_json::Value {
        let output = self.vigil("work", &["why", "--format=json", path]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        document["paths"][0]["daemon"].clone()
    }

    /// Has the daemon answer.
    fn let_daemon_answer(&self) {
        let output = self.vigil("work", &["status", "--porcelain"]);
        assert!(output.status.success());
    }
}

#[test]
fn why_tells_of_events_and_scans() {
    let sandbox = Sandbox::with_repository();
    let told = "the daemon ";
    assert!(!sandbox.last_explanation("dir/other").contains(told));
    let _serving = sandbox.serve();
    // Nobody has asked for a status yet, and this question does not make the daemon begin.
    assert!(!sandbox.last_explanation("dir/other").contains(told));
    assert!(sandbox.daemon_json("dir/other").is_null());
    assert_eq!(
        sandbox.daemon_status()["repositories"],
        serde_json::json!([])
    );

    sandbox.let_daemon_answer();
    let nothing = sandbox.last_explanation("dir/other");
    assert!(
        nothing.starts_with("the daemon looked at everything "),
        "{nothing}"
    );
    assert!(
        nothing.ends_with(" ago, and was told of no change to it since"),
        "{nothing}"
    );
    sandbox.write("work/dir/other", "changed\n");
    // By now the daemon may have looked, or not.
    let heard = sandbox.daemon_json("dir/other");
    assert_eq!(heard["heard"]["path"], "dir/other");
    sandbox.let_daemon_answer();
    let heard = sandbox.last_explanation("dir/other");
    assert!(heard.starts_with("the daemon was told "), "{heard}");
    assert!(
        heard.ends_with(" ago that it changed, and looked at it then"),
        "{heard}"
    );
    assert!(
        sandbox
            .last_explanation("file")
            .ends_with("no change to it since")
    );

    sandbox.write("work/dir/.gitignore", "x\n");
    sandbox.let_daemon_answer();
    let governed = sandbox.daemon_json("dir/other");
    assert_eq!(governed["heard"]["path"], "dir/.gitignore");
    assert_eq!(governed["heard"]["is_looked_at"], true);
    assert_eq!(
        sandbox.daemon_json("file")["heard"],
        serde_json::Value::Null
    );
}

#[test]
fn why_tells_what_is_looked_at_for_every_question() {
    let sandbox = Sandbox::with_repository();
    std::fs::hard_link(sandbox.path("work/file"), sandbox.path("outside")).unwrap();
    let _serving = sandbox.serve();
    sandbox.let_daemon_answer();
    assert_eq!(
        sandbox.last_explanation("file"),
        "the daemon looks at it for every question: it has other names, is a link or converted, or has a directory in its place"
    );
    sandbox.write("work/dir/.gitignore", "x\n");
    let ignore_file = sandbox.path("work/dir/.gitignore");
    std::fs::hard_link(ignore_file, sandbox.path("elsewhere")).unwrap();
    sandbox.let_daemon_answer();
    assert_eq!(
        sandbox.last_explanation("dir"),
        "the daemon looks at it for every question: what is shown of it depends on files that cannot be heard of"
    );
    let output = sandbox.command(VIGIL, "work", &["why", "file"]);
    let mut without = output;
    let output = without.env("VIGIL_NO_DAEMON", "1").output().unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains("daemon"));
}
