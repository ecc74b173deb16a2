//! What a verbose status prints about an unfinished operation (`-v`, commands.status.verbose).

use bstr::{BString, ByteSlice};
use vigil_hg::abort::Abort;
use vigil_hg::checkout::MergeState;
use vigil_hg::config::Config;
use vigil_hg::node::Node;
use vigil_hg::repository::Repository;
use vigil_linux::stat::stat_path;

use super::color::Colors;
use super::extensions;
use super::paths::PathDisplay;
use crate::reply::bytes;

/// An operation, the file that exists until it is finished, and whether it belongs to an extension.
struct Operation {
    name: &'static str,
    file: &'static str,
    is_extension: bool,
    /// How to continue or abort.
    hint: &'static str,
}

/// The operations, of which the first that is found is reported.
const OPERATIONS: [Operation; 6] = [
    Operation {
        name: "rebase",
        file: "rebasestate",
        is_extension: true,
        hint: "To continue:    hg rebase --continue\nTo abort:       hg rebase --abort\nTo stop:        hg rebase --stop",
    },
    Operation {
        name: "histedit",
        file: "histedit-state",
        is_extension: true,
        hint: "To continue:    hg histedit --continue\nTo abort:       hg histedit --abort",
    },
    Operation {
        name: "unshelve",
        file: "shelvedstate",
        is_extension: false,
        hint: "To continue:    hg unshelve --continue\nTo abort:       hg unshelve --abort",
    },
    Operation {
        name: "graft",
        file: "graftstate",
        is_extension: false,
        hint: "To continue:    hg graft --continue\nTo abort:       hg graft --abort\nTo stop:        hg graft --stop",
    },
    Operation {
        name: "bisect",
        file: "bisect.state",
        is_extension: false,
        hint: "To mark the changeset good:    hg bisect --good\nTo mark the changeset bad:     hg bisect --bad\nTo abort:                      hg bisect --reset",
    },
    Operation {
        name: "update",
        file: "updatestate",
        is_extension: false,
        hint: "To continue:    hg update .",
    },
];
const MERGE_HINT: &str = "To continue:    hg commit\nTo abort:       hg merge --abort";

/// The unfinished operation and the unresolved conflicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unfinished {
    operation: Option<(&'static str, &'static str)>,
    /// The files with unresolved conflicts; `None` if no merge is in progress.
    conflicts: Option<Vec<BString>>,
}

impl Unfinished {
    /// Finds out what is unfinished in `repository`, whose working copy has `parents`, as far as these are in the changelog.
    ///
    /// # Errors
    /// The records of an operation cannot be read, or are not understood.
    pub(super) fn of(
        repository: &Repository,
        parents: [Node; 2],
        config: &Config,
    ) -> Result<Self, Abort> {
        let skipped = config.list("commands", "status.skipstates");
        let is_skipped = |name: &str| skipped.iter().any(|skipped| skipped == name);
        let is_there = |name: &str| stat_path(&repository.dot_hg.join(name)).is_ok();
        if extensions::has(config, "transplant") && is_there("transplant/journal") {
            return Err(Abort::unsupported("an unfinished transplant"));
        }
        let mut found = OPERATIONS.iter().filter(|operation| {
            !is_skipped(operation.name)
                && is_there(operation.file)
                && (!operation.is_extension || extensions::has(config, operation.name))
        });
        let first = found.next();
        if first.is_some_and(|first| first.is_extension)
            && found.next().is_some_and(|second| second.is_extension)
        {
            return Err(Abort::unsupported(
                "two unfinished operations of extensions",
            ));
        }
        let [_, p2] = parents;
        let operation = match first {
            Some(operation) => Some((operation.name, operation.hint)),
            None if !p2.is_null() && !is_skipped("merge") => Some(("merge", MERGE_HINT)),
            None => None,
        };
        let merge = MergeState::read(repository)?.filter(|merge| merge.is_active);
        Ok(Self {
            operation,
            conflicts: merge.map(|merge| merge.unresolved),
        })
    }

    /// Returns whether there is nothing to print.
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Prints the operation, the conflicts and how to go on.
    pub(super) fn say(&self, out: &mut Vec<u8>, paths: &PathDisplay, colors: &Colors<'_>) {
        let mut say = |text: &[u8]| {
            let mut lines = Vec::new();
            for line in text.lines() {
                lines.extend_from_slice(b"# ");
                lines.extend_from_slice(line);
                lines.push(b'\n');
            }
            lines.push(b'\n');
            colors.paint(out, &lines, "status.morestatus");
        };
        if let Some((name, _)) = self.operation {
            let message = format!("The repository is in an unfinished *{name}* state.");
            say(message.as_bytes());
        }
        match self.conflicts.as_deref() {
            None => {}
            Some([]) => say(b"No unresolved merge conflicts."),
            Some(conflicts) => {
                let mut text = BString::from("Unresolved merge conflicts:\n\n");
                for path in conflicts {
                    let shown = paths.relative(path.as_bstr());
                    text.extend_from_slice(&bytes!("    ", shown.as_bstr(), "\n"));
                }
                text.extend_from_slice(b"\nTo mark files as resolved:  hg resolve --mark FILE");
                say(&text);
            }
        }
        if let Some((_, hint)) = self.operation {
            say(hint.as_bytes());
        }
    }
}
