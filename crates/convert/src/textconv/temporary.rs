//! A file for a command to read, in a directory of its own.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::errno;

use vigil_git::child::ChildEnvironment;
use vigil_rules::messages::{Messages, bytes};

/// How many names are tried for the directory.
const ATTEMPTS_MAX: usize = 100;

/// The letters of an unpredictable name.
const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// A file that is removed, with its directory, when the value is dropped. Only the user can access it.
#[derive(Debug)]
pub(super) struct TemporaryFile<'a> {
    file: Option<File>,
    folder: Folder<'a>,
    name: BString,
}

/// The directory of the file.
#[derive(Debug)]
struct Folder<'a> {
    name: BString,
    /// The directory that relative names are relative to.
    directory: PathBuf,
    messages: &'a Messages,
}

impl<'a> TemporaryFile<'a> {
    /// Creates an empty file with the last component of `path` as its name, below `TMPDIR`, or else `/tmp`. A
    /// relative `TMPDIR` is relative to the programs' working directory.
    pub(super) fn create(
        child_environment: &ChildEnvironment,
        path: &BStr,
        messages: &'a Messages,
    ) -> io::Result<Self> {
        let mut variables = child_environment.variables.iter();
        let parent = variables
            .find(|(name, _)| name == "TMPDIR")
            .map_or(BStr::new("/tmp"), |(_, value)| value.as_bstr());
        let folder = Folder::create(&child_environment.directory, parent, messages)?;
        let name: BString = bytes!(folder.name, "/", base_name(path)).into();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.locate(name.as_ref()))?;
        Ok(Self {
            file: Some(file),
            folder,
            name,
        })
    }

    /// Writes the contents.
    pub(super) fn write(&mut self, contents: &[u8]) -> io::Result<()> {
        match self.file.take() {
            Some(mut file) => file.write_all(contents),
            None => Ok(()),
        }
    }

    /// Its path, absolute or relative to the programs' working directory.
    pub(super) fn name(&self) -> &BStr {
        self.name.as_ref()
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        let name = self.name.as_bstr();
        let removed = fs::remove_file(self.folder.locate(name));
        self.folder.warn(removed, "unlink", name);
    }
}

impl<'a> Folder<'a> {
    fn create(
        directory: &std::path::Path,
        parent: &BStr,
        messages: &'a Messages,
    ) -> io::Result<Self> {
        let mut attempts = ATTEMPTS_MAX;
        loop {
            let name: BString = bytes!(parent, "/git-blob-", random_letters()).into();
            let place = directory.join(OsStr::from_bytes(&name));
            attempts -= 1;
            match DirBuilder::new().mode(0o700).create(place) {
                Ok(()) => {
                    return Ok(Self {
                        name,
                        directory: directory.to_owned(),
                        messages,
                    });
                }
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists || attempts == 0 => {
                    return Err(error);
                }
                Err(_) => {}
            }
        }
    }

    fn locate(&self, name: &BStr) -> PathBuf {
        self.directory.join(OsStr::from_bytes(name))
    }

    /// Warns, as git does, if something could not be removed.
    fn warn(&self, removed: io::Result<()>, operation: &str, name: &BStr) {
        if let Err(error) = removed
            && error.kind() != io::ErrorKind::NotFound
        {
            let reason = errno::text_of(&error);
            self.messages
                .warning(bytes!("unable to ", operation, " '", name, "': ", reason));
        }
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        let name = self.name.as_bstr();
        self.warn(fs::remove_dir(self.locate(name)), "rmdir", name);
    }
}

/// Returns the last component of `path`, like basename(3).
fn base_name(path: &BStr) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    let path = path.trim_end_with(|letter| letter == '/');
    match path.rsplit_once_str(b"/") {
        Some((_, name)) => name,
        None if path.is_empty() => b"/",
        None => path,
    }
}

fn random_letters() -> [u8; 6] {
    let mut number = RandomState::new().hash_one(std::process::id());
    std::array::from_fn(|_| {
        let count = LETTERS.len() as u64;
        let letter = usize::try_from(number % count).unwrap_or_default();
        number /= count;
        LETTERS.get(letter).copied().unwrap_or(b'x')
    })
}
