//! The testers report wrong answers and only those: tried with git itself as the candidate, unchanged and made wrong.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that fails may panic"
)]

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use vigil_testkit::campaign::{Campaign, Totals, run};
use vigil_testkit::cases;
use vigil_testkit::daemon::{Daemon, DaemonError};
use vigil_testkit::gitstatusd::oracle::{Expected, expected_response};
use vigil_testkit::player::Settings;
use vigil_testkit::random::ScenarioPlan;
use vigil_testkit::sandbox::Sandbox;
use vigil_testkit::scenario::{Item, ServerOptions};
use vigil_testkit::soak::{self, Soak};

fn campaign(seed: u64, runs: u64, prompts: bool) -> Campaign {
    // Without reftables, since the installed git may be too old for them.
    let plan = ScenarioPlan {
        steps: 12,
        questions: 2,
        without: BTreeSet::new(),
        reftable: false,
        prompts,
    };
    Campaign {
        seed,
        runs,
        comparisons_max: usize::MAX,
        time_max: Duration::MAX,
        failures_max: 1,
        jobs: 1,
        plan,
        reduces_failures: true,
        keeps_sandboxes: false,
    }
}

fn settings(candidate: &Path) -> Settings {
    Settings {
        may_write: true,
        shrink_tries_max: 60,
        ..Settings::new(candidate, "git")
    }
}

fn play(candidate: &Path, campaign: &Campaign) -> (Totals, String) {
    let output: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let totals = run(&settings(candidate), campaign, &output);
    assert_eq!(totals.errors, Vec::<String>::new());
    (
        totals,
        String::from_utf8(output.into_inner().unwrap()).unwrap(),
    )
}

/// Writes a candidate that runs the shell script `text`, and returns its path.
fn write_candidate(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("candidate");
    let mut file = std::fs::File::create(&path).unwrap();
    write!(file, "#!/bin/bash\n{text}\n").unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o755))
        .unwrap();
    path
}

#[test]
fn git_equals_itself() {
    let (totals, report) = play(Path::new("git"), &campaign(1, 4, false));
    assert_eq!(totals.mismatches, 0, "{report}");
    // Not more, since a question sometimes comes up twice.
    assert!(totals.comparisons > 4 * 13);
}

#[test]
fn answers_of_a_git_that_crashes_are_counted_as_not_judged() {
    let directory = tempfile::tempdir().unwrap();
    let broken = write_candidate(
        directory.path(),
        "for word; do [ \"$word\" = status ] && kill -ABRT $$; done; exec git \"$@\"",
    );
    let play = |candidate: &Path, accepted_gits: Vec<PathBuf>| {
        let settings = Settings {
            oracle: broken.clone(),
            accepted_gits,
            ..settings(candidate)
        };
        let output: Mutex<Vec<u8>> = Mutex::new(Vec::new());
        run(&settings, &campaign(1, 1, false), &output)
    };
    let totals = play(Path::new("git"), Vec::new());
    assert_eq!(
        (totals.mismatches, totals.unjudged),
        (0, totals.comparisons)
    );
    assert!(totals.summary().contains("not judged"));
    // Another git that does not crash can judge, and a candidate that crashes is always wrong.
    let totals = play(Path::new("git"), vec!["git".into()]);
    assert_eq!((totals.mismatches, totals.unjudged), (0, 0));
    let totals = play(Path::new("true"), vec!["git".into()]);
    assert_eq!((totals.mismatches, totals.unjudged), (1, 0));
    assert_eq!(play(&broken, Vec::new()).mismatches, 1);
}

