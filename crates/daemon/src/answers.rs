//! From a question to its answer, or to the reply that the client must compute the answer itself.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::mpsc::{SendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bstr::{BStr, BString, ByteSlice};
use vigil_engine::hg_session::HgWorkingCopy;
use vigil_engine::session::{FullReport, Session, UnchangedProof, WatchPositions};
use vigil_git::child::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::{self, Location, Repository, Search};
use vigil_linux::Errno;
use vigil_linux::process::thread_builder;
use vigil_linux::stat::stat_path;
use vigil_watch::Watcher;

use crate::ahead::RepeatableQuestion;
use crate::declined::{Declined, declined, declined_by};
use crate::fsmonitor::{Token, TokenForm, payload};
use crate::git_sockets::{self, GitSockets, NotServed};
use crate::gitstatusd::response;
use crate::locate::{
    decline_for_client, decline_own_files, is_of_innermost, is_own_index, is_same, locate,
    of_mercurial, prefix,
};
use crate::mounts;
use crate::open_questions::{OpenQuestion, OpenQuestions};
use crate::panics;
use crate::protocol::{
    BasisQuestion, GitSocketAction, GitSocketQuestion, KnownBy, MonitorQuestion, PromptQuestion,
    Response, StatusQuestion,
};
use crate::sessions::{Key, Sessions, Slot, WorkingCopy, WorkingCopyLocation};

/// How long a working copy is not tried again after it had no answer, by default: all the work would be done twice.
pub const DECLINED_REST: Duration = Duration::from_secs(2);

/// What a command prints that ends with exit code 0.
#[derive(Debug, Default)]
pub struct Printed {
    /// What it prints on standard output.
    pub stdout: Vec<u8>,
    /// What it prints on standard error, before.
    pub stderr: Vec<u8>,
}

/// Formats a working copy's status. Implemented by the command, in the crate above.
pub trait StatusWriter: Send + Sync {
    /// Returns what `vigil status` prints for `question` about `session`, asked in the directory `prefix` of the working tree.
    /// Only the plain case has an answer: nothing on standard error but what the same question would be told again, and exit
    /// code 0.
    ///
    /// # Errors
    /// This is not the plain case, or the answer needs something that only the client can do.
    fn write(
        &self,
        session: &mut Session,
        prefix: BString,
        question: &StatusQuestion,
        environment: &Environment,
    ) -> Result<Printed, Declined>;

    /// Returns what `vigil hg status` prints for the Mercurial working copy `copy`. `environment` holds the variables sent.
    ///
    /// # Errors
    /// As for [`Self::write`].
    fn write_of_mercurial(
        &self,
        copy: &mut HgWorkingCopy,
        question: &StatusQuestion,
        environment: &Environment,
    ) -> Result<Printed, Declined>;
}

/// Answers the questions of all connections.
pub(crate) struct Answers {
    writer: Box<dyn StatusWriter>,
    /// Hears of changes in all working copies. Empty as long as this user can have no inotify(7) instance.
    watcher: OnceLock<Arc<Watcher>>,
    sessions: Sessions,
    /// The sockets at which git asks its monitor.
    git_sockets: GitSockets,
    open_questions: OpenQuestions,
    /// How long a working copy is not tried again after it had no answer.
    declined_rest: Duration,
}

/// An answer, and the work that is left once it has been sent.
pub(crate) struct Answer {
    pub(crate) response: Response,
    /// The slot to save, if something was learned.
    pub(crate) slot: Option<Arc<Slot>>,
}

/// An answer, and what it rests on.
pub(crate) struct WatchedAnswer {
    pub(crate) answer: Answer,
    pub(crate) dependencies: Dependencies,
}

/// What an answer rests on: how to tell that it may have changed.
#[derive(Default)]
pub(crate) struct Dependencies {
    pub(crate) heard: WatchPositions,
    /// Whether everything that the answer rests on is heard of, except the user's and the system's configuration.
    pub(crate) is_fully_watched: bool,
}

