//! The places of a repository and its working tree, and index extensions that other programs left.

use bstr::BString;

use super::operation::table;
use crate::action::{Action, GitRun};
use crate::random::maker::Maker;
use crate::random::names::join;

table! {
    "name another working tree", 1, |m| {
        let tree = m.rng.pick(&["{ROOT}/work", "..", "../dir", "{ROOT}/work/sub", "../../missing"]);
        m.git(&["config", "core.worktree", tree]);
    };
    "name no other working tree", 3, |m| unset(m, "core.worktree");
    "make the repository bare", 1, |m| m.git(&["config", "core.bare", "true"]);
    "make the repository not bare", 3, |m| {
        let file = format!("{}/config", m.common_directory);
        m.git_in(".", &["config", "-f", &file, "core.bare", "false"]);
    };
    "keep settings per worktree", 1, |m| {
        m.git(&["config", "extensions.worktreeConfig", "true"]);
        let (name, value) = super::config::setting(m);
        m.git(&["config", "--worktree", name, value]);
    };
    "leave a monitor in the index", 2, |m| {
        let path = BString::from("monitor");
        m.act(Action::write(path.clone(), "#!/bin/sh\n[ $1 = 2 ] && printf 'token\\0'\nprintf '/\\0'\n"));
        m.act(Action::SetMode { path, mode: 0o755 });
        m.git(&["config", "core.fsmonitor", "{ROOT}/monitor"]);
        m.git(&["update-index", "--fsmonitor"]);
        m.git(&["status"]);
    };
    "forget the monitor but for the index", 2, |m| unset(m, "core.fsmonitor");
    "forget the monitor", 2, |m| {
        unset(m, "core.fsmonitor");
        m.git(&["update-index", "--no-fsmonitor"]);
    };
    "write the index in blocks", 2, |m| {
        let run = GitRun {
            arguments: ["update-index", "--force-write-index"].map(Into::into).to_vec(),
            variables: vec![("GIT_TEST_INDEX_THREADS".into(), "3".into())],
            ..GitRun::default()
        };
        m.git_run(run);
    };
    "write another index", 2, |m| {
        let tree = m.rng.pick(&["HEAD", "HEAD~1", "main"]);
        for arguments in [&["read-tree", tree][..], &["update-index", "-q", "--refresh"]] {
            let run = GitRun {
                arguments: arguments.iter().map(|word| BString::from(*word)).collect(),
                variables: vec![("GIT_INDEX_FILE".into(), "{ROOT}/other-index".into())],
                ..GitRun::default()
            };
            m.git_run(run);
        }
    };
    "move the git directory away", 1, |m| {
        if m.git_directory == "work/.git" {
            m.git(&["init", "-q", "--separate-git-dir", "{ROOT}/separate.git"]);
            m.act(Action::Directory { path: "separate.git".into() });
            m.git_directory = "separate.git";
            m.common_directory = "separate.git";
        }
    };
    "graft a commit", 1, |m| {
        let parents = m.rng.pick(&["HEAD", "HEAD HEAD~2", "HEAD HEAD~1 HEAD~3"]);
        let script = format!("alias.x=!git rev-parse {parents} | xargs > \"$(git rev-parse --git-common-dir)/info/grafts\"");
        m.git(&["-c", &script, "x"]);
    };
    "end grafting", 1, |m| m.act(Action::Remove { path: format!("{}/info/grafts", m.common_directory).into() });
    "replace a commit's parents", 1, |m| m.git(&["replace", "-f", "--graft", "HEAD", "HEAD~2"]);
    "end all replacing", 1, |m| m.git(&["-c", "alias.x=!git replace -l | xargs -r git replace -d", "x"]);
    "point a branch to another", 1, |m| {
        m.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
        m.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
    };
    "make a repository of another kind inside", 1, |m| {
        m.git_in(".", &["init", "-q", "--object-format=sha256", "work/nested"]);
        m.write(&join(b"nested", b"file"), "x\n");
        m.git_in("work/nested", &["add", "-A"]);
        m.git_in("work/nested", &["commit", "-q", "-m", "inside"]);
    };
    "record a repository inside", 1, |m| m.git(&["add", "-f", "nested"]);
}

fn unset(m: &mut Maker, name: &str) {
    let file = format!("{}/config", m.common_directory);
    m.git_in(".", &["config", "-f", &file, "--unset-all", name]);
}
