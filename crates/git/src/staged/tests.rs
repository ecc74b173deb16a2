use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};
use gix_hash::Kind;
use vigil_model::ObjectId;
use vigil_model::change::ChangeKind;

use super::*;
use crate::index_file::load;
use crate::index_file::testing::{CatFile, Repo};
use vigil_testkit::chance::Chance;

fn index(repo: &Repo) -> Index {
    let loaded = load(&repo.index_path(), &repo.git_dir(), &repo.top(), Kind::Sha1);
    loaded.unwrap().index
}

fn id(repo: &Repo, name: &str) -> ObjectId {
    let output = repo.git(["rev-parse", name]);
    ObjectId::from_hex(output.trim_end()).unwrap()
}

/// Formats the diff as `git diff-index --cached --raw -z` prints it.
fn as_raw(diff: &StagedDiff) -> Vec<String> {
    let mut lines: Vec<(&BString, String)> = Vec::new();
    for change in &diff.changes {
        let line = format!(
            ":{} {} {} {} {}",
            change.head_mode,
            change.index_mode,
            change.head_id,
            change.index_id,
            change.kind.letter() as char
        );
        lines.push((&change.path, line));
    }
    for unmerged in &diff.unmerged {
        let null = ObjectId::null(Kind::Sha1);
        let line = format!(
            ":{} 000000 {} {null} U",
            unmerged.head_mode, unmerged.head_id
        );
        lines.push((&unmerged.path, line));
    }
    lines.sort();
    let lines = lines.into_iter();
    lines.map(|(path, line)| format!("{line} {path}")).collect()
}

fn git_raw(repo: &Repo, tree: &str) -> Vec<String> {
    let args = [
        "diff-index",
        "-r",
        "--cached",
        "--raw",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "--ita-invisible-in-index",
        tree,
    ];
    let output = repo.git(args);
    let fields: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
    let mut lines: Vec<String> = fields
        .as_chunks::<2>()
        .0
        .iter()
        .map(|pair| format!("{} {}", pair[0].as_bstr(), pair[1].as_bstr()))
        .collect();
    // If HEAD does not have the path, git lists a conflict once for each of its stages.
    lines.dedup();
    lines
}

fn diff_by_tracked(
    head: Option<&oid>,
    index: &Index,
    trees: &dyn TreeSource,
    max: Option<usize>,
) -> Result<Option<StagedDiff>, Error> {
    let tracked = Tracked::of(index);
    let index = (&tracked, index.cache_tree());
    diff_tracked(head, index, trees, max)
}

/// Calls [`diff`], and checks that it gives the same for the index and for its tracked files.
#[track_caller]
fn diff_both_ways(
    head: Option<&oid>,
    index: &Index,
    trees: &dyn TreeSource,
    max: Option<usize>,
) -> Result<StagedDiff, Error> {
    let of_index = diff(head, index, trees, max);
    match (&of_index, diff_by_tracked(head, index, trees, max)) {
        (Ok(of_index), of_tracked) => assert_eq!(of_tracked.unwrap().as_ref(), Some(of_index)),
        (Err(of_index), of_tracked) => {
            assert_eq!(of_tracked.unwrap_err().to_string(), of_index.to_string());
        }
    }
    of_index
}

#[track_caller]
fn assert_same_as_git(repo: &Repo, tree: &str) -> StagedDiff {
    let objects = CatFile::new(repo);
    let head = id(repo, &format!("{tree}^{{tree}}"));
    let found = diff_both_ways(Some(&head), &index(repo), &objects, None).unwrap();
    assert_eq!(as_raw(&found), git_raw(repo, tree));
    found
}

const MODES: [&str; 5] = ["100644", "100644", "100755", "120000", "160000"];
/// Names whose order depends on whether they are directories.
const NAMES: [&str; 8] = ["a", "a-", "a.b", "a0", "b", "b.", "c", "\u{e9}"];

fn random_path(random: &mut Chance) -> String {
    let depth = 1 + random.below(3);
    let names: Vec<&str> = (0..depth).map(|_| random.pick(&NAMES)).collect();
    names.join("/")
}

/// Returns random files, none of which is below another.
fn random_files(random: &mut Chance, count: usize) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for _ in 0..count {
        add_random_file(random, &mut files);
    }
    files
}

fn add_random_file(random: &mut Chance, files: &mut BTreeMap<String, String>) {
    let path = random_path(random);
    let below = format!("{path}/");
    files.retain(|other, _| !other.starts_with(&below) && !path.starts_with(&format!("{other}/")));
    let id = format!("{:040x}", random.below(4) + 1);
    files.insert(path, format!("{} {id}", random.pick(&MODES)));
}

