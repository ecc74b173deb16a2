//! Ancestors: which changesets come before which.

use crate::revlog::Revlog;

/// Bits of a mark: the changeset is an ancestor of the first changeset, of the second, or of both.
const FIRST: u8 = 1;
const SECOND: u8 = 2;
const BOTH: u8 = FIRST | SECOND;
/// A descendant of this changeset is already a common ancestor.
const IS_COVERED: u8 = 4;

/// Returns the parents of the changeset `number`. A parent whose number is not below its child's counts as none.
pub(crate) fn parents(changelog: &Revlog, number: u32) -> [Option<u32>; 2] {
    let Some(revision) = changelog.revision(number) else {
        return [None, None];
    };
    [revision.p1, revision.p2].map(|parent| {
        let parent = u32::try_from(parent).ok();
        parent.filter(|parent| *parent < number)
    })
}

/// Returns whether `ancestor` is `number` or an ancestor of it.
pub(crate) fn is_ancestor(changelog: &Revlog, ancestor: u32, number: u32) -> bool {
    common_heads(changelog, ancestor, number).contains(&ancestor)
}

/// Returns the heads of the common ancestors, where a changeset is an ancestor of itself: those without a descendant among them.
pub(crate) fn common_heads(changelog: &Revlog, first: u32, second: u32) -> Vec<u32> {
    let top = first.max(second);
    let mut marks = vec![0u8; (top as usize).saturating_add(1)];
    for (number, mark) in [(first, FIRST), (second, SECOND)] {
        if let Some(known) = marks.get_mut(number as usize) {
            *known |= mark;
        }
    }
    // The number of marked changesets that are not covered yet. At zero, there is nothing more to find.
    let mut uncovered_count = if first == second { 1u32 } else { 2 };
    let mut heads = Vec::new();
    for number in (0..=top).rev() {
        let mut mark = marks.get(number as usize).copied().unwrap_or_default();
        if uncovered_count == 0 {
            break;
        }
        if mark == 0 {
            continue;
        }
        if mark & IS_COVERED == 0 {
            uncovered_count = uncovered_count.saturating_sub(1);
        }
        if mark == BOTH {
            heads.push(number);
            mark |= IS_COVERED;
        }
        for parent in parents(changelog, number).into_iter().flatten() {
            let Some(known) = marks.get_mut(parent as usize) else {
                continue;
            };
            let was_uncovered = *known != 0 && *known & IS_COVERED == 0;
            *known |= mark;
            let is_uncovered = *known & IS_COVERED == 0;
            match (was_uncovered, is_uncovered) {
                (false, true) => uncovered_count = uncovered_count.saturating_add(1),
                (true, false) => uncovered_count = uncovered_count.saturating_sub(1),
                _ => {}
            }
        }
    }
    heads
}

/// Returns the best common ancestor. Of several heads, this is the one with the longest path to the first changeset,
/// and of those the one with the least node.
pub(crate) fn best_common(changelog: &Revlog, first: u32, second: u32) -> Option<u32> {
    let heads = common_heads(changelog, first, second);
    if heads.len() < 2 {
        return heads.first().copied();
    }
    let top = heads.iter().copied().max()?;
    let mut depths: Vec<u32> = Vec::with_capacity((top as usize).saturating_add(1));
    for number in 0..=top {
        let above = parents(changelog, number).into_iter().flatten();
        let depth = above.filter_map(|parent| depths.get(parent as usize)).max();
        depths.push(depth.map_or(1, |depth| depth.saturating_add(1)));
    }
    let depth = |number: &u32| depths.get(*number as usize).copied().unwrap_or_default();
    let deepest = heads.iter().map(depth).max()?;
    let node = |number: &u32| changelog.revision(*number).map(|revision| revision.node);
    let deepest = heads.iter().filter(|number| depth(number) == deepest);
    deepest.min_by_key(|number| node(number)).copied()
}
