//! Tight limits on the daemon's resources: it answers more slowly, or not at all, but never wrongly.

use bstr::ByteSlice;

use super::namespaces::{is_in_namespaces, run_in_namespaces};
use super::sandbox::{RunningDaemon, Sandbox, VIGIL};

impl Sandbox {
    /// A repository `work` of 40 folders, nested and side by side.
    fn with_folders() -> Self {
        let sandbox = Self::with_repository();
        for number in 0..40 {
            sandbox.write(&folder_file(number), "recorded\n");
        }
        sandbox.git_in("work", &["add", "."]);
        sandbox.git_in("work", &["commit", "-qm", "folders"]);
        sandbox
    }

    /// Asserts right answers after one change of some kind in each of the folders.
    fn assert_changes_in_every_folder_are_seen(&self) {
        self.assert_answered_as_by_git("work");
        for number in 0..40 {
            let file = folder_file(number);
            match number % 4 {
                0 => self.write(&file, "changed!\n"),
                1 => std::fs::remove_file(self.path(&file)).unwrap(),
                2 => self.write(&format!("{file}.new"), ""),
                _ => {
                    std::fs::rename(self.path(&file), self.path(&format!("{file}.moved"))).unwrap()
                }
            }
            if number % 16 < 4 {
                self.assert_answered_as_by_git("work");
            }
        }
        let folder = |name| self.path("work").join(name);
        std::fs::rename(folder("few/2"), folder("many")).unwrap();
        self.assert_answered_as_by_git("work");
        self.write("work/many/file2", "in a folder that moved\n");
        self.assert_answered_as_by_git("work");
        self.git_in("work", &["reset", "-q", "--hard"]);
        self.assert_answered_as_by_git("work");
        self.git_in("work", &["clean", "-qfd"]);
        self.assert_answered_as_by_git("work");
    }

    /// Starts a daemon under `limit`, which is set by a shell.
    fn serve_limited(&self, limit: &str) -> Option<RunningDaemon> {
        let script = format!("{limit} && exec {VIGIL} daemon run 2>/dev/null");
        RunningDaemon::try_start(self.command("sh", "", &["-c", &script]))
    }
}

fn folder_file(number: usize) -> String {
    format!("work/few/{}/{}/file{number}", number % 5, number / 5)
}

fn set_inotify_limit(what: &str, count: usize) {
    let path = format!("/proc/sys/user/max_inotify_{what}");
    std::fs::write(path, count.to_string()).unwrap();
}

#[test]
fn folders_as_deep_as_a_path_may_be_end_nobody() {
    let sandbox = Sandbox::with_repository();
    let mut serving = sandbox.serve();
    let mut folders = vec![sandbox.path("work/d")];
    while let Some(last) = folders.last().filter(|last| last.as_os_str().len() < 4090) {
        std::fs::create_dir(last).unwrap();
        folders.push(last.join("d"));
    }
    for _ in 0..2 {
        sandbox.assert_answered_as_by_git("work");
    }
    assert!(serving.is_running());
    let script = format!("ulimit -s 1024 && exec {VIGIL} status");
    let mut alone = sandbox.command("sh", "work", &["-c", &script]);
    let output = alone.env("VIGIL_NO_DAEMON", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr.as_bstr());
    // Whoever removes all at once keeps them all open.
    folders.pop();
    folders
        .iter()
        .rev()
        .for_each(|folder| std::fs::remove_dir(folder).unwrap());
}

#[test]
fn without_watches_for_all_folders_every_change_is_seen() {
    run_in_namespaces("limits::few_watches", &[]);
}

#[test]
#[ignore = "run by the test above"]
fn few_watches() {
    if !is_in_namespaces() {
        return;
    }
    for count in [0, 1, 7, 30] {
        set_inotify_limit("watches", count);
        let sandbox = Sandbox::with_folders();
        let mut serving = sandbox.serve();
        sandbox.assert_changes_in_every_folder_are_seen();
        assert!(sandbox.watch_count() <= count as u64);
        assert!(sandbox.question_counts().0 > 10, "{count}");
        // The limit rises suddenly, and then falls below what is in use.
        for later in [10_000, 3] {
            set_inotify_limit("watches", later);
            sandbox.assert_changes_in_every_folder_are_seen();
        }
        assert!(serving.is_running());
    }
}

#[test]
fn that_nothing_can_be_watched_is_reported() {
    run_in_namespaces("limits::nothing_watched", &[]);
}

