//! Configuration from the command line: as in git, `-c` and `--config-env` are passed on in the variable
//! `GIT_CONFIG_PARAMETERS`, where the reader of the configuration looks.

use bstr::{BStr, BString, ByteSlice};
use vigil_git::environment::Environment;

use crate::reply::{Reply, bytes};

const VARIABLE: &str = "GIT_CONFIG_PARAMETERS";

/// Adds `name=value`, or `name` alone, which is a boolean that is true.
pub(crate) fn add(environment: &mut Environment, text: &BStr) {
    match text.split_once_str("=") {
        Some((name, value)) => add_pair(environment, name.as_bstr(), Some(value.as_bstr())),
        None => add_pair(environment, text, None),
    }
}

/// Adds `name=variable`, with the value of that environment variable.
///
/// # Errors
/// There is no `=` or no variable name, or the variable is not set.
pub(crate) fn add_from_variable(environment: &mut Environment, text: &BStr) -> Result<(), Reply> {
    let Some((name, variable)) = text.rsplit_once_str("=") else {
        return Err(Reply::fatal(bytes!["invalid config format: ", text]));
    };
    if variable.is_empty() {
        return Err(Reply::fatal(bytes![
            "missing environment variable name for configuration '",
            name,
            "'"
        ]));
    }
    let value: Option<BString> = variable
        .to_str()
        .ok()
        .and_then(|variable| environment.get(variable))
        .map(ToOwned::to_owned);
    let Some(value) = value else {
        return Err(Reply::fatal(bytes![
            "missing environment variable '",
            variable,
            "' for configuration '",
            name,
            "'"
        ]));
    };
    add_pair(environment, name.as_bstr(), Some(value.as_bstr()));
    Ok(())
}

/// Adds the setting `name`. Without a value it is a boolean that is true.
pub(crate) fn add_pair(environment: &mut Environment, name: &BStr, value: Option<&BStr>) {
    let mut parameters = match environment.get(VARIABLE) {
        Some(earlier) if !earlier.is_empty() => bytes![earlier, " "],
        _ => Vec::new(),
    };
    append_shell_quoted(&mut parameters, name);
    parameters.push(b'=');
    if let Some(value) = value {
        append_shell_quoted(&mut parameters, value);
    }
    environment.set(VARIABLE, parameters);
}

/// Appends `text` in single quotes. A quote or an exclamation mark is put outside of them, after a backslash.
fn append_shell_quoted(out: &mut Vec<u8>, text: &BStr) {
    out.push(b'\'');
    for &byte in text.iter() {
        match byte {
            b'\'' | b'!' => out.extend([b'\'', b'\\', byte, b'\'']),
            _ => out.push(byte),
        }
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_quoted_and_joined() {
        let mut environment = Environment::default();
        add(&mut environment, "a.b=c=d".into());
        add(&mut environment, "x.y".into());
        add(&mut environment, "q.r=it's!".into());
        add(&mut environment, "e.f=".into());
        assert_eq!(
            environment.get(VARIABLE).unwrap(),
            r"'a.b'='c=d' 'x.y'= 'q.r'='it'\''s'\!'' 'e.f'=''"
        );
    }

    #[test]
    fn a_value_comes_from_a_variable() {
        let mut environment = Environment::new([("V".into(), "w=1".into())], "/");
        add_from_variable(&mut environment, "a.b=c.d=V".into()).unwrap();
        assert_eq!(environment.get(VARIABLE).unwrap(), "'a.b=c.d'='w=1'");
        for (text, complaint) in [
            ("a.b", "fatal: invalid config format: a.b\n"),
            (
                "a.b=",
                "fatal: missing environment variable name for configuration 'a.b'\n",
            ),
            (
                "a.b=W",
                "fatal: missing environment variable 'W' for configuration 'a.b'\n",
            ),
        ] {
            let reply = add_from_variable(&mut environment, text.into()).unwrap_err();
            assert_eq!(reply, Reply::complained(complaint, 128));
        }
    }
}
