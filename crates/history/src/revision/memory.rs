//! What one name leads to is at hand for the next one.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice};

use crate::branch::{self, check_all_settings, check_push_remote_of, check_remote_of};
use crate::commits::Commits;
use vigil_git::advice::SPARSE_INDEX_IS_EXPANDED;
use vigil_git::config::{self, Config};
use vigil_git::index_file;
use vigil_git::objects::Objects;
use vigil_git::repository::Repository;
use vigil_model::index::Index;
use vigil_model::raw_text::text_bytes;

/// What was read to resolve names of one repository, for those that follow: the index, each commit and the settings of
/// remotes are read once, as in a run of git.
#[derive(Default)]
pub struct Memory {
    pub(super) staged: StagedPaths,
    commits: RefCell<Option<Commits>>,
    has_checked_settings: Cell<bool>,
    /// The branches whose upstreams were looked up.
    with_upstream: RefCell<HashSet<BString>>,
    /// The branches for which it is known where they are pushed to.
    with_push_target: RefCell<HashSet<BString>>,
}

impl Memory {
    /// A memory in which there is nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The index, if a name was resolved in it.
    pub fn index(&self) -> Option<&Index> {
        self.staged.index.get()
    }

    /// The commits that `~` and `^` led through, of the repository with these `objects`.
    pub(super) fn commits(&self, objects: &Objects) -> RefMut<'_, Commits> {
        RefMut::map(self.commits.borrow_mut(), |commits| {
            commits.get_or_insert_with(|| Commits::new(objects))
        })
    }

    /// Forgets the commits, whose types are to be learned anew.
    pub(super) fn forget_commits(&self) {
        self.commits.take();
    }

    /// Checks the settings of all branches and remotes the first time, and those for the remote of `branch` if its upstream was not
    /// looked up before. git's messages are appended to `messages`.
    pub(super) fn check_settings(
        &self,
        config: &Config,
        branch: &BStr,
        messages: &mut Vec<BString>,
    ) -> Result<(), branch::Error> {
        if !self.has_checked_settings.get() {
            check_all_settings(config, messages)?;
            self.has_checked_settings.set(true);
        }
        match self.with_upstream.borrow_mut().insert(branch.to_owned()) {
            true => check_remote_of(config, branch, messages),
            false => Ok(()),
        }
    }

    /// Checks the settings for the remote that `branch` is pushed to, unless it is known where that is.
    pub(super) fn check_push_settings(
        &self,
        config: &Config,
        branch: &BStr,
        messages: &mut Vec<BString>,
    ) -> Result<(), branch::Error> {
        match self.with_push_target.borrow().contains(branch.as_bytes()) {
            true => Ok(()),
            false => check_push_remote_of(config, branch, messages),
        }
    }

    /// Notes that it is known where `branch` is pushed to.
    pub(super) fn note_push_target(&self, branch: &BStr) {
        self.with_push_target.borrow_mut().insert(branch.to_owned());
    }
}

/// The index of a repository, which is read on first use.
#[derive(Debug, Default)]
pub(super) struct StagedPaths {
    index: OnceCell<Index>,
    /// Whether git has expanded it, if it is sparse.
    is_expanded: Cell<bool>,
}

impl StagedPaths {
    /// Returns the index. git's messages on reading it are appended to `messages`.
    pub(super) fn index(
        &self,
        repository: &Repository,
        messages: &mut Vec<BString>,
    ) -> Result<&Index, index_file::Error> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let loaded = index_file::load(
            &repository.index_path,
            &repository.git_dir,
            repository.index_shown_from(),
            repository.hash,
        );
        let loaded = loaded.inspect_err(|error| {
            let lines = error.error_lines().into_iter();
            messages.extend(lines.map(|line| text_bytes(&format!("error: {line}"))));
        })?;
        messages.extend(loaded.file.notices.iter().map(|line| text_bytes(line)));
        Ok(self.index.get_or_init(|| loaded.index))
    }

    /// Notes that git expands the index, which is sparse. git's advice is appended to `messages` the first time.
    pub(super) fn expand(
        &self,
        repository: &Repository,
        messages: &mut Vec<BString>,
    ) -> Result<(), config::Error> {
        if !self.is_expanded.replace(true) {
            messages.extend(SPARSE_INDEX_IS_EXPANDED.messages(repository)?);
        }
        Ok(())
    }
}
