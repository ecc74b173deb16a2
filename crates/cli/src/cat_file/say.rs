//! Messages on standard error while the command runs.

use bstr::BString;

use crate::output::color::lines_with_hints;
use vigil_model::raw_text::text_bytes;

/// Writes whole lines to standard error, in which some bytes may be [shown by characters](vigil_model::raw_text).
pub(super) fn say_texts(lines: &[String]) {
    let lines: Vec<BString> = lines.iter().map(|line| text_bytes(line)).collect();
    say(&lines);
}

/// Writes whole lines to standard error.
pub(super) fn say(lines: &[BString]) {
    say_lines(lines, None);
}

/// Writes whole lines to standard error, with hints between these sequences.
pub(super) fn say_lines(lines: &[BString], hint_colors: Option<&[Vec<u8>; 2]>) {
    if !lines.is_empty() {
        crate::say::complain(&lines_with_hints(lines, hint_colors));
    }
}
