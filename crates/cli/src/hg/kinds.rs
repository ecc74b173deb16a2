//! The kinds of files that a status tells apart, by number.

use bstr::BString;

/// Modified, added, removed, deleted, unknown, ignored and clean files.
pub(super) type Lists = [Vec<BString>; 7];
/// The letter and the name of each kind, in the order of [`Lists`].
pub(super) const KINDS: [(char, &str); 7] = [
    ('M', "modified"),
    ('A', "added"),
    ('R', "removed"),
    ('!', "deleted"),
    ('?', "unknown"),
    ('I', "ignored"),
    ('C', "clean"),
];
/// Of unknown files.
pub(super) const UNKNOWN: usize = 4;
/// Of ignored files.
pub(super) const IGNORED: usize = 5;
/// Of clean files.
pub(super) const CLEAN: usize = 6;
