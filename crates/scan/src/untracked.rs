//! What is there besides tracked files: untracked and ignored files, directories and repositories.
//!
//! Each name is reported once. A directory without tracked files stands for all below it, unless every file is asked
//! for. Empty directories are not reported. A directory whose contents are all ignored is itself ignored. Another
//! repository is one name, whatever is in it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::Errno;
use vigil_linux::dir::{EntryKind, Listing};
use vigil_linux::stat::{lstat_path, stat_at, stat_fd, stat_path};

use super::cache::Witness;
use super::filter::DirMatch;
use super::findings::{RulesWarning, Unseen};
use super::folded_names::FoldedNames;
use super::ignoring::Ignoring;
use super::open::{CName, DirFd, OpenDir};
use super::pool::Local;
use super::system::{IgnoreScope, ListedDirectory, RulesFile};
use super::walk::{Task, Walk, Worker};
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_model::tracked::Directory;
use vigil_stamp::Stamp;

/// The kind of an entry that is not tracked. The greatest kind of its entries is that of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Nothing to report: an empty directory, a device, or not asked for.
    Nothing,
    /// Ignored, or a directory whose contents all are.
    Ignored,
    /// Untracked, or a directory that holds something untracked.
    Untracked,
}

/// What was found in one directory besides its tracked files, and what that rests on.
#[derive(Default)]
pub(super) struct NonTrackedFindings {
    pub(super) untracked: Vec<BString>,
    pub(super) ignored: Vec<BString>,
    pub(super) warnings: Vec<RulesWarning>,
    pub(super) unlisted: Vec<Unseen>,
    /// Directories with tracked files in which nothing untracked is shown, with a trailing `/`.
    pub(super) hidden: Vec<BString>,
    /// Directories and ignore files below, collected if the listing is to be remembered.
    pub(super) witnesses: Vec<Witness>,
    /// False if the listing rests on something that no witness can represent.
    pub(super) can_be_remembered: bool,
    /// Whether it rests on something whose changes cause no event.
    pub(super) changes_silently: bool,
    /// Directories that are repositories, or may become ones without an event.
    pub(super) nested: Vec<BString>,
    /// Whether it rests on rules whose changes cause no event.
    pub(super) has_unproven_rules: bool,
    /// The length of the tracked directory's path, with its slash.
    base_len: usize,
}

/// The number of paths that were found up to some moment.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    untracked: usize,
    ignored: usize,
}

impl NonTrackedFindings {
    /// Collects witnesses if `is_remembered`.
    pub(super) fn new(is_remembered: bool) -> Self {
        Self {
            can_be_remembered: is_remembered,
            ..Self::default()
        }
    }

    /// Hides what is untracked in a directory that is also recorded as a nested repository: the directory counts as
    /// one.
    pub(super) fn hide(&mut self, dir: BString) {
        self.hidden.push(dir);
        self.must_be_looked_at_again();
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            untracked: self.untracked.len(),
            ignored: self.ignored.len(),
        }
    }

    /// Removes the directory at `path` itself, which was added after `before` was counted, and keeps its contents: it is in the
    /// place of a tracked file.
    pub(super) fn take_back_directory(&mut self, path: &BStr, before: Counts) {
        let name = vigil_model::path::join(path, BStr::new(""));
        drop_name(&mut self.untracked, before.untracked, &name);
        drop_name(&mut self.ignored, before.ignored, &name);
    }

    /// Notes that nothing would show a change of what was found.
    pub(super) fn must_be_looked_at_again(&mut self) {
        self.can_be_remembered = false;
        self.changes_silently = true;
    }

    /// Notes that nothing would show that the directory at `path` became a repository, or ceased to be one.
    fn may_be_nested(&mut self, path: &BStr) {
        self.can_be_remembered = false;
        self.nested.push(path.into());
    }
}

/// A directory without tracked files whose contents are reported one by one.
pub(super) struct UntrackedDir {
    path: BString,
    ignoring: Ignoring,
}

/// How to treat a directory without tracked files.
enum Treatment {
    Settled(Kind),
    /// It is a repository.
    Repository(Kind),
    /// Report each thing in it by itself.
    Enter,
    /// Report it as one, by what is in it.
    ReportAsOne,
    /// Report that what it holds cannot be looked up, for this reason.
    Unsearchable(Errno),
}

