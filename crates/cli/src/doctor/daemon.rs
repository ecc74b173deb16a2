//! Checks of the user's daemon: whether it is wanted, where it is, and how it answers.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use bstr::BString;
use vigil_daemon::client::{Client, Unanswered, patience};
use vigil_daemon::protocol::{Description, Request, Response, program};
use vigil_daemon::runtime_folder::{FolderError, RuntimePath};
use vigil_daemon::variables;
use vigil_git::config::{self, Config};
use vigil_git::environment::Environment;
use vigil_linux::Errno;
use vigil_model::quote::append_shell_quoted;
use vigil_model::raw_text::message_bytes;
use vigil_stamp::paths::bytes_of;

use super::check::{Check, count, count_of, shown, shown_path};
use crate::reply::bytes;

/// How long the daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// An answer that takes longer deserves a note: a prompt waits a quarter of a second.
const ANSWER_MS_MAX: u128 = 100;

/// Reports the parts of the working tree at `top` that `daemon` cannot watch, if the daemon knows this working tree.
pub(super) fn unheard(daemon: &Description, top: &Path) -> Option<Check> {
    let mut all = daemon.repositories.iter();
    let known = all.find(|known| known.path == *bytes_of(top))?;
    let subject = "heard of by the daemon";
    let Some((path, reason)) = known.scanned.first() else {
        return Some(Check::ok(subject, "all of it"));
    };
    let number = count(known.scanned_count(), "part");
    let path = match path.is_empty() {
        true => "the top".into(),
        false => shown(path.as_ref()),
    };
    let first = bytes![", first ", path, ", since ", reason];
    let fact = bytes!["not all: ", number, " looked at for every question", first];
    Some(Check::note(subject, fact, ""))
}

/// Whether `daemon` serves the socket where git asks about the working tree at `top`.
pub(super) fn serves_git(daemon: &Description, top: &Path) -> bool {
    let mut sockets = daemon.monitors.iter();
    sockets.any(|served| served.path == *bytes_of(top))
}

/// What the repository's configuration says about the daemon.
#[derive(Debug)]
pub(super) enum Configured<'c> {
    /// git's configuration, if there is a repository.
    Git(Option<&'c Config>),
    /// Mercurial's: whether a daemon is wanted, or why that is unknown.
    Mercurial(Result<bool, String>),
}

/// All checks of the daemon, and the daemon's description of itself.
pub(super) fn checks(
    environment: &Environment,
    configured: Configured<'_>,
) -> (Vec<Check>, Option<Description>) {
    let (answer, description) = answer(environment);
    let checks = vec![
        wanted(environment, configured),
        folder(&RuntimePath::of(environment)),
        answer,
    ];
    (checks, description)
}

/// Checks whether a daemon is wanted, or what forbids it.
fn wanted(environment: &Environment, configured: Configured<'_>) -> Check {
    let subject = "daemon wanted";
    if variables::is_off(environment) {
        return Check::note(
            subject,
            "no, by VIGIL_NO_DAEMON: every question is answered from the disk",
            "unset VIGIL_NO_DAEMON",
        );
    }
    let refused = |text: String| Check::problem(subject, text, "");
    let config = match configured {
        Configured::Git(config) => config,
        Configured::Mercurial(Ok(true)) => return Check::ok(subject, "yes"),
        Configured::Mercurial(Ok(false)) => {
            let fact = "no, by vigil.daemon in Mercurial's configuration: every question is answered from the disk";
            return Check::note(subject, fact, "hg config --edit");
        }
        Configured::Mercurial(Err(text)) => return refused(text),
    };
    let trusted;
    let configured = match config {
        Some(of_repository) => of_repository,
        None => match config::trusted(environment) {
            Ok(found) => {
                trusted = found;
                &trusted
            }
            Err(error) => return refused(error.to_string()),
        },
    };
    let Some(entry) = configured.entry("vigil.daemon") else {
        return Check::ok(subject, "yes");
    };
    let place = match entry.position {
        Some((file, line)) => bytes!["vigil.daemon in ", shown(file), format!(" at line {line}")],
        None => bytes!["vigil.daemon on the command line or in the environment"],
    };
    match entry.boolean() {
        Err(error) => refused(error.to_string()),
        Ok(true) => Check::ok(subject, bytes!["yes, by ", place]),
        Ok(false) => Check::note(
            subject,
            bytes![
                "no, by ",
                place,
                ": every question is answered from the disk"
            ],
            unset(&entry, "vigil.daemon"),
        ),
    }
}

/// The command that removes `entry`, whose key is `key`, where it is set. Empty if it is on a command line or in the environment.
pub(super) fn unset(entry: &config::ConfigEntry<'_>, key: &str) -> String {
    let command = match entry.scope {
        config::Scope::Local => "git config --local",
        config::Scope::Worktree => "git config --worktree",
        config::Scope::Command => return String::new(),
        config::Scope::Global => "git config --global",
        config::Scope::System => "sudo git config --system",
    };
    format!("{command} --unset-all {key}")
}

