//! Following changes: the user's daemon reports them, or this process looks itself while no daemon speaks.

use std::convert::Infallible;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bstr::BString;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use vigil_daemon::client::{Client, PATIENCE, Subscription, Unanswered, patience};
use vigil_daemon::protocol::Response;
use vigil_daemon::start::Starter;
use vigil_git::environment::Environment;

use super::look::LocalStatus;
use crate::by_daemon;
use crate::globals;
use crate::hg;
use crate::pager;
use crate::reply::Reply;
use crate::say::{say, write};

/// The pause between attempts to subscribe to a daemon: the first one, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// After this much silence the daemon is asked for a sign of life.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// Prints until nobody reads or no answer is possible any more. Returns the exit code.
pub(super) fn run(arguments: &[BString], environment: &Environment, wants_daemon: bool) -> u8 {
    let follower = Follower {
        arguments,
        environment: environment.clone(),
        patience: patience(environment).unwrap_or(PATIENCE),
        local_status: LocalStatus::new(arguments),
        last_reply: Reply::default(),
        daemon: wants_daemon.then(|| Daemon {
            client: Client::for_command(environment),
            starter: Starter::new(environment.clone()),
            pause: PAUSE_MIN,
            next_attempt_at: None,
            link: None,
        }),
    };
    match follower.follow() {
        Err(End::Reported(code)) => code,
        Err(End::NobodyReads) => pager::die_of_broken_pipe(),
        Ok(never) => match never {},
    }
}

/// Why following ends.
enum End {
    /// No answer is possible any more, and that was reported; the exit code.
    Reported(u8),
    /// The other end of standard output is closed.
    NobodyReads,
}

struct Follower<'a> {
    arguments: &'a [BString],
    /// With the working directory's last known name.
    environment: Environment,
    /// How long the daemon may take to give its first answer, or a sign of life, before this process looks itself.
    patience: Duration,
    local_status: LocalStatus<'a>,
    /// The last reply written.
    last_reply: Reply,
    /// `None` if no daemon is wanted.
    daemon: Option<Daemon>,
}

/// The user's daemon, as seen by a subscriber.
struct Daemon {
    client: Client,
    starter: Starter,
    /// The pause before the next attempt to subscribe, and the time of that attempt.
    pause: Duration,
    next_attempt_at: Option<Instant>,
    link: Option<Link>,
}

/// A connection on which the daemon reports changes.
struct Link {
    subscription: Subscription,
    heard_at: Instant,
    /// Since when the daemon owes a message, if it does: the first answer, or a sign of life.
    owed_since: Option<Instant>,
    /// This process has looked itself meanwhile, so what arrives may be older than what it found.
    is_stale: bool,
}

