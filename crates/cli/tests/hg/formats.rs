//! Rare store formats: tree manifests, dockets, copies recorded by changesets, lists and names of files.

use std::path::{Path, PathBuf};

use vigil_testkit::hg::FORMATS;
use vigil_testkit::hg::server::Server;

use super::sandbox::{WorkingCopy, hg_programs};

const SECOND_VERSION: &str =
    "[experimental]\nrevlogv2=enable-unstable-format-and-corrupt-my-data\n";
const CHANGELOG: &str =
    "[format]\nexp-use-changelog-v2=enable-unstable-format-and-corrupt-my-data\n";
const COPIES: &str = "[format]\nexp-use-copies-side-data-changeset=yes\n";
const TREES: &str = "[experimental]\ntreemanifest=yes\n";

impl WorkingCopy {
    fn copy_and_move(&self, server: &mut Server, pairs: &[(&str, &str)], message: &str) {
        for (from, to) in pairs {
            match to.strip_prefix('=') {
                Some(to) => run_successfully(server, &["copy", "-q", from, to]),
                None => run_successfully(server, &["move", "-q", from, to]),
            }
        }
        commit(server, message);
    }

    fn requires(&self) -> String {
        let read = |path: &str| std::fs::read_to_string(self.path(path)).unwrap_or_default();
        read(".hg/requires") + &read(".hg/store/requires")
    }

    /// The only file in the store whose name has this ending.
    fn store_file(&self, end: &str) -> PathBuf {
        let files = std::fs::read_dir(self.path(".hg/store")).unwrap();
        let mut found = files
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_str().unwrap().ends_with(end));
        let file = found.next().unwrap();
        assert_eq!(found.next(), None, "{end}");
        file
    }
}

/// Runs a command that builds the history; one process runs them all.
fn run_successfully(server: &mut Server, arguments: &[&str]) {
    let output = server.run(arguments).unwrap();
    assert_eq!(output.code, 0, "{arguments:?}: {output:?}");
}

fn commit(server: &mut Server, message: &str) {
    run_successfully(server, &["commit", "-q", "-A", "-m", message, "-d", "0 0"]);
}

/// Commits six changesets, two of them on a branch that is merged, with copies on both sides.
fn history(working: &WorkingCopy, server: &mut Server) {
    let long: String = (0..3000).map(|line| format!("line {line}\n")).collect();
    for (path, text) in [
        ("a", "a\n"),
        ("UPPER/x.i/f", "f\n"),
        ("d/e/f", "deep\n"),
        ("d/e.f", "between\n"),
        ("d/e-f", "before\n"),
        ("escaped", "\u{1}\n\u{1}\n"),
        ("large", &long),
    ] {
        working.write(path, text);
    }
    commit(server, "first");
    working.copy_and_move(
        server,
        &[("d/e", "d/g"), ("a", "=UPPER/a"), ("d/e.f", "h")],
        "second",
    );
    working.write("large", format!("{long}more\n"));
    working.write("a", "a\nb\n");
    working.copy_and_move(server, &[("UPPER/a", "b"), ("h", "=d/h")], "third");
    run_successfully(server, &["update", "-q", "0"]);
    working.write("escaped", "\u{1}\nother");
    working.copy_and_move(
        server,
        &[("a", "c"), ("d/e/f", "=i/f"), ("UPPER/x.i/f", "x")],
        "side",
    );
    run_successfully(server, &["remove", "d/e-f"]);
    commit(server, "gone");
    run_successfully(server, &["merge", "-q", "--tool", ":local", "-r", "2"]);
    run_successfully(server, &["resolve", "-q", "--mark", "--all"]);
    commit(server, "both");
    let tip = server.run(&["log", "-r", "tip", "-T", "{rev}"]).unwrap();
    assert_eq!(tip.stdout, b"5");
}