impl<'a> Walk<'a> {
    /// Visits the entry at `path`, which is directly in the tracked directory `dir` and is not a tracked file.
    pub(super) fn visit_entry<'s>(
        &'s self,
        kind: EntryKind,
        dir: &Arc<OpenDir<'s>>,
        path: &mut BString,
        ignoring: &Ignoring,
        found: &mut NonTrackedFindings,
        local: &mut Local<Task<'s>>,
    ) {
        found.base_len = path
            .rfind_byte(b'/')
            .map_or(0, |slash| slash.saturating_add(1));
        let wants_each = self.scan.untracked == UntrackedMode::All && self.scan.memory.is_none();
        if kind == EntryKind::Dir && wants_each && !self.is_metadata(path.as_bstr(), kind) {
            // Large untracked trees are shared among all workers.
            let is_excluded = ignoring.excludes(path.as_bstr(), true);
            if self.is_of_no_interest(path.as_bstr(), is_excluded) {
                return;
            }
            let treatment = self
                .treatment_by_folded_names(path.as_bstr())
                .unwrap_or_else(|| self.treatment(path.as_bstr(), is_excluded));
            if let Treatment::Unsearchable(reason) = treatment {
                self.add_unlisted(path.as_bstr(), reason, &mut found.unlisted);
                return;
            }
            if let Treatment::Enter = treatment {
                self.note_gap(path.as_bstr(), &mut found.unlisted);
                let parent = self.may_keep_open().then(|| dir.clone());
                let dir = UntrackedDir {
                    path: path.clone(),
                    ignoring: ignoring.below(is_excluded),
                };
                local.push(Task::Untracked { dir, parent });
                return;
            }
        }
        if kind == EntryKind::File && self.may_affect_comparison_silently(dir.fd(), path.as_bstr())
        {
            found.can_be_remembered = false;
            found.has_unproven_rules = true;
        }
        self.classify(kind, Some(dir.fd()), path, ignoring, false, found);
    }

    /// Whether the file at `path`, in `dir`, decides how other files are compared, and has another hard link through
    /// which it may be written.
    fn may_affect_comparison_silently(&self, dir: BorrowedFd<'_>, path: &BStr) -> bool {
        let name = vigil_model::path::file_name(path);
        self.scan.system.affects_comparison(name)
            && CName::new(name)
                .is_some_and(|name| stat_at(dir, name.as_c_str()).is_ok_and(|stat| stat.nlink > 1))
    }

    /// Walks a directory whose contents are reported one by one, leaving its subdirectories to other workers.
    pub(super) fn walk_untracked<'s>(
        &'s self,
        dir: &UntrackedDir,
        parent: Option<Arc<OpenDir<'s>>>,
        worker: &mut Worker,
        local: &mut Local<Task<'s>>,
    ) {
        let fd = match self.open(parent.as_deref().map(OpenDir::fd), dir.path.as_bstr()) {
            Ok(fd) => Arc::new(self.keep(DirFd::Own(fd))),
            Err(error) => {
                if !is_gone(error) {
                    let unlisted = &mut worker.findings.unlisted;
                    self.add_unlisted(dir.path.as_bstr(), error, unlisted);
                }
                return;
            }
        };
        drop(parent);
        let mut listing = worker.take_listing();
        if let Err(error) = listing.read(fd.fd()) {
            let unseen = Unseen::of(dir.path.as_bstr(), error);
            worker.findings.unlisted.push(unseen);
        }
        let mut found = NonTrackedFindings::new(false);
        let rules = self.rules_in(
            None,
            fd.fd(),
            dir.path.as_bstr(),
            &listing,
            &dir.ignoring,
            &mut found.warnings,
        );
        let ignoring = dir.ignoring.with_rules(rules.0);
        let mut path = dir.path.clone();
        path.push(b'/');
        let len = path.len();
        for entry in listing.entries() {
            path.truncate(len);
            path.extend_from_slice(entry.name.to_bytes());
            self.visit_entry(entry.kind, &fd, &mut path, &ignoring, &mut found, local);
        }
        worker.give_back(listing);
        self.count_untracked(found.untracked.len());
        worker.findings.untracked.append(&mut found.untracked);
        worker.findings.ignored.append(&mut found.ignored);
        worker.findings.warnings.append(&mut found.warnings);
        worker.findings.unlisted.append(&mut found.unlisted);
    }

    /// Returns the kind of the entry at `path`, and adds what is to be reported to `found`, unless `only_classifies`.
    fn classify(
        &self,
        kind: EntryKind,
        parent: Option<BorrowedFd<'_>>,
        path: &mut BString,
        ignoring: &Ignoring,
        only_classifies: bool,
        found: &mut NonTrackedFindings,
    ) -> Kind {
        if self.is_passed_over(path.as_bstr(), kind) {
            return Kind::Nothing;
        }
        let is_dir = kind == EntryKind::Dir;
        let is_excluded = ignoring.excludes(path.as_bstr(), is_dir);
        if is_excluded && self.scan.ignored == IgnoredMode::No {
            return Kind::Ignored;
        }
        if is_dir {
            let ignoring = ignoring.below(is_excluded);
            return self.classify_dir(parent, path, &ignoring, only_classifies, found);
        }
        let filter = self.scan.filter;
        let is_asked_for = filter.is_none_or(|filter| filter.matches(path.as_bstr(), false));
        let kind = match is_asked_for {
            false => Kind::Nothing,
            true if is_excluded => Kind::Ignored,
            true => Kind::Untracked,
        };
        if !only_classifies {
            self.add(found, path.clone(), kind);
        }
        kind
    }

    /// Whether the entry at `path` is never reported, ignored or not. Such is what is neither file nor directory: Mercurial
    /// does not even match it against patterns.
    fn is_passed_over(&self, path: &BStr, kind: EntryKind) -> bool {
        let is_tracked = |names: &FoldedNames| kind != EntryKind::Dir && names.has_file(path);
        kind == EntryKind::Other
            || self.is_metadata(path, kind)
            || (self.scan.filter).is_some_and(|filter| !filter.may_match_below(path))
            || self.folded.as_ref().is_some_and(is_tracked)
    }

    /// How to treat a directory that is tracked, or is a nested repository, except for the case of its name.
    fn treatment_by_folded_names(&self, path: &BStr) -> Option<Treatment> {
        let names = self.folded.as_ref()?;
        if names.has_dir(path) {
            Some(Treatment::Enter)
        } else if names.has_nested(path) {
            Some(Treatment::Settled(Kind::Nothing))
        } else {
            None
        }
    }

    fn classify_dir(
        &self,
        parent: Option<BorrowedFd<'_>>,
        path: &mut BString,
        ignoring: &Ignoring,
        only_classifies: bool,
        found: &mut NonTrackedFindings,
    ) -> Kind {
        let by_names = self.treatment_by_folded_names(path.as_bstr());
        let treatment = by_names.unwrap_or_else(|| {
            let treatment = self.treatment(path.as_bstr(), ignoring.is_excluded);
            match treatment {
                // The repository can change without changing any mtime that is recorded here.
                Treatment::Repository(_) => found.may_be_nested(path.as_bstr()),
                Treatment::Settled(_) => found.must_be_looked_at_again(),
                _ => {}
            }
            treatment
        });
        let kind = match treatment {
            Treatment::Settled(kind) | Treatment::Repository(kind) => kind,
            Treatment::Unsearchable(reason) => {
                self.add_unlisted(path.as_bstr(), reason, &mut found.unlisted);
                found.must_be_looked_at_again();
                Kind::Nothing
            }
            Treatment::Enter => {
                self.note_gap(path.as_bstr(), &mut found.unlisted);
                return self.read_dir(parent, path, ignoring, only_classifies, found);
            }
            Treatment::ReportAsOne => {
                let before = found.counts();
                let only_classifies = self.scan.ignored == IgnoredMode::No;
                let mut kind = self.read_dir(parent, path, ignoring, only_classifies, found);
                if kind == Kind::Ignored {
                    if self.scan.ignored == IgnoredMode::Matching {
                        kind = Kind::Nothing;
                    } else {
                        found.ignored.truncate(before.ignored);
                    }
                }
                found.untracked.truncate(before.untracked);
                kind
            }
        };
        if !only_classifies {
            let mut name = path.clone();
            name.push(b'/');
            self.add(found, name, kind);
        }
        kind
    }

    /// How to treat the directory at `path`, which holds no tracked file.
    fn treatment(&self, path: &BStr, is_excluded: bool) -> Treatment {
        let relation = match self.scan.filter {
            Some(filter) if !is_excluded => {
                let mut dir = BString::from(path);
                dir.push(b'/');
                filter.directory(dir.as_bstr())
            }
            _ => DirMatch::Yes,
        };
        if relation == DirMatch::No {
            return Treatment::Settled(Kind::Nothing);
        }
        let is_repository = self.scan.system.is_repository(path);
        if let Err(reason) = is_repository
            && self.is_listed(path)
        {
            return Treatment::Unsearchable(reason);
        }
        if is_repository == Ok(true) {
            return Treatment::Repository(match relation {
                DirMatch::Below => Kind::Nothing,
                _ if is_excluded => Kind::Ignored,
                _ => Kind::Untracked,
            });
        }
        if self.scan.untracked != UntrackedMode::All && relation == DirMatch::Below {
            return Treatment::Enter;
        }
        if is_excluded && self.scan.ignored == IgnoredMode::Matching {
            return Treatment::Settled(Kind::Ignored);
        }
        if self.scan.untracked == UntrackedMode::All {
            Treatment::Enter
        } else {
            Treatment::ReportAsOne
        }
    }

    /// Whether the directory at `path` may be listed, and holds anything.
    #[cold]
    fn is_listed(&self, path: &BStr) -> bool {
        let Ok(fd) = self.open(None, path) else {
            return false;
        };
        let mut listing = Listing::new();
        listing.read(fd.as_fd()).is_ok() && !listing.is_empty()
    }

    /// Adds a directory that cannot be listed to `unlisted`, unless the system's own search begins below it.
    fn add_unlisted(&self, path: &BStr, reason: Errno, unlisted: &mut Vec<Unseen>) {
        if !self.scan.system.looks_up_listed_names() || !self.begins_below(path) {
            unlisted.push(Unseen::of(path, reason));
        }
    }

    /// Opens the directory at `path`, and has it watched and remembered as a witness. `None` if that is not possible.
    fn enter(
        &self,
        parent: Option<BorrowedFd<'_>>,
        path: &BStr,
        found: &mut NonTrackedFindings,
    ) -> Option<OpenDir<'_>> {
        let fd = match self.open(parent, path) {
            Ok(fd) => self.keep(DirFd::Own(fd)),
            Err(error) => {
                if !is_gone(error) {
                    self.add_unlisted(path, error, &mut found.unlisted);
                }
                match error {
                    // An event tells when it may be opened.
                    Errno::ACCESS => found.can_be_remembered = false,
                    _ => found.must_be_looked_at_again(),
                }
                return None;
            }
        };
        if let Some(watch) = self.scan.watch
            && !watch.watch(path, fd.fd())
        {
            found.changes_silently = true;
        }
        self.witness_dir(fd.fd(), path, found);
        Some(fd)
    }

    /// Notes what the findings rest on by the rules in the directory at `path`.
    fn note_rules_file(&self, path: &BStr, file: RulesFile, found: &mut NonTrackedFindings) {
        match file {
            RulesFile::Absent => {}
            RulesFile::Seen(stamp) => {
                let name = self.scan.system.rules_file_name().to_bytes();
                let file = vigil_model::path::join(path, name.as_bstr());
                self.witness(file.as_bstr(), stamp, found);
            }
            RulesFile::Young => found.can_be_remembered = false,
            RulesFile::Unproven => {
                found.can_be_remembered = false;
                found.has_unproven_rules = true;
            }
        }
    }

    /// Reads the directory at `path` and classifies each entry. If `only_classifies`, nothing is added to `found`, and reading
    /// stops at the first entry that decides.
    fn read_dir(
        &self,
        parent: Option<BorrowedFd<'_>>,
        path: &mut BString,
        ignoring: &Ignoring,
        only_classifies: bool,
        found: &mut NonTrackedFindings,
    ) -> Kind {
        let Some(fd) = self.enter(parent, path.as_bstr(), found) else {
            return Kind::Nothing;
        };
        let mut listing = Listing::new();
        if let Err(error) = listing.read(fd.fd()) {
            found.unlisted.push(Unseen::of(path.as_bstr(), error));
            found.must_be_looked_at_again();
        }
        let (rules, rules_file) = self.rules_in(
            None,
            fd.fd(),
            path.as_bstr(),
            &listing,
            ignoring,
            &mut found.warnings,
        );
        let ignoring = ignoring.with_rules(rules);
        self.note_rules_file(path.as_bstr(), rules_file, found);
        // However deep the tree is, the number of open directories above is bounded.
        let kept = self.may_keep_open().then_some(fd);
        let parent = kept.as_ref().map(OpenDir::fd);
        path.push(b'/');
        let len = path.len();
        let mut greatest = Kind::Nothing;
        for entry in listing.entries() {
            path.truncate(len);
            path.extend_from_slice(entry.name.to_bytes());
            if self.is_metadata(path.as_bstr(), entry.kind) {
                // A directory with such an entry may become a repository without a change to itself.
                found.may_be_nested(path.get(..len.saturating_sub(1)).unwrap_or_default().into());
            }
            greatest = greatest.max(self.classify(
                entry.kind,
                parent,
                path,
                &ignoring,
                only_classifies,
                found,
            ));
            if only_classifies && greatest == Kind::Untracked {
                break;
            }
        }
        path.truncate(len.saturating_sub(1));
        greatest
    }

    /// Reports the pathspecs' common directory as unlisted if it is missing. git jumps straight to it from the first
    /// directory on the way that it may enter.
    pub(super) fn note_gap(&self, dir: &BStr, unlisted: &mut Vec<Unseen>) {
        let Some(common) = self.scan.filter.map(|filter| filter.common_directory()) else {
            return;
        };
        let Some(rest) = common
            .strip_prefix(dir.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"/"))
        else {
            return;
        };
        let next = rest.find_byte(b'/').unwrap_or(rest.len());
        let end = common.len().saturating_sub(rest.len()).saturating_add(next);
        let at = |len: usize| {
            let path = common.get(..len).unwrap_or_default();
            self.scan.work_tree.join(OsStr::from_bytes(path))
        };
        if lstat_path(&at(end)).is_ok_and(|stat| stat.is_dir() || stat.is_symlink()) {
            return;
        }
        if let Err(error) = stat_path(&at(common.len()).join(".")) {
            unlisted.push(Unseen::of(common, error));
        }
    }

    fn witness_dir(&self, dir: BorrowedFd<'_>, path: &BStr, found: &mut NonTrackedFindings) {
        if !found.can_be_remembered {
            return;
        }
        match stat_fd(dir)
            .ok()
            .and_then(|stat| self.survey.trusted(&stat, dir))
        {
            Some(stamp) => self.witness(path, stamp, found),
            None => found.can_be_remembered = false,
        }
    }

    fn witness(&self, path: &BStr, stamp: Stamp, found: &mut NonTrackedFindings) {
        if found.can_be_remembered {
            let path = path.get(found.base_len..).unwrap_or_default().into();
            found.witnesses.push(Witness { path, stamp });
        }
    }

    fn is_of_no_interest(&self, path: &BStr, is_excluded: bool) -> bool {
        (is_excluded && self.scan.ignored == IgnoredMode::No)
            || self
                .scan
                .filter
                .is_some_and(|filter| !filter.may_match_below(path))
    }

    fn add(&self, found: &mut NonTrackedFindings, path: BString, kind: Kind) {
        match kind {
            Kind::Untracked => found.untracked.push(path),
            Kind::Ignored if self.scan.ignored != IgnoredMode::No => found.ignored.push(path),
            Kind::Ignored | Kind::Nothing => {}
        }
    }

    /// Whether the entry at `path`, of this kind, is the system's own, and never reported.
    pub(super) fn is_metadata(&self, path: &BStr, kind: EntryKind) -> bool {
        self.scan.system.is_metadata(path, kind)
    }

    /// Returns the rules in force in the directory `path`, and the file there that they come from.
    pub(super) fn rules_in(
        &self,
        tracked: Option<&Directory<'_>>,
        dir: BorrowedFd<'_>,
        path: &BStr,
        listing: &Listing,
        above: &Ignoring,
        warnings: &mut Vec<RulesWarning>,
    ) -> (Arc<dyn IgnoreScope>, RulesFile) {
        // Everything below an excluded directory is excluded, whatever rules it holds.
        if above.is_excluded {
            return (above.rules.clone(), RulesFile::Absent);
        }
        let directory = ListedDirectory {
            tracked,
            dir,
            path,
            listing,
            asks_for_rules: &|| self.asks_for_rules(tracked, path, listing),
            scan_started_at: self.survey.began_at(),
        };
        let system = self.scan.system;
        system.rules_in(&directory, &above.rules, warnings)
    }

    /// Whether any entry of the directory `path` is looked up in ignore rules: otherwise they are not read.
    fn asks_for_rules(
        &self,
        tracked: Option<&Directory<'_>>,
        path: &BStr,
        listing: &Listing,
    ) -> bool {
        let is_tracked = |name: &[u8]| tracked.is_some_and(|directory| directory.has_file(name));
        listing.entries().any(|entry| {
            let name = entry.name.to_bytes();
            let path = vigil_model::path::join(path, name.as_bstr());
            !self.is_metadata(path.as_bstr(), entry.kind)
                && self
                    .scan
                    .filter
                    .is_none_or(|filter| filter.may_match_below(path.as_bstr()))
                && (entry.kind == EntryKind::Dir || !is_tracked(name))
        })
    }
}

/// Removes `name` from the names after the first `before`.
fn drop_name(names: &mut Vec<BString>, before: usize, name: &BString) {
    if let Some(at) = names
        .get(before..)
        .unwrap_or_default()
        .iter()
        .position(|known| known == name)
    {
        names.remove(before.saturating_add(at));
    }
}

fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}
