use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use tempfile::TempDir;
use vigil_hg::checkout::Phase;
use vigil_hg::patterns::{Matcher, MatcherQuestion};
use vigil_hg::subrepositories::Subrepositories;
use vigil_model::{HashKind, ObjectId};
use vigil_scan::System;
use vigil_store::{NoSteps, PublishOutcome};

use super::*;
use crate::hg_system::{HgSystemInputs, Ignored};
use crate::session::audit::Extent;

/// A working copy whose dirstate is written by hand.
struct WorkingCopy(TempDir);

impl WorkingCopy {
    fn new() -> Self {
        let working = Self(tempfile::tempdir().unwrap());
        fs::create_dir(working.path(".hg")).unwrap();
        working.write(".hg/requires", "revlogv1\n");
        working
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, contents: &str) {
        let path = self.path(name);
        let _ = fs::create_dir_all(path.parent().unwrap());
        let _ = fs::write(path, contents);
    }

    /// Makes a file old enough for its stamp to prove something.
    fn age(&self, name: &str) {
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let file = fs::File::options()
            .write(true)
            .open(self.path(name))
            .unwrap();
        file.set_modified(old).unwrap();
    }

    /// Writes a dirstate with this first parent and the files as they are on disk, each with the letter of its state.
    fn record(&self, parent: u8, files: &[(&str, u8)]) {
        let mut bytes = vec![parent; 20];
        bytes.extend([0; 20]);
        for (name, state) in files {
            let facts = match fs::symlink_metadata(self.path(name)) {
                Ok(seen) if seen.is_file() => [
                    seen.mode(),
                    u32::try_from(seen.size()).unwrap(),
                    u32::try_from(seen.mtime()).unwrap(),
                ],
                _ => [0o100_644, 7, 7],
            };
            bytes.push(*state);
            bytes.extend(facts.map(u32::to_be_bytes).concat());
            bytes.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
            bytes.extend(name.as_bytes());
        }
        let fresh = self.path(".hg/dirstate.new");
        fs::write(&fresh, bytes).unwrap();
        fs::rename(fresh, self.path(".hg/dirstate")).unwrap();
    }

    fn repository(&self) -> Repository {
        Repository::open(&self.0.path().canonicalize().unwrap()).unwrap()
    }

    /// Makes a session, with a state on disk if `is_saved`.
    fn session(&self, is_saved: bool) -> HgSession {
        let repository = self.repository();
        let places = match is_saved {
            true => places(&repository, |_| None),
            false => Vec::new(),
        };
        HgSession::new(&repository, places)
    }

    fn ask(&self, session: &mut HgSession, clean: bool, ignored: bool) -> Result<HgStatus, Abort> {
        self.ask_for(session, clean, true, ignored)
    }

    fn ask_for(
        &self,
        session: &mut HgSession,
        clean: bool,
        unknown: bool,
        ignored: bool,
    ) -> Result<HgStatus, Abort> {
        let repository = self.repository();
        session.dirstate(&repository)?;
        let files: Vec<PathBuf> = [self.repository().root.join(".hgignore")]
            .into_iter()
            .filter(|path| path.exists())
            .collect();
        let read = session.ignore(&files);
        let matcher = Matcher::new(&MatcherQuestion {
            root: &repository.root,
            cwd: &repository.root,
            patterns: &[],
            include: &[],
            exclude: &[],
            subrepositories: Some(&Subrepositories::default()),
        });
        session.status(&HgRequest {
            repository: &repository,
            ignore: read.ignore.clone()?,
            matcher: Arc::new(matcher?),
            clean,
            unknown,
            ignored,
        })
    }
}

const FILES: [&str; 6] = ["a", "d/b", "d/e/c", "d/e/d", "f.o", "g/h"];

fn with_files() -> WorkingCopy {
    let working = WorkingCopy::new();
    for name in FILES {
        working.write(name, name);
        working.age(name);
    }
    working.record(0, &FILES.map(|name| (name, b'n')));
    working
}

