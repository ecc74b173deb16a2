//! Quoting bytes as one word of a shell.

use bstr::ByteSlice;

/// Quotes for any POSIX shell and for zsh.
pub(super) fn posix(bytes: &[u8]) -> Vec<u8> {
    [b"'", bytes.replace("'", r"'\''").as_slice(), b"'"].concat()
}

/// Quotes for fish, where a backslash within quotes may be an escape.
pub(super) fn fish(bytes: &[u8]) -> Vec<u8> {
    let quoted = bytes.replace(r"\", r"\\").replace("'", r"\'");
    [b"'", quoted.as_slice(), b"'"].concat()
}

/// Quotes for zsh, on one line, in a form whose meaning no option changes.
pub(super) fn zsh(bytes: &[u8]) -> Vec<u8> {
    let quoted = bytes
        .replace(r"\", r"\\")
        .replace("'", r"\'")
        .replace("\n", r"\n");
    [b"$'", quoted.as_slice(), b"'"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_each_shell_reads_them() {
        let word = b"a'b\\c\n\xff$x";
        assert_eq!(posix(word), b"'a'\\''b\\c\n\xff$x'");
        assert_eq!(fish(word), b"'a\\'b\\\\c\n\xff$x'");
        assert_eq!(zsh(word), b"$'a\\'b\\\\c\\n\xff$x'");
    }
}
