//! Matching paths with the pattern of a line in a `.gitattributes` file.

use bstr::{BStr, BString, ByteSlice};

use vigil_model::wildmatch::{Flags, is_special, literal_prefix_len, wildmatch};

/// The pattern of one line.
#[derive(Debug)]
pub(super) struct Pattern {
    /// Whether it was written with a trailing `/`, so that it matches only directories.
    directory_only: bool,
    /// Whether it has no `/` inside, so that it is compared with the last component of a path.
    file_name: bool,
    matcher: Matcher,
}

#[derive(Debug)]
enum Matcher {
    Literal(BString),
    EndsWith(BString),
    Glob(BString),
}

/// The path whose attributes are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    /// Relative to the top of the working tree, without a trailing `/`.
    path: &'a BStr,
    /// The last component of the path.
    file_name: &'a BStr,
    is_dir: bool,
}

impl<'a> Candidate<'a> {
    /// `path` is relative to the top of the working tree; a directory's ends in `/`.
    pub(super) fn new(path: &'a BStr) -> Self {
        let trimmed = path.strip_suffix(b"/").unwrap_or(path).as_bstr();
        Self {
            path: trimmed,
            file_name: vigil_model::path::file_name(trimmed),
            is_dir: trimmed.len() != path.len(),
        }
    }

    /// The directory that contains the path.
    pub(super) fn parent(&self) -> &'a BStr {
        vigil_model::path::parent(self.path)
    }
}

impl Pattern {
    /// Parses a pattern, which must have no leading `!`.
    pub(super) fn new(text: &[u8]) -> Self {
        let body = text.strip_suffix(b"/").unwrap_or(text);
        let file_name = !body.contains(&b'/');
        let body_rooted = if file_name {
            body
        } else {
            body.strip_prefix(b"/").unwrap_or(body)
        };
        let matcher = match (literal_prefix_len(body_rooted), ends_with(body_rooted)) {
            (len, _) if len == body_rooted.len() => Matcher::Literal(body_rooted.into()),
            (_, Some(end)) if file_name => Matcher::EndsWith(end.into()),
            _ => Matcher::Glob(body_rooted.into()),
        };
        Self {
            directory_only: body.len() != text.len(),
            file_name,
            matcher,
        }
    }

    /// Whether it matches `candidate`, which is below the pattern's own directory `base`. With `fold_case`, the
    /// case of letters is ignored.
    pub(super) fn matches(&self, candidate: Candidate<'_>, base: &BStr, fold_case: bool) -> bool {
        if self.directory_only && !candidate.is_dir {
            return false;
        }
        let name = if self.file_name {
            candidate.file_name
        } else {
            let skipped = if base.is_empty() { 0 } else { base.len() + 1 };
            candidate.path.get(skipped..).unwrap_or_default().as_bstr()
        };
        match &self.matcher {
            Matcher::Literal(text) => same(name, text, fold_case),
            Matcher::EndsWith(text) => name
                .len()
                .checked_sub(text.len())
                .and_then(|at| name.get(at..))
                .is_some_and(|end| same(end, text, fold_case)),
            Matcher::Glob(glob) => {
                let flags = Flags {
                    pathname: !self.file_name,
                    fold_case,
                };
                wildmatch(glob, name, flags)
            }
        }
    }
}

fn same(a: &[u8], b: &[u8], fold_case: bool) -> bool {
    if fold_case {
        a.eq_ignore_ascii_case(b)
    } else {
        a == b
    }
}

/// Returns the literal after a leading `*`, if the pattern consists of these two.
fn ends_with(body: &[u8]) -> Option<&[u8]> {
    body.strip_prefix(b"*")
        .filter(|rest| !rest.iter().any(|byte| is_special(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, base: &str, path: &str) -> bool {
        Pattern::new(pattern.as_bytes()).matches(Candidate::new(path.into()), base.into(), false)
    }

    #[test]
    fn a_pattern_without_slash_is_about_names() {
        assert!(matches("*.c", "", "a/b.c"));
        assert!(matches("b.c", "a", "a/b.c"));
        assert!(!matches("/b.c", "", "a/b.c"));
        assert!(matches("/b.c", "a", "a/b.c"));
        assert!(matches("a/*.c", "", "a/b.c"));
        assert!(!matches("a/*.c", "", "x/a/b.c"));
    }

    #[test]
    fn a_pattern_with_a_slash_at_its_end_is_about_directories() {
        assert!(!matches("a/", "", "a"));
        assert!(matches("a/", "", "a/"));
        assert!(!matches("a/", "", "a/b"));
    }
}
