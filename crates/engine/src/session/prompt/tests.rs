use super::*;
use crate::testing::session_at;
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::Sandbox;

const DIRS: [&str; 3] = ["a", "b", "b/c"];

/// A repository with two committed files in each directory.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    for dir in DIRS {
        for name in ["one", "two"] {
            sandbox.write(format!("{dir}/{name}"), "recorded\n");
        }
    }
    sandbox.write(".gitignore", "*.o\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "all"]);
    sandbox.git(["tag", "first"]);
    sandbox
}

fn session(sandbox: &Sandbox) -> Session {
    session_at(&sandbox.top(), true)
}

fn request(max: usize) -> PromptRequest {
    PromptRequest {
        staged_max: max,
        unstaged_max: max,
        conflicted_max: max,
        untracked_max: max,
        threads_max: Some(2),
        ..PromptRequest::EVERYTHING
    }
}

/// Returns the counts of unstaged and untracked paths.
fn counts(session: &mut Session, max: usize) -> (usize, usize) {
    let counts = session.prompt(&request(max), None).unwrap().counts;
    (counts.unstaged, counts.untracked)
}

/// Returns git's counts.
fn git_counts(sandbox: &Sandbox) -> (usize, usize) {
    let status = sandbox.git_bytes(["status", "--porcelain", "-z"]);
    let records = || status.split(|byte| *byte == 0);
    (
        records()
            .filter(|r| r.get(1) == Some(&b'M') || r.get(1) == Some(&b'D'))
            .count(),
        records().filter(|r| r.starts_with(b"?")).count(),
    )
}

#[test]
fn files_that_were_dirty_are_checked_first_and_suffice_if_they_still_are() {
    let sandbox = repository();
    let mut session = session(&sandbox);
    sandbox.write("b/c/one", "changed\n");
    sandbox.write("b/new", "");
    assert_eq!(counts(&mut session, 1), (1, 1));

    sandbox.write("a/one", "changed\n");
    sandbox.write("a/new", "");
    sandbox.write("b/c/new", "");
    let enough = Enough {
        unstaged: 1,
        untracked: 1,
    };
    let part = session.part_of_last_time(enough).unwrap();
    let found = session.look(&request(1), &part).unwrap();
    assert_eq!(found.unstaged.len(), 1);
    assert_eq!(found.untracked, ["b/new"]);
    assert_eq!(counts(&mut session, 1), (1, 1));
    // A look at a part does not limit the answer to the full question.
    assert_eq!(counts(&mut session, usize::MAX), git_counts(&sandbox));
    assert_eq!(git_counts(&sandbox), (2, 3));
}

#[test]
fn files_that_were_dirty_may_be_clean_again() {
    let sandbox = repository();
    let mut session = session(&sandbox);
    let clean: [(&str, &dyn Fn()); 6] = [
        ("restored", &|| sandbox.write("b/c/one", "recorded\n")),
        ("committed", &|| {
            sandbox.git(["commit", "-qam", "more"]);
        }),
        ("assumed unchanged", &|| {
            sandbox.git(["update-index", "--assume-unchanged", "b/c/one"]);
        }),
        ("untracked file removed", &|| {
            std::fs::remove_file(sandbox.top().join("b/new")).unwrap();
        }),
        ("untracked file added", &|| {
            sandbox.git(["add", "b/new"]);
        }),
        ("untracked file ignored", &|| {
            sandbox.write("b/.gitignore", "new\n.gitignore\n");
        }),
    ];
    for (what, clean) in clean {
        for others in [false, true] {
            sandbox.git(["update-index", "--no-assume-unchanged", "b/c/one"]);
            sandbox.git(["reset", "-q", "--hard", "first"]);
            sandbox.git(["clean", "-qfdx"]);
            sandbox.write("b/c/one", "changed and longer\n");
            sandbox.write("b/new", "");
            assert_eq!(counts(&mut session, 1), (1, 1), "{what}");
            if others {
                sandbox.write("a/two", "changed and longer\n");
                sandbox.write("a/new/file", "");
            }
            clean();
            let (unstaged, untracked) = git_counts(&sandbox);
            let capped = (unstaged.min(1), untracked.min(1));
            assert_eq!(counts(&mut session, 1), capped, "{what}, {others}");
            let all = (unstaged, untracked);
            assert_eq!(counts(&mut session, usize::MAX), all, "{what}, {others}");
            assert_eq!(counts(&mut session, 1), capped, "{what}, {others}");
        }
    }
}

