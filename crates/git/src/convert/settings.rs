//! What configuration says about conversion.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::Kind;

use super::shell::{FilterStderr, Surroundings};
use crate::config;
use crate::repository::Repository;

/// `core.autocrlf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoCrlf {
    /// Only attributes decide.
    #[default]
    False,
    /// Text has CRLF in the working tree and LF in the repository.
    True,
    /// CRLF becomes LF on the way in, nothing changes on the way out.
    Input,
}

/// One filter of the configuration (`filter.<name>`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// The command for one file that is recorded (`clean`).
    pub clean: Option<BString>,
    /// The command for one blob that is written to the working tree (`smudge`).
    pub smudge: Option<BString>,
    /// The command that serves many files (`process`); if it is there at all, even empty, the others do not count.
    pub process: Option<BString>,
    /// Whether a file that cannot be filtered is an error (`required`).
    pub required: bool,
}

/// Which way contents go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the working tree into a blob.
    Clean,
    /// From a blob into the working tree.
    Smudge,
}

impl Direction {
    /// What the filters' protocol calls it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Smudge => "smudge",
        }
    }
}

/// What a driver runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program<'a> {
    /// One command per file.
    Command(&'a BStr),
    /// A process for all files.
    Process(&'a BStr),
}

impl Driver {
    /// What git would run.
    pub(super) fn program(&self, direction: Direction) -> Option<Program<'_>> {
        let command = match direction {
            Direction::Clean => &self.clean,
            Direction::Smudge => &self.smudge,
        };
        match (command, &self.process) {
            (_, Some(process)) if !process.is_empty() => Some(Program::Process(process.as_bstr())),
            (Some(command), None) if !command.is_empty() => {
                Some(Program::Command(command.as_bstr()))
            }
            _ => None,
        }
    }
}

/// All that decides conversion, but for attributes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The kind of object ids.
    pub hash: Kind,
    /// `core.autocrlf`.
    pub auto_crlf: AutoCrlf,
    /// Whether text without further rules has CRLF in the working tree (`core.eol=crlf`).
    pub eol_crlf: bool,
    /// Whether a loss of line endings is warned of where contents are converted to be shown (`core.safecrlf`).
    pub warns_of_loss: bool,
    /// The first setting of a filter for which git gives up, once it looks how a file is converted.
    pub fault: Option<config::Error>,
    /// The filters by name.
    pub drivers: HashMap<BString, Driver>,
    /// Where filters run.
    pub surroundings: Surroundings,
}

impl Settings {
    /// What the configuration of `repository` says.
    pub fn of(repository: &Repository, stderr: FilterStderr) -> Result<Self, config::Error> {
        let config = &repository.config;
        let is = |key: &str, word: &str| {
            config
                .string(key)
                .is_some_and(|value| value.eq_ignore_ascii_case(word.as_bytes()))
        };
        let auto_crlf = if is("core.autocrlf", "input") {
            AutoCrlf::Input
        } else if config.boolean("core.autocrlf")?.unwrap_or(false) {
            AutoCrlf::True
        } else {
            AutoCrlf::False
        };
        let warns_of_loss =
            is("core.safecrlf", "warn") || config.boolean("core.safecrlf")?.unwrap_or(true);
        let mut drivers = HashMap::new();
        for name in config.subsections("filter") {
            let value = |key| config.subsection_string("filter", name.as_ref(), key);
            let driver = Driver {
                clean: value("clean"),
                smudge: value("smudge"),
                process: value("process"),
                required: config
                    .subsection_entry("filter", name.as_ref(), "required")
                    .is_some_and(|entry| entry.boolean().unwrap_or(false)),
            };
            drivers.insert(name, driver);
        }
        Ok(Self {
            hash: repository.hash,
            auto_crlf,
            eol_crlf: is("core.eol", "crlf"),
            warns_of_loss,
            fault: config.entries().find_map(|entry| check(&entry).err()),
            drivers,
            surroundings: Surroundings::of(repository, stderr),
        })
    }
}

/// Checks an entry as git does where it reads those about filters.
fn check(entry: &config::Entry<'_>) -> Result<(), config::Error> {
    let Some((section, Some(_), name)) = entry.parts() else {
        return Ok(());
    };
    if section != "filter" {
        return Ok(());
    }
    match name.as_bytes() {
        b"clean" | b"smudge" | b"process" => entry.required().map(drop),
        b"required" => entry.boolean().map(drop),
        _ => Ok(()),
    }
}
