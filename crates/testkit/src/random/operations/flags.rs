//! Flags and formats of the index.

use super::operation::table;
use crate::random::maker::Maker;

table! {
    "assume a file unchanged", 5, |m| update(m, "--assume-unchanged");
    "no longer assume a file unchanged", 3, |m| update(m, "--no-assume-unchanged");
    "skip a file in the working tree", 4, |m| update(m, "--skip-worktree");
    "no longer skip a file", 3, |m| update(m, "--no-skip-worktree");
    "make a file executable in the index", 3, |m| update(m, "--chmod=+x");
    "make a file plain in the index", 2, |m| update(m, "--chmod=-x");
    "remove a file from the index", 3, |m| update(m, "--force-remove");
    "refresh the index", 6, |m| m.git(&["update-index", "-q", "--refresh"]);
    "really refresh the index", 2, |m| m.git(&["update-index", "-q", "--really-refresh"]);
    "write the index in version 2", 2, |m| m.git(&["update-index", "--index-version", "2"]);
    "write the index in version 3", 1, |m| m.git(&["update-index", "--index-version", "3"]);
    "write the index in version 4", 3, |m| m.git(&["update-index", "--index-version", "4"]);
    "split the index", 4, |m| m.git(&["update-index", "--split-index"]);
    "join the index", 2, |m| m.git(&["update-index", "--no-split-index"]);
    "start the untracked cache", 2, |m| m.git(&["update-index", "--force-untracked-cache"]);
    "stop the untracked cache", 1, |m| m.git(&["update-index", "--no-untracked-cache"]);
    "let git write what status found", 6, |m| m.git(&["status", "--porcelain"]);
    "remove the index", 1, |m| {
        let path = format!("{}/index", m.git_directory).into();
        m.act(crate::action::Action::Remove { path });
    };
}

fn update(m: &mut Maker, flag: &str) {
    let paths = [m.file(), m.file()];
    m.git_paths(&["update-index", flag], &paths);
}
