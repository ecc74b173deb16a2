//! Reads all loose references at once.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString};
use gix_hash::Kind;
use vigil_linux::process::cores;
use vigil_model::path::{name_start, parent};
use vigil_objects::parallel::spawn_or_run;

use super::{Folders, Loose, Raw, Unread, list, read, read_at};
use vigil_stamp::file::open_folder;

/// The minimum number of references for each thread that makes starting it worthwhile.
const NAMES_PER_THREAD_MIN: usize = 256;

/// A loose reference as it was read.
#[derive(Debug)]
pub(in crate::refs) struct LooseRef {
    pub(in crate::refs) name: BString,
    pub(in crate::refs) raw: Raw,
}

/// Reads the loose references whose names begin with `prefix` (empty, or with a slash in it), in byte order.
pub(in crate::refs) fn read_under(
    folders: Folders<'_>,
    prefix: &BStr,
    hash: Kind,
    unread: &Unread,
) -> Vec<LooseRef> {
    let names = names_under(folders, prefix, unread);
    let threads = match names.len() / NAMES_PER_THREAD_MIN {
        0 | 1 => 1,
        worthwhile => cores().min(worthwhile),
    };
    let share = names.len().div_ceil(threads).max(1);
    let read = |names| RefReader::new(folders, hash, unread).read_all(names);
    let read = &read;
    let raws = std::thread::scope(|scope| {
        let mut shares = names.chunks(share);
        let first = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|names| spawn_or_run(scope, move || read(names)))
            .collect();
        let mut all = read(first);
        for other in others {
            all.extend(other.join());
        }
        all
    });
    let read = names.into_iter().zip(raws);
    read.filter_map(|(name, raw)| raw.map(|raw| LooseRef { name, raw }))
        .collect()
}

/// Returns the names of files that may be references, in byte order.
fn names_under(folders: Folders<'_>, prefix: &BStr, unread: &Unread) -> Vec<BString> {
    let prefix = if prefix.is_empty() {
        BStr::new(b"refs/")
    } else {
        prefix
    };
    let top = parent(prefix);
    let mut names = Vec::new();
    let mut add = |folder: &Path| {
        list(folder, top, unread, &mut |found| {
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
    names
}

/// Reads references by name, each from the directory that counts for it.
struct RefReader<'a> {
    folders: Folders<'a>,
    hash: Kind,
    unread: &'a Unread,
    /// The open directory of the last reference, and its name with a trailing slash: opening a file relative to it
    /// costs half as much as by its whole path.
    folder: Option<(BString, OwnedFd)>,
}

impl<'a> RefReader<'a> {
    fn new(folders: Folders<'a>, hash: Kind, unread: &'a Unread) -> Self {
        Self {
            folders,
            hash,
            unread,
            folder: None,
        }
    }

    /// Reads each of `names`. `None` for those that are no references, or are gone.
    fn read_all(mut self, names: &[BString]) -> Vec<Option<Raw>> {
        let read = names.iter().map(|name| {
            let file = self.enter(name);
            match self.read(name, file) {
                Loose::Found(raw) => Some(raw),
                Loose::Unopened(_) => Some(Raw::Unreadable),
                Loose::Absent | Loose::Impossible => None,
            }
        });
        read.collect()
    }

    /// Opens the directory of the reference `name`. Returns where the name of its file begins.
    fn enter(&mut self, name: &[u8]) -> usize {
        let start = name_start(name);
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
                read_at(fd.as_fd(), Path::new(file), self.hash, self.unread)
            }
            None => {
                let path = self.folders.of(name).join(OsStr::from_bytes(name));
                read(&path, self.hash, self.unread)
            }
        }
    }
}
