//! Coloured lines, with the comment prefix if one is wanted.

use bstr::{BStr, ByteSlice};

use crate::output::color::paint;

/// The lines written so far.
pub(super) struct Lines<'a> {
    pub(super) out: Vec<u8>,
    comment: Option<&'a BStr>,
}

impl<'a> Lines<'a> {
    /// No lines yet; each one will start with `comment`.
    pub(super) fn new(comment: Option<&'a BStr>) -> Self {
        Self {
            out: Vec::new(),
            comment,
        }
    }

    /// The prefix of each line.
    pub(super) fn comment(&self) -> Option<&'a BStr> {
        self.comment
    }

    /// Appends the lines of `text` and a line feed.
    pub(super) fn line(&mut self, color: &[u8], text: &[u8]) {
        if text.is_empty() {
            paint(&mut self.out, color, self.comment.unwrap_or_default());
        } else {
            self.append(true, color, text);
        }
        self.out.push(b'\n');
    }

    /// Starts a line with `text`, which may be empty.
    pub(super) fn start(&mut self, color: &[u8], text: &[u8]) {
        if text.is_empty() {
            let start = match self.comment {
                Some(comment) => [comment, b" ".as_slice()].concat(),
                None => Vec::new(),
            };
            paint(&mut self.out, color, &start);
        } else {
            self.append(true, color, text);
        }
    }

    /// Continues the current line with `text`, which may contain line feeds.
    pub(super) fn more(&mut self, color: &[u8], text: &[u8]) {
        self.append(false, color, text);
    }

    /// Colours each line separately, without its line feed.
    fn append(&mut self, mut at_start: bool, color: &[u8], text: &[u8]) {
        for line in text.lines_with_terminator() {
            let (line, has_end) = match line.strip_suffix(b"\n") {
                Some(line) => (line, true),
                None => (line, false),
            };
            let mut piece = Vec::new();
            if at_start && let Some(comment) = self.comment {
                piece.extend_from_slice(comment);
                if !line.is_empty() && !line.starts_with(b"\t") {
                    piece.push(b' ');
                }
            }
            piece.extend_from_slice(line);
            paint(&mut self.out, color, &piece);
            if has_end {
                self.out.push(b'\n');
            }
            at_start = true;
        }
    }

    /// Appends a line that begins with the prefix and a space even if it is empty. The whole line is coloured.
    pub(super) fn spaced_line(&mut self, color: &[u8], text: &[u8]) {
        let line = match self.comment {
            Some(comment) => [comment, b" ".as_slice(), text].concat(),
            None => text.to_vec(),
        };
        paint(&mut self.out, color, &line);
        self.out.push(b'\n');
    }

    /// Appends text without colour, each of its lines after the prefix.
    pub(super) fn commented(&mut self, text: &[u8]) {
        let Some(comment) = self.comment else {
            self.out.extend_from_slice(text);
            return;
        };
        for line in text.lines_with_terminator() {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            self.out.extend_from_slice(comment);
            if !line.is_empty() && !line.starts_with(b"\t") {
                self.out.push(b' ');
            }
            self.out.extend_from_slice(line);
            self.out.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(comment: Option<&str>, write: impl Fn(&mut Lines<'_>)) -> String {
        let mut lines = Lines::new(comment.map(BStr::new));
        write(&mut lines);
        String::from_utf8(lines.out).unwrap()
    }

    #[test]
    fn colours_end_before_the_line_does() {
        let red = b"\x1b[31m";
        let text = lines(None, |lines| {
            lines.line(red, b"a\nb");
            lines.line(red, b"");
            lines.start(b"", b"\t");
            lines.more(red, b"c\n");
        });
        assert_eq!(
            text,
            "\x1b[31ma\x1b[m\n\x1b[31mb\x1b[m\n\x1b[31m\x1b[m\n\t\x1b[31mc\x1b[m\n"
        );
    }

    #[test]
    fn the_prefix_has_a_space_before_text_only() {
        let text = lines(Some("#"), |lines| {
            lines.start(b"", b"");
            lines.more(b"", b"x\n");
            lines.line(b"", b"a\n\nb");
            lines.line(b"", b"");
            lines.start(b"", b"\t");
            lines.more(b"", b"c\n");
            lines.spaced_line(b"", b"");
            lines.commented(b"d\n\n\te");
        });
        assert_eq!(text, "# x\n# a\n#\n# b\n#\n#\tc\n# \n# d\n#\n#\te\n");
    }
}