#[test]
fn contents_and_comparisons_are_answered_in_rare_formats() {
    for hg in hg_programs() {
        for format in FORMATS {
            let working = WorkingCopy::with_config(&hg, format);
            let mut server = working.server();
            history(&working, &mut server);
            let mut same =
                |arguments: &[&str]| working.assert_same_as_hg_server(&mut server, arguments);
            same(&["status", "-A"]);
            for number in ["0", "1", "2", "3", "4", "5"] {
                same(&["status", "-AC", "--change", number]);
            }
            for (from, to) in [
                (0, 2),
                (2, 1),
                (0, 5),
                (5, 3),
                (3, 2),
                (2, 4),
                (4, 5),
                (4, 4),
            ] {
                let (from, to) = (from.to_string(), to.to_string());
                same(&["status", "-AC", "--rev", &from, "--rev", &to]);
            }
            same(&["status", "-C", "--rev", "1", "--rev", "2", "d"]);
            // Only the contents can tell.
            run_successfully(&mut server, &["debugrebuilddirstate"]);
            working.write("large", "changed\n");
            working.write("escaped", "\u{1}\nOTHER");
            run_successfully(&mut server, &["copy", "c", "k"]);
            working.write("d/new", "");
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-C", "--rev", "0"],
                &["status", "-C", "--rev", "0", "d"],
                &["status", "-C", "--rev", "desc(third)"],
                &["status", "-A", "--rev", "null"],
            ] {
                working.assert_same_as_hg_server(&mut server, arguments);
            }
        }
    }
}

#[test]
fn the_test_repositories_have_the_intended_formats() {
    for hg in hg_programs() {
        let required = |format: &str| WorkingCopy::with_config(&hg, format).requires();
        assert!(required(CHANGELOG).contains("exp-changelog-v2"));
        assert!(required(SECOND_VERSION).contains("exp-revlogv2.2"));
        assert!(required(COPIES).contains("exp-copies-sidedata-changeset"));
        assert!(required(TREES).contains("treemanifest"));
        let working = WorkingCopy::with_config(&hg, SECOND_VERSION);
        if working.is_from_version_7() {
            assert!(working.requires().contains("fileindex-v1"));
            let underscored = "exp-very-fragile-and-unsafe-plain-store-encoding";
            assert!(required(FORMATS[2]).contains(underscored));
            assert!(required(FORMATS[3]).contains(underscored));
            assert!(required(FORMATS[0]).contains("delta-info-revlog"));
        }
    }
}

#[test]
fn requirements_that_exclude_each_other_are_refused() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        if !working.is_from_version_7() {
            continue;
        }
        let path = working.path(".hg/store/requires");
        let before = std::fs::read_to_string(&path).unwrap();
        for added in [
            "fileindex-v1\n",
            "exp-very-fragile-and-unsafe-plain-store-encoding\n",
            "plain-store-encode\n",
        ] {
            std::fs::write(&path, format!("{before}{added}")).unwrap();
            working.assert_same_as_hg(&["status"]);
        }
        std::fs::write(&path, "revlogv1\nstore\nfileindex-v1\ntreemanifest\n").unwrap();
        working.assert_same_as_hg(&["status"]);
    }
}

/// Where the docket, as this release writes it, has the length `number`.
fn lengths_at(working: &WorkingCopy, number: usize) -> std::ops::Range<usize> {
    let width = if working.is_from_version_7() { 8 } else { 4 };
    let start = 10 + number * width;
    start..start + width
}

