//! What is reported in the place of a status, and what is left to Mercurial by name.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::sandbox::{IS_DIRSTATE_V2, WorkingCopy, hg_programs};

#[test]
fn errors_name_what_cannot_be_answered() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("d/f", "");
        symlink("d", working.path("to")).unwrap();
        for (arguments, what) in [
            (&["status", "set:added()"][..], "file sets"),
            (&["status", "-T", "{node}"], "template"),
            (
                &["status", "--config", "extensions.win32text="],
                "win32text",
            ),
            (
                &["status", "--config", "extensions.infinitepush="],
                "infinitepush",
            ),
            (&["status", "--config", "encode.*=x"], "encode"),
            (&["status", r"re:(a)\1"], "reference back"),
            (&["status", "--time"], "--time"),
            (
                &["status", "--traceback", "--rev", "nothere"],
                "--traceback",
            ),
            (
                &["status", "--config", "ui.traceback=1", "--rev", "nothere"],
                "--traceback",
            ),
            (&["status", "--mq"], "--mq"),
            (&["status", "--config", "ui.forcecwd=d"], "ui.forcecwd"),
            (
                &["status", "--config", "ui.timestamp-output=1"],
                "ui.timestamp-output",
            ),
            (
                &["status", "--config", "experimental.extra-filter-revs=x("],
                "extra-filter-revs",
            ),
            (
                &["status", "--color=always", "--config", "color.mode=win32"],
                "color.mode=win32",
            ),
            (
                &[
                    "status",
                    "--rev",
                    "null:null",
                    "--config",
                    "revsetalias.x=(",
                ],
                "revsetalias.x",
            ),
            (
                &["status", "--config", "devel.sync.x=/nowhere"],
                "devel.sync.x",
            ),
            (&["status", "--color=debug"], "colours as labels"),
            (
                &["status", "--color=always", "--config", "color.x.y=purple"],
                "the colour 'purple'",
            ),
            (
                &[
                    "status",
                    "-T",
                    "{label('diff.inserted', path)}",
                    "--color=always",
                ],
                "colours of the label 'diff.inserted'",
            ),
            (
                &[
                    "status",
                    "--color=always",
                    "--config",
                    "color.mode=terminfo",
                ],
                "color.mode=terminfo",
            ),
            (
                &[
                    "status",
                    "--color=always",
                    "--config",
                    "color.status.clean=pink",
                ],
                "the colour 'pink'",
            ),
            (
                &["status", "--config", "ui.formatdebug=yes"],
                "ui.formatdebug",
            ),
            (&["status", "path:to/f"], "behind a link"),
            (
                &[
                    "status",
                    "--config",
                    "format.use-dirstate-v2=yes",
                    "--config",
                    "format.use-dirstate-v2.automatic-upgrade-of-mismatching-repositories=yes",
                ],
                "automatic-upgrade",
            ),
        ] {
            let (stdout, stderr, code) = working.vigil(arguments);
            assert_eq!((stdout.as_str(), code), ("", Some(255)), "{arguments:?}");
            assert!(
                stderr.contains("vigil does not answer this") && stderr.contains(what),
                "{stderr}"
            );
            let mut allowed = arguments.to_vec();
            allowed.extend(["--config", "vigil.hg.fallback=yes"]);
            let (_, stderr, _) = working.vigil(&allowed);
            assert!(stderr.contains("asking hg"), "{stderr}");
        }
    }
}

#[test]
fn an_hg_that_asks_vigil_is_run_once() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("bin/hg", "#!/bin/sh\nexec \"$VIGIL\" hg \"$@\"\n");
        let program = working.path("bin/hg");
        std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let allowed = ["--config", "vigil.hg.fallback=yes"];
        let mut command =
            working.vigil_command(&[&["status", "set:added()"], &allowed[..]].concat());
        command.env("VIGIL", env!("CARGO_BIN_EXE_vigil"));
        command.env("PATH", working.path("bin"));
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let what = "vigil does not answer this: file sets ('set:')";
        let expected = format!("{what}: asking hg\nabort: {what}, and hg asks vigil\n");
        assert_eq!((stderr, output.status.code()), (expected, Some(255)));
    }
}

