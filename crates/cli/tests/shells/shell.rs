//! Shells on terminals.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use vigil_testkit::process::{self, Ending};
use vigil_testkit::sandbox::Sandbox;

pub(crate) const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// After this time a shell counts as hung.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shell {
    Zsh,
    Bash,
    Fish,
}

pub(crate) const SHELLS: [Shell; 3] = [Shell::Zsh, Shell::Bash, Shell::Fish];

/// The shells that have a process of their own.
pub(crate) const SHELLS_WITH_PROCESS: [Shell; 2] = [Shell::Zsh, Shell::Bash];

/// Finds those descriptors of a bash that are pipes and were not pipes when `old` was set.
pub(crate) const FIND_PIPES: &str = "ends=(); for end in /proc/$$/fd/*; do \
                         [[ ! -p $end || $old == *\" $end \"* ]] || ends+=(${end##*/}); done";
/// To be run after that. Sets `old`.
pub(crate) const REMEMBER_PIPES: &str = "old=\" ${ends[*]/#//proc/$$/fd/} \"";

impl Shell {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Zsh => "zsh",
            Self::Bash => "bash",
            Self::Fish => "fish",
        }
    }

    /// The line for an rc file. `options` are those of `vigil init`.
    pub(crate) fn init_line(self, options: &str) -> String {
        let name = self.name();
        match self {
            Self::Fish => format!("'{VIGIL}' init {options} {name} | source\n"),
            _ => format!("eval \"$('{VIGIL}' init {options} {name})\"\n"),
        }
    }

    /// Whether it has a restricted mode, which zsh gives up after 5.9.
    pub(crate) fn can_be_restricted(self) -> bool {
        let status = Command::new(self.name()).args(["-r", "-c", ":"]).output();
        status.unwrap().status.success()
    }

    /// The variable with the id of the first process that the functions start.
    pub(crate) fn pid_variable(self) -> &'static str {
        match self {
            Self::Zsh => "$GITSTATUS_DAEMON_PID_T",
            _ => "$GITSTATUS_DAEMON_PID",
        }
    }

    /// A call of the function `gitstatus_NAME`. zsh also wants a name for the process.
    pub(crate) fn function_call(self, name: &str, options: &str) -> String {
        match self {
            Self::Zsh => format!("gitstatus_{name} {options} T"),
            _ => format!("gitstatus_{name} {options}"),
        }
    }

    /// A call that starts the process without limits on counts.
    pub(crate) fn start(self) -> String {
        self.function_call("start", "-s -1 -u -1 -c -1 -d -1") + "\n"
    }

    /// The variable with the exit code of the last command.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Fish => "$status",
            _ => "$?",
        }
    }
}

/// Whether PROMPT_COMMAND may be an array, as it may since bash 5.1.
pub(crate) fn prompt_commands_are_an_array() -> bool {
    let version = "test ${BASH_VERSINFO[0]}${BASH_VERSINFO[1]} -ge 51";
    let status = Command::new("bash").args(["-c", version]).status();
    status.unwrap().success()
}

/// The script for bash, as one of the version `version` (`43` for 4.3) runs it.
pub(crate) fn script_for_bash(version: &str) -> String {
    let script = Command::new(VIGIL)
        .args(["init", "--prompt", "bash"])
        .output();
    let script = String::from_utf8(script.unwrap().stdout).unwrap();
    let own = "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}";
    assert!(script.contains(own));
    script.replace(own, version)
}

/// A command in the sandbox, on a terminal of a certain type.
fn on_a_terminal(sandbox: &Sandbox, command: &str) -> Command {
    let mut script = sandbox.isolated("script", b"");
    script
        .args(["-qec", command, "/dev/null"])
        .env("TERM", "xterm-256color")
        .env("XDG_RUNTIME_DIR", sandbox.root())
        .env("OUT", sandbox.root().join("out"))
        .current_dir(sandbox.root());
    script
}

/// Has an interactive shell run `text` on a terminal, and returns what that wrote to the file `$OUT`, which must not be empty.
pub(crate) fn run(sandbox: &Sandbox, shell: Shell, text: &str) -> String {
    let file = sandbox.root().join(format!("script.{}", shell.name()));
    let out = sandbox.root().join("out");
    fs::write(&out, "").unwrap();
    fs::write(&file, text).unwrap();
    let file = file.display();
    let command = match shell {
        Shell::Zsh => format!("zsh -f -i '{file}'"),
        Shell::Bash => format!("bash --norc --noprofile -i '{file}'"),
        Shell::Fish => format!("fish --no-config -i '{file}'"),
    };
    let mut command = on_a_terminal(sandbox, &command);
    let shown = process::run(&mut command, None, TIME_LIMIT).unwrap();
    let ending = shown.ending;
    let written = fs::read(&out).unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_ne!(ending, Ending::TimedOut, "{shell:?} hangs: {shown}");
    let written = String::from_utf8_lossy(&written).into_owned();
    assert!(!written.is_empty(), "{shell:?} wrote nothing: {shown}");
    written
}

