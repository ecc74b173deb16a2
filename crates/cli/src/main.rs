//! The `vigil` command.

fn main() {}
