//! What the configuration says about `vigil status`.

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::git::config::{Config, Error};
use vigil_engine::status::UntrackedMode;

use crate::bytes;
use crate::options;
use crate::output::color::{self, Palette};
use crate::reply::{Reply, labelled};

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColorUse {
    Never,
    Always,
    /// On a terminal.
    Auto,
}

/// Rename detection as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renames {
    Off,
    On,
    Copies,
}

/// The configured values, with git's defaults where they are not `Option`s.
#[derive(Debug)]
pub(super) struct Settings {
    pub short: Option<bool>,
    pub branch: Option<bool>,
    pub ahead_behind: Option<bool>,
    pub stash: bool,
    pub relative_paths: bool,
    pub untracked: UntrackedMode,
    pub renames: Renames,
    /// As in [`vigil_engine::status::RenameRule::limit`].
    pub rename_limit: usize,
    pub quote_high_bytes: bool,
    pub color_use: ColorUse,
    /// Whether a pager counts as a terminal.
    pub color_in_pager: bool,
    pub palette: Palette,
}

impl Settings {
    /// Reads the configuration.
    ///
    /// # Errors
    /// A value that git refuses.
    pub(super) fn read(config: &Config) -> Result<Self, Reply> {
        let boolean = |key: &str| config.boolean(key).map_err(fatal);
        Ok(Self {
            short: boolean("status.short")?,
            branch: boolean("status.branch")?,
            ahead_behind: boolean("status.aheadbehind")?,
            stash: boolean("status.showstash")?.unwrap_or(false),
            relative_paths: boolean("status.relativepaths")?.unwrap_or(true),
            untracked: untracked(config)?,
            renames: renames(config)?,
            rename_limit: rename_limit(config)?,
            quote_high_bytes: boolean("core.quotepath")?.unwrap_or(true),
            color_use: color_use(config)?,
            color_in_pager: boolean("color.pager")?.unwrap_or(true),
            palette: palette(config)?,
        })
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn fatal(error: Error) -> Reply {
    Reply::fatal(error.to_string())
}

/// The reply to a value that git's own reader of the key refuses, with its reason.
fn refused(key: &str, reason: &[u8]) -> Reply {
    let stderr = bytes![
        labelled("error: ", reason),
        labelled("fatal: ", format!("bad config variable '{key}'").as_bytes())
    ];
    Reply::complained(stderr, Reply::FATAL)
}

fn untracked(config: &Config) -> Result<UntrackedMode, Reply> {
    const KEY: &str = "status.showuntrackedfiles";
    let Some(value) = config.string(KEY) else {
        return Ok(UntrackedMode::Normal);
    };
    // The configuration knows a key without a value, which is true, from an empty one.
    match config.boolean(KEY) {
        Ok(Some(true)) => Ok(UntrackedMode::Normal),
        Ok(_) => Ok(UntrackedMode::No),
        Err(_) => untracked_mode(value.as_bstr())
            .ok_or_else(|| refused(KEY, &bytes!["Invalid untracked files mode '", value, "'"])),
    }
}

/// The mode that `value` names, or `None`.
pub(super) fn untracked_mode(value: &BStr) -> Option<UntrackedMode> {
    match options::boolean(value) {
        Some(true) => return Some(UntrackedMode::Normal),
        Some(false) => return Some(UntrackedMode::No),
        None => {}
    }
    match value.as_bytes() {
        b"normal" => Some(UntrackedMode::Normal),
        b"all" => Some(UntrackedMode::All),
        _ => None,
    }
}

/// The value of a key that counts: the last of `status.<name>`, else the first of `diff.<name>`, which git lets no
/// later file override for status.
enum Decisive {
    /// The last value of this key.
    LastOf(&'static str),
    /// This one of several.
    Value(&'static str, BString),
    /// There is none.
    Nothing,
}

fn decisive(config: &Config, status_key: &'static str, diff_key: &'static str) -> Decisive {
    if config.string(status_key).is_some() {
        return Decisive::LastOf(status_key);
    }
    let mut values = config.strings(diff_key).into_iter();
    match (values.next(), values.next()) {
        (Some(first), Some(_)) => Decisive::Value(diff_key, first),
        (Some(_), None) => Decisive::LastOf(diff_key),
        (None, _) => Decisive::Nothing,
    }
}

fn renames(config: &Config) -> Result<Renames, Reply> {
    let from_boolean = |is_on| if is_on { Renames::On } else { Renames::Off };
    let means_copies =
        |value: &BStr| value.eq_ignore_ascii_case(b"copies") || value.eq_ignore_ascii_case(b"copy");
    match decisive(config, "status.renames", "diff.renames") {
        Decisive::Nothing => Ok(Renames::On),
        Decisive::LastOf(key) => match config.string(key) {
            Some(value) if means_copies(value.as_bstr()) => Ok(Renames::Copies),
            _ => Ok(from_boolean(
                config.boolean(key).map_err(fatal)?.unwrap_or(true),
            )),
        },
        Decisive::Value(_, value) if means_copies(value.as_bstr()) => Ok(Renames::Copies),
        Decisive::Value(_, value) if value.is_empty() => Ok(Renames::On),
        Decisive::Value(key, value) => match options::boolean(value.as_bstr()) {
            Some(is_on) => Ok(from_boolean(is_on)),
            None => Err(Reply::fatal(bytes![
                "bad boolean config value '",
                value,
                "' for '",
                key,
                "'"
            ])),
        },
    }
}

fn rename_limit(config: &Config) -> Result<usize, Reply> {
    const DEFAULT: usize = 1_000;
    let limit = match decisive(config, "status.renamelimit", "diff.renamelimit") {
        Decisive::Nothing => None,
        Decisive::LastOf(key) => config.integer(key).map_err(fatal)?,
        Decisive::Value(key, value) => match options::integer(value.as_bstr()) {
            Some(limit) => Some(limit.into()),
            None => {
                return Err(Reply::fatal(bytes![
                    "bad numeric config value '",
                    value,
                    "' for '",
                    key,
                    "': invalid unit"
                ]));
            }
        },
    };
    // A negative limit is none that git would take.
    Ok(limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(DEFAULT))
}

fn color_use(config: &Config) -> Result<ColorUse, Reply> {
    for key in ["color.status", "status.color", "color.ui"] {
        let Some(value) = config.string(key) else {
            continue;
        };
        let is = |word: &[u8]| value.eq_ignore_ascii_case(word);
        return if is(b"never") {
            Ok(ColorUse::Never)
        } else if is(b"always") {
            Ok(ColorUse::Always)
        } else if is(b"auto") || config.boolean(key).map_err(fatal)?.unwrap_or(true) {
            Ok(ColorUse::Auto)
        } else {
            Ok(ColorUse::Never)
        };
    }
    Ok(ColorUse::Auto)
}

fn palette(config: &Config) -> Result<Palette, Reply> {
    let mut palette = Palette::default();
    for (names, slot) in palette.slots_mut() {
        for name in names {
            for key in [
                format!("status.color.{name}"),
                format!("color.status.{name}"),
            ] {
                let Some(value) = config.string(&key) else {
                    continue;
                };
                *slot = color::parse(value.as_bstr())
                    .ok_or_else(|| refused(&key, &bytes!["invalid color value: ", value]))?;
            }
        }
    }
    Ok(palette)
}
