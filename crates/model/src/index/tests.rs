use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId};
use proptest::prelude::*;

use super::writer::{Draft, link, write};
use super::{
    CacheTree, EntryFlags, EntryList, FlatEntry, HEADER_LEN, Index, IndexParser, ParseError,
    ParsedIndex,
};
use crate::facts::RecordedStat;
use crate::mode::FileMode;

const SHA1: Kind = Kind::Sha1;

fn id(byte: u8) -> ObjectId {
    ObjectId::Sha1([byte; 20])
}

fn draft(path: &str, stage: u32, byte: u8) -> Draft {
    Draft {
        path: path.into(),
        stat: RecordedStat::default(),
        mode: 0o100_644,
        id: id(byte),
        flags: stage << 12,
    }
}

fn parse(bytes: &[u8]) -> ParsedIndex {
    Index::parse(bytes, SHA1).expect("a well-formed index")
}

fn error(bytes: &[u8]) -> (String, Vec<String>) {
    let error = Index::parse(bytes, SHA1).expect_err("a malformed index");
    (error.to_string(), error.error_lines())
}

fn listing(index: &Index) -> Vec<(String, u8, u8)> {
    index
        .entries()
        .iter()
        .map(|entry| {
            (
                index.path(entry).to_string(),
                entry.flags.stage(),
                entry.id().first_byte(),
            )
        })
        .collect()
}

/// Does the same as `Index::parse`, but with `piece_len` further bytes at a time.
fn parse_in_pieces(bytes: &[u8], hash: Kind, piece_len: usize) -> Result<ParsedIndex, ParseError> {
    let header_len = HEADER_LEN;
    let mut parser = IndexParser::new(bytes, bytes.len(), hash, EntryList::new)?;
    let (mut used, mut end) = (header_len, header_len);
    while parser.wants_entries() {
        end = (end + piece_len).min(bytes.len());
        used += parser.feed(&bytes[used..end], end == bytes.len())?;
    }
    let (parsed, flat) = parser.finish(&bytes[used..])?;
    Ok(parsed.with(flat))
}

fn plain(drafts: &[Draft]) -> Vec<u8> {
    write(2, SHA1, drafts, &[])
}

#[test]
fn malformed_headers_have_gits_words() {
    let good = plain(&[draft("a", 0, 1)]);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        error(&bytes)
    };
    let signature = u32::from_ne_bytes(*b"XIRC");
    assert_eq!(
        with(0, b'X'),
        (
            "index file corrupt".into(),
            vec![format!("bad signature 0x{signature:08x}")]
        )
    );
    assert_eq!(
        with(7, 5),
        (
            "index file corrupt".into(),
            vec!["bad index version 5".into()]
        )
    );
    assert_eq!(with(4, 0xff).1, ["bad index version -16777214"]);
    assert_eq!(with(11, 2), ("index file corrupt".into(), vec![]));
    assert_eq!(with(8, 0xff), ("index file corrupt".into(), vec![]));
    assert_eq!(
        Index::parse(&good[..31], SHA1).unwrap_err(),
        ParseError::TooSmall
    );
    assert_eq!(Index::parse(b"", SHA1).unwrap_err(), ParseError::TooSmall);
}

#[test]
fn unknown_extensions_are_skipped_or_refused_by_their_first_letter() {
    let bytes = write(2, SHA1, &[], &[(b"ZZZZ", vec![1, 2, 3]), (b"UNTR", vec![])]);
    let parsed = parse(&bytes);
    assert_eq!(parsed.ignored_extensions().collect::<Vec<_>>(), [b"ZZZZ"]);
    assert!(parsed.extensions.contains(b"UNTR"));

    let bytes = write(2, SHA1, &[], &[(b"zzzz", vec![])]);
    assert_eq!(
        error(&bytes).1,
        ["index uses zzzz extension, which we do not understand"]
    );
}

