//! Renames and copies.

use super::builder::lines;
use super::case::cases;

cases! {
    "renamed", |b| { b.base().git(&["mv", "a", "z"]).git(&["mv", "dir/c", "c"]); };
    "renamed and changed", |b| { b.base().git(&["mv", "a", "z"]).write("z", lines("a").replace("line 3", "changed")).git(&["add", "z"]).write("z", "more\n"); };
    "renamed and changed too much", |b| { b.base().git(&["mv", "a", "z"]).write("z", "entirely\nother\n").git(&["add", "z"]); };
    "tree renamed", |b| { b.base().git(&["mv", "dir", "moved"]); };
    "renamed to one of several", |b| { b.base().remove("a").write("z1", lines("a")).write("z2", lines("a")).write("sub/a", lines("a")).git(&["add", "-A"]); };
    "renamed from one of several", |b| { b.base().write("a2", lines("a")).commit("a2").remove("a").remove("a2").write("z", lines("a")).git(&["add", "-A"]); };
    "swapped", |b| { b.base().git(&["mv", "a", "t"]).git(&["mv", "b", "a"]).git(&["mv", "t", "b"]); };
    "copied from what is unchanged, copies configured", |b| { b.base().git(&["config", "diff.renames", "copies"]).write("copy", lines("a")).write("copy 2", lines("b") + "more\n").write("b", "changed\n").git(&["add", "-A"]); };
    "copied", |b| { b.base().git(&["config", "status.renames", "copies"]).write("copy", lines("a")).write("a", "changed\n").git(&["add", "-A"]); };
    "no renames by setting", |b| { b.base().git(&["config", "diff.renames", "false"]).git(&["mv", "a", "z"]); };
    "too many to look for", |b| {
        b.base();
        for number in 0..6 {
            b.write(format!("r{number}"), lines(&format!("text {number}")));
        }
        b.commit("r").git(&["config", "diff.renameLimit", "2"]);
        for number in 0..6 {
            b.remove(format!("r{number}")).write(format!("s{number}"), lines(&format!("text {number}")).replace("line 1 ", "changed "));
        }
        b.git(&["add", "-A"]);
    };
    "empty files renamed", |b| { b.base().write("e", "").commit("e").git(&["mv", "e", "f"]); };
    "renamed and made executable", |b| { b.base().git(&["mv", "a", "z"]).mode("z", 0o755).git(&["add", "z"]); };
    "renamed over a file", |b| { b.base().git(&["mv", "-f", "a", "b"]); };
}
