//! References: HEAD, branches, tags and everything else with a name (gitrepository-layout(5), git-check-ref-format(1)).
//!
//! Only what is expensive is cached, and only as long as its file is proven unchanged: `packed-refs` and the tables of
//! a reftable stack. A loose reference is read each time it is asked for, except for HEAD and its branch in a
//! long-lived process.

mod error;
mod head;
mod listing;
pub(crate) mod loose;
pub mod name;
mod owner;
pub(crate) mod packed;
pub(crate) mod raw;
mod sources;
mod unread;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId, oid};
use parking_lot::Mutex;

pub use self::error::Error;
pub use self::head::Head;
use self::head::KnownHead;
pub use self::listing::Listing;
use self::listing::Storage;
use self::loose::{Folders, Loose};
pub use self::owner::Owner;
use self::owner::is_per_worktree;
use self::packed::Packed;
pub use self::packed::{Skim, SkimAction, Skimmed};
pub use self::raw::Raw;
pub use self::sources::Sources;
use self::unread::Unread;
use super::config;
use super::reflog;
pub use super::reflog::LogRecord;
use super::reftable::{self, Merged, Stack};
use super::repository::{RefFormat, Repository, git_dir};
use crate::environment::Environment;
use vigil_linux::Errno;
use vigil_linux::stat::lstat_path;
use vigil_stamp::{Observation, now};

/// git's limit on how many symbolic references are followed.
pub const SYMBOLIC_DEPTH_MAX: usize = 5;

/// git's rules for short names, in order of precedence: what goes before and after the short name (gitrevisions(7),
/// "refname").
pub const SHORT_NAME_RULES: [(&[u8], &[u8]); 6] = [
    (b"", b""),
    (b"refs/", b""),
    (b"refs/tags/", b""),
    (b"refs/heads/", b""),
    (b"refs/remotes/", b""),
    (b"refs/remotes/", b"/HEAD"),
];

/// The references of one repository, as its current worktree sees them.
///
/// To be kept as long as the repository is in use: asking again costs little if nothing has changed.
#[derive(Debug)]
pub struct Refs {
    git_dir: PathBuf,
    common_dir: PathBuf,
    hash: Kind,
    /// Whether the file HEAD in the repository, without which it is none, is not the reference.
    head_is_stub: bool,
    store: Store,
    stash: Mutex<Option<(Observation, usize)>>,
    /// Where HEAD pointed last, for a process that asks often.
    known_head: Option<Mutex<Option<KnownHead>>>,
    unread: Unread,
}

#[derive(Debug)]
enum Store {
    Files {
        packed_path: PathBuf,
        packed_shown: PathBuf,
        packed: Mutex<Option<(Observation, Arc<Packed>)>>,
    },
    Reftable {
        shared: Stack,
        /// The worktree's own, if it is a linked one.
        own: Option<Stack>,
    },
}

/// Whether iteration over all references includes those that lead to no object, without a message about them
/// (`GIT_REF_PARANOIA`).
///
/// # Errors
/// The variable is not a boolean.
pub fn includes_broken(environment: &Environment) -> Result<bool, config::Error> {
    config::environment_boolean(environment, "GIT_REF_PARANOIA", true)
}

/// The result of following a reference.
#[derive(Debug)]
pub enum Followed {
    /// The name at the end, and the object.
    Found(BString, ObjectId),
    /// It is symbolic, and leads to nothing.
    Dangling,
    /// What it contains is neither an id nor a name.
    Broken,
    /// There is none.
    Missing,
}

impl Followed {
    /// Returns what git writes when it meets this at `full_name` while it expands a short name.
    pub fn warning(&self, full_name: &BStr) -> Option<BString> {
        let what = match self {
            Self::Dangling if full_name != "HEAD" => "dangling symref",
            Self::Broken if full_name.contains(&b'/') => "broken ref",
            _ => return None,
        };
        Some(
            [b"warning: ignoring ", what.as_bytes(), b" ", full_name]
                .concat()
                .into(),
        )
    }
}

