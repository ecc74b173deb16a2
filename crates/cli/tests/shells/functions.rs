//! The functions of gitstatus's plugins, in all shells.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use vigil_testkit::sandbox::Sandbox;

use crate::shell::{SHELLS, SHELLS_WITH_PROCESS, Session, Shell, VIGIL, plugin_scripts, run};

/// The variables of an answer, each with the number of its field.
const VARIABLES: [(&str, usize); 27] = [
    ("WORKDIR", 3),
    ("COMMIT", 4),
    ("LOCAL_BRANCH", 5),
    ("REMOTE_BRANCH", 6),
    ("REMOTE_NAME", 7),
    ("REMOTE_URL", 8),
    ("ACTION", 9),
    ("INDEX_SIZE", 10),
    ("NUM_STAGED", 11),
    ("NUM_UNSTAGED", 12),
    ("NUM_CONFLICTED", 13),
    ("NUM_UNTRACKED", 14),
    ("COMMITS_AHEAD", 15),
    ("COMMITS_BEHIND", 16),
    ("STASHES", 17),
    ("TAG", 18),
    ("NUM_UNSTAGED_DELETED", 19),
    ("NUM_STAGED_NEW", 20),
    ("NUM_STAGED_DELETED", 21),
    ("PUSH_REMOTE_NAME", 22),
    ("PUSH_REMOTE_URL", 23),
    ("PUSH_COMMITS_AHEAD", 24),
    ("PUSH_COMMITS_BEHIND", 25),
    ("NUM_SKIP_WORKTREE", 26),
    ("NUM_ASSUME_UNCHANGED", 27),
    ("COMMIT_ENCODING", 28),
    ("COMMIT_SUMMARY", 29),
];

/// The variables that a shell has to set for the directory `state`, according to the program.
fn expected(sandbox: &Sandbox, state: &str) -> BTreeMap<String, String> {
    let mut command = sandbox.isolated(VIGIL, b"");
    let ask = format!("--ask={}/{state}", sandbox.root().display());
    command.args(["gitstatusd", "-s-1", "-u-1", "-c-1", "-d-1", &ask]);
    let printed = command.output().unwrap().stdout;
    let printed = String::from_utf8(printed).unwrap();
    // The first field would be the id, which is missing here.
    let fields: Vec<&str> = printed.lines().collect();
    let mut all = BTreeMap::new();
    let mut set = |name: &str, value: &str| {
        all.insert(format!("VCS_STATUS_{name}"), value.to_owned());
    };
    if fields[0] != "1" {
        set("RESULT", "norepo-sync");
        return all;
    }
    set("RESULT", "ok-sync");
    for (name, number) in VARIABLES {
        let value = fields[number - 2];
        set(name, value);
        if let Some(kind) = name.strip_prefix("NUM_")
            && ["STAGED", "UNSTAGED", "CONFLICTED", "UNTRACKED"].contains(&kind)
        {
            let has = if value == "0" { "0" } else { "1" };
            set(&format!("HAS_{kind}"), has);
        }
    }
    all
}

#[test]
fn every_shell_sets_what_the_program_says_in_every_state() {
    let sandbox = Sandbox::empty();
    let scripts = plugin_scripts();
    let root = sandbox.root();
    let mut make = sandbox.isolated("sh", b"");
    make.args(["-c", ". \"$0\"/states"])
        .arg(&scripts)
        .env("root", root)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    assert!(make.status().unwrap().success());
    let table = fs::read_to_string(root.join("table")).unwrap();
    let states: Vec<&str> = table
        .lines()
        .map(|line| line.split('|').next().unwrap())
        .collect();
    assert!(states.len() >= 20, "{states:?}");
    for shell in SHELLS {
        let name = shell.name();
        let (scripts, root) = (scripts.display(), root.display());
        let file = format!("'{scripts}/variables.{name}' '{VIGIL}' '{root}' \"$OUT\"");
        let text = match shell {
            Shell::Fish => format!("source {file}\n"),
            _ => format!(". {file}\n"),
        };
        let written = run(&sandbox, shell, &text);
        let mut by_state: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
        for line in written.lines() {
            let (state, variable) = line.split_once('|').unwrap();
            let (name, value) = variable.split_once('=').unwrap();
            let variables = by_state.entry(state).or_default();
            variables.insert(name.to_owned(), value.to_owned());
        }
        for state in &states {
            let want = expected(&sandbox, state);
            assert_eq!(by_state.get(state), Some(&want), "{name}: {state}");
        }
    }
}

/// Writes `words` and the exit code of the last command to the file.
fn report_exit_code(shell: Shell, words: &str) -> String {
    format!("echo {words} {} >>\"$OUT\"\n", shell.status())
}

