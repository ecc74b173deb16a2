//! Settings, variables and set-ups that make no sense.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use vigil_testkit::privileges::without_privileges;
use vigil_testkit::sandbox::{TextOutput, run_with_input};

use super::sandbox::{DESCRIBE_WITH_MARKS, STATUS_COMMANDS, Sandbox, VIGIL, fatal_output};

#[test]
fn a_bad_length_of_abbreviations_ends_each_command() {
    for value in ["bad", "3", "-1", "true", "no", "auto", "41"] {
        let sandbox = Sandbox::new();
        sandbox.git(["config", "core.abbrev", value]);
        for arguments in [
            &["cat-file", "-t", "HEAD"][..],
            &["cat-file", "--batch-all-objects", "--batch-check"],
            &["describe"],
            &["status", "-sb"],
        ] {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same_name("HEAD");
        sandbox.assert_same_name("nonsense");
    }
}

#[test]
fn a_branch_in_reftables_includes_its_configuration() {
    let sandbox = Sandbox::with_ref_format("reftable");
    sandbox.write_in_git_dir("included", "[status]\n\tshort = true\n\tbranch = true\n");
    sandbox.git(["config", "includeIf.onbranch:topic.path", "included"]);
    sandbox.assert_same(&["status"], "");
    sandbox.git(["checkout", "-q", "-b", "topic"]);
    sandbox.assert_same(&["status"], "");
    sandbox.git(["symbolic-ref", "refs/heads/link", "refs/heads/topic"]);
    sandbox.git(["symbolic-ref", "HEAD", "refs/heads/link"]);
    sandbox.assert_same(&["status"], "");
    sandbox.git(["checkout", "-q", "--detach"]);
    sandbox.assert_same(&["status"], "");
}

#[test]
fn nonsensical_variables_are_refused_as_by_git() {
    let sandbox = Sandbox::new();
    for (name, value) in [
        ("GIT_OPTIONAL_LOCKS", "bad"),
        ("GIT_OPTIONAL_LOCKS", ""),
        ("GIT_OPTIONAL_LOCKS", "2"),
        ("GIT_ADVICE", "bad"),
        ("GIT_INDEX_FILE", "."),
        ("GIT_ATTR_NOSYSTEM", " 1"),
        ("GIT_ATTR_NOSYSTEM", "1k"),
        ("GIT_ATTR_NOSYSTEM", "0x0"),
        ("GIT_NO_LAZY_FETCH", "bad"),
        ("GIT_NO_LAZY_FETCH", ""),
        ("GIT_IMPLICIT_WORK_TREE", "bad"),
    ] {
        for options in [&[][..], &["--git-dir=.git"], &["--work-tree=."]] {
            let printed = |program: &str| {
                let arguments = [options, &["status"]].concat();
                let mut command = sandbox.command(program, "", arguments);
                command.env(name, value);
                TextOutput::from(run_with_input(command, b""))
            };
            assert_eq!(printed(VIGIL), printed("git"), "{options:?} {name}={value}");
        }
    }
}

#[test]
fn a_bare_repository_with_a_working_tree_is_read_but_has_no_status() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.worktree", ".."]);
    sandbox.git(["config", "--file=.git/config", "core.bare", "true"]);
    for arguments in [
        &["cat-file", "-t", "HEAD"][..],
        &["describe"],
        &["status"],
        &["--work-tree=.", "status", "-s"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

#[test]
fn what_is_called_bare_has_no_working_tree_whatever_is_configured() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.worktree", ".."]);
    let expected = fatal_output("fatal: this operation must be run in a work tree\n");
    for arguments in [
        &["--git-dir=.git", "--bare", "status"][..],
        &["--git-dir=.git", "--bare", "-C", ".", "status"],
    ] {
        assert_eq!(sandbox.vigil_output(arguments, ""), expected);
    }
    let described = sandbox.vigil_output(&["--git-dir=.git", "--bare", "describe"], "");
    assert_eq!((described.code, described.stderr.as_str()), (0, ""));
}

#[test]
fn an_empty_path_is_not_a_working_tree() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "core.worktree", ""]);
    for arguments in [
        &["status", "-s"][..],
        &["describe"],
        &["cat-file", "-t", "HEAD"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

/// git reads this configuration before it runs itself in the submodule.
#[test]
fn the_configuration_of_a_submodule_is_named_by_its_whole_path() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "m"]);
    sandbox.git(["-C", "m", "commit", "-q", "--allow-empty", "-m", "x"]);
    sandbox.git(["add", "m"]);
    for text in ["[bad", "[core]\nbare = x"] {
        sandbox.write("m/.git/config", text);
        for arguments in STATUS_COMMANDS.iter().chain(&[DESCRIBE_WITH_MARKS[0]]) {
            sandbox.assert_same(arguments, text);
        }
    }
}

