//! What only Mercurial can answer, by the command line, the configuration and the requirements of the repository.

use vigil_daemon::variables::may_name_own_files;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::config::{Config, Configuration, ProcessContext};
use vigil_hg::repository::Repository;
use vigil_stamp::paths::bytes_of;

use super::arguments::Arguments;
use super::{extensions, settings, store_settings};
use crate::reply::bytes;

/// Refuses what only Mercurial can answer about the opened `repository`, and what it refuses there.
///
/// # Errors
/// The question is one of those, or a setting is wrong.
pub(super) fn refuse_unsupported(
    arguments: &Arguments,
    config: &Config,
    repository: &Repository,
    is_tweaked: bool,
    process: &ProcessContext<'_>,
) -> Result<(), Abort> {
    if let Some(option) = arguments.only_mercurial {
        return Err(Abort::unsupported(bytes!("the option --", option)));
    }
    if !arguments.revisions.is_empty() && arguments.change.is_some() {
        let message = "cannot specify both --rev and --change";
        return Err(Abort::of(Kind::Input, message));
    }
    if let Some(unsupported) = settings::unsupported_output(config, is_tweaked, arguments, process)
    {
        return Err(Abort::unsupported(unsupported));
    }
    let names = arguments.revisions.iter().chain(&arguments.change);
    let is_utf8 = settings::is_utf8(process, arguments);
    if !is_utf8 && !names.clone().all(|name| name.is_ascii()) {
        let message = "names of changesets in another encoding than UTF-8";
        return Err(Abort::unsupported(message));
    }
    if let Some(unsupported) =
        settings::unsupported_names(config, repository, names, arguments.hidden)
    {
        return Err(Abort::unsupported(unsupported));
    }
    if repository.is_sparse()
        && config.has("sparse", "missingwarning")
        && (arguments.debug || config.boolean("ui", "debug", false)?)
    {
        let message = "messages about missing profiles (--debug)";
        return Err(Abort::unsupported(message));
    }
    if process.get("HG_PENDING").is_some() {
        return Err(Abort::unsupported("a pending transaction (HG_PENDING)"));
    }
    Ok(())
}

/// Returns the `opened` repository if all that it requires is understood.
///
/// # Errors
/// It was not opened or is not understood, or `config` may have Mercurial open it in another way, or upgrade it first.
pub(super) fn checked(
    opened: Result<Repository, Abort>,
    config: &Config,
) -> Result<Repository, Abort> {
    let not_opened = |abort| settings::not_opened(config, abort);
    let repository = opened.map_err(not_opened)?;
    repository.requirements.check().map_err(not_opened)?;
    extensions::check_required(config, &repository.requirements).map_err(not_opened)?;
    if let Some(unsupported) = settings::unsupported_upgrade(config, &repository.requirements)? {
        return Err(Abort::unsupported(unsupported));
    }
    store_settings::check(config, &repository.requirements)?;
    Ok(repository)
}

/// Refuses questions that a daemon does not answer.
///
/// # Errors
/// The question is one of those, or `is_kept` is false: nothing would be kept for it.
pub(super) fn decline_in_daemon(
    arguments: &Arguments,
    configuration: &Configuration,
    is_kept: bool,
) -> Result<(), Abort> {
    let config = &configuration.config;
    let mut files = configuration.files.iter();
    let ignoring = config.section("ui");
    let mut ignoring = ignoring.filter(|item| item.name.starts_with(b"ignore"));
    let left = if !config.boolean("vigil", "daemon", true)? {
        "a daemon that the configuration does not want"
    } else if !is_kept {
        "a status of ignored files alone in part of a working copy, by a daemon"
    } else if arguments.names_changesets() || arguments.subrepos {
        "other changesets and repositories, by a daemon"
    } else if !arguments.is_for_a_daemon() {
        "what the configuration adds to the command line, by a daemon"
    } else if files.any(|file| may_name_own_files(bytes_of(file)))
        || ignoring.any(|item| may_name_own_files(&item.value))
    {
        "files of the client's own process, by a daemon"
    } else {
        return Ok(());
    };
    Err(Abort::unsupported(left))
}
