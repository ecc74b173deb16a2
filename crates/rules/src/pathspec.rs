//! Pathspecs (gitglossary(7) "pathspec"): which paths a question is about.
//!
//! Beyond the plain test [`Pathspec::matches`], a walk through the working tree needs to know where to look at all.
//! git decides that in three steps, each of which shows in the output of `git status`:
//!
//! - The walk starts in [`Pathspec::common_prefix`] and looks nowhere else. The directories on the way there are
//!   judged one by one like any others; one that is not entered is reported if it would be reported elsewhere.
//! - Any name for which [`Pathspec::may_match_at_or_below`] is false is skipped. Nothing else keeps git out of a directory that
//!   contains tracked files.
//! - An untracked directory is judged by [`Pathspec::directory_relation`], which also says whether it is reported as
//!   one name. An ignored directory is not judged that way: only the files found in it must match, and where ignored
//!   directories are reported without looking inside, nothing must match.
//!
//! A directory that is reported as one name must contain at least one file that matches.

mod location;
mod parse;

use bstr::{BStr, BString, ByteSlice};
pub use parse::{Error, Settings, parse, path_in};

use vigil_model::wildmatch::{self, Flags};

/// The state of an attribute for a path (gitattributes(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeState {
    /// `name`
    Set,
    /// `-name`
    Unset,
    /// Not mentioned, or `!name`.
    Unspecified,
    /// `name=value`
    Value(BString),
}

/// Looks up attributes for `:(attr:...)`.
pub trait AttributeLookup {
    /// Returns the state of the attribute `name` for `path`, which is relative to the top of the working tree. A
    /// directory that is judged as untracked ends in `/`.
    fn attribute(&self, path: &BStr, name: &BStr) -> AttributeState;
}

/// How an untracked directory relates to a pathspec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The directory is not entered; nothing in it is reported.
    Outside,
    /// A pathspec leads into the directory. It is entered, and the files that match are reported one by one, as if
    /// the directory had tracked files, however untracked files are shown. If it is a repository of its own, nothing
    /// is reported.
    LeadsInside,
    /// The directory itself matches. Where untracked directories are shown as one name, this one is, if any untracked
    /// file below it matches. The names below must be matched one by one.
    Itself,
    /// Like [`Relation::Itself`], and all names below match.
    All,
}

/// The magic of a pathspec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Magic {
    top: bool,
    literal: bool,
    glob: bool,
    icase: bool,
    exclude: bool,
}

/// A condition of `:(attr:...)`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AttributeCondition {
    name: BString,
    state: AttributeState,
}

/// One pathspec.
#[derive(Clone, Debug)]
struct Item {
    magic: Magic,
    attributes: Vec<AttributeCondition>,
    /// The path or glob, relative to the top of the working tree.
    pattern: BString,
    /// The length of the part of the pattern that is the caller's directory. That part is compared literally and is
    /// always case-sensitive.
    prefix_len: usize,
    /// The length of the pattern up to the first special byte of a glob; at least `prefix_len`.
    literal_len: usize,
    /// Whether the pattern from `literal_len` on is one star, which matches slashes too, and a literal suffix.
    is_star_and_ending: bool,
}

/// How well an item matches. git uses the best match; later variants are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Quality {
    /// The pattern is a directory above the path.
    Recursive,
    /// The path itself does not match, but something below it may.
    Leading,
    Glob,
    Exact,
}

/// The kind of path that [`Item::matches`] is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// A file, or a directory whose name ends in `/`.
    Plain,
    /// A directory or submodule without trailing slash.
    Directory,
    /// A directory with trailing slash; pathspecs that lead into it count as matches.
    Leading,
}

/// The pathspecs of one question. The default has none and matches every path.
#[derive(Clone, Debug, Default)]
pub struct Pathspec {
    items: Vec<Item>,
}

impl Pathspec {
    /// Whether there is no pathspec, so that every path matches.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether any pathspec uses attributes.
    pub fn uses_attributes(&self) -> bool {
        self.items.iter().any(|item| !item.attributes.is_empty())
    }

    /// Whether any pathspec uses the attribute `name`.
    pub fn asks_for(&self, name: &str) -> bool {
        let mut conditions = self.items.iter().flat_map(|item| &item.attributes);
        conditions.any(|condition| condition.name == name)
    }

