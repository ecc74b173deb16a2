//! The environment variables on which an answer can depend. Clients whose values agree may be answered from the same session.

use bstr::{BStr, BString};
use vigil_git::environment::Environment;
use vigil_model::config_value;

/// Variables that count, by name.
const NAMED: [&str; 11] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SUDO_UID",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
];

/// Variables that count, by the beginning of their names.
const BEGINNINGS: [&str; 3] = ["GIT_", "LC_", "VIGIL_"];

/// Variables about the terminal in which an answer is shown, not about what it contains.
const TERMINAL: [&str; 3] = ["COLUMNS", "PAGER", "TERM"];

/// Variables that name a directory, which git allows to be relative to the client's directory.
const DIRECTORIES: [&str; 3] = ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"];

/// The beginning of variables that only affect how a prompt looks, though they match [`BEGINNINGS`].
const PROMPT_ONLY: &str = "VIGIL_PROMPT_";

fn is_relevant(name: &BStr) -> bool {
    if name.starts_with(PROMPT_ONLY.as_bytes()) {
        return false;
    }
    NAMED.iter().any(|known| name == *known)
        || BEGINNINGS
            .iter()
            .any(|beginning| name.starts_with(beginning.as_bytes()))
}

/// The beginning of the names of Mercurial's variables. No session is bound to them: its configuration is read for each question.
const OF_MERCURIAL: &[u8] = b"HG";

/// Whether the variable `name` is sent, if it is set.
pub fn is_sent(name: &BStr) -> bool {
    is_relevant(name) || is_about_terminal(name) || name.starts_with(OF_MERCURIAL)
}

fn is_about_terminal(name: &BStr) -> bool {
    TERMINAL.iter().any(|known| name == *known)
}

/// The variables of `environment` to send: those that count, those about the terminal, and Mercurial's.
pub fn to_send(environment: &Environment) -> Vec<(BString, BString)> {
    let variables = environment.variables();
    variables
        .filter(|(name, _)| is_sent(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The subset of the relevant variables by which git, and so a monitor, finds the repository and what is ignored in it. Any
/// others would only give each shell a session of its own.
const MONITORED: [&str; 10] = [
    "GIT_ATTR_NOSYSTEM",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_WORK_TREE",
    "HOME",
    "SUDO_UID",
    "XDG_CONFIG_HOME",
];

/// The variables of `environment` that count for a file system monitor.
pub fn to_monitor(environment: &Environment) -> Vec<(BString, BString)> {
    let variables = environment.variables();
    variables
        .filter(|(name, _)| is_monitored(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn is_monitored(name: &BStr) -> bool {
    name.starts_with(b"GIT_CONFIG") || MONITORED.iter().any(|known| name == *known)
}

/// The variables among `variables` that count, sorted by name.
pub(crate) fn relevant(variables: &[(BString, BString)]) -> Vec<(BString, BString)> {
    let relevant = variables
        .iter()
        .filter(|(name, _)| is_relevant(name.as_ref()));
    let mut relevant: Vec<_> = relevant.cloned().collect();
    relevant.sort();
    relevant
}

/// The variables among `relevant` by which sessions are told apart. `PATH` is not among them: it only serves to find iconv(1),
/// whose output does not depend on the client, and each project and each shell may have a `PATH` of its own.
pub(crate) fn for_session_key(relevant: &[(BString, BString)]) -> Vec<(BString, BString)> {
    let others = relevant.iter().filter(|(name, _)| name != "PATH");
    others.cloned().collect()
}

/// Whether the meaning of `relevant` may depend on the client's directory: git accepts relative paths.
pub(crate) fn depend_on_directory(relevant: &[(BString, BString)]) -> bool {
    relevant.iter().any(|(name, value)| {
        let is_relative = DIRECTORIES.iter().any(|known| name == known) && !value.starts_with(b"/");
        name.starts_with(b"GIT_") || is_relative
    })
}

/// Whether the user wants no daemon (`VIGIL_NO_DAEMON`).
pub fn is_off(environment: &Environment) -> bool {
    environment
        .get("VIGIL_NO_DAEMON")
        .is_some_and(|value| config_value::boolean(Some(value)) != Some(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables
            .iter()
            .map(|&(name, value)| (name.into(), value.into()));
        Environment::new(variables, "/")
    }

    #[test]
    fn what_counts_is_sent_and_where_it_is_shown() {
        let environment = environment(&[
            ("COLUMNS", "80"),
            ("GIT_DIR", "x"),
            ("HGRCPATH", "y"),
            ("HOME", "/h"),
            ("LC_ALL", "C"),
            ("PWD", "/w"),
            ("SHLVL", "2"),
            ("TERM", "xterm"),
            ("TMUX", "y"),
            ("VIGIL_X", "z"),
        ]);
        let sent = to_send(&environment);
        let names = |list: &[(BString, BString)]| -> Vec<String> {
            list.iter().map(|(name, _)| name.to_string()).collect()
        };
        let all = [
            "COLUMNS", "GIT_DIR", "HGRCPATH", "HOME", "LC_ALL", "TERM", "VIGIL_X",
        ];
        assert_eq!(names(&sent), all);
        let relevant = relevant(&sent);
        assert_eq!(names(&relevant), ["GIT_DIR", "HOME", "LC_ALL", "VIGIL_X"]);
        assert!(depend_on_directory(&relevant));
        assert!(!depend_on_directory(&relevant[1..]));
    }

    #[test]
    fn another_path_finds_the_same_memory() {
        let relevant = |path| {
            let environment = environment(&[("HOME", "/h"), ("PATH", path), ("TZ", "UTC")]);
            relevant(&to_send(&environment))
        };
        let (one, two) = (relevant("/bin"), relevant("/venv/bin:/bin"));
        assert_ne!(one, two);
        assert_eq!(for_session_key(&one), for_session_key(&two));
        assert_eq!(for_session_key(&one).len(), 2);
    }

    #[test]
    fn any_word_but_a_no_turns_it_off() {
        for (value, off) in [
            ("1", true),
            ("x", true),
            ("0", false),
            ("false", false),
            ("", false),
        ] {
            assert_eq!(
                is_off(&environment(&[("VIGIL_NO_DAEMON", value)])),
                off,
                "{value}"
            );
        }
        assert!(!is_off(&environment(&[])));
    }
}
