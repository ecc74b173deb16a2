//! The local time zone, from the C library's files (tzset(3), tzfile(5)).

mod rule;

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};

use self::rule::Rule;
use vigil_git::environment::Environment;
use vigil_stamp::paths::path_of;

const ZONES: &str = "/usr/share/zoneinfo";

/// The offsets of local clocks from UTC, and when they change.
#[derive(Debug, Default)]
pub struct Zone {
    /// The offset from each time on, in seconds since 1970; in order.
    changes: Vec<(i64, Offset)>,
    /// The offset before the first change.
    first: Offset,
    /// The rule after the last change.
    rule: Option<Rule>,
}

/// The offset of clocks from UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Offset {
    seconds: i64,
    /// Whether it is daylight saving time.
    is_dst: bool,
}

/// How far from a time the C library searches for another one with or without daylight saving, in seconds, and the step
/// of that search.
const DST_SEARCH_S: i64 = 228_621_604 + DST_STEP_S;
const DST_STEP_S: i64 = 601_200;

impl Zone {
    /// The zone in `TZ`, or that of the machine; UTC if none can be read.
    pub(super) fn of(environment: &Environment) -> Self {
        Self::named(environment.get("TZ"))
    }

    /// The zone that is the value of `TZ`, or that of the machine; UTC if none can be read.
    pub fn named(name: Option<&BStr>) -> Self {
        let Some(name) = name else {
            return Self::read(Path::new("/etc/localtime")).unwrap_or_default();
        };
        let name = name.strip_prefix(b":").unwrap_or(name).as_bstr();
        if name.is_empty() {
            return Self::default();
        }
        let path: PathBuf = Path::new(ZONES).join(path_of(name));
        let zone = Self::read(&path).or_else(|| Self::of_string(name));
        zone.unwrap_or_default()
    }

    fn read(path: &Path) -> Option<Self> {
        Self::parse(&vigil_stamp::file::read(path).ok()?)
    }

    /// Parses the second part of a file, which has 8-byte numbers.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let first = Header::parse(bytes)?;
        let second = bytes.get(HEADER_LEN.checked_add(first.len(4)?)?..)?;
        let header = Header::parse(second)?;
        let body = second.get(HEADER_LEN..)?;
        let (times, rest) = body.split_at_checked(header.times.checked_mul(8)?)?;
        let (indexes, rest) = rest.split_at_checked(header.times)?;
        let (types, _) = rest.split_at_checked(header.types.checked_mul(6)?)?;
        let footer = body.get(header.len(8)?..).unwrap_or_default();
        let footer = footer
            .strip_prefix(b"\n")
            .and_then(|line| line.lines().next());
        let offset = |at: usize| -> Option<Offset> {
            let [a, b, c, d, is_dst, _] = *types.as_chunks().0.get(at)?;
            Some(Offset {
                seconds: i64::from(i32::from_be_bytes([a, b, c, d])),
                is_dst: is_dst != 0,
            })
        };
        let mut changes = Vec::new();
        for (time, index) in times.as_chunks().0.iter().zip(indexes) {
            let time = i64::from_be_bytes(*time);
            changes.push((time, offset(usize::from(*index))?));
        }
        Some(Self {
            changes,
            first: offset(0)?,
            rule: footer.and_then(Rule::parse),
        })
    }

    fn offset(&self, time_s: i64) -> Offset {
        let after = self.changes.partition_point(|(from, _)| *from <= time_s);
        if after == self.changes.len()
            && let Some(rule) = &self.rule
        {
            return rule.offset(time_s);
        }
        let change = after.checked_sub(1).and_then(|at| self.changes.get(at));
        change.map_or(self.first, |(_, offset)| *offset)
    }

    /// Parses a string (tzset(3)).
    pub(crate) fn of_string(text: &[u8]) -> Option<Self> {
        Some(Self {
            rule: Some(Rule::parse(text)?),
            ..Self::default()
        })
    }

    /// Returns the offset from UTC at `time_s`, in seconds.
    pub fn offset_s(&self, time_s: i64) -> i64 {
        self.offset(time_s).seconds
    }

    /// Whether it is daylight saving time at `time_s`.
    pub(crate) fn is_dst(&self, time_s: i64) -> bool {
        self.offset(time_s).is_dst
    }

    /// Returns the time at which clocks show `local_s`, in seconds since 1970 as if the clocks were in UTC.
    pub(crate) fn utc_of_local(&self, local_s: i64) -> i64 {
        let guess = local_s.saturating_sub(self.offset_s(local_s));
        local_s.saturating_sub(self.offset_s(guess))
    }

    /// Returns the time at which clocks would show `local_s` with or without daylight saving time, using the offset of
    /// the nearest time with the same `is_dst`.
    pub(crate) fn utc_of_local_as(&self, local_s: i64, is_dst: bool) -> i64 {
        let guess = self.utc_of_local(local_s);
        let steps = (0..=DST_SEARCH_S / DST_STEP_S).map(|step| step.saturating_mul(DST_STEP_S));
        let mut times =
            steps.flat_map(|delta| [guess.saturating_sub(delta), guess.saturating_add(delta)]);
        match times.find(|time_s| self.is_dst(*time_s) == is_dst) {
            Some(time_s) => local_s.saturating_sub(self.offset_s(time_s)),
            // Assume a difference of one hour.
            None if is_dst => guess.saturating_sub(3600),
            None => guess.saturating_add(3600),
        }
    }
}

const HEADER_LEN: usize = 44;

struct Header {
    /// Counts, in the order of the file: UTC indicators, standard time indicators, leap seconds, transitions, types,
    /// and bytes of abbreviations.
    utc_marks: usize,
    standard_marks: usize,
    leaps: usize,
    times: usize,
    types: usize,
    letters: usize,
}

impl Header {
    fn parse(bytes: &[u8]) -> Option<Self> {
        bytes.strip_prefix(b"TZif")?;
        let counts = bytes.get(20..HEADER_LEN)?;
        let (counts, _) = counts.as_chunks();
        let mut counts =
            (counts.iter()).filter_map(|count| usize::try_from(u32::from_be_bytes(*count)).ok());
        Some(Self {
            utc_marks: counts.next()?,
            standard_marks: counts.next()?,
            leaps: counts.next()?,
            times: counts.next()?,
            types: counts.next()?,
            letters: counts.next()?,
        })
    }

    /// Returns the length of the part after the header, where times have `time_len` bytes.
    fn len(&self, time_len: usize) -> Option<usize> {
        let times = self.times.checked_mul(time_len.checked_add(1)?)?;
        let leaps = self.leaps.checked_mul(time_len.checked_add(4)?)?;
        let types = self.types.checked_mul(6)?;
        [
            leaps,
            types,
            self.letters,
            self.standard_marks,
            self.utc_marks,
        ]
        .into_iter()
        .try_fold(times, usize::checked_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_file_clocks_are_on_utc() {
        for name in ["", "UTC", "no/such/zone"] {
            let environment = Environment::new([("TZ".into(), name.into())], "/");
            let zone = Zone::of(&environment);
            assert_eq!(zone.offset_s(1_700_000_000), 0, "{name}");
            assert_eq!(zone.utc_of_local(1_700_000_000), 1_700_000_000, "{name}");
        }
    }

    #[test]
    fn damaged_files_are_none() {
        for len in [0, 4, 43, 44, 60] {
            let mut bytes = vec![255; len];
            let head = len.min(4);
            bytes[..head].copy_from_slice(&b"TZif"[..head]);
            assert!(Zone::parse(&bytes).is_none());
        }
    }
}