impl Refs {
    /// Opens the references of `repo`. Nothing is read yet.
    pub fn open(repo: &Repository) -> Self {
        let is_linked = repo.ref_dir != repo.common_ref_dir;
        let store = match repo.ref_format {
            RefFormat::Files => {
                let packed_path = repo.common_ref_dir.join("packed-refs");
                Store::Files {
                    packed_shown: repo.shown(&packed_path).to_owned(),
                    packed_path,
                    packed: Mutex::new(None),
                }
            }
            RefFormat::Reftable => Store::Reftable {
                shared: Stack::new(repo.common_ref_dir.join("reftable"), repo.hash),
                own: is_linked.then(|| Stack::new(repo.ref_dir.join("reftable"), repo.hash)),
            },
        };
        Self {
            git_dir: repo.ref_dir.clone(),
            common_dir: repo.common_ref_dir.clone(),
            hash: repo.hash,
            head_is_stub: repo.ref_format == RefFormat::Reftable
                || repo.keeps_references_elsewhere(),
            store,
            stash: Mutex::new(None),
            known_head: None,
            unread: Unread::default(),
        }
    }

    /// How often a reference or a directory of them could not be read so far, but may be readable the next time. As with git, it
    /// then counts as broken or empty, but that must not be remembered: nothing on the disk will change.
    pub fn unread_count(&self) -> usize {
        self.unread.count()
    }

    /// Whether, since the last call, something could not be read only because this process has too many files open, or no memory.
    /// Another process may succeed.
    pub fn take_shortage(&self) -> bool {
        self.unread.take_shortage()
    }

    /// Caches where HEAD points, for a process that asks often: its files are read again only when they have changed.
    pub fn caching_head(self) -> Self {
        Self {
            known_head: Some(Mutex::default()),
            ..self
        }
    }

    /// Returns where HEAD points.
    ///
    /// A branch that git cannot name, because its reference is broken or has an invalid name ("(unknown)" in porcelain
    /// v2), gets an empty name and no commit.
    ///
    /// # Errors
    /// HEAD is missing, broken or the null id, or a reference cannot be read.
    pub fn head(&self) -> Result<Head, Error> {
        let Some(known) = &self.known_head else {
            return self.read_head();
        };
        let mut known = known.lock();
        if let Some(head) = known.as_ref().and_then(KnownHead::get) {
            return Ok(head.clone());
        }
        *known = None;
        let head = self.read_head()?;
        *known = KnownHead::read(self, &head, now());
        Ok(head)
    }

    fn read_head(&self) -> Result<Head, Error> {
        let mut name = BString::from("HEAD");
        let unknown = Head::Branch {
            name: BString::default(),
            id: None,
        };
        for depth in 0..SYMBOLIC_DEPTH_MAX {
            match self.read(name.as_ref())? {
                Raw::Direct(id) if id.is_null() => return Err(Error::NullHead),
                Raw::Direct(id) if depth == 0 => return Ok(Head::Detached(id)),
                Raw::Direct(id) => return Ok(Head::Branch { name, id: Some(id) }),
                Raw::Symbolic(target) if name::is_valid(&target) => name = target,
                Raw::Missing if depth == 0 && self.head_is_stub => return Ok(Head::lost()),
                // To find a repository, git looks only at the beginning of the file.
                Raw::Broken if depth == 0 && self.begins_as_head() => return Ok(unknown),
                Raw::Missing | Raw::Broken | Raw::Unreadable if depth == 0 => {
                    return Err(Error::BrokenHead);
                }
                Raw::Missing => return Ok(Head::Branch { name, id: None }),
                Raw::Symbolic(_) | Raw::Broken | Raw::Unreadable => return Ok(unknown),
            }
        }
        Ok(unknown)
    }

    fn begins_as_head(&self) -> bool {
        git_dir::is_head(&self.git_dir.join("HEAD")).unwrap_or(false)
    }

    /// Returns the object that `full_name` leads to, through symbolic references; `None` if there is none, or only a
    /// broken one.
    ///
    /// # Errors
    /// `packed-refs` or a reftable cannot be read.
    pub fn resolve(&self, full_name: &BStr) -> Result<Option<ObjectId>, Error> {
        Ok(match self.follow(full_name)? {
            Followed::Found(_, id) => Some(id),
            Followed::Dangling | Followed::Broken | Followed::Missing => None,
        })
    }

