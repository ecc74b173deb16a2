//! Changesets by name, compared with each other and with the working copy.

use std::os::unix::fs::symlink;

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

/// Makes a history with two branches that are merged, copies on both, tags and bookmarks.
fn history(working: &WorkingCopy) {
    for name in ["a", "b", "c", "d/e", "d/f", "x"] {
        working.write(name, format!("{name}\n{}", "text\n".repeat(20)));
    }
    working.commit("0");
    working.write("a", "changed\n");
    working.hg(&["copy", "b", "copied"]);
    working.hg(&["move", "c", "moved"]);
    working.commit("1");
    working.hg(&["tag", "-d", "0 0", "-r", "0", "v1"]);
    working.hg(&["tag", "--local", "-r", "1", "here-only"]);
    working.hg(&["bookmark", "-r", "1", "mark"]);
    working.hg(&["bookmark", "-i", "-r", "0", "odd-mark"]);
    working.hg(&["update", "-q", "0"]);
    working.hg(&["branch", "-q", "side"]);
    working.hg(&["move", "d/e", "d/g"]);
    working.hg(&["copy", "a", "from-a"]);
    working.write("b", "other\n");
    working.commit("3");
    working.hg(&["move", "d/g", "d/h"]);
    working.hg(&["remove", "x"]);
    working.commit("4");
    working.hg(&["merge", "-q", "-r", "2"]);
    working.commit("5");
    working.hg(&["tag", "-d", "0 0", "-f", "-r", "1", "v1"]);
    working.hg(&["tag", "-d", "0 0", "-r", "1", "gone"]);
    working.hg(&["tag", "-d", "0 0", "--remove", "gone"]);
    working.hg(&["commit", "-q", "--close-branch", "-m", "9", "-d", "0 0"]);
    working.hg(&["update", "-q", "2"]);
    working.hg(&["tag", "-d", "0 0", "-f", "-r", "2", "v1"]);
}

/// Makes the working copy differ from its parent.
fn changes(working: &WorkingCopy) {
    working.write("a", "a\ntext\n");
    working.write("b", "other\n");
    working.hg(&["copy", "d/f", "d/new"]);
    working.hg(&["remove", "d/e"]);
    working.write("unknown", "u\n");
    working.write("from-a", "u\n");
    working.write("d/h", "h\n");
    working.hg(&["add", "d/h"]);
    std::fs::remove_file(working.path("moved")).unwrap();
    std::fs::remove_file(working.path("x")).unwrap();
    symlink("a", working.path("x")).unwrap();
}

#[test]
fn changesets_are_found_by_their_names() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.assert_same_as_hg(&["status", "--rev", "tip", "--rev", "null"]);
        working.assert_same_as_hg(&["status", "--rev", "0"]);
        history(&working);
        let mut server = working.server();
        let node = working.hg(&["log", "-r", "1", "-T", "{node}"]).stdout;
        let node = String::from_utf8(node).unwrap();
        for name in [
            &node,
            &node[..12],
            &node[..4],
            &format!("x{}", &node[..6]),
            ".",
            "null",
            "tip",
            "wdir()",
            "3",
            "-1",
            "-9",
            "-99",
            "99",
            "v1",
            "gone",
            "here-only",
            "here-only:mark",
            "mark",
            "odd-mark",
            "odd-mark^",
            "no-mark",
            "mark-nothing",
            "default",
            "side",
            "nothing",
            "",
            "p1()",
            "p2()",
            "p1(4)",
            "p2(5)",
            "p2(4)",
            "5^2",
            "5^0",
            "5^3",
            "4~2",
            "4~x",
            "0^",
            "0~1",
            "wdir()^",
            "wdir()~2",
            "side~1^",
            "'side'",
            "''",
            "\"\"",
            "(side)",
            "side^^^^^^",
            "0:3",
            "3:0",
            ":3",
            "3:",
            ":",
            "0::4",
            "4::0",
            "1::3",
            "3::3",
            "3:3",
            "3..4",
            "v1:side",
            "null:1",
            "1:null",
            "wdir():1",
            "1:wdir()",
            "-3:-1",
            "0:0^",
            "00000",
            "fffff",
            "ffffffffffffffffffffffffffffffffffffffff",
        ] {
            working.assert_same_as_hg_server(&mut server, &["status", "--rev", name, "-A"]);
            working.assert_same_as_hg_server(&mut server, &["status", "--change", name, "-C"]);
        }
        for (one, other) in [
            ("0", "4"),
            ("4", "4"),
            ("0^", "4"),
            ("4", "p2()"),
            ("p2()", "p2()"),
            ("wdir()", "wdir()"),
            ("nothing", "0"),
        ] {
            working.assert_same_as_hg(&["status", "--rev", one, "--rev", other]);
        }
        working.assert_same_as_hg(&["status", "--rev", "1", "--rev", "2", "--rev", "1"]);
        working.hg(&["tag", "--local", "-r", "1", "odd name"]);
        working.assert_same_as_hg(&["status", "--change", "odd name"]);
        working.assert_same_as_hg(&["status", "--rev", "odd name:2"]);
        working.assert_same_as_hg(&["status", "--rev", "odd name", "--rev", "2"]);
        let (_, stderr, code) = working.vigil(&["status", "--rev", "odd name"]);
        assert_eq!(code, Some(255));
        assert!(stderr.contains("set of revisions 'odd name'"), "{stderr}");
        working.assert_same_as_hg(&["status", "--rev", "1", "--change", "1"]);
        working.assert_same_as_hg(&["status", "--rev", "1", "--terse", "u"]);
        working.assert_same_as_hg(&[
            "status",
            "--rev",
            "1",
            "--config",
            "commands.status.terse=u",
        ]);
        working.assert_same_as_hg(&["status", "--change", "1", "--terse", "mardu", "-A"]);
        for detailed in ["nothing", "5^3", "0^", ""] {
            let option = "ui.detailed-exit-code=yes";
            working.assert_same_as_hg(&["status", "--rev", detailed, "--config", option]);
        }
    }
}

