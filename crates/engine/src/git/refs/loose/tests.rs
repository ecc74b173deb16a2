use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::ByteSlice;
use gix_hash::Kind;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use super::memory::{self, Memory};
use super::parse;
use crate::git::refs::testing::Sandbox;
use crate::git::refs::{Detail, Peeled, Raw, Refs};
use vigil_stamp::Stamp;
use vigil_testkit::clock::tick;
use vigil_testkit::oracle::Chance;

/// From how many references in a folder on they are remembered.
const MANY: usize = 256;

/// A repository with a commit, a tag object, and that many lightweight tags, in the folder of tags and in one below.
fn sandbox(count: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    sandbox.git(&["tag", "-a", "-m", "t", "annotated"]);
    let id = sandbox.id("HEAD");
    let create = |folder: &str| {
        let names = (0..count).map(|number| format!("create refs/tags/{folder}{number:04} {id}\n"));
        names.collect::<String>()
    };
    let input = create("t") + &create("in/side");
    sandbox.git_with_input(&["update-ref", "--stdin"], input.as_bytes());
    sandbox
}

/// All tags with what they hold and lead to; those that were remembered have a star.
fn listed(sandbox: &Sandbox, memory: Option<Memory>) -> Vec<String> {
    let refs = Refs::open(&sandbox.repository()).unwrap();
    let mut lines = Vec::new();
    let listing = refs
        .list("refs/tags/".into(), Detail::Whole, memory)
        .unwrap();
    listing
        .for_each_raw(None, |name, raw, peeled| {
            let star = match (peeled, raw) {
                (Peeled::Remembered(peeled), Raw::Direct(id)) if peeled == *id => "*",
                (Peeled::Remembered(_), _) => "**",
                _ => "",
            };
            lines.push(format!("{name} {raw:?}{star}"));
            Ok(())
        })
        .unwrap();
    lines
}

/// Reads all tags, and remembers them. Returns how many objects were asked about.
fn remember(sandbox: &Sandbox) -> usize {
    let repository = sandbox.repository();
    let refs = Refs::open(&repository).unwrap();
    let objects = crate::git::objects::Objects::open(&repository).unwrap();
    let listing = refs.list(
        "refs/tags/".into(),
        Detail::Whole,
        Some(Memory::open(&repository)),
    );
    let asked = AtomicUsize::new(0);
    listing.unwrap().remember(&repository, &[], &|id| {
        asked.fetch_add(1, Ordering::Relaxed);
        Some(objects.peel(id).unwrap()?.0)
    });
    asked.into_inner()
}

/// Checks that with the memory the same is read as without. Returns how many references were remembered.
fn check(sandbox: &Sandbox, remark: &str) -> usize {
    let with = listed(sandbox, Some(Memory::open(&sandbox.repository())));
    let stars = with.iter().filter(|line| line.ends_with('*')).count();
    let plain = |lines: Vec<String>| -> Vec<String> {
        let lines = lines
            .iter()
            .map(|line| line.trim_end_matches('*').to_owned());
        lines.collect()
    };
    assert_eq!(plain(with), listed(sandbox, None), "{remark}");
    stars
}

