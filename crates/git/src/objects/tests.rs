use std::fs;
use std::path::Path;

use super::*;
use crate::testing::OpenRepository as _;
use vigil_testkit::sandbox::{FORMATS, Sandbox};

/// A repository with a few commits, trees, blobs and tags.
fn filled_repository() -> Sandbox {
    let sandbox = Sandbox::new();
    for n in 0..6 {
        let lines: String = (0..200)
            .map(|line| format!("{line} {}\n", line * n))
            .collect();
        fs::create_dir_all(sandbox.top().join("d/e")).unwrap();
        fs::write(sandbox.top().join("d/e/file"), lines).unwrap();
        sandbox.git(["add", "."]);
        sandbox.commit(&format!("commit {n}"));
    }
    sandbox.git(["tag", "-a", "-m", "t", "one"]);
    sandbox.git(["tag", "-a", "-m", "t", "two", "one"]);
    sandbox
}

/// Returns git's stderr for reading `tree`, run at the top of the working tree, to which file names in
/// messages are relative.
fn cat_tree(sandbox: &Sandbox, tree: &str) -> String {
    sandbox.try_git(["cat-file", "tree", tree]).stderr
}

fn all_ids(sandbox: &Sandbox) -> Vec<(ObjectId, String)> {
    let list = sandbox.git([
        "cat-file",
        "--batch-check",
        "--batch-all-objects",
        "--unordered",
    ]);
    list.lines()
        .map(|line| {
            let mut words = line.split(' ');
            let id = ObjectId::from_hex(words.next().unwrap().as_bytes()).unwrap();
            (id, words.next().unwrap().to_owned())
        })
        .collect()
}

fn check_all(sandbox: &Sandbox, objects: &Objects) {
    let mut buf = Vec::new();
    for (id, kind) in all_ids(sandbox) {
        assert_eq!(
            objects.read(&id, &mut buf).unwrap().unwrap().to_string(),
            kind
        );
        assert_eq!(objects.kind(&id).unwrap().unwrap().to_string(), kind);
        let kind = Kind::from_bytes(kind.as_bytes()).unwrap();
        let found = gix_object::compute_hash(id.kind(), kind, &buf).unwrap();
        assert_eq!(found, id);
    }
}

#[test]
fn a_clone_reads_in_another_thread() {
    let sandbox = filled_repository();
    let objects = sandbox.open_objects();
    let (clone, head) = (objects.clone(), sandbox.id("HEAD"));
    let there = std::thread::spawn(move || clone.commit(&head).unwrap());
    assert_eq!(there.join().unwrap(), objects.commit(&head).unwrap());
}

#[test]
fn objects_are_read_loose_packed_from_alternates_and_after_a_repack() {
    for (format, hash) in FORMATS {
        let sandbox = Sandbox::with_formats(format, hash);
        sandbox.commit("one");
        let objects = sandbox.open_objects();
        check_all(&sandbox, &objects);
        sandbox.commit("two");
        sandbox.git(["repack", "-adq"]);
        check_all(&sandbox, &objects.clone());
        sandbox.commit("three");
        sandbox.git(["repack", "-dq"]);
        sandbox.git(["multi-pack-index", "write"]);
        check_all(&sandbox, &objects);
        sandbox.git(["repack", "-adq"]);
        check_all(&sandbox, &objects);
    }
    let sandbox = filled_repository();
    let objects = sandbox.open_objects();
    sandbox.git(["clone", "-q", "-s", ".", "../clone"]);
    let mut clone = sandbox.repository();
    clone.object_dir = sandbox.root().join("clone/.git/objects");
    check_all(&sandbox, &Objects::open(&clone).unwrap());
    fs::remove_file(clone.object_dir.join("info/alternates")).unwrap();
    let (id, _) = all_ids(&sandbox)[0];
    let mut buf = Vec::new();
    assert_eq!(
        Objects::open(&clone).unwrap().read(&id, &mut buf).unwrap(),
        None
    );
    let list = format!("/nowhere:{}", objects.folders().folder.display());
    clone
        .environment
        .set("GIT_ALTERNATE_OBJECT_DIRECTORIES", list);
    check_all(&sandbox, &Objects::open(&clone).unwrap());
}

#[test]
fn an_alternate_that_is_gone_is_no_error() {
    let sandbox = filled_repository();
    fs::write(
        sandbox.git_dir().join("objects/info/alternates"),
        "/nowhere/at/all\n../relative\n",
    )
    .unwrap();
    check_all(&sandbox, &sandbox.open_objects());
}

