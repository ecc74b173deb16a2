use super::super::index_file::testing::Repo;
use super::*;

fn load_from(repo: &Repo) -> Result<LoadedIndex, Error> {
    load(&repo.index_path(), &repo.git_dir(), &repo.top(), Kind::Sha1)
}

/// Lists the index as `git ls-files --stage --debug -z` would print it.
fn listing(loaded: &LoadedIndex) -> String {
    let mut out = String::new();
    for entry in loaded.index.entries() {
        let s = &entry.stat;
        out += &format!(
            "{} {} {}\t{}\0  ctime: {}:{}\n  mtime: {}:{}\n  dev: {}\tino: {}\n  uid: {}\tgid: {}\n  size: {}\tflags: {:x}\n",
            entry.mode,
            entry.id,
            entry.flags.stage(),
            loaded.index.path(entry),
            s.ctime_s,
            s.ctime_ns,
            s.mtime_s,
            s.mtime_ns,
            s.dev,
            s.ino,
            s.uid,
            s.gid,
            s.size,
            entry.flags.0,
        );
    }
    out
}

fn assert_listed_as_by_git(repo: &Repo) -> LoadedIndex {
    let expected = repo.git(["ls-files", "--stage", "--debug", "--sparse", "-z"]);
    let loaded = load_from(repo).unwrap();
    // git's own mark on entries of a shared index, which is not in the file.
    let expected = String::from_utf8(expected)
        .unwrap()
        .replace("flags: 8000000\n", "flags: 0\n")
        .replace("flags: 48004000\n", "flags: 40004000\n");
    assert_eq!(listing(&loaded), expected);
    let tree = load_tree(&repo.index_path(), &repo.git_dir(), &repo.top(), Kind::Sha1);
    let tree = tree.unwrap().unwrap();
    let all = |tracked: &Tracked| {
        let entries = (0..tracked.sums().entries).map(|number| tracked.entry(number).unwrap());
        entries.collect::<Vec<_>>()
    };
    assert_eq!(all(&tree.tracked), all(&Tracked::of(&loaded.index)));
    assert_eq!(tree.file.own, loaded.file.own);
    assert_eq!(tree.file.shared, loaded.file.shared);
    assert_eq!(tree.cache_tree.as_ref(), loaded.index.cache_tree());
    loaded
}

fn some_files(repo: &Repo) {
    for path in ["a", "a-b", "a.b/c", "deep/er/file", "deep/file", "z"] {
        repo.write(path, path);
    }
    repo.write(format!("long/{}/{}", "n".repeat(200), "m".repeat(250)), "");
    repo.git(["add", "."]);
}

#[test]
fn an_index_that_follows_another_is_read_as_what_differs() {
    let repo = Repo::new();
    let follow = |earlier: &Tracked| {
        load_difference(&repo.index_path(), &repo.git_dir(), &repo.top(), earlier).unwrap()
    };
    assert!(follow(&Tracked::empty(Kind::Sha1)).is_none());
    some_files(&repo);
    let mut earlier = Tracked::empty(Kind::Sha1);
    let steps: [&[&str]; 5] = [
        &["update-index", "--index-version", "4"],
        &["rm", "-q", "--cached", "deep/er/file", "z"],
        &["update-index", "--skip-worktree", "a"],
        &["read-tree", "--empty"],
        &["add", "."],
    ];
    for step in steps {
        repo.git(step.iter().copied());
        let (tree, moved) = follow(&earlier).unwrap();
        let loaded = load_from(&repo).unwrap();
        let (tracked, expected) = earlier.updated_to(&loaded.index);
        assert_eq!(moved, expected, "{step:?}");
        assert!(!moved.is_empty(), "{step:?}");
        let all = |tracked: &Tracked| {
            let entries = (0..tracked.sums().entries).map(|number| tracked.entry(number).unwrap());
            entries.collect::<Vec<_>>()
        };
        assert_eq!(all(&tree.tracked), all(&tracked), "{step:?}");
        assert_eq!(tree.file.own, loaded.file.own);
        assert_eq!(tree.cache_tree.as_ref(), loaded.index.cache_tree());
        let (_, moved) = follow(&tree.tracked).unwrap();
        assert!(moved.is_empty(), "{step:?}");
        earlier = tree.tracked;
    }
    repo.git(["update-index", "--split-index"]);
    assert!(follow(&earlier).is_none());
}

