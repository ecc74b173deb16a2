//! A session with a watch: asked right after each operation, it gives the same answers as one that looks at everything.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "all of this file is tests"
)]

use std::cell::RefCell;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use vigil_engine::prompt::PromptRequest;
use vigil_engine::session::{Session, UnchangedProof};
use vigil_engine::status::StatusRequest;
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::discover;
use vigil_model::request::{IgnoredMode, UntrackedMode};
use vigil_scan::progress::Progress;
use vigil_testkit::chance::Chance;
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::Sandbox;
use vigil_watch::Watcher;

/// A repository, and a folder next to it.
struct Playground(Sandbox, RefCell<HeldFile>);

/// What may be written through a descriptor that stays open.
enum HeldFile {
    Nothing,
    File(fs::File),
    /// Nothing from now on: files have got other hard links, and a write to one through a removed name is not reported.
    Never,
}

impl Playground {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.home().join("outside")).unwrap();
        for path in ["a", "d/a", "d/b", "d/e/a", "d/e/f/b", "g/h/a", "i/a"] {
            sandbox.write(path, format!("{path}\n"));
        }
        sandbox.git(["add", "-A"]);
        sandbox.git(["commit", "-qm", "first"]);
        Self(sandbox, RefCell::new(HeldFile::Nothing))
    }

    fn session(&self, watcher: Option<&Arc<Watcher>>) -> Session {
        let top = self.0.top();
        let environment = Environment::new(self.0.environment(), &top);
        let repository = discover(&environment, &top).unwrap();
        let is_kept = watcher.is_some();
        let mut session = Session::open(repository, is_kept, FilterStderr::Discard).unwrap();
        session.leave_state();
        if let Some(watcher) = watcher {
            session.watch_by(watcher.clone());
        }
        session
    }

    /// Returns a path that may exist.
    fn path(&self, random: &mut Chance) -> PathBuf {
        let names = ["a", "b", "d", "e", "f", "g", "h", "i", "x.o"];
        let mut path = self.0.top();
        for _ in 0..=random.below(4) {
            path.push(random.pick(&names));
        }
        path
    }

    fn random_change(&self, random: &mut Chance) -> String {
        let path = self.path(random);
        let other = self.path(random);
        let outside = self.0.home().join("outside").join(random.pick(&["m", "n"]));
        let choice = random.below(44);
        // What cannot be done is skipped.
        match choice {
            0..=4 => {
                let _ = fs::create_dir_all(path.parent().unwrap());
                let _ = fs::write(&path, format!("{}\n", random.below(5)));
            }
            5..=6 => drop(fs::remove_file(&path)),
            7 => drop(fs::remove_dir_all(&path)),
            8 => drop(fs::create_dir_all(&path)),
            9..=11 => drop(fs::rename(&path, &other)),
            12 => drop(fs::rename(&path, &outside)),
            13 => drop(fs::rename(&outside, &path)),
            14 => drop(symlink(random.pick(&["a", "d", "../i", "nowhere"]), &path)),
            15 => {
                let modes = [0o644, 0o755];
                if fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_file()) {
                    let mode = fs::Permissions::from_mode(modes[random.below(2)]);
                    let _ = fs::set_permissions(&path, mode);
                }
            }
            16 => {
                let folder = path.parent().unwrap();
                let text = random.pick(&["*.o\n", "a\n!b\n", "/e/\n", "", "*\n"]);
                let _ = fs::write(folder.join(".gitignore"), text);
            }
            17 => {
                let text = random.pick(&["* text=auto eol=crlf\n", "* -text\n", ""]);
                let _ = fs::write(path.parent().unwrap().join(".gitattributes"), text);
            }
            18 => {
                let info = self.0.top().join(".git/info/exclude");
                let _ = fs::write(info, random.pick(&["i\n", "*.o\n", ""]));
            }
            19 => {
                // It may then be written through a link that is not watched. Making that link causes no event by itself.
                self.1.replace(HeldFile::Never);
                let _ = fs::remove_file(&outside);
                let _ = fs::hard_link(&path, &outside);
                if fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_file()) {
                    let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o644));
                }
                let _ = fs::write(&outside, format!("{}\n", random.below(100)));
            }
            20 => drop(self.0.try_git(["add", "-A"])),
            21 => drop(self.0.try_git(["commit", "-qam", "next"])),
            22 => drop(self.0.try_git(["reset", "-q", "--hard"])),
            23 => drop(self.0.try_git(["add", path.to_str().unwrap()])),
            24 => {
                let arguments = ["rm", "-rq", "--cached", path.to_str().unwrap()];
                drop(self.0.try_git(arguments));
            }
            25 => drop(self.0.try_git(["update-index", "-q", "--refresh"])),
            26 => drop(self.0.try_git(["checkout", "-qf", "HEAD~1"])),
            27 => drop(self.0.try_git(["stash", "-qu"])),
            28 => {
                let index = fs::File::options()
                    .append(true)
                    .open(self.0.git_dir().join("index"));
                let _ = index.unwrap().set_modified(SystemTime::now());
            }
            29 => drop(renameat_with(
                CWD,
                &path,
                CWD,
                &other,
                RenameFlags::EXCHANGE,
            )),
            30 => drop(renameat_with(
                CWD,
                &path,
                CWD,
                &outside,
                RenameFlags::EXCHANGE,
            )),
            31 => {
                let is_file = fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_file());
                let mut held = self.1.borrow_mut();
                if is_file && !matches!(*held, HeldFile::Never) {
                    let file = fs::File::options().write(true).open(&path);
                    *held = HeldFile::File(file.unwrap());
                }
            }
            32..=33 => {
                if let HeldFile::File(file) = &mut *self.1.borrow_mut() {
                    file.write_all(b"held\n").unwrap();
                }
            }
            35..=36 => {
                // Rules in the index, which count if they are not checked out.
                let name = random.pick(&[".gitignore", ".gitattributes"]);
                let file = path.parent().unwrap().join(name);
                let flag = random.pick(&["--skip-worktree", "--no-skip-worktree"]);
                let file = file.to_str().unwrap();
                drop(self.0.try_git(["update-index", flag, file]));
                if choice == 36 {
                    let _ = fs::remove_file(file);
                }
            }
            37 => {
                let name = random.pick(&[".gitignore", ".gitattributes"]);
                let file = path.parent().unwrap().join(name);
                let arguments = random.pick(&[["rm", "-q", "--cached"], ["add", "-q", "-f"]]);
                let arguments = [&arguments[..], &[file.to_str().unwrap()]].concat();
                drop(self.0.try_git(arguments));
            }
            38..=39 => {
                // What compilers leave behind, in folders of their own or not.
                let _ = fs::create_dir_all(&path);
                let _ = fs::write(path.join("x.o"), "");
                let _ = fs::write(path.join("y.o"), format!("{}\n", random.below(3)));
            }
            40..=41 => {
                // A file and files below it, which the index can hold as sides of a conflict.
                let name = |path: &PathBuf| path.strip_prefix(self.0.top()).map(PathBuf::from);
                let id = self
                    .0
                    .git_with_input(["hash-object", "-w", "--stdin"], "side\n");
                let lines = [name(&path), name(&other)].map(|name| {
                    let mode = random.pick(&["0", "100644", "120000"]);
                    format!(
                        "{mode} {id} {}\t{}\n",
                        random.below(4),
                        name.unwrap().display()
                    )
                });
                self.0
                    .output("", ["update-index", "--index-info"], lines.concat());
            }
            42..=43 => {
                let (key, value) = random.pick(&[
                    ("branch.other.remote", "elsewhere"),
                    ("user.name", "Somebody"),
                    ("core.fileMode", "false"),
                    ("core.fileMode", "true"),
                    ("core.autocrlf", "input"),
                    ("core.autocrlf", "false"),
                ]);
                drop(self.0.try_git(["config", key, value]));
            }
            _ => {
                if path.is_dir() && path != self.0.top() {
                    drop(self.0.try_git(["init", "-q", path.to_str().unwrap()]));
                }
            }
        }
        format!("{choice} {} {}", path.display(), other.display())
    }

    /// Asserts that `watched` answers each of the questions as a session does that looks at everything.
    fn assert_same(&self, watched: &mut Session, questions: &[usize], what: &str) {
        for question in questions {
            let unchanged = watched.prove_unchanged();
            let answer = answer_of(watched, *question, unchanged);
            let truth = answer_of(&mut self.session(None), *question, None);
            assert_eq!(answer, truth, "{what}, question {question}");
        }
    }
}

