//! Builds blocks from the entries of an index, in one pass.

use bstr::{BStr, BString, ByteSlice};
use zerocopy::IntoBytes;

use super::blocks::{DirNumber, ROOT};
use super::layout::{FileRecord, Header, SegmentRecord, SubdirRecord};
use super::sums::Sums;
use crate::index::{Entry, EntryFlags, EntrySink, Index};
use crate::path::{directory_len, name_start};

/// A directory with more files than this keeps them in segments.
const INLINE_FILES_MAX: usize = 512;
/// The minimum number of files in a segment that is not the last.
const SEGMENT_FILES_MIN: usize = 64;
/// The number of files from which a segment ends at the next name.
const SEGMENT_FILES_MAX: usize = 512;

/// The destination of finished blocks. It knows the earlier blocks, so that whatever stays the same keeps its number.
pub trait BlockSink {
    /// Returns the number for the directory `name` in `parent`. Never called for [`ROOT`].
    fn number(&mut self, parent: DirNumber, name: &BStr) -> DirNumber;

    /// Stores the block of the directory at `path`, which has no trailing slash and is empty for the top.
    fn directory(&mut self, number: DirNumber, path: &BStr, block: &[u8]);

    /// Stores a block of files of the directory `of`, and returns its key.
    fn files(&mut self, of: DirNumber, block: &[u8]) -> u32;
}

/// Builds the blocks of one tree.
pub struct Builder<P> {
    sink: P,
    id_len: usize,
    /// The open directories, the top first, followed by closed ones, whose memory is reused.
    levels: Vec<Level>,
    open: usize,
    /// The path of the innermost open directory, with a trailing `/`, or empty.
    path: BString,
    /// The stage of the previous entry.
    previous_stage: u8,
    block: Vec<u8>,
}

/// One open directory.
#[derive(Default)]
struct Level {
    number: DirNumber,
    /// The length of the path of the parent directory, with its `/`.
    outer_len: usize,
    sums: Sums,
    subdirs: Vec<OpenSubdir>,
    /// The names of subdirectories, each with a NUL.
    subdir_names: Vec<u8>,
    records: Vec<FileRecord>,
    ids: Vec<u8>,
    /// The names of files, each with a NUL.
    names: Vec<u8>,
}

struct OpenSubdir {
    number: DirNumber,
    name_start: usize,
    name_len: usize,
    before: u32,
    entries: u32,
}

impl Level {
    fn start(&mut self, number: DirNumber, outer_len: usize) {
        self.number = number;
        self.outer_len = outer_len;
        self.sums = Sums::default();
        self.subdirs.clear();
        self.subdir_names.clear();
        self.records.clear();
        self.ids.clear();
        self.names.clear();
    }
}

impl<P: BlockSink> Builder<P> {
    /// Builds the tree of `index`. Returns `sink`, which has the blocks.
    pub fn build(index: &Index, sink: P) -> P {
        let mut builder = Self::new(index.hash_kind().len_in_bytes(), sink);
        for entry in index.entries() {
            builder.push(index.path(entry), entry);
        }
        builder.finish()
    }

    /// Starts a tree whose object ids are `id_len` bytes long.
    pub fn new(id_len: usize, sink: P) -> Self {
        let mut top = Level::default();
        top.start(ROOT, 0);
        Self {
            sink,
            id_len,
            levels: vec![top],
            open: 1,
            path: BString::default(),
            previous_stage: 0,
            block: Vec::new(),
        }
    }

    /// Adds the next entry, in the order of the index.
    pub fn push(&mut self, path: &BStr, entry: &Entry) {
        let mut dir_len = name_start(path);
        let mut is_same_directory = path.get(..dir_len) == Some(self.path.as_slice());
        if !is_same_directory {
            dir_len = directory_len(path);
            is_same_directory = self.move_to(path.get(..dir_len).unwrap_or_default());
        }
        let Some(level) = self
            .open
            .checked_sub(1)
            .and_then(|at| self.levels.get_mut(at))
        else {
            return;
        };
        let name = path.get(dir_len..).unwrap_or_default();
        let last = level.records.last().filter(|last| {
            let known = level.names.get(last.name_start() as usize..);
            let known = known.and_then(|known| known.split_last());
            is_same_directory && known.is_some_and(|(_, known)| known == name)
        });
        let is_same_conflict = last.is_some() && self.previous_stage > 0;
        self.previous_stage = entry.flags.stage();
        let name_start = match last {
            Some(last) => last.name_start(),
            None => {
                let start = to_u32(level.names.len());
                level.names.extend_from_slice(name);
                level.names.push(0);
                start
            }
        };
        let record = FileRecord::new(&entry.stat, entry.mode, entry.flags, name_start);
        level.records.push(record);
        let id = entry.id.as_bytes();
        level
            .ids
            .extend_from_slice(id.get(..self.id_len).unwrap_or(id));
        // Every file has room for its id, even if the entry's id is shorter.
        let ids_len = level.records.len().saturating_mul(self.id_len);
        if level.ids.len() < ids_len {
            level.ids.resize(ids_len, 0);
        }
        level.sums.add(&sums_of(entry, is_same_conflict));
    }

