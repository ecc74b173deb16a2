//! Loose objects: a header and the contents, in one zlib stream in a file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use gix_hash::oid;
use gix_object::Kind;

use super::contents::{BeforeContents, SIZE_MAX, Sink, hand_on};
use super::error::{CopyError, Reason};
use super::facts::Info;
use super::inflate::{
    HEAD_LEN, InflateError, Inflater, RESERVE_MAX, SLACK, has_lost_reason, make_room,
};

/// The most bytes of a file that are read at once.
const WINDOW_LEN: usize = 128 << 10;

/// The file of an object, opened but not yet read.
#[derive(Debug)]
pub(super) struct Loose {
    file: File,
    /// The length of the file, in bytes; never 0.
    pub(super) len: u64,
}

/// The part of a file that was read last.
struct Window<'a> {
    loose: &'a Loose,
    buf: &'a mut Vec<u8>,
    /// The range of `buf` that was read but not used yet.
    unused: Range<usize>,
    /// The offset in the file of the next part.
    position: u64,
}

impl Loose {
    pub(super) fn new(file: File, len: u64) -> Self {
        Self { file, len }
    }

    /// Reads the type and size from the header.
    pub(super) fn info(
        &self,
        id: &oid,
        inflater: &mut Inflater,
        buf: &mut Vec<u8>,
        messages: &mut Vec<String>,
    ) -> Result<Info, CopyError> {
        let mut head = inflater.take_head();
        let mut window = Window::new(self, buf);
        let header = window.header(id, inflater, &mut head, messages);
        inflater.give_head(head);
        Ok(header?.0)
    }

    /// Appends the contents to `out`, after `begin` has seen the type and size. With `is_plain`, a blob for which git
    /// would show other contents when it streams it counts as damaged.
    pub(super) fn read(
        &self,
        id: &oid,
        inflater: &mut Inflater,
        buf: &mut Vec<u8>,
        out: &mut Vec<u8>,
        (begin, is_plain): (BeforeContents<'_>, bool),
        messages: &mut Vec<String>,
    ) -> Result<Info, CopyError> {
        let mut window = Window::new(self, buf);
        let mut head = inflater.take_head();
        let header = window.header(id, inflater, &mut head, messages);
        let result = header.and_then(|(info, contents, is_end)| {
            if info.size > SIZE_MAX {
                return Err(Reason::TooLarge { id: id.to_owned() }.into());
            }
            if !begin(info, out) {
                return Ok(info);
            }
            let start = out.len();
            let size = usize::try_from(info.size).unwrap_or(usize::MAX);
            let (header_len, contents) = (contents, head.get(contents..).unwrap_or_default());
            if is_plain && info.kind == Kind::Blob && contents.len() > size {
                // git streams it to its end, whatever size the header has.
                return Err(CopyError::Damaged);
            }
            // Bytes beyond the header's size are ignored here, as git stops there.
            out.extend_from_slice(contents.get(..size).unwrap_or(contents));
            let message_count = messages.len();
            let rest = window.rest((start, size), is_end, inflater, out, messages);
            if let Err(CopyError::Fatal(reason)) = rest {
                return Err(reason.into());
            }
            if rest.is_err() {
                if out.len() - start == size || has_lost_reason(messages) {
                    messages.truncate(message_count);
                    window.find_reason((header_len + size) as u64, inflater, messages);
                }
                messages.push(format!("error: corrupt loose object '{id}'"));
            } else if !matches!(window.bytes(), Ok([])) {
                messages.push(format!("error: garbage at end of loose object '{id}'"));
                return Err(CopyError::Damaged);
            }
            rest.map(|()| info)
        });
        inflater.give_head(head);
        result
    }

    /// Passes the contents to `sink` piece by piece; the first piece is empty and comes as soon as the header was read.
    /// Like git, this ignores what follows the stream in the file, and does not compare the size in the header.
    pub(super) fn stream<E>(
        &self,
        id: &oid,
        inflater: &mut Inflater,
        buf: &mut Vec<u8>,
        piece: &mut Vec<u8>,
        sink: Sink<'_, E>,
        messages: &mut Vec<String>,
    ) -> Result<Result<Info, E>, CopyError> {
        let mut window = Window::new(self, buf);
        let mut head = inflater.take_head();
        let header = window.header(id, inflater, &mut head, messages);
        let contents = header
            .as_ref()
            .ok()
            .and_then(|(_, start, _)| head.get(*start..));
        piece.clear();
        piece.extend_from_slice(contents.unwrap_or_default());
        inflater.give_head(head);
        let (info, _, is_end) = header?;
        if let Err(error) = sink(info, b"") {
            return Ok(Err(error));
        }
        let mut step = Ok(is_end);
        loop {
            let is_end = matches!(step, Ok(true));
            if let Err(error) = hand_on(piece, is_end, info, sink) {
                return Ok(Err(error));
            }
            if step.is_err() && has_lost_reason(messages) {
                messages.pop();
                window.find_reason(u64::MAX, inflater, messages);
            }
            if step? {
                return Ok(Ok(info));
            }
            step = window.step(WINDOW_LEN, inflater, piece, messages);
        }
    }
}

impl<'a> Window<'a> {
    fn new(loose: &'a Loose, buf: &'a mut Vec<u8>) -> Self {
        // Memory that is not needed is not touched, since most files are small.
        let len = usize::try_from(loose.len).unwrap_or(WINDOW_LEN);
        if buf.len() < len.min(WINDOW_LEN) {
            buf.resize(len.min(WINDOW_LEN), 0);
        }
        Self {
            loose,
            buf,
            unused: 0..0,
            position: 0,
        }
    }

