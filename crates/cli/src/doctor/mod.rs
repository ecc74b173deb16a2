//! `vigil doctor`: tells what is slow here, or may be, and the command that fixes it.
//!
//! It changes nothing, runs nothing that a repository chooses, and reads no more of a repository than it has to: finding out
//! what is wrong with a repository must not require trusting it.

mod check;
mod daemon;
mod machine;
mod mercurial;
mod places;
mod repository;
mod show;
mod stamps;
mod working_tree;

use std::path::{Path, PathBuf};

use bstr::BString;
use vigil_daemon::runtime_folder::RuntimePath;
use vigil_engine::session::Session;
use vigil_engine::session::checkup::Checkup;
use vigil_git::child::FilterStderr;
use vigil_git::config::Config;
use vigil_git::environment::Environment;
use vigil_git::repository::{Error, RefFormat, Repository, discover};
use vigil_git::state_place::{self, in_repository};
use vigil_linux::stat::lstat_path;
use vigil_model::raw_text::text_bytes;

use self::check::{Check, Verdict};
use self::daemon::Configured;
use self::machine::Needed;
use crate::command::Command;
use crate::globals;
use crate::hg;
use crate::inside;
use crate::options::{OptionEntry, OptionTable, OwnOptions, parse, refuse_others, usage};
use crate::reply::Reply;

#[derive(Clone, Copy)]
enum Key {
    Json,
}

const TABLE: OptionTable<Key> = OptionTable {
    synopsis: "vigil doctor [--format=json | --json]",
    headings: &[],
    entries: &[
        OptionEntry::json_format(Key::Json),
        OptionEntry::json(Key::Json),
    ],
};

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "doctor",
    summary: "Find what is slow here, and the command that fixes it",
    options: &TABLE,
    arguments: None,
    subcommands: &[],
    prose: include_str!("../../pages/doctor.txt"),
};

/// Runs the command with `arguments`, the words after its name.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> Reply {
    answer(arguments, environment).unwrap_or_else(|complaint| complaint)
}

fn answer(arguments: &[BString], environment: &Environment) -> Result<Reply, Reply> {
    if arguments == ["--help"] {
        return Ok(Reply::printed(usage(&TABLE, OwnOptions::IfVigil), 0));
    }
    let mut is_json = false;
    let others = parse(&TABLE, arguments, |Key::Json, given| {
        is_json = inside::is_json(given)?;
        Ok(())
    })?;
    refuse_others(&TABLE, &others)?;
    let checks = all(environment)?;
    let is_well = checks.iter().all(|check| check.verdict != Verdict::Problem);
    let stdout = match is_json {
        true => show::json(&checks),
        false => show::text(&checks),
    };
    Ok(Reply::printed(stdout, u8::from(!is_well)))
}

/// All checks, in the order of the report.
fn all(environment: &Environment) -> Result<Vec<Check>, Reply> {
    if hg::is_mercurial(environment) {
        let (here, wants_daemon) = mercurial::here(environment);
        let foreign = hg_top(environment);
        let configured = Configured::Mercurial(wants_daemon);
        return Ok(in_order(environment, here, configured, &foreign));
    }
    let standing = globals::current_directory(environment)?;
    let (here, foreign) = match discover(environment, &standing) {
        Ok(found) => {
            let folders = [Some(found.git_dir.clone()), found.work_tree.clone()];
            (Here::of(&found), folders.into_iter().flatten().collect())
        }
        Err(Error::NotFound(_)) => {
            let none = Check::ok("repository", "none here");
            (Here::only(none), Vec::new())
        }
        Err(error) => (
            Here::only(refused_by_git(&error)),
            vec![refused_top(&standing)],
        ),
    };
    let config = here.config.clone();
    let configured = Configured::Git(config.as_ref());
    Ok(in_order(environment, here, configured, &foreign))
}

/// The top of the Mercurial working copy. Programs inside it are not run.
fn hg_top(environment: &Environment) -> Vec<PathBuf> {
    let mut above = environment.working_directory().ancestors();
    let top = above.find(|folder| lstat_path(&folder.join(".hg")).is_ok());
    top.map(Path::to_owned).into_iter().collect()
}

