//! Submodules, and the places where git reads their settings.

use bstr::ByteSlice;
use vigil_testkit::sandbox::git_is_at_least;

use crate::sandbox::Sandbox;

/// A repository with a submodule `s` that has a commit of its own and something untracked.
fn with_submodule(modules: &str) -> Sandbox {
    let sandbox = Sandbox::with_history();
    let nested = Sandbox::with_history();
    std::fs::rename(nested.top(), sandbox.top().join("s")).unwrap();
    sandbox.write(".gitmodules", modules);
    sandbox.git(["-c", "advice.addEmbeddedRepo=false", "add", "."]);
    sandbox.git(["commit", "-q", "-m", "module"]);
    sandbox.write("s/new", "");
    sandbox.write("s/a", "changed");
    sandbox
}

fn assert_same_statuses(sandbox: &Sandbox) {
    for arguments in [
        &["status", "-s"][..],
        &["status", "--porcelain=v2", "--branch"],
        &["status"],
        &["status", "-s", "-uno"],
        &["status", "-s", "--ignore-submodules=none"],
    ] {
        sandbox.assert_same_as_git(arguments);
        sandbox.assert_same_as_git(arguments);
    }
}

const IGNORED: &str = "[submodule \"s\"]\n\tpath = s\n\turl = nowhere\n\tignore = all\n";

/// git looks in the working tree, then in the index, then in HEAD.
#[test]
fn rules_for_submodules_are_those_of_head_where_there_are_no_others() {
    let sandbox = with_submodule(IGNORED);
    assert_same_statuses(&sandbox);
    sandbox.git(["mv", ".gitmodules", "renamed"]);
    assert_same_statuses(&sandbox);
    sandbox.git(["commit", "-q", "-m", "renamed"]);
    assert_same_statuses(&sandbox);
    sandbox.git(["reset", "-q", "--soft", "HEAD^"]);
    assert_same_statuses(&sandbox);
    sandbox.git(["rm", "-q", "--cached", "renamed"]);
    assert_same_statuses(&sandbox);
    sandbox.git(["config", "submodule.s.ignore", "untracked"]);
    assert_same_statuses(&sandbox);
    let unborn = with_submodule(IGNORED);
    unborn.git(["rm", "-q", "--cached", ".gitmodules"]);
    std::fs::remove_file(unborn.top().join(".gitmodules")).unwrap();
    unborn.git(["update-ref", "-d", "HEAD"]);
    assert_same_statuses(&unborn);
}

#[test]
fn a_blob_that_is_no_configuration_is_reported() {
    for bad in [
        "[bad\n",
        "nonsense\n",
        "[submodule \"s\"]\n\tpath = s\n\tignore = all\n\t!\n",
    ] {
        for modules in [
            bad.to_owned(),
            format!("{IGNORED}{bad}"),
            format!("{bad}{IGNORED}"),
        ] {
            let sandbox = with_submodule(&modules);
            std::fs::remove_file(sandbox.top().join(".gitmodules")).unwrap();
            assert_same_statuses(&sandbox);
            sandbox.git(["rm", "-q", "--cached", ".gitmodules"]);
            assert_same_statuses(&sandbox);
            sandbox.git(["reset", "-q", "--hard"]);
            sandbox.write("s/a", "changed");
            assert_same_statuses(&sandbox);
            std::fs::remove_file(sandbox.top().join(".gitmodules")).unwrap();
            std::fs::create_dir(sandbox.top().join(".gitmodules")).unwrap();
            assert_same_statuses(&sandbox);
        }
    }
}

/// git takes the directory for the submodule, and looks for nothing untracked in it.
#[test]
fn entries_below_a_submodule() {
    for stages in [&[0][..], &[2], &[2, 3], &[1, 2, 3]] {
        for name in ["s/x", "s/dir/x"] {
            let sandbox = with_submodule("");
            // git itself removes the submodule when it adds something below it.
            let aside = name.replacen('s', "t", 1);
            let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
            let lines = stages.iter();
            let lines = lines.map(|stage| format!("100644 {empty} {stage}\t{aside}\n"));
            sandbox.git_with_input(["update-index", "--index-info"], lines.collect::<String>());
            let index = std::fs::read(sandbox.top().join(".git/index")).unwrap();
            let index = index.replace(&aside, name);
            std::fs::write(sandbox.top().join(".git/index"), index).unwrap();
            for arguments in [
                &["--no-optional-locks", "status", "-s"][..],
                &["--no-optional-locks", "status", "-s", "-uall", "--ignored"],
                &["--no-optional-locks", "status", "-s", "s"],
            ] {
                sandbox.assert_same_as_git(arguments);
                sandbox.assert_same_as_git(arguments);
            }
        }
    }
}

