//! What the tables of operations are made of.

use crate::random::maker::Maker;

/// An operation: a row of one of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What it is called.
    pub name: &'static str,
    /// How often it comes, relative to the others.
    pub weight: u64,
    /// Adds its actions.
    pub make: fn(&mut Maker),
}

/// The rows of a table.
macro_rules! table {
    ($($name:literal, $weight:literal, $make:expr;)*) => {
        /// The operations of this subject.
        pub(super) const OPERATIONS: &[crate::random::operations::operation::Operation] = &[
            $(crate::random::operations::operation::Operation { name: $name, weight: $weight, make: $make }),*
        ];
    };
}
pub(super) use table;
