//! Reading files by path, whatever kind of file is there.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::buffer::spare_capacity;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::retry_on_intr;
use vigil_linux::map::Map;
use vigil_linux::opening::open_to_read;
use vigil_linux::{Errno, errno};

/// The most bytes read from anything but a regular file, since some devices have no end.
pub const DEVICE_LEN_MAX: u64 = 1 << 20;
/// The most bytes reserved at once because of the length that a file claims.
const AT_ONCE_LEN_MAX: usize = 1 << 30;

/// How many bytes are read at a time from a file that is longer than its length said, or whose length is unknown.
const PART_LEN: usize = 1 << 14;

/// Opens `path` for reading, without blocking: a pipe without a writer reads as empty, where git would wait for ever.
///
/// # Errors
/// Those of open(2).
pub fn open(path: &Path) -> io::Result<File> {
    let opened = open_to_read(CWD, path, OFlags::empty());
    Ok(opened.map_err(|error| counted(error.into()))?.into())
}

/// How often a file was not read only because this process, or the whole system, had too many files open or no memory.
static SHORTAGES: AtomicU64 = AtomicU64::new(0);

/// Returns how often, in all threads so far, a file was not read only because this process, or the whole system, had too many
/// files open or no memory. If the number grew meanwhile, an answer may lack something that another process could read.
pub fn shortages() -> u64 {
    SHORTAGES.load(Ordering::Relaxed)
}

/// Returns the `error` with which something could not be read, once it is counted among the [`shortages`] if it is one.
pub fn counted(error: io::Error) -> io::Error {
    if errno::is_shortage(errno::of(&error)) {
        SHORTAGES.fetch_add(1, Ordering::Relaxed);
    }
    error
}

/// Opens the folder `path` as a starting point for lookups (`O_PATH`); it cannot be read.
///
/// # Errors
/// Those of open(2); `ENOTDIR` if it is no folder.
pub fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty())
}

/// The contents of a file.
#[derive(Debug)]
pub enum Contents {
    /// A copy of the bytes.
    Read(Vec<u8>),
    /// The file itself, mapped.
    Mapped(Map),
}

impl Contents {
    /// Replaces the mapping with a copy in memory, if there is room for one.
    pub fn copy_to_memory(&self) {
        if let Self::Mapped(map) = self {
            // Without room, the mapping stays.
            let _ = map.copy_to_memory();
        }
    }
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

/// The length, in bytes, from which mapping a file costs less than reading it.
const MAPPED_LEN_MIN: usize = 64 * 1024;

/// Returns the contents of the file `path`, which must be one that is replaced as a whole when it changes, never
/// written in place ([`Map`]). Like git, it takes a device for an empty file.
///
/// # Errors
/// It cannot be opened or read.
pub fn read_or_map(path: &Path) -> io::Result<Contents> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    let len = usize::try_from(metadata.len()).unwrap_or(0);
    if metadata.is_file()
        && len >= MAPPED_LEN_MIN
        && let Ok(map) = Map::read_only(&file, len)
    {
        return Ok(Contents::Mapped(map));
    }
    if metadata.is_file() || metadata.is_dir() {
        return read_open(file, &metadata, u64::MAX).map(Contents::Read);
    }
    Ok(Contents::Read(Vec::new()))
}

/// Reads the file `path`.
///
/// # Errors
/// It cannot be opened or read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_beginning(path, u64::MAX)
}

/// Reads the file `path` up to `len_max` bytes.
///
/// # Errors
/// It cannot be opened or read.
pub fn read_beginning(path: &Path, len_max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    read_open(file, &metadata, len_max)
}

/// Reads the file `path`, which should have no more than `len_max` bytes.
///
/// # Errors
/// The file cannot be read, or is longer than `len_max` (`EFBIG`).
pub fn read_up_to(path: &Path, len_max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return read_open(file, &metadata, len_max);
    }
    let len = metadata.len();
    let contents = match len > len_max {
        true => None,
        // It may have grown meanwhile.
        false => Some(read_to_end(file, Some(len), len_max.saturating_add(1))?),
    };
    let fits = |contents: &Vec<u8>| contents.len() as u64 <= len_max;
    contents.filter(fits).ok_or_else(|| Errno::FBIG.into())
}

fn read_open(file: File, metadata: &Metadata, len_max: u64) -> io::Result<Vec<u8>> {
    match metadata.is_file() {
        true => read_to_end(file, Some(metadata.len()), len_max),
        false => read_to_end(file, None, DEVICE_LEN_MAX),
    }
}

