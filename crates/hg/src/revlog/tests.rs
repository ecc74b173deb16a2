use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;

use super::*;

const HEADER_INLINE_GENERAL: u32 = 3 << 16 | 1;

/// How a text is stored.
enum Storage {
    Raw,
    Zlib,
    Empty,
}

/// An inline revlog of `texts`, each stored as a delta against the text with the given number, if there is one.
fn revlog(texts: &[(&str, Option<u32>, Storage)]) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    let mut start = 0u64;
    let mut parent = Node::NULL;
    for (number, (text, base, kept)) in (0u32..).zip(texts) {
        let whole = match base {
            None => text.as_bytes().to_vec(),
            Some(base) => {
                // The whole base is replaced.
                let old = u32::try_from(texts[*base as usize].0.len()).unwrap();
                let new = u32::try_from(text.len()).unwrap();
                let header = [0, old, new].map(u32::to_be_bytes).concat();
                [header, text.as_bytes().to_vec()].concat()
            }
        };
        let chunk = match kept {
            Storage::Raw => [b"u", whole.as_slice()].concat(),
            Storage::Empty => Vec::new(),
            Storage::Zlib => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&whole).unwrap();
                encoder.finish().unwrap()
            }
        };
        let mut sum = Sha1::new();
        let mut parents = [Node::NULL, parent];
        parents.sort_unstable();
        sum.update(parents[0].0);
        sum.update(parents[1].0);
        sum.update(text);
        let node = Node(sum.finalize().into());
        let place = if number == 0 {
            u64::from(HEADER_INLINE_GENERAL) << 32
        } else {
            start << 16
        };
        all.extend(place.to_be_bytes());
        all.extend(u32::try_from(chunk.len()).unwrap().to_be_bytes());
        all.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
        all.extend(base.unwrap_or(number).to_be_bytes());
        all.extend(number.to_be_bytes());
        let p1 = i32::try_from(number).unwrap() - 1;
        all.extend(p1.to_be_bytes());
        all.extend(NO_REVISION.to_be_bytes());
        all.extend(node.0);
        all.extend([0; 12]);
        start += chunk.len() as u64;
        all.extend(chunk);
        parent = node;
    }
    all
}

fn open(bytes: &[u8]) -> Result<Revlog, Abort> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.i");
    std::fs::write(&path, bytes).unwrap();
    Revlog::open(|end| folder.path().join(format!("log{end}")), "log")
}

fn sound_revlog() -> Vec<u8> {
    revlog(&[
        ("one", None, Storage::Raw),
        ("two and more", Some(0), Storage::Zlib),
        ("three", Some(1), Storage::Raw),
        ("", None, Storage::Empty),
    ])
}

#[test]
fn texts_are_put_together_and_found() {
    let mut log = open(&sound_revlog()).unwrap();
    assert_eq!(log.len(), 4);
    for (number, text) in [(0, "one"), (1, "two and more"), (2, "three"), (3, "")] {
        assert_eq!(log.text(number).unwrap(), text.as_bytes(), "{number}");
        let revision = log.revision(number).unwrap();
        assert_eq!(log.find(&revision.node), Some(number));
        assert_eq!(log.has_hash_of(&revision, text.as_bytes()), Some(true));
        assert_eq!(log.has_hash_of(&revision, b"other"), Some(false));
        let digits = revision.node.hex();
        assert_eq!(log.find_prefix(&digits.as_bytes()[..10], 2), [number]);
    }
    assert_eq!(log.find(&Node([7; 20])), None);
    assert!(log.text(4).is_err());
}

#[test]
fn texts_that_share_chunks_are_as_each_alone() {
    let texts = ["one", "two and more", "three", "other", "another", "alone"];
    let [one, two, three, other, another, alone] = texts;
    let mut log = open(&revlog(&[
        (one, None, Storage::Zlib),
        (two, Some(0), Storage::Zlib),
        (three, Some(1), Storage::Raw),
        (other, Some(0), Storage::Zlib),
        (another, Some(3), Storage::Zlib),
        (alone, None, Storage::Raw),
    ]));
    let log = log.as_mut().unwrap();
    for first in 0..6u32 {
        for second in 0..6u32 {
            let read = log.texts(&[first, second, first]).unwrap();
            let expected = [first, second, first].map(|number| texts[number as usize]);
            assert_eq!(read, expected.map(|text| text.as_bytes().to_vec()));
        }
    }
    assert!(log.texts(&[0, 6]).is_err());
    assert!(log.texts(&[]).unwrap().is_empty());
}

#[test]
fn a_missing_revlog_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let log = Revlog::open(|end| folder.path().join(format!("x{end}")), "x").unwrap();
    assert!(log.is_empty());
}