#[test]
fn a_directory_that_was_moved_or_replaced_by_a_link_is_not_looked_into() {
    let sandbox = repository();
    let mut session = session(&sandbox);
    sandbox.write("b/c/one", "changed and longer\n");
    sandbox.write("b/c/new", "");
    assert_eq!(counts(&mut session, 1), (1, 1));
    let dir = sandbox.top().join("b");
    std::fs::rename(&dir, sandbox.top().join("moved.o")).unwrap();
    assert_eq!(counts(&mut session, 1), (1, 0));
    assert_eq!(counts(&mut session, usize::MAX), git_counts(&sandbox));
    std::os::unix::fs::symlink("moved.o", &dir).unwrap();
    assert_eq!(counts(&mut session, 1), (1, 1));
    assert_eq!(counts(&mut session, usize::MAX), git_counts(&sandbox));
}

#[test]
fn a_kind_that_reached_its_maximum_is_not_counted_again() {
    let sandbox = repository();
    let mut session = session(&sandbox);
    sandbox.write("a/one", "changed and longer\n");
    assert_eq!(counts(&mut session, 1), (1, 0));
    let enough = Enough {
        unstaged: 1,
        untracked: 1,
    };
    let part = session.part_of_last_time(enough).unwrap();
    assert_eq!((part.stop_after_tracked, part.stop_after_untracked), (1, 0));
    sandbox.write("b/new", "");
    sandbox.write("b/c/new", "");
    assert_eq!(counts(&mut session, 1), (1, 1));
    assert_eq!(counts(&mut session, 2), (1, 2));
    assert_eq!(counts(&mut session, usize::MAX), (1, 2));
}

#[test]
fn contents_are_compared_again_when_they_are_converted_otherwise() {
    let sandbox = repository();
    // As large as the recorded file, so that only the contents differ.
    sandbox.write("a/one", "recorded\r\n");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "CRLF"]);
    sandbox.write("a/two", "RECORDED\n");
    // Not as it was when it was recorded, so that it is looked at, and old enough to be remembered.
    sandbox.write("a/one", "recorded\r\n");
    sandbox.git(["version"]);
    sandbox.git(["version"]);
    let mut session = session(&sandbox);
    for _ in 0..2 {
        assert_eq!(counts(&mut session, usize::MAX), (1, 0));
    }
    for (attributes, is_changed) in [
        ("* text\n", true),
        ("* -text\n", false),
        ("* text=auto\n", false),
        ("* ident\n", false),
        ("one text\n", true),
        ("", false),
    ] {
        sandbox.write("a/.gitattributes", attributes);
        for _ in 0..2 {
            assert_eq!(
                counts(&mut session, usize::MAX),
                (1 + usize::from(is_changed), 1),
                "{attributes}"
            );
        }
    }
}

#[test]
fn nothing_behind_a_link_to_itself_is_reported() {
    let sandbox = repository();
    let mut session = session(&sandbox);
    let dir = sandbox.top().join("b");
    std::fs::remove_dir_all(&dir).unwrap();
    for (target, expected) in [("b", (0, 1)), ("a", (4, 1)), ("nowhere", (4, 1))] {
        std::os::unix::fs::symlink(target, &dir).unwrap();
        assert_eq!(counts(&mut session, usize::MAX), expected, "{target}");
        assert_eq!(git_counts(&sandbox), expected, "{target}");
        std::fs::remove_file(&dir).unwrap();
    }
}

#[test]
fn an_operation_that_comes_behind_a_link_is_seen() {
    let sandbox = repository();
    let mut action = {
        let mut session = session(&sandbox);
        move || session.prompt(&request(1), None).unwrap().action
    };
    assert_eq!(action(), "");
    let elsewhere = sandbox.root().join("elsewhere");
    let place = sandbox.git_dir().join("MERGE_HEAD");
    std::os::unix::fs::symlink(&elsewhere, place).unwrap();
    wait_for_tick();
    assert_eq!(action(), "");
    std::fs::write(&elsewhere, sandbox.git(["rev-parse", "HEAD"])).unwrap();
    assert_eq!(action(), "merge");
    std::fs::remove_file(&elsewhere).unwrap();
    assert_eq!(action(), "");
}

#[test]
fn staged_paths_are_counted_up_to_the_limit_of_each_question() {
    let sandbox = repository();
    let mut session = session(&sandbox);
    for dir in DIRS {
        sandbox.write(format!("{dir}/new"), "");
    }
    sandbox.git(["add", "."]);
    sandbox.git(["rm", "-q", "a/one", "b/one"]);
    let mut staged = |max| {
        let counts = session.prompt(&request(max), None).unwrap().counts;
        (counts.staged, counts.staged_new, counts.staged_deleted)
    };
    assert_eq!(staged(1).0, 1);
    assert_eq!(staged(4).0, 4);
    assert_eq!(staged(usize::MAX), (5, 3, 2));
    assert_eq!(staged(2).0, 2);
}
