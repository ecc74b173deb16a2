//! The watched folders of several trees, as nodes, and what each event does to them.
//!
//! A watch descriptor leads to nodes, never to a path: when a folder is renamed, its node moves along with everything below it. A
//! path is only built when there is something to report, and it is the path at that point of the event queue.
//!
//! All decisions are made here, without system calls, so that tests can drive them step by step.

use std::collections::{BTreeMap, HashMap};

use bstr::{BStr, BString, ByteSlice};
use vigil_linux::inotify::ReadFlags;
use vigil_model::path::join;
use vigil_model::timestamp::Timestamp;

use crate::journal::Journal;
use crate::unwatched::Unwatched;

/// The identifier of a watched tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TreeId(u32);

/// The identifier of a node.
type NodeId = u32;

/// A watched folder, or an ancestor of one.
#[derive(Debug)]
struct Node {
    tree: TreeId,
    parent: Option<NodeId>,
    name: BString,
    /// Its watch descriptor, or `None` if it is not watched.
    wd: Option<i32>,
    /// Why the last attempt to watch it failed, if it did.
    refused: Option<Unwatched>,
    /// The tree's age when the folder was last watched or refused.
    age: u32,
    /// When a rename brought it to its current place.
    arrived: Option<Timestamp>,
    below: BTreeMap<BString, NodeId>,
}

#[derive(Debug)]
struct Tree {
    root: NodeId,
    journal: Journal,
    /// The second journal, for readers that know nothing of a folder before it is watched. `None` until one asks.
    monitor_journal: Option<Journal>,
    /// The number of times that events were lost. A node with an older age may stand for a folder that is gone.
    age: u32,
}

/// An event for a watched folder or for an entry in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchEvent<'e> {
    /// The watch descriptor.
    pub wd: i32,
    /// The event's flags.
    pub flags: ReadFlags,
    /// The number that both halves of a rename share.
    pub cookie: u32,
    /// The name of the entry, or `None` for the folder itself.
    pub name: Option<&'e BStr>,
}

/// All trees.
#[derive(Debug, Default)]
pub(crate) struct Forest {
    nodes: HashMap<NodeId, Node>,
    next_node: NodeId,
    next_tree: u32,
    trees: HashMap<TreeId, Tree>,
    /// The nodes of each watch. A folder has one watch, but may be in several trees, or by mounts at several places.
    by_watch: HashMap<i32, Vec<NodeId>>,
    /// Folders that were renamed away and have not reappeared yet, by cookie.
    moved: Vec<(u32, NodeId)>,
    /// Watches without any node.
    unused: Vec<i32>,
    /// The number of nodes that could not be watched.
    refused: usize,
    /// The time at which the events being handled were queued, or a little later.
    now: Timestamp,
    /// The entry that the event before this one was about, if that noted it as present. Until the queue is empty, nobody can have
    /// seen that.
    noted: Option<i32>,
    noted_name: BString,
    /// The path of the folder that the event before this one was about, unless some folder's path has changed since.
    last_folder: Option<(NodeId, BString)>,
}

/// The longest time, in seconds, between the two halves of an exchange (`RENAME_EXCHANGE`). They are queued one right after the
/// other, but the process may have to wait for a core in between.
const EXCHANGE_MAX_S: i64 = 2;

/// The flags of events after which an entry is not where it was.
const GOES: ReadFlags = ReadFlags::DELETE.union(ReadFlags::MOVED_FROM);

/// The flags of events after which the same entry is where it was.
const IN_PLACE: ReadFlags = ReadFlags::MODIFY
    .union(ReadFlags::ATTRIB)
    .union(ReadFlags::CLOSE_WRITE);

/// The most nodes that are kept for folders that cannot be watched.
const REFUSED_MAX: usize = 50_000;

impl Tree {
    fn each_journal(&mut self, note: impl Fn(&mut Journal)) {
        note(&mut self.journal);
        self.monitor_journal.iter_mut().for_each(note);
    }
}

impl Forest {
    /// Adds a tree of which nothing is known.
    pub(crate) fn begin(&mut self) -> TreeId {
        let tree = TreeId(self.next_tree);
        self.next_tree = self.next_tree.wrapping_add(1);
        let root = self.add_node(tree, None, BString::default());
        let begun = Tree {
            root,
            journal: Journal::default(),
            monitor_journal: None,
            age: 0,
        };
        self.trees.insert(tree, begun);
        tree
    }

