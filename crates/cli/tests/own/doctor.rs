//! `vigil doctor`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use vigil_testkit::privileges::without_privileges;
use vigil_testkit::sandbox::{TextOutput, vigil_program};

use crate::sandbox::Sandbox;

/// A sandbox with a runtime folder that no daemon of the user uses.
fn sandbox_and_runtime_folder() -> (tempfile::TempDir, Sandbox) {
    let run = tempfile::tempdir().unwrap();
    (run, Sandbox::new())
}

fn doctor_in(
    sandbox: &Sandbox,
    run: &Path,
    folder: &Path,
    variables: &[(&str, &str)],
) -> TextOutput {
    let mut command = sandbox.command(vigil_program(), folder, ["doctor", "--format=json"]);
    command.env("VIGIL_RUNTIME_DIR", run.join("vigil"));
    command.envs(variables.iter().copied());
    command.output().unwrap().into()
}

/// The command for Vigil at the top of the working tree.
fn vigil_command(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    sandbox.command(vigil_program(), "", arguments)
}

/// A daemon that ends with the test.
struct RunningDaemon(Child);

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The subject, verdict, fact and remedy of each check.
fn checks(output: &TextOutput) -> Vec<(String, String, String, Option<String>)> {
    assert_eq!(output.stderr, "");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(document["schema"], 1);
    let checks = document["checks"].as_array().unwrap().iter();
    let checks: Vec<_> = checks
        .map(|check| {
            let text = |key: &str| check[key].as_str().map(str::to_owned);
            let fact = text("fact").unwrap_or_else(|| check["fact"].to_string());
            let named = (text("subject").unwrap(), text("verdict").unwrap());
            (named.0, named.1, fact, text("remedy"))
        })
        .collect();
    let problems = checks.iter().filter(|check| check.1 == "problem").count();
    assert_eq!(document["problems"], problems);
    assert_eq!(output.code, i32::from(problems > 0));
    checks
}

/// The verdict on `subject`, and the fact.
#[track_caller]
fn verdict(output: &TextOutput, subject: &str) -> (String, String) {
    let checks = checks(output);
    let mut found = checks.iter().filter(|check| check.0 == subject);
    let Some((_, verdict, fact, _)) = found.next() else {
        return (String::new(), format!("{checks:?}"));
    };
    (verdict.clone(), fact.clone())
}

/// Asserts that the verdict on `subject` is `expected`, and that `fix` changes it.
#[track_caller]
fn assert_reported_until_fixed(
    sandbox: &Sandbox,
    run: &Path,
    subject: &str,
    expected: &str,
    fix: impl FnOnce(),
) {
    let before = doctor_in(sandbox, run, &sandbox.top(), &[]);
    assert_eq!(verdict(&before, subject).0, expected, "{before:?}");
    fix();
    let after = doctor_in(sandbox, run, &sandbox.top(), &[]);
    assert_eq!(verdict(&after, subject).0, "ok", "{after:?}");
}

#[test]
fn in_a_small_repository_nothing_is_wrong_and_nothing_is_changed() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    sandbox.assert_same_status();
    let contents = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap()).collect();
        names.sort_by_key(fs::DirEntry::path);
        let of =
            |entry: fs::DirEntry| (entry.path(), entry.metadata().unwrap().modified().unwrap());
        names.into_iter().map(of).collect::<Vec<_>>()
    };
    let folders = [sandbox.top(), sandbox.git_dir(), sandbox.state_folder()];
    let before: Vec<_> = folders.iter().map(|folder| contents(folder)).collect();
    let output = doctor_in(&sandbox, run.path(), &sandbox.path("src"), &[]);
    let of_repository = [
        "repository",
        "repository's disk",
        "mounts in working tree",
        "state",
        "index",
        "time stamps",
        "many untracked files",
        "nested repositories",
        "submodules",
        "untracked files",
        "git's own monitor",
        "loose references",
        "objects",
        "commit-graph",
    ];
    for subject in of_repository {
        assert_eq!(verdict(&output, subject).0, "ok", "{subject}: {output:?}");
    }
    assert_eq!(verdict(&output, "vigil").1, env!("CARGO_PKG_VERSION"));
    assert!(verdict(&output, "git").1.starts_with("2."));
    assert!(verdict(&output, "state").1.starts_with("of 3 files in "));
    let after: Vec<_> = folders.iter().map(|folder| contents(folder)).collect();
    assert_eq!(before, after);
    assert!(!run.path().join("vigil").exists());
}

