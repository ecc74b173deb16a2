//! What a scan remembers of each directory, so that the next scan need not list it again: in this process, and from
//! blocks that another process wrote.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bstr::{BStr, BString, ByteSlice};
use parking_lot::{Mutex, MutexGuard};
use vigil_model::seen::{
    ComparedRecord, ListingRecord, NewListing, STAMP_LEN, SeenBlock, SeenListing, write,
};
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{DirNumber, TreeDiff};

use super::ignoring::Ignoring;
use super::system::{IgnoreScope, System};
use vigil_stamp::Stamp;

/// A file whose contents were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentComparison {
    /// The file's position in its directory.
    pub(super) at: usize,
    pub(super) stamp: Stamp,
    /// How the contents were converted.
    pub(super) conversion: Option<u64>,
    pub(super) is_unchanged: bool,
}

/// A file or directory below an untracked directory, on which the verdict on that directory rests.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    /// The path from the tracked directory above, without a slash at the end.
    pub(super) path: BString,
    pub(super) stamp: Stamp,
}

/// What one tracked directory holds besides its tracked files.
#[derive(Clone, Debug, Default)]
pub(super) struct NonTracked {
    /// Untracked paths, relative to the directory; directories end in `/`.
    pub(super) untracked: Vec<BString>,
    /// Ignored paths, relative to the directory; directories end in `/`.
    pub(super) ignored: Vec<BString>,
    /// Tracked subdirectories that an ignore rule matches.
    pub(super) excluded_subdirs: Vec<DirNumber>,
    /// What else must be unchanged for this listing to hold.
    pub(super) witnesses: Vec<Witness>,
    /// The stamp of the directory's own file of ignore rules, if it has one.
    pub(super) rules_file: Option<Stamp>,
}

impl NonTracked {
    fn is_empty(&self) -> bool {
        self.untracked.is_empty()
            && self.ignored.is_empty()
            && self.excluded_subdirs.is_empty()
            && self.witnesses.is_empty()
            && self.rules_file.is_none()
    }
}

/// A listing that may be used again.
#[derive(Debug)]
pub(super) struct Listed {
    stamp: Stamp,
    /// The digest of the rules in force above, and whether they exclude the directory.
    rules_above: u128,
    is_excluded: bool,
    own_rules: OwnRules,
    /// `None` for most directories, which hold nothing else.
    non_tracked: Option<Box<NonTracked>>,
}

/// The rules in force in the directory, including those of its own file.
#[derive(Debug)]
enum OwnRules {
    /// The directory adds no rules.
    None,
    Known(Arc<dyn IgnoreScope>),
    /// The digest of the rules, which have not been read yet.
    Unread(u128),
}

impl Listed {
    pub(super) fn new(
        stamp: Stamp,
        rules_above: &Arc<dyn IgnoreScope>,
        is_excluded: bool,
        rules: &Arc<dyn IgnoreScope>,
        non_tracked: NonTracked,
    ) -> Self {
        let has_own = rules.digest() != rules_above.digest();
        Self {
            stamp,
            rules_above: rules_above.digest(),
            is_excluded,
            own_rules: match has_own {
                true => OwnRules::Known(rules.clone()),
                false => OwnRules::None,
            },
            non_tracked: (!non_tracked.is_empty()).then(|| Box::new(non_tracked)),
        }
    }

    /// Whether the directory still has `stamp`, and the rules from above are still the same.
    pub(super) fn is_of(&self, stamp: &Stamp, above: &Ignoring) -> bool {
        self.rules_above == above.rules.digest()
            && self.is_excluded == above.is_excluded
            && self.stamp == *stamp
    }

    /// Whether the directory held only tracked files, and has no rules of its own.
    pub(super) fn holds_nothing_else(&self) -> bool {
        self.non_tracked.is_none() && matches!(self.own_rules, OwnRules::None)
    }

