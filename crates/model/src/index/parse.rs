//! The parser of index files: from bytes to entries, in one pass.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId};

use super::cache_tree::CacheTree;
use super::entries::Index;
use super::entry::{Entry, EntryFlags};
use super::split::Link;
use crate::c_string::until_nul;
use crate::facts::RecordedStat;
use crate::mode::FileMode;
use crate::raw_text::raw;

/// Why git would not read these bytes as an index. The text is git's last line, without "fatal: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Shorter than a header and a checksum. git prefixes the text with the file's name and ": ".
    #[error("index file smaller than expected")]
    TooSmall,
    /// The first four bytes, as a native-endian integer, are not `DIRC`.
    #[error("index file corrupt")]
    Signature(u32),
    /// Neither version 2, 3 nor 4.
    #[error("index file corrupt")]
    Version(i32),
    /// A mandatory extension (its name does not start with a capital letter) that git does not understand.
    #[error("index file corrupt")]
    UnknownExtension([u8; 4]),
    /// The `link` extension is malformed; the texts are those of [`Self::error_lines`].
    #[error("index file corrupt")]
    BadLink(Vec<String>),
    /// Both a `link` and an `sdir` extension.
    #[error("cannot use split index with a sparse index")]
    SplitAndSparse,
    /// An entry has unknown extended flags.
    #[error("unknown index entry format 0x{0:08x}")]
    UnknownEntryFormat(u32),
    /// A path of version 4 removes more bytes than the previous path has.
    #[error("malformed name field in the index, near path '{}'", raw(.0))]
    MalformedName(BString),
    /// A shared index and the index that refers to it do not fit together.
    #[error("{0}")]
    Unmergeable(String),
    /// The entries end early or contain something impossible.
    #[error("index file corrupt")]
    Corrupt,
}

impl ParseError {
    /// The lines that git prints before the last one, without "error: ".
    pub fn error_lines(&self) -> Vec<String> {
        match self {
            Self::Signature(found) => vec![format!("bad signature 0x{found:08x}")],
            Self::Version(found) => vec![format!("bad index version {found}")],
            Self::UnknownExtension(name) => vec![format!(
                "index uses {} extension, which we do not understand",
                raw(shown(name))
            )],
            Self::BadLink(lines) => lines.clone(),
            _ => Vec::new(),
        }
    }
}

/// The contents of an index file. If there is a link, the entries are only the changes to the shared index.
#[derive(Clone, Debug)]
pub struct ParsedIndex {
    /// Entries, cache-tree and marks.
    pub index: Index,
    /// How to join this index with a shared one (`link`). Also `None` if the id of the shared index is null.
    pub link: Option<Link>,
    /// The checksum at the end of the file, not verified (git does not verify it either). Null under `index.skipHash`.
    pub checksum: ObjectId,
    /// git's warnings on stderr about extensions that it then does without, each a whole line.
    pub complaints: Vec<String>,
    /// The names of all extensions, in order.
    pub extensions: Vec<[u8; 4]>,
    /// Where the untracked cache (`UNTR`) was made: the working tree and the system, as one string.
    pub untracked_cache_origin: Option<BString>,
}

impl ParsedIndex {
    /// The names of optional extensions that git does not know either, as git prints them: it says `ignoring NAME extension`
    /// on stderr.
    pub fn ignored_extensions(&self) -> impl Iterator<Item = &[u8]> {
        let unknown = self.extensions.iter().filter(|name| {
            !matches!(
                *name,
                b"TREE" | b"REUC" | b"link" | b"UNTR" | b"FSMN" | b"EOIE" | b"IEOT" | b"sdir"
            )
        });
        unknown.map(shown)
    }
}

/// The name of an extension as git prints it: up to a NUL.
fn shown(name: &[u8; 4]) -> &[u8] {
    until_nul(name)
}

const STAT_LEN: usize = 40;
const NAME_MASK: u16 = 0x0fff;
const EXTENDED_KNOWN: u32 = EntryFlags::SKIP_WORKTREE | EntryFlags::INTENT_TO_ADD;

/// The limit on the total length of all paths, as a multiple of the file's length. Only version 4 can exceed the file's
/// length at all; no entry is shorter than 64 bytes, and no path longer than 4,096 can exist.
const PATHS_GROWTH_MAX: usize = 64;

