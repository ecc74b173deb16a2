//! `vigil cat-file` compared with `git cat-file` on damaged or crafted objects, packs and indexes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "all of this file is tests"
)]

use std::path::PathBuf;
use std::process::Output;

use vigil_model::ObjectId;
use vigil_testkit::sandbox::{git_is_at_least, run_with_input};

const VIGIL: &str = env!("CARGO_BIN_EXE_vigil");

/// The numbers of types in packs.
const BAD: u8 = 0;
const COMMIT: u8 = 1;
const BLOB: u8 = 3;
const DELTA: u8 = 7;

struct Sandbox(vigil_testkit::sandbox::Sandbox);

vigil_testkit::wraps_a_sandbox!(Sandbox);

/// An answer, with each line of standard error once: git sometimes looks twice where one look is enough.
#[derive(Debug, PartialEq)]
struct DeduplicatedOutput {
    stdout: String,
    stderr: Vec<String>,
    code: Option<i32>,
}

impl From<Output> for DeduplicatedOutput {
    fn from(output: Output) -> Self {
        let mut stderr: Vec<String> = Vec::new();
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            if !stderr.iter().any(|known| known == line) {
                stderr.push(line.to_owned());
            }
        }
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr,
            code: output.status.code(),
        }
    }
}

impl Sandbox {
    fn new() -> Self {
        Self(vigil_testkit::sandbox::Sandbox::initialised(&[
            "--object-format=sha1",
        ]))
    }

    fn cat_file(&self, program: &str, arguments: &[&str], input: &str) -> DeduplicatedOutput {
        let arguments = [&["cat-file"], arguments].concat();
        run_with_input(self.command(program, "", arguments), input.as_bytes()).into()
    }

    /// Asserts that both programs answer alike, and returns the answer.
    #[track_caller]
    fn assert_same(&self, arguments: &[&str], input: &str) -> DeduplicatedOutput {
        let [ours, theirs] = [VIGIL, "git"].map(|program| self.cat_file(program, arguments, input));
        assert_eq!(ours, theirs, "{arguments:?} {input}");
        theirs
    }

    fn add_pack(&self, objects: &[Object]) {
        let (pack, index) = pack_and_index(objects);
        self.write(".git/objects/pack/pack-crafted.pack", pack);
        self.write(".git/objects/pack/pack-crafted.idx", index);
    }

    /// Adds a loose object with `bytes` as its header and contents.
    fn add_loose(&self, id: &str, bytes: &[u8]) {
        let (folder, name) = id.split_at(2);
        self.write(format!(".git/objects/{folder}/{name}"), stored_zlib(bytes));
    }

    /// The only file with this extension among the packs, made writable.
    fn writable_pack_file(&self, extension: &str) -> PathBuf {
        let path = self.pack_file(extension);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(&path, mode).unwrap();
        path
    }
}

/// An object of a crafted pack.
struct Object {
    number: u8,
    kind: u8,
    size: u8,
    /// The bytes after the header.
    bytes: Vec<u8>,
}

impl Object {
    fn new(number: u8, kind: u8, contents: &[u8]) -> Self {
        Self {
            number,
            kind,
            size: contents.len() as u8,
            bytes: stored_zlib(contents),
        }
    }

    /// A delta `delta` against the object with the number `base`.
    fn delta(number: u8, base: u8, delta: &[u8]) -> Self {
        let object = Self::new(number, DELTA, delta);
        Self {
            bytes: [&[base; 20], &object.bytes[..]].concat(),
            ..object
        }
    }
}

/// The id of the object with a number.
fn id(number: u8) -> String {
    format!("{number:02x}").repeat(20)
}

/// A pack of the objects, which are in the order of their numbers, and its index of version 1.
fn pack_and_index(objects: &[Object]) -> (Vec<u8>, Vec<u8>) {
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    pack.extend((objects.len() as u32).to_be_bytes());
    let mut rows = Vec::new();
    for object in objects {
        rows.extend((pack.len() as u32).to_be_bytes());
        rows.extend([object.number; 20]);
        pack.push(object.kind << 4 | object.size & 15 | 0x80);
        pack.push(object.size >> 4);
        pack.extend(&object.bytes);
    }
    let checksum = [7; 20];
    pack.extend(checksum);
    let mut index = Vec::new();
    for first in 0..=u8::MAX {
        let below = objects.iter().filter(|object| object.number <= first);
        index.extend((below.count() as u32).to_be_bytes());
    }
    index.extend(rows);
    index.extend(checksum);
    index.extend(checksum);
    (pack, index)
}

