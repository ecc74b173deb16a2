//! `vigil describe`: names commits and blobs as `git describe` does.

mod arguments;

use std::mem::ManuallyDrop;

use bstr::{BString, ByteSlice};
use vigil_engine::dirty::{Dirtiness, LookError, look_at_worktree, settings_of};
use vigil_engine::session::{Session, SessionError};
use vigil_git::child::FilterStderr;
use vigil_git::config::ConfigEntry;
use vigil_git::environment::Environment;
use vigil_git::objects::Objects;
use vigil_git::refs::Refs;
use vigil_git::repository::settings::{CommandScope, Settings};
use vigil_git::repository::{self, Repository};
use vigil_history::describe::{Context, Describer, Error, NameRevResult, contains};
use vigil_history::revision::head::HeadByName;
use vigil_model::raw_text::{message_bytes, text_bytes};

use crate::command::Command;
use crate::inside;
use crate::options::{OwnOptions, Value, usage};
use crate::output::color::{HintColors, lines_with_hints};
use crate::reply::Reply;
use crate::status::PrintSettings;

use arguments::{Arguments, TABLE};

/// The command as it is listed and described.
pub(crate) const COMMAND: Command = Command {
    name: "describe",
    summary: "Name a commit after the nearest tag, as 'git describe'",
    options: &TABLE,
    arguments: Some(Value::Revision),
    subcommands: &[],
    prose: include_str!("../../pages/describe.txt"),
};

/// Runs the command with `arguments`, the words after its name.
pub(crate) fn run(arguments: &[BString], environment: &Environment) -> Reply {
    answer(arguments, environment).unwrap_or_else(|complaint| complaint)
}

/// Follows git's order of steps, since the first problem is the one that is reported.
fn answer(arguments: &[BString], environment: &Environment) -> Result<Reply, Reply> {
    let text = || usage(&TABLE, OwnOptions::IfVigil);
    match arguments {
        [only] if only == "-h" => return inside::usage(text(), environment, true),
        [first, ..] if first == "--help" => return Ok(Reply::printed(text(), 0)),
        _ => {}
    }
    let repository = inside::find(environment)?;
    let messages = repository.config.messages().to_vec();
    let reply = answer_in(&repository, arguments).unwrap_or_else(|complaint| complaint);
    Ok(reply.after(&messages))
}

/// Answers for `repository`, after any messages from its discovery.
fn answer_in(repository: &Repository, arguments: &[BString]) -> Result<Reply, Reply> {
    // git checks the whole configuration before it looks at the command line.
    let mut hint_colors = HintColors::default();
    let take = |entry: &ConfigEntry<'_>| hint_colors.take(entry).map(drop);
    Settings::of_any_command(repository, CommandScope::References, take)
        .map_err(|error| Reply::fatal_after(error.messages(), &error))?;
    let Arguments {
        options,
        contains: asks_for_tips,
        dirty,
        broken,
        mut revisions,
    } = Arguments::parse(arguments)?;
    if options.long && options.abbreviation == Some(0) {
        return Err(mutually_exclusive("options '--long' and '--abbrev=0'"));
    }
    let hint_colors = hint_colors.if_wanted(&repository.environment);
    let hint_colors = hint_colors.as_ref();
    // The process ends soon and frees everything at once.
    let refs = ManuallyDrop::new(Refs::open(repository));
    let objects = Objects::open_fetching(repository, &refs).map_err(|error| refuse(&error))?;
    let objects = ManuallyDrop::new(objects);
    objects.collect_messages();
    let context = Context {
        repository,
        refs: &refs,
        objects: &objects,
    };
    let asks_for_head = revisions.is_empty();
    if asks_for_head {
        revisions.push("HEAD".into());
    }
    if asks_for_tips {
        return Ok(reply_of(
            contains(&options, context, &revisions),
            hint_colors,
        ));
    }
    let mut reply = Reply::default();
    let mut describer = match Describer::new(&options, context, &revisions) {
        // The process ends soon: dropping this would only cost time.
        Ok(describer) => ManuallyDrop::new(describer),
        Err(error) => {
            let messages = objects.take_messages();
            let messages: Vec<BString> = messages.iter().map(|line| text_bytes(line)).collect();
            reply
                .stderr
                .extend(lines_with_hints(&messages, hint_colors));
            end(&error, &mut reply);
            return Ok(reply);
        }
    };
    let mut mark = None;
    if asks_for_head {
        let messages = describer.take_messages();
        reply
            .stderr
            .extend(lines_with_hints(&messages, hint_colors));
        let look = Look {
            context,
            hint_colors,
        };
        mark = match look.mark(dirty, broken, &mut reply.stderr) {
            Ok(mark) => mark,
            Err(code) => {
                reply.code = code;
                return Ok(reply);
            }
        };
    } else if dirty.is_some() {
        return Err(mutually_exclusive("option '--dirty' and commit-ishes"));
    } else if broken.is_some() {
        return Err(mutually_exclusive("option '--broken' and commit-ishes"));
    }
    for revision in &revisions {
        let described = describer.describe(revision.as_bstr());
        let messages = describer.take_messages();
        reply
            .stderr
            .extend(lines_with_hints(&messages, hint_colors));
        match described {
            Ok(text) => {
                reply.stdout.extend_from_slice(&text);
                reply
                    .stdout
                    .extend(Vec::from(mark.take().unwrap_or_default()));
                reply.stdout.push(b'\n');
            }
            Err(error) => {
                end(&error, &mut reply);
                break;
            }
        }
    }
    Ok(reply)
}

