//! Mercurial working copies behind a daemon: it prints the same bytes, at once after each change.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Output, Stdio};

use bstr::ByteSlice;
use rustix::process::Pid;
use vigil_testkit::clock::wait_for_tick;
use vigil_testkit::daemon::Daemon;
use vigil_testkit::process::limit_descriptors;
use vigil_testkit::sandbox::{default_parent, skip_test};

use super::sandbox::{WorkingCopy, hg_programs};
use super::sparse::EXTENSIONS;

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// A working copy, and a daemon that its clients find.
pub(crate) struct WithDaemon {
    pub(crate) working: WorkingCopy,
    daemon: Daemon,
}

impl WithDaemon {
    pub(crate) fn new(hg: &Path) -> Self {
        let daemon = Daemon::start(Path::new(VIGIL), &default_parent()).unwrap();
        let mut working = WorkingCopy::new(hg, true);
        let folder = daemon.runtime_folder();
        working
            .0
            .set_variable("VIGIL_RUNTIME_DIR", folder.to_str().unwrap());
        working.0.set_variable("VIGIL_DAEMON_PATIENCE_MS", "60000");
        Self { working, daemon }
    }

    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        self.run_in(&self.working.path(""), arguments, variables)
    }

    fn run_in(&self, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = self.working.0.command(VIGIL, folder);
        command.args(arguments).envs(variables.iter().copied());
        command.output().unwrap()
    }

    /// Checks that `arguments` print the same with and without the daemon. Returns whether the daemon answered.
    #[track_caller]
    pub(crate) fn assert_same_without_daemon(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> bool {
        self.assert_same_without_daemon_in(&self.working.path(""), arguments, variables)
    }

    /// Does the same in `folder`.
    #[track_caller]
    fn assert_same_without_daemon_in(
        &self,
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> bool {
        let before = self.daemon.status().unwrap().answered;
        let by_daemon = self.run_in(folder, arguments, variables);
        let answered = self.daemon.status().unwrap().answered > before;
        let alone = [variables, &[("VIGIL_NO_DAEMON", "1")]].concat();
        let found_out = self.run_in(folder, arguments, &alone);
        assert_eq!(by_daemon, found_out, "{arguments:?}");
        answered
    }
}

/// Questions that concern recorded files only.
pub(crate) const RECORDED_ONLY: [&[&str]; 2] =
    [&["hg", "status", "-mard"], &["hg", "status", "-q", "-C"]];

/// All ways to ask.
pub(crate) const ALL_WAYS: [&[&str]; 8] = [
    &["hg", "status"],
    &["hg", "status", "."],
    &["hg", "status", "-A"],
    &["hg", "status", "-nT", "json"],
    &["status"],
    &["status", "--format=json"],
    &["status", "--format=line"],
    &["prompt"],
];

#[test]
fn after_each_change_the_daemon_answers_as_a_new_process() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        let same = || {
            for question in RECORDED_ONLY.into_iter().chain(ALL_WAYS) {
                assert!(
                    served.assert_same_without_daemon(question, &[]),
                    "{question:?}"
                );
            }
        };
        same();
        working.write("a", "1\n");
        working.write("d/b", "1\n");
        same();
        working.commit("first");
        same();
        working.write("a", "12\n");
        working.write(".hgignore", "syntax: glob\n*.o\n");
        working.write("d/x.o", "");
        same();
        working.write(".hgignore", "");
        same();
        working.hg(&["commit", "-q", "-A", "-m", "second"]);
        working.hg(&["bookmark", "book"]);
        same();
        std::fs::rename(working.path("d"), working.path("e")).unwrap();
        same();
        working.write("e/new", "");
        same();
        working.hg(&["update", "-q", "-C", "0"]);
        same();
        working.write("a", "3\n");
        working.commit("other");
        working.hg(&["purge", "--config", "extensions.purge="]);
        working.0.hg(["merge", "1"]).unwrap();
        let told = served.run(&["status", "--format=line"], &[]).stdout;
        assert!(told.ends_with(b" action merge\n"));
        same();
        working.hg(&["branch", "-q", "elsewhere"]);
        same();
        working.0.hg(["resolve", "-m"]).unwrap();
        same();
        // The second parent goes, and no file changes.
        working.hg(&["debugsetparents", "0"]);
        same();
        std::fs::remove_dir_all(working.path(".hg")).unwrap();
        assert!(!served.assert_same_without_daemon(&["hg", "status"], &[]));
        working.hg(&["init"]);
        same();
    }
}

