//! `vigil daemon status --format=json` (docs/json-daemon.md).

use bstr::ByteSlice;
use serde::Serialize;
use vigil_daemon::protocol::{Description, MonitorDescription, RepositoryDescription};

use super::{files, version};
use crate::output::json::{Text, serialized};

/// Raised when a reader of the previous schema could misunderstand the new one.
const SCHEMA: u32 = 1;

/// Writes the object and a line feed.
pub(super) fn write(daemon: &Description) -> Vec<u8> {
    let document = Document {
        schema: SCHEMA,
        pid: daemon.pid,
        version: version(daemon),
        running_s: daemon.running_s,
        connections: daemon.connections,
        files: files(daemon),
        watches: daemon.watches,
        memory: daemon.memory,
        questions: daemon.questions,
        declined: daemon.declined,
        median_us: daemon.median_us,
        last_us: daemon.last_us,
        repositories: daemon.repositories.iter().map(Repository::of).collect(),
        monitors: daemon.monitors.iter().map(Monitor::of).collect(),
    };
    serialized(&document, b'\n')
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    pid: u32,
    version: String,
    running_s: u64,
    connections: u64,
    files: u64,
    watches: u64,
    memory: u64,
    questions: u64,
    declined: u64,
    median_us: u64,
    last_us: u64,
    repositories: Vec<Repository<'a>>,
    monitors: Vec<Monitor<'a>>,
}

#[derive(Serialize)]
struct Monitor<'a> {
    socket: Text<'a>,
    path: Text<'a>,
}

impl<'a> Monitor<'a> {
    fn of(monitor: &'a MonitorDescription) -> Self {
        Self {
            socket: Text::of(&monitor.socket),
            path: Text::of(&monitor.path),
        }
    }
}

#[derive(Serialize)]
struct Repository<'a> {
    path: Text<'a>,
    files: u64,
    watches: Option<u64>,
    memory: Option<u64>,
    questions: u64,
    median_us: u64,
    last_us: u64,
    asked_s: u64,
    ahead: u64,
    audits: u64,
    differences: u64,
    scanned: Vec<Scanned<'a>>,
    scanned_more: u64,
}

impl<'a> Repository<'a> {
    fn of(repository: &'a RepositoryDescription) -> Self {
        let scanned = repository.scanned.iter();
        Self {
            path: Text::of(&repository.path),
            files: repository.files,
            watches: repository.watches,
            memory: repository.memory,
            questions: repository.questions,
            median_us: repository.median_us,
            last_us: repository.last_us,
            asked_s: repository.asked_s,
            ahead: repository.ahead,
            audits: repository.audits,
            differences: repository.differences,
            scanned: scanned
                .map(|(path, reason)| Scanned {
                    path: Text::of(path),
                    reason: Text(reason.as_bstr()),
                })
                .collect(),
            scanned_more: repository.scanned_more,
        }
    }
}

#[derive(Serialize)]
struct Scanned<'a> {
    path: Text<'a>,
    reason: Text<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_that_is_written_down_is_there() {
        let daemon = Description {
            pid: 7,
            program: "1.2.3 4.5.6".into(),
            questions: 9,
            repositories: vec![RepositoryDescription {
                path: "/a".into(),
                files: 3,
                scanned: vec![("dir".into(), "why".into())],
                scanned_more: 4,
                ..RepositoryDescription::default()
            }],
            monitors: vec![MonitorDescription {
                socket: "/a/.git/socket".into(),
                path: "/a".into(),
            }],
            ..Description::default()
        };
        let want = concat!(
            r#"{"schema":1,"pid":7,"version":"1.2.3","running_s":0,"connections":0,"files":3,"watches":0,"memory":0,"#,
            r#""questions":9,"declined":0,"median_us":0,"last_us":0,"repositories":[{"path":"/a","files":3,"watches":null,"#,
            r#""memory":null,"questions":0,"median_us":0,"last_us":0,"asked_s":0,"ahead":0,"audits":0,"differences":0,"scanned":[{"path":"dir","reason":"why"}],"scanned_more":4}],"#,
            r#""monitors":[{"socket":"/a/.git/socket","path":"/a"}]}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(write(&daemon)).unwrap(), want);
    }
}
