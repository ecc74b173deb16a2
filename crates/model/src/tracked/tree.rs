//! The tree that the blocks form.

use std::borrow::Borrow;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId};

use super::blocks::{Blocks, Damaged, DirNumber, ROOT};
use super::builder::Builder;
use super::in_order::{InOrder, Member};
use super::layout::{DirectoryBlock, Files, FilesBlock, SubdirRecord, TrackedFile};
use super::lookup::{ByNumber, ByPath};
use super::memory::InMemory;
use super::sums::Sums;
use crate::facts::RecordedStat;
use crate::index::{Entry, EntryFlags, Index};
use crate::mode::FileMode;

/// All tracked files.
///
/// A damaged block is treated as empty, and the damage is recorded. The caller must call [`Self::check`] before it gives
/// an answer.
#[derive(Clone)]
pub struct Tracked {
    hash: Kind,
    blocks: Arc<dyn Blocks>,
    damaged: Arc<OnceLock<Damaged>>,
}

impl fmt::Debug for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracked")
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

/// One tracked file with its path and number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedEntry {
    /// Its number in the order of the index.
    pub number: u32,
    /// The path from the top; that of a sparse directory ends in `/`.
    pub path: BString,
    /// The stat data recorded when the entry was made or last refreshed.
    pub stat: RecordedStat,
    /// Type and executable bit.
    pub mode: FileMode,
    /// The stage and the marks.
    pub flags: EntryFlags,
    /// The blob, or the commit of a submodule, or the tree of a sparse directory.
    pub id: ObjectId,
}

impl TrackedEntry {
    /// The entry with number `number` at `path`.
    pub fn new(number: u32, path: BString, file: &TrackedFile<'_>) -> Self {
        Self {
            number,
            path,
            stat: file.stat(),
            mode: file.mode(),
            flags: file.flags(),
            id: file.id(),
        }
    }
}

impl Tracked {
    /// The tree that `blocks` form.
    pub fn new(hash: Kind, blocks: Arc<dyn Blocks>) -> Self {
        Self {
            hash,
            blocks,
            damaged: Arc::default(),
        }
    }

    /// An empty tree.
    pub fn empty(hash: Kind) -> Self {
        Self::of(&Index::empty(hash))
    }

    /// The tree of `index`, in memory.
    pub fn of(index: &Index) -> Self {
        let hash = index.hash_kind();
        Self::new(hash, Arc::new(Builder::build(index, InMemory::default())))
    }

    /// The tree of `records`, with their paths, in memory. They come in the byte order of full paths, as in git's index.
    pub fn of_records<'r>(
        hash: Kind,
        records: impl IntoIterator<Item = (&'r BStr, impl Borrow<Entry>)>,
    ) -> Self {
        let mut builder = Builder::new(hash.len_in_bytes(), InMemory::default());
        for (path, record) in records {
            builder.push(path, record.borrow());
        }
        Self::new(hash, Arc::new(builder.finish()))
    }

    pub(super) fn blocks(&self) -> &Arc<dyn Blocks> {
        &self.blocks
    }

    /// Copies the tree into memory, so that it depends on no other blocks.
    pub(super) fn in_one_place(&self) -> Self {
        let mut all = InMemory::default();
        self.each_block(|block| match block {
            Block::Directory(number, bytes) => all.put_directory(number, bytes),
            Block::Files(key, bytes) => all.put_files(key, bytes),
        });
        Self {
            blocks: Arc::new(all),
            ..self.clone()
        }
    }

    /// Calls `take` once for each block.
    pub fn each_block<'t>(&'t self, mut take: impl FnMut(Block<'t>)) {
        let mut pending = vec![ROOT];
        let budget = self.budget();
        while let Some(number) = pending.pop() {
            let directory = self.visit_within(number, 0, &budget);
            let Some(bytes) = self.block(number) else {
                continue;
            };
            take(Block::Directory(number, bytes));
            for key in directory.segment_keys() {
                if let Some(bytes) = self.files_block(key) {
                    take(Block::Files(key, bytes));
                }
            }
            pending.extend(directory.subdirs().rev().map(|subdir| subdir.number));
        }
    }

    /// Whether the blocks are in memory, at least the newest layer of them.
    pub fn is_in_memory(&self) -> bool {
        self.blocks.untrusted_len().is_none()
    }

    /// The bytes of a directory's block.
    pub fn block(&self, number: DirNumber) -> Option<&[u8]> {
        self.record_damage(number, self.blocks.directory(number).map(Some))
    }