/// Returns the answer to one of the questions that both sessions are asked.
fn answer_of(session: &mut Session, question: usize, unchanged: Option<UnchangedProof>) -> String {
    let request = |untracked, ignored| StatusRequest {
        untracked,
        ignored,
        ..StatusRequest::default()
    };
    let request = match question {
        0 | 7 => {
            let prompt = session.prompt(&PromptRequest::EVERYTHING, unchanged);
            return format!("{prompt:?}");
        }
        1 => request(UntrackedMode::All, IgnoredMode::No),
        2 => request(UntrackedMode::Normal, IgnoredMode::Traditional),
        3 => request(UntrackedMode::No, IgnoredMode::No),
        _ => request(UntrackedMode::Normal, IgnoredMode::No),
    };
    match session.status(&request) {
        Ok(status) => format!(
            "{:#?} {:#?} {:#?} {:?}",
            status.changes, status.untracked, status.ignored, status.warnings
        ),
        Err(error) => error.to_string(),
    }
}

fn compare_watched_sessions(seeds: std::ops::Range<u64>, steps: usize) {
    let watcher = Arc::new(Watcher::new().unwrap());
    for seed in seeds {
        let mut random = Chance::new(seed);
        let sandbox = Playground::new();
        // They share the events, and scan at different times.
        let mut sessions = [(); 2].map(|()| sandbox.session(Some(&watcher)));
        let mut done = Vec::new();
        for step in 0..steps {
            for _ in 0..=random.below(2) {
                done.push(sandbox.random_change(&mut random));
            }
            let question = random.below(8);
            let watched = &mut sessions[random.below(2)];
            let mut unchanged = watched.prove_unchanged();
            if !watched.is_fresh(unchanged) {
                let earlier = std::mem::replace(watched, sandbox.session(Some(&watcher)));
                watched.take_over_from(earlier);
                unchanged = watched.prove_unchanged();
            }
            let answer = answer_of(watched, question, unchanged);
            let truth = answer_of(&mut sandbox.session(None), question, None);
            assert_eq!(answer, truth, "seed {seed}, step {step}: {done:#?}");
        }
    }
    assert_eq!(watcher.watches(), 0);
}

