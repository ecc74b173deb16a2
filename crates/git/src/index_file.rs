//! The index as a file: reading it whole, with the shared index it may name, and noticing when it has changed.

mod seen;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use bstr::BStr;
use gix_hash::{Kind, ObjectId};
use rustix::buffer::spare_capacity;
use vigil_linux::stat::{Stat, lstat_path, stat_fd};
use vigil_linux::{Errno, errno};
use vigil_model::index::{
    CacheTree, EXTENSION_HEADER_LEN, Entry, EntryList, EntrySink, HEADER_LEN, Index, IndexParser,
    Join, Link, ParseError, ParsedIndex, SizeHint,
};
use vigil_model::raw_text::{raw, raw_path};
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{Builder, InMemory, Tracked, TreeDiff};

use vigil_stamp::paths::bytes_of;
use vigil_stamp::{self, Stamp};

pub use seen::{IndexFile, SeenFile};

/// Why an index cannot be read. The text is git's last line, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file exists but cannot be opened, or it is a shared index that does not exist.
    #[error("{path}: index file open failed: {reason}")]
    Open {
        /// The file, as git would print it.
        path: String,
        /// The system's error text.
        reason: String,
    },
    /// The file was opened but cannot be read; a directory, for instance.
    #[error("{path}: unable to map index file: {reason}")]
    Read {
        /// The file, as git would print it.
        path: String,
        /// The system's error text.
        reason: String,
    },
    /// The file is too short to be an index.
    #[error("{path}: index file smaller than expected")]
    TooSmall {
        /// The file, as git would print it.
        path: String,
    },
    /// The contents are not an index, or do not fit the shared index.
    #[error("{reason}")]
    Malformed {
        /// The file, as git would print it.
        path: String,
        /// What is wrong.
        reason: ParseError,
    },
    /// The shared index is not the one that its name says.
    #[error("broken index, expect {expected} in {path}, got {found}")]
    WrongShared {
        /// The checksum that the index names.
        expected: ObjectId,
        /// The shared index, as git would print it.
        path: String,
        /// The checksum at the end of the shared index.
        found: ObjectId,
    },
}

impl Error {
    /// The lines that git prints before the last one, without "error: ".
    pub fn error_lines(&self) -> Vec<String> {
        match self {
            Self::Malformed { reason, .. } => reason.error_lines(),
            _ => Vec::new(),
        }
    }
}

/// An index and the files it was read from.
#[derive(Clone, Debug)]
pub struct LoadedIndex {
    /// The entries; those of a split index are already joined.
    pub index: Index,
    /// Where they came from.
    pub file: IndexFile,
}

/// The tracked files of an index, without the index.
#[derive(Clone, Debug)]
pub struct LoadedTree {
    /// The entries.
    pub tracked: Tracked,
    /// The cache-tree, if the index has one.
    pub cache_tree: Option<CacheTree>,
    /// Where they came from.
    pub file: IndexFile,
}

/// Reads the tracked files of the index at `path` without ever holding all entries in memory as one list; `None` if there is no
/// index. Parameters are those of [`load`].
///
/// # Errors
/// Those of [`load`].
pub fn load_tree(
    path: &Path,
    git_dir: &Path,
    shown_from: &Path,
    hash: Kind,
) -> Result<Option<LoadedTree>, Error> {
    let reader = IndexReader::new(path, git_dir, shown_from, hash);
    let Some(own) = reader.open_own()? else {
        return Ok(None);
    };
    let (mut parsed, entries, stat) = reader.read(path, &own, Own::Nothing)?;
    let mut file = reader.seen(&parsed, &stat);
    let builder = |_| Builder::new(hash.len_in_bytes(), InMemory::default());
    let is_split = parsed.link.is_some();
    let tree = match entries {
        Own::Tree(builder) if !is_split => Some(builder),
        Own::Tree(_) => {
            parsed = reader.read_list(path, &own)?.0;
            None
        }
        Own::List(list) => {
            parsed = parsed.with(list);
            None
        }
        Own::Nothing(_) => None,
    };
    let tree = match (tree, &parsed.link) {
        (Some(tree), _) => tree.finish(),
        (None, Some(link)) => reader.join(&parsed, link, &mut file, builder)?.finish(),
        (None, None) => Builder::build(&parsed.index, InMemory::default()),
    };
    Ok(Some(LoadedTree {
        tracked: Tracked::new(hash, Arc::new(tree)),
        cache_tree: parsed.index.take_cache_tree(),
        file,
    }))
}

