use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use super::*;

const EXT4: u32 = 0xef53;
const NFS: u32 = 0x6969;
const FAT: u32 = 0x4d44;
const UNKNOWN: u32 = 0x1234;

#[test]
fn the_kind_decides_what_is_trusted() {
    let trusted = [EXT4, FAT, NFS, UNKNOWN].map(|kind| {
        let trust = FileSystem { kind, device: 1 }.trust();
        (name(kind), trust.directories, trust.contents)
    });
    assert_eq!(
        trusted,
        [
            (Some("ext2, ext3, ext4"), true, true),
            (Some("FAT"), false, true),
            (Some("NFS"), false, false),
            (None, false, false),
        ]
    );
}

#[test]
fn an_open_file_is_on_the_file_system_of_its_device() {
    let proc = File::open("/proc").unwrap();
    let found = FileSystem::of(proc.as_fd()).unwrap();
    assert_eq!(found.kind, 0x9fa0);
    assert_eq!(found.device, proc.metadata().unwrap().dev());
    assert_eq!(found.trust(), FileSystemTrust::default());
}

#[test]
fn a_mark_has_the_current_time() {
    let (first, second) = (mark(), mark());
    assert_eq!(first.boot, second.boot);
    assert!(first.since_boot <= second.since_boot);
    assert!((crate::stamp::now().s - first.wall.s).abs() < 60);
    assert_eq!(vigil_model::clock::untrusted_since(&first, &second), None);
}