#[test]
fn invalid_and_unusual_repositories_are_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.assert_same_as_hg(&["status", "-R", "nowhere"]);
        working.assert_same_as_hg(&["status", "--cwd", "nowhere"]);
        working.write(".hg/hgrc", "[ui]\nnonsense\n");
        working.assert_same_as_hg(&["status"]);
        std::fs::remove_file(working.path(".hg/hgrc")).unwrap();
        let requires = std::fs::read_to_string(working.path(".hg/requires")).unwrap();
        working.write(".hg/requires", format!("{requires}of-an-extension\n"));
        let (_, stderr, _) = working.vigil(&["status", "--config", "extensions.some=/nowhere"]);
        assert!(stderr.contains("the extension 'some'"), "{stderr}");
        for more in ["unknown-feature\nanother\n", "-\n"] {
            working.write(".hg/requires", format!("{requires}{more}"));
            working.assert_same_as_hg(&["status"]);
        }
        working.write(".hg/requires", requires);
        std::fs::create_dir(working.0.root().join("outside")).unwrap();
        working.assert_same_as_hg_in("../outside", &["status"]);
        working.hg(&[
            "--config",
            "extensions.share=",
            "share",
            "-q",
            ".",
            "../share",
        ]);
        working.write("../share/f", "");
        working.assert_same_as_hg_in("../share", &["status"]);
        let requires = std::fs::read_to_string(working.path("../share/.hg/requires")).unwrap();
        working.write(
            "../share/.hg/requires",
            requires.replace("share-safe\n", ""),
        );
        working.assert_same_as_hg_in("../share", &["status"]);
        let allows = "share.safe-mismatch.source-safe=allow";
        let (_, stderr, _) = working.vigil(&["status", "-R", "../share", "--config", allows]);
        assert!(stderr.contains("vigil does not answer this"), "{stderr}");
    }
}

#[test]
fn the_configuration_of_a_shares_source_applies_however_the_share_finds_it() {
    for hg in hg_programs() {
        for way in [&["share", "-q"][..], &["share", "-q", "--relative"]] {
            let working = WorkingCopy::with_config(
                &hg,
                "[extensions]\nshare=\n[format]\nuse-share-safe=yes\n",
            );
            working.write("f", "1\n");
            working.commit("first");
            working.hg(&[way, &[".", "../share"]].concat());
            for name in ["f", "f.orig", "d/g"] {
                working.write(&format!("../share/{name}"), "2\n");
            }
            working.write("../ignored", "syntax: glob\n*.orig\n");
            let ignored = working.path("../ignored");
            let settings = format!(
                "[paths]\ndefault=/nowhere\n[ui]\nignore.x={}\nrelative-paths=yes\n[extensions]\nrebase=\n[hooks]\ncommit=false\n",
                ignored.display()
            );
            working.write(".hg/hgrc", &settings);
            for arguments in [
                &["status"][..],
                &["status", "-R", "..", "-mi"],
                &["-R", "..", "status", "--config", "ui.relative-paths=no"],
            ] {
                working.assert_same_as_hg_in("../share/d", arguments);
            }
            working.write(".hg/hgrc-not-shared", "[ui]\nrelative-paths=no\n");
            working.write("../share/.hg/hgrc", "[commands]\nstatus.relative=no\n");
            working.assert_same_as_hg_in("../share/d", &["status"]);
            // Mercurial reads these too late if the share has a relative path.
            for more in [
                "[alias]\nstatus=status -n\n",
                "[defaults]\n%unset status\n",
                "[extensions]\nhgext.largefiles=\n",
            ] {
                working.write(".hg/hgrc", format!("{settings}{more}"));
                let (_, stderr, _) = working.vigil(&["status", "-R", "../share"]);
                let is_refused = stderr.contains("of the source of a share");
                assert_eq!(is_refused, way.contains(&"--relative"), "{stderr}");
            }
        }
    }
}

