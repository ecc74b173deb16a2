//! The current branch and its distance from the branches it is compared with.

use bstr::ByteSlice;
use vigil_git::refs::Head;
use vigil_history::branch::{ComparedBranch, Distance};

use super::Writer;
use crate::output::branch_name::branch_name;
use crate::reply::bytes;

/// From this time on, in milliseconds, git advises not to count commits.
const SLOW_MS: u128 = 2_000;

const NO_BRANCH: &str = "Not currently on any branch.";

impl Writer<'_> {
    /// Writes the line about HEAD and the lines about other branches.
    pub(super) fn branch(&mut self) {
        let Some(branch) = &self.status.branch else {
            return;
        };
        let palette = &self.presentation.palette;
        let mut what_color = &palette.header;
        let under_way = &self.long.under_way;
        let (what, name) = match &branch.head {
            // HEAD is invalid, and git prints nothing about it.
            Head::Branch { name, .. } if name.is_empty() => return,
            head if head.is_lost() => {
                what_color = &palette.no_branch;
                (NO_BRANCH, b"".as_slice())
            }
            Head::Branch { name, .. } => {
                let reference = name.as_ref();
                let name = branch_name(reference).unwrap_or(reference);
                ("On branch ", name.as_bytes())
            }
            Head::Detached(_) => {
                what_color = &palette.no_branch;
                match (&under_way.rebase, &self.long.detached) {
                    (Some(rebase), _) => {
                        let what = match rebase.commands {
                            Some(_) => "interactive rebase in progress; onto ",
                            None => "rebase in progress; onto ",
                        };
                        (what, super::state::or_null(rebase.onto.as_ref()))
                    }
                    (None, Some(from)) if from.is_at => ("HEAD detached at ", from.name.as_bytes()),
                    (None, Some(from)) => ("HEAD detached from ", from.name.as_bytes()),
                    (None, None) => (NO_BRANCH, b"".as_slice()),
                }
            }
        };
        let name_color = palette.on_branch.as_ref().unwrap_or(&palette.header);
        self.lines.start(&palette.header, b"");
        self.lines.more(what_color, what.as_bytes());
        self.lines.more(name_color, &bytes![name, "\n"]);
        if !self.gist.is_initial {
            self.compared();
        }
    }

    fn compared(&mut self) {
        let mut text = Vec::new();
        for compared in &self.long.compared {
            let is_gone = compared.distance == Distance::Gone;
            if is_gone && !compared.is_upstream {
                continue;
            }
            if !is_gone && !text.is_empty() {
                text.push(b'\n');
            }
            text.extend(comparison(compared));
            if let Some(hint) = hint(compared).filter(|_| self.hints()) {
                text.extend(hint);
            }
        }
        if text.is_empty() {
            return;
        }
        let took_ms = self.long.compared_in.as_millis();
        if self.presentation.long.advises_on_counting && took_ms > SLOW_MS {
            let advice = format!(
                "\nIt took {:.2} seconds to compute the branch ahead/behind values.\n\
                 You can use '--no-ahead-behind' to avoid this.\n",
                took_ms as f64 / 1000.0
            );
            text.extend_from_slice(advice.as_bytes());
        }
        let header = &self.presentation.palette.header;
        for line in text.lines() {
            self.lines.spaced_line(header, line);
        }
        match self.lines.comment() {
            Some(_) => self.lines.line(header, b""),
            None => self.lines.out.push(b'\n'),
        }
    }
}

/// Describes the distance from one branch.
fn comparison(compared: &ComparedBranch) -> Vec<u8> {
    let name = &compared.short_name;
    match compared.distance {
        Distance::Gone => bytes![
            "Your branch is based on '",
            name,
            "', but the upstream is gone.\n"
        ],
        Distance::Equal
        | Distance::Counted {
            ahead: 0,
            behind: 0,
        } => bytes!["Your branch is up to date with '", name, "'.\n"],
        Distance::Different => bytes!["Your branch and '", name, "' refer to different commits.\n"],
        Distance::Counted { ahead, behind: 0 } => bytes![
            "Your branch is ahead of '",
            name,
            format!("' by {ahead} {}.\n", commits(ahead))
        ],
        Distance::Counted { ahead: 0, behind } => bytes![
            "Your branch is behind '",
            name,
            format!(
                "' by {behind} {}, and can be fast-forwarded.\n",
                commits(behind)
            )
        ],
        Distance::Counted { ahead, behind } => bytes![
            "Your branch and '",
            name,
            format!(
                "' have diverged,\nand have {ahead} and {behind} different {} each, respectively.\n",
                commits(ahead.saturating_add(behind))
            )
        ],
    }
}

fn commits(count: usize) -> &'static str {
    if count == 1 { "commit" } else { "commits" }
}

fn hint(compared: &ComparedBranch) -> Option<Vec<u8>> {
    let (is_wanted, text) = match compared.distance {
        Distance::Equal
        | Distance::Counted {
            ahead: 0,
            behind: 0,
        } => return None,
        Distance::Gone => (true, "  (use \"git branch --unset-upstream\" to fixup)\n"),
        Distance::Different => (
            compared.is_push,
            "  (use \"git status --ahead-behind\" for details)\n",
        ),
        Distance::Counted { behind: 0, .. } => (
            compared.is_push,
            "  (use \"git push\" to publish your local commits)\n",
        ),
        Distance::Counted { ahead: 0, .. } => {
            if let Some((remote, branch)) = &compared.pulled_from {
                let pull = bytes!["git pull ", remote, " ", branch];
                return Some(bytes![
                    "  (use \"",
                    pull,
                    "\" to update your local branch)\n"
                ]);
            }
            (
                compared.is_upstream,
                "  (use \"git pull\" to update your local branch)\n",
            )
        }
        Distance::Counted { .. } => (
            compared.is_upstream,
            "  (use \"git pull\" if you want to integrate the remote branch with yours)\n",
        ),
    };
    is_wanted.then(|| text.into())
}
