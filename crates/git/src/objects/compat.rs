//! The ids and contents that objects would have under the other hash function (`extensions.compatObjectFormat`).
//!
//! The ids are in `objects/loose-object-idx`: on each line the object's own id and its other id, in hexadecimal. Contents
//! that name other objects are converted as git's hash-function-transition document says.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind as HashKind, ObjectId};
use gix_object::Kind;

use crate::repository::Repository;
use vigil_objects::tree;
use vigil_stamp::Observation;

/// The first line of the file.
const HEADER: &[u8] = b"# loose-object-idx\n";

/// The least number of digits of an abbreviated id.
pub const DIGITS_MIN: usize = 4;

/// The ids that objects have under the other hash function.
#[derive(Debug)]
pub struct Compat {
    own_kind: HashKind,
    kind: HashKind,
    /// The files that are read, one for each folder of objects.
    files: Vec<PathBuf>,
    known: RefCell<KnownPairs>,
}

/// The pairs of ids that were read.
#[derive(Debug, Default)]
struct KnownPairs {
    by_other_id: BTreeMap<ObjectId, ObjectId>,
    by_own_id: HashMap<ObjectId, ObjectId>,
    /// An observation of each file from before it was read; `None` for one that could not be looked at.
    seen: Vec<Option<Observation>>,
}

impl Compat {
    /// Reads the other ids of the objects in `folders`, which are those of `repository` and of its alternates. `None` if it uses
    /// only one hash function.
    pub fn read<'f>(
        repository: &Repository,
        folders: impl Iterator<Item = &'f Path>,
    ) -> Option<Self> {
        let compat = Self {
            own_kind: repository.hash,
            kind: repository.compat_hash?,
            files: folders
                .map(|folder| folder.join("loose-object-idx"))
                .collect(),
            known: RefCell::default(),
        };
        compat.read_files();
        Some(compat)
    }

    /// Parses the file of a repository with ids of the kind `own_kind` and other ids of `kind`.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn parse(contents: &[u8], own_kind: HashKind, kind: HashKind) -> Self {
        let mut known = KnownPairs::new(own_kind, kind);
        known.take_lines(contents, own_kind, kind);
        Self {
            own_kind,
            kind,
            files: Vec::new(),
            known: known.into(),
        }
    }

    fn read_files(&self) {
        let mut known = KnownPairs::new(self.own_kind, self.kind);
        for file in &self.files {
            known.seen.push(Observation::of(file).ok());
            // A file that cannot be read counts as empty.
            let contents = vigil_stamp::file::read(file).unwrap_or_default();
            known.take_lines(&contents, self.own_kind, self.kind);
        }
        self.known.replace(known);
    }

    /// Returns what `find` finds among the pairs. If that is nothing, and a file has changed, it is read again: another process
    /// may have added objects.
    fn find<T>(&self, find: impl Fn(&KnownPairs) -> Option<T>) -> Option<T> {
        let found = find(&self.known.borrow());
        let is_same = |(file, seen): (&PathBuf, &Option<Observation>)| {
            seen.is_some_and(|seen| seen.is_current(file).unwrap_or(false))
        };
        let is_current = || {
            self.files
                .iter()
                .zip(&self.known.borrow().seen)
                .all(is_same)
        };
        if found.is_some() || is_current() {
            return found;
        }
        self.read_files();
        find(&self.known.borrow())
    }

    /// If `name` begins with an id of the other kind, replaces it by the object's own id.
    pub fn with_native_id(&self, name: &BStr) -> Option<BString> {
        let (id, rest) = name.split_at_checked(self.kind.len_in_hex())?;
        if rest.first().is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        let id = ObjectId::from_hex(id).ok()?;
        let own = self.find(|known| known.by_other_id.get(&id).copied())?;
        Some([own.to_string().as_bytes(), rest].concat().into())
    }

    /// Returns the own id of the only object whose other id is abbreviated as `name`.
    pub fn abbreviated_native_id(&self, name: &BStr) -> Option<ObjectId> {
        let len = self.kind.len_in_hex();
        let is_one =
            name.iter().all(u8::is_ascii_hexdigit) && (DIGITS_MIN..len).contains(&name.len());
        if !is_one {
            return None;
        }
        let digits = name.to_ascii_lowercase();
        let first = [
            &digits,
            vec![b'0'; len.saturating_sub(digits.len())].as_slice(),
        ]
        .concat();
        let first = ObjectId::from_hex(&first).ok()?;
        self.find(|known| known.only_one(first, &digits))
    }

    /// Returns an object's other id, given its own.
    pub fn compat_id(&self, own: &ObjectId) -> Option<ObjectId> {
        self.find(|known| known.by_own_id.get(own).copied())
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
            tree.extend_from_slice(self.compat_id(&entry.id)?.as_bytes());
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

impl KnownPairs {
    fn new(own_kind: HashKind, kind: HashKind) -> Self {
        let mut known = Self::default();
        // git knows these without a line.
        for id in [ObjectId::empty_tree, ObjectId::empty_blob, ObjectId::null] {
            known.note(id(own_kind), id(kind));
        }
        known
    }

    /// Notes the pairs in the contents of a file. As for git, it is no such file without the first line, and nothing counts
    /// after a line that is wrong.
    fn take_lines(&mut self, contents: &[u8], own_kind: HashKind, kind: HashKind) {
        let Some(rest) = contents.strip_prefix(HEADER) else {
            return;
        };
        let rest = rest.strip_suffix(b"\n").unwrap_or(rest);
        for line in rest.split(|byte| *byte == b'\n') {
            let ids = line.split_once_str(" ").and_then(|(own, other)| {
                let own = ObjectId::from_hex(own).ok()?;
                let other = ObjectId::from_hex(other).ok()?;
                (own.kind() == own_kind && other.kind() == kind).then_some((own, other))
            });
            let Some((own, other)) = ids else {
                return;
            };
            self.note(own, other);
        }
    }

    /// Notes a pair. What was known before stays.
    fn note(&mut self, own: ObjectId, other: ObjectId) {
        self.by_other_id.entry(other).or_insert(own);
        self.by_own_id.entry(own).or_insert(other);
    }

    /// Returns the own id of the only object whose other id begins with `digits`; `first` is the first such id.
    fn only_one(&self, first: ObjectId, digits: &[u8]) -> Option<ObjectId> {
        let has_digits = |id: &ObjectId| id.to_string().as_bytes().starts_with(digits);
        let mut found = self.by_other_id.range(first..);
        let mut found = found.by_ref().take_while(|(other, _)| has_digits(other));
        let (_, own) = found.next()?;
        found.next().is_none().then_some(*own)
    }
}
