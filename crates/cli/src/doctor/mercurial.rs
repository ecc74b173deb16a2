//! Checks of a Mercurial repository and its working copy.

use std::sync::Arc;

use bstr::BString;
use vigil_engine::hg_session::HgSession;
use vigil_engine::hg_session::checkup::HgCheckup;
use vigil_git::environment::Environment;
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::config::Config;
use vigil_hg::dirstate::Dirstate;

use super::check::{Check, count, grouped, shown_path};
use super::stamps::stamps;
use super::{Here, places, repository, working_tree};
use crate::hg;
use crate::reply::bytes;

/// A dirstate-v1 with this many files is slow for Mercurial to read.
const FILES_MAX: u64 = 50_000;

/// The command that lets Mercurial answer what Vigil does not.
const FALL_BACK: &str = "printf '[vigil]\\nhg.fallback = yes\\n' >> \"$(hg root)/.hg/hgrc\"";

/// Checks the repository around the working directory. Also returns whether the configuration wants a daemon.
pub(super) fn here(environment: &Environment) -> (Here, Result<bool, String>) {
    let opened = match hg::open(environment) {
        Ok(opened) => opened,
        Err(abort) => return (Here::only(refused(&abort)), Ok(true)),
    };
    let (repository, config) = (&opened.repository, &opened.config);
    let dot_hg = shown_path(&repository.dot_hg);
    let mut here = Here::only(match repository.shared == repository.dot_hg {
        true => Check::ok("repository", bytes![dot_hg, ", Mercurial's"]),
        false => {
            let shared = shown_path(&repository.shared);
            Check::ok("repository", bytes![dot_hg, ", a share of ", shared])
        }
    });
    here.top = Some(repository.root.clone());
    let stores = hg::places(environment, repository);
    let state_folder = stores.first().map(|store| store.folder().to_path_buf());
    let mut session = HgSession::new(repository, stores);
    // If it is damaged, a later check says so.
    let recorded = session.dirstate(repository);
    let recorded = recorded.unwrap_or_else(|_| Arc::new(Dirstate::empty()));
    let checks = &mut here.checks;
    checks.push(extensions(
        opened.unsupported(environment, &recorded, true),
        config,
    ));
    checks.push(fsmonitor(config));
    let folders = [
        ("repository's disk", &repository.shared),
        ("working tree's disk", &repository.root),
    ];
    for (subject, folder) in folders {
        checks.push(places::file_system(subject, folder));
    }
    checks.push(places::mounted_below(&repository.root));
    if let Some(folder) = &state_folder {
        checks.push(places::file_system("state's disk", folder));
    }
    checks.push(match config.boolean("vigil", "stateFile", true) {
        Ok(true) => match session.state_report() {
            Some(report) => repository::state(&Ok(report), None),
            None => Check::note("state", "there is no place for one", ""),
        },
        Ok(false) => Check::note("state", "none is kept: vigil.stateFile is false", ""),
        Err(abort) => Check::problem("state", abort.message, ""),
    });
    match session.checkup(repository, working_tree::budget()) {
        Ok(found) => {
            here.directories = Some(found.directories);
            checks.push(dirstate(&found));
            let part = if found.is_whole {
                ""
            } else {
                " that were looked at"
            };
            let all = count(found.looked_at, "recorded file") + part;
            checks.push(stamps(found.unsure, &all, "dirstate", "hg status --quiet"));
            checks.push(subrepositories(&found));
        }
        Err(abort) => checks.push(Check::problem(
            "dirstate",
            abort.message,
            "hg debugrebuilddirstate",
        )),
    }
    let wants_daemon = config.boolean("vigil", "daemon", true);
    (here, wants_daemon.map_err(|abort| abort.to_string()))
}

/// Reports a repository that cannot be opened.
fn refused(abort: &Abort) -> Check {
    let mut fact = abort.message.clone();
    if let Some(hint) = &abort.hint {
        fact.extend(bytes![" (", hint, ")"]);
    }
    let remedy = match abort.kind {
        Kind::Unsupported => FALL_BACK,
        _ => "",
    };
    Check::problem("repository", fact, remedy)
}

/// Reports what is `beyond` this program: what only Mercurial can answer.
fn extensions(beyond: Option<BString>, config: &Config) -> Check {
    let subject = "extensions and filters";
    let Some(beyond) = beyond else {
        return Check::ok(subject, "none that changes a status");
    };
    let falls_back = config.boolean("vigil", "hg.fallback", false);
    match falls_back {
        Ok(true) => Check::note(
            subject,
            bytes![beyond, ": each status is left to 'hg' (vigil.hg.fallback)"],
            "",
        ),
        _ => Check::problem(
            subject,
            bytes![beyond, ": no status is answered"],
            FALL_BACK,
        ),
    }
}

/// Checks whether Mercurial has another program watch the working copy.
fn fsmonitor(config: &Config) -> Check {
    let subject = "Mercurial's own monitor";
    let mut extensions = config.section("extensions");
    let is_on = extensions.any(|item| {
        let name = item.name.strip_prefix(b"hgext.").unwrap_or(&item.name);
        name == b"fsmonitor" && !item.value.starts_with(b"!")
    });
    match is_on {
        true => Check::note(
            subject,
            "the extension fsmonitor makes watchman watch the same folders again",
            "",
        ),
        false => Check::ok(subject, "not configured"),
    }
}

fn dirstate(found: &HgCheckup) -> Check {
    let subject = "dirstate";
    let files = count(found.files, "file");
    if found.is_v2 {
        return Check::ok(subject, format!("version 2, {files}"));
    }
    let fact = format!(
        "version 1, {files} in {} bytes",
        grouped(found.dirstate_len)
    );
    match found.files > FILES_MAX {
        true => Check::note(
            subject,
            fact + ": Mercurial with its Rust extensions reads version 2 faster, and writes less of it",
            "hg debugupgraderepo --run --config format.use-dirstate-v2=yes",
        ),
        false => Check::ok(subject, fact),
    }
}

fn subrepositories(found: &HgCheckup) -> Check {
    let subject = "subrepositories";
    match found.has_subrepositories {
        true => Check::ok(subject, "some: with -S, the daemon is not asked"),
        false => Check::ok(subject, "none"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn a_large_dirstate_of_the_first_format_is_noted() {
        let found = |files, is_v2| HgCheckup {
            files,
            is_v2,
            ..HgCheckup::default()
        };
        assert_eq!(dirstate(&found(FILES_MAX, false)).verdict, Verdict::Ok);
        assert_eq!(dirstate(&found(FILES_MAX + 1, true)).verdict, Verdict::Ok);
        let noted = dirstate(&found(FILES_MAX + 1, false));
        assert_eq!(noted.verdict, Verdict::Note);
        assert!(noted.remedy.unwrap().contains(&b'2'));
    }
}
