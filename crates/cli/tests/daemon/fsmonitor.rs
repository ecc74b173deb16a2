//! git itself as the client of the monitor: through its hook and, if a git supports it (`GIT_NEWEST`, or an installed one),
//! through its socket. Its answers are compared with those of a git without a monitor.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use rustix::process::{Signal, Uid};
use rustix::thread::set_thread_res_uid;
use vigil_testkit::campaign::{Campaign, run};
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::daemon::Daemon;
use vigil_testkit::kills::{self, KillSettings};
use vigil_testkit::monitor::{Monitor, Transport};
use vigil_testkit::player::Settings;
use vigil_testkit::random::Plan;
use vigil_testkit::sandbox::skip_test;

use crate::namespaces::{HangingDisk, can_mount_fuse, is_in_namespaces, run_in_namespaces};
use crate::sandbox::{RunningDaemon, Sandbox, VIGIL};

/// The available gits, each of which is tested, and whether it can ask at a socket.
fn available_gits() -> Vec<(String, bool)> {
    let newest = std::env::var("GIT_NEWEST").ok();
    let all = [
        Some("/usr/local/bin/git".to_owned()),
        Some("/usr/bin/git".to_owned()),
        newest,
    ];
    let mut available_gits = Vec::new();
    for git in all.into_iter().flatten() {
        let printed = std::process::Command::new(&git)
            .args(["version", "--build-options"])
            .output();
        let Ok(printed) = printed else {
            continue;
        };
        let has_monitor = String::from_utf8(printed.stdout)
            .unwrap()
            .contains("fsmonitor--daemon");
        available_gits.push((git, has_monitor));
    }
    assert!(!available_gits.is_empty());
    available_gits
}

/// Each of those gits with each way that it has to ask: the hook, or the socket of its monitor.
fn gits_and_ways() -> Vec<(String, bool)> {
    let ways = |(git, has_monitor): (String, bool)| {
        let socket = has_monitor.then(|| (git.clone(), true));
        std::iter::once((git, false)).chain(socket)
    };
    available_gits().into_iter().flat_map(ways).collect()
}

/// A repository whose changes git asks a daemon for, at a socket or by the hook.
fn with_monitor(is_socket: bool) -> (Sandbox, RunningDaemon) {
    let sandbox = with_folders();
    let serving = sandbox.serve();
    install_monitor(&sandbox, is_socket);
    (sandbox, serving)
}

/// Asks until git looks at unchanged files no more, since the index is younger than they are.
fn let_index_age(sandbox: &Sandbox, git: &str, what: &str) {
    for _ in 0..3 {
        wait_for_tick();
        assert_same_without_monitor(sandbox, git, what);
    }
}

/// The status by `git` of `work`, with or without the monitor.
fn git_status(sandbox: &Sandbox, git: &str, by_monitor: bool) -> String {
    let options: &[&str] = match by_monitor {
        true => &["status", "--porcelain=v2"],
        false => &["-c", "core.fsmonitor=false", "status", "--porcelain=v2"],
    };
    let mut command = sandbox.command(git, "work", options);
    if !by_monitor {
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_DISABLE_UNTRACKED_CACHE", "1");
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    // With a sparse index, git gives advice on its slowness when told of a path outside; so it does with its own monitor.
    let errors = errors.lines().filter(|line| !line.starts_with("hint: "));
    let stdout = String::from_utf8(output.stdout).unwrap();
    stdout + &errors.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn assert_same_without_monitor(sandbox: &Sandbox, git: &str, what: &str) {
    let ours = git_status(sandbox, git, true);
    assert_eq!(ours, git_status(sandbox, git, false), "{git}: {what}");
}

fn work_path(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.path("work").join(name)
}

fn install_monitor(sandbox: &Sandbox, is_socket: bool) {
    let way = if is_socket { "--socket" } else { "--hook" };
    let output = sandbox.vigil("work", &["fsmonitor", "install", way]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn the_status_of_the_monitor_says_whether_git_asks() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let status = || {
        let output = sandbox.vigil("work", &["fsmonitor", "status"]);
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = status();
    assert_eq!(code, Some(1));
    assert!(text.starts_with("git does not ask: "), "{text}");
    let started = sandbox.vigil("work", &["fsmonitor", "start"]);
    assert!(started.status.success(), "{started:?}");
    // Whoever started it, that is not git's monitor.
    let doctor = sandbox.vigil("work", &["doctor"]);
    let text = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        text.contains("not running: Vigil's daemon serves its socket"),
        "{text}"
    );
    install_monitor(&sandbox, false);
    let (code, text) = status();
    assert_eq!(code, Some(0));
    assert!(text.starts_with("git asks by the hook "), "{text}");
    install_monitor(&sandbox, true);
    let started = sandbox.vigil("work", &["fsmonitor", "start"]);
    assert!(started.status.success());
    let (code, text) = status();
    assert_eq!(code, Some(0));
    assert!(text.starts_with("serves "), "{text}");
}

#[test]
fn no_socket_is_served_where_the_configuration_wants_no_daemon() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let answer = |command: &str| {
        let output = sandbox.vigil("work", &["fsmonitor", command]);
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    };
    assert_eq!(answer("start"), (Some(0), String::new()));
    sandbox.git_in("work", &["config", "vigil.daemon", "false"]);
    let refused = "error: the configuration wants no daemon\n".to_owned();
    assert_eq!(answer("start"), (Some(1), refused.clone()));
    assert_eq!(answer("stop"), (Some(0), String::new()));
    sandbox.git_in("work", &["config", "core.fsmonitor", "true"]);
    assert_eq!(answer("status"), (Some(1), refused));
}

#[test]
fn only_one_way_to_ask_can_be_installed() {
    let sandbox = Sandbox::with_repository();
    let both = ["fsmonitor", "install", "--hook", "--socket"];
    let output = sandbox.vigil("work", &both);
    let said = String::from_utf8(output.stderr).unwrap();
    let complaint = "error: options '--hook' and '--socket' cannot be used together\nusage: ";
    assert_eq!(output.status.code(), Some(129));
    assert!(said.starts_with(complaint), "{said}");
}

#[test]
fn without_a_repository_or_a_daemon_the_reason_is_given() {
    let sandbox = Sandbox::with_repository();
    let run = |folder: &str, command: &str| {
        let output = sandbox.vigil(folder, &["fsmonitor", command]);
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said, output.stdout)
    };
    for command in ["start", "stop", "status", "query"] {
        let (code, said, answer) = run("", command);
        assert_eq!((code, answer), (Some(128), Vec::new()), "{said}");
        assert!(said.starts_with("fatal: not a git repository "), "{said}");
    }
    let mut command = sandbox.command(VIGIL, "work", &["fsmonitor", "query"]);
    let output = command.env("VIGIL_NO_DAEMON", "1").output().unwrap();
    assert_eq!(output.stdout, b"vigil:none.0.0:0\n/\n");
    let reason = "error: VIGIL_NO_DAEMON is set, so no daemon is asked\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), reason);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_hook_whose_folder_was_deleted_is_told_of_and_uninstalled() {
    let sandbox = Sandbox::with_repository();
    sandbox.git_in("work", &["config", "core.fsmonitor", "./before"]);
    let run = |command: &str| {
        let output = sandbox.vigil("work", &["fsmonitor", command]);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    for is_installed_again in [false, true] {
        install_monitor(&sandbox, false);
        fs::remove_dir_all(sandbox.path("work/.git/vigil")).unwrap();
        let (code, text) = run("status");
        assert_eq!(code, Some(1));
        assert!(text.contains(", which is gone: "), "{text}");
        if is_installed_again {
            install_monitor(&sandbox, false);
            assert_eq!(run("status").0, Some(0));
        }
        let (code, text) = run("uninstall");
        assert_eq!(code, Some(0));
        assert!(text.contains("unset core.fsmonitor\n"), "{text}");
    }
    assert_eq!(run("uninstall").0, Some(1));
}

/// A repository with folders of tracked and untracked files at some depth.
fn with_folders() -> Sandbox {
    let sandbox = Sandbox::with_repository();
    for name in ["a/b/c", "a/b/d", "x/y"] {
        sandbox.write(&format!("work/{name}/file"), name);
    }
    sandbox.write("work/.gitignore", "*.o\nbuild/\n");
    sandbox.git_in("work", &["add", "."]);
    sandbox.git_in("work", &["commit", "-qm", "more"]);
    for name in ["u/v/w", "u/z", "build"] {
        sandbox.write(&format!("work/{name}/new"), name);
    }
    sandbox
}

#[test]
fn a_configuration_that_cannot_be_written_is_complained_about_once() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("work/.git/config.lock", "");
    let output = sandbox.vigil("work", &["fsmonitor", "install", "--hook"]);
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        printed,
        "error: could not lock config file .git/config: File exists\n"
    );
}