/// Reads the tracked files of the index at `path` as a difference from `earlier`, without ever holding all entries in memory;
/// `None` if there is no index, or it is split or sparse. Parameters are those of [`load`].
///
/// # Errors
/// Those of [`load`].
pub fn load_difference(
    path: &Path,
    git_dir: &Path,
    shown_from: &Path,
    earlier: &Tracked,
) -> Result<Option<(LoadedTree, TreeDiff)>, Error> {
    let reader = IndexReader::new(path, git_dir, shown_from, earlier.hash_kind());
    let Some(own) = reader.open_own()? else {
        return Ok(None);
    };
    let (mut parsed, builder, stat) = reader.read(path, &own, |_| earlier.difference_builder())?;
    if parsed.link.is_some() || parsed.index.is_sparse() {
        return Ok(None);
    }
    let file = reader.seen(&parsed, &stat);
    let (tracked, tree_diff) = builder.finish();
    let tree = LoadedTree {
        tracked,
        cache_tree: parsed.index.take_cache_tree(),
        file,
    };
    Ok(Some((tree, tree_diff)))
}

/// The entries of an index that may turn out to be split. Only the end of the file says so for certain, but usually the first
/// entry already does: it has no name.
enum Own {
    Nothing(SizeHint),
    Tree(Builder<InMemory>),
    List(EntryList),
}

impl EntrySink for Own {
    fn accept(&mut self, path: &BStr, entry: &Entry) {
        match self {
            Self::Tree(builder) => builder.accept(path, entry),
            Self::List(list) => list.accept(path, entry),
            Self::Nothing(hint) => {
                *self = match path.is_empty() {
                    true => Self::List(EntryList::new(*hint)),
                    false => {
                        Self::Tree(Builder::new(entry.id.as_slice().len(), InMemory::default()))
                    }
                };
                self.accept(path, entry);
            }
        }
    }
}

/// Reads the index at `path`; if there is none, the result is an empty index.
///
/// The shared index of a split one is looked for in `git_dir`, and else next to the index itself. Errors name files below
/// `shown_from` (the directory in which git would run: the top of the working tree) relative to it, and others as they are.
///
/// # Errors
/// The index, or the shared index of a split one, cannot be read or is damaged.
pub fn load(
    path: &Path,
    git_dir: &Path,
    shown_from: &Path,
    hash: Kind,
) -> Result<LoadedIndex, Error> {
    let reader = IndexReader::new(path, git_dir, shown_from, hash);
    let Some(own) = reader.open_own()? else {
        return Ok(LoadedIndex {
            index: Index::empty(hash),
            file: IndexFile::absent(path, reader.read_at),
        });
    };
    let (parsed, stat) = reader.read_list(path, &own)?;
    let mut file = reader.seen(&parsed, &stat);
    let index = match &parsed.link {
        None => parsed.index,
        Some(link) => {
            let list = reader.join(&parsed, link, &mut file, EntryList::new)?;
            parsed.with(list).index
        }
    };
    Ok(LoadedIndex { index, file })
}

impl IndexFile {
    fn add_notices(&mut self, parsed: &ParsedIndex) {
        let notices = parsed
            .ignored_extensions()
            .map(|name| format!("ignoring {} extension", raw(name)));
        self.notices.extend(notices);
        self.notices.extend_from_slice(&parsed.complaints);
    }
}

/// Reads an index, and the shared one that it is split from.
struct IndexReader<'a> {
    path: &'a Path,
    git_dir: &'a Path,
    shown_from: &'a Path,
    hash: Kind,
    read_at: Timestamp,
}

impl<'a> IndexReader<'a> {
    fn new(path: &'a Path, git_dir: &'a Path, shown_from: &'a Path, hash: Kind) -> Self {
        Self {
            path,
            git_dir,
            shown_from,
            hash,
            // The clock is read before the file: a later change has a later stamp.
            read_at: vigil_stamp::now(),
        }
    }

