//! Narrow clones, which have the history of only part of the files.

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

impl WorkingCopy {
    /// Restricts the repository to this part.
    pub(super) fn set_narrowspec(&self, spec: &str) {
        let requires = ["store/requires", "requires"].map(|name| self.path(".hg").join(name));
        let requires = requires.iter().find(|path| path.exists()).unwrap();
        let text = std::fs::read_to_string(requires).unwrap();
        let text = text.replace("narrowhg-experimental\n", "");
        std::fs::write(requires, text + "narrowhg-experimental\n").unwrap();
        self.write_narrowspecs(spec, spec);
    }

    fn write_narrowspecs(&self, stored: &str, checked_out: &str) {
        std::fs::write(self.path(".hg/store/narrowspec"), stored).unwrap();
        std::fs::write(self.path(".hg/narrowspec.dirstate"), checked_out).unwrap();
    }
}

const QUESTIONS: [&[&str]; 13] = [
    &["status"],
    &["status", "-A"],
    &["status", "-C"],
    &["status", "-i"],
    &["status", "-mardc"],
    &["status", "-A", "other", "d"],
    &["status", "-A", "other/new", "d/a", "nowhere"],
    &["status", "-X", "path:d/e"],
    &["status", "-A", "--rev", "0"],
    &["status", "-AC", "--rev", "0", "--rev", "1"],
    &["status", "-AC", "--rev", "1", "--rev", "0"],
    &["status", "-C", "--change", "1"],
    &["status", "-C", "--rev", "null"],
];

#[test]
fn files_outside_the_narrowspec_are_not_shown() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::with_sparse_and_narrow(&hg, is_v2);
            working.commit_files_twice();
            working.change_files();
            let mut server = None;
            for spec in [
                "[include]\npath:d\n",
                "[include]\npath:.\n",
                "[include]\npath:\n[exclude]\npath:d\n",
                "[include]\npath:d\npath:other/a\n",
                "[include]\npath:d\n[exclude]\npath:d/e\n",
                "[include]\nrootfilesin:d\npath:a\n",
                "[include]\nrootfilesin:.\n[exclude]\npath:a\n",
                "[exclude]\npath:a\n",
                "",
            ] {
                working.set_narrowspec(spec);
                let server = server.get_or_insert_with(|| working.server());
                for question in QUESTIONS {
                    working.assert_same_as_hg_server(server, question);
                }
            }
        }
    }
}

/// Checks the behavior of newer Mercurial releases.
#[test]
fn files_that_are_included_again_are_shown() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, true);
        if !working.is_from_version_7() {
            continue;
        }
        working.commit_files_twice();
        working.change_files();
        for spec in [
            "[include]\npath:\npath:d/e\n[exclude]\npath:d\n",
            "[include]\npath:d/e/a\npath:d\n[exclude]\npath:d/e\n",
            // This path is looked up as if it were asked for by name.
            "[include]\npath:nowhere\n",
            "[include]\npath:d/a\n",
            // Both narrowspec files are read.
            "[include]\n/x\npath:d/a\n",
        ] {
            working.set_narrowspec(spec);
            for question in QUESTIONS {
                working.assert_same_as_hg(question);
            }
        }
    }
}

#[test]
fn store_files_outside_the_narrowspec_are_not_needed() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, true);
        working.commit_files_twice();
        working.change_files();
        working.set_narrowspec("[include]\npath:d\n");
        for file in ["other", "a.i"] {
            let stored = working.path(".hg/store/data").join(file);
            let _ = std::fs::remove_dir_all(&stored);
            let _ = std::fs::remove_file(&stored);
        }
        for question in QUESTIONS {
            working.assert_same_as_hg(question);
        }
    }
}

#[test]
fn a_working_copy_with_another_narrowspec_is_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, true);
        working.commit_files_twice();
        working.set_narrowspec("[include]\npath:d\n");
        working.write_narrowspecs("[include]\npath:d\n", "[include]\npath:other\n");
        for question in [
            &["status"][..],
            &["status", "--rev", "0", "--rev", "1"],
            &["status", "--config", "ui.detailed-exit-code=yes"],
            &["status", "re:("],
        ] {
            working.assert_same_as_hg(question);
        }
        for spec in [
            "[include]\nglob:d\n",
            "[include]\npath:d\n[exclude]\nd\n",
            "%include x\n",
            "path:d\n",
            "[exclude]\npath:d\n[include]\npath:d/e\n",
        ] {
            working.write_narrowspecs(spec, spec);
            working.assert_same_as_hg(&["status"]);
        }
        working.assert_same_as_hg(&["status", "--config", "extensions.narrow=!"]);
        working.append_config("[extensions]\nnarrow=!\n");
        working.assert_same_as_hg(&["status"]);
    }
}