impl Answers {
    /// Creates answers for which nothing is kept yet. `writer` formats them; after a question without an answer, a working copy is
    /// not tried again for `declined_rest`.
    ///
    /// # Errors
    /// A system call failed.
    pub(crate) fn new(
        writer: Box<dyn StatusWriter>,
        declined_rest: Duration,
    ) -> Result<Self, Errno> {
        Ok(Self {
            writer,
            watcher: Watcher::new()
                .map(Arc::new)
                .map(OnceLock::from)
                .unwrap_or_default(),
            sessions: Sessions::default(),
            git_sockets: GitSockets::new()?,
            open_questions: OpenQuestions::default(),
            declined_rest,
        })
    }

    /// The sockets at which git asks.
    pub(crate) fn git_sockets(&self) -> &GitSockets {
        &self.git_sockets
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(crate) fn status(&self, question: &StatusQuestion) -> Answer {
        let answer = self.try_status(question).unwrap_or_else(Answer::from);
        answer.expect_again(|| RepeatableQuestion::Status(question.clone()));
        answer
    }

    /// Answers like [`Self::status`], for a client that is told when the answer changes.
    pub(crate) fn watched(&self, question: &StatusQuestion) -> WatchedAnswer {
        let mut dependencies = Dependencies::default();
        let answered = match is_of_innermost(question) {
            true => self.status_on(question, |found| dependencies = found),
            false => Err(declined("the innermost repository is of another system")),
        };
        WatchedAnswer {
            answer: answered.unwrap_or_else(Answer::from),
            dependencies,
        }
    }

    pub(crate) fn prompt(&self, question: &PromptQuestion) -> Answer {
        let answer = self.try_prompt(question).unwrap_or_else(Answer::from);
        answer.expect_again(|| RepeatableQuestion::Prompt(question.clone()));
        answer
    }

    /// What git is told, in `form`. Any other response than [`Response::Changed`] says why nothing is known.
    pub(crate) fn monitor(&self, question: &MonitorQuestion, form: TokenForm) -> Answer {
        let answer = self
            .try_monitor(question, form, true)
            .unwrap_or_else(Answer::from);
        answer.expect_again(|| RepeatableQuestion::Monitor(question.clone()));
        answer
    }

    /// Answers like [`Self::monitor`], but git waits for at most `time` if everything must be looked at first. Then git is
    /// told that everything may have changed, while the look goes on and serves its next question. With `always`, the limit holds
    /// for every answer.
    pub(crate) fn monitor_within(
        self: &Arc<Self>,
        time: Duration,
        always: bool,
        question: MonitorQuestion,
        form: TokenForm,
    ) -> Answer {
        if !always && self.has_looked(&question) {
            return self.monitor(&question, form);
        }
        let (sender, receiver) = sync_channel(1);
        let (answers, asked) = (self.clone(), question.clone());
        let find_out = move || {
            let answer = panics::catch(|| answers.monitor(&asked, form));
            if let Ok(answer) = answer
                && let Err(SendError(Answer {
                    slot: Some(slot), ..
                })) = sender.send(answer)
            {
                // The caller no longer waits for it.
                let _ = panics::catch(|| slot.save());
            }
        };
        let spawned = thread_builder().name("first".into()).spawn(find_out);
        if spawned.is_err() {
            return self.monitor(&question, form);
        }
        let answer = receiver.recv_timeout(time);
        answer.unwrap_or_else(|_| {
            // This does not wait for the slot, however long others hold it.
            let told = self.known(&question).and_then(|slot| slot.everything());
            let told = told.ok_or_else(|| declined("all is being looked at"));
            let told = told.map(|told| Answer::only(Response::Changed(payload(&told, form))));
            told.unwrap_or_else(Answer::from)
        })
    }

    /// Has `question` be about the repository in `git_dir`, whatever a search from the question's directory finds. Where
    /// `core.worktree` puts the working tree elsewhere, that may be another repository, none, or this one for a directory above.
    pub(crate) fn about_repository(
        &self,
        git_dir: &Path,
        mut question: MonitorQuestion,
    ) -> MonitorQuestion {
        let located = locate(&question.directory, &question.variables, Search::Commands);
        let found = located.ok().and_then(|(_, key)| key);
        let is_it = |key: Key| {
            key.location.is_found_in(&question.directory)
                && is_same(&key.location.folder(), git_dir)
        };
        if !found.is_some_and(is_it) {
            let git_dir = BString::from(git_dir.as_os_str().as_bytes());
            question.variables.push(("GIT_DIR".into(), git_dir));
        }
        question
    }

    /// Whether the question can be answered without a look at everything.
    fn has_looked(&self, question: &MonitorQuestion) -> bool {
        self.known(question).is_some_and(|slot| slot.has_looked())
    }

    /// The slot of the question, if there is one.
    fn known(&self, question: &MonitorQuestion) -> Option<Arc<Slot>> {
        let _open_question = self.count_open(&question.directory).ok()?;
        let located = locate(&question.directory, &question.variables, Search::Commands);
        let (_, key) = located.ok()?;
        self.sessions.known(&key?)
    }

    /// Makes git hear that everything may have changed in the working tree at `top`, whatever it was told before.
    pub(crate) fn report_everything_to_git(&self, top: &Path) {
        if let (Some(watcher), Ok(stat)) = (self.watcher(), stat_path(top)) {
            watcher.report_everything((stat.dev, stat.ino));
        }
    }

    /// Finds the answer to `question` again, for the next client.
    pub(crate) fn recompute(&self, question: &RepeatableQuestion) {
        // A client that asks is told if there is no answer.
        match question {
            RepeatableQuestion::Status(question) => drop(self.try_status(question)),
            RepeatableQuestion::Prompt(question) => drop(self.try_prompt(question)),
            RepeatableQuestion::Monitor(question) => {
                drop(self.try_monitor(question, TokenForm::Hook, false))
            }
        }
    }

    /// Has the thread that works ahead look for work.
    pub(crate) fn wake(&self) {
        if let Some(watcher) = self.watcher() {
            watcher.wake();
        }
    }

    /// What hears of changes.
    pub(crate) fn watcher(&self) -> Option<&Watcher> {
        self.watcher.get().map(Arc::as_ref)
    }

    /// Waits for what hears of changes.
    pub(crate) fn wait_for_watcher(&self) -> &Watcher {
        self.watcher.wait()
    }

    /// Begins to hear of changes if that was not possible before: another program may have given an inotify(7) instance back.
    fn try_to_watch(&self) {
        if self.watcher.get().is_none()
            && let Ok(watcher) = Watcher::new()
            && self.watcher.set(Arc::new(watcher)).is_ok()
        {
            // The sessions so far hear of nothing.
            self.sessions.drop_idle(Duration::ZERO);
        }
    }

    fn try_status(&self, question: &StatusQuestion) -> Result<Answer, Declined> {
        self.status_on(question, |_| {})
    }

    /// Passes what the answer rests on to `look`.
    fn status_on(
        &self,
        question: &StatusQuestion,
        look: impl FnOnce(Dependencies),
    ) -> Result<Answer, Declined> {
        let directory = &question.directory;
        let _open_question = self.count_open(directory)?;
        let is_same =
            stat_path(directory).is_ok_and(|stat| (stat.dev, stat.ino) == question.directory_id);
        if !is_same {
            return Err(declined("the directory is another one here"));
        }
        let shown = question.variables.iter().cloned();
        let shown = Environment::new(shown, directory.clone());
        if question.is_of_mercurial {
            return self.status_of_mercurial(question, &shown, look);
        }
        let (environment, key) = locate(directory, &question.variables, Search::Commands)?;
        let Some(key) = key else {
            return Err(declined("there is no repository"));
        };
        let write = |session: &mut Session, _| {
            if session.has_dropped_messages() {
                return Err(declined("there was something to say of it"));
            }
            decline_for_client(session, &question.variables)?;
            let prefix = prefix(session, directory)?;
            let written = self.writer.write(session, prefix, question, &shown);
            look(Dependencies {
                heard: session.watch_positions(),
                is_fully_watched: session.watches_everything(),
            });
            written
        };
        let (printed, slot) = self.answer(key, &environment, write)?;
        Ok(Answer::learned(printed.into_response(), slot))
    }

    /// Answers a status question about a Mercurial working copy. Requirements and configuration are read for each question, so
    /// all clients share one session.
    fn status_of_mercurial(
        &self,
        question: &StatusQuestion,
        shown: &Environment,
        look: impl FnOnce(Dependencies),
    ) -> Result<Answer, Declined> {
        let values = question.variables.iter().map(|(_, value)| value);
        decline_own_files(values.chain(&question.arguments))?;
        let key = of_mercurial(&question.directory);
        let key = key.ok_or_else(|| declined("there is no repository"))?;
        let open = || {
            let copy = HgWorkingCopy::watched_by(self.watcher.get().cloned());
            Ok(WorkingCopy::Mercurial(Box::new(copy)))
        };
        let (printed, slot) = self.answer_by(key, open, |copy, _| {
            let WorkingCopy::Mercurial(copy) = copy else {
                return Err(declined("it is not Mercurial's"));
            };
            // A disk may have been mounted over another working copy.
            if mounts::can_be_unmounted(&question.directory, shown) {
                copy.hold_no_files();
            }
            let written = self.writer.write_of_mercurial(copy, question, shown);
            copy.let_files_go();
            look(Dependencies {
                heard: copy.watch_positions(),
                // The configuration and the ignore patterns may come from files anywhere.
                is_fully_watched: false,
            });
            written
        })?;
        Ok(Answer::learned(printed.into_response(), slot))
    }

    fn try_prompt(&self, question: &PromptQuestion) -> Result<Answer, Declined> {
        let directory = &question.directory;
        let _open_question = self.count_open(directory)?;
        let id = question.id.as_bstr();
        let (environment, key) = locate(
            directory,
            &question.variables,
            Search::of_prompt(question.from_git_dir),
        )?;
        let Some(key) = key else {
            return Ok(Answer::only(Response::Record(response::none(id))));
        };
        let prompt = |session: &mut Session, unchanged| {
            decline_for_client(session, &question.variables)?;
            let prompt = session
                .prompt(&question.request, unchanged)
                .map_err(declined_by)?;
            Ok(response::some(id, &prompt, question.summary_len_max))
        };
        let (record, slot) = self.answer(key, &environment, prompt)?;
        Ok(Answer::learned(Response::Record(record), slot))
    }

    /// Answers a monitor's question. With `is_waited_for`, git is told at once what is known if a look would add nothing.
    fn try_monitor(
        &self,
        question: &MonitorQuestion,
        form: TokenForm,
        is_waited_for: bool,
    ) -> Result<Answer, Declined> {
        let directory = &question.directory;
        let _open_question = self.count_open(directory)?;
        let (environment, key) = locate(directory, &question.variables, Search::Commands)?;
        let Some(key) = key else {
            return Err(declined("there is no repository"));
        };
        let since = Token::parse(&question.token).map(|token| token.0);
        let slot = self.slot(key.clone());
        let tell = |session: &mut Session, _| {
            decline_for_client(session, &question.variables)?;
            let index = question.index.as_ref();
            if index.is_some_and(|index| !is_own_index(session, directory, index)) {
                return Err(declined("another index is asked about"));
            }
            let everything = session.full_report().map_err(declined_by)?;
            let continues = |everything: &FullReport| everything.continues(since);
            let is_new = everything.as_ref().is_some_and(|it| !continues(it));
            let told = everything.as_ref().and_then(FullReport::current_report);
            *slot.everything.lock() = everything;
            if let Some(told) = told.filter(|_| is_waited_for && is_new && session.is_large()) {
                // A look would tell git nothing more, and would only compete with git's own.
                return Ok(told);
            }
            let told = session
                .changes_to_report(since, form.for_git())
                .map_err(declined_by)?;
            told.ok_or_else(|| declined("the working tree cannot be watched"))
        };
        let (told, slot) = self.answer(key, &environment, tell)?;
        Ok(Answer::learned(
            Response::Changed(payload(&told, form)),
            slot,
        ))
    }

    /// Opens a session as [`open`] does, and has its working tree watched.
    fn open(&self, environment: &Environment, location: &Location) -> Result<Session, Declined> {
        let mut session = open(environment, location)?;
        if let Some(watcher) = self.watcher.get() {
            session.watch_by(watcher.clone());
        }
        if mounts::can_be_unmounted(&session.repository().common_dir, environment) {
            session.hold_no_files();
        }
        self.git_sockets.open_if_wanted(session.repository());
        Ok(session)
    }

    /// Does what `question` asks with the socket at which git looks for its monitor, and says how it went.
    pub(crate) fn git_socket(&self, question: &GitSocketQuestion) -> Response {
        match self.try_git_socket(question) {
            Ok((stdout, code)) => Response::Answer {
                stdout,
                stderr: Vec::new(),
                code,
            },
            Err(declined) => Response::Yourself(declined.reason().clone()),
        }
    }

    fn try_git_socket(&self, question: &GitSocketQuestion) -> Result<(Vec<u8>, u8), Declined> {
        let directory = &question.directory;
        let _open_question = self.count_open(directory)?;
        let (environment, key) = locate(directory, &question.variables, Search::Commands)?;
        let Some(key) = key else {
            return Err(declined("there is no repository"));
        };
        let WorkingCopyLocation::Git(location) = &key.location else {
            return Err(declined("it is not git's"));
        };
        let opened = repository::open(&environment, location);
        let repository = opened.map_err(|error| declined_by(error.into()))?;
        let refused = |error: NotServed| declined(&error.to_string());
        Ok(match question.action {
            GitSocketAction::Status => {
                decline_if_unwanted(&repository)?;
                match self.git_sockets.status(&repository).map_err(refused)? {
                    (path, true) => (git_sockets::line(&path, "serves"), 0),
                    (path, false) => (git_sockets::line(&path, "does not serve"), 1),
                }
            }
            GitSocketAction::Open => {
                decline_if_unwanted(&repository)?;
                let opened = self.git_sockets.open(&repository);
                (git_sockets::line(&opened.map_err(refused)?, "serves"), 0)
            }
            GitSocketAction::Close => {
                let (path, _) = self.git_sockets.status(&repository).map_err(refused)?;
                match self.git_sockets.close(&path) {
                    true => (git_sockets::line(&path, "no longer serves"), 0),
                    false => (git_sockets::line(&path, "did not serve"), 1),
                }
            }
        })
    }

    /// Explains what the answer for each path of `question` rests on. Looks at nothing for it.
    pub(crate) fn basis(&self, question: &BasisQuestion) -> Response {
        match self.try_basis(question) {
            Ok(known) => Response::KnownBy(known),
            Err(declined) => Response::Yourself(declined.reason().clone()),
        }
    }

    fn try_basis(&self, question: &BasisQuestion) -> Result<Vec<KnownBy>, Declined> {
        let directory = &question.directory;
        let _open_question = self.count_open(directory)?;
        let nothing = || declined("nothing is kept of it");
        let key = match question.is_of_mercurial {
            true => of_mercurial(directory),
            false => locate(directory, &question.variables, Search::Commands)?.1,
        };
        let key = key.ok_or_else(|| declined("there is no repository"))?;
        let slot = self.sessions.known(&key).ok_or_else(nothing)?;
        let known = slot.with_session(|copy| {
            let paths = question.paths.iter();
            let known = paths.map(|path| copy.basis(path.as_ref()).map(KnownBy::from));
            known.collect::<Option<Vec<_>>>()
        })?;
        known.ok_or_else(nothing)
    }

    /// The number of watched folders.
    pub(crate) fn watches(&self) -> usize {
        self.watcher().map_or(0, Watcher::watches)
    }

    fn answer<T>(
        &self,
        key: Key,
        environment: &Environment,
        answer: impl FnOnce(&mut Session, Option<UnchangedProof>) -> Result<T, Declined>,
    ) -> Result<(T, Arc<Slot>), Declined> {
        let location = key.location.clone();
        let open = || match &location {
            WorkingCopyLocation::Git(location) => self.open(environment, location),
            WorkingCopyLocation::Mercurial(_) => Err(declined("it is not git's")),
        };
        let open = || Ok(WorkingCopy::Git(Box::new(open()?)));
        self.answer_by(key, open, |copy, unchanged| {
            let session = copy.git()?;
            let answered = answer(session, unchanged)?;
            match session.take_shortage() {
                true => Err(declined("too many files are open")),
                false => Ok(answered),
            }
        })
    }

    /// Returns the slot for `key`. If nothing was kept before, the thread that works ahead did not know when to take a sample.
    fn slot(&self, key: Key) -> Arc<Slot> {
        self.try_to_watch();
        let was_empty = self.sessions.is_empty();
        let slot = self.sessions.slot(key);
        if was_empty {
            self.wake();
        }
        slot
    }

    fn answer_by<T>(
        &self,
        key: Key,
        open: impl FnOnce() -> Result<WorkingCopy, Declined>,
        answer: impl FnOnce(&mut WorkingCopy, Option<UnchangedProof>) -> Result<T, Declined>,
    ) -> Result<(T, Arc<Slot>), Declined> {
        let slot = self.slot(key);
        let mut kept = slot
            .take_turn()
            .ok_or_else(|| declined("others are being answered"))?;
        if let Some(reason) = kept.declined() {
            return Err(Declined::ThisTime(reason.clone()));
        }
        let answered = slot.answer(&mut kept, open, answer);
        if let Err(Declined::ForNow(reason)) = &answered {
            kept.decline_for(self.declined_rest, reason.clone());
        }
        drop(kept);
        answered.map(|answer| (answer, slot))
    }

    /// Counts a question about `directory` until the returned value is dropped. Nothing may be looked at on a disk for a question
    /// that is not counted: the disk may hang.
    ///
    /// # Errors
    /// Too many ask about the directory.
    pub(crate) fn count_open(&self, directory: &Path) -> Result<OpenQuestion<'_>, Declined> {
        let question = self.open_questions.begin(directory);
        question.ok_or_else(|| declined("too many ask about the directory"))
    }
}