#[test]
fn no_hook_is_installed_that_others_of_a_group_could_not_run() {
    let sandbox = Sandbox::with_repository();
    sandbox.git_in("work", &["init", "-q", "--shared=group"]);
    let config = fs::read(sandbox.path("work/.git/config")).unwrap();
    let output = sandbox.vigil("work", &["fsmonitor", "install", "--hook"]);
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.ends_with(": use --global\n"), "{printed}");
    assert_eq!(fs::read(sandbox.path("work/.git/config")).unwrap(), config);
    assert!(!sandbox.path("work/.git/vigil").exists());
    let output = sandbox.vigil("work", &["fsmonitor", "install", "--hook", "--global"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn git_says_the_same_with_the_monitor_after_each_operation() {
    type Operation = (&'static str, fn(&Sandbox));
    let operations: [Operation; 25] = [
        ("edit", |s| s.write("work/a/b/c/file", "edited")),
        ("nested rename", |s| {
            fs::rename(work_path(s, "a/b"), work_path(s, "a/e")).unwrap()
        }),
        ("edit below", |s| s.write("work/a/e/d/file", "edited")),
        ("rename above", |s| {
            fs::rename(work_path(s, "a"), work_path(s, "g")).unwrap()
        }),
        ("new below", |s| s.write("work/g/e/d/deep/new", "")),
        ("and back", |s| {
            fs::rename(work_path(s, "g"), work_path(s, "a")).unwrap()
        }),
        ("back", |s| {
            fs::rename(work_path(s, "a/e"), work_path(s, "a/b")).unwrap()
        }),
        ("untracked file", |s| s.write("work/u/v/w/newer", "")),
        ("exchange of untracked folders", |s| {
            fs::create_dir_all(work_path(s, "empty/v/w")).unwrap();
            fs::rename(work_path(s, "u"), work_path(s, "old")).unwrap();
            fs::rename(work_path(s, "empty"), work_path(s, "u")).unwrap();
        }),
        ("gone", |s| fs::remove_dir_all(work_path(s, "old")).unwrap()),
        ("only file of a folder", |s| s.write("work/u/v/w/only", "")),
        ("and gone", |s| {
            fs::remove_file(work_path(s, "u/v/w/only")).unwrap()
        }),
        ("hard link", |s| {
            fs::hard_link(work_path(s, "x/y/file"), s.path("outside")).unwrap();
            // The new name is noticed with the next event on the file.
            s.write("work/x/y/file", "written");
        }),
        ("by its other name", |s| {
            s.write("outside", "written outside")
        }),
        ("a folder in a file's place", |s| {
            fs::remove_file(work_path(s, "x/y/file")).unwrap();
            fs::create_dir(work_path(s, "x/y/file")).unwrap();
        }),
        ("and a file again", |s| {
            fs::remove_dir(work_path(s, "x/y/file")).unwrap();
            s.write("work/x/y/file", "x/y");
        }),
        ("renamed in the index alone", |s| {
            s.git_in("work", &["mv", "-k", "x", "no/where"]);
        }),
        ("ignored no more", |s| s.write("work/.gitignore", "*.o\n")),
        ("below what was ignored", |s| {
            s.write("work/build/deep/x", "")
        }),
        ("ignored again", |s| s.write("work/.gitignore", "build/\n")),
        ("added though ignored", |s| {
            s.git_in("work", &["add", "-f", "build/new"])
        }),
        ("and changed", |s| s.write("work/build/new", "changed")),
        ("stash", |s| s.git_in("work", &["stash", "-q"])),
        ("reset", |s| {
            s.git_in("work", &["reset", "-q", "--hard", "HEAD~1"])
        }),
        ("checkout", |s| {
            s.git_in("work", &["checkout", "-q", "ORIG_HEAD"])
        }),
    ];
    for (git, is_socket) in gits_and_ways() {
        let (sandbox, _serving) = with_monitor(is_socket);
        // The first answer is that everything may have changed.
        assert_same_without_monitor(&sandbox, &git, "first");
        assert_same_without_monitor(&sandbox, &git, "second");
        for (what, operation) in &operations {
            operation(&sandbox);
            assert_same_without_monitor(&sandbox, &git, what);
        }
        let (answered, _) = sandbox.question_counts();
        assert!(answered > 20, "{git}: {answered}");
    }
}

/// The hook's answer to `token`: the next token, and the paths.
fn query(sandbox: &Sandbox, token: &str) -> (String, Vec<String>) {
    query_in(sandbox, "work", token)
}

/// The same in another working tree.
fn query_in(sandbox: &Sandbox, top: &str, token: &str) -> (String, Vec<String>) {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let output = sandbox.vigil(top, &["fsmonitor", "query", token]);
        let text = String::from_utf8(output.stdout).unwrap();
        if output.status.success() {
            let mut lines = text.lines().map(str::to_owned);
            return (lines.next().unwrap(), lines.collect());
        }
        // On a busy machine, the daemon may take longer than git should be held up.
        assert_eq!(text, "vigil:none.0.0:0\n/\n");
        assert!(Instant::now() < end, "{top} {token}");
    }
}

/// A token since which nothing has changed.
fn settled_token(sandbox: &Sandbox) -> String {
    // What is racy is reported again.
    wait_for_tick();
    let mut token = String::new();
    for _ in 0..3 {
        token = query(sandbox, &token).0;
    }
    let (token, nothing) = query(sandbox, &token);
    assert_eq!(nothing, Vec::<String>::new());
    token
}

const EVERYTHING: [&str; 1] = ["/"];

#[test]
fn changes_in_a_sparse_index_are_reported_by_paths() {
    type Operation = (&'static str, fn(&Sandbox));
    let operations: [Operation; 9] = [
        ("edit", |s| s.write("work/a/b/c/file", "edited")),
        ("outside", |s| s.write("work/x/y/new", "")),
        ("outside again", |s| s.write("work/x/y/file", "x/z")),
        ("gone", |s| fs::remove_dir_all(work_path(s, "x")).unwrap()),
        ("add", |s| s.git_in("work", &["add", "a"])),
        ("wider", |s| {
            s.git_in("work", &["sparse-checkout", "set", "a", "x"]);
        }),
        ("edit there", |s| s.write("work/x/y/file", "x/z")),
        ("stash", |s| s.git_in("work", &["stash", "-q"])),
        ("narrower", |s| {
            s.git_in("work", &["sparse-checkout", "set", "a/b"]);
        }),
    ];
    for (git, is_socket) in gits_and_ways() {
        let sandbox = with_folders();
        let set = ["sparse-checkout", "set", "--cone", "--sparse-index", "a"];
        sandbox.git_in("work", &set);
        let _serving = sandbox.serve();
        install_monitor(&sandbox, is_socket);
        assert_same_without_monitor(&sandbox, &git, "first");
        let token = settled_token(&sandbox);
        sandbox.write("work/a/new", "");
        assert_eq!(query(&sandbox, &token).1, ["a/new"]);
        assert_same_without_monitor(&sandbox, &git, "second");
        for (what, operation) in &operations {
            operation(&sandbox);
            assert_same_without_monitor(&sandbox, &git, what);
            assert_same_without_monitor(&sandbox, &git, what);
        }
    }
}

#[test]
fn attributes_from_a_tree_are_no_reason_to_report_everything() {
    for (git, _) in available_gits() {
        let sandbox = with_folders();
        sandbox.write("work/.gitattributes", "file text\n");
        sandbox.git_in("work", &["add", "."]);
        sandbox.git_in("work", &["commit", "-qm", "attributes"]);
        sandbox.git_in("work", &["config", "attr.tree", "HEAD"]);
        let _serving = sandbox.serve();
        install_monitor(&sandbox, false);
        assert_same_without_monitor(&sandbox, &git, "first");
        let token = settled_token(&sandbox);
        sandbox.write("work/a/b/c/file", "a/b/c\r\n");
        assert_eq!(query(&sandbox, &token).1, ["a/b/c/file"]);
        assert_same_without_monitor(&sandbox, &git, "by the tree");
        sandbox.git_in("work", &["rm", "-q", "--cached", ".gitattributes"]);
        sandbox.git_in("work", &["commit", "-qm", "none"]);
        // Attributes now come from another tree.
        assert_eq!(query(&sandbox, &token).1, EVERYTHING);
        assert_same_without_monitor(&sandbox, &git, "by another tree");
        let token = settled_token(&sandbox);
        sandbox.write("work/u/z/newer", "");
        assert_eq!(query(&sandbox, &token).1, ["u/z/newer"]);
        // A missing tree counts as none, unless it is named explicitly.
        sandbox.git_in("work", &["config", "attr.tree", "no-such-tree"]);
        assert_same_without_monitor(&sandbox, &git, "no tree");
        let mut command = sandbox.command(VIGIL, "work", &["fsmonitor", "query", &token]);
        command.env("GIT_ATTR_SOURCE", "no-such-tree");
        let output = command.output().unwrap();
        assert_eq!(output.stdout, b"vigil:none.0.0:0\n/\n");
    }
}

#[test]
fn random_changes_are_reported_to_git() {
    let parent = std::path::Path::new("/dev/shm");
    let daemon = Daemon::start(VIGIL.as_ref(), parent).unwrap();
    for (number, (git, has_monitor)) in (0..).zip(available_gits()) {
        let transport = match has_monitor {
            true => Transport::Socket,
            false => Transport::Hook,
        };
        let settings = Settings {
            monitor: Some(Monitor {
                program: VIGIL.into(),
                transport,
            }),
            runtime_folder: Some(daemon.runtime_folder()),
            may_write: true,
            ..Settings::new(&git, &git)
        };
        let campaign = Campaign {
            seed: 10 + 2 * number,
            runs: 2,
            comparisons_max: usize::MAX,
            time_max: Duration::MAX,
            failures_max: 1,
            jobs: 1,
            plan: Plan {
                steps: 12,
                questions: 2,
                without: std::collections::BTreeSet::new(),
                reftable: false,
                prompts: false,
            },
            reduces_failures: false,
            keeps_sandboxes: false,
        };
        let output: Mutex<Vec<u8>> = Mutex::new(Vec::new());
        let totals = run(&settings, &campaign, &output);
        let report = String::from_utf8(output.into_inner().unwrap()).unwrap();
        assert_eq!((totals.mismatches, totals.errors.len()), (0, 0), "{report}");
        assert!(totals.comparisons >= 40, "{}", totals.comparisons);
    }
    daemon.final_status().unwrap();
}

#[test]
fn folders_that_changed_while_no_daemon_ran_are_reported() {
    for (git, is_socket) in gits_and_ways() {
        let (sandbox, serving) = with_monitor(is_socket);
        for _ in 0..3 {
            assert_same_without_monitor(&sandbox, &git, "first");
        }
        drop(serving);
        sandbox.write("work/u/z/while", "");
        sandbox.write("work/new", "");
        let _serving = sandbox.serve();
        if is_socket {
            sandbox.vigil("work", &["fsmonitor", "start"]);
        }
        // This command writes the index and does not look for untracked files.
        let output = sandbox
            .command(&git, "work", &["add", "file"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        sandbox.write("work/a/b/c/file", "edited");
        let output = sandbox
            .command(&git, "work", &["add", "a"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_same_without_monitor(&sandbox, &git, "untracked meanwhile");
    }
}

#[test]
fn a_daemon_that_is_killed_between_commands_costs_no_answer() {
    let sandbox = with_folders();
    install_monitor(&sandbox, false);
    for round in 0..4 {
        let serving = sandbox.serve();
        assert_same_without_monitor(&sandbox, "git", "served");
        sandbox.write("work/u/v/w/newer", &round.to_string());
        sandbox.write("work/a/b/c/file", &round.to_string());
        assert_same_without_monitor(&sandbox, "git", "served again");
        serving.signal(Signal::KILL);
        drop(serving);
        sandbox.write(&format!("work/u/z/{round}"), "");
        fs::rename(work_path(&sandbox, "x"), work_path(&sandbox, "x2")).unwrap();
        // Prevent that a daemon is started, which this test would have to end.
        let mut command = sandbox.command("git", "work", &["status", "--porcelain=v2"]);
        let ours = command.env("VIGIL_NO_DAEMON", "1").output().unwrap();
        assert_eq!(
            String::from_utf8(ours.stdout).unwrap(),
            git_status(&sandbox, "git", false)
        );
        fs::rename(work_path(&sandbox, "x2"), work_path(&sandbox, "x")).unwrap();
    }
}

fn run_kills(git: &std::path::Path, transport: Transport, count: usize) -> kills::Report {
    let kills = KillSettings {
        monitor: Monitor {
            program: VIGIL.into(),
            transport,
        },
        git: git.to_owned(),
        seed: 5,
        count,
        parent: "/dev/shm".into(),
    };
    kills::run(&kills).unwrap()
}

#[test]
fn a_daemon_that_is_killed_at_any_moment_makes_no_status_wrong() {
    for (git, has_monitor) in available_gits() {
        let transports = [
            Some(Transport::Hook),
            has_monitor.then_some(Transport::Socket),
        ];
        for transport in transports.into_iter().flatten() {
            let report = run_kills(git.as_ref(), transport, 5);
            assert_eq!(report.kills, 5, "{report:?}");
            assert!(report.is_good(), "{report:?}");
        }
    }
}

#[test]
fn the_kill_test_finds_a_git_that_its_monitor_makes_wrong() {
    let sandbox = Sandbox::with_repository();
    let text = "#!/bin/sh\ngit \"$@\"\n[ \"$*\" != 'status --porcelain=v2' ] || echo '? wrong'\n";
    sandbox.write("git", text);
    let git = sandbox.path("git");
    let mode = PermissionsExt::from_mode(0o755);
    fs::set_permissions(&git, mode).unwrap();
    let report = run_kills(&git, Transport::Hook, 5);
    assert!(!report.is_good() && report.kills <= 1, "{report:?}");
}

/// The answer of `socket` to a client that sends `bytes`.
fn socket_answer(socket: &PathBuf, bytes: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    // If the daemon hangs up, reading may fail.
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn a_stale_socket_is_replaced_and_a_served_one_is_not() {
    let sandbox = Sandbox::with_repository();
    let socket = sandbox.path("work/.git/fsmonitor--daemon.ipc");
    let start = || sandbox.vigil("work", &["fsmonitor", "start"]);
    let mut serving = sandbox.serve();
    let other = UnixListener::bind(&socket).unwrap();
    let refused = start();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("another process serves")
    );
    drop(other);
    assert!(start().status.success() && start().status.success());
    let serves = || {
        sandbox
            .vigil("work", &["fsmonitor", "status"])
            .status
            .success()
    };
    assert!(serves());
    // A client that is not at the top of the working tree, or sends no token, is told that everything may have changed.
    let everything = b"\0/\0";
    for question in [&b"0010builtin:fake0000"[..], b"0009flush0000", b"00040000"] {
        let answer = socket_answer(&socket, question);
        assert!(
            answer.windows(3).any(|part| part == everything),
            "{answer:?}"
        );
    }
    for garbage in [&b"GET / HTTP/1.1\r\n"[..], b"0001", b"ffff", b"00"] {
        assert_eq!(socket_answer(&socket, garbage), b"");
    }
    // If another socket takes its place, that is not removed.
    fs::remove_file(&socket).unwrap();
    assert!(!serves());
    assert!(start().status.success());
    serving.signal(Signal::TERM);
    serving.wait();
    assert!(!socket.exists());
    let serving = sandbox.serve();
    assert!(start().status.success());
    serving.signal(Signal::KILL);
    drop(serving);
    assert!(socket.exists());
    let _serving = sandbox.serve();
    assert!(start().status.success());
    assert_eq!(socket_answer(&socket, b"0008quit0000"), b"0000");
    assert!(!socket.exists() && !serves());
    let file = fs::write(&socket, "");
    assert!(file.is_ok() && !start().status.success());
    assert!(socket.exists());
}

/// A git that is cut off dies of SIGPIPE. Who shares a repository, or is root, may come to another user's socket.
#[test]
fn another_users_git_is_told_that_everything_may_have_changed() {
    let sandbox = Sandbox::with_repository();
    let socket = sandbox.path("work/.git/fsmonitor--daemon.ipc");
    let _serving = sandbox.serve();
    let started = sandbox.vigil("work", &["fsmonitor", "start"]);
    assert!(started.status.success(), "{started:?}");
    for (path, mode) in [(sandbox.path(""), 0o755), (socket.clone(), 0o777)] {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let asked = std::thread::scope(|scope| {
        let ask = || {
            let other = Uid::from_raw(65534);
            let is_other = set_thread_res_uid(other, other, other).is_ok();
            let questions = [
                &b"0010builtin:fake0000"[..],
                b"0009flush0000",
                b"0008quit0000",
            ];
            is_other.then(|| questions.map(|question| socket_answer(&socket, question)))
        };
        scope.spawn(ask).join().unwrap()
    });
    let Some(answers) = asked else {
        return skip_test(
            "a git of another user",
            "only the superuser can be another user",
        );
    };
    for answer in answers {
        assert!(answer.windows(3).any(|part| part == b"\0/\0"), "{answer:?}");
    }
    assert!(socket.exists());
}

#[test]
fn the_daemon_names_its_sockets_and_what_they_are_about() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.git_in("work", &["worktree", "add", "-q", "../linked"]);
    let monitors = || sandbox.daemon_status()["monitors"].clone();
    assert_eq!(monitors(), serde_json::json!([]));
    for top in ["work", "linked"] {
        let started = sandbox.vigil(top, &["fsmonitor", "start"]);
        assert!(started.status.success(), "{started:?}");
    }
    let sockets = [
        ("work", "work/.git/fsmonitor--daemon.ipc"),
        ("linked", "work/.git/worktrees/linked/fsmonitor--daemon.ipc"),
    ];
    let named = sockets.map(|(top, socket)| {
        serde_json::json!({ "socket": sandbox.path(socket), "path": sandbox.path(top) })
    });
    assert_eq!(monitors(), serde_json::json!(named));
    let (_, table) = sandbox.vigil_daemon(&["status"]);
    for (top, socket) in sockets.map(|(top, socket)| (sandbox.path(top), sandbox.path(socket))) {
        let line = format!("git asks about {} at {}\n", top.display(), socket.display());
        assert!(table.contains(&line), "{table}");
    }
    // A monitor whose socket is gone is not listed.
    fs::remove_file(sandbox.path(sockets[1].1)).unwrap();
    sandbox.vigil("work", &["fsmonitor", "stop"]);
    assert_eq!(monitors(), serde_json::json!([]));
}

#[test]
fn a_socket_on_a_disk_that_hangs_keeps_no_git_elsewhere_waiting() {
    if !can_mount_fuse("a socket on a disk that hangs") {
        return;
    }
    run_in_namespaces("fsmonitor::socket_on_a_disk_that_hangs", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn socket_on_a_disk_that_hangs() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    sandbox.make_repository("hangs", &[]);
    let _serving = sandbox.serve();
    for top in ["work", "hangs"] {
        let started = sandbox.vigil(top, &["fsmonitor", "start"]);
        assert!(started.status.success(), "{started:?}");
    }
    let _disk = HangingDisk::mount(&sandbox, "hangs");
    // The list of the sockets that are in place is not finished.
    let (code, message) = sandbox.vigil_daemon(&["status"]);
    assert_eq!(code, Some(1), "{message}");
    let socket = sandbox.path("work/.git/fsmonitor--daemon.ipc");
    let answer = socket_answer(&socket, b"000aflush\x000000");
    assert!(answer.contains_str("builtin:"), "{}", answer.as_bstr());
    sandbox.assert_answered_as_by_git("work");
}

#[test]
fn a_flush_makes_earlier_tokens_invalid() {
    let sandbox = with_folders();
    sandbox.make_repository("other", &[]);
    let _serving = sandbox.serve();
    for top in ["work", "other"] {
        let started = sandbox.vigil(top, &["fsmonitor", "start"]);
        assert!(started.status.success(), "{started:?}");
    }
    let flush = |top: &str| {
        let socket = sandbox.path(top).join(".git/fsmonitor--daemon.ipc");
        let answer = socket_answer(&socket, b"000aflush\x000000");
        assert!(answer.ends_with(b"\0/\x000000"), "{answer:?}");
    };
    let token = settled_token(&sandbox);
    flush("other");
    assert_eq!(query(&sandbox, &token).1, Vec::<String>::new());
    flush("work");
    let (new, everything) = query(&sandbox, &token);
    assert_eq!(everything, EVERYTHING);
    assert_eq!(query(&sandbox, &token).1, EVERYTHING);
    let (new, _) = query(&sandbox, &new);
    sandbox.write("work/a/new", "");
    assert_eq!(query(&sandbox, &new).1, ["a/new"]);
}

#[test]
fn git_is_told_of_what_an_audit_finds() {
    let sandbox = with_folders();
    let _serving = sandbox.serve();
    sandbox.write("work/a/.gitignore", "*.x\n");
    sandbox.write("work/a/new.x", "");
    let token = settled_token(&sandbox);
    // Another client's session watches the same tree.
    sandbox.vigil("work", &["status"]);
    let outside = sandbox.path("outside");
    fs::hard_link(sandbox.path("work/a/.gitignore"), &outside).unwrap();
    fs::write(outside, "").unwrap();
    let (token, nothing) = query(&sandbox, &token);
    assert_eq!(
        nothing,
        Vec::<String>::new(),
        "there was an event, so this tests nothing"
    );
    assert_eq!(sandbox.vigil_daemon(&["audit"]).0, Some(1));
    assert_eq!(query(&sandbox, &token).1, EVERYTHING);
}

/// A user may have few instances of inotify(7), however many working trees there are.
#[test]
fn linked_worktrees_share_one_inotify_instance() {
    const LINKED: usize = 12;
    let sandbox = with_folders();
    let serving = sandbox.serve();
    let instances = || {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", serving.pid())).unwrap();
        let targets = descriptors.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        targets
            .filter(|target| target.ends_with("anon_inode:inotify"))
            .count()
    };
    settled_token(&sandbox);
    let of_one = instances();
    assert!(of_one > 0);
    let tops: Vec<String> = (0..LINKED)
        .map(|number| format!("linked{number}"))
        .collect();
    for top in &tops {
        let place = format!("../{top}");
        sandbox.git_in("work", &["worktree", "add", "-q", "--detach", &place]);
        let started = sandbox.vigil(top, &["fsmonitor", "start"]);
        assert!(started.status.success(), "{started:?}");
    }
    wait_for_tick();
    let tokens = tops.iter().map(|top| {
        let first = query_in(&sandbox, top, "").0;
        query_in(&sandbox, top, &first).0
    });
    let tokens: Vec<String> = tokens.collect();
    sandbox.write("linked3/x/y/file", "changed");
    for (top, token) in tops.iter().zip(&tokens) {
        let changed: &[&str] = if top == "linked3" { &["x/y/file"] } else { &[] };
        assert_eq!(query_in(&sandbox, top, token).1, changed, "{top}");
    }
    assert_eq!(instances(), of_one);
}

#[test]
fn a_repository_that_was_moved_is_not_answered_for() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    assert!(
        sandbox
            .vigil("work", &["fsmonitor", "start"])
            .status
            .success()
    );
    fs::rename(sandbox.path("work"), sandbox.path("moved")).unwrap();
    sandbox.make_repository("work", &[]);
    let answer = socket_answer(
        &sandbox.path("moved/.git/fsmonitor--daemon.ipc"),
        b"0010builtin:fake0000",
    );
    assert!(
        answer.ends_with(b"builtin:none.0.0:0\0/\x000000"),
        "{answer:?}"
    );
}

#[test]
fn a_repository_elsewhere_is_asked_about_whatever_lies_at_the_top_of_its_working_tree() {
    for (git, is_socket) in gits_and_ways() {
        for has_repository_at_top in [true, false] {
            let sandbox = with_folders();
            let _serving = sandbox.serve();
            let top = sandbox.path("work");
            let git_dir = sandbox.path("elsewhere");
            let run = |program: &str, arguments: &[&str]| {
                let mut command = sandbox.command(program, "work", arguments);
                let output = command.env("GIT_DIR", &git_dir).output().unwrap();
                assert!(output.status.success(), "{output:?}");
                String::from_utf8(output.stdout).unwrap()
            };
            run(&git, &["init", "-q"]);
            run(&git, &["config", "core.bare", "false"]);
            run(&git, &["config", "core.worktree", top.to_str().unwrap()]);
            sandbox.write("work/.git/info/exclude", "ignored/\n");
            sandbox.write("work/ignored/file", "");
            run(&git, &["add", "-f", "ignored/file"]);
            match has_repository_at_top {
                true => install_monitor(&sandbox, is_socket),
                false => fs::remove_dir_all(top.join(".git")).unwrap(),
            }
            let way = if is_socket { "--socket" } else { "--hook" };
            run(VIGIL, &["fsmonitor", "install", way]);
            let status =
                |options: &[&str]| run(&git, &[options, &["status", "--porcelain"]].concat());
            for _ in 0..3 {
                wait_for_tick();
                status(&[]);
            }
            let (before, _) = sandbox.question_counts();
            sandbox.write("work/ignored/file", "changed");
            sandbox.write("work/ignored/new", "");
            let ours = status(&[]);
            assert_eq!(ours, status(&["-c", "core.fsmonitor=false"]), "{git}");
            assert!(ours.contains("?? ignored/new"), "{ours}");
            assert!(sandbox.question_counts().0 > before, "{git}");
        }
    }
}

#[test]
fn uninstalling_restores_the_earlier_configuration() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.git_in("work", &["config", "core.fsmonitor", "./old hook"]);
    let config = || fs::read_to_string(sandbox.path("work/.git/config")).unwrap();
    let before = config();
    for is_socket in [false, true] {
        install_monitor(&sandbox, is_socket);
        assert!(config().contains("untrackedCache = true"), "{}", config());
        // A second installation does not change what is restored.
        install_monitor(&sandbox, is_socket);
        let output = sandbox.vigil("work", &["fsmonitor", "uninstall"]);
        assert!(output.status.success(), "{output:?}");
        let values = |config: &str| -> Vec<String> {
            let lines = config.lines().filter(|line| line.contains('='));
            let mut lines: Vec<String> = lines.map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(values(&config()), values(&before));
        assert!(
            !sandbox
                .path("work/.git/vigil/vigil-fsmonitor-hook")
                .is_symlink()
        );
        assert!(!sandbox.path("work/.git/fsmonitor--daemon.ipc").exists());
    }
    let again = sandbox.vigil("work", &["fsmonitor", "uninstall"]);
    assert_eq!(again.status.code(), Some(1));
    // A value that somebody else has set since stays.
    install_monitor(&sandbox, false);
    sandbox.git_in("work", &["config", "core.fsmonitor", "mine"]);
    let output = sandbox.vigil("work", &["fsmonitor", "uninstall"]);
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("left core.fsmonitor")
    );
    assert!(config().contains("mine"));
    assert!(!config().contains("untrackedCache"));
}

#[test]
fn where_there_is_no_git_nothing_is_configured_and_the_reason_said() {
    let sandbox = Sandbox::with_repository();
    let told = |arguments: &[&str]| {
        let mut command = sandbox.command(VIGIL, "work", &[&["fsmonitor"], arguments].concat());
        let output = command.env("PATH", sandbox.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(told(&["install"]), "error: there is no git\n");
    let cannot = "error: cannot run git: No such file or directory\n";
    assert_eq!(told(&["uninstall"]), cannot);
    // It went after it was configured.
    install_monitor(&sandbox, false);
    assert_eq!(told(&["uninstall"]), cannot);
}

#[test]
fn the_hook_always_has_an_answer() {
    let sandbox = Sandbox::with_repository();
    let ask = |arguments: &[&str]| {
        let arguments = [&["fsmonitor", "hook"], arguments].concat();
        let mut command = sandbox.command(VIGIL, "work", &arguments);
        let output = command.env("VIGIL_NO_DAEMON", "1").output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
        output.stdout
    };
    assert_eq!(ask(&["2", "x"]), b"vigil:none.0.0:0\0/\0");
    for arguments in [&["1", "1729584000000000000"][..], &["3", "x"], &[], &["2"]] {
        assert_eq!(ask(arguments), b"/\0", "{arguments:?}");
    }
    let _serving = sandbox.serve();
    let query = |token: &str| query(&sandbox, token);
    let (first, all) = query("");
    assert_eq!(all, EVERYTHING);
    // A client that was told that may still have outdated listings.
    let (second, listings) = query(&first);
    assert_eq!(listings, [".vigil", "dir/.vigil"]);
    let (third, nothing) = query(&second);
    assert_eq!(nothing, Vec::<String>::new());
    sandbox.write("work/dir/new", "");
    assert_eq!(query(&third).1, ["dir/new"]);
    assert_eq!(query("vigil:\u{fffd}:::").1, EVERYTHING);
    // With another index, nothing is known.
    let mut command = sandbox.command(VIGIL, "work", &["fsmonitor", "hook", "2", &third]);
    let output = command
        .env("GIT_INDEX_FILE", sandbox.path("other"))
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"vigil:none.0.0:0\0/\0");
    let mut command = sandbox.command(VIGIL, "work", &["fsmonitor", "hook", "2", &third]);
    let output = command
        .env("GIT_INDEX_FILE", ".git/index")
        .output()
        .unwrap();
    assert!(output.stdout.ends_with(b"\0dir/new\0"), "{output:?}");
}

#[test]
fn a_hook_whose_answer_is_lost_fails() {
    let sandbox = Sandbox::with_repository();
    let full = fs::File::options().write(true).open("/dev/full");
    let mut command = sandbox.command(VIGIL, "work", &["fsmonitor", "hook", "2", "x"]);
    let status = command.stdout(full.unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_file_that_is_mounted_over_another_is_reported_each_time() {
    run_in_namespaces("fsmonitor::mounting_over_files", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn mounting_over_files() {
    if !is_in_namespaces() {
        return;
    }
    for (git, is_socket) in gits_and_ways() {
        let (sandbox, _serving) = with_monitor(is_socket);
        for (mounted, text) in [("a/b/c/file", "a/b/c"), (".gitignore", "*.o\nbuild/\n")] {
            sandbox.write("else/file", text);
            let paths = [sandbox.path("else/file"), work_path(&sandbox, mounted)];
            let mut mount = std::process::Command::new("mount");
            assert!(mount.arg("--bind").args(&paths).status().unwrap().success());
            let_index_age(&sandbox, &git, mounted);
            for text in ["", "one\n", text, "other\n", "u/\n"] {
                sandbox.write("else/file", text);
                assert_same_without_monitor(&sandbox, &git, &format!("{mounted} {text:?}"));
            }
            let mut unmount = std::process::Command::new("umount");
            unmount.arg(&paths[1]);
            assert!((0..1000).any(|_| unmount.status().unwrap().success()));
            assert_same_without_monitor(&sandbox, &git, "unmounted");
        }
    }
}

/// Editors pass settings with each command. If these were answered otherwise, the token that git keeps would be of no use to
/// the next command, either.
#[test]
fn settings_on_the_command_line_that_do_not_matter_change_no_answer() {
    for (git, _) in available_gits()
        .iter()
        .filter(|(_, has_monitor)| *has_monitor)
    {
        let (sandbox, _serving) = with_monitor(true);
        let_index_age(&sandbox, git, "before");
        let trace = sandbox.path("trace");
        let paths_told = |options: &[&str]| {
            let arguments = [options, &["status", "--porcelain"]].concat();
            let mut command = sandbox.command(git, "work", &arguments);
            let output = command.env("GIT_TRACE_FSMONITOR", &trace).output();
            assert!(output.unwrap().status.success());
            let traced = fs::read_to_string(&trace).unwrap();
            fs::remove_file(&trace).unwrap();
            let told = traced
                .lines()
                .filter(|line| line.contains("fsmonitor_refresh_callback"));
            told.count()
        };
        for options in [&["-c", "core.quotePath=false"][..], &[]] {
            sandbox.write("work/a/b/c/file", "changed");
            assert_ne!(paths_told(options), 0, "{git} {options:?}");
        }
        sandbox.write("work/a/b/c/file", "changed again");
        assert_eq!(paths_told(&["-c", "core.fileMode=false"]), 0, "{git}");
    }
}

#[test]
fn a_git_that_sees_other_mounts_is_told_that_everything_may_have_changed() {
    run_in_namespaces("fsmonitor::seeing_other_mounts", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn seeing_other_mounts() {
    if !is_in_namespaces() {
        return;
    }
    for (git, is_socket) in gits_and_ways() {
        let (sandbox, _serving) = with_monitor(is_socket);
        let_index_age(&sandbox, &git, "before");
        let status = |options: &str| {
            let script = format!("mount -t tmpfs none a/b && {git} {options} status --porcelain");
            let arguments = ["--mount", "sh", "-c", &script];
            let mut command = sandbox.command("unshare", "work", &arguments);
            command
                .env("GIT_OPTIONAL_LOCKS", "0")
                .output()
                .unwrap()
                .stdout
        };
        let alone = status("-c core.fsmonitor=false -c core.untrackedCache=false");
        assert!(alone.starts_with(b" D a/b/c/file\n"), "{}", alone.as_bstr());
        assert_eq!(status("").as_bstr(), alone.as_bstr(), "{git} {is_socket}");
        // The same files by another name, with another file system in one folder of that name.
        let script =
            "mkdir ../other && mount --bind . ../other && mount -t tmpfs none ../other/a/b";
        let mounted = sandbox.command("sh", "work", &["-c", script]).status();
        assert!(mounted.unwrap().success());
        // After a change of mounts, everything is reported once.
        assert_same_without_monitor(&sandbox, &git, "mounted elsewhere");
        let status = |options: &[&str]| {
            let arguments = [options, &["status", "--porcelain"]].concat();
            let mut command = sandbox.command(&git, "other", &arguments);
            command
                .env("GIT_OPTIONAL_LOCKS", "0")
                .output()
                .unwrap()
                .stdout
        };
        let elsewhere = status(&["-c", "core.fsmonitor=false"]);
        assert_eq!(elsewhere.as_bstr(), alone.as_bstr(), "{git}");
        assert_eq!(status(&[]).as_bstr(), alone.as_bstr(), "{git} {is_socket}");
        // The daemon may just be looking ahead there.
        let mut unmount = sandbox.command("umount", "", &["-R", "other"]);
        assert!((0..1000).any(|_| unmount.status().unwrap().success()));
    }
}

#[test]
fn installing_follows_no_link_that_came_with_the_repository() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("own/rc", "precious\n");
    let install = || sandbox.vigil("work", &["fsmonitor", "install", "--hook"]);
    let folder = sandbox.path("work/.git/vigil");
    let untouched = || {
        assert_eq!(fs::read(sandbox.path("own/rc")).unwrap(), b"precious\n");
        let names = fs::read_dir(sandbox.path("own")).unwrap();
        assert_eq!(names.count(), 1);
    };
    symlink(sandbox.path("own"), &folder).unwrap();
    assert_eq!(install().status.code(), Some(1));
    untouched();
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    symlink(sandbox.path("own/rc"), folder.join("fsmonitor.new")).unwrap();
    assert_eq!(install().status.code(), Some(0));
    untouched();
    let uninstalled = sandbox.vigil("work", &["fsmonitor", "uninstall"]);
    assert_eq!(uninstalled.status.code(), Some(0));
}

/// Renames a file of `work`.
fn rename(sandbox: &Sandbox, from: &str, to: &str) {
    fs::rename(work_path(sandbox, from), work_path(sandbox, to)).unwrap();
}

#[test]
fn a_repository_in_the_working_tree_is_reported_only_when_it_comes_or_goes() {
    for (git, is_socket) in gits_and_ways() {
        let (sandbox, _serving) = with_monitor(is_socket);
        sandbox.git_in("work", &["worktree", "add", "-q", "inner"]);
        sandbox.git_in("work", &["init", "-q", "a/other"]);
        sandbox.write("work/a/other/file", "other\n");
        sandbox.write("work/u/.git/HEAD", "none yet\n");
        let_index_age(&sandbox, &git, "first");
        let mut token = settled_token(&sandbox);
        // No event tells of these.
        let changes = [
            ("a/other", "a/other/.git/HEAD", "a/other/.git/was"),
            ("a/other", "a/other/.git/was", "a/other/.git/HEAD"),
            ("inner", ".git/worktrees/inner", ".git/inner"),
            ("inner", ".git/inner", ".git/worktrees/inner"),
        ];
        for (reported, from, to) in changes {
            rename(&sandbox, from, to);
            assert_same_without_monitor(&sandbox, &git, from);
            let (next, paths) = query(&sandbox, &token);
            assert!(
                paths.iter().any(|path| path == reported),
                "{from}: {paths:?}"
            );
            assert!(
                !paths.iter().any(|path| path.starts_with("x/")),
                "{from}: {paths:?}"
            );
            token = next;
        }
        fs::remove_dir_all(work_path(&sandbox, "u/.git")).unwrap();
        sandbox.git_in("work", &["init", "-q", "u"]);
        assert_same_without_monitor(&sandbox, &git, "a new repository");
        settled_token(&sandbox);
    }
}

#[test]
fn a_file_with_another_link_is_reported_only_when_it_changes() {
    for (git, is_socket) in gits_and_ways() {
        let (sandbox, _serving) = with_monitor(is_socket);
        let outside = sandbox.path("outside");
        fs::hard_link(work_path(&sandbox, "x/y/file"), &outside).unwrap();
        let_index_age(&sandbox, &git, "linked");
        let mut token = settled_token(&sandbox);
        let index = sandbox.path("work/.git/index");
        let settled = fs::read(&index).unwrap();
        assert_same_without_monitor(&sandbox, &git, "settled");
        assert!(settled == fs::read(&index).unwrap(), "{git}");
        let recorded = fs::read(&outside).unwrap();
        let set_mode = |mode| fs::set_permissions(&outside, PermissionsExt::from_mode(mode));
        let write = |text: &[u8]| fs::write(&outside, text);
        let changes: [(&str, &dyn Fn() -> io::Result<()>); 5] = [
            ("longer", &|| write(b"another text")),
            ("as recorded", &|| write(&recorded)),
            ("executable", &|| set_mode(0o755)),
            ("not executable", &|| set_mode(0o644)),
            // git may compare sizes and seconds only.
            ("other text", &|| write(&recorded.repeat(2))),
        ];
        for (what, change) in changes {
            change().unwrap();
            assert_same_without_monitor(&sandbox, &git, what);
            let (next, paths) = query(&sandbox, &token);
            assert_eq!(paths, ["x/y/file"], "{what}");
            token = next;
        }
        // Another index may hold what was there before.
        fs::write(sandbox.path("work/.git/other"), &settled).unwrap();
        sandbox.git_in("work", &["add", "."]);
        settled_token(&sandbox);
        let of_other = |options: &[&str]| {
            let mut command = sandbox.command(&git, "work", options);
            command.env("GIT_INDEX_FILE", ".git/other");
            command.output().unwrap().stdout
        };
        let names = of_other(&["diff-files", "--name-only"]);
        assert_eq!(names.as_bstr(), "x/y/file\n");
    }
}
