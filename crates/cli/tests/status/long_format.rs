//! The long format, in repositories that git has brought into each state.

use crate::sandbox::{Sandbox, VIGIL};

#[test]
fn a_repository_without_commits() {
    let sandbox = Sandbox::empty();
    sandbox.assert_same_status();
    sandbox.write("x", "x");
    sandbox.assert_same_status();
    sandbox.assert_same_as_git(&["status", "-uno"]);
    sandbox.git(["add", "x"]);
    sandbox.write("x", "y");
    sandbox.assert_same_status();
    sandbox.assert_same_as_git(&["status", "-uno"]);
}

#[test]
fn upstreams() {
    let sandbox = Sandbox::with_history();
    sandbox.assert_same_status();
    sandbox.git(["branch", "up", "HEAD~1"]);
    for upstream in ["up", "main"] {
        sandbox.git(["branch", "-q", "-u", upstream]);
        sandbox.assert_same_status();
        sandbox.assert_same_as_git(&["status", "--no-ahead-behind"]);
        sandbox.assert_same_as_git(&["-c", "status.aheadBehind=false", "status"]);
    }
    sandbox.git(["checkout", "-q", "-b", "behind", "up"]);
    sandbox.git(["branch", "-q", "-u", "main"]);
    sandbox.assert_same_status();
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "other"]);
    sandbox.assert_same_as_git(&["-c", "advice.statusHints=false", "status"]);
    // git before 2.42 words the hint differently.
    assert_eq!(
        sandbox.status(&["status"]),
        "On branch behind\n\
         Your branch and 'main' have diverged,\n\
         and have 1 and 1 different commits each, respectively.\n  \
         (use \"git pull\" if you want to integrate the remote branch with yours)\n\
         \n\
         nothing to commit, working tree clean\n"
    );
    sandbox.git(["branch", "-q", "-D", "main"]);
    sandbox.assert_same_status();
}

