//! Revlogs: Mercurial's storage of the versions of one thing, as an index of revisions, and chunks with full texts and deltas.
//!
//! Reads version 1 of the format, which all but experimental repositories have, and version 2, where a docket names the files,
//! also its variant for changelogs. Positions, lengths and bases in an index are checked, and each text returned has the recorded
//! length and hash.

mod chunk;
mod delta;
mod docket;
mod index;
mod sidedata;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::BString;
use sha1::{Digest, Sha1};
use vigil_model::raw_text::{raw, text_bytes};
use vigil_stamp::file::{self, Contents};

use crate::abort::{Abort, Kind};
use crate::bytes::bytes;
use crate::node::Node;
use chunk::Decompressor;
use docket::Docket;
use index::{Form, Index, Layout};
pub use index::{NO_REVISION, Revision};

/// The maximum length of a text in bytes.
const TEXT_LEN_MAX: usize = 1 << 31;
/// The maximum number of chunks that make a text. Without general deltas, Mercurial bounds only their length.
const CHAIN_LEN_MAX: usize = 1 << 20;
/// The maximum length of the sidedata of one revision in bytes.
const SIDEDATA_LEN_MAX: usize = 1 << 28;
/// Flags of a revision whose text is not what is stored: censored, ellipsis, or stored externally.
const SPECIAL_FLAGS: u16 = 0xe000;
/// Flags of a revision that have no meaning yet.
const UNKNOWN_FLAGS: u16 = 0x003f;
/// The special flag of an ellipsis. Its parents are not those it was made with, so its hash does not match its text.
const ELLIPSIS_FLAG: u16 = 0x4000;
/// The special flag of a revision whose text is kept elsewhere. The hash is that of the text, not of the pointer to it.
const POINTER_FLAG: u16 = 0x2000;

/// What Mercurial reads of a file at once, in bytes.
const READ_AHEAD: u64 = 64 * 1024;

/// The versions of one thing.
#[derive(Debug)]
pub struct Revlog {
    /// The name that Mercurial's messages use.
    name: BString,
    index: Index,
    index_bytes: Contents,
    data_path: PathBuf,
    data: Option<Contents>,
    /// Whether revisions may be ellipses.
    has_ellipses: bool,
    /// Whether revisions may be pointers to texts that are kept elsewhere.
    has_pointers: bool,
    /// The additional parts of a revlog with a docket.
    docket_data: Option<DocketData>,
}

/// What only a revlog with a docket has.
#[derive(Debug)]
struct DocketData {
    /// The first byte of chunks in the default compression.
    compression: u8,
    sidedata_path: PathBuf,
    /// The valid length of the sidedata file in bytes.
    sidedata_len: u64,
    sidedata: Option<Contents>,
}

impl Revlog {
    /// Opens a revlog. `file_path` maps the ending of a file's name to its path; the first file ends in `.i`. A revlog
    /// that does not exist has no revisions.
    ///
    /// # Errors
    /// The revlog cannot be read, or is damaged.
    pub fn open(
        file_path: impl Fn(&str) -> PathBuf,
        name: impl Into<BString>,
    ) -> Result<Self, Abort> {
        let name = name.into();
        let path = file_path(".i");
        let bytes = file::read_or_map(&path).or_else(nothing_if_missing);
        let bytes = bytes.map_err(|error| Abort::io(&path, &error))?;
        let refused = |error: index::IndexError| match error {
            index::IndexError::Damaged(what) => Abort::damaged(&path, what),
            index::IndexError::WrongLength => corrupted(&name),
            index::IndexError::Version0 => Abort::unsupported("a revlog of version 0"),
            index::IndexError::UnknownVersion(version) => {
                let version = version.to_string();
                let message = bytes!("unknown version (", version, ") in revlog ", name);
                Abort::of(Kind::Storage, message)
            }
            index::IndexError::UnknownFlags { flags, version } => {
                let text = format!("unknown flags ({flags:#04x}) in version {version} revlog ");
                Abort::of(Kind::Storage, bytes!(text, name))
            }
        };
        match Form::of(&bytes).map_err(refused)? {
            Form::WithoutDocket { flags } => Ok(Self {
                index: Index::without_docket(&bytes, flags).map_err(refused)?,
                index_bytes: bytes,
                data_path: file_path(".d"),
                data: None,
                docket_data: None,
                has_ellipses: false,
                has_pointers: false,
                name,
            }),
            Form::WithDocket(layout) => {
                let docket = Docket::parse(&bytes).map_err(|error| match error {
                    docket::DocketError::TooShort { expected } => {
                        let len = bytes.len();
                        let text = format!("docket is too short, expected {expected} got {len}");
                        Abort::plain(text)
                    }
                    docket::DocketError::InvalidId => {
                        Abort::damaged(&path, "an id of a file is none")
                    }
                })?;
                Self::of_docket(&docket, layout, file_path, name)
            }
        }
    }

