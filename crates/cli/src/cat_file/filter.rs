//! The objects that a batch leaves out (`--filter`, git-rev-list(1)).

use bstr::{BStr, ByteSlice};
use vigil_model::config_value;
use vigil_objects::{Facts, Kind, Wanted};

use crate::reply::{Reply, bytes, labelled};

/// The characters that a part of a combined filter must write as `%` and two hexadecimal digits, besides space and control
/// characters (git-rev-list(1), "--filter").
const RESERVED: &[u8] = b"~`!@#$^&*()[]{}\\;'\",<>?";

/// A filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Filter {
    /// Leaves out nothing.
    #[default]
    Everything,
    /// Leaves out blobs of this many bytes or more.
    BlobsBelow(u64),
    /// Leaves out all blobs.
    NoBlobs,
    /// Leaves out everything but objects of this type.
    Only(Kind),
    /// A filter that git knows but does not support in batches.
    Unsupported(&'static str),
}

impl Filter {
    /// Parses the value of `--filter`.
    ///
    /// # Errors
    /// The value is not a filter.
    pub(super) fn parse(text: &BStr) -> Result<Self, Reply> {
        let invalid = || Reply::fatal(bytes!["invalid filter-spec '", text, "'"]);
        if text == "blob:none" {
            return Ok(Self::NoBlobs);
        }
        if let Some(limit) = text.strip_prefix(b"blob:limit=") {
            return size(limit.as_bstr())
                .map(Self::BlobsBelow)
                .ok_or_else(invalid);
        }
        if let Some(kind) = text.strip_prefix(b"object:type=") {
            let unknown = || {
                let complaint = bytes![
                    "'",
                    kind,
                    "' for 'object:type=<type>' is not a valid object type"
                ];
                Reply::fatal(complaint)
            };
            return Kind::from_bytes(kind)
                .map(Self::Only)
                .map_err(|_| unknown());
        }
        if text.starts_with(b"sparse:path=") {
            return Err(Reply::fatal("sparse:path filters support has been dropped"));
        }
        if let Some(depth) = text.strip_prefix(b"tree:") {
            return size(depth.as_bstr())
                .map(|_| Self::Unsupported("tree"))
                .ok_or_else(|| Reply::fatal("expected 'tree:<depth>'"));
        }
        if let Some(specs) = text.strip_prefix(b"combine:") {
            check_combined(specs)?;
            return Ok(Self::Unsupported("combine"));
        }
        if text == "auto" {
            let complaint = "'auto' filter not supported by this command";
            return Err(Reply::fatal(complaint));
        }
        match text.starts_with(b"sparse:oid=") {
            true => Ok(Self::Unsupported("sparse:oid")),
            false => Err(invalid()),
        }
    }

    /// Combines this filter with another one, as git does.
    pub(super) fn and(self, further: Self) -> Self {
        match self {
            Self::Everything => further,
            _ => Self::Unsupported("combine"),
        }
    }

    /// Checks that the command can apply the filter.
    ///
    /// # Errors
    /// The filter is not supported, or the command is not a batch.
    pub(super) fn check(self, is_batch: bool) -> Result<(), Reply> {
        let complaint = match self {
            Self::Everything => return Ok(()),
            Self::Unsupported(name) => format!("objects filter not supported: '{name}'"),
            _ if !is_batch => "objects filter only supported in batch mode".to_owned(),
            _ => return Ok(()),
        };
        let stderr = labelled("usage: ", complaint.as_bytes());
        Err(Reply::complained(stderr, Reply::USAGE))
    }

    /// Adds to `wanted` what the filter has to know about an object.
    pub(super) fn look_for(self, wanted: &mut Wanted) {
        wanted.kind |= !matches!(self, Self::Everything | Self::Unsupported(_));
        wanted.size |= matches!(self, Self::BlobsBelow(_));
    }

    /// Returns whether an object is left out.
    pub(super) fn excludes(self, facts: &Facts) -> bool {
        let is_blob = facts.kind == Some(Kind::Blob);
        match self {
            Self::Everything | Self::Unsupported(_) => false,
            Self::NoBlobs => is_blob,
            Self::BlobsBelow(limit) => is_blob && facts.size >= Some(limit),
            Self::Only(kind) => facts.kind != Some(kind),
        }
    }
}

