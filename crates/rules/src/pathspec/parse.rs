//! Parses pathspecs as given on the command line.

use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use vigil_model::config_value;
use vigil_model::raw_text::{raw, raw_path};

use super::location::{self, Failure};
use super::{AttributeCondition, AttributeState, Item, Magic, Pathspec};
use vigil_model::wildmatch;

/// Why a pathspec is invalid. The text is git's own, without "fatal: "; git exits with 128.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An empty pathspec.
    #[error(
        "empty string is not a valid pathspec. please use . instead if you meant to match all paths"
    )]
    Empty,
    /// The path leads out of the working tree.
    #[error("{spec}: '{path}' is outside repository at '{}'", raw_path(.work_tree), spec = raw(spec), path = raw(path))]
    Outside {
        /// The pathspec as given.
        spec: BString,
        /// The path in the pathspec.
        path: BString,
        /// The top of the working tree.
        work_tree: PathBuf,
    },
    /// A directory on the way of an absolute path cannot be examined, with git's text.
    #[error("{0}")]
    InvalidPath(String),
    /// A letter of short magic that is reserved.
    #[error("Unimplemented pathspec magic '{}' in '{spec}'", raw(&[*letter]), spec = raw(spec))]
    UnimplementedMagic {
        /// The letter.
        letter: u8,
        /// The pathspec as given.
        spec: BString,
    },
    /// An unknown word of long magic.
    #[error("Invalid pathspec magic '{magic}' in '{spec}'", magic = raw(magic), spec = raw(spec))]
    InvalidMagic {
        /// The word.
        magic: BString,
        /// The pathspec as given.
        spec: BString,
    },
    /// Long magic without a closing parenthesis, with the pathspec as given.
    #[error("Missing ')' at the end of pathspec magic in '{}'", raw(.0))]
    UnclosedMagic(BString),
    /// `prefix:` without a number.
    #[error("invalid parameter for pathspec magic 'prefix'")]
    InvalidPrefix,
    /// `prefix:` from a caller below the top.
    #[error("'prefix' magic is supposed to be used at worktree's root")]
    PrefixNotAtRoot,
    /// `prefix:` with a number larger than the length of the path.
    #[error("error initializing pathspec_item")]
    PrefixTooLong,
    /// Magic that contradicts itself, with the pathspec as given.
    #[error("{}: 'literal' and 'glob' are incompatible", raw(.0))]
    LiteralAndGlob(BString),
    /// Settings that contradict each other.
    #[error("global 'glob' and 'noglob' pathspec settings are incompatible")]
    GlobalGlobAndNoglob,
    /// Settings that contradict each other.
    #[error(
        "global 'literal' pathspec setting is incompatible with all other global pathspec settings"
    )]
    GlobalLiteralAndOthers,
    /// A setting that is not a boolean.
    #[error("bad boolean environment value '{value}' for '{name}'", value = raw(value))]
    BadSetting {
        /// Its value.
        value: BString,
        /// The variable.
        name: &'static str,
    },
    /// `attr:` twice.
    #[error("Only one 'attr:' specification is allowed.")]
    SecondAttributes,
    /// `attr:` with nothing behind it.
    #[error("attr spec must not be empty")]
    EmptyAttributes,
    /// An invalid name of an attribute.
    #[error("invalid attribute name {}", raw(.0))]
    InvalidAttribute(BString),
    /// An attribute's value that ends in the middle of an escape.
    #[error("Escape character '\\' not allowed as last character in attr value")]
    UnfinishedEscape,
    /// A byte that may not be in an attribute's value.
    #[error("cannot use '{}' for value matching", raw(&[*.0]))]
    InvalidValue(u8),
}

/// The settings that apply to all pathspecs; all are off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `GIT_LITERAL_PATHSPECS`: no magic, no globs.
    pub literal: bool,
    /// `GIT_GLOB_PATHSPECS`: as `:(glob)`.
    pub glob: bool,
    /// `GIT_NOGLOB_PATHSPECS`: as `:(literal)`, but `:(glob)` is heeded.
    pub noglob: bool,
    /// `GIT_ICASE_PATHSPECS`: as `:(icase)`.
    pub icase: bool,
}

impl Settings {
    /// Reads the settings from environment variables, whose values `variable` returns. git reads them only if there is
    /// a pathspec.
    ///
    /// # Errors
    /// A value is not a boolean.
    pub fn from_variables<'a>(variable: impl Fn(&str) -> Option<&'a BStr>) -> Result<Self, Error> {
        let is_on = |name: &'static str| match variable(name) {
            None => Ok(false),
            Some(value) => config_value::boolean(Some(value)).ok_or_else(|| Error::BadSetting {
                value: value.to_owned(),
                name,
            }),
        };
        Ok(Self {
            literal: is_on("GIT_LITERAL_PATHSPECS")?,
            glob: is_on("GIT_GLOB_PATHSPECS")?,
            noglob: is_on("GIT_NOGLOB_PATHSPECS")?,
            icase: is_on("GIT_ICASE_PATHSPECS")?,
        })
    }
}