#[test]
fn a_watched_session_answers_as_one_that_looks_at_everything() {
    let seeds = std::env::var("VIGIL_WATCHED_SEEDS").ok();
    let count = seeds.and_then(|seeds| seeds.parse().ok()).unwrap_or(12);
    compare_watched_sessions(0..count, 60);
}

#[test]
fn a_link_in_the_place_of_a_directory_is_followed_anew_each_time() {
    let play = Playground::new();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut watched = play.session(Some(&watcher));
    fs::remove_dir_all(play.0.top().join("d")).unwrap();
    // Nothing is heard of what happens outside.
    let later = play.0.home().join("outside/later");
    symlink(&later, play.0.top().join("d")).unwrap();
    for target in [None, Some("later"), Some("../elsewhere")] {
        let _ = fs::remove_file(&later);
        if let Some(target) = target {
            symlink(target, &later).unwrap();
        }
        play.assert_same(&mut watched, &[0, 1], &format!("{target:?}"));
    }
}

#[test]
fn a_directory_in_the_place_of_a_file_may_become_a_repository_and_cease_to_be_one() {
    let play = Playground::new();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut watched = play.session(Some(&watcher));
    let mut same = |step: &str| {
        play.assert_same(&mut watched, &[0, 3, 4], step);
    };
    same("a file");
    for place in ["a", "d/b"] {
        let place = play.0.top().join(place);
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        same("a directory");
        play.0.git_in(&place, ["init", "-q"]);
        same("a repository without commits");
        // Nothing is heard of what happens in the repository.
        let commit = ["commit", "-q", "--allow-empty", "-m", "first"];
        play.0.git_in(&place, commit);
        same("a repository");
        let (head, elsewhere) = (place.join(".git/HEAD"), place.join(".git/HEAD.old"));
        fs::rename(&head, &elsewhere).unwrap();
        same("a damaged repository");
        fs::rename(&elsewhere, &head).unwrap();
        same("a repository again");
    }
}

