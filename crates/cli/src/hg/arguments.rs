//! Options as Mercurial reads them: anywhere on the line, long ones by any beginning that is enough, until `--`.

use bstr::{BStr, BString, ByteSlice};

use super::nearest::OwnFormat;
use crate::reply::{Reply, bytes};

/// The options of the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
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
    pub(super) verbose: bool,
    pub(super) quiet: bool,
    pub(super) debug: bool,
    /// Options that only Mercurial can do something about.
    pub(super) only_mercurial: Option<&'static str>,
    pub(super) patterns: Vec<BString>,
    /// A format of Vigil's own.
    pub(super) own: Option<OwnFormat>,
}

/// Why arguments could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    said: BString,
}

impl Wrong {
    pub(super) fn into_reply(self) -> Reply {
        Reply::complained(bytes!(self.said, "\n"), 255)
    }
}

/// How an option is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
}

/// Each option by its letter, if it has one, and its name.
const OPTIONS: [(u8, &str, Takes); 38] = [
    (b'A', "all", Takes::Nothing),
    (b'm', "modified", Takes::Nothing),
    (b'a', "added", Takes::Nothing),
    (b'r', "removed", Takes::Nothing),
    (b'd', "deleted", Takes::Nothing),
    (b'c', "clean", Takes::Nothing),
    (b'u', "unknown", Takes::Nothing),
    (b'i', "ignored", Takes::Nothing),
    (b'n', "no-status", Takes::Nothing),
    (b't', "terse", Takes::Value),
    (b'C', "copies", Takes::Nothing),
    (b'0', "print0", Takes::Nothing),
    (0, "rev", Takes::Value),
    (0, "change", Takes::Value),
    (b'I', "include", Takes::Value),
    (b'X', "exclude", Takes::Value),
    (b'S', "subrepos", Takes::Nothing),
    (b'T', "template", Takes::Value),
    (b'R', "repository", Takes::Value),
    (0, "cwd", Takes::Value),
    (b'y', "noninteractive", Takes::Nothing),
    (b'q', "quiet", Takes::Nothing),
    (b'v', "verbose", Takes::Nothing),
    (0, "color", Takes::Value),
    (0, "config", Takes::Value),
    (0, "config-file", Takes::Value),
    (0, "debug", Takes::Nothing),
    (0, "debugger", Takes::Nothing),
    (0, "encoding", Takes::Value),
    (0, "encodingmode", Takes::Value),
    (0, "traceback", Takes::Nothing),
    (0, "time", Takes::Nothing),
    (0, "profile", Takes::Nothing),
    (0, "version", Takes::Nothing),
    (b'h', "help", Takes::Nothing),
    (0, "hidden", Takes::Nothing),
    (0, "pager", Takes::Value),
    (0, "style", Takes::Value),
];