/// Parses a number as in the configuration, but without a minus.
fn size(text: &BStr) -> Option<u64> {
    config_value::unsigned(Some(text)).ok()
}

/// Checks the parts of a combined filter in git's order.
fn check_combined(specs: &[u8]) -> Result<(), Reply> {
    if specs.is_empty() {
        return Err(Reply::fatal("expected something after combine:"));
    }
    let specs = specs.split(|byte| *byte == b'+');
    for spec in specs.filter(|spec| !spec.is_empty()) {
        let is_reserved = |byte: &&u8| **byte <= b' ' || RESERVED.contains(*byte);
        if let Some(byte) = spec.iter().find(is_reserved) {
            let complaint = bytes!["must escape char in sub-filter-spec: '", &[*byte], "'"];
            return Err(Reply::fatal(complaint));
        }
        Filter::parse(percent_decoded(spec).as_bstr())?;
    }
    Ok(())
}

/// Returns `text` with each `%` and two hexadecimal digits replaced by the byte that they encode.
fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| digits.to_str().ok());
        let byte = digits
            .filter(|digits| first == b'%' && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(|byte| *byte != 0);
        decoded.push(byte.unwrap_or(first));
        rest = after
            .get(if byte.is_some() { 2 } else { 0 }..)
            .unwrap_or_default();
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_that_batches_have_not_are_refused_in_git_s_words() {
        let messages = |texts: &[&str]| {
            let mut filter = Filter::default();
            for text in texts {
                match Filter::parse((*text).into()) {
                    Ok(further) => filter = filter.and(further),
                    Err(reply) => return reply.stderr.to_str_lossy().trim_end().to_owned(),
                }
            }
            match filter.check(true) {
                Ok(()) => String::new(),
                Err(reply) => reply.stderr.to_str_lossy().trim_end().to_owned(),
            }
        };
        let combine = "usage: objects filter not supported: 'combine'";
        let depth = "fatal: expected 'tree:<depth>'";
        for (texts, expected) in [
            (&["blob:none"][..], ""),
            (&["blob:limit=1k"], ""),
            (&["blob:limit= +0x1K"], ""),
            (&["blob:limit=18446744073709551615"], ""),
            (&["blob:limit=17179869183g"], ""),
            (
                &["blob:limit=17179869184g"],
                "fatal: invalid filter-spec 'blob:limit=17179869184g'",
            ),
            (
                &["blob:limit=08"],
                "fatal: invalid filter-spec 'blob:limit=08'",
            ),
            (
                &["blob:limit=-0"],
                "fatal: invalid filter-spec 'blob:limit=-0'",
            ),
            (&["tree:0x1"], "usage: objects filter not supported: 'tree'"),
            (&["blob:none", "object:type=tag"], combine),
            (&["blob:none", "x"], "fatal: invalid filter-spec 'x'"),
            (&["tree:1"], "usage: objects filter not supported: 'tree'"),
            (&["tree:"], depth),
            (&["tree:-1"], depth),
            (
                &["auto"],
                "fatal: 'auto' filter not supported by this command",
            ),
            (&["combine:"], "fatal: expected something after combine:"),
            (&["combine:+"], combine),
            (&["combine:blob:none++tree:1+"], combine),
            (&["combine:blob%3Anone"], combine),
            (&["combine:tree:x"], depth),
            (&["combine:combine:tree%3ax"], depth),
            (
                &["combine:a b"],
                "fatal: must escape char in sub-filter-spec: ' '",
            ),
            (&["combine:x+a*"], "fatal: invalid filter-spec 'x'"),
            (&["combine:a%zz"], "fatal: invalid filter-spec 'a%zz'"),
        ] {
            assert_eq!(messages(texts), expected, "{texts:?}");
        }
        let octal = Filter::parse("blob:limit=010".into());
        assert_eq!(octal.ok(), Some(Filter::BlobsBelow(8)));
    }
}
