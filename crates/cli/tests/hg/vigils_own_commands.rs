//! Vigil's own commands in a Mercurial working copy.

use serde_json::{Value, json};

use super::sandbox::{WorkingCopy, hg_programs};

impl WorkingCopy {
    fn vigil_json(&self, arguments: &[&str]) -> Value {
        let all = [&["status", "--format=json"], arguments].concat();
        let output = self.run_vigil("", &all);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), printed.as_str()), (Some(0), ""));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns what Mercurial prints about the working copy's parent for a template.
    fn hg_template(&self, template: &str) -> String {
        let output = self.hg(&["log", "-r", ".", "-T", template]);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes two heads with a conflict between them, and stays at the second.
    fn with_conflict(&self) {
        self.write("f", "one\n");
        self.write("g", "one\n");
        self.commit("first");
        self.write("f", "two\n");
        self.commit("second");
        self.hg(&["update", "-q", "0"]);
        self.write("f", "three\n");
        self.commit("third");
    }

    /// Runs [`Self::hg`], except that the command may stop halfway.
    fn try_hg(&self, arguments: &[&str]) {
        self.0.hg(arguments).unwrap();
    }
}

#[test]
fn the_status_is_that_of_the_innermost_repository() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/f", "1");
        working.commit("first");
        working.write("d/f", "12");
        working.write("new", "");
        for folder in ["", "d"] {
            for options in [&[][..], &["-A"], &["-mn0"], &["d", "-q"]] {
                let own = working.run_vigil(folder, &[&["status"], options].concat());
                let same = working.run_vigil(folder, &[&["hg", "status"], options].concat());
                assert_eq!(own, same, "{options:?}");
            }
        }
        let git = |folder: &str| {
            let output = working.run_vigil(folder, &["status", "--porcelain=v2", "--branch"]);
            output.stdout.starts_with(b"# branch.oid")
        };
        let init = |folder: &str| {
            let mut command = working.0.command("git", &working.path(folder));
            assert!(command.args(["init", "-q"]).status().unwrap().success());
        };
        assert!(!git("d"));
        init("d");
        assert_eq!((git(""), git("d")), (false, true));
        // If both are in one folder, git's repository wins.
        init("");
        assert!(git(""));
        std::fs::remove_dir_all(working.path(".git")).unwrap();
        std::fs::create_dir(working.path("d/inner")).unwrap();
        working.hg(&["init", "d/inner"]);
        assert_eq!(working.run_vigil("d/inner", &["status"]).stdout, b"");
        assert!(git("d"));
    }
}

#[test]
fn options_of_git_are_refused_with_a_message() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for option in [
            "--porcelain=v2",
            "-s",
            "-uno",
            "--show-stash",
            "--format=xml",
        ] {
            let output = working.run_vigil("", &["status", option]);
            let printed = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(255), "{option}");
            assert!(printed.contains("working copy of Mercurial"), "{printed}");
            assert_eq!(output.stdout, b"");
        }
        let help = working.run_vigil("", &["status", "--help"]);
        assert_eq!(
            (help.status.code(), help.stdout.is_empty()),
            (Some(0), false)
        );
    }
}

#[test]
fn formats_for_programs_tell_what_is_checked_out_and_what_changed() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        let nothing = working.vigil_json(&[]);
        assert_eq!(
            (&nothing["p1"], &nothing["phase"], &nothing["branch"]),
            (&Value::Null, &json!("public"), &json!("default"))
        );
        for name in ["m", "r", "d", "from"] {
            working.write(name, name);
        }
        working.commit("first");
        working.hg(&["bookmark", "a b"]);
        working.hg(&["branch", "-q", "other"]);
        working.write("m", "changed");
        working.write("u", "");
        working.hg(&["remove", "r"]);
        working.hg(&["copy", "from", "a"]);
        std::fs::remove_file(working.path("d")).unwrap();
        let told = working.vigil_json(&[]);
        assert_eq!(told["p1"], json!(working.hg_template("{node}")));
        assert_eq!(told["p2"], Value::Null);
        assert_eq!(
            (&told["branch"], &told["bookmark"]),
            (&json!("other"), &json!("a b"))
        );
        let change = |status: &str, path: &str, source: Option<&str>| json!({"status": status, "path": path, "source": source});
        assert_eq!(
            told["changes"],
            json!([
                change("modified", "m", None),
                change("added", "a", Some("from")),
                change("removed", "r", None),
                change("deleted", "d", None),
                change("unknown", "u", None),
            ])
        );
        assert_eq!(
            told["counts"],
            json!({"modified": 1, "added": 1, "removed": 1, "deleted": 1, "unknown": 1, "ignored": null, "clean": null})
        );
        let some = working.vigil_json(&["-mq", "glob:*"]);
        assert_eq!(some["changes"], json!([change("modified", "m", None)]));
        let line = working.run_vigil("", &["status", "--format=line"]).stdout;
        let want = "other bookmark \"a b\" topic - phase draft modified 1 added 1 removed 1 deleted 1 unknown 1 unresolved 0 action -\n";
        assert_eq!(String::from_utf8(line).unwrap(), want);
        // A bookmark that no longer exists is not active, whatever the file says.
        working.hg(&["bookmark", "-d", "a b"]);
        std::fs::write(working.path(".hg/bookmarks.current"), "a b").unwrap();
        assert_eq!(working.vigil_json(&[])["bookmark"], Value::Null);
        std::fs::write(working.path(".hg/topic"), "t\u{1}\n").unwrap();
        assert_eq!(working.vigil_json(&[])["topic"], json!("t\u{1}"));
    }
}

