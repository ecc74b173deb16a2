//! What the text of a value means: booleans, numbers and paths (git-config(1), "Values").

use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice};

use crate::environment::Environment;
use crate::git::repository::paths::{bytes_of, path_of};

/// Why a text is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadNumber {
    /// There is something that is neither digit nor unit.
    InvalidUnit,
    /// It does not fit.
    OutOfRange,
}

impl BadNumber {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::InvalidUnit => "invalid unit",
            Self::OutOfRange => "out of range",
        }
    }
}

/// The words for true and false; a key without `=` is true, an empty value false.
pub(super) fn boolean_word(value: Option<&BStr>) -> Option<bool> {
    let Some(value) = value else {
        return Some(true);
    };
    let is_any = |words: &[&str]| {
        words
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
    };
    if is_any(&["true", "yes", "on"]) {
        Some(true)
    } else if value.is_empty() || is_any(&["false", "no", "off"]) {
        Some(false)
    } else {
        None
    }
}

/// A boolean: a word or a number.
pub(crate) fn boolean(value: Option<&BStr>) -> Option<bool> {
    boolean_word(value).or_else(|| {
        number(value, i64::from(i32::MAX))
            .ok()
            .map(|number| number != 0)
    })
}

/// A number between `-max - 1` and `max`, as C reads one (`0x` and `0` prefixes, leading space, sign), with a unit.
pub(crate) fn number(value: Option<&BStr>, max: i64) -> Result<i64, BadNumber> {
    let value = value.ok_or(BadNumber::InvalidUnit)?;
    let text = value.trim_start_with(|c| matches!(c, ' ' | '\t'..='\r'));
    let (is_negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let (radix, text) = match text {
        [b'0', b'x' | b'X', rest @ ..] if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, rest)
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let digits = text
        .iter()
        .take_while(|byte| char::from(**byte).is_digit(radix))
        .count();
    let (digits, unit) = text.split_at_checked(digits).unwrap_or_default();
    if digits.is_empty() {
        return Err(BadNumber::InvalidUnit);
    }
    let magnitude = digits.iter().try_fold(0_i128, |sum, byte| {
        let digit = char::from(*byte).to_digit(radix).unwrap_or_default();
        let sum = sum * i128::from(radix) + i128::from(digit);
        (sum <= 1 << 63).then_some(sum)
    });
    let magnitude = magnitude.ok_or(BadNumber::OutOfRange)?;
    if magnitude == 1 << 63 && !is_negative {
        return Err(BadNumber::OutOfRange);
    }
    let factor: i128 = match unit {
        [] => 1,
        [b'k' | b'K'] => 1 << 10,
        [b'm' | b'M'] => 1 << 20,
        [b'g' | b'G'] => 1 << 30,
        _ => return Err(BadNumber::InvalidUnit),
    };
    let number = if is_negative { -magnitude } else { magnitude } * factor;
    if (-i128::from(max) - 1..=i128::from(max)).contains(&number) {
        i64::try_from(number).map_err(|_| BadNumber::OutOfRange)
    } else {
        Err(BadNumber::OutOfRange)
    }
}

/// Where git is installed, as far as `%(prefix)/` is concerned; fits the choice of `/etc/gitconfig`.
const INSTALLATION: &str = "/usr/";

/// Expands `~/`, `~user/` and `%(prefix)/`; `None` where there is no such home.
///
/// `home` is `$HOME`, by its real path if `real_home` is given.
pub(super) fn interpolate(home: Option<&BStr>, path: &BStr, real_home: bool) -> Option<BString> {
    if let Some(rest) = path.strip_prefix(b"%(prefix)/") {
        return Some([INSTALLATION.as_bytes(), rest].concat().into());
    }
    let Some(rest) = path.strip_prefix(b"~") else {
        return Some(path.to_owned());
    };
    let (user, rest) = rest.split_at_checked(rest.find_byte(b'/').unwrap_or(rest.len()))?;
    let mut expanded = if !user.is_empty() {
        home_of(user.as_bstr())?
    } else if real_home {
        let home = path_of(home?);
        let real = std::fs::canonicalize(home).unwrap_or_else(|_| PathBuf::from(home));
        bytes_of(&real).to_owned()
    } else {
        home?.to_owned()
    };
    expanded.extend_from_slice(rest);
    Some(expanded)
}

/// A user's home by the local accounts; those of a directory service are not asked for.
fn home_of(user: &BStr) -> Option<BString> {
    let accounts = std::fs::read("/etc/passwd").ok()?;
    accounts.lines().find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        (fields.next() == Some(user.as_bytes()))
            .then(|| fields.nth(4).map(BString::from))
            .flatten()
    })
}