/// Only git 2.53 and later know this setting.
#[test]
fn more_branches_are_compared() {
    let sandbox = Sandbox::with_history();
    let head = "refs/remotes/origin";
    sandbox.git(["update-ref", &format!("{head}/main"), "HEAD~1"]);
    sandbox.git(["update-ref", &format!("{head}/work"), "HEAD~2"]);
    for (key, value) in [
        ("remote.origin.url", "x"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("push.default", "current"),
        ("status.compareBranches", "@{upstream} @{push} @{PUSH}"),
    ] {
        sandbox.git(["config", key, value]);
    }
    sandbox.git(["checkout", "-q", "-b", "work"]);
    sandbox.git(["branch", "-q", "-u", "origin/main"]);
    assert_eq!(
        sandbox.status(&["status"]),
        "On branch work\n\
         Your branch is ahead of 'origin/main' by 1 commit.\n\
         \n\
         Your branch is ahead of 'origin/work' by 2 commits.\n  \
         (use \"git push\" to publish your local commits)\n\
         \n\
         nothing to commit, working tree clean\n"
    );
}

/// Follows the newest git.
#[test]
fn the_pull_that_helps_is_named() {
    let sandbox = Sandbox::with_history();
    for (name, revision) in [("upstream/main", "HEAD"), ("mine/work", "HEAD")] {
        sandbox.git(["update-ref", &format!("refs/remotes/{name}"), revision]);
    }
    sandbox.git(["checkout", "-q", "-b", "work", "HEAD~1"]);
    for (key, value) in [
        ("remote.upstream.url", "u"),
        (
            "remote.upstream.fetch",
            "+refs/heads/*:refs/remotes/upstream/*",
        ),
        ("remote.mine.url", "m"),
        ("remote.mine.fetch", "+refs/heads/*:refs/remotes/mine/*"),
        ("branch.work.remote", "upstream"),
        ("branch.work.merge", "refs/heads/main"),
        ("remote.pushDefault", "mine"),
        ("push.default", "current"),
        ("status.compareBranches", "@{upstream} @{push}"),
    ] {
        sandbox.git(["config", key, value]);
    }
    let status = |settings: &[&str]| {
        let arguments: Vec<&str> = settings.iter().flat_map(|it| ["-c", it]).collect();
        sandbox.status(&[&arguments, &["status"][..]].concat())
    };
    let upstream = "Your branch is behind 'upstream/main' by 1 commit, and can be fast-forwarded.\n  \
                    (use \"git pull\" to update your local branch)\n";
    let push = "Your branch is behind 'mine/work' by 1 commit, and can be fast-forwarded.\n";
    let hint = "  (use \"git pull mine work\" to update your local branch)\n";
    let rest = "\nnothing to commit, working tree clean\n";
    let all = |parts: &[&str]| format!("On branch work\n{}{rest}", parts.concat());
    assert_eq!(status(&[]), all(&[upstream, "\n", push, hint]));
    assert_eq!(
        status(&["status.compareBranches=@{push}"]),
        all(&[push, hint])
    );
    let other_name = "remote.mine.fetch=+refs/heads/work:refs/remotes/mine/other";
    sandbox.git(["update-ref", "refs/remotes/mine/other", "main"]);
    sandbox.git(["config", "--unset", "remote.mine.fetch"]);
    let renamed = push.replace("mine/work", "mine/other");
    let hint = hint.replace("mine work", "mine other");
    assert_eq!(
        status(&[other_name]),
        all(&[upstream, "\n", &renamed, &hint])
    );
    // No pull is suggested for a tracking branch that is not named after its remote.
    sandbox.git(["update-ref", "refs/remotes/elsewhere", "main"]);
    let elsewhere = "remote.mine.fetch=+refs/heads/work:refs/remotes/elsewhere";
    let renamed = push.replace("mine/work", "elsewhere");
    assert_eq!(status(&[elsewhere]), all(&[upstream, "\n", &renamed]));
    assert_eq!(
        status(&[other_name, "advice.statusHints=false"]),
        all(&[
            upstream.lines().next().unwrap(),
            "\n\n",
            &push.replace("mine/work", "mine/other")
        ])
    );
    // A branch that has diverged is offered no pull.
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "own"]);
    let diverged = status(&[other_name, "status.compareBranches=@{push}"]);
    assert_eq!(
        diverged,
        all(&["Your branch and 'mine/other' have diverged,\n\
             and have 1 and 1 different commits each, respectively.\n"])
    );
}

