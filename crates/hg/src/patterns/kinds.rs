//! The kinds of patterns.

use bstr::{BStr, BString, ByteSlice};

use super::glob;
use crate::bytes::{bytes, join, normal_path};

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A regular expression matched from the beginning of the path.
    Re,
    /// A glob relative to the working directory.
    Glob,
    /// A path from the top, of a file or of a directory with everything below it.
    Path,
    /// The path of one file, from the top.
    FilePath,
    /// A glob that matches in any directory.
    RelGlob,
    /// A path relative to the working directory.
    RelPath,
    /// A regular expression that may match anywhere in the path.
    RelRe,
    /// A glob from the top.
    RootGlob,
    /// A file of patterns, one per line.
    ListFile,
    /// A file of patterns, separated by NULs.
    ListFile0,
    /// A file set expression.
    Set,
    /// A pattern file.
    Include,
    /// A pattern file that applies below its own folder.
    SubInclude,
    /// The files directly in one directory.
    RootFilesIn,
}

const NAMES: [(&str, Kind); 14] = [
    ("re", Kind::Re),
    ("glob", Kind::Glob),
    ("path", Kind::Path),
    ("filepath", Kind::FilePath),
    ("relglob", Kind::RelGlob),
    ("relpath", Kind::RelPath),
    ("relre", Kind::RelRe),
    ("rootglob", Kind::RootGlob),
    ("listfile", Kind::ListFile),
    ("listfile0", Kind::ListFile0),
    ("set", Kind::Set),
    ("include", Kind::Include),
    ("subinclude", Kind::SubInclude),
    ("rootfilesin", Kind::RootFilesIn),
];

impl Kind {
    /// The prefix that names the kind.
    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }

    /// Splits `text` into the kind that it names and the rest; the kind is `default` if it names
    /// none.
    pub fn split(text: &[u8], default: Self) -> (Self, &[u8]) {
        let Some(at) = text.find_byte(b':') else {
            return (default, text);
        };
        let (word, rest) = text.split_at(at);
        match NAMES.iter().find(|(name, _)| name.as_bytes() == word) {
            Some((_, kind)) => (*kind, rest.get(1..).unwrap_or_default()),
            None => (default, text),
        }
    }
}

/// A pattern whose text is relative to the top.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// How the text is read.
    pub kind: Kind,
    /// The text, without the kind.
    pub text: BString,
    /// The file that the pattern came from; empty for the command line.
    pub source: BString,
}

impl Pattern {
    /// Makes a pattern of `text`, which is relative to the top, or is not a path.
    pub(super) fn from_top(kind: Kind, text: &[u8], source: &[u8]) -> Self {
        Self {
            kind,
            text: match kind {
                Kind::RelGlob
                | Kind::RootGlob
                | Kind::Path
                | Kind::FilePath
                | Kind::RootFilesIn => normal_path(text),
                Kind::Re
                | Kind::RelRe
                | Kind::Glob
                | Kind::RelPath
                | Kind::ListFile
                | Kind::ListFile0
                | Kind::Set
                | Kind::Include
                | Kind::SubInclude => text.into(),
            },
            source: source.into(),
        }
    }

    /// Returns the pattern as a regular expression; `suffix` is appended to globs.
    pub(super) fn regular(&self, suffix: &str) -> BString {
        let text = self.text.as_bstr();
        match self.kind {
            Kind::Glob | Kind::RelPath if text.is_empty() => BString::default(),
            Kind::Path | Kind::RelPath if text == "." => BString::default(),
            Kind::Path | Kind::RelPath => bytes!(glob::literal(text), "(?:/|$)"),
            Kind::FilePath => bytes!(glob::literal(text), "\\Z"),
            Kind::RootFilesIn => match text == "." {
                true => bytes!("[^/]+$"),
                false => bytes!(glob::literal(text), "/[^/]+$"),
            },
            Kind::RelGlob => {
                let glob = glob::regular(text);
                match glob.strip_prefix(b"[^/]*") {
                    Some(rest) => bytes!(".*", rest, suffix),
                    None => bytes!("(?:|.*/)", glob, suffix),
                }
            }
            Kind::RelRe => relative(text),
            Kind::Glob | Kind::RootGlob => bytes!(glob::regular(text), suffix),
            Kind::Re => self.text.clone(),
            // These name other patterns, which take their place before anything is compiled.
            Kind::ListFile | Kind::ListFile0 | Kind::Set | Kind::Include | Kind::SubInclude => {
                self.text.clone()
            }
        }
    }

    /// Returns the directory or file at or below which all matches are.
    pub(super) fn root(&self) -> BString {
        let text = self.text.as_slice();
        match self.kind {
            Kind::Glob | Kind::RootGlob => {
                let is_plain = |part: &&[u8]| !part.iter().any(|byte| b"[{*?".contains(byte));
                let parts = text.split(|byte| *byte == b'/').take_while(is_plain);
                join(parts, b"/")
            }
            Kind::RelPath | Kind::Path | Kind::FilePath | Kind::RootFilesIn => match text {
                b"." => BString::default(),
                _ => text.into(),
            },
            Kind::Re
            | Kind::RelRe
            | Kind::RelGlob
            | Kind::ListFile
            | Kind::ListFile0
            | Kind::Set
            | Kind::Include
            | Kind::SubInclude => BString::default(),
        }
    }
}

/// Makes a regular expression match anywhere, unless it is anchored.
fn relative(text: &BStr) -> BString {
    let (flags, rest) = match flags(text) {
        Some((flags, rest)) => (Some(flags), rest),
        None => (None, text.as_bytes()),
    };
    let anywhere: &[u8] = match rest.first() {
        Some(b'^') => b"",
        _ => b".*",
    };
    match flags {
        Some(flags) => bytes!("(?", flags, ":", anywhere, rest, ")"),
        None => bytes!(anywhere, rest),
    }
}

/// Splits off flags at the beginning that stand in parentheses of their own. After such flags, Mercurial uses the first line alone.
fn flags(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = text.strip_prefix(b"(?")?;
    let len = rest
        .iter()
        .take_while(|byte| b"aiLmsux".contains(byte))
        .count();
    let (flags, rest) = rest.split_at(len);
    let rest = rest.strip_prefix(b")")?;
    let rest = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    (!flags.is_empty()).then_some((flags, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_put_around_what_is_searched() {
        for (text, expected) in [
            ("a", ".*a"),
            ("^a", "^a"),
            ("(?i)a", "(?i:.*a)"),
            ("(?i)^a", "(?i:^a)"),
            ("(?q)a", ".*(?q)a"),
            ("a\nb", ".*a\nb"),
            ("(?s)a\nb", "(?s:.*a)"),
            ("(?s)\na", "(?s:.*)"),
        ] {
            assert_eq!(relative(text.into()), expected, "{text}");
        }
    }
}
