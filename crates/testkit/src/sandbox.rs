//! An isolated directory for repositories.
//!
//! A sandbox is a temporary directory with its own home directory, `home`, and usually a repository, `work`. Commands run
//! in it see none of the user's configuration and always write with the same identity and dates.
//!
//! The testers get errors ([`Sandbox::act`]). Tests have shorter methods, which panic ([`Sandbox::git`] and those next to
//! it).

mod for_tests;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use gix_hash::Kind;

use crate::action::Action;
use crate::process::{self, Ending};
use crate::shell;
pub use for_tests::{
    FORMATS, RefFormat, TextOutput, git_is_at_least, run_with_input, skip_test, vigil_program,
};

/// The time of every commit, unless another is requested, in seconds since 1970.
pub const BASE_TIME: u64 = 1_700_000_000;

/// The time limit for a git command.
const OPERATION_LIMIT: Duration = Duration::from_secs(10);

/// The user's git configuration inside a sandbox.
const HOME_CONFIG: &str = "[user]\n\tname = A U Thor\n\temail = author@example.com\n[init]\n\tdefaultBranch = main\n\
[commit]\n\tgpgSign = false\n[tag]\n\tgpgSign = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n\
[protocol \"file\"]\n\tallow = always\n[core]\n\teditor = true\n[sequence]\n\teditor = true\n[merge]\n\tconflictStyle = merge\n";

/// Why a sandbox cannot be created or used.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// A file or directory could not be created, or a program could not be started.
    #[error("{deed}: {source}")]
    Io {
        /// What was being done.
        deed: String,
        /// The system's error.
        source: io::Error,
    },
    /// A git command did not end in time.
    #[error("git {arguments} hung")]
    Hung {
        /// The arguments, quoted for a shell.
        arguments: BString,
    },
    /// A git command that had to succeed failed.
    #[error("git {arguments} failed: {stderr}")]
    Git {
        /// The arguments, quoted for a shell.
        arguments: BString,
        /// git's error message.
        stderr: BString,
    },
}

/// Makes an [`SandboxError::Io`] that says what was being done.
pub(crate) fn while_doing(deed: impl Into<String>) -> impl FnOnce(io::Error) -> SandboxError {
    let deed = deed.into();
    move |source| SandboxError::Io { deed, source }
}

/// The arguments, quoted for a shell.
fn quoted_arguments<A: AsRef<[u8]>>(arguments: &[A]) -> BString {
    let words = arguments
        .iter()
        .map(|argument| shell::word(argument.as_ref()));
    bstr::join(" ", words.collect::<Vec<BString>>()).into()
}

/// A temporary directory with a home directory, in which programs run isolated.
#[derive(Debug)]
pub struct Sandbox {
    directory: tempfile::TempDir,
    root: PathBuf,
    git: PathBuf,
    /// Variables that programs see besides [`Sandbox::variables`].
    extra_variables: Vec<(BString, BString)>,
    /// The names of variables that programs do not see.
    hidden_variables: Vec<BString>,
    /// The file that [`Action::Hold`] opened.
    pub(crate) held: Mutex<Option<File>>,
    /// How the repository in `work` stores its references.
    pub format: RefFormat,
    /// The hash function of its object ids.
    pub hash: Kind,
}

/// The default folder for sandboxes: `/dev/shm` if it exists, since nothing in a sandbox must survive; else the system's
/// temporary directory.
pub fn default_parent() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

