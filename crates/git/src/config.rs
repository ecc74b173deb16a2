//! git's configuration (git-config(1)): all scopes, includes, and typed values.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_model::config_value::{self, BadNumber};
use vigil_model::raw_text::raw;
use vigil_stamp::paths::{bytes_of, path_of};

use self::branch::Branch;
use self::optional::OptionalFile;
use self::place::PlacePattern;
use self::recorded_file::RecordedFile;
use crate::environment::Environment;

pub(crate) mod branch;
mod error;
pub(crate) mod fsync;
pub(crate) mod load;
mod optional;
pub(crate) mod parameters;
pub(crate) mod parse;
mod place;
pub(crate) mod recorded_file;
pub(crate) mod value;

pub use self::error::Error;
pub use self::recorded_file::FILE_LEN_MAX;
pub use self::value::environment_boolean;

/// Reads the system's and the user's files as git does before anything else, even before it looks at its own options.
///
/// # Errors
/// A file cannot be read or is invalid.
pub fn check_early(environment: &Environment) -> Result<(), Error> {
    load::RecordingReader::new(environment).check_early()
}

/// Reads the configuration that holds outside of any repository: the system's, the user's and the command line's.
///
/// # Errors
/// A file or the command line cannot be read or is invalid.
pub fn trusted(environment: &Environment) -> Result<Config, Error> {
    load::RecordingReader::new(environment).protected()
}

/// Where an entry comes from; later scopes win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The file for all users.
    System,
    /// The user's files.
    Global,
    /// The repository's file.
    Local,
    /// The working tree's own file.
    Worktree,
    /// `-c`, or the environment.
    Command,
}

/// One configuration entry.
#[derive(Clone, Copy, Debug)]
pub struct ConfigEntry<'a> {
    /// `section.subsection.name`, section and name in lower case.
    pub key: &'a BStr,
    /// The value; `None` for a key without `=`.
    pub value: Option<&'a BStr>,
    /// Where it comes from.
    pub scope: Scope,
    /// The file and the line in it, from 1; `None` for the command line.
    pub position: Option<(&'a BStr, usize)>,
}

impl<'a> ConfigEntry<'a> {
    /// Splits the key into the section, the subsection if there is one, and the name.
    pub fn parts(&self) -> Option<(&'a BStr, Option<&'a BStr>, &'a BStr)> {
        let (first, last) = (self.key.find_byte(b'.')?, self.key.rfind_byte(b'.')?);
        // Without a subsection, there is one dot.
        let subsection = self.key.get(first.saturating_add(1)..last);
        let name = self.key.get(last.saturating_add(1)..)?;
        let section = self.key.get(..first)?;
        Some((section.as_bstr(), subsection.map(BStr::new), name.as_bstr()))
    }

    /// The value as a boolean.
    ///
    /// # Errors
    /// It is not a boolean.
    pub fn boolean(&self) -> Result<bool, Error> {
        config_value::boolean(self.value).ok_or_else(|| {
            Error::Bad(format!(
                "bad boolean config value '{}' for '{}'",
                raw(self.value.unwrap_or_default()),
                raw(self.key)
            ))
        })
    }

    /// The value as an integer of 64 bits.
    ///
    /// # Errors
    /// It is not a number, has an unknown unit, or does not fit in 64 bits.
    pub fn integer(&self) -> Result<i64, Error> {
        self.number(i64::MAX)
    }

    /// The value as a C `int`, as most of git's numbers are.
    ///
    /// # Errors
    /// It is not a number, has an unknown unit, or does not fit in a C `int`.
    pub fn int(&self) -> Result<i32, Error> {
        let number = self.number(i64::from(i32::MAX))?;
        i32::try_from(number).map_err(|_| self.bad_number(BadNumber::OutOfRange))
    }

    /// The value as an integer that may not be negative.
    ///
    /// # Errors
    /// It is not a number, has an unknown unit, does not fit in 64 bits, or is negative.
    pub fn unsigned(&self) -> Result<u64, Error> {
        config_value::unsigned(self.value).map_err(|bad| self.bad_number(bad))
    }

    /// The value as a boolean if it is a word for one, else as an integer.
    ///
    /// # Errors
    /// It is neither.
    pub fn bool_or_int(&self) -> Result<BoolOrInt, Error> {
        match config_value::boolean_word(self.value) {
            Some(boolean) => Ok(BoolOrInt::Bool(boolean)),
            None => self.int().map(BoolOrInt::Int),
        }
    }

