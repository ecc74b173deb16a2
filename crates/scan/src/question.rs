//! The numbers of the questions about untracked and ignored files; remembered listings are kept by
//! question.

use vigil_model::request::{IgnoredMode, UntrackedMode};

const UNTRACKED: [UntrackedMode; 3] =
    [UntrackedMode::No, UntrackedMode::Normal, UntrackedMode::All];
const IGNORED: [IgnoredMode; 3] = [
    IgnoredMode::No,
    IgnoredMode::Traditional,
    IgnoredMode::Matching,
];

/// Returns the number of a question.
pub fn number(untracked: UntrackedMode, ignored: IgnoredMode) -> u32 {
    let untracked = (0..).zip(UNTRACKED).find(|(_, mode)| *mode == untracked);
    let ignored = (0..).zip(IGNORED).find(|(_, mode)| *mode == ignored);
    let at = |found: Option<u32>| found.unwrap_or_default();
    at(untracked.map(|(at, _)| at)) << 4 | at(ignored.map(|(at, _)| at))
}

/// Returns the question with that number, if there is one.
pub fn of_number(number: u32) -> Option<(UntrackedMode, IgnoredMode)> {
    let untracked = UNTRACKED.get(number as usize >> 4)?;
    let ignored = IGNORED.get(number as usize & 0xf)?;
    Some((*untracked, *ignored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_has_a_number_of_its_own() {
        let mut numbers = Vec::new();
        for untracked in UNTRACKED {
            for ignored in IGNORED {
                let number = number(untracked, ignored);
                assert_eq!(of_number(number), Some((untracked, ignored)));
                numbers.push(number);
            }
        }
        // These numbers are stored on disk.
        assert_eq!(numbers, [0, 1, 2, 16, 17, 18, 32, 33, 34]);
        assert_eq!(of_number(3), None);
        assert_eq!(of_number(48), None);
    }
}