#[test]
fn warnings_come_from_the_daemon_each_time() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.write("a", "1\n");
        working.write(".hgignore", "syntax: none\n");
        working.commit("first");
        working.write("new", "");
        for question in [&["hg", "status"][..], &["hg", "status", "a", "gone"]] {
            for _ in 0..3 {
                let is_served = served.assert_same_without_daemon(question, &[]);
                assert!(is_served, "{question:?}");
            }
            let told = served.run(question, &[]);
            assert!(!told.stderr.is_empty(), "{question:?} {told:?}");
            working.assert_same_as_hg(&question[1..]);
        }
        working.write(".hgignore", "");
        assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
        assert!(served.run(&["hg", "status"], &[]).stderr.is_empty());
    }
}

#[test]
fn what_the_daemon_has_too_few_descriptors_to_see_is_left_to_the_client() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        served.working.write("a", "");
        assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
        let pid = served.daemon.status().unwrap().pid;
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        limit_descriptors(pid, Some(30)).unwrap();
        served.working.write(&format!("{}new", "d/".repeat(28)), "");
        for _ in 0..2 {
            served.assert_same_without_daemon(&["hg", "status"], &[]);
        }
    }
}

#[test]
fn what_the_daemon_cannot_read_for_want_of_means_is_left_to_the_client() {
    for hg in hg_programs() {
        let runtime = tempfile::tempdir().unwrap();
        let mut working = WorkingCopy::with_config(&hg, "[format]\nuse-share-safe=yes\n");
        let folder = runtime.path().join("runtime");
        working
            .0
            .set_variable("VIGIL_RUNTIME_DIR", folder.to_str().unwrap());
        working.0.set_variable("VIGIL_DAEMON_PATIENCE_MS", "60000");
        working.write(".hgignore", "syntax: glob\ninclude:more\n");
        working.write("more", "syntax: glob\n*.o\n");
        working.write("a", "1\n");
        working.commit("first");
        working.write("a", "2\n");
        working.write("a.o", "");
        working.hg(&["branch", "-q", "other"]);
        working.hg(&["bookmark", "here"]);
        working.write(".hg/topic", "topic");
        working.write(".hg/hgrc", "[ui]\nquiet = yes\n");
        let run = |arguments: &[&str], variables: &[(&str, &str)]| {
            let mut command = working.0.command(VIGIL, &working.path(""));
            let output = command.args(arguments).envs(variables.iter().copied());
            output.output().unwrap()
        };
        let opened = [
            ".hgignore",
            "more",
            "a",
            ".hg/branch",
            ".hg/bookmarks",
            ".hg/bookmarks.current",
            ".hg/topic",
            ".hg/dirstate",
            ".hg/hgrc",
            ".hg/requires",
            ".hg/store/requires",
            ".hg/store/phaseroots",
            ".hg/store/00changelog.i",
            ".hg/store/00manifest.i",
        ];
        let no_descriptors = |path| (path, "openat", "inject=openat:error=EMFILE");
        let no_memory = ("a", "read", "inject=read:error=ENOMEM");
        for (path, call, fault) in opened.map(no_descriptors).into_iter().chain([no_memory]) {
            let trace = format!("trace={call}");
            let path = working.path(path);
            let path = path.to_str().unwrap();
            let traced = |program: &[&str]| {
                let before = ["-f", "-o", "/dev/null", "-e", &trace, "-P", path];
                let fault = ["-e", fault];
                let mut command = working.0.command("strace", &working.path(""));
                command.args([&before[..], &fault, program].concat());
                command
            };
            let tried = traced(&["true"]).output();
            if !tried.is_ok_and(|tried| tried.status.success()) {
                return skip_test("files that cannot be opened", "strace cannot be used");
            }
            let mut daemon = traced(&[VIGIL, "daemon", "run"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            while !run(&["daemon", "status"], &[]).status.success() {
                assert!(daemon.try_wait().unwrap().is_none());
                std::thread::yield_now();
            }
            for question in [
                &["hg", "status"][..],
                &["hg", "status", "a"],
                &["status", "--format=json"],
                &["prompt"],
            ] {
                let alone = run(question, &[("VIGIL_NO_DAEMON", "1")]);
                for _ in 0..2 {
                    assert_eq!(run(question, &[]), alone, "{path} {question:?}");
                }
            }
            assert!(run(&["daemon", "stop"], &[]).status.success());
            assert!(daemon.wait().unwrap().success());
        }
    }
}

#[test]
fn a_repository_that_appears_among_ignored_files_takes_what_is_recorded_there_away() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        for name in ["d/a", "d/e/b", "out/c"] {
            working.write(name, "1\n");
        }
        working.commit("first");
        let same = || {
            for question in ALL_WAYS {
                assert!(
                    served.assert_same_without_daemon(question, &[]),
                    "{question:?}"
                );
            }
            // Mercurial may refuse to look into another repository.
            for question in RECORDED_ONLY {
                served.assert_same_without_daemon(question, &[]);
            }
        };
        for patterns in ["d/\nout/\n", "syntax: glob\nd\nout\n", "d/e\n"] {
            working.write(".hgignore", patterns);
            same();
            for folder in ["d", "d/e", "out"] {
                working.hg(&["init", folder]);
                same();
                std::fs::remove_dir_all(working.path(folder).join(".hg")).unwrap();
                same();
            }
        }
    }
}

