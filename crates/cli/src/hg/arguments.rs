//! Parses options as Mercurial does: first those of all commands, up to the command; then, anywhere on the rest of the line up to
//! `--`, those of the command too. Long options are also known by any unambiguous prefix.

use bstr::{BStr, BString, ByteSlice};

use vigil_hg::abort::{Abort, Kind};
use vigil_hg::patterns::refers_to_files;

use super::aliases::is_status;
use super::early_options::EarlyOptions;
use super::options::{HelpStyle, OPTIONS, OptionSpec, short_help};
use super::own_commands::OwnFormat;
use crate::reply::{Reply, bytes};

/// The options of the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    /// The command as it was typed; it may be abbreviated.
    pub(super) command: BString,
    pub(super) all: bool,
    pub(super) modified: bool,
    pub(super) added: bool,
    pub(super) removed: bool,
    pub(super) deleted: bool,
    pub(super) clean: bool,
    pub(super) unknown: bool,
    pub(super) ignored: bool,
    pub(super) no_status: bool,
    pub(super) terse: Option<BString>,
    pub(super) copies: Option<bool>,
    pub(super) print0: bool,
    pub(super) revisions: Vec<BString>,
    pub(super) change: Option<BString>,
    pub(super) include: Vec<BString>,
    pub(super) exclude: Vec<BString>,
    pub(super) subrepos: bool,
    pub(super) template: Option<BString>,
    pub(super) repository: Vec<BString>,
    pub(super) cwd: Vec<BString>,
    pub(super) config: Vec<BString>,
    pub(super) color: Option<BString>,
    pub(super) pager: Option<BString>,
    pub(super) encoding: Option<BString>,
    pub(super) encoding_mode: Option<BString>,
    pub(super) verbose: bool,
    pub(super) quiet: bool,
    pub(super) debug: bool,
    /// Whether hidden changesets count.
    pub(super) hidden: bool,
    /// Whether Mercurial would print a Python traceback when it fails.
    pub(super) traceback: bool,
    /// The first option that only Mercurial can act on.
    pub(super) only_mercurial: Option<&'static str>,
    pub(super) patterns: Vec<BString>,
    config_files: Vec<BString>,
    debugger: Option<bool>,
    /// A format of Vigil's own, if one is asked for.
    pub(super) own: Option<OwnFormat>,
    /// The name of the command, after which hooks are named: that of an alias, if it is one.
    pub(super) name: BString,
    /// The command line, split after the command.
    line: [Vec<BString>; 2],
    /// The options that counted before the command line was parsed.
    early: EarlyOptions,
}

/// The part of the command line in which an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionPosition {
    /// Before the command, where only options of all commands are known.
    BeforeCommand,
    AfterCommand,
}

impl OptionPosition {
    /// Returns the options that are known there.
    fn options(self) -> impl Iterator<Item = &'static OptionSpec> {
        static ALL: [OptionSpec; OPTIONS.len()] = OPTIONS;
        let is_known = move |known: &&OptionSpec| self == Self::AfterCommand || known.is_global();
        ALL.iter().filter(is_known)
    }
}

/// The help that is printed with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Help {
    None,
    /// A line that says how to list the options of all commands.
    Global,
    /// The options of the command.
    Command,
}

/// The option that the extension of this name adds to all commands. Without the extension it is unknown, so it is
/// matched only in full, and makes no abbreviation of another option ambiguous.
const MQ: &str = "mq";

/// The reason why arguments could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsageError {
    message: BString,
    help: Help,
    /// The command as it was typed, if what follows it is wrong.
    pub(super) command: Option<BString>,
}

impl UsageError {
    /// The error for a command that is not the status.
    pub(super) fn unknown_command(command: &BStr) -> Self {
        let message = match command.is_empty() {
            true => bytes!("vigil: no Mercurial command is given: try 'vigil hg status'"),
            false => bytes!(
                "vigil: '",
                command,
                "' is no command of Mercurial that vigil answers"
            ),
        };
        Self {
            message: message.into(),
            help: Help::None,
            command: None,
        }
    }

    /// Returns what only Mercurial says of the error.
    pub(super) fn unsupported(&self, style: HelpStyle, is_traced: bool) -> Option<&'static str> {
        match self.help {
            // The command is not Mercurial's.
            Help::None => None,
            _ if is_traced => Some("the Python traceback of a failure (--traceback)"),
            Help::Global => None,
            Help::Command => style.only_mercurial,
        }
    }

    /// Returns the reply for the error; `detailed` is `ui.detailed-exit-code`.
    pub(super) fn into_reply(self, detailed: bool, style: HelpStyle) -> Reply {
        let code = Abort::of(Kind::Input, "").exit_code(detailed);
        let mut reply = Reply::complained(bytes!(self.message, "\n"), code);
        match self.help {
            Help::None => {}
            Help::Global => {
                let hint = "(use 'hg help -v' for a list of global options)\n";
                reply.stderr.extend_from_slice(hint.as_bytes());
            }
            Help::Command => reply.stdout = short_help(style).into(),
        }
        reply
    }
}

