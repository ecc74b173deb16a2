//! Mercurial's configuration: files in layers, of which a later one wins, and settings from the command line and the environment.

mod accounts;
mod layers;
mod list;
mod numbers;
mod parse;
mod process_context;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

pub use layers::{Check, Configuration, Layers, RepositoryFiles};
#[cfg(feature = "fuzzing")]
pub use parse::fuzz;
pub(crate) use parse::section_name;
pub use process_context::ProcessContext;

use crate::abort::{Abort, Kind};
use crate::bytes::bytes;

/// One variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigItem {
    /// The section, without brackets.
    pub section: BString,
    /// The name within the section.
    pub name: BString,
    /// The value.
    pub value: BString,
    /// Where the variable was set: a file and a line, or an option.
    pub source: BString,
}

/// Variables in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The variables by number; one that is set later has a greater number.
    items: BTreeMap<u64, ConfigItem>,
    /// The number of each variable, by section and name.
    numbers: HashMap<BString, HashMap<BString, u64>>,
    next_number: u64,
    /// Variables that `%unset` removes from the layers below.
    unset: Vec<(BString, BString)>,
}

impl Config {
    /// Parses the `text` of the file at `path`.
    ///
    /// # Errors
    /// The text is not understood, or includes a file that cannot be read.
    pub(crate) fn parse(
        path: &Path,
        text: &[u8],
        process: &ProcessContext<'_>,
    ) -> Result<Self, Abort> {
        parse::read(path, text, process, &mut Vec::new())
    }

    /// Returns the value of a variable.
    pub fn get(&self, section: &str, name: &str) -> Option<&BStr> {
        self.item(section.as_bytes(), name.as_bytes())
            .map(|item| item.value.as_bstr())
    }

    fn item(&self, section: &[u8], name: &[u8]) -> Option<&ConfigItem> {
        let number = self.numbers.get(section.as_bstr())?.get(name.as_bstr())?;
        self.items.get(number)
    }

    /// Returns whether a variable is set.
    pub fn has(&self, section: &str, name: &str) -> bool {
        self.get(section, name).is_some()
    }

    /// Returns the variables of a section, in the order in which they were set.
    pub fn section(&self, section: &str) -> impl Iterator<Item = &ConfigItem> {
        let names = self.numbers.get(BStr::new(section)).into_iter().flatten();
        let mut numbers: Vec<u64> = names.map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        numbers
            .into_iter()
            .filter_map(|number| self.items.get(&number))
    }

    /// Returns section and name of each variable that is set here, or taken back from the layers below.
    pub fn touched(&self) -> impl Iterator<Item = (&BStr, &BStr)> {
        let set = self.items.values().map(|item| (&item.section, &item.name));
        let unset = self.unset.iter().map(|(section, name)| (section, name));
        set.chain(unset)
            .map(|(section, name)| (section.as_bstr(), name.as_bstr()))
    }

    /// Returns the value of a boolean variable, or `default` if it is not set.
    ///
    /// # Errors
    /// The value is not a boolean.
    pub fn boolean(
        &self,
        section: &str,
        name: impl AsRef<[u8]>,
        default: bool,
    ) -> Result<bool, Abort> {
        let read = self.typed(section, name.as_ref(), "boolean", boolean)?;
        Ok(read.unwrap_or(default))
    }

    /// Returns the value of a variable that is an integer; `None` if it is not set. One that is too large becomes the largest.
    ///
    /// # Errors
    /// The value is not an integer.
    pub fn integer(&self, section: &str, name: &str) -> Result<Option<i64>, Abort> {
        self.typed(section, name.as_bytes(), "valid integer", numbers::integer)
    }

    /// Checks a variable that is a number of bytes, if it is set.
    ///
    /// # Errors
    /// The value is no such number.
    pub fn check_byte_count(&self, section: &str, name: &str) -> Result<(), Abort> {
        let checked = self.typed(
            section,
            name.as_bytes(),
            "byte quantity",
            numbers::byte_count,
        );
        checked.map(|_| ())
    }

    /// Returns the value of a variable as `parse` reads it. `kind` says what it should be.
    fn typed<T>(
        &self,
        section: &str,
        name: &[u8],
        kind: &str,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, Abort> {
        let Some(item) = self.item(section.as_bytes(), name) else {
            return Ok(None);
        };
        let wrong = || {
            let variable = bytes!(section, ".", name);
            let value = item.value.as_bstr();
            let message = bytes!(variable, " is not a ", kind, " ('", value, "')");
            Abort::of(Kind::Config, message)
        };
        parse(&item.value).map(Some).ok_or_else(wrong)
    }

    /// Returns the words of a variable that is a list.
    pub fn list(&self, section: &str, name: &str) -> Vec<BString> {
        list::words_of(self.get(section, name).unwrap_or_default())
    }

    /// Sets a variable, and moves it to the end of the order.
    pub fn set(
        &mut self,
        section: impl Into<BString>,
        name: impl Into<BString>,
        value: impl Into<BString>,
        source: impl Into<BString>,
    ) {
        self.add(ConfigItem {
            section: section.into(),
            name: name.into(),
            value: value.into(),
            source: source.into(),
        });
    }

    fn add(&mut self, item: ConfigItem) {
        let number = self.next_number;
        self.next_number = number.saturating_add(1);
        let names = self.numbers.entry(item.section.clone()).or_default();
        if let Some(earlier) = names.insert(item.name.clone(), number) {
            self.items.remove(&earlier);
        }
        self.items.insert(number, item);
    }

    fn remove(&mut self, section: &[u8], name: &[u8]) {
        let names = self.numbers.get_mut(section.as_bstr());
        if let Some(number) = names.and_then(|names| names.remove(name.as_bstr())) {
            self.items.remove(&number);
        }
    }

    /// Removes the variables for which `is_dropped`, called with section and name, holds.
    fn drop_each(&mut self, is_dropped: impl Fn(&BStr, &BStr) -> bool) {
        for (section, names) in &mut self.numbers {
            names.retain(|name, number| {
                let is_dropped = is_dropped(section.as_bstr(), name.as_bstr());
                if is_dropped {
                    self.items.remove(number);
                }
                !is_dropped
            });
        }
    }

    fn unset(&mut self, section: &[u8], name: &[u8]) {
        self.remove(section, name);
        self.unset.push((section.into(), name.into()));
    }

    /// Lays another configuration over this one.
    pub fn update(&mut self, other: &Self) {
        for (section, name) in &other.unset {
            self.remove(section, name);
        }
        for item in other.items.values() {
            self.add(item.clone());
        }
    }
}

/// Parses a boolean.
pub fn boolean(text: &[u8]) -> Option<bool> {
    match text.to_ascii_lowercase().as_slice() {
        b"1" | b"yes" | b"true" | b"on" | b"always" => Some(true),
        b"0" | b"no" | b"false" | b"off" | b"never" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
