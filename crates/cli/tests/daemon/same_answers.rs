//! `vigil status` answers the same with the daemon and without.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set, set_no_new_privs};
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::sandbox::TextOutput;

use super::sandbox::{RunningDaemon, Sandbox, VIGIL};

const FORMATS: [&[&str]; 15] = [
    &[],
    &["-s"],
    &["-sb"],
    &["--porcelain"],
    &["--porcelain=v2", "--branch", "--show-stash"],
    &["--porcelain=v2", "-z"],
    &["--format=json"],
    &["--format=line"],
    &["-uno"],
    &["-s", "-uall"],
    &["-s", "--ignored"],
    &["-s", "--ignored=matching", "-uall"],
    &["--no-renames", "-s"],
    &["-s", "--", ".", ":!dir"],
    &["--column", "-uall"],
];

fn output_without_daemon(command: &mut Command) -> TextOutput {
    command.env("VIGIL_NO_DAEMON", "1").output().unwrap().into()
}

impl Sandbox {
    /// Asserts that the answer is the same without the daemon. Returns whether the daemon gave its own.
    fn assert_same_without_daemon(
        &self,
        folder: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> bool {
        let arguments = [&["status"], arguments].concat();
        let command = || {
            let mut command = self.command(VIGIL, folder, &arguments);
            command.envs(variables.iter().copied());
            command
        };
        let (answered, declined) = self.question_counts();
        let ours = TextOutput::from(command().output().unwrap());
        let alone = output_without_daemon(&mut command());
        assert_eq!(ours, alone, "{folder}: {arguments:?}");
        let after = self.question_counts();
        assert_eq!(
            after.0 + after.1,
            answered + declined + 1,
            "the daemon was not asked"
        );
        after.0 > answered
    }

    /// Asserts the same in all formats, all answered by the daemon.
    fn assert_served_in_all_formats(&self, folder: &str) {
        for arguments in FORMATS {
            let is_served = self.assert_same_without_daemon(folder, arguments, &[]);
            assert!(is_served, "{folder}: {arguments:?} was left to the client");
        }
    }
}

#[test]
fn after_each_change_the_answer_is_the_same_in_all_formats() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let git = |arguments: &[&str]| sandbox.git_in("work", arguments);
    let same = || {
        sandbox.assert_served_in_all_formats("work");
        sandbox.assert_served_in_all_formats("work/dir");
    };
    same();
    sandbox.write("work/file", "changed\n");
    sandbox.write("work/new/deep/file", "");
    sandbox.write("work/dir/new", "");
    same();
    sandbox.write("work/.gitignore", "new\n");
    same();
    git(&["add", "file", ".gitignore"]);
    same();
    git(&["commit", "-qm", "second"]);
    git(&["mv", "file", "moved"]);
    same();
    git(&["config", "status.showUntrackedFiles", "all"]);
    git(&["config", "status.branch", "true"]);
    git(&["config", "status.relativePaths", "false"]);
    same();
    git(&["config", "color.status", "always"]);
    same();
    git(&["stash", "-q", "-u"]);
    same();
    git(&["checkout", "-q", "-b", "side", "HEAD~"]);
    sandbox.write("work/file", "otherwise\n");
    git(&["commit", "-qam", "side"]);
    git(&["branch", "-q", "--set-upstream-to=main"]);
    same();
    let merge = sandbox.command("git", "work", &["merge", "main"]).output();
    assert!(!merge.unwrap().status.success());
    same();
    git(&["merge", "--abort"]);
    git(&["gc", "-q"]);
    same();
    git(&["checkout", "-q", "--detach"]);
    git(&["rm", "-q", "-r", "dir"]);
    sandbox.assert_served_in_all_formats("work");
    sandbox.write("home-ignore", "file\n");
    sandbox.write(".gitconfig", "[core]\n\texcludesFile = ~/home-ignore\n");
    sandbox.write("work/sub/file", "");
    sandbox.assert_served_in_all_formats("work");
}

