//! Why a question has no answer.

use super::excludes::UnusableExcludes;
use bstr::BString;
use vigil_convert::{attribute_files, converter};
use vigil_git::objects::Objects;
use vigil_git::operation;
use vigil_git::repository::Repository;
use vigil_git::{config, index_file, objects, refs, renames, repository, staged};
use vigil_history::branch;
use vigil_history::revision;
use vigil_history::tags;
use vigil_model::raw_text::raw;
use vigil_rules::pathspec;
use vigil_scan::ScanError;

/// Why a question has no answer. The text is git's own where git has one, without "fatal: ".
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is no repository, or none that may be used.
    #[error(transparent)]
    Repository(#[from] repository::Error),
    /// The configuration could not be used.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The index could not be read.
    #[error(transparent)]
    Index(#[from] index_file::Error),
    /// An object could not be read.
    #[error(transparent)]
    Objects(#[from] objects::Error),
    /// A reference could not be read.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// HEAD could not be compared with the index.
    #[error(transparent)]
    Staged(#[from] staged::Error),
    /// The branch or its upstream could not be determined.
    #[error(transparent)]
    Branch(#[from] branch::Error),
    /// Tags could not be read.
    #[error(transparent)]
    Tags(#[from] tags::Error),
    /// Renames could not be searched for.
    #[error(transparent)]
    Renames(#[from] renames::Error),
    /// The working tree could not be scanned.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A file of ignore rules could not be used.
    #[error(transparent)]
    Excludes(#[from] UnusableExcludes),
    /// A pathspec is invalid.
    #[error(transparent)]
    Pathspec(#[from] pathspec::Error),
    /// Attributes could not be read.
    #[error(transparent)]
    Attributes(#[from] attribute_files::Error),
    /// Contents of the working tree could not be converted to what would be recorded.
    #[error(transparent)]
    Contents(#[from] converter::Error),
    /// HEAD leads to nothing.
    #[error("bad object HEAD")]
    BadHead,
    /// HEAD's tree is missing.
    #[error("bad tree object HEAD")]
    BadHeadTree,
    /// HEAD's commit or one of its trees is damaged, and git says how.
    #[error("{source}")]
    Damaged {
        /// The lines that git writes before.
        messages: Vec<String>,
        /// The directory whose tree it is, with a trailing `/`, if only that tree cannot be read.
        directory: Option<BString>,
        /// The last of git's errors.
        source: Box<SessionError>,
    },
    /// A pathspec asks for the mode of a path that does not exist.
    #[error("unable to stat '{path}': {reason}", path = raw(path))]
    NoMode {
        /// The missing path.
        path: BString,
        /// The system's error.
        reason: String,
    },
    /// `.gitmodules` has something over which git exits.
    #[error(transparent)]
    Modules(config::Error),
    /// The operation in progress could not be determined.
    #[error(transparent)]
    UnderWay(#[from] operation::Error),
    /// A submodule has no answer; the text is git's.
    #[error("{text}")]
    Submodule {
        /// The submodule's path.
        path: BString,
        /// git's message about it.
        text: String,
        /// The error in the submodule.
        source: Box<SessionError>,
    },
    /// git does not use what is in the place of a submodule.
    #[error("{source}")]
    NoSubmodule {
        /// The submodule's path.
        path: BString,
        /// Why not.
        source: repository::Error,
    },
}

impl SessionError {
    /// Whether an object is needed that a partial clone left out, and it was not fetched.
    pub fn is_of_fetching(&self) -> bool {
        matches!(self, Self::Objects(error) if error.is_of_fetching())
    }

    /// Returns the error with the lines that git writes before it, and the `directory` whose tree is damaged, if there are any.
    pub(super) fn explained(self, messages: Vec<String>, directory: Option<BString>) -> Self {
        match messages.is_empty() && directory.is_none() {
            true => self,
            false => Self::Damaged {
                messages,
                directory,
                source: Box::new(self),
            },
        }
    }

    /// Returns the prefix that git puts before the text.
    pub fn label(&self) -> &'static str {
        match self {
            Self::BadHeadTree
            | Self::Staged(staged::Error::TooDeep { .. })
            | Self::NoSubmodule {
                source: repository::Error::LinkedSubmodule(_),
                ..
            } => "error: ",
            Self::Damaged { source, .. } => source.label(),
            _ => "fatal: ",
        }
    }

    /// Returns the whole lines that git writes to stderr before the one that begins with "fatal: ".
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Repository(error) | Self::NoSubmodule { source: error, .. } => {
                error.messages().to_vec()
            }
            Self::Config(error)
            | Self::Modules(error)
            | Self::Objects(objects::Error::Config(error)) => error.messages().to_vec(),
            Self::Branch(error) => error.messages(),
            Self::Damaged { messages, .. } => messages.clone(),
            Self::Excludes(error) => {
                let messages = error.messages.iter();
                messages
                    .map(|text| format!("warning: {text}", text = raw(&text)))
                    .collect()
            }
            Self::Index(error) => error
                .error_lines()
                .iter()
                .map(|line| format!("error: {line}"))
                .collect(),
            Self::Submodule { source, .. } => {
                let mut lines = source.messages();
                lines.push(format!("{}{source}", source.label()));
                lines
            }
            _ => Vec::new(),
        }
    }
}

impl From<revision::Error> for SessionError {
    fn from(error: revision::Error) -> Self {
        match error {
            revision::Error::Refs(error) => error.into(),
            revision::Error::Objects(error) => error.into(),
            revision::Error::Config(error) => error.into(),
            revision::Error::Index(error) => error.into(),
        }
    }
}

/// Returns what git writes when it looks at objects as `look` does.
pub(super) fn messages_of(repository: &Repository, look: impl FnOnce(&Objects)) -> Vec<String> {
    let Ok(objects) = Objects::open(repository) else {
        return Vec::new();
    };
    objects.collect_messages();
    // The shared store reports the messages about alternates and grafts.
    objects.set_reported_once([true, true]);
    look(&objects);
    objects.take_messages()
}
