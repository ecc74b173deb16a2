//! Messages on standard error while the command runs.

use bstr::BString;

use crate::reply::labelled;
use vigil_model::raw_text::text_bytes;

/// Writes whole lines to standard error, in which some bytes may be [shown by characters](vigil_model::raw_text).
pub(super) fn say_texts(lines: &[String]) {
    let lines: Vec<BString> = lines.iter().map(|line| text_bytes(line)).collect();
    say(&lines);
}

/// Writes whole lines to standard error.
pub(super) fn say(lines: &[BString]) {
    if lines.is_empty() {
        return;
    }
    let mut text = Vec::new();
    for line in lines {
        text.extend(labelled("", line));
    }
    crate::say::complain(&text);
}
