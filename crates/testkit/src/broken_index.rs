//! Indexes that git itself misreads, so that its answers about them prove nothing.

use std::process::Output;

use bstr::ByteSlice;

use crate::invocation::Invocation;
use crate::sandbox::Sandbox;
use crate::settings::Settings;

/// Variables that change the meaning of the pathspec for the top, or make git reject it.
const PATHSPEC_VARIABLES: [&str; 4] = [
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// Whether git misreads the index that `invocation` asks about, because of git's own bugs.
pub(crate) fn is_misread(settings: &Settings, sandbox: &Sandbox, invocation: &Invocation) -> bool {
    // An older git may not know the options used here.
    std::iter::once(&settings.oracle)
        .chain(&settings.accepted_gits)
        .any(|program| {
            let git = |arguments: &[&str]| {
                let mut command = invocation.other_command(sandbox, program);
                for name in PATHSPEC_VARIABLES {
                    command.env_remove(name);
                }
                command.args(arguments).output().ok()
            };
            is_misread_by(&git)
        })
}

/// Whether `git` misreads the index, because of its own bugs.
pub(crate) fn is_misread_by(git: &impl Fn(&[&str]) -> Option<Output>) -> bool {
    is_out_of_order(git) || is_split_and_collapsed(git) || is_doubled(git)
}

/// Whether the index has a sparse directory next to entries below it, or unsorted entries. git writes both when stages
/// are put below a sparse directory. When git compares the first kind with HEAD, it expands it out of order, and then it
/// does not find its own entries, as in an index of the second kind.
fn is_out_of_order(git: &impl Fn(&[&str]) -> Option<Output>) -> bool {
    let Some(listed) = list(git, &[]) else {
        return false;
    };
    let entries = entries(&listed);
    let is_unordered = !entries.clone().is_sorted();
    let is_beside = entries
        .clone()
        .zip(entries.skip(1))
        .any(|((path, _), (next, _))| path.ends_with(b"/") && next.starts_with(path));
    let has_head = || git(&["rev-parse", "-q", "--verify", "HEAD"]);
    is_unordered || is_beside && has_head().is_some_and(|output| output.status.success())
}

/// Whether git lists entries twice that the index has once. To make a sparse index, git skips directories by the number
/// of entries in its cache-tree, but that does not count entries that only record the intent to add.
fn is_doubled(git: &impl Fn(&[&str]) -> Option<Output>) -> bool {
    let doubled = |more: &[&str]| {
        let listed = list(git, more)?;
        let mut pairs = entries(&listed).zip(entries(&listed).skip(1));
        Some(pairs.any(|(entry, next)| entry == next))
    };
    doubled(&[]) == Some(true) && doubled(&["-c", "index.sparse=false"]) == Some(false)
}

/// The entries that git lists with the additional configuration `more`, without expanding the index.
fn list(git: &impl Fn(&[&str]) -> Option<Output>, more: &[&str]) -> Option<Vec<u8>> {
    // git expands even an index that it only lists, unless files are expected outside the patterns.
    let as_it_is = ["-c", "sparse.expectFilesOutsideOfPatterns=true", "ls-files"];
    let options = ["--stage", "--full-name", "--sparse", "-z", ":/"];
    let listed = git(&[more, &as_it_is, &options].concat())?;
    listed.status.success().then_some(listed.stdout)
}

/// The path and stage of each entry in `listed`.
fn entries(listed: &[u8]) -> impl Iterator<Item = (&[u8], Option<u8>)> + Clone {
    // Mode, object and stage, a tab, and the path.
    listed.split(|&byte| byte == 0).filter_map(|entry| {
        let (facts, path) = entry.split_once_str(b"\t")?;
        Some((path, facts.last().copied()))
    })
}

/// Whether the index is split, and git makes a sparse index of its shared part alone. The positions in the other part
/// then refer to other entries, or to none: git gives up, or lists directories. It refuses to write such an index.
fn is_split_and_collapsed(git: &impl Fn(&[&str]) -> Option<Output>) -> bool {
    let shared = git(&[
        "-c",
        "index.sparse=false",
        "rev-parse",
        "--shared-index-path",
    ]);
    if shared.is_none_or(|shared| shared.stdout.is_empty()) {
        return false;
    }
    git(&["ls-files", "--sparse", "-z"]).is_some_and(|listed| {
        let mut paths = listed.stdout.split(|&byte| byte == 0);
        let replaced = b"fatal: position for ";
        paths.any(|path| path.ends_with(b"/")) || listed.stderr.starts_with(replaced)
    })
}
