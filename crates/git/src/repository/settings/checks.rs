//! Values that have no effect here, but at which `git status` exits if they are invalid.

mod diff;

use bstr::ByteSlice;

use crate::config::{Config, ConfigEntry, Error};
use vigil_model::raw_text::raw;

/// Values that must be booleans.
const BOOLEANS: [&str; 20] = [
    "core.bare",
    "core.fsyncobjectfiles",
    "core.ignorestat",
    "core.lockfilepid",
    "core.protecthfs",
    "core.protectntfs",
    "diff.autorefreshindex",
    "diff.indentheuristic",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.relative",
    "diff.suppress-blank-empty",
    "diff.suppressblankempty",
    "diff.trustexitcode",
    "pager.color",
    "color.pager",
    "core.autocrlf",
    "core.safecrlf",
    "sparse.expectfilesoutsideofpatterns",
    "user.useconfigonly",
];

/// Booleans that may also be another word.
const MORE_WORDS: [(&str, &str); 2] = [("core.autocrlf", "input"), ("core.safecrlf", "warn")];

/// When to use colours: a boolean, or `always`, `never` or `auto`.
const COLORS: [&str; 6] = [
    "color.advice",
    "color.diff",
    "color.status",
    "color.ui",
    "diff.color",
    "status.color",
];

/// Advice that can be turned off, each by a boolean.
const ADVICE: [&str; 48] = [
    "addembeddedrepo",
    "addemptypathspec",
    "addignoredfile",
    "ambiguousfetchrefspec",
    "amworkdir",
    "checkoutambiguousremotebranchname",
    "commitbeforemerge",
    "defaultbranchname",
    "detachedhead",
    "diverging",
    "fetchremoteheadwarn",
    "fetchshowforcedupdates",
    "forcedeletebranch",
    "graftfiledeprecated",
    "ignoredhook",
    "implicitidentity",
    "mergeconflict",
    "nestedtag",
    "objectnamewarning",
    "pushalreadyexists",
    "pushfetchfirst",
    "pushneedsforce",
    "pushnonffcurrent",
    "pushnonffmatching",
    "pushnonfastforward",
    "pushrefneedsupdate",
    "pushrepolookslikeref",
    "pushunqualifiedrefname",
    "pushupdaterejected",
    "rebasetodoerror",
    "refsyntax",
    "resetnorefresh",
    "resolveconflict",
    "rmhints",
    "sequencerinuse",
    "setupstreamfailure",
    "skippedcherrypicks",
    "sparseindexexpanded",
    "statusaheadbehindwarning",
    "statushints",
    "statusuoption",
    "submodulealternateerrorstrategydie",
    "submodulemergeconflict",
    "submodulesnotupdated",
    "suggestdetachinghead",
    "updatesparsepath",
    "waitingforeditor",
    "worktreeaddorphan",
];

/// Entries that must have a value, whatever it is.
const REQUIRED: [&str; 19] = [
    "attr.tree",
    "author.email",
    "author.name",
    "committer.email",
    "committer.name",
    "core.askpass",
    "core.checkroundtripencoding",
    "core.editor",
    "core.fsync",
    "core.fsyncmethod",
    "core.whitespace",
    "diff.dstprefix",
    "diff.external",
    "diff.srcprefix",
    "diff.wordregex",
    "i18n.commitencoding",
    "i18n.logoutputencoding",
    "user.email",
    "user.name",
];

/// Booleans of which only the last value must be valid.
const LAST_BOOLEANS: [&str; 15] = [
    "feature.manyfiles",
    "feature.experimental",
    "core.commitgraph",
    "commitgraph.readchangedpaths",
    "gc.writecommitgraph",
    "fetch.writecommitgraph",
    "pack.usesparse",
    "pack.usepathwalk",
    "core.multipackindex",
    "index.sparse",
    "index.skiphash",
    "pack.readreverseindex",
    "pack.usebitmapboundarytraversal",
    "core.usereplacerefs",
    "core.preloadindex",
];

