use bstr::ByteSlice;
use gix_hash::Kind;

use super::*;
use crate::index_file::load;
use crate::index_file::testing::{CatFile, Repo};
use crate::staged;
use vigil_testkit::chance::Chance;

fn rule(copies: bool, min_percent: u32, limit: usize) -> RenameRule {
    RenameRule {
        copies,
        min_score: min_percent * SCORE_MAX / 100,
        limit,
    }
}

fn found_renames(repo: &Repo, rule: &RenameRule, threads_max: usize) -> Vec<StagedChange> {
    let loaded = load(&repo.index_path(), &repo.git_dir(), &repo.top(), Kind::Sha1);
    let head = repo.git(["rev-parse", "HEAD^{tree}"]);
    let head = ObjectId::from_hex(head.trim_end()).unwrap();
    let objects = CatFile::new(repo);
    let diff = staged::diff(Some(&head), &loaded.unwrap().index, &objects, None).unwrap();
    detect(diff.changes, &diff.unmerged, rule, &objects, threads_max).unwrap()
}

/// Formats the changes as `git diff-index --raw` prints them, without conflicts.
fn as_raw(changes: &[StagedChange]) -> Vec<String> {
    let lines = changes.iter().map(|change| {
        let letter = change.kind.letter() as char;
        let sides = format!(
            ":{} {} {} {}",
            change.head_mode, change.index_mode, change.head_id, change.index_id
        );
        match &change.source {
            Some(source) => format!(
                "{sides} {letter}{:03} {} -> {}",
                source.score_percent, source.path, change.path
            ),
            None => format!("{sides} {letter} {}", change.path),
        }
    });
    lines.collect()
}

fn git_raw(repo: &Repo, rule: &RenameRule) -> Vec<String> {
    let percent = rule.min_score * 100 / SCORE_MAX;
    let search = format!("-{}{percent}%", if rule.copies { "C" } else { "M" });
    let limit = format!("-l{}", rule.limit);
    let args = [
        "diff-index",
        "--cached",
        "--raw",
        "-z",
        "--no-abbrev",
        &search,
        &limit,
        "HEAD",
    ];
    let output = repo.git(args);
    let mut fields = output.split(|byte| *byte == 0).map(|field| field.as_bstr());
    let mut lines = Vec::new();
    while let (Some(sides), Some(path)) = (fields.next(), fields.next()) {
        let letter = sides.rsplit(|byte| *byte == b' ').next().unwrap()[0];
        match letter {
            b'R' | b'C' => lines.push(format!("{sides} {path} -> {}", fields.next().unwrap())),
            b'U' => {}
            _ => lines.push(format!("{sides} {path}")),
        }
    }
    lines
}

#[track_caller]
fn assert_same_as_git(repo: &Repo, rule: &RenameRule, why: &str) -> Vec<StagedChange> {
    let changes = found_renames(repo, rule, 2);
    assert_eq!(as_raw(&changes), git_raw(repo, rule), "{why}, {rule:?}");
    changes
}

const NAMES: [&str; 6] = ["a", "b", "c.txt", "dir/a", "dir/c.txt", "other/sub/b"];

fn random_contents(random: &mut Chance) -> Vec<u8> {
    let mut contents = Vec::new();
    let end = random.pick(&["\n", "\n", "\n", "\r\n", ""]).as_bytes();
    // Few different lines, so that unrelated files have some in common.
    for _ in 0..random.below(40) {
        let line = format!("{}{}", "line ".repeat(random.below(30)), random.below(12));
        contents.extend(line.as_bytes());
        contents.extend(end);
    }
    if random.below(8) == 0 {
        contents.push(0);
    }
    contents
}

fn edit(random: &mut Chance, contents: &mut Vec<u8>) {
    for _ in 0..random.below(4) {
        let at = random.below(contents.len() + 1);
        let until = (at + random.below(30)).min(contents.len());
        let new = format!("edit {}\n", random.below(1000));
        let new = random.pick(&["", "\n", new.as_str()]).as_bytes().to_vec();
        contents.splice(at..until, new);
    }
}

