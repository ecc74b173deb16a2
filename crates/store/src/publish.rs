//! Writing: one writer at a time, and published bytes are never overwritten.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, Mode};
use vigil_linux::Errno;
use vigil_linux::lock::Locked;
use vigil_linux::stat::stat_path;
use vigil_model::state_layout::docket::Docket;
use vigil_model::state_layout::{DataHeader, UNIT};
use zerocopy::{FromZeros, IntoBytes};

use super::changes::Edits;
use super::folder::{DOCKET, Folder, data_name};
use super::plan::{NoPlan, WritePlan};
use super::snapshot::Snapshot;
use super::{
    Changes, Damaged, IoError, NoState, PublishOutcome, RemoveOutcome, Step, Steps, Store,
    StoreError,
};

/// How many bytes are collected before they are written.
const BUFFER_LEN: usize = 1 << 20;

/// What happens to the state that is published now.
#[derive(Clone, Copy, Debug)]
enum Base<'a> {
    /// There is no usable state.
    None,
    /// The changes apply to it.
    Changed(&'a Snapshot),
    /// It is discarded.
    Replaced(&'a Snapshot),
}

impl<'a> Base<'a> {
    /// The state that must still be published, or the work is superseded.
    fn expected(self) -> Option<&'a Snapshot> {
        match self {
            Self::None => None,
            Self::Changed(base) | Self::Replaced(base) => Some(base),
        }
    }

    /// The state that the changes apply to.
    fn changed(self) -> Option<&'a Snapshot> {
        match self {
            Self::None | Self::Replaced(_) => None,
            Self::Changed(base) => Some(base),
        }
    }
}

impl Store {
    /// Publishes `changes` to `base` with the mark `clock`. They are appended to the data file, or written to a new one if there
    /// is no base or too much would be dead. The folder is created if missing, but not its parents. Also returns the new state,
    /// if there is one and it can be opened; it is opened under the lock, before anyone else can publish.
    ///
    /// # Errors
    /// Nothing was published.
    pub fn publish(
        &self,
        base: Option<&Snapshot>,
        changes: Changes<'_>,
        clock: [u8; 48],
        steps: &dyn Steps,
    ) -> Result<(PublishOutcome, Option<Snapshot>), StoreError> {
        let base = base.map_or(Base::None, Base::Changed);
        self.publish_onto(base, &changes, clock, steps)
    }

    /// Publishes what `changes` sets, and nothing else, in place of `base`: for a base that turned out to be damaged, or has
    /// nothing worth keeping.
    ///
    /// # Errors
    /// Nothing was published.
    pub fn replace(
        &self,
        base: &Snapshot,
        changes: Changes<'_>,
        clock: [u8; 48],
        steps: &dyn Steps,
    ) -> Result<(PublishOutcome, Option<Snapshot>), StoreError> {
        self.publish_onto(Base::Replaced(base), &changes, clock, steps)
    }

    fn publish_onto(
        &self,
        base: Base<'_>,
        changes: &Changes<'_>,
        clock: [u8; 48],
        steps: &dyn Steps,
    ) -> Result<(PublishOutcome, Option<Snapshot>), StoreError> {
        let edits = changes
            .edits(base.changed())
            .map_err(|error| self.refusal(error))?;
        if let Base::Changed(base) = base
            && edits.iter().all(Vec::is_empty)
            && *base.clock() == clock
        {
            return Ok((PublishOutcome::Unchanged, None));
        }
        let folder = self.create_folder()?;
        let Some(_lock) = self.lock(&folder)? else {
            return Ok((PublishOutcome::Busy, None));
        };
        if !self.is_in_force(base.expected(), &folder)? {
            return Ok((PublishOutcome::Superseded, None));
        }
        steps.reached(Step::Locked);
        folder.sweep(base.expected().map(Snapshot::docket));
        let writer = Writer {
            store: self,
            folder: &folder,
            steps,
            changes,
        };
        let published = writer.write(base, &edits, clock)?;
        Ok((published, self.open_in(&folder).ok()))
    }

