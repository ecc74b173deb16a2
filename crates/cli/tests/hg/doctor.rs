//! `vigil doctor` in a Mercurial working copy.

use std::collections::BTreeMap;

use serde_json::Value;

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

/// The verdict on each subject, with the fact and the remedy.
type Checks = BTreeMap<String, (String, String, String)>;

impl WorkingCopy {
    fn doctor(&self) -> Checks {
        let vigil = env!("CARGO_BIN_EXE_vigil");
        let mut command = self.0.command(vigil, &self.path(""));
        command.args(["doctor", "--json"]);
        // A runtime folder in which the user has no daemon.
        command.env("VIGIL_RUNTIME_DIR", self.0.home().join("run"));
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = told["checks"].as_array().unwrap().iter();
        checks
            .map(|check| {
                let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
                (
                    text("subject"),
                    (text("verdict"), text("fact"), text("remedy")),
                )
            })
            .collect()
    }
}

#[test]
fn nothing_is_wrong_with_a_small_working_copy() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("d/f", "1");
            working.commit("first");
            working.vigil(&["status"]);
            let checks = working.doctor();
            for subject in [
                "repository",
                "extensions and filters",
                "Mercurial's own monitor",
                "repository's disk",
                "mounts in working tree",
                "state",
                "dirstate",
                "time stamps",
                "subrepositories",
                "daemon wanted",
            ] {
                assert_eq!(checks[subject].0, "ok", "{subject}: {checks:?}");
            }
            assert!(checks["repository"].1.ends_with("/.hg, Mercurial's"));
            let version = if is_v2 {
                "version 2, 1 file"
            } else {
                "version 1, 1 file in "
            };
            assert!(checks["dirstate"].1.starts_with(version), "{checks:?}");
            assert!(checks["inotify watches"].1.contains(" 2 needed here"));
            assert!(checks["state"].1.starts_with("of 1 file in "), "{checks:?}");
            assert!(!checks.contains_key("index"));
        }
    }
}

#[test]
fn doctor_reports_what_prevents_answers() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write(".hg/hgrc", "[extensions]\nlargefiles =\nkeyword =\n");
        working.write(".hglf/x", "");
        assert_eq!(working.doctor()["extensions and filters"].0, "ok");
        let keywords = "[extensions]\nkeyword =\n[keyword]\n*.c =\n";
        working.write(".hg/hgrc", keywords);
        let (verdict, fact, remedy) = working.doctor()["extensions and filters"].clone();
        assert_eq!(verdict, "problem");
        assert_eq!(
            fact,
            "the extension 'keyword' with patterns: no status is answered"
        );
        let mut shell = working.0.command("sh", &working.path(""));
        assert!(shell.args(["-c", &remedy]).status().unwrap().success());
        assert_eq!(working.doctor()["extensions and filters"].0, "note");
        working.write(
            ".hg/hgrc",
            "[vigil]\ndaemon = no\nstateFile = no\n[extensions]\nfsmonitor =\n",
        );
        let checks = working.doctor();
        for subject in ["daemon wanted", "state", "Mercurial's own monitor"] {
            assert_eq!(checks[subject].0, "note", "{subject}");
        }
        std::fs::remove_file(working.path(".hg/hgrc")).unwrap();
        let requires = std::fs::read_to_string(working.path(".hg/requires")).unwrap();
        for (more, remedy) in [
            ("exp-remotefilelog-repo-req-1\n", true),
            ("no-such-thing\n", false),
        ] {
            working.write(".hg/requires", format!("{requires}{more}"));
            let check = working.doctor()["repository"].clone();
            assert_eq!((check.0.as_str(), !check.2.is_empty()), ("problem", remedy));
            assert!(check.1.contains(more.trim_end()), "{}", check.1);
        }
        working.write(".hg/requires", requires);
        working.write(".hg/dirstate", "damaged");
        assert_eq!(working.doctor()["dirstate"].0, "problem");
    }
}

#[test]
fn files_that_must_be_compared_are_counted() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for number in 0..120 {
            working.write(&format!("f{number}"), "1");
        }
        working.commit("first");
        let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        for number in 0..120 {
            let file = std::fs::File::open(working.path(&format!("f{number}"))).unwrap();
            file.set_modified(then).unwrap();
        }
        let (verdict, fact, remedy) = working.doctor()["time stamps"].clone();
        assert_eq!(verdict, "note");
        assert!(
            fact.starts_with("120 of 120 recorded files can only"),
            "{fact}"
        );
        assert_eq!(remedy, "hg status --quiet");
        working.hg(&["status", "--quiet"]);
        assert_eq!(working.doctor()["time stamps"].0, "ok");
    }
}
