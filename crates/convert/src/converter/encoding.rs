//! The `working-tree-encoding` attribute: text in another encoding is recorded as UTF-8.

mod program;
mod single_byte;
mod unicode;

use bstr::{BStr, ByteSlice};

use vigil_git::child::ChildEnvironment;
use vigil_rules::messages::{Messages, bytes};

/// Whether two names mean the same encoding: `UTF8` is `utf-8`.
pub(super) fn is_same(a: &[u8], b: &[u8]) -> bool {
    match (utf_suffix(a), utf_suffix(b)) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
        _ => a.eq_ignore_ascii_case(b),
    }
}

/// Converts `contents` from `encoding` to UTF-8. `None` if they are to be used unconverted; if something is wrong
/// with them, `messages` says what.
pub(super) fn to_utf8(
    child_environment: &ChildEnvironment,
    path: &BStr,
    encoding: &BStr,
    contents: &[u8],
    messages: &Messages,
) -> Option<Vec<u8>> {
    if contents.is_empty() {
        return None;
    }
    if let Some(suffix) = utf_suffix(encoding)
        && let Some(fault) = BomFault::of(encoding, contents)
    {
        fault.report(path, encoding, suffix.as_bstr(), messages);
        return None;
    }
    let utf8 = BStr::new("UTF-8");
    convert(child_environment, path, encoding, utf8, contents, messages)
}

/// Converts `contents` from UTF-8 to `encoding`. `None` as for [`to_utf8`].
pub(super) fn from_utf8(
    child_environment: &ChildEnvironment,
    path: &BStr,
    encoding: &BStr,
    contents: &[u8],
    messages: &Messages,
) -> Option<Vec<u8>> {
    if contents.is_empty() {
        return None;
    }
    let utf8 = BStr::new("UTF-8");
    convert(child_environment, path, utf8, encoding, contents, messages)
}

fn convert(
    child_environment: &ChildEnvironment,
    path: &BStr,
    from: &BStr,
    to: &BStr,
    contents: &[u8],
    messages: &Messages,
) -> Option<Vec<u8>> {
    let converted = recode(child_environment, from, to, contents);
    if converted.is_none() {
        messages.error(bytes!(
            "failed to encode '",
            path,
            "' from ",
            from,
            " to ",
            to
        ));
    }
    converted
}

/// What follows `UTF` or `UTF-` in the name of an encoding.
fn utf_suffix(encoding: &[u8]) -> Option<&[u8]> {
    let (utf, rest) = encoding.split_at_checked(3)?;
    utf.eq_ignore_ascii_case(b"utf")
        .then(|| rest.strip_prefix(b"-").unwrap_or(rest))
}

enum BomFault {
    Prohibited,
    Missing,
}

impl BomFault {
    fn of(encoding: &[u8], contents: &[u8]) -> Option<Self> {
        let named = |names: &[&str]| names.iter().any(|name| is_same(encoding, name.as_bytes()));
        let has_16 = contents.starts_with(b"\xfe\xff") || contents.starts_with(b"\xff\xfe");
        let has_32 = contents.starts_with(b"\0\0\xfe\xff") || contents.starts_with(b"\xff\xfe\0\0");
        if (named(&["UTF-16BE", "UTF-16LE"]) && has_16)
            || (named(&["UTF-32BE", "UTF-32LE"]) && has_32)
        {
            Some(Self::Prohibited)
        } else if (named(&["UTF-16"]) && !has_16) || (named(&["UTF-32"]) && !has_32) {
            Some(Self::Missing)
        } else {
            None
        }
    }

    fn report(self, path: &BStr, encoding: &BStr, suffix: &BStr, messages: &Messages) {
        match self {
            Self::Prohibited => {
                let width = suffix
                    .get(..suffix.len().saturating_sub(2))
                    .unwrap_or_default();
                messages.hint(bytes!(
                    "The file '",
                    path,
                    "' contains a byte order mark (BOM). Please use UTF-",
                    width,
                    " as working-tree-encoding."
                ));
                messages.error(bytes!(
                    "BOM is prohibited in '",
                    path,
                    "' if encoded as ",
                    encoding
                ));
            }
            Self::Missing => {
                messages.hint(bytes!(
                    "The file '",
                    path,
                    "' is missing a byte order mark (BOM). Please use UTF-",
                    suffix,
                    "BE or UTF-",
                    suffix,
                    "LE (depending on the byte order) as working-tree-encoding."
                ));
                messages.error(bytes!(
                    "BOM is required in '",
                    path,
                    "' if encoded as ",
                    encoding
                ));
            }
        }
    }
}

fn recode(
    child_environment: &ChildEnvironment,
    from: &BStr,
    to: &BStr,
    contents: &[u8],
) -> Option<Vec<u8>> {
    // git's own names for UTF-16 with a byte order mark: read as plain UTF-16, written after a mark.
    let from = match is_same(from, b"UTF-16LE-BOM") {
        true => BStr::new("UTF-16"),
        false => from,
    };
    let (mark, to): (&[u8], _) = if is_same(to, b"UTF-16LE-BOM") {
        (b"\xff\xfe", BStr::new("UTF-16LE"))
    } else if is_same(to, b"UTF-16BE-BOM") {
        (b"\xfe\xff", BStr::new("UTF-16BE"))
    } else {
        (b"", to)
    };
    let converted = if is_same(from, b"UTF-8")
        && let Some(encoding) = unicode::Encoding::named(to)
    {
        encoding.encode(contents)?
    } else if is_same(to, b"UTF-8")
        && let Some(encoding) = unicode::Encoding::named(from)
    {
        encoding.decode(contents)?.into_bytes()
    } else if is_same(from, b"UTF-8")
        && let Some(encoding) = single_byte::Encoding::named(known_name(to))
    {
        encoding.encode(contents)?
    } else if is_same(to, b"UTF-8")
        && let Some(encoding) = single_byte::Encoding::named(known_name(from))
    {
        encoding.decode(contents)?.into_bytes()
    } else {
        program::convert(
            child_environment,
            known_name(from),
            known_name(to),
            contents,
        )?
    };
    Some(match mark.is_empty() {
        true => converted,
        false => [mark, &converted].concat(),
    })
}

/// Returns a name that more libraries know, and that git falls back to.
fn known_name(encoding: &BStr) -> &BStr {
    match encoding.eq_ignore_ascii_case(b"latin-1") {
        true => BStr::new("ISO-8859-1"),
        false => encoding,
    }
}
