//! The one store of a repository's objects, and who reads from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::BString;
use parking_lot::Mutex;

use vigil_model::raw_text::raw;
use vigil_objects::{Error, ObjectStore, Places, Reader, Reason};

/// What the bases of deltas may take for each thread that reads, in bytes: some trees and commits, not contents.
const BASES_LEN_MAX: usize = 8 << 20;

/// The store, opened when it is needed first and anew when it is outdated, and a reader for each thread that reads at the
/// same time.
#[derive(Debug)]
pub(super) struct Readers {
    pub(super) places: Places,
    state: Mutex<State>,
    /// What git would say meanwhile, if anybody wants to know.
    said: Mutex<Option<Vec<String>>>,
    opening: Mutex<Opening>,
    had_trouble: AtomicBool,
}

/// What git says where it looks for replacements and alternates, which is when the first object is asked for.
#[derive(Debug, Default)]
struct Opening {
    /// Of replacements, whoever asks.
    warnings: Vec<String>,
    said: Vec<String>,
    /// An object was asked for.
    is_over: bool,
    is_heard: bool,
}

impl Opening {
    fn all_said(&self) -> Vec<String> {
        match self.is_over {
            true => [self.warnings.as_slice(), &self.said].concat(),
            false => Vec::new(),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    store: Option<Arc<ObjectStore>>,
    /// Those that nobody uses, all of that store.
    free: Vec<Reader>,
}

impl State {
    fn store(&mut self, places: &Places, said: &mut Vec<String>) -> &Arc<ObjectStore> {
        self.store
            .get_or_insert_with(|| Arc::new(ObjectStore::open(places, said)))
    }
}

impl Readers {
    pub(super) fn new(places: Places) -> Self {
        Self {
            places,
            state: Mutex::default(),
            said: Mutex::default(),
            opening: Mutex::default(),
            had_trouble: AtomicBool::default(),
        }
    }

    /// From now on keeps what git would say, until it is taken.
    pub(super) fn listen(&self) {
        self.said.lock().get_or_insert_default();
    }

    /// What git would have said since this was last asked.
    pub(super) fn take_said(&self) -> Vec<String> {
        // Walks through history ask at each commit, and a lock would keep them from looking ahead.
        if !self.had_trouble() {
            return Vec::new();
        }
        let mut said = self.said.lock();
        said.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note(&self, said: &[String]) {
        if !said.is_empty() {
            self.had_trouble.store(true, Ordering::Relaxed);
        }
    }

    /// Whether git would ever have said anything.
    pub(super) fn had_trouble(&self) -> bool {
        self.had_trouble.load(Ordering::Relaxed)
    }

    /// Keeps lines that git would say.
    pub(super) fn hear(&self, lines: Vec<String>) {
        self.note(&lines);
        if !lines.is_empty()
            && let Some(said) = self.said.lock().as_mut()
        {
            said.extend(lines);
        }
    }

    /// The store.
    pub(super) fn store(&self) -> Arc<ObjectStore> {
        self.opened(&mut self.state.lock()).clone()
    }

    fn opened<'s>(&self, state: &'s mut State) -> &'s Arc<ObjectStore> {
        let mut said = Vec::new();
        let is_new = state.store.is_none();
        let store = state.store(&self.places, &mut said);
        if is_new {
            self.note(&said);
            let mut opening = self.opening.lock();
            (opening.said, opening.is_over) = (said, true);
        }
        store
    }

    /// Keeps what is to be said of replacements.
    pub(super) fn warn(&self, warnings: &[BString]) {
        let shown = warnings.iter().map(|line| raw(line).to_string());
        let shown: Vec<String> = shown.collect();
        self.note(&shown);
        self.opening.lock().warnings = shown;
    }

    /// What git says where it looks for replacements and alternates; nothing where objects were not asked for.
    pub(super) fn opening_said(&self) -> Vec<String> {
        self.opening.lock().all_said()
    }

    /// Keeps that, if it was not heard before: somebody asks for an object.
    pub(super) fn hear_opening(&self) {
        if !self.had_trouble() {
            return;
        }
        let mut opening = self.opening.lock();
        if !std::mem::replace(&mut opening.is_heard, true) {
            self.hear(opening.all_said());
        }
    }

    /// Whether it was heard.
    pub(super) fn is_opening_heard(&self) -> bool {
        self.opening.lock().is_heard
    }

    /// Notes whether it was.
    pub(super) fn set_opening_heard(&self, is_heard: bool) {
        self.opening.lock().is_heard = is_heard;
    }

    /// Asks a reader. Where that fails, or finds nothing and there are other alternates now, all is opened anew, once,
    /// before it counts: the file may be in other packs meanwhile.
    pub(super) fn ask<T>(
        &self,
        mut question: impl FnMut(&mut Reader) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Reason> {
        let mut reader = self.take();
        let mut answer = question(&mut reader);
        let is_outdated = match &answer {
            Ok(Some(_)) => false,
            Ok(None) => reader.store().has_other_alternates(),
            Err(_) => true,
        };
        if is_outdated {
            self.forget(reader.store());
            reader = self.take();
            answer = question(&mut reader);
        }
        self.hear_opening();
        match answer {
            Ok(found) => {
                self.hear(reader.take_said());
                self.give(reader);
                Ok(found)
            }
            Err(error) => {
                self.hear(error.said);
                // It remembers what is damaged, and that may be mended.
                self.forget(reader.store());
                match error.reason {
                    Reason::Missing { .. } => Ok(None),
                    reason => Err(reason),
                }
            }
        }
    }

    /// Has `question` asked of a reader, whatever comes of it. If anything was wrong, all is opened anew afterwards, so that
    /// who asks again is told.
    pub(super) fn ask_quietly<T>(
        &self,
        question: impl FnOnce(&mut Reader) -> Vec<Option<T>>,
    ) -> Vec<Option<T>> {
        let mut reader = self.take();
        self.hear_opening();
        let answers = question(&mut reader);
        let said = reader.take_said();
        if said.is_empty() && answers.iter().all(Option::is_some) {
            self.give(reader);
        } else {
            self.forget(reader.store());
        }
        answers
    }

    /// Asks a reader; nothing is the answer where git would say anything. All is opened anew afterwards, for who asks again to
    /// be told.
    pub(super) fn ask_for_sound<T>(
        &self,
        question: impl FnOnce(&mut Reader) -> Option<T>,
    ) -> Option<T> {
        let mut reader = self.take();
        self.hear_opening();
        let answer = question(&mut reader);
        let answer = answer.filter(|_| reader.take_said().is_empty());
        match answer {
            Some(_) => self.give(reader),
            None => self.forget(reader.store()),
        }
        answer
    }

    /// Lets go of what is open if some of it may be gone.
    pub(super) fn refresh(&self) {
        let mut state = self.state.lock();
        if state.store.as_ref().is_some_and(|store| store.has_lost()) {
            *state = State::default();
        }
    }

    /// Lets go of what the readers hold that nobody uses.
    pub(super) fn rest(&self) {
        self.state.lock().free = Vec::new();
    }

    /// Lets go of all that is open: who asks next opens it anew.
    pub(super) fn close(&self) {
        *self.state.lock() = State::default();
    }

    fn take(&self) -> Reader {
        let mut state = self.state.lock();
        if let Some(reader) = state.free.pop() {
            return reader;
        }
        let mut reader = Reader::new(self.opened(&mut state));
        drop(state);
        reader.limit_bases(BASES_LEN_MAX);
        reader
    }

    fn give(&self, reader: Reader) {
        let mut state = self.state.lock();
        if state.is_of(reader.store()) {
            state.free.push(reader);
        }
    }

    /// Lets go of `store`, unless somebody did.
    fn forget(&self, store: &Arc<ObjectStore>) {
        let mut state = self.state.lock();
        if state.is_of(store) {
            *state = State::default();
        }
    }
}

impl State {
    fn is_of(&self, store: &Arc<ObjectStore>) -> bool {
        self.store
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, store))
    }
}
