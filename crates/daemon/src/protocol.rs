//! What is said between a daemon and whoever asks it: frames, and the messages in them (docs/protocol.md).
//!
//! Nothing that comes is believed: lengths are bounded before anything is kept, and a message that is not quite as written
//! down is none.

mod description;
mod fields;
mod known_by;
mod message;

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bstr::{BString, ByteSlice};
use vigil_engine::prompt::PromptRequest;
use vigil_linux::stat::stat_path;
use vigil_model::bytes::Writer;

pub use self::description::{Description, MonitorDescription, RepositoryDescription};
pub use self::known_by::KnownBy;
pub use self::message::{Request, Response};

/// The version of the protocol. Those who speak another one understand a hello and a refusal, and nothing else.
pub const PROTOCOL: u32 = 1;

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Which program this is, as is said in hello and welcome: answers are the same bytes only among the same. The version, and,
/// since two builds may have the same, when its file was written, in seconds and nanoseconds, and how long it is.
pub fn program() -> &'static BString {
    static PROGRAM: OnceLock<BString> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        // The file that runs, also where there is another in its place by now.
        let stat = stat_path(Path::new("/proc/self/exe"));
        let build = stat.map(|stat| format!(" {}.{}.{}", stat.mtime_s, stat.mtime_ns, stat.size));
        format!("{VERSION}{}", build.unwrap_or_default()).into()
    })
}

/// The longest frame that a daemon takes, in bytes, without its length.
pub const REQUEST_LEN_MAX: usize = 256 * 1024;

/// The longest frame that a daemon sends. What is longer, whoever asks finds out by himself.
pub const RESPONSE_LEN_MAX: usize = 64 * 1024 * 1024;

/// The longest that says anything else than what changed: some 200,000 paths. To find out more by himself costs whoever asks a look
/// at everything, each time.
pub const ANSWER_LEN_MAX: usize = 16 * 1024 * 1024;

/// The most bytes of memory that stay with a connection on which nothing is said.
const KEPT_LEN_MAX: usize = 16 * 1024;

/// The length of a frame's length.
const LEN_LEN: usize = 4;

/// The length of what stands before a frame's body: its length and its kind.
const HEAD_LEN: usize = LEN_LEN + 1;

/// About as long is what stands beside texts in a frame.
const FIELDS_LEN: usize = 64;

/// Who asks, the first thing that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version of the protocol that is spoken.
    pub protocol: u32,
    /// The version of the program.
    pub program: BString,
    /// By what files and rights are seen ([`crate::view`]). Empty where that cannot be told.
    pub view: BString,
}

/// What is there of a terminal where the answer goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Standard output is one.
    pub is_output: bool,
    /// Standard error is one.
    pub is_errors: bool,
    /// How wide it is, in cells, if that is known.
    pub width: Option<u32>,
}

/// The question of `vigil status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusQuestion {
    /// What follows the command's name.
    pub arguments: Vec<BString>,
    /// The directory in which the command stands, absolute and without links; of Mercurial's, any in the working copy.
    pub directory: PathBuf,
    /// Its device and inode: another may be there by the same name.
    pub directory_id: (u64, u64),
    /// The environment's variables that count ([`crate::variables`]).
    pub variables: Vec<(BString, BString)>,
    /// Where the answer goes.
    pub terminal: Terminal,
    /// Whether it is the question of `vigil hg`: the arguments are then the name of a format of Vigil's own, or nothing; the
    /// directory in which the command line counts; and what follows the command's name.
    pub is_of_mercurial: bool,
}

/// The question of a prompt, asked in gitstatusd's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptQuestion {
    /// What is counted, and how far.
    pub request: PromptRequest,
    /// The length to which commit summaries are cut, in bytes.
    pub summary_len_max: usize,
    /// The asker's name for the question; any bytes.
    pub id: BString,
    /// The directory that it is about, absolute.
    pub directory: PathBuf,
    /// Whether that is the repository itself, not a place in its working tree.
    pub from_git_dir: bool,
    /// The environment's variables that count, without those about one repository.
    pub variables: Vec<(BString, BString)>,
}

/// By what is known what is said of some paths. It is no question about them: nothing is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasisQuestion {
    /// A directory in the working tree, absolute.
    pub directory: PathBuf,
    /// The environment's variables that count.
    pub variables: Vec<(BString, BString)>,
    /// The paths, from the top of the working tree.
    pub paths: Vec<BString>,
    /// Whether the working tree is a working copy of Mercurial's.
    pub is_of_mercurial: bool,
}

/// What git asks a file system monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorQuestion {
    /// A directory in the working tree, absolute.
    pub directory: PathBuf,
    /// The environment's variables that count ([`crate::variables::to_monitor`]).
    pub variables: Vec<(BString, BString)>,
    /// The index that git reads (`GIT_INDEX_FILE`), if it is said.
    pub index: Option<BString>,
    /// What git was told last. Any bytes.
    pub token: BString,
}

/// What is to be done with the socket of git's builtin monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorDeed {
    /// It is told whether it is served.
    Tell,
    /// It is served from now on.
    Open,
    /// It is served no longer.
    Close,
}

/// About the socket of git's builtin monitor for one working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoorQuestion {
    /// A directory in the working tree, absolute.
    pub directory: PathBuf,
    /// The environment's variables that count ([`crate::variables::to_monitor`]).
    pub variables: Vec<(BString, BString)>,
    /// What is to be done.
    pub deed: DoorDeed,
}

