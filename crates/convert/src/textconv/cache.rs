//! git's cache of conversions (`diff.<driver>.cachetextconv`, gitattributes(5)): notes, each for one blob, in the history of
//! `refs/notes/textconv/<driver>`. They are valid as long as the subject of the newest commit is the command.
//!
//! The cache is only read. Without it, running the command gives the same result.

use bstr::{BStr, ByteSlice};
use gix_hash::{ObjectId, oid};

use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_objects::commit::subject;
use vigil_objects::tree::{self, Key};

/// Looks up the output of `driver`'s `command` for the object `id`. Whatever cannot be read counts as not cached.
pub(super) fn look_up(
    (refs, objects): (&Refs, &Objects),
    driver: &BStr,
    command: &BStr,
    id: &oid,
) -> Option<Vec<u8>> {
    let name = [b"refs/notes/textconv/", driver.as_bytes()].concat();
    let newest = refs.resolve(name.as_bstr()).ok()??;
    let (newest, _) = objects.peel(&newest).ok()??;
    let commit = objects.commit(&newest).ok()?;
    if subject(&commit.message).trim_ascii() != command.as_bytes() {
        return None;
    }
    let note = note(objects, commit.tree, id)?;
    let mut contents = Vec::new();
    objects.read(&note, &mut contents).ok()??;
    Some(contents)
}

/// Returns the note for `id`: its path is the id, split into directories of two digits each, at any depth.
fn note(objects: &Objects, mut tree: ObjectId, id: &oid) -> Option<ObjectId> {
    let hex = id.to_string();
    let mut rest = hex.as_bytes();
    let mut buf = Vec::new();
    loop {
        buf.clear();
        objects.tree(&tree, &mut buf).ok()?;
        let mut folder = None;
        for entry in tree::entries(&buf, id.kind()) {
            let entry = entry.ok()?;
            let Key { name, is_dir } = entry.key;
            if name == rest && !is_dir {
                return Some(entry.id);
            }
            if name.len() == 2 && rest.starts_with(name) && is_dir {
                folder = Some(entry.id);
            }
        }
        tree = folder?;
        rest = rest.get(2..)?;
    }
}
