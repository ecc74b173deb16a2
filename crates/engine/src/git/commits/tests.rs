use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::memory::{Block, BlockWriter};
use super::*;
use crate::git::refs::testing::Sandbox;
use vigil_testkit::clock::tick;

/// How many commits a history has here: more than are read before it is worth to remember them.
const COUNT: usize = 1500;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_history(COUNT);
    tick();
    sandbox
}

/// The history of `tip`, the first `max` commits that are found: what each says, and how many objects were read for it.
fn walk(sandbox: &Sandbox, tip: &str, max: usize, saves: bool) -> (Vec<String>, usize) {
    let repository = sandbox.repository();
    let objects = Objects::open(&repository).unwrap();
    let mut commits = Commits::remembered(&objects, &repository);
    let tip = commits.number_of(&ObjectId::from_hex(tip.as_bytes()).unwrap());
    let mut pending = vec![tip];
    let mut lines = Vec::new();
    while let Some(number) = pending.pop() {
        if lines.len() == max || commits.flags_of(number) != 0 {
            continue;
        }
        commits.add_flags(number, 1);
        let id = commits.id_of(number).unwrap();
        match commits.read(number) {
            Ok(()) => {
                assert_eq!(commits.first_bytes_of(number), first_bytes(&id));
                let parents = (0..commits.parent_count(number))
                    .map(|at| commits.parent(number, at).unwrap())
                    .collect::<Vec<_>>();
                let names = parents
                    .iter()
                    .map(|parent| format!(" {}", commits.id_of(*parent).unwrap()));
                let (tree, time_s) = (commits.tree_of(number).unwrap(), commits.time_of(number));
                lines.push(format!("{id} {time_s} {tree}{}", names.collect::<String>()));
                pending.extend(parents);
            }
            Err(error) => lines.push(error.to_string()),
        }
    }
    lines.sort();
    let read = commits.by_objects.iter().filter(|told| told.tree.is_some());
    let read = read.count();
    if saves && let Some(learned) = commits.into_learned() {
        learned.save(&repository, &objects);
    }
    (lines, read)
}

/// What git says of the history of `tip`, in the same words.
fn by_git(sandbox: &Sandbox, tip: &str) -> Vec<String> {
    let text = sandbox.git(&["log", "--format=%H %ct %T %P", tip]);
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

/// Walks the whole history of `tip`, which is as git has it. How many objects were read for it.
fn check(sandbox: &Sandbox, tip: &str) -> usize {
    let (lines, read) = walk(sandbox, tip, usize::MAX, false);
    assert!(lines == by_git(sandbox, tip));
    read
}

fn tip(sandbox: &Sandbox) -> String {
    sandbox.id("HEAD").to_string()
}

/// The only file of packs with this ending.
fn pack_file(sandbox: &Sandbox, ending: &str) -> PathBuf {
    let files = fs::read_dir(sandbox.git_dir().join("objects/pack")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|found| found == ending));
    let file = files.next().unwrap();
    assert_eq!(files.next(), None);
    file
}

#[test]
fn what_a_walk_read_is_remembered() {
    let sandbox = sandbox();
    let first = tip(&sandbox);
    assert_eq!(check(&sandbox, &first), COUNT);
    // Too short to be worth it.
    walk(&sandbox, &first, MEMORY_FROM, true);
    assert!(!sandbox.git_dir().join("vigil").exists());
    let known = COUNT - 300;
    walk(&sandbox, &first, known, true);
    let read = check(&sandbox, &first);
    assert!((300..=300 + MEMORY_FROM).contains(&read), "{read}");
    walk(&sandbox, &first, usize::MAX, true);
    let again = check(&sandbox, &first);
    assert_eq!(again, read, "too few are new");
    // Commits on top that are in no pack, one of them with a parent far down. Nothing is written that a pack has: git would
    // set the time of that.
    let far = sandbox.id("HEAD~700").to_string();
    let commit = |parents: &[&str]| {
        let parents = parents.iter().flat_map(|parent| ["-p", parent]);
        let parents: Vec<&str> = parents.collect();
        sandbox.git(&[&["commit-tree", "-m", "m", "HEAD^{tree}"], &parents[..]].concat())
    };
    let merge = commit(&[&commit(&[&first]), &far]);
    let more = check(&sandbox, &merge);
    assert!(more <= 300 + MEMORY_FROM + 2, "{more}");
}

#[test]
fn a_memory_grows_with_the_history() {
    let sandbox = sandbox();
    let first = tip(&sandbox);
    walk(&sandbox, &first, usize::MAX, true);
    let mut input = String::new();
    for at in 0..COUNT {
        writeln!(input, "commit refs/heads/main").unwrap();
        writeln!(input, "committer C <c> 1800000000 +0000\ndata 8\n{at:08}").unwrap();
        if at == 0 {
            writeln!(input, "from {first}").unwrap();
        }
        input.push('\n');
    }
    sandbox.git_with_input(&["fast-import", "--quiet"], input.as_bytes());
    tick();
    let second = tip(&sandbox);
    // The new pack takes nothing from what is known of the first one.
    let (_, read) = walk(&sandbox, &second, usize::MAX, true);
    assert_eq!(read, COUNT);
    assert!(check(&sandbox, &second) <= MEMORY_FROM);
    assert!(check(&sandbox, &first) <= MEMORY_FROM);
}

