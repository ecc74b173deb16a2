//! `vigil state verify` in a Mercurial working copy.

use vigil_engine::hg_session::verify::HgProblem;
use vigil_git::environment::Environment;
use vigil_git::state_place::NoStateReason;
use vigil_model::counted::counted;

use super::unkept::why_unkept;
use super::words::verdict;
use crate::hg;
use crate::output::Presentation;
use crate::reply::{Reply, bytes, escaped_line};

/// Runs the command.
///
/// # Errors
/// As for `vigil hg status`.
pub(super) fn run(environment: &Environment) -> Result<Reply, Reply> {
    let Some(found) = hg::state_verification(environment)? else {
        return Ok(Reply::printed(why_unkept(NoStateReason::Off), 0));
    };
    if !found.is_present {
        return Ok(Reply::printed("there is no state\n", 0));
    }
    let mut out = Vec::new();
    for problem in &found.problems {
        out.extend(escaped_line(&described(problem)));
    }
    let files = match found.files {
        Some(files) => counted(files, "file of the dirstate", "files of the dirstate"),
        None => "no files of the dirstate".to_owned(),
    };
    let blocks = counted(found.blocks, "block", "blocks");
    let questions = found.questions;
    let looked_at = format!("{blocks}, {files} and {questions} answers were compared");
    let (verdict, code) = verdict(found.problems.is_empty());
    out.extend(bytes![verdict, " (", looked_at, ")\n"]);
    Ok(Reply::printed(out, code))
}

fn described(problem: &HgProblem) -> Vec<u8> {
    let mut out = Vec::new();
    let presentation = Presentation::default();
    match problem {
        HgProblem::Damaged(text) => out.extend_from_slice(text.as_bytes()),
        HgProblem::File {
            path,
            is_in_dirstate,
            is_in_tree,
        } => {
            presentation.append_path(&mut out, path.as_ref(), false);
            let how = match (is_in_dirstate, is_in_tree) {
                (true, false) => "the dirstate has it, the state does not",
                (false, true) => "the state has it, the dirstate does not",
                _ => "the state's record differs from the dirstate",
            };
            out.extend(bytes![": ", how]);
        }
        HgProblem::Answer {
            path,
            ignored,
            with,
            without,
        } => {
            presentation.append_path(&mut out, path.as_ref(), false);
            let question = match ignored {
                true => "-A",
                false => "-mardcu",
            };
            let [with, without] = [with, without].map(|letter| match letter {
                Some(letter) => format!("'{letter}'"),
                None => "nothing".to_owned(),
            });
            let said = format!(": {with} with the state, {without} without ({question})");
            out.extend_from_slice(said.as_bytes());
        }
    }
    out
}
