//! What all formats ask of whoever prints.

use bstr::{BStr, BString};
use vigil_model::quote::{QuoteRule, append_quoted};

use super::color::Palette;
use super::long::LongPresentation;
use super::path;

/// How a status is printed, beyond its format.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presentation {
    /// Entries end in NUL, and paths are as they are, from the top of the working tree (`-z`).
    pub nul_terminated: bool,
    /// Paths are shown relative to this directory: empty, or with a `/` at its end.
    pub prefix: BString,
    /// Bytes from 0x80 on are escaped (`core.quotePath`).
    pub quote_high_bytes: bool,
    /// The colours of the formats that are for reading.
    pub palette: Palette,
    /// What only the long format needs.
    pub long: LongPresentation,
}

impl Presentation {
    pub(super) fn terminator(&self) -> u8 {
        if self.nul_terminated { 0 } else { b'\n' }
    }

    /// Appends `path` as the formats that are for reading, and porcelain v2, show it; the short format also quotes
    /// for spaces.
    pub(crate) fn append_path(&self, out: &mut Vec<u8>, path: &BStr, quotes_spaces: bool) {
        if self.nul_terminated {
            out.extend_from_slice(path);
            return;
        }
        let rule = QuoteRule {
            high_bytes: self.quote_high_bytes,
            spaces: quotes_spaces,
        };
        let relative = path::relative(path, self.prefix.as_ref());
        append_quoted(out, relative.as_ref().as_ref(), rule);
    }
}
