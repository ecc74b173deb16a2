//! The options before the command (git(1), "OPTIONS"). What they say is written into the environment's `GIT_*`
//! variables, where git's own parts would look for it.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice, ByteVec};
use vigil_git::environment::Environment;
use vigil_linux::errno;

use crate::config_parameter;
use crate::help;
use crate::reply::{Reply, bytes, labelled};

/// Options that set a variable to a fixed value.
const SWITCHES: &[(&str, &str, &str)] = &[
    ("--no-lazy-fetch", "GIT_NO_LAZY_FETCH", "1"),
    ("--no-replace-objects", "GIT_NO_REPLACE_OBJECTS", "1"),
    ("--literal-pathspecs", "GIT_LITERAL_PATHSPECS", "1"),
    ("--no-literal-pathspecs", "GIT_LITERAL_PATHSPECS", "0"),
    ("--glob-pathspecs", "GIT_GLOB_PATHSPECS", "1"),
    ("--noglob-pathspecs", "GIT_NOGLOB_PATHSPECS", "1"),
    ("--icase-pathspecs", "GIT_ICASE_PATHSPECS", "1"),
    ("--no-optional-locks", "GIT_OPTIONAL_LOCKS", "0"),
    ("--no-advice", "GIT_ADVICE", "0"),
];

/// An option that sets a variable to the value given with it, joined by `=` or as the next argument.
struct Setting {
    name: &'static str,
    variable: &'static str,
    complaint: &'static str,
}

const SETTINGS: &[Setting] = &[
    Setting {
        name: "--git-dir",
        variable: "GIT_DIR",
        complaint: "no directory given for '--git-dir' option",
    },
    Setting {
        name: "--work-tree",
        variable: "GIT_WORK_TREE",
        complaint: "no directory given for '--work-tree' option",
    },
    Setting {
        name: "--namespace",
        variable: "GIT_NAMESPACE",
        complaint: "no namespace given for --namespace",
    },
    Setting {
        name: "--attr-source",
        variable: "GIT_ATTR_SOURCE",
        complaint: "no attribute source given for --attr-source",
    },
];

/// Takes the options before the command from the front of `arguments`, writes them into `environment`, and returns
/// the rest, the command and what belongs to it; and whether a pager is asked for, if anything is said of it. `-C` changes
/// the process's working directory.
///
/// # Errors
/// The reply that ends the run: an unknown option, a missing value, a directory that cannot be entered.
pub(crate) fn take<'a>(
    arguments: &'a [BString],
    environment: &mut Environment,
) -> Result<(&'a [BString], Option<bool>), Reply> {
    let mut rest = arguments;
    let mut paging = None;
    while let Some((option, tail)) = rest.split_first() {
        let is_command = !option.starts_with(b"-")
            || ["--help", "-h", "--version", "-v"].contains(&option.to_str_lossy().as_ref());
        if is_command {
            break;
        }
        match option.as_slice() {
            b"-p" | b"--paginate" => paging = Some(true),
            b"-P" | b"--no-pager" => paging = Some(false),
            _ => {
                rest = take_one(option.as_bstr(), tail, environment)?;
                continue;
            }
        }
        rest = tail;
    }
    Ok((rest, paging))
}

/// Takes `option`, and its value from the front of `tail` if it stands there; returns what is left.
fn take_one<'a>(
    option: &BStr,
    tail: &'a [BString],
    environment: &mut Environment,
) -> Result<&'a [BString], Reply> {
    let next = |complaint: &str| match tail.split_first() {
        Some((value, tail)) => Ok((value.as_bstr(), tail)),
        None => Err(refused(complaint.as_bytes())),
    };
    if let Some((_, variable, value)) = SWITCHES.iter().find(|(name, ..)| option == name) {
        environment.set(variable, *value);
        return Ok(tail);
    }
    for setting in SETTINGS {
        match option.strip_prefix(setting.name.as_bytes()) {
            Some(b"") => {
                let (value, tail) = next(setting.complaint)?;
                environment.set(setting.variable, value);
                return Ok(tail);
            }
            Some([b'=', value @ ..]) => {
                environment.set(setting.variable, value);
                return Ok(tail);
            }
            _ => {}
        }
    }
    match option.as_bytes() {
        b"--bare" => {
            if environment.get("GIT_DIR").is_none() {
                let directory = standing_in(environment)?.into_os_string().into_vec();
                environment.set("GIT_DIR", directory);
            }
            environment.set("GIT_IMPLICIT_WORK_TREE", "0");
            Ok(tail)
        }
        b"-c" => {
            let (text, tail) = next("-c expects a configuration string")?;
            config_parameter::add(environment, text);
            Ok(tail)
        }
        b"--config-env" => {
            let (text, tail) = next("no config key given for --config-env")?;
            config_parameter::add_from_variable(environment, text)?;
            Ok(tail)
        }
        b"-C" => {
            let (directory, tail) = next("no directory given for '-C' option")?;
            if !directory.is_empty() {
                change_directory(directory, environment)?;
            }
            Ok(tail)
        }
        other => {
            if let Some(text) = other.strip_prefix(b"--config-env=") {
                config_parameter::add_from_variable(environment, text.as_bstr())?;
            } else if let Some(path) = other.strip_prefix(b"--exec-path=") {
                environment.set("GIT_EXEC_PATH", path);
            } else {
                return Err(refused(&bytes!["unknown option: ", other]));
            }
            Ok(tail)
        }
    }
}

