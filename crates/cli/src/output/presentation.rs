//! The options that all formats share.

use bstr::{BStr, BString};
use vigil_model::quote::{QuoteRule, append_quoted};

use super::color::Palette;
use super::long::presentation::LongPresentation;
use super::path;

/// How a status is printed, besides its format.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presentation {
    /// Entries end in NUL, and paths are unquoted and relative to the top of the working tree (`-z`).
    pub nul_terminated: bool,
    /// Paths are shown relative to this directory. It is empty or ends in `/`.
    pub prefix: BString,
    /// Bytes from 0x80 on are escaped (`core.quotePath`).
    pub quote_high_bytes: bool,
    /// The colours of the formats for people.
    pub palette: Palette,
    /// The options of the long format.
    pub long: LongPresentation,
}

impl Presentation {
    pub(super) fn terminator(&self) -> u8 {
        if self.nul_terminated { 0 } else { b'\n' }
    }

    /// Appends `path` as the formats for people and porcelain v2 show it. The short format also quotes paths with spaces
    /// (`quotes_spaces`).
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
