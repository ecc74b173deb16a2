//! Mercurial's store of the versions of one thing: an index of revisions, and chunks of text and differences.
//!
//! Version 1 of the format, as all repositories have it but experimental ones. Whatever an index says of places, lengths and
//! bases is checked; what is given out has the length and the hash that it is said to have.

mod chunk;
mod delta;
mod index;

use std::io;
use std::path::{Path, PathBuf};

use bstr::BString;
use sha1::{Digest, Sha1};
use vigil_model::raw_text::{bytes_of, raw};
use vigil_stamp::file::{self, Contents};

use crate::abort::{Abort, Kind};
use crate::bytes::bytes;
use crate::node::Node;
use chunk::Decompressor;
use index::Index;
pub use index::{NO_REVISION, Revision};

/// The most bytes of one text.
const TEXT_LEN_MAX: usize = 1 << 31;
/// Flags of a revision under which its text is not what is stored: censored, ellipsis, or kept elsewhere.
const SPECIAL_FLAGS: u16 = 0xe000;

/// The versions of one thing.
#[derive(Debug)]
pub struct Revlog {
    /// What Mercurial calls it in messages.
    name: BString,
    index: Index,
    index_bytes: Contents,
    data_path: PathBuf,
    data: Option<Contents>,
}

impl Revlog {
    /// Opens the revlog whose index is the file `path`, and whose chunks, unless they are in the index, are in `data_path`. One
    /// that is not there has no revisions.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn open(path: &Path, data_path: PathBuf, name: impl Into<BString>) -> Result<Self, Abort> {
        let name = name.into();
        let index_bytes = match file::read_or_map(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Contents::Read(Vec::new()),
            Err(error) => return Err(Abort::io(path, &error)),
        };
        let index = Index::read(&index_bytes).map_err(|error| match error {
            index::Unread::Damaged(what) => Abort::damaged(path, what),
            index::Unread::NotHere => {
                Abort::unsupported("a revlog that tells more of deltas or copies")
            }
            index::Unread::Unknown(version) => {
                let version = version.to_string();
                let message = bytes!("unknown version (", version, ") in revlog ", name);
                Abort::of(Kind::Storage, message)
            }
        })?;
        Ok(Self {
            name,
            index,
            index_bytes,
            data_path,
            data: None,
        })
    }

    /// How many revisions there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The revision of this number.
    pub fn revision(&self, number: u32) -> Option<Revision> {
        self.index.revision(&self.index_bytes, number)
    }

    /// The node of the revision of this number.
    pub fn node(&self, number: u32) -> Option<Node> {
        self.index.node(&self.index_bytes, number)
    }

    /// The number of the revision with this node. The last ones are looked at first.
    pub fn find(&self, node: &Node) -> Option<u32> {
        let numbers = 0..u32::try_from(self.len()).unwrap_or(u32::MAX);
        numbers
            .rev()
            .find(|number| self.index.node(&self.index_bytes, *number) == Some(*node))
    }

    /// The numbers of the revisions whose node begins with these hexadecimal digits, at most `most`.
    pub fn find_prefix(&self, digits: &[u8], most: usize) -> Vec<u32> {
        let numbers = 0..u32::try_from(self.len()).unwrap_or(u32::MAX);
        let begins = |number: &u32| {
            self.index
                .node(&self.index_bytes, *number)
                .is_some_and(|node| node.hex().as_bytes().starts_with(digits))
        };
        numbers.filter(begins).take(most).collect()
    }

    /// Whether `text` is that of the revision; `None` where the text that is stored must be looked at.
    pub fn has_hash_of(&self, revision: &Revision, text: &[u8]) -> Option<bool> {
        if revision.flags & SPECIAL_FLAGS != 0 {
            return None;
        }
        Some(self.hash(revision, text) == revision.node)
    }

    fn hash(&self, revision: &Revision, text: &[u8]) -> Node {
        let node = |number: i32| {
            let number = u32::try_from(number).ok();
            number.and_then(|number| self.index.node(&self.index_bytes, number))
        };
        let mut parents = [
            node(revision.p1).unwrap_or_default(),
            node(revision.p2).unwrap_or_default(),
        ];
        parents.sort_unstable();
        let mut sum = Sha1::new();
        for parent in parents {
            sum.update(parent.0);
        }
        sum.update(text);
        Node(sum.finalize().into())
    }

    /// The text of the revision `number`.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn text(&mut self, number: u32) -> Result<Vec<u8>, Abort> {
        let damaged = |what: &str| {
            let message = bytes!("damaged revision in '", self.name, "': ", what);
            Abort::of(Kind::Storage, message)
        };
        let revision = self.revision(number);
        let revision = revision.ok_or_else(|| damaged("there is none of this number"))?;
        if revision.flags & SPECIAL_FLAGS != 0 {
            let what = bytes!(
                "a revision of '",
                self.name,
                "' that is stored in a special way"
            );
            return Err(Abort::unsupported(what));
        }
        let text_len = usize::try_from(revision.text_len)
            .ok()
            .filter(|len| *len <= TEXT_LEN_MAX);
        let text_len = text_len.ok_or_else(|| damaged("it is too long"))?;
        let chain = self.chain(number).map_err(damaged)?;
        self.read_data(&chain)?;
        let damaged = |what: &str| {
            let message = bytes!("damaged revision in '", self.name, "': ", what);
            Abort::of(Kind::Storage, message)
        };
        let mut decompressor = Decompressor::default();
        let mut chunks = Vec::with_capacity(chain.len());
        // Differences may add what later ones take away; but no more than this is believed.
        let mut room = text_len.saturating_mul(8).saturating_add(64 << 20);
        for link in &chain {
            let stored = self.stored(link).ok_or_else(|| damaged("it is cut off"))?;
            let chunk = decompressor.read(stored, room).map_err(damaged)?;
            room = room.saturating_sub(chunk.len());
            chunks.push(chunk);
        }
        let text = delta::apply(&chunks, text_len).map_err(damaged)?;
        if text.len() != text_len || self.hash(&revision, &text) != revision.node {
            let text = format!("integrity check failed on {}:{number}", raw(&self.name));
            return Err(Abort::of(Kind::Storage, bytes_of(&text)));
        }
        Ok(text)
    }

    /// The revisions from a whole text to `number`, whose chunks together are the text.
    fn chain(&self, number: u32) -> Result<Vec<Revision>, &'static str> {
        let wrong_base = "it is a difference to what is none before it";
        let mut chain = Vec::new();
        let mut at = number;
        loop {
            let revision = self.revision(at).ok_or(wrong_base)?;
            chain.push(revision);
            let base = match u32::try_from(revision.base) {
                Ok(base) if base < at => base,
                Ok(base) if base == at => break,
                Err(_) if revision.base == NO_REVISION => break,
                _ => return Err(wrong_base),
            };
            at = match self.index.is_general() {
                true => base,
                // Without general deltas each is to the one before, up to the base.
                false => at.saturating_sub(1),
            };
        }
        chain.reverse();
        Ok(chain)
    }

    /// Has the file with the chunks at hand, where it is one of its own.
    fn read_data(&mut self, chain: &[Revision]) -> Result<(), Abort> {
        let needs_data = chain.iter().any(|revision| revision.stored_len > 0);
        if self.index.is_inline() || self.data.is_some() || !needs_data {
            return Ok(());
        }
        let data = file::read_or_map(&self.data_path);
        self.data = Some(data.map_err(|error| Abort::io(&self.data_path, &error))?);
        Ok(())
    }

    fn stored(&self, revision: &Revision) -> Option<&[u8]> {
        let len = usize::try_from(revision.stored_len).ok()?;
        if len == 0 {
            return Some(&[]);
        }
        let start = usize::try_from(revision.start).ok()?;
        let bytes = match self.index.is_inline() {
            true => &self.index_bytes,
            false => self.data.as_ref()?,
        };
        bytes.get(start..start.checked_add(len)?)
    }
}

#[cfg(test)]
mod tests;