#[test]
fn that_the_source_of_a_share_is_gone_is_told_before_all_else() {
    for hg in hg_programs() {
        let settings = "[extensions]\nshare=\n[format]\nuse-share-safe=yes\n";
        for way in [&["share", "-q"][..], &["share", "-q", "--relative"]] {
            let working = WorkingCopy::with_config(&hg, settings);
            working.write("f", "1\n");
            working.commit("0");
            working.hg(&[way, &[".", "../share"]].concat());
            std::fs::rename(working.path(".hg"), working.path("gone")).unwrap();
            for arguments in [
                &["status"][..],
                &["status", "--bad"],
                &["status", "--color=always"],
                &["status", "--config", "ui.quiet=x"],
                &["status", "--config", "ui.debug=x", "--bad"],
            ] {
                working.assert_same_as_hg_in("../share", arguments);
            }
        }
    }
}

#[test]
fn a_truncated_dirstate_is_reported() {
    for hg in hg_programs() {
        for is_v2 in IS_DIRSTATE_V2 {
            let working = WorkingCopy::new(&hg, is_v2);
            working.write("f", "");
            working.commit("first");
            for start in ["x", "I ate your data\n"] {
                working.write(".hg/dirstate", start);
                // Older versions do not know of interrupted upgrades.
                if !is_v2 || working.is_from_version_7() {
                    working.assert_same_as_hg(&["status"]);
                    working.assert_same_as_hg(&["status", "--config", "ui.detailed-exit-code=yes"]);
                }
            }
        }
    }
}

#[test]
fn of_two_errors_the_one_that_mercurial_meets_first_is_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for name in ["d/f", "e/f"] {
            working.write(name, "1\n");
        }
        working.commit("first");
        std::fs::rename(working.path("d"), working.path("moved")).unwrap();
        symlink("moved", working.path("d")).unwrap();
        working.write("moved/f", "2\n");
        working.write(".hgignore", "*bad\n");
        for arguments in [
            &["status", "-i"][..],
            &["status", "-iS"],
            &["status", "-q"],
            &["status", "-mS", "nowhere", "."],
            &["status", "-c", "d", "moved/f"],
            &["status"],
        ] {
            working.assert_same_as_hg(arguments);
        }
    }
}

#[test]
fn settings_that_only_mercurial_can_follow_are_refused_by_name() {
    let hg = hg_programs().into_iter().next().unwrap();
    let working = WorkingCopy::new(&hg, false);
    working.write("a", "");
    for (setting, named) in [
        (
            "extensions.rebase=nope.py",
            "the extension 'rebase' from nope.py",
        ),
        (
            "extensions.hgext.mq=~/mq.py",
            "the extension 'mq' from ~/mq.py",
        ),
        (
            "extensions.evolve=/gone/evolve.py",
            "the extension 'evolve', which is not in /gone/evolve.py",
        ),
        (
            "extensions.topic=~",
            "the extension 'topic', which is not in ~",
        ),
        ("ui.strict=yes", "the setting ui.strict"),
        ("profiling.enabled=1", "the setting profiling.enabled"),
        ("ui.nontty=x", "the setting ui.nontty, which is no boolean"),
        (
            "experimental.sparse-read.density-threshold=x",
            "the setting experimental.sparse-read.density-threshold",
        ),
        ("templatealias.path x=status", "templatealias.path x"),
        ("paths.a=b%%20c", "the setting paths.a with '%%'"),
        ("ui.signal-safe-lock=x", "the setting ui.signal-safe-lock"),
        (
            "format.aggressivemergedeltas=x",
            "the setting format.aggressivemergedeltas",
        ),
        (
            "format.obsstore-version=x",
            "the setting format.obsstore-version",
        ),
        (
            "experimental.branch-cache-v3=x",
            "the setting experimental.branch-cache-v3",
        ),
    ] {
        let mut arguments = vec!["status", "-T", "{path}\\n", "--config", setting];
        if setting.contains("version=") || setting.contains("cache") {
            arguments.extend(["--rev", "null"]);
        }
        let (stdout, stderr, code) = working.vigil(&arguments);
        assert_eq!((stdout.as_str(), code), ("", Some(255)), "{setting}");
        let expected = format!("abort: vigil does not answer this: {named}\n");
        assert_eq!(stderr, expected);
    }
    for setting in [
        "extensions.rebase=",
        "extensions.rebase=!nope.py",
        "ui.strict=no",
        "profiling.enabled=no",
        "ui.nontty=yes",
        "paths.a=b%20c",
        "ui.signal-safe-lock=yes",
        "format.aggressivemergedeltas=yes",
        "format.obsstore-version=x",
        "paths.a:pushurl=b%%20c",
        "experimental.sparse-read.density-threshold=.5",
    ] {
        working.assert_same_as_hg(&["status", "-T", "{path}\\n", "--config", setting]);
    }
    // Mercurial would load the extension before it finds what is wrong.
    for wrong in [
        "devel.all-warnings=x",
        "alias.status=nowhere",
        "storage.revlog.mmap.index=x",
    ] {
        let arguments = ["status", "--config", "extensions.some=", "--config", wrong];
        let (_, stderr, _) = working.vigil(&arguments);
        assert!(stderr.contains("the extension 'some'"), "{wrong}: {stderr}");
    }
}

