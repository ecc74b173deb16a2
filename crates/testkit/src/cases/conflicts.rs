//! Conflicts in all seven combinations of stages.

use super::builder::Builder;
use super::case::cases;
use crate::action::Action;

cases! {
    "all stages, no files", |b| { stages(b, false); };
    "all stages, all files", |b| { stages(b, true); };
    "all stages, beside merged entries", |b| {
        stages(b, true);
        let merged = (1..8).fold(String::new(), |all, number| all + &format!("100644 {LINE} 0\tdir/v{number}\n"));
        b.git_input(&["update-index", "--index-info"], merged);
        for number in 1..8_u32 {
            b.write(format!("dir/v{number}"), if number % 2 == 0 { "line\n" } else { "changed\n" });
        }
        b.git_stops(&["update-index", "-q", "--refresh"]).git_input(&["update-index", "--index-info"], all_stages("dir/v"));
        b.remove("dir/v5").remove("dir/v6");
    };
    "all stages, beside committed entries", |b| {
        b.empty().write(".gitattributes", "");
        for number in 1..8_u32 {
            b.write(format!("v{number}"), "line\n");
        }
        b.commit("base").git_input(&["update-index", "--index-info"], all_stages("v"));
        b.write("v2", "changed\n").remove("v3").remove("v6").link("v6", "v1");
    };
    "stages of submodules beside merged entries", |b| {
        b.submodule().git_input(&["update-index", "--index-info"], format!("160000 {ID} 1\ta\n160000 {ID} 2\ta\n160000 {ID} 2\tdir/module\n160000 {ID} 3\tb\n"));
        b.remove("b").directory("b");
    };
    "stages beside a merged entry that was renamed", |b| {
        b.base().git_input(&["update-index", "--index-info"], format!("100644 {ID} 3\ta\n160000 {ID} 1\tb\n"));
        b.remove("b").write("b/in", "x\n").rename("a", "new").git(&["add", "-N", "new"]);
        b.git_input(&["update-index", "--index-info"], format!("100644 {ID} 3\ta\n"));
    };
    "stages beside a merged entry, no commit", |b| {
        b.empty().write("a", "a\n").write("b", "b\n").git(&["add", "-A"]);
        b.git_input(&["update-index", "--index-info"], format!("100644 {ID} 1\ta\n100644 {ID} 3\tb\n")).write("b", "changed\n");
    };
    "merged and in conflict at once, like a file that is gone", |b| {
        b.base().write("old", "one\ntwo\n").write("new", "one\ntwo\n").write("like", "one\ntwo\nthree\n").commit("alike");
        b.git_input(&["update-index", "--index-info"], format!("100755 {ID} 3\tnew\n100644 {ID} 1\tlike\n")).remove("old");
    };
    "merged and in conflict at once, like a file that changed", |b| {
        b.base().write("old", "one\ntwo\n").write("new", "one\ntwo\n").commit("alike").git(&["config", "status.renames", "copies"]);
        b.git_input(&["update-index", "--index-info"], format!("100755 {ID} 3\tnew\n")).write("old", "one\ntwo\nthree\n");
    };
    "stages of links and programs", |b| {
        b.base().git_input(&["update-index", "--index-info"], format!("120000 {0} 1\tx\n100755 {0} 2\tx\n100644 {0} 3\tx\n", ID));
        b.mode("a", 0o755).link("x", "a");
    };
    "stages of a submodule", |b| {
        b.submodule().git(&["rm", "-q", "--cached", "dir/module"]);
        b.git_input(&["update-index", "--index-info"], format!("160000 {ID} 2\tdir/module\n160000 {ID} 3\tdir/module\n"));
    };
    "added on both sides, a submodule as it is, and a file that is gone", |b| {
        b.base().library().git(&["checkout", "-q", "-b", "topic"]).git(&["clone", "-q", "{ROOT}/library", "dir/module"]);
        b.git_in("work/dir/module", &["checkout", "-q", "HEAD~1"]).commit("theirs").git(&["checkout", "-q", "main"]);
        b.git_in("work/dir/module", &["checkout", "-q", "-"]).commit("ours").git_stops(&["merge", "-q", "topic"]).remove("a");
    };
    "stages of a file behind a link to itself", |b| {
        b.base().git_input(&["update-index", "--index-info"], format!("160000 {ID} 2\tloop/x\n100755 {ID} 3\tloop/x\n"));
        b.link("loop", "loop");
    };
    "renamed on both sides", |b| {
        b.base().git(&["checkout", "-q", "-b", "topic"]).git(&["mv", "a", "theirs"]).commit("theirs");
        b.git(&["checkout", "-q", "main"]).git(&["mv", "a", "ours"]).commit("ours").git_stops(&["merge", "-q", "topic"]);
    };
    "conflict that has what another file had", |b| {
        b.base().git(&["checkout", "-q", "-b", "topic"]).git(&["mv", "a", "theirs"]).commit("theirs");
        b.git(&["checkout", "-q", "main"]).git(&["mv", "a", "ours"]).commit("ours").git_stops(&["merge", "-q", "topic"]);
        b.act(Action::Copy { from: "work/dir/c".into(), to: "work/theirs".into() }).remove("dir/c");
    };
    "conflict of a link and a file, without links", |b| {
        b.base().git(&["config", "core.symlinks", "false"]).git(&["update-index", "--force-remove", "a"]);
        b.git_input(&["update-index", "--index-info"], format!("120000 {ID} 1\ta\n100644 {ID} 2\ta\n"));
    };
    "conflict of a link and a submodule, without links", |b| {
        b.base().git(&["config", "core.symlinks", "false"]).git(&["update-index", "--force-remove", "a"]);
        b.git_input(&["update-index", "--index-info"], format!("120000 {ID} 1\ta\n160000 {ID} 2\ta\n"));
    };
    "conflict of a program and a submodule, without modes", |b| {
        b.base().git(&["config", "core.fileMode", "false"]).git(&["update-index", "--force-remove", "a"]);
        b.git_input(&["update-index", "--index-info"], format!("100755 {ID} 1\ta\n160000 {ID} 2\ta\n"));
    };
    "conflict of a socket with a file that is gone", |b| {
        b.base().remove("a").git_input(&["update-index", "--index-info"], format!("100755 {ID} 1\tz\n100644 {ID} 3\tz\n"));
        b.act(Action::Socket { path: "work/z".into() });
    };
    "conflict of a link and a submodule, a directory", |b| {
        b.base().git_input(&["update-index", "--index-info"], format!("120000 {ID} 1\tdir/z\n160000 {ID} 3\tdir/z\n"));
        b.write("dir/z/inside", "x\n");
    };
    "conflicts of a file and a submodule, asked for as directories", |b| {
        b.base().git_input(&["update-index", "--index-info"], format!("0 {ID}\tdir/c\n100644 {ID} 1\tdir/c\n160000 {ID} 3\tdir/c\n160000 {ID} 2\tdir/new\n100644 {ID} 3\tdir/new\n"));
        b.remove("dir/c").directory("dir/c").directory("dir/new");
    };
    "conflicts of a file and a submodule, asked for as directories, no commit", |b| {
        b.empty().git_input(&["update-index", "--index-info"], format!("100644 {ID} 1\tdir/new\n160000 {ID} 2\tdir/new\n100644 {ID} 3\tdir/new\n"));
    };
    "conflict that a copy outside of the pathspec could come from", |b| {
        b.base().git(&["config", "status.renames", "copies"]).write("copy", super::builder::lines("c")).git(&["add", "copy"]);
        b.git_input(&["update-index", "--index-info"], format!("0 {ID}\tdir/c\n100644 {ID} 1\tdir/c\n"));
    };
    "conflict of a file and our submodule, directories", |b| {
        b.base().git_in(".", &["init", "-q", "work/dir/y"]).write("dir/y/untracked", "x\n").directory("dir/z");
        b.git_input(&["update-index", "--index-info"], format!("100644 {ID} 1\tdir/y\n160000 {ID} 2\tdir/y\n100755 {ID} 1\tdir/z\n160000 {ID} 2\tdir/z\n"));
    };
    "conflicts of submodules, one of them gone, all ignored", |b| {
        b.base().git(&["config", "diff.ignoreSubmodules", "all"]).directory("dir/z");
        b.git_input(&["update-index", "--index-info"], format!("160000 {ID} 2\tdir/y\n160000 {ID} 3\tdir/z\n"));
    };
    "conflict of their submodule, where copies are searched", |b| {
        b.base().git(&["config", "status.renames", "copies"]).directory("dir/z");
        b.git_input(&["update-index", "--index-info"], format!("160000 {ID} 3\tdir/z\n"));
    };
    "conflict of a submodule with a directory", |b| {
        b.base().git_input(&["update-index", "--index-info"], format!("160000 {ID} 1\tdir\n100644 {ID} 2\tdir\n"));
        b.write("dir/inside", "x\n").write("dir/sub/d", "x\n").write("dir/sub/new.o", "x\n").write(".gitignore", "*.o\n");
    };
    "conflict of a submodule with a directory, regardless of case", |b| {
        b.base().git(&["config", "core.ignoreCase", "true"]);
        b.git_input(&["update-index", "--index-info"], format!("160000 {ID} 1\tdir\n160000 {ID} 1\tDIR/sub\n"));
        b.write("dir/inside", "x\n").write("dir/sub/new", "x\n");
    };
    "conflict of a socket with an empty file that is gone", |b| {
        b.base().write("empty", "").commit("empty").remove("empty");
        b.git_input(&["update-index", "--index-info"], format!("100644 {ID} 1\tz\n")).act(Action::Socket { path: "work/z".into() });
    };
    "file against directory", |b| {
        b.base().git(&["checkout", "-q", "-b", "topic"]).write("x/y", "y\n").commit("theirs");
        b.git(&["checkout", "-q", "main"]).write("x", "x\n").commit("ours").git_stops(&["merge", "-q", "topic"]);
    };
    "deleted against changed", |b| {
        b.base().git(&["checkout", "-q", "-b", "topic"]).remove("a").commit("theirs");
        b.git(&["checkout", "-q", "main"]).write("a", "x\n").commit("ours").git_stops(&["merge", "-q", "topic"]);
    };
    "added on both sides", |b| {
        b.base().git(&["checkout", "-q", "-b", "topic"]).write("n", "t\n").commit("theirs");
        b.git(&["checkout", "-q", "main"]).write("n", "o\n").commit("ours").git_stops(&["merge", "-q", "topic"]);
    };
}

/// The id of an object that does not exist, as stages need none.
const ID: &str = "1234567890123456789012345678901234567890";

/// The id of the blob "line".
const LINE: &str = "a999a0c211215fd28e77d6a7c66ade6ec76ccbcb";

fn stages(b: &mut Builder, with_files: bool) {
    b.base();
    if with_files {
        for combination in 1..8_u32 {
            b.write(format!("dir/u{combination}"), "<<<<<<<\n");
        }
    }
    b.git_input(&["update-index", "--index-info"], all_stages("dir/u"));
}

/// The stages of seven paths, which begin with `path`.
fn all_stages(path: &str) -> String {
    let mut input = String::new();
    for combination in 1..8_u32 {
        for stage in (1..=3).filter(|stage| combination & (1 << (stage - 1)) != 0) {
            input.push_str(&format!("100644 {ID} {stage}\t{path}{combination}\n"));
        }
    }
    input
}
