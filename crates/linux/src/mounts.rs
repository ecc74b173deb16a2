//! The mount points, as this process sees them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The table of this process's mounts.
const TABLE: &str = "/proc/self/mountinfo";

/// The number of bytes of the table that are read at most.
pub const TABLE_LEN_MAX: u64 = 4 << 20;

/// Reads the table of this process's mounts (proc_pid_mountinfo(5)), up to [`TABLE_LEN_MAX`] bytes.
///
/// # Errors
/// The file cannot be read, as when proc(5) is not mounted.
pub fn table() -> std::io::Result<Vec<u8>> {
    let mut table = Vec::new();
    let file = File::open(TABLE)?;
    file.take(TABLE_LEN_MAX).read_to_end(&mut table)?;
    Ok(table)
}

/// Notices when something is mounted or unmounted (proc_pid_mountinfo(5)), which inotify(7) does
/// not report.
#[derive(Debug)]
pub struct Changes(File);

impl Changes {
    /// Starts noticing changes.
    ///
    /// # Errors
    /// The file cannot be opened, as when proc(5) is not mounted.
    pub fn new() -> std::io::Result<Self> {
        File::open(TABLE).map(Self)
    }

    /// Whether the mounts changed since the last call. Also true if that cannot be determined.
    pub fn have_occurred(&self) -> bool {
        let mut waiting = [PollFd::from_borrowed_fd(self.as_fd(), Self::POLL_FLAGS)];
        match poll(&mut waiting, Some(&Timespec::default())) {
            Ok(0) => false,
            Ok(_) => waiting
                .iter()
                .any(|one| Self::are_reported_by(one.revents())),
            Err(_) => true,
        }
    }

    /// The flags to pass to poll(2). Each change is reported only once.
    pub const POLL_FLAGS: PollFlags = PollFlags::PRI;

    /// Whether the flags that poll(2) returned report a change.
    pub fn are_reported_by(flags: PollFlags) -> bool {
        flags.intersects(PollFlags::PRI | PollFlags::ERR)
    }
}

impl AsFd for Changes {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The mount points below `folder` in `table`, without `folder` itself.
pub fn below(folder: &Path, table: &[u8]) -> Vec<PathBuf> {
    let points = mounts(table).map(|mount| mount.point());
    let is_below = |point: &PathBuf| point != folder && point.starts_with(folder);
    let mut below: Vec<PathBuf> = points.filter(is_below).collect();
    below.sort();
    below.dedup();
    below
}

/// The mount points of the mounts that are in only one of the tables `before` and `now`. Options of a mount do not count.
pub fn changed_points(before: &[u8], now: &[u8]) -> Vec<PathBuf> {
    let [before, now] = [before, now].map(|table| mounts(table).collect::<HashSet<_>>());
    let changed = before.symmetric_difference(&now);
    changed.map(Mount::point).collect()
}

/// One mount of a table.
#[derive(PartialEq, Eq, Hash)]
struct Mount<'t> {
    /// The number of the mount, that of the mount above, the device, the root in its file system, and the mount point.
    place: [&'t [u8]; 5],
    /// The type of the file system and what is mounted.
    source: [&'t [u8]; 2],
}

impl Mount<'_> {
    fn point(&self) -> PathBuf {
        let [.., point] = self.place;
        PathBuf::from(OsString::from_vec(unescaped(point)))
    }
}

/// The mounts in `table`; lines that have too few fields are skipped.
fn mounts(table: &[u8]) -> impl Iterator<Item = Mount<'_>> {
    table.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|byte| *byte == b' ');
        let mut place: [&[u8]; 5] = [b""; 5];
        for field in &mut place {
            *field = fields.next()?;
        }
        // Options and a varying number of optional fields, up to a hyphen.
        let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
        let source = [(); 2].map(|()| rest.next().unwrap_or_default());
        Some(Mount { place, source })
    })
}

/// Decodes a field of the table, in which white space and backslashes are written as three octal
/// digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let escape = after
            .split_first_chunk::<3>()
            .filter(|_| byte == b'\\')
            .and_then(|(digits, after)| {
                let digits = std::str::from_utf8(digits).ok()?;
                Some((u8::from_str_radix(digits, 8).ok()?, after))
            });
        let (byte, after) = escape.unwrap_or((byte, after));
        bytes.push(byte);
        rest = after;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_below_a_folder_are_found_by_their_path() {
        let table = b"22 1 0:21 / / rw - ext4 /dev/root rw\n\
            23 22 0:22 / /work rw - tmpfs t rw\n\
            24 23 0:23 / /work/a\\040b\\134 rw - tmpfs t rw\n\
            25 23 0:23 / /work/deep/er rw - nfs h:/x rw\n\
            26 23 0:23 / /work/deep/er rw - nfs h:/x rw\n\
            27 22 0:24 / /worker rw - tmpfs t rw\n\
            garbage\n\n28 22 0:1 / /work/\\9\n";
        let found = below(Path::new("/work"), table);
        let expected = ["/work/\\9", "/work/a b\\", "/work/deep/er"];
        assert_eq!(found, expected.map(PathBuf::from));
        assert_eq!(below(Path::new("/work/deep/er"), table), [] as [&Path; 0]);
    }

    #[test]
    fn mounts_that_came_or_went_are_named_by_their_points() {
        let before = b"22 1 0:21 / / rw,noatime shared:1 - ext4 /dev/root rw\n\
            23 22 0:22 / /work rw - tmpfs t rw\n\
            24 22 0:23 / /same rw master:3 - tmpfs t rw\n";
        let now = b"22 1 0:21 / / ro shared:1 master:2 - ext4 /dev/root ro,sync\n\
            23 22 0:22 /part /work rw - tmpfs t rw\n\
            24 22 0:23 / /same rw - tmpfs t rw\n\
            25 22 0:24 / /new\\040one rw - overlay o rw\n";
        let mut changed = changed_points(before, now);
        changed.sort();
        let expected = ["/new one", "/work", "/work"].map(PathBuf::from);
        assert_eq!(changed, expected);
        assert_eq!(changed_points(now, now), [] as [PathBuf; 0]);
    }

    #[test]
    fn proc_is_mounted_below_the_root() {
        let found = below(Path::new("/"), &table().unwrap());
        assert!(found.contains(&PathBuf::from("/proc")), "{found:?}");
    }
}
