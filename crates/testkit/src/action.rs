//! The smallest changes to a sandbox, as data.
//!
//! All paths are relative to the sandbox's root. An action is either played ([`Sandbox::act`]) or printed
//! ([`Action::script`]), with the same effect. Most impossible actions do nothing, because in a random sequence of actions
//! many files will not exist.

mod script;

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::MutexGuard;

use bstr::BString;
use rustix::fs::{AtFlags, CWD, FileType, Mode, RenameFlags, Timespec, Timestamps};

use crate::sandbox::{BASE_TIME, Sandbox};

/// A git command.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct GitRun {
    /// The working directory.
    pub directory: BString,
    /// All arguments.
    pub arguments: Vec<BString>,
    /// Variables beyond those of the sandbox.
    pub variables: Vec<(BString, BString)>,
    /// Standard input.
    pub input: Option<BString>,
    /// Whether a failure is to be ignored.
    pub may_fail: bool,
}

/// How a file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Cut to this many thousandths of its length.
    Cut(u64),
    /// The lowest bit of the byte at this many thousandths of its length is flipped.
    Flip(u64),
}

/// One change to a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Writes a file (through links), creating the directories it needs. Expands [`crate::shell::ROOT`] in `data`.
    Write {
        /// The file.
        path: BString,
        /// The whole contents.
        data: BString,
    },
    /// Appends to an existing file.
    Append {
        /// The file.
        path: BString,
        /// The appended bytes.
        data: BString,
    },
    /// Overwrites an existing file and restores its mtime.
    RewriteUnseen {
        /// The file.
        path: BString,
        /// The whole contents. `None` changes every byte and keeps the length.
        data: Option<BString>,
    },
    /// Truncates or extends an existing file.
    Resize {
        /// The file.
        path: BString,
        /// The new length in bytes.
        length: u64,
    },
    /// Sets the mtime of a file or link.
    SetTime {
        /// The file.
        path: BString,
        /// The time in nanoseconds since 1970.
        nanoseconds: u64,
    },
    /// Sets the permissions of a file or directory that is not a link.
    SetMode {
        /// The file.
        path: BString,
        /// The permission bits.
        mode: u32,
    },
    /// Creates a symbolic link.
    Link {
        /// The link.
        path: BString,
        /// The link's target.
        target: BString,
    },
    /// Creates a hard link.
    HardLink {
        /// The existing name.
        from: BString,
        /// The new name.
        to: BString,
    },
    /// Creates a named pipe.
    Fifo {
        /// Its path.
        path: BString,
    },
    /// Creates a socket.
    Socket {
        /// Its path.
        path: BString,
    },
    /// Creates a directory and its parents.
    Directory {
        /// Its path.
        path: BString,
    },
    /// Creates a directory with many files, named `f0`, `f1`, and so on.
    ManyFiles {
        /// The directory.
        path: BString,
        /// The number of files.
        count: u32,
    },
    /// Removes a file or directory, with everything in it.
    Remove {
        /// Its path.
        path: BString,
    },
    /// Renames a file or directory.
    Rename {
        /// The old name.
        from: BString,
        /// The new name.
        to: BString,
    },
    /// Exchanges two names atomically.
    Exchange {
        /// One of them.
        first: BString,
        /// The other.
        second: BString,
    },
    /// Copies a file.
    Copy {
        /// The file.
        from: BString,
        /// Its copy.
        to: BString,
    },
    /// Opens a file for writing at its beginning, and keeps it open instead of the one before.
    Hold {
        /// The file.
        path: BString,
    },
    /// Writes to the file that is kept open, whatever its name is by then.
    WriteHeld {
        /// The bytes to write.
        data: BString,
    },
    /// Closes the file that is kept open.
    Release,
    /// Changes the first byte of a nonempty file through a mapping, and then unmaps it.
    WriteMapped {
        /// The file.
        path: BString,
    },
    /// Damages a file.
    Damage {
        /// The file. A name that begins with `*` means the first file in the directory with that ending.
        path: BString,
        /// The kind of damage.
        damage: Damage,
    },
    /// Runs git.
    Git(GitRun),
}

