use proptest::prelude::*;

use vigil_linux::stat::Stat;

use super::*;

/// Builds a record of the first format.
fn record(state: u8, mode: i32, size: i32, mtime: i32, names: &[u8]) -> Vec<u8> {
    let len = i32::try_from(names.len()).unwrap();
    let numbers = [mode, size, mtime, len].map(i32::to_be_bytes).concat();
    [&[state], numbers.as_slice(), names].concat()
}

fn dirstate_v1(records: &[Vec<u8>]) -> Vec<u8> {
    let parents = [[1; 20], [0; 20]].concat();
    [parents, records.concat()].concat()
}

fn read_v1(bytes: Vec<u8>) -> Result<Dirstate, Damaged> {
    Dirstate::of_v1(Contents::Read(bytes))
}

#[test]
fn the_first_format_is_read() {
    let bytes = dirstate_v1(&[
        record(b'n', 0o100_755, 5, 1000, b"d/x"),
        record(b'a', 0, -1, -1, b"c\0d/x"),
        record(b'n', 0o100_644, 5, -1, b"b"),
        record(b'n', 0o100_644, -2, -1, b"e"),
        record(b'r', 0, 0, 0, b"f"),
        record(b'm', 0, 0, 0, b"g"),
        record(b'n', 0o120_777, 0, 1000, b"h"),
        record(b'n', 0o100_644, -3, 1000, b"i"),
    ]);
    let dirstate = read_v1(bytes).unwrap();
    assert_eq!(dirstate.parents(), [Node([1; 20]), Node::NULL]);
    let paths: Vec<_> = dirstate.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(paths, ["b", "c", "d/x", "e", "f", "g", "h", "i"]);
    let entry = |path: &str| {
        *dirstate
            .get(dirstate.position(path.into()).unwrap())
            .unwrap()
            .1
    };
    let normal = entry("d/x");
    assert!(
        normal
            .flags
            .has(Flags::HAS_MTIME | Flags::HAS_MODE_AND_SIZE | Flags::MODE_EXEC_PERM)
    );
    assert_eq!((normal.size, normal.mtime_s), (5, 1000));
    assert!(!entry("b").flags.has(Flags::HAS_MTIME));
    assert!(!entry("b").flags.has(Flags::MODE_EXEC_PERM));
    for (path, is_link) in [("b", false), ("h", true)] {
        assert_eq!(entry(path).flags.has(Flags::MODE_IS_SYMLINK), is_link);
    }
    for (path, is_known) in [("h", true), ("i", false)] {
        assert_eq!(entry(path).flags.has(Flags::HAS_MODE_AND_SIZE), is_known);
    }
    assert!(entry("c").is_added() && entry("e").has_p2_info() && entry("f").is_removed());
    assert!(entry("g").has_p2_info());
    assert_eq!(dirstate.copy_source(1), Some("d/x".into()));
    assert_eq!(dirstate.copy_source(2), None);
    for (path, expected) in [
        ("d", true),
        ("", true),
        ("d/x", false),
        ("c", false),
        ("dd", false),
    ] {
        assert_eq!(dirstate.has_directory(path.into()), expected, "{path}");
    }
}

#[test]
fn paths_never_lead_out_of_the_working_copy() {
    for name in [&b".hgignore"[..], b"\x03", b"-", b"a"] {
        let dirstate = read_v1(dirstate_v1(&[record(b'n', 0o100_644, 5, 1000, name)])).unwrap();
        assert!(dirstate.has_directory("".into()), "{name:?}");
    }
}

#[test]
fn damage_to_the_first_format_is_reported() {
    let whole = dirstate_v1(&[record(b'n', 0o100_644, 5, 1000, b"a")]);
    assert!(read_v1(Vec::new()).unwrap().is_empty());
    for len in (1..whole.len()).filter(|len| *len != 40) {
        assert!(read_v1(whole[..len].to_vec()).is_err(), "{len}");
    }
    for records in [
        vec![record(b'x', 0, 0, 0, b"a")],
        vec![record(b'n', 0, 0, 0, b"a"), record(b'n', 0, 0, 0, b"a")],
        vec![record(b'n', 0, 0, 0, b"../a")],
        vec![record(b'n', 0, 0, 0, b"/a")],
        vec![record(b'n', 0, 0, 0, b".hg/a")],
        vec![record(b'n', 0, 0, 0, b".hg")],
        vec![record(b'n', 0, 0, 0, b"")],
    ] {
        assert!(read_v1(dirstate_v1(&records)).is_err());
    }
    let mut negative = whole;
    negative[53..57].copy_from_slice(&(-1i32).to_be_bytes());
    assert!(read_v1(negative).is_err());
}