/// Values at which git fails, although none of them would affect its answer.
const ODD_VALUES: [&str; 19] = [
    "[core]\nwarnAmbiguousRefs = x",
    "[core]\nsharedRepository = x",
    "[core]\nsharedRepository = 0400",
    "[core]\nsharedRepository = 0660",
    "[core]\nsharedRepository = 2",
    "[core]\nsharedRepository = everybody",
    "[core]\nsharedRepository = no",
    "[core]\nsharedRepository",
    "[core]\nhooksPath = ~nobody-here/x",
    "[core]\nhooksPath",
    "[core]\nmaxTreeDepth = -1",
    "[color \"advice\"]\nhint = x",
    "[color \"advice\"]\nreset",
    "[color \"advice\"]\nother = x",
    "[filter \"f\"]\nclean",
    "[filter \"f\"]\nsmudge",
    "[filter \"f\"]\nprocess",
    "[filter \"f\"]\nrequired = x",
    "[filter]\nclean",
];

#[test]
fn bad_values_end_the_commands_that_look_them_up() {
    const COMMANDS: [&[&str]; 5] = [
        &["status", "-s"],
        &["describe"],
        &["describe", "--dirty"],
        &["cat-file", "--textconv", "HEAD:a"],
        &["cat-file", "--filters", "HEAD:a"],
    ];
    let sandbox = Sandbox::new();
    for text in ODD_VALUES {
        sandbox.write_in_git_dir("config", text);
        for arguments in COMMANDS {
            sandbox.assert_same(arguments, text);
        }
    }
    // Filters matter once contents are read.
    sandbox.write("a", "b");
    for text in ODD_VALUES {
        sandbox.write_in_git_dir("config", text);
        for arguments in &COMMANDS[..3] {
            sandbox.assert_same(arguments, text);
        }
    }
    sandbox.write_in_git_dir("config", "[core]\nsharedRepository = x");
    sandbox.assert_same(&["--no-optional-locks", "status", "-s"], "");
    sandbox.assert_same(&["--no-optional-locks", "describe", "--dirty"], "");
    sandbox.write_in_git_dir("config", "[core]\nwarnAmbiguousRefs = x");
    sandbox.git(["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    sandbox.assert_same(&["status", "-s"], "");
}

#[test]
fn a_bad_value_for_advice_ends_each_status() {
    let mut sandbox = Sandbox::new();
    sandbox.0.set_variable("GIT_ADVICE", "x");
    for arguments in [
        &["status", "-s"][..],
        &["status", "-s", "-uno"],
        &["status", "--porcelain=v2"],
        &["status"],
        &["describe", "--dirty"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

#[test]
fn conditions_below_a_home_that_is_not_there() {
    let mut sandbox = Sandbox::new();
    sandbox.write("folder/file", "");
    sandbox.write_in_git_dir("included", "[status]\n\tshort = true\n");
    let top = sandbox.top();
    let top = top.to_str().unwrap().to_owned();
    let homes = ["", "/", "/no", "/no/such", "rel", "rel/x", "folder", "./"].map(str::to_owned);
    for home in homes
        .into_iter()
        .chain([top.clone(), format!("{top}/x/..")])
    {
        sandbox.0.set_variable("HOME", home.as_bytes());
        for condition in ["gitdir:~/", "gitdir:~", "gitdir/i:~/**", "gitdir:~root/"] {
            let text = format!("[includeIf \"{condition}\"]\n\tpath = included\n");
            sandbox.write_in_git_dir("config", &text);
            sandbox.assert_same(&["status"], &format!("{home} {condition}"));
            sandbox.assert_same(&["-C", "folder", "status"], &format!("{home} {condition}"));
        }
    }
}

/// git includes no file for an empty name, however deep it is.
#[test]
fn a_circle_of_includes_beside_an_empty_name() {
    let sandbox = Sandbox::new();
    for text in [
        "[include]\n\tpath =\n\tpath = config\n",
        "[include]\n\tpath = \"\"\n\tpath = ./\n",
    ] {
        sandbox.write_in_git_dir("config", text);
        for folder in [".", ".git"] {
            sandbox.assert_same(&["-C", folder, "describe", "--always"], text);
        }
    }
}

#[test]
fn fatal_values_in_gitmodules_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "-q", "m"]);
    sandbox.git(["-C", "m", "commit", "-q", "--allow-empty", "-m", "x"]);
    sandbox.git(["add", "m"]);
    for text in [
        "path",
        "url",
        "branch",
        "ignore",
        "update",
        "shallow",
        "shallow=x",
        "update=x",
        "update=!x",
        "update=rebase",
        "update=Rebase",
        "fetchRecurseSubmodules",
        "fetchRecurseSubmodules=x",
        "fetchRecurseSubmodules=on-demand",
        "ignore=x",
        "unknown",
    ] {
        for submodule in ["m", "..", ""] {
            let text = format!("[submodule \"{submodule}\"]\npath = m\n{text}\n");
            sandbox.write(".gitmodules", &text);
            for arguments in [&["status", "-s"][..], &["describe", "--dirty"]] {
                sandbox.assert_same(arguments, &text);
            }
        }
    }
}

#[test]
fn errors_name_files_as_they_were_given() {
    let mut sandbox = Sandbox::new();
    sandbox.write_in_git_dir("config", "[core]\nabbrev = 1\n");
    for folder in [".git", ".git/refs"] {
        sandbox.assert_same(&["-C", folder, "describe"], "");
        sandbox.assert_same(&["-C", folder, "cat-file", "-t", "HEAD"], "");
    }
    sandbox.write_in_git_dir("config", "");
    sandbox.write("folder/file", "");
    let folder = sandbox.top().join("folder");
    for index in [folder.as_path(), Path::new("folder"), Path::new(".")] {
        sandbox
            .0
            .set_variable("GIT_INDEX_FILE", index.as_os_str().as_encoded_bytes());
        for arguments in [&["status", "-s"][..], &["cat-file", "-t", ":a"]] {
            sandbox.assert_same(arguments, "");
        }
    }
}

#[test]
fn an_empty_pathspec_is_refused_before_settings_are() {
    let mut sandbox = Sandbox::new();
    sandbox.0.set_variable("GIT_NOGLOB_PATHSPECS", "x");
    for pathspecs in [&[""][..], &["a", ""], &["a"]] {
        sandbox.assert_same(&[&["status", "-s", "--"], pathspecs].concat(), "");
    }
}

#[test]
fn a_configuration_that_cannot_be_opened_is_warned_of_as_often_as_it_is_tried() {
    let sandbox = Sandbox::new();
    let config = sandbox.git_dir().join("config");
    let compare = || {
        for arguments in [
            &["status", "-s"][..],
            &["describe"],
            &["describe", "--dirty"],
            &["cat-file", "-t", "HEAD"],
            &["-C", ".git", "describe"],
        ] {
            sandbox.assert_same(arguments, "");
        }
    };
    std::fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink("config", &config).unwrap();
    compare();
    std::fs::remove_file(&config).unwrap();
    std::fs::create_dir(&config).unwrap();
    compare();
}

#[test]
fn a_folder_in_place_of_other_configuration_is_warned_of_as_often_as_it_is_tried() {
    for variable in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        let mut sandbox = Sandbox::new();
        let folder = sandbox.path("folder");
        std::fs::create_dir(&folder).unwrap();
        sandbox.0.set_variable("GIT_CONFIG_NOSYSTEM", "0");
        sandbox.0.set_variable(variable, folder.to_str().unwrap());
        for arguments in [
            &["status", "-s"][..],
            &["describe"],
            &["cat-file", "-t", "HEAD"],
        ] {
            sandbox.assert_same(arguments, "");
        }
    }
    let sandbox = Sandbox::new();
    sandbox.git(["config", "extensions.worktreeConfig", "true"]);
    std::fs::create_dir(sandbox.git_dir().join("config.worktree")).unwrap();
    sandbox.assert_same(&["status", "-s"], "");
    sandbox.assert_same(&["describe"], "");
}

#[test]
fn an_excludes_file_that_cannot_be_used_is_named_as_configured() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    std::os::unix::fs::symlink("loop", sandbox.path("loop")).unwrap();
    let absolute = sandbox.path("loop");
    for name in ["folder", "./folder/../loop", absolute.to_str().unwrap()] {
        sandbox.git(["config", "core.excludesFile", name]);
        for arguments in [&["status", "-s"][..], &["-C", "folder", "status", "-s"]] {
            sandbox.assert_same(arguments, "");
        }
    }
}