#[test]
fn another_process_lists_no_unchanged_folder() {
    let working = with_files();
    working.write("d/unknown", "");
    let mut first = working.session(true);
    let status = working.ask(&mut first, false, false).unwrap();
    assert_eq!(
        (status.lists.unknown.len(), status.lists.modified.len()),
        (1, 0)
    );
    // A stamp taken within the tick of the change is not trusted.
    vigil_testkit::clock::wait_for_tick();
    working.ask(&mut first, false, false).unwrap();
    first.save(&NoSteps).unwrap();
    let mut second = working.session(true);
    second.dirstate(&working.repository()).unwrap();
    let recorded = second.recorded.as_ref().unwrap();
    let memory = recorded.memory.as_ref().unwrap();
    let listed = (0..4).filter(|number| memory.has_listing(*number)).count();
    // Making the folder for the state changed `.hg`, but not the top.
    assert_eq!(listed, 4);
    assert!(!recorded.needs_saving());
    let again = working.ask(&mut second, false, false).unwrap();
    assert_eq!(again, status);
    // After a new dirstate, what is known of unchanged files is kept.
    working.write("d/e/new", "");
    working.record(
        0,
        &[
            ("a", b'n'),
            ("d/b", b'n'),
            ("d/e/c", b'n'),
            ("d/e/new", b'a'),
        ],
    );
    let mut third = working.session(true);
    third.dirstate(&working.repository()).unwrap();
    assert!(third.recorded.as_ref().unwrap().needs_saving());
    let status = working.ask(&mut third, false, false).unwrap();
    let paths = |paths: &[BString]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        paths(&status.lists.unknown),
        ["d/e/d", "d/unknown", "f.o", "g/h"]
    );
    assert_eq!(paths(&status.lists.added), ["d/e/new"]);
}

#[test]
fn what_is_compared_for_recorded_files_alone_is_remembered_too() {
    let working = with_files();
    let mut first = working.session(true);
    working.ask(&mut first, false, false).unwrap();
    first.save(&NoSteps).unwrap();
    // Only the contents tell what this is.
    working.write("d/b", "d/x");
    vigil_testkit::clock::wait_for_tick();
    let ask = |session: &mut HgSession| {
        let status = working.ask_for(session, false, false, false).unwrap();
        assert_eq!(status.lists.modified, ["d/b"]);
        session.recorded.as_ref().unwrap().needs_saving()
    };
    let mut second = working.session(true);
    assert!(ask(&mut second));
    second.save(&NoSteps).unwrap();
    assert!(!ask(&mut working.session(true)));
}

#[test]
fn a_damaged_state_is_not_believed() {
    let working = with_files();
    let mut first = working.session(true);
    let want = working.ask(&mut first, true, false).unwrap();
    first.save(&NoSteps).unwrap();
    let folder = working.path(".hg/vigil");
    let data = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for path in data {
        let bytes = fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            fs::write(&path, &damaged).unwrap();
            let mut second = working.session(true);
            let status = working.ask(&mut second, true, false).unwrap();
            assert_eq!(status, want, "{} {at}", path.display());
        }
        fs::write(&path, bytes).unwrap();
    }
}

