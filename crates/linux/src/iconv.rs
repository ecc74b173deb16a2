//! Character encodings as the C library knows them (iconv(3)).
//!
//! The names and the bytes are the C library's own, so that a program linked to the same library agrees.

use std::ffi::{CStr, c_char};
use std::io;

/// Why text was not converted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library cannot convert between these two encodings.
    #[error("no conversion between these encodings")]
    UnknownEncoding,
    /// The input is not text of the encoding it is said to be in, or is cut off, or has no equivalent.
    #[error("the text cannot be converted: {0}")]
    BadText(io::Error),
}

/// A conversion descriptor, closed when dropped.
struct Descriptor(libc::iconv_t);

impl Drop for Descriptor {
    #[allow(unsafe_code, reason = "a call of the C library")]
    fn drop(&mut self) {
        // SAFETY: the descriptor came from `iconv_open`, and nobody else has it.
        unsafe { libc::iconv_close(self.0) };
    }
}

/// Converts `input` from the encoding `from` to the encoding `to`.
///
/// Shift sequences that an encoding may need at the end are not asked for: the result is what one pass over the
/// input yields. The result takes at most a small multiple of the input's length.
#[allow(unsafe_code, reason = "calls of the C library")]
pub fn convert(to: &CStr, from: &CStr, input: &[u8]) -> Result<Vec<u8>, Error> {
    // SAFETY: both names are C strings that live through the call.
    let raw = unsafe { libc::iconv_open(to.as_ptr(), from.as_ptr()) };
    if raw as isize == -1 {
        return Err(Error::UnknownEncoding);
    }
    let descriptor = Descriptor(raw);

    let mut source = input.as_ptr().cast::<c_char>().cast_mut();
    let mut source_left = input.len();
    let mut output = Vec::with_capacity(input.len().saturating_add(16));
    loop {
        let spare = output.spare_capacity_mut();
        let room = spare.len();
        let mut target = spare.as_mut_ptr().cast::<c_char>();
        let mut target_left = room;
        // SAFETY: `source` has `source_left` readable bytes of `input`, which iconv does not write to; `target`
        // has `target_left` writable bytes of the vector's spare room; the descriptor is open and not shared.
        let result = unsafe {
            libc::iconv(
                descriptor.0,
                &raw mut source,
                &raw mut source_left,
                &raw mut target,
                &raw mut target_left,
            )
        };
        let error = io::Error::last_os_error();
        let length = output
            .len()
            .saturating_add(room.saturating_sub(target_left));
        // SAFETY: iconv wrote the first `room - target_left` bytes of the spare room.
        unsafe { output.set_len(length) };
        if result != usize::MAX {
            return Ok(output);
        }
        if error.raw_os_error() != Some(libc::E2BIG) {
            return Err(Error::BadText(error));
        }
        output.reserve(source_left.saturating_mul(2).saturating_add(32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_changes_its_encoding() {
        assert_eq!(
            convert(c"UTF-8", c"UTF-16LE", b"h\0\xe4\0").unwrap(),
            "hä".as_bytes()
        );
        assert_eq!(
            convert(c"UTF-8", c"ISO-8859-1", &[0xe4; 5000]).unwrap(),
            "ä".repeat(5000).as_bytes()
        );
        assert_eq!(convert(c"UTF-8", c"UTF-16", b"").unwrap(), b"");
    }

    #[test]
    fn what_is_not_text_is_refused() {
        assert!(matches!(
            convert(c"UTF-8", c"no-such-encoding", b"x"),
            Err(Error::UnknownEncoding)
        ));
        assert!(matches!(
            convert(c"UTF-8", c"UTF-16LE", b"x"),
            Err(Error::BadText(_))
        ));
    }
}