    /// Removes a tree and its nodes.
    pub(crate) fn forget(&mut self, tree: TreeId) {
        if let Some(tree) = self.trees.remove(&tree) {
            self.drop_below(tree.root);
        }
    }

    /// Records that the folder at `path` in `tree` has the watch `wd`. Must be called before the caller looks at the folder, and
    /// before any event is handled that came after the watch was set.
    pub(crate) fn record_watch(&mut self, tree: TreeId, path: &BStr, wd: i32) {
        let Some(id) = self.node_at(tree, path) else {
            return;
        };
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        node.age = self.trees.get(&tree).map_or(0, |tree| tree.age);
        let before = node.wd.replace(wd);
        if node.refused.take().is_some() {
            self.refused = self.refused.saturating_sub(1);
        }
        if before == Some(wd) {
            return;
        }
        if let Some(before) = before {
            self.release_watch(before, id);
            self.forget_below(tree, path, id);
        }
        self.by_watch.entry(wd).or_default().push(id);
        // The watch may just have been given up for another place.
        self.unused.retain(|unused| *unused != wd);
        self.report_folder(tree, path);
    }

    /// Forgets what was below `path`: another folder is there now than was known.
    fn forget_below(&mut self, tree: TreeId, path: &BStr, id: NodeId) {
        let below = self
            .nodes
            .get_mut(&id)
            .map(|node| std::mem::take(&mut node.below));
        let below = below.filter(|below| !below.is_empty());
        let Some(below) = below else {
            return;
        };
        for id in below.into_values() {
            self.drop_below(id);
        }
        // Some readers look at the folder only, not at everything below it.
        self.note_folder(tree, path);
    }

    /// Whether the folder at `path` in `tree` is watched.
    pub(crate) fn is_watched(&self, tree: TreeId, path: &BStr) -> bool {
        let node = self.known_at(tree, path).and_then(|id| self.nodes.get(&id));
        node.is_some_and(|node| node.wd.is_some())
    }

    /// Why the folder at `path` in `tree` could not be watched, if that is remembered.
    pub(crate) fn why_unwatched(&self, tree: TreeId, path: &BStr) -> Option<Unwatched> {
        let id = self.known_at(tree, path)?;
        self.nodes.get(&id)?.refused
    }

    /// Records that the folder at `path` in `tree` cannot be watched, and why.
    pub(crate) fn record_refusal(&mut self, tree: TreeId, path: &BStr, why: Unwatched) {
        if self.refused >= REFUSED_MAX && self.known_at(tree, path).is_none() {
            // There are too many to report one by one.
            if let Some(journal) = self.monitor_journal_mut(tree) {
                journal.add_everything();
            }
            return;
        }
        let Some(id) = self.node_at(tree, path) else {
            return;
        };
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        node.age = self.trees.get(&tree).map_or(0, |tree| tree.age);
        if node.refused.replace(why).is_none() {
            self.refused = self.refused.saturating_add(1);
        }
        match node.wd.take() {
            None => self.report_folder(tree, path),
            Some(before) => {
                self.release_watch(before, id);
                // Other readers rely on the watch, and hear nothing from now on.
                self.note_folder(tree, path);
            }
        }
    }

    /// Starts the second journal of `tree`, which also reports each newly watched folder as changed.
    pub(crate) fn start_monitor_journal(&mut self, tree: TreeId) {
        if let Some(tree) = self.trees.get_mut(&tree) {
            tree.monitor_journal.get_or_insert_default();
        }
    }

    /// Adds the entry at `path` to the second journal of `tree`.
    pub(crate) fn report_path(&mut self, tree: TreeId, path: &BStr) {
        let now = self.now;
        if let Some(journal) = self.monitor_journal_mut(tree) {
            journal.add_path(path, now);
        }
    }

    /// Makes the second journal of `tree` report that everything may have changed.
    pub(crate) fn report_everything(&mut self, tree: TreeId) {
        if let Some(journal) = self.monitor_journal_mut(tree) {
            journal.add_everything();
        }
    }

    /// The second journal of `tree`: what changed there, or was not watched before.
    pub(crate) fn monitor_journal(&self, tree: TreeId) -> Option<&Journal> {
        self.trees.get(&tree)?.monitor_journal.as_ref()
    }

