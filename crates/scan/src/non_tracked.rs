//! What a directory holds besides its tracked files: untracked and ignored paths, and the subdirectories to walk.

use std::cmp::Ordering;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::Errno;
use vigil_linux::dir::{EntryKind, Listing};
use vigil_linux::stat::{Stat, stat_at, stat_fd};
use vigil_model::tracked::DirNumber;

use super::cache::{DirMemory, Listed, NonTracked};
use super::entries::is_nested_on_any_side;
use super::ignoring::Ignoring;
use super::open::OpenDir;
use super::pool::Local;
use super::position::CurrentDir;
use super::system::{IgnoreScope, RulesFile};
use super::untracked::NonTrackedFindings;
use super::walk::{Task, Walk, Worker};
use super::watch::Nested;
use rustix::fs::{Mode, OFlags, openat};
use vigil_model::request::IgnoredMode;
use vigil_stamp::Stamp;

impl Walk<'_> {
    /// Finds what the directory `here` holds besides its tracked files, from memory if that is still valid, and
    /// sends the walk into its subdirectories.
    pub(super) fn visit_non_tracked<'s>(
        &'s self,
        here: &mut CurrentDir<'_>,
        dir: &Arc<OpenDir<'s>>,
        above: &Ignoring,
        memory: Option<&mut DirMemory>,
        worker: &mut Worker,
        local: &mut Local<Task<'s>>,
    ) {
        let Some(stat) = self.stat_to_list(here, dir.fd(), above, worker) else {
            self.note_silent_folder(here.path, worker);
            self.push_subdirs(here, dir, above, &[], local);
            return;
        };
        let here = &*here;
        let mut memory = memory.filter(|_| self.survey.trusts_device(stat.dev, dir.fd()));
        let question = self.scan.question();
        let known = memory.as_deref_mut();
        let known = known.and_then(|memory| memory.listed(question));
        let known = known.filter(|listed| listed.is_of(&Stamp::from(&stat), above));
        if let Some(known) = known
            && self.visit_as_known(here, dir, above, known, worker, local)
        {
            return;
        }
        // With a watch, the directories that the answer rests on must be visited, so this shortcut cannot be
        // taken.
        if self.scan.watch.is_none()
            && self.scan.ignored == IgnoredMode::No
            && (self.scan.system).holds_only_recorded(dir.fd(), here.path, &stat)
        {
            self.push_subdirs(here, dir, above, &excluded_subdirs(here, above), local);
            return;
        }
        let found = self.list_non_tracked(here, dir, above, memory.is_some(), worker, local);
        if let Some(memory) = memory {
            let listed = found.and_then(|(rules, non_tracked)| {
                let stamp = self.survey.trusted(&stat, dir.fd())?;
                let (rules_above, is_excluded) = (&above.rules, above.is_excluded);
                Some(Listed::new(
                    stamp,
                    rules_above,
                    is_excluded,
                    &rules,
                    non_tracked,
                ))
            });
            memory.remember(question, listed);
        }
    }

    /// Takes what the directory `here` holds from the listing that is `known` of it. Returns false if that no longer holds.
    fn visit_as_known<'s>(
        &'s self,
        here: &CurrentDir<'_>,
        dir: &Arc<OpenDir<'s>>,
        above: &Ignoring,
        known: &mut Listed,
        worker: &mut Worker,
        local: &mut Local<Task<'s>>,
    ) -> bool {
        let non_tracked = known.non_tracked();
        // Watched first, so that no change after the look is missed.
        self.watch_witnesses(non_tracked, here.path, dir.fd(), worker);
        if !self.is_listing_valid(non_tracked, dir.fd()) {
            return false;
        }
        let rules = known.rules(&above.rules, self.scan.system, here.path);
        let ignoring = above.with_rules(rules);
        let non_tracked = known.non_tracked();
        self.push_subdirs(here, dir, &ignoring, &non_tracked.excluded_subdirs, local);
        self.report_non_tracked(non_tracked, here.path, worker);
        true
    }

    /// Lists the directory `here`. If what was found `is_remembered` and may be used again, returns that and the rules that hold
    /// there.
    fn list_non_tracked<'s>(
        &'s self,
        here: &CurrentDir<'_>,
        dir: &Arc<OpenDir<'s>>,
        above: &Ignoring,
        is_remembered: bool,
        worker: &mut Worker,
        local: &mut Local<Task<'s>>,
    ) -> Option<(Arc<dyn IgnoreScope>, NonTracked)> {
        let path = here.path;
        let mut found = NonTrackedFindings::new(is_remembered);
        let mut listing = worker.take_listing();
        if let Err(error) = listing.read(dir.fd()) {
            self.note_unlisted(path, error, worker);
            found.must_be_looked_at_again();
        }
        let (rules, rules_file) = self.rules_in(
            Some(&here.directory),
            dir.fd(),
            path,
            &listing,
            above,
            &mut worker.findings.warnings,
        );
        let ignoring = above.with_rules(rules);
        let excluded_subdirs =
            self.visit_listing(here, dir, &listing, &ignoring, &mut found, local);
        worker.give_back(listing);
        if !above.rules.is_true_to_digest() || !ignoring.rules.is_true_to_digest() {
            found.must_be_looked_at_again();
            found.has_unproven_rules = true;
            for rules in [&above.rules, &ignoring.rules] {
                found.warnings.append(&mut rules.take_warnings(path));
            }
        }
        self.push_subdirs(here, dir, &ignoring, &excluded_subdirs, local);
        worker.findings.warnings.append(&mut found.warnings);
        worker.findings.unlisted.append(&mut found.unlisted);
        worker.hidden.append(&mut found.hidden);
        if self.scan.watch.is_some() {
            if found.changes_silently {
                worker.findings.silent_paths.folders.push(path.to_owned());
            }
            let nested = found.nested.drain(..).map(|nested| Nested {
                path: nested,
                tracked_folder: path.to_owned(),
            });
            worker.findings.silent_paths.nested.extend(nested);
            if rules_file == RulesFile::Unproven || found.has_unproven_rules {
                worker.findings.silent_paths.trees.push(path.to_owned());
            }
        }
        let non_tracked = NonTracked {
            untracked: names_in(path, found.untracked),
            ignored: names_in(path, found.ignored),
            excluded_subdirs,
            witnesses: found.witnesses,
            rules_file: match rules_file {
                RulesFile::Seen(stamp) => Some(stamp),
                RulesFile::Absent | RulesFile::Young | RulesFile::Unproven => None,
            },
        };
        self.report_non_tracked(&non_tracked, path, worker);
        let is_proven = matches!(rules_file, RulesFile::Absent | RulesFile::Seen(_));
        let may_be_used_again = found.can_be_remembered && is_proven;
        may_be_used_again.then_some((ignoring.rules, non_tracked))
    }

    /// Returns the stat data of the directory `here`, which is open as `dir`. If it cannot be listed and searched, notes that and
    /// returns `None`.
    fn stat_to_list(
        &self,
        here: &mut CurrentDir<'_>,
        dir: BorrowedFd<'_>,
        above: &Ignoring,
        worker: &mut Worker,
    ) -> Option<Stat> {
        match stat_fd(dir) {
            Ok(stat) if !self.cannot_be_searched(dir, &stat) => return Some(stat),
            Ok(_) => {
                if !here.is_below_unlisted && !self.begins_below(here.path) {
                    self.note_given_up(here.path, Errno::ACCESS, above.is_excluded, worker);
                    here.is_below_unlisted = true;
                }
            }
            Err(error) => self.note_unlisted(here.path, error, worker),
        }
        None
    }

    /// Notes that changes in the directory at `path` cause no event.
    fn note_silent_folder(&self, path: &BStr, worker: &mut Worker) {
        if self.scan.watch.is_some() {
            worker.findings.silent_paths.folders.push(path.to_owned());
        }
    }

    /// Whether the directory, whose stat data is `stat`, may be listed but not searched, and holds anything, if the system minds.
    fn cannot_be_searched(&self, dir: BorrowedFd<'_>, stat: &Stat) -> bool {
        // It was opened for reading. So it may be searched, too, if all who may read it may do so, and no look is needed.
        let readers = stat.mode >> 2 & 0o111;
        if readers & !stat.mode == 0 || !self.scan.system.looks_up_listed_names() {
            return false;
        }
        let mut listing = Listing::new();
        stat_at(dir, c".") == Err(Errno::ACCESS) && listing.read(dir).is_ok() && !listing.is_empty()
    }

    /// Watches the directories that the remembered listing of the directory at `path` rests on.
    fn watch_witnesses(
        &self,
        non_tracked: &NonTracked,
        path: &BStr,
        dir: BorrowedFd<'_>,
        worker: &mut Worker,
    ) {
        let Some(watch) = self.scan.watch else {
            return;
        };
        for witness in &non_tracked.witnesses {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let name = witness.path.as_bytes();
            // A witness that is not a directory lies in one that is.
            let Ok(folder) = openat(dir, name, flags, Mode::empty()) else {
                continue;
            };
            let below = vigil_model::path::join(path, witness.path.as_bstr());
            if !watch.watch(below.as_bstr(), folder.as_fd()) {
                self.note_silent_folder(path, worker);
            }
        }
    }

    /// Whether everything that the remembered listing rests on is unchanged.
    fn is_listing_valid(&self, non_tracked: &NonTracked, dir: BorrowedFd<'_>) -> bool {
        let file_holds = non_tracked.rules_file.is_none_or(|stamp| {
            stat_at(dir, self.scan.system.rules_file_name())
                .is_ok_and(|stat| Stamp::from(&stat) == stamp)
        });
        file_holds
            && non_tracked.witnesses.iter().all(|witness| {
                rustix::fs::statat(
                    dir,
                    witness.path.as_bytes(),
                    rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
                )
                .is_ok_and(|stat| Stamp::from(&Stat::from(stat)) == witness.stamp)
            })
    }

    fn report_non_tracked(&self, non_tracked: &NonTracked, dir_path: &BStr, worker: &mut Worker) {
        self.count_untracked(non_tracked.untracked.len());
        let path = |name: &BString| vigil_model::path::join(dir_path, name.as_bstr());
        let findings = &mut worker.findings;
        findings
            .untracked
            .extend(non_tracked.untracked.iter().map(path));
        findings
            .ignored
            .extend(non_tracked.ignored.iter().map(path));
    }

    /// Visits each entry in the listing of the directory `here` that is not a tracked file. Returns the subdirectories
    /// with tracked files that an ignore rule matches.
    fn visit_listing<'s>(
        &'s self,
        here: &CurrentDir<'_>,
        dir: &Arc<OpenDir<'s>>,
        listing: &Listing,
        ignoring: &Ignoring,
        found: &mut NonTrackedFindings,
        local: &mut Local<Task<'s>>,
    ) -> Vec<DirNumber> {
        let mut excluded_subdirs = Vec::new();
        let mut files = here.directory.files_from(0).peekable();
        let mut subdirs = here.directory.subdirs().peekable();
        let mut path = BString::from(here.path);
        if !path.is_empty() {
            path.push(b'/');
        }
        let name_start = path.len();
        for entry in listing.entries() {
            let name = entry.name.to_bytes();
            let tracked = loop {
                match files.peek() {
                    Some((at, file)) => match (**file.name()).cmp(name) {
                        Ordering::Less => files.next(),
                        Ordering::Equal => break Some((*at, *file)),
                        Ordering::Greater => break None,
                    },
                    None => break None,
                };
            };
            let is_dir = entry.kind == EntryKind::Dir;
            if let Some((at, file)) = &tracked
                && (!is_dir || is_nested_on_any_side(&here.directory, *at, file))
            {
                if !is_dir {
                    continue;
                }
                let path = vigil_model::path::join(here.path, file.name());
                let names = self.folded.as_ref();
                // When case is ignored, git looks for directories first.
                if !names.is_some_and(|names| names.has_dir(path.as_bstr())) {
                    let mut later_subdirs = subdirs.clone();
                    if later_subdirs.any(|sub| sub.name() == name) {
                        found.hide(vigil_model::path::join(path.as_bstr(), BStr::new("")));
                    }
                    continue;
                }
            }
            let subdir = loop {
                match subdirs.peek() {
                    Some(sub) => match (**sub.name()).cmp(name) {
                        Ordering::Less => subdirs.next(),
                        Ordering::Equal => break Some(sub.number),
                        Ordering::Greater => break None,
                    },
                    None => break None,
                };
            };
            path.truncate(name_start);
            path.extend_from_slice(name);
            match subdir {
                Some(sub) if is_dir => {
                    if !ignoring.is_excluded && ignoring.rules.is_ignored(path.as_bstr(), true) {
                        excluded_subdirs.push(sub);
                    }
                }
                _ => {
                    let before = found.counts();
                    self.visit_entry(entry.kind, dir, &mut path, ignoring, found, local);
                    if tracked.is_some() {
                        found.take_back_directory(path.as_bstr(), before);
                    }
                }
            }
        }
        excluded_subdirs
    }
}

/// Returns the subdirectories with tracked files of the directory `here` that the rules from above ignore.
fn excluded_subdirs(here: &CurrentDir<'_>, above: &Ignoring) -> Vec<DirNumber> {
    let is_excluded = |name: &BStr| {
        let path = vigil_model::path::join(here.path, name);
        !above.is_excluded && above.rules.is_ignored(path.as_bstr(), true)
    };
    let subdirs = here.directory.subdirs();
    let excluded = subdirs.filter(|sub| is_excluded(sub.name()));
    excluded.map(|sub| sub.number).collect()
}

/// Returns `paths`, which are in the directory `dir`, without the path of that.
fn names_in(dir: &BStr, paths: Vec<BString>) -> Vec<BString> {
    let start = match dir.len() {
        0 => 0,
        len => len.saturating_add(1),
    };
    let name = |path: BString| path.get(start..).unwrap_or_default().into();
    paths.into_iter().map(name).collect()
}
