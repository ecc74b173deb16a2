//! The environment variables on which an answer can depend. Clients whose values agree may be answered from the same session.

use bstr::{BStr, BString, ByteSlice};
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
const TERMINAL: [&str; 4] = ["COLUMNS", "GIT_PAGER", "PAGER", "TERM"];

/// Variables that affect no answer, though they match [`BEGINNINGS`]. Editors set some of them in their terminals, users in their
/// profiles, and build servers tell by others what they build.
const OF_OTHER_COMMANDS: [&str; 18] = [
    "GIT_ASKPASS",
    "GIT_BRANCH",
    "GIT_CHECKOUT_DIR",
    "GIT_COMMIT",
    "GIT_CURL_VERBOSE",
    "GIT_EDITOR",
    "GIT_LOCAL_BRANCH",
    "GIT_MERGE_AUTOEDIT",
    "GIT_MERGE_VERBOSITY",
    "GIT_PREVIOUS_COMMIT",
    "GIT_PREVIOUS_SUCCESSFUL_COMMIT",
    "GIT_REFLOG_ACTION",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_TERMINAL_PROMPT",
    "GIT_URL",
];

/// The beginnings of more such variables: who commits, how to connect, how a prompt looks, and what is traced.
const OF_OTHERS: [&str; 10] = [
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_COMPLETION_",
    "GIT_HTTP_",
    "GIT_PROMPT_",
    "GIT_PROXY_",
    "GIT_PS1_",
    "GIT_SSL_",
    "GIT_TRACE",
    "VIGIL_PROMPT_",
];

/// Variables that name a file or directory, which git allows to be relative to the client's directory.
const PATHS: [&str; 12] = [
    "GIT_COMMON_DIR",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
    "HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
];

/// Variables that may hold something relative to the client's directory, however they begin. What configuration in variables names
/// is relative to the top of the working tree, and filters run there.
const RELATIVE: [&str; 6] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_DIR",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_PREFIX",
    "GIT_REFERENCE_BACKEND",
];

fn is_relevant(name: &BStr) -> bool {
    let is_among = |names: &[&str]| names.iter().any(|known| name == *known);
    let begins = |beginnings: &[&str]| {
        let mut beginnings = beginnings.iter();
        beginnings.any(|beginning| name.starts_with(beginning.as_bytes()))
    };
    let is_of_others =
        is_among(&OF_OTHER_COMMANDS) || begins(&OF_OTHERS) || is_about_terminal(name);
    (is_among(&NAMED) || begins(&BEGINNINGS)) && !is_of_others
}

/// The beginning of the names of Mercurial's variables. No session is bound to them: its configuration is read for each question.
const OF_MERCURIAL: &[u8] = b"HG";

/// The name by which the client's shell reached its directory. By that, too, git may include configuration. No session is bound
/// to it: where it matters, the client answers itself.
pub(crate) const DIRECTORY: &str = "PWD";

/// Whether the variable `name` is sent, if it is set.
pub fn is_sent(name: &BStr) -> bool {
    is_relevant(name)
        || is_about_terminal(name)
        || name.starts_with(OF_MERCURIAL)
        || name == DIRECTORY
}

fn is_about_terminal(name: &BStr) -> bool {
    TERMINAL.iter().any(|known| name == *known)
}

/// The variables of `environment` to send: those that count, those about the terminal, Mercurial's, and `PWD`.
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
    let is_known = MONITORED.iter().any(|known| name == *known);
    is_known || name.starts_with(b"GIT_CONFIG") || name == DIRECTORY
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

/// The variables among `relevant` by which sessions are told apart. `PATH` and `TMPDIR` are not among them: they only serve to
/// find and run iconv(1), whose output does not depend on the client, and each project and each shell may have its own.
pub(crate) fn for_session_key(relevant: &[(BString, BString)]) -> Vec<(BString, BString)> {
    let others = relevant
        .iter()
        .filter(|(name, _)| name != "PATH" && name != "TMPDIR");
    others.cloned().collect()
}

/// Whether the meaning of `relevant` may depend on the client's directory: git accepts relative paths.
pub(crate) fn depend_on_directory(relevant: &[(BString, BString)]) -> bool {
    relevant.iter().any(|(name, value)| {
        let is_among = |names: &[&str]| names.iter().any(|known| name == known);
        is_among(&RELATIVE) || is_among(&PATHS) && !value.starts_with(b"/")
    })
}

/// The beginnings of paths that lead each process to files of its own: its descriptors, its entry in proc(5).
const OF_EACH_PROCESS: [&str; 3] = ["/dev/fd", "/dev/std", "/proc/"];