#[test]
fn a_wrong_candidate_is_caught_and_its_failure_reduced() {
    let directory = tempfile::tempdir().unwrap();
    // This candidate misreports deleted files.
    let candidate = write_candidate(
        directory.path(),
        "git \"$@\" | sed -e 's/^ D /  D/; s/^1 \\.D/1 .M/'; exit ${PIPESTATUS[0]}",
    );
    let (totals, report) = play(&candidate, &campaign(1, 20, false));
    assert_eq!(totals.mismatches, 1, "{report}");
    let failure = totals.failures.first().unwrap();
    assert!(failure.is_repeatable);
    let steps = failure
        .scenario
        .items
        .iter()
        .filter(|item| matches!(item, Item::Step(_)))
        .count();
    // init, write, add, delete; a few more if shrinking ran out of tries.
    assert!((3..=8).contains(&steps), "{report}");

    // The printed script shows the difference without the tester.
    let script = failure.scenario.script(&settings(&candidate));
    let path = directory.path().join("reproduce");
    std::fs::write(&path, &script).unwrap();
    let outcome = Command::new("bash")
        .arg(&path)
        .env("TMPDIR", directory.path())
        .output()
        .unwrap();
    let differences = String::from_utf8_lossy(&outcome.stdout);
    assert!(
        differences.contains("< "),
        "{differences}\n{}\n{script}",
        String::from_utf8_lossy(&outcome.stderr)
    );
    assert!(!differences.contains("same"), "{differences}");
}

/// Returns a candidate whose daemon serves nothing, but claims to have answered so many questions.
fn idle_daemon(directory: &Path, answered: u64) -> PathBuf {
    write_candidate(
        directory,
        &format!(
            "case \"$1 $2\" in
            'daemon run') echo $$ >pid; echo serving on nothing; exec tail -f /dev/null;;
            'daemon status') echo \"{{\\\"pid\\\":$(cat pid),\\\"questions\\\":{answered},\\\"declined\\\":7}}\";;
            esac"
        ),
    )
}

#[test]
fn a_daemon_that_answers_nothing_is_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let candidate = idle_daemon(directory.path(), 3);
    let daemon = Daemon::start(&candidate, directory.path()).unwrap();
    let status = daemon.final_status().unwrap();
    assert_eq!((status.answered, status.left), (3, 7));
    drop(daemon);
    let candidate = idle_daemon(directory.path(), 0);
    let daemon = Daemon::start(&candidate, directory.path()).unwrap();
    let error = daemon.final_status().unwrap_err();
    assert!(
        matches!(error, DaemonError::AnsweredNothing { left: 7 }),
        "{error}"
    );
}

#[test]
fn a_daemon_that_ended_or_complained_is_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let candidate = idle_daemon(directory.path(), 3);
    let daemon = Daemon::start(&candidate, directory.path()).unwrap();
    let folder = daemon.runtime_folder();
    let folder = folder.parent().unwrap();
    std::fs::write(folder.join("pid"), "1").unwrap();
    let error = daemon.final_status().unwrap_err();
    assert!(
        matches!(error, DaemonError::Replaced { new: 1, .. }),
        "{error}"
    );
    std::fs::write(folder.join("errors"), "panicked").unwrap();
    let error = daemon.final_status().unwrap_err();
    assert!(matches!(error, DaemonError::Complained(_)), "{error}");
    std::fs::remove_file(folder.join("errors")).unwrap();
    std::fs::remove_file(folder.join("pid")).unwrap();
    let error = daemon.final_status().unwrap_err();
    assert!(matches!(error, DaemonError::Silent(_)), "{error}");
    let error = Daemon::start(Path::new("/bin/false"), directory.path()).unwrap_err();
    assert!(matches!(error, DaemonError::NotServing(_)), "{error}");
}

#[test]
fn a_soak_finds_wrong_answers_and_a_daemon_that_answers_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let soak = Soak {
        seed: 1,
        repositories: 1,
        time_max: Duration::MAX,
        jobs: 1,
        faults_percent: 50,
        wrong_max: 1,
        plan: campaign(1, 1, false).plan,
    };
    let soak_of = |filter: &str| {
        let model = env!("CARGO_BIN_EXE_model-gitstatusd");
        let text = format!(
            "case $1 in
            daemon) exit 1;;
            gitstatusd) exec {model} \"$@\";;
            *) git \"$@\" | {filter}; exit ${{PIPESTATUS[0]}};;
            esac"
        );
        soak::run(&settings(&write_candidate(directory.path(), &text)), &soak).unwrap()
    };
    let right = soak_of("cat");
    assert_eq!((right.wrong.len(), right.answered), (0, 0), "{right:?}");
    assert!(right.comparisons > 30 && !right.is_good(), "{right:?}");
    let wrong = soak_of("sed s/^/x/");
    assert!(!wrong.wrong.is_empty() && !wrong.is_good(), "{wrong:?}");
}

