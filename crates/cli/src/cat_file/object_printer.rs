//! What a batch prints for one object.

use bstr::BStr;
use vigil_model::ObjectId;
use vigil_model::mode::FileMode;
use vigil_model::raw_text::message_bytes;
use vigil_objects::{
    self as object_store, Facts, Info, Kind, Location, ObjectReader, StreamError, Wanted,
};

use super::arguments::{BatchArguments, Transform};
use super::failure::Failure;
use super::filter::Filter;
use super::format::{Format, Object};
use super::output::Output;
use super::say::say_texts;
use crate::reply::{Reply, bytes};

/// Blobs of at least this size, in bytes, are written while they are inflated.
pub(super) const STREAM_MIN: u64 = 1 << 20;

/// Pieces smaller than this, in bytes, are collected before they are written.
const SMALL_PIECE_MAX: usize = 64 << 10;

/// How much is printed of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Contents,
    Info,
}

/// Transforms the contents of objects.
pub(super) trait Rewriter {
    /// Converts contents to ids of the other hash algorithm. `None` if there is no such object.
    fn to_compat_hash(&self, kind: Kind, contents: Vec<u8>) -> Option<Vec<u8>>;

    /// Returns an object's id in the other hash algorithm.
    fn to_compat_id(&self, id: &ObjectId) -> Option<ObjectId>;

    /// Replaces the names of people in a commit or tag as `.mailmap` says.
    fn with_mailmap(&self, contents: Vec<u8>) -> Result<Vec<u8>, Failure>;

    /// Returns whether the diff driver of `path` has a textconv. `is_file` says whether `path` is a regular file.
    fn has_textconv(&self, is_file: bool, path: &BStr) -> Result<bool, Failure>;

    /// Transforms the contents of the object `id` as for `path`. `is_file` says whether that is a regular file. `None` if the
    /// contents stay as they are.
    fn transformed(
        &self,
        transform: Transform,
        is_file: bool,
        id: &ObjectId,
        contents: &[u8],
        path: &BStr,
    ) -> Result<Option<Vec<u8>>, Failure>;
}

/// Prints objects.
pub(super) struct ObjectPrinter<'a> {
    pub(super) arguments: &'a BatchArguments,
    pub(super) format: &'a Format,
    pub(super) reader: ObjectReader,
    pub(super) output: Output,
    pub(super) rewriter: Option<&'a dyn Rewriter>,
    pub(super) use_mailmap: bool,
    /// Other threads read the objects before and after this one at the same time.
    pub(super) is_one_of_many: bool,
}

/// An object that was asked for.
#[derive(Clone, Copy)]
pub(super) struct RequestedObject<'a> {
    pub(super) id: ObjectId,
    /// The name it was asked for by; `None` if all objects are printed.
    pub(super) name: Option<&'a BStr>,
    pub(super) mode: Option<FileMode>,
    /// What followed the name on the input line.
    pub(super) rest: Option<&'a BStr>,
}

impl ObjectPrinter<'_> {
    /// The facts about an object that decide what is printed.
    pub(super) fn wanted(&self, what: Detail) -> Wanted {
        let mut wanted = self.format.wanted();
        wanted.kind |= self.use_mailmap || what == Detail::Contents;
        self.arguments.filter.look_for(&mut wanted);
        wanted
    }

    /// Prints the answer for an object; `location` is `None` if the object is missing.
    pub(super) fn object(
        &mut self,
        asked: RequestedObject<'_>,
        location: Option<Location>,
        what: Detail,
    ) -> Result<(), Failure> {
        let Some(location) = location else {
            self.report_missing(asked);
            return Ok(());
        };
        if asked.id.kind() != location.id().kind() {
            return self.print_with_compat_hash(asked, &location, what);
        }
        let wanted = self.format.wanted();
        if asked.name.is_none()
            && what == Detail::Info
            && wanted == Wanted::default()
            && self.arguments.filter == Filter::Everything
        {
            // When listing all objects, git then reads none of them.
            self.line(&asked, &Facts::default());
            return Ok(());
        }
        let looks_first = self.arguments.filter != Filter::Everything
            || self.use_mailmap
            || self.arguments.transform.is_some()
            || wanted.disk_size
            || wanted.delta_base
            || what == Detail::Info;
        if !looks_first {
            return self.contents(asked, &location);
        }
        self.print_with_facts(asked, &location, what)
    }

    /// Looks up the facts first, then prints what the facts and the arguments call for.
    fn print_with_facts(
        &mut self,
        asked: RequestedObject<'_>,
        location: &Location,
        what: Detail,
    ) -> Result<(), Failure> {
        let facts = self.reader.facts(location, self.wanted(what));
        let Some(facts) = self.report_messages(facts)? else {
            self.report_missing(asked);
            return Ok(());
        };
        if self.arguments.filter.excludes(&facts) {
            if !self.arguments.all_objects {
                self.report(asked, "excluded");
            }
            return Ok(());
        }
        self.print_known(asked, location, facts, what)
    }
}

