//! Reports on the state of a working copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BString;
use gix_hash::Kind;
use vigil_linux::stat::lstat_path;
use vigil_model::clock::ClockMark;
use vigil_model::seen::SeenBlock;
use vigil_model::state_layout::docket::Docket;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::{DirNumber, ROOT, Tracked};

use super::blocks::PublishedBlocks;
use super::{HEAD_TREE, ListingValidity, ORIGIN, STAGED, State, head_tree, origin, staged};
use vigil_git::index_file::IndexFile;
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_stamp::trust::FileSystemTrust;
use vigil_store::{Damaged, NoState, Snapshot, StateTable};

/// The places of a state, and what is there.
#[derive(Debug)]
pub struct StateReport {
    /// The places, the first choice first.
    pub places: Vec<PlaceReport>,
    /// The state in use, if there is one.
    pub published: Option<PublishedReport>,
}

/// One place for a state.
#[derive(Debug)]
pub struct PlaceReport {
    /// The folder.
    pub folder: PathBuf,
    /// Why the state there cannot be used; `None` if it can.
    pub obstacle: Option<NoState>,
}

/// A published state.
#[derive(Debug)]
pub struct PublishedReport {
    /// The folder that it is in.
    pub folder: PathBuf,
    /// How many data files there have been, including this one.
    pub generation: u64,
    /// The data file.
    pub data_path: PathBuf,
    /// Its length in bytes; `None` if it is gone by now.
    pub data_len: Option<u64>,
    /// How many bytes of it are in use.
    pub used_len: u64,
    /// How many of these nothing refers to any more.
    pub dead_len: u64,
    /// The length of the docket in bytes.
    pub docket_len: u64,
    /// The blocks by table.
    pub tables: Vec<TableReport>,
    /// The number of directories with tracked files in or below them.
    pub directories: u64,
    /// The number of index entries, in all stages.
    pub files: u32,
    /// The first damage found while reporting. The state is not used beyond that point.
    pub damage: Option<Damaged>,
    /// The clocks when the look began that the state records.
    pub recorded: ClockMark,
    /// The clocks now.
    pub now: ClockMark,
    /// The time from which recorded stamps prove nothing, if any.
    pub untrusted_since: Option<Timestamp>,
    /// The index that the tracked files came from, if that can be read.
    pub index: Option<IndexReport>,
    /// The type of the working tree's file system (`f_type` in statfs(2)), if known.
    pub file_system: Option<u32>,
    /// What is trusted about that file system.
    pub trust: FileSystemTrust,
}

/// The blocks of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableReport {
    /// The table.
    pub table: StateTable,
    /// The number of blocks.
    pub blocks: u64,
    /// Their total length in bytes.
    pub len: u64,
}

/// The index that the tracked files came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexReport {
    /// The file.
    pub path: PathBuf,
    /// Its mtime; `None` if there was no index.
    pub written_at: Option<Timestamp>,
    /// How it relates to the index now.
    pub relation: IndexRelation,
}

/// How the recorded index relates to that of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexRelation {
    /// The same: the tracked files are taken from the state.
    Same,
    /// Written just before it was read, so nothing proves that it is the same. It is read once more.
    Young,
    /// Changed since: it is read, and the rest is taken from the state.
    Changed,
    /// The repository's index is in another place.
    Elsewhere,
    /// Stamps prove nothing here, because of the file system or the clock.
    Unproven,
}

/// What is recorded about one directory with tracked files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryReport {
    /// The path, from the top; empty for the top.
    pub path: BString,
    /// The number of index entries directly in it.
    pub files: usize,
    /// Its listings, one for each question.
    pub listings: Vec<ListingReport>,
    /// The number of files whose contents were compared.
    pub compared: usize,
    /// How many of those were unchanged.
    pub compared_unchanged: usize,
}

/// One recorded listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingReport {
    /// Which untracked and ignored files were asked for; `None` for a question that this program does not know.
    pub question: Option<(UntrackedMode, IgnoredMode)>,
    /// The mtime of the directory.
    pub written_at: Timestamp,
    /// The number of untracked paths found.
    pub untracked: usize,
    /// The number of ignored paths found.
    pub ignored: usize,
    /// The number of files and directories below that it rests on.
    pub witnesses: usize,
    /// Whether it is still valid.
    pub validity: ListingValidity,
}

impl State {
    /// Reports on the state; `index_path` is the repository's index.
    pub(crate) fn report(&self, hash: Kind, index_path: &Path) -> StateReport {
        let mut places = Vec::new();
        for (at, store) in self.stores.iter().enumerate() {
            let is_used = at == self.chosen && self.snapshot.is_some();
            places.push(PlaceReport {
                folder: store.folder().to_owned(),
                obstacle: if is_used { None } else { store.open().err() },
            });
        }
        StateReport {
            places,
            published: self.published(hash, index_path),
        }
    }