    /// Whether `path` matches. For an index entry, `is_dir` says that it is a submodule or a sparse directory.
    pub fn matches(&self, path: &BStr, is_dir: bool, attributes: &dyn AttributeLookup) -> bool {
        let subject = match is_dir {
            true => Subject::Directory,
            false => Subject::Plain,
        };
        self.quality(path, subject, attributes).is_some()
    }

    /// Returns the directory that contains all paths that can match, with trailing slash, or an empty path.
    ///
    /// It need not be a directory: a component may be missing, a symbolic link, or `.`, `..` or `.git` (`:/./a/`).
    /// Then git finds nothing untracked.
    pub fn common_prefix(&self) -> &BStr {
        let Some(first) = self.items.first() else {
            return BStr::new("");
        };
        // If the first item is an exclusion, there is no prefix: git compares the others with an empty one.
        let mut prefix: &[u8] = match first.magic.exclude {
            true => b"",
            false => up_to_slash(first.reliable_prefix()),
        };
        for item in self.items.iter().skip(1) {
            if !item.magic.exclude {
                let same = prefix
                    .iter()
                    .zip(item.reliable_prefix())
                    .take_while(|(left, right)| left == right)
                    .count();
                prefix = up_to_slash(prefix.get(..same).unwrap_or_default());
            }
        }
        prefix.as_bstr()
    }

    /// Whether `path`, without trailing slash, or anything below it may match, judging by literal prefixes alone.
    /// False is certain.
    pub fn may_match_at_or_below(&self, path: &BStr) -> bool {
        self.items.is_empty()
            || self
                .items
                .iter()
                .any(|item| item.may_match_at_or_below(path))
    }

    /// Returns how the untracked directory `dir` is treated. It is relative to the top of the working tree, without
    /// trailing slash, and not ignored.
    ///
    /// The rule: [`Relation::Outside`] if no literal prefix fits ([`Self::may_match_at_or_below`]), if no pathspec matches `dir/`
    /// or may match below it, or if an exclusion matches `dir/`. Otherwise the best match of `dir/` decides. A
    /// directory above it, or a glob that matches `dir/` itself, makes it [`Relation::Itself`] or [`Relation::All`].
    /// A pathspec that leads into it (`dir/file`, `*.c`) is better than a directory above it (`.`), and makes it
    /// [`Relation::LeadsInside`].
    ///
    /// Directories with tracked files are not judged this way, only by [`Self::may_match_at_or_below`]: a glob that excludes
    /// `dir/` does not exclude its contents.
    pub fn directory_relation(&self, dir: &BStr, attributes: &dyn AttributeLookup) -> Relation {
        if self.items.is_empty() {
            return Relation::All;
        }
        if dir.is_empty() {
            return Relation::LeadsInside;
        }
        if !self.may_match_at_or_below(dir) {
            return Relation::Outside;
        }
        let mut with_slash = BString::new(Vec::with_capacity(dir.len() + 1));
        with_slash.extend_from_slice(dir);
        with_slash.push(b'/');
        match self.quality(with_slash.as_bstr(), Subject::Leading, attributes) {
            None => Relation::Outside,
            Some(Quality::Leading) => Relation::LeadsInside,
            Some(_) if self.matches_all_below(with_slash.as_bstr()) => Relation::All,
            Some(_) => Relation::Itself,
        }
    }

    /// Whether everything below `dir`, which has a trailing slash, is certain to match.
    fn matches_all_below(&self, dir: &BStr) -> bool {
        let (exclusions, inclusions): (Vec<_>, Vec<_>) =
            self.items.iter().partition(|item| item.magic.exclude);
        inclusions
            .iter()
            .any(|item| item.attributes.is_empty() && item.is_at_or_above(dir))
            && !exclusions
                .iter()
                .any(|item| item.may_match_at_or_below(dir))
    }

    /// Returns how well `path` matches, or `None` if it does not match or is excluded.
    fn quality(
        &self,
        path: &BStr,
        subject: Subject,
        attributes: &dyn AttributeLookup,
    ) -> Option<Quality> {
        if self.items.is_empty() {
            return Some(Quality::Recursive);
        }
        let best = |exclusions: bool| {
            self.items
                .iter()
                .filter(|item| item.magic.exclude == exclusions)
                .filter_map(|item| item.matches(path, subject, attributes))
                .max()
        };
        let quality = best(false)?;
        match best(true) {
            Some(_) => None,
            None => Some(quality),
        }
    }
}

