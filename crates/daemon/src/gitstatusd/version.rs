//! The version of gitstatusd that is followed.

/// The version of gitstatusd whose behaviour is implemented.
pub const VERSION: &str = "v1.5.5";
