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
use vigil_objects::{self as object_store, Location, ObjectReader, ObjectStore, PackOrder, Sorted};

use super::arguments::BatchArguments;
use super::failure::Failure;
use super::format::Format;
use super::object_printer::ObjectPrinter;
use super::output::{CutGuard, Filled, Output, Piece, Sink};

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
pub(super) struct Remainder {
    /// How many objects were printed.
    pub(super) objects: usize,
    /// How many bytes of the next one were written.
    pub(super) bytes: usize,
}

/// Resource limits.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) threads: usize,
    /// Memory for bases of deltas in all threads together, in bytes, if configured.
    pub(super) bases_len_max: Option<usize>,
}

/// All objects, in one of two orders.
#[derive(Clone)]
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
    state: Mutex<QueueState<L>>,
    changed: Condvar,
}

struct QueueState<L> {
    locations: L,
    /// What was distributed to each thread and not yet taken.
    shares: Vec<VecDeque<Vec<Item>>>,
    /// The thread of each object, for each chunk not yet taken by the writer.
    thread_of_each: VecDeque<Vec<usize>>,
    /// The number of chunks distributed.
    distributed: usize,
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

impl<L: Shared> QueueState<L> {
    fn distribute(&mut self) {
        let threads = self.shares.len();
        let mut order = Vec::with_capacity(CHUNK_LEN);
        let mut shares: Vec<Vec<Item>> = (0..threads).map(|_| Vec::new()).collect();
        while order.len() < CHUNK_LEN
            && let Some(item) = self.locations.next()
        {
            let thread = self.locations.thread().unwrap_or(self.distributed) % threads.max(1);
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
        self.thread_of_each.push_back(order);
        self.distributed += 1;
    }
}

impl<L: Shared> Queue<L> {
    /// A queue of `locations` for this many threads.
    fn new(locations: L, threads: usize) -> Self {
        Self {
            state: Mutex::new(QueueState {
                locations,
                shares: (0..threads).map(|_| VecDeque::new()).collect(),
                thread_of_each: VecDeque::new(),
                distributed: 0,
                is_drained: false,
                is_closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, QueueState<L>>) -> MutexGuard<'a, QueueState<L>> {
        let waited = self.changed.wait(state);
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
            if state.thread_of_each.len() >= CHUNKS_AHEAD {
                return Taken::Later;
            }
            state.distribute();
            self.changed.notify_all();
        }
    }

    /// Waits until a chunk can be distributed, or the thread has a share of a chunk that another thread distributed: that may be
    /// the very share the writer waits for.
    fn wait_for_work(&self, thread: usize) {
        let mut state = self.lock();
        while !state.is_closed
            && !state.is_drained
            && state.thread_of_each.len() >= CHUNKS_AHEAD
            && state.shares.get(thread).is_none_or(VecDeque::is_empty)
        {
            state = self.wait(state);
        }
    }

    /// The thread of each object of the next chunk, if known without waiting.
    fn next_order(&self) -> Option<Vec<usize>> {
        let order = self.lock().thread_of_each.pop_front();
        self.changed.notify_all();
        order
    }

    /// Waits for the next chunk; `None` if all chunks were taken.
    fn wait_for_order(&self) -> Option<Vec<usize>> {
        let mut state = self.lock();
        while state.thread_of_each.is_empty() && !state.is_drained {
            state = self.wait(state);
        }
        let order = state.thread_of_each.pop_front();
        self.changed.notify_all();
        order
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }
}

/// Prints the objects with several threads, each object by `print_item`. If something is damaged, or there may not be so many
/// threads, returns what is left for a single thread to print in order.
///
/// # Errors
/// The failure with which git exits. All messages before it have been written.
pub(super) fn print(
    arguments: &BatchArguments,
    format: &Format,
    store: &Arc<ObjectStore>,
    locations: Locations,
    limits: Limits,
    cut_guard: &CutGuard,
    print_item: impl Fn(&mut ObjectPrinter<'_>, Item) -> Result<(), Failure> + Sync,
) -> Result<Option<Remainder>, Failure> {
    let threads = limits.threads.max(1);
    let bases_len_max = limits.bases_len_max.unwrap_or(BASES_LEN_MAX) / threads;
    let queue = Queue::new(locations, threads);
    std::thread::scope(|scope| {
        let mut streams = Vec::new();
        for thread in 0..threads {
            let (to, from) = sync_channel(BUFFERS_WAITING);
            let (back, empty) = sync_channel(BUFFERS_WAITING);
            streams.push(Stream::new(from, back));
            let (queue, print_item) = (&queue, &print_item);
            let work = move || {
                let mut reader = ObjectReader::new(store);
                reader.follow_plans(bases_len_max);
                reader.limit_bases(bases_len_max);
                let sink = Sink::Thread {
                    to: to.clone(),
                    empty,
                };
                let printer = ObjectPrinter {
                    arguments,
                    format,
                    reader,
                    output: Output::new(sink, cut_guard),
                    rewriter: None,
                    use_mailmap: false,
                    is_one_of_many: true,
                };
                work(thread, queue, printer, &to, print_item);
            };
            if Builder::new().spawn_scoped(scope, work).is_err() {
                // Nothing has been written yet.
                queue.close();
                return Ok(Some(Remainder {
                    objects: 0,
                    bytes: 0,
                }));
            }
        }
        let mut writer = Writer {
            streams,
            parts: Vec::new(),
            cut_guard,
            objects: 0,
            bytes: 0,
        };
        let result = writer.write(&queue);
        // Wake the waiting threads: nobody writes any more.
        queue.close();
        match result {
            Err(Failure::Damaged) => Ok(Some(Remainder {
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
    mut printer: ObjectPrinter<'_>,
    to: &SyncSender<Piece>,
    print_item: impl Fn(&mut ObjectPrinter<'_>, Item) -> Result<(), Failure>,
) {
    let mut work = || {
        loop {
            let share = match queue.take(thread) {
                Taken::Share(share) => share,
                Taken::Later => {
                    // The writer may be waiting for what is still in this buffer.
                    printer.output.flush()?;
                    queue.wait_for_work(thread);
                    continue;
                }
                Taken::Nothing => return printer.output.flush(),
            };
            for item in share {
                let printed = print_item(&mut printer, item);
                if printed.is_err() {
                    if matches!(printed, Err(Failure::Damaged)) {
                        printer.output.drop_part();
                    }
                    printer.output.flush()?;
                    return printed;
                }
                printer.output.end_object();
                printer.output.flush_if_full()?;
            }
        }
    };
    if let Err(failure) = work() {
        // If the writer has ended, nobody needs this.
        let _ = to.send(Piece::Failed(failure, printer.output.sent_of_partial));
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
    cut_guard: &'a CutGuard,
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
        self.cut_guard.write_all(&mut parts)
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
                messages: Vec::new(),
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