    /// Closes all directories. Returns the destination of the blocks.
    pub fn finish(mut self) -> P {
        while self.open > 0 {
            self.close();
        }
        self.sink
    }

    /// Closes and opens directories until `dir` (with a trailing `/`, or empty) is the innermost. Returns whether it already
    /// was.
    fn move_to(&mut self, dir: &[u8]) -> bool {
        let was_innermost = dir == self.path.as_slice();
        while self.open > 1 && !dir.starts_with(&self.path) {
            self.close();
        }
        while let Some(rest) = dir.get(self.path.len()..).filter(|rest| !rest.is_empty()) {
            let len = rest.find_byte(b'/').unwrap_or(rest.len());
            let name = rest.get(..len).unwrap_or_default().as_bstr();
            let outer_len = self.path.len();
            self.path.extend_from_slice(name);
            self.path.push(b'/');
            let above = self
                .open
                .checked_sub(1)
                .and_then(|at| self.levels.get_mut(at));
            let Some(above) = above else { return false };
            let number = self.sink.number(above.number, name);
            above.subdirs.push(OpenSubdir {
                number,
                name_start: above.subdir_names.len(),
                name_len: name.len(),
                before: above.sums.entries,
                entries: 0,
            });
            above.subdir_names.extend_from_slice(name);
            above.subdir_names.push(0);
            if self.levels.len() <= self.open {
                self.levels.push(Level::default());
            }
            if let Some(level) = self.levels.get_mut(self.open) {
                level.start(number, outer_len);
            }
            self.open = self.open.saturating_add(1);
        }
        was_innermost
    }

    /// Writes the block of the innermost directory.
    fn close(&mut self) {
        self.open = self.open.saturating_sub(1);
        let (above, inner) = self.levels.split_at_mut(self.open);
        let Some(level) = inner.first_mut() else {
            return;
        };
        let path = self.path.strip_suffix(b"/").unwrap_or(&self.path);
        write(
            level,
            self.id_len,
            path.as_bstr(),
            &mut self.block,
            &mut self.sink,
        );
        self.path.truncate(level.outer_len);
        if let Some(above) = above.last_mut() {
            above.sums.add(&level.sums);
            if let Some(subdir) = above.subdirs.last_mut() {
                subdir.entries = level.sums.entries;
            }
        }
    }
}

impl<P: BlockSink> EntrySink for Builder<P> {
    fn accept(&mut self, path: &BStr, entry: &Entry) {
        self.push(path, entry);
    }
}