/// Makes a change to a working copy, chosen by number.
fn change(working: &WorkingCopy, step: u64, number: u64) {
    const NAMES: [&str; 12] = [
        "a",
        "d/b",
        "d/e/c",
        "d/e/d",
        "f.o",
        "g/h",
        "new",
        "d/new",
        "d/e/new.o",
        "out/x",
        "out/y/z",
        "k/l/m",
    ];
    const FOLDERS: [&str; 6] = ["d", "d/e", "g", "out", "k", "k/l"];
    let name = NAMES[(number / 32 % 12) as usize];
    let folder = FOLDERS[(number / 512 % 6) as usize];
    let path = working.path(name);
    match number % 16 {
        0 | 1 => working.write(name, &format!("{step}")),
        2 => working.write(name, name),
        3 => {
            if path.is_file() {
                working.age(name);
            }
        }
        4 => drop(fs::remove_file(&path)),
        5 => drop(fs::remove_dir_all(working.path(folder))),
        6 => drop(fs::rename(working.path(folder), working.path("moved"))),
        7 => drop(fs::rename(working.path("moved"), working.path(folder))),
        8 => drop(fs::create_dir_all(working.path(folder).join(".hg"))),
        9 => drop(fs::remove_dir_all(working.path(folder).join(".hg"))),
        10 => working.write(
            ".hgignore",
            [
                "syntax: glob\n*.o\nout\n",
                "",
                "^d/e\n",
                "syntax: glob\nmoved\n",
                // Whatever is in that file.
                "subinclude:d/e/c\n",
            ][(number / 16 % 5) as usize],
        ),
        11 => {
            let _ = fs::remove_file(&path);
            let _ = symlink("a", &path);
        }
        12 => {
            if let Ok(seen) = fs::metadata(&path) {
                let mut mode = seen.permissions();
                mode.set_mode(mode.mode() ^ 0o111);
                fs::set_permissions(&path, mode).unwrap();
            }
        }
        13 => {
            // As for git, a second name is only noticed when the file is written under the first.
            let _ = fs::hard_link(&path, working.path("link"));
            let _ = fs::write(&path, format!("{step}"));
        }
        14 => {
            let files: Vec<(&str, u8)> = NAMES
                .iter()
                .enumerate()
                .filter(|(at, _)| number >> 16 >> at & 1 == 1)
                .map(|(at, name)| (*name, b"nnnarm"[(number >> 8 >> at) as usize % 6]))
                .collect();
            working.record(0, &files);
        }
        _ => {
            working.record(0, &FILES.map(|name| (name, b'n')));
        }
    }
}

#[test]
fn a_watched_session_answers_as_one_that_looks_at_everything() {
    let seeds: u64 =
        std::env::var("VIGIL_WATCHED_SEEDS").map_or(12, |seeds| seeds.parse().unwrap());
    let mut kept = 0;
    for seed in 1..=seeds {
        let working = with_files();
        let watcher = Arc::new(Watcher::new().unwrap());
        let mut watched = working.session(seed % 2 == 0);
        watched.watch_by(watcher);
        let mut number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for step in 0..60 {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            change(&working, step, number >> 3);
            let (clean, ignored) = (number % 3 == 0, number % 5 == 0);
            let mut tries = 0;
            loop {
                let answer = working.ask(&mut watched, clean, ignored);
                let want = working.ask(&mut working.session(false), clean, ignored);
                tries += 1;
                if answer == want {
                    break;
                }
                // A new second may have begun between the two, after which stamps prove more.
                assert!(tries < 4, "seed {seed} step {step}: {answer:?} {want:?}");
            }
            if number % 11 == 0 {
                let audit = watched.audit(Extent::All).unwrap();
                assert_eq!(audit.differences, [], "seed {seed} step {step}");
            }
            let known = watched.watched.as_ref().and_then(|watched| watched.known());
            kept += u64::from(known.is_some());
            if number % 7 == 0 {
                watched.save(&NoSteps).unwrap();
            }
        }
    }
    assert!(kept > 20 * seeds, "{kept}");
}

#[test]
fn a_session_starts_from_what_another_process_published() {
    let working = with_files();
    let (mut first, mut second) = (working.session(true), working.session(true));
    for session in [&mut first, &mut second] {
        working.ask(session, false, false).unwrap();
    }
    first.save(&NoSteps).unwrap();
    working.write("d/new", "");
    let want = working.ask(&mut first, false, false).unwrap();
    first.save(&NoSteps).unwrap();
    assert_eq!(second.save(&NoSteps).unwrap(), PublishOutcome::Superseded);
    for _ in 0..2 {
        assert_eq!(working.ask(&mut second, false, false).unwrap(), want);
        second.save(&NoSteps).unwrap();
    }
    assert!(second.state.is_some());
}

