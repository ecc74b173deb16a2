//! Names of branches as they are shown.

use bstr::BStr;

/// The name of a branch without the folder of branches.
pub(super) fn branch_name(reference: &BStr) -> Option<&BStr> {
    reference.strip_prefix(b"refs/heads/").map(BStr::new)
}
