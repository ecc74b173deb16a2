//! One folder of objects: its packs and its loose objects.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use gix_hash::{Kind, ObjectId, oid};
use parking_lot::{Mutex, RwLock};
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use std::sync::{Arc, OnceLock};
use vigil_linux::stat::{stat_fd, stat_path};
use vigil_linux::{Errno, errno};
use vigil_model::raw_text::raw;

use super::error::Reason;
use super::location::ObjectPlace;
use super::loose::Loose;
use super::midx::{self, Midx};
use super::pack::{Pack, Packs};
use super::table::SortedIds;
use vigil_stamp::file;
use vigil_stamp::{Observation, now};

/// The file in which a folder of objects names its alternates.
pub(super) const ALTERNATES: &str = "info/alternates";

/// A folder of objects.
#[derive(Debug)]
pub(super) struct ObjectDir {
    pub(super) folder: PathBuf,
    /// Its name in messages.
    pub(super) shown: String,
    hash: Kind,
    uses_midx: bool,
    /// An observation of its `info/alternates` from before that was read.
    alternates: Observation,
    /// The same from before it was read for the last time.
    last_alternates: Mutex<Observation>,
    listing: RwLock<Option<Listing>>,
}

/// A list of folders that is read without a lock and only grows.
#[derive(Debug, Default)]
pub(super) struct ObjectDirs {
    first: Vec<ObjectDir>,
    rest: OnceLock<Box<ObjectDirs>>,
}

impl ObjectDirs {
    fn parts(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |part| part.rest.get().map(Box::as_ref))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ObjectDir> {
        self.parts().flat_map(|part| &part.first)
    }

    pub(super) fn get(&self, number: usize) -> Option<&ObjectDir> {
        match self.first.get(number) {
            None => self.iter().nth(number),
            found => found,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.parts().map(|part| part.first.len()).sum()
    }

    /// Adds folders. Only one thread may do so at a time.
    pub(super) fn append(&self, added: Vec<ObjectDir>) {
        if !added.is_empty()
            && let Some(last) = self.parts().last()
        {
            last.rest.get_or_init(|| Box::new(added.into()));
        }
    }
}

impl From<Vec<ObjectDir>> for ObjectDirs {
    fn from(first: Vec<ObjectDir>) -> Self {
        Self {
            first,
            rest: OnceLock::new(),
        }
    }
}

/// The packs of a folder, as of the last time it was listed.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The newest first.
    pub(super) midxes: Vec<Arc<Layer>>,
    /// Packs that are in no multi-pack-index: those in which something was found last come first, then the youngest.
    pub(super) order: Vec<Arc<Pack>>,
    /// An observation of the folder of packs from before it was listed for the first time.
    seen: Option<Observation>,
    /// The same from before it was listed for the last time.
    listed: Option<Observation>,
    /// Whether the system failed to tell which packs there are, the last time the folder was listed.
    pub(super) has_failed: bool,
    /// What git writes when it lists the folder for the first time.
    said: Vec<String>,
}

/// A multi-pack-index with its packs.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) midx: Midx,
    /// Each is looked at when one of its objects is asked for; `None` for a missing one. Like git, this looks only once.
    packs: Vec<OnceLock<Option<Arc<Pack>>>>,
}

impl ObjectDir {
    pub(super) fn new(
        folder: PathBuf,
        alternates: Observation,
        shown: String,
        hash: Kind,
        uses_midx: bool,
    ) -> Self {
        Self {
            folder,
            shown,
            hash,
            uses_midx,
            alternates,
            last_alternates: Mutex::new(alternates),
            listing: RwLock::default(),
        }
    }

    /// Whether packs that were found may be gone, or alternates may have been added or removed: of added ones that are not there,
    /// git says so even if all objects are found without them.
    pub(super) fn is_outdated(&self) -> bool {
        let listing = self.listing.read();
        let seen = listing.as_ref().and_then(|listing| listing.seen);
        seen.is_some_and(|seen| !holds(seen, &self.folder.join("pack")))
            // What is wrong may be mended in place.
            || listing.as_ref().is_some_and(|listing| !listing.said.is_empty())
            || self.has_other_alternates()
    }