    /// The value, which there must be.
    ///
    /// # Errors
    /// The key has no `=`. The text is git's.
    pub fn required(&self) -> Result<&BStr, Error> {
        self.value
            .ok_or_else(|| self.complaint(format!("missing value for '{}'", raw(self.key))))
    }

    /// Returns git's error for a value that fails a check; `complaint` is what the check itself says.
    pub fn complaint(&self, complaint: impl Into<String>) -> Error {
        Error::Explained {
            messages: vec![format!("error: {}", complaint.into())],
            text: self.refusal(),
        }
    }

    /// Returns git's error text for a value that fails a check which says nothing itself.
    pub fn refusal(&self) -> String {
        match self.position {
            Some((file, line)) => format!(
                "bad config variable '{}' in file '{file}' at line {line}",
                raw(self.key),
                file = raw(file)
            ),
            None => format!(
                "unable to parse '{}' from command-line config",
                raw(self.key)
            ),
        }
    }

    fn number(&self, max: i64) -> Result<i64, Error> {
        config_value::number(self.value, max).map_err(|bad| self.bad_number(bad))
    }

    fn bad_number(&self, bad: BadNumber) -> Error {
        let place = self.position.map_or(String::new(), |(file, _)| {
            format!(" in file {file}", file = raw(file))
        });
        Error::Bad(format!(
            "bad numeric config value '{}' for '{}'{place}: {}",
            raw(self.value.unwrap_or_default()),
            raw(self.key),
            bad.text()
        ))
    }
}

/// A value that may be either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoolOrInt {
    /// One of the words for true and false.
    Bool(bool),
    /// A number.
    Int(i32),
}

#[derive(Clone, Debug)]
struct Stored {
    key: BString,
    value: Option<BString>,
    scope: Scope,
    file: Option<usize>,
    line: usize,
}

/// The merged configuration of one repository, last value wins.
#[derive(Clone, Debug, Default)]
pub struct Config {
    entries: Vec<Stored>,
    by_key: HashMap<BString, Vec<usize>>,
    files: Vec<BString>,
    home: Option<BString>,
    sources: Vec<RecordedFile>,
    /// By what follows the mark in the value.
    optional: HashMap<BString, OptionalFile>,
    branch: Option<Branch>,
    /// Conditions about a directory, each with its relative name, that did not hold.
    elsewhere: Vec<(PlacePattern, BString)>,
    messages: Vec<String>,
}

impl Config {
    /// Parses what was read of a file in the same format, such as `.gitmodules`, up to the first invalid line, and returns the error
    /// for that line as well. At most [`FILE_LEN_MAX`] bytes are read: `None` if the file may be longer. Includes are not followed.
    /// `name` is for errors: `file <path>`.
    pub fn from_beginning(text: &[u8], name: &str) -> Option<(Self, Option<Error>)> {
        let text = parse::parse_beginning(text).ok()?;
        Some(Self::of_text(text, name))
    }

    /// Parses `text` without following includes. `name` is for errors: `file <path>` or `blob <id>`.
    ///
    /// # Errors
    /// A line is invalid.
    pub fn from_bytes(text: &[u8], name: &str) -> Result<Self, Error> {
        let (config, error) = Self::up_to_error(text, name);
        error.map_or(Ok(config), Err)
    }

    /// Parses `text` up to the first invalid line, and returns the error for that line as well.
    pub fn up_to_error(text: &[u8], name: &str) -> (Self, Option<Error>) {
        Self::of_text(parse::parse(text), name)
    }

    fn of_text(text: parse::Text, name: &str) -> (Self, Option<Error>) {
        let mut config = Self {
            files: vec![name.into()],
            ..Self::default()
        };
        for line in text.lines {
            if let Err(message) = parameters::canonical_key(line.key.as_bstr()) {
                config.messages.push(message);
                continue;
            }
            config.push(
                line.key.as_bstr(),
                line.value,
                Scope::Local,
                Some(0),
                line.number,
            );
        }
        let bad_line = |line| Error::Bad(format!("bad config line {line} in {name}"));
        (config, text.bad_line.map(bad_line))
    }

