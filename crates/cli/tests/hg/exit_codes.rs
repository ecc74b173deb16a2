//! Exit codes, and errors in settings.

use vigil_testkit::sandbox::skip_test;

use super::sandbox::{WorkingCopy, hg_programs};

#[test]
fn detailed_exit_codes_are_those_of_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.write("d/b", "1");
        working.commit("0");
        let detailed = ["--config", "ui.detailed-exit-code=yes"];
        for arguments in [
            &["status", "-Z"][..],
            &["status", "--no-all"],
            &["status", "--cw", "."],
            &["status", "--config", "x"],
            &["status", ".."],
            &["status", "-I", "/"],
            &["status", ".hg/x"],
            &["status", "--rev", "nope"],
            &["status", "--rev", "0~x"],
            &["status", "--rev", "0", "--change", "0"],
            &["status", "-t", "x"],
            &["status", "re:("],
            &["status", "listfile:nope"],
            &["status", "-R", "nope"],
            &["status", "--cwd", "nope"],
            &["status", "--config", "ui.relative-paths=x"],
            &["status", "--config", "ui.relative-paths=x", "--rev", "nope"],
            &[
                "status",
                "--config",
                "commands.status.relative=x",
                "--change",
                "nope",
            ],
            &[
                "status",
                "--config",
                "ui.relative-paths=x",
                "--color",
                "always",
            ],
            &["status", "--config", "ui.relative-paths=x", "re:("],
            &["status", "--config", "ui.slash=x", "--color", "always"],
            &[
                "status",
                "--config",
                "devel.all-warnings=x",
                "--color",
                "always",
            ],
            &["status", "--config", "commands.status.verbose=x"],
            &["status", "--config", "ui.quiet=x"],
            &["status", "--config", "extensions.x=!"],
        ] {
            working.assert_same_as_hg(&[&detailed[..], arguments].concat());
        }
        // The repository's own configuration does not count here.
        working.write(".hg/hgrc", "[ui]\ndetailed-exit-code=yes\n");
        working.assert_same_as_hg(&["status", "--rev", "nope"]);
        let elsewhere = working.0.home().to_path_buf();
        let elsewhere = elsewhere.to_str().unwrap();
        for arguments in [&["status"][..], &["status", "nope"], &["status", "-Z"]] {
            working.assert_same_as_hg(&[&detailed[..], &["--cwd", elsewhere], arguments].concat());
        }
    }
}

#[test]
fn the_setting_of_exit_codes_matters_only_if_something_fails() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        let setting = ["status", "--config", "ui.detailed-exit-code=x"];
        working.assert_same_as_hg(&setting);
        working.assert_same_as_hg(&[&setting[..], &["nope"]].concat());
        // Messages may have times.
        let times = ["status", "--config", "ui.timestamp-output=1"];
        for setting in [setting, times] {
            for wrong in ["-Z", "--rev=nope", "--cwd=nope", "--config=x", "-Rnope"] {
                let (_, stderr, code) = working.vigil(&[&setting[..], &[wrong]].concat());
                assert_eq!(code, Some(255));
                assert!(stderr.contains("vigil does not answer this"), "{stderr}");
            }
        }
    }
}

#[test]
fn tweaks_of_a_repository_have_no_effect_but_must_be_a_boolean() {
    for hg in hg_programs() {
        let mut working = WorkingCopy::new(&hg, true);
        working.write("d/a", "1");
        for plain in [false, true] {
            if plain {
                working.0.set_variable("HGPLAIN", "1");
            }
            working.write(".hg/hgrc", "[ui]\ntweakdefaults=what\n");
            working.assert_same_as_hg_in("d", &["status"]);
        }
        working.write(".hg/hgrc", "[ui]\ntweakdefaults=yes\n");
        working.assert_same_as_hg_in("d", &["status"]);
    }
}

