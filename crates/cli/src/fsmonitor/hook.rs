//! The hook that git runs to hear what changed (githooks(5), fsmonitor-watchman). It always has an answer: in doubt, that
//! everything may have changed.

use bstr::{BString, ByteSlice};
use vigil_daemon::client::{Client, Unanswered};
use vigil_daemon::fsmonitor::{Form, without_answer};
use vigil_daemon::protocol::{MonitorQuestion, Request, Response};
use vigil_daemon::{start, variables};
use vigil_git::environment::Environment;

use crate::reply::Reply;
use crate::say::write;

/// Answers git, and returns the exit code, which is 0 whatever happens: of a hook that fails, git complains.
pub(super) fn run(arguments: &[BString], environment: &Environment) -> u8 {
    let answer = match arguments {
        [version, token] if version == "2" => {
            ask(token, environment).unwrap_or_else(|| without_answer(Form::Hook))
        }
        // The first version asks by a time: clocks go back, so that nothing follows from one.
        _ => b"/\0".to_vec(),
    };
    // Where nobody reads, there is nobody to tell.
    let _ = write(rustix::stdio::stdout(), &answer);
    0
}

/// What the hook says to `token`, a line for each path.
pub(super) fn query(token: &[u8], environment: &Environment) -> Reply {
    let answer = ask(token, environment);
    let code = if answer.is_some() { 0 } else { 1 };
    let answer = answer.unwrap_or_else(|| without_answer(Form::Hook));
    Reply::printed(answer.replace(b"\0", b"\n"), code)
}

/// What the daemon says. Where none runs, one is started for the next question.
fn ask(token: &[u8], environment: &Environment) -> Option<Vec<u8>> {
    if variables::is_off(environment) {
        return None;
    }
    let client = Client::of_command(environment);
    if client.place().was_slow() {
        return None;
    }
    let question = Request::Monitor(MonitorQuestion {
        directory: environment.working_directory().to_owned(),
        variables: variables::to_monitor(environment),
        index: environment.get("GIT_INDEX_FILE").map(ToOwned::to_owned),
        token: token.into(),
    });
    match client.ask(&question) {
        Ok(said) => match said.response {
            Response::Changed(told) => Some(told),
            _ => None,
        },
        Err(Unanswered::Absent) => {
            let _ = start::spawn(environment);
            None
        }
        Err(older) if older.is_of_older() => {
            let _ = start::spawn(environment);
            None
        }
        Err(_) => None,
    }
}
