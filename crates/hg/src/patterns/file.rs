//! Pattern files, such as `.hgignore`.

use bstr::{BString, ByteSlice};

use crate::bytes::{bytes, trim, trim_end};

/// The contents of a pattern file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatternFile {
    /// The patterns, each prefixed with its kind.
    pub patterns: Vec<BString>,
    /// The line number of each pattern, from 1.
    pub lines: Vec<usize>,
    /// Messages for standard error, each without its line feed.
    pub warnings: Vec<BString>,
}

/// The syntaxes: the word after `syntax:`, and the prefix that lines without a kind get.
const SYNTAXES: [(&[u8], &[u8]); 6] = [
    (b"re", b"relre:"),
    (b"regexp", b"relre:"),
    (b"glob", b"relglob:"),
    (b"rootglob", b"rootglob:"),
    (b"include", b"include"),
    (b"subinclude", b"subinclude"),
];

/// Parses the text of the pattern file that messages call `name`.
pub fn parse(text: &[u8], name: &[u8]) -> PatternFile {
    let mut file = PatternFile::default();
    let mut syntax: &[u8] = b"relre:";
    for (at, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let without_comment;
        let mut line = line;
        if line.contains(&b'#') {
            without_comment = without_comments(line);
            line = &without_comment;
        }
        let mut line = trim_end(line);
        if line.is_empty() {
            continue;
        }
        if let Some(word) = line.strip_prefix(b"syntax:") {
            let word = trim(word);
            match SYNTAXES.iter().find(|(known, _)| *known == word) {
                Some((_, prefix)) => syntax = prefix,
                None => file
                    .warnings
                    .push(bytes!(name, ": ignoring invalid syntax '", word, "'")),
            }
            continue;
        }
        let mut of_line = syntax;
        for (word, prefix) in SYNTAXES {
            let rest = line.strip_prefix(prefix).or_else(|| {
                let rest = line.strip_prefix(word)?;
                rest.strip_prefix(b":")
            });
            if let Some(rest) = rest {
                of_line = prefix;
                line = rest;
                break;
            }
        }
        file.patterns.push(bytes!(of_line, line));
        file.lines.push(at.saturating_add(1));
    }
    file
}

/// Returns the line up to the first unescaped number sign, with escaped ones unescaped.
fn without_comments(line: &[u8]) -> Vec<u8> {
    let mut end = line.len();
    let mut escapes = 0usize;
    for (at, byte) in line.iter().enumerate() {
        match byte {
            b'#' if escapes.is_multiple_of(2) => {
                end = at;
                break;
            }
            b'\\' => escapes = escapes.saturating_add(1),
            _ => escapes = 0,
        }
    }
    let line = line.get(..end).unwrap_or_default();
    line.replace(b"\\#", b"#")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(text: &str) -> Vec<String> {
        let file = parse(text.as_bytes(), b"f");
        file.patterns.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_are_of_the_syntax_in_force_or_their_own() {
        let text =
            "a\nsyntax: glob\nb  \n\nre:c\nrelglob:d\nrootglob:e\npath:f\nsyntax:regexp\nglob:g";
        assert_eq!(
            patterns(text),
            [
                "relre:a",
                "relglob:b",
                "relre:c",
                "relglob:d",
                "rootglob:e",
                "relglob:path:f",
                "relglob:g",
            ]
        );
    }

    #[test]
    fn comments_end_lines_unless_they_are_escaped() {
        assert_eq!(
            patterns("a#b\n#c\nd\\#e#f\ng\\\\#h\n"),
            ["relre:a", "relre:d#e", "relre:g\\\\"]
        );
    }

    #[test]
    fn a_syntax_that_is_none_is_told() {
        let file = parse(b"syntax: what\n\n#c\na", b"the/file");
        assert_eq!(file.warnings, ["the/file: ignoring invalid syntax 'what'"]);
        assert_eq!(file.patterns, ["relre:a"]);
        assert_eq!(file.lines, [4]);
    }
}
