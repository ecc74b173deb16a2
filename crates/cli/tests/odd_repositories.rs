//! Repositories in which something is missing or unusable, compared with git: the same bytes, messages and exit codes.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::path::Path;
use std::process::Output;

use vigil_testkit::sandbox::{TextOutput, git_is_at_least, run_with_input, skip_test};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A repository of three commits that add the files `a`, `b` and `c`. The first is tagged `good`, the second `v2`.
struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    fn new() -> Self {
        Self::with_ref_format("files")
    }

    /// Makes one with references in this format.
    fn with_ref_format(format: &str) -> Self {
        let format = format!("--ref-format={format}");
        let sandbox = Self(vigil_testkit::sandbox::Sandbox::initialised(&[&format]));
        for (name, tag) in [("a", Some("good")), ("b", Some("v2")), ("c", None)] {
            sandbox.0.write(name, name);
            sandbox.git(["add", name]);
            sandbox.git(["commit", "-q", "-m", name]);
            if let Some(tag) = tag {
                sandbox.git(["tag", "-a", "-m", "x", tag]);
            }
        }
        sandbox
    }

    /// Makes an empty one whose references are at the location `uri`.
    fn empty_with_references_at(uri: &str) -> Self {
        let mut sandbox = vigil_testkit::sandbox::Sandbox::empty();
        std::fs::create_dir(sandbox.top()).unwrap();
        std::fs::create_dir(sandbox.path_from_root("elsewhere")).unwrap();
        sandbox.set_variable("GIT_REFERENCE_BACKEND", uri);
        sandbox.git(["init", "-q"]);
        sandbox.hide_variable("GIT_REFERENCE_BACKEND");
        Self(sandbox)
    }

    fn run(&self, program: &str, arguments: &[&str], input: &str) -> Output {
        run_with_input(self.command(program, "", arguments), input.as_bytes())
    }

    /// Writes a file inside `.git`.
    fn write_in_git_dir(&self, path: &str, content: &str) {
        self.0.write(Path::new(".git").join(path), content);
    }

    fn vigil_output(&self, arguments: &[&str], input: &str) -> TextOutput {
        self.run(VIGIL, arguments, input).into()
    }

    /// Asserts that both programs answer alike.
    fn assert_same(&self, arguments: &[&str], input: &str) {
        let ours = self.vigil_output(arguments, input);
        let mut theirs = TextOutput::from(self.run("git", arguments, input));
        // As newer versions of git word it.
        theirs.stderr = theirs
            .stderr
            .replace("git config advice.", "git config set advice.");
        assert_eq!(ours, theirs, "{arguments:?} {input:?}");
    }

    /// As [`Self::assert_same`], with one input line for `cat-file --batch-check`.
    fn assert_same_name(&self, name: &str) {
        self.assert_same(&["cat-file", "--batch-check"], &format!("{name}\n"));
    }
}

fn fatal_output(message: &str) -> TextOutput {
    TextOutput {
        code: 128,
        stdout: String::new(),
        stderr: message.to_owned(),
    }
}

const STATUS_COMMANDS: &[&[&str]] = &[
    &["status"],
    &["status", "-sb"],
    &["status", "--porcelain=v2", "--branch"],
];

#[test]
fn a_missing_replacement_ends_commands_that_read_the_object() {
    const GONE: &str = "2222222222222222222222222222222222222222";
    for replaced in [
        "HEAD",
        "HEAD~1",
        "HEAD^{tree}",
        "HEAD~1^{tree}",
        "HEAD:b",
        "v2",
    ] {
        let sandbox = Sandbox::new();
        let id = sandbox.git(["rev-parse", replaced]);
        sandbox.write_in_git_dir(&format!("refs/replace/{id}"), &format!("{GONE}\n"));
        for name in ["HEAD^{tree}", "HEAD:b", "HEAD", "v2", "HEAD:", &id] {
            sandbox.assert_same_name(name);
            sandbox.assert_same(&["cat-file", "--batch"], &format!("{name}\n"));
            sandbox.assert_same(&["cat-file", "-p", name], "");
            sandbox.assert_same(&["cat-file", "-t", name], "");
        }
        // Older versions of git give up if only a tag is missing.
        if replaced != "v2" {
            sandbox.assert_same(&["describe", "--dirty"], "");
            sandbox.assert_same(&["describe", "--tags", "good"], "");
        }
        for arguments in STATUS_COMMANDS {
            sandbox.assert_same(arguments, "");
        }
        std::fs::write(sandbox.top().join("b"), "changed").unwrap();
        for arguments in STATUS_COMMANDS {
            sandbox.assert_same(arguments, "");
        }
    }
    // Older versions of git differ in what they read.
    let sandbox = Sandbox::new();
    let id = sandbox.git(["rev-parse", "HEAD~2"]);
    sandbox.write_in_git_dir(&format!("refs/replace/{id}"), &format!("{GONE}\n"));
    let fatal = format!("fatal: replacement {GONE} not found for {id}\n");
    for arguments in [&["describe"][..], &["describe", "--contains", "good"]] {
        assert_eq!(sandbox.vigil_output(arguments, ""), fatal_output(&fatal));
    }
    std::fs::remove_dir_all(sandbox.top().join(".git/refs/replace")).unwrap();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.write_in_git_dir(&format!("refs/replace/{head}"), &format!("{GONE}\n"));
    let fatal = format!("fatal: replacement {GONE} not found for {head}\n");
    let asked = &["describe", "--contains", "good"];
    assert_eq!(sandbox.vigil_output(asked, ""), fatal_output(&fatal));
}

