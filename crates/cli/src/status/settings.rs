//! What the configuration says about `vigil status`.

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::git::config::{BoolOrInt, Config, Entry, Error};
use vigil_engine::git::operation::comment_prefix;
use vigil_engine::status::UntrackedMode;

use super::column_style::ColumnStyle;
use crate::options;
use crate::output::color::{self, Palette};
use crate::reply::Reply;

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

/// The configured values; `None` where nothing, or nothing that counts, is configured.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) short: Option<bool>,
    pub(super) branch: Option<bool>,
    pub(super) ahead_behind: Option<bool>,
    pub(super) stash: bool,
    pub(super) relative_paths: bool,
    pub(super) untracked: UntrackedMode,
    pub(super) renames: Option<Renames>,
    /// As in [`vigil_engine::status::RenameRule::limit`].
    pub(super) rename_limit: Option<usize>,
    pub(super) quote_high_bytes: bool,
    /// `color.status`.
    pub(super) color_use: Option<ColorUse>,
    /// `color.ui`, for where `color.status` is silent.
    pub(super) color_use_anywhere: ColorUse,
    /// Whether a pager counts as a terminal.
    pub(super) color_in_pager: bool,
    pub(super) palette: Palette,
    /// `color.diff`, for patches.
    pub(super) color_use_in_patches: Option<ColorUse>,
    /// `advice.statusHints`.
    pub(super) hints: bool,
    /// `advice.statusUoption`.
    pub(super) advises_on_untracked: bool,
    /// `advice.statusAheadBehindWarning`.
    pub(super) advises_on_counting: bool,
    /// `status.displayCommentPrefix`.
    pub(super) shows_comment_prefix: bool,
    /// What comment lines start with.
    pub(super) comment_prefix: BString,
    /// `column.ui` and `column.status`, in the order in which they are configured.
    pub(super) columns: ColumnStyle,
    /// `status.submoduleSummary`: how many commits, -1 for all, 0 for no summary.
    pub(super) submodule_commits: i32,
    /// `core.fsmonitor`.
    pub(super) has_monitor: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            short: None,
            branch: None,
            ahead_behind: None,
            stash: false,
            relative_paths: true,
            untracked: UntrackedMode::Normal,
            renames: None,
            rename_limit: None,
            quote_high_bytes: true,
            color_use: None,
            color_use_anywhere: ColorUse::Auto,
            color_in_pager: true,
            palette: Palette::default(),
            color_use_in_patches: None,
            hints: true,
            advises_on_untracked: true,
            advises_on_counting: true,
            shows_comment_prefix: false,
            comment_prefix: "#".into(),
            columns: ColumnStyle::default(),
            submodule_commits: 0,
            has_monitor: false,
        }
    }
}

impl Settings {
    /// Reads the configuration, entry by entry as git does: that decides which of two values counts, and which
    /// problem is reported.
    ///
    /// # Errors
    /// The first value that git refuses.
    pub(super) fn read(config: &Config) -> Result<Self, Reply> {
        let mut this = Self {
            comment_prefix: comment_prefix(config),
            ..Self::default()
        };
        for entry in config.entries() {
            this.apply(&entry)
                .map_err(|error| Reply::fatal_after(error.said(), &error))?;
        }
        Ok(this)
    }

