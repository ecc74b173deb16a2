//! Unfinished operations.

use vigil_testkit::hg::server::Server;

use super::sandbox::{WorkingCopy, hg_programs};

fn assert_same_verbose_statuses(working: &WorkingCopy, server: &mut Server) {
    for arguments in [
        &["status", "-v"][..],
        &["status", "-A", "-v"],
        &["status", "-v", "-0"],
        &["status", "-v", "-u", "--color", "always"],
        &["status", "--config", "commands.status.verbose=yes"],
        &[
            "status",
            "-v",
            "--config",
            "commands.status.skipstates=merge bisect",
        ],
        &[
            "status",
            "-v",
            "--config",
            "commands.status.skipstates=graft,update",
        ],
        &["status", "-v", "--change", "0"],
    ] {
        working.assert_same_as_hg_server(server, arguments);
    }
    working.assert_same_as_hg_server(server, &["status", "-v", "--cwd", "d"]);
}

#[test]
fn a_verbose_status_reports_unfinished_operations() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for (branch, text) in ["1\n", "2\n", "3\n"].into_iter().enumerate() {
            if branch > 0 {
                working.hg(&["update", "-q", "0"]);
            }
            working.write("a", text);
            working.write("d/b", text);
            working.commit(text);
        }
        let mut server = working.server();
        let may_fail = |arguments: &[&str]| drop(working.0.hg(arguments).unwrap());
        assert_same_verbose_statuses(&working, &mut server);
        may_fail(&["merge", "-q", "-r", "1", "--tool", ":fail"]);
        assert_same_verbose_statuses(&working, &mut server);
        working.hg(&["resolve", "-q", "-m", "a"]);
        assert_same_verbose_statuses(&working, &mut server);
        let (_, stderr, _) = working.vigil(&["status", "-v", "-T", "json"]);
        assert!(stderr.contains("by a template"), "{stderr}");
        working.hg(&["resolve", "-q", "-m", "d/b"]);
        assert_same_verbose_statuses(&working, &mut server);
        working.hg(&["bisect", "-g", "0"]);
        assert_same_verbose_statuses(&working, &mut server);
        working.hg(&["bisect", "-r"]);
        working.hg(&["update", "-q", "-C", "2"]);
        may_fail(&["graft", "-q", "1", "--tool", ":fail"]);
        assert_same_verbose_statuses(&working, &mut server);
        working.hg(&["graft", "-q", "--abort"]);
        may_fail(&[
            "rebase",
            "-q",
            "-d",
            "1",
            "--tool",
            ":fail",
            "--config",
            "extensions.rebase=",
        ]);
        assert_same_verbose_statuses(&working, &mut server);
        for extension in ["extensions.rebase=", "extensions.hgext.histedit="] {
            working.assert_same_as_hg(&["status", "-v", "--config", extension]);
        }
        working.hg(&["rebase", "-q", "--abort", "--config", "extensions.rebase="]);
        working.write("a", "4\n");
        working.hg(&["shelve", "-q", "--config", "extensions.shelve="]);
        working.hg(&["update", "-q", "1"]);
        may_fail(&[
            "unshelve",
            "-q",
            "--tool",
            ":fail",
            "--config",
            "extensions.shelve=",
        ]);
        assert_same_verbose_statuses(&working, &mut server);
        for name in ["updatestate", "histedit-state"] {
            working.write(&format!(".hg/{name}"), "");
            working.assert_same_as_hg(&["status", "-v", "--config", "extensions.histedit="]);
        }
    }
}

/// An extension that says of unfinished operations what evolve says.
const EVOLVE: &str = r#"
from mercurial import state


def uisetup(ui):
    lines = [b'To continue:    hg evolve --continue', b'To abort:       hg evolve --abort']
    lines += [b'To stop:        hg evolve --stop', b'(also see `hg help evolve.interrupted`)']
    hint = b'\n'.join(lines)
    state.addunfinished(b'evolve', fname=b'evolvestate', continueflag=True, stopflag=True, statushint=hint)
    state.addunfinished(b'pick', fname=b'pickstate', continueflag=True)
    hint = b'To continue:    hg fixup --continue\nTo abort:       hg fixup --abort\n'
    state.addunfinished(b'fixup', fname=b'fixup-state', continueflag=True, statushint=hint)
"#;

#[test]
fn operations_of_extensions_are_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("d/a", "1\n");
        working.commit("one");
        std::fs::write(working.home().join("evolve.py"), EVOLVE).unwrap();
        std::fs::create_dir(working.path(".hg/transplant")).unwrap();
        let extensions = ["evolve=~/evolve.py", "rebase=", "transplant="];
        let set: Vec<String> = extensions.map(|text| format!("extensions.{text}")).into();
        let question = |count: usize| {
            let configs = set.iter().take(count);
            let options = configs.flat_map(|text| ["--config", text.as_str()]);
            ["status", "-v"]
                .into_iter()
                .chain(options)
                .collect::<Vec<_>>()
        };
        let states = [
            "bisect.state",
            "graftstate",
            "evolvestate",
            "pickstate",
            "fixup-state",
            "transplant/journal",
        ];
        for state in states {
            working.write(&format!(".hg/{state}"), "");
            for count in [0, 1, 2, 3] {
                working.assert_same_as_hg(&question(count));
            }
        }
        let skipped = ["--config", "commands.status.skipstates=fixup transplant"];
        working.assert_same_as_hg(&[&question(3)[..], &skipped].concat());
    }
}

#[test]
fn a_merge_with_a_changeset_that_is_gone_is_no_merge() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for text in ["1\n", "2\n", "3\n"] {
            working.hg(&["update", "-q", "null"]);
            working.write(&format!("f{}", text.trim()), text);
            working.commit(text);
        }
        working.hg(&["update", "-q", "1"]);
        working.hg(&["merge", "-q", "-f", "2"]);
        let dirstate = std::fs::read(working.path(".hg/dirstate")).unwrap();
        working.hg(&["update", "-q", "-C", "0"]);
        let strip = ["strip", "-q", "--no-backup", "2"];
        working.hg(&[&strip[..], &["--config", "extensions.strip="]].concat());
        working.write(".hg/dirstate", dirstate);
        working.assert_same_as_hg(&["status", "-v"]);
        working.assert_same_as_hg(&["status", "-v", "-T", "{status} {path}\n"]);
    }
}

#[test]
fn records_of_a_merge_that_cannot_be_read_are_named_after_all_warnings() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "1\n");
        working.commit("one");
        let assert_same = || {
            for arguments in [
                &["status"][..],
                &["status", "-v"],
                &["status", "-v", "nowhere"],
                &["status", "-v", "--rev", "nowhere"],
                &["status", "-v", "-T", "{path}"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        };
        working.write(".hg/merge", "");
        assert_same();
        std::fs::remove_file(working.path(".hg/merge")).unwrap();
        for name in ["state", "state2"] {
            let path = working.path(".hg/merge").join(name);
            std::fs::create_dir_all(&path).unwrap();
            assert_same();
            std::fs::remove_dir(&path).unwrap();
        }
    }
}