impl From<Declined> for Answer {
    /// The reply that the client must compute the answer itself.
    fn from(declined: Declined) -> Self {
        Self::only(Response::Yourself(declined.reason().clone()))
    }
}

impl Answer {
    /// An answer from which nothing was learned.
    fn only(response: Response) -> Self {
        Self {
            response,
            slot: None,
        }
    }

    /// An answer that was found out in `slot`.
    fn learned(response: Response, slot: Arc<Slot>) -> Self {
        Self {
            response,
            slot: Some(slot),
        }
    }

    /// Records that the question may be asked again.
    fn expect_again(&self, question: impl FnOnce() -> RepeatableQuestion) {
        if let Some(slot) = &self.slot {
            slot.ahead.lock().asked(question(), Instant::now());
        }
    }
}

impl Printed {
    fn into_response(self) -> Response {
        Response::Answer {
            stdout: self.stdout,
            stderr: self.stderr,
            code: 0,
        }
    }
}

/// Opens a session with the repository at `location`. Fails if its configuration calls for a message, which is the client's to
/// print.
fn open(environment: &Environment, location: &Location) -> Result<Session, Declined> {
    let is_relative = |path: &BStr| !path.starts_with(b"/");
    if environment.get("GIT_DIR").is_none()
        && environment.get("GIT_WORK_TREE").is_some_and(is_relative)
    {
        return Err(declined(
            "the working tree is named as seen from the client's directory",
        ));
    }
    let repository =
        repository::open(environment, location).map_err(|error| declined_by(error.into()))?;
    if repository.work_tree.is_none() {
        return Err(declined("there is no working tree"));
    }
    if !repository.config.messages().is_empty() {
        let reason = "there is something to say of the configuration";
        return Err(Declined::ForNow(reason.into()));
    }
    decline_if_unwanted(&repository)?;
    Session::open(repository, true, FilterStderr::Refuse).map_err(declined_by)
}

/// Fails if the configuration wants no daemon, or cannot be understood.
fn decline_if_unwanted(repository: &Repository) -> Result<(), Declined> {
    let wanted = repository.config.boolean("vigil.daemon");
    match wanted.map_err(|error| declined_by(error.into()))? {
        Some(false) => Err(declined("the configuration wants no daemon")),
        _ => Ok(()),
    }
}