    fn published(&self, hash: Kind, index_path: &Path) -> Option<PublishedReport> {
        let snapshot = self.snapshot.as_ref()?;
        let mut damage = None;
        let tables = StateTable::WRITTEN.map(|table| {
            let (mut blocks, mut len) = (0_u64, 0_u64);
            for block in snapshot.blocks(table) {
                match block {
                    Ok((_, more)) => {
                        blocks = blocks.saturating_add(1);
                        len = len.saturating_add(more.into());
                    }
                    Err(found) => {
                        damage.get_or_insert(found);
                    }
                }
            }
            TableReport { table, blocks, len }
        });
        let tracked = tables
            .iter()
            .find(|found| found.table == StateTable::Tracked);
        let recorded = self.recorded(hash);
        let files = snapshot.block(StateTable::Tracked, ROOT);
        let files = files
            .map(|_| recorded.as_ref().map(|found| found.tracked.sums().entries))
            .unwrap_or_else(|found| {
                damage.get_or_insert(found);
                None
            });
        Some(PublishedReport {
            folder: self.stores.get(self.chosen)?.folder().to_owned(),
            generation: snapshot.generation(),
            data_path: snapshot.data_path().to_owned(),
            data_len: lstat_path(snapshot.data_path()).ok().map(|stat| stat.size),
            used_len: snapshot.used_len(),
            dead_len: snapshot.dead_len(),
            docket_len: Docket::LEN as u64,
            directories: tracked.map_or(0, |found| found.blocks),
            files: files.unwrap_or_default(),
            tables: tables.to_vec(),
            damage,
            recorded: ClockMark::from_bytes(snapshot.clock()),
            now: self.mark,
            untrusted_since: self.untrusted_since,
            index: recorded.map(|found| IndexReport {
                relation: self.relation(&found.file, index_path),
                written_at: found.file.own.stamp.map(|stamp| stamp.mtime()),
                path: found.file.own.path,
            }),
            file_system: self.file_system.map(|found| found.kind),
            trust: self.trust,
        })
    }

    fn relation(&self, file: &IndexFile, index_path: &Path) -> IndexRelation {
        let is_young = || {
            let stamps = [&file.own].into_iter().chain(&file.shared);
            let mut stamps = stamps.filter_map(|file| file.stamp);
            stamps.any(|stamp| stamp.is_written_since(file.read_at))
        };
        if file.own.path != index_path {
            IndexRelation::Elsewhere
        } else if !self.trusts_index_stamps(file) {
            IndexRelation::Unproven
        } else if file.is_current() {
            IndexRelation::Same
        } else if is_young() {
            IndexRelation::Young
        } else {
            IndexRelation::Changed
        }
    }

    /// Returns what was seen of a directory, whether or not stamps prove anything.
    pub(crate) fn seen(&self, number: DirNumber) -> Option<SeenBlock<'_>> {
        let block = self.usable()?.block(StateTable::Seen, number).ok()??;
        SeenBlock::parse(block)
    }

    /// Returns whether stamps of directories and files prove anything, and the time from which they do not.
    pub(crate) fn trust_in_stamps(&self) -> (bool, Option<Timestamp>) {
        (self.trust.is_whole(), self.untrusted_since)
    }

    /// Reads the whole state. Returns what is damaged or makes no sense, and the number of blocks.
    pub(crate) fn check_all(&self, hash: Kind) -> (Vec<String>, u64) {
        let mut problems = Vec::new();
        for store in &self.stores {
            match store.open() {
                Ok(_) => break,
                Err(NoState::Absent { .. }) => {}
                // No answer is made with it.
                Err(other) if is_out_of_reach(&other) => {}
                Err(other) => problems.push(other.to_string()),
            }
        }
        let Some(snapshot) = &self.snapshot else {
            return (problems, 0);
        };
        if let Err(damage) = snapshot.verify_all() {
            problems.push(damage.to_string());
            return (problems, 0);
        }
        let mut blocks = 0_u64;
        for table in StateTable::WRITTEN {
            for found in snapshot.blocks(table) {
                blocks = blocks.saturating_add(1);
                if let Ok((key, _)) = found
                    && !makes_sense(snapshot, table, key)
                {
                    let path = snapshot.data_path().display();
                    problems.push(format!(
                        "{path}: block {key} of the table {table:?} makes no sense"
                    ));
                }
            }
        }
        let tracked = Tracked::new(hash, Arc::new(PublishedBlocks(snapshot.clone())));
        tracked.each_block(|_| {});
        if let Err(damage) = tracked.check() {
            problems.push(damage.to_string());
        }
        (problems, blocks)
    }
}

/// Whether another user keeps the state to himself, or it is that of another working copy.
fn is_out_of_reach(obstacle: &NoState) -> bool {
    match obstacle {
        NoState::Foreign { .. } => true,
        NoState::Io(error) => error.source.kind() == std::io::ErrorKind::PermissionDenied,
        NoState::Absent { .. } | NoState::Damaged(_) | NoState::Version { .. } => false,
    }
}

/// Whether an undamaged block can be parsed; blocks of tracked files are read as a tree.
fn makes_sense(snapshot: &Snapshot, table: StateTable, key: u32) -> bool {
    let block = |key| snapshot.block(table, key).ok().flatten();
    let Some(bytes) = block(key) else {
        return false;
    };
    match table {
        StateTable::Tracked | StateTable::Files => true,
        StateTable::General if key == ORIGIN => origin::read(bytes).is_some(),
        StateTable::General if key == STAGED => {
            // It may belong to an older index.
            let origin = vigil_model::bytes::ByteReader(bytes).bytes();
            origin.is_some_and(|origin| staged::read(bytes, &origin).is_some())
        }
        StateTable::General if key == HEAD_TREE => head_tree::read(bytes).is_some(),
        StateTable::General => false,
        StateTable::Seen => SeenBlock::parse(bytes).is_some_and(|seen| seen.is_whole()),
    }
}
