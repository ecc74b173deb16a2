//! The configuration that `git status` uses, read once.

mod checks;
mod dirstat;

pub use checks::CommandScope;

use std::path::PathBuf;

use bstr::{BStr, ByteSlice};
use vigil_model::raw_text::raw;
use vigil_model::verdict::StatRules;

use super::opened::Repository;
use crate::config::value::xdg_config;
use crate::config::{BoolOrInt, Config, ConfigEntry, Error};
use vigil_model::request::{IgnoreSubmodules, RenameRule, UntrackedMode};
use vigil_stamp::paths::path_of;

/// git's default limit on rename candidates.
const RENAME_LIMIT: usize = 1000;

/// Whether to detect renames (`status.renames`, `diff.renames`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renames {
    /// Renames are not detected.
    No,
    /// Renames only.
    Renames,
    /// Renames and copies.
    Copies,
}

/// The configuration that `git status` uses; files as absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `core.fileMode`, `core.symlinks`, `core.trustctime`, `core.checkStat`.
    pub stat_rules: StatRules,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
    /// `core.precomposeUnicode`.
    pub precompose_unicode: bool,
    /// `core.quotePath`.
    pub quote_path: bool,
    /// `core.excludesFile`, or `git/ignore` in the user's configuration directory. It need not exist.
    pub excludes_file: Option<PathBuf>,
    /// The name of that file in messages, which may be relative.
    pub excludes_file_name: PathBuf,
    /// `core.attributesFile`, or `git/attributes` in the user's configuration directory. It need not exist.
    pub attributes_file: Option<PathBuf>,
    /// `core.sparseCheckout`.
    pub sparse_checkout: bool,
    /// `core.sparseCheckoutCone`.
    pub sparse_checkout_cone: bool,
    /// `sparse.expectFilesOutsideOfPatterns`: files outside of a sparse checkout count as left out even if they exist.
    pub expects_files_outside: bool,
    /// `status.showUntrackedFiles`.
    pub untracked: UntrackedMode,
    /// `status.relativePaths`.
    pub relative_paths: bool,
    /// `status.short`; an explicit format overrides it.
    pub short: bool,
    /// `status.branch`; ignored for porcelain formats.
    pub branch: bool,
    /// `status.showStash`.
    pub show_stash: bool,
    /// `status.aheadBehind`; ignored for porcelain formats.
    pub ahead_behind: Option<bool>,
    /// `status.displayCommentPrefix`.
    pub display_comment_prefix: bool,
    /// `status.submoduleSummary`: how many commits are listed, -1 for all, 0 for no summary.
    pub submodule_summary: i32,
    /// `status.renames`, or `diff.renames`.
    pub renames: Renames,
    /// `status.renameLimit`, or `diff.renameLimit`; 0 is no limit.
    pub rename_limit: usize,
    /// `diff.ignoreSubmodules`.
    pub ignore_submodules: Option<IgnoreSubmodules>,
    /// `diff.orderFile`, as it is named there. It has no effect on an answer, but must be readable.
    pub order_file: Option<PathBuf>,
    /// `vigil.threads`: the most threads that a scan may use.
    pub threads_max: Option<usize>,
    /// What git says about values that it does not refuse, as whole lines.
    pub warnings: Vec<String>,
}

/// Settings for which unset differs from the default value.
#[derive(Default)]
struct Draft {
    excludes_file: Option<PathBuf>,
    attributes_file: Option<PathBuf>,
    renames: Option<Renames>,
    rename_limit: Option<i32>,
}

impl Settings {
    /// Whether a file that the sparse checkout leaves out counts like any other if it exists.
    pub fn looks_at_present_skipped_files(&self) -> bool {
        self.sparse_checkout && !self.expects_files_outside
    }

    /// Checks the values that git looks up in `config` when it locks the index.
    ///
    /// # Errors
    /// A value at which git exits.
    pub fn check_locking(config: &Config) -> Result<(), Error> {
        checks::check_sharing(config)
    }

    /// Reads the settings of `repository`, and refuses values at which `git status` exits. Unlike elsewhere, values that
    /// a later one overrides must be valid, too, since git checks each.
    ///
    /// # Errors
    /// git exits at a value.
    pub fn new(repository: &Repository) -> Result<Self, Error> {
        Self::read_with(repository, |_| Ok(false))
    }

