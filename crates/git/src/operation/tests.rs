use std::fs;

use super::*;
use crate::testing::OpenRepository as _;
use gix_hash::Kind;
use vigil_testkit::sandbox::RefFormat;
use vigil_testkit::sandbox::Sandbox;

fn detect(sandbox: &Sandbox) -> Operation {
    let repo = sandbox.repository();
    Operation::detect(&repo, &Refs::open(&repo)).unwrap()
}

fn action(sandbox: &Sandbox) -> String {
    detect(sandbox).action().to_string()
}

/// Two branches of three commits each, of which every one conflicts with the other branch.
fn in_conflict(format: RefFormat) -> Sandbox {
    let sandbox = Sandbox::with_formats(format, Kind::Sha1);
    let write = |text: &str| {
        fs::write(sandbox.top().join("file"), text).unwrap();
        sandbox.git(["add", "file"]);
        sandbox.commit(text);
    };
    write("base");
    sandbox.git(["checkout", "-q", "-b", "topic"]);
    for text in ["topic 1", "topic 2", "topic 3"] {
        write(text);
    }
    sandbox.git(["checkout", "-q", "main"]);
    for text in ["main 1", "main 2", "main 3"] {
        write(text);
    }
    sandbox
}

#[test]
fn each_operation_has_its_name() {
    for format in [RefFormat::Files, RefFormat::Reftable] {
        let sandbox = in_conflict(format);
        assert_eq!(action(&sandbox), "");

        sandbox.try_git(["merge", "topic"]);
        assert_eq!(action(&sandbox), "merge");
        sandbox.git(["merge", "--abort"]);

        sandbox.try_git(["cherry-pick", "topic~1"]);
        assert_eq!(action(&sandbox), "cherry");
        assert_eq!(
            detect(&sandbox).cherry_pick_head,
            Some(sandbox.id("topic~1"))
        );
        sandbox.git(["cherry-pick", "--abort"]);
        sandbox.try_git(["cherry-pick", "topic~2", "topic~1"]);
        assert_eq!(action(&sandbox), "cherry-seq");
        sandbox.git(["cherry-pick", "--abort"]);

        sandbox.try_git(["revert", "HEAD~1"]);
        assert_eq!(action(&sandbox), "revert");
        sandbox.git(["revert", "--abort"]);
        sandbox.try_git(["revert", "HEAD~1", "HEAD~2"]);
        assert_eq!(action(&sandbox), "revert-seq");
        sandbox.git(["revert", "--abort"]);

        sandbox.try_git(["rebase", "--merge", "topic"]);
        assert_eq!(action(&sandbox), "rebase-i 1/3");
        fs::remove_file(sandbox.git_dir().join("rebase-merge/interactive")).unwrap();
        assert_eq!(action(&sandbox), "rebase-m 1/3");
        sandbox.git(["rebase", "--abort"]);
        sandbox.try_git(["rebase", "--apply", "topic"]);
        assert_eq!(action(&sandbox), "rebase 1/3");
        sandbox.git(["rebase", "--abort"]);

        let patches = sandbox.git(["format-patch", "--stdout", "main..topic"]);
        fs::write(sandbox.root().join("patches"), patches).unwrap();
        sandbox.try_git(["am", "../patches"]);
        assert_eq!(action(&sandbox), "am 1/3");
        fs::remove_file(sandbox.git_dir().join("rebase-apply/applying")).unwrap();
        assert_eq!(action(&sandbox), "am/rebase 1/3");
        fs::write(sandbox.git_dir().join("rebase-apply/applying"), "").unwrap();
        sandbox.git(["am", "--abort"]);

        sandbox.git(["bisect", "start"]);
        assert_eq!(action(&sandbox), "bisect");
        sandbox.try_git(["merge", "topic"]);
        assert_eq!(action(&sandbox), "merge");
        sandbox.git(["merge", "--abort"]);
        sandbox.git(["bisect", "reset"]);
        assert_eq!(detect(&sandbox), Operation::default());
    }
}
