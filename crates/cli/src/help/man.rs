//! man(1), where it is installed and finds our pages.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bstr::ByteSlice;
use vigil_git::environment::Environment;
use vigil_stamp::paths::path_of;

/// Has man(1) take the place of this process, if it finds the page `name`: the one beside this program, which is of this
/// version, or else one in its own path. Comes back if it does not.
pub(super) fn open(name: &str, environment: &Environment) {
    let beside = beside_program(name).map(PathBuf::into_os_string);
    let pages = beside.into_iter().chain([OsString::from(name)]);
    for page in pages {
        if finds(&page, environment) {
            // It comes back only where it cannot be run.
            let _ = command(environment).arg(&page).exec();
        }
    }
}

/// The page in the `share` beside the `bin` in which this program is.
fn beside_program(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let prefix = program.parent()?.parent()?;
    let page = prefix.join("share/man/man1").join(format!("{name}.1"));
    page.is_file().then_some(page)
}

/// Whether there is a man(1) that finds `page`: some systems have a program of that name which only says that there are no
/// pages.
fn finds(page: &OsStr, environment: &Environment) -> bool {
    let mut command = command(environment);
    let found = command
        .arg("-w")
        .arg(page)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(found) = found else {
        return false;
    };
    let first = found.stdout.lines().next().unwrap_or_default();
    found.status.success() && path_of(first.as_bstr()).is_absolute() && is_file(first)
}

fn is_file(path: &[u8]) -> bool {
    Path::new(OsStr::from_bytes(path)).is_file()
}

fn command(environment: &Environment) -> Command {
    let mut command = Command::new("man");
    command.env_clear();
    for (name, value) in environment.variables() {
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
    }
    command
}
