//! The messages, and their encoding.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::BString;
use vigil_engine::prompt::PromptRequest;
use vigil_model::bytes::{ByteReader, ByteWriter};

use super::{
    BasisQuestion, Description, GitSocketAction, GitSocketQuestion, Hello, KnownBy,
    MonitorQuestion, PromptQuestion, ProtocolError, StatusQuestion, Terminal, begin_frame,
    end_frame,
};

/// The beginning of a hello in every version of the protocol.
const MAGIC: [u8; 8] = *b"vigil\r\n\0";

const HELLO: u8 = 1;
const PING: u8 = 2;
const STOP: u8 = 3;
const DESCRIBE: u8 = 4;
const STATUS: u8 = 5;
const PROMPT: u8 = 6;
const MONITOR: u8 = 7;
const GIT_SOCKET: u8 = 8;
const WATCH: u8 = 10;
const AUDIT: u8 = 11;
const BASIS: u8 = 12;
const WELCOME: u8 = 65;
const REFUSED: u8 = 66;
const DONE: u8 = 67;
const DESCRIPTION: u8 = 68;
const ANSWER: u8 = 69;
const RECORD: u8 = 70;
const YOURSELF: u8 = 71;
const CHANGED: u8 = 72;
const KNOWN_BY: u8 = 73;
const AT_WORK: u8 = 74;

/// The actions of a [`GitSocketQuestion`], by number.
const GIT_SOCKET_ACTIONS: [GitSocketAction; 3] = [
    GitSocketAction::Status,
    GitSocketAction::Open,
    GitSocketAction::Close,
];

/// A message from a client to a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The client's greeting; sent once, first.
    Hello(Hello),
    /// Asks whether the daemon is there.
    Ping,
    /// Asks the daemon to end.
    Stop,
    /// Asks for a description of the daemon.
    Describe,
    /// Asks the daemon to compare everything that it keeps with the disk.
    Audit,
    /// Asks what `vigil status` prints.
    Status(StatusQuestion),
    /// Asks what gitstatusd prints.
    Prompt(PromptQuestion),
    /// Asks what `vigil status` prints, now and whenever that changes.
    Watch(StatusQuestion),
    /// Asks what a file system monitor tells git.
    Monitor(MonitorQuestion),
    /// Asks about the socket of git's builtin monitor.
    GitSocket(GitSocketQuestion),
    /// Asks what the answers for some paths rest on.
    Basis(BasisQuestion),
}

/// A message from a daemon to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The daemon's greeting.
    Welcome {
        /// The version of its program.
        program: BString,
        /// The process.
        pid: u32,
    },
    /// The reason why the daemon ends the connection.
    Refused(BString),
    /// The daemon is there, or it will end.
    Done,
    /// The description of the daemon.
    Description(Description),
    /// The bytes for standard output and error, and the exit code.
    Answer {
        /// Standard output.
        stdout: Vec<u8>,
        /// Standard error.
        stderr: Vec<u8>,
        /// The exit code.
        code: u8,
    },
    /// A record as gitstatusd writes it.
    Record(Vec<u8>),
    /// The daemon has no answer, for this reason: the client must compute it itself.
    Yourself(BString),
    /// The changes, as git's hook prints them.
    Changed(Vec<u8>),
    /// What the answer for each path of the question rests on.
    KnownBy(Vec<KnownBy>),
    /// The answer is being worked on, and will follow.
    AtWork,
}

