//! Handing on large objects piece by piece.

use super::ObjectReader;
use crate::chains::Chains;
use crate::contents::{Sink, hand_on};
use crate::error::{CopyError, Error, Reason};
use crate::facts::Info;
use crate::inflate::has_lost_reason;
use crate::location::{Location, ObjectPlace};
use crate::pack::Form;

/// How many bytes of a large object are inflated at once.
const PIECE_LEN: usize = 128 << 10;

/// The most bytes of the buffer for contents that are kept for the next object.
const PIECE_KEPT_MAX: usize = 96 << 20;

/// How many bytes of a pack stay in this process's memory while an object is streamed.
const HELD_LEN_MAX: usize = 4 << 20;

/// Why an object was not streamed to its end.
#[derive(Debug)]
pub enum StreamError<E> {
    /// The object could not be read.
    Read(Error),
    /// The sink failed.
    Sink(E),
}

impl ObjectReader {
    /// Passes the contents to `sink` in one piece. An object that is loose, or is stored whole with more than
    /// `threshold` bytes (`core.bigFileThreshold`), comes in pieces of at most 128 KiB and is never in memory as a
    /// whole. The sink is called at least once.
    ///
    /// # Errors
    /// git exits, every copy is damaged, or the sink fails.
    pub fn stream<E>(
        &mut self,
        location: &Location,
        threshold: u64,
        sink: &mut impl FnMut(Info, &[u8]) -> Result<(), E>,
    ) -> Result<Info, StreamError<E>> {
        let mut has_begun = false;
        let mut taking = |info: Info, piece: &[u8]| {
            has_begun = true;
            sink(info, piece)
        };
        let mut piece = std::mem::take(&mut self.whole);
        piece.clear();
        let mut plain = None;
        let streamed = match location.place {
            ObjectPlace::Loose => self.stream_loose(location, &mut taking),
            ObjectPlace::Packed { pack, offset } => {
                match self.stream_packed(pack, offset, threshold, &mut taking) {
                    Ok(None) => {
                        plain = self.read_plain(location, &mut piece, |_, _| true);
                        match plain {
                            Some(_) => Ok(None),
                            None => self.stream_file_of(location, &mut taking),
                        }
                    }
                    streamed => streamed,
                }
            }
            ObjectPlace::EmptyTree => Ok(None),
        };
        let id = location.id;
        match streamed {
            Ok(Some(result)) => return result.map_err(StreamError::Sink),
            Err(CopyError::Fatal(reason)) => return Err(StreamError::Read(self.error(reason))),
            Err(_) if has_begun => {
                return Err(StreamError::Read(self.error(Reason::Stream { id })));
            }
            Ok(None) | Err(_) => {}
        }
        let info = match plain {
            Some(info) => Ok(info),
            None => self.append(location, &mut piece),
        };
        let result = match info {
            Ok(info) => sink(info, &piece).map(|()| info).map_err(StreamError::Sink),
            Err(error) => Err(StreamError::Read(error)),
        };
        if piece.capacity() <= PIECE_KEPT_MAX {
            self.whole = piece;
        }
        result
    }

    /// Streams a loose object. Returns `None` if there is no file; then git reads the object as a whole.
    fn stream_loose<E>(
        &mut self,
        location: &Location,
        sink: Sink<'_, E>,
    ) -> Result<Option<Result<Info, E>>, CopyError> {
        let Some(loose) = self.loose(location)? else {
            return Ok(None);
        };
        let Chains {
            inflater, messages, ..
        } = &mut self.chains;
        let (window, piece) = (&mut self.window, &mut self.piece);
        loose
            .stream(&location.id, inflater, window, piece, sink, messages)
            .map(Some)
    }

    /// Streams the object from a loose file, where git looks before it reads the packed copy as a whole. `None` if
    /// there is no such file.
    fn stream_file_of<E>(
        &mut self,
        location: &Location,
        sink: Sink<'_, E>,
    ) -> Result<Option<Result<Info, E>>, CopyError> {
        let store = self.store.clone();
        for dir in location.dir..u32::try_from(store.dirs.len()).unwrap_or(u32::MAX) {
            let loose = Location {
                dir,
                place: ObjectPlace::Loose,
                ..*location
            };
            let streamed = self.stream_loose(&loose, sink)?;
            if streamed.is_some() {
                return Ok(streamed);
            }
        }
        Ok(None)
    }

    /// Streams a packed object. Returns `None` if git reads it as a whole.
    fn stream_packed<E>(
        &mut self,
        number: u32,
        offset: u64,
        threshold: u64,
        sink: Sink<'_, E>,
    ) -> Result<Option<Result<Info, E>>, CopyError> {
        let Some(pack) = self.pack(number).cloned() else {
            return Ok(None);
        };
        let Chains {
            inflater, messages, ..
        } = &mut self.chains;
        let piece = &mut self.piece;
        let entry = pack.entry(offset, messages)?;
        let Form::Whole(kind) = entry.form else {
            return Ok(None);
        };
        if entry.size <= threshold {
            return Ok(None);
        }
        let info = Info {
            kind,
            size: entry.size,
        };
        let mut input = pack.from(entry.end, messages)?;
        let mut read = 0_usize;
        inflater.restart();
        piece.clear();
        // From here on the object is streamed, whatever happens.
        if let Err(error) = sink(info, b"") {
            return Ok(Some(Err(error)));
        }
        loop {
            let step = inflater.step(input, PIECE_LEN, piece, messages);
            let is_end = step.as_ref().is_ok_and(|step| step.is_end);
            if let Err(error) = hand_on(piece, is_end, info, sink) {
                return Ok(Some(Err(error)));
            }
            if is_end {
                return Ok(Some(Ok(info)));
            }
            if step.is_err() && has_lost_reason(messages) {
                messages.pop();
                let start = pack.from(entry.end, messages)?;
                inflater.find_reason_in(start, u64::MAX, messages);
            }
            let step = step?;
            input = input.get(step.used..).unwrap_or_default();
            if step.is_stuck || input.len() < pack.hash.len_in_bytes() {
                return Err(Reason::BeyondPack.into());
            }
            read = read.saturating_add(step.used);
            if read >= HELD_LEN_MAX {
                pack.release_before(input, read);
                read = 0;
            }
        }
    }
}
