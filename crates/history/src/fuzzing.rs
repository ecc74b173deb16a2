//! Parsers that are no part of the public interface, for the fuzz targets.

use bstr::{BStr, BString};

use crate::branch::refspec::{self, Refspec};

/// Where the remote's reference `name` is kept by the refspecs that are valid, and how many are.
pub fn tracked(refspecs: &[&BStr], name: &BStr) -> (Option<BString>, usize) {
    let valid: Vec<_> = refspecs
        .iter()
        .filter_map(|text| Refspec::parse(text))
        .collect();
    (refspec::track(&valid, name), valid.len())
}
