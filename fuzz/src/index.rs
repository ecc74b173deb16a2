//! The index and its extensions.

use std::collections::BTreeMap;

use bstr::ByteSlice;
use vigil_model::index::{CacheTree, Index, ParsedIndex};
use vigil_model::{HashKind, fuzzing};

use crate::input::Input;

/// An index is read or rejected. Everything read lies within the file, and lookups terminate.
pub(crate) fn index(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    let Some(parsed) = parse(input.0, hash) else {
        return;
    };
    let _ = parsed.clone().join(input.0);
    let index = parsed.index;
    let names: Vec<Vec<u8>> = index
        .entries()
        .iter()
        .map(|entry| index.path(entry).to_vec())
        .collect();
    let is_sorted = names.is_sorted();
    for (entry, name) in index.entries().iter().zip(&names).take(64) {
        let found = index.find(index.path(entry), entry.flags.stage());
        let dir = vigil_model::path::parent(index.path(entry));
        let range = index.range_of_directory(dir);
        assert!(range.end <= names.len());
        if is_sorted {
            let prefix = [dir.as_bytes(), b"/"].concat();
            let below = |name: &Vec<u8>| dir.is_empty() || name.starts_with(&prefix);
            assert_eq!(range.len(), names.iter().filter(|name| below(name)).count());
            let stages = index.entries().iter().map(|entry| entry.flags.stage());
            if stages.clone().all(|stage| stage == 0) {
                assert_eq!(
                    found.map(|found| index.path(found).to_vec()).as_ref(),
                    Some(name)
                );
            }
        }
    }
    if let Some(root) = index.cache_tree() {
        check_cache_tree(root, input.0.len());
    }
    let expanded = index.clone().expand_sparse_directories(|path, _| {
        assert!(names.iter().any(|name| name == path));
        Ok::<_, ()>(path.starts_with(b"a").then(Vec::new))
    });
    assert!(expanded.unwrap().entries().len() <= names.len());
}

fn parse(bytes: &[u8], hash: HashKind) -> Option<ParsedIndex> {
    let parsed = match Index::parse(bytes, hash) {
        Ok(parsed) => parsed,
        Err(error) => {
            // The messages may quote the input, but must not blow it up.
            let said: usize = error.error_lines().iter().map(String::len).sum();
            assert!(said + error.to_string().len() <= 4096 + bytes.len() * 256);
            return None;
        }
    };
    let index = &parsed.index;
    assert!(index.entries().len() * 62 <= bytes.len());
    let paths: usize = index
        .entries()
        .iter()
        .map(|entry| index.path(entry).len())
        .sum();
    assert!(paths <= bytes.len() * 64, "paths fill the memory");
    Some(parsed)
}

fn check_cache_tree(root: &CacheTree, len: usize) {
    let mut open = vec![(root, 0)];
    let mut count = 0;
    while let Some((node, depth)) = open.pop() {
        count += 1;
        assert!(depth <= 2048);
        for child in &node.children {
            assert!(node.child(&child.name).is_some());
            open.push((child, depth + 1));
        }
    }
    assert!(count * 5 <= len + 5, "nodes from nowhere");
}

/// A shared index and the changes to it are joined or rejected. The result contains only entries of
/// the two.
pub(crate) fn split_index(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    let shared = input.part();
    let (Some(base), Some(split)) = (parse(shared, hash), parse(input.0, hash)) else {
        return;
    };
    if split.link.is_none() {
        return;
    }
    let base = base.index;
    let mut available = BTreeMap::<Vec<u8>, usize>::new();
    for index in [&base, &split.index] {
        for entry in index.entries() {
            *available.entry(index.path(entry).to_vec()).or_default() += 1;
        }
    }
    let len_max = base.entries().len() + split.index.entries().len();
    let Ok(joined) = split.join(shared) else {
        return;
    };
    assert!(joined.entries().len() <= len_max);
    for entry in joined.entries() {
        let left = available.get_mut(joined.path(entry).as_bytes());
        let left = left.expect("a path of one of the two");
        *left = left.checked_sub(1).expect("an entry of one of the two");
    }
}

/// A compressed bitmap has the same bits as a slow, bit by bit reading of it.
pub(crate) fn ewah(data: &[u8]) {
    const LIMIT: usize = 4096;
    let mut input = Input(data);
    let limit = input.up_to(LIMIT);
    let bytes = input.0;
    let mut rest = bytes;
    let Ok(found) = fuzzing::ewah(&mut rest, limit) else {
        return;
    };
    let taken = bytes.len() - rest.len();
    let words = bytes
        .get(8..taken - 4)
        .expect("two numbers before and one behind");
    let words: Vec<u64> = words
        .chunks_exact(8)
        .map(|word| u64::from_be_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(found, slow_positions(&words, limit as u64));
}

fn slow_positions(words: &[u64], limit: u64) -> Result<Vec<usize>, u64> {
    let mut found = Vec::new();
    let mut at = 0u64;
    let mut words = words.iter();
    while let Some(run) = words.next() {
        let length = (run >> 1) & 0xffff_ffff;
        if run & 1 == 1 && length > 0 {
            for _ in 0..length * 64 {
                if at >= limit {
                    return Err(at);
                }
                found.push(at as usize);
                at += 1;
            }
        } else {
            at += length * 64;
        }
        for word in words.by_ref().take((run >> 33) as usize) {
            for bit in 0..64 {
                if word >> bit & 1 == 1 {
                    if at + bit >= limit {
                        return Err(at + bit);
                    }
                    found.push((at + bit) as usize);
                }
            }
            at += 64;
        }
    }
    Ok(found)
}

/// A cache-tree that was read can be written and read again.
pub(crate) fn cache_tree(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    let Some(root) = fuzzing::cache_tree(input.0, hash) else {
        return;
    };
    check_cache_tree(&root, input.0.len());
    let mut written = Vec::new();
    write(&root, &mut written);
    assert!(written.len() <= input.0.len());
    assert_eq!(fuzzing::cache_tree(&written, hash), Some(root));
}

fn write(node: &CacheTree, out: &mut Vec<u8>) {
    out.extend(&node.name);
    let count = node.tree.map_or(-1, |(count, _)| i64::from(count));
    out.extend(format!("\0{count} {}\n", node.children.len()).bytes());
    out.extend(node.tree.iter().flat_map(|(_, id)| id.as_slice()));
    node.children.iter().for_each(|child| write(child, out));
}
