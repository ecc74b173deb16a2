//! Multi-pack-indexes (gitformat-pack(5)): one index for many packs, or a chain of them.

use std::ops::Deref;
use std::path::Path;

use bstr::{BString, ByteSlice};
use gix_hash::{Kind, ObjectId};
use vigil_linux::errno;
use vigil_linux::map::Map;
use vigil_model::raw_text::raw;

use super::chunks::{ChunkFormat, Chunks};
use super::error::Reason;
use super::table::{Disorder, FANOUT_LEN, Fanout, SortedIds, number, row, wide_number};
use vigil_model::c_string::until_nul;
use vigil_stamp::file;

const SIGNATURE: u32 = 0x4d49_4458;
const HEADER_LEN: usize = 12;
const FORMAT: ChunkFormat = ChunkFormat {
    header_len: HEADER_LEN,
    alignment: 4,
    cut_off: "multi-pack-index table of contents is cut off",
};
const PACK_NAMES: u32 = u32::from_be_bytes(*b"PNAM");
const FANOUT: u32 = u32::from_be_bytes(*b"OIDF");
const IDS: u32 = u32::from_be_bytes(*b"OIDL");
const OFFSETS: u32 = u32::from_be_bytes(*b"OOFF");
const WIDE_OFFSETS: u32 = u32::from_be_bytes(*b"LOFF");
const OFFSET_LEN: usize = 8;
/// A flag in an offset, if there is a table of wide offsets: the other bits are a position in it.
const WIDE: u32 = 1 << 31;

/// One multi-pack-index. All tables are within `bytes`, as [`Midx::parse`] has checked.
#[derive(Debug)]
pub(super) struct Midx<B = Map> {
    bytes: B,
    hash: Kind,
    fanout: Fanout,
    ids: usize,
    offsets: usize,
    wide_offsets: Option<std::ops::Range<usize>>,
    /// The names of the packs' indexes.
    pub(super) packs: Vec<BString>,
}

/// Why a multi-pack-index is not used.
#[derive(Debug)]
pub(super) enum NoMidx {
    /// It is ignored. git's text, without "error: ".
    Unusable(String),
    /// git exits, perhaps after a message, given without "error: ".
    Fatal(Reason, Option<String>),
}

fn fatal(text: impl Into<String>) -> NoMidx {
    NoMidx::Fatal(Reason::Midx { text: text.into() }, None)
}

/// Makes the error for a required chunk that is missing or damaged; `message` is the one before it.
fn bad_chunk(name: &str, message: Option<String>) -> NoMidx {
    let text = format!("multi-pack-index required {name} chunk missing or corrupted");
    NoMidx::Fatal(Reason::Midx { text }, message)
}

/// Opens the multi-pack-index of a folder of packs, or the chain of them, the newest first. A damaged one counts
/// as missing.
pub(super) fn open(
    folder: &Path,
    shown: &str,
    hash: Kind,
    messages: &mut Vec<String>,
) -> Result<Vec<Midx>, Reason> {
    let name = "multi-pack-index";
    if let Some(midx) = open_one(
        &folder.join(name),
        &format!("{shown}/{name}"),
        hash,
        messages,
    )? {
        return Ok(vec![midx]);
    }
    let chain = folder.join("multi-pack-index.d");
    let Ok(list) = file::read(&chain.join("multi-pack-index-chain")) else {
        return Ok(Vec::new());
    };
    if list.len() < hash.len_in_hex() {
        if !list.is_empty() {
            messages.push("warning: multi-pack-index chain file too small".into());
        }
        return Ok(Vec::new());
    }
    let mut layers = Vec::new();
    for line in list.lines().take(list.len() / (hash.len_in_hex() + 1)) {
        // git treats the list as a C string.
        let line = until_nul(line);
        let Ok(id) = ObjectId::from_hex(line) else {
            messages.push(format!(
                "warning: invalid multi-pack-index chain: line '{}' not a hash",
                raw(line)
            ));
            break;
        };
        let name = format!("multi-pack-index-{id}.midx");
        let shown = format!("{shown}/multi-pack-index.d/{name}");
        match open_one(&chain.join(name), &shown, hash, messages)? {
            Some(midx) => layers.push(midx),
            None => {
                messages.push("warning: unable to find all multi-pack index files".into());
                break;
            }
        }
    }
    layers.reverse();
    Ok(layers)
}

fn open_one(
    path: &Path,
    shown: &str,
    hash: Kind,
    messages: &mut Vec<String>,
) -> Result<Option<Midx>, Reason> {
    let Ok(file) = file::open(path) else {
        return Ok(None);
    };
    let parsed = match file
        .metadata()
        .map(|metadata| usize::try_from(metadata.len()))
    {
        Ok(Ok(len)) if len >= HEADER_LEN + hash.len_in_bytes() => {
            match Map::read_only(&file, len) {
                Ok(map) => Midx::parse(map, hash, shown),
                Err(errno) => Err(NoMidx::Fatal(Reason::Map(errno::text(errno)), None)),
            }
        }
        Ok(_) => Midx::parse_short(shown),
        Err(error) => Err(NoMidx::Unusable(format!(
            "failed to read {shown}: {}",
            errno::text_of(&error)
        ))),
    };
    match parsed {
        Ok(midx) => Ok(Some(midx)),
        Err(NoMidx::Fatal(reason, text)) => {
            messages.extend(text.map(|text| format!("error: {text}")));
            Err(reason)
        }
        Err(NoMidx::Unusable(text)) => {
            messages.push(format!("error: {text}"));
            Ok(None)
        }
    }
}

