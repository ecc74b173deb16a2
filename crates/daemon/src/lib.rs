//! Vigil's long-lived processes.

#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod gitstatusd;
