//! Folders that may not be read.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use vigil_testkit::privileges::without_privileges;
use vigil_testkit::sandbox::TextOutput;

use super::sandbox::{RunningDaemon, Sandbox, VIGIL};

/// Tracked files, or what is beside them, cannot be watched then.
const UNWATCHED: [&str; 2] = ["chmod 311 dir", "chmod 000 dir"];

impl Sandbox {
    /// A command that may not read what permissions forbid; `None` if that is not possible here.
    fn unprivileged(&self, program: &str, folder: &str, arguments: &[&str]) -> Option<Command> {
        let whole = [without_privileges()?, &[program], arguments].concat();
        let (first, rest) = whole.split_first().unwrap();
        let mut command = self.command(first, folder, rest);
        command.env("GIT_OPTIONAL_LOCKS", "0");
        Some(command)
    }

    /// Asserts that Vigil and git answer the same without privileges in `work`, with the same warnings.
    fn assert_same_unprivileged(&self, arguments: &[&str], after: &str) {
        let by = |program| {
            let mut command = self.unprivileged(program, "work", arguments).unwrap();
            let mut output = TextOutput::from(command.output().unwrap());
            // git warns in the order in which the file system lists the names.
            let mut warnings: Vec<&str> = output.stderr.lines().collect();
            warnings.sort_unstable();
            output.stderr = warnings.concat();
            output
        };
        assert_eq!(by(VIGIL), by("git"), "{after}: {arguments:?}");
    }
}

#[test]
fn a_folder_that_may_not_be_read_is_known_until_it_changes() {
    let sandbox = Sandbox::with_repository();
    let Some(daemon) = sandbox.unprivileged(VIGIL, "", &["daemon", "run"]) else {
        return;
    };
    let _serving = RunningDaemon::start(daemon);
    let run = |script: &str| {
        let done = sandbox.command("sh", "work", &["-c", script]).status();
        assert!(done.unwrap().success(), "{script}");
    };
    let assert_same = |after: &str| {
        for arguments in [
            &["status", "--porcelain=v2", "-uall"][..],
            &["status", "-s", "--ignored"],
            &["status", "-s", "--", "dir"],
        ] {
            sandbox.assert_same_unprivileged(arguments, after);
        }
    };
    for script in [
        "mkdir closed dir/closed && touch closed/one dir/closed/two",
        "chmod 000 closed",
        "touch new",
        "chmod 000 dir/closed",
        "echo changed >file",
        "chmod 700 closed",
        "touch closed/three",
        "chmod 000 closed",
        "mv closed shut",
        "chmod 700 shut",
        "chmod 000 shut",
        "rm new",
        "echo shut >.gitignore",
        "rm .gitignore",
        UNWATCHED[0],
        "chmod 755 dir",
        UNWATCHED[1],
        "chmod 755 dir",
        "mkdir outer && mkdir outer/inner && touch outer/x && chmod 000 outer/inner",
        "rm outer/x",
        "mkdir -p p/q/r && touch p/q/r/x p/y && chmod 000 p/q/r",
        "chmod 000 p/q",
        "chmod 755 p/q",
        "chmod 755 p/q/r",
        "rm -rf p",
        "rm -rf dir/closed",
        "echo '*.tmp' >dir/.gitignore && touch dir/a.tmp dir/new",
        "chmod 000 dir/.gitignore",
        "touch dir/b.tmp",
        "chmod 600 dir/.gitignore",
        "rm dir/.gitignore && ln -s nowhere dir/.gitignore",
        "echo changed >>dir/other",
        "rm dir/.gitignore",
        "mkdir open && ln -s nowhere open/.gitignore && touch open/file",
        "rm open/.gitignore",
        "chmod 000 open && chmod 755 open && rm -r open",
        "ln -s nowhere .gitignore",
        "touch newer",
        "echo dir >other.rules && mv other.rules .gitignore",
        "rm .gitignore",
        "echo dir >.gitignore && mkdir dir/below && touch dir/below/recorded",
        "git add -f dir/below/recorded && rm dir/below/recorded",
        "mkdir dir/below/closed && touch dir/below/closed/one && chmod 000 dir/below/closed",
        "chmod 755 dir/below/closed",
        UNWATCHED[0],
        "chmod 755 dir",
    ] {
        run(script);
        for _ in 0..2 {
            assert_same(script);
        }
        if !UNWATCHED.contains(&script) {
            let scanned = &sandbox.daemon_status()["repositories"][0]["scanned"];
            assert_eq!(*scanned, serde_json::json!([]), "{script}");
        }
    }
    let (answered, declined) = sandbox.question_counts();
    assert_eq!((answered > 0, declined), (true, 0));
    for folder in ["work/shut", "work/outer/inner"] {
        let path = sandbox.path(folder);
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_submodule_that_may_only_be_searched_is_looked_at_as_by_git() {
    let sandbox = Sandbox::with_repository();
    let Some(daemon) = sandbox.unprivileged(VIGIL, "", &["daemon", "run"]) else {
        return;
    };
    let _serving = RunningDaemon::start(daemon);
    sandbox.git_in("work", &["submodule", "add", "-q", "./.", "sub"]);
    sandbox.write("work/sub/file", "changed\n");
    let set_mode = |mode| {
        let mode = Permissions::from_mode(mode);
        fs::set_permissions(sandbox.path("work/sub"), mode).unwrap();
    };
    for mode in [0o755, 0o311, 0o111, 0o444, 0o755] {
        set_mode(mode);
        sandbox.assert_same_unprivileged(&["status", "-s"], &format!("{mode:o}"));
    }
}

#[test]
fn what_is_left_out_of_a_sparse_checkout_and_may_not_be_looked_at_is_absent() {
    let sandbox = Sandbox::with_repository();
    let Some(daemon) = sandbox.unprivileged(VIGIL, "", &["daemon", "run"]) else {
        return;
    };
    let _serving = RunningDaemon::start(daemon);
    let write_outside = || {
        sandbox.write("work/outside/.gitignore", "*.tmp\n");
        sandbox.write("work/outside/file", "outside\n");
    };
    write_outside();
    sandbox.git_in("work", &["add", "."]);
    sandbox.git_in("work", &["commit", "-q", "-m", "outside"]);
    sandbox.git_in("work", &["sparse-checkout", "set", "dir"]);
    write_outside();
    sandbox.write("work/outside/file.tmp", "ignored\n");
    sandbox.write("work/outside/other", "untracked\n");
    let set_mode = |path, mode| {
        fs::set_permissions(sandbox.path(path), Permissions::from_mode(mode)).unwrap();
    };
    for (path, mode) in [
        ("work/outside", 0o000),
        ("work/outside", 0o444),
        ("work/outside", 0o311),
        ("work/outside", 0o755),
        ("work/outside/.gitignore", 0o000),
    ] {
        set_mode(path, mode);
        for options in [&["-s"][..], &["-s", "--ignored"], &["-s", "-uno"]] {
            let arguments = [&["status"], options].concat();
            sandbox.assert_same_unprivileged(&arguments, &format!("{path} {mode:o}"));
        }
    }
}
