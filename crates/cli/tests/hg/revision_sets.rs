//! Sets of revisions, and hidden changesets.

use vigil_testkit::hg::server::Server;

use super::sandbox::{WorkingCopy, hg_programs};

/// Makes a history with two branches that are merged, three phases, and names of all kinds.
fn history(working: &WorkingCopy) {
    let write = |name: &str, message: &str| {
        working.write(name, "x\n");
        working.commit(message);
    };
    write("a", "zero");
    write("b", "one");
    write("c", "two");
    working.hg(&["update", "-q", "1"]);
    working.hg(&["branch", "-q", "side"]);
    write("d", "three");
    write("e", "four fix");
    working.hg(&["merge", "-q", "2"]);
    working.commit("five");
    write("f", "six");
    working.hg(&["tag", "-r", "1", "v1", "-d", "0 0"]);
    working.hg(&["tag", "-l", "-r", "2", "loc"]);
    working.hg(&["bookmark", "-r", "3", "mark"]);
    working.hg(&["bookmark", "-ir", "2", "other"]);
    working.hg(&["phase", "-pr", "1"]);
    working.hg(&["phase", "-fsr", "6"]);
    working.write("u", "");
}

impl WorkingCopy {
    fn assert_same_set(&self, server: &mut Server, set: &str) {
        self.assert_same_as_hg_server(server, &["status", "-A", "--rev", set]);
        self.assert_same_as_hg_server(server, &["status", "-A", "--change", set]);
    }

    fn assert_left_to_mercurial(&self, set: &str) {
        let (stdout, stderr, code) = self.vigil(&["status", "--rev", set]);
        assert_eq!((stdout.as_str(), code), ("", Some(255)), "{set}");
        assert!(stderr.contains("the set of revisions"), "{set}: {stderr}");
    }

    /// Checks that both print the same for a set, or that Vigil names the hidden changeset that
    /// Mercurial complains of.
    fn assert_same_set_or_hidden(&self, server: &mut Server, set: &str) {
        let (stdout, stderr, code) = self.vigil(&["status", "--rev", set]);
        match stderr.contains("the hidden changeset") {
            true => {
                assert_eq!((stdout.as_str(), code), ("", Some(255)));
                let output = server.run(&["status", "--rev", set]).unwrap();
                let output = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.contains("hidden revision"), "{set}: {output}");
            }
            false => self.assert_same_set(server, set),
        }
    }
}

#[test]
fn sets_of_revisions_are_found_in_their_order() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        history(&working);
        let mut server = working.server();
        for set in [
            "::.",
            "::3",
            "3::",
            "only(4,2)",
            "4 % 2",
            "4%",
            "only(3,4)",
            "parents()",
            "parents(5)",
            "parents(0)",
            "branch(side)",
            "branch(nope)",
            "branch('literal:side')",
            "branch('literal:nope')",
            "branch(2+3)",
            "1 and 2",
            "not 3",
            "::5 and branch(side)",
            "draft()",
            "public()",
            "secret()",
            "descendants(3)",
            "heads(all())",
            "heads(0:4)",
            "last(::4,2)",
            "first(::4, 2)",
            "max(draft())",
            "min(draft())",
            "max(1 and 2)",
            "p2(::.)",
            "tag(v1)",
            "tag('loc')",
            "tag()",
            "tag(nope)",
            "tag(tip)",
            "bookmark(mark)",
            "bookmark()",
            "bookmark(nope)",
            "0^1",
            "0^2",
            "5^1",
            "5^02",
            "5^3",
            "0~-1",
            "1~-1",
            "7~-1",
            "3~-4",
            "1~-2",
            "roots(3:5)",
            "children(1)",
            "merge()",
            "none()",
            "desc(fix)",
            "ancestor(4,2)",
            "reverse(::3)",
            "last(reverse(::3))",
            "5:2",
            "(3:3)",
            "(1:3)",
            "1:3 or 5",
            "5 or 1:3",
            "1 + 5 + 3",
            "5-5",
            ". - 1",
            "tip-1",
            "v1-1",
            "limit(all(), 3)",
            "2147483647",
            "2:null",
            "wdir():2",
            "null or 2",
            "-2:",
            "(-2):",
            "!3",
            "3^:5",
            "3^::5",
            "3^::",
            "mark~1",
            "::mark",
            "draft() and ::tip and branch(side)",
            "1::5",
            "5::1",
            "1..",
            "..3",
            "first(not public())",
            "4:1 and 1:5",
            "4:1 - 3",
            "(4:1)^",
            "last(4:1)",
            "nope or 1",
            "1 and nope",
            "nope-1",
            "an-unknown-name",
            "nope - (nowhere or 1)",
            "r'1'",
            "::",
            "nope or ::",
            "nope - -1::nope",
            "--1",
            "nope: - wdir()::",
            "-(1)",
            "not -3",
            "1 and -nope",
            "'':1",
        ] {
            working.assert_same_set(&mut server, set);
        }
        for (one, other) in [
            ("4:1", "1"),
            ("1", "::4"),
            ("none()", "2"),
            ("2:2", "2"),
            ("4", "draft()"),
        ] {
            working.assert_same_as_hg(&["status", "--rev", one, "--rev", other]);
        }
        for set in [
            "matching(1)",
            "3#g[-1]",
            "1##2",
            "ancestors(4, 1, 1)",
            "ancestors(depth=1, set=4)",
            "ancestors(null, 1)",
            "heads(set=4)",
            "limit(all(), n=2)",
            "a=b",
            "(a=b)",
            "null and all()",
            "nope and nowhere",
        ] {
            let (_, stderr, code) = working.vigil(&["status", "--rev", set]);
            assert_eq!(code, Some(255), "{set}");
            assert!(stderr.contains("the set of revisions"), "{set}: {stderr}");
        }
    }
}

