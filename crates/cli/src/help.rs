//! What `vigil` prints about itself: its commands and their manual pages.

mod man;

use bstr::{BStr, BString};
use vigil_git::environment::Environment;

use crate::command::{Command, Options};
use crate::options::{OptionTable, Value, parse, with_usage};
use crate::page::{self, Page};
use crate::pager;
use crate::reply::{Reply, bytes};
use crate::say::say;

const TABLE: OptionTable<()> = OptionTable::without_options("vigil help [<command>]");

/// The options of `vigil version`: none.
pub(crate) const VERSION_TABLE: OptionTable<()> = OptionTable::without_options("vigil version");

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "help",
    summary: "List the commands, or show the manual page of one",
    options: &TABLE,
    arguments: Some(Value::Command),
    subcommands: &[],
    prose: include_str!("../pages/help.txt"),
};

/// All commands, and the options that may precede them.
#[derive(Clone, Copy)]
pub(crate) struct CommandSet {
    pub(crate) commands: &'static [&'static Command],
    pub(crate) globals: &'static dyn Options,
}

impl CommandSet {
    fn page(self, name: &BStr) -> Option<Page> {
        let mut commands = self.commands.iter();
        let command = commands.find(|command| name == command.name)?;
        (!command.prose.is_empty()).then(|| page::of_command(command))
    }

    fn described(self) -> Vec<&'static Command> {
        let commands = self.commands.iter().copied();
        commands
            .filter(|command| !command.prose.is_empty())
            .collect()
    }

    fn page_of_all(self) -> Page {
        page::of_all(&self.described(), self.globals)
    }
}

/// The text of `vigil help`.
pub(crate) fn overview(all: CommandSet, code: u8) -> Reply {
    let line = |command: &&Command| format!("   {:<12} {}\n", command.name, command.summary);
    let commands: String = all.commands.iter().map(line).collect();
    let text = format!(
        "usage: {}\n\nThese are the commands:\n{commands}\n\
         'vigil status -h' lists the options of 'vigil status', and 'vigil help status'\n\
         shows its manual page; likewise for the other commands.\n",
        all.globals.synopsis()
    );
    Reply::printed(text, code)
}

/// Shows the manual page of the command `name`, or of Vigil as a whole: with man(1) if that finds the page, otherwise as text.
/// Returns the exit code, or `None` if there is no such page.
pub(crate) fn show(all: CommandSet, name: &BStr, environment: &Environment) -> Option<u8> {
    let page = match name == "vigil" {
        true => all.page_of_all(),
        false => all.page(name)?,
    };
    man::open(&page.name, environment);
    if let Err(complaint) = pager::begin_by_default(environment) {
        return Some(say(&complaint));
    }
    let width = pager::terminal_width(environment).unwrap_or(WIDTH);
    Some(say(&Reply::printed(page::text(&page, width), 0)))
}

/// The width of lines in cells if there is no terminal.
const WIDTH: usize = 80;

/// Prints a manual page for installation: that of a command, or of Vigil. With `--list` prints all names, one per line.
pub(crate) fn man_page(all: CommandSet, arguments: &[BString]) -> Reply {
    let page = match arguments {
        [] => Some(all.page_of_all()),
        [only] if only == "--list" => {
            let names = all.described().into_iter().map(|command| command.name);
            let names: Vec<String> = names.map(|name| format!("{name}\n")).collect();
            return Reply::printed(names.concat(), 0);
        }
        [name] => all.page(BStr::new(name)),
        _ => None,
    };
    match page {
        Some(page) => Reply::printed(page::roff(&page), 0),
        None => Reply::complained("usage: vigil man [--list | <command>]\n", Reply::USAGE),
    }
}

/// The reply to the wrong `arguments` of `vigil help`.
pub(crate) fn wrong_command_line(arguments: &[BString]) -> Reply {
    match parse(&TABLE, arguments, |(), _| Ok(())) {
        Ok(_) => with_usage(&TABLE, b"too many arguments"),
        Err(reply) => reply,
    }
}

/// The version, in the form of `git version`, which ignores what is no option.
pub(crate) fn version(arguments: &[BString]) -> Reply {
    match parse(&VERSION_TABLE, arguments, |(), _| Ok(())) {
        Ok(_) => Reply::printed(
            concat!("vigil version ", env!("CARGO_PKG_VERSION"), "\n"),
            0,
        ),
        Err(reply) => reply,
    }
}

/// The reply to an unknown command.
pub(crate) fn unknown_command(name: &BStr) -> Reply {
    let text = bytes![
        "vigil: '",
        name,
        "' is not a vigil command. See 'vigil --help'.\n"
    ];
    Reply::complained(text, 1)
}
