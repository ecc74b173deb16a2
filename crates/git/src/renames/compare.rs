//! Reads contents and compares them, on several threads.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::similarity::{self, Counter, Layout, Spans};
use super::{BlobSource, Error, File};
use crate::staged::SourceError;
use vigil_objects::parallel::spawn_or_run;

/// The memory for counted spans, in bytes. Beyond it, spans are counted again at each use.
const SPANS_MEMORY_MAX: usize = 256 << 20;

/// Does `work` on each of `items` with up to `threads` threads, each with its own scratch memory. The results are in the
/// order of the items; so of several errors, the first is returned.
pub(super) fn in_order<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T, &mut Scratch) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut scratch = Scratch::new();
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            let result = work(item, &mut scratch);
            if result.is_err() {
                // Earlier items are already in work, and later ones no longer matter.
                next.store(items.len(), Ordering::Relaxed);
            }
            done.push((at, result));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| spawn_or_run(scope, worker)).collect();
        let mut done = worker();
        for other in others {
            done.extend(other.join());
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The working memory of one thread.
pub(super) struct Scratch {
    counter: Counter,
    layout: Layout,
    /// The number of the target whose spans are laid out.
    laid_out: Option<usize>,
}

impl Scratch {
    pub(super) fn new() -> Self {
        Self {
            counter: Counter::new(),
            layout: Layout::new(),
            laid_out: None,
        }
    }
}

/// Reads and compares contents.
pub(super) struct Comparer<'a> {
    pub(super) blobs: &'a dyn BlobSource,
    /// The memory of all kept spans, in bytes.
    spans_memory: AtomicUsize,
}

impl<'a> Comparer<'a> {
    pub(super) fn new(blobs: &'a dyn BlobSource) -> Self {
        Self {
            blobs,
            spans_memory: AtomicUsize::new(0),
        }
    }

    /// Returns how similar `source` is to the target with number `target_number`, if that may reach `min_score`; else
    /// any score below it.
    pub(super) fn similarity(
        &self,
        source: &File<'_>,
        target_number: usize,
        target: &File<'_>,
        min_score: u32,
        scratch: &mut Scratch,
    ) -> Result<u32, Error> {
        if !source.mode.is_file() || !target.mode.is_file() {
            return Ok(0);
        }
        let (a, b) = (self.size(source)?, self.size(target)?);
        if b == 0 || similarity::sizes_differ_too_much(a, b, min_score) {
            return Ok(0);
        }
        let source = self.spans(source, &mut scratch.counter)?;
        if scratch.laid_out != Some(target_number) {
            let target = self.spans(target, &mut scratch.counter)?;
            scratch.layout.lay_out(&target);
            scratch.laid_out = Some(target_number);
        }
        Ok(similarity::score(scratch.layout.common(&source), a, b))
    }

    /// Reads the contents of `file`, which will probably be compared. Otherwise its size would be asked for first, which
    /// for a loose object costs as much as reading it. Missing contents are an error only when they are compared.
    pub(super) fn read_ahead(&self, file: &File<'_>, scratch: &mut Scratch) {
        if file.mode.is_file() {
            let _ = self.spans(file, &mut scratch.counter);
        }
    }

    fn size(&self, file: &File<'_>) -> Result<u64, Error> {
        if let Some(size) = file.size.get() {
            return Ok(*size);
        }
        let size = self.blobs.size(&file.blob);
        let size = size.map_err(|source| unreadable(file, source))?;
        Ok(*file.size.get_or_init(|| size))
    }

    fn spans<'f>(
        &self,
        file: &'f File<'_>,
        counter: &mut Counter,
    ) -> Result<Cow<'f, Spans>, Error> {
        if let Some(spans) = file.spans.get() {
            return Ok(Cow::Borrowed(spans));
        }
        let mut data = Vec::new();
        let read = self.blobs.blob(&file.blob, &mut data);
        read.map_err(|source| unreadable(file, source))?;
        let is_binary = self.blobs.is_binary(file.blob.path);
        let is_binary = is_binary.unwrap_or_else(|| similarity::looks_binary(&data));
        let spans = counter.count(&data, is_binary);
        file.size.get_or_init(|| data.len() as u64);
        let memory = spans.memory();
        let before = self.spans_memory.fetch_add(memory, Ordering::Relaxed);
        if before.saturating_add(memory) > SPANS_MEMORY_MAX {
            self.spans_memory.fetch_sub(memory, Ordering::Relaxed);
            return Ok(Cow::Owned(spans));
        }
        Ok(Cow::Borrowed(file.spans.get_or_init(|| spans)))
    }
}

fn unreadable(file: &File<'_>, source: SourceError) -> Error {
    Error::Unreadable {
        id: file.blob.id.into(),
        source,
    }
}
