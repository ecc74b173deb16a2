//! From a question to an answer, or to the word that whoever asks has to find out by himself.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SendError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use bstr::{BString, ByteSlice};
use vigil_engine::hg_session::{HgWorkingCopy, root_around};
use vigil_engine::session::{Everything, Heard, Session, SessionError, Still};
use vigil_git::convert::FilterStderr;
use vigil_git::environment::Environment;
use vigil_git::repository::{self, Location, Search};
use vigil_linux::Errno;
use vigil_linux::stat::stat_path;
use vigil_model::raw_text::said_by;
use vigil_watch::Watcher;

use crate::ahead::Asked;
use crate::declined::Declined;
use crate::doors::{self, Doors, NoDoor};
use crate::fsmonitor::{Form, Token, payload};
use crate::gitstatusd::response;
use crate::mounts;
use crate::panics;
use crate::protocol::{
    BasisQuestion, DoorDeed, DoorQuestion, KnownBy, MonitorQuestion, PromptQuestion, Response,
    StatusQuestion,
};
use crate::sessions::{Key, Place, Sessions, Slot, WorkingCopy};
use crate::variables;
use crate::waiting::{Waiting, Waits};

/// How long nothing is tried again where there was no answer, unless somebody wants another time: the work would be done twice.
pub const DECLINED_REST: Duration = Duration::from_secs(2);

fn theirs(reason: &str) -> Declined {
    Declined::Question(reason.into())
}

/// Who makes bytes of a working copy's status: the command's own code, which lies above.
pub trait StatusWriter: Send + Sync {
    /// What `vigil status` says of `session` where `question` is asked by one who stands in `prefix` of the working tree: the
    /// bytes for standard output. Only an answer that says nothing on standard error and ends with 0 is one.
    ///
    /// # Errors
    /// It is no such answer, or what has to be done for it can be done only by whoever asks.
    fn write(
        &self,
        session: &mut Session,
        prefix: BString,
        question: &StatusQuestion,
        environment: &Environment,
    ) -> Result<Vec<u8>, Declined>;

    /// What `vigil hg status` says of the working copy of Mercurial's of which `copy` is known, by the variables of `environment`,
    /// which are those that are sent.
    ///
    /// # Errors
    /// As for [`Self::write`].
    fn write_of_mercurial(
        &self,
        copy: &mut HgWorkingCopy,
        question: &StatusQuestion,
        environment: &Environment,
    ) -> Result<Vec<u8>, Declined>;
}

/// Who answers.
pub(crate) struct Answers {
    writer: Box<dyn StatusWriter>,
    /// Hears of changes in all working copies, if this user can have that.
    watcher: Option<Arc<Watcher>>,
    sessions: Sessions,
    /// Where git asks a monitor.
    doors: Doors,
    waiting: Waiting,
    /// How long nothing is tried again where there was no answer.
    declined_rest: Duration,
}

/// An answer, and what is left to do once it is out.
pub(crate) struct Answer {
    pub(crate) response: Response,
    /// Where something was learned.
    pub(crate) slot: Option<Arc<Slot>>,
}

/// An answer, and on what it rests.
pub(crate) struct Watched {
    pub(crate) answer: Answer,
    pub(crate) ground: Ground,
}

/// What tells that an answer may be another one.
#[derive(Default)]
pub(crate) struct Ground {
    pub(crate) heard: Heard,
    /// Whether nothing can change unheard but the configuration of the user and of the system.
    pub(crate) is_all: bool,
}

impl Answers {
    /// # Errors
    /// The system.
    pub(crate) fn new(
        writer: Box<dyn StatusWriter>,
        declined_rest: Duration,
    ) -> Result<Self, Errno> {
        Ok(Self {
            writer,
            watcher: Watcher::new().ok().map(Arc::new),
            sessions: Sessions::default(),
            doors: Doors::new()?,
            waiting: Waiting::default(),
            declined_rest,
        })
    }

