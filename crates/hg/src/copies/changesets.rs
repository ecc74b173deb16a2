//! Copies according to the sidedata of changesets: the records are chained along each path from the older changeset to the newer
//! one, and merged where two paths meet, where the later record counts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::{Copies, Filter};
use crate::abort::Abort;
use crate::ancestry;
use crate::revlog::Revlog;
use crate::stored::{Action, ChangedFile, CopySource, Store};

/// The latest record about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CopyRecord {
    /// The changeset that made the record.
    by: u32,
    /// The file that it was copied from; `None` if it was removed.
    source: Option<BString>,
}

/// The records about files, up to one changeset.
type CopyRecords = BTreeMap<BString, CopyRecord>;

/// Returns the matching files of `to` that were copied since `from`.
pub(super) fn forward(
    store: &Store,
    from: u32,
    to: u32,
    matches: &Filter<'_>,
) -> Result<Copies, Abort> {
    let mut changelog = store.changelog()?;
    let (numbers, mut children) = between(&changelog, from, to);
    let mut known: HashMap<u32, Rc<CopyRecords>> = HashMap::new();
    let mut order = AncestryCache::default();
    for number in numbers {
        let changed = Store::changed_files(&mut changelog, number)?;
        let mut records: Option<Rc<CopyRecords>> = None;
        for (side, parent) in ancestry::parents(&changelog, number)
            .into_iter()
            .enumerate()
        {
            let Some((parent, left)) = parent.and_then(|parent| {
                let left = children.get_mut(&parent)?;
                *left = left.saturating_sub(1);
                Some((parent, *left))
            }) else {
                continue;
            };
            // The last child may change the records in place.
            let mut above = match left {
                0 => known.remove(&parent),
                _ => known.get(&parent).cloned(),
            }
            .unwrap_or_default();
            follow(&mut above, &changed, number, side);
            records = Some(match records {
                None => above,
                Some(first) => {
                    let mut merge_point = MergePoint {
                        number,
                        changed: &changed,
                        changelog: &changelog,
                        order: &mut order,
                    };
                    Rc::new(
                        merge_point.merge(Rc::unwrap_or_clone(first), Rc::unwrap_or_clone(above)),
                    )
                }
            });
        }
        known.insert(number, records.unwrap_or_default());
    }
    let records = known.remove(&to).unwrap_or_default();
    let copied = Rc::unwrap_or_clone(records).into_iter();
    let copied = copied.filter_map(|(path, record)| Some((path, record.source?)));
    Ok(copied.filter(|(path, _)| matches(path.as_bstr())).collect())
}

/// Returns the changesets on the paths to `to` from `from` or its ancestors, in order, and the number of children that each
/// changeset has on these paths.
fn between(changelog: &Revlog, from: u32, to: u32) -> (Vec<u32>, HashMap<u32, u32>) {
    const IN_FROM: u8 = 1;
    const IN_TO: u8 = 2;
    let top = from.max(to);
    let mut marks = vec![0u8; (top as usize).saturating_add(1)];
    for (number, mark) in [(from, IN_FROM), (to, IN_TO)] {
        if let Some(known) = marks.get_mut(number as usize) {
            *known |= mark;
        }
    }
    for number in (0..=top).rev() {
        let mark = marks.get(number as usize).copied().unwrap_or_default();
        for parent in ancestry::parents(changelog, number).into_iter().flatten() {
            if let Some(known) = marks.get_mut(parent as usize) {
                *known |= mark;
            }
        }
    }
    let mark = |number: u32| marks.get(number as usize).copied().unwrap_or_default();
    let mut numbers = Vec::new();
    let mut on_way: HashSet<u32> = HashSet::new();
    let mut children: HashMap<u32, u32> = HashMap::new();
    for number in (0..=to).filter(|number| mark(*number) == IN_TO) {
        let parents = ancestry::parents(changelog, number);
        let parents = || parents.into_iter().flatten();
        let is_common = |parent: &u32| mark(*parent) & IN_FROM != 0;
        // On a path that begins elsewhere, nothing was copied from `from`.
        if !parents().any(|parent| is_common(&parent) || on_way.contains(&parent)) {
            continue;
        }
        numbers.push(number);
        on_way.insert(number);
        for parent in parents() {
            if is_common(&parent) || on_way.contains(&parent) {
                let count = children.entry(parent).or_default();
                *count = count.saturating_add(1);
            }
        }
    }
    (numbers, children)
}

