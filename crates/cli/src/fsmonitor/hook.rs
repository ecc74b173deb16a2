//! The hook that git runs to learn what changed (githooks(5), fsmonitor-watchman). It always answers: in doubt, that everything
//! may have changed.

use bstr::{BString, ByteSlice};
use vigil_daemon::client::Client;
use vigil_daemon::fsmonitor::{TokenForm, without_answer};
use vigil_daemon::protocol::{MonitorQuestion, Request, Response};
use vigil_daemon::{start, variables};
use vigil_git::environment::Environment;
use vigil_model::raw_text::raw;

use super::socket::UNEXPECTED;
use crate::reply::Reply;
use crate::say::write;

/// Answers git. The exit code is 0 whatever the answer is, since git complains about a hook that fails.
pub(super) fn run(arguments: &[BString], environment: &Environment) -> u8 {
    let answer = match arguments {
        [version, token] if version == "2" => {
            ask(token, environment).unwrap_or_else(|_| without_answer(TokenForm::Hook))
        }
        // Version 1 of the protocol asks by a time, from which nothing follows, since clocks may go back.
        _ => b"/\0".to_vec(),
    };
    // Of an answer that is cut git would think that nothing else changed.
    u8::from(write(rustix::stdio::stdout(), &answer).is_err())
}

/// Returns the hook's answer to `token`, one line per path. If there is none, also says why.
pub(super) fn query(token: &[u8], environment: &Environment) -> Reply {
    let lines = |answer: Vec<u8>| answer.replace(b"\0", b"\n");
    match ask(token, environment) {
        Ok(answer) => Reply::printed(lines(answer), 0),
        Err(reason) => Reply {
            stdout: lines(without_answer(TokenForm::Hook)),
            ..Reply::error(&reason)
        },
    }
}

/// Asks the daemon. If none runs and one is wanted, it is started for the next question.
///
/// # Errors
/// There is no answer; the text says why.
fn ask(token: &[u8], environment: &Environment) -> Result<Vec<u8>, String> {
    if variables::is_off(environment) {
        return Err("VIGIL_NO_DAEMON is set, so no daemon is asked".into());
    }
    let client = Client::for_command(environment);
    let question = Request::Monitor(MonitorQuestion {
        directory: environment.working_directory().to_owned(),
        variables: variables::to_monitor(environment),
        index: environment.get("GIT_INDEX_FILE").map(ToOwned::to_owned),
        token: token.into(),
    });
    match client.ask_unless_slow(&question) {
        Ok(answer) => match answer.response {
            Response::Changed(told) => Ok(told),
            Response::Yourself(reason) => Err(raw(&reason).to_string()),
            _ => Err(UNEXPECTED.into()),
        },
        Err(error) if error.calls_for_start() => {
            if !start::is_wanted(environment) {
                return Err(format!("{error}, and vigil.daemon is false"));
            }
            Err(match start::spawn(environment) {
                Ok(_) => format!("{error}: one is started for the next question"),
                Err(_) => error.to_string(),
            })
        }
        Err(error) => Err(error.to_string()),
    }
}
