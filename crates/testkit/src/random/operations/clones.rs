//! Replaces the working copy by a clone of itself that lacks some of the history, or borrows it.

use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;

table! {
    "become a shallow clone", 1, |m| replace_by_clone(m, &["--no-local", "--depth=1", "--no-single-branch"]);
    "become a shallow clone of two commits", 1, |m| replace_by_clone(m, &["--no-local", "--depth=2"]);
    "become a clone that borrows objects", 1, |m| replace_by_clone(m, &["--shared"]);
    "become a clone with a reference", 1, |m| replace_by_clone(m, &["--reference", "{ROOT}/library"]);
    "become a clone of all branches", 1, |m| replace_by_clone(m, &["--no-hardlinks", "--recurse-submodules"]);
    "become a clone without blobs", 1, |m| replace_by_partial_clone(m, "--filter=blob:none");
    "become a clone without trees", 1, |m| replace_by_partial_clone(m, "--filter=tree:0");
    "deepen the history", 1, |m| m.git(&["fetch", "-q", "--depth=3"]);
    "fetch all of the history", 1, |m| m.git(&["fetch", "-q", "--unshallow"]);
    "make the history shallow", 1, |m| {
        m.git(&["-c", "alias.x=!git rev-parse -q --verify HEAD~1 > /dev/null && git rev-parse HEAD~1 > \"$(git rev-parse --git-common-dir)/shallow\"", "x"]);
    };
}

/// A partial clone. Questions must not fetch, and older gits cannot be told so.
fn replace_by_partial_clone(m: &mut Maker, filter: &'static str) {
    if m.reftable {
        m.git(&["config", "uploadpack.allowFilter", "true"]);
        replace_by_clone(m, &["--no-local", filter]);
    }
}

/// Puts a clone of `work` in its place. The original stays next to it, since the clone may need it.
fn replace_by_clone(m: &mut Maker, options: &[&str]) {
    if m.git_directory != "work/.git" {
        return;
    }
    let source = m.fresh("source");
    let from = if options.contains(&"--no-local") {
        format!("file://{{ROOT}}/{source}")
    } else {
        format!("{{ROOT}}/{source}")
    };
    m.act(Action::Rename {
        from: "work".into(),
        to: source.as_str().into(),
    });
    m.git_in(".", &[&["clone", "-q"], options, &[&from, "work"]].concat());
    // If there was nothing to clone, everything stays as it was.
    m.act(Action::Rename {
        from: source.into(),
        to: "work".into(),
    });
}
