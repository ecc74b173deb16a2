//! Where HEAD points, cached by a long-lived process for as long as the files that determine it are unchanged.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use bstr::{BStr, BString};
use gix_hash::ObjectId;
use vigil_linux::stat::lstat_path;
use vigil_model::timestamp::Timestamp;

use super::loose::{self, Loose};
use super::raw::Raw;
use super::{Refs, Store};
use vigil_stamp::Observation;

/// Where HEAD points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// To a branch, by its full reference name (`refs/heads/main`), which may not exist yet (unborn).
    Branch {
        /// The full reference name.
        name: BString,
        /// The commit; `None` on an unborn branch.
        id: Option<ObjectId>,
    },
    /// To a commit.
    Detached(ObjectId),
}

impl Head {
    /// What git has for HEAD if it is in no reftable: an unborn branch of that name, which it shows as no branch.
    pub(super) fn lost() -> Self {
        Self::Branch {
            name: "HEAD".into(),
            id: None,
        }
    }

    /// The commit that it names; `None` on an unborn branch.
    pub fn commit(&self) -> Option<ObjectId> {
        match self {
            Self::Branch { id, .. } => *id,
            Self::Detached(id) => Some(*id),
        }
    }

    /// Whether there is no HEAD at all where references are stored.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Branch { name, id: None } if name == "HEAD")
    }
}

/// Where HEAD points, and the files that determine it: HEAD itself and the loose reference of its branch.
#[derive(Debug)]
pub(super) struct KnownHead {
    head: Head,
    files: Vec<(PathBuf, Observation)>,
}

impl KnownHead {
    /// Confirms that HEAD points to `head`, and records the files; `None` if anything but at most two plain files
    /// determines it, or one of them changed so shortly before the past time `before` that another change might not show.
    pub(super) fn read(refs: &Refs, head: &Head, before: Timestamp) -> Option<Self> {
        if !matches!(refs.store, Store::Files { .. }) {
            return None;
        }
        let mut files = Vec::new();
        let is_head = match (read_plain(refs, "HEAD".into(), before, &mut files)?, head) {
            (Raw::Direct(id), Head::Detached(known)) => id == *known,
            (Raw::Symbolic(target), Head::Branch { name, id: Some(id) }) => {
                target == *name
                    && read_plain(refs, target.as_ref(), before, &mut files)? == Raw::Direct(*id)
            }
            _ => false,
        };
        is_head.then(|| Self {
            head: head.clone(),
            files,
        })
    }

    /// Returns where HEAD points, if the files are unchanged.
    pub(super) fn get(&self) -> Option<&Head> {
        let is_same = |(path, seen): &(PathBuf, Observation)| {
            seen.is_current_by(|| lstat_path(path)).unwrap_or(false)
        };
        self.files.iter().all(is_same).then_some(&self.head)
    }
}

/// Reads the reference `name` from its file, and adds to `files` the stat data from before the read.
fn read_plain(
    refs: &Refs,
    name: &BStr,
    before: Timestamp,
    files: &mut Vec<(PathBuf, Observation)>,
) -> Option<Raw> {
    let path = refs.folders().of(name).join(OsStr::from_bytes(name));
    // The target of a symbolic link may change without changing the link.
    let stat = lstat_path(&path).ok().filter(|stat| stat.is_file())?;
    let seen = Some(Observation::at(before, Some(&stat))).filter(Observation::is_proof)?;
    let Loose::Found(raw) = loose::read(&path, refs.hash, &refs.unread) else {
        return None;
    };
    files.push((path, seen));
    Some(raw)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::OpenRepository as _;
    use vigil_stamp::now;
    use vigil_testkit::sandbox::Sandbox;

    type Change = fn(&Sandbox);

    /// A time at which everything done now is long past.
    fn later() -> Timestamp {
        let now = now();
        Timestamp {
            s: now.s + 3600,
            ..now
        }
    }

    #[test]
    fn any_change_of_head_or_its_branch_shows() {
        let changes: [(&str, Change); 7] = [
            ("commit", |sandbox| {
                sandbox.commit("two");
            }),
            ("switch", |sandbox| {
                sandbox.git(["switch", "-q", "other"]);
            }),
            ("detach", |sandbox| {
                sandbox.git(["switch", "-q", "--detach"]);
            }),
            ("delete", |sandbox| {
                sandbox.git(["update-ref", "-d", "refs/heads/main"]);
            }),
            ("pack", |sandbox| {
                sandbox.git(["pack-refs", "--all"]);
            }),
            ("in place", |sandbox| {
                let path = sandbox.git_dir().join("HEAD");
                fs::write(path, "ref: refs/heads/other\n").unwrap();
            }),
            ("link", |sandbox| {
                let path = sandbox.git_dir().join("HEAD");
                fs::remove_file(&path).unwrap();
                std::os::unix::fs::symlink("refs/heads/other", path).unwrap();
            }),
        ];
        for (what, change) in changes {
            let sandbox = Sandbox::new();
            sandbox.commit("one");
            sandbox.git(["branch", "other"]);
            let refs = Refs::open(&sandbox.repository()).caching_head();
            let head = refs.read_head().unwrap();
            let known = KnownHead::read(&refs, &head, later()).unwrap();
            assert_eq!(known.get(), Some(&head));
            *refs.known_head.as_ref().unwrap().lock() = Some(known);
            assert_eq!(refs.head().unwrap(), head);
            change(&sandbox);
            assert_eq!(refs.head().unwrap(), refs.read_head().unwrap(), "{what}");
            assert_eq!(refs.head().unwrap(), refs.read_head().unwrap(), "{what}");
        }
    }

    #[test]
    fn only_what_plain_files_say_is_remembered() {
        let sandbox = Sandbox::new();
        let commit = sandbox.commit("one");
        sandbox.git(["symbolic-ref", "refs/heads/by-way", "refs/heads/main"]);
        let is_remembered = || {
            let refs = Refs::open(&sandbox.repository());
            let head = refs.read_head().unwrap();
            let long_ago = Timestamp { s: 0, ns: 0 };
            let young = KnownHead::read(&refs, &head, long_ago);
            assert!(young.is_none(), "another change might not show");
            KnownHead::read(&refs, &head, later()).is_some()
        };
        assert!(is_remembered());
        sandbox.git(["symbolic-ref", "HEAD", "refs/heads/by-way"]);
        assert!(!is_remembered());
        sandbox.git(["symbolic-ref", "HEAD", "refs/heads/unborn"]);
        assert!(!is_remembered());
        sandbox.git(["update-ref", "--no-deref", "HEAD", &commit.to_string()]);
        assert!(is_remembered());
        sandbox.git(["symbolic-ref", "HEAD", "refs/heads/main"]);
        sandbox.git(["pack-refs", "--all"]);
        assert!(!is_remembered());
        let head = sandbox.git_dir().join("HEAD");
        fs::remove_file(&head).unwrap();
        std::os::unix::fs::symlink("refs/heads/main", head).unwrap();
        sandbox.git(["update-ref", "refs/heads/main", &commit.to_string()]);
        assert!(!is_remembered());
    }
}