/// Parses `specs` as given by a caller in the directory `prefix`, which is relative to the top of the working tree and
/// ends in `/` unless it is empty. `work_tree` is that top, absolute and free of symbolic links.
///
/// The file system is read only for absolute paths that do not begin with `work_tree`, to find symbolic links to it.
///
/// # Errors
/// One of them is invalid, or leads out of the working tree.
pub fn parse(
    specs: &[BString],
    prefix: &BStr,
    work_tree: Option<&Path>,
    settings: Settings,
) -> Result<Pathspec, Error> {
    if specs.iter().any(|spec| spec.is_empty()) {
        return Err(Error::Empty);
    }
    let mut items = specs
        .iter()
        .map(|spec| parse_item(spec.as_bstr(), prefix, work_tree, settings))
        .collect::<Result<Vec<_>, _>>()?;
    if !items.is_empty() && items.iter().all(|item| item.magic.exclude) {
        items.push(parse_item(".".into(), "".into(), work_tree, settings)?);
    }
    Ok(Pathspec { items })
}

/// The part of a pathspec before the path.
#[derive(Default)]
struct ExplicitMagic {
    magic: Magic,
    attributes: Option<Vec<AttributeCondition>>,
    prefix_len: Option<usize>,
}

fn parse_item(
    spec: &BStr,
    prefix: &BStr,
    work_tree: Option<&Path>,
    settings: Settings,
) -> Result<Item, Error> {
    let (written, path) = match spec.as_bytes() {
        [b':', b'(', rest @ ..] if !settings.literal => parse_long_magic(spec, rest)?,
        [b':', rest @ ..] if !settings.literal => parse_short_magic(spec, rest)?,
        _ => (ExplicitMagic::default(), spec.as_bytes()),
    };
    let magic = with_settings(written.magic, settings)?;
    if written.prefix_len.is_some() && !prefix.is_empty() {
        return Err(Error::PrefixNotAtRoot);
    }
    if magic.literal && magic.glob {
        return Err(Error::LiteralAndGlob(spec.to_owned()));
    }
    let (pattern, prefix_len) = if let Some(prefix_len) = written.prefix_len {
        (path.into(), prefix_len)
    } else if magic.top {
        (path.into(), 0)
    } else {
        locate(spec, path.as_bstr(), prefix, work_tree)?
    };
    item(
        magic,
        written.attributes.unwrap_or_default(),
        pattern,
        prefix_len,
    )
}

/// Returns the path `given` by a caller in the directory `prefix`, relative to the top of the working tree, without a
/// trailing slash.
///
/// # Errors
/// The path is empty, or leads out of the working tree.
pub fn path_in(given: &BStr, prefix: &BStr, work_tree: Option<&Path>) -> Result<BString, Error> {
    if given.is_empty() {
        return Err(Error::Empty);
    }
    let (mut path, _) = locate(given, given, prefix, work_tree)?;
    if path.ends_with(b"/") {
        path.pop();
    }
    Ok(path)
}

/// Calls [`location::locate`] for the path in `spec`.
fn locate(
    spec: &BStr,
    path: &BStr,
    prefix: &BStr,
    work_tree: Option<&Path>,
) -> Result<(BString, usize), Error> {
    location::locate(path, prefix, work_tree).map_err(|failure| match failure {
        Failure::Outside => Error::Outside {
            spec: spec.to_owned(),
            path: path.to_owned(),
            work_tree: work_tree.map(Path::to_owned).unwrap_or_default(),
        },
        Failure::Invalid(text) => Error::InvalidPath(text),
    })
}

fn item(
    magic: Magic,
    attributes: Vec<AttributeCondition>,
    pattern: BString,
    prefix_len: usize,
) -> Result<Item, Error> {
    if prefix_len > pattern.len() {
        return Err(Error::PrefixTooLong);
    }
    let literal_len = match magic.literal {
        true => pattern.len(),
        false => wildmatch::literal_prefix_len(&pattern).max(prefix_len),
    };
    let is_star_and_ending = !magic.glob
        && match pattern.get(literal_len..) {
            Some([b'*', ending @ ..]) => wildmatch::literal_prefix_len(ending) == ending.len(),
            _ => false,
        };
    Ok(Item {
        magic,
        attributes,
        pattern,
        prefix_len,
        literal_len,
        is_star_and_ending,
    })
}

/// Returns `magic` as written, with the additions of `settings`.
fn with_settings(mut magic: Magic, settings: Settings) -> Result<Magic, Error> {
    if settings.glob && settings.noglob {
        return Err(Error::GlobalGlobAndNoglob);
    }
    let glob = settings.glob && !magic.literal;
    if settings.literal && (glob || settings.icase) {
        return Err(Error::GlobalLiteralAndOthers);
    }
    magic.literal |= settings.literal || (settings.noglob && !magic.glob);
    magic.glob |= glob;
    magic.icase |= settings.icase;
    Ok(magic)
}