#[test]
fn an_audit_finds_and_repairs_changes_without_events() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.write("d/f", "seven.\n");
        working.write("g", "1\n");
        // An old mtime proves that the file is unchanged.
        for name in ["d/f", "g"] {
            let file = std::fs::File::open(working.path(name)).unwrap();
            let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
            file.set_modified(then).unwrap();
        }
        working.commit("first");
        working.hg(&["status"]);
        // Mercurial sets the dirstate's mtime ahead if two writes would have the same one.
        let dirstate = std::fs::File::open(working.path(".hg/dirstate")).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1000);
        dirstate.set_modified(later).unwrap();
        let audit = || {
            let output = served.run(&["daemon", "audit"], &[]);
            let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            (output.status.code(), printed)
        };
        assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
        let (code, printed) = audit();
        assert_eq!(code, Some(0), "{printed}");
        assert!(
            printed.contains(" 1 question, 0 differences\n"),
            "{printed}"
        );
        // A change through another name, which was made where nothing is watched.
        let outside = working.0.root().join("outside");
        std::fs::hard_link(working.path("d/f"), &outside).unwrap();
        std::fs::write(&outside, "changed by another name\n").unwrap();
        let unheard = served.run(&["hg", "status"], &[]).stdout;
        assert_eq!(unheard, b"", "there was an event, so this tests nothing");
        let (code, printed) = audit();
        assert_eq!(code, Some(1), "{printed}");
        assert!(printed.contains(", 1 difference\n"), "{printed}");
        assert!(
            printed.contains("d/f: kept as unchanged, found changed"),
            "{printed}"
        );
        assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
        assert_eq!(audit().0, Some(0));
    }
}

