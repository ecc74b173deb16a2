//! The options before the command (git(1), "OPTIONS"). Their values are written into the environment's `GIT_*` variables,
//! where git's own code would look for them.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use bstr::{BStr, BString, ByteSlice, ByteVec};
use vigil_git::environment::Environment;
use vigil_linux::errno;

use crate::command::Options;
use crate::config_env;
use crate::options::{Argument, OptionEntry, OptionTable, Value};
use crate::reply::{Reply, bytes, labelled};

/// What an option does.
#[derive(Clone, Copy)]
enum Key {
    /// The option is a command.
    Command,
    /// Sets a variable to a fixed value.
    Switch(&'static str, &'static str),
    /// Sets a variable to the value given with it.
    Setting(&'static str),
    Paginate(bool),
    Bare,
    ConfigParameter,
    ConfigFromVariable,
    Directory,
}

const fn long(key: Key, long: &'static str, help: &'static str) -> OptionEntry<Key> {
    OptionEntry {
        negatable: false,
        ..OptionEntry::flag(key, long, help)
    }
}

const fn switch(
    name: &'static str,
    variable: &'static str,
    value: &'static str,
    help: &'static str,
) -> OptionEntry<Key> {
    long(Key::Switch(variable, value), name, help)
}

const fn short(letter: u8, entry: OptionEntry<Key>) -> OptionEntry<Key> {
    OptionEntry {
        short: Some(letter),
        ..entry
    }
}

const fn valued(argument: Argument, value: Value, entry: OptionEntry<Key>) -> OptionEntry<Key> {
    OptionEntry {
        argument,
        value,
        ..entry
    }
}

/// The options as they are described.
pub(crate) const OPTIONS: &dyn Options = &TABLE;

const TABLE: OptionTable<Key> = OptionTable {
    synopsis: "\
vigil [-v | --version] [-h | --help] [-C <path>] [-c <name>=<value>]
             [--exec-path=<path>] [-p | --paginate | -P | --no-pager]
             [--no-replace-objects] [--no-lazy-fetch] [--no-optional-locks]
             [--no-advice] [--bare] [--git-dir=<path>] [--work-tree=<path>]
             [--namespace=<name>] [--config-env=<name>=<envvar>]
             [--attr-source=<tree-ish>] <command> [<args>]",
    headings: &[],
    entries: &[
        short(b'v', long(Key::Command, "version", "show the version")),
        short(b'h', long(Key::Command, "help", "list the commands")),
        short(
            b'C',
            valued(
                Argument::Required("path"),
                Value::Folder,
                long(Key::Directory, "", "run as if started in <path>"),
            ),
        ),
        short(
            b'c',
            valued(
                Argument::Required("name>=<value"),
                Value::Any,
                long(
                    Key::ConfigParameter,
                    "",
                    "set a configuration variable for this run",
                ),
            ),
        ),
        valued(
            Argument::Required("name>=<envvar"),
            Value::Any,
            long(
                Key::ConfigFromVariable,
                "config-env",
                "set a configuration variable to the value of an environment variable",
            ),
        ),
        valued(
            Argument::Attached("path"),
            Value::Folder,
            long(
                Key::Setting("GIT_EXEC_PATH"),
                "exec-path",
                "where the programs of git are",
            ),
        ),
        short(
            b'p',
            long(
                Key::Paginate(true),
                "paginate",
                "show the output with a pager",
            ),
        ),
        short(
            b'P',
            long(Key::Paginate(false), "no-pager", "start no pager"),
        ),
        valued(
            Argument::Required("path"),
            Value::Folder,
            long(
                Key::Setting("GIT_DIR"),
                "git-dir",
                "the folder of the repository",
            ),
        ),
        valued(
            Argument::Required("path"),
            Value::Folder,
            long(
                Key::Setting("GIT_WORK_TREE"),
                "work-tree",
                "the top of the working tree",
            ),
        ),
        valued(
            Argument::Required("name"),
            Value::Any,
            long(
                Key::Setting("GIT_NAMESPACE"),
                "namespace",
                "the namespace of references",
            ),
        ),
        long(
            Key::Bare,
            "bare",
            "take the repository for one without a working tree",
        ),
        valued(
            Argument::Required("tree-ish"),
            Value::Revision,
            long(
                Key::Setting("GIT_ATTR_SOURCE"),
                "attr-source",
                "read attributes from <tree-ish>",
            ),
        ),
        switch(
            "no-replace-objects",
            "GIT_NO_REPLACE_OBJECTS",
            "1",
            "do not replace objects",
        ),
        switch(
            "no-lazy-fetch",
            "GIT_NO_LAZY_FETCH",
            "1",
            "do not fetch missing objects",
        ),
        switch(
            "no-optional-locks",
            "GIT_OPTIONAL_LOCKS",
            "0",
            "have git take no locks that it can do without",
        ),
        switch("no-advice", "GIT_ADVICE", "0", "print no advice"),
        switch(
            "literal-pathspecs",
            "GIT_LITERAL_PATHSPECS",
            "1",
            "take pathspecs for plain paths",
        ),
        switch(
            "no-literal-pathspecs",
            "GIT_LITERAL_PATHSPECS",
            "0",
            "the opposite of --literal-pathspecs",
        ),
        switch(
            "glob-pathspecs",
            "GIT_GLOB_PATHSPECS",
            "1",
            "take pathspecs for glob patterns",
        ),
        switch(
            "noglob-pathspecs",
            "GIT_NOGLOB_PATHSPECS",
            "1",
            "take no pathspec for a glob pattern",
        ),
        switch(
            "icase-pathspecs",
            "GIT_ICASE_PATHSPECS",
            "1",
            "match pathspecs without regard to case",
        ),
    ],
};

/// The line `usage: ...` that follows the error about a wrong command line.
pub(crate) fn usage_line() -> String {
    format!("usage: {}\n", TABLE.synopsis)
}

/// Finds the option called `name`, which includes its dashes.
fn find(name: &[u8]) -> Option<&'static OptionEntry<Key>> {
    TABLE.entries.iter().find(|entry| match name {
        [b'-', b'-', long @ ..] => !long.is_empty() && entry.long.as_bytes() == long,
        [b'-', letter] => entry.short == Some(*letter),
        _ => false,
    })
}

