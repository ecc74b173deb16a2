//! `vigil why` in a Mercurial working copy.

mod json;
mod sentences;

use bstr::{BString, ByteSlice};
use vigil_engine::hg_session::HgSession;
use vigil_engine::hg_session::why::{HgWhy, HgWhyQuestion};
use vigil_git::environment::Environment;
use vigil_hg::abort::Abort;
use vigil_hg::narrow;
use vigil_hg::patterns::from_top;
use vigil_stamp::paths::bytes_of;

use super::by_daemon;
use crate::hg;
use crate::reply::Reply;

/// Explains what status says about `paths`.
///
/// # Errors
/// As for `vigil hg status`.
pub(super) fn run(
    paths: &[BString],
    is_json: bool,
    environment: &Environment,
) -> Result<Reply, Reply> {
    let complain = |abort: Abort| hg::complain(&abort, false);
    let opened = hg::open(environment).map_err(complain)?;
    let (warnings, all) = explain(paths, &opened, environment).map_err(complain)?;
    let known = match hg::wants_daemon(environment) {
        true => {
            let paths = all.iter().map(|why| why.path.clone()).collect();
            by_daemon::ask(paths, true, environment)
        }
        false => Vec::new(),
    };
    let stdout = match is_json {
        true => json::write(&all, &known),
        false => {
            let root = bytes_of(&opened.repository.root).as_bstr();
            sentences::write(&all, &known, root, environment.working_directory())
        }
    };
    let mut reply = Reply::printed(stdout, 0);
    reply.stderr = warnings;
    Ok(reply)
}

/// The explanation of each path, and complaints about the ignore files.
fn explain(
    paths: &[BString],
    opened: &hg::Opened,
    environment: &Environment,
) -> Result<(Vec<u8>, Vec<HgWhy>), Abort> {
    let repository = &opened.repository;
    let cwd = environment.working_directory();
    let mut session = HgSession::new(repository, Vec::new());
    let dirstate = session.dirstate(repository)?;
    if let Some(beyond) = opened.unsupported(environment, &dirstate, false) {
        return Err(Abort::unsupported(beyond));
    }
    if opened.converts_line_endings(environment)? {
        return Err(Abort::unsupported(
            "line endings that are converted (.hgeol)",
        ));
    }
    let read = session.ignore(&opened.ignore_files);
    let mut lines = Vec::new();
    let question = HgWhyQuestion {
        repository,
        ignore: read.ignore.clone()?,
        ignore_files: &opened.ignore_files,
        narrow: narrow::read(repository, &mut lines)?,
    };
    let mut all = Vec::new();
    for path in paths {
        let path = from_top(&repository.root, cwd, path)?;
        all.push(session.why(&question, path.as_bstr())?);
    }
    let lines = lines.iter().chain(&read.warnings);
    let warnings = lines.flat_map(|line| [line.as_slice(), b"\n"].concat());
    Ok((warnings.collect(), all))
}
