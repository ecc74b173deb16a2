//! `vigil state`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use vigil_testkit::sandbox::vigil_program;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

fn show_state(sandbox: &Sandbox) -> Value {
    sandbox.json(&["state", "show", "-v", "--format=json"])
}

/// The standing of the listings of each directory, by path.
fn listing_standings(report: &Value) -> Vec<(&str, Vec<&str>)> {
    let directories = report["directories"].as_array().unwrap().iter();
    directories
        .map(|directory| {
            let listings = directory["listings"].as_array().unwrap().iter();
            let standings = listings.map(|listing| listing["standing"].as_str().unwrap());
            (directory["path"].as_str().unwrap(), standings.collect())
        })
        .collect()
}

#[test]
fn before_the_first_status_there_is_no_state() {
    let sandbox = Sandbox::new();
    let folder = sandbox.state_folder();
    let text = sandbox.text(&["state", "show"]);
    assert!(text.starts_with(&format!("no state in {}\n", folder.display())));
    assert_eq!(show_state(&sandbox)["state"], Value::Null);
    assert_eq!(show_state(&sandbox)["directories"], json!([]));
    assert_eq!(sandbox.text(&["state", "verify"]), "there is no state\n");
    assert_eq!(sandbox.text(&["state", "drop"]), "there is no state\n");
    assert!(!folder.exists());
}

