//! What names are resolved against, and how contents are transformed.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::session::SessionError;
use vigil_engine::session::contents::Contents;
use vigil_git::config;
use vigil_git::environment::Environment;
use vigil_git::objects::{Compat, Objects};
use vigil_git::promisor::Remotes;
use vigil_git::refs::Refs;
use vigil_git::remote_objects::RemoteObjects;
use vigil_git::repository::Repository;
use vigil_history::mailmap::{Loaded, Mailmap};
use vigil_history::revision::{self, Memory, Resolution, Unresolved};
use vigil_model::ObjectId;
use vigil_model::raw_text::message_bytes;
use vigil_objects::{Kind, ObjectStore};

use super::arguments::Transform;
use super::failure::Failure;
use super::object_printer::Rewriter;
use super::output::CutGuard;
use super::say::{say, say_lines, say_texts};
use crate::inside;
use crate::reply::Reply;

/// One repository.
pub(super) struct Sources {
    pub(super) repository: Repository,
    refs: Refs,
    pub(super) objects: Objects,
    memory: Memory,
    contents: OnceCell<Contents>,
    mailmap: OnceCell<Mailmap>,
    /// For asking remotes.
    remote_objects: OnceCell<Option<RemoteObjects>>,
    pub(super) store: Arc<ObjectStore>,
    pub(super) compat: Option<Compat>,
    hex_len: usize,
    hint_colors: Option<[Vec<u8>; 2]>,
    /// Covers all of the above.
    pub(super) cut_guard: CutGuard,
}

/// A repository that was found, and of which nothing but the configuration was read.
pub(super) struct FoundRepository {
    pub(super) repository: Repository,
    /// What begins and ends the colour of hints, if they are coloured.
    pub(super) hint_colors: Option<[Vec<u8>; 2]>,
    cut_guard: CutGuard,
}

impl FoundRepository {
    /// Finds the repository around the working directory, or the one that `environment` names.
    ///
    /// # Errors
    /// There is no repository.
    pub(super) fn find(environment: &Environment) -> Result<Self, Reply> {
        let cut_guard = CutGuard::new();
        let repository = inside::find(environment)?;
        Ok(Self {
            repository,
            hint_colors: None,
            cut_guard,
        })
    }
}