#[test]
fn a_file_that_only_its_contents_told_apart_is_looked_at_again_after_a_younger_index() {
    let play = Playground::new();
    play.0.git(["config", "core.trustctime", "false"]);
    let top = play.0.top();
    let time = SystemTime::now() - Duration::from_secs(100);
    let set_time = |path: &str, seconds: u64| {
        let file = fs::File::options()
            .write(true)
            .open(top.join(path))
            .unwrap();
        let time = time + Duration::from_secs(seconds);
        file.set_modified(time).unwrap();
    };
    set_time("a", 0);
    play.0.git(["update-index", "--refresh"]);
    fs::write(top.join("a"), "A\n").unwrap();
    fs::write(top.join("i/a"), "longer than it was\n").unwrap();
    set_time("a", 0);
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut watched = play.session(Some(&watcher));
    // Not older than the index, and then older.
    for (seconds, changes) in [(0, 2), (5, 1), (6, 1)] {
        set_time(".git/index", seconds);
        let unchanged = watched.prove_unchanged();
        let answer = answer_of(&mut watched, 4, unchanged);
        assert_eq!(answer.matches("Modified").count(), changes, "{answer}");
        assert_eq!(answer, answer_of(&mut play.session(None), 4, None));
    }
}

#[test]
fn an_index_of_an_impossible_time_hides_no_change_from_the_next_one() {
    let play = Playground::new();
    play.0.git(["config", "core.trustctime", "false"]);
    let top = play.0.top();
    let set_time = |path: &str, time: SystemTime| {
        let file = fs::File::options().write(true).open(top.join(path));
        file.unwrap().set_modified(time).unwrap();
    };
    let (epoch, second) = (SystemTime::UNIX_EPOCH, Duration::from_secs(1));
    set_time("a", epoch + 1_000 * second);
    play.0.git(["update-index", "--refresh"]);
    fs::write(top.join("a"), "A\n").unwrap();
    set_time("a", epoch + 1_000 * second);
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut watched = play.session(Some(&watcher));
    // git keeps 32 bits of the time, and reads those of a time before 1970 as a late one.
    for (time, changes) in [(epoch - second, 0), (epoch + 900 * second, 1)] {
        set_time(".git/index", time);
        let unchanged = watched.prove_unchanged();
        let answer = answer_of(&mut watched, 4, unchanged);
        assert_eq!(answer.matches("Modified").count(), changes, "{answer}");
        assert_eq!(answer, answer_of(&mut play.session(None), 4, None));
    }
}

#[test]
fn a_file_with_a_conflict_below_it_is_untracked_as_long_as_it_is_not_in_the_index() {
    let play = Playground::new();
    fs::write(play.0.top().join("side"), "side\n").unwrap();
    let id = play.0.git(["hash-object", "-w", "side"]);
    let input = format!("100644 {id} 1\tside/a\n100644 {id} 3\tside/a\n");
    play.0
        .git_with_input(["update-index", "--index-info"], input);
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut watched = play.session(Some(&watcher));
    for mode in ["0", "100644", "0"] {
        let input = format!("{mode} {id} 0\tside\n");
        play.0
            .git_with_input(["update-index", "--index-info"], input);
        play.assert_same(&mut watched, &[1, 4], mode);
    }
}

#[test]
fn a_file_that_gets_another_link_again_is_looked_at_each_time_again() {
    let play = Playground::new();
    let at = |path: &str| play.0.top().join(path);
    fs::write(at(".git/info/exclude"), "/x.o\n").unwrap();
    let outside = play.0.home().join("outside/m");
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut watched = play.session(Some(&watcher));
    let mut same = |step: &str| {
        // Links that came just before a look prove nothing.
        wait_for_tick();
        play.assert_same(&mut watched, &[3, 4, 3], step);
    };
    same("one link");
    for round in 0..2 {
        fs::hard_link(at("d/a"), &outside).unwrap();
        fs::set_permissions(at("d/a"), fs::Permissions::from_mode(0o644)).unwrap();
        same("a link outside");
        fs::remove_file(&outside).unwrap();
        same("one link again");
        fs::hard_link(at("d/a"), at("x.o")).unwrap();
        same("a link beside");
        fs::write(at("x.o"), format!("written by its other name {round}\n")).unwrap();
        same("a write");
        fs::remove_file(at("x.o")).unwrap();
        fs::write(at("d/a"), "d/a\n").unwrap();
        same("as it was");
    }
}