#[test]
fn each_client_is_answered_by_its_own_configuration() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.write("a", "");
        working.write("b", "");
        let rc = working.0.home().join("other");
        std::fs::write(&rc, "[ui]\nignore = ~/patterns\n").unwrap();
        std::fs::write(working.0.home().join("patterns"), "a\n").unwrap();
        let other: &[(&str, &str)] = &[("HGRCPATH", rc.to_str().unwrap())];
        for _ in 0..2 {
            assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
            assert!(served.assert_same_without_daemon(&["hg", "status"], other));
        }
        assert_eq!(served.run(&["status"], other).stdout, b"? b\n");
        std::fs::write(working.0.home().join("patterns"), "b\n").unwrap();
        assert!(served.assert_same_without_daemon(&["hg", "status"], other));
        // A variable that only the client knows.
        std::fs::write(&rc, "[ui]\nignore = $WHERE/patterns\n").unwrap();
        let home = working.0.home();
        let knowing = [other, &[("WHERE", home.to_str().unwrap())]].concat();
        assert!(!served.assert_same_without_daemon(&["hg", "status"], &knowing));
        std::fs::write(&rc, "[ui]\ncolor=always\n[alias]\nx=y\n").unwrap();
        assert!(served.assert_same_without_daemon(&["hg", "status"], other));
        for refused in [
            "[vigil]\ndaemon = no\n",
            "[extensions]\nwin32text =\n",
            "nonsense\n",
        ] {
            std::fs::write(&rc, refused).unwrap();
            assert!(
                !served.assert_same_without_daemon(&["hg", "status"], other),
                "{refused}"
            );
        }
        for taken in ["[ui]\nquiet = yes\n", "[ui]\nignore = nowhere\n"] {
            std::fs::write(&rc, taken).unwrap();
            assert!(served.assert_same_without_daemon(&["hg", "status"], other));
        }
        for arguments in [
            &["hg", "status", "-m"][..],
            &["hg", "status", "a"],
            &["hg", "status", "-A", "path:b", "."],
            &["hg", "status", "nothing"],
            &["hg", "status", "-i"],
            &["hg", "status", "-im"],
        ] {
            assert!(
                served.assert_same_without_daemon(arguments, &[]),
                "{arguments:?}"
            );
        }
        for arguments in [
            &["hg", "status", "-i", "glob:*"][..],
            &["hg", "status", "--bad"],
            &["hg", "status", "-T", "{nothing"],
            &["hg", "status", "re:("],
        ] {
            assert!(
                !served.assert_same_without_daemon(arguments, &[]),
                "{arguments:?}"
            );
            // This says nothing about other questions.
            assert!(
                served.assert_same_without_daemon(&["hg", "status"], &[]),
                "{arguments:?}"
            );
        }
    }
}

#[test]
fn the_users_configuration_may_be_relative_to_where_the_client_started() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.write("a", "1\n");
        working.write("d/b", "1\n");
        working.commit("first");
        working.hg(&["copy", "-q", "a", "copied"]);
        let home = working.home();
        std::fs::create_dir_all(home.join("rc")).unwrap();
        std::fs::create_dir_all(home.join(".config/hg")).unwrap();
        let slow = "[storage]\nall-slow-path=allow\ndirstate-v2.slow-path=allow\n";
        let included = format!("{slow}[ui]\nstatuscopies = yes\n");
        std::fs::write(home.join("included"), included).unwrap();
        for name in ["rc/a.rc", "one", ".hgrc"] {
            let path = if name.contains('/') { "../" } else { "" };
            let text = format!("%include {path}included\n[ui]\nignore.x = ../home/ignored\n");
            std::fs::write(home.join(name), text).unwrap();
        }
        std::fs::write(home.join(".config/hg/hgrc"), "[ui]\nrelative-paths = yes\n").unwrap();
        std::fs::write(home.join("ignored"), "hidden\n").unwrap();
        working.write("hidden", "");
        for (name, value) in [
            ("HGRCPATH", "../home/one"),
            ("HGRCPATH", "../home/rc:nothing"),
            ("HGRCPATH", "~/one"),
            ("HOME", "../home"),
            ("XDG_CONFIG_HOME", "../home/.config"),
        ] {
            for arguments in [&["status"][..], &["status", "--cwd", "d"]] {
                let run = |program: &Path, first: &[&str], alone: bool| {
                    let mut command = working.0.command(program, &working.path(""));
                    command.env_remove("HGRCPATH").env("HOME", "../home");
                    command.env(name, value).args(first).args(arguments);
                    if alone {
                        command.env("VIGIL_NO_DAEMON", "1");
                    }
                    command.output().unwrap()
                };
                let expected = run(working.0.hg_program(), &[], false);
                assert!(expected.stdout.contains_str("\n  "), "{name} {expected:?}");
                for alone in [true, false] {
                    let answer = run(Path::new(VIGIL), &["hg"], alone);
                    assert_eq!(answer, expected, "{name}={value} {arguments:?}");
                }
            }
        }
        let error = "nonsense\n";
        std::fs::write(home.join(".hgrc"), error).unwrap();
        for directory in ["", "d"] {
            let run = |program: &Path, first: &[&str]| {
                let mut command = working.0.command(program, &working.path(directory));
                command.env_remove("HGRCPATH");
                command.env(
                    "HOME",
                    if directory.is_empty() {
                        "../home/"
                    } else {
                        "../../home"
                    },
                );
                command.args(first).arg("status").output().unwrap()
            };
            let expected = run(working.0.hg_program(), &[]);
            assert_eq!(run(Path::new(VIGIL), &["hg"]), expected);
        }
    }
}