    /// Returns the next bytes, or none at the end of the file.
    fn bytes(&mut self) -> io::Result<&[u8]> {
        if self.unused.is_empty() && self.position < self.loose.len {
            let len = loop {
                match self.loose.file.read_at(self.buf, self.position) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    result => break result?,
                }
            };
            self.unused = 0..len;
            self.position += len as u64;
        }
        Ok(self.buf.get(self.unused.clone()).unwrap_or_default())
    }

    /// Inflates at most `room` bytes. Returns whether the stream has ended.
    fn step(
        &mut self,
        room: usize,
        inflater: &mut Inflater,
        out: &mut Vec<u8>,
        messages: &mut Vec<String>,
    ) -> Result<bool, CopyError> {
        let input = self.bytes().map_err(|_| CopyError::Damaged)?;
        let is_last = input.is_empty();
        let step = match inflater.step(input, room, out, messages) {
            Ok(step) => step,
            Err(failed @ InflateError::NoMemory(_)) => return Err(failed.into()),
            Err(_) => return Err(CopyError::Damaged),
        };
        self.unused.start += step.used;
        if step.is_end {
            return Ok(true);
        }
        if is_last && step.is_stuck {
            return Err(CopyError::Damaged);
        }
        Ok(false)
    }

    /// Adds the message about what is wrong within the first `len` bytes of the stream.
    fn find_reason(&mut self, len: u64, inflater: &mut Inflater, messages: &mut Vec<String>) {
        (self.unused, self.position) = (0..0, 0);
        inflater.find_reason(len, messages, |inflater, room, out, messages| {
            self.step(room, inflater, out, messages).ok()
        });
    }