/// Follows the newest git.
#[test]
fn a_url_that_is_pushed_to_is_tracked_as_its_remote_is() {
    let sandbox = Sandbox::with_history();
    for (key, value) in [
        ("remote.mine.fetch", "+refs/heads/*:refs/remotes/mine/*"),
        ("branch.main.pushRemote", "ssh://mine/it"),
        ("push.default", "current"),
        ("status.compareBranches", "@{push}"),
    ] {
        sandbox.git(["config", key, value]);
    }
    sandbox.git(["update-ref", "refs/remotes/mine/main", "HEAD"]);
    for (settings, is_tracked) in [
        (&["remote.mine.url=ssh://mine/it"][..], true),
        (&["remote.mine.url=ssh://mine/else"], false),
        (
            &["remote.mine.url=other", "remote.mine.pushurl=ssh://mine/it"],
            true,
        ),
        (
            &["remote.mine.pushurl=other", "remote.mine.url=ssh://mine/it"],
            false,
        ),
        (
            &["remote.mine.url=other", "remote.mine.url=ssh://mine/it"],
            true,
        ),
        (
            &["remote.mine.url=ssh://mine/it", "remote.mine.url="],
            false,
        ),
        (
            &[
                "remote.mine.url=ssh://mine/it",
                "remote.a.url=ssh://mine/it",
            ],
            false,
        ),
        (
            &[
                "remote.mine.url=ssh://mine/it",
                "remote./a.url=ssh://mine/it",
            ],
            true,
        ),
        (
            &["remote.mine.url=ssh://mine/it", "remote.a.url=other"],
            true,
        ),
        (
            &["remote.mine.url=m:it", "url.ssh://mine/.insteadOf=m:"],
            true,
        ),
        (
            &["remote.mine.url=m:it", "url.ssh://mine/.pushInsteadOf=m:"],
            true,
        ),
        (
            &[
                "remote.mine.url=other",
                "remote.mine.pushurl=m:it",
                "url.ssh://mine/.insteadOf=m:",
            ],
            true,
        ),
        (
            &[
                "remote.mine.url=other",
                "remote.mine.pushurl=m:it",
                "url.ssh://mine/.pushInsteadOf=m:",
            ],
            false,
        ),
        (
            &[
                "remote.mine.url=ssh://mine/it",
                "branch.main.pushRemote=m:it",
                "url.ssh://mine/.pushInsteadOf=m:",
            ],
            true,
        ),
        (
            &[
                "remote.mine.url=ssh://mine/it",
                "branch.main.pushRemote=m:it",
                "url.ssh://mine/.insteadOf=m:",
            ],
            true,
        ),
        (
            &[
                "remote.mine.url=ssh://mine/it",
                "branch.main.pushRemote=m:it",
                "url.ssh://mine/.insteadOf=m",
                "url.x.insteadOf=m:",
            ],
            false,
        ),
        // Of two bases for the same prefix, the first that `insteadOf` names counts.
        (
            &[
                "remote.mine.url=ssh://mine/it",
                "branch.main.pushRemote=m:it",
                "url.x.pushInsteadOf=other",
                "url.ssh://mine/.insteadOf=m:",
                "url.x.insteadOf=m:",
            ],
            true,
        ),
        (
            &[
                "remote.mine.url=ssh://mine/it",
                "remote.ssh://mine/it.prune=true",
            ],
            false,
        ),
    ] {
        let mut arguments: Vec<&str> = settings.iter().flat_map(|it| ["-c", it]).collect();
        arguments.push("status");
        let status = sandbox.status(&arguments);
        let line = "Your branch is up to date with 'mine/main'.";
        assert_eq!(status.contains(line), is_tracked, "{settings:?}\n{status}");
    }
}

#[test]
fn detached_heads() {
    let option = "--ref-format=reftable";
    let mut sandboxes = vec![Sandbox::with_history()];
    // Only git 2.45 and later know this format.
    if Sandbox::empty()
        .try_git(["init", "-q", option, "probe"])
        .code
        == 0
    {
        sandboxes.push(Sandbox::initialised(&[option]).with_commits());
    }
    for sandbox in sandboxes {
        sandbox.git(["tag", "-a", "-m", "tag", "v1"]);
        sandbox.git(["update-ref", "refs/remotes/origin/x", "HEAD~1"]);
        for target in [
            "v1",
            "origin/x",
            "HEAD~1",
            "main",
            "@{-1}",
            "refs/heads/main",
        ] {
            sandbox.git(["checkout", "-q", "--detach", target]);
            sandbox.assert_same_as_git(&["status"]);
        }
        sandbox.git(["commit", "-q", "--allow-empty", "-m", "more"]);
        sandbox.assert_same_status();
        sandbox.git(["config", "core.abbrev", "12"]);
        sandbox.git(["checkout", "-q", "HEAD~1"]);
        sandbox.assert_same_as_git(&["status"]);
        sandbox.assert_same_as_git(&["-c", "core.abbrev=no", "status"]);
        sandbox.git(["reflog", "expire", "--expire=all", "--all"]);
        sandbox.assert_same_status();
    }
}

/// A branch `side` with changes that conflict with those on `main`.
fn with_conflicts() -> Sandbox {
    let sandbox = Sandbox::with_history();
    sandbox.git(["checkout", "-q", "-b", "side", "HEAD~1"]);
    sandbox.write("a", "other");
    sandbox.write("new", "theirs");
    sandbox.git(["rm", "-q", "b"]);
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "side"]);
    sandbox.write("a", "yet another");
    sandbox.git(["commit", "-q", "-a", "-m", "side again"]);
    sandbox.git(["checkout", "-q", "main"]);
    sandbox.write("b", "ours");
    sandbox.write("new", "ours");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "ours"]);
    sandbox
}

