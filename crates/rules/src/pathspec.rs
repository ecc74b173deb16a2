//! Pathspecs (gitglossary(7) "pathspec"): which paths a question is about.
//!
//! Beyond the plain test [`Pathspec::matches`], a walk through the working tree needs to know where to look at all.
//! git decides that in three steps, each of which shows in what `git status` prints:
//!
//! - It starts in [`Pathspec::common_prefix`] and looks at nothing beside. The directories that lead there are judged
//!   one after the other like any others, and one that is not entered is reported if it would be elsewhere.
//! - Any name for which [`Pathspec::may_concern`] is false is passed over. This is all that keeps git out of a
//!   directory with tracked files in it.
//! - An untracked directory is judged by [`Pathspec::directory_relation`], which also says whether it is reported
//!   as one name. A directory that is itself ignored is not judged so; only files found in it must match, and
//!   where ignored directories are reported without a look inside, nothing must.
//!
//! A directory that is reported as one name must hold at least one file that matches.

mod location;
mod parse;

use bstr::{BStr, BString, ByteSlice};
pub use parse::{Error, Settings, parse, path_in};

use super::wildmatch::{self, Flags};

/// What a path's attribute is (gitattributes(5)).
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
    /// The attribute `name` of `path`, which is relative to the top of the working tree; a directory that is looked
    /// at as an untracked one ends in `/`.
    fn attribute(&self, path: &BStr, name: &BStr) -> AttributeState;
}

/// An [`AttributeLookup`] for which no path has attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAttributes;

impl AttributeLookup for NoAttributes {
    fn attribute(&self, _path: &BStr, _name: &BStr) -> AttributeState {
        AttributeState::Unspecified
    }
}

/// How an untracked directory relates to a pathspec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It is not entered; nothing in it is reported.
    None,
    /// The pathspec goes into it: it is entered, and what matches there is reported name by name, as if the
    /// directory had tracked files, however untracked files are shown. Not so if it is a repository of its own: then
    /// nothing is reported.
    Some,
    /// It matches itself: where untracked directories are shown as one name, it is, if any untracked file below
    /// matches. Names below have to be matched one by one.
    Itself,
    /// As [`Relation::Itself`], and all names below match.
    All,
}

/// What a pathspec's `magic` may be.
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
    /// How much of the pattern is the caller's directory, which is compared literally and in its own case.
    prefix_len: usize,
    /// How much of the pattern comes before the first special byte of a glob; at least `prefix_len`.
    literal_len: usize,
    /// Whether all behind `literal_len` is one star and a literal ending, which matches across slashes.
    is_star_and_ending: bool,
}

/// How well an item matches; git reports the best, and a later one is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Quality {
    /// A directory above the path.
    Recursive,
    /// Not the path, but perhaps something below it.
    Leading,
    Glob,
    Exact,
}

/// What the path is, for [`Item::matches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// A file, or a name that ends in `/` if it is a directory.
    Plain,
    /// A directory or submodule without trailing slash.
    Directory,
    /// A directory with trailing slash, where a pathspec that goes into it counts.
    Leading,
}

/// The pathspecs of one question. The default one, without any, is about every path.
#[derive(Clone, Debug, Default)]
pub struct Pathspec {
    items: Vec<Item>,
}

impl Pathspec {
    /// Whether there is no pathspec, so that every path is meant.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether attributes are asked for: the methods without lookup know none.
    pub fn uses_attributes(&self) -> bool {
        self.items.iter().any(|item| !item.attributes.is_empty())
    }

    /// Whether the attribute `name` is asked for.
    pub fn asks_for(&self, name: &str) -> bool {
        let mut conditions = self.items.iter().flat_map(|item| &item.attributes);
        conditions.any(|condition| condition.name == name)
    }

    /// Whether `path` is meant. Of an index entry, `is_dir` says that it is a submodule or a sparse directory.
    pub fn matches(&self, path: &BStr, is_dir: bool) -> bool {
        self.matches_with(path, is_dir, &NoAttributes)
    }

    /// [`Self::matches`], with attributes.
    pub fn matches_with(
        &self,
        path: &BStr,
        is_dir: bool,
        attributes: &dyn AttributeLookup,
    ) -> bool {
        let subject = match is_dir {
            true => Subject::Directory,
            false => Subject::Plain,
        };
        self.quality(path, subject, attributes).is_some()
    }

