//! Checks of one repository: its state on disk, git's own settings, and what accumulates until git's housekeeping runs.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use bstr::{BStr, BString};
use rustix::fs::{Access, access};
use vigil_engine::state::{PlaceReport, StateReport};
use vigil_git::config::{Config, ConfigEntry};
use vigil_git::maintenance::{Count, Maintenance, Monitor};
use vigil_git::repository::Repository;
use vigil_git::state_place::NoStateReason;
use vigil_linux::dir::bounded::Budget;
use vigil_linux::stat::stat_path;
use vigil_model::quote::append_shell_quoted;
use vigil_store::NoState;

use super::check::{Check, count, grouped, shown, shown_path};
use super::daemon::unset;
use crate::fsmonitor;
use crate::reply::bytes;
use crate::state::why_unkept;

/// How much is counted of each kind.
const STEPS_MAX: u64 = 20_000;
const TIME_MAX: Duration = Duration::from_secs(1);

/// With this many loose references, listing them is slow.
const LOOSE_REFS_MAX: u64 = 1000;

/// Above these numbers git tidies up by itself, unless that is turned off (`gc.auto` and `gc.autoPackLimit` in git-config(1)).
const LOOSE_OBJECTS_MAX: u64 = 6700;
const PACKS_MAX: u64 = 50;

/// From this total size of pack indexes on, in bytes, there are enough commits for a commit-graph to matter.
const PACK_INDEXES_LEN_MIN: u64 = 1 << 20;

/// Counts what has accumulated in the folder of `repository`.
pub(super) fn maintenance(repository: &Repository) -> Maintenance {
    Maintenance::of(repository, &Budget::new(STEPS_MAX, TIME_MAX))
}

/// Reports which repository this is.
pub(super) fn identity(repository: &Repository) -> Check {
    let git_dir = shown_path(&repository.git_dir);
    let messages = repository.config.messages();
    let subject = "repository";
    match messages.first() {
        None => Check::ok(subject, git_dir),
        Some(line) => Check::note(subject, bytes![git_dir, ": ", line], ""),
    }
}

/// Checks the state that Vigil keeps of the working tree.
///
/// `config` is that of a git repository.
pub(super) fn state(report: &Result<StateReport, NoStateReason>, config: Option<&Config>) -> Check {
    let subject = "state";
    let drop = "vigil state drop";
    let report = match report {
        Ok(report) => report,
        Err(reason) => {
            let why = why_unkept(*reason).trim_end();
            return match reason {
                NoStateReason::Off => {
                    let key = "vigil.stateFile";
                    let entry = config.and_then(|config| config.entry(key));
                    let fix = entry.map(|entry| unset(&entry, key));
                    Check::note(subject, why, fix.unwrap_or_default())
                }
                NoStateReason::NoWorkTree => Check::ok(subject, why),
                NoStateReason::ForeignIndexOrTree | NoStateReason::Unknown => {
                    Check::note(subject, why, "")
                }
            };
        }
    };
    let Some(published) = &report.published else {
        let mut obstacles = report
            .places
            .iter()
            .filter_map(|place| match &place.obstacle {
                None | Some(NoState::Absent { .. }) => None,
                obstacle => obstacle.as_ref(),
            });
        return match obstacles.next() {
            None => absent(subject, &report.places),
            Some(NoState::Io(error)) => {
                let remedy = match report.places.iter().any(|place| place.folder == error.path) {
                    true => opening(&error.path),
                    false => drop.into(),
                };
                Check::problem(subject, error.to_string(), remedy)
            }
            Some(other) => Check::note(
                subject,
                other.to_string() + ": it is not used, and the next status replaces it",
                drop,
            ),
        };
    };
    let folder = shown_path(&published.folder);
    if let Some(damage) = &published.damage {
        return Check::note(subject, damage.to_string(), drop);
    }
    let files = count(published.files.into(), "file");
    let fact = bytes!["of ", files, " in ", folder];
    match published.untrusted_since {
        None => Check::ok(subject, fact),
        Some(_) => Check::note(
            subject,
            bytes![
                fact,
                ": the clock was set back, and later records are not trusted"
            ],
            "",
        ),
    }
}

