//! What git is told: a token, and the paths that may have changed since the one that it has, each with a NUL at its end. A path
//! that is one slash stands for everything.

use bstr::BString;
use vigil_engine::session::Told;

use super::{Form, Token};

const EVERYTHING: &[u8] = b"/";

/// The bytes that tell `told`.
pub(crate) fn payload(told: &Told, form: Form) -> Vec<u8> {
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

/// What is told where nothing is known: everything, with a token that nobody ever understands.
pub fn without_answer(form: Form) -> Vec<u8> {
    BString::from([form.begin().as_bytes(), b"none.0.0:0\0", EVERYTHING, b"\0"].concat()).into()
}
