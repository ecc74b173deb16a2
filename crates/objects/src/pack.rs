//! One pack (gitformat-pack(5)): opened when an object of it is asked for, and then read where it is mapped.
//!
//! Packs and their indexes are mapped, as git maps them: nothing is copied, and once a page is in memory no system call
//! is made for it. Packs are written once, under another name, without permission to write, and go by being unlinked, which
//! leaves the mapping whole. Of one that is cut all the same, zeros are read; whoever answers finds that out at the end
//! ([`vigil_linux::map::cuts`]).

use std::cmp::Ordering as Cmp;
use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use gix_hash::{Kind as HashKind, ObjectId, oid};
use gix_object::Kind;
use parking_lot::{Mutex, RwLock};
use vigil_linux::errno;
use vigil_linux::map::Map;

use super::error::{Reason, Trouble};
use super::index::{self, Index};
use super::plan::{Plan, Readers};
use super::table::{Table, number};
use vigil_stamp::file;

/// All packs that were ever found, see [`FoundPacks`].
pub(super) type Packs = RwLock<FoundPacks>;

/// Packs by their numbers, and by where they are.
#[derive(Debug, Default)]
pub(super) struct FoundPacks {
    all: Vec<Arc<Pack>>,
    by_path: HashMap<PathBuf, u32>,
}

impl FoundPacks {
    /// The pack at `path`.
    pub(super) fn at(&self, path: &Path) -> Option<&Arc<Pack>> {
        self.all.get(*self.by_path.get(path)? as usize)
    }

    /// Adds the pack that `make` makes with a number.
    pub(super) fn add(&mut self, make: impl FnOnce(u32) -> Pack) -> Option<Arc<Pack>> {
        let number = u32::try_from(self.all.len()).ok()?;
        let pack = Arc::new(make(number));
        self.by_path.insert(pack.path.clone(), number);
        self.all.push(pack.clone());
        Some(pack)
    }
}

impl Deref for FoundPacks {
    type Target = [Arc<Pack>];

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

const HEADER_LEN: usize = 12;

/// A reverse index begins so.
const REVERSE_MAGIC: &[u8] = b"RIDX";

/// Before its rows come its signature, its version, and a number that stands for the kind of ids.
const REVERSE_HEADER_LEN: usize = 12;

/// A pack and its index.
#[derive(Debug)]
pub(super) struct Pack {
    /// Where the store has it.
    pub(super) number: u32,
    pub(super) path: PathBuf,
    /// What messages call it.
    pub(super) shown: String,
    pub(super) mtime_s: i64,
    pub(super) size: u64,
    pub(super) hash: HashKind,
    index: OnceLock<Index>,
    contents: OnceLock<Map>,
    /// The places in the index in the order of offsets.
    by_offset: OnceLock<ByOffset>,
    plan: OnceLock<Option<Plan>>,
    /// Objects that turned out to be damaged, and whether there are any.
    bad: Mutex<Vec<ObjectId>>,
    has_bad: AtomicBool,
}

/// How an object is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// By itself.
    Whole(Kind),
    /// As a delta against an object that begins so many bytes before it.
    OffsetDelta,
    /// As a delta against the object of an id.
    IdDelta,
    /// A number without a meaning; -1 where there is no sound header.
    Unknown(i8),
}

impl Form {
    pub(super) fn is_delta(self) -> bool {
        matches!(self, Self::OffsetDelta | Self::IdDelta)
    }
}

/// The header of an object in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) form: Form,
    /// The size of the inflated contents, or of the inflated delta, in bytes.
    pub(super) size: u64,
    /// Where the header ends in the pack.
    pub(super) end: u64,
}

impl Pack {
    pub(super) fn new(
        number: u32,
        path: PathBuf,
        shown: String,
        (size, mtime_s): (u64, i64),
        hash: HashKind,
    ) -> Self {
        Self {
            number,
            path,
            shown,
            mtime_s,
            size,
            hash,
            index: OnceLock::new(),
            contents: OnceLock::new(),
            by_offset: OnceLock::new(),
            plan: OnceLock::new(),
            bad: Mutex::default(),
            has_bad: AtomicBool::new(false),
        }
    }