#[test]
fn exit_codes_are_those_of_the_plugins() {
    for shell in SHELLS {
        let sandbox = Sandbox::new();
        sandbox.write("new", "");
        let call = |name, options| shell.function_call(name, options) + " 2>/dev/null\n";
        let mut text = shell.init_line("");
        for (word, what) in [
            ("check-before", call("check", "")),
            ("query-before", call("query", "")),
            ("stop-before", call("stop", "")),
            ("bad-option", call("start", "-x")),
            ("bad-number", call("start", "-s x")),
            ("start", shell.start()),
            ("start-again", shell.start()),
            ("check", call("check", "")),
            ("query", call("query", "-d work")),
            ("query-bad-option", call("query", "-x")),
            ("query-bad-time", call("query", "-t x")),
            ("query-no-index", call("query", "-p -d work")),
        ] {
            text += &what;
            text += &report_exit_code(shell, word);
        }
        text += "echo untracked $VCS_STATUS_NUM_UNTRACKED >>\"$OUT\"\n";
        text += &call("query", "-d home -t 30");
        text += &report_exit_code(
            shell,
            "elsewhere $VCS_STATUS_RESULT \"<$VCS_STATUS_COMMIT_SUMMARY>\"",
        );
        text += &call("stop", "");
        text += &report_exit_code(shell, "stop");
        text += &call("check", "");
        text += &report_exit_code(shell, "check-after");
        text += "exit\n";
        let written = run(&sandbox, shell, &text);
        let want = "check-before 1\nquery-before 1\nstop-before 0\nbad-option 1\nbad-number 1\n\
                    start 0\nstart-again 0\ncheck 0\nquery 0\nquery-bad-option 1\nquery-bad-time 1\n\
                    query-no-index 0\nuntracked 0\nelsewhere norepo-sync <> 0\nstop 0\ncheck-after 1\n";
        assert_eq!(written, want, "{shell:?}");
    }
}

#[test]
fn zsh_is_told_when_a_late_answer_arrives() {
    let sandbox = Sandbox::new();
    sandbox.write("new", "");
    let shell = Shell::Zsh;
    let text = shell.init_line("")
        + &shell.start()
        + "late() { print -r -- late $VCS_STATUS_RESULT $VCS_STATUS_NUM_UNTRACKED $1 >>$OUT }\n\
           gitstatus_query -d work -t 0 T; print -r -- none $VCS_STATUS_RESULT $? >>$OUT\n\
           gitstatus_process_results T\n\
           print -r -- nobody $VCS_STATUS_RESULT >>$OUT\n\
           gitstatus_query -d work -t 0 -c 'late \"a b\"' T\n\
           print -r -- first $VCS_STATUS_RESULT \"<$VCS_STATUS_COMMIT>\" $? >>$OUT\n\
           gitstatus_query -d work T; print -r -- second $VCS_STATUS_RESULT $? >>$OUT\n\
           gitstatus_query -d home -t 0 -c late T\n\
           gitstatus_process_results -t 30 T; print -r -- done $VCS_STATUS_RESULT $? >>$OUT\n\
           gitstatus_process_results T; print -r -- nothing $? >>$OUT\n\
           exit\n";
    let written = run(&sandbox, shell, &text);
    let want = "none tout 1\nnobody ok-async\nfirst tout <> 0\nlate ok-async 1 a b\nsecond ok-sync 0\n\
                late norepo-async\ndone norepo-async 0\nnothing 0\n";
    assert_eq!(written, want);
}

#[test]
fn a_directory_that_no_request_can_hold_has_no_repository() {
    for shell in [Shell::Zsh, Shell::Bash] {
        let sandbox = Sandbox::new();
        for name in ["a\x1fb", "a\x1eb"] {
            fs::create_dir(sandbox.root().join("work").join(name)).unwrap();
        }
        let mut text = shell.init_line("") + &shell.start();
        text += "long=$(printf %070000d 0); root=$PWD\n";
        for dir in [
            "$root/work/$'a\\x1fb'",
            "$root/work/$'a\\x1eb'",
            "$root/$long",
        ] {
            text += &(shell.function_call("query", &format!("-d {dir}")) + "\n");
            text += &report_exit_code(shell, "given $VCS_STATUS_RESULT");
            text += &format!("cd {dir} 2>/dev/null\n");
            text += &(shell.function_call("query", "") + "\n");
            text += &report_exit_code(shell, "there $VCS_STATUS_RESULT");
        }
        text += "cd $root/work\n";
        text += &(shell.function_call("query", "") + "\n");
        text += &report_exit_code(shell, "$VCS_STATUS_RESULT");
        text += "exit\n";
        let written = run(&sandbox, shell, &text);
        let none = "given norepo-sync 0\nthere norepo-sync 0\n";
        assert_eq!(written, none.repeat(3) + "ok-sync 0\n", "{shell:?}");
    }
}

