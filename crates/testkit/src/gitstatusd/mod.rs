//! The gitstatusd protocol: one process for a whole run, compared with an oracle computed from git.

pub mod oracle;
pub mod server;

use std::time::Duration;

use bstr::{BStr, ByteSlice};

use crate::sandbox::{Sandbox, SandboxError};
use crate::scenario::ServerOptions;
use crate::settings::Settings;
use crate::verdict::{Difference, Verdict};
use oracle::{Expected, GitAnswers};

/// The names of the response's fields, from the third on.
pub const FIELDS: [&str; 27] = [
    "3 workdir",
    "4 commit",
    "5 local branch",
    "6 remote branch",
    "7 remote name",
    "8 remote url",
    "9 action",
    "10 index size",
    "11 staged",
    "12 unstaged",
    "13 conflicted",
    "14 untracked",
    "15 commits ahead",
    "16 commits behind",
    "17 stashes",
    "18 tag",
    "19 unstaged deleted",
    "20 staged new",
    "21 staged deleted",
    "22 push remote name",
    "23 push remote url",
    "24 push commits ahead",
    "25 push commits behind",
    "26 skip-worktree",
    "27 assume-unchanged",
    "28 commit encoding",
    "29 commit summary",
];

/// The time limit for the oracle's git commands.
pub(crate) const ORACLE_LIMIT: Duration = Duration::from_secs(20);

/// Compares a response (without its record separator; an error says why there is none) with git's answer. Answers
/// already `known` for the same state are not computed again.
///
/// # Errors
/// git cannot be started.
pub fn compare_prompt(
    settings: &Settings,
    sandbox: &Sandbox,
    directory: &BStr,
    options: ServerOptions,
    answer: Result<Vec<u8>, String>,
    known: &mut GitAnswers,
) -> Result<Verdict, SandboxError> {
    let git = || {
        let mut command = sandbox.isolated(&settings.oracle, directory);
        // With its untracked cache, git continues to list a directory that once contained a repository.
        command.env("GIT_DISABLE_UNTRACKED_CACHE", "1");
        command
    };
    let expected = oracle::cached_response(&git, options, known)?;
    let one = |what: &str, candidate: &[u8], oracle: &[u8]| {
        let (what, candidate, oracle) = (what.to_owned(), candidate.to_vec(), oracle.to_vec());
        Verdict::Different(vec![Difference {
            what,
            candidate,
            oracle,
        }])
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(reason) => return Ok(one("no answer", reason.as_bytes(), b"")),
    };
    let mut fields = answer.split_str(b"\x1f");
    let _id = fields.next();
    let is_repository = fields.next() == Some(b"1".as_slice());
    let fields: Vec<&[u8]> = fields.collect();
    let accepted = match (is_repository, expected) {
        (_, Expected::Unknown) => return Ok(Verdict::Unjudged),
        (false, Expected::NoRepository) => return Ok(Verdict::Same),
        (true, Expected::NoRepository) => return Ok(one("2 is a repository", b"1", b"0")),
        (false, Expected::Fields(_)) => return Ok(one("2 is a repository", b"0", b"1")),
        (true, Expected::Fields(accepted)) => accepted,
    };
    if fields.len() != FIELDS.len() {
        return Ok(one("number of fields", &answer, b"29 fields"));
    }
    let mut differences = Vec::new();
    for ((name, field), accepted) in FIELDS.iter().zip(fields).zip(accepted) {
        if let Some(first) = accepted.first()
            && !accepted.iter().any(|right| right == field)
        {
            let (candidate, oracle) = (field.to_vec(), first.clone());
            differences.push(Difference {
                what: (*name).to_owned(),
                candidate,
                oracle,
            });
        }
    }
    Ok(if differences.is_empty() {
        Verdict::Same
    } else {
        Verdict::Different(differences)
    })
}
