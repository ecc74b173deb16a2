//! The status of a Mercurial working copy: what differs from its first parent.

mod builder;
pub mod kinds;
mod other_repositories;
mod walk;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::abort::Abort;
use vigil_hg::dirstate::Dirstate;
use vigil_hg::line_endings::LineEndings;
use vigil_hg::patterns::{Ignore, Matcher, outside_of_reach};
use vigil_hg::repository::Repository;
use vigil_hg::stored::Store;
use vigil_linux::errno;
use vigil_linux::stat::lstat_path;
use vigil_model::path_set::PathSet;
use vigil_model::raw_text::message_bytes;
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_model::tracked::Tracked;
use vigil_scan::{
    DirMatch, Findings, Focus, PathFilter, Scan, ScanError, ScanMemory, Unseen, Watch,
};

use self::builder::{StatusBuilder, UnrecordedFiles};
use self::kinds::Lists;
use self::other_repositories::OtherRepositories;
use self::walk::Walk;
use crate::hg_system::{HgSystem, HgSystemInputs, Ignored};

/// A question about a working copy.
#[derive(Debug)]
pub struct HgRequest<'r> {
    /// The repository, as it is now.
    pub repository: &'r Repository,
    /// Its ignore patterns.
    pub ignore: Arc<Ignore>,
    /// Which paths are asked for.
    pub matcher: Arc<Matcher>,
    /// Whether clean files are asked for.
    pub clean: bool,
    /// Whether unknown files are asked for.
    pub unknown: bool,
    /// Whether ignored files are asked for.
    pub ignored: bool,
}

/// A question, and how it is answered.
#[derive(Debug)]
pub(crate) struct HgQuestion<'q> {
    /// What is asked.
    pub(crate) request: &'q HgRequest<'q>,
    /// The dirstate of the working copy.
    pub(crate) dirstate: &'q Dirstate,
    /// How files are converted before they are compared.
    pub(crate) line_endings: Option<Arc<LineEndings>>,
    /// Whether the first parent is not in the changelog.
    pub(crate) lacks_parent: bool,
    /// Whether the whole working copy is walked, even if only recorded files are asked for.
    pub(crate) walks: bool,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HgStatus {
    /// The paths of each kind, ordered by their bytes.
    pub lists: Lists,
    /// Paths that cannot be looked at, and why.
    pub bad: Vec<BadPath>,
    /// What is wrong with ignore patterns that hold only below some directory.
    pub ignore_failure: Option<Abort>,
    /// Why recorded files could not be looked at or compared with the first parent, if so: then the lists are wrong. Mercurial
    /// compares contents last, after all warnings.
    pub failure: Option<Abort>,
    /// When Mercurial would have read the ignore patterns; `None` if never. Only if it reads them does it report their errors.
    pub ignore_use: Option<IgnoreUse>,
}

impl HgStatus {
    /// Returns the answer if its lists are right.
    ///
    /// # Errors
    /// Files could not be looked at or compared.
    pub(crate) fn compared(self) -> Result<Self, Abort> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self),
        }
    }
}

/// When Mercurial reads the ignore patterns, and so reports their errors before or after those of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreUse {
    /// Before anything is looked at.
    BeforeTheWalk,
    /// After everything was looked at.
    AfterTheWalk,
}

/// A path that cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPath {
    /// The path, from the top.
    pub path: BString,
    /// Why, in words.
    pub reason: BString,
    /// Whether the walk met it; otherwise it was asked for by name.
    pub was_met: bool,
    /// How Mercurial ends here, if it does not only warn.
    pub abort: Option<Abort>,
}

/// The recorded files, as a scan takes them.
pub(crate) struct RecordedFiles<'r> {
    pub(crate) tracked: &'r Tracked,
    /// The numbers of files that are reported even if unchanged on disk.
    pub(crate) special: &'r [u32],
    /// Whether the findings are kept.
    pub(crate) is_remembered: bool,
    /// The directories of recorded files that are ignored, or below one that is; `None` if the scan comes to all of them.
    pub(crate) ignored_directories: Option<Arc<[BString]>>,
}

