//! Installing and uninstalling the monitor, and what is said of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::fsmonitor::install_monitor;
use crate::sandbox::{Sandbox, VIGIL};

#[test]
fn the_status_of_the_monitor_says_whether_git_asks() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let status = || {
        let output = sandbox.vigil("work", &["fsmonitor", "status"]);
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = status();
    assert_eq!(code, Some(1));
    assert!(text.starts_with("git does not ask: "), "{text}");
    let started = sandbox.vigil("work", &["fsmonitor", "start"]);
    assert!(started.status.success(), "{started:?}");
    // Whoever started it, that is not git's monitor.
    let doctor = sandbox.vigil("work", &["doctor"]);
    let text = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        text.contains("not running: Vigil's daemon serves its socket"),
        "{text}"
    );
    install_monitor(&sandbox, false);
    let (code, text) = status();
    assert_eq!(code, Some(0));
    assert!(text.starts_with("git asks by the hook "), "{text}");
    sandbox.git_in("work", &["config", "vigil.daemon", "false"]);
    let (code, text) = status();
    assert_eq!(code, Some(1));
    assert!(text.contains(", but vigil.daemon is false"), "{text}");
    sandbox.git_in("work", &["config", "--unset", "vigil.daemon"]);
    install_monitor(&sandbox, true);
    let started = sandbox.vigil("work", &["fsmonitor", "start"]);
    assert!(started.status.success());
    let (code, text) = status();
    assert_eq!(code, Some(0));
    assert!(text.starts_with("serves "), "{text}");
}

#[test]
fn only_one_way_to_ask_can_be_installed() {
    let sandbox = Sandbox::with_repository();
    let both = ["fsmonitor", "install", "--hook", "--socket"];
    let output = sandbox.vigil("work", &both);
    let said = String::from_utf8(output.stderr).unwrap();
    let complaint = "error: options '--hook' and '--socket' cannot be used together\nusage: ";
    assert_eq!(output.status.code(), Some(129));
    assert!(said.starts_with(complaint), "{said}");
}

#[test]
fn without_a_repository_or_a_daemon_the_reason_is_given() {
    let sandbox = Sandbox::with_repository();
    let run = |folder: &str, command: &str| {
        let output = sandbox.vigil(folder, &["fsmonitor", command]);
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said, output.stdout)
    };
    for command in ["start", "stop", "status", "query"] {
        let (code, said, answer) = run("", command);
        assert_eq!((code, answer), (Some(128), Vec::new()), "{said}");
        assert!(said.starts_with("fatal: not a git repository "), "{said}");
    }
    let mut command = sandbox.command(VIGIL, "work", &["fsmonitor", "query"]);
    let output = command.env("VIGIL_NO_DAEMON", "1").output().unwrap();
    assert_eq!(output.stdout, b"vigil:none.0.0:0\n/\n");
    let reason = "error: VIGIL_NO_DAEMON is set, so no daemon is asked\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), reason);
    assert_eq!(output.status.code(), Some(1));
    let reason = "error: no daemon is running: one is started for the next question\n";
    let (code, said, answer) = run("work", "query");
    assert_eq!((code, said.as_str()), (Some(1), reason));
    assert_eq!(answer, b"vigil:none.0.0:0\n/\n");
    while sandbox.vigil_daemon(&["status"]).0 != Some(0) {}
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
}

#[test]
fn a_hook_whose_folder_was_deleted_is_told_of_and_uninstalled() {
    let sandbox = Sandbox::with_repository();
    sandbox.git_in("work", &["config", "core.fsmonitor", "./before"]);
    let run = |command: &str| {
        let output = sandbox.vigil("work", &["fsmonitor", command]);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    for is_installed_again in [false, true] {
        install_monitor(&sandbox, false);
        fs::remove_dir_all(sandbox.path("work/.git/vigil")).unwrap();
        let (code, text) = run("status");
        assert_eq!(code, Some(1));
        assert!(text.contains(", which is gone: "), "{text}");
        let doctor = sandbox.vigil("work", &["doctor"]);
        let text = String::from_utf8(doctor.stdout).unwrap();
        assert!(text.contains("Vigil's hook is gone"), "{text}");
        if is_installed_again {
            install_monitor(&sandbox, false);
            assert_eq!(run("status").0, Some(0));
        }
        let (code, text) = run("uninstall");
        assert_eq!(code, Some(0));
        assert!(text.contains("unset core.fsmonitor\n"), "{text}");
    }
    assert_eq!(run("uninstall").0, Some(1));
}

#[test]
fn a_configuration_that_cannot_be_written_is_complained_about_once() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("work/.git/config.lock", "");
    let output = sandbox.vigil("work", &["fsmonitor", "install", "--hook"]);
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        printed,
        "error: could not lock config file .git/config: File exists\n"
    );
    // Nothing is left that would look like an installation.
    assert!(!sandbox.path("work/.git/vigil").exists());
}

#[test]
fn a_damaged_record_is_not_said_to_be_written() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("work/.git/vigil/fsmonitor", "x");
    for command in ["install", "uninstall"] {
        let output = sandbox.vigil("work", &["fsmonitor", command]);
        let folder = sandbox.path("work/.git/vigil");
        let expected = format!(
            "error: cannot read the former configuration in {}: damaged\n",
            folder.display()
        );
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    }
}

