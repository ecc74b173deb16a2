//! One working copy, kept in memory between questions.
//!
//! A one-shot command asks a session one question; a long-lived process keeps it, and then only what changed is
//! read again: each file that an answer rests on is remembered with its stamp.
//!
//! A [`Session`] holds what is known, and puts answers together: here it is opened and kept fresh, `index` has the index
//! and the state on disk, `assemble` the status, `prompt` the prompt, and `why` the reasons. Each step of an answer is a
//! type of its own, made for one question of the parts that it needs.

mod assemble;
mod attribute_blobs;
pub mod audit;
mod changes;
pub mod checkup;
mod collapsed;
mod conflicts;
pub mod contents;
mod error;
mod excludes;
mod head_changes;
mod head_tree;
pub(crate) mod heard;
mod ignoring;
mod index;
pub(crate) mod kept;
mod linked;
mod long;
mod merged_in_conflict;
mod monitored;
mod narrowed;
mod object_mode;
mod patches;
mod path_question;
mod prompt;
mod prompt_memory;
mod recorded_directories;
mod rename_blobs;
mod renamed;
mod repository_watch;
mod submodules;
mod told;
mod unstaged;
pub mod verify;
pub(crate) mod watched;
pub mod why;
mod without_effect;

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_linux::stat::lstat_path;
use vigil_model::clock::ClockMark;
use vigil_model::index::Index;
use vigil_model::raw_text::bytes_of;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::Tracked;

use self::attribute_blobs::{MissedAttributes, NoTree, SourceOfAttributes};
pub use self::error::SessionError;
use self::excludes::Excludes;
pub use self::heard::{Basis, Heard, HeardChange, WatchReport};
use self::ignoring::DirectoryRules;
use self::index::IndexState;
use self::prompt_memory::PromptMemory;
use self::recorded_directories::RecordedDirectories;
use self::repository_watch::RepositoryWatch;
pub use self::repository_watch::Still;
pub use self::told::{Everything, Told, ToldUntil};
use self::watched::WatchedFindings;
use crate::checked_out::head_id;
use crate::state::{DirectoryReport, State, StateReport};
use crate::status::{Status, StatusRequest};
use vigil_git::attribute_files::{SourceTree, attribute_files};
use vigil_git::convert::{self, Converter, FilterStderr};
use vigil_git::index_file::IndexFile;
use vigil_git::objects::Objects;
use vigil_git::refs::Head;
use vigil_git::refs::Refs;
use vigil_git::renames;
use vigil_git::repository::settings::Settings;
use vigil_git::repository::{self, Repository};
use vigil_git::state_place::{Unkept, kept_places};
use vigil_history::tags::TagIndex;
use vigil_history::{branch, revision};
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_rules::attributes::Attributes;
use vigil_rules::messages::Messages;
use vigil_rules::pathspec::{self, Pathspec};
use vigil_scan::{Findings, Scan, ScanMemory, Timing};
use vigil_stamp::now;
use vigil_stamp::trust;
use vigil_watch::Watcher;

/// One working copy and what is known of it.
pub struct Session {
    repository: Arc<Repository>,
    settings: Settings,
    objects: Objects,
    refs: Refs,
    converter: Converter,
    attributes: Arc<Attributes>,
    messages: Arc<Messages>,
    /// How the last search of the working tree spent its time.
    timing: Timing,
    /// Attributes were asked for that should come from a tree that is not there.
    missed_attributes: Arc<MissedAttributes>,
    excludes: Excludes,
    index: Option<IndexState>,
    /// What is on disk of all this, if it may be.
    state: Option<State>,
    /// When the session began to look: by the clock that stamps files,
    looks_since: Timestamp,
    /// and by those that tell whether it was set back.
    mark: ClockMark,
    tags: TagIndex,
    prompt: PromptMemory,
    /// The repository's own folders, if the kernel tells of changes in them.
    repository_watch: Option<RepositoryWatch>,
    /// The working tree, if the kernel tells of changes in it.
    watched: Option<WatchedFindings>,
    /// Whether scans are remembered: not for a single question.
    is_kept: bool,
    /// Whether no file is open or mapped between two questions.
    holds_no_files: bool,
    stderr: FilterStderr,
    /// Something was to be said, and whoever asked did not want to hear it.
    has_kept_silent: bool,
}

