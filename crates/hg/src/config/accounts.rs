//! Users and groups by the system's files (passwd(5), group(5)). Other services that may know them (nsswitch.conf(5)) can only be
//! asked by the C library.

use std::path::Path;

use bstr::{BString, ByteSlice};

use crate::abort::Abort;
use crate::bytes::{bytes, is_space, trim};
use crate::text_file;

/// Returns the name of a number in the system's list of users (`passwd`) or groups (`group`), or the number itself if
/// it has no name.
///
/// # Errors
/// The number is not in the file, and other services may know it.
pub(super) fn name_of(list: &str, number: u32) -> Result<BString, Abort> {
    let text = text_of(list);
    if let Some(name) = name_in(&text, number) {
        return Ok(name);
    }
    let message =
        || format!("configuration whose owner (number {number}) is in no file of the system");
    refuse_if_others_know(list, message)?;
    Ok(number.to_string().into())
}

/// A user whose home is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum User<'u> {
    Number(u32),
    Name(&'u [u8]),
}

/// Returns the home directory of a user, or `None` if there is no such user.
///
/// # Errors
/// The user is not in the file, and other services may know it.
pub(super) fn home_of(user: User<'_>) -> Result<Option<BString>, Abort> {
    let list = "passwd";
    let home = home_in(&text_of(list), user);
    if home.is_none() {
        refuse_if_others_know(list, || match user {
            User::Number(number) => bytes!(
                "the home of a user (number ",
                number.to_string(),
                ") who is in no file of the system"
            ),
            User::Name(name) => bytes!(
                "the home of a user ('",
                name,
                "') who is in no file of the system"
            ),
        })?;
    }
    Ok(home)
}

fn text_of(file: &str) -> Vec<u8> {
    text_file::read(&Path::new("/etc").join(file)).unwrap_or_default()
}

/// # Errors
/// Other services may know what is not in the file; `message` says what that is.
fn refuse_if_others_know<M: AsRef<[u8]>>(
    list: &str,
    message: impl FnOnce() -> M,
) -> Result<(), Abort> {
    match asks_other_services(&text_of("nsswitch.conf"), list) {
        true => Err(Abort::unsupported(message())),
        false => Ok(()),
    }
}

fn name_in(text: &[u8], number: u32) -> Option<BString> {
    let wanted = number.to_string();
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next()?;
        (fields.nth(1)? == wanted.as_bytes()).then(|| name.into())
    })
}

/// Returns the home directory in the text of passwd(5). Lines that are damaged are skipped.
fn home_in(text: &[u8], user: User<'_>) -> Option<BString> {
    let lines = text.split(|byte| *byte == b'\n');
    let mut lines = lines.filter(|line| !line.starts_with(b"#"));
    lines.find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next()?;
        let number: u32 = fields.nth(1)?.to_str().ok()?.parse().ok()?;
        let home = fields.nth(2)?;
        let is_wanted = match user {
            User::Number(wanted) => number == wanted,
            User::Name(wanted) => name == wanted,
        };
        is_wanted.then(|| home.into())
    })
}

/// Returns whether nsswitch.conf(5) names a service that knows more than the system's files, apart from the temporary
/// users of systemd(1).
fn asks_other_services(services: &[u8], list: &str) -> bool {
    let mut lines = services.split(|byte| *byte == b'\n');
    let asked = lines.find_map(|line| {
        let (name, asked) = line.split_once_str(":")?;
        (trim(name) == list.as_bytes()).then_some(asked)
    });
    let asked = asked.unwrap_or_default();
    let asked = asked.split(|byte| *byte == b'#').next().unwrap_or_default();
    let mut words = asked
        .split(|byte| is_space(*byte))
        .filter(|word| !word.is_empty());
    words.any(|word| !word.starts_with(b"[") && !matches!(word, b"files" | b"compat" | b"systemd"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_unless_others_are_asked() {
        let text = b"root:x:0:0:root:/root:/bin/sh\nme:x:1000:1000::/home/me:\n";
        assert_eq!(name_in(text, 1000), Some("me".into()));
        assert_eq!(name_in(text, 1001), None);
        for (services, expected) in [
            ("passwd: files systemd\ngroup: files sss\n", false),
            ("passwd:\tcompat [NOTFOUND=return] # ldap\n", false),
            ("passwd: files sss", true),
            ("group: ldap", false),
            ("", false),
        ] {
            assert_eq!(
                asks_other_services(services.as_bytes(), "passwd"),
                expected,
                "{services}"
            );
        }
    }

    #[test]
    fn homes_are_those_of_the_lines_that_are_whole() {
        let text = b"# root:x:0:0::/c:\nroot:x:0:0:root:/root:/bin/sh\nroot\nx:x\nme:x:1:\nme:x::1::/no:\nme:x:1x:1::/no:\n\
                     \xff:x:7:7::/h/\xff\nme:x:1000:1000::/home/me:\nme:x:1:1::/later:\nat:x:2:2:::\nend:x:3:3::/end";
        let home = |user| home_in(text, user);
        for (name, number, expected) in [
            (&b"root"[..], 0, Some(&b"/root"[..])),
            (b"\xff", 7, Some(b"/h/\xff")),
            (b"me", 1000, Some(b"/home/me")),
            (b"at", 2, Some(b"")),
            (b"end", 3, Some(b"/end")),
            (b"nobody", 9, None),
        ] {
            let expected = expected.map(BString::from);
            assert_eq!(home(User::Name(name)), expected, "{number}");
            assert_eq!(home(User::Number(number)), expected, "{number}");
        }
    }
}
