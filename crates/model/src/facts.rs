//! The stat data recorded in the index for a file, and the stat data observed on disk.

/// The stat data of an index entry, each field cut to 32 bits as the format stores it
/// (gitformat-index(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedStat {
    /// `st_ctime` in seconds.
    pub ctime_s: u32,
    /// `st_ctime`, nanoseconds within the second.
    pub ctime_ns: u32,
    /// `st_mtime` in seconds.
    pub mtime_s: u32,
    /// `st_mtime`, nanoseconds within the second.
    pub mtime_ns: u32,
    /// `st_dev`.
    pub dev: u32,
    /// `st_ino`.
    pub ino: u32,
    /// `st_uid`.
    pub uid: u32,
    /// `st_gid`.
    pub gid: u32,
    /// `st_size` in bytes. 0 also marks an entry whose contents must be compared (a smudged racy entry).
    pub size: u32,
}

/// The stat data of a file on disk now. Times are seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObservedStat {
    /// `st_ctime` in seconds.
    pub ctime_s: i64,
    /// `st_ctime`, nanoseconds within the second.
    pub ctime_ns: u32,
    /// `st_mtime` in seconds.
    pub mtime_s: i64,
    /// `st_mtime`, nanoseconds within the second.
    pub mtime_ns: u32,
    /// `st_dev`.
    pub dev: u64,
    /// `st_ino`.
    pub ino: u64,
    /// `st_uid`.
    pub uid: u32,
    /// `st_gid`.
    pub gid: u32,
    /// `st_size` in bytes.
    pub size: u64,
    /// `st_mode`: type and permission bits.
    pub mode: u32,
}
