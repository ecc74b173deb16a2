//! One file of a commit-graph (gitformat-commit-graph(5)), checked as git checks it.

use std::ops::{Deref, Range};

use bstr::BString;
use gix_hash::{Kind, ObjectId};

use super::{NO_PARENT, OptionalParts};
use crate::chunks::{CHUNK_LEN, ChunkFormat, Chunks};
use crate::table::{FANOUT_LEN, Fanout, row};

const SIGNATURE: u32 = u32::from_be_bytes(*b"CGPH");
const VERSION: u8 = 1;
const HEADER_LEN: usize = 8;
const FORMAT: ChunkFormat = ChunkFormat {
    header_len: HEADER_LEN,
    alignment: 1,
    cut_off: "commit-graph file is too small",
};
/// The number of chunks that every file has, apart from the end of their list.
const CHUNKS_MIN: usize = 3;
const FANOUT: u32 = u32::from_be_bytes(*b"OIDF");
const IDS: u32 = u32::from_be_bytes(*b"OIDL");
const COMMITS: u32 = u32::from_be_bytes(*b"CDAT");
const EXTRA_PARENTS: u32 = u32::from_be_bytes(*b"EDGE");
const BASES: u32 = u32::from_be_bytes(*b"BASE");
const GENERATIONS: u32 = u32::from_be_bytes(*b"GDA2");
const PATHS_INDEX: u32 = u32::from_be_bytes(*b"BIDX");
const PATHS: u32 = u32::from_be_bytes(*b"BDAT");
/// The length of what precedes the filters for changed paths.
const PATHS_HEADER_LEN: usize = 12;
/// The length of a commit's fields after the id of its tree: two parents, then its generation in the bits above its
/// time.
const FIXED_LEN: usize = 16;

/// One file. All tables are within `bytes`, as [`Layer::parse`] has checked.
#[derive(Debug)]
pub(super) struct Layer<B> {
    pub(super) bytes: B,
    pub(super) fanout: Fanout,
    ids: usize,
    commits: usize,
    pub(super) extra_parents: Range<usize>,
    /// The ids of the files that it is based on, if it has such a list.
    bases: Option<Range<usize>>,
    /// The position of the file's first commit.
    pub(super) first: u32,
    /// The length of an id.
    id_len: usize,
}

impl<B: Deref<Target = [u8]>> Layer<B> {
    /// Parses a file. git's complaints are appended to `complaints`, as whole lines.
    pub(super) fn parse(
        bytes: B,
        hash: Kind,
        parts: OptionalParts,
        complaints: &mut Vec<BString>,
    ) -> Option<Self> {
        let mut refuse = |text: String| complaints.push(format!("error: {text}").into());
        let count = check_header(&bytes, hash).map_err(&mut refuse).ok()?;
        let id_len = hash.len_in_bytes();
        let chunks = Chunks::parse(&FORMAT, &bytes, count, hash)
            .map_err(&mut refuse)
            .ok()?;
        let required =
            |name: &str| format!("commit-graph required {name} chunk missing or corrupted");
        let fanout = fanout_of(&chunks, &bytes)
            .map_err(&mut refuse)
            .ok()
            .flatten();
        let Some(fanout) = fanout else {
            refuse(required("OID fanout"));
            return None;
        };
        let rows = fanout.count();
        let sized = |id, row_len: usize, problem: &str| match chunks.find(id) {
            Some(range) if range.len() / row_len == rows as usize => Ok(Some(range.start)),
            Some(_) => Err(format!("commit-graph {problem} the wrong size")),
            None => Ok(None),
        };
        let ids = sized(IDS, id_len, "OID lookup chunk is");
        let Some(ids) = ids.map_err(&mut refuse).ok().flatten() else {
            refuse(required("OID lookup"));
            return None;
        };
        let commits = sized(COMMITS, id_len + FIXED_LEN, "");
        let wrong_size = |what: &str| format!("commit-graph {what} chunk is wrong size");
        let commits = commits.map_err(|_| refuse(wrong_size("commit data")));
        let Some(commits) = commits.ok().flatten() else {
            refuse(required("commit data"));
            return None;
        };
        if parts.generations && sized(GENERATIONS, 4, "").is_err() {
            refuse(wrong_size("generations"));
        }
        if parts.changed_paths {
            complaints.extend(complaints_about_paths(&chunks, rows as usize));
        }
        Some(Self {
            ids,
            commits,
            extra_parents: chunks.find(EXTRA_PARENTS).unwrap_or_default(),
            bases: chunks.find(BASES),
            fanout,
            bytes,
            first: 0,
            id_len,
        })
    }

