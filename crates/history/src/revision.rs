//! Resolves names of objects as people write them (gitrevisions(7)): a reference or an id, and suffixes.

mod abbreviated_ids;
pub(crate) mod date;
pub mod head;
mod logged;
mod memory;
mod message;
mod names;
mod reflog;
mod refname;
pub(crate) mod regex;
mod staged;
mod tree;
pub(crate) mod zone;

use bstr::{BStr, BString};
use gix_hash::ObjectId;
use vigil_model::mode::FileMode;

pub use self::memory::Memory;
use self::names::Resolver;
pub use self::zone::Zone;
use vigil_git::config;
use vigil_git::index_file;
use vigil_git::objects::{self, Objects};
use vigil_git::refs::{self, Refs};
use vigil_git::repository::Repository;
use vigil_model::c_string::until_nul;
use vigil_model::raw_text::raw;

/// Why a name cannot be resolved, other than that there is no such object.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A reference cannot be read.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// An object on the way cannot be read.
    #[error(transparent)]
    Objects(#[from] objects::Error),
    /// A configured value is bad.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] index_file::Error),
}

/// The type that an abbreviated id is likely to have, if several objects share it (`core.disambiguate` in
/// git-config(1)).
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

/// How a name is resolved.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether symbolic links in a tree are followed (`cat-file --follow-symlinks`).
    pub follow_symlinks: bool,
    /// Whether messages about ambiguity are suppressed, as by `rev-parse -q`.
    pub quietly: bool,
    /// Whether failures are fatal: missing paths are explained in [`Unresolved::Fatal`], and messages are not searched.
    /// git's `cat-file` resolves the name on its command line this way.
    pub is_fatal_on_failure: bool,
    /// Whether the name must have a path (`cat-file --textconv`).
    pub requires_path: bool,
    /// The likely type of an abbreviated id. `None` for the configured one.
    pub hint: Option<Hint>,
    /// Whether the check that no reference looks like an id is skipped, as in batches of `cat-file`.
    pub skips_check_of_ids: bool,
    /// Whether a sparse index is expanded as soon as it is read, as in git's `describe`.
    pub expands_index: bool,
}

/// An object that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The object. A full id need not exist.
    pub id: ObjectId,
    /// Its mode in a tree or in the index; `None` if it was not found in one.
    pub mode: Option<FileMode>,
    /// Its path from the top of the tree or of the index, if the name has one.
    pub path: Option<BString>,
}

/// Why a name leads to no object here.
#[derive(Debug)]
pub enum Unresolved {
    /// A symbolic link leads out of the tree, to this path, which is absolute or relative to the top.
    OutOfTree(BString),
    /// There is no such object.
    Missing,
    /// Several objects share the abbreviated id.
    Ambiguous,
    /// A symbolic link on the way leads to nothing.
    DanglingLink,
    /// There are too many symbolic links on the way.
    LinkLoop,
    /// A component of the path is a file and not a directory.
    NotDirectory,
    /// git exits with code 128, and with this message after "fatal: ".
    Fatal(BString),
    /// git exits with code 128, without a message.
    FatalWithoutMessage,
    /// Something could not be read.
    Failed(Error),
}

impl Unresolved {
    /// Whether git exits.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::Fatal(_) | Self::FatalWithoutMessage | Self::Failed(_)
        )
    }

    /// Returns what a batch of `cat-file` prints for `name` instead of an object, with `delimiter` at the end of
    /// each line. `None` if git exits.
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
            Self::Fatal(_) | Self::FatalWithoutMessage | Self::Failed(_) => return None,
        };
        let path = match self {
            Self::OutOfTree(path) => path.as_ref(),
            _ => name,
        };
        let head = format!("{word} {}", path.len());
        let end: &[u8] = &[delimiter];
        // To git it is a C string, of which it knows the length.
        Some([head.as_bytes(), end, until_nul(path), end].concat().into())
    }
}

impl From<refs::Error> for Unresolved {
    fn from(error: refs::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<objects::Error> for Unresolved {
    fn from(error: objects::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<config::Error> for Unresolved {
    fn from(error: config::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<index_file::Error> for Unresolved {
    fn from(error: index_file::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// The result of resolving a name, and git's messages.
#[derive(Debug)]
pub struct Resolution {
    /// Whole lines for stderr, without line feeds.
    pub messages: Vec<BString>,
    /// The object, or why there is none.
    pub outcome: Result<Resolved, Unresolved>,
}

/// Resolves `name` like git in `repository`: by its references and their logs, its objects, and the index.
/// `memory` holds what names before it led to.
///
/// The rules and their order are those of gitrevisions(7). Dates in logs are in the local time zone.
pub fn resolve_in_context(
    name: &BStr,
    options: &Options,
    repository: &Repository,
    refs: &Refs,
    objects: &Objects,
    memory: &Memory,
) -> Resolution {
    let mut resolver = Resolver::new(Some(repository), refs, objects, memory);
    let outcome = resolver.resolve(name, options);
    resolver.collect_messages();
    Resolution {
        messages: resolver.messages,
        outcome,
    }
}

/// Returns the full name of the only reference that `name` means, and the object there. The name may be a form that stands for a
/// reference, like `@{upstream}`. git's messages are appended to `messages`.
///
/// # Errors
/// git would exit: a reference is damaged, or the configuration of branches is.
pub fn only_reference_named(
    name: &BStr,
    repository: &Repository,
    refs: &Refs,
    objects: &Objects,
    messages: &mut Vec<BString>,
) -> Result<Option<(BString, ObjectId)>, Error> {
    let memory = Memory::new();
    let mut resolver = Resolver::new(Some(repository), refs, objects, &memory);
    let expanded = resolver.expand(name, true);
    messages.append(&mut resolver.messages);
    match expanded {
        Ok(Some(found)) if found.count == 1 => Ok(Some((found.name, found.id))),
        Ok(_) => Ok(None),
        Err(Unresolved::Failed(error)) => Err(error),
        Err(Unresolved::Fatal(text)) => Err(config::Error::Bad(raw(&text).to_string()).into()),
        Err(_) => Ok(None),
    }
}

/// Returns the object that `name` resolves to. `None` if there is none, or if the name needs reflogs, the
/// configuration of branches or the index. A full id resolves to its object whether or not that exists.
///
/// # Errors
/// git would exit: an object or a reference on the way is damaged.
pub fn resolve(name: &BStr, refs: &Refs, objects: &Objects) -> Result<Option<ObjectId>, Error> {
    let options = Options {
        quietly: true,
        skips_check_of_ids: true,
        ..Options::default()
    };
    match Resolver::new(None, refs, objects, &Memory::new()).resolve(name, &options) {
        Ok(found) => Ok(Some(found.id)),
        Err(Unresolved::Failed(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
pub(crate) mod tests;
