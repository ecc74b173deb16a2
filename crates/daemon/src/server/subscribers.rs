//! Clients that are told each time that an answer changes. Equal questions share one answer, which is found once.
//!
//! Subscribers cost no thread. After an event, the thread that works ahead finds the answer again and records it here; the
//! connections to which it is news are woken, and any worker sends it.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::ahead::{Ahead, RepeatableQuestion, Work, cost_until};
use crate::answers::Dependencies;
use crate::deputy;
use crate::protocol::{Response, StatusQuestion};

/// The most subscribers.
const SUBSCRIBERS_MAX: usize = 64;

/// The most bytes of answers kept for subscribers that have not read the previous one.
const WAITING_MAX: usize = 32 << 20;

/// How often an answer is found again without any event: it may depend on the user's own configuration.
const RECHECK_INTERVAL: Duration = Duration::from_secs(30);

/// How often that is for an answer that depends on files whose changes cannot be heard of.
const RECHECK_INTERVAL_UNWATCHED: Duration = Duration::from_secs(2);

/// The share of a core for looking at what cannot be heard of is at most one part in this many.
const UNWATCHED_REST_FACTOR: u32 = 50;

/// The share of a core for all answers is at most one part in this many.
const REST_FACTOR: u32 = 5;

/// All subscribers.
#[derive(Default)]
pub(super) struct Subscribers {
    inner: Mutex<Inner>,
    digests: RandomState,
}

#[derive(Default)]
struct Inner {
    topics: Vec<Topic>,
    next: u64,
    not_before: Option<Instant>,
}

/// A question to which one or more clients subscribe.
struct Topic {
    question: StatusQuestion,
    ahead: Ahead,
    /// When the answer is found again even without an event.
    recheck_at: Instant,
    /// The digest of the answer.
    digest: u64,
    /// The answer as a frame, while some subscriber has not been sent it.
    frame: Option<Arc<Vec<u8>>>,
    /// There will be no further answers.
    is_over: bool,
    subscribers: HashMap<u64, Subscriber>,
}

struct Subscriber {
    /// The id of its connection.
    connection: u64,
    /// The digest of the answer that it was sent last.
    sent_digest: u64,
}

/// A client's subscription, which ends when this is dropped.
pub(super) struct Subscription {
    subscribers: Arc<Subscribers>,
    id: u64,
}

/// An answer to send to a subscriber.
pub(super) struct News {
    pub(super) frame: Arc<Vec<u8>>,
    /// No further answer follows.
    pub(super) is_last: bool,
}

/// The search for an answer that may have changed.
pub(super) struct Search {
    pub(super) question: StatusQuestion,
    work: Work,
    began_at: Instant,
}

/// The result of a search.
pub(super) struct SearchResult {
    pub(super) frame: Vec<u8>,
    /// Whether it is an answer, not the reply that there is none.
    pub(super) is_answer: bool,
    pub(super) dependencies: Dependencies,
}

impl Search {
    /// Whether the answer is likely to change again at once. The disk that this depends on may hang.
    pub(super) fn is_premature(&self) -> bool {
        self.work.is_premature()
    }
}

impl Subscribers {
    /// Subscribes the connection to `question`. `frame` is the answer that it is sent now, which rests on `dependencies`.
    /// `None` if there are too many subscribers.
    pub(super) fn add(
        self: &Arc<Self>,
        connection: u64,
        question: &StatusQuestion,
        frame: &[u8],
        dependencies: Dependencies,
    ) -> Option<Subscription> {
        let now = Instant::now();
        let sent_digest = self.digests.hash_one(frame);
        let mut inner = self.inner.lock();
        if inner.len() >= SUBSCRIBERS_MAX {
            return None;
        }
        let id = inner.next;
        inner.next = inner.next.wrapping_add(1);
        let topics = &mut inner.topics;
        let known = topics
            .iter_mut()
            .find(|topic| topic.question == *question && !topic.is_over);
        let subscriber = Subscriber {
            connection,
            sent_digest,
        };
        match known {
            Some(topic) => {
                if topic.digest != sent_digest {
                    // One of the two answers is out of date.
                    topic.recheck_at = now;
                }
                topic.subscribers.insert(id, subscriber);
            }
            None => {
                let mut topic = Topic {
                    question: question.clone(),
                    ahead: Ahead::default(),
                    recheck_at: now,
                    digest: sent_digest,
                    frame: None,
                    is_over: false,
                    subscribers: HashMap::from([(id, subscriber)]),
                };
                topic
                    .ahead
                    .asked(RepeatableQuestion::Status(question.clone()), now);
                topic.rest_on(dependencies, Duration::ZERO, now);
                topics.push(topic);
            }
        }
        drop(inner);
        Some(Subscription {
            subscribers: self.clone(),
            id,
        })
    }

