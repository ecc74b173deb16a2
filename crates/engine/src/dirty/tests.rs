use super::*;
use crate::testing::repository_at;
use vigil_git::child::FilterStderr;
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_testkit::sandbox::Sandbox;

/// Whether the working tree is dirty, in our view and in git's.
fn dirtiness(sandbox: &Sandbox) -> (bool, bool) {
    let repository = repository_at(&sandbox.top());
    let refs = Refs::open(&repository);
    let objects = Objects::open_with(&repository, &refs).unwrap();
    let context = Context {
        repository: &repository,
        refs: &refs,
        objects: &objects,
    };
    let own = repository_at(&sandbox.top());
    let settings = settings_of(&own).unwrap();
    let mut session = Session::open_with(own, settings, false, FilterStderr::Inherit).unwrap();
    let ours = look_at_worktree(&mut session, context).unwrap().is_dirty;
    let theirs = sandbox.git(["describe", "--always", "--dirty"]);
    (ours, theirs.ends_with("-dirty"))
}

#[test]
fn the_working_tree_is_dirty_where_git_says_so() {
    let write = |sandbox: &Sandbox, name: &str, text: &str| {
        std::fs::write(sandbox.top().join(name), text).unwrap();
    };
    let remove = |sandbox: &Sandbox, name: &str| {
        std::fs::remove_file(sandbox.top().join(name)).unwrap();
    };
    type NamedState<'a> = (&'a str, bool, &'a dyn Fn(&Sandbox));
    let states: [NamedState<'_>; 9] = [
        ("clean", false, &|_| {}),
        ("untracked", false, &|s| write(s, "new", "x")),
        ("modified", true, &|s| write(s, "file1", "x")),
        ("staged and taken back", true, &|s| {
            write(s, "file1", "x");
            s.git(["add", "file1"]);
            write(s, "file1", "file1");
        }),
        ("deleted", true, &|s| remove(s, "file1")),
        ("only in the index", false, &|s| {
            write(s, "new", "x");
            s.git(["add", "new"]);
            remove(s, "new");
        }),
        ("intended", true, &|s| {
            write(s, "new", "x");
            s.git(["add", "-N", "new"]);
        }),
        ("intended and gone", false, &|s| {
            write(s, "new", "x");
            s.git(["add", "-N", "new"]);
            remove(s, "new");
        }),
        ("an empty file gone", true, &|s| {
            write(s, "empty", "");
            s.git(["add", "empty"]);
            s.commit("empty");
            remove(s, "empty");
        }),
    ];
    for (name, expected, change) in states {
        let sandbox = Sandbox::new().with_five_commits();
        change(&sandbox);
        assert_eq!(dirtiness(&sandbox), (expected, expected), "{name}");
    }
}

#[test]
fn submodules_with_everything_left_out_are_not_dirty() {
    type Step<'a> = &'a dyn Fn(&Sandbox);
    let commit: Step<'_> = &|s| {
        let args = ["commit", "-q", "--allow-empty", "-m", "new"];
        s.git_in(s.top().join("sub"), args);
    };
    let states: [(&str, Step<'_>); 6] = [
        ("clean", &|_| {}),
        ("new commit", commit),
        ("staged", &|s| {
            commit(s);
            s.git(["add", "sub"]);
        }),
        ("added", &|s| {
            s.git_in(s.top(), ["init", "-q", "more"]);
            let args = ["commit", "-q", "--allow-empty", "-m", "new"];
            s.git_in(s.top().join("more"), args);
            s.git(["add", "more"]);
        }),
        ("removed", &|s| drop(s.git(["rm", "-q", "--cached", "sub"]))),
        ("now a file", &|s| {
            s.git(["rm", "-q", "--cached", "sub"]);
            std::fs::remove_dir_all(s.top().join("sub")).unwrap();
            std::fs::write(s.top().join("sub"), "x").unwrap();
            s.git(["add", "sub"]);
        }),
    ];
    for (ignore, states) in [
        ("ignore = all", &states[..]),
        ("ignore = dirty", &states[2..3]),
    ] {
        for (name, change) in states {
            let sandbox = Sandbox::new().with_five_commits();
            sandbox.git_in(sandbox.top(), ["init", "-q", "sub"]);
            commit(&sandbox);
            let module =
                |name| format!("[submodule \"{name}\"]\n\tpath = {name}\n\turl = x\n{ignore}\n");
            let modules = [module("sub"), module("more")].concat();
            std::fs::write(sandbox.top().join(".gitmodules"), modules).unwrap();
            sandbox.git(["add", ".gitmodules", "sub"]);
            sandbox.commit("with a submodule");
            change(&sandbox);
            let (ours, theirs) = dirtiness(&sandbox);
            assert_eq!(ours, theirs, "{name} {ignore}");
        }
    }
}

