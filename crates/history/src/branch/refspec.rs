//! Refspecs, which map the remote's name of a reference to the local one (git-fetch(1), "refspec").

use bstr::{BStr, BString, ByteSlice};

use vigil_git::refs::name;

/// A refspec for fetching.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refspec {
    is_negative: bool,
    source: BString,
    /// `None` if there is no colon: nothing is stored.
    destination: Option<BString>,
}

impl Refspec {
    /// Parses a value of `remote.<name>.fetch`; `None` if git would refuse it.
    pub(crate) fn parse(text: &BStr) -> Option<Self> {
        let (is_negative, rest) = match text.strip_prefix(b"^") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix(b"+").unwrap_or(text)),
        };
        let (source, destination) = match rest.rfind_byte(b':') {
            Some(_) if is_negative => return None,
            Some(at) => (rest.get(..at)?, rest.get(at + 1..)),
            None => (rest, None),
        };
        let has_star = |side: &[u8]| side.contains(&b'*');
        match destination {
            Some(destination) if has_star(source) != has_star(destination) => return None,
            None if has_star(source) && !is_negative => return None,
            _ => {}
        }
        let source = if source == b"@" { b"HEAD" } else { source };
        // A side may be empty.
        let is_valid = |side: &[u8]| side.is_empty() || is_valid_side(side);
        if !is_valid(source)
            || !is_valid(destination.unwrap_or_default())
            || (is_negative && source.is_empty())
        {
            return None;
        }
        Some(Self {
            is_negative,
            source: source.into(),
            destination: destination.map(BString::from),
        })
    }

    /// Maps `name`, which must match the source, to the destination.
    fn to_destination(&self, name: &BStr) -> Option<BString> {
        map(
            self.source.as_ref(),
            self.destination.as_ref()?.as_ref(),
            name,
        )
    }

    /// Returns what git takes for the source of `name` when it checks for exclusions: it maps patterns backwards,
    /// although `name` is a source already. So exclusions work only if both sides of the pattern are equal.
    fn to_source(&self, name: &BStr) -> Option<BString> {
        match &self.destination {
            Some(destination) if self.source.contains(&b'*') => {
                map(destination.as_ref(), self.source.as_ref(), name)
            }
            _ => (self.source == name).then(|| name.into()),
        }
    }
}

/// Whether git accepts `text` as a value of `remote.<name>.push`.
pub(crate) fn is_valid_for_push(text: &BStr) -> bool {
    if text.starts_with(b"^") {
        return Refspec::parse(text).is_some();
    }
    let rest = text.strip_prefix(b"+").unwrap_or(text);
    // Means all branches that have the same name on both sides.
    if rest == b":" {
        return true;
    }
    let has_star = |side: &[u8]| side.contains(&b'*');
    let (source, destination) = match rest.rfind_byte(b':') {
        Some(at) => rest.split_at(at),
        // Alone, `@` is short for HEAD.
        None => return rest == b"@" || is_valid_side(rest),
    };
    let destination = destination.get(1..).unwrap_or_default();
    // A source that is not a pattern may be any name of a commit.
    let is_source = !has_star(source) || is_valid_side(source);
    has_star(source) == has_star(destination) && is_source && is_valid_side(destination)
}

/// Whether one side of a refspec is a valid reference name, which may contain one star.
fn is_valid_side(side: &[u8]) -> bool {
    name::is_valid(&side.replacen("*", "x", 1))
}

/// Maps `name`, which must match `from`, to `to`: the star in both stands for the same text.
fn map(from: &BStr, to: &BStr, name: &BStr) -> Option<BString> {
    match from.split_once_str("*") {
        Some((before, after)) => {
            let part = name.strip_prefix(before)?.strip_suffix(after)?;
            Some(to.replacen("*", part, 1).into())
        }
        None => (from == name).then(|| to.into()),
    }
}

/// Returns the local reference that stores the remote's `name`, by the first refspec that maps it.
pub(crate) fn track(refspecs: &[Refspec], name: &BStr) -> Option<BString> {
    let positive = || refspecs.iter().filter(|refspec| !refspec.is_negative);
    let is_excluded = |source: BString| {
        refspecs.iter().any(|refspec| {
            refspec.is_negative
                && map(refspec.source.as_ref(), BStr::new(""), source.as_ref()).is_some()
        })
    };
    if positive()
        .filter_map(|refspec| refspec.to_source(name))
        .any(is_excluded)
    {
        return None;
    }
    positive().find_map(|refspec| refspec.to_destination(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(refspecs: &[&str], name: &str) -> String {
        let refspecs: Vec<_> = refspecs
            .iter()
            .map(|text| Refspec::parse((*text).into()).unwrap())
            .collect();
        track(&refspecs, name.into())
            .unwrap_or_default()
            .to_string()
    }

    #[test]
    fn names_are_mapped() {
        let usual = "+refs/heads/*:refs/remotes/o/*";
        assert_eq!(mapped(&[usual], "refs/heads/a/b"), "refs/remotes/o/a/b");
        assert_eq!(mapped(&[usual], "refs/tags/a"), "");
        assert_eq!(
            mapped(&["refs/heads/a:refs/x", usual], "refs/heads/a"),
            "refs/x"
        );
        assert_eq!(
            mapped(&[usual, "^refs/heads/a*"], "refs/heads/ab"),
            "refs/remotes/o/ab"
        );
        let same = "refs/heads/*:refs/heads/*";
        assert_eq!(mapped(&[same, "^refs/heads/a*"], "refs/heads/ab"), "");
        let exact = "refs/heads/ab:refs/x";
        assert_eq!(mapped(&[exact, "^refs/heads/a*"], "refs/heads/ab"), "");
        assert_eq!(
            mapped(&["refs/heads/a*c:refs/x/*/y"], "refs/heads/abc"),
            "refs/x/b/y"
        );
        assert_eq!(mapped(&["refs/heads/a*a:refs/x/*"], "refs/heads/a"), "");
        assert_eq!(mapped(&["refs/heads/a"], "refs/heads/a"), "");
        assert_eq!(mapped(&["@:refs/x"], "HEAD"), "refs/x");
    }

    #[test]
    fn what_git_refuses_is_refused() {
        for text in [
            "refs/*",
            "refs/*:refs/x",
            "refs/x:refs/*",
            "^a:b",
            "^",
            "a b",
            "a:b..c",
            "a/*/*:b/*",
            "a:b*",
        ] {
            assert_eq!(Refspec::parse(text.into()), None, "{text}");
        }
        for text in ["refs/x", ":", "", "a:", "+a:b", "^refs/*", "^a"] {
            assert!(Refspec::parse(text.into()).is_some(), "{text}");
        }
    }
}
