//! Sparse working copies, which leave out files that are committed.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use super::daemon::{ALL_WAYS, RECORDED_ONLY, WithDaemon};
use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

/// The configuration of the extensions for partial repositories.
pub(super) const EXTENSIONS: &str = "[extensions]\nsparse=\nnarrow=\n";

/// The questions for each working copy.
const QUESTIONS: [&[&str]; 16] = [
    &["status"],
    &["status", "-A"],
    &["status", "-C"],
    &["status", "-c"],
    &["status", "-i"],
    &["status", "-u"],
    &["status", "-mardc"],
    &["status", "-A", "other", "d"],
    &["status", "-A", "other/new", "other/a", "nowhere"],
    &["status", "-I", "glob:**a"],
    &["status", "-X", "path:d"],
    &["status", "-A", "--rev", "0"],
    &["status", "-A", "--rev", "0", "--rev", "1"],
    &["status", "-A", "--rev", "wdir()", "--rev", "0"],
    &["status", "-C", "--change", "1"],
    &["status", "-T", "json"],
];

impl WorkingCopy {
    /// Makes a working copy with these extensions enabled.
    pub(super) fn with_sparse_and_narrow(hg: &Path, is_v2: bool) -> Self {
        let working = Self::new(hg, is_v2);
        working.append_config(EXTENSIONS);
        working
    }

    /// Appends to the configuration.
    pub(super) fn append_config(&self, text: &str) {
        let hgrc = self.0.home().join("hgrc");
        let before = std::fs::read_to_string(&hgrc).unwrap();
        std::fs::write(hgrc, before + text).unwrap();
    }

    /// Commits files twice, and changes some.
    pub(super) fn commit_files_twice(&self) {
        for file in ["a", "d/a", "d/b", "d/e/a", "other/a", "other/b", "other/c"] {
            self.write(file, "1\n");
        }
        self.write(".hgignore", "\\.o$\n");
        self.commit("0");
        for file in ["a", "d/a", "other/a"] {
            self.write(file, "2\n");
        }
        self.hg(&["copy", "-q", "a", "d/copied"]);
        self.hg(&["copy", "-q", "other/b", "d/from-other"]);
        self.hg(&["commit", "-q", "-m", "1", "-d", "0 0"]);
    }

    /// Changes files everywhere.
    pub(super) fn change_files(&self) {
        self.write("d/a", "changed\n");
        self.write("other/new", "");
        self.write("other/x.o", "");
        self.write("d/new", "");
        self.write("d/x.o", "");
        let _ = std::fs::remove_file(self.path("d/b"));
        self.hg(&["copy", "-q", "d/e/a", "d/copy"]);
    }
}

#[test]
fn files_outside_the_sparse_profile_are_not_shown() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::with_sparse_and_narrow(&hg, is_v2);
            working.commit_files_twice();
            working.hg(&["debugsparse", "--include", "d", "--exclude", "path:d/e"]);
            working.assert_same_as_hg(&["status"]);
            working.hg(&["debugsparse", "--reset"]);
            working.hg(&["debugsparse", "--exclude", "other"]);
            working.change_files();
            let mut server = working.server();
            working.assert_same_as_hg_in("d", &["status", "-A"]);
            for question in QUESTIONS {
                working.assert_same_as_hg_server(&mut server, question);
            }
            // Files are left out though the dirstate has them.
            std::fs::write(working.path(".hg/sparse"), "[include]\npath:d/e\nglob:o*\n").unwrap();
            for question in QUESTIONS {
                working.assert_same_as_hg_server(&mut server, question);
            }
            working.hg(&["debugsparse", "-f", "--reset"]);
            for question in QUESTIONS {
                working.assert_same_as_hg_server(&mut server, question);
            }
        }
    }
}

#[test]
fn an_excluded_file_is_shown_if_it_is_asked_for_by_name() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, true);
        working.write("d/kept", "1\n");
        working.commit("0");
        for exclude in ["path:d/e", "path:d/g", "path:e", "d/e", "glob:d/e"] {
            working.hg(&["debugsparse", "-q", "--reset"]);
            working.hg(&["debugsparse", "-q", "--exclude", exclude]);
            for name in ["d/e", "d/g", "e"] {
                working.write(name, "1\n");
            }
            working.assert_same_as_hg(&["status"]);
            working.assert_same_as_hg(&["status", "d/e", "d/g", "e"]);
            working.assert_same_as_hg(&["status", "d"]);
        }
    }
}

