//! `vigil why`.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;
use vigil_testkit::privileges::without_privileges;
use vigil_testkit::sandbox::{TextOutput, vigil_program};

use crate::sandbox::Sandbox;

/// The lines about one path, without the path.
fn explanation(sandbox: &Sandbox, path: &str) -> Vec<String> {
    let text = sandbox.text(&["why", path]);
    let lines = text.lines();
    let prefix = format!("{path}: ");
    lines
        .map(|line| line.strip_prefix(&prefix).unwrap_or(line).to_owned())
        .collect()
}

#[track_caller]
fn assert_why(sandbox: &Sandbox, path: &str, expected: &[&str]) {
    assert_eq!(explanation(sandbox, path), expected, "{path}");
}

/// Asserts how the last line starts and ends; times are in between.
#[track_caller]
fn assert_last_line(sandbox: &Sandbox, path: &str, start: &str, end: &str) {
    let output = explanation(sandbox, path);
    let last = output.last().unwrap();
    assert!(last.starts_with(start) && last.ends_with(end), "{output:?}");
}

#[test]
fn why_names_the_deciding_stat_facts() {
    let sandbox = Sandbox::new();
    for file in ["src/a.c", "src/deep/b.c", ".gitignore"] {
        sandbox.age(file, 100);
    }
    sandbox.git(["update-index", "-q", "--refresh"]);
    assert_last_line(
        &sandbox,
        "src/deep/b.c",
        "unchanged: its stat data match the index of 20",
        " UTC",
    );
    sandbox.write("src/a.c", "int a, b;\n");
    assert_why(
        &sandbox,
        "src/a.c",
        &["modified: size is 10, the index recorded 7"],
    );
    let path = sandbox.top().join("src/deep/b.c");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    assert_why(
        &sandbox,
        "src/deep/b.c",
        &["modified: mode is 100755, the index recorded 100644"],
    );
    std::fs::remove_file(&path).unwrap();
    assert_why(&sandbox, "src/deep/b.c", &["deleted: nothing is there"]);
    symlink("../a.c", &path).unwrap();
    let output = explanation(&sandbox, "src/deep/b.c");
    assert!(output[0].starts_with("type changed: mode is 120000, the index recorded 100644"));
    std::fs::remove_file(&path).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(fifo.unwrap().success());
    let output = explanation(&sandbox, "src/deep/b.c");
    assert!(
        output[0].starts_with("modified: it is a pipe, socket or device"),
        "{output:?}"
    );
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_why(
        &sandbox,
        "src/deep/b.c",
        &["deleted: a directory is there in its place"],
    );
    std::fs::remove_dir_all(sandbox.top().join("src/deep")).unwrap();
    symlink(".", sandbox.top().join("src/deep")).unwrap();
    assert_why(&sandbox, "src/deep/b.c", &["deleted: nothing is there"]);
    sandbox.write("src/b.c", "");
    assert_why(
        &sandbox,
        "src/deep/b.c",
        &["deleted: src/deep is a symbolic link now"],
    );
}

#[test]
fn why_names_the_contents_where_stat_facts_do_not_decide() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "# comment\n\n*.c text=auto ident\n");
    sandbox.age("src/a.c", 100);
    sandbox.git(["update-index", "-q", "--refresh"]);
    sandbox.age("src/a.c", 50);
    let steps = "; line endings converted if it is text by text=auto (.gitattributes:3); $Id$ collapsed by ident \
                 (.gitattributes:3)";
    assert_last_line(
        &sandbox,
        "src/a.c",
        "unchanged: its stat data do not decide (mtime moved from 20",
        &format!("contents compared: equal{steps}"),
    );
    sandbox.write("src/a.c", "int b;\n");
    sandbox.age("src/a.c", 25);
    assert_last_line(
        &sandbox,
        "src/a.c",
        "modified: its stat data do not decide (mtime moved from 20",
        &format!("contents compared: different{steps}"),
    );
    // Written in the same second as the index, or later.
    sandbox.git(["update-index", "src/a.c"]);
    sandbox.write("src/a.c", "int c;\n");
    sandbox.age("src/a.c", -100);
    let output = explanation(&sandbox, "src/a.c");
    assert_eq!(output.len(), 2);
    assert!(
        output[0].starts_with("staged: modified (blob "),
        "{output:?}"
    );
    sandbox.git(["update-index", "src/a.c"]);
    assert_last_line(
        &sandbox,
        "src/a.c",
        "unchanged: its stat data do not decide (racy: its mtime is not before that of the index, 20",
        &format!("contents compared: equal{steps}"),
    );
    let json = sandbox.json(&[
        "-c",
        "core.autocrlf=input",
        "why",
        "--format=json",
        "new",
        "src/a.c",
    ]);
    let contents = &json["paths"][1]["found"]["reason"]["contents"];
    assert_eq!(contents["steps"][0]["line"], 3);
    assert_eq!(contents["steps"][1]["treatment"], "ident");
    sandbox.write(".gitattributes", "");
    let output = sandbox.text(&["-c", "core.autocrlf=input", "why", "src/a.c"]);
    assert!(
        output.contains("; line endings converted if it is text by core.autocrlf\n"),
        "{output}"
    );
}

