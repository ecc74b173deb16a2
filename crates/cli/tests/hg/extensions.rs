//! Extensions of Mercurial that change a status in some working copies only.

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

/// Asserts that a status is left to Mercurial, because of what has this in its message.
#[track_caller]
fn assert_left(working: &WorkingCopy, arguments: &[&str], why: &str) {
    let (stdout, stderr, code) = working.vigil(arguments);
    assert_eq!((stdout.as_str(), code), ("", Some(255)), "{arguments:?}");
    assert!(stderr.contains(why), "{stderr}");
}

/// Makes a history in which files of more than five bytes are kept elsewhere.
fn with_contents_elsewhere(working: &WorkingCopy) {
    for name in ["small", "large", "same", "copied", "d/renamed", "gone"] {
        working.write(name, format!("contents of {name}, which are long\n"));
    }
    working.write("small", "12\n");
    working.write("escaped", "\u{1}\nlong enough\n");
    std::os::unix::fs::symlink("a long target", working.path("link")).unwrap();
    working.commit("0");
    working.hg(&["copy", "copied", "copy"]);
    working.hg(&["rename", "d/renamed", "moved"]);
    working.write("large", "other contents, which are long\n");
    working.commit("1");
    working.hg(&["copy", "large", "new copy"]);
    working.hg(&["remove", "gone"]);
}

#[test]
fn contents_that_are_kept_elsewhere_are_compared() {
    let config = "[extensions]\nlfs =\n[lfs]\ntrack = size('>5B')\n";
    let questions = [
        &["status"][..],
        &["status", "-A"],
        &["status", "-AC", "--rev", "0"],
        &["status", "-C", "--rev", "0", "--rev", "1"],
        &["status", "-C", "--rev", "1", "--rev", "0"],
        &["status", "--change", "1"],
        &["status", "-A", "--config", "extensions.lfs=!"],
    ];
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let format = format!("[format]\nuse-dirstate-v2={is_v2}\n");
            let working = WorkingCopy::with_config(&hg, &format!("{config}{format}"));
            with_contents_elsewhere(&working);
            let requires = std::fs::read_to_string(working.path(".hg/store/requires"));
            let requires =
                requires.or_else(|_| std::fs::read_to_string(working.path(".hg/requires")));
            assert!(requires.unwrap().lines().any(|line| line == "lfs"));
            // Mercurial turns the extension on by itself.
            working.write_config(&format);
            let all_same = || {
                for question in questions {
                    working.assert_same_as_hg(question);
                }
            };
            all_same();
            // The same contents with other times, and other contents of the same length.
            for name in ["same", "copy", "moved", "escaped", "large"] {
                let contents = std::fs::read(working.path(name)).unwrap();
                working.write(name, contents);
            }
            all_same();
            for name in ["same", "copy", "moved", "escaped", "large"] {
                let mut contents = std::fs::read(working.path(name)).unwrap();
                contents[5] ^= 1;
                working.write(name, contents);
            }
            all_same();
            for name in ["same", "copy"] {
                working.write(name, "a");
            }
            all_same();
            // The contents need not be there, not even where Mercurial fetches them.
            working.hg(&["update", "-q", "-C", "1"]);
            working.write("same", "contents of SAME, which are long\n");
            working.write("copy", "contents of COPIED, which are long\n");
            all_same();
            let answers = || questions.map(|question| working.vigil(question));
            let before = answers();
            std::fs::remove_dir_all(working.path(".hg/store/lfs")).unwrap();
            let cache = working.home().join(".cache/lfs");
            std::fs::remove_dir_all(cache).unwrap();
            assert_eq!(answers(), before);
        }
    }
}

