//! Faults of the process in the background, and shells with many options set.

use std::time::Instant;

use vigil_testkit::sandbox::Sandbox;

use crate::prompt::patient_rc;
use crate::shell::{
    FIND_PIPES, REMEMBER_PIPES, SHELLS, SHELLS_WITH_PROCESS, Session, Shell, VIGIL,
    processes_of_shell, run, script_for_bash, wait_until,
};

/// More than anything may take, and much less than waiting for something that never happens would.
const TIME_LIMIT_S: u64 = 20;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    sandbox.write("new", "");
    sandbox
}

#[test]
fn a_process_that_is_killed_or_halted_is_missed_by_no_question() {
    for shell in SHELLS_WITH_PROCESS {
        let sandbox = sandbox();
        let mut text = shell.init_line("") + &shell.start();
        let query = shell.function_call("query", "-d work -t 30");
        let pid = shell.pid_variable();
        let tell =
            format!("{query}\necho $? $VCS_STATUS_RESULT $VCS_STATUS_NUM_UNTRACKED >>\"$OUT\"\n");
        for signal in ["KILL", "STOP", "TERM"] {
            text += &format!("kill -{signal} {pid}\n{tell}");
        }
        // Fill the pipe of a process that is stopped and never answers.
        text += &format!("kill -STOP {pid}\n");
        for _ in 0..100 {
            text += &shell.function_call("query", "-d work -t 0");
            text += "\n";
        }
        text += &tell;
        text += "exit\n";
        let start = Instant::now();
        assert_eq!(
            run(&sandbox, shell, &text),
            "0 ok-sync 1\n".repeat(4),
            "{shell:?}"
        );
        assert!(start.elapsed().as_secs() < TIME_LIMIT_S);
    }
}

#[test]
fn a_question_to_a_killed_process_is_answered_late_by_the_next() {
    let sandbox = sandbox();
    let shell = Shell::Zsh;
    let text = shell.init_line("")
        + &shell.start()
        + "late() { print -r -- late $VCS_STATUS_RESULT $VCS_STATUS_NUM_UNTRACKED >>$OUT }\n\
           kill -STOP $GITSTATUS_DAEMON_PID_T\n\
           gitstatus_query -d work -t 0 -c late T\n\
           kill -KILL $GITSTATUS_DAEMON_PID_T\n\
           gitstatus_process_results T; print -r -- $? >>$OUT\n\
           exit\n";
    assert_eq!(run(&sandbox, shell, &text), "late ok-async 1\n0\n");
}

#[test]
fn no_zsh_blocks_while_it_writes_whether_it_can_open_a_file_so_or_not() {
    let shell = Shell::Zsh;
    // Before 5.9, zsh's `sysopen` did not know `nonblock`.
    let older = format!("eval \"${{$('{VIGIL}' init zsh)//,nonblock/,no_such_option}}\"\n");
    for line in [shell.init_line(""), older] {
        let sandbox = sandbox();
        let text = line
            + &shell.start()
            + "gitstatus_query -d work -t 30 T; print -r -- $? $VCS_STATUS_RESULT >>$OUT\n\
               kill -STOP $GITSTATUS_DAEMON_PID_T\n\
               for number in {1..1000}; do _vigil_send_request T ${(l:4096::x:)} || break; done\n\
               (( number < 1000 )) && print -r -- full >>$OUT\n\
               gitstatus_query -d work -t 30 T; print -r -- $? $VCS_STATUS_RESULT >>$OUT\n\
               exit\n";
        let written = run(&sandbox, shell, &text);
        assert_eq!(written, "0 ok-sync\nfull\n0 ok-sync\n");
    }
}

#[test]
fn a_response_without_its_first_byte_is_recognized_in_bash() {
    let sandbox = sandbox();
    let shell = Shell::Bash;
    let text = shell.init_line("")
        + &shell.start()
        + "__vigil_send_request $'123.4\\x1f'\"$PWD/work\"$'\\x1f0\\x1e'\n\
           IFS= read -r -N 1 -t 30 -u \"$__vigil_response_fd\" lost; echo \"$lost\" >>\"$OUT\"\n\
           __vigil_wait_for_response 123.4 30; echo $? ${__vigil_response_fields[4]} >>\"$OUT\"\n\
           exit\n";
    assert_eq!(run(&sandbox, shell, &text), "1\n0 main\n");
}

