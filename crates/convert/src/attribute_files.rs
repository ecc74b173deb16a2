//! Where attributes are read from, according to the environment and the configuration.

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use bstr::BString;

use vigil_model::config_value;
use vigil_model::raw_text::raw;
use vigil_rules::attributes::AttributeFiles;

use vigil_git::config;
use vigil_git::environment::Environment;
use vigil_git::repository::Repository;

/// The system's attributes file, unless `GIT_ATTR_NOSYSTEM` is set.
const SYSTEM_FILE: &str = "/etc/gitattributes";

/// Returns the places that the configuration and the environment give for `repository`.
///
/// # Errors
/// A value is of the wrong kind.
pub fn attribute_files(repository: &Repository) -> Result<AttributeFiles, Error> {
    let directory = repository.work_tree.as_ref().unwrap_or(&repository.git_dir);
    let top = repository.work_tree.clone();
    files_in(repository, directory, top)
}

/// The same for a command that needs no working tree. Outside of it, or if it is missing, git reads the files of the directory in
/// which it is.
///
/// # Errors
/// A value is of the wrong kind.
pub fn attribute_files_without_need(repository: &Repository) -> Result<AttributeFiles, Error> {
    let directory = repository.directory_without_need();
    let top = (!repository.is_bare()?).then(|| directory.to_owned());
    files_in(repository, directory, top)
}

fn files_in(
    repository: &Repository,
    directory: &Path,
    top: Option<PathBuf>,
) -> Result<AttributeFiles, Error> {
    let no_system = is_true(&repository.environment, "GIT_ATTR_NOSYSTEM")?;
    Ok(AttributeFiles {
        work_tree: top,
        info_file: repository.common_dir.join("info/attributes"),
        info_origin: info_origin(repository),
        user_file: user_file(repository, directory)?,
        system_file: (!no_system).then(|| SYSTEM_FILE.into()),
        fold_case: repository
            .config
            .boolean("core.ignorecase")?
            .unwrap_or(false),
    })
}

/// The tree that attributes should be read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceTree {
    /// Its name, for the caller to resolve.
    pub name: BString,
    /// Whether a name that cannot be resolved is fatal; the error is then [`SourceTree::UNRESOLVED`].
    pub required: bool,
}

impl SourceTree {
    /// git's error for a required tree that cannot be found.
    pub const UNRESOLVED: &str = "bad --attr-source or GIT_ATTR_SOURCE";

    /// Returns the tree named by the environment (`GIT_ATTR_SOURCE`, which `--attr-source` sets) or else by `attr.tree`.
    pub fn of(repository: &Repository) -> Option<Self> {
        if let Some(name) = repository.environment.get("GIT_ATTR_SOURCE") {
            return Some(Self {
                name: name.into(),
                required: true,
            });
        }
        Some(Self {
            name: repository.config.string("attr.tree")?,
            required: false,
        })
    }
}

/// Why attributes cannot be looked up. The text is git's own, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A configuration value of the wrong kind.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// An environment variable that must be a boolean and is not.
    #[error("bad boolean environment value '{value}' for '{name}'", value = raw(value))]
    Environment {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: BString,
    },
}

/// Returns git's name for `info/attributes`: relative to the top of the working tree, if the repository is inside it.
fn info_origin(repository: &Repository) -> BString {
    let inside = repository
        .work_tree
        .as_ref()
        .is_some_and(|top| repository.common_dir == top.join(".git"));
    if inside {
        return ".git/info/attributes".into();
    }
    let path = repository.common_dir.join("info/attributes");
    path.into_os_string().into_vec().into()
}

/// Returns `core.attributesFile`, or the default below `XDG_CONFIG_HOME` or `HOME`.
/// `directory` is git's working directory.
fn user_file(repository: &Repository, directory: &Path) -> Result<Option<PathBuf>, Error> {
    if let Some(path) = repository.config.path("core.attributesfile")? {
        let is_named = !path.as_os_str().is_empty();
        return Ok(is_named.then(|| directory.join(path)));
    }
    let environment = &repository.environment;
    let directory = environment
        .get("XDG_CONFIG_HOME")
        .filter(|directory| !directory.is_empty());
    Ok(match (directory, environment.get("HOME")) {
        (Some(directory), _) => Some(to_path(&[directory, b"/git/attributes"])),
        (None, Some(home)) => Some(to_path(&[home, b"/.config/git/attributes"])),
        (None, None) => None,
    })
}

fn to_path(parts: &[&[u8]]) -> PathBuf {
    std::ffi::OsString::from_vec(parts.concat()).into()
}

/// Reads a boolean environment variable; false if it is not set.
fn is_true(environment: &Environment, name: &'static str) -> Result<bool, Error> {
    let Some(value) = environment.get(name) else {
        return Ok(false);
    };
    config_value::boolean(Some(value)).ok_or_else(|| Error::Environment {
        name,
        value: value.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<AttributeFiles, Error> {
        of_config(variables, b"")
    }

    fn of_config(variables: &[(&str, &str)], text: &[u8]) -> Result<AttributeFiles, Error> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        attribute_files(&Repository {
            git_dir: "/main/.git/worktrees/w".into(),
            git_dir_name: "/main/.git/worktrees/w".into(),
            common_dir: "/main/.git".into(),
            work_tree: Some("/top".into()),
            work_tree_name: None,
            has_contradictory_work_tree: false,
            prefix: BString::default(),
            index_path: "/main/.git/worktrees/w/index".into(),
            object_dir: "/main/.git/objects".into(),
            hash: gix_hash::Kind::Sha1,
            compat_hash: None,
            ref_format: vigil_git::repository::RefFormat::Files,
            ref_dir: "/main/.git/worktrees/w".into(),
            common_ref_dir: "/main/.git".into(),
            config: config::Config::from_bytes(text, "file x").unwrap(),
            environment: Environment::new(variables, "/top"),
            superprojects: Vec::new(),
        })
    }

    #[test]
    fn the_users_file_is_the_one_that_is_named_unless_it_is_optional_and_missing() {
        for (value, expected) in [
            ("/own", Some("/own")),
            ("own", Some("/top/own")),
            (
                ":(optional)/no/such/file",
                Some("/home/x/.config/git/attributes"),
            ),
            (":(optional)/", Some("/")),
            ("", None),
        ] {
            let text = format!("[core]\nattributesFile = {value}\n");
            let settings = of_config(&[("HOME", "/home/x")], text.as_bytes()).unwrap();
            assert_eq!(settings.user_file, expected.map(PathBuf::from), "{value}");
        }
    }

    #[test]
    fn files_lie_where_the_environment_says() {
        let settings = of(&[("HOME", "/home/x"), ("XDG_CONFIG_HOME", "")]).unwrap();
        assert_eq!(
            settings.user_file,
            Some("/home/x/.config/git/attributes".into())
        );
        assert_eq!(settings.system_file, Some(SYSTEM_FILE.into()));
        assert_eq!(
            settings.info_file,
            PathBuf::from("/main/.git/info/attributes")
        );
        assert_eq!(settings.info_origin, "/main/.git/info/attributes");

        let settings = of(&[("XDG_CONFIG_HOME", "/xdg"), ("GIT_ATTR_NOSYSTEM", "yes")]).unwrap();
        assert_eq!(settings.user_file, Some("/xdg/git/attributes".into()));
        assert_eq!(settings.system_file, None);
        assert_eq!(
            of(&[("GIT_ATTR_NOSYSTEM", "maybe")])
                .unwrap_err()
                .to_string(),
            "bad boolean environment value 'maybe' for 'GIT_ATTR_NOSYSTEM'"
        );
    }
}
