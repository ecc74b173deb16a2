//! Directories and repositories that appear, disappear, loop, deny access and overflow.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::ByteSlice;
use vigil_testkit::process::copy_program;
use vigil_testkit::sandbox::skip_test;

use super::daemon::{Gitstatusd, VIGIL};
use super::sandbox::Sandbox;

#[test]
fn directories_that_do_not_exist_have_no_repository() {
    let sandbox = Sandbox::with_repository();
    symlink("loop", sandbox.path("loop")).unwrap();
    symlink("b", sandbox.path("a")).unwrap();
    symlink("a", sandbox.path("b")).unwrap();
    symlink("work", sandbox.path("link")).unwrap();
    let mut daemon = sandbox.gitstatusd(&[]);
    for name in [
        "loop",
        "loop/x",
        "a/b",
        "nowhere",
        "nowhere/work",
        "work/nowhere",
        "work\0",
    ] {
        assert!(!daemon.ask(sandbox.path(name)).is_repository(), "{name}");
    }
    let long = "d/".repeat(4096);
    assert!(!daemon.ask(sandbox.path(long)).is_repository());
    for name in ["work", "link", "work/../work", "./work//", "link/."] {
        let answer = daemon.ask(sandbox.path(name));
        assert_eq!(answer.field(3), sandbox.top().as_os_str().as_bytes());
    }
}

