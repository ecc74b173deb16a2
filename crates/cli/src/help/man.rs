//! Use of man(1), if it is installed and finds our pages.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bstr::ByteSlice;
use vigil_git::environment::Environment;
use vigil_stamp::paths::path_of;

/// Replaces this process by man(1) if that finds the page `name`: the one installed beside this program, which has its version,
/// or else one in man's own path. Returns if there is none.
pub(super) fn open(name: &str, environment: &Environment) {
    let beside = beside_program(name).map(PathBuf::into_os_string);
    let pages = beside.into_iter().chain([OsString::from(name)]);
    for page in pages {
        if finds(&page, environment) {
            // Returns only if the program cannot be run.
            let _ = command(environment).arg(&page).exec();
        }
    }
}

/// The page in the `share` next to the `bin` that holds this program.
fn beside_program(name: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let prefix = program.parent()?.parent()?;
    let page = prefix.join("share/man/man1").join(format!("{name}.1"));
    page.is_file().then_some(page)
}

/// Returns whether man(1) exists and finds `page`. Some systems have a placeholder of that name, which only says that there are
/// no pages.
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