/// Renames, copies, edits, removes and adds files of a commit, and stages everything.
fn change_files(repo: &Repo, random: &mut Chance) {
    let path = |random: &mut Chance| format!("{}{}", random.pick(&NAMES), random.below(6));
    let is_there = |path: &str| repo.top().join(path).symlink_metadata().is_ok();
    for _ in 0..10 + random.below(10) {
        let path = path(random);
        if random.below(10) == 0 {
            if !is_there(&path) {
                repo.write("keep", "");
                let parent = repo.top().join(&path);
                std::fs::create_dir_all(parent.parent().unwrap()).unwrap();
                let target = random.pick(&["x", "y"]);
                std::os::unix::fs::symlink(target, repo.top().join(&path)).unwrap();
            }
        } else if !is_there(&path) {
            repo.write(&path, random_contents(random));
        }
    }
    repo.git(["add", "-A"]);
    repo.commit();
    let listed = repo.git(["ls-files", "-z"]);
    for old in listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
    {
        let old = old.to_str().unwrap();
        let (old_path, new) = (repo.top().join(old), path(random));
        let is_link = old_path.is_symlink();
        let mut contents = if is_link {
            Vec::new()
        } else {
            std::fs::read(&old_path).unwrap()
        };
        let deed = random.below(7);
        if deed < 4 && !is_there(&new) {
            if is_link {
                repo.write(&new, "");
                std::fs::rename(&old_path, repo.top().join(&new)).unwrap();
                continue;
            }
            edit(random, &mut contents);
            repo.write(&new, &contents);
            if deed < 3 {
                std::fs::remove_file(&old_path).unwrap();
            } else if random.below(2) == 0 {
                contents.push(b'x');
                repo.write(old, &contents);
            }
        } else if deed == 5 {
            std::fs::remove_file(&old_path).unwrap();
        } else if deed == 6 && !is_link {
            edit(random, &mut contents);
            repo.write(old, &contents);
        }
    }
    repo.git(["add", "-A"]);
}

#[test]
fn random_renames_and_edits_are_paired_as_by_git() {
    let rules = [
        rule(false, 50, 1000),
        rule(true, 50, 1000),
        rule(false, 20, 0),
        rule(true, 80, 0),
        rule(false, 100, 0),
        rule(false, 50, 2),
        rule(true, 30, 3),
    ];
    let mut pairs = 0;
    for seed in 0..16 {
        let repo = Repo::new();
        change_files(&repo, &mut Chance::new(seed));
        for rule in &rules {
            let changes = assert_same_as_git(&repo, rule, &format!("seed {seed}"));
            pairs += changes
                .iter()
                .filter(|change| change.source.is_some())
                .count();
        }
    }
    assert!(pairs > 200, "{pairs} pairs prove little");
}

#[test]
fn status_says_the_same() {
    let repo = Repo::new();
    change_files(&repo, &mut Chance::new(77));
    let output = repo.git(["status", "--porcelain=v2", "-z", "--untracked-files=no"]);
    let mut fields = output.split(|byte| *byte == 0).map(|field| field.as_bstr());
    let mut theirs = Vec::new();
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let is_pair = field.starts_with(b"2");
        let source = is_pair.then(|| fields.next().unwrap().to_string());
        let mut words = field.splitn(if is_pair { 10 } else { 9 }, |byte| *byte == b' ');
        let letters = words.nth(1).unwrap()[0] as char;
        let rest: Vec<_> = words
            .skip(1)
            .map(|word| word.as_bstr().to_string())
            .collect();
        theirs.push((letters, rest, source));
    }
    let ours: Vec<_> = found_renames(&repo, &rule(false, 50, 1000), 1)
        .into_iter()
        .map(|change| {
            let letter = change.kind.letter() as char;
            // Nothing differs in the working tree, so its mode is that of the index.
            let mut rest = vec![
                change.head_mode.to_string(),
                change.index_mode.to_string(),
                change.index_mode.to_string(),
                change.head_id.to_string(),
                change.index_id.to_string(),
            ];
            let percent = change.source.as_ref().map(|source| source.score_percent);
            rest.extend(percent.map(|percent| format!("{letter}{percent}")));
            rest.push(change.path.to_string());
            let source = change.source.map(|source| source.path.to_string());
            (letter, rest, source)
        })
        .collect();
    assert!(ours.iter().any(|(letter, ..)| *letter == 'R'));
    assert_eq!(ours, theirs);
}

#[test]
fn among_equal_files_the_name_decides_then_the_order() {
    let repo = Repo::new();
    for path in ["1/x", "2/y", "3/z", "4/w"] {
        repo.write(path, "equal\n");
    }
    repo.git(["add", "."]);
    repo.commit();
    repo.git(["rm", "-rq", "--cached", "."]);
    for path in ["new/1", "new/z", "old/y"] {
        repo.write(path, "equal\n");
    }
    repo.git(["add", "new", "old"]);
    let changes = assert_same_as_git(&repo, &rule(false, 50, 0), "equal files");
    assert_eq!(changes.len(), 4);
    assert_same_as_git(&repo, &rule(true, 50, 0), "equal files");
}

#[test]
fn more_equal_files_than_git_looks_through_are_paired_as_by_git() {
    let repo = Repo::new();
    for number in 0..130 {
        repo.write(format!("old/{number:03}"), "");
    }
    repo.git(["add", "."]);
    repo.commit();
    repo.git(["mv", "old", "new"]);
    repo.write("old/000", "");
    repo.git(["add", "."]);
    for rule in [rule(false, 50, 0), rule(true, 50, 0)] {
        assert_same_as_git(&repo, &rule, "many empty files");
    }
}