#[test]
fn a_candidate_that_writes_is_caught() {
    let directory = tempfile::tempdir().unwrap();
    let candidate = write_candidate(
        directory.path(),
        "touch \"$(git rev-parse --show-toplevel)/.git/info/exclude\" 2>/dev/null; exec git \"$@\"",
    );
    let mut campaign = campaign(1, 4, false);
    campaign.reduces_failures = false;
    campaign.plan.without = ["places", "environment", "formats"]
        .map(str::to_owned)
        .into();
    let output: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let totals = run(&Settings::new(&candidate, "git"), &campaign, &output);
    let report = String::from_utf8(output.into_inner().unwrap()).unwrap();
    assert_eq!(totals.mismatches, 1, "{report}");
    assert!(report.contains("written by the candidate"), "{report}");
}

#[test]
fn a_candidate_that_hangs_is_caught() {
    let directory = tempfile::tempdir().unwrap();
    let candidate = write_candidate(directory.path(), "exec tail -f /dev/null");
    let mut campaign = campaign(1, 1, false);
    campaign.reduces_failures = false;
    let output: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let limit = Duration::from_secs(2);
    let totals = run(
        &Settings {
            limit,
            ..settings(&candidate)
        },
        &campaign,
        &output,
    );
    let report = String::from_utf8(output.into_inner().unwrap()).unwrap();
    assert!(
        report.contains("TimedOut"),
        "{}",
        &report[..report.len().min(1000)]
    );
    assert_eq!(totals.mismatches, 1);
}

#[test]
fn a_candidate_that_writes_without_end_is_caught() {
    let directory = tempfile::tempdir().unwrap();
    let candidate = write_candidate(directory.path(), "exec yes");
    let mut campaign = campaign(1, 1, false);
    campaign.reduces_failures = false;
    let output: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let totals = run(&settings(&candidate), &campaign, &output);
    let report = String::from_utf8(output.into_inner().unwrap()).unwrap();
    assert!(
        report.contains("it wrote more than 256 MiB, and was killed"),
        "{}",
        &report[..report.len().min(1000)]
    );
    // The report does not contain all of the output.
    assert!(report.len() < 10 << 20, "{}", report.len());
    assert_eq!(totals.mismatches, 1);
}

/// Returns a candidate that runs the model of gitstatusd with extra `arguments`, which may make a field wrong.
fn write_model_candidate(directory: &Path, arguments: &str) -> PathBuf {
    write_candidate(
        directory,
        &format!(
            "exec {} \"$@\" {arguments}",
            env!("CARGO_BIN_EXE_model-gitstatusd")
        ),
    )
}

#[test]
fn a_correct_process_passes_the_protocol_test() {
    let directory = tempfile::tempdir().unwrap();
    let (totals, report) = play(
        &write_model_candidate(directory.path(), ""),
        &campaign(1, 2, true),
    );
    assert_eq!(totals.mismatches, 0, "{report}");
    assert!(totals.comparisons > 2 * 13);
}

#[test]
fn a_wrong_field_is_caught_and_its_failure_reduced() {
    let directory = tempfile::tempdir().unwrap();
    let (totals, report) = play(
        &write_model_candidate(directory.path(), "--fault 14"),
        &campaign(3, 1, true),
    );
    assert_eq!(totals.mismatches, 1, "{report}");
    let failure = totals.failures.first().unwrap();
    assert_eq!(failure.differences.first().unwrap().what, "14 untracked");
    assert!(failure.scenario.items.len() <= 3, "{report}");
}

#[test]
fn cases_of_a_wrong_candidate_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let candidate = write_candidate(
        directory.path(),
        "git \"$@\" | sed -e 's/^UD /UU /'; exit ${PIPESTATUS[0]}",
    );
    let mut some = cases::all();
    some.retain(|case| {
        matches!(
            case.name,
            "clean" | "all stages, no files" | "racy and emptied"
        )
    });
    let report = cases::compare_cases(&settings(&candidate), &some, false, 2).unwrap();
    assert_eq!(report.broken, Vec::<String>::new());
    assert!(!report.failures.is_empty());
    assert!(
        report
            .failures
            .iter()
            .all(|failure| failure.case == "all stages, no files")
    );
}