    fn of_docket(
        docket: &Docket,
        layout: Layout,
        file_path: impl Fn(&str) -> PathBuf,
        name: BString,
    ) -> Result<Self, Abort> {
        let path = |id: &BString, end: &str| file_path(&format!("-{id}.{end}"));
        let index_path = path(&docket.index_id, "idx");
        let index_bytes = match docket.index_len {
            0 => Contents::Read(Vec::new()),
            _ => file::read_or_map(&index_path)
                .or_else(nothing_if_missing)
                .map_err(|error| Abort::io(&index_path, &error))?,
        };
        let len = usize::try_from(docket.index_len)
            .ok()
            .filter(|len| *len <= index_bytes.len());
        let len = len.ok_or_else(|| {
            let (len, expected) = (index_bytes.len(), docket.index_len);
            let counts = format!(": got {len}, expected {expected}");
            let message = bytes!("too few index data for ", name, counts);
            Abort::of(Kind::Storage, message)
        })?;
        let index = Index::with_docket(layout, len).ok_or_else(|| corrupted(&name))?;
        Ok(Self {
            name,
            index,
            index_bytes,
            data_path: path(&docket.data_id, "dat"),
            data: None,
            docket_data: Some(DocketData {
                compression: docket.compression,
                sidedata_path: path(&docket.sidedata_id, "sda"),
                sidedata_len: docket.sidedata_len,
                sidedata: None,
            }),
            has_ellipses: false,
            has_pointers: false,
        })
    }

    /// Sets whether revisions may be ellipses, which stand for those between them and their parents, as in a narrow clone.
    #[must_use]
    pub(crate) fn with_ellipses(self, has_ellipses: bool) -> Self {
        Self {
            has_ellipses,
            ..self
        }
    }

    /// Sets whether revisions may be pointers to texts that are kept elsewhere.
    #[must_use]
    pub(crate) fn with_pointers(self, has_pointers: bool) -> Self {
        Self {
            has_pointers,
            ..self
        }
    }

    /// The number of revisions.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns whether there are no revisions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the revision with this number.
    pub fn revision(&self, number: u32) -> Option<Revision> {
        self.index.revision(&self.index_bytes, number)
    }

    /// Returns the node of the revision with this number.
    pub fn node(&self, number: u32) -> Option<Node> {
        self.index.node(&self.index_bytes, number)
    }

    /// Returns the number of the revision with this node, searching from the newest to the oldest.
    pub fn find(&self, node: &Node) -> Option<u32> {
        let numbers = 0..u32::try_from(self.len()).unwrap_or(u32::MAX);
        numbers
            .rev()
            .find(|number| self.index.node(&self.index_bytes, *number) == Some(*node))
    }

    /// Does the same as [`Self::find`] for all `nodes`, and looks at each revision once.
    pub(crate) fn find_all(&self, mut nodes: HashSet<Node>) -> HashMap<Node, u32> {
        let mut found = HashMap::new();
        for number in (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).rev() {
            if nodes.is_empty() {
                break;
            }
            let node = self.index.node(&self.index_bytes, number);
            if let Some(node) = node.filter(|node| nodes.remove(node)) {
                found.insert(node, number);
            }
        }
        found
    }

