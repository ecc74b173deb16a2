//! The output of `vigil status` in Vigil's own formats in a Mercurial working copy: `--format=json`
//! (docs/json-hg-status.md) and `--format=line` (docs/watch.md).

use bstr::{BStr, BString};
use serde::{Serialize, Serializer};
use vigil_engine::hg_status::kinds::{ByKind, FileKind, Lists};
use vigil_hg::checkout::Checkout;
use vigil_hg::dirstate::Dirstate;
use vigil_hg::node::Node;
use vigil_model::quote::{QuoteRule, append_quoted};

use super::own_commands::OwnFormat;
use crate::output::json::{Text, serialized};

/// The version of the schema. It is raised when a reader of the former schema could misunderstand the new one.
const SCHEMA: u32 = 1;

/// The data that the formats print.
pub(super) struct Report<'t> {
    pub(super) checkout: &'t Checkout,
    pub(super) lists: &'t Lists,
    /// Which kinds are printed.
    pub(super) shown: &'t ByKind<bool>,
    pub(super) dirstate: &'t Dirstate,
    pub(super) ends_with_nul: bool,
}

impl Report<'_> {
    /// Returns the output in `format`.
    pub(super) fn write(&self, format: OwnFormat) -> Vec<u8> {
        let terminator = match self.ends_with_nul {
            true => 0,
            false => b'\n',
        };
        let mut out = match format {
            OwnFormat::Json => return serialized(&self.document(), terminator),
            OwnFormat::Line => self.line(),
            OwnFormat::Prompt => self.record(),
        };
        out.push(terminator);
        out
    }

    /// Iterates over the kinds that are printed, each with its files.
    fn kinds(&self) -> impl Iterator<Item = (FileKind, &[BString])> {
        let lists = self.lists.iter();
        let shown = lists.filter(|(kind, _)| *self.shown.get(*kind));
        shown.map(|(kind, files)| (kind, files.as_slice()))
    }

    fn document(&self) -> Document<'_> {
        let checkout = self.checkout;
        let [p1, p2] = checkout.parents.map(hex);
        let mut counts = ByKind::default();
        let mut changes = Vec::new();
        for (kind, files) in self.kinds() {
            *counts.get_mut(kind) = Some(files.len());
            changes.extend(files.iter().map(|path| {
                let at = self.dirstate.position(path.as_ref());
                let is_tracked = |at: &usize| {
                    let entry = self.dirstate.get(*at);
                    entry.is_some_and(|(_, entry)| entry.is_tracked())
                };
                let source = at.filter(is_tracked);
                let source = source.and_then(|at| self.dirstate.copy_source(at));
                ChangeDocument {
                    status: kind.name(),
                    path: Text::of(path),
                    source: source.map(Text),
                }
            }));
        }
        Document {
            schema: SCHEMA,
            system: "mercurial",
            branch: Text::of(&checkout.branch),
            bookmark: checkout.bookmark.as_ref().map(Text::of),
            topic: checkout.topic.as_ref().map(Text::of),
            phase: checkout.phase.map(|phase| phase.name()),
            p1,
            p2,
            operation: checkout.operation.map(|operation| operation.name()),
            unresolved: checkout.unresolved,
            counts,
            changes,
        }
    }

    /// Returns names and numbers with separators between. Control characters in names are replaced.
    fn record(&self) -> Vec<u8> {
        let checkout = self.checkout;
        let [p1, _] = checkout.parents.map(hex);
        let plain = |name: Option<&BString>| -> Vec<u8> {
            let bytes = name.map(|name| name.iter()).into_iter().flatten();
            let bytes = bytes.map(|byte| match byte.is_ascii_control() {
                true => b'?',
                false => *byte,
            });
            bytes.collect()
        };
        let mut fields = vec![
            plain(Some(&checkout.branch)),
            plain(checkout.bookmark.as_ref()),
            plain(checkout.topic.as_ref()),
            checkout.phase.map_or("", |phase| phase.name()).into(),
            p1.unwrap_or_default().into(),
            checkout.operation.map_or("", |one| one.name()).into(),
            checkout.unresolved.to_string().into(),
        ];
        fields.extend(
            self.kinds()
                .map(|(_, files)| files.len().to_string().into()),
        );
        fields.join(&RECORD_SEPARATOR)
    }

    fn line(&self) -> Vec<u8> {
        let checkout = self.checkout;
        let mut out = Vec::new();
        append_word(&mut out, Some(checkout.branch.as_ref()));
        for (name, word) in [
            ("bookmark", checkout.bookmark.as_ref()),
            ("topic", checkout.topic.as_ref()),
        ] {
            out.extend_from_slice(format!(" {name} ").as_bytes());
            append_word(&mut out, word.map(BString::as_ref));
        }
        let phase = checkout.phase.map_or(PLACEHOLDER, |phase| phase.name());
        out.extend_from_slice(format!(" phase {phase}").as_bytes());
        for (kind, files) in self.kinds() {
            out.extend_from_slice(format!(" {} {}", kind.name(), files.len()).as_bytes());
        }
        let operation = checkout.operation.map_or(PLACEHOLDER, |one| one.name());
        let rest = format!(" unresolved {} action {operation}", checkout.unresolved);
        out.extend_from_slice(rest.as_bytes());
        out
    }
}

