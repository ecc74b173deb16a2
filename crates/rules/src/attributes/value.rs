//! The values of attributes.

use bstr::BString;

/// The state of an attribute for a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// Not mentioned, or `!attr`.
    #[default]
    Unspecified,
    /// `attr`.
    Set,
    /// `-attr`.
    Unset,
    /// `attr=text`; the text may be empty.
    Text(BString),
}
