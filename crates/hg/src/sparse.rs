//! Which files a sparse working copy has: `.hg/sparse`, profiles that are committed, and files that are included temporarily.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use bstr::{BString, ByteSlice};

use crate::abort::{self, Abort};
use crate::bytes::{bytes, normal_path};
use crate::node::Node;
use crate::patterns::{
    Kind, Matcher, MatcherQuestion, Portion, from_top, outside_of_reach, refers_to_files,
};
use crate::portion_file::{self, LEN_MAX, PortionFile};
use crate::repository::Repository;
use crate::subrepositories::Subrepositories;

/// The maximum number of profiles to read.
const PROFILES_MAX: usize = 1000;
/// Always included if anything is.
const ALWAYS: &str = ".hg*";

/// The texts that decide which files a sparse working copy has, except for committed profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparseTexts {
    lasting: Vec<u8>,
    temporary: Vec<u8>,
    /// The parents of the working copy, whose profiles apply.
    parents: [Node; 2],
}

/// The files that a working copy has.
#[derive(Debug)]
pub struct Sparse {
    /// The part; `None` if the working copy is not sparse. It is an error if a text is not understood, or committed data cannot
    /// be read.
    pub portion: Result<Option<Arc<Portion>>, Abort>,
    /// Messages for standard error, each without its line feed.
    pub warnings: Vec<SparseWarning>,
    /// The paths that patterns begin with; they are refused if they lead outside.
    audited: Vec<BString>,
    /// Whether some patterns are in files of the working copy.
    has_file_patterns: bool,
    /// Whether a profile could not be read. It may be readable the next time.
    has_unreadable: bool,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SparseWarning {
    /// A message.
    Line(BString),
    /// The message that a profile is missing, which the configuration may turn off.
    Missing(BString),
}

impl SparseTexts {
    /// Reads the texts of `repository`, whose sparse working copy has these parents.
    ///
    /// # Errors
    /// A text cannot be read.
    pub fn read(repository: &Repository, parents: [Node; 2]) -> Result<Self, Abort> {
        let read = |name: &str| portion_file::read(&repository.dot_hg.join(name));
        Ok(Self {
            lasting: read("sparse")?,
            temporary: read("tempsparse")?,
            parents,
        })
    }
}

impl Sparse {
    /// Returns the files of a working copy that is not sparse.
    pub fn everything() -> Self {
        Self {
            portion: Ok(None),
            warnings: Vec::new(),
            audited: Vec::new(),
            has_file_patterns: false,
            has_unreadable: false,
        }
    }

    /// Computes what the working copy of `repository` has according to `texts`.
    pub fn of(texts: &SparseTexts, repository: &Repository) -> Self {
        let mut sparse = Self::everything();
        sparse.portion = sparse.read(texts, repository);
        sparse
    }

    fn read(
        &mut self,
        texts: &SparseTexts,
        repository: &Repository,
    ) -> Result<Option<Arc<Portion>>, Abort> {
        let mut matchers = Vec::new();
        for parent in texts.parents.iter().filter(|parent| !parent.is_null()) {
            let file = match self.at(texts, repository, parent) {
                // Mercurial then does without all that applies if this parent is checked out.
                Err(abort) if abort.kind == abort::Kind::System => {
                    self.has_unreadable = true;
                    continue;
                }
                file => file?,
            };
            if !file.includes.is_empty() || !file.excludes.is_empty() {
                matchers.push(self.matcher(repository, file.includes, file.excludes)?);
            }
        }
        if matchers.is_empty() {
            // Mercurial takes this for a restriction, too.
            return Ok(Some(Arc::new(Portion::Any(vec![Matcher::default()]))));
        }
        let paths = texts.temporary.split(|byte| *byte == b'\n');
        // These are taken literally, and one that is not normalized matches nothing.
        let paths = paths.filter(|path| !path.is_empty() && normal_path(path) == *path);
        let paths: BTreeSet<BString> = paths.map(|path| bytes!("path:", path)).collect();
        if !paths.is_empty() {
            matchers.push(self.matcher(repository, paths, BTreeSet::new())?);
        }
        Ok(Some(Arc::new(Portion::Any(matchers))))
    }

    /// Returns whether the result still holds in the working copy at `root`, if the texts are the same.
    pub fn is_current(&self, root: &Path) -> bool {
        let leads_elsewhere = |path: &BString| outside_of_reach(root, path.as_bstr()).is_some();
        let is_lasting = self.portion.is_ok() && !self.has_file_patterns && !self.has_unreadable;
        is_lasting && !self.audited.iter().any(leads_elsewhere)
    }

    /// Returns what applies if `parent` is checked out, with the profiles that it has.
    fn at(
        &mut self,
        texts: &SparseTexts,
        repository: &Repository,
        parent: &Node,
    ) -> Result<PortionFile, Abort> {
        let mut all = self.parse(&texts.lasting)?;
        let mut pending = std::mem::take(&mut all.profiles);
        if pending.is_empty() {
            return Ok(all.with_always());
        }
        let store = repository.store();
        let manifest = store.manifest_of(parent)?;
        let mut len = texts.lasting.len();
        while let Some(profile) = pending.pop_first() {
            if !all.profiles.insert(profile.clone()) {
                continue;
            }
            let Some(entry) = manifest.get(profile.as_bstr()) else {
                let short = parent.short_hex();
                let message = bytes!(
                    "warning: sparse profile '",
                    profile,
                    "' not found in rev ",
                    short
                );
                let message = bytes!(message, " - ignoring it");
                self.warnings.push(SparseWarning::Missing(message));
                continue;
            };
            let text = store.contents(profile.as_bstr(), &entry.node)?;
            len = len.saturating_add(text.len());
            if len > LEN_MAX || all.profiles.len() > PROFILES_MAX {
                return Err(portion_file::too_long(&profile));
            }
            let more = self.parse(&text)?;
            all.includes.extend(more.includes);
            all.excludes.extend(more.excludes);
            pending.extend(more.profiles);
        }
        Ok(all.with_always())
    }

    fn parse(&mut self, text: &[u8]) -> Result<PortionFile, Abort> {
        let mut warnings = Vec::new();
        let file = PortionFile::parse(text, "sparse", &mut warnings);
        let warnings = warnings.into_iter().map(SparseWarning::Line);
        self.warnings.extend(warnings);
        file
    }

    fn matcher(
        &mut self,
        repository: &Repository,
        includes: BTreeSet<BString>,
        excludes: BTreeSet<BString>,
    ) -> Result<Matcher, Abort> {
        let root = repository.root.as_path();
        let (include, exclude): (Vec<_>, Vec<_>) = (
            includes.into_iter().collect(),
            excludes.into_iter().collect(),
        );
        let matcher = Matcher::new(&MatcherQuestion {
            root,
            cwd: root,
            patterns: &[],
            include: &include,
            exclude: &exclude,
            subrepositories: Some(&Subrepositories::default()),
        })?;
        for text in include.iter().chain(&exclude) {
            self.has_file_patterns |= refers_to_files(text.as_bstr());
            if let (Kind::Glob | Kind::RelPath, path) = Kind::split(text, Kind::Glob) {
                self.audited.push(from_top(root, root, path)?);
            }
        }
        Ok(matcher)
    }
}

impl PortionFile {
    fn with_always(mut self) -> Self {
        if !self.includes.is_empty() {
            self.includes.insert(ALWAYS.into());
        }
        self
    }
}
