//! Named repository states.