    /// Has all answers found again, though no event was heard.
    pub(super) fn recompute_all(&self) {
        let now = Instant::now();
        for topic in &mut self.inner.lock().topics {
            topic.recheck_at = now;
        }
    }

    /// Whether there are no subscribers.
    pub(super) fn is_empty(&self) -> bool {
        self.inner.lock().topics.is_empty()
    }

    /// Returns the next answer that must be found again now, or else the time at which the next one must, if there is any.
    pub(super) fn next(&self, now: Instant) -> Result<Search, Option<Instant>> {
        let mut inner = self.inner.lock();
        let not_before = inner.not_before;
        let mut first: Option<(Instant, &mut Topic)> = None;
        let topics = inner.topics.iter_mut();
        for topic in topics.filter(|topic| !topic.is_over && !topic.ahead.is_at_work()) {
            let at = topic.due_at(now);
            if first.as_ref().is_none_or(|(first, _)| at < *first) {
                first = Some((at, topic));
            }
        }
        let (at, topic) = first.ok_or(None)?;
        let at = not_before.map_or(at, |until| at.max(until));
        if at > now {
            return Err(Some(at));
        }
        Ok(Search {
            question: topic.question.clone(),
            work: topic.ahead.begin(now),
            began_at: now,
        })
    }

    /// Records that `search` is to begin a little later.
    pub(super) fn put_off(&self, search: &Search) {
        let mut inner = self.inner.lock();
        if let Some(topic) = inner.topic_of(search) {
            let now = Instant::now();
            topic.recheck_at = topic.recheck_at.max(topic.ahead.put_off(now));
        }
    }

    /// Records the `result` of `search`. Returns the connections to which it is news.
    pub(super) fn note(&self, search: Search, result: SearchResult) -> Vec<u64> {
        let now = Instant::now();
        let digest = self.digests.hash_one(&result.frame[..]);
        let cost = cost_until(now, search.began_at);
        let mut inner = self.inner.lock();
        // What took longer has not held up the others.
        let rest = cost.min(deputy::WAIT_MAX).saturating_mul(REST_FACTOR);
        inner.not_before = now.checked_add(rest);
        let waiting: usize = inner.topics.iter().map(Topic::waiting).sum();
        let Some(topic) = inner.topic_of(&search) else {
            return Vec::new();
        };
        topic.ahead.finish(search.work, now);
        topic.rest_on(result.dependencies, cost, now);
        topic.digest = digest;
        topic.is_over = !result.is_answer;
        topic.frame = None;
        let behind: Vec<u64> = topic.behind().map(|one| one.connection).collect();
        if !behind.is_empty() {
            let fits = waiting.saturating_add(result.frame.len()) <= WAITING_MAX;
            topic.is_over |= !fits;
            topic.frame = Some(Arc::new(match fits {
                true => result.frame,
                false => Response::Yourself("too much waits to be read".into()).to_frame(),
            }));
        }
        behind
    }
}

impl Inner {
    /// The topic that `search` is about.
    fn topic_of(&mut self, search: &Search) -> Option<&mut Topic> {
        let mut topics = self.topics.iter_mut();
        topics.find(|topic| topic.question == search.question && !topic.is_over)
    }

