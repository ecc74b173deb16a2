//! Resolves paths in a tree, with or without following symbolic links in it.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;
use vigil_linux::stat::lstat_path;
use vigil_model::mode::FileMode;

use super::names::{Resolver, fatal};
use super::{Options, Resolved, Unresolved};
use vigil_git::objects::Circle;
use vigil_model::c_string::until_nul;
use vigil_objects::commit;
use vigil_objects::tree::{Step, look_up};
use vigil_stamp::paths::{bytes_of, is_missing};

/// How many symbolic links are followed, as in Linux.
const LINKS_MAX: usize = 40;

/// A tree that was read.
struct Tree {
    id: ObjectId,
    bytes: Vec<u8>,
}

impl Resolver<'_> {
    /// Resolves `path` in the tree that `tree` leads to; `revision` is the name of that.
    pub(super) fn in_tree(
        &mut self,
        tree: &ObjectId,
        revision: &BStr,
        path: BString,
        options: &Options,
    ) -> Result<Resolved, Unresolved> {
        let found = if options.follow_symlinks {
            match self.beyond_links(tree, path.as_bstr())? {
                Reached::Outside(target) => return Err(Unresolved::OutOfTree(target)),
                Reached::Object(id, mode) => Some((id, mode)),
            }
        } else {
            self.entry(tree, path.as_bstr())?
        };
        match found {
            Some((id, mode)) => Ok(Resolved {
                id,
                mode,
                path: Some(path),
            }),
            None if options.is_fatal_on_failure => Err(self.explain(revision, &path)),
            None => Err(Unresolved::Missing),
        }
    }

    /// Returns git's explanation why there is no `path` in the tree of `revision`.
    fn explain(&self, revision: &BStr, path: &BString) -> Unresolved {
        match self.is_missing_on_disk(path.as_bstr()) {
            None => fatal(&[
                b"path '",
                path,
                b"' exists on disk, but not in '",
                revision,
                b"'",
            ]),
            Some(true) => fatal(&[b"path '", path, b"' does not exist in '", revision, b"'"]),
            Some(false) => Unresolved::Missing,
        }
    }

    /// Returns `None` if `path` exists on disk; otherwise whether it is missing, rather than inaccessible.
    pub(super) fn is_missing_on_disk(&self, path: &BStr) -> Option<bool> {
        let folder = match self.repository {
            Some(repository) => repository.directory_without_need(),
            None => Path::new("/"),
        };
        if path.is_empty() {
            return Some(true);
        }
        match lstat_path(&folder.join(path.to_path().ok()?)) {
            Ok(_) => None,
            Err(error) => Some(is_missing(error)),
        }
    }

    /// Reads the tree that `id` leads to; `None` if there is none.
    fn tree(&self, id: &ObjectId) -> Result<Option<Tree>, Unresolved> {
        let mut id = *id;
        let mut bytes = Vec::new();
        let mut circle = Circle::default();
        while !circle.is_closed_by(&id) {
            let hash = self.objects.hash_kind();
            id = match self.objects.read(&id, &mut bytes)? {
                Some(Kind::Tree) => return Ok(Some(Tree { id, bytes })),
                // git looks only at the first line.
                Some(Kind::Commit) => match commit::first_id(b"tree ", &bytes, hash) {
                    Some(tree) => tree,
                    None => return Ok(None),
                },
                Some(Kind::Tag) => match commit::first_id(b"object ", &bytes, hash) {
                    Some(target) => target,
                    None => return Ok(None),
                },
                Some(Kind::Blob) | None => return Ok(None),
            };
        }
        Ok(None)
    }

    /// Returns the object at `path` and its mode. An empty path is the tree itself, and one with a trailing slash is
    /// a directory.
    pub(super) fn entry(
        &self,
        tree: &ObjectId,
        path: &BStr,
    ) -> Result<Option<(ObjectId, Option<FileMode>)>, Unresolved> {
        let Some(mut tree) = self.tree(tree)? else {
            return Ok(None);
        };
        if path.is_empty() {
            return Ok(Some((tree.id, None)));
        }
        let mut rest = path.as_bytes();
        loop {
            let below = match self.look_up(&tree, rest)? {
                Step::Missing => return Ok(None),
                Step::Found(id, mode) => return Ok(Some((id, Some(mode)))),
                Step::Below(id, below) => {
                    rest = below;
                    self.tree(&id)?
                }
            };
            match below {
                Some(below) => tree = below,
                None => return Ok(None),
            }
        }
    }

    /// Looks up `path` in `tree` alone.
    fn look_up<'p>(&self, tree: &Tree, path: &'p [u8]) -> Result<Step<'p>, Unresolved> {
        look_up(&tree.bytes, path, self.objects.hash_kind())
            .map_err(|problem| fatal(&[problem.as_bytes()]))
    }

    /// Returns the object at `path`, following all symbolic links inside the tree.
    fn beyond_links(&self, tree: &ObjectId, path: &BStr) -> Result<Reached, Unresolved> {
        let mut rest = path.to_owned();
        let mut links_left = LINKS_MAX;
        let mut mode = None;
        let missed = |links_left: usize| match links_left {
            LINKS_MAX => Unresolved::Missing,
            _ => Unresolved::DanglingLink,
        };
        let top = self.tree(tree)?.ok_or(Unresolved::Missing)?;
        if rest.is_empty() {
            return Ok(Reached::Object(top.id, None));
        }
        if top.bytes.is_empty() {
            return Err(Unresolved::Missing);
        }
        let mut above = vec![top];
        loop {
            let slashes = rest.iter().take_while(|byte| **byte == b'/').count();
            rest.drain(..slashes);
            // A link may lead to a path with a NUL. To git it is a C string, though what comes after is kept.
            let first = until_nul(&rest);
            let (name, below) = match first.split_once_str("/") {
                Some((name, _)) => {
                    let below = rest.get(name.len().saturating_add(1)..);
                    (BString::from(name), below.map(BString::from))
                }
                None => (BString::from(first), None),
            };
            let current = above.last().ok_or(Unresolved::Missing)?;
            if name == ".." {
                if above.len() == 1 {
                    return Ok(Reached::Outside(rest));
                }
                above.pop();
                rest = below.unwrap_or_default();
                continue;
            }
            if name.is_empty() {
                return Ok(Reached::Object(current.id, mode));
            }
            let Step::Found(id, found) = self.look_up(current, &name)? else {
                return Err(missed(links_left));
            };
            mode = Some(found);
            if found.is_tree() {
                let Some(below) = below else {
                    return Ok(Reached::Object(id, mode));
                };
                let next = self.tree(&id)?.ok_or_else(|| missed(links_left))?;
                if until_nul(&below).is_empty() {
                    return Ok(Reached::Object(next.id, mode));
                }
                // git does not even leave it again.
                if next.bytes.is_empty() {
                    return Err(missed(links_left));
                }
                above.push(next);
                rest = below;
            } else if found.is_file() {
                return match below {
                    None => Ok(Reached::Object(id, mode)),
                    Some(_) => Err(Unresolved::NotDirectory),
                };
            } else if found.is_symlink() {
                if links_left == 0 {
                    return Err(Unresolved::LinkLoop);
                }
                links_left -= 1;
                let mut target = Vec::new();
                if self.objects.read(&id, &mut target)?.is_none() {
                    return Err(Unresolved::DanglingLink);
                }
                if target.starts_with(b"/") {
                    return Ok(Reached::Outside(until_nul(&target).into()));
                }
                if let Some(below) = below {
                    target.push(b'/');
                    target.extend_from_slice(&below);
                }
                rest = target.into();
            } else {
                return Err(missed(links_left));
            }
        }
    }

    /// Returns `path` relative to the top. If it starts with `./` or `../`, it is relative to the caller's directory.
    pub(super) fn path_from_top(&self, path: &BStr) -> Result<BString, Unresolved> {
        if !path.starts_with(b"./") && !path.starts_with(b"../") {
            return Ok(path.to_owned());
        }
        let repository = self.repository.ok_or(Unresolved::Missing)?;
        let here = repository.environment.working_directory();
        let Some(top) = repository
            .work_tree
            .as_deref()
            .filter(|top| here.starts_with(top))
        else {
            return Err(fatal(&[
                b"relative path syntax can't be used outside working tree",
            ]));
        };
        let joined = [repository.prefix.as_slice(), path].concat();
        normalized(&joined).ok_or_else(|| {
            let top = bytes_of(top);
            fatal(&[b"'", path, b"' is outside repository at '", top, b"'"])
        })
    }
}

/// Where a path with symbolic links leads.
enum Reached {
    Object(ObjectId, Option<FileMode>),
    /// Out of the tree, to this path.
    Outside(BString),
}

/// Removes `.`, `..` and doubled slashes from `path`; `None` if it leads out of its start. A trailing slash is kept.
fn normalized(path: &[u8]) -> Option<BString> {
    let mut names: Vec<&[u8]> = Vec::new();
    let mut is_directory = false;
    for name in path.split(|byte| *byte == b'/') {
        is_directory = matches!(name, b"" | b"." | b"..");
        match name {
            b"" | b"." => {}
            b".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    let mut normalized = BString::from(names.join(&b'/'));
    if is_directory && !normalized.is_empty() {
        normalized.push(b'/');
    }
    Some(normalized)
}