#[test]
fn references_of_other_worktrees_are_found() {
    for format in ["files", "reftable"] {
        let sandbox = Sandbox::with_ref_format(format);
        sandbox.git(["update-ref", "refs/worktree/mine", "HEAD~2"]);
        sandbox.git(["update-ref", "ORIG_HEAD", "HEAD~1"]);
        sandbox.git(["worktree", "add", "-q", "--detach", "linked", "HEAD~1"]);
        sandbox.git(["-C", "linked", "update-ref", "refs/worktree/own", "HEAD~1"]);
        sandbox.git(["-C", "linked", "checkout", "-q", "HEAD~1"]);
        let mut names = String::new();
        for worktree in ["", "main-worktree/", "worktrees/linked/", "worktrees/none/"] {
            for name in [
                "HEAD",
                "HEAD~1",
                "HEAD@{0}",
                "HEAD@{1}",
                "HEAD:a",
                "ORIG_HEAD",
                "refs/worktree/mine",
                "refs/worktree/own",
                "refs/heads/main",
                "main",
                "head",
            ] {
                names.push_str(&format!("{worktree}{name}\n"));
            }
        }
        for folder in [".", "linked"] {
            sandbox.assert_same(&["-C", folder, "cat-file", "--batch-check"], &names);
            for name in [
                "main-worktree/HEAD",
                "worktrees/linked/HEAD",
                "worktrees/HEAD",
            ] {
                sandbox.assert_same(&["-C", folder, "describe", "--always", name], "");
                sandbox.assert_same(&["-C", folder, "describe", "--contains", name], "");
            }
            sandbox.assert_same(
                &["-C", folder, "cat-file", "--batch-check"],
                "main-worktree/HEAD@{9}\n",
            );
        }
    }
}

#[test]
fn numbers_of_log_entries_wrap_around_as_in_git() {
    let sandbox = Sandbox::new();
    for digits in [
        "99999999999999999999",
        "4294967296",
        "4294967297",
        "4294967299",
        "2147483647",
        "2147483648",
        "18446744073709551615",
        "18446744073709551617",
        "5000000000",
        "3000000000",
        "100000001",
        "00000000000000000001",
    ] {
        sandbox.assert_same_name(&format!("HEAD@{{{digits}}}"));
        sandbox.assert_same(&["cat-file", "-t", &format!("main@{{{digits}}}")], "");
    }
}

#[test]
fn a_bad_length_of_abbreviations_ends_each_command() {
    for value in ["bad", "3", "-1", "true", "no", "auto", "41"] {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "core.abbrev", value]);
        for arguments in [
            &["cat-file", "-t", "HEAD"][..],
            &["cat-file", "--batch-all-objects", "--batch-check"],
            &["describe"],
            &["status", "-sb"],
        ] {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same_name("HEAD");
        sandbox.assert_same_name("nonsense");
    }
}

/// Questions about objects, some of which need commits.
const QUESTIONS: &[&[&str]] = &[
    &["cat-file", "-t", "HEAD"],
    &["cat-file", "-e", "HEAD"],
    &["cat-file", "-p", "HEAD~1"],
    &["cat-file", "-p", "HEAD:a"],
    &["cat-file", "-t", "HEAD^{/a}"],
    &["cat-file", "-t", "nonsense"],
    &["cat-file", "-t", "v2^{}"],
    &["cat-file", "--batch-all-objects", "--batch-check"],
    &["describe"],
    &["describe", "HEAD~1"],
    &["describe", "--contains", "HEAD~1"],
    &["describe", "--exact-match"],
    &["describe", "--always", "--match=x", "HEAD", "HEAD~1"],
    &["describe", "--dirty"],
    &["describe", "--broken"],
    &["status"],
    &["status", "-sb"],
    &["status", "-v"],
    &["status", "--porcelain=v2"],
];

#[test]
fn grafts_are_called_deprecated_when_a_commit_is_read() {
    for (lines, advice) in [
        ("", None),
        ("bad line\n", None),
        ("bad line\n", Some("false")),
        ("{0} {2}\n", None),
        ("{0} {2}\n", Some("false")),
        ("{0} {2}\n{0} {1}\n", Some("true")),
    ] {
        let sandbox = Sandbox::new();
        let mut lines = lines.to_owned();
        for back in 0..3 {
            let id = sandbox.git(["rev-parse", &format!("HEAD~{back}")]);
            lines = lines.replace(&format!("{{{back}}}"), &id);
        }
        sandbox.write_in_git_dir("info/grafts", &lines);
        if let Some(advice) = advice {
            sandbox.run("git", &["config", "advice.graftFileDeprecated", advice], "");
        }
        for arguments in QUESTIONS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same_name(":/b");
        sandbox.assert_same(
            &["cat-file", "--batch-check"],
            "HEAD~1\nHEAD\nHEAD~1^{tree}\n",
        );
    }
}

/// What a tag says of the type of its target may make a second look at all references necessary.
#[test]
fn grafts_are_called_deprecated_where_tags_point_to_tags() {
    let sandbox = Sandbox::new();
    sandbox.git(["tag", "-m", "tag", "first", "HEAD~1"]);
    sandbox.git(["tag", "-m", "tag of a tag", "second", "first"]);
    sandbox.write_in_git_dir("info/grafts", "bad line\n");
    for arguments in [&["describe", "HEAD~1"][..], &["describe", "HEAD~1", "HEAD"]] {
        sandbox.assert_same(arguments, "");
    }
    sandbox.assert_same_name(":/b");
    sandbox.assert_same_name("HEAD~1");
    sandbox.git(["replace", "HEAD", "HEAD~1"]);
    sandbox.assert_same(&["describe", "HEAD~1"], "");
}

