//! Answers that would differ because Mercurial takes the file system for one that ignores case, or keeps neither executable bits nor
//! links. Only Mercurial gives those.

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::hg_status::kinds::Lists;
use vigil_hg::abort::Abort;
use vigil_hg::dirstate::Dirstate;
use vigil_hg::file_system;
use vigil_hg::patterns::Matcher;
use vigil_hg::repository::Repository;
use vigil_hg::stored::{Flag, Manifest};
use vigil_hg::working_file;
use vigil_linux::stat::lstat_path;
use vigil_stamp::paths::path_of;

/// Where such a file system is, Mercurial takes a link with a longer target for a file that was put in its place.
const TARGET_LEN_MAX: usize = 1023;

/// A working copy, and what is asked about it.
pub(super) struct FileSystemQuestion<'q> {
    pub(super) repository: &'q Repository,
    pub(super) dirstate: &'q Dirstate,
    pub(super) matcher: &'q Matcher,
    /// Whether files are compared with another changeset than the first parent.
    pub(super) compares_others: bool,
}

impl FileSystemQuestion<'_> {
    /// Checks that `lists`, made for a file system of Linux, are what Mercurial finds.
    ///
    /// # Errors
    /// They may not be.
    pub(super) fn check(&self, lists: &Lists) -> Result<(), Abort> {
        self.check_case(lists)?;
        self.check_modes(lists)
    }

    /// Checks that no name differs from a recorded one in its case alone.
    fn check_case(&self, lists: &Lists) -> Result<(), Abort> {
        let has_patterns = !self.matcher.has_no_patterns();
        let has_others = !lists.unknown.is_empty() || !lists.ignored.is_empty();
        if !(has_patterns || has_others) || !file_system::ignores_case(self.repository) {
            return Ok(());
        }
        let recorded = self
            .dirstate
            .iter()
            .flat_map(|(path, _)| at_and_above(path));
        let recorded: HashSet<&BStr> = recorded.collect();
        let folded: HashSet<BString> = recorded.iter().map(|path| folded(path)).collect();
        let is_other_case =
            |path: &BStr| !recorded.contains(path) && folded.contains(&self::folded(path));
        let mut others = lists.unknown.iter().chain(&lists.ignored);
        let differs = has_patterns
            || folded.len() != recorded.len()
            || others.any(|path| at_and_above(path.as_bstr()).any(is_other_case));
        match differs {
            true => Err(Abort::unsupported(
                "names on a file system that ignores case",
            )),
            false => Ok(()),
        }
    }

    /// Checks that no file differs only by what Mercurial believes to be lost.
    fn check_modes(&self, lists: &Lists) -> Result<(), Abort> {
        let added = lists.added.iter().filter(|_| self.compares_others);
        let mut files = lists.modified.iter().chain(added).peekable();
        if files.peek().is_none() || file_system::keeps_modes(self.repository) {
            return Ok(());
        }
        let refused = || {
            let said = "executable bits or links, where Mercurial may not find out whether the file system keeps them";
            Abort::unsupported(said)
        };
        let [p1, p2] = self.dirstate.parents();
        let parent = self
            .repository
            .store()
            .manifest_of(&p1)
            .map_err(|_| refused())?;
        match p2.is_null() && files.all(|path| self.is_as_expected(path.as_bstr(), &parent)) {
            true => Ok(()),
            false => Err(refused()),
        }
    }

    /// Whether the file at `path` has the recorded mode, and the flag that Mercurial takes from the `parent`.
    fn is_as_expected(&self, path: &BStr, parent: &Manifest) -> bool {
        let there = self.repository.root.join(path_of(path));
        let Ok(seen) = lstat_path(&there) else {
            return false;
        };
        let at = self.dirstate.position(path);
        let source = at.and_then(|at| self.dirstate.copy_source(at));
        let expected = parent.get(source.unwrap_or(path));
        let expected = expected.map(|entry| entry.flag).unwrap_or_default();
        let entry = at.and_then(|at| self.dirstate.get(at));
        let has_other_mode = entry.is_none_or(|(_, entry)| entry.has_other_mode(&seen));
        let is_odd_link = || {
            let is_odd = |target: Vec<u8>| target.len() > TARGET_LEN_MAX || target.contains(&b'\n');
            seen.is_symlink() && working_file::read(&there, u64::MAX).map_or(true, is_odd)
        };
        Flag::of_mode(seen.mode) == expected && !has_other_mode && !is_odd_link()
    }
}

/// Returns the path as one that differs from it in case alone.
fn folded(path: &BStr) -> BString {
    path.to_ascii_lowercase().into()
}

/// Iterates over a path and the directories above it.
fn at_and_above(path: &BStr) -> impl Iterator<Item = &BStr> {
    let ends = path.find_iter("/").chain([path.len()]);
    ends.filter_map(|end| path.get(..end).map(BStr::new))
}