#[test]
fn no_response_is_lost_that_arrives_when_the_patience_of_bash_ends() {
    let sandbox = sandbox();
    let shell = Shell::Bash;
    // About as long as bash waits, so that some arrive just then.
    let write = "for number in {1..1000}; do \
                   for ((pause = RANDOM % 400; pause > 0; pause--)); do :; done; \
                   printf '7.%d\\x1f1\\x1f%0300d\\x1e' $number 0; \
                 done; sleep 30";
    let text = shell.init_line("")
        + "exec {__vigil_response_fd}< <("
        + write
        + ")\n\
           received=0\n\
           for number in {1..1000}; do\n\
             state=1\n\
             while [[ $state == 1 ]]; do __vigil_wait_for_response 7.$number 0.001; state=$?; done\n\
             [[ $state == 0 && ${#__vigil_response_fields[@]} == 3 ]] || break\n\
             received=$number\n\
           done\n\
           kill $!\n\
           echo $received >>\"$OUT\"\n\
           exit\n";
    assert_eq!(run(&sandbox, shell, &text), "1000\n");
}

/// Before bash 4.4, one may come when a read has just given up its handler.
#[test]
fn no_alarm_ends_an_old_bash_or_takes_the_users_trap() {
    let shell = Shell::Bash;
    for (trap, written) in [("", ""), ("trap 'echo mine >>\"$OUT\"' ALRM\n", "mine\n")] {
        let text = trap.to_owned()
            + &script_for_bash("43")
            + &shell.start()
            + "kill -ALRM $$; echo alive >>\"$OUT\"\nexit\n";
        let want = format!("{written}alive\n");
        assert_eq!(run(&sandbox(), shell, &text), want);
    }
}

/// Settings before the line of the rc file, for shells with many options.
fn rc_settings(shell: Shell) -> Vec<&'static str> {
    match shell {
        Shell::Zsh => vec![
            "emulate sh",
            "emulate ksh",
            "emulate csh",
            "set -u; setopt err_return pipe_fail",
            "setopt ksh_arrays sh_word_split glob_subst null_glob warn_create_global warn_nested_var",
            "typeset -r pid=x name=x stat=x dir=x id=x here=x opt=x timeout=x key=x tail=x record=x chunk=x",
            "setopt posix_builtins posix_identifiers posix_argzero no_multibyte rc_quotes",
            "IFS=0123456789abc_",
            "IFS=",
            "readonly IFS",
            "unset HOME TMPDIR; export TMPDIR=/nowhere",
            "alias local=false print=false if=false for=false '{=false'; alias -g -- '--=-z' in=out",
            "local() { return 1 }; print() { return 1 }; read() { return 1 }; unset() { return 1 }\n\
             kill() { return 1 }; zle() { return 1 }; getopts() { return 1 }; setopt() { return 1 }\n\
             sysread() { return 1 }; emulate() { return 1 }; zmodload() { return 1 }; printf() { return 1 }",
            "HOME='/no such/place with \"quotes\"'",
            "histchars='!^'",
        ],
        Shell::Bash => vec![
            "set -o posix",
            "set -euo pipefail",
            "readonly LC_ALL=de_DE.UTF-8 2>/dev/null",
            "readonly pid=x name=x stat=x status=x dir=x id=x here=x opt=x options=x timeout=x part=x tail=x",
            "set -f -C; shopt -s nocasematch extglob nullglob failglob localvar_inherit varredir_close",
            "shopt -u expand_aliases extglob interactive_comments",
            "IFS=0123456789abc_",
            "IFS=",
            "readonly IFS",
            "unset HOME TMPDIR; export TMPDIR=/nowhere",
            "alias local=false printf=false read=false if=false '[[=false' builtin='echo aliased >>$OUT; false' while=false",
            "local() { return 1; }; printf() { return 1; }; read() { return 1; }; echo() { return 1; }\n\
             kill() { return 1; }; getopts() { return 1; }; cd() { return 1; }; shopt() { return 1; }\n\
             test() { return 1; }; pwd() { return 1; }; trap() { return 1; }",
            "HOME='/no such/place with \"quotes\"'",
            "trap 'echo trapped >>$OUT' ERR EXIT; trap - ERR EXIT; set -E -T",
        ],
        Shell::Fish => vec![
            "set -e HOME; set -gx TMPDIR /nowhere",
            "set -g IFS ''",
            "function echo; return 1; end; function printf; return 1; end; function kill; return 1; end",
            "function math; return 1; end; function count; return 1; end; function pwd; return 1; end",
            "set -gx HOME '/no such/place with \"quotes\"'",
            "alias pwd false; alias cd false",
        ],
    }
}

