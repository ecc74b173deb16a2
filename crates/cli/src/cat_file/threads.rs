//! All objects, read by several threads and written in order.
//!
//! Objects are distributed in chunks. Each thread has a share of each chunk, in order, and sends its answers to the writer in
//! buffers, over a bounded channel. The writer knows which thread has each object, and takes one run of objects after the
//! other. It waits only for a thread that has nothing queued for it, so there is no deadlock.
//!
//! What git prints for an object that is damaged, or builds on a damaged one, depends on what it read before. From the first
//! such object on, a single thread prints the rest.

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

/// How many objects make a chunk.
const CHUNK_LEN: usize = 256;
/// How many chunks may be distributed before the first of them is being written.
const CHUNKS_AHEAD: usize = 64;
/// How many buffers of one thread may wait for the writer.
const BUFFERS_WAITING: usize = 16;
/// How many parts go into one write.
const PARTS_MAX: usize = 512;
/// The default memory for bases of deltas in all threads together, in bytes.
const BASES_LEN_MAX: usize = 60 << 20;

/// An object, or why it cannot be named.
pub(super) type Item = Result<Location, object_store::Error>;

/// Where a single thread takes over.
pub(super) struct Rest {
    /// How many objects were printed.
    pub(super) objects: usize,
    /// How many bytes of the next one were written.
    pub(super) bytes: usize,
}

/// Resource limits.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) threads: usize,
    /// Memory for bases of deltas in all threads together, in bytes, if configured.
    pub(super) bases_len_max: Option<usize>,
}

/// All objects, in one of two orders.
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

/// A sequence of objects, some of which a particular thread should read.
trait Shared: Iterator<Item = Item> {
    /// The thread that should read the last object returned, if it matters.
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

/// The work, shared by all threads.
struct Queue<L> {
    state: Mutex<State<L>>,
    moved: Condvar,
}

struct State<L> {
    locations: L,
    /// What was distributed to each thread and not yet taken.
    shares: Vec<VecDeque<Vec<Item>>>,
    /// The thread of each object, for each chunk not yet taken by the writer.
    orders: VecDeque<Vec<usize>>,
    /// The number of chunks distributed.
    given_out: usize,
    is_drained: bool,
    /// The writer has ended.
    is_closed: bool,
}

enum Taken {
    Share(Vec<Item>),
    /// More becomes available once something was written.
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
    /// A queue of `locations` for this many threads.
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

    /// Returns what the thread should do next.
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

    /// Waits until a chunk can be distributed, or the thread has a share of a chunk that another thread distributed: that may be
    /// the very share the writer waits for.
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

    /// The thread of each object of the next chunk, if known without waiting.
    fn next_order(&self) -> Option<Vec<usize>> {
        let order = self.lock().orders.pop_front();
        self.moved.notify_all();
        order
    }

    /// Waits for the next chunk; `None` if all chunks were taken.
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

/// Prints the objects with several threads, each object by `tell`. If something is damaged, returns what is left for a single
/// thread to print in order.
///
/// # Errors
/// The failure with which git exits. All messages before it have been written.
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
        // Wake the waiting threads: nobody writes any more.
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

/// Prints objects until there are no more or one fails.
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
                    // The writer may be waiting for what is still in this buffer.
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
        // If the writer has ended, nobody needs this.
        let _ = to.send(Piece::Failed(failure, teller.output.sent));
    }
}

/// The output of one thread, as the writer sees it.
struct Stream {
    from: Receiver<Piece>,
    back: SyncSender<Vec<u8>>,
    filled: Filled,
    /// How many bytes of the buffer were taken.
    taken: usize,
    /// How many of the answers that end in the buffer were taken.
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

    /// Takes at most `count` objects. Returns their bytes, and how many objects are left for the next buffer.
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

    /// Waits for the next buffer; `false` if the thread has ended. After a failure `sent` counts the bytes sent of that answer.
    fn advance(&mut self, sent: &mut usize) -> Result<bool, Failure> {
        match self.from.recv() {
            Ok(Piece::Filled(filled)) => {
                let mut empty = std::mem::replace(&mut self.filled, filled).bytes;
                empty.clear();
                // A buffer for which there is no room is freed.
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

/// Writes the output of the threads.
struct Writer<'a> {
    account: &'a Account,
    streams: Vec<Stream>,
    /// What to write next: ranges of the streams' current buffers.
    parts: Vec<(usize, Range<usize>)>,
    /// How many objects were taken whole, and how many bytes of the next one when it failed.
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

    /// Takes `count` objects from a thread; `false` if the thread has ended.
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

    /// Objects that go to two threads in turn.
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
        // Nothing more can be distributed, and nobody writes: had the thread no share, this would hang.
        queue.wait_for_work(0);
        for _ in 0..CHUNKS_AHEAD {
            assert!(matches!(queue.take(0), Taken::Share(_)));
        }
        assert!(matches!(queue.take(0), Taken::Later));
        // A thread without a share waits until the writer takes a chunk.
        std::thread::scope(|scope| {
            scope.spawn(|| queue.wait_for_work(0));
            assert!(queue.next_order().is_some());
        });
        assert!(matches!(queue.take(0), Taken::Share(_)));
    }
}