#[test]
fn repositories_of_every_kind_are_served() {
    let sandbox = Sandbox::new();
    let _serving = sandbox.serve();
    sandbox.make_repository("plain", &[]);
    sandbox.make_repository("sha256", &["--object-format=sha256"]);
    sandbox.make_repository("outer", &[]);
    let inner = sandbox.path("plain");
    let add = [
        "submodule",
        "--quiet",
        "add",
        inner.to_str().unwrap(),
        "inner",
    ];
    sandbox.git_in("outer", &add);
    sandbox.git_in("outer", &["commit", "-qm", "with a submodule"]);
    sandbox.git_in("plain", &["worktree", "add", "-q", "../linked"]);
    sandbox.make_repository("sparse", &[]);
    sandbox.git_in(
        "sparse",
        &["sparse-checkout", "set", "--sparse-index", "none"],
    );
    let all = [
        "plain",
        "sha256",
        "outer",
        "outer/inner",
        "linked",
        "sparse",
    ];
    for folder in all {
        sandbox.assert_served_in_all_formats(folder);
    }
    for folder in all {
        sandbox.write(&format!("{folder}/file"), "changed\n");
        sandbox.write(&format!("{folder}/new"), "");
        sandbox.assert_served_in_all_formats(folder);
    }
    sandbox.assert_served_in_all_formats("outer");
}

#[test]
fn clients_with_other_variables_get_their_own_answers() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.write("other/.gitconfig", "[core]\n\texcludesFile = ~/ignored\n");
    sandbox.write("other/ignored", "*.o\n");
    sandbox.write("work/new.o", "");
    let home = sandbox.path("other");
    let home = home.to_str().unwrap();
    let index = sandbox.path("index");
    let index = index.to_str().unwrap();
    for _ in 0..2 {
        for variables in [
            &[][..],
            &[("HOME", home)],
            &[("GIT_INDEX_FILE", index)],
            &[("GIT_DIR", "../work/.git"), ("GIT_WORK_TREE", "..")],
            &[("GIT_DIR", "../.git"), ("GIT_WORK_TREE", "..")],
            &[("GIT_WORK_TREE", ".")],
            &[("GIT_WORK_TREE", "..")],
            &[("COLUMNS", "20")],
        ] {
            for folder in ["work", "work/dir"] {
                sandbox.assert_same_without_daemon(folder, &["-s"], variables);
                sandbox.assert_same_without_daemon(folder, &["--column"], variables);
            }
        }
    }
}

