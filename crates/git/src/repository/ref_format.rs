//! The ways to store references.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use vigil_stamp::paths::{bytes_of, real_path};

/// How a repository stores its references (`extensions.refStorage`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefFormat {
    /// Loose files and `packed-refs`.
    Files,
    /// reftable.
    Reftable,
}

/// A format, and where the references are.
#[derive(Clone, Debug)]
pub(super) struct RefStorage {
    pub(super) format: RefFormat,
    /// Another directory than the repository's. Relative to the one that working trees share.
    location: Option<BString>,
}

impl RefStorage {
    /// References in the repository's own directories.
    pub(super) const fn inside(format: RefFormat) -> Self {
        Self {
            format,
            location: None,
        }
    }

    /// Parses `uri`: `files` or `reftable`, possibly followed by `://` and a location. `None` if the format is not known.
    pub(super) fn parse(uri: &BStr) -> Option<Self> {
        let (name, location) = match uri.split_once_str("://") {
            Some((name, location)) => (name, Some(BString::from(location))),
            None => (uri.as_bytes(), None),
        };
        let format = match name {
            b"files" => RefFormat::Files,
            b"reftable" => RefFormat::Reftable,
            _ => return None,
        };
        Some(Self { format, location })
    }

    /// Returns the directories of the working tree's own references and of those that working trees share, in a repository with
    /// these directories.
    ///
    /// # Errors
    /// The location does not exist; the text is git's.
    pub(super) fn directories(
        &self,
        git_dir: &Path,
        common_dir: &Path,
    ) -> Result<(PathBuf, PathBuf), String> {
        let Some(location) = &self.location else {
            return Ok((git_dir.to_owned(), common_dir.to_owned()));
        };
        let path = match location.first() {
            Some(b'/') => location.clone(),
            _ => [bytes_of(common_dir).as_bytes(), b"/", location]
                .concat()
                .into(),
        };
        let shared = real_path(common_dir, &path)?;
        let own = match git_dir.file_name() {
            Some(name) if git_dir != common_dir => shared.join("worktrees").join(name),
            _ => shared.clone(),
        };
        Ok((own, shared))
    }
}
