//! `vigil fsmonitor install` and `uninstall`: configure git to ask Vigil, and restore the former configuration.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{Access, access};
use vigil_git::environment::Environment;
use vigil_linux::errno;
use vigil_linux::stat::stat_path;
use vigil_model::raw_text::{raw, raw_path};
use vigil_stamp::paths::path_of;

use super::config::{self, Scope};
use super::gits::{self, Git};
use super::state::{self, Changed, remove_if_there};
use super::{HOOK, is_our_hook, socket};
use crate::reply::{Reply, bytes, escaped_line};

/// How git asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mechanism {
    /// git runs a program.
    Hook,
    /// git connects to the socket where its builtin monitor would be.
    Socket,
}

/// The parsed command line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InstallOptions {
    pub(super) is_global: bool,
    pub(super) mechanism: Option<Mechanism>,
}

/// Where values are set, and the folder that keeps the former values.
struct ConfigTarget {
    scope: Scope,
    folder: PathBuf,
}

impl ConfigTarget {
    fn of(environment: &Environment, is_global: bool) -> Result<Self, Reply> {
        if is_global {
            let absolute = |name: &str| {
                let path = path_of(environment.get(name)?).to_owned();
                path.is_absolute().then_some(path)
            };
            let data = absolute("XDG_DATA_HOME")
                .or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
            let data = data.ok_or_else(|| Reply::error("neither XDG_DATA_HOME nor HOME is set"))?;
            return Ok(Self {
                scope: Scope::Global,
                folder: data.join("vigil"),
            });
        }
        let repository = super::repository(environment)?;
        // All working trees share this configuration.
        let folder = repository.common_dir.join("vigil");
        if folder.is_symlink() {
            // It may have come with the repository, and lead anywhere.
            return Err(Reply::error(&format!(
                "{} is a symbolic link, so nothing is kept there",
                raw_path(&folder)
            )));
        }
        Ok(Self {
            scope: Scope::Local,
            folder,
        })
    }
}

/// Configures git to ask Vigil, and reports the changes.
pub(super) fn install(environment: &Environment, options: InstallOptions) -> Result<Reply, Reply> {
    let target = ConfigTarget::of(environment, options.is_global)?;
    let gits = gits::all(environment);
    let mechanism = mechanism(options.mechanism, &gits)?;
    if (mechanism, target.scope) == (Mechanism::Hook, Scope::Local) {
        refuse_if_shared(&target.folder)?;
    }
    if let Some(changed) = installed(&target)? {
        // Restore the original values first, so that they are the ones that are kept.
        restore(&target, &changed)?;
    }
    let configured = match configure(&target, mechanism) {
        Ok(configured) => configured,
        Err(refused) => {
            undo(&target);
            return Err(refused);
        }
    };
    let mut said: Vec<u8> = gits.iter().flat_map(|git| line(git, mechanism)).collect();
    said.extend(configured);
    if (mechanism, target.scope) == (Mechanism::Socket, Scope::Local) {
        let started = socket::start(environment);
        said.extend(started.stdout);
        return Ok(Reply {
            stdout: said,
            ..started
        });
    }
    Ok(Reply::printed(said, 0))
}