#[test]
fn changesets_and_the_working_copy_are_compared() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            history(&working);
            changes(&working);
            let names = ["null", "0", "1", "2", "4", "5", "tip", "wdir()"];
            let mut server = working.server();
            for from in names {
                working.assert_same_as_hg_server(&mut server, &["status", "-A", "--rev", from]);
                working.assert_same_as_hg_server(
                    &mut server,
                    &["status", "-m", "--rev", from, "d", "a"],
                );
                for to in names {
                    let question = ["status", "-A", "--rev", from, "--rev", to];
                    working.assert_same_as_hg_server(&mut server, &question);
                }
            }
            for more in [
                &["-0", "-C", "--rev", "0"][..],
                &["-T", "json", "-C", "--rev", "5"],
                &["--rev", "1", "nowhere", "d/e", "copied"],
                &["--rev", "1", "--rev", "4", "nowhere", "d", "c"],
                &["-C", "--rev", "5", "-X", "d"],
                &["-C", "--rev", "5", "--rev", "1", "-I", "glob:*e*"],
                &["--rev", "0", "--rev", "1", "path:x/y"],
                &["--rev", "0", "--rev", "1", ".hg/hgrc"],
                &["--rev", "0", "--rev", "1", "../outside"],
                &["--rev", "1", "x/y"],
                &["-n", "--change", "4"],
            ] {
                working.assert_same_as_hg_server(&mut server, &[&["status"], more].concat());
            }
            working.assert_same_as_hg_in("d", &["status", "--rev", "4", "nowhere", ".."]);
            working.assert_same_as_hg_in("d", &["status", "-A", "--rev", "4", "--rev", "0", "."]);
        }
    }
}

#[test]
fn copies_are_traced_as_configured() {
    let names = ["0", "1", "2", "4", "5", "wdir()"];
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        history(&working);
        changes(&working);
        let mut server = working.server();
        for setting in [
            "experimental.copytrace=off",
            "experimental.copytrace=heuristics",
            "experimental.copies.read-from=filelog-only",
            "experimental.copies.read-from=auto",
        ] {
            for (from, to) in names.iter().flat_map(|from| names.map(|to| (*from, to))) {
                let question = ["status", "-C", "--rev", from, "--rev", to];
                let question = [&question[..], &["--config", setting]].concat();
                working.assert_same_as_hg_server(&mut server, &question);
            }
        }
        for refused in [
            "experimental.copies.read-from=changeset-only",
            "experimental.copies.read-from=compatibility",
            "devel.copy-tracing.trace-all-files=yes",
        ] {
            let question = ["status", "-C", "--rev", "0", "--config", refused];
            let (_, stderr, code) = working.vigil(&question);
            let name = refused.split('=').next().unwrap();
            assert!(stderr.contains(&format!("the setting {name}")), "{stderr}");
            assert_eq!(code, Some(255));
        }
    }
}

#[test]
fn a_merge_in_progress_is_compared_with_others() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        history(&working);
        working.hg(&["update", "-q", "-C", "4"]);
        working.hg(&["merge", "-q", "-r", "1"]);
        for from in ["0", "1", "p2()", ".", "wdir()^2", "tip"] {
            working.assert_same_as_hg(&["status", "-AC", "--rev", from]);
            working.assert_same_as_hg(&["status", "-AC", "--rev", "wdir()", "--rev", from]);
        }
    }
}

