//! The rows of the tables of operations.

use crate::random::maker::Maker;

/// An operation: a row of one of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The name.
    pub name: &'static str,
    /// The frequency, relative to the others.
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
