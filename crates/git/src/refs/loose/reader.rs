//! Reads all loose references at once.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::Kind;
use vigil_linux::process::cores;

use super::{Folders, Loose, Raw, list, read, read_at};
use vigil_stamp::file::open_folder;

/// The minimum number of references for each thread that makes starting it worthwhile.
const NAMES_PER_THREAD_MIN: usize = 256;

/// A loose reference as it was read.
#[derive(Debug)]
pub(in crate::refs) struct LooseRef {
    pub(in crate::refs) name: BString,
    pub(in crate::refs) raw: Raw,
}

/// Loose references as they were read.
#[derive(Debug, Default)]
pub(in crate::refs) struct LooseRefs {
    /// In byte order.
    pub(in crate::refs) all: Vec<LooseRef>,
    /// Whether something could not be read, and may be readable the next time.
    pub(in crate::refs) is_unread: bool,
}

/// Reads the loose references whose names begin with `prefix` (empty, or with a slash in it).
pub(in crate::refs) fn read_under(folders: Folders<'_>, prefix: &BStr, hash: Kind) -> LooseRefs {
    let (mut names, is_unread) = names_under(folders, prefix);
    let reader = || Reader::new(folders, hash);
    let threads = match names.len() / NAMES_PER_THREAD_MIN {
        0 | 1 => 1,
        worthwhile => cores().min(worthwhile),
    };
    let share = names.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let mut readers = Vec::new();
        while names.len() > share {
            // The last ones first: they can be split off without moving the others.
            let last = names.split_off(names.len() - share);
            readers.push(scope.spawn(move || reader().read_all(last)));
        }
        let mut refs = reader().read_all(names);
        for reader in readers.into_iter().rev() {
            match reader.join() {
                Ok(read) => {
                    refs.all.extend(read.all);
                    refs.is_unread |= read.is_unread;
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        refs.is_unread |= is_unread;
        refs
    })
}

/// Returns the names of files that may be references, in byte order, and whether a directory could not be read.
fn names_under(folders: Folders<'_>, prefix: &BStr) -> (Vec<BString>, bool) {
    let prefix = if prefix.is_empty() {
        BStr::new(b"refs/")
    } else {
        prefix
    };
    let top = prefix
        .get(..prefix.rfind_byte(b'/').unwrap_or(0))
        .unwrap_or_default();
    let mut names = Vec::new();
    let mut is_unread = false;
    let mut add = |folder: &Path| {
        list(folder, top, &mut |found| {
            is_unread |= found.is_unread;
            let own = found.files.into_iter();
            names.extend(own.filter(|name| name.starts_with(prefix)));
        });
    };
    add(folders.common);
    if folders.own != folders.common {
        add(folders.own);
    }
    names.sort_unstable();
    names.dedup();
    (names, is_unread)
}

/// Reads references by name, each from the directory that counts for it.
struct Reader<'a> {
    folders: Folders<'a>,
    hash: Kind,
    /// The open directory of the last reference, and its name with a trailing slash: opening a file relative to it
    /// costs half as much as by its whole path.
    folder: Option<(BString, OwnedFd)>,
}

impl<'a> Reader<'a> {
    fn new(folders: Folders<'a>, hash: Kind) -> Self {
        Self {
            folders,
            hash,
            folder: None,
        }
    }

    fn read_all(mut self, names: Vec<BString>) -> LooseRefs {
        let mut refs = LooseRefs {
            all: Vec::with_capacity(names.len()),
            is_unread: false,
        };
        for name in names {
            let file = self.enter(&name);
            let raw = match self.read(&name, file) {
                Loose::Found(raw) => raw,
                Loose::Unreadable => {
                    refs.is_unread = true;
                    Raw::Broken
                }
                Loose::Absent | Loose::Impossible => continue,
            };
            refs.all.push(LooseRef { name, raw });
        }
        refs
    }

    /// Opens the directory of the reference `name`. Returns where the name of its file begins.
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

    /// Reads the reference `name`, where the name of its file begins at `file`.
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