#[test]
#[ignore = "run by the test above"]
fn nothing_watched() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_folders();
    let scanned = || {
        sandbox.assert_answered_as_by_git("work");
        sandbox.daemon_status()["repositories"][0]["scanned"].clone()
    };
    let the_top = |reason| serde_json::json!([{ "path": "", "reason": reason }]);
    set_inotify_limit("watches", 0);
    let serving = sandbox.serve();
    assert_eq!(scanned(), the_top("the user has no inotify watch left"));
    let advice = sandbox.vigil("work", &["doctor"]).stdout;
    let fact = "not all: 1 part looked at for every question, first the top";
    assert!(advice.contains_str(fact), "{}", advice.as_bstr());
    set_inotify_limit("watches", 10_000);
    assert_eq!(scanned(), serde_json::json!([]));
    drop(serving);
    set_inotify_limit("instances", 0);
    let _serving = sandbox.serve();
    assert_eq!(scanned(), the_top("it cannot be watched"));
    // Another program has given an instance back.
    set_inotify_limit("instances", 100);
    assert_eq!(scanned(), serde_json::json!([]));
    assert_eq!(scanned(), serde_json::json!([]));
    sandbox.assert_changes_in_every_folder_are_seen();
}

#[test]
fn how_much_cannot_be_watched_is_counted() {
    run_in_namespaces("limits::much_unwatched", &[]);
}

#[test]
#[ignore = "run by the test above"]
fn much_unwatched() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    for number in 0..200 {
        sandbox.write(&format!("work/{number}/file"), "recorded\n");
        // Only the folder above is counted.
        sandbox.write(&format!("work/{number}/below/file"), "recorded\n");
    }
    set_inotify_limit("watches", 50);
    let _serving = sandbox.serve();
    sandbox.git_in("work", &["add", "."]);
    sandbox.assert_answered_as_by_git("work");
    let described = sandbox.daemon_status()["repositories"][0].clone();
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let named = described["scanned"].as_array().unwrap().len() as u64;
    let all = named + number(&described["scanned_more"]);
    assert_eq!(named, 100);
    assert!((150..=200).contains(&all), "{described}");
    let advice = sandbox.vigil("work", &["doctor"]).stdout;
    let fact = format!("not all: {all} parts looked at for every question");
    assert!(advice.contains_str(&fact), "{}", advice.as_bstr());
}

#[test]
fn the_repository_that_is_asked_about_gets_the_watches_of_another() {
    run_in_namespaces("limits::watches_for_one", &[]);
}

#[test]
#[ignore = "run by the test above"]
fn watches_for_one() {
    if !is_in_namespaces() {
        return;
    }
    set_inotify_limit("watches", 70);
    let sandbox = Sandbox::with_folders();
    sandbox.git_in("", &["clone", "-q", "work", "other"]);
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    command.env("VIGIL_DAEMON_IDLE_S", "12");
    let _serving = RunningDaemon::start(command);
    let is_watched = |name: &str| {
        let path = sandbox.path(name);
        let described = sandbox.daemon_status();
        let mut all = described["repositories"].as_array().unwrap().iter();
        let one = all.find(|one| one["path"].as_str() == path.to_str());
        one.is_some_and(|one| one["scanned"].as_array().unwrap().is_empty())
    };
    sandbox.assert_answered_as_by_git("other");
    assert!(is_watched("other"));
    sandbox.assert_answered_as_by_git("work");
    assert!(!is_watched("work"), "there were watches for both");
    while !is_watched("work") {
        sandbox.assert_answered_as_by_git("work");
    }
    // It was asked about, so it keeps its watches.
    sandbox.assert_answered_as_by_git("other");
    assert!(!is_watched("other"));
    sandbox.assert_changes_in_every_folder_are_seen();
}

#[test]
fn without_an_inotify_instance_every_change_is_seen() {
    run_in_namespaces("limits::few_instances", &[]);
}

#[test]
#[ignore = "run by the test above"]
fn few_instances() {
    if !is_in_namespaces() {
        return;
    }
    for count in [0, 1] {
        set_inotify_limit("instances", count);
        let sandbox = Sandbox::with_folders();
        let mut serving = sandbox.serve();
        sandbox.assert_changes_in_every_folder_are_seen();
        assert!(sandbox.question_counts().0 > 10, "{count}");
        assert!(serving.is_running());
    }
}

#[test]
fn a_daemon_that_may_write_no_files_sees_every_change() {
    let sandbox = Sandbox::with_folders();
    let mut serving = sandbox.serve_limited("ulimit -f 0").unwrap();
    sandbox.assert_changes_in_every_folder_are_seen();
    assert!(sandbox.question_counts().0 > 10);
    assert!(serving.is_running());
}