#[test]
fn an_untracked_cache_says_where_it_was_made() {
    let origin = |data: &[u8]| {
        let bytes = write(2, SHA1, &[], &[(b"UNTR", data.to_vec())]);
        parse(&bytes).untracked_cache_origin
    };
    assert_eq!(origin(b"\x05here\0more\0").unwrap(), "here");
    assert_eq!(origin(b"\x04here\0").unwrap(), "here");
    for malformed in [b"".as_slice(), b"\0", b"\x05here\0", b"\x04here", b"\xff\0"] {
        assert_eq!(origin(malformed).unwrap_or_default(), "", "{malformed:?}");
    }
}

#[test]
fn an_extension_may_claim_more_than_the_file_has() {
    let mut bytes = write(2, SHA1, &[], &[(b"ZZZZ", vec![0; 4])]);
    bytes[16] = 0xff;
    assert!(parse(&bytes).extensions.contains(b"ZZZZ"));
}

#[test]
fn unknown_extended_flags_are_refused() {
    let mut entry = draft("a", 0, 1);
    entry.flags = EntryFlags::EXTENDED | 0x8000_0000;
    let bytes = write(3, SHA1, &[entry], &[]);
    assert_eq!(error(&bytes).0, "unknown index entry format 0x80000000");
}

#[test]
fn a_path_that_drops_more_than_there_is_is_malformed() {
    let mut bytes = write(4, SHA1, &[draft("ab", 0, 1), draft("c", 0, 1)], &[]);
    let second = 12 + 62 + 1 + 3;
    assert_eq!(bytes[second + 62], 2, "the number of bytes dropped");
    bytes[second + 62] = 3;
    assert_eq!(
        error(&bytes).0,
        "malformed name field in the index, near path 'ab'"
    );
}

#[test]
fn a_nul_within_a_path_is_refused() {
    let mut bytes = plain(&[draft("abc", 0, 1)]);
    bytes[12 + 62 + 1] = 0;
    assert_eq!(error(&bytes).0, "index file corrupt");
}

#[test]
fn compressed_paths_may_not_fill_the_memory() {
    // Each entry repeats the whole previous path: a hundred times the file's own length.
    let long = "x".repeat(8_000);
    let drafts = vec![draft(&long, 0, 1); 800];
    let bytes = write(4, SHA1, &drafts, &[]);
    assert!(bytes.len() < 64_000);
    assert_eq!(error(&bytes).0, "index file corrupt");
}

fn cache_tree(bytes: &[u8]) -> Option<CacheTree> {
    let bytes = write(2, SHA1, &[], &[(b"TREE", bytes.to_vec())]);
    parse(&bytes).index.cache_tree().cloned()
}

#[test]
fn the_cache_tree_is_read_with_invalid_nodes() {
    let mut bytes = b"\x00-1 2\n".to_vec();
    bytes.extend(b"b\x003 0\n");
    bytes.extend([7; 20]);
    bytes.extend(b"aa\x00-1 0\n");
    let root = cache_tree(&bytes).unwrap();
    assert_eq!(root.tree, None);
    assert_eq!(root.child(b"b").unwrap().tree, Some((3, id(7))));
    assert_eq!(root.child(b"aa").unwrap().tree, None);
    assert_eq!(root.child(b"c"), None);
}

#[test]
fn children_out_of_order_are_still_found() {
    let root = cache_tree(b"\x00-1 3\nzz\x00-1 0\nb\x00-1 0\na\x00-1 0\n").unwrap();
    for name in ["a", "b", "zz"] {
        assert!(root.child(name.as_bytes()).is_some(), "{name}");
    }
}

#[test]
fn a_malformed_or_bottomless_cache_tree_is_none() {
    for bytes in [
        &b"a\x00-1 0\n"[..],
        b"\x003 0\n1234",
        b"\x00x 0\n",
        b"\x00-1 1\n",
        b"",
    ] {
        assert_eq!(cache_tree(bytes), None, "{:?}", bytes.as_bstr());
    }
    for (depth, is_read) in [(1000, true), (1_000_000, false)] {
        let mut deep = b"\x00-1 1\n".to_vec();
        deep.extend(b"a\x00-1 1\n".repeat(depth));
        deep.extend(b"a\x00-1 0\n");
        assert_eq!(cache_tree(&deep).is_some(), is_read);
    }
}

