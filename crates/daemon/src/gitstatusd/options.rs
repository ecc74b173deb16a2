//! The command line: gitstatusd's options, parsed as `getopt_long(3)` parses them.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use bstr::{BString, ByteSlice};
use vigil_engine::prompt::PromptRequest;
use vigil_linux::process::{cores, matches_glob};
use vigil_model::raw_text::{raw, text_bytes};

use super::log::Level;
use super::version::VERSION;

/// The options of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `-l`: a descriptor whose lock is held while the shell lives.
    pub lock_fd: Option<i32>,
    /// `-p`: a process that is alive while the shell is.
    pub parent_pid: Option<i32>,
    /// `-t`: the most threads of a scan, if given.
    pub threads: Option<usize>,
    /// `-v`: the lowest level that is logged.
    pub log_level: Level,
    /// `-r`: seconds after which an idle repository is dropped; `None` for never.
    pub repo_ttl_s: Option<u64>,
    /// `-z`: the length to which commit summaries are cut, in bytes.
    pub summary_len_max: usize,
    /// `-s`: the most staged changes to count.
    pub staged_max: usize,
    /// `-u`: the most unstaged changes to count.
    pub unstaged_max: usize,
    /// `-c`: the most conflicts to count.
    pub conflicted_max: usize,
    /// `-d`: the most untracked paths to count.
    pub untracked_max: usize,
    /// `-m`: the largest index, in entries, for which the working tree is scanned.
    pub index_size_max: usize,
    /// `-e`: count each file in an untracked directory.
    pub recurse_untracked_dirs: bool,
    /// `-U`: ignore `status.showUntrackedFiles`.
    pub ignore_status_show_untracked_files: bool,
    /// `-W`: ignore `bash.showUntrackedFiles`.
    pub ignore_bash_show_untracked_files: bool,
    /// `-D`: ignore `bash.showDirtyState`.
    pub ignore_bash_show_dirty_state: bool,
    /// `--background`: start a process that serves, print its pid, and exit.
    pub is_background: bool,
    /// `--attached`: be that process.
    pub is_attached: bool,
    /// `--prompt-for`: the shell for which a prompt is added to each response.
    pub prompt_for: Option<BString>,
    /// `--ask`: answer one request about this place, and exit.
    pub ask: Option<BString>,
    /// `--here`: the shell's directory, as it says itself. The default is this process's working directory.
    pub here: Option<BString>,
    /// `--skip-index`: leave out everything that needs the index in that answer.
    pub skip_index: bool,
    /// `--within-ms`: the most time for that answer.
    pub within: Option<Duration>,
    /// `--leave-for`: instead of printing that answer, have a background process leave it for this recipient.
    pub leave_for: Option<Recipient>,
    /// `--hold-for`: prevent signals to this recipient, and exit.
    pub hold_for: Option<Recipient>,
    /// `--take-for`: print what was left for this recipient, and exit. From then on it may be sent signals again.
    pub take_for: Option<Recipient>,
}

/// The recipient of an answer that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The pid of the shell.
    pub shell: i32,
    /// The number of its question.
    pub question: u32,
}

impl Recipient {
    /// Parses `PID.NUMBER`.
    fn parse(text: &[u8]) -> Option<Self> {
        let (shell, question) = text.to_str().ok()?.split_once('.')?;
        Some(Self {
            shell: shell.parse().ok().filter(|shell| *shell > 0)?,
            question: question.parse().ok()?,
        })
    }
}

/// The most threads of a scan by default in the plugins: as in gitstatus's, twice the number of cores, and at most 32.
pub(super) fn threads_of_plugins() -> usize {
    cores().saturating_mul(2).min(32)
}

