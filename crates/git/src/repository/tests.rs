//! Tests against real git: the repositories that it finds, and its errors when it refuses one.

use std::os::unix::fs::symlink;

use gix_hash::Kind;

use self::sandbox::{Sandbox, assert_same_as_git, run};
use super::*;

pub(crate) mod sandbox;
mod settings;

#[test]
fn a_plain_repository_is_found_from_everywhere_in_it() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    sandbox.folder("main/a/b");
    sandbox.folder("nothing");
    symlink("main/a", sandbox.root.join("link")).unwrap();
    for cwd in ["main", "main/a", "main/a/b", "link", "link/b"] {
        let repository = assert_same_as_git(&sandbox, cwd, &[]).unwrap();
        assert_eq!(repository.git_dir, sandbox.root.join("main/.git"));
        assert_eq!(repository.index_path, sandbox.root.join("main/.git/index"));
        assert_eq!(
            repository.object_dir,
            sandbox.root.join("main/.git/objects")
        );
    }
    for cwd in ["main/.git", "main/.git/refs", "nothing", ""] {
        assert!(assert_same_as_git(&sandbox, cwd, &[]).is_none());
    }
    assert_same_as_git(&sandbox, "main/a", &[("GIT_WORK_TREE", "@/main/a")]).unwrap();
    assert_same_as_git(&sandbox, "main/a", &[("GIT_WORK_TREE", "..")]).unwrap();
    assert_same_as_git(&sandbox, "main/a", &[("GIT_WORK_TREE", "@/nothing")]).unwrap();
    assert_same_as_git(&sandbox, "main/.git", &[("GIT_WORK_TREE", "@/nothing")]).unwrap();
    assert_same_as_git(&sandbox, "main/.git/refs", &[("GIT_WORK_TREE", "..")]).unwrap();
    assert!(assert_same_as_git(&sandbox, "main/a", &[("GIT_WORK_TREE", "@/none")]).is_none());
    assert!(assert_same_as_git(&sandbox, "main/a", &[("GIT_WORK_TREE", "@/none/x")]).is_none());
    assert!(assert_same_as_git(&sandbox, "main/a", &[("GIT_WORK_TREE", "")]).is_none());
}

#[test]
fn the_search_ends_at_ceilings() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    sandbox.folder("main/a/b");
    symlink("main", sandbox.root.join("link")).unwrap();
    for (ceilings, is_found) in [
        ("@", true),
        ("@/main", false),
        ("@/main/", false),
        ("@/main/a", false),
        ("@/main/a/b", true),
        ("@/mai", true),
        ("@/link", false),
        (":@/link", true),
        ("x:@/none:@/link/a", false),
        ("/", true),
        ("", true),
    ] {
        let found = assert_same_as_git(
            &sandbox,
            "main/a/b",
            &[("GIT_CEILING_DIRECTORIES", ceilings)],
        );
        assert_eq!(found.is_some(), is_found, "{ceilings}");
    }
    assert_same_as_git(&sandbox, "main", &[("GIT_CEILING_DIRECTORIES", "@/main")]).unwrap();
    assert!(
        assert_same_as_git(
            &sandbox,
            "main",
            &[("GIT_DISCOVERY_ACROSS_FILESYSTEM", "x")]
        )
        .is_none()
    );
}

