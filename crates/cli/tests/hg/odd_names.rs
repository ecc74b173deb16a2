//! Files and paths that are named like Mercurial's own folder, or almost.

use std::fs;
use std::os::unix::fs::symlink;

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

#[test]
fn below_the_top_only_a_folder_makes_a_repository() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["tracked/f", "ignored.o"] {
                working.write(name, "1");
            }
            working.commit("0");
            for name in ["tracked/new", "file/f", "dangling/f", "leads/f", "real/f"] {
                working.write(name, "");
            }
            working.write("tracked/.hg", "no folder\n");
            working.write("file/.hg", "no folder\n");
            symlink("nowhere", working.path("dangling/.hg")).unwrap();
            symlink("../elsewhere", working.path("leads/.hg")).unwrap();
            working.write("elsewhere/f", "");
            working.write("real/.hg/f", "");
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "file", "dangling", "tracked"],
                &["status", "file/.hg"],
                &["status", "-i", "-X", "tracked"],
            ] {
                working.assert_same_as_hg(arguments);
                working.assert_same_as_hg(arguments);
            }
            // What is not a folder may become one.
            fs::remove_file(working.path("tracked/.hg")).unwrap();
            working.write("tracked/.hg/f", "");
            working.assert_same_as_hg(&["status", "-A"]);
        }
    }
}

#[test]
fn a_path_that_begins_at_the_top_twice_is_refused() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/a", "");
        for pattern in ["path:/d", "rootglob:/d/*", "path:/d/a", "path:/nothing"] {
            let (_, stderr, code) = working.vigil(&["status", pattern]);
            assert_eq!(code, Some(255), "{pattern}");
            assert!(
                stderr.contains("vigil does not answer this: the path '/"),
                "{stderr}"
            );
        }
        working.assert_same_as_hg(&["status", "-I", "path:/d"]);
        working.assert_same_as_hg(&["status", "-X", "rootglob:/d/*"]);
    }
}

#[test]
fn paths_are_refused_that_other_systems_take_for_mercurials_folder() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["q/.hg./f", ".HG./f", "q/HG~1/f", "q/.hg\u{200c}/f"] {
            working.write(name, "");
        }
        let mut server = working.server();
        for path in [
            "q/.hg./f",
            "q/.hg.",
            ".HG./f",
            "q/.hg./.hg/f",
            "q/.hg/.hg./f",
            "q/HG~1/f",
            "hg8b6c~12",
            "q/HG~x",
            "q/.h\u{feff}g/f",
            ".\u{200d}hg",
            "q/.hg\u{200c}/f",
        ] {
            working.assert_same_as_hg_server(&mut server, &["status", path]);
        }
    }
}

#[test]
fn a_file_below_a_folder_of_git_is_recorded_or_unknown_but_not_both() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in [
                "a",
                "g/.git/HEAD",
                "g/.git/config",
                "g/.git/x/y",
                ".git/top",
                ".git/other",
            ] {
                working.write(name, "1\n");
            }
            let assert_same = || {
                for question in [
                    &["status"][..],
                    &["status", "-A"],
                    &["status", "-i"],
                    &["status", "-u", "g"],
                    &["status", "-A", "--rev", "null"],
                    &["status", "-tu"],
                ] {
                    working.assert_same_as_hg(question);
                }
            };
            assert_same();
            working.hg(&["add", "-q", "a", "g/.git/HEAD", "g/.git/x/y", ".git/top"]);
            assert_same();
            working.write(".hgignore", "HEAD|other");
            assert_same();
            working.hg(&["commit", "-q", "-m", "0"]);
            working.write("g/.git/HEAD", "22\n");
            working.hg(&["forget", "-q", ".git/top"]);
            assert_same();
            fs::remove_file(working.path("g/.git/x/y")).unwrap();
            assert_same();
        }
    }
}

#[test]
fn recorded_names_and_paths_that_are_too_long_for_the_system_are_missing() {
    let long = "n".repeat(256);
    let path = "p/".repeat(2045);
    let names = [
        "a/gone".to_owned(),
        long.clone(),
        format!("{long}/f"),
        format!("a/{long}/{long}/f"),
        format!("link/{long}/f"),
        format!("{path}fffff"),
        format!("{path}ffffff"),
        format!("{}f", "q/".repeat(20_000)),
    ];
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a/b", "1");
        working.hg(&["add", "-q"]);
        working.write("link", "1");
        let mut dirstate = fs::read(working.path(".hg/dirstate")).unwrap();
        for name in &names {
            dirstate.push(b'n');
            for number in [0o100_644, 1, 1000, name.len()] {
                dirstate.extend(u32::try_from(number).unwrap().to_be_bytes());
            }
            dirstate.extend(name.as_bytes());
        }
        fs::write(working.path(".hg/dirstate"), dirstate).unwrap();
        for arguments in [
            &["status"][..],
            &["status", "-A"],
            &["status", "-mard", "a"],
            &["status", "-d", "a", "link"],
        ] {
            working.assert_same_as_hg(arguments);
            working.assert_same_as_hg(arguments);
        }
    }
}
