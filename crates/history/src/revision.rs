//! Names of objects as a person writes them (gitrevisions(7)): a reference or an id, and the way from there.

mod abbreviated_ids;
pub(crate) mod date;
mod message;
mod names;
mod reflog;
mod refname;
pub(crate) mod regex;
pub mod staged;
mod tree;
pub(crate) mod zone;

use bstr::{BStr, BString};
use gix_hash::ObjectId;
use vigil_model::mode::FileMode;

use self::names::Resolver;
pub use self::staged::StagedPaths;
use vigil_git::config;
use vigil_git::index_file;
use vigil_git::objects::{self, Objects};
use vigil_git::refs::{self, Refs};
use vigil_git::repository::Repository;

/// Why a name leads nowhere, other than that there is nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A reference.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// An object on the way.
    #[error(transparent)]
    Objects(#[from] objects::Error),
    /// A configured value.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The index.
    #[error(transparent)]
    Index(#[from] index_file::Error),
}

/// What an abbreviated id is likely to be, where several objects share it (`core.disambiguate` in git-config(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A commit.
    Commit,
    /// A commit, or a tag that leads to one.
    Committish,
    /// A tree.
    Tree,
    /// A tree, or a commit or tag that leads to one.
    Treeish,
    /// A blob.
    Blob,
}

/// How a name is to be taken.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Symbolic links inside a tree are followed (`cat-file --follow-symlinks`).
    pub follow_symlinks: bool,
    /// Nothing is said of what is ambiguous, as for `rev-parse -q`.
    pub quietly: bool,
    /// The caller has no use for failures: those of paths are explained, in [`Outcome::Fatal`], and messages are not
    /// searched. This is how git's `cat-file` takes the name on its command line.
    pub explains: bool,
    /// The directory, with a slash at its end, in which a path that is not found may have been meant.
    pub explained_from: BString,
    /// Only a name with a path will do (`cat-file --textconv`).
    pub requires_path: bool,
    /// What an abbreviated id stands for. `None` leaves it to the configuration.
    pub hint: Option<Hint>,
    /// Nobody asks whether a reference has the name of an id, as in batches of `cat-file`.
    pub skips_check_of_ids: bool,
}

/// An object that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The object. The id in a name that is a full one need not exist.
    pub id: ObjectId,
    /// Its mode in a tree or in the index; `None` if it was not found in one.
    pub mode: Option<FileMode>,
    /// Its path, from the top of the tree or of the index, where the name has one.
    pub path: Option<BString>,
}

/// What a name leads to.
#[derive(Debug)]
pub enum Outcome {
    /// An object.
    Found(Resolved),
    /// A symbolic link that leads out of the tree: to where, as a path that is absolute or relative to the top.
    OutOfTree(BString),
    /// There is none.
    Missing,
    /// Several objects share the abbreviated id.
    Ambiguous,
    /// A symbolic link on the way leads to nothing.
    DanglingLink,
    /// There are too many symbolic links on the way.
    LinkLoop,
    /// A file on the way is no directory.
    NotDirectory,
    /// git ends here, with these words after "fatal: " and exit code 128.
    Fatal(BString),
    /// git ends here, with exit code 128 and no word.
    Silent,
    /// Something could not be read.
    Failed(Error),
}

impl Outcome {
    /// What a batch of `cat-file` prints for `name` instead of an object, with `delimiter` at the end of each line.
    /// `None` where there is an object, or where git ends.
    pub fn batch_report(&self, name: &BStr, delimiter: u8) -> Option<BString> {
        let word = match self {
            Self::Missing | Self::Ambiguous => {
                let word: &[u8] = match self {
                    Self::Missing => b" missing",
                    _ => b" ambiguous",
                };
                return Some([name, word, &[delimiter]].concat().into());
            }
            Self::OutOfTree(_) => "symlink",
            Self::DanglingLink => "dangling",
            Self::LinkLoop => "loop",
            Self::NotDirectory => "notdir",
            Self::Found(_) | Self::Fatal(_) | Self::Silent | Self::Failed(_) => return None,
        };
        let path = match self {
            Self::OutOfTree(path) => path.as_ref(),
            _ => name,
        };
        let head = format!("{word} {}", path.len());
        let end: &[u8] = &[delimiter];
        Some([head.as_bytes(), end, path, end].concat().into())
    }
}

/// What a name leads to, and what git says meanwhile.
#[derive(Debug)]
pub struct Answer {
    /// Whole lines for stderr, without line feeds.
    pub said: Vec<BString>,
    /// What the name leads to.
    pub outcome: Outcome,
}

/// Finds what `name` leads to, as git does in `repository`: by its references and their logs, its objects, and the
/// index, which `staged` reads if it is asked for.
///
/// The rules, and their order, are those of gitrevisions(7). A log is asked for a time in the local time zone.
pub fn resolve_in_context(
    name: &BStr,
    options: &Options,
    repository: &Repository,
    refs: &Refs,
    objects: &Objects,
    staged: &StagedPaths,
) -> Answer {
    let mut resolver = Resolver::new(Some(repository), refs, objects);
    let outcome = match resolver.resolve(name, options, Some(staged)) {
        Ok(outcome) => outcome,
        Err(stop) => stop.into(),
    };
    resolver.hear();
    Answer {
        said: resolver.said,
        outcome,
    }
}

/// The object that `name` leads to; `None` if there is none, or for the forms that ask reflogs, the configuration of
/// branches or the index. A full id leads to its object whether or not that exists.
pub fn resolve(name: &BStr, refs: &Refs, objects: &Objects) -> Result<Option<ObjectId>, Error> {
    let options = Options {
        quietly: true,
        skips_check_of_ids: true,
        ..Options::default()
    };
    match Resolver::new(None, refs, objects).resolve(name, &options, None) {
        Ok(Outcome::Found(found)) => Ok(Some(found.id)),
        Err(names::Stop::Failed(error)) => Err(error),
        Ok(_) | Err(_) => Ok(None),
    }
}

#[cfg(test)]
pub(crate) mod tests;
