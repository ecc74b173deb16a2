//! A person in the header of a commit or a tag: `Name <address> seconds zone`.

use std::ops::Range;

use bstr::{BStr, ByteSlice};

use vigil_model::white_space;

/// Where name and address are in a text.
pub(super) struct Ident {
    name: Range<usize>,
    email: Range<usize>,
}

impl Ident {
    /// `None` if there is no address in angle brackets. The name starts where `text` does.
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

    /// Where the name starts.
    pub(super) fn start(&self) -> usize {
        self.name.start
    }

    /// Where the address ends, behind its bracket.
    pub(super) fn end(&self) -> usize {
        self.email.end.saturating_add(1)
    }
}