#[test]
fn ancestors_and_descendants_are_counted_by_generations() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        history(&working);
        let mut server = working.server();
        for set in [
            "ancestors(., 2)",
            "ancestors(6, 0)",
            "ancestors(6, 1)",
            "ancestors(6, 2)",
            "ancestors(6 + 2, 1)",
            "ancestors(6, 99)",
            "ancestors(4, depth=1)",
            "ancestors(set=4, depth=1)",
            "ancestors(none(), 1)",
            "ancestors(6, -1)",
            "ancestors(6, x)",
            "ancestors(nope, x)",
            "ancestors(nope, 1)",
            "ancestors(6, '1')",
            "ancestors(6, depth=all())",
            "descendants(1, 0)",
            "descendants(1, 1)",
            "descendants(1, 2)",
            "descendants(0 + 3, 1)",
            "descendants(0, depth=99)",
            "descendants(1, -1)",
            "descendants(1, x)",
            "last(ancestors(6, 2))",
            "reverse(ancestors(6, 2)) and 1:5",
            "descendants(1, 2) and reverse(1:5)",
            "descendants(1, 2) - ancestors(6, 1)",
        ] {
            working.assert_same_set(&mut server, set);
        }
    }
}

#[test]
fn changesets_are_found_by_their_dates() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for (at, date) in [
            "0 0",
            "2017-01-01 00:00:00 +0000",
            "2017-07-14 23:59:59 +0000",
            "2017-07-15 00:00:00 +0000",
            "2017-07-15 10:30:59 +0200",
            "1500158400 -7200",
            "now",
        ]
        .into_iter()
        .enumerate()
        {
            working.write(&at.to_string(), "x");
            let name = at.to_string();
            working.hg(&["commit", "-q", "-A", "-m", &name, "-d", date]);
        }
        let mut server = working.server();
        for date in [
            "2017",
            "2017-07",
            "2017-07-15",
            "2017-07-15 08:30",
            "2017-07-15 08:30:59",
            "2017-07-15T08:30:59",
            "2017-07-15 00:00:01",
            "2017-07-15 10:30 +0200",
            "2017-07-15T10:30+02:00",
            "2017-07-15T08:30Z",
            "2017-07-15 -0500",
            "2017-07 GMT",
            "2017 UTC",
            "<2017-07-14",
            "< 2017-07",
            ">2017-07-15",
            "> 2017-07-15 08:30:59",
            "2017-07-14 to 2017-07-15 00:00",
            "2017-01 to 2017-06",
            "1500158400 -7200",
            "<1500158400 0",
            "0 0",
            "-3",
            "-0",
            "-10000",
            "today",
            ">yesterday",
            " 2017 ",
        ] {
            working.assert_same_set(&mut server, &format!("date('{date}')"));
        }
        for set in [
            "date('>2017-07') and not 4",
            "reverse(date('2017-07')) and 0:5",
            "last(date('<2017-07-14'))",
        ] {
            let (_, stderr, _) = working.vigil(&["status", "--rev", set]);
            if !stderr.contains("the set of revisions") {
                working.assert_same_set(&mut server, set);
            }
        }
        for date in ["now", "Jul 2017", "7/15", "", "<", "2017-02-30", "nope"] {
            working.assert_left_to_mercurial(&format!("date('{date}')"));
        }
        for zone in [
            "America/New_York",
            "Asia/Kolkata",
            "CET-1CEST,M3.5.0,M10.5.0/3",
        ] {
            for date in [
                "2017-07-15",
                "2017-07-14",
                "2017-01-01",
                "2016",
                "<2017-07-15 06:00",
            ] {
                let set = format!("date('{date}')");
                let [vigil, mercurial] = [true, false].map(|is_vigil| {
                    let top = working.path("");
                    let mut command = match is_vigil {
                        true => working.vigil_command(&[]),
                        false => working.0.command(&hg, &top),
                    };
                    command.env("TZ", zone).args(["status", "--rev", &set]);
                    command.output().unwrap().stdout
                });
                assert_eq!(vigil, mercurial, "{zone} {date}");
            }
        }
    }
}

