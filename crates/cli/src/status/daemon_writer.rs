//! The status of a working copy that a daemon keeps in memory, in the bytes that the command would write.
//!
//! Only the simple case is answered. If a message is given only once, or something has to be done in the client's directory,
//! the client does it all itself.

use bstr::{BString, ByteSlice};
use vigil_daemon::protocol::StatusQuestion;
use vigil_daemon::{Declined, Printed, StatusWriter};
use vigil_engine::hg_session::HgWorkingCopy;
use vigil_engine::session::Session;
use vigil_git::environment::Environment;
use vigil_model::raw_text::{message_bytes, text_bytes};

use super::arguments::Arguments;
use super::plan::StatusPlan;
use super::settings::PrintSettings;
use crate::hg;
use crate::output;
use crate::output::color::lines_with_hints;

/// Writes the output of `vigil status`.
pub(crate) struct DaemonStatusWriter;

impl StatusWriter for DaemonStatusWriter {
    fn write(
        &self,
        session: &mut Session,
        prefix: BString,
        question: &StatusQuestion,
        environment: &Environment,
    ) -> Result<Printed, Declined> {
        let declined = |reason: &str| Declined::ThisTime(reason.into());
        let (print, pages) = settings(session)?;
        if pages && question.terminal.is_output {
            return Err(declined("a pager may be wanted"));
        }
        if question.terminal.is_errors && environment.get("GIT_PROGRESS_DELAY").is_some() {
            return Err(declined("progress is shown at another time"));
        }
        let arguments = Arguments::parse(&question.arguments)
            .map_err(|_| declined("the command line is not plain"))?;
        let mut plan = StatusPlan::new(
            arguments,
            session.settings(),
            &print,
            prefix.as_bstr(),
            environment,
            question.terminal,
        )
        .map_err(|_| declined("the command line is not plain"))?;
        plan.check_locking(&session.repository().config);
        if plan.refusal.is_some() {
            return Err(declined("the command line is not plain"));
        }
        if !plan.wanted.is_nothing() {
            return Err(declined("git has to be asked"));
        }
        plan.request.progress = None;
        session.check_in_submodules(PrintSettings::check);
        let answer = |reason: &str| Declined::ForNow(text_bytes(reason));
        let status = session
            .status_again(prefix, &plan.request)
            .map_err(|error| answer(&error.to_string()))?;
        let says_more = !session.take_messages().is_empty() || session.has_dropped_messages();
        if status.warns_once || says_more || status.cut_short.is_some() {
            return Err(answer("there is something to say of it"));
        }
        Ok(Printed {
            stdout: output::write(plan.format, &status, &plan.presentation),
            stderr: lines_with_hints(&status.warnings, plan.hint_colors.as_ref()),
        })
    }

    fn write_of_mercurial(
        &self,
        copy: &mut HgWorkingCopy,
        question: &StatusQuestion,
        environment: &Environment,
    ) -> Result<Printed, Declined> {
        hg::answer_from_session(copy, question, environment)
    }
}

/// Reads the settings for printing, and whether the configuration mentions a pager.
fn settings(session: &Session) -> Result<(PrintSettings, bool), Declined> {
    let repository = session.repository();
    let (settings, print) =
        PrintSettings::read(repository).map_err(|error| Declined::ForNow(message_bytes(&error)))?;
    if !settings.warnings.is_empty() {
        let reason = "there is something to say of the configuration";
        return Err(Declined::ForNow(reason.into()));
    }
    let pages = repository.config.every("pager.status").next().is_some();
    Ok((print, pages))
}