    /// Reads the header. Returns it, the start of the contents in `head`, and whether they end within `head`.
    fn header(
        &mut self,
        id: &oid,
        inflater: &mut Inflater,
        head: &mut Vec<u8>,
        messages: &mut Vec<String>,
    ) -> Result<(Info, usize, bool), CopyError> {
        inflater.restart();
        let Ok(is_end) = self.step(HEAD_LEN, inflater, head, messages) else {
            messages.push(format!("error: unable to unpack {id} header"));
            return Err(CopyError::Damaged);
        };
        let Some(end) = head.iter().position(|byte| *byte == 0) else {
            messages.push(format!(
                "error: header for {id} too long, exceeds {HEAD_LEN} bytes"
            ));
            return Err(CopyError::Damaged);
        };
        let Some(parsed) = head.get(..end).and_then(parse) else {
            messages.push(format!("error: unable to parse {id} header"));
            return Err(CopyError::Damaged);
        };
        let (kind, size) = parsed?;
        let kind = kind.ok_or(Reason::InvalidType)?;
        Ok((Info { kind, size }, end + 1, is_end))
    }

    /// Appends the rest to `out`, where the contents begin at `start` and must have `size` bytes.
    fn rest(
        &mut self,
        (start, size): (usize, usize),
        is_end: bool,
        inflater: &mut Inflater,
        out: &mut Vec<u8>,
        messages: &mut Vec<String>,
    ) -> Result<(), CopyError> {
        let mut is_end = is_end;
        let no_memory = |_| Reason::no_memory(size);
        let left = size.saturating_sub(out.len() - start);
        out.try_reserve(left.min(RESERVE_MAX) + SLACK)
            .map_err(no_memory)?;
        while !is_end && out.len() - start <= size {
            let left = size - (out.len() - start);
            // Each step clears all of its room, and a window of the file may fill little of it.
            let room = left.min(WINDOW_LEN) + SLACK;
            let message_count = messages.len();
            make_room(out, room, left + SLACK).map_err(no_memory)?;
            let step = self.step(room, inflater, out, messages);
            if out.len() - start > size {
                // git gives no room for more, and so does not see errors after it.
                messages.truncate(message_count);
            }
            is_end = step?;
        }
        if out.len() - start == size {
            Ok(())
        } else {
            Err(CopyError::Damaged)
        }
    }
}

/// Parses the type, `None` if it is unknown, and the size. Returns `None` if the header has another format.
fn parse(header: &[u8]) -> Option<Result<(Option<Kind>, u64), Reason>> {
    let space = header.iter().position(|byte| *byte == b' ')?;
    let (kind, size) = header.split_at_checked(space)?;
    let size = size.get(1..)?;
    let mut number = 0u64;
    for (place, byte) in size.iter().enumerate() {
        if !byte.is_ascii_digit() || place == 1 && number == 0 {
            return None;
        }
        let digit = u64::from(byte - b'0');
        let Some(tens) = number.checked_mul(10) else {
            return Some(Err(Reason::SizeOverflow(number, '*', 10)));
        };
        number = match tens.checked_add(digit) {
            Some(number) => number,
            None => return Some(Err(Reason::SizeOverflow(tens, '+', digit))),
        };
    }
    (!size.is_empty()).then(|| Ok((Kind::from_bytes(kind).ok(), number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_a_type_and_a_size() {
        let sound = |header: &[u8]| parse(header).and_then(Result::ok);
        assert_eq!(sound(b"blob 0"), Some((Some(Kind::Blob), 0)));
        assert_eq!(
            sound(b"tree 18446744073709551615"),
            Some((Some(Kind::Tree), u64::MAX))
        );
        assert_eq!(sound(b"bolb 12"), Some((None, 12)));
        for bad in [
            &b"blob"[..],
            b"blob ",
            b"blob 01",
            b"blob 1 ",
            b"blob -1",
            b"",
        ] {
            assert!(parse(bad).is_none(), "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn sizes_beyond_all_bounds_end_git() {
        let words = |header: &[u8]| match parse(header) {
            Some(Err(reason)) => reason.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(
            words(b"blob 171000000000000000000"),
            "size_t overflow: 17100000000000000000 * 10"
        );
        assert_eq!(
            words(b"blob 18446744073709551617"),
            "size_t overflow: 18446744073709551610 + 7"
        );
    }
}