impl Default for Options {
    fn default() -> Self {
        Self {
            lock_fd: None,
            parent_pid: None,
            threads: None,
            log_level: Level::Info,
            repo_ttl_s: Some(3600),
            summary_len_max: 256,
            staged_max: 1,
            unstaged_max: 1,
            conflicted_max: 1,
            untracked_max: 1,
            index_size_max: usize::MAX,
            recurse_untracked_dirs: false,
            ignore_status_show_untracked_files: false,
            ignore_bash_show_untracked_files: false,
            ignore_bash_show_dirty_state: false,
            is_background: false,
            is_attached: false,
            prompt_for: None,
            ask: None,
            here: None,
            skip_index: false,
            within: None,
            leave_for: None,
            hold_for: None,
            take_for: None,
        }
    }
}

impl Options {
    /// What each request asks for.
    pub(super) fn prompt_request(&self) -> PromptRequest {
        // As gitstatusd does, and as its plugins have it do.
        let default = || match self.ask {
            None => 1,
            Some(_) => threads_of_plugins(),
        };
        PromptRequest {
            skip_index: false,
            staged_max: self.staged_max,
            unstaged_max: self.unstaged_max,
            conflicted_max: self.conflicted_max,
            untracked_max: self.untracked_max,
            index_size_max: self.index_size_max,
            each_untracked_file: self.recurse_untracked_dirs,
            ignore_status_show_untracked_files: self.ignore_status_show_untracked_files,
            ignore_bash_show_untracked_files: self.ignore_bash_show_untracked_files,
            ignore_bash_show_dirty_state: self.ignore_bash_show_dirty_state,
            threads_max: Some(self.threads.unwrap_or_else(default)),
        }
    }
}

/// The result of parsing the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Serve, with these options.
    Options(Box<Options>),
    /// Print the help.
    Help,
    /// Print the version.
    Version,
}

/// An error in the command line, in the words of the C library or of gitstatusd.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// An invalid argument.
    #[error("{}", raw(.0))]
    Argument(BString),
    /// Another version is wanted.
    #[error("Version mismatch. Wanted (pattern): \"{}\". Actual: \"{VERSION}\".", raw(.0))]
    Version(BString),
}

impl UsageError {
    /// The exit code, which tells a plugin what happened.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Argument(_) => 10,
            Self::Version(_) => 11,
        }
    }
}

/// An option of the command line.
#[derive(Clone, Copy, Debug)]
pub struct KnownOption {
    /// The letter after a single dash.
    pub letter: u8,
    /// The name after two dashes.
    pub long: &'static str,
    /// The name of its argument, if it takes one.
    pub argument: Option<&'static str>,
    /// Its description, with line breaks as in the text of `--help`.
    pub help: &'static str,
}

const fn option(
    letter: u8,
    long: &'static str,
    argument: Option<&'static str>,
    help: &'static str,
) -> KnownOption {
    KnownOption {
        letter,
        long,
        argument,
        help,
    }
}

const fn own(letter: u8, long: &'static str, argument: Option<&'static str>) -> KnownOption {
    option(letter, long, argument, "")
}

