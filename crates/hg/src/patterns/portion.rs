//! The part of a repository that is present: a narrow clone has no other files, and a sparse working copy leaves others
//! out.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};

use super::matcher::Matcher;

/// Which paths are present.
#[derive(Debug)]
pub enum Portion {
    /// The paths that any of these matches.
    Any(Vec<Matcher>),
    /// The paths whose nearest listed path, itself or above, is included.
    Nearest(Nearest),
}

impl Portion {
    /// Returns whether the file `path` is part of the portion.
    pub fn is_match(&self, path: &BStr) -> bool {
        match self {
            Self::Any(matchers) => matchers.iter().any(|matcher| matcher.is_match(path)),
            Self::Nearest(nearest) => nearest.is_match(path),
        }
    }

    /// Returns false only if nothing at or below the directory `path` is part of the portion.
    pub fn may_match_below(&self, path: &BStr) -> bool {
        match self {
            Self::Any(matchers) => {
                let mut matchers = matchers.iter();
                matchers.any(|matcher| matcher.may_match_below(path))
            }
            Self::Nearest(nearest) => nearest.may_match_below(path),
        }
    }

    /// Returns whether the portion is empty.
    pub(super) fn is_nothing(&self) -> bool {
        match self {
            Self::Any(matchers) => matchers.is_empty(),
            Self::Nearest(nearest) => nearest.0.is_empty(),
        }
    }

    /// The one file or directory at or below which the whole portion is. Mercurial looks it up as if it were asked for by
    /// name.
    pub(super) fn named(&self) -> Option<&BStr> {
        match self {
            Self::Any(_) => None,
            Self::Nearest(nearest) => nearest.named(),
        }
    }

    /// Returns whether the portion is exactly [`Self::named`] and everything below it.
    pub(super) fn is_all_of_one(&self) -> bool {
        matches!(self, Self::Nearest(nearest) if nearest.0.len() == 1) && self.named().is_some()
    }
}

/// Directories and files, each with whether it and everything below it is included, except for paths listed further down.
#[derive(Debug)]
pub struct Nearest(BTreeMap<BString, bool>);

impl Nearest {
    /// Makes the portion of `includes` without `excludes`. The empty path is the top.
    pub fn new(includes: &BTreeSet<BString>, excludes: &BTreeSet<BString>) -> Self {
        let mut nearest = Self(BTreeMap::new());
        // Directories come before what is below them.
        for path in includes | excludes {
            let is_part = !excludes.contains(&path);
            if nearest.is_match(path.as_bstr()) != is_part {
                nearest.0.insert(path, is_part);
            }
        }
        nearest
    }

    /// Returns whether all paths are included.
    pub fn is_everything(&self) -> bool {
        self.0.len() == 1 && self.is_match(BStr::new(""))
    }

    fn is_match(&self, path: &BStr) -> bool {
        let above = path.rfind_iter(b"/").chain([0]);
        let mut ends = std::iter::once(path.len()).chain(above);
        let said = ends.find_map(|end| self.0.get(path.get(..end)?.as_bstr()));
        said.copied().unwrap_or(false)
    }

    fn may_match_below(&self, path: &BStr) -> bool {
        self.is_match(path) || {
            let mut below = BString::from(path);
            if !path.is_empty() {
                below.push(b'/');
            }
            let all = self.0.range(below.clone()..);
            let mut all = all.take_while(|(other, _)| other.starts_with(&below));
            all.any(|(_, is_part)| *is_part)
        }
    }

    fn named(&self) -> Option<&BStr> {
        let (first, _) = self.0.first_key_value()?;
        let is_within = |path: &&BString| {
            let rest = path.strip_prefix(first.as_slice());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        let is_one = !first.is_empty() && self.0.keys().all(|path| is_within(&path));
        is_one.then_some(first.as_bstr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(includes: &[&str], excludes: &[&str]) -> Nearest {
        let set = |paths: &[&str]| paths.iter().map(|path| BString::from(*path)).collect();
        Nearest::new(&set(includes), &set(excludes))
    }

    #[test]
    fn what_is_said_nearest_to_a_path_counts() {
        let nearest = nearest(&["a", "a/b/c", "a-b", "d/e"], &["a/b", "a/x"]);
        for (path, expected) in [
            ("a", true),
            ("a/f", true),
            ("a/b", false),
            ("a/b/f", false),
            ("a/b/c", true),
            ("a/b/c/f", true),
            ("a/b/cc", false),
            ("a-b/f", true),
            ("a-c", false),
            ("a/x", false),
            ("d", false),
            ("d/e", true),
            ("f", false),
        ] {
            assert_eq!(nearest.is_match(path.into()), expected, "{path}");
        }
        for (path, expected) in [
            ("", true),
            ("d", true),
            ("a/b", true),
            ("a/x", false),
            ("f", false),
        ] {
            assert_eq!(nearest.may_match_below(path.into()), expected, "{path}");
        }
    }

    #[test]
    fn only_one_directory_with_all_there_is_has_a_name() {
        for (includes, excludes, named, is_all) in [
            (&["a"][..], &[][..], Some("a"), true),
            (&["a", "a/b"], &[], Some("a"), true),
            (&["a"], &["a/b"], Some("a"), false),
            (&["a", "b"], &[], None, false),
            (&["a", "a-b"], &[], None, false),
            (&[""], &["a"], None, false),
            (&["a"], &["a"], None, false),
        ] {
            let nearest = nearest(includes, excludes);
            assert_eq!(nearest.named(), named.map(BStr::new), "{includes:?}");
            assert_eq!(Portion::Nearest(nearest).is_all_of_one(), is_all);
        }
        assert!(nearest(&["", "a"], &[]).is_everything());
        assert!(!nearest(&[""], &["a"]).is_everything());
    }
}