impl Sources {
    /// Opens references and objects.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn open(found: FoundRepository) -> Result<Self, Reply> {
        let FoundRepository {
            repository,
            hint_colors,
            cut_guard,
        } = found;
        let fatal = |error: &dyn std::error::Error| Reply::fatal(message_bytes(&error));
        let refs = Refs::open(&repository);
        let objects = Objects::open_fetching(&repository, &refs).map_err(|error| fatal(&error))?;
        objects.collect_messages();
        let store = objects.store();
        Ok(Self {
            compat: Compat::read(&repository, store.folders()),
            store,
            hex_len: repository.hash.len_in_hex(),
            repository,
            refs,
            objects,
            memory: Memory::new(),
            contents: OnceCell::new(),
            mailmap: OnceCell::new(),
            remote_objects: OnceCell::new(),
            hint_colors,
            cut_guard,
        })
    }

    /// Writes the messages that git prints once, when the first object is read.
    pub(super) fn begin(&self) {
        say_texts(&self.objects.take_opening_messages());
    }

    /// Writes the messages about a name.
    pub(super) fn say(&self, messages: &[BString]) {
        say_lines(messages, self.hint_colors.as_ref());
    }

    /// Parses `name` if it is a full id.
    pub(super) fn full_id(&self, name: &BStr) -> Option<ObjectId> {
        (name.len() == self.hex_len)
            .then(|| ObjectId::from_hex(name).ok())
            .flatten()
    }

    /// Returns `name` with the repository's own id in place of an id of its other hash algorithm, if `name` begins with one, or is
    /// the abbreviation of one and nothing else.
    pub(super) fn with_native_id(&self, name: &BStr) -> Option<BString> {
        let compat = self.compat.as_ref()?;
        compat.with_native_id(name).or_else(|| {
            let own = compat.abbreviated_native_id(name)?;
            let options = revision::Options {
                quietly: true,
                ..revision::Options::default()
            };
            let known = self.resolved(name, &options);
            matches!(known.outcome, Err(Unresolved::Missing)).then(|| own.to_string().into())
        })
    }

    /// The id of an object in the other hash algorithm.
    pub(super) fn compat_id(&self, own: &ObjectId) -> Option<ObjectId> {
        self.compat.as_ref()?.compat_id(own)
    }

    /// Resolves `name`.
    pub(super) fn resolve(&self, name: &BStr, options: &revision::Options) -> Resolution {
        let own = self.with_native_id(name);
        let mut resolution = self.resolved(own.as_ref().map_or(name, |own| own.as_bstr()), options);
        if let Some(own) = own
            && let Err(Unresolved::Fatal(text)) = &mut resolution.outcome
            && let Some((own, rest)) = own.split_at_checked(self.hex_len)
            && let Some(given) = name.strip_suffix(rest)
        {
            // Messages show the name that was given.
            *text = text.replace(own, given).into();
        }
        resolution
    }

    /// Resolves `name`, which has no id of the other hash algorithm.
    fn resolved(&self, name: &BStr, options: &revision::Options) -> Resolution {
        revision::resolve_in_context(
            name,
            options,
            &self.repository,
            &self.refs,
            &self.objects,
            &self.memory,
        )
    }

    /// Returns whether printed paths have bytes from 0x80 on escaped.
    ///
    /// # Errors
    /// `core.quotePath` is not a boolean.
    pub(super) fn quotes_high_bytes(&self) -> Result<bool, Reply> {
        let quotes = self.repository.config.boolean("core.quotePath");
        let quotes = quotes.map_err(|error| Reply::fatal_after(error.messages(), &error))?;
        Ok(quotes != Some(false))
    }

    /// Reads the environment variable `name` as a boolean, as git does.
    ///
    /// # Errors
    /// The value is not a boolean.
    pub(super) fn boolean_of_environment(&self, name: &str) -> Result<bool, Reply> {
        config::environment_boolean(&self.repository.environment, name, false)
            .map_err(|error| Reply::fatal(message_bytes(&error)))
    }

    /// The memory for bases of deltas, in bytes, if configured (`core.deltaBaseCacheLimit`).
    pub(super) fn bases_len_max(&self) -> Option<usize> {
        let entry = self.repository.config.entry("core.deltaBaseCacheLimit")?;
        // The value was checked when the repository was opened.
        let len = entry.unsigned().ok()?;
        Some(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// Returns whether this is a partial clone, some of whose objects may be elsewhere.
    ///
    /// # Errors
    /// The promisor remotes are badly configured.
    pub(super) fn has_promisor(&self) -> Result<bool, Reply> {
        let remotes = Remotes::of(&self.repository.config);
        match &remotes.refusal {
            Some(text) => Err(Reply::gave_up(&remotes.messages, "fatal: ", text)),
            None => {
                say_texts(&remotes.messages);
                Ok(!remotes.is_empty())
            }
        }
    }
}

impl Sources {
    /// What converts blobs, for `transform` of the one at `path`, which is a file if `is_file`: only then does git look up
    /// attributes.
    fn contents(
        &self,
        transform: Transform,
        is_file: bool,
        path: &BStr,
    ) -> Result<&Contents, Failure> {
        let gave_up =
            |error: SessionError| Reply::gave_up(&error.messages(), error.label(), &error);
        if self.contents.get().is_none() {
            let contents =
                Contents::of(&self.repository, &self.refs, &self.objects).map_err(gave_up)?;
            let _ = self.contents.set(contents);
        }
        let contents = self.contents.get().ok_or(Failure::Unwanted)?;
        if let Some(index) = self.memory.index() {
            contents.use_index(index);
        }
        if is_file {
            let for_comparison = transform == Transform::Textconv;
            let checked = contents.check_source(&self.repository, path, for_comparison);
            say_texts(&self.objects.take_messages());
            checked.map_err(gave_up)?;
        }
        Ok(contents)
    }

    fn mailmap(&self) -> Result<&Mailmap, Failure> {
        if self.mailmap.get().is_none() {
            let loaded = Loaded::read(&self.repository, &self.refs, &self.objects, &self.memory)
                .map_err(|error| Reply::fatal_after(error.messages(), &error))?;
            self.say(&loaded.messages);
            let _ = self.mailmap.set(loaded.mailmap);
        }
        self.mailmap.get().ok_or(Failure::Unwanted)
    }

    /// Returns what asks remotes; `None` if that is impossible.
    pub(super) fn remote_objects(&self) -> Option<&RemoteObjects> {
        let found = self
            .remote_objects
            .get_or_init(|| RemoteObjects::of(&self.repository));
        found.as_ref()
    }

    /// Reads `.mailmap`, unless that was done.
    ///
    /// # Errors
    /// The failure with which git exits.
    pub(super) fn load_mailmap(&self) -> Result<(), Failure> {
        self.mailmap().map(|_| ())
    }
}

impl Rewriter for Sources {
    fn to_compat_hash(&self, kind: Kind, contents: Vec<u8>) -> Option<Vec<u8>> {
        self.compat.as_ref()?.convert(kind, contents)
    }

    fn to_compat_id(&self, id: &ObjectId) -> Option<ObjectId> {
        self.compat_id(id)
    }

    fn with_mailmap(&self, contents: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let replaced = self.mailmap()?.replace_idents(&contents);
        Ok(replaced.unwrap_or(contents))
    }

    fn has_textconv(&self, is_file: bool, path: &BStr) -> Result<bool, Failure> {
        let contents = self.contents(Transform::Textconv, is_file, path)?;
        let has_textconv = contents.has_textconv(path, is_file);
        say(&contents.take_messages());
        Ok(has_textconv)
    }

    fn transformed(
        &self,
        transform: Transform,
        is_file: bool,
        id: &ObjectId,
        object: &[u8],
        path: &BStr,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let contents = self.contents(transform, is_file, path)?;
        let fatal = |error: &dyn std::error::Error| Reply::fatal(message_bytes(&error));
        let transformed = match transform {
            Transform::Filters if !is_file => Ok(None),
            Transform::Filters => contents
                .in_working_tree(path, id, object)
                .map(|made| match made {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(made) => Some(made),
                })
                .map_err(|error| fatal(&error)),
            Transform::Textconv => contents
                .for_comparison((&self.refs, &self.objects), path, is_file, id, object)
                .map_err(|error| fatal(&error)),
        };
        say(&contents.take_messages());
        Ok(transformed?)
    }
}
