//! `vigil why --format=json` (docs/json-why.md).

use bstr::BString;
use serde::Serialize;
use vigil_convert::converter::{self, Step, Treatment};
use vigil_daemon::protocol::KnownBy;
use vigil_engine::session::why::{
    Beyond, Contents, Facts, IgnoreRule, Pair, PathKind, Reason, Tracked, Why,
};
use vigil_model::timestamp::Timestamp;
use vigil_model::verdict::{ChangeSign, Verdict};
use vigil_rules::attributes::Value;

use super::known::KnownDocument;
use crate::output::json::{ChangeDocument, Text, kind_name, serialized};
use crate::time::TimeDocument;

/// Raised when a reader of the previous schema could misunderstand the new one.
const SCHEMA: u32 = 1;

/// Writes the object and a line feed. `known` says, in the order of the paths, how the daemon knows about them. It may be empty.
pub(super) fn write(all: &[Why], known: &[KnownBy]) -> Vec<u8> {
    let paths = all.iter().enumerate();
    let paths = paths.map(|(at, why)| PathDocument::of(why, known.get(at)));
    let document = Document {
        schema: SCHEMA,
        paths: paths.collect(),
    };
    serialized(&document, b'\n')
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    paths: Vec<PathDocument<'a>>,
}

#[derive(Serialize)]
struct PathDocument<'a> {
    path: Text<'a>,
    change: Option<ChangeDocument<'a>>,
    pairs: Vec<PairDocument<'a>>,
    found: FoundDocument<'a>,
    daemon: Option<KnownDocument<'a>>,
}

#[derive(Serialize)]
struct PairDocument<'a> {
    between: &'static str,
    kind: &'static str,
    source: Text<'a>,
    target: Text<'a>,
    score_percent: u8,
}

impl<'a> PairDocument<'a> {
    fn of(pair: &'a Pair) -> Self {
        Self {
            between: match pair.is_staged {
                true => "head_and_index",
                false => "index_and_worktree",
            },
            kind: kind_name(pair.kind),
            source: Text::of(&pair.source.path),
            target: Text::of(&pair.target),
            score_percent: pair.source.score_percent,
        }
    }
}

impl<'a> PathDocument<'a> {
    fn of(why: &'a Why, known: Option<&'a KnownBy>) -> Self {
        let change = why.change.as_ref();
        Self {
            path: Text::of(&why.path),
            change: change.map(|change| ChangeDocument::of(&why.path, change)),
            pairs: why.pairs.iter().map(PairDocument::of).collect(),
            found: FoundDocument::of(&why.found),
            daemon: known.map(KnownDocument::of),
        }
    }
}

#[derive(Serialize)]
struct RuleDocument<'a> {
    source: Text<'a>,
    line: usize,
    pattern: Text<'a>,
    is_negated: bool,
}

