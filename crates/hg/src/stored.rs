//! Committed data: changesets, the files of each, and their contents.

mod changes;
mod lfs;
mod manifest;
mod names;
mod trees;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

pub use changes::{Action, ChangedFile, CopySource};
pub use manifest::{Flag, Manifest, ManifestEntry};
pub use names::Names;

use crate::abort::{Abort, Kind};
use crate::bytes::bytes;
use crate::node::Node;
use crate::revlog::{NO_REVISION, Revision, Revlog};
use vigil_stamp::paths::path_of;

/// Where the files of a store are, and how they are kept.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    names: Names,
    features: StoreFeatures,
}

/// Variations in how a store keeps its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFeatures {
    /// Directories may have manifests of their own.
    pub trees: bool,
    /// Copies are recorded by the changeset, in its sidedata.
    pub copies_by_changeset: bool,
    /// Revisions may be ellipses, which stand for those between them and their parents, as in a narrow clone.
    pub ellipses: bool,
    /// Contents of files may be kept elsewhere, with a pointer in their place.
    pub lfs: bool,
}

/// The contents of a changeset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changeset {
    /// The node of its manifest.
    pub manifest: Node,
    /// The branch that it is on.
    pub branch: BString,
    /// Whether it closes the branch.
    pub is_closing: bool,
    /// Its topic, which counts until it is public.
    pub topic: Option<BString>,
}

impl Changeset {
    /// Parses the text of a changeset; `None` if it names no manifest.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut lines = text.split(|byte| *byte == b'\n');
        let manifest = lines.next().and_then(Node::from_hex)?;
        let _user = lines.next();
        let mut date = lines
            .next()
            .unwrap_or_default()
            .splitn(3, |byte| *byte == b' ');
        let extra = date.nth(2).unwrap_or_default();
        let item = |name: &str| {
            let mut items = extra.split(|byte| *byte == 0);
            items.find_map(|item| item.strip_prefix(name.as_bytes()))
        };
        let branch = item("branch:").map(unescaped);
        Some(Self {
            manifest,
            branch: branch.unwrap_or("default".into()),
            is_closing: item("close:").is_some_and(|value| !value.is_empty()),
            topic: item("topic:")
                .map(unescaped)
                .filter(|topic| !topic.is_empty()),
        })
    }
}

impl Store {
    /// Makes the store in `folder`, whose files are named by `names`.
    pub fn new(folder: PathBuf, names: Names, features: StoreFeatures) -> Self {
        Self {
            folder,
            names,
            features,
        }
    }

    /// Returns whether changesets record copies.
    pub fn copies_by_changeset(&self) -> bool {
        self.features.copies_by_changeset
    }

    /// The folder of the store's files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens the changelog.
    ///
    /// # Errors
    /// The changelog cannot be read, or is damaged.
    pub fn changelog(&self) -> Result<Revlog, Abort> {
        self.revlog(b"00changelog", "00changelog")
    }

    /// The path of the changelog's index. Adding or removing a changeset writes there.
    pub fn changelog_index(&self) -> PathBuf {
        self.folder.join("00changelog.i")
    }

    /// Opens the revlog of manifests.
    ///
    /// # Errors
    /// The revlog cannot be read, or is damaged.
    pub fn manifests(&self) -> Result<Revlog, Abort> {
        self.manifests_of("".into())
    }

    /// Opens the revlog of the file `path`.
    ///
    /// # Errors
    /// The revlog cannot be read, or is damaged.
    pub fn file(&self, path: &BStr) -> Result<Revlog, Abort> {
        self.revlog(&bytes!("data/", path), path)
    }

    /// The path of the index of the file `path`, which exists if the file has any version. Rewriting what is stored of the file
    /// writes there.
    pub fn file_index(&self, path: &BStr) -> PathBuf {
        self.revlog_path(&bytes!("data/", path), ".i")
    }

    /// Opens the revlog of the manifests of `directory`, which is empty for the top, or ends with a slash.
    fn manifests_of(&self, directory: &BStr) -> Result<Revlog, Abort> {
        let radix = match directory.is_empty() {
            true => "00manifest".into(),
            false => bytes!("meta/", directory, "00manifest"),
        };
        self.revlog(&radix, radix.clone())
    }