    /// The index. `None` if it cannot be used; it is tried anew each time, as git does.
    pub(super) fn index(&self, said: &mut Vec<String>) -> Option<&Index> {
        if let Some(index) = self.index.get() {
            return Some(index);
        }
        let shown = with_extension(&self.shown, "idx");
        let file = file::open(&self.path.with_extension("idx")).ok()?;
        let len = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let index = if len < index::len_min(self.hash) {
            Err(index::too_small(&shown))
        } else {
            let map = Map::read_only(&file, len).ok()?;
            Index::parse(map, self.hash, &shown)
        };
        match index {
            Ok(index) => Some(self.index.get_or_init(|| index)),
            Err(text) => {
                said.push(format!("error: {text}"));
                None
            }
        }
    }

    /// How many objects the index has; none if it cannot be used.
    pub(super) fn count(&self) -> usize {
        self.index(&mut Vec::new()).map_or(0, Index::count) as usize
    }

    /// The bytes of the pack, if it is one and belongs to its index; it is tried anew each time, as git does.
    pub(super) fn contents(&self, said: &mut Vec<String>) -> Option<&[u8]> {
        if let Some(contents) = self.contents.get() {
            return Some(contents);
        }
        match self.open(said) {
            Ok(map) => Some(self.contents.get_or_init(|| map)),
            Err(text) => {
                said.extend(text.map(|text| format!("error: {text}")));
                None
            }
        }
    }

    fn open(&self, said: &mut Vec<String>) -> Result<Map, Option<String>> {
        let shown = &self.shown;
        let Some(index) = self.index(said) else {
            return Err(Some(format!("packfile {shown} index unavailable")));
        };
        let file = file::open(&self.path).map_err(|_| None)?;
        let metadata = file.metadata().map_err(|_| None)?;
        if metadata.len() != self.size {
            return Err(Some(format!("packfile {shown} size changed")));
        }
        let too_short = || Some(format!("file {shown} is far too short to be a packfile"));
        let len = usize::try_from(self.size).map_err(|_| None)?;
        if len < HEADER_LEN {
            return Err(too_short());
        }
        let map = Map::read_only(&file, len).map_err(|errno| {
            Some(format!(
                "packfile {shown} cannot be mapped: {}",
                errno::text(errno)
            ))
        })?;
        if !map.starts_with(b"PACK") {
            return Err(Some(format!("file {shown} is not a GIT packfile")));
        }
        let version = number(&map, 4).ok_or_else(too_short)?;
        if !matches!(version, 2 | 3) {
            return Err(Some(format!(
                "packfile {shown} is version {version} and not supported \
                 (try upgrading GIT to a newer version)"
            )));
        }
        let (claimed, indexed) = (number(&map, 8).ok_or_else(too_short)?, index.count());
        if claimed != indexed {
            return Err(Some(format!(
                "packfile {shown} claims to have {claimed} objects while index indicates {indexed} objects"
            )));
        }
        let checksum = len.checked_sub(self.hash.len_in_bytes());
        let Some(checksum) = checksum.and_then(|start| map.get(start..)) else {
            return Err(Some(format!("packfile {shown} signature is unavailable")));
        };
        if checksum != index.pack_checksum() {
            return Err(Some(format!("packfile {shown} does not match index")));
        }
        Ok(map)
    }

    /// Where the object begins in the pack. `None` if it is not there, or is known to be damaged.
    pub(super) fn find(&self, id: &oid, said: &mut Vec<String>) -> Result<Option<u64>, Reason> {
        if self.is_bad(id) {
            return Ok(None);
        }
        let Some(offset) = self.offset_of(id, said)? else {
            return Ok(None);
        };
        Ok(self.contents(said).map(|_| offset))
    }

