//! Configuration from the command line: `GIT_CONFIG_PARAMETERS`, which `git -c` writes, and `GIT_CONFIG_COUNT`.

use bstr::{BStr, BString, ByteSlice};

use super::parse::is_key_byte;
use crate::environment::Environment;
use vigil_model::raw_text::raw;
use vigil_model::white_space::{self, is_space};

/// A key in its canonical form, and its value if there is an `=`.
type Pair = (BString, Option<BString>);

/// Reads all parameters in git's order. The error is the whole line that git writes to stderr before it gives up.
pub(crate) fn read(environment: &Environment) -> Result<Vec<Pair>, String> {
    let mut pairs = Vec::new();
    if let Some(count) = environment.get("GIT_CONFIG_COUNT") {
        read_counted(environment, count, &mut pairs)?;
    }
    if let Some(list) = environment.get("GIT_CONFIG_PARAMETERS") {
        read_quoted(list, &mut pairs)?;
    }
    Ok(pairs)
}

fn read_counted(
    environment: &Environment,
    count: &BStr,
    pairs: &mut Vec<Pair>,
) -> Result<(), String> {
    let text = count.trim_start();
    let (is_negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    if !digits.iter().all(u8::is_ascii_digit) || (digits.is_empty() && !count.is_empty()) {
        return Err("error: bogus count in GIT_CONFIG_COUNT".into());
    }
    let count = digits
        .iter()
        .try_fold(0_i32, |sum, digit| {
            sum.checked_mul(10)?.checked_add(i32::from(*digit - b'0'))
        })
        .filter(|count| !is_negative || *count == 0)
        .ok_or("error: too many entries in GIT_CONFIG_COUNT")?;
    for number in 0..count {
        let get = |what: &str| {
            let name = format!("GIT_CONFIG_{}_{number}", what.to_uppercase());
            environment
                .get(&name)
                .ok_or_else(|| format!("error: missing config {what} {name}"))
        };
        let key = get("key")?;
        let value = get("value")?;
        pairs.push((canonical_key(key)?, Some(value.to_owned())));
    }
    Ok(())
}

/// Reads the quoted form. git 2.30 and before write `'key=value'`; later versions write `'key'='value'`, or
/// `'key'=` for a key alone.
fn read_quoted(list: &BStr, pairs: &mut Vec<Pair>) -> Result<(), String> {
    const BOGUS: &str = "error: bogus format in GIT_CONFIG_PARAMETERS";
    let mut rest: &[u8] = list;
    while !rest.is_empty() {
        let (word, after) = unquote(rest).ok_or(BOGUS)?;
        rest = after;
        match rest.split_first() {
            None => pairs.push(unsplit(&word)?),
            Some((byte, _)) if is_space(*byte) => pairs.push(unsplit(&word)?),
            Some((b'=', after)) => {
                let value = match after.first() {
                    Some(b'\'') => {
                        let (value, after) = unquote(after).ok_or(BOGUS)?;
                        rest = after;
                        Some(value)
                    }
                    _ => {
                        rest = after;
                        None
                    }
                };
                if rest.first().is_some_and(|byte| !is_space(*byte)) {
                    return Err(BOGUS.into());
                }
                pairs.push((canonical_key(word.as_bstr())?, value));
            }
            Some(_) => return Err(BOGUS.into()),
        }
        rest = white_space::trim_start(rest);
    }
    Ok(())
}

fn unsplit(word: &BString) -> Result<Pair, String> {
    let (key, value) = match word.split_once_str("=") {
        Some((key, value)) => (key.as_bstr(), Some(value.into())),
        None => (word.as_bstr(), None),
    };
    if key.is_empty() {
        return Err(format!(
            "error: bogus config parameter: {word}",
            word = raw(&word)
        ));
    }
    Ok((canonical_key(key)?, value))
}

/// Takes one word in single quotes, in which `'\''` and `'\!'` stand for a quote and an exclamation mark.
fn unquote(text: &[u8]) -> Option<(BString, &[u8])> {
    let mut rest = text.strip_prefix(b"'")?;
    let mut word = BString::default();
    loop {
        let (part, after) = rest.split_once_str("'")?;
        word.extend_from_slice(part);
        match after {
            [b'\\', escaped @ (b'\'' | b'!'), b'\'', after @ ..] => {
                word.push(*escaped);
                rest = after;
            }
            _ => return Some((word, after)),
        }
    }
}

/// Checks a key, and converts its section and name to lower case.
pub(super) fn canonical_key(key: &BStr) -> Result<BString, String> {
    if key.is_empty() {
        return Err("error: empty config key".into());
    }
    let stem = match key.rfind_byte(b'.') {
        None | Some(0) => {
            return Err(format!(
                "error: key does not contain a section: {key}",
                key = raw(key)
            ));
        }
        Some(at) if at + 1 == key.len() => {
            return Err(format!(
                "error: key does not contain variable name: {key}",
                key = raw(key)
            ));
        }
        Some(at) => at,
    };
    let mut canonical = BString::from(Vec::with_capacity(key.len()));
    let mut in_subsection = false;
    for (at, byte) in key.iter().enumerate() {
        in_subsection |= *byte == b'.';
        if !in_subsection || at > stem {
            if !is_key_byte(*byte) || (at == stem + 1 && !byte.is_ascii_alphabetic()) {
                return Err(format!("error: invalid key: {key}", key = raw(key)));
            }
            canonical.push(byte.to_ascii_lowercase());
        } else {
            if *byte == b'\n' {
                return Err(format!(
                    "error: invalid key (newline): {key}",
                    key = raw(key)
                ));
            }
            canonical.push(*byte);
        }
    }
    Ok(canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(list: &str) -> Result<Vec<(String, Option<String>)>, String> {
        let environment = Environment::new([("GIT_CONFIG_PARAMETERS".into(), list.into())], "/");
        Ok(read(&environment)?
            .into_iter()
            .map(|(key, value)| (key.to_string(), value.map(|value| value.to_string())))
            .collect())
    }

    #[test]
    fn both_quoting_forms_are_read() {
        assert_eq!(
            quoted(r"'A.b'='it'\''s' 'a.c'=  'a.D=x=y' 'a.e' 'f.G.h'=''\!''"),
            Ok(vec![
                ("a.b".into(), Some("it's".into())),
                ("a.c".into(), None),
                ("a.d".into(), Some("x=y".into())),
                ("a.e".into(), None),
                ("f.G.h".into(), Some("!".into())),
            ])
        );
    }

    #[test]
    fn what_git_cannot_read_is_refused() {
        for (list, expected) in [
            ("a.b=c", "bogus format in GIT_CONFIG_PARAMETERS"),
            ("'a.b'='c", "bogus format in GIT_CONFIG_PARAMETERS"),
            ("'a.b'=c", "bogus format in GIT_CONFIG_PARAMETERS"),
            ("'a.b'x", "bogus format in GIT_CONFIG_PARAMETERS"),
            ("'=x'", "bogus config parameter: =x"),
            ("''='x'", "empty config key"),
            ("'a'='x'", "key does not contain a section: a"),
            ("'a.'='x'", "key does not contain variable name: a."),
            ("'a.1'='x'", "invalid key: a.1"),
            ("'a.b\n.c'='x'", "invalid key (newline): a.b\n.c"),
        ] {
            assert_eq!(quoted(list), Err(format!("error: {expected}")), "{list}");
        }
    }

    #[test]
    fn what_is_pushed_is_read_back() {
        let mut environment = Environment::default();
        environment.push_config_parameter(BStr::new("a.b=it's! 'x'"));
        environment.push_config_parameter(BStr::new("a.c"));
        assert_eq!(
            environment.get("GIT_CONFIG_PARAMETERS").unwrap(),
            r"'a.b'='it'\''s'\!' '\''x'\''' 'a.c'="
        );
        assert_eq!(
            read(&environment).unwrap(),
            [
                ("a.b".into(), Some("it's! 'x'".into())),
                ("a.c".into(), None)
            ]
        );
    }

    #[test]
    fn counted_pairs_come_first() {
        let variables = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "A.B"),
            ("GIT_CONFIG_VALUE_0", "x"),
            ("GIT_CONFIG_PARAMETERS", "'a.b'='y'"),
        ];
        let mut environment = Environment::new(
            variables.map(|(name, value)| (name.into(), value.into())),
            "/",
        );
        assert_eq!(
            read(&environment).unwrap(),
            [
                ("a.b".into(), Some("x".into())),
                ("a.b".into(), Some("y".into()))
            ]
        );
        for (count, expected) in [
            ("2", "missing config key GIT_CONFIG_KEY_1"),
            ("1x", "bogus count in GIT_CONFIG_COUNT"),
            ("99999999999", "too many entries in GIT_CONFIG_COUNT"),
        ] {
            environment.set("GIT_CONFIG_COUNT", count);
            assert_eq!(read(&environment), Err(format!("error: {expected}")));
        }
    }
}
