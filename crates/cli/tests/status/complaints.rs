//! Messages on standard error that accompany an answer.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use vigil_testkit::process::copy_program;
use vigil_testkit::sandbox::{TextOutput, git_is_at_least, skip_test};

use crate::sandbox::{Sandbox, VIGIL};

const GRAFTS: &str = "\
hint: Support for <GIT_DIR>/info/grafts is deprecated
hint: and will be removed in a future Git version.
hint:
hint: Please use \"git replace --convert-graft-file\"
hint: to convert the grafts into replace refs.
hint:
hint: Turn this message off by running
hint: \"git config set advice.graftFileDeprecated false\"
";

const SPARSE_INDEX: &str = "\
hint: The sparse index is expanding to a full index, a slow operation.
hint: Your working directory likely has contents that are outside of
hint: your sparse-checkout patterns. Use 'git sparse-checkout list' to
hint: see your sparse-checkout definition and compare it to your working
hint: directory contents. Cleaning up any merge conflicts or staged
hint: changes before running 'git sparse-checkout clean' or 'git
hint: sparse-checkout reapply' may assist in this cleanup.
";

const HOW_TO_STOP: &str =
    "hint: Disable this message with \"git config set advice.sparseIndexExpanded false\"\n";

/// Asserts that both begin their messages with the same line; the rest depends on git's version. Returns Vigil's.
fn assert_same_first_line(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let printed = |program| {
        let mut command = sandbox.command(program, sandbox.top(), arguments);
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let (ours, theirs) = (printed(VIGIL), printed("git"));
    let begins = |text: &str| text.lines().next().map(str::to_owned);
    assert_eq!(begins(&ours), begins(&theirs), "{arguments:?}");
    ours
}

#[test]
fn grafts_are_advised_against() {
    let sandbox = Sandbox::empty();
    sandbox.write(".git/info/grafts", "");
    assert_eq!(assert_same_first_line(&sandbox, &["status"]), "");
    for grafts in ["", "1\n"] {
        sandbox.write(".git/info/grafts", grafts);
        for file in ["", "a"] {
            if !file.is_empty() {
                sandbox.write(file, "1");
                sandbox.git(["add", file]);
                sandbox.write(file, "12");
            }
            for arguments in [&["status"][..], &["status", "-v"], &["status", "-vv"]] {
                sandbox.assert_same_as_git(arguments);
            }
        }
        sandbox.git(["rm", "-q", "-f", "a"]);
    }
    sandbox.write(".git/info/grafts", "");
    let sandbox = sandbox.with_commits();
    assert_eq!(assert_same_first_line(&sandbox, &["status"]), GRAFTS);
    assert_eq!(assert_same_first_line(&sandbox, &["status", "-s"]), GRAFTS);
    let key = "advice.graftFileDeprecated";
    let wanted = ["-c", &format!("{key}=true"), "status", "-s"];
    assert_eq!(assert_same_first_line(&sandbox, &wanted), GRAFTS);
    sandbox.git(["config", key, "false"]);
    assert_eq!(assert_same_first_line(&sandbox, &["status"]), "");

    let head = sandbox.id("HEAD");
    let grafts = format!("# comment\n\nbad {head}\n{head}\n{head}\n \n");
    sandbox.write(".git/info/grafts", &grafts);
    sandbox.assert_same_as_git(&["status", "-s"]);
}

#[test]
fn a_sparse_index_that_grows_is_advised_against() {
    let sandbox = Sandbox::with_history();
    sandbox.write("other/f", "f");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-q", "-m", "other"]);
    sandbox.git(["sparse-checkout", "set", "--cone", "--sparse-index", "dir"]);
    assert_eq!(assert_same_first_line(&sandbox, &["status", "-s"]), "");
    let both = [SPARSE_INDEX, HOW_TO_STOP].concat();
    let full = ["-c", "index.sparse=false", "--no-optional-locks", "status"];
    assert_eq!(assert_same_first_line(&sandbox, &full), both);
    sandbox.write("other/g", "g");
    let plain = ["--no-optional-locks", "status"];
    assert_eq!(assert_same_first_line(&sandbox, &plain), both);
    let wanted = [
        "-c",
        "advice.sparseIndexExpanded",
        "--no-optional-locks",
        "status",
    ];
    assert_eq!(assert_same_first_line(&sandbox, &wanted), SPARSE_INDEX);
    let unwanted = [
        "-c",
        "advice.sparseIndexExpanded=no",
        "--no-optional-locks",
        "status",
    ];
    assert_eq!(assert_same_first_line(&sandbox, &unwanted), "");
    let none = ["--no-advice", "--no-optional-locks", "status"];
    assert_eq!(assert_same_first_line(&sandbox, &none), "");
    let colored = [
        "-c",
        "color.advice=always",
        "-c",
        "color.advice.hint=blue",
        "--no-optional-locks",
        "status",
        "-s",
    ];
    let line =
        "\x1b[34mhint: The sparse index is expanding to a full index, a slow operation.\x1b[m";
    assert!(assert_same_first_line(&sandbox, &colored).starts_with(line));
}

#[test]
fn an_untracked_cache_from_another_place_is_not_used() {
    let sandbox = Sandbox::with_history();
    sandbox.git(["update-index", "--force-untracked-cache"]);
    sandbox.git(["status"]);
    sandbox.assert_same_as_git(&["--no-optional-locks", "status", "-s"]);
    let elsewhere = sandbox.top().with_file_name("elsewhere");
    fs::rename(sandbox.top(), &elsewhere).unwrap();
    for arguments in [
        &["status"][..],
        &["status", "-s", "-uall"],
        &["status", "-uno"],
        &["status", "--ignored"],
        &["status", "dir"],
        &["-c", "core.untrackedCache=keep", "status"],
        &["-c", "core.untrackedCache=true", "status"],
        &["-c", "core.untrackedCache=false", "status"],
        &["-c", "feature.manyFiles", "status"],
        &[
            "-c",
            "feature.manyFiles",
            "-c",
            "core.untrackedCache=keep",
            "status",
        ],
    ] {
        sandbox.assert_same_as_git_in(&elsewhere, &[&["--no-optional-locks"], arguments].concat());
    }
}

#[test]
fn a_warning_is_cut_and_cleaned_as_any_other_report() {
    let sandbox = Sandbox::with_history();
    // The path of the file is longer than the system accepts.
    let nest = r#"
        mkdir "$1" && cd "$1" || exit
        for depth in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
            mkdir "$2" && cd "$2" || exit
        done
        : >file
    "#;
    let name = "x".repeat(200);
    let mut command = sandbox.command(
        "bash",
        sandbox.top(),
        ["-c", nest, "bash", "d\u{1}\u{1b}\r", &name],
    );
    assert!(command.status().unwrap().success());
    sandbox.assert_same_as_git(&["status"]);
    sandbox.assert_same_as_git(&["status", "-s", "-uall"]);
}

#[test]
fn below_an_unlistable_folder_only_tracked_files_are_reported() {
    if !rustix::process::geteuid().is_root() {
        return skip_test(
            "below_an_unlistable_folder_only_tracked_files_are_reported",
            "only root may run a program as another user",
        );
    }
    const NOBODY: u32 = 65534;
    let sandbox = Sandbox::with_history();
    sandbox.write("far/deep/deeper/file", "tracked\n");
    sandbox.git(["add", "."]);
    for folder in ["", "far/", "far/deep/", "far/deep/deeper/", "dir/"] {
        sandbox.write(format!("{folder}new"), "");
        sandbox.write(format!("{folder}new.o"), "");
    }
    sandbox.write(".git/info/exclude", "*.o\n");
    let above = sandbox.top().with_file_name("");
    let vigil = above.join("vigil");
    copy_program(Path::new(VIGIL), &vigil).unwrap();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&above, 0o755);
    let same = |folder: &str, rights, command, arguments: &[&str]| {
        let printed = |program: &std::ffi::OsStr| {
            let options = ["-c", "safe.directory=*", "--no-optional-locks", command];
            let arguments = [&options, arguments].concat();
            let mut command = sandbox.command(program, sandbox.top(), arguments);
            let output = command.uid(NOBODY).gid(NOBODY).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            [output.stdout, output.stderr].map(|printed| String::from_utf8(printed).unwrap())
        };
        let (ours, theirs) = (printed(vigil.as_ref()), printed("git".as_ref()));
        assert_eq!(
            ours, theirs,
            "{folder:?} {rights:o} {command} {arguments:?}"
        );
    };
    for (folder, rights) in [
        ("", 0o711),
        ("far", 0o700),
        ("far", 0o711),
        ("far", 0o733),
        ("far/deep", 0o700),
        ("far/deep", 0o711),
        ("far/deep/deeper", 0o711),
        ("dir", 0o700),
    ] {
        mode(&sandbox.top().join(folder), rights);
        for arguments in [
            &["-s"][..],
            &["-s", "-uall"],
            &["-s", "-uno"],
            &["-s", "--ignored"],
            &["-s", "far"],
            &["-s", "far/"],
            &["-s", "far/deep"],
            &["-s", "far/deep/"],
            &["-s", "far/deep/new"],
            &["-s", "far/*"],
            &["-s", "dir/"],
        ] {
            same(folder, rights, "status", arguments);
        }
        // Files that cannot be looked at differ if HEAD has them.
        same(folder, rights, "describe", &["--always", "--dirty"]);
        same(folder, rights, "describe", &["--always", "--broken"]);
        mode(&sandbox.top().join(folder), 0o755);
    }
}