/// What a scan uses to look at less, and to watch what it looks at.
#[derive(Clone, Copy, Default)]
pub(crate) struct ScanInputs<'l> {
    pub(crate) focus: Option<&'l Focus>,
    pub(crate) memory: Option<&'l ScanMemory>,
    pub(crate) watch: Option<&'l dyn Watch>,
}

/// Answers a question from the findings that `find` returns: its own, or those of the scan that it is handed as a function.
pub(crate) fn status_of<'f>(
    question: &HgQuestion<'_>,
    recorded: &RecordedFiles<'_>,
    find: impl FnOnce(
        &HgSystem<'_>,
        &dyn Fn(ScanInputs<'_>) -> Result<Findings, ScanError>,
    ) -> Result<Cow<'f, Findings>, ScanError>,
) -> Result<HgStatus, Abort> {
    let request = question.request;
    let repository = request.repository;
    refuse_unreachable_paths(question)?;
    let is_only_named = is_only_named(question);
    let ignored = Arc::new(Ignored::new(
        request.ignore.clone(),
        request.matcher.clone(),
    ));
    let store = repository.store();
    let system = HgSystem::new(system_inputs(question, recorded, &store, &ignored));
    let is_filtered = !request.matcher.is_everything();
    let filter = Filter::new(&request.matcher, is_only_named);
    let filter = is_filtered.then_some(&filter);
    let look = |inputs: ScanInputs<'_>| scan(question, recorded.tracked, &system, filter, inputs);
    let findings = find(&system, &look).map_err(|error| scan_abort(&error, &repository.root))?;
    let walk = Walk::new(
        &repository.root,
        &ignored.patterns,
        &request.matcher,
        request.ignored,
    );
    let mut builder = StatusBuilder {
        system: &system,
        dirstate: question.dirstate,
        matcher: &request.matcher,
        is_filtered,
        walk: &walk,
        now: system.inputs.now,
        looks_through_links: !request.unknown,
        is_only_named,
        lists_clean: request.clean,
        status: HgStatus::default(),
    };
    let others = match request.unknown || request.ignored {
        true => OtherRepositories::of(&builder, ignored.directories()),
        false => OtherRepositories::default(),
    };
    let nested = &others.nested;
    // Unless unknown files are asked for, Mercurial looks for recorded files even in nested repositories.
    let gone_with = request.unknown.then_some(nested);
    builder.add_tracked(&findings, recorded.special, gone_with);
    if request.unknown {
        others.refuse_to_read(&builder);
    }
    // The walk comes before any comparison.
    builder.status.failure = unseen(&findings, &repository.root).or_else(|| system.failure());
    let named = unrecorded_names(question);
    read_subincludes(question, &findings, &named, &walk);
    let subincludes = ignored.patterns.take_subinclude_outcome();
    let below = subincludes.failed_below.as_bstr();
    let is_named_below = named.iter().any(|path| path.starts_with(below));
    let found = builder.add_unrecorded(findings, request.unknown, request.ignored, nested, below);
    builder.add_bad_names();
    // If ignored files, or only files by name, are asked for, Mercurial looks up only what it finds in the patterns, not the
    // directories on the way. It enters no other repository.
    let is_nested = nested.has_at_or_above(below.trim_end_with(|letter| letter == '/'));
    let is_walked = !request.ignored && !is_only_named && !is_nested && walk.may_come_to(below);
    let is_looked_up = is_walked || found == UnrecordedFiles::Below || is_named_below;
    builder.status.ignore_failure = subincludes.failure.filter(|_| is_looked_up);
    let found_others = found != UnrecordedFiles::Nothing;
    builder.status.ignore_use = ignore_use(request, found_others, !named.is_empty());
    Ok(builder.status)
}

/// What the scan for `question` goes by.
fn system_inputs<'a>(
    question: &HgQuestion<'a>,
    recorded: &RecordedFiles<'_>,
    store: &'a Store,
    ignored: &Arc<Ignored>,
) -> HgSystemInputs<'a> {
    HgSystemInputs {
        top: &question.request.repository.root,
        dirstate: question.dirstate,
        store,
        ignore: ignored.clone(),
        now: vigil_stamp::now(),
        audits: !question.request.unknown,
        is_remembered: recorded.is_remembered,
        ignored_directories: recorded.ignored_directories.clone(),
        line_endings: question.line_endings.clone(),
        lacks_parent: question.lacks_parent,
    }
}

