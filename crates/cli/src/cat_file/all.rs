//! All objects there are (`--batch-all-objects`): read by several threads, and written in order.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use vigil_engine::object_store::{self, Location, ObjectStore, Reader};
use vigil_model::ObjectId;

use super::arguments::{Batch, BatchArguments};
use super::failure::Failure;
use super::format::Format;
use super::output::{Output, Sink, write_all};
use super::say;
use super::tell::{Asked, Teller, What};

/// How many objects a thread takes at a time.
const CHUNK_LEN: usize = 256;
/// How many buffers of a chunk wait for being written.
const BUFFERS_WAITING: usize = 24;
/// How many chunks wait for being written.
const PIECES_WAITING: usize = 8;
/// What the bases of deltas may take in each thread, in bytes: all threads together use little more than git does.
const BASES_LEN_MAX: usize = 72 << 20;

/// What a thread made of a chunk.
struct Piece {
    buffers: Receiver<Vec<u8>>,
    end: Receiver<Result<(), Failure>>,
}

type Locations = Box<dyn Iterator<Item = Result<Location, object_store::Error>> + Send>;

/// Prints all objects of `store`.
///
/// # Errors
/// Why git ends, after what is to be said was.
pub(super) fn print(
    arguments: &BatchArguments,
    format: &Format,
    store: &Arc<ObjectStore>,
    mut teller: Teller<'_>,
    threads: usize,
) -> Result<(), Failure> {
    let mut said = Vec::new();
    let locations: Result<Locations, _> = match arguments.unordered {
        true => store
            .pack_order(&mut said)
            .map(|all| Box::new(all) as Locations),
        false => store
            .sorted(&mut said)
            .map(|all| Box::new(all) as Locations),
    };
    say(&said);
    let Some(locations) = teller.heard(locations)? else {
        return Ok(());
    };
    // Only one thread knows how to rewrite contents.
    match teller.use_mailmap || arguments.transform.is_some() {
        true => tell(&mut teller, locations),
        false => in_threads(arguments, format, store, locations, threads),
    }
}

fn what(arguments: &BatchArguments) -> What {
    match arguments.batch {
        Batch::Contents => What::Contents,
        Batch::Info | Batch::Commands => What::Info,
    }
}

fn asked<'a>(id: ObjectId) -> Asked<'a> {
    Asked {
        id,
        name: None,
        mode: None,
        rest: None,
    }
}

/// The objects, and where the pieces go that are made of them: both in order.
struct Queue {
    locations: Locations,
    /// `None` once there are no more.
    pieces: Option<SyncSender<Piece>>,
}

fn in_threads(
    arguments: &BatchArguments,
    format: &Format,
    store: &Arc<ObjectStore>,
    locations: Locations,
    threads: usize,
) -> Result<(), Failure> {
    let threads = threads.max(1);
    let (pieces, received) = sync_channel(PIECES_WAITING);
    let queue = Mutex::new(Queue {
        locations,
        pieces: Some(pieces),
    });
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let mut reader = Reader::new(store);
            reader.limit_bases(BASES_LEN_MAX);
            let queue = &queue;
            scope.spawn(move || work(arguments, format, reader, queue));
        }
        let result = write(&received);
        // Whoever waits for room is told that there is nobody.
        drop(received);
        result
    })
}

fn write(pieces: &Receiver<Piece>) -> Result<(), Failure> {
    for piece in pieces {
        for buffer in &piece.buffers {
            write_all(&buffer, b"")?;
        }
        if let Ok(end) = piece.end.recv() {
            end?;
        }
    }
    Ok(())
}

/// Takes chunks until there are no more.
fn work(arguments: &BatchArguments, format: &Format, mut reader: Reader, queue: &Mutex<Queue>) {
    let mut chunk = Vec::with_capacity(CHUNK_LEN);
    loop {
        chunk.clear();
        let (sender, buffers) = sync_channel(BUFFERS_WAITING);
        let (end_sender, end) = sync_channel(1);
        {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            chunk.extend(queue.locations.by_ref().take(CHUNK_LEN));
            if chunk.is_empty() {
                // The writer is told that it has all.
                queue.pieces = None;
            }
            let sent = queue
                .pieces
                .as_ref()
                .map(|to| to.send(Piece { buffers, end }));
            if !matches!(sent, Some(Ok(()))) {
                return;
            }
        }
        let mut teller = Teller {
            arguments,
            format,
            reader,
            output: Output::new(Sink::Thread(sender)),
            rewriter: None,
            use_mailmap: false,
        };
        let result = tell(&mut teller, chunk.drain(..));
        reader = teller.reader;
        drop(teller.output);
        // Nobody wants to know where the writer has ended.
        let _ = end_sender.send(result);
    }
}

/// Prints objects, as far as git does.
fn tell(
    teller: &mut Teller<'_>,
    locations: impl Iterator<Item = Result<Location, object_store::Error>>,
) -> Result<(), Failure> {
    let what = what(teller.arguments);
    let mut result = Ok(());
    for location in locations {
        result = match teller.heard(location) {
            Ok(Some(location)) => {
                teller.object(asked(location.id().to_owned()), Some(location), what)
            }
            Ok(None) => Ok(()),
            Err(failure) => Err(failure),
        };
        if result.is_err() {
            break;
        }
        teller.output.flush_if_full()?;
    }
    teller.output.flush()?;
    result
}
