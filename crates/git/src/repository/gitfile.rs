//! The file `.git` that stands for a repository's directory elsewhere (gitrepository-layout(5)).

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::errno;
use vigil_linux::stat::stat_path;
use vigil_model::raw_text::raw;

use super::error::Error;
use super::git_dir::is_git_directory;
use crate::config::load::RecordingReader;
use vigil_model::c_string::until_nul;
use vigil_stamp::paths::{is_missing, path_of, real_path};

/// The largest such file that git reads, in bytes.
const SIZE_MAX: u64 = 1 << 20;

/// Why a path is not such a file.
#[derive(Debug)]
pub(crate) enum Reason {
    /// Nothing exists there.
    Missing,
    /// It is a directory, possibly the repository itself.
    IsDirectory,
    /// Its status cannot be read.
    StatFailed,
    /// It is neither a file nor a directory.
    NotAFile,
    /// It is too long.
    TooLarge,
    /// It cannot be opened; with the system's error text.
    OpenFailed(String),
    /// It does not begin with `gitdir: `.
    InvalidFormat,
    /// Nothing follows `gitdir: `.
    NoPath,
    /// The directory that it names is not a repository.
    NotARepository,
}

impl Reason {
    /// Whether such a file exists but cannot be read: git then treats it as one.
    pub(super) fn is_unreadable(&self) -> bool {
        matches!(self, Self::OpenFailed(_))
    }

    /// git's fatal error if the user named `path`; `None` if git then tries it as a directory.
    pub(super) fn fatal(&self, path: &BStr) -> Option<String> {
        Some(match self {
            Self::Missing | Self::IsDirectory | Self::StatFailed | Self::NotAFile => return None,
            Self::TooLarge => format!("too large to be a .git file: '{path}'", path = raw(path)),
            Self::OpenFailed(why) => format!("error opening '{path}': {why}", path = raw(path)),
            Self::InvalidFormat => format!("invalid gitfile format: {path}", path = raw(path)),
            Self::NoPath => format!("no path in gitfile: {path}", path = raw(path)),
            Self::NotARepository => format!(
                "gitfile does not point to a valid repository: {path}",
                path = raw(path)
            ),
        })
    }

    /// git's fatal error if it came across `path` in its search.
    pub(super) fn fatal_in_search(&self, path: &BStr) -> String {
        match self {
            Self::StatFailed => format!("error reading '{path}'", path = raw(path)),
            Self::NotAFile => format!("not a regular file: '{path}'", path = raw(path)),
            _ => self.fatal(path).unwrap_or_default(),
        }
    }
}

/// Reads the file `name`, relative to `directory`, and returns the directory it names. `cwd` is git's working directory.
pub(super) fn read_gitfile(
    reader: &mut RecordingReader<'_>,
    directory: &Path,
    name: &BStr,
    cwd: &Path,
) -> Result<Result<PathBuf, Reason>, Error> {
    let path = directory.join(path_of(name));
    let stat = match stat_path(&path) {
        Ok(stat) => stat,
        Err(errno) if is_missing(errno) => return Ok(Err(Reason::Missing)),
        Err(_) => return Ok(Err(Reason::StatFailed)),
    };
    if stat.is_dir() {
        return Ok(Err(Reason::IsDirectory));
    }
    if !stat.is_file() {
        return Ok(Err(Reason::NotAFile));
    }
    if stat.size > SIZE_MAX {
        return Ok(Err(Reason::TooLarge));
    }
    let contents = match reader.bytes(&path) {
        Ok(contents) => contents,
        Err(errno) => return Ok(Err(Reason::OpenFailed(errno::text(errno)))),
    };
    let target = match target(&contents) {
        Ok(target) => target,
        Err(reason) => return Ok(Err(reason)),
    };
    let folder: BString = match name.rfind_byte(b'/') {
        Some(slash) if target.first() != Some(&b'/') => {
            let parent = name.get(..=slash).unwrap_or_default();
            [parent, target].concat().into()
        }
        _ => target.into(),
    };
    if !is_git_directory(reader.environment, &directory.join(path_of(&folder)), cwd)? {
        return Ok(Err(Reason::NotARepository));
    }
    real_path(directory, &folder)
        .map(Ok)
        .map_err(Error::Refused)
}

/// Returns the directory that the file's `contents` name.
pub(crate) fn target(contents: &[u8]) -> Result<&[u8], Reason> {
    let target = contents
        .strip_prefix(b"gitdir: ")
        .ok_or(Reason::InvalidFormat)?
        .trim_end_with(|c| matches!(c, '\n' | '\r'));
    let target = until_nul(target);
    if target.is_empty() {
        return Err(Reason::NoPath);
    }
    Ok(target)
}
