//! Large files, as the extension largefiles keeps them (`hg help -e largefiles`): for each, a stand-in below `.hglf` is committed
//! that holds the SHA-1 of the contents. What was last seen of the files themselves is in a dirstate of their own.

use std::cell::OnceCell;
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::stat::lstat_path;

use crate::abort::Abort;
use crate::bytes::bytes;
use crate::dirstate::{self, Dirstate};
use crate::repository::Repository;

/// The directory with the stand-ins, at the top of the working copy.
pub const STAND_INS: &str = ".hglf";
/// The folder in `.hg` with the dirstate of the large files.
const FOLDER: &str = "largefiles";

/// The large files of a working copy. Their dirstate is read on first use: Mercurial often needs none, and then does not mind if
/// it is damaged.
#[derive(Debug)]
pub struct LargeFiles {
    folder: PathBuf,
    is_v2: bool,
    has_stand_ins: bool,
    dirstate: OnceCell<Result<Dirstate, Abort>>,
}

impl LargeFiles {
    /// Makes the large files of `repository`. `dirstate` is that of its working copy, with the stand-ins.
    pub fn new(repository: &Repository, dirstate: &Dirstate) -> Self {
        Self {
            folder: repository.dot_hg.join(FOLDER),
            is_v2: repository.has_dirstate_v2(),
            has_stand_ins: dirstate.has_directory(STAND_INS.into()),
            dirstate: OnceCell::new(),
        }
    }

    /// Returns the dirstate of the large files.
    ///
    /// # Errors
    /// It cannot be read or is damaged, or Mercurial has not made it yet.
    pub fn dirstate(&self) -> Result<&Dirstate, Abort> {
        let read = self.dirstate.get_or_init(|| {
            let is_missing = lstat_path(&self.folder.join("dirstate")).is_err();
            if is_missing && self.has_stand_ins {
                return Err(Abort::unsupported("large files that are not recorded yet"));
            }
            dirstate::read(&self.folder, self.is_v2)
        });
        read.as_ref().map_err(Clone::clone)
    }
}

/// Returns the path of the stand-in for the large file at `path`.
pub fn stand_in(path: &BStr) -> BString {
    bytes!(STAND_INS, "/", path)
}

/// Returns the path of the large file for which the file at `path` stands; `None` if it is no stand-in.
pub fn large_file(path: &BStr) -> Option<&BStr> {
    let below = path.strip_prefix(STAND_INS.as_bytes())?;
    below.strip_prefix(b"/").map(ByteSlice::as_bstr)
}
