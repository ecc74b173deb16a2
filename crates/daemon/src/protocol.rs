//! The protocol between a daemon and its clients: frames, and the messages in them (docs/protocol.md).
//!
//! Nothing received is trusted: lengths are bounded before anything is kept, and any deviation from the format is an error.

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
use vigil_model::bytes::ByteWriter;

pub use self::description::{Description, MonitorDescription, RepositoryDescription};
pub use self::known_by::KnownBy;
pub use self::message::{Request, Response};

/// The version of the protocol. Peers with different versions understand each other's hello and refusal, and nothing else.
pub(crate) const PROTOCOL: u32 = 1;

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The identity of this program, as sent in hello and welcome: only equal programs are sure to give answers with the same bytes.
/// It is the version and, since two builds may share it, the executable's mtime (seconds and nanoseconds) and size.
pub fn program() -> &'static BString {
    static PROGRAM: OnceLock<BString> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        // The running executable, even if another file has taken its path by now.
        let stat = stat_path(Path::new("/proc/self/exe"));
        let build = stat.map(|stat| format!(" {}.{}.{}", stat.mtime_s, stat.mtime_ns, stat.size));
        format!("{VERSION}{}", build.unwrap_or_default()).into()
    })
}

/// The longest frame that a daemon accepts, in bytes, without its length field.
pub(crate) const REQUEST_LEN_MAX: usize = 256 * 1024;

/// The longest frame that a daemon sends. Longer answers are left to the client.
pub(crate) const RESPONSE_LEN_MAX: usize = 64 * 1024 * 1024;

/// The longest frame with anything but changes, which is some 200,000 paths. Changes may be longer: without them the client would
/// have to look at everything, each time.
pub(crate) const ANSWER_LEN_MAX: usize = 16 * 1024 * 1024;

/// The most memory, in bytes, that an idle connection keeps.
const KEPT_LEN_MAX: usize = 16 * 1024;

/// The size of a frame's length field.
const LEN_LEN: usize = 4;

/// The size of what precedes a frame's body: its length field and its kind.
const HEAD_LEN: usize = LEN_LEN + 1;

/// The approximate size of everything but texts in a frame.
const FIELDS_LEN: usize = 64;

/// The client's greeting, which is its first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version of the protocol that the client speaks.
    pub protocol: u32,
    /// The client's [`program`].
    pub program: BString,
    /// How the client sees files, and with which rights ([`crate::view`]). Empty if that cannot be determined.
    pub view: BString,
}

/// The terminal to which the answer goes, if it is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Standard output is a terminal.
    pub is_output: bool,
    /// Standard error is a terminal.
    pub is_errors: bool,
    /// Its width in cells, if known.
    pub width: Option<u32>,
}

/// The question of `vigil status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusQuestion {
    /// The arguments that follow the command's name.
    pub arguments: Vec<BString>,
    /// The current directory of the command, absolute and without links. For Mercurial, any directory in the working copy.
    pub directory: PathBuf,
    /// The device and inode of `directory`: the daemon may see another one under the same name.
    pub directory_id: (u64, u64),
    /// The environment variables that count ([`crate::variables`]).
    pub variables: Vec<(BString, BString)>,
    /// The terminal to which the answer goes.
    pub terminal: Terminal,
    /// Whether it is a question of `vigil hg`. `arguments` then hold the name of one of Vigil's own formats or nothing, the
    /// directory to which the command line refers, the directory where its process started, and the arguments that follow `hg`.
    pub is_of_mercurial: bool,
}

/// The question of a prompt, asked in gitstatusd's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptQuestion {
    /// What to count, and how far.
    pub request: PromptRequest,
    /// The length to which commit summaries are cut, in bytes.
    pub summary_len_max: usize,
    /// The client's id for the question; any bytes.
    pub id: BString,
    /// The directory to answer for, absolute.
    pub directory: PathBuf,
    /// Whether `directory` is the repository itself, not a directory in its working tree.
    pub from_git_dir: bool,
    /// The environment variables that count, without those about one repository.
    pub variables: Vec<(BString, BString)>,
}

