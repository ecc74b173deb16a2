//! Opens the repository around the working directory with its configuration, for commands of Vigil's own.

use std::path::PathBuf;

use bstr::BString;
use vigil_engine::hg_session::verify::{HgVerification, HgVerifyQuestion, verify};
use vigil_engine::hg_session::{self, HgSession};
use vigil_engine::state::StateReport;
use vigil_git::environment::Environment;
use vigil_hg::abort::Abort;
use vigil_hg::config::{Config, Layers, ProcessContext};
use vigil_hg::dirstate::Dirstate;
use vigil_hg::repository::{self, Repository};
use vigil_store::Store;

use super::complaint::complain;
use super::extensions::{self, ExtensionQuestion};
use super::settings;
use crate::reply::Reply;

/// The repository around the working directory.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The repository.
    pub(crate) repository: Repository,
    /// The configuration that applies there.
    pub(crate) config: Config,
    /// The files with the repository's ignore patterns.
    pub(crate) ignore_files: Vec<PathBuf>,
}

impl Opened {
    /// Returns what changes an answer here in ways that only Mercurial knows, if `dirstate` is what is recorded. A status
    /// `shows_large_files`, other answers do not.
    pub(crate) fn unsupported(
        &self,
        environment: &Environment,
        dirstate: &Dirstate,
        shows_large_files: bool,
    ) -> Option<BString> {
        let variable = |name: &str| environment.get(name).map(BString::from);
        let here = ExtensionQuestion {
            repository: &self.repository,
            config: &self.config,
            process: &process_of(environment, &variable),
            dirstate,
            is_verbose: false,
            shows_large_files,
        };
        settings::unsupported_setting(&self.config).or_else(|| here.unsupported())
    }

    /// Returns whether files are converted before they are compared.
    ///
    /// # Errors
    /// It is not understood how.
    pub(crate) fn converts_line_endings(&self, environment: &Environment) -> Result<bool, Abort> {
        let variable = |name: &str| environment.get(name).map(BString::from);
        let process = process_of(environment, &variable);
        let read = extensions::line_endings(&self.repository, &self.config, &process)?;
        Ok(read.is_some())
    }
}

/// Returns this process as Mercurial's configuration sees it, in the working directory of `environment`.
pub(super) fn process_of<'v>(
    environment: &Environment,
    variable: &'v (dyn Fn(&str) -> Option<BString> + Sync),
) -> ProcessContext<'v> {
    ProcessContext {
        variable,
        cwd: environment.working_directory().to_path_buf(),
        started_in: environment.working_directory().to_path_buf(),
        uid: rustix::process::geteuid().as_raw(),
    }
}

/// Opens the repository around the working directory, and reads its configuration.
///
/// # Errors
/// There is no repository, or it is not understood.
pub(crate) fn open(environment: &Environment) -> Result<Opened, Abort> {
    let variable = |name: &str| environment.get(name).map(BString::from);
    let process = process_of(environment, &variable);
    let layers = Layers::of_user(&process, &[])?;
    let root = repository::locate(&process, None)?;
    let config = repository::configure(layers, &root)?.config;
    let repository = Repository::open(&root)?;
    extensions::check_required(&config, &repository.requirements)?;
    let ignore_files = repository.ignore_files(&config, &process)?;
    Ok(Opened {
        repository,
        config,
        ignore_files,
    })
}

/// Opens the repository, and reads one of Vigil's variables, which is true by default.
fn open_for(environment: &Environment, name: &str) -> Result<(Repository, bool), Abort> {
    let opened = open(environment)?;
    let is_set = opened.config.boolean("vigil", name, true)?;
    Ok((opened.repository, is_set))
}

/// Returns the places where the state of the working copy of `repository` may be.
pub(crate) fn places(environment: &Environment, repository: &Repository) -> Vec<Store> {
    hg_session::places(repository, |name| environment.get(name).map(BString::from))
}

/// Compares the state of the working copy with what is found without it. Returns `None` if the configuration wants no state.
///
/// # Errors
/// As for [`state_places`], or the status fails even without the state.
pub(crate) fn state_verification(
    environment: &Environment,
) -> Result<Option<HgVerification>, Reply> {
    let verified = || {
        let opened = open(environment)?;
        if !opened.config.boolean("vigil", "stateFile", true)? {
            return Ok(None);
        }
        let places = places(environment, &opened.repository);
        verify(&HgVerifyQuestion {
            repository: &opened.repository,
            places: &places,
            ignore_files: &opened.ignore_files,
        })
        .map(Some)
    };
    verified().map_err(|abort| complain(&abort, false))
}

/// Returns the places where the state of the working copy may be, even if the configuration no longer wants one.
///
/// # Errors
/// The repository cannot be opened; the reply says why.
pub(crate) fn state_places(environment: &Environment) -> Result<Vec<Store>, Reply> {
    let opened = open(environment).map_err(|abort| complain(&abort, false))?;
    Ok(places(environment, &opened.repository))
}

/// Returns a report on the state, or `None` if the configuration wants no state.
///
/// # Errors
/// As for [`state_places`].
pub(crate) fn state_report(environment: &Environment) -> Result<Option<StateReport>, Reply> {
    let opened = open_for(environment, "stateFile");
    let (repository, is_wanted) = opened.map_err(|abort| complain(&abort, false))?;
    let mut session = HgSession::new(&repository, places(environment, &repository));
    Ok(session.state_report().filter(|_| is_wanted))
}

/// Returns whether Vigil's variable `name` is true, as it is by default; false if that cannot be found out.
pub(super) fn is_wanted(environment: &Environment, name: &str) -> bool {
    open_for(environment, name).is_ok_and(|(_, is_wanted)| is_wanted)
}
