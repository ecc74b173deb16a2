//! Folders that move and swap places; files with many names, and with none.

use std::fs;
use std::io::{Seek, Write};
use std::os::fd::AsRawFd;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat_with};
use vigil_testkit::chance::Chance;

use super::sandbox::Sandbox;

fn exchange(sandbox: &Sandbox, one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|name| sandbox.path(name));
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

fn rename(sandbox: &Sandbox, from: &str, to: &str) -> bool {
    fs::rename(sandbox.path(from), sandbox.path(to)).is_ok()
}

fn with_folders() -> Sandbox {
    let sandbox = Sandbox::with_repository();
    for name in ["a/1", "a/s/2", "b/3", "b/s/4", "c/only/5", "f"] {
        sandbox.write(&format!("work/{name}"), name);
    }
    sandbox.git_in("work", &["add", "-A"]);
    sandbox
}

#[test]
fn files_and_folders_that_change_places_are_told_apart() {
    for (one, other, is_asked_between) in [
        ("a", "b", false),
        ("a", "b", true),
        ("b", "c", true),
        ("b", "f", false),
        ("f", "a", true),
        ("a/s", "b", false),
        ("a/s", "f", true),
    ] {
        let sandbox = with_folders();
        let _serving = sandbox.serve();
        sandbox.assert_answered_as_by_git("work");
        let [one, other] = [one, other].map(|name| format!("work/{name}"));
        assert!(exchange(&sandbox, &one, &other));
        if is_asked_between {
            sandbox.assert_answered_as_by_git("work");
        }
        let (one, other) = match sandbox.path(&other).is_dir() {
            true => (one, other),
            false => (other, one),
        };
        // Into the other folder, or below what is in that.
        let below = match sandbox.path(&other).join("only").is_dir() {
            true => format!("{other}/only/moved"),
            false => format!("{other}/moved"),
        };
        assert!(rename(&sandbox, &one, &below));
        sandbox.assert_answered_as_by_git("work");
        sandbox.write(&format!("{below}.txt"), "new");
        sandbox.assert_answered_as_by_git("work");
    }
}

#[test]
fn every_rename_is_seen() {
    for seed in 0..4 {
        let mut random = Chance::new(seed);
        let sandbox = with_folders();
        let _serving = sandbox.serve();
        let places = [
            "a", "b", "c", "f", "a/s", "b/s", "a/n", "b/n", "c/only", "n", "b/s/n", "a/n/s",
        ];
        for round in 0..40 {
            for _ in 0..random.below(5) {
                let mut place = || format!("work/{}", places[random.below(places.len())]);
                let (one, other) = (place(), place());
                let _ = match random.below(6) {
                    0 | 1 => exchange(&sandbox, &one, &other),
                    2 => fs::create_dir(sandbox.path(&one)).is_ok(),
                    3 => fs::write(sandbox.path(&one), format!("{round}")).is_ok(),
                    _ => rename(&sandbox, &one, &other),
                };
            }
            sandbox.assert_answered_as_by_git("work");
        }
    }
}

#[test]
fn what_is_written_through_another_hard_link_is_seen() {
    let sandbox = with_folders();
    sandbox.write("work/.gitignore", "*.o\n");
    sandbox.git_in("work", &["add", "-A"]);
    let _serving = sandbox.serve();
    let link = |from: &str, to: &str| {
        let [from, to] = [from, to].map(|name| sandbox.path(&format!("work/{name}")));
        fs::hard_link(from, to).unwrap();
    };
    let append = |name: &str| {
        let path = sandbox.path(&format!("work/{name}"));
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(b"more\n");
        // Write in place, not to a new file.
        fs::write(path, text).unwrap();
    };
    for (recorded, other) in [("f", "a/other"), ("b/3", "a/x.o"), ("a/1", "b/s/4")] {
        sandbox.assert_answered_as_by_git("work");
        let _ = fs::remove_file(sandbox.path(&format!("work/{other}")));
        link(recorded, other);
        append(other);
        sandbox.assert_answered_as_by_git("work");
        append(other);
        sandbox.assert_answered_as_by_git("work");
        fs::remove_file(sandbox.path(&format!("work/{other}"))).unwrap();
        sandbox.assert_answered_as_by_git("work");
        append(recorded);
        sandbox.assert_answered_as_by_git("work");
        // Once more.
        link(recorded, other);
        append(other);
        sandbox.assert_answered_as_by_git("work");
    }
    // Files that are no longer those of the index, but have the same contents.
    for (recorded, other) in [("a/s/2", "a/again"), ("c/only/5", "y.o")] {
        let [path, copy] = [recorded, "copy"].map(|name| sandbox.path(&format!("work/{name}")));
        fs::copy(&path, &copy).unwrap();
        fs::rename(&copy, &path).unwrap();
        sandbox.assert_answered_as_by_git("work");
        link(recorded, other);
        append(other);
        sandbox.assert_answered_as_by_git("work");
        append(other);
        sandbox.assert_answered_as_by_git("work");
    }
}