impl Arguments {
    /// Returns whether the question is about part of the files.
    pub(super) fn has_patterns(&self) -> bool {
        [&self.patterns, &self.include, &self.exclude]
            .into_iter()
            .any(|patterns| !patterns.is_empty())
    }

    /// Returns whether the options name the changesets to compare.
    pub(super) fn names_changesets(&self) -> bool {
        !self.revisions.is_empty() || self.change.is_some()
    }

    /// Returns whether the question is about the whole working copy as it is configured. A problem with the answer then
    /// concerns other questions too.
    pub(super) fn is_plain(&self) -> bool {
        let lists = [&self.patterns, &self.include, &self.exclude, &self.config];
        let texts = [&self.template, &self.terse, &self.color, &self.encoding];
        lists.iter().all(|list| list.is_empty()) && texts.iter().all(|text| text.is_none())
    }

    /// Returns whether a daemon may answer: the question is about the present state of one working copy.
    pub(super) fn is_for_a_daemon(&self) -> bool {
        let patterns = [&self.patterns, &self.include, &self.exclude];
        let mut patterns = patterns.into_iter().flatten();
        // Some patterns are read from files. Such a file may be anything, and could keep other clients waiting.
        !patterns.any(|pattern| refers_to_files(pattern.as_bstr()))
            && self.revisions.is_empty()
            && self.change.is_none()
            && self.only_mercurial.is_none()
            && !self.subrepos
            && !self.verbose
            && !self.debug
    }

    /// Returns whether the help is asked for. Only Mercurial can print its own.
    pub(super) fn asks_for_help(&self) -> bool {
        self.only_mercurial == Some("help")
    }

    /// Whether the command is the status by its name.
    pub(super) fn is_status(&self) -> bool {
        is_status(&self.command)
    }

    /// Parses a command line. The first word that is not an option is the command, which may be an alias of the status.
    pub(super) fn parse(arguments: &[BString]) -> Result<Self, UsageError> {
        Self::parse_after(arguments, EarlyOptions::of(arguments))
    }

    fn parse_after(arguments: &[BString], early: EarlyOptions) -> Result<Self, UsageError> {
        let mut parsed = Self::default();
        let mut rest = arguments.iter();
        let command = parsed.parse_part(OptionPosition::BeforeCommand, &mut rest)?;
        let command = command.into_iter().next().unwrap_or_default();
        if command.is_empty() {
            return Err(UsageError::unknown_command(command.as_bstr()));
        }
        let after = rest.as_slice();
        let (before, _) = arguments.split_at(arguments.len().saturating_sub(after.len()));
        parsed.line = [before.to_vec(), after.to_vec()];
        let patterns = parsed.parse_part(OptionPosition::AfterCommand, &mut rest);
        parsed.patterns = patterns.map_err(|wrong| UsageError {
            command: Some(command.clone()),
            ..wrong
        })?;
        parsed.apply_early(&early)?;
        parsed.early = early;
        parsed.command = command;
        parsed.name = "status".into();
        Ok(parsed)
    }

    /// Adds what takes effect though it turned out to be the value of another option.
    ///
    /// # Errors
    /// An option that counts early was not recognized then, or was no option.
    fn apply_early(&mut self, early: &EarlyOptions) -> Result<(), UsageError> {
        if early.debugger == Some(true) {
            self.only_mercurial = Some("debugger");
            return Ok(());
        }
        let last = |values: &[BString]| values.last().cloned().unwrap_or_default();
        let parsed = EarlyOptions {
            config: self.config.clone(),
            config_files: self.config_files.clone(),
            cwd: last(&self.cwd),
            repository: last(&self.repository),
            debugger: self.debugger,
            ..EarlyOptions::default()
        };
        if let Some(name) = parsed.first_difference(early) {
            return Err(may_not_be_abbreviated(name));
        }
        if !(self.verbose || self.quiet || self.debug) {
            (self.verbose, self.quiet, self.debug) = (early.verbose, early.quiet, early.debug);
        }
        self.traceback |= early.traceback;
        if early.profile {
            self.only_mercurial.get_or_insert("profile");
        }
        Ok(())
    }