#[test]
fn every_shell_is_answered_whatever_its_settings() {
    for shell in SHELLS {
        for soup in rc_settings(shell) {
            let sandbox = sandbox();
            let root = sandbox.root().display();
            // No program of the system can be found any more.
            let path = match shell {
                Shell::Fish => "set -gx PATH\n",
                _ => "PATH=\n",
            };
            let mut text = format!("{soup}\n{}{path}{}", shell.init_line(""), shell.start());
            text += &shell.function_call("query", &format!("-t 30 -d '{root}/work'"));
            let told = ["RESULT", "NUM_UNTRACKED", "LOCAL_BRANCH"];
            let told = told.map(|name| format!("\"$VCS_STATUS_{name}\""));
            // Quoting prevents the expansion of aliases.
            let builtin = match shell {
                Shell::Fish => "builtin",
                _ => "'builtin'",
            };
            text += &format!("\n{builtin} echo {} >>\"$OUT\"\n", told.join(" "));
            text += &shell.function_call("stop", "");
            text += &format!("\n{builtin} exit\n");
            let written = run(&sandbox, shell, &text);
            assert_eq!(written, "ok-sync 1 main\n", "{shell:?}: {soup}");
        }
    }
}

/// Everything that a shell has defined and set, except what the line of an rc file has to define.
fn everything_defined(shell: Shell) -> &'static str {
    match shell {
        Shell::Zsh => {
            "{ setopt; trap; jobs; alias; print -rl -- ${(ok)functions}; print -rl -- ${(ok)parameters} } \
             2>&1 >>$OUT\n"
        }
        Shell::Bash => {
            "{ set -o; shopt; trap; jobs; alias; compgen -A function; compgen -v; echo \"$!\"; } >>\"$OUT\" 2>&1\n"
        }
        Shell::Fish => {
            "begin; jobs; functions -n -a | string split ', '; set -n; status job-control; end >>\"$OUT\" 2>&1\n"
        }
    }
}

#[test]
fn nothing_else_is_defined_or_set_and_twice_is_as_good_as_once() {
    for shell in SHELLS {
        let inventory_of = |line: &str| {
            let sandbox = sandbox();
            // The modules that the line loads have parameters of their own.
            let before = match shell {
                Shell::Zsh => "zmodload zsh/datetime zsh/system zsh/parameter zsh/zle\n",
                _ => "",
            };
            let text = format!("{before}{line}{}exit\n", everything_defined(shell));
            let written = run(&sandbox, shell, &text);
            let is_ours = |line: &&str| line.contains("vigil_") || line.contains("gitstatus_");
            let known = [
                "GITSTATUS_DAEMON",
                "_",
                "BASH_LINENO",
                "FUNCNAME",
                "PIPESTATUS",
            ];
            let lines = written.lines().filter(|line| !is_ours(line));
            lines
                .filter(|line| !line.is_empty() && !known.contains(line))
                .map(str::to_owned)
                .collect::<Vec<String>>()
        };
        let plain = inventory_of("");
        assert!(plain.len() > 20, "{plain:?}");
        let line = shell.init_line("");
        assert_eq!(inventory_of(&line), plain, "{shell:?}");
        assert_eq!(inventory_of(&(line.clone() + &line)), plain, "{shell:?}");
    }
}

