//! Aliases of commands (`[alias]`): which of them means the status, and with which words.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::abort::{Abort, Kind};
use vigil_hg::bytes::{bytes, join};
use vigil_hg::config::{Config, ConfigItem, ProcessContext};

use super::{extensions, shell_words};

/// The maximum number of aliases that lead from one to the other.
const CHAIN_LEN_MAX: usize = 100;

/// The maximum length of the words of an alias, in bytes. Each alias in a chain may use its words several times.
const WORDS_LEN_MAX: usize = 1 << 20;

/// The aliases of a configuration, in its order: one may use those before it.
pub(super) struct CommandAliases<'c> {
    items: Vec<&'c ConfigItem>,
    config: &'c Config,
}

/// What a word on the command line means as a command.
enum Command {
    Status,
    /// The alias with this number.
    Alias(usize),
    /// One of several, whose names these are.
    Ambiguous(Vec<BString>),
    /// Another command, or none.
    Other,
}

/// A command of the command line that is the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusCommand {
    /// The name of the command, after which hooks and defaults are named.
    pub(super) name: BString,
    /// The words that each alias on the way adds; that of the command line comes last.
    added: Vec<Vec<BString>>,
}

/// Why an alias is not the status.
pub(super) enum NotStatus {
    /// Only Mercurial knows what it is.
    Unknown(Abort),
    /// Mercurial would name this error after it has parsed the command line, without looking for a repository.
    Wrong(Abort),
}

impl<'c> CommandAliases<'c> {
    /// The aliases of `config`.
    pub(super) fn new(config: &'c Config) -> Self {
        let items = config.section("alias");
        // Names with a colon are properties of other aliases.
        let items = items.filter(|item| !item.name.contains(&b':')).collect();
        Self { items, config }
    }

    /// Whether both have the same aliases.
    pub(super) fn are_the_same_as(&self, other: &Self) -> bool {
        let all = |aliases: &Self| -> Vec<(BString, BString)> {
            let items = aliases.items.iter();
            items
                .map(|item| (item.name.clone(), item.value.clone()))
                .collect()
        };
        all(self) == all(other)
    }

    /// Returns the refusal of `word`, which may be an alias.
    pub(super) fn refusal(&self, word: &BStr) -> Abort {
        let unknown = || Abort::unsupported(bytes!("the command '", word, "'"));
        self.refusal_of_alias(word).unwrap_or_else(unknown)
    }

    /// Returns the refusal of the alias that `word` names or begins, if there is one.
    pub(super) fn refusal_of_alias(&self, word: &BStr) -> Option<Abort> {
        let named = |item: &&&ConfigItem| names(&item.name).any(|name| name == *word);
        let begins = |item: &&&ConfigItem| names(&item.name).any(|name| name.starts_with(word));
        let mut items = self.items.iter();
        let found = items.clone().rfind(named).or_else(|| items.find(begins));
        found.map(|item| refusal_of(item))
    }

    /// Returns what the command `word` means, which must be the status.
    ///
    /// # Errors
    /// It means something else, or something is wrong.
    pub(super) fn meaning(&self, word: &BStr) -> Result<StatusCommand, NotStatus> {
        match self.find(word, self.items.len()) {
            Command::Status => Ok(StatusCommand {
                name: "status".into(),
                added: Vec::new(),
            }),
            Command::Alias(number) => {
                let name = self
                    .items
                    .get(number)
                    .and_then(|item| names(&item.name).next());
                let mut added: Vec<Vec<BString>> = Vec::new();
                let mut next = Some(number);
                while let Some(number) = next {
                    let words;
                    (words, next) = self.followed(number).map_err(|wrong| match wrong {
                        // A wrong alias has no options, which Mercurial would see first.
                        NotStatus::Wrong(_) if !added.iter().all(|words| are_plain(words)) => {
                            NotStatus::Unknown(self.refusal(word))
                        }
                        wrong => wrong,
                    })?;
                    added.push(words);
                    if added.len() > CHAIN_LEN_MAX {
                        let said = "so many aliases of aliases";
                        return Err(NotStatus::Unknown(Abort::unsupported(said)));
                    }
                }
                added.reverse();
                Ok(StatusCommand {
                    name: name.unwrap_or_default(),
                    added,
                })
            }
            Command::Ambiguous(all) => {
                let all = join(all.iter().map(|name| name.as_slice()), b" ");
                let message = bytes!("command '", word, "' is ambiguous:\n    ", all);
                Err(NotStatus::Wrong(Abort::of(Kind::Command, message)))
            }
            Command::Other => Err(NotStatus::Unknown(self.refusal(word))),
        }
    }