#[test]
fn a_watched_session_scans_nothing_again_when_another_process_publishes() {
    let working = with_files();
    let (mut first, mut second) = (working.session(true), working.session(true));
    second.watch_by(Arc::new(Watcher::new().unwrap()));
    for session in [&mut first, &mut second] {
        working.ask(session, false, false).unwrap();
    }
    let looked_at_all = |session: &HgSession| session.basis("d/new".into()).unwrap().looked_at_all;
    let before = looked_at_all(&second);
    first.save(&NoSteps).unwrap();
    working.write("d/new", "");
    let want = working.ask(&mut first, false, false).unwrap();
    first.save(&NoSteps).unwrap();
    for _ in 0..2 {
        assert_eq!(second.save(&NoSteps).unwrap(), PublishOutcome::Superseded);
        assert_eq!(working.ask(&mut second, false, false).unwrap(), want);
    }
    assert_eq!(looked_at_all(&second), before);
    assert!(matches!(
        second.save(&NoSteps).unwrap(),
        PublishOutcome::Rewritten { .. }
    ));
}

#[test]
fn published_findings_of_a_watched_session_are_not_kept_in_memory_too() {
    let working = with_files();
    let mut watched = working.session(true);
    watched.watch_by(Arc::new(Watcher::new().unwrap()));
    vigil_testkit::clock::wait_for_tick();
    working.ask(&mut watched, false, false).unwrap();
    assert!(watched.save(&NoSteps).unwrap().is_new());
    let recorded = watched.recorded.as_ref().unwrap();
    assert!(!recorded.tracked.is_in_memory());
    assert_eq!(recorded.memory.as_ref().unwrap().loaded(), 0);
}

#[test]
fn an_audit_finds_changes_without_events() {
    let working = with_files();
    // A dirstate read within the tick of its change is read again, and until then nothing is compared.
    vigil_testkit::clock::wait_for_tick();
    let mut session = working.session(false);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    working.ask(&mut session, false, false).unwrap();
    // An unknown second name, in a folder that is not watched.
    let outside = tempfile::tempdir_in(working.0.path().parent().unwrap()).unwrap();
    let other = outside.path().join("other");
    fs::hard_link(working.path("d/b"), &other).unwrap();
    fs::write(&other, "longer than before").unwrap();
    let status = working.ask(&mut session, false, false).unwrap();
    assert_eq!(status.lists.modified.len(), 0);
    for extent in [Extent::From(0), Extent::All] {
        let audit = session.audit(extent).unwrap();
        assert_eq!((audit.questions, audit.files), (1, 6));
        let paths = audit
            .differences
            .iter()
            .map(|one| one.disagreement.path.clone());
        assert_eq!(paths.collect::<Vec<_>>(), ["d/b"]);
    }
}

#[test]
fn a_question_whose_answer_is_not_kept_leaves_the_young_files_of_another() {
    let working = with_files();
    let in_2033 = std::time::UNIX_EPOCH + std::time::Duration::from_secs(2_000_000_000);
    let file = fs::File::options().write(true).open(working.path("a"));
    file.unwrap().set_modified(in_2033).unwrap();
    working.record(0, &FILES.map(|name| (name, b'n')));
    let mut session = working.session(false);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    working.ask(&mut session, false, false).unwrap();
    assert!(session.look_again.contains(&BString::from("a")));
    working.ask_for(&mut session, false, false, true).unwrap();
    assert!(session.look_again.contains(&BString::from("a")));
}

