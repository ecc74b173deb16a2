//! Which files of one changeset are copies of files in another, according to the metadata of file versions or, if the repository
//! has it, the sidedata of changesets.

mod changesets;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};

use crate::abort::Abort;
use crate::ancestry;
use crate::dirstate::Dirstate;
use crate::node::Node;
use crate::patterns::Portion;
use crate::revision::{Revisions, Target};
use crate::revlog::Revlog;
use crate::stored::{Manifest, Store};

/// Copied paths, each with its source.
pub type Copies = BTreeMap<BString, BString>;

/// The maximum number of file revlogs to keep open at once.
const OPEN_MAX: usize = 64;

/// Traces copies in a repository.
#[derive(Debug)]
pub struct Tracer<'t> {
    store: Store,
    revisions: &'t Revisions<'t>,
    /// The dirstate of the working copy.
    dirstate: &'t Dirstate,
    /// The part of the files that a narrow clone has; it knows nothing of copies from elsewhere.
    narrow: Option<Arc<Portion>>,
    looks_backwards: bool,
    open_filelogs: BTreeMap<BString, Revlog>,
}

/// Selects the files that are asked for.
type Filter<'f> = dyn Fn(&BStr) -> bool + 'f;

impl<'t> Tracer<'t> {
    /// Makes a tracer for the repository of `revisions`, whose working copy has this `dirstate`; `narrow` is set for a narrow
    /// clone.
    pub fn new(
        store: Store,
        revisions: &'t Revisions<'t>,
        dirstate: &'t Dirstate,
        narrow: Option<Arc<Portion>>,
    ) -> Self {
        Self {
            store,
            revisions,
            dirstate,
            narrow,
            looks_backwards: true,
            open_filelogs: BTreeMap::new(),
        }
    }

    /// Makes the tracer find no copies from a changeset to one of its ancestors (`experimental.copytrace=off`).
    pub fn look_only_forwards(&mut self) {
        self.looks_backwards = false;
    }

    fn is_in_narrow(&self, path: &BStr) -> bool {
        self.narrow
            .as_ref()
            .is_none_or(|narrow| narrow.is_match(path))
    }

    /// Returns the files of `to` that were copied from files of `from`, and match; going backwards, only renames.
    ///
    /// # Errors
    /// The store cannot be read, or is damaged.
    pub fn between(
        &mut self,
        from: Target,
        to: Target,
        matches: &Filter<'_>,
    ) -> Result<Copies, Abort> {
        if from == to || from == Target::Null || to == Target::Null {
            return Ok(Copies::new());
        }
        let parent = self.revisions.parent();
        if to == Target::WorkingCopy && from == parent {
            return Ok(recorded(self.dirstate, matches));
        }
        let committed = |target| match target {
            Target::WorkingCopy => parent,
            other => other,
        };
        let common = self.best_common(committed(from), committed(to));
        let mut copies = if common == from {
            self.forward(from, to, from, matches)?
        } else if common == to && !self.looks_backwards {
            Copies::new()
        } else if common == to {
            let copies = self.forward(to, from, to, &|_| true)?;
            self.reversed(copies, from, matches)?
        } else {
            let base = match common {
                Target::Null => Target::Null,
                _ => from,
            };
            let mut of_from = self.forward(common, from, common, &|_| true)?;
            let mut of_to = self.forward(common, to, base, matches)?;
            of_from.retain(|path, source| {
                let is_same = of_to.get(path) == Some(source);
                if is_same {
                    of_to.remove(path);
                }
                !is_same
            });
            chained(&self.reversed(of_from, from, matches)?, of_to)
        };
        let (source_files, files) = (self.files(from)?, self.files(to)?);
        copies.retain(|path, source| {
            path != source && source_files.has(source.as_bstr()) && files.has(path.as_bstr())
        });
        Ok(copies)
    }

    fn best_common(&self, one: Target, other: Target) -> Target {
        match (one, other) {
            (Target::Changeset(one), Target::Changeset(other)) => {
                let best = ancestry::best_common(self.revisions.changelog(), one, other);
                best.map_or(Target::Null, Target::Changeset)
            }
            _ => Target::Null,
        }
    }

    fn manifest(&self, target: Target) -> Result<Rc<Manifest>, Abort> {
        self.revisions.manifest(target)
    }

