//! File systems mounted while the daemon runs, and full disks.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Instant;

use vigil_testkit::sandbox::{git_is_at_least, skip_test};

use super::namespaces::{
    DiskOfUnknownKind, HangingDisk, is_in_namespaces, run_in_namespaces, run_with_fuse,
};
use super::sandbox::{RunningDaemon, Sandbox, TIME_LIMIT, VIGIL};

impl Sandbox {
    fn run_script(&self, script: &str) {
        let output = self.command("sh", "", &["-ec", script]).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
    }

    /// Unmounts `place`, where the daemon may just be looking ahead.
    fn unmount(&self, place: &str) {
        let tries = format!("for _ in $(seq 200); do umount {place} && exit; done; exit 1");
        self.run_script(&tries);
    }
}

#[test]
fn what_is_mounted_and_unmounted_is_seen() {
    run_in_namespaces("mounts::mounting", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn mounting() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    sandbox.write("else/other", "another one\n");
    sandbox.write("else/deep/new", "");
    sandbox.write("work/dir/sub/new", "");
    let mut serving = sandbox.serve();
    let same = || {
        sandbox.assert_answered_as_by_git("work");
        sandbox.assert_answered_as_by_git("work/dir");
    };
    same();
    for (mount, place) in [
        ("mount --bind else work/dir", "work/dir"),
        ("mount --bind else/deep work/dir/sub", "work/dir/sub"),
        ("mount -t tmpfs none work/dir", "work/dir"),
        ("mount --bind else/other work/file", "work/file"),
        ("mount --bind work/dir work/dir", "work/dir"),
    ] {
        sandbox.run_script(mount);
        same();
        sandbox.write(
            "else/other",
            &format!("written by its other name {mount}\n"),
        );
        sandbox.write("else/deep/newer", "");
        same();
        sandbox.write("work/dir/sub/newest", "");
        same();
        sandbox.run_script("rm -r else/deep/newer work/dir/sub/newest");
        same();
        sandbox.unmount(place);
        same();
    }
    // A folder takes the place of the one that was mounted: the table of mounts is the same as before.
    sandbox.run_script("mkdir -p above/place; mount --bind above/place work/dir/sub");
    same();
    sandbox.run_script(
        "tries=0; until umount work/dir/sub; do tries=$((tries + 1)); [ $tries -lt 200 ]; done
         mv above gone; mkdir -p above/place; touch above/place/file
         mount --bind above/place work/dir/sub",
    );
    same();
    sandbox.unmount("work/dir/sub");
    same();
    // Writes to a file that is mounted on another one.
    sandbox.run_script(
        "cp work/file else/other; echo nothing >else/patterns; cp else/patterns work/.gitignore",
    );
    sandbox.run_script(
        "mount --bind else/other work/file; mount --bind else/patterns work/.gitignore",
    );
    same();
    sandbox.run_script("echo more >>else/other");
    same();
    sandbox.run_script("echo new >else/patterns; touch work/new");
    same();
    sandbox.run_script("echo other >else/patterns");
    same();
    sandbox.unmount("work/file");
    sandbox.unmount("work/.gitignore");
    sandbox.run_script("rm work/new");
    same();
    // The same with one of the repository's own files.
    let mut shell = sandbox.shell();
    let mut same_prompt = || {
        for _ in 0..3 {
            let answer = shell.ask(&sandbox, "work");
            assert_eq!(answer, sandbox.shell_without_daemon().ask(&sandbox, "work"));
        }
    };
    same_prompt();
    sandbox.write("else/head", "ref: refs/heads/one\n");
    sandbox.run_script("mount --bind else/head work/.git/HEAD");
    same_prompt();
    sandbox.write("else/head", "ref: refs/heads/two\n");
    same_prompt();
    sandbox.unmount("work/.git/HEAD");
    same_prompt();
    // A folder that is visible twice.
    sandbox.run_script("mount --bind work else");
    same();
    sandbox.write("else/new", "");
    sandbox.write("else/file", "by its other name\n");
    same();
    sandbox.assert_answered_as_by_git("else");
    sandbox.unmount("else");
    same();
    assert!(serving.is_running());
}

#[test]
fn a_disk_with_a_repository_can_be_taken_away() {
    run_in_namespaces("mounts::taking_away", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn taking_away() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.run_script("mkdir disk && mount -t tmpfs none disk");
    sandbox.make_repository("disk/work", &[]);
    let has_reftables = git_is_at_least("git", 45);
    if has_reftables {
        sandbox.make_repository("disk/tables", &["--ref-format=reftable"]);
    }
    // Enough for a file of references to be mapped instead of read.
    let name = |number: u32| format!("create refs/tags/one-of-many-tags-{number} HEAD\n");
    sandbox.write("names", &(0..4000).map(name).collect::<String>());
    sandbox.run_script(
        "for repository in disk/*; do
            (cd $repository && git update-ref --stdin <../../names && git gc -q) || exit
        done",
    );
    let mut serving = sandbox.serve();
    let mut shell = sandbox.shell();
    let mut same = || {
        sandbox.assert_answered_as_by_git("disk/work");
        shell.ask(&sandbox, "disk/work");
        if has_reftables {
            sandbox.assert_answered_as_by_git("disk/tables");
            shell.ask(&sandbox, "disk/tables");
        }
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
    sandbox.run_script("mount -t tmpfs none disk");
    sandbox.make_repository("disk/work", &[]);
    sandbox.assert_answered_as_by_git("disk/work");
    assert!(serving.is_running());
}

#[test]
fn a_disk_mounted_over_a_working_copy_of_mercurial_can_be_taken_away() {
    run_in_namespaces("mounts::over_mercurial", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn over_mercurial() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::new();
    if sandbox
        .command("hg", "", &["init", "work"])
        .output()
        .is_err()
    {
        return skip_test("over_mercurial", "Mercurial is not installed");
    }
    // Enough for the dirstate to be mapped instead of read.
    sandbox.run_script(
        "echo recorded >work/file
        for number in $(seq 1000); do : >work/one-of-many-files-with-a-name-that-is-not-short-$number; done
        hg -R work commit -qAm one -u somebody",
    );
    let mut serving = sandbox.serve();
    let answers = || sandbox.question_counts().0;
    let ask = || {
        let before = answers();
        let answer = sandbox.vigil("work", &["hg", "status"]).stdout;
        assert_eq!(answers(), before + 1);
        String::from_utf8(answer).unwrap()
    };
    assert_eq!(ask(), "");
    sandbox.run_script("cp -a work copy; mount -t tmpfs none work; cp -a copy/. work");
    sandbox.run_script("hg -R work status");
    assert_eq!(ask(), "");
    sandbox.write("work/new", "");
    assert_eq!(ask(), "? new\n");
    // Work that follows an answer may still be in progress, but not for long.
    let mut unmount = sandbox.command("umount", "", &["work"]);
    assert!((0..1000).any(|_| unmount.status().unwrap().success()));
    assert_eq!(ask(), "");
    assert!(serving.is_running());
}

#[test]
fn where_the_disk_is_full_the_answers_are_right() {
    run_in_namespaces("mounts::full_disk", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn full_disk() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.run_script("mkdir work && mount -t tmpfs -o size=4m none work");
    sandbox.make_repository("work", &[]);
    for number in 0..300 {
        sandbox.write(
            &format!("work/many/{}/file{number}", number % 30),
            "recorded\n",
        );
    }
    sandbox.git_in("work", &["add", "."]);
    sandbox.git_in("work", &["commit", "-qm", "many"]);
    let fill = || {
        sandbox
            .run_script("cat /dev/zero >work/.git/filler 2>/dev/null || test -s work/.git/filler")
    };
    fill();
    let mut serving = sandbox.serve();
    for round in 0..3 {
        sandbox.assert_answered_as_by_git("work");
        sandbox.run_script(&format!(
            "rm work/many/{round}/file{round} && touch work/many/1/file1"
        ));
        fill();
        sandbox.assert_answered_as_by_git("work");
        sandbox.run_script(&format!("mv work/many/{} work/moved{round}", 10 + round));
        sandbox.assert_answered_as_by_git("work");
    }
    // There is space again, and what was left half-written does no harm.
    sandbox.run_script("rm work/.git/filler");
    for round in 0..3 {
        sandbox.write(&format!("work/new{round}"), "");
        sandbox.assert_answered_as_by_git("work");
    }
    assert!(serving.is_running());
    assert!(sandbox.question_counts().0 > 10);
}

#[test]
fn where_there_is_no_room_for_a_socket_the_answers_are_right() {
    run_in_namespaces("mounts::full_runtime_folder", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn full_runtime_folder() {
    if !is_in_namespaces() {
        return;
    }
    // Inodes for just the folder, and for one file or two more.
    for inodes in [1, 2, 3] {
        let sandbox = Sandbox::with_repository();
        let mount = format!("mount -t tmpfs -o mode=700,nr_inodes={inodes} none run");
        sandbox.run_script(&format!("mkdir run && {mount}"));
        let mut command: Command = sandbox.command(VIGIL, "", &["daemon", "run"]);
        command.stderr(Stdio::null());
        let serving = RunningDaemon::try_start(command);
        assert_eq!(serving.is_some(), inodes == 3, "{inodes}");
        for name in ["new", "newer"] {
            sandbox.write(&format!("work/{name}"), "");
            sandbox.assert_answered_as_by_git("work");
            let answer = sandbox.shell().ask(&sandbox, "work");
            assert_eq!(answer, sandbox.shell_without_daemon().ask(&sandbox, "work"));
        }
        drop(serving);
        sandbox.vigil_daemon(&["stop"]);
        sandbox.run_script("umount run");
    }
}

#[test]
fn a_daemon_whose_folder_is_hidden_by_a_mount_ends_at_once() {
    run_in_namespaces("mounts::hidden_runtime_folder", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn hidden_runtime_folder() {
    if !is_in_namespaces() {
        return;
    }
    for (first, hide) in [
        ("mount -t tmpfs -o mode=700 none run", "umount -l run"),
        ("true", "mount -t tmpfs -o mode=700 none run"),
    ] {
        let sandbox = Sandbox::with_repository();
        sandbox.run_script(&format!("mkdir -m 700 run && {first}"));
        let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
        // The daemon's first check of its own would come long after this test.
        command.env("VIGIL_DAEMON_IDLE_S", "10000000");
        let mut serving = RunningDaemon::start(command);
        sandbox.run_script("mkdir else && mount -t tmpfs none else && umount else");
        sandbox.assert_answered_as_by_git("work");
        assert!(serving.is_running());
        sandbox.run_script(hide);
        assert_eq!(serving.wait().code(), Some(0), "{hide}");
        sandbox.assert_answered_as_by_git("work");
    }
}

#[test]
fn a_fuse_folder_whose_server_is_gone_hides_nothing_else() {
    run_with_fuse("mounts::gone_server");
}

#[test]
#[ignore = "run by the test above"]
fn gone_server() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    let mut serving = sandbox.serve();
    for folder in ["dir", "new"] {
        sandbox.write(&format!("work/{folder}/other"), "changed\n");
        sandbox.assert_answered_as_by_git("work");
        // The process that would serve this file system ends with the shell.
        let options = "fd=3,rootmode=40000,user_id=0,group_id=0";
        let mount = format!("mount -i -t fuse -o {options} none work/{folder}");
        sandbox.run_script(&format!("exec 3<>/dev/fuse; {mount}"));
        assert!(std::fs::read_dir(sandbox.path(&format!("work/{folder}"))).is_err());
        sandbox.write(&format!("work/beside-{folder}"), "");
        sandbox.write("work/file", folder);
        sandbox.assert_answered_as_by_git("work");
        sandbox.run_script(&format!("umount work/{folder}"));
        sandbox.assert_answered_as_by_git("work");
    }
    assert!(serving.is_running());
}

#[test]
fn a_disk_that_does_not_say_what_it_is_keeps_nobody_elsewhere_waiting() {
    run_with_fuse("mounts::beside_a_disk_of_unknown_kind");
}

#[test]
#[ignore = "run by the test above"]
fn beside_a_disk_of_unknown_kind() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    sandbox.make_repository("hangs", &[]);
    std::fs::create_dir(sandbox.path("hangs/empty")).unwrap();
    let _serving = sandbox.serve();
    for folder in ["work", "hangs"] {
        sandbox.assert_answered_as_by_git(folder);
    }
    let disk = DiskOfUnknownKind::mount(&sandbox.path("hangs/empty"));
    let mut waiting = sandbox
        .command(VIGIL, "hangs", &["status"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    disk.wait_until_asked(TIME_LIMIT);
    // The daemon counts what it watches for this.
    sandbox.daemon_status();
    sandbox.assert_answered_as_by_git("work");
    drop(disk);
    waiting.wait().unwrap();
}

#[test]
fn many_gits_that_wait_for_a_disk_leave_room_for_others() {
    run_with_fuse("mounts::beside_many_gits_that_wait");
}

#[test]
#[ignore = "run by the test above"]
fn beside_many_gits_that_wait() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    sandbox.make_repository("hangs", &[]);
    // Only the working tree is on the disk that hangs: git comes to the socket.
    std::fs::rename(sandbox.path("hangs/.git"), sandbox.path("store")).unwrap();
    sandbox.write("hangs/.git", "gitdir: ../store\n");
    let _serving = sandbox.serve();
    let started = sandbox.vigil("hangs", &["fsmonitor", "start"]);
    assert!(started.status.success(), "{started:?}");
    sandbox.assert_answered_as_by_git("work");
    let _disk = HangingDisk::mount(&sandbox, "hangs");
    let socket = sandbox.path("store/fsmonitor--daemon.ipc");
    let gits = std::iter::repeat_with(|| {
        let mut git = UnixStream::connect(&socket).unwrap();
        git.write_all(b"0010builtin:fake0000").unwrap();
        git
    });
    // More than the daemon has threads.
    let _gits: Vec<_> = gits.take(100).collect();
    let (answered, declined) = sandbox.question_counts();
    sandbox.assert_answered_as_by_git("work");
    let (answered_after, _) = sandbox.question_counts();
    assert!(answered_after > answered, "{declined} declined");
}

#[test]
fn beside_a_disk_that_hangs_idle_sessions_are_dropped() {
    run_with_fuse("mounts::idle_beside_a_disk_that_hangs");
}

#[test]
#[ignore = "run by the test above"]
fn idle_beside_a_disk_that_hangs() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    for folder in ["hangs", "watched"] {
        sandbox.make_repository(folder, &[]);
    }
    let mut command = sandbox.command(VIGIL, "", &["daemon", "run"]);
    command.env("VIGIL_DAEMON_IDLE_S", "1");
    let _serving = RunningDaemon::start(command);
    for folder in ["work", "hangs"] {
        sandbox.assert_answered_as_by_git(folder);
    }
    // While somebody waits for news, the daemon does not end.
    let _watching = sandbox.watch("watched", &[]);
    let _disk = HangingDisk::mount(&sandbox, "hangs");
    let work = sandbox.path("work");
    let is_kept = || {
        let described = sandbox.daemon_status();
        let mut all = described["repositories"].as_array().unwrap().iter();
        all.any(|one| one["path"].as_str() == work.to_str())
    };
    let start = Instant::now();
    while is_kept() {
        assert!(start.elapsed() < TIME_LIMIT);
    }
}

#[test]
fn below_another_mount_of_the_root_the_answers_are_right() {
    run_in_namespaces("mounts::other_root", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn other_root() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.assert_answered_as_by_git("work");
    // The root is the same directory by both mounts, and so are the folder and the repository, but one lies below that differs.
    // It is not mounted in the sandbox, which would be removed with all that is in it.
    sandbox.run_script("mount --rbind / /mnt; mount -t tmpfs none \"/mnt$PWD/work/dir\"");
    let status_by = |program: &str| {
        let work = sandbox.path("work");
        let script = "cd \"$0\" && exec \"$1\" status -uall --porcelain";
        let script = ["--root=/mnt", "sh", "-c", script];
        let mut command = sandbox.command("unshare", "", &script);
        let output = command.arg(work).arg(program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let answer = status_by(VIGIL);
    assert!(answer.contains(" D dir/"), "{answer}");
    assert_eq!(answer, status_by("git"));
    sandbox.assert_answered_as_by_git("work");
}

#[test]
fn answers_do_not_need_proc() {
    run_in_namespaces("mounts::without_proc", &["--mount"]);
}

#[test]
#[ignore = "run by the test above"]
fn without_proc() {
    if !is_in_namespaces() {
        return;
    }
    let sandbox = Sandbox::with_repository();
    let serving = sandbox.serve();
    sandbox.assert_answered_as_by_git("work");
    sandbox.run_script("mount -t tmpfs none /proc");
    for name in ["work/new", "work/newer"] {
        sandbox.write(name, "");
        sandbox.assert_answered_as_by_git("work");
    }
    // So does a shell's own process.
    let answer = sandbox.shell_without_daemon().ask(&sandbox, "work");
    assert!(answer.contains("work"), "{answer}");
    drop(serving);
    let (code, message) = sandbox.vigil_daemon(&["start"]);
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("cannot run /proc/self/exe"), "{message}");
    let installed = sandbox.vigil("work", &["fsmonitor", "install", "--hook"]);
    let message = String::from_utf8(installed.stderr).unwrap();
    assert_eq!(
        message,
        "error: cannot tell where this program is: No such file or directory\n"
    );
    sandbox.assert_answered_as_by_git("work");
}
