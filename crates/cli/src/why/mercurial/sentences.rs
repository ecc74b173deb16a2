//! The explanation in sentences.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use vigil_daemon::protocol::KnownBy;
use vigil_engine::hg_session::why::{
    Compared, HgDirectory, HgPathKind, HgRecorded, HgWhy, LeftOut, Seen,
};
use vigil_engine::hg_status::kinds::FileKind;
use vigil_hg::patterns::{IgnoreLine, shown_from};
use vigil_hg::stored::Flag;
use vigil_hg::verdict::{Reason, Verdict};
use vigil_model::quote::{QuoteRule, append_quoted};
use vigil_model::timestamp::Timestamp;
use vigil_stamp::mtime;
use vigil_stamp::paths::bytes_of;

use super::super::known;
use crate::reply::{bytes, escaped_line};
use crate::time::utc;

/// Writes one or two lines for each path, relative to the working directory `cwd`. `known` says, in the order of the paths, how
/// the daemon knows about them. It may be empty.
pub(super) fn write(all: &[HgWhy], known: &[KnownBy], root: &BStr, cwd: &Path) -> Vec<u8> {
    let below = bytes_of(cwd).strip_prefix(root.as_bytes());
    let cwd = below.unwrap_or_default();
    let writer = Writer {
        cwd: cwd.strip_prefix(b"/").unwrap_or(cwd).into(),
        root: root.to_owned(),
    };
    let mut out = Vec::new();
    let now = vigil_stamp::now();
    for (at, why) in all.iter().enumerate() {
        let path = writer.path(&why.path);
        let shown = |path: &BString| writer.path(path);
        let known = known.get(at);
        let known = known.map(|known| known::sentence(&why.path, known, now, shown));
        for sentence in std::iter::once(writer.sentence(why)).chain(known) {
            out.extend(escaped_line(&bytes![path, ": ", sentence]));
        }
    }
    out
}

struct Writer {
    /// The working directory, relative to the top.
    cwd: BString,
    root: BString,
}

impl Writer {
    fn path(&self, path: &BString) -> Vec<u8> {
        match (path.as_slice(), self.cwd.as_slice()) {
            (b"", b"") => b"./".to_vec(),
            _ => quoted(shown_from(self.cwd.as_ref(), path.as_ref()).as_ref()),
        }
    }

    fn sentence(&self, why: &HgWhy) -> Vec<u8> {
        match &why.found {
            HgPathKind::Recorded(recorded) => self.recorded(recorded),
            HgPathKind::Directory(directory) => self::directory(directory),
            HgPathKind::Unknown => {
                b"unknown: it is not recorded, and no pattern ignores it".to_vec()
            }
            HgPathKind::Ignored { path, line } => self.ignored(&why.path, path, line.as_ref()),
            HgPathKind::Beyond(reason) => {
                bytes!["no status looks there: ", quoted(reason.as_ref())]
            }
            HgPathKind::OtherDirectory => {
                b"not shown: a directory without recorded files; what is in it is shown file by file"
                    .to_vec()
            }
            HgPathKind::Special => b"not shown: no file, link or directory".to_vec(),
            HgPathKind::Unreadable(reason) => bytes!["it cannot be looked at (", reason, ")"],
            HgPathKind::Absent => {
                b"not there: neither in the dirstate nor in the working copy".to_vec()
            }
            HgPathKind::LeftOut(LeftOut::Narrow) => {
                b"not shown: this clone is narrow, and does without it (hg tracked)".to_vec()
            }
            HgPathKind::LeftOut(LeftOut::Sparse) => {
                b"not shown: the working copy is sparse, and does without it (hg debugsparse)"
                    .to_vec()
            }
        }
    }

    fn recorded(&self, recorded: &HgRecorded) -> Vec<u8> {
        let reason = match recorded.reason {
            Reason::Gone => gone(&recorded.seen),
            Reason::NoLongerTracked => match recorded.seen {
                Seen::File(_) => bytes!["it is no longer tracked, though a file is there"],
                _ => bytes!["it is no longer tracked"],
            },
            Reason::New => bytes!["it is tracked, and in no parent"],
            Reason::Merged => bytes!["a merge took something of it from the second parent"],
            Reason::Copied => bytes!["it is recorded as a copy, whatever its contents are"],
            Reason::Same => {
                let at = recorded_mtime(recorded);
                bytes![
                    "size, mode and mtime are those in the dirstate (",
                    utc(at),
                    ")"
                ]
            }
            Reason::Size | Reason::ExecutableBit => bytes![facts(recorded)],
            _ => {
                let compared = compared(recorded.compared);
                bytes![
                    "its stat data do not decide (",
                    facts(recorded),
                    "), ",
                    compared
                ]
            }
        };
        let copy = recorded.copy_source.as_ref();
        let copy = copy.map(|source| bytes!["; recorded as a copy of ", self.path(source)]);
        let verdict = name(recorded.verdict());
        bytes![verdict, ": ", reason, copy.unwrap_or_default()]
    }

