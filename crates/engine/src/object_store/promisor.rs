//! Objects that a partial clone left out: git fetches them one by one when they are missed (`extensions.partialClone`
//! and `remote.<name>.promisor` in git-config(1), gitformat "partial clone").

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{ObjectId, oid};
use gix_object::{CommitRefIter, Kind, TagRefIter, TreeRefIter};
use parking_lot::Mutex;
use rustix::pipe::{PipeFlags, pipe_with};
use vigil_linux::errno;

use super::pack::Pack;
use super::table::Table;
use super::{Error, Location, Place, Reader, Reason};
use crate::git::config::{self, Config, Entry};
use crate::git::convert::{FilterStderr, Surroundings};
use crate::git::repository::Repository;

/// The remotes from which the installed git fetches what is missing.
#[derive(Debug)]
pub struct Promisor {
    remotes: Remotes,
    surroundings: Surroundings,
    is_quiet: bool,
    /// Whether what git says of the remotes was said. Held while git fetches: one object at a time.
    is_told: Mutex<bool>,
    /// What objects from promisor remotes name, and they themselves, once that was asked for.
    promised: OnceLock<HashSet<ObjectId>>,
}

impl Promisor {
    /// The one of `repository`, if it has any and may fetch (`GIT_NO_LAZY_FETCH`).
    ///
    /// # Errors
    /// A value is bad.
    pub fn of(repository: &Repository) -> Result<Option<Self>, config::Error> {
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
            surroundings: Surroundings::of(repository, FilterStderr::Inherit),
            is_quiet: matches!(repository.config.boolean("promisor.quiet"), Ok(Some(true))),
            is_told: Mutex::default(),
            promised: OnceLock::new(),
        }))
    }

    /// Has `id` fetched from the first remote that has it; whether there is one shows when it is looked for. What git
    /// says goes to standard error.
    fn fetch(&self, id: &oid, said: &mut Vec<String>) -> Result<bool, Reason> {
        let mut is_told = self.is_told.lock();
        if !std::mem::replace(&mut *is_told, true) {
            said.extend_from_slice(&self.remotes.said);
        }
        if let Some(text) = &self.remotes.refusal {
            return Err(Reason::BadPromisor { text: text.clone() });
        }
        for remote in &self.remotes.names {
            let failed = |error: std::io::Error| Reason::NotRun {
                id: id.to_owned(),
                remote: remote.clone(),
                text: errno::text_of(&error),
            };
            if self.fetch_from(remote, id).map_err(failed)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fetch_from(&self, remote: &BString, id: &oid) -> std::io::Result<bool> {
        // What is written waits in the pipe: nobody who ends early is written to.
        let (list, written) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::write(&written, format!("{id}\n").as_bytes())?;
        drop(written);
        let mut command = Command::new("git");
        self.surroundings
            .surround(&mut command)
            .args(["-c", "fetch.negotiationAlgorithm=noop", "fetch"])
            .arg(OsStr::from_bytes(remote))
            .args(["--no-tags", "--no-write-fetch-head"])
            .args(["--recurse-submodules=no", "--filter=blob:none", "--stdin"])
            .args(self.is_quiet.then_some("--quiet"))
            .stdin(Stdio::from(list));
        Ok(command.status()?.success())
    }
}

/// The names of promisor remotes, in the order in which they are asked.
#[derive(Debug, Default)]
pub struct Remotes {
    names: Vec<BString>,
    /// What git says of them once it needs them, line by line.
    pub said: Vec<String>,
    /// Why git ends then: its text without "fatal: ".
    pub refusal: Option<String>,
}

impl Remotes {
    /// Those that `config` names.
    pub fn of(config: &Config) -> Self {
        let mut remotes = Self::default();
        for entry in config.entries() {
            let Some((name, key)) = remote_key(&entry) else {
                continue;
            };
            let is_one = match key {
                b"promisor" => entry.boolean(),
                b"partialclonefilter" => entry.required().map(|_| true),
                _ => continue,
            };
            match is_one {
                Ok(true) => remotes.add(name.into()),
                Ok(false) => {}
                Err(error) => {
                    remotes.said.extend_from_slice(error.said());
                    remotes.refusal = Some(error.to_string());
                    return remotes;
                }
            }
        }
        if let Some(name) = config.string("extensions.partialClone") {
            // The one that the repository was cloned from comes last.
            remotes.names.retain(|known| *known != name);
            remotes.add(name);
        }
        remotes
    }

    fn add(&mut self, name: BString) {
        if name.starts_with(b"/") {
            let text = format!("warning: promisor remote name cannot begin with '/': {name}");
            self.said.push(text);
        } else if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// Whether there are none, and nothing to say of any.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.refusal.is_none()
    }
}

/// The remote that an entry is about, and the rest of its key.
fn remote_key<'a>(entry: &Entry<'a>) -> Option<(&'a BStr, &'a [u8])> {
    let rest = entry.key.strip_prefix(b"remote.")?;
    let (name, key) = rest.split_at_checked(rest.rfind_byte(b'.')?)?;
    Some((name.as_bstr(), key.get(1..)?))
}