#[test]
fn settings_that_are_not_booleans_are_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        for name in [
            "devel.all-warnings",
            "ui.slash",
            "ui.paginate",
            "ui.formatted",
            "ui.debug",
            "ui.verbose",
            "ui.quiet",
            "ui.report_untrusted",
            "ui.timestamp-output",
            "ui.traceback",
            "ui.logblockedtimes",
            "ui.message-output",
        ] {
            let setting = format!("{name}=what");
            working.assert_same_as_hg(&["status", "--config", &setting]);
        }
        working.assert_same_as_hg(&["status", "--debug", "--config", "ui.report_untrusted=what"]);
        if working.is_from_version_7() {
            for value in ["", "zz"] {
                let setting = format!("ui.statuscopies={value}");
                for more in [
                    &[][..],
                    &["-C"],
                    &["-A"],
                    &["-n"],
                    &["--no-copies"],
                    &["nope"],
                    &["--rev", "nope"],
                ] {
                    working.assert_same_as_hg(&[&["status", "--config", &setting], more].concat());
                }
            }
        }
        // A later value does not make up for a wrong one.
        for (first, second) in [
            ("ui.quiet=x", "ui.quiet=no"),
            ("ui.quiet=no", "ui.quiet=x"),
            ("ui.slash=x", "ui.slash=no"),
            ("ui.timestamp-output=x", "ui.debug=yes"),
            ("ui.quiet=x", "ui.debug=yes"),
            ("ui.debug=yes", "ui.quiet=x"),
            ("ui.tweakdefaults=x", "ui.tweakdefaults=no"),
            ("ui.quiet=x", "nonsense"),
            ("ui.detailed-exit-code=1", "ui.quiet=x"),
        ] {
            working.assert_same_as_hg(&["status", "--config", first, "--config", second]);
            working.write_config("[ui]\nquiet=x\n");
            working.assert_same_as_hg(&["status", "--config", "ui.quiet=no", "--config", second]);
            working.write_config("");
        }
        let files = [("x", "[ui]\nquiet=x\n"), ("y", "[ui]\nquiet=no\n")];
        for (name, text) in files {
            std::fs::write(working.home().join(name), text).unwrap();
        }
        let mut working = working;
        let files = files.map(|(name, _)| working.home().join(name).display().to_string());
        working.0.set_variable("HGRCPATH", &files.join(":"));
        working.assert_same_as_hg(&["status"]);
    }
}

#[test]
fn a_file_is_trusted_by_the_words_of_a_list() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.write(".hg/hgrc", "[ui]\nquiet = yes\n");
        if std::os::unix::fs::chown(working.path(".hg/hgrc"), Some(65534), None).is_err() {
            return skip_test("a file of another owner", "only root may give files away");
        }
        for users in [
            "nobody",
            "a, nobody",
            "a \"nobody\"",
            "a \"nobody",
            "\"nobody",
            "nobody\"",
            "\"a nobody\"",
            "*",
            "\"*",
            "a\"nobody\"",
        ] {
            let setting = format!("trusted.users={users}");
            working.assert_same_as_hg(&["status", "--config", &setting]);
        }
        // One that is trusted once stays so.
        for (first, second) in [("nobody", "root"), ("root", "nobody"), ("nobody", "")] {
            let settings = [first, second].map(|user| format!("trusted.users={user}"));
            let [first, second] = &settings;
            working.assert_same_as_hg(&["status", "--config", first, "--config", second]);
        }
    }
}

#[test]
fn wrong_settings_of_the_store_are_reported() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        for setting in [
            "format.manifestcachesize=x",
            "format.chunkcachesize=1.5",
            "storage.revlog.optimize-delta-parent-choice=",
            "storage.revlog.reuse-external-delta=x",
            "storage.revlog.reuse-external-delta-parent=x",
            "format.generaldelta=x",
            "experimental.maxdeltachainspan=1tb",
            "experimental.maxdeltachainspan=1.5kb",
            "experimental.sparse-read=x",
            "experimental.sparse-read.min-gap-size=x",
            "format.maxchainlen=1__0",
            "format.maxchainlen= 1_0 ",
            "storage.revlog.zlib.level=x",
            "storage.revlog.zlib.level=10",
            "storage.revlog.zlib.level=9",
            "storage.revlog.zstd.level=-1",
            "experimental.rust.index=x",
            "storage.revlog.persistent-nodemap.mmap=x",
            "devel.persistent-nodemap=x",
            "devel.check-locks=x",
        ] {
            working.assert_same_as_hg(&["status", "--config", setting]);
        }
        // What is not read may be anything.
        let unused = [
            "storage.revlog.reuse-external-delta=no",
            "storage.revlog.reuse-external-delta-parent=x",
            "format.generaldelta=x",
        ];
        let unused = unused.map(|setting| ["--config", setting]);
        working.assert_same_as_hg(&[&["status"][..], unused.as_flattened()].concat());
    }
}