#[test]
fn a_directory_is_what_lies_below_its_name() {
    let names = ["a", "a-b", "a.b", "a/b", "a/c/d", "a0", "b"];
    let drafts: Vec<_> = names.iter().map(|name| draft(name, 0, 1)).collect();
    let index = parse(&plain(&drafts)).index;
    let below = |dir: &str| index.range_of_directory(BStr::new(dir));
    assert_eq!(below(""), 0..7);
    assert_eq!(below("a"), 3..5);
    assert_eq!(below("a/c"), 4..5);
    assert_eq!(below("b"), 7..7);
    assert_eq!(below("0"), 0..0);
    assert_eq!(index.position("a.b".into(), 0), Ok(2));
    assert_eq!(index.position("a.b".into(), 1), Err(3));
    assert!(index.find("a/b".into(), 0).is_some());
    assert!(index.find("a/".into(), 0).is_none());
}

fn join(
    base: &[Draft],
    changes: &[Draft],
    deleted: &[usize],
    replaced: &[usize],
) -> Result<Vec<(String, u8, u8)>, String> {
    let link = link(id(9), deleted, replaced);
    let split = parse(&write(2, SHA1, changes, &[(b"link", link)]));
    assert_eq!(split.link.as_ref().expect("a link").shared_id, id(9));
    split
        .join(&plain(base))
        .map(|joined| listing(&joined))
        .map_err(|error| error.to_string())
}

#[test]
fn a_split_index_replaces_deletes_and_adds() {
    let base = [
        draft("a", 0, 1),
        draft("b", 0, 1),
        draft("c", 1, 1),
        draft("c", 2, 1),
        draft("d", 0, 1),
    ];
    let changes = [
        draft("", 0, 2),
        draft("a0", 0, 2),
        draft("a0", 0, 3),
        draft("c", 0, 4),
        draft("d", 0, 5),
        draft("e", 2, 6),
    ];
    let entry = |path: &str, stage, byte| (path.to_owned(), stage, byte);
    assert_eq!(
        join(&base, &changes, &[1], &[0]).unwrap(),
        [
            entry("a", 0, 2),
            entry("a0", 0, 3),
            entry("c", 0, 4),
            entry("d", 0, 5),
            entry("e", 2, 6),
        ]
    );
}

#[test]
fn a_split_index_that_does_not_fit_has_gits_words() {
    let base = [draft("a", 0, 1)];
    let fails = |changes: &[Draft], deleted: &[usize], replaced: &[usize]| {
        join(&base, changes, deleted, replaced).unwrap_err()
    };
    assert_eq!(
        fails(&[], &[1], &[]),
        "position for delete 1 exceeds base index size 1"
    );
    assert_eq!(
        fails(&[], &[], &[64]),
        "position for replacement 64 exceeds base index size 1"
    );
    assert_eq!(fails(&[], &[], &[0]), "too many replacements (0 vs 0)");
    assert_eq!(
        fails(&[draft("x", 0, 1)], &[], &[0]),
        "corrupt link extension, entry 0 should have zero length name"
    );
    assert_eq!(
        fails(&[draft("", 0, 1)], &[], &[]),
        "corrupt link extension, entry 0 should have non-zero length name"
    );
}

