//! The kinds of files in a status, by number.

use bstr::BString;

/// The paths of modified, added, removed, deleted, unknown, ignored and clean files.
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
/// The number of unknown files' kind.
pub(super) const UNKNOWN: usize = 4;
/// The number of ignored files' kind.
pub(super) const IGNORED: usize = 5;
/// The number of clean files' kind.
pub(super) const CLEAN: usize = 6;
