//! Parsers that are no part of the public interface, for the fuzz targets.

use std::path::PathBuf;

use bstr::BString;

use crate::gitstatusd::request::{self, Records};
use crate::protocol::{Frames, ProtocolError, Request, Response};

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
    let request = request::Request::parse(record)?;
    let path = request.path().map(ToOwned::to_owned);
    Some((request.id, path, request.from_git_dir, request.skip_index))
}

/// The frames, of at most `len_max` bytes, in the stream that comes in `pieces`; and the length of the one at which it ends, if
/// one is no frame.
pub fn frames<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    len_max: usize,
) -> (Vec<(u8, Vec<u8>)>, Option<ProtocolError>) {
    let mut frames = Frames::new(len_max);
    let mut all = Vec::new();
    for piece in pieces {
        frames.feed(piece);
        loop {
            match frames.take() {
                Ok(Some(frame)) => all.push(frame),
                Ok(None) => break,
                Err(error) => return (all, Some(error)),
            }
        }
    }
    (all, None)
}

/// What the message of `kind` with `body` is when it is written again: as a request, and as a response. Of what says how a
/// daemon is, nothing is left that is not known here.
pub fn message(kind: u8, body: &[u8]) -> [Option<Vec<u8>>; 2] {
    [
        Request::from_frame(kind, body)
            .ok()
            .map(|request| request.to_frame()),
        Response::from_frame(kind, body)
            .ok()
            .map(|response| response.to_frame()),
    ]
}