    fn len(&self) -> usize {
        let topics = self.topics.iter();
        topics.map(|topic| topic.subscribers.len()).sum()
    }
}

impl Topic {
    /// Records what the answer rests on, and that it took `cost` to find.
    fn rest_on(&mut self, dependencies: Dependencies, cost: Duration, now: Instant) {
        self.ahead.answered(dependencies.heard);
        let rest = match dependencies.is_fully_watched {
            true => RECHECK_INTERVAL,
            false => RECHECK_INTERVAL_UNWATCHED.max(cost.saturating_mul(UNWATCHED_REST_FACTOR)),
        };
        self.recheck_at = now.checked_add(rest).unwrap_or(now);
    }

    fn due_at(&mut self, now: Instant) -> Instant {
        self.ahead.keep_active(now);
        let heard = self.ahead.due_at(now);
        heard.map_or(self.recheck_at, |at| at.min(self.recheck_at))
    }

    /// Whether there is news for the subscriber.
    fn is_behind(&self, one: &Subscriber) -> bool {
        self.is_over || one.sent_digest != self.digest
    }

    fn behind(&self) -> impl Iterator<Item = &Subscriber> {
        let all = self.subscribers.values();
        all.filter(|one| self.is_behind(one))
    }

    fn news_for(&self, id: u64) -> Option<Arc<Vec<u8>>> {
        let one = self.subscribers.get(&id)?;
        self.frame.clone().filter(|_| self.is_behind(one))
    }

    /// The number of bytes that wait.
    fn waiting(&self) -> usize {
        self.frame.as_ref().map_or(0, |frame| frame.len())
    }
}

impl Subscription {
    /// Whether there is news to send.
    pub(super) fn has_news(&self) -> bool {
        self.with_topic(|topic, id| topic.news_for(id).is_some())
            .unwrap_or_default()
    }

    /// Takes the news to send, once.
    pub(super) fn take_news(&self) -> Option<News> {
        self.with_topic(|topic, id| {
            let frame = topic.news_for(id)?;
            if let Some(one) = topic.subscribers.get_mut(&id) {
                one.sent_digest = topic.digest;
            }
            if topic.behind().next().is_none() {
                topic.frame = None;
            }
            Some(News {
                frame,
                is_last: topic.is_over,
            })
        })?
    }

    fn with_topic<T>(&self, act: impl FnOnce(&mut Topic, u64) -> T) -> Option<T> {
        let mut inner = self.subscribers.inner.lock();
        let mut topics = inner.topics.iter_mut();
        let topic = topics.find(|topic| topic.subscribers.contains_key(&self.id))?;
        Some(act(topic, self.id))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut inner = self.subscribers.inner.lock();
        for topic in &mut inner.topics {
            topic.subscribers.remove(&self.id);
        }
        inner.topics.retain(|topic| !topic.subscribers.is_empty());
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription")
            .field("id", &self.id)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str) -> StatusQuestion {
        StatusQuestion {
            directory: format!("/{name}").into(),
            ..StatusQuestion::default()
        }
    }

    fn add(all: &Arc<Subscribers>, connection: u64, frame: &[u8]) -> Subscription {
        let added = all.add(connection, &question("a"), frame, Dependencies::default());
        added.unwrap()
    }

    /// Finds `frame` when it is time to look, and returns the connections to which it is news.
    fn find(all: &Subscribers, frame: &[u8], is_answer: bool) -> Vec<u64> {
        let mut now = Instant::now();
        let search = loop {
            match all.next(now) {
                Ok(search) => break search,
                Err(at) => now = at.unwrap(),
            }
        };
        all.note(search, found(frame, is_answer))
    }

    fn found(frame: &[u8], is_answer: bool) -> SearchResult {
        SearchResult {
            frame: frame.to_vec(),
            is_answer,
            dependencies: Dependencies::default(),
        }
    }

