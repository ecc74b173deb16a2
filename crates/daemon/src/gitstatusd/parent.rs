//! The process that this one serves, and whether it is still the same program.

use std::io;
use std::sync::Arc;

use vigil_linux::process::{is_alive, thread_builder};
use vigil_linux::process_handle::ProcessHandle;

/// A process, and which program it runs.
#[derive(Clone, Debug)]
pub(super) struct Parent {
    pid: i32,
    /// Its start time and the address of its stack: its pid may be reused, and it may execute another program, which knows
    /// nothing of this process. `None` if they cannot be determined.
    image: Option<(u64, u64)>,
}

impl Parent {
    /// Records the process `pid` as it is now.
    pub(super) fn new(pid: i32) -> Self {
        Self {
            pid,
            image: image(pid),
        }
    }

    /// Whether it is alive. With `strictly`, only if it still runs the same program, as far as that can be determined: at times
    /// no file may be opened.
    pub(super) fn is_there(&self, strictly: bool) -> bool {
        is_alive(self.pid) && !(strictly && self.has_changed())
    }

    fn has_changed(&self) -> bool {
        let images = self.image.zip(image(self.pid));
        images.is_some_and(|(then, now)| then != now)
    }
}

/// Ends this process when `process` does, whatever it is working on.
///
/// # Errors
/// No thread can be started.
pub(super) fn end_with(process: Arc<ProcessHandle>) -> io::Result<()> {
    thread_builder().spawn(move || {
        process.wait(None);
        std::process::exit(0);
    })?;
    Ok(())
}

/// Field numbers in `/proc/PID/stat` (proc_pid_stat(5)). The state, field 3, is the first after the name in parentheses.
const STATE: usize = 3;
const START_TIME: usize = 22;
const START_STACK: usize = 28;

fn image(pid: i32) -> Option<(u64, u64)> {
    image_in(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The start time and the address of the stack in the bytes of `/proc/PID/stat`.
pub(crate) fn image_in(stat: &[u8]) -> Option<(u64, u64)> {
    let stat = String::from_utf8_lossy(stat);
    // The name may contain parentheses, too.
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