#[test]
fn show_tells_what_is_recorded_and_what_of_it_holds() {
    let sandbox = Sandbox::new();
    sandbox.assert_same_status();
    let report = show_state(&sandbox);
    let state = &report["state"];
    assert_eq!(report["unkept"], Value::Null);
    assert_eq!(state["generation"], 1);
    assert_eq!(state["directories"], 3);
    assert_eq!(state["files"], 3);
    assert_eq!(state["is_same_run"], true);
    assert_eq!(state["distrusted_from"], Value::Null);
    assert_eq!(state["index"]["relation"], "same");
    let path = sandbox.state_data();
    assert_eq!(state["data_path"], path.to_str().unwrap());
    assert_eq!(state["data_len"], path.metadata().unwrap().len());
    let docket = sandbox.state_folder().join("state");
    assert_eq!(state["docket_len"], docket.metadata().unwrap().len());
    assert_eq!(state["tables"][0]["table"], "tracked");
    assert_eq!(state["tables"][0]["blocks"], 3);
    let all_hold = [
        ("", vec!["holds"]),
        ("src", vec!["holds"]),
        ("src/deep", vec!["holds"]),
    ];
    assert_eq!(listing_standings(&report), all_hold);
    let top = &report["directories"][0]["listings"][0];
    assert_eq!(top["untracked_files"], "normal");
    assert_eq!(top["untracked"], 1);

    let text = sandbox.text(&["state", "show", "--directories"]);
    for part in [
        "generation   1\n",
        "directories  3\n",
        "files        3\n",
        "clock        it has not been set back since\n",
        ": it is unchanged\n",
        "./: 1 tracked file; listed for untracked=normal, ignored=no: 1 untracked, 0 ignored, still valid",
        "\nsrc/: 1 tracked file; ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let plain = sandbox.text(&["state", "show"]);
    assert!(text.starts_with(&plain) && !plain.contains("src/:"));
}

#[test]
fn show_tells_why_a_listing_holds_no_more() {
    let sandbox = Sandbox::new();
    sandbox.write("src/sub/.gitignore", "x\n");
    sandbox.write("src/sub/y", "");
    sandbox.settle();
    sandbox.assert_same_status();
    assert_eq!(
        listing_standings(&show_state(&sandbox))[1],
        ("src", vec!["holds"])
    );

    sandbox.write("src/sub/.gitignore", "x\ny\n");
    let report = show_state(&sandbox);
    assert_eq!(listing_standings(&report)[1], ("src", vec!["below"]));
    let listing = &report["directories"][1]["listings"][0];
    assert_eq!(listing["moved_path"], "sub/.gitignore");
    sandbox.write("src/deep/other", "");
    assert_eq!(
        listing_standings(&show_state(&sandbox))[2],
        ("src/deep", vec!["directory"])
    );
    sandbox.write(".gitignore", "*.o\n*.a\n");
    let report = show_state(&sandbox);
    assert_eq!(listing_standings(&report)[0], ("", vec!["ignore_file"]));
    // Directories below need a new look for that, too, but this one first of all because it changed itself.
    assert_eq!(
        listing_standings(&report)[2],
        ("src/deep", vec!["directory"])
    );
    std::fs::remove_file(sandbox.top().join("src/deep/other")).unwrap();
    sandbox.settle();
    sandbox.assert_same_status();
    sandbox.write(".git/info/exclude", "z\n");
    let report = show_state(&sandbox);
    assert_eq!(listing_standings(&report)[0], ("", vec!["rules"]));
    std::fs::remove_dir_all(sandbox.top().join("src/deep")).unwrap();
    let report = show_state(&sandbox);
    assert_eq!(
        listing_standings(&report)[2],
        ("src/deep", vec!["directory"])
    );
    assert_eq!(
        report["directories"][2]["listings"][0]["moved_at"],
        Value::Null
    );
    sandbox.git(["rm", "-q", "--cached", "src/a.c"]);
    assert_eq!(
        show_state(&sandbox)["state"]["index"]["relation"],
        "changed"
    );
}

#[test]
fn a_state_that_is_off_is_not_used_but_can_be_dropped() {
    let sandbox = Sandbox::new();
    sandbox.assert_same_status();
    sandbox.git(["config", "vigil.stateFile", "false"]);
    let off = "vigil.stateFile is false: no state is kept or used\n";
    assert_eq!(sandbox.text(&["state", "show"]), off);
    assert_eq!(sandbox.text(&["state", "verify"]), off);
    let report = sandbox.json(&["state", "show", "--format=json"]);
    assert_eq!(report["unkept"], "off");
    assert_eq!(report["directories"], Value::Null);
    let folder = sandbox.state_folder();
    let dropped = sandbox.text(&["state", "drop"]);
    assert_eq!(dropped, format!("removed {}\n", folder.display()));
    assert!(!folder.exists());
}

#[test]
fn what_older_versions_left_is_ignored_and_dropped() {
    let sandbox = Sandbox::new();
    sandbox.git(["tag", "t"]);
    let above = sandbox.top().join(".git/vigil");
    let names = ["refs", "commits"];
    let folders = names.map(|name| above.join(name));
    let leave = || {
        for folder in &folders {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("state"), "VIGILDKT of an older version").unwrap();
            std::fs::write(folder.join("state.0123456789abcdef"), "VIGILDAT").unwrap();
        }
    };
    let removed = |folder: &std::path::Path| format!("removed {}\n", folder.display());
    let both: String = folders.iter().map(|folder| removed(folder)).collect();
    leave();
    assert_eq!(sandbox.text(&["describe", "--tags"]), "t\n");
    sandbox.assert_same_status();
    assert_eq!(sandbox.vigil(&["state", "verify"]).code, 0);
    assert!(folders.iter().all(|folder| folder.join("state").exists()));
    let dropped = sandbox.text(&["state", "drop"]);
    assert_eq!(dropped, both.clone() + &removed(&above));
    assert!(!above.exists());

    // A bare repository has no state of its own.
    leave();
    std::fs::write(folders[0].join("other"), "not Vigil's").unwrap();
    sandbox.git(["config", "core.bare", "true"]);
    let git_dir = sandbox.top().join(".git");
    let described = sandbox.vigil_in(&git_dir, &["describe", "--tags"]);
    assert_eq!(described.stdout, "t\n");
    let stays = format!(
        "removed the state in {}; the folder stays, because it holds something else\n",
        folders[0].display()
    );
    assert_eq!(
        sandbox.vigil_in(&git_dir, &["state", "drop"]).stdout,
        stays + &removed(&folders[1])
    );
    assert!(folders[0].join("other").exists());
    assert!(!folders[0].join("state").exists());
    std::fs::remove_dir_all(&above).unwrap();
    let refused = "fatal: this operation must be run in a work tree\n";
    let dropped = sandbox.vigil_in(&git_dir, &["state", "drop"]);
    assert_eq!((dropped.code, dropped.stderr.as_str()), (128, refused));
}

#[test]
fn inside_the_repository_a_state_is_not_denied() {
    let sandbox = Sandbox::new();
    sandbox.assert_same_status();
    for command in ["show", "verify", "drop"] {
        let refused = sandbox.vigil_in(&sandbox.git_dir(), &["state", command]);
        assert_eq!((refused.code, refused.stdout.as_str()), (128, ""));
    }
    assert!(sandbox.git_dir().join("vigil/state").exists());
}

