//! Bytes that are not UTF-8 within strings, which must be UTF-8. Errors are written with `Display`, but git writes
//! names, lines and values with the very bytes that they have.
//!
//! A byte that is not part of a character is represented by one of the last 128 code points of Unicode, which are
//! assigned to no character; these code points themselves are represented byte by byte. [`text_bytes`] restores the
//! bytes when the text is written. Since only [`raw`] and [`raw_path`] produce these code points, every byte comes
//! out as it went in.

use std::fmt::{self, Display, Formatter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BString, ByteSlice};

/// The code point that would represent byte 0. Byte `b` is represented by `BASE + b`; only bytes from 0x80 on are.
const BASE: u32 = 0x10_ff00;

/// The first byte of the UTF-8 encoding of all these code points.
const LEAD: u8 = 0xf4;

/// Bytes that can be formatted into a string.
#[derive(Clone, Copy)]
pub struct Raw<'b>(&'b [u8]);

/// Wraps `bytes` for a text from which [`text_bytes`] restores them.
pub fn raw<B: AsRef<[u8]> + ?Sized>(bytes: &B) -> Raw<'_> {
    Raw(bytes.as_ref())
}

/// Wraps the bytes of a path, as [`raw`] does.
pub fn raw_path(path: &Path) -> Raw<'_> {
    Raw(path.as_os_str().as_bytes())
}

impl Display for Raw<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            let mut rest = chunk.valid();
            while let Some(at) = rest.find(|character| byte_of(character).is_some()) {
                let (before, from) = rest.split_at(at);
                out.write_str(before)?;
                let mut characters = from.chars();
                if let Some(character) = characters.next() {
                    let mut room = [0; 4];
                    write_bytes(out, character.encode_utf8(&mut room).as_bytes())?;
                }
                rest = characters.as_str();
            }
            out.write_str(rest)?;
            write_bytes(out, chunk.invalid())?;
        }
        Ok(())
    }
}

fn write_bytes(out: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for byte in bytes {
        let character = BASE.checked_add(u32::from(*byte)).and_then(char::from_u32);
        out.write_char(character.unwrap_or(char::REPLACEMENT_CHARACTER))?;
    }
    Ok(())
}

/// The byte that a character represents, if it represents one.
fn byte_of(character: char) -> Option<u8> {
    let byte = u32::from(character).checked_sub(BASE)?;
    u8::try_from(byte).ok().filter(|byte| !byte.is_ascii())
}

/// Returns the bytes of a text, with those that [`raw`] encoded restored.
pub fn text_bytes(text: &str) -> BString {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.as_bytes().find_byte(LEAD) {
        let (before, from) = rest.split_at(at);
        bytes.extend_from_slice(before.as_bytes());
        let mut characters = from.chars();
        if let Some(character) = characters.next() {
            match byte_of(character) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        rest = characters.as_str();
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes.into()
}

/// Formats an error, or another value, and restores every byte that [`raw`] encoded.
pub fn message_bytes(value: &(impl Display + ?Sized)) -> BString {
    text_bytes(&value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_out_again() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        let texts: [&[u8]; 8] = [
            b"",
            b"plain",
            "h\u{e9}\u{10ffff}\u{10ff80}\u{10ff7f}\u{1f600}".as_bytes(),
            b"\xff\xfe\x80",
            b"\xf4\x8f\xbf",
            b"a\xf4\x8f\xbf\xc3\xa9",
            b"\xf4\x8f\xbe\x80\xf4",
            &all,
        ];
        for text in texts {
            assert_eq!(message_bytes(&raw(text)), text);
        }
    }

    #[test]
    fn what_is_utf_8_is_shown_as_it_is() {
        assert_eq!(raw("h\u{e9}").to_string(), "h\u{e9}");
        assert_eq!(raw_path(Path::new("a/b")).to_string(), "a/b");
    }
}
