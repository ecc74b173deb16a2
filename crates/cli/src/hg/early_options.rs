//! The options that Mercurial looks for before it reads the configuration, and so before it parses the command line.

use bstr::{BString, ByteSlice};

use super::options::{OPTIONS, OptionSpec};

/// Options of all commands that are written in full. An argument may count here that turns out to be the value of another option.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EarlyOptions {
    pub(super) config: Vec<BString>,
    pub(super) config_files: Vec<BString>,
    /// The directory to work in; empty if none is named.
    pub(super) cwd: BString,
    /// The repository; empty if none is named.
    pub(super) repository: BString,
    pub(super) debugger: Option<bool>,
    pub(super) verbose: bool,
    pub(super) quiet: bool,
    pub(super) debug: bool,
    pub(super) traceback: bool,
    pub(super) profile: bool,
}

/// An argument that is an early option.
struct EarlyOption<'a> {
    known: &'static OptionSpec,
    /// Whether the opposite of the option is meant.
    says_no: bool,
    /// The value within the argument.
    value: Option<&'a [u8]>,
}

impl EarlyOptions {
    /// Looks for the options in a command line.
    pub(super) fn of(arguments: &[BString]) -> Self {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next().filter(|argument| *argument != "--") {
            let Some(early) = find(argument) else {
                continue;
            };
            let name = early.known.name;
            match (early.known.value, early.value) {
                (Some(_), Some(value)) => options.set_value(name, value.into()),
                (Some(_), None) => {
                    let Some(value) = rest.next() else {
                        break;
                    };
                    options.set_value(name, value.clone());
                }
                (None, None) => options.set(name, !early.says_no),
                (None, Some(_)) => {}
            }
        }
        options
    }

    fn set_value(&mut self, name: &str, value: BString) {
        match name {
            "config" => self.config.push(value),
            "config-file" => self.config_files.push(value),
            "cwd" => self.cwd = value,
            "repository" => self.repository = value,
            _ => {}
        }
    }

    fn set(&mut self, name: &str, value: bool) {
        match name {
            "debugger" => self.debugger = Some(value),
            "verbose" => self.verbose = value,
            "quiet" => self.quiet = value,
            "debug" => self.debug = value,
            "traceback" => self.traceback = value,
            "profile" => self.profile = value,
            _ => {}
        }
    }

    /// Returns the first option, in the order in which Mercurial compares them, that is not the same in `other`.
    pub(super) fn first_difference(&self, other: &Self) -> Option<&'static str> {
        [
            (self.config != other.config, "config"),
            (self.config_files != other.config_files, "config-file"),
            (self.cwd != other.cwd, "cwd"),
            (self.repository != other.repository, "repository"),
            (self.debugger != other.debugger, "debugger"),
        ]
        .into_iter()
        .find_map(|(differs, name)| differs.then_some(name))
    }
}

/// Returns the option that an argument is.
fn find(argument: &[u8]) -> Option<EarlyOption<'_>> {
    static ALL: [OptionSpec; OPTIONS.len()] = OPTIONS;
    let mut all = ALL.iter().filter(|known| known.is_global());
    match argument {
        [b'-', b'-', long @ ..] => {
            let (name, value) = match long.split_once_str("=") {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let name = if name == b"repo" { b"repository" } else { name };
            all.find_map(|known| {
                let says_no = known
                    .opposite()
                    .is_some_and(|opposite| opposite.as_bytes() == name);
                (says_no || known.name.as_bytes() == name).then_some(EarlyOption {
                    known,
                    says_no,
                    value,
                })
            })
        }
        [b'-', letter, value @ ..] => {
            let known = all.find(|known| known.letter == *letter)?;
            Some(EarlyOption {
                known,
                says_no: false,
                value: (!value.is_empty()).then_some(value),
            })
        }
        _ => None,
    }
}