/// The processes of the program whose parent, according to their options, is `pid`.
pub(crate) fn processes_of_shell(pid: u32) -> Vec<u32> {
    processes_with(&format!("--parent-pid={pid}\0"))
}

/// The processes whose command line, with a NUL after each word, contains `text`.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    let is_one = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten().filter(is_one);
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Waits until `condition` holds.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIME_LIMIT;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::yield_now();
    }
}

/// An interactive shell with an rc file.
pub(crate) struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// Output of the terminal that nobody has waited for yet.
    seen: Vec<u8>,
}

impl Session {
    pub(crate) fn start(sandbox: &Sandbox, shell: Shell, rc: &str) -> Self {
        let folder = sandbox.root().join(format!("rc.{}", shell.name()));
        fs::create_dir_all(folder.join("fish")).unwrap();
        let file = match shell {
            Shell::Zsh => ".zshrc",
            Shell::Bash => "bashrc",
            Shell::Fish => "fish/config.fish",
        };
        fs::write(folder.join(file), rc).unwrap();
        let place = folder.display();
        let command = match shell {
            Shell::Zsh => "exec zsh -d -i".to_owned(),
            Shell::Bash => format!("exec bash --rcfile '{place}/bashrc' -i"),
            Shell::Fish => "exec fish -i".to_owned(),
        };
        let mut command = on_a_terminal(sandbox, &command);
        if shell == Shell::Fish {
            command.env("XDG_CONFIG_HOME", &folder);
            // Otherwise each fish has Python read all manual pages for its completions. Since fish 4 these are in the cache.
            for place in [".local/share", ".cache"] {
                let completions = format!("home/{place}/fish/generated_completions");
                fs::create_dir_all(sandbox.root().join(completions)).unwrap();
            }
        }
        let mut child = command
            .env("ZDOTDIR", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: child.stdout.take().unwrap(),
            child,
            seen: Vec::new(),
        }
    }

    /// Types a line.
    pub(crate) fn send(&mut self, line: &str) {
        self.type_in(&format!("{line}\r"));
    }

    /// Presses keys.
    pub(crate) fn type_in(&mut self, keys: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the terminal shows `text`, and returns everything up to its end.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let deadline = Instant::now() + TIME_LIMIT;
        let forms = forms_of(text);
        loop {
            let found = forms.iter().find_map(|form| {
                let mut windows = self.seen.windows(form.len());
                let at = windows.position(|window| window == form.as_bytes())?;
                Some(at + form.len())
            });
            if let Some(end) = found {
                let rest = self.seen.split_off(end);
                let seen = std::mem::replace(&mut self.seen, rest);
                return String::from_utf8_lossy(&seen).into_owned();
            }
            let len = self.read_until(deadline, &format!("{text:?}"));
            let shown = String::from_utf8_lossy(&self.seen);
            assert!(len > 0, "it ended without {text:?}: {shown:?}");
        }
    }

    /// Reads what the terminal shows next, and returns the number of bytes: 0 at its end, which is `awaited`, or comes too early.
    fn read_until(&mut self, deadline: Instant, awaited: &str) -> usize {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap();
        let mut waiting = [PollFd::new(&self.output, PollFlags::IN)];
        let ready = poll(&mut waiting, Some(&left)).unwrap();
        let shown = String::from_utf8_lossy(&self.seen);
        assert_ne!(ready, 0, "waited for {awaited} in vain: {shown:?}");
        let mut buffer = [0; 4096];
        // Reading from a terminal that is gone may fail.
        let len = self.output.read(&mut buffer).unwrap_or(0);
        self.seen.extend_from_slice(&buffer[..len]);
        len
    }

    /// Waits for its end, and returns the remaining output.
    pub(crate) fn end(mut self) -> String {
        drop(self.input.take());
        let deadline = Instant::now() + TIME_LIMIT;
        while self.read_until(deadline, "the end") > 0 {}
        self.child.wait().unwrap();
        String::from_utf8_lossy(&self.seen).into_owned()
    }
}

/// How `text` may be shown: at the end of a colour, zsh after 5.9 resets everything if no other attribute is set, and fish 3.3
/// clears no rest of a line.
pub(crate) fn forms_of(text: &str) -> [String; 3] {
    [
        text.to_owned(),
        text.replace("\x1b[39m", "\x1b[0m"),
        text.replace("\x1b[K", ""),
    ]
}

impl Drop for Session {
    fn drop(&mut self) {
        // It is usually gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder of scripts that also drive the unmodified plugins.
pub(crate) fn plugin_scripts() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/plugins")
}
