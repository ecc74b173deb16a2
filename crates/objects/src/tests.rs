//! Differences from git, and damage.

mod alternates;
mod bases;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::BString;
use gix_hash::{Kind as HashKind, ObjectId};
use sha1::{Digest, Sha1};
use vigil_testkit::sandbox::RefFormat;

use super::*;

mod planned;
mod repacked;

/// A sandbox in which every byte of git's output counts.
struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

impl Sandbox {
    /// An empty repository.
    fn new(hash: HashKind) -> Self {
        Self(vigil_testkit::sandbox::Sandbox::with_formats(
            RefFormat::Files,
            hash,
        ))
    }

    /// A repository with a history of a file that changes little, in one pack with long chains, and a few loose
    /// objects.
    fn filled(hash: HashKind) -> Self {
        let sandbox = Self::new(hash);
        sandbox.history(0..30);
        sandbox.git(&["repack", "-adfq", "--depth=50", "--window=30"]);
        sandbox.history(30..33);
        sandbox
    }

    fn history(&self, numbers: std::ops::Range<u32>) {
        for n in numbers {
            let mut text = String::new();
            for line in 0..400 {
                let changes = line % 30 == n % 30;
                text += &format!(
                    "line {line} {}\n",
                    if changes { n * 7 } else { line * line }
                );
            }
            self.write("d/e/file", text);
            self.write(format!("small{}", n % 5), n.to_string());
            self.write("empty", "");
            self.git(&["add", "."]);
            self.git(&["commit", "-qm", &format!("commit {n}")]);
        }
        self.git(&["tag", "-f", "-a", "-m", "a tag", "tag"]);
    }

    fn objects(&self) -> PathBuf {
        self.top().join(".git/objects")
    }

    fn git(&self, arguments: &[&str]) -> Vec<u8> {
        self.git_bytes(arguments)
    }

    fn folders(&self) -> ObjectFolders {
        ObjectFolders {
            hash: self.hash,
            folder: self.objects(),
            shown: ".git/objects".into(),
            alternates: BString::default(),
            working_directory: self.top(),
            work_tree: Some(self.top()),
            uses_multi_pack_index: true,
            promisor: None,
        }
    }

    fn reader(&self) -> ObjectReader {
        let mut messages = Vec::new();
        let store = Arc::new(ObjectStore::open(&self.folders(), &mut messages));
        assert_eq!(messages, [""; 0]);
        ObjectReader::new(&store)
    }

    /// The files of packs with this extension.
    fn packs(&self, extension: &str) -> Vec<PathBuf> {
        files(&self.objects().join("pack"), extension)
    }

    /// Compares everything that git knows of all objects, by all ways, with our results.
    fn check(&self) {
        self.check_columns(5);
    }

    /// Like [`Self::check`], with only the first `columns` facts of each object: releases of git differ in which of
    /// several copies the other facts are about.
    fn check_columns(&self, columns: usize) {
        let all = &["cat-file", "--batch-all-objects"];
        let format = "--batch-check=%(objectname) %(objecttype) %(objectsize) %(objectsize:disk) %(deltabase)";
        let sorted = self.git(&[all, &[format][..]].concat());
        let unordered = self.git(&[all, &[format, "--unordered"][..]].concat());
        let contents = self.git(&[all, &["--batch"][..]].concat());
        let mut reader = self.reader();
        let store = reader.store().clone();
        let locations = |in_order: bool| -> Vec<Location> {
            let messages = &mut Vec::new();
            if in_order {
                store
                    .pack_order(messages)
                    .unwrap()
                    .map(Result::unwrap)
                    .collect()
            } else {
                store
                    .sorted(messages)
                    .unwrap()
                    .map(Result::unwrap)
                    .collect()
            }
        };
        let ours = check_lines(&mut reader, &locations(false));
        assert_eq!(
            first_columns(&ours, columns),
            first_columns(&sorted, columns)
        );
        let ours = check_lines(&mut reader, &locations(true));
        if self.packs("pack").len() == 1 && columns == 5 {
            assert_eq!(text(&ours), text(&unordered));
        }
        let [mut ours, mut theirs] = [&ours, &unordered].map(|lines| first_columns(lines, 3));
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs);

