//! Programs on a user's `PATH`, and the versions that they report.
//!
//! Programs that a repository may have put there are not run: neither those found by a relative name, nor those in a directory
//! that the caller names.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bstr::{BStr, BString, ByteSlice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process_group};
use vigil_linux::stat::stat_path;
use vigil_stamp::paths::path_of;

use crate::environment::Environment;

/// One program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its path, with symbolic links resolved.
    pub path: PathBuf,
    /// The first line of what it says about its version.
    pub version: Result<BString, VersionUnknown>,
}

/// Why a version is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionUnknown {
    /// The program is where a repository's owner may have put it.
    #[error("lies in the working copy, and is not run")]
    NotRun,
    /// The program cannot be run, or says nothing.
    #[error("does not tell its version")]
    NoOutput,
    /// The program took too long.
    #[error("does not tell its version in time")]
    TimedOut,
}

/// The most directories of a `PATH`, and the most programs of one name, that are looked at.
const FOLDERS_MAX: usize = 256;
const PROGRAMS_MAX: usize = 8;

/// The most bytes that are read of what a program says.
const OUTPUT_LEN_MAX: usize = 4096;

/// Returns the programs called `name` on the `PATH` of `environment`, in its order. Each is asked for its version with
/// `arguments`, for at most `timeout`; those in one of the `untrusted` directories are not run.
pub fn on_path(
    environment: &Environment,
    name: &str,
    arguments: &[&str],
    untrusted: &[&Path],
    timeout: Duration,
) -> Vec<Installed> {
    let mut found: Vec<Installed> = Vec::new();
    let folders = environment.get("PATH").unwrap_or_default();
    for (place, path) in programs(folders, name) {
        if found.len() >= PROGRAMS_MAX {
            break;
        }
        if found.iter().any(|other| other.path == path) {
            continue;
        }
        let version = match is_in(&place, &path, untrusted) {
            true => Err(VersionUnknown::NotRun),
            false => version(environment, &path, name, arguments, timeout),
        };
        found.push(Installed { path, version });
    }
    found
}

/// Returns the first program called `name` on a `PATH` of these `folders` that is in none of the `untrusted` directories.
pub fn first_on_path(folders: &BStr, name: &str, untrusted: &[&Path]) -> Option<PathBuf> {
    let mut all = programs(folders, name);
    let (place, _) = all.find(|(place, path)| !is_in(place, path, untrusted))?;
    Some(place)
}

/// Returns the places of the programs called `name` on a `PATH` of these `folders`, in its order, each also with symbolic links
/// resolved.
pub fn programs<'f>(
    folders: &'f BStr,
    name: &'f str,
) -> impl Iterator<Item = (PathBuf, PathBuf)> + 'f {
    let folders = folders.split_str(":").take(FOLDERS_MAX);
    let places = folders.filter(|folder| folder.starts_with(b"/"));
    places.filter_map(move |folder| {
        let place = path_of(folder).join(name);
        let is_program = access(&place, Access::EXEC_OK).is_ok()
            && stat_path(&place).is_ok_and(|stat| stat.is_file());
        let path = is_program.then(|| place.canonicalize().ok()).flatten()?;
        Some((place, path))
    })
}

/// Returns the first two numbers of git's version in what `git version` printed. Anything may follow them.
pub fn git_version(told: &[u8]) -> Option<(u32, u32)> {
    let mut numbers = told.strip_prefix(b"git version ")?.split_str(".");
    let mut next = || -> Option<u32> {
        let number = numbers.next()?;
        let end = number.find_not_byteset(b"0123456789");
        let digits = number.get(..end.unwrap_or(number.len()))?;
        digits.to_str().ok()?.parse().ok()
    };
    Some((next()?, next()?))
}

/// Whether a program, found at `place` and by links at `path`, is in one of the `folders`.
fn is_in(place: &Path, path: &Path, folders: &[&Path]) -> bool {
    let mut folders = folders.iter();
    folders.any(|folder| path.starts_with(folder) || place.starts_with(folder))
}

fn version(
    environment: &Environment,
    path: &Path,
    name: &str,
    arguments: &[&str],
    timeout: Duration,
) -> Result<BString, VersionUnknown> {
    let end = Instant::now()
        .checked_add(timeout)
        .ok_or(VersionUnknown::TimedOut)?;
    let mut command = Command::new(path);
    command
        .arg0(name)
        .args(arguments)
        .env_clear()
        // Away from any repository, so that a program that reads configuration reads none of a repository's.
        .current_dir("/")
        .env("HGRCPATH", "")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    for name in ["HOME", "PATH"] {
        if let Some(value) = environment.get(name) {
            command.env(name, OsStr::new(path_of(value)));
        }
    }
    let mut child = command.spawn().map_err(|_| VersionUnknown::NoOutput)?;
    let output = output(&mut child, end);
    // Ends the processes that it started as well.
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    let output = output?;
    let line = output.lines().next().unwrap_or_default().trim();
    match line.is_empty() {
        true => Err(VersionUnknown::NoOutput),
        false => Ok(BStr::new(line).to_owned()),
    }
}