impl Action {
    /// Writes `data` to `path`.
    pub fn write(path: impl Into<BString>, data: impl Into<BString>) -> Self {
        Self::Write {
            path: path.into(),
            data: data.into(),
        }
    }

    /// Runs git in `directory`; a failure is an error.
    pub fn git(directory: &str, arguments: &[&str]) -> Self {
        Self::Git(GitRun {
            directory: directory.into(),
            arguments: arguments
                .iter()
                .map(|argument| BString::from(*argument))
                .collect(),
            ..GitRun::default()
        })
    }

    /// Runs git in `directory` and ignores failures.
    pub fn try_git(directory: &str, arguments: &[&str]) -> Self {
        match Self::git(directory, arguments) {
            Self::Git(run) => Self::Git(GitRun {
                may_fail: true,
                ..run
            }),
            other => other,
        }
    }

    /// Performs any action but [`Action::Git`].
    pub(crate) fn apply_to_files(&self, sandbox: &Sandbox) -> io::Result<()> {
        let at = |path: &BString| sandbox.path_from_root(path);
        match self {
            Self::Write { path, data } => {
                make_parents(&at(path))?;
                not_a_pipe(&at(path))?;
                fs::write(at(path), sandbox.expand(data).as_bytes())
            }
            Self::Append { path, data } => {
                regular(&at(path))?;
                fs::OpenOptions::new()
                    .append(true)
                    .open(at(path))?
                    .write_all(data)
            }
            Self::RewriteUnseen { path, data } => {
                let path = at(path);
                let before = regular(&path)?;
                match data {
                    Some(data) => fs::write(&path, data)?,
                    None => {
                        let changed: Vec<u8> =
                            fs::read(&path)?.iter().map(|byte| byte ^ 1).collect();
                        fs::write(&path, changed)?;
                    }
                }
                set_time(&path, before.mtime(), before.mtime_nsec())
            }
            Self::Resize { path, length } => {
                regular(&at(path))?;
                fs::OpenOptions::new()
                    .write(true)
                    .open(at(path))?
                    .set_len(*length)
            }
            Self::SetTime { path, nanoseconds } => {
                let (seconds, rest) = split_time(*nanoseconds);
                set_time(&at(path), seconds, rest)
            }
            Self::SetMode { path, mode } => {
                let metadata = fs::symlink_metadata(at(path))?;
                if metadata.is_symlink() {
                    return Err(io::Error::other("a link has no mode"));
                }
                fs::set_permissions(at(path), fs::Permissions::from_mode(*mode))
            }
            Self::Link { path, target } => {
                make_parents(&at(path))?;
                std::os::unix::fs::symlink(sandbox.expand(target), at(path))
            }
            Self::HardLink { from, to } => {
                make_parents(&at(to))?;
                fs::hard_link(at(from), at(to))
            }
            Self::Fifo { path } => make_node(&at(path), FileType::Fifo),
            Self::Socket { path } => make_node(&at(path), FileType::Socket),
            Self::Directory { path } => fs::create_dir_all(at(path)),
            Self::ManyFiles { path, count } => {
                fs::create_dir_all(at(path))?;
                (0..*count)
                    .try_for_each(|number| fs::write(at(path).join(format!("f{number}")), b""))
            }
            Self::Remove { path } => {
                if fs::symlink_metadata(at(path))?.is_dir() {
                    fs::remove_dir_all(at(path))
                } else {
                    fs::remove_file(at(path))
                }
            }
            Self::Rename { from, to } => {
                make_parents(&at(to))?;
                fs::rename(at(from), at(to))
            }
            Self::Exchange { first, second } => Ok(rustix::fs::renameat_with(
                CWD,
                at(first),
                CWD,
                at(second),
                RenameFlags::EXCHANGE,
            )?),
            Self::Copy { from, to } => {
                regular(&at(from))?;
                make_parents(&at(to))?;
                not_a_pipe(&at(to))?;
                fs::write(at(to), fs::read(at(from))?)
            }
            Self::Hold { path } => {
                regular(&at(path))?;
                let file = fs::OpenOptions::new().write(true).open(at(path))?;
                *held_file(sandbox)? = Some(file);
                Ok(())
            }
            Self::WriteHeld { data } => match held_file(sandbox)?.as_mut() {
                Some(file) => file.write_all(data),
                None => Ok(()),
            },
            Self::Release => {
                *held_file(sandbox)? = None;
                Ok(())
            }
            Self::WriteMapped { path } => {
                regular(&at(path))?;
                // Mapping the file here would need unsafe code.
                let done = Command::new("python3")
                    .args(["-c", script::WRITE_MAPPED])
                    .arg(at(path))
                    .stderr(Stdio::null())
                    .status()?;
                match done.success() {
                    true => Ok(()),
                    false => Err(io::Error::other("it was not mapped")),
                }
            }
            Self::Damage { path, damage } => {
                let path = first_match(at(path))?;
                let mut bytes = fs::read(&path)?;
                let length = bytes.len() as u64;
                let place =
                    |thousandths: u64| usize::try_from(length * thousandths / 1000).unwrap_or(0);
                match damage {
                    Damage::Cut(thousandths) => bytes.truncate(place(*thousandths)),
                    Damage::Flip(thousandths) => {
                        if let Some(byte) = bytes.get_mut(place(*thousandths)) {
                            *byte ^= 1;
                        }
                    }
                }
                // Objects are read-only, so they are replaced.
                fs::remove_file(&path)?;
                fs::write(&path, bytes)
            }
            Self::Git(_) => Ok(()),
        }
    }
}

