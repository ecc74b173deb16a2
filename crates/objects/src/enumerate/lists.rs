//! The lists of all objects: the loose ones of each folder, and those in its packs.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use gix_hash::{ObjectId, oid};

use crate::error::Reason;
use crate::location::ObjectPlace;
use crate::object_dir::{Layer, ObjectDir};
use crate::pack::Pack;
use crate::store::ObjectStore;
use crate::table::SortedIds;

/// How often all objects are listed at most, if packs are added or removed each time.
const LISTINGS_MAX: usize = 5;

/// Ids in ascending order, and the position of the next one.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) dir: u32,
    pub(super) ids: Ids,
    pub(super) next: u32,
    /// Greater the more recently an object was found here; only for packs.
    pub(super) used: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Ids {
    Layer(Arc<Layer>),
    /// A layer of which a pack cannot be used. It tells where objects are, but git lists only those in the indexes of
    /// the other packs.
    PartialLayer(Arc<Layer>),
    /// A pack of a [`Self::PartialLayer`]: it tells which objects there are, but not where.
    LayerPack(Arc<Pack>),
    Pack(Arc<Pack>),
    Loose(Vec<ObjectId>),
}

impl List {
    pub(super) fn id(&self) -> Option<ObjectId> {
        self.id_at(self.next)
    }

    fn id_at(&self, position: u32) -> Option<ObjectId> {
        match &self.ids {
            Ids::Layer(layer) | Ids::PartialLayer(layer) => layer.midx.id(position),
            Ids::Pack(pack) | Ids::LayerPack(pack) => pack.index(&mut Vec::new())?.id(position),
            Ids::Loose(ids) => ids.get(position as usize).copied(),
        }
    }

    /// The positions of `id`, which is the next one: a pack may hold an object more than once.
    pub(super) fn positions(&self, id: &oid) -> Range<u32> {
        let mut end = self.next.saturating_add(1);
        while self.id_at(end).is_some_and(|other| *other == *id) {
            end += 1;
        }
        self.next..end
    }

    /// The order in which lists with the same id are tried: by folder, then multi-pack-indexes, packs (the last used
    /// first) and loose objects.
    pub(super) fn rank(&self) -> (u32, u8, Reverse<u64>) {
        let class = match self.ids {
            Ids::Layer(_) | Ids::PartialLayer(_) | Ids::LayerPack(_) => 0,
            Ids::Pack(_) => 1,
            Ids::Loose(_) => 2,
        };
        (self.dir, class, Reverse(self.used))
    }

    pub(super) fn place(
        &self,
        id: &oid,
        messages: &mut Vec<String>,
    ) -> Result<Option<ObjectPlace>, Reason> {
        match &self.ids {
            Ids::Layer(layer) | Ids::PartialLayer(layer) => {
                layer.place(id, layer.midx.place(self.next)?, messages)
            }
            Ids::LayerPack(_) => Ok(None),
            Ids::Loose(_) => Ok(Some(ObjectPlace::Loose)),
            Ids::Pack(pack) => {
                let offset = match pack.index(messages) {
                    Some(index) => index.offset(self.next, &pack.shown)?,
                    None => 0,
                };
                let is_usable = offset != 0 && pack.contents(messages)?.is_some();
                let pack = pack.number;
                Ok(is_usable.then_some(ObjectPlace::Packed { pack, offset }))
            }
        }
    }

    /// Returns which thread should read the object `id`, which is the next one and is at `place`.
    pub(super) fn thread(&self, id: &oid, place: ObjectPlace) -> Option<usize> {
        let ObjectPlace::Packed { .. } = place else {
            return None;
        };
        match &self.ids {
            Ids::Loose(_) | Ids::LayerPack(_) => None,
            Ids::Pack(pack) => Some(pack.plan()?.thread(self.next)),
            Ids::Layer(layer) | Ids::PartialLayer(layer) => {
                let pack = layer.pack(self.next)?;
                let plan = pack.plan()?;
                let place = pack.index(&mut Vec::new())?.lower_bound(id).ok()?;
                Some(plan.thread(place))
            }
        }
    }
}

