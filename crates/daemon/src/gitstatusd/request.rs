//! Requests: `ID 0x1F DIRECTORY [0x1F FLAG [0x1F WHERE]] 0x1E`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use super::drawing::Whereabouts;

/// Separates the fields of a record.
pub(crate) const FIELD_SEPARATOR: u8 = 0x1f;
/// Ends a record.
pub(crate) const RECORD_SEPARATOR: u8 = 0x1e;
/// The longest record that is kept; no path is as long. A longer one is answered as "no repository".
pub(crate) const RECORD_LEN_MAX: usize = 64 * 1024;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The client's id for the request; any bytes.
    pub(crate) id: BString,
    /// The directory that the question is about; empty if it was too long to be a path.
    pub(crate) dir: BString,
    /// Whether `dir` is the repository itself, not a directory in its working tree.
    pub(crate) from_git_dir: bool,
    /// Whether to leave out everything that needs the index.
    pub(crate) skip_index: bool,
    /// The client's directory, if that is not `dir`; empty if it did not say.
    pub(crate) here: BString,
}

impl Request {
    /// Creates a request without an id about `place`, which is a directory or, after a `:`, a GIT_DIR. `here` is the
    /// client's directory.
    pub(crate) fn about(place: &BStr, here: &Path, skip_index: bool) -> Self {
        let (from_git_dir, dir) = match place.strip_prefix(b":") {
            Some(dir) => (true, dir),
            None => (false, place.as_bytes()),
        };
        Self {
            id: BString::default(),
            dir: dir.into(),
            from_git_dir,
            skip_index,
            here: here.as_os_str().as_bytes().into(),
        }
    }

    /// Parses a record without its separator. `None` if it has no second field, or an invalid later one: such a record
    /// gets no response, as with gitstatusd.
    pub(crate) fn parse(record: &[u8]) -> Option<Self> {
        let (id, rest) = record.split_once_str(&[FIELD_SEPARATOR])?;
        let (from_git_dir, rest) = match rest.strip_prefix(b":") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let (dir, flag) = match rest.split_once_str(&[FIELD_SEPARATOR]) {
            Some((dir, flag)) => (dir, flag),
            None => (rest, b"0".as_slice()),
        };
        let (flag, here) = match flag.split_once_str(&[FIELD_SEPARATOR]) {
            Some((flag, here)) if here.starts_with(b"/") => (flag, here),
            Some(_) => return None,
            None => (flag, b"".as_slice()),
        };
        let skip_index = match flag {
            b"0" => false,
            b"1" => true,
            _ => return None,
        };
        Some(Self {
            id: id.into(),
            dir: dir.into(),
            from_git_dir,
            skip_index,
            here: here.into(),
        })
    }

    /// Where the client is.
    pub(crate) fn whereabouts(&self) -> Whereabouts<'_> {
        let directory = match self.from_git_dir {
            true => self.here.as_ref(),
            false => self.dir.as_ref(),
        };
        Whereabouts {
            directory,
            has_git_dir: self.from_git_dir,
        }
    }

    /// The directory, if it is an absolute path.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.dir
            .starts_with(b"/")
            .then(|| Path::new(OsStr::from_bytes(&self.dir)))
    }
}

/// Splits a stream of bytes into records, and buffers no more than [`RECORD_LEN_MAX`] bytes of each.
#[derive(Debug, Default)]
pub(crate) struct Records {
    buffer: Vec<u8>,
    /// The start of the first record that has not been returned.
    start: usize,
    /// Whether the end of the current record was dropped.
    is_cut: bool,
}

impl Records {
    /// Adds bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        self.buffer.drain(..self.start.min(self.buffer.len()));
        self.start = 0;
        while !bytes.is_empty() {
            let (head, tail, ends) = match bytes.find_byte(RECORD_SEPARATOR) {
                Some(at) => (bytes.get(..at), bytes.get(at.saturating_add(1)..), true),
                None => (Some(bytes), None, false),
            };
            let open = self
                .buffer
                .rfind_byte(RECORD_SEPARATOR)
                .map_or(0, |at| at.saturating_add(1));
            let room = RECORD_LEN_MAX.saturating_sub(self.buffer.len().saturating_sub(open));
            let head = head.unwrap_or_default();
            self.is_cut |= head.len() > room;
            self.buffer
                .extend_from_slice(head.get(..room.min(head.len())).unwrap_or_default());
            if ends {
                if self.is_cut {
                    // Only its id is kept, if it has one, and an empty directory.
                    let id_len = self
                        .buffer
                        .get(open..)
                        .and_then(|record| record.find_byte(FIELD_SEPARATOR));
                    match id_len {
                        Some(len) => self
                            .buffer
                            .truncate(open.saturating_add(len).saturating_add(1)),
                        None => self.buffer.truncate(open),
                    }
                    self.is_cut = false;
                }
                self.buffer.push(RECORD_SEPARATOR);
            }
            bytes = tail.unwrap_or_default();
        }
    }

    /// Returns the next complete record, without its separator.
    pub(crate) fn next(&mut self) -> Option<&BStr> {
        let rest = self.buffer.get(self.start..)?;
        let len = rest.find_byte(RECORD_SEPARATOR)?;
        self.start = self.start.saturating_add(len).saturating_add(1);
        rest.get(..len).map(ByteSlice::as_bstr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(record: &str) -> Option<Request> {
        Request::parse(record.as_bytes())
    }

    #[test]
    fn a_request_has_an_id_a_directory_and_perhaps_a_flag() {
        let want = Request {
            id: "7".into(),
            dir: "/a b".into(),
            from_git_dir: false,
            skip_index: false,
            here: "".into(),
        };
        assert_eq!(request("7\x1f/a b"), Some(want.clone()));
        assert_eq!(request("7\x1f/a b\x1f0"), Some(want.clone()));
        assert_eq!(
            request("7\x1f:/a b\x1f1"),
            Some(Request {
                from_git_dir: true,
                skip_index: true,
                ..want.clone()
            })
        );
        assert_eq!(
            request("7\x1f:/a b\x1f0\x1f/c"),
            Some(Request {
                from_git_dir: true,
                here: "/c".into(),
                ..want
            })
        );
        assert_eq!(
            request("}hello\x1f").map(|r| r.path().is_none()),
            Some(true)
        );
        for bad in ["", "7", "7\x1f/a\x1f", "7\x1f/a\x1f2", "7\x1f/a\x1f0\x1f"] {
            assert_eq!(request(bad), None, "{bad:?}");
        }
    }

    fn cut(pieces: &[&[u8]]) -> Vec<BString> {
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

    #[test]
    fn records_are_cut_wherever_the_pieces_end() {
        assert_eq!(
            cut(&[b"a\x1f/x\x1eb", b"\x1f/", b"y\x1e\x1ec"]),
            ["a\x1f/x", "b\x1f/y", ""]
        );
    }

    #[test]
    fn an_endless_record_keeps_its_id_and_costs_bounded_memory() {
        let long = vec![b'x'; RECORD_LEN_MAX];
        assert_eq!(
            cut(&[b"id\x1f/", &long, &long, b"\x1enext\x1f/\x1e"]),
            ["id\x1f", "next\x1f/"]
        );
        assert_eq!(
            cut(&[&long, &long, b"\x1enext\x1f/\x1e"]),
            ["", "next\x1f/"]
        );
    }
}