    /// Returns the numbers of the revisions whose node begins with these hexadecimal digits, at most `most` of them.
    pub(crate) fn find_prefix(&self, digits: &[u8], most: usize) -> Vec<u32> {
        let numbers = 0..u32::try_from(self.len()).unwrap_or(u32::MAX);
        let begins = |number: &u32| {
            self.index
                .node(&self.index_bytes, *number)
                .is_some_and(|node| node.hex().as_bytes().starts_with(digits))
        };
        numbers.filter(begins).take(most).collect()
    }

    /// Returns whether the text of a file's revision may have metadata before the contents.
    pub(crate) fn may_have_metadata(&self, revision: &Revision) -> bool {
        self.index.may_have_metadata(revision)
    }

    /// Returns whether the revision's hash is that of `text`; `None` if only the stored text can tell.
    pub fn has_hash_of(&self, revision: &Revision, text: &[u8]) -> Option<bool> {
        if revision.flags & SPECIAL_FLAGS != 0 {
            return None;
        }
        Some(self.is_hash_of(revision, text))
    }

    /// Whether the revision's hash is that of `text`, wherever that is kept.
    pub(crate) fn is_hash_of(&self, revision: &Revision, text: &[u8]) -> bool {
        self.hash(revision, text) == revision.node
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

    /// Returns the pointer that stands for the text of the revision `number`; `None` if the text itself is stored.
    ///
    /// # Errors
    /// The revision is damaged.
    pub(crate) fn pointer(&mut self, number: u32) -> Result<Option<Vec<u8>>, Abort> {
        let special = self
            .revision(number)
            .map(|revision| revision.flags & SPECIAL_FLAGS);
        match special == Some(POINTER_FLAG) && self.has_pointers {
            true => self.stored_text(number).map(Some),
            false => Ok(None),
        }
    }

    /// Returns the text of the revision `number`.
    ///
    /// # Errors
    /// The revision does not exist, or is damaged.
    pub fn text(&mut self, number: u32) -> Result<Vec<u8>, Abort> {
        self.check_is_plain(number)?;
        self.stored_text(number)
    }

    /// Returns the texts of the revisions `numbers`. Those next to each other are often made from the same chunks: each is
    /// unpacked once for both.
    ///
    /// # Errors
    /// As for [`Self::text`].
    pub(crate) fn texts(&mut self, numbers: &[u32]) -> Result<Vec<Vec<u8>>, Abort> {
        let mut pending = Vec::with_capacity(numbers.len());
        for number in numbers {
            self.check_is_plain(*number)?;
            pending.push(self.pending(*number)?);
        }
        let mut unpacked = Unpacked::default();
        let pending = pending.into_iter();
        pending
            .map(|pending| self.unpack(pending, &mut unpacked))
            .collect()
    }

    /// Refuses a revision whose text is not what is stored.
    fn check_is_plain(&self, number: u32) -> Result<(), Abort> {
        let flags = self.revision(number).map(|revision| revision.flags);
        let special = flags.unwrap_or_default() & SPECIAL_FLAGS;
        if special != 0 && !(self.has_ellipses && special == ELLIPSIS_FLAG) {
            let what = bytes!(
                "a revision of '",
                self.name,
                "' that is stored in a special way"
            );
            return Err(Abort::unsupported(what));
        }
        Ok(())
    }

    /// Returns the text that is stored, and checks its hash unless that is of another text.
    fn stored_text(&mut self, number: u32) -> Result<Vec<u8>, Abort> {
        let pending = self.pending(number)?;
        self.unpack(pending, &mut Unpacked::default())
    }

    /// Finds the revision `number`, and reads the file with the chunks of its text.
    fn pending(&mut self, number: u32) -> Result<PendingText, Abort> {
        let damaged = |what: &str| self.damaged(what);
        let revision = self.revision(number);
        let revision = revision.ok_or_else(|| damaged("there is none of this number"))?;
        if revision.flags & UNKNOWN_FLAGS != 0 {
            let flags = revision.flags & UNKNOWN_FLAGS;
            let message = format!("incompatible revision flag '{flags:#x}'");
            return Err(Abort::of(Kind::Storage, message));
        }
        let text_len = usize::try_from(revision.text_len)
            .ok()
            .filter(|len| *len <= TEXT_LEN_MAX);
        let text_len = text_len.ok_or_else(|| damaged("it is too long"))?;
        let chain = self.chain(CHAIN_LEN_MAX, number).map_err(damaged)?;
        self.read_data(&chain)?;
        Ok(PendingText {
            number,
            revision,
            text_len,
            chain,
        })
    }

    /// Returns the text of a revision that was found, and checks its hash, using the chunks that were unpacked `last`.
    fn unpack<'r>(
        &'r self,
        pending: PendingText,
        last: &mut Unpacked<'r>,
    ) -> Result<Vec<u8>, Abort> {
        let damaged = |what: &str| self.damaged(what);
        let PendingText {
            number,
            revision,
            text_len,
            chain,
        } = pending;
        let mut room = chunks_len_max(text_len);
        last.keep_shared(&chain, room);
        let known = last.chunks.iter().map(|chunk| chunk.len());
        room = known.fold(room, usize::saturating_sub);
        let mut decompressor = self.decompressor();
        for link in chain.iter().skip(last.chunks.len()) {
            let stored = self.stored(link).ok_or_else(|| self.cut_off(&chain))?;
            let chunk = decompressor
                .read(stored, link.mode, room)
                .map_err(|error| error.abort(self.name.as_ref()))?;
            room = room.saturating_sub(chunk.len());
            last.chunks.push(chunk);
        }
        last.chain = chain;
        let text = delta::apply(&last.chunks, text_len).map_err(damaged)?;
        let has_hash = || revision.flags & SPECIAL_FLAGS != 0 || self.is_hash_of(&revision, &text);
        if text.len() != text_len || !has_hash() {
            let text = format!("integrity check failed on {}:{number}", raw(&self.name));
            return Err(Abort::of(Kind::Storage, text_bytes(&text)));
        }
        Ok(text)
    }