    /// Returns what git writes when it lists the packs for the first time; nothing before that.
    pub(super) fn listing_messages(&self) -> Vec<String> {
        let listing = self.listing.read();
        let said = listing.as_ref().map(|listing| listing.said.clone());
        said.unwrap_or_default()
    }

    /// Whether alternates may have been added or removed.
    pub(super) fn has_other_alternates(&self) -> bool {
        let path = self.folder.join(ALTERNATES);
        let last = *self.last_alternates.lock();
        // What was added may be gone again.
        !holds(self.alternates, &path) || last != self.alternates && !holds(last, &path)
    }

    /// Whether alternates may have been added or removed since [`Self::note_alternates`].
    pub(super) fn has_unread_alternates(&self) -> bool {
        let last = *self.last_alternates.lock();
        !holds(last, &self.folder.join(ALTERNATES))
    }

    /// Notes that `info/alternates` was read for `other`, the same folder.
    pub(super) fn note_alternates(&self, other: &Self) {
        *self.last_alternates.lock() = other.alternates;
    }

    /// Calls `ask` with the packs, which are listed on first use.
    pub(super) fn with_listing<T>(
        &self,
        packs: &Packs,
        messages: &mut Vec<String>,
        ask: impl FnOnce(&Listing, &mut Vec<String>) -> Result<T, Reason>,
    ) -> Result<T, Reason> {
        let listing = self.listing.read();
        if let Some(listing) = listing.as_ref() {
            return ask(listing, messages);
        }
        drop(listing);
        let before = messages.len();
        self.list(packs, messages)?;
        if let Some(said) = messages.get(before..).filter(|said| !said.is_empty())
            && let Some(listing) = self.listing.write().as_mut()
        {
            listing.said = said.to_vec();
        }
        match self.listing.read().as_ref() {
            Some(listing) => ask(listing, messages),
            None => ask(&Listing::default(), messages),
        }
    }

    /// Looks at the folder of packs; `None` if the system failed to tell.
    pub(super) fn look_at_packs(&self) -> Option<Observation> {
        Observation::of(&self.folder.join("pack")).ok()
    }

    /// Whether the packs that are known were listed when the folder of packs was as it was at the time of `look`, and
    /// it still is. Changes within one tick of the file system's clock go unnoticed.
    pub(super) fn is_listed_as_of(&self, look: Option<&Observation>) -> bool {
        let now = stat_path(&self.folder.join("pack")).ok();
        let listing = self.listing.read();
        let listed = listing.as_ref().and_then(|listing| listing.listed);
        let looks = listed.iter().chain(look);
        look.is_some() && { looks }.all(|look| look.is_same(now.as_ref()))
    }

    /// Forgets which packs there are, so that all are listed anew.
    pub(super) fn forget_listing(&self) {
        *self.listing.write() = None;
    }

    /// Finds the object in a pack in which it is not known to be damaged.
    pub(super) fn find_packed(
        &self,
        id: &oid,
        packs: &Packs,
        messages: &mut Vec<String>,
    ) -> Result<Option<ObjectPlace>, Reason> {
        let found = self.with_listing(packs, messages, |listing, messages| {
            self.find_listed(id, listing, packs, messages)
        })?;
        let Some((place, order)) = found else {
            return Ok(None);
        };
        if let Some(order) = order.filter(|order| *order > 0)
            && let Some(listing) = self.listing.write().as_mut()
            // Another thread may have moved it.
            && let Some(moved) = listing.order.get_mut(..=order)
        {
            moved.rotate_right(1);
        }
        Ok(Some(place))
    }