/// A data file of the second format, built node by node.
#[derive(Default)]
struct DataFile(Vec<u8>);

impl DataFile {
    fn text(&mut self, text: &str) -> u32 {
        let at = u32::try_from(self.0.len()).unwrap();
        self.0.extend_from_slice(text.as_bytes());
        at
    }

    fn nodes(&mut self, nodes: &[[u8; 44]]) -> (u32, u32) {
        let at = u32::try_from(self.0.len()).unwrap();
        self.0.extend(nodes.iter().flatten());
        (at, u32::try_from(nodes.len()).unwrap())
    }

    fn node(&mut self, path: &str, flags: u16, children: (u32, u32)) -> [u8; 44] {
        let start = self.text(path);
        let mut node = [0; 44];
        node[0..4].copy_from_slice(&start.to_be_bytes());
        node[4..6].copy_from_slice(&u16::try_from(path.len()).unwrap().to_be_bytes());
        let name = path.rfind('/').map_or(0, |slash| slash + 1);
        node[6..8].copy_from_slice(&u16::try_from(name).unwrap().to_be_bytes());
        node[14..18].copy_from_slice(&children.0.to_be_bytes());
        node[18..22].copy_from_slice(&children.1.to_be_bytes());
        node[30..32].copy_from_slice(&flags.to_be_bytes());
        node[32..36].copy_from_slice(&7u32.to_be_bytes());
        node[36..40].copy_from_slice(&1000u32.to_be_bytes());
        node[40..44].copy_from_slice(&5u32.to_be_bytes());
        node
    }

    fn docket(&self, roots: (u32, u32)) -> Vec<u8> {
        let mut metadata = [0; 44];
        metadata[0..4].copy_from_slice(&roots.0.to_be_bytes());
        metadata[4..8].copy_from_slice(&roots.1.to_be_bytes());
        let mut bytes = MARKER.to_vec();
        bytes.extend([1; 20]);
        bytes.extend([0; 44]);
        bytes.extend(metadata);
        bytes.extend(u32::try_from(self.0.len()).unwrap().to_be_bytes());
        bytes.push(8);
        bytes.extend(b"0a1b2c3d");
        bytes
    }
}

const NORMAL: u16 = 0b1100_0000_0011;

fn sound_dirstate_v2() -> (Vec<u8>, Vec<u8>) {
    let mut data = DataFile::default();
    data.text("padding");
    let inner = [
        data.node("d/e", NORMAL, (0, 0)),
        data.node("d/f", 1, (0, 0)),
    ];
    let inner = data.nodes(&inner);
    let outer = [
        data.node("a", NORMAL, (0, 0)),
        data.node("d", 1 << 13, inner),
        data.node("e", NORMAL | 1 << 9, (0, 0)),
    ];
    let outer = data.nodes(&outer);
    (data.docket(outer), data.0)
}

fn read_v2(docket: &[u8], data: Vec<u8>) -> Result<Dirstate, Damaged> {
    Dirstate::of_v2(&Docket::parse(docket)?, Contents::Read(data))
}

#[test]
fn the_second_format_is_read() {
    let (docket, data) = sound_dirstate_v2();
    assert_eq!(Docket::parse(&docket).unwrap().id, "0a1b2c3d");
    let dirstate = read_v2(&docket, data).unwrap();
    let paths: Vec<_> = dirstate.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(paths, ["a", "d/e", "d/f", "e"]);
    let entry = |at| *dirstate.get(at).unwrap().1;
    assert_eq!(
        (entry(0).size, entry(0).mtime_s, entry(0).mtime_ns),
        (7, 1000, 5)
    );
    assert!(entry(2).is_added());
    assert!(
        entry(0)
            .flags
            .has(Flags::HAS_MTIME | Flags::HAS_MODE_AND_SIZE)
    );
    assert!(
        !entry(3).flags.has(Flags::HAS_MTIME),
        "it is expected to be modified"
    );
}

/// The flags of a directory whose mtime is recorded, and whose unknown files all are.
const LISTED: u16 = 1 << 13 | 1 << 11 | 1 << 14;