    /// Parses the options of a part of the command line; returns its words. The part before the command ends with its first word.
    fn parse_part(
        &mut self,
        position: OptionPosition,
        rest: &mut std::slice::Iter<'_, BString>,
    ) -> Result<Vec<BString>, UsageError> {
        let mut words = Vec::new();
        while position == OptionPosition::AfterCommand || words.is_empty() {
            let Some(argument) = rest.next() else {
                break;
            };
            match argument.as_slice() {
                b"--" if position == OptionPosition::BeforeCommand => {
                    words.extend(rest.next().cloned());
                    break;
                }
                b"--" => words.extend(rest.by_ref().cloned()),
                [b'-', b'-', long @ ..] => self.parse_long(position, long.as_bstr(), rest)?,
                [b'-', letters @ ..] if !letters.is_empty() => {
                    self.parse_letters(position, letters, rest)?;
                }
                _ => words.push(argument.clone()),
            }
        }
        Ok(words)
    }

    /// Returns what is on the command line after the command.
    pub(super) fn after_command(&self) -> &[BString] {
        let [_, after] = &self.line;
        after
    }

    /// Whether all options of the command line are ones that Mercurial knows whatever the command is, and that have it do no
    /// more than the command.
    pub(super) fn has_only_early_options(&self) -> bool {
        let [before, after] = &self.line;
        let mut rest = before.iter().chain(after);
        while let Some(word) = rest.next() {
            match word.as_slice() {
                b"-q" | b"--quiet" | b"-v" | b"--verbose" => {}
                b"--config" | b"--cwd" => drop(rest.next()),
                word if word.starts_with(b"--config=") || word.starts_with(b"--cwd=") => {}
                [b'-', ..] => return false,
                _ => {}
            }
        }
        true
    }

    /// Parses the command line again with these words after the command, whose name is `name`.
    ///
    /// # Errors
    /// That fails. The error is the one that Mercurial names, if that is known.
    pub(super) fn with_words(
        &self,
        words: Vec<BString>,
        name: &[u8],
    ) -> Result<Self, Option<Abort>> {
        let [before, _] = self.line.clone();
        let line: Vec<BString> = before.into_iter().chain(words).collect();
        let merged = Self::parse_after(&line, self.early.clone());
        let mut merged = merged.map_err(|wrong| {
            let message = wrong.message.strip_prefix(b"abort: ")?;
            Some(Abort::of(Kind::Input, message))
        })?;
        merged.own = self.own;
        merged.name = name.into();
        Ok(merged)
    }

    /// Returns whether both have the same values of the options that Mercurial reads before the configuration.
    pub(super) fn has_the_early_options_of(&self, other: &Self) -> bool {
        let early = |all: &Self| [&all.repository, &all.cwd, &all.config].map(Vec::clone);
        early(self) == early(other) && self.only_mercurial == other.only_mercurial
    }

