//! The attributes of paths, from gitattributes(5) files.
//!
//! These are the attributes for adding files: a `.gitattributes` file in the working tree counts, or the one in the
//! index where the file is missing (or all of them come from one tree: `attr.tree`). A file is read when a path below
//! it is first asked about. It is then cached, and checked again once after each [`Attributes::refresh`].

mod blobs;
mod parse;
mod pattern;
mod source;
mod value;
mod vocabulary;

use std::collections::HashMap;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bstr::{BStr, BString, ByteSlice};
use parking_lot::RwLock;

pub use self::blobs::{Blobs, IndexBlobs};
use self::parse::{Assignment, Rule, Rules};
use self::pattern::Candidate;
use self::source::{Loaded, RuleSource};
pub use self::value::Value;
use self::vocabulary::Vocabulary;
use crate::messages::{Messages, bytes};
use vigil_stamp::{SeenFile, Stamp};

const FILE_NAME: &str = ".gitattributes";

/// Where attributes are read from, all paths absolute.
#[derive(Clone, Debug, Default)]
pub struct AttributeFiles {
    /// The top of the working tree, which has the `.gitattributes` files; `None` in a bare repository.
    pub work_tree: Option<PathBuf>,
    /// The repository's own file, which wins over all others.
    pub info_file: PathBuf,
    /// The name of that file in messages.
    pub info_origin: BString,
    /// The user's file.
    pub user_file: Option<PathBuf>,
    /// The system's file.
    pub system_file: Option<PathBuf>,
    /// Whether patterns ignore the case of letters (`core.ignoreCase`).
    pub fold_case: bool,
}

/// A line in an attributes file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The file's name in messages; for a `.gitattributes` file, its path from the top of the working tree.
    pub file: BString,
    /// The line, from 1.
    pub line: usize,
}

/// The attributes of one working tree. Shared by threads.
pub struct Attributes {
    work_tree: Option<PathBuf>,
    fold_case: bool,
    /// `info/attributes`, which wins over all others.
    info: RuleSource,
    /// The user's file, then the system's: they yield to all others.
    fallbacks: Vec<RuleSource>,
    built_in: Rules,
    messages: Arc<Messages>,
    blobs: RwLock<Blobs>,
    /// The number of refreshes. What was checked under an older number is checked again.
    generation: AtomicU64,
    outer: RwLock<Option<Arc<Outer>>>,
    directories: RwLock<HashMap<BString, Arc<Directory>>>,
    /// The vocabularies of the latest questions.
    vocabularies: RwLock<Vec<Arc<Vocabulary>>>,
}

/// The most vocabularies that are cached.
const VOCABULARIES_MAX: usize = 16;

/// The files outside of the working tree.
struct Outer {
    generation: u64,
    info: Arc<Loaded>,
    fallbacks: Vec<Arc<Loaded>>,
}

/// A directory of the working tree and its `.gitattributes` file.
struct Directory {
    path: BString,
    generation: u64,
    own: Arc<Loaded>,
    parent: Option<Arc<Directory>>,
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attributes")
            .field("work_tree", &self.work_tree)
            .finish_non_exhaustive()
    }
}

impl Attributes {
    /// Reads attributes from `files` and `blobs`. git's warnings about the files go to `messages`.
    pub fn new(files: AttributeFiles, blobs: Blobs, messages: Arc<Messages>) -> Self {
        let outer_source = |(path, origin): (PathBuf, BString)| RuleSource {
            file: Some(path),
            follow: true,
            blob: None,
            origin,
            macros: true,
        };
        let binary = ["diff", "merge", "text"].map(|name| Assignment {
            name: name.into(),
            value: Value::Unset,
        });
        let named = |path: PathBuf| {
            let origin = path.as_os_str().as_bytes().into();
            outer_source((path, origin))
        };
        Self {
            work_tree: files.work_tree,
            fold_case: files.fold_case,
            info: outer_source((files.info_file, files.info_origin)),
            fallbacks: [files.user_file, files.system_file]
                .into_iter()
                .flatten()
                .map(named)
                .collect(),
            built_in: Rules {
                macros: HashMap::from([("binary".into(), binary.into())]),
                ..Rules::default()
            },
            messages,
            blobs: RwLock::new(blobs),
            generation: AtomicU64::new(0),
            outer: RwLock::default(),
            directories: RwLock::default(),
            vocabularies: RwLock::default(),
        }
    }

    /// Returns the files outside of the working tree, as they are now. One that cannot be examined counts as missing.
    pub fn outer_files(&self) -> Vec<SeenFile> {
        let sources = std::iter::once(&self.info).chain(&self.fallbacks);
        let paths = sources.filter_map(|source| source.file.clone());
        paths
            .map(|path| SeenFile {
                stamp: Stamp::of(&path).ok().flatten(),
                path,
            })
            .collect()
    }