#[test]
fn describe_keeps_nothing_on_disk() {
    let sandbox = Sandbox::new();
    sandbox.git(["tag", "t"]);
    let tags = sandbox.top().join(".git/refs/tags");
    for number in 0..300 {
        std::fs::copy(tags.join("t"), tags.join(format!("t{number}"))).unwrap();
    }
    assert_eq!(sandbox.text(&["describe", "--tags"]), "t\n");
    assert!(!sandbox.top().join(".git/vigil").exists());
}

#[test]
fn a_dropped_state_is_gone_and_comes_back() {
    let sandbox = Sandbox::new();
    sandbox.assert_same_status();
    let folder = sandbox.state_folder();
    let dropped = sandbox.vigil_in(&sandbox.top().join("src"), &["state", "drop"]);
    assert_eq!(dropped.stdout, format!("removed {}\n", folder.display()));
    assert!(!folder.exists());
    assert_eq!(sandbox.text(&["state", "drop"]), "there is no state\n");
    sandbox.assert_same_status();
    assert!(folder.exists());
}

#[test]
fn a_folder_that_stays_is_not_said_to_be_removed() {
    let sandbox = Sandbox::new();
    sandbox.assert_same_status();
    let folder = sandbox.state_folder();
    std::fs::write(folder.join("notes"), "").unwrap();
    let dropped = sandbox.text(&["state", "drop"]);
    let stays = format!(
        "removed the state in {}; the folder stays, because it holds something else\n",
        folder.display()
    );
    assert_eq!(dropped, stays);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!(sandbox.text(&["state", "drop"]), "there is no state\n");
}

#[test]
fn a_file_in_the_place_of_the_state_is_reported_once() {
    let sandbox = Sandbox::new();
    let folder = sandbox.state_folder();
    std::fs::write(&folder, "").unwrap();
    let output = sandbox.vigil(&["state", "drop"]);
    let error = format!("error: {} is not a directory\n", folder.display());
    assert_eq!(
        (output.code, output.stdout, output.stderr),
        (1, String::new(), error)
    );
    assert!(folder.is_file());
}

#[test]
fn whether_a_state_is_kept_must_be_a_boolean() {
    let sandbox = Sandbox::new();
    let bad = "fatal: bad boolean config value 'banana' for 'vigil.statefile'\n";
    let commands = [
        &["status"][..],
        &["describe", "--always"],
        &["why", "new"],
        &["state", "show"],
        &["state", "verify"],
    ];
    for command in commands {
        let setting = ["-c", "vigil.stateFile=banana"];
        let output = sandbox.vigil(&[&setting, command].concat());
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (128, bad),
            "{command:?}"
        );
        assert_eq!(output.stdout, "");
        // As in git, each of the values counts.
        let later = ["-c", "vigil.stateFile=banana", "-c", "vigil.stateFile=yes"];
        let output = sandbox.vigil(&[&later, command].concat());
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (128, bad),
            "{command:?}"
        );
    }
    // The command removes what is left, whatever the setting is.
    sandbox.assert_same_status();
    let output = sandbox.vigil(&["-c", "vigil.stateFile=banana", "state", "drop"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    assert!(!sandbox.state_folder().exists());
}

#[test]
fn a_state_gives_right_answers_whatever_changed_since() {
    let sandbox = Sandbox::new();
    sandbox.assert_same_status();
    let right = sandbox.text(&["state", "verify"]);
    assert!(right.starts_with("the state is right ("), "{right}");
    assert!(right.contains(" 3 entries of the index and 3 answers were compared"));
    sandbox.write("src/a.c", "int c;\n");
    sandbox.write("src/untracked", "");
    assert_eq!(sandbox.text(&["state", "verify"]), right);
    sandbox.git(["add", "src"]);
    let more = sandbox.text(&["state", "verify"]);
    assert!(more.contains(" 4 entries of the index "), "{more}");
    // Nothing was written.
    assert_eq!(
        show_state(&sandbox)["state"]["index"]["relation"],
        "changed"
    );
}

/// git takes a missing index for a sparse one; there is a state of it.
#[test]
fn an_index_that_is_to_be_split_and_sparse_is_refused_with_a_state_too() {
    let sandbox = Sandbox::new();
    sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "src"]);
    std::fs::remove_file(sandbox.state_folder().with_file_name("index")).unwrap();
    let split = ["-c", "core.splitIndex=true", "status"];
    let output = sandbox.vigil(&split);
    let wanted = sandbox.try_git(split);
    assert_eq!((output.code, &output.stderr), (wanted.code, &wanted.stderr));
    assert_eq!(output.code, 128);
    sandbox.vigil(&["status"]);
    assert!(sandbox.state_folder().exists());
    let again = sandbox.vigil(&split);
    assert_eq!((again.code, again.stderr), (output.code, output.stderr));
}