#[test]
fn many_packs_after_opening_are_found() {
    let sandbox = Sandbox::new();
    sandbox.commit("first");
    let objects = sandbox.open_objects();
    let mut buf = Vec::new();
    assert!(
        objects
            .read(&sandbox.id("HEAD"), &mut buf)
            .unwrap()
            .is_some()
    );
    sandbox.git(["repack", "-adq"]);
    let pack = sandbox.pack_file("pack");
    for n in 0..150 {
        for extension in ["pack", "idx"] {
            let copy = format!("pack-{n:040x}.{extension}");
            fs::copy(pack.with_extension(extension), pack.with_file_name(copy)).unwrap();
        }
    }
    let second = sandbox.commit("second");
    assert_eq!(objects.read(&second, &mut buf).unwrap(), Some(Kind::Commit));
    let names = format!("{second}\n");
    sandbox.git_with_input(
        [
            "pack-objects",
            "-q",
            pack.with_file_name("pack").to_str().unwrap(),
        ],
        names.as_bytes(),
    );
    sandbox.git(["prune-packed"]);
    assert_eq!(objects.read(&second, &mut buf).unwrap(), Some(Kind::Commit));
}

/// Lists the mappings of files below `sandbox` that have been deleted.
fn deleted_mappings(sandbox: &Sandbox) -> Vec<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let top = sandbox.root().to_str().unwrap();
    let gone = maps
        .lines()
        .filter(|line| line.contains(top) && line.ends_with("(deleted)"));
    gone.map(ToOwned::to_owned).collect()
}

#[test]
fn deleted_packs_are_closed() {
    let sandbox = filled_repository();
    let repo = sandbox.repository();
    let refs = Refs::open(&repo);
    let mut objects = sandbox.open_objects();
    for n in 0..3 {
        sandbox.git(["repack", "-adfq"]);
        check_all(&sandbox, &objects.clone());
        sandbox.commit(&format!("more {n}"));
        sandbox.git(["repack", "-adfq"]);
        assert_ne!(deleted_mappings(&sandbox), [""; 0]);
        objects.refresh(&repo, &refs).unwrap();
        assert_eq!(deleted_mappings(&sandbox), [""; 0]);
    }
    check_all(&sandbox, &objects);
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let pack = sandbox.git_dir().join("objects/pack");
    let held = open.filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
    assert_eq!(held.filter(|path| path.starts_with(&pack)).count(), 0);
}

/// Objects found once are not found for ever: git looks again for each answer.
#[test]
fn objects_that_are_gone_are_not_found_in_the_next_answer() {
    let sandbox = filled_repository();
    let repo = sandbox.repository();
    let refs = Refs::open(&repo);
    sandbox.git(["repack", "-adq"]);
    let mut objects = sandbox.open_objects();
    let head = sandbox.id("HEAD");
    let mut buf = Vec::new();
    assert!(objects.read(&head, &mut buf).unwrap().is_some());
    sandbox.git(["tag", "-d", "one", "two"]);
    sandbox.git(["reset", "-q", "--hard", "HEAD^"]);
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["repack", "-adq"]);
    objects.refresh(&repo, &refs).unwrap();
    assert_eq!(objects.read(&head, &mut buf).unwrap(), None);
    assert!(objects.commit(&sandbox.id("HEAD")).is_ok());
}

/// A pack whose index was read, but which was not opened itself, may disappear while it is known.
#[test]
fn objects_are_found_elsewhere_when_their_pack_is_gone() {
    let sandbox = filled_repository();
    sandbox.git(["repack", "-adq"]);
    let objects = sandbox.open_objects();
    let ids = all_ids(&sandbox);
    objects.starting_with("0000".into()).unwrap();
    sandbox.git(["repack", "-adfq"]);
    let mut buf = Vec::new();
    for (id, _) in ids {
        assert!(objects.read(&id, &mut buf).unwrap().is_some());
    }
}

#[test]
fn alternates_come_and_go() {
    let sandbox = filled_repository();
    sandbox.git(["clone", "-q", "-s", ".", "../clone"]);
    let mut repo = sandbox.repository();
    repo.object_dir = sandbox.root().join("clone/.git/objects");
    let list = repo.object_dir.join("info/alternates");
    let named = fs::read(&list).unwrap();
    let refs = Refs::open(&repo);
    fs::remove_file(&list).unwrap();
    let mut objects = Objects::open(&repo).unwrap();
    let head = sandbox.id("HEAD");
    let mut buf = Vec::new();
    assert_eq!(objects.read(&head, &mut buf).unwrap(), None);
    fs::write(&list, &named).unwrap();
    check_all(&sandbox, &objects);
    let short = head.to_hex_with_len(9).to_string();
    assert_eq!(
        objects.starting_with(short.as_str().into()).unwrap(),
        [head]
    );
    fs::remove_file(&list).unwrap();
    objects.refresh(&repo, &refs).unwrap();
    assert_eq!(objects.read(&head, &mut buf).unwrap(), None);
    // A quoted path, after a comment and a badly quoted one.
    let path = named.trim_ascii_end();
    let quoted = [b"# x\n\"\\x\"\n\"", path, b"\"\n"].concat();
    fs::write(&list, quoted).unwrap();
    check_all(&sandbox, &objects);
}

