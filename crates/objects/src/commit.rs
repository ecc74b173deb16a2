//! Parses commits and tags, as far as a status needs them.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId};
use vigil_model::c_string::until_nul;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its tree.
    pub tree: ObjectId,
    /// Its parents, after grafts and a shallow clone's boundary were applied.
    pub parents: Vec<ObjectId>,
    /// The committer's time, in seconds since 1970; 0 if the commit has none.
    pub committer_time_s: i64,
    /// The encoding of the message, if the commit names one.
    pub encoding: Option<BString>,
    /// The whole message.
    pub message: BString,
}

impl Commit {
    /// Returns the first paragraph of the message as one line. Runs of whitespace that contain a line end
    /// become one space, others stay, and none is left at the end. This is gitstatusd's summary, not git's
    /// subject.
    pub fn summary(&self) -> BString {
        let message = self.message.trim_start_with(|c| c == '\n');
        let message = until_nul(message);
        let end = message.find(b"\n\n").unwrap_or(message.len());
        let paragraph = message.get(..end).unwrap_or_default();
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r');
        let mut summary = BString::default();
        let mut space: &[u8] = &[];
        for run in paragraph.chunk_by(|a, b| is_space(a) == is_space(b)) {
            if run.first().is_some_and(is_space) {
                space = if run.contains(&b'\n') { b" " } else { run };
            } else {
                summary.extend_from_slice(space);
                summary.extend_from_slice(run);
                space = &[];
            }
        }
        summary
    }
}

/// The start of a commit, which links it to the history: its tree and parents, unparsed.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    /// The tree.
    pub tree: ObjectId,
    /// The lines of the parents, all of the same length, and validated.
    parents: &'a [u8],
    hash: Kind,
    /// The bytes after the parents.
    rest: &'a [u8],
}

impl<'a> Links<'a> {
    /// Parses the start of a commit as git does. The error is git's text without the id at its end.
    ///
    /// # Errors
    /// It is not the start of a commit.
    pub fn parse(content: &'a [u8], hash: Kind) -> Result<Self, &'static str> {
        let (hex_length, line_length) = (hash.len_in_hex(), parent_line_length(hash));
        let (tree, after) = content
            .strip_prefix(b"tree ")
            .and_then(|rest| rest.split_at_checked(hex_length))
            .and_then(|(tree, rest)| Some((tree, rest.strip_prefix(b"\n")?)))
            .ok_or("bogus commit object")?;
        let tree = ObjectId::from_hex(tree).map_err(|_| "bad tree pointer in commit")?;
        let mut rest = after;
        let mut parents = 0;
        while rest.starts_with(b"parent ") {
            let is_whole = rest
                .split_at_checked(line_length)
                .is_some_and(|(line, _)| line.ends_with(b"\n") && parent(line).is_some());
            if !is_whole {
                return Err("bad parents in commit");
            }
            parents += line_length;
            rest = after.get(parents..).unwrap_or_default();
        }
        Ok(Self {
            tree,
            parents: after.get(..parents).unwrap_or_default(),
            hash,
            rest,
        })
    }

    /// Returns the parents that the commit itself names.
    pub fn parents(&self) -> impl Iterator<Item = ObjectId> + 'a {
        self.parents
            .chunks_exact(parent_line_length(self.hash))
            .filter_map(parent)
    }

    /// Returns the committer's time in seconds since 1970, or 0, like git, if there is none.
    pub fn committer_time_s(&self) -> i64 {
        let mut lines = self.rest.lines();
        let (Some(author), Some(committer)) = (lines.next(), lines.next()) else {
            return 0;
        };
        if !author.starts_with(b"author ") || !committer.starts_with(b"committer ") {
            return 0;
        }
        let Some(at) = committer.rfind_byte(b'>') else {
            return 0;
        };
        let time = committer
            .get(at + 1..)
            .unwrap_or_default()
            .trim_ascii_start();
        let digits = time.iter().take_while(|byte| byte.is_ascii_digit()).count();
        time.get(..digits)
            .and_then(|digits| digits.to_str().ok())
            .and_then(|digits| digits.parse().ok())
            .unwrap_or(0)
    }