    /// Returns the object's place, and the index of its pack in `listing.order` if it is there.
    fn find_listed(
        &self,
        id: &oid,
        listing: &Listing,
        packs: &Packs,
        messages: &mut Vec<String>,
    ) -> Result<Option<(ObjectPlace, Option<usize>)>, Reason> {
        for layer in &listing.midxes {
            if let Ok(position) = layer.midx.lower_bound(id) {
                let at = layer.midx.place(position)?;
                if self.look_at_pack(layer, at.0, packs, messages)
                    && let Some(place) = layer.place(id, at, messages)?
                {
                    return Ok(Some((place, None)));
                }
                break;
            }
        }
        for (order, pack) in listing.order.iter().enumerate() {
            if let Some(offset) = pack.find(id, messages)? {
                let pack = pack.number;
                return Ok(Some((ObjectPlace::Packed { pack, offset }, Some(order))));
            }
        }
        Ok(None)
    }

    /// Looks at the pack `number` of a multi-pack-index, unless that was done. Returns whether the system could tell if it is
    /// there.
    fn look_at_pack(
        &self,
        layer: &Layer,
        number: usize,
        packs: &Packs,
        messages: &mut Vec<String>,
    ) -> bool {
        let name = layer.midx.packs.get(number);
        let Some((slot, name)) = layer.packs.get(number).zip(name) else {
            return true;
        };
        if slot.get().is_some() {
            return true;
        }
        let path = self.folder.join("pack").join(OsStr::from_bytes(name));
        match self.pack(&path, packs) {
            Ok(pack) => {
                slot.get_or_init(|| pack);
                true
            }
            Err(error) => {
                let reason = errno::text_of(&error);
                messages.push(format!(
                    "error: unable to look at packs in {}/pack: {reason}",
                    self.shown
                ));
                false
            }
        }
    }

    /// Looks at all packs of multi-pack-indexes. Returns whether the system could tell which of them are there.
    pub(super) fn look_at_all_packs(
        &self,
        listing: &Listing,
        packs: &Packs,
        messages: &mut Vec<String>,
    ) -> bool {
        let mut layers = listing.midxes.iter();
        layers.all(|layer| {
            let mut numbers = 0..layer.packs.len();
            numbers.all(|number| self.look_at_pack(layer, number, packs, messages))
        })
    }