/// Such a path leads the daemon to a file of its own, or to none.
#[test]
fn a_path_to_what_the_client_has_open_or_stands_in_is_left_to_it() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.write("other/.gitconfig", "[core]\n\texcludesFile = ~/ignored\n");
    sandbox.write("other/.config/git/ignore", "*.o\n");
    sandbox.write("ignored", "*.o\n");
    sandbox.write("work/new.o", "");
    sandbox.write("work/new", "");
    let settings = "other/.gitconfig";
    for (input, variables) in [
        (settings, [("GIT_CONFIG_GLOBAL", "/dev/stdin"), ("A", "")]),
        (
            settings,
            [("GIT_CONFIG_GLOBAL", "/proc/self/fd/0"), ("A", "")],
        ),
        (
            settings,
            [("GIT_CONFIG_GLOBAL", "../../../../../dev/fd/0"), ("A", "")],
        ),
        (settings, [("HOME", "/proc/self/cwd/../other"), ("A", "")]),
        (
            settings,
            [
                ("XDG_CONFIG_HOME", "/proc/self/cwd/../other/.config"),
                ("A", ""),
            ],
        ),
        (
            "ignored",
            [
                ("GIT_CONFIG_KEY_0", "core.excludesFile"),
                ("GIT_CONFIG_VALUE_0", "/dev/fd/0"),
            ],
        ),
        (
            "ignored",
            [
                ("GIT_CONFIG_PARAMETERS", "'core.excludesfile'='/dev/stdin'"),
                ("A", ""),
            ],
        ),
    ] {
        let status = |program: &str, alone: bool| {
            let mut command = sandbox.command(program, "work", &["status", "-s"]);
            let input = File::open(sandbox.path(input)).unwrap();
            command.stdin(input).envs(variables);
            if alone {
                command.env("VIGIL_NO_DAEMON", "1");
            }
            TextOutput::from(command.output().unwrap())
        };
        let expected = status("git", false);
        for alone in [true, false] {
            assert_eq!(status(VIGIL, alone), expected, "{variables:?} {alone}");
        }
        assert!(sandbox.assert_same_without_daemon("work", &["-s"], &[]));
    }
    // So is one that a file of settings names.
    for (key, path) in [
        ("core.excludesFile", "/proc/self/cwd/../ignored"),
        ("include.path", "/proc/self/cwd/../other/.gitconfig"),
        ("core.attributesFile", "/dev/stdin"),
    ] {
        sandbox.git_in("work", &["config", "--global", key, path]);
        let by_git = sandbox.command("git", "work", &["status", "-s"]).output();
        let ours = sandbox.command(VIGIL, "work", &["status", "-s"]).output();
        let [ours, by_git] = [ours, by_git].map(|output| TextOutput::from(output.unwrap()));
        assert_eq!(ours, by_git, "{key}");
        assert!(
            !sandbox.assert_same_without_daemon("work", &["-s"], &[]),
            "{key}"
        );
        sandbox.git_in("work", &["config", "--global", "--unset", key]);
    }
}

/// A shell keeps in `PWD` the symbolic links that it went through, and git compares that name, too.
#[test]
fn what_git_includes_by_the_shells_name_of_the_directory_is_included() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.write("ignored", "*.o\n");
    sandbox.write("more", "[core]\n\texcludesFile = ~/ignored\n");
    sandbox.write("work/new.o", "");
    sandbox.write("work/dir/new.o", "");
    // A submodule that holds its own repository has a relative name for that, too.
    let submodule = sandbox.path("work/sub");
    sandbox.git_in("work", &["init", "-q", "sub"]);
    sandbox.git_in("work/sub", &["commit", "-q", "--allow-empty", "-m", "1"]);
    sandbox.git_in("work", &["add", "sub"]);
    sandbox.write("work/sub/new.o", "");
    symlink(".", sandbox.path("linked")).unwrap();
    let logical = sandbox.path("linked/work");
    let condition = format!("includeIf.gitdir:{}/.path", logical.display());
    let submodule_logical = logical.join("sub");
    sandbox.git_in("work", &["config", "--global", &condition, "~/more"]);
    let prompt = |pwd: &str, alone: bool| {
        let mut command = sandbox.command(VIGIL, "work", &["prompt"]);
        command.env("PWD", pwd);
        if alone {
            return output_without_daemon(&mut command);
        }
        command.output().unwrap().into()
    };
    let real = sandbox.path("work");
    for _ in 0..2 {
        for (folder, pwd, is_served) in [
            ("work", &real, true),
            ("work", &logical, false),
            ("work/dir", &logical.join("dir"), true),
            ("work/dir", &logical, false),
            ("work", &submodule, true),
            ("work", &submodule_logical, false),
            ("work/sub", &submodule_logical, false),
        ] {
            let pwd = pwd.to_str().unwrap();
            let variables: &[(&str, &str)] = &[("PWD", pwd)];
            let mut command = sandbox.command("git", folder, &["status", "-s"]);
            let by_git = command.env("PWD", pwd).output().unwrap();
            let mut command = sandbox.command(VIGIL, folder, &["status", "-s"]);
            let ours = command.env("PWD", pwd).output().unwrap();
            assert_eq!(TextOutput::from(ours), by_git.into(), "{folder} {pwd}");
            let served = sandbox.assert_same_without_daemon(folder, &["-s"], variables);
            assert_eq!(served, is_served, "{folder} {pwd}");
            assert_eq!(prompt(pwd, false), prompt(pwd, true), "{pwd}");
        }
    }
}

