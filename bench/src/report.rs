//! The output of the benchmarks: JSON, tables, and sections of a document.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::Done;

/// Writes `value` as JSON that is easy to compare.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Done<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(std::fs::write(path, text)?)
}

/// Replaces the part of the document between the markers of `name`.
pub(crate) fn replace_section(path: &Path, name: &str, text: &str) -> Done<()> {
    let old = std::fs::read_to_string(path)
        .map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    let new = with_section(&old, name, text)
        .ok_or_else(|| format!("{}: no markers for {name}", path.display()))?;
    Ok(std::fs::write(path, new)?)
}

fn with_section(document: &str, name: &str, text: &str) -> Option<String> {
    let begin = format!("<!-- {name}: begin -->\n");
    let end = format!("<!-- {name}: end -->\n");
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{}\n\n{end}{after}", text.trim()))
}

/// A Markdown table with numbers aligned to the right.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let right = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        cells.all(|cell| {
            cell.is_empty() || cell == "–" || cell.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let mut text = format!("| {} |\n|", head.join(" | "));
    for column in 0..head.len() {
        text.push_str(if right(column) { "---:|" } else { "---|" });
    }
    text.push('\n');
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// Formats a time, given in microseconds, with three significant digits and a suitable unit.
pub(crate) fn microseconds(time: f64) -> String {
    let (value, unit) = match time {
        ..1e3 => (time, "µs"),
        ..1e6 => (time / 1e3, "ms"),
        _ => (time / 1e6, "s"),
    };
    let digits = match value {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(microseconds(1.234), "1.23 µs");
        assert_eq!(microseconds(12.34), "12.3 µs");
        assert_eq!(microseconds(123_456.0), "123 ms");
        assert_eq!(microseconds(2_500_000.0), "2.50 s");
    }

    #[test]
    fn sections_are_replaced() {
        let document = "before\n<!-- scan: begin -->\n<!-- scan: end -->\nafter\n";
        let once = with_section(document, "scan", "one").unwrap();
        let twice = with_section(&once, "scan", "two").unwrap();
        assert!(twice.contains("<!-- scan: begin -->\n\ntwo\n\n<!-- scan: end -->"));
        assert!(!twice.contains("one\n"));
        assert_eq!(with_section(&twice, "none", "x"), None);
    }

    #[test]
    fn tables() {
        let rows = [vec!["a".to_owned(), "1.0".to_owned()]];
        assert_eq!(
            table(&["x", "y"], &rows),
            "| x | y |\n|---|---:|\n| a | 1.0 |\n"
        );
    }
}