#[test]
fn without_a_repository_the_machine_is_described() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    let output = doctor_in(&sandbox, run.path(), sandbox.root(), &[]);
    let none = ("ok".to_owned(), "none here".to_owned());
    assert_eq!(verdict(&output, "repository"), none);
    assert_ne!(verdict(&output, "inotify watches").0, "");
    assert_eq!(verdict(&output, "index").0, "");
    let git_dir = doctor_in(&sandbox, run.path(), &sandbox.git_dir(), &[]);
    assert_eq!(verdict(&git_dir, "repository").0, "ok");
    assert_eq!(verdict(&git_dir, "index").0, "");
    assert_eq!(verdict(&git_dir, "objects").0, "ok");
}

#[test]
fn text_has_a_line_for_each_check_and_the_remedy_below() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    let mut command = vigil_command(&sandbox, &["doctor"]);
    command.env("VIGIL_RUNTIME_DIR", run.path().join("vigil"));
    let output = TextOutput::from(command.output().unwrap());
    let wanted = "note     daemon wanted             no, by VIGIL_NO_DAEMON: every question \
        is answered from the disk\n                                   fix: unset VIGIL_NO_DAEMON\n";
    assert!(output.stdout.contains(wanted), "{}", output.stdout);
    let last = output.stdout.lines().last().unwrap();
    assert!(last.contains("problem") && last.contains("note"), "{last}");
    let wrong = vigil_command(&sandbox, &["doctor", "x"]).output().unwrap();
    assert_eq!(TextOutput::from(wrong).code, 129);
}