#[test]
fn waiting_clients_are_woken_by_changes_in_the_repository() {
    let working = with_files();
    let mut session = working.session(false);
    let watcher = Arc::new(Watcher::new().unwrap());
    session.watch_by(watcher.clone());
    let mut since = |change: &dyn Fn()| {
        working.ask(&mut session, false, false).unwrap();
        let heard = session.watch_positions();
        change();
        watcher.read_events();
        heard.since()
    };
    // A process started by another test may hold a file open that was being written here; closing it is an event, too.
    fn falls_still(mut since: impl FnMut(&dyn Fn()) -> u64) -> bool {
        (0..100).any(|_| since(&|| {}) == 0)
    }
    assert!(falls_still(&mut since));
    assert!(since(&|| working.record(0, &[])) > 0);
    assert!(since(&|| working.write(".hg/store/phaseroots", "")) > 0);
    assert!(since(&|| working.write(".hg/store/phaseroots", "1")) > 0);
    assert!(since(&|| working.write(".hg/merge/state2", "")) > 0);
    assert!(since(&|| working.write("new", "")) > 0);
    assert!(falls_still(&mut since));
}

#[test]
fn only_changed_paths_are_scanned() {
    let working = with_files();
    working.write(".hgignore", "syntax: glob\n*.o\n");
    let mut session = working.session(false);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    working.ask(&mut session, false, false).unwrap();
    // Without events nothing is looked at, and the answer is the previous one.
    let moved = |session: &mut HgSession| {
        let watched = session.watched.as_mut().unwrap();
        let changed = watched.take_untold_directories();
        changed.map(|changed| changed.len())
    };
    assert_eq!(moved(&mut session), None);
    working.ask(&mut session, false, false).unwrap();
    assert_eq!(moved(&mut session), Some(0));
    working.write("d/other.o", "");
    assert_eq!(
        working
            .ask(&mut session, false, false)
            .unwrap()
            .lists
            .unknown
            .len(),
        1
    );
    working.write("d/other", "");
    let status = working.ask(&mut session, false, false).unwrap();
    assert_eq!(status.lists.unknown, [".hgignore", "d/other"]);
    assert_eq!(moved(&mut session), Some(0));
    // After a new dirstate, only what differs in it is looked at.
    working.write("g/i", "");
    let files = FILES.map(|name| (name, b'n'));
    working.record(0, &[&files[..], &[("g/i", b'a')]].concat());
    let status = working.ask(&mut session, false, false).unwrap();
    assert_eq!(
        (status.lists.added.len(), moved(&mut session)),
        (1, Some(2))
    );
    assert_eq!(status.lists.added, ["g/i"]);
    // After a change of patterns, everything is looked at.
    working.write(".hgignore", "");
    let status = working.ask(&mut session, false, false).unwrap();
    assert_eq!(status.lists.unknown, [".hgignore", "d/other", "d/other.o"]);
    assert_eq!(moved(&mut session), None);
}

#[test]
fn what_was_found_is_kept_if_only_ignored_files_are_asked_for() {
    let working = with_files();
    working.write(".hgignore", "syntax: glob\n*.o\n");
    working.write("d/other.o", "");
    let mut session = working.session(false);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    let ignored = |session: &mut HgSession| {
        let status = working.ask_for(session, false, false, true).unwrap();
        assert_eq!(status.lists.unknown, [""; 0]);
        let watched = session.watched.as_mut().unwrap();
        let looked_at = watched.take_untold_directories();
        (status.lists.ignored, looked_at.map(|all| all.len()))
    };
    assert_eq!(ignored(&mut session), (names(&["d/other.o"]), None));
    assert_eq!(ignored(&mut session), (names(&["d/other.o"]), Some(0)));
    working.write("g/more.o", "");
    let (found, _) = ignored(&mut session);
    assert_eq!(found, names(&["d/other.o", "g/more.o"]));
    assert_eq!(ignored(&mut session), (found, Some(0)));
    // Another process starts from what is on disk.
    let mut first = working.session(true);
    vigil_testkit::clock::wait_for_tick();
    working.ask_for(&mut first, false, false, true).unwrap();
    first.save(&NoSteps).unwrap();
    let mut second = working.session(true);
    second.dirstate(&working.repository()).unwrap();
    let memory = second.recorded.as_ref().unwrap().memory.as_ref().unwrap();
    assert!((0..4).any(|number| memory.has_listing(number)));
}

