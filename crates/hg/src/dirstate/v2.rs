//! The second format of the dirstate: a docket that names a data file, in which the nodes of a tree lie in arrays.

use bstr::BString;

use super::entry::{DirstateEntry, Flags};
use super::listed::{ListedRecord, SECONDS_MASK};
use super::record::{ByteRange, Damaged, Record};
use crate::fields::{u16_at, u32_at};
use crate::node::Node;

/// The bytes with which a docket begins.
pub(crate) const MARKER: &[u8; 12] = b"dirstate-v2\n";
/// The length of the field for a changeset's node, which itself takes only 20 bytes.
const STORED_NODE_LEN: usize = 32;
const METADATA_LEN: usize = 44;
/// The offset of the hash of the ignore patterns in the metadata.
const IGNORE_HASH_START: usize = 24;
const NODE_LEN: usize = 44;
/// The approximate length of a tree node with its path, if few bytes are unused.
const BYTES_PER_RECORD: usize = 100;
/// The maximum number of records for which memory is reserved in advance.
const RECORDS_AT_ONCE_MAX: usize = 1 << 18;

/// The docket: the file that names the data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Docket {
    /// The parents of the working copy.
    pub parents: [Node; 2],
    /// The valid length of the data file, in bytes.
    pub data_len: u32,
    /// The part of the data file's name after `dirstate.`.
    pub id: BString,
    root_start: u32,
    root_count: u32,
    /// The hash of the ignore patterns with which directories were listed.
    pub(super) ignore_hash: [u8; 20],
}

impl Docket {
    /// Parses a docket.
    ///
    /// # Errors
    /// The bytes are not a docket.
    pub fn parse(bytes: &[u8]) -> Result<Self, Damaged> {
        let cut = Damaged("the docket of the dirstate is cut off");
        let Some(rest) = bytes.strip_prefix(MARKER) else {
            return Err(Damaged("the dirstate has no docket"));
        };
        let node = |start: usize| rest.get(start..).and_then(Node::from_start_of).ok_or(cut);
        let parents = [node(0)?, node(STORED_NODE_LEN)?];
        let metadata = 2 * STORED_NODE_LEN;
        let after = metadata.saturating_add(METADATA_LEN);
        let id_len = rest.get(after.saturating_add(4)).copied().ok_or(cut)?;
        let id_start = after.saturating_add(5);
        let id = rest.get(id_start..id_start.saturating_add(usize::from(id_len)));
        let id = id.ok_or(cut)?;
        if id.iter().any(|byte| !byte.is_ascii_alphanumeric()) {
            return Err(Damaged("the docket of the dirstate names no file"));
        }
        Ok(Self {
            parents,
            data_len: u32_at(rest, after).ok_or(cut)?,
            id: id.into(),
            root_start: u32_at(rest, metadata).ok_or(cut)?,
            root_count: u32_at(rest, metadata.saturating_add(4)).ok_or(cut)?,
            ignore_hash: rest
                .get(metadata.saturating_add(IGNORE_HASH_START)..)
                .and_then(<[u8]>::first_chunk)
                .copied()
                .ok_or(cut)?,
        })
    }
}

/// The contents of the tree.
pub(super) struct Nodes {
    /// The files.
    pub(super) records: Vec<Record>,
    /// Directories that held only recorded and ignored files when they had the recorded mtime.
    pub(super) listed: Vec<ListedRecord>,
}

/// Parses the nodes of `data`, parents before their children and siblings in their order, so that paths come almost sorted.
pub(super) fn parse(docket: &Docket, data: &[u8]) -> Result<Nodes, Damaged> {
    let data = data
        .get(..docket.data_len as usize)
        .ok_or(Damaged("the data file of the dirstate is cut off"))?;
    let mut walk = Walk {
        data,
        nodes_left: data.len() / NODE_LEN,
        path_bytes_left: data.len(),
        has_untracked_records: false,
        found: Nodes {
            records: Vec::with_capacity(RECORDS_AT_ONCE_MAX.min(data.len() / BYTES_PER_RECORD)),
            listed: Vec::new(),
        },
    };
    // The rest of each level's array. An explicit stack, so that no tree is too deep.
    let mut pending = vec![walk.nodes(docket.root_start, docket.root_count)?];
    while let Some(nodes) = pending.last_mut() {
        let Some((node, rest)) = nodes.split_first_chunk::<NODE_LEN>() else {
            pending.pop();
            continue;
        };
        *nodes = rest;
        if let Some((start, count)) = walk.node(node)? {
            pending.push(walk.nodes(start, count)?);
        }
    }
    if walk.has_untracked_records {
        walk.found.listed.clear();
    }
    Ok(walk.found)
}

