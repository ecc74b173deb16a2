//! git itself as the client of the monitor: through its hook and, if a git supports it (`GIT_NEWEST`, or an installed one),
//! through its socket. Its answers are compared with those of a git without a monitor.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use rustix::process::Signal;
use vigil_testkit::campaign::{Campaign, run};
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::daemon::Daemon;
use vigil_testkit::kills::{self, KillSettings};
use vigil_testkit::monitor::{Monitor, Transport};
use vigil_testkit::player::Settings;
use vigil_testkit::random::ScenarioPlan;

use crate::namespaces::{is_in_namespaces, run_in_namespaces};
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
pub(crate) fn gits_and_ways() -> Vec<(String, bool)> {
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

pub(crate) fn install_monitor(sandbox: &Sandbox, is_socket: bool) {
    let way = if is_socket { "--socket" } else { "--hook" };
    let output = sandbox.vigil("work", &["fsmonitor", "install", way]);
    assert!(output.status.success(), "{output:?}");
}

/// A repository with folders of tracked and untracked files at some depth.
pub(crate) fn with_folders() -> Sandbox {
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
pub(crate) fn query(sandbox: &Sandbox, token: &str) -> (String, Vec<String>) {
    query_in(sandbox, "work", token)
}

/// The same in another working tree.
fn query_in(sandbox: &Sandbox, top: &str, token: &str) -> (String, Vec<String>) {
    let end = Instant::now() + Duration::from_secs(60);
    let mut told_everything = 0;
    loop {
        let output = sandbox.vigil(top, &["fsmonitor", "query", token]);
        let text = String::from_utf8(output.stdout).unwrap();
        if output.status.success() {
            let mut lines = text.lines().map(str::to_owned);
            let next = lines.next().unwrap();
            let paths: Vec<String> = lines.collect();
            told_everything += usize::from(paths == EVERYTHING);
            // On a busy machine, git is told this rather than held up, and the changes are still known for the same token.
            if paths != EVERYTHING || token.is_empty() || told_everything == 20 {
                return (next, paths);
            }
        } else {
            // Not even that could be told in time.
            assert_eq!(text, "vigil:none.0.0:0\n/\n");
        }
        assert!(Instant::now() < end, "{top} {token}");
    }
}

/// A token since which nothing has changed.
pub(crate) fn settled_token(sandbox: &Sandbox) -> String {
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

pub(crate) const EVERYTHING: [&str; 1] = ["/"];

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
            plan: ScenarioPlan {
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