#[test]
fn a_named_folder_is_taken_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    sandbox.git("", &["init", "-q", "--bare", "bare.git"]);
    sandbox.folder("main/a/b");
    sandbox.folder("tree/a");
    let found = [
        ("main", ".git"),
        ("main", "./.git"),
        ("main/a", "../.git"),
        ("tree", "@/main/.git"),
        ("tree/a", "../../main/.git"),
        ("main/.git", "."),
    ];
    for (cwd, git_dir) in found {
        assert_same_as_git(&sandbox, cwd, &[("GIT_DIR", git_dir)]).unwrap();
        assert_same_as_git(
            &sandbox,
            cwd,
            &[("GIT_DIR", git_dir), ("GIT_WORK_TREE", "@/tree")],
        )
        .unwrap();
        assert_same_as_git(
            &sandbox,
            cwd,
            &[("GIT_DIR", git_dir), ("GIT_WORK_TREE", "@/tree/a")],
        )
        .unwrap();
        assert_same_as_git(
            &sandbox,
            cwd,
            &[("GIT_DIR", git_dir), ("GIT_WORK_TREE", "..")],
        )
        .unwrap();
        let variables = [("GIT_DIR", git_dir), ("GIT_IMPLICIT_WORK_TREE", "0")];
        assert!(assert_same_as_git(&sandbox, cwd, &variables).is_none());
    }
    for git_dir in ["", "none", "@/tree", "@/bare.git", "@/home/x/y"] {
        assert!(assert_same_as_git(&sandbox, "main", &[("GIT_DIR", git_dir)]).is_none());
    }
    assert_same_as_git(
        &sandbox,
        "main",
        &[("GIT_DIR", "@/bare.git"), ("GIT_WORK_TREE", ".")],
    )
    .unwrap();
    assert!(assert_same_as_git(&sandbox, "bare.git", &[]).is_none());
    assert!(assert_same_as_git(&sandbox, "bare.git/refs", &[]).is_none());
    assert_same_as_git(&sandbox, "bare.git/refs", &[("GIT_WORK_TREE", "@/tree")]).unwrap();

    let index = [
        ("GIT_INDEX_FILE", "x/index"),
        ("GIT_OBJECT_DIRECTORY", "@/main/.git/objects"),
    ];
    let repository = assert_same_as_git(&sandbox, "main/a", &index).unwrap();
    assert_eq!(repository.index_path, sandbox.root.join("main/x/index"));
}

#[test]
fn a_configured_work_tree_counts() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    sandbox.folder("main/a");
    sandbox.folder("tree/a");
    for work_tree in [
        "../../tree",
        "@/tree",
        "../a",
        "..",
        ".",
        "@/none",
        "../../none",
        "@/none/x",
    ] {
        sandbox.write(
            "main/.git/config",
            &format!("[core]\nrepositoryformatversion=0\nworktree={work_tree}\n"),
        );
        for (cwd, git_dir) in [
            ("main", None),
            ("main/a", None),
            ("main/.git", None),
            ("main/.git/refs", None),
            ("tree/a", Some("../../main/.git")),
            ("tree", Some("@/main/.git")),
            ("main", Some(".git")),
        ] {
            let variables: Vec<_> = git_dir
                .map(|git_dir| ("GIT_DIR", git_dir))
                .into_iter()
                .collect();
            assert_same_as_git(&sandbox, cwd, &variables);
        }
    }
    sandbox.write(
        "main/.git/config",
        "[core]\nrepositoryformatversion=0\nworktree=../a\nbare\n",
    );
    assert_same_as_git(&sandbox, "main", &[]);
    assert_same_as_git(&sandbox, "main", &[("GIT_WORK_TREE", "@/tree")]).unwrap();
    // Without a version neither key counts at first.
    sandbox.write("main/.git/config", "[core]\nworktree=../a\nbare\n");
    assert_same_as_git(&sandbox, "main", &[]);
    sandbox.write(
        "main/.git/config",
        "[core]\nrepositoryformatversion=0\nbare\n",
    );
    assert_same_as_git(&sandbox, "main", &[]);
    assert_same_as_git(&sandbox, "main/a", &[]);
    std::fs::remove_file(sandbox.root.join("main/.git/config")).unwrap();
    assert_same_as_git(&sandbox, "main", &[]).unwrap();
}

#[test]
fn all_ways_to_name_a_repository_are_combined() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    sandbox.git(
        "",
        &["init", "-q", "--separate-git-dir", "separate.git", "apart"],
    );
    for folder in ["main/a", "apart/a", "tree/a"] {
        sandbox.folder(folder);
    }
    for bare in ["true", "false"] {
        for core in ["", "worktree=../tree\n", "worktree=@/main/a\n"] {
            let text = format!("[core]\nrepositoryformatversion=0\nbare={bare}\n{core}");
            sandbox.write("main/.git/config", &text);
            sandbox.write("separate.git/config", &text);
            for (cwd, git_dir) in [
                ("main/a", "../.git"),
                ("main/.git", "."),
                ("apart/a", "../.git"),
                ("separate.git", "."),
                ("tree/a", "../../separate.git"),
            ] {
                for work_tree in [None, Some(".."), Some("@/tree")] {
                    let work_tree = work_tree.map(|work_tree| ("GIT_WORK_TREE", work_tree));
                    let mut variables: Vec<_> = work_tree.into_iter().collect();
                    assert_same_as_git(&sandbox, cwd, &variables);
                    variables.push(("GIT_DIR", git_dir));
                    assert_same_as_git(&sandbox, cwd, &variables);
                }
            }
        }
    }
}

