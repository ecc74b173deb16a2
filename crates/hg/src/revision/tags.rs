//! Tags: those of `.hgtags` in each head, and local ones.

use std::collections::{BTreeMap, HashSet};

use bstr::{BStr, BString, ByteSlice};

use vigil_stamp::file;

use super::{Revisions, Target};
use crate::abort::Abort;
use crate::ancestry;
use crate::bytes::{lines_with_ends, trim};
use crate::node::Node;
use crate::text_file;

/// Mercurial's cache of which `.hgtags` each changeset has.
const CACHE: &str = "hgtagsfnodes1";

/// The node of a tag, and its earlier nodes.
#[derive(Clone, Debug, Default)]
struct Tag {
    node: Node,
    before: Vec<Node>,
}

type Tags = BTreeMap<BString, Tag>;

impl Revisions<'_> {
    /// Returns the node of a tag, which need not be in this repository.
    pub(super) fn tag(&self, name: &BStr) -> Result<Option<Node>, Abort> {
        let all = self.all_tags(Some(name))?;
        let node = all.get(name.as_bytes()).map(|tag| tag.node);
        Ok(node.filter(|node| !node.is_null()))
    }

    /// Returns the changesets with a tag whose name is sought.
    ///
    /// # Errors
    /// As for [`Self::tag`].
    pub(super) fn tagged_with(
        &self,
        is_sought: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<Target>, Abort> {
        let mut all = self.all_tags(None)?;
        all.retain(|name, tag| name != "tip" && is_sought(name) && !tag.node.is_null());
        let known = self.find_all(all.values().map(|tag| tag.node));
        let targets = all.values().filter_map(|tag| known.get(&tag.node));
        Ok(targets.copied().collect())
    }

    /// Returns the nodes of the local tags.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn local_tags(&self) -> Result<Vec<Node>, Abort> {
        let tags = self.read_local_tags(None)?;
        Ok(tags.values().map(|tag| tag.node).collect())
    }

    fn read_local_tags(&self, wanted: Option<&BStr>) -> Result<Tags, Abort> {
        let text = text_file::read_if_there(&self.repository.dot_hg.join("localtags"))?;
        let mut tags = parse_tags(&text.unwrap_or_default(), wanted);
        let nodes = tags.values().map(|tag| tag.node).collect();
        let known = self.changelog.find_all(nodes);
        tags.retain(|_, tag| known.contains_key(&tag.node));
        Ok(tags)
    }

    /// Returns all tags, or only the one named `wanted`.
    fn all_tags(&self, wanted: Option<&BStr>) -> Result<Tags, Abort> {
        let mut all = Tags::new();
        let store = self.repository.store();
        let mut seen = Vec::new();
        for version in self.versions_of_tags_in_heads()? {
            if version.is_null() || seen.contains(&version) {
                continue;
            }
            seen.push(version);
            let text = store.contents(".hgtags".into(), &version)?;
            add(&mut all, parse_tags(&text, wanted));
        }
        add(&mut all, self.read_local_tags(wanted)?);
        Ok(all)
    }

    /// Returns the node of `.hgtags` in each head, oldest first. It is null if there is none.
    fn versions_of_tags_in_heads(&self) -> Result<Vec<Node>, Abort> {
        let store = self.repository.store();
        let versions = store.file(".hgtags".into())?;
        if versions.is_empty() {
            return Ok(Vec::new());
        }
        let cache = file::read_or_map(&self.repository.shared.join("cache").join(CACHE));
        let cache = cache.as_deref().unwrap_or_default();
        let heads = self.heads().into_iter();
        let version = |head: u32| {
            let node = self.changelog.node(head).unwrap_or_default();
            let known = cached_version(cache, head, &node);
            let is_there = |version: &Node| version.is_null() || versions.find(version).is_some();
            if let Some(version) = known.filter(is_there) {
                return Ok(version);
            }
            let manifest = store.manifest_of(&node)?;
            let entry = manifest.get(".hgtags".into());
            Ok(entry.map(|entry| entry.node).unwrap_or_default())
        };
        heads.map(version).collect()
    }

    /// Returns the visible changesets without visible children, oldest first.
    pub(super) fn heads(&self) -> Vec<u32> {
        let mut all = self.visible();
        let parents = all
            .iter()
            .flat_map(|number| ancestry::parents(&self.changelog, *number));
        let parents: HashSet<u32> = parents.flatten().collect();
        all.retain(|number| !parents.contains(number));
        all
    }
}

/// Returns the node of `.hgtags` in the changeset `number`, whose node is `node`, according to Mercurial's `cache`: for each
/// changeset the beginning of its node, and the node of `.hgtags`, which is null if there is none.
fn cached_version(cache: &[u8], number: u32, node: &Node) -> Option<Node> {
    const BEGINNING_LEN: usize = 4;
    const RECORD_LEN: usize = BEGINNING_LEN + Node::LEN;
    let start = usize::try_from(number).ok()?.checked_mul(RECORD_LEN)?;
    let (beginning, version) = cache.get(start..)?.split_at_checked(BEGINNING_LEN)?;
    match node.0.starts_with(beginning) {
        true => Node::from_start_of(version),
        false => None,
    }
}

/// Parses the tag `wanted`, or all tags; a later line wins.
fn parse_tags(text: &[u8], wanted: Option<&BStr>) -> Tags {
    let mut tags = Tags::new();
    for line in lines_with_ends(text) {
        let line = line.trim_end_with(|letter| matches!(letter, '\n' | '\r'));
        let Some((digits, name)) = line.split_once_str(" ") else {
            continue;
        };
        let (Some(node), name) = (Node::from_hex(digits), trim(name)) else {
            continue;
        };
        if wanted.is_some_and(|wanted| wanted != name) {
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

/// Merges the tags of a later head into those of earlier ones.
fn add(all: &mut Tags, tags: Tags) {
    for (name, mut tag) in tags {
        if let Some(known) = all.get(&name) {
            // The known node stays if it replaced the new one, and either the new one did not replace it in turn,
            // or it was moved more often.
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

/// The entry point of the fuzzer, which also checks that no tag has more earlier nodes than there are lines.
#[cfg(feature = "fuzzing")]
pub(super) fn fuzz(text: &[u8], name: &BStr) {
    let mut all = parse_tags(text, Some(name));
    add(&mut all, parse_tags(text, None));
    let lines = text.split(|byte| *byte == b'\n').count();
    assert!(all.values().all(|tag| tag.before.len() <= lines));
}