#[test]
fn a_repository_that_is_named_is_found_from_below_an_unsearchable_folder() {
    let sandbox = Sandbox::new();
    let Some(beginning) = without_privileges() else {
        return;
    };
    sandbox.write("locked/in/file", "x");
    sandbox.git(["add", "."]);
    let (git_dir, top) = (sandbox.git_dir(), sandbox.top());
    let by = |program: &str, options: &[&str], question: &[&str]| {
        let script = "cd locked/in && chmod 000 .. && exec \"$@\"";
        let first = ["-c", script, "sh"];
        let arguments = [&first, beginning, &[program], options, question].concat();
        let output = TextOutput::from(sandbox.run("sh", &arguments, ""));
        let mode = Permissions::from_mode(0o755);
        std::fs::set_permissions(sandbox.path("locked"), mode).unwrap();
        output
    };
    let git_dir = format!("--git-dir={}", git_dir.display());
    let top = format!("--work-tree={}", top.display());
    for options in [
        &[git_dir.as_str(), &top][..],
        &["--git-dir=../../.git", "--work-tree=../.."],
    ] {
        for question in [
            &["cat-file", "-t", "HEAD"][..],
            &["describe", "--dirty"],
            &["status", "-s"],
        ] {
            let [ours, theirs] = [VIGIL, "git"].map(|program| by(program, options, question));
            assert_eq!(ours, theirs, "{options:?} {question:?}");
        }
    }
}
