use std::fs;

use super::*;
use crate::testing::OpenRepository as _;
use vigil_testkit::sandbox::{FORMATS, Sandbox};

/// Returns all values of a key, by git.
fn configured_values(sandbox: &Sandbox, key: &str) -> Vec<BString> {
    let values = sandbox.try_git(["config", "--get-all", key]).stdout;
    values.lines().map(BString::from).collect()
}

/// Returns the configuration of a branch, by git.
fn remotes_of(sandbox: &Sandbox, branch: &str) -> Option<BranchRemotes> {
    let remote = configured_values(sandbox, &format!("branch.{branch}.remote")).pop()?;
    let merge = configured_values(sandbox, &format!("branch.{branch}.merge"))
        .into_iter()
        .next()?;
    let fetch = configured_values(sandbox, &format!("remote.{remote}.fetch"));
    Some(BranchRemotes {
        fetch: fetch
            .iter()
            .map(|text| Refspec::parse(text.as_ref()).unwrap())
            .collect(),
        url: configured_values(sandbox, &format!("remote.{remote}.url"))
            .pop()
            .unwrap_or_default(),
        warns_of_ambiguity: configured_values(sandbox, "core.warnAmbiguousRefs") != ["false"],
        remote,
        merge,
    })
}

/// Returns our version of the lines about the upstream in `git status --porcelain=v2 --branch`.
fn ours(sandbox: &Sandbox, ahead_behind: bool) -> String {
    let repo = sandbox.repository();
    let refs = Refs::open(&repo);
    let objects = Objects::open(&repo).unwrap();
    let Head::Branch { name, id } = refs.head().unwrap() else {
        return String::new();
    };
    let Some(remotes) = remotes_of(sandbox, short_name(name.as_ref()).to_str().unwrap()) else {
        return String::new();
    };
    let Some(upstream) =
        upstream_by(&remotes, &refs, &objects, id, ahead_behind, &mut Vec::new()).unwrap()
    else {
        return String::new();
    };
    let distance = match upstream.distance {
        Distance::Gone => String::new(),
        Distance::Equal => "\n# branch.ab +0 -0".into(),
        Distance::Different => "\n# branch.ab +? -?".into(),
        Distance::Counted { ahead, behind } => format!("\n# branch.ab +{ahead} -{behind}"),
    };
    format!("# branch.upstream {}{distance}", upstream.short_name)
}

fn check(sandbox: &Sandbox) -> String {
    for (argument, ahead_behind) in [("--ahead-behind", true), ("--no-ahead-behind", false)] {
        let status = sandbox.git(["status", "--porcelain=v2", "--branch", argument]);
        let lines: Vec<_> = status
            .lines()
            .filter(|line| line.starts_with("# branch.upstream") || line.starts_with("# branch.ab"))
            .collect();
        assert_eq!(ours(sandbox, ahead_behind), lines.join("\n"), "{argument}");
    }
    ours(sandbox, true)
}

#[test]
fn the_upstream_is_that_of_git_however_it_is_configured() {
    for (format, hash) in [FORMATS[0], FORMATS[3]] {
        let sandbox = Sandbox::with_formats(format, hash);
        assert_eq!(check(&sandbox), "");
        sandbox.git(["config", "branch.main.remote", "origin"]);
        sandbox.git(["config", "branch.main.merge", "refs/heads/main"]);
        assert_eq!(
            check(&sandbox),
            "",
            "a remote without refspecs tracks nothing"
        );
        sandbox.git([
            "config",
            "remote.origin.fetch",
            "+refs/heads/*:refs/remotes/origin/*",
        ]);
        assert_eq!(
            check(&sandbox),
            "# branch.upstream origin/main",
            "both are unborn"
        );
        sandbox.commit("one");
        assert_eq!(check(&sandbox), "# branch.upstream origin/main", "gone");
        sandbox.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
        assert!(check(&sandbox).ends_with("+0 -0"));
        sandbox.commit("two");
        assert!(check(&sandbox).ends_with("+1 -0"));
        sandbox.git(["checkout", "-q", "-B", "main", "HEAD^"]);
        sandbox.commit("other");
        sandbox.git(["update-ref", "refs/remotes/origin/main", "main@{2}"]);
        assert!(check(&sandbox).ends_with("+1 -1"));
        sandbox.git(["tag", "-a", "-m", "t", "annotated"]);
        sandbox.git(["config", "branch.main.remote", "."]);
        for merge in [
            "refs/tags/annotated",
            "annotated",
            "main",
            "refs/heads/none",
            "origin/main",
        ] {
            sandbox.git(["config", "branch.main.merge", merge]);
            check(&sandbox);
        }
        sandbox.git(["tag", "main"]);
        for warns in ["true", "false"] {
            sandbox.git(["config", "core.warnAmbiguousRefs", warns]);
            sandbox.git(["config", "branch.main.merge", "main"]);
            check(&sandbox);
        }
        sandbox.git(["config", "branch.main.remote", "origin"]);
        sandbox.git(["config", "branch.main.merge", "refs/heads/main"]);
        sandbox.git(["config", "--add", "branch.main.merge", "refs/heads/second"]);
        sandbox.git(["branch", "origin/main"]);
        assert!(check(&sandbox).starts_with("# branch.upstream remotes/origin/main\n"));
        sandbox.git(["config", "--add", "remote.origin.fetch", "^refs/heads/ma*"]);
        check(&sandbox);
        for fetch in [
            "refs/heads/*:refs/heads/*",
            "refs/heads/main:refs/heads/main",
            "refs/heads/main:",
            "refs/heads/m*n:refs/remotes/*/main",
        ] {
            sandbox.git(["config", "--replace-all", "remote.origin.fetch", fetch]);
            check(&sandbox);
            sandbox.git(["config", "--add", "remote.origin.fetch", "^refs/heads/ma*"]);
            check(&sandbox);
        }
    }
}

