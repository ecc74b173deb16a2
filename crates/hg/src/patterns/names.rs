//! Patterns that are nothing but names.
//!
//! Long lists of patterns consist mostly of names of files and directories, and of endings. An automaton takes the more time
//! for each path the more of them it has; here they are looked up.

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice};
use vigil_model::path::name_start;

use super::kinds::{Kind, Pattern};

/// The maximum number of parts of a path that is looked up, so that it takes linear time to judge a path, however long.
const PARTS_MAX: usize = 32;
/// The maximum length of an ending that is looked up, for the same reason.
const ENDING_LEN_MAX: usize = 64;

/// Names, by where they match. Each matches a file, or a directory with everything below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Paths from the top.
    from_top: HashSet<BString>,
    /// Paths from any directory: those of one part, those of two, and so on.
    anywhere: Vec<HashSet<BString>>,
    /// What follows a star at the beginning of a glob, from a dot on.
    endings: HashSet<BString>,
}

/// A pattern that is nothing but a name.
#[derive(Debug)]
pub(super) enum Name<'p> {
    FromTop(&'p [u8]),
    Anywhere(&'p [u8]),
    Ending(&'p [u8]),
}

impl<'p> Name<'p> {
    /// Returns `pattern` as a name, if it is one. `globs_reach_below` tells whether globs match everything below a directory.
    pub(super) fn of(pattern: &'p Pattern, globs_reach_below: bool) -> Option<Self> {
        let text = pattern.text.as_slice();
        let name = match pattern.kind {
            Kind::Path | Kind::RelPath => return is_path(text).then_some(Self::FromTop(text)),
            Kind::RelGlob => match text {
                [b'*', b'*', b'/', path @ ..] => Self::Anywhere(path),
                [b'*', ending @ ..] => Self::Ending(ending),
                _ => Self::Anywhere(text),
            },
            Kind::Glob | Kind::RootGlob => match text {
                [b'*', b'*', b'/', path @ ..] => Self::Anywhere(path),
                _ => Self::FromTop(text),
            },
            _ => return None,
        };
        let is_name = globs_reach_below
            && match &name {
                Self::FromTop(path) | Self::Anywhere(path) => is_literal(path) && is_path(path),
                Self::Ending(ending) => is_literal(ending) && is_ending(ending),
            };
        is_name.then_some(name)
    }
}

/// Returns whether no byte of a glob has a meaning there.
fn is_literal(glob: &[u8]) -> bool {
    !glob.iter().any(|byte| b"*?[{\\".contains(byte))
}

fn is_path(text: &[u8]) -> bool {
    !matches!(text, b"" | b".") && !text.contains(&b'\n') && parts(text) <= PARTS_MAX
}

fn is_ending(text: &[u8]) -> bool {
    let is_short = text.len() <= ENDING_LEN_MAX;
    is_short && text.starts_with(b".") && !text.iter().any(|byte| b"/\n".contains(byte))
}

fn parts(path: &[u8]) -> usize {
    path.split(|byte| *byte == b'/').count()
}

impl Names {
    pub(super) fn add(&mut self, name: &Name<'_>) {
        let (set, text) = match name {
            Name::FromTop(path) => (&mut self.from_top, *path),
            Name::Ending(ending) => (&mut self.endings, *ending),
            Name::Anywhere(path) => {
                let parts = parts(path);
                if self.anywhere.len() < parts {
                    self.anywhere.resize_with(parts, HashSet::new);
                }
                match self.anywhere.get_mut(parts.saturating_sub(1)) {
                    Some(set) => (set, *path),
                    None => return,
                }
            }
        };
        set.insert(text.into());
    }

    /// Returns whether `path`, or a directory above it, has one of the names.
    pub(super) fn is_match(&self, path: &BStr) -> bool {
        // In the expressions that these patterns stand for, nothing matches behind a line feed, except one at the very end.
        let line_feed = path.find_byte(b'\n');
        let is_whole = line_feed.is_none_or(|at| at.saturating_add(1) == path.len());
        let line = path.get(..line_feed.unwrap_or(path.len()));
        let line = line.unwrap_or_default();
        let slashes = line.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let ends = slashes.map(|(at, _)| at);
        let mut ends = ends.chain(is_whole.then_some(line.len())).enumerate();
        ends.any(|(depth, end)| {
            let upto = line.get(..end).unwrap_or_default();
            depth < PARTS_MAX && has(&self.from_top, upto)
                || self.is_last_anywhere(upto)
                || self.is_last_ending(upto)
        })
    }

    /// Returns whether the last parts of `path` are a path that matches in any directory.
    fn is_last_anywhere(&self, path: &[u8]) -> bool {
        let mut above = Some(path);
        self.anywhere.iter().any(|set| {
            let Some(rest) = above else {
                return false;
            };
            let slash = rest.rfind_byte(b'/');
            above = slash.and_then(|slash| rest.get(..slash));
            let start = slash.map_or(0, |slash| slash.saturating_add(1));
            has(set, path.get(start..).unwrap_or_default())
        })
    }

    /// Returns whether the last part of `path` ends in one of the endings.
    fn is_last_ending(&self, path: &[u8]) -> bool {
        if self.endings.is_empty() {
            return false;
        }
        let start = name_start(path).max(path.len().saturating_sub(ENDING_LEN_MAX));
        let last = path.get(start..).unwrap_or_default();
        let mut dots = last.iter().enumerate().filter(|(_, byte)| **byte == b'.');
        dots.any(|(dot, _)| has(&self.endings, last.get(dot..).unwrap_or_default()))
    }
}

fn has(set: &HashSet<BString>, text: &[u8]) -> bool {
    !set.is_empty() && set.contains(text.as_bstr())
}

#[cfg(test)]
mod tests;
