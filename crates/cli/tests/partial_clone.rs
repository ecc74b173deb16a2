//! `vigil cat-file` and `vigil describe` in clones that lack objects: these are fetched as by git.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::process::Output;

use vigil_testkit::sandbox::{run_with_input, skip_test};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A server, and clones of it without blobs, or also without trees.
struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

/// What both programs are asked.
struct Question<'q> {
    /// The clone, called `blobs` or `trees` after what it lacks.
    lacking: &'static str,
    /// Shell commands to run in the clone first.
    before: &'q str,
    arguments: &'static [&'static str],
    /// The input. `<name>` stands for the id that `name` has on the server.
    input: &'static str,
}

impl Sandbox {
    fn new() -> Self {
        let sandbox = Self(vigil_testkit::sandbox::Sandbox::empty());
        sandbox.run_script(
            "git init -q -b main server && cd server && mkdir -p dir/sub &&
             echo one >one && echo two >dir/two && echo three >dir/sub/three && git add -A &&
             git commit -q -m first && git tag -a -m tagged v1 && echo more >>dir/two &&
             git commit -q -a -m second && echo 4 >four && git add -A && git commit -q -m third &&
             git config uploadpack.allowFilter true && git config uploadpack.allowAnySHA1InWant true &&
             cd .. && git clone -q --bare --no-local server other && git -C other config uploadpack.allowFilter true &&
             git -C other config uploadpack.allowAnySHA1InWant true &&
             git clone -q --no-checkout --filter=blob:none file://$PWD/server blobs &&
             git clone -q --no-checkout --filter=tree:0 file://$PWD/server trees",
        );
        sandbox
    }

    fn run_script(&self, script: &str) -> String {
        let output = self
            .isolated("sh", b"")
            .args(["-c", script])
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Replaces each `<name>` in `text` by its id.
    fn with_ids(&self, text: &str) -> String {
        let mut parts = text.split(['<', '>']);
        let mut made = parts.next().unwrap_or_default().to_owned();
        while let Some(name) = parts.next() {
            let id = self.run_script(&format!("git -C server rev-parse '{name}'"));
            made.push_str(id.trim());
            made.push_str(parts.next().unwrap_or_default());
        }
        made
    }

    /// The answer of `program` in a fresh copy of the clone, and the objects present afterwards.
    fn answer(&self, program: &str, question: &Question<'_>) -> (Output, String) {
        self.run_script(&format!(
            "rm -rf run && cp -r {} run && cd run && {}",
            question.lacking, question.before
        ));
        let arguments = question.arguments.iter().map(|text| self.with_ids(text));
        let command = self.command(program, self.path_from_root("run"), arguments);
        let output = run_with_input(command, self.with_ids(question.input).as_bytes());
        let objects = self.run_script("cd run/.git/objects && find . -type f | sort");
        (output, objects)
    }

    fn assert_same(&self, question: &Question<'_>) {
        let (ours, our_objects) = self.answer(VIGIL, question);
        let (theirs, their_objects) = self.answer("git", question);
        // Server and client of a fetch write to standard error concurrently.
        let shown = |output: &Output| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let stderr = text(&output.stderr);
            let mut stderr: Vec<String> = stderr.lines().map(str::to_owned).collect();
            stderr.sort();
            (output.status.code(), text(&output.stdout), stderr)
        };
        let remark = format!(
            "{:?} {:?} in {} after {:?}",
            question.arguments, question.input, question.lacking, question.before
        );
        assert_eq!(shown(&ours), shown(&theirs), "{remark}");
        assert_eq!(our_objects, their_objects, "{remark}");
    }

