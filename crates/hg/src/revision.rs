//! What names of changesets mean, as far as no set of revisions has to be computed.

use bstr::{BStr, ByteSlice};

use crate::abort::{Abort, Kind};
use crate::bytes::{bytes, trim};
use crate::node::Node;
use crate::repository::Repository;
use crate::revlog::Revlog;
use vigil_stamp::file;

/// A changeset, or the working copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A changeset; the null one is that of nothing.
    Changeset(Node),
    /// The working copy.
    WorkingCopy,
}

/// What `name` means in `repository`, whose working copy has the first parent `parent`.
///
/// # Errors
/// There is nothing of that name, or it is one that is not understood here.
pub fn resolve(repository: &Repository, parent: Node, name: &BStr) -> Result<Target, Abort> {
    let changelog = repository.store().changelog()?;
    let node = match name.as_bytes() {
        b"." | b"" => parent,
        b"null" => Node::NULL,
        b"tip" => last(&changelog),
        b"wdir()" => return Ok(Target::WorkingCopy),
        _ => return by_name(repository, &changelog, name),
    };
    Ok(Target::Changeset(node))
}

fn last(changelog: &Revlog) -> Node {
    let last = changelog.len().checked_sub(1);
    let number = last.and_then(|last| u32::try_from(last).ok());
    let revision = number.and_then(|number| changelog.revision(number));
    revision.map_or(Node::NULL, |revision| revision.node)
}

fn by_name(repository: &Repository, changelog: &Revlog, name: &BStr) -> Result<Target, Abort> {
    let is_word = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'/' | b'-') || *byte >= 0x80
    };
    if !name.iter().all(is_word) || name.find("..").is_some() {
        return Err(Abort::unsupported(bytes!(
            "the set of revisions '",
            name,
            "'"
        )));
    }
    let hidden = repository.shared.join("store/obsstore");
    if file::read(&hidden).is_ok_and(|text| !text.is_empty()) {
        return Err(Abort::unsupported(
            "names of changesets where some are obsolete",
        ));
    }
    if let Some(number) = number(name, changelog.len()) {
        let revision = changelog.revision(number);
        let node = revision.map(|revision| revision.node);
        return Ok(Target::Changeset(node.unwrap_or_default()));
    }
    if let Some(node) = Node::from_hex(name) {
        if node == Node::WORKING_COPY {
            return Ok(Target::WorkingCopy);
        }
        if node.is_null() || changelog.find(&node).is_some() {
            return Ok(Target::Changeset(node));
        }
    }
    if let Some(node) = bookmark(repository, name)? {
        return Ok(Target::Changeset(node));
    }
    // Tags and branches come before the beginnings of nodes.
    if has_tags(repository) {
        return Err(Abort::unsupported(bytes!(
            "the name '",
            name,
            "' where there are tags"
        )));
    }
    if branch_may_be(repository, changelog, name)? {
        return Err(Abort::unsupported(bytes!(
            "the branch '",
            name,
            "' as a revision"
        )));
    }
    let digits = name.to_ascii_lowercase();
    if digits.iter().all(|digit| digit.is_ascii_hexdigit()) {
        let found = changelog.find_prefix(&digits, 2);
        let null = b"0".repeat(digits.len()) == digits;
        match (found.as_slice(), null) {
            ([only], false) => {
                let node = changelog.revision(*only).map(|revision| revision.node);
                return Ok(Target::Changeset(node.unwrap_or_default()));
            }
            ([], true) => return Ok(Target::Changeset(Node::NULL)),
            ([], false) => {}
            _ => {
                let said = bytes!("00changelog@", name, ": ambiguous identifier");
                return Err(Abort::of(Kind::Storage, said));
            }
        }
    }
    Err(Abort::of(
        Kind::Input,
        bytes!("unknown revision '", name, "'"),
    ))
}

/// A number, counted from the end where it is negative.
fn number(name: &BStr, len: usize) -> Option<u32> {
    let text = name.to_str().ok()?;
    let number: i64 = text.parse().ok()?;
    if number.to_string() != text {
        return None;
    }
    let len = i64::try_from(len).ok()?;
    let number = if number < 0 {
        number.checked_add(len)?
    } else {
        number
    };
    (0..len)
        .contains(&number)
        .then(|| u32::try_from(number).ok())?
}

fn bookmark(repository: &Repository, name: &BStr) -> Result<Option<Node>, Abort> {
    let path = match repository.requirements.has("bookmarksinstore") {
        true => repository.shared.join("store/bookmarks"),
        false => repository.shared.join("bookmarks"),
    };
    let Ok(text) = file::read(&path) else {
        return Ok(None);
    };
    let mut lines = text.split(|byte| *byte == b'\n');
    Ok(lines.find_map(|line| {
        let (digits, rest) = trim(line).split_at_checked(40)?;
        (rest.strip_prefix(b" ")? == name.as_bytes()).then(|| Node::from_hex(digits))?
    }))
}

fn has_tags(repository: &Repository) -> bool {
    let is_there = |path: &std::path::Path| file::read(path).is_ok_and(|text| !text.is_empty());
    let caches = [
        repository.shared.join("cache/tags2-visible"),
        repository.shared.join("cache/tags2"),
    ];
    // The first line of the cache names the heads, and each later one a tag.
    let is_cached = |path: &std::path::PathBuf| {
        file::read(path).is_ok_and(|text| {
            text.split(|byte| *byte == b'\n')
                .nth(1)
                .is_some_and(|line| !line.is_empty())
        })
    };
    is_there(&repository.root.join(".hgtags"))
        || is_there(&repository.dot_hg.join("localtags"))
        || caches.iter().any(is_cached)
}

/// Whether the name may be that of a branch.
fn branch_may_be(repository: &Repository, changelog: &Revlog, name: &BStr) -> Result<bool, Abort> {
    let names = repository.shared.join("cache/rbc-names-v1");
    if let Ok(text) = file::read(&names) {
        return Ok(text
            .split(|byte| *byte == 0)
            .any(|known| known == name.as_bytes()));
    }
    if name == "default" {
        return Ok(!changelog.is_empty());
    }
    // Without a list nothing is known of old ones.
    Ok(!name.iter().all(u8::is_ascii_hexdigit))
}
