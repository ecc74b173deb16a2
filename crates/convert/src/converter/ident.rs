//! The `ident` attribute: `$Id$` gets the blob's id in the working tree, and `$Id: anything $` is recorded as `$Id$`.

use bstr::ByteSlice;
use gix_hash::ObjectId;

/// The text after `$Id:`.
enum Tail<'a> {
    /// No `$` follows.
    Open,
    /// The line ends before the next `$`.
    Broken,
    /// The text before the closing `$`.
    Closed(&'a [u8]),
}

impl<'a> Tail<'a> {
    fn of(text: &'a [u8]) -> Self {
        match text.split_once_str(b"$") {
            None => Self::Open,
            Some((inside, _)) if inside.contains(&b'\n') => Self::Broken,
            Some((inside, _)) => Self::Closed(inside),
        }
    }
}

/// Collapses all idents in `contents`; `None` if there are none.
pub(crate) fn collapse(contents: &[u8]) -> Option<Vec<u8>> {
    let mut edit = Edit::of(contents);
    while let Some(text) = edit.next_dollar() {
        // git requires one byte after the prefix here.
        let Some(tail) = text.strip_prefix(b"Id:").filter(|tail| !tail.is_empty()) else {
            continue;
        };
        match Tail::of(tail) {
            Tail::Open => break,
            Tail::Broken => {}
            Tail::Closed(inside) => edit.replace("Id:$".len() + inside.len(), b"Id$"),
        }
    }
    edit.finish()
}

/// Writes the id into all idents in `contents` that are collapsed or hold another id; `None` if there are none. An
/// ident with blanks inside is left alone: another system made it.
pub(crate) fn expand(contents: &[u8], id: impl FnOnce() -> ObjectId) -> Option<Vec<u8>> {
    let mut edit = Edit::of(contents);
    let mut id = Some(id);
    let mut expanded = Vec::new();
    while let Some(text) = edit.next_dollar() {
        let length = if text.starts_with(b"Id$") {
            "Id$".len()
        } else if let Some(tail) = text.strip_prefix(b"Id:") {
            match Tail::of(tail) {
                Tail::Open => break,
                Tail::Broken => continue,
                Tail::Closed(inside) if is_foreign(inside) => continue,
                Tail::Closed(inside) => "Id:$".len() + inside.len(),
            }
        } else {
            continue;
        };
        if let Some(id) = id.take() {
            expanded = format!("Id: {} $", id()).into_bytes();
        }
        edit.replace(length, &expanded);
    }
    edit.finish()
}

/// Whether `inside` has a blank other than at its ends.
fn is_foreign(inside: &[u8]) -> bool {
    let blank = inside.iter().skip(1).position(|byte| *byte == b' ');
    blank.is_some_and(|at| at + 2 < inside.len())
}

/// Contents being edited: parts that follow dollar signs are replaced.
struct Edit<'a> {
    contents: &'a [u8],
    /// Where to look for the next dollar sign.
    at: usize,
    /// Where the part begins that has not been copied to `out`.
    copied: usize,
    out: Vec<u8>,
}

impl<'a> Edit<'a> {
    fn of(contents: &'a [u8]) -> Self {
        Self {
            contents,
            at: 0,
            copied: 0,
            out: Vec::new(),
        }
    }

    /// Returns what follows the next dollar sign.
    fn next_dollar(&mut self) -> Option<&'a [u8]> {
        let (before, after) = self.contents.get(self.at..)?.split_once_str(b"$")?;
        self.at += before.len() + 1;
        Some(after)
    }

    /// Replaces the `length` bytes after the dollar sign by `new`, and continues after them.
    fn replace(&mut self, length: usize, new: &[u8]) {
        let before = self.contents.get(self.copied..self.at);
        self.out.extend_from_slice(before.unwrap_or_default());
        self.out.extend_from_slice(new);
        self.at += length;
        self.copied = self.at;
    }

    fn finish(mut self) -> Option<Vec<u8>> {
        if self.copied == 0 {
            return None;
        }
        let rest = self.contents.get(self.copied..);
        self.out.extend_from_slice(rest.unwrap_or_default());
        Some(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collapsed(text: &str) -> String {
        collapse(text.as_bytes()).map_or_else(
            || text.to_owned(),
            |bytes| String::from_utf8(bytes).unwrap(),
        )
    }

    #[test]
    fn an_ident_ends_on_its_line() {
        assert_eq!(collapsed("a $Id: x y $ b $Id$ c"), "a $Id$ b $Id$ c");
        assert_eq!(collapsed("$Id: x\n$Id: y$"), "$Id: x\n$Id$");
        assert_eq!(collapsed("$Id: x"), "$Id: x");
        assert_eq!(collapsed("$Id:$"), "$Id$");
        assert_eq!(collapsed("$$Id: a$$Id: b$$"), "$$Id$$Id$$");
    }

    fn expanded(text: &str) -> String {
        let id = || ObjectId::null(gix_hash::Kind::Sha1);
        let expanded = expand(text.as_bytes(), id).unwrap_or(text.into());
        let zeros = "0".repeat(40);
        String::from_utf8(expanded).unwrap().replace(&zeros, "ID")
    }

    #[test]
    fn an_ident_that_another_system_made_stays() {
        assert_eq!(expanded("$Id$ $Id:$ $Id$"), "$Id: ID $ $Id: ID $ $Id: ID $");
        assert_eq!(expanded("$Id: x $$Id:x$"), "$Id: ID $$Id: ID $");
        assert_eq!(expanded("$Id: x y $"), "$Id: x y $");
        assert_eq!(expanded("$Id:  x$ $Id:x y$"), "$Id:  x$ $Id:x y$");
        // The dollar sign that ends one ident may begin the next.
        assert_eq!(expanded("$Id: x y $Id$"), "$Id: x y $Id: ID $");
        assert_eq!(expanded("$Id: x\n$Id$ $Id: x"), "$Id: x\n$Id: ID $ $Id: x");
        assert_eq!(expanded("$Id"), "$Id");
    }
}