impl ObjectPrinter<'_> {
    /// Prints the answer for an object named by its id in the other hash algorithm.
    fn print_with_compat_hash(
        &mut self,
        asked: RequestedObject<'_>,
        location: &Location,
        what: Detail,
    ) -> Result<(), Failure> {
        let mut contents = Vec::new();
        let read = self.reader.append(location, &mut contents);
        let kind = self.report_messages(read)?.map(|info| info.kind);
        let found = kind.zip(self.rewriter).and_then(|(kind, rewriter)| {
            let contents = rewriter.to_compat_hash(kind, contents)?;
            Some((kind, contents, rewriter))
        });
        let Some((kind, mut contents, rewriter)) = found else {
            self.report_missing(asked);
            return Ok(());
        };
        let size = contents.len() as u64;
        let mut facts = Facts::from(Info { kind, size });
        if self.arguments.filter.excludes(&facts) {
            self.report(asked, "excluded");
            return Ok(());
        }
        let mut wanted = self.format.wanted();
        self.arguments.filter.look_for(&mut wanted);
        // For the size git converts the contents, and then no longer knows that they were a delta.
        wanted.delta_base &= !wanted.size;
        (wanted.kind, wanted.size) = (false, false);
        let stored = self.reader.facts(location, wanted);
        if let Some(stored) = self.report_messages(stored)? {
            facts.disk_size = stored.disk_size;
            let base = stored.delta_base.as_ref();
            facts.delta_base = base.and_then(|base| rewriter.to_compat_id(base));
            if base.is_some() && facts.delta_base.is_none() {
                self.report_missing(asked);
                return Ok(());
            }
        }
        if self.use_mailmap && matches!(kind, Kind::Commit | Kind::Tag) {
            contents = rewriter.with_mailmap(contents)?;
            facts.size = Some(contents.len() as u64);
        }
        self.line(&asked, &facts);
        if what == Detail::Info {
            return Ok(());
        }
        match self.arguments.transform {
            Some(transform) if kind == Kind::Blob => {
                contents = self.transformed(transform, &asked, location)?;
            }
            // git applies the mailmap to trees, too.
            _ if self.use_mailmap && kind == Kind::Tree => {
                contents = rewriter.with_mailmap(contents)?;
            }
            _ => {}
        }
        self.output.buf.extend_from_slice(&contents);
        self.output.buf.push(self.arguments.output_delimiter);
        Ok(())
    }

    /// Prints line and contents in one go, for when nothing but the object itself decides what is printed.
    fn contents(&mut self, asked: RequestedObject<'_>, location: &Location) -> Result<(), Failure> {
        let delimiter = self.arguments.output_delimiter;
        let format = &self.format;
        let mut is_declined = false;
        let read = self
            .reader
            .read_plain(location, &mut self.output.buf, |info, out| {
                is_declined = info.kind == Kind::Blob && info.size >= STREAM_MIN;
                if !is_declined {
                    append_line(out, format, delimiter, &asked, &info.into());
                }
                !is_declined
            });
        let Some(info) = read else {
            if self.is_one_of_many {
                return Err(Failure::Damaged);
            }
            // A damaged object is read step by step, so that messages appear where git prints them.
            return self.print_with_facts(asked, location, Detail::Contents);
        };
        self.report_messages(Ok(()))?;
        if is_declined {
            return self.streamed(asked, location, info.into());
        }
        self.output.buf.push(delimiter);
        Ok(())
    }

    /// Prints the line for an object with known facts, and its contents if they are wanted.
    fn print_known(
        &mut self,
        asked: RequestedObject<'_>,
        location: &Location,
        mut facts: Facts,
        what: Detail,
    ) -> Result<(), Failure> {
        let mut renamed = None;
        if self.use_mailmap && matches!(facts.kind, Some(Kind::Commit | Kind::Tag)) {
            let (kind, contents) = self.renamed(&asked, location)?;
            facts.kind = Some(kind);
            facts.size = Some(contents.len() as u64);
            renamed = (kind != Kind::Blob).then_some(contents);
        }
        let is_blob = facts.kind == Some(Kind::Blob);
        if what == Detail::Info {
            self.line(&asked, &facts);
            return Ok(());
        }
        if let Some(contents) = renamed {
            self.line(&asked, &facts);
            self.output.buf.extend_from_slice(&contents);
        } else if let Some(transform) = self.arguments.transform.filter(|_| is_blob) {
            self.line(&asked, &facts);
            let contents = self.transformed(transform, &asked, location)?;
            self.output.buf.extend_from_slice(&contents);
        } else if is_blob {
            return self.streamed(asked, location, facts);
        } else {
            self.line(&asked, &facts);
            self.append_contents(&asked, location, &facts)?;
        }
        self.output.buf.push(self.arguments.output_delimiter);
        Ok(())
    }

    /// Reads a commit or tag, and applies the mailmap to it. Returns the type with which it was read, and the contents.
    fn renamed(
        &mut self,
        asked: &RequestedObject<'_>,
        location: &Location,
    ) -> Result<(Kind, Vec<u8>), Failure> {
        let mut contents = Vec::new();
        let Some(info) = self.read_all(location, &mut contents)? else {
            return Err(Reply::fatal(format!("unable to read {}", asked.id)).into());
        };
        let contents = match self.rewriter {
            Some(rewriter) => rewriter.with_mailmap(contents)?,
            None => contents,
        };
        Ok((info.kind, contents))
    }

    /// Reads a blob, and converts it by `transform` for the path that was given with its name.
    fn transformed(
        &mut self,
        transform: Transform,
        asked: &RequestedObject<'_>,
        location: &Location,
    ) -> Result<Vec<u8>, Failure> {
        let Some(path) = asked.rest else {
            return Err(Reply::fatal(format!("missing path for '{}'", asked.id)).into());
        };
        let mut contents = Vec::new();
        let converts = match self.rewriter {
            Some(rewriter) if transform == Transform::Textconv => {
                rewriter.has_textconv(true, path)?
            }
            _ => false,
        };
        if converts {
            let read = self.reader.append_if_sound(location, &mut contents);
            if self.report_messages(read)?.is_none() {
                return Err(Reply::fatal(format!("unable to read {}", asked.id)).into());
            }
        } else if self.read_all(location, &mut contents)?.is_none() {
            let complaint = bytes!["could not convert '", asked.id.to_string(), "' ", path];
            return Err(Reply::fatal(complaint).into());
        }
        let made = match self.rewriter {
            Some(rewriter) => rewriter.transformed(transform, true, &asked.id, &contents, path)?,
            None => None,
        };
        Ok(made.unwrap_or(contents))
    }

    /// Appends the contents of an object that is no blob, of which `facts` have been printed.
    fn append_contents(
        &mut self,
        asked: &RequestedObject<'_>,
        location: &Location,
        facts: &Facts,
    ) -> Result<(), Failure> {
        let start = self.output.buf.len();
        let read = self.reader.append(location, &mut self.output.buf);
        let Some(read) = self.report_messages(read)? else {
            return Err(Reply::fatal(format!("object {} disappeared", asked.id)).into());
        };
        if self.use_mailmap
            && let Some(rewriter) = self.rewriter
        {
            // git applies the mailmap to trees, too.
            let contents = self.output.buf.split_off(start);
            let contents = rewriter.with_mailmap(contents)?;
            self.output.buf.extend_from_slice(&contents);
        }
        let changed = match *facts {
            Facts {
                kind: Some(kind), ..
            } if kind != read.kind => Some("type"),
            Facts {
                size: Some(size), ..
            } if size != read.size => Some("size"),
            _ => None,
        };
        if let Some(what) = changed {
            self.output.buf.truncate(start);
            let complaint = format!("object {} changed {what}!?", asked.id);
            return Err(Reply::fatal(complaint).into());
        }
        Ok(())
    }

    /// Prints line and contents. Large contents are not held in memory.
    fn streamed(
        &mut self,
        asked: RequestedObject<'_>,
        location: &Location,
        facts: Facts,
    ) -> Result<(), Failure> {
        self.line(&asked, &facts);
        let output = &mut self.output;
        let streamed =
            self.reader.stream(
                location,
                STREAM_MIN,
                &mut |_, piece: &[u8]| match piece.len() < SMALL_PIECE_MAX {
                    true => {
                        output.buf.extend_from_slice(piece);
                        output.flush_if_full().map(|_| ())
                    }
                    false => output.flush_with(piece),
                },
            );
        match streamed {
            Ok(_) => {}
            Err(StreamError::Sink(error)) => return Err(error),
            Err(StreamError::Read(_)) if self.is_one_of_many => return Err(Failure::Damaged),
            Err(StreamError::Read(error)) => {
                let is_fatal = error.is_fatal();
                let failure = self.report_messages::<()>(Err(error));
                return Err(match failure {
                    Err(failure) if is_fatal => failure,
                    _ => Reply::fatal(format!("unable to stream {} to stdout", asked.id)).into(),
                });
            }
        }
        self.output.buf.push(self.arguments.output_delimiter);
        Ok(())
    }

    fn read_all(
        &mut self,
        location: &Location,
        out: &mut Vec<u8>,
    ) -> Result<Option<Info>, Failure> {
        let read = self.reader.append(location, out);
        self.report_messages(read)
    }

    fn line(&mut self, asked: &RequestedObject<'_>, facts: &Facts) {
        let delimiter = self.arguments.output_delimiter;
        append_line(&mut self.output.buf, self.format, delimiter, asked, facts);
    }

    /// Prints the line that says why there is no object.
    pub(super) fn report(&mut self, asked: RequestedObject<'_>, word: &str) {
        let out = &mut self.output.buf;
        match asked.name.filter(|_| word != "submodule") {
            Some(name) => out.extend_from_slice(name),
            None => out.extend_from_slice(asked.id.to_hex().to_string().as_bytes()),
        }
        out.push(b' ');
        out.extend_from_slice(word.as_bytes());
        out.push(self.arguments.output_delimiter);
    }

    fn report_missing(&mut self, asked: RequestedObject<'_>) {
        let is_submodule = asked.mode.is_some_and(FileMode::is_gitlink);
        self.report(asked, if is_submodule { "submodule" } else { "missing" });
    }

    /// Writes git's messages about a read and returns its result. `None` for a failure after which git goes on.
    pub(super) fn report_messages<T>(
        &mut self,
        result: Result<T, object_store::Error>,
    ) -> Result<Option<T>, Failure> {
        if self.is_one_of_many && (result.is_err() || !self.reader.take_messages().is_empty()) {
            return Err(Failure::Damaged);
        }
        report_messages(&mut self.reader, result)
    }
}

/// Writes git's messages about a read and returns its result. `None` for a failure after which git goes on.
pub(super) fn report_messages<T>(
    reader: &mut ObjectReader,
    result: Result<T, object_store::Error>,
) -> Result<Option<T>, Failure> {
    match result {
        Ok(read) => {
            say_texts(&reader.take_messages());
            Ok(Some(read))
        }
        Err(error) => {
            say_texts(&error.messages);
            match error.is_fatal() {
                true => Err(Reply::fatal(message_bytes(&error.reason)).into()),
                false => Ok(None),
            }
        }
    }
}

fn append_line(
    out: &mut Vec<u8>,
    format: &Format,
    delimiter: u8,
    asked: &RequestedObject<'_>,
    facts: &Facts,
) {
    let object = Object {
        id: asked.id,
        facts,
        mode: asked.mode,
        rest: asked.rest,
    };
    format.append(out, &object);
    out.push(delimiter);
}
