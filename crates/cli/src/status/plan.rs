//! Command line and configuration combined: what to ask, and how to print it (git-status(1), "CONFIGURATION").

use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_daemon::protocol::Terminal;
use vigil_engine::status::StatusRequest;
use vigil_git::config;
use vigil_git::config::Config;
use vigil_git::environment::Environment;
use vigil_git::repository::settings::{Renames, Settings};
use vigil_model::raw_text::message_bytes;
use vigil_model::request::{IgnoreSubmodules, IgnoredMode, RenameRule, UntrackedMode};

use super::arguments::{Arguments, FormatChoice};
use super::column_style::ColumnUse;
use super::installed_git::GitRequest;
use super::settings::PrintSettings;
use crate::output::color::{ColorUse, Palette, is_dumb};
use crate::output::long::columns::Columns;
use crate::output::long::presentation::{Additions, LongPresentation};
use crate::output::{Format, Presentation};
use crate::pager;
use crate::reply::{Reply, bytes};

/// The width of a terminal of unknown width, in cells.
const TERMINAL_WIDTH_DEFAULT: usize = 80;

/// What to ask the engine, and how to print the answer.
pub(super) struct StatusPlan {
    pub format: Format,
    pub request: StatusRequest,
    pub presentation: Presentation,
    /// What the installed git is asked for.
    pub wanted: GitRequest,
    /// An error that is reported only after pathspecs and index have been read.
    pub refusal: Option<Reply>,
    /// The sequences around a hint on standard error, if it is coloured.
    pub hint_colors: Option<[Vec<u8>; 2]>,
    /// Whether git would lock the index.
    locks: bool,
}

impl StatusPlan {
    /// Fails where git would refuse `config` when it locks the index.
    pub(super) fn check_locking(&mut self, config: &Config) {
        if self.locks
            && self.refusal.is_none()
            && let Err(error) = Settings::check_locking(config)
        {
            self.refusal = Some(Reply::fatal_after(error.messages(), &error));
        }
    }

    /// Decides by the rules of git's `status`. `prefix` is the caller's directory as seen from the top of the working tree, and
    /// the answer goes to `terminal`.
    ///
    /// # Errors
    /// An option has an invalid value, or options exclude each other.
    pub(super) fn new(
        arguments: Arguments,
        settings: &Settings,
        print: &PrintSettings,
        prefix: &BStr,
        environment: &Environment,
        terminal: Terminal,
    ) -> Result<Self, Reply> {
        let format = format(&arguments, settings)?;
        let (untracked, ignored) = modes(&arguments, settings)?;
        // Nothing is locked here, but git fails if this is not a boolean.
        let locks = environment_boolean(environment, "GIT_OPTIONAL_LOCKS")?;
        environment_boolean(environment, "GIT_ADVICE")?;
        let (ignore_submodules, refusal) =
            match ignore_submodules(arguments.ignore_submodules.as_ref()) {
                Ok(when) => (when, None),
                Err(refusal) => (None, Some(refusal)),
            };
        let request = StatusRequest {
            untracked,
            ignored,
            ignore_submodules,
            ..request(&arguments, settings, format)
        };
        let is_colored = wants_color(
            print.color_use,
            print,
            environment,
            Stream::Output,
            terminal,
        );
        let wanted = match format {
            Format::Long => wanted(&arguments, settings, print, &request, environment, terminal),
            _ => GitRequest::default(),
        };
        let presentation = Presentation {
            nul_terminated: arguments.nul_terminated,
            prefix: match settings.relative_paths {
                true => prefix.to_owned(),
                false => BString::default(),
            },
            quote_high_bytes: settings.quote_path,
            palette: match format {
                Format::Short | Format::Long if is_colored => print.palette.clone(),
                _ => Palette::plain(),
            },
            long: match format {
                Format::Long => long(
                    &arguments,
                    print,
                    &request,
                    is_colored,
                    environment,
                    terminal,
                )?,
                _ => LongPresentation::default(),
            },
        };
        Ok(Self {
            format,
            request,
            presentation,
            wanted,
            refusal,
            locks,
            hint_colors: wants_color(
                print.hint_colors.color_use,
                print,
                environment,
                Stream::Error,
                terminal,
            )
            .then(|| print.hint_colors.sequences.clone()),
        })
    }
}