    fn revlog(&self, radix: &[u8], name: impl Into<BString>) -> Result<Revlog, Abort> {
        let revlog = Revlog::open(|end| self.revlog_path(radix, end), name)?;
        Ok(revlog
            .with_ellipses(self.features.ellipses)
            .with_pointers(self.features.lfs))
    }

    fn revlog_path(&self, radix: &[u8], end: &str) -> PathBuf {
        let name = self.names.encoded(&bytes!(radix, end));
        self.folder.join(path_of(&name))
    }

    /// Reads the changeset `number` of `changelog`.
    ///
    /// # Errors
    /// The changeset is damaged.
    pub fn changeset(changelog: &mut Revlog, number: u32) -> Result<Changeset, Abort> {
        let text = changelog.text(number)?;
        Changeset::parse(&text)
            .ok_or_else(|| Abort::of(Kind::Storage, format!("changeset {number} has no manifest")))
    }

    /// Reads the manifest of the changeset `node`; it is empty for the null revision.
    ///
    /// # Errors
    /// The manifest is missing, or damaged.
    pub fn manifest_of(&self, node: &Node) -> Result<Manifest, Abort> {
        if node.is_null() {
            return Ok(Manifest::default());
        }
        let mut changelog = self.changelog()?;
        let number = changelog.find(node).ok_or_else(|| {
            let message = bytes!("unknown changeset '", node.hex(), "'");
            Abort::of(Kind::Storage, message)
        })?;
        self.manifest_at(&mut changelog, number)
    }

    /// Returns whether the changelog can be read and has no changeset `node`.
    pub fn lacks(&self, node: &Node) -> bool {
        let changelog = self.changelog();
        !node.is_null() && changelog.is_ok_and(|changelog| changelog.find(node).is_none())
    }

    /// Reads the manifest of the changeset `number` of `changelog`.
    ///
    /// # Errors
    /// The manifest is missing, or damaged.
    fn manifest_at(&self, changelog: &mut Revlog, number: u32) -> Result<Manifest, Abort> {
        let manifests = self.manifests_at(changelog, &[number])?;
        Ok(manifests.into_iter().next().unwrap_or_default())
    }

    /// Reads the manifests of the changesets `numbers` of `changelog`. For those next to each other, that is faster than one by
    /// one.
    ///
    /// # Errors
    /// A manifest is missing, or damaged.
    pub(crate) fn manifests_at(
        &self,
        changelog: &mut Revlog,
        numbers: &[u32],
    ) -> Result<Vec<Manifest>, Abort> {
        let nodes = numbers.iter().map(|number| {
            let changeset = Self::changeset(changelog, *number)?;
            Ok((*number, changeset.manifest))
        });
        let nodes = nodes.collect::<Result<Vec<(u32, Node)>, Abort>>()?;
        if nodes.iter().all(|(_, node)| node.is_null()) {
            return Ok(vec![Manifest::default(); nodes.len()]);
        }
        let mut manifests = self.manifests()?;
        let stored = nodes.iter().filter(|(_, node)| !node.is_null());
        let found = stored.map(|(number, node)| {
            // Most changesets have a manifest of their own, with the same number or a slightly lower one.
            let likely = manifests.revision(*number);
            let found = match likely {
                Some(revision) if revision.node == *node => Some(*number),
                _ => manifests.find(node),
            };
            found.ok_or_else(|| no_manifest("00manifest".into(), node))
        });
        let found = found.collect::<Result<Vec<u32>, Abort>>()?;
        let mut texts = found.iter().zip(manifests.texts(&found)?);
        let manifest = |(_, node): &(u32, Node)| match node.is_null() {
            true => Ok(Manifest::default()),
            false => match texts.next() {
                Some((number, text)) => self.parsed_manifest(*number, text, *node),
                None => Err(no_manifest("00manifest".into(), node)),
            },
        };
        nodes.iter().map(manifest).collect()
    }

