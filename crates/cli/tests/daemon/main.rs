//! The user's daemon as a process, and its clients.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]
#![allow(clippy::panic, reason = "all of this is tests")]
#![allow(clippy::indexing_slicing, reason = "all of this is tests")]

mod audit;
mod connections;
mod event_storms;
mod faults;
mod fsmonitor;
mod fsmonitor_installing;
mod git_sockets;
mod impostors;
mod lifecycle;
mod limits;
mod mounts;
mod namespaces;
mod older_version;
mod renames;
mod same_answers;
mod sandbox;
mod shell;
mod socket_activation;
mod status_table;
mod unreadable;
mod unresponsive;
mod watch;
mod why;
