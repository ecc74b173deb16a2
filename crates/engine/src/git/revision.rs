//! Names of objects as a person writes them (gitrevisions(7)): a reference or an id, and the way from there.

use bstr::{BStr, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::refs::{self, Refs};
use crate::objects::{self, Objects};

/// The least digits of an abbreviated id.
const ABBREVIATION_MIN: usize = 4;

/// Why a name leads nowhere, other than that there is nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A reference.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// An object on the way.
    #[error(transparent)]
    Objects(#[from] objects::Error),
}

/// One step from an object to another.
enum Step {
    /// `^2`: to a parent, from 1; 0 is the commit itself.
    Parent(usize),
    /// `~2`: so often to the first parent.
    Ancestor(usize),
    /// `^{tree}`; any object that is no tag for `None`.
    Peel(Option<Kind>),
}

/// The object that `name` leads to; `None` if there is none, or for the forms that ask reflogs or messages. A full id
/// leads to its object whether or not that exists.
pub fn resolve(name: &BStr, refs: &Refs, objects: &Objects) -> Result<Option<ObjectId>, Error> {
    if let Some((revision, path)) = name.split_once_str(":") {
        let Some(id) = resolve_steps(revision.as_bstr(), refs, objects)? else {
            return Ok(None);
        };
        let tree = objects.peel_to_tree(&id)?;
        return Ok(match path.is_empty() {
            true => Some(tree),
            false => objects.find_in_tree(&tree, path.as_bstr())?,
        });
    }
    resolve_steps(name, refs, objects)
}

fn resolve_steps(name: &BStr, refs: &Refs, objects: &Objects) -> Result<Option<ObjectId>, Error> {
    let start = name.find_byteset(b"~^").unwrap_or(name.len());
    let (base, mut rest) = name.split_at_checked(start).unwrap_or((name, b""));
    let Some(mut id) = resolve_base(base.as_bstr(), refs, objects)? else {
        return Ok(None);
    };
    while !rest.is_empty() {
        let Some((step, after)) = take_step(rest) else {
            return Ok(None);
        };
        let Some(next) = walk(&id, &step, objects)? else {
            return Ok(None);
        };
        (id, rest) = (next, after);
    }
    Ok(Some(id))
}

fn resolve_base(name: &BStr, refs: &Refs, objects: &Objects) -> Result<Option<ObjectId>, Error> {
    let name = if name == "@" { BStr::new("HEAD") } else { name };
    let is_hex = name.iter().all(u8::is_ascii_hexdigit);
    if is_hex && let Ok(id) = ObjectId::from_hex(name) {
        return Ok(Some(id).filter(|id| id.kind() == objects.hash_kind()));
    }
    if let Some(reference) = refs.expand(name, false)? {
        return Ok(refs.resolve(reference.as_bstr())?);
    }
    if !is_hex || name.len() < ABBREVIATION_MIN {
        return Ok(None);
    }
    match objects.with_prefix(name)?.as_slice() {
        [only] => Ok(Some(*only)),
        _ => Ok(None),
    }
}

/// Takes one step off `rest`, which is not empty.
fn take_step(rest: &[u8]) -> Option<(Step, &[u8])> {
    let (sign, rest) = rest.split_first()?;
    if *sign == b'^'
        && let Some(rest) = rest.strip_prefix(b"{")
    {
        let (kind, after) = rest.split_once_str("}")?;
        let kind = match kind {
            b"" => None,
            b"commit" => Some(Kind::Commit),
            b"tree" => Some(Kind::Tree),
            _ => return None,
        };
        return Some((Step::Peel(kind), after));
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = rest.split_at_checked(digits)?;
    let number = match number {
        b"" => 1,
        number => number.to_str().ok()?.parse().ok()?,
    };
    match sign {
        b'^' => Some((Step::Parent(number), after)),
        b'~' => Some((Step::Ancestor(number), after)),
        _ => None,
    }
}

fn walk(id: &ObjectId, step: &Step, objects: &Objects) -> Result<Option<ObjectId>, Error> {
    let Some((peeled, kind)) = objects.peel(id)? else {
        return Ok(None);
    };
    let first_parents = match step {
        Step::Peel(None) => return Ok(Some(peeled)),
        Step::Peel(Some(Kind::Tree)) => return Ok(objects.peel_to_tree(&peeled).ok()),
        _ if kind != Kind::Commit => return Ok(None),
        Step::Peel(_) | Step::Parent(0) => return Ok(Some(peeled)),
        Step::Parent(number) => {
            let parents = objects.commit(&peeled)?.parents;
            return Ok(parents.get(number.saturating_sub(1)).copied());
        }
        Step::Ancestor(count) => *count,
    };
    let mut commit = peeled;
    for _ in 0..first_parents {
        match objects.commit(&commit)?.parents.first() {
            Some(parent) => commit = *parent,
            None => return Ok(None),
        }
    }
    Ok(Some(commit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::refs::testing::Sandbox;

    #[test]
    fn names_lead_where_git_says() {
        let sandbox = Sandbox::new();
        std::fs::create_dir(sandbox.work_tree().join("dir")).unwrap();
        std::fs::write(sandbox.work_tree().join("dir/file"), "x").unwrap();
        sandbox.git(&["add", "."]);
        for message in ["one", "two", "three"] {
            sandbox.git(&["commit", "-q", "--allow-empty", "-m", message]);
        }
        sandbox.git(&["tag", "-a", "-m", "tag", "tagged", "HEAD~2"]);
        sandbox.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", "side"]);
        sandbox.git(&["merge", "-q", "-m", "merge", "main"]);
        let full = sandbox.git(&["rev-parse", "HEAD"]);
        let full = full.as_str();
        let repository = sandbox.repository();
        let refs = Refs::open(&repository).unwrap();
        let objects = Objects::open(&repository).unwrap();
        let names = [
            "HEAD",
            "@",
            "@~1",
            "side^2",
            "side^2~1",
            "main~2",
            "main~3",
            "main~4",
            "side^0",
            "side^3",
            "tagged",
            "tagged^{}",
            "tagged^{commit}",
            "tagged^{tree}",
            "tagged~0",
            "tagged^",
            "HEAD^{tree}",
            "HEAD:dir",
            "HEAD~1:dir/file",
            "HEAD:missing",
            "HEAD:",
            "HEAD:dir/file^",
            "no-such",
            "~1",
            "HEAD^{x}",
            "HEAD~1^{tree}~1",
            full,
            &full[..7],
            &full[..3],
            "1234567890123456789012345678901234567890",
        ];
        for name in names {
            let (theirs, _) = sandbox.try_git(&["rev-parse", "-q", "--verify", name]);
            let ours = resolve(name.into(), &refs, &objects).unwrap();
            let ours = ours.map(|id| format!("{id}\n")).unwrap_or_default();
            assert_eq!(ours, theirs, "{name}");
        }
    }
}