#[test]
fn a_client_that_is_confined_gets_no_answer_from_a_daemon_that_is_not() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    let is_served = || sandbox.assert_same_without_daemon("work", &["-s"], &[]);
    assert!(is_served());
    // What a thread gives up, the processes that it starts do without as well.
    let confined = |give_up: fn()| {
        let is_served = || {
            give_up();
            is_served()
        };
        std::thread::scope(|scope| scope.spawn(is_served).join().unwrap())
    };
    assert!(!confined(|| set_no_new_privs(true).unwrap()));
    if geteuid().is_root() {
        let give_up = || remove_capability_from_bounding_set(CapabilitySet::DAC_OVERRIDE).unwrap();
        assert!(!confined(give_up));
    }
    assert!(is_served());
}

#[test]
fn what_only_the_client_can_answer_is_left_to_it() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.write("work/file", "changed\n");
    for arguments in [
        &["-v"][..],
        &["--nonsense"],
        &["-h"],
        &["--porcelain=v3"],
        &["-s", "--ignore-submodules=nonsense"],
        &["-s", "../elsewhere"],
    ] {
        let is_served = sandbox.assert_same_without_daemon("work", arguments, &[]);
        assert!(!is_served, "{arguments:?}");
    }
    // A filter runs where the user sees its messages, and runs only once.
    let filter = "echo ran >>../runs; echo filtered >&2; cat";
    sandbox.git_in("work", &["config", "filter.f.clean", filter]);
    sandbox.write("work/.gitattributes", "dir/* filter=f\n");
    sandbox.write("work/dir/other", "recorded, too\n");
    let before = std::fs::read(sandbox.path("runs"))
        .unwrap_or_default()
        .len();
    let output = sandbox.vigil("work", &["status", "-s"]);
    let runs = std::fs::read(sandbox.path("runs")).unwrap().len() - before;
    assert_eq!(runs, "ran\n".len());
    assert_eq!(output.stderr, b"filtered\n");
    assert_eq!(output.stdout, b" M file\n?? .gitattributes\n");
    // A warning is printed by the client, too, each time.
    std::fs::remove_file(sandbox.path("work/.gitattributes")).unwrap();
    sandbox.write("work/.gitattributes", "!x text\n");
    for _ in 0..3 {
        sandbox.assert_same_without_daemon("work", &["-s"], &[]);
    }
    std::fs::remove_file(sandbox.path("work/.gitattributes")).unwrap();
}

/// Like git, which records in the index that a file is unchanged.
#[test]
fn a_filter_is_not_run_again_on_a_file_that_it_showed_to_be_unchanged() {
    let sandbox = Sandbox::with_repository();
    let filter = "echo ran >>../runs; cat";
    sandbox.git_in("work", &["config", "filter.f.clean", filter]);
    sandbox.write("work/.gitattributes", "dir/* filter=f\n");
    sandbox.git_in("work", &["add", "."]);
    sandbox.git_in("work", &["commit", "-q", "-m", "filtered"]);
    let mut daemon = sandbox.command(VIGIL, "", &["daemon", "run"]);
    daemon.env("VIGIL_DAEMON_REST_S", "0");
    let _serving = RunningDaemon::start(daemon);
    let runs_after = |contents: &str, shown: &str, variables: &[(&str, &str)]| {
        wait_for_tick();
        sandbox.write("work/dir/other", contents);
        wait_for_tick();
        let _ = std::fs::remove_file(sandbox.path("runs"));
        for _ in 0..3 {
            let mut command = sandbox.command(VIGIL, "work", &["status", "-s"]);
            let output =
                TextOutput::from(command.envs(variables.iter().copied()).output().unwrap());
            assert_eq!(output.stdout, shown);
        }
        let runs = std::fs::read_to_string(sandbox.path("runs"));
        runs.unwrap_or_default().lines().count()
    };
    for variables in [&[][..], &[("VIGIL_NO_DAEMON", "1")]] {
        assert_eq!(runs_after("recorded, too\n", "", variables), 1);
        assert_eq!(
            runs_after("recorded, TOO\n", " M dir/other\n", variables),
            3
        );
        assert_eq!(runs_after("recorded, too\n", "", variables), 1);
    }
    let (answered, _) = sandbox.question_counts();
    assert!(answered > 0);
    // Another command may come to another verdict.
    let other = "echo ran >>../runs; tr o 0";
    sandbox.git_in("work", &["config", "filter.f.clean", other]);
    assert_eq!(runs_after("recorded, too\n", " M dir/other\n", &[]), 3);
}

