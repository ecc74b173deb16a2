//! Values of `diff.*`, which git checks whatever it is asked.

use bstr::{BStr, ByteSlice};

use super::is_word;
use crate::config::{ConfigEntry, Error};
use vigil_model::raw_text::raw;

/// The values of `diff.algorithm`.
const ALGORITHMS: [&str; 5] = ["myers", "default", "minimal", "patience", "histogram"];

/// The lines in which whitespace errors may be highlighted.
const HIGHLIGHTS: [&str; 6] = ["none", "default", "all", "new", "old", "context"];

/// The ways to show moved lines.
const MOVED: [&str; 6] = [
    "plain",
    "blocks",
    "zebra",
    "default",
    "dimmed-zebra",
    "dimmed_zebra",
];

/// Checks the entry `diff.<name>`.
pub(super) fn check(name: &str, entry: &ConfigEntry<'_>) -> Result<(), Error> {
    match name {
        "statnamewidth" | "statgraphwidth" => entry.int().map(drop),
        "context" | "interhunkcontext" => match entry.int()? {
            0.. => Ok(()),
            _ => Err(Error::Bad(entry.refusal())),
        },
        "algorithm" => one_of(entry, &ALGORITHMS),
        "wserrorhighlight" => highlights(entry),
        "colormoved" => color_moved(entry),
        "colormovedws" => color_moved_space(entry),
        _ => match name.rsplit_once('.') {
            Some((_, name)) => driver(name, entry),
            None => Ok(()),
        },
    }
}

/// Checks an entry of a diff driver (gitattributes(5)).
fn driver(name: &str, entry: &ConfigEntry<'_>) -> Result<(), Error> {
    match name {
        "funcname" | "xfuncname" | "command" | "textconv" | "wordregex" | "algorithm" => {
            entry.required().map(drop)
        }
        "binary" if is_word(entry, "auto") => Ok(()),
        "binary" | "trustexitcode" | "cachetextconv" => entry.boolean().map(drop),
        _ => Ok(()),
    }
}

fn one_of(entry: &ConfigEntry<'_>, words: &[&str]) -> Result<(), Error> {
    let value = entry.required()?;
    match words.iter().any(|word| is_word(entry, word)) {
        true => Ok(()),
        false => Err(unknown_value(entry, value)),
    }
}

fn unknown_value(entry: &ConfigEntry<'_>, value: &BStr) -> Error {
    entry.complaint(format!(
        "unknown value for config '{}': {value}",
        raw(entry.key),
        value = raw(value)
    ))
}

/// Checks `diff.wsErrorHighlight`: words separated by commas, with an optional comma at the end.
fn highlights(entry: &ConfigEntry<'_>) -> Result<(), Error> {
    let value = entry.required()?;
    let words = value.strip_suffix(b",").unwrap_or(value);
    let is_known = |word: &[u8]| HIGHLIGHTS.iter().any(|known| known.as_bytes() == word);
    match value.is_empty() || words.split(|byte| *byte == b',').all(is_known) {
        true => Ok(()),
        false => Err(unknown_value(entry, value)),
    }
}

fn color_moved(entry: &ConfigEntry<'_>) -> Result<(), Error> {
    let is_known = |value: &BStr| MOVED.iter().any(|known| known.as_bytes() == value);
    if entry.value.is_some_and(is_known) || entry.boolean().is_ok() {
        return Ok(());
    }
    let text = "color moved setting must be one of 'no', 'default', 'blocks', 'zebra', 'dimmed-zebra', 'plain'";
    Err(entry.complaint(text))
}

/// Checks `diff.colorMovedWS`: words separated by commas; `no` cancels those before it.
fn color_moved_space(entry: &ConfigEntry<'_>) -> Result<(), Error> {
    let value = entry.required()?;
    let mut messages = Vec::new();
    let (mut is_wrong, mut has_indentation, mut has_others) = (false, false, false);
    for word in value.split(|byte| *byte == b',').map(|word| word.trim()) {
        match word {
            b"no" => (is_wrong, has_indentation, has_others) = (false, false, false),
            b"allow-indentation-change" => has_indentation = true,
            b"ignore-space-change" | b"ignore-space-at-eol" | b"ignore-all-space" => {
                has_others = true;
            }
            unknown => {
                let unknown = unknown.as_bstr();
                messages.push(format!("error: unknown color-moved-ws mode '{unknown}', possible values are 'ignore-space-change', 'ignore-space-at-eol', 'ignore-all-space', 'allow-indentation-change'", unknown = raw(unknown)));
                is_wrong = true;
            }
        }
    }
    if has_indentation && has_others {
        messages.push("error: color-moved-ws: allow-indentation-change cannot be combined with other whitespace modes".into());
        is_wrong = true;
    }
    match is_wrong {
        false => Ok(()),
        true => Err(Error::Explained {
            messages,
            text: entry.refusal(),
        }),
    }
}
