//! What is done to the contents of a file before they are compared with those that are recorded.

/// How contents are converted before they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conversion {
    /// With another number, the verdict may be another.
    pub number: u64,
    /// Whether only the verdict that a file is unchanged may be used again. So it is if another program takes part: git, too,
    /// trusts a file once it was found unchanged, and runs the program each time if it was not.
    pub is_by_program: bool,
}

impl Conversion {
    /// A conversion by which every verdict may be used again.
    pub fn known(number: u64) -> Self {
        Self {
            number,
            is_by_program: false,
        }
    }
}
