//! Narrow clones, which have the history of only part of the files.

use super::sandbox::{FORMATS, Working, programs};

impl Working {
    /// Restricts the repository to this part.
    pub(super) fn narrow(&self, spec: &str) {
        let requires = ["store/requires", "requires"].map(|name| self.path(".hg").join(name));
        let requires = requires.iter().find(|path| path.exists()).unwrap();
        let text = std::fs::read_to_string(requires).unwrap();
        let text = text.replace("narrowhg-experimental\n", "");
        std::fs::write(requires, text + "narrowhg-experimental\n").unwrap();
        self.say(spec, spec);
    }

    fn say(&self, stored: &str, checked_out: &str) {
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
fn what_is_not_there_is_not_told() {
    for hg in programs() {
        for is_v2 in FORMATS {
            let working = Working::with_extensions(&hg, is_v2);
            working.fill();
            working.change();
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
                working.narrow(spec);
                let server = server.get_or_insert_with(|| working.server());
                for question in QUESTIONS {
                    working.same_by(server, question);
                }
            }
        }
    }
}

/// Checks the behavior of newer Mercurial releases.
#[test]
fn what_is_included_again_is_there() {
    for hg in programs() {
        let working = Working::with_extensions(&hg, true);
        if !working.is_from_version_7() {
            continue;
        }
        working.fill();
        working.change();
        for spec in [
            "[include]\npath:\npath:d/e\n[exclude]\npath:d\n",
            "[include]\npath:d/e/a\npath:d\n[exclude]\npath:d/e\n",
            // This path is looked up as if it were asked for by name.
            "[include]\npath:nowhere\n",
            "[include]\npath:d/a\n",
            // Both narrowspec files are read.
            "[include]\n/x\npath:d/a\n",
        ] {
            working.narrow(spec);
            for question in QUESTIONS {
                working.same(question);
            }
        }
    }
}

#[test]
fn what_is_committed_elsewhere_is_missed_by_nobody() {
    for hg in programs() {
        let working = Working::with_extensions(&hg, true);
        working.fill();
        working.change();
        working.narrow("[include]\npath:d\n");
        for file in ["other", "a.i"] {
            let stored = working.path(".hg/store/data").join(file);
            let _ = std::fs::remove_dir_all(&stored);
            let _ = std::fs::remove_file(&stored);
        }
        for question in QUESTIONS {
            working.same(question);
        }
    }
}

#[test]
fn a_working_copy_of_another_part_is_told() {
    for hg in programs() {
        let working = Working::with_extensions(&hg, true);
        working.fill();
        working.narrow("[include]\npath:d\n");
        working.say("[include]\npath:d\n", "[include]\npath:other\n");
        for question in [
            &["status"][..],
            &["status", "--rev", "0", "--rev", "1"],
            &["status", "--config", "ui.detailed-exit-code=yes"],
            &["status", "re:("],
        ] {
            working.same(question);
        }
        for spec in [
            "[include]\nglob:d\n",
            "[include]\npath:d\n[exclude]\nd\n",
            "%include x\n",
            "path:d\n",
            "[exclude]\npath:d\n[include]\npath:d/e\n",
        ] {
            working.say(spec, spec);
            working.same(&["status"]);
        }
        working.same(&["status", "--config", "extensions.narrow=!"]);
        working.configure("[extensions]\nnarrow=!\n");
        working.same(&["status"]);
    }
}
