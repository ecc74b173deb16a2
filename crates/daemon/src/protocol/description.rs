//! The description of a daemon.

use bstr::BString;
use vigil_model::bytes::{ByteReader, ByteWriter};

use super::fields::{Fields, each_field, number};

/// The description of a daemon: its load, and what it keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The process.
    pub pid: u32,
    /// The version of its program.
    pub program: BString,
    /// How long it has been running, in seconds.
    pub running_s: u64,
    /// The number of open connections.
    pub connections: u64,
    /// The memory that it uses, in bytes.
    pub memory: u64,
    /// The number of folders that it watches.
    pub watches: u64,
    /// The number of questions that it has answered.
    pub questions: u64,
    /// The number of questions that it has left to the client.
    pub declined: u64,
    /// The median time of recent answers, in microseconds.
    pub median_us: u64,
    /// The time of the last answer, in microseconds.
    pub last_us: u64,
    /// The repositories that it keeps in memory, the one that was asked about last first.
    pub repositories: Vec<RepositoryDescription>,
    /// The sockets at which git asks it, sorted by path.
    pub monitors: Vec<MonitorDescription>,
}

/// A socket at which git asks what changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorDescription {
    /// Its path.
    pub socket: BString,
    /// The top of its working tree.
    pub path: BString,
}

/// The description of what a daemon keeps of one repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryDescription {
    /// The top of its working tree.
    pub path: BString,
    /// The number of tracked files.
    pub files: u64,
    /// The number of its folders that are watched, if known.
    pub watches: Option<u64>,
    /// The memory that it uses, in bytes, if known.
    pub memory: Option<u64>,
    /// The number of questions about it that were answered.
    pub questions: u64,
    /// The median time of recent answers, in microseconds.
    pub median_us: u64,
    /// The time of the last answer, in microseconds.
    pub last_us: u64,
    /// The time since the last question, in seconds.
    pub asked_s: u64,
    /// How many times its answers were found ahead of questions.
    pub ahead: u64,
    /// The number of audits.
    pub audits: u64,
    /// The number of differences that all audits found.
    pub differences: u64,
    /// Paths that are looked at for each question, relative to the top of the working tree, with the reason. The
    /// list may be incomplete.
    pub scanned: Vec<(BString, BString)>,
    /// How many more there are.
    pub scanned_more: u64,
}

impl Description {
    pub(super) fn write(&self, body: &mut ByteWriter) {
        let mut fields = Fields(body);
        fields.number(1, self.pid.into());
        fields.text(2, &self.program);
        fields.number(3, self.running_s);
        fields.number(4, self.connections);
        fields.number(5, self.memory);
        fields.number(6, self.watches);
        fields.number(7, self.questions);
        fields.number(8, self.declined);
        fields.number(9, self.median_us);
        fields.number(10, self.last_us);
        for repository in &self.repositories {
            fields.nested(11, |fields| repository.write(fields));
        }
        for monitor in &self.monitors {
            fields.nested(12, |fields| {
                fields.text(1, &monitor.socket);
                fields.text(2, &monitor.path);
            });
        }
    }

    /// Decodes all of `body`. Missing fields keep their defaults: zero, empty or `None`.
    pub(super) fn read(body: &mut ByteReader<'_>) -> Option<Self> {
        let mut daemon = Self::default();
        each_field(body, |key, value| {
            match key {
                1 => daemon.pid = u32::try_from(number(value)?).ok()?,
                2 => daemon.program = value.into(),
                3 => daemon.running_s = number(value)?,
                4 => daemon.connections = number(value)?,
                5 => daemon.memory = number(value)?,
                6 => daemon.watches = number(value)?,
                7 => daemon.questions = number(value)?,
                8 => daemon.declined = number(value)?,
                9 => daemon.median_us = number(value)?,
                10 => daemon.last_us = number(value)?,
                11 => daemon
                    .repositories
                    .push(RepositoryDescription::read(value)?),
                12 => {
                    let (socket, path) = read_pair(value)?;
                    daemon.monitors.push(MonitorDescription { socket, path });
                }
                _ => {}
            }
            Some(())
        })?;
        Some(daemon)
    }
}

impl RepositoryDescription {
    /// How many paths are looked at for each question, named or not.
    pub fn scanned_count(&self) -> u64 {
        self.scanned_more.saturating_add(self.scanned.len() as u64)
    }

