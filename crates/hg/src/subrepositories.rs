//! Subrepositories (`hg help subrepos`): `.hgsub` says where they are, and `.hgsubstate` which changeset of each is committed.

mod read;

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};

use crate::node::Node;

/// The subrepositories by path, each with its committed changeset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subrepositories(BTreeMap<BString, Subrepository>);

/// A subrepository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subrepository {
    /// A Mercurial repository, with its committed changeset; `None` if the subrepository is new.
    Mercurial(Option<Node>),
    /// A repository of another system.
    Other {
        /// The name of the system.
        system: BString,
        /// The committed revision, in its words; empty if the subrepository is new.
        revision: BString,
    },
}

impl Subrepositories {
    /// Returns whether there are no subrepositories.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the paths, in order.
    pub fn paths(&self) -> impl Iterator<Item = &BStr> {
        self.0.keys().map(|path| path.as_bstr())
    }

    /// Returns whether there is a subrepository at `path`.
    pub fn has(&self, path: &BStr) -> bool {
        self.0.contains_key(path.as_bytes().as_bstr())
    }

    /// Returns the subrepository at `path`.
    pub fn get(&self, path: &BStr) -> Option<&Subrepository> {
        self.0.get(path.as_bytes().as_bstr())
    }

    /// Returns whether `path` is inside a subrepository.
    pub fn contains(&self, path: &BStr) -> bool {
        let ends = path.find_iter("/");
        let mut above = ends.filter_map(|end| path.get(..end));
        above.any(|above| self.has(above.as_bstr()))
    }
}