/// gitstatusd's options, in the order in which they are looked up.
pub const KNOWN_OPTIONS: [KnownOption; 18] = [
    option(b'h', "help", None, "print this and exit"),
    option(b'V', "version", None, "print the version and exit"),
    option(
        b'G',
        "version-glob",
        Some("STR"),
        "exit with 11 unless the version matches [*]",
    ),
    option(
        b'l',
        "lock-fd",
        Some("NUM"),
        "exit when this descriptor's lock is gone [-1: never]",
    ),
    option(
        b'p',
        "parent-pid",
        Some("NUM"),
        "exit when this process is gone [-1: never]",
    ),
    option(
        b't',
        "num-threads",
        Some("NUM"),
        "the most threads of a scan [1]",
    ),
    option(
        b'v',
        "log-level",
        Some("STR"),
        "DEBUG, INFO, WARN, ERROR or FATAL [INFO]",
    ),
    option(
        b'r',
        "repo-ttl-seconds",
        Some("NUM"),
        "forget repositories idle for so long [3600; negative: never]",
    ),
    option(
        b'z',
        "max-commit-summary-length",
        Some("NUM"),
        "cut commit summaries to so many bytes [256]",
    ),
    option(
        b's',
        "max-num-staged",
        Some("NUM"),
        "count at most so many staged changes [1; negative: all]",
    ),
    option(
        b'u',
        "max-num-unstaged",
        Some("NUM"),
        "count at most so many unstaged changes [1; negative: all]",
    ),
    option(
        b'c',
        "max-num-conflicted",
        Some("NUM"),
        "count at most so many conflicts [1; negative: all]",
    ),
    option(
        b'd',
        "max-num-untracked",
        Some("NUM"),
        "count at most so many untracked files [1; negative: all]",
    ),
    option(
        b'm',
        "dirty-max-index-size",
        Some("NUM"),
        "with more files than this tracked, count neither unstaged\nnor untracked ones [-1: always count]",
    ),
    option(
        b'e',
        "recurse-untracked-dirs",
        None,
        "count each file in untracked directories",
    ),
    option(
        b'U',
        "ignore-status-show-untracked-files",
        None,
        "count untracked files even if status.showUntrackedFiles is off",
    ),
    option(
        b'W',
        "ignore-bash-show-untracked-files",
        None,
        "count untracked files even if bash.showUntrackedFiles is off",
    ),
    option(
        b'D',
        "ignore-bash-show-dirty-state",
        None,
        "count changes even if bash.showDirtyState is off",
    ),
];

/// Options that gitstatusd does not have. Only their full names are accepted, so that gitstatusd's abbreviations keep their
/// meaning. In place of letters they have bytes that are not ASCII.
const OWN: [KnownOption; 10] = [
    own(BACKGROUND, "background", None),
    own(ATTACHED, "attached", None),
    own(PROMPT_FOR, "prompt-for", Some("VALUE")),
    own(ASK, "ask", Some("VALUE")),
    own(HERE, "here", Some("VALUE")),
    own(SKIP_INDEX, "skip-index", None),
    own(WITHIN_MS, "within-ms", Some("VALUE")),
    own(LEAVE_FOR, "leave-for", Some("VALUE")),
    own(HOLD_FOR, "hold-for", Some("VALUE")),
    own(TAKE_FOR, "take-for", Some("VALUE")),
];

const BACKGROUND: u8 = 0x80;
const ATTACHED: u8 = 0x81;
const PROMPT_FOR: u8 = 0x82;
const ASK: u8 = 0x83;
const SKIP_INDEX: u8 = 0x84;
const WITHIN_MS: u8 = 0x85;
const LEAVE_FOR: u8 = 0x86;
const TAKE_FOR: u8 = 0x87;
const HERE: u8 = 0x88;
const HOLD_FOR: u8 = 0x89;

/// Parses the command line without the program's name. `name` is that name in messages.
pub(super) fn parse(name: &str, arguments: &[OsString]) -> Result<Parsed, UsageError> {
    let mut options = Options::default();
    let mut positional: Option<&[u8]> = None;
    let mut rest = arguments.iter().map(|argument| argument.as_bytes());
    while let Some(argument) = rest.next() {
        let done = match argument {
            b"--" => {
                positional = positional.or_else(|| rest.next());
                break;
            }
            [b'-', b'-', long @ ..] => options.take_long(name, long, &mut rest)?,
            [b'-', letters @ ..] if !letters.is_empty() => {
                options.take_letters(name, letters, &mut rest)?
            }
            _ => {
                positional = positional.or(Some(argument));
                None
            }
        };
        if let Some(done) = done {
            return Ok(done);
        }
    }
    match positional {
        Some(argument) => fail(format!("unexpected positional argument: {}", raw(argument))),
        None => Ok(Parsed::Options(Box::new(options))),
    }
}

