//! Every directory must be listed in the order of plain byte strings.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use proptest::prelude::*;
use rustix::fs::{CWD, Mode, OFlags};

use super::*;

fn open(path: &Path) -> OwnedFd {
    rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap()
}

fn make(root: &Path, names: &BTreeSet<Vec<u8>>) -> std::path::PathBuf {
    let path = root.join("listed");
    std::fs::create_dir(&path).unwrap();
    for name in names {
        std::fs::write(path.join(OsStr::from_bytes(name)), "").unwrap();
    }
    path
}

/// Lists `names` in memory that is reused, and dirty, from a listing of another directory.
fn check(names: impl IntoIterator<Item = Vec<u8>>) {
    let names: BTreeSet<_> = names.into_iter().collect();
    let root = tempfile::tempdir().unwrap();
    let path = make(root.path(), &names);
    let other = root.path().join("other");
    std::fs::create_dir(&other).unwrap();
    for name in 0..40 {
        std::fs::write(other.join(format!("{name:064}")), "").unwrap();
    }
    let mut listing = Listing::new();
    listing.read(open(&other).as_fd()).unwrap();
    listing.read(open(&path).as_fd()).unwrap();
    let listed = listing
        .entries()
        .map(|entry| entry.name.to_bytes().to_vec());
    assert!(listed.eq(names));
}

#[test]
fn empty_directory() {
    check([]);
}

#[test]
fn names_of_every_length() {
    check((1..=255).map(|length| vec![b'n'; length]));
    check((1..=255).map(|length| vec![b'z' - (length % 20) as u8; length]));
}

#[test]
fn names_of_any_bytes() {
    check(
        [
            b"a".as_slice(),
            b"a\x01",
            b"a\x01\x01",
            b"a\n",
            b"a\nb",
            b"\xff\xfe",
            b"\x80",
            b"\x7f",
            b"...",
            b".a",
            b"..a",
            b". ",
            b".\x01",
            b"abcdefgh",
            b"abcdefgh\x01",
            b"abcdefghi",
            b"abcdefg",
            b"\xe4\xf6\xfc",
            b" ",
        ]
        .map(<[u8]>::to_vec),
    );
    let singles = (1..=255_u8).filter(|byte| !matches!(byte, b'/' | b'.'));
    check(singles.map(|byte| vec![byte]));
}

#[test]
fn large_directories() {
    check((0..5_000_u32).map(|n| format!("{:x}", n.wrapping_mul(2_654_435_761)).into()));
    check((0..1_000_u32).map(|n| {
        let n = n.wrapping_mul(2_654_435_761);
        format!("prefix-of-many-bytes-{}-and-{n:08x}-end", n % 7).into()
    }));
    check((0..300).map(|n| {
        let mut name = vec![b'p'; 250];
        name.extend(format!("{n:04}").bytes());
        name
    }));
}

