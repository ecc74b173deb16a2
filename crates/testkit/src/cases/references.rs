//! How references, HEAD and settings are stored.

use super::case::cases;
use crate::action::Action;

cases! {
    "packed references", |b| { b.remote().git(&["tag", "v1"]).commit("ahead").git(&["pack-refs", "--all"]); };
    "packed reference with a newer loose one", |b| { b.base().git(&["pack-refs", "--all"]).commit("newer").git(&["tag", "v2"]); };
    "packed objects", |b| { b.fork().git(&["gc", "-q"]).write("a", "x\n"); };
    "commit graph", |b| { b.remote().commit("one").git(&["commit-graph", "write", "--reachable"]).commit("two"); };
    "sha256", |b| { b.git_in(".", &["init", "-q", "--object-format=sha256", "work"]).files().commit("base").write("a", "x\n").write("n", "").git(&["add", "n"]); };
    "HEAD that names another symbolic reference", |b| { b.base().git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]).git(&["symbolic-ref", "HEAD", "refs/heads/alias"]); };
    "HEAD outside of branches", |b| { b.base().git(&["update-ref", "refs/other/x", "HEAD"]).write(".git/HEAD", "ref: refs/other/x\n"); };
    "branch and tag of one name", |b| { b.remote().git(&["tag", "main"]).git(&["tag", "origin/main"]).commit("ahead"); };
    "branch with a hard name", |b| { b.base().git(&["checkout", "-q", "-b", "th\u{e8}me/\"q\""]); };
    "message in another encoding", |b| { b.base().git(&["-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-m", "subject\nsecond\n\nbody"]); };
    "replaced commit", |b| { b.fork().git(&["replace", "HEAD", "HEAD~1"]); };
    "shallow clone" in "shallow", |b| { b.fork().git_in(".", &["clone", "-q", "--depth=1", "file://{ROOT}/work", "shallow"]); };
    "shallow clone with a commit replaced by one whose parent is missing" in "shallow", |b| {
        b.fork().git_in(".", &["clone", "-q", "--depth=1", "file://{ROOT}/work", "shallow"]);
        b.git_in("shallow", &["commit", "-q", "--allow-empty", "-m", "ahead"]).git_in("shallow", &["replace", "HEAD", "HEAD~1"]);
    };
    "objects of another repository" in "shared", |b| { b.fork().git_in(".", &["clone", "-q", "-s", "work", "shared"]).act(Action::write("shared/a", "x\n")); };
    "included settings", |b| {
        b.base().act(Action::write("more", "[status]\n\tshowUntrackedFiles = all\n")).write("new/x", "").write(".git/config.more", "[status]\n\tbranch = true\n");
        b.git(&["config", "include.path", "config.more"]).git(&["config", "includeIf.gitdir:{ROOT}/work/.path", "{ROOT}/more"]);
    };
    "settings of the user", |b| { b.base().git(&["config", "--global", "status.short", "true"]).git(&["config", "--global", "status.relativePaths", "false"]).write("dir/n", ""); };
    "settings of the worktree", |b| { b.base().git(&["config", "extensions.worktreeConfig", "true"]).git(&["config", "--worktree", "status.showStash", "true"]).write("a", "x\n").git(&["stash", "-q"]); };
}
