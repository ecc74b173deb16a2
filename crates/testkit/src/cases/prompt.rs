//! The states that prompts show.

use super::case::cases;

cases! {
    "clean", |b| { b.base(); };
    "untracked", |b| { b.base().write("new", "n\n").write("newdir/x", "x\n").write("dir/new", "n\n"); };
    "unstaged", |b| { b.base().write("a", "changed\n").remove("b"); };
    "staged", |b| { b.base().write("a", "changed\n").write("new", "n\n").git(&["rm", "-q", "b"]).git(&["add", "-A"]); };
    "staged and unstaged", |b| {
        b.base().write("a", "staged\n").git(&["add", "a"]).write("a", "unstaged\n").write("n", "n\n").git(&["add", "n"]).remove("n");
    };
    "stash", |b| { b.base().write("a", "one\n").git(&["stash", "-q"]).write("a", "two\n").git(&["stash", "-q"]); };
    "up to date", |b| { b.remote(); };
    "ahead", |b| { b.remote().write("a", "1\n").commit("one").write("a", "2\n").commit("two"); };
    "behind", |b| { b.remote().write("a", "1\n").commit("one").git(&["push", "-q"]).git(&["reset", "-q", "--hard", "HEAD~1"]); };
    "diverged", |b| {
        b.remote().write("a", "1\n").commit("one").git(&["push", "-q"]).git(&["reset", "-q", "--hard", "HEAD~1"]);
        b.write("b", "2\n").commit("two");
    };
    "upstream gone", |b| { b.remote().git(&["update-ref", "-d", "refs/remotes/origin/main"]); };
    "upstream is a local branch", |b| { b.base().git(&["checkout", "-q", "-t", "-b", "topic", "main"]).commit("more"); };
    "push remote", |b| {
        b.remote().git(&["remote", "add", "fork", "{ROOT}/fork.git"]).git(&["update-ref", "refs/remotes/fork/main", "HEAD"]);
        b.git(&["config", "branch.main.pushRemote", "fork"]).commit("ahead of both");
    };
    "detached", |b| { b.base().commit("two").git(&["checkout", "-q", "--detach", "HEAD~1"]); };
    "detached at a tag", |b| { b.base().git(&["tag", "-a", "-m", "t", "v1"]).git(&["tag", "v1.0"]).git(&["checkout", "-q", "v1"]); };
    "unborn", |b| { b.empty(); };
    "unborn with files", |b| { b.empty().files(); };
    "unborn with an index", |b| { b.empty().files().git(&["add", "-A"]).write("a", "changed\n").remove("b"); };
    "unborn orphan", |b| { b.base().git(&["checkout", "-q", "--orphan", "orphan"]); };
    "intent to add", |b| {
        b.base().write("n", "n\n").write("gone", "g\n").write("empty", "").git(&["add", "-N", "n", "gone", "empty"]).remove("gone");
    };
    "intent to add of a renamed file", |b| { b.base().rename("a", "z").git(&["add", "-N", "z"]); };
    "modes", |b| { b.base().mode("a", 0o755).mode("b", 0o700).mode("dir/c", 0o600); };
    "modes that do not count", |b| { b.base().git(&["config", "core.fileMode", "false"]).mode("a", 0o755).write("b", "x\n"); };
    "not in a repository" in "outside", |b| { b.base().act(crate::action::Action::write("outside/file", "x")); };
    "in the git directory" in "work/.git", |b| { b.base(); };
    "bare repository" in "remote.git", |b| { b.remote(); };
}