#[test]
fn ambiguous_and_hidden_names_are_refused() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for n in 0..30 {
            working.write("a", format!("{n}"));
            working.commit(&format!("{n}"));
        }
        let mut server = working.server();
        for digit in "0123456789abcdef".chars() {
            for name in [
                digit.to_string(),
                format!("{digit}{digit}"),
                format!("{digit}^"),
            ] {
                working.assert_same_as_hg_server(&mut server, &["status", "--change", &name]);
            }
        }
        // Every node begins with what follows this letter: nothing.
        for set in ["x", "x:0", "x or 0", "'x'", "branch(x)", "x^", "xx", "x-0"] {
            for option in ["--rev", "--change"] {
                working.assert_same_as_hg_server(&mut server, &["status", option, set]);
            }
        }
        std::fs::remove_dir_all(working.path(".hg/cache")).unwrap();
        working.assert_same_as_hg(&["status", "--change", "default"]);
        let hides = ["--config", "experimental.evolution=all"];
        let node = working.hg(&["log", "-r", "29", "-T", "{node}"]).stdout;
        let node = String::from_utf8(node).unwrap();
        working.hg(&["update", "-q", "28"]);
        working.hg(&[&["debugobsolete", &node], &hides[..]].concat());
        let (_, stderr, code) = working.vigil(&["status", "--rev", "tip"]);
        assert_eq!(code, Some(255));
        assert!(stderr.contains("obsolete markers"), "{stderr}");
        working.assert_same_as_hg(&["status", "--rev", "."]);
        let mut server = working.server();
        for name in ["tip", "29", "-1", &node, "28"] {
            working.assert_same_as_hg_server(&mut server, &["status", "--hidden", "--rev", name]);
            working
                .assert_same_as_hg_server(&mut server, &["status", "--hidden", "--change", name]);
        }
        working.assert_same_as_hg(&["status", "-A", "--hidden", "--traceback"]);
        let (_, stderr, _) = working.vigil(&["status", "--hidden", "--rev", "default"]);
        assert!(stderr.contains("names of branches"), "{stderr}");
    }
}

#[test]
fn aliases_of_revisions_are_expanded() {
    const ALIASES: &str = "[revsetalias]
there = 0
second = there + 1
last = heads(all())
between($1, $2) = $1::$2 - $1
up(x) = x^ or between(x, tip)
tip = 1
null = 1
twice(a) = 1
twice = 2
a-b = 1
";
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for name in ["a", "b", "c", "d"] {
            working.write(name, "1");
            working.commit(name);
        }
        working.write_config(&ALIASES.replace("a-b = 1\n", ""));
        for set in [
            "there",
            "second",
            "'there'",
            "last",
            "max(last)",
            "between(0, 3)",
            "up(2)",
            "up(second)",
            "tip",
            "null",
            ".",
            "twice",
            "there:last",
            "between(there, last) - 2",
            "1-there",
        ] {
            working.assert_same_as_hg(&["status", "-A", "--rev", set]);
        }
        working.assert_same_as_hg(&["status", "--change", "second"]);
        working.assert_same_as_hg(&["status", "--rev", "null", "--rev", "there"]);
        for refused in [
            "last(all())",
            "between(1)",
            "between",
            "there()",
            "twice(1)",
        ] {
            let (_, stderr, _) = working.vigil(&["status", "--rev", refused]);
            // A function without its arguments is an unknown name.
            let expected = if refused == "between" {
                "unknown revision"
            } else {
                "the set of"
            };
            assert!(stderr.contains(expected), "{refused}: {stderr}");
        }
        working.write_config(ALIASES);
        let (_, stderr, _) = working.vigil(&["status", "--rev", "0"]);
        assert!(stderr.contains("revsetalias.a-b"), "{stderr}");
        working.write_config("");
        // Mercurial warns of those that are wrong, wherever it understands names.
        for wrong in ["x=(", "x(=1", "x y=1", "x="] {
            let alias = format!("revsetalias.{wrong}");
            let (_, stderr, _) = working.vigil(&["status", "--rev", "0", "--config", &alias]);
            assert!(stderr.contains("revsetalias.x"), "{stderr}");
            working.assert_same_as_hg(&["status", "--rev", ".", "--config", &alias]);
            working.assert_same_as_hg(&["status", "--config", &alias]);
        }
        for right in ["x=nosuch()", "x(a, b)=a - b", "x=desc(y)"] {
            let alias = format!("revsetalias.{right}");
            working.assert_same_as_hg(&["status", "--rev", "0", "--config", &alias]);
        }
    }
}