fn resolve_conflicts(sandbox: &Sandbox) {
    for name in ["a", "b", "new"] {
        sandbox.write(name, "resolved");
    }
    sandbox.git(["add", "."]);
}

#[test]
fn a_merge() {
    let sandbox = with_conflicts();
    assert_ne!(sandbox.try_git(["merge", "side"]).code, 0);
    sandbox.assert_same_status();
    sandbox.assert_same_as_git(&["-c", "status.relativePaths=no", "status"]);
    sandbox.assert_same_as_git_in("dir", &["status"]);
    resolve_conflicts(&sandbox);
    sandbox.assert_same_status();
}

#[test]
fn conflicts_of_all_kinds() {
    let sandbox = Sandbox::with_history();
    // The object need not exist.
    let id = "1234567890123456789012345678901234567890";
    for stages in [&[1][..], &[2], &[1, 2], &[3], &[1, 3], &[2, 3], &[1, 2, 3]] {
        sandbox.git(["reset", "-q", "--hard"]);
        sandbox.git(["rm", "-q", "--cached", "a"]);
        for stage in stages {
            let line = format!("100644 {id} {stage}\ta\n");
            sandbox.git_with_input(["update-index", "--index-info"], line);
        }
        sandbox.assert_same_status();
        sandbox.assert_same_as_git(&["status", "-vv"]);
    }
}

#[test]
fn rebases() {
    let sandbox = with_conflicts();
    sandbox.git(["checkout", "-q", "side"]);
    assert_ne!(sandbox.try_git(["rebase", "main"]).code, 0);
    sandbox.assert_same_status();
    resolve_conflicts(&sandbox);
    sandbox.assert_same_status();
    sandbox.git(["rebase", "--abort"]);
    assert_ne!(sandbox.try_git(["rebase", "--apply", "main"]).code, 0);
    sandbox.assert_same_status();
    resolve_conflicts(&sandbox);
    sandbox.assert_same_status();
    sandbox.git(["rebase", "--abort"]);
    sandbox.git(["checkout", "-q", "--detach"]);
    assert_ne!(sandbox.try_git(["rebase", "main"]).code, 0);
    sandbox.assert_same_status();
}

#[test]
fn commits_that_are_edited_or_split() {
    let sandbox = Sandbox::with_history();
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "four"]);
    sandbox.rebase("1s/pick/edit/", "HEAD~3");
    sandbox.assert_same_status();
    sandbox.git(["reset", "-q", "HEAD~1"]);
    sandbox.assert_same_status();
    sandbox.git(["rebase", "--abort"]);
    sandbox.rebase(
        "2a exec true\\nbreak\\nlabel x\\nupdate-ref refs/heads/u",
        "--root",
    );
    sandbox.assert_same_status();
    sandbox.assert_same_as_git_in("dir", &["status"]);
    // The path of the list of commands is shown relative to how the repository was named.
    let git_dir = format!("--git-dir={}", sandbox.top().join(".git").display());
    sandbox.assert_same_as_git(&[&git_dir, "status", "-uno"]);
    sandbox.assert_same_as_git_in("dir", &["--git-dir=../.git", "--work-tree=..", "status"]);
    sandbox.assert_same_as_git_in(".git", &["--work-tree=..", "status"]);
    std::fs::remove_file(sandbox.top().join(".git/rebase-merge/git-rebase-todo")).unwrap();
    sandbox.assert_same_status();
}