    pub(super) fn non_tracked(&self) -> &NonTracked {
        static NOTHING: NonTracked = NonTracked {
            untracked: Vec::new(),
            ignored: Vec::new(),
            excluded_subdirs: Vec::new(),
            witnesses: Vec::new(),
            rules_file: None,
        };
        self.non_tracked.as_deref().unwrap_or(&NOTHING)
    }

    /// Returns the rules in the directory `dir`, given the rules `above` it.
    pub(super) fn rules(
        &mut self,
        above: &Arc<dyn IgnoreScope>,
        system: &dyn System,
        dir: &BStr,
    ) -> Arc<dyn IgnoreScope> {
        let digest = match &self.own_rules {
            OwnRules::None => return above.clone(),
            OwnRules::Known(rules) if rules.is_true_to_digest() => return rules.clone(),
            // They could not be read then, and perhaps can be now.
            OwnRules::Known(rules) => rules.digest(),
            OwnRules::Unread(digest) => *digest,
        };
        let rules = system.rules_of_digest(above, dir, digest);
        self.own_rules = OwnRules::Known(rules.clone());
        rules
    }

    fn own_digest(&self) -> u128 {
        match &self.own_rules {
            OwnRules::None => self.rules_above,
            OwnRules::Known(rules) => rules.digest(),
            OwnRules::Unread(digest) => *digest,
        }
    }
}

/// A listing in memory, or one that is still in the block only: it may be long, and few questions ask for all.
#[derive(Debug)]
enum Remembered {
    Read(Listed),
    Unread,
}

/// What is remembered of one tracked directory.
#[derive(Debug, Default)]
pub(super) struct DirMemory {
    /// With the number of the question that each answers.
    listings: Vec<(u32, Remembered)>,
    /// In the order of files.
    compared: Vec<ContentComparison>,
    /// Whether the block was read, if there is one.
    is_loaded: bool,
    /// Whether this memory differs from the block.
    is_dirty: bool,
}

impl DirMemory {
    /// Returns the listing for `question`, if it has been read.
    pub(super) fn listed(&mut self, question: u32) -> Option<&mut Listed> {
        let mut listings = self.listings.iter_mut();
        match listings.find(|(known, _)| *known == question)? {
            (_, Remembered::Read(listed)) => Some(listed),
            (_, Remembered::Unread) => None,
        }
    }

    /// Remembers the listing for `question`; `None` forgets it, if none can be used again.
    pub(super) fn remember(&mut self, question: u32, listed: Option<Listed>) {
        let before = self.listings.len();
        self.listings.retain(|(known, _)| *known != question);
        self.is_dirty |= listed.is_some() || self.listings.len() != before;
        if let Some(listed) = listed {
            self.add(question, Remembered::Read(listed));
        }
    }

    /// Reserves room for exactly one: most directories have one listing, and there are many directories.
    fn add(&mut self, question: u32, listing: Remembered) {
        self.listings.reserve_exact(1);
        self.listings.push((question, listing));
    }

    fn lacks(&self, wanted: Wanted) -> bool {
        let mut listings = self.listings.iter();
        listings.any(|(question, listing)| {
            matches!(listing, Remembered::Unread) && wanted.includes(*question)
        })
    }

    /// Reads those listings that are wanted and have not been read from `block`, where they were found.
    fn read(&mut self, block: Option<&SeenBlock<'_>>, wanted: Wanted) {
        for listing in block.iter().flat_map(|block| block.listings()) {
            let question = listing.record.question.get();
            let mut known = self.listings.iter_mut();
            let unread = known.find_map(|(known, it)| (*known == question).then_some(it));
            if let Some(unread @ Remembered::Unread) = unread
                && wanted.includes(question)
            {
                *unread = Remembered::Read(Listed::read(&listing));
            }
        }
    }

    /// Returns the comparisons of the files at `places`.
    pub(super) fn compared(&self, places: &Range<usize>) -> Vec<ContentComparison> {
        self.compared
            .get(self.part(places))
            .unwrap_or_default()
            .to_vec()
    }