#[test]
fn settings_of_lfs_that_say_or_fail_are_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, "[extensions]\nlfs =\n");
        working.write("a", "1");
        working.assert_same_as_hg(&["status"]);
        for setting in [
            "lfs.url=https://example.org/store",
            "lfs.url=file:/nowhere",
            "lfs.retry=3",
            "lfs.track=none()",
            "paths.default=https://example.org/there",
            "experimental.lfs.disableusercache=yes",
        ] {
            working.assert_same_as_hg(&["status", "--config", setting]);
        }
        for setting in [
            "lfs.url=what://ever",
            "lfs.retry=often",
            "experimental.lfs.disableusercache=maybe",
        ] {
            assert_left(&working, &["status", "--config", setting], "the setting ");
        }
        let setting = "paths.default=https://example.org/there";
        let question = ["status", "-v", "--config", setting];
        assert_left(&working, &question, "messages of lfs");
    }
}

#[test]
fn extensions_are_allowed_where_they_change_nothing() {
    let config = "[extensions]\nlargefiles =\neol =\nkeyword =\nmercurial_keyring = !\n";
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, config);
        for name in ["a", "b", "d/c", "gone"] {
            working.write(name, "1\n");
        }
        working.write(".hgignore", "syntax: glob\n*.o\n");
        working.commit("0");
        working.write("a", "2\n");
        working.write("b", "1\r\n");
        working.write("d/x.o", "");
        working.write("new", "");
        std::fs::remove_file(working.path("gone")).unwrap();
        for arguments in [
            &["status"][..],
            &["status", "-A"],
            &["status", "-mu", "d", "nowhere"],
            &["status", "-A", "glob:d/**"],
            &["status", "-A", "--rev", "null"],
            &["status", "-A", "--rev", "null", "--rev", "0"],
            &["status", "-A", "--config", "keyword.x = ignore"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        // The working copy compared with itself, for which ignore patterns are read.
        let itself = ["status", "-q", "--rev", "wdir()"];
        assert_left(&working, &itself, "the extension 'largefiles'");
        // A sparse working copy, a stand-in, tracked or not, and patterns of keywords.
        let requires = working.path(".hg/requires");
        let required = std::fs::read_to_string(&requires).unwrap();
        working.write(".hg/requires", format!("{required}exp-sparse\n"));
        let sparse = ["status", "--config", "extensions.sparse="];
        assert_left(&working, &sparse, "the extension 'largefiles'");
        working.write(".hg/requires", required);
        let keyword = ["status", "--config", "keyword.*.c="];
        assert_left(&working, &keyword, "the extension 'keyword'");
        working.write(".hglf/large", "");
        working.assert_same_as_hg(&["status"]);
    }
}

#[test]
fn large_files_without_stand_ins_are_not_forgotten() {
    for hg in hg_programs() {
        let config = "[extensions]\nlargefiles =\nuncommit =\n";
        let working = WorkingCopy::with_config(&hg, config);
        working.write("n", "1\n");
        working.commit("0");
        working.write("big", "1\n");
        working.hg(&["add", "--large", "big"]);
        working.commit("1");
        // Mercurial takes the stand-in away, and keeps what it recorded of the file.
        working.hg(&["uncommit"]);
        working.hg(&["update", "-q", "--clean", "0"]);
        assert!(!working.path(".hglf").exists());
        working.assert_same_as_hg(&["status", "-A"]);
        working.assert_same_as_hg(&["status", "--rev", "0"]);
        let other = ["status", "--rev", "null"];
        assert_left(&working, &other, "the extension 'largefiles'");
    }
}