    /// As [`Self::new`], for a git command that uses only the configuration that every command uses: entries about
    /// status, diffs and colours are not checked. `first` sees each entry before anything else does.
    ///
    /// # Errors
    /// git exits at a value, or `first` refuses an entry.
    pub fn of_any_command(
        repository: &Repository,
        scope: CommandScope,
        mut first: impl FnMut(&ConfigEntry<'_>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        checks::check_last_values(&repository.config, scope)?;
        let counts = |entry: &ConfigEntry<'_>| first(entry).map(|()| is_for_any_command(entry.key));
        Self::read_where(repository, counts, |_| Ok(false))
    }

    /// As [`Self::new`], but offers each entry that is not a setting here to `other`, which returns whether it is one of
    /// its own. So the first value that is refused is the same as in git, which reads everything in one pass.
    ///
    /// # Errors
    /// git exits at a value, or `other` refuses an entry.
    pub fn read_with(
        repository: &Repository,
        other: impl FnMut(&ConfigEntry<'_>) -> Result<bool, Error>,
    ) -> Result<Self, Error> {
        checks::check_last_values(&repository.config, CommandScope::Index)?;
        Self::read_where(repository, |_| Ok(true), other)
    }

    fn read_where(
        repository: &Repository,
        mut counts: impl FnMut(&ConfigEntry<'_>) -> Result<bool, Error>,
        mut other: impl FnMut(&ConfigEntry<'_>) -> Result<bool, Error>,
    ) -> Result<Self, Error> {
        let config = &repository.config;
        let mut settings = Self::default();
        let mut draft = Draft::default();
        for entry in config.entries() {
            if !counts(&entry)? {
                continue;
            }
            let mut read = || {
                if !settings.read(&mut draft, repository, &entry)? && !other(&entry)? {
                    checks::check(&entry)?;
                }
                Ok(())
            };
            let read: Result<(), Error> = read();
            read.map_err(|error| error.after(settings.warnings.clone()))?;
        }
        let name = |path: Option<PathBuf>, default| {
            let path = path.or_else(|| {
                Some(path_of(&xdg_config(&repository.environment, default)?).to_owned())
            });
            path.filter(|path| !path.as_os_str().is_empty())
        };
        let place = |name: &PathBuf| repository.directory().join(name);
        let excludes_file = name(draft.excludes_file, "ignore");
        settings.excludes_file = excludes_file.as_ref().map(place);
        settings.excludes_file_name = excludes_file.unwrap_or_default();
        let attributes_file = name(draft.attributes_file, "attributes");
        settings.attributes_file = attributes_file.as_ref().map(place);
        settings.renames = draft.renames.unwrap_or(settings.renames);
        if let Some(limit) = draft
            .rename_limit
            .and_then(|limit| usize::try_from(limit).ok())
        {
            settings.rename_limit = limit;
        }
        Ok(settings)
    }

    /// The default rule for detecting renames; `None` for not detecting them.
    pub fn rename_rule(&self) -> Option<RenameRule> {
        (self.renames != Renames::No).then_some(RenameRule {
            copies: self.renames == Renames::Copies,
            min_score: RenameRule::MIN_SCORE,
            limit: self.rename_limit,
        })
    }

    /// Reads one entry; false if it is not one of these settings.
    fn read(
        &mut self,
        draft: &mut Draft,
        repository: &Repository,
        entry: &ConfigEntry<'_>,
    ) -> Result<bool, Error> {
        let config = &repository.config;
        match entry.key.as_bytes() {
            b"core.filemode" => self.stat_rules.trust_executable_bit = entry.boolean()?,
            b"core.symlinks" => self.stat_rules.has_symlinks = entry.boolean()?,
            b"core.trustctime" => self.stat_rules.trust_ctime = entry.boolean()?,
            b"core.checkstat" => {
                let value = entry.required()?;
                self.stat_rules.check_all = if value.eq_ignore_ascii_case(b"default") {
                    true
                } else if value.eq_ignore_ascii_case(b"minimal") {
                    false
                } else {
                    return Err(entry.complaint(format!(
                        "invalid value for '{}': '{value}'",
                        raw(entry.key),
                        value = raw(value)
                    )));
                };
            }
            b"core.ignorecase" => self.ignore_case = entry.boolean()?,
            b"core.precomposeunicode" => self.precompose_unicode = entry.boolean()?,
            b"core.quotepath" => self.quote_path = entry.boolean()?,
            b"core.excludesfile" => draft.excludes_file = config.path_of(entry)?,
            b"core.attributesfile" => draft.attributes_file = config.path_of(entry)?,
            b"core.sparsecheckout" => self.sparse_checkout = entry.boolean()?,
            b"sparse.expectfilesoutsideofpatterns" => {
                self.expects_files_outside = entry.boolean()?;
            }
            b"core.sparsecheckoutcone" => self.sparse_checkout_cone = entry.boolean()?,
            b"status.showuntrackedfiles" => self.untracked = untracked(entry)?,
            b"status.relativepaths" => self.relative_paths = entry.boolean()?,
            b"status.short" => self.short = entry.boolean()?,
            b"status.branch" => self.branch = entry.boolean()?,
            b"status.showstash" => self.show_stash = entry.boolean()?,
            b"status.aheadbehind" => self.ahead_behind = Some(entry.boolean()?),
            b"status.displaycommentprefix" => self.display_comment_prefix = entry.boolean()?,
            b"status.submodulesummary" => {
                self.submodule_summary = match entry.bool_or_int()? {
                    BoolOrInt::Bool(true) => -1,
                    BoolOrInt::Bool(false) => 0,
                    BoolOrInt::Int(count) => count,
                };
            }
            b"status.renames" => draft.renames = Some(renames(entry)?),
            // Of the values that stand in for the status's own, the first counts.
            b"diff.renames" => {
                if draft.renames.is_none() {
                    draft.renames = Some(renames(entry)?);
                }
            }
            b"status.renamelimit" => draft.rename_limit = Some(entry.int()?),
            b"diff.renamelimit" => {
                if draft.rename_limit.is_none_or(|limit| limit == -1) {
                    draft.rename_limit = Some(entry.int()?);
                }
            }
            b"diff.ignoresubmodules" => self.ignore_submodules = Some(ignore_submodules(entry)?),
            b"diff.dirstat" => self.warnings.extend(dirstat::warning(entry.required()?)),
            b"diff.submodule" => self.warnings.extend(unknown_submodule_format(entry)?),
            b"diff.orderfile" => {
                // One that is optional and missing leaves an earlier one in force.
                let named = config.path_of(entry)?;
                self.order_file = named.or_else(|| self.order_file.take());
            }
            // Only checked here: the value is used where the state is looked up.
            b"vigil.statefile" => {
                entry.boolean()?;
            }
            b"vigil.threads" => {
                self.threads_max = usize::try_from(entry.int()?)
                    .ok()
                    .filter(|count| *count > 0);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Whether every git command looks at the entry `key`.
fn is_for_any_command(key: &BStr) -> bool {
    const OTHERS: [&str; 6] = [
        "color.",
        "column.",
        "diff.",
        "status.",
        "submodule.",
        "pager.",
    ];
    let is_about_pagers = key == "color.pager" || key == "pager.color";
    !OTHERS.iter().any(|section| key.starts_with_str(section))
        || key.starts_with(b"color.advice")
        || is_about_pagers
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stat_rules: StatRules::default(),
            ignore_case: false,
            precompose_unicode: false,
            quote_path: true,
            excludes_file: None,
            excludes_file_name: PathBuf::new(),
            attributes_file: None,
            sparse_checkout: false,
            sparse_checkout_cone: false,
            expects_files_outside: false,
            untracked: UntrackedMode::default(),
            relative_paths: true,
            short: false,
            branch: false,
            show_stash: false,
            ahead_behind: None,
            display_comment_prefix: false,
            submodule_summary: 0,
            renames: Renames::Renames,
            rename_limit: RENAME_LIMIT,
            ignore_submodules: None,
            order_file: None,
            threads_max: None,
            warnings: Vec::new(),
        }
    }
}

fn untracked(entry: &ConfigEntry<'_>) -> Result<UntrackedMode, Error> {
    let Some(value) = entry.value else {
        return Ok(UntrackedMode::Normal);
    };
    UntrackedMode::named(value).ok_or_else(|| {
        entry.complaint(format!(
            "Invalid untracked files mode '{value}'",
            value = raw(value)
        ))
    })
}

/// Returns git's warning about `diff.submodule`, if the value is not known. It has no effect on a status.
fn unknown_submodule_format(entry: &ConfigEntry<'_>) -> Result<Option<String>, Error> {
    let value = entry.required()?;
    let is_known = [&b"log"[..], b"short", b"diff"].contains(&value.as_bytes());
    Ok((!is_known).then(|| {
        format!(
            "warning: Unknown value for 'diff.submodule' config variable: '{value}'",
            value = raw(value)
        )
    }))
}

fn renames(entry: &ConfigEntry<'_>) -> Result<Renames, Error> {
    let is_copies =
        |value: &BStr| value.eq_ignore_ascii_case(b"copies") || value.eq_ignore_ascii_case(b"copy");
    if entry.value.is_some_and(is_copies) {
        Ok(Renames::Copies)
    } else if entry.boolean()? {
        Ok(Renames::Renames)
    } else {
        Ok(Renames::No)
    }
}

fn ignore_submodules(entry: &ConfigEntry<'_>) -> Result<IgnoreSubmodules, Error> {
    let value = entry.required()?;
    IgnoreSubmodules::named(value).ok_or_else(|| {
        Error::Bad(format!(
            "bad --ignore-submodules argument: {value}",
            value = raw(value)
        ))
    })
}
