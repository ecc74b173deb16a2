//! The one store of a repository's objects, and the readers on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::BString;
use parking_lot::Mutex;

use vigil_model::raw_text::raw;
use vigil_objects::{Error, ObjectFolders, ObjectReader, ObjectStore, Reason};

/// The memory for delta bases per reading thread, in bytes: enough for some trees and commits, not for file contents.
const BASES_LEN_MAX: usize = 8 << 20;

/// The store, opened when first needed and again when outdated, and one reader for each thread that reads at the same time.
#[derive(Debug)]
pub(super) struct Readers {
    pub(super) folders: ObjectFolders,
    pool: Mutex<Pool>,
    /// What git would write meanwhile, if anybody listens.
    messages: Mutex<Option<Vec<String>>>,
    opening: Mutex<OpeningMessages>,
    had_messages: AtomicBool,
}

/// What git writes when it looks for replacements and alternates, which is when the first object is asked for.
#[derive(Debug, Default)]
struct OpeningMessages {
    /// About replacements; kept when the store is opened again.
    warnings: Vec<String>,
    messages: Vec<String>,
    /// Whether an object was asked for.
    is_over: bool,
    is_reported: bool,
}

impl OpeningMessages {
    fn all_messages(&self) -> Vec<String> {
        match self.is_over {
            true => [self.warnings.as_slice(), &self.messages].concat(),
            false => Vec::new(),
        }
    }
}

/// The open store, and what reads from it.
#[derive(Debug, Default)]
struct Pool {
    store: Option<Arc<ObjectStore>>,
    /// The idle readers, all on that store.
    free: Vec<ObjectReader>,
}

impl Pool {
    fn store(&mut self, folders: &ObjectFolders, messages: &mut Vec<String>) -> &Arc<ObjectStore> {
        self.store
            .get_or_insert_with(|| Arc::new(ObjectStore::open(folders, messages)))
    }
}

impl Readers {
    pub(super) fn new(folders: ObjectFolders) -> Self {
        Self {
            folders,
            pool: Mutex::default(),
            messages: Mutex::default(),
            opening: Mutex::default(),
            had_messages: AtomicBool::default(),
        }
    }

    /// Starts to collect what git would write, until it is taken.
    pub(super) fn collect_messages(&self) {
        self.messages.lock().get_or_insert_default();
    }