        let mut found = Vec::new();
        let mut streamed = Vec::new();
        let ids = locations(false);
        let before = reader.lookups();
        for known in &ids {
            let id = known.id();
            let location = reader.find(id).unwrap().unwrap();
            assert_eq!(store.find(id, &mut Vec::new()).unwrap().unwrap().id(), id);
            let begin = |info: Info, out: &mut Vec<u8>| {
                writeln!(out, "{id} {} {}", info.kind, info.size).unwrap();
                true
            };
            reader.read_with(&location, &mut found, begin).unwrap();
            found.push(b'\n');
            let mut is_first = true;
            let sink = &mut |info: Info, piece: &[u8]| -> Result<(), ()> {
                if std::mem::take(&mut is_first) {
                    begin(info, &mut streamed);
                }
                streamed.extend_from_slice(piece);
                Ok(())
            };
            reader.stream(&location, 100, sink).unwrap();
            streamed.push(b'\n');
        }
        assert_eq!(reader.lookups() - before, ids.len() as u64);
        assert!(found == contents, "contents differ");
        assert!(streamed == contents, "streamed contents differ");
        assert_eq!(reader.take_messages(), [""; 0]);

        let mut reader = ObjectReader::new(&store);
        let mut out = Vec::new();
        for location in locations(true) {
            out.clear();
            let info = reader.append(&location, &mut out).unwrap();
            let id = gix_object::compute_hash(self.hash, info.kind, &out).unwrap();
            assert_eq!(*id, *location.id());
        }
    }
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|other| other == extension))
        .collect();
    paths.sort();
    paths
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Returns the first columns of each line.
fn first_columns(lines: &[u8], columns: usize) -> Vec<String> {
    let lines = text(lines).lines();
    let lines = lines.map(|line| line.split(' ').take(columns).collect::<Vec<_>>().join(" "));
    lines.collect()
}

fn check_lines(reader: &mut ObjectReader, locations: &[Location]) -> Vec<u8> {
    let mut lines = Vec::new();
    for location in locations {
        let info = reader.info(location).unwrap();
        let facts = reader.facts(location, Wanted::ALL).unwrap();
        assert_eq!((facts.kind, facts.size), (Some(info.kind), Some(info.size)));
        let base = facts.delta_base.unwrap_or(location.id().kind().null());
        let (id, disk_size) = (location.id(), facts.disk_size.unwrap());
        writeln!(lines, "{id} {} {} {disk_size} {base}", info.kind, info.size).unwrap();
    }
    lines
}

/// Overwrites a file that is not writable.
fn overwrite(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn chains_of_deltas_and_loose_objects_are_read_as_git_does() {
    for hash in [HashKind::Sha1, HashKind::Sha256] {
        Sandbox::filled(hash).check();
    }
}

#[test]
fn deltas_by_id_and_an_index_of_version_1_are_read() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    sandbox.git(&["config", "repack.useDeltaBaseOffset", "false"]);
    sandbox.git(&["config", "pack.indexVersion", "1"]);
    sandbox.git(&["repack", "-adfq", "--depth=50"]);
    let index = fs::read(&sandbox.packs("idx")[0]).unwrap();
    assert!(!index.starts_with(b"\xfftOc"));
    sandbox.check();
}

#[test]
fn wide_offsets_are_read() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    let pack = &sandbox.packs("pack")[0];
    let index = pack.with_extension("idx");
    fs::remove_file(&index).unwrap();
    let name = index.to_str().unwrap();
    sandbox.git(&[
        "index-pack",
        "--index-version=2,0x40",
        "-o",
        name,
        pack.to_str().unwrap(),
    ]);
    sandbox.check();
}

/// A pack can hold an object more than once: git warns of it only if asked to.
#[test]
fn an_object_that_is_repeated_in_a_pack_is_listed_once() {
    for packs in [1, 2] {
        let sandbox = Sandbox::new(HashKind::Sha1);
        sandbox.0.write("file", "contents");
        sandbox.git(&["add", "file"]);
        let id = sandbox.git(&["rev-parse", ":file"]);
        let folder = sandbox.objects().join("pack");
        let name = folder.join("pack").to_str().unwrap().to_owned();
        sandbox
            .0
            .git_with_input(["pack-objects", "-q", &name], text(&id));
        sandbox.git(&["prune-packed", "-q"]);
        let pack = fs::read(&sandbox.packs("pack")[0]).unwrap();
        for path in [
            sandbox.packs("pack"),
            sandbox.packs("idx"),
            sandbox.packs("rev"),
        ]
        .concat()
        {
            fs::remove_file(path).unwrap();
        }
        let entry = &pack[12..pack.len() - 20];
        for number in 0..packs {
            let count = 3 + number as usize;
            let head = [b"PACK\0\0\0\x02\0\0\0", &[count as u8][..]].concat();
            let mut bytes = [head, entry.repeat(count)].concat();
            let sum = Sha1::digest(&bytes);
            bytes.extend_from_slice(&sum);
            let path = folder.join(format!("pack-{number}.pack"));
            fs::write(&path, bytes).unwrap();
            sandbox.git(&["index-pack", path.to_str().unwrap()]);
        }
        sandbox.check();
    }
}

