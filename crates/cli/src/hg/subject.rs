//! Looks at one repository: sorts the files that are asked for into the lists of a status.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::hg_large_files::LargeFilesQuestion;
use vigil_engine::hg_session::HgSession;
use vigil_engine::hg_status::kinds::Lists;
use vigil_engine::hg_status::{BadPath, HgRequest, HgStatus, IgnoreUse};
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::config::{Config, ProcessContext};
use vigil_hg::copies::{self, Tracer};
use vigil_hg::dirstate::Dirstate;
use vigil_hg::file_system;
use vigil_hg::large_files::{LargeFiles, STAND_INS, large_file};
use vigil_hg::line_endings::LineEndings;
use vigil_hg::node::Node;
use vigil_hg::patterns::{Matcher, Portion};
use vigil_hg::repository::Repository;
use vigil_hg::revision::{Revisions, Target};
use vigil_hg::sparse::{Sparse, SparseWarning};
use vigil_hg::subrepositories::Subrepositories;

use super::between::{self, Working};
use super::file_system::FileSystemQuestion;
use super::pair::Pair;
use super::paths::PathDisplay;
use super::settings::Settings;
use crate::reply::bytes;

/// Returns the warning about a parent of the working copy that is not in the changelog.
pub(super) fn unknown_parent(parent: &Node) -> BString {
    let hex = parent.short_hex();
    let message = "warning: ignoring unknown working parent ";
    bytes!(message, hex, "!\n").into()
}

/// Tells whether the base of the comparison has a file or directory of this path.
type IsKnown<'k> = dyn Fn(&BStr) -> Result<bool, Abort> + 'k;

/// A repository, and the question about it.
pub(super) struct Subject<'s> {
    pub(super) repository: &'s Repository,
    /// The part of the files that a narrow clone has.
    pub(super) narrow: Option<Arc<Portion>>,
    /// What is kept in memory about it.
    pub(super) session: RefCell<&'s mut HgSession>,
    pub(super) config: &'s Config,
    /// The values of `--config` on the command line.
    pub(super) options: &'s [BString],
    pub(super) process: &'s ProcessContext<'s>,
    pub(super) dirstate: &'s Dirstate,
    /// Whether it has a first parent, and that is in the changelog.
    pub(super) has_parent: bool,
    /// Its changesets, if the question names some.
    pub(super) revisions: Option<&'s Revisions<'s>>,
    /// The repositories that belong to its working copy.
    pub(super) subrepositories: &'s Subrepositories,
    /// Which files are asked for, within the narrow part.
    pub(super) matcher: Arc<Matcher>,
    pub(super) clean: bool,
    pub(super) unknown: bool,
    pub(super) ignored: bool,
    /// Whether Mercurial overlooks all differences between manifests here, and what is the same in them.
    pub(super) overlooks_manifests: bool,
    /// How files of the working copy are converted before they are compared.
    pub(super) line_endings: Option<&'s LineEndings>,
    /// The large files, if they take the place of their stand-ins.
    pub(super) large_files: Option<&'s LargeFiles>,
    /// Whether copies are given the names of large files.
    pub(super) copies_name_large_files: bool,
    /// How much is said.
    pub(super) settings: &'s Settings,
}

