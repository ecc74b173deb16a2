//! What a file system monitor tells git: which paths may have changed since git asked last.
//!
//! git looks at each path that it is told of, and takes all others to be as it saw them: tracked files, and with its untracked
//! cache each folder that it went into. So all of these are watched before git hears where the journal ends, and a folder that is
//! watched from now on is told of as one that changed.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};
use sha2::{Digest, Sha256};
use vigil_model::ObjectId;
use vigil_model::path::directory_len;
use vigil_model::request::UntrackedMode;
use vigil_rules::pathspec::Pathspec;
use vigil_scan::Findings;
use vigil_watch::{Position, WatchedTree};

use super::assemble::Part;
use super::told::{Paths, Told, ToldUntil};
use super::{Session, SessionError};
use crate::status::StatusRequest;

/// The sections of the configuration by which git judges files, and what in them is about other things.
const SECTIONS: [&[u8]; 4] = [b"attr.", b"core.", b"filter.", b"sparse."];
const OTHER_KEYS: [&[u8]; 6] = [
    b"core.editor",
    b"core.fsmonitor",
    b"core.fsmonitorhookversion",
    b"core.pager",
    b"core.sshcommand",
    b"core.untrackedcache",
];

impl Session {
    /// What git must look at that was told everything until `since`, with every change whose system call returned before this
    /// was called. `None` where nothing can be watched: git is to look at all, each time.
    ///
    /// # Errors
    /// The index or the working tree cannot be read.
    pub fn told_since(&mut self, since: Option<ToldUntil>) -> Result<Option<Told>, SessionError> {
        let told = self.tell(since);
        self.rest();
        self.keep_silent();
        told
    }

    /// Whether git was told before what changed: the next time does not begin with a look at everything.
    pub fn has_told(&self) -> bool {
        let watched = self.watched.as_ref();
        let tree = watched.and_then(|watched| watched.watched_tree());
        tree.is_some_and(|tree| tree.told_since(None).is_some())
    }

    fn tell(&mut self, since: Option<ToldUntil>) -> Result<Option<Told>, SessionError> {
        self.refresh_index()?;
        let Ok(attribute_tree) = self.attribute_tree() else {
            // git ends where it asks for attributes, if it does.
            return Ok(None);
        };
        let request = StatusRequest {
            // git may have gone into each folder that is not ignored.
            untracked: UntrackedMode::All,
            ..StatusRequest::default()
        };
        let found = self.refresh_findings(&request, &Pathspec::default(), &Part::ALL)?;
        let ground = self.ground(attribute_tree);
        let Some(watched) = &self.watched else {
            return Ok(None);
        };
        let Some(tree) = watched.watched_tree() else {
            return Ok(None);
        };
        let unheard = match &found {
            Some(found) => Some(&found.unheard),
            None => watched.unheard(),
        };
        self.tell_of_new_records(tree, found.as_ref());
        let ground = ground ^ u128::from(tree.serial()).rotate_right(64);
        let known = since.filter(|since| since.ground == ground);
        let position = known.map(|known| Position::of_number(known.number));
        let Some((changes, end)) = tree.told_since(position) else {
            // Folders that were watched until now are no news; who was told nothing yet looks at all.
            tree.begin_to_tell();
            let (_, end) = tree.told_since(None).unwrap_or_default();
            let number = end.number();
            return Ok(Some(told(ground, number, None)));
        };
        let is_everything = known.is_none() || changes.everything;
        let mut paths = Paths::new(tree, is_everything);
        paths.add_changes(&changes);
        if let (Some(unheard), Some(index)) = (unheard, &self.index) {
            paths.add_unheard(unheard, |number| {
                index.tracked.entry(number).map(|entry| entry.path)
            });
        }
        if known.is_some_and(|known| !known.has_right_listings) {
            paths.add_all_listings();
        }
        Ok(Some(told(ground, end.number(), paths.finish())))
    }

    /// Tells of files that differ from records that are new. git takes some of these to be as recorded without a look, as where it
    /// renames a file in the index and cannot do so in the working tree.
    fn tell_of_new_records(&self, tree: &WatchedTree, found: Option<&Findings>) {
        let (Some(watched), Some(index)) = (&self.watched, &self.index) else {
            return;
        };
        let Some(found) = found.or_else(|| watched.known()) else {
            return;
        };
        let moved = watched.moved();
        if moved.is_some_and(|moved| moved.is_empty()) {
            return;
        }
        for (number, _) in &found.tracked {
            let Some(entry) = index.tracked.entry(*number) else {
                continue;
            };
            let len = directory_len(entry.path.as_bstr()).saturating_sub(1);
            let directory = entry.path.get(..len).unwrap_or_default();
            if moved.is_none_or(|moved| moved.contains(directory.as_bstr())) {
                tree.tell_of(entry.path.as_bstr());
            }
        }
    }

    /// A digest of all outside the working tree by which git judges what is in it.
    fn ground(&mut self, attribute_tree: Option<ObjectId>) -> u128 {
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
            let counts = SECTIONS.iter().any(|section| key.starts_with(section));
            if counts && !OTHER_KEYS.contains(&key) {
                add(key);
                add(entry.value.unwrap_or("true".into()));
            }
        }
        let mut ground = [0; 16];
        for (to, from) in ground.iter_mut().zip(digest.finalize()) {
            *to = from;
        }
        u128::from_le_bytes(ground)
    }
}

fn told(ground: u128, number: u64, paths: Option<BTreeSet<BString>>) -> Told {
    let until = ToldUntil {
        ground,
        number,
        has_right_listings: paths.is_some(),
    };
    Told { until, paths }
}
