//! Development only: repository builder, oracle and random-operation tester.
//!
//! Everything here drives programs, never the engine: a *candidate* (`vigil`, or whatever answers like it) and an
//! *oracle* (`git`). Both are asked the same question about the same tree, and their answers are compared byte by
//! byte.
//!
//! - [`sandbox`]: an isolated repository, for all tests of all crates.
//! - [`action`]: the things that are done to it, as data that can be played, cut down and printed as a shell script.
//! - [`random`]: scenarios of random operations, all derived from a seed.
//! - [`cases`]: named repository states.
//! - [`chance`], [`clock`]: reproducible chance and time for tests.
//! - [`daemon`]: a daemon of the candidate's own, through which it is asked.
//! - [`hg`]: Mercurial's status over random operations.
//! - [`long_lived`]: the gitstatusd protocol against an oracle computed from git.
//! - [`objects`]: objects in sound and damaged repositories.
//! - [`kills`]: git asking a monitor whose daemon is killed again and again.
//! - [`soak`]: many clients at once of a daemon that much befalls, for long.
//! - [`player`]: plays a scenario; [`campaign`]: plays many; [`shrink`]: makes a failing one small.

pub mod action;
mod alone;
mod broken_index;
pub mod campaign;
pub mod cases;
pub mod chance;
pub mod clock;
pub mod command_line;
pub mod daemon;
pub mod hg;
pub mod invocation;
pub mod kills;
pub mod long_lived;
pub mod monitor;
pub mod objects;
pub mod player;
pub mod process;
pub mod random;
pub mod sandbox;
pub mod scenario;
mod settings;
pub mod shell;
pub mod shrink;
pub mod soak;
mod verdict;
