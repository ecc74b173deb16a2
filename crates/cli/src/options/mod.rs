//! Command-line options as git understands them (gitcli(7)), from a table.
//!
//! git's rules differ from those of common parsers: unique prefixes count, every option has a `--no-` form unless
//! its entry says otherwise, values are joined to their option, and problems are reported in the order in which they
//! stand on the command line.

mod parse;
mod usage;
mod values;

pub(crate) use parse::{parse, with_usage};
pub(crate) use usage::{Audience, usage};
pub(crate) use values::{integer, rename_score};

use bstr::BStr;

/// A command's options.
pub(crate) struct Table<K: 'static> {
    /// What follows `usage: `, where nothing else is called so.
    pub synopsis: &'static str,
    /// Headings in the usage text, each before the option of that number.
    pub headings: &'static [(usize, &'static str)],
    /// The options in the order of the usage text.
    pub entries: &'static [Entry<K>],
}

/// One option.
pub(crate) struct Entry<K> {
    /// What the command knows it by.
    pub key: K,
    /// The letter after a single dash.
    pub short: Option<u8>,
    /// The name after two dashes; empty if there is none.
    pub long: &'static str,
    /// What may be joined to it.
    pub argument: Argument,
    /// What that is.
    pub value: Value,
    /// Whether there is a `--no-` form.
    pub negatable: bool,
    /// The text in the usage.
    pub help: &'static str,
    /// Vigil's own option, which git does not have: in git's stead only `--help-all` shows it, and it must be written in
    /// full, so that it takes no abbreviation away from git's.
    pub is_own: bool,
}

impl<K: Copy> Entry<K> {
    /// An option that is there or not, by its long name alone.
    pub(crate) const fn flag(key: K, long: &'static str, help: &'static str) -> Self {
        Self {
            key,
            short: None,
            long,
            argument: Argument::None,
            value: Value::Any,
            negatable: true,
            help,
            is_own: false,
        }
    }

    /// `--json`.
    pub(crate) const fn json(key: K) -> Self {
        Self::flag(key, "json", "print JSON")
    }

    /// `--format=json`.
    pub(crate) const fn json_format(key: K) -> Self {
        Self {
            argument: Argument::Optional("format"),
            value: Value::Words(&["json"]),
            ..Self::flag(key, "format", "print in the format 'json'")
        }
    }
}

/// What may be joined to an option (`--name=value`, `-nvalue`), or must follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Nothing.
    None,
    /// A value, under this name in the usage.
    Optional(&'static str),
    /// A value, under this name in the usage; where none is joined, it is the next argument.
    Required(&'static str),
}

/// What the value of an option is, or an argument that is none: for whoever completes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing that could be listed.
    Any,
    /// A path.
    Path,
    /// The path of a directory.
    Folder,
    /// A name of a commit.
    Revision,
    /// The name of a command.
    Command,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// How an option was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given<'a> {
    /// By its name alone.
    Bare,
    /// With a value.
    With(&'a BStr),
    /// In its negated form.
    Negated,
}

impl<K> Entry<K> {
    /// The name without a leading `no-`, and whether it had one: then the plain form is the negated one.
    pub(crate) fn stem(&self) -> (&'static str, bool) {
        match self.long.strip_prefix("no-") {
            Some(stem) => (stem, true),
            None => (self.long, false),
        }
    }
}
