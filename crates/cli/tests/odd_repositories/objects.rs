//! Objects that are missing, replaced, grafted or elsewhere.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::sandbox::{QUESTIONS, STATUS_COMMANDS, Sandbox, fatal_output};

#[test]
fn a_missing_replacement_ends_commands_that_read_the_object() {
    const GONE: &str = "2222222222222222222222222222222222222222";
    for replaced in [
        "HEAD",
        "HEAD~1",
        "HEAD^{tree}",
        "HEAD~1^{tree}",
        "HEAD:b",
        "v2",
    ] {
        let sandbox = Sandbox::new();
        let id = sandbox.git(["rev-parse", replaced]);
        sandbox.write_in_git_dir(&format!("refs/replace/{id}"), &format!("{GONE}\n"));
        for name in ["HEAD^{tree}", "HEAD:b", "HEAD", "v2", "HEAD:", &id] {
            sandbox.assert_same_name(name);
            sandbox.assert_same(&["cat-file", "--batch"], &format!("{name}\n"));
            sandbox.assert_same(&["cat-file", "-p", name], "");
            sandbox.assert_same(&["cat-file", "-t", name], "");
        }
        // Older versions of git give up if only a tag is missing.
        if replaced != "v2" {
            sandbox.assert_same(&["describe", "--dirty"], "");
            sandbox.assert_same(&["describe", "--tags", "good"], "");
        }
        for arguments in STATUS_COMMANDS {
            sandbox.assert_same(arguments, "");
        }
        std::fs::write(sandbox.top().join("b"), "changed").unwrap();
        for arguments in STATUS_COMMANDS {
            sandbox.assert_same(arguments, "");
        }
    }
    // Older versions of git differ in what they read.
    let sandbox = Sandbox::new();
    let id = sandbox.git(["rev-parse", "HEAD~2"]);
    sandbox.write_in_git_dir(&format!("refs/replace/{id}"), &format!("{GONE}\n"));
    let fatal = format!("fatal: replacement {GONE} not found for {id}\n");
    for arguments in [&["describe"][..], &["describe", "--contains", "good"]] {
        assert_eq!(sandbox.vigil_output(arguments, ""), fatal_output(&fatal));
    }
    std::fs::remove_dir_all(sandbox.top().join(".git/refs/replace")).unwrap();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    sandbox.write_in_git_dir(&format!("refs/replace/{head}"), &format!("{GONE}\n"));
    let fatal = format!("fatal: replacement {GONE} not found for {head}\n");
    let asked = &["describe", "--contains", "good"];
    assert_eq!(sandbox.vigil_output(asked, ""), fatal_output(&fatal));
}

#[test]
fn grafts_are_called_deprecated_when_a_commit_is_read() {
    for (lines, advice) in [
        ("", None),
        ("bad line\n", None),
        ("bad line\n", Some("false")),
        ("{0} {2}\n", None),
        ("{0} {2}\n", Some("false")),
        ("{0} {2}\n{0} {1}\n", Some("true")),
    ] {
        let sandbox = Sandbox::new();
        let mut lines = lines.to_owned();
        for back in 0..3 {
            let id = sandbox.git(["rev-parse", &format!("HEAD~{back}")]);
            lines = lines.replace(&format!("{{{back}}}"), &id);
        }
        sandbox.write_in_git_dir("info/grafts", &lines);
        if let Some(advice) = advice {
            sandbox.run("git", &["config", "advice.graftFileDeprecated", advice], "");
        }
        for arguments in QUESTIONS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same_name(":/b");
        sandbox.assert_same(
            &["cat-file", "--batch-check"],
            "HEAD~1\nHEAD\nHEAD~1^{tree}\n",
        );
    }
}

/// What a tag says of the type of its target may make a second look at all references necessary.
#[test]
fn grafts_are_called_deprecated_where_tags_point_to_tags() {
    let sandbox = Sandbox::new();
    sandbox.git(["tag", "-m", "tag", "first", "HEAD~1"]);
    sandbox.git(["tag", "-m", "tag of a tag", "second", "first"]);
    sandbox.write_in_git_dir("info/grafts", "bad line\n");
    for arguments in [&["describe", "HEAD~1"][..], &["describe", "HEAD~1", "HEAD"]] {
        sandbox.assert_same(arguments, "");
    }
    sandbox.assert_same_name(":/b");
    sandbox.assert_same_name("HEAD~1");
    sandbox.git(["replace", "HEAD", "HEAD~1"]);
    sandbox.assert_same(&["describe", "HEAD~1"], "");
}