#[test]
fn every_version_is_read_as_git_reads_it() {
    let repo = Repo::new();
    some_files(&repo);
    repo.write("intent", "");
    for version in ["2", "4"] {
        repo.git(["update-index", "--index-version", version]);
        assert!(!assert_listed_as_by_git(&repo).index.entries().is_empty());
    }
    repo.git(["update-index", "--index-version", "2"]);
    repo.git(["add", "-N", "intent"]);
    repo.git(["update-index", "--skip-worktree", "a"]);
    repo.git(["update-index", "--assume-unchanged", "z"]);
    let loaded = assert_listed_as_by_git(&repo);
    let flags = |path: &str| loaded.index.find(path.into(), 0).unwrap().flags;
    assert!(flags("intent").is_intent_to_add());
    assert!(flags("a").is_skip_worktree());
    assert!(flags("z").is_assume_valid());
}

#[test]
fn conflicts_and_sha256_are_read() {
    let repo = Repo::new();
    let id = "1234567890123456789012345678901234567890";
    let info = format!("100644 {id} 1\tx\n100755 {id} 2\tx\n120000 {id} 3\tx\n160000 {id} 0\ty\n");
    repo.git_with_input(["update-index", "--index-info"], info.as_bytes());
    assert_listed_as_by_git(&repo);

    std::fs::remove_dir_all(repo.git_dir()).unwrap();
    repo.git(["init", "-q", "--object-format=sha256"]);
    some_files(&repo);
    let expected = repo.git(["rev-parse", ":a"]);
    let (path, git_dir) = (repo.index_path(), repo.git_dir());
    let loaded = load(&path, &git_dir, &repo.top(), Kind::Sha256).unwrap();
    let found = loaded.index.find("a".into(), 0).unwrap().id;
    assert_eq!(format!("{found}\n").as_bytes(), expected);
}

#[test]
fn an_index_longer_than_a_piece_is_read_whole() {
    let repo = Repo::new();
    let id = "1234567890123456789012345678901234567890";
    let long = "l".repeat(PIECE_LEN + 1);
    let mut info: String = (0..12_000)
        .map(|n| format!("100644 {id} 0\tdir{}/file{n}\n", n / 100))
        .collect();
    info += &format!("100644 {id} 0\t{long}\n");
    for version in ["2", "4"] {
        repo.git_with_input(["update-index", "--index-info"], info.as_bytes());
        repo.git(["update-index", "--index-version", version]);
        let loaded = assert_listed_as_by_git(&repo);
        assert_eq!(loaded.index.entries().len(), 12_001);
    }
    let whole = std::fs::read(repo.index_path()).unwrap();
    std::fs::write(repo.index_path(), &whole[..whole.len() / 2]).unwrap();
    // git takes what follows the end for an entry.
    assert_eq!(
        load_from(&repo).unwrap_err().to_string(),
        "index file corrupt"
    );
}

#[test]
fn a_cache_tree_knows_the_tree() {
    let repo = Repo::new();
    some_files(&repo);
    let tree = repo.git(["write-tree"]);
    let deep = repo.git([
        "rev-parse",
        &format!("{}:deep", String::from_utf8(tree.clone()).unwrap().trim()),
    ]);
    let loaded = load_from(&repo).unwrap();
    let root = loaded.index.cache_tree().unwrap();
    let count = loaded.index.entries().len() as u32;
    let (found, id) = root.tree.unwrap();
    assert_eq!((found, format!("{id}\n").into_bytes()), (count, tree));
    let (found, id) = root.child(b"deep").unwrap().tree.unwrap();
    assert_eq!((found, format!("{id}\n").into_bytes()), (2, deep));
}

