//! Pathspecs.

use crate::sandbox::Sandbox;

#[test]
fn builtin_objectmode_matches_files_by_mode() {
    let sandbox = Sandbox::with_history();
    sandbox.git(["update-index", "--chmod=+x", "c"]);
    sandbox.write("new/file", "file");
    std::os::unix::fs::symlink("a", sandbox.top().join("link")).unwrap();
    sandbox.write("mode=644", "text");
    let nested = Sandbox::with_history();
    std::fs::rename(nested.top(), sandbox.top().join("nested")).unwrap();
    let ask = || {
        for mode in ["100644", "100755", "120000", "040000", "160000", ""] {
            let spec = format!(":(attr:builtin_objectmode={mode})");
            sandbox.assert_same_as_git(&["status", "-s", "-uall", &spec]);
        }
        let [files, others] =
            ["", "exclude,"].map(|magic| format!(":({magic}attr:builtin_objectmode=100644)"));
        sandbox.assert_same_as_git(&["status", "-s", &files, "new", "."]);
        sandbox.assert_same_as_git(&["status", "-s", &others]);
        sandbox.assert_same_as_git(&["status", "-s", ":(attr:builtin_objectmode)"]);
        sandbox.assert_same_as_git(&["status", "-s", ":(attr:!builtin_objectmode)"]);
        sandbox.assert_same_as_git(&["status", "-s", ":(attr:!builtin_other)"]);
    };
    ask();
    // Only files that exist match.
    sandbox.git(["rm", "-q", "dir/d"]);
    ask();
    std::fs::remove_file(sandbox.top().join("b")).unwrap();
    ask();
}

#[test]
fn errors_in_pathspecs_are_reported_before_bad_values() {
    let sandbox = Sandbox::with_history();
    let bad = "--ignore-submodules=bad";
    sandbox.assert_same_as_git(&["status", bad]);
    sandbox.assert_same_as_git(&["status", bad, ":(bad)a"]);
    sandbox.assert_same_as_git(&["status", bad, "-ubad", ":(bad)a"]);
    sandbox.assert_same_as_git(&["status", bad, "--ignored=bad", ":(bad)a"]);
    sandbox.write(".git/index", "bad");
    sandbox.assert_same_as_git(&["status", bad, ":(bad)a"]);
    sandbox.assert_same_as_git(&["status", bad, "a"]);
}

/// git looks for nothing untracked below a symbolic link, nor does it report an ignored directory on the way there.
#[test]
fn nothing_untracked_is_looked_for_behind_a_link() {
    let sandbox = Sandbox::with_history();
    sandbox.write(".gitignore", "/build\n");
    sandbox.write("build/deep/file", "text");
    sandbox.write("new/deep/file", "text");
    for (number, target) in ["nowhere", ".", "file", "../deep"].into_iter().enumerate() {
        for folder in ["build", "new"] {
            let link = format!("{folder}/deep/link{number}");
            std::os::unix::fs::symlink(target, sandbox.top().join(&link)).unwrap();
            for rest in ["", "/x", "/*", "*", "/x/y"] {
                for mode in ["traditional", "matching", "no"] {
                    let mode = format!("--ignored={mode}");
                    sandbox.assert_same_as_git(&[
                        "status",
                        "-s",
                        &mode,
                        "--",
                        &format!("{link}{rest}"),
                    ]);
                }
            }
        }
    }
}

#[test]
fn absolute_paths_that_lead_elsewhere_are_refused() {
    let sandbox = Sandbox::with_history();
    let outside = sandbox.root();
    std::os::unix::fs::symlink("loop", outside.join("loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", outside.join("dangling")).unwrap();
    std::fs::write(outside.join("file"), "").unwrap();
    std::os::unix::fs::symlink(sandbox.top(), outside.join("link")).unwrap();
    for name in [
        "missing",
        "missing/below",
        "file",
        "file/below",
        "loop",
        "dangling",
        "link",
        "link/a",
    ] {
        for end in ["", "/", "//", "/."] {
            let spec = format!("{}/{name}{end}", outside.display());
            sandbox.assert_same_as_git(&["status", "-s", &spec]);
        }
    }
}