    /// The error for a file that ends before all chunks of a text.
    fn cut_off(&self, chain: &[Revision]) -> Abort {
        let file_name = bytes!(self.name, ".d");
        let is_named = self.data_path.file_name() == Some(OsStr::from_bytes(&file_name));
        let ([only], Some(data), true) = (chain, &self.data, is_named) else {
            // Mercurial reads several chunks at once, and names files by their paths in the store.
            return self.damaged("it is cut off");
        };
        // The file is read from a multiple of this on, and the rest is counted from there.
        let begin = only.start & !(READ_AHEAD.saturating_sub(1));
        let end = u64::try_from(data.len()).unwrap_or(u64::MAX).max(begin);
        let got = i128::from(end).saturating_sub(i128::from(only.start));
        let message = format!(
            "; expected {} bytes from offset {}, got {got}",
            only.stored_len, only.start
        );
        let message = bytes!("partial read of revlog ", file_name, message);
        Abort::of(Kind::Storage, message)
    }

    fn damaged(&self, what: &str) -> Abort {
        let message = bytes!("damaged revision in '", self.name, "': ", what);
        Abort::of(Kind::Storage, message)
    }

    fn decompressor(&self) -> Decompressor {
        Decompressor::new(
            self.docket_data
                .as_ref()
                .map(|docket_data| docket_data.compression),
        )
    }