    fn files(&self, target: Target) -> Result<Files<'t>, Abort> {
        match target {
            Target::WorkingCopy => Ok(Files::Recorded(self.dirstate)),
            other => Ok(Files::Committed(self.manifest(other)?)),
        }
    }

    /// Returns what was copied in `to` since its ancestor `from`; the search also ends at a version that `base` has.
    fn forward(
        &mut self,
        from: Target,
        to: Target,
        base: Target,
        matches: &Filter<'_>,
    ) -> Result<Copies, Abort> {
        let committed = match to {
            Target::WorkingCopy => self.revisions.parent(),
            other => other,
        };
        let copies = self.committed_forward(from, committed, base, matches)?;
        Ok(match to {
            Target::WorkingCopy => {
                let matches = |path: &BStr| matches(path) && self.is_in_narrow(path);
                chained(&copies, recorded(self.dirstate, &matches))
            }
            _ => copies,
        })
    }

    fn committed_forward(
        &mut self,
        from: Target,
        to: Target,
        base: Target,
        matches: &Filter<'_>,
    ) -> Result<Copies, Abort> {
        // Nothing can be copied from a revision without files.
        if from == to || from == Target::Null && base == Target::Null {
            return Ok(Copies::new());
        }
        if self.store.copies_by_changeset() {
            return match (from, to) {
                (Target::Changeset(from), Target::Changeset(to)) => {
                    changesets::forward(&self.store, from, to, matches)
                }
                _ => Ok(Copies::new()),
            };
        }
        let (before, after) = (self.manifest(from)?, self.manifest(to)?);
        let base = match base == from {
            true => None,
            false => Some(self.manifest(base)?),
        };
        let mut copies = Copies::new();
        for (path, entry) in after.iter() {
            if before.get(path).is_some() || !matches(path) || !self.is_in_narrow(path) {
                continue;
            }
            let is_there = |path: &BStr, node: &Node| {
                let has = |manifest: &Manifest| {
                    manifest.get(path).is_some_and(|entry| entry.node == *node)
                };
                has(&before) || base.as_ref().is_some_and(|base| has(base))
            };
            if let Some(source) = self.origin(path, &entry.node, &is_there)? {
                copies.insert(path.to_owned(), source);
            }
        }
        Ok(copies)
    }

    /// Returns the path of the newest earlier version for which `is_there` holds.
    fn origin(
        &mut self,
        path: &BStr,
        node: &Node,
        is_there: &dyn Fn(&BStr, &Node) -> bool,
    ) -> Result<Option<BString>, Abort> {
        let mut pending: BTreeMap<(i32, Node), Version> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut at = self.version(path, node)?;
        loop {
            for version in self.versions_before(&at)? {
                if seen.insert((version.number, version.path.clone())) {
                    pending.insert((version.link, version.node), version);
                }
            }
            let Some((_, version)) = pending.pop_last() else {
                return Ok(None);
            };
            if is_there(version.path.as_bstr(), &version.node) {
                return Ok(Some(version.path));
            }
            at = version;
        }
    }

    fn filelog(&mut self, path: &BStr) -> Result<&mut Revlog, Abort> {
        if self.open_filelogs.len() >= OPEN_MAX && !self.open_filelogs.contains_key(path) {
            self.open_filelogs.clear();
        }
        match self.open_filelogs.entry(path.to_owned()) {
            std::collections::btree_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::btree_map::Entry::Vacant(place) => {
                Ok(place.insert(self.store.file(path)?))
            }
        }
    }

    fn version(&mut self, path: &BStr, node: &Node) -> Result<Version, Abort> {
        let versions = self.filelog(path)?;
        let number = versions.find(node);
        let version = number.and_then(|number| Version::of(path, versions, number));
        version.ok_or_else(|| crate::stored::no_version(path, node))
    }

    /// Returns the parents of a version; for a copy, its source comes first.
    fn versions_before(&mut self, version: &Version) -> Result<Vec<Version>, Abort> {
        let path = version.path.as_bstr();
        let versions = self.filelog(path)?;
        // A file may have very many versions, so parents are not searched for by their nodes.
        let parents = ancestry::parents(versions, version.number);
        let parents = parents.into_iter().flatten();
        let parents = parents.filter_map(|number| Version::of(path, versions, number));
        let parents: Vec<Version> = parents.collect();
        let source = Store::copied_from(versions, version.number)?;
        let source = source.filter(|(path, _)| self.is_in_narrow(path.as_bstr()));
        let source = source.map(|(path, node)| self.version(path.as_bstr(), &node));
        Ok(source.transpose()?.into_iter().chain(parents).collect())
    }

    /// Reverses copies, keeping those whose source no longer exists in `target`.
    fn reversed(
        &self,
        copies: Copies,
        target: Target,
        matches: &Filter<'_>,
    ) -> Result<Copies, Abort> {
        let files = self.files(target)?;
        let renamed = copies
            .into_iter()
            .filter(|(_, source)| matches(source.as_bstr()) && !files.has(source.as_bstr()));
        Ok(renamed.map(|(path, source)| (source, path)).collect())
    }
}

/// A version of a file.
struct Version {
    path: BString,
    /// Its number among the versions of that path.
    number: u32,
    node: Node,
    /// The number of the changeset that introduced it.
    link: i32,
}

impl Version {
    fn of(path: &BStr, versions: &Revlog, number: u32) -> Option<Self> {
        let revision = versions.revision(number)?;
        Some(Self {
            path: path.to_owned(),
            number,
            node: revision.node,
            link: revision.link,
        })
    }
}

/// The files of a changeset, or of the working copy.
enum Files<'d> {
    Committed(Rc<Manifest>),
    Recorded(&'d Dirstate),
}

impl Files<'_> {
    fn has(&self, path: &BStr) -> bool {
        match self {
            Self::Committed(manifest) => manifest.get(path).is_some(),
            Self::Recorded(dirstate) => {
                let entry = dirstate.position(path).and_then(|at| dirstate.get(at));
                entry.is_some_and(|(_, entry)| entry.is_tracked())
            }
        }
    }
}

/// Returns the copies that the dirstate records for tracked files.
pub fn recorded(dirstate: &Dirstate, matches: &Filter<'_>) -> Copies {
    let files = dirstate.iter().enumerate();
    let tracked = files.filter(|(_, (path, entry))| entry.is_tracked() && matches(path));
    tracked
        .filter_map(|(at, (path, _))| {
            let source = dirstate.copy_source(at)?;
            Some((path.to_owned(), source.to_owned()))
        })
        .collect()
}

/// Combines two steps of copies: a copy of a copy gets the source of the first.
fn chained(first: &Copies, then: Copies) -> Copies {
    let mut all = first.clone();
    for (path, source) in then {
        let source = first.get(&source).cloned().unwrap_or(source);
        all.insert(path, source);
    }
    all
}
