//! Sets of paths, in which what is above or below a path is found without a look at each.

use bstr::ByteSlice;

use crate::path::directories_above;

/// A sorted set of paths inside a repository, without slashes at their ends; the empty path is the top.
#[derive(Clone, Debug, Default)]
pub struct PathSet<P>(Vec<P>);

impl<P: AsRef<[u8]>> PathSet<P> {
    /// Sorts `paths`; duplicates are kept.
    pub fn new(mut paths: Vec<P>) -> Self {
        paths.sort_unstable_by(|a, b| a.as_ref().cmp(b.as_ref()));
        Self(paths)
    }

    /// The paths in order.
    pub fn as_slice(&self) -> &[P] {
        &self.0
    }

    /// Whether there is no path.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `path` is one of the set.
    pub fn contains(&self, path: &[u8]) -> bool {
        self.0
            .binary_search_by(|known| known.as_ref().cmp(path))
            .is_ok()
    }

    /// Whether `path` is one of the set or below one.
    pub fn has_at_or_above(&self, path: &[u8]) -> bool {
        self.contains(path) || self.has_above(path)
    }

    /// Whether `path` is below one of the set.
    pub fn has_above(&self, path: &[u8]) -> bool {
        // Most sets are empty or small.
        if self.0.is_empty() || path.is_empty() {
            return false;
        }
        let mut above = directories_above(path.as_bstr());
        self.contains(b"") || above.any(|above| self.contains(above))
    }

    /// Whether `path` is one of the set or above one.
    pub fn has_at_or_below(&self, path: &[u8]) -> bool {
        self.contains(path) || self.has_below(path)
    }

    /// Whether `path` is above one of the set.
    fn has_below(&self, path: &[u8]) -> bool {
        if path.is_empty() {
            return self.0.iter().any(|known| !known.as_ref().is_empty());
        }
        let start = [path, b"/"].concat();
        let first = self.0.partition_point(|known| known.as_ref() < &*start);
        let next = self.0.get(first);
        next.is_some_and(|next| next.as_ref().starts_with(&start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::is_at_or_below;

    #[test]
    fn paths_are_found_as_by_a_look_at_each() {
        let all = ["", "a", "a/b", "a/b/c", "a-b", "a.b/c", "b/c/d", "b0"];
        for choice in 0_u32..1 << all.len() {
            let is_chosen = |at: &usize| choice >> at & 1 == 1;
            let chosen: Vec<&str> = (0..all.len()).filter(is_chosen).map(|at| all[at]).collect();
            let set = PathSet::new(chosen.iter().rev().copied().collect());
            assert_eq!(set.is_empty(), chosen.is_empty());
            let is_below = |path: &str, above: &str| {
                path != above
                    && (above.is_empty() || is_at_or_below(path.as_bytes(), above.as_bytes()))
            };
            for path in all.into_iter().chain(["b", "b/c", "c", "a/b/c/d"]) {
                let name = path.as_bytes();
                let contains = chosen.contains(&path);
                let above = chosen.iter().any(|known| is_below(path, known));
                let below = chosen.iter().any(|known| is_below(known, path));
                assert_eq!(set.contains(name), contains, "{chosen:?} {path}");
                assert_eq!(set.has_above(name), above, "{chosen:?} {path}");
                assert_eq!(set.has_below(name), below, "{chosen:?} {path}");
                assert_eq!(set.has_at_or_above(name), contains || above);
                assert_eq!(set.has_at_or_below(name), contains || below);
            }
        }
    }
}