    /// Where the index says that the object begins.
    pub(super) fn offset_of(
        &self,
        id: &oid,
        said: &mut Vec<String>,
    ) -> Result<Option<u64>, Reason> {
        let Some(index) = self.index(said) else {
            return Ok(None);
        };
        let Ok(position) = index.first_not_below(id) else {
            return Ok(None);
        };
        let offset = index.offset(position, &self.shown)?;
        Ok((offset != 0).then_some(offset))
    }

    /// The bytes from `offset` on, which may be those of an object.
    pub(super) fn from(&self, offset: u64, said: &mut Vec<String>) -> Result<&[u8], Reason> {
        let Some(contents) = self.contents(said) else {
            return Err(Reason::NoAccess {
                pack: self.shown.clone(),
            });
        };
        let end = contents.len().saturating_sub(self.hash.len_in_bytes());
        usize::try_from(offset)
            .ok()
            .filter(|offset| *offset <= end)
            .and_then(|offset| contents.get(offset..))
            .ok_or(Reason::BeyondPack)
    }

    /// Lets go of the memory of so many bytes before `rest`, which [`Self::from`] gave, where they will not be looked at
    /// again soon.
    pub(super) fn let_go_before(&self, rest: &[u8], len: usize) {
        let Some(contents) = self.contents.get() else {
            return;
        };
        let end = contents.len().saturating_sub(rest.len());
        contents.let_go(end.saturating_sub(len)..end);
    }

    /// The header of the object at `offset`.
    pub(super) fn entry(&self, offset: u64, said: &mut Vec<String>) -> Result<Entry, Reason> {
        let bytes = self.from(offset, said)?;
        let Some((form, size, len)) = header(bytes) else {
            said.push("error: bad object header".into());
            return Ok(Entry {
                form: Form::Unknown(-1),
                size: 0,
                end: offset,
            });
        };
        Ok(Entry {
            form,
            size,
            end: offset + len,
        })
    }

    /// Where the base of the delta at `offset` begins, and where the compressed delta does. `None` where that makes no
    /// sense.
    pub(super) fn base(
        &self,
        entry: &Entry,
        offset: u64,
        said: &mut Vec<String>,
    ) -> Result<Option<(u64, u64)>, Reason> {
        let bytes = self.from(entry.end, said)?;
        if entry.form == Form::OffsetDelta {
            let base = distance(bytes).and_then(|(distance, len)| {
                let base = offset.checked_sub(distance)?;
                (0 < base && base < offset).then_some((base, entry.end + len))
            });
            return Ok(base);
        }
        let id_len = self.hash.len_in_bytes();
        let Some(Ok(id)) = bytes.get(..id_len).map(oid::try_from_bytes) else {
            return Ok(None);
        };
        let base = self.offset_of(id, said)?;
        Ok(base.map(|base| (base, entry.end + id_len as u64)))
    }

    /// The id of the base of the delta at `offset`.
    pub(super) fn base_id(
        &self,
        entry: &Entry,
        offset: u64,
        said: &mut Vec<String>,
    ) -> Result<Option<ObjectId>, Reason> {
        if entry.form == Form::IdDelta {
            let bytes = self.from(entry.end, said)?;
            let id = bytes.get(..self.hash.len_in_bytes());
            return Ok(id.and_then(super::table::id_of));
        }
        match self.base(entry, offset, said)? {
            Some((base, _)) => self.id_at(base, said),
            None => Ok(None),
        }
    }

    /// The places in the index in the order in which the objects are in the pack.
    pub(super) fn by_offset(&self, said: &mut Vec<String>) -> Result<&[u32], Reason> {
        Ok(match self.offsets(said)? {
            Some(offsets) => &offsets.places,
            None => &[],
        })
    }

