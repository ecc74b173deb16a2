//! Which gitstatusd is followed.

/// The version of gitstatusd whose behaviour this is.
pub const VERSION: &str = "v1.5.5";
