//! A kernel and a disk in memory, driven step by step, and an observer that believes what the forest says.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;
use crate::journal::Position;

/// A pseudo-random sequence, determined by the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File(u32),
    Folder(u32),
}

/// Folders by inode, the queued events, and each folder's watch. Folder 0 is the top of the tree; folder 1 is beside it
/// and is not watched.
#[derive(Default)]
struct Kernel {
    folders: BTreeMap<u32, BTreeMap<String, Entry>>,
    watches: BTreeMap<u32, i32>,
    queue: VecDeque<(i32, ReadFlags, u32, Option<String>)>,
    next: u32,
    watches_max: usize,
}

impl Kernel {
    fn new() -> Self {
        let mut kernel = Self {
            next: 2,
            watches_max: usize::MAX,
            ..Self::default()
        };
        kernel.folders.insert(0, BTreeMap::new());
        kernel.folders.insert(1, BTreeMap::new());
        kernel
    }

    fn queue_event(&mut self, folder: u32, flags: ReadFlags, cookie: u32, name: &str) {
        if let Some(&wd) = self.watches.get(&folder) {
            self.queue.push_back((wd, flags, cookie, Some(name.into())));
        }
    }

    fn queue_event_of_folder(&mut self, folder: u32, flags: ReadFlags) {
        if let Some(&wd) = self.watches.get(&folder) {
            self.queue.push_back((wd, flags, 0, None));
        }
    }

    fn watch(&mut self, folder: u32) -> Option<i32> {
        if let Some(wd) = self.watches.get(&folder) {
            return Some(*wd);
        }
        if self.watches.len() >= self.watches_max {
            return None;
        }
        self.next += 1;
        let wd = self.next as i32;
        self.watches.insert(folder, wd);
        Some(wd)
    }

    fn unwatch(&mut self, wd: i32) {
        let before = self.watches.len();
        self.watches.retain(|_, watch| *watch != wd);
        if self.watches.len() < before {
            self.queue.push_back((wd, ReadFlags::IGNORED, 0, None));
        }
    }

    fn is_below(&self, inode: u32, above: u32) -> bool {
        inode == above
            || self.folders[&above].values().any(|entry| match entry {
                Entry::Folder(sub) => self.is_below(inode, *sub),
                Entry::File(_) => false,
            })
    }

    /// Performs one random operation.
    fn operate(&mut self, random: &mut Random) {
        let inodes: Vec<u32> = self.folders.keys().copied().collect();
        let folder = inodes[random.below(inodes.len())];
        let name = format!("n{}", random.below(4));
        self.next += 1;
        let fresh = self.next;
        let there = self.folders[&folder].get(&name).cloned();
        match (random.below(12), there) {
            (0..=2, None) => {
                self.entries(folder)
                    .insert(name.clone(), Entry::Folder(fresh));
                self.folders.insert(fresh, BTreeMap::new());
                self.queue_event(folder, ReadFlags::CREATE | ReadFlags::ISDIR, 0, &name);
            }
            (3..=6, None | Some(Entry::File(_))) => {
                let is_new = is_free(&self.folders[&folder], &name);
                self.entries(folder)
                    .insert(name.clone(), Entry::File(fresh));
                let flags = match is_new {
                    true => ReadFlags::CREATE,
                    false => ReadFlags::MODIFY,
                };
                self.queue_event(folder, flags, 0, &name);
            }
            (7, Some(Entry::File(_))) => {
                self.entries(folder).remove(&name);
                self.queue_event(folder, ReadFlags::DELETE, 0, &name);
            }
            (7, Some(Entry::Folder(inode))) if self.folders[&inode].is_empty() => {
                self.entries(folder).remove(&name);
                self.folders.remove(&inode);
                self.queue_event_of_folder(inode, ReadFlags::DELETE_SELF);
                self.queue_event_of_folder(inode, ReadFlags::IGNORED);
                self.watches.remove(&inode);
                self.queue_event(folder, ReadFlags::DELETE | ReadFlags::ISDIR, 0, &name);
            }
            (8..=9, Some(entry)) => self.rename(folder, &name, entry, random),
            (10..=11, Some(entry)) => self.exchange((folder, &name, entry), random),
            _ => {}
        }
    }