    /// Removes the state, and its folder if nothing else is in it.
    ///
    /// # Errors
    /// A system call failed, or the store's path is not a directory. Some of the state may be left.
    pub fn remove_state(&self) -> Result<RemoveOutcome, StoreError> {
        let folder = match Folder::open(&self.folder) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(RemoveOutcome::Absent),
            Err(Errno::NOTDIR) => {
                return match self.folder.symlink_metadata() {
                    Ok(_) => Err(StoreError::NoFolder {
                        path: self.folder.clone(),
                    }),
                    // A parent is not a directory, so there is nothing here.
                    Err(_) => Ok(RemoveOutcome::Absent),
                };
            }
            Err(error) => return Err(IoError::new("open", &self.folder, error).into()),
        };
        let Some(_lock) = self.lock(&folder)? else {
            return Ok(RemoveOutcome::Busy);
        };
        // The docket first: without it, no reader looks for the rest.
        let mut any = folder.remove(DOCKET)?;
        any |= folder.clear()?;
        match rustix::fs::unlinkat(CWD, &self.folder, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(RemoveOutcome::Removed),
            Err(Errno::NOTEMPTY | Errno::EXIST) if any => Ok(RemoveOutcome::Emptied),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(RemoveOutcome::Absent),
            Err(error) => Err(IoError::new("remove", &self.folder, error).into()),
        }
    }

    /// Whether `expected` is the published state. If `None` is expected, whether there is no usable state.
    fn is_in_force(
        &self,
        expected: Option<&Snapshot>,
        folder: &Folder<'_>,
    ) -> Result<bool, IoError> {
        // The docket identifies the base: whoever holds its mapping can publish even if the data file is gone.
        let current = match expected {
            Some(expected) => folder
                .docket(&self.identity)
                .map(|docket| docket == *expected.docket()),
            None => self.open_in(folder).map(|_| false),
        };
        match current {
            Err(NoState::Io(error)) => Err(error),
            Err(_) => Ok(expected.is_none()),
            Ok(is_expected) => Ok(is_expected),
        }
    }

    /// Opens or creates the folder. It must belong to the effective user: files left in another user's folder might be ones that
    /// their owner could not even remove. For the same reason none is created in a directory that a group
    /// shares: the others could remove neither the repository nor a worktree.
    fn create_folder(&self) -> Result<Folder<'_>, StoreError> {
        let refused = |operation| move |error| IoError::new(operation, &self.folder, error);
        let folder = match Folder::open(&self.folder) {
            Err(Errno::NOENT) => {
                let above = self.folder.parent();
                let above = above.filter(|above| !above.as_os_str().is_empty());
                let above = above.unwrap_or(Path::new("."));
                let stat =
                    stat_path(above).map_err(|error| IoError::new("look at", above, error))?;
                if stat.uid != rustix::process::geteuid().as_raw() {
                    return Err(StoreError::Foreign {
                        path: above.to_owned(),
                    });
                }
                if stat.is_shared_with_group() {
                    return Err(StoreError::Shared {
                        path: above.to_owned(),
                    });
                }
                match rustix::fs::mkdirat(CWD, &self.folder, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(refused("create")(error).into()),
                }
                Folder::open(&self.folder).map_err(refused("open"))?
            }
            opened => opened.map_err(refused("open"))?,
        };
        if folder.stat()?.st_uid != rustix::process::geteuid().as_raw() {
            return Err(StoreError::Foreign {
                path: self.folder.clone(),
            });
        }
        Ok(folder)
    }

    /// Locks the folder; `None` if another writer holds the lock.
    pub(super) fn lock<'a>(
        &self,
        folder: &'a Folder<'_>,
    ) -> Result<Option<Locked<&'a Folder<'a>>>, IoError> {
        let lock =
            Locked::try_new(folder).map_err(|error| IoError::new("lock", &self.folder, error))?;
        // If the folder was removed before it was locked, the lock protects nothing: other writers work in a new folder.
        let is_there = folder.stat()?.st_nlink > 0;
        Ok(lock.filter(|_| is_there))
    }

    fn refusal(&self, error: NoPlan) -> StoreError {
        match error {
            NoPlan::Damaged(damaged) => damaged.into(),
            NoPlan::TooLarge => StoreError::TooLarge {
                folder: self.folder.clone(),
            },
        }
    }
}

/// A publication under the lock.
struct Writer<'a> {
    store: &'a Store,
    folder: &'a Folder<'a>,
    steps: &'a dyn Steps,
    changes: &'a Changes<'a>,
}

