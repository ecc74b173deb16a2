//! Test helpers: blobs as `git cat-file` shows them, and as they are converted here.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output};
use std::sync::Arc;

use bstr::{BStr, BString};
use gix_hash::{ObjectId, oid};

use super::{Converter, FilterStderr, Settings};
use crate::attribute_files::attribute_files;
use vigil_git::environment::Environment;
use vigil_git::repository::{Repository, discover};
use vigil_rules::attributes::{Attributes, Blobs, IndexBlobs};
use vigil_rules::messages::Messages;
use vigil_testkit::sandbox::{Sandbox, run_with_input};

/// The output of a run, and the messages of git itself: the programs that it starts may write more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) stdout: BString,
    pub(crate) messages: Vec<String>,
    pub(crate) code: i32,
}

impl Answer {
    pub(crate) fn of(output: Output) -> Self {
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let by_git = |line: &&str| {
            ["fatal: ", "error: ", "warning: ", "hint: "]
                .iter()
                .any(|prefix| line.starts_with(prefix))
        };
        Self {
            stdout: output.stdout.into(),
            messages: messages.lines().filter(by_git).map(str::to_owned).collect(),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

/// A blob of the index or of a tree, or no blob at all.
pub(crate) struct Named {
    pub(crate) directory: std::path::PathBuf,
    /// The part before the path, such as `HEAD:`.
    pub(crate) prefix: Option<&'static str>,
}

impl IndexBlobs for Named {
    fn blob(&self, path: &BStr) -> Option<Vec<u8>> {
        let name = OsString::from_iter([OsStr::new(self.prefix?), OsStr::from_bytes(path)]);
        let mut git = Command::new("git");
        let git = git.current_dir(&self.directory).args(["cat-file", "blob"]);
        let output = git.arg(name).output().unwrap();
        output.status.success().then_some(output.stdout)
    }
}

/// One run in a repository.
pub(crate) struct Run {
    pub(crate) repository: Repository,
    pub(crate) attributes: Arc<Attributes>,
    pub(crate) converter: Converter,
    pub(crate) messages: Arc<Messages>,
}

impl Run {
    /// Starts a run as git would in the directory `place` of the fixture. No index is read.
    pub(crate) fn start(fixture: &Fixture, place: &str, variables: &[(&str, &str)]) -> Self {
        let directory = fixture.path(place);
        let none = |prefix| Named {
            directory: directory.clone(),
            prefix,
        };
        let blobs = Blobs {
            index: Arc::new(none(None)),
            tree: None,
        };
        Self::with_blobs(fixture, place, variables, blobs)
    }

    pub(crate) fn with_blobs(
        fixture: &Fixture,
        place: &str,
        variables: &[(&str, &str)],
        blobs: Blobs,
    ) -> Self {
        let directory = fixture.path(place);
        let variables = environment(fixture, variables);
        let environment = Environment::new(variables, &directory);
        let repository = discover(&environment, &directory).unwrap();
        let settings = attribute_files(&repository).unwrap();
        let messages: Arc<Messages> = Arc::default();
        let attributes = Arc::new(Attributes::new(settings, blobs, Arc::clone(&messages)));
        let settings = Settings::of(&repository, FilterStderr::Discard).unwrap();
        Self {
            repository,
            converter: Converter::new(settings, Arc::clone(&attributes)),
            attributes,
            messages,
        }
    }

    /// Does `--filters`, or another `convert`, for each of the requests.
    pub(crate) fn batch<E: std::fmt::Display>(
        self,
        requests: &[Request],
        convert: impl Fn(&Self, &BStr, &oid, &[u8]) -> Result<Vec<u8>, E>,
    ) -> Answer {
        let mut answer = Answer {
            stdout: BString::default(),
            messages: Vec::new(),
            code: 0,
        };
        for request in requests {
            let Request { path, id, contents } = request;
            let header = format!("{id} blob {}\n", contents.len());
            answer.stdout.extend_from_slice(header.as_bytes());
            let converted = convert(&self, path.as_str().into(), id, contents);
            self.add_messages(&mut answer);
            match converted {
                Ok(converted) => answer.stdout.extend_from_slice(&converted),
                Err(error) => {
                    answer.messages.push(format!("fatal: {error}"));
                    answer.code = 128;
                    break;
                }
            }
            answer.stdout.push(b'\n');
        }
        let messages = Arc::clone(&self.messages);
        drop(self);
        add_messages(&messages, &mut answer);
        answer
    }

    fn add_messages(&self, answer: &mut Answer) {
        add_messages(&self.messages, answer);
    }

    pub(crate) fn filters(self, requests: &[Request]) -> Answer {
        self.batch(requests, |run, path, id, contents| {
            let converted = run.converter.to_working_tree(path, id, contents);
            converted.map(|contents| contents.into_owned())
        })
    }
}

fn add_messages(messages: &Messages, answer: &mut Answer) {
    for line in messages.take() {
        answer
            .messages
            .extend(line.to_string().lines().map(str::to_owned));
    }
}

/// A blob, and the path that is given with it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) id: ObjectId,
    pub(crate) contents: Vec<u8>,
}

/// Returns the sandbox's environment with more variables.
fn environment(fixture: &Fixture, more: &[(&str, &str)]) -> HashMap<BString, BString> {
    let more = more
        .iter()
        .map(|(name, value)| (BString::from(*name), BString::from(*value)));
    fixture.environment().into_iter().chain(more).collect()
}

/// A repository whose recorded attributes can be asked for, too.
pub(crate) struct Fixture(Sandbox);

vigil_testkit::wraps_a_sandbox!(Fixture);

impl Fixture {
    pub(crate) fn new() -> Self {
        Self(Sandbox::new())
    }

    /// Returns the blobs of the index.
    pub(crate) fn blobs(&self) -> Blobs {
        Blobs {
            index: Arc::new(Named {
                directory: self.path(""),
                prefix: Some(":0:"),
            }),
            tree: None,
        }
    }

    /// Writes blobs into the object database.
    pub(crate) fn requests<P: Into<String>, C: Into<Vec<u8>>>(
        &self,
        files: impl IntoIterator<Item = (P, C)>,
    ) -> Vec<Request> {
        let scratch = tempfile::tempdir().unwrap();
        let mut names = String::new();
        let mut written = Vec::new();
        for (at, (path, contents)) in files.into_iter().enumerate() {
            let name = scratch.path().join(at.to_string());
            let contents = contents.into();
            std::fs::write(&name, &contents).unwrap();
            names += &format!("{}\n", name.display());
            written.push((path.into(), contents));
        }
        let arguments = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let output = self.ask("", &arguments, &[], names.as_bytes());
        let ids = String::from_utf8(output.stdout).unwrap();
        let ids = ids
            .lines()
            .map(|id| ObjectId::from_hex(id.as_bytes()).unwrap());
        let request = |(id, (path, contents))| Request { path, id, contents };
        ids.zip(written).map(request).collect()
    }

    /// Returns the answer of `git cat-file --batch` with `option` in the directory `place`.
    pub(crate) fn batch(
        &self,
        place: &str,
        variables: &[(&str, &str)],
        option: &str,
        requests: &[Request],
    ) -> Answer {
        let line = |request: &Request| format!("{} {}\n", request.id, request.path);
        let lines: String = requests.iter().map(line).collect();
        let arguments = ["cat-file", "--batch", option];
        Answer::of(self.ask(place, &arguments, variables, lines.as_bytes()))
    }

    /// Runs git in the directory `place` with `input` on its standard input.
    pub(crate) fn ask(
        &self,
        place: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
        input: &[u8],
    ) -> Output {
        let mut command = self.command("git", place, arguments);
        command.envs(variables.iter().copied());
        run_with_input(command, input)
    }
}