/// Makes the index hold `files`, each with `MODE ID`.
fn set_index(repo: &Repo, files: &BTreeMap<String, String>) {
    repo.git(["read-tree", "--empty"]);
    let lines: Vec<String> = files
        .iter()
        .map(|(path, entry)| format!("{entry} 0\t{path}\0"))
        .collect();
    repo.git_with_input(
        ["update-index", "-z", "--index-info"],
        lines.concat().as_bytes(),
    );
}

fn write_tree(repo: &Repo) -> String {
    let tree = repo.git(["write-tree", "--missing-ok"]);
    String::from_utf8(tree).unwrap().trim_end().to_owned()
}

#[test]
fn random_trees_and_indexes_compare_as_by_git() {
    let repo = Repo::new();
    for seed in 0..24 {
        let mut random = Chance::new(seed);
        let count = random.below(30);
        let mut files = random_files(&mut random, count);
        set_index(&repo, &files);
        // Writing the tree leaves a cache-tree, which the changes then invalidate in part.
        let tree = write_tree(&repo);
        for _ in 0..random.below(6) {
            let paths: Vec<String> = files.keys().cloned().collect();
            if random.below(2) == 0 && !paths.is_empty() {
                let path = paths[random.below(paths.len())].clone();
                repo.git(["update-index", "--force-remove", &path]);
                files.remove(&path);
            } else {
                add_random_file(&mut random, &mut files);
                let lines: Vec<String> = files
                    .iter()
                    .map(|(path, entry)| format!("{entry} 0\t{path}\n"))
                    .collect();
                let gone = paths.iter().filter(|path| !files.contains_key(*path));
                let gone: Vec<String> = gone
                    .map(|path| format!("0 {:040} 0\t{path}\n", 0))
                    .collect();
                let input = gone.concat() + &lines.concat();
                repo.git_with_input(["update-index", "--index-info"], input.as_bytes());
            }
        }
        if random.below(2) == 0 {
            write_tree(&repo);
        }
        assert_same_as_git(&repo, &tree);
    }
}

#[test]
fn conflicts_hide_the_change_and_tell_what_head_has() {
    let repo = Repo::new();
    for seed in 100..108 {
        let mut random = Chance::new(seed);
        let files = random_files(&mut random, 12);
        set_index(&repo, &files);
        let tree = write_tree(&repo);
        let mut input = String::new();
        for path in files.keys().filter(|_| random.below(3) == 0) {
            input += &format!("0 {:040} 0\t{path}\n", 0);
            for stage in 1..=3 {
                input += &format!("100644 {stage:040x} {stage}\t{path}\n");
            }
        }
        input += &format!("100644 {:040x} 2\tnew\n100644 {:040x} 3\tnew\n", 1, 2);
        repo.git_with_input(["update-index", "--index-info"], input.as_bytes());
        let found = assert_same_as_git(&repo, &tree);
        assert!(found.unmerged.iter().any(|unmerged| unmerged.path == "new"));
    }
}

#[test]
fn entries_with_intent_to_add_count_as_absent() {
    let repo = Repo::new();
    repo.write("tracked/a", "a");
    repo.git(["add", "."]);
    repo.commit();
    repo.git(["rm", "-q", "--cached", "tracked/a"]);
    repo.write("tracked/new", "");
    repo.git(["add", "-N", "."]);
    let found = assert_same_as_git(&repo, "HEAD");
    assert_eq!(found.changes.len(), 1);
    assert_eq!(found.changes[0].kind, ChangeKind::Deleted);
}

#[test]
fn on_an_unborn_branch_all_is_added() {
    let repo = Repo::new();
    let empty = repo.git_with_input(["mktree"], "");
    repo.write("b", "");
    repo.write("a/b", "");
    repo.git(["add", "."]);
    let objects = CatFile::new(&repo);
    let found = diff_both_ways(None, &index(&repo), &objects, None).unwrap();
    assert_eq!(as_raw(&found), git_raw(&repo, empty.trim_end()));
    assert_eq!(found.changes.len(), 2);
}

#[test]
fn known_subtrees_are_not_read() {
    let repo = Repo::new();
    for path in ["same/deep/a", "same/b", "other/c/d", "other/e"] {
        repo.write(path, path);
    }
    repo.git(["add", "."]);
    repo.commit();
    let head = id(&repo, "HEAD^{tree}");
    let asked = || {
        let objects = CatFile::new(&repo);
        let found = diff_both_ways(Some(&head), &index(&repo), &objects, None).unwrap();
        let asked = objects.asked.lock().unwrap().len();
        (found.changes.len(), asked)
    };
    assert_eq!(asked(), (0, 2), "the top, each way");
    repo.write("other/e", "changed");
    repo.git(["add", "other/e"]);
    assert_eq!(
        asked(),
        (1, 4),
        "the top and the directory of the file, each way"
    );
}

