//! The rules for valid reference names (git-check-ref-format(1)).

/// Whether git accepts `name` as a reference name, including one-level names (`HEAD`).
pub fn is_valid(name: &[u8]) -> bool {
    for (at, byte) in name.iter().enumerate() {
        if is_plain(*byte) {
            continue;
        }
        let ends_with = |end: u8| at.checked_sub(1).and_then(|at| name.get(at)) == Some(&end);
        let is_start = || at == 0 || ends_with(b'/');
        let is_allowed = match byte {
            b'/' => !is_start() && !ends_as_lock(name.get(..at)),
            b'.' => !is_start() && !ends_with(b'.'),
            b'{' => !ends_with(b'@'),
            _ => false,
        };
        if !is_allowed {
            return false;
        }
    }
    !matches!(name, [] | b"@" | [.., b'/' | b'.']) && !ends_as_lock(Some(name))
}

/// Whether `name`, which is not valid, is at least harmless as the path of a file: git gives up when it meets one that
/// is not.
pub(crate) fn is_safe(name: &[u8]) -> bool {
    match name.strip_prefix(b"refs/") {
        Some(below) => !below
            .split(|byte| *byte == b'/')
            .any(|component| matches!(component, b"" | b"." | b"..")),
        None => {
            name.iter()
                .all(|byte| byte.is_ascii_uppercase() || *byte == b'_')
                && !name.is_empty()
        }
    }
}

/// Whether a component that ends here is the name of a lock file.
fn ends_as_lock(name: Option<&[u8]>) -> bool {
    name.is_some_and(|name| name.ends_with(b".lock"))
}

/// Whether `byte` is allowed anywhere in a name.
fn is_plain(byte: u8) -> bool {
    !matches!(
        byte,
        0..=b' ' | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\' | 0x7f | b'/' | b'.' | b'{'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_git_does() {
        for name in [
            "HEAD",
            "refs/heads/main",
            "a/b.c",
            "refs/heads/a{",
            "refs/x@",
            "refs/@",
            "@",
            "a..b",
            "a/.b",
            "a.lock",
            "a/b.lock/c",
            "a b",
            "a~",
            "a^",
            "a:",
            "a?",
            "a*",
            "a[",
            "a\\",
            "a@{b",
            "a.",
            "a./b",
            "a/..lock",
            "a.lock.",
            ".lock",
            "a.lockb",
            "{",
            "@/a",
            "a/@",
            "a//b",
            "/a",
            "a/",
            "",
            "\u{7f}",
            "\u{1}",
            "\u{e4}",
        ] {
            let git = std::process::Command::new("git")
                .args(["check-ref-format", "--allow-onelevel", name])
                .status()
                .unwrap()
                .success();
            assert_eq!(is_valid(name.as_bytes()), git, "{name:?}");
        }
    }
}
