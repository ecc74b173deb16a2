//! Fetches objects that a partial clone left out (git's technical documentation, "partial-clone").

use std::collections::HashSet;

use gix_hash::{ObjectId, oid};
use gix_object::{CommitRefIter, Kind, TagRefIter};

use super::error::{Error, Reason};
use super::location::{Location, ObjectPlace};
use super::pack::Pack;
use super::reader::ObjectReader;
use super::table::SortedIds;
use super::tree;

impl ObjectReader {
    /// Fetches an object that is missing, and finds it. `None` if nothing may be fetched, or no remote has it.
    ///
    /// # Errors
    /// Fetching failed, or the object was promised and no remote has it.
    pub fn fetch(&mut self, id: &oid) -> Result<Option<Location>, Error> {
        if self.store().promisor.is_none() || id.is_null() {
            return Ok(None);
        }
        self.fetch_all(vec![id.to_owned()])?;
        self.find_here(id)
    }

    /// Fetches these objects, which are missing, together. Does nothing if nothing may be fetched.
    ///
    /// # Errors
    /// Fetching failed, or an object was promised and no remote has it.
    pub fn fetch_all(&mut self, ids: Vec<ObjectId>) -> Result<(), Error> {
        let store = self.store().clone();
        let Some(promisor) = store.promisor.as_ref().filter(|_| !ids.is_empty()) else {
            return Ok(());
        };
        let mut messages = Vec::new();
        let mut is_missing = |id: &ObjectId| !matches!(self.find_here(id), Ok(Some(_)));
        let missing = promisor.fetch(ids, &mut is_missing, &mut messages);
        self.add_messages(messages);
        let missing = missing.map_err(|reason| self.error(reason))?;
        if missing.is_empty() {
            return Ok(());
        }
        let promised = store.promised.get_or_init(|| self.promised());
        match missing.into_iter().find(|id| promised.contains(id)) {
            Some(id) => Err(self.error(Reason::NotFetched { id })),
            None => Ok(()),
        }
    }

    /// Returns the objects in packs from promisor remotes, and all ids in them. Objects that cannot be read are
    /// skipped.
    fn promised(&self) -> HashSet<ObjectId> {
        let store = self.store();
        let mut reader = Self::new(store);
        let mut promised = HashSet::new();
        let mut contents = Vec::new();
        for pack in store.promisor_packs() {
            for location in locations(&pack) {
                promised.insert(location.id);
                contents.clear();
                // A blob contains no ids.
                let read =
                    reader.read_with(&location, &mut contents, |info, _| info.kind != Kind::Blob);
                if let Ok(info) = read {
                    add_named(info.kind, &contents, store.hash_kind(), &mut promised);
                }
            }
        }
        promised
    }
}

fn locations(pack: &Pack) -> impl Iterator<Item = Location> {
    let index = pack.index(&mut Vec::new());
    let count = index.map_or(0, SortedIds::count);
    (0..count).filter_map(move |position| {
        let index = index?;
        Some(Location {
            id: index.id(position)?,
            dir: 0,
            place: ObjectPlace::Packed {
                pack: pack.number,
                offset: index.offset(position, &pack.shown).ok()?,
            },
        })
    })
}

/// Adds the ids that an object contains.
fn add_named(kind: Kind, contents: &[u8], hash: gix_hash::Kind, named: &mut HashSet<ObjectId>) {
    match kind {
        Kind::Blob => {}
        Kind::Tree => {
            let entries = tree::entries(contents, hash).map_while(Result::ok);
            named.extend(entries.map(|entry| entry.id));
        }
        Kind::Commit => {
            let tree = CommitRefIter::from_bytes(contents, hash).tree_id();
            named.extend(tree.ok());
            named.extend(CommitRefIter::from_bytes(contents, hash).parent_ids());
        }
        Kind::Tag => {
            let target = TagRefIter::from_bytes(contents, hash).target_id();
            named.extend(target.ok());
        }
    }
}
