//! By which name this program was called: its usage texts have it, and by a name like `git-status`, which git finds for a
//! command of its own, it is that command.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use bstr::{BStr, BString, ByteSlice};

/// The name, which a process has once, from its start.
static CALLED: OnceLock<Called> = OnceLock::new();

/// How the program was called.
struct Called {
    /// As Vigil, and not in git's stead.
    is_vigil: bool,
    /// The command that its name says.
    command: Option<BString>,
}

/// Notes that the program was called `program`, the first word of its command line. Returns the command that the name
/// says, if it says one.
pub(crate) fn by(program: &OsStr) -> Option<&'static BStr> {
    let name = Path::new(program).file_name().unwrap_or_default();
    let called = CALLED.get_or_init(|| Called::by(name.as_bytes()));
    called.command.as_ref().map(|command| command.as_bstr())
}

impl Called {
    fn by(name: &[u8]) -> Self {
        match name.strip_prefix(b"git-") {
            // `git vigil status` is as good as `vigil status`.
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

    /// `synopsis`, which begins with a program and a command, with the names of this call in their place, and lines that
    /// go on as far to the right.
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
            let (head, rest) = match line.strip_prefix(OTHERWISE) {
                Some(rest) => (OTHERWISE, rest),
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

/// What stands before another way to call a command.
const OTHERWISE: &str = "   or: ";

/// In a process that was not told, everything is as git says it.
const UNTOLD: Called = Called {
    is_vigil: false,
    command: None,
};

/// Whether the program was called as Vigil, and not in git's stead.
pub(crate) fn is_vigil() -> bool {
    CALLED.get().unwrap_or(&UNTOLD).is_vigil
}

/// `synopsis` with the names of this call.
pub(crate) fn named(synopsis: &str) -> String {
    match CALLED.get() {
        Some(called) => called.named(synopsis),
        None => synopsis.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synopsis_has_the_name_of_the_call() {
        let synopsis = "git show <a>\n   or: git show <b>\n                [<c>]";
        let named = |name: &[u8]| Called::by(name).named(synopsis);
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