#[test]
fn a_configuration_that_cannot_be_read_though_its_mode_says_so_ends_the_run() {
    if !rustix::process::geteuid().is_root() {
        return skip_test(
            "a_configuration_that_cannot_be_read_though_its_mode_says_so_ends_the_run",
            "only root may run a program as another user",
        );
    }
    let nobody = Uid::from_raw(65534);
    let sandbox = Sandbox::with_history();
    let above = sandbox.top().with_file_name("");
    let vigil = above.join("vigil");
    copy_program(Path::new(VIGIL), &vigil).unwrap();
    fs::set_permissions(&above, fs::Permissions::from_mode(0o755)).unwrap();
    let own = fs::File::options()
        .create(true)
        .append(true)
        .open(sandbox.home().join(".gitconfig"));
    let printed = |program: &Path| {
        let options = ["-c", "safe.directory=*", "--no-optional-locks", "status"];
        let mut command = sandbox.command(program, sandbox.top(), options);
        // access(2) is about the real user, open(2) about the effective one.
        let run = || {
            set_thread_res_uid(Uid::ROOT, nobody, Uid::ROOT).unwrap();
            TextOutput::from(command.output().unwrap())
        };
        let output = std::thread::scope(|scope| scope.spawn(run).join().unwrap());
        let last = output.stderr.lines().last().map(ToOwned::to_owned);
        (output.code, output.stdout, last)
    };
    own.unwrap()
        .set_permissions(fs::Permissions::from_mode(0o600))
        .unwrap();
    let ours = printed(&vigil);
    assert_eq!(ours.0, 128, "{ours:?}");
    assert_eq!(ours, printed(Path::new("git")));
}

