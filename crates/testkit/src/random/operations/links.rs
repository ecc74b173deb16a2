//! Files with more than one name.
//!
//! A watch on a folder does not report that a file in it got another name elsewhere, so each such file is touched too.

use bstr::BString;

use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "link a file to another name", 2, |m| { let to = join(b"work", &m.file()); make_link(m, to); };
    "link a file to a name outside", 3, |m| { let to = path_outside(m); make_link(m, to); };
    "link a file from outside", 3, |m| {
        if m.links {
            let (from, to) = (path_outside(m), join(b"work", &m.file()));
            let data = m.content();
            m.act(Action::write(from.clone(), data));
            m.act(Action::Remove { path: to.clone() });
            m.act(Action::HardLink { from, to });
        }
    };
    "write to a file by its name outside", 6, |m| {
        let path = path_outside(m);
        let data = m.content();
        m.act(Action::RewriteUnseen { path, data: Some(data) });
    };
    "change a file unseen by its name outside", 4, |m| {
        let path = path_outside(m);
        m.act(Action::RewriteUnseen { path, data: None });
    };
    "remove a file's name outside", 2, |m| { let path = path_outside(m); m.act(Action::Remove { path }); };
}

/// A random name outside of the working tree.
fn path_outside(m: &mut Maker) -> BString {
    m.rng.pick(&["outside/x", "outside/y", "outside/z"]).into()
}

fn make_link(m: &mut Maker, to: BString) {
    if m.links {
        let from = join(b"work", &m.file());
        if to.starts_with(b"outside/") {
            m.act(Action::Remove { path: to.clone() });
        }
        m.act(Action::HardLink {
            from: from.clone(),
            to,
        });
        m.act(Action::SetMode {
            path: from,
            mode: 0o644,
        });
    }
}