    /// Follows `full_name` through symbolic references.
    ///
    /// # Errors
    /// `packed-refs` or a reftable cannot be read.
    pub fn follow(&self, full_name: &BStr) -> Result<Followed, Error> {
        if !name::is_valid(full_name) {
            return Ok(Followed::Missing);
        }
        let mut name = full_name.to_owned();
        for depth in 0..SYMBOLIC_DEPTH_MAX {
            match self.read(name.as_bstr())? {
                Raw::Direct(id) => return Ok(Followed::Found(name, id)),
                Raw::Symbolic(target) if name::is_valid(&target) => name = target,
                Raw::Symbolic(_) => return Ok(Followed::Dangling),
                Raw::Missing | Raw::Broken | Raw::Unreadable if depth > 0 => {
                    return Ok(Followed::Dangling);
                }
                Raw::Broken => return Ok(Followed::Broken),
                Raw::Missing | Raw::Unreadable => return Ok(Followed::Missing),
            }
        }
        Ok(Followed::Dangling)
    }

    /// Returns the full name that git finds for `short_name`. With `unique`, there is none if more than one rule
    /// matches (which is what git asks for under `core.warnAmbiguousRefs`). git's messages are appended to `warnings`.
    ///
    /// # Errors
    /// `packed-refs` or a reftable cannot be read.
    pub fn expand(
        &self,
        short_name: &BStr,
        unique: bool,
        warnings: &mut Vec<BString>,
    ) -> Result<Option<BString>, Error> {
        let mut found = Vec::new();
        for (before, after) in SHORT_NAME_RULES {
            let candidate = BString::from([before, short_name, after].concat());
            match self.follow(candidate.as_bstr())? {
                Followed::Found(name, _) => found.push(name),
                followed => warnings.extend(followed.warning(candidate.as_bstr())),
            }
            if !unique && !found.is_empty() {
                break;
            }
        }
        let is_ambiguous = found.len() > 1;
        Ok(found.pop().filter(|_| !is_ambiguous))
    }

    /// Returns the shortest name by which git finds `full_name`, as it is printed for upstreams.
    ///
    /// # Errors
    /// `packed-refs` or a reftable cannot be read.
    pub fn shorten(&self, full_name: &BStr) -> Result<BString, Error> {
        for (at, (before, after)) in SHORT_NAME_RULES.iter().enumerate().skip(1).rev() {
            let Some(short) = full_name
                .strip_prefix(*before)
                .and_then(|rest| rest.strip_suffix(*after))
                .filter(|short| !short.is_empty())
            else {
                continue;
            };
            let mut is_taken = false;
            for (before, after) in SHORT_NAME_RULES.iter().take(at) {
                let candidate = [before, short, after].concat();
                if self.resolve(candidate.as_bstr())?.is_some() {
                    is_taken = true;
                    break;
                }
            }
            if !is_taken {
                return Ok(short.into());
            }
        }
        Ok(full_name.into())
    }

    /// Calls `found` for each reference whose full name starts with `prefix` (empty, or `refs/` and any number of
    /// directories, with a slash at the end), in byte order: with its name, its object, and the object that this peels
    /// to (itself, unless it is a tag) if that is known without reading it.
    ///
    /// Broken references, symbolic ones that lead nowhere and invalid names are left out, as in git.
    ///
    /// # Errors
    /// `packed-refs` or a reftable cannot be read, or has a name that could be the path of a file elsewhere.
    pub fn for_each(
        &self,
        prefix: &BStr,
        mut found: impl FnMut(&BStr, &oid, Option<ObjectId>),
    ) -> Result<(), Error> {
        self.for_each_listed(&self.list(prefix)?, None, |name, id, peeled| {
            if !id.is_null() {
                found(name, id, peeled);
            }
        })
    }

    /// Calls `found` for each reference of `listing`, as [`Self::for_each`] does, but includes references that lead to
    /// no object, with the null id. `skim` sees packed ones before they are parsed.
    ///
    /// # Errors
    /// As for [`Self::for_each`].
    pub fn for_each_listed(
        &self,
        listing: &Listing,
        skim: Option<Skim<'_>>,
        mut found: impl FnMut(&BStr, &oid, Option<ObjectId>),
    ) -> Result<(), Error> {
        let null = ObjectId::null(self.hash);
        listing.for_each_raw(skim, |name, raw, peeled| {
            match raw {
                Raw::Direct(id) => found(name, id, peeled),
                Raw::Symbolic(_) => {
                    let id = self.resolve(name)?.unwrap_or(null);
                    found(name, &id, None);
                }
                Raw::Missing | Raw::Broken | Raw::Unreadable => found(name, &null, None),
            }
            Ok(())
        })
    }