#[test]
fn profiles_are_those_of_the_parents() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, true);
        working.write("base", "[include]\npath:d\n");
        working.write(
            "all",
            "%include base\n[include]\nbase\nall\n/rooted\n[exclude]\nd/b\n",
        );
        working.commit_files_twice();
        working.hg(&["debugsparse", "--enable-profile", "all"]);
        working.change_files();
        working.assert_same_as_hg(&["status", "-A"]);
        // An uncommitted profile does not count.
        working.write("base", "[include]\nother\n");
        working.assert_same_as_hg(&["status", "-A"]);
        working.hg(&["commit", "-q", "-m", "2", "-d", "0 0", "base"]);
        working.assert_same_as_hg(&["status", "-A"]);
        working.hg(&["update", "-q", "-r", "0", "--clean"]);
        working.assert_same_as_hg(&["status", "-A"]);
        working.write("d/side", "1\n");
        working.hg(&["add", "-q", "d/side"]);
        working.hg(&["commit", "-q", "-m", "3", "-d", "0 0"]);
        working.hg(&["merge", "-q", "-r", "2"]);
        for question in QUESTIONS {
            working.assert_same_as_hg(question);
        }
        std::fs::write(working.path(".hg/tempsparse"), "other/c\nother\n").unwrap();
        working.assert_same_as_hg(&["status", "-A"]);
    }
}

#[test]
fn without_a_profile_that_cannot_be_read_nothing_is_left_out() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, true);
        working.write("base", "[include]\npath:d\n");
        working.write("all", "%include base\n[exclude]\nd/b\n");
        working.commit_files_twice();
        working.hg(&["debugsparse", "--enable-profile", "all"]);
        working.change_files();
        for name in ["base", "all"] {
            let stored = working.path(&format!(".hg/store/data/{name}.i"));
            let aside = working.path(".hg/aside");
            std::fs::rename(&stored, &aside).unwrap();
            symlink(stored.file_name().unwrap(), &stored).unwrap();
            for question in QUESTIONS {
                working.assert_same_as_hg(question);
            }
            std::fs::rename(&aside, &stored).unwrap();
        }
        working.assert_same_as_hg(&["status", "-A"]);
    }
}

#[test]
fn unusual_sparse_files_are_reported_as_by_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, false);
        working.commit_files_twice();
        working.hg(&["debugsparse", "--include", "path:d"]);
        working.change_files();
        let sparse = working.path(".hg/sparse");
        let huge = "[include]\n".to_owned() + &"x".repeat(100) + &"y\n".repeat(1000);
        for text in [
            "",
            "path:d\n",
            "[exclude]\npath:d\n[include]\npath:other",
            "[exclude]\n[include]\npath:d\n",
            "[include]\n/d\npath:d/e\n[exclude]\n/a\n",
            "%include nowhere\n[include]\npath:other\n",
            "%include d/e\n",
            "%include d/e/a\n",
            "[include]\n../x\n",
            "[include]\nre:(\n",
            "[include]\nd/**\n  other/a \r\n#x\n[exclude]\nre:.*b$\n",
            "[include]\n.\n",
            "[exclude]\n.\n",
            "\u{0}[include]\n",
            huge.as_str(),
        ] {
            std::fs::write(&sparse, text).unwrap();
            for question in [
                &["status", "-A"][..],
                &["status", "-mard", "nowhere"],
                &[
                    "status",
                    "--rev",
                    "0",
                    "--config",
                    "sparse.missingwarning=no",
                ],
            ] {
                working.assert_same_as_hg(question);
            }
            working.write(".hgignore", "syntax: none\n");
            working.assert_same_as_hg(&["status"]);
            working.write(".hgignore", "\\.o$\n");
        }
        std::fs::write(&sparse, "[include]\nd/**\n").unwrap();
        std::fs::remove_dir_all(working.path("d")).unwrap();
        symlink("other", working.path("d")).unwrap();
        working.assert_same_as_hg(&["status"]);
        std::fs::remove_file(&sparse).unwrap();
        std::fs::create_dir(&sparse).unwrap();
        working.assert_same_as_hg(&["status"]);
    }
}

#[test]
fn sparse_and_narrow_repositories_are_refused_without_their_extension() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, true);
        working.commit_files_twice();
        working.hg(&["debugsparse", "--include", "path:d"]);
        for off in ["extensions.sparse=!", "extensions.narrow=!"] {
            working.assert_same_as_hg(&["status", "--config", off]);
            working.assert_same_as_hg(&["status", "--config", off, "--rev", "0", "--rev", "1"]);
        }
        let wrong = &["status", "--config", "sparse.missingwarning=what"];
        working.assert_same_as_hg(wrong);
        std::fs::write(working.path(".hg/sparse"), "%include nowhere\n").unwrap();
        working.assert_same_as_hg(wrong);
    }
}

