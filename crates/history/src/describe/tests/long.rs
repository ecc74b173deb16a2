//! Long histories.

use super::*;

#[test]
fn a_long_history_has_the_names_that_git_gives_it() {
    compare_with_git(&[
        &[],
        &["--tags"],
        &["--always"],
        &["--all"],
        &["--debug"],
        &["--first-parent", "--tags"],
    ]);
}

#[test]
fn a_long_history_has_the_names_after_it_that_git_gives_it() {
    compare_with_git(&[&["--contains"], &["--contains", "--all"]]);
}

fn compare_with_git(options: &[&[&str]]) {
    let sandbox = Sandbox::with_history(1500);
    // No names; one that counts only with an option; one that counts and is far; and one that is not in the history of
    // others.
    for (at, make) in [
        &[][..],
        &["tag", "light", "HEAD~1300"],
        &["tag", "-a", "-m", "t", "far", "HEAD~1400"],
        &["branch", "side", "HEAD~1450"],
    ]
    .into_iter()
    .enumerate()
    {
        if !make.is_empty() {
            sandbox.git(make);
        }
        for options in options {
            let first = ["HEAD", "HEAD~1200"][at % 2];
            for names in [&[first][..], &["HEAD~1399"], &["HEAD~3", "HEAD~700"]] {
                compare(&sandbox, options, names, "");
            }
        }
    }
}