impl Subject<'_> {
    /// Returns the files of each kind, and adds to `warnings`.
    pub(super) fn lists(&self, pair: Pair, warnings: &mut Vec<u8>) -> Result<Lists, Abort> {
        let ([from, to], Some(revisions)) = (match pair {
            Pair::Targets(targets) => (targets, self.revisions),
            Pair::WorkingCopy => {
                let mut status = self.status(None, warnings)?;
                if let Some(question) = self.large_files_question() {
                    question.put_into(&mut status)?;
                    let has_modified = !status.lists.modified.is_empty();
                    if has_modified && !file_system::keeps_modes(self.repository) {
                        let said = "large files where Mercurial may not find out whether executable bits are kept";
                        return Err(Abort::unsupported(said));
                    }
                }
                return Ok(status.lists);
            }
        }) else {
            return Err(Abort::plain("changesets are compared that are not known"));
        };
        let reverses = from == Target::WorkingCopy && to != Target::WorkingCopy;
        let (from, to) = if reverses { (to, from) } else { (from, to) };
        if reverses && from == revisions.parent() {
            return Ok(reversed(self.status(None, warnings)?.lists));
        }
        let [base, other] = revisions.manifest_pair([from, to])?;
        let status = match to {
            Target::WorkingCopy => {
                let is_known = |path: &BStr| {
                    if from == Target::WorkingCopy {
                        self.compare_all()?;
                    }
                    Ok(base.get(path).is_some() || base.has_directory(path))
                };
                self.status(Some(&is_known), warnings)?
            }
            _ => HgStatus::default(),
        };
        if self.overlooks_manifests {
            let found = status.lists;
            return Ok(Lists {
                deleted: found.deleted,
                unknown: found.unknown,
                ignored: found.ignored,
                ..Lists::default()
            });
        }
        let store = self.repository.store();
        let working = Working {
            root: &self.repository.root,
            store: &store,
            lists: &status.lists,
            line_endings: self.line_endings,
        };
        let mut lists = between::compare(&between::Sides {
            base: &base,
            base_is_working_copy: from == Target::WorkingCopy,
            other: &other,
            other_is_working_copy: to == Target::WorkingCopy,
            working: &working,
            matcher: &self.matcher,
            clean: self.clean,
        })?;
        if let Some(question) = self.large_files_question()
            && question.concerns_any()?
        {
            // Mercurial leaves the order as it is.
            for path in lists.values_mut().flatten() {
                if let Some(large_file) = large_file(path.as_ref()) {
                    *path = large_file.to_owned();
                }
            }
        }
        Ok(match reverses {
            true => reversed(lists),
            false => lists,
        })
    }

    fn large_files_question(&self) -> Option<LargeFilesQuestion<'_>> {
        Some(LargeFilesQuestion {
            repository: self.repository,
            dirstate: self.dirstate,
            large_files: self.large_files?,
            matcher: &self.matcher,
            clean: self.clean,
        })
    }

    /// Returns the source of each file that is a copy.
    pub(super) fn copies(&self, pair: Pair) -> Result<BTreeMap<BString, BString>, Abort> {
        let copies = self.committed_copies(pair)?;
        if !self.copies_name_large_files {
            return Ok(copies);
        }
        let shown = |path: BString| match large_file(path.as_ref()) {
            Some(large_file) => large_file.to_owned(),
            None => path,
        };
        Ok(copies
            .into_iter()
            .map(|(path, source)| (shown(path), shown(source)))
            .collect())
    }

    /// Returns the same as [`Self::copies`], with stand-ins in place of large files.
    fn committed_copies(&self, pair: Pair) -> Result<BTreeMap<BString, BString>, Abort> {
        let is_match = |path: &BStr| self.matcher.is_match(path);
        match (pair, self.revisions) {
            (Pair::Targets([from, to]), Some(revisions)) => {
                let store = self.repository.store();
                if self.copies_name_large_files {
                    let has_some = |target| -> Result<bool, Abort> {
                        Ok(revisions.manifest(target)?.has_directory(STAND_INS.into()))
                    };
                    if has_some(from)? || has_some(to)? {
                        return Err(Abort::unsupported("copies of large files"));
                    }
                }
                // If changesets record copies, copies are not looked up in file revisions.
                let is_by_file = !store.copies_by_changeset();
                let traces_all = self.config.has("devel", "copy-tracing.trace-all-files");
                let read_from = self.config.get("experimental", "copies.read-from");
                let unsupported = match read_from.unwrap_or_default().as_bytes() {
                    b"changeset-only" | b"compatibility" => "experimental.copies.read-from",
                    _ if traces_all => "devel.copy-tracing.trace-all-files",
                    _ => "",
                };
                if is_by_file && !unsupported.is_empty() {
                    return Err(Abort::unsupported(bytes!("the setting ", unsupported)));
                }
                let narrow = self.narrow.clone();
                let mut tracer = Tracer::new(store, revisions, self.dirstate, narrow);
                if self.config.get("experimental", "copytrace") == Some("off".into()) {
                    tracer.look_only_forwards();
                }
                tracer.between(from, to, &is_match)
            }
            _ if !self.has_parent => Ok(BTreeMap::new()),
            _ => Ok(copies::recorded(self.dirstate, &is_match)),
        }
    }

    /// Compares all recorded files, whatever is asked for: Mercurial does so when it needs to know whether the working copy has a
    /// directory.
    ///
    /// # Errors
    /// A file cannot be compared.
    fn compare_all(&self) -> Result<(), Abort> {
        let mut session = self.session.borrow_mut();
        let sparse = session.sparse(self.repository)?.portion.clone()?;
        let matcher = Matcher::default().within_narrow(self.narrow.clone());
        let status = session.status(&HgRequest {
            repository: self.repository,
            ignore: Arc::default(),
            matcher: Arc::new(matcher.within_sparse(sparse)),
            clean: false,
            unknown: false,
            ignored: false,
        })?;
        status.failure.map_or(Ok(()), Err)
    }

    /// Looks at the working copy. A path that cannot be looked at causes no warning if `is_known` holds for it.
    fn status(
        &self,
        is_known: Option<&IsKnown<'_>>,
        warnings: &mut Vec<u8>,
    ) -> Result<HgStatus, Abort> {
        let repository = self.repository;
        let mut session = self.session.borrow_mut();
        // Mercurial finds out only when it needs the patterns that they cannot be read.
        let (files, unread) = match self.ignore_files(&session) {
            Ok(files) => (files, None),
            Err(abort) if abort.kind == Kind::Unsupported => return Err(abort),
            Err(abort) => (Vec::new(), Some(abort)),
        };
        let read = session.ignore(&files);
        let (ignore, failure) = match (unread, &read.ignore) {
            (None, Ok(ignore)) => (ignore.clone(), None),
            (None, Err(abort)) => (Arc::default(), Some(abort.clone())),
            (Some(abort), _) => (Arc::default(), Some(abort)),
        };
        let sparse = session.sparse(repository)?;
        let sparse_warnings = self.sparse_warnings(&sparse)?;
        let matcher = match &sparse.portion {
            Ok(None) => self.matcher.clone(),
            Ok(portion) => {
                let matcher = Matcher::clone(&self.matcher);
                Arc::new(matcher.within_sparse(portion.clone()))
            }
            Err(abort) => {
                // If ignore patterns are read before the walk, their errors come first.
                let reads_patterns = self.unknown && !self.ignored;
                if reads_patterns {
                    add_lines(warnings, &read.warnings);
                }
                let failure = failure.filter(|_| reads_patterns);
                if failure.is_none() {
                    add_lines(warnings, &sparse_warnings);
                }
                return Err(failure.unwrap_or_else(|| abort.clone()));
            }
        };
        let mut status = session.status(&HgRequest {
            repository,
            ignore,
            matcher,
            clean: self.clean,
            unknown: self.unknown,
            ignored: self.ignored,
        })?;
        self.leave_out_subrepositories(&mut status);
        let walk_abort = status.bad.iter().find_map(|bad| bad.abort.clone());
        status.bad.retain(|bad| bad.abort.is_none());
        if let Some(question) = self.large_files_question()
            && is_known.is_none()
        {
            question.leave_out_named(&mut status)?;
        }
        drop(session);
        let all = self.unknown_bad_paths(&status.bad, is_known)?;
        // Warnings about sparse profiles come before those about files.
        let mut bad = self.bad_path_messages(&all, is_known.is_some())?;
        bad.splice(0..0, sparse_warnings);
        match status.ignore_use {
            None => add_lines(warnings, &bad),
            Some(IgnoreUse::AfterTheWalk) => {
                add_lines(warnings, &bad);
                walk_abort.clone().map_or(Ok(()), Err)?;
                add_lines(warnings, &read.warnings);
                failure.map_or(Ok(()), Err)?;
            }
            Some(IgnoreUse::BeforeTheWalk) => {
                add_lines(warnings, &read.warnings);
                failure.map_or(Ok(()), Err)?;
                add_lines(warnings, &bad);
            }
        }
        let others = status.ignore_failure.take().or(status.failure.take());
        walk_abort.or(others).map_or(Ok(()), Err)?;
        let question = FileSystemQuestion {
            repository,
            dirstate: self.dirstate,
            matcher: &self.matcher,
            compares_others: is_known.is_some(),
        };
        question.check(&status.lists)?;
        Ok(status)
    }

    /// Returns those of the paths `bad` for which `is_known` does not hold: first the named ones, then those that the walk met.
    fn unknown_bad_paths<'b>(
        &self,
        bad: &'b [BadPath],
        is_known: Option<&IsKnown<'_>>,
    ) -> Result<Vec<&'b BadPath>, Abort> {
        let (met, named): (Vec<&BadPath>, Vec<&BadPath>) = bad.iter().partition(|bad| bad.was_met);
        let mut all: Vec<&BadPath> = Vec::new();
        let paths = PathDisplay::new(&self.repository.root, &self.process.cwd, true);
        for bad in named.into_iter().chain(met) {
            match is_known {
                Some(is_known) if is_known(&passed_on(bad, &paths))? => {}
                _ => all.push(bad),
            }
        }
        Ok(all)
    }

    /// The files with ignore patterns, if `session` needs them for the answer.
    ///
    /// # Errors
    /// They cannot be found out.
    fn ignore_files(&self, session: &HgSession) -> Result<Vec<PathBuf>, Abort> {
        let looks_for_others = self.unknown || self.ignored;
        // Paths that are asked for by name are looked up in the ignore patterns.
        let names = !self.matcher.named().is_empty();
        if !looks_for_others && !names && !session.keeps_all() {
            return Ok(Vec::new());
        }
        let files = self.repository.ignore_files(self.config, self.process);
        files.map_err(|abort| match looks_for_others {
            true => abort,
            // Mercurial needs them only for some of these paths.
            false => Abort::unsupported("ignore files that cannot be looked at"),
        })
    }

    /// Removes paths in subrepositories that are not recorded or could not be looked at: a subrepository may be missing, or
    /// belong to another version control system.
    fn leave_out_subrepositories(&self, status: &mut HgStatus) {
        if self.subrepositories.is_empty() {
            return;
        }
        let is_own = |path: &BString| {
            let path = path.as_bstr();
            !self.subrepositories.has(path) && !self.subrepositories.contains(path)
        };
        status.lists.unknown.retain(is_own);
        status.lists.ignored.retain(is_own);
        status.bad.retain(|bad| is_own(&bad.path));
    }

    /// Returns the warnings about the sparse configuration and its profiles.
    fn sparse_warnings(&self, sparse: &Sparse) -> Result<Vec<BString>, Abort> {
        let is_said = |warning: &SparseWarning| match warning {
            SparseWarning::Line(_) => Ok(true),
            SparseWarning::Missing(_) => self.config.boolean("sparse", "missingwarning", true),
        };
        let mut lines = Vec::new();
        for warning in &sparse.warnings {
            if is_said(warning)? {
                let (SparseWarning::Line(line) | SparseWarning::Missing(line)) = warning;
                lines.push(line.clone());
            }
        }
        Ok(lines)
    }

    /// Returns the warnings about paths that could not be looked at.
    fn bad_path_messages(
        &self,
        bad: &[&BadPath],
        is_always_relative: bool,
    ) -> Result<Vec<BString>, Abort> {
        let is_relative = match self.config.get("ui", "relative-paths") {
            _ if is_always_relative => true,
            None => true,
            Some(value) if value == "legacy" => true,
            Some(_) => self.config.boolean("ui", "relative-paths", true)?,
        };
        let paths = PathDisplay::new(&self.repository.root, &self.process.cwd, is_relative);
        let line = |bad: &&BadPath| {
            let path = passed_on(bad, &paths);
            let shown = paths.path(&path);
            BString::from(bytes!(shown.as_bstr(), ": ", bad.reason))
        };
        Ok(bad.iter().map(line).collect())
    }
}

/// Returns the path that Mercurial takes for that of `bad`. If its walk met that, it makes the path relative to the current
/// directory twice, the first time before anything else.
fn passed_on<'b>(bad: &'b BadPath, paths: &PathDisplay) -> Cow<'b, BStr> {
    match bad.was_met {
        true => paths.relative(bad.path.as_bstr()),
        false => Cow::Borrowed(bad.path.as_bstr()),
    }
}

/// Turns the lists into those of the opposite question. The kinds that only a working copy has become empty.
fn reversed(lists: Lists) -> Lists {
    Lists {
        modified: lists.modified,
        added: lists.removed,
        removed: lists.added,
        clean: lists.clean,
        ..Lists::default()
    }
}

/// Adds lines to `warnings`.
pub(super) fn add_lines(warnings: &mut Vec<u8>, lines: &[BString]) {
    for line in lines {
        warnings.extend_from_slice(line.as_bytes());
        warnings.push(b'\n');
    }
}
