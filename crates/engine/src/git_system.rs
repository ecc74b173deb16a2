//! git as the system of a scan: what the facts of an index entry prove (gitformat-index(5)), which contents it stands for, and
//! what git ignores.

use std::ffi::CStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bstr::{BStr, BString, ByteSlice};
use vigil_convert::converter::Converter;
use vigil_git::objects::{LimitedBlob, Objects};
use vigil_git::promisor;
use vigil_git::repository::Repository;
use vigil_linux::dir::EntryKind;
use vigil_linux::stat::Stat;
use vigil_linux::{Errno, errno};
use vigil_model::ObjectId;
use vigil_model::conversion::Conversion;
use vigil_model::facts::ObservedStat;
use vigil_model::mode::FileMode;
use vigil_model::path::join;
use vigil_model::raw_text::message_bytes;
use vigil_model::timestamp::Timestamp;
use vigil_model::tracked::TrackedFile;
use vigil_model::verdict::{StatRules, Verdict, compare, worktree_mode};
use vigil_rules::ignore::IgnoreRules;
use vigil_rules::messages::Messages;
use vigil_scan::{
    ContentError, Difference, IgnoreScope, ListedDirectory, Observed, RulesFile, RulesWarning,
    System, Unseen,
};

use crate::checked_out::checked_out;
use crate::git_ignore_files::{self, Rules};
use crate::session::missed_rules::MissedRules;
use crate::status::Change;

/// The length, in bytes, that no target of a symbolic link has (`PATH_MAX`, path_resolution(7)).
const LINK_LEN_MAX: u64 = 4096;

/// One git repository and its working tree, for one question.
pub(crate) struct GitSystem<'a> {
    /// The repository.
    pub(crate) repository: &'a Repository,
    /// The top of the working tree.
    pub(crate) top: &'a Path,
    /// Its objects.
    pub(crate) objects: &'a Objects,
    /// Converts contents.
    pub(crate) converter: &'a Converter,
    /// Collects the messages of filters and attributes.
    pub(crate) messages: &'a Messages,
    /// Counts the objects that could not be read.
    pub(crate) missed: &'a MissedRules,
    /// The ignore rules that apply to the whole working tree.
    pub(crate) ignore_rules: Arc<IgnoreRules>,
    /// The mtime of the index file.
    pub(crate) index_written_at: Timestamp,
    /// Which fields of the stat data count.
    pub(crate) stat_rules: StatRules,
    /// `core.ignoreCase`.
    pub(crate) ignore_case: bool,
    /// Whether to look at files that the sparse checkout leaves out but that are present.
    pub(crate) looks_at_present_skipped_files: bool,
}

impl GitSystem<'_> {
    /// Returns what to report for a file that its stat data sets apart from its entry.
    fn otherwise(
        &self,
        file: &TrackedFile<'_>,
        stat: &Stat,
        path: &dyn Fn() -> BString,
    ) -> Observed {
        if stat.is_dir() {
            if file.is_nested() {
                return match file.is_side() {
                    false => Observed::Nested,
                    true => Observed::Present(FileMode::GITLINK),
                };
            }
            // A directory in place of a file means that the file is gone, unless the directory could be a submodule.
            if checked_out(self.repository, path().as_bstr()).is_none() {
                return Observed::Missing;
            }
        }
        Observed::Present(worktree_mode(file.mode(), stat.mode, &self.stat_rules))
    }
}

