//! References that are broken, odd or elsewhere.

use std::path::Path;

use vigil_testkit::sandbox::{git_is_at_least, skip_test};

use super::sandbox::{DESCRIBE_WITH_MARKS, STATUS_COMMANDS, Sandbox};

#[test]
fn references_of_other_worktrees_are_found() {
    for format in ["files", "reftable"] {
        let sandbox = Sandbox::with_ref_format(format);
        sandbox.git(["update-ref", "refs/worktree/mine", "HEAD~2"]);
        sandbox.git(["update-ref", "ORIG_HEAD", "HEAD~1"]);
        sandbox.git(["worktree", "add", "-q", "--detach", "linked", "HEAD~1"]);
        sandbox.git(["-C", "linked", "update-ref", "refs/worktree/own", "HEAD~1"]);
        sandbox.git(["-C", "linked", "checkout", "-q", "HEAD~1"]);
        let mut names = String::new();
        for worktree in ["", "main-worktree/", "worktrees/linked/", "worktrees/none/"] {
            for name in [
                "HEAD",
                "HEAD~1",
                "HEAD@{0}",
                "HEAD@{1}",
                "HEAD:a",
                "ORIG_HEAD",
                "refs/worktree/mine",
                "refs/worktree/own",
                "refs/heads/main",
                "main",
                "head",
            ] {
                names.push_str(&format!("{worktree}{name}\n"));
            }
        }
        for folder in [".", "linked"] {
            sandbox.assert_same(&["-C", folder, "cat-file", "--batch-check"], &names);
            for name in [
                "main-worktree/HEAD",
                "worktrees/linked/HEAD",
                "worktrees/HEAD",
            ] {
                sandbox.assert_same(&["-C", folder, "describe", "--always", name], "");
                sandbox.assert_same(&["-C", folder, "describe", "--contains", name], "");
            }
            sandbox.assert_same(
                &["-C", folder, "cat-file", "--batch-check"],
                "main-worktree/HEAD@{9}\n",
            );
        }
    }
}

#[test]
fn numbers_of_log_entries_wrap_around_as_in_git() {
    let sandbox = Sandbox::new();
    for digits in [
        "99999999999999999999",
        "4294967296",
        "4294967297",
        "4294967299",
        "2147483647",
        "2147483648",
        "18446744073709551615",
        "18446744073709551617",
        "5000000000",
        "3000000000",
        "100000001",
        "00000000000000000001",
    ] {
        sandbox.assert_same_name(&format!("HEAD@{{{digits}}}"));
        sandbox.assert_same(&["cat-file", "-t", &format!("main@{{{digits}}}")], "");
    }
}

#[test]
fn repository_files_that_are_dangling_links_or_hold_nuls_are_read_as_by_git() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "changed");
    sandbox.git(["add", "a"]);
    let link = |path: &str| {
        let path = sandbox.path(".git").join(path);
        std::os::unix::fs::symlink("nowhere", path).unwrap();
    };
    let remove = |path: &str| std::fs::remove_file(sandbox.path(".git").join(path)).unwrap();
    link("MERGE_HEAD");
    sandbox.assert_same(&["status"], "");
    remove("MERGE_HEAD");
    link("commondir");
    for arguments in [&["status"][..], &["describe"], &["cat-file", "-t", "HEAD"]] {
        sandbox.assert_same(arguments, "");
    }
    remove("commondir");
    std::fs::create_dir(sandbox.path(".git/rebase-merge")).unwrap();
    for name in [
        "\0x\n",
        "refs/heads/m\0x",
        "refs/x\0y",
        "detached HEAD\0",
        "a\0\n",
    ] {
        sandbox.write_in_git_dir("rebase-merge/head-name", name);
        sandbox.assert_same(&["status"], "");
        sandbox.write_in_git_dir("rebase-merge/onto", name);
        sandbox.assert_same(&["status"], "");
        remove("rebase-merge/onto");
    }
}

