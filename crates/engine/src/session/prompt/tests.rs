use super::*;
use vigil_git::environment::Environment;
use vigil_testkit::oracle::Oracle;

const DIRS: [&str; 3] = ["a", "b", "b/c"];

/// Two files in each directory, committed.
fn repository() -> Oracle {
    let oracle = Oracle::new();
    for dir in DIRS {
        for name in ["one", "two"] {
            oracle.write(format!("{dir}/{name}"), "recorded\n");
        }
    }
    oracle.write(".gitignore", "*.o\n");
    oracle.git(&["add", "."]);
    oracle.git(&["commit", "-qm", "all"]);
    oracle.git(&["tag", "first"]);
    oracle
}

fn session(oracle: &Oracle) -> Session {
    let variables = [
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("HOME".into(), "/nowhere".into()),
    ];
    let environment = Environment::new(variables, oracle.top());
    let repository = repository::discover(&environment, &oracle.top()).unwrap();
    Session::open(repository, true, FilterStderr::Discard).unwrap()
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

/// Unstaged and untracked.
fn counts(session: &mut Session, max: usize) -> (usize, usize) {
    let counts = session.prompt(&request(max), None).unwrap().counts;
    (counts.unstaged, counts.untracked)
}

/// What git counts.
fn all(oracle: &Oracle) -> (usize, usize) {
    let status = oracle.git(&["status", "--porcelain", "-z"]);
    let records = || status.split(|byte| *byte == 0);
    (
        records()
            .filter(|r| r.get(1) == Some(&b'M') || r.get(1) == Some(&b'D'))
            .count(),
        records().filter(|r| r.starts_with(b"?")).count(),
    )
}

#[test]
fn what_was_dirty_is_looked_at_first_and_nothing_else_if_it_still_is() {
    let oracle = repository();
    let mut session = session(&oracle);
    oracle.write("b/c/one", "changed\n");
    oracle.write("b/new", "");
    assert_eq!(counts(&mut session, 1), (1, 1));

    oracle.write("a/one", "changed\n");
    oracle.write("a/new", "");
    oracle.write("b/c/new", "");
    let enough = Enough {
        unstaged: 1,
        untracked: 1,
    };
    let part = session.part_of_last_time(enough).unwrap();
    let found = session.look(&request(1), &part).unwrap();
    assert_eq!(found.unstaged.len(), 1);
    assert_eq!(found.untracked, ["b/new"]);
    assert_eq!(counts(&mut session, 1), (1, 1));
    // What a part was asked for is not forgotten by the question about all.
    assert_eq!(counts(&mut session, usize::MAX), all(&oracle));
    assert_eq!(all(&oracle), (2, 3));
}

#[test]
fn what_was_dirty_may_have_been_cleaned_since() {
    let oracle = repository();
    let mut session = session(&oracle);
    let clean: [(&str, &dyn Fn()); 6] = [
        ("restored", &|| oracle.write("b/c/one", "recorded\n")),
        ("committed", &|| {
            oracle.git(&["commit", "-qam", "more"]);
        }),
        ("assumed unchanged", &|| {
            oracle.git(&["update-index", "--assume-unchanged", "b/c/one"]);
        }),
        ("untracked file removed", &|| {
            std::fs::remove_file(oracle.top().join("b/new")).unwrap();
        }),
        ("untracked file added", &|| {
            oracle.git(&["add", "b/new"]);
        }),
        ("untracked file ignored", &|| {
            oracle.write("b/.gitignore", "new\n.gitignore\n");
        }),
    ];
    for (what, clean) in clean {
        for others in [false, true] {
            oracle.git(&["update-index", "--no-assume-unchanged", "b/c/one"]);
            oracle.git(&["reset", "-q", "--hard", "first"]);
            oracle.git(&["clean", "-qfdx"]);
            oracle.write("b/c/one", "changed and longer\n");
            oracle.write("b/new", "");
            assert_eq!(counts(&mut session, 1), (1, 1), "{what}");
            if others {
                oracle.write("a/two", "changed and longer\n");
                oracle.write("a/new/file", "");
            }
            clean();
            let (unstaged, untracked) = all(&oracle);
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
    let oracle = repository();
    let mut session = session(&oracle);
    oracle.write("b/c/one", "changed and longer\n");
    oracle.write("b/c/new", "");
    assert_eq!(counts(&mut session, 1), (1, 1));
    let dir = oracle.top().join("b");
    std::fs::rename(&dir, oracle.top().join("moved.o")).unwrap();
    assert_eq!(counts(&mut session, 1), (1, 0));
    assert_eq!(counts(&mut session, usize::MAX), all(&oracle));
    std::os::unix::fs::symlink("moved.o", &dir).unwrap();
    assert_eq!(counts(&mut session, 1), (1, 1));
    assert_eq!(counts(&mut session, usize::MAX), all(&oracle));
}

#[test]
fn a_kind_that_is_settled_is_not_counted_again() {
    let oracle = repository();
    let mut session = session(&oracle);
    oracle.write("a/one", "changed and longer\n");
    assert_eq!(counts(&mut session, 1), (1, 0));
    let enough = Enough {
        unstaged: 1,
        untracked: 1,
    };
    let part = session.part_of_last_time(enough).unwrap();
    assert_eq!((part.tracked_enough, part.untracked_enough), (1, 0));
    oracle.write("b/new", "");
    oracle.write("b/c/new", "");
    assert_eq!(counts(&mut session, 1), (1, 1));
    assert_eq!(counts(&mut session, 2), (1, 2));
    assert_eq!(counts(&mut session, usize::MAX), (1, 2));
}

#[test]
fn contents_are_compared_again_when_they_are_converted_otherwise() {
    let oracle = repository();
    // As large as what is recorded, so that only the contents tell.
    oracle.write("a/one", "recorded\r\n");
    oracle.git(&["add", "."]);
    oracle.git(&["commit", "-qm", "CRLF"]);
    oracle.write("a/two", "RECORDED\n");
    // Not as it was when it was recorded, so that it is looked at, and old enough to be remembered.
    oracle.write("a/one", "recorded\r\n");
    oracle.git(&["version"]);
    oracle.git(&["version"]);
    let mut session = session(&oracle);
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
        oracle.write("a/.gitattributes", attributes);
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
fn nothing_is_said_of_what_is_behind_a_link_to_itself() {
    let oracle = repository();
    let mut session = session(&oracle);
    let dir = oracle.top().join("b");
    std::fs::remove_dir_all(&dir).unwrap();
    for (target, expected) in [("b", (0, 1)), ("a", (4, 1)), ("nowhere", (4, 1))] {
        std::os::unix::fs::symlink(target, &dir).unwrap();
        assert_eq!(counts(&mut session, usize::MAX), expected, "{target}");
        assert_eq!(all(&oracle), expected, "{target}");
        std::fs::remove_file(&dir).unwrap();
    }
}