    fn assert_all_same(
        &self,
        lacking: &'static str,
        before: &str,
        questions: &[(&'static [&'static str], &'static str)],
    ) {
        for (arguments, input) in questions {
            self.assert_same(&Question {
                lacking,
                before,
                arguments,
                input,
            });
        }
    }
}

const BATCH: &[&str] = &["cat-file", "--batch"];
/// The id of an object that nobody has.
const UNKNOWN: &str = "0123456789012345678901234567890123456789";
const CHECK: &[&str] = &["cat-file", "--batch-check"];

#[test]
fn missing_objects_are_fetched() {
    let sandbox = Sandbox::new();
    let names = "HEAD:one\n<HEAD:dir/two>\nHEAD:none\nnone\n<HEAD:one>\n<HEAD>\n";
    sandbox.assert_all_same(
        "blobs",
        ":",
        &[
            (&["cat-file", "-p", "<HEAD:one>"], ""),
            (&["cat-file", "-t", "HEAD:dir/two"], ""),
            (&["cat-file", "-s", "HEAD~1:dir/two"], ""),
            (&["cat-file", "-e", "<HEAD:four>"], ""),
            (&["cat-file", "blob", "v1:dir/sub/three"], ""),
            (&["cat-file", "-p", "HEAD^{tree}"], ""),
            (BATCH, names),
            (CHECK, names),
            (&["cat-file", "--batch", "--buffer"], names),
            (
                &["cat-file", "--batch-command"],
                "info <HEAD:one>\ncontents <HEAD:four>\n",
            ),
            (&["cat-file", "--batch-check", "--batch-all-objects"], ""),
            (&["describe", "HEAD:dir/two"], ""),
            (&["describe", "<HEAD:four>"], ""),
        ],
    );
    sandbox.assert_all_same(
        "trees",
        ":",
        &[
            (&["cat-file", "-p", "HEAD^{tree}"], ""),
            (&["cat-file", "-p", "HEAD:dir/sub"], ""),
            (BATCH, names),
            (&["describe"], ""),
            (&["describe", "<HEAD:four>"], ""),
        ],
    );
}

#[test]
fn a_status_fetches_no_more_than_trees() {
    let sandbox = Sandbox::new();
    for before in [
        "git checkout -q main",
        "git checkout -q main && git reset -q --soft HEAD~1",
        "git checkout -q main && git reset -q --soft HEAD~1 && git mv one uno && rm four",
    ] {
        for lacking in ["blobs", "trees"] {
            for arguments in [&["describe", "--dirty"][..], &["describe", "--broken"]] {
                sandbox.assert_same(&Question {
                    lacking,
                    before,
                    arguments,
                    input: "",
                });
            }
        }
    }
}

#[test]
fn failed_fetches_are_reported_as_by_git() {
    let sandbox = Sandbox::new();
    let names = "<HEAD:one>\n0123456789012345678901234567890123456789\n<HEAD>\n";
    for before in [
        "git config remote.origin.url file:///nowhere",
        "git remote remove origin",
        "git config extensions.partialClone absent",
        "git config extensions.partialClone /absent",
        "git config remote.origin.promisor maybe",
        "git config remote.origin.promisor false && git config --unset extensions.partialClone;
         git config --unset remote.origin.partialCloneFilter",
        "git config promisor.quiet true",
        "git remote set-url origin file:///nowhere && git remote add other file://$PWD/../other &&
         git config remote.other.promisor true",
        "git config extensions.partialClone other && git remote add other file:///nowhere",
        "git config protocol.file.allow never",
        "rm .git/objects/pack/*.promisor && git config remote.origin.url file:///nowhere",
    ] {
        sandbox.assert_all_same(
            "blobs",
            before,
            &[
                (&["cat-file", "-p", "<HEAD:one>"], ""),
                (&["cat-file", "-e", "<HEAD:one>"], ""),
                (&["cat-file", "-e", UNKNOWN], ""),
                (&["cat-file", "-t", UNKNOWN], ""),
                (CHECK, names),
                (&["cat-file", "--batch-all-objects", "--batch-check"], ""),
            ],
        );
    }
}

#[test]
fn a_fetch_that_failed_is_not_tried_again() {
    let sandbox = Sandbox::new();
    // Each attempt writes to standard error.
    let before = "git config remote.origin.url file:///nowhere";
    sandbox.assert_all_same(
        "trees",
        before,
        &[
            (&["cat-file", "-p", "HEAD^{tree}"], ""),
            (&["cat-file", "-e", "HEAD:one"], ""),
            (&["cat-file", "-t", "<HEAD^{tree}>"], ""),
            (CHECK, "HEAD\nHEAD:dir/two\nHEAD\n"),
            (&["describe", "--dirty"], ""),
            (&["describe", "HEAD:one"], ""),
        ],
    );
    sandbox.assert_all_same("blobs", before, &[(&["describe", "<HEAD:one>"], "")]);
}

#[test]
fn attributes_that_cannot_be_fetched_are_fatal() {
    let sandbox = Sandbox::new();
    sandbox.run_script(
        "cd server && echo '* filter=louder' >dir/.gitattributes && echo '* diff=shown' >.gitattributes &&
         git add -A && git commit -q -m attributes && cd .. && rm -rf blobs trees &&
         git clone -q --no-checkout --filter=blob:none file://$PWD/server blobs &&
         git clone -q --no-checkout --filter=tree:0 file://$PWD/server trees",
    );
    let filters = &["cat-file", "--filters", "--path=dir/two", "<HEAD:one>"];
    let textconv = &["cat-file", "--textconv", "HEAD:one"];
    let batch = &["cat-file", "--batch=%(objectname) %(rest)", "--filters"];
    for (lacking, before) in [
        ("blobs", "git cat-file -e HEAD:one"),
        (
            "blobs",
            "git cat-file -e HEAD:one && git cat-file -e HEAD:.gitattributes",
        ),
        ("trees", "git cat-file -e HEAD:one"),
    ] {
        for remote in ["file:///nowhere", "file://$PWD/../server"] {
            let before = format!(
                "{before} && git config remote.origin.url {remote} && git config attr.tree HEAD &&
                 git config filter.louder.smudge 'touch ../ran; tr a-z A-Z' && git config diff.shown.textconv 'tr a-z A-Z <'"
            );
            sandbox.assert_all_same(
                lacking,
                &before,
                &[
                    (filters, ""),
                    (textconv, ""),
                    (batch, "<HEAD:one> dir/two\n<HEAD:one> one\n"),
                ],
            );
        }
    }
}

#[test]
fn a_status_fetches_trees_that_were_left_out() {
    let sandbox = Sandbox::new();
    for remote in ["file:///nowhere", "file://$PWD/../server"] {
        for reset in ["main", "main~1", "main~2"] {
            let before = format!(
                "git read-tree v1 && git reset -q --soft {reset} && echo new >dir && git config remote.origin.url {remote}"
            );
            sandbox.assert_all_same(
                "trees",
                &before,
                &[
                    (&["status", "-s"], ""),
                    (&["status", "--porcelain=v2", "-uno"], ""),
                    (&["status", "-s", "--", "dir"], ""),
                ],
            );
        }
    }
    // Of a sparse index, directories that are one entry are compared by the trees.
    let before = "git sparse-checkout set --sparse-index dir && git checkout -q main && git reset -q --soft main~1";
    sandbox.assert_all_same("trees", before, &[(&["status", "-s"], "")]);
}

#[test]
fn a_status_fetches_attributes_that_were_left_out() {
    let sandbox = Sandbox::new();
    sandbox.run_script(
        "cd server && echo '* filter=louder' >.gitattributes && git add -A && git commit -q -m attributes && cd .. &&
         rm -rf blobs && git clone -q --no-checkout --filter=blob:none file://$PWD/server blobs",
    );
    for remote in ["file:///nowhere", "file://$PWD/../server"] {
        for attributes in [":", "git config attr.tree HEAD"] {
            let before = format!(
                "git config remote.origin.url {remote} && git --no-lazy-fetch read-tree HEAD && {attributes} &&
                 git config filter.louder.clean 'tr A-Z a-z' && echo ONE >one"
            );
            sandbox.assert_all_same("blobs", &before, &[(&["status", "-s"], "")]);
        }
    }
    // What is wrong in other attributes is said once.
    let before = "git --no-lazy-fetch read-tree HEAD && git config filter.louder.clean 'tr A-Z a-z' && echo ONE >one &&
                  echo '!one text' >.git/info/attributes";
    sandbox.assert_all_same("blobs", before, &[(&["status", "-s"], "")]);
}

/// Renames with changes, by the name of the file and not, of which the old contents are not here.
fn with_renames() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run_script(
        "cd server && mkdir long && for first in 1 2 3 4 5; do seq $first 900 >long/$first; done && ln -s long/1 link &&
         git add -A && git commit -q -m long && cd .. &&
         rm -rf blobs && git clone -q --no-checkout --filter=blob:none file://$PWD/server blobs",
    );
    sandbox
}