/// A look at the working tree.
struct Look<'a> {
    context: Context<'a>,
    /// What begins and ends the colour of hints, if they are coloured.
    hint_colors: Option<&'a [Vec<u8>; 2]>,
}

impl Look<'_> {
    /// Returns the mark for the state of the working tree, given the values of `--dirty` and `--broken`.
    ///
    /// # Errors
    /// The working tree cannot be looked at, and that is no mark: the exit code of the command.
    fn mark(
        &self,
        dirty: Option<BString>,
        broken: Option<BString>,
        stderr: &mut Vec<u8>,
    ) -> Result<Option<BString>, u8> {
        match (dirty, broken) {
            (dirty, Some(broken)) => {
                if let Err(refusal) = check_locking(self.context.repository) {
                    stderr.extend(refusal.stderr);
                }
                let dirty = dirty.unwrap_or_else(|| "-dirty".into());
                Ok(self.mark_or_broken(dirty, broken, stderr))
            }
            (Some(dirty), None) => self.mark_if_dirty(dirty, stderr),
            (None, None) => Ok(None),
        }
    }

    /// Returns the mark `dirty` if the working tree is dirty. Messages go to `stderr`.
    ///
    /// # Errors
    /// The working tree cannot be looked at: the exit code of the command.
    fn mark_if_dirty(&self, dirty: BString, stderr: &mut Vec<u8>) -> Result<Option<BString>, u8> {
        let objects = self.context.objects;
        let mut told = Vec::new();
        let looked = self.is_dirty(&mut told).and_then(|is_dirty| {
            let program = FailingProgram::Refresh;
            check_locking(self.context.repository).map_err(|reply| Failed { reply, program })?;
            Ok(is_dirty)
        });
        if let Err(failed) = &looked {
            told.extend_from_slice(&failed.reply.stderr);
        }
        if objects.reported_once()[0] {
            told = without_lines(&told, &objects.opening_messages());
        }
        stderr.extend(told);
        let is_dirty = looked.map_err(|failed| failed.reply.code)?;
        // The messages that appear only once have appeared.
        objects.set_reported_once([true, true]);
        Ok(is_dirty.then_some(dirty))
    }

    /// The mark to append if a failed look is not an error.
    fn mark_or_broken(
        &self,
        dirty: BString,
        broken: BString,
        stderr: &mut Vec<u8>,
    ) -> Option<BString> {
        match self.is_dirty(stderr) {
            Ok(is_dirty) => is_dirty.then_some(dirty),
            Err(Failed { reply, program }) => {
                stderr.extend_from_slice(&reply.stderr);
                if program == FailingProgram::Both {
                    // The one that compares looks for HEAD first.
                    let second = check_head(self.context).err().unwrap_or(reply);
                    stderr.extend_from_slice(&second.stderr);
                }
                Some(if program == FailingProgram::Refresh {
                    dirty
                } else {
                    broken
                })
            }
        }
    }

    /// Returns whether the working tree differs from HEAD.
    ///
    /// # Errors
    /// The failed look, with its reply.
    fn is_dirty(&self, stderr: &mut Vec<u8>) -> Result<bool, Failed> {
        let context = self.context;
        let failed = |program| move |reply| Failed { reply, program };
        inside::enter(context.repository).map_err(failed(FailingProgram::Both))?;
        let settings = settings_of(context.repository)
            .map_err(|error| Reply::fatal_after(error.messages(), &error))
            .map_err(failed(FailingProgram::Both))?;
        let session = Session::open_with(
            context.repository.clone(),
            settings,
            false,
            FilterStderr::Inherit,
        );
        let session = session.and_then(|mut session| session.fetch_missing().map(|()| session));
        let mut session = session
            .map_err(inside::refuse)
            .map_err(failed(FailingProgram::Both))?;
        session.check_in_submodules(PrintSettings::check);
        let looked = look_at_worktree(&mut session, context);
        // git reads the index first.
        let has_no_index = matches!(&looked, Err(LookError::Unfinished { source, .. })
            if matches!(**source, SessionError::Index(_)));
        if !has_no_index {
            check_head(context).map_err(failed(FailingProgram::Compare))?;
        }
        let mut say =
            |lines: Vec<BString>| stderr.extend(lines_with_hints(&lines, self.hint_colors));
        match looked {
            Ok(Dirtiness { is_dirty, messages }) => {
                say(messages);
                Ok(is_dirty)
            }
            Err(error) => {
                let (messages, program, reply) = match error {
                    LookError::Head(error) => (
                        session.take_messages(),
                        FailingProgram::Compare,
                        refuse(&error),
                    ),
                    LookError::Session(error) => (
                        session.take_messages(),
                        FailingProgram::Compare,
                        inside::refuse(error),
                    ),
                    LookError::Unfinished {
                        source,
                        messages,
                        only_refreshing,
                    } => {
                        let program = match *source {
                            SessionError::Scan(_) => FailingProgram::Refresh,
                            _ if only_refreshing => FailingProgram::Refresh,
                            SessionError::Index(_)
                            | SessionError::NoSubmodule {
                                source: repository::Error::Config(_),
                                ..
                            } => FailingProgram::Both,
                            _ => FailingProgram::Compare,
                        };
                        (messages, program, inside::refuse(*source))
                    }
                };
                say(messages);
                Err(failed(program)(reply))
            }
        }
    }
}

