//! `vigil why` in a Mercurial working copy.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Output;

use serde_json::{Value, json};

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

impl WorkingCopy {
    fn why_output(&self, folder: &str, arguments: &[&str]) -> Output {
        self.run_vigil(folder, &[&["why"], arguments].concat())
    }

    /// Returns the explanation of a path, without the path.
    fn explanation(&self, path: &str) -> String {
        let output = self.why_output("", &[path]);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let printed = String::from_utf8(output.stdout).unwrap();
        let prefix = format!("{path}: ");
        let line = printed.strip_prefix(&prefix).unwrap_or(&printed);
        line.strip_suffix('\n').unwrap().to_owned()
    }

    /// Checks the explanation of a path, and that its first word is Mercurial's status.
    #[track_caller]
    fn assert_explanation(&self, path: &str, start: &str, end: &str) {
        let output = self.explanation(path);
        assert!(
            output.starts_with(start) && output.ends_with(end),
            "{output}"
        );
        let path = format!("path:{path}");
        let theirs = self.hg(&["status", "-A", &path]).stdout;
        let letter = match output.split([':', ' ']).next().unwrap() {
            "modified" => b"M ",
            "added" => b"A ",
            "removed" => b"R ",
            "deleted" => b"! ",
            "unknown" => b"? ",
            "ignored" => b"I ",
            "clean" => b"C ",
            _ => &b""[..],
        };
        let theirs_said = String::from_utf8_lossy(&theirs);
        assert!(theirs.starts_with(letter), "{output}, not {theirs_said}");
        assert_eq!(letter.is_empty(), theirs.is_empty(), "{output}");
    }

    /// Gives a file an old mtime.
    fn age(&self, name: &str) {
        let file = std::fs::File::open(self.path(name)).unwrap();
        let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        file.set_modified(then).unwrap();
    }
}

#[test]
fn why_names_the_deciding_facts_or_contents() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["a", "b", "c", "d", "e", "gone", "d.d/f", "d.e/f"] {
                working.write(name, "seven.\n");
                working.age(name);
            }
            working.commit("first");
            // Has Mercurial record the mtimes.
            working.hg(&["status"]);
            let same =
                "clean: size, mode and mtime are those in the dirstate (2001-09-09 01:46:40 UTC)";
            working.assert_explanation("a", same, same);
            working.write("a", "eight..\n");
            let size = "modified: size is 8, the dirstate recorded 7";
            working.assert_explanation("a", size, size);
            let executable = PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(working.path("b"), executable).unwrap();
            let mode = "modified: it may be executed, and might not when it was recorded";
            working.assert_explanation("b", mode, mode);
            std::fs::remove_file(working.path("gone")).unwrap();
            working.assert_explanation("gone", "deleted: nothing is there", "there");
            std::fs::create_dir(working.path("gone")).unwrap();
            let replaced = "deleted: a directory is there in its place";
            working.assert_explanation("gone", replaced, replaced);
            working.write("c", "other.\n");
            let start = "modified: its stat data do not decide (";
            let end = "), contents compared with the first parent's: different";
            working.assert_explanation("c", start, end);
            assert!(working.explanation("c").contains("2001-09-09"));
            working.write("d", "seven.\n");
            let start = "clean: its stat data do not decide (mtime moved from 2001-09-09 01:46:40 UTC to 20";
            let end = "), contents compared with the first parent's: equal";
            working.assert_explanation("d", start, end);
            std::fs::remove_file(working.path("e")).unwrap();
            symlink("seven.", working.path("e")).unwrap();
            working.assert_explanation("e", "modified: ", "");
            std::fs::remove_dir_all(working.path("d.e")).unwrap();
            working.write("d.e", "");
            working.assert_explanation("d.e", "unknown: ", "no pattern ignores it");
            working.assert_explanation("d.e/f", "deleted: nothing is there", "there");
            std::fs::rename(working.path("d.d"), working.path("other")).unwrap();
            symlink("other", working.path("d.d")).unwrap();
            let output = working.explanation("d.d/f");
            assert!(
                output.starts_with("deleted: no status looks there: ")
                    && output.ends_with("traverses symbolic link 'd.d'"),
                "{output}"
            );
        }
    }
}

