//! Long-running filter processes.

use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use bstr::BStr;

use super::conversation::{Conversation, Fault, Outcome, Task};
use super::error::Error;
use super::filter::{Input, report_signal, start, stop, terminate};
use vigil_git::child::ChildEnvironment;
use vigil_rules::messages::{Messages, bytes};

/// A running filter.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// `None` once the process is being stopped.
    conversation: Option<Conversation<ChildStdin, BufReader<ChildStdout>>>,
}

impl Process {
    /// Starts `command` and greets it. `None` if that fails; `messages` then says why.
    pub(super) fn start(
        child_environment: &ChildEnvironment,
        command: &BStr,
        messages: &Messages,
    ) -> Result<Option<Self>, Error> {
        let Some(mut child) = start(child_environment, command, &[], Stdio::piped, messages) else {
            messages.error(bytes!("cannot fork to run subprocess '", command, "'"));
            return Ok(None);
        };
        let pipes = child.stdin.take().zip(child.stdout.take());
        let mut process = Self {
            conversation: pipes
                .map(|(stdin, stdout)| Conversation::new(stdin, BufReader::new(stdout))),
            child,
        };
        let greeted = match &mut process.conversation {
            Some(conversation) => conversation.shake_hands(command),
            None => Err(Fault::Ended),
        };
        match greeted {
            Ok(()) => Ok(Some(process)),
            // git exits without reporting how the process ends.
            Err(Fault::Fatal(error)) => Err(error),
            Err(fault) => {
                fault.report(messages);
                messages.error(bytes!(
                    "initialization for subprocess '",
                    command,
                    "' failed"
                ));
                process.terminate(command, messages);
                Ok(None)
            }
        }
    }

    /// Has the filter convert the contents of the file `path`.
    pub(super) fn convert(
        &mut self,
        task: Task<'_>,
        path: &BStr,
        input: Input<'_>,
        messages: &Messages,
    ) -> Result<Outcome, Error> {
        match &mut self.conversation {
            Some(conversation) => conversation.convert(task, path, input, messages),
            None => Ok(Outcome::Broken),
        }
    }

    /// Whether the filter has said that it will not clean, or not smudge, any more files.
    pub(super) fn has_aborted(&self) -> bool {
        self.conversation
            .as_ref()
            .is_some_and(Conversation::has_aborted)
    }

    /// Ends a process that misbehaves. If it was killed, `messages` says so, as in git.
    pub(super) fn terminate(mut self, command: &BStr, messages: &Messages) {
        terminate(&mut self.child);
        self.close();
        if let Ok(Some(status)) = self.child.try_wait() {
            report_signal(status, command, messages);
        }
    }

    /// Closes the pipes, which tells the process to end, and waits for it.
    fn close(&mut self) {
        self.conversation = None;
        stop(&mut self.child);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.close();
    }
}