    /// Returns the item `key` of the sidedata of the revision `number`, if it has one.
    ///
    /// # Errors
    /// The sidedata cannot be read, or is damaged.
    pub fn sidedata(&mut self, number: u32, key: u16) -> Result<Option<Vec<u8>>, Abort> {
        let mut decompressor = self.decompressor();
        let place = self.revision(number).map(|revision| revision.sidedata);
        let (Some(place), Some(docket_data)) =
            (place.filter(|place| place.len > 0), &mut self.docket_data)
        else {
            return Ok(None);
        };
        let end = place.start.checked_add(u64::from(place.len));
        let end = end.filter(|end| *end <= docket_data.sidedata_len);
        let path = &docket_data.sidedata_path;
        let bytes = match &docket_data.sidedata {
            Some(bytes) => bytes,
            None => {
                let read = file::read_or_map(path).map_err(|error| Abort::io(path, &error))?;
                docket_data.sidedata.insert(read)
            }
        };
        let part = usize::try_from(place.start).ok().zip(end);
        let part = part.and_then(|(start, end)| bytes.get(start..usize::try_from(end).ok()?));
        let part = part.ok_or_else(|| Abort::damaged(path, "it is cut off"))?;
        let all = decompressor.read(part, place.mode, SIDEDATA_LEN_MAX);
        let all = all.map_err(|error| error.abort(self.name.as_ref()))?;
        let item = sidedata::item(&all, key);
        let item = item.map_err(|what| Abort::damaged(path, what))?;
        Ok(item.map(<[u8]>::to_vec))
    }

    /// Returns the revisions from a full text to `number`, whose chunks together make the text; at most `len_max` of them.
    fn chain(&self, len_max: usize, number: u32) -> Result<Vec<Revision>, &'static str> {
        let wrong_base = "it is a difference to what is none before it";
        let mut chain = Vec::new();
        let mut at = number;
        loop {
            let revision = self.revision(at).ok_or(wrong_base)?;
            if chain.len() >= len_max {
                return Err("it is made of too many differences");
            }
            chain.push(revision);
            let base = match u32::try_from(revision.base) {
                Ok(base) if base < at => base,
                Ok(base) if base == at => break,
                Err(_) if revision.base == NO_REVISION => break,
                _ => return Err(wrong_base),
            };
            at = match self.index.is_general() {
                true => base,
                // Without general deltas, each delta is against the previous revision, back to the base.
                false => at.saturating_sub(1),
            };
        }
        chain.reverse();
        Ok(chain)
    }

    /// Reads the file with the chunks, unless they are in the index or no chunk has any bytes.
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

/// A revision whose text is about to be put together.
struct PendingText {
    number: u32,
    revision: Revision,
    text_len: usize,
    /// The revisions from a full text to this one.
    chain: Vec<Revision>,
}

/// The chunks that the last text was made from.
#[derive(Default)]
struct Unpacked<'r> {
    /// Their revisions, from a full text on.
    chain: Vec<Revision>,
    chunks: Vec<Cow<'r, [u8]>>,
}

impl Unpacked<'_> {
    /// Keeps the chunks with which another `chain` begins, too, if they have at most `len_max` bytes. Two chains that part do not
    /// meet again, since a delta has one base.
    fn keep_shared(&mut self, chain: &[Revision], len_max: usize) {
        let both = self.chain.iter().zip(chain);
        let shared = both.take_while(|(a, b)| a == b).count();
        self.chunks.truncate(shared);
        let lens = self.chunks.iter().map(|chunk| chunk.len());
        if lens.fold(0, usize::saturating_add) > len_max {
            self.chunks.clear();
        }
    }
}

/// Returns the maximum length in bytes of all chunks that make a text of this length. Deltas may add what later ones remove, but
/// no more than this is accepted: a few megabytes can be made to decompress to any length.
fn chunks_len_max(text_len: usize) -> usize {
    let len = text_len.saturating_mul(8).saturating_add(64 << 20);
    len.min(TEXT_LEN_MAX)
}

/// The error for an index whose length is not that of its records.
fn corrupted(name: &BString) -> Abort {
    Abort::of(Kind::Storage, bytes!("index ", name, " is corrupted"))
}

/// Treats a missing file as an empty one.
fn nothing_if_missing(error: io::Error) -> io::Result<Contents> {
    match error.kind() {
        io::ErrorKind::NotFound => Ok(Contents::Read(Vec::new())),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests;
