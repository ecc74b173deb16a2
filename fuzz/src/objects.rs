//! Objects.

use bstr::ByteSlice;
use vigil_git::staged::{self, SourceError, TreeSource};
use vigil_model::change::ChangeKind;
use vigil_model::index::Index;
use vigil_model::{HashKind, ObjectId, oid};
use vigil_objects::tree::{Step, TreeEntry, look_up};

use crate::input::Input;

/// Entries follow each other without a gap, each has a name, and each is exactly what the bytes
/// say.
pub(crate) fn tree(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    let mut rest = input.0;
    while let Ok(Some(entry)) = TreeEntry::first(rest, hash) {
        let name = entry.key.name;
        assert!(!name.is_empty() && !name.contains(&0));
        assert!(matches!(
            entry.mode.0,
            0o100_644 | 0o100_755 | 0o040_000 | 0o120_000 | 0o160_000
        ));
        let (bytes, after) = rest.split_at(entry.len);
        assert!(bytes.ends_with(&[b" ", name, b"\0", entry.id.as_slice()].concat()));
        rest = after;
    }
    assert_eq!(
        rest.is_empty(),
        matches!(TreeEntry::first(rest, hash), Ok(None))
    );
    // A path is never looked up beyond what it names.
    let (path, contents) = data.split_at(data.len().min(4));
    if let Ok(Step::Below(_, below)) = look_up(contents, path, hash) {
        assert!(path.ends_with(below) && !below.is_empty());
    }
}

/// A source of trees of random bytes. The first byte of an id selects the tree.
struct Trees<'a> {
    trees: Vec<&'a [u8]>,
    left: std::cell::Cell<usize>,
}

impl TreeSource for Trees<'_> {
    fn tree(&self, id: &oid, buf: &mut Vec<u8>) -> Result<bool, SourceError> {
        // These trees may refer to each other in circles, as no real ones can.
        self.left
            .set(self.left.get().checked_sub(1).ok_or("enough")?);
        let at = usize::from(id.first_byte());
        let tree = self.trees.get(at % (self.trees.len() + 1));
        tree.iter().for_each(|tree| buf.extend_from_slice(tree));
        Ok(tree.is_some())
    }
}

/// Comparing any trees with any index terminates. Everything reported as different is, and comes in
/// order.
pub(crate) fn staged(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    let index = match Index::parse(input.part(), hash) {
        Ok(parsed) => parsed.index,
        Err(_) => Index::empty(hash),
    };
    let trees: Vec<&[u8]> = std::iter::from_fn(|| (!input.0.is_empty()).then(|| input.part()))
        .take(16)
        .collect();
    let source = || Trees {
        trees: trees.clone(),
        left: 256.into(),
    };
    let head = ObjectId::null(hash);
    for head in [None, Some(head.as_ref())] {
        let Ok(all) = staged::diff(head, &index, &source(), None) else {
            continue;
        };
        assert!(all.changes.is_sorted_by(|a, b| a.path <= b.path));
        assert!(all.unmerged.is_sorted_by(|a, b| a.path < b.path));
        for change in &all.changes {
            let sides = [
                (change.head_mode, change.head_id),
                (change.index_mode, change.index_id),
            ];
            // An entry of the index may have a null mode and id, like a missing one.
            let is_one_sided = matches!(change.kind, ChangeKind::Added | ChangeKind::Deleted);
            assert!(is_one_sided || sides[0] != sides[1]);
        }
        let first = staged::diff(head, &index, &source(), Some(1)).expect("all could be had");
        assert_eq!(first.changes.len(), all.changes.len().min(1));
    }
    let expanded = staged::expand_sparse_directories(index, &source(), |_| true);
    drop(expanded);
}

/// A commit's parts are parts of its bytes.
pub(crate) fn commit(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    let Ok(commit) = vigil_objects::commit::parse(input.0, hash) else {
        return;
    };
    let tree = commit.tree.to_string();
    let mut head = format!("tree {tree}\n");
    for parent in &commit.parents {
        head.push_str(&format!("parent {parent}\n"));
    }
    assert!(input.0.to_ascii_lowercase().starts_with(head.as_bytes()));
    assert!(!input.0[head.len()..].starts_with(b"parent "));
    assert!(input.0.ends_with(&commit.message));
    assert!(commit.committer_time_s >= 0);
    if let Some(encoding) = &commit.encoding {
        assert!(
            input
                .0
                .contains_str([b"encoding ", encoding.as_slice()].concat())
        );
    }
    let summary = commit.summary();
    assert!(!summary.contains(&b'\n') && !summary.contains(&0));
    assert!(summary.len() <= commit.message.len());
}

/// A tag's parts are its first three lines.
pub(crate) fn tag(data: &[u8]) {
    let mut input = Input(data);
    let hash: HashKind = input.hash();
    let Some((id, kind, name, time_s)) = vigil_git::fuzzing::tag(input.0, hash) else {
        return;
    };
    // git reads the type and the name as C strings.
    let lines: Vec<&[u8]> = input.0.splitn(4, |byte| *byte == b'\n').collect();
    let target = format!("object {id}");
    assert_eq!(lines[0].to_ascii_lowercase(), target.as_bytes());
    assert!(lines[1].starts_with(format!("type {kind}").as_bytes()));
    assert!(lines[2].starts_with(&[b"tag ", name.as_slice()].concat()) && !name.contains(&0));
    assert!(time_s == 0 || lines[3].starts_with(b"tagger "));
}
