//! What a file system monitor tells git: which paths may have changed since git last asked.
//!
//! git looks at each path that it is told of, and assumes that all others are as it saw them: tracked files, and with its
//! untracked cache each folder that it entered. So all of these are watched before git learns the end of the journal, and a
//! folder that was not watched before is reported as changed.

use std::collections::BTreeSet;
use std::mem::take;
use std::sync::Arc;

use bstr::{BString, ByteSlice};
use sha2::{Digest, Sha256};
use vigil_linux::stat::stat_path;
use vigil_model::ObjectId;
use vigil_model::path::directory_len;
use vigil_model::request::UntrackedMode;
use vigil_model::tracked::ByNumber;
use vigil_rules::pathspec::Pathspec;
use vigil_scan::Findings;
use vigil_watch::{Position, WatchedTree};

use super::change_report::{ChangeReport, ForGit, FullReport, Paths, ToldUntil, of_tree};
use super::findings::ScanScope;
use super::index::LARGE_INDEX_LEN;
use super::judging::affects_judging;
use super::linked::has_nameless;
use super::watched::{FreshOrKept, top_of};
use super::{Session, SessionError};
use crate::status::StatusRequest;

/// With this many changes, all entries are reported if all listings are reported anyway: that is shorter.
const CHANGES_MAX: usize = 1000;

impl Session {
    /// Returns what a git that was told everything until `since` must look at, including every change whose system call returned
    /// before this call. `None` if nothing can be watched: git must then look at everything each time.
    ///
    /// # Errors
    /// The index or the working tree cannot be read.
    pub fn changes_to_report(
        &mut self,
        since: Option<ToldUntil>,
        for_git: ForGit,
    ) -> Result<Option<ChangeReport>, SessionError> {
        let told = self.report_changes(since, for_git);
        self.free_rereadable();
        self.drop_messages();
        told
    }

    /// Returns the answer that everything may have changed, without scanning. `None` if nothing can be watched.
    ///
    /// # Errors
    /// The working tree is missing.
    pub fn full_report(&mut self) -> Result<Option<FullReport>, SessionError> {
        let Ok(attribute_tree) = self.attribute_tree() else {
            return Ok(None);
        };
        let top = self.repository.work_tree.as_deref();
        let top = top.map(top_of).transpose()?;
        let context_id = self.context_id(attribute_tree);
        let (Some(watched), Some(top)) = (&mut self.watched, top) else {
            return Ok(None);
        };
        let tree = watched.tree(&top);
        tree.start_monitor_journal();
        let rests_on_tree = attribute_tree.is_some();
        let repository = self.repository.clone();
        Ok(Some(FullReport::new(
            context_id,
            &tree,
            repository,
            rests_on_tree,
        )))
    }

    /// Returns the watched working tree. It stays watched as long as the caller holds it.
    pub fn watched_tree(&self) -> Option<Arc<WatchedTree>> {
        let watched = self.watched.as_ref();
        watched.and_then(|watched| watched.watched_tree()).cloned()
    }

    /// Whether everything was looked at before, so that the next time starts from what changed since.
    pub fn has_looked(&self) -> bool {
        let watched = self.watched.as_ref();
        watched.is_some_and(|watched| watched.known().is_some())
    }

    /// Whether the index is so large that a full scan takes longer than git should wait.
    pub fn is_large(&self) -> bool {
        let stat = stat_path(&self.repository.index_path);
        stat.is_ok_and(|stat| stat.size >= LARGE_INDEX_LEN)
    }