    /// Opens the index itself, if there is one.
    fn open_own(&self) -> Result<Option<File>, Error> {
        match vigil_stamp::file::open(self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.open_failed(self.path, &error)),
        }
    }

    /// Returns the record of the index itself, as it was read.
    fn seen(&self, parsed: &ParsedIndex, stat: &Stat) -> IndexFile {
        let mut file = IndexFile::absent(self.path, self.read_at);
        file.own.stamp = Some(Stamp::from(stat));
        file.is_sparse = parsed.index.is_sparse();
        file.untracked_cache_origin = parsed.untracked_cache_origin.clone();
        file.add_notices(parsed);
        file
    }

    /// Reads the shared index that the `link` of `split` names, and joins the two.
    fn join<T: EntrySink>(
        &self,
        split: &ParsedIndex,
        link: &Link,
        seen: &mut IndexFile,
        make_sink: impl FnOnce(SizeHint) -> T,
    ) -> Result<T, Error> {
        let name = format!("sharedindex.{}", link.shared_id);
        let in_git_dir = self.git_dir.join(&name);
        let path = match lstat_path(&in_git_dir) {
            Ok(_) => in_git_dir.clone(),
            Err(_) => self.path.with_file_name(&name),
        };
        let file =
            vigil_stamp::file::open(&path).map_err(|error| self.open_failed(&path, &error))?;
        let join = |hint| Join::new(&split.index, link, hint, make_sink);
        let (shared, joined, stat) = self.read(&path, &file, join)?;
        seen.add_notices(&shared);
        if shared.checksum != link.shared_id {
            return Err(Error::WrongShared {
                expected: link.shared_id,
                path: self.shown(&in_git_dir),
                found: shared.checksum,
            });
        }
        let stamp = Some(Stamp::from(&stat));
        seen.shared = Some(SeenFile { path, stamp });
        let joined = joined.finish();
        joined.map_err(|reason| self.malformed(self.path, reason))
    }

    fn read_list(&self, path: &Path, file: &File) -> Result<(ParsedIndex, Stat), Error> {
        let (parsed, list, stat) = self.read(path, file, EntryList::new)?;
        Ok((parsed.with(list), stat))
    }

    fn read<T: EntrySink>(
        &self,
        path: &Path,
        file: &File,
        make_sink: impl FnOnce(SizeHint) -> T,
    ) -> Result<(ParsedIndex, T, Stat), Error> {
        let failed = |error: Errno| Error::Read {
            path: self.shown(path),
            // git maps the file, and a directory cannot be mapped.
            reason: errno::text(if error == Errno::ISDIR {
                Errno::NODEV
            } else {
                error
            }),
        };
        let stat = stat_fd(file.as_fd()).map_err(failed)?;
        let (parsed, taken) = match parse(file, stat.size, self.hash, make_sink) {
            Ok(parsed) => parsed,
            Err(ReadError::System(error)) => return Err(failed(error)),
            Err(ReadError::Parse(reason)) => return Err(self.malformed(path, reason)),
        };
        Ok((parsed, taken, stat))
    }

    fn malformed(&self, path: &Path, reason: ParseError) -> Error {
        let path = self.shown(path);
        match reason {
            ParseError::TooSmall => Error::TooSmall { path },
            reason => Error::Malformed { path, reason },
        }
    }

    fn open_failed(&self, path: &Path, error: &io::Error) -> Error {
        Error::Open {
            path: self.shown(path),
            reason: errno::text_of(error),
        }
    }

    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(self.shown_from) {
            Ok(below) if below.as_os_str().is_empty() => ".".into(),
            // What is below has lost the slash at its end.
            Ok(below) if bytes_of(path).ends_with(b"/") => format!("{}/", raw_path(below)),
            Ok(below) => raw_path(below).to_string(),
            Err(_) => raw_path(path).to_string(),
        }
    }
}

/// How much of a file is read at a time: little enough to be parsed from the processor's cache, while the disk reads ahead.
const PIECE_LEN: usize = 512 << 10;
/// The least that is read at a time after the entries, where extensions may be skipped.
const EXTENSIONS_LEN: usize = 4 << 10;