    /// Whether the places of [`Self::by_offset`] are all there are, each once, with ascending offsets.
    pub(super) fn is_in_order(&self, said: &mut Vec<String>) -> Result<bool, Reason> {
        Ok(self.offsets(said)?.is_some_and(ByOffset::is_sound))
    }

    /// The same, to be searched.
    fn offsets(&self, said: &mut Vec<String>) -> Result<Option<&ByOffset>, Reason> {
        if let Some(offsets) = self.by_offset.get() {
            return Ok(Some(offsets));
        }
        let Some(index) = self.index(said) else {
            return Ok(None);
        };
        let offsets = match self.reverse_index(index, said) {
            Some(places) => {
                let offset_at = |place: &u32| index.offset(*place, &self.shown).ok();
                let offsets: Option<Vec<u64>> = places.iter().map(offset_at).collect();
                let ascending = offsets.filter(|offsets| self.ascend(offsets));
                ByOffset {
                    samples: ascending.map_or_else(Vec::new, |offsets| samples(&offsets)),
                    places,
                    told: Vec::new(),
                }
            }
            None => self.sort_offsets(index),
        };
        Ok(Some(self.by_offset.get_or_init(|| offsets)))
    }

    /// Where what follows the last object begins.
    fn end(&self) -> u64 {
        self.size.saturating_sub(self.hash.len_in_bytes() as u64)
    }

    /// Whether each of `offsets` is greater than the one before, and all are within the pack. As many as there are objects
    /// are then all of them.
    fn ascend(&self, offsets: &[u64]) -> bool {
        offsets.is_sorted_by(|one, next| one < next)
            && offsets.last().is_none_or(|last| *last < self.end())
    }

    /// The places in the index in the order of offsets, as git sorts them: by as many pairs of bytes as the size of the pack
    /// has, so that offsets outside of it come anywhere.
    fn sort_offsets(&self, index: &Index) -> ByOffset {
        let mut offsets: Vec<(u64, u32)> = index.counted_offsets().into_iter().zip(0..).collect();
        let bits = (u64::BITS - self.size.leading_zeros()).next_multiple_of(16);
        let counted = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        offsets.sort_by_key(|(offset, _)| offset & counted);
        let (told, places): (Vec<u64>, Vec<u32>) = offsets.into_iter().unzip();
        let same = |(offset, place): (&u64, &u32)| {
            index.offset(*place, &self.shown).ok().as_ref() == Some(offset)
        };
        match self.ascend(&told) && told.iter().zip(&places).all(same) {
            true => ByOffset {
                places,
                samples: samples(&told),
                told: Vec::new(),
            },
            false => ByOffset {
                places,
                samples: Vec::new(),
                told,
            },
        }
    }

    /// The places in the index in the order of offsets, as git may have written them beside the pack (gitformat-pack(5),
    /// "pack-*.rev files"). They are taken as they are. `None` where there is no such file, or it is not about this index.
    fn reverse_index(&self, index: &Index, said: &mut Vec<String>) -> Option<Vec<u32>> {
        let file = file::open(&self.path.with_extension("rev")).ok()?;
        let len = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let shown = with_extension(&self.shown, "rev");
        let mut refuse = |what: &str| {
            said.push(format!("error: reverse-index file {shown} {what}"));
            None
        };
        let checksums = 2 * self.hash.len_in_bytes();
        let Some(rows_len) = len.checked_sub(REVERSE_HEADER_LEN + checksums) else {
            return refuse("is too small");
        };
        if rows_len as u64 != u64::from(index.count()) * 4 {
            return refuse("is corrupt");
        }
        let bytes = Map::read_only(&file, len).ok()?;
        if !bytes.starts_with(REVERSE_MAGIC) {
            return refuse("has unknown signature");
        }
        let version = number(&bytes, 4)?;
        if version != 1 {
            return refuse(&format!("has unsupported version {version}"));
        }
        let hash = number(&bytes, 8)?;
        if !matches!(hash, 1 | 2) {
            return refuse(&format!("has unsupported hash id {hash}"));
        }
        let rows = bytes.get(REVERSE_HEADER_LEN..)?.get(..rows_len)?;
        rows.chunks_exact(4).map(|row| number(row, 0)).collect()
    }

