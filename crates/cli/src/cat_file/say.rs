//! What is said on standard error meanwhile.

use crate::reply::labelled;

/// Whole lines on standard error.
pub(super) fn say(lines: &[impl AsRef<[u8]>]) {
    if lines.is_empty() {
        return;
    }
    let mut text = Vec::new();
    for line in lines {
        text.extend(labelled("", line.as_ref()));
    }
    // Nobody is left to be told if standard error cannot be written.
    let _ = crate::say::write(rustix::stdio::stderr(), &text);
}
