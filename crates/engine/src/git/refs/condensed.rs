//! References without those that no description of an object needs: of the lightweight tags of an object, all but the first.
//! Where thousands lead to few objects, they are remembered so (docs/state-file.md), as the text of a `packed-refs` file.
//!
//! It saves work and is never needed. It counts while each file that they were read from has the stamp recorded
//! ([`vigil_stamp::trust`]).

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
#[cfg(feature = "fuzzing")]
use gix_hash::Kind;
use gix_hash::{ObjectId, oid};
use vigil_linux::stat::stat_path;

use super::Error;
use super::listing::Held;
use super::loose::{Block, Memory};
use super::name;
use super::packed::Packed;
use super::tables::TableRefs;
use crate::git::commits::ById;
use crate::git::reftable::Record;
use crate::git::repository::Repository;
use vigil_model::bytes::{Reader, Writer};
use vigil_stamp::Stamp;
use vigil_stamp::file::Contents;

/// The references that are condensed, by the beginning of their names, and the block that holds them.
pub(super) const KEYS: [(&str, u32); 2] = [(TAGS, 3), ("refs/", 4)];

const TAGS: &str = "refs/tags/";

/// How large the files are at least, in bytes.
const LARGE: u64 = 64 << 10;

/// How many times smaller than they it has to be.
const GAIN: usize = 4;

/// How large it is at most, in bytes.
const TEXT_MAX: usize = 4 << 20;

/// What a block says.
struct Condensed<'b> {
    /// The files that all was read from.
    files: Vec<(&'b [u8], Stamp)>,
    /// As in `packed-refs`; empty if it is not worth it.
    text: &'b [u8],
}

impl<'b> Condensed<'b> {
    /// What `block` says, if it has the format.
    fn read(block: &'b [u8]) -> Option<Self> {
        let mut bytes = Reader(block);
        let mut files = Vec::new();
        for _ in 0..bytes.u32()? {
            let path = bytes.slice()?;
            files.push((path, Stamp::from_bytes(&bytes.array()?)));
        }
        let text = bytes.slice()?;
        bytes.0.is_empty().then_some(Self { files, text })
    }

    /// Whether it is of just these files, and each is as it was.
    fn is_of(&self, paths: &[&Path], memory: &Memory) -> bool {
        let is_same = |(path, (known, stamp)): (&&Path, &(&[u8], Stamp))| {
            path.as_os_str().as_bytes() == *known
                && memory.believes(stamp)
                && Stamp::of(path) == Ok(Some(*stamp))
        };
        !paths.is_empty()
            && paths.len() == self.files.len()
            && paths.iter().zip(&self.files).all(is_same)
    }
}

/// What `memory` has of the files `paths` for references whose names begin with `prefix`: just of these, or of more.
fn known<'m>(
    memory: &'m Memory,
    prefix: &BStr,
    paths: &[&Path],
) -> impl Iterator<Item = (&'static str, Condensed<'m>)> {
    let fitting = KEYS
        .iter()
        .filter(|(known, _)| prefix.starts_with(known.as_bytes()));
    fitting.filter_map(|(known, key)| {
        let condensed = Condensed::read(memory.general(*key))?;
        let is_current = condensed.is_of(paths, memory);
        is_current.then_some((*known, condensed))
    })
}

/// The references whose names begin with `prefix`, condensed, if they are remembered so, and the files `paths`, which hold
/// them, are as they were.
pub(super) fn find(memory: &Memory, prefix: &BStr, paths: &[&Path]) -> Option<Packed> {
    let (_, condensed) = known(memory, prefix, paths).find(|(_, known)| !known.text.is_empty())?;
    let text = Contents::Read(condensed.text.to_vec());
    Packed::parse(PathBuf::new(), text, memory.hash()).ok()
}