/// When Mercurial reads the ignore patterns for `request`, where unrecorded files were found or asked for by name.
fn ignore_use(
    request: &HgRequest<'_>,
    found_others: bool,
    named_others: bool,
) -> Option<IgnoreUse> {
    match request.unknown && !request.ignored {
        true => Some(IgnoreUse::BeforeTheWalk),
        false if request.ignored && found_others || named_others => Some(IgnoreUse::AfterTheWalk),
        false => None,
    }
}

/// Why recorded files were not seen, if Mercurial would end: it takes a file for missing where it may not look, but not where
/// the system fails. A folder that could not be opened is named rather than the files in it.
fn unseen(findings: &Findings, top: &Path) -> Option<Abort> {
    let may_pass = |unseen: &&Unseen| !errno::is_lasting(unseen.reason);
    findings.unknown.iter().find(may_pass)?;
    let all = findings.unknown.iter().chain(&findings.unlisted);
    let first = all.filter(may_pass).min_by_key(|unseen| &unseen.path)?;
    let place = top.join(OsStr::from_bytes(&first.path));
    Some(Abort::io(&place, &first.reason.into()))
}

/// Scans the working copy, which has these `tracked` files.
fn scan(
    question: &HgQuestion<'_>,
    tracked: &Tracked,
    system: &HgSystem<'_>,
    filter: Option<&Filter<'_>>,
    inputs: ScanInputs<'_>,
) -> Result<Findings, ScanError> {
    system.scan(&Scan {
        work_tree: &question.request.repository.root,
        tracked_files: tracked,
        ignore_case: false,
        looks_at_present_skipped_files: false,
        lacks_sparse_directories: false,
        system,
        filter: filter.map(|filter| filter as &dyn PathFilter),
        focus: inputs.focus,
        tracked: true,
        untracked: match question.walks {
            true => UntrackedMode::All,
            false => UntrackedMode::No,
        },
        ignored: match question.request.ignored {
            true => IgnoredMode::Traditional,
            false => IgnoredMode::No,
        },
        stop_after_tracked: usize::MAX,
        stop_after_untracked: usize::MAX,
        threads_max: None,
        memory: inputs.memory,
        watch: inputs.watch,
        progress: None,
        timing: None,
    })
}

/// Reads the patterns that hold only below some directory, if Mercurial would read them: for the `findings`, for the files that
/// are `named` but not recorded, and for the directories where the `walk` begins.
fn read_subincludes(
    question: &HgQuestion<'_>,
    findings: &Findings,
    named: &[&BStr],
    walk: &Walk<'_>,
) {
    if question.request.ignore.is_whole() {
        return;
    }
    let found = findings.untracked.iter().chain(&findings.ignored);
    let found = found.filter(|_| question.request.ignored);
    let found = found.map(|path| path.as_bstr());
    // A walk for unknown files looks up the directories where it begins, unless ignored files are asked for, too.
    let begun_at = walk.begins_at().iter().copied();
    let begun_at = begun_at.filter(|_| question.request.unknown && !question.request.ignored);
    let looked_up = found.chain(named.iter().copied()).chain(begun_at);
    looked_up.for_each(|path| question.request.ignore.read_for(path));
}

fn scan_abort(error: &ScanError, top: &Path) -> Abort {
    match error {
        ScanError::Directory { path, source } => {
            Abort::io(&top.join(OsStr::from_bytes(path)), &(*source).into())
        }
        other => Abort::plain(message_bytes(&other)),
    }
}

/// The matcher, as a scan's filter of paths.
struct Filter<'m> {
    matcher: &'m Matcher,
    /// The paths that are asked for by name.
    named: PathSet<&'m BStr>,
    is_only_named: bool,
}

impl<'m> Filter<'m> {
    fn new(matcher: &'m Matcher, is_only_named: bool) -> Self {
        Self {
            matcher,
            named: PathSet::new(matcher.named()),
            is_only_named,
        }
    }
}