struct Walk<'d> {
    data: &'d [u8],
    /// The number of nodes that the data still have room for. If more are met, some nodes lead back to others.
    nodes_left: usize,
    /// The number of bytes left for paths: no two nodes share the bytes of their paths.
    path_bytes_left: usize,
    /// Whether there are records of what is not tracked. They are not looked at here.
    has_untracked_records: bool,
    found: Nodes,
}

impl<'d> Walk<'d> {
    fn nodes(&mut self, start: u32, count: u32) -> Result<&'d [u8], Damaged> {
        let count = count as usize;
        self.nodes_left = self.nodes_left.checked_sub(count).ok_or(Damaged(
            "the tree of the dirstate has more nodes than it has room for",
        ))?;
        let start = start as usize;
        let end = start.saturating_add(count.saturating_mul(NODE_LEN));
        let outside = Damaged("a node of the dirstate is outside of its file");
        match count {
            0 => Ok(&[]),
            _ => self.data.get(start..end).ok_or(outside),
        }
    }

    /// Adds a node, and returns the start and the number of its children.
    fn node(&mut self, node: &[u8; NODE_LEN]) -> Result<Option<(u32, u32)>, Damaged> {
        let cut = Damaged("a node of the dirstate is cut off");
        let long = |at: usize| u32_at(node, at).ok_or(cut);
        let short = |at: usize| u16_at(node, at).ok_or(cut);
        let path = self.byte_range(long(0)?, short(4)?)?;
        self.path_bytes_left =
            self.path_bytes_left
                .checked_sub(path.len as usize)
                .ok_or(Damaged(
                    "the paths of the dirstate are longer than their file",
                ))?;
        if short(6)? > short(4)? {
            return Err(Damaged("a name of the dirstate is outside of its path"));
        }
        let (copy_start, copy_len) = (long(8)?, short(12)?);
        let copy_source = match (copy_start, copy_len) {
            (0, _) => None,
            _ => Some(self.byte_range(copy_start, copy_len)?),
        };
        let (children, children_count) = (long(14)?, long(18)?);
        let flags = Flags(short(30)?);
        let (size, mtime_s, mtime_ns) = (long(32)?, long(36)?, long(40)?);
        if flags.is_any_tracked() {
            self.found.records.push(Record {
                path,
                copy_source,
                entry: entry(flags, size, mtime_s, mtime_ns),
            });
        } else if flags.has(Flags::DIRECTORY | Flags::HAS_MTIME | Flags::ALL_UNKNOWN_RECORDED) {
            let is_ambiguous = mtime_ns == 0 && flags.has(Flags::MTIME_SECOND_AMBIGUOUS);
            if !is_ambiguous {
                self.found.listed.push(ListedRecord {
                    path,
                    mtime_s: mtime_s & SECONDS_MASK,
                    mtime_ns,
                });
            }
        }
        self.has_untracked_records |= children_count == 0 && !flags.is_any_tracked();
        Ok((children_count > 0).then_some((children, children_count)))
    }

    fn byte_range(&self, start: u32, len: u16) -> Result<ByteRange, Damaged> {
        let range = ByteRange {
            start,
            len: u32::from(len),
        };
        match self.data.get(range.as_range()) {
            Some(_) => Ok(range),
            None => Err(Damaged("a path of the dirstate is outside of its file")),
        }
    }
}

fn entry(mut flags: Flags, size: u32, mtime_s: u32, mtime_ns: u32) -> DirstateEntry {
    if flags.has(Flags::EXPECTED_STATE_IS_MODIFIED) {
        flags = flags.without(Flags::HAS_MODE_AND_SIZE | Flags::HAS_MTIME);
    }
    DirstateEntry {
        flags,
        size,
        mtime_s: mtime_s & SECONDS_MASK,
        mtime_ns,
    }
}
