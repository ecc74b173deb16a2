//! What the benchmarks write down: JSON, tables, and sections of a document.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::Done;

const DOCUMENT: &str = "\
# Benchmarks

Made by `make bench` (`cargo run --release -p vigil-bench -- all`); the parts between markers are rewritten by
each run. The measured programs take turns, round by round, each round beginning with another one; a time is
the median of the rounds, and a ratio the median of the ratios within a round. Raw figures, with quartiles, are
in the JSON files beside this one.

## Listing a directory

Sorted names of one directory, hot cache, in processor time of the listing thread. Each step adds one idea to the one before; the last line opens the
directory, calls `getdents64` into the same memory until the end, and closes it, and looks at nothing. Scores
are relative to the first step, higher is faster.

<!-- listing: begin -->
<!-- listing: end -->

## Status of a working copy

The floor opens each tracked directory from its parent, calls `fstat` on it, `fstatat` on each tracked file,
and, where it lists, `getdents64` until the end; it does nothing else, in as many threads as there are cores.
Commands are measured from their start to their end, with all output read; daemons are asked through pipes,
once at their start (`first`) and then again (`hot`).

<!-- scan: begin -->
<!-- scan: end -->

## Objects and descriptions

`git cat-file` and `git describe` beside Vigil's, from their start to their end with all output read; of objects
that are asked for one after the other by one process, the median from the question to the end of the answer, with
a process between two pipes that answers without looking at anything as its floor. Memory is the most that was seen
of what is no file's.

<!-- objects: begin -->
<!-- objects: end -->

## Working copies of Mercurial's

`vigil hg status` beside `hg status` and `rhg status` in one working copy of 100,000 files: clean, with 10,000 files changed, and with
500,000 more that are ignored; from their start to their end with all output read. The daemon is asked by a process, too. By
`vigil-bench hg`, which `HG` and `RHG` tell where those programs are, with `--v1` on a dirstate of the first format.

<!-- hg: begin -->
<!-- hg: end -->
";

/// Writes `value` as JSON that is easy to compare.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Done<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(std::fs::write(path, text)?)
}

/// Replaces what is between the markers of `name` in the document, which is begun if it is not there.
pub(crate) fn replace_section(path: &Path, name: &str, text: &str) -> Done<()> {
    let old = std::fs::read_to_string(path).unwrap_or_else(|_| DOCUMENT.to_owned());
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

/// A table in Markdown, with numbers to the right.
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

/// A time with three digits that count and the unit that suits it.
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
        let once = with_section(DOCUMENT, "scan", "one").unwrap();
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