#[test]
fn a_shell_that_ends_however_it_ends_leaves_no_process() {
    for shell in SHELLS_WITH_PROCESS {
        for end in [
            "exit",
            "kill -KILL $$",
            "kill -HUP $$",
            "exec true",
            "exec sh -c 'read line'",
        ] {
            let sandbox = sandbox();
            // A child of the shell, in zsh a copy of it, inherits its open files and lives on.
            let rc =
                shell.init_line("") + &shell.start() + "sleep 1000 & echo ready $$ $!,; disown\n";
            let mut session = Session::start(&sandbox, shell, &rc);
            session.wait_for("ready ");
            let numbers = session.wait_for(",");
            let (pid, child) = numbers.trim_end_matches(',').split_once(' ').unwrap();
            let pid: u32 = pid.parse().unwrap();
            assert_eq!(processes_of_shell(pid).len(), 1, "{shell:?}");
            session.send(end);
            wait_until("its process is gone", || processes_of_shell(pid).is_empty());
            // It may have ended with the terminal.
            let _ = std::process::Command::new("kill").arg(child).output();
            session.end();
        }
    }
}

#[test]
fn shells_in_shells_have_processes_of_their_own() {
    for shell in SHELLS_WITH_PROCESS {
        let sandbox = sandbox();
        let line = shell.init_line("");
        let inner = sandbox.root().join("inner");
        let query = shell.function_call("query", "-d work -t 30");
        let (start, stop) = (shell.start(), shell.function_call("stop", ""));
        let tell = "echo $VCS_STATUS_RESULT >>\"$OUT\"\n";
        std::fs::write(
            &inner,
            format!("{line}{start}{query}\n{tell}{stop}\nexit\n"),
        )
        .unwrap();
        let options = match shell {
            Shell::Zsh => "zsh -f -i",
            _ => "bash --norc --noprofile -i",
        };
        let text = format!(
            "{line}{start}{query}\n{tell}\n\
             ( {query}; {stop} )\n\
             {options} '{}'\n{query}\n{tell}exec {options} '{}'\n",
            inner.display(),
            inner.display()
        );
        let written = run(&sandbox, shell, &text);
        assert_eq!(written, "ok-sync\n".repeat(4), "{shell:?}");
    }
}

#[test]
fn subshells_that_ask_at_once_take_no_answer_from_each_other() {
    for shell in SHELLS_WITH_PROCESS {
        let sandbox = sandbox();
        let query = shell.function_call("query", "-d work -t 30");
        let tell = "echo $? $VCS_STATUS_RESULT >>\"$OUT\"";
        let pid = shell.pid_variable();
        let text = format!(
            "{}{}old={pid}\n\
             for one in 1 2 3 4 5 6; do ( {query}; {tell} ) & done; wait\n\
             {query}; {tell}; [[ $old == {pid} ]] && echo same >>\"$OUT\"\nexit\n",
            shell.init_line(""),
            shell.start(),
        );
        let want = "0 ok-sync\n".repeat(7) + "same\n";
        assert_eq!(run(&sandbox, shell, &text), want, "{shell:?}");
    }
}

#[test]
fn a_descriptor_that_the_user_takes_over_stays_the_users() {
    let shell = Shell::Bash;
    let query = shell.function_call("query", "-d work -t 30");
    let stop = shell.function_call("stop", "");
    for end in 0..2 {
        let sandbox = sandbox();
        let text = format!(
            "old=; {FIND_PIPES}; {REMEMBER_PIPES}\n{}{}{FIND_PIPES}\n\
             own=${{ends[{end}]}}; eval \"exec $own<>own\"; echo ${{#ends[@]}} >>\"$OUT\"\n\
             {query}; echo $? $VCS_STATUS_RESULT >>\"$OUT\"\n\
             echo mine >&$own; {stop}; echo still mine >&$own; cat own >>\"$OUT\"\n\
             {FIND_PIPES}; echo ${{#ends[@]}} >>\"$OUT\"\nexit\n",
            shell.init_line(""),
            shell.start(),
        );
        let written = run(&sandbox, shell, &text);
        assert_eq!(written, "2\n0 ok-sync\nmine\nstill mine\n0\n");
    }
}

#[test]
fn a_missing_program_is_reported_once_and_costs_no_shell() {
    for shell in SHELLS {
        let sandbox = sandbox();
        let link = sandbox.root().join("vigil");
        std::os::unix::fs::symlink(VIGIL, &link).unwrap();
        let line = shell.init_line("").replace(VIGIL, link.to_str().unwrap());
        let text = format!(
            "{line}rm '{}'\n{}echo {} >>\"$OUT\"\n{} 2>/dev/null\necho {} >>\"$OUT\"\nexit\n",
            link.display(),
            shell.start().trim_end().to_owned() + " 2>/dev/null\n",
            shell.status(),
            shell.function_call("query", "-d work"),
            shell.status(),
        );
        assert_eq!(run(&sandbox, shell, &text), "1\n1\n", "{shell:?}");
    }
}

