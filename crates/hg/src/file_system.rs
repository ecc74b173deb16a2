//! What Mercurial takes the file system of a working copy for. It finds out by files that it has in `.hg/wcache`, or else writes
//! there; where it may not write, it takes the file system for one that keeps neither executable bits nor links.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use vigil_linux::Errno;
use vigil_linux::filesystem::may_create_in;
use vigil_linux::stat::{lstat_path, stat_path};
use vigil_stamp::trust::FileSystem;

use crate::repository::Repository;

/// The bits of a mode of which any makes a file executable for somebody.
const EXECUTABLE: u32 = 0o111;

/// Returns whether Mercurial takes the file system for one that ignores the case of names: `.hg` has another name, in capitals.
pub fn ignores_case(repository: &Repository) -> bool {
    let identity = |name: &str| {
        let seen = lstat_path(&repository.root.join(name));
        seen.map(|seen| (seen.dev, seen.ino))
    };
    let capitals = identity(".HG");
    capitals.is_ok() && capitals == identity(".hg")
}

/// Returns whether Mercurial surely takes the file system for one that keeps executable bits and symbolic links.
pub fn keeps_modes(repository: &Repository) -> bool {
    let cache = repository.dot_hg.join("wcache");
    keeps_executable_bits(repository, &cache) && keeps_links(repository, &cache)
}

fn keeps_executable_bits(repository: &Repository, cache: &Path) -> bool {
    let is_executable = |name: &str| {
        let seen = stat_path(&cache.join(name));
        seen.map(|seen| seen.mode & EXECUTABLE != 0)
    };
    let is_made_anew = |seen| match seen {
        Ok(_) => true,
        Err(reason) => reason == Errno::NOENT,
    };
    let executable = is_executable("checkisexec");
    let plain = is_executable("checknoexec");
    match (executable, plain) {
        (Ok(true), Ok(false)) => true,
        (Ok(true), plain) => is_made_anew(plain) && is_kept_where_written(repository, cache),
        (executable, _) => is_made_anew(executable) && is_kept_where_written(repository, cache),
    }
}

fn keeps_links(repository: &Repository, cache: &Path) -> bool {
    let known = lstat_path(&cache.join("checklink"));
    known.is_ok_and(|seen| seen.is_symlink()) || is_kept_where_written(repository, cache)
}

/// Whether Mercurial may write a file, and finds that the file system keeps what it writes.
fn is_kept_where_written(repository: &Repository, cache: &Path) -> bool {
    let is_there = |folder: &Path| stat_path(folder).is_ok_and(|seen| seen.is_dir());
    let may_write = if is_there(cache) {
        may_create_in(cache)
    } else {
        // Mercurial makes the folder, or writes at the top.
        may_create_in(&repository.dot_hg) && may_create_in(&repository.root)
    };
    may_write && is_of_linux(&repository.dot_hg)
}

/// Whether a folder is on one of the file systems that are known to be Linux's own.
fn is_of_linux(folder: &Path) -> bool {
    let opened = File::open(folder).ok();
    let file_system = opened.and_then(|opened| FileSystem::of(opened.as_fd()).ok());
    file_system.is_some_and(|file_system| file_system.trust().is_whole())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_is_kept_is_told_by_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let cache = root.join(".hg/wcache");
        fs::create_dir_all(&cache).unwrap();
        fs::write(root.join(".hg/requires"), "").unwrap();
        let repository = Repository::unchecked(root).unwrap();
        let make = |name: &str, mode| {
            fs::write(cache.join(name), "").unwrap();
            fs::set_permissions(cache.join(name), Permissions::from_mode(mode)).unwrap();
        };
        let is_of_linux = is_of_linux(root);
        assert_eq!(keeps_modes(&repository), is_of_linux);
        symlink("there", cache.join("checklink")).unwrap();
        for (executable, plain, expected) in [
            (0o755, 0o644, true),
            (0o755, 0o755, is_of_linux),
            (0o644, 0o644, is_of_linux),
        ] {
            make("checkisexec", executable);
            make("checknoexec", plain);
            assert_eq!(keeps_modes(&repository), expected);
        }
        // A loop of links is no file that Mercurial makes anew.
        make("checkisexec", 0o755);
        fs::remove_file(cache.join("checknoexec")).unwrap();
        symlink("checknoexec", cache.join("checknoexec")).unwrap();
        assert!(!keeps_modes(&repository));
    }

    #[test]
    fn case_is_ignored_if_the_folder_has_a_name_in_capitals() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("there")).unwrap();
        symlink("there", root.join(".hg")).unwrap();
        let repository = Repository::unchecked(root).unwrap();
        assert!(!ignores_case(&repository));
        symlink("there", root.join(".HG")).unwrap();
        assert!(!ignores_case(&repository));
        fs::remove_file(root.join(".HG")).unwrap();
        fs::hard_link(root.join(".hg"), root.join(".HG")).unwrap();
        assert!(ignores_case(&repository));
    }
}
