//! Questions about one object.

use std::io::Write as _;

use bstr::{BStr, ByteSlice};
use vigil_git::objects::Circle;
use vigil_history::revision;
use vigil_model::ObjectId;
use vigil_model::quote::{QuoteRule, append_quoted};
use vigil_objects::{Kind, Location, ObjectReader, StreamError, tree};

use super::arguments::{Single, Transform};
use super::failure::Failure;
use super::object_printer::{Rewriter, STREAM_MIN, report_messages};
use super::output::{Output, Sink};
use super::say::{say, say_texts};
use super::sources::Sources;
use crate::reply::{Reply, bytes};

/// One object that is asked about.
struct SingleObject<'a> {
    sources: &'a Sources,
    reader: ObjectReader,
    output: Output,
    name: &'a BStr,
    /// The id that was named. Another object may replace it.
    id: ObjectId,
    /// It was named by its id in the other hash algorithm, and its contents are shown with ids of that algorithm.
    uses_compat_hash: bool,
}

/// Answers `single` for the object `name`. `path` decides how contents are transformed. Returns the exit code.
///
/// # Errors
/// The failure with which git exits.
pub(super) fn print(
    sources: &Sources,
    rewriter: &dyn Rewriter,
    single: Single,
    name: &BStr,
    path: Option<&BStr>,
    use_mailmap: bool,
) -> Result<u8, Failure> {
    let is_transformed = matches!(single, Single::Transformed(_));
    let options = revision::Options {
        is_fatal_on_failure: true,
        requires_path: path.is_none() && is_transformed,
        ..revision::Options::default()
    };
    let resolution = sources.resolve(name, &options);
    sources.say(&resolution.messages);
    let found = match resolution.outcome {
        Ok(found) => found,
        Err(why) if why.is_fatal() => return Err(Failure::of_name(why)),
        Err(_) => return Err(not_valid(name).into()),
    };
    let mut one = SingleObject {
        sources,
        reader: ObjectReader::new(&sources.store),
        output: Output::new(Sink::Stdout, &sources.cut_guard),
        name,
        id: found.id,
        uses_compat_hash: sources.with_native_id(name).is_some(),
    };
    let result = match single {
        Single::Exists => {
            let mut messages = Vec::new();
            sources.begin();
            let exists = sources.store.exists(&one.id, &mut messages);
            say_texts(&messages);
            let mut exists = report_messages(&mut one.reader, exists)? == Some(true);
            if !exists {
                let fetched = one.reader.fetch(&one.id);
                exists = report_messages(&mut one.reader, fetched)?
                    .flatten()
                    .is_some();
            }
            return Ok(u8::from(!exists));
        }
        Single::Type => one.kind(),
        Single::Size => one.size(rewriter, use_mailmap),
        Single::Pretty => one.pretty(rewriter, use_mailmap),
        Single::Contents(kind) => one.contents(kind_of(kind.as_bstr())?, rewriter, use_mailmap),
        Single::Transformed(transform) => {
            let path = path.or(found.path.as_ref().map(|path| path.as_bstr()));
            let is_file = found.mode.is_none_or(|mode| mode.is_file());
            one.transformed(
                transform,
                rewriter,
                path.unwrap_or_default(),
                is_file,
                use_mailmap,
            )
        }
    };
    one.output.flush()?;
    result.map(|()| 0)
}

fn kind_of(text: &BStr) -> Result<Kind, Reply> {
    Kind::from_bytes(text).map_err(|_| {
        let complaint = bytes!["invalid object type \"", text, "\""];
        Reply::fatal(complaint)
    })
}

fn not_valid(name: &BStr) -> Reply {
    Reply::fatal(bytes!["Not a valid object name ", name])
}

