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

/// An operation, and the file that exists until it is finished.
struct Operation {
    name: &'static str,
    file: &'static str,
    /// The extension whose operation it is, if it is not one of Mercurial's own.
    extension: Option<&'static str>,
    /// How to continue or abort.
    hint: &'static str,
}

/// The operations, of which the first that is found is reported: those of extensions come before Mercurial's own, and those of
/// evolve, which it registers before others do, after those of other extensions.
const OPERATIONS: [Operation; 10] = [
    Operation {
        name: "rebase",
        file: "rebasestate",
        extension: Some("rebase"),
        hint: "To continue:    hg rebase --continue\nTo abort:       hg rebase --abort\nTo stop:        hg rebase --stop",
    },
    Operation {
        name: "histedit",
        file: "histedit-state",
        extension: Some("histedit"),
        hint: "To continue:    hg histedit --continue\nTo abort:       hg histedit --abort",
    },
    Operation {
        name: "transplant",
        file: "transplant/journal",
        extension: Some("transplant"),
        hint: "To continue:    hg transplant --continue\nTo stop:        hg transplant --stop",
    },
    Operation {
        name: "fixup",
        file: "fixup-state",
        extension: Some(EVOLVE),
        hint: "To continue:    hg fixup --continue\nTo abort:       hg fixup --abort",
    },
    Operation {
        name: "pick",
        file: "pickstate",
        extension: Some(EVOLVE),
        hint: "To continue:    hg pick --continue\nTo abort:       hg pick --abort",
    },
    Operation {
        name: "evolve",
        file: "evolvestate",
        extension: Some(EVOLVE),
        hint: "To continue:    hg evolve --continue\nTo abort:       hg evolve --abort\nTo stop:        hg evolve --stop\n(also see `hg help evolve.interrupted`)",
    },
    Operation {
        name: "unshelve",
        file: "shelvedstate",
        extension: None,
        hint: "To continue:    hg unshelve --continue\nTo abort:       hg unshelve --abort",
    },
    Operation {
        name: "graft",
        file: "graftstate",
        extension: None,
        hint: "To continue:    hg graft --continue\nTo abort:       hg graft --abort\nTo stop:        hg graft --stop",
    },
    Operation {
        name: "bisect",
        file: "bisect.state",
        extension: None,
        hint: "To mark the changeset good:    hg bisect --good\nTo mark the changeset bad:     hg bisect --bad\nTo abort:                      hg bisect --reset",
    },
    Operation {
        name: "update",
        file: "updatestate",
        extension: None,
        hint: "To continue:    hg update .",
    },
];
/// The extension with commands that rewrite what became obsolete.
const EVOLVE: &str = "evolve";
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
        let mut found = OPERATIONS.iter().filter(|operation| {
            !is_skipped(operation.name)
                && is_there(operation.file)
                && operation
                    .extension
                    .is_none_or(|name| extensions::has(config, name))
        });
        let first = found.next();
        let is_at_unknown_place = |operation: &Operation| {
            // Where it is depends on the order in which the extensions are loaded.
            operation.extension.is_some_and(|name| name != EVOLVE)
        };
        if first.is_some_and(is_at_unknown_place) && found.next().is_some_and(is_at_unknown_place) {
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
