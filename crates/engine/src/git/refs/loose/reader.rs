//! All loose references at once.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::Kind;
use rustix::fs::{CWD, Mode, OFlags, openat};
use vigil_linux::process::cores;

use super::{Folders, Item, Loose, Raw, list, read, read_at};

/// From how many references on each thread that reads them is worth its start.
const NAMES_PER_THREAD_MIN: usize = 256;

/// What the loose references hold whose names begin with `prefix` (empty, or with a slash in it), in byte order.
pub(in crate::git::refs) fn read_under(
    folders: Folders<'_>,
    prefix: &BStr,
    hash: Kind,
) -> Vec<(BString, Raw)> {
    let mut names = names_under(folders, prefix);
    let threads = match names.len() / NAMES_PER_THREAD_MIN {
        0 | 1 => 1,
        worthwhile => cores().min(worthwhile),
    };
    let share = names.len().div_ceil(threads);
    if threads == 1 {
        return Reader::new(folders, hash).read_all(names);
    }
    std::thread::scope(|scope| {
        let mut readers = Vec::new();
        while names.len() > share {
            // The last ones first: they are taken off without moving the others.
            let last = names.split_off(names.len() - share);
            readers.push(scope.spawn(move || Reader::new(folders, hash).read_all(last)));
        }
        let mut all = Reader::new(folders, hash).read_all(names);
        for reader in readers.into_iter().rev() {
            match reader.join() {
                Ok(read) => all.extend(read),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

/// The names of files that may be references, in byte order.
fn names_under(folders: Folders<'_>, prefix: &BStr) -> Vec<BString> {
    let prefix = if prefix.is_empty() {
        BStr::new(b"refs/")
    } else {
        prefix
    };
    let folder = prefix
        .get(..prefix.rfind_byte(b'/').unwrap_or(0))
        .unwrap_or_default();
    let mut names = Vec::new();
    let mut keep = |item| match item {
        Item::File(name) if name.starts_with(prefix) => names.push(name),
        Item::File(_) | Item::Folder(_) => {}
    };
    list(folders.common, folder, &mut keep);
    if folders.own != folders.common {
        list(folders.own, folder, &mut keep);
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Reads references by name, so that each comes from the folder that counts for it.
struct Reader<'a> {
    folders: Folders<'a>,
    hash: Kind,
    /// The folder of the last one, and what it is called, with the slash at the end: opened from there, a file costs
    /// half of what its whole path does.
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

    fn read_all(mut self, names: Vec<BString>) -> Vec<(BString, Raw)> {
        let mut all = Vec::with_capacity(names.len());
        for name in names {
            if let Loose::Found(raw) = self.read(&name) {
                all.push((name, raw));
            }
        }
        all
    }

    fn read(&mut self, name: &[u8]) -> Loose {
        let (folder, file) = name.split_at(name.rfind_byte(b'/').map_or(0, |at| at + 1));
        if self.folder.as_ref().is_none_or(|(held, _)| *held != folder) {
            let path = self.folders.of(name).join(OsStr::from_bytes(folder));
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = openat(CWD, path, flags, Mode::empty());
            self.folder = opened.ok().map(|fd| (BString::from(folder), fd));
        }
        match &self.folder {
            Some((_, fd)) => read_at(fd.as_fd(), Path::new(OsStr::from_bytes(file)), self.hash),
            None => {
                let path = self.folders.of(name).join(OsStr::from_bytes(name));
                read(&path, self.hash)
            }
        }
    }
}
