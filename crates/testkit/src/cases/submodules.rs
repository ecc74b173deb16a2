//! Submodules.

use super::builder::Builder;
use super::case::cases;

cases! {
    "submodule, clean", |b| { b.submodule(); };
    "submodule in whose place is the intent to add a file", |b| {
        b.base().library().git(&["submodule", "--quiet", "add", "{ROOT}/library", "dir/new"]).commit("module");
        b.git(&["rm", "-q", "-f", "--cached", "dir/new"]).remove("dir/new").write("dir/new", "x\n").git(&["add", "-N", "dir/new"]);
    };
    "submodule, just added", |b| { b.base().library().git(&["submodule", "--quiet", "add", "{ROOT}/library", "dir/module"]); };
    "submodule with new commits", |b| { b.submodule().git_in("work/dir/module", &["checkout", "-q", "HEAD~1"]); };
    "submodule with changes", |b| { b.submodule().write("dir/module/file", "x\n"); };
    "submodule with untracked files", |b| { b.submodule().write("dir/module/new", "x\n"); };
    "submodule with staged changes", |b| { b.submodule().write("dir/module/file", "x\n").git_in("work/dir/module", &["add", "-A"]); };
    "submodule with everything", |b| { everything(b); };
    "submodule, new commit staged", |b| { b.submodule().git_in("work/dir/module", &["checkout", "-q", "HEAD~1"]).git(&["add", "dir/module"]); };
    "submodule ignored in .gitmodules", |b| { everything(b); b.git(&["config", "-f", ".gitmodules", "submodule.dir/module.ignore", "all"]); };
    "submodule ignored in the .gitmodules of HEAD alone", |b| {
        everything(b);
        b.git(&["config", "-f", ".gitmodules", "submodule.dir/module.ignore", "all"]).git(&["add", ".gitmodules"]);
        b.git(&["commit", "-q", "-m", "ignored"]).git(&["mv", ".gitmodules", "renamed"]);
    };
    "submodule ignored when dirty", |b| { everything(b); b.git(&["config", "submodule.dir/module.ignore", "dirty"]); };
    "submodule ignored when untracked", |b| { everything(b); b.git(&["config", "submodule.dir/module.ignore", "untracked"]); };
    "submodules ignored by diff.ignoreSubmodules", |b| { everything(b); b.git(&["config", "diff.ignoreSubmodules", "all"]); };
    "submodule with untracked files, nothing of submodules ignored", |b| {
        b.submodule().write("dir/module/new", "x\n").git(&["config", "diff.ignoreSubmodules", "none"]);
    };
    "submodule, closed", |b| { b.submodule().git(&["submodule", "--quiet", "deinit", "-f", "dir/module"]); };
    "submodule, removed", |b| { b.submodule().remove("dir/module"); };
    "submodule on an unborn branch", |b| { b.empty().library().git(&["submodule", "--quiet", "add", "{ROOT}/library", "dir/module"]); };
    "submodule that is only to be added", |b| { b.submodule().git(&["reset", "-q", "-N", "HEAD~1"]); };
    "submodule that is only to be added, beside a file that is gone", |b| { b.submodule().git(&["reset", "-q", "-N", "HEAD~1"]).remove("a"); };
    "submodule in conflict, removed", |b| {
        b.base().git_input(&["update-index", "--index-info"], "160000 1111111111111111111111111111111111111111 2\tm\n");
    };
    "submodule replaced by a link", |b| { b.submodule().remove("dir/module").link("dir/module", "../a"); };
    "submodule in conflict, a link", |b| {
        b.base().git_input(&["update-index", "--index-info"], "160000 1111111111111111111111111111111111111111 2\tm\n");
        b.link("m", "a");
    };
    "submodule replaced by a file", |b| { b.submodule().remove("dir/module").write("dir/module", "x\n"); };
    "submodule without git directory", |b| { b.submodule().remove("dir/module/.git"); };
    "submodule without .gitmodules", |b| { everything(b); b.git(&["rm", "-q", "--cached", ".gitmodules"]).remove(".gitmodules"); };
    "submodule unborn", |b| { b.submodule().remove("dir/module").git_in(".", &["init", "-q", "work/dir/module"]); };
    "submodule in a submodule", |b| {
        b.submodule().git_in("work/dir/module", &["submodule", "--quiet", "add", "{ROOT}/library", "inner"]);
        b.git_in("work/dir/module", &["commit", "-q", "-m", "inner"]).commit("inner").write("dir/module/inner/new", "x\n");
    };
    "within a submodule" in "work/dir/module", |b| { everything(b); };
    "submodule with settings of its own", |b| {
        b.submodule().write("dir/module/new", "x\n").git_in("work/dir/module", &["config", "status.showUntrackedFiles", "no"]);
    };
    "submodule with shorter ids", |b| {
        b.git_in(".", &["init", "-q", "--object-format=sha256", "work"]).files().commit("base");
        // Newer gits refuse to add it.
        b.library().git_stops(&["submodule", "--quiet", "add", "{ROOT}/library", "dir/module"]);
    };
    "submodule whose repository moved away, dirt ignored", |b| {
        b.submodule().rename(".git/modules", "modules").git(&["config", "diff.ignoreSubmodules", "dirty"]);
    };
    "submodule whose repository moved away", |b| { b.submodule().rename(".git/modules", "modules"); };
    "submodule whose files were moved away, dirt ignored", |b| {
        b.submodule().rename("dir", "moved").git(&["add", "-A"]).git(&["config", "diff.ignoreSubmodules", "dirty"]);
    };
    "submodule with new commits that says its files are elsewhere, dirt ignored", |b| {
        b.submodule().git_in("work/dir/module", &["checkout", "-q", "HEAD~1"]).git(&["config", "diff.ignoreSubmodules", "dirty"]);
        b.git(&["config", "-f", ".git/modules/dir/module/config", "core.worktree", "../nowhere"]);
    };
    "submodules with and without a name, with other commits and with changes", |b| {
        everything(b);
        b.git(&["submodule", "--quiet", "add", "{ROOT}/library", "second"]).git(&["clone", "-q", "{ROOT}/library", "third"]);
        b.git(&["add", "-A"]).commit("more").write("second/file", "x\n");
        b.git_in("work/third", &["checkout", "-q", "HEAD~1"]).write("third/file", "x\n");
        b.git_in("work/dir/module", &["checkout", "-q", "-f", "main"]).write("dir/module/file", "x\n");
    };
    "submodule of which all is ignored, only intended to be added", |b| {
        b.submodule().git(&["config", "-f", ".gitmodules", "submodule.dir/module.ignore", "all"]).git(&["reset", "-q", "-N", "HEAD~1"]);
    };
    "submodule summary", |b| { everything(b); b.git(&["config", "status.submoduleSummary", "true"]); };
}

fn everything(b: &mut Builder) {
    b.submodule()
        .git_in("work/dir/module", &["checkout", "-q", "HEAD~1"]);
    b.write("dir/module/file", "x\n")
        .write("dir/module/new", "x\n");
}