fn damage(path: &Path, change: impl Fn(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_docket_is_reported() {
    for hg in hg_programs() {
        for format in [CHANGELOG, COPIES] {
            let working = WorkingCopy::with_config(&hg, format);
            working.write("a", "1");
            working.commit("first");
            working.hg(&["copy", "a", "b"]);
            working.commit("second");
            let docket = working.path(".hg/store/00changelog.i");
            let whole = std::fs::read(&docket).unwrap();
            let index_len = lengths_at(&working, 0);
            let index = working.store_file(".idx");
            let index_bytes = std::fs::read(&index).unwrap();
            let arguments = ["status", "--rev", "0", "--rev", "1"];
            // In Mercurial's words.
            let same = |change: &dyn Fn(&mut Vec<u8>)| {
                damage(&docket, change);
                working.assert_same_as_hg(&arguments);
                std::fs::write(&docket, &whole).unwrap();
            };
            let pending_len = lengths_at(&working, 1);
            same(&|bytes| bytes.truncate(whole.len() - 3));
            if working.is_from_version_7() {
                // Before version 7, lengths were narrower, so fewer bytes were expected.
                same(&|bytes| bytes[4] = 255);
            }
            same(&|bytes| {
                bytes[index_len.end - 2] = 9;
                bytes[pending_len.end - 2] = 9;
            });
            same(&|bytes| bytes[3] ^= 1);
            same(&|bytes| bytes[1] = 8);
            std::fs::write(&index, &index_bytes[..100]).unwrap();
            working.assert_same_as_hg(&arguments);
            std::fs::remove_file(&index).unwrap();
            working.assert_same_as_hg(&arguments);
            std::fs::write(&index, &index_bytes).unwrap();
            // The valid length is less than what was written, and bytes of a later write are there.
            same(&|bytes| bytes[index_len.end - 1] = 0);
            damage(&index, |bytes| bytes.extend([7; 50]));
            working.assert_same_as_hg(&arguments);
            // In clearer words: Mercurial prints a traceback.
            let refused = |change: &dyn Fn(&mut Vec<u8>)| {
                damage(&docket, change);
                let (out, err, code) = working.vigil(&arguments);
                assert_eq!((out.as_str(), code), ("", Some(255)), "{err}");
                assert!(err.starts_with("abort: "), "{err}");
                std::fs::write(&docket, &whole).unwrap();
            };
            for len in 1..whole.len() {
                refused(&|bytes| bytes.truncate(len));
            }
            refused(&|bytes| bytes[index_len.start] = 0xff);
            refused(&|bytes| bytes[index_len.end - 1] = 1);
            let id_at = lengths_at(&working, 6).start + 1;
            for letter in [b'/', 0, 0xff, b'.'] {
                refused(&|bytes| bytes[id_at + 3] = letter);
            }
            // With the docket restored, the answers agree again.
            working.assert_same_as_hg(&arguments);
        }
    }
}

#[test]
fn damaged_chunks_and_sidedata_are_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, COPIES);
        working.write("a", "1");
        working.commit("first");
        working.hg(&["copy", "a", "b"]);
        working.commit("second");
        let arguments = ["status", "-C", "--change", "1"];
        working.assert_same_as_hg(&arguments);
        let refused = |end: &str, change: &dyn Fn(&mut Vec<u8>)| {
            let path = working.store_file(end);
            let whole = std::fs::read(&path).unwrap();
            damage(&path, change);
            let (out, err, code) = working.vigil(&arguments);
            assert_eq!((out.as_str(), code), ("", Some(255)), "{err}");
            assert!(err.starts_with("abort: "), "{err}");
            std::fs::write(&path, whole).unwrap();
            working.assert_same_as_hg(&arguments);
        };
        refused(".dat", &|bytes| bytes[20] ^= 1);
        refused(".dat", &|bytes| bytes.truncate(20));
        refused(".sda", &|bytes| *bytes.last_mut().unwrap() ^= 1);
        refused(".sda", &Vec::clear);
        // How chunks and sidedata are compressed: the last of the four modes is invalid.
        let mode_at = 96 + 68;
        refused(".idx", &|bytes| bytes[mode_at] |= 3);
        refused(".idx", &|bytes| bytes[mode_at] |= 3 << 2);
        refused(".idx", &|bytes| bytes[96 + 64] = 0x7f);
        refused(".idx", &|bytes| bytes[96 + 56] = 0xff);
        refused(".idx", &|bytes| bytes[96] = 0x7f);
    }
}

