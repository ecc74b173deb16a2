//! What prompts remember.

use bstr::BString;
use gix_hash::ObjectId;
use vigil_stamp::Observation;

use crate::prompt::{Prompt, PromptRequest};

/// What prompts remember beside what the session does.
#[derive(Default)]
pub(super) struct PromptMemory {
    /// The commit of HEAD, with the encoding and summary of its message.
    pub(super) commit: Option<(ObjectId, BString, BString)>,
    /// Changed tracked paths, as many as were enough; none where all were asked for.
    pub(super) unstaged: Vec<BString>,
    /// Untracked paths, likewise.
    pub(super) untracked: Vec<BString>,
    /// The `.git` folder when nothing was under way: each thing that may be adds a name to it.
    pub(super) idle_git_dir: Option<Observation>,
    /// The last answer, for as long as the repository's folders are still.
    pub(super) answer: Option<Answer>,
}

/// An answer as it was before the working tree was looked at.
pub(super) struct Answer {
    pub(super) request: PromptRequest,
    /// What of it is asked of the working tree.
    pub(super) of_work_tree: PromptRequest,
    pub(super) prompt: Prompt,
}
