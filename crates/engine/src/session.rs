//! One working copy, kept in memory between questions.
//!
//! A one-shot command asks a session one question; a long-lived process keeps the session, and later questions read only what
//! changed: each file that an answer rests on is kept with its stamp.
//!
//! A [`Session`] holds what is known and puts answers together. It is opened and kept fresh here; `index` has the index, `on_disk` the
//! state on disk, `findings` what differs in the working tree, `compare` and `assemble` the status, `prompt` the prompt, and `why`
//! the reasons. Each step of an answer is a type of its own, made for one question from the parts that it needs.

mod assemble;
mod attribute_blobs;
pub mod audit;
mod change_report;
mod changes;
pub mod checkup;
mod collapsed;
mod compare;
mod conflicts;
pub mod contents;
mod dirtiness;
mod error;
mod excludes;
mod findings;
mod gitmodules;
mod governing;
mod head_changes;
mod head_tree;
mod ignored_changes;
mod ignoring;
mod index;
pub mod judging;
mod kept;
mod known_dirtiness;
mod known_presence;
mod known_renames;
mod linked;
mod long;
pub(crate) mod looked_at;
mod looks;
mod merged_in_conflict;
pub(crate) mod missed_rules;
mod monitored;
mod nested_sessions;
mod object_mode;
mod on_disk;
mod patches;
mod path_question;
mod prompt;
mod prompt_memory;
mod recorded_directories;
mod rename_blobs;
mod renamed;
mod repository_watch;
mod selected;
mod silent_looks;
mod sparse_directories;
mod submodules;
mod take_over;
mod unstaged;
pub mod verify;
pub(crate) mod watch_basis;
pub(crate) mod watched;
pub mod why;

use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use vigil_model::clock::ClockMark;
use vigil_model::index::Index;
use vigil_model::raw_text::text_bytes;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::Tracked;

use self::attribute_blobs::{NoTree, SourceOfAttributes};
pub use self::change_report::{ChangeReport, ForGit, FullReport, ToldUntil};
pub use self::error::SessionError;
use self::excludes::Excludes;
use self::ignoring::DirectoryRules;
use self::index::IndexState;
use self::known_dirtiness::{EntryCheck, KnownDirtiness};
use self::missed_rules::MissedRules;
use self::nested_sessions::NestedSessions;
use self::prompt_memory::PromptMemory;
use self::recorded_directories::RecordedDirectories;
use self::repository_watch::RepositoryWatch;
pub use self::repository_watch::UnchangedProof;
pub use self::watch_basis::{Basis, LastChange, WatchPositions, WatchReport};
use self::watched::WatchedFindings;
use crate::state::{DirectoryReport, State, StateReport};
use crate::status::{Status, StatusRequest};
use vigil_convert::attribute_files::attribute_files;
use vigil_convert::converter::{self, Converter};
use vigil_git::child::FilterStderr;
use vigil_git::objects::Objects;
use vigil_git::refs::Head;
use vigil_git::refs::Refs;
use vigil_git::renames;
use vigil_git::repository::settings::Settings;
use vigil_git::repository::{self, Repository};
use vigil_git::state_place::{NoStateReason, places_or_reason};
use vigil_history::branch;
use vigil_history::revision::head::HeadByName;
use vigil_history::tags::TagIndex;
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_rules::attributes::Attributes;
use vigil_rules::messages::Messages;
use vigil_rules::pathspec::{self, Pathspec};
use vigil_scan::{Findings, Scan, ScanMemory, Timing};
use vigil_stamp::now;
use vigil_stamp::trust;
use vigil_watch::Watcher;

/// One working copy and what is known about it.
pub struct Session {
    repository: Arc<Repository>,
    settings: Settings,
    objects: Objects,
    refs: Refs,
    converter: Converter,
    attributes: Arc<Attributes>,
    messages: Arc<Messages>,
    /// What submodules had to say since the last answer.
    said_in_submodules: Messages,
    /// How the last scan spent its time.
    timing: Timing,
    /// What the answer depends on and could not be read.
    missed_rules: Arc<MissedRules>,
    excludes: Excludes,
    index: Option<IndexState>,
    /// The state on disk, if one may be kept.
    state: Option<State>,
    /// When the session began to look, by the clock that stamps files.
    session_started_at: Timestamp,
    /// When the session began to look, by the clocks that show whether that one was set back.
    mark: ClockMark,
    tags: TagIndex,
    prompt: PromptMemory,
    /// The watch on the repository's own folders, if there is one.
    repository_watch: Option<RepositoryWatch>,
    /// HEAD as it was for the last status, if nothing but the repository's own folders tells of it.
    known_head: Option<HeadByName>,
    /// What the last status came to for the repository around this one, if it may be told again.
    known_dirtiness: Option<KnownDirtiness>,
    /// The findings that are kept up to date by watching the working tree, if it is watched.
    watched: Option<WatchedFindings>,
    /// What is kept of submodules, if the working tree is watched.
    nested: Option<NestedSessions>,
    /// Whether a file was written that may be tracked, by another link, in the repository around this one or elsewhere in that.
    has_met_links: bool,
    /// Whether scans are remembered: not in a session for a single question.
    is_kept: bool,
    /// Whether no file stays open or mapped between two questions.
    holds_no_files: bool,
    stderr: FilterStderr,
    /// Checks the other entries in the configuration of submodules.
    check_in_submodules: EntryCheck,
    /// Whether a message was dropped because the client had no place for it.
    has_dropped_messages: bool,
}

