//! The system's errors, and what it calls them.

use std::io;

use rustix::io::Errno;

/// Why the calling thread's last call through the C library failed: its `errno`.
pub(crate) fn last() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// The text of `strerror(3)` in the GNU C library: what C programs print after a colon.
pub fn text(errno: Errno) -> String {
    text_of(&errno.into())
}

/// The same for an error of the standard library, which puts a number behind it. One that is not the system's has its
/// own text.
pub fn text_of(error: &io::Error) -> String {
    let errno = Errno::from_io_error(error);
    let told = TOLD_OTHERWISE.iter().find(|(told, _)| Some(*told) == errno);
    if let Some((_, text)) = told {
        return (*text).to_owned();
    }
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// The errors that files and processes meet with which musl has other words for.
const TOLD_OTHERWISE: [(Errno, &str); 28] = [
    (Errno::IO, "Input/output error"),
    (Errno::CHILD, "No child processes"),
    (Errno::NOMEM, "Cannot allocate memory"),
    (Errno::BUSY, "Device or resource busy"),
    (Errno::XDEV, "Invalid cross-device link"),
    (Errno::MFILE, "Too many open files"),
    (Errno::NOTTY, "Inappropriate ioctl for device"),
    (Errno::SPIPE, "Illegal seek"),
    (Errno::DOM, "Numerical argument out of domain"),
    (Errno::RANGE, "Numerical result out of range"),
    (Errno::DEADLK, "Resource deadlock avoided"),
    (Errno::NAMETOOLONG, "File name too long"),
    (Errno::LOOP, "Too many levels of symbolic links"),
    (Errno::TIME, "Timer expired"),
    (Errno::REMOTE, "Object is remote"),
    (Errno::OVERFLOW, "Value too large for defined data type"),
    (Errno::LIBBAD, "Accessing a corrupted shared library"),
    (
        Errno::ILSEQ,
        "Invalid or incomplete multibyte or wide character",
    ),
    (Errno::USERS, "Too many users"),
    (Errno::NOTSOCK, "Socket operation on non-socket"),
    (Errno::MSGSIZE, "Message too long"),
    (Errno::OPNOTSUPP, "Operation not supported"),
    (Errno::ADDRINUSE, "Address already in use"),
    (Errno::NOTCONN, "Transport endpoint is not connected"),
    (Errno::TIMEDOUT, "Connection timed out"),
    (Errno::UCLEAN, "Structure needs cleaning"),
    (Errno::DQUOT, "Disk quota exceeded"),
    (Errno::HWPOISON, "Memory page has hardware error"),
];

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn errors_are_told_in_the_words_of_other_programs() {
        let errors = TOLD_OTHERWISE.iter().map(|(errno, _)| *errno);
        for errno in errors.chain([Errno::NOENT, Errno::NOTDIR, Errno::ISDIR, Errno::STALE]) {
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