    /// Parses the text of the manifest `number`, whose node is `node`.
    fn parsed_manifest(&self, number: u32, text: Vec<u8>, node: Node) -> Result<Manifest, Abort> {
        let (text, directories) = match self.features.trees {
            true => self.with_directories(text, node)?,
            false => (text, BTreeMap::new()),
        };
        Manifest::parse(text)
            .map(|manifest| manifest.of_directories(directories))
            .ok_or_else(|| Abort::of(Kind::Storage, format!("manifest {number} is damaged")))
    }

    /// Returns what the changeset `number` of `changelog` did to files, in the order of their paths, from its sidedata. The
    /// list is empty if a flag says that the changeset has nothing that matters: it copied, removed and merged nothing.
    ///
    /// # Errors
    /// The changeset is damaged.
    pub fn changed_files(changelog: &mut Revlog, number: u32) -> Result<Vec<ChangedFile>, Abort> {
        let flags = changelog.revision(number).map(|revision| revision.flags);
        if flags.unwrap_or_default() & changes::TOUCHES_COPIES == 0 {
            return Ok(Vec::new());
        }
        let sidedata = changelog.sidedata(number, changes::SIDEDATA_KEY)?;
        changes::parse(&sidedata.unwrap_or_default()).ok_or_else(|| {
            let text = format!("the files of changeset {number} are damaged");
            Abort::of(Kind::Storage, text)
        })
    }

    /// Opens the revlog of the file `path`, and finds the number of the version `node`.
    fn version(&self, path: &BStr, node: &Node) -> Result<(Revlog, u32), Abort> {
        let versions = self.file(path)?;
        let number = versions.find(node);
        Ok((versions, number.ok_or_else(|| no_version(path, node))?))
    }

    /// Returns whether the version `node` of the file `path` has these contents.
    ///
    /// # Errors
    /// The version is missing, or damaged.
    pub fn has_contents(&self, path: &BStr, node: &Node, contents: &[u8]) -> Result<bool, Abort> {
        let (mut versions, number) = self.version(path, node)?;
        let revision = versions
            .revision(number)
            .ok_or_else(|| no_version(path, node))?;
        if let Some(pointer) = lfs::pointer(&mut versions, number)? {
            let len = u64::try_from(contents.len());
            let is_same_len = len.is_ok_and(|len| len == pointer.len);
            return Ok(is_same_len && versions.is_hash_of(&revision, &pointer.text(contents)));
        }
        // With copy metadata or an escape, the hash covers more than the contents.
        let is_escaped = contents.starts_with(METADATA_MARK);
        if !is_escaped {
            match versions.has_hash_of(&revision, contents) {
                Some(true) => return Ok(true),
                Some(false) if !versions.may_have_metadata(&revision) => return Ok(false),
                _ => {}
            }
        }
        let text = versions.text(number)?;
        Ok(without_metadata(&text) == contents)
    }

    /// Returns whether `len` bytes are more than the version `node` of the file `path` has together with its metadata: then
    /// contents of this length need not be read. False if the version is missing.
    pub fn is_shorter_than(&self, path: &BStr, node: &Node, len: u64) -> bool {
        let Ok((mut versions, number)) = self.version(path, node) else {
            return false;
        };
        match lfs::pointer(&mut versions, number) {
            Ok(Some(pointer)) => pointer.len < len,
            Ok(None) => {
                let revision = versions.revision(number);
                revision.is_some_and(|revision| u64::from(revision.text_len) < len)
            }
            Err(_) => false,
        }
    }

    /// Returns the length in bytes of the contents of the version `node` of the file `path`.
    ///
    /// # Errors
    /// The version is missing, or damaged.
    pub fn contents_len(&self, path: &BStr, node: &Node) -> Result<u64, Abort> {
        let (mut versions, number) = self.version(path, node)?;
        match lfs::pointer(&mut versions, number)? {
            Some(pointer) => Ok(pointer.len),
            None => {
                let text = versions.text(number)?;
                Ok(without_metadata(&text).len() as u64)
            }
        }
    }

    /// Returns whether Mercurial knows without reading a file of `len` bytes that it is not as the version `node` of the file
    /// `path`. False if the version cannot be read.
    pub fn has_other_len(&self, path: &BStr, node: &Node, len: u64) -> bool {
        // Contents may have been stored with an escape of four bytes, which Mercurial allows for.
        let may_be = |stored: u64| stored == len || stored == len.saturating_add(4);
        let stored = self.contents_len(path, node);
        stored.is_ok_and(|stored| !may_be(stored))
    }

