//! The current branch, its upstream and its push target, and how far they diverge (git-branch(1),
//! `branch.<name>.*` and `remote.<name>.*` in git-config(1)).

mod compared;
mod credentials;
mod distance;
pub(crate) mod refspec;
mod rewrites;
mod settings;
mod status;
mod urls;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{ObjectId, oid};
use gix_object::Kind;

pub use self::compared::compared_branches;
pub(crate) use self::compared::{remote_for_pushing, remote_with_same_push_url};
use self::distance::count_left_right;
use self::refspec::Refspec;
pub(crate) use self::settings::{check_all_settings, check_remote_of};
pub use self::settings::{check_push_remote_of, check_settings};
pub use self::status::{BranchStatus, ComparedBranch, Distance, Upstream};
use vigil_git::config::{self, Config};
use vigil_git::objects::{self, Objects};
use vigil_git::refs::Head;
use vigil_git::refs::{self, Refs};
use vigil_git::repository::Repository;
use vigil_model::raw_text::raw;

/// Why the branch could not be described. If git has a message for it, the text is git's, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A reference cannot be read.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// A commit cannot be read.
    #[error(transparent)]
    Objects(#[from] objects::Error),
    /// A configured value is bad.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// A `remote.<name>.fetch` or `remote.<name>.push` that is not a refspec.
    #[error("invalid refspec '{}'", raw(.0))]
    InvalidRefspec(BString),
    /// The history of one of the two commits is incomplete.
    #[error("bad revision '{ours}...{theirs}'")]
    BrokenHistory {
        /// The commit of the branch.
        ours: ObjectId,
        /// The commit that it is compared with.
        theirs: ObjectId,
        /// The commit that is missing.
        missing: ObjectId,
    },
}

impl Error {
    /// Whether the error is in the configuration.
    pub fn is_of_settings(&self) -> bool {
        matches!(self, Self::Config(_) | Self::InvalidRefspec(_))
    }

    /// Returns the lines that git writes to stderr before the error itself.
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Config(error) => error.messages().to_vec(),
            Self::BrokenHistory { missing, .. } => ["Could not read", "could not parse commit"]
                .map(|problem| format!("error: {problem} {missing}"))
                .to_vec(),
            _ => Vec::new(),
        }
    }
}

/// Returns where HEAD points, and how far it is from its upstream.
///
/// Without `ahead_behind`, commits are not counted: two that differ are [`Distance::Different`].
///
/// # Errors
/// HEAD or the upstream cannot be read, the configuration is wrong, or the history between them is broken.
pub fn branch_status(
    repo: &Repository,
    refs: &Refs,
    objects: &Objects,
    ahead_behind: bool,
    warnings: &mut Vec<BString>,
) -> Result<BranchStatus, Error> {
    let head = refs.head()?;
    let upstream = match &head {
        Head::Branch { name, id } if !name.is_empty() => {
            match BranchRemotes::read(&repo.config, short_name(name.as_ref()))? {
                Some(remotes) => upstream_by(&remotes, refs, objects, *id, ahead_behind, warnings)?,
                None => None,
            }
        }
        _ => None,
    };
    Ok(BranchStatus { head, upstream })
}

/// Returns the upstream of the branch with the short name `name`, which need not exist.
///
/// # Errors
/// The upstream cannot be read, the configuration is wrong, or the history up to it is broken.
pub fn upstream_of(
    name: &BStr,
    repo: &Repository,
    refs: &Refs,
    objects: &Objects,
    ahead_behind: bool,
    warnings: &mut Vec<BString>,
) -> Result<Option<Upstream>, Error> {
    let Some(remotes) = BranchRemotes::read(&repo.config, name)? else {
        return Ok(None);
    };
    let reference = BString::from([b"refs/heads/", name.as_bytes()].concat());
    let id = refs.resolve(reference.as_ref())?;
    upstream_by(&remotes, refs, objects, id, ahead_behind, warnings)
}

fn upstream_by(
    remotes: &BranchRemotes,
    refs: &Refs,
    objects: &Objects,
    id: Option<ObjectId>,
    ahead_behind: bool,
    warnings: &mut Vec<BString>,
) -> Result<Option<Upstream>, Error> {
    let Some(reference) = remotes.upstream(refs, warnings)? else {
        return Ok(None);
    };
    let theirs = refs.resolve(reference.as_ref())?;
    Ok(Some(Upstream {
        short_name: refs.shorten(reference.as_ref())?,
        distance: distance(objects, id, theirs, ahead_behind)?,
        reference,
    }))
}

