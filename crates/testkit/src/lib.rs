//! Development only: repository builder, oracle and random-operation tester.
//!
//! Everything here runs programs, never the engine: a *candidate* (`vigil`, or another program with the same
//! answers) and an *oracle* (`git`). Both are asked the same question about the same tree, and their answers are
//! compared byte by byte.
//!
//! - [`sandbox`]: an isolated repository, for all tests of all crates.
//! - [`action`]: the changes to it, as data that can be played, reduced and printed as a shell script.
//! - [`random`]: scenarios of random operations, all derived from a seed.
//! - [`cases`]: named repository states.
//! - [`chance`], [`clock`]: reproducible random choices and time for tests.
//! - [`daemon`]: a daemon for the candidate alone.
//! - [`gitstatusd`]: the gitstatusd protocol against an oracle computed from git.
//! - [`hg`]: Mercurial's status over random operations.
//! - [`objects`]: objects in sound and damaged repositories.
//! - [`kills`]: git with a monitor whose daemon is killed again and again.
//! - [`soak`]: many concurrent clients of a daemon with injected faults, over a long time.
//! - [`privileges`]: programs without root's privileges.
//! - [`player`]: plays a scenario; [`campaign`]: plays many; [`shrink`]: reduces a failing one.

pub mod action;
mod broken_index;
pub mod campaign;
pub mod cases;
pub mod chance;
pub mod clock;
pub mod command_line;
pub mod daemon;
mod git_without_monitor;
pub mod gitstatusd;
pub mod hg;
pub mod invocation;
pub mod kills;
pub mod monitor;
pub mod objects;
pub mod player;
pub mod privileges;
pub mod process;
pub mod random;
pub mod sandbox;
pub mod scenario;
mod settings;
pub mod shell;
pub mod shrink;
pub mod soak;
mod status_comparison;
mod verdict;
mod written_files;