#[test]
fn a_rule_without_a_value_is_refused_where_it_is_used() {
    for path in ["s", "t"] {
        let rule = format!("[submodule \"n\"]\n\tpath = {path}\n\tignore = all\n");
        let sandbox = with_submodule(&rule);
        sandbox.assert_same_as_git(&["-c", "submodule.n.ignore", "status", "-s"]);
        sandbox.assert_same_as_git(&["-c", "submodule.n.ignore=", "status", "-s"]);
        sandbox.assert_same_as_git(&["-c", "submodule.n.ignore", "status", "-s", "a"]);
        let mut config = sandbox.read(".git/config");
        config.extend_from_slice(b"[submodule \"n\"]\n\tignore\n");
        sandbox.write(".git/config", config);
        assert_same_statuses(&sandbox);
        sandbox.assert_same_as_git(&["-c", "submodule.n.ignore=none", "status", "-s"]);
    }
}

#[test]
fn unusable_values_of_gitmodules_are_skipped_and_reported() {
    let with = |name: &str, rest: &str| format!("[submodule \"{name}\"]\n\tpath = s\n{rest}");
    let claimed_twice = "[submodule \"a\"]\n\tpath = s\n\tignore = all\n[submodule \"b\"]\n\tpath = s\n\
                         [submodule \"a\"]\n\tpath = s\n";
    let mut all = vec![
        with("ok", "\tignore = all\n"),
        with("ok", "\tignore = bogus\n"),
        with("ok", "\tignore = all\n\turl = -q\n\tpath = -x\n"),
        claimed_twice.to_owned(),
        claimed_twice.replace("[submodule \"a\"]\n\tpath = s\n\tignore = all\n", ""),
    ];
    for name in [
        "../x",
        "x/../y",
        "..",
        "x/..",
        r"x\\..\\y",
        "",
        "a/../../b",
        "...",
        "a..b",
    ] {
        all.push(with(name, "\tignore = all\n\turl = x\n"));
    }
    for modules in all {
        assert_same_statuses(&with_submodule(&modules));
    }
}

/// git reads the file entry by entry: it says what there is to say before it stops, and stops in a blob only where it exits.
#[test]
fn what_gitmodules_says_before_a_fatal_value_is_said() {
    const WARNED: &str = "[submodule \"..\"]\n\tpath = x\n[submodule \"s\"]\n\tpath = s\n\tignore = bogus\n\tignore = all\n";
    for bad in [
        "\tupdate = !x\n",
        "\tfetchRecurseSubmodules = x\n",
        "\tshallow = x\n",
        "\tbranch\n",
        "\tignore\n",
        "\tpath\n",
        "\t!\n",
    ] {
        for modules in [
            format!("{WARNED}{bad}{IGNORED}"),
            format!("[submodule \"s\"]\n{bad}{WARNED}"),
        ] {
            let sandbox = with_submodule(&modules);
            assert_same_statuses(&sandbox);
            std::fs::remove_file(sandbox.top().join(".gitmodules")).unwrap();
            assert_same_statuses(&sandbox);
            sandbox.git(["rm", "-q", "--cached", ".gitmodules"]);
            assert_same_statuses(&sandbox);
        }
    }
}

#[test]
fn control_characters_of_gitmodules_are_replaced() {
    let mut modules = "[submodule \"../\u{1}\"]\n\tpath = s\n".to_owned();
    modules += "[submodule \"\u{2}\"]\n\tpath = \"-\\b\"\n\tignore = \"a\\tb\\bc\"\n";
    assert_same_statuses(&with_submodule(&modules));
    modules += "\tupdate = x\n";
    assert_same_statuses(&with_submodule(&modules));
}