#[test]
fn directories_that_were_listed_are_known_by_their_mtime() {
    let listed = |directory: u16, mtime_ns: u32, others: &[(&str, u16)]| {
        let mut data = DataFile::default();
        data.text("padding");
        let inner = [data.node("d/e", NORMAL, (0, 0))];
        let inner = data.nodes(&inner);
        let mut directory = data.node("d", directory, inner);
        directory[40..44].copy_from_slice(&mtime_ns.to_be_bytes());
        let mut outer = vec![directory];
        outer.extend(
            others
                .iter()
                .map(|(path, flags)| data.node(path, *flags, (0, 0))),
        );
        let outer = data.nodes(&outer);
        let mut docket = data.docket(outer);
        docket[100..120].copy_from_slice(&[7; 20]);
        read_v2(&docket, data.0).unwrap()
    };
    let stat = |mtime_s: i64, mtime_ns: u32| Stat {
        mtime_s,
        mtime_ns,
        ..Stat::default()
    };
    let holds = |dirstate: &Dirstate, path: &str, mtime_s: i64, mtime_ns: u32| {
        let listed = dirstate.listed_under([7; 20]);
        let stat = stat(mtime_s, mtime_ns);
        listed.is_some_and(|listed| listed.holds_only_recorded(path.into(), &stat))
    };
    let plain = listed(LISTED, 5, &[("e", NORMAL)]);
    assert!(holds(&plain, "d", 1000, 5));
    assert!(holds(&plain, "d", 1000 + (1 << 31), 5));
    for (path, mtime_s, mtime_ns) in [
        ("d", 1000, 6),
        ("d", 999, 5),
        ("d/e", 1000, 5),
        ("", 1000, 5),
    ] {
        assert!(
            !holds(&plain, path, mtime_s, mtime_ns),
            "{path} {mtime_s} {mtime_ns}"
        );
    }
    assert!(plain.listed_under([8; 20]).is_none());
    for (directory, mtime_ns, others) in [
        (1 << 13, 5, &[][..]),
        (LISTED & !(1 << 14), 5, &[]),
        // Seconds alone prove nothing if more may have happened within that second.
        (LISTED | 1 << 12, 0, &[]),
        // Records of what is not tracked are not looked at.
        (LISTED, 5, &[("e", 0)]),
    ] {
        let other = listed(directory, mtime_ns, others);
        assert!(
            !holds(&other, "d", 1000, mtime_ns),
            "{directory:b} {others:?}"
        );
    }
    assert!(holds(&listed(LISTED, 0, &[]), "d", 1000, 0));
    assert!(holds(&listed(LISTED | 1 << 12, 5, &[]), "d", 1000, 5));
}

#[test]
fn nodes_that_lead_back_to_others_are_refused() {
    let mut data = DataFile::default();
    let at = u32::try_from("d".len()).unwrap();
    let node = data.node("d", 0, (at, 1));
    let nodes = data.nodes(&[node]);
    let error = read_v2(&data.docket(nodes), data.0).unwrap_err();
    assert!(error.0.contains("more nodes"), "{error}");
}

#[test]
fn paths_that_cannot_be_are_refused() {
    let refusal = |path: &str, name_start: u16, count: usize| {
        let mut data = DataFile::default();
        let mut node = data.node(path, NORMAL, (0, 0));
        node[6..8].copy_from_slice(&name_start.to_be_bytes());
        let nodes = data.nodes(&vec![node; count]);
        read_v2(&data.docket(nodes), data.0).err().map(|it| it.0)
    };
    assert_eq!(refusal("ab", 2, 1), None);
    for (path, name_start, count, expected) in [
        ("ab", 3, 1, "outside of its path"),
        (&"a".repeat(1000), 0, 1000, "longer than their file"),
        ("a\0b", 0, 1, ""),
    ] {
        let found = refusal(path, name_start, count);
        assert!(found.is_some_and(|it| it.contains(expected)), "{expected}");
    }
}

#[test]
fn damage_to_the_second_format_is_reported() {
    let (docket, data) = sound_dirstate_v2();
    for len in 0..docket.len() {
        assert!(Docket::parse(&docket[..len]).is_err(), "{len}");
    }
    for len in 0..data.len() {
        assert!(read_v2(&docket, data[..len].to_vec()).is_err(), "{len}");
    }
    let mut elsewhere = docket.clone();
    let id = elsewhere.len() - 8;
    elsewhere[id..].copy_from_slice(b"../../xx");
    assert!(Docket::parse(&elsewhere).is_err());
}

proptest! {
    #[test]
    fn flipped_bytes_cost_no_more_than_an_error(
        at in 0usize..400,
        value: u8,
        of_docket: bool,
    ) {
        let (mut docket, mut data) = sound_dirstate_v2();
        let bytes = if of_docket { &mut docket } else { &mut data };
        let at = at % bytes.len();
        bytes[at] = value;
        if let Ok(dirstate) = read_v2(&docket, data) {
            prop_assert!(dirstate.iter().map(|(path, _)| path).is_sorted());
        }
    }
}
