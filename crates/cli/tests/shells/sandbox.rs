//! A repository with names that a shell might misinterpret.

use std::path::PathBuf;
use std::process::Command;

pub(crate) use vigil_testkit::sandbox::Sandbox;

pub(crate) const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A branch that would run a command if its name were expanded.
pub(crate) const EVIL_BRANCH: &str = "evil-$(touch${IFS}ran)";

/// A repository with a file, a folder, a tag and two branches.
pub(crate) fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("some file", "");
    sandbox.write("some-folder/file", "");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "first"]);
    sandbox.git(["tag", "v1"]);
    sandbox.git(["branch", EVIL_BRANCH]);
    sandbox
}

/// The script for `shell`, in a file.
pub(crate) fn script(sandbox: &Sandbox, shell: &str) -> PathBuf {
    let output = Command::new(VIGIL).args(["completions", shell]).output();
    let output = output.unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    let file = sandbox.root().join(format!("vigil.{shell}"));
    std::fs::write(&file, output.stdout).unwrap();
    file
}

/// The expected completions: a command line, and the words that complete it, separated by spaces.
pub(crate) const COMPLETIONS: &[(&str, &str)] = &[
    ("vigil wa", "watch"),
    ("vigil --git-dir=x wa", "watch"),
    ("vigil -C watch wa", "watch"),
    ("vigil -C . -C watch -c a.b=c -c d.e=f wa", "watch"),
    ("vigil -c a.b=c --no-pager desc", "describe"),
    ("vigil st", "status state"),
    ("vigil --work", "--work-tree="),
    ("vigil --exec", "--exec-path="),
    ("vigil daemon st", "start stop status"),
    ("vigil daemon status --j", "--json"),
    ("vigil daemon start --j", ""),
    ("vigil daemon start x", ""),
    ("vigil state show --dir", "--directories"),
    ("vigil fsmonitor uninstall --", "--global"),
    ("vigil fsmonitor --g", ""),
    ("vigil status --sho", "--short --show-stash"),
    ("vigil status --no-ren", "--no-renames"),
    ("vigil status --no-b", "--no-branch"),
    ("vigil status --renam", ""),
    ("vigil status --format=", "json line"),
    ("vigil status --format=l", "line"),
    ("vigil status --untracked-files=n", "normal no"),
    ("vigil why --format=j", "json"),
    ("vigil gitstatusd --log-level D", "DEBUG"),
    ("vigil gitstatusd --log-level=D", "DEBUG"),
    ("vigil help wh", "why"),
    ("vigil completions f", "fish"),
    ("vigil describe v", "v1"),
    ("vigil describe --candidates v", ""),
    ("vigil describe --match so", ""),
    // These letters are options before a command, too.
    ("vigil status -v --sho", "--short --show-stash"),
    ("vigil gitstatusd -v D", "DEBUG"),
    ("vigil hg status -C --subr", "--subrepos"),
    ("vigil nonsense --x", ""),
];

/// Makes another repository, beside that of `sandbox`, in `another one`.
pub(crate) fn make_another_repository(sandbox: &Sandbox) {
    let top = sandbox.root().join("another one");
    std::fs::create_dir_all(top.join("found-folder/below")).unwrap();
    std::fs::write(top.join("found file"), "").unwrap();
    // To cd, a lone dash is the former directory.
    let dash = sandbox.root().join("work/-");
    std::fs::create_dir(&dash).unwrap();
    std::fs::write(dash.join("dashed"), "").unwrap();
    let git = |arguments: &[&str]| sandbox.git_in(&top, arguments);
    git(&["init", "-q", "-b", "found"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
}

/// Command lines with `-C` that lead there, and the words that complete them, one to an item.
pub(crate) const ELSEWHERE: &[(&str, &[&str])] = &[
    ("vigil -C ../another\\ one describe fo", &["found"]),
    (
        "vigil -C .. -C another\\ one --no-pager describe fo",
        &["found"],
    ),
    (
        "vigil -C ../another\\ one status fo",
        &["found file", "found-folder/"],
    ),
    (
        "vigil -C ../another\\ one status found\\ f",
        &["found file"],
    ),
    (
        "vigil -C ../another\\ one status found-folder/",
        &["found-folder/below/"],
    ),
    ("vigil -C /nowhere status so", &[]),
    ("vigil -C /nowhere describe fo", &[]),
    ("vigil -C .. -c a.b=c status wo", &["work/"]),
    ("vigil -C - status da", &["dashed"]),
];

/// The sorted words of `text`, without duplicates, to be compared with those of [`COMPLETIONS`].
pub(crate) fn sorted(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    words.sort();
    words.dedup();
    words
}
