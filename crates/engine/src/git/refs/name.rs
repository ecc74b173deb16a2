//! Which reference names are valid (git-check-ref-format(1)).

/// Whether git accepts `name` as a reference name, one level (`HEAD`) included.
pub(crate) fn is_valid(name: &[u8]) -> bool {
    name != b"@"
        && !name.ends_with(b".")
        && name.split(|byte| *byte == b'/').all(is_valid_component)
}

fn is_valid_component(component: &[u8]) -> bool {
    !component.is_empty()
        && !component.starts_with(b".")
        && !component.ends_with(b".lock")
        && !component
            .windows(2)
            .any(|pair| matches!(pair, b".." | b"@{"))
        && !component.iter().any(|byte| {
            byte.is_ascii_control()
                || matches!(byte, b' ' | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\')
        })
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
