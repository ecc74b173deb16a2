//! The contents that rename detection compares: those of objects, and of files as they would be recorded.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::BStr;
use gix_hash::oid;
use parking_lot::Mutex;

use vigil_convert::converter::{self, Converter};
use vigil_git::objects::{self, Objects};
use vigil_git::renames::{self, Blob, BlobSource, FileSide};
use vigil_git::repository::Repository;
use vigil_git::staged::SourceError;
use vigil_objects::hash::hash_blob;
use vigil_rules::attributes::{Attributes, Value};

use super::error::{SessionError, messages_of};
use super::known_renames::Asked;

/// The contents that rename detection compares.
pub(super) struct RenameBlobs<'a> {
    pub(super) repository: &'a Repository,
    pub(super) objects: &'a Objects,
    pub(super) attributes: &'a Attributes,
    /// Converts files to what would be recorded.
    pub(super) converter: &'a Converter,
    /// Called with the path of whatever is read here.
    pub(super) asks: &'a (dyn Fn(&BStr) + Sync),
    pub(super) later: LaterSide,
    /// Where what is read is noted, if that is wanted.
    pub(super) read: Option<Read>,
}

/// What was read for a search.
#[derive(Default)]
pub(super) struct Read {
    asked: Mutex<Asked>,
    /// Whether contents were read of a file whose object could not be read.
    has_taken_file: AtomicBool,
}

/// Where the later contents are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LaterSide {
    /// In the index. git takes them from the working tree where they are the same, and so does not notice that they are not
    /// stored.
    Index,
    /// In the working tree.
    WorkTree,
}

/// Returns what would be recorded of the file or symbolic link at `on_disk`; `None` if there is neither, or it
/// cannot be read.
///
/// # Errors
/// The contents cannot be converted as required: git then gives up.
pub(super) fn contents_on_disk(
    on_disk: &Path,
    path: &BStr,
    converter: &Converter,
) -> Result<Option<Vec<u8>>, converter::Error> {
    let Ok(stat) = vigil_linux::stat::lstat_path(on_disk) else {
        return Ok(None);
    };
    if stat.is_symlink() {
        let target = std::fs::read_link(on_disk).ok();
        return Ok(target.map(|target| target.into_os_string().into_vec()));
    }
    if !stat.is_file() {
        // git goes by the size, which is 0 for pipes, sockets and devices.
        return Ok((!stat.is_dir() && stat.size == 0).then(Vec::new));
    }
    let Ok(file) = File::open(on_disk) else {
        return Ok(None);
    };
    match converter.read_file(path, &file, stat.size) {
        Err(error) if !error.is_about_reading() => Err(error),
        contents => Ok(contents.ok()),
    }
}

impl RenameBlobs<'_> {
    /// Before git reads contents, it looks up whether they could be taken from a file as it is. What is wrong with files of
    /// attributes is told then.
    fn ask(&self, path: &BStr) {
        (self.asks)(path);
        self.attributes.lookup(path, ["filter"]);
        if let Some(read) = &self.read {
            read.asked.lock().entry(path.to_owned()).or_default();
        }
    }

    /// Asks for the attributes of `path` again, and returns whether a search with them would go the same way. `binary` is what one
    /// found of it, if its contents were compared.
    pub(super) fn has_attributes_as_then(&self, path: &BStr, binary: Option<Option<bool>>) -> bool {
        self.ask(path);
        binary.is_none_or(|binary| self.is_binary(path) == binary)
    }

    /// Returns what was asked for in a search that has ended, if it read something, and nothing but objects.
    pub(super) fn into_asked(self) -> Option<Asked> {
        let read = self.read?;
        let asked = read.asked.into_inner();
        let is_sure = !read.has_taken_file.into_inner() && !self.objects.had_messages();
        (is_sure && !asked.is_empty()).then_some(asked)
    }

    /// Whether the contents of `blob` are those in the working tree.
    fn is_on_disk(&self, blob: &Blob<'_>) -> bool {
        (blob.side, self.later) == (FileSide::Later, LaterSide::WorkTree)
    }

    /// Returns the contents in the working tree, if they count. What cannot be read, or is not a file at all,
    /// counts as empty.
    fn on_disk(&self, blob: &Blob<'_>) -> Result<Option<Vec<u8>>, SourceError> {
        if !self.is_on_disk(blob) {
            return Ok(None);
        }
        let contents = match self.path_on_disk(blob) {
            Some(path) => contents_on_disk(&path, blob.path, self.converter)?,
            None => None,
        };
        Ok(Some(contents.unwrap_or_default()))
    }

    fn path_on_disk(&self, blob: &Blob<'_>) -> Option<PathBuf> {
        let top = self.repository.work_tree.as_ref()?;
        Some(top.join(OsStr::from_bytes(blob.path)))
    }

    /// The error for a blob that is not here. If git would fetch it, the error says that.
    fn missing(&self, blob: &Blob<'_>) -> SourceError {
        let id = blob.id.to_owned();
        let left_out = self.objects.left_out(self.repository, &id);
        left_out.unwrap_or(objects::Error::Missing { id }).into()
    }

    /// Returns the contents of a staged file that could not be read as an object, if the file has them.
    fn of_same_file(&self, blob: &Blob<'_>) -> Option<Vec<u8>> {
        if (blob.side, self.later) != (FileSide::Later, LaterSide::Index) {
            return None;
        }
        if let Some(read) = &self.read {
            read.has_taken_file.store(true, Ordering::Relaxed);
        }
        let path = self.path_on_disk(blob)?;
        let contents = contents_on_disk(&path, blob.path, self.converter).ok()??;
        (hash_blob(blob.id.kind(), &contents) == blob.id).then_some(contents)
    }
}

