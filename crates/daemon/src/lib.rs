//! Vigil's long-lived processes.

pub mod gitstatusd;
