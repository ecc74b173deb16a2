//! The conversation on a connection: which answer each message gets.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bstr::BString;
use rustix::io::Errno;
use vigil_linux::memory;
use vigil_linux::process::thread_builder;
use vigil_model::raw_text::message_bytes;

use super::at_work::AtWork;
use super::connection::{Connection, Greeting};
use super::connections::Connections;
use super::lateness::Lateness;
use super::subscribers::{Search, SearchResult, Subscribers};
use crate::accept::is_own;
use crate::answers::{Answers, Dependencies};
use crate::audit::Auditor;
use crate::deputy::Deputy;
use crate::fsmonitor::{self, TokenForm, packets};
use crate::git_sockets::GitSocket;
use crate::panics;
use crate::peer;
use crate::protocol::{
    ANSWER_LEN_MAX, Description, MonitorQuestion, ProtocolError, RESPONSE_LEN_MAX, Request,
    Response, StatusQuestion, program,
};
use crate::spare_memory;
use crate::statistics::{Statistics, micros};
use crate::stream::Broken;
use crate::view;

/// The usual idle time is divided by this when watches run out: idle working copies then give up their watches sooner.
const IDLE_DIVISOR_WITHOUT_WATCHES: u32 = 12;

/// How long git waits if everything must be looked at first. Without an answer, git looks at everything itself.
const FIRST_LOOK_TIMEOUT: Duration = Duration::from_millis(150);

/// How long the hook waits in any case. Including the time to start and to connect, git is never held up for longer than 0.3 s.
const HOOK_TIMEOUT: Duration = Duration::from_millis(200);

/// Owns all connections and what is needed to answer on them.
pub(super) struct Host {
    answers: Arc<Answers>,
    statistics: Statistics,
    connections: Connections,
    at_work: AtWork,
    subscribers: Arc<Subscribers>,
    /// Whether there is a thread that informs subscribers.
    informs_subscribers: AtomicBool,
    auditor: Auditor,
    lateness: Lateness,
    view: Option<BString>,
    is_dropping_idle: AtomicBool,
    is_dropping_gone: AtomicBool,
    ends: OwnedFd,
}

impl Host {
    /// Creates a host that asks `answers`, and writes to `ends`, an eventfd(2), when it is told to end.
    ///
    /// # Errors
    /// A system call failed.
    pub(super) fn new(
        answers: Answers,
        ends: OwnedFd,
        auditor: Auditor,
        lateness: Lateness,
    ) -> Result<Self, Errno> {
        Ok(Self {
            answers: Arc::new(answers),
            statistics: Statistics::new(),
            connections: Connections::new()?,
            at_work: AtWork::new()?,
            subscribers: Arc::default(),
            informs_subscribers: AtomicBool::new(true),
            auditor,
            lateness,
            view: view::of_process(),
            is_dropping_idle: AtomicBool::new(false),
            is_dropping_gone: AtomicBool::new(false),
            ends,
        })
    }

    pub(super) fn answers(&self) -> &Arc<Answers> {
        &self.answers
    }

    pub(super) fn at_work(&self) -> &AtWork {
        &self.at_work
    }