#[test]
fn nothing_is_believed_of_packs_that_changed() {
    let sandbox = sandbox();
    let first = tip(&sandbox);
    walk(&sandbox, &first, usize::MAX, true);
    assert!(check(&sandbox, &first) <= MEMORY_FROM);
    let pack = pack_file(&sandbox, "pack");
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(0xa5);
    fs::remove_file(&pack).unwrap();
    fs::write(&pack, &bytes).unwrap();
    let (lines, _) = walk(&sandbox, &first, usize::MAX, true);
    assert!(
        lines
            .iter()
            .any(|line| line.contains(" corrupt") || line.contains("bad object"))
    );
    // And nothing of it is remembered.
    assert_eq!(walk(&sandbox, &first, usize::MAX, false).0, lines);

    fs::remove_file(pack_file(&sandbox, "idx")).unwrap();
    let (lines, _) = walk(&sandbox, &first, usize::MAX, false);
    assert_eq!(lines, [format!("bad object {first}")]);
}

#[test]
fn a_commit_in_a_file_of_its_own_is_looked_at_each_time() {
    let sandbox = sandbox();
    sandbox.commit("loose");
    let loose = tip(&sandbox);
    sandbox.commit("on top");
    let top = tip(&sandbox);
    tick();
    walk(&sandbox, &top, usize::MAX, true);
    assert!(check(&sandbox, &top) <= MEMORY_FROM + 2);
    let (fan, rest) = loose.split_at(2);
    fs::remove_file(sandbox.git_dir().join("objects").join(fan).join(rest)).unwrap();
    let (lines, _) = walk(&sandbox, &top, usize::MAX, false);
    assert_eq!(lines.len(), 2);
    assert!(lines.contains(&format!("bad object {loose}")));
}

#[test]
fn a_changed_history_is_not_remembered() {
    let sandbox = sandbox();
    let first = tip(&sandbox);
    walk(&sandbox, &first, usize::MAX, true);
    let [one, other] = ["HEAD~10", "HEAD~900"].map(|name| sandbox.id(name).to_string());
    sandbox.git(&["replace", "--graft", &one, &other]);
    // All are read from their objects.
    assert!(check(&sandbox, &first) > COUNT / 2);
    sandbox.git(&["replace", "-d", &one]);
    assert!(check(&sandbox, &first) <= MEMORY_FROM);
    fs::write(sandbox.git_dir().join("shallow"), format!("{one}\n")).unwrap();
    assert!(check(&sandbox, &first) > COUNT / 2);
}

#[test]
fn a_damaged_memory_is_none() {
    let sandbox = sandbox();
    let first = tip(&sandbox);
    walk(&sandbox, &first, usize::MAX, true);
    let folder = sandbox.git_dir().join("vigil/commits");
    let files = fs::read_dir(&folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let [_, data] = files.try_into().unwrap();
    let whole = fs::read(&data).unwrap();
    for at in [whole.len() / 3, whole.len() / 2, whole.len() - 20] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(&data, &bytes).unwrap();
        let read = check(&sandbox, &first);
        assert!(read == COUNT || read <= MEMORY_FROM, "{at}");
    }
    fs::write(&data, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(check(&sandbox, &first), COUNT);
    // A later walk mends it.
    walk(&sandbox, &first, usize::MAX, true);
    assert!(check(&sandbox, &first) <= MEMORY_FROM);
}

proptest! {
    #[test]
    fn a_block_says_what_was_written(
        commits in proptest::collection::btree_map(any::<[u8; 20]>(), (any::<bool>(), any::<u64>(), proptest::collection::vec(any::<prop::sample::Index>(), 0..4)), 1..40),
        cut in any::<prop::sample::Index>(),
        strange in any::<[u8; 20]>(),
    ) {
        let ids: Vec<ObjectId> = commits.keys().map(|id| ObjectId::Sha1(*id)).collect();
        let tree_of = |parents: &[prop::sample::Index]| *parents.first().map_or(&ids[0], |at| at.get(&ids));
        let places = |parents: &[prop::sample::Index]| -> Vec<u32> {
            parents.iter().map(|at| u32::try_from(at.index(ids.len())).unwrap()).collect()
        };
        let mut writer = BlockWriter::default();
        for (id, (is_read, time_s, parents)) in &commits {
            let (tree, parents) = (tree_of(parents), places(parents));
            let said = is_read.then_some((*time_s, tree.as_ref(), parents.as_slice()));
            writer.push(&ObjectId::Sha1(*id), said).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let count = u32::try_from(commits.len()).unwrap();
        let block = Block::new(&bytes, count, gix_hash::Kind::Sha1).unwrap();
        for (position, (id, (is_read, time_s, parents))) in (0..).zip(&commits) {
            let id = ObjectId::Sha1(*id);
            prop_assert_eq!(block.position_of(&id), Some(position));
            prop_assert_eq!(block.id_at(position), Some(id.as_ref()));
            let found = block.record_at(position);
            prop_assert_eq!(found.is_some(), *is_read);
            if let Some(found) = found {
                prop_assert_eq!(found.time_s, *time_s);
                let tree = tree_of(parents);
                prop_assert_eq!(found.tree, tree.as_ref());
                let found = found.parents.as_chunks::<4>().0.iter();
                prop_assert!(found.map(|at| u32::from_le_bytes(*at)).eq(places(parents)));
            }
        }
        let strange = ObjectId::Sha1(strange);
        prop_assert_eq!(block.position_of(&strange).is_some(), ids.contains(&strange));
        prop_assert!(block.record_at(count).is_none());
        let cut = cut.index(bytes.len());
        if let Some(block) = Block::new(&bytes[..cut], count, gix_hash::Kind::Sha1) {
            for position in 0..=count {
                block.record_at(position);
            }
        }
    }
}
