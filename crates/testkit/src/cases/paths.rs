//! Paths that are long, deep, numerous or not text, and entries that are not regular files.

use super::case::cases;
use crate::action::Action;

cases! {
    "order file that is not there", |b| { b.base().git(&["config", "diff.orderFile", "/vigil-missing"]).write("a", "x\n"); };
    "order file that is not there, on an unborn branch", |b| { b.empty().files().git(&["add", "-A"]).git(&["config", "diff.orderFile", "~"]); };
    "names that are hard to read", |b| {
        b.base();
        for name in NAMES {
            b.write(name, "x\n");
        }
        b.git(&["add", "-A"]).git(&["commit", "-q", "-m", "names"]);
        for name in NAMES {
            b.write(name, "changed\n").write([name, &b" new"[..]].concat(), "").write([b"dir/", *name, b"/x"].concat(), "");
        }
    };
    "names that are not quoted", |b| { b.base().git(&["config", "core.quotePath", "false"]).write("caf\u{e9}", "").write("tab\t\u{e9}", "").write(b"\xff", ""); };
    "names before and after a slash", |b| {
        b.empty();
        for name in ["x", "x-", "x.", "x0", "y/1", "y-/1", "y./1", "y0/1"] {
            b.write(name, "x\n");
        }
        b.commit("names").remove("x").write("x/in", "i\n").remove("y").write("y", "f\n").write("x-", "c\n").write("x.new", "");
    };
    "composed and decomposed", |b| { b.base().write("caf\u{e9}", "1\n").write("cafe\u{301}", "2\n").commit("both").write("caf\u{e9}", "3\n").remove("cafe\u{301}"); };
    "200 levels deep", |b| { let path = "d/".repeat(200); b.base().write(format!("{path}f"), "x\n").commit("deep").write(format!("{path}f"), "y\n").write(format!("{path}g"), ""); };
    "path of 4,000 bytes", |b| {
        let path = format!("{}/", "p".repeat(199)).repeat(19);
        b.base().write(format!("{path}{}", "t".repeat(200)), "x\n").commit("long").write(format!("{path}{}", "t".repeat(200)), "y\n").write(format!("{path}{}", "u".repeat(199)), "");
    };
    "directory of 20,000 files", |b| {
        b.base().act(Action::ManyFiles { path: "work/many".into(), count: 20_000 }).commit("many").write("many/f777", "x").remove("many/f19999").write("many/g", "");
    };
    "untracked directory of 20,000 files", |b| { b.base().act(Action::ManyFiles { path: "work/many".into(), count: 20_000 }); };
    "links that loop", |b| {
        b.base().link("loop", "loop").link("one", "two").link("two", "one").link("dir/up", "..").link("here", ".").link("missing", "nowhere");
        b.git(&["add", "loop", "dir/up"]).link("dir/new", "/vigil-missing").link("todir", "dir");
    };
    "link to itself in place of a directory", |b| { b.base().remove("dir").link("dir", "dir/c"); };
    "link to itself behind a link", |b| { b.base().remove("dir/sub").link("dir/sub", "sub").rename("dir", "moved").link("dir", "moved"); };
    "links in place of files", |b| { b.base().remove("a").link("a", "b").remove("dir").link("dir", "dir.x").remove("dir-x").link("dir-x", "nowhere"); };
    "links to a moved directory", |b| { b.base().rename("dir", "moved").link("dir", "moved"); };
    "links as files", |b| { b.base().link("l", "a").commit("l").git(&["config", "core.symlinks", "false"]).remove("l").write("l", "a").link("m", "a"); };
    "files in place of links", |b| { b.base().link("l", "a").link("m", "b").commit("l").remove("l").write("l", "a").remove("m").link("m", "c"); };
    "files in place of directories", |b| { b.base().remove("dir").write("dir", "x\n").remove("a").write("a/x", "x\n").remove("b").directory("b"); };
    "staged: file in place of a directory", |b| { b.base().remove("dir").write("dir", "x\n").remove("a").write("a/x", "x\n").git(&["add", "-A"]); };
    "pipes and sockets", |b| {
        b.base().remove("a").act(Action::Fifo { path: "work/a".into() }).act(Action::Fifo { path: "work/dir/pipe".into() });
        b.remove("b").act(Action::Socket { path: "work/b".into() }).act(Action::Socket { path: "work/only/socket".into() });
    };
    "pathspec-like names", |b| { b.base().write(":(top)x", "x\n").write("*", "x\n").write("-u", "x\n").write("dir/?", "x\n"); };
}

/// Names with quotes, control characters, and bytes that are not UTF-8.
const NAMES: &[&[u8]] = &[
    b"sp ace",
    b" lead",
    b"trail ",
    b"tab\t",
    b"new\nline",
    b"quo\"te",
    b"back\\slash",
    b"\x01\x7f",
    b"\xff\xfe\xfd",
    b"\xc3\xa9",
    b"-dash",
    b"*",
    b"[x]",
    b"#",
    b"!",
    b"a -> b",
    b"\xe2\x80\x8b",
];

#[cfg(test)]
mod tests {
    #[test]
    fn the_long_path_is_long() {
        let path = format!("{}/", "p".repeat(199)).repeat(19);
        assert_eq!(path.len() + 200, 4000);
    }
}
