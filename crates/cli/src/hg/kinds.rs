//! The kinds of files that a status tells apart.

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