/// A question about what the answers for some paths rest on. Nothing is looked at for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasisQuestion {
    /// A directory in the working tree, absolute.
    pub directory: PathBuf,
    /// The environment variables that count.
    pub variables: Vec<(BString, BString)>,
    /// The paths, relative to the top of the working tree.
    pub paths: Vec<BString>,
    /// Whether the working tree is a Mercurial working copy.
    pub is_of_mercurial: bool,
}

/// git's question to a file system monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonitorQuestion {
    /// A directory in the working tree, absolute.
    pub directory: PathBuf,
    /// The environment variables that count ([`crate::variables::to_monitor`]).
    pub variables: Vec<(BString, BString)>,
    /// The index that git reads (`GIT_INDEX_FILE`), if it was passed on.
    pub index: Option<BString>,
    /// The token that git was given last. Any bytes.
    pub token: BString,
}

/// What to do with the socket of git's builtin monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitSocketAction {
    /// Say whether it is served.
    Status,
    /// Serve it from now on.
    Open,
    /// Stop serving it.
    Close,
}

/// The question about the socket of git's builtin monitor for one working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitSocketQuestion {
    /// A directory in the working tree, absolute.
    pub directory: PathBuf,
    /// The environment variables that count ([`crate::variables::to_monitor`]).
    pub variables: Vec<(BString, BString)>,
    /// What to do.
    pub action: GitSocketAction,
}

/// Why received bytes are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A frame that is too long, or empty.
    #[error("a frame of {0} bytes")]
    Length(u32),
    /// A message of unknown kind, or with an invalid body.
    #[error("a message of kind {0} that is not understood")]
    Message(u8),
    /// The first message is not a hello.
    #[error("no greeting")]
    NoHello,
    /// Another version of the protocol.
    #[error("protocol {0} is not supported; this is protocol {PROTOCOL}")]
    Version(u32),
}

/// Splits a stream of bytes into frames.
#[derive(Debug)]
pub struct Frames {
    buffer: Vec<u8>,
    len_max: usize,
}

impl Frames {
    /// Creates a splitter that accepts frames of at most `len_max` bytes.
    pub fn new(len_max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            len_max,
        }
    }

    /// Adds bytes. Before the next call, call [`Self::take`] until it returns no frame: then no more is buffered than one frame
    /// and the last bytes fed.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next complete frame: its kind and its body.
    ///
    /// # Errors
    /// The frame is empty or too long. The bytes after it mean nothing.
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

    /// Whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }
}

/// Begins a frame with room for texts of `texts_len` bytes. Its body is then written in place, since it may be long.
fn begin_frame(texts_len: usize) -> ByteWriter {
    let mut frame = Vec::with_capacity(texts_len.saturating_add(FIELDS_LEN));
    frame.extend_from_slice(&[0; HEAD_LEN]);
    ByteWriter(frame)
}

/// Ends a frame of `kind` that was begun.
fn end_frame(kind: u8, ByteWriter(mut frame): ByteWriter) -> Vec<u8> {
    let len = u32::try_from(frame.len().saturating_sub(LEN_LEN)).unwrap_or(u32::MAX);
    if let Some([head @ .., place]) = frame.first_chunk_mut::<HEAD_LEN>() {
        *head = len.to_le_bytes();
        *place = kind;
    }
    frame
}

/// Builds a frame of `kind` with `body`.
pub fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = begin_frame(body.len());
    frame.0.extend_from_slice(body);
    end_frame(kind, frame)
}

impl Hello {
    /// Creates the greeting of this process, which sees files by `view`.
    pub fn new(view: BString) -> Self {
        Self {
            protocol: PROTOCOL,
            program: program().clone(),
            view,
        }
    }
}

/// Whether the first of two [programs](program) is the older one, by version, then by file. Anything that is not a version is
/// older than every version.
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
