//! Answers that arrive after the prompt has stopped waiting.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rustix::fs::{Mode, OFlags, open};
use vigil_testkit::process::is_halted;
use vigil_testkit::sandbox::Sandbox;

use crate::prompt::{CLEAN, STALE, UNTRACKED, patient_rc, plain, set_patience};
use crate::shell::{
    FIND_PIPES, REMEMBER_PIPES, SHELLS, SHELLS_WITH_PROCESS, Session, Shell, TIME_LIMIT, VIGIL,
    forms_of, processes_of_shell, processes_with, wait_until,
};

/// Repositories in which a status blocks as long as a certain pipe exists and nobody writes to it.
struct SlowRepositories {
    sandbox: Sandbox,
}

impl SlowRepositories {
    /// Makes one in the folder `work`.
    fn new() -> Self {
        let slow = Self {
            sandbox: Sandbox::new(),
        };
        slow.set_up_repository(&slow.top());
        slow
    }

    fn top(&self) -> PathBuf {
        self.sandbox.path("")
    }

    /// Adds a repository with the branch `branch`.
    fn add_repository(&self, folder: &str, branch: &str) -> PathBuf {
        let top = self.sandbox.root().join(folder);
        fs::create_dir(&top).unwrap();
        self.sandbox.git_in(&top, ["init", "-q", "-b", branch]);
        self.set_up_repository(&top);
        top
    }

    fn set_up_repository(&self, top: &Path) {
        let git = |arguments: &[&str]| self.sandbox.git_in(top, arguments);
        let pipe = top.join(".git/pipe");
        let place = pipe.display();
        // Opening it for reading and writing never blocks, and `read` takes exactly one line.
        let filter = format!(
            "if test -p '{place}'; then exec 3<>'{place}'; cat /proc/$PPID/cmdline >>'{place}.reached'; \
             read go <&3; fi; cat"
        );
        git(&["config", "filter.slow.clean", &filter]);
        fs::create_dir_all(top.join(".git/info")).unwrap();
        fs::write(top.join(".git/info/attributes"), "file filter=slow\n").unwrap();
        fs::write(top.join("file"), "same\n").unwrap();
        git(&["add", "file"]);
        git(&[
            "-c",
            "user.name=n",
            "-c",
            "user.email=e",
            "commit",
            "-q",
            "-m",
            "first",
        ]);
        self.sandbox.age(top.join("file"), 100);
    }

    /// From now on a status blocks. `age_s` must differ each time, so that the file is read again.
    fn block_status(&self, age_s: i64) {
        self.block_status_in(&self.top(), age_s);
    }

    /// Waits until the process that answers the prompt is blocked. In fish, a short-lived process may have got there before it.
    fn wait_until_reached(top: &Path, shell: Shell) {
        let reached = top.join(".git/pipe.reached");
        let who = match shell {
            Shell::Fish => "--leave-for=",
            _ => "gitstatusd",
        };
        wait_until("the process is blocked", || {
            let all = fs::read(&reached).unwrap_or_default();
            String::from_utf8_lossy(&all).contains(who)
        });
    }

    /// Stops blocking.
    fn release(top: &Path) {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK;
        // Perhaps nobody is blocked.
        if let Ok(pipe) = open(top.join(".git/pipe"), flags, Mode::empty()) {
            Self::release_readers(&mut File::from(pipe));
        }
    }

    /// Releases several: in fish, a short-lived process may have left its filter behind, and a reader may have been killed.
    fn release_readers(pipe: &mut File) {
        let _ = pipe.write_all(&b"go\n".repeat(16));
    }

    fn block_status_in(&self, top: &Path, age_s: i64) {
        let pipe = top.join(".git/pipe");
        // It exists only if somebody has been blocked.
        let _ = fs::remove_file(top.join(".git/pipe.reached"));
        let name = pipe.strip_prefix(self.sandbox.root()).unwrap();
        self.sandbox.make_pipe(name.to_str().unwrap());
        // Last: whoever filters the file as it is now is blocked, and nobody has noted yet that it is unchanged.
        self.sandbox.age(top.join("file"), age_s);
    }

    /// Releases a status once it is blocked.
    fn release_status(&self) {
        self.release_status_after(|| {});
    }

    fn release_status_in(&self, top: &Path) {
        Self::release_pipe_after(&top.join(".git/pipe"), || {});
    }

    /// The same, with `change` done before the release.
    fn release_status_after(&self, change: impl FnOnce()) {
        Self::release_pipe_after(&self.sandbox.git_dir().join("pipe"), change);
    }

