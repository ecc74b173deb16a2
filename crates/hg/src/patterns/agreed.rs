//! Ignore patterns that Mercurial's programs, one in Python and one in Rust, surely read alike.
//!
//! The one in Rust knows kinds of patterns in ignore files that the other takes for a part of the pattern, and has another engine of
//! regular expressions. What it recorded under such patterns is not believed.

use bstr::ByteSlice;

use super::kinds::Kind;

/// Whether the pattern `text` of an ignore file, which is of `kind`, means the same to both.
pub(super) fn is_agreed(kind: Kind, text: &[u8]) -> bool {
    match kind {
        // Engines differ in groups with a question mark, in what is in brackets, and in repetitions that give nothing back.
        Kind::Re | Kind::RelRe => {
            let is_beyond = |part: &&str| text.contains_str(part);
            is_of(text, b"/_.-^$*+?()|") && !["(?", "*+", "++", "?+"].iter().any(is_beyond)
        }
        Kind::Glob | Kind::RelGlob | Kind::RootGlob => is_of(text, b"/_.-*? +~@%=,{}"),
        Kind::Include => true,
        _ => false,
    }
}

/// Whether `text` is of ASCII letters and digits, those of `others`, and what a backslash makes of other signs.
fn is_of(text: &[u8], others: &[u8]) -> bool {
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
                is_agreed(kind, text.as_bytes()),
                expected,
                "{kind:?} {text}"
            );
        }
    }
}
