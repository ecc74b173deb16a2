//! The formats in which a status is printed, one writer each.

pub(crate) mod color;
pub(crate) mod json;
pub(crate) mod long;
mod path;
mod porcelain_v1;
mod porcelain_v2;
mod short;
mod sides;

#[cfg(test)]
mod oracle_tests;

use bstr::{BStr, BString};
use vigil_engine::status::Status;
use vigil_model::quote::{QuoteRule, append_quoted};

use color::Palette;
use long::LongPresentation;

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For reading, in sentences.
    Long,
    /// For reading, a line per path.
    Short,
    /// For programs, the same lines for ever.
    PorcelainV1,
    /// For programs, with modes and objects.
    PorcelainV2,
    /// For programs, Vigil's own.
    Json,
}

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
    fn terminator(&self) -> u8 {
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

/// The bytes of `status` in `format`.
pub(crate) fn write(format: Format, status: &Status, presentation: &Presentation) -> Vec<u8> {
    match format {
        Format::Long => long::write(status, presentation),
        Format::Short => short::write(status, presentation),
        Format::PorcelainV1 => porcelain_v1::write(status, presentation),
        Format::PorcelainV2 => porcelain_v2::write(status, presentation),
        Format::Json => json::write(status, presentation),
    }
}

/// The name of a branch without the folder of branches.
fn branch_name(reference: &BStr) -> Option<&BStr> {
    reference.strip_prefix(b"refs/heads/").map(BStr::new)
}