#[test]
fn a_bookmark_of_a_changeset_that_is_not_known_is_not_active() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for name in ["f", "g"] {
            working.write(name, "");
            working.commit(name);
        }
        working.hg(&["bookmark", "a b"]);
        let [first, tip] = ["0", "tip"].map(|revision| {
            let output = working.hg(&["log", "-r", revision, "-T", "{node}"]);
            String::from_utf8(output.stdout).unwrap()
        });
        let [null, unknown] = ["0", "1"].map(|digit| digit.repeat(40));
        let mut told = Vec::new();
        for nodes in [
            &[&unknown][..],
            &[&tip],
            &[&first],
            &[&null],
            &[&unknown, &first],
            &[&unknown, &unknown],
        ] {
            let lines = nodes.iter().map(|node| format!("{node} a b\n"));
            working.write(".hg/bookmarks", lines.collect::<String>());
            let active = working.hg(&["bookmarks", "-T", "{if(active, bookmark)}"]);
            let active = String::from_utf8(active.stdout).unwrap();
            let own = working.vigil_json(&[])["bookmark"].clone();
            assert_eq!(own.as_str().unwrap_or_default(), active, "{nodes:?}");
            told.push(!active.is_empty());
        }
        assert_eq!(told, [false, true, true, true, true, false]);
    }
}

#[test]
fn the_phase_is_that_of_the_first_parent() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for n in 0..6 {
            working.write("f", format!("{n}"));
            working.commit("more");
        }
        working.hg(&["update", "-q", "2"]);
        working.write("g", "");
        working.commit("branches off");
        working.hg(&["merge", "-q", "5"]);
        working.commit("merge");
        let compare = || {
            for number in 0..8 {
                working.hg(&["update", "-q", &number.to_string()]);
                let phase = working.vigil_json(&[])["phase"].clone();
                assert_eq!(phase, json!(working.hg_template("{phase}")), "{number}");
            }
        };
        compare();
        for change in [
            &["--public", "1"][..],
            &["--secret", "--force", "5"],
            &["--secret", "--force", "6"],
            &["--public", "3"],
            &["--draft", "--force", "0"],
        ] {
            working.hg(&[&["phase"], change].concat());
            compare();
        }
    }
}

#[test]
fn unfinished_operations_are_reported() {
    for hg in hg_programs() {
        let extensions = ["rebase", "histedit", "shelve", "graft"];
        let enabled: Vec<String> = extensions
            .iter()
            .filter(|name| **name != "graft")
            .map(|name| format!("extensions.{name}="))
            .collect();
        let with = |arguments: &[&'static str]| -> Vec<String> {
            let all = arguments.iter().map(|word| (*word).to_owned());
            let options = enabled
                .iter()
                .flat_map(|one| ["--config".to_owned(), one.clone()]);
            all.chain(options).collect()
        };
        for (name, operations) in [
            ("merge", &[&["merge"][..]][..]),
            ("graft", &[&["graft", "1"]]),
            ("rebase", &[&["rebase", "-s", "2", "-d", "1"]]),
            ("histedit", &[&["histedit", "2", "--commands", "plan"]]),
            (
                "bisect",
                &[&["bisect", "--bad", "2"], &["bisect", "--good", "0"]],
            ),
            (
                "bisect",
                &[
                    &["bisect", "--bad", "2"],
                    &["update", "-q", "-C", "2"],
                    &["merge"],
                ],
            ),
        ] {
            let working = WorkingCopy::new(&hg, true);
            working.with_conflict();
            if name == "histedit" {
                let node = working.hg_template("edit {node|short}\n");
                working.write("plan", node);
            }
            assert_eq!(working.vigil_json(&[])["operation"], Value::Null);
            for operation in operations {
                let all = with(operation);
                working.try_hg(&all.iter().map(String::as_str).collect::<Vec<_>>());
            }
            let all = with(&["status", "-v"]);
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let output = String::from_utf8(working.hg(&all).stdout).unwrap();
            assert!(
                output.contains(&format!("unfinished *{name}* state")),
                "{output}"
            );
            let told = working.vigil_json(&[]);
            assert_eq!(told["operation"], json!(name));
            let unresolved = working
                .hg(&["resolve", "--list", "-T", "{mergestatus}"])
                .stdout;
            let open = unresolved.iter().filter(|letter| **letter == b'U').count();
            assert_eq!(told["unresolved"], json!(open), "{name}");
        }
    }
}