#[test]
fn a_file_may_name_the_folder() {
    let sandbox = Sandbox::new();
    sandbox.git(
        "",
        &["init", "-q", "--separate-git-dir", "separate.git", "main"],
    );
    sandbox.folder("main/a");
    let repository = assert_same_as_git(&sandbox, "main/a", &[]).unwrap();
    assert_eq!(repository.git_dir, sandbox.root.join("separate.git"));
    assert_same_as_git(&sandbox, "main", &[("GIT_DIR", "@/main/.git")]).unwrap();
    assert_same_as_git(&sandbox, "main/a", &[("GIT_WORK_TREE", "@/main")]).unwrap();
    for contents in [
        "gitdir: ../separate.git\r\n",
        "gitdir: ../none",
        "gitdir: ",
        "gitdir: \n",
        "gitdir:x",
        "x",
        "",
    ] {
        sandbox.write("main/.git", contents);
        let found = assert_same_as_git(&sandbox, "main", &[]);
        assert_eq!(
            found.is_some(),
            contents.contains("separate"),
            "{contents:?}"
        );
        assert_same_as_git(&sandbox, "main", &[("GIT_DIR", ".git")]);
        assert_same_as_git(&sandbox, "home", &[("GIT_DIR", "../main/.git")]);
    }
    sandbox.write("main/.git", &"x".repeat((1 << 20) + 1));
    assert!(assert_same_as_git(&sandbox, "main", &[]).is_none());
    std::fs::remove_file(sandbox.root.join("main/.git")).unwrap();
    let refused = || {
        let error = discover(&sandbox.environment, &sandbox.root.join("main")).unwrap_err();
        error.to_string()
    };
    let file = format!("{}/main/.git", sandbox.root.display());
    // Not compared: before 2.53 git ignored what is neither a file nor a directory,
    symlink("/dev/null", &file).unwrap();
    assert_eq!(refused(), format!("not a regular file: '{file}'"));
    // and up to 2.55 it did not name a file that leads to no repository.
    std::fs::remove_file(&file).unwrap();
    sandbox.write("main/.git", "gitdir: ../none");
    let expected = format!("gitfile does not point to a valid repository: {file}");
    assert_eq!(refused(), expected);
}

#[test]
fn linked_work_trees_share_a_folder() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    sandbox.git("main", &["commit", "-q", "--allow-empty", "-m", "x"]);
    sandbox.git("main", &["worktree", "add", "-q", "../linked"]);
    sandbox.folder("linked/a");
    let repository = assert_same_as_git(&sandbox, "linked/a", &[]).unwrap();
    assert_eq!(repository.common_dir, sandbox.root.join("main/.git"));
    assert!(assert_same_as_git(&sandbox, "main/.git/worktrees/linked", &[]).is_none());
    // In the shared file, core.bare and core.worktree apply to the main working tree.
    sandbox.append("main/.git/config", "[core]\nbare = true\n");
    assert_same_as_git(&sandbox, "linked/a", &[]).unwrap();
    assert!(assert_same_as_git(&sandbox, "main", &[]).is_none());
    sandbox.append(
        "main/.git/config",
        "[core]\nworktree = /none\nbare=false\n[extensions]\nworktreeConfig\n",
    );
    sandbox.write("main/.git/config.worktree", "[core]\nworktree = ..\n");
    assert_same_as_git(&sandbox, "main", &[]);
    assert_same_as_git(&sandbox, "linked/a", &[]);
    sandbox.write(
        "main/.git/worktrees/linked/config.worktree",
        "[core]\nbare = x\n",
    );
    assert_same_as_git(&sandbox, "linked/a", &[]);
    sandbox.write(
        "main/.git/worktrees/linked/config.worktree",
        "[core]\nworktree\n",
    );
    assert_same_as_git(&sandbox, "linked/a", &[]);
    sandbox.write(
        "main/.git/worktrees/linked/config.worktree",
        "[core]\nworktree=@/home\n[status]\nshort=x\n",
    );
    assert_same_as_git(&sandbox, "linked/a", &[]);
    sandbox.write("main/.git/worktrees/linked/commondir", "../none");
    assert_same_as_git(&sandbox, "linked/a", &[]);
    let git_dir = [("GIT_COMMON_DIR", "@/main/.git")];
    assert_same_as_git(&sandbox, "linked/a", &git_dir);
}

