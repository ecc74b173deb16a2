//! The values that options take.

use bstr::BStr;

/// The value of `--find-renames` on git's scale of 60,000: digits after an imagined decimal point, or a
/// percentage, with whatever follows left out (git-diff(1), `-M`). 0 stands for the default.
pub(crate) fn rename_score(value: &BStr) -> u32 {
    const SCALE_MAX: u64 = 60_000;
    /// Further digits do not count.
    const DIVISOR_MAX: u64 = 100_000;
    let mut number: u64 = 0;
    let mut divisor: u64 = 1;
    let mut after_point = false;
    for &byte in value.iter() {
        match byte {
            b'.' if !after_point => {
                after_point = true;
                divisor = 1;
            }
            b'%' => {
                divisor = if after_point { divisor * 100 } else { 100 };
                break;
            }
            b'0'..=b'9' => {
                if divisor < DIVISOR_MAX {
                    divisor *= 10;
                    number = number * 10 + u64::from(byte - b'0');
                }
            }
            _ => break,
        }
    }
    let score = if number >= divisor {
        SCALE_MAX
    } else {
        SCALE_MAX * number / divisor
    };
    u32::try_from(score).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_fractions_or_percentages() {
        for (text, score) in [
            ("5", 30_000),
            ("50%", 30_000),
            ("05", 3_000),
            ("100%", 60_000),
            ("1.0", 60_000),
            ("0.75", 45_000),
            ("90.5%", 54_300),
            ("", 0),
            ("x", 0),
            ("5x", 30_000),
        ] {
            assert_eq!(rename_score(text.into()), score, "{text}");
        }
    }
}