#[test]
fn damage_is_reported_each_time_and_repair_is_seen() {
    let sandbox = filled_repository();
    sandbox.git(["repack", "-adfq"]);
    let tree = sandbox.id("HEAD^{tree}");
    let path = sandbox.pack_file("pack");
    let good = fs::read(&path).unwrap();
    let objects = sandbox.open_objects();
    let put = |bytes: &[u8]| {
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
    };
    let mut bad = good.clone();
    // Everything but the header and the checksum, which are checked when the pack is opened.
    let end = bad.len() - 20;
    bad[12..end].fill(0xff);
    put(&bad);
    for _ in 0..2 {
        let error = objects.tree(&tree, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Unreadable(_)), "{error}");
    }
    put(&good);
    objects.tree(&tree, &mut Vec::new()).unwrap();
}

#[test]
fn tags_and_commits_lead_to_trees() {
    let sandbox = filled_repository();
    let objects = sandbox.open_objects();
    let tree = sandbox.id("HEAD^{tree}");
    for revision in ["two", "one", "HEAD", "HEAD^{tree}"] {
        assert_eq!(objects.peel_to_tree(&sandbox.id(revision)).unwrap(), tree);
    }
    assert_eq!(
        objects.peel(&sandbox.id("two")).unwrap(),
        Some((sandbox.id("HEAD"), Kind::Commit))
    );
    let commit = objects.commit(&sandbox.id("HEAD")).unwrap();
    assert_eq!(
        (commit.tree, commit.parents),
        (tree, vec![sandbox.id("HEAD^")])
    );
    assert_eq!(
        (commit.committer_time_s, commit.message),
        (1_700_000_000, "commit 5\n".into())
    );
    let blob = sandbox.id("HEAD:d/e/file");
    let error = objects.tree(&blob, &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("object {blob} is a blob, not a tree")
    );
    let empty = ObjectId::empty_tree(gix_hash::Kind::Sha1);
    objects.tree(&empty, &mut Vec::new()).unwrap();
    assert_eq!(objects.peel_to_tree(&empty).unwrap(), empty);
}

#[test]
fn replacements_shallow_boundaries_and_grafts_hold() {
    let sandbox = filled_repository();
    let repo = sandbox.repository();
    let refs = Refs::open(&repo);
    let mut objects = sandbox.open_objects();
    let (head, old) = (sandbox.id("HEAD"), sandbox.id("HEAD~3"));
    sandbox.git(["replace", &head.to_string(), &old.to_string()]);
    assert_eq!(objects.commit(&head).unwrap().message, "commit 5\n");
    objects.refresh(&repo, &refs).unwrap();
    assert_eq!(objects.commit(&head).unwrap().message, "commit 2\n");
    assert!(objects.commit_graph().is_none());
    let mut off = sandbox.repository();
    off.environment.set("GIT_NO_REPLACE_OBJECTS", "1");
    assert_eq!(
        Objects::open(&off).unwrap().commit(&head).unwrap().message,
        "commit 5\n"
    );
    sandbox.git(["replace", "-d", &head.to_string()]);

    fs::create_dir_all(sandbox.git_dir().join("info")).unwrap();
    let graft = format!("# comment\nbad line\n{head} {old} {old}\n{head}\n");
    fs::write(sandbox.git_dir().join("info/grafts"), graft).unwrap();
    objects.refresh(&repo, &refs).unwrap();
    assert_eq!(objects.commit(&head).unwrap().parents, [old, old]);
    fs::write(sandbox.git_dir().join("shallow"), format!("{head}\n")).unwrap();
    objects.refresh(&repo, &refs).unwrap();
    assert!(objects.commit(&head).unwrap().parents.is_empty());
    fs::write(sandbox.git_dir().join("shallow"), "junk\n").unwrap();
    objects.refresh(&repo, &refs).unwrap();
    let error = objects.commit(&head).unwrap_err();
    assert_eq!(error.to_string(), "bad shallow line: junk\n");
}