#[test]
fn a_working_directory_that_cannot_be_reached_is_named() {
    if !rustix::process::geteuid().is_root() {
        return skip_test(
            "a_working_directory_that_cannot_be_reached_is_named",
            "only root may run a program as another user",
        );
    }
    const NOBODY: u32 = 65534;
    let sandbox = Sandbox::with_history();
    let above = sandbox.top().with_file_name("");
    copy_program(Path::new(VIGIL), &sandbox.top().join("vigil")).unwrap();
    let mode = |mode| fs::set_permissions(&above, fs::Permissions::from_mode(mode)).unwrap();
    let printed = |program: &str| {
        mode(0o755);
        let script = r#"echo; read hidden; exec "$0" status"#;
        let mut command = sandbox.command("sh", sandbox.top(), ["-c", script, program]);
        let mut child = command
            .uid(NOBODY)
            .gid(NOBODY)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        mode(0o700);
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        TextOutput::from(child.wait_with_output().unwrap())
    };
    assert_eq!(printed("./vigil"), printed("git"));
}

#[test]
fn help_comes_after_a_look_for_the_repository() {
    let sandbox = Sandbox::empty();
    let set = |key: &str, value: &str| {
        let path = sandbox.top().join(".git/config");
        let config = fs::read_to_string(&path).unwrap();
        let (section, name) = key.split_once('.').unwrap();
        fs::write(&path, format!("{config}[{section}]\n\t{name} = {value}\n")).unwrap();
        config
    };
    let reset = |config: String| fs::write(sandbox.top().join(".git/config"), config).unwrap();
    for (key, value) in [("core.worktree", "../../missing"), ("core.bare", "maybe")] {
        let before = set(key, value);
        for command in ["status", "describe", "cat-file"] {
            sandbox.assert_same_as_git(&[command, "-h"]);
        }
        reset(before);
    }
    let code = |command| {
        let mut vigil = sandbox.command(VIGIL, sandbox.top(), [command, "-h"]);
        vigil.output().unwrap().status.code()
    };
    let before = set("core.repositoryFormatVersion", "99");
    for command in ["status", "describe", "cat-file"] {
        assert_eq!(code(command), Some(0), "{command}");
    }
    reset(before);
    set("core.abbrev", "nonsense");
    assert_eq!(code("status"), Some(0));
    for command in ["describe", "cat-file"] {
        sandbox.assert_same_as_git(&[command, "-h"]);
    }
}