/// Returns which untracked and which ignored files are asked for.
///
/// # Errors
/// A mode is unknown, or the two exclude each other.
fn modes(
    arguments: &Arguments,
    settings: &Settings,
) -> Result<(UntrackedMode, IgnoredMode), Reply> {
    let untracked = match &arguments.untracked {
        None => settings.untracked,
        Some(mode) => UntrackedMode::named(mode.as_bstr())
            .ok_or_else(|| Reply::fatal(bytes!["Invalid untracked files mode '", mode, "'"]))?,
    };
    let ignored = ignored(arguments.ignored.as_ref())?;
    if ignored == IgnoredMode::Matching && untracked == UntrackedMode::No {
        return Err(Reply::fatal(
            "Unsupported combination of ignored and untracked-files arguments",
        ));
    }
    Ok((untracked, ignored))
}

/// Returns the request for `format`, apart from options that may be refused.
fn request(arguments: &Arguments, settings: &Settings, format: Format) -> StatusRequest {
    let is_for_people = matches!(format, Format::Long | Format::Short) && !arguments.nul_terminated;
    let wants_branch = arguments.branch.unwrap_or(is_for_people && settings.branch);
    let wants_stash = arguments.stash.unwrap_or(settings.show_stash);
    StatusRequest {
        untracked: settings.untracked,
        ignored: IgnoredMode::No,
        ignore_submodules: None,
        renames: renames(arguments, settings),
        ahead_behind: arguments
            .ahead_behind
            .or(settings.ahead_behind.filter(|_| is_for_people))
            .unwrap_or(true),
        branch: wants_branch || format == Format::Long || format.is_own(),
        upstream_by_place: format == Format::PorcelainV2,
        stash: match format {
            Format::PorcelainV2 | Format::Long => wants_stash,
            Format::Json | Format::Line => true,
            Format::Short | Format::PorcelainV1 => false,
        },
        action: format.is_own(),
        long: format == Format::Long,
        as_diff_index: false,
        unstaged_patches: format == Format::Long && arguments.verbosity > 1,
        pathspecs: arguments.pathspecs.clone(),
        threads_max: None,
        progress: is_for_people.then(Arc::default),
    }
}