/// Whether `text`, such as the value of a variable, may hold a path that means another file to this process than to the client.
pub fn may_name_own_files(text: &[u8]) -> bool {
    let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    OF_EACH_PROCESS.iter().any(|beginning| {
        let mut found = text.find_iter(beginning);
        // A user's folder may be called `dev`.
        found.any(|at| {
            !text
                .get(..at)
                .and_then(<[u8]>::last)
                .is_some_and(is_in_name)
        })
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
            "COLUMNS", "GIT_DIR", "HGRCPATH", "HOME", "LC_ALL", "PWD", "TERM", "VIGIL_X",
        ];
        assert_eq!(names(&sent), all);
        let turned: Vec<_> = sent.iter().rev().cloned().collect();
        assert_eq!(
            relevant(&turned),
            relevant(&sent),
            "a client may send them in any order"
        );
        let relevant = relevant(&sent);
        assert_eq!(names(&relevant), ["GIT_DIR", "HOME", "LC_ALL", "VIGIL_X"]);
        assert!(depend_on_directory(&relevant));
        assert!(!depend_on_directory(&relevant[1..]));
    }

    #[test]
    fn another_path_finds_the_same_memory() {
        let relevant = |path, folder| {
            let variables = [
                ("HOME", "/h"),
                ("PATH", path),
                ("TMPDIR", folder),
                ("TZ", "UTC"),
            ];
            relevant(&to_send(&environment(&variables)))
        };
        let (one, two) = (
            relevant("/bin", "/tmp"),
            relevant("/venv/bin:/bin", "/tmp/a"),
        );
        assert_ne!(one, two);
        assert_eq!(for_session_key(&one), for_session_key(&two));
        assert_eq!(for_session_key(&one).len(), 2);
    }

    #[test]
    fn what_affects_no_answer_gives_no_shell_a_session_of_its_own() {
        let relevant = |variables: &[(&str, &str)]| relevant(&to_send(&environment(variables)));
        let others = relevant(&[
            ("GIT_ASKPASS", "/editor/askpass.sh"),
            ("GIT_BRANCH", "origin/main"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@b"),
            ("GIT_EDITOR", "editor --wait"),
            ("GIT_PAGER", "less"),
            ("GIT_PS1_SHOWDIRTYSTATE", "1"),
            ("GIT_SSH_COMMAND", "ssh -v"),
            ("GIT_SSL_CAINFO", "certificates"),
            ("HOME", "/h"),
        ]);
        assert_eq!(others, relevant(&[("HOME", "/h")]));
        for (name, value, expected) in [
            ("GIT_OPTIONAL_LOCKS", "0", false),
            ("GIT_CONFIG_NOSYSTEM", "1", false),
            ("GIT_CONFIG_GLOBAL", "/etc/gitconfig", false),
            ("GIT_CONFIG_GLOBAL", "gitconfig", true),
            ("GIT_CEILING_DIRECTORIES", "/home", false),
            ("GIT_EXEC_PATH", "/usr/lib/git-core", false),
            ("GIT_LFS_SKIP_SMUDGE", "1", false),
            ("GIT_DIR", "/repository", true),
            ("GIT_WORK_TREE", "/top", false),
            ("GIT_WORK_TREE", "..", true),
            ("GIT_INDEX_FILE", "/index", false),
            ("GIT_INDEX_FILE", "index", true),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "/a:b", true),
            ("GIT_ATTR_SOURCE", "HEAD:./here", true),
            ("GIT_CONFIG_COUNT", "1", false),
            ("GIT_CONFIG_VALUE_0", "x", false),
            ("GIT_TOKEN", "x", false),
            ("HOME", "h", true),
        ] {
            let relevant = relevant(&[(name, value)]);
            assert_eq!(relevant.len(), 1);
            assert_eq!(depend_on_directory(&relevant), expected, "{name}={value}");
        }
    }

    #[test]
    fn paths_that_mean_other_files_to_each_process_are_known() {
        for (value, expected) in [
            ("/dev/fd/3", true),
            ("//proc/self/cwd", true),
            ("../../dev/stdin", true),
            ("'core.excludesfile'='/dev/fd/63'", true),
            ("/nothing:/proc/thread-self/fd/0", true),
            ("/dev/null", false),
            ("/home/a/dev/stdlib/.git", false),
            ("/home/a/proc/.git", false),
            ("/procession", false),
            ("", false),
        ] {
            assert_eq!(may_name_own_files(value.as_bytes()), expected, "{value}");
        }
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
