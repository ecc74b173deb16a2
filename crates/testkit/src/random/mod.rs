//! Scenarios of random operations. A scenario is a pure function of its seed and the plan.

pub mod maker;
pub mod names;
pub mod operations;
mod plan;
pub mod questions;
pub mod rng;

use crate::scenario::{Item, Scenario, ServerOptions};
use maker::Maker;
pub use plan::ScenarioPlan;

/// The scenario of a seed.
pub fn scenario(seed: u64, plan: &ScenarioPlan) -> Scenario {
    let mut maker = Maker::new(seed, plan);
    let mut items: Vec<Item> = operations::setup(&mut maker)
        .into_iter()
        .map(Item::Step)
        .collect();
    let server = plan.prompts.then(|| ServerOptions {
        recurse: maker.rng.chance(30),
    });
    let table = operations::allowed(plan);
    for step in 0..=plan.steps {
        if step > 0 {
            items.push(Item::Step(operations::random(&mut maker, &table)));
        }
        for _ in 0..plan.questions {
            items.push(Item::Ask(questions::random(&mut maker, plan)));
        }
    }
    Scenario {
        name: format!("seed {seed}"),
        server,
        items,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_scenario() {
        let plan = ScenarioPlan {
            steps: 200,
            questions: 2,
            without: BTreeSet::new(),
            reftable: true,
            prompts: false,
        };
        assert_eq!(scenario(7, &plan), scenario(7, &plan));
        assert_ne!(scenario(7, &plan).items, scenario(8, &plan).items);
    }

    #[test]
    fn every_operation_occurs() {
        let plan = ScenarioPlan {
            steps: 5000,
            questions: 0,
            without: BTreeSet::new(),
            reftable: true,
            prompts: false,
        };
        let names: BTreeSet<&str> = scenario(1, &plan)
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Step(step) => Some(step.name),
                Item::Ask(_) => None,
            })
            .collect();
        for operation in operations::allowed(&plan) {
            assert!(
                names.contains(operation.name),
                "{} never occurs",
                operation.name
            );
        }
    }

    #[test]
    fn what_is_left_out_does_not_occur() {
        let without = operations::GROUPS
            .iter()
            .map(|group| group.0.to_owned())
            .collect();
        let plan = ScenarioPlan {
            steps: 1,
            questions: 0,
            without,
            reftable: true,
            prompts: false,
        };
        assert!(operations::allowed(&plan).is_empty());
    }
}
