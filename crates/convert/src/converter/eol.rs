//! Line endings: what a text has, and the conversions from CRLF to LF and back.

use bstr::ByteSlice;

/// The treatment of line endings (gitattributes(5), "text" and "eol").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing.
    Binary,
    /// CRLF becomes LF; the ending is the one that a checkout would write, for warnings.
    Text(Ending),
    /// The same, if the contents look like text and the blob in the index has no CRLF.
    Auto(Ending),
}

/// A line ending in the working tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Lf,
    CrLf,
}

/// Counts of bytes, which decide whether contents are text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    nul: u64,
    lone_cr: u64,
    pub(crate) lone_lf: u64,
    pub(crate) crlf: u64,
    printable: u64,
    nonprintable: u64,
    /// The last byte counted.
    last: Option<u8>,
}

impl Statistics {
    /// Counts all of `contents`.
    pub(crate) fn of(contents: &[u8]) -> Self {
        let mut statistics = Self::default();
        statistics.add(contents);
        statistics.finish();
        statistics
    }

    /// Counts the next bytes of the contents.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let mut previous = self.last;
        for &byte in bytes {
            match byte {
                b'\n' if previous == Some(b'\r') => {
                    // The CR was counted as lone.
                    self.lone_cr = self.lone_cr.saturating_sub(1);
                    self.crlf += 1;
                }
                b'\n' => self.lone_lf += 1,
                b'\r' => self.lone_cr += 1,
                b' '..=b'~' | 0x80.. | b'\x08' | b'\t' | b'\x1b' | b'\x0c' => self.printable += 1,
                0 => {
                    self.nul += 1;
                    self.nonprintable += 1;
                }
                _ => self.nonprintable += 1,
            }
            previous = Some(byte);
        }
        self.last = previous;
    }

    /// Finishes the count: a control-Z at the end is no sign of a binary.
    pub(crate) fn finish(&mut self) {
        if self.last.take() == Some(b'\x1a') {
            self.nonprintable = self.nonprintable.saturating_sub(1);
        }
    }

    /// Whether a NUL was seen: then the contents are binary, whatever follows.
    pub(crate) fn has_nul(&self) -> bool {
        self.nul > 0
    }

    fn is_binary(&self) -> bool {
        self.lone_cr > 0 || self.nul > 0 || self.printable >> 7 < self.nonprintable
    }

    /// Whether CRLF becomes LF. Calls `has_crlf_in_index` only if it matters.
    pub(crate) fn becomes_lf(
        &self,
        action: Action,
        has_crlf_in_index: impl FnOnce() -> bool,
    ) -> bool {
        self.crlf > 0
            && match action {
                Action::Binary => false,
                Action::Text(_) => true,
                Action::Auto(_) => !self.is_binary() && !has_crlf_in_index(),
            }
    }

    /// Returns the line endings that are lost if the contents are committed and checked out again.
    pub(crate) fn loss(&self, action: Action, becomes_lf: bool) -> Option<LostEndings> {
        let mut after = *self;
        if becomes_lf {
            after.lone_lf += after.crlf;
            after.crlf = 0;
        }
        if after.becomes_crlf(action) {
            after.crlf += after.lone_lf;
            after.lone_lf = 0;
        }
        match action {
            Action::Binary => None,
            Action::Auto(_) if self.is_binary() => None,
            _ if self.crlf > 0 && after.crlf == 0 => Some(LostEndings::CrLf),
            _ if self.lone_lf > 0 && after.lone_lf == 0 => Some(LostEndings::Lf),
            _ => None,
        }
    }

    /// Whether a checkout would convert the LF of these contents to CRLF.
    fn becomes_crlf(&self, action: Action) -> bool {
        self.lone_lf > 0
            && match action {
                Action::Text(Ending::CrLf) => true,
                Action::Auto(Ending::CrLf) => {
                    self.lone_cr == 0 && self.crlf == 0 && !self.is_binary()
                }
                _ => false,
            }
    }
}

/// Line endings that a round trip through git replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LostEndings {
    /// CRLF by LF.
    CrLf,
    /// LF by CRLF.
    Lf,
}

/// Whether a blob in the index contains CRLF and looks like text: then its line endings are left alone.
pub(crate) fn has_crlf(blob: &[u8]) -> bool {
    if !blob.contains(&b'\r') {
        return false;
    }
    let statistics = Statistics::of(blob);
    statistics.crlf > 0 && !statistics.is_binary()
}

/// Passes `bytes` on without the CR of each CRLF. For contents that come in pieces, `held_cr` keeps a CR at the
/// end of one piece until the next shows what follows it; after the last piece, the caller emits it.
pub(crate) fn strip_cr(bytes: &[u8], held_cr: &mut bool, mut emit: impl FnMut(&[u8])) {
    if bytes.is_empty() {
        return;
    }
    if std::mem::take(held_cr) && !bytes.starts_with(b"\n") {
        emit(b"\r");
    }
    let body = match bytes.strip_suffix(b"\r") {
        Some(body) => {
            *held_cr = true;
            body
        }
        None => bytes,
    };
    let mut rest = body;
    while let Some((before, after)) = rest.split_once_str(b"\r") {
        emit(before);
        if !after.starts_with(b"\n") {
            emit(b"\r");
        }
        rest = after;
    }
    emit(rest);
}

/// Converts LF in `contents` to CRLF as a checkout does; `None` if they stay as they are.
pub(crate) fn to_crlf(contents: &[u8], action: Action) -> Option<Vec<u8>> {
    let (Action::Text(Ending::CrLf) | Action::Auto(Ending::CrLf)) = action else {
        return None;
    };
    let statistics = Statistics::of(contents);
    if !statistics.becomes_crlf(action) {
        return None;
    }
    let added = usize::try_from(statistics.lone_lf).unwrap_or_default();
    let mut converted = Vec::with_capacity(contents.len().saturating_add(added));
    let mut rest = contents;
    while let Some((line, after)) = rest.split_once_str(b"\n") {
        converted.extend_from_slice(line);
        if !line.ends_with(b"\r") {
            converted.push(b'\r');
        }
        converted.push(b'\n');
        rest = after;
    }
    converted.extend_from_slice(rest);
    Some(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let contents = b"a\r\nb\r\r\n\rc\n\r\n\x1a\r";
        let whole = Statistics::of(contents);
        let expected = b"a\nb\r\n\rc\n\n\x1a\r".to_vec();
        for size in 1..=contents.len() {
            let mut statistics = Statistics::default();
            let mut out = Vec::new();
            let mut held_cr = false;
            for piece in contents.chunks(size) {
                statistics.add(piece);
                strip_cr(piece, &mut held_cr, |bytes| out.extend_from_slice(bytes));
            }
            if held_cr {
                out.push(b'\r');
            }
            statistics.finish();
            assert_eq!(statistics, whole);
            assert_eq!(out, expected);
        }
    }
}