impl Session {
    /// Opens `repository` for one question, or for many if `is_kept`.
    ///
    /// `stderr` says where content filters write their errors.
    ///
    /// # Errors
    /// The settings, references, objects or attributes of the repository are wrong or cannot be read.
    pub fn open(
        repository: Repository,
        is_kept: bool,
        stderr: FilterStderr,
    ) -> Result<Self, SessionError> {
        let settings = Settings::new(&repository)?;
        Self::open_with(repository, settings, is_kept, stderr)
    }

    /// Like [`Self::open`], with settings that were read already.
    ///
    /// # Errors
    /// As for [`Self::open`], apart from the settings.
    pub fn open_with(
        repository: Repository,
        settings: Settings,
        is_kept: bool,
        stderr: FilterStderr,
    ) -> Result<Self, SessionError> {
        let mut refs = Refs::open(&repository);
        if is_kept {
            refs = refs.caching_head();
        }
        let objects = Objects::open_with(&repository, &refs)?;
        let messages = Arc::new(Messages::default());
        let missed_rules = Arc::default();
        let nothing = Tracked::of(&Index::empty(repository.hash));
        let source = SourceOfAttributes::Index;
        let attributes = Arc::new(Attributes::new(
            attribute_files(&repository)?,
            attribute_blobs::blobs(&nothing, &objects, source, &missed_rules),
            messages.clone(),
        ));
        let converter = Converter::new(
            converter::Settings::of(&repository, stderr)?,
            attributes.clone(),
        );
        let excludes = Excludes::new(&repository, &settings);
        let session_started_at = now();
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
            said_in_submodules: Messages::default(),
            missed_rules,
            excludes,
            index: None,
            state,
            session_started_at,
            mark,
            tags: TagIndex::default(),
            prompt: PromptMemory::default(),
            repository_watch: None,
            known_head: None,
            known_dirtiness: None,
            watched: None,
            nested: None,
            has_met_links: false,
            is_kept,
            holds_no_files: false,
            timing: Timing::default(),
            stderr,
            check_in_submodules: |_| Ok(false),
            has_dropped_messages: false,
        })
    }

    /// Makes `check` see the entries in the configuration of submodules by which only the command prints: git runs its status
    /// there, and so refuses bad ones.
    pub fn check_in_submodules(&mut self, check: EntryCheck) {
        self.check_in_submodules = check;
    }

    /// Makes git fetch missing objects that a partial clone left out. Otherwise they count as missing, and a status that needs
    /// attributes from them fails: a question that is asked often must not wait for the network.
    ///
    /// # Errors
    /// The configuration for that is invalid.
    pub fn fetch_missing(&mut self) -> Result<(), SessionError> {
        self.objects = Objects::open_fetching(&self.repository, &self.refs)?;
        Ok(())
    }

    /// Starts watching with `watcher`: after one full scan, only what changed is looked at. Has no effect unless the session is
    /// kept.
    pub fn watch_by(&mut self, watcher: Arc<Watcher>) {
        self.watch_folders_by(watcher, repository_watch::FOLDERS_MAX);
    }

    /// Like [`Self::watch_by`], with at most `folders_max` of the repository's own folders.
    fn watch_folders_by(&mut self, watcher: Arc<Watcher>, folders_max: usize) {
        if self.is_kept {
            self.repository_watch = Some(RepositoryWatch::new(watcher.clone(), folders_max));
            self.nested = Some(NestedSessions::watched_by(watcher.clone()));
            self.watched = Some(WatchedFindings::new(watcher));
        }
    }

    /// Keeps no file open or mapped between two questions, so that the file system can be unmounted. What each answer needs is
    /// copied, and everything else is opened again when needed.
    pub fn hold_no_files(&mut self) {
        self.holds_no_files = true;
        if let Some(nested) = &mut self.nested {
            nested.hold_no_files = true;
        }
    }

    /// Frees what can be read again. Call this after each answer.
    fn free_rereadable(&mut self) {
        if let Some(index) = &mut self.index {
            index.free_rereadable();
            if let Some(nested) = &mut self.nested {
                nested.forget_former(&index.tracked);
            }
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

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The settings from the configuration.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns a proof that nothing has changed in the repository's own folders since the last answer to a prompt, if that can
    /// be known. Call this before looking at anything for a question.
    pub fn prove_unchanged(&mut self) -> Option<UnchangedProof> {
        let watch = self.repository_watch.as_mut()?;
        watch.ask(&self.repository)
    }

    /// Whether the repository is still set up as it was: if not, a new session is needed.
    pub fn is_fresh(&self, unchanged: Option<UnchangedProof>) -> bool {
        match unchanged {
            Some(_) => self.repository.is_fresh_outside(),
            None => self.repository.is_fresh(),
        }
    }

    /// Stops using the state on disk, and leaves it as it is.
    pub fn leave_state(&mut self) {
        self.state = None;
        self.index = None;
    }

    /// Reports on the state on disk.
    ///
    /// # Errors
    /// Why there can be no state.
    pub fn state_report(&self) -> Result<StateReport, NoStateReason> {
        places_or_reason(&self.repository)?;
        let state = self.state.as_ref().ok_or(NoStateReason::Unknown)?;
        Ok(state.report(self.repository.hash, &self.repository.index_path))
    }

    /// Reports what the state on disk records about each directory, parents first.
    ///
    /// # Errors
    /// The index cannot be read. It is needed for ignore files that are not checked out.
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

    /// Returns what determines the ignore rules of single directories. The index must have been read.
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

    /// Makes attributes and filters use the current files and index.
    fn refresh_attributes(&self) {
        let Some(state) = &self.index else {
            return;
        };
        let tree = self.source_of_attributes();
        self.missed_rules
            .reset(matches!(tree, SourceOfAttributes::Missing(_)));
        self.converter.refresh(attribute_blobs::blobs(
            &state.tracked,
            &self.objects,
            tree,
            &self.missed_rules,
        ));
    }

    /// Where attributes come from now, in addition to the working tree or instead of it.
    fn source_of_attributes(&self) -> SourceOfAttributes {
        SourceOfAttributes::of(
            &self.repository,
            &self.refs,
            &self.objects,
            &self.missed_rules,
        )
    }

    /// The tree that attributes come from, if they do not come from the working tree and the index.
    fn attribute_tree(&self) -> Result<Option<ObjectId>, NoTree> {
        match self.source_of_attributes() {
            SourceOfAttributes::Index => Ok(None),
            SourceOfAttributes::Tree(tree) => Ok(Some(tree)),
            SourceOfAttributes::Missing(_) => Err(NoTree),
        }
    }

    /// Fails if attributes were asked for, and the tree that they come from is missing or git exits over what they are read
    /// from. git finds out when it looks up the first path, so it succeeds if nothing asks.
    fn check_attributes(&self) -> Result<(), SessionError> {
        if self.missed_rules.is_asked_for() {
            return Err(attribute_blobs::source_is_missing());
        }
        match self.missed_rules.take_failure() {
            Some(error) => Err(attribute_blobs::explained(&self.repository, error)),
            None => Ok(()),
        }
    }

    /// Fails if attributes or `.gitmodules` were asked for and a partial clone left them out: git would fetch them, and the answer
    /// depends on them.
    fn check_left_out(&self) -> Result<(), SessionError> {
        match self.missed_rules.first_absent() {
            Some(id) => Ok(Objects::check_left_out(&self.repository, &id)?),
            None => Ok(()),
        }
    }

    /// Whether a message was dropped at any time because a prompt has no place for it, or a question was about other paths: a
    /// status from this session may then lack it.
    pub fn has_dropped_messages(&self) -> bool {
        self.has_dropped_messages
    }

    /// Whether, since the last call, a reference or log was not read only because this process has too many files open, or no
    /// memory. The client of a long-lived process may have more.
    pub fn take_shortage(&self) -> bool {
        self.refs.take_shortage()
    }

    /// Drops the pending messages, since there is no place for them. What is said of the folders of objects is said with each answer.
    fn drop_messages(&mut self) {
        self.has_dropped_messages |= self.take_messages_said_once().next().is_some();
    }

    /// Takes the messages of attributes, filters and submodules since the last answer, each a whole line.
    pub fn take_messages(&self) -> Vec<BString> {
        let messages = self.objects.opening_messages().into_iter();
        let messages = messages.map(|line| text_bytes(&line));
        messages.chain(self.take_messages_said_once()).collect()
    }

    /// Takes those that are not said again.
    fn take_messages_said_once(&self) -> impl Iterator<Item = BString> + use<> {
        let said = self.messages.take().into_iter();
        said.chain(self.said_in_submodules.take())
    }
}
