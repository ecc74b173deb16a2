//! The programs that git starts: filters, pagers, and git itself. In which environment they run, and when a shell runs them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bstr::{BStr, BString, ByteSlice, ByteVec};
use rustix::fs::{MemfdFlags, memfd_create};
use vigil_linux::{Errno, errno};

use crate::environment::Environment;
use crate::repository::Repository;

/// What happens to the standard error of filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterStderr {
    /// It goes to this process's own, as in git.
    Inherit,
    /// It is discarded, for processes whose output nobody sees.
    #[default]
    Discard,
    /// No filter runs at all, for a process that answers on behalf of a client: only the client has the right
    /// environment and terminal.
    Refuse,
}

/// The working directory and the environment in which filters run.
#[derive(Clone, Debug, Default)]
pub struct ChildEnvironment {
    /// The working directory: the top of the working tree, or without one the caller's.
    pub directory: PathBuf,
    /// The whole environment.
    pub variables: Vec<(BString, BString)>,
    /// Where their standard error goes.
    pub stderr: FilterStderr,
}

/// Returns a file of these bytes, to be a program's standard input. A pipe would break under a program that exits before it has
/// read everything.
pub(crate) fn input_of(bytes: &[u8]) -> io::Result<Stdio> {
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

/// Characters that make git run a command by a shell; without them it runs the program directly.
const SHELL_CHARACTERS: &[u8] = b"|&;<>()$`\\\"' \t\n*?[#~=%";

impl ChildEnvironment {
    /// Returns what git gives to the filters of `repository`: the caller's environment, with `GIT_DIR` unless the
    /// repository is simply `.git`, and `GIT_PREFIX`.
    pub fn of(repository: &Repository, stderr: FilterStderr) -> Self {
        let mut environment: Environment = repository.environment.clone();
        let bytes = |path: &Path| BString::from(path.as_os_str().as_bytes());
        let directory = match &repository.work_tree {
            Some(top) => {
                if environment.get("GIT_DIR").is_some() || repository.git_dir != top.join(".git") {
                    environment.set("GIT_DIR", bytes(&repository.git_dir));
                }
                if environment.get("GIT_WORK_TREE").is_some() {
                    environment.set("GIT_WORK_TREE", bytes(top));
                }
                top.clone()
            }
            None => {
                if environment.get("GIT_DIR").is_none() {
                    environment.set("GIT_DIR", repository.git_dir_name.clone());
                    environment.set("GIT_IMPLICIT_WORK_TREE", "0");
                }
                environment.working_directory().to_owned()
            }
        };
        environment.set("GIT_PREFIX", repository.prefix.clone());
        if let Some(programs) = environment.get("GIT_EXEC_PATH") {
            let mut path = BString::from(programs);
            if let Some(rest) = environment.get("PATH") {
                path.push_str(b":");
                path.push_str(rest);
            }
            environment.set("PATH", path);
        }
        Self {
            directory,
            variables: environment
                .variables()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            stderr,
        }
    }

    /// The same for a command that needs no working tree. Outside of it, git stays where it is, and leaves what names the
    /// repository alone.
    pub fn without_need(repository: &Repository, stderr: FilterStderr) -> Self {
        let mut child_environment = Self::of(repository, stderr);
        let Some(directory) = repository.directory_outside() else {
            return child_environment;
        };
        child_environment.directory = directory.to_owned();
        for (name, value) in &mut child_environment.variables {
            if matches!(name.as_slice(), b"GIT_DIR" | b"GIT_WORK_TREE") {
                match repository.environment.get(&name.to_str_lossy()) {
                    Some(given) => *value = given.to_owned(),
                    None if repository.git_dir == directory.join(".git") => *value = ".git".into(),
                    None => {}
                }
            }
        }
        child_environment
    }

    /// Gives `process` this working directory and this environment, and no other variables.
    pub fn apply_to<'c>(&self, process: &'c mut Command) -> &'c mut Command {
        let variables = self.variables.iter().map(|(name, value)| {
            (
                OsStr::from_bytes(name.as_slice()),
                OsStr::from_bytes(value.as_slice()),
            )
        });
        process
            .current_dir(&self.directory)
            .env_clear()
            .envs(variables)
    }

    /// Starts `command` with a pipe for its output.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(
        &self,
        command: &BStr,
        arguments: &[&BStr],
        stdin: fn() -> Stdio,
    ) -> io::Result<Child> {
        let start = |mut process: Command| {
            self.apply_to(&mut process)
                .stdin(stdin())
                .stdout(Stdio::piped())
                .stderr(match self.stderr {
                    FilterStderr::Inherit => Stdio::inherit(),
                    FilterStderr::Discard | FilterStderr::Refuse => Stdio::null(),
                })
                .spawn()
        };
        match start(shell_command(command, arguments)) {
            // A script that does not say what runs it.
            Err(error) if errno::of(&error) == Errno::NOEXEC => {
                let mut shell = Command::new("/bin/sh");
                let all = [command].into_iter().chain(arguments.iter().copied());
                shell.args(all.map(|argument| OsStr::from_bytes(argument)));
                start(shell)
            }
            started => started,
        }
    }
}

