//! All objects, read by several threads and written in order.
//!
//! Objects are given out in chunks, and of each chunk every thread has its share, in order. What a thread makes goes to
//! the writer in buffers, as many as there is room for; the writer knows whose each object is, and takes them one run
//! after the other. It only ever waits for a thread that has nothing waiting for it, so that nobody waits in a circle.
//!
//! What git says of an object that is damaged, or rests on one, depends on what it met before. From the first one on, one
//! thread tells the rest.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use rustix::io::IoSlice;
use vigil_linux::errno;
use vigil_objects::{self as object_store, Location, ObjectStore, PackOrder, Reader, Sorted};

use super::arguments::BatchArguments;
use super::failure::Failure;
use super::format::Format;
use super::output::{Account, Filled, Output, Piece, Sink};
use super::tell::Teller;
use crate::reply::Reply;

/// How many objects are given out at a time.
const CHUNK_LEN: usize = 256;
/// How many chunks are given out before the first of them is being written.
const CHUNKS_AHEAD: usize = 64;
/// How many buffers of a thread wait for being written.
const BUFFERS_WAITING: usize = 16;
/// How many parts are written at once.
const PARTS_MAX: usize = 512;
/// What the bases of deltas may take in all threads together, in bytes, unless that is configured.
const BASES_LEN_MAX: usize = 60 << 20;

/// An object, or why it cannot be named.
pub(super) type Item = Result<Location, object_store::Error>;

/// Where one thread goes on.
pub(super) struct Rest {
    /// How many objects were told.
    pub(super) objects: usize,
    /// How many bytes of the next one were written.
    pub(super) bytes: usize,
}

/// What may be used.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) threads: usize,
    /// Bytes for the bases of deltas, in all threads together, if that is configured.
    pub(super) bases_len_max: Option<usize>,
}

/// All objects in one of the two orders.
pub(super) enum Locations {
    Sorted(Sorted),
    Packs(PackOrder),
}

impl Iterator for Locations {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        match self {
            Self::Sorted(sorted) => sorted.next(),
            Self::Packs(packs) => packs.next(),
        }
    }
}

/// Objects of which some are to be read by a certain thread.
trait Shared: Iterator<Item = Item> {
    /// Which thread is to read the object that came last, if it matters.
    fn thread(&self) -> Option<usize>;
}

impl Shared for Locations {
    fn thread(&self) -> Option<usize> {
        match self {
            Self::Sorted(sorted) => sorted.thread(),
            Self::Packs(packs) => packs.thread(),
        }
    }
}

/// What there is to do, for all threads.
struct Queue<L> {
    state: Mutex<State<L>>,
    moved: Condvar,
}

struct State<L> {
    locations: L,
    /// What was given out to each thread and is not taken yet.
    shares: Vec<VecDeque<Vec<Item>>>,
    /// Whose the objects of each chunk are, for the writer.
    orders: VecDeque<Vec<usize>>,
    /// The number of chunks that were given out.
    given_out: usize,
    is_drained: bool,
    /// Nobody writes any more.
    is_closed: bool,
}

enum Taken {
    Share(Vec<Item>),
    /// There is more once something was written.
    Later,
    Nothing,
}

impl<L: Shared> State<L> {
    fn give_out(&mut self) {
        let threads = self.shares.len();
        let mut order = Vec::with_capacity(CHUNK_LEN);
        let mut shares: Vec<Vec<Item>> = (0..threads).map(|_| Vec::new()).collect();
        while order.len() < CHUNK_LEN
            && let Some(item) = self.locations.next()
        {
            let thread = self.locations.thread().unwrap_or(self.given_out) % threads.max(1);
            order.push(thread);
            if let Some(share) = shares.get_mut(thread) {
                share.push(item);
            }
        }
        if order.is_empty() {
            self.is_drained = true;
            return;
        }
        for (all, share) in self.shares.iter_mut().zip(shares) {
            if !share.is_empty() {
                all.push_back(share);
            }
        }
        self.orders.push_back(order);
        self.given_out += 1;
    }
}