impl<'a> RuleDocument<'a> {
    fn of(rule: &'a IgnoreRule) -> Self {
        Self {
            source: Text::of(&rule.source),
            line: rule.line,
            pattern: Text::of(&rule.pattern),
            is_negated: rule.is_negated,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum FoundDocument<'a> {
    Tracked {
        mode: String,
        id: String,
        index_written_at: TimeDocument,
        reason: ReasonDocument<'a>,
    },
    Conflict,
    Directory {
        entries: u32,
        staged: usize,
        unstaged: usize,
        unmerged: usize,
        untracked: usize,
        excluded: Option<Text<'a>>,
        rule: Option<RuleDocument<'a>>,
        recorded_listing: Option<TimeDocument>,
    },
    Untracked {
        rule: Option<RuleDocument<'a>>,
        listed_as: Option<Text<'a>>,
        recorded_listing: Option<TimeDocument>,
        recorded_directory: Option<Text<'a>>,
    },
    Ignored {
        excluded: Text<'a>,
        rule: RuleDocument<'a>,
    },
    Beyond {
        what: &'static str,
        above: Option<Text<'a>>,
    },
    Absent,
}

impl<'a> FoundDocument<'a> {
    fn of(found: &'a PathKind) -> Self {
        match found {
            PathKind::Tracked(tracked) => Self::of_tracked(tracked),
            PathKind::Conflict => Self::Conflict,
            PathKind::Directory(directory) => {
                let (excluded, rule) = directory.excluded.as_ref().map(|(a, b)| (a, b)).unzip();
                Self::Directory {
                    entries: directory.entries,
                    staged: directory.staged,
                    unstaged: directory.unstaged,
                    unmerged: directory.unmerged,
                    untracked: directory.untracked,
                    excluded: excluded.map(Text::of),
                    rule: rule.map(RuleDocument::of),
                    recorded_listing: directory.recorded_listing.map(TimeDocument::from),
                }
            }
            PathKind::Untracked(untracked) => {
                let listing = untracked.recorded_listing.as_ref();
                Self::Untracked {
                    rule: untracked.rule.as_ref().map(RuleDocument::of),
                    listed_as: untracked.listed_as.as_ref().map(Text::of),
                    recorded_listing: listing.map(|(_, time)| (*time).into()),
                    recorded_directory: listing.map(|(path, _)| Text::of(path)),
                }
            }
            PathKind::Ignored { excluded, rule } => Self::Ignored {
                excluded: Text::of(excluded),
                rule: RuleDocument::of(rule),
            },
            PathKind::Beyond(beyond) => {
                let (what, above): (_, Option<&BString>) = match beyond {
                    Beyond::GitFolder => ("git_folder", None),
                    Beyond::SparseDirectory(above) => ("sparse_directory", Some(above)),
                    Beyond::Submodule(above) => ("submodule", Some(above)),
                    Beyond::Repository(above) => ("repository", Some(above)),
                    Beyond::Link(above) => ("link", Some(above)),
                    Beyond::EmptyDirectory => ("empty_directory", None),
                    Beyond::Special => ("special", None),
                    Beyond::Unknown(_) => ("unknown", None),
                    Beyond::Unlisted => ("unlisted", None),
                };
                Self::Beyond {
                    what,
                    above: above.map(Text::of),
                }
            }
            PathKind::Absent => Self::Absent,
        }
    }

    fn of_tracked(tracked: &'a Tracked) -> Self {
        let reason = match &tracked.reason {
            Reason::AssumeUnchanged => ReasonDocument::AssumeUnchanged,
            Reason::SkipWorktree { is_present } => ReasonDocument::SkipWorktree {
                is_present: *is_present,
            },
            Reason::Missing => ReasonDocument::Missing,
            Reason::Replaced => ReasonDocument::Replaced,
            Reason::BehindLink(link) => ReasonDocument::BehindLink {
                link: Text::of(link),
            },
            Reason::Unknown(text) => ReasonDocument::Unknown { text },
            Reason::IntentToAdd => ReasonDocument::IntentToAdd,
            Reason::OtherType => ReasonDocument::OtherType,
            Reason::Facts(facts) => ReasonDocument::of_facts(tracked, facts),
            Reason::Submodule { head, ignored } => ReasonDocument::Submodule {
                head: head.map(|id| id.to_string()),
                ignored: ignored.name(),
            },
        };
        Self::Tracked {
            mode: tracked.entry.mode.to_string(),
            id: tracked.entry.id.to_string(),
            index_written_at: tracked.index_written_at.into(),
            reason,
        }
    }
}

#[derive(Serialize)]
struct FactsDocument {
    mode: u32,
    size: u64,
    mtime: TimeDocument,
    ctime: TimeDocument,
    uid: u32,
    gid: u32,
    ino: u64,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ReasonDocument<'a> {
    AssumeUnchanged,
    SkipWorktree {
        is_present: bool,
    },
    Missing,
    Replaced,
    BehindLink {
        link: Text<'a>,
    },
    Unknown {
        text: &'a str,
    },
    IntentToAdd,
    OtherType,
    Facts {
        verdict: &'static str,
        signs: Vec<&'static str>,
        recorded: FactsDocument,
        observed: FactsDocument,
        contents: Option<ContentsDocument<'a>>,
    },
    Submodule {
        head: Option<String>,
        ignored: &'static str,
    },
}

impl<'a> ReasonDocument<'a> {
    fn of_facts(tracked: &'a Tracked, facts: &'a Facts) -> Self {
        let (then, now) = (&tracked.entry.stat, &facts.observed);
        let time = |s: i64, ns| Timestamp { s, ns }.into();
        Self::Facts {
            verdict: match facts.verdict {
                Verdict::Clean => "clean",
                Verdict::Unsure => "unsure",
                Verdict::Changed => "changed",
            },
            signs: facts.signs.iter().map(|sign| sign_name(*sign)).collect(),
            recorded: FactsDocument {
                mode: tracked.entry.mode.0,
                size: then.size.into(),
                mtime: time(then.mtime_s.into(), then.mtime_ns),
                ctime: time(then.ctime_s.into(), then.ctime_ns),
                uid: then.uid,
                gid: then.gid,
                ino: then.ino.into(),
            },
            observed: FactsDocument {
                mode: now.mode,
                size: now.size,
                mtime: time(now.mtime_s, now.mtime_ns),
                ctime: time(now.ctime_s, now.ctime_ns),
                uid: now.uid,
                gid: now.gid,
                ino: now.ino,
            },
            contents: facts.contents.as_ref().map(ContentsDocument::of),
        }
    }
}

fn sign_name(sign: ChangeSign) -> &'static str {
    match sign {
        ChangeSign::Type => "type",
        ChangeSign::ExecutableBit => "executable_bit",
        ChangeSign::Size => "size",
        ChangeSign::SizeUnknown => "size_unknown",
        ChangeSign::Mtime => "mtime",
        ChangeSign::Ctime => "ctime",
        ChangeSign::Owner => "owner",
        ChangeSign::Group => "group",
        ChangeSign::Inode => "inode",
        ChangeSign::Racy => "racy",
    }
}

#[derive(Serialize)]
struct ContentsDocument<'a> {
    is_unchanged: bool,
    is_recorded: bool,
    steps: Vec<StepDocument<'a>>,
}