enum ReadError {
    System(Errno),
    Parse(ParseError),
}

impl From<ParseError> for ReadError {
    fn from(error: ParseError) -> Self {
        Self::Parse(error)
    }
}

/// Reads and parses an index file of `size` bytes, piece by piece.
fn parse<T: EntrySink>(
    file: &File,
    size: u64,
    hash: Kind,
    make_sink: impl FnOnce(SizeHint) -> T,
) -> Result<(ParsedIndex, T), ReadError> {
    let size = usize::try_from(size).map_err(|_| ReadError::System(Errno::FBIG))?;
    let mut piece = ReadBuffer {
        file,
        bytes: Vec::new(),
        used: 0,
        size,
        left: size,
    };
    piece.read_more(PIECE_LEN)?;
    let mut parser = IndexParser::new(&piece.bytes, size, hash, make_sink)?;
    piece.used = HEADER_LEN;
    while parser.wants_entries() {
        let used = parser.feed(piece.rest(), piece.left == 0)?;
        piece.used = piece.used.saturating_add(used);
        if parser.wants_entries() {
            // The entry does not fit: the next piece is so much longer that this happens rarely.
            let held = piece.rest().len();
            piece.read_more(PIECE_LEN.max(held))?;
        }
    }
    while parser.wants_extension() {
        let header = *piece.first::<EXTENSION_HEADER_LEN>()?;
        let (len, extension) = parser.extension(&header)?;
        if let Some(extension) = extension {
            parser.data(&extension, piece.first_of(len)?)?;
        }
        piece.pass_over(len);
    }
    piece.pass_over(piece.len().saturating_sub(hash.len_in_bytes()));
    Ok(parser.end(piece.first_of(piece.len())?)?)
}

/// A part of a file in memory; the first `used` bytes are no longer needed.
struct ReadBuffer<'a> {
    file: &'a File,
    bytes: Vec<u8>,
    used: usize,
    size: usize,
    /// How much of the file has not been read.
    left: usize,
}

impl ReadBuffer<'_> {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.used..).unwrap_or_default()
    }

    /// How much of the file has not been used.
    fn len(&self) -> usize {
        self.rest().len().saturating_add(self.left)
    }

    /// Returns the next `len` bytes without using them.
    fn first_of(&mut self, len: usize) -> Result<&[u8], ReadError> {
        let held = self.rest().len();
        if let Some(missing) = len.checked_sub(held).filter(|missing| *missing > 0) {
            self.read_more(missing.max(EXTENSIONS_LEN))?;
        }
        Ok(self.rest().get(..len).ok_or(ParseError::Corrupt)?)
    }

    /// Returns the next bytes and marks them as used.
    fn first<const LEN: usize>(&mut self) -> Result<&[u8; LEN], ReadError> {
        self.first_of(LEN)?;
        let at = self.used;
        self.used = at.saturating_add(LEN);
        let bytes = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        Ok(bytes.ok_or(ParseError::Corrupt)?)
    }

    /// Skips the next `len` bytes, without reading those that are not in memory.
    fn pass_over(&mut self, len: usize) {
        let held = len.min(self.rest().len());
        self.used = self.used.saturating_add(held);
        self.left = self.left.saturating_sub(len.saturating_sub(held));
    }

    /// Drops the used bytes, and reads `len` more, or as many as the file has.
    fn read_more(&mut self, len: usize) -> Result<(), ReadError> {
        self.bytes.drain(..self.used.min(self.bytes.len()));
        self.used = 0;
        let len = len.min(self.left);
        self.bytes
            .try_reserve_exact(len)
            .map_err(|_| ReadError::System(Errno::NOMEM))?;
        let wanted = self.bytes.len().saturating_add(len);
        while self.bytes.len() < wanted {
            let at = self.size.saturating_sub(self.left) as u64;
            match rustix::io::pread(self.file, spare_capacity(&mut self.bytes), at) {
                Ok(0) => self.left = 0,
                Ok(count) => self.left = self.left.saturating_sub(count),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(ReadError::System(error)),
            }
            if self.left == 0 {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