#[test]
fn why_tells_what_the_state_knows() {
    let sandbox = Sandbox::new();
    // Stat data that does not decide.
    sandbox.age("src/a.c", 100);
    sandbox.age("src/deep/b.c", 100);
    sandbox.settle();
    let recorded =
        "contents compared: equal; the comparison is recorded in the state, the file is not read";
    assert_last_line(
        &sandbox,
        "src/a.c",
        "unchanged: ",
        "contents compared: equal",
    );
    assert_why(&sandbox, "new", &["untracked: no rule matches"]);
    // This question does not save anything.
    assert!(!sandbox.state_folder().exists());
    sandbox.assert_same_status();
    assert_last_line(&sandbox, "src/a.c", "unchanged: ", recorded);
    let listing =
        "untracked: no rule matches; the state has the listing of ./, still valid (mtime 20";
    assert_last_line(&sandbox, "new", listing, " UTC): nothing is listed again");
    let holds = ": it is not listed again";
    assert_last_line(
        &sandbox,
        "src",
        "directory, entries of the index: 2, staged: 0, changed in the working tree: 0, in conflict: 0, untracked: 0; \
         the state has its listing, still valid (mtime 20",
        holds,
    );
    sandbox.age("src/a.c", 50);
    assert_last_line(
        &sandbox,
        "src/a.c",
        "unchanged: ",
        "contents compared: equal",
    );
    assert_last_line(&sandbox, "src/deep/b.c", "unchanged: ", recorded);
    sandbox.write("src/other", "");
    assert_last_line(&sandbox, "src", "directory, ", ", untracked: 1");
    assert_why(&sandbox, "src/other", &["untracked: no rule matches"]);
    assert_last_line(&sandbox, "src/deep", "directory, ", holds);
    // A new entry elsewhere affects nothing; one in the directory does.
    sandbox.git(["add", "src/other"]);
    assert_last_line(&sandbox, "new", listing, " UTC): nothing is listed again");
    assert_last_line(&sandbox, "src/deep/b.c", "unchanged: ", recorded);
    sandbox.git(["add", "new"]);
    sandbox.write("other", "");
    assert_why(&sandbox, "other", &["untracked: no rule matches"]);
    sandbox.git(["config", "vigil.stateFile", "false"]);
    assert_last_line(
        &sandbox,
        "src/deep/b.c",
        "unchanged: ",
        "contents compared: equal",
    );
}