    fn rename(&mut self, from: u32, name: &str, entry: Entry, random: &mut Random) {
        let inodes: Vec<u32> = self.folders.keys().copied().collect();
        let to = inodes[random.below(inodes.len())];
        let new = format!("n{}", random.below(4));
        if let Entry::Folder(inode) = entry
            && self.is_below(to, inode)
        {
            return;
        }
        let is_folder = matches!(entry, Entry::Folder(_));
        let mut replaced = None;
        match self.folders[&to].get(&new) {
            None => {}
            Some(Entry::File(_)) if !is_folder && (from, name) != (to, new.as_str()) => {}
            Some(Entry::Folder(over)) if is_folder && self.folders[over].is_empty() => {
                replaced = Some(*over);
            }
            Some(_) => return,
        }
        if entry == Entry::Folder(replaced.unwrap_or_default()) {
            return;
        }
        self.entries(from).remove(name);
        self.entries(to).insert(new.clone(), entry.clone());
        self.next += 1;
        let cookie = self.next;
        self.queue_move((from, name), (to, &new), &entry, cookie);
        if let Some(inode) = replaced {
            self.folders.remove(&inode);
            self.queue_event_of_folder(inode, ReadFlags::DELETE_SELF);
            self.queue_event_of_folder(inode, ReadFlags::IGNORED);
            self.watches.remove(&inode);
        }
    }

    /// Acts like `renameat2(2)` with `RENAME_EXCHANGE`: both moves are queued one after the other.
    fn exchange(&mut self, (from, name, entry): (u32, &str, Entry), random: &mut Random) {
        let inodes: Vec<u32> = self.folders.keys().copied().collect();
        let to = inodes[random.below(inodes.len())];
        let new = format!("n{}", random.below(4));
        let Some(other) = self.folders[&to].get(&new).cloned() else {
            return;
        };
        let leads_to = |entry: &Entry, folder: u32| match entry {
            Entry::Folder(inode) => self.is_below(folder, *inode),
            Entry::File(_) => false,
        };
        if entry == other || leads_to(&entry, to) || leads_to(&other, from) {
            return;
        }
        self.entries(from).insert(name.to_owned(), other.clone());
        self.entries(to).insert(new.clone(), entry.clone());
        self.next += 2;
        let cookie = self.next;
        self.queue_move((from, name), (to, &new), &entry, cookie - 1);
        self.queue_move((to, &new), (from, name), &other, cookie);
    }

    fn queue_move(&mut self, from: (u32, &str), to: (u32, &str), entry: &Entry, cookie: u32) {
        let kind = match entry {
            Entry::Folder(_) => ReadFlags::ISDIR,
            Entry::File(_) => ReadFlags::empty(),
        };
        self.queue_event(from.0, ReadFlags::MOVED_FROM | kind, cookie, from.1);
        self.queue_event(to.0, ReadFlags::MOVED_TO | kind, cookie, to.1);
        if let Entry::Folder(inode) = entry {
            self.queue_event_of_folder(*inode, ReadFlags::MOVE_SELF);
        }
    }

    fn entries(&mut self, folder: u32) -> &mut BTreeMap<String, Entry> {
        self.folders.get_mut(&folder).unwrap()
    }

    /// The folder at `path`.
    fn at(&self, path: &str) -> Option<u32> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(0, |folder, name| match self.folders[&folder].get(name) {
            Some(Entry::Folder(inode)) => Some(*inode),
            _ => None,
        })
    }
}

fn is_free(entries: &BTreeMap<String, Entry>, name: &str) -> bool {
    !entries.contains_key(name)
}

