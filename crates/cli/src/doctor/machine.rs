//! Checks of the machine: versions of programs, and limits of the user and this process.

use std::path::Path;
use std::time::Duration;

use bstr::BString;
use vigil_git::environment::Environment;
use vigil_git::installed::{Installed, on_path};
use vigil_linux::dir::bounded::Budget;
use vigil_linux::limits::{InotifyLimits, InotifyUse, Limit, PROC, open_files_max};

use super::check::{Check, count, grouped, shown_path};
use crate::reply::bytes;

/// How long a program may take to print its version.
const VERSION_PATIENCE: Duration = Duration::from_secs(2);

/// How much is spent on looking at the user's processes.
const PROCESSES_STEPS_MAX: u64 = 1 << 20;
const PROCESSES_TIME_MAX: Duration = Duration::from_secs(1);

/// With fewer open files, a scan of a deep tree, the packs of a repository and a daemon's connections may fail.
const OPEN_FILES_MIN: u64 = 256;

/// The kernel's default. With less, a large checkout overflows the queue.
const QUEUED_EVENTS_MIN: u64 = 16_384;

/// The lowest limit that is proposed where watches run out.
const WATCHES_PROPOSED_MIN: u64 = 524_288;

/// Checks the versions of all programs involved. Programs in a folder of `foreign` are not run.
pub(super) fn versions(environment: &Environment, foreign: &[&Path]) -> Vec<Check> {
    let ask = |name: &str, arguments: &[&str]| {
        on_path(environment, name, arguments, foreign, VERSION_PATIENCE)
    };
    let release = rustix::system::uname();
    let mut checks = vec![
        Check::ok("vigil", env!("CARGO_PKG_VERSION")),
        Check::ok("kernel", release.release().to_bytes()),
    ];
    let gits = ask("git", &["--version"]);
    if gits.is_empty() {
        checks.push(Check::note(
            "git",
            "not on the PATH: patches, and objects missing from a partial clone, need it",
            "",
        ));
    }
    checks.extend(gits.iter().map(|git| version("git", git)));
    let hgs = ask("hg", &["--version", "-q"]);
    checks.extend(hgs.iter().map(|hg| version("hg", hg)));
    checks
}

fn version(subject: &'static str, program: &Installed) -> Check {
    let path = shown_path(&program.path);
    match &program.version {
        Ok(version) => {
            let number = version.strip_prefix(b"git version ").unwrap_or(version);
            Check::ok(subject, bytes![number, " (", path, ")"])
        }
        Err(unsaid) => Check::note(subject, bytes![path, " ", unsaid.to_string()], ""),
    }
}

/// What watching needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needed {
    /// The directories of the repository, each of which needs a watch; `None` if there is no repository.
    pub(super) directories: Option<u64>,
    /// How many of the user's watches are the daemon's.
    pub(super) daemon_watches: u64,
}

/// Checks the limits of the user and this process, and what they leave for the daemon.
pub(super) fn limits(needed: Needed) -> Vec<Check> {
    let mut budget = Budget::new(PROCESSES_STEPS_MAX, PROCESSES_TIME_MAX);
    let proc = Path::new(PROC);
    let user = rustix::process::geteuid().as_raw();
    let used = InotifyUse::of(proc, user, &mut budget);
    let mut checks = inotify(InotifyLimits::of(proc), used, needed);
    checks.push(open_files(open_files_max()));
    checks
}

fn inotify(limits: InotifyLimits, used: InotifyUse, needed: Needed) -> Vec<Check> {
    let unknown = |subject| Check::note(subject, "the system does not tell the limit", "");
    let watches = "inotify watches";
    let instances = "inotify instances";
    let events = "inotify queue";
    vec![
        limits.watches.map_or_else(
            || unknown(watches),
            |limit| judge_watches(watches, limit, used, needed),
        ),
        limits.instances.map_or_else(
            || unknown(instances),
            |limit| judge_instances(instances, limit, used),
        ),
        limits
            .queued_events
            .map_or_else(|| unknown(events), |limit| judge_queue(events, limit)),
    ]
}

/// Returns whether nearly all of `limit` is used.
fn is_scarce(used: u64, limit: u64) -> bool {
    used > limit / 4 * 3
}

/// Says `at least` if not everything was counted.
fn used_text(number: u64, used: InotifyUse) -> String {
    let least = if used.is_whole { "" } else { "at least " };
    format!("{least}{} in use", grouped(number))
}

fn judge_watches(subject: &'static str, limit: Limit, used: InotifyUse, needed: Needed) -> Check {
    let Limit { most, variable } = limit;
    let by_others = used.watches.saturating_sub(needed.daemon_watches);
    let left = most.saturating_sub(by_others);
    let wanted = needed.directories.unwrap_or_default();
    let mut fact = format!(
        "{} allowed, {}",
        grouped(most),
        used_text(used.watches, used)
    );
    if needed.directories.is_some() {
        fact.push_str(&format!(", {} needed here", grouped(wanted)));
    }
    // Twice what is needed now, so that other repositories have some, too.
    let proposed = by_others.saturating_add(wanted).saturating_mul(2);
    let proposed = proposed.max(WATCHES_PROPOSED_MIN);
    let proposed = proposed.checked_next_power_of_two().unwrap_or(proposed);
    let remedy = sysctl("watches", variable, proposed);
    if wanted > left || left == 0 {
        fact.push_str(": directories without a watch are looked at for every question");
        Check::problem(subject, fact, remedy)
    } else if is_scarce(by_others.saturating_add(wanted), most) {
        Check::note(subject, fact, remedy)
    } else {
        Check::ok(subject, fact)
    }
}

