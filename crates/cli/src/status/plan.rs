//! Command line and configuration together: what to ask, and how to print it (git-status(1), "CONFIGURATION").

use std::io::IsTerminal;

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::environment::Environment;
use vigil_engine::status::{
    IgnoreSubmodules, IgnoredMode, RenameRule, StatusRequest, UntrackedMode,
};

use super::arguments::{Arguments, FormatChoice};
use super::settings::{ColorUse, Renames, Settings, untracked_mode};
use crate::bytes;
use crate::options;
use crate::output::color::Palette;
use crate::output::{Format, Presentation};
use crate::reply::Reply;

/// The similarity from which two files count as renamed: 50 %.
const MIN_SCORE_DEFAULT: u32 = 30_000;

/// How many candidates are compared where nothing is configured.
const RENAME_LIMIT_DEFAULT: usize = 1_000;

/// What to ask the engine, and how to print the answer.
pub(super) struct Plan {
    pub format: Format,
    pub request: StatusRequest,
    pub presentation: Presentation,
}

impl Plan {
    /// Decides by the rules of git's `status`; `prefix` is the caller's directory in the working tree.
    ///
    /// # Errors
    /// Values that no option takes, or options that exclude each other.
    pub(super) fn new(
        arguments: Arguments,
        settings: &Settings,
        prefix: &BStr,
        environment: &Environment,
    ) -> Result<Self, Reply> {
        let format = format(&arguments, settings)?;
        let is_for_people =
            matches!(format, Format::Long | Format::Short) && !arguments.nul_terminated;
        let configured = |setting: Option<bool>| setting.filter(|_| is_for_people);

        let untracked = match &arguments.untracked {
            None => settings.untracked,
            Some(mode) => untracked_mode(mode.as_bstr())
                .ok_or_else(|| Reply::fatal(bytes!["Invalid untracked files mode '", mode, "'"]))?,
        };
        let ignored = ignored(arguments.ignored.as_ref())?;
        if ignored == IgnoredMode::Matching && untracked == UntrackedMode::No {
            return Err(Reply::fatal(
                "Unsupported combination of ignored and untracked-files arguments",
            ));
        }
        let wants_branch = arguments
            .branch
            .or(configured(settings.branch))
            .unwrap_or(false);
        let wants_stash = arguments.stash.unwrap_or(settings.stash);
        let request = StatusRequest {
            untracked,
            ignored,
            ignore_submodules: ignore_submodules(arguments.ignore_submodules.as_ref())?,
            renames: renames(&arguments, settings),
            ahead_behind: arguments
                .ahead_behind
                .or(configured(settings.ahead_behind))
                .unwrap_or(true),
            branch: wants_branch || matches!(format, Format::Long | Format::Json),
            stash: match format {
                Format::PorcelainV2 | Format::Long => wants_stash,
                Format::Json => true,
                Format::Short | Format::PorcelainV1 => false,
            },
            pathspecs: arguments.pathspecs,
            threads_max: None,
        };
        let presentation = Presentation {
            nul_terminated: arguments.nul_terminated,
            prefix: if settings.relative_paths {
                prefix.to_owned()
            } else {
                BString::default()
            },
            quote_high_bytes: settings.quote_high_bytes,
            palette: match format {
                Format::Short | Format::Long if wants_color(settings, environment) => {
                    settings.palette.clone()
                }
                _ => Palette::plain(),
            },
        };
        Ok(Self {
            format,
            request,
            presentation,
        })
    }
}

fn format(arguments: &Arguments, settings: &Settings) -> Result<Format, Reply> {
    match arguments.format {
        FormatChoice::Long if arguments.nul_terminated => Err(Reply::fatal(
            "options '--long' and '-z' cannot be used together",
        )),
        FormatChoice::Open | FormatChoice::Withdrawn if arguments.nul_terminated => {
            Ok(Format::PorcelainV1)
        }
        FormatChoice::Open if settings.short == Some(true) => Ok(Format::Short),
        FormatChoice::Open | FormatChoice::Withdrawn | FormatChoice::Long => Ok(Format::Long),
        FormatChoice::Short => Ok(Format::Short),
        FormatChoice::PorcelainV1 => Ok(Format::PorcelainV1),
        FormatChoice::PorcelainV2 => Ok(Format::PorcelainV2),
        FormatChoice::Json => Ok(Format::Json),
    }
}

fn ignored(mode: Option<&BString>) -> Result<IgnoredMode, Reply> {
    let Some(mode) = mode else {
        return Ok(IgnoredMode::No);
    };
    match mode.as_slice() {
        b"traditional" => Ok(IgnoredMode::Traditional),
        b"matching" => Ok(IgnoredMode::Matching),
        b"no" => Ok(IgnoredMode::No),
        _ => Err(Reply::fatal(bytes!["Invalid ignored mode '", mode, "'"])),
    }
}

fn ignore_submodules(when: Option<&BString>) -> Result<Option<IgnoreSubmodules>, Reply> {
    let Some(when) = when else {
        return Ok(None);
    };
    match when.as_slice() {
        b"none" => Ok(Some(IgnoreSubmodules::None)),
        b"untracked" => Ok(Some(IgnoreSubmodules::Untracked)),
        b"dirty" => Ok(Some(IgnoreSubmodules::Dirty)),
        b"all" => Ok(Some(IgnoreSubmodules::All)),
        _ => Err(Reply::fatal(bytes![
            "bad --ignore-submodules argument: ",
            when
        ])),
    }
}

/// `--find-renames` turns detection on whatever else is said; `--renames` and `--no-renames` replace the
/// configuration.
fn renames(arguments: &Arguments, settings: &Settings) -> Option<RenameRule> {
    let base = match arguments.renames {
        None => settings.renames.unwrap_or(Renames::On),
        Some(true) => Renames::On,
        Some(false) => Renames::Off,
    };
    if base == Renames::Off && arguments.rename_score.is_none() {
        return None;
    }
    Some(RenameRule {
        copies: base == Renames::Copies,
        min_score: arguments
            .rename_score
            .filter(|&score| score != 0)
            .unwrap_or(MIN_SCORE_DEFAULT),
        limit: settings.rename_limit.unwrap_or(RENAME_LIMIT_DEFAULT),
    })
}

fn wants_color(settings: &Settings, environment: &Environment) -> bool {
    let is_set = |name| environment.get(name).and_then(options::boolean) == Some(true);
    match settings.color_use.unwrap_or(settings.color_use_anywhere) {
        ColorUse::Never => false,
        ColorUse::Always => true,
        ColorUse::Auto => {
            let is_dumb = environment
                .get("TERM")
                .is_none_or(|name| name == BStr::new("dumb"));
            let is_shown = std::io::stdout().is_terminal()
                || (settings.color_in_pager && is_set("GIT_PAGER_IN_USE"));
            is_shown && !is_dumb
        }
    }
}
