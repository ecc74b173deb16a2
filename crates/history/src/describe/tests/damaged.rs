//! Tags and commits that are damaged, malformed or missing.

use super::*;

#[test]
fn a_broken_tag_is_a_name_of_nothing() {
    let sandbox = five_commits();
    compare(&sandbox, &[], &["HEAD"], "none");
    let folder = sandbox.git_dir().join("refs/tags");
    std::fs::write(folder.join("broken"), "no id\n").unwrap();
    compare(&sandbox, &[], &["HEAD"], "broken");
    std::fs::write(folder.join("broken"), "ref: refs/tags/none\n").unwrap();
    compare(&sandbox, &[], &["HEAD"], "dangling");
    compare(&sandbox, &["--contains"], &["HEAD"], "dangling");
}

/// Creates a chain of tags of tags, `c000` and so on, that ends at the commit HEAD~1.
fn chain_of_tags(sandbox: &Sandbox, count: usize) {
    let start = sandbox.id("HEAD~1");
    let mut stream = String::new();
    for number in 0..count {
        let from = match number {
            0 => start.to_string(),
            number => format!(":{number}"),
        };
        let mark = number + 1;
        writeln!(
            stream,
            "tag c{number:03}\nmark :{mark}\nfrom {from}\ntagger T <t@t> 1700000000 +0000\ndata 0"
        )
        .unwrap();
    }
    sandbox.git_with_input(["fast-import", "--quiet", "--force"], stream.as_bytes());
}

#[test]
fn a_long_chain_of_tags_is_followed_to_its_end() {
    let sandbox = five_commits();
    chain_of_tags(&sandbox, 300);
    for name in ["c063", "c064", "c127", "c128", "c299"] {
        let only = format!("--match={name}");
        for options in [
            &[][..],
            &["--all"],
            &["--contains"],
            &[&only],
            &["--contains", &only],
        ] {
            compare(&sandbox, options, &[name], "");
            compare(&sandbox, options, &["HEAD", "HEAD~1"], "");
        }
    }
}

#[test]
fn circular_tags_resolve_to_nothing() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~2"]);
    sandbox.git(["tag", "-a", "-m", "x", "inner", "HEAD~1"]);
    let inner = sandbox.id("inner").to_string();
    let text = format!("object {inner}\ntype tag\ntag outer\ntagger T <t@t> 1 +0000\n\nx\n");
    let outer = sandbox.git_with_input(["mktag"], text.as_bytes());
    sandbox.git(["update-ref", "refs/tags/outer", &outer]);
    sandbox.git(["replace", "-f", &inner, &outer]);
    // git loops forever.
    for (options, described) in [(&[][..], "good-2-g"), (&["--all"], "heads/main")] {
        let (stdout, _) = ours(&sandbox, options, &["HEAD"]);
        assert!(stdout.starts_with(described), "{stdout}");
    }
    let (_, stderr) = ours(&sandbox, &[], &["outer"]);
    assert_eq!(stderr, "outer is neither a commit nor blob\n");
    for name in [
        "outer^{}",
        "outer^{commit}",
        "outer~1",
        "outer:file1",
        "outer^{/x}",
        ":/none",
    ] {
        let (stdout, stderr) = ours(&sandbox, &[], &[name]);
        assert_eq!(stdout, "", "{name}");
        assert!(
            stderr.contains("Not a valid object name"),
            "{name} {stderr}"
        );
    }
}

/// Damages the loose object `id`: replaces the contents of its file with `bytes`.
fn damage_object(sandbox: &Sandbox, id: &str, bytes: &[u8]) {
    let path = sandbox.loose_object(id);
    let kept = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let bytes = match bytes {
        b"cut" => &kept[..kept.len() / 2],
        b"tail" => &[kept.as_slice(), b"more"].concat(),
        other => other,
    };
    std::fs::write(path, bytes).unwrap();
}

