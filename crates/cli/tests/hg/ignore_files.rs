//! Ignore files, and patterns as such.

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

#[test]
fn ignore_files_are_read_as_mercurial_does() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in [
            "a.o",
            "a.c",
            "d/a.o",
            "d/b.c",
            "d/e/c.c",
            "out/x",
            "#x",
            "s p",
            "d/patterns",
        ] {
            working.write(name, "");
        }
        for text in [
            "\\.o$\n",
            "syntax: glob\n*.o\n",
            "syntax: glob\nd\n",
            "syntax: rootglob\n*.c\n",
            "glob:**/e\nre:^out\n",
            "syntax: glob\n\\#x # comment\n",
            "syntax: nonsense\nsyntax:glob\n*.c\n",
            "include:d/patterns\n",
            "subinclude:d/patterns\n",
            "include:missing\n",
            "syntax: regexp\n*bad\n",
            "syntax: glob\n[z-a]\n",
            "(?i)A\\.[CO]$\n",
            "^d/e$\n",
            "^(?!d/)\n",
            "^(?!d(/|$)).*\\.c\nsyntax: glob\n*.o\n",
            "(?<!b)\\.c$\n(?=out)\n",
            "^d/(?=e)(?!.*\\.c$)\n\\.o$\n",
            "(?i)^A(?=\\.O)\n",
            "(?<=a*)b\n",
            "(?!x\n",
            "subinclude:d/more\n",
        ] {
            working.write("d/more", "^(?!e|more)\n");
            working.write(".hgignore", text);
            working.write("d/patterns", "syntax: glob\n*.c\n");
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-i"],
                &["status", "d/e", "a.o"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
        std::fs::write(working.0.home().join("more"), "a\n").unwrap();
        std::fs::remove_file(working.path(".hgignore")).unwrap();
        working.assert_same_as_hg(&["status", "--config", "ui.ignore=~/more"]);
        working.assert_same_as_hg(&["status", "--config", "ui.ignore.x=$HOME/more", "-i"]);
    }
}

#[test]
fn an_invalid_pattern_matters_only_where_it_is_used() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["c", "d/a", "d/e/b"] {
            working.write(name, "1\n");
        }
        working.commit("first");
        working.write("d/more", "*bad\n");
        for text in [
            "subinclude:d/more\n",
            "d/\nsubinclude:d/more\n",
            "^d$\nsubinclude:d/more\n",
            "subinclude:d/more\nd/more\n",
        ] {
            working.write(".hgignore", text);
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-i"],
                &["status", "-m"],
                &["status", "d"],
                &["status", "d/a"],
                &["status", "d/more"],
                &["status", "-A", "d/more"],
                &["status", "-i", "d/more"],
                &["status", "d/e/b"],
                &["status", "d/missing"],
                &["status", "d/e"],
                &["status", "-A", "d/e"],
                &["status", "d/more", "c"],
                &["status", "-I", "d/a"],
                &["status", "-I", "d/A.C"],
                &["status", "-I", "d/*.c"],
                &["status", "-A", "-X", "d"],
                &["status", "-q", "d/e"],
                &["status", "-m", "d"],
                &["status", "-q", "-I", ".", "d/e"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn only_files_and_folders_are_matched_with_patterns() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/a", "1\n");
        working.write("d/more", "*bad\n");
        working.commit("first");
        working.write(".hgignore", "subinclude:d/more\n");
        let pipe = working.path("d/pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for arguments in [&["status"][..], &["status", "-A"], &["status", "-i"]] {
            working.assert_same_as_hg(arguments);
        }
        // A file is looked up.
        working.write("d/b", "");
        working.assert_same_as_hg(&["status"]);
    }
}

#[test]
fn a_pattern_that_matches_the_top_ignores_all() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("c", "1\n");
        working.commit("first");
        for name in ["a\nb", "d/e", "d/new\nline", "x\ny/z"] {
            working.write(name, "1\n");
        }
        for text in [
            "syntax: glob\n*\n",
            "syntax: glob\n**\n",
            "syntax: rootglob\n*\n",
            "^$\n",
            "x*\n",
            "^x*$\n",
            "^nowhere\n",
            "subinclude:d/more\n",
        ] {
            working.write(".hgignore", text);
            working.write("d/more", "^$\n");
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-i"],
                &["status", "d"],
                &["status", "a\nb"],
                &["status", "-i", "a\nb", "d/e"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn what_is_ignored_in_a_nested_repository_is_not_listed_either() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("d/recorded", "1\n");
            working.write("e/recorded", "1\n");
            working.commit("first");
            working.write(".hgignore", "^[de]/\nother\n");
            for name in ["d/ignored", "e/ignored", "other/ignored"] {
                working.write(name, "");
            }
            working.hg(&["init", "d"]);
            working.hg(&["init", "other"]);
            working.write("d/recorded", "22\n");
            for options in ["-i", "-ai", "-mi", "-iu", "-A", "-mdi", "-c"] {
                working.assert_same_as_hg(&["status", options]);
            }
            working.assert_same_as_hg(&["status", "-i", "d"]);
        }
    }
}