/// Parses `:/`, `:!`, `:^` and their like; `rest` is what follows the colon.
fn parse_short_magic<'a>(spec: &BStr, rest: &'a [u8]) -> Result<(ExplicitMagic, &'a [u8]), Error> {
    let mut written = ExplicitMagic::default();
    let mut rest = rest;
    while let [letter, tail @ ..] = rest {
        match letter {
            b':' => return Ok((written, tail)),
            b'^' | b'!' => written.magic.exclude = true,
            b'/' => written.magic.top = true,
            b'"' | b'#' | b'%' | b'&' | b'\'' | b',' | b'-' | b';' | b'<' | b'=' | b'>' | b'@'
            | b'_' | b'`' | b'~' => {
                return Err(Error::UnimplementedMagic {
                    letter: *letter,
                    spec: spec.to_owned(),
                });
            }
            _ => break,
        }
        rest = tail;
    }
    Ok((written, rest))
}

/// Parses `:(...)`; `rest` is what follows the parenthesis.
fn parse_long_magic<'a>(spec: &BStr, rest: &'a [u8]) -> Result<(ExplicitMagic, &'a [u8]), Error> {
    let mut written = ExplicitMagic::default();
    let mut rest = rest;
    loop {
        let len = unescaped_len(rest);
        let (word, tail) = rest.split_at_checked(len).unwrap_or((rest, b""));
        match word {
            b"" => {}
            b"top" => written.magic.top = true,
            b"literal" => written.magic.literal = true,
            b"glob" => written.magic.glob = true,
            b"icase" => written.magic.icase = true,
            b"exclude" => written.magic.exclude = true,
            b"attr" => {}
            _ => {
                if let Some(number) = word.strip_prefix(b"prefix:") {
                    written.prefix_len = parse_prefix_len(number)?;
                } else if let Some(conditions) = word.strip_prefix(b"attr:") {
                    if written.attributes.is_some() {
                        return Err(Error::SecondAttributes);
                    }
                    written.attributes = Some(parse_attributes(conditions)?);
                } else {
                    return Err(Error::InvalidMagic {
                        magic: word.into(),
                        spec: spec.to_owned(),
                    });
                }
            }
        }
        match tail {
            [b')', path @ ..] => return Ok((written, path)),
            [b',', tail @ ..] => rest = tail,
            _ => return Err(Error::UnclosedMagic(spec.to_owned())),
        }
    }
}

/// Returns how many bytes of `text` come before an unescaped comma or closing parenthesis.
fn unescaped_len(text: &[u8]) -> usize {
    let mut bytes = text.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b',' | b')' => return at,
            _ => {}
        }
    }
    text.len()
}

/// Parses the number after `prefix:` like C's strtol (an empty one is 0). A negative number counts as not given.
fn parse_prefix_len(number: &[u8]) -> Result<Option<usize>, Error> {
    if number.is_empty() {
        return Ok(Some(0));
    }
    let number: i32 = number
        .trim_start()
        .to_str()
        .ok()
        .and_then(|number| number.parse().ok())
        .ok_or(Error::InvalidPrefix)?;
    Ok(usize::try_from(number).ok())
}

fn parse_attributes(conditions: &[u8]) -> Result<Vec<AttributeCondition>, Error> {
    if conditions.is_empty() {
        return Err(Error::EmptyAttributes);
    }
    conditions
        .split(|&byte| byte == b' ')
        .filter(|condition| !condition.is_empty())
        .map(parse_attribute)
        .collect()
}

fn parse_attribute(condition: &[u8]) -> Result<AttributeCondition, Error> {
    let (name, state) = match condition {
        [b'!', name @ ..] => (name, AttributeState::Unspecified),
        [b'-', name @ ..] => (name, AttributeState::Unset),
        _ => match condition.split_once_str("=") {
            None => (condition, AttributeState::Set),
            Some((name, value)) => (name, AttributeState::Value(unescape(value)?)),
        },
    };
    let is_valid = !name.is_empty()
        && !name.starts_with(b"-")
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    if !is_valid {
        return Err(Error::InvalidAttribute(name.into()));
    }
    Ok(AttributeCondition {
        name: name.into(),
        state,
    })
}

fn unescape(value: &[u8]) -> Result<BString, Error> {
    let mut unescaped = BString::default();
    let mut bytes = value.iter();
    while let Some(mut byte) = bytes.next() {
        if *byte == b'\\' {
            byte = bytes.next().ok_or(Error::UnfinishedEscape)?;
        }
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b',' | b'-' | b'_')) {
            return Err(Error::InvalidValue(*byte));
        }
        unescaped.push(*byte);
    }
    Ok(unescaped)
}