/// All checks in order, including those of the repository `here`. Programs in a folder of `foreign` are not run.
fn in_order(
    environment: &Environment,
    here: Here,
    configured: Configured<'_>,
    foreign: &[PathBuf],
) -> Vec<Check> {
    let foreign: Vec<&Path> = foreign.iter().map(PathBuf::as_path).collect();
    let (of_daemon, description) = daemon::checks(environment, configured);
    let mut here = here;
    if let (Some(top), Some(daemon)) = (&here.top, &description)
        && daemon::serves_git(daemon, top)
    {
        repository::correct_monitor(&mut here.checks);
    }
    let top = here.top.as_deref();
    let unheard = top.and_then(|top| daemon::unheard(description.as_ref()?, top));
    let mut checks = machine::versions(environment, &foreign);
    checks.extend(machine::limits(Needed {
        directories: here.directories,
        daemon_watches: description.map_or(0, |daemon| daemon.watches),
    }));
    checks.extend(of_daemon);
    checks.extend(unheard);
    let runtime = RuntimePath::of(environment);
    checks.push(places::file_system("runtime folder's disk", runtime.path()));
    checks.extend(here.checks);
    checks
}

/// Reports a repository that git refuses to use.
fn refused_by_git(error: &Error) -> Check {
    let text = error.to_string();
    match error {
        // The rest of the text explains the command.
        Error::Unsafe { remedy, .. } => {
            let fact = text.lines().next().unwrap_or_default();
            Check::problem("repository", text_bytes(fact), text_bytes(remedy))
        }
        _ => refused("repository", &text),
    }
}

fn refused(subject: &'static str, text: &str) -> Check {
    Check::problem(subject, text_bytes(text), "")
}

/// The top of a repository around `standing` that git refuses to use: its owner may have put anything there.
fn refused_top(standing: &Path) -> PathBuf {
    let mut above = standing.ancestors();
    let top = above.find(|folder| lstat_path(&folder.join(".git")).is_ok());
    top.unwrap_or(standing).to_owned()
}

/// What was found out about the repository.
struct Here {
    checks: Vec<Check>,
    /// The number of directories with tracked files, if known.
    directories: Option<u64>,
    /// The top of its working tree.
    top: Option<PathBuf>,
    /// Its configuration.
    config: Option<Config>,
}

impl Here {
    fn only(check: Check) -> Self {
        Self {
            checks: vec![check],
            directories: None,
            top: None,
            config: None,
        }
    }

    fn of(repository: &Repository) -> Self {
        let mut here = Self::only(repository::identity(repository));
        here.top.clone_from(&repository.work_tree);
        here.config = Some(repository.config.clone());
        let checks = &mut here.checks;
        checks.push(places::file_system(
            "repository's disk",
            &repository.git_dir,
        ));
        let maintenance = repository::maintenance(repository);
        if let Some(top) = &repository.work_tree {
            checks.push(places::file_system("working tree's disk", top));
            checks.push(places::mounted_below(top));
            let state = state_place::places(repository);
            let state = state.first().map_or_else(
                || in_repository(repository),
                |store| store.folder().to_owned(),
            );
            checks.push(places::file_system("state's disk", &state));
            match looked_at(repository) {
                Ok((state, found)) => {
                    here.directories = Some(found.directories.into());
                    checks.push(state);
                    checks.extend(working_tree::checks(&found, maintenance.index));
                }
                Err(text) => checks.push(refused("working tree", &text)),
            }
            checks.push(repository::untracked_setting(&repository.config));
            checks.push(repository::monitor(&repository.config, maintenance.monitor));
        }
        let is_reftable = repository.ref_format == RefFormat::Reftable;
        checks.extend(repository::housekeeping(&maintenance, is_reftable));
        here
    }
}

/// Checks the state and the working tree. The error says why that is not possible.
fn looked_at(repository: &Repository) -> Result<(Check, Checkup), String> {
    inside::enter(repository).map_err(|reply| said(&reply))?;
    // Contents are not compared, so no filter runs.
    let session = Session::open(repository.clone(), false, FilterStderr::Refuse);
    let mut session = session.map_err(|error| error.to_string())?;
    let state = repository::state(&session.state_report(), Some(&repository.config));
    let found = session.checkup(working_tree::budget(), working_tree::CROWD_MIN);
    Ok((state, found.map_err(|error| error.to_string())?))
}

/// The text of a reply that is an error.
fn said(reply: &Reply) -> String {
    String::from_utf8_lossy(&reply.stderr).trim_end().to_owned()
}