fn format(arguments: &Arguments, settings: &Settings) -> Result<Format, Reply> {
    if let Some(own) = arguments.own {
        return Ok(own);
    }
    match arguments.format {
        FormatChoice::Long if arguments.nul_terminated => Err(Reply::fatal(
            "options '--long' and '-z' cannot be used together",
        )),
        FormatChoice::Unspecified | FormatChoice::Negated if arguments.nul_terminated => {
            Ok(Format::PorcelainV1)
        }
        FormatChoice::Unspecified if settings.short => Ok(Format::Short),
        FormatChoice::Unspecified | FormatChoice::Negated | FormatChoice::Long => Ok(Format::Long),
        FormatChoice::Short => Ok(Format::Short),
        FormatChoice::PorcelainV1 => Ok(Format::PorcelainV1),
        FormatChoice::PorcelainV2 => Ok(Format::PorcelainV2),
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
    match IgnoreSubmodules::named(when.as_bstr()) {
        None => Err(Reply::fatal(bytes![
            "bad --ignore-submodules argument: ",
            when
        ])),
        named => Ok(named),
    }
}

/// The rule for renames. `--find-renames` always turns detection on, and `--renames` and `--no-renames` override the
/// configuration.
fn renames(arguments: &Arguments, settings: &Settings) -> Option<RenameRule> {
    let base = match arguments.renames {
        None => settings.renames,
        Some(true) => Renames::Renames,
        Some(false) => Renames::No,
    };
    if base == Renames::No && arguments.rename_score.is_none() {
        return None;
    }
    Some(RenameRule {
        copies: base == Renames::Copies,
        min_score: arguments
            .rename_score
            .filter(|&score| score != 0)
            .unwrap_or(RenameRule::MIN_SCORE),
        limit: settings.rename_limit,
    })
}

/// Reads a boolean from the environment, true if not set.
fn environment_boolean(environment: &Environment, name: &str) -> Result<bool, Reply> {
    config::environment_boolean(environment, name, true)
        .map_err(|error| Reply::fatal(message_bytes(&error)))
}

/// The options of the long format.
fn long(
    arguments: &Arguments,
    print: &PrintSettings,
    request: &StatusRequest,
    is_colored: bool,
    environment: &Environment,
    terminal: Terminal,
) -> Result<LongPresentation, Reply> {
    let gives_advice = environment_boolean(environment, "GIT_ADVICE")?;
    Ok(LongPresentation {
        hints: gives_advice && print.hints,
        advises_on_untracked: gives_advice && print.advises_on_untracked,
        advises_on_counting: gives_advice && print.advises_on_counting && request.ahead_behind,
        comment: print.comment_prefix.clone(),
        columns: columns(arguments, print, environment, terminal),
        shows_untracked: request.untracked != UntrackedMode::No,
        has_monitor: print.has_monitor,
        // Set by git's own tests.
        pretended_search_ms: environment.get("GIT_TEST_UF_DELAY_WARNING").map(|_| 3_250),
        is_colored,
        additions: Additions::default(),
    })
}

/// The columns: the options of the command line are applied to the configured style.
fn columns(
    arguments: &Arguments,
    print: &PrintSettings,
    environment: &Environment,
    terminal: Terminal,
) -> Option<Columns> {
    let mut style = print.columns;
    for change in &arguments.columns {
        match change {
            None => style.when = ColumnUse::Never,
            Some(words) => {
                style.when = ColumnUse::Always;
                // Parsing the command line has already refused invalid words.
                let _ = style.apply(words.as_bstr());
            }
        }
    }
    let is_used = match style.when {
        ColumnUse::Never => false,
        ColumnUse::Always => true,
        ColumnUse::Auto => terminal.is_output || pager::is_in_use(environment),
    };
    is_used.then(|| Columns {
        direction: style.direction,
        is_dense: style.is_dense,
        terminal_width: terminal
            .width
            .map_or(TERMINAL_WIDTH_DEFAULT, |width| width as usize),
    })
}

/// What the long format needs from the installed git.
fn wanted(
    arguments: &Arguments,
    settings: &Settings,
    print: &PrintSettings,
    request: &StatusRequest,
    environment: &Environment,
    terminal: Terminal,
) -> GitRequest {
    let hides_submodules = request.ignore_submodules == Some(IgnoreSubmodules::All);
    GitRequest {
        verbosity: arguments.verbosity,
        submodule_commits: if hides_submodules {
            0
        } else {
            settings.submodule_summary
        },
        renames: request.renames,
        colors: wants_color(
            print.color_use_in_patches,
            print,
            environment,
            Stream::Output,
            terminal,
        ),
    }
}

/// An output stream.
enum Stream {
    Output,
    Error,
}

/// Returns whether `stream` is coloured, according to `color_use` or else `color.ui`.
fn wants_color(
    color_use: Option<ColorUse>,
    print: &PrintSettings,
    environment: &Environment,
    stream: Stream,
    terminal: Terminal,
) -> bool {
    match color_use.unwrap_or(print.color_use_anywhere) {
        ColorUse::Never => false,
        ColorUse::Always => true,
        ColorUse::Auto => {
            let is_shown = match stream {
                Stream::Error => terminal.is_errors,
                Stream::Output => {
                    terminal.is_output || (print.color_in_pager && pager::is_in_use(environment))
                }
            };
            is_shown && !is_dumb(environment)
        }
    }
}