impl<L: Shared> Queue<L> {
    /// What `locations` has, for so many threads.
    fn new(locations: L, threads: usize) -> Self {
        Self {
            state: Mutex::new(State {
                locations,
                shares: (0..threads).map(|_| VecDeque::new()).collect(),
                orders: VecDeque::new(),
                given_out: 0,
                is_drained: false,
                is_closed: false,
            }),
            moved: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State<L>>) -> MutexGuard<'a, State<L>> {
        let waited = self.moved.wait(state);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// What the thread is to do next.
    fn take(&self, thread: usize) -> Taken {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return Taken::Nothing;
            }
            if let Some(share) = state.shares.get_mut(thread).and_then(VecDeque::pop_front) {
                return Taken::Share(share);
            }
            if state.is_drained {
                return Taken::Nothing;
            }
            if state.orders.len() >= CHUNKS_AHEAD {
                return Taken::Later;
            }
            state.give_out();
            self.moved.notify_all();
        }
    }

    /// Waits until a chunk can be given out, or the thread has a share of one that another thread gave out: the writer may
    /// wait for just that.
    fn wait_for_work(&self, thread: usize) {
        let mut state = self.lock();
        while !state.is_closed
            && !state.is_drained
            && state.orders.len() >= CHUNKS_AHEAD
            && state.shares.get(thread).is_none_or(VecDeque::is_empty)
        {
            state = self.wait(state);
        }
    }

    /// Whose the objects of the next chunk are, if that is known without waiting.
    fn next_order(&self) -> Option<Vec<usize>> {
        let order = self.lock().orders.pop_front();
        self.moved.notify_all();
        order
    }

    /// Waits for a chunk. There is none if all was given out.
    fn wait_for_order(&self) -> Option<Vec<usize>> {
        let mut state = self.lock();
        while state.orders.is_empty() && !state.is_drained {
            state = self.wait(state);
        }
        let order = state.orders.pop_front();
        self.moved.notify_all();
        order
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.moved.notify_all();
    }
}