/// Reads what `child` writes until its first line is complete, before `end`.
fn output(child: &mut Child, end: Instant) -> Result<Vec<u8>, VersionUnknown> {
    let mut pipe = child.stdout.take().ok_or(VersionUnknown::NoOutput)?;
    let mut output = Vec::new();
    let mut buffer = [0; 512];
    while !output.contains(&b'\n') && output.len() < OUTPUT_LEN_MAX {
        let rest = end.saturating_duration_since(Instant::now());
        let rest = Timespec::try_from(rest).map_err(|_| VersionUnknown::TimedOut)?;
        match poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&rest)) {
            Ok(0) => return Err(VersionUnknown::TimedOut),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Err(VersionUnknown::NoOutput),
        }
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(len) => output.extend_from_slice(buffer.get(..len).unwrap_or_default()),
            Err(_) => return Err(VersionUnknown::NoOutput),
        }
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn program(path: &Path, script: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn environment(folder: &Path, names: &[&str]) -> Environment {
        let folders = names.iter().map(|name| match name.starts_with('.') {
            true => (*name).to_owned(),
            false => folder.join(name).to_str().unwrap().to_owned(),
        });
        let path = folders.collect::<Vec<_>>().join(":");
        Environment::new([("PATH".into(), path.into())], folder)
    }

    #[test]
    fn versions_of_git_are_read_whatever_follows() {
        for (told, expected) in [
            (&b"git version 2.39.5"[..], Some((2, 39))),
            (b"git version 2.55.0\n", Some((2, 55))),
            (b"git version 1.9-rc0", Some((1, 9))),
            (
                b"git version 2.55.0.618.g1a3e64c6c4\nsize_t: 8\n",
                Some((2, 55)),
            ),
            (b"git version 12345", None),
            (b"git version x.y", None),
            (b"git version", None),
            (b"2.55.0", None),
            (b"", None),
        ] {
            assert_eq!(git_version(told), expected);
        }
    }

    #[test]
    fn each_program_is_asked_once_and_from_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let folder = &folder.path().canonicalize().unwrap();
        program(&folder.join("one/git"), "echo $1; pwd");
        program(&folder.join("two/git"), "pwd");
        fs::create_dir_all(folder.join("three")).unwrap();
        symlink(folder.join("one/git"), folder.join("three/git")).unwrap();
        fs::create_dir_all(folder.join("four/git")).unwrap();
        program(&folder.join("five/git"), "exit 1");
        let names = ["one", "none", "three", "two", "four", "five"];
        let environment = environment(folder, &names);
        let found = on_path(&environment, "git", &["--version"], &[], LONG);
        let expected = [
            ("one", Ok("--version".into())),
            ("two", Ok("/".into())),
            ("five", Err(VersionUnknown::NoOutput)),
        ];
        let expected = expected.map(|(name, version)| Installed {
            path: folder.join(name).join("git"),
            version,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn what_a_repository_may_have_put_there_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let folder = &folder.path().canonicalize().unwrap();
        let trace = folder.join("trace");
        let script = format!("echo run > {}", trace.display());
        program(&folder.join("work/bin/git"), &script);
        fs::create_dir_all(folder.join("links")).unwrap();
        symlink(folder.join("work/bin/git"), folder.join("links/git")).unwrap();
        let environment = environment(folder, &[".", "./work/bin", "links"]);
        let work = folder.join("work");
        let found = on_path(&environment, "git", &[], &[&work], LONG);
        let not_run = Installed {
            path: work.join("bin/git"),
            version: Err(VersionUnknown::NotRun),
        };
        assert_eq!(found, [not_run]);
        assert!(!trace.exists());
    }

    #[test]
    fn one_that_hangs_or_never_ends_its_line_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        program(&folder.path().join("slow/git"), "sleep 1000 & wait");
        program(&folder.path().join("loud/git"), "tr '\\0' x < /dev/zero");
        let slow = environment_with_tools(environment(folder.path(), &["slow"]));
        let found = on_path(&slow, "git", &[], &[], Duration::ZERO);
        assert_eq!(found[0].version, Err(VersionUnknown::TimedOut));
        let loud = environment(folder.path(), &["loud"]);
        let loud = environment_with_tools(loud);
        let found = on_path(&loud, "git", &[], &[], LONG);
        let version = found[0].version.as_ref().unwrap();
        assert!(version.len() < 2 * OUTPUT_LEN_MAX, "{}", version.len());
    }

    /// Adds the system's directories to the `PATH` of `environment`.
    fn environment_with_tools(mut environment: Environment) -> Environment {
        let path = environment.get("PATH").unwrap().to_string();
        environment.set("PATH", format!("{path}:/usr/bin:/bin"));
        environment
    }
}