    fn apply(&mut self, entry: &Entry<'_>) -> Result<(), Error> {
        match entry.key.as_bytes() {
            b"status.short" => self.short = Some(entry.boolean()?),
            b"status.branch" => self.branch = Some(entry.boolean()?),
            b"status.aheadbehind" => self.ahead_behind = Some(entry.boolean()?),
            b"status.showstash" => self.stash = entry.boolean()?,
            b"status.relativepaths" => self.relative_paths = entry.boolean()?,
            b"status.showuntrackedfiles" => self.untracked = untracked(entry)?,
            b"status.renames" => self.renames = Some(renames(entry)?),
            // The first of these counts, and only until status.renames says otherwise.
            b"diff.renames" if self.renames.is_none() => self.renames = Some(renames(entry)?),
            b"status.renamelimit" => self.rename_limit = rename_limit(entry)?,
            b"diff.renamelimit" if self.rename_limit.is_none() => {
                self.rename_limit = rename_limit(entry)?;
            }
            b"core.quotepath" => self.quote_high_bytes = entry.boolean()?,
            b"status.color" | b"color.status" => self.color_use = Some(color_use(entry)?),
            b"color.ui" => self.color_use_anywhere = color_use(entry)?,
            b"color.pager" => self.color_in_pager = entry.boolean()?,
            b"diff.color" | b"color.diff" => self.color_use_in_patches = Some(color_use(entry)?),
            b"advice.statushints" => self.hints = entry.boolean()?,
            b"advice.statusuoption" => self.advises_on_untracked = entry.boolean()?,
            b"advice.statusaheadbehindwarning" => self.advises_on_counting = entry.boolean()?,
            b"status.submodulesummary" => {
                self.submodule_commits = match entry.bool_or_int()? {
                    BoolOrInt::Bool(false) => 0,
                    BoolOrInt::Bool(true) => -1,
                    BoolOrInt::Int(count) => count,
                };
            }
            b"status.displaycommentprefix" => self.shows_comment_prefix = entry.boolean()?,
            b"column.ui" | b"column.status" => column_style(entry, &mut self.columns)?,
            // A word that is no boolean is the path of a hook.
            b"core.fsmonitor" => {
                self.has_monitor = entry.boolean().unwrap_or(true);
            }
            key => {
                let slot = key
                    .strip_prefix(b"color.status.")
                    .or_else(|| key.strip_prefix(b"status.color."));
                if let Some(color) = slot.and_then(|name| self.palette.slot_mut(name)) {
                    *color = parse_color(entry)?;
                }
            }
        }
        Ok(())
    }
}

fn untracked(entry: &Entry<'_>) -> Result<UntrackedMode, Error> {
    let Some(value) = entry.value else {
        return Ok(UntrackedMode::Normal);
    };
    untracked_mode(value)
        .ok_or_else(|| entry.complaint(format!("Invalid untracked files mode '{value}'")))
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

fn renames(entry: &Entry<'_>) -> Result<Renames, Error> {
    let is = |word: &[u8]| {
        entry
            .value
            .is_some_and(|value| value.eq_ignore_ascii_case(word))
    };
    if is(b"copies") || is(b"copy") {
        return Ok(Renames::Copies);
    }
    Ok(if entry.boolean()? {
        Renames::On
    } else {
        Renames::Off
    })
}

/// A negative limit is none.
fn rename_limit(entry: &Entry<'_>) -> Result<Option<usize>, Error> {
    Ok(usize::try_from(entry.int()?).ok())
}

fn color_use(entry: &Entry<'_>) -> Result<ColorUse, Error> {
    let is = |word: &[u8]| {
        entry
            .value
            .is_some_and(|value| value.eq_ignore_ascii_case(word))
    };
    if is(b"always") {
        return Ok(ColorUse::Always);
    }
    if is(b"never") || (!is(b"auto") && !entry.boolean()?) {
        return Ok(ColorUse::Never);
    }
    Ok(ColorUse::Auto)
}

fn parse_color(entry: &Entry<'_>) -> Result<Vec<u8>, Error> {
    let value = entry.required()?;
    color::parse(value).ok_or_else(|| entry.complaint(format!("invalid color value: {value}")))
}

fn column_style(entry: &Entry<'_>, style: &mut ColumnStyle) -> Result<(), Error> {
    let value = entry.required()?;
    style.apply(value).map_err(|rest| Error::Explained {
        said: vec![
            format!("error: unsupported option '{rest}'"),
            format!("error: invalid {} mode {value}", entry.key),
        ],
        text: entry.refusal(),
    })
}