/// Parses the options before the command from the front of `arguments` and writes them into `environment`. Returns the rest,
/// which is the command and its arguments, and whether a pager is asked for, if an option says so. `-C` changes the process's
/// working directory.
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
        if !option.starts_with(b"-") {
            break;
        }
        match find(option).map(|entry| entry.key) {
            Some(Key::Command) => break,
            Some(Key::Paginate(is_wanted)) => {
                paging = Some(is_wanted);
                rest = tail;
            }
            _ => rest = take_one(option.as_bstr(), tail, environment)?,
        }
    }
    Ok((rest, paging))
}

/// Applies `option`. Its value may be the first word of `tail`. Returns what remains of `tail`.
fn take_one<'a>(
    option: &BStr,
    tail: &'a [BString],
    environment: &mut Environment,
) -> Result<&'a [BString], Reply> {
    let unknown = || refused(&bytes!["unknown option: ", option]);
    let (name, joined) = match option.split_once_str("=") {
        Some((name, value)) if name.starts_with(b"--") => (name, Some(value.as_bstr())),
        _ => (option.as_bytes(), None),
    };
    let entry = find(name).ok_or_else(unknown)?;
    let (value, tail) = match (entry.argument, joined) {
        (Argument::None, None) => (BStr::new(""), tail),
        (Argument::Optional(_) | Argument::Attached(_) | Argument::Required(_), Some(value)) => {
            (value, tail)
        }
        (Argument::Required(_), None) => {
            let next = tail.split_first();
            let (value, tail) = next.ok_or_else(|| refused(missing(entry.key).as_bytes()))?;
            (value.as_bstr(), tail)
        }
        (Argument::None, Some(_)) | (Argument::Optional(_) | Argument::Attached(_), None) => {
            return Err(unknown());
        }
    };
    match entry.key {
        Key::Command | Key::Paginate(_) => return Err(unknown()),
        Key::Switch(variable, fixed) => environment.set(variable, fixed),
        Key::Setting(variable) => environment.set(variable, value),
        Key::Bare => {
            if environment.get("GIT_DIR").is_none() {
                let directory = current_directory(environment)?.into_os_string().into_vec();
                environment.set("GIT_DIR", directory);
            }
            environment.set("GIT_IMPLICIT_WORK_TREE", "0");
            environment.set_bare();
        }
        Key::ConfigParameter => environment.push_config_parameter(value),
        Key::ConfigFromVariable => config_env::add(environment, value)?,
        Key::Directory if value.is_empty() => {}
        Key::Directory => change_directory(value, environment)?,
    }
    Ok(tail)
}

/// The message for an option whose value is missing.
fn missing(key: Key) -> &'static str {
    match key {
        Key::Setting("GIT_DIR") => "no directory given for '--git-dir' option",
        Key::Setting("GIT_WORK_TREE") => "no directory given for '--work-tree' option",
        Key::Setting("GIT_NAMESPACE") => "no namespace given for --namespace",
        Key::Setting(_) => "no attribute source given for --attr-source",
        Key::ConfigParameter => "-c expects a configuration string",
        Key::ConfigFromVariable => "no config key given for --config-env",
        _ => "no directory given for '-C' option",
    }
}

fn refused(complaint: &[u8]) -> Reply {
    let stderr = bytes![labelled("", complaint), usage_line()];
    Reply::complained(stderr, Reply::USAGE)
}

/// Changes the process's working directory itself, so that programs it starts run there too and the system resolves
/// symbolic links.
fn change_directory(directory: &BStr, environment: &mut Environment) -> Result<(), Reply> {
    std::env::set_current_dir(OsStr::from_bytes(directory)).map_err(|error| {
        let reason = errno::text_of(&error);
        Reply::fatal(bytes!["cannot change to '", directory, "': ", reason])
    })?;
    *environment = environment.in_directory(working_directory()?);
    Ok(())
}

/// `environment` with the working directory's present name, if that is another one; `None` also if the directory is gone.
pub(crate) fn after_move(environment: &Environment) -> Option<Environment> {
    let directory = working_directory().ok()?;
    (directory != environment.working_directory()).then(|| environment.in_directory(directory))
}

/// Whether the process's working directory has no name any more.
pub(crate) fn is_directory_gone() -> bool {
    working_directory().is_err()
}

/// The directory a command runs in.
///
/// # Errors
/// The reply that ends the run, if the directory is gone or unreadable.
pub(crate) fn current_directory(environment: &Environment) -> Result<PathBuf, Reply> {
    let directory = environment.working_directory();
    if directory.as_os_str().is_empty() {
        return working_directory();
    }
    Ok(directory.to_owned())
}

/// The process's working directory, absolute and without symbolic links.
///
/// # Errors
/// The reply that ends the run, if the directory is gone or unreadable.
fn working_directory() -> Result<PathBuf, Reply> {
    std::env::current_dir().map_err(|error| {
        let reason = errno::text_of(&error);
        Reply::fatal(format!(
            "Unable to read current working directory: {reason}"
        ))
    })
}

/// The process's environment and working directory as one value. The directory is empty if it is gone: only commands that
/// use it need care.
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