/// Returns the name of a branch in `branch.<name>`. Like git, uses a reference that is not a branch unchanged.
pub fn short_name(branch: &BStr) -> &BStr {
    branch
        .strip_prefix(b"refs/heads/")
        .unwrap_or(branch)
        .as_bstr()
}

fn distance(
    objects: &Objects,
    ours: Option<ObjectId>,
    theirs: Option<ObjectId>,
    ahead_behind: bool,
) -> Result<Distance, Error> {
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return Ok(Distance::Gone);
    };
    if ours == theirs {
        return Ok(Distance::Equal);
    }
    // Either may be a tag, which stands for its target.
    let (Some((theirs, Kind::Commit)), Some((ours, Kind::Commit))) =
        (objects.peel(&theirs)?, objects.peel(&ours)?)
    else {
        return Ok(Distance::Gone);
    };
    if ours == theirs {
        return Ok(Distance::Equal);
    }
    if !ahead_behind {
        return Ok(Distance::Different);
    }
    match count_left_right(objects, &ours, &theirs) {
        Ok((ahead, behind)) => Ok(Distance::Counted { ahead, behind }),
        Err(objects::Error::Missing { id: missing }) => Err(Error::BrokenHistory {
            ours,
            theirs,
            missing,
        }),
        Err(error) => Err(error.into()),
    }
}

/// A branch of a remote, as gitstatusd describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteBranch {
    /// The remote's name; `.` for this repository.
    pub remote: BString,
    /// The remote's URL, after `url.<base>.insteadOf`; empty if it has none.
    pub url: BString,
    /// The branch's name, without the remote's; empty for a reference under neither `refs/heads/` nor
    /// `refs/remotes/`.
    pub branch: BString,
    /// The full name of the local reference that tracks it.
    pub reference: BString,
    /// The commit (or tag) that the reference points to.
    pub id: ObjectId,
}

/// Returns the upstream of the branch with the full name `branch`, if it exists: gitstatusd's fields 6 to 8.
///
/// # Errors
/// The configuration is wrong, or a reference cannot be read.
pub fn tracked_branch(
    repo: &Repository,
    refs: &Refs,
    branch: &BStr,
) -> Result<Option<RemoteBranch>, Error> {
    let Some(name) = branch.strip_prefix(b"refs/heads/") else {
        return Ok(None);
    };
    let Some(remotes) = BranchRemotes::read(&repo.config, name.as_bstr())? else {
        return Ok(None);
    };
    match remotes.upstream(refs, &mut Vec::new())? {
        Some(reference) => remote_branch(refs, &remotes, reference),
        None => Ok(None),
    }
}

/// Returns the push target of the branch with the full name `branch`, if `branch.<name>.pushRemote` or
/// `remote.pushDefault` is set and the target has a local tracking reference: gitstatusd's fields 22 and 23.
/// For the distance (24 and 25), see [`ahead_behind`].
///
/// # Errors
/// The configuration is wrong, or a reference cannot be read.
pub fn push_remote(
    repo: &Repository,
    refs: &Refs,
    branch: &BStr,
) -> Result<Option<RemoteBranch>, Error> {
    let Some(name) = branch.strip_prefix(b"refs/heads/") else {
        return Ok(None);
    };
    let config = &repo.config;
    let Some(remote) = config
        .subsection_string("branch", name.as_bstr(), "pushRemote")
        .or_else(|| config.string("remote.pushDefault"))
        .filter(|remote| !remote.is_empty())
    else {
        return Ok(None);
    };
    let remotes = BranchRemotes::of_remote(config, remote, branch.into())?;
    match remotes.pushed() {
        Some(reference) => remote_branch(refs, &remotes, reference),
        None => Ok(None),
    }
}

fn remote_branch(
    refs: &Refs,
    remotes: &BranchRemotes,
    reference: BString,
) -> Result<Option<RemoteBranch>, Error> {
    let Some(id) = refs.resolve(reference.as_ref())? else {
        return Ok(None);
    };
    let branch = if let Some(name) = reference.strip_prefix(b"refs/heads/") {
        name
    } else if let Some(name) = reference.strip_prefix(b"refs/remotes/") {
        name.strip_prefix(remotes.remote.as_slice())
            .and_then(|name| name.strip_prefix(b"/"))
            .unwrap_or(name)
    } else {
        b""
    };
    Ok(Some(RemoteBranch {
        remote: remotes.remote.clone(),
        url: remotes.url.clone(),
        branch: branch.into(),
        reference,
        id,
    }))
}