/// `$XDG_CONFIG_HOME/git/NAME`, or `~/.config/git/NAME`.
pub(crate) fn xdg_config(environment: &Environment, name: &str) -> Option<BString> {
    let folder = match environment.get("XDG_CONFIG_HOME") {
        Some(folder) if !folder.is_empty() => folder.to_owned(),
        _ => [environment.get("HOME")?.as_bytes(), b"/.config"]
            .concat()
            .into(),
    };
    Some(
        [folder.as_bytes(), b"/git/", name.as_bytes()]
            .concat()
            .into(),
    )
}

/// A boolean environment variable, `default` where it is not set.
///
/// # Errors
/// Another value: the text is git's, without "fatal: ".
pub fn environment_boolean(
    environment: &Environment,
    name: &str,
    default: bool,
) -> Result<bool, super::Error> {
    let Some(value) = environment.get(name) else {
        return Ok(default);
    };
    boolean(Some(value)).ok_or_else(|| {
        super::Error::Bad(format!(
            "bad boolean environment value '{value}' for '{name}'"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_c_prefixes_and_units() {
        let read = |text: &str| number(Some(text.into()), i64::MAX);
        assert_eq!(read("10"), Ok(10));
        assert_eq!(read(" -0x10"), Ok(-16));
        assert_eq!(read("010k"), Ok(8192));
        assert_eq!(read("1M"), Ok(1 << 20));
        assert_eq!(read("+2g"), Ok(2 << 30));
        assert_eq!(read("-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(read("9223372036854775808"), Err(BadNumber::OutOfRange));
        assert_eq!(read("9999999999999g"), Err(BadNumber::OutOfRange));
        for bad in ["", "k", "1kb", "1 k", "0x", "08", "-", "x"] {
            assert_eq!(read(bad), Err(BadNumber::InvalidUnit), "{bad:?}");
        }
        assert_eq!(
            number(Some("3g".into()), i64::from(i32::MAX)),
            Err(BadNumber::OutOfRange)
        );
        assert_eq!(number(None, i64::MAX), Err(BadNumber::InvalidUnit));
    }

    #[test]
    fn booleans_are_words_or_numbers() {
        for text in [
            "true", "YES", "on", "1", "-1", "2", "0x10", "1k", "010", " 7",
        ] {
            assert_eq!(boolean(Some(text.into())), Some(true), "{text:?}");
        }
        for text in ["", "False", "no", "off", "OFF", "0", "00", "0k"] {
            assert_eq!(boolean(Some(text.into())), Some(false), "{text:?}");
        }
        for text in ["maybe", "normal", "1x", "k", "9g", "1 ", "--1", "08", "0x"] {
            assert_eq!(boolean(Some(text.into())), None, "{text:?}");
        }
        assert_eq!(boolean(None), Some(true));
        assert_eq!(boolean_word(Some("1".into())), None);
    }

    #[test]
    fn homes_are_expanded() {
        let home = Some(BStr::new("/home/me"));
        let expand =
            |text: &str| interpolate(home, text.into(), false).map(|path| path.to_string());
        assert_eq!(expand("~/x").as_deref(), Some("/home/me/x"));
        assert_eq!(expand("~").as_deref(), Some("/home/me"));
        assert_eq!(expand("~root/x").as_deref(), Some("/root/x"));
        assert_eq!(expand("~no.such.user/x"), None);
        assert_eq!(expand("%(prefix)/etc").as_deref(), Some("/usr/etc"));
        assert_eq!(expand("a/~").as_deref(), Some("a/~"));
        assert_eq!(interpolate(None, "~/x".into(), false), None);
    }
}