/// Where nothing changes the history that it records, commits are read from the commit-graph.
#[test]
fn grafts_without_effect_are_called_deprecated_though_there_is_a_commit_graph() {
    let sandbox = Sandbox::new();
    sandbox.git(["commit-graph", "write", "--reachable"]);
    for lines in ["", "# comment\n", "bad line\n"] {
        sandbox.write_in_git_dir("info/grafts", lines);
        for arguments in QUESTIONS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same_name(":/b");
        sandbox.assert_same_name("HEAD");
        sandbox.assert_same_name("HEAD~1");
    }
}

/// What a tag says of the type of its target may make a second look at all references necessary.
#[test]
fn a_bad_name_of_a_replacement_is_reported_where_tags_point_to_tags() {
    let sandbox = Sandbox::new();
    sandbox.git(["tag", "-m", "tag", "first", "HEAD~1"]);
    sandbox.git(["tag", "-m", "tag of a tag", "second", "first"]);
    sandbox.git(["update-ref", "refs/replace/bad", "HEAD"]);
    for arguments in [
        &["describe"][..],
        &["describe", "HEAD~1"],
        &["describe", "HEAD~1", "HEAD"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

#[test]
fn missing_alternates_are_reported_when_an_object_is_asked_for() {
    for lines in [
        "/nonexistent/objects\n",
        "../no\n",
        "relative\n",
        "/dev/null\n",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write_in_git_dir("objects/info/alternates", lines);
        for arguments in QUESTIONS {
            sandbox.assert_same(arguments, "");
        }
        for name in ["HEAD", ":/b", "abcd", "HEAD~1:x", ":a", ":x"] {
            sandbox.assert_same_name(name);
            sandbox.assert_same(&["cat-file", "--batch-check"], &format!("{name}\n{name}\n"));
        }
        sandbox.assert_same(&["cat-file", "--batch-check"], "");
        // Older versions of git look for them again, and repeat the message.
        let missing = "1".repeat(40) + "\n";
        let stderr = sandbox
            .vigil_output(&["cat-file", "--batch-check"], &missing)
            .stderr;
        assert_eq!(stderr.lines().count(), lines.lines().count(), "{stderr}");
    }
}

#[test]
fn repository_files_that_are_dangling_links_or_hold_nuls_are_read_as_by_git() {
    let sandbox = Sandbox::new();
    sandbox.0.write("a", "changed");
    sandbox.git(["add", "a"]);
    let link = |path: &str| {
        let path = sandbox.path(".git").join(path);
        std::os::unix::fs::symlink("nowhere", path).unwrap();
    };
    let remove = |path: &str| std::fs::remove_file(sandbox.path(".git").join(path)).unwrap();
    link("MERGE_HEAD");
    sandbox.assert_same(&["status"], "");
    remove("MERGE_HEAD");
    link("commondir");
    for arguments in [&["status"][..], &["describe"], &["cat-file", "-t", "HEAD"]] {
        sandbox.assert_same(arguments, "");
    }
    remove("commondir");
    std::fs::create_dir(sandbox.path(".git/rebase-merge")).unwrap();
    for name in [
        "\0x\n",
        "refs/heads/m\0x",
        "refs/x\0y",
        "detached HEAD\0",
        "a\0\n",
    ] {
        sandbox.write_in_git_dir("rebase-merge/head-name", name);
        sandbox.assert_same(&["status"], "");
        sandbox.write_in_git_dir("rebase-merge/onto", name);
        sandbox.assert_same(&["status"], "");
        remove("rebase-merge/onto");
    }
}

#[test]
fn a_branch_in_reftables_includes_its_configuration() {
    let sandbox = Sandbox::with_ref_format("reftable");
    sandbox.write_in_git_dir("included", "[status]\n\tshort = true\n\tbranch = true\n");
    sandbox.git(["config", "includeIf.onbranch:topic.path", "included"]);
    sandbox.assert_same(&["status"], "");
    sandbox.git(["checkout", "-q", "-b", "topic"]);
    sandbox.assert_same(&["status"], "");
    sandbox.git(["symbolic-ref", "refs/heads/link", "refs/heads/topic"]);
    sandbox.git(["symbolic-ref", "HEAD", "refs/heads/link"]);
    sandbox.assert_same(&["status"], "");
    sandbox.git(["checkout", "-q", "--detach"]);
    sandbox.assert_same(&["status"], "");
}

#[test]
fn references_may_be_kept_outside_of_the_repository() {
    if !git_is_at_least("git", 55) {
        skip_test("references elsewhere", "git is too old");
        return;
    }
    for format in ["files", "reftable"] {
        let sandbox = Sandbox::empty_with_references_at(&format!("{format}://../../elsewhere"));
        for number in ["1", "2"] {
            sandbox.0.write("file", number);
            sandbox.git(["add", "file"]);
            sandbox.git(["commit", "-q", "-m", number]);
            sandbox.git(["tag", "-a", "-m", "x", number]);
        }
        sandbox.0.write("file", "3");
        sandbox.git(["stash", "-q"]);
        sandbox.git(["worktree", "add", "-q", "linked"]);
        sandbox.git(["update-ref", "CHERRY_PICK_HEAD", "HEAD"]);
        for folder in ["", "linked"] {
            for arguments in [
                &["status", "--show-stash"][..],
                &["status", "-sb"],
                &["describe"],
                &["cat-file", "-p", "HEAD@{0}"],
                &["cat-file", "-t", "stash"],
                &["cat-file", "-t", "main-worktree/HEAD"],
            ] {
                let place = ["-C", if folder.is_empty() { "." } else { folder }];
                sandbox.assert_same(&[&place[..], arguments].concat(), "");
            }
        }
        sandbox.git(["pack-refs", "--all"]);
        sandbox.assert_same(&["describe", "--all"], "");
    }
}

#[test]
fn references_are_the_repositorys_own_whatever_common_directory_is_named() {
    let mut sandbox = Sandbox::new();
    sandbox.git(["worktree", "add", "-q", "linked"]);
    sandbox.git(["clone", "-q", ".", "other"]);
    sandbox.git(["-C", "other", "checkout", "-q", "-b", "another"]);
    sandbox.git([
        "-C",
        "other",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "another",
    ]);
    sandbox.git(["-C", "other", "tag", "-a", "-m", "x", "tagged"]);
    let common_dir = sandbox.path("other/.git");
    sandbox
        .0
        .set_variable("GIT_COMMON_DIR", common_dir.to_str().unwrap());
    for folder in [".", "linked"] {
        for arguments in [
            &["status", "-sb"][..],
            &["status", "--show-stash"],
            &["describe", "--all"],
            &["cat-file", "-t", "HEAD@{0}"],
            &["cat-file", "-t", "another"],
        ] {
            sandbox.assert_same(&[&["-C", folder], arguments].concat(), "");
        }
    }
}

#[test]
fn a_link_is_compared_with_the_object_that_stands_for_it() {
    let sandbox = Sandbox::new();
    // A new link has stat data that are not in the index.
    let link = |target: &str| {
        std::os::unix::fs::symlink(target, sandbox.path("new")).unwrap();
        std::fs::rename(sandbox.path("new"), sandbox.path("link")).unwrap();
    };
    link("target");
    sandbox.git(["add", "link"]);
    sandbox.git(["commit", "-q", "-m", "link"]);
    link("target");
    sandbox.assert_same(&["status", "-s"], "");
    let id = sandbox.id(":link").to_string();
    let other = sandbox.git_with_input(["hash-object", "-w", "--stdin"], "target of another");
    sandbox.git(["replace", &id, other.trim()]);
    sandbox.assert_same(&["status", "-s"], "");
    link("target of another");
    sandbox.assert_same(&["status", "-s"], "");
    sandbox.git(["replace", "-d", &id]);
    link("target");
    std::fs::remove_file(sandbox.loose_object(&id)).unwrap();
    std::fs::remove_dir_all(sandbox.state_folder()).unwrap();
    for arguments in [&["status", "-s"][..], &["describe", "--dirty"]] {
        sandbox.assert_same(arguments, "");
    }
}

#[test]
fn reftables_without_a_head_have_no_branch() {
    let sandbox = Sandbox::with_ref_format("reftable");
    sandbox.write_in_git_dir("reftable/tables.list", "");
    for arguments in [
        &["status"][..],
        &["status", "-s", "-b"],
        &["status", "--porcelain=v2", "--branch"],
        &["-c", "color.status=always", "status"],
        &["-c", "color.status=always", "status", "-sb"],
        &["describe", "--always"],
        &["cat-file", "-t", "HEAD"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

#[test]
fn nonsensical_variables_are_refused_as_by_git() {
    let sandbox = Sandbox::new();
    for (name, value) in [
        ("GIT_OPTIONAL_LOCKS", "bad"),
        ("GIT_OPTIONAL_LOCKS", ""),
        ("GIT_OPTIONAL_LOCKS", "2"),
        ("GIT_ADVICE", "bad"),
        ("GIT_INDEX_FILE", "."),
        ("GIT_ATTR_NOSYSTEM", " 1"),
        ("GIT_ATTR_NOSYSTEM", "1k"),
        ("GIT_ATTR_NOSYSTEM", "0x0"),
        ("GIT_NO_LAZY_FETCH", "bad"),
        ("GIT_NO_LAZY_FETCH", ""),
    ] {
        let printed = |program: &str| {
            let mut command = sandbox.command(program, "", ["status"]);
            command.env(name, value);
            TextOutput::from(run_with_input(command, b""))
        };
        assert_eq!(printed(VIGIL), printed("git"), "{name}={value}");
    }
}

#[test]
fn a_bare_repository_with_a_working_tree_is_read_but_has_no_status() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.worktree", ".."]);
    sandbox.git(["config", "--file=.git/config", "core.bare", "true"]);
    for arguments in [
        &["cat-file", "-t", "HEAD"][..],
        &["describe"],
        &["status"],
        &["--work-tree=.", "status", "-s"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

#[test]
fn what_is_called_bare_has_no_working_tree_whatever_is_configured() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.worktree", ".."]);
    let expected = fatal_output("fatal: this operation must be run in a work tree\n");
    for arguments in [
        &["--git-dir=.git", "--bare", "status"][..],
        &["--git-dir=.git", "--bare", "-C", ".", "status"],
    ] {
        assert_eq!(sandbox.vigil_output(arguments, ""), expected);
    }
    let described = sandbox.vigil_output(&["--git-dir=.git", "--bare", "describe"], "");
    assert_eq!((described.code, described.stderr.as_str()), (0, ""));
}

#[test]
fn the_end_of_packed_references_is_checked_first() {
    let sandbox = Sandbox::new();
    sandbox.git(["pack-refs", "--all"]);
    let path = sandbox.0.path(".git/packed-refs");
    let whole = std::fs::read_to_string(&path).unwrap();
    let cut = whole.get(..whole.len() - 1).unwrap();
    let with = |end: &str| format!("{whole}{end}");
    for text in [
        with("garbage\n"),
        with("\n"),
        with("#\n"),
        with("garbage"),
        with(&format!("{:040} refs/zz\n", 1)),
        with(&format!("{:040}\n", 1)),
        cut.to_owned(),
        whole.get(..whole.len() - 30).unwrap().to_owned(),
    ] {
        std::fs::write(&path, text).unwrap();
        for arguments in [
            &["status", "-s"][..],
            &["status"],
            &["describe"],
            &["cat-file", "-t", "HEAD"],
            &["cat-file", "-t", "v2"],
        ] {
            sandbox.assert_same(arguments, "");
        }
    }
}

#[test]
fn an_empty_path_is_not_a_working_tree() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.worktree", ""]);
    for arguments in [
        &["status", "-s"][..],
        &["describe"],
        &["cat-file", "-t", "HEAD"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

/// Changes before something, in path order, that cannot be read: to a file's contents, by its absence, or to what is staged.
const EARLIER_CHANGES: [&[&str]; 4] = [
    &["rm", "-q", "--cached", "a"],
    &["update-index", "--force-remove", "a"],
    &["update-index", "--chmod=+x", "a"],
    &[
        "update-index",
        "--cacheinfo",
        "120000,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,a",
    ],
];

const DESCRIBE_WITH_MARKS: [&[&str]; 3] = [
    &["describe", "--dirty"],
    &["describe", "--broken"],
    &["describe", "--dirty", "--broken"],
];

#[test]
fn errors_after_the_first_difference_do_not_make_a_mark_fail() {
    let sandbox = Sandbox::new();
    sandbox.0.write("z/file", "z");
    sandbox.git(["add", "z"]);
    sandbox.git(["commit", "-q", "-m", "z"]);
    let tree = sandbox.git(["rev-parse", "HEAD:z"]);
    sandbox.0.write("z/file", "changed");
    sandbox.git(["add", "z"]);
    std::fs::remove_file(sandbox.loose_object(tree.trim())).unwrap();
    for arguments in DESCRIBE_WITH_MARKS {
        sandbox.assert_same(arguments, "");
    }
    sandbox.0.write("a", "changed");
    for arguments in DESCRIBE_WITH_MARKS {
        sandbox.assert_same(arguments, "");
    }
    sandbox.0.write("a", "a");
    for earlier in EARLIER_CHANGES {
        sandbox.git(earlier.iter().copied());
        for arguments in DESCRIBE_WITH_MARKS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.git(["update-index", "--add", "--chmod=-x", "a"]);
    }
}

#[test]
fn a_damaged_index_is_reported_before_a_missing_commit() {
    let sandbox = Sandbox::new();
    sandbox.git(["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    for index in [None, Some("DIRC")] {
        if let Some(text) = index {
            sandbox.write_in_git_dir("index", text);
        }
        for marks in DESCRIBE_WITH_MARKS {
            let arguments = [&["describe", "--all", "--always"], &marks[1..]].concat();
            sandbox.assert_same(marks, "");
            sandbox.assert_same(&arguments, "");
        }
    }
}

#[test]
fn a_submodule_after_the_first_difference_is_not_asked() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "m"]);
    sandbox.git(["-C", "m", "commit", "-q", "--allow-empty", "-m", "x"]);
    sandbox.git(["add", "m"]);
    sandbox.git(["commit", "-q", "-m", "m"]);
    sandbox.0.write("m/.git/index", "no index");
    let compare = |change: &str| {
        for arguments in DESCRIBE_WITH_MARKS {
            sandbox.assert_same(arguments, change);
        }
    };
    compare("nothing");
    sandbox.0.write("z", "z");
    sandbox.git(["add", "z"]);
    compare("after it");
    sandbox.0.write("a", "changed");
    compare("before it");
}

/// git reads this configuration before it runs itself in the submodule.
#[test]
fn the_configuration_of_a_submodule_is_named_by_its_whole_path() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "m"]);
    sandbox.git(["-C", "m", "commit", "-q", "--allow-empty", "-m", "x"]);
    sandbox.git(["add", "m"]);
    for text in ["[bad", "[core]\nbare = x"] {
        sandbox.0.write("m/.git/config", text);
        for arguments in STATUS_COMMANDS.iter().chain(&[DESCRIBE_WITH_MARKS[0]]) {
            sandbox.assert_same(arguments, text);
        }
    }
}

/// Values at which git fails, although none of them would affect its answer.
const ODD_VALUES: [&str; 19] = [
    "[core]\nwarnAmbiguousRefs = x",
    "[core]\nsharedRepository = x",
    "[core]\nsharedRepository = 0400",
    "[core]\nsharedRepository = 0660",
    "[core]\nsharedRepository = 2",
    "[core]\nsharedRepository = everybody",
    "[core]\nsharedRepository = no",
    "[core]\nsharedRepository",
    "[core]\nhooksPath = ~nobody-here/x",
    "[core]\nhooksPath",
    "[core]\nmaxTreeDepth = -1",
    "[color \"advice\"]\nhint = x",
    "[color \"advice\"]\nreset",
    "[color \"advice\"]\nother = x",
    "[filter \"f\"]\nclean",
    "[filter \"f\"]\nsmudge",
    "[filter \"f\"]\nprocess",
    "[filter \"f\"]\nrequired = x",
    "[filter]\nclean",
];

#[test]
fn bad_values_end_the_commands_that_look_them_up() {
    const COMMANDS: [&[&str]; 5] = [
        &["status", "-s"],
        &["describe"],
        &["describe", "--dirty"],
        &["cat-file", "--textconv", "HEAD:a"],
        &["cat-file", "--filters", "HEAD:a"],
    ];
    let sandbox = Sandbox::new();
    for text in ODD_VALUES {
        sandbox.write_in_git_dir("config", text);
        for arguments in COMMANDS {
            sandbox.assert_same(arguments, text);
        }
    }
    // Filters matter once contents are read.
    sandbox.0.write("a", "b");
    for text in ODD_VALUES {
        sandbox.write_in_git_dir("config", text);
        for arguments in &COMMANDS[..3] {
            sandbox.assert_same(arguments, text);
        }
    }
    sandbox.write_in_git_dir("config", "[core]\nsharedRepository = x");
    sandbox.assert_same(&["--no-optional-locks", "status", "-s"], "");
    sandbox.assert_same(&["--no-optional-locks", "describe", "--dirty"], "");
    sandbox.write_in_git_dir("config", "[core]\nwarnAmbiguousRefs = x");
    sandbox.git(["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    sandbox.assert_same(&["status", "-s"], "");
}

#[test]
fn a_bad_value_for_advice_ends_each_status() {
    let mut sandbox = Sandbox::new();
    sandbox.0.set_variable("GIT_ADVICE", "x");
    for arguments in [
        &["status", "-s"][..],
        &["status", "-s", "-uno"],
        &["status", "--porcelain=v2"],
        &["status"],
        &["describe", "--dirty"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

/// Changes the index of `sandbox`, whose checksum git does not check.
fn change_index(sandbox: &Sandbox, change: impl FnOnce(&mut Vec<u8>)) {
    let path = sandbox.git_dir().join("index");
    let mut index = std::fs::read(&path).unwrap();
    change(&mut index);
    std::fs::write(path, index).unwrap();
}

#[test]
fn modes_that_git_never_writes_are_read_as_by_git() {
    const MODE_AT: usize = 12 + 24;
    for mode in [
        0o100_600_u32,
        0o100_777,
        0o100_000,
        0o100_100,
        0o120_777,
        0o160_755,
    ] {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "index.skipHash", "true"]);
        // This invalidates what the index knew of directories.
        sandbox.0.write("d", "d");
        sandbox.git(["add", "d"]);
        change_index(&sandbox, |index| {
            index[MODE_AT..MODE_AT + 4].copy_from_slice(&mode.to_be_bytes());
        });
        let compare = || {
            for arguments in STATUS_COMMANDS {
                sandbox.assert_same(&[&["--no-optional-locks"], *arguments].concat(), "");
            }
        };
        compare();
        sandbox.0.write("a", "changed");
        compare();
        std::fs::remove_file(sandbox.top().join("a")).unwrap();
        compare();
    }
}

#[test]
fn unusable_extensions_of_the_index_are_reported() {
    const MODES: &[u8] = b"path\x00100644\x000\x000\0";
    let undo = |ids: &[u8]| [MODES, ids].concat();
    let extensions: &[(&[u8; 4], &[u8])] = &[
        (b"ZZZZ", b"data"),
        (b"Z\0ZZ", b""),
        (b"Z\xff\nZ", b""),
        (b"zzzz", b""),
        (b"z\0zz", b""),
        (b"\xffzzz", b""),
        (b"REUC", b""),
        (b"REUC", b"x"),
        (b"REUC", b"path\0"),
        (b"REUC", b"path\x00100644\0"),
        (b"REUC", b"path\x008\x000\x000\0more"),
        (b"REUC", b"path\x00 +0\x000\x000\0"),
        (b"REUC", b"path\x00 +0\x000\x000\0path"),
        (b"REUC", &undo(&[b'i'; 20])),
        (b"REUC", &undo(&[b'i'; 19])),
        (b"REUC", &undo(&[b'i'; 21])),
        (b"FSMN", b"12345678"),
        (b"FSMN", b"\xff\xff\xff\xff56789"),
    ];
    for (name, data) in extensions {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "index.skipHash", "true"]);
        sandbox.0.write("d", "d");
        sandbox.git(["add", "d"]);
        change_index(&sandbox, |index| {
            let sum = index.split_off(index.len() - 20);
            index.extend_from_slice(*name);
            index.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
            index.extend_from_slice(data);
            index.extend(sum);
        });
        for arguments in [
            &["--no-optional-locks", "status", "-s"][..],
            &["cat-file", "-t", ":a"],
            &["cat-file", "-p", ":b"],
        ] {
            let printed = |program| sandbox.run(program, arguments, "");
            let (ours, theirs) = (printed(VIGIL), printed("git"));
            assert_eq!(ours, theirs, "{arguments:?} {name:?} {data:?}");
        }
    }
}

#[test]
fn malformed_replace_references_are_warned_of_once() {
    let sandbox = Sandbox::new();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let head = head.trim();
    let blob = sandbox.git(["rev-parse", "HEAD:a"]);
    let other = sandbox.git(["rev-parse", "HEAD:b"]);
    sandbox.write_in_git_dir(&format!("refs/replace/folder/{}", blob.trim()), &other);
    for name in ["bad", "in/folder", &head[1..]] {
        sandbox.write_in_git_dir(&format!("refs/replace/{name}"), &format!("{head}\n"));
    }
    sandbox.write_in_git_dir("objects/info/alternates", "/nowhere\n");
    let compare = || {
        for arguments in STATUS_COMMANDS {
            sandbox.assert_same(arguments, "");
        }
        for arguments in [
            &["describe"][..],
            &["describe", "--dirty"],
            &["describe", "--contains", "HEAD~"],
            &["cat-file", "-p", "HEAD:a"],
            &["cat-file", "--batch-all-objects", "--batch-check"],
            &["--no-replace-objects", "cat-file", "-t", "HEAD"],
            &["-c", "core.useReplaceRefs=no", "status", "-s"],
        ] {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same_name("HEAD");
    };
    compare();
    sandbox.git(["pack-refs", "--all"]);
    compare();
}

#[test]
fn all_objects_are_listed_in_spite_of_broken_references() {
    let sandbox = Sandbox::new();
    sandbox.git(["pack-refs", "--all"]);
    let path = sandbox.git_dir().join("packed-refs");
    let packed = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, packed + "no line\n").unwrap();
    sandbox.assert_same(&["cat-file", "--batch-all-objects", "--batch-check"], "");
    sandbox.assert_same(&["cat-file", "--batch-all-objects", "--batch"], "");
    sandbox.assert_same_name("HEAD");
}

#[test]
fn a_head_that_only_begins_with_an_id_leads_nowhere() {
    for (format, len) in [("sha1", 40), ("sha256", 64)] {
        let sandbox = Sandbox::new();
        std::fs::remove_dir_all(sandbox.git_dir()).unwrap();
        sandbox.git(["init", "-q", "--object-format", format]);
        sandbox.0.write("file", "");
        sandbox.git(["add", "file"]);
        sandbox.git(["commit", "-q", "-m", "file"]);
        let id = sandbox.git(["rev-parse", "HEAD"]);
        assert_eq!(id.len(), len);
        for head in [
            format!("{id}x\n"),
            format!("{id}{id}"),
            format!("{id}/x\n"),
            format!("{id} x\n"),
            format!("{}\n", &id[..40]),
            format!("{}\n", &id[..39]),
        ] {
            sandbox.write_in_git_dir("HEAD", &head);
            for arguments in [
                &["status"][..],
                &["status", "-sb"],
                &["status", "--porcelain=v2", "--branch"],
                &["describe", "--always"],
                &["cat-file", "-t", "HEAD"],
            ] {
                sandbox.assert_same(arguments, &head);
            }
        }
    }
}

#[test]
fn an_empty_commondir_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(["worktree", "add", "-q", "linked"]);
    sandbox.write_in_git_dir("worktrees/linked/commondir", "");
    sandbox.assert_same(&["-C", "linked", "status"], "");
    sandbox.assert_same(&["-C", "linked", "cat-file", "-t", "HEAD"], "");
    sandbox.write_in_git_dir("commondir", "");
    sandbox.assert_same(&["status"], "");
}

#[test]
fn conditions_below_a_home_that_is_not_there() {
    let mut sandbox = Sandbox::new();
    sandbox.0.write("folder/file", "");
    sandbox.write_in_git_dir("included", "[status]\n\tshort = true\n");
    let top = sandbox.top();
    let top = top.to_str().unwrap().to_owned();
    let homes = ["", "/", "/no", "/no/such", "rel", "rel/x", "folder", "./"].map(str::to_owned);
    for home in homes
        .into_iter()
        .chain([top.clone(), format!("{top}/x/..")])
    {
        sandbox.0.set_variable("HOME", home.as_bytes());
        for condition in ["gitdir:~/", "gitdir:~", "gitdir/i:~/**", "gitdir:~root/"] {
            let text = format!("[includeIf \"{condition}\"]\n\tpath = included\n");
            sandbox.write_in_git_dir("config", &text);
            sandbox.assert_same(&["status"], &format!("{home} {condition}"));
            sandbox.assert_same(&["-C", "folder", "status"], &format!("{home} {condition}"));
        }
    }
}

/// git includes no file for an empty name, however deep it is.
#[test]
fn a_circle_of_includes_beside_an_empty_name() {
    let sandbox = Sandbox::new();
    for text in [
        "[include]\n\tpath =\n\tpath = config\n",
        "[include]\n\tpath = \"\"\n\tpath = ./\n",
    ] {
        sandbox.write_in_git_dir("config", text);
        for folder in [".", ".git"] {
            sandbox.assert_same(&["-C", folder, "describe", "--always"], text);
        }
    }
}

#[test]
fn fatal_values_in_gitmodules_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "m"]);
    sandbox.git(["-C", "m", "commit", "-q", "--allow-empty", "-m", "x"]);
    sandbox.git(["add", "m"]);
    for text in [
        "path",
        "url",
        "branch",
        "ignore",
        "update",
        "shallow",
        "shallow=x",
        "update=x",
        "update=!x",
        "update=rebase",
        "update=Rebase",
        "fetchRecurseSubmodules",
        "fetchRecurseSubmodules=x",
        "fetchRecurseSubmodules=on-demand",
        "ignore=x",
        "unknown",
    ] {
        for submodule in ["m", "..", ""] {
            let text = format!("[submodule \"{submodule}\"]\npath = m\n{text}\n");
            sandbox.0.write(".gitmodules", &text);
            for arguments in [&["status", "-s"][..], &["describe", "--dirty"]] {
                sandbox.assert_same(arguments, &text);
            }
        }
    }
}

#[test]
fn errors_name_files_as_they_were_given() {
    let mut sandbox = Sandbox::new();
    sandbox.write_in_git_dir("config", "[core]\nabbrev = 1\n");
    for folder in [".git", ".git/refs"] {
        sandbox.assert_same(&["-C", folder, "describe"], "");
        sandbox.assert_same(&["-C", folder, "cat-file", "-t", "HEAD"], "");
    }
    sandbox.write_in_git_dir("config", "");
    sandbox.0.write("folder/file", "");
    let folder = sandbox.top().join("folder");
    for index in [folder.as_path(), Path::new("folder"), Path::new(".")] {
        sandbox
            .0
            .set_variable("GIT_INDEX_FILE", index.as_os_str().as_encoded_bytes());
        for arguments in [&["status", "-s"][..], &["cat-file", "-t", ":a"]] {
            sandbox.assert_same(arguments, "");
        }
    }
}

#[test]
fn an_empty_pathspec_is_refused_before_settings_are() {
    let mut sandbox = Sandbox::new();
    sandbox.0.set_variable("GIT_NOGLOB_PATHSPECS", "x");
    for pathspecs in [&[""][..], &["a", ""], &["a"]] {
        sandbox.assert_same(&[&["status", "-s", "--"], pathspecs].concat(), "");
    }
}

#[test]
fn a_configuration_that_cannot_be_opened_is_warned_of_as_often_as_it_is_tried() {
    let sandbox = Sandbox::new();
    let config = sandbox.git_dir().join("config");
    let compare = || {
        for arguments in [
            &["status", "-s"][..],
            &["describe"],
            &["describe", "--dirty"],
            &["cat-file", "-t", "HEAD"],
            &["-C", ".git", "describe"],
        ] {
            sandbox.assert_same(arguments, "");
        }
    };
    std::fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink("config", &config).unwrap();
    compare();
    std::fs::remove_file(&config).unwrap();
    std::fs::create_dir(&config).unwrap();
    compare();
}

#[test]
fn broken_replace_references_are_warned_of() {
    let sandbox = Sandbox::new();
    let ask = || {
        for arguments in STATUS_COMMANDS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same(&["cat-file", "-p", "HEAD"], "");
        sandbox.assert_same(&["describe"], "");
    };
    for content in ["", "nonsense\n", "ref: refs/heads/none\n"] {
        sandbox.write_in_git_dir("refs/replace/abc", content);
        ask();
    }
    std::fs::remove_file(sandbox.git_dir().join("refs/replace/abc")).unwrap();
    let blob = sandbox.git(["rev-parse", "HEAD:b"]);
    sandbox.write_in_git_dir(&format!("refs/replace/{blob}"), "nonsense\n");
    ask();
    sandbox.assert_same_name("HEAD:b");
}

/// To git, only what can be read and is no reference is a broken one.
#[test]
fn a_reference_that_cannot_be_read_is_not_called_broken() {
    let sandbox = Sandbox::new();
    sandbox.write_in_git_dir("refs/heads/garbage", "garbage\n");
    for name in ["heads/circle", "tags/circle", "tags/HEAD"] {
        let file = Path::new(name).file_name().unwrap();
        let path = sandbox.top().join(".git/refs").join(name);
        std::os::unix::fs::symlink(file, path).unwrap();
    }
    for arguments in [
        &["status", "-sb"][..],
        &["cat-file", "-t", "circle"],
        &["cat-file", "-t", "refs/tags/circle"],
        &["cat-file", "-t", "garbage"],
        &["describe", "circle"],
        &["describe", "--all"],
    ] {
        sandbox.assert_same_as_git(arguments);
    }
}

#[test]
fn a_log_of_the_stash_that_cannot_be_opened_has_no_records() {
    let sandbox = Sandbox::new();
    sandbox.0.write("a", "changed");
    sandbox.git(["stash", "-q"]);
    let log = sandbox.git_dir().join("logs/refs/stash");
    let logs = sandbox.git_dir().join("logs");
    let ask = || {
        sandbox.assert_same(&["status", "--show-stash"], "");
        sandbox.assert_same(&["status", "--porcelain=v2", "--show-stash"], "");
    };
    std::fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink("stash", &log).unwrap();
    ask();
    std::fs::remove_dir_all(&logs).unwrap();
    std::os::unix::fs::symlink("logs", &logs).unwrap();
    ask();
    std::fs::remove_file(&logs).unwrap();
    sandbox.write_in_git_dir("logs", "");
    ask();
}

/// git does not write such an index, but other programs may.
#[test]
fn files_at_the_top_are_compared_whatever_the_cache_tree_says() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "index.skipHash", "true"]);
    sandbox.0.write("dir/file", "x");
    sandbox.git(["add", "dir"]);
    sandbox.git(["commit", "-q", "-m", "dir"]);
    sandbox.git(["reset", "-q", "--hard"]);
    for (name, other) in [("HEAD:dir/file", "HEAD:b"), ("HEAD:a", "HEAD:b")] {
        let id = |name| hex(&sandbox.git(["rev-parse", name]));
        let (id, other) = (id(name), id(other));
        change_index(&sandbox, |index| {
            let at = index.windows(20).position(|bytes| bytes == id).unwrap();
            index.splice(at..at + 20, other.iter().copied());
        });
        for arguments in STATUS_COMMANDS {
            let arguments = [&["--no-optional-locks"], *arguments].concat();
            sandbox.assert_same(&arguments, name);
        }
    }
}

fn hex(id: &str) -> Vec<u8> {
    id.as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect()
}