    /// Returns the contents of the version `node` of the file `path`.
    ///
    /// # Errors
    /// The version is missing, or damaged.
    pub fn contents(&self, path: &BStr, node: &Node) -> Result<Vec<u8>, Abort> {
        let (mut versions, number) = self.version(path, node)?;
        if let Some(pointer) = lfs::pointer(&mut versions, number)? {
            let revision = versions.revision(number);
            let contents = pointer.contents(&self.folder)?;
            let text = pointer.text(&contents);
            return match revision.is_some_and(|revision| versions.is_hash_of(&revision, &text)) {
                true => Ok(contents),
                false => Err(lfs::damaged(path)),
            };
        }
        let text = versions.text(number)?;
        Ok(without_metadata(&text).to_vec())
    }

    /// Returns the version of another file that the version `number` in `versions` is a copy of, according to its own metadata.
    ///
    /// # Errors
    /// The version is damaged.
    pub(crate) fn copied_from(
        versions: &mut Revlog,
        number: u32,
    ) -> Result<Option<(BString, Node)>, Abort> {
        if let Some(pointer) = lfs::pointer(versions, number)? {
            return Ok(pointer.copy_source());
        }
        // A version with a first parent is not a copy.
        let may_be_copy = |revision: &Revision| {
            revision.p1 == NO_REVISION && versions.may_have_metadata(revision)
        };
        if !versions.revision(number).as_ref().is_some_and(may_be_copy) {
            return Ok(None);
        }
        let text = versions.text(number)?;
        Ok(copy_source(&text))
    }
}

/// Returns the source of the copy that a version's metadata records.
fn copy_source(text: &[u8]) -> Option<(BString, Node)> {
    let rest = text.strip_prefix(METADATA_MARK)?;
    let (metadata, _) = rest.split_at(rest.find(METADATA_MARK)?);
    let lines = metadata.split(|byte| *byte == b'\n');
    let value = |name: &str| {
        let mut lines = lines.clone();
        lines.find_map(|line| line.strip_prefix(name.as_bytes()))
    };
    let node = value("copyrev: ").and_then(Node::from_hex)?;
    Some((value("copy: ")?.into(), node))
}

/// Checks, for a fuzzer's bytes, that metadata is not part of the contents.
#[cfg(feature = "fuzzing")]
pub fn fuzz(text: &[u8]) {
    let contents = without_metadata(text);
    assert!(text.ends_with(contents));
    if let Some((path, _)) = copy_source(text) {
        assert!(path.len() + contents.len() + Node::LEN < text.len());
    }
    let _ = Changeset::parse(text);
    lfs::fuzz(text);
    for file in changes::parse(text).unwrap_or_default() {
        assert!(file.path.len() <= text.len());
    }
}

/// Stands before and after the metadata at the beginning of a text, which records a copy.
const METADATA_MARK: &[u8] = b"\x01\n";

fn without_metadata(text: &[u8]) -> &[u8] {
    let Some(rest) = text.strip_prefix(METADATA_MARK) else {
        return text;
    };
    match rest.find(METADATA_MARK) {
        Some(end) => rest
            .get(end.saturating_add(METADATA_MARK.len())..)
            .unwrap_or_default(),
        None => text,
    }
}

/// The error for a version that is missing.
pub(crate) fn no_version(path: &BStr, node: &Node) -> Abort {
    Abort::of(
        Kind::Storage,
        bytes!(path, "@", node.hex(), ": no match found"),
    )
}

fn no_manifest(name: &BStr, node: &Node) -> Abort {
    Abort::of(Kind::Storage, bytes!(name, "@", node.hex(), ": no node"))
}

/// Unescapes an item of a changeset, in which four bytes are escaped by a backslash.
fn unescaped(text: &[u8]) -> BString {
    let mut plain = BString::default();
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => plain.push(match rest.next() {
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(other) => *other,
                None => b'\\',
            }),
            other => plain.push(*other),
        }
    }
    plain
}