#[test]
fn formats_are_judged_as_git_does() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    for format in [
        "[core]\nrepositoryformatversion=1\n",
        "[core]\nrepositoryformatversion=2\n",
        "[core]\nrepositoryformatversion=-1\n",
        "[core]\nrepositoryformatversion=x\n",
        "[core]\nrepositoryformatversion=9g\n",
        "[core]\nrepositoryformatversion\n",
        "[extensions]\nfuture\n",
        "[core]\nrepositoryformatversion=0\n[extensions]\nfuture\npreciousObjects=x",
        "[core]\nrepositoryformatversion=0\n[extensions]\nfuture\nnoop",
        "[core]\nrepositoryformatversion=0\n[extensions]\nnoop-v1",
        "[core]\nrepositoryformatversion=0\n[extensions]\nnoop-v1\nobjectFormat=sha1",
        "[core]\nrepositoryformatversion=1\n[extensions]\nfuture\n",
        "[core]\nrepositoryformatversion=1\n[extensions]\nfuture\nnext=1\n",
        "[core]\nrepositoryformatversion=1\n[extensions]\nobjectFormat=sha256\n",
        "[core]\nrepositoryformatversion=1\n[extensions]\nobjectFormat=sha512\n",
        "[core]\nrepositoryformatversion=1\n[extensions]\n\nobjectFormat\n",
        "[core]\nrepositoryformatversion=1\n[extensions]\nrefStorage=files\n",
        "[core]\nrepositoryformatversion=1\n[extensions]\nrefStorage=none\n",
        "[core]\nrepositoryformatversion=1\n[extensions]\npartialClone\n",
        "[core]\nrepositoryformatversion=1\n[extensions]\npartialClone=x\nworktreeConfig=x\n",
        "[core]\nrepositoryformatversion=1\n[core]\nbare=maybe\n",
        "[core]\nrepositoryformatversion=1\n[core]\nworktree\n",
        "[core]\nrepositoryformatversion=0\n[",
    ] {
        sandbox.write("main/.git/config", format);
        assert_same_as_git(&sandbox, "main", &[]);
        assert_same_as_git(&sandbox, "home", &[("GIT_DIR", "../main/.git")]);
    }
}

#[test]
fn reftable_and_sha256_are_told() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "--object-format=sha256", "long"]);
    assert_eq!(
        assert_same_as_git(&sandbox, "long", &[]).unwrap().hash,
        Kind::Sha256
    );
    if run(
        &sandbox.environment,
        &["init", "-q", "--ref-format=reftable", "tables"],
    )
    .status
    .success()
    {
        let repository = assert_same_as_git(&sandbox, "tables", &[]).unwrap();
        assert_eq!(repository.ref_format, RefFormat::Reftable);
    }
}