/// A consumer of index entries, which come in the order of the index.
pub trait EntrySink {
    /// Consumes the entry of `path`.
    fn accept(&mut self, path: &BStr, entry: &Entry);
}

/// The amount of data to come, according to the index's header. A damaged index may have less.
#[derive(Clone, Copy, Debug)]
pub struct SizeHint {
    /// The number of entries.
    pub entries: usize,
    /// The length of all paths in bytes, without compression.
    pub paths_len: usize,
}

/// Entries in sequence, as they are in the file.
#[derive(Debug)]
pub struct EntryList {
    entries: Vec<Entry>,
    paths: Vec<u8>,
}

impl EntryList {
    /// Reserves room for what is to come.
    pub fn new(hint: SizeHint) -> Self {
        let (mut entries, mut paths) = (Vec::new(), Vec::new());
        // A damaged file may promise more than memory can hold. What really comes allocates its own room.
        let _ = entries.try_reserve_exact(hint.entries);
        let _ = paths.try_reserve_exact(hint.paths_len);
        Self { entries, paths }
    }
}

impl EntrySink for EntryList {
    fn accept(&mut self, path: &BStr, entry: &Entry) {
        // Both fit: all paths together are bounded by a `u32`.
        let (path_start, path_len) = (self.paths.len() as u32, path.len() as u32);
        self.paths.extend_from_slice(path);
        self.paths.push(0);
        self.entries.push(Entry {
            path_start,
            path_len,
            ..*entry
        });
    }
}

/// How many bytes the header of an index takes.
pub const HEADER_LEN: usize = 12;

/// How many bytes the header of an extension takes.
pub const EXTENSION_HEADER_LEN: usize = 8;

/// Reads an index file piece by piece, so that it need never be in memory as a whole: header, entries ([`Self::feed`]),
/// extensions ([`Self::extension`]) and the checksum ([`Self::end`]), or the last two at once ([`Self::finish`]). Entries go
/// to a `T`.
pub struct IndexParser<T> {
    /// The result so far. Its index has no entries: `T` has them.
    parsed: ParsedIndex,
    entries_left: usize,
    entries: EntryReader<T>,
    /// How many of the bytes between the header and the checksum were not used yet.
    body_left: usize,
}

impl<T: EntrySink> IndexParser<T> {
    /// Starts with the `header` of a file of `file_len` bytes. `make_sink` is told how much to make room for.
    ///
    /// # Errors
    /// The header is not that of an index in a version that git knows, or the file is too short.
    pub fn new(
        header: &[u8],
        file_len: usize,
        hash: Kind,
        make_sink: impl FnOnce(SizeHint) -> T,
    ) -> Result<Self, ParseError> {
        let body_len = file_len
            .checked_sub(HEADER_LEN)
            .and_then(|len| len.checked_sub(hash.len_in_bytes()))
            .ok_or(ParseError::TooSmall)?;
        let header = header
            .first_chunk::<HEADER_LEN>()
            .ok_or(ParseError::TooSmall)?;
        let [s0, s1, s2, s3, v0, v1, v2, v3, n0, n1, n2, n3] = *header;
        if [s0, s1, s2, s3] != *b"DIRC" {
            return Err(ParseError::Signature(u32::from_ne_bytes([s0, s1, s2, s3])));
        }
        let version = u32::from_be_bytes([v0, v1, v2, v3]);
        if !(2..=4).contains(&version) {
            return Err(ParseError::Version(version.cast_signed()));
        }
        let count = u32::from_be_bytes([n0, n1, n2, n3]) as usize;
        Ok(Self {
            parsed: ParsedIndex {
                index: Index::empty(hash),
                link: None,
                checksum: hash.null(),
                complaints: Vec::new(),
                extensions: Vec::new(),
                untracked_cache_origin: None,
            },
            entries_left: count,
            entries: EntryReader::new(body_len, version, hash, count, make_sink)?,
            body_left: body_len,
        })
    }

    /// Whether [`Self::feed`] expects more entries.
    pub fn wants_entries(&self) -> bool {
        self.entries_left > 0
    }