#[test]
fn verify_finds_any_byte_that_is_not_as_it_was_written_and_status_answers_rightly() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.c", "int changed;\n");
    sandbox.assert_same_status();
    let path = sandbox.state_data();
    let whole = std::fs::read(&path).unwrap();
    let state = &show_state(&sandbox)["state"];
    assert_eq!(state["dead_len"], 0);
    let mut found = 0;
    // Bytes between blocks are not significant.
    let offsets = (0..whole.len()).filter(|&at| whole[at] != 0).step_by(23);
    for at in offsets.clone() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        std::fs::write(&path, &flipped).unwrap();
        let output = sandbox.vigil(&["state", "verify"]);
        assert_eq!((output.code, output.stderr.as_str()), (1, ""), "byte {at}");
        assert!(output.stdout.contains(" is damaged: "), "{}", output.stdout);
        assert_eq!(sandbox.vigil(&["state", "show", "-v"]).code, 0);
        found += 1;
        if found % 4 == 0 {
            let docket = std::fs::read(sandbox.state_folder().join("state")).unwrap();
            sandbox.assert_same_status();
            std::fs::remove_dir_all(sandbox.state_folder()).unwrap();
            std::fs::create_dir(sandbox.state_folder()).unwrap();
            std::fs::write(sandbox.state_folder().join("state"), docket).unwrap();
        }
    }
    assert!(found >= 20, "{found}");
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(sandbox.vigil(&["state", "verify"]).code, 0);

    let docket = sandbox.state_folder().join("state");
    let mut flipped = std::fs::read(&docket).unwrap();
    flipped[100] ^= 1;
    std::fs::write(&docket, &flipped).unwrap();
    let output = sandbox.vigil(&["state", "verify"]);
    assert_eq!(output.code, 1);
    assert!(
        output
            .stdout
            .contains("state is damaged: its checksum is wrong\n")
    );
    let shown = sandbox.text(&["state", "show"]);
    assert!(shown.contains("state is damaged: its checksum is wrong\n"));
    sandbox.assert_same_status();
    assert_eq!(sandbox.vigil(&["state", "verify"]).code, 0);
}

#[test]
fn a_state_of_another_user_is_not_called_wrong() {
    let sandbox = Sandbox::new();
    sandbox.assert_same_status();
    let folder = sandbox.state_folder();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(folder.join("state"), Some(65534), None).unwrap();
        std::os::unix::fs::chown(&folder, Some(65534), None).unwrap();
    } else {
        // To everybody else, the folder of another user is closed.
        std::fs::set_permissions(&folder, Permissions::from_mode(0o000)).unwrap();
    }
    assert_eq!(sandbox.text(&["state", "verify"]), "there is no state\n");
    // From now on there is one in the cache.
    sandbox.assert_same_status();
    let shown = sandbox.text(&["state", "show"]);
    assert!(shown.contains("/.cache/vigil/"), "{shown}");
    let output = sandbox.vigil(&["state", "verify"]);
    assert!(
        output.stdout.starts_with("the state is right ("),
        "{output:?}"
    );
    assert_eq!(output.code, 0);
    let _ = std::fs::set_permissions(&folder, Permissions::from_mode(0o700));
}

