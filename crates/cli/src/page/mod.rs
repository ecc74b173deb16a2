//! Manual pages. Names, synopses and options come from the tables that the parsers use, the rest from the texts in `pages/`.
//! A page is written as roff(7) for man(1), or as plain text if there is no man(1).

mod model;
mod prose;
mod roff;
mod text;

pub(crate) use model::Page;
pub(crate) use roff::roff;
pub(crate) use text::text;

use crate::command::{Command, Options};
use crate::options::{Argument, OptionEntry};
use model::{Block, Section, Span};
use prose::{sections, spans};

/// Makes the page of `command`.
pub(crate) fn of_command(command: &Command) -> Page {
    let full_name = format!("vigil {}", command.name);
    let calls = calls(command.options.synopsis(), &full_name);
    let listed = match command.subcommands {
        [] => options("OPTIONS", command.options),
        _ => subcommands(command),
    };
    Page::new(
        &format!("vigil-{}", command.name),
        command.summary,
        calls,
        listed,
        command.prose,
    )
}

/// Makes the page of Vigil as a whole. `globals` are the options before the command.
pub(crate) fn of_all(commands: &[&Command], globals: &dyn Options) -> Page {
    let mut listed = Section {
        title: "COMMANDS".to_owned(),
        blocks: Vec::new(),
    };
    for command in commands {
        let name = spans(&format!("`vigil-{}`(1)", command.name));
        listed
            .blocks
            .push(Block::Item(name, sentence(command.summary)));
    }
    let mut all = options("OPTIONS", globals);
    all.push(listed);
    Page::new(
        "vigil",
        "Show what changed in a git or Mercurial working copy",
        calls(globals.synopsis(), "vigil"),
        all,
        include_str!("../../pages/vigil.txt"),
    )
}

impl Page {
    /// Orders the sections as in man-pages(7). The first section of `prose` precedes those in `listed`, the others follow them.
    fn new(
        name: &str,
        summary: &str,
        calls: Vec<Block>,
        listed: Vec<Section>,
        prose: &str,
    ) -> Self {
        let section = |title: &str, blocks| Section {
            title: title.to_owned(),
            blocks,
        };
        let purpose = vec![Span::Plain(format!("{name} - {summary}"))];
        let mut written = sections(prose).into_iter();
        let mut sections = vec![
            section("NAME", vec![Block::Paragraph(purpose)]),
            section("SYNOPSIS", calls),
        ];
        sections.extend(written.next());
        sections.extend(listed);
        sections.extend(written);
        Self {
            name: name.to_owned(),
            sections,
        }
    }
}

/// The lines of a synopsis, each beginning with `full_name`: the tables of git's commands name another program.
fn calls(synopsis: &str, full_name: &str) -> Vec<Block> {
    let calls = synopsis.split("\n   or: ");
    let call = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        let named = full_name.split(' ').count();
        let rest = words.get(named..).unwrap_or_default().join(" ");
        Block::Call(spans(&format!("`{full_name}` {rest}")))
    };
    calls.map(call).collect()
}

/// A section that explains the options of a command.
fn options(title: &str, options: &dyn Options) -> Vec<Section> {
    let entries = options.entries();
    if entries.is_empty() {
        return Vec::new();
    }
    vec![Section {
        title: title.to_owned(),
        blocks: entries.iter().flat_map(option).collect(),
    }]
}

/// Explains an option, and separately the opposite of one that is called `--no-...`.
fn option(entry: &OptionEntry<()>) -> Vec<Block> {
    let (bracket, name) = match entry.argument {
        Argument::None => (false, None),
        Argument::Optional(name) => (true, Some(name)),
        Argument::Attached(name) | Argument::Required(name) => (false, Some(name)),
    };
    let value = |before: &str| match name {
        None => String::new(),
        Some(name) => {
            let (open, close) = if bracket { ("[", "]") } else { ("", "") };
            format!("{open}{before}<{name}>{close}")
        }
    };
    let short = entry.short_name().map(|name| {
        // An optional value must be attached to the letter.
        format!("`{name}`{}", value(if bracket { "" } else { " " }))
    });
    let is_inverted = entry.long.starts_with("no-");
    let long = entry.long_name().map(|name| {
        let no = match entry.opposite() {
            Some(_) if !is_inverted => "[no-]",
            _ => "",
        };
        format!("`--{no}{}`{}", name.trim_start_matches('-'), value("="))
    });
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let help = entry.help.replace('\n', " ");
    let mut blocks = vec![Block::Item(spans(&names.join(", ")), sentence(&help))];
    if let (true, Some(name)) = (is_inverted, entry.opposite()) {
        let help = format!("the opposite of `--{}`", entry.long);
        blocks.push(Block::Item(spans(&format!("`{name}`")), sentence(&help)));
    }
    blocks
}

/// Sections for the subcommands of `command`, each with its options.
fn subcommands(command: &Command) -> Vec<Section> {
    let mut blocks = Vec::new();
    for subcommand in command.subcommands {
        let name = spans(&format!("`{}`", subcommand.name));
        blocks.push(Block::Item(name, sentence(subcommand.summary)));
    }
    let mut sections = vec![Section {
        title: "COMMANDS".to_owned(),
        blocks,
    }];
    for subcommand in command.subcommands {
        let title = format!("OPTIONS OF {}", subcommand.name.to_uppercase());
        sections.extend(options(&title, subcommand.options));
    }
    sections
}

/// Returns `text` with a capital at the beginning and a full stop at the end.
fn sentence(text: &str) -> Vec<Span> {
    let mut characters = text.chars();
    let first = characters.next().unwrap_or_default().to_uppercase();
    let stop = if text.ends_with(['.', ')', ']']) {
        ""
    } else {
        "."
    };
    spans(&format!("{first}{}{stop}", characters.as_str()))
}

#[cfg(test)]
mod tests;
