//! Batches of names or commands: each input line is answered by a line and, if asked for, contents.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use bstr::{BStr, BString, ByteSlice};
use vigil_git::remote_objects;
use vigil_history::revision;
use vigil_linux::process::cores;
use vigil_model::{config_value, white_space};

use super::arguments::{Batch, BatchArguments};
use super::failure::Failure;
use super::input::Input;
use super::object_printer::{Detail, ObjectPrinter, RequestedObject};
use super::sources::Sources;
use crate::reply::{Reply, bytes};
use crate::whole_files::ATTEMPTS_MAX;

/// The maximum number of lines whose answers are not yet written.
const UNWRITTEN_MAX: usize = 4096;

/// The questions on standard input.
pub(super) struct Questions {
    input: Input,
    /// Lines whose answers are not yet written. Empty if output is buffered.
    unwritten: Vec<BString>,
    /// Lines to answer again, before any others.
    retry_queue: VecDeque<BString>,
    /// How many times lines had to be answered again since an answer was last written.
    retries: usize,
    /// Whether `.mailmap` was in use before the first of these lines.
    pub(super) use_mailmap: bool,
    is_buffered: bool,
}

impl Questions {
    pub(super) fn new(arguments: &BatchArguments, use_mailmap: bool) -> Self {
        Self {
            input: Input::new(arguments.input_delimiter),
            unwritten: Vec::new(),
            retry_queue: VecDeque::new(),
            retries: 0,
            use_mailmap,
            is_buffered: arguments.buffered,
        }
    }

    /// Queues the lines without a written answer to be answered again. Returns whether that is possible.
    pub(super) fn retry_unwritten(&mut self) -> bool {
        for line in self.unwritten.drain(..).rev() {
            self.retry_queue.push_front(line);
        }
        self.retries = self.retries.saturating_add(1);
        !self.is_buffered && self.retries < ATTEMPTS_MAX
    }

    /// Waits for the first line. Returns `false` if the input ends before.
    pub(super) fn wait(&mut self) -> bool {
        self.input.wait()
    }

    /// Returns whether another line is available without waiting.
    fn has_line(&mut self) -> bool {
        !self.retry_queue.is_empty() || self.input.has_line()
    }

    fn next(&mut self) -> Option<BString> {
        let retried = self.retry_queue.pop_front();
        retried.or_else(|| self.input.next().map(BStr::to_owned))
    }
}

/// Answers the lines of standard input.
pub(super) struct Lines<'a> {
    arguments: &'a BatchArguments,
    sources: &'a Sources,
    printer: ObjectPrinter<'a>,
    questions: &'a mut Questions,
}

impl<'a> Lines<'a> {
    /// Makes one that answers through `printer`.
    pub(super) fn new(
        arguments: &'a BatchArguments,
        sources: &'a Sources,
        printer: ObjectPrinter<'a>,
        questions: &'a mut Questions,
    ) -> Self {
        Self {
            arguments,
            sources,
            printer,
            questions,
        }
    }

    /// Answers until the end of the input.
    ///
    /// # Errors
    /// The failure with which git exits, its messages written; or a file was cut before an answer was written.
    pub(super) fn run(mut self) -> Result<(), Failure> {
        // A client that waits for each answer has it sooner: deferred work is done while the client, on another core, reads it.
        if !self.arguments.buffered && cores() > 1 {
            self.printer.reader.defer_bases();
        }
        let result = match self.arguments.batch {
            Batch::Commands => self.commands(),
            Batch::Contents => self.names(Detail::Contents),
            Batch::Info => self.names(Detail::Info),
        };
        if result.is_err() {
            // What looks damaged or missing may be in a mapped file that was cut.
            self.sources.cut_guard.check()?;
        }
        // Answers from before a failure still count.
        self.flush()?;
        result
    }

    /// Writes the answers so far. After a flush at the end of a line, that line need not be answered again.
    fn flush(&mut self) -> Result<(), Failure> {
        self.printer.output.flush()?;
        self.written();
        Ok(())
    }

    fn written(&mut self) {
        let questions = &mut *self.questions;
        if !questions.is_buffered {
            questions.unwritten.clear();
            questions.retries = 0;
            questions.use_mailmap = self.printer.use_mailmap;
            self.sources.cut_guard.begin();
        }
    }

    /// Records that a line has been answered, or that answering it failed.
    fn answered(&mut self, line: BString) {
        if !self.questions.is_buffered {
            self.questions.unwritten.push(line);
        }
    }

    fn names(&mut self, what: Detail) -> Result<(), Failure> {
        let splits = self.printer.format.splits() || self.arguments.transform.is_some();
        while let Some(line) = self.next_line()? {
            let (name, rest) = match splits {
                true => split(line.as_bstr()),
                false => (line.as_bstr(), None),
            };
            let result = self.one(name, rest, what);
            self.answered(line);
            result?;
        }
        Ok(())
    }

    /// Reads the next line. Answers are written before waiting for more input.
    fn next_line(&mut self) -> Result<Option<BString>, Failure> {
        let has_line = self.arguments.buffered || self.questions.has_line();
        if !has_line || self.questions.unwritten.len() >= UNWRITTEN_MAX {
            self.flush()?;
            self.printer.reader.flush_bases();
        } else if self.printer.output.flush_if_full()? {
            self.written();
        }
        Ok(self.questions.next())
    }

