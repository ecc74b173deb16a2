//! Describes a blob by the oldest commit in the history of HEAD that contains it, and its path there.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use bstr::BString;
use gix_hash::ObjectId;
use gix_object::Kind;

use super::walk::SEEN;
use super::{Describer, Error};
use crate::commits::{Commits, Number, Queue};
use vigil_git::objects::{self, Objects};
use vigil_model::id_hasher::IdHasher;
use vigil_objects::tree;

/// The flag that excludes a commit and its whole history. In git, walks through history and the search for names use
/// the same bits of a commit, and some are still set by one when the next begins.
const UNINTERESTING: u32 = 1 << 1;

/// The bits that git's walk sets on all commits but the first.
const REACHED: u32 = 1 << 25 | 1 << 28;

/// The bits that git clears on all commits at the end of a walk.
const OF_ONE_WALK: u32 = SEEN | 1 << 3 | 1 << 7 | 1 << 23 | 1 << 24;

impl Describer<'_> {
    /// Returns the description of the blob `id`.
    pub(super) fn describe_blob(&mut self, id: &ObjectId) -> Result<BString, Error> {
        let context = self.context;
        let head = context.find("HEAD".into(), &self.memory, &mut self.messages)?;
        let head = head.ok_or(Error::Unborn { id: *id })?;
        let Some((head, Kind::Commit)) = context.objects.peel(&head)? else {
            return Err(Error::NotReachable { id: *id });
        };
        let history = self.history(&head)?;
        let mut finder = Finder {
            objects: context.objects,
            id,
            seen: HashSet::default(),
        };
        for number in history.into_iter().rev() {
            let Some(tree) = self.commits.tree_of(number) else {
                continue;
            };
            let Some(path) = finder.find(&tree)? else {
                continue;
            };
            self.commits.clear_flags(OF_ONE_WALK);
            let Some(commit) = self.commits.id_of(number) else {
                continue;
            };
            let mut text = self.describe_commit(&commit)?;
            // Its flags must stay: another walk may follow.
            self.start = None;
            self.commits.clear_flags(OF_ONE_WALK);
            text.push(b':');
            text.extend_from_slice(&path);
            return Ok(text);
        }
        self.commits.clear_flags(OF_ONE_WALK);
        Err(Error::NotReachable { id: *id })
    }

    /// Returns the commits in the history of `head`, the latest first.
    fn history(&mut self, head: &ObjectId) -> Result<Vec<Number>, Error> {
        let commits = &mut self.commits;
        let start = commits.number_of(head);
        commits.read_or_report(start, &mut self.messages)?;
        commits.add_flags(start, SEEN);
        let mut queue = Queue::default();
        queue.push(start, commits.time_of(start));
        let mut history = Vec::new();
        while let Some(number) = queue.pop() {
            let is_left_out = commits.flags_of(number) & UNINTERESTING != 0;
            for at in 0..commits.parent_count(number) {
                let Some(parent) = commits.parent(number, at) else {
                    break;
                };
                if is_left_out {
                    commits.read_or_report_damage(parent, &mut self.messages)?;
                    commits.add_flags(parent, UNINTERESTING);
                    leave_out_parents(commits, parent);
                } else if !commits.read_or_report(parent, &mut self.messages)? {
                    let id = commits.id_of(number).unwrap_or(*head);
                    return Err(Error::NoParent { id });
                }
                commits.add_flags(parent, REACHED);
                if commits.flags_of(parent) & SEEN == 0 {
                    queue.push(parent, commits.time_of(parent));
                    commits.add_flags(parent, SEEN);
                }
            }
            if !is_left_out {
                history.push(number);
            }
        }
        Ok(history)
    }
}

/// Excludes the history of the commit `number`, as far as it was read.
fn leave_out_parents(commits: &mut Commits, number: Number) {
    let mut pending = vec![number];
    while let Some(number) = pending.pop() {
        for at in 0..commits.parent_count(number) {
            if let Some(parent) = commits.parent(number, at)
                && commits.flags_of(parent) & UNINTERESTING == 0
            {
                commits.add_flags(parent, UNINTERESTING);
                pending.push(parent);
            }
        }
    }
}

/// A search through trees, each of which is searched only once.
struct Finder<'a> {
    objects: &'a Objects,
    id: &'a ObjectId,
    seen: HashSet<ObjectId, BuildHasherDefault<IdHasher>>,
}

/// A tree that is being searched.
struct Level {
    content: Vec<u8>,
    /// How far it was read, in bytes.
    read_len: usize,
    /// The length of the tree's path.
    path_length: usize,
}

/// Where the search of a tree stops.
enum Search {
    /// At the blob.
    Found,
    /// At a tree below, which comes first.
    Below(ObjectId),
    /// At its end.
    Ended,
}

impl Finder<'_> {
    /// Returns the path of the blob below `tree`.
    fn find(&mut self, tree: &ObjectId) -> Result<Option<BString>, Error> {
        let mut path = BString::default();
        let mut levels = Vec::new();
        self.enter(tree, 0, &mut levels)?;
        while let Some(level) = levels.last_mut() {
            path.truncate(level.path_length);
            match self.search(level, &mut path)? {
                Search::Found => return Ok(Some(path)),
                Search::Below(tree) => self.enter(&tree, path.len(), &mut levels)?,
                Search::Ended => {
                    levels.pop();
                }
            }
        }
        Ok(None)
    }

    /// Goes on in `level`, whose path is `path`, to the blob or a tree that was not searched; adds its name to `path`.
    fn search(&self, level: &mut Level, path: &mut BString) -> Result<Search, objects::Error> {
        let rest = level.content.get(level.read_len..).unwrap_or_default();
        for entry in tree::walked_entries(rest, self.objects.hash_kind()) {
            let entry = entry.map_err(objects::Error::MalformedTree)?;
            level.read_len = level.read_len.saturating_add(entry.len);
            if entry.mode.is_tree() {
                if !self.seen.contains(&entry.id) {
                    path.extend_from_slice(entry.key.name);
                    path.push(b'/');
                    return Ok(Search::Below(entry.id));
                }
            } else if !entry.mode.is_gitlink() && entry.id == *self.id {
                path.extend_from_slice(entry.key.name);
                return Ok(Search::Found);
            }
        }
        Ok(Search::Ended)
    }

    /// Reads `tree`, unless it was read before.
    fn enter(
        &mut self,
        tree: &ObjectId,
        path_length: usize,
        levels: &mut Vec<Level>,
    ) -> Result<(), Error> {
        if !self.seen.insert(*tree) {
            return Ok(());
        }
        if i64::try_from(levels.len()).is_ok_and(|depth| depth > self.objects.tree_depth_max()) {
            return Err(Error::TooDeep);
        }
        let mut content = Vec::new();
        self.objects.tree(tree, &mut content)?;
        levels.push(Level {
            content,
            read_len: 0,
            path_length,
        });
        Ok(())
    }
}