impl Request {
    /// Encodes the message as a frame.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut body = begin_frame(0);
        let kind = match self {
            Self::Hello(hello) => {
                body.array(&MAGIC);
                body.u32(hello.protocol);
                body.bytes(&hello.program);
                body.bytes(&hello.view);
                HELLO
            }
            Self::Ping => PING,
            Self::Stop => STOP,
            Self::Describe => DESCRIBE,
            Self::Audit => AUDIT,
            Self::Status(question) => {
                status(&mut body, question);
                STATUS
            }
            Self::Watch(question) => {
                status(&mut body, question);
                WATCH
            }
            Self::Prompt(question) => {
                let request = &question.request;
                for flag in [
                    request.skip_index,
                    request.each_untracked_file,
                    request.ignore_status_show_untracked_files,
                    request.ignore_bash_show_untracked_files,
                    request.ignore_bash_show_dirty_state,
                    question.from_git_dir,
                ] {
                    body.u32(u32::from(flag));
                }
                for count in [
                    request.staged_max,
                    request.unstaged_max,
                    request.conflicted_max,
                    request.untracked_max,
                    request.index_size_max,
                    question.summary_len_max,
                ] {
                    number(&mut body, count as u64);
                }
                body.optional(request.threads_max, |body, count| {
                    number(body, count as u64);
                });
                body.bytes(&question.id);
                path(&mut body, &question.directory);
                pairs(&mut body, &question.variables);
                PROMPT
            }
            Self::Monitor(question) => {
                path(&mut body, &question.directory);
                pairs(&mut body, &question.variables);
                body.optional(question.index.as_ref(), |body, index| body.bytes(index));
                body.bytes(&question.token);
                MONITOR
            }
            Self::GitSocket(question) => {
                path(&mut body, &question.directory);
                pairs(&mut body, &question.variables);
                let action = (0..)
                    .zip(GIT_SOCKET_ACTIONS)
                    .find(|(_, action)| *action == question.action);
                body.u32(action.map_or(0, |(number, _)| number));
                GIT_SOCKET
            }
            Self::Basis(question) => {
                path(&mut body, &question.directory);
                pairs(&mut body, &question.variables);
                list(&mut body, &question.paths);
                body.u32(u32::from(question.is_of_mercurial));
                BASIS
            }
        };
        end_frame(kind, body)
    }

    /// Decodes the message of `kind` with `body`.
    ///
    /// # Errors
    /// The message is not a valid request, or it is a hello in another version of the protocol.
    pub fn from_frame(kind: u8, body: &[u8]) -> Result<Self, ProtocolError> {
        if kind == HELLO {
            return hello(body).map(Self::Hello);
        }
        whole(body, |body| {
            Some(match kind {
                PING => Self::Ping,
                STOP => Self::Stop,
                DESCRIBE => Self::Describe,
                AUDIT => Self::Audit,
                STATUS => Self::Status(read_status(body)?),
                WATCH => Self::Watch(read_status(body)?),
                PROMPT => Self::Prompt(read_prompt(body)?),
                MONITOR => Self::Monitor(MonitorQuestion {
                    directory: read_path(body)?,
                    variables: read_pairs(body)?,
                    index: read_optional(body, ByteReader::bytes)?,
                    token: body.bytes()?,
                }),
                GIT_SOCKET => Self::GitSocket(GitSocketQuestion {
                    directory: read_path(body)?,
                    variables: read_pairs(body)?,
                    action: *GIT_SOCKET_ACTIONS.get(body.u32()? as usize)?,
                }),
                BASIS => Self::Basis(BasisQuestion {
                    directory: read_path(body)?,
                    variables: read_pairs(body)?,
                    paths: read_list(body, ByteReader::bytes)?,
                    is_of_mercurial: read_flag(body)?,
                }),
                _ => return None,
            })
        })
        .ok_or(ProtocolError::Message(kind))
    }
}

fn hello(body: &[u8]) -> Result<Hello, ProtocolError> {
    let mut body = ByteReader(body);
    if body.array() != Some(MAGIC) {
        return Err(ProtocolError::NoHello);
    }
    let protocol = body.u32().ok_or(ProtocolError::NoHello)?;
    // The rest of a hello in another version may have any format.
    if protocol != super::PROTOCOL {
        return Err(ProtocolError::Version(protocol));
    }
    let program = body.bytes();
    let view = body.bytes();
    let hello = program.zip(view).filter(|_| body.0.is_empty());
    let (program, view) = hello.ok_or(ProtocolError::Message(HELLO))?;
    Ok(Hello {
        protocol,
        program,
        view,
    })
}

fn status(body: &mut ByteWriter, question: &StatusQuestion) {
    list(body, &question.arguments);
    path(body, &question.directory);
    number(body, question.directory_id.0);
    number(body, question.directory_id.1);
    pairs(body, &question.variables);
    let terminal = question.terminal;
    body.u32(u32::from(terminal.is_output));
    body.u32(u32::from(terminal.is_errors));
    body.optional(terminal.width, ByteWriter::u32);
    body.u32(u32::from(question.is_of_mercurial));
}

