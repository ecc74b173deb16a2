//! Many changes at once, or a repository that disappears: a question right after is answered as by git.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use vigil_testkit::sandbox::skip_test;

use super::sandbox::{Sandbox, VIGIL};

/// How many files make a storm, unless `VIGIL_TEST_STORM_FILES` is set.
const STORM_FILES: usize = 20_000;

/// The longest event queue that is made to overflow.
const QUEUE_MAX: usize = 200_000;

fn make_files(folder: &Path, count: usize) {
    fs::create_dir_all(folder).unwrap();
    for number in 0..count {
        fs::write(folder.join(format!("f{number}")), "").unwrap();
    }
}

/// Asks continuously while `change` runs. Returns all output, with the exit codes.
fn ask_during(sandbox: &Sandbox, change: impl FnOnce() + Send) -> Vec<(Option<i32>, Vec<u8>)> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut all = Vec::new();
                loop {
                    let ends = is_over.load(Ordering::Relaxed);
                    // Run in a folder that persists.
                    let mut command =
                        sandbox.command(VIGIL, "", &["status", "--porcelain", "-unormal"]);
                    command
                        .env("GIT_DIR", sandbox.path("work/.git"))
                        .env("GIT_WORK_TREE", sandbox.path("work"));
                    let output = command.output().unwrap();
                    all.push((output.status.code(), output.stdout));
                    if ends {
                        return all;
                    }
                }
            })
        });
        scope.spawn(change).join().unwrap();
        is_over.store(true, Ordering::Relaxed);
        clients.map(|client| client.join().unwrap()).concat()
    })
}

#[test]
fn lost_events_make_no_answer_wrong() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    if limit > QUEUE_MAX {
        return skip_test("lost_events_make_no_answer_wrong", "its queue is too long");
    }
    let sandbox = Sandbox::with_repository();
    sandbox.write("work/burst/first", "");
    let serving = sandbox.serve();
    for round in 0..3 {
        sandbox.assert_answered_as_by_git("work");
        assert!(sandbox.watch_count() > 0);
        serving.signal(Signal::STOP);
        serving.wait_until_halted();
        // Each of these causes at least one event, and consecutive names differ.
        make_files(&sandbox.path(&format!("work/burst/{round}")), 1);
        make_files(&sandbox.path("work/burst"), limit / 2 + 1);
        fs::remove_dir_all(sandbox.path("work/burst")).unwrap();
        fs::create_dir(sandbox.path("work/burst")).unwrap();
        // There are no events for what follows.
        sandbox.write("work/file", &format!("changed {round}\n"));
        sandbox.write(&format!("work/dir/new{round}"), "");
        let (from, to) = (format!("work/dir{round}"), format!("work/dir{}", round + 1));
        let from = if round == 0 {
            "work/dir".to_owned()
        } else {
            from
        };
        fs::rename(sandbox.path(&from), sandbox.path(&to)).unwrap();
        serving.signal(Signal::CONT);
        let (answered, _) = sandbox.question_counts();
        sandbox.assert_answered_as_by_git("work");
        assert_eq!(sandbox.question_counts().0, answered + 2);
        sandbox.write(&format!("{to}/newer"), "");
        sandbox.assert_answered_as_by_git("work");
    }
}

#[test]
fn a_folder_of_very_many_files_comes_and_goes_while_it_is_asked() {
    let count = std::env::var("VIGIL_TEST_STORM_FILES").ok();
    let count = count.map_or(STORM_FILES, |count| count.parse().unwrap());
    let sandbox = Sandbox::with_repository();
    sandbox.write("work/.gitignore", "ignored\n");
    let mut serving = sandbox.serve();
    sandbox.assert_answered_as_by_git("work");
    let storm = sandbox.path("work/storm");
    for (round, folder) in ["storm", "ignored"].into_iter().enumerate() {
        let output = ask_during(&sandbox, || {
            make_files(&storm, count);
            fs::rename(&storm, sandbox.path("work/dir").join(folder)).unwrap();
        });
        assert!(
            output.iter().all(|(code, _)| *code == Some(0)),
            "{output:?}"
        );
        sandbox.write("work/file", &format!("changed {round}\n"));
        sandbox.assert_answered_as_by_git("work");
        let output = ask_during(&sandbox, || {
            fs::remove_dir_all(sandbox.path("work/dir").join(folder)).unwrap();
        });
        assert!(
            output.iter().all(|(code, _)| *code == Some(0)),
            "{output:?}"
        );
        sandbox.assert_answered_as_by_git("work");
    }
    assert!(serving.is_running());
}

#[test]
fn a_repository_that_is_replaced_or_goes_while_it_is_asked() {
    let sandbox = Sandbox::with_repository();
    sandbox.make_repository("other", &[]);
    sandbox.write("other/file", "changed\n");
    sandbox.write("other/only here", "");
    let mut serving = sandbox.serve();
    for _ in 0..3 {
        sandbox.assert_answered_as_by_git("work");
        sandbox.assert_answered_as_by_git("other");
    }
    let [work, other, away] = ["work", "other", "away"].map(|name| sandbox.path(name));
    let swap = || {
        fs::rename(&work, &away).unwrap();
        fs::rename(&other, &work).unwrap();
        fs::rename(&away, &other).unwrap();
    };
    for _ in 0..4 {
        ask_during(&sandbox, || (0..51).for_each(|_| swap()));
        sandbox.assert_answered_as_by_git("work");
        sandbox.assert_answered_as_by_git("other");
        sandbox.write("work/new", "");
        sandbox.assert_answered_as_by_git("work");
        fs::remove_file(work.join("new")).unwrap();
    }
    ask_during(&sandbox, || fs::remove_dir_all(work.join(".git")).unwrap());
    sandbox.assert_answered_as_by_git("work");
    ask_during(&sandbox, || {
        fs::remove_dir_all(&work).unwrap();
        fs::rename(&other, &work).unwrap();
    });
    sandbox.assert_answered_as_by_git("work");
    ask_during(&sandbox, || {
        fs::remove_dir_all(&work).unwrap();
        sandbox.make_repository("work", &[]);
    });
    sandbox.assert_answered_as_by_git("work");
    assert!(serving.is_running());
}