/// Follows the newest git.
#[test]
fn commands_of_a_rebase_have_short_ids_where_they_name_commits() {
    let sandbox = Sandbox::with_history();
    sandbox.git(["branch", "cafe"]);
    sandbox.git(["update-ref", "refs/rewritten/beef", "HEAD~1"]);
    sandbox.rebase("1s/pick/break\\n&/", "HEAD~2");
    let id = sandbox.id("HEAD").to_string();
    let short = &id[..7];
    let beef = sandbox.id("cafe~1").to_string();
    sandbox.git(["update-ref", &format!("refs/rewritten/{beef}"), "HEAD"]);
    for (line, shown) in [
        ("pick ID # one", "pick SHORT # one"),
        ("p ID", "p SHORT"),
        ("fixup ID one", "fixup SHORT one"),
        ("fixup -C ID one", "fixup -C SHORT one"),
        ("f -c ID", "f -c SHORT"),
        ("fixup -CID", "fixup -CSHORT"),
        ("drop  \tID  one", "drop  \tSHORT  one"),
        ("squash ID", "squash SHORT"),
        ("revert ID", "revert SHORT"),
        (
            "merge -C ID ID LABEL # ID",
            "merge -C SHORT SHORT LABEL # ID",
        ),
        ("merge -C LABEL #ID ID", "merge -C LABELSHORT #ID SHORT"),
        ("merge ID topic #", "merge SHORT topic #"),
        ("m beef", "m beef"),
        ("reset ID", "reset SHORT"),
        ("reset LABEL", "reset LABEL"),
        ("t main", "t main"),
        ("reset cafe", "reset cafe"),
        ("pick cafe", "pick cafe"),
        ("pick HEAD", "pick HEAD"),
        ("pick nothing", "pick nothing"),
        ("pick", "pick"),
        ("pick UPPER", "pick UPPER"),
        ("label ID", "label ID"),
        ("exec ID", "exec ID"),
        ("update-ref refs/heads/main", "update-ref refs/heads/main"),
        ("update-ref ID", "update-ref ID"),
        ("unknown ID", "unknown ID"),
        ("pickx ID", "pickx ID"),
        ("  pick ID  ", "pick SHORT"),
        ("# comment\n \n\t# comment\npick ID", "pick SHORT"),
    ] {
        let fill = |text: &str| {
            text.replace("LABELSHORT", &beef[..7])
                .replace("LABEL", &beef)
                .replace("SHORT", short)
                .replace("ID", &id)
                .replace("UPPER", &id.to_uppercase())
        };
        sandbox.write(
            ".git/rebase-merge/git-rebase-todo",
            format!("{}\n", fill(line)),
        );
        let status = sandbox.status(&["status"]);
        let mut lines = status
            .lines()
            .skip_while(|line| !line.starts_with("Next command to do (1 remaining command):"));
        assert_eq!(
            lines.nth(1),
            Some(format!("   {}", fill(shown)).as_str()),
            "{line}\n{status}"
        );
    }
}

#[test]
fn mailboxes() {
    let sandbox = with_conflicts();
    let patches = sandbox.root().join("patches");
    let patches = patches.to_str().unwrap();
    sandbox.git(["format-patch", "-q", "-o", patches, "main..side"]);
    let first = format!("{patches}/0001-side.patch");
    assert_ne!(sandbox.try_git(["am", "-q", &first]).code, 0);
    sandbox.assert_same_status();
    std::fs::write(sandbox.top().join(".git/rebase-apply/patch"), "").unwrap();
    sandbox.assert_same_status();
}

#[test]
fn picks_and_reverts() {
    let sandbox = with_conflicts();
    assert_ne!(sandbox.try_git(["cherry-pick", "side~1"]).code, 0);
    sandbox.assert_same_status();
    resolve_conflicts(&sandbox);
    sandbox.assert_same_status();
    sandbox.git(["cherry-pick", "--abort"]);
    assert_ne!(sandbox.try_git(["cherry-pick", "side~1", "side"]).code, 0);
    resolve_conflicts(&sandbox);
    sandbox.git(["commit", "-q", "-m", "picked"]);
    sandbox.assert_same_status();
    sandbox.git(["cherry-pick", "--quit"]);
    assert_ne!(sandbox.try_git(["revert", "--no-edit", "HEAD~2"]).code, 0);
    sandbox.assert_same_status();
    resolve_conflicts(&sandbox);
    sandbox.assert_same_status();
    sandbox.git(["revert", "--abort"]);
    assert_ne!(
        sandbox
            .try_git(["revert", "--no-edit", "HEAD~2", "HEAD~3"])
            .code,
        0
    );
    resolve_conflicts(&sandbox);
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "reverted"]);
    sandbox.assert_same_status();
}

