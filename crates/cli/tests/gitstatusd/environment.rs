//! The environment's variables. The process outlives the directory in which its shell was started.

use std::fs;
use std::path::Path;

use super::daemon::Gitstatusd;
use super::sandbox::Sandbox;

/// The process without limits and with some variables set.
fn with_variables(sandbox: &Sandbox, variables: &[(&str, &Path)]) -> Gitstatusd {
    let mut command = sandbox.gitstatusd_command(&["-s-1", "-u-1", "-c-1", "-d-1"]);
    command.envs(variables.iter().copied());
    Gitstatusd::start(command)
}

#[test]
fn variables_about_one_repository_are_ignored() {
    let sandbox = Sandbox::with_repository();
    let other = sandbox.repository("other");
    sandbox.write("untracked", "");
    let git_dir = sandbox.top().join(".git");
    let expected = sandbox.without_limits().ask(&other);
    assert_eq!(expected.counts(), [0; 4]);
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_GRAFT_FILE",
        "GIT_REPLACE_REF_BASE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_REFERENCE_BACKEND",
        "GIT_ATTR_SOURCE",
    ] {
        for value in [git_dir.as_path(), Path::new("0"), Path::new("")] {
            let mut daemon = with_variables(&sandbox, &[(name, value)]);
            assert_eq!(daemon.ask(&other), expected, "{name}={value:?}");
            assert!(
                !daemon.ask(sandbox.root()).is_repository(),
                "{name}={value:?}"
            );
        }
    }
}

#[test]
fn variables_about_the_user_are_used() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("untracked", "");
    let settings = sandbox.path("settings");
    fs::write(&settings, "[bash]\n\tshowUntrackedFiles = false\n").unwrap();
    let untracked = |variables: &[(&str, &Path)]| {
        with_variables(&sandbox, variables)
            .ask(sandbox.top())
            .number(14)
    };
    assert_eq!(untracked(&[]), 1);
    assert_eq!(untracked(&[("GIT_CONFIG_GLOBAL", &settings)]), 0);
    let off = [
        ("GIT_CONFIG_COUNT", Path::new("1")),
        ("GIT_CONFIG_KEY_0", Path::new("bash.showUntrackedFiles")),
        ("GIT_CONFIG_VALUE_0", Path::new("false")),
    ];
    assert_eq!(untracked(&off), 0);
    let home = sandbox.path("elsewhere");
    fs::create_dir(&home).unwrap();
    fs::copy(&settings, home.join(".gitconfig")).unwrap();
    assert_eq!(untracked(&[("HOME", &home)]), 0);

    let below = sandbox.top().join("dir");
    fs::create_dir(&below).unwrap();
    assert!(with_variables(&sandbox, &[]).ask(&below).is_repository());
    let ceiling = [("GIT_CEILING_DIRECTORIES", sandbox.top())];
    let ceiling = [(ceiling[0].0, ceiling[0].1.as_path())];
    assert!(
        !with_variables(&sandbox, &ceiling)
            .ask(&below)
            .is_repository()
    );
    assert!(
        with_variables(&sandbox, &ceiling)
            .ask(sandbox.top())
            .is_repository()
    );
}

#[test]
fn the_users_settings_are_read_again_when_they_change() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("untracked", "");
    let mut daemon = sandbox.without_limits();
    let mut untracked = || daemon.ask(sandbox.top()).number(14);
    assert_eq!(untracked(), 1);
    let settings = sandbox.user_config();
    for _ in 0..3 {
        fs::write(&settings, "[bash]\n\tshowUntrackedFiles = false\n").unwrap();
        assert_eq!(untracked(), 0);
        fs::write(
            &settings,
            "[bash]\n\tshowUntrackedFiles = trueX\n".replace("X", " "),
        )
        .unwrap();
        assert_eq!(untracked(), 1);
    }
    fs::remove_file(&settings).unwrap();
    assert_eq!(untracked(), 1);
}

#[test]
fn gitstatusd_does_not_need_the_directory_where_it_was_started() {
    let sandbox = Sandbox::with_repository();
    let gone = sandbox.path("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = sandbox.gitstatusd_command(&[]);
    command.current_dir(&gone);
    let mut daemon = Gitstatusd::start(command);
    assert!(daemon.ask(sandbox.top()).is_repository());
    fs::remove_dir(&gone).unwrap();
    assert!(daemon.ask(sandbox.top()).is_repository());
    assert!(!daemon.ask(&gone).is_repository());
}