#[test]
fn the_oracle_of_the_protocol_knows_every_field() {
    let sandbox = Sandbox::new();
    let git = |arguments: &[&str]| drop(sandbox.git(arguments));
    let write = |path: &str, data: &str| sandbox.write(path, data);
    for name in ["a", "b", "c", "d", "e", "f"] {
        write(name, name);
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "base"]);
    git(&["remote", "add", "up", "/the/url"]);
    git(&["config", "branch.main.remote", "up"]);
    git(&["config", "branch.main.merge", "refs/heads/x/y"]);
    git(&["remote", "add", "fork", "/fork/url"]);
    git(&["config", "branch.main.pushRemote", "fork"]);
    git(&["update-ref", "refs/remotes/fork/main", "HEAD"]);
    git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
    git(&["update-ref", "refs/remotes/up/x/y", "HEAD"]);
    git(&["reset", "-q", "--hard", "HEAD~1"]);
    git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&[
        "-c",
        "i18n.commitEncoding=latin-1",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "two\nlines\n\nbody",
    ]);
    git(&["tag", "v1.9"]);
    git(&["tag", "-a", "-m", "t", "v1.10"]);
    write("a", "stashed");
    git(&["stash", "-q"]);
    write("a", "unstaged");
    std::fs::remove_file(sandbox.path("b")).unwrap();
    git(&["rm", "-q", "c"]);
    write("new", "n");
    git(&["add", "new"]);
    write("untracked/x", "");
    write("untracked/y", "");
    git(&["update-index", "--assume-unchanged", "e"]);
    git(&["update-index", "--skip-worktree", "f", "d"]);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let root = format!("{}/work", sandbox.root().display());
    let expected = |untracked: &str| {
        let fields = [
            &root,
            head.trim(),
            "main",
            "x/y",
            "up",
            "/the/url",
            "",
            "6",
            "2",
            "2",
            "0",
            untracked,
            "2",
            "1",
            "1",
            "v1.9",
            "1",
            "1",
            "1",
            "fork",
            "/fork/url",
            "2",
            "0",
            "2",
            "1",
            "latin-1",
            "two lines",
        ];
        Expected::Fields(
            fields
                .iter()
                .map(|field| vec![field.as_bytes().to_vec()])
                .collect(),
        )
    };
    let ask = |recurse| {
        let command = || sandbox.isolated("git", b"work/untracked");
        expected_response(&command, ServerOptions { recurse }).unwrap()
    };
    assert_eq!(ask(false), expected("1"));
    assert_eq!(ask(true), expected("2"));
    let outside = || sandbox.isolated("git", b".");
    assert_eq!(
        expected_response(&outside, ServerOptions { recurse: false }).unwrap(),
        Expected::NoRepository
    );
}

#[test]
fn the_oracle_of_the_protocol_does_not_judge_what_git_makes_of_a_split_index_that_it_collapses() {
    let sandbox = Sandbox::new();
    let git = |arguments: &[&str]| drop(sandbox.git(arguments));
    for name in ["a", "dir/b", "other/c", "other/d"] {
        sandbox.write(name, "x");
        // Older than the index. Otherwise git marks an entry as possibly changed in the part that is not shared, at a position
        // that it does not find.
        let file = std::fs::File::options()
            .write(true)
            .open(sandbox.path(name))
            .unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000))
            .unwrap();
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "base"]);
    git(&["update-index", "--refresh"]);
    git(&["sparse-checkout", "set", "--cone", "dir"]);
    git(&["update-index", "--split-index"]);
    let ask = || {
        let command = || sandbox.isolated("git", b"work");
        expected_response(&command, ServerOptions { recurse: false }).unwrap()
    };
    assert!(matches!(ask(), Expected::Fields(_)));
    git(&["config", "index.sparse", "true"]);
    assert_eq!(ask(), Expected::Unknown);
}