    /// Lists the references whose full names start with `prefix`, as for [`Self::for_each`], as they are now.
    ///
    /// # Errors
    /// `packed-refs` or a reftable cannot be read.
    pub fn list(&self, prefix: &BStr) -> Result<Listing, Error> {
        let storage = match &self.store {
            Store::Files { .. } => Storage::Files {
                // The loose ones first, so that one that is packed meanwhile is not missed.
                loose: loose::read_under(self.folders(), prefix, self.hash, &self.unread),
                packed: self.packed()?,
            },
            Store::Reftable { shared, own } => {
                let mut all = Merged::default();
                match own {
                    None => all.add(&shared.tables()?, |_| true),
                    Some(own) => {
                        all.add(&shared.tables()?, |name| !is_per_worktree(name));
                        all.add(&own.tables()?, is_per_worktree);
                    }
                }
                Storage::Tables(all)
            }
        };
        Ok(Listing {
            prefix: prefix.into(),
            storage,
        })
    }

    /// Returns the number of stash entries: the well-formed records in the log of `refs/stash`.
    ///
    /// # Errors
    /// A reftable cannot be read. A log that git cannot open counts as empty.
    pub fn stash_count(&self) -> Result<usize, Error> {
        let path = match &self.store {
            Store::Files { .. } => self.common_dir.join("logs/refs/stash"),
            Store::Reftable { shared, .. } => shared.list_path().to_owned(),
        };
        let failed = |error: Errno| Error::read(&path, error.into());
        let mut stash = self.stash.lock();
        if let Some((observation, count)) = &*stash
            && observation.is_current(&path).unwrap_or_default()
        {
            return Ok(*count);
        }
        let observation = match (Observation::of(&path), &self.store) {
            // git treats a log that it cannot open as empty.
            (Err(error), Store::Files { .. }) => {
                self.unread.note(error);
                return Ok(0);
            }
            (observation, _) => observation.map_err(failed)?,
        };
        let count = match &self.store {
            Store::Files { .. } if observation.exists() => {
                let mut count = 0;
                let counting = reflog::newest_first(&path, self.hash, |_, _| {
                    count += 1;
                    true
                });
                // As in git, a log that cannot be read has no records.
                if let Err(error) = counting {
                    self.unread.note(vigil_linux::errno::of(&error));
                    return Ok(0);
                }
                count
            }
            Store::Files { .. } => 0,
            Store::Reftable { shared, .. } => shared.log_count(b"refs/stash".into())?,
        };
        *stash = Some((observation, count));
        Ok(count)
    }

    /// Calls `found` with each record in the log of the reference with the full name `name`, and with its message (without
    /// its line feed), newest first, until it returns false. As in git, a log that cannot be read has no records.
    ///
    /// # Errors
    /// Reftables cannot be read.
    pub fn log(
        &self,
        name: &BStr,
        found: impl FnMut(LogRecord, &BStr) -> bool,
    ) -> Result<(), Error> {
        match &self.store {
            Store::Files { .. } => {
                if let Err(error) = reflog::newest_first(&self.log_path(name), self.hash, found) {
                    self.unread.note(vigil_linux::errno::of(&error));
                }
                Ok(())
            }
            Store::Reftable { shared, own } => {
                self.in_stack(shared, own.as_ref(), name, |stack, name| {
                    stack.log_newest_first(name, found)
                })
            }
        }
    }

    /// Whether the reference with the full name `name` has a log, be it empty.
    ///
    /// # Errors
    /// Reftables cannot be read.
    pub fn has_log(&self, name: &BStr) -> Result<bool, Error> {
        match &self.store {
            Store::Files { .. } => {
                Ok(lstat_path(&self.log_path(name)).is_ok_and(|stat| stat.is_file()))
            }
            Store::Reftable { shared, own } => {
                self.in_stack(shared, own.as_ref(), name, |stack, name| {
                    stack.has_log(name)
                })
            }
        }
    }

    /// The path of the log of `name`, where logs are files.
    fn log_path(&self, name: &BStr) -> PathBuf {
        let (owner, own) = Owner::of(name);
        let folder = owner.folder(&self.git_dir, &self.common_dir);
        folder.join("logs").join(OsStr::from_bytes(own))
    }

