//! File systems mounted while the daemon runs, and full disks.

use std::process::Command;

use super::namespaces::{is_inside, run, skipped};
use super::sandbox::{Sandbox, Serving, VIGIL};

impl Sandbox {
    fn sh(&self, script: &str) {
        let output = self.command("sh", "", &["-ec", script]).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
    }
}

#[test]
fn what_is_mounted_and_unmounted_is_seen() {
    run("mounts::mounting", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn mounting() {
    if !is_inside() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    sandbox.write("else/other", "another one\n");
    sandbox.write("else/deep/new", "");
    sandbox.write("work/dir/sub/new", "");
    let mut serving = sandbox.serve();
    let same = || {
        sandbox.is_answered_as_by_git("work");
        sandbox.is_answered_as_by_git("work/dir");
    };
    same();
    for (mount, unmount) in [
        ("mount --bind else work/dir", "umount work/dir"),
        ("mount --bind else/deep work/dir/sub", "umount work/dir/sub"),
        ("mount -t tmpfs none work/dir", "umount work/dir"),
        ("mount --bind else/other work/file", "umount work/file"),
        ("mount --bind work/dir work/dir", "umount work/dir"),
    ] {
        sandbox.sh(mount);
        same();
        sandbox.write(
            "else/other",
            &format!("written by its other name {mount}\n"),
        );
        sandbox.write("else/deep/newer", "");
        same();
        sandbox.write("work/dir/sub/newest", "");
        same();
        sandbox.sh("rm -r else/deep/newer work/dir/sub/newest");
        same();
        sandbox.sh(unmount);
        same();
    }
    // Writes to a file that is mounted on another one.
    sandbox.sh(
        "cp work/file else/other; echo nothing >else/patterns; cp else/patterns work/.gitignore",
    );
    sandbox.sh("mount --bind else/other work/file; mount --bind else/patterns work/.gitignore");
    same();
    sandbox.sh("echo more >>else/other");
    same();
    sandbox.sh("echo new >else/patterns; touch work/new");
    same();
    sandbox.sh("echo other >else/patterns");
    same();
    sandbox.sh("umount work/file work/.gitignore; rm work/new");
    same();
    // The same with one of the repository's own files.
    let mut shell = sandbox.shell();
    let mut same_prompt = || {
        for _ in 0..3 {
            let answer = shell.ask(&sandbox, "work");
            assert_eq!(answer, sandbox.lone_shell().ask(&sandbox, "work"));
        }
    };
    same_prompt();
    sandbox.write("else/head", "ref: refs/heads/one\n");
    sandbox.sh("mount --bind else/head work/.git/HEAD");
    same_prompt();
    sandbox.write("else/head", "ref: refs/heads/two\n");
    same_prompt();
    sandbox.sh("umount work/.git/HEAD");
    same_prompt();
    // A folder that is visible twice.
    sandbox.sh("mount --bind work else");
    same();
    sandbox.write("else/new", "");
    sandbox.write("else/file", "by its other name\n");
    same();
    sandbox.is_answered_as_by_git("else");
    sandbox.sh("umount else");
    same();
    assert!(serving.lives());
}

#[test]
fn a_disk_with_a_repository_can_be_taken_away() {
    run("mounts::taking_away", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn taking_away() {
    if !is_inside() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.sh("mkdir disk && mount -t tmpfs none disk");
    sandbox.repository("disk/work", &[]);
    // Enough for the file of packed references to be mapped instead of read.
    let name = |number: u32| format!("create refs/tags/one-of-many-tags-{number} HEAD\n");
    sandbox.write("names", &(0..1500).map(name).collect::<String>());
    sandbox.sh("cd disk/work && git update-ref --stdin <../../names && git gc -q");
    let mut serving = sandbox.serve();
    let mut shell = sandbox.shell();
    let mut same = || {
        sandbox.is_answered_as_by_git("disk/work");
        shell.ask(&sandbox, "disk/work");
    };
    for round in 0..3 {
        sandbox.write(&format!("disk/work/dir/new{round}"), "");
        same();
        sandbox.git_in("disk/work", &["add", "."]);
        same();
        sandbox.git_in("disk/work", &["commit", "-qm", "another"]);
        sandbox.git_in("disk/work", &["gc", "-q"]);
        same();
    }
    sandbox.git_in("disk/work", &["mv", "dir", "moved"]);
    same();
    // Work that follows an answer may still be in progress, but not for long.
    let mut unmount = sandbox.command("umount", "", &["disk"]);
    assert!((0..1000).any(|_| unmount.status().unwrap().success()));
    assert_eq!(sandbox.vigil("disk", &["status"]).status.code(), Some(128));
    assert!(!shell.ask(&sandbox, "disk/work").contains("main"));
    // Another one takes its place.
    sandbox.sh("mount -t tmpfs none disk");
    sandbox.repository("disk/work", &[]);
    sandbox.is_answered_as_by_git("disk/work");
    assert!(serving.lives());
}

#[test]
fn where_the_disk_is_full_the_answers_are_right() {
    run("mounts::full_disk", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn full_disk() {
    if !is_inside() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.sh("mkdir work && mount -t tmpfs -o size=4m none work");
    sandbox.repository("work", &[]);
    for number in 0..300 {
        sandbox.write(
            &format!("work/many/{}/file{number}", number % 30),
            "recorded\n",
        );
    }
    sandbox.git_in("work", &["add", "."]);
    sandbox.git_in("work", &["commit", "-qm", "many"]);
    let fill =
        || sandbox.sh("cat /dev/zero >work/.git/filler 2>/dev/null || test -s work/.git/filler");
    fill();
    let mut serving = sandbox.serve();
    for round in 0..3 {
        sandbox.is_answered_as_by_git("work");
        sandbox.sh(&format!(
            "rm work/many/{round}/file{round} && touch work/many/1/file1"
        ));
        fill();
        sandbox.is_answered_as_by_git("work");
        sandbox.sh(&format!("mv work/many/{} work/moved{round}", 10 + round));
        sandbox.is_answered_as_by_git("work");
    }
    // There is space again, and what was left half-written does no harm.
    sandbox.sh("rm work/.git/filler");
    for round in 0..3 {
        sandbox.write(&format!("work/new{round}"), "");
        sandbox.is_answered_as_by_git("work");
    }
    assert!(serving.lives());
    assert!(sandbox.counts().0 > 10);
}

#[test]
fn where_there_is_no_room_for_a_socket_the_answers_are_right() {
    run("mounts::full_runtime_folder", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn full_runtime_folder() {
    if !is_inside() {
        return;
    }
    // Inodes for just the folder, and for one file or two more.
    for inodes in [1, 2, 3] {
        let sandbox = Sandbox::with_repository();
        let mount = format!("mount -t tmpfs -o mode=700,nr_inodes={inodes} none run");
        sandbox.sh(&format!("mkdir run && {mount}"));
        let mut command: Command = sandbox.command(VIGIL, "", &["daemon", "run"]);
        command.stderr(std::process::Stdio::null());
        let serving = Serving::try_start(command);
        assert_eq!(serving.is_some(), inodes == 3, "{inodes}");
        for name in ["new", "newer"] {
            sandbox.write(&format!("work/{name}"), "");
            sandbox.is_answered_as_by_git("work");
            let answer = sandbox.shell().ask(&sandbox, "work");
            assert_eq!(answer, sandbox.lone_shell().ask(&sandbox, "work"));
        }
        drop(serving);
        sandbox.daemon(&["stop"]);
        sandbox.sh("umount run");
    }
}

#[test]
fn one_whose_folder_is_hidden_makes_way_at_once() {
    run("mounts::hidden_runtime_folder", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn hidden_runtime_folder() {
    if !is_inside() {
        return;
    }
    for (first, hide) in [
        ("mount -t tmpfs -o mode=700 none run", "umount -l run"),
        ("true", "mount -t tmpfs -o mode=700 none run"),
    ] {
        let sandbox = Sandbox::with_repository();
        sandbox.sh(&format!("mkdir -m 700 run && {first}"));
        let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
        // The daemon's first check of its own would come long after this test.
        command.env("VIGIL_DAEMON_IDLE_S", "10000000");
        let mut serving = Serving::start(command);
        sandbox.sh("mkdir else && mount -t tmpfs none else && umount else");
        sandbox.is_answered_as_by_git("work");
        assert!(serving.lives());
        sandbox.sh(hide);
        assert_eq!(serving.wait().code(), Some(0), "{hide}");
        sandbox.is_answered_as_by_git("work");
    }
}

#[test]
fn a_folder_whose_server_is_gone_hides_nothing_else() {
    if !std::path::Path::new("/dev/fuse").exists() {
        return skipped("a folder whose server is gone", "there is no /dev/fuse");
    }
    run("mounts::gone_server", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn gone_server() {
    if !is_inside() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    let mut serving = sandbox.serve();
    for folder in ["dir", "new"] {
        sandbox.write(&format!("work/{folder}/other"), "changed\n");
        sandbox.is_answered_as_by_git("work");
        // The process that would serve this file system ends with the shell.
        let options = "fd=3,rootmode=40000,user_id=0,group_id=0";
        let mount = format!("mount -i -t fuse -o {options} none work/{folder}");
        sandbox.sh(&format!("exec 3<>/dev/fuse; {mount}"));
        assert!(std::fs::read_dir(sandbox.path(&format!("work/{folder}"))).is_err());
        sandbox.write(&format!("work/beside-{folder}"), "");
        sandbox.write("work/file", folder);
        sandbox.is_answered_as_by_git("work");
        sandbox.sh(&format!("umount work/{folder}"));
        sandbox.is_answered_as_by_git("work");
    }
    assert!(serving.lives());
}
