//! Files that define which part of a repository is present: what is included, what is excluded, and which other such files
//! apply.

use std::collections::BTreeSet;
use std::path::Path;

use bstr::BString;
use vigil_linux::stat::{Stat, stat_path};

use crate::abort::Abort;
use crate::bytes::{bytes, trim};
use crate::text_file;
use vigil_stamp::paths::bytes_of;

/// The maximum length of all of them together, in bytes.
pub(crate) const LEN_MAX: usize = 4 << 20;

/// The contents of such a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortionFile {
    /// Patterns of files that are present.
    pub includes: BTreeSet<BString>,
    /// Patterns of files that are not.
    pub excludes: BTreeSet<BString>,
    /// The names of other files that apply, too.
    pub profiles: BTreeSet<BString>,
}

impl PortionFile {
    /// Parses the text of such a file. `what` names its subject in messages; warnings are added to `warnings`.
    ///
    /// # Errors
    /// The text is malformed.
    pub fn parse(text: &[u8], what: &str, warnings: &mut Vec<BString>) -> Result<Self, Abort> {
        #[derive(Clone, Copy, PartialEq)]
        enum Section {
            Include,
            Exclude,
        }
        let mut file = Self::default();
        let mut section = None;
        for line in text.split(|byte| *byte == b'\n') {
            let line = trim(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if let Some(profile) = line.strip_prefix(b"%include ") {
                file.profiles.insert(trim(profile).into());
            } else if line == b"[include]" {
                // Mercurial compares the contents of both sections, and so takes them for the same section if these are
                // equal.
                if section == Some(Section::Exclude) && file.includes != file.excludes {
                    let message = bytes!(what, " config cannot have includes after excludes");
                    return Err(Abort::plain(message));
                }
                section = Some(Section::Include);
            } else if line == b"[exclude]" {
                section = Some(Section::Exclude);
            } else if line.starts_with(b"/") && section.is_some() {
                let message = " profile cannot use paths starting with /, ignoring ";
                warnings.push(bytes!("warning: ", what, message, line));
            } else {
                let list = match section {
                    Some(Section::Include) => &mut file.includes,
                    Some(Section::Exclude) => &mut file.excludes,
                    None => {
                        let message = bytes!(what, " config entry outside of section: ", line);
                        let hint = "add an [include] or [exclude] line to declare the entry type";
                        return Err(Abort::plain(message).with_hint(hint));
                    }
                };
                list.insert(line.into());
            }
        }
        Ok(file)
    }
}

/// Reads the file at `path`; returns no bytes if it does not exist.
///
/// # Errors
/// The file cannot be read, or is too long.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Abort> {
    let is_endless = |stat: Stat| !stat.is_file() && !stat.is_dir();
    if stat_path(path).is_ok_and(is_endless) {
        let message = bytes!("patterns in '", bytes_of(path), "', which is no file");
        return Err(Abort::unsupported(message));
    }
    let text = text_file::read_if_there(path)?.unwrap_or_default();
    match text.len() > LEN_MAX {
        true => Err(too_long(bytes_of(path))),
        false => Ok(text),
    }
}

/// The error for a file at `path` that is too long.
pub(crate) fn too_long(path: &[u8]) -> Abort {
    Abort::unsupported(bytes!("patterns in '", path, "', which are too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Result<PortionFile, String>, Vec<String>) {
        let mut warnings = Vec::new();
        let file = PortionFile::parse(text.as_bytes(), "sparse", &mut warnings);
        let warnings = warnings.iter().map(ToString::to_string);
        let file = file.map_err(|abort| abort.message.to_string());
        (file, warnings.collect())
    }

    #[test]
    fn lines_belong_to_the_section_above() {
        let text = " # one\n%include p \n[include]\n a b\r\n/c\n[include]\n#d\nglob:d\n[exclude]\ne\n%include q";
        let (file, warnings) = parsed(text);
        let file = file.unwrap();
        let set = |words: &[&str]| words.iter().map(|word| BString::from(*word)).collect();
        assert_eq!(file.includes, set(&["a b", "glob:d"]));
        assert_eq!(file.excludes, set(&["e"]));
        assert_eq!(file.profiles, set(&["p", "q"]));
        assert_eq!(
            warnings,
            ["warning: sparse profile cannot use paths starting with /, ignoring /c"]
        );
    }

    #[test]
    fn what_is_in_no_section_or_in_a_late_one_is_wrong() {
        for (text, expected) in [
            (
                "a\n[include]\n",
                "sparse config entry outside of section: a",
            ),
            ("/a\n", "sparse config entry outside of section: /a"),
            (
                "%include\n",
                "sparse config entry outside of section: %include",
            ),
            (
                "[exclude]\na\n[include]\n",
                "sparse config cannot have includes after excludes",
            ),
        ] {
            assert_eq!(parsed(text).0.unwrap_err(), expected);
        }
        for text in [
            "[exclude]\n[include]\na\n",
            "[include]\na\n[exclude]\na\n[include]\nb\n",
        ] {
            assert!(parsed(text).0.is_ok(), "{text}");
        }
    }
}