/// Adds the lines that git writes before `error`. They were not recorded when the object was read, so it is read again.
pub(super) fn explained(repository: &Repository, error: renames::Error) -> SessionError {
    let (id, source) = match error {
        renames::Error::NotFetched(error) => return error.into(),
        renames::Error::Unreadable { id, source } => (id, source),
    };
    let source = match source.downcast::<objects::Error>() {
        Ok(error) if error.is_of_fetching() => return (*error).into(),
        Ok(error) => error,
        Err(source) => source,
    };
    let messages = messages_about(repository, &id);
    SessionError::from(renames::Error::Unreadable { id, source }).explained(messages, None)
}

/// Returns what git writes when it looks up the size of the object `id`, and then reads it.
fn messages_about(repository: &Repository, id: &oid) -> Vec<String> {
    let look = |objects: &Objects| {
        if objects.size(id).is_ok_and(|size| size.is_some()) {
            // Any error is recorded as a message.
            let _ = objects.read(id, &mut Vec::new());
        }
    };
    messages_of(repository, look)
}

impl BlobSource for RenameBlobs<'_> {
    fn size(&self, blob: &Blob<'_>) -> Result<u64, SourceError> {
        self.ask(blob.path);
        if let Some(contents) = self.on_disk(blob)? {
            return Ok(u64::try_from(contents.len()).unwrap_or(u64::MAX));
        }
        let failure = match self.objects.size(blob.id) {
            Ok(Some(size)) => return Ok(size),
            Ok(None) => self.missing(blob),
            Err(error) => error.into(),
        };
        let contents = self.of_same_file(blob).ok_or(failure)?;
        Ok(u64::try_from(contents.len()).unwrap_or(u64::MAX))
    }

    fn blob(&self, blob: &Blob<'_>, buf: &mut Vec<u8>) -> Result<(), SourceError> {
        self.ask(blob.path);
        if let Some(contents) = self.on_disk(blob)? {
            *buf = contents;
            return Ok(());
        }
        let failure = match self.objects.read(blob.id, buf) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) => self.missing(blob),
            Err(error) => error.into(),
        };
        *buf = self.of_same_file(blob).ok_or(failure)?;
        Ok(())
    }

    fn is_far(&self, blob: &Blob<'_>) -> bool {
        !self.is_on_disk(blob) && self.objects.fetches() && !self.objects.is_here(blob.id)
    }

    fn fetch(&self, blobs: &[Blob<'_>]) -> Result<(), objects::Error> {
        let blobs = blobs.iter().filter(|blob| !self.is_on_disk(blob));
        let ids = blobs.map(|blob| blob.id.to_owned());
        self.objects.fetch_all(ids.collect())
    }

    fn is_binary(&self, path: &BStr) -> Option<bool> {
        let binary = match self.attributes.lookup(path, ["diff"]) {
            [Value::Set] => Some(false),
            [Value::Unset] => Some(true),
            _ => None,
        };
        if let Some(read) = &self.read {
            read.asked.lock().insert(path.to_owned(), Some(binary));
        }
        binary
    }
}
