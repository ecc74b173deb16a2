//! Builds a state, action by action. Every action must succeed, unless stated otherwise.

use bstr::BString;

use crate::action::{Action, Damage, GitRun, tick_time};
use crate::random::names::join;
use crate::sandbox::BASE_TIME;

/// The actions that build a state. Paths are relative to `work`.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) actions: Vec<Action>,
    commits: u64,
}

impl Builder {
    /// Adds any action.
    pub(super) fn act(&mut self, action: Action) -> &mut Self {
        self.actions.push(action);
        self
    }

    /// Runs git in `directory`, relative to the sandbox's root.
    pub(super) fn git_in(&mut self, directory: &str, arguments: &[&str]) -> &mut Self {
        self.commits += 1;
        let mut action = Action::git(directory, arguments);
        if let Action::Git(run) = &mut action {
            let date = BString::from(format!("{} +0000", BASE_TIME + self.commits));
            run.variables.push(("GIT_AUTHOR_DATE".into(), date.clone()));
            run.variables.push(("GIT_COMMITTER_DATE".into(), date));
        }
        self.act(action)
    }

    /// Runs git.
    pub(super) fn git(&mut self, arguments: &[&str]) -> &mut Self {
        self.git_in("work", arguments)
    }

    /// Runs git, which is expected to fail (because of a conflict, for example).
    pub(super) fn git_stops(&mut self, arguments: &[&str]) -> &mut Self {
        self.git(arguments);
        if let Some(Action::Git(run)) = self.actions.last_mut() {
            run.may_fail = true;
        }
        self
    }

    /// Runs git with standard input.
    pub(super) fn git_input(&mut self, arguments: &[&str], input: impl Into<BString>) -> &mut Self {
        self.git(arguments);
        if let Some(Action::Git(run)) = self.actions.last_mut() {
            run.input = Some(input.into());
        }
        self
    }

    /// Runs git with an environment variable.
    pub(super) fn git_with(&mut self, name: &str, value: &str, arguments: &[&str]) -> &mut Self {
        self.git_stops(arguments);
        if let Some(Action::Git(GitRun { variables, .. })) = self.actions.last_mut() {
            variables.push((name.into(), value.into()));
        }
        self
    }

    /// Writes a file.
    pub(super) fn write(&mut self, path: impl AsRef<[u8]>, data: impl Into<BString>) -> &mut Self {
        self.act(Action::write(join(b"work", path.as_ref()), data))
    }

    /// Removes a file or directory.
    pub(super) fn remove(&mut self, path: impl AsRef<[u8]>) -> &mut Self {
        self.act(Action::Remove {
            path: join(b"work", path.as_ref()),
        })
    }

    /// Creates a symbolic link.
    pub(super) fn link(&mut self, path: impl AsRef<[u8]>, target: &str) -> &mut Self {
        self.act(Action::Link {
            path: join(b"work", path.as_ref()),
            target: target.into(),
        })
    }

    /// Creates a directory.
    pub(super) fn directory(&mut self, path: impl AsRef<[u8]>) -> &mut Self {
        self.act(Action::Directory {
            path: join(b"work", path.as_ref()),
        })
    }

    /// Renames a file or directory.
    pub(super) fn rename(&mut self, from: &str, to: &str) -> &mut Self {
        let (from, to) = (join(b"work", from.as_bytes()), join(b"work", to.as_bytes()));
        self.act(Action::Rename { from, to })
    }

    /// Sets an mtime, in hundredths of a second after the base time.
    pub(super) fn time(&mut self, path: impl AsRef<[u8]>, ticks: u64) -> &mut Self {
        let path = join(b"work", path.as_ref());
        self.act(Action::SetTime {
            path,
            nanoseconds: tick_time(ticks),
        })
    }

    /// Sets the permission bits.
    pub(super) fn mode(&mut self, path: &str, mode: u32) -> &mut Self {
        self.act(Action::SetMode {
            path: join(b"work", path.as_bytes()),
            mode,
        })
    }

    /// Damages a file.
    pub(super) fn damage(&mut self, path: &str, damage: Damage) -> &mut Self {
        self.act(Action::Damage {
            path: join(b"work", path.as_bytes()),
            damage,
        })
    }

    /// Adds and commits everything.
    pub(super) fn commit(&mut self, message: &str) -> &mut Self {
        self.git(&["add", "-A"])
            .git(&["commit", "-q", "--allow-empty", "-m", message])
    }

    /// Creates an empty repository.
    pub(super) fn empty(&mut self) -> &mut Self {
        self.git_in(".", &["init", "-q", "work"])
    }

    /// Creates the files of most states: some at the top, some in directories, all committed.
    pub(super) fn base(&mut self) -> &mut Self {
        self.empty().files().commit("base")
    }

    /// Writes the files of [`Builder::base`].
    pub(super) fn files(&mut self) -> &mut Self {
        self.write("a", lines("a"))
            .write("b", lines("b"))
            .write("dir/c", lines("c"));
        self.write("dir/sub/d", lines("d"))
            .write("dir-x", "dash\n")
            .write("dir.x", "dot\n")
    }

    /// Creates the branch `topic`, which changes `a` where `main` does, but differently. Ends on
    /// `main`.
    pub(super) fn fork(&mut self) -> &mut Self {
        self.base()
            .git(&["checkout", "-q", "-b", "topic"])
            .write("a", "theirs\n")
            .commit("their a");
        self.write("b", "theirs\n")
            .commit("their b")
            .git(&["checkout", "-q", "main"]);
        self.write("a", "ours\n")
            .commit("our a")
            .write("b", "ours\n")
            .commit("our b")
    }

    /// Creates a remote `origin` that has `main`.
    pub(super) fn remote(&mut self) -> &mut Self {
        self.base()
            .git_in(".", &["init", "-q", "--bare", "remote.git"]);
        self.git(&["remote", "add", "origin", "{ROOT}/remote.git"])
            .git(&["push", "-q", "-u", "origin", "main"])
    }

    /// Creates a repository `library` with two commits.
    pub(super) fn library(&mut self) -> &mut Self {
        self.git_in(".", &["init", "-q", "library"])
            .act(Action::write("library/file", "one\n"));
        self.git_in("library", &["add", "-A"])
            .git_in("library", &["commit", "-q", "-m", "one"]);
        self.act(Action::write("library/file", "two\n"));
        self.git_in("library", &["commit", "-q", "-a", "-m", "two"])
    }

    /// Adds the submodule `dir/module` to the base, and commits it.
    pub(super) fn submodule(&mut self) -> &mut Self {
        self.base()
            .library()
            .git(&[
                "submodule",
                "--quiet",
                "add",
                "{ROOT}/library",
                "dir/module",
            ])
            .commit("module")
    }
}

/// Twenty lines of text.
pub(super) fn lines(text: &str) -> String {
    (0..20)
        .map(|number| format!("line {number} of {text}\n"))
        .collect()
}
