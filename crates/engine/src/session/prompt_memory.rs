//! What a session remembers for prompts.

use bstr::BString;
use gix_hash::ObjectId;
use vigil_stamp::Observation;

use crate::prompt::{Prompt, PromptRequest};

/// What a session remembers for prompts only.
#[derive(Default)]
pub(super) struct PromptMemory {
    /// HEAD's commit, with the encoding and summary of its message.
    pub(super) commit: Option<(ObjectId, BString, BString)>,
    /// Changed tracked paths, as many as were enough; empty if all were asked for.
    pub(super) unstaged: Vec<BString>,
    /// Untracked paths, likewise.
    pub(super) untracked: Vec<BString>,
    /// The `.git` folder when no operation was in progress: any operation adds a name to it.
    pub(super) idle_git_dir: Option<Observation>,
    /// The last answer, valid as long as nothing in the repository's folders changes.
    pub(super) answer: Option<LastAnswer>,
}

/// An answer as it was before looking at the working tree.
pub(super) struct LastAnswer {
    pub(super) request: PromptRequest,
    /// What it asks about the working tree.
    pub(super) of_work_tree: PromptRequest,
    pub(super) prompt: Prompt,
}