    /// Replaces the comparisons of the files at `places` by `compared`.
    pub(super) fn remember_compared(
        &mut self,
        places: &Range<usize>,
        compared: Vec<ContentComparison>,
    ) {
        let part = self.part(places);
        if self.compared.get(part.clone()) != Some(compared.as_slice()) {
            self.compared.splice(part, compared);
            self.is_dirty = true;
        }
    }

    fn part(&self, places: &Range<usize>) -> Range<usize> {
        let before = |place: usize| self.compared.partition_point(|one| one.at < place);
        before(places.start)..before(places.end)
    }

    fn load(&mut self, block: &SeenBlock<'_>, untrusted_since: Option<Timestamp>, wanted: Wanted) {
        let is_believed =
            |stamp: &Stamp| untrusted_since.is_none_or(|time| stamp.is_entirely_before(time));
        let compared = block.compared().iter().map(|one| {
            let flags = one.flags.get();
            ContentComparison {
                at: one.at.get() as usize,
                stamp: Stamp::from_bytes(&one.stamp),
                conversion: (flags & ComparedRecord::HAS_CONVERSION != 0)
                    .then(|| one.conversion.get()),
                is_unchanged: flags & ComparedRecord::IS_UNCHANGED != 0,
            }
        });
        self.compared = compared.filter(|one| is_believed(&one.stamp)).collect();
        for listing in block.listings() {
            if stamps(&listing).all(|stamp| is_believed(&stamp)) {
                let question = listing.record.question.get();
                let listing = match wanted.includes(question) {
                    true => Remembered::Read(Listed::read(&listing)),
                    false => Remembered::Unread,
                };
                self.add(question, listing);
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let compared: Vec<ComparedRecord> = self
            .compared
            .iter()
            .map(|one| {
                let unchanged = u32::from(one.is_unchanged) * ComparedRecord::IS_UNCHANGED;
                let converted =
                    u32::from(one.conversion.is_some()) * ComparedRecord::HAS_CONVERSION;
                ComparedRecord {
                    stamp: one.stamp.to_bytes(),
                    conversion: one.conversion.unwrap_or(0).into(),
                    at: u32::try_from(one.at).unwrap_or(u32::MAX).into(),
                    flags: (unchanged | converted).into(),
                }
            })
            .collect();
        let listings: Vec<NewListing<'_>> = self
            .listings
            .iter()
            .filter_map(|(question, listing)| match listing {
                Remembered::Read(listed) => Some(listed.to_write(*question)),
                Remembered::Unread => None,
            })
            .collect();
        write(&compared, &listings, out);
    }
}

impl Listed {
    fn read(listing: &SeenListing<'_>) -> Self {
        let record = listing.record;
        let flags = record.flags.get();
        let witnesses = listing.witnesses().map(|(path, stamp)| Witness {
            path: path.to_owned(),
            stamp: Stamp::from_bytes(stamp),
        });
        let owned = |names: &mut dyn Iterator<Item = &BStr>| names.map(BString::from).collect();
        let non_tracked = NonTracked {
            untracked: owned(&mut listing.untracked()),
            ignored: owned(&mut listing.ignored()),
            excluded_subdirs: listing.excluded().collect(),
            witnesses: witnesses.collect(),
            rules_file: rules_file(record),
        };
        let (above, own) = (record.rules_above.get(), record.rules.get());
        Self {
            stamp: Stamp::from_bytes(&record.stamp),
            rules_above: above,
            is_excluded: flags & ListingRecord::IS_EXCLUDED != 0,
            own_rules: match own == above {
                true => OwnRules::None,
                false => OwnRules::Unread(own),
            },
            non_tracked: (!non_tracked.is_empty()).then(|| Box::new(non_tracked)),
        }
    }

    fn to_write(&self, question: u32) -> NewListing<'_> {
        let non_tracked = self.non_tracked();
        let excluded = u32::from(self.is_excluded) * ListingRecord::IS_EXCLUDED;
        let has_file = u32::from(non_tracked.rules_file.is_some()) * ListingRecord::HAS_RULES_FILE;
        NewListing {
            record: ListingRecord {
                stamp: self.stamp.to_bytes(),
                rules_file: non_tracked
                    .rules_file
                    .map_or([0; STAMP_LEN], |stamp| stamp.to_bytes()),
                rules_above: self.rules_above.into(),
                rules: self.own_digest().into(),
                question: question.into(),
                flags: (excluded | has_file).into(),
                ..ListingRecord::EMPTY
            },
            untracked: bytes(&non_tracked.untracked),
            ignored: bytes(&non_tracked.ignored),
            excluded: &non_tracked.excluded_subdirs,
            witnesses: non_tracked
                .witnesses
                .iter()
                .map(|witness| (witness.path.as_bytes(), witness.stamp.to_bytes()))
                .collect(),
        }
    }
}

/// The stamps of all that `listing` rests on.
fn stamps(listing: &SeenListing<'_>) -> impl Iterator<Item = Stamp> {
    let witnesses = listing.witnesses();
    let witnesses = witnesses.map(|(_, stamp)| Stamp::from_bytes(stamp));
    let dir = Stamp::from_bytes(&listing.record.stamp);
    [dir]
        .into_iter()
        .chain(rules_file(listing.record))
        .chain(witnesses)
}

fn rules_file(record: &ListingRecord) -> Option<Stamp> {
    let has_file = record.flags.get() & ListingRecord::HAS_RULES_FILE != 0;
    has_file.then(|| Stamp::from_bytes(&record.rules_file))
}

fn bytes(names: &[BString]) -> Vec<&[u8]> {
    names.iter().map(|name| name.as_bytes()).collect()
}

/// Which listings of a directory are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    None,
    /// That for one question.
    For(u32),
    All,
}