#[test]
fn an_empty_change_option_is_ignored() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.commit("0");
        working.write("a", "2");
        working.assert_same_as_hg(&["status", "--rev=0", "--change="]);
        working.assert_same_as_hg(&["status", "--rev=", "--change="]);
        working.assert_same_as_hg(&["status", "--change="]);
        working.assert_same_as_hg(&["status", "--change=", "--terse=u"]);
    }
}

#[test]
fn the_null_revision_and_the_working_copy_are_members_where_mercurial_says_so() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        history(&working);
        let mut server = working.server();
        for set in [
            "p2(null)",
            "parents(null + 5)",
            "parents(wdir())",
            "ancestor(null, 4)",
            "ancestor(wdir(), 2)",
            "ancestor()",
            "ancestor(null)",
            "ancestors(null)",
            "ancestors(null + 2)",
            "ancestors(wdir())",
            "descendants(null)",
            "::null",
            "null::",
            "null::2",
            "children(null)",
            "children(null + 1)",
            "heads(null)",
            "heads(null + 3)",
            "roots(null)",
            "roots(null + 3)",
            "max(null)",
            "max(null + 3)",
            "max(wdir() + 3)",
            "min(null + 3)",
            "only(null)",
            "only(4, null)",
            "only(null, 4)",
            "null % 4",
            "null - 1",
            "wdir() - 1",
            "null and 1",
            "null and null",
            "(1 or null) and null",
            "ancestors(1) and null",
            "branch(null)",
            "sort(null + 1)",
            "sort(1 + null, -rev)",
        ] {
            working.assert_same_set(&mut server, set);
        }
        for set in ["null and all()", "1::null", "heads(wdir())"] {
            working.assert_left_to_mercurial(set);
        }
    }
}

#[test]
fn changesets_are_found_by_what_they_say() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        history(&working);
        working.write("deep/er", "1");
        working.hg(&["commit", "-qAm", "Fix it", "-u", "Bob <b@x>", "-d", "5 0"]);
        working.hg(&["update", "-q", "2"]);
        working.hg(&["commit", "-q", "--close-branch", "-m", "end", "-d", "9 0"]);
        let mut server = working.server();
        for set in [
            "head()",
            "head() and branch(side)",
            "last(head(), 2)",
            "closed()",
            "branchpoint()",
            "follow()",
            "user(bob)",
            "author('re:^b.*x>$|nobody')",
            "user('re:^B')",
            "user('literal:B@')",
            "user(nobody)",
            "desc('re:fix')",
            "desc('re:^F')",
            "keyword(fix)",
            "keyword(BOB)",
            "keyword('deep/')",
            "file(a)",
            "file('de*/*')",
            "file('path:deep')",
            "file('re:.*[ab]')",
            "file('nosuch:x')",
            "id(1)",
            "id(zz)",
            "rev(2)",
            "rev(-1)",
            "rev(-2)",
            "rev(99)",
            "rev(2147483647)",
            "rev(x)",
            "present(nosuch)",
            "present(2 or nosuch)",
            "present(tag(nosuch))",
            "present(children(0~-1))",
            "sort(all())",
            "sort(all(), -rev)",
            "sort(all(), date)",
            "sort(all(), '-date rev')",
            "sort(all(), 'user -desc')",
            "sort(all(), branch)",
            "sort(all(), -node)",
            "sort(2 + 1, '')",
            "limit(1:5, 2, 1)",
            "limit(1:5, 2, 9)",
            "first(1:5, -1)",
            "limit(1:5, 1, -1)",
            "last(1:5, -1)",
            "last(1:5, x)",
            "tag('re:^v')",
            "tag('re:t')",
            "tag('re:none')",
            "bookmark('re:o')",
            "branch('re:s')",
            "(3:1) or user(bob)",
        ] {
            working.assert_same_set(&mut server, set);
        }
        working.write("deep/u", "");
        working.assert_same_as_hg_in("deep", &["status", "--rev", "file(er)"]);
        for set in [
            "user('re:(?=b)')",
            "user('re:(')",
            "sort(all(), topo)",
            "sort(null, user)",
            // Mercurial turns the other set around, too.
            "reverse(desc(fix)) or heads(all())",
            "file('set:added()')",
        ] {
            working.assert_left_to_mercurial(set);
        }
        let (_, stderr, _) =
            working.vigil(&["status", "--rev", "reverse(desc(fix))", "--rev", "0:2"]);
        assert!(stderr.contains("the set of revisions"), "{stderr}");
    }
}

