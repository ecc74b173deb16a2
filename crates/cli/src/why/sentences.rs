//! The explanation in sentences.

use bstr::{BStr, BString, ByteSlice};
use vigil_convert::converter;
use vigil_daemon::protocol::KnownBy;
use vigil_engine::session::Session;
use vigil_engine::session::why::{
    Beyond, Contents, Directory, Facts, IgnoreRule, PathKind, Reason, Tracked, Untracked, Why,
};
use vigil_engine::status::{SubmoduleState, TrackedChange, UnmergedChange};
use vigil_model::ObjectId;
use vigil_model::change::ChangeKind;
use vigil_model::facts::{ObservedStat, RecordedStat};
use vigil_model::mode::FileMode;
use vigil_model::request::IgnoreSubmodules;
use vigil_model::timestamp::Timestamp;
use vigil_model::verdict::{ChangeSign, Verdict, worktree_mode};
use vigil_rules::attributes::Value;

use super::known;
use crate::inside;
use crate::output::Presentation;
use crate::reply::{bytes, escaped_line};
use crate::time::utc;

/// Writes one to three lines for each path. `known` says, in the same order, how the daemon knows about them. It may be empty.
pub(super) fn write(all: &[Why], known: &[KnownBy], session: &Session) -> Vec<u8> {
    let writer = Writer {
        session,
        presentation: inside::presentation(session),
    };
    let mut out = Vec::new();
    let now = vigil_stamp::now();
    for (at, why) in all.iter().enumerate() {
        let path = writer.path(&why.path);
        let known = known.get(at);
        let shown = |path: &BString| writer.path(path);
        let known = known.map(|known| known::sentence(&why.path, known, now, shown));
        for sentence in writer.sentences(why).into_iter().chain(known) {
            out.extend(escaped_line(&bytes![path, ": ", sentence]));
        }
    }
    out
}

struct Writer<'a> {
    session: &'a Session,
    presentation: Presentation,
}