/// Where nothing changes the history that it records, commits are read from the commit-graph.
#[test]
fn grafts_without_effect_are_called_deprecated_though_there_is_a_commit_graph() {
    let sandbox = Sandbox::new();
    sandbox.git(["commit-graph", "write", "--reachable"]);
    for lines in ["", "# comment\n", "bad line\n"] {
        sandbox.write_in_git_dir("info/grafts", lines);
        for arguments in QUESTIONS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same_name(":/b");
        sandbox.assert_same_name("HEAD");
        sandbox.assert_same_name("HEAD~1");
    }
}

/// What a tag says of the type of its target may make a second look at all references necessary.
#[test]
fn a_bad_name_of_a_replacement_is_reported_where_tags_point_to_tags() {
    let sandbox = Sandbox::new();
    sandbox.git(["tag", "-m", "tag", "first", "HEAD~1"]);
    sandbox.git(["tag", "-m", "tag of a tag", "second", "first"]);
    sandbox.git(["update-ref", "refs/replace/bad", "HEAD"]);
    for arguments in [
        &["describe"][..],
        &["describe", "HEAD~1"],
        &["describe", "HEAD~1", "HEAD"],
    ] {
        sandbox.assert_same(arguments, "");
    }
}

#[test]
fn missing_alternates_are_reported_when_an_object_is_asked_for() {
    for lines in [
        "/nonexistent/objects\n",
        "../no\n",
        "relative\n",
        "/dev/null\n",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write_in_git_dir("objects/info/alternates", lines);
        for arguments in QUESTIONS {
            sandbox.assert_same(arguments, "");
        }
        for name in ["HEAD", ":/b", "abcd", "HEAD~1:x", ":a", ":x"] {
            sandbox.assert_same_name(name);
            sandbox.assert_same(&["cat-file", "--batch-check"], &format!("{name}\n{name}\n"));
        }
        sandbox.assert_same(&["cat-file", "--batch-check"], "");
        // Older versions of git look for them again, and repeat the message.
        let missing = "1".repeat(40) + "\n";
        let stderr = sandbox
            .vigil_output(&["cat-file", "--batch-check"], &missing)
            .stderr;
        assert_eq!(stderr.lines().count(), lines.lines().count(), "{stderr}");
    }
}