/// A submodule that gets another path gives up its first one for all.
#[test]
fn a_path_that_is_claimed_and_given_up_belongs_to_no_submodule() {
    let other = "[submodule \"other\"]\n\tpath = s\n";
    let ignored = IGNORED.replace("\turl = nowhere\n", "");
    for modules in [
        format!("{ignored}{other}\tpath = t\n"),
        format!("{ignored}{other}\tignore = untracked\n[submodule \"s\"]\n\tpath = t\n"),
        format!("{ignored}\tpath = t\n"),
        format!("{ignored}\tpath = t\n\tpath = s\n"),
        format!("{other}{ignored}{other}"),
    ] {
        assert_same_statuses(&with_submodule(&modules));
    }
}

/// git reads a submodule's configuration only when it runs itself there, but for the format.
#[test]
fn a_bad_configuration_in_a_submodule_is_blamed_on_it() {
    let (clean, changed, outer) = (with_submodule(""), with_submodule(""), with_submodule(""));
    changed.write("a", "changed");
    std::fs::rename(with_submodule("").top(), outer.top().join("t")).unwrap();
    outer.git(["-c", "advice.addEmbeddedRepo=false", "add", "t"]);
    let absorbed = with_submodule(&IGNORED.replace("all", "none"));
    absorbed.git(["submodule", "-q", "absorbgitdirs"]);
    for bad in [
        "[status]\n\tshowUntrackedFiles = bogus\n",
        "[diff]\n\trenames = bogus\n",
        "[diff]\n\tignoreSubmodules = false\n",
        "[status]\n\tshowStash = bogus\n",
        "[advice]\n\tstatusHints = x\n",
        "[core]\n\texcludesFile = ~nosuch/x\n",
        "[core]\n\tpreloadIndex = x\n",
        "[core]\n\tbare = x\n",
        "[column]\n\tui = always,x\n",
        "[column]\n\tui\n",
        "[color \"diff\"]\n\tmeta = xx\n",
        "[color \"status\"]\n\tadded = xx\n",
        "[include]\n\tpath = config\n",
        "[include]\n\tpath\n",
        "[include]\n\tpath = ~nosuch/x\n",
        "[includeIf \"gitdir:/\"]\n\tpath = ~nosuch/x\n",
        "[extensions]\n\tworktreeConfig\n",
        "[syntax\n",
    ] {
        let is_in_other_files = bad.starts_with("[include") || bad.starts_with("[extensions");
        if is_in_other_files && !git_is_at_least("git", 55) {
            // Some older ones read all files beforehand.
            continue;
        }
        let with_bad = |sandbox: &Sandbox, git_dir: &str, ask: &dyn Fn()| {
            let name = format!("{git_dir}/config");
            let sound = sandbox.read(&name);
            sandbox.write(&name, [&sound, bad.as_bytes()].concat());
            sandbox.write(format!("{git_dir}/config.worktree"), "[syntax\n");
            ask();
            sandbox.write(&name, sound);
        };
        for sandbox in [&clean, &changed] {
            with_bad(sandbox, "s/.git", &|| {
                sandbox.assert_same_as_git(&["describe", "--always", "--dirty"]);
                if git_is_at_least("git", 47) {
                    sandbox.assert_same_as_git(&["describe", "--always", "--broken"]);
                }
            });
        }
        with_bad(&clean, "s/.git", &|| {
            assert_same_statuses(&clean);
            clean.assert_same_as_git(&["status", "-s", "--ignore-submodules=dirty"]);
        });
        with_bad(&outer, "t/s/.git", &|| assert_same_statuses(&outer));
        let git_dir = ".git/modules/s";
        with_bad(&absorbed, git_dir, &|| assert_same_statuses(&absorbed));
    }
}

/// git warns each time it looks for the commit, in the repository that is checked out and in the one that is kept.
#[test]
fn a_submodule_of_an_unknown_format_is_warned_of() {
    for key in ["core.repositoryFormatVersion", "extensions.unknown"] {
        for is_kept in [false, true] {
            let sandbox = with_submodule(&IGNORED.replace("all", "none"));
            if is_kept {
                sandbox.git(["submodule", "-q", "absorbgitdirs"]);
            }
            sandbox.git_in("s", ["config", "core.repositoryFormatVersion", "1"]);
            sandbox.git_in("s", ["config", key, "9"]);
            assert_same_statuses(&sandbox);
            for ignored in ["dirty", "untracked"] {
                let option = format!("--ignore-submodules={ignored}");
                sandbox.assert_same_as_git(&["status", "-s", &option]);
                sandbox.assert_same_as_git(&["status", "-s", &option, "a"]);
            }
            sandbox.assert_same_as_git(&["describe", "--always", "--dirty"]);
        }
    }
}

