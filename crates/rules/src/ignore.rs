//! gitignore rules (gitignore(5)): which rule, if any, decides about a path.
//!
//! The rules of a directory are one immutable value, linked to the rules of its parent, so any number of threads
//! can share them. The walker handles directories that are themselves ignored.

mod digest;
mod list;

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use list::Probe;
pub(crate) use list::{Line, lines};
pub use list::{PatternList, parse};

/// The largest file of rules that is read, in bytes. git counts the newline that it appends to the file's contents.
const FILE_SIZE_MAX: u64 = 100 * 1024 * 1024 - 1;

/// The rules that apply to the whole working tree: names and contents of their files.
#[derive(Clone, Copy, Debug, Default)]
pub struct GlobalSources<'a> {
    /// `core.excludesFile`, which yields to all others.
    pub excludes_file: Option<(&'a Path, &'a [u8])>,
    /// `$GIT_COMMON_DIR/info/exclude`.
    pub info_exclude: Option<(&'a Path, &'a [u8])>,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
}

/// The rule that decides about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    /// Whether the rule is negated (`!`), so that it takes back earlier ones.
    pub is_negated: bool,
    /// The file that contains the rule; a `.gitignore` is relative to the top of the working tree.
    pub source: &'a BStr,
    /// The rule's line in that file, from 1.
    pub line: usize,
    /// The rule as written, without trailing spaces.
    pub pattern: &'a BStr,
}

/// The rules of one directory, linked to those of its parents and of the whole working tree.
#[derive(Debug)]
pub struct IgnoreRules {
    parent: Option<Arc<IgnoreRules>>,
    /// The directory that the rules belong to, without trailing slash.
    dir: BString,
    source: BString,
    ignore_case: bool,
    list: PatternList,
    digest: u128,
}

impl IgnoreRules {
    /// Returns the rules of the working tree as a whole. A file larger than `FILE_SIZE_MAX` counts as empty,
    /// though git would give up.
    pub fn root(global: GlobalSources<'_>) -> Arc<Self> {
        let empty = Arc::new(Self {
            parent: None,
            dir: BString::default(),
            source: BString::default(),
            ignore_case: global.ignore_case,
            list: PatternList::default(),
            digest: digest::of_none(global.ignore_case),
        });
        [global.excludes_file, global.info_exclude]
            .into_iter()
            .flatten()
            .fold(empty, |rules, (path, contents)| {
                let source = BString::from(path.as_os_str().as_encoded_bytes());
                rules.with_list(BStr::new(""), source, contents)
            })
    }

    /// Returns these rules with those of the `.gitignore` in `dir` on top. `dir` is relative to the top of the
    /// working tree, without trailing slash (empty for the top). Returns the rules unchanged if the file has no
    /// rule or is larger than `FILE_SIZE_MAX`.
    pub fn with_file(self: &Arc<Self>, dir: &BStr, contents: &[u8]) -> Arc<Self> {
        let mut source = dir.to_owned();
        if !source.is_empty() {
            source.push(b'/');
        }
        source.extend_from_slice(b".gitignore");
        self.with_list(dir, source, contents)
    }

    fn with_list(self: &Arc<Self>, dir: &BStr, source: BString, contents: &[u8]) -> Arc<Self> {
        if contents.len() as u64 > FILE_SIZE_MAX {
            return Arc::clone(self);
        }
        let list = parse(contents, self.ignore_case);
        if list.is_empty() {
            return Arc::clone(self);
        }
        Arc::new(Self {
            parent: Some(Arc::clone(self)),
            dir: dir.to_owned(),
            source,
            ignore_case: self.ignore_case,
            digest: digest::of(self.digest, dir, &list),
            list,
        })
    }

    /// A digest of what these rules decide: equal for two values only if the same rules apply in the same order in
    /// the same directories, with the same case sensitivity. File names and line numbers do not count. It is the
    /// same in every process of one version of Vigil.
    pub fn digest(&self) -> u128 {
        self.digest
    }

    /// Returns the rule that decides about `path`, which is relative to the top of the working tree and has no
    /// trailing slash: the last matching rule of the deepest file that has one. `path` must be in the directory of
    /// these rules or below it.
    pub fn matching(&self, path: &BStr, is_dir: bool) -> Option<Match<'_>> {
        let mut probe = Probe::new(path.as_bytes(), is_dir);
        let mut rules = self;
        // What is below a directory is below those above it, too.
        let mut is_below = false;
        loop {
            is_below = is_below || self::is_below(path, rules.dir.as_bstr());
            let relative_start = match rules.dir.len() {
                0 => 0,
                len => len.saturating_add(1),
            };
            if is_below && let Some(pattern) = rules.list.last_match(&mut probe, relative_start) {
                return Some(Match {
                    is_negated: pattern.is_negated,
                    source: rules.source.as_bstr(),
                    line: pattern.line,
                    pattern: rules.list.text(pattern),
                });
            }
            rules = rules.parent.as_deref()?;
        }
    }

    /// Whether the rule that decides about `path` ignores it.
    pub fn is_ignored(&self, path: &BStr, is_dir: bool) -> bool {
        self.matching(path, is_dir)
            .is_some_and(|rule| !rule.is_negated)
    }
}

impl Drop for IgnoreRules {
    /// Frees the parents in a loop: directories may be nested deeper than a thread's stack.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(rules) = parent {
            parent = Arc::into_inner(rules).and_then(|mut rules| rules.parent.take());
        }
    }
}

fn is_below(path: &BStr, dir: &BStr) -> bool {
    let inside = path.strip_prefix(dir.as_bytes());
    dir.is_empty() || inside.is_some_and(|inside| inside.first() == Some(&b'/'))
}

#[cfg(test)]
mod tests;