/// Returns the contents of a loose object's file.
fn loose_object_file(kind: &str, content: &str) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    write!(encoder, "{kind} {}\0{content}", content.len()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_damaged_tag_is_reported_as_by_git() {
    let other = loose_object_file("tag", "object 1\n");
    for (name, bytes) in [
        ("empty", &b""[..]),
        ("cut", b"cut"),
        ("tail", b"tail"),
        ("of another id", &other),
    ] {
        for is_inner in [false, true] {
            let sandbox = five_commits();
            sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~3"]);
            sandbox.git(["tag", "-a", "-m", "x", "bad", "HEAD~1"]);
            let damaged = sandbox.id("bad").to_string();
            if is_inner {
                sandbox.git(["tag", "-f", "-a", "-m", "x", "bad", "bad"]);
            }
            damage_object(&sandbox, &damaged, bytes);
            for options in QUESTIONS {
                for revision in ["HEAD", "HEAD~1", "HEAD~3"] {
                    compare(&sandbox, options, &[revision], name);
                }
            }
            // Older versions of git say more about the tag itself.
            let (stdout, stderr) = ours(&sandbox, &["--always", "--match=good"], &["bad"]);
            let last = stderr.lines().last().unwrap();
            assert_eq!(stdout, "");
            let is_unread = last == "bad is neither a commit nor blob";
            assert!(
                is_unread || last.ends_with("is corrupt"),
                "{name}: {stderr}"
            );
            compare(&sandbox, &[], &["HEAD", "HEAD~3", "HEAD~2"], name);
        }
    }
}

#[test]
fn a_commit_whose_object_is_lost_is_described_by_no_commit_graph() {
    for (is_annotated, has_graph) in [(true, true), (false, true), (true, false), (false, false)] {
        for lost in ["HEAD", "HEAD~2"] {
            let sandbox = five_commits();
            sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~3"]);
            sandbox.git(["tag", "light", "HEAD~3"]);
            match is_annotated {
                true => sandbox.git(["tag", "-a", "-m", "x", "bad", "HEAD~2"]),
                false => sandbox.git(["tag", "bad", "HEAD~2"]),
            };
            sandbox.git(["pack-refs", "--all"]);
            if has_graph {
                sandbox.git(["commit-graph", "write", "--reachable"]);
            }
            let id = sandbox.id(lost).to_string();
            std::fs::remove_file(sandbox.loose_object(&id)).unwrap();
            for options in [
                &[][..],
                &["--tags"],
                &["--all"],
                &["--exact-match"],
                &["--always", "--match=bad"],
                &["--long", "--candidates=1"],
            ] {
                let remark = format!("{lost} {is_annotated} {has_graph}");
                compare(&sandbox, options, &["HEAD"], &remark);
            }
        }
    }
}

#[test]
fn a_tag_that_cannot_be_unpacked_is_passed_over() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~3"]);
    sandbox.git(["tag", "-a", "-m", "x", "bad", "HEAD~1"]);
    let id = sandbox.id("bad").to_string();
    damage_object(&sandbox, &id, b"garbage, and more of it");
    // Older versions of git exit here.
    let messages = format!(
        "error: inflate: data stream error (incorrect header check)\nerror: unable to unpack {id} header\n"
    );
    let commit = sandbox.git(["rev-parse", "--short", "HEAD"]);
    let described = format!("good-3-g{commit}\n");
    assert_eq!(
        ours(&sandbox, &[], &["HEAD"]),
        (described, messages.repeat(2))
    );
    assert_eq!(
        ours(&sandbox, &[], &["HEAD~3"]),
        ("good\n".to_owned(), messages.clone())
    );
    let messages = messages.repeat(3) + "bad is neither a commit nor blob\n";
    assert_eq!(ours(&sandbox, &[], &["bad"]), (String::new(), messages));
}

/// Makes the reference `name` lead to a new tag object with these contents, which need not be valid.
fn craft_tag(sandbox: &Sandbox, name: &str, content: &str) {
    let arguments = ["hash-object", "-t", "tag", "-w", "--literally", "--stdin"];
    let id = sandbox.git_with_input(arguments, content.as_bytes());
    std::fs::write(sandbox.git_dir().join(name), id + "\n").unwrap();
}

