//! The name this program was called by. Usage texts show it. Under a name like `git-status`, which git looks up for a command
//! that it does not have itself, the program is that command.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use bstr::{BStr, BString, ByteSlice};

/// Set once, when the process starts.
static INVOCATION: OnceLock<Invocation> = OnceLock::new();

/// How the program was called.
struct Invocation {
    /// Run as Vigil, not in place of git.
    is_vigil: bool,
    /// The command that the program's name stands for.
    command: Option<BString>,
}

/// Records that the program was called `program`, the first word of its command line. Returns the command that this name
/// stands for, if any.
pub(crate) fn record(program: &OsStr) -> Option<&'static BStr> {
    let name = Path::new(program).file_name().unwrap_or_default();
    let invocation = INVOCATION.get_or_init(|| Invocation::of(name.as_bytes()));
    invocation.command.as_ref().map(|command| command.as_bstr())
}

impl Invocation {
    fn of(name: &[u8]) -> Self {
        match name.strip_prefix(b"git-") {
            // `git vigil status` means `vigil status`.
            None | Some(b"vigil" | b"") => Self {
                is_vigil: name != b"git",
                command: None,
            },
            Some(command) => Self {
                is_vigil: false,
                command: Some(command.into()),
            },
        }
    }

    /// Returns `synopsis`, which begins with a program and a command, with the names of this call instead. Continuation lines
    /// keep their alignment.
    fn named(&self, synopsis: &str) -> String {
        let Some((program, rest)) = synopsis.split_once(' ') else {
            return synopsis.to_owned();
        };
        let command = rest.split([' ', '\n']).next().unwrap_or_default();
        let from = format!("{program} {command}");
        let command = match &self.command {
            Some(command) => command.to_str_lossy(),
            None => command.into(),
        };
        let to = format!("{} {command}", if self.is_vigil { "vigil" } else { "git" });
        let lines = synopsis.lines().map(|line| {
            let (head, rest) = match line.strip_prefix(ALTERNATIVE) {
                Some(rest) => (ALTERNATIVE, rest),
                None => ("", line),
            };
            match rest.strip_prefix(&from) {
                Some(rest) => format!("{head}{to}{rest}"),
                None => {
                    let wider = " ".repeat(to.len().saturating_sub(from.len()));
                    let narrower = from.len().saturating_sub(to.len());
                    format!("{wider}{}", line.get(narrower..).unwrap_or(line))
                }
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// What precedes each further form of a command in a synopsis.
const ALTERNATIVE: &str = "   or: ";

/// The default in a process that did not call [`record`]: everything is as git prints it.
const DEFAULT: Invocation = Invocation {
    is_vigil: false,
    command: None,
};

/// Returns whether the program was called as Vigil, not in place of git.
pub(crate) fn is_vigil() -> bool {
    INVOCATION.get().unwrap_or(&DEFAULT).is_vigil
}

/// Returns `synopsis` with the names of this call.
pub(crate) fn named(synopsis: &str) -> String {
    match INVOCATION.get() {
        Some(invocation) => invocation.named(synopsis),
        None => synopsis.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synopsis_has_the_name_of_the_call() {
        let synopsis = "git show <a>\n   or: git show <b>\n                [<c>]";
        let named = |name: &[u8]| Invocation::of(name).named(synopsis);
        assert_eq!(named(b"git"), synopsis);
        assert_eq!(named(b"git-show"), synopsis);
        assert_eq!(
            named(b"vigil"),
            "vigil show <a>\n   or: vigil show <b>\n                  [<c>]"
        );
        assert_eq!(named(b"git-vigil"), named(b"vigil"));
        assert_eq!(named(b"another"), named(b"vigil"));
        assert_eq!(
            named(b"git-x"),
            "git x <a>\n   or: git x <b>\n             [<c>]"
        );
    }
}