impl<'a> ContentsDocument<'a> {
    fn of(contents: &'a Contents) -> Self {
        Self {
            is_unchanged: contents.is_unchanged,
            is_recorded: contents.is_recorded,
            steps: contents.steps.iter().map(StepDocument::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct StepDocument<'a> {
    treatment: &'static str,
    name: Option<Text<'a>>,
    attribute: Option<&'static str>,
    value: Option<Text<'a>>,
    file: Option<Text<'a>>,
    line: Option<usize>,
}

impl<'a> StepDocument<'a> {
    fn of(step: &'a Step) -> Self {
        let (treatment, name) = match &step.treatment {
            Treatment::Filter(name) => ("filter", Some(name)),
            Treatment::Encoding(name) => ("encoding", Some(name)),
            Treatment::Text => ("text", None),
            Treatment::AutoText => ("auto_text", None),
            Treatment::Ident => ("ident", None),
        };
        let (attribute, value, place) = match &step.reason {
            converter::Reason::AutoCrlf => (None, None, None),
            converter::Reason::Attribute { name, value, place } => {
                let value = match value {
                    Value::Text(text) => Some(text),
                    _ => None,
                };
                (Some(*name), value, place.as_ref())
            }
        };
        Self {
            treatment,
            name: name.map(Text::of),
            attribute,
            value: value.map(Text::of),
            file: place.map(|place| Text::of(&place.file)),
            line: place.map(|place| place.line),
        }
    }
}