#[test]
fn nothing_is_looked_at_in_submodules_once_they_differ() {
    type NamedState<'a> = (&'a str, &'a dyn Fn(&Sandbox));
    let write = |sandbox: &Sandbox, name: &str, text: &str| {
        std::fs::write(sandbox.top().join(name), text).unwrap();
    };
    let states: [NamedState<'_>; 5] = [
        ("a bad .gitmodules behind a change", &|s| {
            write(s, "file1", "changed");
            write(s, ".gitmodules", "[submodule \"sub\"]\n\tupdate = !x\n");
        }),
        ("a link", &|s| {
            std::fs::rename(s.top().join("sub"), s.top().join("moved")).unwrap();
            std::os::unix::fs::symlink("moved", s.top().join("sub")).unwrap();
        }),
        ("a damaged index beside a new commit", &|s| {
            let args = ["commit", "-q", "--allow-empty", "-m", "new"];
            s.git_in(s.top().join("sub"), args);
            write(s, "sub/.git/index", "damaged");
        }),
        ("a damaged index behind a change", &|s| {
            write(s, "file1", "changed");
            write(s, "sub/.git/index", "damaged");
        }),
        ("no repository behind a change", &|s| {
            write(s, "file1", "changed");
            for sub in ["sub", "sub2"] {
                std::fs::remove_dir_all(s.top().join(sub).join(".git")).unwrap();
                write(s, &format!("{sub}/.git"), "gitdir: nowhere\n");
            }
        }),
    ];
    for (name, change) in states {
        let sandbox = Sandbox::new().with_five_commits();
        for sub in ["sub", "sub2"] {
            sandbox.git_in(sandbox.top(), ["init", "-q", sub]);
            let args = ["commit", "-q", "--allow-empty", "-m", "new"];
            sandbox.git_in(sandbox.top().join(sub), args);
            sandbox.git(["add", sub]);
        }
        sandbox.commit("with a submodule");
        change(&sandbox);
        assert_eq!(dirtiness(&sandbox), (true, true), "{name}");
    }
}

#[test]
fn a_submodule_in_conflict_is_dirty_where_git_says_so() {
    type Step<'a> = &'a dyn Fn(&Sandbox);
    let commit: Step<'_> = &|s| {
        let args = ["commit", "-q", "--allow-empty", "-m", "new"];
        s.git_in(s.top().join("sub"), args);
    };
    let steps: [(&str, Step<'_>); 6] = [
        ("as in HEAD", &|_| {}),
        ("another commit", commit),
        ("a change", &|s| {
            std::fs::write(s.top().join("sub/file"), "changed").unwrap();
        }),
        ("a new file", &|s| {
            std::fs::write(s.top().join("sub/new"), "").unwrap();
        }),
        ("no repository", &|s| {
            std::fs::remove_dir_all(s.top().join("sub")).unwrap();
            std::fs::create_dir(s.top().join("sub")).unwrap();
        }),
        ("gone", &|s| {
            std::fs::remove_dir_all(s.top().join("sub")).unwrap();
        }),
    ];
    for (name, step) in steps {
        for sides in ["23", "2", "3", "123", "13", "12"] {
            let sandbox = Sandbox::new().with_five_commits();
            sandbox.git_in(sandbox.top(), ["init", "-q", "sub"]);
            std::fs::write(sandbox.top().join("sub/file"), "").unwrap();
            sandbox.git_in(sandbox.top().join("sub"), ["add", "file"]);
            commit(&sandbox);
            sandbox.git(["add", "sub"]);
            sandbox.commit("with a submodule");
            let id = sandbox.git(["rev-parse", "HEAD:sub"]);
            sandbox.git(["update-index", "--force-remove", "sub"]);
            for side in sides.chars() {
                // Ours is that of HEAD.
                let id = match side {
                    '2' => id.trim().to_owned(),
                    _ => side.to_string().repeat(id.trim().len()),
                };
                let line = format!("160000 {id} {side}\tsub\n");
                sandbox.git_with_input(["update-index", "--index-info"], line);
            }
            step(&sandbox);
            let (ours, theirs) = dirtiness(&sandbox);
            assert_eq!(ours, theirs, "{name}, {sides}");
        }
    }
}