    pub(super) fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    pub(super) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Whether nobody has asked for `time`, no question is open, and nobody is subscribed.
    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        self.connections.taken() == 0
            && self.subscribers.is_empty()
            && self.statistics.summary().idle >= time
    }

    /// Drops what nobody has asked about for `time`, and what is gone. Uses threads of their own: a disk that hangs must not hold
    /// up anything else.
    pub(super) fn tidy_up(self: &Arc<Self>, time: Duration) {
        self.begin_unless_begun(
            |host| &host.is_dropping_idle,
            move |host| {
                let watcher = host.answers.watcher();
                // Idle sessions give up their watches to active ones.
                let time = match watcher.is_some_and(|watcher| watcher.has_run_out()) {
                    true => time / IDLE_DIVISOR_WITHOUT_WATCHES,
                    false => time,
                };
                host.answers.sessions().drop_idle(time);
            },
        );
        self.begin_unless_begun(
            |host| &host.is_dropping_gone,
            |host| {
                host.answers.sessions().drop_gone();
                host.answers.git_sockets().drop_lost();
            },
        );
    }

    /// Has a thread do `work`, unless one does it already, as the flag tells.
    fn begin_unless_begun(
        self: &Arc<Self>,
        flag: fn(&Self) -> &AtomicBool,
        work: impl FnOnce(&Self) + Send + 'static,
    ) {
        if flag(self).swap(true, Ordering::Relaxed) {
            return;
        }
        let host = self.clone();
        let run = move || {
            let _ = panics::catch(|| work(&host));
            flag(&host).store(false, Ordering::Relaxed);
        };
        if thread_builder().name("tidy".into()).spawn(run).is_err() {
            flag(self).store(false, Ordering::Relaxed);
        }
    }

    /// Waits for input on a connection, calls `begin`, and answers. Returns false if there will be no more input.
    pub(super) fn attend_to_next(&self, begin: &dyn Fn()) -> bool {
        let Ok(mut turn) = self.connections.next() else {
            let _ = self.end();
            return false;
        };
        begin();
        // A defect in one answer is caught where the answer is made; a defect here costs the connection.
        let attended = panics::catch(|| turn.connection().map(|(id, one)| self.attend(id, one)));
        if let Ok(Some(Ok(()))) = attended {
            turn.give_back();
        }
        true
    }

    fn end(&self) -> Result<usize, Errno> {
        rustix::io::write(&self.ends, &1u64.to_ne_bytes())
    }

    /// Answers the messages that have come, and sends news, as long as the client reads.
    fn attend(&self, id: u64, connection: &mut Connection) -> Result<(), Broken> {
        connection.flush()?;
        connection.send_news()?;
        let attended = self
            .answer_all(id, connection)
            .and_then(|()| match connection.unsent() {
                0 => connection
                    .receive()
                    .and_then(|()| self.answer_all(id, connection)),
                _ => Ok(()),
            });
        if let Err(Broken::Protocol(error)) = &attended {
            let refused = Response::Refused(message_bytes(&error));
            let _ = connection.send(refused.to_frame());
        }
        attended
    }

    /// Answers all complete messages that have been received.
    fn answer_all(&self, id: u64, connection: &mut Connection) -> Result<(), Broken> {
        if let Some(socket) = connection.git_socket() {
            return self.answer_git(connection, &socket);
        }
        while connection.unsent() == 0 {
            match connection.take() {
                Ok(Some((kind, body))) => self.answer(id, connection, kind, body)?,
                Ok(None) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Answers git, which connected at `socket`. Invalid messages get no answer.
    fn answer_git(&self, connection: &mut Connection, socket: &GitSocket) -> Result<(), Broken> {
        let is_own = is_own(connection.socket());
        while connection.unsent() == 0 {
            let Some(message) = connection.take_of_git().map_err(|_| Broken::Closed)? else {
                break;
            };
            // git's client may or may not end a message with a NUL.
            let token = message.strip_suffix(b"\0").unwrap_or(&message);
            if is_own && token == b"quit" {
                self.answers.git_sockets().close_socket(socket);
                let _ = connection.send(packets::packets(b""));
                return Err(Broken::Closed);
            }
            let start = Instant::now();
            let question = match is_own {
                true => self.question_of_git(connection.socket(), socket, token),
                false => None,
            };
            let Some(question) = question else {
                // Cut off, git would die of SIGPIPE, and an empty answer would mean that nothing changed.
                let nothing = fsmonitor::without_answer(TokenForm::Builtin);
                let _ = connection.send(packets::packets(&nothing));
                if is_own {
                    self.statistics.note(start, false);
                }
                return Err(Broken::Closed);
            };
            let answer = self.answers.monitor_within(
                FIRST_LOOK_TIMEOUT,
                false,
                question,
                TokenForm::Builtin,
            );
            let (told, slot) = match answer.response {
                Response::Changed(told) => (Some(told), answer.slot),
                _ => (None, None),
            };
            self.statistics.note(start, told.is_some());
            let told = told.unwrap_or_else(|| fsmonitor::without_answer(TokenForm::Builtin));
            let sent = connection.send(packets::packets(&told));
            if let Some(slot) = slot {
                slot.statistics.note(start, true);
                slot.save();
                spare_memory::give_back_after(start);
            }
            sent?;
        }
        Ok(())
    }

    /// The question of the git behind `connection`, which was given `token` last and connected at `socket`. `None` if the
    /// socket is no longer where git would look for it, if files are seen otherwise there, or if too many ask about the working
    /// tree: its disk may hang.
    fn question_of_git(
        &self,
        connection: BorrowedFd<'_>,
        socket: &GitSocket,
        token: &[u8],
    ) -> Option<MonitorQuestion> {
        let _open_question = self.answers.count_open(socket.top()).ok()?;
        if !socket.is_in_place() {
            return None;
        }
        if token == b"flush" {
            // It is not a valid token either, so the answer is that everything may have changed.
            self.answers.report_everything_to_git(socket.top());
        }
        let question = socket.question(token.into());
        let question = peer::question(connection, question, self.view.as_ref())?;
        Some(self.answers.about_repository(socket.git_dir(), question))
    }

    fn answer(
        &self,
        id: u64,
        connection: &mut Connection,
        kind: u8,
        body: Vec<u8>,
    ) -> Result<(), Broken> {
        let start = Instant::now();
        let request = Request::from_frame(kind, &body);
        drop(body);
        let has_same_view = match connection.greeting() {
            Greeting::Awaited => return self.greet(connection, request),
            greeting => greeting == Greeting::SameView,
        };
        let answer = match &request? {
            Request::Hello(_) => return Err(ProtocolError::Message(kind).into()),
            Request::Ping => return connection.send(Response::Done.to_frame()),
            Request::Stop => {
                let told = connection.send(Response::Done.to_frame());
                self.end()?;
                return told;
            }
            Request::Describe => {
                let description = Response::Description(self.describe());
                return connection.send(description.to_frame());
            }
            Request::Audit => return connection.send(self.audit().to_frame()),
            Request::Status(_)
            | Request::Prompt(_)
            | Request::Watch(_)
            | Request::Monitor(_)
            | Request::GitSocket(_)
            | Request::Basis(_)
                if !has_same_view =>
            {
                let elsewhere = Response::Yourself("files are seen otherwise here".into());
                self.statistics.note(start, false);
                return connection.send(elsewhere.to_frame());
            }
            Request::Watch(question) => return self.watch(id, connection, question, start),
            Request::Status(question) => {
                let _answering = self.at_work.begin(connection.shared_socket());
                self.answers.status(question)
            }
            Request::Prompt(question) => {
                let _answering = self.at_work.begin(connection.shared_socket());
                self.answers.prompt(question)
            }
            Request::Monitor(question) => {
                let (answers, question) = (&self.answers, question.clone());
                answers.monitor_within(HOOK_TIMEOUT, true, question, TokenForm::Hook)
            }
            Request::GitSocket(question) => {
                let response = self.answers.git_socket(question);
                return connection.send(response.to_frame());
            }
            Request::Basis(question) => {
                let (frame, _) = framed(self.answers.basis(question));
                return connection.send(frame);
            }
        };
        let (frame, is_answered) = framed(answer.response);
        self.statistics.note(start, is_answered);
        if let Some(slot) = &answer.slot {
            self.lateness.answered(&slot.statistics, start.elapsed());
            slot.statistics.note(start, is_answered);
        }
        let sent = connection.send(frame);
        if let Some(slot) = answer.slot {
            slot.save();
            spare_memory::give_back_after(start);
        }
        sent
    }

    /// Answers `question`, and again each time that the answer changes.
    fn watch(
        &self,
        id: u64,
        connection: &mut Connection,
        question: &StatusQuestion,
        start: Instant,
    ) -> Result<(), Broken> {
        let informs_subscribers = self.informs_subscribers.load(Ordering::Relaxed);
        let watcher = self.answers.watcher().filter(|_| informs_subscribers);
        let Some(watcher) = watcher else {
            let deaf = Response::Yourself("changes cannot be heard of".into());
            self.statistics.note(start, false);
            return connection.send(deaf.to_frame());
        };
        connection.subscribe(None);
        let watched = self.answers.watched(question);
        let (mut frame, mut is_answered) = framed(watched.answer.response);
        if is_answered {
            match self
                .subscribers
                .add(id, question, &frame, watched.dependencies)
            {
                Some(subscription) => connection.subscribe(Some(subscription)),
                None => {
                    frame = Response::Yourself("too many are told of changes".into()).to_frame();
                    is_answered = false;
                }
            }
        }
        self.statistics.note(start, is_answered);
        let sent = connection.send(frame);
        if let Some(slot) = watched.answer.slot {
            slot.statistics.note(start, is_answered);
            slot.save();
        }
        // The answer may have changed meanwhile.
        watcher.wake();
        sent
    }

    /// Audits everything that is kept.
    fn audit(&self) -> Response {
        let report = self.auditor.all(self.answers.sessions());
        if report.differences > 0 {
            self.recompute_all();
        }
        Response::Answer {
            stdout: report.text,
            stderr: Vec::new(),
            code: u8::from(report.differences > 0),
        }
    }

    /// Has all subscribers' answers found again: something that was kept was wrong, so they may have been told wrong answers.
    fn recompute_all(&self) {
        self.subscribers.recompute_all();
        self.answers.wake();
    }

    /// Accepts no more subscribers, since nobody calls [`Self::inform_and_audit`].
    pub(super) fn inform_nobody(&self) {
        self.informs_subscribers.store(false, Ordering::Relaxed);
    }

    /// Audits a sample if nobody is asking, and then informs subscribers of changes. Returns when there is more to do, if known.
    pub(super) fn inform_and_audit(self: &Arc<Self>, deputy: &mut Deputy) -> Option<Instant> {
        let due_at = || {
            let idle = self.statistics.summary().idle;
            self.auditor.due_at(self.answers.sessions(), idle)
        };
        let mut next = due_at();
        if next.is_some_and(|at| at <= Instant::now()) {
            let host = self.clone();
            deputy.have_done(move || {
                let sampled = panics::catch(|| host.auditor.sample(host.answers.sessions()));
                if sampled.unwrap_or_default() {
                    host.recompute_all();
                }
            });
            next = due_at();
        }
        let told = self.inform_subscribers(deputy);
        told.into_iter().chain(next).min()
    }

    /// Finds again the answers that may have changed, and wakes the subscribers to which they are news. Returns when there is
    /// more to do, if that is known.
    fn inform_subscribers(self: &Arc<Self>, deputy: &mut Deputy) -> Option<Instant> {
        loop {
            let search = match self.subscribers.next(Instant::now()) {
                Ok(search) => search,
                Err(next) => return next,
            };
            let host = self.clone();
            deputy.have_done(move || {
                if search.is_premature() {
                    host.subscribers.put_off(&search);
                    return;
                }
                let result = host.find_again(&search);
                for id in host.subscribers.note(search, result) {
                    host.connections.wake(id);
                }
            });
        }
    }

    fn find_again(&self, search: &Search) -> SearchResult {
        let watched = panics::catch(|| self.answers.watched(&search.question));
        let (response, dependencies) = match watched {
            Ok(watched) => (watched.answer.response, watched.dependencies),
            Err(told) => {
                let defect = Response::Yourself(format!("defect: {told}").into());
                (defect, Dependencies::default())
            }
        };
        let (frame, is_answer) = framed(response);
        SearchResult {
            frame,
            is_answer,
            dependencies,
        }
    }

    fn greet(
        &self,
        connection: &mut Connection,
        request: Result<Request, ProtocolError>,
    ) -> Result<(), Broken> {
        let hello = match request {
            Ok(Request::Hello(hello)) => hello,
            // A connection that begins otherwise is not from a client of any version.
            Ok(_) | Err(ProtocolError::Message(_)) => return Err(ProtocolError::NoHello.into()),
            Err(error) => return Err(error.into()),
        };
        connection.greet(match self.view.as_ref() == Some(&hello.view) {
            true => Greeting::SameView,
            false => Greeting::OtherView,
        });
        let welcome = Response::Welcome {
            program: program().clone(),
            pid: std::process::id(),
        };
        connection.send(welcome.to_frame())
    }

    fn describe(&self) -> Description {
        let summary = self.statistics.summary();
        Description {
            pid: std::process::id(),
            program: program().clone(),
            running_s: summary.running.as_secs(),
            connections: self.connections.len() as u64,
            memory: memory::resident().unwrap_or(0),
            watches: self.answers.watches() as u64,
            questions: summary.questions,
            declined: summary.declined,
            median_us: micros(summary.median),
            last_us: micros(summary.last),
            repositories: self.answers.sessions().describe(),
            monitors: self.answers.git_sockets().describe(),
        }
    }
}

/// `response` as a frame, and whether it is an answer.
fn framed(response: Response) -> (Vec<u8>, bool) {
    let frame = response.to_frame();
    let is_of_changes = matches!(response, Response::Changed(_));
    let max = match is_of_changes {
        true => RESPONSE_LEN_MAX,
        false => ANSWER_LEN_MAX,
    };
    if frame.len() > max {
        let too_long = Response::Yourself("the answer is too long".into());
        return (too_long.to_frame(), false);
    }
    (frame, !matches!(response, Response::Yourself(_)))
}