#[test]
fn a_shell_whose_directory_is_gone_can_ask_about_others() {
    for shell in SHELLS {
        let sandbox = Sandbox::new();
        let root = sandbox.root().display().to_string();
        let mut text = shell.init_line("") + &shell.start();
        text += &format!("mkdir '{root}/gone'; cd '{root}/gone'; rmdir '{root}/gone'\n");
        text += &shell.function_call("query", &format!("-d '{root}/work'"));
        text += "\n";
        text += &report_exit_code(shell, "$VCS_STATUS_RESULT");
        text += "export GIT_DIR=../work/.git\n";
        text += &shell.function_call("query", "");
        text += "\n";
        text += &report_exit_code(shell, "relative");
        text += &format!("export GIT_DIR='{root}/work/.git'\n");
        text += &shell.function_call("query", "");
        text += "\n";
        text += &report_exit_code(shell, "$VCS_STATUS_RESULT");
        let written = run(&sandbox, shell, &(text + "exit\n"));
        // As in gitstatus's plugins, only bash calls it an error to be nowhere.
        let nowhere = match shell {
            Shell::Bash => 1,
            _ => 0,
        };
        let want = format!("ok-sync 0\nrelative {nowhere}\nok-sync 0\n");
        assert_eq!(written, want, "{shell:?}");
    }
}

/// The shell's own name for its directory is then that of another one. fish has no other name without a look at the disk, which may
/// hang.
#[test]
fn a_shell_whose_directory_was_renamed_asks_about_that_one() {
    for shell in SHELLS_WITH_PROCESS {
        let sandbox = Sandbox::new();
        sandbox.write("sub/file", "");
        let root = sandbox.root().display().to_string();
        let query = shell.function_call("query", "") + "\n";
        let mut text = shell.init_line("") + &shell.start();
        text += "alias builtin=false\n";
        text += &format!("cd '{root}/work/sub'; command mv '{root}/work' '{root}/moved'\n");
        text += &query;
        text += &report_exit_code(shell, "$VCS_STATUS_RESULT $VCS_STATUS_WORKDIR");
        text += &format!(
            "command git init -q -b other '{root}/work'; command mkdir '{root}/work/sub'\n"
        );
        text += &query;
        text += &report_exit_code(shell, "$VCS_STATUS_RESULT $VCS_STATUS_WORKDIR");
        text += &shell.function_call("query", "-d ../../work");
        text += "\n";
        text += &report_exit_code(shell, "$VCS_STATUS_RESULT $VCS_STATUS_WORKDIR");
        text += &format!("command rm -rf '{root}/moved'\n");
        text += &query;
        text += &report_exit_code(shell, "gone");
        let written = run(&sandbox, shell, &(text + "exit\n"));
        let nowhere = match shell {
            Shell::Bash => 1,
            _ => 0,
        };
        let moved = format!("ok-sync {root}/moved 0\n").repeat(2);
        let want = format!("{moved}ok-sync {root}/work 0\ngone {nowhere}\n");
        assert_eq!(written, want, "{shell:?}");
    }
}

#[test]
fn an_index_that_is_too_large_has_unknown_changes() {
    for shell in SHELLS {
        let sandbox = Sandbox::new().with_five_commits();
        let mut text = shell.init_line("");
        for most in ["4", "5"] {
            text += &shell.function_call("start", &format!("-m {most}"));
            text += "\n";
            text += &shell.function_call("query", "-d work");
            text += "\necho $VCS_STATUS_HAS_UNSTAGED $VCS_STATUS_HAS_CONFLICTED \
                     $VCS_STATUS_HAS_UNTRACKED $VCS_STATUS_HAS_STAGED >>\"$OUT\"\n";
            text += &shell.function_call("stop", "");
            text += "\n";
        }
        let written = run(&sandbox, shell, &(text + "exit\n"));
        assert_eq!(written, "-1 -1 -1 0\n0 0 0 0\n", "{shell:?}");
    }
}

#[test]
fn fish_passes_on_how_many_threads_the_user_wants() {
    for (set, options) in [("", "\n"), ("8", "-t 8\n"), ("0", "\n"), ("x", "\n")] {
        let text = Shell::Fish.init_line("")
            + &format!("set -g GITSTATUS_NUM_THREADS {set}\n")
            + "gitstatus_start; and echo $__vigil_program_options >>$OUT\nexit\n";
        let written = run(&Sandbox::new(), Shell::Fish, &text);
        assert_eq!(written, options, "{set}");
    }
}

#[test]
fn an_answer_of_any_length_is_read() {
    for shell in SHELLS_WITH_PROCESS {
        let sandbox = Sandbox::new().with_five_commits();
        // A server may have such tags, and no name of a file is as long.
        let commit = sandbox.git(["rev-parse", "HEAD"]);
        let tag = "t".repeat(500_000);
        let line = format!("{} refs/tags/{tag}\n", commit.trim_end());
        fs::write(sandbox.git_dir().join("packed-refs"), line).unwrap();
        let rc = shell.init_line("") + &shell.start() + "echo rea''dy\n";
        let mut session = Session::start(&sandbox, shell, &rc);
        session.wait_for("ready");
        let query = shell.function_call("query", "-d work");
        session.send(&format!(
            "{query}; echo $VCS_STATUS_RESULT ${{#VCS_STATUS_TAG}}"
        ));
        session.wait_for("ok-sync 500000");
        session.send("exit");
        session.end();
    }
}
