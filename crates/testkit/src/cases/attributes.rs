//! Line endings, encodings and filters.

use super::builder::Builder;
use super::case::cases;

cases! {
    "line ends converted", |b| { ends(b, "core.autocrlf", "true"); };
    "line ends converted on input", |b| { ends(b, "core.autocrlf", "input"); };
    "line ends by attribute", |b| { b.base().write(".gitattributes", "*.txt text eol=crlf\n*.bin -text\n").commit("attributes"); text(b); };
    "text by guess", |b| { b.base().write(".gitattributes", "* text=auto\n").commit("attributes"); text(b); };
    "attributes that changed", |b| { b.base(); text(b); b.commit("text").write(".gitattributes", "* text=auto\n").time("crlf.txt", 5); };
    "idents", |b| { b.base().write(".gitattributes", "* ident\n").write("i", "$Id$\n").commit("i").write("i", "$Id: expanded $\n").write("a", "$Id$\n"); };
    "filter", |b| {
        b.base().write(".gitattributes", "*.up filter=upper\n").git(&["config", "filter.upper.clean", "tr a-z A-Z"]).write("x.up", "text\n").commit("x");
        b.write("x.up", "TEXT\n").write("dir/y.up", "y\n");
    };
    "filter that is not there", |b| { b.base().write("x.up", "text\n").write(".gitattributes", "*.up filter=none\n").commit("x").write("x.up", "next\n"); };
    "filter that fails", |b| {
        b.base().write("x.up", "text\n").write(".gitattributes", "*.up filter=fails\n").commit("x").git(&["config", "filter.fails.clean", "false"]).write("x.up", "next\n").time("x.up", 3);
    };
    "filter that must not fail, of a new file that may have been renamed", |b| {
        b.base().write("old", "one\ntwo\nthree\n").commit("old").remove("old").write("new.up", "one\ntwo\nfour\n").git(&["add", "-N", "new.up"]);
        b.write(".gitattributes", "*.up filter=fails\n").git(&["config", "filter.fails.clean", "false"]).git(&["config", "filter.fails.required", "true"]);
    };
    "encoding without a name, of a new file that may have been renamed", |b| {
        b.base().write("old", "one\ntwo\nthree\n").commit("old").remove("old").write("new.up", "one\ntwo\nfour\n").git(&["add", "-N", "new.up"]);
        b.write(".gitattributes", "*.up working-tree-encoding\n");
    };
    "filter that fails, of a new file that may have been renamed", |b| {
        b.base().write("old", "one\ntwo\nthree\n").commit("old").remove("old").write("new.up", "one\ntwo\nfour\n").git(&["add", "-N", "new.up"]);
        b.write(".gitattributes", "*.up filter=fails\n").git(&["config", "filter.fails.clean", "false"]);
    };
    "filter that must not fail", |b| {
        b.base().write("x.up", "text\n").write(".gitattributes", "*.up filter=fails\n").commit("x").git(&["config", "filter.fails.clean", "false"]);
        b.git(&["config", "filter.fails.required", "true"]).write("x.up", "next\n").time("x.up", 3);
    };
    "encodings", |b| {
        b.base().write(".gitattributes", "*.u working-tree-encoding=UTF-16LE-BOM\n").write("x.u", b"\xff\xfea\0\n\0".as_slice()).commit("u");
        b.write("x.u", b"\xff\xfea\0\n\0".as_slice()).time("x.u", 3).write("y.u", "no mark\n");
    };
    "attributes of all levels", |b| {
        b.base().write(".gitattributes", "* text\n[attr]mine -text\n").write("dir/.gitattributes", "* mine\n").write(".git/info/attributes", "dir/sub/* text eol=crlf\n");
        b.write("crlf", "a\r\n").write("dir/crlf", "a\r\n").write("dir/sub/crlf", "a\r\n").commit("crlf").write("crlf", "a\n").write("dir/crlf", "a\n").write("dir/sub/crlf", "a\n");
    };
    "attributes of an older commit", |b| {
        b.base().write(".gitattributes", "* text=auto\n").commit("attributes").write(".gitattributes", "* -text\n").commit("none");
        b.git(&["config", "attr.tree", "HEAD~1"]).write("a", "crlf\r\n").git(&["add", "a"]).write("b", "mixed\r\nlf\n").time("b", 3);
    };
    "unsafe line ends", |b| { b.base().git(&["config", "core.autocrlf", "true"]).git(&["config", "core.safecrlf", "true"]).write("a", "lf\n").write("b", "mixed\r\nlf\n"); };
}

fn text(b: &mut Builder) {
    b.write("lf.txt", "a\nb\n")
        .write("crlf.txt", "a\r\nb\r\n")
        .write("mixed.txt", "a\r\nb\n")
        .write("x.bin", "a\r\n\0");
}

/// Files whose line endings change after they were committed with a setting.
fn ends(b: &mut Builder, name: &str, value: &str) {
    b.base();
    text(b);
    b.commit("before").git(&["config", name, value]);
    b.write("lf.txt", "a\r\nb\r\n")
        .write("crlf.txt", "a\nb\n")
        .write("mixed.txt", "a\nb\r\n")
        .write("x.bin", "a\n\0");
}
