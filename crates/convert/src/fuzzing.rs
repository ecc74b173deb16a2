//! Parsers that are not part of the public interface, for the fuzz targets.

use std::io;

use vigil_rules::messages::Messages;

use crate::converter::conversation::{Conversation, Outcome};
use crate::converter::filter::Input;
use crate::converter::{eol, ident};

/// The record of a conversation with a filter.
#[derive(Debug, Default)]
pub struct Conversed {
    /// The contents that the filter returned, file by file; `None` where it returned none.
    pub outcomes: Vec<Option<Vec<u8>>>,
    /// Everything that was sent to it.
    pub sent: Vec<u8>,
    /// The error at which git would have exited.
    pub fatal: Option<String>,
}

/// Greets a filter that answers with `replies`, and has it clean `files`.
pub fn converse(replies: impl io::Read, files: &[&[u8]]) -> Conversed {
    let mut conversed = Conversed::default();
    let messages = Messages::default();
    let mut conversation = Conversation::new(&mut conversed.sent, replies);
    if conversation.shake_hands("filter".into()).is_err() {
        return conversed;
    }
    for file in files {
        match conversation.clean("path".into(), Input::Bytes(file), &messages) {
            Ok(Outcome::Converted(contents)) => conversed.outcomes.push(Some(contents)),
            Ok(Outcome::Declined) => conversed.outcomes.push(None),
            Ok(Outcome::Broken) => break,
            Err(error) => {
                conversed.fatal = Some(error.to_string());
                break;
            }
        }
    }
    conversed
}

/// Counts lone LF and CRLF in contents that come in `pieces`, and converts CRLF to LF.
pub fn line_endings<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (u64, u64, Vec<u8>) {
    let mut statistics = eol::Statistics::default();
    let mut out = Vec::new();
    let mut held_cr = false;
    for piece in pieces {
        statistics.add(piece);
        eol::strip_cr(piece, &mut held_cr, |bytes| out.extend_from_slice(bytes));
    }
    out.extend_from_slice(if held_cr { b"\r" } else { b"" });
    statistics.finish();
    (statistics.lone_lf, statistics.crlf, out)
}

/// Collapses the idents in `contents`, if there are any.
pub fn ident_collapsed(contents: &[u8]) -> Option<Vec<u8>> {
    ident::collapse(contents)
}