    /// Returns the folder at `path` in `tree` and the known folders below it, at most `max`, and whether these are all.
    pub(crate) fn folders_from(
        &self,
        tree: TreeId,
        path: &BStr,
        max: usize,
    ) -> (Vec<BString>, bool) {
        let mut folders = Vec::new();
        let Some(first) = self.known_at(tree, path) else {
            return (folders, true);
        };
        let mut pending = vec![(first, path.to_owned())];
        while let Some((id, path)) = pending.pop() {
            let Some(node) = self.nodes.get(&id) else {
                continue;
            };
            if folders.len() >= max {
                return (folders, false);
            }
            let below = node.below.iter();
            pending.extend(below.map(|(name, id)| (*id, join(path.as_bstr(), name.as_bstr()))));
            folders.push(path);
        }
        (folders, true)
    }

    fn known_at(&self, tree: TreeId, path: &BStr) -> Option<NodeId> {
        let mut at = self.trees.get(&tree)?.root;
        for name in path.split_str("/").filter(|name| !name.is_empty()) {
            at = *self.nodes.get(&at)?.below.get(name.as_bstr())?;
        }
        Some(at)
    }

    /// Adds the folder at `path` to the journals of `tree`.
    fn note_folder(&mut self, tree: TreeId, path: &BStr) {
        let now = self.now;
        if let Some(tree) = self.trees.get_mut(&tree) {
            tree.each_journal(|journal| journal.add_folder(path, now));
        }
    }

    /// Adds the folder at `path` to the second journal of `tree`.
    fn report_folder(&mut self, tree: TreeId, path: &BStr) {
        let now = self.now;
        if let Some(journal) = self.monitor_journal_mut(tree) {
            journal.add_folder(path, now);
        }
    }

    fn monitor_journal_mut(&mut self, tree: TreeId) -> Option<&mut Journal> {
        self.trees.get_mut(&tree)?.monitor_journal.as_mut()
    }

    /// Sets the time of the events that are handled from now on.
    pub(crate) fn set_time(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Handles one event.
    pub(crate) fn handle(&mut self, event: WatchEvent<'_>) {
        if self.is_noted(&event) {
            return;
        }
        self.noted = None;
        if event.flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.doubt_everything();
            for tree in self.trees.values_mut() {
                tree.age = tree.age.wrapping_add(1);
            }
            return;
        }
        let nodes = self.by_watch.get(&event.wd).map(Vec::as_slice);
        let (first, others) = match nodes.unwrap_or_default() {
            [] => (None, Vec::new()),
            [first, others @ ..] => (Some(*first), others.to_vec()),
        };
        if event.flags.contains(ReadFlags::IGNORED) {
            self.by_watch.remove(&event.wd);
        }
        for id in first.into_iter().chain(others) {
            match event.name {
                Some(name) => self.handle_entry_event(id, name, &event),
                None => self.handle_folder_event(id, &event),
            }
        }
        if let Some(name) = event.name
            && !event.flags.intersects(GOES)
        {
            self.noted = Some(event.wd);
            self.noted_name.clear();
            self.noted_name.extend_from_slice(name);
        }
    }

    /// Whether the event tells nothing that the one before it did not: a file that is created, written and closed has three.
    fn is_noted(&self, event: &WatchEvent<'_>) -> bool {
        let is_change_only = (event.flags - IN_PLACE).is_empty();
        is_change_only
            && self.noted == Some(event.wd)
            && event.name.is_some_and(|name| name == self.noted_name)
    }

    /// Call this when the queue is empty. A folder that was renamed away and has not reappeared is outside the tree, where its
    /// events no longer matter.
    pub(crate) fn settle(&mut self) {
        self.noted = None;
        for (_, id) in std::mem::take(&mut self.moved) {
            self.drop_below(id);
        }
    }