#[test]
fn a_warning_about_attributes_is_not_lost_to_a_question_about_other_paths() {
    let sandbox = Sandbox::with_repository();
    sandbox.write("work/.gitattributes", "dir/* in%valid text\n");
    let mut daemon = sandbox.command(VIGIL, "", &["daemon", "run"]);
    daemon.env("VIGIL_DAEMON_REST_S", "0");
    let _serving = RunningDaemon::start(daemon);
    for pathspec in ["file", "dir"] {
        let age = "touch -d 2020-01-01 file dir/other .gitattributes && git add .";
        let aged = sandbox
            .command("sh", "work", &["-c", age])
            .output()
            .unwrap();
        assert!(aged.status.success(), "{aged:?}");
        assert!(sandbox.assert_same_without_daemon("work", &["-s"], &[]));
        wait_for_tick();
        sandbox.write("work/dir/other", "recorded, too\n");
        sandbox.assert_same_without_daemon("work", &["-s", "--", pathspec], &[]);
        for _ in 0..2 {
            sandbox.assert_same_without_daemon("work", &["-s"], &[]);
        }
        let output = sandbox.vigil("work", &["status", "-s"]);
        assert!(output.stderr.starts_with(b"in%valid is not"), "{output:?}");
    }
}

#[test]
fn the_advice_about_grafts_is_printed_as_soon_as_there_are_some() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    assert!(sandbox.assert_same_without_daemon("work", &["-s"], &[]));
    sandbox.write("work/.git/info/grafts", "nonsense\n");
    for _ in 0..2 {
        assert!(sandbox.assert_same_without_daemon("work", &["-s"], &[]));
    }
    let output = sandbox.vigil("work", &["status", "-s"]);
    assert!(output.stderr.starts_with(b"hint: "), "{output:?}");
    std::fs::remove_file(sandbox.path("work/.git/info/grafts")).unwrap();
    assert!(sandbox.assert_same_without_daemon("work", &["-s"], &[]));
    assert!(sandbox.vigil("work", &["status", "-s"]).stderr.is_empty());
}

#[test]
fn advice_about_an_expanded_sparse_index_is_the_daemons_own() {
    let sandbox = Sandbox::with_repository();
    for arguments in [
        &["sparse-checkout", "init", "--cone", "--sparse-index"][..],
        &["sparse-checkout", "set", "other"],
    ] {
        sandbox.git_in("work", arguments);
    }
    let _serving = sandbox.serve();
    assert!(sandbox.assert_same_without_daemon("work", &[], &[]));
    sandbox.write("work/dir/other", "recorded, too\n");
    for _ in 0..3 {
        assert!(sandbox.assert_same_without_daemon("work", &[], &[]));
    }
    let output = sandbox.vigil("work", &["status"]);
    assert!(output.stderr.starts_with(b"hint: "), "{output:?}");
    for variables in [[("GIT_ADVICE", "0")], [("LANG", "C")]] {
        assert!(sandbox.assert_same_without_daemon("work", &[], &variables));
    }
}

