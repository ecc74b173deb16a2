//! Batches of names or commands: for each line that comes in, a line and perhaps contents.

use bstr::{BStr, BString, ByteSlice};
use vigil_history::revision;
use vigil_history::revision::Outcome;
use vigil_model::config_value;

use super::arguments::{Batch, BatchArguments};
use super::failure::Failure;
use super::input::Input;
use super::say;
use super::sources::Sources;
use super::tell::{Asked, Teller, What};
use crate::bytes;
use crate::reply::Reply;

/// Answers the lines of standard input.
pub(super) struct Lines<'a> {
    arguments: &'a BatchArguments,
    sources: &'a Sources,
    teller: Teller<'a>,
}

impl<'a> Lines<'a> {
    /// Answers by `teller`.
    pub(super) fn new(
        arguments: &'a BatchArguments,
        sources: &'a Sources,
        teller: Teller<'a>,
    ) -> Self {
        Self {
            arguments,
            sources,
            teller,
        }
    }

    /// Answers until the end of the input.
    ///
    /// # Errors
    /// Why git ends, after what is to be said was.
    pub(super) fn run(mut self) -> Result<(), Failure> {
        let result = match self.arguments.batch {
            Batch::Commands => self.commands(),
            Batch::Contents => self.names(What::Contents),
            Batch::Info => self.names(What::Info),
        };
        // What was answered before counts, whatever happened then.
        self.teller.output.flush()?;
        result
    }

    fn input(&mut self) -> Input {
        let input = Input::new(self.arguments.input_delimiter, !self.arguments.buffered);
        if input.has_time() {
            self.teller.reader.defer();
        }
        input
    }

    fn names(&mut self, what: What) -> Result<(), Failure> {
        let splits = self.teller.format.splits() || self.arguments.transform.is_some();
        let mut input = self.input();
        while let Some(line) = self.next_line(&mut input)? {
            let (name, rest) = match splits {
                true => split(line.as_bstr()),
                false => (line.as_bstr(), None),
            };
            self.one(name, rest, what)?;
        }
        Ok(())
    }

    /// The next line. What is answered is written before anybody waits for more.
    fn next_line(&mut self, input: &mut Input) -> Result<Option<BString>, Failure> {
        if !self.arguments.buffered && !input.has_line() {
            self.teller.output.flush()?;
            self.teller.reader.settle();
        }
        self.teller.output.flush_if_full()?;
        Ok(input.next().map_err(Failure::from)?.map(BStr::to_owned))
    }

    fn commands(&mut self) -> Result<(), Failure> {
        let mut input = self.input();
        let mut queued: Vec<BString> = Vec::new();
        while let Some(line) = self.next_line(&mut input)? {
            if input.is_blank() {
                return Err(Reply::fatal("empty command in input").into());
            }
            match Command::parse(line.as_bstr())? {
                Command::Flush if !self.arguments.buffered => {
                    return Err(Reply::fatal("flush is only for --buffer mode").into());
                }
                Command::Flush => {
                    self.dispatch(&mut queued)?;
                    self.teller.output.flush()?;
                }
                _ if self.arguments.buffered => queued.push(line),
                command => self.command(command)?,
            }
        }
        // A variable for git's own tests.
        let keeps = self
            .sources
            .boolean_of_environment("GIT_TEST_CAT_FILE_NO_FLUSH_ON_EXIT")?;
        if !keeps {
            self.dispatch(&mut queued)?;
        }
        Ok(())
    }

    fn dispatch(&mut self, queued: &mut Vec<BString>) -> Result<(), Failure> {
        for line in queued.drain(..) {
            let command = Command::parse(line.as_bstr())?;
            self.command(command)?;
            self.teller.output.flush_if_full()?;
        }
        Ok(())
    }

    fn command(&mut self, command: Command<'_>) -> Result<(), Failure> {
        match command {
            Command::Contents(name) => self.one(name, None, What::Contents),
            Command::Info(name) => self.one(name, None, What::Info),
            Command::Mailmap(value) => {
                let is_used = config_value::boolean(Some(value)).ok_or_else(|| {
                    let complaint = bytes!["mailmap: invalid boolean '", value, "'"];
                    Reply::fatal(complaint)
                })?;
                self.teller.use_mailmap = is_used;
                match is_used {
                    true => self.sources.load_mailmap(),
                    false => Ok(()),
                }
            }
            Command::Flush => Ok(()),
        }
    }

    /// Answers for the object that `name` leads to.
    fn one(&mut self, name: &BStr, rest: Option<&BStr>, what: What) -> Result<(), Failure> {
        let own = self.sources.with_own_id(name);
        let full_id = self
            .sources
            .full_id(own.as_ref().map_or(name, |own| own.as_bstr()));
        let mut asked = match full_id {
            Some(id) => Asked {
                id,
                name: Some(name),
                mode: None,
                rest,
            },
            None => {
                let options = revision::Options {
                    follow_symlinks: self.arguments.follow_symlinks,
                    skips_check_of_ids: true,
                    ..revision::Options::default()
                };
                let answer = self.sources.resolve(name, &options);
                say(&answer.said);
                match answer.outcome {
                    Outcome::Found(found) => Asked {
                        id: found.id,
                        name: Some(name),
                        mode: found.mode,
                        rest,
                    },
                    other => {
                        let delimiter = self.arguments.output_delimiter;
                        let Some(report) = other.batch_report(name, delimiter) else {
                            return Err(Failure::of_name(other));
                        };
                        self.teller.output.buf.extend_from_slice(&report);
                        return Ok(());
                    }
                }
            }
        };
        let id = self.sources.objects.replaced(&asked.id)?;
        let found = self.teller.reader.find(&id);
        let found = self.teller.heard(found)?.flatten();
        if own.is_some()
            && let Some(other) = self.sources.other_id(&asked.id)
        {
            asked.id = other;
        }
        self.teller.object(asked, found, what)
    }
}

/// A line's name, and what follows it.
fn split(line: &BStr) -> (&BStr, Option<&BStr>) {
    let Some(end) = line.find_byteset(b" \t") else {
        return (line, None);
    };
    let (name, rest) = line.split_at_checked(end).unwrap_or((line, b""));
    let rest = rest.trim_start_with(|c| c == ' ' || c == '\t');
    (name.as_bstr(), Some(rest.as_bstr()))
}

/// A line of `--batch-command`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command<'a> {
    Contents(&'a BStr),
    Info(&'a BStr),
    Mailmap(&'a BStr),
    Flush,
}

impl<'a> Command<'a> {
    fn parse(line: &'a BStr) -> Result<Self, Reply> {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
        if line.first().is_some_and(is_space) {
            return Err(Reply::fatal(bytes![
                "whitespace before command: '",
                line,
                "'"
            ]));
        }
        let argument = |name: &str| {
            let rest = line.strip_prefix(name.as_bytes())?;
            Some(match rest.strip_prefix(b" ") {
                Some(argument) => Ok(argument.as_bstr()),
                None => Err(Reply::fatal(format!("{name} requires arguments"))),
            })
        };
        if let Some(name) = argument("contents") {
            return name.map(Self::Contents);
        }
        if let Some(name) = argument("info") {
            return name.map(Self::Info);
        }
        match line.strip_prefix(b"flush") {
            Some(b"") => return Ok(Self::Flush),
            Some(_) => return Err(Reply::fatal("flush takes no arguments")),
            None => {}
        }
        if let Some(value) = argument("mailmap") {
            return value.map(Self::Mailmap);
        }
        Err(Reply::fatal(bytes!["unknown command: '", line, "'"]))
    }
}
