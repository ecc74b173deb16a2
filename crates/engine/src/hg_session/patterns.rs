//! A cache of compiled ignore patterns, valid as long as their files are unchanged.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vigil_hg::patterns::{Ignore, LoadedIgnore};
use vigil_model::timestamp::Timestamp;
use vigil_stamp::SeenFile;
use vigil_stamp::stamp::Stamp;

/// The patterns of the last question.
#[derive(Default)]
pub(super) struct KnownPatterns(Option<ValidPatterns>);

struct ValidPatterns {
    seen: Vec<SeenFile>,
    read_at: Timestamp,
    read: Arc<LoadedIgnore>,
}

impl KnownPatterns {
    /// Returns the patterns in `files`, for the working copy at `root`.
    pub(super) fn read(&mut self, root: &Path, files: &[PathBuf]) -> Arc<LoadedIgnore> {
        if let Some(known) = self.0.as_ref()
            && known.seen.iter().map(|seen| &seen.path).eq(files)
            && known.seen.iter().all(|seen| seen.is_current(known.read_at))
        {
            return known.read.clone();
        }
        let read_at = vigil_stamp::now();
        let before = observe(files);
        let read = Arc::new(Ignore::read(root, files));
        let is_whole = read.ignore.as_ref().is_ok_and(|ignore| ignore.is_whole());
        // Patterns with included files are not cached: those files were not looked at before they were read.
        let seen = before.filter(|before| {
            is_whole && read.files == files && observe(files).as_ref() == Some(before)
        });
        self.0 = seen.map(|seen| ValidPatterns {
            seen,
            read_at,
            read: read.clone(),
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