#[test]
fn an_empty_variable_names_no_folder() {
    for (variable, folder) in [
        ("GIT_INDEX_FILE", ""),
        ("GIT_INDEX_FILE", "dir"),
        ("GIT_OBJECT_DIRECTORY", ""),
        ("GIT_DIR", ""),
        ("GIT_DIR", ".git"),
        ("GIT_COMMON_DIR", ""),
        ("GIT_GRAFT_FILE", ""),
    ] {
        let mut sandbox = vigil_testkit::sandbox::Sandbox::new();
        sandbox.commit("first");
        sandbox.write("dir/file", "");
        sandbox.git(["add", "."]);
        let folder = sandbox.top().join(folder);
        sandbox.set_variable(variable, "");
        // git would leave a lock file there.
        sandbox.set_variable("GIT_OPTIONAL_LOCKS", "0");
        for _ in 0..2 {
            sandbox.assert_same_as_git_in(&folder, &["status", "-s"]);
        }
    }
    let sandbox = Sandbox::empty().with_commits();
    sandbox.assert_same_as_git_in(sandbox.top().join(".git"), &["--git-dir=", "status", "-s"]);
}

#[test]
fn bad_settings_of_branches_and_remotes_end_an_answer_where_git_asks_for_them() {
    let sandbox = Sandbox::with_history();
    sandbox.git(["branch", "-M", "main"]);
    sandbox.git(["update-ref", "refs/remotes/there/main", "main~1"]);
    let plain = sandbox.read(".git/config");
    let plain = [
        plain.as_slice(),
        b"[remote \"there\"]\n\turl = /nowhere\n\tfetch = +refs/heads/*:refs/remotes/there/*\n",
        b"[branch \"main\"]\n\tremote = there\n\tmerge = refs/heads/main\n",
    ]
    .concat();
    sandbox.write(".git/config", &plain);
    sandbox.assert_same_as_git(&["status"]);
    for more in [
        "[branch \"main\"]\n\tremote\n",
        "[branch \"other\"]\n\tmerge\n",
        "[branch \"other\"]\n\tpushRemote\n",
        "[branch \"\"]\n\tany = thing\n",
        "[remote]\n\tpushDefault\n",
        "[remote \"there\"]\n\tprune = sometimes\n",
        "[remote \"other\"]\n\tmirror = sometimes\n",
        "[remote \"other\"]\n\turl\n",
        "[remote \"other\"]\n\treceivepack = a\n\treceivepack = b\n",
        "[remote \"other\"]\n\tfetch = /\n",
        "[remote \"other\"]\n\tfetch = a:b:c\n",
        "[remote \"other\"]\n\tpush =\n",
        "[remote \"other\"]\n\tpush = :\n\tpush = +:\n\tpush = @~3:refs/x\n\tpush = ^refs/y\n",
        "[remote \"other\"]\n\tpush = a:\n",
        "[remote \"other\"]\n\tpush = @\n",
        "[remote \"other\"]\n\tpush = +@\n\tpush = ^@\n\tpush = @:refs/x\n",
        "[remote \"other\"]\n\tpush = @:@\n",
        "[remote \"/absolute\"]\n\turl\n\tfetch = /\n",
        "[url \"a\"]\n\tinsteadOf\n",
        "[url \"a\"]\n\tpushInsteadOf\n",
        "[remote \"other\"]\n\tpromisor = sometimes\n",
        "[remote \"other\"]\n\tpartialCloneFilter\n",
        "[remote]\n\tpromisor = sometimes\n",
        "[transfer]\n\tcredentialsInUrl = sometimes\n",
        "[core]\n\tsplitIndex = sometimes\n",
        "[color \"diff\"]\n\tnew = nothing\n\tany = thing\n",
        "[diff]\n\tdirstat =\n\tdirstat = cumulative,3.\n\tdirstat = lines,foo,200\n",
        "[diff]\n\tdirstat = \",\"\n\tdirstat = 3.x,.5,-1,0x1,1.2.3,99999999999999999999,\" 1,1 \"\n",
        "[diff]\n\tdirstat = \"\u{e9}\",Files\n\trenames = x\n\tdirstat = y\n",
        "[diff]\n\tsubmodule = log\n\tsubmodule = plain\n\tdirstat = y\n\tsubmodule =\n\tsubmodule = short\n",
        "[diff]\n\tsubmodule = Log\n\tsubmodule\n",
        "[diff]\n\torderFile =\n",
        "[core]\n\tfsync = none\n\tfsync = pack,-ind,any,-none,none\n\tfsync = -,any\n",
        "[core]\n\tfsyncMethod = any\n\tfsyncMethod = batch\n",
        "[core]\n\tfsyncObjectFiles\n\tfsyncObjectFiles = no\n",
    ] {
        sandbox.write(".git/config", [&plain, more.as_bytes()].concat());
        for arguments in [
            &["status"][..],
            &["status", "-s", "-b"],
            &["status", "-s"],
            &["status", "-v", "-v"],
            &["status", "--porcelain=v2", "--branch", "-z"],
            &["cat-file", "-e", "@{upstream}"],
            &["cat-file", "-e", "main@{push}"],
        ] {
            sandbox.assert_same_as_git(arguments);
        }
    }
    if git_is_at_least("git", 55) {
        for name in ["negotiationRestrict", "negotiationInclude"] {
            let more = format!("[remote \"other\"]\n\t{name}\n");
            sandbox.write(".git/config", [&plain, more.as_bytes()].concat());
            sandbox.assert_same_as_git(&["status"]);
        }
    }
    sandbox.write(".git/config", &plain);
    sandbox.git(["config", "--remove-section", "branch.main"]);
    if git_is_at_least("git", 55) {
        // The branch that a push would update is on a remote, too.
        for value in ["sometimes", "", "warn"] {
            let setting = format!("transfer.credentialsInUrl={value}");
            sandbox.assert_same_as_git(&["-c", &setting, "status"]);
            sandbox.assert_same_as_git(&["-c", &setting, "status", "-s", "-b"]);
        }
    }
    // Without an upstream there is nothing to compare with.
    sandbox.write(
        ".git/config",
        [&plain, &b"[remote \"other\"]\n\tprune = sometimes\n"[..]].concat(),
    );
    for name in ["--detach", "--orphan=unborn"] {
        sandbox.git(["checkout", "-q", name]);
        sandbox.assert_same_as_git(&["status"]);
        sandbox.assert_same_as_git(&["status", "-s", "-b"]);
    }
}

