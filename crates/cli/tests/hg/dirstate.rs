//! Dirstates of the second format as only some versions of Mercurial write them: made by changing nodes of an existing one.

use std::fs;

use super::sandbox::WorkingCopy;

/// The start of a docket's metadata, and of the hash of the ignore patterns in it.
const METADATA_AT: usize = 12 + 64;
const IGNORE_HASH_AT: usize = METADATA_AT + 24;
const NODE_LEN: usize = 44;

/// The bytes of a node.
pub(crate) struct Node<'d>(&'d mut [u8]);

impl Node<'_> {
    pub(crate) fn flags(&self) -> u16 {
        u16::from_be_bytes([self.0[30], self.0[31]])
    }

    pub(crate) fn put_flags(&mut self, flags: u16) {
        self.0[30..32].copy_from_slice(&flags.to_be_bytes());
    }

    pub(crate) fn put_mtime(&mut self, s: i64, ns: i64) {
        self.0[36..40].copy_from_slice(&u32::try_from(s).unwrap().to_be_bytes());
        self.0[40..44].copy_from_slice(&u32::try_from(ns).unwrap().to_be_bytes());
    }
}

impl WorkingCopy {
    /// Calls `change` for each node with its path and whether it has children. Replaces the hash of the ignore
    /// patterns, if one is given.
    pub(crate) fn rewrite_dirstate(
        &self,
        ignore_hash: Option<[u8; 20]>,
        mut change: impl FnMut(&str, bool, Node<'_>),
    ) {
        let docket_path = self.path(".hg/dirstate");
        let mut docket = fs::read(&docket_path).unwrap();
        let number = |bytes: &[u8], at: usize| {
            u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
        };
        if let Some(hash) = ignore_hash {
            docket[IGNORE_HASH_AT..IGNORE_HASH_AT + 20].copy_from_slice(&hash);
        }
        let id = &docket[METADATA_AT + NODE_LEN + 5..];
        let data_path = self.path(&format!(".hg/dirstate.{}", str::from_utf8(id).unwrap()));
        let mut data = fs::read(&data_path).unwrap();
        let mut pending = vec![(
            number(&docket, METADATA_AT),
            number(&docket, METADATA_AT + 4),
        )];
        while let Some((start, count)) = pending.pop() {
            for node in (0..count).map(|n| start + n * NODE_LEN) {
                let children = (number(&data, node + 14), number(&data, node + 18));
                pending.push(children);
                let path_start = number(&data, node);
                let path_len = usize::from(u16::from_be_bytes([data[node + 4], data[node + 5]]));
                let path = data[path_start..path_start + path_len].to_vec();
                let node = Node(&mut data[node..node + NODE_LEN]);
                change(str::from_utf8(&path).unwrap(), children.1 > 0, node);
            }
        }
        fs::write(data_path, data).unwrap();
        fs::write(docket_path, docket).unwrap();
    }
}