    /// The bytes of the block of files with the key `key`.
    pub fn files_block(&self, key: u32) -> Option<&[u8]> {
        self.record_damage(key, self.blocks.files(key).map(Some))
    }

    /// The hash function of the object ids.
    pub fn hash_kind(&self) -> Kind {
        self.hash
    }

    /// The counts of the whole tree.
    pub fn sums(&self) -> Sums {
        self.directory(ROOT).sums()
    }

    /// One more than the greatest directory number.
    pub fn directory_number_end(&self) -> u32 {
        self.blocks.directory_number_end()
    }

    /// Checks for damage found so far.
    ///
    /// # Errors
    /// A block that was read is damaged, so nothing read since this value was created can be trusted.
    pub fn check(&self) -> Result<(), Damaged> {
        if !self.blocks.are_whole() {
            let _ = self.damaged.set(Damaged { key: ROOT });
        }
        self.damaged.get().map_or(Ok(()), |damaged| Err(*damaged))
    }

    pub(super) fn record_damage<T>(
        &self,
        key: u32,
        found: Result<Option<T>, Damaged>,
    ) -> Option<T> {
        let found = found.and_then(|found| found.ok_or(Damaged { key }));
        found
            .map_err(|damaged| self.damaged.get_or_init(|| damaged))
            .ok()
    }