impl ObjectStore {
    /// Returns the lists of loose and of packed objects of each folder. In pack order, each pack has a list of its own,
    /// and loose objects are in the order in which the system lists them.
    ///
    /// While another process repacks, an object may go from one list to the other just before that is read. So all is
    /// listed again if packs were added or removed meanwhile. The packs stay mapped, so that their objects can be read
    /// after they were removed.
    ///
    /// # Errors
    /// A multi-pack-index is so damaged that git exits, or the system failed, so that objects would be left out.
    pub(super) fn lists(
        &self,
        is_pack_order: bool,
        messages: &mut Vec<String>,
    ) -> Result<Vec<List>, Reason> {
        let message_count = messages.len();
        let mut listings = 1;
        loop {
            let looks = self.dirs.iter().map(ObjectDir::look_at_packs);
            let looks: Vec<_> = looks.collect();
            let (lists, is_any_gone) = self.lists_at_once(is_pack_order, messages)?;
            let mut dirs = self.dirs.iter().zip(&looks);
            let is_settled =
                !is_any_gone && dirs.all(|(dir, look)| dir.is_listed_as_of(look.as_ref()));
            if is_settled || listings == LISTINGS_MAX {
                return Ok(lists);
            }
            listings += 1;
            messages.truncate(message_count);
            self.dirs.iter().for_each(ObjectDir::forget_listing);
        }
    }

    /// Returns the lists, and whether any pack was removed before it was mapped.
    fn lists_at_once(
        &self,
        is_pack_order: bool,
        messages: &mut Vec<String>,
    ) -> Result<(Vec<List>, bool), Reason> {
        let mut is_any_gone = false;
        let mut lists: Vec<List> = Vec::new();
        for (number, dir) in self.dirs.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let mut add = |ids| {
                lists.push(List {
                    dir: number,
                    ids,
                    next: 0,
                    used: 0,
                });
            };
            let mut loose = Vec::new();
            dir.loose_ids(0..=u8::MAX, messages, |id| loose.push(id))?;
            if !is_pack_order {
                loose.sort_unstable();
            }
            add(Ids::Loose(loose));
            dir.with_listing(&self.packs, messages, |listing, messages| {
                if listing.has_failed || !dir.look_at_all_packs(listing, &self.packs, messages) {
                    return Err(Reason::NotListed);
                }
                for pack in listing.packs() {
                    // Why one cannot be mapped is told when an object in it is read.
                    pack.contents(&mut Vec::new()).ok();
                    is_any_gone |= !pack.is_mapped() && !pack.path.exists();
                }
                if is_pack_order {
                    for pack in listing.packs() {
                        if pack.listed_index(messages)?.is_some() {
                            add(Ids::Pack(pack.clone()));
                        }
                    }
                    return Ok(());
                }
                for layer in &listing.midxes {
                    let mut usable = Vec::new();
                    for pack in layer.packs() {
                        if pack.listed_index(messages)?.is_some() {
                            usable.push(pack);
                        }
                    }
                    if usable.len() == layer.midx.packs.len() {
                        add(Ids::Layer(layer.clone()));
                        continue;
                    }
                    add(Ids::PartialLayer(layer.clone()));
                    for pack in usable {
                        add(Ids::LayerPack(pack.clone()));
                    }
                }
                for pack in &listing.order {
                    if pack.listed_index(messages)?.is_some() {
                        add(Ids::Pack(pack.clone()));
                    }
                }
                Ok(())
            })?;
        }
        let count = lists.len() as u64;
        for (number, list) in lists.iter_mut().enumerate() {
            list.used = count - number as u64;
        }
        Ok((lists, is_any_gone))
    }
}
