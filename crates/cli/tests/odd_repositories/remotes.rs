//! Branches and remotes with unusual settings, and heads that were detached at unusual names.

use vigil_testkit::sandbox::git_is_at_least;

use super::sandbox::{STATUS_COMMANDS, Sandbox};

/// A repository whose branch `main` follows that of the remote `origin`.
fn with_upstream() -> Sandbox {
    let sandbox = Sandbox::new();
    for (key, value) in [
        ("remote.origin.url", "https://host/it"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
    ] {
        sandbox.git(["config", key, value]);
    }
    sandbox.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox
}

/// Asks for the status in each format, also of the branch that a push would update.
fn assert_same_status(sandbox: &Sandbox) {
    for arguments in STATUS_COMMANDS {
        sandbox.assert_same(arguments, "");
    }
}

/// Asks for objects by the names of branches that others stand for.
fn assert_same_marks(sandbox: &Sandbox) {
    let names = "main@{u}\nmain@{u}\nmain@{push}\n@{push}\n@{u}\n";
    sandbox.assert_same(&["cat-file", "--batch-check"], names);
    for name in ["@{u}", "main@{push}"] {
        sandbox.assert_same(&["cat-file", "-t", name], "");
        sandbox.assert_same(&["describe", "--all", name], "");
        sandbox.assert_same(&["describe", "--all", "--contains", name], "");
    }
}

#[test]
fn passwords_in_urls_are_warned_of_or_refused() {
    let sandbox = with_upstream();
    for policy in ["warn", "die", "allow"] {
        sandbox.git(["config", "transfer.credentialsInUrl", policy]);
        for url in [
            "https://user:word@host/it",
            "https://user:@host/it",
            "https://user@host/it",
            "https://@host/it",
            "https://:word@host/it",
            "HTTPS://U%73er:w%2f%C3%a4 @Host:0443/a/../b/./c/?q%2F#f%41",
            "https://u:p@host/../x",
            "https://u:p@host/a/..",
            "https://u:p@host/a/b/..",
            "https://u:p@host/a/.",
            "https://u:p@host/./a",
            "https://u:p@host/a//b",
            "https://u:p@host/%2e%2E/x",
            "https://u:p@host/a/%2e%2E/x",
            "https://u:p@host",
            "https://u:p@host:",
            "https://u:p@host:0",
            "https://u:p@host:80",
            "http://u:p@host:0080/x",
            "http://u:p@host:00443/x",
            "https://u:p@host:65536/x",
            "https://u:p@host:12x/x",
            "https://u:p@/x",
            "https://u:p@[::1]:8080/x",
            "https://u:p@[::1]/x",
            "https://u:p@ho_st/x",
            "https://u:p@ho st/x",
            "file://u:p@/x",
            "file://u:p@:/x",
            "file://u:p@:1/x",
            "file://u:p@host/x",
            "https://u:p%4@host/x",
            "https://u:p@host/x%4",
            "https://u:p@host/x?%zz",
            "https://u:a:b@host/x",
            "https://u:a@b@host/x",
            "https://u/x:p@host",
            "ssh+x.y-z://u:p@host",
            "1s://u:p@host",
            "://u:p@host",
            "u:p@host:it",
            "/some/where",
        ] {
            sandbox.git(["config", "remote.origin.url", url]);
            sandbox.assert_same(&["status", "--porcelain=v2", "--branch"], "");
        }
    }
}

/// The long format also looks up the remote for pushing, since 2.54.
#[test]
fn each_remote_that_is_looked_up_is_searched_for_passwords() {
    let sandbox = with_upstream();
    let formats = match git_is_at_least("git", 54) {
        true => &["--long", "--short"][..],
        false => &["--short"],
    };
    for policy in ["warn", "die"] {
        sandbox.git(["config", "transfer.credentialsInUrl", policy]);
        sandbox.git(["config", "remote.origin.url", "https://user:word@host/it"]);
        sandbox.assert_same(&["status", "--porcelain=v2", "--branch"], "");
        assert_same_marks(&sandbox);
        for setting in [
            "remote.pushDefault=other",
            "branch.main.remote=https://u:p@host/it",
            "branch.main.pushRemote=c:it",
            "remote.origin.url=",
            "remote.origin.url=https://also:this@host",
            "status.compareBranches=@{push}",
        ] {
            let other = "remote.other.url=https://u:p@host/other";
            let shortcut = "url.https://c:d@host/.insteadOf=c:";
            for format in formats {
                let settings = ["-c", other, "-c", shortcut, "-c", setting];
                let arguments = [&settings[..], &["status", "--branch", format]].concat();
                sandbox.assert_same(&arguments, "");
            }
        }
    }
    sandbox.git(["config", "--unset", "branch.main.merge"]);
    for format in formats {
        sandbox.assert_same(&["status", "--branch", format], "");
    }
}

/// Follows the newest git.
#[test]
fn a_name_of_where_a_url_is_pushed_to_follows_its_remote() {
    let sandbox = with_upstream();
    sandbox.git(["config", "branch.main.pushRemote", "https://host/it"]);
    sandbox.git(["config", "push.default", "current"]);
    let push = ["cat-file", "-t", "main@{push}"];
    assert_eq!(sandbox.vigil_output(&push, "").stdout, "commit\n");
    sandbox.git(["update-ref", "-d", "refs/remotes/origin/main"]);
    sandbox.git(["config", "remote.origin.fetch", "refs/heads/x:refs/x"]);
    assert_eq!(
        sandbox.vigil_output(&push, "").stderr,
        "fatal: push destination 'refs/heads/main' on remote 'origin' has no local tracking branch\n"
    );
    if git_is_at_least("git", 56) {
        assert_same_marks(&sandbox);
    }
}

/// A branch may be called like the tag or commit at which HEAD was detached, or onto which a branch is rebased.
#[test]
fn the_upstream_of_a_branch_named_like_a_detached_head_is_shown() {
    let sandbox = with_upstream();
    sandbox.git(["tag", "main"]);
    sandbox.git(["checkout", "-q", "tags/main"]);
    assert_same_status(&sandbox);
    let id = sandbox.git(["rev-parse", "HEAD"]);
    let log = format!("{id} {id} C <c@x> 1 +0000\tcheckout: moving from x to main\n");
    sandbox.write_in_git_dir("logs/HEAD", &log);
    assert_same_status(&sandbox);
    sandbox.git(["tag", "-d", "main"]);
    for head in ["refs/heads/main", "main", "HEAD", "detached HEAD", ""] {
        sandbox.write_in_git_dir("rebase-merge/onto", head);
        assert_same_status(&sandbox);
        sandbox.git(["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
        sandbox.assert_same(&["status", "--porcelain=v2", "-b", "--no-ahead-behind"], "");
    }
    sandbox.git(["config", "remote.origin.fetch", "refs/*"]);
    assert_same_status(&sandbox);
}

#[test]
fn heads_are_detached_at_forms_of_names() {
    let sandbox = with_upstream();
    sandbox.git(["branch", "other", "HEAD~1"]);
    for target in [
        "main@{u}",
        "main@{upstream}",
        "main@{push}",
        "other@{u}",
        "@{u}",
        "@{-1}",
        "@{-9}",
        "@",
        "HEAD",
        "main@{0}",
        "main^{}",
        "other",
    ] {
        sandbox.git(["checkout", "-q", "main"]);
        sandbox.git(["checkout", "-q", "--detach"]);
        let id = sandbox.git(["rev-parse", "HEAD"]);
        let line = format!("{id} {id} C <c@x> 1 +0000\tcheckout: moving from main to {target}\n");
        let log = std::fs::read_to_string(sandbox.git_dir().join("logs/HEAD")).unwrap();
        sandbox.write_in_git_dir("logs/HEAD", &(log + &line));
        assert_same_status(&sandbox);
    }
}

#[test]
fn a_name_at_which_head_was_detached_may_have_become_broken() {
    let sandbox = with_upstream();
    sandbox.git(["tag", "light"]);
    sandbox.git(["checkout", "-q", "light"]);
    for content in [
        "nonsense\n",
        "ref: refs/heads/none\n",
        "ref: refs/heads/main\n",
    ] {
        sandbox.write_in_git_dir("refs/tags/light", content);
        assert_same_status(&sandbox);
    }
}

#[test]
fn a_branch_named_like_the_commit_that_is_picked_is_warned_of() {
    let sandbox = Sandbox::new();
    for name in ["CHERRY_PICK_HEAD", "REVERT_HEAD"] {
        sandbox.git(["update-ref", &format!("refs/heads/{name}"), "HEAD~1"]);
        assert_same_status(&sandbox);
        sandbox.git(["update-ref", name, "HEAD~1"]);
        assert_same_status(&sandbox);
        sandbox.assert_same(&["-c", "core.warnAmbiguousRefs=false", "status"], "");
        sandbox.write_in_git_dir("MERGE_HEAD", "");
        assert_same_status(&sandbox);
        std::fs::remove_file(sandbox.git_dir().join("MERGE_HEAD")).unwrap();
        sandbox.git(["update-ref", "-d", name]);
    }
}
