//! Values that are numbers (`hg help config`, "Syntax").

use bstr::ByteSlice;

use crate::bytes::trim;

/// Parses an integer as Python does: there may be space around it, a sign, and single underscores between digits. One that is too
/// large becomes the largest.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let text = trim(text);
    let (is_negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        (b'+', digits) => (false, digits),
        _ => (false, text),
    };
    let mut groups = digits.split(|byte| *byte == b'_');
    let is_group = |group: &[u8]| !group.is_empty() && group.iter().all(u8::is_ascii_digit);
    if !groups.all(is_group) {
        return None;
    }
    let digits = digits.iter().filter(|byte| **byte != b'_');
    let number = digits.fold(0_i64, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add((digit - b'0').into())
    });
    Some(if is_negative { -number } else { number })
}

/// Checks a number of bytes, which may have a unit such as `kb`.
pub(super) fn byte_count(text: &[u8]) -> Option<()> {
    let text = trim(text).to_ascii_lowercase();
    let units = ["m", "k", "g", "kb", "mb", "gb", "b"];
    let mut units = units.iter();
    match units.find_map(|unit| text.strip_suffix(unit.as_bytes())) {
        Some(number) => trim(number).to_str().ok()?.parse::<f64>().ok().map(|_| ()),
        None => integer(&text).map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        for (text, number) in [
            ("0", Some(0)),
            (" -12\t", Some(-12)),
            ("+1_000", Some(1000)),
            ("99999999999999999999", Some(i64::MAX)),
            ("", None),
            ("-", None),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("1.5", None),
            ("1kb", None),
            ("0x1", None),
        ] {
            assert_eq!(integer(text.as_bytes()), number, "{text}");
        }
        for (text, is_count) in [
            ("4096", true),
            ("1.5 MB", true),
            ("7k", true),
            ("-1", true),
            ("2b", true),
            ("", false),
            ("k", false),
            ("1.5", false),
            ("1 tb", false),
        ] {
            assert_eq!(byte_count(text.as_bytes()).is_some(), is_count, "{text}");
        }
    }
}
