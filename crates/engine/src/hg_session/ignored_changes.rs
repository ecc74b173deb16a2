//! Filters out changes that affect no answer about a Mercurial working copy: ignored files that came or went.

use std::collections::BTreeSet;

use bstr::{BStr, BString};
use vigil_hg::patterns::Ignore;
use vigil_model::path::parent;
use vigil_model::tracked::{Beside, Tracked};
use vigil_scan::Watch;

use crate::session::watched::ChangeFilter;

/// Tells which changes have no effect. In Mercurial the path alone decides whether something is ignored, not what is there.
pub(super) struct IgnoredChanges<'s> {
    pub(super) tracked: &'s Tracked,
    pub(super) ignore: &'s Ignore,
}

impl ChangeFilter for IgnoredChanges<'_> {
    fn leave_out(
        &self,
        paths: &mut BTreeSet<BString>,
        folders: &mut BTreeSet<BString>,
        _: &[BString],
        _: &dyn Watch,
    ) {
        let mut beside = Beside::new(self.tracked);
        paths.retain(|path| !self.is_ignored(&mut beside, path.as_ref()));
        folders.retain(|path| !self.is_ignored(&mut beside, path.as_ref()));
    }
}

impl IgnoredChanges<'_> {
    /// Whether `path` and everything below it is ignored, and no recorded file is at, above or below it.
    fn is_ignored(&self, beside: &mut Beside<'_>, path: &BStr) -> bool {
        // A nested repository makes the files recorded in it count as missing.
        let is_another_repository =
            path.ends_with(b"/.hg") && self.tracked.find_directory(parent(path)).is_some();
        !is_another_repository && beside.has(path) && self.ignore.is_match_or_below(path)
    }
}

#[cfg(test)]
mod tests {
    use vigil_hg::dirstate::Dirstate;
    use vigil_stamp::file::Contents;

    use super::*;
    use crate::hg_system::HgSystem;

    struct Nobody;

    impl Watch for Nobody {
        fn watch(&self, _: &BStr, _: std::os::fd::BorrowedFd<'_>) -> bool {
            false
        }
    }

    fn entry(path: &str) -> Vec<u8> {
        let len = u32::try_from(path.len()).unwrap().to_be_bytes();
        let facts = [[0, 0, 0x81, 0xa4], [0; 4], [0; 4]].concat();
        [b"n", facts.as_slice(), &len, path.as_bytes()].concat()
    }

    #[test]
    fn what_is_ignored_and_not_recorded_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ignore");
        std::fs::write(&file, "syntax: glob\nout\n*.o\n").unwrap();
        let ignore = Ignore::read(folder.path(), &[file]).ignore.unwrap();
        let bytes = [vec![0; 40], entry("a.o"), entry("d/x"), entry("out/kept/y")].concat();
        let dirstate = Dirstate::of_v1(Contents::Read(bytes)).unwrap();
        let tracked = HgSystem::tracked(&dirstate);
        let ignored_changes = IgnoredChanges {
            tracked: &tracked,
            ignore: &ignore,
        };
        let all = [
            "a.o",
            "a.o/b",
            "b.o",
            "d",
            "d/b.o",
            "d/c",
            "d/out",
            "out",
            "out/kept",
            "out/kept/new",
            "out/other",
            "d/x/out",
            "out/.hg",
            "out/kept/.hg",
            "out/kept/.hg/requires",
            "out/other/.hg",
        ];
        let mut paths: BTreeSet<BString> = all.iter().map(|path| BString::from(*path)).collect();
        let mut folders = paths.clone();
        ignored_changes.leave_out(&mut paths, &mut folders, &[], &Nobody);
        let left: Vec<String> = paths.iter().map(ToString::to_string).collect();
        assert_eq!(
            left,
            [
                "a.o",
                "a.o/b",
                "d",
                "d/c",
                "d/x/out",
                "out",
                "out/.hg",
                "out/kept",
                "out/kept/.hg",
            ]
        );
        assert_eq!(folders, paths);
    }
}
