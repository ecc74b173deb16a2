//! Prints a directory in place of its contents if they are all of one kind (`--terse`).

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};
use vigil_engine::hg_status::kinds::{FileKind, Lists};
use vigil_hg::abort::Abort;
use vigil_model::path::PATH_LEN_MAX;

#[derive(Default)]
struct Directory {
    /// The kinds of all files in and below the directory, one bit for each.
    kinds: u8,
    files: Vec<(BString, FileKind)>,
    subdirectories: BTreeMap<BString, Directory>,
}

/// Returns the lists with directories in place of files for the kinds in `wanted`.
///
/// # Errors
/// A path that is recorded is so long that no file can have it.
pub(super) fn terse(lists: &Lists, wanted: &[FileKind]) -> Result<Lists, Abort> {
    let mut top = Directory::default();
    for (kind, list) in lists.iter() {
        for path in list {
            // Each directory in a path takes some of the stack.
            if path.len() > PATH_LEN_MAX {
                return Err(Abort::unsupported("--terse with a path that is too long"));
            }
            top.add(path, kind);
        }
    }
    let mut shortened = Lists::default();
    top.show_files(b"", &mut shortened);
    for (name, directory) in &top.subdirectories {
        directory.show(name, wanted, &mut shortened);
    }
    for list in shortened.values_mut() {
        list.sort_unstable();
    }
    Ok(shortened)
}

fn bit(kind: FileKind) -> u8 {
    1u8.checked_shl(kind as u32).unwrap_or(0)
}

impl Directory {
    fn add(&mut self, path: &[u8], kind: FileKind) {
        let mut directory = self;
        let mut rest = path;
        directory.kinds |= bit(kind);
        while let Some(slash) = rest.find_byte(b'/') {
            let (name, below) = rest.split_at(slash);
            directory = directory.subdirectories.entry(name.into()).or_default();
            directory.kinds |= bit(kind);
            rest = below.get(1..).unwrap_or_default();
        }
        directory.files.push((rest.into(), kind));
    }

    fn show_files(&self, path: &[u8], shown: &mut Lists) {
        for (name, kind) in &self.files {
            let path = vigil_model::path::join(path.as_bstr(), name.as_bstr());
            shown.get_mut(*kind).push(path);
        }
    }

    fn show(&self, path: &[u8], wanted: &[FileKind], shown: &mut Lists) {
        let only = wanted.iter().find(|kind| self.kinds == bit(**kind));
        if let Some(only) = only {
            let list = shown.get_mut(*only);
            list.push([path, b"/"].concat().into());
            return;
        }
        self.show_files(path, shown);
        for (name, directory) in &self.subdirectories {
            let below = vigil_model::path::join(path.as_bstr(), name.as_bstr());
            directory.show(&below, wanted, shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_is_so_deep_that_the_stack_ends() {
        let shortened = |depth: usize| {
            let lists = Lists {
                removed: vec!["a/".repeat(depth).into()],
                ..Lists::default()
            };
            terse(&lists, &[FileKind::Removed])
        };
        assert_eq!(shortened(PATH_LEN_MAX / 2).unwrap().removed, ["a/"]);
        assert!(shortened(1_000_000).is_err());
    }
}