#[test]
fn the_daemon_is_described_in_each_of_its_states() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    let top = sandbox.top();
    let ask = |variables: &[(&str, &str)]| doctor_in(&sandbox, run.path(), &top, variables);
    // A busy machine may be slow.
    let wanted = [
        ("VIGIL_NO_DAEMON", "0"),
        ("VIGIL_DAEMON_PATIENCE_MS", "60000"),
    ];
    assert_eq!(verdict(&ask(&wanted), "daemon wanted").0, "ok");
    assert_eq!(verdict(&ask(&[]), "daemon wanted").0, "note");
    assert_eq!(verdict(&ask(&wanted), "runtime folder").0, "ok");
    let none = ("note".to_owned(), "not running".to_owned());
    assert_eq!(verdict(&ask(&wanted), "daemon"), none);

    sandbox.git(["config", "--global", "vigil.daemon", "false"]);
    let (verdict_on_it, fact) = verdict(&ask(&wanted), "daemon wanted");
    assert_eq!(verdict_on_it, "note");
    assert!(fact.starts_with("no, by vigil.daemon in ") && fact.contains(".gitconfig at line"));
    sandbox.git(["config", "--global", "vigil.daemon", "banana"]);
    assert_eq!(verdict(&ask(&wanted), "daemon wanted").0, "problem");
    sandbox.git(["config", "--global", "--unset", "vigil.daemon"]);
    sandbox.git(["config", "vigil.daemon", "false"]);
    assert_eq!(verdict(&ask(&wanted), "daemon wanted").0, "note");
    let elsewhere = doctor_in(&sandbox, run.path(), sandbox.root(), &wanted);
    assert_eq!(verdict(&elsewhere, "daemon wanted").0, "ok");
    sandbox.git(["config", "--unset", "vigil.daemon"]);

    // The daemon makes no folder above its own.
    let missing = run.path().join("missing");
    let in_missing = doctor_in(&sandbox, &missing, &top, &wanted);
    assert_eq!(verdict(&in_missing, "runtime folder").0, "problem");
    fs::create_dir(&missing).unwrap();
    let in_missing = doctor_in(&sandbox, &missing, &top, &wanted);
    assert_eq!(verdict(&in_missing, "runtime folder").0, "ok");

    let folder = run.path().join("vigil");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(verdict(&ask(&wanted), "runtime folder").0, "problem");
    let remedy = || {
        let mut all = checks(&ask(&wanted)).into_iter();
        all.find(|check| check.0 == "runtime folder").unwrap().3
    };
    assert!(remedy().unwrap().starts_with("chmod 700 "));
    // A folder like /tmp has to stay open.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)).unwrap();
    assert!(remedy().unwrap().starts_with("export VIGIL_RUNTIME_DIR="));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(verdict(&ask(&wanted), "runtime folder").0, "ok");

    // Nobody ever answers on this socket.
    let listener = UnixListener::bind(folder.join("daemon.sock")).unwrap();
    let hurried = [("VIGIL_DAEMON_PATIENCE_MS", "1")];
    assert_eq!(verdict(&ask(&hurried), "daemon").0, "problem");
    // A program that another test is just starting may hold this descriptor for a moment.
    rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
    drop(listener);
    assert_eq!(verdict(&ask(&wanted), "daemon"), none);

    let mut serve = vigil_command(&sandbox, &["daemon", "run"]);
    serve.env("VIGIL_RUNTIME_DIR", &folder);
    let mut daemon = RunningDaemon(serve.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = std::io::BufReader::new(daemon.0.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut lines, &mut String::new()).unwrap();
    let output = ask(&wanted);
    assert_eq!(verdict(&output, "heard of by the daemon").0, "");
    let mut status = vigil_command(&sandbox, &["status"]);
    status.envs(wanted).env("VIGIL_RUNTIME_DIR", &folder);
    assert!(status.status().unwrap().success());
    let heard = verdict(&ask(&wanted), "heard of by the daemon");
    assert_eq!(heard, ("ok".to_owned(), "all of it".to_owned()));
    let (verdict, fact) = verdict(&output, "daemon");
    assert!(["ok", "note"].contains(&verdict.as_str()), "{fact}");
    assert!(
        fact.starts_with(&format!("pid {}, 0 repositories", daemon.0.id())),
        "{fact}"
    );
}

#[test]
fn few_open_files_are_a_problem() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    for (limit, expected) in [("100", "problem"), ("512", "ok")] {
        let script = format!("ulimit -n {limit}; exec \"$0\" doctor --json");
        let mut command = sandbox.command("sh", "", ["-c".into(), script]);
        command.arg(vigil_program());
        command.env("VIGIL_RUNTIME_DIR", run.path().join("vigil"));
        let output = TextOutput::from(command.output().unwrap());
        assert_eq!(verdict(&output, "open files").0, expected, "{output:?}");
    }
}

