//! Why a tracked path counts as changed or not.

use bstr::ByteSlice;
use vigil_linux::stat::Stat;
use vigil_linux::{Errno, errno};
use vigil_model::seen::ComparedRecord;
use vigil_model::tracked::TrackedEntry;
use vigil_model::verdict::{Verdict, change_signs, compare};
use vigil_scan::NOT_CONVERTED;

use super::{Contents, Explanation, Facts, Reason, SessionError, Tracked, file_name, parent};
use crate::checked_out::checked_out;
use crate::git_system::observed_facts;
use crate::status::Change;
use vigil_model::change::ChangeKind;
use vigil_stamp::Stamp;

impl Explanation<'_> {
    /// Explains why the path of `entry`, which has the status `change`, counts as changed or not.
    pub(super) fn tracked(
        &self,
        entry: TrackedEntry,
        change: Option<&Change>,
    ) -> Result<Tracked, SessionError> {
        let unstaged = match change {
            Some(Change::Tracked(change)) => change.unstaged,
            _ => None,
        };
        let index = self.session.index.as_ref();
        Ok(Tracked {
            index_written_at: index
                .map(|index| index.file.written_at())
                .unwrap_or_default(),
            reason: self.reason(&entry, unstaged)?,
            entry,
        })
    }

    fn reason(
        &self,
        entry: &TrackedEntry,
        unstaged: Option<ChangeKind>,
    ) -> Result<Reason, SessionError> {
        let path = entry.path.as_bstr();
        let (flags, mode) = (entry.flags, entry.mode);
        if flags.is_assume_valid() {
            return Ok(Reason::AssumeUnchanged);
        }
        let stat = self.lstat(path);
        if flags.is_skip_worktree() && unstaged.is_none() {
            let looks = self.session.settings.looks_at_present_skipped_files();
            let is_present = stat.is_ok();
            if !is_present || !looks {
                return Ok(Reason::SkipWorktree { is_present });
            }
        }
        let stat = match stat {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Reason::Missing),
            Err(error) => return Ok(Reason::Unknown(errno::text(error))),
            Ok(stat) => stat,
        };
        if let Some(link) = self.link_above(path) {
            return Ok(Reason::BehindLink(link.to_owned()));
        }
        if stat.is_dir() && mode.is_gitlink() {
            return self.submodule_reason(entry);
        }
        if stat.is_dir() && unstaged == Some(ChangeKind::Deleted) {
            return Ok(Reason::Replaced);
        }
        if flags.is_intent_to_add() {
            return Ok(Reason::IntentToAdd);
        }
        if stat.is_dir() || mode.is_gitlink() {
            return Ok(Reason::OtherType);
        }
        Ok(Reason::Facts(self.facts(entry, &stat, unstaged.is_none())))
    }

    fn submodule_reason(&self, entry: &TrackedEntry) -> Result<Reason, SessionError> {
        let path = entry.path.as_bstr();
        let Some(index) = &self.session.index else {
            return Ok(Reason::OtherType);
        };
        let rules = self
            .session
            .submodules()
            .rules(&self.said.request, &index.tracked)?;
        let ignored = rules.ignored(path)?.kind();
        let head = checked_out(&self.session.repository, path);
        Ok(Reason::Submodule { head, ignored })
    }

    fn facts(&self, entry: &TrackedEntry, stat: &Stat, is_unchanged: bool) -> Facts {
        let observed = observed_facts(stat);
        let recorded = &entry.stat;
        let is_empty_blob = recorded.size == 0 && entry.id.is_empty_blob();
        let rules = &self.session.settings.stat_rules;
        let at = self
            .session
            .index
            .as_ref()
            .map(|index| index.file.written_at())
            .unwrap_or_default();
        let mode = entry.mode;
        let verdict = compare(mode, is_empty_blob, recorded, &observed, rules, at);
        let contents = match verdict {
            Verdict::Clean | Verdict::Changed => None,
            Verdict::Unsure => Some(Contents {
                is_unchanged,
                is_recorded: self.has_recorded_comparison(entry, stat),
                steps: match stat.is_symlink() {
                    true => Vec::new(),
                    // With an error here, the status would have failed.
                    false => self
                        .session
                        .converter
                        .explain(entry.path.as_bstr())
                        .unwrap_or_default(),
                },
            }),
        };
        Facts {
            signs: change_signs(mode, is_empty_blob, recorded, &observed, rules, at),
            observed,
            verdict,
            contents,
        }
    }

    /// Whether the state on disk has a comparison of the file's contents as they are now.
    fn has_recorded_comparison(&self, entry: &TrackedEntry, stat: &Stat) -> bool {
        let path = entry.path.as_bstr();
        let (Some(index), Some(state)) = (&self.session.index, &self.session.state) else {
            return false;
        };
        let (is_trusted, untrusted_since) = state.trust_in_stamps();
        let Some(dir) = index.tracked.find_directory(parent(path)) else {
            return false;
        };
        if !is_trusted || !index.has_recorded_entries(dir) {
            return false;
        }
        let at = index.tracked.directory(dir).position(file_name(path));
        let stamp = Stamp::from(stat);
        let conversion = match stat.is_symlink() {
            true => Some(NOT_CONVERTED),
            false => {
                let fingerprint = self.session.converter.fingerprint(path);
                fingerprint.map(|fingerprint| fingerprint.number)
            }
        };
        let is_it = |one: &ComparedRecord| {
            let has_conversion = one.flags.get() & ComparedRecord::HAS_CONVERSION != 0;
            one.at.get() as usize == at
                && Stamp::from_bytes(&one.stamp) == stamp
                && has_conversion.then(|| one.conversion.get()) == conversion
        };
        untrusted_since.is_none_or(|time| stamp.is_entirely_before(time))
            && state
                .seen(dir)
                .is_some_and(|seen| seen.compared().iter().any(is_it))
    }
}
