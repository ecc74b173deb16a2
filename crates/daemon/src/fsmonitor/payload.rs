//! The answer to git: a token, and the paths that may have changed since git's own token, each followed by a NUL. A single
//! slash as the path means everything.

use vigil_engine::session::ChangeReport;

use super::{Token, TokenForm};

const EVERYTHING: &[u8] = b"/";

/// Encodes `told`.
pub(crate) fn payload(told: &ChangeReport, form: TokenForm) -> Vec<u8> {
    let mut bytes: Vec<u8> = Token(told.until).to_text(form).into();
    bytes.push(0);
    match &told.paths {
        Some(paths) => {
            for path in paths {
                bytes.extend_from_slice(path);
                bytes.push(0);
            }
        }
        None => {
            bytes.extend_from_slice(EVERYTHING);
            bytes.push(0);
        }
    }
    bytes
}

/// The answer when nothing is known: everything may have changed, with a token that never parses.
pub fn without_answer(form: TokenForm) -> Vec<u8> {
    [form.begin().as_bytes(), b"none.0.0:0\0", EVERYTHING, b"\0"].concat()
}