    /// Reads as many entries as `bytes` holds, which start where the last piece was left, and returns how many bytes they
    /// took. `is_last` says that nothing follows, and then an incomplete entry is an error.
    ///
    /// # Errors
    /// An entry is malformed, or incomplete at the end.
    pub fn feed(&mut self, bytes: &[u8], is_last: bool) -> Result<usize, ParseError> {
        let body = bytes.get(..self.body_left).unwrap_or(bytes);
        let mut rest = body;
        while self.entries_left > 0 {
            match self.entries.read(rest) {
                Ok(after) => rest = after,
                // Until everything is there, a corrupt entry cannot be told from an incomplete one.
                Err(ParseError::Corrupt) if !is_last => break,
                Err(error) => return Err(error),
            }
            self.entries_left = self.entries_left.saturating_sub(1);
        }
        let used = body.len().saturating_sub(rest.len());
        self.body_left = self.body_left.saturating_sub(used);
        Ok(used)
    }

    /// Whether another extension follows.
    pub fn wants_extension(&self) -> bool {
        self.entries_left == 0 && self.body_left >= EXTENSION_HEADER_LEN
    }

    /// Starts an extension with its `header`. Returns the length of its data, and the extension if the data must be passed to
    /// [`Self::data`]; otherwise the data is to be skipped.
    ///
    /// # Errors
    /// git would not read an index with this extension.
    pub fn extension(
        &mut self,
        header: &[u8; EXTENSION_HEADER_LEN],
    ) -> Result<(usize, Option<Extension>), ParseError> {
        let [name @ .., l0, l1, l2, l3] = *header;
        let left = self.body_left.saturating_sub(EXTENSION_HEADER_LEN);
        // A length beyond the end is truncated: git does not check it.
        let len = (u32::from_be_bytes([l0, l1, l2, l3]) as usize).min(left);
        self.body_left = left.saturating_sub(len);
        if matches!(&name, b"TREE" | b"REUC" | b"UNTR" | b"FSMN" | b"link") {
            return Ok((len, Some(Extension(name))));
        }
        self.parsed.read_extension(name, &[])?;
        Ok((len, None))
    }

    /// Reads the `data` of an extension that [`Self::extension`] started.
    ///
    /// # Errors
    /// As for [`Self::extension`].
    pub fn data(&mut self, extension: &Extension, data: &[u8]) -> Result<(), ParseError> {
        self.parsed.read_extension(extension.0, data)
    }

    /// Ends with the `checksum`, which is at the end of the file. The index returned has no entries, since `T` has them.
    ///
    /// # Errors
    /// Entries are missing, or the checksum is incomplete.
    pub fn end(mut self, checksum: &[u8]) -> Result<(ParsedIndex, T), ParseError> {
        if self.entries_left > 0 {
            return Err(ParseError::Corrupt);
        }
        self.parsed.checksum = ObjectId::try_from(checksum).map_err(|_| corrupt())?;
        self.parsed.link = self.parsed.link.filter(|link| !link.shared_id.is_null());
        Ok((self.parsed, self.entries.sink))
    }

    /// Reads everything after the entries: the extensions and the checksum.
    ///
    /// # Errors
    /// As for [`Self::extension`] and [`Self::end`].
    pub fn finish(mut self, rest: &[u8]) -> Result<(ParsedIndex, T), ParseError> {
        let (mut extensions, checksum) = rest
            .split_at_checked(self.body_left)
            .filter(|_| self.entries_left == 0)
            .ok_or_else(corrupt)?;
        while let Some((header, after)) = extensions.split_first_chunk() {
            let (len, extension) = self.extension(header)?;
            let (data, after) = after.split_at_checked(len).unwrap_or((after, b""));
            if let Some(extension) = extension {
                self.data(&extension, data)?;
            }
            extensions = after;
        }
        self.end(checksum)
    }
}

/// An extension whose data must be read.
#[derive(Clone, Copy, Debug)]
pub struct Extension([u8; 4]);

impl ParsedIndex {
    /// Returns this index with the entries in `list`.
    pub fn with(mut self, list: EntryList) -> Self {
        let EntryList { entries, mut paths } = list;
        paths.shrink_to_fit();
        self.index.entries = entries;
        self.index.paths = paths;
        self
    }

