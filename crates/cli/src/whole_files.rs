//! Answers made from mapped files, which anybody may truncate meanwhile.

use vigil_git::environment::Environment;

use crate::reply::Reply;

/// How often an answer is attempted if mapped files keep being cut.
pub(crate) const ATTEMPTS_MAX: usize = 3;

/// Calls `answer` until no mapped file was cut during the call, each time from the same directory. If one was cut, zeros may
/// have been read instead of its contents.
///
/// # Errors
/// The reply if files are cut during every attempt.
pub(crate) fn retry_if_cut<T>(
    environment: &Environment,
    answer: impl Fn() -> T,
) -> Result<T, Reply> {
    for _ in 0..ATTEMPTS_MAX {
        let cuts = vigil_linux::map::truncation_count();
        let answered = answer();
        if vigil_linux::map::truncation_count() == cuts {
            return Ok(answered);
        }
        drop(answered);
        let folder = environment.working_directory();
        if !folder.as_os_str().is_empty() && std::env::set_current_dir(folder).is_err() {
            break;
        }
    }
    Err(cut_off())
}

/// The error about files that were cut while being read.
pub(crate) fn cut_off() -> Reply {
    Reply::fatal("a file was cut off while it was read")
}
