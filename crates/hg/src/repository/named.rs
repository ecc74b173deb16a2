//! The repository that `-R` names.

use std::io;
use std::path::{Component, Path, PathBuf};

use bstr::{BStr, BString};
use vigil_linux::stat::{lstat_path, stat_path};

use crate::abort::Abort;
use crate::bytes::bytes;
use crate::config::ProcessContext;
use vigil_stamp::paths::path_of;

/// Beginnings of what only Mercurial can open as a repository.
const ONLY_OF_MERCURIAL: [&str; 3] = ["bundle:", "file:", "union:"];

/// Beginnings of what is on another machine.
const REMOTE: [&str; 4] = ["http:", "https:", "ssh:", "static-http:"];

/// The number of symbolic links on the way that are followed.
const LINKS_MAX: usize = 40;

/// Returns the top of the repository `named`, without symbolic links.
///
/// # Errors
/// There is none, or what is named is no folder.
pub(super) fn locate(process: &ProcessContext<'_>, named: &BStr) -> Result<PathBuf, Abort> {
    let expanded = process.expand_path(named)?;
    let refused = || Abort::unsupported(bytes!("'", named, "' as a repository"));
    let begins = |beginnings: &[&str]| {
        let mut all = beginnings.iter().map(|beginning| beginning.as_bytes());
        all.any(|beginning| named.starts_with(beginning) || expanded.starts_with(beginning))
    };
    if begins(&REMOTE) {
        return Err(Abort::plain(bytes!(
            "repository '",
            named,
            "' is not local"
        )));
    }
    let path = process.cwd.join(path_of(&expanded));
    // Mercurial opens such a file as a bundle.
    let is_file = stat_path(&path).is_ok_and(|stat| stat.is_file());
    if is_file || begins(&ONLY_OF_MERCURIAL) {
        return Err(refused());
    }
    let root = real_path(&path).ok_or_else(refused)?;
    match has_dot_hg(&root)? {
        true => Ok(root),
        false => Err(not_found(&expanded)),
    }
}

/// Returns whether there is a repository in `folder` itself.
///
/// # Errors
/// It cannot be told. Mercurial then fails.
pub(super) fn has_dot_hg(folder: &Path) -> Result<bool, Abort> {
    let dot_hg = folder.join(".hg");
    match stat_path(&dot_hg).map_err(io::Error::from) {
        Ok(stat) => Ok(stat.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Abort::io(&dot_hg, &error)),
    }
}

fn not_found(named: &BString) -> Abort {
    Abort::plain(bytes!("repository ", named, " not found"))
}

/// Returns the path with each symbolic link followed, as Python's `realpath` does: what does not exist, or is no folder, stays as
/// it is, and `..` after it takes it away. `None` if there are too many links.
fn real_path(path: &Path) -> Option<PathBuf> {
    let parts = |path: &Path| -> Vec<PathBuf> {
        let parts = path.components().rev();
        parts.map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let mut real = PathBuf::new();
    let mut left = parts(path);
    let mut links = 0usize;
    while let Some(part) = left.pop() {
        if part.components().next() == Some(Component::ParentDir) {
            real.pop();
            continue;
        }
        let there = real.join(&part);
        if lstat_path(&there).is_ok_and(|stat| stat.is_symlink())
            && let Ok(target) = std::fs::read_link(&there)
        {
            links = links.checked_add(1).filter(|links| *links <= LINKS_MAX)?;
            left.extend(parts(&target));
        } else {
            real = there;
        }
    }
    Some(real)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_before_the_folder_above_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::write(top.join("file"), "").unwrap();
        symlink("a/b", top.join("link")).unwrap();
        symlink(top.join("link"), top.join("a/again")).unwrap();
        symlink("loop", top.join("loop")).unwrap();
        for (path, expected) in [
            ("a/./b/", Some("a/b")),
            ("link/..", Some("a")),
            ("a/again/../x", Some("a/x")),
            ("nothing/../file/x", Some("file/x")),
            ("file/../a", Some("a")),
            ("../../../../../../../../../..", Some("/")),
            ("loop/x", None),
        ] {
            let expected = expected.map(|path| top.join(path));
            assert_eq!(real_path(&top.join(path)), expected, "{path}");
        }
    }
}
