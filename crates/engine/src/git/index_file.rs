//! The index as a file: reading it whole, with the shared index it may name, and noticing that it moved on.

mod seen;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use gix_hash::{Kind, ObjectId};
use rustix::buffer::spare_capacity;
use vigil_linux::memory::prefer_huge_pages;
use vigil_linux::stat::{Stat, lstat_path, stat_fd};
use vigil_linux::{Errno, errno};
use vigil_model::index::{
    Flat, HEADER_LEN, Index, IndexParser, ParseError, ParsedIndex, Prepare, Promise, Take,
};
use vigil_model::tracked::{Builder, InMemory, Tracked};

use crate::stamp::{self, Stamp};

pub use seen::{IndexFile, SeenFile};

/// Why an index cannot be read. The text is git's last line, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is there and cannot be opened, or it is a shared index that is not there.
    #[error("{path}: index file open failed: {reason}")]
    Open {
        /// The file, as git would print it.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// The file was opened and cannot be read, as for a directory.
    #[error("{path}: unable to map index file: {reason}")]
    Read {
        /// The file, as git would print it.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// The file is too short to be an index.
    #[error("{path}: index file smaller than expected")]
    TooSmall {
        /// The file, as git would print it.
        path: String,
    },
    /// The contents are no index, or do not fit to the shared index.
    #[error("{reason}")]
    Malformed {
        /// The file, as git would print it.
        path: String,
        /// What is wrong.
        reason: ParseError,
    },
    /// The shared index is another one than its name says.
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

/// Large indexes are read into huge pages: faults for small ones would cost as much as the parsing.
struct HugePages;

impl Prepare for HugePages {
    fn prepare<T>(&self, memory: &mut [std::mem::MaybeUninit<T>]) {
        prefer_huge_pages(memory);
    }
}

/// An index and the files it was read from.
#[derive(Clone, Debug)]
pub struct LoadedIndex {
    /// The entries, of a split index already joined.
    pub index: Index,
    /// Where they came from.
    pub file: IndexFile,
}

/// The tracked files of an index, without the index.
#[derive(Clone, Debug)]
pub struct LoadedTree {
    /// The entries.
    pub tracked: Tracked,
    /// The number of entries and the tree that they make up, where the cache-tree knows it.
    pub tree: Option<(u32, ObjectId)>,
    /// Where they came from.
    pub file: IndexFile,
}

/// Reads the tracked files of the index at `path` and never has the index in memory as a whole; `None` if it is not there,
/// or cannot be read so because it is split. Errors are those of [`load`].
pub fn load_tree(path: &Path, shown_from: &Path, hash: Kind) -> Result<Option<LoadedTree>, Error> {
    let read_at = stamp::now();
    let reader = Reader { shown_from, hash };
    let file = match crate::file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(reader.open_failed(path, &error)),
    };
    let builder = |_| Builder::new(hash.len_in_bytes(), InMemory::default());
    let (parsed, builder, stat) = reader.read(path, &file, builder)?;
    if parsed.link.is_some() {
        return Ok(None);
    }
    let mut file = IndexFile::absent(path, read_at);
    file.own.stamp = Some(Stamp::from(&stat));
    file.is_sparse = parsed.index.is_sparse();
    file.notice(&parsed);
    Ok(Some(LoadedTree {
        tracked: Tracked::new(hash, Arc::new(builder.finish())),
        tree: parsed.index.cache_tree().and_then(|root| root.tree),
        file: IndexFile {
            untracked_cache_origin: parsed.untracked_cache_origin,
            ..file
        },
    }))
}

/// Reads the index at `path`; where there is none, the index is empty.
///
/// A split index finds its shared one in `git_dir`, or else next to itself. Errors name files below `shown_from`
/// (the folder in which git would run: the top of the working tree) relative to it, and others as they are.
pub fn load(
    path: &Path,
    git_dir: &Path,
    shown_from: &Path,
    hash: Kind,
) -> Result<LoadedIndex, Error> {
    // The clock before the file: a later change bears a later stamp.
    let read_at = stamp::now();
    let mut loaded = LoadedIndex {
        index: Index::empty(hash),
        file: IndexFile::absent(path, read_at),
    };
    let reader = Reader { shown_from, hash };
    let file = match crate::file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(loaded),
        Err(error) => return Err(reader.open_failed(path, &error)),
    };
    let (parsed, stat) = reader.read_whole(path, &file)?;
    loaded.file.own.stamp = Some(Stamp::from(&stat));
    loaded.file.notice(&parsed);
    loaded.file.untracked_cache_origin = parsed.untracked_cache_origin.clone();
    let Some(link) = &parsed.link else {
        loaded.file.is_sparse = parsed.index.is_sparse();
        loaded.index = parsed.index;
        return Ok(loaded);
    };

    let name = format!("sharedindex.{}", link.shared_id);
    let in_git_dir = git_dir.join(&name);
    let shared_path = match lstat_path(&in_git_dir) {
        Ok(_) => in_git_dir.clone(),
        Err(_) => path.with_file_name(&name),
    };
    let file = crate::file::open(&shared_path)
        .map_err(|error| reader.open_failed(&shared_path, &error))?;
    let (shared, stat) = reader.read_whole(&shared_path, &file)?;
    loaded.file.notice(&shared);
    if shared.checksum != link.shared_id {
        return Err(Error::WrongShared {
            expected: link.shared_id,
            path: reader.shown(&in_git_dir),
            found: shared.checksum,
        });
    }
    loaded.file.shared = Some(SeenFile {
        path: shared_path,
        stamp: Some(Stamp::from(&stat)),
    });
    loaded.index = Index::merge_split(shared.index, parsed.index, link)
        .map_err(|reason| reader.malformed(path, reason))?;
    loaded.file.is_sparse = loaded.index.is_sparse();
    Ok(loaded)
}

