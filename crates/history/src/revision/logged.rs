//! Former values of a reference, by the entries in its log: `@{1}`, `@{yesterday}`.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;

use super::names::{Flags, Resolver, fatal};
use super::reflog::Log;
use super::refname::Expanded;
use super::{Unresolved, date};

/// The least number in braces that is a time and not the index of a log entry.
const TIME_MIN: i32 = 100_000_000;

/// Parses `digits` as git does, in 32 bits that wrap around.
fn number_of(digits: &[u8]) -> i32 {
    digits.iter().fold(0, |number: i32, digit| {
        let digit = i32::from(digit.saturating_sub(b'0'));
        number.wrapping_mul(10).wrapping_add(digit)
    })
}

impl Resolver<'_> {
    /// Returns the object in the requested entry of a log.
    pub(super) fn logged(
        &mut self,
        base: &BStr,
        entry: &[u8],
        found: Expanded,
        flags: Flags,
    ) -> Result<ObjectId, Unresolved> {
        let repository = self.repository.ok_or(Unresolved::Missing)?;
        let number = match entry.iter().all(u8::is_ascii_digit) {
            true => Some(number_of(entry)),
            false => None,
        };
        let shown = || match base.is_empty() {
            false => base.to_owned(),
            true => match found.name.strip_prefix(b"refs/heads/") {
                Some(branch) => branch.into(),
                None => "HEAD".into(),
            },
        };
        if let Some(number) = number.filter(|number| *number < TIME_MIN) {
            return self.numbered(number, &found, shown, flags);
        }
        let time_s = match number {
            Some(time_s) => time_s.into(),
            None => date::parse(entry.as_bstr(), repository).ok_or(Unresolved::Missing)?,
        };
        let (log, at) = Log::up_to_time(self.refs, found.name.as_bstr(), time_s)?;
        let Some(oldest) = log.records.last() else {
            return Err(log_is_empty(&found, flags));
        };
        match at {
            Some(at) => Ok(self.record_id(&log, at, &found, time_s)),
            // git does not take this for a time.
            None if time_s == 0 => {
                Err(too_few_entries(shown().as_bstr(), log.records.len(), flags))
            }
            None => {
                if !flags.quietly {
                    let oldest = date::rfc2822(oldest.time_s, oldest.zone);
                    self.add_message(&[
                        b"warning: log for '",
                        &shown(),
                        b"' only goes back to ",
                        oldest.as_bytes(),
                    ]);
                }
                Ok(match oldest.old.is_null() {
                    false => oldest.old,
                    true => oldest.new,
                })
            }
        }
    }

    fn numbered(
        &mut self,
        number: i32,
        found: &Expanded,
        shown: impl Fn() -> BString,
        flags: Flags,
    ) -> Result<ObjectId, Unresolved> {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let log = Log::up_to(self.refs, found.name.as_bstr(), at)?;
        if log.records.is_empty() {
            return match number {
                0 => Ok(found.id),
                _ => Err(log_is_empty(found, flags)),
            };
        }
        if at < log.records.len() {
            return Ok(self.record_id(&log, at, found, 0));
        }
        let count = log.records.len();
        let before_all = log.records.last().map(|oldest| oldest.old);
        if at == count
            && let Some(id) = before_all.filter(|id| !id.is_null())
        {
            return Ok(id);
        }
        Err(too_few_entries(shown().as_bstr(), count, flags))
    }

    /// Returns the id of the record at `at`, which is the answer for the time `time_s`. The newest record stands for
    /// the reference's present value. Warns if the log does not continue from there.
    fn record_id(&mut self, log: &Log, at: usize, found: &Expanded, time_s: i64) -> ObjectId {
        let Some(record) = log.records.get(at) else {
            return found.id;
        };
        let next = at.checked_sub(1).and_then(|at| log.records.get(at));
        let (id, warning): (_, Option<&[u8]>) = match next.map(|next| next.old) {
            Some(old) if !old.is_null() => (
                record.new,
                (old != record.new).then_some(b" has gap after "),
            ),
            _ if record.time_s == time_s => (record.new, None),
            _ => {
                let ended: &[u8] = b" unexpectedly ended on ";
                (found.id, (found.id != record.new).then_some(ended))
            }
        };
        if let Some(words) = warning {
            let date = date::rfc2822(record.time_s, record.zone);
            let log = &found.name;
            self.add_message(&[b"warning: log for ref ", log, words, date.as_bytes()]);
        }
        id
    }
}

fn too_few_entries(shown: &BStr, count: usize, flags: Flags) -> Unresolved {
    let count = format!("' only has {count} entries");
    match flags.quietly {
        true => Unresolved::FatalWithoutMessage,
        false => fatal(&[b"log for '", shown, count.as_bytes()]),
    }
}

fn log_is_empty(found: &Expanded, flags: Flags) -> Unresolved {
    match flags.quietly {
        true => Unresolved::FatalWithoutMessage,
        false => fatal(&[b"log for ", &found.name, b" is empty"]),
    }
}
