//! Parsers that are no part of the public interface, for the fuzz targets.

use std::path::PathBuf;

use bstr::BString;

use crate::gitstatusd::request::{self, Records, Request};

/// The longest record that is kept.
pub const RECORD_LEN_MAX: usize = request::RECORD_LEN_MAX;

/// The records in the stream that comes in `pieces`.
pub fn records<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<BString> {
    let mut records = Records::default();
    let mut all = Vec::new();
    for piece in pieces {
        records.feed(piece);
        while let Some(record) = records.next() {
            all.push(record.to_owned());
        }
    }
    all
}

/// The id, the directory (if it can be one) and the two flags of the request in `record`.
pub fn request(record: &[u8]) -> Option<(BString, Option<PathBuf>, bool, bool)> {
    let request = Request::parse(record)?;
    let path = request.path().map(ToOwned::to_owned);
    Some((request.id, path, request.from_git_dir, request.skip_index))
}
