//! Readable contents: the output of a `diff.<driver>.textconv` command for a blob.
//!
//! A path's driver is given by its attribute `diff` (gitattributes(5), "Performing text diffs of binary files").
//! Results that git cached earlier are used, but none are added.

mod cache;
mod temporary;

use std::collections::HashMap;
use std::io::{self, Read};
use std::process::Stdio;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::oid;
use vigil_linux::errno;

use self::temporary::TemporaryFile;
use crate::converter::filter::{self, report_signal};
use crate::converter::{self, Converter};
use vigil_git::config::{self, Config};
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_rules::attributes::{Attributes, Value};
use vigil_rules::messages::bytes;

/// The driver of paths that name none, or one that does not exist.
const DEFAULT: &str = "default";

/// git's built-in drivers. They convert nothing unless the configuration adds a command.
const BUILT_IN: [&str; 28] = [
    "ada", "bash", "bibtex", "cpp", "csharp", "css", DEFAULT, "dts", "elixir", "fortran",
    "fountain", "golang", "html", "ini", "java", "kotlin", "markdown", "matlab", "objc", "pascal",
    "perl", "php", "python", "r", "ruby", "rust", "scheme", "tex",
];

/// Why contents could not be converted: git exits. The text is git's own, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The temporary file for the command cannot be created.
    #[error("unable to create temp-file: {}", errno::text_of(.0))]
    Create(io::Error),
    /// The temporary file for the command cannot be written.
    #[error("unable to write temp-file: {}", errno::text_of(.0))]
    Write(io::Error),
    /// The command cannot be run, or fails. Anything more that git writes is in the messages.
    #[error("unable to read files to diff")]
    Failed,
    /// The contents cannot be converted to their form in the working tree.
    #[error(transparent)]
    Convert(#[from] converter::Error),
}

/// The diff drivers of one repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drivers {
    /// The drivers by name.
    drivers: HashMap<BString, Driver>,
}

/// A diff driver. Without a command it converts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Driver {
    command: Option<BString>,
    /// Whether git caches the command's output.
    is_cached: bool,
}

impl Drivers {
    /// Returns the built-in drivers and those in the configuration.
    ///
    /// # Errors
    /// A value of any driver's variable is of the wrong kind. git's `cat-file` exits then, whatever it is asked.
    pub fn of(config: &Config) -> Result<Self, config::Error> {
        let mut drivers = Self::built_in();
        config
            .entries()
            .try_for_each(|entry| drivers.take(&entry))?;
        Ok(drivers)
    }

    /// Returns the built-in drivers.
    pub fn built_in() -> Self {
        let built_in = BUILT_IN.map(|name| (name.into(), Driver::default()));
        Self {
            drivers: built_in.into(),
        }
    }

    /// Reads one entry of the configuration, whatever it is about.
    ///
    /// # Errors
    /// As for [`Self::of`].
    pub fn take(&mut self, entry: &config::ConfigEntry<'_>) -> Result<(), config::Error> {
        let Some((name, variable)) = entry
            .key
            .strip_prefix(b"diff.")
            .and_then(|rest| rest.rsplit_once_str(b"."))
        else {
            return Ok(());
        };
        let driver = self.drivers.entry(name.into()).or_default();
        match variable {
            b"textconv" => driver.command = Some(entry.required()?.into()),
            b"funcname" | b"xfuncname" | b"command" | b"wordregex" | b"algorithm" => {
                entry.required()?;
            }
            b"binary"
                if entry
                    .value
                    .is_some_and(|value| value.eq_ignore_ascii_case(b"auto")) => {}
            b"cachetextconv" => driver.is_cached = entry.boolean()?,
            b"binary" | b"trustexitcode" => {
                entry.boolean()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns what converts the contents at `path`; `None` if they are shown as they are. Anything but a regular
    /// file (by its mode in a tree; without a tree everything is regular) has the driver `default`, as in git.
    pub fn find(&self, attributes: &Attributes, path: &BStr, is_regular: bool) -> Option<Textconv> {
        let found = |name: &BStr| self.drivers.get_key_value(name);
        let mut driver = None;
        if is_regular {
            let [value] = attributes.lookup(path, ["diff"]);
            driver = match value {
                Value::Set | Value::Unset => return None,
                Value::Text(name) => found(name.as_bstr()),
                Value::Unspecified => None,
            };
        }
        let (name, driver) = driver.or_else(|| found(DEFAULT.into()))?;
        Some(Textconv {
            command: driver.command.clone()?,
            cache: driver.is_cached.then(|| name.clone()),
        })
    }
}

/// The command of a driver that makes contents readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Textconv {
    command: BString,
    /// The driver, if git caches the command's output.
    cache: Option<BString>,
}

impl Textconv {
    /// Returns the command's output for the object `id`, if git has cached it.
    pub fn kept(&self, refs: &Refs, objects: &Objects, id: &oid) -> Option<Vec<u8>> {
        let driver = self.cache.as_ref()?;
        cache::look_up(
            (refs, objects),
            driver.as_bstr(),
            self.command.as_bstr(),
            id,
        )
    }

    /// Runs the command on the contents `blob` of the object `id` at `path`. It gets them in a temporary file, in
    /// the form that they have in the working tree, and inherits standard input.
    ///
    /// # Errors
    /// Only errors at which git exits.
    pub fn convert(
        &self,
        converter: &Converter,
        path: &BStr,
        id: &oid,
        blob: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let child_environment = converter.child_environment();
        let mut file = TemporaryFile::create(child_environment, path, converter.messages())
            .map_err(Error::Create)?;
        let contents = converter.to_working_tree(path, id, blob)?;
        file.write(&contents).map_err(Error::Write)?;
        self.convert_file(converter, file.name())
    }

    /// Runs the command on the file `name`, absolute or relative to the top of the working tree.
    ///
    /// git passes a file of the working tree if the index was read (for an object named `:path`), records this blob
    /// for the file, and has stat data that show the file as unchanged.
    ///
    /// # Errors
    /// As [`Textconv::convert`].
    pub(crate) fn convert_file(
        &self,
        converter: &Converter,
        name: &BStr,
    ) -> Result<Vec<u8>, Error> {
        let messages = converter.messages();
        let command = self.command.as_bstr();
        let environment = converter.child_environment();
        let mut child = filter::start(environment, command, &[name], Stdio::inherit, messages)
            .ok_or(Error::Failed)?;
        let mut output = Vec::new();
        let read = child
            .stdout
            .take()
            .map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut output));
        if read.is_err() {
            messages.error(bytes!(
                "error reading from textconv command '",
                command,
                "'"
            ));
        }
        let status = child.wait();
        if let Ok(status) = status {
            report_signal(status, command, messages);
        }
        match (read, status) {
            (Ok(_), Ok(status)) if status.success() => Ok(output),
            _ => Err(Error::Failed),
        }
    }
}

#[cfg(test)]
mod tests;