    /// The directory that all paths meant are in, with trailing slash, or nothing.
    ///
    /// It may be no directory at all, have a symbolic link on its way, or a component that is `.`, `..` or `.git`
    /// (`:/./a/`): then git finds nothing untracked.
    pub fn common_prefix(&self) -> &BStr {
        let Some(first) = self.items.first() else {
            return BStr::new("");
        };
        // An exclusion in the first place leaves no prefix: git compares the others with it, as far as nothing.
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

    /// Whether `path`, without trailing slash, or anything below it may be meant, by a comparison of beginnings
    /// alone. False is certain.
    pub fn may_concern(&self, path: &BStr) -> bool {
        self.items.is_empty() || self.items.iter().any(|item| item.may_concern(path))
    }

    /// How `dir`, an untracked directory relative to the top of the working tree, without trailing slash and not
    /// ignored, is treated.
    ///
    /// The rule: if no beginning fits ([`Self::may_concern`]), or if no pathspec matches `dir/` or may match below
    /// it, or if an exclusion matches `dir/`: [`Relation::None`]. Otherwise the best match of `dir/` decides: one
    /// that is the directory above or a glob that matches `dir/` itself makes it [`Relation::Itself`] or
    /// [`Relation::All`]; but a pathspec that goes into it (`dir/file`, `*.c`) is better than one that is a
    /// directory above (`.`), and makes it [`Relation::Some`].
    ///
    /// Directories with tracked files are not treated so but by [`Self::may_concern`]: a glob that excludes `dir/`
    /// does not exclude what is in it.
    pub fn directory_relation(&self, dir: &BStr) -> Relation {
        self.directory_relation_with(dir, &NoAttributes)
    }

    /// [`Self::directory_relation`], with attributes.
    pub fn directory_relation_with(
        &self,
        dir: &BStr,
        attributes: &dyn AttributeLookup,
    ) -> Relation {
        if self.items.is_empty() {
            return Relation::All;
        }
        if dir.is_empty() {
            return Relation::Some;
        }
        if !self.may_concern(dir) {
            return Relation::None;
        }
        let mut with_slash = BString::new(Vec::with_capacity(dir.len() + 1));
        with_slash.extend_from_slice(dir);
        with_slash.push(b'/');
        match self.quality(with_slash.as_bstr(), Subject::Leading, attributes) {
            None => Relation::None,
            Some(Quality::Leading) => Relation::Some,
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
            && !exclusions.iter().any(|item| item.may_concern(dir))
    }

    /// How well `path` matches; `None` if it does not, or is excluded.
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

/// `path` up to its last slash, with it.
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

    /// Whether `path` begins as the pattern does, for `len` bytes.
    fn begins_alike(&self, path: &[u8], len: usize) -> bool {
        match (self.pattern.get(..len), path.get(..len)) {
            (Some(pattern), Some(path)) => self.equal(pattern, path),
            _ => false,
        }
    }

    /// The part of the pattern with which every match begins, byte by byte.
    fn reliable_prefix(&self) -> &[u8] {
        let len = match self.magic.icase {
            true => self.prefix_len,
            false => self.literal_len,
        };
        self.pattern.get(..len).unwrap_or_default()
    }

    fn may_concern(&self, path: &BStr) -> bool {
        self.begins_alike(path, self.literal_len.min(path.len()))
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
            && self.begins_alike(path, len)
            && (len == path.len() || self.pattern.ends_with(b"/") || path.get(len) == Some(&b'/'))
    }

    /// Whether the caller's directory is in `path` in its own case.
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
            && self.begins_alike(path, path.len())
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
            path.len() < len && path.ends_with(b"/") && self.begins_alike(path, path.len());
        // Whether the glob can match below is not known; git takes it that it can.
        let glob_may_match = self.is_glob() && self.begins_alike(path, self.literal_len);
        (goes_below || glob_may_match).then_some(Quality::Leading)
    }

    fn glob_matches(&self, path: &BStr) -> bool {
        let (Some(glob), Some(rest)) = (
            self.pattern.get(self.literal_len..),
            path.get(self.literal_len..),
        ) else {
            return false;
        };
        if !self.begins_alike(path, self.literal_len) {
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
