//! Objects that a partial clone left out: git fetches them on demand (`extensions.partialClone` and
//! `remote.<name>.promisor` in git-config(1), gitformat "partial clone").

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use bstr::{BString, ByteSlice};
use gix_hash::{ObjectId, oid};
use parking_lot::Mutex;
use vigil_linux::errno;
use vigil_model::raw_text::raw;

use crate::child::{ChildEnvironment, FilterStderr, input_of};
use crate::config::{self, Config};
use crate::repository::Repository;
use vigil_objects::{FetchMissing, Reason};

/// The remotes from which missing objects are fetched, by the installed git.
#[derive(Debug)]
pub(crate) struct Promisor {
    remotes: Remotes,
    child_environment: ChildEnvironment,
    is_quiet: bool,
    /// Whether git's messages about the remotes were reported. Locked while git fetches: one object at a time.
    is_told: Mutex<bool>,
}

impl Promisor {
    /// Returns the promisor remotes of `repository`, if there are any and fetching is allowed (`GIT_NO_LAZY_FETCH`).
    ///
    /// # Errors
    /// A configured value is invalid.
    pub(crate) fn of(repository: &Repository) -> Result<Option<Self>, config::Error> {
        let environment = &repository.environment;
        if config::environment_boolean(environment, "GIT_NO_LAZY_FETCH", false)? {
            return Ok(None);
        }
        let remotes = Remotes::of(&repository.config);
        if remotes.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            remotes,
            child_environment: ChildEnvironment::of(repository, FilterStderr::Inherit),
            is_quiet: matches!(repository.config.boolean("promisor.quiet"), Ok(Some(true))),
            is_told: Mutex::default(),
        }))
    }

    /// The error over which git exits if no remote can be asked for `id`.
    pub(crate) fn unreached(&self, id: &oid) -> Reason {
        match &self.remotes.refusal {
            Some(text) => Reason::BadPromisor { text: text.clone() },
            None => Reason::NotFetched { id: id.to_owned() },
        }
    }

    fn fetch_from(&self, remote: &BString, ids: &[ObjectId]) -> std::io::Result<bool> {
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let mut command = Command::new("git");
        self.child_environment
            .apply_to(&mut command)
            .args(["-c", "fetch.negotiationAlgorithm=noop", "fetch"])
            .arg(OsStr::from_bytes(remote))
            .args(["--no-tags", "--no-write-fetch-head"])
            .args(["--recurse-submodules=no", "--filter=blob:none", "--stdin"])
            .args(self.is_quiet.then_some("--quiet"))
            .stdin(input_of(lines.as_bytes())?);
        Ok(command.status()?.success())
    }
}

impl FetchMissing for Promisor {
    /// git's messages go to standard error.
    fn fetch(
        &self,
        mut ids: Vec<ObjectId>,
        is_missing: &mut dyn FnMut(&ObjectId) -> bool,
        messages: &mut Vec<String>,
    ) -> Result<Vec<ObjectId>, Reason> {
        let mut is_told = self.is_told.lock();
        if !std::mem::replace(&mut *is_told, true) {
            messages.extend_from_slice(&self.remotes.messages);
        }
        if let Some(text) = &self.remotes.refusal {
            return Err(Reason::BadPromisor { text: text.clone() });
        }
        for remote in &self.remotes.names {
            let Some(first) = ids.first() else {
                break;
            };
            let failed = |error: std::io::Error| Reason::NotRun {
                id: first.to_owned(),
                remote: remote.clone(),
                text: errno::text_of(&error),
            };
            if self.fetch_from(remote, &ids).map_err(failed)? {
                return Ok(Vec::new());
            }
            // Some may have come. Of a single one, git does not look.
            if ids.len() > 1 {
                ids.retain(&mut *is_missing);
            }
        }
        Ok(ids)
    }
}

/// The names of promisor remotes, in the order in which git asks them.
#[derive(Debug, Default)]
pub struct Remotes {
    names: Vec<BString>,
    /// git's messages about them when they are first needed, line by line.
    pub messages: Vec<String>,
    /// The error at which git then exits, without "fatal: ".
    pub refusal: Option<String>,
}

impl Remotes {
    /// Reads the remotes configured in `config`.
    pub fn of(config: &Config) -> Self {
        let mut remotes = Self::default();
        for entry in config.entries() {
            let Some((section, name, key)) = entry.parts() else {
                continue;
            };
            let is_refused = name.is_some_and(|name| name.starts_with(b"/"));
            let is_one = match key.as_bytes() {
                _ if section != "remote" => continue,
                b"promisor" => entry.boolean(),
                b"partialclonefilter" if is_refused => Ok(true),
                b"partialclonefilter" => entry.required().map(|_| true),
                _ => continue,
            };
            match is_one {
                Ok(true) => name.into_iter().for_each(|name| remotes.add(name.into())),
                Ok(false) => {}
                Err(error) => {
                    remotes.messages.extend_from_slice(error.messages());
                    remotes.refusal = Some(error.to_string());
                    return remotes;
                }
            }
        }
        if let Some(name) = config.string("extensions.partialClone") {
            // The remote that the repository was cloned from comes last.
            remotes.names.retain(|known| *known != name);
            remotes.add(name);
        }
        remotes
    }

    fn add(&mut self, name: BString) {
        if name.starts_with(b"/") {
            let text = format!(
                "warning: promisor remote name cannot begin with '/': {name}",
                name = raw(&name)
            );
            self.messages.push(text);
        } else if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// Returns git's messages, line by line, when it checks whether `config` names any promisor remotes.
    ///
    /// # Errors
    /// One of them is badly configured.
    pub fn check(config: &Config) -> Result<Vec<String>, config::Error> {
        let Self {
            messages, refusal, ..
        } = Self::of(config);
        match refusal {
            Some(text) => Err(config::Error::Explained { messages, text }),
            None => Ok(messages),
        }
    }

    /// Whether there are no remotes, and no error in their configuration.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.refusal.is_none()
    }
}
