//! Why a question has no answer.

use super::excludes::UnusableExcludes;
use bstr::BString;
use vigil_git::operation::under_way;
use vigil_git::{
    attribute_files, config, convert, index_file, objects, refs, renames, repository, staged,
};
use vigil_history::branch;
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
    /// The configuration.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The index.
    #[error(transparent)]
    Index(#[from] index_file::Error),
    /// An object.
    #[error(transparent)]
    Objects(#[from] objects::Error),
    /// A reference.
    #[error(transparent)]
    Refs(#[from] refs::Error),
    /// HEAD against the index.
    #[error(transparent)]
    Staged(#[from] staged::Error),
    /// Branches and their upstreams.
    #[error(transparent)]
    Branch(#[from] branch::Error),
    /// Tags.
    #[error(transparent)]
    Tags(#[from] tags::Error),
    /// Rename detection.
    #[error(transparent)]
    Renames(#[from] renames::Error),
    /// The working tree.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A file of ignore rules.
    #[error(transparent)]
    Excludes(#[from] UnusableExcludes),
    /// A pathspec.
    #[error(transparent)]
    Pathspec(#[from] pathspec::Error),
    /// Attributes.
    #[error(transparent)]
    Attributes(#[from] attribute_files::Error),
    /// Contents of the working tree cannot be made what would be recorded.
    #[error(transparent)]
    Contents(#[from] convert::Error),
    /// HEAD leads to nothing.
    #[error("bad object HEAD")]
    BadHead,
    /// The tree of HEAD is not there.
    #[error("bad tree object HEAD")]
    BadHeadTree,
    /// HEAD's commit or one of its trees is damaged, and git says how.
    #[error("{source}")]
    Damaged {
        /// What git says before, in whole lines.
        said: Vec<String>,
        /// The directory whose tree it is, with a `/` at its end, where only that one cannot be read.
        directory: Option<BString>,
        /// What git says last.
        source: Box<SessionError>,
    },
    /// A pathspec asks for the mode of what is not there.
    #[error("unable to stat '{path}': {reason}", path = raw(path))]
    NoMode {
        /// What is not there.
        path: BString,
        /// What the system says.
        reason: String,
    },
    /// What is under way.
    #[error(transparent)]
    UnderWay(#[from] under_way::Error),
    /// A submodule has no answer; the text is git's.
    #[error("{text}")]
    Submodule {
        /// Where it is.
        path: BString,
        /// What git says of it.
        text: String,
        /// Why.
        source: Box<SessionError>,
    },
}

impl SessionError {
    /// What git puts before the text.
    pub fn label(&self) -> &'static str {
        match self {
            Self::BadHeadTree
            | Self::Staged(staged::Error::TooDeep { .. })
            | Self::Repository(repository::Error::LinkedSubmodule(_)) => "error: ",
            Self::Damaged { source, .. } => source.label(),
            _ => "fatal: ",
        }
    }

    /// The lines that git writes to stderr before the one that begins with "fatal: ", whole.
    pub fn said(&self) -> Vec<String> {
        match self {
            Self::Repository(error) => error.said().to_vec(),
            Self::Config(error) | Self::Objects(objects::Error::Config(error)) => {
                error.said().to_vec()
            }
            Self::Branch(error) => error.said(),
            Self::Damaged { said, .. } => said.clone(),
            Self::Excludes(error) => {
                let said = error.said.iter();
                said.map(|text| format!("warning: {text}", text = raw(&text)))
                    .collect()
            }
            Self::Index(error) => error
                .error_lines()
                .iter()
                .map(|line| format!("error: {line}"))
                .collect(),
            Self::Submodule { source, .. } => {
                let mut lines = source.said();
                lines.push(format!("{}{source}", source.label()));
                lines
            }
            _ => Vec::new(),
        }
    }
}