    fn write(&self, fields: &mut Fields<'_>) {
        fields.text(1, &self.path);
        fields.number(2, self.files);
        if let Some(watches) = self.watches {
            fields.number(3, watches);
        }
        if let Some(memory) = self.memory {
            fields.number(4, memory);
        }
        fields.number(5, self.questions);
        fields.number(6, self.median_us);
        fields.number(7, self.last_us);
        fields.number(8, self.asked_s);
        fields.number(10, self.ahead);
        if self.scanned_more > 0 {
            fields.number(11, self.scanned_more);
        }
        fields.number(20, self.audits);
        fields.number(21, self.differences);
        for (path, reason) in &self.scanned {
            fields.nested(9, |fields| {
                fields.text(1, path);
                fields.text(2, reason);
            });
        }
    }

    fn read(body: &[u8]) -> Option<Self> {
        let mut repository = Self::default();
        each_field(&mut ByteReader(body), |key, value| {
            match key {
                1 => repository.path = value.into(),
                2 => repository.files = number(value)?,
                3 => repository.watches = Some(number(value)?),
                4 => repository.memory = Some(number(value)?),
                5 => repository.questions = number(value)?,
                6 => repository.median_us = number(value)?,
                7 => repository.last_us = number(value)?,
                8 => repository.asked_s = number(value)?,
                9 => repository.scanned.push(read_pair(value)?),
                10 => repository.ahead = number(value)?,
                11 => repository.scanned_more = number(value)?,
                20 => repository.audits = number(value)?,
                21 => repository.differences = number(value)?,
                _ => {}
            }
            Some(())
        })?;
        Some(repository)
    }
}

/// Decodes two texts, with the keys 1 and 2.
fn read_pair(body: &[u8]) -> Option<(BString, BString)> {
    let mut pair = <(BString, BString)>::default();
    each_field(&mut ByteReader(body), |key, value| {
        match key {
            1 => pair.0 = value.into(),
            2 => pair.1 = value.into(),
            _ => {}
        }
        Some(())
    })?;
    Some(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> Description {
        Description {
            pid: 1,
            program: "1.2.3".into(),
            running_s: 9,
            connections: 11,
            memory: 4,
            watches: 10,
            questions: 5,
            declined: 6,
            median_us: 7,
            last_us: u64::MAX,
            repositories: vec![
                RepositoryDescription {
                    path: BString::from(b"/a\xff".to_vec()),
                    files: 3,
                    watches: Some(12),
                    memory: Some(13),
                    questions: 14,
                    median_us: 15,
                    last_us: 16,
                    asked_s: 17,
                    ahead: 7,
                    audits: 4,
                    differences: 1,
                    scanned: vec![("dir".into(), "why".into()), ("".into(), "".into())],
                    scanned_more: 18,
                },
                RepositoryDescription::default(),
            ],
            monitors: vec![
                MonitorDescription {
                    socket: "/a/socket".into(),
                    path: BString::from(b"/a\xff".to_vec()),
                },
                MonitorDescription::default(),
            ],
        }
    }

    fn written() -> Vec<u8> {
        let mut body = ByteWriter::default();
        description().write(&mut body);
        body.0
    }

    #[test]
    fn what_is_written_is_read_and_nothing_that_is_cut_inside_a_field() {
        let body = written();
        assert_eq!(
            Description::read(&mut ByteReader(&body)),
            Some(description())
        );
        let mut ends = Vec::new();
        let mut rest = ByteReader(&body);
        while !rest.0.is_empty() {
            ends.push(body.len() - rest.0.len());
            rest.u32().and_then(|_| rest.slice()).unwrap();
        }
        for len in 0..body.len() {
            let read = Description::read(&mut ByteReader(&body[..len]));
            assert_eq!(read.is_some(), ends.contains(&len), "{len}");
        }
    }

    #[test]
    fn fields_that_are_not_known_are_passed_over_wherever_they_stand() {
        let unknown = |fields: &mut Fields<'_>| fields.text(99, b"from a later version");
        let mut body = ByteWriter::default();
        unknown(&mut Fields(&mut body));
        description().write(&mut body);
        unknown(&mut Fields(&mut body));
        Fields(&mut body).nested(11, |fields| {
            unknown(fields);
            fields.nested(9, unknown);
        });
        let mut want = description();
        want.repositories.push(RepositoryDescription {
            scanned: vec![Default::default()],
            ..RepositoryDescription::default()
        });
        assert_eq!(Description::read(&mut ByteReader(&body.0)), Some(want));
    }

    #[test]
    fn a_number_of_another_length_is_none() {
        for value in [&b""[..], &[0; 7], &[0; 9]] {
            let mut body = ByteWriter::default();
            Fields(&mut body).text(4, value);
            assert_eq!(Description::read(&mut ByteReader(&body.0)), None);
        }
    }
}