    /// Where git asks.
    pub(crate) fn doors(&self) -> &Doors {
        &self.doors
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(crate) fn status(&self, question: &StatusQuestion) -> Answer {
        let answer = answered_with(self.try_status(question));
        answer.expect_again(|| Asked::Status(question.clone()));
        answer
    }

    /// The same for one who is to be told when it changes.
    pub(crate) fn watched(&self, question: &StatusQuestion) -> Watched {
        let mut ground = Ground::default();
        let answered = self.status_on(question, |found| ground = found);
        Watched {
            answer: answered_with(answered),
            ground,
        }
    }

    pub(crate) fn prompt(&self, question: &PromptQuestion) -> Answer {
        let answer = answered_with(self.try_prompt(question));
        answer.expect_again(|| Asked::Prompt(question.clone()));
        answer
    }

    /// What git is told, in `form`; a response that is no [`Response::Changed`] says why nothing is known.
    pub(crate) fn monitor(&self, question: &MonitorQuestion, form: Form) -> Answer {
        let answer = answered_with(self.try_monitor(question, form, true));
        answer.expect_again(|| Asked::Monitor(question.clone()));
        answer
    }

    /// As [`Self::monitor`], but where everything has to be looked at first, git waits no longer than `time`: then it is told that
    /// everything may have changed, and what is found out here meanwhile is there for its next question. With `always` that is so
    /// wherever the answer takes that long.
    pub(crate) fn monitor_within(
        self: &Arc<Self>,
        time: Duration,
        always: bool,
        question: MonitorQuestion,
        form: Form,
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
                // Nobody waits for it any more.
                let _ = panics::catch(|| slot.save());
            }
        };
        let spawned = Builder::new().name("first".into()).spawn(find_out);
        if spawned.is_err() {
            return self.monitor(&question, form);
        }
        let answer = receiver.recv_timeout(time);
        answer.unwrap_or_else(|_| {
            // However long others take.
            let told = self.known(&question).and_then(|slot| slot.everything());
            let told = told.ok_or_else(|| theirs("all is being looked at"));
            answered_with(told.map(|told| (Response::Changed(payload(&told, form)), None)))
        })
    }

    /// Whether what is asked is answered without a look at everything.
    fn has_looked(&self, question: &MonitorQuestion) -> bool {
        self.known(question).is_some_and(|slot| slot.has_looked())
    }

    /// The place for what is asked, if there is one.
    fn known(&self, question: &MonitorQuestion) -> Option<Arc<Slot>> {
        let located = self.locate(&question.directory, &question.variables, Search::Commands);
        let (_, key) = located.ok()?;
        self.sessions.known(&key?)
    }

    /// Has everything be told to git in the working tree at `top`, whatever it was told before.
    pub(crate) fn tell_git_of_everything(&self, top: &Path) {
        if let (Some(watcher), Ok(stat)) = (&self.watcher, stat_path(top)) {
            watcher.tell_of_everything((stat.dev, stat.ino));
        }
    }

    /// Finds out again what is answered to `question`, for whoever asks next.
    pub(crate) fn again(&self, question: &Asked) {
        // Where there is no answer, whoever asks is told.
        match question {
            Asked::Status(question) => drop(self.try_status(question)),
            Asked::Prompt(question) => drop(self.try_prompt(question)),
            Asked::Monitor(question) => drop(self.try_monitor(question, Form::Hook, false)),
        }
    }

    /// Who hears of changes.
    pub(crate) fn watcher(&self) -> Option<&Watcher> {
        self.watcher.as_deref()
    }

    fn try_status(
        &self,
        question: &StatusQuestion,
    ) -> Result<(Response, Option<Arc<Slot>>), Declined> {
        self.status_on(question, |_| {})
    }

    /// Tells `look` on what the answer rests.
    fn status_on(
        &self,
        question: &StatusQuestion,
        look: impl FnOnce(Ground),
    ) -> Result<(Response, Option<Arc<Slot>>), Declined> {
        let directory = &question.directory;
        let _waiting = self.wait(directory)?;
        let is_same =
            stat_path(directory).is_ok_and(|stat| (stat.dev, stat.ino) == question.directory_id);
        if !is_same {
            return Err(theirs("the directory is another one here"));
        }
        let shown = question.variables.iter().cloned();
        let shown = Environment::new(shown, directory.clone());
        if question.is_of_mercurial {
            return self.status_of_mercurial(question, &shown, look);
        }
        let (environment, key) = self.locate(directory, &question.variables, Search::Commands)?;
        let Some(key) = key else {
            return Err(theirs("there is no repository"));
        };
        let write = |session: &mut Session, _| {
            if session.has_kept_silent() {
                return Err(theirs("there was something to say of it"));
            }
            let prefix = prefix(session, directory)?;
            let written = self.writer.write(session, prefix, question, &shown);
            look(Ground {
                heard: session.heard(),
                is_all: session.hears_all(),
            });
            written
        };
        let (stdout, slot) = self.answer(key, &environment, write)?;
        Ok((printed(stdout), Some(slot)))
    }

    /// The same for Mercurial's working copies: what the repository requires and what is configured is read for each question, so
    /// that whoever asks is answered from the same memory.
    fn status_of_mercurial(
        &self,
        question: &StatusQuestion,
        shown: &Environment,
        look: impl FnOnce(Ground),
    ) -> Result<(Response, Option<Arc<Slot>>), Declined> {
        let key = of_mercurial(&question.directory);
        let key = key.ok_or_else(|| theirs("there is no repository"))?;
        let open = || {
            let mut copy = HgWorkingCopy::watched_by(self.watcher.clone());
            if mounts::can_be_unmounted(&question.directory, shown) {
                copy.hold_no_files();
            }
            Ok(WorkingCopy::Mercurial(Box::new(copy)))
        };
        let (stdout, slot) = self.answer_by(key, open, |copy, _| {
            let WorkingCopy::Mercurial(copy) = copy else {
                return Err(theirs("it is not Mercurial's"));
            };
            let written = self.writer.write_of_mercurial(copy, question, shown);
            look(Ground {
                heard: copy.heard(),
                // What is configured and what is ignored may rest on files anywhere.
                is_all: false,
            });
            written
        })?;
        Ok((printed(stdout), Some(slot)))
    }

    fn try_prompt(
        &self,
        question: &PromptQuestion,
    ) -> Result<(Response, Option<Arc<Slot>>), Declined> {
        let directory = &question.directory;
        let _waiting = self.wait(directory)?;
        let id = question.id.as_bstr();
        let (environment, key) = self.locate(
            directory,
            &question.variables,
            Search::of_prompt(question.from_git_dir),
        )?;
        let Some(key) = key else {
            return Ok((Response::Record(response::none(id)), None));
        };
        let prompt = |session: &mut Session, still| {
            let prompt = session.prompt(&question.request, still).map_err(said)?;
            Ok(response::some(id, &prompt, question.summary_len_max))
        };
        let (record, slot) = self.answer(key, &environment, prompt)?;
        Ok((Response::Record(record), Some(slot)))
    }

    /// `is_waited_for` if git is to be told what is known at once, where a look would tell it no more.
    fn try_monitor(
        &self,
        question: &MonitorQuestion,
        form: Form,
        is_waited_for: bool,
    ) -> Result<(Response, Option<Arc<Slot>>), Declined> {
        let directory = &question.directory;
        let _waiting = self.wait(directory)?;
        let (environment, key) = self.locate(directory, &question.variables, Search::Commands)?;
        let Some(key) = key else {
            return Err(theirs("there is no repository"));
        };
        let since = Token::parse(&question.token).map(|token| token.0);
        let slot = self.sessions.slot(key.clone());
        let tell = |session: &mut Session, _| {
            let index = question.index.as_ref();
            if index.is_some_and(|index| !is_own_index(session, directory, index)) {
                return Err(theirs("another index is asked about"));
            }
            let everything = session.everything().map_err(said)?;
            let continues = |everything: &Everything| everything.continues(since);
            let is_new = everything.as_ref().is_some_and(|it| !continues(it));
            let told = everything.as_ref().and_then(Everything::told);
            *slot.everything.lock() = everything;
            if let Some(told) = told.filter(|_| is_waited_for && is_new && session.is_large()) {
                // A look, of which git would be told no more, would only compete with its own.
                return Ok(told);
            }
            let told = session.told_since(since).map_err(said)?;
            told.ok_or_else(|| theirs("the working tree cannot be watched"))
        };
        let (told, slot) = self.answer(key, &environment, tell)?;
        Ok((Response::Changed(payload(&told, form)), Some(slot)))
    }

    /// As [`open`]; its working tree is watched from now on.
    fn open(&self, environment: &Environment, location: &Location) -> Result<Session, Declined> {
        let mut session = open(environment, location)?;
        if let Some(watcher) = &self.watcher {
            session.watch_by(watcher.clone());
        }
        if mounts::can_be_unmounted(&session.repository().common_dir, environment) {
            session.hold_no_files();
        }
        self.doors.open_if_wanted(session.repository());
        Ok(session)
    }

    /// Does what `question` says with the socket at which git looks for its monitor, and tells of it.
    pub(crate) fn door(&self, question: &DoorQuestion) -> Response {
        match self.try_door(question) {
            Ok((stdout, code)) => Response::Answer {
                stdout,
                stderr: Vec::new(),
                code,
            },
            Err(declined) => Response::Yourself(declined.reason().clone()),
        }
    }

    fn try_door(&self, question: &DoorQuestion) -> Result<(Vec<u8>, u8), Declined> {
        let directory = &question.directory;
        let _waiting = self.wait(directory)?;
        let (environment, key) = self.locate(directory, &question.variables, Search::Commands)?;
        let Some(key) = key else {
            return Err(theirs("there is no repository"));
        };
        let Place::Git(location) = &key.location else {
            return Err(theirs("it is not git's"));
        };
        let opened = repository::open(&environment, location);
        let repository = opened.map_err(|error| said(error.into()))?;
        let refused = |error: NoDoor| theirs(&error.to_string());
        Ok(match question.deed {
            DoorDeed::Tell => match self.doors.tell(&repository).map_err(refused)? {
                (path, true) => (doors::line(&path, "serves"), 0),
                (path, false) => (doors::line(&path, "does not serve"), 1),
            },
            DoorDeed::Open => {
                let opened = self.doors.open(&repository);
                (doors::line(&opened.map_err(refused)?, "serves"), 0)
            }
            DoorDeed::Close => {
                let (path, _) = self.doors.tell(&repository).map_err(refused)?;
                match self.doors.close(&path) {
                    true => (doors::line(&path, "no longer serves"), 0),
                    false => (doors::line(&path, "did not serve"), 1),
                }
            }
        })
    }

    /// By what is known what is said of the paths of `question`. Nothing is looked at for it.
    pub(crate) fn basis(&self, question: &BasisQuestion) -> Response {
        match self.try_basis(question) {
            Ok(known) => Response::KnownBy(known),
            Err(declined) => Response::Yourself(declined.reason().clone()),
        }
    }

    fn try_basis(&self, question: &BasisQuestion) -> Result<Vec<KnownBy>, Declined> {
        let directory = &question.directory;
        let _waiting = self.wait(directory)?;
        let nothing = || theirs("nothing is kept of it");
        let key = match question.is_of_mercurial {
            true => of_mercurial(directory),
            false => {
                self.locate(directory, &question.variables, Search::Commands)?
                    .1
            }
        };
        let key = key.ok_or_else(|| theirs("there is no repository"))?;
        let slot = self.sessions.known(&key).ok_or_else(nothing)?;
        let known = slot.look(|copy| {
            let paths = question.paths.iter();
            let known = paths.map(|path| copy.basis(path.as_ref()).map(KnownBy::from));
            known.collect::<Option<Vec<_>>>()
        })?;
        known.ok_or_else(nothing)
    }

    /// How many folders are watched.
    pub(crate) fn watches(&self) -> usize {
        self.watcher.as_ref().map_or(0, |watcher| watcher.watches())
    }

    /// The environment that counts for a question about `directory`, and what its answer is remembered by; `None` where there
    /// is no repository.
    fn locate(
        &self,
        directory: &Path,
        all: &[(BString, BString)],
        search: Search,
    ) -> Result<(Environment, Option<Key>), Declined> {
        let variables = variables::counting(all);
        let environment = Environment::new(variables.iter().cloned(), directory);
        let found = repository::discover_git_dir(&environment, directory, search);
        let found = found.map_err(|error| said(error.into()))?;
        let standing = variables::are_about_a_place(&variables).then(|| directory.to_owned());
        let key = found.map(|location| Key {
            location: Place::Git(location),
            variables: variables::telling_apart(&variables),
            directory: standing,
        });
        Ok((environment, key))
    }

    fn answer<T>(
        &self,
        key: Key,
        environment: &Environment,
        answer: impl FnOnce(&mut Session, Option<Still>) -> Result<T, Declined>,
    ) -> Result<(T, Arc<Slot>), Declined> {
        let location = key.location.clone();
        let open = || match &location {
            Place::Git(location) => self.open(environment, location),
            Place::Mercurial(_) => Err(theirs("it is not git's")),
        };
        let open = || Ok(WorkingCopy::Git(Box::new(open()?)));
        self.answer_by(key, open, |copy, still| answer(copy.git()?, still))
    }

    fn answer_by<T>(
        &self,
        key: Key,
        open: impl FnOnce() -> Result<WorkingCopy, Declined>,
        answer: impl FnOnce(&mut WorkingCopy, Option<Still>) -> Result<T, Declined>,
    ) -> Result<(T, Arc<Slot>), Declined> {
        let slot = self.sessions.slot(key);
        let mut kept = slot
            .take_turn()
            .ok_or_else(|| theirs("others are being answered"))?;
        if let Some(reason) = kept.declined() {
            return Err(Declined::Question(reason.clone()));
        }
        let answered = slot.answer(&mut kept, open, answer);
        if let Err(Declined::Answer(reason)) = &answered {
            kept.decline_for(self.declined_rest, reason.clone());
        }
        drop(kept);
        answered.map(|answer| (answer, slot))
    }

    /// Counts a question about `directory`, as long as it is not answered.
    fn wait(&self, directory: &Path) -> Result<Waits<'_>, Declined> {
        let waits = self.waiting.begin(directory);
        waits.ok_or_else(|| theirs("too many ask about the directory"))
    }
}