    fn release_pipe_after(place: &Path, change: impl FnOnce()) {
        let mut pipe = File::options().write(true).open(place).unwrap();
        change();
        fs::remove_file(place).unwrap();
        Self::release_readers(&mut pipe);
    }
}

impl Drop for SlowRepositories {
    /// Releases filters that a killed process has left behind: they would wait for ever.
    fn drop(&mut self) {
        let folders = fs::read_dir(self.sandbox.root()).into_iter().flatten();
        for folder in folders.flatten() {
            Self::release(&folder.path());
        }
    }
}

/// Waits for `text`. bash draws it only with a new prompt.
fn wait_for_redraw(session: &mut Session, shell: Shell, text: &str) {
    match shell {
        Shell::Bash => drop(press_until(session, shell, text)),
        _ => drop(session.wait_for(text)),
    }
}

/// Requests new prompts until one contains `text`. Returns what was shown.
fn press_until(session: &mut Session, shell: Shell, text: &str) -> String {
    // The end of a segment or, if there is none, of a directory.
    let end = match shell {
        Shell::Fish => "\x1b[39m\x1b[K\r",
        _ => "\x1b[39m\r",
    };
    let mut seen = String::new();
    let deadline = Instant::now() + TIME_LIMIT;
    while !forms_of(text).iter().any(|form| seen.contains(form)) {
        assert!(
            Instant::now() < deadline,
            "no prompt shows {text:?}: {seen:?}"
        );
        session.send("");
        seen += &session.wait_for(end);
    }
    seen
}

#[test]
fn a_late_answer_is_drawn_when_it_arrives() {
    for shell in SHELLS {
        let slow = SlowRepositories::new();
        slow.block_status(200);
        let mut session = Session::start(&slow.sandbox, shell, &shell.init_line("--prompt"));
        // There is a prompt although nothing is known yet.
        session.send("cd work");
        session.wait_for("work");
        session.send("");
        session.wait_for("work");
        slow.release_status();
        wait_for_redraw(&mut session, shell, &format!("{CLEAN}main\x1b[39m"));
        // Meanwhile what was known is shown.
        slow.block_status(300);
        slow.sandbox.write("new", "");
        session.send("");
        session.wait_for(&format!("{STALE}main\x1b[39m"));
        slow.release_status();
        let fresh = format!("{CLEAN}main {UNTRACKED}?1\x1b[39m");
        wait_for_redraw(&mut session, shell, &fresh);
        // A command is run meanwhile.
        slow.block_status(400);
        session.send("");
        session.wait_for(STALE);
        session.send("echo he''re");
        session.wait_for("here");
        session.wait_for(STALE);
        slow.release_status();
        wait_for_redraw(&mut session, shell, &fresh);
        session.send("exit");
        session.end();
    }
}

#[test]
fn an_answer_that_arrives_while_fish_draws_is_drawn_afterwards() {
    let slow = SlowRepositories::new();
    let root = slow.sandbox.root().to_owned();
    let [held, drawing, signalled] = ["held", "drawing", "signalled"].map(|name| root.join(name));
    let rc = format!(
        "{}
        function fish_right_prompt
            test -e '{held}'; and echo >'{drawing}'
            while test -e '{held}'; eval true; end
        end
        function on_signal --on-signal URG; echo >'{signalled}'; end
        bind \\cg 'commandline -f repaint'\n",
        Shell::Fish.init_line("--prompt"),
        held = held.display(),
        drawing = drawing.display(),
        signalled = signalled.display(),
    );
    let mut session = Session::start(&slow.sandbox, Shell::Fish, &rc);
    slow.block_status(200);
    session.send("cd work");
    session.wait_for("work\x1b[39m");
    SlowRepositories::wait_until_reached(&slow.top(), Shell::Fish);
    fs::write(&held, "").unwrap();
    session.type_in("\x07");
    wait_until("the prompt is being drawn again", || drawing.exists());
    slow.release_status();
    wait_until("the shell was told", || signalled.exists());
    fs::remove_file(&held).unwrap();
    session.wait_for(&format!("{CLEAN}main\x1b[39m"));
    session.send("exit");
    session.end();
}