#[test]
fn a_malformed_line_of_bookmarks_is_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.commit("0");
        working.hg(&["bookmark", "mark"]);
        let text = std::fs::read_to_string(working.path(".hg/bookmarks")).unwrap();
        working.write(".hg/bookmarks", format!("{text}\n  \n"));
        working.assert_same_as_hg(&["status", "--rev", "mark"]);
        working.write(".hg/bookmarks", format!("{text}no line\n"));
        for name in [".", "0", "null", "-1"] {
            working.assert_same_as_hg(&["status", "--rev", name]);
        }
        for name in ["mark", "default", "bookmark()"] {
            let (_, stderr, _) = working.vigil(&["status", "--rev", name]);
            assert!(
                stderr.contains("a malformed line in the file of bookmarks"),
                "{name}: {stderr}"
            );
        }
    }
}

/// Questions about a history with hidden changesets.
const HIDDEN_QUESTIONS: [&str; 22] = [
    ".",
    ".^",
    "tip",
    "-1",
    "0",
    "2",
    "3",
    "5",
    "6",
    "default",
    "all()",
    "heads(all())",
    "::tip",
    "draft()",
    "children(0)",
    "not 0",
    "1:",
    "branch(default)",
    "tag()",
    "bookmark()",
    "0~-1",
    "only(.)",
];

#[test]
fn obsolete_changesets_are_hidden_unless_something_rests_on_them() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        let settings = "[experimental]\nevolution=all\n[extensions]\nrebase=\n";
        let rc = working.0.home().join("hgrc");
        let text = std::fs::read_to_string(&rc).unwrap();
        std::fs::write(&rc, text + settings).unwrap();
        for number in 0..4 {
            working.write(&format!("f{number}"), "x\n");
            working.commit(&format!("a{number}"));
        }
        let amend = |name: &str| {
            working.write(name, "other\n");
            working.hg(&["commit", "--amend", "-qm", "again", "-d", "0 0"]);
        };
        let check = |names: &[&str]| {
            let mut server = working.server();
            for name in names.iter().chain(&HIDDEN_QUESTIONS) {
                working.assert_same_set_or_hidden(&mut server, name);
            }
        };
        amend("f3");
        working.write("u", "");
        check(&[]);
        working.hg(&["update", "-q", "1"]);
        working.hg(&["bookmark", "-ir", "3", "keep", "--hidden"]);
        check(&["keep", "keep^"]);
        working.hg(&["bookmark", "-d", "keep"]);
        // An obsolete parent stays visible, and so does a parent of the working copy.
        working.hg(&["update", "-q", "2"]);
        amend("f2");
        working.hg(&["tag", "-l", "-r", "3", "loc", "--hidden"]);
        check(&["loc"]);
        working.hg(&["tag", "-l", "--remove", "loc"]);
        working.hg(&["update", "-q", "-r", "2", "--hidden"]);
        check(&[]);
        working.hg(&["update", "-q", "tip"]);
        working.hg(&["rebase", "-q", "-r", "4", "-d", "tip"]);
        check(&[]);
        std::fs::remove_dir_all(working.path(".hg/cache")).unwrap();
        check(&[]);
        // What is being merged stays visible, too.
        for name in ["state", "state2"] {
            std::fs::create_dir_all(working.path(".hg/merge").join(name)).unwrap();
            working.assert_same_as_hg(&["status", "--rev", "0"]);
            std::fs::remove_dir_all(working.path(".hg/merge")).unwrap();
        }
        let none = ["--config", "experimental.evolution="];
        let (_, stderr, _) = working.vigil(&[&["status", "--rev", "0"], &none[..]].concat());
        assert!(stderr.contains("experimental.evolution"), "{stderr}");
    }
}