#[test]
fn many_packs_with_repeated_objects_are_read() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    sandbox.git(&["repack", "-q"]);
    sandbox.history(40..45);
    sandbox.git(&["repack", "-q"]);
    // Again, with all objects.
    sandbox.git(&["repack", "-aq", "--depth=3"]);
    // Releases of git differ in which of several packs of the same age they choose.
    let at = |hours: u64| std::time::UNIX_EPOCH + std::time::Duration::from_secs(hours * 3600);
    for (pack, hours) in sandbox.packs("pack").iter().zip(1..) {
        let file = fs::File::open(pack).unwrap();
        file.set_modified(at(hours)).unwrap();
    }
    sandbox.check();
    sandbox.git(&["multi-pack-index", "write"]);
    sandbox.history(50..52);
    sandbox.git(&["repack", "-q"]);
    sandbox.check();
}

/// As in git, a pack that comes back in time was never missing.
#[test]
fn packs_of_a_multi_pack_index_are_looked_at_one_by_one() {
    let sandbox = Sandbox::new(HashKind::Sha1);
    for n in 0..2 {
        sandbox.history(n..n + 1);
        sandbox.git(&["repack", "-dq"]);
    }
    sandbox.git(&["multi-pack-index", "write"]);
    let commit = |name| ObjectId::from_hex(sandbox.git(&["rev-parse", name]).trim_ascii()).unwrap();
    let (older, newer) = (commit("HEAD^"), commit("HEAD"));
    let has = |pack: &PathBuf, id: &ObjectId| {
        let index = pack.with_extension("idx");
        let listed = sandbox.git(&["verify-pack", "-v", index.to_str().unwrap()]);
        text(&listed).contains(&id.to_string())
    };
    let packs = sandbox.packs("pack");
    let pack = packs.iter().find(|pack| has(pack, &older)).unwrap();
    let hidden = pack.with_extension("hidden");
    fs::rename(pack, &hidden).unwrap();
    let mut reader = sandbox.reader();
    assert!(reader.find(&newer).unwrap().is_some());
    fs::rename(&hidden, pack).unwrap();
    assert!(reader.find(&older).unwrap().is_some());
    assert_eq!(reader.take_messages(), [""; 0]);
}

#[test]
fn large_objects_are_streamed() {
    let sandbox = Sandbox::new(HashKind::Sha1);
    let mut noise = 1u64;
    let large: Vec<u8> = std::iter::repeat_with(|| {
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (noise >> 56) as u8
    })
    .take(9 << 20)
    .collect();
    fs::write(sandbox.top().join("large"), &large).unwrap();
    sandbox.git(&["add", "."]);
    for _ in 0..2 {
        let mut reader = sandbox.reader();
        let id = sandbox.git(&["rev-parse", ":large"]);
        let id = ObjectId::from_hex(id.trim_ascii()).unwrap();
        let location = reader.find(&id).unwrap().unwrap();
        let mut pieces = Vec::new();
        let sink = &mut |_: Info, piece: &[u8]| -> Result<(), ()> {
            pieces.push(piece.to_vec());
            Ok(())
        };
        reader.stream(&location, 1 << 20, sink).unwrap();
        assert!(pieces.iter().all(|piece| piece.len() <= 256 << 10));
        assert!(pieces.concat() == large);
        let failing = &mut |_: Info, _: &[u8]| Err("full");
        let result = reader.stream(&location, 1 << 20, failing);
        assert!(matches!(result, Err(StreamError::Sink("full"))));
        sandbox.git(&["commit", "-qm", "large"]);
        sandbox.check();
        sandbox.git(&["repack", "-adq"]);
        sandbox.git(&["reset", "-q"]);
        fs::write(sandbox.top().join("other"), "other").unwrap();
        sandbox.git(&["add", "other"]);
    }
}

