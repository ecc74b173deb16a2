//! Tags: what `.hgtags` says in each head, and what is only said here.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use super::Revisions;
use crate::abort::Abort;
use crate::ancestry;
use crate::bytes::{lines_with_ends, trim};
use crate::node::Node;
use crate::text_file;

/// Where a tag is, and where it was before.
#[derive(Clone, Debug, Default)]
struct Tag {
    node: Node,
    before: Vec<Node>,
}

type Tags = BTreeMap<BString, Tag>;

impl Revisions<'_> {
    /// The node of a tag, which may be one that is not here.
    pub(super) fn tag(&mut self, name: &BStr) -> Result<Option<Node>, Abort> {
        let mut all = Tags::new();
        let store = self.repository.store();
        if !store.file(".hgtags".into())?.is_empty() {
            let mut seen = Vec::new();
            for head in self.heads() {
                let node = self.changelog.revision(head).map(|revision| revision.node);
                let manifest = store.manifest_of(&node.unwrap_or_default())?;
                let Some(entry) = manifest.get(".hgtags".into()) else {
                    continue;
                };
                if seen.contains(&entry.node) {
                    continue;
                }
                seen.push(entry.node);
                let text = store.contents(".hgtags".into(), &entry.node)?;
                add(&mut all, of_text(&text, name));
            }
        }
        if let Ok(text) = text_file::read(&self.repository.dot_hg.join("localtags")) {
            let mut local = of_text(&text, name);
            local.retain(|_, tag| self.changelog.find(&tag.node).is_some());
            add(&mut all, local);
        }
        let node = all.get(name.as_bytes()).map(|tag| tag.node);
        Ok(node.filter(|node| !node.is_null()))
    }

    /// The changesets without children, oldest first.
    fn heads(&self) -> Vec<u32> {
        let len = u32::try_from(self.changelog.len()).unwrap_or(u32::MAX);
        let mut has_child = vec![false; len as usize];
        for number in 0..len {
            for parent in ancestry::parents(&self.changelog, number)
                .into_iter()
                .flatten()
            {
                if let Some(has_child) = has_child.get_mut(parent as usize) {
                    *has_child = true;
                }
            }
        }
        (0u32..)
            .zip(has_child)
            .filter_map(|(number, has_child)| (!has_child).then_some(number))
            .collect()
    }
}

/// What a text says of the tag `wanted`; a later line wins.
fn of_text(text: &[u8], wanted: &BStr) -> Tags {
    let mut tags = Tags::new();
    for line in lines_with_ends(text) {
        let line = line.trim_end_with(|letter| matches!(letter, '\n' | '\r'));
        let Some((digits, name)) = line.split_once_str(" ") else {
            continue;
        };
        let (Some(node), name) = (Node::from_hex(digits), trim(name)) else {
            continue;
        };
        if name != wanted.as_bytes() {
            continue;
        }
        match tags.get_mut(name.as_bstr()) {
            None => {
                let before = Vec::new();
                tags.insert(name.into(), Tag { node, before });
            }
            Some(tag) => {
                tag.before.push(tag.node);
                tag.node = node;
            }
        }
    }
    tags
}

/// Puts tags of a later head to those of earlier ones.
fn add(all: &mut Tags, tags: Tags) {
    for (name, mut tag) in tags {
        if let Some(known) = all.get(&name) {
            // The known one stays if it came after this one, and not the other way round, or was moved more often.
            let stays = known.node != tag.node
                && known.before.contains(&tag.node)
                && (!tag.before.contains(&known.node) || known.before.len() > tag.before.len());
            if stays {
                tag.node = known.node;
            }
            for node in &known.before {
                if !tag.before.contains(node) {
                    tag.before.push(*node);
                }
            }
        }
        all.insert(name, tag);
    }
}

/// What is done with bytes from a fuzzer: no more was before than there are lines.
#[cfg(feature = "fuzzing")]
pub(super) fn fuzz(text: &[u8], name: &BStr) {
    let mut all = of_text(text, name);
    add(&mut all, of_text(text, name));
    let lines = text.split(|byte| *byte == b'\n').count();
    assert!(all.values().all(|tag| tag.before.len() <= lines));
}