#[test]
fn large_files_take_the_place_of_their_stand_ins() {
    for (hg, is_v2) in hg_programs()
        .into_iter()
        .zip(IS_DIRSTATE_V2.into_iter().cycle())
    {
        let config = format!("[extensions]\nlargefiles =\n[format]\nuse-dirstate-v2={is_v2}\n");
        let working = WorkingCopy::with_config(&hg, &config);
        working.write("n", "1\n");
        let names = ["big", "d/big", "d/e", "gone", "removed", "same"];
        for name in names {
            working.write(name, "1\n");
        }
        working.hg(&["add", "n"]);
        working.hg(&[&["add", "--large"][..], &names].concat());
        working.assert_same_as_hg(&["status", "-A"]);
        working.commit("0");
        let all_same = || {
            // Mercurial records what it finds, so Vigil answers first.
            for arguments in [
                &["status", "-A"][..],
                &["status"],
                &["status", "-AC", "d"],
                &["status", "-A", "d/big", "gone", "nowhere"],
                &["status", "-A", "glob:**g"],
                &["status", "-A", "n", "-X", "d"],
                &["status", "--terse", "mardu"],
                &["status", "-marc", "--rev", "null", "--rev", "0"],
                &["status", "--change", "0", "d"],
                &["status", "--change", "0", "n"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        };
        all_same();
        // The same size, another size, the same contents once more, and gone.
        working.write("big", "2\n");
        working.write("d/big", "10\n");
        working.write("same", "1\n");
        working.write("d/unknown", "");
        std::fs::remove_file(working.path("gone")).unwrap();
        working.hg(&["remove", "removed"]);
        working.hg(&["copy", "d/e", "d/copy"]);
        working.write("late", "1\n");
        working.hg(&["add", "--large", "late"]);
        all_same();
        let (late, stand_in) = (working.path("late"), working.path(".hglf/late"));
        std::fs::remove_file(late).unwrap();
        all_same();
        std::fs::write(stand_in, "not a hash\n").unwrap();
        all_same();
        // What only Mercurial does: it compares with other changesets, follows links, reads much, and makes the record.
        let left = |arguments: &[&str], what: &str| assert_left(&working, arguments, what);
        left(&["status", "--rev", "null"], "the extension 'largefiles'");
        left(&["status", "-S"], "the extension 'largefiles'");
        let copies = ["status", "-C", "--rev", "null", "--rev", "0"];
        left(&copies, "copies of large files");
        let link = working.path("same");
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("n", &link).unwrap();
        left(&["status"], "the large file 'same'");
        std::fs::remove_file(&link).unwrap();
        // Damage to the record only matters where it is read.
        let record = working.path(".hg/largefiles/dirstate");
        let recorded = std::fs::read(&record).unwrap();
        std::fs::remove_file(&record).unwrap();
        left(&["status"], "large files that are not recorded yet");
        working.assert_same_as_hg(&["status", "--change", "0"]);
        std::fs::write(&record, &recorded[..50]).unwrap();
        assert_eq!(working.vigil(&["status"]).2, Some(255));
        working.assert_same_as_hg(&["status", "--change", "0"]);
        std::fs::write(&record, recorded).unwrap();
        all_same();
        // With the extension off, the repository cannot be read.
        let off = ["status", "--config", "extensions.largefiles=!"];
        working.assert_same_as_hg(&off);
        // One with so much in it that it should not be read at each question.
        let heavy = std::fs::File::create(working.path("heavy")).unwrap();
        heavy.set_len((1 << 24) + 1).unwrap();
        working.hg(&["add", "--large", "heavy"]);
        working.commit("1");
        heavy.set_modified(std::time::UNIX_EPOCH).unwrap();
        left(&["status"], "the large file 'heavy'");
        working.hg(&["status"]);
        working.assert_same_as_hg(&["status"]);
    }
}

#[test]
fn stand_ins_are_shown_where_only_the_repository_asks_for_the_extension_of_large_files() {
    for hg in hg_programs() {
        let on = "[extensions]\nlargefiles =\n";
        let working = WorkingCopy::with_config(&hg, on);
        for name in ["small", "large", "moved"] {
            working.write(name, "1\n");
        }
        working.hg(&["add", "small"]);
        working.hg(&["add", "--large", "large", "moved"]);
        working.commit("0");
        working.write("large", "12\n");
        working.hg(&["move", "moved", "there"]);
        working.hg(&["copy", "small", "copy"]);
        for config in [
            "",
            "[extensions]\nhgext.largefiles = !\n",
            "[extensions]\nlargefiles = !\n",
        ] {
            working.write_config(config);
            for arguments in [
                &["status"][..],
                &["status", "-A"],
                &["status", "-A", "--rev", "."],
                &["status", "-A", "large", ".hglf"],
                &["status", "--change", "."],
                &["status", "--rev", "null"],
                &["status", "--rev", "wdir()", "--rev", "."],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
        working.write_config("");
        assert_left(&working, &["status", "-S"], "the extension 'largefiles'");
        let copies = ["status", "-C", "--rev", "null", "--rev", "."];
        assert_left(&working, &copies, "copies of large files");
        working.write_config(on);
        working.assert_same_as_hg(&["status", "-A"]);
    }
}

#[test]
fn line_endings_are_converted_before_files_are_compared() {
    // Each question takes a new process of Mercurial's, so the formats are tried by turns.
    for (hg, is_v2) in hg_programs()
        .into_iter()
        .zip(IS_DIRSTATE_V2.into_iter().cycle())
    {
        let config = format!("[extensions]\neol =\n[format]\nuse-dirstate-v2={is_v2}\n");
        let working = WorkingCopy::with_config(&hg, &config);
        let hgeol = "[patterns]\n*.dos = CRLF\n*.bin = BIN\n** = native\n";
        working.write(".hgeol", hgeol);
        let names = ["a", "b", "c.dos", "d/e.dos", "f.bin", "d/g", "both", "last"];
        for name in names {
            let end = if name.ends_with("dos") { "\r\n" } else { "\n" };
            working.write(name, format!("1{end}2{end}"));
        }
        working.write("both", "1\n2\n");
        working.write("last", "1\n2");
        std::os::unix::fs::symlink("target", working.path("link")).unwrap();
        working.commit("0");
        let all_same = || {
            // Mercurial takes a new .hgeol into the dirstate, so Vigil answers first.
            for arguments in [
                &["status", "-A"][..],
                &["status"],
                &["status", "-m", "d"],
                &["status", "-A", "--rev", "0"],
                &["status", "--rev", "null"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        };
        all_same();
        // With other line endings, and with other contents.
        for name in names {
            let text = std::fs::read_to_string(working.path(name)).unwrap();
            let other = match text.contains("\r\n") {
                true => text.replace("\r\n", "\n"),
                false => text.replace('\n', "\r\n"),
            };
            working.write(name, other);
        }
        working.write("both", "1\n2\r\n");
        all_same();
        // Nothing is recorded: all contents are compared.
        working.hg(&["debugrebuilddirstate"]);
        all_same();
        working.write("a", "3\r\n2\r\n");
        working.write("f.bin", "1\n2\n");
        working.hg(&["debugrebuilddirstate"]);
        all_same();
        for hgeol in [
            "[patterns]\n** = LF\n[eol]\nonly-consistent = no\n",
            "[patterns]\n** = native\n[repository]\nnative = CRLF\n",
            "[patterns]\nd/* = LF\nre:^l = CRLF\n[eol]\nfix-trailing-newline = yes\n",
            "[patterns]\r\n*.dos = BIN\r\n",
            "",
        ] {
            working.write(".hgeol", hgeol);
            all_same();
            working.hg(&["debugrebuilddirstate"]);
            all_same();
        }
        // A pattern must not lead into another repository, nor through a link.
        working.write(".hgeol", "[patterns]\nother/* = LF\n");
        working.hg(&["init", "other"]);
        working.assert_same_as_hg(&["status"]);
        working.assert_same_as_hg(&["status", "--rev", "0", "--terse", "u"]);
        std::fs::remove_dir_all(working.path("other")).unwrap();
        std::os::unix::fs::symlink("d", working.path("other")).unwrap();
        working.assert_same_as_hg(&["status", "-A"]);
        for (hgeol, why) in [
            ("[patterns]\n** = what\n", "the style 'what'"),
            ("nonsense\n", "does not parse"),
            ("%include x\n", "begins with '%'"),
        ] {
            working.write(".hgeol", hgeol);
            assert_left(&working, &["status"], why);
        }
        working.write(".hgeol", "[patterns]\n** = LF\n");
        assert_left(&working, &["status", "--debug"], "converted files");
    }
}

#[test]
fn line_endings_are_converted_where_the_second_of_the_mtime_alone_proves_nothing() {
    const SECOND_AMBIGUOUS: u16 = 1 << 12;
    for hg in hg_programs() {
        let config = "[extensions]\neol =\n[format]\nuse-dirstate-v2=yes\n";
        let working = WorkingCopy::with_config(&hg, config);
        working.write("both", "1\n2\r\n");
        working.commit("0");
        let path = working.path("both");
        let file = std::fs::File::options().write(true).open(path).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 5);
        file.set_modified(old).unwrap();
        working.write(".hgeol", "[patterns]\n** = LF\n");
        working.hg(&["status"]);
        // The file has the same style, but is converted from now on.
        let converting = "[patterns]\n** = LF\n[eol]\nonly-consistent = no\n";
        working.write(".hgeol", converting);
        for (flags, expected) in [(0, "C both\n"), (SECOND_AMBIGUOUS, "M both\n")] {
            working.rewrite_dirstate(None, |path, _, mut node| {
                if path == "both" {
                    node.put_flags((node.flags() & !SECOND_AMBIGUOUS) | 1 << 11 | flags);
                    node.put_mtime(1_000_000_000, 5);
                }
            });
            assert_eq!(working.vigil(&["status", "-mc"]).0, expected);
            working.assert_same_as_hg(&["status", "-A"]);
        }
    }
}

#[test]
fn the_extension_for_git_matters_only_where_a_repository_has_one_of_git() {
    for hg in hg_programs() {
        // Mercurial need not have it: what is said of it is not what is tested.
        let config = "[extensions]\nhggit = ~/hggit.py\n";
        let working = WorkingCopy::with_config(&hg, "");
        std::fs::write(working.home().join("hggit.py"), "").unwrap();
        working.write_config(config);
        working.write("a", "1\n");
        working.commit("0");
        working.write("b", "1\n");
        for question in [&["status"][..], &["status", "-A", "--rev", "0"]] {
            working.assert_same_as_hg(question);
        }
        let left =
            |question: &[&str]| assert_left(&working, question, "exchanges changesets with git");
        std::fs::create_dir(working.path(".git")).unwrap();
        working.assert_same_as_hg(&["status"]);
        left(&["status", "--config", "git.intree=yes"]);
        for name in ["git", "git-mapfile", "git-tags"] {
            working.write(&format!(".hg/{name}"), "");
            left(&["status"]);
            std::fs::remove_file(working.path(".hg").join(name)).unwrap();
        }
    }
}

#[test]
fn the_extension_fsmonitor_says_that_there_is_no_watchman() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, "[extensions]\nfsmonitor =\n");
        working.write("a", "1");
        working.commit("0");
        working.write("d/new", "");
        working.write(".hgignore", "syntax: none\n");
        for arguments in [
            &["status"][..],
            &["status", "-mi", "nosuch"],
            &["status", "--change", "."],
            &["status", "--rev", "nosuch"],
            &["status", "--config", "fsmonitor.verbose=no"],
            &["status", "--config", "fsmonitor.verbose=x"],
            &["status", "--config", "fsmonitor.mode=off"],
            &["status", "--config", "fsmonitor.mode=x"],
            &["status", "--config", "fsmonitor.walk_on_invalidate=x"],
            &["status", "--config", "extensions.fsmonitor=!"],
        ] {
            working.assert_same_as_hg(arguments);
        }
        for refused in ["fsmonitor.timeout=x", "extensions.eol="] {
            let (_, stderr, code) = working.vigil(&["status", "--config", refused]);
            assert_eq!(code, Some(255), "{refused}");
            assert!(stderr.contains("does not answer"), "{stderr}");
        }
        working.write(".hgsub", "");
        working.assert_same_as_hg(&["status"]);
    }
}
