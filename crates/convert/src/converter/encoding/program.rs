//! All other encodings, converted by iconv(1).
//!
//! The tables of iconv(3) are libraries that the C library loads at run time. A statically linked program may not load
//! them, but the iconv program that comes with them can.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use bstr::{BStr, ByteSlice};

use crate::converter::filter::{Input, exchange};
use vigil_git::child::ChildEnvironment;

/// Converts `input` from the encoding `from` to the encoding `to`. `None` if there is no such conversion, or the input is
/// not valid in its encoding, is cut off, or has no equivalent.
pub(super) fn convert(
    child_environment: &ChildEnvironment,
    from: &BStr,
    to: &BStr,
    input: &[u8],
) -> Option<Vec<u8>> {
    let mut command = Command::new("iconv");
    for (option, name) in [("-f", from), ("-t", to)] {
        if may_be_file(name) {
            return None;
        }
        command.arg(option).arg(name.to_os_str().ok()?);
    }
    // Run from `/`, so that a relative entry of PATH cannot find a program in the repository.
    let child_environment = ChildEnvironment {
        directory: PathBuf::from("/"),
        ..child_environment.clone()
    };
    let mut child = child_environment
        .apply_to(&mut command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // If the program did not take all of its input, its exit code says so.
    let (_, output) = exchange(&mut child, Input::Bytes(input));
    let succeeded = child.wait().is_ok_and(|status| status.success());
    output.ok().filter(|_| succeeded)
}

/// Whether the program might take `name` for a file that describes an encoding, which the library never does.
fn may_be_file(name: &BStr) -> bool {
    let end = name.find(b"//").unwrap_or(name.len());
    name.get(..end).is_none_or(|name| name.contains(&b'/'))
}

/// The conversion by the program, as tests compare it.
#[cfg(test)]
pub(super) fn iconv(from: &str, to: &str, input: &[u8]) -> Option<Vec<u8>> {
    let child_environment = ChildEnvironment {
        variables: vec![("PATH".into(), std::env::var("PATH").unwrap().into())],
        ..ChildEnvironment::default()
    };
    convert(&child_environment, BStr::new(from), BStr::new(to), input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_changes_its_encoding() {
        let converted = iconv("ISO-8859-1", "UTF-8", &[0xe4; 500_000]);
        assert_eq!(converted.unwrap(), "ä".repeat(500_000).as_bytes());
        let converted = iconv("UTF-8", "ASCII//TRANSLIT", "“".as_bytes());
        assert_eq!(converted.unwrap(), b"\"");
    }

    #[test]
    fn what_is_not_text_is_refused() {
        assert_eq!(iconv("no-such-encoding", "UTF-8", b"x"), None);
        assert_eq!(iconv("SHIFT-JIS", "UTF-8", b"x\x83"), None);
        assert_eq!(iconv("UTF-8", "ISO-8859-1", "“".as_bytes()), None);
        assert_eq!(iconv("/dev/null", "UTF-8", b"x"), None);
        assert_eq!(iconv("a\0b", "UTF-8", b"x"), None);
    }
}