#[test]
fn an_upstream_that_is_no_commit_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    sandbox.git(["config", "branch.main.remote", "."]);
    sandbox.git(["config", "branch.main.merge", "refs/tags/tree"]);
    sandbox.git(["tag", "tree", "HEAD^{tree}"]);
    assert_eq!(check(&sandbox), "# branch.upstream tree");
    fs::write(
        sandbox.git_dir().join("refs/tags/tree"),
        format!("{}\n", "1".repeat(40)),
    )
    .unwrap();
    let status = sandbox
        .try_git(["status", "--porcelain=v2", "--branch"])
        .stdout;
    assert!(status.contains("# branch.upstream tree\n") && !status.contains("# branch.ab"));
    assert_eq!(ours(&sandbox, true), "# branch.upstream tree");
}

#[test]
fn a_remote_branch_is_described_for_gitstatusd() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    sandbox.git(["remote", "add", "up/stream", "https://example.com/x"]);
    sandbox.git(["update-ref", "refs/remotes/up/stream/topic/1", "HEAD"]);
    sandbox.git(["config", "branch.main.remote", "up/stream"]);
    sandbox.git(["config", "branch.main.merge", "refs/heads/topic/1"]);
    let refs = Refs::open(&sandbox.repository());
    let describe = |remotes: &BranchRemotes, reference: Option<BString>| {
        let branch = remote_branch(&refs, remotes, reference.unwrap()).unwrap();
        branch.map(|b| format!("{} {} {}", b.remote, b.branch, b.url))
    };
    let mut remotes = remotes_of(&sandbox, "main").unwrap();
    let upstream = remotes.upstream(&refs, &mut Vec::new()).unwrap();
    assert_eq!(
        describe(&remotes, upstream).unwrap(),
        "up/stream topic/1 https://example.com/x"
    );
    remotes.merge = "refs/heads/main".into();
    assert_eq!(
        describe(&remotes, remotes.pushed()),
        None,
        "not known to be there"
    );
    sandbox.git(["update-ref", "refs/remotes/up/stream/main", "HEAD"]);
    assert!(describe(&remotes, remotes.pushed()).is_some());
    remotes.remote = ".".into();
    remotes.url = "".into();
    assert_eq!(describe(&remotes, remotes.pushed()).unwrap(), ". main ");
}

#[test]
fn the_longest_rewrite_of_an_address_counts() {
    let rewrite = |url: &str, rewrites: &[(&str, &str)]| {
        let mut text = format!("[remote \"r\"]\n\turl = {url}\n");
        // Is for pushing only.
        text += "[url \"https://p/\"]\n\tpushInsteadOf = gh:a/b\n";
        for (base, prefix) in rewrites {
            text += &format!("[url \"{base}\"]\n\tinsteadOf = {prefix}\n");
        }
        let config = Config::from_bytes(text.as_bytes(), "file x").unwrap();
        url_of(&config, "r".into()).to_string()
    };
    assert_eq!(rewrite("gh:a/b", &[]), "gh:a/b");
    let rewrites = [
        ("https://x/", "gh:"),
        ("https://y/", "gh:a/"),
        ("https://z/", "gh:a"),
    ];
    assert_eq!(rewrite("gh:a/b", &rewrites), "https://y/b");
    assert_eq!(rewrite("gh:b", &rewrites), "https://x/b");
    assert_eq!(rewrite("", &rewrites), "");
}