/// The file that is kept open.
fn held_file(sandbox: &Sandbox) -> io::Result<MutexGuard<'_, Option<fs::File>>> {
    let held = sandbox.held.lock();
    held.map_err(|_| io::Error::other("somebody failed who had it"))
}

/// The time `ticks` hundredths of a second after [`BASE_TIME`], in nanoseconds since 1970.
pub fn tick_time(ticks: u64) -> u64 {
    BASE_TIME * 1_000_000_000 + ticks * 10_000_000
}

pub(crate) fn split_time(nanoseconds: u64) -> (i64, i64) {
    let part = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    (
        part(nanoseconds / 1_000_000_000),
        part(nanoseconds % 1_000_000_000),
    )
}

fn set_time(path: &Path, seconds: i64, nanoseconds: i64) -> io::Result<()> {
    let time = Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    Ok(rustix::fs::utimensat(
        CWD,
        path,
        &times,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

fn make_node(path: &Path, kind: FileType) -> io::Result<()> {
    make_parents(path)?;
    Ok(rustix::fs::mknodat(
        CWD,
        path,
        kind,
        Mode::from_raw_mode(0o644),
        0,
    )?)
}

fn make_parents(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// The path itself, or the first file in byte order that matches a name beginning with `*`.
fn first_match(path: PathBuf) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let (Some(suffix), Some(parent)) = (name.strip_prefix(b"*"), path.parent()) else {
        return Ok(path);
    };
    let names = fs::read_dir(parent)?.flatten().map(|entry| entry.path());
    let matching = names.filter(|path| path.as_os_str().as_bytes().ends_with(suffix));
    matching
        .min()
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

/// Returns an error for a named pipe: without a reader, opening it would hang.
fn not_a_pipe(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.file_type().is_fifo() => Err(io::Error::other("a pipe")),
        _ => Ok(()),
    }
}

/// Returns the file's metadata if it is a regular file: opening a named pipe would hang.
fn regular(path: &Path) -> io::Result<fs::Metadata> {
    let metadata = fs::metadata(path)?;
    if metadata.is_file() {
        Ok(metadata)
    } else {
        Err(io::Error::other("not a regular file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;
    use std::process::Command;

    /// Every path below `root`, with its mode and its contents or link target.
    fn listing(root: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        let mut open = vec![root.to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
                let metadata = entry.metadata().unwrap();
                let path = entry.path();
                let content = match metadata.file_type() {
                    kind if kind.is_dir() => {
                        open.push(path.clone());
                        Vec::new()
                    }
                    kind if kind.is_symlink() => fs::read_link(&path)
                        .unwrap()
                        .as_os_str()
                        .as_bytes()
                        .to_vec(),
                    kind if kind.is_file() => fs::read(&path).unwrap(),
                    _ => Vec::new(),
                };
                let name = shell::escaped(path.strip_prefix(root).unwrap().as_os_str().as_bytes());
                lines.push(format!(
                    "{name} {:o} {}",
                    metadata.mode(),
                    shell::escaped(&content)
                ));
            }
        }
        lines.retain(|line| !line.starts_with("clock"));
        lines.sort();
        lines
    }

    #[test]
    fn a_script_does_what_playing_does() {
        let path = |name: &[u8]| BString::from([b"work/", name].concat());
        let actions = [
            Action::write(path(b"a b/c'\xff"), "1\n\0%s{ROOT}".replace("{ROOT}", "")),
            Action::write(path(b"-x\n"), "same size"),
            Action::SetTime {
                path: path(b"-x\n"),
                nanoseconds: tick_time(7),
            },
            Action::RewriteUnseen {
                path: path(b"-x\n"),
                data: None,
            },
            Action::Append {
                path: path(b"-x\n"),
                data: "more".into(),
            },
            Action::Append {
                path: path(b"missing"),
                data: "more".into(),
            },
            Action::Resize {
                path: path(b"a b/c'\xff"),
                length: 2,
            },
            Action::SetMode {
                path: path(b"-x\n"),
                mode: 0o755,
            },
            Action::Link {
                path: path(b"link"),
                target: "a b".into(),
            },
            Action::HardLink {
                from: path(b"-x\n"),
                to: path(b"hard"),
            },
            Action::Fifo {
                path: path(b"pipe"),
            },
            Action::write(path(b"pipe"), "nobody reads this"),
            Action::Socket {
                path: path(b"socket"),
            },
            Action::Hold {
                path: path(b"hard"),
            },
            Action::WriteHeld {
                data: "held".into(),
            },
            Action::Rename {
                from: path(b"hard"),
                to: path(b"held"),
            },
            Action::WriteHeld {
                data: "'\0\n".into(),
            },
            Action::Release,
            Action::WriteHeld { data: "no".into() },
            Action::WriteMapped {
                path: path(b"held"),
            },
            Action::WriteMapped {
                path: path(b"missing"),
            },
            Action::write(path(b"x/here"), "x"),
            Action::write(path(b"y z"), "y"),
            Action::Exchange {
                first: path(b"x"),
                second: path(b"y z"),
            },
            Action::Exchange {
                first: path(b"x"),
                second: path(b"missing"),
            },
            Action::Directory {
                path: path(b"d/e/f"),
            },
            Action::ManyFiles {
                path: path(b"many"),
                count: 3,
            },
            Action::Rename {
                from: path(b"d"),
                to: path(b"g/h"),
            },
            Action::Copy {
                from: path(b"-x\n"),
                to: path(b"copy"),
            },
            Action::Damage {
                path: path(b"copy"),
                damage: Damage::Flip(500),
            },
            Action::Damage {
                path: path(b"hard"),
                damage: Damage::Cut(500),
            },
            Action::Remove {
                path: path(b"many/f1"),
            },
        ];
        let played = Sandbox::in_folder(&std::env::temp_dir(), Path::new("git")).unwrap();
        let mut script = shell::PRELUDE.as_bytes().to_vec();
        for action in &actions {
            let _ = played.act(action);
            script.extend_from_slice(&action.script());
            script.push(b'\n');
        }
        let scripted = Sandbox::in_folder(&std::env::temp_dir(), Path::new("git")).unwrap();
        let script = std::ffi::OsStr::from_bytes(&script);
        let mut bash = Command::new("bash");
        bash.arg("-c")
            .arg(script)
            .env("ROOT", scripted.root())
            .current_dir(scripted.root());
        assert!(bash.output().unwrap().status.success());
        assert_eq!(listing(&played.top()), listing(&scripted.top()));
        assert_eq!(listing(&played.top()).len(), 18);
    }
}