/// `bytes` as an uncompressed zlib stream (RFC 1950, RFC 1951).
fn stored_zlib(bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len() as u16;
    let (mut low, mut high) = (1u32, 0u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    let mut stream = vec![0x78, 0x01, 0x01];
    stream.extend(len.to_le_bytes());
    stream.extend((!len).to_le_bytes());
    stream.extend(bytes);
    stream.extend((high << 16 | low).to_be_bytes());
    stream
}

const CHECK_OPTION: &str = "--batch-check=%(objectname) %(objecttype) %(objectsize)";

/// A base that cannot be read is known to be damaged when its own turn comes, whichever thread found out.
#[test]
fn all_objects_are_printed_as_by_a_single_thread() {
    let sandbox = Sandbox::new();
    let delta = Object::delta(1, 2, &[4, 4, 0x84, 4]);
    let mut objects = vec![delta, Object::new(2, BAD, b"base")];
    objects.extend((3..=200).map(|number| Object::new(number, BLOB, b"sound")));
    sandbox.add_pack(&objects);
    for options in [
        &["--batch"][..],
        &[CHECK_OPTION],
        &[CHECK_OPTION, "--buffer"],
    ] {
        let output = sandbox.assert_same(&[&["--batch-all-objects"], options].concat(), "");
        assert!(output.stdout.contains(&format!("{} missing", id(2))));
        assert_eq!(output.stderr, [""; 0]);
    }
    // What was written before the damage was found is not written again.
    let mut noise = 1u32;
    let next = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 24) as u8
    };
    let large: Vec<u8> = std::iter::repeat_with(next).take(3 << 20).collect();
    sandbox.write("large", large);
    let large = sandbox.git(["hash-object", "-w", "large"]);
    let path = sandbox.loose_object(large.trim());
    let mut bytes = std::fs::read(&path).unwrap();
    let place = bytes.len() - 3000;
    bytes[place..place + 100].fill(0);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    sandbox.add_pack(&objects[2..]);
    let [ours, theirs] = [VIGIL, "git"].map(|program| {
        let all = ["--batch-all-objects", "--batch", "--unordered"];
        let output = sandbox.cat_file(program, &all, "");
        (output.stdout, output.code)
    });
    assert!(ours == theirs);
    assert_eq!(ours.1, Some(128));
}

/// An object whose size cannot be read counts as missing, and nothing is concluded about its base.
#[test]
fn reading_ahead_changes_no_answer() {
    let sandbox = Sandbox::new();
    let mut broken = Object::delta(1, 2, &[4, 4, 0x84, 4]);
    broken.bytes[20] = 0;
    let wild = [4, 4, 0x94, 200, 4];
    sandbox.add_pack(&[
        broken,
        Object::delta(2, 3, &wild),
        Object::new(3, BLOB, b"base"),
    ]);
    let output = sandbox.assert_same(&["--batch"], &format!("{}\n{}\n", id(1), id(2)));
    assert_eq!(
        output.stdout,
        format!("{} missing\n{} blob 4\n", id(1), id(2))
    );
}

#[test]
fn another_copy_of_an_object_must_have_the_type_and_size_already_printed() {
    let sandbox = Sandbox::new();
    let mut broken = Object::new(1, COMMIT, b"abc");
    broken.bytes.fill(0);
    sandbox.add_pack(&[broken]);
    for loose in [&b"tree 4\0none"[..], b"commit 4\0none"] {
        sandbox.add_loose(&id(1), loose);
        let output = sandbox.assert_same(&["--batch"], &format!("{}\n", id(1)));
        assert_eq!(output.stdout, format!("{} commit 3\n", id(1)));
        let last = output.stderr.last().unwrap();
        assert!(last.contains("changed "), "{last}");
    }
}