fn read_status(body: &mut ByteReader<'_>) -> Option<StatusQuestion> {
    Some(StatusQuestion {
        arguments: read_list(body, ByteReader::bytes)?,
        directory: read_path(body)?,
        directory_id: (read_number(body)?, read_number(body)?),
        variables: read_pairs(body)?,
        terminal: Terminal {
            is_output: read_flag(body)?,
            is_errors: read_flag(body)?,
            width: read_optional(body, ByteReader::u32)?,
        },
        is_of_mercurial: read_flag(body)?,
    })
}

fn read_prompt(body: &mut ByteReader<'_>) -> Option<PromptQuestion> {
    let mut request = PromptRequest {
        skip_index: read_flag(body)?,
        each_untracked_file: read_flag(body)?,
        ignore_status_show_untracked_files: read_flag(body)?,
        ignore_bash_show_untracked_files: read_flag(body)?,
        ignore_bash_show_dirty_state: read_flag(body)?,
        ..PromptRequest::EVERYTHING
    };
    let from_git_dir = read_flag(body)?;
    request.staged_max = read_count(body)?;
    request.unstaged_max = read_count(body)?;
    request.conflicted_max = read_count(body)?;
    request.untracked_max = read_count(body)?;
    request.index_size_max = read_count(body)?;
    let summary_len_max = read_count(body)?;
    request.threads_max = read_optional(body, read_count)?;
    Some(PromptQuestion {
        request,
        summary_len_max,
        id: body.bytes()?,
        directory: read_path(body)?,
        from_git_dir,
        variables: read_pairs(body)?,
    })
}

impl Response {
    /// Encodes the message as a frame.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut body = begin_frame(match self {
            Self::Answer { stdout, stderr, .. } => stdout.len().saturating_add(stderr.len()),
            Self::Record(told) | Self::Changed(told) => told.len(),
            _ => 0,
        });
        let kind = match self {
            Self::Welcome { program, pid } => {
                body.bytes(program);
                body.u32(*pid);
                WELCOME
            }
            Self::Refused(reason) => {
                body.bytes(reason);
                REFUSED
            }
            Self::Done => DONE,
            Self::Description(daemon) => {
                daemon.write(&mut body);
                DESCRIPTION
            }
            Self::Answer {
                stdout,
                stderr,
                code,
            } => {
                body.u32(u32::from(*code));
                body.bytes(stdout);
                body.bytes(stderr);
                ANSWER
            }
            Self::Record(record) => {
                body.bytes(record);
                RECORD
            }
            Self::Yourself(reason) => {
                body.bytes(reason);
                YOURSELF
            }
            Self::Changed(told) => {
                body.bytes(told);
                CHANGED
            }
            Self::KnownBy(all) => {
                body.u32(u32::try_from(all.len()).unwrap_or(u32::MAX));
                for known in all {
                    let mut fields = ByteWriter::default();
                    known.write(&mut fields);
                    body.bytes(&fields.0);
                }
                KNOWN_BY
            }
            Self::AtWork => AT_WORK,
        };
        end_frame(kind, body)
    }

    /// Decodes the message of `kind` with `body`.
    ///
    /// # Errors
    /// The message is not a valid response.
    pub fn from_frame(kind: u8, body: &[u8]) -> Result<Self, ProtocolError> {
        whole(body, |body| {
            Some(match kind {
                WELCOME => Self::Welcome {
                    program: body.bytes()?,
                    pid: body.u32()?,
                },
                REFUSED => Self::Refused(body.bytes()?),
                DONE => Self::Done,
                DESCRIPTION => Self::Description(Description::read(body)?),
                ANSWER => {
                    let code = u8::try_from(body.u32()?).ok()?;
                    Self::Answer {
                        stdout: body.slice()?.to_vec(),
                        stderr: body.slice()?.to_vec(),
                        code,
                    }
                }
                RECORD => Self::Record(body.slice()?.to_vec()),
                YOURSELF => Self::Yourself(body.bytes()?),
                CHANGED => Self::Changed(body.slice()?.to_vec()),
                AT_WORK => Self::AtWork,
                KNOWN_BY => Self::KnownBy(read_list(body, |body| KnownBy::read(body.slice()?))?),
                _ => return None,
            })
        })
        .ok_or(ProtocolError::Message(kind))
    }
}

