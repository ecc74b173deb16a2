//! `vigil why --format=json` in a Mercurial working copy (docs/json-hg-why.md).

use bstr::BStr;
use serde::Serialize;
use vigil_daemon::protocol::KnownBy;
use vigil_engine::hg_session::why::{Compared, HgPathKind, HgRecorded, HgWhy, LeftOut, Seen};
use vigil_hg::stored::Flag;
use vigil_hg::verdict::Reason;
use vigil_linux::stat::Stat;
use vigil_model::timestamp::Timestamp;
use vigil_stamp::paths::bytes_of;

use super::super::known::KnownDocument;
use super::sentences::name;
use crate::output::json::{Text, serialized};
use crate::time::TimeDocument;

/// Raised when a reader of the previous schema could misunderstand the new one.
const SCHEMA: u32 = 1;

/// Writes the object and a line feed. `known` says, in the order of the paths, how the daemon knows about them. It may be empty.
pub(super) fn write(all: &[HgWhy], known: &[KnownBy]) -> Vec<u8> {
    let paths = all.iter().enumerate();
    let paths = paths.map(|(at, why)| PathDocument::of(why, known.get(at)));
    let document = Document {
        schema: SCHEMA,
        system: "mercurial",
        paths: paths.collect(),
    };
    serialized(&document, b'\n')
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    system: &'static str,
    paths: Vec<PathDocument<'a>>,
}

#[derive(Serialize)]
struct PathDocument<'a> {
    path: Text<'a>,
    status: Option<&'static str>,
    found: FoundDocument<'a>,
    daemon: Option<KnownDocument<'a>>,
}

impl<'a> PathDocument<'a> {
    fn of(why: &'a HgWhy, known: Option<&'a KnownBy>) -> Self {
        let status = match &why.found {
            HgPathKind::Recorded(recorded) => Some(name(recorded.verdict())),
            HgPathKind::Unknown => Some("unknown"),
            HgPathKind::Ignored { .. } => Some("ignored"),
            _ => None,
        };
        Self {
            path: Text::of(&why.path),
            status,
            found: FoundDocument::of(&why.found),
            daemon: known.map(KnownDocument::of),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum FoundDocument<'a> {
    Recorded {
        reason: &'static str,
        recorded: EntryDocument,
        observed: Option<StatDocument>,
        obstacle: Option<ObstacleDocument<'a>>,
        compared: Option<&'static str>,
        copy_source: Option<Text<'a>>,
    },
    Directory {
        recorded: usize,
        modified: usize,
        added: usize,
        removed: usize,
        deleted: usize,
        unknown: usize,
        clean: usize,
    },
    Unknown,
    Ignored {
        excluded: Text<'a>,
        rule: Option<LineDocument<'a>>,
    },
    Beyond {
        text: Text<'a>,
    },
    OtherDirectory,
    Special,
    Unreadable {
        text: &'a str,
    },
    Absent,
    LeftOut {
        by: &'static str,
    },
}

#[derive(Serialize)]
struct LineDocument<'a> {
    source: Text<'a>,
    line: usize,
    pattern: Text<'a>,
}

#[derive(Serialize)]
struct EntryDocument {
    flags: u16,
    size: Option<u32>,
    mtime: Option<TimeDocument>,
}

#[derive(Serialize)]
struct StatDocument {
    mode: String,
    size: u64,
    mtime: TimeDocument,
}

impl StatDocument {
    fn of(seen: &Stat) -> Self {
        let (s, ns) = (seen.mtime_s, seen.mtime_ns);
        Self {
            mode: format!("{:o}", seen.mode),
            size: seen.size,
            mtime: Timestamp { s, ns }.into(),
        }
    }
}

/// What is at a path, if it is not a file.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ObstacleDocument<'a> {
    Directory,
    Special,
    Beyond { text: Text<'a> },
    Unreadable { text: &'a str },
}

impl<'a> FoundDocument<'a> {
    fn of(found: &'a HgPathKind) -> Self {
        match found {
            HgPathKind::Recorded(recorded) => Self::of_recorded(recorded),
            HgPathKind::Directory(directory) => {
                let lists = &directory.status.lists;
                Self::Directory {
                    recorded: directory.recorded,
                    modified: lists.modified.len(),
                    added: lists.added.len(),
                    removed: lists.removed.len(),
                    deleted: lists.deleted.len(),
                    unknown: lists.unknown.len(),
                    clean: lists.clean.len(),
                }
            }
            HgPathKind::Unknown => Self::Unknown,
            HgPathKind::Ignored { path, line } => Self::Ignored {
                excluded: Text::of(path),
                rule: line.as_ref().map(|line| LineDocument {
                    source: Text(BStr::new(bytes_of(&line.file))),
                    line: line.line,
                    pattern: Text::of(&line.text),
                }),
            },
            HgPathKind::Beyond(text) => Self::Beyond {
                text: Text::of(text),
            },
            HgPathKind::OtherDirectory => Self::OtherDirectory,
            HgPathKind::Special => Self::Special,
            HgPathKind::Unreadable(text) => Self::Unreadable { text },
            HgPathKind::Absent => Self::Absent,
            HgPathKind::LeftOut(left_out) => Self::LeftOut {
                by: match left_out {
                    LeftOut::Narrow => "narrow",
                    LeftOut::Sparse => "sparse",
                },
            },
        }
    }

    fn of_recorded(recorded: &'a HgRecorded) -> Self {
        use vigil_hg::dirstate::Flags;
        let entry = &recorded.entry;
        let (s, ns) = (entry.mtime_s.into(), entry.mtime_ns);
        let has = |flag| entry.flags.has(flag);
        Self::Recorded {
            reason: reason(recorded.reason),
            recorded: EntryDocument {
                flags: entry.flags.0,
                size: has(Flags::HAS_MODE_AND_SIZE).then_some(entry.size),
                mtime: has(Flags::HAS_MTIME).then(|| Timestamp { s, ns }.into()),
            },
            observed: match &recorded.seen {
                Seen::File(seen) => Some(StatDocument::of(seen)),
                _ => None,
            },
            obstacle: match &recorded.seen {
                Seen::File(_) | Seen::Nothing => None,
                Seen::Directory => Some(ObstacleDocument::Directory),
                Seen::Special => Some(ObstacleDocument::Special),
                Seen::Beyond(text) => Some(ObstacleDocument::Beyond {
                    text: Text::of(text),
                }),
                Seen::Unreadable(text) => Some(ObstacleDocument::Unreadable { text }),
            },
            compared: recorded.compared.map(compared),
            copy_source: recorded.copy_source.as_ref().map(Text::of),
        }
    }
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Gone => "gone",
        Reason::NoLongerTracked => "no_longer_tracked",
        Reason::Merged => "merged",
        Reason::New => "new",
        Reason::Copied => "copied",
        Reason::NothingRecorded => "nothing_recorded",
        Reason::Size => "size",
        Reason::ExecutableBit => "executable_bit",
        Reason::SizeOfLink => "size_of_link",
        Reason::NoMtime => "no_mtime",
        Reason::Young => "young",
        Reason::Mtime => "mtime",
        Reason::OnlySecondsKnown => "second_alone",
        Reason::Same => "same",
    }
}

fn compared(compared: Compared) -> &'static str {
    match compared {
        Compared::Same => "same",
        Compared::NotInParent => "not_in_parent",
        Compared::Contents => "contents",
        Compared::Flag { found, .. } => match found {
            Flag::Plain => "plain_now",
            Flag::Executable => "executable_now",
            Flag::Link => "link_now",
        },
    }
}
