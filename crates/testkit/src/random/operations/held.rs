//! Files written through a descriptor that stays open, or through a mapping.

use bstr::BString;

use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "hold a file open", 3, hold;
    "write to the file that is held open", 5, write;
    "hold a file open, rename it, and write to it", 2, |m| {
        let (from, to) = (m.file(), m.file());
        if !m.links {
            m.act(Action::Hold { path: at(&from) });
            m.act(Action::Rename { from: at(&from), to: at(&to) });
            write(m);
        }
    };
    "hold a file open, rename a tree, and write to it", 2, |m| {
        hold(m);
        let (from, to) = (m.directory(), m.directory());
        m.act(Action::Rename { from: at(&from), to: at(&to) });
        write(m);
    };
    "close the file that is held open", 1, |m| m.act(Action::Release);
    "write through a mapping", 2, |m| { let path = at(&m.file()); m.act(Action::WriteMapped { path }); };
}

fn at(path: &[u8]) -> BString {
    join(b"work", path)
}

fn hold(m: &mut Maker) {
    let path = at(&m.file());
    if !m.links {
        m.act(Action::Hold { path });
    }
}

fn write(m: &mut Maker) {
    let data = m.rng.pick(&["held\n", "x", "\0"]).into();
    m.act(Action::WriteHeld { data });
}