#[test]
fn attributes_in_conflict_that_are_not_checked_out_count_by_our_side() {
    let play = Playground::new();
    let write = |path: &str, text: &str| fs::write(play.0.top().join(path), text).unwrap();
    write(".gitattributes", "a text\n");
    write("a", "a\r\n");
    play.0.git(["add", "a"]);
    fs::remove_file(play.0.top().join(".gitattributes")).unwrap();
    // Its contents decide.
    let file = fs::File::options().write(true).open(play.0.top().join("a"));
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    file.unwrap().set_modified(long_ago).unwrap();
    let blob = |text: &str| {
        play.0
            .git_with_input(["hash-object", "-w", "--stdin"], text)
    };
    let base = blob("");
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut watched = play.session(Some(&watcher));
    for ours in ["a text\n", "a -text\n", "a text\n"] {
        let sides = [(1, &base), (2, &blob(ours)), (3, &base)];
        let sides = sides.map(|(side, id)| format!("100644 {id} {side}\t.gitattributes\n"));
        let input = sides.concat();
        play.0
            .git_with_input(["update-index", "--index-info"], input);
        play.assert_same(&mut watched, &[3, 4], &format!("{ours:?}"));
    }
}

#[test]
fn attributes_that_come_back_count_at_once() {
    let play = Playground::new();
    let write = |path: &str, text: &str| fs::write(play.0.top().join(path), text).unwrap();
    write(".gitattributes", "a text\n");
    write("a", "a\r\n");
    play.0.git(["add", ".gitattributes", "a"]);
    fs::remove_file(play.0.top().join(".gitattributes")).unwrap();
    // Its contents decide.
    let file = fs::File::options().write(true).open(play.0.top().join("a"));
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    file.unwrap().set_modified(long_ago).unwrap();
    let object = play.0.id(":.gitattributes").to_string();
    let object = play.0.loose_object(&object);
    let kept = object.with_extension("kept");
    let watcher = Arc::new(Watcher::new().unwrap());
    for damage in [None, Some("damaged")] {
        let mut watched = play.session(Some(&watcher));
        fs::rename(&object, &kept).unwrap();
        if let Some(damage) = damage {
            fs::write(&object, damage).unwrap();
        }
        let request = StatusRequest::default();
        assert_eq!(watched.status(&request).is_err(), damage.is_some());
        fs::rename(&kept, &object).unwrap();
        play.assert_same(&mut watched, &[1, 3, 4], &format!("{damage:?}"));
    }
    for damage in [None, Some("damaged")] {
        let mut watched = play.session(Some(&watcher));
        fs::rename(&object, &kept).unwrap();
        play.assert_same(&mut watched, &[0, 0], &format!("without, {damage:?}"));
        // What is not looked at again is kept, but it does not hold without a look for the object.
        assert!(watched.basis("a".into()).is_some());
        assert!(!watched.watches_everything());
        if let Some(damage) = damage {
            fs::write(&object, damage).unwrap();
            let error = watched.prompt(&PromptRequest::EVERYTHING, None);
            assert!(error.unwrap_err().to_string().contains("corrupt"));
        }
        fs::rename(&kept, &object).unwrap();
        play.assert_same(&mut watched, &[0, 0], &format!("with, {damage:?}"));
        assert!(watched.watches_everything());
    }
}

