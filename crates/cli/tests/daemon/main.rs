//! The user's daemon as a process, and its clients.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]
#![allow(clippy::panic, reason = "all of this is tests")]
#![allow(clippy::indexing_slicing, reason = "all of this is tests")]

mod audit;
mod doors;
mod ends;
mod faults;
mod fsmonitor;
mod impostors;
mod lent;
mod life;
mod limits;
mod mounts;
mod namespaces;
mod older;
mod renames;
mod sandbox;
mod shell;
mod shown;
mod storms;
mod strangers;
mod watch;
mod why;
