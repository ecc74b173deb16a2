//! Decides whether a status is shown in a pager, and in which, as Mercurial does (`hg help pager`).

use bstr::{BString, ByteSlice};
use vigil_hg::abort::Abort;
use vigil_hg::config::{Config, boolean};

use super::arguments::Arguments;
use super::extensions;
use crate::pager;

/// The pager if neither the configuration nor `PAGER` names one.
const DEFAULT: &str = "less";

/// The names of the command, as settings may call it.
const NAMES: [&str; 2] = ["status", "st"];

/// The pager that shows a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Paging {
    /// The program, or a script for sh(1).
    pub(super) command: BString,
    /// Whether it shows warnings and errors, too, if standard error is a terminal.
    pub(super) shows_warnings: bool,
    /// What is said before it starts (`--debug`).
    pub(super) announcement: Option<&'static str>,
}

/// Why there may be a pager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// The user asks for one, whatever is configured and wherever the output goes.
    CommandLine,
    /// The extension `pager` takes care of the command.
    Extension,
    /// The command has much to say.
    Output,
}

/// Returns the pager for a status, if there is one. `is_formatted` is [`super::settings::is_formatted`].
///
/// # Errors
/// The configuration is wrong.
pub(super) fn paging(
    config: &Config,
    arguments: &Arguments,
    is_formatted: bool,
    is_debug: bool,
) -> Result<Option<Paging>, Abort> {
    // Mercurial does not know Vigil's own formats.
    if arguments.own.is_some() {
        return Ok(None);
    }
    let Some(reason) = reason(config, arguments)? else {
        return Ok(None);
    };
    if reason != Reason::CommandLine && !(is_allowed(config, reason)? && is_formatted) {
        return Ok(None);
    }
    let command = config.get("pager", "pager").unwrap_or(DEFAULT.into());
    Ok((!command.is_empty()).then(|| Paging {
        command: command.to_owned(),
        shows_warnings: reason != Reason::Output,
        announcement: is_debug.then(|| reason.announcement()),
    }))
}

impl Paging {
    /// Whether a program is started. Mercurial saves itself the work of cat(1).
    pub(super) fn needs_program(&self) -> bool {
        self.command != "cat"
    }
}

impl Reason {
    fn announcement(self) -> &'static str {
        match self {
            Self::CommandLine => "starting pager for command 'internal-always-status'\n",
            Self::Extension => "starting pager for command 'extension-via-attend-status'\n",
            Self::Output => "starting pager for command 'status'\n",
        }
    }
}

/// Returns why there may be a pager; `None` if something forbids it.
fn reason(config: &Config, arguments: &Arguments) -> Result<Option<Reason>, Abort> {
    // Vigil's own option for this comes before the command, and is as good as Mercurial's.
    let of_vigil = match arguments.pager {
        None => pager::choice(),
        Some(_) => None,
    };
    let said = arguments.pager.as_ref().map(|said| said.as_bstr());
    match (of_vigil, said) {
        (Some(true), _) => return Ok(Some(Reason::CommandLine)),
        (Some(false), _) => return Ok(None),
        (None, Some(said)) if boolean(said) == Some(true) => return Ok(Some(Reason::CommandLine)),
        (None, Some(said)) if said != "auto" => return Ok(None),
        (None, _) => {}
    }
    if !extensions::has(config, "pager") {
        return Ok(Some(Reason::Output));
    }
    let is_attended = is_attended_by_extension(config)?;
    Ok(is_attended.then_some(Reason::Extension))
}

/// Whether the extension `pager` takes care of the command.
fn is_attended_by_extension(config: &Config) -> Result<bool, Abort> {
    let attended = config.list("pager", "attend");
    let ignored = config.list("pager", "ignore");
    // Unless it is set, its list has other commands only.
    let attends_all = config.has("pager", "attend") && attended.is_empty();
    let has = |list: &[BString], name: &str| list.iter().any(|known| known == name);
    for name in NAMES {
        let setting = format!("attend-{name}");
        if config
            .get("pager", &setting)
            .is_some_and(|value| !value.is_empty())
        {
            return config.boolean("pager", &setting, true);
        }
        if has(&attended, name) || attends_all && !has(&ignored, name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the configuration allows a pager.
fn is_allowed(config: &Config, reason: Reason) -> Result<bool, Abort> {
    // The extension asks by another name of the command, to which the other settings do not apply.
    if reason == Reason::Extension {
        return config.boolean("ui", "paginate", true);
    }
    let is_ignored = || {
        let ignored = config.list("pager", "ignore");
        ignored.iter().any(|name| name == "status")
    };
    Ok(!is_ignored()
        && config.boolean("ui", "paginate", true)?
        && config.boolean("pager", "attend-status", true)?)
}