#[test]
fn sizes_after_mailmap_are_those_of_readable_objects() {
    let sandbox = Sandbox::new();
    let wild = [4, 4, 0x94, 200, 4];
    let mut cut = Object::new(3, BLOB, b"cut off");
    cut.bytes[8] ^= 1;
    sandbox.add_pack(&[
        Object::delta(1, 2, &wild),
        Object::new(2, BLOB, b"base"),
        cut,
    ]);
    for number in [1, 2, 3] {
        sandbox.assert_same(&["-s", "--use-mailmap", &id(number)], "");
    }
    assert_eq!(sandbox.assert_same(&["-s", &id(1)], "").code, Some(0));
}

#[test]
fn mailmap_applies_to_all_types_but_blobs() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".mailmap",
        "Right <right@example.com> <wrong@example.com>\n",
    );
    let author = "author Wrong <wrong@example.com> 1700000000 +0000\n";
    let tree = format!("tree {}\0{author}", author.len());
    sandbox.add_loose(&id(1), tree.as_bytes());
    let output = sandbox.assert_same(&["--batch", "--use-mailmap"], &format!("{}\n", id(1)));
    assert!(output.stdout.contains("Right"), "{}", output.stdout);
}

#[test]
fn unreadable_input_of_a_textconv_program_is_fatal() {
    let sandbox = Sandbox::new();
    sandbox.git(["config", "diff.up.textconv", "tr a-z A-Z <"]);
    sandbox.write(".gitattributes", "*.up diff=up\n");
    let mut damaged = Object::new(1, BLOB, b"damaged");
    damaged.bytes[8] ^= 1;
    sandbox.add_pack(&[damaged]);
    let mut file = stored_zlib(&[&b"blob 60\0"[..], &[b'a'; 60]].concat());
    *file.last_mut().unwrap() ^= 1;
    sandbox.write(
        format!(".git/objects/{}/{}", &id(2)[..2], &id(2)[2..]),
        file,
    );
    for number in [1, 2] {
        // Since 2.55, git takes nothing from a pack for contents until it writes them.
        if number == 1 && git_is_at_least("git", 55) {
            continue;
        }
        let single = sandbox.assert_same(&["--textconv", "--path=a.up", &id(number)], "");
        let batch = sandbox.assert_same(
            &["--batch=%(rest)", "--textconv"],
            &format!("{} a.up\n", id(number)),
        );
        for output in [single, batch] {
            let words = output.stderr.last().unwrap();
            assert!(words.starts_with("fatal: unable to read "), "{words}");
        }
    }
}

#[test]
fn a_stream_that_goes_on_beyond_the_pack_is_fatal() {
    let sandbox = Sandbox::new();
    let mut endless = Object::new(1, BLOB, &[b'a'; 100]);
    endless.bytes.truncate(30);
    sandbox.add_pack(&[endless]);
    for arguments in [&["-p", &id(1)][..], &["-s", &id(1)], &["--batch"]] {
        sandbox.assert_same(arguments, &format!("{}\n", id(1)));
    }
    let mut delta = Object::delta(2, 1, &[b'a'; 100]);
    delta.bytes.truncate(30);
    sandbox.add_pack(&[Object::new(1, BLOB, b"base"), delta]);
    for arguments in [&["-p", &id(2)][..], &["--batch"]] {
        sandbox.assert_same(arguments, &format!("{}\n", id(2)));
    }
    let output = sandbox.assert_same(&["-p", &id(2)], "");
    assert_eq!(
        output.stderr,
        ["fatal: offset beyond end of packfile (truncated pack?)"]
    );
}

#[test]
fn a_pack_may_have_any_length() {
    let sandbox = Sandbox::new();
    sandbox.add_pack(&[Object::new(1, BLOB, b"contents")]);
    let (pack, _) = pack_and_index(&[Object::new(1, BLOB, b"contents")]);
    for len in 0..=pack.len() {
        sandbox.write(".git/objects/pack/pack-crafted.pack", &pack[..len]);
        sandbox.assert_same(&["-p", &id(1)], "");
    }
}