fn below(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}/{name}"),
    }
}

/// What an observer knows of the tree: files with their versions, and folders.
#[derive(Debug, Default)]
struct View {
    known: BTreeMap<String, Option<u32>>,
    /// Folders that could not be watched: they are looked at again each time, with everything below them.
    unwatched: BTreeSet<String>,
    /// The position in the journal up to which changes are known.
    position: Position,
}

impl View {
    /// Looks at the folder `path` and everything below it, each folder after it is watched, while others make changes.
    fn look(
        &mut self,
        path: &str,
        kernel: &mut Kernel,
        forest: &mut Forest,
        tree: TreeId,
        random: &mut Random,
        is_busy: bool,
    ) {
        let prefix = format!("{path}/");
        let is_below = |known: &str| path.is_empty() || known == path || known.starts_with(&prefix);
        self.known.retain(|known, _| !is_below(known));
        self.unwatched.retain(|known| !is_below(known));
        let mut pending = vec![path.to_owned()];
        while let Some(path) = pending.pop() {
            let Some(folder) = kernel.at(&path) else {
                // It may be a file by now.
                self.look_at_entry(&path, kernel);
                continue;
            };
            match kernel.watch(folder) {
                Some(wd) => forest.record_watch(tree, path.as_str().into(), wd),
                None => {
                    forest.record_refusal(tree, path.as_str().into(), Unwatched::RanOut);
                    self.unwatched.insert(path.clone());
                }
            }
            if is_busy && random.below(4) == 0 {
                kernel.operate(random);
            }
            // It is open, wherever it has been moved by now.
            let Some(entries) = kernel.folders.get(&folder).cloned() else {
                continue;
            };
            if !path.is_empty() {
                self.known.insert(path.clone(), None);
            }
            for (name, entry) in entries {
                let path = below(&path, &name);
                match entry {
                    Entry::File(version) => {
                        self.known.insert(path, Some(version));
                    }
                    Entry::Folder(_) => pending.push(path),
                }
            }
        }
    }

    fn look_at_entry(&mut self, path: &str, kernel: &Kernel) {
        self.known.remove(path);
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let entry = kernel
            .at(above)
            .and_then(|folder| kernel.folders[&folder].get(name));
        if let Some(Entry::File(version)) = entry {
            self.known.insert(path.to_owned(), Some(*version));
        }
    }

    /// The true state of the disk.
    fn of(kernel: &Kernel) -> BTreeMap<String, Option<u32>> {
        let mut all = BTreeMap::new();
        let mut pending = vec![(String::new(), 0)];
        while let Some((path, folder)) = pending.pop() {
            for (name, entry) in &kernel.folders[&folder] {
                let path = below(&path, name);
                match entry {
                    Entry::File(version) => {
                        all.insert(path, Some(*version));
                    }
                    Entry::Folder(inode) => {
                        all.insert(path.clone(), None);
                        pending.push((path, *inode));
                    }
                }
            }
        }
        all
    }
}

/// Handles all queued events. The queue may be empty for a moment in between.
fn listen(kernel: &mut Kernel, forest: &mut Forest, random: &mut Random) {
    while let Some((wd, flags, cookie, name)) = kernel.queue.pop_front() {
        let name = name.as_deref().map(|name| name.as_bytes().as_bstr());
        forest.handle(WatchEvent {
            wd,
            flags,
            cookie,
            name,
        });
        if random.below(8) == 0 {
            forest.settle();
        }
    }
    forest.settle();
    for wd in forest.take_unused_watches() {
        kernel.unwatch(wd);
    }
}