#[test]
fn what_piles_up_is_reported_until_it_is_cleaned_up() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    let run = run.path();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let branches = sandbox.git_dir().join("refs/heads/many");
    fs::create_dir(&branches).unwrap();
    for number in 0..1001 {
        fs::write(branches.join(number.to_string()), &head).unwrap();
    }
    assert_reported_until_fixed(&sandbox, run, "loose references", "note", || {
        sandbox.git(["pack-refs", "--all"]);
    });
    let objects = sandbox.git_dir().join("objects/17");
    fs::create_dir_all(&objects).unwrap();
    for number in 0..27 {
        fs::write(objects.join(format!("{number:038}")), "").unwrap();
    }
    assert_reported_until_fixed(&sandbox, run, "objects", "note", || {
        fs::remove_dir_all(&objects).unwrap();
    });
    for number in 0..100 {
        sandbox.write(format!("src/many/{number}"), "contents\n");
        sandbox.age(format!("src/many/{number}"), 100);
    }
    sandbox.git(["add", "src/many"]);
    for number in 0..100 {
        sandbox.age(format!("src/many/{number}"), 50);
    }
    assert_reported_until_fixed(&sandbox, run, "time stamps", "note", || {
        sandbox.git(["update-index", "-q", "--refresh"]);
    });
    sandbox.git(["init", "-q", "src/nested"]);
    assert_reported_until_fixed(&sandbox, run, "nested repositories", "note", || {
        sandbox.write(".git/info/exclude", "nested\n");
    });
    for number in 0..10_000 {
        fs::create_dir_all(sandbox.path("out/deep")).unwrap();
        fs::write(sandbox.path(format!("out/deep/{number}")), "").unwrap();
    }
    let output = doctor_in(&sandbox, run, &sandbox.top(), &[]);
    let crowd = checks(&output)
        .into_iter()
        .find(|check| check.1 == "problem");
    let crowd = crowd.filter(|check| check.0 == "many untracked files");
    let remedy = crowd.unwrap().3.unwrap();
    assert_reported_until_fixed(&sandbox, run, "many untracked files", "problem", || {
        let mut command = sandbox.command("sh", "src", ["-c", &remedy]);
        assert!(command.status().unwrap().success());
    });
}

#[test]
fn costly_settings_of_git_are_reported_until_they_are_changed() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    let run = run.path();
    sandbox.git(["config", "status.showUntrackedFiles", "all"]);
    assert_reported_until_fixed(&sandbox, run, "untracked files", "note", || {
        sandbox.git(["config", "status.showUntrackedFiles", "normal"]);
    });
    let trace = sandbox.path_from_root("trace");
    sandbox.write(
        ".git/hook",
        format!("#!/bin/sh\necho > {}\n", trace.display()),
    );
    let hook = sandbox.path(".git/hook");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    for key in [
        "core.fsmonitor",
        "filter.f.clean",
        "pager.doctor",
        "core.pager",
    ] {
        let mut command = sandbox.command("git", "", ["config", key]);
        assert!(command.arg(&hook).status().unwrap().success());
    }
    sandbox.write(".gitattributes", "* filter=f\n");
    sandbox.age("src/a.c", 1000);
    assert_reported_until_fixed(&sandbox, run, "git's own monitor", "note", || {
        sandbox.git(["config", "core.fsmonitor", "false"]);
    });
    let hooked = vigil_command(&sandbox, &["-p", "doctor"]).output().unwrap();
    assert!(!hooked.stdout.is_empty());
    assert!(!trace.exists(), "something of the repository's was run");
    sandbox.vigil(&["status"]);
    assert!(trace.exists(), "a status runs the filter");
    let socket = sandbox.git_dir().join("fsmonitor--daemon.ipc");
    let listener = UnixListener::bind(&socket).unwrap();
    assert_reported_until_fixed(&sandbox, run, "git's own monitor", "note", || {
        drop(listener);
        fs::remove_file(&socket).unwrap();
    });
    for scope in ["--local", "--global"] {
        sandbox.git(["config", scope, "vigil.stateFile", "false"]);
        let fix = ["config", scope, "--unset-all", "vigil.stateFile"];
        let output = doctor_in(&sandbox, run, &sandbox.top(), &[]);
        let mut of_state = checks(&output)
            .into_iter()
            .filter(|check| check.0 == "state");
        let remedy = of_state.next().and_then(|check| check.3);
        assert_eq!(remedy, Some(format!("git {}", fix.join(" "))));
        assert_reported_until_fixed(&sandbox, run, "state", "note", || {
            sandbox.git(fix);
        });
    }
}

#[test]
fn an_unused_state_is_reported_until_it_is_dropped() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    sandbox.assert_same_status();
    fs::write(sandbox.state_folder().join("state"), "garbage").unwrap();
    assert_reported_until_fixed(&sandbox, run.path(), "state", "note", || {
        sandbox.text(&["state", "drop"]);
    });
    fs::write(sandbox.state_folder(), "").unwrap();
    assert_reported_until_fixed(&sandbox, run.path(), "state", "problem", || {
        fs::remove_file(sandbox.state_folder()).unwrap();
    });
}