#[test]
fn a_command_that_an_alias_makes_another_is_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "1");
        for (command, alias) in [
            ("st", "st=!status"),
            ("st", "st=log"),
            ("status", "status=status --nothing"),
        ] {
            let alias = format!("alias.{alias}");
            let (_, stderr, _) = working.vigil(&[command, "--config", &alias]);
            assert!(stderr.contains("the alias '"), "{command}: {stderr}");
        }
        for (command, alias) in [("st", "stx"), ("stat", "st"), ("status", "st")] {
            let alias = format!("alias.{alias}=status -m");
            working.assert_same_as_hg(&[command, "--config", &alias]);
        }
    }
}

#[test]
fn names_of_patches_are_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("f", "1");
        working.commit("0");
        working.write("f", "2");
        let mq = ["--config", "extensions.mq="];
        working.assert_same_as_hg(&[&["status", "--rev", "."][..], &mq].concat());
        working.hg(&[&["qnew", "-q", "patch"][..], &mq].concat());
        working.assert_same_as_hg(&[&["status"][..], &mq].concat());
        let (_, stderr, _) = working.vigil(&[&["status", "--rev", "patch^"][..], &mq].concat());
        assert!(stderr.contains("patches of mq"), "{stderr}");
    }
}

#[test]
fn changesets_are_found_by_what_their_descriptions_say() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for (number, message) in [
            "First one",
            "second ONE",
            "third\n\nlong text",
            "literal:x i-0",
        ]
        .into_iter()
        .enumerate()
        {
            working.write("a", format!("{number}\n"));
            working.write(&format!("f{number}"), "");
            working.commit(message);
        }
        for text in [
            "desc(second)",
            "desc('first')",
            "desc(\"ONE\")",
            "desc(long)",
            "desc(TEXT)^",
            "desc('i-0')",
            "desc('literal:literal:x')",
            "desc(nowhere)",
            "desc(nowhere)^",
            "desc(first):desc(third)",
            "desc(first)::desc(third)",
            "(desc(first))",
        ] {
            working.assert_same_as_hg(&["status", "--rev", text]);
            working.assert_same_as_hg(&["status", "--change", text]);
            if text != "desc(\"ONE\")" && !text.contains("):") {
                working.assert_same_as_hg(&["status", "--rev", text, "--rev", "tip"]);
            }
        }
        working.assert_same_as_hg(&["status", "--rev", "desc(first)", "--rev", "desc('i-0')"]);
        working.assert_same_as_hg(&["status", "--rev", "desc(nowhere)", "--rev", "desc(first)"]);
    }
}

#[test]
fn a_tag_that_heads_disagree_on_is_where_it_was_moved_last_or_most_often() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for name in ["a", "b", "c"] {
            working.write(name, name);
            working.commit(name);
        }
        let nodes = working.hg(&["log", "-r", "0:2", "-T", "{node} "]).stdout;
        let nodes = String::from_utf8(nodes).unwrap();
        let nodes: Vec<&str> = nodes.split_whitespace().collect();
        let nowhere = "0".repeat(40);
        // Each row is a tag: where it was put on one head, and where on the other. A dash removes it.
        let rows = [
            ("a", "b"),
            ("ab", "a"),
            ("a", "ab"),
            ("abc", "ba"),
            ("ab", "baba"),
            ("a-", "a"),
            ("a-", "-b"),
        ];
        let lines = |number: usize, places: &str| -> String {
            let line = |place| {
                let node = "abc".find(place).and_then(|at| nodes.get(at));
                format!("{} tag{number}\n", node.unwrap_or(&nowhere.as_str()))
            };
            places.chars().map(line).collect()
        };
        let numbered = || rows.iter().enumerate();
        let one: String = numbered().map(|(at, row)| lines(at, row.0)).collect();
        let other: String = numbered().map(|(at, row)| lines(at, row.1)).collect();
        working.write(".hgtags", one);
        working.commit("one head");
        working.hg(&["update", "-q", "-r", "2"]);
        working.write(".hgtags", other);
        working.commit("another head");
        for (number, _) in numbered() {
            working.assert_same_as_hg(&["status", "--rev", &format!("tag{number}")]);
        }
    }
}

