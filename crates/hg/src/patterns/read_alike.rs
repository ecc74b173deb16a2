//! Ignore patterns that Mercurial's Python and Rust implementations are sure to read alike.
//!
//! The Rust implementation knows kinds of patterns in ignore files that the Python one takes for a part of the pattern, and it
//! uses another regular expression engine. What it recorded under such patterns is not trusted.

use bstr::ByteSlice;

use super::kinds::Kind;

/// Returns whether the pattern `text` of an ignore file, which is of `kind`, means the same to both.
pub(super) fn is_read_alike(kind: Kind, text: &[u8]) -> bool {
    match kind {
        // The engines differ on groups that begin with `?`, on bracket sets, and on possessive repetition.
        Kind::Re | Kind::RelRe => {
            let is_beyond = |part: &&str| text.contains_str(part);
            has_only(text, b"/_.-^$*+?()|") && !["(?", "*+", "++", "?+"].iter().any(is_beyond)
        }
        Kind::Glob | Kind::RelGlob | Kind::RootGlob => has_only(text, b"/_.-*? +~@%=,{}"),
        Kind::Include => true,
        _ => false,
    }
}

/// Returns whether `text` has only ASCII letters and digits, the bytes in `others`, and punctuation escaped by a backslash.
fn has_only(text: &[u8], others: &[u8]) -> bool {
    let mut is_escaped = false;
    let is_fine = |byte: &u8| {
        let was_escaped = std::mem::take(&mut is_escaped);
        if was_escaped {
            return byte.is_ascii_punctuation();
        }
        is_escaped = *byte == b'\\';
        is_escaped || byte.is_ascii_alphanumeric() || others.contains(byte)
    };
    text.iter().all(is_fine) && !is_escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_alike_is_plain() {
        for (kind, text, expected) in [
            (Kind::RelGlob, "*.o", true),
            (Kind::RelGlob, "build/**/{a,b}.tmp", true),
            (Kind::RelGlob, "path:d", false),
            (Kind::RelGlob, "[!a].o", false),
            (Kind::RelGlob, "a\\", false),
            (Kind::RelRe, r"^out/.*\.(o|a)$", true),
            (Kind::RelRe, "path:d", false),
            (Kind::RelRe, r"\d+", false),
            (Kind::RelRe, "(?i)a", false),
            (Kind::RelRe, "[a-z]", false),
            (Kind::RelRe, "a{2}", false),
            (Kind::RelRe, "a+b", true),
            (Kind::RelRe, "a*+", false),
            (Kind::RelRe, "h\u{e9}", false),
            (Kind::RelRe, "a\tb", false),
            (Kind::Include, "more", true),
            (Kind::SubInclude, "more", false),
            (Kind::RootFilesIn, "d", false),
        ] {
            assert_eq!(
                is_read_alike(kind, text.as_bytes()),
                expected,
                "{kind:?} {text}"
            );
        }
    }
}