/// Changes a folder of a sandbox.
type Deed<'d> = &'d dyn Fn(&Sandbox, &str);

/// git runs itself in a submodule, and that writes to the same standard error.
#[test]
fn what_is_said_in_a_submodule_is_said() {
    let negative = |sandbox: &Sandbox, folder: &str| {
        sandbox.write(format!("{folder}.gitattributes"), "!x a\n");
    };
    let endless = |sandbox: &Sandbox, folder: &str| {
        let link = sandbox.path(format!("{folder}.gitignore"));
        std::os::unix::fs::symlink(".gitignore", link).unwrap();
    };
    let marks = |sandbox: &Sandbox, folder: &str| {
        let encoding = "a working-tree-encoding=UTF-16\n";
        sandbox.write(format!("{folder}.gitattributes"), encoding);
    };
    let filter = |sandbox: &Sandbox, folder: &str| {
        sandbox.write(format!("{folder}.gitattributes"), "a filter=x\n");
        sandbox.git_in(folder, ["config", "filter.x.clean", "false"]);
    };
    let required = |sandbox: &Sandbox, folder: &str| {
        filter(sandbox, folder);
        sandbox.git_in(folder, ["config", "filter.x.required", "true"]);
    };
    let sync = |sandbox: &Sandbox, folder: &str| {
        sandbox.git_in(folder, ["config", "core.fsync", "bogus"]);
    };
    let ends = |sandbox: &Sandbox, folder: &str| {
        sync(sandbox, folder);
        sandbox.git_in(folder, ["config", "diff.renames", "bogus"]);
    };
    let all: [Deed<'_>; 7] = [
        &negative, &endless, &marks, &filter, &required, &sync, &ends,
    ];
    for make in all {
        let sandbox = with_submodule("");
        make(&sandbox, "s/");
        assert_same_statuses(&sandbox);
        make(&sandbox, "");
        assert_same_statuses(&sandbox);
        let nested = with_submodule("");
        let sandbox = with_submodule("");
        std::fs::rename(nested.top(), sandbox.top().join("t")).unwrap();
        sandbox.git(["-c", "advice.addEmbeddedRepo=false", "add", "t"]);
        negative(&sandbox, "t/");
        make(&sandbox, "t/s/");
        assert_same_statuses(&sandbox);
        make(&sandbox, "s/");
        assert_same_statuses(&sandbox);
    }
}

/// They are asked at the same time, but git asks one after the other, and stops at the first error.
#[test]
fn many_submodules_are_told_of_in_order() {
    let sandbox = with_submodule("");
    let names: Vec<String> = (10..60).map(|number| format!("m{number}")).collect();
    for name in &names {
        sandbox.git(["clone", "-q", "s", name.as_str()]);
    }
    sandbox.git(["-c", "advice.addEmbeddedRepo=false", "add", "."]);
    sandbox.git(["commit", "-q", "-m", "many"]);
    sandbox.write("m12/new", "");
    sandbox.write("m31/a", "changed");
    sandbox.git_in("m32", ["commit", "-q", "--allow-empty", "-m", "later"]);
    sandbox.write("m59/a", "changed");
    for name in ["m20", "m21", "m52"] {
        sandbox.write(format!("{name}/.gitattributes"), format!("!{name} a\n"));
    }
    assert_same_statuses(&sandbox);
    for name in ["m51", "m40"] {
        sandbox.git_in(name, ["config", "status.showUntrackedFiles", name]);
        assert_same_statuses(&sandbox);
    }
    for name in ["m45", "m35"] {
        sandbox.write(
            ".gitmodules",
            format!("[submodule \"x\"]\n\tpath = {name}\n\turl = x\n\tignore = bogus\n"),
        );
        assert_same_statuses(&sandbox);
    }
}
