//! A cache of compiled ignore patterns, valid as long as their files are unchanged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vigil_hg::patterns::{Ignore, LoadedIgnore};
use vigil_model::timestamp::Timestamp;
use vigil_stamp::SeenFile;
use vigil_stamp::stamp::Stamp;

/// The patterns of the last question.
#[derive(Default)]
pub(super) struct KnownPatterns {
    valid: Option<ValidPatterns>,
    last: Option<LastFiles>,
}

struct ValidPatterns {
    files: Vec<PathBuf>,
    seen: Vec<SeenFile>,
    read_at: Timestamp,
    read: Arc<LoadedIgnore>,
}

/// The files that were last asked for, and all that were read then.
struct LastFiles {
    files: Vec<PathBuf>,
    with_included: Vec<PathBuf>,
}

impl KnownPatterns {
    /// Returns the patterns in `files`, for the working copy at `root`.
    pub(super) fn read(&mut self, root: &Path, files: &[PathBuf]) -> Arc<LoadedIgnore> {
        if let Some(known) = &self.valid
            && known.files == files
            && known.seen.iter().all(|seen| seen.is_current(known.read_at))
            && let Ok(ignore) = &known.read.ignore
            && ignore.has_same_directories(root)
        {
            return known.read.clone();
        }
        // Files are cached only if they were looked at before they were read. Which ones are included is known from the last time.
        let last = self.last.take().filter(|last| last.files == files);
        let expected = last.map_or_else(|| files.to_vec(), |last| last.with_included);
        let read_at = vigil_stamp::now();
        let before = observe(&expected);
        let read = Arc::new(Ignore::read(root, files));
        let is_whole = read.ignore.as_ref().is_ok_and(|ignore| ignore.is_whole());
        // A file that could not be read may be readable the next time, and look the same.
        let seen = before.filter(|before| {
            is_whole
                && !read.has_unreadable
                && read.files == expected
                && observe(&expected).as_ref() == Some(before)
        });
        self.valid = seen.map(|seen| ValidPatterns {
            files: files.to_vec(),
            seen,
            read_at,
            read: read.clone(),
        });
        self.last = Some(LastFiles {
            files: files.to_vec(),
            with_included: read.files.clone(),
        });
        read
    }
}

fn observe(files: &[PathBuf]) -> Option<Vec<SeenFile>> {
    let look = |path: &PathBuf| {
        let stamp = Stamp::of(path).ok()?;
        let path = path.clone();
        Some(SeenFile { path, stamp })
    };
    files.iter().map(look).collect()
}