#[test]
fn objects_that_come_later_are_found_and_others_are_not() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    let mut reader = sandbox.reader();
    let missing = ObjectId::from_hex(&[b'7'; 40]).unwrap();
    assert_eq!(reader.find(&missing).unwrap(), None);
    assert_eq!(reader.find(&missing.kind().null()).unwrap(), None);
    sandbox.history(70..71);
    sandbox.git(&["repack", "-dq"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let head = ObjectId::from_hex(head.trim_ascii()).unwrap();
    let location = reader.find(&head).unwrap().unwrap();
    assert!(!location.is_loose());
    let empty = ObjectId::empty_tree(HashKind::Sha1);
    let empty = reader.find(&empty).unwrap().unwrap();
    let info = reader.append(&empty, &mut Vec::new()).unwrap();
    assert_eq!((info.kind, info.size), (Kind::Tree, 0));

    // Loose when it was found, in a pack when it is read.
    sandbox.history(80..81);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let head = ObjectId::from_hex(head.trim_ascii()).unwrap();
    let location = reader
        .store()
        .find(&head, &mut Vec::new())
        .unwrap()
        .unwrap();
    assert!(location.is_loose());
    sandbox.git(&["repack", "-adq"]);
    assert!(reader.append(&location, &mut Vec::new()).is_ok());
}

#[test]
fn abbreviations_are_looked_for_everywhere() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    sandbox.git(&["repack", "-q"]);
    sandbox.git(&["multi-pack-index", "write"]);
    sandbox.history(60..62);
    let all = sandbox.git(&[
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ]);
    let all: Vec<_> = text(&all).lines().collect();
    let store = sandbox.reader().store().clone();
    let messages = &mut Vec::new();
    for prefix in ["", "0", "a", "5f", "fff", all[3], &all[7][..5]] {
        let found = store.with_prefix(prefix.as_bytes(), messages).unwrap();
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        let expected = all.iter().filter(|id| id.starts_with(prefix));
        assert!(found.iter().eq(expected), "{prefix}");
    }
    assert!(store.with_prefix(b"xyz", messages).unwrap().is_empty());
    assert!(store.with_prefix(&[b'a'; 41], messages).unwrap().is_empty());
}

/// Reads all objects that git knows, each once; those that cannot be read are left out.
fn read_all(sandbox: &Sandbox, ids: &[ObjectId]) -> BTreeMap<ObjectId, Vec<u8>> {
    let mut contents = BTreeMap::new();
    let mut reader = sandbox.reader();
    for id in ids {
        let mut out = Vec::new();
        if let Ok(Some(location)) = reader.find(id) {
            let _ = reader.info(&location);
            let _ = reader.facts(&location, Wanted::ALL);
            if reader.append(&location, &mut out).is_ok() {
                contents.insert(*id, out);
            } else {
                assert!(out.is_empty());
                let sink = &mut |_: Info, _: &[u8]| -> Result<(), ()> { Ok(()) };
                let _ = reader.stream(&location, 100, sink);
            }
        }
    }
    let store = reader.store();
    let messages = &mut Vec::new();
    if let Ok(all) = store.sorted(messages) {
        assert!(all.take(100_000).count() < 100_000);
    }
    if let Ok(all) = store.pack_order(messages) {
        assert!(all.take(100_000).count() < 100_000);
    }
    let _ = store.with_prefix(b"a", messages);
    contents
}

/// Flips bits in and truncates `path` at many places: every object then is as it was, or cannot be read.
fn damage(sandbox: &Sandbox, path: &Path, step: usize, is_checked: bool) {
    let all = sandbox.git(&[
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ]);
    let ids: Vec<_> = text(&all)
        .lines()
        .map(|id| ObjectId::from_hex(id.as_bytes()).unwrap())
        .collect();
    let sound = read_all(sandbox, &ids);
    assert_eq!(sound.len(), ids.len());
    let bytes = fs::read(path).unwrap();
    for place in (0..bytes.len()).step_by(step) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        overwrite(path, &flipped);
        for (id, contents) in read_all(sandbox, &ids) {
            assert!(!is_checked || sound[&id] == contents, "{place}: {id}");
        }
        overwrite(path, &bytes[..place]);
        for (id, contents) in read_all(sandbox, &ids) {
            assert!(sound[&id] == contents, "{place}: {id}");
        }
    }
    overwrite(path, &bytes);
    assert!(read_all(sandbox, &ids) == sound);
}

#[test]
fn damaged_packs_do_no_harm() {
    let sandbox = Sandbox::new(HashKind::Sha1);
    sandbox.history(0..6);
    sandbox.git(&["repack", "-adfq", "--depth=50"]);
    let len = fs::metadata(&sandbox.packs("pack")[0]).unwrap().len() as usize;
    // What a header says of the type and the base of an object has no checksum of its own.
    damage(&sandbox, &sandbox.packs("pack")[0], len / 120, false);
}