#[test]
fn a_bisection() {
    let sandbox = Sandbox::with_history();
    sandbox.git(["bisect", "start", "HEAD", "HEAD~2"]);
    sandbox.assert_same_status();
    sandbox.git(["checkout", "-q", "--detach"]);
    sandbox.git(["bisect", "start"]);
    sandbox.assert_same_status();
}

#[test]
fn sparse_checkouts() {
    let sandbox = Sandbox::with_history();
    sandbox.git(["sparse-checkout", "set", "--no-sparse-index", "other"]);
    sandbox.assert_same_status();
    sandbox.write("dir/d", "here");
    sandbox.assert_same_status();
    let sandbox = Sandbox::with_history();
    sandbox.git(["sparse-checkout", "set", "--sparse-index", "other"]);
    sandbox.assert_same_status();
    // Versions of git differ in their advice on standard error.
    assert_eq!(
        sandbox.status(&["-c", "index.sparse=false", "status"]),
        "On branch main\n\
         You are in a sparse checkout with 60% of tracked files present.\n\
         \n\
         nothing to commit, working tree clean\n"
    );
    let sandbox = Sandbox::with_history();
    sandbox.write("dir/sub/file", "further down");
    sandbox.git(["add", "dir"]);
    sandbox.git(["commit", "-q", "-m", "further down"]);
    sandbox.git(["sparse-checkout", "set", "--sparse-index", "other"]);
    sandbox.git(["read-tree", "--empty"]);
    sandbox.assert_same_as_git(&["status", "-v", "-uno"]);
    sandbox.assert_same_as_git(&["status", "-vv", "-uno"]);
    // Patches show everything that is staged, whatever the pathspecs are.
    sandbox.assert_same_as_git(&["status", "-v", "-uno", "--", "a"]);
}

#[test]
fn an_index_that_git_made_sparse_wrongly_is_shown_as_it_is() {
    let sandbox = Sandbox::empty();
    for path in ["dir/a", "other/b", "top"] {
        sandbox.write(path, path);
    }
    sandbox.git(["add", "other", "top"]);
    sandbox.git(["sparse-checkout", "set", "--no-sparse-index", "dir"]);
    sandbox.git(["add", "-N", "dir"]);
    // git first counts intent-to-add entries for its cache-tree and then does not, and thereby loses other entries.
    let options = ["status", "--porcelain", "--branch"];
    let full = [&["-c", "index.sparse=false"], options.as_slice()].concat();
    let sparse = [&["-c", "index.sparse=true"], options.as_slice()].concat();
    sandbox.assert_same_as_git(&full);
    assert_eq!(
        sandbox.status(&sparse),
        "## No commits yet on main\n A dir/a\nA  other/b\nA  top\n"
    );
}