/// Handles all queued events, and looks at what they name and nothing else.
fn ask(
    view: &mut View,
    kernel: &mut Kernel,
    forest: &mut Forest,
    tree: TreeId,
    random: &mut Random,
    is_busy: bool,
) {
    listen(kernel, forest, random);
    let journal = forest.journal(tree).unwrap();
    let mut changes = journal.since(view.position);
    view.position = journal.end();
    for path in view.unwatched.clone() {
        changes.add_folder(path.into());
    }
    if changes.everything {
        view.look("", kernel, forest, tree, random, is_busy);
        forest.finish_scan(tree);
        for wd in forest.take_unused_watches() {
            kernel.unwatch(wd);
        }
        return;
    }
    for path in &changes.paths {
        view.look_at_entry(&path.to_string(), kernel);
    }
    for folder in &changes.folders {
        view.look(&folder.to_string(), kernel, forest, tree, random, is_busy);
    }
}

/// Makes random changes, with an occasional `fault` between operations.
fn play(seeds: std::ops::Range<u64>, mut fault: impl FnMut(&mut Kernel, &mut Random)) {
    for seed in seeds {
        let mut random = Random(seed);
        let (mut kernel, mut forest) = (Kernel::new(), Forest::default());
        let tree = forest.begin();
        let mut view = View::default();
        let mut now = Timestamp::default();
        let mut has_heard_all = true;
        for step in 0..60 {
            // Now and then some time passes.
            now.s += [0, 0, 0, 10][random.below(4)];
            forest.set_time(now);
            for _ in 0..random.below(6) {
                kernel.operate(&mut random);
            }
            if random.below(8) == 0 {
                fault(&mut kernel, &mut random);
                for _ in 0..random.below(4) {
                    kernel.operate(&mut random);
                }
            }
            // Another reader may ask meanwhile and handle the events for all.
            if random.below(3) == 0 {
                listen(&mut kernel, &mut forest, &mut random);
            }
            // Changes during the look are in the next answer.
            let is_busy = random.below(2) == 0;
            ask(
                &mut view,
                &mut kernel,
                &mut forest,
                tree,
                &mut random,
                is_busy,
            );
            if is_busy {
                ask(
                    &mut view,
                    &mut kernel,
                    &mut forest,
                    tree,
                    &mut random,
                    false,
                );
            }
            let truth = View::of(&kernel);
            assert_eq!(view.known, truth, "seed {seed}, step {step}");
            // No node is left for what is gone, unless its removal could not be heard.
            if kernel.watches_max < usize::MAX || view.unwatched != BTreeSet::new() {
                has_heard_all = false;
            }
            let folders = truth.values().filter(|version| version.is_none()).count() + 1;
            let few = forest.nodes.len() <= folders;
            assert!(few || !has_heard_all, "seed {seed}, step {step}");
        }
        forest.forget(tree);
        for wd in forest.take_unused_watches() {
            kernel.unwatch(wd);
        }
        assert_eq!(
            (forest.watches(), kernel.watches.len()),
            (0, 0),
            "seed {seed}"
        );
        assert!(forest.nodes.is_empty());
    }
}

#[test]
fn scanning_the_reported_paths_finds_every_change() {
    play(0..1000, |_, _| ());
}

#[test]
fn lost_events_lead_to_a_full_scan() {
    play(1000..2000, |kernel, random| {
        let kept = random.below(kernel.queue.len() + 1);
        kernel.queue.truncate(kept);
        kernel
            .queue
            .push_back((-1, ReadFlags::QUEUE_OVERFLOW, 0, None));
    });
}

#[test]
fn events_that_come_twice_do_no_harm() {
    play(2000..2500, |kernel, _| {
        let twice: Vec<_> = kernel
            .queue
            .iter()
            .filter(|event| !event.1.contains(ReadFlags::ISDIR))
            .cloned()
            .collect();
        kernel.queue.extend(twice);
    });
}

#[test]
fn running_out_of_watches_costs_scans_but_no_correctness() {
    play(3000..4000, |kernel, random| {
        kernel.watches_max = match random.below(3) {
            0 => usize::MAX,
            _ => random.below(8),
        };
    });
}