    fn report_changes(
        &mut self,
        since: Option<ToldUntil>,
        for_git: ForGit,
    ) -> Result<Option<ChangeReport>, SessionError> {
        self.refresh_index()?;
        let Ok(attribute_tree) = self.attribute_tree() else {
            // git fails when it looks up attributes, if it does.
            return Ok(None);
        };
        let request = StatusRequest {
            // git may have entered any folder that is not ignored.
            untracked: UntrackedMode::All,
            ..StatusRequest::default()
        };
        let found = self.refresh_findings(&request, &Pathspec::default(), &ScanScope::ALL)?;
        let context_id = self.context_id(attribute_tree);
        self.report_silent_changes(&found);
        let untold = match (&found, &mut self.watched) {
            (FreshOrKept::Kept, Some(watched)) => watched.take_untold_directories(),
            _ => None,
        };
        let Some(watched) = &self.watched else {
            return Ok(None);
        };
        let (Some(tree), Some(findings)) = (watched.watched_tree(), found.findings(Some(watched)))
        else {
            return Ok(None);
        };
        self.report_new_records(untold, tree, findings);
        let context_id = of_tree(context_id, tree);
        let known = since.filter(|since| since.context_id == context_id);
        let position = known.map(|known| Position::of_number(known.number));
        let Some((mut changes, end)) = tree.monitor_changes_since(position) else {
            // Folders that were watched before now are not news; a git that was told nothing yet looks at everything.
            tree.start_monitor_journal();
            let (_, end) = tree.monitor_changes_since(None).unwrap_or_default();
            let number = end.number();
            return Ok(Some(ChangeReport::new(context_id, number, None)));
        };
        for path in watched.mounted_files() {
            changes.add_path(path.clone());
        }
        let lacks_listings = known.is_some_and(|known| !known.has_right_listings);
        let are_many = changes.everything || changes.len() > CHANGES_MAX;
        // Then have everything looked at once more, including the listings, so that nothing need be the next time.
        let all = self.index.as_ref().map(|index| &index.tracked);
        let all_at_once = all.filter(|_| lacks_listings && are_many);
        let is_everything = all_at_once.is_none() && {
            let top = self.repository.work_tree.as_deref();
            known.is_none()
                || changes.everything
                || top.is_some_and(|top| has_nameless(top, &changes))
        };
        let mut paths = Paths::new(tree, is_everything);
        if lacks_listings {
            paths.add_all_listings();
        }
        paths.suit(for_git, all);
        match all_at_once {
            Some(all) => paths.add_all_entries(all),
            None => paths.add_changes(&changes),
        }
        paths.add_silent_folders(&findings.silent_paths);
        Ok(Some(ChangeReport::new(
            context_id,
            end.number(),
            paths.finish(),
        )))
    }

    /// Reports files that differ from entries that are new. git takes some of them for unchanged without looking, for example
    /// when it renames a file in the index and cannot do so in the working tree. `changed` are the directories with new entries;
    /// `None` if any may have them.
    fn report_new_records(
        &self,
        changed: Option<BTreeSet<BString>>,
        tree: &WatchedTree,
        findings: &Findings,
    ) {
        let Some(index) = &self.index else {
            return;
        };
        if changed.as_ref().is_some_and(BTreeSet::is_empty) {
            return;
        }
        let mut entries = ByNumber::new(&index.tracked);
        for (number, _) in &findings.tracked {
            let Some(entry) = entries.get(*number) else {
                continue;
            };
            let len = directory_len(entry.path.as_bstr()).saturating_sub(1);
            let directory = entry.path.get(..len).unwrap_or_default();
            let is_new = |changed: &BTreeSet<BString>| changed.contains(directory.as_bstr());
            if changed.as_ref().is_none_or(is_new) {
                tree.report_path(entry.path.as_bstr());
            }
        }
    }

    /// Reports what changed without an event, by looking: tracked files, and folders that became repositories or ceased to be
    /// ones. git keeps the listing that such a folder is in, and what matters happened inside, where nothing is watched.
    fn report_silent_changes(&mut self, found: &FreshOrKept) {
        let Some(mut looks) = self.watched.as_mut().map(|it| take(&mut it.silent_looks)) else {
            return;
        };
        let watched = self.watched.as_ref();
        let tree = watched.and_then(|watched| watched.watched_tree());
        let (top, index) = (self.repository.work_tree.as_deref(), self.index.as_ref());
        if let (Some(tree), Some(findings)) = (tree, found.findings(watched))
            && let (Some(top), Some(index)) = (top, index)
        {
            let nested = findings.silent_paths.nested.iter();
            let nested = looks.changed_nested(top, nested.map(|it| it.path.clone()), |path| {
                self.repository.has_nested_repository(path)
            });
            let files = findings.silent_paths.files.iter();
            let mut entries = ByNumber::new(&index.tracked);
            let files = files.filter_map(|number| entries.get(*number));
            let files = looks.changed_files(top, files.map(|entry| entry.path));
            for path in nested.iter().chain(&files) {
                tree.report_path(path.as_bstr());
            }
        }
        if let Some(watched) = &mut self.watched {
            watched.silent_looks = looks;
        }
    }

    /// A digest of everything outside the working tree that affects how git judges what is in it.
    fn context_id(&mut self, attribute_tree: Option<ObjectId>) -> u128 {
        let mut digest = Sha256::new();
        let mut add = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        let rules = self.excludes.rules();
        add(&rules.digest().to_le_bytes());
        add(attribute_tree.as_ref().map_or(&[], |tree| tree.as_bytes()));
        for file in self.attributes.outer_files() {
            add(file.path.as_os_str().as_encoded_bytes());
            add(format!("{:?}", file.stamp).as_bytes());
        }
        for entry in self.repository.config.entries() {
            let key = entry.key.as_bytes();
            if affects_judging(key) {
                add(key);
                add(entry.value.unwrap_or("true".into()));
            }
        }
        let mut context_id = [0; 16];
        for (to, from) in context_id.iter_mut().zip(digest.finalize()) {
            *to = from;
        }
        u128::from_le_bytes(context_id)
    }
}
