//! The system's errors and their texts.

use std::io;

use rustix::io::Errno;

/// Why the calling thread's last call through the C library failed: its `errno`.
pub(crate) fn last() -> Errno {
    of(&io::Error::last_os_error())
}

/// The system's error behind one of the standard library; `EIO` if there is none.
pub fn of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The text of `strerror(3)`, which C programs print after a colon.
pub fn text(errno: Errno) -> String {
    text_of(&errno.into())
}

/// Does the same for an error of the standard library, which appends a number. An error that is not the system's
/// keeps its own text.
pub fn text_of(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// Whether a path that could not be opened or read for this reason fails again as long as it and the directories that it leads
/// through stay as they are. Others may pass: too many open files, a network that does not answer.
pub fn is_lasting(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT
            | Errno::NOTDIR
            | Errno::ISDIR
            | Errno::NAMETOOLONG
            | Errno::LOOP
            | Errno::ACCESS
            | Errno::PERM
    )
}

/// Whether a call failed only because this process, or the whole system, has too many files open or no memory. Another process
/// may succeed.
pub fn is_shortage(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS
    )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn errors_are_told_in_the_words_of_other_programs() {
        for errno in [
            Errno::NOENT,
            Errno::IO,
            Errno::MFILE,
            Errno::NAMETOOLONG,
            Errno::LOOP,
            Errno::DQUOT,
            Errno::STALE,
        ] {
            let number = errno.raw_os_error().to_string();
            let mut perl = Command::new("perl");
            perl.args(["-e", "$! = $ARGV[0]; print $!", &number])
                .env("LC_ALL", "C");
            let told = perl.output().unwrap().stdout;
            assert_eq!(text(errno), String::from_utf8(told).unwrap());
        }
    }

    #[test]
    fn errors_are_named_without_a_number() {
        assert_eq!(text(Errno::NOENT), "No such file or directory");
        assert_eq!(text_of(&Errno::ACCESS.into()), "Permission denied");
        assert_eq!(text_of(&io::Error::other("odd")), "odd");
    }
}