#[test]
fn why_names_rules_with_file_and_line() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "# objects\n*.o\n!keep.o\nbuild/\n");
    for name in [
        "x.o",
        "keep.o",
        "build/x/y",
        "dir/sub/z",
        "dir/x.o",
        "src/.gitignore",
        "src/q",
    ] {
        sandbox.write(name, "");
    }
    sandbox.write("src/.gitignore", "q\n");
    sandbox.write(".git/info/exclude", "\nlocal\n");
    sandbox.write("local", "");
    std::fs::create_dir(sandbox.top().join("empty")).unwrap();
    for (path, expected) in [
        ("x.o", "ignored by .gitignore:2: *.o"),
        ("keep.o", "untracked: .gitignore:3: !keep.o re-includes it"),
        ("build", "ignored by .gitignore:4: build/"),
        (
            "build/x/y",
            "ignored by .gitignore:4: build/, which matches build",
        ),
        ("dir", "untracked: no rule matches"),
        (
            "dir/sub/z",
            "untracked: no rule matches; it is shown as dir/",
        ),
        ("dir/x.o", "ignored by .gitignore:2: *.o"),
        ("src/q", "ignored by src/.gitignore:1: q"),
        ("local", "ignored by .git/info/exclude:2: local"),
        (
            "empty",
            "not shown: a directory without files that could be added",
        ),
        (".git/HEAD", "git's own: no status looks there"),
        (
            "gone/x",
            "not there: neither in the index nor in the working tree",
        ),
    ] {
        let output = explanation(&sandbox, path);
        let output: Vec<_> = output
            .iter()
            .map(|line| line.replace(&format!("{}/", sandbox.top().display()), ""))
            .collect();
        assert_eq!(output, [expected], "{path}");
    }
    let all = ["-c", "status.showUntrackedFiles=all", "why", "dir"];
    let expected = "dir: untracked: no rule matches; what is in it is shown file by file\n";
    assert_eq!(sandbox.text(&all), expected);
    let none = ["-c", "status.showUntrackedFiles=no", "why", "dir"];
    let expected = "dir: untracked: no rule matches; untracked files are not shown (status.showUntrackedFiles=no)\n";
    assert_eq!(sandbox.text(&none), expected);
    // Tracked files below the directory remain tracked.
    sandbox.write(".gitignore", "src/\n");
    assert_last_line(
        &sandbox,
        "src",
        "directory, entries of the index: 2",
        "; what is untracked in it is ignored by .gitignore:1: src/ (src)",
    );
    assert_last_line(&sandbox, "src/a.c", "unchanged: ", "");
    assert_why(
        &sandbox,
        "src/new",
        &["not there: neither in the index nor in the working tree"],
    );
}

#[test]
fn why_tells_of_index_flags_and_staged_changes() {
    let sandbox = Sandbox::new();
    let id = |name: &str| {
        let id = sandbox.git(["rev-parse", "--short", name]);
        id.trim().to_owned()
    };
    let (a, b) = (id(":src/a.c"), id(":src/deep/b.c"));
    sandbox.git(["update-index", "--assume-unchanged", ".gitignore"]);
    assert_why(
        &sandbox,
        ".gitignore",
        &["unchanged: it is marked assume-unchanged"],
    );
    sandbox.git(["update-index", "--chmod=+x", "src/a.c"]);
    let staged = "staged: modified (mode 100644 -> 100755)";
    let unstaged = "modified: mode is 100644, the index recorded 100755";
    assert_why(&sandbox, "src/a.c", &[staged, unstaged]);
    sandbox.git(["rm", "-q", "--cached", "src/deep/b.c"]);
    let deleted = format!("staged: deleted (HEAD has blob {b})");
    let untracked = "untracked: no rule matches; it is shown as src/deep/";
    assert_why(&sandbox, "src/deep/b.c", &[&deleted, untracked]);
    std::fs::remove_dir_all(sandbox.top().join("src/deep")).unwrap();
    let absent = "not there: neither in the index nor in the working tree";
    assert_why(&sandbox, "src/deep/b.c", &[&deleted, absent]);
    sandbox.write("new", "new\n");
    sandbox.git(["add", "-N", "new"]);
    assert_why(
        &sandbox,
        "new",
        &["added: only the intent to add it is in the index"],
    );
    sandbox.git(["add", "new"]);
    let added = format!("staged: added (blob {}, mode 100644)", id(":new"));
    assert_eq!(explanation(&sandbox, "new")[0], added);
    sandbox.git(["update-index", "--skip-worktree", "src/a.c"]);
    let skipped = "unchanged: it is not expected in the working tree (skip-worktree)";
    assert_why(
        &sandbox,
        "src/a.c",
        &[staged, &format!("{skipped}, and not looked at")],
    );
    std::fs::remove_file(sandbox.top().join("src/a.c")).unwrap();
    assert_why(&sandbox, "src/a.c", &[staged, skipped]);
    sandbox.git([
        "update-index",
        "--no-skip-worktree",
        "--chmod=-x",
        "src/a.c",
    ]);
    sandbox.write("src/a.c", "int other;\n");
    sandbox.git(["add", "src/a.c"]);
    let blobs = format!("staged: modified (blob {a} -> {})", id(":src/a.c"));
    assert_eq!(explanation(&sandbox, "src/a.c")[0], blobs);
}