fn write(
    level: &mut Level,
    id_len: usize,
    path: &BStr,
    block: &mut Vec<u8>,
    sink: &mut impl BlockSink,
) {
    let names = &level.subdir_names;
    let name = |subdir: &OpenSubdir| {
        let end = subdir.name_start.saturating_add(subdir.name_len);
        names.get(subdir.name_start..end).unwrap_or_default()
    };
    // The index sorts `a-b/` before `a/`; a listing sorts `a` before `a-b`.
    level.subdirs.sort_by(|a, b| name(a).cmp(name(b)));
    let is_inline = level.records.len() <= INLINE_FILES_MAX;
    let segments = match is_inline {
        true => Vec::new(),
        false => write_segments(level, id_len, block, sink),
    };
    let header = Header {
        entries: level.sums.entries.into(),
        skip_worktree: level.sums.skip_worktree.into(),
        assume_unchanged: level.sums.assume_unchanged.into(),
        conflicted: level.sums.conflicted.into(),
        gitlinks: level.sums.gitlinks.into(),
        sparse_directories: level.sums.sparse_directories.into(),
        subdirs: to_u32(level.subdirs.len()).into(),
        segments: to_u32(segments.len()).into(),
        files: to_u32(if is_inline { level.records.len() } else { 0 }).into(),
        id_len: to_u32(id_len).into(),
    };
    block.clear();
    block.extend_from_slice(header.as_bytes());
    let names_len = if is_inline { level.names.len() } else { 0 };
    for subdir in &level.subdirs {
        let record = SubdirRecord {
            number: subdir.number.into(),
            name_start: to_u32(names_len.saturating_add(subdir.name_start)).into(),
            before: subdir.before.into(),
            entries: subdir.entries.into(),
        };
        block.extend_from_slice(record.as_bytes());
    }
    block.extend_from_slice(segments.as_bytes());
    if is_inline {
        block.extend_from_slice(level.records.as_bytes());
        block.extend_from_slice(&level.ids);
        block.extend_from_slice(&level.names);
    }
    block.extend_from_slice(&level.subdir_names);
    sink.directory(level.number, path, block);
}

/// Writes the files of a large directory in segments. The names decide where a segment ends, so that adding or removing a file
/// changes only one segment.
fn write_segments(
    level: &Level,
    id_len: usize,
    block: &mut Vec<u8>,
    sink: &mut impl BlockSink,
) -> Vec<SegmentRecord> {
    let mut segments = Vec::new();
    let mut start = 0usize;
    while start < level.records.len() {
        let mut end = start;
        while let Some(record) = level.records.get(end) {
            let len = end.saturating_sub(start);
            let is_new_name = end == 0
                || level
                    .records
                    .get(end.saturating_sub(1))
                    .map(FileRecord::name_start)
                    != Some(record.name_start());
            let is_boundary = len >= SEGMENT_FILES_MIN && is_boundary(name_at(level, end));
            if is_new_name && (is_boundary || len >= SEGMENT_FILES_MAX) {
                break;
            }
            end = end.saturating_add(1);
        }
        let records = level.records.get(start..end).unwrap_or_default();
        let name_start = records.first().map_or(0, FileRecord::name_start);
        let name_end = level
            .records
            .get(end)
            .map_or(level.names.len(), |next| next.name_start() as usize);
        let header = Header {
            entries: to_u32(records.len()).into(),
            files: to_u32(records.len()).into(),
            id_len: to_u32(id_len).into(),
            ..Header::default()
        };
        block.clear();
        block.extend_from_slice(header.as_bytes());
        for record in records {
            let moved = record.with_name_start(record.name_start().saturating_sub(name_start));
            block.extend_from_slice(moved.as_bytes());
        }
        let ids = start.saturating_mul(id_len)..end.saturating_mul(id_len);
        block.extend_from_slice(level.ids.get(ids).unwrap_or_default());
        let names = level.names.get(name_start as usize..name_end);
        block.extend_from_slice(names.unwrap_or_default());
        segments.push(SegmentRecord {
            key: sink.files(level.number, block).into(),
            files: to_u32(records.len()).into(),
        });
        start = end;
    }
    segments
}

fn name_at(level: &Level, at: usize) -> &[u8] {
    let start = level.records.get(at).map_or(0, FileRecord::name_start);
    let rest = level.names.get(start as usize..).unwrap_or_default();
    rest.get(..rest.find_byte(0).unwrap_or(rest.len()))
        .unwrap_or_default()
}

/// Whether a segment may begin with `name`: about one name in 128, by the FNV-1a hash of its bytes.
fn is_boundary(name: &[u8]) -> bool {
    let sum = name.iter().fold(0x811c_9dc5u32, |sum, &byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    (sum ^ (sum >> 16)) & 127 == 0
}

fn sums_of(entry: &Entry, is_same_conflict: bool) -> Sums {
    let flags: EntryFlags = entry.flags;
    Sums {
        entries: 1,
        skip_worktree: u32::from(flags.is_skip_worktree()),
        assume_unchanged: u32::from(flags.is_assume_valid()),
        conflicted: u32::from(flags.stage() > 0 && !is_same_conflict),
        gitlinks: u32::from(entry.mode.is_gitlink()),
        sparse_directories: u32::from(entry.is_sparse_directory()),
    }
}

/// Counts fit in 32 bits, because the index format counts entries in 32 bits.
fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
