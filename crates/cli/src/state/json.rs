//! `vigil state show --format=json` (docs/json-state.md).

use bstr::BStr;
use serde::Serialize;
use vigil_engine::state::{
    DirectoryReport, IndexRelation, ListingReport, ListingValidity, PlaceReport, PublishedReport,
    StateReport,
};
use vigil_git::state_place::NoStateReason;

use super::unkept::name_of;
use super::words::{dead_percent, table_name};
use crate::output::json::{Text, serialized};
use crate::time::TimeDocument;
use vigil_stamp::paths::bytes_of;

/// Raised when a reader of the previous schema could misunderstand the new one.
const SCHEMA: u32 = 1;

/// Writes the object and a line feed.
pub(super) fn write(
    report: &Result<StateReport, NoStateReason>,
    directories: Option<&[DirectoryReport]>,
) -> Vec<u8> {
    let known = report.as_ref();
    let document = Document {
        schema: SCHEMA,
        unkept: known.err().map(|reason| name_of(*reason)),
        places: known
            .map(|report| report.places.iter().map(PlaceDocument::of).collect())
            .unwrap_or_default(),
        state: known
            .ok()
            .and_then(|report| report.published.as_ref())
            .map(StateDocument::of),
        directories: directories
            .map(|directories| directories.iter().map(DirectoryDocument::of).collect()),
    };
    serialized(&document, b'\n')
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    unkept: Option<&'static str>,
    places: Vec<PlaceDocument<'a>>,
    state: Option<StateDocument<'a>>,
    directories: Option<Vec<DirectoryDocument<'a>>>,
}

#[derive(Serialize)]
struct PlaceDocument<'a> {
    folder: Text<'a>,
    obstacle: Option<String>,
}

impl<'a> PlaceDocument<'a> {
    fn of(place: &'a PlaceReport) -> Self {
        Self {
            folder: Text(bytes_of(&place.folder)),
            obstacle: place.obstacle.as_ref().map(ToString::to_string),
        }
    }
}

#[derive(Serialize)]
struct TableDocument {
    table: &'static str,
    blocks: u64,
    len: u64,
}

#[derive(Serialize)]
struct IndexDocument<'a> {
    path: Text<'a>,
    written_at: Option<TimeDocument>,
    relation: &'static str,
}

#[derive(Serialize)]
struct TrustDocument {
    kind: Option<u32>,
    directories: bool,
    contents: bool,
}

#[derive(Serialize)]
struct StateDocument<'a> {
    folder: Text<'a>,
    generation: u64,
    data_path: Text<'a>,
    data_len: Option<u64>,
    used_len: u64,
    dead_len: u64,
    dead_percent: u64,
    docket_len: u64,
    directories: u64,
    files: u32,
    tables: Vec<TableDocument>,
    damage: Option<String>,
    recorded_at: TimeDocument,
    recorded_since_boot: TimeDocument,
    is_same_run: bool,
    distrusted_from: Option<TimeDocument>,
    index: Option<IndexDocument<'a>>,
    file_system: TrustDocument,
}

impl<'a> StateDocument<'a> {
    fn of(state: &'a PublishedReport) -> Self {
        let tables = state.tables.iter().map(|table| TableDocument {
            table: table_name(table.table),
            blocks: table.blocks,
            len: table.len,
        });
        Self {
            folder: Text(bytes_of(&state.folder)),
            generation: state.generation,
            data_path: Text(bytes_of(&state.data_path)),
            data_len: state.data_len,
            used_len: state.used_len,
            dead_len: state.dead_len,
            dead_percent: dead_percent(state),
            docket_len: state.docket_len,
            directories: state.directories,
            files: state.files,
            tables: tables.collect(),
            damage: state.damage.as_ref().map(ToString::to_string),
            recorded_at: state.recorded.wall.into(),
            recorded_since_boot: state.recorded.since_boot.into(),
            is_same_run: state.recorded.boot == state.now.boot,
            distrusted_from: state.untrusted_since.map(TimeDocument::from),
            index: state.index.as_ref().map(|index| IndexDocument {
                path: Text(bytes_of(&index.path)),
                written_at: index.written_at.map(TimeDocument::from),
                relation: match index.relation {
                    IndexRelation::Same => "same",
                    IndexRelation::Young => "young",
                    IndexRelation::Changed => "changed",
                    IndexRelation::Elsewhere => "elsewhere",
                    IndexRelation::Unproven => "unproven",
                },
            }),
            file_system: TrustDocument {
                kind: state.file_system,
                directories: state.trust.directories,
                contents: state.trust.contents,
            },
        }
    }
}

#[derive(Serialize)]
struct DirectoryDocument<'a> {
    path: Text<'a>,
    files: usize,
    listings: Vec<ListingDocument<'a>>,
    compared: usize,
    compared_unchanged: usize,
}

impl<'a> DirectoryDocument<'a> {
    fn of(directory: &'a DirectoryReport) -> Self {
        Self {
            path: Text::of(&directory.path),
            files: directory.files,
            listings: directory.listings.iter().map(ListingDocument::of).collect(),
            compared: directory.compared,
            compared_unchanged: directory.compared_unchanged,
        }
    }
}

#[derive(Serialize)]
struct ListingDocument<'a> {
    untracked_files: Option<&'static str>,
    ignored_files: Option<&'static str>,
    written_at: TimeDocument,
    untracked: usize,
    ignored: usize,
    witnesses: usize,
    standing: &'static str,
    moved_at: Option<TimeDocument>,
    moved_path: Option<Text<'a>>,
}

impl<'a> ListingDocument<'a> {
    fn of(listing: &'a ListingReport) -> Self {
        let mut document = Self {
            untracked_files: listing.question.map(|(mode, _)| mode.name()),
            ignored_files: listing.question.map(|(_, mode)| mode.name()),
            written_at: listing.written_at.into(),
            untracked: listing.untracked,
            ignored: listing.ignored,
            witnesses: listing.witnesses,
            standing: "holds",
            moved_at: None,
            moved_path: None,
        };
        document.standing = match &listing.validity {
            ListingValidity::Holds => "holds",
            ListingValidity::FileSystem => "file_system",
            ListingValidity::Clock => "clock",
            ListingValidity::Directory(time) => {
                document.moved_at = time.map(TimeDocument::from);
                "directory"
            }
            ListingValidity::IgnoreFile => "ignore_file",
            ListingValidity::Below(path) => {
                document.moved_path = Some(Text(BStr::new(path)));
                "below"
            }
            ListingValidity::Rules => "rules",
        };
        document
    }
}