#[test]
fn a_malformed_tag_is_reported_as_by_git() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "good", "HEAD~3"]);
    let id = sandbox.id("HEAD~1").to_string();
    let short = &id[1..];
    for content in [
        format!("object {id}\ntype nonsense\ntag bad\n\ntext\n"),
        format!("object {id}\ntype {}\ntag bad\n\ntext\n", "x".repeat(20)),
        format!("object {id}\n"),
        format!("object {short}\ntype commit\ntag bad\n\ntext\n"),
        format!("object {id}\ntype commit\ntag"),
        format!("object {id}\ntype commit\ntag bad"),
        format!("object {id}\ntype commit\n\ntext of many letters\n"),
        format!("object {}\ntype commit\ntag bad\n\ntext\n", "0".repeat(40)),
        format!("object {}\ntype tag\ntag bad\n\ntext\n", "1".repeat(40)),
    ] {
        craft_tag(&sandbox, "refs/tags/bad", &content);
        for options in QUESTIONS {
            for revision in ["HEAD", "HEAD~1", "HEAD~3"] {
                compare(&sandbox, options, &[revision], &content);
            }
        }
        let (stdout, stderr) = ours(&sandbox, &["--always"], &["bad"]);
        assert!(
            stderr.ends_with("bad is neither a commit nor blob\n"),
            "{stdout}{stderr}"
        );
    }
}

#[test]
fn the_types_that_tags_name_count_until_the_objects_are_read() {
    for kind in ["blob", "tree", "tag"] {
        let sandbox = five_commits();
        let id = sandbox.id("HEAD~1").to_string();
        craft_tag(
            &sandbox,
            "refs/tags/bad",
            &format!("object {id}\ntype {kind}\ntag bad\n\nx\n"),
        );
        for tag in ["", "a", "z"] {
            if !tag.is_empty() {
                sandbox.git(["tag", "-a", "-m", "x", tag, "HEAD~1"]);
            }
            for options in QUESTIONS {
                for revision in ["HEAD", "HEAD~1", "HEAD~2"] {
                    compare(&sandbox, options, &[revision], kind);
                }
            }
            let neither = "bad is neither a commit nor blob\n".to_owned();
            if tag.is_empty() && kind != "tag" {
                assert_eq!(
                    ours(&sandbox, &[], &["bad"]),
                    (String::new(), neither),
                    "{kind}"
                );
            }
        }
        sandbox.git(["tag", "-d", "a"]);
        let bad = sandbox.git_dir().join("refs/tags/bad");
        let content = std::fs::read(&bad).unwrap();
        std::fs::remove_file(&bad).unwrap();
        sandbox.git(["commit-graph", "write", "--reachable"]);
        std::fs::write(&bad, content).unwrap();
        // Older versions of git do not read commits that are asked about from the commit-graph.
        let (_, stderr) = ours(&sandbox, &[], &["HEAD"]);
        let last = stderr.lines().last();
        assert_eq!(
            last,
            Some(format!("could not find commit {id}").as_str()),
            "{stderr}"
        );
    }
}

#[test]
fn a_tag_that_leads_to_no_commit_is_passed_over() {
    for (format, kind) in FORMATS {
        let sandbox = Sandbox::with_formats(format, kind);
        sandbox.write("file", "1\n");
        sandbox.git(["add", "file"]);
        sandbox.git(["commit", "-qm", "one"]);
        sandbox.git(["tag", "-am", "blob", "of-blob", "HEAD:file"]);
        sandbox.git(["tag", "-am", "tree", "of-tree", "HEAD^{tree}"]);
        sandbox.git(["tag", "-am", "again", "of-tag", "of-blob"]);
        sandbox.git(["tag", "plain-tree", "HEAD^{tree}"]);
        for options in [&["--contains"][..], &["--contains", "--all"]] {
            compare(&sandbox, options, &["HEAD"], "without a tag");
        }
        sandbox.git(["tag", "right"]);
        for remark in ["loose", "packed"] {
            for options in [&["--contains"][..], &["--contains", "--all"]] {
                compare(&sandbox, options, &["HEAD"], remark);
            }
            sandbox.git(["pack-refs", "--all"]);
        }
    }
}

