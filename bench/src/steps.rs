//! The development of the fast listing in steps, so that each step can be measured.
//!
//! The first five are the steps that the author of gitstatus described for his `ListDir`, as far as safe code allows; the
//! fifth is [`Listing`] itself, and the sixth is the floor under all of them. Each step opens the directory, reads it and
//! closes it, and keeps its memory for the next directory as far as its idea allows.

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use vigil_linux::Errno;
use vigil_linux::dir::{Listing, getdents64, open_dir_at};

/// The number of bytes that the C library reads at a time.
const READ_LEN: usize = 32 << 10;
/// The first allocation for records, in bytes: the names of a large directory fit in it.
const RECORDS_LEN: usize = 64 << 10;
/// The minimum room for a call, in bytes. A call with less would read too few names to be worth it.
const FREE_LEN_MIN: usize = 8 << 10;
/// The offsets of the length and of the name in a record (getdents64(2)).
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;

/// One directory, given in two ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedDirectory<'a> {
    /// The full path.
    pub(crate) path: &'a CStr,
    /// The open parent.
    pub(crate) parent: BorrowedFd<'a>,
    /// The name in the parent.
    pub(crate) name: &'a CStr,
}

/// One way of listing a directory.
pub(crate) trait Step {
    /// Lists the directory into the step's own memory.
    fn list(&mut self, directory: ListedDirectory<'_>) -> Result<(), Errno>;

    /// The names listed, in the step's order.
    #[cfg(test)]
    fn names(&self) -> Vec<Vec<u8>>;
}

/// All steps with a description of each, the slowest first, the floor last.
pub(crate) fn all() -> Vec<(&'static str, Box<dyn Step>)> {
    vec![
        ("an owned string per name", Box::<OwnedNames>::default()),
        ("names in an arena", Box::new(ArenaNames::new(false))),
        ("opened from the parent", Box::new(ArenaNames::new(true))),
        ("getdents64 into the arena", Box::<RawNames>::default()),
        ("sorted by eight bytes at once", Box::<Listing>::default()),
        ("the system calls alone", Box::<Floor>::default()),
    ]
}

/// Step 1: the standard library lists a path, with a string for each name.
#[derive(Default)]
struct OwnedNames {
    names: Vec<Vec<u8>>,
}

impl Step for OwnedNames {
    fn list(&mut self, directory: ListedDirectory<'_>) -> Result<(), Errno> {
        let path = Path::new(OsStr::from_bytes(directory.path.to_bytes()));
        let failed = |error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name().into_vec());
        }
        names.sort_unstable();
        self.names = names;
        Ok(())
    }

    #[cfg(test)]
    fn names(&self) -> Vec<Vec<u8>> {
        self.names.clone()
    }
}

/// Steps 2 and 3: names are copied one after the other into reused memory.
struct ArenaNames {
    from_parent: bool,
    read: Vec<MaybeUninit<u8>>,
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl ArenaNames {
    fn new(from_parent: bool) -> Self {
        Self {
            from_parent,
            read: vec![MaybeUninit::uninit(); READ_LEN],
            bytes: Vec::new(),
            spans: Vec::new(),
        }
    }
}

impl Step for ArenaNames {
    fn list(&mut self, directory: ListedDirectory<'_>) -> Result<(), Errno> {
        let Self { bytes, spans, .. } = self;
        bytes.clear();
        spans.clear();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = match self.from_parent {
            true => open_dir_at(directory.parent, directory.name)?,
            false => openat(CWD, directory.path, flags, Mode::empty())?,
        };
        let mut entries = RawDir::new(dir, &mut self.read);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                let start = bytes.len();
                bytes.extend_from_slice(name);
                spans.push(Span {
                    start,
                    end: bytes.len(),
                });
            }
        }
        spans.sort_unstable_by(|a, b| a.of(bytes).cmp(b.of(bytes)));
        Ok(())
    }

    #[cfg(test)]
    fn names(&self) -> Vec<Vec<u8>> {
        let names = self.spans.iter().map(|span| span.of(&self.bytes).to_vec());
        names.collect()
    }
}

/// Step 4: the kernel writes the names into the arena.
#[derive(Default)]
struct RawNames {
    records: Records,
    spans: Vec<Span>,
}