/// What the doctor says where permissions forbid things even to root. `None` if that is not possible here.
fn doctor_under_permissions(sandbox: &Sandbox, home: &Path) -> Option<TextOutput> {
    let vigil = vigil_program();
    let doctor = [vigil.to_str().unwrap(), "doctor", "--format=json"];
    let words = [without_privileges()?, &doctor].concat();
    let (program, arguments) = words.split_first().unwrap();
    let mut command = sandbox.command(program, "", arguments);
    command.env("HOME", home).env_remove("XDG_CACHE_HOME");
    Some(command.output().unwrap().into())
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn that_no_state_can_be_written_is_noted() {
    let sandbox = Sandbox::new();
    let home = sandbox.path_from_root("home");
    fs::create_dir_all(&home).unwrap();
    let git_dir = sandbox.git_dir();
    for folder in [&git_dir, &home] {
        set_mode(folder, 0o555);
    }
    let refused = doctor_under_permissions(&sandbox, &home);
    for folder in [&git_dir, &home] {
        set_mode(folder, 0o755);
    }
    let Some(refused) = refused else {
        return;
    };
    let (refused, fact) = verdict(&refused, "state");
    assert_eq!(refused, "note");
    let expected = format!(
        "none, and none can be written in {}/vigil or {}/.cache/vigil/",
        git_dir.display(),
        home.display()
    );
    assert!(fact.starts_with(&expected), "{fact}");
    let allowed = doctor_under_permissions(&sandbox, &home).unwrap();
    assert_eq!(verdict(&allowed, "state").0, "ok");
}

#[test]
fn a_folder_of_the_state_that_is_closed_is_opened_by_the_remedy() {
    let sandbox = Sandbox::new();
    sandbox.assert_same_status();
    let folder = sandbox.git_dir().join("vigil");
    set_mode(&folder, 0);
    let refused = doctor_under_permissions(&sandbox, sandbox.root());
    set_mode(&folder, 0o700);
    let Some(refused) = refused else {
        return;
    };
    let mut found = checks(&refused).into_iter();
    let (_, verdict, _, remedy) = found.find(|check| check.0 == "state").unwrap();
    let expected = format!("chmod 700 '{}'", folder.display());
    assert_eq!((verdict.as_str(), remedy), ("problem", Some(expected)));
}

/// Puts a program `bin/git` into the working copy, and returns the file that it would make.
fn write_git_that_leaves_a_trace(sandbox: &Sandbox) -> PathBuf {
    let trace = sandbox.path_from_root("trace");
    sandbox.write(
        "bin/git",
        format!("#!/bin/sh\necho > {}\n", trace.display()),
    );
    set_mode(&sandbox.path("bin/git"), 0o755);
    trace
}

#[test]
fn a_git_in_the_working_copy_is_not_run() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    let trace = write_git_that_leaves_a_trace(&sandbox);
    let path = format!("{}:.:bin", sandbox.path("bin").display());
    let ask = || doctor_in(&sandbox, run.path(), &sandbox.top(), &[("PATH", &path)]);
    let (verdict_on_it, fact) = verdict(&ask(), "git");
    assert_eq!(verdict_on_it, "note");
    assert!(
        fact.ends_with("lies in the working copy, and is not run"),
        "{fact}"
    );
    // Nor is it run if git refuses the repository.
    sandbox.write(".git/config", "[core\n");
    assert_eq!(verdict(&ask(), "git").0, "note");
    assert!(!trace.exists());
}