    /// The directory with number `number`.
    pub fn directory(&self, number: DirNumber) -> Directory<'_> {
        let block = self.blocks.directory(number).map(DirectoryBlock::parse);
        let block = self.record_damage(number, block);
        let mut segments = Vec::new();
        for segment in block.map(|block| block.segments()).unwrap_or_default() {
            let key = segment.key.get();
            let files = self.record_damage(key, self.blocks.files(key).map(FilesBlock::parse));
            segments.extend(files);
        }
        Directory::new(block, segments)
    }

    /// The directory with number `number`, if it exists and is not damaged.
    pub(super) fn directory_if_any(&self, number: DirNumber) -> Option<Directory<'_>> {
        let block = DirectoryBlock::parse(self.blocks.directory(number).ok()?)?;
        let keys = block.segments().iter().map(|segment| segment.key.get());
        let segments = keys.map(|key| FilesBlock::parse(self.blocks.files(key).ok()?));
        let segments = segments.collect::<Option<Vec<_>>>()?;
        Some(Directory::new(Some(block), segments))
    }

    /// The blocks of files of a directory, with their keys.
    pub(super) fn segments_of(&self, number: DirNumber) -> HashMap<Vec<u8>, u32> {
        let directory = self.directory_if_any(number);
        let keys = directory.iter().flat_map(Directory::segment_keys);
        keys.filter_map(|key| Some((self.blocks.files(key).ok()?.to_vec(), key)))
            .collect()
    }

    /// The entry with number `number`. To find many, use [`ByNumber`].
    pub fn entry(&self, number: u32) -> Option<TrackedEntry> {
        ByNumber::new(self).get(number)
    }

    /// The entry of `path` and `stage`. To find many, use [`ByPath`].
    pub fn find(&self, path: &BStr, stage: u8) -> Option<TrackedEntry> {
        ByPath::new(self).find(path, stage)
    }

    /// The first entry of `path`, whatever its stage.
    pub fn find_first(&self, path: &BStr) -> Option<TrackedEntry> {
        ByPath::new(self).find_first(path)
    }

    /// The directory called `name` in the directory with number `number`. Unlike [`Self::directory`], this does not look at the
    /// files, which takes long if there are many.
    pub fn subdir_called(&self, number: DirNumber, name: &BStr) -> Option<Subdir<'_>> {
        let block = self.blocks.directory(number).map(DirectoryBlock::parse);
        let block = self.record_damage(number, block)?;
        Some(Subdir::new(block, block.find_subdir(name)?))
    }

    /// The directory at `path` (without a trailing slash; empty for the top), if tracked files are in or below it.
    pub fn find_directory(&self, path: &BStr) -> Option<DirNumber> {
        if path.is_empty() {
            return Some(ROOT);
        }
        path.split_str("/").try_fold(ROOT, |number, name| {
            let subdir = self.subdir_called(number, name.into());
            subdir.map(|subdir| subdir.number)
        })
    }

    /// Calls `visit` for every entry in the order of the index, with its number and path. Skips directories whose sums
    /// `is_wanted` rejects.
    pub fn visit<B>(
        &self,
        is_wanted: impl Fn(&Sums) -> bool,
        mut visit: impl FnMut(u32, &BStr, &TrackedFile<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut path = BString::default();
        // Each open directory has the number of its first entry and the length of its path.
        let budget = self.budget();
        let mut open = vec![(InOrder::new(self.visit_within(ROOT, 0, &budget)), 0u32, 0)];
        while let Some((current, first, path_len)) = open.last_mut() {
            path.truncate(*path_len);
            let Some((before, member)) = current.next() else {
                open.pop();
                continue;
            };
            let number = first.saturating_add(before);
            match member {
                Member::File(file) => {
                    path.extend_from_slice(file.name());
                    visit(number, path.as_bstr(), &file)?;
                }
                Member::Subdir(subdir) => {
                    let path_len = path.len().saturating_add(subdir.name().len());
                    let directory = self.visit_within(subdir.number, path_len, &budget);
                    if !directory
                        .block
                        .is_some_and(|block| is_wanted(&block.sums()))
                    {
                        continue;
                    }
                    path.extend_from_slice(subdir.name());
                    path.push(b'/');
                    open.push((InOrder::new(directory), number, path.len()));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// One block of a tree, with its key.
#[derive(Clone, Copy, Debug)]
pub enum Block<'t> {
    /// The block of a directory.
    Directory(DirNumber, &'t [u8]),
    /// A block of the files of a large directory.
    Files(u32, &'t [u8]),
}

/// One directory with tracked files in or below it.
#[derive(Debug)]
pub struct Directory<'t> {
    block: Option<DirectoryBlock<'t>>,
    segments: Vec<Files<'t>>,
    files: usize,
    /// The subdirectories in the order of the index.
    order: OnceCell<Vec<Placed>>,
}

/// The place of a subdirectory among the entries of its parent's tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// The number of entries before it.
    pub(super) before: u32,
    /// How many of these are the parent's own files.
    pub(super) files_before: u32,
    /// The number of entries below it.
    pub(super) entries: u32,
    /// Its position in the order of names.
    pub(super) at: u32,
}

impl<'t> Directory<'t> {
    pub(super) fn new(block: Option<DirectoryBlock<'t>>, segments: Vec<Files<'t>>) -> Self {
        let files = match segments.is_empty() {
            true => block.map_or(0, |block| block.files().len()),
            false => segments.iter().map(Files::len).sum(),
        };
        Self {
            block,
            segments,
            files,
            order: OnceCell::new(),
        }
    }

    /// The keys of the blocks that hold the files of a large directory.
    pub(crate) fn segment_keys(&self) -> impl Iterator<Item = u32> + use<'t> {
        let segments = self.block.map(|block| block.segments()).unwrap_or_default();
        segments.iter().map(|segment| segment.key.get())
    }

    /// The number of index entries in the directory itself.
    #[inline]
    pub fn files_len(&self) -> usize {
        self.files
    }

    /// The file at position `at`, in byte order of names.
    #[inline]
    pub fn file(&self, mut at: usize) -> Option<TrackedFile<'t>> {
        if self.segments.is_empty() {
            return self.block?.files().get(at);
        }
        for segment in &self.segments {
            if at < segment.len() {
                return segment.get(at);
            }
            at = at.saturating_sub(segment.len());
        }
        None
    }

    /// The files from position `start` on, in byte order of names, each with its position.
    pub fn files_from(&self, start: usize) -> FilesFrom<'_, 't> {
        let mut files = FilesFrom {
            directory: self,
            segment: 0,
            current: None,
            at: start,
            place: start,
        };
        files.current = files.open();
        files
    }

    /// The counts in and below the directory.
    pub fn sums(&self) -> Sums {
        self.block.map(|block| block.sums()).unwrap_or_default()
    }

    /// The position of the first file whose name is `name` or greater.
    pub fn position(&self, name: &[u8]) -> usize {
        if self.segments.is_empty() {
            return self.block.map_or(0, |block| block.files().position(name));
        }
        let segment = self
            .segments
            .partition_point(|segment| segment.last().is_some_and(|last| last.name() < name));
        let passed = self.segments.iter().take(segment).map(Files::len).sum();
        let at = self.segments.get(segment);
        let at = at.map_or(0, |segment| segment.position(name));
        usize::saturating_add(passed, at)
    }

    /// Whether there is a file called `name`.
    pub fn has_file(&self, name: &[u8]) -> bool {
        let file = self.file(self.position(name));
        file.is_some_and(|file| file.name() == name)
    }

    /// The subdirectories, in byte order of names.
    #[inline]
    pub fn subdirs(&self) -> impl DoubleEndedIterator<Item = Subdir<'t>> + Clone + use<'t> {
        let block = self.block;
        let records = block.map(|block| block.subdirs()).unwrap_or_default();
        records
            .iter()
            .filter_map(move |record| Some(Subdir::new(block?, record)))
    }

    pub(super) fn subdir(&self, at: usize) -> Option<Subdir<'t>> {
        let block = self.block?;
        block
            .subdirs()
            .get(at)
            .map(|record| Subdir::new(block, record))
    }

    /// The subdirectory called `name`.
    pub fn find_subdir(&self, name: &[u8]) -> Option<Subdir<'t>> {
        let block = self.block?;
        block
            .find_subdir(name)
            .map(|record| Subdir::new(block, record))
    }

    /// The number of entries of the directory's tree that precede its file at position `at`, in the order of the index.
    pub fn offset(&self, at: usize) -> u32 {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        let order = self.order();
        let passed = order.partition_point(|subdir| subdir.files_before <= at);
        let last = passed.checked_sub(1).and_then(|last| order.get(last));
        last.map_or(at, |last| {
            let files = at.saturating_sub(last.files_before);
            last.end().saturating_add(files)
        })
    }

    /// The files of the segment at `at`. Without segments, all files are in segment 0.
    pub(super) fn segment(&self, at: usize) -> Option<Files<'t>> {
        match self.segments.is_empty() {
            true => self.block.filter(|_| at == 0).map(|block| block.files()),
            false => self.segments.get(at).copied(),
        }
    }

    pub(super) fn order(&self) -> &[Placed] {
        self.order.get_or_init(|| {
            let placed = |(subdir, at): (Subdir<'_>, u32)| Placed {
                before: subdir.before,
                files_before: 0,
                entries: subdir.entries,
                at,
            };
            let mut order: Vec<_> = self.subdirs().zip(0u32..).map(placed).collect();
            order.sort_unstable_by_key(|subdir| (subdir.before, subdir.entries, subdir.at));
            let mut below = 0u32;
            for subdir in &mut order {
                subdir.files_before = subdir.before.saturating_sub(below);
                below = below.saturating_add(subdir.entries);
            }
            order
        })
    }
}

