//! Command-line options, parsed from a table as git does it (gitcli(7)).
//!
//! git's rules differ from those of common parsers: unique prefixes are accepted, every option has a `--no-` form unless its
//! entry says otherwise, optional values must be attached to their option, and problems are reported in the order of the
//! command line.

mod parse;
mod usage;
mod values;

pub(crate) use parse::{
    other_than_subcommand, parse, refuse_all, refuse_others, subcommand, with_usage,
};
pub(crate) use usage::{OwnOptions, usage, usage_without_table};
pub(crate) use values::{integer, rename_score};

use bstr::BStr;

/// A command's options.
pub(crate) struct OptionTable<K: 'static> {
    /// What follows `usage: `, for a program called by its usual name.
    pub synopsis: &'static str,
    /// Headings in the usage text, each with the index of the option that it precedes.
    pub headings: &'static [(usize, &'static str)],
    /// The options in the order of the usage text.
    pub entries: &'static [OptionEntry<K>],
}

impl<K> OptionTable<K> {
    /// Makes the table of a command that has none.
    pub(crate) const fn without_options(synopsis: &'static str) -> Self {
        Self {
            synopsis,
            headings: &[],
            entries: &[],
        }
    }
}

/// One option.
pub(crate) struct OptionEntry<K> {
    /// The command's own value for the option.
    pub key: K,
    /// The letter after a single dash.
    pub short: Option<u8>,
    /// The name after two dashes; empty if there is none.
    pub long: &'static str,
    /// Whether it takes a value.
    pub argument: Argument,
    /// What kind of value.
    pub value: Value,
    /// Whether there is a `--no-` form.
    pub negatable: bool,
    /// Its text in the usage.
    pub help: &'static str,
    /// The option is Vigil's own and unknown to git. When Vigil stands in for git, only `--help-all` shows it. It must be written
    /// in full, so that no abbreviation of git's options becomes ambiguous.
    pub is_own: bool,
}

impl<K: Copy> OptionEntry<K> {
    /// Makes an option without a value that has only a long name.
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

    /// `--json`, as some commands call `--format=json` as well.
    pub(crate) const fn json(key: K) -> Self {
        Self::flag(key, "json", "print JSON")
    }

    /// `--format=json`.
    pub(crate) const fn json_format(key: K) -> Self {
        Self {
            argument: Argument::Required("format"),
            value: Value::Words(&["json"]),
            ..Self::flag(key, "format", "print in the format 'json'")
        }
    }
}

/// The value that is attached to an option (`--name=value`, `-nvalue`) or follows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    /// There is no value.
    None,
    /// An optional, attached value, under this name in the usage.
    Optional(&'static str),
    /// A required value that must be attached, under this name in the usage. No option after a command is like that.
    Attached(&'static str),
    /// A required value, under this name in the usage. If none is attached, it is the next argument.
    Required(&'static str),
}

/// The kind of an option's value, or of an argument that is not an option. Used to complete it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Anything; there is nothing to list.
    Any,
    /// A path.
    Path,
    /// The path of a directory.
    Folder,
    /// The name of a commit.
    Revision,
    /// The name of a command.
    Command,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// How an option was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given<'a> {
    /// By name only.
    Bare,
    /// With a value.
    With(&'a BStr),
    /// In its negated form.
    Negated,
}

impl<K> OptionEntry<K> {
    /// The name without a leading `no-`, and whether it had one: in that case the plain form is the negated one.
    pub(crate) fn stem(&self) -> (&'static str, bool) {
        match self.long.strip_prefix("no-") {
            Some(stem) => (stem, true),
            None => (self.long, false),
        }
    }
}