    /// Looks for packs that are new on disk.
    pub(super) fn list(&self, packs: &Packs, messages: &mut Vec<String>) -> Result<(), Reason> {
        let folder = self.folder.join("pack");
        let shown = format!("{}/pack", self.shown);
        let mut listing = self.listing.write();
        let listing = listing.get_or_insert_default();
        // Opened before anything in it is read, so that a change in between is noticed.
        let is_listed = listing.listed.is_some_and(|listed| holds(listed, &folder));
        let opened = (!is_listed).then(|| open_folder(&folder));
        listing.has_failed = false;
        let add = |name: &OsStr| self.pack(&folder.join(name), packs);
        if self.uses_midx && listing.midxes.is_empty() {
            let midxes = midx::open(&folder, &shown, self.hash, messages)?;
            listing.midxes = midxes.into_iter().map(Layer::new).map(Arc::new).collect();
        }
        let (seen, entries) = match opened {
            Some(Ok(opened)) => opened,
            None => {
                listing.sort();
                return Ok(());
            }
            Some(Err(errno)) => {
                if errno != Errno::NOENT {
                    messages.push(format!(
                        "error: unable to open object pack directory: {}: {}",
                        shown,
                        errno::text(errno)
                    ));
                }
                listing.has_failed |= !errno::is_lasting(errno);
                return Ok(());
            }
        };
        listing.seen.get_or_insert(seen);
        let mut numbers: HashSet<u32> = listing.order.iter().map(|pack| pack.number).collect();
        let layers = listing.midxes.iter();
        let indexed: HashSet<&[u8]> = layers
            .flat_map(|layer| layer.midx.packs.iter().map(|name| name.as_slice()))
            .collect();
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => {
                    let reason = errno::text(errno);
                    messages.push(format!(
                        "error: unable to read object pack directory: {shown}: {reason}"
                    ));
                    listing.has_failed = true;
                    break;
                }
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if !name.as_bytes().ends_with(b".idx") || indexed.contains(name.as_bytes()) {
                continue;
            }
            match add(name) {
                Ok(Some(pack)) if numbers.insert(pack.number) => listing.order.push(pack),
                Ok(_) => {}
                Err(error) => {
                    let name = raw(name.as_bytes());
                    let reason = errno::text_of(&error);
                    messages.push(format!(
                        "error: unable to look at the pack of {shown}/{name}: {reason}"
                    ));
                    listing.has_failed = true;
                }
            }
        }
        // What the system failed to tell is asked for again: nothing on the disk will change.
        listing.listed = (!listing.has_failed).then_some(seen);
        listing.sort();
        Ok(())
    }

    /// Returns the pack whose index is at `path`; `None` if there is none that may be used.
    fn pack(&self, path: &Path, packs: &Packs) -> io::Result<Option<Arc<Pack>>> {
        let path = path.with_extension("pack");
        let mut packs = packs.write();
        let known = packs.at(&path).cloned();
        if known.as_ref().is_some_and(|known| known.is_mapped()) {
            return Ok(known);
        }
        let metadata = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => metadata,
            Err(error) if !errno::is_lasting(errno::of(&error)) => return Err(error),
            _ => return Ok(None),
        };
        if known
            .as_ref()
            .is_some_and(|known| known.size == metadata.len())
        {
            return Ok(known);
        }
        let Some(name) = path.file_name() else {
            return Ok(None);
        };
        let shown = format!("{}/pack/{}", self.shown, raw(name.as_bytes()));
        let facts = (metadata.len(), metadata.mtime());
        Ok(packs.add(|number| Pack::new(number, path, shown, facts, self.hash)))
    }

    /// Returns the name of the object's file in messages.
    pub(super) fn shown_loose(&self, id: &oid) -> String {
        let hex = id.to_string();
        let (fan, rest) = hex.split_at_checked(2).unwrap_or_default();
        format!("{}/{fan}/{rest}", self.shown)
    }

    /// Returns the length of the object's file, in bytes, which may be 0; `None` if there is none. Like git, this does not
    /// follow a link.
    pub(super) fn loose_len(&self, id: &oid) -> Option<u64> {
        let metadata = fs::symlink_metadata(self.loose_path(id)).ok()?;
        Some(metadata.len())
    }

    fn loose_path(&self, id: &oid) -> PathBuf {
        let mut hex = [0; 64];
        let len = id.hex_to_buf(&mut hex).len();
        let hex = hex.get(..len).and_then(|hex| hex.split_at_checked(2));
        let (fan, rest) = hex.unwrap_or_default();
        let mut path = PathBuf::with_capacity(self.folder.as_os_str().len() + 1 + len + 1);
        path.push(&self.folder);
        path.push(OsStr::from_bytes(fan));
        path.push(OsStr::from_bytes(rest));
        path
    }

    /// Opens the file of the object. An empty one counts as missing.
    pub(super) fn open_loose(
        &self,
        id: &oid,
        messages: &mut Vec<String>,
    ) -> Result<Option<Loose>, Reason> {
        let path = self.loose_path(id);
        let file = match file::open(&path) {
            Ok(file) => file,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    messages.push(format!(
                        "error: unable to open loose object {id}: {}",
                        errno::text_of(&error)
                    ));
                }
                return Ok(None);
            }
        };
        let metadata = match file.metadata() {
            Ok(metadata) => metadata,
            Err(error) => {
                let reason = errno::text_of(&error);
                messages.push(format!(
                    "error: unable to look at loose object {id}: {reason}"
                ));
                return Ok(None);
            }
        };
        let len = metadata.len();
        if len == 0 {
            let shown = self.shown_loose(id);
            messages.push(format!("error: object file {shown} is empty"));
            return Ok(None);
        }
        if metadata.is_dir() {
            return Err(Reason::Map(errno::text(Errno::NODEV)));
        }
        Ok(Some(Loose::new(file, len)))
    }

    /// Finds the loose objects whose first byte is in `range`, folder by folder, in the order in which the system
    /// lists them.
    pub(super) fn loose_ids(
        &self,
        range: std::ops::RangeInclusive<u8>,
        messages: &mut Vec<String>,
        mut found: impl FnMut(ObjectId),
    ) -> Result<(), Reason> {
        for fan in range {
            let fan = format!("{fan:02x}");
            let entries = match fs::read_dir(self.folder.join(&fan)) {
                Ok(entries) => entries,
                Err(error) => {
                    if error.kind() != io::ErrorKind::NotFound {
                        messages.push(format!(
                            "error: unable to open {}/{fan}: {}",
                            self.shown,
                            errno::text_of(&error)
                        ));
                        return match errno::is_lasting(errno::of(&error)) {
                            // git stops here.
                            true => Ok(()),
                            false => Err(Reason::NotListed),
                        };
                    }
                    continue;
                }
            };
            for entry in entries {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        let reason = errno::text_of(&error);
                        messages.push(format!(
                            "error: unable to read {}/{fan}: {reason}",
                            self.shown
                        ));
                        return Err(Reason::NotListed);
                    }
                };
                let mut hex = fan.clone().into_bytes();
                hex.extend_from_slice(entry.file_name().as_bytes());
                if hex.len() == self.hash.len_in_hex()
                    && let Ok(id) = ObjectId::from_hex(&hex)
                {
                    found(id);
                }
            }
        }
        Ok(())
    }
}