#[test]
fn wrong_settings_of_a_format_are_reported_where_it_is_used() {
    for hg in hg_programs() {
        for format in [
            "use-dirstate-v2=no\n",
            "use-dirstate-v2=yes\n",
            "use-fileindex-v1=yes\n",
            "exp-use-changelog-v2=enable-unstable-format-and-corrupt-my-data\n",
        ] {
            let working = WorkingCopy::with_config(&hg, &format!("[format]\n{format}"));
            working.write("a", "1");
            for setting in [
                "storage.fileindex.max-unused-percentage=x",
                "storage.fileindex.gc-retention-seconds=x",
                "devel.fileindex.garbage-timestamp=x",
            ] {
                working.assert_same_as_hg(&["status", "--config", setting]);
            }
            // What Mercurial says of these, it says in each release in other words.
            for (setting, used_with) in [
                ("experimental.changelog-v2.compute-rank=x", "changelog-v2"),
                ("devel.fileindex.vacuum-mode=x", "fileindex"),
                ("storage.fileindex.max-unused-percentage=101", "fileindex"),
                ("storage.fileindex.slow-path=x", "fileindex"),
                ("storage.dirstate-v2.slow-path=x", "dirstate-v2=yes"),
            ] {
                let (_, stderr, _) = working.vigil(&["status", "--config", setting]);
                let is_used = format.contains(used_with) && working.is_from_version_7();
                let name = setting.split('=').next().unwrap();
                if is_used {
                    let told = format!("abort: vigil does not answer this: the setting {name}\n");
                    assert_eq!(stderr, told);
                } else if !format.contains(used_with) {
                    assert_eq!(stderr, "", "{setting}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_trusted_is_said_whenever_mercurial_reads_it() {
    for hg in hg_programs() {
        let working = WorkingCopy::with_config(&hg, "[format]\nuse-share-safe=yes\n");
        working.write("a", "1");
        working.write(".hg/hgrc", "[ui]\nquiet = yes\n");
        if std::os::unix::fs::chown(working.path(".hg/hgrc"), Some(65534), None).is_err() {
            return skip_test("a file of another owner", "only root may give files away");
        }
        // Before it reads the configuration again, for the repository, and after.
        for setting in [
            "ui.formatted=x",
            "ui.slash=x",
            "ui.relative-paths=x",
            "ui.paginate=x",
            "devel.all-warnings=x",
            "commands.status.verbose=x",
            "commands.status.relative=x",
            "pager.attend-status=x",
            "alias.status=!",
            "defaults.status='",
        ] {
            let arguments = ["status", "--config", setting];
            match setting.split_once('.') {
                // Mercurial fails in other words.
                Some(("alias" | "defaults", _)) => {
                    let (_, stderr, _) = working.vigil(&arguments);
                    assert_eq!(stderr.matches("not trusting").count(), 1, "{stderr}");
                }
                _ => working.assert_same_as_hg(&arguments),
            }
        }
        for arguments in [
            &["status"][..],
            &["status", "-r", "nope"],
            &["status", "re:("],
        ] {
            working.assert_same_as_hg(arguments);
        }
        for file in [".hg/requires", ".hg/store/requires"] {
            let text = std::fs::read(working.path(file)).unwrap();
            std::fs::remove_file(working.path(file)).unwrap();
            std::fs::create_dir(working.path(file)).unwrap();
            working.assert_same_as_hg(&["status"]);
            std::fs::remove_dir(working.path(file)).unwrap();
            working.write(file, [text.as_slice(), b"unheard-of\n"].concat());
            working.assert_same_as_hg(&["status"]);
            working.write(file, text);
        }
        // A later file decides nothing about an earlier one.
        for setting in [
            "[trusted]\nusers = nobody\n",
            "[ui]\nreport_untrusted = no\n",
        ] {
            working.write(".hg/hgrc-not-shared", setting);
            working.assert_same_as_hg(&["status"]);
        }
    }
}

#[test]
fn hooks_that_are_not_trusted_are_left_to_mercurial() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        for (hook, is_left) in [
            ("pre-status", true),
            ("post-status.x", true),
            ("pre-commit", false),
        ] {
            working.write(".hg/hgrc", format!("[hooks]\n{hook} = true\n"));
            if std::os::unix::fs::chown(working.path(".hg/hgrc"), Some(65534), None).is_err() {
                return skip_test("a file of another owner", "only root may give files away");
            }
            if !is_left {
                working.assert_same_as_hg(&["status"]);
                continue;
            }
            let (stdout, stderr, code) = working.vigil(&["status"]);
            assert_eq!((stdout.as_str(), code), ("", Some(255)));
            let what = format!("vigil does not answer this: the untrusted hook '{hook}'");
            assert!(stderr.contains(&what), "{stderr}");
        }
    }
}

#[test]
fn messages_about_mercurials_own_work_are_left_to_it() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        let copies = ["--config", "devel.debug.copies=yes"];
        working.assert_same_as_hg(&[&["status", "-C"], &copies[..]].concat());
        for more in [&["--debug"][..], &["--config", "ui.debug=yes"]] {
            let (_, stderr, _) = working.vigil(&[&["status", "-C"], &copies[..], more].concat());
            assert!(
                stderr.contains("the setting devel.debug.copies"),
                "{stderr}"
            );
        }
    }
}

#[test]
fn colours_are_those_that_are_configured() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        for more in [
            &["--color=always", "--config", "color.status.unknown="][..],
            &["--color=always", "--config", "color.status.unknown= , "],
            &["--color=always", "-T", "{label('red bold', path)}\n"],
            &[
                "--color=always",
                "-T",
                "{label('status.unknown underline', path)}\n",
            ],
            &["--color=always", "-T", "{label('nothing', path)}\n"],
            // Only settings with a dot in their names are about labels.
            &[
                "--color=always",
                "-T",
                "{label('mine', path)} {label('red', path)} {label('my.own', path)}\n",
                "--config",
                "color.mine=red",
                "--config",
                "color.red=bold",
                "--config",
                "color.my.own=green",
            ],
            &["--config", "ui.formatted=yes"],
            &["--config", "ui.formatted=yes", "--color=no"],
            &["--config", "ui.formatted=no", "--color=always"],
        ] {
            working.assert_same_as_hg(&[&["status"], more].concat());
        }
    }
}