/// Such a path leads the daemon to a file of its own, or to none.
#[test]
fn a_path_to_what_the_client_has_open_is_left_to_it() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.write("a", "");
        working.write("b", "");
        let files = working.0.home();
        std::fs::write(files.join("patterns"), "a\n").unwrap();
        let slow = "[storage]\nall-slow-path=allow\ndirstate-v2.slow-path=allow\n";
        let settings = format!("{slow}[ui]\nignore = ~/patterns\n");
        std::fs::write(files.join("settings"), settings).unwrap();
        for (input, path, arguments) in [
            ("settings", Some("/dev/stdin"), &["status"][..]),
            ("settings", Some("/nothing:/proc/self/fd/0"), &["status"]),
            (
                "patterns",
                None,
                &["status", "--config", "ui.ignore=/dev/fd/0"],
            ),
        ] {
            let run = |program: &Path, first: &[&str], alone: bool| {
                let mut command = working.0.command(program, &working.path(""));
                let input = std::fs::File::open(files.join(input)).unwrap();
                command.stdin(input).args(first).args(arguments);
                if let Some(path) = path {
                    command.env("HGRCPATH", path);
                }
                if alone {
                    command.env("VIGIL_NO_DAEMON", "1");
                }
                command.output().unwrap()
            };
            let expected = run(working.0.hg_program(), &[], false);
            assert!(expected.stdout.ends_with(b"? b\n"), "{expected:?}");
            for alone in [true, false] {
                let answer = run(Path::new(VIGIL), &["hg"], alone);
                assert_eq!(answer, expected, "{path:?} {arguments:?}");
            }
            assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
        }
        // So is one that a file of settings names.
        let include = files.join("include");
        std::fs::write(&include, "[ui]\nignore = ~/patterns\n").unwrap();
        std::fs::copy(&include, working.path(".hg/include")).unwrap();
        std::fs::copy(files.join("patterns"), working.path(".hg/patterns")).unwrap();
        let hgrc = working.path(".hg/hgrc");
        for line in [
            "%include /proc/self/cwd/.hg/include\n",
            "[ui]\nignore = /proc/self/cwd/.hg/patterns\n",
        ] {
            std::fs::write(&hgrc, line).unwrap();
            let (stdout, _, _) = working.vigil(&["status"]);
            assert_eq!(stdout, "? b\n", "{line}");
            assert!(
                !served.assert_same_without_daemon(&["hg", "status"], &[]),
                "{line}"
            );
        }
    }
}