    /// Returns the headers after the parents, and the message.
    pub(crate) fn headers_and_message(&self) -> (&'a BStr, &'a BStr) {
        match self.rest.split_once_str(b"\n\n") {
            Some((headers, message)) => (headers.as_bstr(), message.as_bstr()),
            None => (self.rest.as_bstr(), BStr::new(b"")),
        }
    }
}

/// The length of `parent`, a space, the id and a newline.
const fn parent_line_length(hash: Kind) -> usize {
    hash.len_in_hex() + 8
}

fn parent(line: &[u8]) -> Option<ObjectId> {
    let hex = line.strip_prefix(b"parent ")?.strip_suffix(b"\n")?;
    ObjectId::from_hex(hex).ok()
}

/// Parses a whole commit. The parents are those that the commit itself names.
///
/// # Errors
/// As for [`Links::parse`].
pub fn parse(content: &[u8], hash: Kind) -> Result<Commit, &'static str> {
    let links = Links::parse(content, hash)?;
    let (headers, message) = links.headers_and_message();
    let encoding = headers
        .lines()
        .find_map(|line| line.strip_prefix(b"encoding "));
    Ok(Commit {
        tree: links.tree,
        parents: links.parents().collect(),
        committer_time_s: links.committer_time_s(),
        encoding: encoding.map(BString::from),
        message: message.into(),
    })
}

/// Returns the id after `field`, which must be at the start of the object.
pub fn first_id(field: &[u8], content: &[u8], hash: Kind) -> Option<ObjectId> {
    let digits = content.strip_prefix(field)?.get(..hash.len_in_hex())?;
    ObjectId::from_hex(digits).ok()
}

/// Returns git's subject of a commit's message: its first paragraph in one line, without the white space at the ends of
/// its lines.
pub fn subject(message: &[u8]) -> Vec<u8> {
    let lines = message.lines().map(|line| line.trim_ascii_end());
    let lines = lines.skip_while(|line| line.is_empty());
    let paragraph: Vec<&[u8]> = lines.take_while(|line| !line.is_empty()).collect();
    paragraph.join(&b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_the_first_paragraph_in_one_line() {
        assert_eq!(subject(b" \n\n one \n\ttwo\r\n \nthree\n"), b" one \ttwo");
        assert_eq!(subject(b"\n"), b"");
    }

    fn with_message(message: &str) -> Commit {
        let tree = "1".repeat(40);
        let text = format!(
            "tree {tree}\nparent {tree}\nauthor A <a> 1 +0000\ncommitter C <c> 1234567890 +0200\nencoding latin1\n\n{message}"
        );
        parse(text.as_bytes(), Kind::Sha1).unwrap()
    }

    #[test]
    fn a_commit_is_taken_apart() {
        let commit = with_message("subject\n\nbody\n");
        assert_eq!(commit.parents, [commit.tree]);
        assert_eq!(commit.committer_time_s, 1_234_567_890);
        assert_eq!(commit.encoding, Some("latin1".into()));
        assert_eq!(commit.message, "subject\n\nbody\n");
    }

    #[test]
    fn the_summary_is_the_first_paragraph_in_one_line() {
        let summary = |message: &str| with_message(message).summary().to_string();
        assert_eq!(summary("one\n"), "one");
        assert_eq!(
            summary("\n\none\ntwo \n  three  x\t\n\nbody"),
            "one two three  x"
        );
        assert_eq!(summary("  indented\r\nmore\r\n"), "  indented more");
        assert_eq!(summary(""), "");
        assert_eq!(summary("   \n\nbody"), "");
        assert_eq!(summary("a\0b"), "a");
    }

    #[test]
    fn broken_commits_are_named_as_git_names_them() {
        let hex = "1".repeat(40);
        let judge = |text: String| Links::parse(text.as_bytes(), Kind::Sha1).map(|_| ());
        assert_eq!(judge("tree 12\n".into()), Err("bogus commit object"));
        assert_eq!(
            judge(format!("tree {}\n", "x".repeat(40))),
            Err("bad tree pointer in commit")
        );
        assert_eq!(
            judge(format!("tree {hex}\nparent 12\n")),
            Err("bad parents in commit")
        );
        assert_eq!(
            judge(format!("tree {hex}\nparent {hex}")),
            Err("bad parents in commit")
        );
        assert_eq!(judge(format!("tree {hex}\n")), Ok(()));
    }
}