#[test]
fn alternates_that_cannot_be_read_are_reported_when_an_id_is_abbreviated() {
    let sandbox = Sandbox::new();
    sandbox.git(["clone", "-q", "--bare", ".", "../other"]);
    let objects = sandbox.path("../other/objects");
    let list = objects.to_str().unwrap();
    sandbox.write_in_git_dir("objects/info/alternates", &format!("{list}\n"));
    for unreadable in ["pack", ""] {
        let path = objects.join(unreadable);
        std::fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        for arguments in [
            &["describe"][..],
            &["describe", "--always", "--match=x", "HEAD", "HEAD~1"],
            &["describe", "--dirty"],
        ] {
            sandbox.assert_same_without_privileges(arguments);
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_damaged_index_of_a_pack_is_reported_for_each_search_for_an_abbreviated_id() {
    let sandbox = Sandbox::new();
    sandbox.write_in_git_dir("objects/pack/pack-1.pack", "PACK");
    sandbox.write_in_git_dir("objects/pack/pack-1.idx", "garbage");
    for id in ["1111111", "abcd"] {
        sandbox.assert_same(&["cat-file", "-t", id], "");
    }
}

#[test]
fn packs_that_cannot_be_listed_are_reported_when_an_object_is_asked_for() {
    let no_folder = |sandbox: &Sandbox| {
        std::fs::remove_dir_all(sandbox.git_dir().join("objects/pack")).unwrap();
        sandbox.write_in_git_dir("objects/pack", "no folder");
    };
    let empty_index =
        |sandbox: &Sandbox| sandbox.write_in_git_dir("objects/pack/multi-pack-index", "");
    let short_chain = |sandbox: &Sandbox| {
        let chain = "objects/pack/multi-pack-index.d/multi-pack-index-chain";
        sandbox.write_in_git_dir(chain, "short\n");
    };
    for damage in [&no_folder as &dyn Fn(&Sandbox), &empty_index, &short_chain] {
        let sandbox = Sandbox::new();
        damage(&sandbox);
        for arguments in QUESTIONS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same(&["describe", "--all"], "");
        sandbox.assert_same(&["describe", "v2", "good"], "");
        for name in ["HEAD", ":/b", "v2^{}", "HEAD~1:x"] {
            sandbox.assert_same_name(name);
        }
    }
}

#[test]
fn a_link_is_compared_with_the_object_that_stands_for_it() {
    let sandbox = Sandbox::new();
    // A new link has stat data that are not in the index.
    let link = |target: &str| {
        std::os::unix::fs::symlink(target, sandbox.path("new")).unwrap();
        std::fs::rename(sandbox.path("new"), sandbox.path("link")).unwrap();
    };
    link("target");
    sandbox.git(["add", "link"]);
    sandbox.git(["commit", "-q", "-m", "link"]);
    link("target");
    sandbox.assert_same(&["status", "-s"], "");
    let id = sandbox.id(":link").to_string();
    let other = sandbox.git_with_input(["hash-object", "-w", "--stdin"], "target of another");
    sandbox.git(["replace", &id, other.trim()]);
    sandbox.assert_same(&["status", "-s"], "");
    link("target of another");
    sandbox.assert_same(&["status", "-s"], "");
    sandbox.git(["replace", "-d", &id]);
    link("target");
    std::fs::remove_file(sandbox.loose_object(&id)).unwrap();
    std::fs::remove_dir_all(sandbox.state_folder()).unwrap();
    for arguments in [&["status", "-s"][..], &["describe", "--dirty"]] {
        sandbox.assert_same(arguments, "");
    }
}

#[test]
fn malformed_replace_references_are_warned_of_once() {
    let sandbox = Sandbox::new();
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let head = head.trim();
    let blob = sandbox.git(["rev-parse", "HEAD:a"]);
    let other = sandbox.git(["rev-parse", "HEAD:b"]);
    sandbox.write_in_git_dir(&format!("refs/replace/folder/{}", blob.trim()), &other);
    for name in ["bad", "in/folder", &head[1..]] {
        sandbox.write_in_git_dir(&format!("refs/replace/{name}"), &format!("{head}\n"));
    }
    sandbox.write_in_git_dir("objects/info/alternates", "/nowhere\n");
    let compare = || {
        for arguments in STATUS_COMMANDS {
            sandbox.assert_same(arguments, "");
        }
        for arguments in [
            &["describe"][..],
            &["describe", "--dirty"],
            &["describe", "--contains", "HEAD~"],
            &["cat-file", "-p", "HEAD:a"],
            &["cat-file", "--batch-all-objects", "--batch-check"],
            &["--no-replace-objects", "cat-file", "-t", "HEAD"],
            &["-c", "core.useReplaceRefs=no", "status", "-s"],
        ] {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same_name("HEAD");
    };
    compare();
    sandbox.git(["pack-refs", "--all"]);
    compare();
}

#[test]
fn all_objects_are_listed_in_spite_of_broken_references() {
    let sandbox = Sandbox::new();
    sandbox.git(["pack-refs", "--all"]);
    let path = sandbox.git_dir().join("packed-refs");
    let packed = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, packed + "no line\n").unwrap();
    sandbox.assert_same(&["cat-file", "--batch-all-objects", "--batch-check"], "");
    sandbox.assert_same(&["cat-file", "--batch-all-objects", "--batch"], "");
    sandbox.assert_same_name("HEAD");
}

#[test]
fn broken_replace_references_are_warned_of() {
    let sandbox = Sandbox::new();
    let ask = || {
        for arguments in STATUS_COMMANDS {
            sandbox.assert_same(arguments, "");
        }
        sandbox.assert_same(&["cat-file", "-p", "HEAD"], "");
        sandbox.assert_same(&["describe"], "");
    };
    for content in ["", "nonsense\n", "ref: refs/heads/none\n"] {
        sandbox.write_in_git_dir("refs/replace/abc", content);
        ask();
    }
    std::fs::remove_file(sandbox.git_dir().join("refs/replace/abc")).unwrap();
    let blob = sandbox.git(["rev-parse", "HEAD:b"]);
    sandbox.write_in_git_dir(&format!("refs/replace/{blob}"), "nonsense\n");
    ask();
    sandbox.assert_same_name("HEAD:b");
}