impl Sandbox {
    /// Creates a sandbox in `parent`, where the program `git` performs the operations.
    ///
    /// # Errors
    /// The directories cannot be created.
    pub fn in_folder(parent: &Path, git: &Path) -> Result<Self, SandboxError> {
        let directory = tempfile::Builder::new()
            .prefix("vigil-")
            .rand_bytes(6)
            .tempdir_in(parent)
            .map_err(while_doing(format!(
                "making a directory in {}",
                parent.display()
            )))?;
        let root = directory
            .path()
            .canonicalize()
            .map_err(while_doing("resolving the sandbox's path"))?
            // One level deeper, so that a question about the directory above sees nothing but this sandbox.
            .join("root");
        std::fs::create_dir(&root).map_err(while_doing("making the sandbox's root"))?;
        let home = root.join("home");
        std::fs::create_dir(&home).map_err(while_doing("making the home directory"))?;
        std::fs::write(home.join(".gitconfig"), HOME_CONFIG)
            .map_err(while_doing("writing .gitconfig"))?;
        Ok(Self {
            directory,
            root,
            git: git.to_owned(),
            extra_variables: Vec::new(),
            hidden_variables: Vec::new(),
            held: Mutex::new(None),
            format: RefFormat::Files,
            hash: Kind::Sha1,
        })
    }

    /// The absolute path of the sandbox, without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The absolute path of `path`, which is relative to the root.
    pub fn path_from_root(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.root.join(Path::new(OsStr::from_bytes(path.as_ref())))
    }

    /// Replaces [`shell::ROOT`] with the root's path.
    pub fn expand(&self, bytes: &[u8]) -> OsString {
        OsString::from_vec(bytes.replace(shell::ROOT, self.root.as_os_str().as_bytes()))
    }