    /// Returns why the file cannot follow those with the checksums `own`, which are called `ids`.
    pub(super) fn mismatch(&self, own: &[&[u8]], ids: &[ObjectId]) -> Option<&'static str> {
        let id_len = self.id_len;
        let bases = match &self.bases {
            Some(bases) => self.bytes.get(bases.clone()).unwrap_or_default(),
            None if ids.is_empty() => return None,
            None => return Some("commit-graph has no base graphs chunk"),
        };
        if bases.len() / id_len < ids.len() {
            return Some("commit-graph base graphs chunk is too small");
        }
        let names = || ids.iter().map(|id| id.as_bytes());
        let is_alike =
            own.iter().copied().eq(names()) && bases.chunks(id_len).take(ids.len()).eq(names());
        (!is_alike).then_some("commit-graph chain does not match")
    }

    /// Places the file's commits after the first `count` positions. `None` if there are not so many positions: each must be less
    /// than the value that stands for no parent.
    pub(super) fn follow(&mut self, count: u32) -> Option<()> {
        self.first = count;
        let end = count.checked_add(self.fanout.count())?;
        (end <= NO_PARENT).then_some(())
    }

    /// The checksum at the end of the file, by which it is called.
    pub(super) fn checksum(&self) -> &[u8] {
        let start = self.bytes.len().saturating_sub(self.id_len);
        self.bytes.get(start..).unwrap_or_default()
    }

    /// The position after that of the file's last commit.
    pub(super) fn end(&self) -> u32 {
        self.first.saturating_add(self.fanout.count())
    }

    /// Returns the bytes of the id at a place in this file.
    pub(super) fn row(&self, at: u32) -> Option<&[u8]> {
        row(&self.bytes, self.ids, self.id_len, at, self.id_len)
    }

    /// Returns the fields of the commit at a place in this file.
    pub(super) fn commit(&self, at: u32) -> Option<&[u8]> {
        let len = self.id_len + FIXED_LEN;
        row(&self.bytes, self.commits, len, at, len)
    }
}

/// Checks all that precedes the table of contents. Returns the number of chunks, or git's complaint.
fn check_header(bytes: &[u8], hash: Kind) -> Result<u8, String> {
    let id_len = hash.len_in_bytes();
    let len_with = |chunks: usize| HEADER_LEN + (chunks + 1) * CHUNK_LEN + FANOUT_LEN + id_len;
    let header = bytes.first_chunk::<HEADER_LEN>();
    let header = header.filter(|_| bytes.len() >= len_with(CHUNKS_MIN));
    let Some([s0, s1, s2, s3, version, hash_version, count, _]) = header else {
        return Err("commit-graph file is too small".into());
    };
    let signature = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
    let own_hash_version = if hash == Kind::Sha1 { 1 } else { 2 };
    for (what, given, own) in [
        ("signature", signature, SIGNATURE),
        ("version", u32::from(*version), u32::from(VERSION)),
        ("hash version", u32::from(*hash_version), own_hash_version),
    ] {
        if given != own {
            return Err(format!(
                "commit-graph {what} {given:X} does not match {0} {own:X}",
                what.trim_start_matches("hash ")
            ));
        }
    }
    if bytes.len() < len_with(usize::from(*count)) {
        return Err(format!(
            "commit-graph file is too small to hold {count} chunks"
        ));
    }
    Ok(*count)
}

/// Returns the fanout table, if there is one. The error is git's complaint.
fn fanout_of(chunks: &Chunks, bytes: &[u8]) -> Result<Option<Fanout>, String> {
    let Some(range) = chunks.find(FANOUT) else {
        return Ok(None);
    };
    if range.len() != FANOUT_LEN {
        return Err("commit-graph oid fanout chunk is wrong size".into());
    }
    let fanout = Fanout::parse(bytes.get(range).unwrap_or_default());
    match fanout {
        Ok(fanout) => Ok(Some(fanout)),
        Err(_) => Err("commit-graph fanout values out of order".into()),
    }
}

/// What git says of the filters for changed paths, which are not used here, for this number of commits.
fn complaints_about_paths(chunks: &Chunks, commits: usize) -> Vec<BString> {
    let mut complaints = Vec::new();
    let index = chunks.find(PATHS_INDEX);
    if index.is_some_and(|range| range.len() / 4 != commits) {
        complaints.push("warning: commit-graph changed-path index chunk is too small".into());
    }
    if let Some(range) = chunks.find(PATHS)
        && range.len() < PATHS_HEADER_LEN
    {
        let text = format!(
            "warning: ignoring too-small changed-path chunk ({} < {PATHS_HEADER_LEN}) in commit-graph file",
            range.len()
        );
        complaints.push(text.into());
    }
    complaints
}