/// The configuration of a branch and a remote.
#[derive(Debug)]
struct BranchRemotes {
    /// The name of the remote.
    remote: BString,
    /// The full name of the branch on the remote.
    merge: BString,
    /// The remote's fetch refspecs.
    fetch: Vec<Refspec>,
    /// The remote's URL.
    url: BString,
    /// `core.warnAmbiguousRefs`.
    warns_of_ambiguity: bool,
}

impl BranchRemotes {
    /// Reads the upstream that is configured for the branch with the short name `name`.
    fn read(config: &Config, name: &BStr) -> Result<Option<Self>, Error> {
        let Some(remote) = config.subsection_string("branch", name, "remote") else {
            return Ok(None);
        };
        let Some(merge) = config
            .subsection_strings("branch", name, "merge")
            .into_iter()
            .next()
        else {
            return Ok(None);
        };
        Self::of_remote(config, remote, merge).map(Some)
    }

    fn of_remote(config: &Config, remote: BString, merge: BString) -> Result<Self, Error> {
        let mut fetch = Vec::new();
        for text in config.subsection_strings("remote", remote.as_ref(), "fetch") {
            let refspec = Refspec::parse(text.as_ref());
            fetch.push(refspec.ok_or(Error::InvalidRefspec(text))?);
        }
        let url = if remote == "." {
            BString::default()
        } else {
            url_of(config, remote.as_ref())
        };
        Ok(Self {
            remote,
            merge,
            fetch,
            url,
            warns_of_ambiguity: config.boolean("core.warnAmbiguousRefs")? != Some(false),
        })
    }

    /// Returns the full name of the upstream, which need not exist. `None` if the remote's branch is not
    /// tracked. git's messages are appended to `warnings`.
    fn upstream(&self, refs: &Refs, warnings: &mut Vec<BString>) -> Result<Option<BString>, Error> {
        if let Some(tracked) = refspec::track(&self.fetch, self.merge.as_ref()) {
            return Ok(Some(tracked));
        }
        if self.remote != "." {
            return Ok(None);
        }
        let expanded = refs.expand(self.merge.as_ref(), self.warns_of_ambiguity, warnings)?;
        Ok(Some(expanded.unwrap_or_else(|| self.merge.clone())))
    }

    /// Returns the full name of the reference that tracks the push target.
    fn pushed(&self) -> Option<BString> {
        if self.remote == "." {
            return Some(self.merge.clone());
        }
        refspec::track(&self.fetch, self.merge.as_ref())
    }
}

/// Returns the URL of a remote, after `url.<base>.insteadOf`, as libgit2 rewrites it: by the longest prefix that matches,
/// and the first of equally long ones.
fn url_of(config: &Config, remote: &BStr) -> BString {
    let url = config
        .subsection_string("remote", remote, "url")
        .unwrap_or_default();
    let mut best = (BStr::new(""), 0);
    for (base, name, prefix) in config.subsection_entries("url") {
        let prefix = prefix.unwrap_or_default();
        if name == "insteadof" && url.starts_with(prefix) && best.1 < prefix.len() {
            best = (base, prefix.len());
        }
    }
    let (base, length) = best;
    [base, url.get(length..).unwrap_or_default()]
        .concat()
        .into()
}

/// Returns how far the commits or tags `ours` and `theirs` diverge, as (ahead, behind). `None` if one of them is missing or no
/// commit.
///
/// # Errors
/// The history is broken, or an object is damaged.
pub fn ahead_behind(
    objects: &Objects,
    ours: &oid,
    theirs: &oid,
) -> Result<Option<(usize, usize)>, Error> {
    let [ours, theirs] = [ours, theirs].map(|id| Some(id.to_owned()));
    Ok(match distance(objects, ours, theirs, true)? {
        Distance::Counted { ahead, behind } => Some((ahead, behind)),
        Distance::Equal | Distance::Different => Some((0, 0)),
        Distance::Gone => None,
    })
}

#[cfg(test)]
mod tests;
