//! Parsers that are no part of the public interface, for the fuzz targets.

use bstr::{BStr, BString};

use crate::branch::refspec::{self, Refspec};
use crate::revision::date;
use crate::revision::zone::Zone;

/// Where the remote's reference `name` is kept by the refspecs that are valid, and how many are.
pub fn tracked(refspecs: &[&BStr], name: &BStr) -> (Option<BString>, usize) {
    let valid: Vec<_> = refspecs
        .iter()
        .filter_map(|text| Refspec::parse(text))
        .collect();
    (refspec::track(&valid, name), valid.len())
}

/// The time that `text` means to git at the time `now_s`, and on a day of which `today_s` is a part, where clocks go as the
/// time zone file `zone` says.
pub fn date(text: &[u8], zone: &[u8], now_s: i64, today_s: i64) -> Option<i64> {
    let zone = Zone::parse(zone).unwrap_or_default();
    date::parse_at(text, &zone, now_s, today_s)
}
