//! The options of `hg status`, and the global options of Mercurial.

use crate::command::Options;
use crate::options::{Argument, OptionEntry, Value};

/// The usage line, after `usage: `.
pub(super) const SYNOPSIS: &str = "vigil hg status [<option>...] [<file>...]";

/// The commands to which an option belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// An option of `hg status`.
    Status,
    /// An option of `hg status` that its help does not list.
    Unlisted,
    /// An option of all commands.
    Global,
    /// An option of all commands that is not supported here.
    Mercurial,
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OptionSpec {
    /// The letter; 0 if there is none.
    pub(super) letter: u8,
    pub(super) name: &'static str,
    /// The name of the value, if the option has one.
    pub(super) value: Option<&'static str>,
    help: &'static str,
    scope: Scope,
    /// Whether the option may be repeated.
    is_repeatable: bool,
}

/// All options.
pub(super) const OPTIONS: [OptionSpec; 37] = [
    OptionSpec::of_status(b'A', "all", None, "show status of all files"),
    OptionSpec::of_status(b'm', "modified", None, "show only modified files"),
    OptionSpec::of_status(b'a', "added", None, "show only added files"),
    OptionSpec::of_status(b'r', "removed", None, "show only removed files"),
    OptionSpec::of_status(b'd', "deleted", None, "show only missing files"),
    OptionSpec::of_status(b'c', "clean", None, "show only files without changes"),
    OptionSpec::of_status(
        b'u',
        "unknown",
        None,
        "show only unknown (not tracked) files",
    ),
    OptionSpec::of_status(b'i', "ignored", None, "show only ignored files"),
    OptionSpec::of_status(b'n', "no-status", None, "hide status prefix"),
    OptionSpec::unlisted(
        b't',
        "terse",
        Some("VALUE"),
        "show directories in the place of what is in them, where all of that is of one kind",
    ),
    OptionSpec::of_status(b'C', "copies", None, "show source of copied files"),
    OptionSpec::of_status(
        b'0',
        "print0",
        None,
        "end filenames with NUL, for use with xargs",
    ),
    OptionSpec::of_status(0, "rev", Some("REV"), "show difference from revision").repeatable(),
    OptionSpec::of_status(
        0,
        "change",
        Some("REV"),
        "list the changed files of a revision",
    ),
    OptionSpec::of_status(
        b'I',
        "include",
        Some("PATTERN"),
        "include names matching the given patterns",
    )
    .repeatable(),
    OptionSpec::of_status(
        b'X',
        "exclude",
        Some("PATTERN"),
        "exclude names matching the given patterns",
    )
    .repeatable(),
    OptionSpec::of_status(b'S', "subrepos", None, "recurse into subrepositories"),
    OptionSpec::of_status(b'T', "template", Some("TEMPLATE"), "display with template"),
    OptionSpec::global(
        b'R',
        "repository",
        Some("REPO"),
        "the top of the working copy",
    ),
    OptionSpec::global(0, "cwd", Some("DIR"), "change working directory"),
    OptionSpec::global(b'y', "noninteractive", None, "do not prompt"),
    OptionSpec::global(b'q', "quiet", None, "suppress output"),
    OptionSpec::global(b'v', "verbose", None, "enable additional output"),
    OptionSpec::global(
        0,
        "color",
        Some("TYPE"),
        "when to colorize (boolean, always, auto, never)",
    ),
    OptionSpec::global(
        0,
        "config",
        Some("CONFIG"),
        "set a configuration option ('section.name=value')",
    )
    .repeatable(),
    OptionSpec::of_mercurial(0, "config-file", Some("HGRC")).repeatable(),
    OptionSpec::global(0, "debug", None, "enable debugging output"),
    OptionSpec::of_mercurial(0, "debugger", None),
    OptionSpec::global(
        0,
        "encoding",
        Some("ENCODE"),
        "set the character set encoding",
    ),
    OptionSpec::global(
        0,
        "encodingmode",
        Some("MODE"),
        "set the character set encoding mode",
    ),
    OptionSpec::of_mercurial(0, "traceback", None),
    OptionSpec::of_mercurial(0, "time", None),
    OptionSpec::of_mercurial(0, "profile", None),
    OptionSpec::of_mercurial(0, "version", None),
    OptionSpec::of_mercurial(b'h', "help", None),
    OptionSpec::global(0, "hidden", None, "consider hidden changesets"),
    OptionSpec::global(0, "pager", Some("TYPE"), "when to paginate"),
];

type Name = Option<&'static str>;