/// Somebody may be removing it together with the repository around it.
#[test]
fn no_folder_is_made_in_a_submodule_that_was_changed_a_moment_ago() {
    let sandbox = Sandbox::new();
    let inner = sandbox.path("inner");
    std::fs::create_dir(&inner).unwrap();
    sandbox.git_in(&inner, ["init", "-q"]);
    let identity = ["-c", "user.name=n", "-c", "user.email=e"];
    let commit = ["commit", "-q", "--allow-empty", "-m", "inside"];
    sandbox.git_in(&inner, [&identity[..], &commit].concat());
    sandbox.git(["add", "inner"]);
    let git_dir = inner.join(".git");
    let status = |age_s| {
        let changed_at = std::time::SystemTime::now() - std::time::Duration::from_secs(age_s);
        let folder = std::fs::File::open(&git_dir).unwrap();
        folder.set_modified(changed_at).unwrap();
        sandbox.text(&["status", "-s"]);
        git_dir.join("vigil").exists()
    };
    assert!(!status(0));
    assert!(status(1000));
    // From then on it is used.
    assert!(status(0));
}

#[test]
fn no_folder_is_in_the_way_of_those_who_share_a_repository() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "--shared=group"]);
    sandbox.git(["worktree", "add", "-q", "../linked"]);
    // As with a umask of 002.
    let linked = sandbox.git_dir().join("worktrees/linked");
    std::fs::set_permissions(&linked, Permissions::from_mode(0o2775)).unwrap();
    for place in ["", "../linked"] {
        let status = sandbox.vigil_in(&sandbox.top().join(place), &["status"]);
        assert_eq!(status.code, 0, "{status:?}");
    }
    sandbox.assert_same_status();
    assert!(!sandbox.state_folder().exists());
    assert!(!linked.join("vigil").exists());
    let shown = sandbox.text(&["state", "show"]);
    assert!(shown.contains("/.cache/vigil/"), "{shown}");
    assert_eq!(sandbox.vigil(&["state", "verify"]).code, 0);
}

#[test]
fn wrong_command_lines_are_refused_with_the_usage() {
    let sandbox = Sandbox::new();
    for (arguments, complaint) in [
        (
            &["state"][..],
            "error: need a subcommand\nusage: vigil state show",
        ),
        (
            &["state", "frob"],
            "error: unknown subcommand: `frob'\nusage: ",
        ),
        (
            &["state", "show", "x"],
            "error: too many arguments\nusage: ",
        ),
        (
            &["state", "drop", "x"],
            "error: too many arguments\nusage: ",
        ),
        (
            &["state", "verify", "-v"],
            "error: unknown switch `v'\nusage: ",
        ),
        (
            &["state", "--frob"],
            "error: unknown option `frob'\nusage: ",
        ),
        (
            &["state", "show", "--format"],
            "error: option `format' requires a value\n",
        ),
    ] {
        let output = sandbox.vigil(arguments);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (129, ""),
            "{arguments:?}"
        );
        assert!(output.stderr.starts_with(complaint), "{}", output.stderr);
    }
    for arguments in [&["state", "-h"][..], &["state", "drop", "-h"]] {
        let output = sandbox.vigil(arguments);
        assert_eq!((output.code, output.stderr.as_str()), (0, ""));
        assert!(output.stdout.starts_with("usage: vigil state show"));
    }
    let elsewhere = tempfile::tempdir().unwrap();
    for command in ["show", "verify", "drop"] {
        let output = sandbox.vigil_in(elsewhere.path(), &["state", command]);
        assert_eq!((output.code, output.stdout.as_str()), (128, ""));
        assert!(output.stderr.starts_with("fatal: not a git repository"));
    }
    let help = sandbox.text(&["help"]);
    assert!(help.contains("\n   state  "), "{help}");
}

#[test]
fn an_unused_state_is_reported_by_state_show() {
    let sandbox = Sandbox::new();
    sandbox.assert_same_status();
    let docket = sandbox.state_folder().join("state");
    let mut bytes = std::fs::read(&docket).unwrap();
    bytes[8] = 99;
    let ask = |debug: Option<&str>| {
        std::fs::write(&docket, &bytes).unwrap();
        let mut command = sandbox.command(vigil_program(), "", ["status", "--porcelain"]);
        command.envs(debug.map(|value| ("VIGIL_DEBUG", value)));
        let output = command.output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, b"?? new\n");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(ask(None), "");
    let printed = ask(Some("1"));
    assert!(
        printed.starts_with("debug: the state is not used: "),
        "{printed}"
    );
    assert!(printed.contains("format version 99"), "{printed}");
    assert_eq!(printed.lines().count(), 1);
    // The state has been replaced.
    assert_eq!(
        sandbox.text(&["state", "verify"]).lines().count(),
        1,
        "{}",
        sandbox.text(&["state", "verify"])
    );
}
