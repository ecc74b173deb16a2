//! Numbers with the word for what they count.

use std::fmt::Display;

/// `number` with the word for `one` thing, or for several.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, one: &str, several: &str) -> String {
    let word = if number == N::from(1) { one } else { several };
    format!("{number} {word}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_one() {
        let said = [0_u64, 1, 2].map(|number| counted(number, "entry", "entries"));
        assert_eq!(said, ["0 entries", "1 entry", "2 entries"]);
    }
}
