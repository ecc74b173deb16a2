//! The same as text: a line about the process, and a table of the repositories.

use bstr::BString;
use vigil_daemon::protocol::{Description, RepositoryDescription};
use vigil_model::escape::quoted;

use super::{files, version};
use crate::reply::bytes;
use crate::time::span;

const HEADINGS: [&str; 7] = [
    "files",
    "watches",
    "memory",
    "questions",
    "median",
    "last",
    "asked",
];

/// How many of the paths that are looked at for each question are named.
const NAMED_MAX: usize = 10;

/// One row: numbers, what they describe, and notes below it.
struct Row {
    cells: [String; HEADINGS.len()],
    name: BString,
    notes: Vec<BString>,
}

/// Writes the line about the process, a row for each repository, and the totals.
pub(super) fn write(daemon: &Description) -> Vec<u8> {
    let mut rows = vec![Row {
        cells: HEADINGS.map(str::to_owned),
        name: "repository".into(),
        notes: Vec::new(),
    }];
    for repository in &daemon.repositories {
        let unknown = || "-".to_owned();
        rows.push(Row {
            cells: [
                repository.files.to_string(),
                repository
                    .watches
                    .map_or_else(unknown, |count| count.to_string()),
                repository.memory.map_or_else(unknown, mebibytes),
                repository.questions.to_string(),
                ms(repository.median_us),
                ms(repository.last_us),
                format!("{} ago", span(repository.asked_s)),
            ],
            name: quoted(&repository.path),
            notes: looked_at(repository)
                .chain(differences(repository.differences))
                .collect(),
        });
    }
    rows.push(Row {
        cells: [
            files(daemon).to_string(),
            daemon.watches.to_string(),
            mebibytes(daemon.memory),
            daemon.questions.to_string(),
            ms(daemon.median_us),
            ms(daemon.last_us),
            String::new(),
        ],
        name: "total".into(),
        notes: Vec::new(),
    });
    let mut out = format!(
        "pid {}\nversion {}, running for {}, {} connected, {} left to those who asked\n\n",
        daemon.pid,
        version(daemon),
        span(daemon.running_s),
        daemon.connections,
        daemon.declined,
    )
    .into_bytes();
    let widths: [usize; HEADINGS.len()] = std::array::from_fn(|column| {
        let cells = rows.iter().filter_map(|row| row.cells.get(column));
        cells.map(String::len).max().unwrap_or_default()
    });
    for row in rows {
        for (cell, width) in row.cells.iter().zip(widths) {
            out.extend_from_slice(format!("{cell:>width$}  ").as_bytes());
        }
        out.extend_from_slice(&row.name);
        out.push(b'\n');
        for note in row.notes {
            out.extend_from_slice(b"    ");
            out.extend_from_slice(&note);
            out.push(b'\n');
        }
    }
    for monitor in &daemon.monitors {
        let (path, socket) = (quoted(&monitor.path), quoted(&monitor.socket));
        out.extend(bytes!["git asks about ", path, " at ", socket, "\n"]);
    }
    out
}

/// Notes on what is looked at for each question: the first ones, and how many more there are.
fn looked_at(repository: &RepositoryDescription) -> impl Iterator<Item = BString> {
    let named = repository.scanned.iter().take(NAMED_MAX);
    let more = repository
        .scanned_count()
        .saturating_sub(named.len() as u64);
    let named = named.map(|(path, reason)| {
        let path = match path.is_empty() {
            true => ".".into(),
            false => quoted(path),
        };
        bytes!["looked at each time: ", path, " (", quoted(reason), ")"].into()
    });
    let more = (more > 0).then(|| format!("looked at each time: {more} more").into());
    named.chain(more)
}

/// A note on cached results that were found wrong, if any.
fn differences(count: u64) -> Option<BString> {
    let text = format!("found wrong and forgotten: {count} (daemon.log beside the socket)");
    (count > 0).then(|| text.into())
}

fn ms(us: u64) -> String {
    format!("{}.{:03} ms", us / 1000, us % 1000)
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use vigil_daemon::protocol::MonitorDescription;

    use super::*;

    #[test]
    fn the_process_comes_first_and_numbers_stand_below_each_other() {
        let repository = |path: &str, files, watches| RepositoryDescription {
            path: path.into(),
            files,
            watches,
            questions: 2,
            median_us: 1500,
            last_us: 90,
            asked_s: files,
            ..RepositoryDescription::default()
        };
        let mut odd = repository("/odd\nname", 4000, Some(7));
        odd.memory = Some(3 << 19);
        odd.scanned = vec![
            ("a b".into(), "other file system".into()),
            ("".into(), "why".into()),
        ];
        odd.differences = 2;
        let mut few = repository("/few", 3, Some(8));
        few.scanned = (0..12).map(|_| ("b".into(), "why".into())).collect();
        few.scanned_more = 50_000;
        let daemon = Description {
            pid: 7,
            program: "1.2.3 4.5.6".into(),
            running_s: 7200,
            connections: 2,
            memory: 5 << 20,
            watches: 12,
            questions: 4,
            declined: 1,
            median_us: 1500,
            last_us: 90,
            repositories: vec![repository("/work", 3, None), odd, few],
            monitors: vec![MonitorDescription {
                socket: "/a\tb/.git/socket".into(),
                path: "/a\tb".into(),
            }],
        };
        let want = r#"pid 7
version 1.2.3, running for 2 h, 2 connected, 1 left to those who asked

files  watches   memory  questions    median      last    asked  repository
    3        -        -          2  1.500 ms  0.090 ms  3 s ago  /work
 4000        7  1.5 MiB          2  1.500 ms  0.090 ms  1 h ago  "/odd\nname"
    looked at each time: a b (other file system)
    looked at each time: . (why)
    found wrong and forgotten: 2 (daemon.log beside the socket)
    3        8        -          2  1.500 ms  0.090 ms  3 s ago  /few
NAMED
    looked at each time: 50002 more
 4006       12  5.0 MiB          4  1.500 ms  0.090 ms           total
git asks about "/a\tb" at "/a\tb/.git/socket"
"#;
        let named = ["    looked at each time: b (why)"; NAMED_MAX].join("\n");
        let want = want.replace("NAMED", &named);
        assert_eq!(String::from_utf8(write(&daemon)).unwrap(), want);
    }
}
