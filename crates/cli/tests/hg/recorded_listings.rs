//! Directories that the dirstate records as listed. Only Mercurial in Rust records that, so the records are made by
//! hand here. The expected answers come from Mercurial in Python, which ignores the records.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::time::Duration;

use sha1::{Digest, Sha1};

use super::sandbox::{WorkingCopy, hg_programs};

/// The flags of a directory whose mtime is recorded, and whose unknown files all have records.
const LISTED: u16 = 1 << 13 | 1 << 11 | 1 << 14;
const NO_STATE: [&str; 3] = ["status", "--config", "vigil.stateFile=no"];

impl WorkingCopy {
    /// Records that all directories were listed as they are now.
    fn record_listed(&self) {
        let mut sum = Sha1::new();
        if let Ok(text) = fs::read(self.path(".hgignore")) {
            sum.update(b".hgignore ");
            sum.update(Sha1::digest(text));
            sum.update(b"\n");
        }
        let hash = sum.finalize().into();
        self.rewrite_dirstate(Some(hash), |path, has_children, mut node| {
            let seen = fs::symlink_metadata(self.path(path));
            let Some(stat) = seen.ok().filter(|_| has_children) else {
                return;
            };
            node.put_flags(LISTED);
            node.put_mtime(stat.mtime(), stat.mtime_nsec());
        });
    }

    /// Checks that both print the same without a state on disk, with a new one, and with the same one again.
    fn assert_same_with_and_without_state(&self) {
        self.assert_same_as_hg(&NO_STATE);
        self.assert_same_as_hg(&["status"]);
        self.assert_same_as_hg(&["status"]);
        self.assert_same_as_hg(&["status", "-A"]);
        self.assert_same_as_hg(&["status", "d"]);
    }
}

fn working_copy_with_listings(hg: &Path) -> WorkingCopy {
    let working = WorkingCopy::new(hg, true);
    for name in ["a", "d/file", "d/e/file", "d/e.x", "f/g/file", "f/link"] {
        working.write(name, name);
    }
    working.commit("first");
    working.write(".hgignore", "syntax: glob\n*.o\nf/g\n");
    working.commit("patterns");
    working.write("d/made.o", "");
    working.write("f/g/whatever", "");
    working.hg(&["status"]);
    working
}

#[test]
fn a_directory_with_a_recorded_listing_is_not_listed_again() {
    for hg in hg_programs() {
        let working = working_copy_with_listings(&hg);
        working.record_listed();
        // What must not happen: the contents change, and the mtime does not.
        let folder = working.path("d");
        let before = fs::metadata(&folder).unwrap().modified().unwrap();
        working.write("d/unknown", "");
        File::open(&folder).unwrap().set_modified(before).unwrap();
        assert_eq!(working.vigil(&NO_STATE).0, "");
        let ignored = working.vigil(&["status", "-ui", "--config", "vigil.stateFile=no"]);
        assert_eq!(ignored.0, "? d/unknown\nI d/made.o\nI f/g/whatever\n");
        let after = before + Duration::from_nanos(1);
        File::open(&folder).unwrap().set_modified(after).unwrap();
        assert_eq!(working.vigil(&NO_STATE).0, "? d/unknown\n");
        // The record holds only for the same ignore patterns.
        working.write(".hgignore", "syntax: glob\n*.p\n");
        working.assert_same_with_and_without_state();
    }
}

/// The name of a change, and how it is made.
type Change = (&'static str, fn(&WorkingCopy));

#[test]
fn changed_types_are_found_in_directories_with_recorded_listings() {
    let changes: [Change; 6] = [
        ("a file for a directory", |working| {
            fs::remove_dir_all(working.path("d/e")).unwrap();
            working.write("d/e", "");
        }),
        ("a link for a directory", |working| {
            fs::rename(working.path("f/g"), working.path("moved")).unwrap();
            symlink("../moved", working.path("f/g")).unwrap();
        }),
        ("a link above", |working| {
            fs::rename(working.path("f"), working.path("moved")).unwrap();
            symlink("moved", working.path("f")).unwrap();
        }),
        ("a directory for a file", |working| {
            fs::remove_file(working.path("d/file")).unwrap();
            working.write("d/file/unknown", "");
        }),
        ("another repository", |working| {
            fs::create_dir(working.path("d/e/.hg")).unwrap();
        }),
        ("a removed file that is there", |working| {
            working.hg(&["remove", "-q", "d/e/file"]);
            working.write("d/e/file", "");
        }),
    ];
    for hg in hg_programs() {
        for (what, change) in changes {
            let working = working_copy_with_listings(&hg);
            change(&working);
            working.record_listed();
            eprintln!("{what}");
            working.assert_same_with_and_without_state();
        }
    }
}

#[test]
fn included_files_are_part_of_the_ignore_patterns() {
    for hg in hg_programs() {
        let working = working_copy_with_listings(&hg);
        working.write(".hgignore", "syntax: glob\n*.o\nf/g\ninclude:more\n");
        working.write("more", "syntax: glob\n*.x\n");
        working.commit("more");
        working.write("d/unknown", "");
        working.record_listed();
        // The recorded hash leaves out the included file, so the records are not used.
        working.assert_same_with_and_without_state();
        working.write("more", "");
        working.assert_same_with_and_without_state();
    }
}
