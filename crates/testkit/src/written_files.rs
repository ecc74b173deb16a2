//! What a candidate wrote, though a question may change nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;
use crate::verdict::Difference;

/// The files before a question.
pub(crate) struct FilesBefore {
    index: Option<Vec<u8>>,
    /// All files, if they are compared.
    all: Option<BTreeMap<PathBuf, [i64; 5]>>,
}

impl FilesBefore {
    /// Records the index and, with `with_all`, all files of `sandbox`.
    pub(crate) fn record(sandbox: &Sandbox, with_all: bool) -> Self {
        Self {
            index: index(sandbox),
            all: with_all.then(|| facts_of_files(sandbox.root())),
        }
    }

    /// Whether the index was written since.
    pub(crate) fn is_index_written(&self, sandbox: &Sandbox) -> bool {
        self.index != index(sandbox)
    }

    /// Returns a path that was written since, if all files were recorded.
    pub(crate) fn written_path(&self, sandbox: &Sandbox) -> Option<PathBuf> {
        let before = self.all.as_ref()?;
        let after = facts_of_files(sandbox.root());
        let changed = after
            .iter()
            .find(|(path, facts)| before.get(*path) != Some(*facts));
        let removed = || before.iter().find(|(path, _)| !after.contains_key(*path));
        let (path, _) = changed.or_else(removed)?;
        Some(path.clone())
    }
}

/// The difference that the candidate wrote `what`.
pub(crate) fn written_by_candidate(what: &str) -> Difference {
    Difference {
        what: "written by the candidate".to_owned(),
        candidate: what.into(),
        oracle: Vec::new(),
    }
}

fn index(sandbox: &Sandbox) -> Option<Vec<u8>> {
    std::fs::read(sandbox.path_from_root("work/.git/index")).ok()
}

/// All files below `root`, with the facts that writing would change. Vigil's own state folders are omitted.
fn facts_of_files(root: &Path) -> BTreeMap<PathBuf, [i64; 5]> {
    let mut files = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let may_hold_state = directory.ends_with(".cache") || directory.join("HEAD").exists();
            if entry.file_name() == "vigil" && metadata.is_dir() && may_hold_state {
                continue;
            }
            if metadata.is_dir() {
                open.push(entry.path());
            } else {
                let part = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
                // git itself touches shared indexes when it reads them, so that they do not expire.
                let is_touched = entry
                    .file_name()
                    .as_encoded_bytes()
                    .starts_with(b"sharedindex.");
                let (seconds, rest) = if is_touched {
                    (0, 0)
                } else {
                    (metadata.mtime(), metadata.mtime_nsec())
                };
                let facts = [
                    part(metadata.ino()),
                    part(metadata.size()),
                    i64::from(metadata.mode()),
                    seconds,
                    rest,
                ];
                files.insert(entry.path(), facts);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_notices_writes_but_not_the_state_folder() {
        let sandbox = Sandbox::new();
        let before = facts_of_files(sandbox.root());
        sandbox.write(".git/vigil/state", "x");
        assert_eq!(before, facts_of_files(sandbox.root()));
        sandbox.write(".git/info/exclude", "x");
        assert_ne!(before, facts_of_files(sandbox.root()));
    }
}
