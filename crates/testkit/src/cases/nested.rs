//! Nested repositories, and repositories elsewhere.

use super::case::cases;

cases! {
    "repository inside", |b| {
        b.base().git_in(".", &["init", "-q", "work/dir/inner"]).write("dir/inner/f", "x\n").git_in("work/dir/inner", &["add", "-A"]);
        b.git_in("work/dir/inner", &["commit", "-q", "-m", "inner"]).write("dir/inner/new", "x\n");
    };
    "repository without commits inside", |b| { b.base().git_in(".", &["init", "-q", "work/inner"]).write("inner/f", "x\n"); };
    "repository without commits in the place of a file", |b| {
        b.base().remove("a").git_in(".", &["init", "-q", "work/a"]).remove("dir/c").git_in(".", &["init", "-q", "work/dir/c"]);
        let id = "1111111111111111111111111111111111111111";
        b.git_input(&["update-index", "--index-info"], format!("0 {id}\tdir/c\n100644 {id} 1\tdir/c\n100644 {id} 2\tdir/c\n"));
    };
    "repository in an untracked directory", |b| {
        b.base().write("new/x", "x\n").git_in(".", &["init", "-q", "work/new/inner"]).write("new/inner/f", "x\n").git_in(".", &["init", "-q", "work/only/inner"]);
    };
    "ignored repository", |b| { b.base().write(".gitignore", "inner\n").git_in(".", &["init", "-q", "work/inner"]).write("inner/f", "x\n"); };
    "bare repository inside", |b| { b.base().git_in(".", &["init", "-q", "--bare", "work/inner.git"]); };
    "things that look like repositories", |b| {
        b.base().directory("one/.git").write("one/x", "").write("two/.git", "gitdir: nowhere\n").write("two/x", "").write("three/.git/HEAD", "ref: refs/heads/main\n").write("three/x", "");
    };
    "linked worktree" in "linked", |b| {
        b.base().git(&["worktree", "add", "-q", "-b", "linked", "../linked"]).act(crate::action::Action::write("linked/a", "changed\n"));
        b.act(crate::action::Action::write("linked/dir/new", "x\n"));
    };
    "linked worktree, merging" in "linked", |b| {
        b.fork().git(&["worktree", "add", "-q", "-b", "linked", "../linked"]).git_in("linked", &["reset", "-q", "--hard"]).git_in("linked", &["merge", "-q", "--no-commit", "-s", "ours", "topic"]);
    };
    "linked worktree inside", |b| { b.base().git(&["worktree", "add", "-q", "-b", "linked", "inside"]); };
    "separate git directory", |b| { b.git_in(".", &["init", "-q", "--separate-git-dir", "separate.git", "work"]).files().commit("base").write("a", "x\n"); };
    "core.worktree above, and the git directory elsewhere" in "work", |b| {
        b.base().write("a", "x\n").git(&["config", "core.worktree", ".."]).git(&["init", "-q", "--separate-git-dir", "{ROOT}/separate.git"]);
    };
    "core.worktree elsewhere" in "work/dir", |b| {
        b.base().git(&["config", "core.worktree", "{ROOT}/work/dir"]);
    };
}
