//! A repository of five changesets, so that names can be resolved.

use std::fs;
use std::path::Path;

use sha1::{Digest, Sha1};
use vigil_hg::node::Node;

/// The number of changesets.
pub(super) const LEN: u32 = 5;

/// The parents of each changeset. The last but one is a merge.
const PARENTS: [[Option<usize>; 2]; LEN as usize] = [
    [None, None],
    [Some(0), None],
    [Some(0), None],
    [Some(1), Some(2)],
    [Some(3), None],
];

fn text(number: usize) -> Vec<u8> {
    let manifest = "0".repeat(40);
    let extra = if number == 2 { " branch:side" } else { "" };
    format!("{manifest}\nuser\n{number} 0{extra}\n\nmessage").into_bytes()
}

fn nodes() -> Vec<[u8; 20]> {
    let mut nodes: Vec<[u8; 20]> = Vec::new();
    for (number, parents) in PARENTS.iter().enumerate() {
        let mut above = parents.map(|parent| parent.map_or([0; 20], |parent| nodes[parent]));
        above.sort_unstable();
        let mut sum = Sha1::new();
        sum.update(above[0]);
        sum.update(above[1]);
        sum.update(text(number));
        nodes.push(sum.finalize().into());
    }
    nodes
}

/// The node of the changeset `number`.
pub(super) fn node(number: usize) -> Node {
    Node(nodes()[number])
}

/// Creates the repository in `folder`.
pub(super) fn make(folder: &Path) {
    let store = folder.join(".hg/store");
    fs::create_dir_all(&store).unwrap();
    fs::write(
        folder.join(".hg/requires"),
        "revlogv1\nstore\nfncache\ngeneraldelta\n",
    )
    .unwrap();
    let mut index = Vec::new();
    let nodes = nodes();
    for (number, parents) in PARENTS.iter().enumerate() {
        let text = [b"u".to_vec(), text(number)].concat();
        let begin = index.len();
        let stored_len = u32::try_from(text.len()).unwrap();
        let number_bytes = u32::try_from(number).unwrap().to_be_bytes();
        index.extend([0; 8]);
        index.extend(stored_len.to_be_bytes());
        index.extend((stored_len - 1).to_be_bytes());
        index.extend(number_bytes);
        index.extend(number_bytes);
        for parent in parents {
            let parent = parent.map_or(-1, |parent| i32::try_from(parent).unwrap());
            index.extend(parent.to_be_bytes());
        }
        index.extend(nodes[number]);
        index.extend([0; 12]);
        index.extend(text);
        if number == 0 {
            // The header of the revlog: inline, general delta, version 1.
            index[begin..begin + 4].copy_from_slice(&[0, 3, 0, 1]);
        }
    }
    fs::write(store.join("00changelog.i"), index).unwrap();
    let bookmark = format!("{} book\n", node(1));
    fs::write(folder.join(".hg/bookmarks"), bookmark).unwrap();
    let tag = format!("{} tagged\n", node(2));
    fs::write(folder.join(".hg/localtags"), tag).unwrap();
}
