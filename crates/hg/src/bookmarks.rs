//! Bookmarks: names of changesets that move with what is committed on them.

use std::path::PathBuf;

use bstr::{BStr, ByteSlice};

use crate::abort::Abort;
use crate::bytes::trim;
use crate::node::Node;
use crate::repository::Repository;
use crate::text_file;

/// What a line of them says: the node, and its name.
pub(crate) fn line(line: &[u8]) -> Option<(Node, &BStr)> {
    let (digits, rest) = trim(line).split_at_checked(Node::LEN.saturating_mul(2))?;
    Some((Node::from_hex(digits)?, rest.strip_prefix(b" ")?.as_bstr()))
}

/// Where they are: those of a share are its own, unless they are shared, too.
pub(crate) fn path(repository: &Repository) -> PathBuf {
    if repository.requirements.has("bookmarksinstore") {
        return repository.shared.join("store/bookmarks");
    }
    let shares = text_file::read(&repository.dot_hg.join("shared"));
    let shares = shares.is_ok_and(|text| text.lines().any(|line| line == b"bookmarks"));
    let folder = match shares {
        true => &repository.shared,
        false => &repository.dot_hg,
    };
    folder.join("bookmarks")
}

/// The text with them; an empty one where there are none.
///
/// # Errors
/// They cannot be read, or the active one, which Mercurial reads with them; or a line is none, of which Mercurial tells each time it
/// reads them.
pub(crate) fn read(repository: &Repository) -> Result<Vec<u8>, Abort> {
    let text = text_file::read_if_there(&path(repository))?;
    text_file::read_if_there(&active_path(repository))?;
    let mut lines = text.split(|byte| *byte == b'\n');
    match lines.any(|one| !trim(one).is_empty() && line(one).is_none()) {
        true => Err(Abort::unsupported("a line of bookmarks that is none")),
        false => Ok(text),
    }
}

/// Where it stands which of them is active in the working copy.
pub(crate) fn active_path(repository: &Repository) -> PathBuf {
    repository.dot_hg.join("bookmarks.current")
}