#[test]
fn no_state_is_written_for_a_client_that_wants_none() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let state = served.working.path(".hg/vigil");
        served.working.write("a", "1\n");
        served.working.commit("first");
        let mut text = String::from("1\n");
        let mut ask = |config: &str, tries_max: usize| {
            // There is something to write.
            text.push('1');
            served.working.write("a", &text);
            served.working.commit("next");
            let _ = std::fs::remove_dir_all(&state);
            // Where something was changed a moment ago, no daemon makes a folder.
            let dot_hg = std::fs::File::open(served.working.path(".hg")).unwrap();
            dot_hg
                .set_modified(std::time::SystemTime::UNIX_EPOCH)
                .unwrap();
            // The daemon writes when it has answered.
            let mut asked = (0..tries_max).map(|_| {
                served.run(&["hg", "status", "--config", config], &[]);
                state.exists()
            });
            asked.any(|is_written| is_written)
        };
        for wants_it in [true, false, true, false] {
            let config = format!("vigil.stateFile={wants_it}");
            let tries_max = if wants_it { 1000 } else { 3 };
            assert_eq!(ask(&config, tries_max), wants_it);
        }
    }
}

#[test]
fn the_daemon_matches_patterns_from_every_current_directory() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        for name in ["a", "b.c", "d/a", "d/e/x", "out/o"] {
            working.write(name, "1\n");
        }
        working.write(".hgignore", "syntax: glob\nout\n*.o\n");
        working.hg(&["add", "-q", ".hgignore", "a", "d/a"]);
        working.commit("first");
        working.write("a", "other\n");
        working.write("d/new", "");
        std::fs::create_dir(working.path("link-to")).unwrap();
        working.hg(&["init", "nested"]);
        working.write("nested/n", "");
        let top = working.path("");
        let top = top.to_str().unwrap();
        let file = format!("{top}/d/new");
        let within = [
            &["glob:*"][..],
            &["glob:**"],
            &["-A", "glob:d/*"],
            &["-A", "re:.*a$"],
            &["-mardu", "relglob:*.c"],
            &["-A", "rootfilesin:d"],
            &["-A", "d"],
            &["-I", "a"],
            &["-A", "-X", "d"],
            &["-A", "-I", "d", "-X", "glob:d/e"],
            &["-q", "-X", "a"],
            &["-A", "d", "glob:*.c"],
            &["-A", "--cwd", "d"],
            &["--cwd", "d", "-A", "."],
            &["--cwd", "d", "-A", "re:.*a$", "-X", "../b.c"],
            &["--cwd", "nested"],
            &["--cwd", "/", "-R", top],
            &["-R", "nested"],
            &["-R", top, "-I", "glob:d/*"],
            // Mercurial does not walk into `d` for these.
            &["-I", r"\d"],
            &["-A", "-I", r"d/\e"],
            &["-A", "-I", r"\d/**", "-I", "out"],
        ];
        let outside = [
            &["-R", top][..],
            &["-A", "-R", top],
            &[file.as_str()],
            &["-R", top, "--cwd", top, "a"],
            &["--cwd", top, "-A", "a"],
        ];
        for words in within {
            let arguments = [&["hg", "status"], words].concat();
            assert!(
                served.assert_same_without_daemon(&arguments, &[]),
                "{words:?}"
            );
        }
        for words in outside {
            let arguments = [&["hg", "status"], words].concat();
            assert!(
                served.assert_same_without_daemon_in(Path::new("/"), &arguments, &[]),
                "{words:?}"
            );
        }
        // The daemon hears of a new file, whatever the form of the question.
        working.write("d/newer.c", "");
        for words in within {
            let arguments = [&["hg", "status"], words].concat();
            assert!(
                served.assert_same_without_daemon(&arguments, &[]),
                "{words:?}"
            );
        }
        working.write("names", "a\n");
        let names = format!("listfile:{top}/names");
        let include = format!("include:{top}/.hgignore");
        for words in [
            &["listfile:/dev/stdin"][..],
            &[names.as_str()],
            &["-I", names.as_str()],
            &["-X", include.as_str()],
            &["set:modified()"],
            &["-R", "/nowhere"],
            &["-R", "bundle:nothing"],
            &["--cwd", "nowhere"],
            &["/etc/passwd"],
            &["-X", "glob:{"],
        ] {
            let arguments = [&["hg", "status"], words].concat();
            assert!(
                !served.assert_same_without_daemon(&arguments, &[]),
                "{words:?}"
            );
        }
    }
}

