//! The ids and contents that objects would have under the other hash function (`extensions.compatObjectFormat`).
//!
//! The ids are in `objects/loose-object-idx`: on each line the object's own id and its other id, in hexadecimal. Contents
//! that name other objects are converted as git's hash-function-transition document says.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind as HashKind, ObjectId};
use gix_object::Kind;

use crate::repository::Repository;
use vigil_objects::tree;

/// The ids that objects have under the other hash function.
#[derive(Debug)]
pub struct Compat {
    own_kind: HashKind,
    kind: HashKind,
    by_other_id: HashMap<ObjectId, ObjectId>,
    by_own_id: HashMap<ObjectId, ObjectId>,
}

impl Compat {
    /// Reads the other ids of the objects of `repository`. `None` if it uses only one hash function.
    pub fn read(repository: &Repository) -> Option<Self> {
        let kind = repository.compat_hash?;
        let path = repository.object_dir.join("loose-object-idx");
        // A file that cannot be read counts as empty.
        let contents = vigil_stamp::file::read(&path).unwrap_or_default();
        Some(Self::parse(&contents, repository.hash, kind))
    }

    /// Parses the file of a repository with ids of the kind `own_kind` and other ids of `kind`.
    pub(crate) fn parse(contents: &[u8], own_kind: HashKind, kind: HashKind) -> Self {
        let mut compat = Self {
            own_kind,
            kind,
            by_other_id: HashMap::new(),
            by_own_id: HashMap::new(),
        };
        // git knows these without a line.
        for id in [ObjectId::empty_tree, ObjectId::empty_blob, ObjectId::null] {
            compat.note(id(own_kind), id(kind));
        }
        for line in contents.lines() {
            let ids = line.split_once_str(" ").and_then(|(own, other)| {
                let own = ObjectId::from_hex(own).ok()?;
                let other = ObjectId::from_hex(other).ok()?;
                (own.kind() == own_kind && other.kind() == kind).then_some((own, other))
            });
            if let Some((own, other)) = ids {
                compat.note(own, other);
            }
        }
        compat
    }

    fn note(&mut self, own: ObjectId, other: ObjectId) {
        self.by_other_id.insert(other, own);
        self.by_own_id.insert(own, other);
    }

    /// If `name` begins with an id of the other kind, replaces it by the object's own id.
    pub fn with_native_id(&self, name: &BStr) -> Option<BString> {
        let (id, rest) = name.split_at_checked(self.kind.len_in_hex())?;
        if rest.first().is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        let own = self.by_other_id.get(&ObjectId::from_hex(id).ok()?)?;
        Some([own.to_string().as_bytes(), rest].concat().into())
    }

    /// Returns an object's other id, given its own.
    pub fn compat_id(&self, own: &ObjectId) -> Option<ObjectId> {
        self.by_own_id.get(own).copied()
    }

    /// Converts contents to the other hash function. `None` if they are invalid, or name an object without another id.
    pub fn convert(&self, kind: Kind, contents: Vec<u8>) -> Option<Vec<u8>> {
        match kind {
            Kind::Blob => Some(contents),
            Kind::Tree => self.tree(&contents),
            Kind::Commit => self.commit(&contents),
            Kind::Tag => self.tag(&contents),
        }
    }

    fn tree(&self, contents: &[u8]) -> Option<Vec<u8>> {
        let mut tree = Vec::with_capacity(contents.len() * 2);
        for entry in tree::entries(contents, self.own_kind) {
            let entry = entry.ok()?;
            tree.extend_from_slice(format!("{:o} ", entry.mode.0).as_bytes());
            tree.extend_from_slice(entry.key.name);
            tree.push(0);
            tree.extend_from_slice(self.by_own_id.get(&entry.id)?.as_bytes());
        }
        Some(tree)
    }

    /// Converts a line such as `tree <id>`, with its line feed, if `line` has this `field`. The inner value is `None`
    /// without another id.
    fn field(&self, line: &[u8], field: &str) -> Option<Option<Vec<u8>>> {
        let id = line.strip_prefix(field.as_bytes())?.strip_prefix(b" ")?;
        let id = id.strip_suffix(b"\n").unwrap_or(id);
        let other = ObjectId::from_hex(id).ok();
        let other = other.and_then(|id| self.compat_id(&id));
        Some(other.map(|other| format!("{field} {other}\n").into_bytes()))
    }

    fn commit(&self, contents: &[u8]) -> Option<Vec<u8>> {
        const KEPT: [&[u8]; 4] = [b"author ", b"committer ", b"encoding ", b"gpgsig"];
        let end = contents.find(b"\n\n").map_or(contents.len(), |at| at + 1);
        let (header, message) = contents.split_at_checked(end)?;
        let mut commit = Vec::with_capacity(contents.len() * 2);
        let mut lines = header.lines_with_terminator().peekable();
        while let Some(line) = lines.next() {
            let ids = self
                .field(line, "tree")
                .or_else(|| self.field(line, "parent"));
            if let Some(line) = ids {
                commit.extend(line?);
                continue;
            }
            let mut value = line.to_vec();
            if let Some(first) = line.strip_prefix(b"mergetag ") {
                let mut tag = first.to_vec();
                while let Some(line) = lines.next_if(|line| line.starts_with(b" ")) {
                    tag.extend_from_slice(line.get(1..)?);
                }
                value = b"mergetag".to_vec();
                for line in self.tag(&tag)?.lines_with_terminator() {
                    value.push(b' ');
                    value.extend_from_slice(line);
                }
            } else if !KEPT.iter().any(|kept| line.starts_with(kept)) {
                // An unknown header may hold an id.
                return None;
            }
            commit.extend(value);
            while let Some(line) = lines.next_if(|line| line.starts_with(b" ")) {
                commit.extend_from_slice(line);
            }
        }
        commit.extend_from_slice(message);
        Some(commit)
    }

    fn tag(&self, contents: &[u8]) -> Option<Vec<u8>> {
        let first = contents.lines_with_terminator().next()?;
        let mut tag = self.field(first, "object")??;
        tag.extend_from_slice(contents.get(first.len()..)?);
        Some(tag)
    }
}