/// By what what is known of the working copy of Mercurial's around `directory` is remembered, if there is one.
fn of_mercurial(directory: &Path) -> Option<Key> {
    Some(Key {
        location: Place::Mercurial(root_around(directory)?),
        variables: Vec::new(),
        directory: None,
    })
}

impl Answer {
    /// Notes that the question may come again.
    fn expect_again(&self, question: impl FnOnce() -> Asked) {
        if let Some(slot) = &self.slot {
            slot.ahead.lock().asked(question(), Instant::now());
        }
    }
}

fn printed(stdout: Vec<u8>) -> Response {
    Response::Answer {
        stdout,
        stderr: Vec::new(),
        code: 0,
    }
}

fn answered_with(answered: Result<(Response, Option<Arc<Slot>>), Declined>) -> Answer {
    match answered {
        Ok((response, slot)) => Answer { response, slot },
        Err(declined) => Answer {
            response: Response::Yourself(declined.reason().clone()),
            slot: None,
        },
    }
}

/// A session with the repository at `location`. What has to be said of its configuration only its asker can say.
fn open(environment: &Environment, location: &Location) -> Result<Session, Declined> {
    let repository = repository::open(environment, location).map_err(|error| said(error.into()))?;
    if repository.work_tree.is_none() {
        return Err(theirs("there is no working tree"));
    }
    if !repository.config.said().is_empty() {
        let reason = "there is something to say of the configuration";
        return Err(Declined::Answer(reason.into()));
    }
    let wanted = repository.config.boolean("vigil.daemon");
    if wanted.map_err(|error| said(error.into()))? == Some(false) {
        return Err(theirs("the configuration wants no daemon"));
    }
    Session::open(repository, true, FilterStderr::Refuse).map_err(said)
}

/// Whether `index`, as it is said in `directory`, is the repository's own.
fn is_own_index(session: &Session, directory: &Path, index: &BString) -> bool {
    let id = |path: &Path| stat_path(path).ok().map(|stat| (stat.dev, stat.ino));
    let own = &session.repository().index_path;
    let said = index.to_path().map(|index| directory.join(index));
    said.is_ok_and(|said| said == *own || id(&said).is_some() && id(&said) == id(own))
}

/// Where `directory` is in the working tree of `session`, with a `/` at the end unless it is the top.
fn prefix(session: &Session, directory: &Path) -> Result<BString, Declined> {
    let repository = session.repository();
    let top = repository
        .require_work_tree()
        .map_err(|error| said(error.into()))?;
    let inside = directory
        .strip_prefix(top)
        .map_err(|_| theirs("the working tree is elsewhere"))?;
    let mut prefix = BString::from(inside.as_os_str().as_bytes());
    if !prefix.is_empty() {
        prefix.push(b'/');
    }
    Ok(prefix)
}

fn said(error: SessionError) -> Declined {
    Declined::Answer(said_by(&error))
}