impl Arguments {
    /// Reads a command line, of which the first word that is no option is the command.
    pub(super) fn parse(arguments: &[BString]) -> Result<Self, Wrong> {
        let mut parsed = Self::default();
        let mut words = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_slice() {
                b"--" => {
                    words.extend(rest.by_ref().cloned());
                }
                [b'-', b'-', long @ ..] => parsed.long(long.as_bstr(), &mut rest)?,
                [b'-', letters @ ..] if !letters.is_empty() => {
                    parsed.letters(letters, &mut rest)?;
                }
                _ => words.push(argument.clone()),
            }
        }
        let mut words = words.into_iter();
        let command = words.next().unwrap_or_default();
        let is_status = command.len() >= 2 && "status".as_bytes().starts_with(&command);
        if !is_status {
            let said = match command.is_empty() {
                true => bytes!("vigil: a command of Mercurial is missing: vigil hg status"),
                false => bytes!(
                    "vigil: '",
                    command,
                    "' is no command of Mercurial that vigil answers"
                ),
            };
            return Err(Wrong { said: said.into() });
        }
        parsed.patterns = words.collect();
        Ok(parsed)
    }

    fn long<'a>(
        &mut self,
        text: &BStr,
        rest: &mut impl Iterator<Item = &'a BString>,
    ) -> Result<(), Wrong> {
        let (name, value) = match text.find_byte(b'=') {
            Some(at) => {
                let (name, value) = text.split_at(at);
                (name, Some(value.get(1..).unwrap_or_default()))
            }
            None => (text.as_bytes(), None),
        };
        let (name, takes, says_no) = match beginning_with(name) {
            Found::One(name, takes) => (name, takes, false),
            Found::Many => return Err(wrong("--", name, "not a unique prefix")),
            Found::None => match name.strip_prefix(b"no-").map(beginning_with) {
                Some(Found::One(name, Takes::Nothing)) => (name, Takes::Nothing, true),
                _ => return Err(wrong("--", name, "not recognized")),
            },
        };
        match (takes, value) {
            (Takes::Nothing, Some(_)) => {
                Err(wrong("--", name.as_bytes(), "must not have an argument"))
            }
            (Takes::Nothing, None) => {
                self.set(name, !says_no);
                Ok(())
            }
            (Takes::Value, Some(value)) => {
                self.set_value(name, value.into());
                Ok(())
            }
            (Takes::Value, None) => {
                let value = rest.next();
                let value =
                    value.ok_or_else(|| wrong("--", name.as_bytes(), "requires argument"))?;
                self.set_value(name, value.clone());
                Ok(())
            }
        }
    }

    fn letters<'a>(
        &mut self,
        letters: &[u8],
        rest: &mut impl Iterator<Item = &'a BString>,
    ) -> Result<(), Wrong> {
        let mut left = letters;
        while let Some((letter, after)) = left.split_first() {
            left = after;
            let option = OPTIONS.iter().find(|(known, _, _)| known == letter);
            match option {
                None => return Err(wrong("-", &[*letter], "not recognized")),
                Some((_, name, Takes::Nothing)) => self.set(name, true),
                Some((_, name, Takes::Value)) => {
                    let value = match after.is_empty() {
                        false => BString::from(after),
                        true => rest
                            .next()
                            .ok_or_else(|| wrong("-", &[*letter], "requires argument"))?
                            .clone(),
                    };
                    self.set_value(name, value);
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
            "copies" => {
                self.copies = Some(value);
                return;
            }
            "noninteractive" => return,
            other => {
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
            "change" => self.change = Some(value),
            "include" => self.include.push(value),
            "exclude" => self.exclude.push(value),
            "template" | "style" => self.template = Some(value),
            "repository" => self.repository.push(value),
            "cwd" => self.cwd.push(value),
            "config" => self.config.push(value),
            "color" => self.color = Some(value),
            "pager"
                if matches!(
                    value.as_slice(),
                    b"auto" | b"no" | b"off" | b"false" | b"never"
                ) => {}
            "encoding" | "encodingmode" => {}
            other => {
                self.only_mercurial.get_or_insert(other);
            }
        }
    }
}

enum Found {
    None,
    One(&'static str, Takes),
    Many,
}

fn beginning_with(text: &[u8]) -> Found {
    let is_so = |(_, name, _): &&(u8, &'static str, Takes)| name.as_bytes().starts_with(text);
    if let Some((_, name, takes)) = OPTIONS.iter().find(|(_, name, _)| name.as_bytes() == text) {
        return Found::One(name, *takes);
    }
    let mut found = OPTIONS.iter().filter(is_so);
    match (found.next(), found.next()) {
        (Some((_, name, takes)), None) => Found::One(name, *takes),
        (None, _) => Found::None,
        _ => Found::Many,
    }
}

fn wrong(dashes: &str, name: &[u8], what: &str) -> Wrong {
    Wrong {
        said: bytes!("hg status: option ", dashes, name, " ", what).into(),
    }
}