impl Follower<'_> {
    fn follow(mut self) -> Result<Infallible, End> {
        loop {
            if self.connect() {
                // The first answer may have arrived together with the welcome: then the socket does not become readable again.
                self.handle_messages()?;
            }
            let now = Instant::now();
            let looks_at = self.looks_at(now);
            if looks_at.is_some_and(|at| at <= now) {
                self.look()?;
                continue;
            }
            let asks_at = self.daemon.as_ref().and_then(|daemon| daemon.acts_at());
            let next = looks_at.into_iter().chain(asks_at).min();
            if self.wait(next)? {
                self.handle_messages()?;
            }
            if let Some(daemon) = &mut self.daemon {
                daemon.ping_if_silent();
            }
        }
    }

    /// Subscribes to a daemon, unless that is done or it is too soon to try again. Returns whether a new subscription was made.
    fn connect(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.daemon.as_ref().is_some_and(|daemon| {
            daemon.link.is_none() && daemon.next_attempt_at.is_none_or(|at| at <= now)
        });
        if !is_due {
            return false;
        }
        self.note_moves();
        let Some(daemon) = &mut self.daemon else {
            return false;
        };
        // The directory's name may lead to another one by now.
        let (arguments, environment) = (self.arguments, &self.environment);
        let question = hg::watched(arguments, environment)
            .or_else(|| by_daemon::question(arguments, environment));
        let subscribed = question.map(|question| daemon.client.subscribe(question));
        match subscribed {
            Some(Ok(subscription)) => {
                let now = Instant::now();
                daemon.link = Some(Link {
                    subscription,
                    heard_at: now,
                    owed_since: Some(now),
                    is_stale: false,
                });
            }
            Some(Err(Unanswered::Absent)) => {
                daemon.starter.start();
                daemon.pause();
            }
            Some(Err(error)) => {
                if error.is_of_older() {
                    daemon.starter.start();
                }
                daemon.pause();
            }
            None => daemon.pause(),
        }
        daemon.link.is_some()
    }

    /// When this process should look itself; `None` while a daemon is responsive.
    fn looks_at(&self, now: Instant) -> Option<Instant> {
        let link = self.daemon.as_ref().and_then(|daemon| daemon.link.as_ref());
        let silent_at = match link {
            None => now,
            Some(link) => link.owed_since?.checked_add(self.patience)?,
        };
        Some(
            self.local_status
                .next_at()
                .map_or(silent_at, |at| at.max(silent_at)),
        )
    }

    /// Notes the name that the working directory has now. One that is gone keeps its name: another may be made there.
    fn note_moves(&mut self) {
        if let Some(moved) = globals::after_move(&self.environment) {
            self.environment = moved;
        }
    }

    fn look(&mut self) -> Result<(), End> {
        self.note_moves();
        let reply = self.local_status.look(&self.environment);
        if let Some(link) = self.daemon.as_mut().and_then(|daemon| daemon.link.as_mut()) {
            link.is_stale = true;
        }
        // What keeps Mercurial's working copy from being looked at, as an invalid ignore pattern, may be mended meanwhile.
        if reply.code != 0 && hg::is_mercurial(&self.environment) {
            self.say_failure(reply);
            return Ok(());
        }
        self.say(reply)
    }

    /// Writes why there is no answer, unless that equals what was written last.
    fn say_failure(&mut self, reply: Reply) {
        if reply.stderr != self.last_reply.stderr {
            let _ = write(rustix::stdio::stderr(), &reply.stderr);
        }
        // The next line still differs from the last one.
        let stdout = std::mem::take(&mut self.last_reply.stdout);
        self.last_reply = Reply { stdout, ..reply };
    }

    /// Waits until the daemon sends something, at most until `until`. Returns whether it did.
    fn wait(&self, until: Option<Instant>) -> Result<bool, End> {
        let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
        let rest = rest.and_then(|rest| Timespec::try_from(rest).ok());
        let stdout = rustix::stdio::stdout();
        let link = self.daemon.as_ref().and_then(|daemon| daemon.link.as_ref());
        // Do not wait for standard output to become writable, but only for its reader to go away.
        let mut waiting = vec![PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty())];
        if let Some(link) = link {
            let socket = link.subscription.socket();
            waiting.push(PollFd::from_borrowed_fd(socket, PollFlags::IN));
        }
        match poll(&mut waiting, rest.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            // Waiting is impossible; go on with the next look.
            Err(_) => return Ok(false),
        }
        let mut events = waiting.iter().map(PollFd::revents);
        let is_closed = events.next().is_some_and(|events| {
            events.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
        });
        match is_closed {
            true => Err(End::NobodyReads),
            false => Ok(events.any(|events| !events.is_empty())),
        }
    }

    /// Handles what the daemon sent.
    fn handle_messages(&mut self) -> Result<(), End> {
        loop {
            let Some(daemon) = &mut self.daemon else {
                return Ok(());
            };
            let Some(link) = &mut daemon.link else {
                return Ok(());
            };
            match link.subscription.receive() {
                Ok(None) => return Ok(()),
                Ok(Some(_)) if link.is_stale => {
                    // The daemon is alive after all: subscribe anew at once.
                    daemon.link = None;
                    daemon.next_attempt_at = None;
                    return Ok(());
                }
                Ok(Some(Response::Answer {
                    stdout,
                    stderr,
                    code,
                })) => {
                    link.note_sign_of_life();
                    daemon.pause = PAUSE_MIN;
                    self.say(Reply {
                        stdout,
                        stderr,
                        code,
                    })?;
                }
                Ok(Some(Response::Done)) => link.note_sign_of_life(),
                Ok(Some(_)) | Err(_) => {
                    daemon.link = None;
                    daemon.pause();
                    return Ok(());
                }
            }
        }
    }

    /// Writes `reply`, unless it equals the last one.
    fn say(&mut self, reply: Reply) -> Result<(), End> {
        if reply == self.last_reply {
            return Ok(());
        }
        if reply.code != 0 {
            return Err(End::Reported(say(&reply)));
        }
        if reply.stderr != self.last_reply.stderr {
            // There is nobody to tell if standard error cannot be written.
            let _ = write(rustix::stdio::stderr(), &reply.stderr);
        }
        if reply.stdout != self.last_reply.stdout {
            match write(rustix::stdio::stdout(), &reply.stdout) {
                Ok(()) => {}
                Err(Errno::PIPE) => return Err(End::NobodyReads),
                // Report the failed write as every command does.
                Err(_) => return Err(End::Reported(say(&reply))),
            }
        }
        self.last_reply = reply;
        Ok(())
    }
}

impl Daemon {
    /// Schedules the next attempt, after a longer pause each time.
    fn pause(&mut self) {
        self.next_attempt_at = Instant::now().checked_add(self.pause);
        self.pause = self.pause.saturating_mul(2).min(PAUSE_MAX);
    }

    /// When the daemon needs attention next.
    fn acts_at(&self) -> Option<Instant> {
        match &self.link {
            None => self.next_attempt_at,
            Some(link) => link.asks_at(),
        }
    }

    /// Asks the daemon for a sign of life if it has been silent for long.
    fn ping_if_silent(&mut self) {
        let now = Instant::now();
        let Some(link) = &mut self.link else {
            return;
        };
        if link.asks_at().is_none_or(|at| at > now) {
            return;
        }
        link.owed_since = Some(now);
        if link.subscription.ping().is_err() {
            self.link = None;
            self.next_attempt_at = None;
        }
    }
}

impl Link {
    fn note_sign_of_life(&mut self) {
        self.heard_at = Instant::now();
        self.owed_since = None;
    }

    /// When to ask for a sign of life.
    fn asks_at(&self) -> Option<Instant> {
        match self.owed_since {
            None => self.heard_at.checked_add(SILENCE_MAX),
            Some(_) => None,
        }
    }
}
