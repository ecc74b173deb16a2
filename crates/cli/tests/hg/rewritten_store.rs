//! Stored data are rewritten under the same names: the answers follow, whatever is cached of earlier comparisons.

use std::fs;

use super::daemon::WithDaemon;
use super::sandbox::{WorkingCopy, hg_programs};

/// The place of the parents in a record of a revlog's index, and the length of a record.
const PARENTS_IN_RECORD: std::ops::Range<usize> = 24..32;
const RECORD_LEN: usize = 64;

impl WorkingCopy {
    /// Commits a merge in which the file `b` is recorded as a copy, and has only a second parent.
    fn merge_of_a_copy(&self) {
        self.write("a", "1\n2\n3\n4\n5\n6\n");
        self.commit("first");
        self.write("a", "foo\n2\n3\n4\n5\n6\n");
        self.commit("changed");
        self.hg(&["update", "-q", "0"]);
        self.write("a", "1\n2\n3\n4\n5\nbar\n");
        self.hg(&["move", "a", "b"]);
        self.commit("moved");
        self.hg(&["merge", "-q", "1"]);
        self.commit("merged");
        // No stat data are recorded: only the contents decide.
        self.hg(&["debugrebuilddirstate"]);
    }

    /// Swaps the parents of the second revision of `b`, as a release of Mercurial did, and another does to repair that.
    /// The node is the same either way, but the contents differ.
    fn exchange_parents(&self) {
        let path = self.path(".hg/store/data/b.i");
        let mut bytes = fs::read(&path).unwrap();
        let first_len = u32::from_be_bytes(bytes[8..12].try_into().unwrap()) as usize;
        let parents = &mut bytes[RECORD_LEN + first_len..][PARENTS_IN_RECORD];
        parents.rotate_left(4);
        fs::write(&path, bytes).unwrap();
    }

    /// Lets time pass, so that stamps that were too young are old enough at the next look.
    fn wait_for_tick(&self) {
        vigil_testkit::clock::wait_for_tick();
    }
}

#[test]
fn a_repair_of_the_store_is_seen() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.merge_of_a_copy();
        for _ in 0..2 {
            working.wait_for_tick();
            assert_eq!(working.vigil(&["status"]).0, "");
        }
        working.exchange_parents();
        for _ in 0..2 {
            working.wait_for_tick();
            working.assert_same_as_hg(&["status"]);
            assert_eq!(working.vigil(&["status"]).0, "M b\n");
        }
        working.exchange_parents();
        assert_eq!(working.vigil(&["status"]).0, "");
        working.assert_same_as_hg(&["status"]);
    }
}

#[test]
fn a_repair_of_the_store_is_seen_by_the_daemon() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.merge_of_a_copy();
        let assert_status = |expected: &str| {
            assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
            assert_eq!(working.vigil(&["status"]).0, expected);
        };
        for expected in ["", "M b\n", "", "M b\n"] {
            for _ in 0..2 {
                assert_status(expected);
                working.wait_for_tick();
            }
            working.exchange_parents();
        }
    }
}

#[test]
fn a_file_that_could_not_be_compared_is_compared_again() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.write("d/f", "1\n");
        std::os::unix::fs::symlink("1", working.path("link")).unwrap();
        working.commit("first");
        working.hg(&["debugrebuilddirstate"]);
        for name in ["d/f", "link"] {
            let index = working.path(".hg/store/data").join(format!("{name}.i"));
            let whole = fs::read(&index).unwrap();
            fs::write(&index, &whole[..RECORD_LEN]).unwrap();
            for _ in 0..2 {
                working.wait_for_tick();
                let (output, complained, code) = working.vigil(&["status"]);
                assert_eq!((output.as_str(), code), ("", Some(255)), "{complained}");
                served.assert_same_without_daemon(&["hg", "status"], &[]);
            }
            fs::write(&index, &whole).unwrap();
            assert_eq!(working.vigil(&["status", "-m"]).0, "");
            served.assert_same_without_daemon(&["hg", "status", "-m"], &[]);
        }
    }
}