#[test]
fn a_forbidden_directory_has_no_repository() {
    if !rustix::process::geteuid().is_root() {
        return skip_test(
            "a_forbidden_directory_has_no_repository",
            "only root may run a program as another user",
        );
    }
    const NOBODY: u32 = 65534;
    let sandbox = Sandbox::with_repository();
    let mode = |name: &str, mode| {
        fs::set_permissions(sandbox.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    copy_program(Path::new(VIGIL), &sandbox.path("vigil")).unwrap();
    mode("..", 0o755);
    mode("", 0o755);
    fs::write(sandbox.user_config(), "[safe]\n\tdirectory = *\n").unwrap();
    fs::create_dir(sandbox.top().join("dir")).unwrap();
    let mut command = sandbox.isolated(sandbox.path("vigil"), b"");
    command
        .arg("gitstatusd")
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/");
    let mut daemon = Gitstatusd::start(command);
    let dir = sandbox.top().join("dir");
    assert!(daemon.ask(&dir).is_repository());
    mode("work", 0o700);
    assert!(!daemon.ask(&dir).is_repository());
    assert!(!daemon.ask(sandbox.top()).is_repository());
    mode("work", 0o755);
    assert!(daemon.ask(&dir).is_repository());
    // If another user owns the repository and nothing says that it is safe, it counts as none.
    fs::write(sandbox.user_config(), "").unwrap();
    assert!(!daemon.ask(&dir).is_repository());
    fs::write(sandbox.user_config(), "[safe]\n\tdirectory = *\n").unwrap();
    mode("work/dir", 0o000);
    assert!(!daemon.ask(&dir).is_repository());
    mode("work/.git/index", 0o000);
    assert!(!daemon.ask(sandbox.top()).is_repository());
    mode("work/.git/index", 0o644);
    mode("work/.git/objects", 0o000);
    assert!(!daemon.ask(sandbox.top()).is_repository());
    mode("work/.git/objects", 0o755);
    assert!(daemon.ask(sandbox.top()).is_repository());
}

#[test]
fn a_bad_setting_costs_the_answers_of_its_repository_and_no_more() {
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.without_limits();
    let sound = daemon.ask(sandbox.top());
    assert!(sound.is_repository());
    for key in ["vigil.stateFile", "vigil.threads", "core.fileMode"] {
        let config = sandbox.top().join(".git/config");
        let before = fs::read_to_string(&config).unwrap();
        let (section, name) = key.split_once('.').unwrap();
        fs::write(&config, format!("{before}[{section}]\n\t{name} = banana\n")).unwrap();
        assert!(!daemon.ask(sandbox.top()).is_repository(), "{key}");
        fs::write(&config, before).unwrap();
        assert_eq!(daemon.ask(sandbox.top()), sound, "{key}");
    }
}

#[test]
fn a_repository_may_vanish_and_another_take_its_place() {
    let sandbox = Sandbox::with_repository();
    let mut daemon = sandbox.without_limits();
    let first = daemon.ask(sandbox.top());
    fs::rename(sandbox.top(), sandbox.path("away")).unwrap();
    assert!(!daemon.ask(sandbox.top()).is_repository());
    fs::create_dir(sandbox.top()).unwrap();
    assert!(!daemon.ask(sandbox.top()).is_repository());
    sandbox.repository("work");
    sandbox.git(["commit", "-q", "--allow-empty", "-m", "another"]);
    let second = daemon.ask(sandbox.top());
    assert_ne!(second, first);
    assert_eq!(second.field(29), b"another");
    fs::rename(sandbox.top(), sandbox.path("later")).unwrap();
    fs::rename(sandbox.path("away"), sandbox.top()).unwrap();
    assert_eq!(daemon.ask(sandbox.top()), first);
    // A repository in between, and a parent that is renamed.
    let below = sandbox.top().join("dir/sub");
    fs::create_dir_all(&below).unwrap();
    let top = |daemon: &mut Gitstatusd| daemon.ask(&below).field(3).to_vec();
    assert_eq!(top(&mut daemon), sandbox.top().as_os_str().as_bytes());
    let nested = sandbox.top().join("dir");
    sandbox.git_in(&nested, ["init", "-q"]);
    assert_eq!(top(&mut daemon), nested.as_os_str().as_bytes());
    // The state of the last answer may still be being written there.
    while let Err(error) = fs::remove_dir_all(nested.join(".git")) {
        assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty);
    }
    assert_eq!(top(&mut daemon), sandbox.top().as_os_str().as_bytes());
    fs::rename(sandbox.top(), sandbox.path("real")).unwrap();
    symlink("real", sandbox.top()).unwrap();
    assert_eq!(
        top(&mut daemon),
        sandbox.path("real").as_os_str().as_bytes()
    );
}

#[test]
fn a_tree_that_keeps_changing_is_answered_for_each_time() {
    let sandbox = Sandbox::with_repository();
    for n in 0..300 {
        sandbox.write(format!("dir{}/{n}", n % 10), "recorded\n");
    }
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "many"]);
    let mut daemon = sandbox.gitstatusd(&["-s-1", "-u-1", "-d-1", "-t4", "-vFATAL"]);
    let quiet = daemon.ask(sandbox.top());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let [work, away] = ["work", "away"].map(|name| sandbox.path(name));
            for n in 0.. {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                match n % 3 {
                    0 => {
                        fs::rename(&work, &away).unwrap();
                        fs::rename(&away, &work).unwrap();
                    }
                    1 => {
                        let [dir, other] = ["dir3", "other"].map(|name| work.join(name));
                        fs::rename(&dir, &other).unwrap();
                        fs::rename(&other, &dir).unwrap();
                    }
                    _ => {
                        let [index, other] = [".git/index", "i"].map(|name| work.join(name));
                        fs::rename(&index, &other).unwrap();
                        fs::rename(&other, &index).unwrap();
                    }
                }
            }
        });
        for _ in 0..300 {
            daemon.ask(sandbox.top()).is_repository();
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(daemon.ask(sandbox.top()), quiet);
    let (status, messages) = daemon.end();
    assert!(status.success());
    assert_eq!(messages, "");
}

#[test]
fn names_may_hold_anything() {
    let sandbox = Sandbox::with_repository();
    let names = [
        &b"new\nline"[..],
        b"\xff\xfe",
        b"\x1b[31m",
        b"\xc3\xa9",
        b"a\x1fb\x1ec",
        b" ",
        b"-",
    ];
    for name in names {
        sandbox.write(OsStr::from_bytes(name), "x");
    }
    let mut daemon = sandbox.without_limits();
    assert_eq!(daemon.ask(sandbox.top()).counts(), [0, 0, 0, names.len()]);
    sandbox.git(["add", "-A"]);
    assert_eq!(daemon.ask(sandbox.top()).counts(), [names.len(), 0, 0, 0]);
    for name in names {
        sandbox.write(OsStr::from_bytes(name), "longer");
    }
    assert_eq!(
        daemon.ask(sandbox.top()).counts(),
        [names.len(), names.len(), 0, 0]
    );
}