/// git reads uninitialized memory here, and so may print anything; mostly it prints this.
#[test]
fn a_size_that_is_cut_off_ends_with_zeros() {
    let sandbox = Sandbox::new();
    sandbox.add_pack(&[
        Object::delta(1, 2, &[4, 0xb7]),
        Object::new(2, BLOB, b"base"),
    ]);
    let output = sandbox.cat_file(VIGIL, &["-s", &id(1)], "");
    assert_eq!((output.stdout.as_str(), output.code), ("55\n", Some(0)));
}

#[test]
fn a_file_is_streamed_where_the_copy_of_a_pack_is_not() {
    let sandbox = Sandbox::new();
    let mut damaged = Object::new(1, BLOB, b"whole");
    damaged.bytes[8] ^= 1;
    sandbox.add_pack(&[damaged]);
    sandbox.add_loose(&id(1), b"blob 5\0whole");
    for (arguments, stdout) in [
        (&["-p", &id(1)][..], "whole".to_owned()),
        (&["--batch"], format!("{} blob 5\nwhole\n", id(1))),
    ] {
        let output = sandbox.cat_file(VIGIL, arguments, &format!("{}\n", id(1)));
        // Before 2.55, git read the packed copy, too.
        if git_is_at_least("git", 55) {
            sandbox.assert_same(arguments, &format!("{}\n", id(1)));
        }
        assert_eq!((output.stdout, output.stderr), (stdout, Vec::new()));
    }
}

/// If the index is valid otherwise, a wrong table of offsets is used as it is.
#[test]
fn sizes_on_disk_are_counted_as_git_counts_them() {
    const DISK_SIZE_OPTION: &str = "--batch-check=%(objectname) %(objectsize:disk)";
    let sandbox = Sandbox::new();
    for number in 0..20 {
        sandbox.write(format!("file{number}"), number.to_string());
    }
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-q", "-m", "all"]);
    sandbox.git(["config", "pack.writeReverseIndex", "true"]);
    sandbox.git(["repack", "-q", "-a", "-d"]);
    let ids = sandbox.git([
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname)",
    ]);
    let rev = sandbox.writable_pack_file("rev");
    let sound = std::fs::read(&rev).unwrap();
    let compare = || {
        for id in ids.lines() {
            sandbox.assert_same(&[DISK_SIZE_OPTION], &format!("{id}\n"));
        }
    };
    if git_is_at_least("git", 41) {
        let mut swapped = sound.clone();
        swapped[12..24].rotate_left(4);
        let mut unsigned = sound.clone();
        unsigned[0] = b'r';
        let mut later = sound.clone();
        later[7] = 2;
        let mut strange = sound.clone();
        strange[11] = 9;
        let longer = [&sound[..], b"more"].concat();
        for damaged in [
            &swapped,
            &unsigned,
            &later,
            &strange,
            &longer,
            &sound[..20].to_vec(),
        ] {
            std::fs::write(&rev, damaged).unwrap();
            compare();
        }
    }
    std::fs::remove_file(&rev).unwrap();
    let index = sandbox.writable_pack_file("idx");
    let mut bytes = std::fs::read(&index).unwrap();
    let count = ids.lines().count();
    // The sixth object's offset refers to the table of wide offsets, which is empty.
    bytes[8 + 1024 + count * 24 + 20] = 0x80;
    std::fs::write(&index, bytes).unwrap();
    compare();
}

#[test]
fn a_folder_in_the_place_of_an_object_file_is_fatal() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "a");
    sandbox.git(["add", "a"]);
    sandbox.git(["commit", "-q", "-m", "a"]);
    let ask = |arguments: &[&str]| {
        let printed = |program| -> DeduplicatedOutput {
            run_with_input(sandbox.command(program, "", arguments), b"").into()
        };
        assert_eq!(printed(VIGIL), printed("git"), "{arguments:?}");
    };
    let compare = || {
        ask(&["cat-file", "-p", "HEAD"]);
        ask(&["cat-file", "-t", "HEAD:a"]);
        ask(&["cat-file", "--batch-check", "--batch-all-objects"]);
        ask(&["status", "-s"]);
        ask(&["describe", "--all"]);
    };
    let midx = sandbox.git_dir().join("objects/pack/multi-pack-index");
    std::fs::create_dir(&midx).unwrap();
    compare();
    std::fs::remove_dir(&midx).unwrap();
    let objects = sandbox.git_dir().join("objects");
    for name in ["HEAD:a", "HEAD"] {
        let id = sandbox.git(["rev-parse", name]);
        let file = sandbox.loose_object(&id);
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        compare();
    }
    std::fs::rename(objects.join("pack"), objects.join("other")).unwrap();
    std::fs::write(objects.join("pack"), "").unwrap();
    ask(&["cat-file", "-t", &"1".repeat(40)]);
}