#[test]
fn among_many_tags_those_that_lead_to_no_commit_count_as_in_git() {
    let sandbox = five_commits();
    let mut stream = String::new();
    for number in 0..2 * MANY {
        let commit = sandbox.id(&format!("HEAD~{}", number % 2 + 2));
        writeln!(
            stream,
            "tag t{number:03}\nfrom {commit}\ntagger T <t@t> {number} +0000\ndata 0"
        )
        .unwrap();
    }
    sandbox.git_with_input(["fast-import", "--quiet"], stream.as_bytes());
    let compare_all = |remark: &str| {
        for options in QUESTIONS {
            for revision in ["HEAD", "HEAD~1", "HEAD~3"] {
                compare(&sandbox, options, &[revision], remark);
            }
        }
    };
    compare_all("commits");
    sandbox.git(["tag", "-am", "blob", "of-blob", "HEAD:file1"]);
    sandbox.git(["tag", "-am", "again", "of-tag", "of-blob"]);
    compare_all("a blob");
    let id = sandbox.id("HEAD~1");
    let wrong = format!("object {id}\ntype tree\ntag wrong\n\nx\n");
    craft_tag(&sandbox, "refs/tags/a-wrong", &wrong);
    compare_all("a commit that is called a tree");
    craft_tag(&sandbox, "refs/tags/z-malformed", "object 1\n");
    compare_all("a malformed tag");
}

/// Removes the file of an object.
fn lose(sandbox: &Sandbox, name: &str) {
    let object = sandbox.loose_object(&sandbox.id(name).to_string());
    std::fs::remove_file(object).unwrap();
}

#[test]
fn a_blob_is_not_described_past_a_parent_that_is_missing() {
    let sandbox = five_commits();
    sandbox.git(["tag", "-a", "-m", "x", "first", "HEAD~2"]);
    lose(&sandbox, "HEAD~3");
    for name in ["HEAD:file4", "HEAD:file5", "HEAD:file1"] {
        compare(&sandbox, &[], &[name], "missing");
    }
    let tree = sandbox.id("HEAD^{tree}");
    let parent = sandbox.id("HEAD:file1");
    let child = format!(
        "tree {tree}\nparent {parent}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n"
    );
    let arguments = [
        "hash-object",
        "-t",
        "commit",
        "-w",
        "--literally",
        "--stdin",
    ];
    let child = sandbox.git_with_input(arguments, child.as_bytes());
    std::fs::write(sandbox.git_dir().join("refs/heads/main"), child + "\n").unwrap();
    compare(&sandbox, &[], &["HEAD:file4"], "a blob for a parent");
}

#[test]
fn a_borrowed_store_that_is_gone_is_reported_of_a_commit_that_it_had() {
    let sandbox = five_commits();
    let older = sandbox.id("HEAD~2").to_string();
    lose(&sandbox, "HEAD");
    sandbox.write(".git/objects/info/alternates", "/no/such/folder\n");
    for tag in [
        &[][..],
        &["tag", "light"],
        &["tag", "-a", "-m", "x", "full"],
    ] {
        if !tag.is_empty() {
            sandbox.git([tag, &[older.as_str()]].concat());
        }
        for options in [&["--always"][..], &["--tags"], &["--all"]] {
            for names in [&["HEAD"][..], &[older.as_str()], &["HEAD", &older]] {
                // Some versions repeat themselves.
                let (stdout, stderr) = theirs(&sandbox, options, names);
                let mut once: Vec<_> = stderr.split_inclusive('\n').collect();
                once.dedup();
                let ours = ours(&sandbox, options, names);
                assert_eq!(
                    ours,
                    (stdout, once.concat()),
                    "{tag:?} {options:?} {names:?}"
                );
            }
        }
    }
}
