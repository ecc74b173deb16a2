//! The branches that the long format compares the current one with (`status.compareBranches` in git-config(1)).

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use super::refspec::{self, Refspec};
use super::urls::RemoteUrls;
use super::{BranchRemotes, Error, distance};
use crate::branch::ComparedBranch;
use vigil_git::config::Config;
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::Repository;
use vigil_model::raw_text::{raw, text_bytes};

const UPSTREAM: &str = "@{upstream}";
const PUSH: &str = "@{push}";

/// Compares the branch with the full name `branch`, at the commit `id`, with each of the configured branches once.
/// git's warnings are appended to `warnings`.
///
/// # Errors
/// The configuration is wrong, a reference cannot be read, or the history is broken.
pub fn compared_branches(
    repo: &Repository,
    refs: &Refs,
    objects: &Objects,
    branch: &BStr,
    id: ObjectId,
    ahead_behind: bool,
    warnings: &mut Vec<BString>,
) -> Result<Vec<ComparedBranch>, Error> {
    let Some(name) = branch.strip_prefix(b"refs/heads/").map(BStr::new) else {
        return Ok(Vec::new());
    };
    let config = &repo.config;
    let wanted = config.string("status.compareBranches");
    let wanted = wanted.unwrap_or_else(|| UPSTREAM.into());
    let upstream = match BranchRemotes::read(config, name)? {
        Some(remotes) => remotes.upstream(refs, &mut Vec::new())?,
        None => None,
    };
    let push = push_target(config, name, branch, upstream.as_ref())?;
    let mut seen: Vec<&BString> = Vec::new();
    let mut compared = Vec::new();
    for word in wanted.split_str(" ").filter(|word| !word.is_empty()) {
        let reference = if word.eq_ignore_ascii_case(UPSTREAM.as_bytes()) {
            &upstream
        } else if word.eq_ignore_ascii_case(PUSH.as_bytes()) {
            &push
        } else {
            let word = word.as_bstr();
            warnings.push(text_bytes(&format!(
                "warning: ignoring value '{word}' for status.compareBranches, \
                     only {UPSTREAM} and {PUSH} are supported",
                word = raw(word)
            )));
            continue;
        };
        let Some(reference) = reference else {
            continue;
        };
        if seen.contains(&reference) {
            continue;
        }
        seen.push(reference);
        let theirs = refs.resolve(reference.as_ref())?;
        let is_upstream = upstream.as_ref() == Some(reference);
        let is_push = push.as_ref() == Some(reference) || (is_upstream && push.is_none());
        compared.push(ComparedBranch {
            short_name: refs.shorten(reference.as_ref())?,
            distance: distance(objects, Some(id), theirs, ahead_behind)?,
            is_upstream,
            is_push,
            pulled_from: match is_push && !is_upstream {
                true => pulled_from(remote_for_pushing(config, name), reference.as_ref()),
                false => None,
            },
        });
    }
    Ok(compared)
}

/// Returns the remote and the branch there that `reference` tracks, judging by its name.
fn pulled_from(remote: BString, reference: &BStr) -> Option<(BString, BString)> {
    let name = reference.strip_prefix(b"refs/remotes/")?;
    let name = name.strip_prefix(remote.as_slice())?.strip_prefix(b"/")?;
    Some((remote, name.into()))
}

/// Returns the reference that tracks the branch that `git push` would update, by the rules of `push.default`.
fn push_target(
    config: &Config,
    name: &BStr,
    branch: &BStr,
    upstream: Option<&BString>,
) -> Result<Option<BString>, Error> {
    let remote = remote_for_pushing(config, name);
    let remotes = BranchRemotes::of_remote(config, remote.clone(), branch.into())?;
    let fetch = match remote_with_same_push_url(config, remote.as_ref()) {
        Some(other) => BranchRemotes::of_remote(config, other, branch.into())?.fetch,
        None => remotes.fetch,
    };
    let tracked = |name: &BStr| refspec::track(&fetch, name);
    let push = config.subsection_strings("remote", remote.as_ref(), "push");
    if !push.is_empty() {
        // A refspec without a destination tracks nothing here.
        let push: Vec<Refspec> = push
            .iter()
            .filter(|text| !text.ends_with(b":"))
            .filter_map(|text| Refspec::parse(text.as_ref()))
            .collect();
        return Ok(refspec::track(&push, branch).and_then(|name| tracked(name.as_ref())));
    }
    let is_mirror = config
        .subsection_entry("remote", remote.as_ref(), "mirror")
        .map(|entry| entry.boolean())
        .transpose()?;
    if is_mirror == Some(true) {
        return Ok(tracked(branch));
    }
    let rule = config.string("push.default").unwrap_or_default();
    Ok(match rule.as_slice() {
        b"nothing" => None,
        b"matching" | b"current" => tracked(branch),
        b"upstream" | b"tracking" => upstream.cloned(),
        _ => tracked(branch).filter(|tracked| Some(tracked) == upstream),
    })
}

/// If `remote` is a URL and not a configured remote, returns the only configured remote that pushes there, too.
pub(crate) fn remote_with_same_push_url(config: &Config, remote: &BStr) -> Option<BString> {
    let remotes = config.subsections("remote");
    if remotes.iter().any(|name| name == remote) || remote.is_empty() {
        return None;
    }
    let urls = RemoteUrls::read(config);
    let url = urls.pushed_by_name(remote);
    let mut alike = remotes.into_iter().filter(|name| {
        // git does not accept a remote with such a name.
        !name.starts_with(b"/") && urls.pushed(name.as_ref()).contains(&url)
    });
    match (alike.next(), alike.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Returns the name of the remote that the branch is pushed to.
pub(crate) fn remote_for_pushing(config: &Config, name: &BStr) -> BString {
    let of_branch = |key| config.subsection_string("branch", name, key);
    of_branch("pushRemote")
        .or_else(|| config.string("remote.pushDefault"))
        .or_else(|| of_branch("remote"))
        .unwrap_or_else(|| match config.subsections("remote").as_slice() {
            [only] => only.clone(),
            _ => "origin".into(),
        })
}
