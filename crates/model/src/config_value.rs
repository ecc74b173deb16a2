//! What the text of a configuration value means: booleans and numbers (git-config(1), "Values").

use bstr::{BStr, ByteSlice};

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadNumber {
    /// A character that is neither a digit nor a unit.
    InvalidUnit,
    /// The number does not fit.
    OutOfRange,
}

impl BadNumber {
    /// git's words for the error.
    pub fn text(self) -> &'static str {
        match self {
            Self::InvalidUnit => "invalid unit",
            Self::OutOfRange => "out of range",
        }
    }
}

/// Parses the words for true and false. A key without `=` is true, an empty value false.
pub fn boolean_word(value: Option<&BStr>) -> Option<bool> {
    let Some(value) = value else {
        return Some(true);
    };
    let is_any = |words: &[&str]| {
        words
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
    };
    if is_any(&["true", "yes", "on"]) {
        Some(true)
    } else if value.is_empty() || is_any(&["false", "no", "off"]) {
        Some(false)
    } else {
        None
    }
}

/// Parses `value` as git parses a boolean (git-config(1), "boolean"): a word, or a whole number with an optional unit,
/// where anything but 0 is true. `None` if it is neither.
pub fn boolean(value: Option<&BStr>) -> Option<bool> {
    boolean_word(value).or_else(|| {
        number(value, i64::from(i32::MAX))
            .ok()
            .map(|number| number != 0)
    })
}

/// Parses a number between `-max - 1` and `max` as C does (`0x` and `0` prefixes, leading space, sign), with a unit.
///
/// # Errors
/// Why the text is not such a number.
pub fn number(value: Option<&BStr>, max: i64) -> Result<i64, BadNumber> {
    let number = with_unit(value, i64::MAX.into())?;
    if (-i128::from(max) - 1..=i128::from(max)).contains(&number) {
        i64::try_from(number).map_err(|_| BadNumber::OutOfRange)
    } else {
        Err(BadNumber::OutOfRange)
    }
}

/// Parses a number that may not be negative in the same way.
///
/// # Errors
/// Why the text is not such a number.
pub fn unsigned(value: Option<&BStr>) -> Result<u64, BadNumber> {
    if value.is_some_and(|value| value.contains(&b'-')) {
        return Err(BadNumber::InvalidUnit);
    }
    let number = with_unit(value, u64::MAX.into())?;
    u64::try_from(number).map_err(|_| BadNumber::OutOfRange)
}

/// Parses a number of at most `max` without its unit, and multiplies it by that.
fn with_unit(value: Option<&BStr>, max: i128) -> Result<i128, BadNumber> {
    let value = value.ok_or(BadNumber::InvalidUnit)?;
    let text = value.trim_start_with(|c| matches!(c, ' ' | '\t'..='\r'));
    let (is_negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let (radix, text) = match text {
        [b'0', b'x' | b'X', rest @ ..] if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, rest)
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let digits = text
        .iter()
        .take_while(|byte| char::from(**byte).is_digit(radix))
        .count();
    let (digits, unit) = text.split_at_checked(digits).unwrap_or_default();
    if digits.is_empty() {
        return Err(BadNumber::InvalidUnit);
    }
    let magnitude = digits.iter().try_fold(0_i128, |sum, byte| {
        let digit = char::from(*byte).to_digit(radix).unwrap_or_default();
        let sum = sum * i128::from(radix) + i128::from(digit);
        // There is one more number below zero.
        (sum <= max + i128::from(is_negative)).then_some(sum)
    });
    let magnitude = magnitude.ok_or(BadNumber::OutOfRange)?;
    let factor: i128 = match unit {
        [] => 1,
        [b'k' | b'K'] => 1 << 10,
        [b'm' | b'M'] => 1 << 20,
        [b'g' | b'G'] => 1 << 30,
        _ => return Err(BadNumber::InvalidUnit),
    };
    Ok(if is_negative { -magnitude } else { magnitude } * factor)
}

/// Parses `value` as git parses a C `int`, both in configuration and on its command lines (git-config(1), "int").
///
/// # Errors
/// Why the text is not such a number.
pub fn int(value: &BStr) -> Result<i32, BadNumber> {
    let number = number(Some(value), i64::from(i32::MAX))?;
    i32::try_from(number).map_err(|_| BadNumber::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_c_prefixes_and_units() {
        let read = |text: &str| number(Some(text.into()), i64::MAX);
        assert_eq!(read("10"), Ok(10));
        assert_eq!(read(" -0x10"), Ok(-16));
        assert_eq!(read("010k"), Ok(8192));
        assert_eq!(read("1M"), Ok(1 << 20));
        assert_eq!(read("+2g"), Ok(2 << 30));
        assert_eq!(read("-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(read("9223372036854775808"), Err(BadNumber::OutOfRange));
        assert_eq!(read("9999999999999g"), Err(BadNumber::OutOfRange));
        for bad in ["", "k", "1kb", "1 k", "0x", "08", "-", "x"] {
            assert_eq!(read(bad), Err(BadNumber::InvalidUnit), "{bad:?}");
        }
        assert_eq!(
            number(Some("3g".into()), i64::from(i32::MAX)),
            Err(BadNumber::OutOfRange)
        );
        assert_eq!(number(None, i64::MAX), Err(BadNumber::InvalidUnit));
    }

    #[test]
    fn numbers_without_a_sign_are_larger() {
        let read = |text: &str| unsigned(Some(text.into()));
        assert_eq!(read("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(read("0x8000000000000000"), Ok(1 << 63));
        assert_eq!(read(" +17179869183g"), Ok(u64::MAX - (1 << 30) + 1));
        assert_eq!(read("18446744073709551616"), Err(BadNumber::OutOfRange));
        assert_eq!(read("17179869184g"), Err(BadNumber::OutOfRange));
        for bad in ["-1", "-0", "1-", "", "k", "08"] {
            assert_eq!(read(bad), Err(BadNumber::InvalidUnit), "{bad:?}");
        }
        assert_eq!(unsigned(None), Err(BadNumber::InvalidUnit));
    }

    #[test]
    fn booleans_are_words_or_numbers() {
        for text in [
            "true", "YES", "on", "1", "-1", "2", "0x10", "1k", "010", " 7",
        ] {
            assert_eq!(boolean(Some(text.into())), Some(true), "{text:?}");
        }
        for text in ["", "False", "no", "off", "OFF", "0", "00", "0k"] {
            assert_eq!(boolean(Some(text.into())), Some(false), "{text:?}");
        }
        for text in ["maybe", "normal", "1x", "k", "9g", "1 ", "--1", "08", "0x"] {
            assert_eq!(boolean(Some(text.into())), None, "{text:?}");
        }
        assert_eq!(boolean(None), Some(true));
        assert_eq!(boolean_word(Some("1".into())), None);
    }
}