    /// Plans for all objects being read. Where that goes wrong there is no plan, and what is wrong is said where it is met.
    pub(super) fn make_plan(&self, readers: Readers) {
        self.plan.get_or_init(|| {
            let plan = Plan::make(self, readers, &mut Vec::new());
            plan.ok().flatten()
        });
    }

    /// The plan, if one was made and it is worth it.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.get()?.as_ref()
    }

    /// Where in [`Self::by_offset`] the object that begins at `offset` is.
    fn position(&self, offset: u64, said: &mut Vec<String>) -> Result<Option<usize>, Reason> {
        let offsets = self.offsets(said)?;
        let (Some(offsets), Some(index)) = (offsets, self.index(said)) else {
            return Ok(None);
        };
        let found = match offsets.is_sound() {
            true => offsets.find(offset, |place| {
                index.offset(place, &self.shown).unwrap_or_default()
            }),
            false => self.halve(offsets, index, offset)?,
        };
        if found.is_none() {
            said.push("error: bad offset for revindex".into());
        }
        Ok(found)
    }

    /// What halving finds, as git does it, among offsets that do not ascend.
    fn halve(
        &self,
        offsets: &ByOffset,
        index: &Index,
        offset: u64,
    ) -> Result<Option<usize>, Reason> {
        let (mut low, mut high) = (0, offsets.places.len() + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let got = self.offset_at(offsets, index, middle)?;
            match got.cast_signed().cmp(&offset.cast_signed()) {
                Cmp::Equal => return Ok(Some(middle)),
                Cmp::Greater => high = middle,
                Cmp::Less => low = middle + 1,
            }
        }
        Ok(None)
    }

    /// Where the object at a position in [`Self::by_offset`] begins.
    fn offset_at(&self, offsets: &ByOffset, index: &Index, position: usize) -> Result<u64, Reason> {
        let told = offsets.told.get(position);
        match (told, offsets.places.get(position)) {
            (Some(offset), _) => Ok(*offset),
            (None, Some(&place)) => index.offset(place, &self.shown),
            (None, None) => Ok(self.end()),
        }
    }

    /// The id of the object that begins at `offset`.
    pub(super) fn id_at(
        &self,
        offset: u64,
        said: &mut Vec<String>,
    ) -> Result<Option<ObjectId>, Reason> {
        let Some(position) = self.position(offset, said)? else {
            return Ok(None);
        };
        let place = self.by_offset(said)?.get(position).copied();
        let index = self.index(said);
        Ok(index.zip(place).and_then(|(index, place)| index.id(place)))
    }

    /// How many bytes the object that begins at `offset` takes in the pack.
    pub(super) fn len_at(&self, offset: u64, said: &mut Vec<String>) -> Result<u64, Trouble> {
        let Some(position) = self.position(offset, said)? else {
            said.push(format!(
                "error: could not find object at offset {offset} in pack {}",
                self.shown
            ));
            return Err(Trouble::Damaged);
        };
        let end = match (self.offsets(said)?, self.index(said)) {
            (Some(offsets), Some(index)) => self.offset_at(offsets, index, position + 1)?,
            _ => self.end(),
        };
        Ok(end.wrapping_sub(offset))
    }

    pub(super) fn is_bad(&self, id: &oid) -> bool {
        self.has_bad.load(Ordering::Relaxed) && self.bad.lock().iter().any(|bad| **bad == *id)
    }

    /// Forgets which objects turned out to be damaged.
    pub(super) fn forget_bad(&self) {
        self.bad.lock().clear();
        self.has_bad.store(false, Ordering::Relaxed);
    }

    pub(super) fn mark_bad(&self, id: &oid) {
        let mut bad = self.bad.lock();
        if !bad.iter().any(|known| **known == *id) {
            bad.push(id.to_owned());
        }
        self.has_bad.store(true, Ordering::Relaxed);
    }
}