#[test]
fn changesets_of_shelves_are_hidden() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        std::fs::remove_dir_all(working.path(".hg")).unwrap();
        working.hg(&["init", "--config", "format.internal-phase=yes"]);
        working.write("a", "1");
        working.commit("0");
        working.write("a", "2");
        working.hg(&["shelve", "-q", "--config", "extensions.shelve="]);
        working.write("a", "3");
        working.commit("1");
        let mut server = working.server();
        for name in [
            "tip", "0", "default", ".^", "all()", "-1", "not tip", "draft()",
        ] {
            working.assert_same_set(&mut server, name);
        }
    }
}

#[test]
fn a_branch_that_cannot_be_read_matters_where_the_working_copy_is_named() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for text in ["1", "12", "123"] {
            working.write("a", text);
            working.commit(text);
        }
        drop(std::fs::remove_file(working.path(".hg/branch")));
        std::fs::create_dir(working.path(".hg/branch")).unwrap();
        let mut server = working.server();
        for set in [
            ".",
            ".^",
            "p1()",
            "p2()",
            "parents()",
            "p1(.)",
            "wdir()",
            "wdir()^",
            "wdir()^0",
            "wdir()^2",
            "wdir()~1",
            "p1(wdir())",
            "wdir():0",
            "heads(p1())",
        ] {
            for other in ["0", "p2()", "wdir()"] {
                let arguments = ["status", "--rev", set, "--rev", other];
                working.assert_same_as_hg_server(&mut server, &arguments);
            }
            working.assert_same_as_hg_server(&mut server, &["status", "--change", set]);
        }
    }
}

/// An extension that records topics as the extension topic does.
const TOPIC: &str = "
def reposetup(ui, repo):
    class topicrepo(repo.__class__):
        def commit(self, *args, **kwargs):
            extra = dict(kwargs.get('extra') or {})
            if topic := self.vfs.tryread(b'topic'):
                extra[b'topic'] = topic
            return super().commit(*args, **dict(kwargs, extra=extra))

    repo.__class__ = topicrepo
";

#[test]
fn topics_are_names_of_changesets_and_no_part_of_their_branch() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, "[extensions]\ntopic = ~/topic.py\n");
        std::fs::write(working.home().join("topic.py"), TOPIC).unwrap();
        let add = |name: &str, topic: &str| {
            working.write(".hg/topic", topic);
            working.write(name, "1\n");
            working.commit(name);
        };
        add("a", "");
        add("b", "");
        working.hg(&["phase", "-p", "1"]);
        add("c", "foo-bar");
        add("d", "foo-bar");
        working.hg(&["update", "-q", "1"]);
        add("e", "");
        working.hg(&["branch", "-q", "stable"]);
        add("f", "");
        add("g", "onstable");
        working.hg(&["update", "-q", "2"]);
        let named = [
            ("default", "4"),
            ("stable", "5"),
            ("foo-bar", "3"),
            ("'foo-bar'", "3"),
            ("foo-bar^", "2"),
            ("onstable", "6"),
            ("max(foo-bar + stable)", "5"),
            ("stable:onstable", "5:6"),
        ];
        let expected = |number: &str| {
            let output = working.hg(&["status", "-A", "--rev", number]);
            String::from_utf8(output.stdout).unwrap()
        };
        for (name, number) in named {
            let (stdout, stderr, _) = working.vigil(&["status", "-A", "--rev", name]);
            assert_eq!((stdout, stderr.as_str()), (expected(number), ""), "{name}");
        }
        for name in ["s1", "t0", "s0:s1", "default//foo-bar", "branch(stable)"] {
            let (stdout, stderr, code) = working.vigil(&["status", "--rev", name]);
            assert_eq!((stdout.as_str(), code), ("", Some(255)), "{name}");
            assert!(stderr.contains("does not answer"), "{stderr}");
        }
        working.assert_same_as_hg(&["status", "--rev", "nowhere"]);
        for name in ["default", "stable", "onstable", "branch(stable)"] {
            let off = ["--config", "extensions.topic=!"];
            working.assert_same_as_hg(&[&["status", "--rev", name], &off[..]].concat());
        }
        working.hg(&["phase", "-p", "all()"]);
        for name in ["default", "stable", "onstable", "branch(stable)"] {
            working.assert_same_as_hg(&["status", "--rev", name]);
        }
    }
}