#[test]
fn sections_and_options() {
    let sandbox = Sandbox::with_history();
    sandbox.write(".gitignore", "*.o\n");
    sandbox.git(["mv", "dir/d", "dir/moved name"]);
    sandbox.git(["rm", "-q", "dir/e"]);
    sandbox.write("a", "changed");
    std::fs::remove_file(sandbox.top().join("b")).unwrap();
    std::fs::remove_file(sandbox.top().join("c")).unwrap();
    std::os::unix::fs::symlink("a", sandbox.top().join("c")).unwrap();
    sandbox.write("intended", "x");
    sandbox.git(["add", "-N", "intended"]);
    for name in [
        "x.o",
        "untracked",
        "sub/file",
        "caf\u{e9}",
        "\u{4e2d}\u{6587}",
        "sub/x.o",
    ] {
        sandbox.write(name, name);
    }
    for number in 0..12 {
        sandbox.write(format!("file-{}", "x".repeat(number)), "");
    }
    sandbox.assert_same_status();
    for arguments in [
        &["status", "--ignored"][..],
        &["status", "--ignored=matching", "-uall", "--no-renames"],
        &["status", "-uno"],
        &["status", "-uno", "-M100%"],
        &["status", "--column"],
        &["status", "--column=row,dense", "--ignored"],
        &["status", "--column=dense"],
        &["status", "--column=plain"],
        &["status", "--column", "--no-column"],
        &["-c", "core.quotePath=off", "status", "--column=row"],
        &[
            "-c",
            "column.ui=column,dense",
            "-c",
            "color.ui=always",
            "status",
        ],
        &[
            "-c",
            "column.status=never",
            "-c",
            "column.ui=always",
            "status",
        ],
        &["-c", "status.displayCommentPrefix=1", "status", "--column"],
        &["-c", "status.short", "status"],
        &["-c", "status.short", "status", "--long"],
        &["-c", "status.short", "status", "--no-short"],
        &["status", "--long", "--no-long"],
        &["status", "-v"],
        &["status", "-vv"],
        &["status", "-vv", "--no-verbose"],
        &["-c", "status.renames=copies", "status", "-vv"],
        &["-c", "color.ui=always", "status", "-vv"],
        &[
            "-c",
            "color.ui=always",
            "-c",
            "color.diff=never",
            "status",
            "-v",
        ],
        &[
            "-c",
            "color.ui=always",
            "-c",
            "color.status.branch=normal",
            "status",
        ],
        &["status", "--", "dir"],
    ] {
        sandbox.assert_same_as_git_in("dir", arguments);
    }
    sandbox.git(["rm", "-q", "--cached", "intended"]);
    sandbox.git(["stash", "-q"]);
    for arguments in [
        &["status", "--show-stash"][..],
        &["-c", "status.showStash", "status"],
        &["-c", "status.showStash", "status", "--no-show-stash"],
    ] {
        sandbox.assert_same_as_git(arguments);
    }
}

#[test]
fn a_missing_attribute_tree_is_reported_where_attributes_are_needed() {
    let sandbox = Sandbox::with_history();
    sandbox.assert_same_as_git(&["--attr-source=HEAD~2", "status"]);
    sandbox.assert_same_as_git(&["--attr-source=HEAD~7", "status"]);
    sandbox.git(["mv", "dir/d", "dir/moved"]);
    sandbox.assert_same_as_git(&["--attr-source=HEAD~7", "status"]);
    sandbox.write("dir/moved", "dir/d\nsome\nmore\nlines\nand another\n");
    sandbox.git(["add", "-A"]);
    sandbox.assert_same_as_git(&["--attr-source=HEAD~7", "status"]);
    sandbox.assert_same_as_git(&["--attr-source=HEAD~7", "status", "--no-renames"]);
}

#[test]
fn a_clean_working_tree() {
    let sandbox = Sandbox::with_history();
    for arguments in [&["status"][..], &["status", "-uno"]] {
        sandbox.assert_same_as_git(arguments);
    }
    // Only git 2.46 and later know this option.
    assert_eq!(
        sandbox.status(&["--no-advice", "status", "-uno"]),
        "On branch main\nnothing to commit\n"
    );
}

#[test]
fn submodules() {
    let inner = Sandbox::with_history();
    let sandbox = Sandbox::with_history();
    let url = inner.top();
    let url = url.to_str().unwrap();
    sandbox.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "-q",
        "add",
        url,
        "sub",
    ]);
    let summary = ["-c", "status.submoduleSummary", "status"];
    sandbox.assert_same_as_git(&summary);
    sandbox.git(["commit", "-q", "-m", "submodule"]);
    sandbox.git(["-C", "sub", "checkout", "-q", "HEAD~2"]);
    sandbox.write("sub/a", "changed");
    sandbox.write("sub/untracked", "x");
    sandbox.assert_same_status();
    sandbox.assert_same_as_git(&summary);
    sandbox.assert_same_as_git_in("dir", &summary);
    sandbox.assert_same_as_git(&[
        "-c",
        "status.submoduleSummary=1",
        "status",
        "--ignore-submodules=dirty",
    ]);
    sandbox.assert_same_as_git(&[
        "-c",
        "status.submoduleSummary",
        "status",
        "--ignore-submodules",
    ]);
    sandbox.git(["add", "sub"]);
    sandbox.assert_same_as_git(&summary);
    sandbox.assert_same_as_git(&[
        "-c",
        "status.submoduleSummary",
        "-c",
        "status.displayCommentPrefix",
        "status",
    ]);
}

