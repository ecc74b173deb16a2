//! Which ignore rule wins.

use super::case::cases;
use crate::action::Action;

cases! {
    "ignore files of all levels", |b| {
        b.base().write(".gitignore", "*.o\n!keep.o\n").write("dir/.gitignore", "!x.o\nlocal\n").write(".git/info/exclude", "keep.o\nex\n");
        b.act(Action::write("home/.config/git/ignore", "global\n!ex\n"));
        for name in ["x.o", "keep.o", "ex", "global", "local"] {
            b.write(name, "").write(format!("dir/{name}"), "").write(format!("dir/sub/{name}"), "");
        }
    };
    "negation below an ignored directory", |b| {
        b.base().write(".gitignore", "build\n!build/keep\nout/*\n!out/keep\n").write("build/keep", "").write("build/x", "");
        b.write("out/keep", "").write("out/x", "").write("dir/out/x", "");
    };
    "tracked files in an ignored directory", |b| {
        b.base().write(".gitignore", "dir/\n").write("dir/new", "").write("dir/sub/new", "").write("dir/new2/x", "").write("dir/c", "changed\n");
    };
    "everything ignored", |b| { b.base().write(".gitignore", "*\n").write("n", "").write("newdir/n", "").directory("empty"); };
    "only some kinds not ignored", |b| {
        b.base().write(".gitignore", "*\n!*/\n!*.c\n").write("x.c", "").write("x.h", "").write("n/x.c", "").write("n/m/x.h", "").write("h/x.h", "");
    };
    "anchors, stars and escapes", |b| {
        b.base().write(".gitignore", "/top\ndir/in\nx/\n**/deep\ns/**/e\n\\!bang\n\\#hash\ntrail\\ \nstrip  \n[ab]1\n?\nq**\n");
        for name in ["top", "in", "x", "deep", "!bang", "#hash", "trail ", "strip", "a1", "c1", "z", "qqq", "s/e", "s/1/2/e"] {
            b.write(name, "").write(format!("dir/{name}"), "");
        }
    };
    "line ends and a mark in ignore files", |b| {
        b.base().write(".gitignore", "\u{feff}marked\ncrlf\r\nlast").write("dir/.gitignore", "");
        b.write("marked", "").write("crlf", "").write("crlf\r", "").write("last", "");
    };
    "ignore file that is a link", |b| {
        b.base().act(Action::write("rules", "*.o\n")).link(".gitignore", "../rules").write("x.o", "").write("dir/x.o", "");
    };
    "ignore file that is a directory", |b| { b.base().directory("dir/.gitignore").write("dir/n", ""); };
    "excludes file", |b| {
        b.base().act(Action::write("rules", "*.o\n")).git(&["config", "core.excludesFile", "{ROOT}/rules"]).write("x.o", "").write(".gitignore", "!dir/x.o\n").write("dir/x.o", "");
    };
    "case does not matter", |b| {
        b.base().git(&["config", "core.ignoreCase", "true"]).write(".gitignore", "*.LOG\n/Build\n").write("x.log", "").write("build/x", "").write("A", "").write("DIR/new", "");
    };
    "empty and ignored directories", |b| {
        b.base().directory("empty/a/b").directory("dir/empty").write(".gitignore", "*.o\n").write("only/x.o", "").write("mixed/x.o", "").write("mixed/y", "").write("dir/only/x.o", "");
    };
    "ignored directory with untracked cache", |b| {
        b.base().git(&["update-index", "--force-untracked-cache"]).write(".gitignore", "*.o\n").write("n/x.o", "").write("n/y", "").git(&["status"]);
        b.write("n/z", "").remove("n/y");
    };
}
