//! Files written through a descriptor that stays open, or through a mapping.

use super::files::path_from_root;
use super::operation::table;
use crate::action::Action;
use crate::random::maker::Maker;

table! {
    "hold a file open", 3, hold_file_open;
    "write to the file that is held open", 5, write_held_file;
    "hold a file open, rename it, and write to it", 2, |m| {
        let (from, to) = (m.file(), m.file());
        if !m.links {
            m.act(Action::Hold { path: path_from_root(&from) });
            m.act(Action::Rename { from: path_from_root(&from), to: path_from_root(&to) });
            write_held_file(m);
        }
    };
    "hold a file open, rename a tree, and write to it", 2, |m| {
        hold_file_open(m);
        let (from, to) = (m.directory(), m.directory());
        m.act(Action::Rename { from: path_from_root(&from), to: path_from_root(&to) });
        write_held_file(m);
    };
    "close the file that is held open", 1, |m| m.act(Action::Release);
    "write through a mapping", 2, |m| { let path = path_from_root(&m.file()); m.act(Action::WriteMapped { path }); };
}

fn hold_file_open(m: &mut Maker) {
    let path = path_from_root(&m.file());
    if !m.links {
        m.act(Action::Hold { path });
    }
}

fn write_held_file(m: &mut Maker) {
    let data = m.rng.pick(&["held\n", "x", "\0"]).into();
    m.act(Action::WriteHeld { data });
}