impl Writer<'_> {
    fn write(
        &self,
        base: Base<'_>,
        edits: &Edits<'_>,
        clock: [u8; 48],
    ) -> Result<PublishOutcome, StoreError> {
        if let Some(base) = base.changed()
            && let Some(file) = self.folder.data_to_append(base.docket())
        {
            match WritePlan::append(base, edits) {
                Ok(plan) if !plan.is_wasteful() => return self.append(base, &plan, file, clock),
                Ok(_) | Err(NoPlan::TooLarge) => {}
                Err(error) => return Err(self.store.refusal(error)),
            }
        }
        let plan =
            WritePlan::rewrite(base.changed(), edits).map_err(|error| self.store.refusal(error))?;
        self.rewrite(base, &plan, clock)
    }

    fn append(
        &self,
        base: &Snapshot,
        plan: &WritePlan<'_>,
        file: File,
        clock: [u8; 48],
    ) -> Result<PublishOutcome, StoreError> {
        let name = data_name(base.docket().data_id.get());
        let docket = Docket {
            used_len: plan.used.into(),
            dead_len: plan.dead.into(),
            root: plan.root,
            clock,
            ..*base.docket()
        };
        let written = self
            .data(Output::new(file, plan.start, self.steps), plan, &name)
            .map_err(StoreError::from)
            .and_then(|()| self.check_sources(Some(base)))
            .and_then(|()| Ok(self.docket(docket)?));
        if written.is_err()
            && let Some(file) = self.folder.data_to_append(base.docket())
        {
            // Nothing refers to these bytes: the published docket says where the data ends, and the lock is held.
            let _ = file.set_len(plan.start);
        }
        written?;
        Ok(PublishOutcome::Appended {
            bytes: plan.used.saturating_sub(plan.start),
        })
    }

    fn rewrite(
        &self,
        base: Base<'_>,
        plan: &WritePlan<'_>,
        clock: [u8; 48],
    ) -> Result<PublishOutcome, StoreError> {
        let data_id = random_number();
        let name = data_name(data_id);
        let docket = Docket {
            identity: self.store.identity,
            generation: base
                .expected()
                .map_or(1, |base| base.generation().saturating_add(1))
                .into(),
            data_id: data_id.into(),
            used_len: plan.used.into(),
            dead_len: plan.dead.into(),
            root: plan.root,
            clock,
            ..Docket::new_zeroed()
        };
        let mut output = Output::new(self.folder.create(&name)?, 0, self.steps);
        output
            .buffer
            .extend_from_slice(DataHeader::new(data_id).as_bytes());
        let written = self
            .data(output, plan, &name)
            .map_err(StoreError::from)
            .and_then(|()| self.check_sources(base.changed()))
            .and_then(|()| Ok(self.docket(docket)?));
        if let Err(error) = written {
            // The new data file is not in force, since the docket is renamed last.
            let _ = self.folder.remove(&name);
            return Err(error);
        }
        // The state is published. What cannot be removed now, the next writer will remove.
        if self.folder.sweep(Some(&docket)) {
            self.steps.reached(Step::OldRemoved);
        }
        Ok(PublishOutcome::Rewritten { bytes: plan.used })
    }

    /// Writes the plan's blocks and nodes to the data file called `name`.
    fn data(
        &self,
        mut output: Output<'_>,
        plan: &WritePlan<'_>,
        name: &str,
    ) -> Result<(), IoError> {
        let nodes = Some(plan.nodes.as_slice()).filter(|nodes| !nodes.is_empty());
        let mut blocks = plan.blocks.iter().copied().chain(nodes);
        blocks
            .try_for_each(|block| output.add(block))
            .and_then(|()| output.flush())
            .map_err(|source| IoError {
                operation: "write",
                path: self.folder.path(name),
                source,
            })?;
        self.steps.reached(Step::DataWritten);
        Ok(())
    }

    /// Whether every source was still whole after all that was written had been read from it.
    fn check_sources(&self, base: Option<&Snapshot>) -> Result<(), StoreError> {
        base.map_or(Ok(()), Snapshot::check_whole)?;
        match self.changes.source_is_intact() {
            true => Ok(()),
            false => Err(Damaged::new(self.store.folder(), "its blocks were cut off").into()),
        }
    }

    /// Publishes `docket`: it is then in force.
    fn docket(&self, docket: Docket) -> Result<(), IoError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{DOCKET}.tmp.{}-{number}", std::process::id());
        let file = self.folder.create(&name)?;
        let written = file
            .write_all_at(docket.sealed().as_bytes(), 0)
            .map_err(|source| IoError {
                operation: "write",
                path: self.folder.path(&name),
                source,
            });
        let published = written.and_then(|()| {
            self.steps.reached(Step::DocketWritten);
            self.folder.publish(&name)
        });
        match published {
            Ok(()) => self.steps.reached(Step::DocketPublished),
            Err(_) => {
                let _ = self.folder.remove(&name);
            }
        }
        published
    }
}

/// A file that is written from an offset, in large pieces.
struct Output<'a> {
    file: File,
    at: u64,
    buffer: Vec<u8>,
    steps: &'a dyn Steps,
    has_begun: bool,
}

impl<'a> Output<'a> {
    fn new(file: File, at: u64, steps: &'a dyn Steps) -> Self {
        Self {
            file,
            at,
            buffer: Vec::new(),
            steps,
            has_begun: false,
        }
    }

    /// Adds `block`, padded to whole units. A large block is written without being copied first.
    fn add(&mut self, block: &[u8]) -> io::Result<()> {
        if block.len() < BUFFER_LEN {
            self.buffer.extend_from_slice(block);
        } else {
            self.flush()?;
            self.write(block)?;
        }
        let stored = block.len().max(1).next_multiple_of(UNIT as usize);
        let filling = stored.saturating_sub(block.len());
        self.buffer
            .resize(self.buffer.len().saturating_add(filling), 0);
        if self.buffer.len() >= BUFFER_LEN {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        if !buffer.is_empty() {
            self.write(&buffer)?;
        }
        buffer.clear();
        self.buffer = buffer;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.at)?;
        self.at = self.at.saturating_add(bytes.len() as u64);
        if !self.has_begun {
            self.has_begun = true;
            self.steps.reached(Step::DataBegun);
        }
        Ok(())
    }
}

/// Returns an unpredictable number: the hasher's keys are random.
fn random_number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
