//! The description of a command, for lists of commands, completions and manual pages.

use crate::options::{Argument, OptionEntry, OptionTable, Value};

/// A command of Vigil.
pub(crate) struct Command {
    /// The word that follows `vigil` on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its options. If it has subcommands, those of the command itself.
    pub options: &'static dyn Options,
    /// The kind of its arguments that are not options; `None` if it takes none.
    pub arguments: Option<Value>,
    /// Its subcommands.
    pub subcommands: &'static [Subcommand],
    /// The text of its manual page besides names and options, in the form that `page` reads.
    pub prose: &'static str,
}

/// A command of a command.
pub(crate) struct Subcommand {
    /// The word that follows the command.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its options.
    pub options: &'static dyn Options,
    /// As [`Command::arguments`].
    pub arguments: Option<Value>,
}

impl Subcommand {
    /// Makes one without options and arguments.
    pub(crate) const fn plain(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            options: NO_OPTIONS,
            arguments: None,
        }
    }
}

/// The options of a command, whatever the type of their keys.
pub(crate) trait Options {
    /// [`OptionTable::synopsis`].
    fn synopsis(&self) -> &'static str;
    /// [`OptionTable::entries`].
    fn entries(&self) -> Vec<OptionEntry<()>>;
}

impl<K> Options for OptionTable<K> {
    fn synopsis(&self) -> &'static str {
        self.synopsis
    }

    fn entries(&self) -> Vec<OptionEntry<()>> {
        let nameless = |entry: &OptionEntry<K>| OptionEntry {
            key: (),
            short: entry.short,
            long: entry.long,
            argument: entry.argument,
            value: entry.value,
            negatable: entry.negatable,
            help: entry.help,
            is_own: entry.is_own,
        };
        self.entries.iter().map(nameless).collect()
    }
}

/// The options of commands that have none.
const NO_OPTIONS: &dyn Options = &OptionTable::<()>::without_options("");

impl<K> OptionEntry<K> {
    /// The short name with its dash, if any.
    pub(crate) fn short_name(&self) -> Option<String> {
        self.short.map(|letter| format!("-{}", char::from(letter)))
    }

    /// The long name with its dashes, if any.
    pub(crate) fn long_name(&self) -> Option<String> {
        (!self.long.is_empty()).then(|| format!("--{}", self.long))
    }

    /// The long name that negates the option, if any.
    pub(crate) fn opposite(&self) -> Option<String> {
        if self.long.is_empty() || !self.negatable {
            return None;
        }
        let (stem, is_inverted) = self.stem();
        Some(format!("--{}{stem}", if is_inverted { "" } else { "no-" }))
    }

    /// Returns whether the next argument is its value if none is attached.
    pub(crate) fn takes_next(&self) -> bool {
        matches!(self.argument, Argument::Required(_))
    }
}