    fn read_extension(&mut self, name: [u8; 4], data: &[u8]) -> Result<(), ParseError> {
        self.extensions.push(name);
        match &name {
            b"TREE" => self.index.cache_tree = CacheTree::parse(data, self.index.hash),
            b"REUC" if !is_resolve_undo(data, self.index.hash) => {
                let text = "error: Index records invalid resolve-undo information";
                self.complaints.push(text.into());
            }
            b"FSMN" => self.complaints.extend(complaint_of_monitor(data)),
            b"UNTR" => self.untracked_cache_origin = untracked_cache_origin(data),
            b"sdir" => self.index.is_sparse = true,
            b"link" if self.index.is_sparse => return Err(ParseError::SplitAndSparse),
            b"link" => {
                let link = Link::parse(data, self.index.hash).map_err(ParseError::BadLink)?;
                self.link = Some(link);
            }
            [first, ..] if !first.is_ascii_uppercase() => {
                return Err(ParseError::UnknownExtension(name));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether `data` is a list of paths, each with three octal modes and an object id for each mode that is not 0.
fn is_resolve_undo(mut data: &[u8], hash: Kind) -> bool {
    while !data.is_empty() {
        let Some(end) = data.find_byte(0) else {
            return false;
        };
        let mut rest = data.get(end.saturating_add(1)..).unwrap_or_default();
        let mut ids = 0;
        for _ in 0..3 {
            let Some((digits, after)) = rest.split_once_str(b"\0") else {
                return false;
            };
            let digits = digits.trim_start();
            let digits = digits.strip_prefix(b"+").unwrap_or(digits);
            if digits.is_empty() || !digits.iter().all(|digit| matches!(digit, b'0'..=b'7')) {
                return false;
            }
            ids += usize::from(digits.iter().any(|digit| *digit != b'0'));
            rest = after;
        }
        // git expects more data here, even if no id follows.
        let Some(after) = rest
            .get(ids.saturating_mul(hash.len_in_bytes())..)
            .filter(|_| !rest.is_empty())
        else {
            return false;
        };
        data = after;
    }
    true
}

/// git's complaint about the data of a file system monitor, if the data is malformed.
fn complaint_of_monitor(data: &[u8]) -> Option<String> {
    // The minimum: a version, the monitor's timestamp, and the length of a bitmap.
    const LEN_MIN: usize = 9;
    let version = data.first_chunk().filter(|_| data.len() >= LEN_MIN);
    match version.copied().map(i32::from_be_bytes) {
        None => Some("error: corrupt fsmonitor extension (too short)".into()),
        Some(1 | 2) => None,
        Some(version) => Some(format!("error: bad fsmonitor version {version}")),
    }
}

/// The first string of an untracked cache. The strings come first in it, preceded by their total length.
fn untracked_cache_origin(data: &[u8]) -> Option<BString> {
    let mut rest = data.strip_suffix(b"\0")?;
    let len = usize::try_from(decode_varint(&mut rest)?).ok()?;
    let origins = rest.get(..len)?;
    Some(origins.split(|byte| *byte == 0).next()?.into())
}

struct EntryReader<T> {
    is_compressed: bool,
    id_len: usize,
    /// The path of the previous entry.
    path: Vec<u8>,
    /// The length of all paths so far, each with a NUL.
    paths_len: usize,
    paths_max: usize,
    sink: T,
}

/// A function, because `ok_or` would construct and drop an error for every field that is there.
const fn corrupt() -> ParseError {
    ParseError::Corrupt
}

impl<T: EntrySink> EntryReader<T> {
    fn new(
        body_len: usize,
        version: u32,
        hash: Kind,
        count: usize,
        make_sink: impl FnOnce(SizeHint) -> T,
    ) -> Result<Self, ParseError> {
        let id_len = hash.len_in_bytes();
        let fixed_len = STAT_LEN.saturating_add(id_len).saturating_add(2);
        let paths_len = count
            .checked_mul(fixed_len)
            .and_then(|fixed| body_len.checked_sub(fixed))
            .ok_or_else(corrupt)?;
        Ok(Self {
            is_compressed: version == 4,
            id_len,
            path: Vec::new(),
            paths_len: 0,
            paths_max: body_len
                .saturating_mul(PATHS_GROWTH_MAX)
                .min(u32::MAX as usize),
            sink: make_sink(SizeHint {
                entries: count,
                paths_len,
            }),
        })
    }

    /// Reads the entry at the start of `entry`, and returns the bytes after it. If that fails, nothing has changed.
    #[inline]
    fn read<'a>(&mut self, entry: &'a [u8]) -> Result<&'a [u8], ParseError> {
        let (stat, rest) = entry.split_first_chunk::<STAT_LEN>().ok_or_else(corrupt)?;
        let (id, rest) = rest.split_at_checked(self.id_len).ok_or_else(corrupt)?;
        let id = ObjectId::try_from(id).map_err(|_| corrupt())?;
        let (low, mut rest) = rest.split_first_chunk::<2>().ok_or_else(corrupt)?;
        let low = u16::from_be_bytes(*low);
        let mut flags = u32::from(low & !NAME_MASK);
        if flags & EntryFlags::EXTENDED != 0 {
            let (high, after) = rest.split_first_chunk::<2>().ok_or_else(corrupt)?;
            let high = u32::from(u16::from_be_bytes(*high)) << 16;
            if high & !EXTENDED_KNOWN != 0 {
                return Err(ParseError::UnknownEntryFormat(high));
            }
            flags |= high;
            rest = after;
        }

        let shared_len = match self.is_compressed {
            true => self.shared_len(&mut rest)?,
            false => 0,
        };
        let own_len = if low & NAME_MASK == NAME_MASK {
            rest.find_byte(0).ok_or_else(corrupt)?
        } else {
            usize::from(low & NAME_MASK)
                .checked_sub(shared_len)
                .ok_or_else(corrupt)?
        };
        let (name, rest) = rest.split_at_checked(own_len).ok_or_else(corrupt)?;
        // A NUL within a path would truncate it in every system call.
        if name.find_byte(0).is_some() {
            return Err(ParseError::Corrupt);
        }
        let path_len = shared_len.saturating_add(own_len);
        let paths_len = self.paths_len.saturating_add(path_len).saturating_add(1);
        if paths_len > self.paths_max {
            return Err(ParseError::Corrupt);
        }

        // At least one NUL follows; without compression, enough to make the entry's length a multiple of 8.
        let padding = if self.is_compressed {
            1
        } else {
            8 - (entry.len().saturating_sub(rest.len()) & 7)
        };
        let rest = rest.get(padding..).ok_or_else(corrupt)?;
        let (stat, mode) = decode_stat(stat);
        self.paths_len = paths_len;
        self.path.truncate(shared_len);
        self.path.extend_from_slice(name);
        let entry = Entry {
            stat,
            mode,
            id,
            flags: EntryFlags(flags),
            path_start: 0,
            path_len: 0,
        };
        self.sink.accept(self.path.as_bstr(), &entry);
        Ok(rest)
    }

    /// Takes the number of bytes to drop from the previous path off `rest`, and returns how many bytes of that path remain.
    fn shared_len(&self, rest: &mut &[u8]) -> Result<usize, ParseError> {
        let dropped = decode_varint(rest).ok_or_else(corrupt)?;
        if self.paths_len == 0 {
            return Ok(0);
        }
        usize::try_from(dropped)
            .ok()
            .and_then(|dropped| self.path.len().checked_sub(dropped))
            .ok_or_else(|| ParseError::MalformedName(self.path.as_slice().into()))
    }
}

#[inline(always)]
fn decode_stat(bytes: &[u8; STAT_LEN]) -> (RecordedStat, FileMode) {
    let word = |at: usize| {
        bytes
            .as_chunks::<4>()
            .0
            .get(at)
            .map_or(0, |word| u32::from_be_bytes(*word))
    };
    let stat = RecordedStat {
        ctime_s: word(0),
        ctime_ns: word(1),
        mtime_s: word(2),
        mtime_ns: word(3),
        dev: word(4),
        ino: word(5),
        uid: word(7),
        gid: word(8),
        size: word(9),
    };
    (stat, FileMode(word(6)).canonical())
}

/// Decodes git's variable-length integer: seven bits per byte, most significant first, each continuation adding one.
fn decode_varint(data: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    loop {
        let (&byte, rest) = data.split_first()?;
        *data = rest;
        value = value.checked_mul(128)?.checked_add(u64::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}