#[test]
fn a_working_copy_with_a_submodule_or_an_operation_in_progress_is_not_fully_watched() {
    let play = Playground::new();
    let watcher = Arc::new(Watcher::new().unwrap());
    let watches_everything = |session: &mut Session| {
        let unchanged = session.prove_unchanged();
        answer_of(session, 1, unchanged);
        session.watches_everything()
    };
    let mut session = play.session(Some(&watcher));
    assert!(watches_everything(&mut session));
    // It counts its steps in files of its own.
    let operation = play.0.git_dir().join("rebase-merge");
    fs::create_dir(&operation).unwrap();
    assert!(!watches_everything(&mut session));
    fs::remove_dir(&operation).unwrap();
    assert!(watches_everything(&mut session));
    play.0.git(["init", "-q", "sub"]);
    play.0
        .git_in("sub", ["commit", "-q", "--allow-empty", "-m", "first"]);
    play.0.git(["add", "sub"]);
    assert!(!watches_everything(&mut session));
    play.0.git(["rm", "-qf", "--cached", "sub"]);
    fs::remove_dir_all(play.0.top().join("sub")).unwrap();
    assert!(watches_everything(&mut session));
}

#[test]
fn a_large_folder_that_comes_and_goes_does_not_cause_a_full_scan() {
    let play = Playground::new();
    let top = play.0.top();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut session = play.session(Some(&watcher));
    let request = StatusRequest {
        untracked: UntrackedMode::All,
        ..StatusRequest::default()
    };
    let mut untracked = |before: usize| {
        let untracked = session.status(&request).unwrap().untracked.len();
        assert_eq!(untracked, before);
        session.basis("a".into()).unwrap().looked_at_all
    };
    let first = untracked(0);
    // More than are looked at one by one, written in parts that fit in the kernel's queue.
    const FOLDERS: usize = 5;
    const FILES: usize = 5000;
    for folder in 0..FOLDERS {
        let folder = top.join(format!("g/many/{folder}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..FILES {
            fs::write(folder.join(file.to_string()), "").unwrap();
        }
        watcher.read_events();
    }
    // A new folder with this many entries has more than there are tracked files.
    let second = untracked(FOLDERS * FILES);
    for folder in 0..FOLDERS {
        fs::remove_dir_all(top.join(format!("g/many/{folder}"))).unwrap();
        watcher.read_events();
    }
    assert_eq!(untracked(0), second);
    fs::remove_dir(top.join("g/many")).unwrap();
    assert_eq!(untracked(0), second);
    assert!(first <= second);
}

#[test]
fn another_question_or_rule_scans_no_tracked_file_again() {
    let play = Playground::new();
    let watcher = Arc::new(Watcher::new().unwrap());
    let mut session = play.session(Some(&watcher));
    let mut looked_at = |untracked, ignored| {
        let progress = Arc::new(Progress::default());
        let request = StatusRequest {
            untracked,
            ignored,
            progress: Some(progress.clone()),
            ..StatusRequest::default()
        };
        let status = session.status(&request).unwrap();
        (progress.counts().0, status.untracked.len())
    };
    assert_eq!(looked_at(UntrackedMode::Normal, IgnoredMode::No), (7, 0));
    fs::create_dir(play.0.top().join("new")).unwrap();
    for file in ["new/a", "new/b", "d/new"] {
        fs::write(play.0.top().join(file), "").unwrap();
    }
    for (untracked, ignored, shown) in [
        (UntrackedMode::No, IgnoredMode::No, 0),
        (UntrackedMode::All, IgnoredMode::No, 3),
        (UntrackedMode::Normal, IgnoredMode::Traditional, 2),
        (UntrackedMode::Normal, IgnoredMode::No, 2),
    ] {
        assert_eq!(looked_at(untracked, ignored), (0, shown));
    }
    for (file, rules, shown) in [
        (".git/info/exclude", "d/new\n", 1),
        (".git/info/exclude", "", 2),
        (".gitignore", "d/new\n", 2),
        (".gitignore", "", 3),
        ("d/.gitignore", "/new\n", 3),
        ("d/.gitignore", "", 4),
        ("new/.gitignore", "*\n", 3),
    ] {
        let path = play.0.top().join(file);
        fs::write(&path, rules).unwrap();
        // Written in the same tick as it is read: its stamp proves nothing, but a later write causes an event.
        let later = SystemTime::now() + Duration::from_secs(3600);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(later)
            .unwrap();
        let looked_at = looked_at(UntrackedMode::Normal, IgnoredMode::No);
        assert_eq!(looked_at, (0, shown));
    }
}
