//! The branch on which `includeIf "onbranch:"` depends.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::Kind;

use crate::reftable::{Stack, Value};
use crate::repository::ref_format::RefFormat;
use vigil_model::white_space;
use vigil_stamp::paths::{bytes_of, path_of};

/// How many symbolic references git follows.
const DEPTH_MAX: usize = 5;

/// The current branch, and what is needed to check that it is still the current one.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    location: RefLocation,
    /// The name without `refs/heads/`; `None` if HEAD is not on a branch.
    pub(super) name: Option<BString>,
}

impl Branch {
    pub(super) fn new(location: RefLocation) -> Self {
        let name = location.current();
        Self { location, name }
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.name == self.location.current()
    }
}

/// Where the branch is looked up.
#[derive(Clone, Debug)]
pub(crate) struct RefLocation {
    /// The directory of the working tree's own references, as an absolute path.
    pub(crate) ref_dir: PathBuf,
    /// The directory of the references that working trees share, as an absolute path.
    pub(crate) common_ref_dir: PathBuf,
    /// How references are stored.
    pub(crate) ref_format: RefFormat,
    /// The hash function of object ids.
    pub(crate) hash: Kind,
}

impl RefLocation {
    fn current(&self) -> Option<BString> {
        let mut name = self.target(&self.ref_dir, "HEAD".into())?;
        for _ in 1..DEPTH_MAX {
            match self.target(&self.common_ref_dir, name.as_bstr()) {
                Some(target) => name = target,
                None => return name.strip_prefix(b"refs/heads/").map(BString::from),
            }
        }
        None
    }

    /// Returns the target of the reference `name` in `folder`, if it is symbolic.
    fn target(&self, folder: &Path, name: &BStr) -> Option<BString> {
        match self.ref_format {
            RefFormat::Files => symbolic_target(&folder.join(path_of(name))),
            RefFormat::Reftable => {
                let stack = Stack::new(folder.join("reftable"), self.hash);
                match stack.find(name).ok()?? {
                    Value::Symbolic(target) => Some(target),
                    _ => None,
                }
            }
        }
    }
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