fn refused(complaint: &[u8]) -> Reply {
    let stderr = bytes![labelled("", complaint), help::usage_line()];
    Reply::complained(stderr, Reply::USAGE)
}

/// Changes the process's working directory: what it starts must stand there too, and links resolve as the system
/// resolves them.
fn change_directory(directory: &BStr, environment: &mut Environment) -> Result<(), Reply> {
    std::env::set_current_dir(OsStr::from_bytes(directory)).map_err(|error| {
        let reason = errno::text_of(&error);
        Reply::fatal(bytes!["cannot change to '", directory, "': ", reason])
    })?;
    let variables = environment
        .variables()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    *environment = Environment::new(variables, working_directory()?);
    Ok(())
}

/// The directory in which a command stands.
///
/// # Errors
/// If it is gone or unreadable, as the reply that ends the run.
pub(crate) fn standing_in(environment: &Environment) -> Result<PathBuf, Reply> {
    let directory = environment.working_directory();
    if directory.as_os_str().is_empty() {
        return working_directory();
    }
    Ok(directory.to_owned())
}

/// The process's working directory, absolute and without links.
///
/// # Errors
/// If it is gone or unreadable, as the reply that ends the run.
fn working_directory() -> Result<PathBuf, Reply> {
    std::env::current_dir().map_err(|error| {
        let reason = errno::text_of(&error);
        Reply::fatal(format!(
            "Unable to read current working directory: {reason}"
        ))
    })
}

/// The process's environment and working directory, as one value. The directory is empty where it is gone: only a
/// command that stands in it need care.
pub(crate) fn of_process() -> Environment {
    let bytes = |text| BString::from(Vec::from_os_string(text).unwrap_or_default());
    let variables = std::env::vars_os().map(|(name, value)| (bytes(name), bytes(value)));
    Environment::new(variables, working_directory().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(arguments: &[&str]) -> Result<(Vec<String>, Vec<BString>), Reply> {
        let arguments: Vec<BString> = arguments.iter().map(|&text| text.into()).collect();
        let mut environment = Environment::new([], "/here");
        let rest = take(&arguments, &mut environment)?.0.to_vec();
        let variables = environment
            .variables()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        Ok((variables, rest))
    }

    #[test]
    fn options_become_variables() {
        let (variables, rest) = after(&[
            "--git-dir=a",
            "--work-tree",
            "b",
            "--namespace=c",
            "--attr-source=d",
            "--exec-path=e",
            "--no-optional-locks",
            "--glob-pathspecs",
            "-P",
            "-c",
            "x.y=z",
            "status",
            "--bare",
        ])
        .unwrap();
        assert_eq!(rest, ["status", "--bare"]);
        assert_eq!(
            variables,
            [
                "GIT_ATTR_SOURCE=d",
                "GIT_CONFIG_PARAMETERS='x.y'='z'",
                "GIT_DIR=a",
                "GIT_EXEC_PATH=e",
                "GIT_GLOB_PATHSPECS=1",
                "GIT_NAMESPACE=c",
                "GIT_OPTIONAL_LOCKS=0",
                "GIT_WORK_TREE=b",
            ]
        );
    }

    #[test]
    fn bare_is_about_the_working_directory_unless_a_folder_is_given() {
        let (variables, _) = after(&["--bare"]).unwrap();
        assert_eq!(variables, ["GIT_DIR=/here", "GIT_IMPLICIT_WORK_TREE=0"]);
        let (variables, _) = after(&["--git-dir=x", "--bare"]).unwrap();
        assert_eq!(variables, ["GIT_DIR=x", "GIT_IMPLICIT_WORK_TREE=0"]);
    }

    #[test]
    fn help_and_version_are_commands() {
        for word in ["--help", "-h", "--version", "-v"] {
            assert_eq!(after(&["-p", word, "x"]).unwrap().1, [word, "x"]);
        }
    }

    #[test]
    fn a_missing_value_ends_the_run() {
        for (option, complaint) in [
            ("--git-dir", "no directory given for '--git-dir' option"),
            ("-C", "no directory given for '-C' option"),
            ("-c", "-c expects a configuration string"),
            ("--config-env", "no config key given for --config-env"),
            ("--git-dirx", "unknown option: --git-dirx"),
            ("-cx", "unknown option: -cx"),
        ] {
            let reply = after(&[option]).unwrap_err();
            let line = format!("{complaint}\n");
            assert!(reply.stderr.starts_with(line.as_bytes()), "{option}");
            assert_eq!(reply.code, Reply::USAGE);
        }
    }
}