#[test]
fn a_git_that_cannot_ask_at_the_socket_is_named_or_protected() {
    let sandbox = Sandbox::with_repository();
    let program = sandbox.path("old/git");
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin",
        sandbox.path("old").display()
    );
    let install = |version: &str| {
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = version ] && echo git version {version} && exit\n\
             PATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n"
        );
        sandbox.write("old/git", &script);
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = sandbox.command(VIGIL, "work", &["fsmonitor", "install", "--socket"]);
        command.env("PATH", &path).output().unwrap()
    };
    let refused = install("2.25.1");
    let expected = format!(
        "error: {} is older than 2.26, and cannot ask a monitor reliably\n",
        program.display()
    );
    assert_eq!(String::from_utf8(refused.stderr).unwrap(), expected);
    let installed = String::from_utf8(install("2.40.1").stdout).unwrap();
    let expected = format!(
        "git 2.40 at {}, which does not ask at the socket\n",
        program.display()
    );
    assert!(installed.starts_with(&expected), "{installed}");
    assert_eq!(sandbox.vigil_daemon(&["stop"]).0, Some(0));
}

#[test]
fn no_hook_is_installed_that_others_of_a_group_could_not_run() {
    let sandbox = Sandbox::with_repository();
    sandbox.git_in("work", &["init", "-q", "--shared=group"]);
    let config = fs::read(sandbox.path("work/.git/config")).unwrap();
    let output = sandbox.vigil("work", &["fsmonitor", "install", "--hook"]);
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.ends_with(": use --global\n"), "{printed}");
    assert_eq!(fs::read(sandbox.path("work/.git/config")).unwrap(), config);
    assert!(!sandbox.path("work/.git/vigil").exists());
    let output = sandbox.vigil("work", &["fsmonitor", "install", "--hook", "--global"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn uninstalling_restores_the_earlier_configuration() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.git_in("work", &["config", "core.fsmonitor", "./old hook"]);
    let config = || fs::read_to_string(sandbox.path("work/.git/config")).unwrap();
    let before = config();
    for is_socket in [false, true] {
        install_monitor(&sandbox, is_socket);
        assert!(config().contains("untrackedCache = true"), "{}", config());
        // A second installation does not change what is restored.
        install_monitor(&sandbox, is_socket);
        let output = sandbox.vigil("work", &["fsmonitor", "uninstall"]);
        assert!(output.status.success(), "{output:?}");
        let values = |config: &str| -> Vec<String> {
            let lines = config.lines().filter(|line| line.contains('='));
            let mut lines: Vec<String> = lines.map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(values(&config()), values(&before));
        assert!(
            !sandbox
                .path("work/.git/vigil/vigil-fsmonitor-hook")
                .is_symlink()
        );
        assert!(!sandbox.path("work/.git/fsmonitor--daemon.ipc").exists());
    }
    let again = sandbox.vigil("work", &["fsmonitor", "uninstall"]);
    assert_eq!(again.status.code(), Some(1));
    // A value that somebody else has set since stays.
    install_monitor(&sandbox, false);
    sandbox.git_in("work", &["config", "core.fsmonitor", "mine"]);
    let output = sandbox.vigil("work", &["fsmonitor", "uninstall"]);
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("left core.fsmonitor")
    );
    assert!(config().contains("mine"));
    assert!(!config().contains("untrackedCache"));
}

#[test]
fn where_there_is_no_git_nothing_is_configured_and_the_reason_said() {
    let sandbox = Sandbox::with_repository();
    let told = |arguments: &[&str]| {
        let mut command = sandbox.command(VIGIL, "work", &[&["fsmonitor"], arguments].concat());
        let output = command.env("PATH", sandbox.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(told(&["install"]), "error: there is no git\n");
    let cannot = "error: cannot run git: No such file or directory\n";
    assert_eq!(told(&["uninstall"]), cannot);
    // It went after it was configured.
    install_monitor(&sandbox, false);
    assert_eq!(told(&["uninstall"]), cannot);
}

#[test]
fn installing_follows_no_link_that_came_with_the_repository() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("own/rc", "precious\n");
    let install = || sandbox.vigil("work", &["fsmonitor", "install", "--hook"]);
    let folder = sandbox.path("work/.git/vigil");
    let untouched = || {
        assert_eq!(fs::read(sandbox.path("own/rc")).unwrap(), b"precious\n");
        let names = fs::read_dir(sandbox.path("own")).unwrap();
        assert_eq!(names.count(), 1);
    };
    symlink(sandbox.path("own"), &folder).unwrap();
    assert_eq!(install().status.code(), Some(1));
    untouched();
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    symlink(sandbox.path("own/rc"), folder.join("fsmonitor.new")).unwrap();
    assert_eq!(install().status.code(), Some(0));
    untouched();
    let uninstalled = sandbox.vigil("work", &["fsmonitor", "uninstall"]);
    assert_eq!(uninstalled.status.code(), Some(0));
}
