//! Words that the configuration adds to the command line: `[defaults]`, and aliases of the command.

use bstr::BString;
use vigil_hg::abort::Abort;
use vigil_hg::bytes::{bytes, is_space};
use vigil_hg::config::{Config, ConfigItem, ProcessContext};

use super::arguments::Arguments;

/// Words that come before those of the user, and the refusal if they cannot be understood.
struct AddedWords {
    words: Vec<BString>,
    refusal: Abort,
}

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
    let of_alias = match alias {
        Some(alias) => Some(words_of_alias(config, alias, arguments, process)?),
        None => None,
    };
    // Vigil's own formats list every file, whatever is configured.
    let of_defaults = match arguments.own {
        Some(_) => None,
        None => {
            let name = if alias.is_some() { command } else { b"status" };
            words_of_defaults(config, name, process)?
        }
    };
    let (mut words, mut refusal) = (Vec::new(), None);
    for added in of_defaults.into_iter().chain(of_alias) {
        words.extend(added.words);
        refusal = Some(added.refusal);
    }
    let Some(refusal) = refusal else {
        return Ok(None);
    };
    match arguments.with_words(words) {
        Some(merged) if alias.is_some() && merged.debug => Err(refusal),
        Some(merged) if merged.has_the_early_options_of(arguments) => Ok(Some(merged)),
        _ => Err(refusal),
    }
}

/// Returns what `alias` puts between its command, which has to be the status, and the words of the user.
///
/// # Errors
/// It is an alias of another command, or one that only Mercurial understands.
fn words_of_alias(
    config: &Config,
    alias: &ConfigItem,
    arguments: &Arguments,
    process: &ProcessContext<'_>,
) -> Result<AddedWords, Abort> {
    // Mercurial reports the alias if it shows messages for debugging.
    let is_debug = arguments.debug || config.boolean("ui", "debug", false) == Ok(true);
    let is_abbreviated = alias.name != arguments.command;
    let words = split_like_shell(&alias.value, process)
        .filter(|_| !is_abbreviated && !is_debug && !chains_to_another_alias(config, alias));
    let (first, rest) = words
        .as_deref()
        .and_then(|words| words.split_first())
        .ok_or_else(|| refusal_of(alias))?;
    let is_numbered = rest.iter().any(|word| word.contains(&b'$'));
    match (first == "status" || first == "st") && !is_numbered {
        true => Ok(AddedWords {
            words: rest.to_vec(),
            refusal: refusal_of(alias),
        }),
        false => Err(refusal_of(alias)),
    }
}

/// Returns the words that `[defaults]` has for the command `name`, if any.
///
/// # Errors
/// Only Mercurial understands them.
fn words_of_defaults(
    config: &Config,
    name: &[u8],
    process: &ProcessContext<'_>,
) -> Result<Option<AddedWords>, Abort> {
    let mut items = config.section("defaults");
    let Some(item) = items.find(|item| item.name == name && !item.value.is_empty()) else {
        return Ok(None);
    };
    let refusal = Abort::unsupported(bytes!("[defaults] ", item.name, " = ", item.value));
    match split_like_shell(&item.value, process) {
        Some(words) => Ok(Some(AddedWords { words, refusal })),
        None => Err(refusal),
    }
}

/// Refuses a `command` with options that it does not have, if it may be an alias: of something that has them.
///
/// # Errors
/// There is such an alias.
pub(super) fn refuse_alias(config: &Config, command: &[u8]) -> Result<(), Abort> {
    alias(config, command).map_or(Ok(()), |alias| Err(refusal_of(alias)))
}

fn refusal_of(alias: &ConfigItem) -> Abort {
    Abort::unsupported(bytes!("the alias '", alias.name, " = ", alias.value, "'"))
}

/// Returns the alias that the typed command may mean: the one of this name, or one that begins with it if it is abbreviated.
fn alias<'c>(config: &'c Config, command: &[u8]) -> Option<&'c ConfigItem> {
    let is_whole = command == b"st" || command == b"status";
    config.section("alias").find(|item| match is_whole {
        true => item.name == command,
        false => item.name.starts_with(command),
    })
}

/// Returns whether the command that this alias runs is itself the name of another alias.
fn chains_to_another_alias(config: &Config, alias: &ConfigItem) -> bool {
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
