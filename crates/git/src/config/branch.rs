//! The branch on which `includeIf "onbranch:"` depends.

use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::repository::ref_format::RefFormat;
use vigil_model::white_space;
use vigil_stamp::paths::{bytes_of, path_of};

/// How many symbolic references git follows.
const DEPTH_MAX: usize = 5;

/// The current branch, and what is needed to check that it is still the current one.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    git_dir: PathBuf,
    common_dir: PathBuf,
    ref_format: RefFormat,
    /// The name without `refs/heads/`; `None` if HEAD is not on a branch.
    pub(super) name: Option<BString>,
}

impl Branch {
    pub(super) fn new(git_dir: PathBuf, common_dir: PathBuf, ref_format: RefFormat) -> Self {
        let name = current(&git_dir, &common_dir, ref_format);
        Self {
            git_dir,
            common_dir,
            ref_format,
            name,
        }
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.name == current(&self.git_dir, &self.common_dir, self.ref_format)
    }
}

fn current(git_dir: &Path, common_dir: &Path, ref_format: RefFormat) -> Option<BString> {
    if ref_format != RefFormat::Files {
        return None;
    }
    let mut name = symbolic_target(&git_dir.join("HEAD"))?;
    for _ in 1..DEPTH_MAX {
        match symbolic_target(&common_dir.join(path_of(&name))) {
            Some(target) => name = target,
            None => return name.strip_prefix(b"refs/heads/").map(BString::from),
        }
    }
    None
}

/// Returns the target of a symbolic reference: a file, or (as git once wrote) a symbolic link.
fn symbolic_target(path: &Path) -> Option<BString> {
    if let Ok(target) = std::fs::read_link(path) {
        return Some(bytes_of(&target).to_owned()).filter(|target| target.starts_with(b"refs/"));
    }
    let contents = vigil_stamp::file::read(path).ok()?;
    let target = white_space::trim(contents.strip_prefix(b"ref:")?);
    (target.starts_with(b"refs/") && !target.contains_str("..")).then(|| target.into())
}