#[test]
fn kinds_and_access() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("dir")).unwrap();
    std::fs::write(root.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("dir", root.path().join("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
    let mut listing = Listing::new();
    assert!(listing.is_empty());
    let dir = open(root.path());
    listing.read(dir.as_fd()).unwrap();
    let seen: Vec<_> = listing
        .entries()
        .map(|entry| (entry.name.to_bytes(), entry.kind))
        .collect();
    let expected: [(&[u8], _); 4] = [
        (b"dir", EntryKind::Dir),
        (b"file", EntryKind::File),
        (b"link", EntryKind::Symlink),
        (b"socket", EntryKind::Other),
    ];
    assert_eq!(seen, expected);
    assert_eq!(listing.len(), 4);
    assert_eq!(listing.find(b"link"), listing.get(2));
    assert_eq!(listing.find(b"lin"), None);
    assert_eq!(listing.find(b"link\x01"), None);
    assert_eq!(listing.get(4), None);
}

#[test]
fn types_that_the_file_system_does_not_tell() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("dir")).unwrap();
    std::fs::write(root.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("dir", root.path().join("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
    let mut listing = Listing::new();
    let names = ["socket", "vanished", "link", "known", "file", "dir"];
    for name in names {
        let d_type = match name {
            "known" => libc::DT_DIR,
            _ => libc::DT_UNKNOWN,
        };
        listing.records.append(&record(name.as_bytes(), d_type));
    }
    listing.sort_records(open(root.path()).as_fd()).unwrap();
    let seen: Vec<_> = listing
        .entries()
        .map(|entry| (entry.name.to_str().unwrap(), entry.kind))
        .collect();
    let expected = [
        ("dir", EntryKind::Dir),
        ("file", EntryKind::File),
        ("known", EntryKind::Dir),
        ("link", EntryKind::Symlink),
        ("socket", EntryKind::Other),
    ];
    assert_eq!(seen, expected);
}

/// A record as the kernel writes it, with stale memory after the NUL.
fn record(name: &[u8], d_type: u8) -> Vec<u8> {
    let length = (19 + name.len() + 1).next_multiple_of(8);
    let mut record = vec![0xAA; 16];
    record.extend_from_slice(&u16::try_from(length).unwrap().to_ne_bytes());
    record.push(d_type);
    record.extend_from_slice(name);
    record.push(0);
    record.resize(length, b'/');
    record
}

/// The names in a listing of records, in the order in which a file system returns them.
fn names_in(records: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Errno> {
    let mut listing = Listing::new();
    for record in records {
        listing.records.append(record);
    }
    let root = tempfile::tempdir().unwrap();
    let result = listing.sort_records(open(root.path()).as_fd());
    assert!(result.is_ok() || listing.is_empty());
    result.map(|()| {
        let names = listing
            .entries()
            .map(|entry| entry.name.to_bytes().to_vec());
        names.collect()
    })
}

#[test]
fn damaged_records() {
    let good = || record(b"good", libc::DT_REG);
    let with_nul = record(b"with\0nul", libc::DT_REG);
    let long_with_nul = [b"l".repeat(70), b"\0tail".to_vec()].concat();
    let long_with_nul = record(&long_with_nul, libc::DT_REG);
    assert_eq!(
        names_in(&[with_nul, good(), long_with_nul]),
        Ok(vec![b"good".to_vec(), b"l".repeat(70), b"with".to_vec()])
    );
    assert_eq!(
        names_in(&[record(b"", libc::DT_REG), good()]),
        Ok(vec![b"good".to_vec()])
    );

    let with_length = |length: u16| {
        let mut record = good();
        record[16..18].copy_from_slice(&length.to_ne_bytes());
        record
    };
    for length in [0, 1, 18, 19, 20, 23, 32, 48, u16::MAX] {
        assert_eq!(
            names_in(&[good(), with_length(length)]),
            Err(Errno::IO),
            "{length}"
        );
    }
    for length in [4, 5, 28, 29, 60, 200] {
        let mut endless = record(&b"e".repeat(length), libc::DT_REG);
        endless[19..].fill(b'e');
        assert_eq!(names_in(&[good(), endless]), Err(Errno::IO), "{length}");
    }
    let mut cut = record(b"cut", libc::DT_REG);
    cut.truncate(20);
    assert_eq!(names_in(&[good(), cut]), Err(Errno::IO));
}

#[test]
fn failed_read_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("file"), "").unwrap();
    let mut listing = Listing::new();
    listing.read(open(root.path()).as_fd()).unwrap();
    let file = std::fs::File::open(root.path().join("file")).unwrap();
    assert_eq!(listing.read(file.as_fd()), Err(Errno::NOTDIR));
    assert!(listing.is_empty());
}

#[test]
fn opening_refuses_what_is_no_directory() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("dir")).unwrap();
    std::fs::write(root.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("dir", root.path().join("link")).unwrap();
    let dir = open(root.path());
    assert!(open_dir_at(dir.as_fd(), c"dir").is_ok());
    let error = |name| open_dir_at(dir.as_fd(), name).unwrap_err();
    assert_eq!(error(c"file"), Errno::NOTDIR);
    assert!(matches!(error(c"link"), Errno::NOTDIR | Errno::LOOP));
    assert_eq!(error(c"none"), Errno::NOENT);
}

#[test]
fn memory_of_a_huge_directory_is_given_back() {
    let root = tempfile::tempdir().unwrap();
    let huge: BTreeSet<_> = (0..20_000)
        .map(|n| format!("{n:064}").into_bytes())
        .collect();
    let huge = make(root.path(), &huge);
    let small = root.path().join("small");
    std::fs::create_dir(&small).unwrap();
    std::fs::write(small.join("file"), "").unwrap();
    let mut listing = Listing::new();
    listing.read(open(&huge).as_fd()).unwrap();
    assert_eq!(listing.len(), 20_000);
    assert!(listing.memory_bytes() > 1 << 20);
    listing.read(open(&small).as_fd()).unwrap();
    assert_eq!(listing.len(), 1);
    assert!(listing.memory_bytes() <= 2 << 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn order_is_that_of_byte_strings(
        names in prop_oneof![
            prop::collection::btree_set(prop::collection::vec(1..=255_u8, 1..20), 0..400),
            prop::collection::btree_set(prop::collection::vec(b'a'..=b'c', 1..40), 0..400),
            prop::collection::btree_set("(prefix|prefix-of-eight|[a-f]{1,3})[0-9_.]{1,24}"
                .prop_map(String::into_bytes), 0..400),
        ],
        seed in any::<u64>(),
    ) {
        let mut shuffled: Vec<_> = names.iter().collect();
        shuffled.sort_by_key(|name| {
            name.iter().fold(seed | 1, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
        });
        let mut bytes = Vec::new();
        let mut slots = Vec::new();
        for name in shuffled {
            let name_at = bytes.len();
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(b"\0stale memory");
            let prefix = u64::from_be_bytes(bytes[name_at..][..8].try_into().unwrap());
            let record = kernel::Record { name_at, name_len: name.len(), prefix, d_type: 0 };
            slots.push(order::Slot::new(record));
        }
        bytes.extend_from_slice(&[0xAA; 16]);
        order::sort(&mut slots, &bytes, &mut order::Scratch::default());
        let sorted: Vec<_> = slots
            .iter()
            .map(|slot| bytes[slot.name_at()..][..slot.name_len()].to_vec())
            .collect();
        prop_assert_eq!(sorted, names.into_iter().collect::<Vec<_>>());
    }
}