    fn commands(&mut self) -> Result<(), Failure> {
        let mut queued: Vec<BString> = Vec::new();
        while let Some(line) = self.next_line()? {
            if line.is_empty() && self.questions.input.is_blank() {
                return Err(Reply::fatal("empty command in input").into());
            }
            match self.parse(line.as_bstr())? {
                Command::Flush if !self.arguments.buffered => {
                    return Err(Reply::fatal("flush is only for --buffer mode").into());
                }
                Command::Flush => {
                    self.dispatch(&mut queued)?;
                    self.flush()?;
                }
                _ if self.arguments.buffered => queued.push(line),
                command => {
                    let result = self.command(command);
                    self.answered(line);
                    result?;
                }
            }
        }
        // git's own tests set this variable.
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
            let command = self.parse(line.as_bstr())?;
            self.command(command)?;
            self.printer.output.flush_if_full()?;
        }
        Ok(())
    }

    fn parse<'l>(&self, line: &'l BStr) -> Result<Command<'l>, Reply> {
        Command::parse(line, || self.sources.remote_objects().is_some())
    }

    fn command(&mut self, command: Command<'_>) -> Result<(), Failure> {
        match command {
            Command::Remote(line) => self.remote(line),
            Command::Contents(name) => self.one(name, None, Detail::Contents),
            Command::Info(name) => self.one(name, None, Detail::Info),
            Command::Mailmap(value) => {
                let is_used = config_value::boolean(Some(value)).ok_or_else(|| {
                    let complaint = bytes!["mailmap: invalid boolean '", value, "'"];
                    Reply::fatal(complaint)
                })?;
                self.printer.use_mailmap = is_used;
                match is_used {
                    true => self.sources.load_mailmap(),
                    false => Ok(()),
                }
            }
            Command::Flush => Ok(()),
        }
    }

    /// Has git answer `line`, which asks about objects of a remote.
    fn remote(&mut self, line: &BStr) -> Result<(), Failure> {
        let Some(remote_objects) = self.sources.remote_objects() else {
            return Err(unknown(line).into());
        };
        let arguments = self.arguments;
        let mut batch = BString::from("--batch-command");
        if !arguments.has_default_format {
            batch.extend_from_slice(b"=");
            batch.extend_from_slice(&arguments.format);
        }
        let delimiters = match (arguments.input_delimiter, arguments.output_delimiter) {
            (0, 0) => Some("-Z"),
            (0, _) => Some("-z"),
            _ => None,
        };
        let mut options = vec![OsStr::from_bytes(&batch)];
        options.extend(delimiters.map(OsStr::new));
        let line = [line.as_bytes(), &[arguments.input_delimiter]].concat();
        let answer = remote_objects.ask(&options, &line).map_err(|error| {
            let reason = vigil_linux::errno::text_of(&error);
            Reply::fatal(format!("cannot run git: {reason}"))
        })?;
        self.printer.output.buf.extend_from_slice(&answer.stdout);
        match answer.code {
            Some(0) => Ok(()),
            code => {
                let code = code.and_then(|code| u8::try_from(code).ok());
                Err(Reply::complained(Vec::new(), code.unwrap_or(Reply::FATAL)).into())
            }
        }
    }

    /// Answers for the object that `name` resolves to.
    fn one(&mut self, name: &BStr, rest: Option<&BStr>, what: Detail) -> Result<(), Failure> {
        let own = self.sources.with_native_id(name);
        let full_id = self
            .sources
            .full_id(own.as_ref().map_or(name, |own| own.as_bstr()));
        let mut asked = match full_id {
            Some(id) => RequestedObject {
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
                let resolution = self.sources.resolve(name, &options);
                self.sources.say(&resolution.messages);
                match resolution.outcome {
                    Ok(found) => RequestedObject {
                        id: found.id,
                        name: Some(name),
                        mode: found.mode,
                        rest,
                    },
                    Err(why) => {
                        let delimiter = self.arguments.output_delimiter;
                        let Some(report) = why.batch_report(name, delimiter) else {
                            return Err(Failure::of_name(why));
                        };
                        self.printer.output.buf.extend_from_slice(&report);
                        return Ok(());
                    }
                }
            }
        };
        let id = self.sources.objects.replaced(&asked.id)?;
        self.sources.begin();
        let wanted = self.printer.wanted(what);
        let found = self.printer.reader.find_for(&id, wanted);
        let found = self.printer.report_messages(found)?.flatten();
        if own.is_some()
            && let Some(other) = self.sources.compat_id(&asked.id)
        {
            asked.id = other;
        }
        self.printer.object(asked, found, what)
    }
}

/// Splits a line into a name and what follows it.
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
    /// Holds the whole line.
    Remote(&'a BStr),
    Flush,
}

fn unknown(line: &BStr) -> Reply {
    Reply::fatal(bytes!["unknown command: '", line, "'"])
}

impl<'a> Command<'a> {
    /// Parses the command in `line`. `has_remote` is called only if it matters whether remote commands exist.
    fn parse(line: &'a BStr, has_remote: impl FnOnce() -> bool) -> Result<Self, Reply> {
        if line
            .first()
            .is_some_and(|byte| white_space::is_space(*byte))
        {
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
        match argument(remote_objects::COMMAND) {
            Some(arguments) if has_remote() => arguments.map(|_| Self::Remote(line)),
            _ => Err(unknown(line)),
        }
    }
}