#[test]
fn without_the_objects_of_head_the_errors_are_those_of_git() {
    let sandbox = Sandbox::with_repository();
    let clone = ["clone", "-q", "-s", ".", "../shared"];
    sandbox.git_in("work", &clone);
    let _serving = sandbox.serve();
    let move_away = |name: &str| {
        let (path, away) = (sandbox.path(name), sandbox.path("away"));
        let same = || {
            sandbox.assert_answered_as_by_git("work");
            sandbox.assert_answered_as_by_git("shared");
        };
        same();
        std::fs::rename(&path, &away).unwrap();
        same();
        std::fs::rename(&away, &path).unwrap();
        same();
    };
    for object in ["HEAD", "HEAD^{tree}", "HEAD^{tree}:dir"] {
        let mut command = sandbox.command("git", "work", &["rev-parse", object]);
        let id = TextOutput::from(command.output().unwrap()).stdout;
        let id = id.trim();
        move_away(&format!("work/.git/objects/{}/{}", &id[..2], &id[2..]));
    }
    move_away("work/.git/objects");
    move_away("shared/.git/objects/info/alternates");
    sandbox.git_in("work", &["gc", "-q"]);
    move_away("work/.git/objects/pack");
}

#[test]
fn what_could_not_be_compared_with_is_compared_with_once_it_is_back() {
    let sandbox = Sandbox::with_repository();
    let in_work = |arguments: &[&str]| sandbox.git_in("work", arguments);
    sandbox.write("work/lines", "one\r\ntwo\r\n");
    sandbox.write("work/dir/.gitignore", "new\n");
    let link = sandbox.path("work/link");
    symlink("file", &link).unwrap();
    in_work(&["add", "."]);
    in_work(&["commit", "-qm", "second"]);
    sandbox.write("work/.gitattributes", "lines text=auto\n");
    in_work(&["update-index", "--skip-worktree", "dir/.gitignore"]);
    std::fs::remove_file(sandbox.path("work/dir/.gitignore")).unwrap();
    sandbox.write("work/dir/new", "");
    let _serving = sandbox.serve();
    for name in ["lines", "link", "dir/.gitignore"] {
        let mut command = sandbox.command("git", "work", &["rev-parse", &format!(":{name}")]);
        let id = TextOutput::from(command.output().unwrap()).stdout;
        let id = id.trim();
        let object = format!("work/.git/objects/{}/{}", &id[..2], &id[2..]);
        let (object, away) = (sandbox.path(&object), sandbox.path("away"));
        let same = || {
            sandbox.assert_answered_as_by_git("work");
            let status = |program| {
                let mut command = sandbox.command(program, "work", &["status", "-s"]);
                output_without_daemon(command.env("GIT_OPTIONAL_LOCKS", "0"))
            };
            assert_eq!(status(VIGIL), status("git"), "{name}");
        };
        std::fs::rename(&object, &away).unwrap();
        // They are compared, since they are others than those that were added.
        std::fs::rename(&link, sandbox.path("former")).unwrap();
        symlink("file", &link).unwrap();
        sandbox.write("work/lines", "one\r\ntwo\r\n");
        wait_for_tick();
        same();
        std::fs::rename(&away, &object).unwrap();
        same();
    }
}

#[test]
fn alternates_that_are_not_there_are_reported_as_soon_as_they_are_listed() {
    let sandbox = Sandbox::with_repository();
    let list = "work/.git/objects/info/alternates";
    let _serving = sandbox.serve();
    assert!(sandbox.assert_same_without_daemon("work", &["-s"], &[]));
    sandbox.write(list, "/no/such/folder\n");
    let output = TextOutput::from(sandbox.vigil("work", &["status", "-s"]));
    assert!(output.stderr.contains("/no/such/folder"), "{output:?}");
    std::fs::remove_file(sandbox.path(list)).unwrap();
    sandbox.assert_same_without_daemon("work", &["-s"], &[]);
}

