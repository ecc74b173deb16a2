//! Contents of files, and paths as they are printed.

use bstr::{BStr, ByteSlice};
use vigil_convert::fuzzing;
use vigil_model::quote::{QuoteRule, append_quoted};

use crate::input::Input;

/// Contents in pieces are counted and converted like a whole. CRLF becomes LF, and nothing else changes.
pub(crate) fn line_endings(data: &[u8]) {
    let mut input = Input(data);
    let size = 1 + input.up_to(64);
    let whole = fuzzing::line_endings([input.0]);
    assert_eq!(fuzzing::line_endings(input.0.chunks(size)), whole);
    let (lone_lf, crlf, converted) = whole;
    let line_feeds = input.0.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lone_lf + crlf, line_feeds as u64);
    assert_eq!(converted, input.0.replace("\r\n", "\n"));
}

/// Collapsing idents shortens the text, leaves `$Id$` in it, and keeps the number of lines.
pub(crate) fn ident(data: &[u8]) {
    let Some(collapsed) = fuzzing::ident_collapsed(data) else {
        return;
    };
    assert!(collapsed.len() < data.len());
    assert!(collapsed.contains_str("$Id$"));
    let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines(&collapsed), lines(data));
}

/// A quoted path is one line of printable bytes, and unquoting restores the path.
pub(crate) fn path_quoting(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    let rule = QuoteRule {
        high_bytes: choice & 1 != 0,
        spaces: choice & 2 != 0,
    };
    let path = BStr::new(input.0);
    let mut quoted = Vec::new();
    append_quoted(&mut quoted, path, rule);
    assert!(quoted.len() <= path.len() * 4 + 2);
    assert!(
        !quoted
            .iter()
            .any(|byte| byte.is_ascii_control() || (rule.high_bytes && *byte >= 0x80))
    );
    let is_quoted = quoted.starts_with(b"\"");
    assert!(is_quoted || !rule.spaces || !path.contains(&b' '));
    assert_eq!(
        if is_quoted { unquoted(&quoted) } else { quoted },
        path.as_bytes()
    );

    let quoted = vigil_git::fuzzing::shell_quoted(path);
    let inside = quoted
        .strip_prefix(b"'")
        .and_then(|rest| rest.strip_suffix(b"'"));
    let inside = inside.expect("quotes around it");
    assert!(
        !inside
            .replace(r"'\''", "")
            .replace(r"'\!'", "")
            .contains_str("'")
    );
    assert_eq!(
        inside.replace(r"'\''", "'").replace(r"'\!'", "!"),
        path.as_bytes()
    );
}

fn unquoted(quoted: &[u8]) -> Vec<u8> {
    let inside = &quoted[1..quoted.len() - 1];
    let mut bytes = inside.iter().copied();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        assert_ne!(byte, b'"');
        out.push(match byte {
            b'\\' => match bytes.next().expect("something behind a backslash") {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                first @ b'0'..=b'3' => {
                    let mut digit = || bytes.next().expect("three digits") & 7;
                    (first & 7) << 6 | digit() << 3 | digit()
                }
                other => other,
            },
            byte => byte,
        });
    }
    out
}

/// Commands are lines of the list. None is empty or a comment.
pub(crate) fn todo(data: &[u8]) {
    let mut input = Input(data);
    let comment = input.field();
    let text = input.0;
    let commands: Vec<&[u8]> = vigil_git::fuzzing::todo_commands(text, comment).collect();
    assert!(commands.len() <= text.len());
    for command in &commands {
        assert!(!command.is_empty() && !command.contains(&b'\n'));
        assert!(text.contains_str(command));
    }
    if comment.is_empty() {
        // Everything is a comment, except what begins with the name of a command.
        let begins_with_a_name =
            |command: &&[u8]| command.iter().next().is_some_and(u8::is_ascii_lowercase);
        assert!(commands.iter().all(begins_with_a_name));
    }
}