#[test]
fn links_are_not_followed_within_a_working_tree() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("dir/file", "recorded\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "dir"]);
    let dir = sandbox.top().join("dir");
    symlink(".", dir.join("loop")).unwrap();
    symlink("..", sandbox.top().join("up")).unwrap();
    symlink("y", sandbox.top().join("x")).unwrap();
    symlink("x", sandbox.top().join("y")).unwrap();
    let mut daemon = sandbox.without_limits();
    assert_eq!(daemon.ask(sandbox.top()).counts(), [0, 0, 0, 4]);
    fs::rename(&dir, sandbox.top().join("moved")).unwrap();
    symlink("moved", &dir).unwrap();
    assert_eq!(daemon.ask(sandbox.top()).counts(), [0, 1, 0, 5]);
}

#[test]
fn a_directory_of_many_entries_is_counted() {
    const FILES: usize = 200_000;
    let sandbox = Sandbox::with_repository();
    let dir = sandbox.top().join("many");
    fs::create_dir(&dir).unwrap();
    // Links to one file are just as many entries, and cheaper.
    const LINKS: usize = 30_000;
    let mut first = dir.join("0");
    for n in 0..FILES {
        let path = dir.join(n.to_string());
        if n % LINKS == 0 {
            fs::write(&path, "").unwrap();
            first = path;
        } else {
            fs::hard_link(&first, path).unwrap();
        }
    }
    assert_eq!(sandbox.without_limits().ask(sandbox.top()).number(14), 1);
    let mut each = sandbox.gitstatusd(&["-d-1", "-e"]);
    for _ in 0..2 {
        assert_eq!(each.ask(&dir).number(14), FILES);
    }
    assert_eq!(sandbox.gitstatusd(&["-e"]).ask(&dir).number(14), 1);
}

#[test]
fn a_deep_path_is_walked() {
    let sandbox = Sandbox::with_repository();
    let mut dir = sandbox.top();
    while dir.as_os_str().len() < 4000 {
        dir.push("d".repeat(80));
    }
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("f"), "").unwrap();
    let mut daemon = sandbox.without_limits();
    for _ in 0..2 {
        assert_eq!(daemon.ask(&dir).counts(), [0, 0, 0, 1]);
    }
    sandbox.git(["add", "-A"]);
    assert_eq!(daemon.ask(&dir).counts(), [1, 0, 0, 0]);
    fs::write(dir.join("f"), "changed").unwrap();
    fs::write(dir.join("g"), "").unwrap();
    assert_eq!(daemon.ask(&dir).counts(), [1, 1, 0, 1]);
}

/// git never writes such paths. Their files are looked for, but no directory is entered through them.
#[test]
fn an_index_with_names_that_no_directory_has_is_answered() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("a/b", "other\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "second"]);
    let place = sandbox.top().join(".git/index");
    let id = sandbox.git(["rev-parse", "HEAD:a/b"]);
    let sound = fs::read(&place).unwrap();
    let limits = [["-s", "-1"], ["-s", "1"]];
    // Each with a path of the same length that git accepts.
    for (path, other, is_there) in [
        ("a//b", "a/!b", true),
        ("a/./b", "a/!/b", true),
        ("/none", "!none", false),
        ("////", "!!!!", false),
        (".././a", "!!!!!!", false),
    ] {
        let cache = format!("100644,{id},{other}");
        sandbox.git(["update-index", "--add", "--cacheinfo", &cache]);
        let bytes = fs::read(&place).unwrap();
        let odd = bytes.replace(other, path);
        assert_ne!(odd, bytes);
        for limit in limits {
            fs::write(&place, &sound).unwrap();
            let mut daemon = sandbox.without_limits();
            assert_eq!(daemon.ask(sandbox.top()).counts(), [0, 0, 0, 0]);
            daemon.end();
            for is_new in [true, false, true] {
                if is_new {
                    daemon = sandbox.gitstatusd(&limit);
                }
                fs::write(&place, &odd).unwrap();
                let unstaged = usize::from(!is_there);
                assert_eq!(
                    daemon.ask(sandbox.top()).counts(),
                    [1, unstaged, 0, 0],
                    "{path}"
                );
            }
            daemon.end();
        }
        fs::write(&place, &sound).unwrap();
    }
}