impl Session {
    /// Opens `repository` for one question, or with `is_kept` for many.
    ///
    /// Filters of contents write their complaints where `stderr` says.
    pub fn open(
        repository: Repository,
        is_kept: bool,
        stderr: FilterStderr,
    ) -> Result<Self, SessionError> {
        let settings = Settings::new(&repository)?;
        Self::open_with(repository, settings, is_kept, stderr)
    }

    /// As [`Self::open`], with settings that were read already.
    pub fn open_with(
        repository: Repository,
        settings: Settings,
        is_kept: bool,
        stderr: FilterStderr,
    ) -> Result<Self, SessionError> {
        let mut refs = Refs::open(&repository)?;
        if is_kept {
            refs = refs.remembering();
        }
        let objects = Objects::open_with(&repository, &refs)?;
        let messages = Arc::new(Messages::default());
        let nothing = Tracked::of(&Index::empty(repository.hash));
        let attributes = Arc::new(Attributes::new(
            attribute_files(&repository)?,
            attribute_blobs::blobs(&nothing, &objects, SourceOfAttributes::Index),
            messages.clone(),
        ));
        let converter = Converter::new(
            convert::Settings::of(&repository, stderr)?,
            attributes.clone(),
        );
        let excludes = Excludes::new(&repository, &settings);
        let looks_since = now();
        let mark = trust::mark();
        let state = State::of(&repository, mark);
        Ok(Self {
            repository: Arc::new(repository),
            settings,
            objects,
            refs,
            converter,
            attributes,
            messages,
            missed_attributes: Arc::default(),
            excludes,
            index: None,
            state,
            looks_since,
            mark,
            tags: TagIndex::default(),
            prompt: PromptMemory::default(),
            repository_watch: None,
            watched: None,
            is_kept,
            holds_no_files: false,
            timing: Timing::default(),
            stderr,
            has_kept_silent: false,
        })
    }

    /// From now on has git fetch what a partial clone left out when it is missed. Else it is missing: a question that
    /// comes often waits for no network.
    ///
    /// # Errors
    /// The configuration of that is bad.
    pub fn fetch_missing(&mut self) -> Result<(), SessionError> {
        self.objects = Objects::open_fetching(&self.repository, &self.refs)?;
        Ok(())
    }

    /// From now on looks only at what `watcher` hears of, where all was looked at once. For a session that is kept.
    pub fn watch_by(&mut self, watcher: Arc<Watcher>) {
        if self.is_kept {
            self.repository_watch = Some(RepositoryWatch::new(watcher.clone()));
            self.watched = Some(WatchedFindings::new(watcher));
        }
    }

    /// From now on keeps no file open or mapped between two questions, so that the file system can be unmounted: what is needed
    /// for each answer is copied, and all else opened again when it is asked for.
    pub fn hold_no_files(&mut self) {
        self.holds_no_files = true;
    }

    /// Lets go of what can be read again. To be called after each answer.
    fn rest(&mut self) {
        if let Some(index) = &mut self.index {
            index.let_go();
        }
        match self.holds_no_files {
            true => {
                self.objects.close();
                self.refs.copy_to_memory();
                self.copy_state_to_memory();
            }
            false => self.objects.rest(),
        }
    }