#[test]
fn damaged_indexes_do_no_harm() {
    let sandbox = Sandbox::new(HashKind::Sha1);
    sandbox.history(0..6);
    sandbox.git(&["repack", "-adfq", "--depth=50"]);
    // An offset may be that of another object.
    damage(&sandbox, &sandbox.packs("idx")[0], 37, false);
    sandbox.git(&["multi-pack-index", "write"]);
    damage(
        &sandbox,
        &sandbox.objects().join("pack/multi-pack-index"),
        37,
        false,
    );
}

#[test]
fn damaged_files_do_no_harm() {
    let sandbox = Sandbox::new(HashKind::Sha1);
    sandbox.history(0..2);
    let id = text(&sandbox.git(&["rev-parse", "HEAD:d/e/file"]))
        .trim()
        .to_owned();
    let path = sandbox.objects().join(&id[..2]).join(&id[2..]);
    damage(&sandbox, &path, 7, true);
}

/// Returns git's messages on reading an object as a whole, and ours.
fn messages_by_git_and_us(sandbox: &Sandbox, kind: &str, id: &str) -> (String, String) {
    let output = sandbox.output("", ["cat-file", kind, id], b"");
    let theirs = String::from_utf8(output.stderr).unwrap();
    let mut reader = sandbox.reader();
    let mut ours = String::new();
    let id = ObjectId::from_hex(id.as_bytes()).unwrap();
    if let Some(location) = reader.find(&id).unwrap() {
        match reader.append(&location, &mut Vec::new()) {
            Ok(_) => ours = reader.take_messages().join("\n"),
            Err(error) => {
                for line in &error.messages {
                    ours += &format!("{line}\n");
                }
                ours += &format!("fatal: {error}\n");
            }
        }
    }
    (theirs, ours)
}

#[test]
fn damage_is_reported_in_gits_words() {
    let sandbox = Sandbox::filled(HashKind::Sha1);
    let id = text(&sandbox.git(&["rev-parse", "HEAD"])).trim().to_owned();
    let path = sandbox.objects().join(&id[..2]).join(&id[2..]);
    let sound = fs::read(&path).unwrap();
    let mut garbage = sound.clone();
    garbage.extend_from_slice(b"more");
    let mut flipped = sound.clone();
    let last = flipped.len() - 1;
    flipped[last] ^= 1;
    let no_stream = b"no zlib stream at all".to_vec();
    for bytes in [garbage, flipped, sound[..60].to_vec(), no_stream] {
        overwrite(&path, &bytes);
        let (theirs, ours) = messages_by_git_and_us(&sandbox, "commit", &id);
        // git looks at the type first, and reports what it sees of the header twice.
        let last = theirs.lines().last().unwrap();
        assert_eq!(ours.lines().last().unwrap(), last);
        for line in ours.lines() {
            assert!(theirs.contains(line), "{line}\n{theirs}");
        }
    }
}

#[test]
fn a_damaged_object_is_read_from_elsewhere() {
    let sandbox = Sandbox::new(HashKind::Sha1);
    sandbox.history(0..12);
    sandbox.git(&["repack", "-adfq", "--depth=50"]);
    let pack = sandbox.packs("pack").pop().unwrap();
    let bytes = fs::read(&pack).unwrap();
    let all = sandbox.git(&[
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ]);
    let ids: Vec<_> = text(&all)
        .lines()
        .map(|id| ObjectId::from_hex(id.as_bytes()).unwrap())
        .collect();
    let sound = read_all(&sandbox, &ids);
    let mut moved = pack.clone();
    moved.set_file_name("moved");
    // Loose copies of all.
    fs::rename(&pack, &moved).unwrap();
    sandbox.output("", ["unpack-objects", "-q"], &bytes);
    fs::rename(&moved, &pack).unwrap();
    for place in (12..bytes.len() - 20).step_by(bytes.len() / 60) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 0x10;
        overwrite(&pack, &flipped);
        let mut reader = sandbox.reader();
        let mut out = Vec::new();
        for id in &ids {
            out.clear();
            let location = reader.find(id).unwrap().unwrap();
            reader.append(&location, &mut out).unwrap();
        }
    }
    overwrite(&pack, &bytes);
    assert!(read_all(&sandbox, &ids) == sound);
}
