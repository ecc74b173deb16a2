//! What `git add` would record for a file of the working tree, and what a checkout would write for a blob.
//!
//! The clean side of git's conversion, as `git status` uses it: filter, encoding, line endings, ident, in this
//! order, without writing anything. A file whose attributes ask for no conversion is hashed as it is read, in one
//! pass. The other side (`smudge`) takes the steps in reverse order.

pub(crate) mod conversation;
mod encoding;
pub(crate) mod eol;
mod error;
mod explain;
pub(crate) mod filter;
mod fingerprint;
pub(crate) mod ident;
mod process;
mod read;
mod settings;
mod smudge;
#[cfg(test)]
pub(crate) mod testing;

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use bstr::{BStr, BString};
use gix_hash::ObjectId;
use parking_lot::Mutex;

pub use error::Error;
pub use explain::{Reason, Step, Treatment};
pub use settings::{AutoCrlf, Driver, Settings};

use self::conversation::{Outcome, Task};
use self::eol::{Action, Ending, LostEndings, Statistics};
use self::filter::Input;
use self::process::Process;
use self::read::FileBytes;
use self::settings::{Direction, Program};
use vigil_git::child::{ChildEnvironment, FilterStderr};
use vigil_model::raw_text::{message_bytes, text_bytes};
use vigil_objects::hash::{BlobHasher, hash_blob};
use vigil_rules::attributes::{Attributes, Blobs, Value};
use vigil_rules::messages::{Messages, bytes};

/// How many bytes are read at a time.
const PIECE_SIZE: u64 = 1 << 16;

/// The attributes that decide conversion.
const ATTRIBUTES: [&str; 6] = [
    "text",
    "crlf",
    "eol",
    "ident",
    "filter",
    "working-tree-encoding",
];

/// Converts files of one working tree; shared by threads.
///
/// Filter processes are started when the first file needs them, kept for the next ones, and ended when the value is
/// dropped. One filter works on one file at a time.
pub struct Converter {
    settings: Settings,
    attributes: Arc<Attributes>,
    messages: Arc<Messages>,
    /// One slot per command; it is locked while the command runs.
    running: HashMap<BString, Mutex<Option<Process>>>,
}

impl fmt::Debug for Converter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Converter")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// What conversion does to one file.
struct ConversionPlan<'a> {
    driver: Option<(BString, &'a Driver)>,
    encoding: Option<BString>,
    eol: Action,
    /// The attribute that decides about line endings, if any does.
    eol_attribute: Option<&'static str>,
    ident: bool,
}

impl ConversionPlan<'_> {
    /// Whether the whole file has to be in memory.
    fn needs_all(&self) -> bool {
        self.ident || self.encoding.is_some() || self.runs_filter()
    }

    /// Whether cleaning the file runs a filter, or fails because a required one is missing.
    fn runs_filter(&self) -> bool {
        self.driver.as_ref().is_some_and(|(_, driver)| {
            driver.required || driver.program(Direction::Clean).is_some()
        })
    }
}

impl Converter {
    /// Creates a converter for the working tree with these `attributes`, and sends messages where theirs go.
    pub fn new(settings: Settings, attributes: Arc<Attributes>) -> Self {
        let running = settings
            .drivers
            .values()
            .flat_map(|driver| [Direction::Clean, Direction::Smudge].map(|way| driver.program(way)))
            .flatten()
            .map(|program| match program {
                Program::Command(command) | Program::Process(command) => {
                    (command.into(), Mutex::new(None))
                }
            })
            .collect();
        Self {
            settings,
            messages: Arc::clone(attributes.messages()),
            attributes,
            running,
        }
    }

    /// Begins a new request: rereads attributes and index, and asks filters again that refused all further files,
    /// since such a refusal holds for one run of git.
    pub fn refresh(&self, blobs: Blobs) {
        self.attributes.refresh(blobs);
        for slot in self.running.values() {
            let mut slot = slot.lock();
            if slot.as_ref().is_some_and(Process::has_aborted) {
                *slot = None;
            }
        }
    }