#[test]
fn references_may_be_kept_outside_of_the_repository() {
    if !git_is_at_least("git", 55) {
        skip_test("references elsewhere", "git is too old");
        return;
    }
    for format in ["files", "reftable"] {
        let sandbox = Sandbox::empty_with_references_at(&format!("{format}://../../elsewhere"));
        for number in ["1", "2"] {
            sandbox.write("file", number);
            sandbox.git(["add", "file"]);
            sandbox.git(["commit", "-q", "-m", number]);
            sandbox.git(["tag", "-a", "-m", "x", number]);
        }
        sandbox.write("file", "3");
        sandbox.git(["stash", "-q"]);
        sandbox.git(["worktree", "add", "-q", "linked"]);
        sandbox.git(["update-ref", "CHERRY_PICK_HEAD", "HEAD"]);
        for folder in ["", "linked"] {
            for arguments in [
                &["status", "--show-stash"][..],
                &["status", "-sb"],
                &["describe"],
                &["cat-file", "-p", "HEAD@{0}"],
                &["cat-file", "-t", "stash"],
                &["cat-file", "-t", "main-worktree/HEAD"],
            ] {
                let place = ["-C", if folder.is_empty() { "." } else { folder }];
                sandbox.assert_same(&[&place[..], arguments].concat(), "");
            }
        }
        sandbox.git(["pack-refs", "--all"]);
        sandbox.assert_same(&["describe", "--all"], "");
    }
}

#[test]
fn references_are_the_repositorys_own_whatever_common_directory_is_named() {
    let mut sandbox = Sandbox::new();
    sandbox.git(["worktree", "add", "-q", "linked"]);
    sandbox.git(["clone", "-q", ".", "other"]);
    sandbox.git(["-C", "other", "checkout", "-q", "-b", "another"]);
    sandbox.git([
        "-C",
        "other",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "another",
    ]);
    sandbox.git(["-C", "other", "tag", "-a", "-m", "x", "tagged"]);
    let common_dir = sandbox.path("other/.git");
    sandbox
        .0
        .set_variable("GIT_COMMON_DIR", common_dir.to_str().unwrap());
    for folder in [".", "linked"] {
        for arguments in [
            &["status", "-sb"][..],
            &["status", "--show-stash"],
            &["describe", "--all"],
            &["cat-file", "-t", "HEAD@{0}"],
            &["cat-file", "-t", "another"],
        ] {
            sandbox.assert_same(&[&["-C", folder], arguments].concat(), "");
        }
    }
}