#[test]
fn damage_is_reported() {
    let whole = sound_revlog();
    for len in 1..whole.len() {
        if let Ok(log) = open(&whole[..len]) {
            assert!(log.len() < 4);
        }
    }
    let mut other_version = whole.clone();
    other_version[3] = 2;
    let error = open(&other_version).unwrap_err();
    assert_eq!(error.to_string(), "unknown version (2) in revlog log");
    // A byte of the first text.
    let mut changed = whole.clone();
    changed[65] ^= 1;
    let error = open(&changed).unwrap().text(0).unwrap_err();
    assert_eq!(error.to_string(), "integrity check failed on log:0");
    let mut flagged = whole.clone();
    flagged[7] = 0x81;
    let error = open(&flagged).unwrap().text(0).unwrap_err();
    assert_eq!(error.to_string(), "incompatible revision flag '0x1'");
    // The first is a delta against a later one.
    let mut cyclic = whole;
    cyclic[16..20].copy_from_slice(&2u32.to_be_bytes());
    assert!(open(&cyclic).unwrap().text(1).is_err());
}

#[test]
fn the_memory_for_a_text_is_bounded() {
    // A text of no length claims little, and one of any length claims no more than the longest text.
    assert_eq!(chunks_len_max(0), 64 << 20);
    assert_eq!(chunks_len_max(TEXT_LEN_MAX), TEXT_LEN_MAX);
    let long = zlib(&"a".repeat(1 << 20));
    let read = |len_max| Decompressor::new(None).read(&long, chunk::Mode::Marked, len_max);
    let text = read(1 << 20).unwrap().into_owned();
    assert!(text.len() == 1 << 20 && text.capacity() <= (1 << 20) + 1);
    assert!(read((1 << 20) - 1).is_err());
    let log = open(&sound_revlog()).unwrap();
    assert_eq!(log.chain(3, 2).unwrap().len(), 3);
    assert!(log.chain(2, 2).is_err());
}

proptest! {
    #[test]
    fn flipped_bytes_never_give_another_text(at in 0usize..10_000, value: u8) {
        let mut bytes = sound_revlog();
        let at = at % bytes.len();
        bytes[at] = value;
        if let Ok(mut log) = open(&bytes) {
            for number in 0..u32::try_from(log.len()).unwrap_or(0) {
                let Some(revision) = log.revision(number) else { continue };
                if let Ok(text) = log.text(number) {
                    prop_assert_eq!(log.has_hash_of(&revision, &text), Some(true));
                }
            }
        }
    }
}

/// The files of a revlog with a docket, by the endings of their names, with one text in each of these modes and sidedata of one
/// item.
fn with_docket(chunks: &[(u8, Vec<u8>, &str)]) -> Vec<(&'static str, Vec<u8>)> {
    let contents = b"beside";
    let mut sidedata = vec![0, 1, 0, 12];
    sidedata.extend(u32::try_from(contents.len()).unwrap().to_be_bytes());
    sidedata.extend(Sha1::digest(contents));
    sidedata.extend(contents);
    let (mut index, mut data) = (Vec::new(), Vec::new());
    for (mode, chunk, text) in chunks {
        let start = u64::try_from(data.len()).unwrap() << 16;
        let number = u32::try_from(index.len() / 96).unwrap();
        let node: [u8; 20] = Sha1::digest([&[0; 40], text.as_bytes()].concat()).into();
        index.extend(start.to_be_bytes());
        index.extend(u32::try_from(chunk.len()).unwrap().to_be_bytes());
        index.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
        index.extend(
            [
                number.to_be_bytes(),
                number.to_be_bytes(),
                [0xff; 4],
                [0xff; 4],
            ]
            .concat(),
        );
        index.extend(node);
        index.extend([0; 20]);
        index.extend(u32::try_from(sidedata.len()).unwrap().to_be_bytes());
        index.push(*mode);
        index.extend([0; 19]);
        data.extend(chunk);
    }
    let mut docket = vec![0, 0, 0xde, 0xad, 1, 0, 1, 0, 1, 0];
    for file in [&index, &data, &sidedata] {
        let len = u64::try_from(file.len()).unwrap().to_be_bytes();
        docket.extend([len, len].concat());
    }
    docket.extend(b"xabc");
    vec![
        (".i", docket),
        ("-a.idx", index),
        ("-b.dat", data),
        ("-c.sda", sidedata),
    ]
}

fn open_all(files: &[(&str, Vec<u8>)]) -> Result<Revlog, Abort> {
    let folder = tempfile::tempdir().unwrap().keep();
    for (end, bytes) in files {
        std::fs::write(folder.join(format!("log{end}")), bytes).unwrap();
    }
    let log = Revlog::open(|end| folder.join(format!("log{end}")), "log");
    // The files must be read before they are removed.
    let log = log.map(|mut log| {
        let _ = (log.text(0), log.sidedata(0, 12));
        log
    });
    std::fs::remove_dir_all(folder).unwrap();
    log
}