impl Wanted {
    fn includes(self, question: u32) -> bool {
        match self {
            Self::None => false,
            Self::For(wanted) => wanted == question,
            Self::All => true,
        }
    }
}

/// The blocks that earlier processes wrote about what they saw.
pub trait SeenBlocks: Send + Sync {
    /// Returns the block of a directory, if there is one that can be read.
    fn seen(&self, number: DirNumber) -> Option<&[u8]>;

    /// The total length of all blocks, in bytes, at most.
    fn len_in_all(&self) -> u64;
}

/// The memory of a working copy's scans. It belongs to one tree of tracked files.
#[derive(Default)]
pub struct ScanMemory {
    dirs: Vec<Mutex<DirMemory>>,
    blocks: Option<Arc<dyn SeenBlocks>>,
    /// How many bytes of blocks may still be read. Undamaged blocks are read at most once each, and never exceed this.
    left: AtomicU64,
    /// The time from which stamps in blocks prove nothing, if any.
    untrusted_since: Option<Timestamp>,
    /// Whether any directory was used since none differed from its block. Saves a look at all of them: there are many.
    may_be_dirty: AtomicBool,
}

impl ScanMemory {
    /// Creates an empty memory for `dirs` directories.
    pub fn new(dirs: usize) -> Self {
        Self {
            dirs: std::iter::repeat_with(Mutex::default).take(dirs).collect(),
            blocks: None,
            left: AtomicU64::new(0),
            untrusted_since: None,
            may_be_dirty: AtomicBool::new(false),
        }
    }

    /// Like [`Self::new`], with the contents of `blocks`, as far as their stamps are before `untrusted_since`.
    pub fn with_blocks(
        dirs: usize,
        blocks: Arc<dyn SeenBlocks>,
        untrusted_since: Option<Timestamp>,
    ) -> Self {
        Self {
            left: blocks.len_in_all().into(),
            blocks: Some(blocks),
            untrusted_since,
            ..Self::new(dirs)
        }
    }