#[test]
fn each_line_of_a_hint_is_one() {
    let sandbox = Sandbox::empty();
    sandbox.write("n\nl", "ab");
    sandbox.write("\n\n", "ab");
    sandbox.git(["add", "."]);
    sandbox.write(".git/info/attributes", "* working-tree-encoding=UTF-16\n");
    sandbox.age("n\nl", 60);
    sandbox.age("\n\n", 60);
    for arguments in [
        &["status", "-s"][..],
        &["-c", "color.advice=always", "status"],
    ] {
        sandbox.assert_same_as_git(arguments);
        sandbox.assert_same_as_git(arguments);
    }
}

/// git reads the rules of a sparse checkout before it looks for entries that could be left out.
#[test]
fn rules_that_are_no_cone_are_reported_whatever_the_index_holds() {
    let sandbox = Sandbox::empty();
    sandbox.write("a.txt", "1");
    sandbox.git(["add", "."]);
    let id = sandbox.git(["rev-parse", ":a.txt"]);
    for name in [
        "core.sparseCheckout",
        "core.sparseCheckoutCone",
        "index.sparse",
    ] {
        sandbox.git(["config", name, "true"]);
    }
    sandbox.write(".git/info/sparse-checkout", "*.txt\n");
    let conflict = [1, 2, 3].map(|stage| format!("100644 {id} {stage}\ta.txt\n"));
    for entries in [String::new(), conflict.concat()] {
        sandbox.git(["read-tree", "--empty"]);
        sandbox.git_with_input(["update-index", "--index-info"], &entries);
        for arguments in [&["status"][..], &["status", "-s", "-uno"]] {
            sandbox.assert_same_as_git(arguments);
            sandbox.assert_same_as_git(arguments);
        }
    }
}