#[test]
fn why_tells_of_conflicts_and_submodules() {
    let sandbox = Sandbox::new();
    sandbox.git(["switch", "-q", "-c", "other"]);
    sandbox.write("src/a.c", "int other;\n");
    sandbox.git(["commit", "-q", "-am", "other"]);
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git(["rm", "-q", "src/a.c"]);
    sandbox.git(["commit", "-q", "-m", "gone"]);
    assert_ne!(sandbox.try_git(["merge", "other"]).code, 0);
    let id = |name: &str| {
        sandbox
            .git(["rev-parse", "--short", name])
            .trim()
            .to_owned()
    };
    let (base, theirs) = (id(":1:src/a.c"), id(":3:src/a.c"));
    let sides = format!("base 100644 {base}, no ours, theirs 100644 {theirs}");
    let there = "mode 100644 is in the working tree";
    let conflict = format!("in conflict (DU): {sides}; {there}");
    assert_why(&sandbox, "src/a.c", &[&conflict]);
    sandbox.git(["rm", "-q", "src/a.c"]);

    let folder = sandbox.top().join("sub");
    sandbox.git(["init", "-q", "sub"]);
    assert_why(&sandbox, "sub", &["untracked: no rule matches"]);
    std::fs::write(folder.join("file"), "").unwrap();
    sandbox.git(["-C", "sub", "add", "file"]);
    sandbox.git(["-C", "sub", "commit", "-q", "-m", "one"]);
    assert_why(
        &sandbox,
        "sub/file",
        &["in another repository, sub: ask there"],
    );
    sandbox.git(["add", "sub"]);
    assert_why(&sandbox, "sub/file", &["in the submodule sub: ask there"]);
    let one = id(":sub");
    let as_recorded = format!("commit {one} is checked out in the submodule, as recorded");
    let last = || explanation(&sandbox, "sub").pop().unwrap();
    assert_eq!(last(), format!("unchanged: {as_recorded}"));
    std::fs::write(folder.join("file"), "changed").unwrap();
    std::fs::write(folder.join("other"), "").unwrap();
    let dirt = "it has modified contents; it has untracked contents";
    assert_eq!(last(), format!("modified: {as_recorded}; {dirt}"));
    sandbox.git(["config", "diff.ignoreSubmodules", "dirty"]);
    let left_out = "all but its commit is left out by the configuration";
    assert_eq!(last(), format!("unchanged: {as_recorded}; {left_out}"));
    sandbox.git(["-C", "sub", "commit", "-q", "-am", "two"]);
    let short = sandbox.git(["-C", "sub", "rev-parse", "--short", "HEAD"]);
    let two = short.trim();
    let moved = format!("commit {two} is checked out in the submodule, the index recorded {one}");
    assert_eq!(last(), format!("modified: {moved}; {left_out}"));
    std::fs::rename(&folder, sandbox.top().join("elsewhere")).unwrap();
    sandbox.write("sub", "");
    let other_type = "its type differs from mode 160000 in the index";
    assert_eq!(last(), format!("type changed: {other_type}"));
}

#[test]
fn why_calls_renames_what_status_calls_them() {
    let sandbox = Sandbox::new();
    let text = "one\ntwo\nthree\nfour\n";
    for name in ["moved", "copied", "away"] {
        sandbox.write(name, format!("{text}{name}\n"));
    }
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "more"]);
    sandbox.git(["mv", "moved", "src/moved"]);
    std::fs::rename(sandbox.top().join("away"), sandbox.top().join("here")).unwrap();
    sandbox.git(["add", "-N", "here"]);
    let blob = sandbox.git(["rev-parse", "--short", ":src/moved"]);
    let blob = blob.trim();
    let what = format!("(blob {blob}, mode 100644)");
    let renamed = format!("staged: renamed from moved, 100 % alike {what}");
    assert_eq!(explanation(&sandbox, "src/moved")[0], renamed);
    let gone = format!("staged: renamed to src/moved (HEAD has blob {blob})");
    assert_eq!(explanation(&sandbox, "moved")[0], gone);
    assert_why(
        &sandbox,
        "here",
        &["renamed from away, 100 % alike: only the intent to add it is in the index"],
    );
    assert_why(&sandbox, "away", &["renamed to here: nothing is there"]);
    let json = sandbox.json(&["why", "--format=json", "moved", "here"]);
    let pair = |between, source, target| {
        serde_json::json!([{
            "between": between, "kind": "renamed", "source": source, "target": target,
            "score_percent": 100,
        }])
    };
    let [moved, here] = [&json["paths"][0], &json["paths"][1]];
    assert_eq!(moved["pairs"], pair("head_and_index", "moved", "src/moved"));
    assert_eq!(moved["change"]["staged"], "deleted");
    assert_eq!(here["pairs"], pair("index_and_worktree", "away", "here"));

    sandbox.git(["config", "status.renames", "false"]);
    let added = format!("staged: added {what}");
    assert_eq!(explanation(&sandbox, "src/moved")[0], added);
    assert_why(&sandbox, "away", &["deleted: nothing is there"]);
    // A copy and its source.
    sandbox.git(["config", "status.renames", "copies"]);
    sandbox.write("copy", format!("{text}copied\n"));
    sandbox.write("copied", format!("{text}changed\n"));
    sandbox.git(["add", "copy", "copied"]);
    let copied = &explanation(&sandbox, "copy")[0];
    let start = "staged: copied from copied, 100 % alike (blob ";
    assert!(copied.starts_with(start), "{copied}");
    assert!(explanation(&sandbox, "copied")[0].starts_with("staged: modified ("));
}

