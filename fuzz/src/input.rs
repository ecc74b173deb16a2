//! Splits the input of a run into values.

use bstr::{BStr, ByteSlice};
use vigil_model::HashKind;

/// The remaining bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    /// The next byte, or 0 after the end.
    pub(crate) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                *byte
            }
            None => 0,
        }
    }

    /// The next two bytes as a number, reduced to at most `max`.
    pub(crate) fn up_to(&mut self, max: usize) -> usize {
        let number = usize::from(self.byte()) << 8 | usize::from(self.byte());
        number % (max + 1)
    }

    /// The hash function chosen by the lowest bit of the next byte.
    pub(crate) fn hash(&mut self) -> HashKind {
        match self.byte() & 1 {
            0 => HashKind::Sha1,
            _ => HashKind::Sha256,
        }
    }

    /// The bytes up to the next 0xff, which is removed too.
    pub(crate) fn field(&mut self) -> &'a BStr {
        let (field, rest) = self.0.split_once_str(b"\xff").unwrap_or((self.0, b""));
        self.0 = rest;
        field.as_bstr()
    }

    /// A part whose length is in the next two bytes.
    pub(crate) fn part(&mut self) -> &'a [u8] {
        let number = usize::from(self.byte()) << 8 | usize::from(self.byte());
        let (part, rest) = self.0.split_at(number.min(self.0.len()));
        self.0 = rest;
        part
    }
}

/// Makes `path` a path inside a working tree: removes empty, `.` and `..` components and NULs.
pub(crate) fn path_inside(path: &[u8]) -> Vec<u8> {
    let components = path.split(|byte| matches!(byte, b'/' | 0));
    let components: Vec<_> = components
        .filter(|name| !matches!(*name, b"" | b"." | b".."))
        .collect();
    components.join(&b'/')
}
