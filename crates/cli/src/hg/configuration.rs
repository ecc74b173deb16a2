//! The configuration that Mercurial reads before it knows the repository in question.

use std::path::Path;

use bstr::BString;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::config::{Config, Configuration, Layers, ProcessContext};
use vigil_hg::repository;
use vigil_stamp::paths::bytes_of;

use super::settings;
use super::subject::add_lines;

/// Reads the configuration of the user with the values of `--config`. Sets `detailed` as [`settings::is_detailed`].
///
/// # Errors
/// The configuration is wrong.
pub(super) fn of_user<'p>(
    process: &'p ProcessContext<'p>,
    options: &[BString],
    detailed: &mut Detailed,
) -> Result<Layers<'p>, Abort> {
    let read = |options: &[BString]| Layers::checked(process, options, settings::check_first);
    let layers = read(options).inspect_err(|_: &Abort| {
        // The options before the wrong one are in effect already.
        let before = (0..options.len()).rev();
        let mut before = before.filter_map(|len| read(options.get(..len)?).ok());
        let layers = before.next();
        *detailed = layers.map_or(Ok(false), |layers| settings::is_detailed(layers.config()));
    })?;
    *detailed = settings::is_detailed(layers.config());
    Ok(layers)
}

/// Returns the configuration that Mercurial reads before it parses the command line: with `layers`, those of
/// [`of_user`] for the same `options`, that of the repository around the working directory, then that of the repository
/// `named` (`-R`; empty if none is), which takes its place. What it says meanwhile is added to `said`.
///
/// # Errors
/// The configuration is wrong, or only Mercurial knows what it would say.
pub(super) fn read_before_parsing(
    process: &ProcessContext<'_>,
    layers: Layers<'_>,
    options: &[BString],
    named: &BString,
    said: &mut Vec<u8>,
) -> Result<Config, Abort> {
    let around = match repository::find(&process.cwd) {
        Some(root) => repository::configure(layers, &root)?,
        None => layers.finish(),
    };
    add_lines(said, &around.warnings);
    let is_configured = around
        .config
        .section("paths")
        .any(|item| item.name == *named);
    if named.is_empty() || is_configured {
        return Ok(around.config);
    }
    let Ok(root) = repository::locate(process, Some(named)) else {
        return Ok(around.config);
    };
    let layers = of_user(process, options, &mut Ok(false))?;
    let configuration = refuse_to_name(named, &root, repository::configure(layers, &root))?;
    add_lines(said, &configuration.warnings);
    Ok(configuration.config)
}

/// Returns the configuration of the repository at `root`, as it was `read`, if it is `named` in another way.
///
/// # Errors
/// It cannot be used, or Mercurial says something of it.
pub(super) fn refuse_to_name(
    named: &BString,
    root: &Path,
    read: Result<Configuration, Abort>,
) -> Result<Configuration, Abort> {
    let is_silent = |read: &Configuration| read.warnings.is_empty();
    if *named != bytes_of(root) && !read.as_ref().is_ok_and(is_silent) {
        // Mercurial names the files as the repository is named.
        let said = "messages about the configuration of a repository that is named (--repository)";
        return Err(Abort::unsupported(said));
    }
    read
}

/// Returns what to say of `abort`, given [`settings::is_detailed`].
pub(super) fn failure(abort: Abort, detailed: &Detailed) -> Abort {
    match detailed {
        Err(unsupported) if abort.kind != Kind::Unsupported => unsupported.clone(),
        _ => abort,
    }
}

/// The result of [`settings::is_detailed`].
pub(super) type Detailed = Result<bool, Abort>;
