//! Command line and configuration together: what to ask, and how to print it (git-status(1), "CONFIGURATION").

use std::io::IsTerminal;

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::environment::Environment;
use vigil_engine::status::{
    IgnoreSubmodules, IgnoredMode, RenameRule, StatusRequest, UntrackedMode,
};

use super::arguments::{Arguments, FormatChoice};
use super::column_style::ColumnUse;
use super::installed_git::Wanted;
use super::settings::{ColorUse, Renames, Settings, untracked_mode};
use crate::bytes;
use crate::options;
use crate::output::color::Palette;
use crate::output::long::columns::Columns;
use crate::output::long::{Additions, LongPresentation};
use crate::output::{Format, Presentation};
use crate::reply::Reply;

/// The similarity from which two files count as renamed: 50 %.
const MIN_SCORE_DEFAULT: u32 = 30_000;

/// How many candidates are compared where nothing is configured.
const RENAME_LIMIT_DEFAULT: usize = 1_000;

/// The width of a terminal of which nothing is known, in cells.
const TERMINAL_WIDTH_DEFAULT: usize = 80;

/// What to ask the engine, and how to print the answer.
pub(super) struct Plan {
    pub format: Format,
    pub request: StatusRequest,
    pub presentation: Presentation,
    /// What the installed git is asked for.
    pub wanted: Wanted,
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
            long: format == Format::Long,
            pathspecs: arguments.pathspecs.clone(),
            threads_max: None,
        };
        let is_colored = wants_color(settings.color_use, settings, environment);
        let wanted = match format {
            Format::Long => wanted(&arguments, settings, &request, environment),
            _ => Wanted::default(),
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
                Format::Short | Format::Long if is_colored => settings.palette.clone(),
                _ => Palette::plain(),
            },
            long: match format {
                Format::Long => long(&arguments, settings, &request, is_colored, environment)?,
                _ => LongPresentation::default(),
            },
        };
        Ok(Self {
            format,
            request,
            presentation,
            wanted,
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

/// How the long format is printed.
fn long(
    arguments: &Arguments,
    settings: &Settings,
    request: &StatusRequest,
    is_colored: bool,
    environment: &Environment,
) -> Result<LongPresentation, Reply> {
    let gives_advice = match environment.get("GIT_ADVICE") {
        None => true,
        Some(value) => options::boolean(value).ok_or_else(|| {
            Reply::fatal(format!(
                "bad boolean environment value '{value}' for 'GIT_ADVICE'"
            ))
        })?,
    };
    Ok(LongPresentation {
        hints: gives_advice && settings.hints,
        advises_on_untracked: gives_advice && settings.advises_on_untracked,
        advises_on_counting: gives_advice && settings.advises_on_counting && request.ahead_behind,
        comment: settings
            .shows_comment_prefix
            .then(|| settings.comment_prefix.clone()),
        columns: columns(arguments, settings, environment),
        shows_untracked: request.untracked != UntrackedMode::No,
        has_monitor: settings.has_monitor,
        // git's own tests set this.
        pretended_search_ms: environment.get("GIT_TEST_UF_DELAY_WARNING").map(|_| 3_250),
        is_colored,
        additions: Additions::default(),
    })
}

/// The command line goes on where the configuration ended.
fn columns(
    arguments: &Arguments,
    settings: &Settings,
    environment: &Environment,
) -> Option<Columns> {
    let mut style = settings.columns;
    for change in &arguments.columns {
        match change {
            None => style.when = ColumnUse::Never,
            Some(words) => {
                style.when = ColumnUse::Always;
                // What is wrong was refused when the command line was read.
                let _ = style.apply(words.as_bstr());
            }
        }
    }
    let is_used = match style.when {
        ColumnUse::Never => false,
        ColumnUse::Always => true,
        ColumnUse::Auto => {
            std::io::stdout().is_terminal() || is_set(environment, "GIT_PAGER_IN_USE")
        }
    };
    is_used.then(|| Columns {
        direction: style.direction,
        is_dense: style.is_dense,
        terminal_width: terminal_width(environment),
    })
}

/// The terminal's width in cells: as `COLUMNS` says, or the terminal, or else 80.
fn terminal_width(environment: &Environment) -> usize {
    let leading_number = |text: &BStr| -> Option<usize> {
        let text = text.trim_ascii_start();
        let text = text.strip_prefix(b"+").unwrap_or(text);
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        text.get(..digits)?.to_str().ok()?.parse().ok()
    };
    let from_environment = environment
        .get("COLUMNS")
        .and_then(leading_number)
        .filter(|&width| width > 0);
    from_environment.unwrap_or_else(|| {
        rustix::termios::tcgetwinsize(rustix::stdio::stdout())
            .ok()
            .map(|size| usize::from(size.ws_col))
            .filter(|&width| width > 0)
            .unwrap_or(TERMINAL_WIDTH_DEFAULT)
    })
}

/// What the long format needs of the installed git.
fn wanted(
    arguments: &Arguments,
    settings: &Settings,
    request: &StatusRequest,
    environment: &Environment,
) -> Wanted {
    let hides_submodules = request.ignore_submodules == Some(IgnoreSubmodules::All);
    Wanted {
        verbosity: arguments.verbosity,
        submodule_commits: if hides_submodules {
            0
        } else {
            settings.submodule_commits
        },
        renames: request.renames,
        colors: wants_color(settings.color_use_in_patches, settings, environment),
    }
}

fn is_set(environment: &Environment, name: &str) -> bool {
    environment.get(name).and_then(options::boolean) == Some(true)
}

/// Whether colours are used where `color_use` says so, or else `color.ui`.
fn wants_color(
    color_use: Option<ColorUse>,
    settings: &Settings,
    environment: &Environment,
) -> bool {
    match color_use.unwrap_or(settings.color_use_anywhere) {
        ColorUse::Never => false,
        ColorUse::Always => true,
        ColorUse::Auto => {
            let is_dumb = environment
                .get("TERM")
                .is_none_or(|name| name == BStr::new("dumb"));
            let is_shown = std::io::stdout().is_terminal()
                || (settings.color_in_pager && is_set(environment, "GIT_PAGER_IN_USE"));
            is_shown && !is_dumb
        }
    }
}