impl Reader {
    /// Fetches an object that is not here, and finds it. `None` where nothing may be fetched, or nobody has it.
    ///
    /// # Errors
    /// It was promised, and cannot be had.
    pub fn fetch(&mut self, id: &oid) -> Result<Option<Location>, Error> {
        let promisor = self.store().promisor.clone();
        let Some(promisor) = promisor.filter(|_| !id.is_null()) else {
            return Ok(None);
        };
        let mut said = Vec::new();
        let fetched = promisor.fetch(id, &mut said);
        self.hear(said);
        let is_fetched = fetched.map_err(|reason| self.error(reason))?;
        if !is_fetched {
            let promised = promisor.promised.get_or_init(|| self.promised());
            if promised.contains(id) {
                let id = id.to_owned();
                return Err(self.error(Reason::NotFetched { id }));
            }
        }
        self.find_here(id)
    }

    /// The objects in packs from promisor remotes, and those that they name. What cannot be read there is passed over.
    fn promised(&self) -> HashSet<ObjectId> {
        let store = self.store();
        let mut reader = Self::new(store);
        let mut promised = HashSet::new();
        let mut contents = Vec::new();
        for pack in store.promisor_packs() {
            for location in locations(&pack) {
                promised.insert(location.id);
                contents.clear();
                // A blob names nothing.
                let read =
                    reader.read_with(&location, &mut contents, |info, _| info.kind != Kind::Blob);
                if let Ok(info) = read {
                    add_named(info.kind, &contents, store.hash_kind(), &mut promised);
                }
            }
        }
        promised
    }
}

fn locations(pack: &Pack) -> impl Iterator<Item = Location> {
    let index = pack.index(&mut Vec::new());
    let count = index.map_or(0, Table::count);
    (0..count).filter_map(move |position| {
        let index = index?;
        Some(Location {
            id: index.id(position)?,
            source: 0,
            place: Place::Packed {
                pack: pack.number,
                offset: index.offset(position, &pack.shown).ok()?,
            },
        })
    })
}

/// Adds the ids that an object names.
fn add_named(kind: Kind, contents: &[u8], hash: gix_hash::Kind, named: &mut HashSet<ObjectId>) {
    match kind {
        Kind::Blob => {}
        Kind::Tree => {
            let entries = TreeRefIter::from_bytes(contents, hash).map_while(Result::ok);
            named.extend(entries.map(|entry| entry.oid.to_owned()));
        }
        Kind::Commit => {
            let tree = CommitRefIter::from_bytes(contents, hash).tree_id();
            named.extend(tree.ok());
            named.extend(CommitRefIter::from_bytes(contents, hash).parent_ids());
        }
        Kind::Tag => {
            let target = TagRefIter::from_bytes(contents, hash).target_id();
            named.extend(target.ok());
        }
    }
}