    fn ignored(&self, path: &BString, ignored: &BString, line: Option<&IgnoreLine>) -> Vec<u8> {
        let by = match line {
            Some(line) => {
                let file = bytes_of(&line.file);
                let root = bytes![self.root, "/"];
                let file = file.strip_prefix(root.as_slice()).unwrap_or(file);
                let number = format!(":{}: ", line.line);
                bytes![quoted(file.as_ref()), number, quoted(line.text.as_ref())]
            }
            None => bytes!["a pattern"],
        };
        let which = match ignored == path {
            true => Vec::new(),
            false => bytes![", which matches ", self.path(ignored)],
        };
        bytes!["ignored by ", by, which]
    }
}

/// The word that status uses.
pub(super) fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Clean | Verdict::Unsure => "clean",
        Verdict::Modified => "modified",
        Verdict::Added => "added",
        Verdict::Removed => "removed",
        Verdict::Deleted => "deleted",
    }
}

fn gone(seen: &Seen) -> Vec<u8> {
    match seen {
        Seen::File(_) | Seen::Nothing => bytes!["nothing is there"],
        Seen::Directory => bytes!["a directory is there in its place"],
        Seen::Special => bytes!["what is there is no file and no link"],
        Seen::Beyond(reason) => bytes!["no status looks there: ", quoted(reason.as_ref())],
        Seen::Unreadable(reason) => bytes!["it cannot be looked at (", reason, ")"],
    }
}

/// The fact that decides, or why there is none.
fn facts(recorded: &HgRecorded) -> String {
    let Seen::File(seen) = &recorded.seen else {
        return String::new();
    };
    let entry = &recorded.entry;
    let then = recorded_mtime(recorded);
    match recorded.reason {
        Reason::Size | Reason::SizeOfLink => {
            format!(
                "size is {}, the dirstate recorded {}",
                seen.size, entry.size
            )
        }
        Reason::ExecutableBit => match seen.mode & 0o100 {
            0 => "it may not be executed, and might when it was recorded".to_owned(),
            _ => "it may be executed, and might not when it was recorded".to_owned(),
        },
        Reason::NothingRecorded => "the dirstate recorded neither size nor mode".to_owned(),
        Reason::NoMtime => {
            "the dirstate recorded no mtime, since it was too young to prove anything".to_owned()
        }
        Reason::Young => format!(
            "its mtime, {}, is so young that it may be written again without a trace",
            utc(mtime(seen))
        ),
        Reason::OnlySecondsKnown => format!(
            "its mtime is known by the second alone, {}, in which it may have been written twice",
            utc(then)
        ),
        // The seconds may be equal, so write the nanoseconds, too.
        _ => format!("mtime moved from {} to {}", exact(then), exact(mtime(seen))),
    }
}

fn compared(compared: Option<Compared>) -> String {
    match compared {
        None => "and its contents cannot be read".to_owned(),
        Some(Compared::Same) => "contents compared with the first parent's: equal".to_owned(),
        Some(Compared::Contents) => {
            "contents compared with the first parent's: different".to_owned()
        }
        Some(Compared::NotInParent) => "the first parent has no such file".to_owned(),
        Some(Compared::Flag { committed, found }) => format!(
            "it is {} in the first parent, and {} now",
            kind(committed),
            kind(found)
        ),
    }
}

fn kind(flag: Flag) -> &'static str {
    match flag {
        Flag::Plain => "a plain file",
        Flag::Executable => "an executable file",
        Flag::Link => "a symbolic link",
    }
}

fn directory(found: &HgDirectory) -> Vec<u8> {
    let counts = found.status.lists.iter();
    let counts = counts.filter(|(kind, _)| *kind != FileKind::Ignored);
    let counts = counts.map(|(kind, files)| format!("{}: {}", kind.name(), files.len()));
    let counts: Vec<String> = counts.collect();
    let recorded = format!("directory, files that are recorded: {}, ", found.recorded);
    bytes![recorded, counts.join(", ")]
}

fn recorded_mtime(recorded: &HgRecorded) -> Timestamp {
    Timestamp {
        s: recorded.entry.mtime_s.into(),
        ns: recorded.entry.mtime_ns,
    }
}

/// Writes a time with its nanoseconds, if known.
fn exact(time: Timestamp) -> String {
    match time.ns {
        0 => utc(time),
        ns => format!("{} and {ns} ns", utc(time)),
    }
}

fn quoted(text: &BStr) -> Vec<u8> {
    let mut out = Vec::new();
    let rule = QuoteRule {
        high_bytes: false,
        spaces: false,
    };
    append_quoted(&mut out, text, rule);
    out
}