#[test]
fn many_references_are_remembered_and_each_change_is_seen() {
    let sandbox = sandbox(MANY);
    tick();
    assert_eq!(check(&sandbox, "nothing is remembered"), 0);
    assert_eq!(remember(&sandbox), 2 * MANY + 1);
    assert_eq!(check(&sandbox, "all is remembered"), 2 * MANY + 1);
    assert_eq!(remember(&sandbox), 0);
    let state = sandbox.git_dir().join("vigil/refs/state");
    let stamp = Stamp::of(&state).unwrap();

    let tags = sandbox.git_dir().join("refs/tags");
    let other = sandbox.commit("two");
    let in_place = tags.join("t0003");
    let before = fs::metadata(&in_place).unwrap();
    fs::write(&in_place, format!("{other}\n")).unwrap();
    // Of the same length, and with the time that it had.
    let time = Timespec {
        tv_sec: std::os::unix::fs::MetadataExt::mtime(&before),
        tv_nsec: std::os::unix::fs::MetadataExt::mtime_nsec(&before),
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    utimensat(CWD, &in_place, &times, AtFlags::empty()).unwrap();
    assert_eq!(check(&sandbox, "written in place"), 2 * MANY);
    sandbox.git(&["tag", "-d", "t0004"]);
    assert_eq!(check(&sandbox, "removed"), 2 * MANY - 1);
    sandbox.git(&["tag", "new"]);
    fs::create_dir(tags.join("deeper")).unwrap();
    sandbox.git(&["tag", "deeper/new"]);
    assert_eq!(check(&sandbox, "new"), 2 * MANY - 1);
    fs::remove_file(tags.join("t0005")).unwrap();
    symlink("t0006", tags.join("t0005")).unwrap();
    fs::write(tags.join("t0007"), "ref: refs/heads/main\n").unwrap();
    fs::write(tags.join("t0008"), "nonsense").unwrap();
    assert_eq!(
        check(&sandbox, "a link, a symbolic one, and nonsense"),
        2 * MANY - 4
    );
    assert_eq!(
        Stamp::of(&state).unwrap(),
        stamp,
        "who only reads writes nothing"
    );

    tick();
    assert_eq!(remember(&sandbox), 2, "in place, and a new one");
    assert_eq!(check(&sandbox, "remembered anew"), 2 * MANY - 2);
    fs::write(tags.join("t0006"), format!("{other}\n")).unwrap();
    assert_eq!(check(&sandbox, "what a link leads to"), 2 * MANY - 3);
    sandbox.git(&["pack-refs", "--all"]);
    assert_eq!(check(&sandbox, "packed"), 0);
}

#[test]
fn what_was_written_within_a_tick_is_read_again() {
    let sandbox = sandbox(MANY);
    tick();
    let repository = sandbox.repository();
    let memory = Memory::open(&repository);
    let young = sandbox.git_dir().join("refs/tags/t0001");
    fs::write(&young, fs::read(&young).unwrap()).unwrap();
    let listing =
        Refs::open(&repository)
            .unwrap()
            .list("refs/tags/".into(), Detail::Whole, Some(memory));
    listing
        .unwrap()
        .remember(&repository, &[], &|id| Some(id.to_owned()));
    assert_eq!(check(&sandbox, "but for one"), 2 * MANY);
}

#[test]
fn few_references_are_not_remembered() {
    let sandbox = sandbox(MANY / 2);
    tick();
    remember(&sandbox);
    assert!(!sandbox.git_dir().join("vigil").exists());
}

#[test]
fn any_history_of_changes_is_read_rightly() {
    let sandbox = sandbox(MANY + 8);
    let other = sandbox.commit("two");
    let tags = sandbox.git_dir().join("refs/tags");
    let mut chance = Chance::new(5);
    for round in 0..60 {
        let name = format!("t{:04}", chance.below(12));
        let file = tags.join(&name);
        match chance.below(9) {
            0 => drop(sandbox.try_git(&["tag", "-d", &name])),
            1 => drop(sandbox.try_git(&["tag", "-f", &name, "HEAD~1"])),
            2 => drop(sandbox.try_git(&["tag", "-f", "-a", "-m", "x", &name])),
            3 => fs::write(&file, format!("{other}\n")).unwrap(),
            4 => drop(fs::hard_link(
                tags.join("annotated"),
                tags.join(format!("l{round}")),
            )),
            5 => tick(),
            6 => drop(sandbox.try_git(&["tag", &format!("d{}/x", chance.below(4))])),
            7 => drop(fs::rename(&file, tags.join("in").join(&name))),
            _ => drop(remember(&sandbox)),
        }
        check(&sandbox, &format!("round {round}"));
    }
}

#[test]
fn a_state_that_is_cut_or_changed_is_not_believed() {
    let sandbox = sandbox(MANY);
    tick();
    remember(&sandbox);
    let block = Memory::open(&sandbox.repository())
        .general(memory::KEY)
        .to_vec();
    assert_eq!(
        memory::references_in(&block, sandbox.hash),
        Some(2 * MANY + 1)
    );
    for len in (0..block.len()).step_by(7) {
        assert_eq!(memory::references_in(&block[..len], sandbox.hash), None);
    }
    let folder = sandbox.git_dir().join("vigil/refs");
    let data = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let data = data
        .max_by_key(|path| path.metadata().unwrap().len())
        .unwrap();
    let mut bytes = fs::read(&data).unwrap();
    let at = bytes.find(b"t0009").unwrap();
    bytes[at] = b'u';
    fs::write(&data, bytes).unwrap();
    assert_eq!(check(&sandbox, "damaged"), 0);
    remember(&sandbox);
    assert_eq!(check(&sandbox, "mended"), 2 * MANY + 1);
}

#[test]
fn contents_are_read_as_git_reads_them() {
    let id = "1234567890123456789012345678901234567890";
    let direct = |text: &str| match parse(text.as_bytes(), Kind::Sha1) {
        Raw::Direct(found) => found == id,
        _ => false,
    };
    assert!(direct(id));
    assert!(direct(&format!("{id}\n\n ")));
    assert!(direct(&format!("{id}\tbranch 'x' of y")));
    assert!(!direct(&format!("{id}0")));
    assert!(!direct(id.split_at(39).0));
    assert!(!direct(""));
    assert!(!direct(&format!("{id}\x0c\n")));
    let symbolic = |text: &str| match parse(text.as_bytes(), Kind::Sha1) {
        Raw::Symbolic(target) => target.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(symbolic("ref: refs/heads/a\n"), "refs/heads/a");
    assert_eq!(symbolic("ref:\t refs/heads/a b \n"), "refs/heads/a b");
    assert_eq!(symbolic("ref:refs/heads/a\0b\n"), "refs/heads/a");
    assert_eq!(symbolic("ref: refs/heads/a\x0c\n"), "refs/heads/a\x0c");
}