impl Writer<'_> {
    fn path(&self, path: &BString) -> Vec<u8> {
        let mut out = Vec::new();
        self.presentation
            .append_path(&mut out, path.as_ref(), false);
        out
    }

    fn id(&self, id: &ObjectId) -> BString {
        self.session.abbreviated(id)
    }

    fn sentences(&self, why: &Why) -> Vec<Vec<u8>> {
        let staged = why.tracked_change();
        let staged = staged.and_then(|change| self.staged(why, change));
        let found = match &why.found {
            PathKind::Tracked(tracked) => self.tracked(why, tracked),
            PathKind::Conflict => why
                .unmerged()
                .map(|change| self.conflict(change))
                .unwrap_or_default(),
            PathKind::Directory(directory) => self.directory(directory),
            PathKind::Untracked(untracked) => self.untracked(&why.path, untracked),
            PathKind::Ignored { excluded, rule } => self.ignored(&why.path, excluded, rule),
            PathKind::Beyond(beyond) => self.beyond(beyond),
            PathKind::Absent => b"not there: neither in the index nor in the working tree".to_vec(),
        };
        staged.into_iter().chain([found]).collect()
    }

    /// Compares HEAD with the index.
    fn staged(&self, why: &Why, change: &TrackedChange) -> Option<Vec<u8>> {
        let kind = change.staged?;
        let (head, index) = (self.id(&change.head_id), self.id(&change.index_id));
        let what = match kind {
            ChangeKind::Added => bytes!["blob ", index, ", mode ", octal(change.index_mode)],
            ChangeKind::Deleted => bytes!["HEAD has blob ", head],
            _ => {
                let modes = change.head_mode != change.index_mode;
                let modes = modes.then(|| {
                    let (head, index) = (octal(change.head_mode), octal(change.index_mode));
                    bytes!["mode ", head, " -> ", index]
                });
                let blobs = change.head_id != change.index_id;
                let blobs = blobs.then(|| bytes!["blob ", head, " -> ", index]);
                let parts: Vec<_> = modes.into_iter().chain(blobs).collect();
                bstr::join(", ", parts)
            }
        };
        let verdict = self.verdict(why, kind, true);
        Some(bytes!["staged: ", verdict, " (", what, ")"])
    }

    /// The word that status uses for a path that differs by `kind` and may be one of a pair.
    fn verdict(&self, why: &Why, kind: ChangeKind, is_staged: bool) -> Vec<u8> {
        let pair = why.pairs.iter().find(|pair| pair.is_staged == is_staged);
        match pair {
            Some(pair) if pair.target == why.path => bytes![
                name(pair.kind),
                " from ",
                self.path(&pair.source.path),
                format!(", {} % alike", pair.source.score_percent)
            ],
            Some(pair) => bytes![name(pair.kind), " to ", self.path(&pair.target)],
            None => name(kind).into(),
        }
    }

    fn tracked(&self, why: &Why, tracked: &Tracked) -> Vec<u8> {
        let verdict = match why.unstaged() {
            None => b"unchanged".to_vec(),
            Some(kind) => self.verdict(why, kind, false),
        };
        let reason = match &tracked.reason {
            Reason::AssumeUnchanged => b"it is marked assume-unchanged".to_vec(),
            Reason::SkipWorktree { is_present: false } => {
                b"it is not expected in the working tree (skip-worktree)".to_vec()
            }
            Reason::SkipWorktree { is_present: true } => {
                b"it is not expected in the working tree (skip-worktree), and not looked at"
                    .to_vec()
            }
            Reason::Missing => b"nothing is there".to_vec(),
            Reason::Replaced => b"a directory is there in its place".to_vec(),
            Reason::BehindLink(link) => bytes![self.path(link), " is a symbolic link now"],
            Reason::Unknown(text) => bytes!["it cannot be looked at (", text, ")"],
            Reason::IntentToAdd => b"only the intent to add it is in the index".to_vec(),
            Reason::OtherType => bytes![
                "its type differs from mode ",
                octal(tracked.entry.mode),
                " in the index"
            ],
            Reason::Facts(facts) => self.facts(tracked, facts),
            Reason::Submodule { head, ignored } => {
                let state = why.tracked_change().and_then(|change| change.submodule);
                self.submodule(tracked, head.as_ref(), *ignored, state.unwrap_or_default())
            }
        };
        bytes![verdict, ": ", reason]
    }

    fn facts(&self, tracked: &Tracked, facts: &Facts) -> Vec<u8> {
        let at = utc(tracked.index_written_at);
        let proofs = facts.signs.iter().filter(|sign| {
            // Once a change is proven, only the proofs matter.
            sign.is_proof() == (facts.verdict == Verdict::Changed)
        });
        let told = proofs.map(|sign| self.sign(*sign, tracked, &facts.observed));
        let told = told.collect::<Vec<_>>().join("; ");
        match &facts.contents {
            Some(contents) => {
                let compared = self.contents(contents);
                bytes!["its stat data do not decide (", told, "), ", compared]
            }
            None if facts.verdict == Verdict::Changed => told.into(),
            None => bytes!["its stat data match the index of ", at],
        }
    }

    fn sign(&self, sign: ChangeSign, tracked: &Tracked, observed: &ObservedStat) -> String {
        let recorded: &RecordedStat = &tracked.entry.stat;
        let moved = |what: &str, from: u32, to: i64| {
            let at = |s| utc(Timestamp { s, ns: 0 });
            format!("{what} moved from {} to {}", at(from.into()), at(to))
        };
        let other =
            |what: &str, now: u64, then: u32| format!("{what} is {now}, the index recorded {then}");
        let rules = &self.session.settings().stat_rules;
        let mode = worktree_mode(tracked.entry.mode, observed.mode, rules);
        match sign {
            // To git, what it cannot track has the mode of a file.
            ChangeSign::Type if mode.same_type(tracked.entry.mode) => {
                "it is a pipe, socket or device".to_owned()
            }
            ChangeSign::Type | ChangeSign::ExecutableBit => {
                let recorded = tracked.entry.mode;
                format!("mode is {mode}, the index recorded {recorded}")
            }
            ChangeSign::Size => other("size", observed.size, recorded.size),
            ChangeSign::SizeUnknown => "the index recorded no size".to_owned(),
            ChangeSign::Mtime => moved("mtime", recorded.mtime_s, observed.mtime_s),
            ChangeSign::Ctime => moved("ctime", recorded.ctime_s, observed.ctime_s),
            ChangeSign::Owner => other("owner", observed.uid.into(), recorded.uid),
            ChangeSign::Group => other("group", observed.gid.into(), recorded.gid),
            ChangeSign::Inode => other("inode", observed.ino, recorded.ino),
            ChangeSign::Racy => format!(
                "racy: its mtime is not before that of the index, {}",
                utc(tracked.index_written_at)
            ),
        }
    }

    fn contents(&self, contents: &Contents) -> Vec<u8> {
        let result = match contents.is_unchanged {
            true => "contents compared: equal",
            false => "contents compared: different",
        };
        let mut out = bytes![result];
        for step in &contents.steps {
            out.extend(bytes![
                "; ",
                treatment(&step.treatment),
                " by ",
                reason(&step.reason)
            ]);
        }
        if contents.is_recorded {
            out.extend_from_slice(
                b"; the comparison is recorded in the state, the file is not read",
            );
        }
        out
    }

    fn submodule(
        &self,
        tracked: &Tracked,
        head: Option<&ObjectId>,
        ignored: IgnoreSubmodules,
        state: SubmoduleState,
    ) -> Vec<u8> {
        let recorded = self.id(&tracked.entry.id);
        let mut parts = vec![match head {
            None => bytes!["no commit is checked out in the submodule"],
            Some(head) if *head == tracked.entry.id => {
                bytes![
                    "commit ",
                    recorded,
                    " is checked out in the submodule, as recorded"
                ]
            }
            Some(head) => bytes![
                "commit ",
                self.id(head),
                " is checked out in the submodule, the index recorded ",
                recorded
            ],
        }];
        if state.modified {
            parts.push(bytes!["it has modified contents"]);
        }
        if state.untracked {
            parts.push(bytes!["it has untracked contents"]);
        }
        let left_out = match ignored {
            IgnoreSubmodules::None => None,
            IgnoreSubmodules::Untracked => Some("its untracked files are"),
            IgnoreSubmodules::Dirty => Some("all but its commit is"),
            IgnoreSubmodules::All => Some("all its changes are"),
        };
        parts.extend(left_out.map(|what| bytes![what, " left out by the configuration"]));
        bstr::join("; ", parts)
    }

    fn conflict(&self, change: &UnmergedChange) -> Vec<u8> {
        let names = ["base", "ours", "theirs"];
        let sides = names
            .iter()
            .zip(&change.stages)
            .map(|(name, side)| match side {
                None => bytes!["no ", name],
                Some(side) => bytes![name, " ", octal(side.mode), " ", self.id(&side.id)],
            });
        let sides = bstr::join(", ", sides.collect::<Vec<_>>());
        let there = match change.worktree_mode {
            FileMode::NONE => "nothing is in the working tree".to_owned(),
            mode => format!("mode {mode} is in the working tree"),
        };
        bytes!["in conflict (", change.letters(), "): ", sides, "; ", there]
    }

    fn directory(&self, found: &Directory) -> Vec<u8> {
        let Directory {
            entries,
            staged,
            unstaged,
            unmerged,
            untracked,
            ..
        } = found;
        let mut out = bytes![format!(
            "directory, entries of the index: {entries}, staged: {staged}, changed in the working tree: {unstaged}, \
             in conflict: {unmerged}, untracked: {untracked}"
        )];
        if let Some((excluded, rule)) = &found.excluded {
            let rule = rule_text(rule);
            let path = self.path(excluded);
            out.extend(bytes![
                "; what is untracked in it is ignored by ",
                rule,
                " (",
                path,
                ")"
            ]);
        }
        if let Some(time) = found.recorded_listing {
            out.extend(bytes![
                "; the state has its listing, still valid (mtime ",
                utc(time),
                "): it is not listed again"
            ]);
        }
        out
    }

    fn untracked(&self, path: &BString, found: &Untracked) -> Vec<u8> {
        let mut out = match &found.rule {
            None => bytes!["untracked: no rule matches"],
            Some(rule) => bytes!["untracked: ", rule_text(rule), " re-includes it"],
        };
        match &found.listed_as {
            None => out.extend_from_slice(
                b"; untracked files are not shown (status.showUntrackedFiles=no)",
            ),
            Some(listed) if listed.strip_suffix(b"/").unwrap_or(listed) == path.as_bytes() => {}
            Some(listed) if listed.starts_with(path) => {
                out.extend_from_slice(b"; what is in it is shown file by file");
            }
            Some(listed) => out.extend(bytes!["; it is shown as ", self.path(listed)]),
        }
        if let Some((dir, time)) = &found.recorded_listing {
            let mut dir = dir.clone();
            if !dir.is_empty() {
                dir.push(b'/');
            }
            out.extend(bytes![
                "; the state has the listing of ",
                self.path(&dir),
                ", still valid (mtime ",
                utc(*time),
                "): nothing is listed again"
            ]);
        }
        out
    }

    fn ignored(&self, path: &BString, excluded: &BString, rule: &IgnoreRule) -> Vec<u8> {
        let mut out = bytes!["ignored by ", rule_text(rule)];
        if excluded != path {
            out.extend(bytes![", which matches ", self.path(excluded)]);
        }
        out
    }

    fn beyond(&self, beyond: &Beyond) -> Vec<u8> {
        match beyond {
            Beyond::GitFolder => b"git's own: no status looks there".to_vec(),
            Beyond::SparseDirectory(dir) => bytes![
                "unchanged: ",
                self.path(dir),
                " is outside of the sparse checkout, and one entry of the index"
            ],
            Beyond::Submodule(dir) => bytes!["in the submodule ", self.path(dir), ": ask there"],
            Beyond::Repository(dir) => {
                bytes!["in another repository, ", self.path(dir), ": ask there"]
            }
            Beyond::Link(dir) => bytes![
                "behind the symbolic link ",
                self.path(dir),
                ": no status looks there"
            ],
            Beyond::EmptyDirectory => {
                b"not shown: a directory without files that could be added".to_vec()
            }
            Beyond::Special => b"not shown: no file, link or directory".to_vec(),
            Beyond::Unknown(text) => bytes!["it cannot be looked at (", text, ")"],
            Beyond::Unlisted => b"not shown, though no rule ignores it".to_vec(),
        }
    }
}

