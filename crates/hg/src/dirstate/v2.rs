//! The second format: a docket that names a data file, in which nodes of a tree lie in arrays.

use bstr::BString;

use super::entry::{Entry, Flags};
use super::record::{Damaged, Place, Record};
use crate::fields::{u16_at, u32_at};
use crate::node::Node;

/// With what a docket begins.
pub const MARKER: &[u8; 12] = b"dirstate-v2\n";
/// A node, which the format has room for in the place of 20 bytes.
const STORED_NODE_LEN: usize = 32;
const METADATA_LEN: usize = 44;
const NODE_LEN: usize = 44;

/// The file that names the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Docket {
    /// The parents of the working copy.
    pub parents: [Node; 2],
    /// How much of the data file counts, in bytes.
    pub data_len: u32,
    /// What follows `dirstate.` in the name of the data file.
    pub id: BString,
    root_start: u32,
    root_count: u32,
}

impl Docket {
    /// Reads a docket.
    ///
    /// # Errors
    /// It is none.
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
        })
    }
}

/// The files that the nodes of `data` stand for.
pub(super) fn parse(docket: &Docket, data: &[u8]) -> Result<Vec<Record>, Damaged> {
    let data = data
        .get(..docket.data_len as usize)
        .ok_or(Damaged("the data file of the dirstate is cut off"))?;
    let mut walk = Walk {
        data,
        nodes_left: data.len() / NODE_LEN,
        path_bytes_left: data.len(),
        records: Vec::new(),
    };
    // Children are read once their siblings are, so that no depth is too deep.
    let mut pending = vec![(docket.root_start, docket.root_count)];
    while let Some((start, count)) = pending.pop() {
        walk.nodes(start, count, &mut pending)?;
    }
    Ok(walk.records)
}

struct Walk<'d> {
    data: &'d [u8],
    /// A tree has no more nodes than there is room for: where more are met, some lead back to others.
    nodes_left: usize,
    /// Each node has its whole path for itself.
    path_bytes_left: usize,
    records: Vec<Record>,
}

impl Walk<'_> {
    fn nodes(
        &mut self,
        start: u32,
        count: u32,
        pending: &mut Vec<(u32, u32)>,
    ) -> Result<(), Damaged> {
        let count = count as usize;
        self.nodes_left = self.nodes_left.checked_sub(count).ok_or(Damaged(
            "the tree of the dirstate has more nodes than it has room for",
        ))?;
        let start = start as usize;
        let end = start.saturating_add(count.saturating_mul(NODE_LEN));
        let outside = Damaged("a node of the dirstate is outside of its file");
        let (nodes, _) = match count {
            0 => return Ok(()),
            _ => self.data.get(start..end).ok_or(outside)?,
        }
        .as_chunks::<NODE_LEN>();
        for node in nodes {
            self.node(node, pending)?;
        }
        Ok(())
    }

    fn node(
        &mut self,
        node: &[u8; NODE_LEN],
        pending: &mut Vec<(u32, u32)>,
    ) -> Result<(), Damaged> {
        let cut = Damaged("a node of the dirstate is cut off");
        let long = |at: usize| u32_at(node, at).ok_or(cut);
        let short = |at: usize| u16_at(node, at).ok_or(cut);
        let path = self.place(long(0)?, short(4)?)?;
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
            _ => Some(self.place(copy_start, copy_len)?),
        };
        let (children, children_count) = (long(14)?, long(18)?);
        if children_count > 0 {
            pending.push((children, children_count));
        }
        let flags = Flags(short(30)?);
        if !flags.is_any_tracked() {
            return Ok(());
        }
        self.records.push(Record {
            path,
            copy_source,
            entry: entry(flags, long(32)?, long(36)?, long(40)?),
        });
        Ok(())
    }

    fn place(&self, start: u32, len: u16) -> Result<Place, Damaged> {
        let place = Place {
            start,
            len: u32::from(len),
        };
        match self.data.get(place.range()) {
            Some(_) => Ok(place),
            None => Err(Damaged("a path of the dirstate is outside of its file")),
        }
    }
}

fn entry(mut flags: Flags, size: u32, mtime_s: u32, mtime_ns: u32) -> Entry {
    if flags.has(Flags::EXPECTED_STATE_IS_MODIFIED) {
        flags = flags.without(Flags::HAS_MODE_AND_SIZE | Flags::HAS_MTIME);
    }
    Entry {
        flags,
        size,
        mtime_s: mtime_s & 0x7fff_ffff,
        mtime_ns,
    }
}