    fn copy_state_to_memory(&self) {
        if self.holds_no_files
            && let Some(state) = &self.state
        {
            state.copy_to_memory();
        }
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// What the configuration says.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A proof that nothing has changed in the repository's own folders since the last answer to a prompt, if that can be
    /// told. To be asked for before anything is looked at for a question.
    pub fn still(&mut self) -> Option<Still> {
        let watch = self.repository_watch.as_mut()?;
        watch.ask(&self.repository)
    }

    /// Whether the repository is still set up as it was: if not, a new session is needed.
    pub fn is_fresh(&self, still: Option<Still>) -> bool {
        match still {
            Some(_) => self.repository.is_fresh_elsewhere(),
            None => self.repository.is_fresh(),
        }
    }

    /// Answers from now on without the state on disk, and leaves that as it is.
    pub fn leave_state(&mut self) {
        self.state = None;
        self.index = None;
    }

    /// What there is to tell of the state on disk.
    ///
    /// # Errors
    /// Why there may be none.
    pub fn state_report(&self) -> Result<StateReport, Unkept> {
        kept_places(&self.repository)?;
        let state = self.state.as_ref().ok_or(Unkept::Unknown)?;
        Ok(state.report(self.repository.hash, &self.repository.index_path))
    }

    /// What is recorded of each directory of the state on disk, the directory above first.
    ///
    /// # Errors
    /// The index, which has ignore files that are not checked out, cannot be read.
    pub fn state_directories(&mut self) -> Result<Vec<DirectoryReport>, SessionError> {
        self.refresh_index()?;
        let base = self.excludes.rules();
        let rules = self.directory_rules();
        let Some(state) = &self.state else {
            return Ok(Vec::new());
        };
        let Some(recorded) = state.recorded(self.repository.hash) else {
            return Ok(Vec::new());
        };
        Ok(RecordedDirectories { state, rules }.report(recorded, &base))
    }

    /// What tells the ignore rules of single directories. The index has been read.
    fn directory_rules(&self) -> DirectoryRules<'_> {
        DirectoryRules {
            top: self.top().ok(),
            objects: &self.objects,
            tracked: self.index.as_ref().map(|state| &state.tracked),
            looks_at_present_skipped_files: self.settings.looks_at_present_skipped_files(),
        }
    }

    /// The top of the working tree.
    fn top(&self) -> Result<&Path, SessionError> {
        Ok(self.repository.require_work_tree()?)
    }

    /// Makes attributes and filters see files and index as they are now.
    fn refresh_attributes(&self) -> Result<(), SessionError> {
        let Some(state) = &self.index else {
            return Ok(());
        };
        let tree = self.source_of_attributes();
        self.missed_attributes
            .reset(matches!(tree, SourceOfAttributes::Missing(_)));
        self.converter
            .refresh(attribute_blobs::blobs(&state.tracked, &self.objects, tree));
        Ok(())
    }

    /// Where attributes come from now, beside the working tree or instead of it.
    fn source_of_attributes(&self) -> SourceOfAttributes {
        let Some(source) = SourceTree::of(&self.repository) else {
            return SourceOfAttributes::Index;
        };
        match revision::resolve(source.name.as_bstr(), &self.refs, &self.objects) {
            Ok(Some(id)) => SourceOfAttributes::Tree(self.objects.peel_to_tree(&id).unwrap_or(id)),
            _ if source.required => SourceOfAttributes::Missing(self.missed_attributes.clone()),
            _ => SourceOfAttributes::Index,
        }
    }

    /// The tree that attributes come from, if they do not come from working tree and index.
    fn attribute_tree(&self) -> Result<Option<ObjectId>, NoTree> {
        match self.source_of_attributes() {
            SourceOfAttributes::Index => Ok(None),
            SourceOfAttributes::Tree(tree) => Ok(Some(tree)),
            SourceOfAttributes::Missing(_) => Err(NoTree),
        }
    }

    /// An error if attributes were asked for, and the tree that they come from is not there. git finds out when it looks
    /// at the first path, and so it does without where nothing asks.
    fn check_attributes(&self) -> Result<(), SessionError> {
        if self.missed_attributes.is_asked_for() {
            let text = SourceTree::UNRESOLVED.to_owned();
            return Err(repository::Error::Refused(text).into());
        }
        Ok(())
    }

    /// Whether there was something to say, at any time, to whoever asked for a prompt, where it has no place: a status of
    /// this session may lack it.
    pub fn has_kept_silent(&self) -> bool {
        self.has_kept_silent
    }

    /// Drops what is to be said: there is no place for it.
    fn keep_silent(&mut self) {
        self.has_kept_silent |= !self.take_messages().is_empty();
    }

    /// What attributes and filters said since the last answer, each line whole.
    pub fn take_messages(&self) -> Vec<BString> {
        let said = self.objects.alternates_said().into_iter();
        let said = said.map(|line| bytes_of(&line));
        said.chain(self.messages.take()).collect()
    }
}

/// Whether there is anything at `path`; a directory, or a link to one, where it ends in `/`.
fn is_present(top: &Path, path: &BStr) -> bool {
    path.to_path()
        .is_ok_and(|path| lstat_path(&top.join(path)).is_ok())
}
