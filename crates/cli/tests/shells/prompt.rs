//! Prompts as drawn on terminals.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use vigil_testkit::sandbox::Sandbox;

use crate::shell::{SHELLS, Session, Shell, prompt_commands_are_an_array, script_for_bash};

pub(crate) const CLEAN: &str = "\x1b[38;5;76m";
pub(crate) const UNTRACKED: &str = "\x1b[38;5;39m";
pub(crate) const STALE: &str = "\x1b[38;5;244m";

/// A shell that waits as long as an answer takes.
fn patient_session(sandbox: &Sandbox, shell: Shell) -> Session {
    Session::start(sandbox, shell, &patient_rc(shell))
}

pub(crate) fn patient_rc(shell: Shell) -> String {
    set_patience(shell, 60_000) + "\n" + &shell.init_line("--prompt")
}

/// From now on prompts wait this long.
pub(crate) fn set_patience(shell: Shell, ms: u32) -> String {
    match shell {
        Shell::Fish => format!("set -g VIGIL_PROMPT_PATIENCE_MS {ms}"),
        _ => format!("VIGIL_PROMPT_PATIENCE_MS={ms}"),
    }
}

#[test]
fn the_prompt_shows_what_changed() {
    for shell in SHELLS {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let mut session = patient_session(&sandbox, shell);
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        session.send("echo >new");
        session.wait_for(&format!("{CLEAN}main {UNTRACKED}?1"));
        session.send("git add new");
        session.wait_for(&format!("{CLEAN}main \x1b[38;5;178m+1"));
        session.send("cd /");
        session.wait_for(&format!("{UNTRACKED}/\x1b[39m"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn the_prompt_shows_what_changed_in_a_working_copy_of_mercurial() {
    for shell in SHELLS {
        let sandbox = Sandbox::empty();
        let dot_hg = sandbox.root().join("copy/.hg");
        fs::create_dir_all(&dot_hg).unwrap();
        fs::write(dot_hg.join("requires"), "revlogv1\n").unwrap();
        let mut session = patient_session(&sandbox, shell);
        session.send("cd copy");
        session.wait_for(&format!("{CLEAN}default"));
        session.send("echo >new");
        session.wait_for(&format!("{CLEAN}default {UNTRACKED}?1"));
        session.send("cd /");
        session.wait_for(&format!("{UNTRACKED}/\x1b[39m"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn the_prompt_shows_where_the_shell_is_whatever_its_git_dir() {
    for shell in SHELLS {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        fs::create_dir(sandbox.root().join("elsewhere")).unwrap();
        let of_mercurial = sandbox.root().join("mercurial/.hg");
        fs::create_dir_all(&of_mercurial).unwrap();
        fs::write(of_mercurial.join("requires"), "revlogv1\n").unwrap();
        let mut session = patient_session(&sandbox, shell);
        let root = sandbox.root().display();
        session.send(&format!("export GIT_DIR={root}/work/.git"));
        session.wait_for(&format!("{CLEAN}main"));
        for place in ["elsewhere", "mercurial"] {
            session.send(&format!("cd {root}/{place}"));
            session.wait_for(&format!("{place}\x1b[39m {CLEAN}main"));
        }
        session.send(match shell {
            Shell::Fish => "set -e GIT_DIR",
            _ => "unset GIT_DIR",
        });
        session.wait_for(&format!("mercurial\x1b[39m {CLEAN}default"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_changed_home_is_used_from_then_on() {
    for shell in SHELLS {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        sandbox.write("new", "");
        let home = sandbox.root().join("another");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("excluded"), "new\n").unwrap();
        let config = "[core]\n\texcludesFile = ~/excluded\n";
        fs::write(home.join(".gitconfig"), config).unwrap();
        let mut session = patient_session(&sandbox, shell);
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main {UNTRACKED}?1"));
        let home = home.display();
        session.send(&match shell {
            Shell::Fish => format!("set -gx HOME {home}"),
            _ => format!("export HOME={home}"),
        });
        session.wait_for(&format!("{CLEAN}main\x1b[39m"));
        session.send("cd; echo a''t,");
        session.wait_for("at,");
        session.wait_for(&format!("{UNTRACKED}~\x1b[39m"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_directory_that_cannot_be_asked_about_is_shown_without_a_segment() {
    for shell in [Shell::Zsh, Shell::Bash] {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        fs::create_dir(sandbox.root().join("odd\x1fname")).unwrap();
        let mut session = patient_session(&sandbox, shell);
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        session.send("cd ../odd*; echo a''t,");
        session.wait_for("at,");
        let seen = session.wait_for("name");
        assert!(seen.contains("odd"), "{shell:?}: {seen}");
        session.send("exit");
        assert!(!session.end().contains("main"), "{shell:?}");
    }
}

#[test]
fn a_directory_that_is_gone_is_not_complained_about() {
    for shell in SHELLS {
        let sandbox = Sandbox::new();
        let mut session = patient_session(&sandbox, shell);
        session.send("mkdir work/gone && cd work/gone && rmdir ../gone; echo a''t,");
        session.wait_for("at,");
        let mut seen = session.wait_for("gone");
        session.send("echo on''ce more,");
        seen += &session.wait_for("once more,");
        seen += &session.wait_for("gone");
        session.send("exit");
        seen += &session.end();
        assert!(!seen.contains("getcwd"), "{shell:?}: {seen}");
    }
}

#[test]
fn a_fish_that_starts_in_a_directory_that_is_gone_shows_none() {
    let sandbox = Sandbox::new();
    let mut session = patient_session(&sandbox, Shell::Fish);
    session.send("mkdir work/gone && cd work/gone && rmdir ../gone; echo a''t,");
    session.wait_for("at,");
    session.send("fish");
    // A newer fish drops what is typed before, while it asks the terminal what that can do.
    session.wait_for("interactive shell");
    session.send("echo \"l\"ength $GITSTATUS_PROMPT_LEN, \"in <$__vigil_prompt_directory>\"");
    let seen = session.wait_for("length 0, in <>");
    assert!(!seen.contains("pwd:"), "{seen}");
    session.send("exit");
    session.send("exit");
    session.end();
}

#[test]
fn the_symbol_of_bash_has_the_same_colours_in_posix_mode() {
    for mode in ["", "set -o posix\n"] {
        let sandbox = Sandbox::new();
        let rc = mode.to_owned() + &patient_rc(Shell::Bash);
        let mut session = Session::start(&sandbox, Shell::Bash, &rc);
        for (code, color) in [(0, "\x1b[32m"), (200, "\x1b[31m"), (0, "\x1b[32m")] {
            session.send(&format!("echo ra''n; (exit {code})"));
            session.wait_for("ran\r");
            let seen = session.wait_for(color);
            assert!(!seen.contains('#') && !seen.contains('$'), "{mode}: {seen}");
        }
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_function_that_restores_the_options_of_zsh_may_load_the_prompt() {
    let shell = Shell::Zsh;
    let load = format!("emulate -L zsh; {}", patient_rc(shell));
    for rc in [
        format!("load() {{ {load} }}; load"),
        // Functions that are defined so have its options whenever they are called.
        format!("load() {{ {} }}; emulate zsh -c load", patient_rc(shell)),
        // From a handler of zle, after the first prompt.
        format!(
            "load() {{ zle -F $1; {load}; zle reset-prompt }}\n\
             exec {{fd}}</dev/null; zle -F $fd load"
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let mut session = Session::start(&sandbox, shell, &format!("cd work\n{rc}\n"));
        session.wait_for(&format!("{CLEAN}main\x1b[39m"));
        // Before zsh 5.3, what a handler of zle has scheduled waits for the next prompt.
        session.send("echo ne''xt,");
        session.wait_for("next,");
        session.wait_for(&format!("{CLEAN}main\x1b[39m"));
        session.send("setopt no_prompt_subst; echo >new; echo a''t,");
        session.wait_for("at,");
        // From then on the options are the user's.
        session.wait_for("${GITSTATUS_PROMPT");
        session.send("setopt prompt_subst");
        session.wait_for(&format!("{CLEAN}main {UNTRACKED}?1"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn exit_codes_and_the_last_argument_are_left_to_the_user() {
    for (shell, line, want) in [
        (Shell::Zsh, "(exit 3) | true", "code 0 3 0 end"),
        (Shell::Bash, "(exit 3) | true", "code 0 3 0 end"),
        (Shell::Fish, "sh -c 'exit 3' | true", "code 0 3 0 end"),
    ] {
        let sandbox = Sandbox::new();
        let mut session = patient_session(&sandbox, shell);
        session.send("cd work");
        session.wait_for("work");
        session.wait_for("main");
        session.send(line);
        session.wait_for("main");
        session.send(match shell {
            Shell::Zsh => "echo co''de $? $pipestatus end",
            Shell::Bash => "echo co''de $? ${PIPESTATUS[*]} end",
            Shell::Fish => "echo co''de $status $pipestatus end",
        });
        session.wait_for(want);
        session.wait_for("main");
        if shell != Shell::Fish {
            session.send("true one two");
            session.wait_for("main");
            session.send("echo la''st $_ end");
            session.wait_for("last two end");
            session.wait_for("main");
        }
        session.send("sh -c 'exit 7'");
        // The symbol turns red.
        session.wait_for(match shell {
            Shell::Bash => "\x1b[31m",
            _ => "\x1b[38;5;196m",
        });
        session.send(match shell {
            Shell::Fish => "echo co''de $status",
            _ => "echo co''de $?",
        });
        session.wait_for("code 7");
        session.send("exit");
        session.end();
    }
}

/// Adds a command behind those of PROMPT_COMMAND.
fn add_prompt_command(command: &str) -> String {
    match prompt_commands_are_an_array() {
        true => format!("PROMPT_COMMAND+=('{command}')\n"),
        false => format!("PROMPT_COMMAND+='; {command}'\n"),
    }
}

#[test]
fn the_users_own_prompt_commands_see_the_same_exit_codes() {
    let sandbox = Sandbox::new();
    for rc in [
        "PROMPT_COMMAND='echo own $? ${PIPESTATUS[*]} $_ end'\n".to_owned()
            + &Shell::Bash.init_line("--prompt"),
        Shell::Bash.init_line("--prompt")
            + &add_prompt_command("echo own $? ${PIPESTATUS[*]} $_ end"),
    ] {
        let mut session = Session::start(&sandbox, Shell::Bash, &rc);
        session.wait_for("own");
        session.send("sh -c 'exit 4' some");
        session.wait_for("own 4 4 some end");
        // Before bash 5.1, its second line would be part of the history.
        session.send("history; echo li''sted");
        let seen = session.wait_for("listed\r");
        assert!(
            seen.contains("exit 4") && !seen.contains("echo own"),
            "{seen}"
        );
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_prompt_command_may_be_added_to_as_a_text() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    for (earlier, addition) in [
        (
            "PROMPT_COMMAND='echo own $?,'\n",
            "$PROMPT_COMMAND; echo later",
        ),
        ("", "${PROMPT_COMMAND:-echo later}"),
    ] {
        let rc = format!(
            "{earlier}{}PROMPT_COMMAND=\"{addition}\"\n",
            patient_rc(Shell::Bash)
        );
        let mut session = Session::start(&sandbox, Shell::Bash, &rc);
        let mut seen = session.wait_for("\x1b[39m ");
        // Whatever comes first. Without an array, there is no element that is free.
        let runs = !earlier.is_empty() || prompt_commands_are_an_array();
        assert_eq!(seen.contains("later"), runs, "{seen}");
        session.send("cd work; sh -c 'exit 5'");
        let next = session.wait_for(&format!("{CLEAN}main"));
        assert_eq!(next.contains("later"), runs, "{next}");
        assert_eq!(next.contains("own 5,"), !earlier.is_empty(), "{next}");
        seen += &next;
        assert!(!seen.contains("syntax"), "{seen}");
        session.send("exit");
        session.end();
    }
}

#[test]
fn the_users_options_and_traps_apply_only_to_the_users_commands() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    for (shell, set) in [
        (
            Shell::Bash,
            "set -E -T; trap 'echo ERR''ed' ERR; trap 'echo RET''urned' RETURN; IFS=01\n",
        ),
        (Shell::Bash, "set -e\n"),
        (Shell::Bash, "set -k\n"),
        (Shell::Bash, "export LC_ALL=xx_YY.UTF-8 2>/dev/null\n"),
        (Shell::Bash, "PS4=tra''ced; set -x\n"),
        (
            Shell::Zsh,
            "trap 'echo ERR''ed' ZERR; trap 'echo DEB''ugged' DEBUG\n",
        ),
    ] {
        let rc = patient_rc(shell) + set;
        let mut session = Session::start(&sandbox, shell, &rc);
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        session.send("echo st''art");
        session.wait_for("start\r");
        session.send("false && true");
        let mut seen = session.wait_for(&format!("{CLEAN}main"));
        session.send("! true");
        seen += &session.wait_for(&format!("{CLEAN}main"));
        // Like any function, this one may be seen returning to the shell.
        assert!(seen.matches("RETurned").count() <= 2, "{seen}");
        for unwanted in ["ERRed", "warning", "return:", "invalid"] {
            assert!(!seen.contains(unwanted), "{shell:?} {set}: {seen}");
        }
        assert!(seen.matches("traced").count() < 20, "{seen}");
        assert!(seen.matches("DEBugged").count() < 10, "{seen}");
        session.send("exit");
        session.end();
    }
}

/// The parts of bash-preexec that the line looks for (the names are bash-preexec's). It puts its call before what is there.
const PREEXEC: &str = "\
bash_preexec_imported=defined
PROMPT_COMMAND=invoke${PROMPT_COMMAND:+$'\\n'$PROMPT_COMMAND}
precmd_functions+=(own)
own() { echo ow''n $?,; }
invoke() { local one code=$?; for one in \"${precmd_functions[@]}\"; do (exit $code); $one; done; }
";

#[test]
fn bash_preexec_calls_what_is_called_before_prompts() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    for rc in [
        format!("{PREEXEC}{}", patient_rc(Shell::Bash)),
        format!("{}{PREEXEC}", patient_rc(Shell::Bash)),
        format!("IFS=$'\\n'\n{}{PREEXEC}", patient_rc(Shell::Bash)),
    ] {
        let mut session = Session::start(&sandbox, Shell::Bash, &rc);
        session.send("cd work; sh -c 'exit 5'");
        session.wait_for("own 5,");
        session.wait_for(&format!("{CLEAN}main"));
        session.send("declare -p PROMPT_COMMAND; echo \"${precmd_functions[@]}\" en''d,");
        let seen = session.wait_for(" end,");
        let is_text = seen.contains("declare -- PROMPT_COMMAND=\"invoke");
        assert!(is_text || prompt_commands_are_an_array(), "{seen}");
        assert!(
            seen.contains("\r\nown __vigil_prompt_update end,"),
            "{seen}"
        );
        assert_eq!(seen.matches("__vigil_prompt_update").count(), 1, "{seen}");
        session.send("exit");
        session.end();
    }
}

/// What VS Code does once the rc file has been read: it keeps only the text, and reports the first command after each prompt.
const VS_CODE: &str = "\
kept=${PROMPT_COMMAND-}
before_prompt() { local code=$?; (exit $code); eval \"$kept\"; awaits=1; }
PROMPT_COMMAND=before_prompt
trap '[[ ! $awaits ]] || { awaits=; echo \"re''ported ${BASH_COMMAND%% *},\"; }' DEBUG
";

#[test]
fn the_terminal_of_vs_code_takes_nothing_of_ours_for_a_command() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    for earlier in ["", "PROMPT_COMMAND='echo own $?,'\n"] {
        let rc = format!(
            "VSCODE_INJECTION=1\n{earlier}{}{VS_CODE}",
            patient_rc(Shell::Bash)
        );
        let mut session = Session::start(&sandbox, Shell::Bash, &rc);
        session.send("cd work; sh -c 'exit 5'");
        session.wait_for("reported cd,");
        if !earlier.is_empty() {
            session.wait_for("own 5,");
        }
        session.wait_for(&format!("{CLEAN}main"));
        session.send("sh -c 'echo do''ne'");
        let seen = session.wait_for("done\r");
        assert!(seen.contains("reported sh,"), "{seen}");
        assert_eq!(seen.matches("reported").count(), 1, "{seen}");
        session.send("exit");
        session.end();
    }
}

#[test]
fn the_users_options_outlast_prompts_in_an_old_bash() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    // bash 4.3 cannot make options local.
    let rc = script_for_bash("43") + "VIGIL_PROMPT_PATIENCE_MS=60000\n";
    let mut session = Session::start(&sandbox, Shell::Bash, &rc);
    session.send("cd work");
    session.wait_for(&format!("{CLEAN}main"));
    session.send("set -E -T -k -f; set -x");
    session.wait_for(&format!("{CLEAN}main"));
    session.send("echo opt''ions [${-//[^ETfkx]}]");
    session.wait_for("options [fkxET]");
    session.wait_for(&format!("{CLEAN}main"));
    session.send("set +E +T +k +f +x");
    session.wait_for(&format!("{CLEAN}main"));
    session.send("echo opt''ions [${-//[^ETfkx]}]");
    session.wait_for("options []");
    session.wait_for(&format!("{CLEAN}main"));
    session.send("shopt -s nocasematch; set -e");
    session.wait_for(&format!("{CLEAN}main"));
    session.send("shopt -o errtrace || set +e; echo do''ne");
    let seen = session.wait_for("done");
    assert!(seen.contains("off"), "{seen}");
    session.send("exit");
    session.end();
}

#[test]
fn a_fish_without_the_function_that_knows_root_has_a_symbol() {
    let sandbox = Sandbox::new();
    for (user, symbol) in [("root", "# "), ("someone", "> ")] {
        // fish 3.1 has no such function.
        let rc = patient_rc(Shell::Fish)
            + &format!("functions -e fish_is_root_user\nset -g USER {user}\nset -g NO_COLOR 1\n")
            + "fish_prompt >$OUT 2>&1\n";
        let mut session = Session::start(&sandbox, Shell::Fish, &rc);
        session.send("echo la''ter");
        session.wait_for("later");
        session.send("exit");
        session.end();
        let shown = fs::read_to_string(sandbox.root().join("out")).unwrap();
        let last = shown.lines().last().unwrap();
        assert_eq!((shown.lines().count(), last), (2, symbol), "{shown:?}");
    }
}

#[test]
fn a_key_that_changes_the_directory_updates_the_prompt() {
    for (shell, bound) in [
        (
            Shell::Zsh,
            "away() { cd ../away; zle reset-prompt }; zle -N away; bindkey '^T' away\n",
        ),
        (
            Shell::Fish,
            "bind \\ct 'cd ../away; commandline -f repaint'\n",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        fs::create_dir(sandbox.root().join("away")).unwrap();
        let mut session = Session::start(&sandbox, shell, &(patient_rc(shell) + bound));
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        session.type_in("\x14");
        let seen = session.wait_for("away\x1b[39m");
        assert!(!seen.contains("command"), "{seen}");
        session.send("cd ../work; echo a''t,");
        let mut seen = session.wait_for("at,");
        seen += &session.wait_for(&format!("{CLEAN}main"));
        assert!(!seen.contains("away\x1b[39m main"), "{seen}");
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_directory_with_a_newline_in_its_name_is_one() {
    for shell in SHELLS {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let odd = sandbox.root().join("work\n");
        fs::create_dir_all(odd.join("b\nc/d")).unwrap();
        let mut session = patient_session(&sandbox, shell);
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        // A question mark is no pattern in fish 4.
        let into_odd = match shell {
            Shell::Fish => r"cd ../work\n",
            _ => "cd ../work?",
        };
        for (line, end) in [
            (into_odd, "work?\x1b[39m"),
            ("cd b*/d", "b?c/d\x1b[39m"),
            ("cd ..", "b?c\x1b[39m"),
        ] {
            session.send(&format!("{line}; echo a''t {},", end.len()));
            session.wait_for(&format!("at {},", end.len()));
            session.wait_for(end);
            let seen = session.wait_for("\x1b[39m ");
            assert!(!seen.contains("main"), "{shell:?}: {seen}");
        }
        session.send("exit");
        session.end();
    }
}

#[test]
fn variables_need_not_be_exported() {
    for shell in SHELLS {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        sandbox.write("new", "");
        let set = match shell {
            Shell::Fish => "set -g VIGIL_PROMPT_SYMBOL_UNTRACKED NEW\nset -g NO_COLOR 1\n",
            _ => "VIGIL_PROMPT_SYMBOL_UNTRACKED=NEW\nNO_COLOR=1\n",
        };
        let mut session = Session::start(&sandbox, shell, &(set.to_owned() + &patient_rc(shell)));
        session.send("cd work");
        session.wait_for("main NEW1");
        session.send("exit");
        session.end();
    }
}

#[test]
fn marks_for_line_editing_are_printed_only_for_line_editing() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let rc = patient_rc(Shell::Bash) + "set +o emacs\nset +o vi\n";
    let mut session = Session::start(&sandbox, Shell::Bash, &rc);
    session.send("cd work");
    let seen = session.wait_for(&format!("{CLEAN}main"));
    assert!(!seen.contains(['\x01', '\x02']), "{seen:?}");
    session.send("exit");
    session.end();
}

#[test]
fn a_prompt_command_that_is_set_later_runs_beside_ours() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    for earlier in ["", "PROMPT_COMMAND='echo own'\n"] {
        // A text that replaces ours could not run beside it.
        let later = match prompt_commands_are_an_array() {
            true => "PROMPT_COMMAND='echo later $?,'\n".to_owned(),
            false => add_prompt_command("echo later $?,"),
        };
        let rc = earlier.to_owned() + &patient_rc(Shell::Bash) + &later;
        let mut session = Session::start(&sandbox, Shell::Bash, &rc);
        session.send("cd work; sh -c 'exit 5'");
        // Every element finds the exit code, but within a text it is that of the earlier command.
        let is_first = earlier.is_empty() || prompt_commands_are_an_array();
        session.wait_for(if is_first { "later 5," } else { "\nlater 0," });
        session.wait_for(&format!("{CLEAN}main"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_process_that_is_killed_or_halted_costs_no_prompt() {
    for shell in [Shell::Zsh, Shell::Bash] {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let mut session = patient_session(&sandbox, shell);
        let pid = match shell {
            Shell::Zsh => "$GITSTATUS_DAEMON_PID_VIGIL",
            _ => "$GITSTATUS_DAEMON_PID",
        };
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        for signal in ["KILL", "STOP", "KILL"] {
            // That the process is stopped may be noticed only at the next prompt.
            session.send(&format!("kill -{signal} {pid}"));
            session.wait_for(&format!("{CLEAN}main"));
        }
        session.send("exit");
        session.end();
    }
}

/// Possible names of a branch, how zsh and bash show them, and how fish does.
const NAMES: [(&str, &str, &str); 8] = [
    (
        "$(touch${IFS}pwned)",
        "$(touch${IFS}pwned)",
        "$(touch${IFS}pwned)",
    ),
    (
        "`touch${IFS}pwned`",
        "'touch${IFS}pwned'",
        "`touch${IFS}pwned`",
    ),
    (
        "%F{red}%n%(1v.a.b)%{x%}",
        "%F{red}%n%(1v.a.b)%{x%}",
        "%F{red}%n%(1v.a.b)%{x%}",
    ),
    ("{a,b}!!!$USER!", "{a,b}!!!$USER!", "{a,b}!!!$USER!"),
    ("a\u{9b}31m\u{202e}b\u{200b}c", "a?31m?b?c", "a?31m?b?c"),
    ("日本語🚀", "日本語🚀", "日本語🚀"),
    (
        "'\"(;touch${IFS}pwned;)",
        "'\"(;touch${IFS}pwned;)",
        "'\"(;touch${IFS}pwned;)",
    ),
    ("$'\"#<>|&", "$'\"#<>|&", "$'\"#<>|&"),
];

/// `text` without what a terminal does not show.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        if letter != '\x1b' {
            shown.push(letter);
        } else if rest.next() == Some('[') {
            rest.find(char::is_ascii_alphabetic);
        }
    }
    shown
}

#[test]
fn no_name_is_expanded_executed_or_sent_to_the_terminal_as_it_is() {
    for shell in SHELLS {
        let sandbox = Sandbox::empty();
        for (number, (name, ..)) in NAMES.iter().enumerate() {
            let folder = sandbox.root().join(format!("repository{number}"));
            fs::create_dir(&folder).unwrap();
            sandbox.git_in(&folder, ["init", "-q"]);
            fs::write(
                folder.join(".git/HEAD"),
                format!("ref: refs/heads/{name}\n"),
            )
            .unwrap();
            let of_mercurial = sandbox.root().join(format!("mercurial{number}/.hg"));
            fs::create_dir_all(&of_mercurial).unwrap();
            fs::write(of_mercurial.join("requires"), "revlogv1\n").unwrap();
            fs::write(of_mercurial.join("branch"), name).unwrap();
        }
        for options in [
            "",
            match shell {
                Shell::Zsh => "setopt prompt_bang prompt_subst",
                Shell::Bash => "set -o posix; shopt -s promptvars histexpand 2>/dev/null; set -H",
                Shell::Fish => "",
            },
        ] {
            let rc = format!("{}{options}\n", patient_rc(shell));
            let mut session = Session::start(&sandbox, shell, &rc);
            let numbered = NAMES.iter().enumerate();
            let numbered = numbered.flat_map(|name| [("repository", name), ("mercurial", name)]);
            for (system, (number, (_, of_posix, of_fish))) in numbered {
                let place = sandbox.root().join(format!("{system}{number}"));
                session.send(&format!("cd {}; echo a''t {number},", place.display()));
                session.wait_for(&format!("at {number},"));
                session.wait_for(CLEAN);
                let seen = session.wait_for("\x1b[39m");
                let want = if shell == Shell::Fish {
                    of_fish
                } else {
                    of_posix
                };
                let shown = plain(&seen);
                assert!(
                    shown.contains(want),
                    "{shell:?} {options}: {want:?} in {shown:?}"
                );
                assert!(
                    !seen.contains('\u{9b}') && !seen.contains('\u{202e}'),
                    "{seen:?}"
                );
            }
            session.send("exit");
            session.end();
        }
        for (number, (name, ..)) in NAMES.iter().enumerate() {
            for system in ["repository", "mercurial"] {
                let pwned = sandbox.root().join(format!("{system}{number}/pwned"));
                assert!(!pwned.exists(), "{shell:?}: {name}");
            }
        }
    }
}

#[test]
fn zsh_expands_no_prompt_of_another_script_that_relies_on_that() {
    let ours = patient_rc(Shell::Zsh);
    let other = "setopt no_prompt_subst\n\
                 other='$(echo exe\"\"cuted) `echo exe\"\"cuted` > '\n\
                 set_prompt() { PROMPT=$other }\nprecmd_functions+=(set_prompt)\n";
    let first = "set_prompt() { PROMPT=$other }\nprecmd_functions=(set_prompt $precmd_functions)\n";
    for rc in [
        format!("{ours}{other}"),
        format!("{other}{ours}"),
        format!("{other}{ours}{first}"),
        format!("{other}load() {{ {ours} }}; emulate zsh -c load\n"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let mut session = Session::start(&sandbox, Shell::Zsh, &rc);
        session.send("cd work; echo do''ne");
        let mut seen = session.wait_for("done\r");
        session.send("exit");
        seen += &session.end();
        assert!(seen.contains("$(echo exe"), "{rc} {seen}");
        assert!(!seen.contains("executed"), "{rc} {seen}");
    }
}

#[test]
fn the_prompt_of_another_script_is_not_expanded_if_it_relies_on_that() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let other = "shopt -u promptvars\n\
                 PROMPT_COMMAND='PS1=$other'; other='$(echo exe\"\"cuted) `echo exe\"\"cuted` > '\n";
    let mut session = Session::start(
        &sandbox,
        Shell::Bash,
        &(other.to_owned() + &patient_rc(Shell::Bash)),
    );
    session.send(". rc.bash/bashrc; echo do''ne");
    let mut seen = session.wait_for("done\r");
    session.send("exit");
    seen += &session.end();
    assert!(seen.contains("$(echo exe"), "{seen}");
    assert!(!seen.contains("executed"), "{seen}");

    // Without another script, ours is shown.
    let rc = "shopt -u promptvars\n".to_owned() + &patient_rc(Shell::Bash);
    let mut session = Session::start(&sandbox, Shell::Bash, &rc);
    session.send(". rc.bash/bashrc; cd work; echo do''ne");
    session.wait_for("done\r");
    session.wait_for(&format!("{CLEAN}main"));
    session.send("exit");
    session.end();
}

/// Names of branches of Mercurial. To bash, a backslash and digits in a prompt are a character, which it expands afterwards.
const NAMES_WITH_BACKSLASHES: [&str; 6] = [
    r"\044(touch pwned)",
    r"\140touch pwned\140",
    r"\$(touch pwned)",
    r"\\$(touch pwned)\`touch pwned`\",
    r"\$\134(touch pwned)",
    r"\e]0;title\a\[\w\]\n\",
];

#[test]
fn no_name_is_expanded_or_executed_where_the_prompt_contains_the_segment() {
    for (shell, options) in [
        (Shell::Zsh, "setopt prompt_subst"),
        (Shell::Bash, "set -o emacs"),
        (Shell::Bash, "set +o emacs; set +o vi"),
    ] {
        let sandbox = Sandbox::empty();
        let of_git = NAMES.map(|(name, ..)| name);
        for (number, name) in of_git.iter().chain(&NAMES_WITH_BACKSLASHES).enumerate() {
            let dot_hg = sandbox.root().join(format!("mercurial{number}/.hg"));
            fs::create_dir_all(&dot_hg).unwrap();
            fs::write(dot_hg.join("requires"), "revlogv1\n").unwrap();
            fs::write(dot_hg.join("branch"), name).unwrap();
        }
        let contain = match shell {
            Shell::Zsh => {
                "contain() { PROMPT=\"contained $GITSTATUS_PROMPT> \" }; precmd_functions+=(contain)"
                    .to_owned()
            }
            _ => add_prompt_command("PS1=\"contained $GITSTATUS_PROMPT> \""),
        };
        let rc = format!("{}{options}\n{contain}\n", patient_rc(shell));
        let mut session = Session::start(&sandbox, shell, &rc);
        for number in 0..NAMES.len() + NAMES_WITH_BACKSLASHES.len() {
            let place = sandbox.root().join(format!("mercurial{number}"));
            session.send(&format!("cd {}; echo a''t {number},", place.display()));
            session.wait_for(&format!("at {number},"));
            session.wait_for("contained ");
            let seen = session.wait_for("> ");
            assert!(!seen.contains("\x1b]0;title"), "{seen:?}");
            assert!(
                !place.join("pwned").exists(),
                "{shell:?} {options}: {number}"
            );
        }
        session.send("exit");
        session.end();
    }
}

#[test]
fn no_directory_is_expanded_executed_or_sent_to_the_terminal_as_it_is() {
    let name = b"hostile$(touch pwned)`touch pwned`%F{red}\x9b31m\xc2\x9b\x1b]0;t\x07!\\w{a,b}\xe2\x80\xae";
    let of_posix = "hostile$(touch pwned)'touch pwned'%F{red}?31m??]0;t?!\\w{a,b}?";
    let of_fish = "hostile$(touch pwned)`touch pwned`%F{red}?31m??]0;t?!\\w{a,b}?";
    for shell in SHELLS {
        let mut sandbox = Sandbox::empty();
        sandbox.set_variable("VIGIL_PROMPT_DIRECTORY_COLUMNS", "0");
        let place = sandbox.root().join(OsStr::from_bytes(name));
        fs::create_dir(&place).unwrap();
        // By default fish puts the raw directory name into the title.
        let title = match shell {
            Shell::Fish => "function fish_title; end\n",
            _ => "",
        };
        // Before fish 3.2, a prompt that is wider than the terminal is not shown.
        let rc = format!("stty cols 300\n{}{title}", patient_rc(shell));
        let mut session = Session::start(&sandbox, shell, &rc);
        for line in ["cd host*", "cd .", "true"] {
            session.send(&format!("{line}; echo a''t {},", line.len()));
            session.wait_for(&format!("at {},", line.len()));
            session.wait_for("\x1b[38;5;39m");
            let seen = session.wait_for("\x1b[39m");
            let want = if shell == Shell::Fish {
                of_fish
            } else {
                of_posix
            };
            assert!(plain(&seen).ends_with(want), "{shell:?}: {seen:?}");
            assert!(
                !seen.contains(['\u{9b}', '\u{fffd}', '\u{202e}']),
                "{seen:?}"
            );
        }
        session.send("exit");
        session.end();
        assert!(!place.join("pwned").exists(), "{shell:?}");
    }
}

#[test]
fn an_rc_line_that_is_there_twice_is_as_good_as_once() {
    for shell in SHELLS {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let rc = patient_rc(shell) + &shell.init_line("--prompt");
        let mut session = Session::start(&sandbox, shell, &rc);
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        let (count, want) = match shell {
            Shell::Zsh => ("echo hoo''ks $precmd_functions,", "hooks _vigil_precmd,"),
            Shell::Bash => (
                "echo hoo''ks \"${PROMPT_COMMAND[@]}\",",
                "hooks __vigil_prompt_update \"$_\" && : \"$_\",",
            ),
            Shell::Fish => (
                "echo hoo''ks (functions --handlers | string match '*vigil_prompt_update'),",
                "hooks fish_prompt __vigil_prompt_update,",
            ),
        };
        session.send(count);
        session.wait_for(want);
        session.wait_for(&format!("{CLEAN}main"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn an_rc_file_of_bash_that_is_read_again_runs_a_prompt_command_once() {
    let sandbox = Sandbox::new();
    let rc = "PROMPT_COMMAND='echo own $?,'\n".to_owned() + &patient_rc(Shell::Bash);
    let mut session = Session::start(&sandbox, Shell::Bash, &rc);
    session.send(". rc.bash/bashrc; . rc.bash/bashrc; echo re''ad");
    session.wait_for("read\r");
    session.send("sh -c 'echo do''ne; exit 5'");
    session.wait_for("done\r");
    session.send("echo en''d");
    let seen = session.wait_for("end\r");
    assert_eq!(seen.matches("own").count(), 1, "{seen}");
    assert!(seen.contains("own 5,"), "{seen}");
    session.send("exit");
    session.end();
}

#[test]
fn a_daemon_that_is_halted_costs_no_prompt() {
    for shell in SHELLS {
        let mut sandbox = Sandbox::new();
        sandbox.commit("first");
        sandbox.hide_variable("VIGIL_NO_DAEMON");
        let run = sandbox.root().join("run");
        sandbox.set_variable("VIGIL_RUNTIME_DIR", run.as_os_str().as_bytes());
        let vigil = |arguments: &[&str]| sandbox.vigil(arguments).output().unwrap();
        assert!(vigil(&["daemon", "start"]).status.success());
        let status = String::from_utf8(vigil(&["daemon", "status"]).stdout).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("pid "));
        let pid = line.unwrap().trim().to_owned();
        let mut session = patient_session(&sandbox, shell);
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        for signal in ["STOP", "KILL"] {
            session.send(&format!("kill -{signal} {pid}; echo >new{signal}"));
            session.wait_for(&format!("{CLEAN}main {UNTRACKED}?"));
        }
        session.send("exit");
        session.end();
        vigil(&["daemon", "stop"]);
    }
}
