//! `vigil state verify`: checks whether the state is right.

use vigil_engine::session::SessionError;
use vigil_engine::session::verify::{Problem, Verdict, verify};
use vigil_engine::status::Change;
use vigil_git::environment::Environment;
use vigil_model::change::ChangeKind;
use vigil_model::counted::counted;

use super::unkept::why_unkept;
use super::words::verdict;
use crate::inside;
use crate::output::Presentation;
use crate::reply::{Reply, bytes, escaped_line};

/// The reply that ends the command.
struct Ended(Reply);

impl From<SessionError> for Ended {
    fn from(error: SessionError) -> Self {
        Self(inside::refuse(error))
    }
}

/// Runs the command.
///
/// # Errors
/// As for `vigil status`.
pub(super) fn run(environment: &Environment) -> Result<Reply, Reply> {
    let session = inside::session(environment)?;
    let messages = session.repository().config.messages().to_vec();
    if let Err(reason) = session.state_report() {
        return Ok(Reply::printed(why_unkept(reason), 0).after(&messages));
    }
    let presentation = inside::presentation(&session);
    let found =
        verify(|| inside::session(environment).map_err(Ended)).map_err(|Ended(reply)| reply)?;
    if !found.is_present {
        return Ok(Reply::printed("there is no state\n", 0).after(&messages));
    }
    let mut out = Vec::new();
    for problem in &found.problems {
        out.extend(escaped_line(&described(problem, &presentation)));
    }
    let entries = match found.entries {
        Some(entries) => counted(entries, "entry of the index", "entries of the index"),
        None => "no entries of the index".to_owned(),
    };
    let blocks = counted(found.blocks, "block", "blocks");
    let questions = found.questions.len();
    let looked_at = format!("{blocks}, {entries} and {questions} answers were compared");
    let (verdict, code) = verdict(found.problems.is_empty());
    out.extend(bytes![verdict, " (", looked_at, ")\n"]);
    Ok(Reply::printed(out, code).after(&messages))
}

fn described(problem: &Problem, presentation: &Presentation) -> Vec<u8> {
    let mut out = Vec::new();
    match problem {
        Problem::Damaged(text) => out.extend_from_slice(text.as_bytes()),
        Problem::Entry {
            path,
            stage,
            is_in_index,
            is_in_tree,
        } => {
            presentation.append_path(&mut out, path.as_ref(), false);
            let how = match (is_in_index, is_in_tree) {
                (true, false) => "the index has it, the state does not",
                (false, true) => "the state has it, the index does not",
                _ => "the state's entry differs from the index",
            };
            let stage = match stage {
                0 => String::new(),
                stage => format!(" (stage {stage})"),
            };
            out.extend(bytes![stage, ": ", how]);
        }
        Problem::Answer {
            question,
            path,
            with,
            without,
        } => {
            presentation.append_path(&mut out, path.as_ref(), false);
            let untracked = question.untracked.name();
            let ignored = question.ignored.name();
            let question = format!("--untracked-files={untracked} --ignored={ignored}");
            let (with, without) = (letters(with), letters(without));
            out.extend(bytes![
                ": '",
                with,
                "' with the state, '",
                without,
                "' without (",
                question,
                ")"
            ]);
        }
    }
    out
}

/// The two letters of git's short format.
fn letters(verdict: &Verdict) -> [u8; 2] {
    match verdict {
        Verdict::Unchanged => *b"  ",
        Verdict::Untracked => *b"??",
        Verdict::Ignored => *b"!!",
        Verdict::Changed(change) => match &**change {
            Change::Unmerged(change) => change.letters(),
            Change::Tracked(change) => {
                [change.staged, change.unstaged].map(|kind| kind.map_or(b' ', ChangeKind::letter))
            }
        },
    }
}
