//! The types of file systems that are known, and what can be trusted on each.

use super::FileSystemTrust;

/// Local file systems that change a directory's mtime with each change of its entries (numbers from statfs(2) and
/// `linux/magic.h`).
const RELIABLE: [(u32, &str); 9] = [
    (0xef53, "ext2, ext3, ext4"),
    (0x5846_5342, "XFS"),
    (0x9123_683e, "Btrfs"),
    (0xf2f5_2010, "F2FS"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x794c_7630, "overlay"),
    (0x2fc1_2fc1, "ZFS"),
    (0xca45_1a4e, "bcachefs"),
];

/// File systems whose directories another system may change without a trace: Windows does not update their mtimes,
/// and the root directory has none.
const DIRECTORIES_UNRELIABLE: [(u32, &str); 2] = [(0x4d44, "FAT"), (0x2011_bab0, "exFAT")];

/// File systems whose files belong to another machine or program: timestamps come late, or from another clock.
const REMOTE: [(u32, &str); 26] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x6573_5546, "FUSE, virtiofs"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x786f_4256, "VirtualBox"),
    (0xbacb_acbc, "VMware"),
    (0x7c7c_6673, "Parallels"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS of the kernel"),
    (0x7375_7245, "Coda"),
    (0x564c, "NCP"),
    (0x7461_636f, "OCFS2"),
    (0x0116_1970, "GFS2"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x2003_0528, "OrangeFS"),
    (0xaad7_aaea, "PanFS"),
    (0xbeef_dead, "StorNext"),
    (0x6163_6673, "ACFS"),
    (0x5346_4846, "Windows below Linux programs"),
    (0x00c0_ffee, "the host of User Mode Linux"),
    (0x0187, "autofs"), // What will be mounted is not there yet.
];

/// Returns what can be trusted about files on a file system of this type (`f_type` in statfs(2)); `None` if the type is
/// unknown.
pub(super) fn trust_in(kind: u32) -> Option<FileSystemTrust> {
    let is_in = |kinds: &[(u32, &str)]| kinds.iter().any(|(known, _)| *known == kind);
    let (directories, contents) = if is_in(&RELIABLE) {
        (true, true)
    } else if is_in(&DIRECTORIES_UNRELIABLE) {
        (false, true)
    } else if is_in(&REMOTE) {
        (false, false)
    } else {
        return None;
    };
    Some(FileSystemTrust {
        directories,
        contents,
    })
}

/// Returns the name of this file system type, if known.
pub fn name(kind: u32) -> Option<&'static str> {
    let all = RELIABLE
        .iter()
        .chain(&DIRECTORIES_UNRELIABLE)
        .chain(&REMOTE);
    let mut named = all.filter(|(known, _)| *known == kind);
    named.next().map(|(_, name)| *name)
}
