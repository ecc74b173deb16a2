//! Bytes that are no UTF-8 within texts that must be: errors are told by `Display`, and git writes names, lines and
//! values with the bytes that they have.
//!
//! A byte that is not part of a character stands in the text as one of the last 128 characters that there are, which
//! belong to nobody, and such characters stand as their bytes. [`bytes_of`] turns the text back once it is written.
//! As nothing but [`raw`] and [`raw_path`] makes these characters, every byte that they were given comes out again.

use std::fmt::{self, Display, Formatter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BString, ByteSlice};

/// What stands for the byte 0, if that were ever written so: a byte's character is as far from it as the byte is
/// from 0.
const BASE: u32 = 0x10_ff00;

/// How the UTF-8 of all these characters begins.
const LEAD: u8 = 0xf4;

/// Bytes for a text.
#[derive(Clone, Copy)]
pub struct Raw<'b>(&'b [u8]);

/// `bytes`, to be shown in a text from which [`bytes_of`] makes them again.
pub fn raw<B: AsRef<[u8]> + ?Sized>(bytes: &B) -> Raw<'_> {
    Raw(bytes.as_ref())
}

/// As [`raw`], of a path.
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

/// The byte for which a character stands.
fn byte_of(character: char) -> Option<u8> {
    let byte = u32::from(character).checked_sub(BASE)?;
    u8::try_from(byte).ok().filter(|byte| !byte.is_ascii())
}

/// The bytes of a text in which some are shown by [`raw`].
pub fn bytes_of(text: &str) -> BString {
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

/// What an error, or another value that shows itself, says, with every byte that it was given.
pub fn said_by(value: &(impl Display + ?Sized)) -> BString {
    bytes_of(&value.to_string())
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
            assert_eq!(said_by(&raw(text)), text);
        }
    }

    #[test]
    fn what_is_utf_8_is_shown_as_it_is() {
        assert_eq!(raw("h\u{e9}").to_string(), "h\u{e9}");
        assert_eq!(raw_path(Path::new("a/b")).to_string(), "a/b");
    }
}
