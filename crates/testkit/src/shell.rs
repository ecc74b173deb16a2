//! Bytes as words of a bash script.

use bstr::{BString, ByteSlice};

/// The placeholder for the sandbox's root in arguments, environment values and file contents.
pub const ROOT: &str = "{ROOT}";

/// Functions used by scripts: `put FILE` writes its input to a file and creates the directories it needs.
pub const PRELUDE: &str = "put() {\n\tcase $1 in */*) mkdir -p -- \"${1%/*}\";; esac\n\t\
                           if [ -p \"$1\" ]; then cat > /dev/null; else cat > \"$1\"; fi\n}\n";

/// `bytes` as one word of bash, with `"$ROOT"` for [`ROOT`].
pub fn word(bytes: &[u8]) -> BString {
    let mut out = BString::default();
    for (index, part) in bytes.split_str(ROOT).enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\"$ROOT\"");
        }
        out.extend_from_slice(&plain_word(part));
    }
    if out.is_empty() {
        out.extend_from_slice(b"''");
    }
    out
}

/// `bytes` as one word of bash without substitution. Empty for no bytes.
fn plain_word(bytes: &[u8]) -> BString {
    let is_safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./=:,@%+^".contains(byte);
    if bytes.iter().all(is_safe) {
        return bytes.into();
    }
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) && *byte != b'\'';
    let mut out = BString::default();
    if bytes.iter().all(is_plain) {
        out.push(b'\'');
        out.extend_from_slice(bytes);
        out.push(b'\'');
        return out;
    }
    out.extend_from_slice(b"$'");
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b' '..=b'~' => out.push(*byte),
            _ => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    out.push(b'\'');
    out
}

/// A command that prints exactly `bytes`, with [`ROOT`] replaced.
pub fn print(bytes: &[u8]) -> BString {
    if let Some(command) = print_numbered(bytes) {
        return command;
    }
    let mut out = BString::from("printf ");
    let mut format = Vec::new();
    let mut roots = 0;
    for (index, part) in bytes.split_str(ROOT).enumerate() {
        if index > 0 {
            format.extend_from_slice(b"%s");
            roots += 1;
        }
        for byte in part {
            match byte {
                b'%' => format.extend_from_slice(b"%%"),
                b'\\' => format.extend_from_slice(b"\\\\"),
                b'\n' => format.extend_from_slice(b"\\n"),
                b'\'' => format.extend_from_slice(b"\\047"),
                b' '..=b'~' => format.push(*byte),
                _ => format.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            }
        }
    }
    out.extend_from_slice(b"-- '");
    out.extend_from_slice(&format);
    out.push(b'\'');
    for _ in 0..roots {
        out.extend_from_slice(b" \"$ROOT\"");
    }
    out
}

/// A short command that prints many numbered lines, one of which may differ. `None` for anything else.
fn print_numbered(bytes: &[u8]) -> Option<BString> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b' ';
    let lines: Vec<&[u8]> = bytes.strip_suffix(b"\n")?.split_str("\n").collect();
    let (before, after) = lines.first()?.split_once_str(" 0 ")?;
    if lines.len() < 8 || !lines.iter().all(|line| line.iter().all(is_plain)) {
        return None;
    }
    let (before, after) = (before.to_str().ok()?, after.to_str().ok()?);
    let mut odd = lines
        .iter()
        .enumerate()
        .filter(|(number, line)| **line != format!("{before} {number} {after}").as_bytes());
    let last = lines.len() - 1;
    let mut command = format!("seq -f '{before} %.0f {after}' 0 {last}");
    if let Some((number, line)) = odd.next() {
        let line = line.to_str().ok()?;
        command.push_str(&format!(" | sed '{}s/.*/{line}/'", number + 1));
    }
    odd.next().is_none().then(|| command.into())
}

/// `bytes` for a person to read: one line per line, everything unprintable escaped.
pub fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n\n"),
            b'\\' => out.push_str("\\\\"),
            0 => out.push_str("\\0\n"),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const HARD: &[u8] = b"a b'c\\d\n\t%s $HOME `x` \xff\xc3\xa9 \"q\" 7\x017";

    fn bash(script: &[u8]) -> Vec<u8> {
        use std::os::unix::ffi::OsStrExt;
        let script = std::ffi::OsStr::from_bytes(script);
        Command::new("bash")
            .arg("-c")
            .arg(script)
            .env("ROOT", "/r")
            .output()
            .unwrap()
            .stdout
    }

    #[test]
    fn words_come_back_as_they_were() {
        let mut script = b"printf %s ".to_vec();
        script.extend_from_slice(&word(HARD));
        assert_eq!(bash(&script).as_bstr(), HARD.as_bstr());
        assert_eq!(bash(b"printf %s {ROOT}/x"), b"{ROOT}/x");
        let mut script = b"printf %s ".to_vec();
        script.extend_from_slice(&word(b"{ROOT}/x y"));
        assert_eq!(bash(&script), b"/r/x y");
    }

    #[test]
    fn contents_come_back_as_they_were() {
        let mut data = HARD.to_vec();
        data.extend_from_slice(b"\0-{ROOT}-");
        let mut expected = HARD.to_vec();
        expected.extend_from_slice(b"\0-/r-");
        assert_eq!(bash(&print(&data)).as_bstr(), expected.as_bstr());
    }

    #[test]
    fn many_numbered_lines_make_a_short_command() {
        let mut text: Vec<String> = (0..400)
            .map(|number| format!("line {number} of x"))
            .collect();
        for changed in [None, Some(17)] {
            if let Some(number) = changed {
                text[number] = "another one".to_owned();
            }
            let text = format!("{}\n", text.join("\n"));
            let command = print(text.as_bytes());
            assert!(command.len() < 80, "{command}");
            assert_eq!(bash(&command).as_bstr(), text.as_bytes().as_bstr());
        }
        text[3] = "a second one".to_owned();
        let text = format!("{}\n", text.join("\n"));
        assert_eq!(
            bash(&print(text.as_bytes())).as_bstr(),
            text.as_bytes().as_bstr()
        );
    }
}