/// Checks whether a state can be written in one of `places`, where there is none yet.
fn absent(subject: &'static str, places: &[PlaceReport]) -> Check {
    if let Some(place) = places.iter().find(|place| is_taken(&place.folder)) {
        let folder = shown_path(&place.folder);
        let rest = " is not a directory, so no state can be kept there";
        return Check::problem(subject, bytes![folder, rest], "");
    }
    if places.iter().any(|place| is_writable(&place.folder)) {
        return Check::ok(subject, "none yet: the first status writes it");
    }
    let folders = places.iter().map(|place| shown_path(&place.folder));
    let folders = bstr::join(" or ", folders);
    Check::note(
        subject,
        bytes!["none, and none can be written in ", folders],
        "",
    )
}

/// The command that lets this user into `folder`, if it is the user's own.
fn opening(folder: &Path) -> BString {
    let user = rustix::process::geteuid().as_raw();
    let mut command = BString::default();
    if stat_path(folder).is_ok_and(|stat| stat.uid == user) {
        command.extend_from_slice(b"chmod 700 ");
        append_shell_quoted(folder.as_os_str().as_bytes(), &mut command);
    }
    command
}

/// Returns whether this user may write in `folder`, or make it.
fn is_writable(folder: &Path) -> bool {
    let existing = folder.ancestors().find(|above| stat_path(above).is_ok());
    existing.is_some_and(|existing| access(existing, Access::WRITE_OK).is_ok())
}

/// Returns whether something other than a directory is at `folder`.
fn is_taken(folder: &Path) -> bool {
    stat_path(folder).is_ok_and(|stat| !stat.is_dir())
}

/// Where `entry` was set.
fn place(entry: &ConfigEntry<'_>) -> BString {
    match entry.position {
        Some((file, line)) => bytes![shown(file), format!(" at line {line}")].into(),
        None => "the command line or the environment".into(),
    }
}

/// The check of git's own monitor.
const MONITOR: &str = "git's own monitor";

fn served_by_daemon() -> Check {
    Check::ok(MONITOR, "not running: Vigil's daemon serves its socket")
}

/// Corrects the check of the monitor among `checks`: who answers at the socket is Vigil's daemon.
pub(super) fn correct_monitor(checks: &mut [Check]) {
    let of_monitor = checks.iter_mut().filter(|check| check.subject == MONITOR);
    of_monitor.for_each(|check| *check = served_by_daemon());
}

/// Checks what git itself is configured to use for watching the working tree.
pub(super) fn monitor(config: &Config, monitor: Monitor) -> Check {
    let subject = MONITOR;
    let is_ours = matches!(config.boolean("vigil.fsmonitor"), Ok(Some(true)));
    match monitor {
        Monitor::Runs if is_ours => {
            return served_by_daemon();
        }
        Monitor::Runs => {
            return Check::note(
                subject,
                "runs for this working tree: the same folders are watched twice",
                "git fsmonitor--daemon stop && git config core.fsmonitor false",
            );
        }
        Monitor::StaleSocket => {
            return Check::note(
                subject,
                "its socket was left behind, and nobody answers there",
                "rm \"$(git rev-parse --git-path fsmonitor--daemon.ipc)\"",
            );
        }
        Monitor::Absent => {}
    }
    let Some(entry) = config.entry("core.fsmonitor") else {
        return Check::ok(subject, "not configured");
    };
    match entry.boolean() {
        Ok(false) => Check::ok(subject, "not wanted"),
        Ok(true) => Check::ok(
            subject,
            bytes!["wanted by ", place(&entry), ", not running"],
        ),
        Err(_) if entry.value.is_some_and(fsmonitor::is_left_behind) => {
            let fact = bytes!["Vigil's hook is gone, which git runs by ", place(&entry)];
            Check::problem(subject, fact, "vigil fsmonitor install")
        }
        Err(_) if entry.value.is_some_and(fsmonitor::is_our_hook) => {
            let fact = bytes!["not running: git asks Vigil's hook by ", place(&entry)];
            Check::ok(subject, fact)
        }
        Err(_) => {
            let hook = shown(entry.value.unwrap_or(BStr::new("")));
            let fact = bytes![
                "the hook ",
                hook,
                " by ",
                place(&entry),
                ", which git runs for each status, and Vigil does not"
            ];
            Check::note(subject, fact, "git config core.fsmonitor false")
        }
    }
}

