//! The parameters of `diff.dirstat`: of no effect on a status, but git reports those that it does not know.

use bstr::{BStr, ByteSlice};
use vigil_model::raw_text::raw;

/// The parameters that are words.
const WORDS: [&str; 5] = ["changes", "lines", "files", "noncumulative", "cumulative"];

/// Returns git's warning about the parameters in `value` that it does not know, if there is any.
pub(super) fn warning(value: &BStr) -> Option<String> {
    if value.is_empty() {
        return None;
    }
    let complaints: Vec<String> = value.split_str(",").filter_map(complaint).collect();
    (!complaints.is_empty()).then(|| {
        format!(
            "warning: Found errors in 'diff.dirstat' config variable:\n{}",
            complaints.concat()
        )
    })
}

/// Returns a line about one parameter if git does not know it.
fn complaint(parameter: &[u8]) -> Option<String> {
    let is_word = WORDS.iter().any(|word| word.as_bytes() == parameter);
    let is_number = parameter.first().is_some_and(u8::is_ascii_digit);
    let what = match is_number {
        false if is_word => return None,
        true if is_percentage(parameter) => return None,
        true => "Failed to parse dirstat cut-off percentage",
        false => "Unknown dirstat parameter",
    };
    Some(format!("  {what} '{}'\n", raw(parameter)))
}

/// Whether `text` is digits, which a point and more digits may follow. git also takes a point alone.
fn is_percentage(text: &[u8]) -> bool {
    let (whole, fraction) = text.split_once_str(".").unwrap_or((text, b""));
    whole.iter().chain(fraction).all(u8::is_ascii_digit)
}