    /// Takes what git would have written since the last call.
    pub(super) fn take_messages(&self) -> Vec<String> {
        // Walks through history call this at each commit, and a lock would keep them from reading ahead.
        if !self.had_messages() {
            return Vec::new();
        }
        let mut messages = self.messages.lock();
        messages.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Drops what git would have written since the last call, for a caller that reads the same again. What is written only when
    /// packs are listed for the first time is kept. Returns whether there was anything.
    pub(super) fn drop_messages(&self) -> bool {
        if !self.had_messages() {
            return false;
        }
        let kept = self.listing_messages();
        let mut messages = self.messages.lock();
        let Some(messages) = messages.as_mut() else {
            return false;
        };
        let had_any = !messages.is_empty();
        messages.retain(|line| kept.contains(line));
        had_any
    }

    fn listing_messages(&self) -> Vec<String> {
        let store = self.pool.lock().store.clone();
        store
            .map(|store| store.listing_messages())
            .unwrap_or_default()
    }

    fn note(&self, messages: &[String]) {
        if !messages.is_empty() {
            self.had_messages.store(true, Ordering::Relaxed);
        }
    }

    /// Whether git would have written anything so far.
    pub(super) fn had_messages(&self) -> bool {
        self.had_messages.load(Ordering::Relaxed)
    }

    /// Adds lines that git would write.
    pub(super) fn add_messages(&self, lines: Vec<String>) {
        self.note(&lines);
        if !lines.is_empty()
            && let Some(messages) = self.messages.lock().as_mut()
        {
            messages.extend(lines);
        }
    }

    /// The store, opened if necessary.
    pub(super) fn store(&self) -> Arc<ObjectStore> {
        self.opened(&mut self.pool.lock()).clone()
    }

    fn opened<'s>(&self, pool: &'s mut Pool) -> &'s Arc<ObjectStore> {
        let mut messages = Vec::new();
        let is_new = pool.store.is_none();
        let store = pool.store(&self.folders, &mut messages);
        if is_new {
            self.note(&messages);
            let mut opening = self.opening.lock();
            (opening.messages, opening.is_over) = (messages, true);
        }
        store
    }

    /// Keeps the warnings about replacements.
    pub(super) fn warn(&self, warnings: &[BString]) {
        let shown = warnings.iter().map(|line| raw(line).to_string());
        let shown: Vec<String> = shown.collect();
        self.note(&shown);
        self.opening.lock().warnings = shown;
    }

    /// Returns what git writes when it looks for replacements and alternates, and when it first lists packs; nothing before any
    /// object was asked for.
    pub(super) fn opening_messages(&self) -> Vec<String> {
        [self.messages_about_alternates(), self.listing_messages()].concat()
    }

    /// Returns those about replacements and alternates.
    pub(super) fn messages_about_alternates(&self) -> Vec<String> {
        self.opening.lock().all_messages()
    }

    /// Adds those lines, unless they were reported before: an object is asked for.
    pub(super) fn report_opening(&self) {
        if !self.had_messages() {
            return;
        }
        let mut opening = self.opening.lock();
        if !std::mem::replace(&mut opening.is_reported, true) {
            self.add_messages(opening.all_messages());
        }
    }

    /// Whether they were reported.
    pub(super) fn is_opening_reported(&self) -> bool {
        self.opening.lock().is_reported
    }

    /// Sets whether they were reported.
    pub(super) fn set_opening_reported(&self, is_reported: bool) {
        self.opening.lock().is_reported = is_reported;
    }

    /// Puts a question to a reader. If it fails, or finds nothing and the alternates have changed, the store is opened anew
    /// and the question asked once more: the object may be in other packs by now. If fetching failed, that is final.
    pub(super) fn with_reader<T>(
        &self,
        mut question: impl FnMut(&mut ObjectReader) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Reason> {
        let mut reader = self.take();
        let mut answer = question(&mut reader);
        let is_outdated = match &answer {
            Ok(Some(_)) => false,
            Ok(None) => reader.store().has_other_alternates(),
            Err(error) => !error.reason.is_of_fetching(),
        };
        if is_outdated {
            self.forget(reader.store());
            reader = self.take();
            answer = question(&mut reader);
        }
        self.report_opening();
        match answer {
            Ok(found) => {
                self.add_messages(reader.take_messages());
                self.give(reader);
                Ok(found)
            }
            Err(error) => {
                self.add_messages(error.messages);
                // The store remembers what is damaged, which may be repaired later.
                self.forget(reader.store());
                match error.reason {
                    Reason::Missing { .. } => Ok(None),
                    reason => Err(reason),
                }
            }
        }
    }

    /// Puts `question` to a reader, and returns whatever it answers. If anything was wrong, the store is dropped afterwards,
    /// so that the next caller gets the messages.
    pub(super) fn with_reader_silently<T>(
        &self,
        question: impl FnOnce(&mut ObjectReader) -> Vec<Option<T>>,
    ) -> Vec<Option<T>> {
        let mut reader = self.take();
        self.report_opening();
        let answers = question(&mut reader);
        let messages = reader.take_messages();
        if messages.is_empty() && answers.iter().all(Option::is_some) {
            self.give(reader);
        } else {
            self.forget(reader.store());
        }
        answers
    }

    /// Like [`Self::with_reader`], for a question about the whole store, which adds git's messages to the list it is given.
    pub(super) fn with_store<T>(
        &self,
        mut question: impl FnMut(&ObjectStore, &mut Vec<String>) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Reason> {
        self.with_reader(|reader| {
            let mut messages = Vec::new();
            let answer = question(reader.store(), &mut messages)?;
            reader.add_messages(messages);
            Ok(answer)
        })
    }

    /// Puts `question` to a reader; `None` if it fails, or git would write anything meanwhile. Then the store is dropped
    /// afterwards, so that the next caller gets the messages.
    pub(super) fn with_reader_if_clean<T>(
        &self,
        question: impl FnOnce(&mut ObjectReader) -> Result<Option<T>, Error>,
    ) -> Option<T> {
        let mut reader = self.take();
        self.report_opening();
        match question(&mut reader) {
            Ok(answer) if reader.take_messages().is_empty() => {
                self.give(reader);
                answer
            }
            _ => {
                self.forget(reader.store());
                None
            }
        }
    }

    /// Drops the store if some of its files may be gone, or its alternates may have changed.
    pub(super) fn refresh(&self) {
        let mut pool = self.pool.lock();
        if pool.store.as_ref().is_some_and(|store| store.is_outdated()) {
            *pool = Pool::default();
        }
    }

    /// Drops the idle readers and what they hold.
    pub(super) fn rest(&self) {
        self.pool.lock().free = Vec::new();
    }

    /// Closes everything; the next caller opens it again.
    pub(super) fn close(&self) {
        *self.pool.lock() = Pool::default();
    }

    fn take(&self) -> ObjectReader {
        let mut pool = self.pool.lock();
        if let Some(reader) = pool.free.pop() {
            return reader;
        }
        let mut reader = ObjectReader::new(self.opened(&mut pool));
        drop(pool);
        reader.limit_bases(BASES_LEN_MAX);
        reader
    }

    fn give(&self, reader: ObjectReader) {
        let mut pool = self.pool.lock();
        if pool.is_of(reader.store()) {
            pool.free.push(reader);
        }
    }

    /// Drops `store`, unless that has already happened.
    fn forget(&self, store: &Arc<ObjectStore>) {
        let mut pool = self.pool.lock();
        if pool.is_of(store) {
            *pool = Pool::default();
        }
    }
}

impl Pool {
    fn is_of(&self, store: &Arc<ObjectStore>) -> bool {
        self.store
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, store))
    }
}
