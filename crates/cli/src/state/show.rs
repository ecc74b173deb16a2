//! `vigil state show`: the state's place, size and age, and which parts of it may be believed.

use bstr::{BString, ByteSlice};
use vigil_engine::state::{
    DirectoryReport, IndexRelation, IndexReport, ListingReport, ListingValidity, PublishedReport,
    StateReport,
};
use vigil_git::environment::Environment;
use vigil_git::state_place::NoStateReason;
use vigil_model::raw_text::message_bytes;
use vigil_stamp::trust::FileSystemTrust;
use vigil_store::NoState;

use super::json;
use super::unkept::why_unkept;
use super::words::{dead_percent, table_name};
use crate::hg;
use crate::inside;
use crate::output::Presentation;
use crate::reply::{Reply, bytes, escaped_line};
use crate::time::utc;
use vigil_model::counted::counted;
use vigil_stamp::paths::bytes_of;

/// The width of the labels.
const LABEL_WIDTH: usize = 13;

/// Runs the command.
///
/// # Errors
/// As for `vigil status`.
pub(super) fn run(
    environment: &Environment,
    with_directories: bool,
    is_json: bool,
) -> Result<Reply, Reply> {
    if hg::is_mercurial(environment) {
        let report = hg::state_report(environment)?.ok_or(NoStateReason::Off);
        let stdout = match (&report, is_json) {
            (report, true) => json::write(report, None),
            (Err(reason), false) => why_unkept(*reason).into(),
            (Ok(report), false) => text(report, &[], &Presentation::default()),
        };
        return Ok(Reply::printed(stdout, 0));
    }
    let mut session = inside::session(environment)?;
    let messages = session.repository().config.messages().to_vec();
    let report = session.state_report();
    let directories = match with_directories {
        true => Some(session.state_directories().map_err(inside::refuse)?),
        false => None,
    };
    let stdout = if is_json {
        json::write(&report, directories.as_deref())
    } else {
        match report {
            Err(reason) => why_unkept(reason).into(),
            Ok(report) => text(
                &report,
                directories.as_deref().unwrap_or_default(),
                &inside::presentation(&session),
            ),
        }
    };
    Ok(Reply::printed(stdout, 0).after(&messages))
}

fn text(
    report: &StateReport,
    directories: &[DirectoryReport],
    presentation: &Presentation,
) -> Vec<u8> {
    let mut out = Vec::new();
    for place in &report.places {
        match &place.obstacle {
            Some(NoState::Absent { .. }) if report.published.is_some() => {}
            Some(obstacle) => out.extend(escaped_line(&message_bytes(obstacle))),
            None => {}
        }
    }
    if let Some(published) = &report.published {
        append_published(&mut out, published);
    }
    for directory in directories {
        out.extend(escaped_line(&described(directory, presentation)));
    }
    out
}

fn append(out: &mut Vec<u8>, label: &str, value: impl AsRef<[u8]>) {
    out.extend(escaped_line(&bytes![
        format!("{label:LABEL_WIDTH$}"),
        value
    ]));
}

fn append_published(out: &mut Vec<u8>, state: &PublishedReport) {
    append(out, "folder", bytes_of(&state.folder));
    append(out, "generation", state.generation.to_string());
    let name = state.data_path.file_name().unwrap_or_default();
    let len = match state.data_len {
        Some(len) => format!("{len} bytes"),
        None => "gone by now".to_owned(),
    };
    let share = dead_percent(state);
    let sizes = format!(": {len}, {} valid, {share} % of these dead", state.used_len);
    append(out, "data file", bytes![name.as_encoded_bytes(), sizes]);
    append(out, "docket", format!("{} bytes", state.docket_len));
    append(out, "directories", state.directories.to_string());
    append(out, "files", state.files.to_string());
    let tables = state.tables.iter().map(|table| {
        let name = table_name(table.table);
        format!("{name} {} ({} bytes)", table.blocks, table.len)
    });
    append(out, "blocks", tables.collect::<Vec<_>>().join(", "));
    if let Some(damage) = &state.damage {
        append(out, "damage", damage.to_string());
    }
    let run = match state.recorded.boot == state.now.boot {
        true => "since the last boot",
        false => "before the last boot",
    };
    let since = format!("at an uptime of {} s", state.recorded.since_boot.s);
    append(
        out,
        "recorded",
        format!("{}, {run}, {since}", utc(state.recorded.wall)),
    );
    let clock = match state.untrusted_since {
        None => "it has not been set back since".to_owned(),
        Some(time) => format!(
            "it was set back: stamps from {} on prove nothing",
            utc(time)
        ),
    };
    append(out, "clock", clock);
    let index = match &state.index {
        None => BString::from("unknown: what is recorded of it cannot be read"),
        Some(index) => {
            let of = match index.written_at {
                Some(time) => format!(" of {}: ", utc(time)),
                None => ", which was not there: ".to_owned(),
            };
            bytes![bytes_of(&index.path), of, relation(index.relation)].into()
        }
    };
    let is_index = |index: &IndexReport| !index.path.ends_with("dirstate");
    let label = match state.index.as_ref().is_none_or(is_index) {
        true => "index",
        false => "dirstate",
    };
    append(out, label, index);
    let kind = match state.file_system {
        Some(kind) => format!("0x{kind:x}: "),
        None => String::new(),
    };
    append(out, "file system", format!("{kind}{}", trust(state.trust)));
}

