//! Which worktree a reference belongs to (git-worktree(1), "REFS").

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};

/// The worktree to which a reference belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// The current one: each worktree has its own.
    Current,
    /// All worktrees share it.
    Shared,
    /// The main one, seen from any worktree.
    Main,
    /// The linked one with this id, seen from any worktree.
    Linked(&'a BStr),
}

impl<'a> Owner<'a> {
    /// Returns the owner of the reference `name`, and its name there.
    pub fn of(name: &'a BStr) -> (Self, &'a BStr) {
        if let Some((id, own)) = name
            .strip_prefix(b"worktrees/")
            .and_then(|rest| rest.split_once_str("/"))
            && has_one_in_each(own)
        {
            return (Self::Linked(id.as_bstr()), own.as_bstr());
        }
        if let Some(own) = name.strip_prefix(b"main-worktree/")
            && has_one_in_each(own)
        {
            return (Self::Main, own.as_bstr());
        }
        match has_one_in_each(name) {
            true => (Self::Current, name),
            false => (Self::Shared, name),
        }
    }

    /// Returns the directory of its references, for a worktree whose own directory is `own`, in the repository `common`.
    pub fn folder<'p>(self, own: &'p Path, common: &'p Path) -> Cow<'p, Path> {
        match self {
            Self::Current => own.into(),
            Self::Shared | Self::Main => common.into(),
            Self::Linked(id) => {
                let mut folder: PathBuf = common.join("worktrees");
                folder.push(OsStr::from_bytes(id));
                folder.into()
            }
        }
    }
}

/// Whether each worktree has its own reference of this name: HEAD and the like, and those in three directories.
fn has_one_in_each(name: &[u8]) -> bool {
    let mut letters = name.iter();
    letters.all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'))
        || OWN_FOLDERS.iter().any(|folder| name.starts_with(folder))
}

/// Whether a stored reference of this name is the worktree's own: everything outside of `refs/`, and three
/// directories in it (git-worktree(1), "REFS").
pub(super) fn is_per_worktree(name: &[u8]) -> bool {
    !name.starts_with(b"refs/") || OWN_FOLDERS.iter().any(|folder| name.starts_with(folder))
}

/// The directories under `refs/` that each worktree has for itself.
const OWN_FOLDERS: [&[u8]; 3] = [b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_worktree() {
        for (name, owner, own) in [
            ("HEAD", Owner::Current, "HEAD"),
            ("refs/bisect/good", Owner::Current, "refs/bisect/good"),
            ("refs/heads/main", Owner::Shared, "refs/heads/main"),
            ("heads/main", Owner::Shared, "heads/main"),
            ("main-worktree/HEAD", Owner::Main, "HEAD"),
            (
                "main-worktree/refs/heads/a",
                Owner::Shared,
                "main-worktree/refs/heads/a",
            ),
            ("worktrees/a/HEAD", Owner::Linked("a".into()), "HEAD"),
            (
                "worktrees/a/refs/worktree/b",
                Owner::Linked("a".into()),
                "refs/worktree/b",
            ),
            ("worktrees/a/b", Owner::Shared, "worktrees/a/b"),
            ("worktrees/a", Owner::Shared, "worktrees/a"),
        ] {
            assert_eq!(Owner::of(name.into()), (owner, own.into()), "{name}");
        }
    }
}