    fn push(
        &mut self,
        key: &BStr,
        value: Option<BString>,
        scope: Scope,
        file: Option<usize>,
        line: usize,
    ) {
        let number = self.entries.len();
        self.entries.push(Stored {
            key: key.to_owned(),
            value,
            scope,
            file,
            line,
        });
        match self.by_key.get_mut(key) {
            Some(numbers) => numbers.push(number),
            None => {
                self.by_key.insert(key.to_owned(), vec![number]);
            }
        }
    }

    /// The lines that git writes to stderr while it finds the repository and reads its configuration, but that do not
    /// stop it: whole lines with their "error: " or "warning: ".
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// All entries in the order in which they were read.
    pub fn entries(&self) -> impl Iterator<Item = ConfigEntry<'_>> {
        self.entries.iter().map(|stored| self.entry_of(stored))
    }

    fn entry_of<'a>(&'a self, stored: &'a Stored) -> ConfigEntry<'a> {
        let file = stored.file.and_then(|number| self.files.get(number));
        ConfigEntry {
            key: stored.key.as_bstr(),
            value: stored.value.as_ref().map(|value| value.as_bstr()),
            scope: stored.scope,
            position: file.map(|file| (file.as_bstr(), stored.line)),
        }
    }

    /// The last entry for `key`.
    pub fn entry(&self, key: &str) -> Option<ConfigEntry<'_>> {
        self.all(key.as_bytes()).next_back()
    }

    /// All entries for `key`, in order.
    pub fn every(&self, key: &str) -> impl Iterator<Item = ConfigEntry<'_>> {
        self.all(key.as_bytes())
    }

    fn all(&self, key: &[u8]) -> impl DoubleEndedIterator<Item = ConfigEntry<'_>> {
        let numbers = match folded(key) {
            Some(key) => self.by_key.get(&key),
            None => self.by_key.get(key.as_bstr()),
        };
        numbers
            .into_iter()
            .flatten()
            .filter_map(|number| self.entries.get(*number))
            .map(|stored| self.entry_of(stored))
    }

    /// The last value of `key` (`core.filemode`, `branch.main.remote`; section and name in any case), as bytes.
    /// A key without `=` yields an empty value.
    pub fn string(&self, key: &str) -> Option<BString> {
        self.entry(key)
            .map(|entry| entry.value.unwrap_or_default().to_owned())
    }

    /// The last value of `key` as a boolean, as git reads one.
    ///
    /// # Errors
    /// The value is not a boolean.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>, Error> {
        self.entry(key).map(|entry| entry.boolean()).transpose()
    }

    /// The last value of `key` as a path with `~/`, `~user/` and `%(prefix)/` expanded. A relative path is relative to
    /// git's working directory, the top of the working tree. `None` also for an `:(optional)` file that does not exist.
    ///
    /// # Errors
    /// The key has no `=`, or the home directory that the value names is not known.
    pub fn path(&self, key: &str) -> Result<Option<PathBuf>, Error> {
        match self.entry(key) {
            Some(entry) => self.path_of(&entry),
            None => Ok(None),
        }
    }

    /// Reads the value of `entry` as [`Config::path`] does.
    pub(crate) fn path_of(&self, entry: &ConfigEntry<'_>) -> Result<Option<PathBuf>, Error> {
        self.path_from(entry.required()?)
    }

    /// Reads `value` as [`Config::path`] does.
    pub(crate) fn path_from(&self, value: &BStr) -> Result<Option<PathBuf>, Error> {
        let (is_optional, value) = match value.strip_prefix(optional::MARK) {
            Some(rest) => (true, rest.as_bstr()),
            None => (false, value),
        };
        let path = self.expanded(value).ok_or_else(|| {
            Error::Bad(format!(
                "failed to expand user dir in: '{value}'",
                value = raw(value)
            ))
        })?;
        let is_missing = || match self.optional.get(value) {
            Some(known) => known.is_missing,
            None => OptionalFile::look(path.clone()).is_missing,
        };
        Ok(match is_optional && is_missing() {
            true => None,
            false => Some(path),
        })
    }

    /// Returns the path that `value` names; `None` if it is in a home directory that is not known.
    fn expanded(&self, value: &BStr) -> Option<PathBuf> {
        let home = self.home.as_ref().map(|home| home.as_bstr());
        let path = value::interpolate(home, value)?;
        Some(path_of(&path).to_owned())
    }

    /// Looks at the files that are named as optional, by names relative to `directory`.
    fn look_at_optional(&mut self, directory: &Path) {
        let values = self.entries.iter().filter_map(|entry| entry.value.as_ref());
        let names = values.filter_map(|value| value.strip_prefix(optional::MARK));
        let looks = names.filter_map(|name| {
            let path = self.expanded(name.as_bstr())?;
            Some((name.into(), OptionalFile::look(directory.join(path))))
        });
        self.optional = looks.collect();
    }

    /// The last value of `section.subsection.name` where the subsection may hold any bytes.
    pub fn subsection_string(
        &self,
        section: &str,
        subsection: &BStr,
        name: &str,
    ) -> Option<BString> {
        self.subsection_entry(section, subsection, name)
            .map(|entry| entry.value.unwrap_or_default().to_owned())
    }

    /// The last entry for `section.subsection.name`.
    pub fn subsection_entry(
        &self,
        section: &str,
        subsection: &BStr,
        name: &str,
    ) -> Option<ConfigEntry<'_>> {
        let key = [section.as_bytes(), subsection, name.as_bytes()].join(&b'.');
        self.all(&key).next_back()
    }

    /// All values of `section.subsection.name`, where the subsection may hold any bytes.
    pub fn subsection_strings(&self, section: &str, subsection: &BStr, name: &str) -> Vec<BString> {
        let key = [section.as_bytes(), subsection, name.as_bytes()].join(&b'.');
        let values = self.all(&key).filter_map(|entry| entry.value);
        values.map(BString::from).collect()
    }

    /// The names of all subsections of `section`, in order of first appearance.
    pub fn subsections(&self, section: &str) -> Vec<BString> {
        let mut seen = std::collections::HashSet::new();
        let names = self.subsection_entries(section).map(|(name, ..)| name);
        let names = names.filter(|name| seen.insert(*name));
        names.map(BStr::to_owned).collect()
    }

    /// The entries in subsections of `section`, in order: the subsection, the name and the value, if there is one.
    pub fn subsection_entries(
        &self,
        section: &str,
    ) -> impl Iterator<Item = (&BStr, &BStr, Option<&BStr>)> {
        let section = section.to_ascii_lowercase();
        self.entries.iter().filter_map(move |stored| {
            let rest = stored.key.strip_prefix(section.as_bytes())?;
            let (subsection, name) = rest.strip_prefix(b".")?.rsplit_once_str(".")?;
            let value = stored.value.as_ref().map(|value| value.as_bstr());
            Some((subsection.as_bstr(), name.as_bstr(), value))
        })
    }

    /// Whether every file read to build this configuration (or to find the repository) still says the same.
    ///
    /// That includes files that are named as optional. Costs one `stat(2)` per file, and another read of each file that had changed
    /// too recently when it was first read.
    pub fn is_fresh(&self) -> bool {
        self.is_fresh_except(|_| false)
    }

    /// The files that were read, or would have been if they existed.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.sources.iter().map(RecordedFile::path)
    }

    /// Whether a condition that did not hold would if the shell had reached the current directory by the name `logical`, through
    /// symbolic links (`PWD`).
    pub fn depends_on_name(&self, logical: &Path) -> bool {
        let mut elsewhere = self.elsewhere.iter();
        elsewhere.any(|(place, name)| place.matches(bytes_of(&logical.join(path_of(name)))))
    }

    /// As [`Self::is_fresh`], but takes for granted that files for which `is_same` holds say the same.
    pub(crate) fn is_fresh_except(&self, is_same: impl Fn(&Path) -> bool) -> bool {
        let is_fresh = |file: &RecordedFile| is_same(file.path()) || file.is_fresh();
        self.sources.iter().all(is_fresh)
            && self.optional.values().all(OptionalFile::is_fresh)
            && self.branch.as_ref().is_none_or(Branch::is_fresh)
    }
}

/// Returns `key` with section and name in lower case; `None` if they already are.
fn folded(key: &[u8]) -> Option<BString> {
    let section = key.find_byte(b'.')?;
    let name = key.rfind_byte(b'.')?;
    let has_upper =
        |part: Option<&[u8]>| part.is_some_and(|part| part.iter().any(u8::is_ascii_uppercase));
    if !has_upper(key.get(..section)) && !has_upper(key.get(name..)) {
        return None;
    }
    let mut folded = BString::from(key);
    if let Some(part) = folded.get_mut(..section) {
        part.make_ascii_lowercase();
    }
    if let Some(part) = folded.get_mut(name..) {
        part.make_ascii_lowercase();
    }
    Some(folded)
}

#[cfg(test)]
mod tests;