/// The two letters for each path that git lists.
fn git_letters(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let options = [
        "--no-optional-locks",
        "status",
        "--porcelain",
        "-uall",
        "--ignored=matching",
    ];
    let text = sandbox.git([&options[..], &["--no-renames"]].concat());
    let pairs = text.lines().map(|line| line.split_at(3));
    pairs
        .map(|(letters, path)| (path.to_owned(), letters.trim_end_matches(' ').to_owned()))
        .collect()
}

fn letter_of(kind: &Value) -> &'static str {
    match kind.as_str() {
        None => " ",
        Some("added") => "A",
        Some("modified") => "M",
        Some("deleted") => "D",
        Some("type_changed") => "T",
        Some(other) => unreachable!("{other}"),
    }
}

#[test]
fn verdicts_are_those_of_git() {
    let sandbox = Sandbox::new();
    for number in 0..12 {
        sandbox.write(format!("many/{number}"), "text\n");
    }
    for directory in ["replaced", "replaced.o"] {
        sandbox.write(format!("{directory}/a"), "a\n");
    }
    sandbox.git(["add", "many", "replaced", "-f", "replaced.o"]);
    sandbox.git(["commit", "-q", "-m", "many"]);
    sandbox.write("many/0", "longer text\n");
    sandbox.write("many/1", "TEXT\n");
    std::fs::remove_file(sandbox.top().join("many/2")).unwrap();
    sandbox.write("many/3", "staged\n");
    sandbox.git(["add", "many/3"]);
    sandbox.write("many/4", "staged\n");
    sandbox.git(["add", "many/4"]);
    sandbox.write("many/4", "and more\n");
    sandbox.git(["rm", "-q", "--cached", "many/5"]);
    sandbox.git(["rm", "-q", "many/6"]);
    std::fs::remove_file(sandbox.top().join("many/7")).unwrap();
    symlink("8", sandbox.top().join("many/7")).unwrap();
    sandbox.write("many/new/a", "");
    sandbox.write("many/x.o", "");
    sandbox.git(["add", "-N", "new"]);
    for directory in ["replaced", "replaced.o"] {
        std::fs::remove_dir_all(sandbox.top().join(directory)).unwrap();
        sandbox.write(directory, "a file now\n");
    }
    sandbox.assert_same_status();
    let expected = git_letters(&sandbox);
    assert!(expected.len() > 10, "{expected:?}");
    let tracked = sandbox.git(["ls-files"]);
    let all: Vec<&str> = tracked
        .lines()
        .chain(expected.keys().map(String::as_str))
        .collect();
    let json = sandbox.json(&[&["why", "--format=json", "--"], &all[..]].concat());
    let paths = json["paths"].as_array().unwrap();
    assert_eq!(paths.len(), all.len());
    for (path, why) in all.iter().zip(paths) {
        assert_eq!(why["path"], *path);
        let change = &why["change"];
        let output = match why["found"]["kind"].as_str().unwrap() {
            "ignored" => "!!".to_owned(),
            "untracked" if change.is_null() => "??".to_owned(),
            // git has two lines for such a path, and in the map above the later one wins.
            "untracked" => "??".to_owned(),
            _ => {
                let both = [&change["staged"], &change["unstaged"]]
                    .map(letter_of)
                    .concat();
                both.trim_end().to_owned()
            }
        };
        let expected = expected.get(*path).map_or("", String::as_str);
        assert_eq!(output, expected, "{path}: {why}");
    }
}

