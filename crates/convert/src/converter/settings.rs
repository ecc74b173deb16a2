//! The configuration of conversion.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::Kind;

use vigil_git::child::{ChildEnvironment, FilterStderr};
use vigil_git::config;
use vigil_git::repository::Repository;

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
    /// The command that cleans one file before it is recorded (`clean`).
    pub clean: Option<BString>,
    /// The command that converts one blob before it is written to the working tree (`smudge`).
    pub smudge: Option<BString>,
    /// The command that serves many files (`process`); if it is configured, even as empty, the others do not count.
    pub process: Option<BString>,
    /// Whether a file that cannot be filtered is an error (`required`).
    pub required: bool,
}

/// The direction of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the working tree into a blob.
    Clean,
    /// From a blob into the working tree.
    Smudge,
}

impl Direction {
    /// The name of the direction in the filter protocol.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Smudge => "smudge",
        }
    }
}

/// The program of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program<'a> {
    /// One command per file.
    Command(&'a BStr),
    /// A process for all files.
    Process(&'a BStr),
}

impl Driver {
    /// Returns the program that git would run.
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

/// Everything except attributes that decides conversion.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The hash function of object ids.
    pub hash: Kind,
    /// `core.autocrlf`.
    pub auto_crlf: AutoCrlf,
    /// Whether text without more specific rules has CRLF in the working tree (`core.eol=crlf`).
    pub eol_crlf: bool,
    /// Whether to warn of lost line endings when contents are converted for display (`core.safecrlf`).
    pub warns_of_loss: bool,
    /// The first invalid filter setting; git exits over it as soon as it looks up how a file is converted.
    pub fault: Option<config::Error>,
    /// The filters by name.
    pub drivers: HashMap<BString, Driver>,
    /// Where filters run.
    pub child_environment: ChildEnvironment,
}

impl Settings {
    /// Reads the settings from the configuration of `repository`.
    ///
    /// # Errors
    /// `core.autocrlf` or `core.safecrlf` has an invalid value. An invalid setting of a filter is kept as
    /// [`Self::fault`].
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
            child_environment: ChildEnvironment::of(repository, stderr),
        })
    }
}

/// Checks an entry as git does when it reads the configuration of filters.
fn check(entry: &config::ConfigEntry<'_>) -> Result<(), config::Error> {
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
