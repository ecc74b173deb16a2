//! The repository's format: `core.repositoryFormatVersion` and the extensions (gitrepository-layout(5)).

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::Kind;

use super::error::Error;
use super::git_dir::common_name;
use super::paths::join;
use super::ref_format::{RefFormat, RefStorage};
use crate::config::load::RecordingReader;
use crate::config::{self, ConfigEntry, Scope};
use vigil_linux::errno;
use vigil_model::raw_text::raw;
use vigil_stamp::paths::{bytes_of, is_missing};

/// The newest version that git can read.
const VERSION_MAX: i32 = 1;

/// The settings in the repository's own file, which are needed before anything else.
#[derive(Debug)]
pub(super) struct Format {
    /// `core.repositoryFormatVersion`; without it nothing else here counts.
    pub(super) version: Option<i32>,
    /// `core.bare`.
    pub(super) is_bare: Option<bool>,
    /// `core.worktree`.
    pub(super) work_tree: Option<BString>,
    /// `extensions.worktreeConfig`.
    pub(super) has_worktree_config: bool,
    /// `extensions.objectFormat`.
    pub(super) hash: Kind,
    /// `extensions.refStorage`.
    pub(super) references: RefStorage,
    /// `extensions.compatObjectFormat`.
    pub(super) compat_hash: Option<Kind>,
    unknown: Vec<BString>,
    newer: Vec<BString>,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            version: None,
            is_bare: None,
            work_tree: None,
            has_worktree_config: false,
            hash: Kind::Sha1,
            references: RefStorage::inside(RefFormat::Files),
            compat_hash: None,
            unknown: Vec::new(),
            newer: Vec::new(),
        }
    }
}

/// Why an entry is not accepted: a fatal error, or git's complaint about the line.
enum EntryError {
    Fatal(config::Error),
    Complaint(String),
}

impl From<config::Error> for EntryError {
    fn from(error: config::Error) -> Self {
        Self::Fatal(error)
    }
}

impl Format {
    /// Reads and checks the format. The names are git's, relative to `directory`.
    ///
    /// The second value says whether `core.bare` and `core.worktree` apply to this working tree: those in the shared
    /// file of a linked working tree do not.
    pub(super) fn read(
        reader: &mut RecordingReader<'_>,
        directory: &Path,
        git_dir: &BStr,
        common_dir: Option<&BStr>,
    ) -> Result<(Self, bool), Error> {
        let mut format = Self::default();
        let name = join(common_dir.unwrap_or(git_dir), "config");
        format.scan(reader, directory, name.as_bstr(), Self::entry)?;
        if format.version.is_none_or(|version| version < 0) {
            return Ok((Self::default(), false));
        }
        format.verify()?;
        let mut is_own = common_dir.is_none();
        if format.has_worktree_config {
            let name = join(git_dir, "config.worktree");
            format.scan(reader, directory, name.as_bstr(), Self::worktree_entry)?;
            is_own = true;
        }
        Ok((format, is_own))
    }

    /// Checks the file that has the format of the repository at the absolute path `git_dir`, and no other file.
    ///
    /// # Errors
    /// The configuration in it is not understood. A format that is not known is no error here.
    pub(super) fn check(reader: &mut RecordingReader<'_>, git_dir: &Path) -> Result<(), Error> {
        let directory = Path::new("/");
        let name = bytes_of(git_dir);
        let common = common_name(reader, directory, name)?;
        let name = join(
            common.as_ref().map_or(name, |common| common.as_bstr()),
            "config",
        );
        Self::default().scan(reader, directory, name.as_bstr(), Self::entry)
    }

    /// As [`Self::check`], but a format that is not known is an error.
    ///
    /// # Errors
    /// The format is not known, or the configuration is not understood.
    pub(super) fn known(reader: &mut RecordingReader<'_>, git_dir: &Path) -> Result<(), Error> {
        let directory = Path::new("/");
        let name = bytes_of(git_dir);
        let common = common_name(reader, directory, name)?;
        Self::read(
            reader,
            directory,
            name,
            common.as_ref().map(|common| common.as_bstr()),
        )
        .map(drop)
    }

