//! One pack (gitformat-pack(5)): opened when one of its objects is asked for, and then read from its mapping.
//!
//! Like git, this maps packs and their indexes: nothing is copied, and once a page is in memory, reading it takes no
//! system call. Packs are written once, under another name, as read-only files, and removed by unlinking, which leaves
//! the mapping intact. If one is truncated all the same, zeros are read, and the caller that answers finds that out at
//! the end ([`vigil_linux::map::truncation_count`]).

mod offsets;

use std::collections::HashMap;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use gix_hash::{Kind as HashKind, ObjectId, oid};
use gix_object::Kind;
use parking_lot::{Mutex, RwLock};
use vigil_linux::map::Map;
use vigil_linux::{Errno, errno};

use self::offsets::ByOffset;
pub(super) use self::offsets::Places;
use super::error::Reason;
use super::index::{self, Index};
use super::plan::{ReadPlan, Readers};
use super::table::{SortedIds, number};
use vigil_stamp::file;

/// All packs that were ever found; see [`FoundPacks`].
pub(super) type Packs = RwLock<FoundPacks>;

/// Packs by number and by path.
#[derive(Debug, Default)]
pub(super) struct FoundPacks {
    all: Vec<Arc<Pack>>,
    by_path: HashMap<PathBuf, u32>,
}

impl FoundPacks {
    /// Returns the pack at `path`.
    pub(super) fn at(&self, path: &Path) -> Option<&Arc<Pack>> {
        self.all.get(*self.by_path.get(path)? as usize)
    }

    /// Adds the pack that `make` makes with the next number.
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

/// A pack and its index.
#[derive(Debug)]
pub(super) struct Pack {
    /// The index of the pack in [`FoundPacks`].
    pub(super) number: u32,
    pub(super) path: PathBuf,
    /// The name of the pack in messages.
    pub(super) shown: String,
    pub(super) mtime_s: i64,
    pub(super) size: u64,
    pub(super) hash: HashKind,
    index: OnceLock<Index>,
    contents: OnceLock<Map>,
    /// The positions in the index, in the order of offsets.
    by_offset: OnceLock<ByOffset>,
    plan: OnceLock<Option<ReadPlan>>,
    /// Objects that turned out to be damaged, and whether there are any.
    bad: Mutex<Vec<ObjectId>>,
    has_bad: AtomicBool,
}

/// How an object is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// By itself, with this type.
    Whole(Kind),
    /// As a delta against an object that begins a given number of bytes before it.
    OffsetDelta,
    /// As a delta against the object with a given id.
    IdDelta,
    /// As an unknown type with this number; -1 if the header is malformed.
    Unknown(i8),
}

impl Form {
    pub(super) fn is_delta(self) -> bool {
        matches!(self, Self::OffsetDelta | Self::IdDelta)
    }
}