#[test]
fn an_interrupt_ends_a_question_and_no_shell() {
    for shell in SHELLS {
        let slow = SlowRepositories::new();
        slow.block_status(200);
        let rc = shell.init_line("") + &shell.start();
        let mut session = Session::start(&slow.sandbox, shell, &rc);
        let query = shell.function_call("query", "-d work");
        session.send(&query);
        // Once the pipe is opened, the question has got that far.
        slow.release_status_after(|| session.type_in("\x03"));
        session.send("stty cols 40; echo ali''ve");
        session.wait_for("alive");
        session.send(&format!(
            "{query}; echo $VCS_STATUS_RESULT $VCS_STATUS_LOCAL_BRANCH en''d"
        ));
        session.wait_for("ok-sync main end");
        session.send("exit");
        session.end();
    }
}

#[test]
fn an_interrupted_prompt_shows_nothing_of_another_directory() {
    // bash asks again after an interrupt.
    for shell in [Shell::Zsh, Shell::Fish] {
        let slow = SlowRepositories::new();
        slow.add_repository("other", "else");
        let mut session = Session::start(&slow.sandbox, shell, &patient_rc(shell));
        session.send("cd other");
        session.wait_for(&format!("{CLEAN}else"));
        slow.block_status(200);
        session.send("cd ../work");
        let reached = slow.sandbox.git_dir().join("pipe.reached");
        wait_until("the question is asked", || reached.exists());
        session.type_in("\x03");
        let directory = match shell {
            Shell::Fish => "$__vigil_prompt_directory",
            _ => "$_vigil_prompt_directory",
        };
        session.send(&format!("echo \"<{directory},$GITSTATUS_PROMPT>\" en''d"));
        let seen = session.wait_for("> end");
        assert!(seen.ends_with("work,> end"), "{shell:?}: {seen:?}");
        assert!(!seen.contains("else"), "{shell:?}: {seen:?}");
        slow.release_status();
        session.wait_for(&format!("{CLEAN}main"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn no_prompt_waits_for_a_response_that_an_interrupt_has_lost() {
    // As if the interrupt had come just after the response was read. fish waits for no response.
    for (shell, lost) in [
        (
            Shell::Zsh,
            "_vigil_pending_request[VIGIL.$$.1]=1; _vigil_is_busy=1",
        ),
        (
            Shell::Bash,
            "__vigil_pending_request_id=$BASHPID.1 __vigil_prompt_is_receiving=1",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let mut session = Session::start(&sandbox, shell, &patient_rc(shell));
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        session.send(&format!("{lost}; touch new"));
        session.wait_for(&format!("{CLEAN}main {UNTRACKED}?1"));
        session.send("exit");
        session.end();
    }
}

/// An interrupt that arrives just after a response was taken comes into effect after its callback.
#[test]
fn no_interrupt_keeps_the_callback_of_a_response_from_running() {
    let shell = Shell::Zsh;
    let slow = SlowRepositories::new();
    let rc = shell.init_line("") + &shell.start();
    let mut session = Session::start(&slow.sandbox, shell, &rc);
    session.send("functions[forget]=$functions[_vigil_forget_request] PS1='re''ady> '");
    session.send("_vigil_forget_request() { forget \"$@\"; kill -2 $$ }");
    session.send("note() { print -r -- $VCS_STATUS_RESULT $VCS_STATUS_LOCAL_BRANCH >>$OUT }");
    let out = slow.sandbox.root().join("out");
    let notes = || fs::read_to_string(&out).unwrap_or_default();
    for (age_s, meanwhile) in [(200, ""), (300, "gitstatus_process_results T")] {
        let _ = fs::remove_file(&out);
        slow.block_status(age_s);
        session.send("gitstatus_query -d work -t 0 -c note T; echo as''ked");
        session.wait_for("asked");
        let reached = slow.sandbox.git_dir().join("pipe.reached");
        wait_until("the question is asked", || reached.exists());
        match meanwhile {
            "" => session.type_in("some words"),
            _ => session.send(&format!("{meanwhile}; echo n''ever")),
        }
        session.wait_for(if meanwhile.is_empty() {
            "words"
        } else {
            meanwhile
        });
        slow.release_status();
        wait_until("the callback has run", || notes().ends_with('\n'));
        if meanwhile.is_empty() {
            // After an interrupt in a handler, zsh first reads a key.
            session.type_in("x");
        }
        let seen = session.wait_for("ready> ");
        assert!(!seen.contains("never"), "{seen:?}");
        assert_eq!(notes(), "ok-async main\n", "{meanwhile}");
    }
    session.send("exit");
    session.end();
}

#[test]
fn bash_takes_no_response_for_the_end_of_one_whose_receipt_was_interrupted() {
    let shell = Shell::Bash;
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let rc = shell.init_line("") + &shell.start();
    let mut session = Session::start(&sandbox, shell, &rc);
    // Once a response was read, and before that is noted.
    let interrupt = "[[ $BASH_COMMAND != _vigil_record=* ]] || { trap - DEBUG; echo interr\"\"upted; kill -INT $$; }";
    session.send(&format!("set -T; trap '{interrupt}' DEBUG"));
    let query = shell.function_call("query", "-d work -t 20");
    session.send(&query);
    session.wait_for("interrupted");
    session.send(&format!(
        "set +T; trap - DEBUG; {query}; echo $? $VCS_STATUS_RESULT $VCS_STATUS_LOCAL_BRANCH en''d"
    ));
    session.wait_for("0 ok-sync main end");
    session.send("exit");
    session.end();
}

#[test]
fn no_interrupt_leaves_the_pipes_of_a_process_open() {
    // Once the pipes are open, and before that is noted.
    for (shell, interrupted) in [
        (Shell::Zsh, r"$ZSH_DEBUG_CMD == _vigil_process_pid\[*"),
        (
            Shell::Bash,
            r"$BASH_COMMAND == *response_fd\ -ef* && $BASH_COMMAND != *GITSTATUS*",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let rc = shell.init_line("") + &shell.start();
        let mut session = Session::start(&sandbox, shell, &rc);
        session.send("echo \"\"pid $$ en\"\"d");
        let seen = session.wait_for(" end");
        let pid = seen.rsplit("pid ").next().unwrap();
        let pid = pid.strip_suffix(" end").unwrap().to_owned();
        // Not counted by the shell: to run a command, it opens pipes for a moment.
        let count_pipes = || {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
            let targets = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
            let is_pipe = |target: &PathBuf| target.to_string_lossy().starts_with("pipe:");
            targets.filter(is_pipe).count()
        };
        let before = count_pipes();
        let query = shell.function_call("query", "-d work -t 20");
        let inherit = match shell {
            Shell::Bash => "set -T; ",
            _ => "",
        };
        session.send(&format!(
            "kill -KILL {}; {inherit}trap '[[ ! ( {interrupted} ) ]] || {{ trap - DEBUG; echo interr\"\"upted; kill -INT $$; }}' DEBUG",
            shell.pid_variable()
        ));
        session.send(&query);
        session.wait_for("interrupted");
        session.send(&format!(
            "trap - DEBUG; {query}; echo $VCS_STATUS_RESULT en''d"
        ));
        session.wait_for("ok-sync end");
        assert_eq!(count_pipes(), before, "{shell:?}");
        session.send("exit");
        session.end();
    }
}

/// bash parses the value of such an assignment as input of its own. An interrupt meanwhile ends the shell.
#[test]
fn no_function_of_bash_assigns_a_whole_array() {
    let script = include_str!("../../../../shell/vigil.bash");
    let mut function = None;
    let mut functions = 0;
    for line in script.lines() {
        if let Some(name) = line.strip_prefix("function ") {
            function = Some(name);
            functions += 1;
        } else if line == "}" {
            function = None;
        }
        // This one happens once.
        let is_once = line.contains("precmd_functions+=(");
        let is_whole = function.is_some() && line.contains("=(") && !is_once;
        assert!(!is_whole, "{function:?}: {line}");
    }
    assert!(functions > 20, "{functions}");
}

#[test]
fn a_process_that_dies_in_a_question_and_has_no_successor_costs_no_shell() {
    for shell in [Shell::Zsh, Shell::Bash] {
        let slow = SlowRepositories::new();
        slow.block_status(200);
        let program = slow.sandbox.root().join("vigil");
        std::os::unix::fs::symlink(VIGIL, &program).unwrap();
        let line = shell
            .init_line("")
            .replace(VIGIL, program.to_str().unwrap());
        let rc = line + &shell.start() + &format!("echo pi''d {},\n", shell.pid_variable());
        let mut session = Session::start(&slow.sandbox, shell, &rc);
        session.wait_for("pid ");
        let pid = session.wait_for(",");
        let query = shell.function_call("query", "-d work");
        session.send(&format!("{query}; echo co''de $?,"));
        slow.release_status_after(|| {
            fs::remove_file(&program).unwrap();
            let killed = Command::new("kill")
                .args(["-KILL", pid.trim_end_matches(',')])
                .status();
            assert!(killed.unwrap().success());
        });
        session.wait_for("code 1,");
        session.send("exit");
        session.end();
    }
}

#[test]
fn an_answer_that_is_always_late_is_shown_by_a_later_prompt() {
    for shell in SHELLS {
        let slow = SlowRepositories::new();
        let mut session = Session::start(&slow.sandbox, shell, &shell.init_line("--prompt"));
        slow.block_status(200);
        session.send("cd work");
        session.wait_for("work");
        for age_s in [300, 400] {
            // Otherwise a short-lived process takes the line that is meant for the one that stays.
            SlowRepositories::wait_until_reached(&slow.top(), shell);
            slow.release_status();
            slow.block_status(age_s);
            press_until(&mut session, shell, "main\x1b[39m");
        }
        slow.release_status();
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_question_of_a_subshell_takes_no_answer_from_the_prompt() {
    for shell in [Shell::Zsh, Shell::Bash] {
        let slow = SlowRepositories::new();
        let other = slow.add_repository("other", "second");
        let mut session = Session::start(&slow.sandbox, shell, &shell.init_line("--prompt"));
        slow.block_status(200);
        session.send("cd work");
        session.wait_for("work\x1b[39m");
        SlowRepositories::wait_until_reached(&slow.top(), shell);
        let name = match shell {
            Shell::Zsh => " VIGIL",
            _ => "",
        };
        session.send(&format!(
            "echo as''ks; (gitstatus_query -d {}{name}; echo go''t $VCS_STATUS_LOCAL_BRANCH)",
            other.display()
        ));
        session.wait_for("asks");
        // A process that was asked by both answers the prompt first.
        slow.release_status();
        session.wait_for("got second");
        wait_for_redraw(&mut session, shell, &format!("{CLEAN}main\x1b[39m"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_late_answer_is_shown_only_in_its_repository() {
    for shell in SHELLS {
        let slow = SlowRepositories::new();
        let other = slow.add_repository("other", "second");
        let mut session = Session::start(&slow.sandbox, shell, &shell.init_line("--prompt"));
        slow.block_status(200);
        slow.block_status_in(&other, 200);
        session.send("cd work");
        session.wait_for("work\x1b[39m");
        SlowRepositories::wait_until_reached(&slow.top(), shell);
        session.send("cd ../other; echo a''t,");
        session.wait_for("at,");
        let mut seen = session.wait_for("other\x1b[39m");
        slow.release_status();
        session.send("echo he''re");
        seen += &session.wait_for("here");
        slow.release_status_in(&other);
        // The earlier output is in the same text.
        let fresh = format!("{CLEAN}second\x1b[39m");
        seen += &match shell {
            Shell::Bash => press_until(&mut session, shell, &fresh),
            _ => session.wait_for(&fresh),
        };
        assert!(!seen.contains("main"), "{shell:?}: {seen}");
        session.send("exit");
        session.end();
    }
}

#[test]
fn the_last_answer_is_shown_only_in_the_same_working_copy() {
    for shell in SHELLS {
        let slow = SlowRepositories::new();
        fs::create_dir(slow.sandbox.path("folder")).unwrap();
        let inner = slow.add_repository("work/inner", "nested");
        let link = slow.sandbox.root().join("link");
        std::os::unix::fs::symlink(slow.sandbox.path("folder"), link).unwrap();
        fs::write(slow.sandbox.path(".git/info/exclude"), "inner\n").unwrap();
        let mut session = Session::start(&slow.sandbox, shell, &patient_rc(shell));
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main\x1b[39m"));
        session.send(&set_patience(shell, 50));
        // On a busy machine, this takes longer.
        wait_for_redraw(&mut session, shell, &format!("{CLEAN}main\x1b[39m"));
        // The same place by another name, through a symbolic link.
        slow.block_status(200);
        session.send("cd ../link");
        session.wait_for(&format!("link\x1b[39m {STALE}main\x1b[39m"));
        session.send("cd ../work/folder; echo a''t,");
        session.wait_for("at,");
        session.wait_for(&format!("folder\x1b[39m {STALE}main\x1b[39m"));
        // A repository nested in it is another one.
        slow.block_status_in(&inner, 200);
        session.send("cd ../inner; echo i''n,");
        session.wait_for("in,");
        let mut seen = session.wait_for("inner\x1b[39m");
        session.send("echo st''ill");
        seen += &session.wait_for("still");
        assert!(!seen.contains("main"), "{shell:?}: {seen}");
        slow.release_status_in(&inner);
        wait_for_redraw(&mut session, shell, &format!("{CLEAN}nested\x1b[39m"));
        // So is a place without a repository.
        SlowRepositories::release(&slow.top());
        session.send("rm -rf ../../work; echo go''ne,");
        session.wait_for("gone,");
        let mut seen = session.wait_for("inner");
        session.send("echo st''ill");
        seen += &session.wait_for("still");
        assert!(!seen.contains("nested"), "{shell:?}: {seen}");
        session.send("exit");
        session.end();
    }
}

#[test]
fn bash_tells_directories_apart_whose_names_differ_in_case_alone() {
    let slow = SlowRepositories::new();
    slow.add_repository("Work", "second");
    let rc = format!("shopt -s nocasematch\n{}", patient_rc(Shell::Bash));
    let mut session = Session::start(&slow.sandbox, Shell::Bash, &rc);
    session.send("cd work");
    session.wait_for(&format!("{CLEAN}main\x1b[39m"));
    slow.block_status(200);
    session.send(&set_patience(Shell::Bash, 50));
    session.wait_for(&format!("{STALE}main\x1b[39m"));
    // Nobody writes to the pipe: the process must not be waited for.
    session.send(&format!(
        "cd ../Work; {}",
        set_patience(Shell::Bash, 60_000)
    ));
    let seen = session.wait_for(&format!("{CLEAN}second\x1b[39m"));
    assert!(!seen.contains("main"), "{seen}");
    session.send("exit");
    session.end();
}

#[test]
fn a_directory_is_shown_the_same_way_while_an_answer_is_awaited() {
    for shell in SHELLS {
        let mut slow = SlowRepositories::new();
        slow.sandbox
            .set_variable("VIGIL_PROMPT_COLOR_DIRECTORY", "77");
        let odd = slow.sandbox.path("odd\u{9b}\u{202e}\u{200b}name");
        fs::create_dir(&odd).unwrap();
        // By default fish puts the raw directory name into the title. With an empty IFS, it splits no output into lines.
        let settings = match shell {
            Shell::Fish => "function fish_title; end; set -g IFS ''\n",
            _ => "",
        };
        let rc = format!("{}{settings}", shell.init_line("--prompt"));
        let mut session = Session::start(&slow.sandbox, shell, &rc);
        slow.block_status(200);
        session.send("cd work/odd*");
        session.wait_for("\x1b[38;5;77m");
        let seen = session.wait_for("name\x1b[39m");
        assert!(plain(&seen).ends_with("odd???name"), "{shell:?}: {seen:?}");
        slow.release_status();
        wait_for_redraw(&mut session, shell, &format!("{CLEAN}main\x1b[39m"));
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_question_from_before_a_command_is_no_answer_after_it() {
    for shell in SHELLS {
        let slow = SlowRepositories::new();
        let mut session = Session::start(&slow.sandbox, shell, &shell.init_line("--prompt"));
        slow.block_status(200);
        session.send("cd work");
        session.wait_for("work\x1b[39m");
        SlowRepositories::wait_until_reached(&slow.top(), shell);
        session.send("echo >new; echo he''re");
        session.wait_for("here");
        session.wait_for("work\x1b[39m");
        slow.release_status();
        let fresh = format!("{CLEAN}main {UNTRACKED}?1\x1b[39m");
        let seen = match shell {
            Shell::Bash => press_until(&mut session, shell, &fresh),
            _ => session.wait_for(&fresh),
        };
        assert!(!seen.contains(&format!("{CLEAN}main\x1b[39m")), "{seen:?}");
        session.send("exit");
        session.end();
    }
}

#[test]
fn a_late_answer_does_not_interrupt_what_a_command_opens() {
    let (slow, shell) = (SlowRepositories::new(), Shell::Fish);
    let pipe = slow.sandbox.make_pipe("pipe");
    let mut session = Session::start(&slow.sandbox, shell, &shell.init_line("--prompt"));
    slow.block_status(200);
    session.send("cd work");
    session.wait_for("work\x1b[39m");
    SlowRepositories::wait_until_reached(&slow.top(), shell);
    session.send("echo be''gins; read line <../pipe; echo got $line,");
    session.wait_for("begins");
    let run = slow.sandbox.root().join("vigil");
    let is_there = |beginning: &str| {
        let entries = fs::read_dir(&run).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.any(|name| name.starts_with(beginning))
    };
    assert!(is_there("held."));
    slow.release_status();
    wait_until("the answer is left", || is_there("answer."));
    wait_until("no process works", || !is_there("asker."));
    fs::write(pipe, "text\n").unwrap();
    session.wait_for("got text,");
    session.wait_for(&format!("{CLEAN}main\x1b[39m"));
    session.send("exit");
    session.end();
}

#[test]
fn one_process_at_a_time_works_and_a_halted_one_is_replaced() {
    let (slow, shell) = (SlowRepositories::new(), Shell::Fish);
    let other = slow.add_repository("other", "second");
    let rc = shell.init_line("--prompt") + "echo pi''d $fish_pid,\n";
    let mut session = Session::start(&slow.sandbox, shell, &rc);
    session.wait_for("pid ");
    let shell_pid = session.wait_for(",");
    // Other tests have such processes, too.
    let leave_for = format!("--leave-for={}.", shell_pid.trim_end_matches(','));
    let working_pids = || processes_with(&leave_for);
    slow.block_status(200);
    slow.block_status_in(&other, 200);
    for (number, folder) in ["work", "other", "work", "other"].into_iter().enumerate() {
        let up = if number == 0 { "" } else { "../" };
        session.send(&format!("cd {up}{folder}; echo a''t {number},"));
        session.wait_for(&format!("at {number},"));
        session.wait_for(&format!("{folder}\x1b[39m"));
    }
    wait_until("one process works", || working_pids().len() == 1);
    let pid = working_pids()[0];
    let mut kill = Command::new("kill");
    let signalled = kill.args(["-STOP", &pid.to_string()]).status();
    assert!(signalled.unwrap().success());
    // The signal is sent, but it may not have had its effect yet.
    wait_until("the process is halted", || is_halted(pid).unwrap());
    session.send("");
    wait_until(
        "another process works",
        || matches!(working_pids()[..], [one] if one != pid),
    );
    SlowRepositories::release(&slow.top());
    slow.release_status_in(&other);
    session.wait_for(&format!("{CLEAN}second\x1b[39m"));
    session.send("exit");
    session.end();
}

#[test]
fn a_process_that_is_waited_for_is_no_job_and_ends_with_the_shell() {
    let (slow, shell) = (SlowRepositories::new(), Shell::Fish);
    let mut session = Session::start(&slow.sandbox, shell, &shell.init_line("--prompt"));
    slow.block_status(200);
    // fish itself may start something in the background.
    session.send("set before x$last_pid; cd work");
    session.wait_for("work\x1b[39m");
    session.send("test $before = x$last_pid; and echo jo''bs (count (jobs)),");
    session.wait_for("jobs 0,");
    let root = slow.sandbox.root().display();
    let working = || processes_with(&format!("--ask={root}/work\0"));
    wait_until("a process works", || !working().is_empty());
    SlowRepositories::wait_until_reached(&slow.top(), shell);
    session.type_in("\x04");
    let seen = session.end();
    assert!(!seen.contains("jobs"), "{seen}");
    wait_until("the process is gone", || working().is_empty());
    SlowRepositories::release(&slow.top());
}

#[test]
fn a_process_that_works_ends_with_a_shell_that_is_killed() {
    for shell in SHELLS_WITH_PROCESS {
        let slow = SlowRepositories::new();
        let rc = shell.init_line("--prompt") + "echo pi''d $$,\n";
        let mut session = Session::start(&slow.sandbox, shell, &rc);
        session.wait_for("pid ");
        let pid: u32 = session.wait_for(",").trim_end_matches(',').parse().unwrap();
        slow.block_status(200);
        session.send("cd work");
        session.wait_for("work\x1b[39m");
        SlowRepositories::wait_until_reached(&slow.top(), shell);
        assert_eq!(processes_of_shell(pid).len(), 1, "{shell:?}");
        session.send("kill -KILL $$");
        session.end();
        wait_until("its process is gone", || processes_of_shell(pid).is_empty());
        SlowRepositories::release(&slow.top());
    }
}

#[test]
fn a_redraw_keeps_a_continuation_prompt_and_a_search() {
    let (slow, shell) = (SlowRepositories::new(), Shell::Zsh);
    let rc = shell.init_line("--prompt") + "TRAPZERR() { echo trap''ped }\n";
    let mut session = Session::start(&slow.sandbox, shell, &rc);
    slow.block_status(200);
    session.send("cd work; sh -c 'exit 3'");
    session.wait_for("trapped");
    session.wait_for("\x1b[38;5;196m");
    session.send("for one in 1 2");
    session.wait_for("for> ");
    slow.release_status();
    let seen = session.wait_for("for");
    assert!(!seen.contains("trapped"), "{seen}");
    let seen = session.wait_for(">");
    assert_eq!(seen, ">");
    session.send("do echo do''ne $one; done");
    session.wait_for("done 2");
    session.wait_for(&format!("{CLEAN}main\x1b[39m"));
    slow.block_status(300);
    session.send("");
    session.wait_for(STALE);
    session.type_in("\x12");
    session.wait_for("bck-i-search:");
    slow.release_status();
    session.wait_for(&format!("{CLEAN}main\x1b[39m"));
    // The search line is drawn again, too, and still works.
    session.wait_for("bck-i-search: _");
    session.type_in("e");
    session.wait_for("bck-i-search: e_");
    session.type_in("\x07");
    session.send("exit");
    session.end();
}

#[test]
fn a_redraw_has_the_exit_codes_of_all_commands() {
    let (slow, shell) = (SlowRepositories::new(), Shell::Zsh);
    let rc = shell.init_line("--prompt") + "PROMPT='<${pipestatus[*]}|%?> '$PROMPT\n";
    let mut session = Session::start(&slow.sandbox, shell, &rc);
    session.send("cd work");
    session.wait_for("<0|0>");
    for (age_s, pipeline, codes) in [
        (200, "true | sh -c 'exit 3' | true", "<0 3 0|0>"),
        (300, "true | sh -c 'exit 3'", "<0 3|3>"),
        (400, "sh -c 'exit 4'", "<4|4>"),
        (500, "true | true", "<0 0|0>"),
    ] {
        slow.block_status(age_s);
        session.send(pipeline);
        session.wait_for(codes);
        slow.release_status();
        let seen = session.wait_for(&format!("{CLEAN}main\x1b[39m"));
        assert!(seen.contains(codes), "{pipeline}: {seen}");
    }
    session.send("exit");
    session.end();
}

/// zsh sets KEYMAP only for the widgets of users, and a prompt may show by it the mode of vi.
#[test]
fn a_redraw_has_the_keymap() {
    let (slow, shell) = (SlowRepositories::new(), Shell::Zsh);
    let rc = shell.init_line("--prompt") + "PROMPT='<$KEYMAP> '$PROMPT\n";
    let mut session = Session::start(&slow.sandbox, shell, &rc);
    session.send("cd work");
    session.wait_for(&format!("{CLEAN}main\x1b[39m"));
    slow.block_status(200);
    session.send("");
    session.wait_for(STALE);
    slow.release_status();
    let seen = session.wait_for(&format!("{CLEAN}main\x1b[39m"));
    assert!(seen.contains("<main>"), "{seen}");
    session.send("exit");
    session.end();
}

#[test]
fn an_rc_line_that_is_read_again_leaves_no_process_behind() {
    for shell in [Shell::Zsh, Shell::Bash] {
        let sandbox = Sandbox::new();
        sandbox.commit("first");
        let mut session = Session::start(&sandbox, shell, &patient_rc(shell));
        session.send("cd work");
        session.wait_for(&format!("{CLEAN}main"));
        for _ in 0..2 {
            session.send(shell.init_line("--prompt").trim_end());
            session.wait_for(&format!("{CLEAN}main"));
        }
        session.send("echo pi''d $$,; ls -l /proc/$$/fd | grep -c pipe:");
        session.wait_for("pid ");
        let pid = session.wait_for(",");
        let pid = pid.trim_end_matches(',').parse().unwrap();
        wait_until("there is one process", || {
            processes_of_shell(pid).len() == 1
        });
        session.send("exit");
        session.end();
    }
}

#[test]
fn unread_input_of_the_users_own_descriptor_is_left_there() {
    let (slow, shell) = (SlowRepositories::new(), Shell::Bash);
    fs::write(slow.sandbox.root().join("own"), "first\nsecond\n").unwrap();
    let rc = format!(
        "old=; {FIND_PIPES}; {REMEMBER_PIPES}\n{}",
        shell.init_line("--prompt")
    );
    let mut session = Session::start(&slow.sandbox, shell, &rc);
    slow.block_status(200);
    session.send("cd work");
    session.wait_for("work\x1b[39m");
    session.send(&format!(
        "{FIND_PIPES}; eval \"exec ${{ends[1]}}<../own\"; echo he''re"
    ));
    session.wait_for("here");
    session.wait_for("work\x1b[39m");
    session.send("read one <&${ends[1]}; echo go''t $one,");
    session.wait_for("got first,");
    slow.release_status();
    session.send("exit");
    session.end();
}
