//! The patterns of a command line, and which paths they match.

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

use super::compiled::Compiled;
use super::file::parse;
use super::kinds::{Kind, Pattern};
use super::portion::Portion;
use super::user_paths::{canonical_by_name, canonical_with};
use crate::abort::Abort;
use crate::bytes::{bytes, lines_with_ends};
use crate::subrepositories::Subrepositories;
use crate::text_file;
use vigil_model::path::parent;
use vigil_model::path_set::PathSet;
use vigil_stamp::paths::{bytes_of, path_of};

/// The patterns of a command line, and where they apply.
#[derive(Clone, Copy, Debug)]
pub struct MatcherQuestion<'q> {
    /// The top of the working copy.
    pub root: &'q Path,
    /// The working directory.
    pub cwd: &'q Path,
    /// What is asked for; if empty, everything.
    pub patterns: &'q [BString],
    /// Limits the request to these (`-I`).
    pub include: &'q [BString],
    /// Takes these out of the request (`-X`).
    pub exclude: &'q [BString],
    /// `Some` for paths of the working copy, which must not lead through links or into other repositories except these, in
    /// which nothing is looked up. `None` for paths of changesets.
    pub subrepositories: Option<&'q Subrepositories>,
}

/// Which paths are asked for.
#[derive(Clone, Debug, Default)]
pub struct Matcher {
    patterns: Option<PatternGroup>,
    include: Option<PatternGroup>,
    exclude: Option<PatternGroup>,
    /// The paths in subrepositories that are asked for by name.
    in_subrepositories: Vec<BString>,
    /// Those subrepositories that are themselves asked for by name.
    named_subrepositories: PathSet<BString>,
    /// The part of the repository that a narrow clone has.
    narrow: Option<Arc<Portion>>,
    /// The part of that in a sparse working copy. A path that is asked for by name matches outside of it, too.
    sparse: Option<Arc<Portion>>,
}

/// Patterns that are compiled together.
#[derive(Clone, Debug)]
struct PatternGroup {
    compiled: Compiled,
    /// The directories or files at or below which all matches are; empty for the top.
    roots: PathSet<BString>,
    /// Those roots that may be files asked for by name.
    files: PathSet<BString>,
    is_all_paths: bool,
    /// Whether each of `files` matches, whatever the patterns say.
    matches_files: bool,
}

impl Matcher {
    /// Reads the patterns of a command line.
    ///
    /// # Errors
    /// A pattern is invalid, leads out of the working copy, or cannot be matched without Python.
    pub fn new(question: &MatcherQuestion<'_>) -> Result<Self, Abort> {
        let mut matcher = Self::default();
        if !question.patterns.is_empty() {
            let mut patterns = to_patterns(question, question.patterns, Kind::RelPath)?;
            // In this order, flags at the beginning of the first pattern apply to all.
            patterns.sort_by(|a, b| {
                let key = |pattern: &Pattern| (pattern.kind.name(), pattern.text.clone());
                key(a).cmp(&key(b))
            });
            let is_all = |pattern: &Pattern| {
                pattern.text.is_empty() && matches!(pattern.kind, Kind::RelPath | Kind::Glob)
            };
            if !patterns.iter().all(is_all) {
                let mut part = PatternGroup::new(&patterns, "$")?;
                part.matches_files = true;
                if let Some(all) = question.subrepositories {
                    let is_in_subrepository = |file: &BString| all.contains(file.as_bstr());
                    let (inside, outside) = named_by(&patterns).partition(is_in_subrepository);
                    matcher.in_subrepositories = inside;
                    let is_subrepository = |file: &BString| all.has(file.as_bstr());
                    let named = named_by(&patterns).filter(is_subrepository);
                    matcher.named_subrepositories = PathSet::new(named.collect());
                    part.files = PathSet::new(outside);
                }
                matcher.patterns = Some(part);
            }
        }
        if !question.include.is_empty() {
            let patterns = to_patterns(question, question.include, Kind::Glob)?;
            matcher.include = Some(PatternGroup::new(&patterns, "(?:/|$)")?);
        }
        if !question.exclude.is_empty() {
            let patterns = to_patterns(question, question.exclude, Kind::Glob)?;
            matcher.exclude = Some(PatternGroup::new(&patterns, "(?:/|$)")?);
        }
        Ok(matcher)
    }

