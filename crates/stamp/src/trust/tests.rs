use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use super::*;

const EXT4: u32 = 0xef53;
const NFS: u32 = 0x6969;
const FAT: u32 = 0x4d44;
const UNKNOWN: u32 = 0x1234;

const GOOD: Findings = Findings {
    granularity: Some(Granularity::SECOND),
    has_own_clock: true,
    moves_at_creation: true,
    moves_at_rename: true,
    moves_at_removal: true,
    moves_with_directories: true,
};

fn file_system(kind: u32, findings: Option<Findings>) -> FileSystem {
    FileSystem {
        kind,
        device: 0x0102_0304_0506_0708,
        findings,
    }
}

/// Whether directories, and whether contents are trusted.
fn trusted(kind: u32, findings: Option<Findings>) -> (bool, bool) {
    let probed = file_system(kind, findings);
    let trust = file_system(kind, None).trust(Some(&probed));
    (trust.directories, trust.contents)
}

#[test]
fn the_kind_decides_where_it_is_known() {
    assert_eq!(trusted(EXT4, None), (true, true));
    assert_eq!(trusted(FAT, None), (false, true));
    assert_eq!(trusted(NFS, None), (false, false));
    let names = [EXT4, FAT, NFS, UNKNOWN].map(name);
    assert_eq!(
        names,
        [Some("ext2, ext3, ext4"), Some("FAT"), Some("NFS"), None]
    );
    assert_eq!(trusted(UNKNOWN, None), (false, false));
    assert_eq!(trusted(EXT4, Some(GOOD)), (true, true));
    assert_eq!(trusted(FAT, Some(GOOD)), (false, true));
    assert_eq!(trusted(NFS, Some(GOOD)), (false, false));
    assert_eq!(trusted(UNKNOWN, Some(GOOD)), (true, true));
}

#[test]
fn each_finding_counts() {
    let spoiled: [fn(&mut Findings); 6] = [
        |findings| findings.granularity = None,
        |findings| findings.has_own_clock = false,
        |findings| findings.moves_at_creation = false,
        |findings| findings.moves_at_rename = false,
        |findings| findings.moves_at_removal = false,
        |findings| findings.moves_with_directories = false,
    ];
    for (at, spoil) in spoiled.into_iter().enumerate() {
        let mut findings = GOOD;
        spoil(&mut findings);
        for kind in [EXT4, UNKNOWN] {
            assert_eq!(trusted(kind, Some(findings)), (false, at > 1), "{at}");
        }
    }
}

#[test]
fn a_probe_does_not_apply_to_another_file_system() {
    let probed = file_system(UNKNOWN, Some(GOOD));
    let here = file_system(UNKNOWN, None);
    assert_eq!(here.trust(Some(&probed)).granularity, GOOD.granularity);
    let elsewhere = FileSystem { device: 1, ..here };
    assert_eq!(elsewhere.trust(Some(&probed)), FileSystemTrust::default());
    let other_kind = FileSystem { kind: EXT4, ..here };
    assert_eq!(other_kind.trust(Some(&probed)).granularity, None);
    assert_eq!(here.trust(None), FileSystemTrust::default());
}

#[test]
fn facts_come_back_from_their_bytes() {
    for unit in [
        None,
        Some(Granularity::NANOSECOND),
        Some(Granularity::TWO_SECONDS),
    ] {
        for bits in 0..32 {
            let bit = |number| bits >> number & 1 == 1;
            let facts = file_system(
                0xff53_4d42,
                Some(Findings {
                    granularity: unit,
                    has_own_clock: bit(0),
                    moves_at_creation: bit(1),
                    moves_at_rename: bit(2),
                    moves_at_removal: bit(3),
                    moves_with_directories: bit(4),
                }),
            );
            assert_eq!(FileSystem::from_bytes(&facts.to_bytes()), Some(facts));
        }
    }
    let unprobed = file_system(EXT4, None);
    assert_eq!(FileSystem::from_bytes(&unprobed.to_bytes()), Some(unprobed));
    assert_eq!(
        file_system(EXT4, Some(GOOD)).to_bytes(),
        [8, 7, 6, 5, 4, 3, 2, 1, 0x53, 0xef, 0, 0, 9, 0x9f, 0, 0]
    );
    for (place, byte) in [(12, 11), (13, 0x60), (13, 0), (14, 1), (15, 1)] {
        let mut bytes = file_system(EXT4, Some(GOOD)).to_bytes();
        bytes[place] = byte;
        assert_eq!(FileSystem::from_bytes(&bytes), None, "{place}");
    }
}

#[test]
fn a_probe_finds_a_sound_file_system_and_leaves_nothing() {
    let mut count = 0;
    for parent in [&std::env::temp_dir(), Path::new("/dev/shm")] {
        let Ok(folder) = tempfile::tempdir_in(parent) else {
            continue;
        };
        let open = File::open(folder.path()).unwrap();
        let here = FileSystem::of(open.as_fd()).unwrap();
        let Some(FileSystemTrust {
            directories: true, ..
        }) = known(here.kind)
        else {
            continue;
        };
        count += 1;
        let probed = probe(folder.path()).unwrap();
        assert_eq!((probed.kind, probed.device), (here.kind, here.device));
        let findings = probed.findings.unwrap();
        assert!(findings.granularity.is_some(), "{parent:?}");
        let expected = Findings {
            granularity: findings.granularity,
            ..GOOD
        };
        assert_eq!(findings, expected, "{parent:?}");
        assert!(here.trust(Some(&probed)).directories);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    assert!(count > 0, "no file system to probe");
}

#[test]
fn a_probe_removes_what_dead_ones_left_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    // Process IDs do not go that high.
    let dead = folder.path().join("probe.2000000000-1");
    let alive = folder
        .path()
        .join(format!("probe.{}-1", std::process::id()));
    let others = ["probe.x-1", "probe.2000000000", "probe.0-1", "state"];
    for dir in [&dead, &alive] {
        std::fs::create_dir_all(dir.join("c")).unwrap();
        std::fs::write(dir.join("b"), "").unwrap();
    }
    for other in others {
        std::fs::create_dir(folder.path().join(other)).unwrap();
    }
    probe(folder.path()).unwrap();
    assert!(!dead.exists());
    assert!(alive.join("b").exists());
    assert!(
        others
            .iter()
            .all(|other| folder.path().join(other).exists())
    );
}

#[test]
fn many_probes_at_once_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let probes = [(); 8].map(|()| scope.spawn(|| probe(folder.path()).unwrap()));
        let found = probes.map(|probe| probe.join().unwrap());
        assert!(found.iter().all(|other| *other == found[0]));
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_failed_probe_is_reported_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = probe(&file).unwrap_err();
    let text = format!("cannot open the folder '{}': ", file.display());
    assert!(error.to_string().starts_with(&text), "{error}");
    let error = probe(Path::new("/proc")).unwrap_err();
    assert_eq!(error.operation, "make a directory in");
}

#[test]
fn a_mark_has_the_current_time() {
    let (first, second) = (mark(), mark());
    assert_eq!(first.boot, second.boot);
    assert!(first.since_boot <= second.since_boot);
    assert!((crate::stamp::now().s - first.wall.s).abs() < 60);
    assert_eq!(vigil_model::clock::untrusted_since(&first, &second), None);
}