#[test]
fn a_split_index_is_joined_wherever_the_shared_one_lies() {
    let repo = Repo::new();
    some_files(&repo);
    repo.git(["update-index", "--split-index"]);
    repo.write("a", "changed");
    repo.write("added", "");
    std::fs::remove_file(repo.top().join("deep/file")).unwrap();
    repo.git(["add", "-A"]);
    let loaded = assert_listed_as_by_git(&repo);
    let shared = loaded.file.shared.expect("the index is split");
    assert!(shared.stamp.is_some());
    assert!(shared.path.starts_with(repo.git_dir()));

    // A copy elsewhere: with the shared index in the repository, then next to the copy.
    let elsewhere = repo.top().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let copy = elsewhere.join("index");
    std::fs::copy(repo.index_path(), &copy).unwrap();
    let load_copy = || load(&copy, &repo.git_dir(), &repo.top(), Kind::Sha1).unwrap();
    assert_eq!(load_copy().file.shared.unwrap().path, shared.path);
    let moved = elsewhere.join(shared.path.file_name().unwrap());
    std::fs::rename(&shared.path, &moved).unwrap();
    assert_eq!(load_copy().file.shared.unwrap().path, moved);
    assert_eq!(
        load_copy().index.entries().len(),
        loaded.index.entries().len()
    );
}

#[test]
fn a_split_index_is_joined_whatever_its_own_part_does_to_the_shared_one() {
    let repo = Repo::new();
    repo.git(["config", "splitIndex.maxPercentChange", "100"]);
    let is_split = || {
        let loaded = assert_listed_as_by_git(&repo);
        assert!(loaded.file.shared.is_some());
        loaded.index.entries().len()
    };
    // The split index has all entries itself, or more.
    repo.git(["update-index", "--split-index"]);
    some_files(&repo);
    assert_eq!(is_split(), 7);
    // It has none itself.
    repo.git(["update-index", "--no-split-index"]);
    repo.git(["update-index", "--split-index"]);
    assert_eq!(is_split(), 7);
    // It replaces all; then it adds some before, between and after them.
    let all = repo.git(["ls-files", "-z"]);
    repo.git_with_input(["update-index", "-z", "--skip-worktree", "--stdin"], &all);
    assert_eq!(is_split(), 7);
    for path in ["A", "deep/file.x", "zz"] {
        repo.write(path, "added");
    }
    repo.git(["add", "A", "deep/file.x", "zz"]);
    assert_eq!(is_split(), 10);
    // It removes stages, and puts others in their place.
    let id = "1234567890123456789012345678901234567890";
    let stages = format!("0 {id} 0\ta\n100644 {id} 1\ta\n100644 {id} 3\ta\n");
    repo.git_with_input(["update-index", "--index-info"], stages.as_bytes());
    assert_eq!(is_split(), 11);
    repo.git_with_input(["update-index", "--force-remove", "-z", "--stdin"], &all);
    assert_eq!(is_split(), 3);
}

#[test]
fn a_sparse_index_keeps_its_directories() {
    let repo = Repo::new();
    some_files(&repo);
    repo.commit();
    repo.git([
        "sparse-checkout",
        "set",
        "--cone",
        "--sparse-index",
        "deep/er",
    ]);
    let loaded = assert_listed_as_by_git(&repo);
    assert!(loaded.index.is_sparse());
    let long = loaded.index.find("long/".into(), 0).unwrap();
    assert!(long.is_sparse_directory());
}

#[test]
fn no_index_is_an_empty_one_until_there_is_one() {
    let repo = Repo::new();
    let loaded = load_from(&repo).unwrap();
    assert!(!loaded.file.exists());
    assert!(loaded.index.entries().is_empty());
    assert!(loaded.file.is_current());
    some_files(&repo);
    assert!(!loaded.file.is_current());
}

#[test]
fn an_index_is_current_until_it_or_its_shared_one_moves_on() {
    let repo = Repo::new();
    some_files(&repo);
    repo.git(["update-index", "--split-index"]);
    let shared_path = load_from(&repo).unwrap().file.shared.unwrap().path;
    let fresh = || {
        Repo::age(&repo.index_path());
        Repo::age(&shared_path);
        let loaded = load_from(&repo).unwrap();
        assert!(loaded.file.is_current());
        loaded
    };
    let loaded = fresh();
    repo.git(["update-index", "--chmod=+x", "a"]);
    assert!(!loaded.file.is_current());
    let loaded = fresh();
    std::fs::remove_file(&shared_path).unwrap();
    assert!(!loaded.file.is_current());
}

