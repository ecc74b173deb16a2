//! A person in the header of a commit or a tag: `Name <address> seconds zone`.

use std::ops::Range;

use bstr::{BStr, ByteSlice};

use vigil_model::white_space;

/// The ranges of the name and the address in a text.
pub(super) struct Ident {
    name: Range<usize>,
    email: Range<usize>,
}

impl Ident {
    /// Finds the name, which starts where `text` does, and the address; `None` if there is no
    /// address in angle brackets.
    pub(super) fn split(text: &BStr) -> Option<Self> {
        let open = text.find_byte(b'<')?;
        let start = open.saturating_add(1);
        let len = text.get(start..)?.find_byte(b'>')?;
        let name = white_space::trim_end(text.get(..open)?);
        Some(Self {
            name: 0..name.len(),
            email: start..start.saturating_add(len),
        })
    }

    pub(super) fn name<'a>(&self, text: &'a BStr) -> &'a BStr {
        text.get(self.name.clone()).unwrap_or_default().as_bstr()
    }

    pub(super) fn email<'a>(&self, text: &'a BStr) -> &'a BStr {
        text.get(self.email.clone()).unwrap_or_default().as_bstr()
    }

    /// Returns the start of the name.
    pub(super) fn start(&self) -> usize {
        self.name.start
    }

    /// Returns the end of the address, after its bracket.
    pub(super) fn end(&self) -> usize {
        self.email.end.saturating_add(1)
    }
}