    /// Call this once the whole tree has been looked at, each folder after it was watched. What the look did not meet is gone.
    pub(crate) fn finish_scan(&mut self, tree: TreeId) {
        let Some((root, age)) = self.trees.get(&tree).map(|tree| (tree.root, tree.age)) else {
            return;
        };
        let mut met = vec![root];
        let mut at = 0;
        while let Some(id) = met.get(at) {
            let below = self.nodes.get(id).map(|node| &node.below);
            met.extend(below.into_iter().flatten().map(|(_, sub)| *sub));
            at = at.saturating_add(1);
        }
        // Deepest first: a node without a watch is only kept for the nodes below it.
        for id in met.into_iter().skip(1).rev() {
            let Some(node) = self.nodes.get(&id) else {
                continue;
            };
            let is_met = node.wd.is_some() || node.refused.is_some();
            let is_old = !is_met || node.age != age;
            if !is_old || !node.below.is_empty() {
                continue;
            }
            let (parent, name) = (node.parent, node.name.clone());
            if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
                parent.below.remove(&name);
            }
            self.drop_below(id);
        }
    }

    /// Takes the watches that no node needs any more.
    pub(crate) fn take_unused_watches(&mut self) -> Vec<i32> {
        std::mem::take(&mut self.unused)
    }

    /// The journal of `tree`.
    pub(crate) fn journal(&self, tree: TreeId) -> Option<&Journal> {
        self.trees.get(&tree).map(|tree| &tree.journal)
    }

    /// Makes all trees report that everything may have changed, as after a lost event.
    pub(crate) fn doubt_everything(&mut self) {
        for tree in self.trees.values_mut() {
            tree.each_journal(Journal::add_everything);
        }
    }

    /// Makes one tree report that everything may have changed.
    pub(crate) fn doubt(&mut self, tree: TreeId) {
        if let Some(tree) = self.trees.get_mut(&tree) {
            tree.each_journal(Journal::add_everything);
        }
    }

    /// The number of watched folders.
    pub(crate) fn watches(&self) -> usize {
        self.by_watch.len()
    }

    /// The number of watched folders in `tree`.
    pub(crate) fn watches_of(&self, tree: TreeId) -> usize {
        let nodes = self.nodes.values();
        nodes
            .filter(|node| node.tree == tree && node.wd.is_some())
            .count()
    }

    fn handle_folder_event(&mut self, id: NodeId, event: &WatchEvent<'_>) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        let (tree, is_root) = (node.tree, node.parent.is_none());
        if event.flags.contains(ReadFlags::IGNORED) {
            node.wd = None;
        } else if event.flags.contains(ReadFlags::MOVE_SELF) && !is_root {
            // The parent's event tells where it went, unless the parent is not watched.
            let above = node.parent.and_then(|above| self.nodes.get(&above));
            if above.is_some_and(|above| above.wd.is_some()) {
                return;
            }
        }
        if let Some(path) = self.path_of(id) {
            self.note_folder(tree, path.as_bstr());
        }
    }

    fn handle_entry_event(&mut self, id: NodeId, name: &BStr, event: &WatchEvent<'_>) {
        let flags = event.flags;
        let Some(node) = self.nodes.get(&id) else {
            return;
        };
        let tree = node.tree;
        let child = node.below.get(name).copied();
        let path = self.path_in(id, name);
        let appears = flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        let goes = flags.intersects(GOES);
        if let Some(child) = child
            && (appears || goes)
        {
            if let Some(node) = self.nodes.get_mut(&id) {
                node.below.remove(name);
            }
            match flags.contains(ReadFlags::MOVED_FROM) && self.is_certainly_moved(child, flags) {
                true => {
                    self.last_folder = None;
                    if let Some(child) = self.nodes.get_mut(&child) {
                        child.parent = None;
                    }
                    self.moved.push((event.cookie, child));
                }
                false => self.drop_below(child),
            }
        }
        if flags.contains(ReadFlags::MOVED_TO)
            && let Some(moved) = self.take_moved(tree, event.cookie)
        {
            // If it takes another folder's place, it may be half of an exchange, and more events follow.
            match child {
                None => self.attach(moved, id, name),
                Some(_) => self.drop_below(moved),
            }
        }
        let Some(path) = path else {
            return;
        };
        let now = self.now;
        if let Some(tree) = self.trees.get_mut(&tree) {
            let is_folder = flags.contains(ReadFlags::ISDIR) || child.is_some();
            tree.each_journal(|journal| match is_folder {
                true => journal.add_folder(path.as_bstr(), now),
                false if goes => journal.add_gone(path.as_bstr(), now),
                false => journal.add_path(path.as_bstr(), now),
            });
        }
    }

    /// Takes the folder of `tree` that an event with this `cookie` renamed away, if there is one.
    fn take_moved(&mut self, tree: TreeId, cookie: u32) -> Option<NodeId> {
        let is_of_tree = |id: &NodeId| self.nodes.get(id).is_some_and(|node| node.tree == tree);
        let mut moved = self.moved.iter();
        let at = moved.position(|(other, id)| *other == cookie && is_of_tree(id))?;
        Some(self.moved.swap_remove(at).1)
    }

    /// Whether the node `id` certainly stands for the folder that an event with `flags` renames away. In an exchange, the arrival
    /// of one entry is queued first, and then the departure of the other one under the same name: that looks the same as one
    /// folder that arrives and moves on.
    fn is_certainly_moved(&self, id: NodeId, flags: ReadFlags) -> bool {
        let arrived = self.nodes.get(&id).and_then(|node| node.arrived);
        let is_long_here = arrived.is_none_or(|then| {
            let age_s = self.now.s.saturating_sub(then.s);
            age_s > EXCHANGE_MAX_S
        });
        flags.contains(ReadFlags::ISDIR) && is_long_here
    }

    /// Attaches the detached node `moved` as `name` below `parent`.
    fn attach(&mut self, moved: NodeId, parent: NodeId, name: &BStr) {
        let mut above = Some(parent);
        while let Some(id) = above {
            if id == moved {
                // A folder cannot be moved into itself, so the known places of folders were wrong.
                let tree = self.nodes.get(&moved).map(|node| node.tree);
                self.drop_below(moved);
                if let Some(tree) = tree {
                    self.doubt(tree);
                }
                return;
            }
            above = self.nodes.get(&id).and_then(|node| node.parent);
        }
        let now = self.now;
        self.last_folder = None;
        if let Some(node) = self.nodes.get_mut(&moved) {
            node.parent = Some(parent);
            node.name = name.to_owned();
            node.arrived = Some(now);
        }
        if let Some(node) = self.nodes.get_mut(&parent) {
            node.below.insert(name.to_owned(), moved);
        }
    }

    /// The path of a node, or `None` if it is in no tree, as after it was renamed away.
    fn path_of(&self, id: NodeId) -> Option<BString> {
        let mut names = Vec::new();
        let mut node = self.nodes.get(&id)?;
        let root = self.trees.get(&node.tree)?.root;
        let mut at = id;
        while let Some(parent) = node.parent {
            names.push(node.name.as_bstr());
            at = parent;
            node = self.nodes.get(&parent)?;
        }
        names.reverse();
        (at == root).then(|| bstr::join("/", names).into())
    }

    /// The path of the entry `name` in the folder of a node, or `None` as for [`Self::path_of`].
    fn path_in(&mut self, id: NodeId, name: &BStr) -> Option<BString> {
        // Events next to each other are often in the same folder.
        let known = self.last_folder.take().filter(|(known, _)| *known == id);
        let folder = match known {
            Some((_, path)) => path,
            None => self.path_of(id)?,
        };
        let path = join(folder.as_bstr(), name);
        self.last_folder = Some((id, folder));
        Some(path)
    }

    /// Returns the node at `path`, creating it and its ancestors if needed.
    fn node_at(&mut self, tree: TreeId, path: &BStr) -> Option<NodeId> {
        let mut at = self.trees.get(&tree)?.root;
        if path.is_empty() {
            return Some(at);
        }
        for name in path.split_str("/") {
            let name = name.as_bstr();
            let below = self.nodes.get(&at)?.below.get(name).copied();
            at = match below {
                Some(below) => below,
                None => {
                    let id = self.add_node(tree, Some(at), name.to_owned());
                    self.nodes.get_mut(&at)?.below.insert(name.to_owned(), id);
                    id
                }
            };
        }
        Some(at)
    }

    fn add_node(&mut self, tree: TreeId, parent: Option<NodeId>, name: BString) -> NodeId {
        while self.nodes.contains_key(&self.next_node) {
            self.next_node = self.next_node.wrapping_add(1);
        }
        let id = self.next_node;
        self.next_node = id.wrapping_add(1);
        let node = Node {
            tree,
            parent,
            name,
            wd: None,
            refused: None,
            age: 0,
            arrived: None,
            below: BTreeMap::new(),
        };
        self.nodes.insert(id, node);
        id
    }

    /// Removes a detached node and everything below it.
    fn drop_below(&mut self, id: NodeId) {
        self.last_folder = None;
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            let Some(node) = self.nodes.remove(&id) else {
                continue;
            };
            pending.extend(node.below.into_values());
            if node.refused.is_some() {
                self.refused = self.refused.saturating_sub(1);
            }
            if let Some(wd) = node.wd {
                self.release_watch(wd, id);
            }
        }
    }

    /// Records that the node `id` no longer has the watch `wd`.
    fn release_watch(&mut self, wd: i32, id: NodeId) {
        let Some(nodes) = self.by_watch.get_mut(&wd) else {
            return;
        };
        nodes.retain(|node| *node != id);
        if nodes.is_empty() {
            self.by_watch.remove(&wd);
            self.unused.push(wd);
        }
    }
}

#[cfg(test)]
mod tests;
