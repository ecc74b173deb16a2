//! The options of the long format, and what the installed git contributes to it.

use bstr::BString;

use super::columns::Columns;

/// How the long format is printed, beyond what all formats share.
#[derive(Clone, Debug, Default)]
pub(crate) struct LongPresentation {
    /// Hints on what to do (`advice.statusHints`).
    pub hints: bool,
    /// Advice if finding untracked files is slow (`advice.statusUoption`).
    pub advises_on_untracked: bool,
    /// Advice if counting commits is slow (`advice.statusAheadBehindWarning`).
    pub advises_on_counting: bool,
    /// The prefix of each line (`status.displayCommentPrefix`).
    pub comment: Option<BString>,
    /// The columns in which untracked and ignored files are listed, if any.
    pub columns: Option<Columns>,
    /// Untracked files were looked for.
    pub shows_untracked: bool,
    /// git would use a file system monitor to find untracked files (`core.fsmonitor`).
    pub has_monitor: bool,
    /// Pretends that the search of the working tree took this many milliseconds, for git's tests.
    pub pretended_search_ms: Option<u64>,
    /// Colours are used, even if only as the reset after each part.
    pub is_colored: bool,
    /// What the installed git contributes.
    pub additions: Additions,
}

/// What the installed git contributes to the output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Additions {
    /// The commits of submodules, both staged and not staged (`status.submoduleSummary`).
    pub submodules: Vec<SubmoduleCommits>,
    /// The patches of `--verbose`.
    pub patches: Option<Patches>,
}

impl Additions {
    /// The exit code of a status with these additions.
    pub(crate) fn code(&self) -> u8 {
        self.patches.as_ref().map_or(0, |patches| patches.code)
    }
}

/// The commits of submodules that one side has and the other lacks.
#[derive(Clone, Debug)]
pub(crate) struct SubmoduleCommits {
    /// The sides are HEAD and the index; otherwise they are the index and the working tree.
    pub is_staged: bool,
    /// In the format of `git submodule summary`.
    pub text: Vec<u8>,
}

/// Patches in the format of `git diff`.
#[derive(Clone, Debug)]
pub(crate) struct Patches {
    /// A header precedes the first.
    pub has_header: bool,
    /// From HEAD to the index.
    pub staged: Vec<u8>,
    /// From the index to the working tree, if asked for (`-vv`).
    pub unstaged: Option<Vec<u8>>,
    /// git's exit code. If git failed, so does the status.
    pub code: u8,
}