    /// Finds the command `word` among Mercurial's own and the first `len` aliases.
    fn find(&self, word: &BStr, len: usize) -> Command {
        let items = || self.items.iter().enumerate().take(len);
        if let Some((number, _)) = items().find(|(_, item)| item.name == word) {
            return Command::Alias(number);
        }
        let mut whole = items().filter(|(_, item)| names(&item.name).any(|name| name == *word));
        if let Some((number, _)) = whole.next_back() {
            return Command::Alias(number);
        }
        if word == "status" || word == "st" {
            return Command::Status;
        }
        // What other words abbreviate depends on Mercurial's other commands.
        if !is_status(word) || extensions::may_add_command(self.config, word) {
            return Command::Other;
        }
        let mut found = BTreeMap::from([(BString::from("status"), Command::Status)]);
        for (number, item) in items() {
            if let Some(name) = names(&item.name).find(|name| name.starts_with(word)) {
                found.insert(name, Command::Alias(number));
            }
        }
        match found.len() {
            1 => found.pop_first().map_or(Command::Other, |(_, only)| only),
            _ => Command::Ambiguous(found.into_keys().collect()),
        }
    }

    /// Returns the words of the alias with this number, and the number of the alias that it is of, if that is an alias.
    fn followed(&self, number: usize) -> Result<(Vec<BString>, Option<usize>), NotStatus> {
        let item = self.items.get(number);
        let item = item.ok_or_else(|| NotStatus::Unknown(Abort::unsupported("an alias")))?;
        let wrong = |what: BString| Err(NotStatus::Wrong(Abort::of(Kind::Config, what)));
        let refused = || NotStatus::Unknown(refusal_of(item));
        let is_ascii = |name: &str| {
            let name = bytes!(item.name, ":", name);
            let mut all = self.config.section("alias");
            let said = all.find(|item| item.name == name);
            said.is_none_or(|said| said.value.is_ascii())
        };
        if !["doc", "help", "category"].into_iter().all(is_ascii) {
            return Err(refused());
        }
        let name = names(&item.name).next().unwrap_or_default();
        if name != item.name {
            return Err(refused());
        }
        if item.value.is_empty() {
            return wrong(bytes!("no definition for alias '", name, "'"));
        }
        if item.value.starts_with(b"!") {
            return Err(refused());
        }
        let error = bytes!("error in definition for alias '", name, "': ");
        let words = match shell_words::split(&item.value) {
            Ok(words) => words,
            Err(unfinished) => return wrong(bytes!(error, unfinished.reason())),
        };
        match early_options(&words) {
            Some(options) if options.is_empty() => {}
            Some(options) => {
                let options = join(options.iter().copied(), b"/");
                let message = " may only be given on the command line";
                return wrong(bytes!(error, options, message));
            }
            None => return Err(refused()),
        }
        let (first, rest) = words.split_first().ok_or_else(refused)?;
        let next = match self.find(first.as_bstr(), number) {
            Command::Status => None,
            Command::Alias(other) => Some(other),
            Command::Ambiguous(_) if !are_plain(rest) => return Err(refused()),
            Command::Ambiguous(_) => {
                let said = "' resolves to ambiguous command '";
                return wrong(bytes!("alias '", name, said, first, "'"));
            }
            Command::Other => return Err(refused()),
        };
        Ok((rest.to_vec(), next))
    }
}

impl StatusCommand {
    /// Whether this is an alias.
    pub(super) fn is_alias(&self) -> bool {
        !self.added.is_empty()
    }

