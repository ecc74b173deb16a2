//! Audits: wrong cached results are found, dropped, counted and logged.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use super::sandbox::{RunningDaemon, Sandbox, TIME_LIMIT, VIGIL};

impl Sandbox {
    /// Changes a file without an event: through another name, which it has where nothing is watched.
    fn change_without_event(&self, name: &str) {
        std::fs::hard_link(self.path(&format!("work/{name}")), self.path("outside")).unwrap();
        self.write("outside", "changed by another name\n");
    }

    /// Starts a daemon that takes samples after a second without a question.
    fn serve_with_samples(&self) -> RunningDaemon {
        let mut command = self.command(VIGIL, "", &["daemon", "run"]);
        command.env("VIGIL_DAEMON_SAMPLE_S", "1");
        RunningDaemon::start(command)
    }

    fn short_status(&self, program: &str) -> String {
        let mut command = self.command(program, "work", &["status", "-s"]);
        let output = command.env("GIT_OPTIONAL_LOCKS", "0").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// How often the repository was audited, and how many differences were found.
    fn audit_counts(&self) -> (u64, u64) {
        let repository = &self.daemon_status()["repositories"][0];
        let count = |key: &str| repository[key].as_u64().unwrap();
        (count("audits"), count("differences"))
    }
}

#[test]
fn an_audit_finds_and_repairs_changes_without_events() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    assert_eq!(
        sandbox.vigil_daemon(&["audit"]),
        (Some(0), "nothing is kept\n".into())
    );
    sandbox.write("work/new", "");
    assert_eq!(sandbox.short_status(VIGIL), "?? new\n");
    let top = sandbox.path("work");
    let top = top.display();
    let fine = format!("{top}: 2 files for 1 question, 0 differences\n");
    assert_eq!(sandbox.vigil_daemon(&["audit"]), (Some(0), fine));
    assert_eq!(sandbox.audit_counts(), (1, 0));
    sandbox.change_without_event("dir/other");
    assert_eq!(
        sandbox.short_status(VIGIL),
        "?? new\n",
        "there was an event, so this tests nothing"
    );
    let (code, text) = sandbox.vigil_daemon(&["audit"]);
    let lines: Vec<&str> = text.lines().collect();
    let [first, second] = lines[..] else {
        panic!("{text}")
    };
    assert_eq!(code, Some(1));
    assert_eq!(
        first,
        format!("{top}: 2 files for 1 question, 1 difference")
    );
    let told = "dir/other: kept as unchanged, found changed (untracked normal, ignored no; ";
    assert!(second.trim_start().starts_with(told), "{text}");
    assert!(second.ends_with(" changes heard of, none of it)"), "{text}");
    assert_eq!(sandbox.audit_counts(), (2, 1));
    let log = std::fs::read_to_string(sandbox.runtime_folder().join("daemon.log")).unwrap();
    assert!(log.contains(&format!(" {top}: {told}")), "{log}");
    let table = sandbox.vigil_daemon(&["status"]).1;
    assert!(
        table.contains("\n    found wrong and forgotten: 1 "),
        "{table}"
    );
    assert_eq!(sandbox.short_status(VIGIL), sandbox.short_status("git"));
    assert_eq!(sandbox.vigil_daemon(&["audit"]).0, Some(0));
    assert_eq!(sandbox.audit_counts(), (3, 1));
}

#[test]
fn an_audit_finds_no_difference_after_changes_with_events() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let same = || {
        for arguments in [
            &["status", "-s"][..],
            &["status", "-s", "-uall", "--ignored"],
            &["status", "-uno"],
        ] {
            sandbox.vigil("work", arguments);
        }
        let (code, text) = sandbox.vigil_daemon(&["audit"]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(" questions, 0 differences\n"), "{text}");
    };
    same();
    sandbox.write("work/new/deep/file", "");
    sandbox.write("work/.gitignore", "*.o\n");
    sandbox.write("work/dir/x.o", "");
    same();
    std::fs::rename(sandbox.path("work/dir"), sandbox.path("work/moved")).unwrap();
    same();
    sandbox.git_in("work", &["add", "-A"]);
    std::fs::remove_dir_all(sandbox.path("work/moved")).unwrap();
    same();
    sandbox.git_in("work", &["commit", "-qm", "second"]);
    std::fs::remove_file(sandbox.path("work/file")).unwrap();
    std::os::unix::fs::symlink("elsewhere", sandbox.path("work/file")).unwrap();
    same();
    // Something that is not asked about again has changed since, too.
    sandbox.write("work/later", "");
    assert_eq!(sandbox.vigil_daemon(&["audit"]).0, Some(0));
}

#[test]
fn an_idle_daemon_audits_samples_and_tells_watchers() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve_with_samples();
    let mut command = sandbox.command(VIGIL, "work", &["watch"]);
    let mut watching = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains(" unstaged 0 "), "{first}");
    sandbox.change_without_event("file");
    let second = lines.next().unwrap().unwrap();
    assert!(second.contains(" unstaged 1 "), "{second}");
    let (audits, differences) = sandbox.audit_counts();
    assert!(audits > 0 && differences == 1, "{audits}, {differences}");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn an_idle_daemon_audits_samples_though_it_hears_of_no_change() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve_with_samples();
    assert_eq!(sandbox.short_status(VIGIL), "");
    let deadline = Instant::now() + TIME_LIMIT;
    while sandbox.audit_counts().0 == 0 {
        assert!(Instant::now() < deadline, "no sample was taken");
    }
}
