//! Parsers that are not part of the public interface, for the fuzz targets.

use bstr::{BStr, BString};

use vigil_git::config::Config;

use crate::branch::check_settings;
use crate::branch::refspec::{self, Refspec, is_valid_for_push};
use crate::revision::date;
use crate::revision::regex::{Letters, Regex};
use crate::revision::zone::Zone;

/// Returns the local reference that stores the remote's `name` by the valid refspecs, and the number of these.
pub fn tracked(refspecs: &[&BStr], name: &BStr) -> (Option<BString>, usize) {
    let valid: Vec<_> = refspecs
        .iter()
        .filter_map(|text| Refspec::parse(text))
        .collect();
    (refspec::track(&valid, name), valid.len())
}

/// Whether `text` is a valid refspec for pushing.
pub fn is_pushed(text: &BStr) -> bool {
    is_valid_for_push(text)
}

/// Returns the number of messages about the settings of branches and remotes in a configuration file.
pub fn said_of_settings(text: &[u8], branch: &BStr) -> usize {
    let (config, _) = Config::up_to_error(text, "file config");
    let mut messages = Vec::new();
    let checked = check_settings(&config, branch, &mut messages);
    messages.len() + usize::from(checked.is_err())
}

/// A time zone: a file of one (tzfile(5)), or a string (tzset(3)).
pub struct TimeZone(Zone);

impl TimeZone {
    /// Parses a file.
    pub fn of_file(bytes: &[u8]) -> Option<Self> {
        Zone::parse(bytes).map(Self)
    }

    /// Parses a string.
    pub fn of_string(text: &[u8]) -> Option<Self> {
        Zone::of_string(text).map(Self)
    }

    /// UTC.
    pub fn utc() -> Self {
        Self(Zone::default())
    }

    /// Returns the offset from UTC at a time, in seconds, and whether it is daylight saving time.
    pub fn at(&self, time_s: i64) -> (i64, bool) {
        (self.0.offset_s(time_s), self.0.is_dst(time_s))
    }

    /// Returns the time at which clocks show `local_s` seconds since the start of 1970, and the same without and with
    /// daylight saving time.
    pub fn utc_of(&self, local_s: i64) -> [i64; 3] {
        let as_if = |is_dst| self.0.utc_of_local_as(local_s, is_dst);
        [self.0.utc_of_local(local_s), as_if(false), as_if(true)]
    }

    /// Returns the time that `text` means to git at the time `now_s`; `today_s` is a time of the current day.
    pub fn date(&self, text: &[u8], now_s: i64, today_s: i64) -> Option<i64> {
        date::parse_at(text, &self.0, now_s, today_s)
    }
}

/// A time as git prints it, as a day and in full.
pub fn shown_date(time_s: i64, zone: i32) -> [String; 2] {
    [date::short(time_s, zone), date::rfc2822(time_s, zone)]
}

/// Whether a regular expression matches bytes, or with `utf8` characters; `None` if it is none.
pub fn regex(pattern: &[u8], text: &[u8], utf8: bool) -> Option<bool> {
    let letters = match utf8 {
        true => Letters::Utf8 { has_order: false },
        false => Letters::Bytes,
    };
    Some(Regex::parse(pattern, letters)?.is_match(text))
}
