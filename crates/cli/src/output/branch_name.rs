//! Branch names as shown to the user.

use bstr::BStr;

/// The name of a branch without `refs/heads/`.
pub(super) fn branch_name(reference: &BStr) -> Option<&BStr> {
    reference.strip_prefix(b"refs/heads/").map(BStr::new)
}