#[test]
fn that_there_is_no_repository_is_said_in_the_users_colours() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        std::fs::rename(working.path(".hg"), working.path("gone")).unwrap();
        for more in [
            &["--color=always"][..],
            &["--color=always", "-R", "missing"],
            &["--config", "ui.color=always"],
            &["--config", "ui.formatted=yes"],
            &["--config", "ui.formatted=yes", "--color=no"],
            &["--config", "defaults.status=--color=always"],
            &["--color=always", "--config", "color.ui.error=green"],
            &["--color=always", "--config", "pager.attend-status=x"],
        ] {
            working.assert_same_as_hg(&[&["status"], more].concat());
        }
    }
}

#[test]
fn errors_have_the_users_colours_and_not_those_of_the_repository() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        let always = "[ui]\ncolor = always\n";
        let never = "[ui]\ncolor = no\n";
        let green = "[ui]\ncolor = always\n[color]\nui.error = green\n";
        let formatted = "[ui]\nformatted = yes\n";
        for (of_user, of_repository) in [
            ("", always),
            ("", formatted),
            (formatted, never),
            (always, green),
            (green, always),
        ] {
            working.write_config(of_user);
            working.write(".hg/hgrc", of_repository);
            for arguments in [
                &["status"][..],
                &["status", "nosuch", "--terse", "x"],
                &["status", "--rev", "nosuch"],
                &["status", "--rev", "nosuch", "--color=always"],
                &["status", "--config", "pager.attend-status=x"],
                &["status", "--config", "extensions.eol=", "--rev", "nosuch"],
            ] {
                working.assert_same_as_hg(arguments);
            }
        }
    }
}

#[test]
fn a_setting_that_is_none_is_quoted_as_python_does() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        for setting in ["x", "it's", "a\nb", "\\", "\u{e9}", "'\""] {
            working.assert_same_as_hg(&["status", "--config", setting]);
        }
    }
}

#[test]
fn a_wrong_setting_that_is_read_last_is_told_after_all_else() {
    for hg in hg_programs() {
        let working = WorkingCopy::new(&hg, true);
        working.write("a", "1");
        working.commit("0");
        for settings in [
            &["ui.paginate=x"][..],
            &["pager.attend-status=x"],
            &["commands.status.verbose=x"],
            &["commands.status.verbose=x", "ui.paginate=x"],
            &["commands.status.verbose=x", "ui.statuscopies=x"],
        ] {
            let settings = settings.iter().flat_map(|setting| ["--config", setting]);
            let settings: Vec<&str> = settings.collect();
            for words in [
                &["nosuch"][..],
                &["nosuch", "-0"],
                &["nosuch", "-v"],
                &["nosuch", "-Tjson"],
                &["nosuch", "--terse", "x"],
                &["--rev", "nosuch"],
                &["--color=always", "--config", "ui.formatted=yes", "nosuch"],
            ] {
                working.assert_same_as_hg(&[&["status"], words, &settings].concat());
            }
        }
    }
}