#[test]
fn other_references_called_head_are_reported() {
    for format in ["files", "reftable"] {
        let option = format!("--ref-format={format}");
        // Only git 2.45 and later know the option.
        let probe = Sandbox::empty().try_git(["init", "-q", &option, "probe"]);
        let sandbox = match (probe.code, format) {
            (0, _) => Sandbox::initialised(&[&option]),
            (_, "files") => Sandbox::empty(),
            _ => continue,
        };
        let sandbox = sandbox.with_commits();
        let asked = [
            &["status"][..],
            &["status", "-s", "-uno"],
            &["status", "--porcelain=v2", "--branch"],
            &["-c", "core.warnAmbiguousRefs=false", "status", "-s"],
            &["describe", "--always", "--dirty"],
        ];
        for name in ["heads/HEAD", "tags/HEAD", "remotes/HEAD/HEAD", "HEAD"] {
            let name = format!("refs/{name}");
            sandbox.git(["update-ref", &name, "HEAD~1"]);
            for arguments in asked {
                sandbox.assert_same_as_git(arguments);
            }
            let branch = sandbox.git(["symbolic-ref", "HEAD"]);
            sandbox.git(["symbolic-ref", "HEAD", "refs/heads/unborn"]);
            // Then the other one is taken for it.
            for arguments in asked {
                sandbox.assert_same_as_git(arguments);
            }
            sandbox.git(["symbolic-ref", "HEAD", branch.trim()]);
            sandbox.git(["checkout", "-q", "--detach"]);
            for arguments in asked {
                sandbox.assert_same_as_git(arguments);
            }
            sandbox.git(["symbolic-ref", "HEAD", branch.trim()]);
            sandbox.git(["update-ref", "-d", &name]);
        }
    }
}

#[test]
fn a_list_of_commands_that_cannot_be_read_is_reported() {
    let sandbox = Sandbox::with_history();
    let list = sandbox.git_dir().join("sequencer/todo");
    let same = || {
        for arguments in [
            &["status"][..],
            &["status", "-sb"],
            &["status", "--porcelain=v2", "-uno"],
            &["describe", "--always", "--dirty"],
        ] {
            sandbox.assert_same_as_git(arguments);
        }
    };
    fs::create_dir_all(&list).unwrap();
    same();
    sandbox.git(["checkout", "-q", "--detach"]);
    fs::remove_dir(&list).unwrap();
    std::os::unix::fs::symlink("todo", &list).unwrap();
    same();
}
