//! Where HEAD was detached, by its log (git-status(1), long format).

use bstr::{BStr, BString};
use gix_hash::ObjectId;

use crate::revision::{self, only_reference_named};
use vigil_git::objects::Objects;
use vigil_git::operation::under_way::last_switch;
use vigil_git::refs::Refs;
use vigil_git::repository::Repository;

/// Where HEAD was detached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetachedFrom {
    /// The reference as git shortens it, or an abbreviated id.
    pub name: BString,
    /// HEAD is still at that commit.
    pub is_at: bool,
}

/// Returns where HEAD, which is detached at `head`, was detached, according to the last switch in its log. `None` if the log has
/// none. git's messages are appended to `messages`.
///
/// # Errors
/// The log, a reference or an object cannot be read, or the configuration of branches is wrong.
pub fn detached_from(
    head: &ObjectId,
    repository: &Repository,
    refs: &Refs,
    objects: &Objects,
    messages: &mut Vec<BString>,
) -> Result<Option<DetachedFrom>, revision::Error> {
    let Some((id, target)) = last_switch(refs)? else {
        return Ok(None);
    };
    let abbreviated = || objects.abbreviate(&id, &repository.config);
    // HEAD has moved: the commit where it was is known by its id.
    let target = match target == "HEAD" {
        true => abbreviated()?,
        false => target,
    };
    let found = only_reference_named(target.as_ref(), repository, refs, objects, messages)?;
    let is_there = |found: &ObjectId| {
        *found == id || matches!(objects.peel(found), Ok(Some((peeled, _))) if peeled == id)
    };
    let name = match found {
        Some((reference, found)) if is_there(&found) => shortened(reference.as_ref()).into(),
        _ => abbreviated()?,
    };
    Ok(Some(DetachedFrom {
        name,
        is_at: *head == id,
    }))
}

/// Removes the namespace from tags and remote-tracking branches, but not from local branches.
fn shortened(reference: &BStr) -> &[u8] {
    [b"refs/tags/".as_slice(), b"refs/remotes/"]
        .iter()
        .find_map(|folder| reference.strip_prefix(*folder))
        .unwrap_or(reference)
}