/// The separator between the fields of a prompt's record.
const RECORD_SEPARATOR: u8 = 0x1f;

/// The placeholder for what is unknown or missing.
const PLACEHOLDER: &str = "-";

/// Appends a name, quoted if it would be more than one word.
fn append_word(out: &mut Vec<u8>, word: Option<&BStr>) {
    let rule = QuoteRule {
        high_bytes: false,
        spaces: true,
    };
    match word {
        None => out.extend_from_slice(PLACEHOLDER.as_bytes()),
        Some(word) => append_quoted(out, word, rule),
    }
}

fn hex(node: Node) -> Option<String> {
    (!node.is_null()).then(|| node.hex())
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    system: &'static str,
    branch: Text<'a>,
    bookmark: Option<Text<'a>>,
    topic: Option<Text<'a>>,
    phase: Option<&'static str>,
    p1: Option<String>,
    p2: Option<String>,
    operation: Option<&'static str>,
    unresolved: usize,
    /// The number of files of each kind that was looked for.
    #[serde(serialize_with = "by_name")]
    counts: ByKind<Option<usize>>,
    changes: Vec<ChangeDocument<'a>>,
}

fn by_name<S: Serializer>(
    counts: &ByKind<Option<usize>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(kind, count)| (kind.name(), count)))
}

#[derive(Serialize)]
struct ChangeDocument<'a> {
    status: &'static str,
    path: Text<'a>,
    source: Option<Text<'a>>,
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use vigil_hg::checkout::{Operation, Phase};

    use super::*;

    use bstr::ByteSlice;

    const SPECIFICATION: &str = include_str!("../../../../docs/json-hg-status.md");

    fn checkout() -> Checkout {
        let node = Node::from_hex(b"a42c4f36ef8da7f897c78d8eefbf9a6d5129dbc5").unwrap();
        let other = Node::from_hex(b"ffcae53422e35ff408ac4fda8d687ae9a1d31b94").unwrap();
        Checkout {
            parents: [node, other],
            branch: "default".into(),
            bookmark: Some("a b".into()),
            topic: None,
            phase: Some(Phase::Draft),
            operation: Some(Operation::Merge),
            unresolved: 1,
        }
    }

    fn written(format: OwnFormat) -> Vec<u8> {
        let lists = Lists {
            modified: vec!["src/main.rs".into()],
            unknown: vec![BString::from(b"not utf-8 \xff".to_vec())],
            ..Lists::default()
        };
        Report {
            checkout: &checkout(),
            lists: &lists,
            shown: &ByKind {
                modified: true,
                added: true,
                removed: true,
                deleted: true,
                unknown: true,
                ..ByKind::default()
            },
            dirstate: &Dirstate::empty(),
            ends_with_nul: false,
        }
        .write(format)
    }

    #[test]
    fn the_example_in_the_specification_is_what_is_written() {
        let (_, example) = SPECIFICATION.rsplit_once("```json\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let example: Value = serde_json::from_str(example).unwrap();
        let document: Value = serde_json::from_slice(&written(OwnFormat::Json)).unwrap();
        assert_eq!(document, example);
        for member in document.as_object().unwrap().keys() {
            assert!(
                SPECIFICATION.contains(&format!("| `{member}` |")),
                "{member}"
            );
        }
    }

    #[test]
    fn what_a_prompt_is_drawn_from_has_no_control_character_in_a_name() {
        let record = BString::from(written(OwnFormat::Prompt));
        let node = "a42c4f36ef8da7f897c78d8eefbf9a6d5129dbc5";
        let want = format!("default|a b||draft|{node}|merge|1|1|0|0|0|1\n");
        assert_eq!(record, want.replace('|', "\x1f"));
        let mut checkout = checkout();
        checkout.topic = Some("t\x1f\n\x1b\u{e9}".into());
        let report = Report {
            checkout: &checkout,
            lists: &Lists::default(),
            shown: &ByKind::default(),
            dirstate: &Dirstate::empty(),
            ends_with_nul: false,
        };
        let record = BString::from(report.write(OwnFormat::Prompt));
        assert!(record.contains_str("\x1ft???\u{e9}\x1f"), "{record}");
    }

    #[test]
    fn a_line_has_one_word_for_each_name() {
        let line = BString::from(written(OwnFormat::Line));
        let want = "default bookmark \"a b\" topic - phase draft modified 1 added 0 removed 0 deleted 0 unknown 1 unresolved 1 action merge\n";
        assert_eq!(line, want);
    }
}