#[test]
fn reftables_without_a_head_have_no_branch() {
    let sandbox = Sandbox::with_ref_format("reftable");
    sandbox.write_in_git_dir("reftable/tables.list", "");
    for arguments in [
        &["status"][..],
        &["status", "-s", "-b"],
        &["status", "--porcelain=v2", "--branch"],
        &["-c", "color.status=always", "status"],
        &["-c", "color.status=always", "status", "-sb"],
        &["describe", "--always"],
        &["cat-file", "-t", "HEAD"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

#[test]
fn the_end_of_packed_references_is_checked_first() {
    let sandbox = Sandbox::new();
    sandbox.git(["pack-refs", "--all"]);
    let path = sandbox.path(".git/packed-refs");
    let whole = std::fs::read_to_string(&path).unwrap();
    let cut = whole.get(..whole.len() - 1).unwrap();
    let with = |end: &str| format!("{whole}{end}");
    for text in [
        with("garbage\n"),
        with("\n"),
        with("#\n"),
        with("garbage"),
        with(&format!("{:040} refs/zz\n", 1)),
        with(&format!("{:040}\n", 1)),
        cut.to_owned(),
        whole.get(..whole.len() - 30).unwrap().to_owned(),
    ] {
        std::fs::write(&path, text).unwrap();
        for arguments in [
            &["status", "-s"][..],
            &["status"],
            &["describe"],
            &["cat-file", "-t", "HEAD"],
            &["cat-file", "-t", "v2"],
        ] {
            sandbox.assert_same(arguments, "");
        }
    }
}

#[test]
fn a_head_that_only_begins_with_an_id_leads_nowhere() {
    for (format, len) in [("sha1", 40), ("sha256", 64)] {
        let sandbox = Sandbox::new();
        std::fs::remove_dir_all(sandbox.git_dir()).unwrap();
        sandbox.git(["init", "-q", "--object-format", format]);
        sandbox.write("file", "");
        sandbox.git(["add", "file"]);
        sandbox.git(["commit", "-q", "-m", "file"]);
        let id = sandbox.git(["rev-parse", "HEAD"]);
        assert_eq!(id.len(), len);
        for head in [
            format!("{id}x\n"),
            format!("{id}{id}"),
            format!("{id}/x\n"),
            format!("{id} x\n"),
            format!("{}\n", &id[..40]),
            format!("{}\n", &id[..39]),
        ] {
            sandbox.write_in_git_dir("HEAD", &head);
            for arguments in [
                &["status"][..],
                &["status", "-sb"],
                &["status", "--porcelain=v2", "--branch"],
                &["describe", "--always"],
                &["cat-file", "-t", "HEAD"],
            ] {
                sandbox.assert_same(arguments, &head);
            }
        }
    }
}

#[test]
fn a_head_that_is_a_blob_has_no_tree() {
    if !git_is_at_least("git", 55) {
        return skip_test(
            "a_head_that_is_a_blob_has_no_tree",
            "git is older than 2.55, and may crash",
        );
    }
    let sandbox = Sandbox::new();
    sandbox.git(["tag", "-a", "-m", "of a blob", "of-blob", "HEAD:a"]);
    let commit = sandbox.git(["rev-parse", "HEAD"]);
    for name in ["HEAD:a", "of-blob"] {
        let id = sandbox.git(["rev-parse", name]);
        for place in ["HEAD", "refs/heads/main"] {
            sandbox.write_in_git_dir(place, &format!("{id}\n"));
            for arguments in STATUS_COMMANDS {
                sandbox.assert_same(arguments, "");
            }
            for arguments in DESCRIBE_WITH_MARKS {
                sandbox.assert_same(arguments, "");
            }
            sandbox.write_in_git_dir("HEAD", "ref: refs/heads/main\n");
        }
        sandbox.write_in_git_dir("refs/heads/main", &format!("{commit}\n"));
    }
}

#[test]
fn an_empty_commondir_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(["worktree", "add", "-q", "linked"]);
    sandbox.write_in_git_dir("worktrees/linked/commondir", "");
    sandbox.assert_same(&["-C", "linked", "status"], "");
    sandbox.assert_same(&["-C", "linked", "cat-file", "-t", "HEAD"], "");
    sandbox.write_in_git_dir("commondir", "");
    sandbox.assert_same(&["status"], "");
}

/// To git, only what can be read and is no reference is a broken one.
#[test]
fn a_reference_that_cannot_be_read_is_not_called_broken() {
    let sandbox = Sandbox::new();
    sandbox.write_in_git_dir("refs/heads/garbage", "garbage\n");
    for name in ["heads/circle", "tags/circle", "tags/HEAD"] {
        let file = Path::new(name).file_name().unwrap();
        let path = sandbox.top().join(".git/refs").join(name);
        std::os::unix::fs::symlink(file, path).unwrap();
    }
    for arguments in [
        &["status", "-sb"][..],
        &["cat-file", "-t", "circle"],
        &["cat-file", "-t", "refs/tags/circle"],
        &["cat-file", "-t", "garbage"],
        &["describe", "circle"],
        &["describe", "--all"],
    ] {
        sandbox.assert_same_as_git(arguments);
    }
}

#[test]
fn a_log_of_the_stash_that_cannot_be_opened_has_no_records() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "changed");
    sandbox.git(["stash", "-q"]);
    let log = sandbox.git_dir().join("logs/refs/stash");
    let logs = sandbox.git_dir().join("logs");
    let ask = || {
        sandbox.assert_same(&["status", "--show-stash"], "");
        sandbox.assert_same(&["status", "--porcelain=v2", "--show-stash"], "");
    };
    std::fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink("stash", &log).unwrap();
    ask();
    std::fs::remove_dir_all(&logs).unwrap();
    std::os::unix::fs::symlink("logs", &logs).unwrap();
    ask();
    std::fs::remove_file(&logs).unwrap();
    sandbox.write_in_git_dir("logs", "");
    ask();
}

#[test]
fn a_branch_with_a_name_that_is_too_long_is_unknown() {
    let sandbox = Sandbox::new();
    for name in [
        "n".repeat(255),
        "n".repeat(256),
        format!("{}/n", "n".repeat(256)),
        format!("{}n", "n/".repeat(2100)),
    ] {
        sandbox.write_in_git_dir("HEAD", &format!("ref: refs/heads/{name}\n"));
        for arguments in [
            &["status"][..],
            &["status", "--porcelain=v2", "--branch"],
            &["describe", "--always"],
            &["cat-file", "-t", "HEAD"],
            &["cat-file", "-t", "@{u}"],
            &["cat-file", "-t", &name],
        ] {
            sandbox.assert_same(arguments, "");
        }
    }
}

#[test]
fn an_upstream_in_this_repository_that_is_broken_or_dangling_is_warned_of() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "branch.main.remote", "."]);
    for merge in ["refs/heads/other", "other"] {
        sandbox.git(["config", "branch.main.merge", merge]);
        for content in ["", "nonsense\n", "ref: refs/heads/none\n"] {
            sandbox.write_in_git_dir("refs/heads/other", content);
            for arguments in STATUS_COMMANDS {
                sandbox.assert_same(arguments, "");
            }
            sandbox.assert_same(&["cat-file", "-t", "@{u}"], "");
            sandbox.assert_same(&["describe", "main@{upstream}"], "");
        }
    }
}