#[test]
fn what_is_written_through_another_hard_link_is_seen() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.write("f", "1\n");
        working.write("d/g", "1\n");
        working.write(".hgignore", "syntax: glob\n*.o\n");
        working.commit("first");
        assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
        for other in ["d/h", "d/h.o"] {
            let other = working.path(other);
            for text in ["other\n", "1\n"] {
                std::fs::hard_link(working.path("f"), &other).unwrap();
                std::fs::write(&other, text).unwrap();
                assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
                std::fs::remove_file(&other).unwrap();
                assert!(served.assert_same_without_daemon(&["hg", "status"], &[]));
            }
        }
    }
}

#[test]
fn why_tells_how_the_daemon_knows() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.write("d/a", "1\n");
        working.write("d/b", "1\n");
        working.commit("first");
        // What is racy would be looked at for each question.
        wait_for_tick();
        // The daemon does not keep the working copy yet.
        let printed = |variables: &[(&str, &str)], path: &str| {
            let printed = served.run(&["why", path], variables).stdout;
            let printed = String::from_utf8(printed).unwrap();
            let known = printed.lines().nth(1).map(str::to_owned);
            known.map(|known| known.strip_prefix(path).unwrap().to_owned())
        };
        assert_eq!(printed(&[], "d/a"), None);
        served.run(&["hg", "status"], &[]);
        let nothing = printed(&[], "d/a").unwrap();
        assert!(
            nothing.starts_with(": the daemon looked at everything "),
            "{nothing}"
        );
        assert!(nothing.ends_with(" ago, and was told of no change to it since"));
        working.write("d/a", "12\n");
        // By now the daemon may have looked, or not.
        let heard = printed(&[], "d/a").unwrap();
        assert!(heard.starts_with(": the daemon was told "), "{heard}");
        let ends = ["looks at it for the next question", "looked at it then"];
        let ends = ends.map(|end| format!(" ago that it changed, and {end}"));
        assert!(ends.iter().any(|end| heard.ends_with(end)), "{heard}");
        served.run(&["hg", "status"], &[]);
        let looked = printed(&[], "d/a").unwrap();
        assert!(
            looked.ends_with(" ago that it changed, and looked at it then"),
            "{looked}"
        );
        let other = printed(&[], "d/b").unwrap();
        assert!(other.ends_with("told of no change to it since"), "{other}");
        let known = || {
            let json = served.run(&["why", "--format=json", "d/a", "d/b"], &[]);
            let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
            [0, 1].map(|at| json["paths"][at]["daemon"].clone())
        };
        let [a, b] = known();
        assert_eq!(a["heard"]["path"], "d/a");
        assert_eq!(a["heard"]["is_looked_at"], true);
        assert!(b["heard"].is_null());
        working.write(".hgignore", "syntax: glob\n*.o\n");
        let [_, governed] = known();
        // If the daemon has worked ahead by now, it looked at everything: the patterns count everywhere.
        assert!(
            governed["heard"]["path"] == ".hgignore"
                || governed["looked_at_all"] != b["looked_at_all"],
            "{governed}"
        );
        // Without the daemon, there is nothing to tell.
        assert_eq!(printed(&[("VIGIL_NO_DAEMON", "1")], "d/a"), None);
    }
}

#[test]
fn a_daemon_that_is_gone_costs_no_answer() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        served.working.write("a", "");
        assert!(served.assert_same_without_daemon(&["status"], &[]));
        let WithDaemon { working, daemon } = served;
        drop(daemon);
        let output = working
            .0
            .command(VIGIL, &working.path(""))
            .arg("status")
            .output();
        assert_eq!(output.unwrap().stdout, b"? a\n");
    }
}