#[test]
fn directories_with_their_own_manifests_are_read_or_reported_missing() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, TREES);
        for path in [
            "a", "d/e/f", "d/e.f", "d/e-f", "UPPER/x", ".dot/f", "con/aux",
        ] {
            working.write(path, "1");
        }
        let name = "a-long-name-of-a-directory-as-nobody-would-choose-it-".repeat(3);
        working.write(&format!("{name}/{name}/f"), "1");
        working.commit("first");
        working.write("d/e/f", "22");
        working.write(&format!("{name}/{name}/f"), "22");
        working.commit("second");
        working.hg(&["remove", "-q", "d", "UPPER"]);
        working.commit("third");
        for (from, to) in [("0", "1"), ("1", "2"), ("2", "0"), ("null", "1")] {
            working.assert_same_as_hg(&["status", "-A", "--rev", from, "--rev", to]);
        }
        working.hg(&["update", "-q", "1"]);
        working.hg(&["debugrebuilddirstate"]);
        working.assert_same_as_hg(&["status", "-A"]);
        let manifest = working.path(".hg/store/meta/d/e/00manifest.i");
        let whole = std::fs::read(&manifest).unwrap();
        let arguments = ["status", "--rev", "0", "--rev", "1"];
        std::fs::remove_file(&manifest).unwrap();
        working.assert_same_as_hg(&arguments);
        for len in [0, 30, whole.len() - 1] {
            std::fs::write(&manifest, &whole[..len]).unwrap();
            let (out, err, code) = working.vigil(&arguments);
            assert_eq!((out.as_str(), code), ("", Some(255)), "{err}");
            assert!(err.starts_with("abort: "), "{err}");
        }
        std::fs::write(&manifest, &whole).unwrap();
        working.assert_same_as_hg(&arguments);
    }
}

/// Copies on branches that split and merge: the later record wins, and of simultaneous ones that of the first parent.
#[test]
fn copies_in_changesets_are_combined_where_branches_merge() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, COPIES);
        for path in ["a", "b", "c", "d"] {
            working.write(path, format!("{path}\n"));
        }
        let mut server = working.server();
        let server = &mut server;
        commit(server, "first");
        let sides = [
            &[("a", "x"), ("b", "=y"), ("c", "z")][..],
            &[("b", "x"), ("c", "=y"), ("d", "=w")],
            &[("a", "=x"), ("d", "=z")],
        ];
        for side in sides {
            run_successfully(server, &["update", "-q", "-C", "0"]);
            working.copy_and_move(server, side, "side");
            working.copy_and_move(server, &[("x", "v"), ("v", "=u")], "again");
        }
        // Changesets 2, 4 and 6 are the heads.
        let merge =
            |server: &mut Server, first: &str, second: &str, tool: &str, change: &dyn Fn()| {
                run_successfully(server, &["update", "-q", "-C", first]);
                server
                    .run(&["merge", "-q", "--tool", tool, "-r", second])
                    .unwrap();
                run_successfully(server, &["resolve", "-q", "--mark", "--all"]);
                change();
                run_successfully(server, &["commit", "-q", "-m", "merge", "-d", "0 0"]);
            };
        merge(server, "2", "4", ":local", &|| {});
        merge(server, "4", "2", ":other", &|| {
            working.write("v", "merged\n")
        });
        merge(server, "7", "6", ":local", &|| {
            working.hg(&["remove", "-q", "-f", "u"]);
        });
        merge(server, "6", "8", ":union", &|| {
            working.hg(&["revert", "-q", "--no-backup", "-r", "0", "a", "b", "c"]);
        });
        merge(server, "10", "9", ":local", &|| {});
        // Another root.
        run_successfully(server, &["update", "-q", "-C", "null"]);
        working.write("a", "other\n");
        commit(server, "root");
        working.copy_and_move(server, &[("a", "=t")], "more");
        merge(server, "13", "11", ":local", &|| {});
        let tip = server.run(&["log", "-r", "tip", "-T", "{rev}"]).unwrap();
        assert_eq!(tip.stdout, b"14");
        let mut copied = 0;
        for from in 0..15 {
            for to in 0..15 {
                let (from, to) = (from.to_string(), to.to_string());
                let arguments = ["status", "-C", "--rev", &from, "--rev", &to];
                working.assert_same_as_hg_server(server, &arguments);
                copied += working.vigil(&arguments).0.matches("\n  ").count();
            }
        }
        assert!(copied > 200, "{copied}");
        // This setting would matter only if file versions recorded the copies.
        let setting = "experimental.copies.read-from=filelog-only";
        let arguments = ["status", "-C", "--rev", "0", "--rev", "14"];
        working
            .assert_same_as_hg_server(server, &[&arguments[..], &["--config", setting]].concat());
    }
}