#[test]
fn patterns_for_one_folder_cost_no_more_than_others() {
    let working = with_files();
    let files = [
        (".hgignore", "include:more\nsubinclude:d/rules\n"),
        ("more", "syntax: glob\nmore\n*.hgignore\n"),
        ("d/rules", "syntax: glob\nrules\nsubinclude:e/rules\n"),
        ("d/e/rules", "^x$\n"),
    ];
    for (name, text) in files {
        working.write(name, text);
        working.age(name);
    }
    vigil_testkit::clock::wait_for_tick();
    let mut session = working.session(false);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    for name in ["x", "d/x", "d/e/x"] {
        working.write(name, "");
    }
    let moved = |session: &mut HgSession| {
        let watched = session.watched.as_mut().unwrap();
        let changed = watched.take_untold_directories();
        changed.map(|changed| changed.len())
    };
    for expected in [None, Some(0), Some(0)] {
        let status = working.ask(&mut session, false, false).unwrap();
        assert_eq!(status.lists.unknown, ["d/x", "x"]);
        assert_eq!(moved(&mut session), expected);
    }
    // They are not compiled again, but each change in them counts.
    let ignore_files = [working.repository().root.join(".hgignore")];
    let read = session.ignore(&ignore_files);
    assert!(Arc::ptr_eq(&read, &session.ignore(&ignore_files)));
    working.write("d/e/rules", "^y$\n");
    let status = working.ask(&mut session, false, false).unwrap();
    assert_eq!(status.lists.unknown, ["d/e/x", "d/x", "x"]);
    // Of an invalid one nothing is said before it has its turn.
    working.write("d/e/rules", "*bad\n");
    for name in ["d/x", "d/e/x"] {
        fs::remove_file(working.path(name)).unwrap();
    }
    assert!(
        !session
            .ignore(&ignore_files)
            .ignore
            .clone()
            .unwrap()
            .is_whole()
    );
    let status = working.ask(&mut session, false, false).unwrap();
    assert!(status.ignore_failure.is_some());
}

#[test]
fn patterns_that_could_not_be_read_are_read_again() {
    let working = with_files();
    let files = [
        (".hgignore", "include:more\nsubinclude:d/rules\n"),
        ("more", "^a$\n"),
        ("d/rules", "^b$\n"),
    ];
    for (name, text) in files {
        working.write(name, text);
        working.age(name);
    }
    vigil_testkit::clock::wait_for_tick();
    let mut session = working.session(false);
    let ignore_files = [working.repository().root.join(".hgignore")];
    let mut are_kept = || {
        // Which files are included is known from the first time.
        session.ignore(&ignore_files);
        vigil_testkit::clock::wait_for_tick();
        let read = session.ignore(&ignore_files);
        Arc::ptr_eq(&read, &session.ignore(&ignore_files))
    };
    assert!(are_kept());
    for name in ["more", "d/rules"] {
        let there = working.path(name);
        fs::remove_file(&there).unwrap();
        assert!(are_kept(), "{name} is gone");
        // Nobody can read a folder as a file, whatever the permissions are.
        fs::create_dir(&there).unwrap();
        assert!(!are_kept(), "{name} cannot be read");
        fs::remove_dir(&there).unwrap();
    }
    assert!(are_kept());
}

#[test]
fn nothing_is_kept_of_a_file_that_could_not_be_read() {
    let working = with_files();
    let repository = working.repository();
    let store = repository.store();
    let dirstate = Dirstate::empty();
    let system = HgSystem::new(HgSystemInputs {
        top: &repository.root,
        dirstate: &dirstate,
        store: &store,
        ignore: Arc::new(Ignored::new(Arc::default(), Arc::default())),
        now: vigil_stamp::now(),
        audits: false,
        is_remembered: true,
        ignored_directories: None,
        line_endings: None,
        lacks_parent: false,
    });
    let id = ObjectId::null(HashKind::Sha1);
    // A folder can be opened, but not read as a file.
    for (name, failures) in [("d/b", 0), ("d", 1)] {
        let before = system.warnings_len();
        let file = fs::File::open(working.path(name)).unwrap();
        let is_unchanged = system.is_unchanged(name.into(), file, 1, &id);
        assert!(!is_unchanged.unwrap());
        assert_eq!(system.warnings_len(), before + failures, "{name}");
    }
}

