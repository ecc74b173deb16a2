//! Limits on questions that wait for an answer, so that a directory that hangs leaves threads for the others.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// The number of questions about one directory that may always be open at a time.
const GUARANTEED_PER_DIRECTORY: usize = 8;

/// The number of open questions about all directories up to which one directory may have more of them: it may be on a disk that
/// hangs, and each question takes a thread.
const SHARED_MAX: usize = 32;

/// The number of open questions for each directory.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions(Mutex<HashMap<PathBuf, usize>>);

impl OpenQuestions {
    /// Counts a question about `directory` until the returned value is dropped. `None` if too many are open already.
    pub(crate) fn begin(&self, directory: &Path) -> Option<OpenQuestion<'_>> {
        let mut counts = self.0.lock();
        let all: usize = counts.values().sum();
        let count = counts.entry(directory.to_owned()).or_default();
        if *count >= GUARANTEED_PER_DIRECTORY && all >= SHARED_MAX {
            return None;
        }
        *count = count.saturating_add(1);
        Some(OpenQuestion {
            among: self,
            directory: directory.to_owned(),
        })
    }
}

/// A question that has not been answered yet.
#[derive(Debug)]
pub(crate) struct OpenQuestion<'a> {
    among: &'a OpenQuestions,
    directory: PathBuf,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let mut counts = self.among.0.lock();
        if let Some(count) = counts.get_mut(&self.directory) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.directory);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_directory_may_have_many_waiting_and_leaves_room_for_others() {
        let waiting = OpenQuestions::default();
        let begin = |directory: &str| waiting.begin(Path::new(directory));
        let many: Vec<_> = (0..).map_while(|_| begin("/slow")).collect();
        assert_eq!(many.len(), SHARED_MAX);
        let few: Vec<_> = (0..).map_while(|_| begin("/other")).collect();
        assert_eq!(few.len(), GUARANTEED_PER_DIRECTORY);
        drop(many);
        let more: Vec<_> = (0..).map_while(|_| begin("/other")).collect();
        assert_eq!(more.len(), SHARED_MAX - GUARANTEED_PER_DIRECTORY);
        drop((few, more));
        assert!(waiting.0.lock().is_empty());
    }
}