/// What a git command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandScope {
    /// Objects, through references that are given to it.
    Objects,
    /// Also all references.
    References,
    /// Also the index.
    Index,
}

/// The values of `fetch.negotiationAlgorithm`.
const NEGOTIATIONS: [&str; 4] = ["skipping", "noop", "consecutive", "default"];

/// The types that an abbreviated id may be resolved to (`core.disambiguate`).
const HINTS: [&str; 6] = ["none", "commit", "committish", "tree", "treeish", "blob"];

/// Numbers of which only the last value must be valid.
const LAST_INTS: [&str; 4] = [
    "commitgraph.generationversion",
    "commitgraph.changedpathsversion",
    "index.version",
    "core.maxtreedepth",
];

/// Non-negative numbers of which only the last value must be valid.
const LAST_SIZES: [&str; 3] = [
    "core.deltabasecachelimit",
    "core.packedgitwindowsize",
    "core.packedgitlimit",
];

/// Entries that only some commands look up, with the least that those read.
const LAST_BY_SCOPE: [(&str, CommandScope); 2] = [
    ("core.hookspath", CommandScope::References),
    ("core.preloadindex", CommandScope::Index),
];

/// Checks the values that git looks up before it goes through all entries, for a command that reads as much as `scope` says.
pub(super) fn check_last_values(config: &Config, scope: CommandScope) -> Result<(), Error> {
    let applies = |key: &str| {
        let mut some = LAST_BY_SCOPE.iter();
        some.all(|(name, least)| *name != key || *least <= scope)
    };
    for key in LAST_BOOLEANS.into_iter().filter(|key| applies(key)) {
        config.boolean(key)?;
    }
    for key in LAST_INTS {
        config.entry(key).map(|entry| entry.int()).transpose()?;
    }
    for key in LAST_SIZES {
        config
            .entry(key)
            .map(|entry| entry.unsigned())
            .transpose()?;
    }
    if let Some(entry) = config.entry("core.untrackedcache") {
        entry.required()?;
    }
    if applies("core.hookspath") {
        config.path("core.hookspath")?;
    }
    if let Some(entry) = config.entry("fetch.negotiationalgorithm") {
        let value = entry.required()?;
        if !NEGOTIATIONS.iter().any(|word| is_word(&entry, word)) {
            let text = format!(
                "unknown fetch negotiation algorithm '{value}'",
                value = raw(value)
            );
            return Err(Error::Bad(text));
        }
    }
    Ok(())
}

/// Checks what git looks up when it locks the index: with whom its files are shared (`core.sharedRepository`).
pub(super) fn check_sharing(config: &Config) -> Result<(), Error> {
    let Some(entry) = config.entry("core.sharedrepository") else {
        return Ok(());
    };
    let Some(value) = entry.value else {
        return Ok(());
    };
    if [&b"umask"[..], b"group", b"all", b"world", b"everybody"].contains(&value.as_bytes()) {
        return Ok(());
    }
    let digits = value.to_str().ok();
    let mode = digits.and_then(|digits| i32::from_str_radix(digits, 8).ok());
    match mode {
        None if !value.is_empty() => entry.boolean().map(drop),
        None | Some(0..=2) => Ok(()),
        Some(mode) if mode & 0o600 == 0o600 => Ok(()),
        Some(mode) => Err(Error::Bad(format!(
            "problem with core.sharedRepository filemode value (0{mode:03o}).\n\
             The owner of files must always have read and write permissions."
        ))),
    }
}