/// Checks whether all untracked files are listed by default.
pub(super) fn untracked_setting(config: &Config) -> Check {
    let subject = "untracked files";
    let Some(entry) = config.entry("status.showUntrackedFiles") else {
        return Check::ok(subject, "shown by directory");
    };
    // git accepts a boolean, too.
    let value = entry.value.unwrap_or(BStr::new("true"));
    let by = bytes![shown(value), " by ", place(&entry)];
    match value == "all" {
        true => Check::note(
            subject,
            bytes![by, ": every untracked directory is read in full"],
            "git config status.showUntrackedFiles normal",
        ),
        false => Check::ok(subject, by),
    }
}

/// Checks for what git's housekeeping would fix.
pub(super) fn housekeeping(found: &Maintenance, is_reftable: bool) -> Vec<Check> {
    let number = |count: Count| {
        let least = if count.is_incomplete { "at least " } else { "" };
        format!("{least}{}", grouped(count.number))
    };
    let is_over = |count: Count, max: u64| count.is_incomplete || count.number > max;
    let mut checks = Vec::new();
    if !is_reftable {
        let subject = "loose references";
        checks.push(match is_over(found.loose_refs, LOOSE_REFS_MAX) {
            true => Check::note(subject, number(found.loose_refs), "git pack-refs --all"),
            false => Check::ok(subject, number(found.loose_refs)),
        });
    }
    let objects = format!(
        "about {} loose, packs: {}",
        number(found.loose_objects),
        number(found.packs)
    );
    let is_untidy =
        is_over(found.loose_objects, LOOSE_OBJECTS_MAX) || is_over(found.packs, PACKS_MAX);
    checks.push(match is_untidy {
        true => Check::note("objects", objects, "git gc"),
        false => Check::ok("objects", objects),
    });
    let subject = "commit-graph";
    checks.push(match found.has_commit_graph {
        true => Check::ok(subject, "there"),
        false if found.pack_indexes_len < PACK_INDEXES_LEN_MIN => {
            Check::ok(subject, "none, and a history this short needs none")
        }
        false => Check::note(
            subject,
            "none: ahead and behind counts, and describe, read every commit",
            "git commit-graph write --reachable",
        ),
    });
    checks
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use vigil_store::IoError;

    use super::super::check::Verdict;
    use super::*;

    fn config(text: &str) -> Config {
        Config::from_bytes(text.as_bytes(), "file x").unwrap()
    }

    fn tidy() -> Maintenance {
        Maintenance {
            loose_refs: Count::default(),
            loose_objects: Count::default(),
            packs: Count::default(),
            pack_indexes_len: 0,
            has_commit_graph: false,
            index: None,
            monitor: Monitor::Absent,
        }
    }

    fn noted(found: &Maintenance) -> Vec<&'static str> {
        let checks = housekeeping(found, false);
        let noted = checks.iter().filter(|check| check.verdict != Verdict::Ok);
        noted.map(|check| check.subject).collect()
    }

    #[test]
    fn what_piles_up_is_noted_beyond_a_bound() {
        let so_many = |number| Count {
            number,
            is_incomplete: false,
        };
        assert_eq!(noted(&tidy()), [] as [&str; 0]);
        let mut found = tidy();
        found.loose_refs = so_many(1000);
        found.loose_objects = so_many(6700);
        found.packs = so_many(50);
        found.pack_indexes_len = PACK_INDEXES_LEN_MIN - 1;
        assert_eq!(noted(&found), [] as [&str; 0]);
        found.loose_refs = so_many(1001);
        assert_eq!(noted(&found), ["loose references"]);
        assert_eq!(housekeeping(&found, true).len(), 2);
        found.loose_refs = Count {
            number: 0,
            is_incomplete: true,
        };
        assert_eq!(noted(&found), ["loose references"]);
        found.loose_objects = so_many(6701);
        found.pack_indexes_len = PACK_INDEXES_LEN_MIN;
        assert_eq!(
            noted(&found),
            ["loose references", "objects", "commit-graph"]
        );
        found.has_commit_graph = true;
        found.loose_objects = so_many(0);
        found.packs = so_many(51);
        assert_eq!(noted(&found), ["loose references", "objects"]);
    }

    #[test]
    fn a_state_that_the_system_refuses_is_a_problem() {
        let with = |obstacle| {
            let place = PlaceReport {
                folder: "/no/such/folder".into(),
                obstacle: Some(obstacle),
            };
            let report = StateReport {
                places: vec![place],
                published: None,
            };
            state(&Ok(report), None).verdict
        };
        let path = PathBuf::from("/no/such/folder/state");
        let refused = IoError {
            operation: "open",
            path: path.clone(),
            source: std::io::ErrorKind::PermissionDenied.into(),
        };
        assert_eq!(with(NoState::Io(refused)), Verdict::Problem);
        assert_eq!(
            with(NoState::Version {
                path: path.clone(),
                version: 9
            }),
            Verdict::Note
        );
        assert_eq!(with(NoState::Absent { folder: path }), Verdict::Ok);
        assert_eq!(
            state(&Err(NoStateReason::NoWorkTree), None).verdict,
            Verdict::Ok
        );
        assert_eq!(
            state(&Err(NoStateReason::ForeignIndexOrTree), None).verdict,
            Verdict::Note
        );
    }

    #[test]
    fn a_monitor_is_noted_where_it_runs_or_a_hook_does() {
        let verdict = |text: &str, found| monitor(&config(text), found).verdict;
        assert_eq!(verdict("", Monitor::Absent), Verdict::Ok);
        assert_eq!(verdict("", Monitor::Runs), Verdict::Note);
        assert_eq!(verdict("", Monitor::StaleSocket), Verdict::Note);
        let set = |value: &str| format!("[core]\nfsmonitor = {value}\n");
        assert_eq!(verdict(&set("true"), Monitor::Absent), Verdict::Ok);
        assert_eq!(verdict(&set("false"), Monitor::Absent), Verdict::Ok);
        assert_eq!(verdict(&set(".git/hook"), Monitor::Absent), Verdict::Note);
        let folder = tempfile::tempdir().unwrap();
        let hook = folder.path().join("vigil-fsmonitor-hook");
        let ours = set(&format!("'{}'", hook.display()));
        assert_eq!(verdict(&ours, Monitor::Absent), Verdict::Problem);
        std::os::unix::fs::symlink("/bin/sh", &hook).unwrap();
        assert_eq!(verdict(&ours, Monitor::Absent), Verdict::Ok);
        let served = "[vigil]\nfsmonitor = true\n";
        assert_eq!(verdict(served, Monitor::Runs), Verdict::Ok);
    }

    #[test]
    fn that_all_untracked_files_are_listed_is_noted() {
        let verdict = |text: &str| untracked_setting(&config(text)).verdict;
        assert_eq!(verdict(""), Verdict::Ok);
        assert_eq!(verdict("[status]\nshowUntrackedFiles = no\n"), Verdict::Ok);
        assert_eq!(
            verdict("[status]\nshowUntrackedFiles = all\n"),
            Verdict::Note
        );
    }
}