impl IndexFile {
    fn notice(&mut self, parsed: &ParsedIndex) {
        let notices = parsed
            .ignored_extensions()
            .map(|name| format!("ignoring {} extension", String::from_utf8_lossy(name)));
        self.notices.extend(notices);
    }
}

struct Reader<'a> {
    shown_from: &'a Path,
    hash: Kind,
}

impl Reader<'_> {
    fn read_whole(&self, path: &Path, file: &File) -> Result<(ParsedIndex, Stat), Error> {
        let flat = |promise| Flat::new(promise, &HugePages);
        let (parsed, flat, stat) = self.read(path, file, flat)?;
        Ok((parsed.with(flat), stat))
    }

    fn read<T: Take>(
        &self,
        path: &Path,
        file: &File,
        take: impl FnOnce(Promise) -> T,
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
        let (parsed, taken) = match parse(file, stat.size, self.hash, take) {
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
        path.strip_prefix(self.shown_from)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}

/// How much of a file is read at a time: what fits into the processor's cache, so that it is parsed from there, and
/// the disk reads on meanwhile.
const PIECE_LEN: usize = 512 << 10;

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
fn parse<T: Take>(
    file: &File,
    size: u64,
    hash: Kind,
    take: impl FnOnce(Promise) -> T,
) -> Result<(ParsedIndex, T), ReadError> {
    let size = usize::try_from(size).map_err(|_| ReadError::System(Errno::FBIG))?;
    let mut piece = Piece {
        file,
        bytes: Vec::new(),
        used: 0,
        left: size,
    };
    piece.read_more(PIECE_LEN)?;
    let mut parser = IndexParser::new(&piece.bytes, size, hash, take)?;
    piece.used = HEADER_LEN;
    while parser.wants_entries() {
        let used = parser.feed(piece.rest(), piece.left == 0)?;
        piece.used = piece.used.saturating_add(used);
        if parser.wants_entries() {
            // An entry that does not fit needs a longer piece, by so much that this does not happen often.
            let held = piece.rest().len();
            piece.read_more(PIECE_LEN.max(held))?;
        }
    }
    piece.read_more(piece.left)?;
    Ok(parser.finish(piece.rest())?)
}

/// A part of a file in memory, of which the first `used` bytes are no longer needed.
struct Piece<'a> {
    file: &'a File,
    bytes: Vec<u8>,
    used: usize,
    /// How much of the file was not read yet.
    left: usize,
}

impl Piece<'_> {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.used..).unwrap_or_default()
    }

    /// Reads `len` further bytes, or what the file has, and forgets those that were used.
    fn read_more(&mut self, len: usize) -> Result<(), ReadError> {
        self.bytes.drain(..self.used.min(self.bytes.len()));
        self.used = 0;
        let len = len.min(self.left);
        self.bytes
            .try_reserve_exact(len)
            .map_err(|_| ReadError::System(Errno::NOMEM))?;
        let wanted = self.bytes.len().saturating_add(len);
        while self.bytes.len() < wanted {
            match rustix::io::read(self.file, spare_capacity(&mut self.bytes)) {
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
