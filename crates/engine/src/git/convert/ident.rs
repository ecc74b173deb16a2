//! The `ident` attribute: `$Id: anything $` is recorded as `$Id$`.

use bstr::ByteSlice;

/// `contents` with all idents collapsed, or `None` if there is nothing to collapse.
pub(crate) fn collapse(contents: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    // Where in `contents` the part begins that is not yet in `out`.
    let mut copied = 0;
    let mut at = 0;
    while let Some(dollar) = find(contents, b"$", at) {
        at = dollar + 1;
        let text = contents.get(at..).unwrap_or_default();
        // git asks for one byte more than the prefix here.
        if text.len() <= 3 || !text.starts_with(b"Id:") {
            continue;
        }
        let inside = at + 3;
        let Some(end) = find(contents, b"$", inside) else {
            break;
        };
        if find(contents, b"\n", inside).is_some_and(|line_end| line_end < end) {
            continue;
        }
        out.extend_from_slice(contents.get(copied..at).unwrap_or_default());
        out.extend_from_slice(b"Id$");
        at = end + 1;
        copied = at;
    }
    if copied == 0 {
        return None;
    }
    out.extend_from_slice(contents.get(copied..).unwrap_or_default());
    Some(out)
}

fn find(contents: &[u8], what: &[u8], from: usize) -> Option<usize> {
    contents.get(from..)?.find(what).map(|at| from + at)
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
}