    /// Carries the memory over to another tree of `dirs` directories, most of which are unchanged.
    pub fn carried_over(mut self, dirs: usize, tree_diff: &TreeDiff) -> Self {
        self.dirs
            .resize_with(dirs.max(self.dirs.len()), Mutex::default);
        for &number in tree_diff.directories.keys().chain(&tree_diff.removed) {
            if let Some(mut memory) = self.dir(number, Wanted::None) {
                memory.remember_compared(&(0..usize::MAX), Vec::new());
            }
        }
        for &number in tree_diff.other_names.union(&tree_diff.removed) {
            if let Some(mut memory) = self.dir(number, Wanted::None) {
                // A block on disk may hold more than was loaded, and the number may be given to another directory.
                memory.is_dirty |=
                    !memory.listings.is_empty() || tree_diff.removed.contains(&number);
                memory.listings.clear();
            }
        }
        self
    }

    /// Locks and returns the memory of a directory, after loading its block, with the listings that are `wanted`.
    pub(super) fn dir(
        &self,
        number: DirNumber,
        wanted: Wanted,
    ) -> Option<MutexGuard<'_, DirMemory>> {
        let mut memory = self.dirs.get(number as usize)?.lock();
        // All workers read this flag's cache line, so that it is written only once.
        if !self.may_be_dirty.load(Ordering::Relaxed) {
            self.may_be_dirty.store(true, Ordering::Relaxed);
        }
        if !memory.is_loaded {
            memory.is_loaded = true;
            let block = self.block(number);
            let block = block.filter(|block| self.takes(block.len()));
            if let Some(block) = block.and_then(SeenBlock::parse) {
                memory.load(&block, self.untrusted_since, wanted);
            }
        }
        self.complete(number, &mut memory, wanted);
        Some(memory)
    }

    /// Reads the `wanted` listings that were left unread when the block was loaded.
    fn complete(&self, number: DirNumber, memory: &mut DirMemory, wanted: Wanted) {
        if memory.lacks(wanted) {
            let block = self.block(number).and_then(SeenBlock::parse);
            memory.read(block.as_ref(), wanted);
        }
    }

    fn block(&self, number: DirNumber) -> Option<&[u8]> {
        self.blocks.as_ref()?.seen(number)
    }

    fn takes(&self, len: usize) -> bool {
        let fewer = |left: u64| left.checked_sub(len as u64);
        let taken = (self.left).try_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        taken.is_ok()
    }

    /// Whether any listing of the directory is remembered.
    pub fn has_listing(&self, number: DirNumber) -> bool {
        self.dir(number, Wanted::None)
            .is_some_and(|memory| !memory.listings.is_empty())
    }

    /// Whether the memory of any directory differs from its block. Call this between scans.
    pub fn is_dirty(&self) -> bool {
        let is_dirty = self.may_be_dirty.load(Ordering::Relaxed)
            && self.dirs.iter().any(|memory| memory.lock().is_dirty);
        self.may_be_dirty.store(is_dirty, Ordering::Relaxed);
        is_dirty
    }

    /// Returns new blocks for the directories whose memory differs from their blocks; `None` if nothing is remembered.
    pub fn dirty_blocks(&self) -> Vec<(DirNumber, Option<Vec<u8>>)> {
        let dirs = (0..).zip(&self.dirs);
        dirs.filter_map(|(number, memory)| {
            let mut memory = memory.lock();
            memory.is_dirty.then(|| {
                self.complete(number, &mut memory, Wanted::All);
                (number, memory.block())
            })
        })
        .collect()
    }

    /// Returns blocks for all directories of which anything is remembered, in memory or in blocks.
    pub fn all(&self) -> Vec<(DirNumber, Option<Vec<u8>>)> {
        let dirs = (0..).zip(&self.dirs).map(|(number, _)| number);
        dirs.filter_map(|number| Some((number, Some(self.dir(number, Wanted::All)?.block()?))))
            .collect()
    }

    /// Marks all blocks as written: the memory now matches them.
    pub fn mark_written(&self) {
        for memory in &self.dirs {
            memory.lock().is_dirty = false;
        }
    }

    /// Frees the memory, all of which is in `blocks`; it is read from there when needed again.
    pub fn back_with(&mut self, blocks: Arc<dyn SeenBlocks>) {
        for memory in &mut self.dirs {
            let memory = memory.get_mut();
            if memory.is_loaded {
                *memory = DirMemory::default();
            }
        }
        self.left = blocks.len_in_all().into();
        self.blocks = Some(blocks);
        self.untrusted_since = None;
        self.may_be_dirty = AtomicBool::new(false);
    }

    /// The number of directories whose memory is loaded.
    pub fn loaded(&self) -> usize {
        let dirs = self.dirs.iter();
        dirs.filter(|memory| memory.lock().is_loaded).count()
    }
}