#[test]
fn a_malformed_link_has_gits_words() {
    let lines = |data: &[u8]| error(&write(2, SHA1, &[], &[(b"link", data.to_vec())])).1;
    let good = link(id(9), &[1], &[]);
    assert_eq!(lines(&good[..19]), ["corrupt link extension (too short)"]);
    assert_eq!(
        lines(&good[..22]),
        [
            "corrupt ewah bitmap: eof before bit size",
            "corrupt delete bitmap in link extension"
        ]
    );
    assert_eq!(
        lines(&good[..30])[0],
        "corrupt ewah bitmap: eof in data (14 bytes short)"
    );
    assert_eq!(
        lines(&good[..good.len() - 1]),
        [
            "corrupt ewah bitmap: eof before rlw",
            "corrupt replace bitmap in link extension"
        ]
    );
    let mut long = good.clone();
    long.push(0);
    assert_eq!(lines(&long), ["garbage at the end of link extension"]);
    let both = write(2, SHA1, &[], &[(b"sdir", vec![]), (b"link", good)]);
    assert_eq!(error(&both).0, "cannot use split index with a sparse index");
}

#[test]
fn a_run_of_set_bits_ends_at_the_size_of_the_base() {
    let mut data = id(9).as_slice().to_vec();
    for run in [1 | 1 << 1, 0xffff_ffff << 1 | 1u64] {
        data.extend([0, 0, 0, 64, 0, 0, 0, 1]);
        data.extend(run.to_be_bytes());
        data.extend([0; 4]);
    }
    let parsed = parse(&write(2, SHA1, &[], &[(b"link", data)]));
    let error = parsed.join(&plain(&[draft("a", 0, 1)])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "position for replacement 1 exceeds base index size 1"
    );
}

#[test]
fn a_run_of_clear_bits_is_passed_over() {
    let base: Vec<_> = (0..132)
        .map(|number| draft(&format!("{number:03}"), 0, 1))
        .collect();
    let mut data = id(9).as_slice().to_vec();
    let deleted: [u64; 2] = [2 << 1 | 1 << 33, 1 << 3];
    data.extend([0, 0, 0, 192, 0, 0, 0, 2]);
    data.extend(deleted.map(u64::to_be_bytes).as_flattened());
    data.extend([0; 4]);
    data.extend([0; 12]);
    let parsed = parse(&write(2, SHA1, &[], &[(b"link", data)]));
    let mut expected = listing(&parse(&plain(&base)).index);
    expected.remove(131);
    assert_eq!(listing(&parsed.join(&plain(&base)).unwrap()), expected);
}

#[test]
fn a_link_to_nothing_is_no_link() {
    let link = link(id(0), &[], &[]);
    let index = write(2, SHA1, &[draft("a", 0, 1)], &[(b"link", link)]);
    assert!(parse(&index).link.is_none());
}

#[test]
fn a_sparse_directory_is_expanded_where_its_contents_are_given() {
    let dir = |path: &str| Draft {
        mode: 0o040_000,
        ..draft(path, 0, 1)
    };
    let drafts = [dir("a/"), draft("b", 0, 2), dir("c/")];
    let index = parse(&write(2, SHA1, &drafts, &[(b"sdir", vec![])])).index;
    assert!(index.is_sparse());
    let contents = |path: &BStr, _: &gix_hash::oid| {
        let file = |path: &str| FlatEntry {
            path: path.into(),
            mode: FileMode::FILE,
            id: id(3),
        };
        Ok::<_, ()>((path == "a/").then(|| vec![file("a/x"), file("a/y")]))
    };
    let expanded = index.expand_sparse_directories(contents).unwrap();
    let paths: Vec<_> = listing(&expanded)
        .into_iter()
        .map(|entry| entry.0)
        .collect();
    assert_eq!(paths, ["a/x", "a/y", "b", "c/"]);
    assert!(expanded.is_sparse());
    assert!(expanded.entries()[0].flags.is_skip_worktree());
    assert!(!expanded.entries()[2].flags.is_skip_worktree());
}