impl<B: Deref<Target = [u8]>> Midx<B> {
    fn parse_short(shown: &str) -> Result<Self, NoMidx> {
        Err(NoMidx::Unusable(format!(
            "multi-pack-index file {shown} is too small"
        )))
    }

    pub(super) fn parse(bytes: B, hash: Kind, shown: &str) -> Result<Self, NoMidx> {
        let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
            return Self::parse_short(shown);
        };
        if bytes.len() < HEADER_LEN + hash.len_in_bytes() {
            return Self::parse_short(shown);
        }
        let [s0, s1, s2, s3, version, hash_version, chunks, _, packs @ ..] = *header;
        let signature = u32::from_be_bytes([s0, s1, s2, s3]);
        if signature != SIGNATURE {
            return Err(fatal(format!(
                "multi-pack-index signature 0x{signature:08x} does not match signature 0x{SIGNATURE:08x}"
            )));
        }
        if !matches!(version, 1 | 2) {
            return Err(fatal(format!(
                "multi-pack-index version {version} not recognized"
            )));
        }
        let expected = if hash == Kind::Sha1 { 1 } else { 2 };
        if hash_version != expected {
            return Err(NoMidx::Unusable(format!(
                "multi-pack-index hash version {hash_version} does not match version {expected}"
            )));
        }
        let chunks = Chunks::parse(&FORMAT, &bytes, chunks, hash).map_err(NoMidx::Unusable)?;
        let required = |id, name| chunks.find(id).ok_or_else(|| bad_chunk(name, None));
        let names = required(PACK_NAMES, "pack-name")?;
        let fanout = bytes
            .get(required(FANOUT, "OID fanout")?)
            .unwrap_or_default();
        let bad_fanout = |messages| bad_chunk("OID fanout", Some(messages));
        if fanout.len() != FANOUT_LEN {
            return Err(bad_fanout(
                "multi-pack-index OID fanout is of the wrong size".into(),
            ));
        }
        let fanout = Fanout::parse(fanout).map_err(|Disorder { place, counts }| {
            let ([before, count], next) = (counts, place + 1);
            bad_fanout(format!(
                "oid fanout out of order: fanout[{place}] = {before:x} > {count:x} = fanout[{next}]"
            ))
        })?;
        let count = fanout.count() as usize;
        let sized = |id, name, row_len: usize, chunk: &str| {
            let range = required(id, name)?;
            if Some(range.len()) == count.checked_mul(row_len) {
                return Ok(range.start);
            }
            let message = format!("multi-pack-index {chunk} chunk is the wrong size");
            Err(bad_chunk(name, Some(message)))
        };
        let ids = sized(IDS, "OID lookup", hash.len_in_bytes(), "OID lookup")?;
        let offsets = sized(OFFSETS, "object offsets", OFFSET_LEN, "object offset")?;
        let names = bytes.get(names).unwrap_or_default();
        let packs = pack_names(names, u32::from_be_bytes(packs), version)?;
        let wide_offsets = chunks.find(WIDE_OFFSETS);
        Ok(Self {
            hash,
            fanout,
            ids,
            offsets,
            wide_offsets,
            packs,
            bytes,
        })
    }

    /// Returns the number of the pack that has the object at `position`, and its offset there.
    pub(super) fn place(&self, position: u32) -> Result<(usize, u64), Reason> {
        let at = self.offsets + position as usize * OFFSET_LEN;
        let pack = number(&self.bytes, at).unwrap_or(u32::MAX);
        if pack as usize >= self.packs.len() {
            return Err(Reason::Midx {
                text: format!("bad pack-int-id: {pack} ({} total packs)", self.packs.len()),
            });
        }
        let offset = number(&self.bytes, at + 4).unwrap_or_default();
        let Some(wide) = self.wide_offsets.as_ref().filter(|_| offset & WIDE != 0) else {
            return Ok((pack as usize, offset.into()));
        };
        let place = (offset ^ WIDE) as usize;
        if place >= wide.len() / 8 {
            return Err(Reason::Midx {
                text: "multi-pack-index large offset out of bounds".into(),
            });
        }
        let offset = wide_number(&self.bytes, wide.start + place * 8).unwrap_or_default();
        Ok((pack as usize, offset))
    }
}

impl<B: Deref<Target = [u8]>> SortedIds for Midx<B> {
    fn fanout(&self) -> &Fanout {
        &self.fanout
    }

    fn row(&self, position: u32) -> Option<&[u8]> {
        if position >= self.count() {
            return None;
        }
        let id_len = self.hash.len_in_bytes();
        row(&self.bytes, self.ids, id_len, position, id_len)
    }
}

fn pack_names(names: &[u8], count: u32, version: u8) -> Result<Vec<BString>, NoMidx> {
    let mut packs: Vec<BString> = Vec::new();
    let mut rest = names;
    for _ in 0..count {
        let Some((name, after)) = rest.split_once_str("\0") else {
            return Err(fatal("multi-pack-index pack-name chunk is too short"));
        };
        rest = after;
        let name = BString::from(name);
        if let Some(before) = packs
            .last()
            .filter(|before| version == 1 && **before >= name)
        {
            return Err(fatal(format!(
                "multi-pack-index pack names out of order: '{}' before '{}'",
                raw(before),
                raw(&name)
            )));
        }
        packs.push(name);
    }
    Ok(packs)
}