/// Prints the objects, each as `tell` does, with so many threads. What is left where something is damaged is to be told by
/// one, in order.
///
/// # Errors
/// Why git ends, after what is to be said was.
pub(super) fn print(
    arguments: &BatchArguments,
    format: &Format,
    store: &Arc<ObjectStore>,
    locations: Locations,
    bounds: Bounds,
    account: &Account,
    tell: impl Fn(&mut Teller<'_>, Item) -> Result<(), Failure> + Sync,
) -> Result<Option<Rest>, Failure> {
    let threads = bounds.threads.max(1);
    let bases_len_max = bounds.bases_len_max.unwrap_or(BASES_LEN_MAX) / threads;
    let queue = Queue::new(locations, threads);
    std::thread::scope(|scope| {
        let mut streams = Vec::new();
        for thread in 0..threads {
            let (to, from) = sync_channel(BUFFERS_WAITING);
            let (back, empty) = sync_channel(BUFFERS_WAITING);
            streams.push(Stream::new(from, back));
            let (queue, tell) = (&queue, &tell);
            let work = move || {
                let mut reader = Reader::new(store);
                reader.follow_plans(bases_len_max);
                reader.limit_bases(bases_len_max);
                let sink = Sink::Thread {
                    to: to.clone(),
                    empty,
                };
                let teller = Teller {
                    arguments,
                    format,
                    reader,
                    output: Output::new(sink, account),
                    rewriter: None,
                    use_mailmap: false,
                    is_one_of_many: true,
                };
                work(thread, queue, teller, &to, tell);
            };
            if let Err(error) = Builder::new().spawn_scoped(scope, work) {
                queue.close();
                let reason = errno::text_of(&error);
                return Err(Reply::fatal(format!("unable to create a thread: {reason}")).into());
            }
        }
        let mut writer = Writer {
            streams,
            parts: Vec::new(),
            account,
            objects: 0,
            bytes: 0,
        };
        let result = writer.write(&queue);
        // Whoever waits is told that there is nobody.
        queue.close();
        match result {
            Err(Failure::Damaged) => Ok(Some(Rest {
                objects: writer.objects,
                bytes: writer.bytes,
            })),
            result => result.map(|()| None),
        }
    })
}

/// Tells objects until there are no more, or one ends it all.
fn work(
    thread: usize,
    queue: &Queue<impl Shared>,
    mut teller: Teller<'_>,
    to: &SyncSender<Piece>,
    tell: impl Fn(&mut Teller<'_>, Item) -> Result<(), Failure>,
) {
    let mut work = || {
        loop {
            let share = match queue.take(thread) {
                Taken::Share(share) => share,
                Taken::Later => {
                    // What is written may be what is waited for.
                    teller.output.flush()?;
                    queue.wait_for_work(thread);
                    continue;
                }
                Taken::Nothing => return teller.output.flush(),
            };
            for item in share {
                let told = tell(&mut teller, item);
                if told.is_err() {
                    if matches!(told, Err(Failure::Damaged)) {
                        teller.output.drop_part();
                    }
                    teller.output.flush()?;
                    return told;
                }
                teller.output.end_object();
                teller.output.flush_if_full()?;
            }
        }
    };
    if let Err(failure) = work() {
        // Nobody wants to know where the writer has ended.
        let _ = to.send(Piece::Failed(failure, teller.output.sent));
    }
}

/// What comes from one thread.
struct Stream {
    from: Receiver<Piece>,
    back: SyncSender<Vec<u8>>,
    filled: Filled,
    /// How much of it was taken.
    taken: usize,
    /// How many of the objects that end in it were.
    ended: usize,
}

impl Stream {
    fn new(from: Receiver<Piece>, back: SyncSender<Vec<u8>>) -> Self {
        Self {
            from,
            back,
            filled: Filled::default(),
            taken: 0,
            ended: 0,
        }
    }

    /// Takes at most `count` objects. Gives back how many of them are left, which continue in the next buffer.
    fn take(&mut self, count: usize) -> (Range<usize>, usize) {
        let ends = self.filled.ends.get(self.ended..).unwrap_or_default();
        let (end, left) = match count.checked_sub(1).and_then(|last| ends.get(last)) {
            Some(&end) => (end, 0),
            None => (self.filled.bytes.len(), count - ends.len()),
        };
        self.ended += count - left;
        let taken = self.taken..end;
        self.taken = end;
        (taken, left)
    }

    /// Waits for the next buffer; `sent` becomes how much was sent of an answer that failed. There is none if the thread is no more.
    fn advance(&mut self, sent: &mut usize) -> Result<bool, Failure> {
        match self.from.recv() {
            Ok(Piece::Filled(filled)) => {
                let mut empty = std::mem::replace(&mut self.filled, filled).bytes;
                empty.clear();
                // If it is not wanted, it is freed.
                let _ = self.back.try_send(empty);
                (self.taken, self.ended) = (0, 0);
                Ok(true)
            }
            Ok(Piece::Failed(failure, bytes)) => {
                *sent = bytes;
                Err(failure)
            }
            Err(_) => Ok(false),
        }
    }
}

/// Writes what the threads make.
struct Writer<'a> {
    account: &'a Account,
    streams: Vec<Stream>,
    /// What is to be written next: parts of the buffers that the streams have.
    parts: Vec<(usize, Range<usize>)>,
    /// How many objects were taken as a whole, and how many bytes of the next one when it failed.
    objects: usize,
    bytes: usize,
}

impl Writer<'_> {
    fn write(&mut self, queue: &Queue<impl Shared>) -> Result<(), Failure> {
        loop {
            let order = match queue.next_order() {
                Some(order) => order,
                None => {
                    self.flush()?;
                    match queue.wait_for_order() {
                        Some(order) => order,
                        None => return Ok(()),
                    }
                }
            };
            for run in order.chunk_by(|one, other| one == other) {
                let Some(&thread) = run.first() else {
                    continue;
                };
                if !self.take(thread, run.len())? {
                    return self.flush();
                }
            }
        }
    }

    /// Takes so many objects from a thread; whether it is still there.
    fn take(&mut self, thread: usize, count: usize) -> Result<bool, Failure> {
        let mut left = count;
        loop {
            let Some(stream) = self.streams.get_mut(thread) else {
                return Ok(false);
            };
            let (part, rest) = stream.take(left);
            self.objects += left - rest;
            if !part.is_empty() {
                self.parts.push((thread, part));
            }
            if rest == 0 {
                if self.parts.len() >= PARTS_MAX {
                    self.flush()?;
                }
                return Ok(true);
            }
            left = rest;
            self.flush()?;
            if let Some(stream) = self.streams.get_mut(thread)
                && !stream.advance(&mut self.bytes)?
            {
                return Ok(false);
            }
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let part = |(thread, range): (usize, Range<usize>)| {
            let bytes = &self.streams.get(thread)?.filled.bytes;
            Some(IoSlice::new(bytes.get(range)?))
        };
        let mut parts: Vec<IoSlice<'_>> = self.parts.drain(..).filter_map(part).collect();
        self.account.write_all(&mut parts)
    }
}

#[cfg(test)]
mod tests {
    use vigil_objects::Reason;

    use super::*;

    /// Objects that fall to two threads in turn.
    struct InTurn(usize);

    impl Iterator for InTurn {
        type Item = Item;

        fn next(&mut self) -> Option<Item> {
            self.0 += 1;
            Some(Err(object_store::Error {
                said: Vec::new(),
                reason: Reason::InvalidType,
            }))
        }
    }

    impl Shared for InTurn {
        fn thread(&self) -> Option<usize> {
            Some(self.0 % 2)
        }
    }

    #[test]
    fn a_thread_with_a_share_does_not_wait_for_room() {
        let queue = Queue::new(InTurn(0), 2);
        for _ in 0..CHUNKS_AHEAD {
            assert!(matches!(queue.take(1), Taken::Share(_)));
        }
        assert!(matches!(queue.take(1), Taken::Later));
        // There is no room, and nobody writes: this would not end.
        queue.wait_for_work(0);
        for _ in 0..CHUNKS_AHEAD {
            assert!(matches!(queue.take(0), Taken::Share(_)));
        }
        assert!(matches!(queue.take(0), Taken::Later));
        // Whoever has neither waits until the writer went on.
        std::thread::scope(|scope| {
            scope.spawn(|| queue.wait_for_work(0));
            assert!(queue.next_order().is_some());
        });
        assert!(matches!(queue.take(0), Taken::Share(_)));
    }
}