#[test]
fn a_shell_that_becomes_restricted_shows_no_stale_answer() {
    for shell in SHELLS_WITH_PROCESS
        .into_iter()
        .filter(|shell| shell.can_be_restricted())
    {
        let sandbox = sandbox();
        let rc = patient_rc(shell) + "cd work\n";
        let mut session = Session::start(&sandbox, shell, &rc);
        session.wait_for("main");
        session.send("set -r; echo fr''om now on");
        session.wait_for("from now on");
        session.send("echo la''ter");
        let seen = session.wait_for("later\r");
        assert!(!seen.contains("main"), "{shell:?}: {seen}");
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_restricted_shell_that_may_start_nothing_has_a_prompt_without_complaints() {
    for shell in SHELLS_WITH_PROCESS
        .into_iter()
        .filter(|shell| shell.can_be_restricted())
    {
        let sandbox = sandbox();
        let mut session = Session::start(&sandbox, shell, &shell.init_line("--prompt"));
        session.wait_for("\x1b[39m ");
        let rc = sandbox.root().join("rc.bash/bashrc");
        match shell {
            Shell::Bash => session.send(&format!("bash --rcfile '{}' -i -r", rc.display())),
            _ => session.send("zsh -d -r -i"),
        }
        let folder = sandbox.root().display().to_string();
        for number in 0..3 {
            session.send(&format!("echo nu''mber {number} $?, $-"));
            session.wait_for(&format!("number {number} 0, "));
            let seen = session.wait_for(&folder);
            for complaint in ["restrict", "not allowed"] {
                assert!(!seen.contains(complaint), "{shell:?}: {seen}");
            }
        }
        session.send("cd /");
        session.wait_for("restrict");
        session.send("exit");
        session.wait_for("\x1b[39m ");
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_shell_that_is_too_old_is_told_so_in_one_line() {
    for (shell, what, version) in [
        (Shell::Zsh, "$ZSH_VERSION", "5.0.8"),
        (Shell::Bash, "${BASH_VERSINFO[0]}", "3"),
        (Shell::Fish, "$version", "3.0.2"),
    ] {
        let sandbox = sandbox();
        let name = shell.name();
        let script = std::process::Command::new(VIGIL)
            .args(["init", "--prompt", name])
            .output();
        let script = String::from_utf8(script.unwrap().stdout).unwrap();
        assert!(script.contains(what));
        // The version cannot be set, so what the script sees of it is.
        let file = sandbox.root().join("old");
        std::fs::write(&file, script.replace(what, version)).unwrap();
        let file = file.display();
        let defined = match shell {
            Shell::Zsh => "whence gitstatus_query || whence _vigil_prompt_update",
            Shell::Fish => "functions -q gitstatus_query; or functions -q __vigil_prompt_update",
            _ => "declare -F gitstatus_query || declare -F __vigil_prompt_update",
        };
        let text = format!(
            "source '{file}' 2>\"$OUT\"\n{defined}\necho code {} >>\"$OUT\"\n",
            shell.status()
        );
        let written = run(&sandbox, shell, &text);
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(lines.len(), 2, "{written}");
        assert!(
            lines[0].starts_with(&format!("vigil: {name} ")),
            "{written}"
        );
        assert_eq!(lines[1], "code 1", "{written}");
        let rc = match shell {
            Shell::Zsh => format!("setopt prompt_bang\nsource '{file}'\n"),
            _ => format!("source '{file}'\n"),
        };
        let mut session = Session::start(&sandbox, shell, &rc);
        session.wait_for("or later is needed");
        session.send("echo he''re");
        let seen = session.wait_for("here\r");
        assert!(!seen.contains("vigil_"), "{seen}");
        if shell == Shell::Zsh {
            session.send("echo $options[promptbang],");
            session.wait_for("on,");
        }
        session.send("exit");
        session.end();
    }
}