#[test]
fn patterns_that_are_no_file_or_have_no_end_are_refused() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, true);
        working.commit_files_twice();
        working.hg(&["debugsparse", "--include", "path:d"]);
        let sparse = working.path(".hg/sparse");
        let refused = |what: &str| {
            let (stdout, stderr, code) = working.vigil(&["status"]);
            assert_eq!((stdout.as_str(), code), ("", Some(255)), "{stderr}");
            assert!(
                stderr.contains(what) && stderr.contains(".hg/sparse"),
                "{stderr}"
            );
        };
        std::fs::write(
            &sparse,
            "[include]\n".to_owned() + &"long\n".repeat(1 << 20),
        )
        .unwrap();
        refused("too long");
        std::fs::remove_file(&sparse).unwrap();
        symlink("/dev/zero", &sparse).unwrap();
        refused("no file");
        // Profiles that name one another are read once each.
        std::fs::remove_file(&sparse).unwrap();
        std::fs::write(&sparse, "%include loop\n").unwrap();
        working.write("loop", "%include loop\n%include pool\n[include]\nd\n");
        working.write("pool", "%include loop\n[exclude]\nd/e\n");
        working.hg(&["add", "-q", "loop", "pool"]);
        working.hg(&["commit", "-q", "-m", "loop", "-d", "0 0"]);
        for file in ["d/new", "d/e/new", "other/new"] {
            working.write(file, "");
        }
        working.assert_same_as_hg(&["status", "-A"]);
    }
}

#[test]
fn the_daemon_answers_for_the_current_sparse_profile() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.append_config(EXTENSIONS);
        working.write("one", "[include]\npath:d\n");
        working.commit_files_twice();
        let same = |is_by_daemon: bool| {
            for question in ALL_WAYS.into_iter().chain(RECORDED_ONLY) {
                assert_eq!(
                    served.assert_same_without_daemon(question, &[]),
                    is_by_daemon,
                    "{question:?}"
                );
            }
            working.assert_same_as_hg(&["status", "-A"]);
        };
        same(true);
        working.hg(&["debugsparse", "--exclude", "path:d/e"]);
        working.write("d/new", "");
        working.write("d/e/new", "");
        working.write("other/new", "");
        working.write("d/a", "changed\n");
        same(true);
        let sparse = working.path(".hg/sparse");
        std::fs::write(&sparse, "[include]\nd/**\n").unwrap();
        same(true);
        // A pattern that leads through a link is refused.
        std::fs::rename(working.path("d"), working.path("moved")).unwrap();
        symlink("moved", working.path("d")).unwrap();
        same(false);
        std::fs::remove_file(working.path("d")).unwrap();
        std::fs::rename(working.path("moved"), working.path("d")).unwrap();
        same(true);
        std::fs::write(working.path(".hg/tempsparse"), "other/new\na").unwrap();
        same(true);
        std::fs::write(&sparse, "%include one\n").unwrap();
        same(true);
        // The other changeset has a different profile.
        working.write("one", "[include]\npath:other\none\n");
        // So old that Mercurial records its mtime at once, and not with some later status.
        let one = std::fs::File::options()
            .append(true)
            .open(working.path("one"));
        one.unwrap()
            .set_modified(UNIX_EPOCH + Duration::from_hours(24))
            .unwrap();
        std::fs::write(&sparse, "").unwrap();
        working.hg(&["commit", "-q", "-m", "2", "-d", "0 0", "one"]);
        std::fs::write(&sparse, "%include one\n").unwrap();
        same(true);
        working.hg(&["debugsetparents", "0"]);
        same(true);
        std::fs::write(&sparse, "%include nowhere\n").unwrap();
        same(true);
        std::fs::remove_file(&sparse).unwrap();
        for spec in [
            "[include]\npath:d\npath:a\n",
            "[include]\npath:.\n[exclude]\npath:d\n",
            "[include]\n/a\npath:d\nrootfilesin:.\n",
        ] {
            working.set_narrowspec(spec);
            for question in ALL_WAYS {
                assert!(
                    served.assert_same_without_daemon(question, &[]),
                    "{question:?}"
                );
            }
        }
    }
}

/// Mercurial takes even a part that is everything for a restriction.
#[test]
fn a_link_in_place_of_a_directory_hides_no_deleted_file() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::with_sparse_and_narrow(&hg, is_v2);
            working.commit_files_twice();
            working.hg(&["debugsparse", "--include", "d"]);
            std::fs::rename(working.path("d"), working.path("moved")).unwrap();
            symlink("moved", working.path("d")).unwrap();
            let ask = || {
                working.assert_same_as_hg(&["status"]);
                working.assert_same_as_hg(&["status", "d"]);
                working.assert_same_as_hg(&["status", "-A", "d"]);
                working.assert_same_as_hg(&["status", "-mard", "d", "a"]);
            };
            ask();
            std::fs::write(working.path(".hg/sparse"), "").unwrap();
            ask();
        }
    }
}