    /// Asks the stack that keeps the reference `name`, which has another name there if it belongs to another worktree.
    fn in_stack<T>(
        &self,
        shared: &Stack,
        own: Option<&Stack>,
        name: &BStr,
        ask: impl FnOnce(&Stack, &BStr) -> Result<T, reftable::Error>,
    ) -> Result<T, Error> {
        let (owner, name) = Owner::of(name);
        let answer = match (owner, own) {
            (Owner::Current, Some(own)) => ask(own, name),
            (Owner::Linked(_), _) => {
                let folder = owner.folder(&self.git_dir, &self.common_dir);
                ask(&Stack::new(folder.join("reftable"), self.hash), name)
            }
            _ => ask(shared, name),
        };
        Ok(answer?)
    }

    /// Returns the files and directories that hold the references under `prefix` (which ends with a slash), as they are now.
    ///
    /// # Errors
    /// The status of one of them cannot be read.
    pub fn sources_of(&self, prefix: &BStr) -> Result<Sources, Error> {
        match &self.store {
            Store::Files { packed_path, .. } => {
                let folder = prefix.strip_suffix(b"/").unwrap_or(prefix);
                Sources::files(packed_path, &self.common_dir, folder, &self.unread)
            }
            Store::Reftable { shared, .. } => Sources::file(shared.list_path()),
        }
    }

    /// Reads `name` without following symbolic references.
    ///
    /// # Errors
    /// `packed-refs` or a reftable cannot be read, or there are too many open files to open a loose reference. One that cannot
    /// be read for another reason is [unreadable](Raw::Unreadable).
    pub fn read(&self, name: &BStr) -> Result<Raw, Error> {
        match &self.store {
            Store::Files { .. } => {
                let (owner, own) = Owner::of(name);
                let folder = owner.folder(&self.git_dir, &self.common_dir);
                let path = folder.join(OsStr::from_bytes(own));
                match loose::read(&path, self.hash, &self.unread) {
                    Loose::Found(raw) => Ok(raw),
                    Loose::Unopened(error) => Err(Error::read(&path, error.into())),
                    Loose::Impossible => Ok(Raw::Missing),
                    Loose::Absent if !name.starts_with(b"refs/") => Ok(Raw::Missing),
                    Loose::Absent => Ok(match self.packed()?.find(name)? {
                        Some(record) => Raw::Direct(record.id),
                        None => Raw::Missing,
                    }),
                }
            }
            // These two are files in every reference format.
            Store::Reftable { .. } if name == "FETCH_HEAD" || name == "MERGE_HEAD" => {
                let path = self.git_dir.join(OsStr::from_bytes(name));
                match loose::read(&path, self.hash, &self.unread) {
                    Loose::Found(raw) => Ok(raw),
                    Loose::Unopened(error) => Err(Error::read(&path, error.into())),
                    Loose::Absent | Loose::Impossible => Ok(Raw::Missing),
                }
            }
            Store::Reftable { shared, own } => {
                let find = |stack: &Stack, name: &BStr| stack.find(name);
                let value = self.in_stack(shared, own.as_ref(), name, find)?;
                Ok(value.map_or(Raw::Missing, |value| value.raw()))
            }
        }
    }

    fn folders(&self) -> Folders<'_> {
        Folders {
            own: &self.git_dir,
            common: &self.common_dir,
        }
    }

    /// Copies the cached `packed-refs` or reftables to memory so that no file is mapped, if there is room for them.
    pub fn copy_to_memory(&self) {
        match &self.store {
            Store::Files { packed, .. } => {
                if let Some((_, packed)) = &*packed.lock() {
                    packed.copy_to_memory();
                }
            }
            Store::Reftable { shared, own } => {
                for stack in [Some(shared), own.as_ref()].into_iter().flatten() {
                    stack.copy_to_memory();
                }
            }
        }
    }

    /// Returns the packed references as they are now.
    fn packed(&self) -> Result<Arc<Packed>, Error> {
        let Store::Files {
            packed_path,
            packed_shown,
            packed,
        } = &self.store
        else {
            return Ok(Arc::new(Packed::empty(self.hash)));
        };
        let failed = |error: Errno| Error::Unread {
            path: packed_shown.clone(),
            reason: vigil_linux::errno::text(error),
        };
        let mut packed = packed.lock();
        if let Some((observation, packed)) = &*packed
            && observation.is_current(packed_path).map_err(failed)?
        {
            return Ok(Arc::clone(packed));
        }
        let observation = Observation::of(packed_path).map_err(failed)?;
        let read = Arc::new(if observation.exists() {
            Packed::read(packed_path, packed_shown, self.hash)?
        } else {
            Packed::empty(self.hash)
        });
        *packed = Some((observation, Arc::clone(&read)));
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
