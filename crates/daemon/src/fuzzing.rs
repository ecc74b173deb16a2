//! Parsers that are not part of the public interface, for the fuzz targets.

use std::path::PathBuf;

use bstr::{BString, ByteSlice};
use vigil_engine::session::ToldUntil;

use crate::fsmonitor::packets::{Packets, packets};
use crate::fsmonitor::{Token, TokenForm};
use crate::gitstatusd::parent;
use crate::gitstatusd::request::{self, Records};
use crate::peer;
use crate::protocol::{Frames, ProtocolError, Request, Response};

/// The length of the longest record that is kept.
pub const RECORD_LEN_MAX: usize = request::RECORD_LEN_MAX;

/// Returns the records in the stream that comes in `pieces`.
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

/// Returns the id, the directory (if it is valid) and the two flags of the request in `record`.
pub fn request(record: &[u8]) -> Option<(BString, Option<PathBuf>, bool, bool)> {
    let request = request::Request::parse(record)?;
    let path = request.path().map(ToOwned::to_owned);
    Some((request.id, path, request.from_git_dir, request.skip_index))
}

/// Returns the frames, of at most `len_max` bytes, in the stream that comes in `pieces`, and the error at which it ends, if any.
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

/// Returns git's messages in the stream that comes in `pieces`, and whether it ends at an invalid one.
pub fn messages_of_git<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, bool) {
    let mut packets = Packets::default();
    let mut all = Vec::new();
    for piece in pieces {
        packets.feed(piece);
        loop {
            match packets.take() {
                Ok(Some(message)) => all.push(message),
                Ok(None) => break,
                Err(_) => return (all, true),
            }
        }
    }
    (all, false)
}

/// Returns the packets of `message`.
pub fn packets_of_git(message: &[u8]) -> Vec<u8> {
    packets(message)
}

/// Parses `text` as a token of this process, and writes it again in both forms. `OWN` in `text` stands for the
/// instance 0 and the process and time of this process's tokens.
pub fn token(text: &[u8]) -> Option<[BString; 2]> {
    let own = Token(ToldUntil {
        context_id: 0,
        number: 0,
        has_right_listings: true,
    });
    let own = own.to_text(TokenForm::Hook);
    let begin = own
        .rfind_byte(b':')
        .and_then(|at| own.get(..at))
        .unwrap_or_default();
    // A fuzzer cannot guess the process.
    let text = text.replace(b"OWN", begin.get(6..).unwrap_or_default());
    let token = Token::parse(&text)?;
    Some([TokenForm::Builtin, TokenForm::Hook].map(|form| token.to_text(form)))
}

/// Parses the message of `kind` with `body` as a request and as a response, and writes it again. Unknown fields are lost.
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

/// Whether a git with the command line `cmdline`, as in proc(5), judges files as any git does.
pub fn is_plain(cmdline: &[u8]) -> bool {
    peer::is_plain(cmdline)
}

/// Returns the start time and the address of the stack in the bytes of `/proc/PID/stat`.
pub fn image_in(stat: &[u8]) -> Option<(u64, u64)> {
    parent::image_in(stat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_token_of_a_seed_is_parsed() {
        let written = token(b"vigil:OWN:4").unwrap();
        assert!(written.iter().all(|text| text.ends_with(b":4")));
    }
}