/// The places in the index in the order in which the objects are in the pack.
#[derive(Debug)]
struct ByOffset {
    places: Vec<u32>,
    /// The offset of each [`SAMPLED`]th, if all ascend: to search them takes no look into the index.
    samples: Vec<u64>,
    /// All offsets, where git has others in memory than the index tells, or they do not ascend.
    told: Vec<u64>,
}

/// How far apart samples are.
const SAMPLED: usize = 32;

impl ByOffset {
    /// Whether all offsets are those of the index, and ascend.
    fn is_sound(&self) -> bool {
        !self.samples.is_empty() || self.places.is_empty()
    }

    /// Where among the places the one with `offset` is.
    fn find(&self, offset: u64, offset_at: impl Fn(u32) -> u64) -> Option<usize> {
        let behind = self.samples.partition_point(|sample| *sample <= offset);
        let start = behind.saturating_sub(1) * SAMPLED;
        let near = self.places.get(start..).unwrap_or_default();
        let near = near.get(..SAMPLED).unwrap_or(near);
        let found = near.binary_search_by_key(&offset, |place| offset_at(*place));
        found.ok().map(|at| start + at)
    }
}

/// What [`ByOffset::samples`] keeps of ascending offsets.
fn samples(offsets: &[u64]) -> Vec<u64> {
    offsets.iter().step_by(SAMPLED).copied().collect()
}

/// `path` with another extension than that of a pack.
fn with_extension(path: &str, extension: &str) -> String {
    let stem = path.strip_suffix("pack").unwrap_or(path);
    format!("{stem}{extension}")
}

/// The form, the size, and the length of the header that `bytes` begin with.
fn header(bytes: &[u8]) -> Option<(Form, u64, u64)> {
    let (&first, _) = bytes.split_first()?;
    let form = match (first >> 4) & 7 {
        1 => Form::Whole(Kind::Commit),
        2 => Form::Whole(Kind::Tree),
        3 => Form::Whole(Kind::Blob),
        4 => Form::Whole(Kind::Tag),
        6 => Form::OffsetDelta,
        7 => Form::IdDelta,
        0 => Form::Unknown(0),
        _ => Form::Unknown(5),
    };
    let mut size = u64::from(first & 15);
    let (mut shift, mut len, mut byte) = (4u32, 1, first);
    while byte & 0x80 != 0 {
        if shift > 57 {
            return None;
        }
        byte = *bytes.get(len)?;
        len += 1;
        let bits = u64::from(byte & 0x7f);
        let shifted = bits << shift;
        if shifted >> shift != bits {
            return None;
        }
        size = size.checked_add(shifted)?;
        shift += 7;
    }
    Some((form, size, len as u64))
}

/// How far before a delta its base begins, and how many bytes tell it.
fn distance(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut value = 0u64;
    for (place, &byte) in bytes.iter().enumerate() {
        if place > 0 {
            value = value.checked_add(1)?;
            if value >> 57 != 0 {
                return None;
            }
            value <<= 7;
        }
        value += u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, place as u64 + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_found_as_by_halving_all_of_them() {
        for count in [0, 1, 31, 32, 33, 64, 1000] {
            let offset_at = |place: u32| u64::from(place) * 7 + 12;
            let places: Vec<u32> = (0..count).collect();
            let offsets: Vec<u64> = places.iter().map(|place| offset_at(*place)).collect();
            let sampled = ByOffset {
                samples: samples(&offsets),
                told: Vec::new(),
                places,
            };
            assert_eq!(sampled.samples.len(), offsets.len().div_ceil(SAMPLED));
            for offset in 0..u64::from(count) * 7 + 30 {
                let found = offsets.binary_search(&offset).ok();
                assert_eq!(sampled.find(offset, offset_at), found, "{count} {offset}");
            }
        }
    }
}
