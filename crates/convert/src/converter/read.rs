//! Reads a file from its start, independent of the descriptor's offset.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// The first bytes of a file.
#[derive(Debug)]
pub(super) struct FileBytes<'a> {
    file: &'a File,
    offset: u64,
    /// How many bytes are still to be read.
    left: u64,
}

impl<'a> FileBytes<'a> {
    /// Creates a reader of the first `limit` bytes of `file`.
    pub(super) fn new(file: &'a File, limit: u64) -> Self {
        Self {
            file,
            offset: 0,
            left: limit,
        }
    }

    /// How many of the requested bytes have not been read.
    pub(super) fn left(&self) -> u64 {
        self.left
    }
}

impl Read for FileBytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let buffer = buffer.get_mut(..room).unwrap_or_default();
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.file.read_at(buffer, self.offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(count) => {
                    self.offset += count as u64;
                    self.left -= count as u64;
                    return Ok(count);
                }
            }
        }
    }
}