fn judge_instances(subject: &'static str, limit: Limit, used: InotifyUse) -> Check {
    let Limit { most, variable } = limit;
    let fact = format!(
        "{} allowed, {}",
        grouped(most),
        used_text(used.instances, used)
    );
    let proposed = most.max(128).saturating_mul(4);
    let remedy = sysctl("instances", variable, proposed);
    if used.instances >= most {
        let fact = fact + ": a daemon started now cannot watch for changes";
        Check::problem(subject, fact, remedy)
    } else if is_scarce(used.instances, most) {
        Check::note(subject, fact, remedy)
    } else {
        Check::ok(subject, fact)
    }
}

fn judge_queue(subject: &'static str, limit: u64) -> Check {
    let fact = format!("room for {}", count(limit, "event"));
    match limit < QUEUED_EVENTS_MIN {
        true => Check::note(
            subject,
            fact + ": if more happens at once, everything is looked at again",
            sysctl("queue", "fs.inotify.max_queued_events", QUEUED_EVENTS_MIN),
        ),
        false => Check::ok(subject, fact),
    }
}

/// The command that raises a limit, now and permanently.
fn sysctl(name: &str, key: &str, value: u64) -> BString {
    let file = format!("/etc/sysctl.d/60-inotify-{name}.conf");
    format!("echo {key}={value} | sudo tee {file} && sudo sysctl -p {file}").into()
}

fn open_files(limit: Option<u64>) -> Check {
    let subject = "open files";
    match limit {
        None => Check::ok(subject, "any number is allowed"),
        Some(limit) if limit < OPEN_FILES_MIN => Check::problem(
            subject,
            format!("{} allowed: answers may fail", grouped(limit)),
            "ulimit -n 1024",
        ),
        Some(limit) => Check::ok(subject, format!("{} allowed", grouped(limit))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    fn of_watches(most: u64) -> Limit {
        let variable = "fs.inotify.max_user_watches";
        Limit { most, variable }
    }

    fn verdicts(limits: (u64, u64, u64), used: (u64, u64), needed: Needed) -> [Verdict; 3] {
        let limits = InotifyLimits {
            watches: Some(of_watches(limits.0)),
            instances: Some(Limit {
                most: limits.1,
                variable: "fs.inotify.max_user_instances",
            }),
            queued_events: Some(limits.2),
        };
        let used = InotifyUse {
            watches: used.0,
            instances: used.1,
            is_whole: true,
        };
        let checks = inotify(limits, used, needed);
        let verdicts: Vec<Verdict> = checks.iter().map(|check| check.verdict).collect();
        verdicts.try_into().unwrap()
    }

    fn needs(directories: u64, daemon_watches: u64) -> Needed {
        Needed {
            directories: Some(directories),
            daemon_watches,
        }
    }

    #[test]
    fn watches_that_are_short_of_what_is_needed_are_a_problem() {
        use Verdict::{Note, Ok, Problem};
        let verdict = |limit, used, needed| verdicts((limit, 128, 16_384), (used, 1), needed)[0];
        assert_eq!(verdict(8192, 100, needs(1000, 0)), Ok);
        assert_eq!(verdict(8192, 100, needs(6200, 0)), Note);
        assert_eq!(verdict(8192, 100, needs(8092, 0)), Note);
        assert_eq!(verdict(8192, 100, needs(8093, 0)), Problem);
        // Watches that the daemon already has in this repository are not needed twice.
        assert_eq!(verdict(8192, 5000, needs(5000, 4900)), Ok);
        assert_eq!(verdict(8192, 8192, Needed::default()), Problem);
        assert_eq!(verdict(8192, 7000, Needed::default()), Note);
        assert_eq!(verdict(8192, 10, Needed::default()), Ok);
    }

    #[test]
    fn the_remedy_is_more_than_what_is_needed() {
        let used = InotifyUse {
            watches: 1_000,
            instances: 1,
            is_whole: false,
        };
        let check = judge_watches("x", of_watches(8192), used, needs(400_000, 0));
        let fact = "8,192 allowed, at least 1,000 in use, 400,000 needed here: \
            directories without a watch are looked at for every question";
        assert_eq!(check.fact, fact);
        let remedy = check.remedy.unwrap().to_string();
        assert!(remedy.starts_with("echo fs.inotify.max_user_watches=1048576 | sudo tee /etc/"));
    }

    #[test]
    fn instances_and_the_queue_have_limits_of_their_own() {
        use Verdict::{Note, Ok, Problem};
        let verdicts = |instances, queue, used| {
            let all = verdicts((8192, instances, queue), (0, used), Needed::default());
            (all[1], all[2])
        };
        assert_eq!(verdicts(128, 16_384, 5), (Ok, Ok));
        assert_eq!(verdicts(128, 16_383, 100), (Note, Note));
        assert_eq!(verdicts(128, 1, 128), (Problem, Note));
        let unknown = inotify(
            InotifyLimits::default(),
            InotifyUse::default(),
            Needed::default(),
        );
        assert!(unknown.iter().all(|check| check.verdict == Note));
    }
}
