//! The formats in which a status is printed. Each has a writer.

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

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Sentences, for people.
    Long,
    /// A line per path, for people.
    Short,
    /// For programs; the lines never change.
    PorcelainV1,
    /// For programs, with modes and object ids.
    PorcelainV2,
    /// For programs; Vigil's own.
    Json,
    /// For programs that show a single line; Vigil's own.
    Line,
}

impl Format {
    /// Returns whether the format is Vigil's own.
    pub(crate) fn is_own(self) -> bool {
        match self {
            Self::Json | Self::Line => true,
            Self::Long | Self::Short | Self::PorcelainV1 | Self::PorcelainV2 => false,
        }
    }
}

/// Writes `status` in `format`.
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