#[test]
fn watchers_are_told_of_changes() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        let mut command = working.0.command(VIGIL, &working.path(""));
        let command = command.arg("watch").stdout(Stdio::piped());
        let mut watching = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
        let mut errors = BufReader::new(watching.stderr.take().unwrap()).lines();
        let mut next = |want: &str| {
            let line = lines.next().unwrap().unwrap();
            assert!(line.contains(want), "{want}: {line}");
        };
        next(" unknown 0 ");
        working.write("new", "");
        next(" unknown 1 ");
        working.hg(&["add", "-q", "new"]);
        next(" added 1 ");
        working.hg(&["commit", "-q", "-m", "first", "-d", "0 0"]);
        next(" added 0 ");
        // Which part of the files there is changes, and nothing else.
        working.append_config(EXTENSIONS);
        working.hg(&["debugsparse", "-f", "--exclude", "path:other"]);
        working.write("d/one", "");
        next(" unknown 1 ");
        std::fs::write(working.path(".hg/sparse"), "[exclude]\npath:d\n").unwrap();
        next(" unknown 0 ");
        // What keeps anybody from answering for a while does not end it.
        working.write(".hgignore", "*invalid\n");
        let error = errors.next().unwrap().unwrap();
        assert!(error.ends_with(": *invalid"), "{error}");
        working.write(".hgignore", "");
        next(" unknown 1 ");
        watching.kill().unwrap();
        watching.wait().unwrap();
        assert!(served.daemon.status().unwrap().answered > 0);
    }
}

#[test]
fn a_recorded_file_below_a_folder_of_git_is_seen_to_change() {
    for hg in hg_programs() {
        let with = WithDaemon::new(&hg);
        let working = &with.working;
        for name in ["g/.git/HEAD", "g/.git/config", "g/a"] {
            working.write(name, "1\n");
        }
        working.hg(&["add", "-q", "g/.git/HEAD"]);
        working.hg(&["commit", "-q", "-m", "0"]);
        let assert_same = || {
            for _ in 0..2 {
                assert!(with.assert_same_without_daemon(&["hg", "status", "-A"], &[]));
            }
        };
        assert_same();
        working.write("g/.git/HEAD", "22\n");
        assert_same();
        std::fs::remove_file(working.path("g/.git/HEAD")).unwrap();
        assert_same();
        working.write("g/.git/HEAD", "1\n");
        assert_same();
        std::fs::remove_dir_all(working.path("g/.git")).unwrap();
        assert_same();
    }
}

#[test]
fn the_daemon_sees_a_link_that_makes_a_directory_another_repository() {
    for hg in hg_programs() {
        let served = WithDaemon::new(&hg);
        let working = &served.working;
        working.write(".hgignore", "syntax: glob\nout\n.hg\n");
        for name in ["a", "d/x", "d/e/y", "d/out/z", "d/f/z"] {
            working.write(name, "1");
        }
        working.hg(&["add", "-q", "d/out/z"]);
        working.commit("0");
        // The same, other contents of the same length, another length.
        for (name, contents) in [("d/x", "1"), ("d/e/y", "2"), ("d/f/z", "33")] {
            working.write(name, contents);
        }
        let same = || {
            for question in [
                &["hg", "status"][..],
                &["hg", "status", "-m"],
                &["hg", "status", "-A"],
                &["hg", "status", "-X", "a"],
                &["prompt"],
            ] {
                served.assert_same_without_daemon(question, &[]);
                working.assert_same_as_hg(&["status"]);
            }
        };
        same();
        same();
        let outside = working.home();
        for directory in ["d", "d/e", "d/f", "d/out"] {
            let link = working.path(directory).join(".hg");
            symlink("nowhere", &link).unwrap();
            same();
            std::fs::remove_file(&link).unwrap();
            symlink(&outside, &link).unwrap();
            same();
            working.write("d/e/new", "");
            same();
            std::fs::remove_file(working.path("d/e/new")).unwrap();
            std::fs::remove_file(&link).unwrap();
            same();
        }
    }
}