#[test]
fn a_loose_object_is_not_opened_for_what_its_contents_do_not_tell() {
    let sandbox = Sandbox::new();
    let id = sandbox.git_with_input(["hash-object", "-w", "--stdin"], "contents");
    let file = sandbox.loose_object(&id);
    let elsewhere = sandbox.git_dir().join("elsewhere");
    std::fs::rename(&file, &elsewhere).unwrap();
    let compare = || {
        for format in ["%(objectname)", "%(objectsize:disk)", "%(deltabase)"] {
            let format = format!("--batch-check={format}");
            sandbox.assert_same(&[&format], &format!("{id}\n"));
            sandbox.assert_same(&[&format, "--batch-all-objects"], "");
        }
        let input = format!("{id}\n");
        sandbox.assert_same(&["--batch-check=%(objecttype) %(objectsize:disk)"], &input);
    };
    compare();
    std::fs::write(&file, "").unwrap();
    compare();
    std::fs::remove_file(&file).unwrap();
    for target in [&elsewhere, &sandbox.git_dir().join("nowhere")] {
        std::os::unix::fs::symlink(target, &file).unwrap();
        compare();
        std::fs::remove_file(&file).unwrap();
    }
    std::fs::create_dir(&file).unwrap();
    compare();
}

#[test]
fn a_message_that_cannot_be_read_is_fatal_though_the_graph_has_the_commit() {
    let sandbox = Sandbox::new();
    for message in ["one", "two", "three", "four"] {
        sandbox.git(["commit", "-q", "--allow-empty", "-m", message]);
    }
    sandbox.git(["commit-graph", "write", "--reachable"]);
    let file = sandbox.loose_object(&sandbox.git(["rev-parse", "HEAD~2"]));
    let blob = sandbox.git_with_input(["hash-object", "-w", "--stdin"], "no commit");
    let blob = std::fs::read(sandbox.loose_object(&blob)).unwrap();
    for contents in [Some(&b""[..]), Some(&blob[..]), None] {
        std::fs::remove_file(&file).unwrap();
        if let Some(contents) = contents {
            std::fs::write(&file, contents).unwrap();
        }
        for name in [":/one", ":/two", ":/three", "HEAD^{/one}", "HEAD^{/three}"] {
            sandbox.assert_same(&["-t", name], "");
            sandbox.assert_same(&["--batch-check"], &format!("HEAD\n{name}\nHEAD\n"));
        }
    }
}