fn relation(relation: IndexRelation) -> &'static str {
    match relation {
        IndexRelation::Same => "it is unchanged",
        IndexRelation::Young => {
            "it was written too shortly before it was read to be recognized; it will be read again"
        }
        IndexRelation::Changed => "it has changed since",
        IndexRelation::Elsewhere => "the repository has another one",
        IndexRelation::Unproven => "nothing proves that it is unchanged",
    }
}

fn trust(trust: FileSystemTrust) -> &'static str {
    match (trust.directories, trust.contents) {
        (true, true) => "stamps of directories and files are trusted",
        (false, true) => "stamps of files are trusted, those of directories are not",
        (_, false) => "stamps are not trusted",
    }
}

fn described(directory: &DirectoryReport, presentation: &Presentation) -> Vec<u8> {
    let mut out = Vec::new();
    append_directory_path(&mut out, directory, presentation);
    out.extend(bytes![
        ": ",
        counted(directory.files, "tracked file", "tracked files")
    ]);
    if directory.listings.is_empty() {
        out.extend_from_slice(b"; not listed");
    }
    for listing in &directory.listings {
        append_listing(&mut out, listing);
    }
    if directory.compared > 0 {
        let compared = counted(directory.compared, "file", "files");
        let same = directory.compared_unchanged;
        out.extend(bytes![format!(
            "; contents of {compared} compared, {same} as recorded"
        )]);
    }
    out
}

fn append_directory_path(
    out: &mut Vec<u8>,
    directory: &DirectoryReport,
    presentation: &Presentation,
) {
    let mut path = directory.path.clone();
    if !path.is_empty() {
        path.push(b'/');
    }
    presentation.append_path(out, path.as_bstr(), false);
}

fn append_listing(out: &mut Vec<u8>, listing: &ListingReport) {
    let question = match listing.question {
        None => "an unknown question".to_owned(),
        Some((untracked, ignored)) => {
            format!("untracked={}, ignored={}", untracked.name(), ignored.name())
        }
    };
    let ListingReport {
        untracked, ignored, ..
    } = listing;
    let found = format!("{untracked} untracked, {ignored} ignored");
    let standing = standing(&listing.validity, &utc(listing.written_at));
    out.extend(bytes![
        "; listed for ",
        question,
        ": ",
        found,
        ", ",
        standing
    ]);
}

fn standing(standing: &ListingValidity, recorded: &str) -> Vec<u8> {
    match standing {
        ListingValidity::Holds => bytes!["still valid (mtime ", recorded, ")"],
        ListingValidity::FileSystem => bytes!["not trusted on this file system"],
        ListingValidity::Clock => bytes!["made before the clock was set back"],
        ListingValidity::Directory(Some(time)) => {
            let now = utc(*time);
            match now == recorded {
                true => bytes![
                    "but the directory has changed since (mtime still ",
                    now,
                    ")"
                ],
                false => bytes!["but its mtime moved from ", recorded, " to ", now],
            }
        }
        ListingValidity::Directory(None) => bytes!["but it is no longer a directory"],
        ListingValidity::IgnoreFile => bytes!["but its .gitignore has changed since"],
        ListingValidity::Below(path) => bytes!["but ", path, " in it has changed since"],
        ListingValidity::Rules => bytes!["but the ignore rules have changed"],
    }
}
