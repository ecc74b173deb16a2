//! The kinds of patterns.

use bstr::{BStr, BString, ByteSlice};

use super::glob;
use crate::bytes::bytes;

/// How a pattern is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A regular expression from the top on.
    Re,
    /// A glob from the working directory on.
    Glob,
    /// A path from the top on, of a file or of all below a directory.
    Path,
    /// The path of one file, from the top on.
    FilePath,
    /// A glob in any directory.
    RelGlob,
    /// A path from the working directory on.
    RelPath,
    /// A regular expression that may begin anywhere.
    RelRe,
    /// A glob from the top on.
    RootGlob,
    /// A file with patterns, one a line.
    ListFile,
    /// A file with patterns, with NULs between them.
    ListFile0,
    /// An expression over sets of files.
    Set,
    /// A file with patterns.
    Include,
    /// A file with patterns for what is below its folder.
    SubInclude,
    /// The files of one directory.
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
    /// The word for it.
    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| name)
    }

    /// The kind that `text` names, and what comes after; `default` where it names none.
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

/// A pattern whose text is from the top on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// How it is to be read.
    pub kind: Kind,
    /// What it says.
    pub text: BString,
    /// The file that it came from; empty for the command line.
    pub source: BString,
}

impl Pattern {
    /// The regular expression that it is; `suffix` comes after globs.
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
            _ => self.text.clone(),
        }
    }
}

/// A regular expression that may begin anywhere, unless it says where.
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

/// Flags at the beginning, in parentheses of their own.
fn flags(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = text.strip_prefix(b"(?")?;
    let len = rest
        .iter()
        .take_while(|byte| b"aiLmsux".contains(byte))
        .count();
    let (flags, rest) = rest.split_at(len);
    let rest = rest.strip_prefix(b")")?;
    (!flags.is_empty()).then_some((flags, rest))
}