#[test]
fn an_invalid_pattern_is_reported_only_where_mercurial_walks() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("clean", "");
            working.commit("first");
            working.write(".hgignore", "subinclude:d/more\n");
            working.write("d/more", "syntax: glob\nrelre:*.o\n");
            working.write("d/e/f", "");
            working.write("sp ace/inner", "");
            for arguments in [
                &["status", "sp ace", "d/e/missing"][..],
                &["status", "-u", "sp ace", "d/e/f/missing"],
                &["status", "-ui", "sp ace", "d/e/missing"],
                &["status", "sp ace", "d/e"],
                &["status", "sp ace", "d/e/f"],
                &["status", "sp ace", "d"],
                &["status", "d/e/missing"],
                &["status"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn an_invalid_pattern_for_a_nested_repository_is_not_read() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            for name in ["d/gone", "d/kept", "e/f/gone", "e/kept"] {
                working.write(name, "1\n");
            }
            working.commit("first");
            working.hg(&["init", "d"]);
            working.hg(&["init", "e"]);
            for name in ["d/gone", "e/f/gone"] {
                std::fs::remove_file(working.path(name)).unwrap();
            }
            for folder in ["d", "d/sub", "e/f"] {
                working.write(&format!("{folder}/more"), "syntax: glob\nrelre:*.o\n");
                working.write(".hgignore", format!("subinclude:{folder}/more\n"));
                for arguments in [
                    &["status"][..],
                    &["status", "-A"],
                    &["status", "-i"],
                    &["status", "-u"],
                    &["status", "-md"],
                    &["status", "-c"],
                    &["status", "d"],
                    &["status", "e"],
                    &["status", "-I", "d"],
                ] {
                    working.assert_same_as_hg(arguments);
                }
            }
        }
    }
}

#[test]
fn patterns_that_python_warns_of_are_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["a", "b", "c"] {
            working.write(name, "");
        }
        for (pattern, warns) in [
            ("re:[[:alpha:]]", true),
            ("re:[[]a", true),
            ("re:[a&&b]", true),
            ("re:[a||b]", true),
            ("re:[a~~b]", true),
            ("re:[+--b]", true),
            ("re:[a-b--c]", true),
            ("re:[]&&b]", true),
            ("glob:[[]", true),
            ("glob:[^&&b]", true),
            ("re:[^[]b", false),
            ("re:[a[b]", false),
            ("re:[&&b]", false),
            ("re:[^&&b]", false),
            ("re:[--b]", false),
            ("re:[a&b-]", false),
            ("re:[a&\\&]", false),
            ("glob:[!&&b]", false),
        ] {
            let arguments = ["status", pattern];
            if !warns {
                working.assert_same_as_hg(&arguments);
                continue;
            }
            let stderr = working.hg(&arguments).stderr;
            let stderr = String::from_utf8_lossy(&stderr);
            let of_mercurial = stderr.contains("FutureWarning: Possible");
            assert!(of_mercurial, "{pattern}: {stderr}");
            let (_, stderr, _) = working.vigil(&arguments);
            assert!(stderr.contains("another meaning in Python"), "{stderr}");
        }
        working.write(".hgignore", "[a&&b]\n");
        let (_, stderr, _) = working.vigil(&["status"]);
        assert!(stderr.contains("another meaning in Python"), "{stderr}");
    }
}

#[test]
fn a_flag_of_a_pattern_is_not_both_set_and_cleared() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["a", "b"] {
            working.write(name, "");
        }
        let mut server = working.server();
        for flags in [
            "i-i", "i-m", "-i", "im-m", "i-mm", "ii-m", "aL", "aa", "a-L", "i-", "i-a",
        ] {
            let pattern = format!("re:(?{flags}:A)");
            working.assert_same_as_hg_server(&mut server, &["status", &pattern]);
        }
        working.assert_same_as_hg_server(&mut server, &["status", "re:(?aL)a"]);
    }
}

#[test]
fn a_wrong_pattern_that_is_subincluded_twice_is_reported_where_it_would_apply() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("d/e/tracked", "1");
        working.commit("0");
        for name in ["d/e/new", "d/new", "new"] {
            working.write(name, "");
        }
        working.write(".hgignore", "subinclude:d/.hgignore\n");
        working.write("d/.hgignore", "subinclude:e/.hgignore\n");
        working.write("d/e/.hgignore", "re:(\n");
        for arguments in [
            &["status"][..],
            &["status", "-i"],
            &["status", "-m"],
            &["status", "new"],
            &["status", "d/new"],
            &["status", "d/e/new"],
            &["status", "-i", "d/e"],
            &["status", "-i", "new"],
        ] {
            working.assert_same_as_hg(arguments);
            working.assert_same_as_hg_in("d", arguments);
        }
    }
}