/// A prompt has no place for what is said of them.
#[test]
fn alternates_are_reported_only_while_they_are_not_there_whatever_prompts_were_told() {
    let sandbox = Sandbox::with_repository();
    sandbox.git_in(".", &["clone", "-q", "--bare", "work", "far"]);
    let (far, away) = (sandbox.path("far"), sandbox.path("away"));
    let list = format!("{}\n", far.join("objects").display());
    sandbox.write("work/.git/objects/info/alternates", &list);
    let mut daemon = sandbox.command(VIGIL, "", &["daemon", "run"]);
    daemon.env("VIGIL_DAEMON_REST_S", "0");
    let _serving = RunningDaemon::start(daemon);
    let is_served = || {
        let mut prompt = sandbox.command(VIGIL, "work", &["prompt"]);
        assert!(prompt.output().unwrap().status.success());
        sandbox.assert_same_without_daemon("work", &["-s"], &[])
    };
    for round in 0..2 {
        assert!(is_served(), "{round}");
        std::fs::rename(&far, &away).unwrap();
        assert!(!is_served());
        std::fs::rename(&away, &far).unwrap();
    }
}

#[test]
fn packs_that_cannot_be_listed_are_reported_until_they_can() {
    let sandbox = Sandbox::with_repository();
    let packs = sandbox.path("work/.git/objects/pack");
    let index = packs.join("multi-pack-index");
    let _serving = sandbox.serve();
    let same = || sandbox.assert_answered_as_by_git("work");
    same();
    sandbox.write("work/.git/objects/pack/multi-pack-index", "");
    same();
    std::fs::remove_file(index).unwrap();
    same();
    std::fs::remove_dir_all(&packs).unwrap();
    sandbox.write("work/.git/objects/pack", "no folder");
    same();
    std::fs::remove_file(&packs).unwrap();
    std::fs::create_dir(&packs).unwrap();
    same();
}

#[test]
fn rules_by_which_a_split_index_would_be_sparse_are_refused_though_the_index_is_unchanged() {
    let sandbox = Sandbox::with_repository();
    for key in [
        "core.splitIndex",
        "core.sparseCheckout",
        "core.sparseCheckoutCone",
        "index.sparse",
    ] {
        sandbox.git_in("work", &["config", key, "true"]);
    }
    let _serving = sandbox.serve();
    assert!(sandbox.assert_same_without_daemon("work", &["-s"], &[]));
    sandbox.write("work/.git/info/sparse-checkout", "/*\n!/*/\n/dir/\n");
    assert!(!sandbox.assert_same_without_daemon("work", &["-s"], &[]));
}

#[test]
fn settings_in_variables_mean_the_same_in_each_directory_and_share_what_is_kept() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    sandbox.write("work/ignored-here", "*.o\n");
    sandbox.write("work/below/ignored-here", "new\n");
    for name in ["new", "new.o", "below/new", "below/new.o"] {
        sandbox.write(&format!("work/{name}"), "");
    }
    let top = sandbox.path("work");
    let git_dir = top.join(".git");
    let setting = |name: &'static str| {
        [
            ("GIT_CONFIG_KEY_0", name),
            ("GIT_CONFIG_VALUE_0", "ignored-here"),
        ]
    };
    let places = [
        ("GIT_DIR", git_dir.to_str()),
        ("GIT_WORK_TREE", top.to_str()),
    ];
    let places = places.map(|(name, place)| (name, place.unwrap()));
    let all = [
        places,
        setting("include.path"),
        setting("core.excludesFile"),
    ];
    for variables in all {
        for folder in ["work", "work/below", "work"] {
            let status = |program: &str| {
                let mut command = sandbox.command(program, folder, &["status", "-s", "-uall"]);
                TextOutput::from(command.envs(variables).output().unwrap())
            };
            assert_eq!(status(VIGIL), status("git"), "{variables:?} in {folder}");
        }
    }
    let kept = &sandbox.daemon_status()["repositories"];
    let questions: Vec<u64> = kept
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["path"] == *top.to_str().unwrap())
        .map(|one| one["questions"].as_u64().unwrap())
        .collect();
    // A repository that is named by a variable is one of each directory.
    assert_eq!(questions.iter().max(), Some(&3), "{kept}");
}