#[test]
fn with_few_descriptors_no_answer_is_wrong() {
    let mut most = 0;
    for count in [6, 12, 20, 64] {
        let mut sandbox = Sandbox::with_folders();
        // A daemon that cannot open what it needs may not accept clients.
        sandbox.is_impatient = true;
        let Some(mut serving) = sandbox.serve_limited(&format!("ulimit -n {count}")) else {
            continue;
        };
        sandbox.assert_changes_in_every_folder_are_seen();
        assert!(serving.is_running(), "{count}");
        most = count;
    }
    assert_eq!(most, 64);
}

#[test]
fn with_few_descriptors_what_is_untracked_far_below_is_seen() {
    let mut served = 0;
    let deep: String = (0..28).map(|number| format!("d{number}/")).collect();
    for count in [26, 30, 40] {
        let mut sandbox = Sandbox::with_repository();
        // A daemon that cannot open what it needs may not accept clients.
        sandbox.is_impatient = true;
        let Some(_serving) = sandbox.serve_limited(&format!("ulimit -n {count}")) else {
            continue;
        };
        sandbox.assert_answered_as_by_git("work");
        sandbox.write(&format!("work/{deep}new"), "");
        sandbox.assert_answered_as_by_git("work");
        served += 1;
    }
    assert!(served > 0);
}

#[test]
fn with_few_descriptors_no_prompt_misses_its_repository() {
    let mut served = 0;
    for count in 12..36 {
        let sandbox = Sandbox::with_repository();
        sandbox.write("work/new", "");
        let Some(serving) = sandbox.serve_limited(&format!("ulimit -n {count}")) else {
            continue;
        };
        for _ in 0..3 {
            let mut command = sandbox.command(VIGIL, "work", &["prompt"]);
            // A daemon that cannot open what it needs may not accept clients.
            let output = command.env_remove("VIGIL_DAEMON_PATIENCE_MS").output();
            let output = output.unwrap();
            assert_eq!(output.stdout.as_bstr(), "main ?1\n", "{count}");
        }
        drop(serving);
        served += 1;
    }
    assert!(served > 0);
}

#[test]
fn what_could_not_be_opened_is_read_by_the_next_question() {
    let mut sandbox = Sandbox::with_repository();
    sandbox.is_impatient = true;
    sandbox.git_in("work", &["config", "branch.main.remote", "."]);
    sandbox.git_in("work", &["config", "branch.main.merge", "refs/heads/other"]);
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    command.env("VIGIL_DAEMON_REST_S", "0");
    let mut serving = RunningDaemon::start(command);
    let ask = format!("--ask={}", sandbox.path("work").display());
    let answer = |is_by_daemon: bool, options: &[&str]| {
        let arguments = [&["gitstatusd", &ask], options].concat();
        let mut command = sandbox.impatient_command("work", &arguments);
        if !is_by_daemon {
            command.env("VIGIL_NO_DAEMON", "1");
        }
        command.output().unwrap().stdout
    };
    // From many to few: in the other order, a daemon that remembers what it could not read passes.
    for count in (8..48).rev() {
        // Each is a loose reference in a directory that is new.
        let tag = format!("count-{count}/tag");
        sandbox.git_in("work", &["commit", "-q", "--allow-empty", "-m", &tag]);
        sandbox.git_in("work", &["tag", &tag]);
        sandbox.git_in("work", &["branch", "-f", "other", "HEAD^"]);
        sandbox.write(&format!("work/new-{count}/new"), "");
        if count % 2 == 0 {
            sandbox.write("work/file", &tag);
            sandbox.git_in("work", &["stash", "-q"]);
        }
        // That it was too slow for a command is noted for some seconds.
        let _ = std::fs::remove_file(sandbox.runtime_folder().join("daemon.slow"));
        serving.limit_descriptors(Some(count));
        // With a scan, it is the scan that fails first.
        answer(true, &["--skip-index"]);
        if count % 3 == 0 {
            sandbox.full_status_by(VIGIL, "work");
        }
        serving.limit_descriptors(None);
        let [ours, expected] = [true, false].map(|is_by_daemon| answer(is_by_daemon, &[]));
        assert_eq!(ours.as_bstr(), expected.as_bstr(), "{count}");
        assert!(expected.contains_str(&tag));
        sandbox.assert_answered_as_by_git("work");
    }
    assert!(serving.is_running());
}

#[test]
fn with_little_memory_no_answer_is_wrong() {
    let mut served = 0;
    for mebibytes in [16, 32, 64, 128, 256] {
        let mut sandbox = Sandbox::with_folders();
        sandbox.is_impatient = true;
        let limit = format!("ulimit -v {}", mebibytes << 10);
        // It may end for lack of memory.
        let serving = sandbox.serve_limited(&limit);
        sandbox.assert_changes_in_every_folder_are_seen();
        served += usize::from(serving.is_some());
    }
    assert!(served > 0);
}
