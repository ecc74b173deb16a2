//! A parsed response of gitstatusd, which is all that a prompt shows, whoever computed it. Mercurial working copies, which
//! gitstatusd does not know, have a record of their own.

use bstr::{BStr, ByteSlice};

/// Separates the fields of a response.
pub(super) const FIELD_SEPARATOR: u8 = 0x1f;

/// The state of a working copy. Its bytes are those in the repository, except for ASCII control characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer<'r> {
    pub(super) commit: &'r [u8],
    pub(super) branch: &'r [u8],
    pub(super) remote_branch: &'r [u8],
    pub(super) action: &'r [u8],
    pub(super) tag: &'r [u8],
    pub(super) summary: &'r [u8],
    pub(super) staged: usize,
    pub(super) unstaged: usize,
    pub(super) conflicted: usize,
    pub(super) untracked: usize,
    pub(super) ahead: usize,
    pub(super) behind: usize,
    pub(super) push_ahead: usize,
    pub(super) push_behind: usize,
    pub(super) stashes: usize,
    /// The remaining fields are set for Mercurial working copies only.
    pub(super) is_mercurial: bool,
    pub(super) bookmark: &'r [u8],
    pub(super) topic: &'r [u8],
    pub(super) phase: &'r [u8],
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) modified: usize,
    pub(super) deleted: usize,
}

impl<'r> Answer<'r> {
    /// Parses `record`, which includes its separator at the end. `None` if it says that there is no working copy.
    pub(super) fn of_record(record: &'r [u8]) -> Option<Self> {
        let mut fields = record.split(|byte| *byte == FIELD_SEPARATOR);
        let is_some = fields.nth(1) == Some(b"1");
        if !is_some {
            return None;
        }
        let mut answer = Self::default();
        // The first remaining field is the third.
        for (number, field) in (3..).zip(fields) {
            match number {
                4 => answer.commit = field,
                5 => answer.branch = field,
                6 => answer.remote_branch = field,
                9 => answer.action = field,
                11 => answer.staged = count(field),
                12 => answer.unstaged = count(field),
                13 => answer.conflicted = count(field),
                14 => answer.untracked = count(field),
                15 => answer.ahead = count(field),
                16 => answer.behind = count(field),
                17 => answer.stashes = count(field),
                18 => answer.tag = field,
                24 => answer.push_ahead = count(field),
                25 => answer.push_behind = count(field),
                29 => answer.summary = field.strip_suffix(&[0x1e]).unwrap_or(field),
                _ => {}
            }
        }
        Some(answer)
    }

    /// Parses the record of a Mercurial working copy.
    pub(super) fn of_mercurial(record: &'r [u8]) -> Option<Self> {
        let fields = record.strip_suffix(b"\n")?;
        let mut fields = fields.split(|byte| *byte == FIELD_SEPARATOR);
        let mut text = || fields.next();
        let mut answer = Self {
            is_mercurial: true,
            branch: text()?,
            bookmark: text()?,
            topic: text()?,
            phase: text()?,
            commit: text()?,
            action: text()?,
            conflicted: count(text()?),
            modified: count(text()?),
            added: count(text()?),
            removed: count(text()?),
            deleted: count(text()?),
            untracked: count(text()?),
            ..Self::default()
        };
        // Staged is what a command has recorded for the next commit, unstaged what the commit finds by itself.
        answer.staged = answer.added.saturating_add(answer.removed);
        answer.unstaged = answer.modified.saturating_add(answer.deleted);
        Some(answer)
    }
}

fn count(field: &[u8]) -> usize {
    let text = BStr::new(field).to_str().unwrap_or_default();
    text.parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_numbers() {
        let record: Vec<String> = (1..=29).map(|number| number.to_string()).collect();
        let record = record.join("\x1f").replacen("\x1f2\x1f", "\x1f1\x1f", 1) + "\x1e";
        let want = Answer {
            commit: b"4",
            branch: b"5",
            remote_branch: b"6",
            action: b"9",
            tag: b"18",
            summary: b"29",
            staged: 11,
            unstaged: 12,
            conflicted: 13,
            untracked: 14,
            ahead: 15,
            behind: 16,
            push_ahead: 24,
            push_behind: 25,
            stashes: 17,
            ..Answer::default()
        };
        assert_eq!(Answer::of_record(record.as_bytes()), Some(want));
        for none in ["", "\x1f0\x1e", "id\x1f0\x1e", "id"] {
            assert_eq!(Answer::of_record(none.as_bytes()), None, "{none:?}");
        }
    }

    #[test]
    fn a_record_of_mercurial_has_its_fields_in_a_row() {
        let record = b"default\x1fb\x1f\x1fdraft\x1fff\x1fmerge\x1f1\x1f2\x1f3\x1f4\x1f5\x1f6\n";
        let want = Answer {
            is_mercurial: true,
            branch: b"default",
            bookmark: b"b",
            phase: b"draft",
            commit: b"ff",
            action: b"merge",
            conflicted: 1,
            modified: 2,
            added: 3,
            removed: 4,
            deleted: 5,
            untracked: 6,
            staged: 7,
            unstaged: 7,
            ..Answer::default()
        };
        assert_eq!(Answer::of_mercurial(record), Some(want));
        for none in [&b""[..], b"\n", b"default\x1fb\n", &record[..20]] {
            assert_eq!(Answer::of_mercurial(none), None, "{none:?}");
        }
    }
}
