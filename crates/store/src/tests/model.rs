//! Random publications, compared with a map in memory.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

type Model = BTreeMap<(StateTable, u32), Vec<u8>>;

fn table() -> impl Strategy<Value = StateTable> {
    prop::sample::select(StateTable::WRITTEN.to_vec())
}

/// Keys around the bounds of nodes and levels, often repeated.
fn key() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 0_u32..4,
        2 => 254_u32..259,
        1 => 65_534_u32..65_539,
        1 => 16_777_214_u32..16_777_219,
        1 => u32::MAX - 3..u32::MAX,
        1 => 0..u32::MAX,
    ]
}

/// Contents of few kinds, so that some are set again.
fn block() -> impl Strategy<Value = Vec<u8>> {
    let len = prop_oneof![4 => 0_usize..20, 1 => 80_000_usize..200_000];
    (len, 0_u8..3).prop_map(|(len, byte)| vec![byte; len])
}

#[derive(Clone, Debug)]
enum Operation {
    Publish(Vec<(StateTable, u32, Option<Vec<u8>>)>, u8),
    Replace(Vec<(StateTable, u32, Option<Vec<u8>>)>),
    Drop,
}

fn operation() -> impl Strategy<Value = Operation> {
    let change = || (table(), key(), prop::option::weighted(0.7, block()));
    let changes = move || prop::collection::vec(change(), 0..12);
    prop_oneof![
        12 => (changes(), 0_u8..2).prop_map(|(changes, clock)| Operation::Publish(changes, clock)),
        1 => changes().prop_map(Operation::Replace),
        1 => Just(Operation::Drop),
    ]
}

fn apply(model: &mut Model, changes: Vec<(StateTable, u32, Option<Vec<u8>>)>) -> Changes<'static> {
    let mut given = Changes::new();
    for (table, key, block) in changes {
        match block {
            Some(block) => {
                given.set(table, key, block.clone());
                model.insert((table, key), block);
            }
            None => {
                given.remove(table, key);
                model.remove(&(table, key));
            }
        }
    }
    given
}

fn assert_holds(state: &Snapshot, model: &Model, keys: &BTreeSet<u32>) {
    for table in StateTable::WRITTEN {
        let expected: Vec<_> = model
            .iter()
            .filter(|((of, _), _)| *of == table)
            .map(|((_, key), block)| (*key, block.len() as u32))
            .collect();
        let found: Result<Vec<_>, _> = state.blocks(table).collect();
        assert_eq!(found.unwrap(), expected);
        assert_eq!(
            state.keys(table),
            expected.last().map_or(0, |(key, _)| key + 1)
        );
        for key in keys {
            let expected = model.get(&(table, *key)).map(Vec::as_slice);
            assert!(
                state.block(table, *key).unwrap() == expected,
                "{table:?} {key}"
            );
        }
    }
    state.verify_all().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_publications_are_read_as_a_map_holds_them(operations in prop::collection::vec(operation(), 1..14)) {
        let sandbox = Sandbox::new();
        let mut model = Model::new();
        let mut keys: BTreeSet<u32> = [0, 255, 256, 65_536, 1 << 24, u32::MAX].into();
        let mut held: Vec<(Snapshot, Model)> = Vec::new();
        for deed in operations {
            // As another process would see it, each time.
            let store = Store::new(sandbox.store.folder().to_owned(), IDENTITY);
            let base = store.open().ok();
            let before = base.as_ref().map(|_| model.clone());
            let published = match deed {
                Operation::Publish(changes, clock) => {
                    keys.extend(changes.iter().map(|(_, key, _)| *key));
                    let changes = apply(&mut model, changes);
                    let published = store.publish(base.as_ref(), changes, [clock; 48], &NoSteps);
                    let (published, _) = published.unwrap();
                    let is_same = before.as_ref() == Some(&model)
                        && base.as_ref().is_some_and(|base| *base.clock() == [clock; 48]);
                    prop_assert_eq!(published == PublishOutcome::Unchanged, is_same);
                    published
                }
                Operation::Replace(changes) => {
                    let Some(base) = &base else { continue };
                    keys.extend(changes.iter().map(|(_, key, _)| *key));
                    model.clear();
                    let changes = apply(&mut model, changes);
                    store.replace(base, changes, [9; 48], &NoSteps).unwrap().0
                }
                Operation::Drop => {
                    store.remove_state().unwrap();
                    model.clear();
                    continue;
                }
            };
            let state = store.open().unwrap();
            let generation = base.as_ref().map_or(0, Snapshot::generation);
            let is_new = matches!(published, PublishOutcome::Rewritten { .. });
            prop_assert_eq!(state.generation(), generation + u64::from(is_new));
            prop_assert!(state.dead_len() <= (state.used_len() / 2).max(256 << 10));
            assert_holds(&state, &model, &keys);
            sandbox.assert_tidy();
            held.push((state, model.clone()));
        }
        for (state, model) in &held {
            assert_holds(state, model, &keys);
        }
    }
}
