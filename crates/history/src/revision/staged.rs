//! Resolves paths in the index: `:path`, `:2:path`.

use bstr::{BStr, BString, ByteSlice};
use vigil_model::index::{Entry, Index};

use super::names::{Resolver, fatal};
use super::{Options, Resolved, Unresolved};

impl Resolver<'_> {
    /// Resolves the part after the colon: a path, perhaps after a stage and another colon.
    pub(super) fn staged(
        &mut self,
        name: &BStr,
        options: &Options,
    ) -> Result<Resolved, Unresolved> {
        let repository = self.repository.ok_or(Unresolved::Missing)?;
        let (stage, path) = match name.as_bytes() {
            [stage @ b'0'..=b'3', b':', path @ ..] => (stage.saturating_sub(b'0'), path),
            path => (0, path),
        };
        let path = self.path_from_top(path.as_bstr())?;
        let staged = &self.memory.staged;
        let index = staged.index(repository, &mut self.messages)?;
        if options.expands_index && index.is_sparse() {
            staged.expand(repository, &mut self.messages)?;
        }
        if let Some(entry) = index.find(path.as_bstr(), stage) {
            if entry.is_sparse_directory() {
                let is_fatal = options.is_fatal_on_failure;
                return Err(match is_fatal {
                    true => self.explain_staged(index, stage, &path, false),
                    false => Unresolved::Missing,
                });
            }
            return Ok(Resolved {
                id: entry.id,
                mode: Some(entry.mode),
                path: Some(path),
            });
        }
        let mut is_in_sparse = false;
        if let Some((directory, below)) = sparse_directory(index, path.as_bstr()) {
            staged.expand(repository, &mut self.messages)?;
            if let Some((id, mode)) = self.entry(&directory.id, below)?
                && mode.is_some_and(|mode| !mode.is_tree())
            {
                if stage == 0 {
                    return Ok(Resolved {
                        id,
                        mode,
                        path: Some(path),
                    });
                }
                is_in_sparse = true;
            }
        }
        if options.is_fatal_on_failure && !matches!(name.first(), None | Some(b'/')) {
            return Err(self.explain_staged(index, stage, &path, is_in_sparse));
        }
        Err(Unresolved::Missing)
    }

    /// Returns git's explanation why `path`, which may be in a directory that is one entry of a sparse index, is not in the
    /// index at `stage`.
    fn explain_staged(
        &self,
        index: &Index,
        stage: u8,
        path: &BString,
        is_in_sparse: bool,
    ) -> Unresolved {
        let entry = any_stage(index, path.as_bstr());
        let found = entry.map(|entry| entry.flags.stage());
        if let Some(found) = found.or(is_in_sparse.then_some(0)) {
            let stages = format!("{stage}\nhint: Did you mean ':{found}:");
            return fatal(&[
                b"path '",
                path,
                b"' is in the index, but not at stage ",
                stages.as_bytes(),
                path,
                b"'?",
            ]);
        }
        match self.is_missing_on_disk(path.as_bstr()) {
            None => fatal(&[b"path '", path, b"' exists on disk, but not in the index"]),
            Some(true) => fatal(&[
                b"path '",
                path,
                b"' does not exist (neither on disk nor in the index)",
            ]),
            Some(false) => Unresolved::Missing,
        }
    }
}

/// Returns the first entry of `path`, in any stage.
fn any_stage<'a>(index: &'a Index, path: &BStr) -> Option<&'a Entry> {
    let (Ok(at) | Err(at)) = index.position(path, 0);
    let entry = index.entries().get(at)?;
    (index.path(entry) == path && !entry.is_sparse_directory()).then_some(entry)
}

/// Returns the sparse directory that contains `path`, and the path below it.
fn sparse_directory<'a>(index: &'a Index, path: &'a BStr) -> Option<(&'a Entry, &'a BStr)> {
    if !index.is_sparse() {
        return None;
    }
    path.find_iter(b"/").find_map(|slash| {
        let (directory, below) = path.split_at_checked(slash.saturating_add(1))?;
        let entry = index.find(directory.as_bstr(), 0)?;
        entry
            .is_sparse_directory()
            .then_some((entry, below.as_bstr()))
    })
}