/// Returns the option whose name is `key` or, if only one does, starts with it. It was given as `--` and `long`.
fn find_long(name: &str, key: &[u8], long: &[u8]) -> Result<KnownOption, UsageError> {
    if let Some(own) = OWN.iter().find(|own| own.long.as_bytes() == key) {
        return Ok(*own);
    }
    let starts: Vec<&KnownOption> = KNOWN_OPTIONS
        .iter()
        .filter(|known| known.long.as_bytes().starts_with(key))
        .collect();
    let exact = starts.iter().find(|known| known.long.as_bytes() == key);
    match (exact, starts.as_slice()) {
        (Some(known), _) => Ok(**known),
        (None, [known]) => Ok(**known),
        (None, []) => fail(format!("{name}: unrecognized option '--{}'", raw(long))),
        (None, several) => {
            let all: Vec<String> = several
                .iter()
                .map(|known| format!("'--{}'", known.long))
                .collect();
            fail(format!(
                "{name}: option '--{long}' is ambiguous; possibilities: {all}",
                long = raw(long),
                all = all.join(" ")
            ))
        }
    }
}

impl Options {
    /// Applies the option of the argument `--` and `long`; its own argument may be the next of `rest`. `Some` if it decides what
    /// the process does.
    fn take_long<'a>(
        &mut self,
        name: &str,
        long: &'a [u8],
        rest: &mut impl Iterator<Item = &'a [u8]>,
    ) -> Result<Option<Parsed>, UsageError> {
        let (key, value) = match long.split_once_str("=") {
            Some((key, value)) => (key, Some(value)),
            None => (long, None),
        };
        let known = find_long(name, key, long)?;
        let full = known.long;
        let value = match (known.argument.is_some(), value) {
            (false, Some(_)) => {
                return fail(format!(
                    "{name}: option '--{full}' doesn't allow an argument"
                ));
            }
            (true, None) => match rest.next() {
                Some(value) => value,
                None => return fail(format!("{name}: option '--{full}' requires an argument")),
            },
            (_, value) => value.unwrap_or_default(),
        };
        self.set(known.letter, value)
    }

    /// Applies the options of the argument `-` and `letters`; the own argument of the last may be the next of `rest`. `Some` if
    /// one decides what the process does.
    fn take_letters<'a>(
        &mut self,
        name: &str,
        letters: &'a [u8],
        rest: &mut impl Iterator<Item = &'a [u8]>,
    ) -> Result<Option<Parsed>, UsageError> {
        for (at, &letter) in letters.iter().enumerate() {
            let shown = BString::from(vec![letter]);
            let Some(known) = KNOWN_OPTIONS.iter().find(|known| known.letter == letter) else {
                return fail(format!("{name}: invalid option -- '{}'", raw(&shown)));
            };
            let takes = known.argument.is_some();
            let attached = letters.get(at.saturating_add(1)..).unwrap_or_default();
            let value = match (takes, attached.is_empty()) {
                (false, _) => b"".as_slice(),
                (true, false) => attached,
                (true, true) => match rest.next() {
                    Some(value) => value,
                    None => {
                        let shown = raw(&shown);
                        return fail(format!("{name}: option requires an argument -- '{shown}'"));
                    }
                },
            };
            if let Some(done) = self.set(letter, value)? {
                return Ok(Some(done));
            }
            if takes {
                break;
            }
        }
        Ok(None)
    }

    /// Applies one option. `Some` if it decides what the process does.
    fn set(&mut self, letter: u8, value: &[u8]) -> Result<Option<Parsed>, UsageError> {
        match letter {
            b'h' => return Ok(Some(Parsed::Help)),
            b'V' => return Ok(Some(Parsed::Version)),
            b'G' => {
                let version = CString::new(VERSION).unwrap_or_default();
                if !matches_glob(value, &version) {
                    return Err(UsageError::Version(value.into()));
                }
            }
            b'l' => self.lock_fd = Some(int(value)?).filter(|fd| *fd >= 0),
            // 0 would mean this process's own group, which lives as long as the process.
            b'p' => self.parent_pid = Some(int(value)?).filter(|pid| *pid > 0),
            b't' => match long(value)? {
                threads @ 1.. => self.threads = usize::try_from(threads).ok(),
                threads => return fail(format!("invalid number of threads: {threads}")),
            },
            b'v' => match Level::from_name(value) {
                Some(level) => self.log_level = level,
                None => return fail(format!("invalid log level: {}", raw(value))),
            },
            b'r' => self.repo_ttl_s = u64::try_from(long(value)?).ok(),
            b'z' => self.summary_len_max = cap(value)?,
            b's' => self.staged_max = cap(value)?,
            b'u' => self.unstaged_max = cap(value)?,
            b'c' => self.conflicted_max = cap(value)?,
            b'd' => self.untracked_max = cap(value)?,
            b'm' => self.index_size_max = cap(value)?,
            b'e' => self.recurse_untracked_dirs = true,
            b'U' => self.ignore_status_show_untracked_files = true,
            b'W' => self.ignore_bash_show_untracked_files = true,
            b'D' => self.ignore_bash_show_dirty_state = true,
            BACKGROUND => self.is_background = true,
            ATTACHED => self.is_attached = true,
            PROMPT_FOR => self.prompt_for = Some(value.into()),
            ASK => self.ask = Some(value.into()),
            HERE => self.here = Some(value.into()),
            LEAVE_FOR | HOLD_FOR | TAKE_FOR => {
                let Some(recipient) = Recipient::parse(value) else {
                    return fail(format!("no question of a shell: {}", raw(value)));
                };
                match letter {
                    LEAVE_FOR => self.leave_for = Some(recipient),
                    HOLD_FOR => self.hold_for = Some(recipient),
                    _ => self.take_for = Some(recipient),
                }
            }
            SKIP_INDEX => self.skip_index = true,
            WITHIN_MS => {
                self.within = u64::try_from(long(value)?).ok().map(Duration::from_millis);
            }
            _ => {}
        }
        Ok(None)
    }
}