    /// Returns the words for the command, if these are `given` on the command line.
    ///
    /// # Errors
    /// An alias needs more of them, or only Mercurial knows what becomes of them.
    pub(super) fn words(
        &self,
        given: &[BString],
        process: &ProcessContext<'_>,
    ) -> Result<Vec<BString>, Abort> {
        let refused = || Abort::unsupported(bytes!("the words of the alias '", self.name, "'"));
        let mut words = Vec::new();
        for added in &self.added {
            let added = added.iter().map(|word| process.expand_path(word));
            let added: Vec<_> = added.collect::<Result<_, _>>()?;
            words = with_given(&words, &added, &refused)?;
        }
        with_given(&words, given, &refused)
    }
}

/// Returns the words of an alias with those `given` to it: each in the place of its number, if that is there, or at the end.
fn with_given(
    words: &[BString],
    given: &[BString],
    refused: &dyn Fn() -> Abort,
) -> Result<Vec<BString>, Abort> {
    if words.is_empty() {
        return Ok(given.to_vec());
    }
    let quoted: Vec<BString> = words.iter().map(|word| shell_words::quoted(word)).collect();
    let text = join(quoted.iter().map(|word| word.as_slice()), b" ");
    let mut all = BString::default();
    let mut is_used = vec![false; given.len()];
    let mut rest = text.as_slice();
    while let Some(at) = rest.find_byte(b'$') {
        let (before, after) = rest.split_at(at);
        let after = after.get(1..).unwrap_or_default();
        all.extend_from_slice(before);
        let len = after
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if len == 0 {
            if after.starts_with(b"$") {
                return Err(refused());
            }
            all.push(b'$');
            rest = after;
            continue;
        }
        let (digits, after) = after.split_at(len);
        rest = after;
        let number = digits
            .to_str()
            .ok()
            .and_then(|digits| digits.parse::<usize>().ok());
        let place = number.ok_or_else(refused)?.checked_sub(1);
        // Python takes the place before the first for the last.
        let place = place.ok_or_else(refused)?;
        let Some(word) = given.get(place) else {
            let message = "too few arguments for command alias";
            return Err(Abort::of(Kind::Input, message));
        };
        all.extend_from_slice(word);
        if all.len() > WORDS_LEN_MAX {
            return Err(refused());
        }
        if let Some(is_used) = is_used.get_mut(place) {
            *is_used = true;
        }
    }
    all.extend_from_slice(rest);
    let mut words = shell_words::split(&all).map_err(|_| refused())?;
    let unused = given.iter().zip(is_used).filter(|(_, is_used)| !is_used);
    words.extend(unused.map(|(word, _)| word.clone()));
    Ok(words)
}

/// Whether Mercurial takes `word` for the status if there are no aliases.
pub(super) fn is_status(word: &[u8]) -> bool {
    word.len() >= 2 && b"status".starts_with(word)
}

/// Returns the names under which Mercurial knows an alias that is called `name`.
fn names(name: &BString) -> impl DoubleEndedIterator<Item = BString> {
    let whole = name.split(|byte| *byte == b'|').map(BString::from);
    let mut all: Vec<BString> = whole.collect();
    let folded = all.iter().filter(|name| name.contains(&b'-'));
    let folded: Vec<BString> = folded.map(|name| name.replace("-", "").into()).collect();
    for name in folded {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all.into_iter()
}

/// Whether none of these words of an alias is an option, or stands for another word.
fn are_plain(words: &[BString]) -> bool {
    let mut words = words.iter();
    words.all(|word| !word.starts_with(b"-") && !word.contains(&b'$'))
}

fn refusal_of(alias: &ConfigItem) -> Abort {
    Abort::unsupported(bytes!("the alias '", alias.name, " = ", alias.value, "'"))
}

/// Returns the options among `words` that an alias may not have. Returns `None` if they differ by release.
fn early_options(words: &[BString]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next().filter(|word| *word != "--") {
        let (name, has_value) = match word.split_once_str("=") {
            Some((name, _)) if word.starts_with(b"--") => (name, true),
            _ => match word.strip_prefix(b"-R") {
                Some(value) => (b"-R".as_slice(), !value.is_empty()),
                None => (word.as_slice(), false),
            },
        };
        match name {
            b"-R" | b"--cwd" | b"--repository" | b"--repo" | b"--config" => {
                if !has_value && rest.next().is_none() {
                    break;
                }
                found.push(name);
            }
            b"--config-file" => return None,
            _ => {}
        }
    }
    Some(found)
}