    /// The variables that all programs in the sandbox see, with [`shell::ROOT`] for the root.
    pub fn variables() -> Vec<(&'static str, &'static str)> {
        vec![
            ("HOME", "{ROOT}/home"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "A U Thor"),
            ("GIT_AUTHOR_EMAIL", "author@example.com"),
            ("GIT_COMMITTER_NAME", "C O Mitter"),
            ("GIT_COMMITTER_EMAIL", "committer@example.com"),
            ("GIT_AUTHOR_DATE", "1700000000 +0000"),
            ("GIT_COMMITTER_DATE", "1700000000 +0000"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_EDITOR", "true"),
            ("GIT_MERGE_AUTOEDIT", "no"),
            ("GIT_PAGER", "cat"),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
            ("VIGIL_NO_DAEMON", "1"),
        ]
    }

    /// The variables that make git answer without writing, and without fetching what a partial clone lacks.
    pub fn reading_variables() -> [(&'static str, &'static str); 2] {
        [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1")]
    }

    /// The contents of `home/.gitconfig`.
    pub fn home_config() -> &'static str {
        HOME_CONFIG
    }

    /// The whole environment of programs in the sandbox. It has nothing of this process's environment but `PATH`.
    pub fn environment(&self) -> Vec<(BString, BString)> {
        let bytes = |text: OsString| BString::from(text.into_vec());
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), bytes(path)));
        let own = Self::variables()
            .into_iter()
            .map(|(name, value)| (name.into(), bytes(self.expand(value.as_bytes()))));
        path.into_iter()
            .chain(own)
            .chain(self.extra_variables.iter().cloned())
            .filter(|(name, _)| !self.hidden_variables.contains(name))
            .collect()
    }

    /// A command that runs `program` with the sandbox's environment in `directory`, which is relative to the root. If that
    /// does not exist, its nearest existing ancestor is used.
    pub fn isolated(&self, program: impl AsRef<OsStr>, directory: &[u8]) -> Command {
        let os = |text: BString| OsString::from_vec(text.into());
        let all = self.environment().into_iter();
        let variables: Vec<_> = all.map(|(name, value)| (os(name), os(value))).collect();
        let path = variables.iter().rfind(|(name, _)| name == "PATH");
        let mut command = match path.map(|(_, path)| path) == std::env::var_os("PATH").as_ref() {
            true => process::command(program),
            false => Command::new(program),
        };
        command
            .env_clear()
            .envs(variables)
            .current_dir(self.nearest_directory(directory));
        command
    }

    /// The deepest existing directory on the way to `directory`.
    pub fn nearest_directory(&self, directory: &[u8]) -> PathBuf {
        let mut path = self.path_from_root(directory);
        while path != self.root && !path.is_dir() && path.pop() {}
        path
    }

    /// Same as [`Self::nearest_directory`], relative to the root.
    pub fn nearest(&self, directory: &[u8]) -> BString {
        let path = self.nearest_directory(directory);
        let relative = path.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let relative = relative.as_os_str().as_bytes();
        if relative.is_empty() {
            ".".into()
        } else {
            relative.into()
        }
    }

    /// Runs git in `directory`, relative to the root, and returns its output.
    ///
    /// # Errors
    /// git cannot be started, or fails.
    pub fn run_git<A: AsRef<[u8]>>(
        &self,
        directory: &str,
        arguments: &[A],
    ) -> Result<Vec<u8>, SandboxError> {
        let mut command = self.isolated(&self.git, directory.as_bytes());
        command.args(
            arguments
                .iter()
                .map(|argument| self.expand(argument.as_ref())),
        );
        let outcome = process::run(&mut command, None, OPERATION_LIMIT)
            .map_err(while_doing("starting git"))?;
        if outcome.success() {
            return Ok(outcome.stdout);
        }
        Err(SandboxError::Git {
            arguments: quoted_arguments(arguments),
            stderr: outcome.stderr.into(),
        })
    }

    /// Performs one action.
    ///
    /// # Errors
    /// The action is not possible. A git command that may fail is never an error.
    pub fn act(&self, action: &Action) -> Result<(), SandboxError> {
        match action {
            Action::Git(run) if run.may_fail && !self.path_from_root(&run.directory).is_dir() => {
                Ok(())
            }
            Action::Git(run) => {
                let mut command = self.isolated(&self.git, &run.directory);
                for (name, value) in &run.variables {
                    command.env(self.expand(name), self.expand(value));
                }
                command.args(run.arguments.iter().map(|argument| self.expand(argument)));
                let input = run
                    .input
                    .as_ref()
                    .map(|input| self.expand(input).into_vec());
                let outcome = process::run(&mut command, input.as_deref(), OPERATION_LIMIT)
                    .map_err(while_doing("starting git"))?;
                if outcome.ending == Ending::TimedOut {
                    return Err(SandboxError::Hung {
                        arguments: quoted_arguments(&run.arguments),
                    });
                }
                if outcome.success() || run.may_fail {
                    return Ok(());
                }
                Err(SandboxError::Git {
                    arguments: quoted_arguments(&run.arguments),
                    stderr: outcome.stderr.into(),
                })
            }
            other => other
                .apply_to_files(self)
                .map_err(while_doing(shell::escaped(&other.script()))),
        }
    }

    /// The git program that performs the operations.
    pub fn git_program(&self) -> &Path {
        &self.git
    }

    /// Keeps the directory on disk when the sandbox is dropped.
    pub fn keep(&mut self) {
        self.directory.disable_cleanup(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_the_same_in_every_sandbox() {
        let commit = || {
            let sandbox = Sandbox::new();
            sandbox.write("a b", "x");
            sandbox.git(["add", "."]);
            sandbox.git(["commit", "-qm", "one"]);
            sandbox.git(["rev-parse", "HEAD"])
        };
        let first = commit();
        assert!(first.len() >= 40);
        assert_eq!(first, commit());
    }

    #[test]
    fn failures_say_what_failed() {
        let sandbox = Sandbox::new();
        let error = sandbox
            .run_git("work", &["checkout", "no such"])
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("git checkout 'no such' failed"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_directory_falls_back_to_its_parent() {
        let sandbox = Sandbox::new();
        assert_eq!(sandbox.nearest_directory(b"work/no/such"), sandbox.top());
    }

    #[test]
    fn times_are_set_to_the_nanosecond() {
        use std::os::unix::fs::MetadataExt;
        let sandbox = Sandbox::new();
        sandbox.write("f", "");
        let action = Action::SetTime {
            path: "work/f".into(),
            nanoseconds: 1_700_000_001_000_000_002,
        };
        sandbox.act(&action).unwrap();
        let metadata = sandbox.path("f").metadata().unwrap();
        assert_eq!(
            (metadata.mtime(), metadata.mtime_nsec()),
            (1_700_000_001, 2)
        );
    }
}
