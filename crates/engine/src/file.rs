//! Reading files that are looked for by name, whatever stands there.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use vigil_linux::map::Map;

/// The most bytes that are read of what is no regular file, since some devices have no end.
const DEVICE_LEN_MAX: u64 = 1 << 20;

/// Opens `path` for reading. A pipe that nobody writes into has nothing to read; git would wait for ever.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?.into())
}

/// The contents of a file.
#[derive(Debug)]
pub(crate) enum Contents {
    /// A copy.
    Read(Vec<u8>),
    /// The file itself.
    Mapped(Map),
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

/// From what length on, in bytes, to map a file costs less than to read it.
const MAPPED_LEN_MIN: usize = 64 * 1024;

/// The contents of the file `path`, for files that are replaced as a whole when they change, never written in place
/// ([`Map`]).
pub(crate) fn read_or_map(path: &Path) -> io::Result<Contents> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    let len = usize::try_from(metadata.len()).unwrap_or(0);
    if metadata.is_file()
        && len >= MAPPED_LEN_MIN
        && let Ok(map) = Map::read_only(&file, len)
    {
        return Ok(Contents::Mapped(map));
    }
    read_open(file, &metadata).map(Contents::Read)
}

/// Reads the file `path`.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    read_open(file, &metadata)
}

fn read_open(mut file: File, metadata: &Metadata) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    if metadata.is_file() {
        // One byte more lets the second reading find the end without growing.
        let len = usize::try_from(metadata.len()).unwrap_or(0).min(1 << 30);
        contents.reserve_exact(len.saturating_add(1));
        file.read_to_end(&mut contents)?;
    } else {
        file.take(DEVICE_LEN_MAX).read_to_end(&mut contents)?;
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FileType, mknodat};

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
        assert_eq!(&*read_or_map(Path::new("/dev/null")).unwrap(), b"");
        assert_eq!(
            read_or_map(&folder.path().join("no")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
