//! A cache of which directories with recorded files are ignored.
//!
//! Mercurial looks for other repositories there, which take the recorded files away, though it lists nothing in them. A scan of
//! what changed does not come to all of them.

use std::sync::Arc;

use bstr::{BStr, BString};
use vigil_hg::patterns::Ignore;
use vigil_model::path::{PATH_LEN_MAX, join};
use vigil_model::tracked::{ROOT, Tracked};

/// The directories as of the last question.
#[derive(Default)]
pub(super) struct KnownIgnored(Option<IgnoredDirectories>);

struct IgnoredDirectories {
    /// The number of the dirstate.
    serial: u64,
    /// The digest of the patterns.
    rules: u128,
    all: Arc<[BString]>,
}

impl KnownIgnored {
    /// Returns the directories of the `tracked` files, made from the dirstate with this number, that are ignored, or below one that
    /// is, as far as the system accepts their paths. The patterns must be [whole](Ignore::is_whole).
    pub(super) fn directories(
        &mut self,
        serial: u64,
        tracked: &Tracked,
        ignore: &Ignore,
    ) -> Arc<[BString]> {
        let rules = ignore.digest();
        if let Some(known) = &self.0
            && (known.serial, known.rules) == (serial, rules)
        {
            return known.all.clone();
        }
        let mut all: Vec<BString> = Vec::new();
        let mut pending = vec![(ROOT, BString::default(), false)];
        while let Some((number, path, is_below)) = pending.pop() {
            for sub in tracked.directory(number).subdirs() {
                let path = join(path.as_ref(), BStr::new(sub.name()));
                // There is nothing, and a short dirstate may have many long ones.
                if path.len() > PATH_LEN_MAX {
                    continue;
                }
                let is_ignored = is_below || ignore.is_match(path.as_ref());
                if is_ignored {
                    all.push(path.clone());
                }
                pending.push((sub.number, path, is_ignored));
            }
        }
        let all: Arc<[BString]> = all.into();
        self.0 = Some(IgnoredDirectories {
            serial,
            rules,
            all: all.clone(),
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice;
    use vigil_model::facts::RecordedStat;
    use vigil_model::index::{Entry, EntryFlags};
    use vigil_model::mode::FileMode;
    use vigil_model::{HashKind, ObjectId};

    use super::*;

    #[test]
    fn directories_with_paths_that_are_too_long_take_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".hgignore");
        std::fs::write(&file, "^p\n").unwrap();
        let ignore = Ignore::read(folder.path(), &[file]).ignore.unwrap();
        let id = ObjectId::null(HashKind::Sha1);
        let flags = EntryFlags::default();
        let entry = Entry::new(RecordedStat::default(), FileMode::FILE, id, flags);
        let path = BString::from(format!("{}f", "p/".repeat(10_000)));
        let tracked = Tracked::of_records(HashKind::Sha1, [(path.as_bstr(), entry)]);
        let known = KnownIgnored::default().directories(1, &tracked, &ignore);
        assert_eq!(known.len(), 2048);
    }
}