fn fail<T>(message: impl AsRef<str>) -> Result<T, UsageError> {
    Err(UsageError::Argument(text_bytes(message.as_ref())))
}

/// Parses a whole number as `strtol(3)` does: white space, a sign, digits, and nothing after them.
fn long(value: &[u8]) -> Result<i64, UsageError> {
    let text = value.trim_start_with(|c| c.is_ascii_whitespace() || c == '\x0b');
    let digits = text.strip_prefix(b"+").unwrap_or(text);
    let is_plain = digits
        .first()
        .is_some_and(|c| c.is_ascii_digit() || *c == b'-');
    let parsed = digits
        .to_str()
        .ok()
        .filter(|_| is_plain && !text.starts_with(b"+-"))
        .and_then(|text| text.parse().ok());
    match parsed {
        Some(number) => Ok(number),
        None => fail(format!("gitstatusd: not an integer: {}", raw(value))),
    }
}

fn int(value: &[u8]) -> Result<i32, UsageError> {
    match i32::try_from(long(value)?) {
        Ok(number) => Ok(number),
        Err(_) => fail(format!("gitstatusd: integer out of bounds: {}", raw(value))),
    }
}

/// Parses a limit. A negative one means no limit.
fn cap(value: &[u8]) -> Result<usize, UsageError> {
    Ok(usize::try_from(long(value)?).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn take(arguments: &[&str]) -> Result<Parsed, UsageError> {
        let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
        parse("gitstatusd", &arguments)
    }

    fn options(arguments: &[&str]) -> Options {
        match take(arguments) {
            Ok(Parsed::Options(options)) => *options,
            other => panic!("{arguments:?}: {other:?}"),
        }
    }

    fn complaint(arguments: &[&str]) -> String {
        take(arguments).unwrap_err().to_string()
    }

    #[test]
    fn the_options_of_powerlevel10k_are_taken() {
        let got = options(&[
            "-G", "v1.5.5", "-s", "-1", "-u", "2", "-d", "3", "-c", "4", "-m", "5", "-e", "-v",
            "FATAL", "-t", "32",
        ]);
        let want = Options {
            staged_max: usize::MAX,
            unstaged_max: 2,
            untracked_max: 3,
            conflicted_max: 4,
            index_size_max: 5,
            recurse_untracked_dirs: true,
            log_level: Level::Fatal,
            threads: Some(32),
            ..Options::default()
        };
        assert_eq!(got, want);
    }

    #[test]
    fn long_short_attached_abbreviated_and_clustered_forms_are_one() {
        let want = options(&["-e", "-U", "-s", "7", "-p", "12"]);
        assert_eq!(options(&["-eUs7", "-p12"]), want);
        assert_eq!(
            options(&[
                "--rec",
                "--ignore-status",
                "--max-num-staged=7",
                "--parent-pid",
                "12"
            ]),
            want
        );
    }

    #[test]
    fn one_request_is_answered_by_as_many_threads_as_those_of_a_plugin() {
        let threads = |arguments: &[&str]| options(arguments).prompt_request().threads_max;
        assert_eq!(threads(&[]), Some(1));
        assert_eq!(threads(&["--ask=/"]), Some(threads_of_plugins()));
        assert_eq!(threads(&["-t", "3", "--ask=/"]), Some(3));
    }

    #[test]
    fn our_own_options_take_no_abbreviation_away() {
        assert_eq!(options(&["--p", "12"]), options(&["-p", "12"]));
        let own = options(&["--attached", "--prompt-for=zsh", "--within-ms", "5"]);
        assert!(own.is_attached);
        assert_eq!(own.prompt_for, Some("zsh".into()));
        assert_eq!(own.within, Some(Duration::from_millis(5)));
        assert_eq!(
            complaint(&["--attach"]),
            "gitstatusd: unrecognized option '--attach'"
        );
        // They have no letters either.
        let letter = OsString::from_vec(vec![b'-', BACKGROUND]);
        assert!(parse("gitstatusd", &[letter]).is_err());
    }

    #[test]
    fn what_the_c_library_says_of_bad_options() {
        assert_eq!(complaint(&["-x"]), "gitstatusd: invalid option -- 'x'");
        assert_eq!(
            complaint(&["-s"]),
            "gitstatusd: option requires an argument -- 's'"
        );
        assert_eq!(
            complaint(&["--nope=1"]),
            "gitstatusd: unrecognized option '--nope=1'"
        );
        assert_eq!(
            complaint(&["--help=1"]),
            "gitstatusd: option '--help' doesn't allow an argument"
        );
        assert_eq!(
            complaint(&["--lock-fd"]),
            "gitstatusd: option '--lock-fd' requires an argument"
        );
        assert_eq!(
            complaint(&["--ver"]),
            "gitstatusd: option '--ver' is ambiguous; possibilities: '--version' '--version-glob'"
        );
    }

    #[test]
    fn bad_values_and_positional_arguments_exit_with_10_and_a_version_with_11() {
        for (arguments, message) in [
            (["-s", "x"], "gitstatusd: not an integer: x"),
            (["-s", ""], "gitstatusd: not an integer: "),
            (["-s", "+-1"], "gitstatusd: not an integer: +-1"),
            (
                ["-l", "9999999999"],
                "gitstatusd: integer out of bounds: 9999999999",
            ),
            (["-t", "0"], "invalid number of threads: 0"),
            (["-v", "LOUD"], "invalid log level: LOUD"),
            (["a", "-e"], "unexpected positional argument: a"),
            (["--", "-e"], "unexpected positional argument: -e"),
        ] {
            let error = take(&arguments).unwrap_err();
            assert_eq!(
                (error.to_string().as_str(), error.exit_code()),
                (message, 10)
            );
        }
        assert_eq!(take(&["-G", "v1.4.*"]).unwrap_err().exit_code(), 11);
        assert_eq!(take(&["-V", "-x"]), Ok(Parsed::Version));
    }
}
