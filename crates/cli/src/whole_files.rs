//! Answers that rest on mapped files, which anybody may cut off meanwhile.

use vigil_git::environment::Environment;

use crate::reply::Reply;

/// How often something is done since a mapped file was cut that may have been read.
pub(crate) const ANEW_MAX: usize = 3;

/// What `answer` makes of mapped files that are whole when it is done. It is asked anew, from the same folder, where one was
/// cut meanwhile: then zeros may have been read for what is gone.
///
/// # Errors
/// The reply where that happens again and again.
pub(crate) fn of_whole_files<T>(
    environment: &Environment,
    answer: impl Fn() -> T,
) -> Result<T, Reply> {
    for _ in 0..ANEW_MAX {
        let cuts = vigil_linux::map::cuts();
        let answered = answer();
        if vigil_linux::map::cuts() == cuts {
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

/// What is said where files are cut while they are read.
pub(crate) fn cut_off() -> Reply {
    Reply::fatal("a file was cut off while it was read")
}
