//! What other users of the store see and may do at each step of a publication.

use std::cell::RefCell;

use super::*;

/// A second user of the store, active at each step.
struct ConcurrentUser<'a> {
    store: &'a Store,
    base: Option<&'a Snapshot>,
    seen: RefCell<Vec<(Step, Option<u8>)>>,
}

impl Steps for ConcurrentUser<'_> {
    fn reached(&self, step: Step) {
        let clock = self.store.open().ok().map(|state| {
            state.verify_all().unwrap();
            state.clock()[0]
        });
        self.seen.borrow_mut().push((step, clock));
        let changes = changes_of(&[(StateTable::Seen, 1, b"another's")]);
        let (published, _) = self
            .store
            .publish(self.base, changes, [9; 48], &NoSteps)
            .unwrap();
        assert_eq!(published, PublishOutcome::Busy, "{step:?}");
        assert_eq!(self.store.remove_state().unwrap(), RemoveOutcome::Busy);
    }
}

#[test]
fn until_the_docket_is_published_the_old_state_is_read_and_nobody_else_writes() {
    let sandbox = Sandbox::new();
    let block = vec![1; 3 << 20];
    let mut base = None;
    for (clock, block) in [(1, b"first".as_slice()), (2, &block), (3, b"third")] {
        let onlooker = ConcurrentUser {
            store: &sandbox.store,
            base: base.as_ref(),
            seen: RefCell::default(),
        };
        let changes = changes_of(&[(StateTable::Files, 0, block)]);
        sandbox
            .store
            .publish(base.as_ref(), changes, [clock; 48], &onlooker)
            .unwrap();
        let before = (clock > 1).then(|| clock - 1);
        let mut expected: Vec<_> = STEPS
            .into_iter()
            .map(|step| {
                let is_published = matches!(step, Step::DocketPublished | Step::OldRemoved);
                (step, if is_published { Some(clock) } else { before })
            })
            .collect();
        if clock == 2 {
            expected.pop();
        }
        assert_eq!(*onlooker.seen.borrow(), expected);
        base = Some(sandbox.store.open().unwrap());
        sandbox.assert_tidy();
    }
}

/// Replaces a state just after a reader has read its docket.
#[test]
fn a_reader_whose_data_file_is_gone_reads_the_new_docket() {
    let sandbox = Sandbox::new();
    let first = sandbox.publish_and_open(None, changes_of(&[(StateTable::Seen, 1, b"one")]), 1);
    let folder = Folder::open(sandbox.store.folder()).unwrap();
    let docket = folder.docket(&IDENTITY).unwrap();
    sandbox
        .store
        .replace(&first, Changes::new(), [2; 48], &NoSteps)
        .unwrap();
    assert!(folder.map(&docket).unwrap().is_none());
    assert_eq!(sandbox.store.open_in(&folder).unwrap().clock(), &[2; 48]);
}

#[test]
fn a_writer_does_not_write_into_a_folder_that_was_removed() {
    let sandbox = Sandbox::new();
    sandbox.publish(None, Changes::new(), 1);
    let folder = Folder::open(sandbox.store.folder()).unwrap();
    assert!(sandbox.store.lock(&folder).unwrap().is_some());
    sandbox.store.remove_state().unwrap();
    sandbox.publish(None, Changes::new(), 2);
    assert!(sandbox.store.lock(&folder).unwrap().is_none());
}

#[test]
fn concurrent_increments_by_threads_are_not_lost() {
    const INCREMENTS: u32 = 20;
    let sandbox = Sandbox::new();
    sandbox.publish(
        None,
        changes_of(&[(StateTable::General, 0, &0_u32.to_le_bytes())]),
        0,
    );
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..INCREMENTS).for_each(|_| increment(&sandbox.store)));
        }
    });
    assert_eq!(count(&sandbox.store.open().unwrap()), 4 * INCREMENTS);
    sandbox.assert_tidy();
}

/// Returns the counter in the block.
pub(super) fn count(state: &Snapshot) -> u32 {
    let block = state.block(StateTable::General, 0).unwrap().unwrap();
    u32::from_le_bytes(block[..4].try_into().unwrap())
}

/// Adds one to the counter, in a block so large that the file is sometimes rewritten.
pub(super) fn increment(store: &Store) {
    loop {
        let base = store.open().unwrap();
        let mut block = vec![0; 100_000];
        block[..4].copy_from_slice(&(count(&base) + 1).to_le_bytes());
        let changes = changes_of(&[(StateTable::General, 0, &block)]);
        match store
            .publish(Some(&base), changes, [0; 48], &NoSteps)
            .unwrap()
            .0
        {
            PublishOutcome::Appended { .. } | PublishOutcome::Rewritten { .. } => return,
            PublishOutcome::Busy | PublishOutcome::Superseded => std::thread::yield_now(),
            PublishOutcome::Unchanged => panic!("a count is a change"),
        }
    }
}
