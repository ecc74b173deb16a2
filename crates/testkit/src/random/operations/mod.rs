//! The operations, by subject. Each table entry has an operation's name, its frequency, and its actions.

mod attributes;
mod branches;
mod clones;
mod commits;
mod config;
mod conflicts;
mod files;
mod flags;
mod held;
mod ignore;
mod layout;
mod links;
mod maintenance;
mod moves;
mod nested;
mod operation;
mod remotes;
mod sequences;
mod setup;
mod sparse;
mod staging;
mod stash;
mod submodules;
mod types;
mod worktrees;

pub(super) use config::setting;
pub use operation::Operation;
pub use setup::setup;

use super::maker::Maker;
use super::plan::ScenarioPlan;
use crate::scenario::Step;

/// All tables, with the names of their groups.
pub const GROUPS: &[(&str, &[Operation])] = &[
    ("files", files::OPERATIONS),
    ("types", types::OPERATIONS),
    ("moves", moves::OPERATIONS),
    ("links", links::OPERATIONS),
    ("held", held::OPERATIONS),
    ("staging", staging::OPERATIONS),
    ("commits", commits::OPERATIONS),
    ("branches", branches::OPERATIONS),
    ("remotes", remotes::OPERATIONS),
    ("sequences", sequences::OPERATIONS),
    ("conflicts", conflicts::OPERATIONS),
    ("stash", stash::OPERATIONS),
    ("flags", flags::OPERATIONS),
    ("sparse", sparse::OPERATIONS),
    ("config", config::OPERATIONS),
    ("ignore", ignore::OPERATIONS),
    ("attributes", attributes::OPERATIONS),
    ("submodules", submodules::OPERATIONS),
    ("nested", nested::OPERATIONS),
    ("worktrees", worktrees::OPERATIONS),
    ("maintenance", maintenance::OPERATIONS),
    ("clones", clones::OPERATIONS),
    ("layout", layout::OPERATIONS),
];

/// The operations that the plan allows.
pub fn allowed(plan: &ScenarioPlan) -> Vec<Operation> {
    GROUPS
        .iter()
        .filter(|group| plan.has(group.0))
        .flat_map(|group| group.1)
        .filter(|operation| plan.has(operation.name))
        .copied()
        .collect()
}

/// Makes a random operation, by weight.
pub fn random(maker: &mut Maker, table: &[Operation]) -> Step {
    let total = table.iter().map(|operation| operation.weight).sum();
    let mut rest = maker.rng.below(total);
    for operation in table {
        match rest.checked_sub(operation.weight) {
            Some(less) => rest = less,
            None => {
                (operation.make)(maker);
                return Step {
                    name: operation.name,
                    actions: maker.take(),
                };
            }
        }
    }
    Step {
        name: "nothing",
        actions: Vec::new(),
    }
}