#[test]
fn hostile_repositories_are_a_problem_and_no_more() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    let top = sandbox.top();
    let git_dir = sandbox.git_dir();
    let ask = || doctor_in(&sandbox, run.path(), &top, &[]);
    let config = sandbox.read(".git/config");
    let index = sandbox.read(".git/index");
    sandbox.write(".git/config", "[core\n\x1b[2J");
    assert_eq!(verdict(&ask(), "repository").0, "problem");
    sandbox.write(".git/config", &config);
    sandbox.write(".git/index", "DIRC garbage of some length that is none");
    assert_eq!(verdict(&ask(), "working tree").0, "problem");
    sandbox.write(".git/index", &index);
    for name in ["objects/17", "refs/heads/pipe", "vigil"] {
        let _ = fs::remove_dir_all(git_dir.join(name));
        fs::rename(sandbox.make_pipe("pipe"), git_dir.join(name)).unwrap();
    }
    symlink("/dev/zero", git_dir.join("fsmonitor--daemon.ipc")).unwrap();
    symlink("/", top.join("root")).unwrap();
    assert_eq!(verdict(&ask(), "objects").0, "ok");
    fs::rename(&git_dir, sandbox.path_from_root("aside")).unwrap();
    for garbage in [
        &b"garbage\xff\0\x1b[2J"[..],
        b"gitdir: /no/such\n",
        &[b'x'; 1 << 20],
    ] {
        fs::write(&git_dir, garbage).unwrap();
        assert_eq!(verdict(&ask(), "repository").0, "problem");
    }
    fs::remove_file(&git_dir).unwrap();
    fs::rename(sandbox.make_pipe("other"), &git_dir).unwrap();
    assert_ne!(verdict(&ask(), "repository").0, "");
}

#[test]
fn a_repository_that_git_refuses_is_a_problem_and_no_program_in_it_is_run() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    let top = sandbox.top();
    let trace = write_git_that_leaves_a_trace(&sandbox);
    let path = format!("{}/bin", top.display());
    let ask = |variables: &[(&str, &str)]| {
        let output = doctor_in(&sandbox, run.path(), &top, variables);
        let mut found = checks(&output).into_iter();
        found.find(|check| check.0 == "repository").unwrap()
    };
    let foreign = [
        ("PATH", path.as_str()),
        ("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1"),
    ];
    let (_, verdict, fact, remedy) = ask(&foreign);
    assert_eq!(verdict, "problem");
    let top = top.display();
    let expected = format!("detected dubious ownership in repository at '{top}'");
    assert_eq!(fact, expected);
    let expected = format!("git config --global --add safe.directory {top}");
    assert_eq!(remedy.unwrap(), expected);
    sandbox.git(["config", "core.repositoryFormatVersion", "99"]);
    let (_, verdict, fact, remedy) = ask(&[("PATH", &path)]);
    assert_eq!((verdict.as_str(), remedy), ("problem", None));
    assert!(fact.contains("99"), "{fact}");
    assert!(!trace.exists());
}

#[test]
fn names_are_shown_escaped_and_never_as_commands() {
    let (run, sandbox) = sandbox_and_runtime_folder();
    let name = "a\x1b[2J$(touch x)\u{202e}\u{9b}1m\nb".to_owned() + &"n".repeat(150);
    let mut deep = name.clone();
    for _ in 0..15 {
        deep = format!("{deep}/{name}");
    }
    for number in 0..3 {
        fs::create_dir_all(sandbox.path(format!("{number}{deep}/.git"))).unwrap();
        sandbox.git(["init", "-q", &format!("{number}{name}/nested")]);
    }
    sandbox.write(format!("{name}-tracked/f"), "");
    sandbox.git(["add", &format!("{name}-tracked")]);
    sandbox.git(["init", "-q", &format!("{name}-tracked/nested")]);
    sandbox.git(["config", "status.showUntrackedFiles", &name]);
    sandbox.git(["config", "core.fsmonitor", &name]);
    let mut command = vigil_command(&sandbox, &["doctor"]);
    command.env("VIGIL_RUNTIME_DIR", run.path().join(&name));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\\033[2J"), "{text}");
    let is_fit = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
    assert!(text.chars().all(is_fit), "{text:?}");
    assert!(text.lines().all(|line| line.len() < 2500), "{text}");
}
