//! Filters, such as `upper` in `{path|upper}`.

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::abort::Abort;
use vigil_hg::bytes::trim;
use vigil_model::path::name_start;

use crate::hg::json::{self, Letters};
use crate::reply::bytes;

/// A filter of Mercurial's templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    AddBreaks,
    BaseName,
    DirName,
    Escape,
    FirstLine,
    Json,
    Lower,
    NonEmpty,
    Stringify,
    Short,
    Strip,
    StripDir,
    Upper,
    UrlEscape,
    Utf8,
    XmlEscape,
}

const NAMES: [(&str, Filter); 16] = [
    ("addbreaks", Filter::AddBreaks),
    ("basename", Filter::BaseName),
    ("dirname", Filter::DirName),
    ("escape", Filter::Escape),
    ("firstline", Filter::FirstLine),
    ("json", Filter::Json),
    ("lower", Filter::Lower),
    ("nonempty", Filter::NonEmpty),
    ("short", Filter::Short),
    ("stringify", Filter::Stringify),
    ("strip", Filter::Strip),
    ("stripdir", Filter::StripDir),
    ("upper", Filter::Upper),
    ("urlescape", Filter::UrlEscape),
    ("utf8", Filter::Utf8),
    ("xmlescape", Filter::XmlEscape),
];

/// The number of digits that `short` keeps of a node.
const SHORT_LEN: usize = 12;

impl Filter {
    pub(super) fn of_name(name: &[u8]) -> Option<Self> {
        let known = NAMES.iter().find(|(known, _)| known.as_bytes() == name);
        known.map(|(_, filter)| *filter)
    }

    /// Returns whether the result depends on the encoding of the text.
    pub(super) fn depends_on_encoding(self) -> bool {
        matches!(self, Self::Lower | Self::Upper | Self::Utf8)
    }

    /// Applies the filter to `text`.
    ///
    /// # Errors
    /// The filter needs UTF-8, and `text` is not.
    pub(super) fn apply(self, text: &BStr) -> Result<BString, Abort> {
        Ok(match self {
            Self::Stringify => text.to_owned(),
            Self::AddBreaks => text.replace("\n", "<br/>\n").into(),
            Self::BaseName => split_path(text).1.into(),
            Self::DirName => split_path(text).0.into(),
            Self::StripDir => match split_path(text) {
                (b"", name) => name.into(),
                (directory, _) => directory.into(),
            },
            Self::Escape => escaped(&text.replace("\0", ""), |byte| {
                Some(match byte {
                    b'&' => "&amp;",
                    b'<' => "&lt;",
                    b'>' => "&gt;",
                    b'"' => "&quot;",
                    _ => return None,
                })
            }),
            Self::XmlEscape => escaped(text, |byte| {
                Some(match byte {
                    b'&' => "&amp;",
                    b'<' => "&lt;",
                    b'>' => "&gt;",
                    b'"' => "&quot;",
                    b'\'' => "&#39;",
                    0..=0x08 | 0x0b | 0x0c | 0x0e..=0x1f => " ",
                    _ => return None,
                })
            }),
            Self::FirstLine => {
                let end = text.find_byteset(b"\r\n").unwrap_or(text.len());
                text.get(..end).unwrap_or_default().into()
            }
            Self::Lower => recased(
                text,
                |text| text.to_lowercase(),
                |text| text.to_ascii_lowercase(),
            ),
            Self::Upper => recased(
                text,
                |text| text.to_uppercase(),
                |text| text.to_ascii_uppercase(),
            ),
            Self::NonEmpty if text.is_empty() => "(none)".into(),
            Self::NonEmpty => text.to_owned(),
            Self::Short => text.get(..SHORT_LEN).unwrap_or(text).into(),
            Self::Strip => trim(text).into(),
            Self::UrlEscape => {
                let mut out = Vec::new();
                for byte in text.iter() {
                    match byte {
                        b'a'..=b'z'
                        | b'A'..=b'Z'
                        | b'0'..=b'9'
                        | b'_'
                        | b'.'
                        | b'-'
                        | b'~'
                        | b'/' => {
                            out.push(*byte);
                        }
                        other => out.extend_from_slice(format!("%{other:02X}").as_bytes()),
                    }
                }
                out.into()
            }
            Self::Utf8 => utf8(text)?.into(),
            Self::Json => json::string(text, Letters::Escaped).into(),
        })
    }
}

fn utf8(text: &BStr) -> Result<&str, Abort> {
    let refused = || Abort::unsupported(bytes!("'", text, "', which is no UTF-8, in a template"));
    text.to_str().map_err(|_| refused())
}

/// Splits a path into directory and name, like Python's `posixpath.split`.
fn split_path(path: &[u8]) -> (&[u8], &[u8]) {
    let (directory, name) = path
        .split_at_checked(name_start(path))
        .unwrap_or((path, b""));
    let trimmed = directory.trim_end_with(|letter| letter == '/');
    match trimmed.is_empty() {
        true => (directory, name),
        false => (trimmed, name),
    }
}

fn escaped(text: &[u8], escape: impl Fn(u8) -> Option<&'static str>) -> BString {
    let mut out = BString::default();
    for byte in text {
        match escape(*byte) {
            Some(escape) => out.extend_from_slice(escape.as_bytes()),
            None => out.push(*byte),
        }
    }
    out
}

fn recased(
    text: &BStr,
    letters: impl Fn(&str) -> String,
    bytes: impl Fn(&[u8]) -> Vec<u8>,
) -> BString {
    match text.to_str() {
        Ok(text) => letters(text).into(),
        Err(_) => bytes(text).into(),
    }
}
