//! The directories that hold tracked files, made from the index in one pass.
//!
//! Nodes are numbered, and name neither paths nor strings of their own: a directory's path is the head of the
//! path of one of the entries below it.

use std::ops::Range;

use bstr::{BStr, ByteSlice};
use vigil_model::index::{Entry, Index};

/// The number of a directory in its [`DirTree`].
pub type DirId = u32;

/// The top of the working tree.
pub const ROOT: DirId = 0;

/// One directory that holds tracked files, directly or below.
#[derive(Clone, Copy, Debug)]
pub struct Dir {
    /// The directory that holds this one; the root's is itself.
    pub parent: DirId,
    /// An index entry below this directory, from whose path its own path is read.
    sample: u32,
    /// The length of the path, without a slash at the end.
    path_len: u32,
    /// Where the name starts in the path.
    name_start: u32,
    files: (u32, u32),
    subdirs: (u32, u32),
}

/// A root without files.
const NOWHERE: Dir = Dir {
    parent: ROOT,
    sample: 0,
    path_len: 0,
    name_start: 0,
    files: (0, 0),
    subdirs: (0, 0),
};

/// The tree of directories of one index.
#[derive(Debug, Default)]
pub struct DirTree {
    dirs: Vec<Dir>,
    /// Entry numbers, grouped by directory, each group in byte order of names. Of an unmerged path only the
    /// first stage is in.
    files: Vec<u32>,
    /// Directory numbers, grouped by parent, each group in byte order of names.
    subdirs: Vec<DirId>,
}

impl DirTree {
    /// Builds the tree of `index`. Costs one pass over the entries.
    pub fn new(index: &Index) -> Self {
        let entries = index.entries();
        let mut dirs = vec![NOWHERE];
        let mut dir_of_entry: Vec<DirId> = Vec::with_capacity(entries.len());
        // The directories that are open at the current entry, outermost first, as (number, path length).
        let mut open: Vec<(DirId, usize)> = vec![(ROOT, 0)];
        let mut previous: &BStr = BStr::new(b"");
        let mut previous_stage = 0;
        for (number, entry) in entries.iter().enumerate() {
            let path = index.path(entry);
            let dir_len = path.rfind_byte(b'/').unwrap_or(0);
            let &(mut current, mut current_len) = open.last().unwrap_or(&(ROOT, 0));
            let same_dir = current_len == dir_len && path.get(..dir_len) == previous.get(..dir_len);
            if !same_dir {
                while current_len > 0 && !is_below(path, previous, current_len) {
                    open.pop();
                    (current, current_len) = open.last().copied().unwrap_or((ROOT, 0));
                }
                while current_len < dir_len {
                    let name_start = if current_len == 0 {
                        0
                    } else {
                        current_len.saturating_add(1)
                    };
                    let rest = path.get(name_start..).unwrap_or_default();
                    let end = name_start.saturating_add(rest.find_byte(b'/').unwrap_or(rest.len()));
                    let id = to_u32(dirs.len());
                    dirs.push(Dir {
                        parent: current,
                        sample: to_u32(number),
                        path_len: to_u32(end),
                        name_start: to_u32(name_start),
                        files: (0, 0),
                        subdirs: (0, 0),
                    });
                    open.push((id, end));
                    (current, current_len) = (id, end);
                }
            }
            // A conflict is looked at besides a merged entry of its path.
            let is_later_stage = previous_stage > 0 && entry.flags.stage() > 0 && path == previous;
            previous_stage = entry.flags.stage();
            dir_of_entry.push(if is_later_stage { DirId::MAX } else { current });
            previous = path;
        }
        let mut tree = Self {
            dirs,
            files: Vec::new(),
            subdirs: Vec::new(),
        };
        tree.group_files(&dir_of_entry);
        tree.group_subdirs(index);
        tree
    }

    fn group_files(&mut self, dir_of_entry: &[DirId]) {
        for &dir in dir_of_entry {
            if let Some(dir) = self.dirs.get_mut(dir as usize) {
                dir.files.1 = dir.files.1.saturating_add(1);
            }
        }
        let mut start = 0u32;
        for dir in &mut self.dirs {
            let len = dir.files.1;
            dir.files = (start, start);
            start = start.saturating_add(len);
        }
        self.files = vec![0; start as usize];
        for (number, &dir) in dir_of_entry.iter().enumerate() {
            if let Some(dir) = self.dirs.get_mut(dir as usize)
                && let Some(slot) = self.files.get_mut(dir.files.1 as usize)
            {
                *slot = to_u32(number);
                dir.files.1 = dir.files.1.saturating_add(1);
            }
        }
    }