impl SingleObject<'_> {
    fn find(&mut self, id: &ObjectId) -> Result<Option<Location>, Failure> {
        self.sources.begin();
        let found = self.reader.find(id);
        Ok(report_messages(&mut self.reader, found)?.flatten())
    }

    /// Locates what the object `id` is or is replaced by, and finds its type.
    fn located(&mut self, id: &ObjectId) -> Result<Option<(Location, Kind)>, Failure> {
        let id = self.sources.objects.replaced(id)?;
        let Some(location) = self.find(&id)? else {
            return Ok(None);
        };
        let kind = self.reader.kind(&location);
        let kind = report_messages(&mut self.reader, kind)?;
        Ok(kind.map(|kind| (location, kind)))
    }

    fn kind(&mut self) -> Result<(), Failure> {
        let id = self.id;
        let Some((_, kind)) = self.located(&id)? else {
            return Err(Reply::fatal("git cat-file: could not get object info").into());
        };
        let _ = writeln!(self.output.buf, "{kind}");
        Ok(())
    }

    fn size(&mut self, rewriter: &dyn Rewriter, use_mailmap: bool) -> Result<(), Failure> {
        let id = self.id;
        let no_info = || Reply::fatal("git cat-file: could not get object info");
        let real = self.sources.objects.replaced(&id)?;
        let location = self.find(&real)?.ok_or_else(no_info)?;
        let mut size;
        if use_mailmap {
            // With `--mailmap` git reads the contents of every object, whatever its type.
            let mut contents = Vec::new();
            let read = self.reader.append_if_sound(&location, &mut contents);
            let info = report_messages(&mut self.reader, read)?.ok_or_else(no_info)?;
            let shown = self.shown(info.kind, contents).unwrap_or_default();
            size = shown.len() as u64;
            if matches!(info.kind, Kind::Commit | Kind::Tag) {
                size = rewriter.with_mailmap(shown)?.len() as u64;
            }
        } else {
            let size_read = self.reader.size(&location);
            size = report_messages(&mut self.reader, size_read)?.ok_or_else(no_info)?;
            if self.uses_compat_hash {
                let kind = self.reader.kind(&location);
                let kind = report_messages(&mut self.reader, kind)?.ok_or_else(no_info)?;
                if kind != Kind::Blob {
                    size = self.read(&location)?.unwrap_or_default().len() as u64;
                }
            }
        }
        let _ = writeln!(self.output.buf, "{size}");
        Ok(())
    }

    fn pretty(&mut self, rewriter: &dyn Rewriter, use_mailmap: bool) -> Result<(), Failure> {
        let id = self.id;
        let Some((location, kind)) = self.located(&id)? else {
            return Err(not_valid(self.name).into());
        };
        match kind {
            Kind::Tree => {
                // git runs `ls-tree`, which resolves the name again.
                let again = self
                    .sources
                    .resolve(self.name, &revision::Options::default());
                self.sources.say(&again.messages);
                self.tree(&location)
            }
            Kind::Blob => self.stream(&location),
            Kind::Commit | Kind::Tag => {
                let Some(mut contents) = self.read(&location)? else {
                    return Err(Reply::fatal(bytes!["Cannot read object ", self.name]).into());
                };
                if use_mailmap {
                    contents = rewriter.with_mailmap(contents)?;
                }
                self.output.flush_with(&contents)
            }
        }
    }

    /// Prints the entries of a tree as `git ls-tree` does.
    fn tree(&mut self, location: &Location) -> Result<(), Failure> {
        let mut contents = self.read(location)?;
        // git parses the tree, and checks its hash.
        if let Some(found) = &contents
            && !self.uses_compat_hash
            && !location.is_of(Kind::Tree, found)
        {
            say_texts(&[format!("error: hash mismatch {}", location.id())]);
            contents = None;
        }
        let Some(contents) = contents else {
            return Err(Reply::fatal("not a tree object").into());
        };
        let rule = QuoteRule {
            high_bytes: self.sources.quotes_high_bytes()?,
            spaces: false,
        };
        let kind = match self.uses_compat_hash {
            true => self.sources.repository.compat_hash,
            false => None,
        };
        for entry in tree::walked_entries(&contents, kind.unwrap_or(self.id.kind())) {
            let entry = entry.map_err(Reply::fatal)?;
            let kind = match entry.mode {
                mode if mode.is_tree() => "tree",
                mode if mode.is_gitlink() => "commit",
                _ => "blob",
            };
            let out = &mut self.output.buf;
            let _ = write!(out, "{:06o} {kind} {}\t", entry.mode.0, entry.id);
            append_quoted(out, entry.key.name.into(), rule);
            out.push(b'\n');
            self.output.flush_if_full()?;
        }
        Ok(())
    }

    /// Prints the contents of the object of type `kind` that the named object leads to.
    fn contents(
        &mut self,
        kind: Kind,
        rewriter: &dyn Rewriter,
        use_mailmap: bool,
    ) -> Result<(), Failure> {
        if kind == Kind::Blob && self.stream_blob()? {
            return Ok(());
        }
        let bad_file = || Reply::fatal(bytes!["git cat-file ", self.name, ": bad file"]);
        let bad_file = bad_file();
        let mut id = self.id;
        // Replacements may lead from tag to tag in a circle.
        let mut circle = Circle::default();
        while !circle.is_closed_by(&id) {
            let Some((found, contents)) = self.read_sound(&id)? else {
                return Err(bad_file.into());
            };
            if found == kind {
                let contents = match use_mailmap {
                    true => rewriter.with_mailmap(contents)?,
                    false => contents,
                };
                return self.output.flush_with(&contents);
            }
            let field: &[u8] = match found {
                Kind::Commit => b"tree ",
                Kind::Tag => b"object ",
                _ => return Err(bad_file.into()),
            };
            // Nor does git follow ids of the other hash algorithm here: it finds no such object.
            match id_behind(field, &contents) {
                Some(next) => id = next,
                None => return Err(bad_file.into()),
            }
        }
        Err(bad_file.into())
    }

    /// Streams the object if it is a blob, or a tag of one. Returns whether it is. Like git, it looks up an object twice if the
    /// first lookup fails.
    fn stream_blob(&mut self) -> Result<bool, Failure> {
        let id = self.id;
        let next = match self.located(&id)? {
            Some((location, Kind::Blob)) => {
                return self.stream(&location).map(|()| true);
            }
            Some((_, Kind::Tag)) => {
                let Some((_, contents)) = self.read_sound(&id)? else {
                    return Err(Reply::fatal(format!("unable to read {id}")).into());
                };
                let target = id_behind(b"object ", &contents);
                target.ok_or_else(|| Reply::fatal(format!("{id} not a valid tag")))?
            }
            Some(_) => return Ok(false),
            None => id,
        };
        match self.located(&next)? {
            Some((location, Kind::Blob)) => self.stream(&location).map(|()| true),
            _ => Ok(false),
        }
    }

    fn transformed(
        &mut self,
        transform: Transform,
        rewriter: &dyn Rewriter,
        path: &BStr,
        is_file: bool,
        use_mailmap: bool,
    ) -> Result<(), Failure> {
        if transform == Transform::Textconv && !rewriter.has_textconv(is_file, path)? {
            return self.pretty(rewriter, use_mailmap);
        }
        let id = self.id;
        let replaced = self.sources.objects.replaced(&id)?;
        let mut contents = Vec::new();
        let info = match self.find(&replaced)? {
            Some(location) if transform == Transform::Textconv => {
                let read = self.reader.append_if_sound(&location, &mut contents);
                report_messages(&mut self.reader, read)?
            }
            Some(location) => {
                let read = self.reader.append(&location, &mut contents);
                report_messages(&mut self.reader, read)?
            }
            None => None,
        };
        let Some(info) = info else {
            if transform == Transform::Textconv {
                return Err(Reply::fatal(format!("unable to read {id}")).into());
            }
            let name = id.to_string();
            let text = bytes!["error: cannot read object ", name, " '", path, "'"];
            say(&[text.into()]);
            return Err(Reply::complained(Vec::new(), 255).into());
        };
        // Textconv applies to any object, filters only to blobs.
        let made = match transform == Transform::Textconv || info.kind == Kind::Blob {
            true => rewriter.transformed(transform, is_file, &id, &contents, path)?,
            false => None,
        };
        self.output.flush_with(&made.unwrap_or(contents))
    }

    fn read(&mut self, location: &Location) -> Result<Option<Vec<u8>>, Failure> {
        let mut contents = Vec::new();
        let read = self.reader.append(location, &mut contents);
        let read = report_messages(&mut self.reader, read)?;
        Ok(read.and_then(|info| self.shown(info.kind, contents)))
    }

    /// Reads the type and contents of what `id` is or is replaced by. Fails if the object exists and is damaged.
    fn read_sound(&mut self, id: &ObjectId) -> Result<Option<(Kind, Vec<u8>)>, Failure> {
        let real = self.sources.objects.replaced(id)?;
        let mut contents = Vec::new();
        self.sources.begin();
        let read = self.reader.read_sound(&real, &mut contents);
        match report_messages(&mut self.reader, read)?.flatten() {
            Some(info) => Ok(self
                .shown(info.kind, contents)
                .map(|shown| (info.kind, shown))),
            None if real != *id => {
                Err(Reply::fatal(format!("replacement {real} not found for {id}")).into())
            }
            None => Ok(None),
        }
    }

    /// Returns the contents as they are shown: with ids of the other hash algorithm if the object was named by one.
    fn shown(&self, kind: Kind, contents: Vec<u8>) -> Option<Vec<u8>> {
        match self.uses_compat_hash {
            true => self.sources.to_compat_hash(kind, contents),
            false => Some(contents),
        }
    }

    fn stream(&mut self, location: &Location) -> Result<(), Failure> {
        let output = &mut self.output;
        let streamed = self
            .reader
            .stream(location, STREAM_MIN, &mut |_, piece: &[u8]| {
                output.flush_with(piece)
            });
        let error = match streamed {
            Ok(_) => return Ok(()),
            Err(StreamError::Sink(failure)) => return Err(failure),
            Err(StreamError::Read(error)) => error,
        };
        report_messages::<()>(&mut self.reader, Err(error))?;
        Err(Reply::fatal(format!("unable to stream {} to stdout", self.id)).into())
    }
}

/// The id in the first line of an object, after `field`.
fn id_behind(field: &[u8], contents: &[u8]) -> Option<ObjectId> {
    let hex = contents.strip_prefix(field)?.lines().next()?;
    ObjectId::from_hex(hex).ok()
}
