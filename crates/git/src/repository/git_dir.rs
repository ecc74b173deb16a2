//! Recognises a repository's directory, and finds the one that it shares with other working trees (gitrepository-layout(5)).

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{Access, CWD, OFlags, access};
use rustix::io::retry_on_intr;
use vigil_linux::opening::open_to_read;
use vigil_linux::stat::lstat_path;
use vigil_linux::{Errno, errno};
use vigil_model::raw_text::raw_path;

use super::error::Error;
use crate::config::load::RecordingReader;
use crate::config::recorded_file::RecordedFile;
use crate::environment::Environment;
use vigil_stamp::paths::{bytes_of, is_missing, path_of, real_path};

/// Whether `path` looks like a repository's directory. `GIT_COMMON_DIR` and `GIT_OBJECT_DIRECTORY` are relative to `cwd`.
pub(super) fn is_git_directory(
    environment: &Environment,
    path: &Path,
    cwd: &Path,
) -> Result<bool, Error> {
    if !is_head(&path.join("HEAD"))? {
        return Ok(false);
    }
    let common = match environment.get("GIT_COMMON_DIR") {
        Some(name) if name.is_empty() => PathBuf::from("/"),
        Some(name) => cwd.join(path_of(name)),
        None => match common_dir_file(path, |file| RecordedFile::read_text(file).1)? {
            Some(common) => common,
            None => path.to_owned(),
        },
    };
    let objects = match environment.get("GIT_OBJECT_DIRECTORY") {
        Some(name) if name.is_empty() => PathBuf::new(),
        Some(name) => cwd.join(path_of(name)),
        None => common.join("objects"),
    };
    Ok([objects, common.join("refs")]
        .iter()
        .all(|folder| access(folder, Access::EXEC_OK).is_ok()))
}

/// Returns the directory named by the file `commondir` in `git_dir`, if that file exists.
pub(crate) fn common_dir_file(
    git_dir: &Path,
    read: impl FnOnce(&Path) -> Result<Vec<u8>, Errno>,
) -> Result<Option<PathBuf>, Error> {
    let file = git_dir.join("commondir");
    let contents = match read(&file) {
        Ok(contents) if !contents.is_empty() => contents,
        // For git a dangling symbolic link is a file that cannot be read.
        Err(errno) if is_missing(errno) && lstat_path(&file).is_err() => return Ok(None),
        outcome => {
            // For an empty file git tells the error that came last, which is that it has missed another file.
            let why = errno::text(outcome.err().unwrap_or(Errno::NOENT));
            return Err(Error::Refused(format!(
                "failed to read {}: {why}",
                raw_path(&file)
            )));
        }
    };
    let name = match contents.find_byte(0) {
        Some(end) => contents.get(..end).unwrap_or_default(),
        None => contents.trim_end_with(|c| matches!(c, '\n' | '\r')),
    };
    let joined = [bytes_of(git_dir).as_bytes(), b"/", name].concat();
    let path = if name.first() == Some(&b'/') {
        name
    } else {
        &joined
    };
    real_path(git_dir, path).map(Some).map_err(Error::Refused)
}

/// git's name for the directory that all working trees share, if it is not `git_dir`. Names are relative to `directory`.
pub(super) fn common_name(
    reader: &mut RecordingReader<'_>,
    directory: &Path,
    git_dir: &BStr,
) -> Result<Option<BString>, Error> {
    if let Some(name) = reader.environment.get("GIT_COMMON_DIR") {
        return Ok(Some(name.to_owned()));
    }
    let git_dir = directory.join(path_of(git_dir));
    let common = common_dir_file(&git_dir, |file| reader.text_bytes(file))?;
    Ok(common.map(|path| bytes_of(&path).to_owned()))
}

/// Reads the first bytes of a file that is not a symbolic link, at most as many as `buffer` holds.
fn read_start<'b>(path: &Path, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    let file = open_to_read(CWD, path, OFlags::NOFOLLOW)?;
    let length = retry_on_intr(|| rustix::io::read(&file, &mut *buffer))?;
    Ok(buffer.get(..length).unwrap_or_default())
}

/// Whether `path` is a HEAD: a symbolic reference below `refs/`, or an object id.
pub(crate) fn is_head(path: &Path) -> Result<bool, Error> {
    let mut buffer = [0; 255];
    let start = match read_start(path, &mut buffer) {
        Ok(start) => start,
        Err(Errno::LOOP) => {
            let target = std::fs::read_link(path);
            return Ok(target.is_ok_and(|target| bytes_of(&target).starts_with(b"refs/")));
        }
        // If this process cannot open any file, that says nothing about this one.
        Err(error) if errno::is_shortage(error) => {
            return Err(Error::Refused(format!(
                "failed to read {}: {}",
                raw_path(path),
                errno::text(error)
            )));
        }
        Err(_) => return Ok(false),
    };
    if let Some(target) = start.strip_prefix(b"ref:")
        && target
            .trim_start_with(|c| matches!(c, ' ' | '\t' | '\n' | '\r'))
            .starts_with(b"refs/")
    {
        return Ok(true);
    }
    const SHA1_DIGITS: usize = 40;
    let id = start.get(..SHA1_DIGITS);
    Ok(id.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)))
}