#[test]
fn why_names_recorded_merges_copies_and_removals() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["f", "g", "h"] {
                working.write(name, "1\n");
            }
            working.commit("first");
            working.write("f", "1\n2\n");
            working.commit("second");
            working.hg(&["update", "-q", "0"]);
            working.write("f", "0\n1\n");
            working.commit("third");
            working.hg(&["merge", "-q", "1"]);
            let merged = "modified: a merge took something of it from the second parent";
            working.assert_explanation("f", merged, merged);
            working.hg(&["update", "-q", "-C", "0"]);
            working.hg(&["remove", "g"]);
            working.assert_explanation("g", "removed: it is no longer tracked", "tracked");
            working.write("g", "");
            let there = "removed: it is no longer tracked, though a file is there";
            working.assert_explanation("g", there, there);
            working.write("new", "");
            working.hg(&["add", "new"]);
            let new = "added: it is tracked, and in no parent";
            working.assert_explanation("new", new, new);
            working.hg(&["copy", "h", "copy"]);
            let copy = "added: it is tracked, and in no parent; recorded as a copy of h";
            working.assert_explanation("copy", copy, copy);
        }
    }
}

#[test]
fn why_names_the_same_ignore_line_as_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        let text = "# none\nsyntax: glob\n*.o\nbuild\nre:^x\\d$\nsubinclude:d/more\n";
        working.write(".hgignore", text);
        working.write("d/more", "^in$\n");
        for name in ["a.o", "build/deep/a", "x1", "d/in", "d/out"] {
            working.write(name, "");
        }
        working.assert_explanation("a.o", "ignored by .hgignore:3: *.o", "*.o");
        let build = "ignored by .hgignore:4: build, which matches build";
        working.assert_explanation("build/deep/a", build, build);
        working.assert_explanation("x1", "ignored by .hgignore:5: ", "");
        let in_folder = "ignored by d/more:1: ^in$";
        working.assert_explanation("d/in", in_folder, in_folder);
        let unknown = "unknown: it is not recorded, and no pattern ignores it";
        working.assert_explanation("d/out", unknown, unknown);
        for (path, line) in [("a.o", 3), ("build/deep/a", 4), ("x1", 5)] {
            let theirs = working.hg(&["debugignore", path]).stdout;
            let theirs = String::from_utf8(theirs).unwrap();
            assert!(
                theirs.contains(&format!(".hgignore, line {line}: ")),
                "{theirs}"
            );
        }
        // Paths are relative to the folder.
        let output = working.why_output("d", &["in", "../a.o"]);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            printed,
            "in: ignored by d/more:1: ^in$\n../a.o: ignored by .hgignore:3: *.o\n"
        );
    }
}

#[test]
fn why_also_explains_paths_that_no_status_shows() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("d/f", "1");
        working.write("d/e/f", "1");
        working.commit("first");
        working.write("d/new", "");
        working.write("d/f", "12");
        assert_eq!(
            working.explanation("d"),
            "directory, files that are recorded: 2, modified: 1, added: 0, removed: 0, deleted: 0, unknown: 1, clean: 1"
        );
        assert!(
            working
                .explanation(".")
                .contains("recorded: 2, modified: 1")
        );
        let output = working.why_output("", &["."]);
        assert!(output.stdout.starts_with(b"./: directory"), "{output:?}");
        std::fs::create_dir_all(working.path("empty")).unwrap();
        assert!(
            working
                .explanation("empty")
                .starts_with("not shown: a directory")
        );
        let absent = "not there: neither in the dirstate nor in the working copy";
        working.assert_explanation("absent", absent, absent);
        assert!(
            working
                .explanation(".hg/requires")
                .starts_with("no status looks there: ")
        );
        std::fs::create_dir_all(working.path("inner/.hg")).unwrap();
        working.write("inner/f", "");
        let inner = working.explanation("inner/f");
        assert!(inner.contains("is inside nested repo 'inner'"), "{inner}");
        let own = "no status looks there: it is a repository of its own";
        working.assert_explanation("inner", own, own);
        let output = working.why_output("", &["/elsewhere"]);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(255));
        assert!(
            printed.starts_with("abort: /elsewhere not under root"),
            "{printed}"
        );
        let name = working.explanation("a\x1b[31m\nb");
        assert!(name.starts_with("\"a\\033[31m\\nb\": not there"), "{name}");
    }
}