    /// Files that cannot be read are skipped; reading the whole configuration reports them.
    fn scan(
        &mut self,
        reader: &mut RecordingReader<'_>,
        directory: &Path,
        name: &BStr,
        each: fn(&mut Self, &ConfigEntry<'_>) -> Result<(), EntryError>,
    ) -> Result<(), Error> {
        let text = match reader.text(directory, name) {
            Ok(text) => text,
            Err(errno) => {
                if !is_missing(errno) {
                    reader.messages.push(format!(
                        "warning: unable to access '{}': {}",
                        raw(name),
                        errno::text(errno)
                    ));
                }
                return Ok(());
            }
        };
        let bad_line = |line| format!("bad config line {line} in file {name}", name = raw(name));
        for line in &text.lines {
            let entry = ConfigEntry {
                key: line.key.as_bstr(),
                value: line.value.as_ref().map(|value| value.as_bstr()),
                scope: Scope::Local,
                position: Some((name, line.number)),
            };
            each(self, &entry).map_err(|stop| match stop {
                EntryError::Fatal(error) => error,
                EntryError::Complaint(complaint) => config::Error::Explained {
                    messages: vec![format!("error: {complaint}")],
                    text: bad_line(line.number),
                },
            })?;
        }
        match text.bad_line {
            Some(line) => Err(config::Error::Bad(bad_line(line)).into()),
            None => Ok(()),
        }
    }

    fn entry(&mut self, entry: &ConfigEntry<'_>) -> Result<(), EntryError> {
        if entry.key == "core.repositoryformatversion" {
            self.version = Some(entry.int()?);
            return Ok(());
        }
        match entry.key.strip_prefix(b"extensions.") {
            Some(extension) => self.extension(extension.as_bstr(), entry),
            None => self.worktree_entry(entry),
        }
    }

    fn worktree_entry(&mut self, entry: &ConfigEntry<'_>) -> Result<(), EntryError> {
        if entry.key == "core.bare" {
            self.is_bare = Some(entry.boolean()?);
        } else if entry.key == "core.worktree" {
            self.work_tree = Some(required(entry)?.to_owned());
        }
        Ok(())
    }

    fn extension(&mut self, extension: &BStr, entry: &ConfigEntry<'_>) -> Result<(), EntryError> {
        let invalid = |value: &BStr| {
            EntryError::Complaint(format!(
                "invalid value for '{}': '{value}'",
                raw(entry.key),
                value = raw(value)
            ))
        };
        match extension.as_bytes() {
            // git respected these four before versions had a meaning.
            b"noop" => return Ok(()),
            b"preciousobjects" => return Ok(entry.boolean().map(drop)?),
            b"partialclone" => return required(entry).map(drop),
            b"worktreeconfig" => {
                self.has_worktree_config = entry.boolean()?;
                return Ok(());
            }
            b"noop-v1" => {}
            b"objectformat" => {
                let value = required(entry)?;
                self.hash = hash_kind(value).ok_or_else(|| invalid(value))?;
            }
            b"compatobjectformat" => {
                let value = required(entry)?;
                let kind = hash_kind(value).ok_or_else(|| invalid(value))?;
                if let Some(earlier) = self.compat_hash {
                    return Err(EntryError::Complaint(format!(
                        "'extensions.compatobjectformat' already specified as '{earlier}'"
                    )));
                }
                self.compat_hash = Some(kind);
            }
            b"refstorage" => {
                let value = required(entry)?;
                self.references = RefStorage::parse(value).ok_or_else(|| invalid(value))?;
            }
            b"relativeworktrees" | b"submodulepathconfig" => drop(entry.boolean()?),
            _ => {
                self.unknown.push(extension.to_owned());
                return Ok(());
            }
        }
        self.newer.push(extension.to_owned());
        Ok(())
    }

    fn verify(&self) -> Result<(), Error> {
        let version = self.version.unwrap_or_default();
        if version > VERSION_MAX {
            return Err(Error::Format(format!(
                "Expected git repo version <= {VERSION_MAX}, found {version}"
            )));
        }
        if version >= 1 && !self.unknown.is_empty() {
            return Err(Error::Format(list(
                "unknown repository extension",
                &self.unknown,
            )));
        }
        if version == 0 && !self.newer.is_empty() {
            return Err(Error::Format(list(
                "repo version is 0, but v1-only extension",
                &self.newer,
            )));
        }
        Ok(())
    }
}

fn required<'a>(entry: &ConfigEntry<'a>) -> Result<&'a BStr, EntryError> {
    entry
        .value
        .ok_or_else(|| EntryError::Complaint(format!("missing value for '{}'", raw(entry.key))))
}

fn list(what: &str, extensions: &[BString]) -> String {
    let plural = if extensions.len() == 1 { "" } else { "s" };
    let mut text = format!("{what}{plural} found:");
    for extension in extensions {
        text.push_str(&format!("\n\t{extension}", extension = raw(&extension)));
    }
    text
}

fn hash_kind(name: &BStr) -> Option<Kind> {
    match name.as_bytes() {
        b"sha1" => Some(Kind::Sha1),
        b"sha256" => Some(Kind::Sha256),
        _ => None,
    }
}
