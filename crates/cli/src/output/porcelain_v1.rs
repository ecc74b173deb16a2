//! `--porcelain=v1`: the short format, unaffected by the user's configuration (git-status(1), "Porcelain Format Version 1").

use bstr::BString;
use vigil_engine::status::Status;

use super::color::Palette;
use super::presentation::Presentation;
use super::short::{self, SubmoduleLetter};

/// Writes `status`.
pub(super) fn write(status: &Status, presentation: &Presentation) -> Vec<u8> {
    let fixed = Presentation {
        prefix: BString::default(),
        palette: Palette::plain(),
        ..presentation.clone()
    };
    short::write_with(status, &fixed, SubmoduleLetter::Plain)
}
