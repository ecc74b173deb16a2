//! The usage text, in git's layout.

use super::{Argument, OptionEntry, OptionTable};
use crate::invocation;

/// Whether a usage text has Vigil's own options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnOptions {
    /// Hides Vigil's own options when it stands in for git (`-h`).
    IfVigil,
    /// Shows them (`--help-all`).
    Shown,
}

/// The column where help texts begin.
const HELP_COLUMN: usize = 26;

/// Returns the usage text of `table`.
pub(crate) fn usage<K>(table: &OptionTable<K>, own_options: OwnOptions) -> Vec<u8> {
    let shows_own = own_options == OwnOptions::Shown || invocation::is_vigil();
    text(table.synopsis, table.headings, table.entries, shows_own)
}

/// Returns the usage text of options that are not in a table.
pub(crate) fn usage_without_table(synopsis: &str, entries: &[OptionEntry<()>]) -> Vec<u8> {
    text(synopsis, &[], entries, true)
}

fn text<K>(
    synopsis: &str,
    headings: &[(usize, &str)],
    entries: &[OptionEntry<K>],
    shows_own: bool,
) -> Vec<u8> {
    let mut text = format!("usage: {}\n\n", invocation::named(synopsis));
    for (number, entry) in entries.iter().enumerate() {
        let heading = headings.iter().find(|(before, _)| *before == number);
        if let Some((_, heading)) = heading {
            if number > 0 {
                text.push('\n');
            }
            text.push_str(heading);
            text.push('\n');
        }
        if entry.is_own && !shows_own {
            continue;
        }
        push_line(&mut text, &left_side(entry), entry.help);
        if let (stem, true) = entry.stem() {
            push_line(
                &mut text,
                &format!("    --{stem}"),
                &format!("opposite of --{}", entry.long),
            );
        }
    }
    if !entries.is_empty() {
        text.push('\n');
    }
    text.into_bytes()
}

fn left_side<K>(entry: &OptionEntry<K>) -> String {
    let mut text = String::from("    ");
    if let Some(letter) = entry.short {
        text.extend(['-', char::from(letter)]);
        text.push_str(if entry.long.is_empty() { "" } else { ", " });
    }
    if entry.long.is_empty() {
        return text;
    }
    let (_, is_inverted) = entry.stem();
    text.push_str(if entry.negatable && !is_inverted {
        "--[no-]"
    } else {
        "--"
    });
    text.push_str(entry.long);
    match entry.argument {
        Argument::None => {}
        Argument::Optional(name) => text.push_str(&format!("[=<{name}>]")),
        Argument::Attached(name) => text.push_str(&format!("=<{name}>")),
        // To git, a name with such characters already has its layout.
        Argument::Required(name) if name.contains(['(', ')', '<', '>', '[', ']', '|']) => {
            text.push_str(&format!(" {name}"));
        }
        Argument::Required(name) => text.push_str(&format!(" <{name}>")),
    }
    text
}

fn push_line(text: &mut String, left: &str, help: &str) {
    text.push_str(left);
    match HELP_COLUMN.checked_sub(left.len()) {
        Some(gap @ 1..) => text.push_str(&" ".repeat(gap)),
        _ => {
            text.push('\n');
            text.push_str(&" ".repeat(HELP_COLUMN));
        }
    }
    text.push_str(help);
    text.push('\n');
}
