//! The repositories that were asked for, kept until they have been idle for long.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use vigil_engine::environment::Environment;
use vigil_engine::prompt::{Prompt, PromptRequest};
use vigil_engine::session::{Session, SessionError};

use super::options::Options;

/// Sessions by repository.
pub(super) struct Repositories {
    environment: Environment,
    request: PromptRequest,
    open: HashMap<PathBuf, Kept>,
}

struct Kept {
    session: Session,
    used_at: Instant,
}

impl Repositories {
    pub(super) fn new(options: &Options, environment: Environment) -> Self {
        let request = PromptRequest {
            skip_index: false,
            staged_max: options.staged_max,
            unstaged_max: options.unstaged_max,
            conflicted_max: options.conflicted_max,
            untracked_max: options.untracked_max,
            index_size_max: options.index_size_max,
            each_untracked_file: options.recurse_untracked_dirs,
            ignore_status_show_untracked_files: options.ignore_status_show_untracked_files,
            ignore_bash_show_untracked_files: options.ignore_bash_show_untracked_files,
            ignore_bash_show_dirty_state: options.ignore_bash_show_dirty_state,
            threads_max: Some(options.threads),
        };
        Self {
            environment,
            request,
            open: HashMap::new(),
        }
    }
}