/// Checks one entry.
pub(super) fn check(entry: &ConfigEntry<'_>) -> Result<(), Error> {
    let Ok(key) = entry.key.to_str() else {
        return Ok(());
    };
    if BOOLEANS.contains(&key) {
        let has_word = MORE_WORDS
            .iter()
            .any(|(name, word)| *name == key && is_word(entry, word));
        return if has_word {
            Ok(())
        } else {
            entry.boolean().map(drop)
        };
    }
    if COLORS.contains(&key) {
        let has_word = ["always", "never", "auto"]
            .iter()
            .any(|word| is_word(entry, word));
        return if has_word {
            Ok(())
        } else {
            entry.boolean().map(drop)
        };
    }
    if REQUIRED.contains(&key) {
        return entry.required().map(drop);
    }
    if let Some(advice) = key.strip_prefix("advice.") {
        if ADVICE.contains(&advice) {
            entry.boolean()?;
        }
        return Ok(());
    }
    match key {
        "branch.autosetupmerge" => match entry.value.map(|value| value.as_bytes()) {
            Some(b"always" | b"inherit" | b"simple") => Ok(()),
            _ => entry.boolean().map(drop),
        },
        "core.abbrev" => abbreviation(entry),
        "core.disambiguate" => {
            let value = entry.required()?;
            match HINTS.iter().any(|hint| is_word(entry, hint)) {
                true => Ok(()),
                false => {
                    let text =
                        format!("unknown hint type for '{key}': {value}", value = raw(value));
                    Err(entry.complaint(text))
                }
            }
        }
        "core.compression" | "core.loosecompression" => level(entry, "zlib"),
        "pack.compression" => level(entry, "pack"),
        "core.commentchar" | "core.commentstring" => comment(entry),
        "core.createobject" => match entry.required()?.as_bytes() {
            b"rename" | b"link" => Ok(()),
            value => Err(Error::Bad(format!(
                "invalid mode for object creation: {}",
                raw(value)
            ))),
        },
        "pack.packsizelimit" => entry.unsigned().map(drop),
        "branch.autosetuprebase" => match entry.required()?.as_bytes() {
            b"never" | b"local" | b"remote" | b"always" => Ok(()),
            _ => Err(entry.complaint(format!("malformed value for {key}"))),
        },
        "push.default" => push_default(entry),
        _ => match key.strip_prefix("diff.") {
            Some(name) => diff::check(name, entry),
            None => Ok(()),
        },
    }
}

fn is_word(entry: &ConfigEntry<'_>, word: &str) -> bool {
    entry
        .value
        .is_some_and(|value| value.eq_ignore_ascii_case(word.as_bytes()))
}

fn abbreviation(entry: &ConfigEntry<'_>) -> Result<(), Error> {
    entry.required()?;
    let is_off = ["false", "no", "off", ""]
        .iter()
        .any(|word| is_word(entry, word));
    if is_word(entry, "auto") || is_off {
        return Ok(());
    }
    match entry.int()? {
        4.. => Ok(()),
        length => Err(entry.complaint(format!("abbrev length out of range: {length}"))),
    }
}

fn comment(entry: &ConfigEntry<'_>) -> Result<(), Error> {
    let value = entry.required()?;
    let why = if value.is_empty() {
        "must have at least one character"
    } else if value.contains(&b'\n') {
        "cannot contain newline"
    } else {
        return Ok(());
    };
    Err(entry.complaint(format!("{} {why}", raw(entry.key))))
}

fn level(entry: &ConfigEntry<'_>, what: &str) -> Result<(), Error> {
    match entry.int()? {
        -1..=9 => Ok(()),
        level => Err(Error::Bad(format!("bad {what} compression level {level}"))),
    }
}

fn push_default(entry: &ConfigEntry<'_>) -> Result<(), Error> {
    let value = entry.required()?;
    match value.as_bytes() {
        b"nothing" | b"matching" | b"simple" | b"upstream" | b"tracking" | b"current" => Ok(()),
        _ => Err(Error::Explained {
            messages: vec![
                format!(
                    "error: malformed value for {}: {value}",
                    raw(entry.key),
                    value = raw(value)
                ),
                "error: must be one of nothing, matching, simple, upstream or current".into(),
            ],
            text: entry.refusal(),
        }),
    }
}
