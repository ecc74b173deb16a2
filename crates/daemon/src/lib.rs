//! Vigil's long-lived processes.