#[test]
fn why_says_the_same_in_json() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write(".hgignore", "syntax: glob\n*.o\n");
        working.write("f", "seven.\n");
        working.age("f");
        working.commit("first");
        working.hg(&["status"]);
        working.write("f", "eight..\n");
        working.write("d/a.o", "");
        let output = working.why_output("", &["--format=json", "f", "d/a.o", "absent"]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["schema"], 1);
        assert_eq!(told["system"], "mercurial");
        let paths = &told["paths"];
        assert_eq!(paths[0]["status"], "modified");
        let found = &paths[0]["found"];
        assert_eq!(found["kind"], "recorded");
        assert_eq!(found["reason"], "size");
        assert_eq!(found["recorded"]["size"], 7);
        assert_eq!(found["recorded"]["mtime"]["s"], 1_000_000_000);
        assert_eq!(found["observed"]["size"], 8);
        assert_eq!(paths[1]["status"], "ignored");
        assert_eq!(paths[1]["found"]["excluded"], "d/a.o");
        assert_eq!(paths[1]["found"]["rule"]["line"], 2);
        assert_eq!(paths[1]["found"]["rule"]["pattern"], "*.o");
        assert_eq!(paths[2]["found"], json!({"kind": "absent"}));
    }
}

#[test]
fn why_tells_of_files_outside_the_sparse_profile() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_sparse_and_narrow(&hg, true);
        working.commit_files_twice();
        working.change_files();
        working.write("d/e/new", "");
        let sparse = "[include]\nd\n[exclude]\npath:d/e\n";
        working.hg(&["debugsparse", "-f", "--include", "d"]);
        std::fs::write(working.path(".hg/sparse"), sparse).unwrap();
        for path in ["other/a", "other/new", "d/e", "d/e/new", "nowhere"] {
            assert!(
                working
                    .explanation(path)
                    .ends_with("without it (hg debugsparse)"),
                "{path}: {}",
                working.explanation(path)
            );
        }
        assert!(working.explanation(".").contains("unknown: 1, "));
        for (path, start) in [
            ("d/a", "modified: "),
            ("d/new", "unknown: "),
            ("d/x.o", "ignored "),
        ] {
            working.assert_explanation(path, start, "");
        }
        working.set_narrowspec("[include]\npath:other\n");
        assert!(
            working
                .explanation("d/a")
                .ends_with("without it (hg tracked)")
        );
        let output = working.why_output("", &["--format=json", "d/a", "other/a"]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let by = |at: usize| &told["paths"][at]["found"];
        assert_eq!(*by(0), json!({"kind": "left_out", "by": "narrow"}));
        assert_eq!(*by(1), json!({"kind": "left_out", "by": "sparse"}));
    }
}

#[test]
fn why_explains_nothing_that_the_status_refuses() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("f", "");
        working.write(".hg/hgrc", "[extensions]\neol =\n");
        assert!(working.why_output("", &["f"]).status.success());
        working.write(".hgeol", "");
        let output = working.why_output("", &["f"]);
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(255));
        assert!(
            printed.contains("vigil does not answer this: line endings"),
            "{printed}"
        );
    }
}
