use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;

use super::*;

const HEADER_INLINE_GENERAL: u32 = 3 << 16 | 1;

/// How a text is kept.
enum Kept {
    Raw,
    Zlib,
    Empty,
}

/// An inline revlog of `texts`, each a difference to the one of the number with it, if one is given.
fn revlog(texts: &[(&str, Option<u32>, Kept)]) -> Vec<u8> {
    let mut all: Vec<u8> = Vec::new();
    let mut start = 0u64;
    let mut parent = Node::NULL;
    for (number, (text, base, kept)) in (0u32..).zip(texts) {
        let whole = match base {
            None => text.as_bytes().to_vec(),
            Some(base) => {
                // All of the base is replaced.
                let old = u32::try_from(texts[*base as usize].0.len()).unwrap();
                let new = u32::try_from(text.len()).unwrap();
                let header = [0, old, new].map(u32::to_be_bytes).concat();
                [header, text.as_bytes().to_vec()].concat()
            }
        };
        let chunk = match kept {
            Kept::Raw => [b"u", whole.as_slice()].concat(),
            Kept::Empty => Vec::new(),
            Kept::Zlib => {
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
    Revlog::open(&path, folder.path().join("log.d"), "log")
}

fn sound() -> Vec<u8> {
    revlog(&[
        ("one", None, Kept::Raw),
        ("two and more", Some(0), Kept::Zlib),
        ("three", Some(1), Kept::Raw),
        ("", None, Kept::Empty),
    ])
}

#[test]
fn texts_are_put_together_and_found() {
    let mut log = open(&sound()).unwrap();
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
fn one_that_is_not_there_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let log = Revlog::open(&folder.path().join("x.i"), folder.path().join("x.d"), "x").unwrap();
    assert!(log.is_empty());
}

#[test]
fn damage_is_told() {
    let whole = sound();
    for len in 1..whole.len() {
        if let Ok(log) = open(&whole[..len]) {
            assert!(log.len() < 4);
        }
    }
    let mut other_version = whole.clone();
    other_version[3] = 2;
    let error = open(&other_version).unwrap_err();
    assert_eq!(error.to_string(), "unknown version (2) in revlog log");
    // A letter of the first text.
    let mut changed = whole.clone();
    changed[65] ^= 1;
    let error = open(&changed).unwrap().text(0).unwrap_err();
    assert_eq!(error.to_string(), "integrity check failed on log:0");
    // The first is a difference to a later one.
    let mut cyclic = whole;
    cyclic[16..20].copy_from_slice(&2u32.to_be_bytes());
    assert!(open(&cyclic).unwrap().text(1).is_err());
}

proptest! {
    #[test]
    fn flipped_bytes_never_give_another_text(at in 0usize..10_000, value: u8) {
        let mut bytes = sound();
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
