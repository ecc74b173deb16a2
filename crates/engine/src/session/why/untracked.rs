//! Why a path that is not tracked is listed or not, and what a directory holds.

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::stat::Stat;
use vigil_linux::{Errno, errno};
use vigil_model::path::{is_at_or_below, join};
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{DirNumber, ROOT};

use super::{
    Beyond, Directory, Explanation, PathKind, Said, Untracked, UntrackedMode, first_above, parent,
};
use crate::session::ignoring::Decision;
use crate::session::recorded_directories::listing_check;
use crate::state::ListingValidity;
use crate::status::Change;
use vigil_scan::question;
use vigil_stamp::Stamp;

impl Explanation<'_> {
    /// Returns what is in the directory `number`, at `path`, which has tracked files.
    pub(super) fn directory(&self, number: DirNumber, path: &BStr) -> Directory {
        let mut found = Directory::default();
        let below = match path.is_empty() {
            true => BString::default(),
            false => join(path, BStr::new("")),
        };
        let is_below = |other: &BString| other.starts_with(&below);
        for (_, change) in self
            .said
            .status
            .changes
            .iter()
            .filter(|(path, _)| is_below(path))
        {
            match change {
                Change::Unmerged(_) => found.unmerged = found.unmerged.saturating_add(1),
                Change::Tracked(change) => {
                    let add = |sum: &mut usize, is: bool| *sum = sum.saturating_add(is.into());
                    add(&mut found.staged, change.staged.is_some());
                    add(&mut found.unstaged, change.unstaged.is_some());
                }
            }
        }
        found.untracked = self
            .said
            .status
            .untracked
            .iter()
            .filter(|path| is_below(path))
            .count();
        let entries = self.session.index.as_ref().map(|index| {
            let above = index.tracked.find_directory(parent(path)).unwrap_or(ROOT);
            let above = index.tracked.directory(above);
            let name = vigil_model::path::file_name(path);
            match path.is_empty() {
                true => index.tracked.sums().entries,
                false => above.find_subdir(name).map_or(0, |subdir| subdir.entries),
            }
        });
        found.entries = entries.unwrap_or_default();
        found.recorded_listing = self.standing_listing(number, path, None);
        found.excluded = self.rules.at(&self.base, path).excluded;
        found
    }

    /// Returns the untracked file at `path` that has taken the place of a directory with tracked files, if there is one.
    pub(super) fn in_place_of_directory(&self, path: &BStr) -> Option<PathKind> {
        let stat = self.lstat(path).ok()?;
        match self.untracked(path) {
            found @ (PathKind::Untracked(_) | PathKind::Ignored { .. }) if !stat.is_dir() => {
                Some(found)
            }
            _ => None,
        }
    }

    /// Returns what is at `path`, which is not tracked.
    pub(super) fn untracked(&self, path: &BStr) -> PathKind {
        let is_sparse = |dir: &BStr| {
            let dir = join(dir, BStr::new(""));
            let index = self.session.index.as_ref();
            index.is_some_and(|index| index.tracked.find(dir.as_ref(), 0).is_some())
        };
        if let Some(dir) = first_above(path, is_sparse) {
            return PathKind::Beyond(Beyond::SparseDirectory(dir.to_owned()));
        }
        let stat = match self.lstat(path) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR) => return PathKind::Absent,
            Err(error) => return PathKind::Beyond(Beyond::Unknown(errno::text(error))),
        };
        if path
            .split_str("/")
            .any(|name| name.eq_ignore_ascii_case(b".git"))
        {
            return PathKind::Beyond(Beyond::GitFolder);
        }
        let is_submodule = |dir: &BStr| {
            let index = self.session.index.as_ref();
            let mut stages = 0..=3;
            index.is_some_and(|index| {
                stages.any(|stage| {
                    let entry = index.tracked.find(dir, stage);
                    entry.is_some_and(|entry| entry.mode.is_gitlink())
                })
            })
        };
        if let Some(submodule) = first_above(path, is_submodule) {
            return PathKind::Beyond(Beyond::Submodule(submodule.to_owned()));
        }
        if let Some(link) = self.link_above(path) {
            return PathKind::Beyond(Beyond::Link(link.to_owned()));
        }
        let is_repository = |dir: &BStr| self.session.repository.has_nested_repository(dir);
        let repository = first_above(path, is_repository).map(BStr::to_owned);
        let rules = self.rules.at(&self.base, parent(path));
        let rule = match rules.decide(path, stat.is_dir()) {
            Decision::Ignored(excluded, rule) => return PathKind::Ignored { excluded, rule },
            Decision::Untracked(rule) => rule,
        };
        if let Some(repository) = repository {
            return PathKind::Beyond(Beyond::Repository(repository));
        }
        if !stat.is_dir() && !stat.is_file() && !stat.is_symlink() {
            return PathKind::Beyond(Beyond::Special);
        }
        let each = self.said.each_untracked.as_ref();
        let is_shown = |each: &Vec<BString>| each.iter().any(|one| is_at_or_below(one, path));
        if stat.is_dir() && each.is_some_and(|each| !is_shown(each)) {
            return PathKind::Beyond(self.directory_without_files(path));
        }
        let listed_as = listed_as(path, &stat, &self.said);
        if listed_as.is_none() && self.said.request.untracked != UntrackedMode::No {
            return PathKind::Beyond(match stat.is_dir() {
                true => self.directory_without_files(path),
                false => Beyond::Unlisted,
            });
        }
        PathKind::Untracked(Untracked {
            rule,
            recorded_listing: listed_as
                .as_ref()
                .and_then(|listed_as| self.listing_with(listed_as.as_ref())),
            listed_as,
        })
    }

    /// Returns why nothing in the directory at `path` is shown.
    fn directory_without_files(&self, path: &BStr) -> Beyond {
        let listed = self.rules.on_disk(path).map(std::fs::read_dir);
        match listed {
            Some(Err(error)) => Beyond::Unknown(errno::text_of(&error)),
            _ => Beyond::EmptyDirectory,
        }
    }

    /// Returns the listing of the innermost tracked directory above `listed`, if it is valid and has that path.
    fn listing_with(&self, listed: &BStr) -> Option<(BString, Timestamp)> {
        let mut dir = parent(listed.trim_end_with(|slash| slash == '/').as_bstr());
        let number = loop {
            let index = self.session.index.as_ref()?;
            match index.tracked.find_directory(dir) {
                Some(number) => break number,
                None => dir = parent(dir),
            }
        };
        let name = match dir.is_empty() {
            true => listed,
            false => listed.get(dir.len().saturating_add(1)..)?.as_bstr(),
        };
        let (name, dir) = (name.to_owned(), dir.to_owned());
        let mtime = self.standing_listing(number, dir.as_ref(), Some(name.as_ref()))?;
        Some((dir, mtime))
    }

    /// Returns the mtime in the listing of the directory `number`, at `dir`, if a status would use that listing without
    /// looking. With `name`, only if the listing has that untracked path.
    fn standing_listing(
        &self,
        number: DirNumber,
        dir: &BStr,
        name: Option<&BStr>,
    ) -> Option<Timestamp> {
        let rules = self.rules.at(&self.base, dir);
        let wanted = question::number(self.said.request.untracked, self.said.request.ignored);
        if !self.session.index.as_ref()?.has_recorded_names(number) {
            return None;
        }
        let state = self.session.state.as_ref()?;
        let check = listing_check(state, self.rules.top, dir, &rules)?;
        let seen = state.seen(number)?;
        let mut listings = seen.listings();
        let listing = listings.find(|listing| listing.record.question.get() == wanted)?;
        let has_it = name.is_none_or(|name| listing.untracked().any(|path| path == name));
        let holds = has_it && check.validity(&listing) == ListingValidity::Holds;
        holds.then(|| Stamp::from_bytes(&listing.record.stamp).mtime())
    }
}

/// Returns the path under which a status lists `path`.
fn listed_as(path: &BStr, stat: &Stat, said: &Said) -> Option<BString> {
    let is_it = |listed: &&BString| {
        let is_of_directory = listed
            .strip_suffix(b"/")
            .is_some_and(|dir| is_at_or_below(path, dir));
        is_of_directory || **listed == path || stat.is_dir() && is_at_or_below(listed, path)
    };
    said.status.untracked.iter().find(is_it).cloned()
}
