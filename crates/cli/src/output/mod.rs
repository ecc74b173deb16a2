//! The formats in which a status is printed, one writer each.

mod branch_name;
pub(crate) mod color;
pub(crate) mod json;
mod line;
pub(crate) mod long;
mod path;
mod porcelain_v1;
mod porcelain_v2;
mod presentation;
mod short;
mod sides;

#[cfg(test)]
mod oracle_tests;

use vigil_engine::status::Status;

pub(crate) use presentation::Presentation;

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
    /// For programs that show one line, Vigil's own.
    Line,
}

/// The bytes of `status` in `format`.
pub(crate) fn write(format: Format, status: &Status, presentation: &Presentation) -> Vec<u8> {
    match format {
        Format::Long => long::write(status, presentation),
        Format::Short => short::write(status, presentation),
        Format::PorcelainV1 => porcelain_v1::write(status, presentation),
        Format::PorcelainV2 => porcelain_v2::write(status, presentation),
        Format::Json => json::write(status, presentation),
        Format::Line => line::write(status, presentation),
    }
}
