//! Which changesets are hidden or obsolete, and the store of obsolescence markers.

use std::collections::HashSet;

use vigil_linux::Errno;
use vigil_linux::stat::stat_path;

use crate::abort::Abort;
use crate::checkout::{Phase, phase};
use crate::fields::{u16_at, u32_at};
use crate::node::Node;
use crate::repository::Repository;

/// The minimum length of a marker, in bytes.
const LEN_MIN: usize = 26;
/// The flag of a marker with SHA-256 nodes, which are longer.
const IS_SHA256: u16 = 2;

/// Marks by the number of the changeset.
#[derive(Clone, Debug, Default)]
pub(super) struct HiddenMarks {
    pub(super) is_hidden: Vec<bool>,
    pub(super) is_obsolete: Vec<bool>,
}

/// Returns whether some changesets may be hidden: obsolete ones, or those kept only for a shelf.
///
/// # Errors
/// Phases or markers cannot be read, or are damaged.
pub(super) fn has_hidden(repository: &Repository) -> Result<bool, Abort> {
    let markers = repository.store().folder().join("obsstore");
    let obsolete = match stat_path(&markers) {
        Err(errno) if errno != Errno::NOENT => return Err(Abort::io(&markers, &errno.into())),
        seen => seen,
    };
    let has_obsolete = obsolete.is_ok_and(|seen| seen.size > 0);
    let roots = phase::roots(repository)?;
    Ok(has_obsolete || roots.values().any(|phase| *phase >= Phase::Archived))
}

/// Returns whether the mark of this number is set.
pub(super) fn is_marked(marks: &[bool], number: u32) -> bool {
    marks.get(number as usize).copied().unwrap_or_default()
}

/// Returns the nodes that a store of markers declares rewritten or gone, or `None` if the store is damaged or of another version.
pub(super) fn obsolete_nodes(bytes: &[u8]) -> Option<HashSet<Node>> {
    let Some((version, mut rest)) = bytes.split_first() else {
        return Some(HashSet::new());
    };
    let mut all = HashSet::new();
    while !rest.is_empty() {
        let (node, len) = match version {
            // The number of successors, the length of the metadata, flags, and the node.
            0 => {
                let successors = usize::from(*rest.first()?).checked_mul(Node::LEN)?;
                let metadata_len = usize::try_from(u32_at(rest, 1)?).ok()?;
                let node = Node::from_start_of(rest.get(6..)?)?;
                let len = successors.checked_add(metadata_len)?;
                (Some(node), len.checked_add(6)?.checked_add(Node::LEN)?)
            }
            // The length of the marker, date, zone, flags, three counts, and the node.
            1 => {
                let len = usize::try_from(u32_at(rest, 0)?).ok()?;
                let node = match u16_at(rest, 14)? & IS_SHA256 {
                    0 => Some(Node::from_start_of(rest.get(19..)?)?),
                    _ => None,
                };
                (node, len)
            }
            _ => return None,
        };
        all.extend(node);
        rest = rest.get(len.max(LEN_MIN)..)?;
    }
    Some(all)
}

/// The entry point of the fuzzer.
#[cfg(feature = "fuzzing")]
pub(super) fn fuzz(bytes: &[u8]) {
    let _ = obsolete_nodes(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(byte: u8) -> Node {
        Node([byte; Node::LEN])
    }

    /// Builds a marker of version 0 with one successor.
    fn of_version_0(of: u8) -> Vec<u8> {
        let start = [&[1][..], &3u32.to_be_bytes(), &[0]].concat();
        [&start[..], &node(of).0, &node(9).0, b"a:b"].concat()
    }

    fn of_version_1(of: u8, flags: u16) -> Vec<u8> {
        let node_len = if flags & IS_SHA256 == 0 { 20 } else { 32 };
        let len = 19 + node_len + 4;
        let start = [
            &u32::try_from(len).unwrap().to_be_bytes()[..],
            &[0; 8],
            &[0; 2],
            &flags.to_be_bytes(),
            &[0, 3, 1],
        ];
        [&start.concat(), &vec![of; node_len], &b"\x01\x01ab"[..]].concat()
    }

    #[test]
    fn markers_are_read_in_both_versions() {
        let all = [&[0][..], &of_version_0(1), &of_version_0(2)].concat();
        assert_eq!(obsolete_nodes(&all), Some([node(1), node(2)].into()));
        let all = [
            &[1][..],
            &of_version_1(3, 0),
            &of_version_1(4, 2),
            &of_version_1(5, 1),
        ]
        .concat();
        assert_eq!(obsolete_nodes(&all), Some([node(3), node(5)].into()));
        assert_eq!(obsolete_nodes(b""), Some(HashSet::new()));
        for damaged in [&all[..all.len() - 1], &[0, 1], &[2, 1], &[1, 0, 0, 0, 0, 1]] {
            assert_eq!(obsolete_nodes(damaged), None);
        }
    }
}