/// Checks that the folder of the socket belongs to the user alone.
fn folder(place: &RuntimePath) -> Check {
    let subject = "runtime folder";
    let path = shown_path(place.path());
    // The daemon makes the folder, but not what is above it.
    let parent = place.path().parent().unwrap_or(place.path());
    let error = match place.open() {
        Ok(_) => return Check::ok(subject, bytes![path, ", owned by you alone"]),
        Err(FolderError::Unusable {
            source: Errno::NOENT,
            ..
        }) if parent.is_dir() => {
            return Check::ok(subject, bytes![path, ", which does not exist yet"]);
        }
        Err(error) => error,
    };
    let command = |command: &str, path: &Path| {
        let mut command = BString::from(command);
        append_shell_quoted(path.as_os_str().as_bytes(), &mut command);
        command
    };
    let remedy = match &error {
        // A folder with the sticky bit is shared on purpose, as /tmp is.
        FolderError::Open { path, mode } if mode & 0o1000 == 0 => command("chmod 700 ", path),
        FolderError::Unusable {
            source: Errno::NOENT,
            ..
        } => command("mkdir -p ", parent),
        _ => "export VIGIL_RUNTIME_DIR=$HOME/.cache/vigil-run".into(),
    };
    Check::problem(
        subject,
        bytes![error.to_string(), ": no daemon can be asked"],
        remedy,
    )
}

fn answer(environment: &Environment) -> (Check, Option<Description>) {
    let subject = "daemon";
    let patience = patience(environment).unwrap_or(PATIENCE);
    let client = Client::for_daemon(environment, patience);
    let begin = Instant::now();
    let answer = client.ask_any(&Request::Describe);
    let ms = begin.elapsed().as_millis();
    let restart = "vigil daemon restart";
    let check = match answer {
        Ok(answer) => match answer.response {
            Response::Description(daemon) => {
                return (judge(subject, &daemon, ms), Some(daemon));
            }
            _ => Check::problem(subject, "it gave an unexpected response", restart),
        },
        Err(Unanswered::Absent) => {
            let start = match variables::is_off(environment) {
                true => "",
                false => "vigil daemon start",
            };
            Check::note(subject, "not running", start)
        }
        // Another check reports what is wrong with the folder.
        Err(Unanswered::Folder(_)) => Check::note(subject, "it cannot be asked", ""),
        Err(error @ Unanswered::Foreign { .. }) => {
            Check::problem(subject, message_bytes(&error), "")
        }
        Err(error) => Check::problem(subject, message_bytes(&error), restart),
    };
    (check, None)
}

/// Judges a daemon that answered after `ms` milliseconds.
fn judge(subject: &'static str, daemon: &Description, ms: u128) -> Check {
    let fact = format!(
        "pid {}, {}, {}, answers in {ms} ms",
        daemon.pid,
        count_of(
            daemon.repositories.len() as u64,
            "repository",
            "repositories"
        ),
        count_of(daemon.watches, "watch", "watches"),
    );
    if daemon.program != *program() {
        let theirs = shown(daemon.program.as_ref());
        let text = bytes![
            fact,
            ", is a different build (",
            theirs,
            "), so its answers are not used"
        ];
        return Check::problem(subject, text, "vigil daemon restart");
    }
    match ms > ANSWER_MS_MAX {
        true => Check::note(subject, fact, "vigil daemon restart"),
        false => Check::ok(subject, fact),
    }
}

#[cfg(test)]
mod tests {
    use vigil_daemon::protocol::RepositoryDescription;

    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn what_a_daemon_does_not_hear_of_is_noted() {
        let mut repository = RepositoryDescription {
            path: "/work".into(),
            ..RepositoryDescription::default()
        };
        let check = |repository: &RepositoryDescription, top: &str| {
            let daemon = Description {
                repositories: vec![repository.clone()],
                ..Description::default()
            };
            unheard(&daemon, Path::new(top))
        };
        assert_eq!(check(&repository, "/other"), None);
        assert_eq!(check(&repository, "/work").unwrap().verdict, Verdict::Ok);
        let scanned = ("a\x1b".into(), "it has no watch".into());
        repository.scanned = vec![scanned, ("b".into(), "".into())];
        repository.scanned_more = 1000;
        let check = check(&repository, "/work").unwrap();
        let fact = "not all: 1,002 parts looked at for every question, first \"a\\033\", since it has no watch";
        assert_eq!(check, Check::note(check.subject, fact, ""));
    }

    #[test]
    fn a_daemon_of_another_build_or_a_slow_one_is_told_of() {
        let mut daemon = Description {
            pid: 7,
            program: program().clone(),
            repositories: vec![RepositoryDescription::default(); 2],
            watches: 1,
            ..Description::default()
        };
        let fact = "pid 7, 2 repositories, 1 watch, answers in 3 ms";
        assert_eq!(judge("x", &daemon, 3), Check::ok("x", fact));
        assert_eq!(judge("x", &daemon, 101).verdict, Verdict::Note);
        daemon.program = "0.0.1 \x1b".into();
        let check = judge("x", &daemon, 3);
        assert_eq!(check.verdict, Verdict::Problem);
        assert!(
            check
                .fact
                .ends_with(b"(\"0.0.1 \\033\"), so its answers are not used")
        );
    }
}
