//! The requirements: the features that a reader of the repository must understand.

use std::collections::BTreeSet;
use std::path::Path;

use bstr::{BStr, BString};

use super::is_missing;
use crate::abort::Abort;
use crate::bytes::{bytes, join, lines_with_ends};
use crate::text_file;

/// The requirements that this program understands.
const KNOWN: [&str; 31] = [
    "bookmarksinstore",
    "delta-info-revlog",
    "dirstate-tracked-key-v1",
    "dirstate-v2",
    "dotencode",
    "exp-archived-phase",
    "exp-changelog-v2",
    "exp-compression-none",
    "exp-compression-zlib",
    "exp-compression-zstd",
    "exp-copies-sidedata-changeset",
    "exp-revlogv2.2",
    "exp-sparse",
    "exp-very-fragile-and-unsafe-plain-store-encoding",
    "fileindex-v1",
    "fncache",
    "generaldelta",
    "internal-phase",
    "internal-phase-2",
    "largefiles",
    "lfs",
    "narrowhg-experimental",
    "persistent-nodemap",
    "relshared",
    "revlog-compression-zstd",
    "revlogv1",
    "share-safe",
    "shared",
    "sparserevlog",
    "store",
    "treemanifest",
];
/// Requirements that Mercurial understands with an extension, and this program does not.
const UNSUPPORTED: [&str; 1] = ["exp-remotefilelog-repo-req-1"];

/// Requirements that only an extension understands, with its name.
const OF_EXTENSIONS: [(&str, &str); 3] = [
    ("largefiles", "largefiles"),
    ("lfs", "lfs"),
    ("narrowhg-experimental", "narrow"),
];

/// A set of requirements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements(BTreeSet<BString>);

impl Requirements {
    /// Reads the file `requires` in `folder`. If it is missing and `may_be_missing`, there are no
    /// requirements.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(folder: &Path, may_be_missing: bool) -> Result<Self, Abort> {
        let path = folder.join("requires");
        match text_file::read(&path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if may_be_missing && is_missing(&error) => Ok(Self::default()),
            Err(error) => Err(Abort::io(&path, &error)),
        }
    }

    /// Parses a text with one requirement per line.
    pub fn parse(text: &[u8]) -> Self {
        let line = |line: &[u8]| {
            let end = line.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            BString::from(line.get(..end.unwrap_or(line.len())).unwrap_or_default())
        };
        Self(lines_with_ends(text).map(line).collect())
    }

    /// Whether `name` is required.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name.as_bytes())
    }

    pub(super) fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Checks that the extensions that Mercurial needs for some requirements are enabled, according to
    /// `has_extension`.
    ///
    /// # Errors
    /// An extension is not enabled.
    pub fn check_extensions(&self, has_extension: impl Fn(&str) -> bool) -> Result<(), Abort> {
        let missing = OF_EXTENSIONS.into_iter().filter_map(|(name, extension)| {
            let required = self.0.get(BStr::new(name));
            required.filter(|_| !has_extension(extension))
        });
        let mut missing = missing.peekable();
        if missing.peek().is_some() {
            return Err(unknown_requirements(missing));
        }
        if self.has("exp-sparse") && !has_extension("sparse") {
            let message = "repository is using sparse feature but sparse is not enabled; \
                        enable the \"sparse\" extensions to access";
            return Err(Abort::plain(message));
        }
        Ok(())
    }

    /// Checks that all requirements are understood.
    ///
    /// # Errors
    /// Some are not understood.
    pub fn check(&self) -> Result<(), Abort> {
        let is_in = |list: &[&str], name: &BString| list.iter().any(|known| name == known);
        let unknown: Vec<&BString> = self
            .0
            .iter()
            .filter(|name| !is_in(&KNOWN, name) && !is_in(&UNSUPPORTED, name))
            .collect();
        if unknown
            .iter()
            .any(|name| !name.first().is_some_and(u8::is_ascii_alphanumeric))
        {
            return Err(Abort::plain(".hg/requires file is corrupt"));
        }
        if !unknown.is_empty() {
            return Err(unknown_requirements(unknown.into_iter()));
        }
        if let Some(name) = self.0.iter().find(|name| is_in(&UNSUPPORTED, name)) {
            return Err(Abort::unsupported(bytes!("a repository with ", name)));
        }
        self.check_together()?;
        if !self.has("revlogv1") && !self.has("exp-revlogv2.2") {
            return Err(Abort::unsupported("a repository without revlogv1"));
        }
        Ok(())
    }

    /// Checks that no two requirements about the store exclude each other.
    fn check_together(&self) -> Result<(), Abort> {
        if self.has("dotencode") && self.has("exp-very-fragile-and-unsafe-plain-store-encoding") {
            let message = "bad requirements, cannot use both \"dotencode\" and \"plain encoding\"";
            return Err(Abort::plain(message));
        }
        let others = ["fncache", "dotencode", "treemanifest"];
        match others.into_iter().find(|name| self.has(name)) {
            Some(name) if self.has("fileindex-v1") => {
                let message = "' and 'fileindex-v1' which are incompatible with each other";
                Err(Abort::plain(bytes!("repository is using '", name, message)))
            }
            _ => Ok(()),
        }
    }
}

/// The error for requirements that nothing knows, not even an extension.
fn unknown_requirements<'n>(names: impl Iterator<Item = &'n BString>) -> Abort {
    let names = join(names.map(|name| name.as_slice()), b" ");
    let message = "repository requires features unknown to this Mercurial: ";
    let hint = "see https://mercurial-scm.org/wiki/MissingRequirement for more information";
    Abort::plain(bytes!(message, names)).with_hint(hint)
}
