//! Passwords in the URLs of remotes (`transfer.credentialsInUrl` in git-config(1)).

use bstr::{BStr, BString, ByteSlice};

/// What must not stand for itself in a URL, beside bytes that are not printable ASCII (RFC 3986, section 2).
const UNSAFE: &[u8] = b" <>\"%{}|\\^`";

/// What has a meaning in a URL, so that its escaped form means something else (RFC 3986, section 2.2).
const RESERVED: &[u8] = b":/?#[]@!$&'()*+,;=";

/// What a host may consist of, beside letters and digits: also a numeric address in brackets.
const OF_HOSTS: &[u8] = b".-_[:]";

/// Returns `url` as git normalizes it, with a placeholder instead of the password. `None` if it contains no password, or is not a
/// URL by git's rules.
pub(super) fn redacted(url: &BStr) -> Option<BString> {
    let (scheme, rest) = url.split_once_str("://")?;
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+.-".contains(byte);
    if !scheme.first()?.is_ascii_alphabetic() || !scheme.iter().all(is_of_scheme) {
        return None;
    }
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = rest.split_at_checked(end_of_part(rest))?;
    let (user, host) = authority.split_once_str("@")?;
    let user = normalized(user)?;
    let (user, _password) = user.split_once_str(":")?;
    let host = normalized_host(&scheme, host)?;
    let path = normalized_path(path)?;
    let parts = [
        scheme.as_slice(),
        b"://",
        user,
        b":<redacted>@",
        &host,
        &path,
    ];
    Some(parts.concat().into())
}

/// The length of the part of a URL that ends before the next slash, query or fragment.
fn end_of_part(rest: &[u8]) -> usize {
    rest.find_byteset(b"/?#").unwrap_or(rest.len())
}

/// Escapes what must be escaped in `text`, and nothing else. `None` if an escape is not a number.
fn normalized(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let (mut byte, mut was_escaped) = (*byte, false);
        if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            byte = parse_byte(digits)?;
            rest = after;
            was_escaped = true;
        }
        let is_printable = matches!(byte, b' '..=b'~');
        if !is_printable || UNSAFE.contains(&byte) || was_escaped && RESERVED.contains(&byte) {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            out.push(byte);
        }
    }
    Some(out)
}

fn parse_byte(digits: &[u8]) -> Option<u8> {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u8::from_str_radix(digits.to_str().ok()?, 16).ok()
}

/// Returns a host and its port in lower case, without a port that is the scheme's own. `None` if either is invalid, or there is no
/// host: only files need none.
fn normalized_host(scheme: &[u8], host: &[u8]) -> Option<Vec<u8>> {
    let at = host.rfind_byteset(b":]");
    let at = at.filter(|at| host.get(*at) == Some(&b':'));
    let (name, port) = host.split_at_checked(at.unwrap_or(host.len()))?;
    let port = port.strip_prefix(b":").unwrap_or(port);
    let is_missing = host.is_empty() || host.starts_with(b":");
    if is_missing && (scheme != b"file" || !port.is_empty()) {
        return None;
    }
    let is_of_host = |byte: &u8| byte.is_ascii_alphanumeric() || OF_HOSTS.contains(byte);
    if !name.iter().all(is_of_host) {
        return None;
    }
    let mut out = name.to_ascii_lowercase();
    let is_usual = matches!(
        (scheme, significant(port)),
        (b"http", b"80") | (b"https", b"443")
    );
    if !port.is_empty() && !is_usual {
        let digits = significant(port);
        let number: u16 = digits.to_str().ok()?.parse().ok()?;
        if number == 0 || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        out.push(b':');
        out.extend_from_slice(digits);
    }
    Some(out)
}

/// The digits of a number without the zeros before it.
fn significant(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

/// Returns a path without components that stand for others (RFC 3986, section 5.2.4), and with what follows it. `None` if it leads
/// above the top.
fn normalized_path(text: &[u8]) -> Option<Vec<u8>> {
    let mut path = b"/".to_vec();
    let mut rest = text.strip_prefix(b"/").unwrap_or(text);
    loop {
        let (component, after) = rest.split_at_checked(end_of_part(rest))?;
        // Here the path ends with a slash.
        let mut is_open = false;
        match normalized(component)?.as_slice() {
            b"." if path == b"/" => is_open = true,
            b"." => {
                path.pop();
            }
            b".." => {
                path.pop();
                path.truncate(path.rfind_byte(b'/')?.max(1));
                is_open = path == b"/";
            }
            component => path.extend_from_slice(component),
        }
        rest = after;
        let Some(after) = rest.strip_prefix(b"/") else {
            break;
        };
        rest = after;
        if !is_open {
            path.push(b'/');
        }
    }
    path.extend(normalized(rest)?);
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_with_passwords_are_normalized() {
        for (url, shown) in [
            ("https://u:p@h", "https://u:<redacted>@h/"),
            ("https://u:@h/", "https://u:<redacted>@h/"),
            ("HTTPS://U:p@H:0443", "https://U:<redacted>@h/"),
            ("http://u:p@h:0443", "http://u:<redacted>@h:443/"),
            ("x://u%3a%41:p@h?%41%2f", "x://u%3AA:<redacted>@h/?A%2F"),
            ("x://:p@h/a/./b/../c", "x://:<redacted>@h/a/c"),
            ("x://u:p@[::1]:9/a/..", "x://u:<redacted>@[::1]:9/"),
            ("x://u:p@h/a/b/..", "x://u:<redacted>@h/a"),
            ("x://u:p@h/./a/..//", "x://u:<redacted>@h//"),
            ("file://u:p@:/x", "file://u:<redacted>@/x"),
        ] {
            assert_eq!(redacted(url.into()).unwrap(), shown, "{url}");
        }
    }

    #[test]
    fn others_are_left_alone() {
        for url in [
            "https://h",
            "https://u@h",
            "https://h/u:p@x",
            "1://u:p@h",
            "u:p@h:x",
            "x://u:p@",
            "x://u:p@:9",
            "file://u:p@:9",
            "x://u:p@h:0",
            "x://u:p@h:65536",
            "x://u:p@h:+1",
            "x://u:p@h/..",
            "x://u:p@h/%",
            "x://u:%zz@h",
            "x://u:p@h h",
        ] {
            assert_eq!(redacted(url.into()), None, "{url}");
        }
    }
}