const RENAMES: &str = "git --no-lazy-fetch read-tree HEAD && mkdir moved && seq 1 901 >moved/1 && seq 2 902 >moved/2 &&
     seq 3 903 >three && seq 4 904 >four_ && ln -s three other && git add moved three four_ other &&
     git --no-lazy-fetch rm -q --cached link long/1 long/2 long/3 long/4";

#[test]
fn a_status_fetches_together_what_renames_are_found_by() {
    let sandbox = with_renames();
    for remote in ["file:///nowhere", "file://$PWD/../server"] {
        let before = format!("{RENAMES} && git config remote.origin.url {remote}");
        sandbox.assert_all_same(
            "blobs",
            &before,
            &[
                (&["status", "-s"], ""),
                (&["status", "--porcelain=v2", "--find-renames=80"], ""),
                (&["status", "-s", "--no-renames"], ""),
                (&["-c", "status.renames=copies", "status", "-s"], ""),
            ],
        );
    }
    // One of them is nowhere.
    let before = format!("{RENAMES} && git update-index --cacheinfo 100644,{UNKNOWN},three");
    sandbox.assert_all_same("blobs", &before, &[(&["status", "-s"], "")]);
    // The index records only that a file is to be added.
    let before = format!("{RENAMES} && git rm -q --cached three && git add -N three");
    sandbox.assert_all_same("blobs", &before, &[(&["status", "-s"], "")]);
}