#[test]
fn patches_show_nothing_of_files_that_are_only_touched() {
    let sandbox = Sandbox::empty();
    sandbox.write(
        ".gitattributes",
        "touched diff=other\nlines text eol=crlf\n",
    );
    for name in ["touched", "lines", "changed"] {
        sandbox.write(name, format!("{name}\n"));
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "files"]);
    sandbox.write("changed", "again\n");
    for name in ["touched", "lines"] {
        sandbox.age(name, 1000);
    }
    // Tools for other kinds of files are often not installed, take long, or name the file that they were given.
    for tool in ["false", "ls"] {
        let tool = format!("diff.other.textconv={tool}");
        sandbox.assert_same_as_git(&["-c", &tool, "--no-optional-locks", "status", "-vv"]);
    }
    for ignored in ["all", "none"] {
        let option = format!("--ignore-submodules={ignored}");
        sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-vv", &option]);
    }
    let id = sandbox.git(["hash-object", "-w", "changed"]);
    let ours = format!("100644 {} 2\tin conflict\n", id.trim_end());
    let update = sandbox.output("", ["update-index", "--index-info"], ours);
    assert!(update.status.success());
    sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-vv"]);
    std::fs::remove_file(sandbox.top().join("touched")).unwrap();
    sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-vv"]);
}

/// git may take a deleted file for one that was renamed to a file in conflict.
#[test]
fn patches_of_the_working_tree_name_files_in_conflict_as_git_does() {
    let sandbox = Sandbox::empty();
    let text = "line\n".repeat(20);
    for name in ["gone", "gone too", "x"] {
        sandbox.write(name, &text);
    }
    sandbox.git(["add", "."]);
    let id = sandbox.git(["hash-object", "-w", "x"]);
    let stages = [1, 3].map(|stage| format!("100644 {} {stage}\tx\n", id.trim_end()));
    let update = sandbox.output("", ["update-index", "--index-info"], stages.concat());
    assert!(update.status.success());
    for name in ["gone", "gone too"] {
        std::fs::remove_file(sandbox.top().join(name)).unwrap();
    }
    for arguments in [&["status", "-vv"][..], &["status", "-vv", "-M10%"]] {
        sandbox.assert_same_as_git(arguments);
    }
}

#[test]
fn only_patches_of_what_is_staged_follow_the_order_file() {
    let sandbox = Sandbox::empty();
    for (name, contents) in [("a", "1\n"), ("b", "1\n"), ("order", "b\n")] {
        sandbox.write(name, contents);
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "files"]);
    for contents in ["staged\n", "changed again\n"] {
        sandbox.write("a", contents);
        sandbox.write("b", contents);
        for options in ["-v", "-vv"] {
            let order = ["-c", "diff.orderFile=order", "status", options];
            sandbox.assert_same_as_git(&order);
        }
        sandbox.git(["add", "a", "b"]);
    }
}

#[test]
fn patches_need_git() {
    let sandbox = Sandbox::with_history();
    let mut command = sandbox.command(VIGIL, sandbox.top(), ["status", "-v"]);
    let output = command.env("PATH", "/none").output().unwrap();
    assert_eq!(output.status.code(), Some(128));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "fatal: cannot run git for the patches of --verbose: No such file or directory\n"
    );
    let arguments = ["status", "-v", "--", "dir/no/such/file"];
    let mut command = sandbox.command(VIGIL, sandbox.top(), arguments);
    let output = command.env("PATH", "/none").output().unwrap();
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "warning: could not open directory 'dir/no/such/': No such file or directory\n\
         fatal: cannot run git for the patches of --verbose: No such file or directory\n"
    );
}
