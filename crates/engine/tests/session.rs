//! A session that is kept: what changes between two questions is in the second answer.

#![allow(clippy::unwrap_used, reason = "all of this file is tests")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use vigil_engine::prompt::{Counts, PromptRequest};
use vigil_engine::session::Session;
use vigil_git::convert::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::discover;

struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Self {
        let sandbox = Self(tempfile::tempdir().unwrap());
        sandbox.git(&["init", "-q"]);
        sandbox
    }

    fn git(&self, arguments: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments)
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status()
            .unwrap();
        assert!(status.success(), "{arguments:?}");
    }

    /// Writes a file as if it had been written `age_s` seconds ago.
    fn write(&self, name: &str, contents: &str, age_s: u64) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, contents).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let then = SystemTime::now() - Duration::from_secs(age_s);
        file.set_modified(then).unwrap();
    }

    fn session(&self) -> Session {
        let home = self.0.path().to_str().unwrap().into();
        let environment = Environment::new(
            [
                ("HOME".into(), home),
                ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            ],
            self.0.path(),
        );
        let repository = discover(&environment, self.0.path()).unwrap();
        Session::open(repository, true, FilterStderr::Discard).unwrap()
    }
}

fn counts(session: &mut Session) -> Counts {
    session
        .prompt(&PromptRequest::EVERYTHING, None)
        .unwrap()
        .counts
}

#[test]
fn attributes_that_change_are_seen_though_the_file_stands_still() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/text", "one\r\ntwo\r\n", 100);
    sandbox.git(&["add", "sub"]);
    sandbox.git(&["commit", "-qm", "with CRLF"]);
    // Other facts than those recorded, so that contents are compared; the contents are as recorded.
    sandbox.write("sub/text", "one\r\ntwo\r\n", 50);
    let mut session = sandbox.session();
    assert_eq!(counts(&mut session).unstaged, 0);
    assert_eq!(counts(&mut session).unstaged, 0);
    sandbox.write("sub/.gitattributes", "text text=auto text\n", 20);
    assert_eq!(counts(&mut session).unstaged, 1);
    std::fs::remove_file(sandbox.0.path().join("sub/.gitattributes")).unwrap();
    assert_eq!(counts(&mut session).unstaged, 0);
}

#[test]
fn a_file_that_comes_and_goes_is_counted_and_not_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/tracked", "1\n", 100);
    sandbox.git(&["add", "dir"]);
    let mut session = sandbox.session();
    let at_rest = counts(&mut session);
    assert_eq!((at_rest.staged, at_rest.untracked), (1, 0));
    let new = Path::new("dir/new");
    for _ in 0..3 {
        sandbox.write(new.to_str().unwrap(), "", 0);
        assert_eq!(counts(&mut session).untracked, 1);
        std::fs::remove_file(sandbox.0.path().join(new)).unwrap();
        assert_eq!(counts(&mut session).untracked, 0);
    }
    sandbox.write("dir/.gitignore", "new*\n", 100);
    sandbox.write("dir/new", "", 100);
    assert_eq!(counts(&mut session).untracked, 1);
    sandbox.write("dir/.gitignore", "nothing\n", 90);
    assert_eq!(counts(&mut session).untracked, 2);
}