#[test]
fn a_path_that_mercurial_warns_of_is_left_to_it_even_if_another_layer_replaces_it() {
    let hg = hg_programs().into_iter().next().unwrap();
    let working = WorkingCopy::new(&hg, false);
    for (of_user, of_repository, is_refused) in [
        ("", "", false),
        ("", "x = a%%b\n", true),
        ("x = a%%b\n", "x = c\n", true),
        ("x = a%%b\n", "%unset x\n", true),
        ("x:pushurl = a%%b\ny = a%b\n", "", false),
    ] {
        working.write_config(&format!("[paths]\n{of_user}"));
        working.write(".hg/hgrc", format!("[paths]\n{of_repository}"));
        let (_, stderr, _) = working.vigil(&["status"]);
        let expected = match is_refused {
            true => "abort: vigil does not answer this: the setting paths.x with '%%'\n",
            false => "",
        };
        assert_eq!(stderr, expected, "{of_user} {of_repository}");
        let told = String::from_utf8(working.hg(&["status"]).stderr).unwrap();
        assert_eq!(told.contains("in path x=a%%b"), is_refused, "{told}");
    }
}

#[test]
fn extensions_that_do_not_change_a_status_are_allowed() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        working.write("a", "");
        working.commit("0");
        working.write("b", "");
        let file = working.path("../drawdag.py");
        std::fs::write(&file, "").unwrap();
        let from = |name: &str| format!("extensions.{name}={}", file.display());
        for setting in [
            from("drawdag"),
            from("any"),
            from("firefoxtree"),
            from("prompt"),
            from("push-to-try"),
            "extensions.remotenames=".into(),
            "extensions.hgext.zeroconf=".into(),
            // Mercurial knows these, and loads none.
            "extensions.hbisect=".into(),
            "extensions.hgext.inotify=".into(),
            "extensions.parentrevspec=".into(),
            "extensions.hgcia=".into(),
        ] {
            working.assert_same_as_hg(&["status", "--config", &setting]);
            working.assert_same_as_hg(&["status", "--rev", ".", "--config", &setting]);
        }
        // The name may be one that the extension defines.
        let setting = "extensions.remotenames=";
        let (_, stderr, code) = working.vigil(&["status", "--rev", "0", "--config", setting]);
        assert_eq!(code, Some(255));
        assert!(
            stderr.contains("names of changesets with the extension 'remotenames'"),
            "{stderr}"
        );
    }
}

#[test]
fn a_branch_in_an_encoding_that_python_may_not_know_is_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, false);
        for text in ["1", "12"] {
            working.write("a", text);
            working.commit(text);
        }
        working.write(".hg/branch", "h\u{e9}");
        for encoding in ["utf8", "UTF-8", "latin1", "ascii", "ISO-8859-15", ""] {
            working.assert_same_as_hg(&["status", "--rev", "0", "--encoding", encoding]);
        }
        let unknown = ["--encoding", "nonsense"];
        working
            .assert_same_as_hg(&[&["status", "--rev", "0", "--rev", "1"], &unknown[..]].concat());
        let (_, stderr, code) = working.vigil(&[&["status"], &unknown[..]].concat());
        assert!(stderr.contains("the name of the branch"), "{stderr}");
        assert_eq!(code, Some(255));
    }
}