/// Keeps the former values and sets those that `mechanism` needs. Returns lines that say so.
fn configure(target: &ConfigTarget, mechanism: Mechanism) -> Result<Vec<u8>, Reply> {
    let unsaved = |error: io::Error| failed("save", &target.folder, &error);
    let program = this_program()?;
    let mut builder = DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(&target.folder)
        .map_err(unsaved)?;
    let mut settings = vec![("core.untrackedCache", BString::from("true"))];
    match mechanism {
        Mechanism::Hook => {
            let hook = target.folder.join(HOOK);
            link(&hook, &program).map_err(unsaved)?;
            settings.push(("core.fsmonitor", as_command(&hook)));
        }
        Mechanism::Socket => {
            settings.push(("core.fsmonitor", "true".into()));
            settings.push(("vigil.fsmonitor", "true".into()));
        }
    }
    let mut changed = Vec::new();
    for (key, now) in &settings {
        let before = config::values(target.scope, key).map_err(|said| of_git(&said))?;
        changed.push(Changed {
            key: (*key).into(),
            now: now.clone(),
            before,
        });
    }
    // Keep the former values before setting anything, so that an interrupted installation can be undone.
    state::write(&target.folder, &changed).map_err(unsaved)?;
    let mut said = Vec::new();
    for (key, now) in &settings {
        let values = std::slice::from_ref(now);
        config::set(target.scope, key, values).map_err(|said| of_git(&said))?;
        said.extend(escaped_line(&bytes!["set ", *key, " = ", now]));
    }
    Ok(said)
}

/// Removes, as far as possible, what an installation has left that failed.
fn undo(target: &ConfigTarget) {
    if let Ok(Some(changed)) = installed(target) {
        let _ = restore(target, &changed);
    } else {
        let _ = remove_if_there(&target.folder.join(HOOK));
        let _ = fs::remove_dir(&target.folder);
    }
}

/// The line about an installed git, which also says if it gets no answer that helps.
fn line(git: &Git, mechanism: Mechanism) -> Vec<u8> {
    let (major, minor) = git.version;
    let path = git.path.as_os_str().as_bytes();
    let rest = match (git.can_ask(mechanism), mechanism) {
        (true, _) => "",
        (false, Mechanism::Hook) => ", which is told that everything may have changed",
        (false, Mechanism::Socket) => ", which does not ask at the socket",
    };
    escaped_line(&bytes![format!("git {major}.{minor} at "), path, rest])
}

/// Refuses to have everybody's git run a hook in `folder`, which is closed to all but its owner, where a group shares the
/// repository.
fn refuse_if_shared(folder: &Path) -> Result<(), Reply> {
    let common_dir = folder.parent().map(stat_path);
    if matches!(common_dir, Some(Ok(stat)) if stat.is_shared_with_group()) {
        return Err(Reply::error(
            "a group shares this repository, and git of its other members could not run the hook: use --global",
        ));
    }
    Ok(())
}

/// Restores the former values.
pub(super) fn uninstall(environment: &Environment, is_global: bool) -> Result<Reply, Reply> {
    let target = ConfigTarget::of(environment, is_global)?;
    let Some(changed) = installed(&target)? else {
        return Err(Reply::error(&format!(
            "the monitor is not installed: nothing is recorded in {}",
            raw_path(&target.folder)
        )));
    };
    let said = restore(&target, &changed)?;
    if target.scope == Scope::Local {
        // If no daemon is running, nothing is served.
        drop(socket::stop(environment));
    }
    Ok(Reply::printed(said, 0))
}

/// The mechanism that is `wanted`, or else one that all `gits` support.
fn mechanism(wanted: Option<Mechanism>, gits: &[Git]) -> Result<Mechanism, Reply> {
    if gits.is_empty() {
        return Err(Reply::error("there is no git"));
    }
    let all_can = |mechanism| gits.iter().all(|git| git.can_ask(mechanism));
    match wanted {
        // Any hook of ours answers an old git that everything may have changed.
        Some(Mechanism::Hook) => return Ok(Mechanism::Hook),
        Some(Mechanism::Socket) if all_can(Mechanism::Hook) => return Ok(Mechanism::Socket),
        None if all_can(Mechanism::Socket) => return Ok(Mechanism::Socket),
        None if all_can(Mechanism::Hook) => return Ok(Mechanism::Hook),
        // An old git takes the value for a hook, and its silence for no change.
        Some(Mechanism::Socket) | None => {}
    }
    let old = gits.iter().find(|git| !git.can_ask(Mechanism::Hook));
    let path = old.map_or(Path::new("git"), |git| &git.path);
    Err(Reply::error(&format!(
        "{} is older than 2.26, and cannot ask a monitor reliably",
        raw_path(path)
    )))
}

