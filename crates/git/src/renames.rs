//! Renames and copies among changes, as git's rename detection for `git status` finds them.
//!
//! A removed and a new file are a pair if their contents are equal; else if they have the same name in different
//! directories and are similar; else if they are similar enough, the most similar pairs first.

mod compare;
mod similarity;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::OnceLock;

use bstr::BStr;
use gix_hash::{ObjectId, oid};
use vigil_model::mode::FileMode;
use vigil_model::path::file_name;

use self::compare::{Comparer, Scratch, in_order};
use self::similarity::{SCORE_MAX, Spans};
use super::objects;
use super::staged::{SourceError, StagedChange, UnmergedPath};
use vigil_model::change::{ChangeKind, RenameSource};
use vigil_model::request::RenameRule;

/// The side of a comparison that a file is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSide {
    /// The old version: in HEAD (or, for changes in the working tree, in the index).
    Earlier,
    /// The new version: in the index (or in the working tree).
    Later,
}

/// A file whose contents are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blob<'a> {
    /// Its path.
    pub path: &'a BStr,
    /// Its object.
    pub id: &'a oid,
    /// The side it is on.
    pub side: FileSide,
}

/// Where contents are read from. Called from several threads at once.
pub trait BlobSource: Sync {
    /// Returns the length of the contents in bytes.
    ///
    /// # Errors
    /// They cannot be read.
    fn size(&self, blob: &Blob<'_>) -> Result<u64, SourceError>;

    /// Replaces the contents of `buf` by those of `blob`.
    ///
    /// # Errors
    /// They cannot be read.
    fn blob(&self, blob: &Blob<'_>, buf: &mut Vec<u8>) -> Result<(), SourceError>;

    /// Whether `blob` would have to be fetched. Then [`Self::fetch`] is called before it is requested.
    fn is_far(&self, blob: &Blob<'_>) -> bool {
        let _ = blob;
        false
    }

    /// Fetches those of `blobs` that are far.
    ///
    /// # Errors
    /// Some cannot be had, and git gives up.
    fn fetch(&self, blobs: &[Blob<'_>]) -> Result<(), objects::Error> {
        let _ = blobs;
        Ok(())
    }

    /// Returns whether contents are binary according to the `diff` attribute of `path` (gitattributes(5)), if it
    /// says. This only decides whether carriage returns at line ends count.
    fn is_binary(&self, path: &BStr) -> Option<bool> {
        let _ = path;
        None
    }
}

/// Required contents cannot be had. The text is git's own, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// They cannot be read.
    #[error("unable to read {id}")]
    Unreadable {
        /// The object.
        id: ObjectId,
        /// The source's error.
        source: SourceError,
    },
    /// They cannot be fetched.
    #[error(transparent)]
    NotFetched(objects::Error),
}

/// git's default for the minimum similarity: one half.
const MIN_SCORE_DEFAULT: u32 = SCORE_MAX / 2;

/// How many of the best sources are kept for each new file.
const CANDIDATES_PER_TARGET: usize = 4;

/// How many files with equal contents are considered for the best source.
const EQUAL_SOURCES_MAX: usize = 100;

/// How many comparisons make another thread worthwhile.
const COMPARISONS_PER_THREAD: usize = 64;

/// Finds renames among `changes`, and copies if the rule asks for them.
///
/// `changes` must be in byte order of paths, and so is the result: pairs are at the new path, and removed files
/// that became part of a pair are left out. Conflicts (`unmerged`) can be the sources of copies. Uses up to
/// `threads_max` threads.
///
/// # Errors
/// Contents without which git cannot go on cannot be read.
pub fn detect(
    changes: Vec<StagedChange>,
    unmerged: &[UnmergedPath],
    rule: &RenameRule,
    blobs: &dyn BlobSource,
    threads_max: usize,
) -> Result<Vec<StagedChange>, Error> {
    let mut search = Search::new(&changes, unmerged, rule, blobs);
    search.run(threads_max)?;
    let fates = search.fates(changes.len());
    let resolved = changes.into_iter().zip(fates);
    Ok(resolved
        .filter_map(|(change, fate)| match fate {
            Fate::Kept => Some(change),
            Fate::Gone => None,
            Fate::Paired(origin) => {
                let is_other = origin.source.path != change.path;
                let is_same = origin.mode == change.index_mode && origin.id == change.index_id;
                (is_other || !is_same).then(|| StagedChange {
                    kind: origin.kind,
                    head_mode: origin.mode,
                    head_id: origin.id,
                    source: is_other.then_some(origin.source),
                    ..change
                })
            }
        })
        .collect())
}

/// What becomes of a change.
#[derive(Clone)]
enum Fate {
    Kept,
    /// A removal that is part of a rename.
    Gone,
    Paired(Origin),
}

/// The origin of a new file.
#[derive(Clone)]
struct Origin {
    kind: ChangeKind,
    mode: FileMode,
    id: ObjectId,
    source: RenameSource,
}

/// A file on either side, with what is known of its contents.
struct File<'a> {
    blob: Blob<'a>,
    mode: FileMode,
    size: OnceLock<u64>,
    spans: OnceLock<Spans>,
}

impl<'a> File<'a> {
    fn new(path: &'a BStr, mode: FileMode, id: &'a oid, side: FileSide) -> Self {
        Self {
            blob: Blob { path, id, side },
            mode,
            size: OnceLock::new(),
            spans: OnceLock::new(),
        }
    }