/// The header of an object in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryHeader {
    pub(super) form: Form,
    /// The size of the inflated contents, or of the inflated delta, in bytes.
    pub(super) size: u64,
    /// The offset in the pack of the end of the header.
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

    /// Returns the index, or `None` if it cannot be used. Like git, this tries again each time.
    pub(super) fn index(&self, messages: &mut Vec<String>) -> Option<&Index> {
        if let Some(index) = self.index.get() {
            return Some(index);
        }
        self.listed_index(messages).unwrap_or_default()
    }

    /// Like [`Self::index`], for lists that must not lack objects.
    ///
    /// # Errors
    /// The system failed at the index. git's messages tell why.
    pub(super) fn listed_index(
        &self,
        messages: &mut Vec<String>,
    ) -> Result<Option<&Index>, Reason> {
        if let Some(index) = self.index.get() {
            return Ok(Some(index));
        }
        match self.open_index() {
            Ok(index) => Ok(Some(self.index.get_or_init(|| index))),
            Err(reason) => {
                let has_failed = matches!(reason, NotOpened::Failed(_));
                reason.tell(messages)?;
                if has_failed {
                    return Err(Reason::NotListed);
                }
                Ok(None)
            }
        }
    }

    fn open_index(&self) -> Result<Index, NotOpened> {
        let shown = with_extension(&self.shown, "idx");
        let failed = |error| NotOpened::by("index file", &shown, &error);
        let file = file::open(&self.path.with_extension("idx")).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        let len = usize::try_from(len).map_err(|_| NotOpened::Silently)?;
        if len < index::len_min(self.hash) {
            return Err(NotOpened::Damaged(index::too_small(&shown)));
        }
        let map = Map::read_only(&file, len).map_err(|errno| failed(errno.into()))?;
        Index::parse(map, self.hash, &shown).map_err(NotOpened::Damaged)
    }

    /// Returns the number of objects in the index; 0 if it cannot be used.
    pub(super) fn count(&self) -> usize {
        self.index(&mut Vec::new()).map_or(0, Index::count) as usize
    }

    /// Returns the bytes of the pack, if it is valid and belongs to its index. Like git, this tries again each time.
    ///
    /// # Errors
    /// There is too little memory to map the pack.
    pub(super) fn contents(&self, messages: &mut Vec<String>) -> Result<Option<&[u8]>, Reason> {
        if let Some(contents) = self.contents.get() {
            return Ok(Some(contents));
        }
        match self.open(messages) {
            Ok(map) => Ok(Some(self.contents.get_or_init(|| map))),
            Err(reason) => reason.tell(messages).map(|()| None),
        }
    }

    /// Whether the pack stays readable, even if its file is removed.
    pub(super) fn is_mapped(&self) -> bool {
        self.contents.get().is_some()
    }

    fn open(&self, messages: &mut Vec<String>) -> Result<Map, NotOpened> {
        let shown = &self.shown;
        let damaged = |text| Err(NotOpened::Damaged(text));
        let Some(index) = self.index(messages) else {
            return damaged(format!("packfile {shown} index unavailable"));
        };
        let failed = |error| NotOpened::by("packfile", shown, &error);
        let file = file::open(&self.path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.len() != self.size {
            return damaged(format!("packfile {shown} size changed"));
        }
        let too_short =
            || NotOpened::Damaged(format!("file {shown} is far too short to be a packfile"));
        let len = usize::try_from(self.size).map_err(|_| NotOpened::Silently)?;
        if len < HEADER_LEN {
            return Err(too_short());
        }
        let map = Map::read_only(&file, len).map_err(|errno| {
            NotOpened::Fatal(Reason::NotMapped {
                pack: shown.clone(),
                text: errno::text(errno),
            })
        })?;
        if !map.starts_with(b"PACK") {
            return damaged(format!("file {shown} is not a GIT packfile"));
        }
        let version = number(&map, 4).ok_or_else(too_short)?;
        if !matches!(version, 2 | 3) {
            return damaged(format!(
                "packfile {shown} is version {version} and not supported \
                 (try upgrading GIT to a newer version)"
            ));
        }
        let (claimed, indexed) = (number(&map, 8).ok_or_else(too_short)?, index.count());
        if claimed != indexed {
            return damaged(format!(
                "packfile {shown} claims to have {claimed} objects while index indicates {indexed} objects"
            ));
        }
        let checksum = len.checked_sub(self.hash.len_in_bytes());
        let Some(checksum) = checksum.and_then(|start| map.get(start..)) else {
            // git reads before the beginning of the file.
            let reason = errno::text(Errno::INVAL);
            return damaged(format!("error reading from {shown}: {reason}"));
        };
        if checksum != index.pack_checksum() {
            return damaged(format!("packfile {shown} does not match index"));
        }
        Ok(map)
    }

    /// Returns the offset of the object in the pack. `None` if it is not there, or is known to be damaged.
    pub(super) fn find(&self, id: &oid, messages: &mut Vec<String>) -> Result<Option<u64>, Reason> {
        if self.is_bad(id) {
            return Ok(None);
        }
        let Some(offset) = self.offset_of(id, messages)? else {
            return Ok(None);
        };
        Ok(self.contents(messages)?.map(|_| offset))
    }

    /// Returns the offset of the object that the index gives.
    pub(super) fn offset_of(
        &self,
        id: &oid,
        messages: &mut Vec<String>,
    ) -> Result<Option<u64>, Reason> {
        let Some(index) = self.index(messages) else {
            return Ok(None);
        };
        let Ok(position) = index.lower_bound(id) else {
            return Ok(None);
        };
        let offset = index.offset(position, &self.shown)?;
        Ok((offset != 0).then_some(offset))
    }

    /// Returns the bytes from `offset` on, which must not be after the end of the objects.
    pub(super) fn from(&self, offset: u64, messages: &mut Vec<String>) -> Result<&[u8], Reason> {
        let Some(contents) = self.contents(messages)? else {
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

    /// Releases the memory of the `len` bytes before `rest`, which [`Self::from`] returned, if they will not be needed
    /// again soon.
    pub(super) fn release_before(&self, rest: &[u8], len: usize) {
        let Some(contents) = self.contents.get() else {
            return;
        };
        let end = contents.len().saturating_sub(rest.len());
        contents.release(end.saturating_sub(len)..end);
    }

    /// Reads the header of the object at `offset`.
    pub(super) fn entry(
        &self,
        offset: u64,
        messages: &mut Vec<String>,
    ) -> Result<EntryHeader, Reason> {
        let bytes = self.from(offset, messages)?;
        let Some((form, size, len)) = header(bytes) else {
            messages.push("error: bad object header".into());
            return Ok(EntryHeader {
                form: Form::Unknown(-1),
                size: 0,
                end: offset,
            });
        };
        Ok(EntryHeader {
            form,
            size,
            end: offset + len,
        })
    }

    /// Returns the offsets of the base of the delta at `offset`, and of the compressed delta. `None` if the base is
    /// invalid.
    pub(super) fn base(
        &self,
        entry: &EntryHeader,
        offset: u64,
        messages: &mut Vec<String>,
    ) -> Result<Option<(u64, u64)>, Reason> {
        let bytes = self.from(entry.end, messages)?;
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
        let base = self.offset_of(id, messages)?;
        Ok(base.map(|base| (base, entry.end + id_len as u64)))
    }

    /// Returns the id of the base of the delta at `offset`.
    pub(super) fn base_id(
        &self,
        entry: &EntryHeader,
        offset: u64,
        messages: &mut Vec<String>,
    ) -> Result<Option<ObjectId>, Reason> {
        if entry.form == Form::IdDelta {
            let bytes = self.from(entry.end, messages)?;
            let id = bytes.get(..self.hash.len_in_bytes());
            return Ok(id.and_then(super::table::id_of));
        }
        match self.base(entry, offset, messages)? {
            Some((base, _)) => self.id_at(base, messages),
            None => Ok(None),
        }
    }

    /// Makes a plan for reading all objects. On an error there is no plan; the error is reported when an object is
    /// read.
    pub(super) fn make_plan(&self, readers: Readers) {
        self.plan.get_or_init(|| {
            let plan = ReadPlan::make(self, readers, &mut Vec::new());
            plan.ok().flatten()
        });
    }

    /// Returns the plan, if one was made and was worth it.
    pub(super) fn plan(&self) -> Option<&ReadPlan> {
        self.plan.get()?.as_ref()
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

/// Why a file of a pack cannot be used.
#[derive(Debug)]
enum NotOpened {
    /// Like git, nothing is said of a file that is missing or may not be read.
    Silently,
    /// The file is not what it should be. The text tells how.
    Damaged(String),
    /// The system failed, which may pass. The text tells how.
    Failed(String),
    /// git exits.
    Fatal(Reason),
}

impl NotOpened {
    /// A file of this kind, named `shown`, cannot be opened or looked at because of `error`.
    fn by(kind: &str, shown: &str, error: &io::Error) -> Self {
        let reason = errno::of(error);
        if errno::is_lasting(reason) {
            return Self::Silently;
        }
        Self::Failed(format!(
            "{kind} {shown} cannot be read: {}",
            errno::text(reason)
        ))
    }

    /// Adds git's message.
    fn tell(self, messages: &mut Vec<String>) -> Result<(), Reason> {
        match self {
            Self::Silently => {}
            Self::Damaged(text) | Self::Failed(text) => messages.push(format!("error: {text}")),
            Self::Fatal(reason) => return Err(reason),
        }
        Ok(())
    }
}

/// Replaces the extension `pack` of `path`.
fn with_extension(path: &str, extension: &str) -> String {
    let stem = path.strip_suffix("pack").unwrap_or(path);
    format!("{stem}{extension}")
}

/// Parses the header at the start of `bytes`: the form, the size, and the length of the header.
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

/// Parses the distance from a delta back to its base. Returns it and its length in bytes.
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