#[test]
fn a_cache_tree_that_counts_wrongly_needs_the_whole_index() {
    let repo = Repo::new();
    for path in ["a", "sub/b", "sub/c", "z"] {
        repo.write(path, path);
    }
    repo.git(["add", "."]);
    repo.commit();
    let head = id(&repo, "HEAD^{tree}");
    let objects = CatFile::new(&repo);
    // Something must differ from HEAD, or the whole is known to be the same.
    repo.write("z", "other");
    repo.git(["add", "z"]);
    let right = std::fs::read(repo.index_path()).unwrap();
    assert!(diff_both_ways(Some(&head), &index(&repo), &objects, None).is_ok());
    for count in ["1", "3"] {
        let wrong = right.replace("sub\x002 0\n", format!("sub\0{count} 0\n"));
        assert_ne!(wrong, right);
        std::fs::write(repo.index_path(), wrong).unwrap();
        let index = index(&repo);
        assert_eq!(
            diff_by_tracked(Some(&head), &index, &objects, None).unwrap(),
            None
        );
        assert!(diff(Some(&head), &index, &objects, None).is_ok());
    }
}

#[test]
fn the_first_change_can_be_enough() {
    let repo = Repo::new();
    for path in ["a", "b/c", "d"] {
        repo.write(path, path);
    }
    repo.git(["add", "."]);
    let objects = CatFile::new(&repo);
    let found = diff_both_ways(None, &index(&repo), &objects, Some(2)).unwrap();
    let paths: Vec<_> = found.changes.iter().map(|change| &change.path).collect();
    assert_eq!(paths, ["a", "b/c"]);
}