/// What an installation has changed, if there is one.
fn installed(target: &ConfigTarget) -> Result<Option<Vec<Changed>>, Reply> {
    let unread = |error: io::Error| failed("read", &target.folder, &error);
    if let Some(changed) = state::read(&target.folder).map_err(unread)? {
        return Ok(Some(changed));
    }
    // The folder may have been deleted. Then git cannot run the hook, and the former values are not known.
    let key = "core.fsmonitor";
    let mut values = config::values(target.scope, key).map_err(|said| of_git(&said))?;
    let last = values.pop().filter(|value| is_left_behind(value.as_bstr()));
    Ok(last.filter(|_| values.is_empty()).map(|now| {
        vec![Changed {
            key: key.into(),
            now,
            before: Vec::new(),
        }]
    }))
}

/// Returns whether `command` is our hook, and the hook is gone.
pub(crate) fn is_left_behind(command: &BStr) -> bool {
    is_our_hook(command) && access(hook_path(command), Access::EXEC_OK).is_err()
}

/// Restores the values that were there before `changed`.
fn restore(target: &ConfigTarget, changed: &[Changed]) -> Result<Vec<u8>, Reply> {
    let left = |error: io::Error| failed("remove", &target.folder, &error);
    let mut said = Vec::new();
    for one in changed.iter().rev() {
        let key = one.key.to_str().unwrap_or_default();
        let now = config::values(target.scope, key).map_err(|said| of_git(&said))?;
        if now != std::slice::from_ref(&one.now) {
            let line = bytes!["left ", key, ", which has changed since"];
            said.extend(escaped_line(&line));
            continue;
        }
        config::set(target.scope, key, &one.before).map_err(|said| of_git(&said))?;
        match one.before.last() {
            Some(before) => said.extend(escaped_line(&bytes!["set ", key, " = ", before])),
            None => said.extend(escaped_line(&bytes!["unset ", key])),
        }
    }
    state::remove(&target.folder).map_err(left)?;
    remove_if_there(&target.folder.join(HOOK)).map_err(left)?;
    // The folder may not be empty.
    let _ = fs::remove_dir(&target.folder);
    Ok(said)
}

/// The path of this program's file.
fn this_program() -> Result<PathBuf, Reply> {
    fs::read_link("/proc/self/exe").map_err(|error| {
        let reason = errno::text_of(&error);
        Reply::error(&format!("cannot tell where this program is: {reason}"))
    })
}

/// Makes `hook` a symbolic link to `program`.
fn link(hook: &Path, program: &Path) -> io::Result<()> {
    remove_if_there(hook)?;
    symlink(program, hook)
}

/// Returns `hook` as a command for git's configuration, quoted for a shell if a character needs it.
fn as_command(hook: &Path) -> BString {
    let path = hook.as_os_str().as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,@".contains(byte);
    if path.iter().all(is_plain) {
        return path.into();
    }
    bytes!["'", path.replace("'", "'\\''"), "'"].into()
}

/// The path that [`as_command`] made `command` from.
fn hook_path(command: &BStr) -> PathBuf {
    let quoted = command.strip_prefix(b"'");
    let quoted = quoted.and_then(|rest| rest.strip_suffix(b"'"));
    let path = quoted.map(|path| BString::from(path.replace("'\\''", "'")));
    path_of(path.as_ref().map_or(command, |path| path.as_bstr())).to_owned()
}

/// The error for what could not be done to the record in `folder`.
fn failed(deed: &str, folder: &Path, error: &io::Error) -> Reply {
    let error = errno::text_of(error);
    Reply::error(&format!(
        "cannot {deed} the former configuration in {}: {error}",
        raw_path(folder)
    ))
}

/// The error for a message of git.
fn of_git(said: &BString) -> Reply {
    let text = said.strip_prefix(b"error: ").unwrap_or(said);
    Reply::error(&raw(text).to_string())
}
