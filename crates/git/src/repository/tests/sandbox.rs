//! Repositories made by real git, and the comparison with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bstr::{BString, ByteSlice};

use crate::environment::Environment;
use crate::repository::settings::Settings;
use crate::repository::{Error, Repository, discover};
use vigil_stamp::paths::{bytes_of, path_of};

/// A directory for repositories, and an environment without anything of this machine.
pub(crate) struct Sandbox {
    _place: vigil_testkit::sandbox::Sandbox,
    pub(crate) root: PathBuf,
    pub(crate) environment: Environment,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let place = vigil_testkit::sandbox::Sandbox::empty();
        let root = place.root().to_owned();
        let environment = Environment::new(place.environment(), &root);
        Self {
            _place: place,
            root,
            environment,
        }
    }

    /// Returns the environment with more variables; `@` stands for the sandbox.
    pub(crate) fn with(&self, variables: &[(&str, &str)], cwd: &str) -> Environment {
        let mut environment = Environment::new(
            self.environment
                .variables()
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
            self.root.join(cwd),
        );
        for (name, value) in variables {
            environment.set(name, value.replace('@', self.root.to_str().unwrap()));
        }
        environment
    }

    pub(crate) fn git(&self, cwd: &str, arguments: &[&str]) -> BString {
        let output = run(&self.with(&[], cwd), arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output.stdout.trim_end().into()
    }

    pub(crate) fn write(&self, path: &str, contents: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents.replace('@', self.root.to_str().unwrap())).unwrap();
    }

    pub(crate) fn append(&self, path: &str, contents: &str) {
        let before = std::fs::read_to_string(self.root.join(path)).unwrap();
        self.write(path, &(before + contents));
    }

    pub(crate) fn folder(&self, path: &str) {
        std::fs::create_dir_all(self.root.join(path)).unwrap();
    }
}

pub(crate) fn run(environment: &Environment, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(arguments)
        .env_clear()
        .envs(
            environment
                .variables()
                .map(|(name, value)| (name.to_os_str().unwrap(), value.to_os_str().unwrap())),
        )
        .current_dir(environment.working_directory())
        .output()
        .unwrap()
}

/// Does what `git status` does before it looks at any file.
fn set_up(environment: &Environment) -> Result<Repository, Error> {
    let repository = discover(environment, environment.working_directory())?;
    repository
        .require_work_tree()
        .map_err(|error| Error::Explained {
            messages: repository.config.messages().to_vec(),
            text: error.to_string(),
        })?;
    Settings::new(&repository)?;
    Ok(repository)
}

/// Returns git's stderr for an error.
fn stderr_of(error: &Error) -> String {
    let mut text: String = error
        .messages()
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    text.push_str(&format!("fatal: {error}\n"));
    text
}

/// Compares the set-up, or its refusal, with git's.
#[track_caller]
pub(crate) fn assert_same_as_git(
    sandbox: &Sandbox,
    cwd: &str,
    variables: &[(&str, &str)],
) -> Option<Repository> {
    let environment = sandbox.with(variables, cwd);
    let status = run(&environment, &["status", "--porcelain"]);
    let what = format!("{cwd:?} {variables:?}");
    let repository = match set_up(&environment) {
        Ok(repository) => repository,
        Err(error) => {
            let expected = stderr_of(&error);
            // Releases up to 2.55 name the directory that is not a repository, or nothing, rather than the file that leads there.
            let is_named_otherwise = expected
                .starts_with("fatal: gitfile does not point to a valid repository: ")
                && status.stderr.starts_with(b"fatal: not a git repository: ");
            if !is_named_otherwise {
                assert_eq!(
                    expected.as_bytes().as_bstr(),
                    status.stderr.as_bstr(),
                    "{what}"
                );
            }
            assert_eq!(status.status.code(), Some(128), "{what}");
            return None;
        }
    };
    assert!(status.status.success(), "{what}: git refuses: {status:?}");
    let messages: String = repository
        .config
        .messages()
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(
        messages.as_bytes().as_bstr(),
        status.stderr.as_bstr(),
        "{what}"
    );
    let questions = [
        "rev-parse",
        "--show-toplevel",
        "--show-prefix",
        "--git-dir",
        "--git-common-dir",
        "--show-object-format",
    ];
    let answers = run(&environment, &questions);
    assert!(answers.status.success(), "{what}: {answers:?}");
    let answers: Vec<&[u8]> = answers.stdout.lines().collect();
    let [top, prefix, git_dir, common_dir, hash] = answers.as_slice() else {
        panic!("{what}: {answers:?}");
    };
    let real = |name: &[u8]| real_folder(&environment.working_directory().join(path_of(name)));
    let work_tree = repository.require_work_tree().unwrap();
    assert_eq!(bytes_of(work_tree), top.as_bstr(), "{what}");
    assert_eq!(repository.prefix, prefix.as_bstr(), "{what}");
    assert_eq!(real_folder(&repository.git_dir), real(git_dir), "{what}");
    assert_eq!(
        real_folder(&repository.common_dir),
        real(common_dir),
        "{what}"
    );
    assert_eq!(repository.hash.to_string().as_bytes(), *hash, "{what}");
    Some(repository)
}

fn real_folder(path: &Path) -> PathBuf {
    path.canonicalize().unwrap()
}