#[test]
fn sparse_directories_are_compared_by_tree_and_expanded_where_they_differ() {
    let repo = Repo::new();
    for path in ["in/a", "out/b/c", "out/b/d", "out/e", "same/f/g"] {
        repo.write(path, path);
    }
    repo.git(["add", "."]);
    repo.commit();
    let changed = String::from_utf8(repo.git(["rev-parse", "HEAD"])).unwrap();
    repo.write("out/b/c", "changed");
    repo.write("out/b/new", "");
    std::fs::remove_file(repo.top().join("out/e")).unwrap();
    repo.git(["add", "-A"]);
    repo.commit();
    repo.git(["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    let sparse = index(&repo);
    assert!(sparse.find("out/".into(), 0).is_some());
    assert_same_as_git(&repo, "HEAD");
    let found = assert_same_as_git(&repo, changed.trim_end());
    assert_eq!(found.changes.len(), 3);

    // Against a HEAD that has none of the files.
    let empty = repo.git_with_input(["mktree"], "");
    assert_same_as_git(&repo, empty.trim_end());

    let objects = CatFile::new(&repo);
    // A file in its place fails one of git's own assertions; here the whole directory is added.
    let blob = String::from_utf8(repo.git(["rev-parse", "HEAD:in/a"])).unwrap();
    let entry = format!("100644 blob {}\tout\n", blob.trim_end());
    let tree = repo.git_with_input(["mktree"], entry.as_bytes());
    let tree = ObjectId::from_hex(tree.as_bytes()).unwrap();
    let found = diff_both_ways(Some(&tree), &sparse, &objects, None).unwrap();
    let paths: Vec<_> = found.changes.iter().map(|change| &change.path).collect();
    assert_eq!(
        paths,
        ["in/a", "out", "out/b/c", "out/b/d", "out/b/new", "same/f/g"]
    );

    let expanded = expand_sparse_directories(sparse, &objects, |path| path == "out/").unwrap();
    let paths: Vec<_> = expanded
        .entries()
        .iter()
        .map(|entry| expanded.path(entry))
        .collect();
    assert_eq!(paths, ["in/a", "out/b/c", "out/b/d", "out/b/new", "same/"]);
}

#[test]
fn a_sparse_directory_counts_whatever_the_cache_tree_says_of_the_whole() {
    use sha1::{Digest, Sha1};

    let repo = Repo::new();
    repo.write("in/a", "a");
    repo.write("out/b/c", "c");
    repo.git(["add", "."]);
    repo.commit();
    let id_of_out = || {
        let id = repo.git(["rev-parse", "HEAD:out"]);
        ObjectId::from_hex(id.trim_end()).unwrap()
    };
    let other = id_of_out();
    repo.write("out/b/new", "");
    repo.git(["add", "."]);
    repo.commit();
    repo.git(["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    assert_same_as_git(&repo, "HEAD");

    // As `git stash` may leave it: the entry has another tree than the cache-tree.
    let path = repo.top().join(".git/index");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.find(id_of_out().as_bytes()).unwrap();
    bytes[at..at + 20].copy_from_slice(other.as_bytes());
    let end = bytes.len() - 20;
    let checksum = Sha1::digest(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum);
    std::fs::write(&path, bytes).unwrap();
    let found = assert_same_as_git(&repo, "HEAD");
    assert_eq!(found.changes.len(), 1);
}

#[test]
fn a_sparse_directory_may_be_all_that_is_in_another() {
    let repo = Repo::new();
    repo.write("out/deep/file", "f");
    repo.git(["add", "."]);
    repo.commit();
    repo.git([
        "sparse-checkout",
        "set",
        "--cone",
        "--skip-checks",
        "--sparse-index",
        "out/other",
    ]);
    assert!(index(&repo).find("out/deep/".into(), 0).is_some());
    assert_same_as_git(&repo, "HEAD");
    let empty = repo.git_with_input(["mktree"], "");
    let found = assert_same_as_git(&repo, empty.trim_end());
    assert_eq!(found.changes.len(), 1);
}

struct Trees(BTreeMap<ObjectId, Vec<u8>>);

impl TreeSource for Trees {
    fn tree(&self, id: &oid, buf: &mut Vec<u8>) -> Result<bool, SourceError> {
        let data = self.0.get(&ObjectId::from(id));
        buf.extend(data.into_iter().flatten());
        Ok(data.is_some())
    }
}

fn tree_entry(mode: &str, name: &str, id: ObjectId) -> Vec<u8> {
    let mut data = format!("{mode} {name}\0").into_bytes();
    data.extend(id.as_slice());
    data
}

fn numbered_id(number: u32) -> ObjectId {
    let mut bytes = [1; 20];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    ObjectId::Sha1(bytes)
}

#[test]
fn a_tree_that_is_missing_or_malformed_is_named() {
    let index = Index::empty(Kind::Sha1);
    let (top, lower) = (numbered_id(1), numbered_id(2));
    let mut trees = Trees(BTreeMap::new());
    let fails = |trees: &Trees| diff_both_ways(Some(&top), &index, trees, None).unwrap_err();
    assert!(matches!(fails(&trees), Error::Missing { id, .. } if id == top));
    trees.0.insert(top, tree_entry("40000", "a", lower));
    assert_eq!(
        fails(&trees).to_string(),
        format!("unable to read tree ({lower})")
    );
    trees.0.insert(lower, b"100644 a".to_vec());
    let error = fails(&trees);
    assert_eq!(error.to_string(), "too-short tree object");
    assert!(matches!(error, Error::Corrupt { id, .. } if id == lower));
}

#[test]
fn trees_may_lie_as_deep_as_git_allows() {
    let chain = |depth: u32| {
        let mut trees = Trees(BTreeMap::new());
        for level in 0..depth {
            trees.0.insert(
                numbered_id(level),
                tree_entry("40000", "d", numbered_id(level + 1)),
            );
        }
        trees.0.insert(
            numbered_id(depth),
            tree_entry("100644", "f", numbered_id(0)),
        );
        diff_both_ways(
            Some(&numbered_id(0)),
            &Index::empty(Kind::Sha1),
            &trees,
            None,
        )
    };
    assert_eq!(chain(2048).unwrap().changes.len(), 1);
    assert!(matches!(chain(2049), Err(Error::TooDeep { .. })));
}

#[test]
fn trees_that_stand_for_billions_of_files_are_given_up() {
    let mut trees = Trees(BTreeMap::new());
    for level in 0..12 {
        let mode = if level < 11 { "40000" } else { "100644" };
        let entry = |name: u8| tree_entry(mode, &name.to_string(), numbered_id(level + 1));
        trees
            .0
            .insert(numbered_id(level), (0..10).flat_map(entry).collect());
    }
    let top = numbered_id(0);
    let index = Index::empty(Kind::Sha1);
    let diff = diff_both_ways(Some(&top), &index, &trees, None);
    assert!(matches!(diff, Err(Error::TooMany)));
    let expanded = expand_sparse_directory("d/".into(), &top, &trees);
    assert!(matches!(expanded, Err(Error::TooMany)));
}
