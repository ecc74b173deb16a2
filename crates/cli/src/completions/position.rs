//! The positions on a command line and what may stand there, for all shells.

use crate::command::{Command, Options};
use crate::options::{Argument, OptionEntry, Value};

/// What may follow certain words of a command line.
pub(super) struct Position {
    /// The words: those of a command, without the program's name.
    pub(super) words: Vec<&'static str>,
    /// What the last of these words does.
    pub(super) summary: &'static str,
    pub(super) options: Vec<OptionEntry<()>>,
    pub(super) arguments: Option<Value>,
    /// If there are any, one of these must follow.
    pub(super) commands: Vec<Position>,
}

impl Position {
    pub(super) fn root(commands: &[&Command], globals: &'static dyn Options) -> Self {
        Self {
            words: Vec::new(),
            summary: "",
            options: globals.entries(),
            arguments: None,
            commands: commands.iter().map(|command| Self::of(command)).collect(),
        }
    }

    fn of(command: &Command) -> Self {
        let below = command.subcommands.iter().map(|subcommand| Self {
            words: vec![command.name, subcommand.name],
            summary: subcommand.summary,
            options: subcommand.options.entries(),
            arguments: subcommand.arguments,
            commands: Vec::new(),
        });
        Self {
            words: vec![command.name],
            summary: command.summary,
            options: command.options.entries(),
            arguments: command.arguments,
            commands: below.collect(),
        }
    }

    /// The last of its words.
    pub(super) fn name(&self) -> &'static str {
        self.words.last().copied().unwrap_or_default()
    }

    /// The names of the options whose value may be the next word.
    pub(super) fn values_follow(&self) -> Vec<String> {
        let entries = self.options.iter().filter(|entry| entry.takes_next());
        let names =
            entries.flat_map(|entry| entry.short_name().into_iter().chain(entry.long_name()));
        names.collect()
    }

    /// The names of the commands that may follow.
    pub(super) fn command_names(&self) -> Vec<&'static str> {
        self.commands.iter().map(Self::name).collect()
    }
}

/// Quotes `text` as one word of a POSIX shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The description shown to the user: the option's help text on one line.
pub(super) fn described<K>(entry: &OptionEntry<K>) -> String {
    entry.help.replace('\n', " ")
}

/// Returns whether `=` may attach a value to the option.
pub(super) fn takes_value<K>(entry: &OptionEntry<K>) -> bool {
    entry.argument != Argument::None
}

/// Prints git's names of commits in the directory `$folder` or, if that is empty, the current one. This runs nothing that a
/// repository chooses.
pub(super) const REVISIONS: &str =
    r#"command git -C "$folder" for-each-ref --format='%(refname:strip=2)' 2>/dev/null"#;
