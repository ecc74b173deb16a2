//! Options, limits and exit codes.

use std::fs;

use super::sandbox::Sandbox;

fn outcome(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Sandbox::new()
        .gitstatusd_command(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn exit_codes_tell_bad_arguments_from_a_wrong_version() {
    for (arguments, code) in [
        (&["-V"][..], 0),
        (&["--help"], 0),
        (&[], 0),
        (&["-G", "v1.5.5"], 0),
        (&["-G", "v1.5.*", "-e"], 0),
        (
            &[
                "-G",
                "v1.5.5",
                "-s",
                "-1",
                "--lock-fd",
                "-1",
                "--parent-pid=-1",
            ],
            0,
        ),
        (&["-G", "v1.4.0"], 11),
        (&["-G", "v1.4.0", "--nonsense"], 11),
        (&["--nonsense", "-G", "v1.4.0"], 10),
        (&["-s"], 10),
        (&["-s", "many"], 10),
        (&["-t", "0"], 10),
        (&["-v", "LOUD"], 10),
        (&["argument"], 10),
    ] {
        let (actual, stdout, stderr) = outcome(arguments);
        assert_eq!(actual, Some(code), "{arguments:?}: {stderr}");
        assert_eq!(stderr.is_empty(), code == 0, "{arguments:?}: {stderr}");
        assert!(code == 0 || stdout.is_empty());
    }
    assert_eq!(outcome(&["--version"]).1, "v1.5.5\n");
}

/// A repository with three staged files (one new, one deleted), three changed (one deleted), three untracked, two in conflict.
fn dirty_repository() -> Sandbox {
    let sandbox = Sandbox::with_repository();
    for name in ["a", "b", "c", "d", "e", "x", "y"] {
        sandbox.write(name, "recorded\n");
    }
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "more"]);
    for side in ["theirs", "ours"] {
        sandbox.git(["checkout", "-q", "-b", side, "main"]);
        sandbox.write("x", side);
        sandbox.write("y", side);
        sandbox.git(["commit", "-q", "-a", "-m", side]);
    }
    assert_ne!(sandbox.try_git(["merge", "theirs"]).code, 0);
    sandbox.write("new", "");
    sandbox.write("a", "staged\n");
    sandbox.git(["add", "new", "a"]);
    sandbox.git(["rm", "-q", "b"]);
    sandbox.write("c", "changed\n");
    sandbox.write("d", "changed\n");
    fs::remove_file(sandbox.top().join("e")).unwrap();
    sandbox.write("u1", "");
    sandbox.write("u2/1", "");
    sandbox.write("u2/2", "");
    sandbox.write("u3/1", "");
    sandbox
}

#[test]
fn no_count_exceeds_its_cap_and_each_is_right_below() {
    let sandbox = dirty_repository();
    let real = [3, 3, 2, 3];
    for caps in [
        [usize::MAX; 4],
        [0; 4],
        [1; 4],
        [2; 4],
        [3; 4],
        [1, 2, 1, 0],
        [0, 1, 0, 2],
        [2, 0, 0, 1],
    ] {
        let arguments: Vec<String> = ["-s", "-u", "-c", "-d"]
            .iter()
            .zip(caps)
            .map(|(option, cap)| match cap {
                usize::MAX => format!("{option}-1"),
                cap => format!("{option}{cap}"),
            })
            .collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut daemon = sandbox.gitstatusd(&arguments);
        // The second answer comes from memory, and may look only at what was found first.
        for _ in 0..3 {
            let answer = daemon.ask(sandbox.top());
            let expected: Vec<usize> = real.iter().zip(caps).map(|(n, cap)| cap.min(*n)).collect();
            assert_eq!(answer.counts(), expected[..], "{arguments:?}");
            for (part, whole) in [(19, 12), (20, 11), (21, 11)] {
                let real = 1;
                assert!(answer.number(part) <= answer.number(whole).min(real));
            }
            if caps == [usize::MAX; 4] {
                assert_eq!([19, 20, 21].map(|part| answer.number(part)), [1, 1, 1]);
            }
        }
    }
    // Without options, each limit is one.
    assert_eq!(sandbox.gitstatusd(&[]).ask(sandbox.top()).counts(), [1; 4]);
}