    fn group_subdirs(&mut self, index: &Index) {
        let mut ids: Vec<DirId> = (1..to_u32(self.dirs.len())).collect();
        ids.sort_by_key(|&id| self.get(id).parent);
        let mut at = 0usize;
        while let Some(&first) = ids.get(at) {
            let parent = self.get(first).parent;
            let len = ids
                .get(at..)
                .unwrap_or_default()
                .iter()
                .take_while(|&&id| self.get(id).parent == parent)
                .count();
            let end = at.saturating_add(len);
            if let Some(group) = ids.get_mut(at..end) {
                // The index holds `a-b/` before `a/`; a listing holds `a` before `a-b`.
                group.sort_unstable_by(|&a, &b| self.name(index, a).cmp(self.name(index, b)));
            }
            if let Some(dir) = self.dirs.get_mut(parent as usize) {
                dir.subdirs = (to_u32(at), to_u32(end));
            }
            at = end;
        }
        self.subdirs = ids;
    }

    /// How many directories there are, the root included.
    pub fn len(&self) -> usize {
        self.dirs.len()
    }

    /// Whether there is not even a root.
    pub fn is_empty(&self) -> bool {
        self.dirs.is_empty()
    }

    /// The directory of number `id`; the root for a number that is not of this tree.
    #[inline]
    pub fn get(&self, id: DirId) -> Dir {
        self.dirs
            .get(id as usize)
            .or(self.dirs.first())
            .copied()
            .unwrap_or(NOWHERE)
    }

    /// The numbers of the entries directly in `id`, in byte order of their names.
    #[inline]
    pub fn files(&self, id: DirId) -> &[u32] {
        slice(&self.files, self.get(id).files)
    }

    /// The directories directly in `id`, in byte order of their names.
    #[inline]
    pub fn subdirs(&self, id: DirId) -> &[DirId] {
        slice(&self.subdirs, self.get(id).subdirs)
    }

    /// The path of `id` from the top, without a slash at the end; empty for the root.
    #[inline]
    pub fn path<'i>(&self, index: &'i Index, id: DirId) -> &'i BStr {
        let dir = self.get(id);
        let path = sample_path(index, &dir);
        path.get(..dir.path_len as usize)
            .unwrap_or_default()
            .as_bstr()
    }

    /// The name of `id` in its parent; empty for the root.
    #[inline]
    pub fn name<'i>(&self, index: &'i Index, id: DirId) -> &'i BStr {
        let dir = self.get(id);
        let path = sample_path(index, &dir);
        path.get(dir.name_start as usize..dir.path_len as usize)
            .unwrap_or_default()
            .as_bstr()
    }

    /// Where names of files directly in `id` start in their paths.
    #[inline]
    pub fn file_name_start(&self, id: DirId) -> usize {
        match self.get(id).path_len as usize {
            0 => 0,
            len => len.saturating_add(1),
        }
    }

    /// The subdirectory of `id` called `name`.
    pub fn find_subdir(&self, index: &Index, id: DirId, name: &[u8]) -> Option<DirId> {
        let subdirs = self.subdirs(id);
        let at = subdirs
            .binary_search_by(|&sub| self.name(index, sub).as_bytes().cmp(name))
            .ok()?;
        subdirs.get(at).copied()
    }

    /// The directory at `path`, if tracked files are in or below it.
    pub fn find(&self, index: &Index, path: &BStr) -> Option<DirId> {
        if path.is_empty() {
            return Some(ROOT);
        }
        path.split_str("/")
            .try_fold(ROOT, |dir, name| self.find_subdir(index, dir, name))
    }
}

fn sample_path<'i>(index: &'i Index, dir: &Dir) -> &'i BStr {
    index
        .entries()
        .get(dir.sample as usize)
        .map_or(BStr::new(b""), |entry: &Entry| index.path(entry))
}

/// Whether `path` is below the directory of length `len` whose path `previous` starts with.
fn is_below(path: &BStr, previous: &BStr, len: usize) -> bool {
    path.get(len) == Some(&b'/') && path.get(..len) == previous.get(..len)
}

fn slice(all: &[u32], (start, end): (u32, u32)) -> &[u32] {
    all.get(Range {
        start: start as usize,
        end: end as usize,
    })
    .unwrap_or_default()
}

/// Entry and directory counts fit 32 bits: the index format counts entries in 32 bits, and each directory but
/// the root takes at least two bytes of a file that is read whole.
fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
