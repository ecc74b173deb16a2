//! `vigil status` answers the same with the daemon and without.

use std::process::{Command, Output};

use super::sandbox::{Sandbox, VIGIL};

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

fn text(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn without(mut command: Command) -> Output {
    command.env("VIGIL_NO_DAEMON", "1").output().unwrap()
}

impl Sandbox {
    /// Asserts that both answers are the same. Returns whether the daemon answered.
    fn says_the_same(&self, folder: &str, arguments: &[&str], with: &[(&str, &str)]) -> bool {
        let arguments = [&["status"], arguments].concat();
        let command = || {
            let mut command = self.command(VIGIL, folder, &arguments);
            command.envs(with.iter().copied());
            command
        };
        let (answered, declined) = self.counts();
        let ours = command().output().unwrap();
        let alone = without(command());
        assert_eq!(text(&ours), text(&alone), "{folder}: {arguments:?}");
        let after = self.counts();
        assert_eq!(
            after.0 + after.1,
            answered + declined + 1,
            "it was not asked"
        );
        after.0 > answered
    }

    /// Asserts the same in all formats, all answered by the daemon.
    fn is_served(&self, folder: &str) {
        for arguments in FORMATS {
            let is_served = self.says_the_same(folder, arguments, &[]);
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
        sandbox.is_served("work");
        sandbox.is_served("work/dir");
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
    sandbox.is_served("work");
    sandbox.write("home-ignore", "file\n");
    sandbox.write(".gitconfig", "[core]\n\texcludesFile = ~/home-ignore\n");
    sandbox.write("work/sub/file", "");
    sandbox.is_served("work");
}

#[test]
fn repositories_of_every_kind_are_served() {
    let sandbox = Sandbox::new();
    let _serving = sandbox.serve();
    sandbox.repository("plain", &[]);
    sandbox.repository("sha256", &["--object-format=sha256"]);
    sandbox.repository("outer", &[]);
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
    sandbox.repository("sparse", &[]);
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
        sandbox.is_served(folder);
    }
    for folder in all {
        sandbox.write(&format!("{folder}/file"), "changed\n");
        sandbox.write(&format!("{folder}/new"), "");
        sandbox.is_served(folder);
    }
    sandbox.is_served("outer");
}

#[test]
fn who_sees_it_otherwise_is_answered_otherwise() {
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
        for with in [
            &[][..],
            &[("HOME", home)],
            &[("GIT_INDEX_FILE", index)],
            &[("GIT_DIR", "../work/.git"), ("GIT_WORK_TREE", "..")],
            &[("GIT_DIR", "../.git"), ("GIT_WORK_TREE", "..")],
            &[("COLUMNS", "20")],
        ] {
            for folder in ["work", "work/dir"] {
                sandbox.says_the_same(folder, &["-s"], with);
                sandbox.says_the_same(folder, &["--column"], with);
            }
        }
    }
}

#[test]
fn what_only_the_caller_can_do_he_does() {
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
        let is_served = sandbox.says_the_same("work", arguments, &[]);
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
        sandbox.says_the_same("work", &["-s"], &[]);
    }
    std::fs::remove_file(sandbox.path("work/.gitattributes")).unwrap();
}

#[test]
fn what_git_says_of_a_file_of_grafts_is_said_as_soon_as_there_is_one() {
    let sandbox = Sandbox::with_repository();
    let _serving = sandbox.serve();
    assert!(sandbox.says_the_same("work", &["-s"], &[]));
    sandbox.write("work/.git/info/grafts", "nonsense\n");
    assert!(!sandbox.says_the_same("work", &["-s"], &[]));
    let output = sandbox.vigil("work", &["status", "-s"]);
    assert!(output.stderr.starts_with(b"hint: "), "{output:?}");
}

#[test]
fn without_the_objects_of_head_it_says_what_git_says() {
    let sandbox = Sandbox::with_repository();
    let clone = ["clone", "-q", "-s", ".", "../shared"];
    sandbox.git_in("work", &clone);
    let _serving = sandbox.serve();
    let move_away = |name: &str| {
        let (path, away) = (sandbox.path(name), sandbox.path("away"));
        let same = || {
            sandbox.is_answered_as_by_git("work");
            sandbox.is_answered_as_by_git("shared");
        };
        same();
        std::fs::rename(&path, &away).unwrap();
        same();
        std::fs::rename(&away, &path).unwrap();
        same();
    };
    for object in ["HEAD", "HEAD^{tree}", "HEAD^{tree}:dir"] {
        let mut command = sandbox.command("git", "work", &["rev-parse", object]);
        let (_, id, _) = text(&command.output().unwrap());
        let id = id.trim();
        move_away(&format!("work/.git/objects/{}/{}", &id[..2], &id[2..]));
    }
    move_away("work/.git/objects");
    move_away("shared/.git/objects/info/alternates");
    sandbox.git_in("work", &["gc", "-q"]);
    move_away("work/.git/objects/pack");
}
