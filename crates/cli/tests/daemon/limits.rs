//! Tight limits on the daemon's resources: it answers more slowly, or not at all, but never wrongly.

use bstr::ByteSlice;

use super::namespaces::{is_inside, run};
use super::sandbox::{Sandbox, Serving, VIGIL};

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
    fn hears_of_every_folder(&self) {
        self.is_answered_as_by_git("work");
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
                self.is_answered_as_by_git("work");
            }
        }
        let folder = |name| self.path("work").join(name);
        std::fs::rename(folder("few/2"), folder("many")).unwrap();
        self.is_answered_as_by_git("work");
        self.write("work/many/file2", "in a folder that moved\n");
        self.is_answered_as_by_git("work");
        self.git_in("work", &["reset", "-q", "--hard"]);
        self.is_answered_as_by_git("work");
        self.git_in("work", &["clean", "-qfd"]);
        self.is_answered_as_by_git("work");
    }

    /// Starts a daemon under `limit`, which is set by a shell.
    fn serve_limited(&self, limit: &str) -> Option<Serving> {
        let script = format!("{limit} && exec {VIGIL} daemon run 2>/dev/null");
        Serving::try_start(self.command("sh", "", &["-c", &script]))
    }
}

fn folder_file(number: usize) -> String {
    format!("work/few/{}/{}/file{number}", number % 5, number / 5)
}

fn allow(what: &str, count: usize) {
    let path = format!("/proc/sys/user/max_inotify_{what}");
    std::fs::write(path, count.to_string()).unwrap();
}

#[test]
fn without_watches_for_all_folders_every_change_is_seen() {
    run("limits::few_watches", &[]);
}

#[test]
#[ignore = "run by the test above"]
fn few_watches() {
    if !is_inside() {
        return;
    }
    for count in [0, 1, 7, 30] {
        allow("watches", count);
        let sandbox = Sandbox::with_folders();
        let mut serving = sandbox.serve();
        sandbox.hears_of_every_folder();
        assert!(sandbox.watches() <= count as u64);
        assert!(sandbox.counts().0 > 10, "{count}");
        // The limit rises suddenly, and then falls below what is in use.
        for later in [10_000, 3] {
            allow("watches", later);
            sandbox.hears_of_every_folder();
        }
        assert!(serving.lives());
    }
}

#[test]
fn who_is_asked_about_has_the_watches_of_who_is_not() {
    run("limits::watches_for_one", &[]);
}

#[test]
#[ignore = "run by the test above"]
fn watches_for_one() {
    if !is_inside() {
        return;
    }
    allow("watches", 70);
    let sandbox = Sandbox::with_folders();
    sandbox.git_in("", &["clone", "-q", "work", "other"]);
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    command.env("VIGIL_DAEMON_IDLE_S", "12");
    let _serving = Serving::start(command);
    let is_watched = |name: &str| {
        let path = sandbox.path(name);
        let described = sandbox.described();
        let mut all = described["repositories"].as_array().unwrap().iter();
        let one = all.find(|one| one["path"].as_str() == path.to_str());
        one.is_some_and(|one| one["scanned"].as_array().unwrap().is_empty())
    };
    sandbox.is_answered_as_by_git("other");
    assert!(is_watched("other"));
    sandbox.is_answered_as_by_git("work");
    assert!(!is_watched("work"), "there were watches for both");
    while !is_watched("work") {
        sandbox.is_answered_as_by_git("work");
    }
    // It was asked about, so it keeps its watches.
    sandbox.is_answered_as_by_git("other");
    assert!(!is_watched("other"));
    sandbox.hears_of_every_folder();
}

#[test]
fn without_an_instance_every_change_is_seen() {
    run("limits::few_instances", &[]);
}

#[test]
#[ignore = "run by the test above"]
fn few_instances() {
    if !is_inside() {
        return;
    }
    for count in [0, 1] {
        allow("instances", count);
        let sandbox = Sandbox::with_folders();
        let mut serving = sandbox.serve();
        sandbox.hears_of_every_folder();
        assert!(sandbox.counts().0 > 10, "{count}");
        assert!(serving.lives());
    }
}

#[test]
fn where_it_may_write_nothing_it_answers_and_leaves_nothing() {
    let sandbox = Sandbox::with_folders();
    let mut serving = sandbox.serve_limited("ulimit -f 0").unwrap();
    sandbox.hears_of_every_folder();
    assert!(sandbox.counts().0 > 10);
    assert!(serving.lives());
}

#[test]
fn with_few_descriptors_it_is_never_wrong() {
    let mut most = 0;
    for count in [6, 12, 20, 64] {
        let mut sandbox = Sandbox::with_folders();
        // A daemon that cannot open what it needs may not accept clients.
        sandbox.is_impatient = true;
        let Some(mut serving) = sandbox.serve_limited(&format!("ulimit -n {count}")) else {
            continue;
        };
        sandbox.hears_of_every_folder();
        assert!(serving.lives(), "{count}");
        most = count;
    }
    assert_eq!(most, 64);
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
fn with_little_memory_it_is_never_wrong() {
    let mut served = 0;
    for mebibytes in [16, 32, 64, 128, 256] {
        let mut sandbox = Sandbox::with_folders();
        sandbox.is_impatient = true;
        let limit = format!("ulimit -v {}", mebibytes << 10);
        // It may end for lack of memory.
        let serving = sandbox.serve_limited(&limit);
        sandbox.hears_of_every_folder();
        served += usize::from(serving.is_some());
    }
    assert!(served > 0);
}
