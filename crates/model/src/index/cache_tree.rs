//! The cache-tree: the known tree objects of directories in the index (extension `TREE`).

use gix_hash::ObjectId;

/// One node of the cache-tree: a directory and, unless invalidated, its tree object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheTree {
    /// The directory's own name; empty for the root.
    pub name: Vec<u8>,
    /// The number of index entries in the subtree, and the id of its tree. `None` if it was invalidated.
    pub tree: Option<(u32, ObjectId)>,
    /// Subdirectories, shorter names first, then in byte order, as git stores them.
    pub children: Vec<CacheTree>,
}

/// Deeper cache-trees are dropped, which costs time but changes no answer. The limit bounds every recursion
/// over a cache-tree, its destructor included.
const DEPTH_MAX: usize = 1024;

/// A node whose subdirectories have not all been read.
struct Unfinished {
    node: CacheTree,
    children_left: usize,
}

impl CacheTree {
    /// The subdirectory `name`.
    pub fn child(&self, name: &[u8]) -> Option<&Self> {
        self.position(name).and_then(|at| self.children.get(at))
    }

    fn position(&self, name: &[u8]) -> Option<usize> {
        let key = (name.len(), name);
        self.children
            .binary_search_by(|child| (child.name.len(), child.name.as_slice()).cmp(&key))
            .ok()
    }

    /// Counts `count` entries instead of the single one of the sparse directory at `path`, which ends in `/`.
    pub(super) fn count_expanded(&mut self, path: &[u8], count: u32) {
        let mut node = self;
        let mut names = path.split(|&byte| byte == b'/');
        loop {
            if let Some((total, _)) = &mut node.tree {
                *total = total.saturating_sub(1).saturating_add(count);
            }
            let Some(name) = names.next().filter(|name| !name.is_empty()) else {
                return;
            };
            let Some(child) = node.position(name).and_then(|at| node.children.get_mut(at)) else {
                return;
            };
            node = child;
        }
    }

    /// Reads the contents of the extension. A malformed extension counts as missing: git, too, continues
    /// without it.
    pub(crate) fn parse(mut data: &[u8], hash: gix_hash::Kind) -> Option<Self> {
        let mut open: Vec<Unfinished> = Vec::new();
        loop {
            let mut current = read_node(&mut data, hash)?;
            if open.is_empty() && !current.node.name.is_empty() {
                return None;
            }
            while current.children_left == 0 {
                current.node.sort();
                let Some(mut parent) = open.pop() else {
                    return Some(current.node);
                };
                parent.node.children.push(current.node);
                parent.children_left = parent.children_left.saturating_sub(1);
                current = parent;
            }
            if open.len() >= DEPTH_MAX {
                return None;
            }
            open.push(current);
        }
    }

    fn sort(&mut self) {
        let key = |child: &Self| (child.name.len(), child.name.clone());
        let sorted = self.children.is_sorted_by(|a, b| {
            (a.name.len(), a.name.as_slice()) < (b.name.len(), b.name.as_slice())
        });
        if !sorted {
            self.children.sort_by_cached_key(key);
            self.children.dedup_by(|later, kept| {
                let same = later.name == kept.name;
                if same {
                    std::mem::swap(later, kept);
                }
                same
            });
        }
        self.children.shrink_to_fit();
    }
}

/// Reads `name NUL count SP subtrees LF [id]`.
fn read_node(data: &mut &[u8], hash: gix_hash::Kind) -> Option<Unfinished> {
    let nul = data.iter().position(|&byte| byte == 0)?;
    let (name, rest) = data.split_at_checked(nul)?;
    let (count, rest) = read_integer(rest.get(1..)?)?;
    let (subtrees, rest) = read_integer(rest.strip_prefix(b" ")?)?;
    let mut rest = rest.strip_prefix(b"\n")?;
    let mut tree = None;
    if let Ok(count) = u32::try_from(count) {
        let (id, after) = rest.split_at_checked(hash.len_in_bytes())?;
        tree = Some((count, ObjectId::try_from(id).ok()?));
        rest = after;
    }
    *data = rest;
    Some(Unfinished {
        node: CacheTree {
            name: name.to_vec(),
            tree,
            children: Vec::new(),
        },
        children_left: usize::try_from(subtrees).unwrap_or(0),
    })
}

fn read_integer(data: &[u8]) -> Option<(i32, &[u8])> {
    let (negative, digits) = match data.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, data),
    };
    let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at_checked(len)?;
    if digits.is_empty() {
        return None;
    }
    let value = digits.iter().try_fold(0i32, |value, digit| {
        value
            .checked_mul(10)?
            .checked_add(i32::from(digit.wrapping_sub(b'0')))
    })?;
    Some((if negative { -value } else { value }, rest))
}