#[test]
fn rules_that_are_written_through_another_hard_link_are_seen() {
    let sandbox = with_folders();
    sandbox.write("work/a/new.o", "");
    sandbox.write("work/new/new.o", "");
    sandbox.write("work/a/.gitattributes", "");
    sandbox.git_in("work", &["add", "a/.gitattributes"]);
    sandbox.git_in("work", &["commit", "-qm", "with folders"]);
    // Because of its time it is compared, each time according to the attributes.
    sandbox.write("work/a/1", "1\r\n");
    let _serving = sandbox.serve();
    for rules in [".gitignore", "a/.gitignore", "new/.gitignore"] {
        sandbox.write("rules", "nothing\n");
        fs::hard_link(
            sandbox.path("rules"),
            sandbox.path(&format!("work/{rules}")),
        )
        .unwrap();
        sandbox.assert_answered_as_by_git("work");
        for text in ["*.o\n", "new\n", "*.o\n.gitignore\n"] {
            // Write in place, through a name outside the watched folders.
            sandbox.write("rules", text);
            sandbox.assert_answered_as_by_git("work");
        }
        fs::remove_file(sandbox.path(&format!("work/{rules}"))).unwrap();
        fs::remove_file(sandbox.path("rules")).unwrap();
    }
    // The hard link is made later.
    sandbox.write("work/.gitignore", "nothing\n");
    sandbox.assert_answered_as_by_git("work");
    fs::hard_link(sandbox.path("work/.gitignore"), sandbox.path("rules")).unwrap();
    for text in ["*.o\n", "nothing\n"] {
        sandbox.write("rules", text);
        sandbox.assert_answered_as_by_git("work");
    }
    fs::remove_file(sandbox.path("rules")).unwrap();
    for attributes in ["a/.gitattributes", ".gitattributes"] {
        sandbox.write("rules", "");
        let path = sandbox.path(&format!("work/{attributes}"));
        let _ = fs::remove_file(&path);
        fs::hard_link(sandbox.path("rules"), path).unwrap();
        sandbox.assert_answered_as_by_git("work");
        for text in ["* text eol=crlf\n", "* -text\n", "1 text\n"] {
            sandbox.write("rules", text);
            sandbox.assert_answered_as_by_git("work");
        }
        fs::remove_file(sandbox.path("rules")).unwrap();
    }
}

#[test]
fn what_is_written_through_a_removed_name_is_seen() {
    let sandbox = with_folders();
    let _serving = sandbox.serve();
    let at = |name: &str| sandbox.path(&format!("work/{name}"));
    let write = |mut file: &fs::File, text: &str| {
        file.rewind().unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    sandbox.assert_answered_as_by_git("work");
    // A file that had no name, and then takes the name of a tracked file.
    for (name, contents) in [("f", "f"), ("a/s/2", "a/s/2")] {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let file = fs::File::from(openat(CWD, at(""), flags, mode).unwrap());
        write(&file, contents);
        fs::remove_file(at(name)).unwrap();
        let shown = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, shown, CWD, at(name), AtFlags::SYMLINK_FOLLOW).unwrap();
        sandbox.assert_answered_as_by_git("work");
        for text in [contents.replace(['f', '2'], "X"), contents.to_owned()] {
            write(&file, &text);
            sandbox.assert_answered_as_by_git("work");
        }
    }
    // A file that lost the name by which it was opened, and got another one.
    for (name, other) in [("b/3", "b/3"), ("b/s/4", "a/4"), ("a/1", "a/s/1")] {
        let file = fs::File::options().write(true).open(at(name)).unwrap();
        fs::hard_link(at(name), sandbox.path("kept")).unwrap();
        fs::remove_file(at(name)).unwrap();
        fs::rename(sandbox.path("kept"), at(other)).unwrap();
        sandbox.git_in("work", &["add", "-A"]);
        sandbox.assert_answered_as_by_git("work");
        for text in ["X", "Y"] {
            write(&file, text);
            sandbox.assert_answered_as_by_git("work");
        }
    }
}

#[test]
fn what_is_written_through_another_hard_link_in_a_new_folder_is_seen() {
    let sandbox = with_folders();
    sandbox.git_in("work", &["commit", "-qm", "with folders"]);
    let _serving = sandbox.serve();
    let at = |name: &str| sandbox.path(&format!("work/{name}"));
    for (recorded, folder) in [("f", "new"), ("a/s/2", "b/new/deep"), ("b/3", "new/deeper")] {
        sandbox.assert_answered_as_by_git("work");
        // The folder is not watched yet.
        fs::create_dir_all(at(folder)).unwrap();
        let other = format!("work/{folder}/link");
        fs::hard_link(at(recorded), sandbox.path(&other)).unwrap();
        sandbox.write(&other, "written");
        sandbox.assert_answered_as_by_git("work");
        sandbox.write(&other, "more");
        sandbox.assert_answered_as_by_git("work");
    }
}

#[test]
fn a_folder_in_place_of_rules_is_seen() {
    let sandbox = with_folders();
    sandbox.write("work/a/new", "");
    sandbox.write("work/a/1", "1\r\n");
    let _serving = sandbox.serve();
    let path = |name: &str| sandbox.path(&format!("work/{name}"));
    // The rules ignore themselves, and everything else that is not tracked.
    for (name, text) in [(".gitignore", "*\n"), (".gitattributes", "* text\n")] {
        sandbox.write("work/.git/info/exclude", &format!("{name}\n"));
        for place in [name.to_owned(), format!("a/{name}")] {
            for _ in 0..2 {
                sandbox.write(&format!("work/{place}"), text);
                sandbox.assert_answered_as_by_git("work");
                fs::remove_file(path(&place)).unwrap();
                fs::create_dir(path(&place)).unwrap();
                sandbox.assert_answered_as_by_git("work");
                sandbox.assert_answered_as_by_git("work");
                fs::rename(path(&place), path("moved")).unwrap();
                sandbox.write(&format!("work/{place}"), text);
                sandbox.assert_answered_as_by_git("work");
                fs::remove_file(path(&place)).unwrap();
                fs::rename(path("moved"), path(&place)).unwrap();
                sandbox.assert_answered_as_by_git("work");
                fs::remove_dir(path(&place)).unwrap();
                sandbox.assert_answered_as_by_git("work");
            }
        }
    }
}