impl System for GitSystem<'_> {
    fn compare_stat(
        &self,
        file: &TrackedFile<'_>,
        stat: &Stat,
        path: &dyn Fn() -> BString,
    ) -> Result<(), Difference> {
        let mode = file.mode();
        let is_plain = !file.is_side() && !file.flags().is_intent_to_add();
        if is_plain && (mode.is_file() || mode.is_symlink()) {
            let recorded = file.stat();
            match compare(
                mode,
                recorded.size == 0 && file.id().is_empty_blob(),
                &recorded,
                &observed_facts(stat),
                &self.stat_rules,
                self.index_written_at,
            ) {
                Verdict::Clean => return Ok(()),
                Verdict::Unsure => {
                    let mode = worktree_mode(mode, stat.mode, &self.stat_rules);
                    return Err(Difference::InContents(mode));
                }
                Verdict::Changed => {}
            }
        }
        Err(Difference::Certain(self.otherwise(file, stat, path)))
    }

    fn is_unchanged(
        &self,
        path: &BStr,
        file: File,
        size: u64,
        recorded: &ObjectId,
    ) -> Result<bool, ContentError> {
        self.converter
            .is_unchanged(path, &file, size, recorded)
            .map_err(|error| ContentError(message_bytes(&error)))
    }

    fn conversion(&self, path: &BStr) -> Option<Conversion> {
        self.converter.fingerprint(path)
    }

    fn affects_comparison(&self, name: &[u8]) -> bool {
        name == b".gitattributes"
    }

    fn warnings_len(&self) -> usize {
        self.messages
            .len()
            .saturating_add(self.missed.unread_count())
    }

    fn is_unchanged_link(&self, _: &BStr, target: &[u8], recorded: &ObjectId) -> bool {
        match self.objects.blob_shorter_than(recorded, LINK_LEN_MAX) {
            Some(LimitedBlob::Contents(contents)) => contents == target,
            Some(LimitedBlob::TooLong) => false,
            // git would fetch it from a promisor remote.
            None if !promisor::Remotes::of(&self.repository.config).is_empty() => {
                vigil_objects::hash::hash_blob(recorded.kind(), target) == *recorded
            }
            // If it is lost, git calls the link changed.
            None => {
                self.missed.note_unread();
                false
            }
        }
    }

    fn is_repository(&self, path: &BStr) -> Result<bool, Errno> {
        Ok(self.repository.has_nested_repository(path))
    }

    fn is_metadata(&self, path: &BStr, _: EntryKind) -> bool {
        let name = vigil_model::path::file_name(path);
        name == b".git" || (self.ignore_case && name.eq_ignore_ascii_case(b".git"))
    }

    fn rules_at_top(&self) -> Arc<dyn IgnoreScope> {
        Arc::new(Rules::from(self.ignore_rules.clone()))
    }

    fn rules_in(
        &self,
        directory: &ListedDirectory<'_>,
        above: &Arc<dyn IgnoreScope>,
        warnings: &mut Vec<RulesWarning>,
    ) -> (Arc<dyn IgnoreScope>, RulesFile) {
        git_ignore_files::rules_in(
            directory,
            above,
            self.looks_at_present_skipped_files,
            &|id| {
                self.objects
                    .blob_shorter_than(id, git_ignore_files::FILE_LEN_MAX)
            },
            warnings,
        )
    }

    fn rules_of_digest(
        &self,
        above: &Arc<dyn IgnoreScope>,
        dir: &BStr,
        digest: u128,
    ) -> Arc<dyn IgnoreScope> {
        git_ignore_files::rules_of_digest(above, self.top, dir, digest)
    }

    fn rules_file_name(&self) -> &'static CStr {
        git_ignore_files::C_FILE_NAME
    }
}

/// Returns the stat data of a file in the form that verdicts take.
#[inline]
pub(crate) fn observed_facts(stat: &Stat) -> ObservedStat {
    ObservedStat {
        ctime_s: stat.ctime_s,
        ctime_ns: stat.ctime_ns,
        mtime_s: stat.mtime_s,
        mtime_ns: stat.mtime_ns,
        dev: stat.dev,
        ino: stat.ino,
        uid: stat.uid,
        gid: stat.gid,
        size: stat.size,
        mode: stat.mode,
    }
}

/// Returns the mode with which the observed file would be recorded; [`FileMode::NONE`] if it is missing.
pub(crate) fn mode_of(observed: Observed) -> FileMode {
    match observed {
        Observed::Missing => FileMode::NONE,
        Observed::Present(mode) => mode,
        Observed::Nested => FileMode::GITLINK,
    }
}

/// Returns git's warnings, without "warning: ": directories that could not be listed, and those `of_rules`.
pub(crate) fn warnings(unlisted: &[Unseen], of_rules: Vec<RulesWarning>) -> Vec<BString> {
    let unlisted = unlisted.iter().map(|unseen| {
        let shown = match unseen.path.is_empty() {
            true => BString::from("."),
            false => join(unseen.path.as_bstr(), BStr::new("")),
        };
        format_bytes(&[
            b"could not open directory '",
            &shown,
            b"': ",
            errno::text(unseen.reason).as_bytes(),
        ])
    });
    let of_rules = of_rules.into_iter().map(|warning| warning.text);
    let mut all: Vec<BString> = unlisted.chain(of_rules).collect();
    all.sort_unstable();
    all
}

/// Returns git's lines about tracked files that could not be looked at, given all `changes` in order: git looks at each side of a
/// conflict.
pub(crate) fn unknown(files: &[Unseen], changes: &[(BString, Change)]) -> Vec<BString> {
    let lines = files.iter().flat_map(|unseen| {
        let found = changes.binary_search_by(|(path, _)| path.cmp(&unseen.path));
        let sides = match found.ok().and_then(|at| changes.get(at)) {
            Some((_, Change::Unmerged(change))) => change.stages.iter().flatten().count(),
            _ => 1,
        };
        let text = errno::text(unseen.reason);
        let line = format_bytes(&[&unseen.path, b": ", text.as_bytes()]);
        std::iter::repeat_n(line, sides)
    });
    let mut all: Vec<BString> = lines.collect();
    all.sort_unstable();
    all
}

fn format_bytes(pieces: &[&[u8]]) -> BString {
    bstr::concat(pieces).into()
}