/// Adds to the records of a parent what the changeset `number` did; `side` is 0 for the first parent, 1 for the second.
fn follow(records: &mut Rc<CopyRecords>, changed: &[ChangedFile], number: u32, side: usize) {
    let copied = changed.iter().filter_map(|file| match &file.source {
        Some(CopySource::FromFirstParent(source)) if side == 0 => Some((&file.path, source)),
        Some(CopySource::FromSecondParent(source)) if side == 1 => Some((&file.path, source)),
        _ => None,
    });
    // All copies of a changeset happen at once: none may see a record that another has just made.
    let new: Vec<(BString, CopyRecord)> = copied
        .map(|(path, source)| {
            let before = records
                .get(source)
                .and_then(|record| record.source.as_ref());
            let source = Some(before.unwrap_or(source).clone());
            (path.clone(), CopyRecord { by: number, source })
        })
        .collect();
    if !new.is_empty() {
        Rc::make_mut(records).extend(new);
    }
    let removed = changed.iter().filter(|file| file.action == Action::Removed);
    for file in removed {
        if records.contains_key(&file.path) {
            let record = CopyRecord {
                by: number,
                source: None,
            };
            Rc::make_mut(records).insert(file.path.clone(), record);
        }
    }
}

/// A cache of which changesets are ancestors of which.
#[derive(Default)]
struct AncestryCache(HashMap<(u32, u32), bool>);

impl AncestryCache {
    fn is_ancestor(&mut self, changelog: &Revlog, one: u32, other: u32) -> bool {
        one == other
            || one < other
                && *self
                    .0
                    .entry((one, other))
                    .or_insert_with(|| ancestry::is_ancestor(changelog, one, other))
    }
}

/// A changeset where two paths meet.
struct MergePoint<'m> {
    number: u32,
    changed: &'m [ChangedFile],
    changelog: &'m Revlog,
    order: &'m mut AncestryCache,
}

impl MergePoint<'_> {
    /// Merges the records of both paths. Where they differ and neither is later, `first` counts.
    fn merge(&mut self, first: CopyRecords, mut second: CopyRecords) -> CopyRecords {
        for (path, record) in first {
            let other = second.get(&path);
            if let Some(record) = match other {
                None => Some(record),
                Some(other) => self.choose(path.as_bstr(), record, other),
            } {
                second.insert(path, record);
            }
        }
        second
    }

    /// Returns the record that replaces `second`, if any.
    fn choose(
        &mut self,
        path: &BStr,
        first: CopyRecord,
        second: &CopyRecord,
    ) -> Option<CopyRecord> {
        if first.by == second.by {
            return None;
        }
        let found = self
            .changed
            .binary_search_by(|file| file.path.as_bstr().cmp(path));
        let file = found.ok().and_then(|at| self.changed.get(at));
        let action = file.map_or(Action::Other, |file| file.action);
        let recorded_here = |source: Option<BString>| {
            Some(CopyRecord {
                by: self.number,
                source,
            })
        };
        if action == Action::Salvaged && first.source.is_some() != second.source.is_some() {
            return recorded_here(first.source.or_else(|| second.source.clone()));
        }
        let mut comes_before =
            |one: u32, other: u32| self.order.is_ancestor(self.changelog, one, other);
        let first_is_later = comes_before(second.by, first.by);
        let second_is_later = !first_is_later && comes_before(first.by, second.by);
        match (first_is_later || second_is_later, action) {
            // A side that changed the file without copying it has no later source.
            (true, Action::Merged) => recorded_here(first.source),
            (true, _) if first_is_later => Some(first),
            (true, _) => None,
            // A copied file takes precedence over a removed one.
            (false, _) => recorded_here(first.source.or_else(|| second.source.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(by: u32, source: Option<&str>) -> CopyRecord {
        CopyRecord {
            by,
            source: source.map(BString::from),
        }
    }

    fn file(path: &str, action: Action, source: Option<CopySource>) -> ChangedFile {
        ChangedFile {
            path: path.into(),
            action,
            source,
        }
    }

    #[test]
    fn copies_of_copies_lead_to_the_first_source() {
        let before = [("b", record(1, Some("a"))), ("gone", record(1, None))];
        let before = before.map(|(path, record)| (BString::from(path), record));
        let mut records = Rc::new(CopyRecords::from(before));
        let changed = [
            file(
                "a",
                Action::Other,
                Some(CopySource::FromSecondParent("x".into())),
            ),
            file("b", Action::Removed, None),
            file(
                "c",
                Action::Other,
                Some(CopySource::FromFirstParent("b".into())),
            ),
            file(
                "d",
                Action::Other,
                Some(CopySource::FromFirstParent("gone".into())),
            ),
            file("e", Action::Removed, None),
        ];
        follow(&mut records, &changed, 2, 0);
        let after = [
            ("b", record(2, None)),
            ("c", record(2, Some("a"))),
            ("d", record(2, Some("gone"))),
            ("gone", record(1, None)),
        ];
        assert_eq!(
            *records,
            CopyRecords::from(after.map(|(path, record)| (path.into(), record)))
        );
    }
}