impl Step for RawNames {
    fn list(&mut self, directory: ListedDirectory<'_>) -> Result<(), Errno> {
        let dir = open_dir_at(directory.parent, directory.name)?;
        self.records.read(dir.as_fd())?;
        let bytes = self.records.bytes();
        self.spans.clear();
        let mut at = 0;
        while at < bytes.len() {
            let (next, span) = record(bytes, at).ok_or(Errno::IO)?;
            if !matches!(span.of(bytes), b"." | b"..") {
                self.spans.push(span);
            }
            at = next;
        }
        self.spans
            .sort_unstable_by(|a, b| a.of(bytes).cmp(b.of(bytes)));
        Ok(())
    }

    #[cfg(test)]
    fn names(&self) -> Vec<Vec<u8>> {
        let bytes = self.records.bytes();
        let names = self.spans.iter().map(|span| span.of(bytes).to_vec());
        names.collect()
    }
}

/// Step 5: Vigil's own listing.
impl Step for Listing {
    fn list(&mut self, directory: ListedDirectory<'_>) -> Result<(), Errno> {
        self.read(open_dir_at(directory.parent, directory.name)?.as_fd())
    }

    #[cfg(test)]
    fn names(&self) -> Vec<Vec<u8>> {
        let names = self.entries().map(|entry| entry.name.to_bytes().to_vec());
        names.collect()
    }
}

/// Step 6: the same calls into the same memory, without looking at the results.
#[derive(Debug, Default)]
pub(crate) struct Floor {
    records: Records,
}

impl Floor {
    /// Calls `getdents64(2)` on the open directory `dir` until its end.
    pub(crate) fn read(&mut self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        self.records.read(dir)
    }
}

impl Step for Floor {
    fn list(&mut self, directory: ListedDirectory<'_>) -> Result<(), Errno> {
        self.read(open_dir_at(directory.parent, directory.name)?.as_fd())
    }

    #[cfg(test)]
    fn names(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// The records of one directory, as the kernel wrote them, in reused memory.
#[derive(Debug, Default)]
struct Records {
    bytes: Vec<u8>,
    used: usize,
}

impl Records {
    fn read(&mut self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        self.used = 0;
        loop {
            if self.bytes.len() < self.used + FREE_LEN_MIN {
                let len = (self.bytes.len() * 2).max(RECORDS_LEN);
                self.bytes.resize(len, 0);
            }
            let room = self.bytes.get_mut(self.used..).unwrap_or_default();
            match getdents64(dir, room)? {
                0 => return Ok(()),
                count => self.used += count,
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }
}

/// The offset of the record after the one at `at`, and the location of the name in the one at `at`. `None` if that is not
/// whole.
fn record(bytes: &[u8], at: usize) -> Option<(usize, Span)> {
    let record = bytes.get(at..)?;
    let len = u16::from_ne_bytes(*record.get(LENGTH_AT..)?.first_chunk()?);
    let name = record.get(NAME_AT..len.into())?;
    let name_len = name.iter().position(|byte| *byte == 0)?;
    let start = at + NAME_AT;
    let span = Span {
        start,
        end: start + name_len,
    };
    Some((at + usize::from(len), span))
}

/// The location of a name in an arena.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

impl Span {
    fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::*;

    #[test]
    fn every_step_lists_the_same() {
        let root = tempfile::tempdir().unwrap();
        for count in [0, 1, 40, 3000] {
            let path = root.path().join("listed");
            std::fs::create_dir(&path).unwrap();
            let mut expected = Vec::new();
            for number in 0..count {
                let name = format!("{:x}-{}", number * 7919 % 4001, "n".repeat(number % 60));
                std::fs::write(path.join(&name), "").unwrap();
                expected.push(name.into_bytes());
            }
            expected.sort();
            let parent = std::fs::File::open(root.path()).unwrap();
            let c_path = CString::new(path.as_os_str().as_bytes()).unwrap();
            let directory = ListedDirectory {
                path: &c_path,
                parent: parent.as_fd(),
                name: c"listed",
            };
            let mut steps = all();
            let (floor, listings) = steps.split_last_mut().unwrap();
            for (about, step) in listings {
                // The second time, the memory is dirty.
                for _ in 0..2 {
                    step.list(directory).unwrap();
                    assert!(step.names() == expected, "{about} {count}");
                }
            }
            floor.1.list(directory).unwrap();
            std::fs::remove_dir_all(path).unwrap();
        }
    }
}