#[test]
fn objects_of_unusable_packs_in_a_multi_pack_index_are_not_listed() {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "c"] {
        sandbox.write(name, name);
        sandbox.git(["add", name]);
        sandbox.git(["commit", "-q", "-m", name]);
        sandbox.git(["repack", "-d", "-q"]);
    }
    // This object is also in another pack than the one that the multi-pack-index names.
    let blob = sandbox.git(["rev-parse", "HEAD:a"]);
    let mut repeat = sandbox.command("git", "", ["pack-objects", "-q", ".git/objects/pack/pack"]);
    repeat.env("GIT_OPTIONAL_LOCKS", "0");
    run_with_input(repeat, format!("{blob}\n").as_bytes());
    sandbox.git(["multi-pack-index", "write"]);
    let packs = sandbox.git_dir().join("objects/pack");
    let names = std::fs::read_dir(&packs).unwrap();
    let files: Vec<PathBuf> = names.map(|entry| entry.unwrap().path()).collect();
    let is_kind = |file: &PathBuf, kind: &str| file.extension().is_some_and(|ext| ext == kind);
    let damaged = files.iter();
    let damaged = damaged.filter(|file| is_kind(file, "idx") || is_kind(file, "pack"));
    let compare = |what: &str| {
        for arguments in [
            &["--batch-check", "--batch-all-objects"][..],
            &["--batch", "--batch-all-objects"],
            &["--batch-check=%(objectname)", "--batch-all-objects"],
        ] {
            let [ours, theirs] =
                [VIGIL, "git"].map(|program| sandbox.cat_file(program, arguments, ""));
            assert_eq!(ours, theirs, "{what} {arguments:?}");
        }
    };
    for file in damaged {
        let kept = packs.join("kept");
        std::fs::rename(file, &kept).unwrap();
        compare(&format!("without {}", file.display()));
        std::fs::create_dir(file).unwrap();
        compare(&format!("a folder in the place of {}", file.display()));
        std::fs::remove_dir(file).unwrap();
        if is_kind(file, "idx") {
            std::fs::write(file, "short").unwrap();
            compare(&format!("a short {}", file.display()));
        }
        std::fs::rename(&kept, file).unwrap();
    }
    compare("whole");
}

#[test]
fn paths_in_malformed_trees_are_looked_up_as_git_does() {
    let sandbox = Sandbox::new();
    sandbox.write("f", "f");
    sandbox.git(["add", "f"]);
    sandbox.git(["commit", "-q", "-m", "f"]);
    let blob = sandbox.git(["rev-parse", "HEAD:f"]);
    let raw = ObjectId::from_hex(blob.as_bytes()).unwrap();
    let hash = |tree: &[u8]| {
        let arguments = ["hash-object", "-t", "tree", "-w", "--literally", "--stdin"];
        let made = run_with_input(sandbox.command("git", "", arguments), tree).stdout;
        String::from_utf8(made).unwrap().trim().to_owned()
    };
    let entry = |head: &[u8]| [head, b"\0", raw.as_bytes()].concat();
    let [a, b, z] = [b"100644 a", b"100644 b", b"100644 z"].map(|head| entry(head));
    let cut = |entry: &[u8]| entry[..entry.len() - 3].to_vec();
    let trees = [
        [a.clone(), entry(b"x00644 b"), entry(b"100644 c"), z.clone()].concat(),
        [a.clone(), entry(b"100644 "), z.clone()].concat(),
        [a.clone(), entry(b"100644b"), z.clone()].concat(),
        [a.clone(), cut(&b)].concat(),
        [a.clone(), b"100644".to_vec()].concat(),
        [entry(b"9 a"), b.clone(), z.clone()].concat(),
        b"1".to_vec(),
        // Modes have 16 bits.
        [a.clone(), entry(b"1000000100644 b"), z.clone()].concat(),
        [z, a, b].concat(),
    ];
    for tree in trees {
        let inner = hash(&tree);
        let id = ObjectId::from_hex(inner.as_bytes()).unwrap();
        let outer = hash(&[b"40000 d\0", id.as_bytes()].concat());
        sandbox.assert_same(&["-p", &inner], "");
        for name in ["a", "b", "z", "q"] {
            let paths = [format!("{inner}:{name}"), format!("{outer}:d/{name}")];
            for path in &paths {
                sandbox.assert_same(&["-t", path], "");
                sandbox.assert_same(&["-e", path], "");
                sandbox.assert_same(&["--filters", path], "");
                let input = format!("{path}\n{blob}\n");
                sandbox.assert_same(&["--batch-check"], &input);
                sandbox.assert_same(&["--batch-check", "--follow-symlinks"], &input);
            }
        }
        let commit = sandbox.git(["commit-tree", "-m", "x", &outer]);
        sandbox.git(["update-ref", "HEAD", &commit]);
        sandbox.git(["tag", "-f", "-a", "-m", "x", "t", &commit]);
        let [ours, theirs] = [VIGIL, "git"].map(|program| -> DeduplicatedOutput {
            run_with_input(sandbox.command(program, "", ["describe", &blob]), b"").into()
        });
        assert_eq!(ours, theirs, "describe");
    }
}