/// Returns `path` up to and including its last slash.
fn up_to_slash(path: &[u8]) -> &[u8] {
    let end = path.rfind_byte(b'/').map_or(0, |slash| slash + 1);
    path.get(..end).unwrap_or_default()
}

impl Item {
    fn equal(&self, left: &[u8], right: &[u8]) -> bool {
        if self.magic.icase {
            left.eq_ignore_ascii_case(right)
        } else {
            left == right
        }
    }

    /// Whether `path` and the pattern have their first `len` bytes in common.
    fn shares_prefix(&self, path: &[u8], len: usize) -> bool {
        match (self.pattern.get(..len), path.get(..len)) {
            (Some(pattern), Some(path)) => self.equal(pattern, path),
            _ => false,
        }
    }

    /// Returns the part of the pattern that every match begins with, byte for byte.
    fn reliable_prefix(&self) -> &[u8] {
        let len = match self.magic.icase {
            true => self.prefix_len,
            false => self.literal_len,
        };
        self.pattern.get(..len).unwrap_or_default()
    }

    fn may_match_at_or_below(&self, path: &BStr) -> bool {
        self.shares_prefix(path, self.literal_len.min(path.len()))
    }

    fn is_glob(&self) -> bool {
        self.literal_len < self.pattern.len()
    }

    /// Whether the pattern is `path` or a directory above it, literally.
    fn is_at_or_above(&self, path: &BStr) -> bool {
        let len = self.pattern.len();
        if len == 0 {
            return true;
        }
        self.has_prefix_case(path)
            && self.shares_prefix(path, len)
            && (len == path.len() || self.pattern.ends_with(b"/") || path.get(len) == Some(&b'/'))
    }

    /// Whether `path` begins with the caller's directory in its exact case.
    fn has_prefix_case(&self, path: &BStr) -> bool {
        !self.magic.icase
            || self
                .pattern
                .get(..self.prefix_len)
                .is_some_and(|prefix| path.starts_with(prefix))
    }

    fn matches(
        &self,
        path: &BStr,
        subject: Subject,
        attributes: &dyn AttributeLookup,
    ) -> Option<Quality> {
        let has_attributes = |condition: &AttributeCondition| {
            attributes.attribute(path, condition.name.as_bstr()) == condition.state
        };
        if !self.has_prefix_case(path) || !self.attributes.iter().all(has_attributes) {
            return None;
        }
        let len = self.pattern.len();
        if self.is_at_or_above(path) {
            return Some(if len == path.len() && len > 0 {
                Quality::Exact
            } else {
                Quality::Recursive
            });
        }
        if subject == Subject::Directory
            && self.pattern.ends_with(b"/")
            && path.len() + 1 == len
            && self.shares_prefix(path, path.len())
        {
            return Some(Quality::Exact);
        }
        if self.is_glob() && self.glob_matches(path) {
            return Some(Quality::Glob);
        }
        if subject != Subject::Leading || self.magic.exclude {
            return None;
        }
        let goes_below =
            path.len() < len && path.ends_with(b"/") && self.shares_prefix(path, path.len());
        // Whether the glob can match below is not known; git assumes that it can.
        let glob_may_match = self.is_glob() && self.shares_prefix(path, self.literal_len);
        (goes_below || glob_may_match).then_some(Quality::Leading)
    }

    fn glob_matches(&self, path: &BStr) -> bool {
        let (Some(glob), Some(rest)) = (
            self.pattern.get(self.literal_len..),
            path.get(self.literal_len..),
        ) else {
            return false;
        };
        if !self.shares_prefix(path, self.literal_len) {
            return false;
        }
        if self.is_star_and_ending {
            let ending = glob.get(1..).unwrap_or_default();
            return rest
                .len()
                .checked_sub(ending.len())
                .and_then(|start| rest.get(start..))
                .is_some_and(|end| self.equal(end, ending));
        }
        let flags = Flags {
            pathname: self.magic.glob,
            fold_case: self.magic.icase,
        };
        wildmatch::wildmatch(glob, rest, flags)
    }
}

#[cfg(test)]
mod tests;