impl DirMemory {
    fn block(&self) -> Option<Vec<u8>> {
        let is_empty = self.listings.is_empty() && self.compared.is_empty();
        (!is_empty).then(|| {
            let mut block = Vec::new();
            self.write(&mut block);
            block
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One block for all directories, and the claimed length of all blocks.
    struct Shared(Vec<u8>, u64);

    impl SeenBlocks for Shared {
        fn seen(&self, _: DirNumber) -> Option<&[u8]> {
            Some(&self.0)
        }

        fn len_in_all(&self) -> u64 {
            self.1
        }
    }

    #[test]
    fn no_more_is_read_than_all_blocks_have() {
        let compared = ComparedRecord {
            stamp: [0; STAMP_LEN],
            conversion: 0.into(),
            at: 0.into(),
            flags: 0.into(),
        };
        let mut block = Vec::new();
        write(&[compared; 50], &[], &mut block);
        let room = 3 * block.len() as u64 + 1;
        let memory = ScanMemory::with_blocks(1000, Arc::new(Shared(block, room)), None);
        let known = (0..1000).filter(|number| {
            !memory
                .dir(*number, Wanted::All)
                .unwrap()
                .compared
                .is_empty()
        });
        assert_eq!(known.count(), 3);
    }

    fn listing(question: u32) -> ListingRecord {
        ListingRecord {
            stamp: [1; STAMP_LEN],
            rules_above: 1.into(),
            rules: 1.into(),
            question: question.into(),
            ..ListingRecord::EMPTY
        }
    }

    #[test]
    fn listings_that_no_question_asked_for_are_left_unread_and_kept() {
        let new = |question, name: &'static [u8]| NewListing {
            record: listing(question),
            untracked: vec![name],
            ignored: Vec::new(),
            excluded: &[],
            witnesses: vec![(name, [2; STAMP_LEN])],
        };
        let written = |listings: &[NewListing<'_>]| {
            let mut block = Vec::new();
            write(&[], listings, &mut block);
            block
        };
        let block = written(&[new(1, b"a"), new(2, b"b"), new(3, b"c")]);
        let blocks = Arc::new(Shared(block.clone(), 2 * block.len() as u64));
        let mut memory = ScanMemory::with_blocks(2, blocks, None);
        {
            let mut dir = memory.dir(0, Wanted::None).unwrap();
            assert!((1..4).all(|question| dir.listed(question).is_none()));
        }
        assert!(memory.has_listing(0));
        {
            let mut dir = memory.dir(0, Wanted::For(2)).unwrap();
            assert_eq!(dir.listed(2).unwrap().non_tracked().untracked, ["b"]);
            assert!(dir.listed(1).is_none() && dir.listed(3).is_none());
            dir.remember(1, None);
        }
        let rest = written(&[new(2, b"b"), new(3, b"c")]);
        assert_eq!(memory.dirty_blocks(), [(0, Some(rest.clone()))]);
        assert_eq!(memory.all(), [(0, Some(rest)), (1, Some(block.clone()))]);

        // A name that another file has now is forgotten, read or not.
        let blocks = Arc::new(Shared(block.clone(), block.len() as u64));
        memory.back_with(blocks);
        let tree_diff = TreeDiff {
            other_names: [0].into(),
            ..TreeDiff::default()
        };
        let memory = memory.carried_over(1, &tree_diff);
        assert!(!memory.has_listing(0));
        assert_eq!(memory.dirty_blocks(), [(0, None)]);
    }
}