#[test]
fn what_no_status_shows_is_not_called_untracked_in_an_untracked_directory() {
    let sandbox = Sandbox::new();
    for directory in ["un/empty/deep", "un/piped", "un/full"] {
        std::fs::create_dir_all(sandbox.path(directory)).unwrap();
    }
    for name in ["un/full/file", "un/ignored/x.o"] {
        sandbox.write(name, "");
    }
    std::fs::rename(sandbox.make_pipe("pipe"), sandbox.path("un/piped/pipe")).unwrap();
    let nothing = "not shown: a directory without files that could be added";
    for directory in ["un/empty", "un/empty/deep", "un/piped", "un/ignored"] {
        assert_why(&sandbox, directory, &[nothing]);
    }
    let pipe = "not shown: no file, link or directory";
    assert_why(&sandbox, "un/piped/pipe", &[pipe]);
    let shown = "untracked: no rule matches; it is shown as un/";
    for path in ["un/full", "un/full/file"] {
        assert_why(&sandbox, path, &[shown]);
    }
    assert_why(&sandbox, "un", &["untracked: no rule matches"]);
    assert_eq!(
        sandbox.git_bytes(["status", "-suall", "un"]),
        b"?? un/full/file\n"
    );
    sandbox.git(["init", "-q", "un/above/nested"]);
    sandbox.git(["config", "status.showUntrackedFiles", "all"]);
    let files = "untracked: no rule matches; what is in it is shown file by file";
    assert_why(&sandbox, "un/above", &[files]);
    assert_why(&sandbox, "un/empty", &[nothing]);
}

#[test]
fn a_directory_that_may_not_be_read_is_not_called_empty() {
    let Some(without) = without_privileges() else {
        return;
    };
    let sandbox = Sandbox::new();
    let closed = sandbox.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let vigil = vigil_program();
    let words = [without, &[vigil.to_str().unwrap(), "why", "closed"]].concat();
    let (program, arguments) = words.split_first().unwrap();
    let output = TextOutput::from(sandbox.command(program, "", arguments).output().unwrap());
    std::fs::set_permissions(&closed, Permissions::from_mode(0o755)).unwrap();
    let expected = "closed: it cannot be looked at (Permission denied)\n";
    assert_eq!(output.stdout, expected);
}

#[test]
fn paths_are_those_of_the_caller() {
    let sandbox = Sandbox::new();
    let src = sandbox.top().join("src");
    let output = sandbox.vigil_in(&src, &["why", "../new", "deep/", "./gone"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let starts = [
        "../new: untracked: ",
        "deep: directory, ",
        "gone: not there: ",
    ];
    for (line, start) in output.stdout.lines().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    let absolute = src.join("../new");
    let output = sandbox.text(&["why", absolute.to_str().unwrap()]);
    assert_eq!(output, "new: untracked: no rule matches\n");
    for outside in ["../../x", "/etc/passwd", ""] {
        let ours = sandbox.vigil_in(&src, &["why", "--", outside]);
        let theirs = sandbox.try_git(["-C", "src", "status", "--", outside]);
        assert_eq!((ours.code, ours.stdout.as_str()), (128, ""));
        assert_eq!(ours.stderr, theirs.stderr);
    }
}

#[test]
fn wrong_command_lines_are_refused_with_the_usage() {
    let sandbox = Sandbox::new();
    for (arguments, complaint) in [
        (&["why"][..], "error: need a path\nusage: vigil why "),
        (
            &["why", "--frob", "x"],
            "error: unknown option `frob'\nusage: ",
        ),
    ] {
        let output = sandbox.vigil(arguments);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (129, ""),
            "{arguments:?}"
        );
        assert!(output.stderr.starts_with(complaint), "{}", output.stderr);
    }
    let output = sandbox.vigil(&["why", "-h"]);
    assert_eq!(output.code, 0);
    assert!(output.stdout.starts_with("usage: vigil why "));
    let elsewhere = tempfile::tempdir().unwrap();
    let output = sandbox.vigil_in(elsewhere.path(), &["why", "x"]);
    assert_eq!(output.code, 128);
    assert!(output.stderr.starts_with("fatal: not a git repository"));
    assert!(sandbox.text(&["help"]).contains("\n   why  "));
}
