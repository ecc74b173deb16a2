//! The last lines.

use super::Writer;

impl Writer<'_> {
    /// Writes the last line if there is nothing to commit, and the number of stash entries.
    pub(super) fn summary(&mut self) {
        if !self.gist.is_committable {
            let text = self.nothing_to_commit();
            self.lines.out.extend_from_slice(text.as_bytes());
        }
        match self.status.stash_count {
            None | Some(0) => {}
            Some(1) => self.plain_line("Your stash currently has 1 entry"),
            Some(count) => self.plain_line(format!("Your stash currently has {count} entries")),
        }
    }

    fn nothing_to_commit(&self) -> String {
        let (text, hint) = if self.gist.is_dirty {
            (
                "no changes added to commit",
                " (use \"git add\" and/or \"git commit -a\")",
            )
        } else if !self.status.untracked.is_empty() {
            (
                "nothing added to commit but untracked files present",
                " (use \"git add\" to track)",
            )
        } else if self.gist.is_initial {
            (
                "nothing to commit",
                " (create/copy files and use \"git add\" to track)",
            )
        } else if !self.presentation.long.shows_untracked {
            ("nothing to commit", " (use -u to show untracked files)")
        } else {
            return "nothing to commit, working tree clean\n".into();
        };
        let hint = if self.hints() { hint } else { "" };
        format!("{text}{hint}\n")
    }
}