/// A rule with its file and line.
fn rule_text(rule: &IgnoreRule) -> Vec<u8> {
    bytes![rule.source, format!(":{}: ", rule.line), rule.pattern]
}

fn octal(mode: FileMode) -> String {
    mode.to_string()
}

fn treatment(treatment: &converter::Treatment) -> Vec<u8> {
    use converter::Treatment;
    match treatment {
        Treatment::Filter(name) => bytes!["filtered with '", name, "'"],
        Treatment::Encoding(name) => bytes!["converted from ", name],
        Treatment::Text => bytes!["line endings converted"],
        Treatment::AutoText => bytes!["line endings converted if it is text"],
        Treatment::Ident => bytes!["$Id$ collapsed"],
    }
}

fn reason(reason: &converter::Reason) -> Vec<u8> {
    match reason {
        converter::Reason::AutoCrlf => bytes!["core.autocrlf"],
        converter::Reason::Attribute { name, value, place } => {
            let mut out = match value {
                Value::Unspecified => bytes!["!", name],
                Value::Set => bytes![name],
                Value::Unset => bytes!["-", name],
                Value::Text(text) => bytes![name, "=", text],
            };
            if let Some(place) = place {
                let file: &BStr = place.file.as_ref();
                out.extend(bytes![" (", file, format!(":{})", place.line)]);
            }
            out
        }
    }
}

fn name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::TypeChanged => "type changed",
        ChangeKind::Renamed => "renamed",
        ChangeKind::Copied => "copied",
        ChangeKind::Unmerged => "in conflict",
    }
}