#[test]
fn repositories_of_others_need_the_users_permission() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "ma in"]);
    sandbox.git("", &["init", "-q", "--bare", "bare.git"]);
    sandbox.git(
        "",
        &["init", "-q", "--separate-git-dir", "separate.git", "apart"],
    );
    sandbox.folder("ma in/a");
    symlink("ma in", sandbox.root.join("link")).unwrap();
    let foreign = [("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")];
    for (directories, is_safe) in [
        (&[][..], false),
        (&["@/ma in"], true),
        (&["@/link"], true),
        (&["@/ma in/.git"], false),
        (&["@"], false),
        (&["@/*"], true),
        (&["@/m*"], false),
        (&["*"], true),
        (&["*", ""], false),
        (&["", "*"], true),
        (&["~/../ma in"], true),
        (&["ma in", "@/ma in"], true),
        (&["@/none/x"], false),
    ] {
        let text: String = directories
            .iter()
            .map(|directory| format!("directory=\"{directory}\"\n"))
            .collect();
        sandbox.write("home/.gitconfig", &format!("[safe]\n{text}"));
        for cwd in ["ma in", "ma in/a", "link"] {
            let found = assert_same_as_git(&sandbox, cwd, &foreign);
            assert_eq!(found.is_some(), is_safe, "{directories:?} {cwd}");
        }
        assert_same_as_git(&sandbox, "apart", &foreign);
        assert_same_as_git(&sandbox, "bare.git", &foreign);
    }
    sandbox.write("home/.gitconfig", "[safe]\ndirectory=.\n");
    assert_same_as_git(&sandbox, "ma in", &foreign).unwrap();
    assert_same_as_git(&sandbox, "ma in/a", &foreign);
    // The repository's own configuration does not count; the command line's does.
    sandbox.write("home/.gitconfig", "");
    sandbox.append("ma in/.git/config", "[safe]\ndirectory=*\n");
    assert!(assert_same_as_git(&sandbox, "ma in", &foreign).is_none());
    let named = [
        foreign[0],
        ("GIT_CONFIG_PARAMETERS", "'safe.directory'='*'"),
    ];
    assert_same_as_git(&sandbox, "ma in", &named).unwrap();
    // A caller that names the directory vouches for it.
    assert_same_as_git(&sandbox, "ma in", &[foreign[0], ("GIT_DIR", ".git")]).unwrap();
}

#[test]
fn bare_repositories_may_have_to_be_named() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "--bare", "bare.git"]);
    sandbox.git("", &["init", "-q", "main"]);
    for value in ["= explicit", "= all", "= x"] {
        sandbox.write(
            "home/.gitconfig",
            &format!("[safe]\n\tbareRepository {value}\n"),
        );
        assert!(assert_same_as_git(&sandbox, "bare.git/refs", &[]).is_none());
        assert!(assert_same_as_git(&sandbox, "main/.git/refs", &[]).is_none());
        assert_same_as_git(&sandbox, "bare.git", &[("GIT_WORK_TREE", "@/home")]);
        assert_same_as_git(
            &sandbox,
            "main",
            &[("GIT_DIR", "@/bare.git"), ("GIT_WORK_TREE", ".")],
        )
        .unwrap();
    }
    let named = [("GIT_CONFIG_PARAMETERS", "'safe.bareRepository'='x'")];
    assert!(assert_same_as_git(&sandbox, "bare.git", &named).is_none());
}

#[test]
fn prompts_find_a_repository_without_opening_it() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    sandbox.git("main", &["commit", "-q", "--allow-empty", "-m", "x"]);
    sandbox.git("main", &["worktree", "add", "-q", "../linked"]);
    sandbox.git("", &["init", "-q", "--bare", "bare.git"]);
    sandbox.folder("main/a/b");
    sandbox.folder("tree");
    let environment = &sandbox.environment;
    let find = |path: &str, from_dotgit| {
        let search = Search::of_prompt(from_dotgit);
        discover_git_dir(environment, &sandbox.root.join(path), search)
    };
    let location = find("main/a/b", false).unwrap().unwrap();
    // Inside a repository's own directory, the one around it is found.
    for path in [
        "main",
        "main/.git",
        "main/.git/refs",
        "main/.git/worktrees/linked",
    ] {
        assert_eq!(find(path, false).unwrap(), Some(location.clone()), "{path}");
    }
    assert_eq!(find("bare.git", false).unwrap(), None);
    assert_eq!(location.git_dir(), sandbox.root.join("main/.git"));
    assert_eq!(location.directory, sandbox.root.join("main"));
    assert_eq!(find("tree", false).unwrap(), None);
    assert_eq!(find("none", false).unwrap(), None);
    let repository = open(environment, &location).unwrap();
    assert_eq!(repository.work_tree, Some(sandbox.root.join("main")));
    assert_eq!(repository.prefix, "");

    let open_alone = |path: &str| open(environment, &find(path, true).unwrap().unwrap()).unwrap();
    assert_eq!(
        open_alone("main/.git").work_tree,
        Some(sandbox.root.join("main"))
    );
    assert_eq!(
        open_alone("linked/.git").work_tree,
        Some(sandbox.root.join("linked"))
    );
    assert_eq!(find("main", true).unwrap(), None);
    sandbox.append("main/.git/config", "[core]\nworktree=../../tree\n");
    assert_eq!(
        open_alone("main/.git").work_tree,
        Some(sandbox.root.join("tree"))
    );
    sandbox.append("main/.git/config", "[core]\nbare\n");
    assert_eq!(open_alone("main/.git").work_tree, None);
}