impl Placed {
    /// The number of entries up to and including those below it.
    pub(super) fn end(&self) -> u32 {
        self.before.saturating_add(self.entries)
    }
}

/// An iterator over files of a directory, see [`Directory::files_from`].
#[derive(Clone, Debug)]
pub struct FilesFrom<'d, 't> {
    directory: &'d Directory<'t>,
    /// The segment after the current one.
    segment: usize,
    current: Option<Files<'t>>,
    at: usize,
    place: usize,
}

impl<'t> FilesFrom<'_, 't> {
    /// Skips to the next segment that contains the start, and returns its files.
    fn open(&mut self) -> Option<Files<'t>> {
        while let Some(segment) = self.directory.segment(self.segment) {
            self.segment = self.segment.saturating_add(1);
            if self.at < segment.len() {
                return Some(segment);
            }
            self.at = self.at.saturating_sub(segment.len());
        }
        None
    }
}

impl<'t> Iterator for FilesFrom<'_, 't> {
    type Item = (usize, TrackedFile<'t>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(file) = self.current?.get(self.at) {
                let place = self.place;
                self.at = self.at.saturating_add(1);
                self.place = place.saturating_add(1);
                return Some((place, file));
            }
            self.at = 0;
            self.current = self.open();
        }
    }
}

/// A subdirectory that contains tracked files.
#[derive(Clone, Copy, Debug)]
pub struct Subdir<'t> {
    block: DirectoryBlock<'t>,
    record: &'t SubdirRecord,
    /// The number of the subdirectory.
    pub number: DirNumber,
    /// The number of entries of the parent's tree that precede it.
    pub before: u32,
    /// The number of entries in and below it.
    pub entries: u32,
}

impl<'t> Subdir<'t> {
    #[inline]
    fn new(block: DirectoryBlock<'t>, record: &'t SubdirRecord) -> Self {
        Self {
            block,
            record,
            number: record.number.get(),
            before: record.before.get(),
            entries: record.entries.get(),
        }
    }

    /// The name.
    #[inline]
    pub fn name(&self) -> &'t BStr {
        self.block.subdir_name(self.record)
    }
}
