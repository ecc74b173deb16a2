//! Finds the line of an ignore file that makes a path ignored.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use super::compiled::Compiled;
use super::file::parse;
use super::ignore::{DEPTH_MAX, FILES_MAX, SUFFIX, subincluded};
use super::kinds::{Kind, Pattern};
use super::user_paths::canonical;
use crate::bytes::trim;
use crate::text_file;
use vigil_stamp::paths::{bytes_of, path_of};

/// A line of an ignore file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoreLine {
    /// The file.
    pub file: PathBuf,
    /// The line number, from 1.
    pub line: usize,
    /// The text of the line, without white space around it.
    pub text: BString,
}

/// Returns the first line of `files`, or of the files they include, that ignores `path` itself, regardless of the directories
/// above it.
///
/// Each line is tried by itself, which is slow: use this for single paths only.
pub fn ignore_line(root: &Path, files: &[PathBuf], path: &BStr) -> Option<IgnoreLine> {
    let mut search = Search { files_read: 0 };
    files
        .iter()
        .find_map(|file| search.in_file(root, file, path, 0))
}

struct Search {
    files_read: usize,
}

impl Search {
    /// Searches `file`. Its patterns and `path` are relative to `root`.
    fn in_file(
        &mut self,
        root: &Path,
        file: &Path,
        path: &BStr,
        depth: usize,
    ) -> Option<IgnoreLine> {
        if depth > DEPTH_MAX || self.files_read >= FILES_MAX {
            return None;
        }
        self.files_read = self.files_read.saturating_add(1);
        let text = text_file::read(file).ok()?;
        let parsed = parse(&text, bytes_of(file));
        let deeper = depth.saturating_add(1);
        for (line, number) in parsed.patterns.iter().zip(&parsed.lines) {
            let (kind, text_of_line) = Kind::split(line, Kind::Glob);
            let inner = match kind {
                Kind::Include => {
                    self.in_file(root, &root.join(path_of(text_of_line)), path, deeper)
                }
                Kind::SubInclude => {
                    let folder = file.parent().unwrap_or(root);
                    let (new_root, inner) = subincluded(folder, text_of_line);
                    self.below(root, &new_root, &inner, path, deeper)
                }
                _ => {
                    let pattern = Pattern::from_top(kind, text_of_line, bytes_of(file));
                    // An invalid pattern, or one that needs Python, makes the whole command fail elsewhere.
                    let compiled = Compiled::new(&[pattern], SUFFIX).ok();
                    let is_match = compiled.is_some_and(|compiled| compiled.is_match(path));
                    is_match.then(|| IgnoreLine {
                        file: file.to_owned(),
                        line: *number,
                        text: text
                            .lines()
                            .nth(number.saturating_sub(1))
                            .map_or_else(BString::default, |line| trim(line).into()),
                    })
                }
            };
            if inner.is_some() {
                return inner;
            }
        }
        None
    }

    /// Searches `file`, whose patterns apply below `new_root`.
    fn below(
        &mut self,
        root: &Path,
        new_root: &Path,
        file: &Path,
        path: &BStr,
        depth: usize,
    ) -> Option<IgnoreLine> {
        let prefix = canonical(root, root, bytes_of(new_root)).ok()?;
        let rest = match prefix.is_empty() {
            true => path.as_bytes(),
            false => path.strip_prefix(prefix.as_slice())?.strip_prefix(b"/")?,
        };
        self.in_file(new_root, file, rest.as_bstr(), depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::Ignore;

    /// Where `path` is ignored, in a folder with `files`, the first of which is read; also checks that [`Ignore`] agrees.
    fn line(files: &[(&str, &str)], path: &str) -> Option<(String, usize, String)> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let first = [folder.path().join(files[0].0)];
        let found = ignore_line(folder.path(), &first, path.into());
        let ignore = Ignore::read(folder.path(), &first).ignore.unwrap();
        assert_eq!(ignore.is_match(path.into()), found.is_some(), "{path}");
        found.map(|found| {
            let file = found.file.strip_prefix(folder.path()).unwrap();
            let name = file.to_str().unwrap().to_owned();
            (name, found.line, found.text.to_string())
        })
    }

    #[test]
    fn a_line_is_found_by_its_syntax() {
        let files = [(
            ".hgignore",
            "^a$ # first\n\nsyntax: glob\n*.o\n  rootglob:b/*\nre:^c/\n",
        )];
        let at = |line, text: &str| Some((".hgignore".to_owned(), line, text.to_owned()));
        assert_eq!(line(&files, "a"), at(1, "^a$ # first"));
        assert_eq!(line(&files, "x/y.o"), at(4, "*.o"));
        assert_eq!(line(&files, "c/d"), at(6, "re:^c/"));
        assert_eq!(line(&files, "aa"), None);
    }

    #[test]
    fn a_line_is_found_in_files_that_are_included() {
        let files = [
            ("first", "include:second\nsubinclude:d/third\n"),
            ("second", "\na\n"),
            ("d/third", "^b\nsubinclude:third\n"),
        ];
        assert_eq!(line(&files, "xa"), Some(("second".into(), 2, "a".into())));
        assert_eq!(
            line(&files, "d/b"),
            Some(("d/third".into(), 1, "^b".into()))
        );
        assert_eq!(line(&files, "b"), None);
    }

    #[test]
    fn a_name_that_is_a_directory_includes_nothing() {
        let files = [
            (
                "first",
                "subinclude:\nsubinclude:.\nsubinclude:..\nsubinclude:d/\nsubinclude:d/..\nsubinclude:second/\nb\n",
            ),
            ("second", "^a\n"),
            ("d/third", "^a\n"),
        ];
        assert_eq!(line(&files, "a"), None);
        assert_eq!(line(&files, "d/b"), Some(("first".into(), 7, "b".into())));
    }

    #[test]
    fn files_that_include_one_another_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        std::fs::write(&file, "include:f\n".repeat(8)).unwrap();
        assert_eq!(ignore_line(folder.path(), &[file], "a".into()), None);
    }
}