    /// Reads one pattern of a file in the working copy `root`; it is a glob unless it says what it is.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn of_glob(root: &Path, pattern: &BString) -> Result<Self, Abort> {
        let question = MatcherQuestion {
            root,
            cwd: root,
            patterns: &[],
            include: &[],
            exclude: &[],
            subrepositories: Some(&Subrepositories::default()),
        };
        let patterns = to_patterns(&question, std::slice::from_ref(pattern), Kind::Glob)?;
        let patterns = Some(PatternGroup::new(&patterns, "$")?);
        Ok(Self {
            patterns,
            ..Self::default()
        })
    }

    /// Restricts the matcher to the part of the repository that a narrow clone has.
    #[must_use]
    pub fn within_narrow(self, narrow: Option<Arc<Portion>>) -> Self {
        Self { narrow, ..self }
    }

    /// Restricts the matcher to the part in a sparse working copy.
    #[must_use]
    pub fn within_sparse(self, sparse: Option<Arc<Portion>>) -> Self {
        Self { sparse, ..self }
    }

    /// Returns whether every path matches.
    pub fn is_everything(&self) -> bool {
        self.has_no_patterns() && self.narrow.is_none() && self.sparse.is_none()
    }

    /// Returns whether all files that are present match: no pattern restricts them.
    pub fn has_no_patterns(&self) -> bool {
        self.patterns.is_none() && self.include.is_none() && self.exclude.is_none()
    }

    /// Returns whether the file `path` matches.
    pub fn is_match(&self, path: &BStr) -> bool {
        let has =
            |part: &Option<PatternGroup>| part.as_ref().is_none_or(|part| part.is_match(path));
        let is_in = |portion: &Portion| portion.is_match(path);
        let exclude = self.exclude.as_ref();
        has(&self.patterns)
            && has(&self.include)
            && !exclude.is_some_and(|part| part.is_match(path))
            && self.narrow.as_deref().is_none_or(is_in)
            && (self.sparse.as_deref().is_none_or(is_in) || self.is_exact(path))
    }

    /// Returns false only if nothing at or below the directory `path` matches.
    pub fn may_match_below(&self, path: &BStr) -> bool {
        let has =
            |part: &Option<PatternGroup>| part.as_ref().is_none_or(|part| part.may_have(path));
        let may_have = |portion: &Portion| portion.may_match_below(path);
        let exclude = self.exclude.as_ref();
        has(&self.patterns)
            && has(&self.include)
            && !exclude.is_some_and(|part| part.has_all_below(path))
            && self.narrow.as_deref().is_none_or(may_have)
            && (self.sparse.as_deref().is_none_or(may_have) || self.is_at_or_above_exact(path))
    }

    /// Returns whether a walk that enters only directories below which something may match comes to the file `path`. With escaped
    /// letters in a glob, it may not come to files that match.
    pub fn is_reached(&self, path: &BStr) -> bool {
        let mut above = parent(path);
        while !above.is_empty() {
            if !self.may_match_below(above) {
                return false;
            }
            above = parent(above);
        }
        true
    }

    /// The files and directories that are asked for by name, in order; duplicates are kept.
    pub fn named(&self) -> Vec<&BStr> {
        let narrow = self.narrow.as_deref();
        // If nothing can match, no name is looked up either.
        let is_nothing = self
            .include
            .as_ref()
            .is_some_and(|part| part.roots.is_empty())
            || narrow.is_some_and(Portion::is_nothing);
        if is_nothing {
            return Vec::new();
        }
        let files = self.patterns.iter().flat_map(|part| part.files.as_slice());
        let files = files.map(|file| file.as_bstr());
        let mut files: Vec<&BStr> = files.chain(narrow.and_then(Portion::named)).collect();
        files.sort_unstable();
        match files.first().is_some_and(|first| first.is_empty()) {
            true => Vec::new(),
            false => files,
        }
    }

    /// The paths in subrepositories that are asked for by name. The subrepositories themselves report what is there.
    pub fn named_in_subrepositories(&self) -> &[BString] {
        &self.in_subrepositories
    }

    /// Returns whether `path` is a subrepository that is asked for by name. The subrepository reports what is there; the
    /// repository around it looks for nothing there, not even for what it has recorded.
    pub fn names_subrepository(&self, path: &BStr) -> bool {
        self.named_subrepositories.contains(path)
    }

    /// Returns whether `path` is asked for by name.
    pub fn is_exact(&self, path: &BStr) -> bool {
        let patterns = self.patterns.as_ref();
        patterns.is_some_and(|part| part.files.contains(path))
            || self.narrow.as_deref().and_then(Portion::named) == Some(path)
    }

    /// Returns whether `path`, or something below it, is asked for by name.
    fn is_at_or_above_exact(&self, path: &BStr) -> bool {
        let narrow = self.narrow.as_deref().and_then(Portion::named);
        self.patterns
            .as_ref()
            .is_some_and(|part| part.files.has_at_or_below(path))
            || narrow.is_some_and(|name| PathSet::new(vec![name]).has_at_or_below(path))
    }

    /// Returns whether a directory above `path` is asked for by name, `path` itself is not, and no pattern is anything but a name.
    pub fn is_named_only_above(&self, path: &BStr) -> bool {
        let patterns = self.patterns.as_ref().filter(|_| self.is_all_paths());
        patterns.is_some_and(|part| part.files.has_above(path) && !part.files.contains(path))
    }

    /// Returns whether only whole paths are asked for, and nothing is taken from them.
    pub fn is_all_paths(&self) -> bool {
        let is_plain = self.include.is_none() && self.exclude.is_none() && self.sparse.is_none();
        is_plain
            && match (&self.patterns, &self.narrow) {
                (Some(part), None) => part.is_all_paths,
                (None, Some(narrow)) => narrow.is_all_of_one(),
                _ => false,
            }
    }
}

