//! The state of a Mercurial working copy on disk.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::sandbox::{WorkingCopy, hg_programs};

/// Returns the inodes and times of all files and folders below `folder` but those of the state: a
/// write would change them.
fn stat_facts_below(folder: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let mut all = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        let seen = std::fs::symlink_metadata(&path).unwrap();
        if seen.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            let below = entries.map(|entry| entry.unwrap().path());
            pending.extend(below.filter(|path| !path.ends_with(".hg/vigil")));
        }
        // Creating the state's folder changes the folder above.
        if !path.ends_with(".hg") {
            all.insert(path, (seen.ino(), seen.mtime_nsec(), seen.ctime_nsec()));
        }
    }
    all
}

impl WorkingCopy {
    fn state(&self, arguments: &[&str]) -> String {
        let output = self.run_vigil("", &[&["state"], arguments].concat());
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    }
}

#[test]
fn a_state_is_removed_whatever_the_configuration_says_of_it() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("f", "1");
        for value in ["no", "banana"] {
            working.write(".hg/hgrc", "");
            working.vigil(&["status"]);
            working.write(".hg/hgrc", format!("[vigil]\nstateFile = {value}\n"));
            assert!(working.state(&["drop"]).starts_with("removed "), "{value}");
            assert!(!working.path(".hg/vigil").exists());
        }
    }
}

#[test]
fn nothing_is_written_but_the_state() {
    for hg in hg_programs() {
        for is_v2 in [false, true] {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("d/f", "1");
            working.commit("first");
            working.write("d/f", "2");
            let before = stat_facts_below(&working.path(""));
            for arguments in [&["status"][..], &["status", "-A"], &["status", "d"]] {
                working.vigil(arguments);
            }
            assert!(working.path(".hg/vigil/state").exists());
            assert_eq!(stat_facts_below(&working.path("")), before);
            let shown = working.state(&["show"]);
            assert!(
                shown.contains("/.hg/vigil\n") && shown.contains("dirstate "),
                "{shown}"
            );
            assert!(
                working
                    .state(&["show", "--format=json"])
                    .starts_with("{\"schema\":")
            );
            let verified = working.state(&["verify"]);
            assert!(verified.starts_with("the state is right ("), "{verified}");
            assert_eq!(stat_facts_below(&working.path("")), before);
            assert!(working.state(&["drop"]).starts_with("removed "));
            assert!(!working.path(".hg/vigil").exists());
            assert_eq!(working.state(&["drop"]), "there is no state\n");
            assert_eq!(working.state(&["verify"]), "there is no state\n");
            working.vigil(&["status", "--config", "vigil.stateFile=no"]);
            assert!(!working.path(".hg/vigil").exists());
            // The owner of the home does not matter: a state that cannot be written here is kept elsewhere.
            std::fs::write(working.path(".hg/vigil"), "in the way").unwrap();
            working.assert_same_as_hg(&["status"]);
            working.assert_same_as_hg(&["status"]);
            assert_eq!(
                std::fs::read(working.path(".hg/vigil")).unwrap(),
                b"in the way"
            );
        }
    }
}

#[test]
fn a_wrong_state_is_found_by_verify() {
    for hg in hg_programs() {
        for is_v2 in [false, true] {
            let working = WorkingCopy::new(&hg, is_v2);
            for number in 0..20 {
                working.write(&format!("d{}/f{number}", number % 3), "1");
            }
            working.commit("first");
            working.write("d0/new", "");
            working.vigil(&["status"]);
            let verified = working.state(&["verify"]);
            let expected = " blocks, 20 files of the dirstate and 2 answers were compared)\n";
            assert!(verified.starts_with("the state is right ("), "{verified}");
            assert!(verified.ends_with(expected), "{verified}");
            // The state is still right after changes.
            working.write("d1/other", "");
            std::fs::remove_file(working.path("d2/f2")).unwrap();
            working.hg(&["add", "d1/other"]);
            let verified = working.state(&["verify"]);
            assert!(verified.starts_with("the state is right ("), "{verified}");
            let folder = working.path(".hg/vigil");
            let data = std::fs::read_dir(&folder).unwrap();
            let data = data.map(|entry| entry.unwrap().path());
            let data = data.max_by_key(|path| path.metadata().unwrap().len());
            let data = data.unwrap();
            let mut bytes = std::fs::read(&data).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x40;
            std::fs::write(&data, bytes).unwrap();
            let verified = working.state(&["verify"]);
            let wrong = "the state is wrong: 'vigil state drop' removes it (";
            assert!(verified.contains(wrong), "{verified}");
            working.assert_same_as_hg(&["status", "-A"]);
        }
    }
}

#[test]
fn what_a_walk_compared_does_not_hold_where_mercurial_refuses_to_read() {
    for hg in hg_programs() {
        for is_v2 in [false, true] {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("d/f", "1");
            working.write("g", "1");
            working.commit("first");
            // Only the contents tell that these are the same.
            let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_500_000_000);
            for name in ["d/f", "g"] {
                let file = std::fs::File::options()
                    .write(true)
                    .open(working.path(name));
                file.unwrap().set_modified(old).unwrap();
            }
            for arguments in [&["status"][..], &["status", "-mard"]] {
                assert!(working.vigil(arguments).0.is_empty());
            }
            working.hg(&["init", "d"]);
            for arguments in [&["status"][..], &["status", "-mard"], &["status", "-C"]] {
                working.vigil(&["status"]);
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn what_was_compared_with_a_changeset_does_not_hold_without_it() {
    for hg in hg_programs() {
        for is_v2 in [false, true] {
            let working = WorkingCopy::new(&hg, is_v2);
            // The last changeset, which goes, leaves the history of the first file as it is.
            for name in ["a", "b"] {
                working.write(name, "1");
                working.commit(name);
            }
            let with = [
                "--config",
                "extensions.share=",
                "--config",
                "extensions.strip=",
            ];
            let hg = |arguments: &[&str]| working.hg(&[&with[..], arguments].concat());
            hg(&["share", "-q", ".", "../share"]);
            // Only the contents tell that these are the same.
            let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_500_000_000);
            for name in ["a", "b"] {
                let file = std::fs::File::options()
                    .write(true)
                    .open(working.path("../share").join(name));
                file.unwrap().set_modified(old).unwrap();
            }
            for _ in 0..2 {
                let output = working.run_vigil("../share", &["hg", "status"]);
                assert!(output.stdout.is_empty());
            }
            hg(&["strip", "-q", "--no-backup", "."]);
            working.assert_same_as_hg_in("../share", &["status"]);
            working.assert_same_as_hg_in("../share", &["status"]);
        }
    }
}
