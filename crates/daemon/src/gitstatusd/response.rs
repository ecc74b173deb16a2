//! Responses: fields separated by 0x1F, ended by 0x1E.

use bstr::{BStr, ByteSlice};
use vigil_engine::prompt::{Prompt, RemoteBranch};

use super::request::{FIELD_SEPARATOR, RECORD_SEPARATOR};

/// The most bytes of a commit's encoding. No name of one is as long, but a commit may hold any text in its place, and a shell
/// would read that for minutes.
const ENCODING_LEN_MAX: usize = 256;

/// Encodes the response that the request's directory is in no usable working copy.
pub(crate) fn none(id: &BStr) -> Vec<u8> {
    let mut record = Record::new(id);
    record.text(b"0");
    record.end()
}

/// Encodes the response with all 29 fields.
pub(crate) fn some(id: &BStr, prompt: &Prompt, summary_len_max: usize) -> Vec<u8> {
    let no_remote = RemoteBranch::default();
    let upstream = prompt.upstream.as_ref().unwrap_or(&no_remote);
    let push = prompt.push.as_ref().unwrap_or(&no_remote);
    let counts = &prompt.counts;
    let summary = cut(&prompt.commit_summary, summary_len_max);
    let encoding = cut(&prompt.commit_encoding, ENCODING_LEN_MAX);
    let mut record = Record::new(id);
    record.text(b"1");
    record.text(&prompt.work_tree);
    record.text(
        prompt
            .commit
            .map(|id| id.to_hex().to_string())
            .unwrap_or_default()
            .as_bytes(),
    );
    record.text(&prompt.branch);
    record.text(&upstream.branch);
    record.text(&upstream.remote);
    record.text(&upstream.url);
    record.text(&prompt.action);
    record.number(counts.index_size);
    record.number(counts.staged);
    record.number(counts.unstaged);
    record.number(counts.conflicted);
    record.number(counts.untracked);
    record.number(upstream.ahead);
    record.number(upstream.behind);
    record.number(prompt.stashes);
    record.text(&prompt.tag);
    record.number(counts.unstaged_deleted);
    record.number(counts.staged_new);
    record.number(counts.staged_deleted);
    record.text(&push.remote);
    record.text(&push.url);
    record.number(push.ahead);
    record.number(push.behind);
    record.number(counts.skip_worktree);
    record.number(counts.assume_unchanged);
    record.text(encoding);
    record.text(summary);
    record.end()
}

/// Returns at most `len_max` bytes of `text`.
fn cut(text: &[u8], len_max: usize) -> &[u8] {
    text.get(..len_max).unwrap_or(text)
}

struct Record(Vec<u8>);

impl Record {
    fn new(id: &BStr) -> Self {
        let mut record = Self(Vec::with_capacity(512));
        record.printable(id);
        record
    }

    fn text(&mut self, field: &[u8]) {
        self.0.push(FIELD_SEPARATOR);
        self.printable(field);
    }

    fn number(&mut self, field: usize) {
        self.text(field.to_string().as_bytes());
    }

    /// Appends `text` with control characters as `?`, so that no field contains a separator. All other
    /// bytes are kept.
    fn printable(&mut self, text: &[u8]) {
        self.0.extend(text.bytes().map(|byte| {
            if byte < b' ' || byte == 0x7f {
                b'?'
            } else {
                byte
            }
        }));
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(RECORD_SEPARATOR);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bstr::BString;

    #[test]
    fn a_response_has_29_fields_in_order() {
        let remote = |n: usize| RemoteBranch {
            branch: "rb".into(),
            remote: "r".into(),
            url: "u".into(),
            ahead: n,
            behind: n + 1,
        };
        let mut prompt = Prompt {
            work_tree: "/w".into(),
            branch: "b".into(),
            upstream: Some(remote(15)),
            push: Some(remote(24)),
            action: "merge".into(),
            stashes: 17,
            tag: "t\x1fx".into(),
            commit_encoding: "latin1".into(),
            commit_summary: "summary".into(),
            ..Prompt::default()
        };
        prompt.counts.index_size = 10;
        prompt.counts.staged = 11;
        prompt.counts.unstaged = 12;
        prompt.counts.conflicted = 13;
        prompt.counts.untracked = 14;
        prompt.counts.unstaged_deleted = 19;
        prompt.counts.staged_new = 20;
        prompt.counts.staged_deleted = 21;
        prompt.counts.skip_worktree = 26;
        prompt.counts.assume_unchanged = 27;
        let got = BString::from(some("i\nd".into(), &prompt, 3));
        let want = "i?d 1 /w  b rb r u merge 10 11 12 13 14 15 16 17 t?x 19 20 21 r u 24 25 26 27 latin1 sum";
        assert_eq!(got, want.replace(' ', "\x1f") + "\x1e");
        assert_eq!(want.split(' ').count(), 29);
    }

    #[test]
    fn no_text_of_a_commit_is_endless() {
        let prompt = Prompt {
            commit_encoding: vec![b'x'; 1 << 20].into(),
            commit_summary: vec![b'y'; 1 << 20].into(),
            ..Prompt::default()
        };
        let len = some("id".into(), &prompt, 256).len();
        assert!(len < 1024, "{len}");
    }

    #[test]
    fn no_repository_is_two_fields() {
        assert_eq!(none("}hello".into()), b"}hello\x1f0\x1e");
    }

    #[test]
    fn bytes_beyond_ascii_stay_as_they_are() {
        assert_eq!(
            none(BStr::new(b"\xc3\xa9\xff\x7f")),
            b"\xc3\xa9\xff?\x1f0\x1e"
        );
    }
}