    fn told(one: &Subscription) -> Option<(Vec<u8>, bool)> {
        let had_news = one.has_news();
        let news = one.take_news();
        assert_eq!(had_news, news.is_some());
        news.map(|news| (news.frame.to_vec(), news.is_last))
    }

    #[test]
    fn each_is_told_of_what_is_news_to_it_once() {
        let all = Arc::new(Subscribers::default());
        let [one, two] = [1, 2].map(|connection| add(&all, connection, b"first"));
        assert!(find(&all, b"first", true).is_empty());
        assert_eq!((told(&one), told(&two)), (None, None));
        let mut both = find(&all, b"second", true);
        both.sort_unstable();
        assert_eq!(both, [1, 2]);
        assert_eq!(told(&one), Some((b"second".to_vec(), false)));
        assert_eq!(told(&one), None);
        // The other subscriber has not read yet, and the answer has changed back.
        assert_eq!(find(&all, b"first", true), [1]);
        assert_eq!(told(&two), None);
        assert_eq!(told(&one), Some((b"first".to_vec(), false)));
        assert!(all.inner.lock().topics[0].frame.is_none());
        drop((one, two));
        assert!(all.is_empty());
    }

    #[test]
    fn a_subscriber_with_another_answer_has_it_found_again() {
        let all = Arc::new(Subscribers::default());
        let one = add(&all, 1, b"old");
        let two = add(&all, 2, b"new");
        let search = all.next(Instant::now()).unwrap();
        // What is being found is not looked for by others.
        assert!(matches!(all.next(Instant::now()), Err(None)));
        assert_eq!(all.note(search, found(b"new", true)), [1]);
        assert_eq!(told(&one), Some((b"new".to_vec(), false)));
        assert_eq!(told(&two), None);
    }

    #[test]
    fn all_answers_are_found_again_at_once_if_asked() {
        let all = Arc::new(Subscribers::default());
        let _one = add(&all, 1, b"answer");
        assert!(matches!(all.next(Instant::now()), Err(Some(_))));
        all.recompute_all();
        assert!(all.next(Instant::now()).is_ok());
    }

    #[test]
    fn a_search_that_is_put_off_begins_a_little_later() {
        let all = Arc::new(Subscribers::default());
        let _one = add(&all, 1, b"answer");
        all.recompute_all();
        let began_at = Instant::now();
        let search = all.next(began_at).unwrap();
        all.put_off(&search);
        let Err(Some(at)) = all.next(began_at) else {
            panic!("it is not put off");
        };
        assert!(at > began_at);
        assert!(all.next(at).is_ok());
    }

    #[test]
    fn the_end_of_answers_is_sent_and_ends_a_subscription() {
        let all = Arc::new(Subscribers::default());
        let one = add(&all, 1, b"answer");
        assert_eq!(find(&all, b"yourself", false), [1]);
        assert_eq!(told(&one), Some((b"yourself".to_vec(), true)));
        assert!(matches!(all.next(Instant::now()), Err(None)));
        // A subscriber that comes then starts afresh.
        let _two = add(&all, 2, b"answer");
        assert!(matches!(all.next(Instant::now()), Err(Some(_))));
    }

    #[test]
    fn subscribers_and_their_unsent_answers_are_bounded() {
        let all = Arc::new(Subscribers::default());
        let mut many: Vec<Subscription> = (0..SUBSCRIBERS_MAX as u64)
            .map(|connection| add(&all, connection, b"answer"))
            .collect();
        let one_more = |all: &Arc<Subscribers>| {
            let more = all.add(99, &question("b"), b"answer", Dependencies::default());
            more.is_some()
        };
        assert!(!one_more(&all));
        many.pop();
        assert!(one_more(&all));
        let much = vec![0; WAITING_MAX + 1];
        assert_eq!(find(&all, &much, true).len(), SUBSCRIBERS_MAX - 1);
        let (frame, is_last) = told(&many[0]).unwrap();
        assert!(frame.len() < 100 && is_last);
    }
}
