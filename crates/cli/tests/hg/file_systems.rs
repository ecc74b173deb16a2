//! What Mercurial takes the file system for: one that keeps executable bits and links, and tells upper case from lower.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use vigil_testkit::privileges::without_privileges;

use super::sandbox::{IS_DIRSTATE_V2, ProgramOutput, WorkingCopy, hg_programs, texts_of};

const REFUSED: &str = "abort: vigil does not answer this: executable bits or links, where Mercurial may not find out whether the file system keeps them\n";

/// Mercurial's answer and Vigil's in a working copy in which nobody may write.
fn read_only(working: &WorkingCopy, arguments: &[&str]) -> Option<[ProgramOutput; 2]> {
    let beginning = without_privileges()?;
    let folders = [".hg/wcache", ".hg/store", ".hg/cache", ".hg", ""];
    let set_mode = |mode| {
        for folder in folders {
            let permissions = Permissions::from_mode(mode);
            fs::set_permissions(working.path(folder), permissions).unwrap();
        }
    };
    set_mode(0o555);
    let folder = working.path("");
    let expected = working.0.hg_begun_with(beginning, &folder, arguments);
    let vigil = [env!("CARGO_BIN_EXE_vigil"), "hg"];
    let all = [beginning, &vigil, arguments].concat();
    let answer = working.0.command(all[0], &folder).args(&all[1..]).output();
    set_mode(0o755);
    Some([expected, answer].map(|output| texts_of(&output.unwrap())))
}

#[test]
fn modes_count_where_mercurial_finds_out_that_they_are_kept() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["a", "b", "x", "y"] {
                working.write(name, "1\n");
            }
            let set_mode = |name: &str, mode| {
                let permissions = Permissions::from_mode(mode);
                fs::set_permissions(working.path(name), permissions).unwrap();
            };
            set_mode("x", 0o755);
            symlink("a", working.path("l")).unwrap();
            working.commit("one");
            working.hg(&["status"]);
            let cache = |name: &str| working.path(&format!(".hg/wcache/{name}"));
            for unknown in [&[][..], &["checknoexec"], &["checkisexec", "checklink"]] {
                for name in unknown {
                    fs::remove_file(cache(name)).unwrap();
                }
                let ask = |may_answer: bool| {
                    for arguments in [
                        &["status"][..],
                        &["status", "-A"],
                        &["status", "--rev", "null"],
                    ] {
                        let Some([expected, answer]) = read_only(&working, arguments) else {
                            return;
                        };
                        if may_answer || answer.1 != REFUSED {
                            assert_eq!(answer, expected, "{unknown:?} {arguments:?}");
                        }
                    }
                };
                // What is the same in any case is answered.
                working.write("y", "longer\n");
                ask(true);
                for (name, mode) in [("a", 0o755), ("x", 0o644)] {
                    set_mode(name, mode);
                    ask(unknown.is_empty());
                    set_mode(name, 0o777 - mode + 0o444);
                    working.hg(&["revert", "-q", "--no-backup", name]);
                }
                fs::remove_file(working.path("l")).unwrap();
                working.write("l", "a");
                ask(unknown.is_empty());
                working.hg(&["revert", "-q", "--no-backup", "l", "y"]);
            }
        }
    }
}

#[test]
fn names_in_another_case_are_left_to_mercurial_where_case_is_ignored() {
    let refused = "abort: vigil does not answer this: names on a file system that ignores case\n";
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for name in ["d/f", "g"] {
            working.write(name, "1\n");
        }
        working.write(".hgignore", "^there/\n^\\.HG$\n");
        working.commit("one");
        // Mercurial compares both names of the folder, which may be links.
        fs::rename(working.path(".hg"), working.path("there")).unwrap();
        symlink("there", working.path(".hg")).unwrap();
        fs::hard_link(working.path(".hg"), working.path(".HG")).unwrap();
        working.assert_same_as_hg(&["status"]);
        working.write("d/other", "");
        working.assert_same_as_hg(&["status"]);
        assert_eq!(working.vigil(&["status", "d"]).1, refused);
        for (from, to) in [("g", "G"), ("d/f", "d/F"), ("d", "D")] {
            fs::rename(working.path(from), working.path(to)).unwrap();
            working.assert_same_as_hg(&["status", "-mard"]);
            assert_eq!(working.vigil(&["status"]).1, refused, "{to}");
            fs::rename(working.path(to), working.path(from)).unwrap();
        }
        fs::remove_file(working.path(".HG")).unwrap();
        fs::rename(working.path("g"), working.path("G")).unwrap();
        working.assert_same_as_hg(&["status"]);
    }
}
