//! The values that options and configuration share.

use bstr::{BStr, ByteSlice};

/// `value` as git reads a boolean (git-config(1), "boolean"): a word, or a whole number with an optional unit, of
/// which all but 0 is true. `None` where it is neither.
pub(crate) fn boolean(value: &BStr) -> Option<bool> {
    let is = |words: &[&str]| {
        words
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
    };
    if is(&["true", "yes", "on"]) {
        return Some(true);
    }
    if is(&["", "false", "no", "off"]) {
        return Some(false);
    }
    integer(value).map(|number| number != 0)
}

/// A 32-bit integer as C's `strtol` reads it with base 0, and a unit of `k`, `m` or `g`.
fn integer(value: &BStr) -> Option<i32> {
    let text = value.to_str().ok()?.trim_start();
    let (factor, text) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        None => (1, text),
        Some(number) => match text.bytes().last().map(|unit| unit.to_ascii_lowercase()) {
            Some(b'k') => (1_i64 << 10, number),
            Some(b'm') => (1 << 20, number),
            _ => (1 << 30, number),
        },
    };
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, text.get(1..)?),
        Some(b'+') => (1, text.get(1..)?),
        _ => (1, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let number = i64::from_str_radix(digits, base).ok()?;
    i32::try_from(number.checked_mul(sign)?.checked_mul(factor)?).ok()
}

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
    fn booleans_are_words_or_numbers() {
        for text in ["true", "YES", "on", "1", "-1", "0x10", "2k", "010", " 7"] {
            assert_eq!(boolean(text.into()), Some(true), "{text}");
        }
        for text in ["", "False", "no", "OFF", "0", "00", "0k"] {
            assert_eq!(boolean(text.into()), Some(false), "{text}");
        }
        for text in ["normal", "1x", "k", "9g", "1 ", "--1", "08", "0x"] {
            assert_eq!(boolean(text.into()), None, "{text}");
        }
    }

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
