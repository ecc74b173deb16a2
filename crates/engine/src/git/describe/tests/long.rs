//! Histories that are long enough to be remembered.

use super::*;

#[test]
fn a_history_that_is_remembered_has_the_same_names() {
    let sandbox = Sandbox::with_history(1500);
    vigil_testkit::clock::tick();
    let memory = sandbox.git_dir().join("vigil/commits/state");
    // No names, one that does not count without an option, one that does and is far, and one beside the history of others.
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
        for round in ["first", "again"] {
            for options in [
                &[][..],
                &["--tags"],
                &["--always"],
                &["--all"],
                &["--debug"],
                &["--first-parent", "--tags"],
                &["--contains"],
                &["--contains", "--all"],
            ] {
                let first = ["HEAD", "HEAD~1200"][at % 2];
                for names in [&[first][..], &["HEAD~1399"], &["HEAD~3", "HEAD~700"]] {
                    compare(&sandbox, options, names, round);
                }
            }
            // Without any name there is nothing to look for.
            if at > 0 {
                walk_all(&sandbox);
                assert!(memory.exists());
            }
        }
    }
}

/// Walks through all history, and keeps what is worth it.
fn walk_all(sandbox: &Sandbox) {
    let question = question(&["--always"]);
    at(sandbox, |place| {
        let mut describer = Describer::new(&question, place, &["HEAD".into()]).unwrap();
        describer.describe("HEAD".into()).unwrap();
        describer.into_unsaved().save(place.repository);
    });
}