#[test]
fn watch_tells_of_changes() {
    use std::io::{BufRead, BufReader};
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        let vigil = env!("CARGO_BIN_EXE_vigil");
        let mut command = working.0.command(vigil, &working.path(""));
        let mut watching = command
            .arg("watch")
            .env("VIGIL_NO_DAEMON", "1")
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        assert!(first.contains(" unknown 0 "), "{first}");
        working.write("new", "");
        let second = lines.next().unwrap().unwrap();
        assert!(second.contains(" unknown 1 "), "{second}");
        watching.kill().unwrap();
        watching.wait().unwrap();
    }
}

#[test]
fn watch_goes_on_when_an_invalid_pattern_is_mended() {
    use std::io::{BufRead, BufReader};
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        let vigil = env!("CARGO_BIN_EXE_vigil");
        let mut command = working.0.command(vigil, &working.path(""));
        working.write(".hgignore", "*one\n");
        let mut watching = command
            .arg("watch")
            .env("VIGIL_NO_DAEMON", "1")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
        let mut errors = BufReader::new(watching.stderr.take().unwrap()).lines();
        let mut complains_of = |pattern: &str| {
            let error = errors.next().unwrap().unwrap();
            assert!(error.ends_with(&format!(": {pattern}")), "{error}");
        };
        complains_of("*one");
        working.write(".hgignore", "");
        let first = lines.next().unwrap().unwrap();
        assert!(first.contains(" unknown 1 "), "{first}");
        working.write(".hgignore", "*two\n");
        complains_of("*two");
        working.write(".hgignore", "*three\n");
        complains_of("*three");
        // The line that follows is another one.
        working.write("new", "");
        working.write(".hgignore", "");
        let second = lines.next().unwrap().unwrap();
        assert!(second.contains(" unknown 2 "), "{second}");
        // It ends as soon as there is no working copy any more.
        std::fs::rename(working.path(".hg"), working.path("hg")).unwrap();
        let error = errors.next().unwrap().unwrap();
        assert!(error.starts_with("fatal: not a git repository"), "{error}");
        assert_eq!(watching.wait().unwrap().code(), Some(128));
    }
}

#[test]
fn a_prompt_tells_what_is_checked_out_and_what_changed() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        let prompt = |folder: &str, options: &[&str]| {
            let output = working.run_vigil(folder, &[&["prompt"], options].concat());
            assert!(output.status.success() && output.stderr.is_empty());
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(prompt("", &[]), "default\n");
        working.write("r", "r");
        working.write("d/x", "x");
        working.with_conflict();
        working.hg(&["bookmark", "b%F{1}$(x)"]);
        working.try_hg(&["merge", "1"]);
        working.hg(&["remove", "r"]);
        working.write("d/u", "");
        let text = prompt("d", &[]);
        assert_eq!(text, "default@b%F{1}$(x) draft merge ~1 -1 !1 ?2\n");
        let of_zsh = prompt("", &["--shell=zsh", "--color=never"]);
        assert!(of_zsh.starts_with("default@b%%F{1}"), "{of_zsh}");
        let format = prompt("", &["--format={bookmark}|{phase}|{staged}|{unstaged}"]);
        assert_eq!(format, "b%F{1}$(x)|draft|+1|!1\n");
        // gitstatusd knows only git.
        let mut command = working
            .0
            .command(env!("CARGO_BIN_EXE_vigil"), &working.path("d"));
        let place = working.path("d");
        let request = format!("id\x1f{}\x1e", place.display());
        let mut serving = command
            .args(["gitstatusd", "--prompt-for", "bash"])
            .env("VIGIL_NO_DAEMON", "1")
            .env("NO_COLOR", "1")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut serving.stdin.take().unwrap(), request.as_bytes()).unwrap();
        let output = serving.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut fields = printed.split('\x1f');
        assert_eq!((fields.next(), fields.next()), (Some("id"), Some("0")));
        assert!(
            fields.next().unwrap().starts_with("default@b%F{1}"),
            "{printed:?}"
        );
    }
}

#[test]
fn vigils_own_formats_never_ask_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("u", "");
        let rc = "[vigil]\nhg.fallback=yes\n[extensions]\nwin32text=\n";
        working.write(".hg/hgrc", rc);
        let plain = working.run_vigil("", &["status"]);
        assert!(plain.stdout.starts_with(b"? u"), "{plain:?}");
        for arguments in [
            &["status", "--format=json"][..],
            &["status", "--format=line"],
            &["prompt"],
        ] {
            let output = working.run_vigil("", arguments);
            assert_eq!(output.stdout, b"", "{arguments:?}");
        }
    }
}
