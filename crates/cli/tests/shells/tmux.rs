//! tmux's status line, set as the documentation tells users to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use vigil_testkit::sandbox::Sandbox;

use crate::shell::{Session, Shell, VIGIL};

/// The texts that tell them.
const TEXTS: [&str; 2] = [
    include_str!("../../../../docs/prompt.md"),
    include_str!("../../pages/prompt.txt"),
];

/// Directories whose names would have an effect if they became part of a command or a format.
const DIRECTORIES: [&str; 4] = [
    "a\ntouch\tpwned\nb",
    "'$(touch pwned)`touch pwned`\"",
    "#(touch pwned)#{pane_id}%H",
    "tab\tand \\",
];

#[test]
fn a_repository_is_shown_and_no_name_is_executed() {
    for text in TEXTS {
        let line = &text[text.find("set -g status-right ").unwrap()..];
        let line = &line[..line.find(")'").unwrap() + 2];
        let sandbox = Sandbox::empty();
        let root = sandbox.root();
        fs::create_dir(root.join("bin")).unwrap();
        symlink(VIGIL, root.join("bin/vigil")).unwrap();
        let configuration = format!("set -g status-interval 1\n{line}\n");
        fs::write(root.join("tmux.conf"), configuration).unwrap();
        for (number, name) in DIRECTORIES.iter().enumerate() {
            let folder = root.join(name);
            fs::create_dir(&folder).unwrap();
            sandbox.git_in(&folder, ["init", "-q"]);
            // Two hashes are written as six, and shown as two.
            let head = format!("ref: refs/heads/##branch{number}\n");
            fs::write(folder.join(".git/HEAD"), head).unwrap();
        }
        let rc = "PATH=$PWD/bin:$PATH HOME=$PWD\n";
        let _ended = TmuxServer(root.join("socket"));
        let mut session = Session::start(&sandbox, Shell::Bash, rc);
        session.send("tmux -S socket -f tmux.conf new-session bash --norc");
        for (number, name) in DIRECTORIES.iter().enumerate() {
            session.send(&format!("cd \"$(printf '%b' '{}')\"", escaped(name)));
            session.wait_for(&format!("##branch{number}"));
            session.send("cd \"$OLDPWD\"");
        }
        session.send("tmux -S socket kill-server");
        session.wait_for("exited");
        session.send("exit");
        session.end();
        let is_left = |folder: &Path| folder.join("pwned").exists();
        assert!(!is_left(root), "{line}");
        for name in DIRECTORIES {
            assert!(!is_left(&root.join(name)), "{line}: {name:?}");
        }
    }
}

/// A tmux on this socket, which ends with the test.
struct TmuxServer(PathBuf);

impl Drop for TmuxServer {
    fn drop(&mut self) {
        // It has usually ended already.
        let mut tmux = Command::new("tmux");
        let _ = tmux.arg("-S").arg(&self.0).arg("kill-server").output();
    }
}

/// `name` in the notation of `printf %b`, so that it contains no key of a terminal.
fn escaped(name: &str) -> String {
    let octal = name.bytes().map(|byte| format!("\\0{byte:03o}"));
    octal.collect()
}