    fn has_name_of(&self, other: &File<'_>) -> bool {
        file_name(self.blob.path) == file_name(other.blob.path)
    }
}

/// A file that new files may come from.
struct SourceFile<'a> {
    file: File<'a>,
    /// The index of its change, if it is a removal.
    removal: Option<usize>,
    /// How many new files came from it; a file that still exists counts as one more.
    used: usize,
}

/// A new file.
struct TargetFile<'a> {
    file: File<'a>,
    change: usize,
    /// The source it came from, and the score.
    origin: Option<(usize, u32)>,
}

/// How well a source fits a target.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Match {
    source: usize,
    target: usize,
    score: u32,
    same_name: bool,
}

/// The best matches of one target.
type Best = [Option<Match>; CANDIDATES_PER_TARGET];

/// Orders better matches first; no match is the worst.
fn better_first(a: &Option<Match>, b: &Option<Match>) -> Ordering {
    let key = |found: &Option<Match>| found.map(|found| (found.score, found.same_name));
    key(b).cmp(&key(a))
}

struct Search<'a> {
    sources: Vec<SourceFile<'a>>,
    targets: Vec<TargetFile<'a>>,
    copies: bool,
    min_score: u32,
    limit: usize,
    comparer: Comparer<'a>,
}

impl<'a> Search<'a> {
    fn new(
        changes: &'a [StagedChange],
        unmerged: &'a [UnmergedPath],
        rule: &RenameRule,
        blobs: &'a dyn BlobSource,
    ) -> Self {
        let mut sources = Vec::new();
        let mut targets = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            let path = change.path.as_ref();
            let removal = (change.kind == ChangeKind::Deleted).then_some(at);
            if change.kind == ChangeKind::Added {
                let (mode, id) = (change.index_mode, &change.index_id);
                targets.push(TargetFile {
                    file: File::new(path, mode, id, FileSide::Later),
                    change: at,
                    origin: None,
                });
            } else if removal.is_some() || rule.copies {
                let (mode, id) = (change.head_mode, &change.head_id);
                sources.push(SourceFile {
                    file: File::new(path, mode, id, FileSide::Earlier),
                    removal,
                    used: usize::from(removal.is_none()),
                });
            }
        }
        let in_head = |path: &&UnmergedPath| rule.copies && path.head_mode != FileMode::NONE;
        sources.extend(unmerged.iter().filter(in_head).map(|path| {
            let (mode, id) = (path.head_mode, &path.head_id);
            SourceFile {
                file: File::new(path.path.as_ref(), mode, id, FileSide::Earlier),
                removal: None,
                used: 1,
            }
        }));
        sources.sort_by_key(|source| source.file.blob.path);
        Self {
            sources,
            targets,
            copies: rule.copies,
            min_score: match rule.min_score {
                0 => MIN_SCORE_DEFAULT,
                score => score.min(SCORE_MAX),
            },
            limit: rule.limit,
            comparer: Comparer::new(blobs),
        }
    }

    fn run(&mut self, threads_max: usize) -> Result<(), Error> {
        if self.sources.is_empty() || self.targets.is_empty() {
            return Ok(());
        }
        self.pair_equal_contents();
        if self.min_score == SCORE_MAX {
            return Ok(());
        }
        if !self.copies {
            self.pair_equal_names()?;
        }
        let targets = self.unpaired_targets();
        let sources = self.open_sources();
        if targets.is_empty() || sources.is_empty() || self.exceeds_limit(&targets, &sources) {
            return Ok(());
        }
        let mut matches = self.best_matches(&targets, &sources, threads_max)?;
        matches.sort_by(better_first);
        self.pair_best(&matches, false);
        if self.copies {
            self.pair_best(&matches, true);
        }
        Ok(())
    }

    fn pair(&mut self, source: usize, target: usize, score: u32) {
        if let (Some(from), Some(to)) = (self.sources.get_mut(source), self.targets.get_mut(target))
        {
            from.used = from.used.saturating_add(1);
            to.origin = Some((source, score));
        }
    }

    fn unpaired_targets(&self) -> Vec<usize> {
        let targets = self.targets.iter().enumerate();
        targets
            .filter(|(_, target)| target.origin.is_none())
            .map(|(at, _)| at)
            .collect()
    }

    /// Returns the sources that may still be used: all of them for copies, otherwise those not yet used for a rename.
    fn open_sources(&self) -> Vec<usize> {
        let sources = self.sources.iter().enumerate();
        sources
            .filter(|(_, source)| self.copies || source.used == 0)
            .map(|(at, _)| at)
            .collect()
    }

    fn exceeds_limit(&self, targets: &[usize], sources: &[usize]) -> bool {
        self.limit > 0
            && targets.len().saturating_mul(sources.len()) > self.limit.saturating_mul(self.limit)
    }

    /// Pairs each target with the best source of equal contents: unused ones and those with the same name rank
    /// higher, and among equals the first wins.
    fn pair_equal_contents(&mut self) {
        let mut by_id: HashMap<&oid, Vec<usize>> = HashMap::new();
        for (at, source) in self.sources.iter().enumerate() {
            by_id.entry(source.file.blob.id).or_default().push(at);
        }
        for target in 0..self.targets.len() {
            let Some(to) = self.targets.get(target) else {
                continue;
            };
            let Some(equal) = by_id.get_mut(to.file.blob.id) else {
                continue;
            };
            let fits = equal.iter().enumerate().filter_map(|(at, &source)| {
                let from = self.sources.get(source)?;
                let both_files = from.file.mode.is_file() && to.file.mode.is_file();
                (both_files || from.file.mode == to.file.mode).then(|| {
                    let rank = u8::from(from.used == 0) + u8::from(from.file.has_name_of(&to.file));
                    (rank, at, source)
                })
            });
            let mut best: Option<(u8, usize, usize)> = None;
            for found in fits.take(EQUAL_SOURCES_MAX) {
                if best.is_none_or(|best| found.0 > best.0) {
                    best = Some(found);
                }
                if found.0 == 2 {
                    break;
                }
            }
            if let Some((_, at, source)) = best {
                if !self.copies {
                    equal.remove(at);
                }
                self.pair(source, target, SCORE_MAX);
            }
        }
    }

    /// Pairs the files whose names occur only once on either side, if their similarity is at least halfway
    /// between the minimum and equality.
    fn pair_equal_names(&mut self) -> Result<(), Error> {
        let min_score = self.min_score + (SCORE_MAX - self.min_score) / 2;
        let targets = unique_names(
            self.unpaired_targets()
                .into_iter()
                .filter_map(|at| Some((at, self.targets.get(at)?.file.blob.path))),
        );
        let sources = unique_names(
            self.open_sources()
                .into_iter()
                .filter_map(|at| Some((at, self.sources.get(at)?.file.blob.path))),
        );
        let mut pairs: Vec<(usize, usize)> = sources
            .into_iter()
            .filter_map(|(name, source)| Some((source?, (*targets.get(name)?)?)))
            .collect();
        pairs.sort_unstable();
        let files = pairs.iter().filter_map(|(source, target)| {
            Some([
                &self.targets.get(*target)?.file,
                &self.sources.get(*source)?.file,
            ])
        });
        self.fetch(&files.flatten().collect::<Vec<_>>())?;
        // One thread: each pair is read only once, and reading many small objects is no faster with more.
        let mut scratch = Scratch::new();
        for (source, target) in pairs {
            if let (Some(from), Some(to)) = (self.sources.get(source), self.targets.get(target)) {
                self.comparer.read_ahead(&from.file, &mut scratch);
                self.comparer.read_ahead(&to.file, &mut scratch);
            }
            let score = self.similarity(source, target, min_score, &mut scratch)?;
            if score >= min_score {
                self.pair(source, target, score);
            }
        }
        Ok(())
    }

    /// Fetches the contents of `files` together if any that are compared, those of regular files, are far. The order is
    /// git's: if it cannot fetch them all, it names the first.
    fn fetch(&self, files: &[&File<'_>]) -> Result<(), Error> {
        let source = self.comparer.blobs;
        let is_needed = |file: &&File<'_>| file.mode.is_file() && source.is_far(&file.blob);
        if !files.iter().any(is_needed) {
            return Ok(());
        }
        let files = files.iter().filter(|file| !file.mode.is_gitlink());
        let blobs: Vec<Blob<'_>> = files.map(|file| file.blob).collect();
        source.fetch(&blobs).map_err(Error::NotFetched)
    }

    /// Returns the few best sources of each target, in the order of targets.
    fn best_matches(
        &self,
        targets: &[usize],
        sources: &[usize],
        threads_max: usize,
    ) -> Result<Vec<Option<Match>>, Error> {
        let new = targets.iter().filter_map(|at| self.targets.get(*at));
        let old = sources.iter().filter_map(|at| self.sources.get(*at));
        let files = new.map(|target| &target.file);
        let files = files.chain(old.map(|source| &source.file));
        self.fetch(&files.collect::<Vec<_>>())?;
        let comparisons = targets.len().saturating_mul(sources.len());
        let threads = threads_max.min(comparisons / COMPARISONS_PER_THREAD);
        let rows = in_order(targets, threads, |&target, scratch| {
            self.best_for(target, sources, scratch)
        })?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Returns the best sources of one target. As in git, each better match replaces the first of the worst,
    /// which decides which of equally good ones remain, and in which order.
    fn best_for(
        &self,
        target: usize,
        sources: &[usize],
        scratch: &mut Scratch,
    ) -> Result<Best, Error> {
        let mut best = [None; CANDIDATES_PER_TARGET];
        let Some(to) = self.targets.get(target) else {
            return Ok(best);
        };
        for &source in sources {
            let Some(from) = self.sources.get(source) else {
                continue;
            };
            let found = Some(Match {
                source,
                target,
                score: self.similarity(source, target, self.min_score, scratch)?,
                same_name: from.file.has_name_of(&to.file),
            });
            // Among equals, `max_by` returns the last.
            let worst = best.iter_mut().rev().max_by(|a, b| better_first(a, b));
            if let Some(worst) = worst.filter(|worst| better_first(&found, worst).is_lt()) {
                *worst = found;
            }
        }
        Ok(best)
    }

    fn pair_best(&mut self, matches: &[Option<Match>], copies: bool) {
        for found in matches.iter().map_while(|found| *found) {
            if found.score < self.min_score {
                break;
            }
            let is_paired = |target: &TargetFile<'_>| target.origin.is_some();
            let is_used = |source: &SourceFile<'_>| source.used > 0;
            if self.targets.get(found.target).is_none_or(is_paired)
                || !copies && self.sources.get(found.source).is_none_or(is_used)
            {
                continue;
            }
            self.pair(found.source, found.target, found.score);
        }
    }

    /// Returns how similar source and target are, if that may reach `min_score`; else any score below it.
    fn similarity(
        &self,
        source: usize,
        target: usize,
        min_score: u32,
        scratch: &mut Scratch,
    ) -> Result<u32, Error> {
        match (self.sources.get(source), self.targets.get(target)) {
            (Some(from), Some(to)) => {
                let comparer = &self.comparer;
                comparer.similarity(&from.file, target, &to.file, min_score, scratch)
            }
            _ => Ok(0),
        }
    }

    /// Decides what becomes of each of the `count` changes. A source that is used several times counts as copied,
    /// except for its last use if it was removed.
    fn fates(mut self, count: usize) -> Vec<Fate> {
        let mut fates = vec![Fate::Kept; count];
        let mut set = |at: usize, fate: Fate| {
            if let Some(place) = fates.get_mut(at) {
                *place = fate;
            }
        };
        for source in self.sources.iter().filter(|source| source.used > 0) {
            if let Some(removal) = source.removal {
                set(removal, Fate::Gone);
            }
        }
        for target in &self.targets {
            let Some((source, score)) = target.origin else {
                continue;
            };
            let Some(source) = self.sources.get_mut(source) else {
                continue;
            };
            source.used = source.used.saturating_sub(1);
            let origin = Origin {
                // In an inconsistent index that holds a path twice, the path may have come from itself.
                kind: if source.file.blob.path == target.file.blob.path {
                    ChangeKind::Modified
                } else if source.used > 0 {
                    ChangeKind::Copied
                } else {
                    ChangeKind::Renamed
                },
                mode: source.file.mode,
                id: source.file.blob.id.into(),
                source: RenameSource {
                    path: source.file.blob.path.into(),
                    score_percent: u8::try_from(score * 100 / SCORE_MAX).unwrap_or(100),
                },
            };
            set(target.change, Fate::Paired(origin));
        }
        fates
    }
}

/// Returns the file names of `files`; `None` for names that occur more than once.
fn unique_names<'a>(
    files: impl Iterator<Item = (usize, &'a BStr)>,
) -> HashMap<&'a BStr, Option<usize>> {
    let mut names = HashMap::new();
    for (at, path) in files {
        names
            .entry(file_name(path))
            .and_modify(|found| *found = None)
            .or_insert(Some(at));
    }
    names
}