fn zlib(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn sound_with_docket() -> Vec<(&'static str, Vec<u8>)> {
    with_docket(&[
        (0, b"xplain".to_vec(), "xplain"),
        (1, zlib("default"), "default"),
        (2, b"umarked".to_vec(), "marked"),
        (2, zlib("itself"), "itself"),
    ])
}

#[test]
fn chunks_are_compressed_in_the_way_that_their_record_says() {
    let mut log = open_all(&sound_with_docket()).unwrap();
    assert_eq!(log.len(), 4);
    for (number, text) in [(0, "xplain"), (1, "default"), (2, "marked"), (3, "itself")] {
        assert_eq!(log.text(number).unwrap(), text.as_bytes());
        assert_eq!(log.sidedata(number, 12).unwrap(), Some(b"beside".to_vec()));
        assert_eq!(log.sidedata(number, 8).unwrap(), None);
    }
    let mut log = open_all(&with_docket(&[(3, b"unknown".to_vec(), "unknown")])).unwrap();
    let error = log.text(0).unwrap_err();
    assert!(
        error.to_string().ends_with("compressed in an unknown way"),
        "{error}"
    );
}

#[test]
fn what_a_docket_says_of_its_files_is_checked() {
    let sound = sound_with_docket();
    for (file, at, value, output) in [
        (0, 1, 16, "unknown flags (0x10) in version 57005 revlog log"),
        (0, 2, 0, "unknown version (173) in revlog log"),
        (
            0,
            10,
            0x80,
            "too few index data for log: got 384, expected 9223372036854776192",
        ),
        (
            0,
            17,
            0x81,
            "too few index data for log: got 384, expected 385",
        ),
        (0, 17, 0x7f, "index log is corrupted"),
    ] {
        let mut files = sound.clone();
        files[file].1[at] = value;
        assert_eq!(open_all(&files).unwrap_err().to_string(), output);
    }
    // The first record's chunk, and its sidedata.
    for (at, value) in [(2, 0x7f), (8, 0x7f), (96 + 5, 0x7f), (96 + 8, 0x7f)] {
        let mut files = sound.clone();
        files[1].1[at] = value;
        let mut log = open_all(&files).unwrap();
        let number = u32::try_from(at / 96).unwrap();
        assert_eq!(log.text(number).is_ok(), at == 2, "{at}");
    }
    for (at, value) in [(64, 0x7f), (71, 1), (72, 0x7f), (76, 3 << 2)] {
        let mut files = sound.clone();
        files[1].1[at] = value;
        assert!(open_all(&files).unwrap().sidedata(0, 12).is_err(), "{at}");
    }
    for missing in ["-b.dat", "-c.sda"] {
        let files: Vec<_> = sound
            .iter()
            .filter(|(end, _)| *end != missing)
            .cloned()
            .collect();
        let mut log = open_all(&files).unwrap();
        assert_eq!(log.text(0).is_ok(), missing != "-b.dat");
        assert_eq!(log.sidedata(0, 12).is_ok(), missing != "-c.sda");
    }
}

#[test]
fn a_revlog_of_a_huge_file_that_has_holes_is_read_where_it_counts() {
    let folder = tempfile::tempdir().unwrap();
    let place = |end: &str| folder.path().join(format!("log{end}"));
    for (end, bytes) in sound_with_docket() {
        std::fs::write(place(end), bytes).unwrap();
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(place(end))
            .unwrap();
        if end != ".i" {
            file.set_len(1 << 36).unwrap();
        }
    }
    let mut log = Revlog::open(place, "log").unwrap();
    assert_eq!(log.len(), 4);
    assert_eq!(log.text(3).unwrap(), b"itself");
    assert_eq!(log.sidedata(3, 12).unwrap(), Some(b"beside".to_vec()));
}

#[test]
fn a_flag_tells_which_versions_have_metadata() {
    let mut bytes = sound_revlog();
    // The flag of the index, and that of the second revision, which has a first parent; the first revision has none.
    bytes[1] |= 4;
    let second_at = 64 + 4;
    bytes[second_at + 6] |= 8;
    let log = open(&bytes).unwrap();
    let may = |number| log.may_have_metadata(&log.revision(number).unwrap());
    assert_eq!([may(0), may(1)], [false, true]);
    let log = open(&sound_revlog()).unwrap();
    let may = |number| log.may_have_metadata(&log.revision(number).unwrap());
    assert_eq!([may(0), may(1)], [true, false]);
}