/// What is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A frame that is too long, or empty.
    #[error("a frame of {0} bytes")]
    Length(u32),
    /// A kind that is not known, or a body that is not as it should be.
    #[error("a message of kind {0} that is not understood")]
    Message(u8),
    /// The first message is no hello.
    #[error("no greeting")]
    NoHello,
    /// Another version of the protocol.
    #[error("protocol {0} is not spoken here, but {PROTOCOL}")]
    Version(u32),
}

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub struct Frames {
    buffer: Vec<u8>,
    len_max: usize,
}

impl Frames {
    /// Takes no frame that is longer than `len_max`.
    pub fn new(len_max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            len_max,
        }
    }

    /// Takes more bytes. Before more are fed, [`Self::take`] is to be asked until there is no whole frame: so no more is kept
    /// than one frame and what was fed last.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame: its kind and its body.
    ///
    /// # Errors
    /// A frame that no message has. What follows it means nothing.
    pub fn take(&mut self) -> Result<Option<(u8, Vec<u8>)>, ProtocolError> {
        let Some((len, rest)) = self.buffer.split_first_chunk::<LEN_LEN>() else {
            return Ok(None);
        };
        let told = u32::from_le_bytes(*len);
        let len = told as usize;
        if len == 0 || len > self.len_max {
            return Err(ProtocolError::Length(told));
        }
        let Some((&kind, body)) = rest.get(..len).and_then(<[u8]>::split_first) else {
            return Ok(None);
        };
        let end = LEN_LEN.saturating_add(len);
        if self.buffer.len() == end {
            let mut body = mem::take(&mut self.buffer);
            body.drain(..HEAD_LEN);
            return Ok(Some((kind, body)));
        }
        let body = body.to_vec();
        self.buffer.drain(..end);
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_LEN_MAX {
            self.buffer = Vec::new();
        }
        Ok(Some((kind, body)))
    }

    /// Whether nothing is left of what was fed.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }
}

/// A frame whose body is to be written next, with room for texts of `texts_len` bytes. It is sent as it stands: a body may be
/// long.
fn begin_frame(texts_len: usize) -> Writer {
    let mut frame = Vec::with_capacity(texts_len.saturating_add(FIELDS_LEN));
    frame.extend_from_slice(&[0; HEAD_LEN]);
    Writer(frame)
}

/// The frame that was begun, of `kind`.
fn end_frame(kind: u8, Writer(mut frame): Writer) -> Vec<u8> {
    let len = u32::try_from(frame.len().saturating_sub(LEN_LEN)).unwrap_or(u32::MAX);
    if let Some([head @ .., place]) = frame.first_chunk_mut::<HEAD_LEN>() {
        *head = len.to_le_bytes();
        *place = kind;
    }
    frame
}

/// A frame of `kind` with `body`.
pub fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = begin_frame(body.len());
    frame.0.extend_from_slice(body);
    end_frame(kind, frame)
}

impl Hello {
    /// That of this process, which sees files by `view`.
    pub fn new(view: BString) -> Self {
        Self {
            protocol: PROTOCOL,
            program: program().clone(),
            view,
        }
    }
}

/// Whether the first of two [programs](program) is the earlier one: by its version, then by its file. What is no version is
/// earlier than any.
pub fn is_older(program: &[u8], than: &[u8]) -> bool {
    let numbers = |program: &[u8]| -> Vec<Vec<u64>> {
        let words = program.split_str(" ");
        let numbers = words.map(|word| {
            let parts = word.split_str(".");
            parts
                .map_while(|part| part.to_str().ok()?.parse().ok())
                .collect()
        });
        numbers.collect()
    };
    numbers(program) < numbers(than)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_wherever_the_pieces_end() {
        let stream = [frame(1, b"one"), frame(2, b""), frame(3, b"three")].concat();
        for size in 1..stream.len() {
            let mut frames = Frames::new(16);
            let mut found = Vec::new();
            for piece in stream.chunks(size) {
                frames.feed(piece);
                while let Some(frame) = frames.take().unwrap() {
                    found.push(frame);
                }
            }
            let want = [(1, b"one".to_vec()), (2, vec![]), (3, b"three".to_vec())];
            assert_eq!(found, want, "pieces of {size}");
        }
    }

    #[test]
    fn a_frame_that_is_empty_or_too_long_is_refused_before_it_is_there() {
        for (len, is_fine) in [
            (0, false),
            (1, true),
            (16, true),
            (17, false),
            (u32::MAX, false),
        ] {
            let mut frames = Frames::new(16);
            frames.feed(&len.to_le_bytes());
            let taken = frames.take();
            match is_fine {
                true => assert_eq!(taken, Ok(None)),
                false => assert_eq!(taken, Err(ProtocolError::Length(len))),
            }
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_older(b"0.9.0", b"0.10.0"));
        assert!(is_older(b"", b"0.1.0") && is_older(b"x", b"0.1.0"));
        assert!(!is_older(b"1.0.0", b"0.10.0"));
        assert!(!is_older(b"0.1.0", b"0.1.0"));
        assert!(is_older(b"0.1.0 9.5.1", b"0.1.0 10.0.1"));
        assert!(is_older(b"0.1.0 9.5.1", b"0.2.0 1.0.1"));
        assert!(!is_older(program(), program()));
    }
}
