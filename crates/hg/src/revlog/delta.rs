//! Deltas: ranges of a text, each with its replacement.

use crate::fields::u32_at;

const HEADER_LEN: usize = 12;
/// The maximum number of parts to visit, over all deltas.
const PARTS_MAX: usize = 1 << 30;
const DAMAGED: &str = "a difference does not fit its text";

/// Returns the text that `chunks` make: the first is a full text, and each later one a delta against the result of those
/// before it. The result has at most `len_max` bytes.
///
/// Intermediate texts are never assembled: they are kept as ordered slices of the chunks, so that a long chain of small
/// deltas to a large text costs only the deltas.
pub(super) fn apply<T: AsRef<[u8]>>(chunks: &[T], len_max: usize) -> Result<Vec<u8>, &'static str> {
    let mut chunks = chunks.iter().map(AsRef::as_ref);
    let whole: &[u8] = chunks.next().unwrap_or_default();
    let mut parts: Vec<&[u8]> = vec![whole];
    let mut looked_at = 0usize;
    for difference in chunks.filter(|difference| !difference.is_empty()) {
        looked_at = looked_at.saturating_add(parts.len());
        if looked_at > PARTS_MAX {
            return Err("it is made of too many parts");
        }
        parts = changed(&parts, difference)?;
    }
    let len = parts
        .iter()
        .fold(0usize, |len, part| len.saturating_add(part.len()));
    if len > len_max {
        return Err("its text is longer than it may be");
    }
    let mut text = Vec::with_capacity(len);
    for part in parts {
        text.extend_from_slice(part);
    }
    Ok(text)
}

/// Returns the parts after applying one delta.
fn changed<'c>(parts: &[&'c [u8]], difference: &'c [u8]) -> Result<Vec<&'c [u8]>, &'static str> {
    let mut all = Vec::with_capacity(parts.len().saturating_add(8));
    let mut old = Cursor {
        parts,
        next: 0,
        rest: &[],
        at: 0,
    };
    let mut rest = difference;
    while !rest.is_empty() {
        let number = |at: usize| u32_at(rest, at).map(|number| number as usize);
        let (Some(start), Some(end), Some(len)) = (number(0), number(4), number(8)) else {
            return Err(DAMAGED);
        };
        let new_end = HEADER_LEN.saturating_add(len);
        let new = rest.get(HEADER_LEN..new_end).ok_or(DAMAGED)?;
        old.pass(start, Some(&mut all))?;
        old.pass(end, None)?;
        if !new.is_empty() {
            all.push(new);
        }
        rest = rest.get(new_end..).unwrap_or_default();
    }
    old.pass_all(&mut all);
    Ok(all)
}

/// A position in a text that is kept in parts.
struct Cursor<'p, 'c> {
    parts: &'p [&'c [u8]],
    /// The index of the part after the current one.
    next: usize,
    /// The rest of the current part.
    rest: &'c [u8],
    /// The number of bytes before the position.
    at: usize,
}

impl<'c> Cursor<'_, 'c> {
    /// Advances to the byte `end`, and gives what is passed to `passed_parts`.
    fn pass(
        &mut self,
        end: usize,
        mut passed_parts: Option<&mut Vec<&'c [u8]>>,
    ) -> Result<(), &'static str> {
        let mut wanted = end.checked_sub(self.at).ok_or(DAMAGED)?;
        while wanted > 0 {
            if self.rest.is_empty() {
                self.rest = self.parts.get(self.next).copied().ok_or(DAMAGED)?;
                self.next = self.next.saturating_add(1);
            }
            let (passed, rest) = self.rest.split_at(wanted.min(self.rest.len()));
            if let Some(passed_parts) = passed_parts.as_deref_mut().filter(|_| !passed.is_empty()) {
                passed_parts.push(passed);
            }
            wanted = wanted.saturating_sub(passed.len());
            self.at = self.at.saturating_add(passed.len());
            self.rest = rest;
        }
        Ok(())
    }

    fn pass_all(self, passed_parts: &mut Vec<&'c [u8]>) {
        let rest = std::iter::once(self.rest);
        let after = self.parts.get(self.next..).unwrap_or_default();
        passed_parts.extend(
            rest.chain(after.iter().copied())
                .filter(|part| !part.is_empty()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(start: u32, end: u32, new: &str) -> Vec<u8> {
        let len = u32::try_from(new.len()).unwrap();
        let header = [start, end, len].map(u32::to_be_bytes).concat();
        [header, new.as_bytes().to_vec()].concat()
    }

    #[test]
    fn differences_are_put_one_upon_another() {
        let chunks = [
            b"one\ntwo\nthree\n".to_vec(),
            [hunk(0, 4, "ONE\n"), hunk(8, 8, "2.5\n")].concat(),
            Vec::new(),
            [hunk(2, 6, ""), hunk(12, 18, "end")].concat(),
        ];
        assert_eq!(apply(&chunks, 100).unwrap(), b"ONo\n2.5\nend");
        assert!(apply(&chunks, 5).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for wrong in [
            hunk(4, 3, ""),
            hunk(0, 100, ""),
            hunk(50, 50, "x"),
            [hunk(3, 4, ""), hunk(0, 1, "")].concat(),
            hunk(0, 1, "long")[..14].to_vec(),
            vec![0; 5],
        ] {
            assert!(
                apply(&[b"text".to_vec(), wrong.clone()], 100).is_err(),
                "{wrong:?}"
            );
        }
    }
}
