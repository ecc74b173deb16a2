//! The process for which this one serves, as long as it is the one that it was.

use vigil_linux::process::is_alive;

/// A process, and what it runs.
#[derive(Clone, Debug)]
pub(super) struct Parent {
    pid: i32,
    /// When it was started, and where its stack begins: another process may get its number, and it may execute another program,
    /// which knows nothing of this process. `None` where that cannot be told.
    image: Option<(u64, u64)>,
}

impl Parent {
    /// The process `pid` as it is now.
    pub(super) fn new(pid: i32) -> Self {
        Self {
            pid,
            image: image(pid),
        }
    }

    /// Whether it lives. With `strictly`, only if it runs what it ran.
    pub(super) fn is_there(&self, strictly: bool) -> bool {
        is_alive(self.pid) && (!strictly || image(self.pid) == self.image)
    }
}

/// Where the fields are in `/proc/PID/stat` (proc_pid_stat(5)), behind the name in brackets: the state is the third.
const STATE: usize = 3;
const START_TIME: usize = 22;
const START_STACK: usize = 28;

fn image(pid: i32) -> Option<(u64, u64)> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name may have brackets, too.
    let (_, fields) = stat.rsplit_once(')')?;
    let field = |number: usize| {
        let mut fields = fields.split_ascii_whitespace();
        fields.nth(number.saturating_sub(STATE))?.parse().ok()
    };
    Some((field(START_TIME)?, field(START_STACK)?))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_executes_another_program_is_not_the_one_that_it_was() {
        let mut child = Command::new("sh")
            .args([
                "-c",
                "echo one; read line; exec sh -c 'echo two; read line'",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut input = child.stdin.take().unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "one");
        let parent = Parent::new(i32::try_from(child.id()).unwrap());
        assert!(parent.is_there(true));
        input.write_all(b"\n").unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "two");
        assert!(parent.is_there(false) && !parent.is_there(true));
        drop(input);
        child.wait().unwrap();
        assert!(!parent.is_there(false));
    }
}