    /// Whether the working-tree file at `path` (opened by the caller as `file`, `size` bytes long by its stat data)
    /// has, after git's clean-side conversion, the blob id `recorded`. Also for a plain file that stands for a
    /// symbolic link (`core.symlinks=false`), which git converts like any other.
    ///
    /// A file that cannot be read counts as changed, and the reason goes to the messages.
    ///
    /// # Errors
    /// One at which git exits: a setting or an attribute is invalid, or a required filter failed.
    pub fn is_unchanged(
        &self,
        path: &BStr,
        file: &File,
        size: u64,
        recorded: &ObjectId,
    ) -> Result<bool, Error> {
        match self.hash_file(path, file, size) {
            Ok(id) => Ok(id == *recorded),
            Err(error) if error.is_about_reading() => {
                self.messages.error(message_bytes(&error));
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the blob id that the file would get. Parameters as in [`Converter::is_unchanged`].
    pub(crate) fn hash_file(&self, path: &BStr, file: &File, size: u64) -> Result<ObjectId, Error> {
        let plan = self.plan(path)?;
        if plan.needs_all() {
            let contents = self.convert(&plan, path, file, size, false)?;
            return Ok(hash_blob(self.settings.hash, &contents));
        }
        match plan.eol {
            Action::Binary => self.hash_as_is(path, file, size),
            action => self.hash_text(action, path, file, size),
        }
    }

    /// Returns the contents that would be recorded, as git's rename detection compares them: with a warning if line
    /// endings would be lost.
    ///
    /// # Errors
    /// The file cannot be read, or git exits, as for [`Self::is_unchanged`].
    pub fn read_file(&self, path: &BStr, file: &File, size: u64) -> Result<Vec<u8>, Error> {
        if size == 0 {
            return Ok(Vec::new());
        }
        let plan = self.plan(path)?;
        self.convert(&plan, path, file, size, self.settings.warns_of_loss)
    }

    fn plan(&self, path: &BStr) -> Result<ConversionPlan<'_>, Error> {
        if let Some(fault) = &self.settings.fault {
            let messages = fault
                .messages()
                .iter()
                .map(|line| text_bytes(line))
                .collect();
            self.messages.all_once(messages);
            return Err(fault.clone().into());
        }
        let [text, crlf, eol, ident, filter, encoding] = self.attributes.lookup(path, ATTRIBUTES);
        let driver = match filter {
            Value::Text(name) => self
                .settings
                .drivers
                .get(&name)
                .map(|driver| (name, driver)),
            _ => None,
        };
        let encoding = match encoding {
            Value::Set => return Err(Error::NoEncoding),
            Value::Text(name) if !name.is_empty() && !encoding::is_same(&name, b"UTF-8") => {
                Some(name)
            }
            _ => None,
        };
        let (eol, eol_attribute) = self.eol_action(&text, &crlf, &eol);
        Ok(ConversionPlan {
            driver,
            encoding,
            eol,
            eol_attribute,
            ident: ident == Value::Set,
        })
    }

    /// Returns what is done to line endings, and the attribute that decides it, if any.
    fn eol_action(
        &self,
        text: &Value,
        crlf: &Value,
        eol: &Value,
    ) -> (Action, Option<&'static str>) {
        let default = match self.settings.auto_crlf {
            AutoCrlf::True => Ending::CrLf,
            AutoCrlf::False if self.settings.eol_crlf => Ending::CrLf,
            _ => Ending::Lf,
        };
        let eol = match eol {
            Value::Text(text) if text == "lf" => Some(Ending::Lf),
            Value::Text(text) if text == "crlf" => Some(Ending::CrLf),
            _ => None,
        };
        let by = |value: &Value| match value {
            Value::Set => Some(Action::Text(eol.unwrap_or(default))),
            Value::Unset => Some(Action::Binary),
            Value::Text(text) if text == "input" => Some(Action::Text(eol.unwrap_or(Ending::Lf))),
            Value::Text(text) if text == "auto" => Some(Action::Auto(eol.unwrap_or(default))),
            _ => None,
        };
        let named = |name: &'static str| move |action| (action, Some(name));
        by(text)
            .map(named("text"))
            .or_else(|| by(crlf).map(named("crlf")))
            .or_else(|| eol.map(Action::Text).map(named("eol")))
            .unwrap_or_else(|| {
                let action = match self.settings.auto_crlf {
                    AutoCrlf::False => Action::Binary,
                    AutoCrlf::True => Action::Auto(Ending::CrLf),
                    AutoCrlf::Input => Action::Auto(Ending::Lf),
                };
                (action, None)
            })
    }

    /// Hashes a file that is recorded without conversion.
    fn hash_as_is(&self, path: &BStr, file: &File, size: u64) -> Result<ObjectId, Error> {
        let mut hasher = BlobHasher::new(self.settings.hash, size);
        for_pieces(path, file, size, |piece| {
            hasher.update(piece);
            true
        })?;
        Ok(hasher.finish())
    }

    /// Hashes a file in which at most the line endings are converted, in constant memory.
    fn hash_text(
        &self,
        action: Action,
        path: &BStr,
        file: &File,
        size: u64,
    ) -> Result<ObjectId, Error> {
        // Most texts have no CR at all.
        let mut hasher = BlobHasher::new(self.settings.hash, size);
        let mut has_cr = false;
        for_pieces(path, file, size, |piece| {
            has_cr = piece.contains(&b'\r');
            if !has_cr {
                hasher.update(piece);
            }
            !has_cr
        })?;
        if !has_cr {
            return Ok(hasher.finish());
        }

        let mut statistics = Statistics::default();
        for_pieces(path, file, size, |piece| {
            statistics.add(piece);
            matches!(action, Action::Text(_)) || !statistics.has_nul()
        })?;
        statistics.finish();
        if !statistics.becomes_lf(action, || self.has_crlf_in_index(path)) {
            return self.hash_as_is(path, file, size);
        }

        let size_after = size.saturating_sub(statistics.crlf);
        let mut hasher = BlobHasher::new(self.settings.hash, size_after);
        let mut hashed = 0;
        let mut held_cr = false;
        let mut update = |bytes: &[u8]| {
            hashed += bytes.len() as u64;
            hasher.update(bytes);
        };
        for_pieces(path, file, size, |piece| {
            eol::strip_cr(piece, &mut held_cr, &mut update);
            true
        })?;
        if held_cr {
            update(b"\r");
        }
        if hashed != size_after {
            // The file changed between the two passes.
            return Err(Error::ShortRead(path.into()));
        }
        Ok(hasher.finish())
    }

    /// Applies all steps to the whole contents.
    fn convert(
        &self,
        plan: &ConversionPlan<'_>,
        path: &BStr,
        file: &File,
        size: u64,
        warns_of_loss: bool,
    ) -> Result<Vec<u8>, Error> {
        let mut contents = match &plan.driver {
            Some((name, driver)) if driver.required => self
                .filter(driver, Task::Clean, path, Input::File(file))?
                .ok_or_else(|| Error::RequiredFilter {
                    path: path.into(),
                    filter: name.clone(),
                })?,
            Some((_, driver)) => {
                let contents = read_all(path, file, size)?;
                self.filter(driver, Task::Clean, path, Input::Bytes(&contents))?
                    .unwrap_or(contents)
            }
            None => read_all(path, file, size)?,
        };
        if let Some(encoding) = &plan.encoding
            && let Some(converted) = encoding::to_utf8(
                self.child_environment(),
                path,
                encoding.as_ref(),
                &contents,
                &self.messages,
            )
        {
            contents = converted;
        }
        if plan.eol != Action::Binary && (warns_of_loss || contents.contains(&b'\r')) {
            let statistics = Statistics::of(&contents);
            let becomes_lf = statistics.becomes_lf(plan.eol, || self.has_crlf_in_index(path));
            if warns_of_loss && let Some(loss) = statistics.loss(plan.eol, becomes_lf) {
                self.warn_of(loss, path);
            }
            if becomes_lf {
                let mut converted = Vec::with_capacity(contents.len());
                let mut held_cr = false;
                eol::strip_cr(&contents, &mut held_cr, |bytes| {
                    converted.extend_from_slice(bytes);
                });
                if held_cr {
                    converted.push(b'\r');
                }
                contents = converted;
            }
        }
        if plan.ident
            && let Some(collapsed) = ident::collapse(&contents)
        {
            contents = collapsed;
        }
        Ok(contents)
    }

    /// Returns the filter's output; `None` if there is none and the contents stay as they are.
    fn filter(
        &self,
        driver: &Driver,
        task: Task<'_>,
        path: &BStr,
        input: Input<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let Some(program) = driver.program(task.direction()) else {
            return Ok(None);
        };
        let child_environment = &self.settings.child_environment;
        let (Program::Command(command) | Program::Process(command)) = program;
        if child_environment.stderr == FilterStderr::Refuse {
            return Err(Error::FilterRefused(command.to_owned()));
        }
        let Some(slot) = self.running.get(command) else {
            return Ok(None);
        };
        let mut slot = slot.lock();
        if let Program::Command(_) = program {
            return Ok(filter::run_filter(
                child_environment,
                command,
                path,
                input,
                &self.messages,
            ));
        }
        let process = match slot.take() {
            Some(process) => Some(process),
            None => Process::start(child_environment, command, &self.messages)?,
        };
        let Some(mut process) = process else {
            return Ok(None);
        };
        match process.convert(task, path, input, &self.messages) {
            Ok(outcome) => {
                let converted = match outcome {
                    Outcome::Converted(contents) => Some(contents),
                    Outcome::Declined => None,
                    Outcome::Broken => {
                        self.messages
                            .error(bytes!("external filter '", command, "' failed"));
                        process.terminate(command, &self.messages);
                        return Ok(None);
                    }
                };
                *slot = Some(process);
                Ok(converted)
            }
            Err(error) => Err(error),
        }
    }

    /// The environment in which programs run.
    pub(crate) fn child_environment(&self) -> &ChildEnvironment {
        &self.settings.child_environment
    }

    /// Where messages go.
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    fn has_crlf_in_index(&self, path: &BStr) -> bool {
        self.attributes
            .index_blob(path)
            .is_some_and(|blob| eol::has_crlf(&blob))
    }

    fn warn_of(&self, loss: LostEndings, path: &BStr) {
        let (from, to) = match loss {
            LostEndings::CrLf => ("CRLF", "LF"),
            LostEndings::Lf => ("LF", "CRLF"),
        };
        self.messages.warning(bytes!(
            "in the working copy of '",
            path,
            "', ",
            from,
            " will be replaced by ",
            to,
            " the next time Git touches it"
        ));
    }
}

/// Passes the first `size` bytes of `file` to `take` in pieces, until it returns false. Fewer bytes are an error.
fn for_pieces(
    path: &BStr,
    file: &File,
    size: u64,
    mut take: impl FnMut(&[u8]) -> bool,
) -> Result<(), Error> {
    let mut reader = FileBytes::new(file, size);
    let mut buffer = vec![0; size.min(PIECE_SIZE) as usize];
    while reader.left() > 0 {
        let count = reader.read(&mut buffer).map_err(|source| Error::Read {
            path: path.into(),
            source,
        })?;
        if count == 0 {
            return Err(Error::ShortRead(path.into()));
        }
        if !take(buffer.get(..count).unwrap_or_default()) {
            break;
        }
    }
    Ok(())
}

/// Reads the first `size` bytes of `file`.
fn read_all(path: &BStr, file: &File, size: u64) -> Result<Vec<u8>, Error> {
    let mut contents = Vec::new();
    for_pieces(path, file, size, |piece| {
        contents.extend_from_slice(piece);
        true
    })?;
    Ok(contents)
}

#[cfg(test)]
mod tests;