#[test]
fn the_tags_of_heads_are_found_by_the_cache_of_mercurial_as_far_as_it_is_right() {
    const RECORD_LEN: usize = 24;
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "a");
        working.commit("a");
        working.hg(&["tag", "-d", "0 0", "-r", "0", "one"]);
        working.hg(&["tag", "-d", "0 0", "-f", "-r", "1", "one"]);
        working.hg(&["status", "--rev", "one"]);
        let cache = working.path(".hg/cache/hgtagsfnodes1");
        let right = std::fs::read(&cache).unwrap();
        let (before, last) = (RECORD_LEN, 2 * RECORD_LEN);
        let with_older = [&right[..last + 4], &right[before + 4..last]].concat();
        let with_nothing = [&right[..last + 4], &[0; 20][..]].concat();
        let with_unknown = [&right[..last + 4], &[9; 20][..]].concat();
        let of_another = [&right[..last], &[9; 4][..], &right[before + 4..last]].concat();
        for (case, bytes) in [
            ("right", &right[..]),
            ("an older version", &with_older),
            ("no version", &with_nothing),
            ("an unknown version", &with_unknown),
            ("another changeset", &of_another),
            ("cut off", &with_older[..last + 10]),
            ("empty", &[]),
        ] {
            // Otherwise Mercurial would know the tags themselves.
            std::fs::remove_file(working.path(".hg/cache/tags2-visible")).unwrap();
            std::fs::write(&cache, bytes).unwrap();
            let arguments = ["status", "--rev", "one", "-T", &format!("{case}: {{path}}")];
            working.assert_same_as_hg(&arguments);
        }
    }
}

#[test]
fn a_changelog_that_is_cut_off_is_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for number in 0..3 {
            working.write("f", number.to_string());
            working.commit(&format!("{number}"));
        }
        let texts = working.path(".hg/store/00changelog.d");
        let Ok(all) = std::fs::read(&texts) else {
            // Older releases keep short texts in the index.
            continue;
        };
        for len in [0, 1, all.len() - 1] {
            std::fs::write(&texts, &all[..len]).unwrap();
            working.assert_same_as_hg(&["status", "--change", "tip"]);
        }
    }
}

#[test]
fn a_share_has_the_bookmarks_of_its_source_only_with_the_extension() {
    for hg in hg_programs() {
        let with_share =
            "[extensions]\nshare=\n[format]\nuse-share-safe=no\nbookmarks-in-store=no\n";
        let working = WorkingCopy::with_config(&hg, with_share);
        working.write("f", "1\n");
        working.commit("0");
        working.hg(&["bookmark", "there"]);
        working.hg(&["share", "-q", "-B", ".", "../share"]);
        for config in [with_share, "[extensions]\nshare=!\n"] {
            working.write_config(config);
            let own = working.path("../share/.hg/bookmarks");
            for here in ["", "0000000000000000000000000000000000000000 here\n"] {
                std::fs::write(&own, here).unwrap();
                for name in ["there", "here", "bookmark(there)"] {
                    let arguments = ["status", "-A", "--rev", name];
                    working.assert_same_as_hg_in("../share", &arguments);
                }
            }
            std::fs::write(working.path("../share/.hg/bookmarks.current"), "there").unwrap();
            let active = working
                .run_vigil("../share", &["status", "--format=line"])
                .stdout;
            let is_active = active.starts_with(b"default bookmark there ");
            assert_eq!(is_active, config == with_share);
        }
    }
}

#[test]
fn of_lines_with_one_name_the_last_with_a_known_changeset_counts() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, "[experimental]\nevolution=all\n");
        for text in ["0", "1", "2"] {
            working.write("f", text);
            working.commit(text);
        }
        let nodes = String::from_utf8(working.hg(&["log", "-T", "{node}\n"]).stdout).unwrap();
        let [two, one, zero] = nodes.lines().collect::<Vec<_>>()[..] else {
            panic!("{nodes}");
        };
        let unknown = "1".repeat(40);
        // With an obsolete changeset, bookmarks and local tags also decide what is visible.
        working.hg(&["debugobsolete", two]);
        working.hg(&["update", "-q", "1"]);
        for pairs in [
            [(zero, "x"), (one, "x")],
            [(one, "x"), (&unknown, "x")],
            [(&unknown, "x"), (&unknown, "y")],
            [(zero, "x"), (two, "y")],
            [(two, "x"), (zero, "x")],
        ] {
            let lines = pairs.map(|(node, name)| format!("{node} {name}\n"));
            for file in ["bookmarks", "localtags"] {
                working.write(&format!(".hg/{file}"), lines.concat());
                for name in [
                    "x",
                    "y",
                    "bookmark('re:[xy]')",
                    "tag('re:[xy]')",
                    "max(all())",
                ] {
                    let arguments = ["status", "-A", "--rev", name];
                    working.assert_same_as_hg(&arguments);
                }
                std::fs::remove_file(working.path(&format!(".hg/{file}"))).unwrap();
            }
        }
    }
}