fn drafts(hash: Kind) -> impl Strategy<Value = Vec<Draft>> {
    let entry = (
        prop::collection::vec(prop::sample::select(b"ab/.\xff".to_vec()), 1..30),
        any::<[u32; 10]>(),
        any::<u8>(),
        prop::sample::select(vec![0, 1 << 12, 3 << 12, 0x8000, 0x6000_4000, 0x2000_4000]),
        prop::sample::select(vec![1, 1, 1, 200]),
    );
    prop::collection::vec(entry, 0..40).prop_map(move |entries| {
        let mut drafts: Vec<Draft> = entries
            .into_iter()
            .map(|(path, words, byte, flags, repeat)| {
                let [
                    ctime_s,
                    ctime_ns,
                    mtime_s,
                    mtime_ns,
                    dev,
                    ino,
                    uid,
                    gid,
                    size,
                    mode,
                ] = words;
                Draft {
                    path: path.repeat(repeat),
                    stat: RecordedStat {
                        ctime_s,
                        ctime_ns,
                        mtime_s,
                        mtime_ns,
                        dev,
                        ino,
                        uid,
                        gid,
                        size,
                    },
                    mode,
                    id: ObjectId::from_bytes_or_panic(&vec![byte; hash.len_in_bytes()]),
                    flags,
                }
            })
            .collect();
        drafts.sort_by(|a, b| (&a.path, a.flags >> 12 & 3).cmp(&(&b.path, b.flags >> 12 & 3)));
        drafts.dedup_by(|a, b| a.path == b.path && a.flags >> 12 & 3 == b.flags >> 12 & 3);
        drafts
    })
}

fn kind_and_drafts() -> impl Strategy<Value = (Kind, Vec<Draft>)> {
    prop::sample::select(vec![Kind::Sha1, Kind::Sha256])
        .prop_flat_map(|hash| drafts(hash).prop_map(move |drafts| (hash, drafts)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read((hash, drafts) in kind_and_drafts(), version in 2u32..=4) {
        let parsed = Index::parse(&write(version, hash, &drafts, &[]), hash).unwrap();
        let index = parsed.index;
        prop_assert_eq!(index.entries().len(), drafts.len());
        for (at, (entry, draft)) in index.entries().iter().zip(&drafts).enumerate() {
            prop_assert_eq!(index.path(entry), draft.path.as_bstr());
            prop_assert_eq!(entry.stat, draft.stat);
            prop_assert_eq!(entry.mode.0, FileMode(draft.mode).canonical().0);
            prop_assert_eq!(entry.id, draft.id);
            prop_assert_eq!(entry.flags.0, draft.flags);
            prop_assert_eq!(index.position(index.path(entry), entry.flags.stage()), Ok(at));
        }
    }

    #[test]
    fn directories_are_those_of_a_linear_search((_, drafts) in kind_and_drafts(), dir in "[ab./]{1,3}") {
        let hash = drafts.first().map_or(SHA1, |draft| draft.id.kind());
        let index = Index::parse(&write(2, hash, &drafts, &[]), hash).unwrap().index;
        let prefix = format!("{dir}/");
        let expected: Vec<usize> = (0..drafts.len())
            .filter(|&at| drafts[at].path.starts_with(prefix.as_bytes()))
            .collect();
        let found: Vec<usize> = index.range_of_directory(dir.as_str().into()).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn no_bytes_make_it_panic_and_pieces_are_as_good_as_the_whole(
        piece_len in 1usize..200,
        (hash, drafts) in kind_and_drafts(),
        version in 2u32..=4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut tree = b"\x00-1 1\na\x000 0\n".to_vec();
        tree.extend(vec![0; hash.len_in_bytes()]);
        let shared_id = ObjectId::from_bytes_or_panic(&vec![9; hash.len_in_bytes()]);
        let link = link(shared_id, &[1, 70], &[0]);
        let mut bytes = write(version, hash, &drafts, &[(b"TREE", tree), (b"link", link)]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cut.index(4) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        let whole = Index::parse(&bytes, hash);
        let in_pieces = parse_in_pieces(&bytes, hash, piece_len);
        prop_assert_eq!(format!("{whole:?}"), format!("{in_pieces:?}"));
        if let Ok(parsed) = whole {
            for entry in parsed.index.entries() {
                let _ = parsed.index.find(parsed.index.path(entry), 0);
            }
            let _ = parsed.join(&bytes);
        }
    }
}