#[test]
fn an_index_written_when_it_was_read_proves_nothing() {
    let repo = Repo::new();
    some_files(&repo);
    let future = std::time::SystemTime::now() + std::time::Duration::from_secs(1000);
    let file = File::options().write(true).open(repo.index_path()).unwrap();
    file.set_modified(future).unwrap();
    assert!(!load_from(&repo).unwrap().file.is_current());
}

/// Compares our error for an index that cannot be read with git's stderr.
#[track_caller]
fn assert_fails_as_git(repo: &Repo) {
    let output = repo.output("", ["ls-files"], "");
    assert!(!output.status.success());
    let error = load_from(repo).unwrap_err();
    let mut ours: String = error
        .error_lines()
        .iter()
        .map(|line| format!("error: {line}\n"))
        .collect();
    ours += &format!("fatal: {error}\n");
    assert_eq!(ours, String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_git_cannot_read_fails_with_its_words() {
    let repo = Repo::new();
    some_files(&repo);
    repo.git(["update-index", "--index-version", "4"]);
    let good = std::fs::read(repo.index_path()).unwrap();
    let put = |bytes: &[u8]| std::fs::write(repo.index_path(), bytes).unwrap();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        put(&bytes);
    };
    put(b"");
    assert_fails_as_git(&repo);
    put(&good[..31]);
    assert_fails_as_git(&repo);
    with(1, b'x');
    assert_fails_as_git(&repo);
    with(4, 0xff);
    assert_fails_as_git(&repo);
    with(7, 1);
    assert_fails_as_git(&repo);
    let second = 12 + 62 + 3;
    with(second + 62, 9);
    assert_fails_as_git(&repo);
    with(second + 60, 0x40);
    assert_fails_as_git(&repo);

    let mut mandatory = good[..good.len() - 20].to_vec();
    mandatory.extend(b"abcd\0\0\0\0");
    mandatory.extend([0; 20]);
    put(&mandatory);
    assert_fails_as_git(&repo);

    std::fs::remove_file(repo.index_path()).unwrap();
    std::fs::create_dir(repo.index_path()).unwrap();
    assert_fails_as_git(&repo);
}

#[test]
fn a_shared_index_that_is_gone_or_another_fails_with_gits_words() {
    let repo = Repo::new();
    some_files(&repo);
    repo.git(["update-index", "--split-index"]);
    let shared = load_from(&repo).unwrap().file.shared.unwrap().path;
    let good = std::fs::read(&shared).unwrap();

    let mut other = good.clone();
    *other.last_mut().unwrap() ^= 1;
    std::fs::remove_file(&shared).unwrap();
    std::fs::write(&shared, other).unwrap();
    assert_fails_as_git(&repo);

    // Fewer entries than the bitmaps refer to, under the same name and checksum.
    repo.write("a", "changed");
    std::fs::write(&shared, &good).unwrap();
    repo.git(["add", "a"]);
    let mut none = b"DIRC\0\0\0\x02\0\0\0\0".to_vec();
    none.extend(&good[good.len() - 20..]);
    std::fs::write(&shared, none).unwrap();
    assert_fails_as_git(&repo);

    std::fs::remove_file(&shared).unwrap();
    assert_fails_as_git(&repo);
}

#[test]
fn an_optional_extension_that_nobody_knows_is_noticed() {
    let repo = Repo::new();
    let mut bytes = b"DIRC\0\0\0\x02\0\0\0\0".to_vec();
    bytes.extend(b"ABCD\0\0\0\x01x");
    bytes.extend([0; 20]);
    std::fs::write(repo.index_path(), bytes).unwrap();
    let output = repo.output("", ["ls-files"], "");
    let notices = load_from(&repo).unwrap().file.notices;
    assert_eq!(notices, ["ignoring ABCD extension"]);
    assert_eq!(output.stderr, b"ignoring ABCD extension\n");
}