/// Returns whether the command-line pattern `text` names a file with patterns, or is a file set.
pub fn refers_to_files(text: &BStr) -> bool {
    matches!(
        Kind::split(text, Kind::RelPath).0,
        Kind::ListFile | Kind::ListFile0 | Kind::Include | Kind::SubInclude | Kind::Set
    )
}

/// Converts the patterns of a command line to patterns relative to the top.
fn to_patterns(
    question: &MatcherQuestion<'_>,
    given: &[BString],
    default: Kind,
) -> Result<Vec<Pattern>, Abort> {
    let mut patterns = Vec::new();
    for text in given {
        let (kind, text) = Kind::split(text, default);
        let read_from_it = |pattern: Pattern| Pattern {
            source: text.into(),
            ..pattern
        };
        match kind {
            Kind::RelPath | Kind::Glob => {
                let text = match question.subrepositories {
                    Some(all) => canonical_with(question.root, question.cwd, text, all)?,
                    None => canonical_by_name(question.root, question.cwd, text)?,
                };
                patterns.push(Pattern {
                    kind,
                    text,
                    source: BString::default(),
                });
            }
            Kind::Re
            | Kind::RelRe
            | Kind::RelGlob
            | Kind::Path
            | Kind::FilePath
            | Kind::RootFilesIn
            | Kind::RootGlob => patterns.push(Pattern::from_top(kind, text, b"")),
            Kind::ListFile | Kind::ListFile0 => {
                let lines = listed_patterns(question, kind, text, default)?;
                let inner = to_patterns(question, &lines, default)?;
                patterns.extend(inner.into_iter().map(read_from_it));
            }
            Kind::Include => {
                let lines = included_patterns(question, text, default)?;
                let inner = to_patterns(question, &lines, default)?;
                patterns.extend(inner.into_iter().map(read_from_it));
            }
            Kind::SubInclude => return Err(Abort::unsupported("the pattern 'subinclude:'")),
            Kind::Set => return Err(Abort::unsupported("file sets ('set:')")),
        }
    }
    Ok(patterns)
}