#[test]
fn a_change_of_a_file_that_was_read_is_noticed() {
    let sandbox = Sandbox::new();
    sandbox.git(
        "",
        &["init", "-q", "--separate-git-dir", "separate.git", "main"],
    );
    sandbox.write("home/.gitconfig", "[include]\npath=more\n");
    let open = || discover(&sandbox.environment, &sandbox.root.join("main")).unwrap();
    for change in [
        "home/.gitconfig",
        "home/more",
        "home/.config/git/config",
        "separate.git/config",
    ] {
        let repository = open();
        assert!(repository.is_fresh());
        let path = sandbox.root.join(change);
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        sandbox.write(change, &(before + "# x\n"));
        assert!(!repository.is_fresh(), "{change}");
    }
    let repository = open();
    sandbox.write("main/.git", "gitdir: ../separate.git\n");
    assert!(!repository.is_fresh());
    let repository = open();
    sandbox.write("separate.git/commondir", "../separate.git\n");
    assert!(!repository.is_fresh());
}

#[test]
fn submodules_open_in_an_environment_of_their_own() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "main"]);
    sandbox.git("main", &["init", "-q", "sub"]);
    sandbox.folder("main/.git/modules");
    sandbox.git(
        "main",
        &["init", "-q", "--separate-git-dir", ".git/modules/b", "a/b"],
    );
    sandbox.folder("main/empty");
    symlink("a", sandbox.root.join("main/link")).unwrap();
    let variables = [
        ("GIT_INDEX_FILE", "x"),
        ("GIT_WORK_TREE", "."),
        ("GIT_CONFIG_PARAMETERS", "'a.b'='c'"),
        ("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1"),
        ("GIT_DIR", ".git"),
    ];
    let environment = sandbox.with(&variables, "main");
    let parent = discover(&environment, environment.working_directory()).unwrap();
    let sub = submodule(&parent, "sub".into()).unwrap().unwrap();
    assert_eq!(sub.work_tree, Some(sandbox.root.join("main/sub")));
    assert_eq!(sub.index_path, sandbox.root.join("main/sub/.git/index"));
    assert_eq!(sub.config.string("a.b"), Some("c".into()));
    assert_eq!(sub.environment.get("GIT_INDEX_FILE"), None);
    let inner = submodule(&parent, "a/b".into()).unwrap().unwrap();
    assert_eq!(inner.git_dir, sandbox.root.join("main/.git/modules/b"));
    assert_eq!(inner.prefix, "");
    assert!(submodule(&parent, "empty".into()).unwrap().is_none());
    assert!(submodule(&parent, "none".into()).unwrap().is_none());
    assert_eq!(
        submodule(&parent, "link/b".into()).unwrap_err().to_string(),
        "expected 'link' in submodule path 'link/b' not to be a symbolic link"
    );
    sandbox.write("main/a/b/.git", "gitdir: none");
    assert_eq!(
        submodule(&parent, "a/b".into()).unwrap_err().to_string(),
        "gitfile does not point to a valid repository: a/b/.git"
    );
    std::fs::remove_dir_all(sandbox.root.join("main/sub/.git/refs")).unwrap();
    assert_eq!(
        submodule(&parent, "sub".into()).unwrap_err().to_string(),
        "'sub/.git' not recognized as a git repository"
    );
}

#[test]
fn a_submodule_that_is_the_repository_around_it_is_noticed() {
    let sandbox = Sandbox::new();
    sandbox.git("", &["init", "-q", "--separate-git-dir", "store", "inner"]);
    sandbox.git("inner", &["config", "core.worktree", ".."]);
    let environment = sandbox.with(&[], "inner");
    let top = discover(&environment, environment.working_directory()).unwrap();
    assert_eq!(top.work_tree, Some(sandbox.root.clone()));
    let once = submodule(&top, "inner".into()).unwrap().unwrap();
    assert_eq!(once.work_tree, top.work_tree);
    assert!(!once.contains_itself());
    let twice = submodule(&once, "inner".into()).unwrap().unwrap();
    assert!(twice.contains_itself());
}
