//! A command as a whole: what is said of it wherever commands are listed, completed and described.

use crate::options::{Argument, Entry, Table, Value};

/// A command of Vigil's.
pub(crate) struct Command {
    /// What follows `vigil` on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its options; where it has commands of its own, those of none of them.
    pub options: &'static dyn Options,
    /// What its arguments are that are no options; `None` if it takes none.
    pub arguments: Option<Value>,
    /// Its own commands.
    pub subcommands: &'static [Subcommand],
    /// What its manual page says beside names and options, as `page` reads it.
    pub prose: &'static str,
}

/// A command of a command.
pub(crate) struct Subcommand {
    /// What follows the command.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its options.
    pub options: &'static dyn Options,
    /// As [`Command::arguments`].
    pub arguments: Option<Value>,
}

impl Subcommand {
    /// One without options and arguments.
    pub(crate) const fn plain(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            options: NO_OPTIONS,
            arguments: None,
        }
    }
}

/// The options of a command, whatever it knows them by.
pub(crate) trait Options {
    /// [`Table::synopsis`].
    fn synopsis(&self) -> &'static str;
    /// [`Table::entries`].
    fn entries(&self) -> Vec<Entry<()>>;
}

impl<K> Options for Table<K> {
    fn synopsis(&self) -> &'static str {
        self.synopsis
    }

    fn entries(&self) -> Vec<Entry<()>> {
        let nameless = |entry: &Entry<K>| Entry {
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

/// Of commands that have none.
pub(crate) const NO_OPTIONS: &dyn Options = &Table::<()> {
    synopsis: "",
    headings: &[],
    entries: &[],
};

impl<K> Entry<K> {
    /// The name with one dash, if there is one.
    pub(crate) fn short_name(&self) -> Option<String> {
        self.short.map(|letter| format!("-{}", char::from(letter)))
    }

    /// The name with two dashes, if there is one.
    pub(crate) fn long_name(&self) -> Option<String> {
        (!self.long.is_empty()).then(|| format!("--{}", self.long))
    }

    /// The name that says the opposite, if there is one.
    pub(crate) fn opposite(&self) -> Option<String> {
        if self.long.is_empty() || !self.negatable {
            return None;
        }
        let (stem, is_inverted) = self.stem();
        Some(format!("--{}{stem}", if is_inverted { "" } else { "no-" }))
    }

    /// Whether the next argument is its value, where none is joined to it.
    pub(crate) fn takes_next(&self) -> bool {
        matches!(self.argument, Argument::Required(_))
    }
}