    fn parse_long<'a>(
        &mut self,
        position: OptionPosition,
        text: &BStr,
        rest: &mut impl Iterator<Item = &'a BString>,
    ) -> Result<(), UsageError> {
        let (name, value) = match text.find_byte(b'=') {
            Some(at) => {
                let (name, value) = text.split_at(at);
                (name, Some(value.get(1..).unwrap_or_default()))
            }
            None => (text.as_bytes(), None),
        };
        if (position, name, value) == (OptionPosition::AfterCommand, MQ.as_bytes(), None) {
            self.only_mercurial.get_or_insert(MQ);
            return Ok(());
        }
        let (known, whole, says_no) = match find_by_prefix(position, name) {
            OptionMatch::One {
                known,
                whole,
                says_no,
            } => (known, whole, says_no),
            OptionMatch::Many => {
                return Err(option_error(position, "--", name, "not a unique prefix"));
            }
            OptionMatch::None => return Err(option_error(position, "--", name, "not recognized")),
        };
        match (known.value, value) {
            (None, Some(_)) => Err(option_error(
                position,
                "--",
                whole.as_bytes(),
                "must not have an argument",
            )),
            (None, None) => {
                self.set(known.name, !says_no);
                Ok(())
            }
            (Some(_), Some(value)) => {
                self.set_value(known.name, value.into());
                Ok(())
            }
            (Some(_), None) => {
                let name = known.name.as_bytes();
                let missing = || option_error(position, "--", name, "requires argument");
                let value = rest.next().ok_or_else(missing)?;
                self.set_value(known.name, value.clone());
                Ok(())
            }
        }
    }

    fn parse_letters<'a>(
        &mut self,
        position: OptionPosition,
        letters: &[u8],
        rest: &mut impl Iterator<Item = &'a BString>,
    ) -> Result<(), UsageError> {
        let mut left = letters;
        while let Some((letter, after)) = left.split_first() {
            left = after;
            let option = position.options().find(|known| known.letter == *letter);
            match option {
                None => return Err(option_error(position, "-", &[*letter], "not recognized")),
                Some(known) if known.value.is_none() => self.set(known.name, true),
                Some(known) => {
                    let value = match after.is_empty() {
                        false => BString::from(after),
                        true => rest
                            .next()
                            .ok_or_else(|| {
                                option_error(position, "-", &[*letter], "requires argument")
                            })?
                            .clone(),
                    };
                    self.set_value(known.name, value);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &'static str, value: bool) {
        let option = match name {
            "all" => &mut self.all,
            "modified" => &mut self.modified,
            "added" => &mut self.added,
            "removed" => &mut self.removed,
            "deleted" => &mut self.deleted,
            "clean" => &mut self.clean,
            "unknown" => &mut self.unknown,
            "ignored" => &mut self.ignored,
            "no-status" => &mut self.no_status,
            "print0" => &mut self.print0,
            "subrepos" => &mut self.subrepos,
            "verbose" => &mut self.verbose,
            "quiet" => &mut self.quiet,
            "debug" => &mut self.debug,
            "hidden" => &mut self.hidden,
            "traceback" => &mut self.traceback,
            "copies" => {
                self.copies = Some(value);
                return;
            }
            "noninteractive" => return,
            other => {
                if other == "debugger" {
                    self.debugger = Some(value);
                }
                if value {
                    self.only_mercurial.get_or_insert(other);
                }
                return;
            }
        };
        *option = value;
    }

    fn set_value(&mut self, name: &'static str, value: BString) {
        match name {
            "terse" => self.terse = Some(value),
            "rev" => self.revisions.push(value),
            "change" => self.change = Some(value).filter(|value| !value.is_empty()),
            "include" => self.include.push(value),
            "exclude" => self.exclude.push(value),
            "template" => self.template = Some(value),
            "repository" => self.repository.push(value),
            "cwd" => self.cwd.push(value),
            "config" => self.config.push(value),
            "color" => self.color = Some(value).filter(|value| !value.is_empty()),
            "pager" => self.pager = Some(value),
            "encoding" => self.encoding = Some(value),
            "encodingmode" => self.encoding_mode = Some(value),
            other => {
                self.only_mercurial.get_or_insert(other);
                if other == "config-file" {
                    self.config_files.push(value);
                }
            }
        }
    }
}

enum OptionMatch {
    None,
    /// An option.
    One {
        known: &'static OptionSpec,
        /// Its name, or that of its opposite.
        whole: String,
        /// Whether its opposite was given.
        says_no: bool,
    },
    Many,
}

/// Finds the option of `position` whose name, or whose opposite's name, begins with `text`.
fn find_by_prefix(position: OptionPosition, text: &[u8]) -> OptionMatch {
    let names = || {
        position.options().flat_map(|known| {
            let opposite = known.opposite().map(|name| (name, known, true));
            std::iter::once((known.name.to_owned(), known, false)).chain(opposite)
        })
    };
    let one = |(whole, known, says_no)| OptionMatch::One {
        known,
        whole,
        says_no,
    };
    if let Some(found) = names().find(|(name, _, _)| name.as_bytes() == text) {
        return one(found);
    }
    let mut found = names().filter(|(name, _, _)| name.as_bytes().starts_with(text));
    match (found.next(), found.next()) {
        (Some(found), None) => one(found),
        (None, _) => OptionMatch::None,
        _ => OptionMatch::Many,
    }
}

/// Returns the error for an ambiguous prefix of `--config`, which may be a letter.
fn ambiguous_config(name: &[u8]) -> Option<UsageError> {
    let is_so = |known: &&OptionSpec| known.name.as_bytes().starts_with(name);
    let is_config = !name.is_empty() && b"config".starts_with(name);
    let is_ambiguous = OptionPosition::BeforeCommand
        .options()
        .filter(is_so)
        .count()
        != 1;
    (is_config && is_ambiguous).then(|| may_not_be_abbreviated("config"))
}

fn may_not_be_abbreviated(name: &str) -> UsageError {
    let message = match name {
        "repository" => "option -R has to be separated from other options (e.g. not -qR) and \
                         --repository may only be abbreviated as --repo"
            .to_owned(),
        other => format!("option --{other} may not be abbreviated"),
    };
    UsageError {
        message: bytes!("abort: ", message).into(),
        help: Help::None,
        command: None,
    }
}

fn option_error(position: OptionPosition, dashes: &str, name: &[u8], what: &str) -> UsageError {
    if let Some(error) = ambiguous_config(name) {
        return error;
    }
    let (command, help) = match position {
        OptionPosition::BeforeCommand => ("hg", Help::Global),
        OptionPosition::AfterCommand => ("hg status", Help::Command),
    };
    UsageError {
        message: bytes!(command, ": option ", dashes, name, " ", what).into(),
        help,
        command: None,
    }
}
