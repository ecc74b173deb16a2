//! Bracket sets and escapes in Python's regular expressions.

use super::regular::{RegexError, literal};
use crate::node::digit;

/// What an escape stands for.
pub(super) enum Escaped {
    Letter(u8),
    /// A class, in the syntax of the `regex` crate.
    Class(&'static str),
}

/// Reads the rest of an escape after its backslash; anchors and group references are handled
/// elsewhere.
pub(super) fn escape(text: &[u8]) -> Result<(Escaped, &[u8]), RegexError> {
    let (first, rest) = text.split_first().ok_or(RegexError::Syntax)?;
    let escaped = match first {
        b'd' => Escaped::Class(r"\d"),
        b'D' => Escaped::Class(r"\D"),
        b's' => Escaped::Class(r"\s"),
        b'S' => Escaped::Class(r"\S"),
        b'w' => Escaped::Class(r"\w"),
        b'W' => Escaped::Class(r"\W"),
        b'a' => Escaped::Letter(7),
        b'f' => Escaped::Letter(12),
        b'n' => Escaped::Letter(b'\n'),
        b'r' => Escaped::Letter(b'\r'),
        b't' => Escaped::Letter(b'\t'),
        b'v' => Escaped::Letter(11),
        b'x' => {
            let (digits, rest) = rest.split_at_checked(2).ok_or(RegexError::Syntax)?;
            let value = digits.iter().try_fold(0u8, |sum, letter| {
                Some(sum.wrapping_shl(4) | digit(*letter)?)
            });
            return Ok((Escaped::Letter(value.ok_or(RegexError::Syntax)?), rest));
        }
        b'0'..=b'7' => {
            let len = text
                .iter()
                .take(3)
                .take_while(|byte| matches!(byte, b'0'..=b'7'))
                .count();
            let (digits, rest) = text.split_at(len);
            let value = digits.iter().fold(0u32, |sum, byte| {
                sum.saturating_mul(8)
                    .saturating_add(u32::from(byte.wrapping_sub(b'0')))
            });
            let letter = u8::try_from(value).map_err(|_| RegexError::Syntax)?;
            return Ok((Escaped::Letter(letter), rest));
        }
        letter if letter.is_ascii_alphanumeric() => return Err(RegexError::Syntax),
        other => Escaped::Letter(*other),
    };
    Ok((escaped, rest))
}

/// Reads one member of a set, or one end of a range.
fn member(text: &[u8]) -> Result<(Escaped, &[u8]), RegexError> {
    match text.split_first().ok_or(RegexError::Syntax)? {
        (b'\\', rest) => match rest.split_first() {
            Some((b'b', rest)) => Ok((Escaped::Letter(8), rest)),
            _ => escape(rest),
        },
        (letter, rest) => Ok((Escaped::Letter(*letter), rest)),
    }
}

/// Reads a set after its opening bracket; returns it with what follows the closing one.
pub(super) fn read(text: &[u8]) -> Result<(String, &[u8]), RegexError> {
    const WARNS: RegexError =
        RegexError::OnlyPython("a set that may get another meaning in Python");
    let mut set = String::from("[");
    let mut rest = text;
    if rest.starts_with(b"[") {
        return Err(WARNS);
    }
    if let Some(after) = rest.strip_prefix(b"^") {
        set.push('^');
        rest = after;
    }
    let mut is_first = true;
    loop {
        if let Some(after) = rest.strip_prefix(b"]").filter(|_| !is_first) {
            set.push(']');
            return Ok((set, after));
        }
        let is_operator = ["--", "&&", "~~", "||"]
            .iter()
            .any(|operator| rest.starts_with(operator.as_bytes()));
        if is_operator && !is_first {
            return Err(WARNS);
        }
        is_first = false;
        let (low, after) = member(rest)?;
        rest = after;
        let after = rest.strip_prefix(b"-");
        let Some(after) = after.filter(|after| !after.starts_with(b"]")) else {
            match low {
                Escaped::Letter(letter) => set.push_str(&literal(letter)),
                Escaped::Class(class) => set.push_str(class),
            }
            continue;
        };
        if after.starts_with(b"-") {
            return Err(WARNS);
        }
        let (high, after) = member(after)?;
        rest = after;
        match (low, high) {
            (Escaped::Letter(low), Escaped::Letter(high)) if low <= high => {
                set.push_str(&literal(low));
                set.push('-');
                set.push_str(&literal(high));
            }
            _ => return Err(RegexError::Syntax),
        }
    }
}
