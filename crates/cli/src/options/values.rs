//! The values of options.

use bstr::BStr;
use vigil_model::config_value::{self, BadNumber};

use crate::reply::{Reply, bytes};

/// Parses the value of the option `name` as an integer, with an optional suffix `k`, `m` or `g` for powers of 1024.
///
/// # Errors
/// The value is not such a number, or does not fit into an `int`.
pub(crate) fn integer(name: &str, value: &BStr) -> Result<i32, Reply> {
    let expected = |what: &str| Reply::usage_error(format!("option `{name}' expects {what}"));
    if value.is_empty() {
        return Err(expected("a numerical value"));
    }
    config_value::int(value).map_err(|reason| match reason {
        BadNumber::InvalidUnit => expected("an integer value with an optional k/m/g suffix"),
        BadNumber::OutOfRange => {
            let range = format!("not in range [{},{}]", i32::MIN, i32::MAX);
            Reply::usage_error(bytes!["value ", value, " for option `", name, "' ", range])
        }
    })
}

/// Parses the value of `--find-renames` on git's scale of 60,000: a percentage, or digits after an implied decimal point.
/// Whatever follows is ignored (git-diff(1), `-M`). 0 stands for the default.
pub(crate) fn rename_score(value: &BStr) -> u32 {
    const SCALE_MAX: u64 = 60_000;
    /// Further digits are ignored.
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
    fn integers_have_units_and_limits() {
        let read = |text: &str| {
            integer("n", text.into()).map_err(|reply| String::from_utf8(reply.stderr).unwrap())
        };
        for (text, number) in [
            ("5", 5),
            ("-3", -3),
            (" +1k", 1024),
            ("1G", 1 << 30),
            ("010", 8),
            ("0x10", 16),
            ("0", 0),
        ] {
            assert_eq!(read(text), Ok(number), "{text}");
        }
        for (text, complaint) in [
            ("", "option `n' expects a numerical value"),
            (
                "x",
                "option `n' expects an integer value with an optional k/m/g suffix",
            ),
            (
                "5x",
                "option `n' expects an integer value with an optional k/m/g suffix",
            ),
            (
                "4g",
                "value 4g for option `n' not in range [-2147483648,2147483647]",
            ),
        ] {
            assert_eq!(read(text), Err(format!("error: {complaint}\n")), "{text}");
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