#[test]
fn the_phase_is_kept_until_it_may_have_changed() {
    let working = with_files();
    let repository = working.repository();
    let mut session = working.session(false);
    let [one, two] = ["01", "02"].map(|byte| Node::from_hex(byte.repeat(20).as_bytes()).unwrap());
    let mut phase = |node| {
        session
            .checkout(
                &repository,
                [node, Node::default()],
                BookmarkSharing::Unknown,
            )
            .phase
    };
    let set = |text: &str| {
        working.write(".hg/00changelog.i", "");
        working.write(".hg/phaseroots", text);
        vigil_testkit::clock::wait_for_tick();
    };
    set(&format!("1 {one}\n"));
    assert_eq!(phase(one), Some(Phase::Draft));
    assert_eq!(phase(one), Some(Phase::Draft));
    set(&format!("2 {one}\n"));
    assert_eq!(phase(one), Some(Phase::Secret));
    assert_eq!(phase(two), None);
    assert_eq!(phase(one), Some(Phase::Secret));
    assert!(session.phase.is_kept(&repository, &one));
    assert!(!session.phase.is_kept(&repository, &two));
    // A strip takes a changeset away.
    set(&format!("1 {one}\n"));
    assert!(!session.phase.is_kept(&repository, &one));
    // What cannot be read now may be readable the next time, and look the same.
    let checkout = session.checkout(
        &repository,
        [two, Node::default()],
        BookmarkSharing::Unknown,
    );
    assert_eq!(checkout.phase, None);
    assert!(!session.phase.is_kept(&repository, &two));
}

#[test]
fn recorded_files_in_ignored_folders_are_watched() {
    let working = with_files();
    working.write(".hgignore", "^d/e$\n^g$\n^\\.hgignore$\n");
    let mut session = working.session(true);
    session.watch_by(Arc::new(Watcher::new().unwrap()));
    let looked_at = |session: &mut HgSession| {
        let watched = session.watched.as_mut().unwrap();
        let changed = watched.take_untold_directories();
        changed.map(|changed| changed.len())
    };
    for expected in [None, Some(0), Some(0)] {
        let status = working.ask(&mut session, false, false).unwrap();
        assert_eq!(status.lists, HgStatus::default().lists);
        assert_eq!(looked_at(&mut session), expected);
        assert!(session.watch_report().looked_at.is_empty());
    }
    session.save(&NoSteps).unwrap();
    let mut other = working.session(true);
    let mut see = |modified: &[&str], deleted: &[&str]| {
        for session in [&mut session, &mut other] {
            let lists = working.ask(session, false, false).unwrap().lists;
            assert_eq!(
                (lists.modified, lists.deleted),
                (names(modified), names(deleted))
            );
        }
    };
    working.write("d/e/c", "longer than before");
    working.write("d/e/unknown", "");
    see(&["d/e/c"], &[]);
    // Another repository takes the files away, and gives them back.
    working.write("g/.hg/requires", "");
    see(&["d/e/c"], &["g/h"]);
    working.write("d/e/.hg/requires", "");
    see(&[], &["d/e/c", "d/e/d", "g/h"]);
    fs::remove_dir_all(working.path("g/.hg")).unwrap();
    see(&[], &["d/e/c", "d/e/d"]);
    fs::remove_dir_all(working.path("d/e/.hg")).unwrap();
    see(&["d/e/c"], &[]);
}

fn names(names: &[&str]) -> Vec<BString> {
    names.iter().map(|name| BString::from(*name)).collect()
}
