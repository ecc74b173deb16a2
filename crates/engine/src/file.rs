//! Reading files that are looked for by name, whatever stands there.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};

/// The most bytes that are read of what is no regular file, since some devices have no end.
const DEVICE_LEN_MAX: u64 = 1 << 20;

/// Opens `path` for reading. A pipe that nobody writes into has nothing to read; git would wait for ever.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::openat(CWD, path, flags, Mode::empty())?.into())
}

/// Reads the file `path`.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let metadata = file.metadata()?;
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
}
