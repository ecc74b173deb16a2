//! Checks of file systems: whether they report changes, and what is mounted in the working tree.

use std::os::fd::AsFd;
use std::path::Path;

use vigil_linux::mounts;
use vigil_stamp::file::open_folder;
use vigil_stamp::trust::{FileSystem, name};

use super::check::{Check, count, shown_path};
use crate::reply::bytes;

/// Checks the file system of `path`, or of its nearest existing parent.
pub(super) fn file_system(subject: &'static str, path: &Path) -> Check {
    let found = path.ancestors().find_map(|path| {
        let folder = open_folder(path).ok()?;
        FileSystem::of(folder.as_fd()).ok()
    });
    match found {
        Some(found) => judge(subject, path, &found),
        None => Check::note(
            subject,
            bytes![shown_path(path), ": its file system is unknown"],
            "",
        ),
    }
}

fn judge(subject: &'static str, path: &Path, found: &FileSystem) -> Check {
    let kind = match name(found.kind) {
        Some(name) => name.to_owned(),
        None => format!("unknown (0x{:x})", found.kind),
    };
    let fact = |rest: &str| bytes![shown_path(path), " on ", kind, rest];
    let trust = found.trust();
    match (trust.directories, trust.contents) {
        (true, true) => Check::ok(subject, fact("")),
        (false, true) => Check::note(
            subject,
            fact(
                ": other machines can change directories there unnoticed, so they are listed for every question",
            ),
            "",
        ),
        (_, false) => Check::note(
            subject,
            fact(
                ": changes by others are not reported, so everything is looked at for every question; a local disk is faster",
            ),
            "",
        ),
    }
}

/// Checks for mounts in the working tree at `top`.
pub(super) fn mounted_below(top: &Path) -> Check {
    let table = mounts::table();
    judge_mounts(top, &table.unwrap_or_default())
}

fn judge_mounts(top: &Path, table: &[u8]) -> Check {
    let subject = "mounts in working tree";
    let below = mounts::below(top, table);
    let Some(first) = below.first() else {
        return Check::ok(subject, "none");
    };
    let number = count(below.len() as u64, "mount");
    let rest = ": everything is looked at again after each mount and unmount";
    Check::note(
        subject,
        bytes![number, ", the first at ", shown_path(first), rest],
        "",
    )
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice;

    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn file_systems_that_tell_of_no_changes_are_noted() {
        let path = Path::new("/work");
        for (kind, verdict) in [
            (0xef53, Verdict::Ok),
            (0x794c_7630, Verdict::Ok),
            (0x4d44, Verdict::Note),
            (0x6969, Verdict::Note),
            (0x6573_5546, Verdict::Note),
            (0x0102_1997, Verdict::Note),
            (0x1234, Verdict::Note),
        ] {
            let found = FileSystem { kind, device: 1 };
            assert_eq!(judge("x", path, &found).verdict, verdict, "0x{kind:x}");
        }
    }

    #[test]
    fn mounts_are_noted_where_they_are_below() {
        let table = b"1 0 0:1 / /work/a\\012b rw - tmpfs t rw\n";
        let check = judge_mounts(Path::new("/work"), table);
        assert_eq!(check.verdict, Verdict::Note);
        assert!(
            check
                .fact
                .starts_with(b"1 mount, the first at \"/work/a\\nb\"")
        );
        assert_eq!(
            judge_mounts(Path::new("/other"), table).verdict,
            Verdict::Ok
        );
    }

    #[test]
    fn what_is_not_there_yet_is_on_the_file_system_above() {
        let folder = tempfile::tempdir().unwrap();
        let here = file_system("x", folder.path());
        let later = file_system("x", &folder.path().join("no/such/folder"));
        assert_eq!(here.verdict, later.verdict);
        assert!(later.fact.find(" on ").is_some());
    }
}