/// The block to be remembered of what `held` has under `prefix`, all of which is in `paths`. `None` if it is remembered, not
/// many, or cannot be remembered yet.
pub(super) fn block(
    held: &Held,
    prefix: &BStr,
    paths: &[&Path],
    memory: &Memory,
    repository: &Repository,
) -> Option<Block> {
    let (_, key) = KEYS.iter().find(|(known, _)| prefix == known.as_bytes())?;
    let is_enough = |(of, condensed): (&str, Condensed<'_>)| {
        prefix == of.as_bytes() || !condensed.text.is_empty()
    };
    if known(memory, prefix, paths).any(is_enough) {
        return None;
    }
    let stats = paths.iter().map(|path| stat_path(path).ok());
    let stats = stats.collect::<Option<Vec<_>>>()?;
    let size: u64 = stats.iter().map(|stat| stat.size).sum();
    if size < LARGE || held.may_learn_more(prefix) {
        return None;
    }
    let file_system = memory.file_system(repository)?;
    let mut out = Writer::default();
    out.u32(u32::try_from(paths.len()).ok()?);
    for (path, stat) in paths.iter().zip(&stats) {
        let stamp = memory.trusted(stat, file_system)?;
        out.bytes(path.as_os_str().as_bytes());
        out.array(&stamp.to_bytes());
    }
    let text = condensed(held, prefix).filter(|text| {
        text.len() <= TEXT_MAX && u64::try_from(text.len() * GAIN).is_ok_and(|least| least <= size)
    });
    out.bytes(&text.unwrap_or_default());
    Some((*key, out.0))
}

/// The text of what `held` has under `prefix`; `None` if there is more to it than such a text can say.
fn condensed(held: &Held, prefix: &BStr) -> Option<Vec<u8>> {
    let mut text = Text::default();
    match held {
        Held::Files { packed, .. } => {
            for record in packed.from(prefix) {
                let record = record.ok()?;
                if !record.name.starts_with(prefix) {
                    break;
                }
                text.add(record.name, &record.id, record.peeled)?;
            }
        }
        Held::Tables(tables) => text.add_tables(tables, prefix)?,
    }
    Some(text.whole())
}

/// The text of a `packed-refs` file, as it is written.
#[derive(Default)]
struct Text {
    lines: Vec<u8>,
    /// The name that was added last.
    last: BString,
    /// The objects that have a lightweight tag.
    tagged: ById<()>,
    /// Of a reference that is no tag nobody tells where it leads.
    has_unknown: bool,
}

impl Text {
    /// Adds a reference, if it is needed. `None` if it cannot be told of in such a text.
    fn add(&mut self, name: &BStr, id: &oid, peeled: Option<ObjectId>) -> Option<()> {
        let is_tag = name.starts_with(TAGS.as_bytes());
        let is_sound = name::is_valid(name) && *name > self.last && !id.is_null();
        if !is_sound || (is_tag && peeled.is_none()) {
            return None;
        }
        self.last.clear();
        self.last.extend_from_slice(name);
        self.has_unknown |= peeled.is_none();
        let peeled = peeled.filter(|peeled| **peeled != *id);
        if is_tag && peeled.is_none() && self.tagged.insert(id.to_owned(), ()).is_some() {
            return Some(());
        }
        let mut line = |start: &str, id: &oid, end: &[u8]| {
            self.lines.extend_from_slice(start.as_bytes());
            self.lines
                .extend_from_slice(id.to_hex().to_string().as_bytes());
            self.lines.extend_from_slice(end);
            self.lines.push(b'\n');
        };
        line("", id, &[b" ", name.as_bytes()].concat());
        if let Some(peeled) = peeled {
            line("^", &peeled, b"");
        }
        Some(())
    }

    fn add_tables(&mut self, tables: &TableRefs, prefix: &BStr) -> Option<()> {
        let mut is_whole = true;
        let read = tables.for_each(prefix, |name, record, remembered| {
            let added = match record {
                Record::Deleted => Some(()),
                Record::Peeled(id, peeled) => self.add(name, id, Some(peeled.to_owned())),
                // That it leads there through tags is not believed without a look at them.
                Record::Direct(id) if remembered.is_none_or(|peeled| *peeled == *id) => {
                    self.add(name, id, remembered)
                }
                Record::Direct(_) | Record::Symbolic(_) => None,
            };
            is_whole &= added.is_some();
            Ok::<_, Error>(())
        });
        read.ok().filter(|()| is_whole)
    }

    fn whole(self) -> Vec<u8> {
        let told = if self.has_unknown {
            ""
        } else {
            "fully-peeled "
        };
        let head = format!("# pack-refs with: peeled {told}sorted \n");
        [head.as_bytes(), &self.lines].concat()
    }
}

/// The references that `block` has, if it is a block that has any.
#[cfg(feature = "fuzzing")]
pub(crate) fn names_in(block: &[u8], hash: Kind) -> Option<Vec<BString>> {
    let condensed = Condensed::read(block)?;
    let text = Contents::Read(condensed.text.to_vec());
    let packed = Packed::parse(PathBuf::new(), text, hash).ok()?;
    let names = packed.from("".into()).map_while(Result::ok);
    Some(names.map(|record| record.name.to_owned()).collect())
}