fn reply_of(contained: NameRevResult, hint_colors: Option<&[Vec<u8>; 2]>) -> Reply {
    let mut reply = Reply {
        stderr: lines_with_hints(&contained.messages, hint_colors),
        ..Reply::default()
    };
    for name in contained.names {
        reply.stdout.extend_from_slice(&name);
        reply.stdout.push(b'\n');
    }
    if let Some(error) = contained.failure {
        end(&error, &mut reply);
    }
    reply
}

/// Returns `text` without the lines that are among `lines`.
fn without_lines(text: &[u8], lines: &[String]) -> Vec<u8> {
    let is_among = |line: &[u8]| lines.iter().any(|message| text_bytes(message) == line);
    let kept = text.lines_with_terminator();
    let kept = kept.filter(|line| !is_among(line.strip_suffix(b"\n").unwrap_or(line)));
    kept.collect::<Vec<_>>().concat()
}

/// Ends `reply` as git does on a fatal error: what was printed stays.
fn end(error: &Error, reply: &mut Reply) {
    let refusal = Reply::fatal(message_bytes(error));
    reply.stderr.extend(refusal.stderr);
    reply.code = refusal.code;
}

fn refuse(error: &dyn std::error::Error) -> Reply {
    Reply::fatal_after(&[], error)
}

fn mutually_exclusive(what: &str) -> Reply {
    Reply::fatal(format!("{what} cannot be used together"))
}

/// A failed look at the working tree.
struct Failed {
    reply: Reply,
    /// Which of git's two programs that look for `--broken` would fail.
    program: FailingProgram,
}

/// The programs of git that would fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FailingProgram {
    /// Both the one that refreshes the index and the one that compares.
    Both,
    /// The one that refreshes the index. Files it did not refresh look changed to the other one.
    Refresh,
    /// The one that compares.
    Compare,
}

/// Fails if HEAD has no commit with which the working tree could be compared.
fn check_head(context: Context<'_>) -> Result<(), Reply> {
    let head = HeadByName::read(context.repository, context.refs, context.objects);
    match head.map_err(|error| refuse(&error))?.found.commit() {
        Some(_) => Ok(()),
        None => Err(Reply::fatal("bad revision 'HEAD'")),
    }
}

/// Fails where git would fail to lock the index, as one of its programs does.
fn check_locking(repository: &Repository) -> Result<(), Reply> {
    Settings::check_locking(&repository.config)
        .map_err(|error| Reply::fatal_after(error.messages(), &error))
}
