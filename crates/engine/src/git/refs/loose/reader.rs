//! All loose references at once.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId};
use vigil_linux::process::cores;
use vigil_linux::stat::stat_at_first;

use super::memory::{Memory, Records};
use super::{Folder, Folders, Loose, Raw, is_per_worktree, list, read, read_at};
use crate::git::refs::packed::Packed;
use vigil_stamp::Stamp;
use vigil_stamp::file::open_folder;

/// From how many references on each thread that reads them is worth its start.
const NAMES_PER_THREAD_MIN: usize = 256;

/// A loose reference as it was read.
#[derive(Debug)]
pub(in crate::git::refs) struct LooseRef {
    pub(in crate::git::refs) name: BString,
    pub(in crate::git::refs) raw: Raw,
    /// What it leads to through tags, as it was found when it was remembered.
    pub(in crate::git::refs) peeled: Option<ObjectId>,
    /// The record of it that still holds.
    pub(super) record: Option<u32>,
}

/// Loose references, in byte order.
#[derive(Debug, Default)]
pub(in crate::git::refs) struct LooseRefs {
    pub(in crate::git::refs) all: Vec<LooseRef>,
    /// The folders that all worktrees share, with how many files there were, if there is a memory.
    pub(super) folders: Vec<(Folder, usize)>,
}

impl LooseRefs {
    /// Whether a tag in `packed` may not count, since it is loose, too.
    pub(in crate::git::refs) fn hides_tags_of(&self, packed: &Packed) -> bool {
        let tags = self
            .all
            .iter()
            .filter(|found| found.name.starts_with(b"refs/tags/"));
        let mut names = tags.map(|tag| packed.find(tag.name.as_ref()));
        names.any(|found| !matches!(found, Ok(None)))
    }
}

/// What the loose references hold whose names begin with `prefix` (empty, or with a slash in it).
pub(in crate::git::refs) fn read_under(
    folders: Folders<'_>,
    prefix: &BStr,
    hash: Kind,
    memory: Option<&Memory>,
) -> LooseRefs {
    let (mut names, listed) = names_under(folders, prefix, memory);
    let reader = || Reader::new(folders, hash, memory);
    let threads = match names.len() / NAMES_PER_THREAD_MIN {
        0 | 1 => 1,
        worthwhile => cores().min(worthwhile),
    };
    let share = names.len().div_ceil(threads);
    let all = std::thread::scope(|scope| {
        let mut readers = Vec::new();
        while names.len() > share {
            // The last ones first: they are taken off without moving the others.
            let last = names.split_off(names.len() - share);
            readers.push(scope.spawn(move || reader().read_all(last)));
        }
        let mut all = reader().read_all(names);
        for reader in readers.into_iter().rev() {
            match reader.join() {
                Ok(read) => all.extend(read),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    LooseRefs {
        all,
        folders: listed,
    }
}

/// A name, and the place of its record.
type Known = (BString, Option<u32>);

/// The names of files that may be references, in byte order, and the folders that were listed.
fn names_under(
    folders: Folders<'_>,
    prefix: &BStr,
    memory: Option<&Memory>,
) -> (Vec<Known>, Vec<(Folder, usize)>) {
    let prefix = if prefix.is_empty() {
        BStr::new(b"refs/")
    } else {
        prefix
    };
    let top = prefix
        .get(..prefix.rfind_byte(b'/').unwrap_or(0))
        .unwrap_or_default();
    let mut names = Vec::new();
    let mut listed = Vec::new();
    list(folders.common, top, memory, &mut |mut folder| {
        let own = std::mem::take(&mut folder.files);
        let count = own.len();
        names.extend(own.into_iter().filter(|(name, _)| name.starts_with(prefix)));
        if memory.is_some() {
            listed.push((folder, count));
        }
    });
    if folders.own != folders.common {
        list(folders.own, top, None, &mut |folder| {
            let own = folder.files.into_iter();
            names.extend(own.filter(|(name, _)| name.starts_with(prefix)));
        });
        for (name, record) in &mut names {
            if is_per_worktree(name) {
                *record = None;
            }
        }
    }
    names.sort_unstable();
    names.dedup_by(|one, other| one.0 == other.0);
    (names, listed)
}

/// Reads references by name, so that each comes from the folder that counts for it.
struct Reader<'a> {
    folders: Folders<'a>,
    hash: Kind,
    records: Option<Records<'a>>,
    /// The folder of the last one, and what it is called, with the slash at the end: opened from there, a file costs
    /// half of what its whole path does.
    folder: Option<(BString, OwnedFd)>,
    /// A name with its end.
    text: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn new(folders: Folders<'a>, hash: Kind, memory: Option<&'a Memory>) -> Self {
        Self {
            folders,
            hash,
            records: memory.map(Memory::records),
            folder: None,
            text: Vec::new(),
        }
    }

    fn read_all(mut self, names: Vec<Known>) -> Vec<LooseRef> {
        let mut all = Vec::with_capacity(names.len());
        for (name, record) in names {
            let file = self.enter(&name);
            let remembered = record.and_then(|at| self.remembered(at, name.get(file..)?));
            let (raw, peeled, record) = match remembered {
                Some((id, peeled)) => (Raw::Direct(id), peeled, record),
                None => match self.read(&name, file) {
                    Loose::Found(raw) => (raw, None, None),
                    Loose::Absent | Loose::Impossible => continue,
                },
            };
            all.push(LooseRef {
                name,
                raw,
                peeled,
                record,
            });
        }
        all
    }

    /// Opens the folder of the reference `name`. Returns where the name of its file begins.
    fn enter(&mut self, name: &[u8]) -> usize {
        let start = name.rfind_byte(b'/').map_or(0, |at| at + 1);
        let folder = name.get(..start).unwrap_or_default();
        if self.folder.as_ref().is_none_or(|(held, _)| *held != folder) {
            let path = self.folders.of(name).join(OsStr::from_bytes(folder));
            let opened = open_folder(&path);
            self.folder = opened.ok().map(|fd| (BString::from(folder), fd));
        }
        start
    }

    /// What the record at `at` tells of the file `name` in the folder, if that is as it was.
    fn remembered(&mut self, at: u32, name: &[u8]) -> Option<(ObjectId, Option<ObjectId>)> {
        let record = self.records?.get(at)?;
        let (stamp, id) = record.value?;
        let (_, folder) = self.folder.as_ref()?;
        self.text.clear();
        self.text.extend_from_slice(name);
        self.text.push(0);
        let stat = stat_at_first(folder.as_fd(), &self.text).ok()?;
        let peeled = record.peeled.map(ToOwned::to_owned);
        (Stamp::from(&stat) == stamp).then(|| (id.to_owned(), peeled))
    }

    /// Reads the reference `name`, whose file's name begins at `file`.
    fn read(&self, name: &[u8], file: usize) -> Loose {
        match &self.folder {
            Some((_, fd)) => {
                let file = OsStr::from_bytes(name.get(file..).unwrap_or_default());
                read_at(fd.as_fd(), Path::new(file), self.hash)
            }
            None => {
                let path = self.folders.of(name).join(OsStr::from_bytes(name));
                read(&path, self.hash)
            }
        }
    }
}
