//! Words that the configuration adds to the command line: `[defaults]`, and aliases of the command.

use bstr::BString;
use vigil_hg::abort::Abort;
use vigil_hg::bytes::{bytes, is_space};
use vigil_hg::config::{Config, Item, ProcessContext};

use super::arguments::Arguments;

/// Returns the command line with the words that the configuration adds, or `None` if it adds none.
///
/// # Errors
/// The configuration turns it into another command, or adds what only Mercurial understands.
pub(super) fn with_configured(
    config: &Config,
    arguments: &Arguments,
    process: &ProcessContext<'_>,
) -> Result<Option<Arguments>, Abort> {
    let command = arguments.command.as_slice();
    let alias = alias(config, command);
    let beginning = match alias {
        None => None,
        Some(alias) => {
            let refused = || refusal_of(alias);
            // Mercurial reports the alias if it shows messages for debugging.
            let is_debug = arguments.debug || config.boolean("ui", "debug", false) == Ok(true);
            if alias.name != command || is_debug || chains_to_another_alias(config, alias) {
                return Err(refused());
            }
            let words = split_like_shell(&alias.value, process).ok_or_else(refused)?;
            match words.split_first() {
                Some((first, rest)) if first == "status" || first == "st" => {
                    let is_numbered = rest.iter().any(|word| word.contains(&b'$'));
                    if is_numbered {
                        return Err(refused());
                    }
                    Some((rest.to_vec(), refused()))
                }
                _ => return Err(refused()),
            }
        }
    };
    // Vigil's own formats list every file, whatever is configured.
    let name = if alias.is_some() { command } else { b"status" };
    let default = config
        .section("defaults")
        .find(|item| item.name == name && !item.value.is_empty() && arguments.own.is_none());
    let default = match default {
        None => None,
        Some(item) => {
            let refused =
                || Abort::unsupported(bytes!("[defaults] ", item.name, " = ", item.value));
            Some((
                split_like_shell(&item.value, process).ok_or_else(refused)?,
                refused(),
            ))
        }
    };
    let (mut added, mut refused) = (Vec::new(), None);
    for (words, refusal) in default.into_iter().chain(beginning) {
        added.extend(words);
        refused = Some(refusal);
    }
    match refused {
        None => Ok(None),
        Some(refused) => match arguments.with_words(added) {
            Some(merged) if alias.is_some() && merged.debug => Err(refused),
            Some(merged) if merged.has_the_early_options_of(arguments) => Ok(Some(merged)),
            _ => Err(refused),
        },
    }
}

/// Refuses a `command` with options that it does not have, if it may be an alias: of something that has them.
///
/// # Errors
/// There is such an alias.
pub(super) fn refuse_alias(config: &Config, command: &[u8]) -> Result<(), Abort> {
    alias(config, command).map_or(Ok(()), |alias| Err(refusal_of(alias)))
}

fn refusal_of(alias: &Item) -> Abort {
    Abort::unsupported(bytes!("the alias '", alias.name, " = ", alias.value, "'"))
}

/// Returns the alias that the typed command may mean: the one of this name, or one that begins with it if it is abbreviated.
fn alias<'c>(config: &'c Config, command: &[u8]) -> Option<&'c Item> {
    let is_whole = command == b"st" || command == b"status";
    config.section("alias").find(|item| match is_whole {
        true => item.name == command,
        false => item.name.starts_with(command),
    })
}

/// Returns whether the command that this alias runs is itself the name of another alias.
fn chains_to_another_alias(config: &Config, alias: &Item) -> bool {
    let first = alias.value.split(|byte| is_space(*byte)).next();
    let mut others = config
        .section("alias")
        .filter(|item| item.name != alias.name);
    others.any(|item| first == Some(item.name.as_slice()))
}

/// Splits a text like a shell, and expands variables in each word. Returns `None` if there is a backslash, a
/// quote is not closed, or a home directory cannot be found out.
fn split_like_shell(text: &[u8], process: &ProcessContext<'_>) -> Option<Vec<BString>> {
    let mut words = Vec::new();
    let mut word: Option<BString> = None;
    let mut quote = None;
    for byte in text {
        match (*byte, quote) {
            (b'\\', _) => return None,
            (byte, Some(open)) if byte == open => quote = None,
            (byte, Some(_)) => word.get_or_insert_default().push(byte),
            (byte @ (b'\'' | b'"'), None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (byte, None) if is_space(byte) => words.extend(word.take()),
            (byte, None) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    let expanded = words.iter().map(|word| process.expand_path(word).ok());
    quote.is_none().then(|| expanded.collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let process = ProcessContext {
            variable: &|name| (name == "A").then(|| "x y".into()),
            cwd: "/".into(),
            started_in: "/".into(),
            uid: 0,
        };
        let read = |text: &str| split_like_shell(text.as_bytes(), &process);
        let all = |words: &[&str]| {
            Some(
                words
                    .iter()
                    .map(|word| BString::from(*word))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(read(" -X 'a b'\"c\"  '' "), all(&["-X", "a bc", ""]));
        assert_eq!(read("-I $A"), all(&["-I", "x y"]));
        assert_eq!(read(""), all(&[]));
        assert_eq!(read("'a"), None);
        assert_eq!(read("a\\ b"), None);
    }
}
