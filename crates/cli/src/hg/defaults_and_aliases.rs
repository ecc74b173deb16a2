//! Words that the configuration adds to the command line: `[defaults]`, and aliases of the command.

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::bytes::bytes;
use vigil_hg::config::{Config, ProcessContext};

use super::aliases::{CommandAliases, NotStatus};
use super::arguments::Arguments;
use super::{extensions, settings, shell_words};

/// Why the configuration makes something else of a command line.
pub(super) struct NotMerged {
    pub(super) abort: Abort,
    /// Whether Mercurial says so with the colours of errors, after it has parsed the command line.
    pub(super) is_colored: bool,
}

impl From<Abort> for NotMerged {
    fn from(abort: Abort) -> Self {
        Self {
            abort,
            is_colored: false,
        }
    }
}

/// Returns the command line with the words that the configuration adds, or `None` if it adds none.
///
/// # Errors
/// The configuration turns it into another command, or adds what only Mercurial understands, or is wrong.
pub(super) fn with_configured(
    config: &Config,
    arguments: &Arguments,
    process: &ProcessContext<'_>,
) -> Result<Option<Arguments>, NotMerged> {
    let aliases = CommandAliases::new(config);
    let command = arguments.command.as_bstr();
    let meaning = match aliases.meaning(command) {
        Ok(meaning) => meaning,
        Err(NotStatus::Unknown(abort)) => return Err(abort.into()),
        Err(NotStatus::Wrong(abort)) => return Err(wrong_alias(abort, config, arguments)),
    };
    let is_debug = |arguments: &Arguments| {
        // Mercurial then reports aliases.
        arguments.debug || config.boolean("ui", "debug", false) != Ok(false)
    };
    if meaning.is_alias() {
        let unsupported = match extensions::has(config, "pager") {
            true => Some("the extension 'pager' with aliases".into()),
            false => settings::unsupported_hook(config, &meaning.name),
        };
        if let Some(unsupported) = unsupported {
            return Err(Abort::unsupported(unsupported).into());
        }
    }
    // Vigil's own formats list every file, whatever is configured.
    let of_defaults = match arguments.own {
        Some(_) => None,
        None => words_of_defaults(config, &meaning.name, process)?,
    };
    if !meaning.is_alias() && of_defaults.is_none() {
        return Ok(None);
    }
    let refused = || match (meaning.is_alias(), &of_defaults) {
        (false, Some((_, refusal))) => refusal.clone(),
        _ => aliases.refusal(command),
    };
    let given = meaning.words(arguments.after_command(), process)?;
    let words = of_defaults.iter().flat_map(|(words, _)| words).cloned();
    let merged = arguments.with_words(words.chain(given).collect(), &meaning.name);
    match merged {
        Err(Some(abort)) => Err(abort.into()),
        Ok(merged) if meaning.is_alias() && is_debug(&merged) => Err(refused().into()),
        Ok(merged) if merged.has_the_early_options_of(arguments) => Ok(Some(merged)),
        _ => Err(refused().into()),
    }
}

/// Returns what to say of an alias that is `wrong`.
fn wrong_alias(wrong: Abort, config: &Config, arguments: &Arguments) -> NotMerged {
    if wrong.kind != Kind::Config {
        return wrong.into();
    }
    // Such an alias has no options of its own.
    let command = &arguments.command;
    let mut defaults = config.section("defaults");
    let is_plain = arguments.has_only_early_options()
        && config.boolean("ui", "debug", false) == Ok(false)
        && !defaults.any(|item| item.name == *command)
        && settings::unsupported_hook(config, command).is_none();
    if !is_plain {
        return CommandAliases::new(config)
            .refusal(command.as_bstr())
            .into();
    }
    NotMerged {
        abort: wrong,
        is_colored: true,
    }
}

/// Returns the words that `[defaults]` has for the command `name`, if any, and the refusal if they make no sense.
///
/// # Errors
/// Only Mercurial understands them.
fn words_of_defaults(
    config: &Config,
    name: &[u8],
    process: &ProcessContext<'_>,
) -> Result<Option<(Vec<BString>, Abort)>, Abort> {
    let mut items = config.section("defaults");
    let Some(item) = items.find(|item| item.name == name && !item.value.is_empty()) else {
        return Ok(None);
    };
    let refusal = Abort::unsupported(bytes!("[defaults] ", item.name, " = ", item.value));
    let words = shell_words::split(&item.value).map_err(|_| refusal.clone())?;
    let expanded = words.iter().map(|word| process.expand_path(word).ok());
    match expanded.collect() {
        Some(words) => Ok(Some((words, refusal))),
        None => Err(refusal),
    }
}

/// Says why `command` may have other options than those of the status, if it may.
///
/// # Errors
/// It is an alias, or ambiguous.
pub(super) fn refuse_alias(config: &Config, command: &BStr) -> Result<(), Abort> {
    let aliases = CommandAliases::new(config);
    match aliases.meaning(command) {
        Ok(meaning) if !meaning.is_alias() => Ok(()),
        // Mercurial looks for the command first.
        Err(NotStatus::Wrong(abort)) if abort.kind == Kind::Command => Err(abort),
        _ => Err(aliases.refusal(command)),
    }
}

/// Refuses `command`, which does not surely mean the status, if it may be an alias.
///
/// # Errors
/// It may be one.
pub(super) fn refuse_other_alias(config: &Config, command: &BStr) -> Result<(), Abort> {
    let refusal = CommandAliases::new(config).refusal_of_alias(command);
    refusal.map_or(Ok(()), Err)
}

/// Whether `command`, which is not the status by its name, may be an alias that means the status.
pub(super) fn may_be_status(config: &Config, command: &BStr) -> bool {
    let meaning = CommandAliases::new(config).meaning(command);
    !matches!(meaning, Err(NotStatus::Unknown(_)))
}