/// Returns git's complaint about `program`, which cannot be started because of `error`.
pub fn not_started(program: &BStr, error: &io::Error) -> BString {
    // git looks up a program without a folder before it starts a process.
    let is_looked_up = !program.contains(&b'/');
    let (is_known_before, reason) = match errno::of(error) {
        Errno::NOENT | Errno::ACCESS | Errno::NAMETOOLONG if is_looked_up => (true, Errno::NOENT),
        reason => (errno::is_shortage(reason) || reason == Errno::AGAIN, reason),
    };
    let reason = errno::text(reason);
    let (before, after) = match is_known_before {
        true => ("error: cannot run ", ": "),
        false => ("fatal: cannot exec '", "': "),
    };
    [
        before.as_bytes(),
        program,
        after.as_bytes(),
        reason.as_bytes(),
    ]
    .concat()
    .into()
}

/// Whether git, or Mercurial for its pager, has a shell run `command`: it has characters that mean something there.
pub fn needs_shell(command: &BStr) -> bool {
    command.find_byteset(SHELL_CHARACTERS).is_some()
}

/// Builds the process for `command` with `arguments` as git does for commands from its configuration: with a shell
/// only if needed.
pub fn shell_command(command: &BStr, arguments: &[&BStr]) -> Command {
    let program = OsStr::from_bytes(command);
    let mut process = if !needs_shell(command) {
        Command::new(program)
    } else {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c");
        match arguments {
            [] => shell.arg(program),
            _ => shell.arg(OsStr::from_bytes(
                &[command.as_bytes(), b" \"$@\""].concat(),
            )),
        };
        // The shell calls itself by the command in its messages.
        shell.arg(program);
        shell
    };
    process.args(arguments.iter().map(|argument| OsStr::from_bytes(argument)));
    process
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the variables whose names start with `GIT_`, as `GIT_DIR=...` and so on.
    fn git_variables(repository: &Repository) -> Vec<String> {
        ChildEnvironment::of(repository, FilterStderr::Discard)
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .filter(|line| line.starts_with("GIT_"))
            .collect()
    }

    #[test]
    fn filters_learn_where_the_repository_is_as_from_git() {
        let repository = Repository {
            git_dir: "/top/.git".into(),
            git_dir_name: ".git".into(),
            common_dir: "/top/.git".into(),
            work_tree: Some("/top".into()),
            work_tree_name: None,
            has_contradictory_work_tree: false,
            prefix: "sub/".into(),
            index_path: "/top/.git/index".into(),
            object_dir: "/top/.git/objects".into(),
            hash: gix_hash::Kind::Sha1,
            compat_hash: None,
            ref_format: crate::repository::RefFormat::Files,
            ref_dir: "/top/.git".into(),
            common_ref_dir: "/top/.git".into(),
            config: crate::config::Config::default(),
            environment: Environment::default(),
            superprojects: Vec::new(),
        };
        assert_eq!(git_variables(&repository), ["GIT_PREFIX=sub/"]);
        let linked = Repository {
            git_dir: "/main/.git/worktrees/w".into(),
            ..repository
        };
        assert_eq!(
            git_variables(&linked),
            ["GIT_DIR=/main/.git/worktrees/w", "GIT_PREFIX=sub/"]
        );
    }
}