#[test]
fn a_link_and_a_file_are_no_pair() {
    let repo = Repo::new();
    let link = |text: &str, path: &str| {
        std::os::unix::fs::symlink(text, repo.top().join(path)).unwrap();
    };
    let long = "some-folder/".repeat(20);
    repo.write("equal file", "equal");
    repo.write("long file", format!("{long}\n"));
    link("same", "same link");
    link(&long, "long link");
    repo.git(["add", "."]);
    repo.commit();
    repo.git(["rm", "-rq", "."]);
    link("equal", "new equal");
    link(&long[1..], "new long");
    repo.write("same", "same");
    repo.write("long", &long);
    repo.git(["add", "."]);
    for rule in [rule(false, 50, 0), rule(true, 50, 0)] {
        let changes = assert_same_as_git(&repo, &rule, "links and files");
        assert!(!changes.is_empty());
    }
}

#[test]
fn several_copies_of_a_file_that_is_gone_end_in_a_rename() {
    let repo = Repo::new();
    let lines: String = (0..30).map(|line| format!("line {line}\n")).collect();
    repo.write("gone", &lines);
    repo.write("stays", lines.replace("line", "row"));
    repo.git(["add", "."]);
    repo.commit();
    std::fs::remove_file(repo.top().join("gone")).unwrap();
    for copy in ["copy 1", "copy 2", "copy 3"] {
        repo.write(copy, format!("{lines}{copy}\n"));
    }
    repo.write("copy 4", lines.replace("line", "row"));
    repo.write("stays", "");
    repo.git(["add", "-A"]);
    let changes = assert_same_as_git(&repo, &rule(true, 50, 0), "copies");
    let letters: Vec<u8> = changes.iter().map(|change| change.kind.letter()).collect();
    assert_eq!(letters.as_bstr(), "CCRCM");
}

#[test]
fn a_conflict_can_be_copied_from() {
    let repo = Repo::new();
    let lines: String = (0..30).map(|line| format!("line {line}\n")).collect();
    repo.write("conflict", &lines);
    repo.git(["add", "."]);
    repo.commit();
    repo.write("copy", format!("{lines}more\n"));
    repo.git(["add", "copy"]);
    let id = repo.git(["rev-parse", "HEAD:conflict"]);
    let id = id.trim_end().as_bstr();
    let stages = format!(
        "0 {:040} 0\tconflict\n100644 {id} 1\tconflict\n100644 {id} 2\tconflict\n",
        0
    );
    repo.git_with_input(["update-index", "--index-info"], stages.as_bytes());
    let changes = assert_same_as_git(&repo, &rule(true, 50, 0), "conflict");
    assert_eq!(changes[0].kind, ChangeKind::Copied);
    let changes = assert_same_as_git(&repo, &rule(false, 50, 0), "conflict");
    assert_eq!(changes[0].kind, ChangeKind::Added);
}

#[test]
fn large_and_strange_files_have_gits_scores() {
    let repo = Repo::new();
    let mut random = Chance::new(5);
    let mut bytes =
        |count: usize| -> Vec<u8> { (0..count).map(|_| random.below(256) as u8).collect() };
    let binary = bytes(100_000);
    let text: String = (0..30_000)
        .map(|line| format!("{}\n", line * 7919 % 10_007))
        .collect();
    repo.write("binary", &binary);
    repo.write("text", &text);
    repo.write("dos", text.replace('\n', "\r\n"));
    repo.git(["add", "."]);
    repo.commit();
    repo.git(["rm", "-rq", "--cached", "."]);
    repo.write("new/1", [&binary[..70_000], &bytes(20_000)].concat());
    repo.write("new/2", &text[20_000..]);
    repo.write("new/3", text[30_000..].replace('\n', "\r\n"));
    repo.git(["add", "new"]);
    let changes = assert_same_as_git(&repo, &rule(false, 50, 0), "large");
    assert_eq!(changes.len(), 3);
}

#[test]
fn contents_that_are_missing_are_named() {
    struct MissingBlobs;
    impl BlobSource for MissingBlobs {
        fn size(&self, _: &Blob<'_>) -> Result<u64, SourceError> {
            Ok(10)
        }
        fn blob(&self, _: &Blob<'_>, _: &mut Vec<u8>) -> Result<(), SourceError> {
            Err("not there".into())
        }
    }
    let (a, b) = (ObjectId::Sha1([1; 20]), ObjectId::Sha1([2; 20]));
    let null = ObjectId::null(Kind::Sha1);
    let removed = StagedChange {
        path: "a".into(),
        kind: ChangeKind::Deleted,
        head_mode: FileMode::FILE,
        head_id: a,
        index_mode: FileMode::NONE,
        index_id: null,
        source: None,
    };
    let added = StagedChange {
        path: "b".into(),
        kind: ChangeKind::Added,
        head_mode: FileMode::NONE,
        head_id: null,
        index_mode: FileMode::FILE,
        index_id: b,
        source: None,
    };
    let error = detect(
        vec![removed, added],
        &[],
        &rule(false, 50, 0),
        &MissingBlobs,
        1,
    )
    .unwrap_err();
    assert_eq!(error.to_string(), format!("unable to read {a}"));
}