/// Returns the result of `read` if it reads all of `body`.
fn whole<T>(body: &[u8], read: impl FnOnce(&mut ByteReader<'_>) -> Option<T>) -> Option<T> {
    let mut body = ByteReader(body);
    let read = read(&mut body);
    read.filter(|_| body.0.is_empty())
}

fn number(body: &mut ByteWriter, value: u64) {
    body.array(&value.to_le_bytes());
}

fn read_number(body: &mut ByteReader<'_>) -> Option<u64> {
    body.array().map(u64::from_le_bytes)
}

fn read_count(body: &mut ByteReader<'_>) -> Option<usize> {
    read_number(body).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// Reads a flag, which must be 0 or 1.
fn read_flag(body: &mut ByteReader<'_>) -> Option<bool> {
    match body.u32()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn read_optional<'b, T>(
    body: &mut ByteReader<'b>,
    read: impl FnOnce(&mut ByteReader<'b>) -> Option<T>,
) -> Option<Option<T>> {
    match read_flag(body)? {
        false => Some(None),
        true => read(body).map(Some),
    }
}

fn path(body: &mut ByteWriter, path: &Path) {
    body.bytes(path.as_os_str().as_bytes());
}

/// Reads a path, which must be absolute and without NUL.
fn read_path(body: &mut ByteReader<'_>) -> Option<PathBuf> {
    let bytes = body.slice()?;
    let is_path = bytes.starts_with(b"/") && !bytes.contains(&0);
    is_path.then(|| PathBuf::from(OsStr::from_bytes(bytes)))
}

fn list(body: &mut ByteWriter, values: &[BString]) {
    body.u32(u32::try_from(values.len()).unwrap_or(u32::MAX));
    for value in values {
        body.bytes(value);
    }
}

/// Reads a list. Memory is only taken for values that are there, not for the count that is claimed.
fn read_list<'b, T>(
    body: &mut ByteReader<'b>,
    read: impl Fn(&mut ByteReader<'b>) -> Option<T>,
) -> Option<Vec<T>> {
    let count = body.u32()?;
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(read(body)?);
    }
    Some(values)
}

fn pairs(body: &mut ByteWriter, values: &[(BString, BString)]) {
    body.u32(u32::try_from(values.len()).unwrap_or(u32::MAX));
    for (name, value) in values {
        body.bytes(name);
        body.bytes(value);
    }
}

fn read_pairs(body: &mut ByteReader<'_>) -> Option<Vec<(BString, BString)>> {
    read_list(body, |body| Some((body.bytes()?, body.bytes()?)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use vigil_engine::session::LastChange;
    use vigil_model::timestamp::Timestamp;

    use super::super::{ANSWER_LEN_MAX, REQUEST_LEN_MAX, RESPONSE_LEN_MAX};
    use super::*;

    fn requests() -> Vec<Request> {
        let variables = vec![
            ("HOME".into(), "/home/a".into()),
            ("PATH".into(), "".into()),
        ];
        vec![
            Request::Hello(Hello::new("view".into())),
            Request::Ping,
            Request::Stop,
            Request::Describe,
            Request::Audit,
            Request::Status(StatusQuestion {
                arguments: vec!["-s".into(), BString::from(b"a\xffb".to_vec()), "".into()],
                directory: "/a b".into(),
                directory_id: (7, u64::MAX),
                variables: variables.clone(),
                terminal: Terminal {
                    is_output: true,
                    is_errors: false,
                    width: Some(80),
                },
                is_of_mercurial: true,
            }),
            Request::Prompt(PromptQuestion {
                request: PromptRequest {
                    skip_index: true,
                    staged_max: 3,
                    unstaged_max: usize::MAX,
                    threads_max: Some(2),
                    ignore_bash_show_dirty_state: true,
                    ..PromptRequest::EVERYTHING
                },
                summary_len_max: 256,
                id: "7\x1f".into(),
                directory: "/a".into(),
                from_git_dir: true,
                variables: variables.clone(),
            }),
            Request::Watch(StatusQuestion {
                directory: "/a".into(),
                variables: variables.clone(),
                ..StatusQuestion::default()
            }),
            Request::Monitor(MonitorQuestion {
                directory: "/a".into(),
                variables: variables.clone(),
                index: Some(".git/index".into()),
                token: BString::from(b"vigil:\xff".to_vec()),
            }),
            Request::GitSocket(GitSocketQuestion {
                directory: "/a".into(),
                variables: variables.clone(),
                action: GitSocketAction::Close,
            }),
            Request::Basis(BasisQuestion {
                directory: "/a".into(),
                variables,
                paths: vec!["".into(), BString::from(b"a\xff\n".to_vec())],
                is_of_mercurial: true,
            }),
        ]
    }

    fn responses() -> Vec<Response> {
        vec![
            Response::Welcome {
                program: "1.2.3".into(),
                pid: 7,
            },
            Response::Refused("no".into()),
            Response::Done,
            Response::AtWork,
            Response::Answer {
                stdout: b"out".to_vec(),
                stderr: Vec::new(),
                code: 3,
            },
            Response::Record(b"1\x1f0\x1e".to_vec()),
            Response::Yourself("why".into()),
            Response::Changed(b"vigil:1\0a\0".to_vec()),
            Response::KnownBy(vec![
                KnownBy::default(),
                KnownBy {
                    looked_at_all: Timestamp { s: -1, ns: 999 },
                    heard: Some(LastChange {
                        path: BString::from(b"\xff".to_vec()),
                        at: Timestamp { s: i64::MAX, ns: 1 },
                        is_looked_at: true,
                    }),
                    each_time: Some("why".into()),
                },
            ]),
        ]
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else_is() {
        for request in requests() {
            let frame = request.to_frame();
            let (kind, body) = (frame[4], &frame[5..]);
            assert_eq!(Request::from_frame(kind, body), Ok(request.clone()));
            for len in 0..body.len() {
                assert!(Request::from_frame(kind, &body[..len]).is_err());
            }
            assert!(Request::from_frame(kind, &[body, b"x"].concat()).is_err());
        }
        for response in responses() {
            let frame = response.to_frame();
            let (kind, body) = (frame[4], &frame[5..]);
            assert_eq!(Response::from_frame(kind, body), Ok(response.clone()));
            for len in 0..body.len() {
                assert!(Response::from_frame(kind, &body[..len]).is_err());
            }
            assert!(Response::from_frame(kind, &[body, b"x"].concat()).is_err());
        }
        for kind in [0, 9, 13, 64, 75, 255] {
            let unknown = Err(ProtocolError::Message(kind));
            assert_eq!(Request::from_frame(kind, b""), unknown);
            assert!(Response::from_frame(kind, b"").is_err());
        }
    }

    const DESCRIPTION_OF_PROTOCOL: &str = include_str!("../../../../docs/protocol.md");

    /// The numbers in the first column of the tables below the heading `title`.
    fn documented(title: &str) -> BTreeSet<u8> {
        let (_, section) = DESCRIPTION_OF_PROTOCOL.split_once(title).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let first_cells = section.lines().filter_map(|line| line.split('|').nth(1));
        first_cells
            .filter_map(|cell| cell.trim().parse().ok())
            .collect()
    }

    #[test]
    fn the_description_lists_every_message_and_the_limits() {
        let kinds = requests().iter().map(|one| one.to_frame()[4]).collect();
        assert_eq!(documented("## Messages of the client\n"), kinds);
        let description = Response::Description(Description::default());
        let responses = responses().into_iter().chain([description]);
        let kinds: BTreeSet<u8> = responses.map(|one| one.to_frame()[4]).collect();
        let mut documented = documented("## Messages of the daemon\n");
        // The keys of fields are listed there, too.
        documented.retain(|number| *number >= WELCOME);
        assert_eq!(documented, kinds);
        let text = DESCRIPTION_OF_PROTOCOL.replace([',', '.'], "");
        for len_max in [REQUEST_LEN_MAX, ANSWER_LEN_MAX, RESPONSE_LEN_MAX] {
            assert!(text.contains(&format!(" {len_max} ")), "{len_max}");
        }
    }

    #[test]
    fn another_version_is_told_from_garbage() {
        let body = [&MAGIC[..], &9u32.to_le_bytes(), b"whatever"].concat();
        let version = Err(ProtocolError::Version(9));
        assert_eq!(Request::from_frame(HELLO, &body), version);
        for garbage in [&b"GET / HTTP/1.1"[..], &MAGIC[..7], &MAGIC[..]] {
            let refused = Err(ProtocolError::NoHello);
            assert_eq!(Request::from_frame(HELLO, garbage), refused);
        }
    }

    #[test]
    fn only_an_absolute_path_is_a_directory() {
        for directory in ["", "a", "/a\0b"] {
            let question = StatusQuestion {
                directory: directory.into(),
                ..StatusQuestion::default()
            };
            let frame = Request::Status(question).to_frame();
            assert!(Request::from_frame(frame[4], &frame[5..]).is_err());
        }
    }
}
