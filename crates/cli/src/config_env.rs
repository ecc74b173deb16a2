//! `--config-env`, as git has it: a setting whose value is that of an environment variable.

use bstr::{BStr, ByteSlice};
use vigil_git::environment::Environment;

use crate::reply::{Reply, bytes};

/// Adds `name=variable`, with the value of that environment variable, to the configuration of the command line.
///
/// # Errors
/// There is no `=` or no variable name, or the variable is not set.
pub(crate) fn add(environment: &mut Environment, text: &BStr) -> Result<(), Reply> {
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
    let value = variable.to_str().ok();
    let value = value.and_then(|variable| environment.get(variable));
    let Some(value) = value.map(ToOwned::to_owned) else {
        return Err(Reply::fatal(bytes![
            "missing environment variable '",
            variable,
            "' for configuration '",
            name,
            "'"
        ]));
    };
    environment.push_config_pair(name, Some(&value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_from_a_variable() {
        let mut environment = Environment::new([("V".into(), "w=1".into())], "/");
        add(&mut environment, "a.b=c.d=V".into()).unwrap();
        assert_eq!(
            environment.get("GIT_CONFIG_PARAMETERS").unwrap(),
            "'a.b=c.d'='w=1'"
        );
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
            let reply = add(&mut environment, text.into()).unwrap_err();
            assert_eq!(reply, Reply::complained(complaint, 128));
        }
    }
}