impl PathFilter for Filter<'_> {
    fn matches(&self, path: &BStr, _: bool) -> bool {
        self.matcher.is_match(path) && (!self.is_only_named || self.matcher.is_exact(path))
    }

    fn may_match_below(&self, path: &BStr) -> bool {
        self.matcher.may_match_below(path)
    }

    fn directory(&self, dir: &BStr) -> DirMatch {
        let dir = dir.trim_end_with(|letter| letter == '/').as_bstr();
        match self.matcher.may_match_below(dir) {
            true => DirMatch::Below,
            false => DirMatch::No,
        }
    }

    fn begins_below(&self, path: &BStr) -> bool {
        !self.named.is_empty() && !self.named.has_at_or_above(path)
    }
}

/// Refuses named paths that lead through a link or into another repository: Mercurial would begin a walk there.
fn refuse_unreachable_paths(question: &HgQuestion<'_>) -> Result<(), Abort> {
    let root = &question.request.repository.root;
    for path in question.request.matcher.named() {
        let is_there = || lstat_path(&root.join(OsStr::from_bytes(path))).is_ok();
        // Mercurial takes a path with a leading slash from the top, too, but matches and prints it as it is.
        let is_odd = path.starts_with(b"/");
        if is_odd || outside_of_reach(root, path).is_some() && is_there() {
            let message = [
                b"the path '",
                path.as_bytes(),
                b"' behind a link or in another repository",
            ];
            return Err(Abort::unsupported(message.concat()));
        }
    }
    Ok(())
}

/// Whether only paths of files and subrepositories are asked for. Nothing is looked for below such a path, even if something is
/// recorded there.
fn is_only_named(question: &HgQuestion<'_>) -> bool {
    let named = question.request.matcher.named();
    let may_have_more = |path: &BStr| {
        let there = question
            .request
            .repository
            .root
            .join(OsStr::from_bytes(path));
        match lstat_path(&there) {
            Ok(stat) => stat.is_dir(),
            Err(_) => {
                let is_recorded = question.dirstate.position(path).is_some();
                !is_recorded && question.dirstate.has_directory(path)
            }
        }
    };
    question.request.matcher.is_all_paths()
        && !named.is_empty()
        && !named
            .into_iter()
            .filter(|path| !question.request.matcher.names_subrepository(path))
            .any(may_have_more)
}

/// Returns the files and links that are asked for by name but not recorded.
fn unrecorded_names<'q>(question: &'q HgQuestion<'_>) -> Vec<&'q BStr> {
    let root = &question.request.repository.root;
    let is_other = |path: &&BStr| {
        let stat = lstat_path(&root.join(OsStr::from_bytes(path)));
        let is_file = stat.is_ok_and(|stat| stat.is_file() || stat.is_symlink());
        is_file
            && question.dirstate.position(path).is_none()
            && question.request.matcher.is_match(path)
    };
    let named = question.request.matcher.named().into_iter();
    named.filter(is_other).collect()
}

#[cfg(test)]
mod tests {
    use vigil_linux::Errno;

    use super::*;

    #[test]
    fn where_the_system_fails_no_file_counts_as_missing() {
        let all = |of: &[(&str, Errno)]| {
            let unseen = of.iter().map(|&(path, reason)| Unseen {
                path: path.into(),
                reason,
            });
            unseen.collect::<Vec<_>>()
        };
        type Row<'r> = (
            &'r [(&'r str, Errno)],
            &'r [(&'r str, Errno)],
            Option<&'r str>,
        );
        let rows: [Row<'_>; 5] = [
            (&[], &[("d", Errno::IO)], None),
            (&[("d/f", Errno::ACCESS)], &[("d", Errno::ACCESS)], None),
            (
                &[("a", Errno::ACCESS), ("d/f", Errno::STALE)],
                &[("b", Errno::PERM)],
                Some("Stale file handle: '/top/d/f'"),
            ),
            (
                &[("d/f", Errno::IO), ("d/g", Errno::IO)],
                &[("d", Errno::IO)],
                Some("Input/output error: '/top/d'"),
            ),
            (
                &[("d/f", Errno::IO)],
                &[],
                Some("Input/output error: '/top/d/f'"),
            ),
        ];
        for (unknown, unlisted, told) in rows {
            let findings = Findings {
                unknown: all(unknown),
                unlisted: all(unlisted),
                ..Findings::default()
            };
            let abort = unseen(&findings, Path::new("/top"));
            let abort = abort.map(|abort| abort.to_string());
            assert_eq!(abort.as_deref(), told, "{unknown:?}");
        }
    }
}