/// Reads the patterns in the file list `text`, which is of the kind `kind`.
fn listed_patterns(
    question: &MatcherQuestion<'_>,
    kind: Kind,
    text: &[u8],
    default: Kind,
) -> Result<Vec<BString>, Abort> {
    let list = text_file::read(&question.cwd.join(path_of(text)));
    let list = list.map_err(|_| Abort::plain(bytes!("unable to read file list (", text, ")")))?;
    let lines: Vec<BString> = match kind {
        Kind::ListFile => lines_with_ends(&list).map(without_end).collect(),
        _ => list.split(|byte| *byte == 0).map(BString::from).collect(),
    };
    let is_list = |line: &BString| {
        let kind = Kind::split(line, default).0;
        matches!(kind, Kind::ListFile | Kind::ListFile0)
    };
    let lines: Vec<BString> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    if lines.iter().any(|line| line.contains(&0)) {
        // Mercurial crashes.
        return Err(Abort::unsupported("a NUL in a line of a file list"));
    }
    match lines.iter().any(is_list) {
        true => Err(Abort::unsupported("a file list that names another")),
        false => Ok(lines),
    }
}

/// Reads the patterns in the pattern file `text`. On a command line, one that cannot be read is silently ignored.
fn included_patterns(
    question: &MatcherQuestion<'_>,
    text: &[u8],
    default: Kind,
) -> Result<Vec<BString>, Abort> {
    let path = question.root.join(path_of(text));
    let Ok(list) = text_file::read(&path) else {
        return Ok(Vec::new());
    };
    let list = parse(&list, bytes_of(&path));
    let is_include = |line: &BString| {
        let kind = Kind::split(line, default).0;
        matches!(kind, Kind::Include | Kind::SubInclude)
    };
    match list.patterns.iter().any(is_include) {
        true => Err(Abort::unsupported("a pattern file that includes another")),
        false => Ok(list.patterns),
    }
}

fn without_end(line: &[u8]) -> BString {
    line.trim_end_with(|letter| matches!(letter, '\n' | '\r'))
        .into()
}

impl PatternGroup {
    fn new(patterns: &[Pattern], suffix: &str) -> Result<Self, Abort> {
        let is_path = |pattern: &Pattern| matches!(pattern.kind, Kind::Path | Kind::RelPath);
        Ok(Self {
            compiled: Compiled::new(patterns, suffix)?,
            roots: PathSet::new(patterns.iter().map(Pattern::root).collect()),
            files: PathSet::new(named_by(patterns).collect()),
            is_all_paths: patterns.iter().all(is_path),
            matches_files: false,
        })
    }

    fn is_match(&self, path: &BStr) -> bool {
        self.compiled.is_match(path) || self.matches_files && self.files.contains(path)
    }

    /// Returns whether everything below `path` matches, as far as Mercurial detects it.
    fn has_all_below(&self, path: &BStr) -> bool {
        self.is_all_paths && self.roots.contains(path)
    }

    /// Returns whether something at or below `path` may match.
    fn may_have(&self, path: &BStr) -> bool {
        self.roots.has_at_or_above(path) || self.roots.has_at_or_below(path)
    }
}

/// The paths that the patterns may ask for by name.
fn named_by(patterns: &[Pattern]) -> impl Iterator<Item = BString> {
    let may_name = patterns
        .iter()
        .filter(|pattern| pattern.kind != Kind::RootFilesIn);
    may_name.map(Pattern::root)
}
