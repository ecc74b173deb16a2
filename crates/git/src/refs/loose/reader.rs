//! Reads all loose references at once.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::Kind;
use vigil_linux::process::cores;

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
    let mut names = names_under(folders, prefix, unread);
    let reader = || Reader::new(folders, hash, unread);
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
        let mut all = reader().read_all(names);
        for reader in readers.into_iter().rev() {
            match reader.join() {
                Ok(read) => all.extend(read),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

/// Returns the names of files that may be references, in byte order.
fn names_under(folders: Folders<'_>, prefix: &BStr, unread: &Unread) -> Vec<BString> {
    let prefix = if prefix.is_empty() {
        BStr::new(b"refs/")
    } else {
        prefix
    };
    let top = prefix
        .get(..prefix.rfind_byte(b'/').unwrap_or(0))
        .unwrap_or_default();
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
struct Reader<'a> {
    folders: Folders<'a>,
    hash: Kind,
    unread: &'a Unread,
    /// The open directory of the last reference, and its name with a trailing slash: opening a file relative to it
    /// costs half as much as by its whole path.
    folder: Option<(BString, OwnedFd)>,
}

impl<'a> Reader<'a> {
    fn new(folders: Folders<'a>, hash: Kind, unread: &'a Unread) -> Self {
        Self {
            folders,
            hash,
            unread,
            folder: None,
        }
    }

    fn read_all(mut self, names: Vec<BString>) -> Vec<LooseRef> {
        let mut all = Vec::with_capacity(names.len());
        for name in names {
            let file = self.enter(&name);
            match self.read(&name, file) {
                Loose::Found(raw) => all.push(LooseRef { name, raw }),
                Loose::Unopened(_) => all.push(LooseRef {
                    name,
                    raw: Raw::Unreadable,
                }),
                Loose::Absent | Loose::Impossible => {}
            }
        }
        all
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
                read_at(fd.as_fd(), Path::new(file), self.hash, self.unread)
            }
            None => {
                let path = self.folders.of(name).join(OsStr::from_bytes(name));
                read(&path, self.hash, self.unread)
            }
        }
    }
}
