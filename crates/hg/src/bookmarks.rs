//! Bookmarks: names of changesets that move when something is committed on top.

use std::path::PathBuf;

use bstr::{BStr, ByteSlice};

use crate::abort::Abort;
use crate::bytes::trim;
use crate::node::Node;
use crate::repository::Repository;
use crate::text_file;

/// Parses a line of the bookmarks file: a node and a name.
pub(crate) fn line(line: &[u8]) -> Option<(Node, &BStr)> {
    let (digits, rest) = trim(line).split_at_checked(Node::LEN.saturating_mul(2))?;
    Some((Node::from_hex(digits)?, rest.strip_prefix(b" ")?.as_bstr()))
}

/// Whether a share may have the bookmarks of its source: the extension share knows that, Mercurial itself does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookmarkSharing {
    /// The extension is on.
    Known,
    /// It is off: a share has bookmarks of its own.
    Unknown,
}

/// Returns the path of the bookmarks file. A share has its own, unless it shares bookmarks too.
pub(crate) fn path(repository: &Repository, sharing: BookmarkSharing) -> PathBuf {
    if repository.requirements.has("bookmarksinstore") {
        return repository.shared.join("store/bookmarks");
    }
    let shares = || {
        let text = text_file::read(&repository.dot_hg.join("shared"));
        text.is_ok_and(|text| text.lines().any(|line| line == b"bookmarks"))
    };
    let folder = match sharing == BookmarkSharing::Known && shares() {
        true => &repository.shared,
        false => &repository.dot_hg,
    };
    folder.join("bookmarks")
}

/// Reads the text of the bookmarks file; it is empty if there is no file.
///
/// # Errors
/// The file cannot be read, nor can that of the active bookmark, which Mercurial reads with it; or a line is malformed,
/// which Mercurial reports each time it reads the file.
pub(crate) fn read(repository: &Repository, sharing: BookmarkSharing) -> Result<Vec<u8>, Abort> {
    let text = text_file::read_if_there(&path(repository, sharing))?.unwrap_or_default();
    text_file::read_if_there(&active_path(repository))?;
    let mut lines = text.split(|byte| *byte == b'\n');
    match lines.any(|one| !trim(one).is_empty() && line(one).is_none()) {
        true => Err(Abort::unsupported(
            "a malformed line in the file of bookmarks",
        )),
        false => Ok(text),
    }
}

/// Returns the path of the file that names the active bookmark of the working copy.
pub(crate) fn active_path(repository: &Repository) -> PathBuf {
    repository.dot_hg.join("bookmarks.current")
}
