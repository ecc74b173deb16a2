//! `--format=line`: a single line of named numbers (docs/watch.md).

use bstr::ByteSlice;
use vigil_engine::status::{Change, Status};
use vigil_git::refs::Head;
use vigil_history::branch::{BranchStatus, Distance};
use vigil_model::quote::{QuoteRule, append_quoted};

use super::branch_name::branch_name;
use super::presentation::Presentation;

/// Stands for what is unknown or absent.
const ABSENT: &str = "-";

/// Writes `status`.
pub(super) fn write(status: &Status, presentation: &Presentation) -> Vec<u8> {
    let mut out = Vec::new();
    append_branch(&mut out, status.branch.as_ref());
    let distance = |of: fn(&Distance) -> Option<usize>| {
        let upstream = status.branch.as_ref()?.upstream.as_ref()?;
        of(&upstream.distance)
    };
    let tracked = |of: fn(&Change) -> bool| {
        let changes = status.changes.iter().filter(|(_, change)| of(change));
        Some(changes.count())
    };
    let numbers = [
        ("ahead", distance(ahead)),
        ("behind", distance(behind)),
        ("staged", tracked(is_staged)),
        ("unstaged", tracked(is_unstaged)),
        ("untracked", Some(status.untracked.len())),
        ("conflicted", tracked(is_conflict)),
        ("stashes", status.stash_count),
    ];
    for (name, number) in numbers {
        let number = number.map_or_else(|| ABSENT.to_owned(), |number| number.to_string());
        out.extend_from_slice(format!(" {name} {number}").as_bytes());
    }
    out.extend_from_slice(b" action ");
    match status.action.is_empty() {
        true => out.extend_from_slice(ABSENT.as_bytes()),
        false => append_quoted(&mut out, status.action.as_bstr(), QUOTED),
    }
    out.push(presentation.terminator());
    out
}

/// What would break the line is quoted. Spaces are not: only the action may have some, and it comes last.
const QUOTED: QuoteRule = QuoteRule {
    high_bytes: false,
    spaces: false,
};

/// Appends the name of the branch, quoted if it is more than one word. A detached HEAD is its commit in parentheses.
fn append_branch(out: &mut Vec<u8>, branch: Option<&BranchStatus>) {
    match branch.map(|branch| &branch.head) {
        None => out.extend_from_slice(ABSENT.as_bytes()),
        Some(Head::Detached(id)) => out.extend_from_slice(format!("({id})").as_bytes()),
        Some(Head::Branch { name, .. }) => {
            let short = branch_name(name.as_ref()).unwrap_or(name.as_ref());
            let rule = QuoteRule {
                spaces: true,
                ..QUOTED
            };
            append_quoted(out, short, rule);
        }
    }
}

fn ahead(distance: &Distance) -> Option<usize> {
    match distance {
        Distance::Equal => Some(0),
        Distance::Counted { ahead, .. } => Some(*ahead),
        Distance::Gone | Distance::Different => None,
    }
}

fn behind(distance: &Distance) -> Option<usize> {
    match distance {
        Distance::Equal => Some(0),
        Distance::Counted { behind, .. } => Some(*behind),
        Distance::Gone | Distance::Different => None,
    }
}

fn is_staged(change: &Change) -> bool {
    matches!(change, Change::Tracked(change) if change.staged.is_some())
}

fn is_unstaged(change: &Change) -> bool {
    matches!(change, Change::Tracked(change) if change.unstaged.is_some())
}

fn is_conflict(change: &Change) -> bool {
    matches!(change, Change::Unmerged(_))
}

#[cfg(test)]
mod tests {
    use bstr::BString;
    use vigil_history::branch::Upstream;
    use vigil_model::ObjectId;

    use super::*;

    fn line(name: &str, distance: Option<Distance>, action: &str) -> String {
        let upstream = distance.map(|distance| Upstream {
            reference: "refs/remotes/origin/x".into(),
            short_name: "origin/x".into(),
            distance,
        });
        let status = Status {
            branch: Some(BranchStatus {
                head: Head::Branch {
                    name: name.into(),
                    id: None,
                },
                upstream,
            }),
            untracked: vec!["a".into(), "b/".into()],
            stash_count: Some(1),
            action: action.into(),
            ..Status::default()
        };
        String::from_utf8(write(&status, &Presentation::default())).unwrap()
    }

    #[test]
    fn words_stand_at_the_same_places() {
        let counted = Distance::Counted {
            ahead: 2,
            behind: 3,
        };
        assert_eq!(
            line("refs/heads/a/b", Some(counted), "rebase-i 2/5"),
            "a/b ahead 2 behind 3 staged 0 unstaged 0 untracked 2 conflicted 0 stashes 1 action rebase-i 2/5\n"
        );
        let gone = line("refs/heads/a", Some(Distance::Gone), "");
        assert!(gone.starts_with("a ahead - behind - staged 0 "), "{gone}");
        let none = line("refs/heads/a b\n", None, "x\x1b\n");
        assert!(none.starts_with("\"a b\\n\" ahead - behind - "), "{none}");
        assert!(none.ends_with(" action \"x\\033\\n\"\n"), "{none}");
    }

    #[test]
    fn a_detached_head_is_its_commit() {
        let hex = "d0231b9a2008ef4cfbdc1dcb4b34379288a8adda";
        let status = Status {
            branch: Some(BranchStatus {
                head: Head::Detached(ObjectId::from_hex(hex.as_bytes()).unwrap()),
                upstream: None,
            }),
            ..Status::default()
        };
        let line = BString::from(write(&status, &Presentation::default()));
        assert!(line.starts_with(format!("({hex}) ahead - ").as_bytes()));
        assert!(line.contains_str(" stashes - action -"), "{line}");
    }
}
