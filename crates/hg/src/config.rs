//! Mercurial's configuration: files in layers, of which a later one wins, and settings from the command line and the environment.

mod accounts;
mod layers;
mod list;
mod parse;
mod process_context;

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

pub use layers::{Check, Configuration, Layers, RepositoryFiles};
#[cfg(feature = "fuzzing")]
pub use parse::fuzz;
pub use process_context::ProcessContext;

use crate::abort::{Abort, Kind};
use crate::bytes::bytes;

/// One variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    items: Vec<Item>,
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

    fn item(&self, section: &[u8], name: &[u8]) -> Option<&Item> {
        self.items
            .iter()
            .find(|item| item.section == section && item.name == name)
    }

    /// Returns whether a variable is set.
    pub fn has(&self, section: &str, name: &str) -> bool {
        self.get(section, name).is_some()
    }

    /// Returns the variables of a section, in the order in which they were set.
    pub fn section<'c>(&'c self, section: &'c str) -> impl Iterator<Item = &'c Item> {
        self.items
            .iter()
            .filter(move |item| item.section == section)
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
        let name = name.as_ref();
        let Some(item) = self.item(section.as_bytes(), name) else {
            return Ok(default);
        };
        boolean(&item.value).ok_or_else(|| {
            let variable = bytes!(section, ".", name);
            let value = item.value.as_bstr();
            let message = bytes!(variable, " is not a boolean ('", value, "')");
            Abort::of(Kind::Config, message)
        })
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
        let (section, name) = (section.into(), name.into());
        self.remove(&section, &name);
        self.items.push(Item {
            section,
            name,
            value: value.into(),
            source: source.into(),
        });
    }

    fn remove(&mut self, section: &[u8], name: &[u8]) {
        self.items
            .retain(|item| item.section != section || item.name != name);
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
        for item in &other.items {
            self.remove(&item.section, &item.name);
            self.items.push(item.clone());
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