#[test]
fn damaged_loose_objects_are_named() {
    let sandbox = filled_repository();
    let tree = sandbox.id("HEAD^{tree}").to_string();
    let path = sandbox.loose_object(&tree);
    let good = fs::read(&path).unwrap();
    let mut writable = fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut writable, 0o644);
    fs::set_permissions(&path, writable).unwrap();
    let read = || {
        sandbox.open_objects().tree(
            &ObjectId::from_hex(tree.as_bytes()).unwrap(),
            &mut Vec::new(),
        )
    };
    let mut bad = good.clone();
    bad[2] ^= 0xff;
    fs::write(&path, &bad).unwrap();
    let errors = cat_tree(&sandbox, &tree);
    assert_eq!(
        errors.lines().last().unwrap(),
        format!("fatal: {}", read().unwrap_err())
    );
    fs::write(&path, b"").unwrap();
    assert_eq!(
        read().unwrap_err().to_string(),
        format!("unable to read tree ({tree})")
    );
    for length in 1..good.len() {
        fs::write(&path, &good[..length]).unwrap();
        match read() {
            Ok(()) => assert!(length >= good.len() - 5, "only the checksum may be missing"),
            Err(error) => assert!(error.to_string().contains(&tree), "{error}"),
        }
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).unwrap();
        if let Err(error) = read() {
            assert!(error.to_string().contains(&tree), "{error}");
        }
    }
}

#[test]
fn damaged_packs_and_indexes_never_panic() {
    let sandbox = filled_repository();
    sandbox.git(["repack", "-adfq", "--depth=20", "--window=20"]);
    let ids = all_ids(&sandbox);
    let mut failures = 0;
    for extension in ["pack", "idx"] {
        let path = sandbox.pack_file(extension);
        let good = fs::read(&path).unwrap();
        let mut check = |bytes: &[u8]| {
            // A new file each time, because a mapped one must not be truncated.
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
            let objects = sandbox.open_objects();
            let mut buf = Vec::new();
            for (id, _) in &ids {
                if let Err(error) = objects.read(id, &mut buf) {
                    failures += 1;
                    let text = error.to_string();
                    let is_of_pack = text.starts_with("offset beyond end of pack");
                    assert!(is_of_pack || text.contains(&id.to_string()), "{text}");
                }
            }
        };
        for step in 0..12 {
            check(&good[..good.len() * step / 12]);
        }
        for at in (0..good.len()).step_by(good.len() / 60 + 1) {
            let mut bad = good.clone();
            bad[at] ^= 0x41;
            check(&bad);
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, &good).unwrap();
    }
    assert!(failures > 0);
    check_all(&sandbox, &sandbox.open_objects());
}

#[test]
fn a_damaged_packed_object_is_named_with_its_pack() {
    let sandbox = filled_repository();
    sandbox.git(["repack", "-adfq"]);
    let tree = sandbox.id("HEAD^{tree}");
    let path = sandbox.pack_file("pack");
    let index = fs::read(path.with_extension("idx")).unwrap();
    let offsets = sandbox.git_with_input(["show-index"], &index);
    let offset: usize = offsets
        .lines()
        .find(|l| l.contains(&tree.to_string()))
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[offset + 2] ^= 0xff;
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    let error = sandbox
        .open_objects()
        .tree(&tree, &mut Vec::new())
        .unwrap_err();
    // The text of git 2.55; git 2.47 does not name the pack everywhere.
    let expected = format!(
        "packed object {tree} (stored in {}) is corrupt",
        Path::new(".git/objects/pack")
            .join(path.file_name().unwrap())
            .display()
    );
    assert_eq!(error.to_string(), expected);
}

/// If several objects share an abbreviation, it gets longer than asked for, whatever the hash function.
#[test]
fn ambiguous_abbreviations_get_longer() {
    for hash in [gix_hash::Kind::Sha1, gix_hash::Kind::Sha256] {
        let sandbox = Sandbox::with_formats(FORMATS[0].0, hash);
        for n in 0..1500 {
            fs::write(sandbox.top().join(format!("f{n}")), n.to_string()).unwrap();
        }
        sandbox.git(["add", "."]);
        let objects = sandbox.open_objects();
        let ids = all_ids(&sandbox);
        let mut longer = 0;
        for (id, _) in &ids {
            let digits = &id.to_string()[..4];
            let alike = ids
                .iter()
                .filter(|(other, _)| other.to_string().starts_with(digits));
            if alike.count() > 1 {
                let wanted = sandbox.git(["rev-parse", "--short=4", &id.to_string()]);
                assert_eq!(objects.abbreviate_to(id, 4).unwrap(), wanted.trim_end());
                longer += 1;
            }
        }
        assert!(longer > 0, "{hash}");
    }
}