#[test]
fn a_status_fetches_the_rules_for_submodules_that_were_left_out() {
    let sandbox = Sandbox::new();
    sandbox.run_script(
        "cd server && git config -f .gitmodules submodule.nested.path nested &&
         git config -f .gitmodules submodule.nested.url ../nested &&
         git config -f .gitmodules submodule.nested.ignore all && git add .gitmodules &&
         git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),nested && git commit -q -m nested && cd .. &&
         rm -rf blobs && git clone -q --no-checkout --filter=blob:none file://$PWD/server blobs",
    );
    for remote in ["file:///nowhere", "file://$PWD/../server"] {
        for lost in [":", "git config --unset remote.origin.promisor"] {
            let before = format!(
                "git config remote.origin.url {remote} && git --no-lazy-fetch read-tree HEAD &&
                 git clone -q ../server nested && echo changed >nested/one && {lost}"
            );
            let status: &[_] = &["status", "--porcelain=v2"];
            sandbox.assert_all_same("blobs", &before, &[(status, "")]);
        }
    }
}

#[test]
fn a_status_fetches_in_submodules_what_they_left_out() {
    let sandbox = Sandbox::new();
    sandbox.run_script(
        "cd server && echo '* filter=louder' >.gitattributes && git add -A && git commit -q -m attributes",
    );
    for remote in ["file:///nowhere", "file://$PWD/../../server"] {
        let before = format!(
            "git read-tree --empty && git clone -q --no-checkout --filter=blob:none file://$PWD/../server nested &&
             git update-index --add --cacheinfo 160000,$(git -C nested rev-parse HEAD),nested && cd nested &&
             git --no-lazy-fetch read-tree HEAD && git config filter.louder.clean 'tr A-Z a-z' &&
             git config remote.origin.url {remote} && echo ONE >one"
        );
        sandbox.assert_all_same("blobs", &before, &[(&["status", "-s"], "")]);
    }
}

#[test]
fn an_explanation_fetches_attributes_as_a_status_does() {
    let sandbox = Sandbox::new();
    sandbox.run_script(
        "cd server && echo '* filter=louder' >.gitattributes && git add -A && git commit -q -m attributes && cd .. &&
         rm -rf blobs && git clone -q --no-checkout --filter=blob:none file://$PWD/server blobs",
    );
    let (explained, _) = sandbox.answer(
        VIGIL,
        &Question {
            lacking: "blobs",
            before: "git --no-lazy-fetch read-tree HEAD && git config filter.louder.clean 'tr A-Z a-z' && echo ONE >one",
            arguments: &["why", "one"],
            input: "",
        },
    );
    assert!(explained.status.success(), "{explained:?}");
}

#[test]
fn nothing_is_fetched_where_that_is_forbidden() {
    let sandbox = Sandbox::new();
    let knows_it = sandbox.output(sandbox.root(), ["--no-lazy-fetch", "version"], "");
    if !knows_it.status.success() {
        return skip_test(
            "nothing_is_fetched_where_that_is_forbidden",
            "git is older than 2.44",
        );
    }
    let names = "<HEAD:one>\nHEAD:dir/two\n<HEAD>\n";
    sandbox.assert_all_same(
        "blobs",
        ":",
        &[
            (&["--no-lazy-fetch", "cat-file", "-p", "<HEAD:one>"], ""),
            (&["--no-lazy-fetch", "cat-file", "-e", "<HEAD:one>"], ""),
            (&["--no-lazy-fetch", "cat-file", "--batch-check"], names),
        ],
    );
}