/// Reads `file` from its start to its end, but no more than `len_max` bytes. `regular_len` is the length found for a
/// regular file.
///
/// # Errors
/// Those of read(2), and `ENOMEM` if the contents do not fit in memory.
pub fn read_to_end(file: File, regular_len: Option<u64>, len_max: u64) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    // Files made up by the kernel claim a length of 0 or one page, whatever they hold.
    if let Some(len) = regular_len.filter(|len| *len > 0 && *len < len_max) {
        let at_once = usize::try_from(len).unwrap_or(0).min(AT_ONCE_LEN_MAX);
        // One byte of extra room: if the read leaves it free, the file has no more to give.
        let room = contents.try_reserve_exact(at_once.saturating_add(1));
        room.map_err(|_| no_memory())?;
        let read = retry_on_intr(|| rustix::io::read(&file, spare_capacity(&mut contents)))?;
        if read as u64 == len {
            return Ok(contents);
        }
    }
    let mut rest = len_max.saturating_sub(contents.len() as u64);
    let mut part = [0; PART_LEN];
    while rest > 0 {
        let len = usize::try_from(rest).unwrap_or(PART_LEN).min(PART_LEN);
        let room = part.get_mut(..len).unwrap_or_default();
        let read = retry_on_intr(|| rustix::io::read(&file, &mut *room))?;
        let new = part.get(..read).unwrap_or_default();
        if new.is_empty() {
            break;
        }
        // The file may be larger than memory. Without `try_reserve`, the standard library would abort the process.
        contents.try_reserve(read).map_err(|_| no_memory())?;
        contents.extend_from_slice(new);
        rest = rest.saturating_sub(read as u64);
    }
    Ok(contents)
}

fn no_memory() -> io::Error {
    counted(Errno::NOMEM.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FileType, mknodat};
    use rustix::pipe::{PipeFlags, pipe_with};

    #[test]
    fn neither_a_pipe_nor_an_endless_device_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(read(&path).unwrap(), b"");
        assert_eq!(read(Path::new("/dev/null")).unwrap(), b"");
        assert_eq!(read(Path::new("/dev/zero")).unwrap().len(), 1 << 20);
        assert_eq!(
            read(folder.path()).unwrap_err().kind(),
            io::ErrorKind::IsADirectory
        );
        std::fs::write(folder.path().join("file"), "contents").unwrap();
        assert_eq!(read(&folder.path().join("file")).unwrap(), b"contents");
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(read_up_to(&path, 4).unwrap(), b"four");
        let error = read_up_to(&path, 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(read_up_to(&path, 1 << 20).is_err());
    }

    #[test]
    fn a_file_is_read_to_its_end_whatever_its_length_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for contents in ["", "a", "contents"] {
            std::fs::write(&path, contents).unwrap();
            for found_len in [None, Some(0), Some(1), Some(8), Some(9), Some(4096)] {
                for len_max in [0, 1, 7, 8, 9, u64::MAX] {
                    let read = read_to_end(open(&path).unwrap(), found_len, len_max).unwrap();
                    let len = usize::try_from(len_max).unwrap().min(contents.len());
                    assert_eq!(read, &contents.as_bytes()[..len], "{found_len:?} {len_max}");
                }
            }
        }
        let made_up = Path::new("/proc/self/mounts");
        assert_eq!(
            read(made_up).unwrap(),
            std::fs::read("/proc/self/mounts").unwrap()
        );
    }

    #[test]
    fn what_is_as_long_as_it_was_found_to_be_is_read_once() {
        // A second read would fail: the pipe is empty, but its writer is still open.
        for (found_len, is_read) in [(8, true), (7, false), (9, false)] {
            let (reader, writer) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC).unwrap();
            rustix::io::write(&writer, b"contents").unwrap();
            let read = read_to_end(reader.into(), Some(found_len), u64::MAX);
            assert_eq!(read.is_ok_and(|read| read == b"contents"), is_read);
        }
    }

    #[test]
    fn large_files_are_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (len, is_mapped) in [(0, false), (1, false), (MAPPED_LEN_MIN, true)] {
            let bytes = vec![b'a'; len];
            std::fs::write(&path, &bytes).unwrap();
            let contents = read_or_map(&path).unwrap();
            assert_eq!(matches!(contents, Contents::Mapped(_)), is_mapped);
            assert_eq!(*contents, bytes);
        }
        for device in ["/dev/null", "/dev/zero"] {
            assert_eq!(&*read_or_map(Path::new(device)).unwrap(), b"");
        }
        for (path, error) in [
            (folder.path().join("no"), io::ErrorKind::NotFound),
            (folder.path().into(), io::ErrorKind::IsADirectory),
        ] {
            assert_eq!(read_or_map(&path).unwrap_err().kind(), error);
        }
    }
}
