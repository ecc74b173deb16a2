//! States that only the contents reveal, or only the times.

use super::builder::Builder;
use super::case::cases;
use crate::action::Action;

cases! {
    "changed in the index's tick", |b| { racy(b, 10, "two\n"); };
    "changed and changed back in the index's tick", |b| { racy(b, 10, "one\n"); };
    "changed in the tick before the index", |b| { racy(b, 11, "two\n"); };
    "changed in the index's tick, ctime not trusted", |b| { b.empty().git(&["config", "core.trustctime", "false"]); racy(b, 10, "two\n"); };
    "changed in the index's second, minimal stat", |b| { b.empty().git(&["config", "core.checkStat", "minimal"]); racy(b, 60, "two\n"); };
    "changed unseen, ctime not trusted", |b| { b.empty().git(&["config", "core.trustctime", "false"]); racy(b, 10_000, "two\n"); };
    "racy entries in a rewritten index", |b| { racy(b, 10, "two\n"); b.write("n", "n\n").git(&["add", "n"]); };
    "racy and emptied", |b| { racy(b, 10, ""); };
    "empty files, racy", |b| {
        b.base().write("e", "").time("e", 10).git(&["add", "e"]).time(".git/index", 10).write("e", "not\n").time("e", 10);
    };
    "changed within the second, and long before the index", |b| {
        b.base().time("a", 10).git(&["add", "a"]).act(Action::RewriteUnseen { path: "work/a".into(), data: None });
    };
    "touched", |b| { b.base().time("a", 5).time("dir/c", 7).time(".git/index", 3); };
    "index older than all", |b| { b.base().write("a", "changed\n").time(".git/index", 0); };
    "index of time zero", |b| {
        b.base().act(Action::SetTime { path: "work/.git/index".into(), nanoseconds: 0 }).write("a", "x\n");
    };
    "files from the future", |b| { b.base().time("a", 1_000_000_000_000).git(&["add", "a"]).write("a", "x\n").time("a", 1_000_000_000_000); };
}

/// Records `f` as `one`, then rewrites it to `data` with the same mtime. The index has the mtime
/// `index_ticks`.
fn racy(b: &mut Builder, index_ticks: u64, data: &str) {
    b.empty()
        .files()
        .write("f", "one\n")
        .time("f", 10)
        .commit("base")
        .time(".git/index", index_ticks);
    b.act(Action::RewriteUnseen {
        path: "work/f".into(),
        data: Some(data.into()),
    });
}