#[test]
fn a_folder_that_cannot_be_watched_is_reported_by_itself() {
    let mut forest = Forest::default();
    let tree = forest.begin();
    forest.start_monitor_journal(tree);
    forest.record_watch(tree, "".into(), 1);
    let start = forest.monitor_journal(tree).unwrap().end();
    for folder in ["a", "a/b"] {
        forest.record_refusal(tree, folder.into(), Unwatched::RanOut);
    }
    let changes = forest.monitor_journal(tree).unwrap().since(start);
    assert!(!changes.everything);
    assert_eq!(changes.folders, BTreeSet::from(["a".into(), "a/b".into()]));
}

#[test]
fn a_folder_that_can_be_watched_no_longer_has_changed_for_those_who_relied_on_it() {
    let mut forest = Forest::default();
    let tree = forest.begin();
    for (path, wd) in [("", 1), ("a", 2), ("a/b", 3)] {
        forest.record_watch(tree, path.into(), wd);
    }
    let position = forest.journal(tree).unwrap().end();
    let mut refuse = |path: &str, wanted: &[&str]| {
        let why = Unwatched::Refused(vigil_linux::Errno::NOMEM);
        forest.record_refusal(tree, path.into(), why);
        let changes = forest.journal(tree).unwrap().since(position);
        let folders: Vec<_> = changes.folders.iter().map(ToString::to_string).collect();
        assert_eq!(folders, wanted, "{path}");
        assert_eq!(changes.everything, path.is_empty());
    };
    refuse("c", &[]);
    refuse("a", &["a"]);
    refuse("", &[]);
    assert_eq!(forest.take_unused_watches(), [2, 1]);
    // Nobody relies on what is not watched.
    let position = forest.journal(tree).unwrap().end();
    for path in ["", "a", "c"] {
        forest.record_refusal(tree, path.into(), Unwatched::RanOut);
    }
    let changes = forest.journal(tree).unwrap().since(position);
    assert!(changes.is_empty());
}

#[test]
fn a_file_that_is_written_is_noted_once_until_somebody_may_have_seen_it() {
    let mut forest = Forest::default();
    let tree = forest.begin();
    for (path, wd) in [("", 1), ("a", 2)] {
        forest.record_watch(tree, path.into(), wd);
    }
    let mut added_by = |flags: &[(i32, ReadFlags)]| {
        let end = |forest: &Forest| forest.journal(tree).unwrap().end().number();
        let before = end(&forest);
        for (wd, flags) in flags {
            forest.handle(WatchEvent {
                wd: *wd,
                flags: *flags,
                cookie: 0,
                name: Some("file".into()),
            });
        }
        let added = end(&forest) - before;
        let position = Position::of_number(before);
        (added, forest.journal(tree).unwrap().since(position))
    };
    let (create, modify) = (ReadFlags::CREATE, ReadFlags::MODIFY);
    let (close, delete) = (ReadFlags::CLOSE_WRITE, ReadFlags::DELETE);
    let (added, changes) = added_by(&[(2, create), (2, modify), (2, close)]);
    assert_eq!((added, changes.gone.len()), (1, 0));
    // The same name in another folder is another file.
    assert_eq!(added_by(&[(1, modify), (2, modify)]).0, 2);
    // What is written after it was removed has no name, and has to be known as such.
    let (added, changes) = added_by(&[(2, delete), (2, modify)]);
    assert_eq!((added, changes.gone.len()), (2, 0));
    let (_, changes) = added_by(&[(2, modify), (2, delete)]);
    assert_eq!(changes.gone.len(), 1);
    forest.settle();
    let mut later = |flags: ReadFlags| {
        let before = forest.journal(tree).unwrap().end();
        forest.handle(WatchEvent {
            wd: 2,
            flags,
            cookie: 0,
            name: Some("file".into()),
        });
        forest.settle();
        !forest.journal(tree).unwrap().since(before).is_empty()
    };
    assert!(later(modify) && later(modify));
}