impl Listing {
    /// Moves the youngest packs to the front, as git does after each search for new ones.
    fn sort(&mut self) {
        self.order.sort_by_key(|pack| -pack.mtime_s);
    }

    /// Returns all packs that were looked at, in the order in which git enumerates them.
    pub(super) fn packs(&self) -> impl Iterator<Item = &Arc<Pack>> {
        let oldest_first = self.midxes.iter().rev();
        let indexed = oldest_first.flat_map(|layer| layer.packs());
        self.order.iter().chain(indexed)
    }
}

/// Opens a folder to list it, with an observation from before.
fn open_folder(folder: &Path) -> Result<(Observation, Dir), Errno> {
    let before = now();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(CWD, folder, flags, Mode::empty())?;
    let seen = Observation::at(before, Some(&stat_fd(opened.as_fd())?));
    Ok((seen, Dir::new(opened)?))
}

/// Whether the observation still holds. A failure counts as a change.
fn holds(seen: Observation, path: &Path) -> bool {
    seen.is_current(path).unwrap_or(false)
}

impl Layer {
    fn new(midx: Midx) -> Self {
        let packs = midx.packs.iter().map(|_| OnceLock::new()).collect();
        Self { midx, packs }
    }

    /// The packs that were looked at and are there.
    pub(super) fn packs(&self) -> impl Iterator<Item = &Arc<Pack>> {
        let known = self.packs.iter().filter_map(OnceLock::get);
        known.flatten()
    }

    /// Returns the place of the object that is at `offset` in the pack `number`, if that was looked at and can be used.
    pub(super) fn place(
        &self,
        id: &oid,
        (number, offset): (usize, u64),
        messages: &mut Vec<String>,
    ) -> Result<Option<ObjectPlace>, Reason> {
        let Some(pack) = self.known_pack(number) else {
            return Ok(None);
        };
        if pack.contents(messages)?.is_none() || pack.is_bad(id) {
            return Ok(None);
        }
        let pack = pack.number;
        Ok(Some(ObjectPlace::Packed { pack, offset }))
    }

    /// Returns the pack of the object at `position`, if that was looked at.
    pub(super) fn pack(&self, position: u32) -> Option<&Arc<Pack>> {
        let (number, _) = self.midx.place(position).ok()?;
        self.known_pack(number)
    }

    fn known_pack(&self, number: usize) -> Option<&Arc<Pack>> {
        self.packs.get(number)?.get()?.as_ref()
    }
}