impl OptionSpec {
    const fn new(
        letter: u8,
        name: &'static str,
        value: Name,
        help: &'static str,
        scope: Scope,
    ) -> Self {
        Self {
            letter,
            name,
            value,
            help,
            scope,
            is_repeatable: false,
        }
    }

    const fn of_status(letter: u8, name: &'static str, value: Name, help: &'static str) -> Self {
        Self::new(letter, name, value, help, Scope::Status)
    }

    const fn unlisted(letter: u8, name: &'static str, value: Name, help: &'static str) -> Self {
        Self::new(letter, name, value, help, Scope::Unlisted)
    }

    const fn global(letter: u8, name: &'static str, value: Name, help: &'static str) -> Self {
        Self::new(letter, name, value, help, Scope::Global)
    }

    const fn of_mercurial(letter: u8, name: &'static str, value: Name) -> Self {
        Self::new(letter, name, value, "", Scope::Mercurial)
    }

    const fn repeatable(self) -> Self {
        Self {
            is_repeatable: true,
            ..self
        }
    }

    /// Returns whether all of Mercurial's commands have this option.
    pub(super) fn is_global(&self) -> bool {
        matches!(self.scope, Scope::Global | Scope::Mercurial)
    }

    /// Returns the name of the opposite option.
    pub(super) fn opposite(&self) -> Option<String> {
        let opposite = match self.name.strip_prefix("no-") {
            Some(stem) => stem.to_owned(),
            None => format!("no-{}", self.name),
        };
        // The opposite of these would mean nothing.
        let has_none = ["noninteractive", "help", "version"].contains(&self.name);
        (self.value.is_none() && !has_none).then_some(opposite)
    }

    /// Returns the names of the option and of its value, as in Mercurial's help.
    fn names(&self) -> String {
        let mut names = match self.letter {
            0 => format!("    --{}", self.name),
            letter => format!(" -{} --{}", char::from(letter), self.name),
        };
        if let Some(value) = self.value {
            names.push(' ');
            names.push_str(value);
        }
        if self.is_repeatable {
            names.push_str(" [+]");
        }
        names
    }
}

/// What the configuration says of the help that Mercurial prints when the options are wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HelpStyle {
    /// Whether the options are left out.
    pub(super) is_quiet: bool,
    /// Whether sources of copies are shown by default.
    pub(super) shows_copies: bool,
    /// Whether the option of the extension mq is listed.
    pub(super) has_mq: bool,
    /// What makes it one that only Mercurial prints.
    pub(super) only_mercurial: Option<&'static str>,
}

/// Returns the help that Mercurial prints when the options are wrong.
pub(super) fn short_help(style: HelpStyle) -> String {
    let listed = || {
        OPTIONS
            .iter()
            .filter(|option| option.scope == Scope::Status)
    };
    let width = listed()
        .map(|option| option.names().len())
        .max()
        .unwrap_or(0);
    let line = |option: &OptionSpec| {
        let (names, help) = (option.names(), option.help);
        match option.name {
            "copies" if style.shows_copies => {
                let names = names.replace("--", "--[no-]");
                format!(
                    "{names:width$} {help} (default: on from\n{:width$} config)\n",
                    ""
                )
            }
            _ => format!("{names:width$} {help}\n"),
        }
    };
    let lines: String = match style.is_quiet {
        true => String::new(),
        false => {
            let lines: String = listed().map(line).collect();
            let mq = match style.has_mq {
                true => format!("{:width$} operate on patch repository\n", "    --mq"),
                false => String::new(),
            };
            format!("options ([+] can be repeated):\n\n{lines}{mq}\n")
        }
    };
    format!(
        "hg status [OPTION]... [FILE]...\n\nshow changed files in the working directory\n\n{lines}(use 'hg status -h' to show more help)\n"
    )
}

/// The options as completions and the manual page list them.
pub(super) struct StatusOptions;

impl Options for StatusOptions {
    fn synopsis(&self) -> &'static str {
        SYNOPSIS
    }

    fn entries(&self) -> Vec<OptionEntry<()>> {
        let is_here = |option: &&OptionSpec| option.scope != Scope::Mercurial;
        let entry = |option: &OptionSpec| OptionEntry {
            short: (option.letter != 0).then_some(option.letter),
            argument: option.value.map_or(Argument::None, Argument::Required),
            value: match option.name {
                "repository" | "cwd" => Value::Folder,
                "color" => Value::Words(&["always", "auto", "never"]),
                "template" => Value::Words(&["json"]),
                _ => Value::Any,
            },
            negatable: option.opposite().is_some(),
            ..OptionEntry::flag((), option.name, option.help)
        };
        OPTIONS.iter().filter(is_here).map(entry).collect()
    }
}