    /// Makes later lookups see the files and the index as they are now. This costs nothing by itself: each file is
    /// checked when it is next needed.
    pub fn refresh(&self, blobs: Blobs) {
        *self.blobs.write() = blobs;
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the values of the attributes `names` for `path`, in their order. The path is relative to the top of the
    /// working tree; a directory's ends in `/`.
    pub fn lookup<const N: usize>(&self, path: &BStr, names: [&str; N]) -> [Value; N] {
        let mut values = self.lookup_many(path, &names).into_iter();
        std::array::from_fn(|_| values.next().unwrap_or_default())
    }

    /// Like [`Attributes::lookup`], for names that are known only at run time.
    pub(crate) fn lookup_many(&self, path: &BStr, names: &[&str]) -> Vec<Value> {
        let values = self.find_each(path, names, |found| found.value.clone());
        values.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Returns the values of the attributes `names` for `path` as [`Attributes::lookup`] does, with the line that each
    /// value comes from; `None` if no line sets the attribute.
    pub fn lookup_with_origins(&self, path: &BStr, names: &[&str]) -> Vec<Option<(Value, Origin)>> {
        self.find_each(path, names, |found| {
            let place = Origin {
                file: found.origin.to_owned(),
                line: found.line,
            };
            (found.value.clone(), place)
        })
    }

    /// Finds each of the attributes `names` for `path`, mapped by `take`.
    fn find_each<T>(
        &self,
        path: &BStr,
        names: &[&str],
        take: impl Fn(&AssignedValue<'_>) -> T,
    ) -> Vec<Option<T>> {
        let generation = self.generation.load(Ordering::SeqCst);
        let candidate = Candidate::new(path);
        let outer = self.outer(generation);
        let nearest = self.directory(candidate.parent(), generation);
        let mut directories: Vec<&Directory> = Vec::new();
        let mut next = Some(&nearest);
        while let Some(directory) = next {
            directories.push(directory);
            next = directory.parent.as_ref();
        }
        // Of the files in the tree, only the one at the top may define macros.
        let top = directories.last().map(|directory| &directory.own);
        let vocabulary = self.vocabulary(names, &outer, top);

        // In order of precedence, the highest first.
        let root = BStr::new(b"");
        let layers = std::iter::once((root, &*outer.info.rules))
            .chain(
                directories
                    .iter()
                    .map(|directory| (directory.path.as_ref(), &*directory.own.rules)),
            )
            .chain(outer.fallbacks.iter().map(|loaded| (root, &*loaded.rules)));
        let mut found: Vec<Option<AssignedValue<'_>>> = Vec::new();
        found.resize_with(vocabulary.len(), || None);
        for (base, rules) in layers {
            for rule in rules.rules.iter().rev() {
                if rule.pattern.matches(candidate, base, self.fold_case) {
                    assign(rule, rules.origin.as_bstr(), &mut found, &vocabulary);
                }
            }
        }
        let state = |name: &&str| {
            let number = vocabulary.number(BStr::new(*name))?;
            found.get(number)?.as_ref().map(&take)
        };
        names.iter().map(state).collect()
    }

    /// Returns the vocabulary of a question for `names`, in which the files of `outer` and the one at the `top` define
    /// macros.
    fn vocabulary(
        &self,
        names: &[&str],
        outer: &Outer,
        top: Option<&Arc<Loaded>>,
    ) -> Arc<Vocabulary> {
        let sources: Vec<&Arc<Loaded>> = std::iter::once(&outer.info)
            .chain(top)
            .chain(&outer.fallbacks)
            .collect();
        let is_it = |known: &&Arc<Vocabulary>| known.is_of(names, sources.iter().copied());
        if let Some(known) = self.vocabularies.read().iter().find(is_it) {
            return Arc::clone(known);
        }
        let sources = sources.into_iter().cloned().collect();
        let new = Arc::new(Vocabulary::new(names, sources, &self.built_in));
        let mut all = self.vocabularies.write();
        if all.len() >= VOCABULARIES_MAX {
            all.remove(0);
        }
        all.push(Arc::clone(&new));
        new
    }

    /// Returns the blob that the index records for `path`.
    pub fn index_blob(&self, path: &BStr) -> Option<Vec<u8>> {
        let index = Arc::clone(&self.blobs.read().index);
        index.blob(path)
    }

    /// The collector of messages.
    pub fn messages(&self) -> &Arc<Messages> {
        &self.messages
    }

    fn outer(&self, generation: u64) -> Arc<Outer> {
        let earlier = self.outer.read().clone();
        if let Some(earlier) = &earlier
            && earlier.generation == generation
        {
            return Arc::clone(earlier);
        }
        let blobs = self.blobs.read().clone();
        let load = |source: &RuleSource, earlier: Option<&Arc<Loaded>>| {
            source.load(earlier.cloned(), &*blobs.index)
        };
        let outer = Arc::new(Outer {
            generation,
            info: load(&self.info, earlier.as_ref().map(|earlier| &earlier.info)),
            fallbacks: self
                .fallbacks
                .iter()
                .enumerate()
                .map(|(at, source)| {
                    load(
                        source,
                        earlier
                            .as_ref()
                            .and_then(|earlier| earlier.fallbacks.get(at)),
                    )
                })
                .collect(),
        });
        let mut slot = self.outer.write();
        match &*slot {
            // Another thread was faster, and has reported the messages already.
            Some(other) if other.generation >= generation => Arc::clone(other),
            _ => {
                for loaded in outer.fallbacks.iter().rev().chain([&outer.info]) {
                    self.messages.extend(&loaded.complaints);
                }
                *slot = Some(Arc::clone(&outer));
                outer
            }
        }
    }

    fn directory(&self, path: &BStr, generation: u64) -> Arc<Directory> {
        if let Some(directory) = self.directories.read().get(path)
            && directory.generation == generation
        {
            return Arc::clone(directory);
        }
        let mut directory = self.load_directory(BStr::new(b""), None, generation);
        let ends = path.find_iter(b"/").chain([path.len()]);
        for end in ends.filter(|end| *end > 0) {
            let part = path.get(..end).unwrap_or_default().as_bstr();
            directory = self.load_directory(part, Some(directory), generation);
        }
        directory
    }

    /// Loads one directory, whose parent is up to date.
    fn load_directory(
        &self,
        path: &BStr,
        parent: Option<Arc<Directory>>,
        generation: u64,
    ) -> Arc<Directory> {
        let is_current = |directory: &Directory| {
            directory.generation >= generation
                && match (&directory.parent, &parent) {
                    (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                    (None, None) => true,
                    _ => false,
                }
        };
        let earlier = self.directories.read().get(path).cloned();
        if let Some(earlier) = &earlier
            && is_current(earlier)
        {
            return Arc::clone(earlier);
        }
        let blobs = self.blobs.read().clone();
        let (file, source) = match (&blobs.tree, &self.work_tree) {
            (Some(tree), _) => (None, &**tree),
            (None, work_tree) => (
                work_tree
                    .as_ref()
                    .map(|top| top.join(Path::new(std::ffi::OsStr::from_bytes(path)))),
                &*blobs.index,
            ),
        };
        let origin: BString = match path.is_empty() {
            true => FILE_NAME.into(),
            false => bytes!(path, "/", FILE_NAME).into(),
        };
        let own = RuleSource {
            // In a bare repository there are no files, and the index does not count.
            blob: (file.is_some() || blobs.tree.is_some()).then(|| origin.clone()),
            file: file.map(|directory| directory.join(FILE_NAME)),
            follow: false,
            macros: path.is_empty(),
            origin,
        }
        .load(earlier.map(|earlier| Arc::clone(&earlier.own)), source);
        let mut directories = self.directories.write();
        if let Some(other) = directories.get(path)
            && is_current(other)
        {
            return Arc::clone(other);
        }
        self.messages.extend(&own.complaints);
        let directory = Arc::new(Directory {
            path: path.into(),
            generation,
            own,
            parent,
        });
        directories.insert(path.into(), Arc::clone(&directory));
        directory
    }
}

/// The value of an attribute, and where it was set.
struct AssignedValue<'a> {
    value: &'a Value,
    origin: &'a BStr,
    line: usize,
}

/// Notes the values that `rule`, of the file `origin`, gives to attributes that have none yet. Later assignments come
/// first. A macro that is set adds its own assignments.
fn assign<'a>(
    rule: &'a Rule,
    origin: &'a BStr,
    found: &mut [Option<AssignedValue<'a>>],
    vocabulary: &'a Vocabulary,
) {
    let line = rule.line;
    let named = rule.assignments.iter().filter_map(|assignment| {
        let number = vocabulary.number(assignment.name.as_ref())?;
        Some((number, &assignment.value))
    });
    let mut waiting: Vec<(usize, &Value)> = named.collect();
    while let Some((number, value)) = waiting.pop() {
        let Some(state @ None) = found.get_mut(number) else {
            continue;
        };
        *state = Some(AssignedValue {
            value,
            origin,
            line,
        });
        if *value == Value::Set {
            let meaning = vocabulary.meaning(number).iter();
            waiting.extend(meaning.map(|(number, value)| (*number, value)));
        }
    }
}

#[cfg(test)]
mod tests;
