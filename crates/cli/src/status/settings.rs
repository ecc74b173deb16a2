//! The configuration of how `vigil status` prints.

use bstr::{BString, ByteSlice};
use vigil_git::config::{ConfigEntry, Error};
use vigil_git::operation::comment_prefix;
use vigil_git::repository::Repository;
use vigil_git::repository::settings::Settings;
use vigil_model::raw_text::raw;

use super::column_style::ColumnStyle;
use crate::output::color::{self, ColorUse, HintColors, Palette};

/// The configured values; `None` if there is none that counts.
#[derive(Debug)]
pub(crate) struct PrintSettings {
    /// `color.status`.
    pub(super) color_use: Option<ColorUse>,
    /// `color.ui`, used if `color.status` is not set.
    pub(super) color_use_anywhere: ColorUse,
    /// `color.pager`: whether a pager counts as a terminal.
    pub(super) color_in_pager: bool,
    pub(super) palette: Palette,
    /// `color.diff`, for patches.
    pub(super) color_use_in_patches: Option<ColorUse>,
    pub(super) hint_colors: HintColors,
    /// `advice.statusHints`.
    pub(super) hints: bool,
    /// `advice.statusUoption`.
    pub(super) advises_on_untracked: bool,
    /// `advice.statusAheadBehindWarning`.
    pub(super) advises_on_counting: bool,
    /// The prefix of lines in the long format, if any.
    pub(super) comment_prefix: Option<BString>,
    /// `column.ui` and `column.status`, applied in the order of the configuration.
    pub(super) columns: ColumnStyle,
    /// `core.fsmonitor`.
    pub(super) has_monitor: bool,
}

impl Default for PrintSettings {
    fn default() -> Self {
        Self {
            color_use: None,
            color_use_anywhere: ColorUse::Auto,
            color_in_pager: true,
            palette: Palette::default(),
            color_use_in_patches: None,
            hint_colors: HintColors::default(),
            hints: true,
            advises_on_untracked: true,
            advises_on_counting: true,
            comment_prefix: None,
            columns: ColumnStyle::default(),
            has_monitor: false,
        }
    }
}

/// The parts of patches that have colours.
const IN_PATCHES: [&str; 23] = [
    "plain",
    "context",
    "meta",
    "frag",
    "old",
    "new",
    "commit",
    "whitespace",
    "func",
    "oldmoved",
    "oldmovedalternative",
    "oldmoveddimmed",
    "oldmovedalternativedimmed",
    "newmoved",
    "newmovedalternative",
    "newmoveddimmed",
    "newmovedalternativedimmed",
    "contextdimmed",
    "olddimmed",
    "newdimmed",
    "contextbold",
    "oldbold",
    "newbold",
];

impl PrintSettings {
    /// Reads the settings of `repository`, and those for printing.
    ///
    /// # Errors
    /// git refuses a value.
    pub(super) fn read(repository: &Repository) -> Result<(Settings, Self), Error> {
        let mut print = Self::default();
        let settings = Settings::read_with(repository, |entry| print.take(entry))?;
        print.comment_prefix = settings
            .display_comment_prefix
            .then(|| comment_prefix(&repository.config));
        Ok((settings, print))
    }

    /// Checks one entry; `false` if it is not about printing.
    ///
    /// # Errors
    /// git refuses the value.
    pub(crate) fn check(entry: &ConfigEntry<'_>) -> Result<bool, Error> {
        Self::default().take(entry)
    }

    /// Reads one entry; `false` if it is not about printing.
    ///
    /// # Errors
    /// git refuses the value.
    pub(super) fn take(&mut self, entry: &ConfigEntry<'_>) -> Result<bool, Error> {
        match entry.key.as_bytes() {
            b"status.color" | b"color.status" => self.color_use = Some(ColorUse::of_entry(entry)?),
            b"color.ui" => self.color_use_anywhere = ColorUse::of_entry(entry)?,
            b"color.pager" => self.color_in_pager = entry.boolean()?,
            b"diff.color" | b"color.diff" => {
                self.color_use_in_patches = Some(ColorUse::of_entry(entry)?)
            }
            b"color.advice" | b"color.advice.hint" | b"color.advice.reset" => {
                self.hint_colors.take(entry)?;
            }
            b"advice.statushints" => self.hints = entry.boolean()?,
            b"advice.statusuoption" => self.advises_on_untracked = entry.boolean()?,
            b"advice.statusaheadbehindwarning" => self.advises_on_counting = entry.boolean()?,
            b"column.ui" | b"column.status" => column_style(entry, &mut self.columns)?,
            // A value that is not a boolean is the path of a hook.
            b"core.fsmonitor" => {
                self.has_monitor = entry.boolean().unwrap_or(true);
            }
            key if is_color_of_patches(key) => drop(color::of_entry(entry)?),
            key => {
                let slot = key
                    .strip_prefix(b"color.status.")
                    .or_else(|| key.strip_prefix(b"status.color."));
                let Some(color) = slot.and_then(|name| self.palette.slot_mut(name)) else {
                    return Ok(false);
                };
                *color = color::of_entry(entry)?;
            }
        }
        Ok(true)
    }
}

/// Returns whether this is the colour of a part of patches. git checks these whatever it prints.
fn is_color_of_patches(key: &[u8]) -> bool {
    let name = key
        .strip_prefix(b"color.diff.")
        .or_else(|| key.strip_prefix(b"diff.color."));
    name.is_some_and(|name| IN_PATCHES.iter().any(|known| known.as_bytes() == name))
}

fn column_style(entry: &ConfigEntry<'_>, style: &mut ColumnStyle) -> Result<(), Error> {
    let value = entry.required()?;
    style.apply(value).map_err(|rest| Error::Explained {
        messages: vec![
            format!("error: unsupported option '{rest}'", rest = raw(rest)),
            format!(
                "error: invalid {} mode {value}",
                raw(entry.key),
                value = raw(value)
            ),
        ],
        text: entry.refusal(),
    })
}
