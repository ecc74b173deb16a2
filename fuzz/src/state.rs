//! The state file.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use vigil_model::HashKind;
use vigil_model::index::Index;
use vigil_model::seen::SeenBlock;
use vigil_model::tracked::{self, Damaged, DirNumber, Tracked};
use vigil_store::image;
use vigil_store::{Changes, Snapshot, StateTable};

use crate::input::Input;

const TABLES: [StateTable; StateTable::COUNT] = StateTable::WRITTEN;

type Blocks = BTreeMap<(StateTable, u32), Vec<u8>>;

/// All blocks that can be read. Keys ascend, blocks have the lengths of their slots and are aligned to 8 bytes, and together
/// they do not exceed the data.
fn blocks(state: &Snapshot) -> Blocks {
    let mut blocks = Blocks::new();
    for table in TABLES {
        let mut stored = 0;
        let mut end = 0;
        for found in state.blocks(table) {
            let Ok((key, len)) = found else { break };
            assert!((end..state.keys(table)).contains(&key));
            end = key + 1;
            stored += u64::from(len).max(1).next_multiple_of(8);
            if let Ok(block) = state.block(table, key) {
                let block = block.expect("a block that is listed");
                assert_eq!(block.len(), len as usize);
                assert!(block.as_ptr().addr().is_multiple_of(8));
                blocks.insert((table, key), block.to_vec());
            }
        }
        assert!(stored <= state.used_len());
    }
    blocks
}

/// Any bytes are read in bounded time, and can be written to. A state that is whole stays so, and then has the changes.
pub(crate) fn state_file(data: &[u8]) {
    let mut input = Input(data);
    let fixes_headers = input.byte() & 1 == 1;
    let docket = input.part();
    let content = input.part();
    let Some(state) = image::state(docket, content, fixes_headers) else {
        return;
    };
    let mut expected = blocks(&state);
    let is_whole = state.verify_all().is_ok();
    let mut changes = Changes::new();
    while !input.0.is_empty() && expected.len() < 1000 {
        let choice = input.byte();
        let table = TABLES[usize::from(choice >> 6)];
        // Also near the bounds of nodes and levels.
        let key = u32::from(input.byte()) << (choice & 0x18);
        let key = key.wrapping_add(u32::from(input.byte())).min(u32::MAX - 1);
        let _ = state.block(table, key);
        if choice & 1 == 0 {
            let block = input.field().to_vec();
            changes.set(table, key, block.clone());
            expected.insert((table, key), block);
        } else {
            changes.remove(table, key);
            expected.remove(&(table, key));
        }
    }
    for published in [
        image::appended(&state, &changes),
        image::rewritten(&state, &changes),
    ] {
        let found = published.as_ref().map(blocks);
        if is_whole {
            published
                .expect("a state")
                .verify_all()
                .expect("a whole state");
            assert_eq!(found.as_ref(), Some(&expected));
        }
    }
}

/// Blocks of directories and of files, in the order of the input.
struct FakeBlocks {
    directories: Vec<Vec<u8>>,
    files: Vec<Vec<u8>>,
}

fn block(blocks: &[Vec<u8>], key: u32) -> Result<&[u8], Damaged> {
    let block = blocks.get(key as usize).map(Vec::as_slice);
    block.ok_or(Damaged { key })
}

impl tracked::Blocks for FakeBlocks {
    fn directory(&self, number: DirNumber) -> Result<&[u8], Damaged> {
        block(&self.directories, number)
    }

    fn files(&self, key: u32) -> Result<&[u8], Damaged> {
        block(&self.files, key)
    }

    fn directory_number_end(&self) -> u32 {
        self.directories.len() as u32
    }

    fn files_key_end(&self) -> u32 {
        self.files.len() as u32
    }

    fn untrusted_len(&self) -> Option<u64> {
        let blocks = self.directories.iter().chain(&self.files);
        Some(blocks.map(|block| block.len() as u64).sum())
    }
}

/// Any bytes form a tree of tracked files or a damaged one, which is walked in bounded time. A new index gives the same tree
/// with it as without. Any bytes are a valid record of what a scan saw, or are rejected.
pub(crate) fn state_blocks(data: &[u8]) {
    let mut input = Input(data);
    let mut seen = 0usize;
    if let Some(block) = SeenBlock::parse(data) {
        seen += block.compared().len();
        for listing in block.listings() {
            seen += listing.untracked().count() + listing.ignored().count();
            seen += listing.excluded().count() + listing.witnesses().count();
        }
        assert!(seen <= data.len());
    }
    let mut given = FakeBlocks {
        directories: Vec::new(),
        files: Vec::new(),
    };
    while !input.0.is_empty() && given.directories.len() < 64 {
        let to = match input.byte() & 3 {
            0 => &mut given.files,
            _ => &mut given.directories,
        };
        to.push(input.part().to_vec());
    }
    let tracked = Tracked::new(HashKind::Sha1, Arc::new(given));
    let mut visited = 0usize;
    let _ = tracked.visit::<()>(
        |_| true,
        |number, path, file| {
            visited += 1;
            let _ = (file.id(), file.stat(), file.mode());
            if visited.is_multiple_of(7) {
                let _ = tracked.entry(number);
                let _ = tracked.find(path, file.flags().stage());
            }
            match visited < 2000 {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        },
    );
    tracked.each_block(|_| {});
    let index = Index::empty(HashKind::Sha1);
    let (updated, _) = tracked.updated_to(&index);
    assert_eq!(updated.sums(), Tracked::of(&index).sums());
    assert_eq!(updated.check(), Ok(()));
}
