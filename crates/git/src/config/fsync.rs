//! git's warnings about the settings for writing to disk (`core.fsync`, `core.fsyncMethod` and `core.fsyncObjectFiles` in
//! git-config(1)), which every git command gives. Vigil itself never writes by these settings.

use bstr::{BStr, ByteSlice};

use super::Config;
use vigil_model::raw_text::raw;

/// The names of what can be written, and of groups of them.
const COMPONENTS: [&str; 11] = [
    "loose-object",
    "pack",
    "pack-metadata",
    "commit-graph",
    "index",
    "objects",
    "reference",
    "derived-metadata",
    "committed",
    "added",
    "all",
];

const METHODS: [&str; 3] = ["fsync", "writeout-only", "batch"];

/// Returns the warnings as whole lines, in git's order.
pub(crate) fn warnings(config: &Config) -> Vec<String> {
    let mut messages = Vec::new();
    let mut is_deprecation_said = false;
    for entry in config.entries() {
        match (entry.key.as_bytes(), entry.value) {
            (b"core.fsync", Some(value)) => components(value, &mut messages),
            (b"core.fsyncmethod", Some(value))
                if !METHODS.iter().any(|method| value == *method) =>
            {
                messages.push(format!(
                    "warning: ignoring unknown core.fsyncMethod value '{value}'",
                    value = raw(value)
                ));
            }
            (b"core.fsyncobjectfiles", _) if !is_deprecation_said => {
                let text = "warning: core.fsyncObjectFiles is deprecated; use core.fsync instead";
                messages.push(text.into());
                is_deprecation_said = true;
            }
            _ => {}
        }
    }
    messages
}

/// Checks a list of words separated by commas, each with or without a leading minus. A prefix of a known name is enough.
fn components(value: &BStr, messages: &mut Vec<String>) {
    let mut rest = value.as_bytes();
    loop {
        rest = rest.trim_start_with(|letter| matches!(letter, ',' | ' ' | '\t' | '\n' | '\r'));
        let (word, after) = rest.split_at(rest.find_byte(b',').unwrap_or(rest.len()));
        // "none" has its meaning only as the last word.
        if rest != b"none" {
            let name = word.strip_prefix(b"-").unwrap_or(word);
            if name.is_empty() {
                if !word.is_empty() {
                    messages.push("warning: invalid value for variable core.fsync".into());
                }
                return;
            }
            let is_known = |known: &&str| known.as_bytes().starts_with(name);
            if !COMPONENTS.iter().any(is_known) {
                let name = name.as_bstr();
                messages.push(format!(
                    "warning: ignoring unknown core.fsync component '{name}'",
                    name = raw(name)
                ));
            }
        }
        rest = after;
    }
}