#[test]
fn capped_answers_follow_what_changes() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("dir/a", "recorded\n");
    sandbox.write("dir/sub/b", "recorded\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "more"]);
    let mut daemon = sandbox.gitstatusd(&[]);
    let mut counts = || {
        let [_, unstaged, _, untracked] = daemon.ask(sandbox.top()).counts();
        (unstaged, untracked)
    };
    assert_eq!(counts(), (0, 0));
    sandbox.write("dir/sub/b", "changed and longer\n");
    assert_eq!(counts(), (1, 0));
    sandbox.write("dir/new", "");
    assert_eq!(counts(), (1, 1));
    sandbox.write("file", "changed and longer\n");
    sandbox.write("new", "");
    assert_eq!(counts(), (1, 1));
    sandbox.git(["checkout", "-q", "dir"]);
    fs::remove_file(sandbox.top().join("dir/new")).unwrap();
    assert_eq!(counts(), (1, 1));
    sandbox.write("file", "recorded\n");
    assert_eq!(counts(), (0, 1));
    sandbox.write(".gitignore", "new\n.gitignore\n");
    assert_eq!(counts(), (0, 0));
    fs::remove_dir_all(sandbox.top().join("dir")).unwrap();
    assert_eq!(counts(), (1, 0));
}

#[test]
fn a_large_index_is_not_compared_with_the_working_tree() {
    let sandbox = dirty_repository();
    let size: usize = sandbox.without_limits().ask(sandbox.top()).number(10);
    for (option, counts) in [
        (format!("-m{size}"), [1, 1, 1, 1]),
        (format!("-m{}", size - 1), [1, 0, 1, 0]),
        ("-m0".into(), [1, 0, 1, 0]),
        ("-m-1".into(), [1, 1, 1, 1]),
    ] {
        let answer = sandbox.gitstatusd(&[&option]).ask(sandbox.top());
        assert_eq!(answer.counts(), counts, "{option}");
        assert_eq!(answer.number(10), size);
    }
}

#[test]
fn settings_switch_counts_off_unless_options_ignore_them() {
    let sandbox = dirty_repository();
    for (setting, option, on, off) in [
        (
            "status.showUntrackedFiles=no",
            "-U",
            [1, 1, 1, 1],
            [1, 1, 1, 0],
        ),
        (
            "status.showUntrackedFiles=false",
            "-U",
            [1, 1, 1, 1],
            [1, 1, 1, 0],
        ),
        (
            "bash.showUntrackedFiles=off",
            "-W",
            [1, 1, 1, 1],
            [1, 1, 1, 0],
        ),
        ("bash.showDirtyState=0", "-D", [1, 1, 1, 1], [0, 0, 0, 1]),
        ("bash.showDirtyState=true", "-D", [1, 1, 1, 1], [1, 1, 1, 1]),
        (
            "status.showUntrackedFiles=all",
            "-U",
            [1, 1, 1, 1],
            [1, 1, 1, 1],
        ),
    ] {
        let (key, value) = setting.split_once('=').unwrap();
        let mut daemon = sandbox.gitstatusd(&[]);
        assert_eq!(daemon.ask(sandbox.top()).counts(), [1; 4]);
        sandbox.git(["config", key, value]);
        assert_eq!(daemon.ask(sandbox.top()).counts(), off, "{setting}");
        assert_eq!(
            sandbox.gitstatusd(&[option]).ask(sandbox.top()).counts(),
            on,
            "{setting}"
        );
        sandbox.git(["config", "--unset", key]);
        assert_eq!(daemon.ask(sandbox.top()).counts(), [1; 4], "{setting}");
    }
    let each = sandbox.gitstatusd(&["-d", "-1", "-e"]).ask(sandbox.top());
    assert_eq!(each.number(14), 4);
}

#[test]
fn a_summary_is_cut_to_so_many_bytes() {
    let sandbox = Sandbox::with_repository();
    let summary = "\u{e9}".repeat(200);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", &summary]);
    for (arguments, len) in [
        (&[][..], 256),
        (&["-z", "7"], 7),
        (&["-z0"], 0),
        (&["--max-commit-summary-length=-1"], 400),
    ] {
        let answer = sandbox.gitstatusd(arguments).ask(sandbox.top());
        assert_eq!(answer.field(29), &summary.as_bytes()[..len]);
    }
}
