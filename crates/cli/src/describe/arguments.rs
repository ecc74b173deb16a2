//! The command line of `vigil describe`.

use bstr::{BStr, BString, ByteSlice};
use vigil_history::describe::{CANDIDATES_MAX, DescribeOptions};

use crate::options::{Argument, Given, OptionEntry, OptionTable, integer, parse};
use crate::reply::Reply;

/// The options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Contains,
    Debug,
    All,
    Tags,
    Long,
    FirstParent,
    Abbrev,
    ExactMatch,
    Candidates,
    Match,
    Exclude,
    Always,
    Dirty,
    Broken,
}

/// The minimum length of an abbreviated id.
const DIGITS_MIN: i32 = 4;

const fn valued(
    key: Key,
    long: &'static str,
    argument: Argument,
    help: &'static str,
) -> OptionEntry<Key> {
    OptionEntry {
        argument,
        ..OptionEntry::flag(key, long, help)
    }
}

/// The options of git's `describe`.
pub(super) const TABLE: OptionTable<Key> = OptionTable {
    synopsis: "\
git describe [--all] [--tags] [--contains] [--abbrev=<n>] [<commit-ish>...]
   or: git describe [--all] [--tags] [--contains] [--abbrev=<n>] --dirty[=<mark>]
   or: git describe <blob>",
    headings: &[],
    entries: &[
        OptionEntry::flag(
            Key::Contains,
            "contains",
            "find the tag that comes after the commit",
        ),
        OptionEntry::flag(Key::Debug, "debug", "debug search strategy on stderr"),
        OptionEntry::flag(Key::All, "all", "use any ref"),
        OptionEntry::flag(Key::Tags, "tags", "use any tag, even unannotated"),
        OptionEntry::flag(Key::Long, "long", "always use long format"),
        OptionEntry::flag(Key::FirstParent, "first-parent", "only follow first parent"),
        valued(
            Key::Abbrev,
            "abbrev",
            Argument::Optional("n"),
            "use <n> digits to display object names",
        ),
        OptionEntry::flag(Key::ExactMatch, "exact-match", "only output exact matches"),
        valued(
            Key::Candidates,
            "candidates",
            Argument::Required("n"),
            "consider <n> most recent tags (default: 10)",
        ),
        valued(
            Key::Match,
            "match",
            Argument::Required("pattern"),
            "only consider tags matching <pattern>",
        ),
        valued(
            Key::Exclude,
            "exclude",
            Argument::Required("pattern"),
            "do not consider tags matching <pattern>",
        ),
        OptionEntry::flag(
            Key::Always,
            "always",
            "show abbreviated commit object as fallback",
        ),
        valued(
            Key::Dirty,
            "dirty",
            Argument::Optional("mark"),
            "append <mark> on dirty working tree (default: \"-dirty\")",
        ),
        valued(
            Key::Broken,
            "broken",
            Argument::Optional("mark"),
            "append <mark> on broken working tree (default: \"-broken\")",
        ),
    ],
};

/// The parsed command line.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub options: DescribeOptions,
    /// `--contains`.
    pub contains: bool,
    /// The mark of `--dirty`.
    pub dirty: Option<BString>,
    /// The mark of `--broken`.
    pub broken: Option<BString>,
    /// What to describe.
    pub revisions: Vec<BString>,
}

impl Arguments {
    /// Parses the command line.
    ///
    /// # Errors
    /// The first problem on it, or the usage text if it is asked for.
    pub(super) fn parse(arguments: &[BString]) -> Result<Self, Reply> {
        let mut this = Self::default();
        this.revisions = parse(&TABLE, arguments, |key, given| this.apply(key, given))?;
        Ok(this)
    }

    fn apply(&mut self, key: Key, given: Given<'_>) -> Result<(), Reply> {
        let is_set = given != Given::Negated;
        let options = &mut self.options;
        let mark_or = |default: &str| match given {
            Given::Bare => Some(default.into()),
            Given::With(mark) => Some(mark.to_owned()),
            Given::Negated => None,
        };
        match key {
            Key::Contains => self.contains = is_set,
            Key::Debug => options.is_debugged = is_set,
            Key::All => options.all = is_set,
            Key::Tags => options.tags = is_set,
            Key::Long => options.long = is_set,
            Key::FirstParent => options.first_parent = is_set,
            Key::Abbrev => options.abbreviation = digits(given)?,
            Key::ExactMatch if is_set => options.candidates = 0,
            Key::ExactMatch => options.candidates = DescribeOptions::default().candidates,
            Key::Candidates => {
                let count = match given {
                    Given::With(count) => integer("candidates", count)?,
                    _ => 0,
                };
                let count = usize::try_from(count).unwrap_or(0);
                options.candidates = count.min(CANDIDATES_MAX);
            }
            Key::Match => collect(&mut options.patterns, given),
            Key::Exclude => collect(&mut options.excluded, given),
            Key::Always => options.always = is_set,
            Key::Dirty => self.dirty = mark_or("-dirty"),
            Key::Broken => self.broken = mark_or("-broken"),
        }
        Ok(())
    }
}

/// Adds a pattern, or clears the list if the option was negated.
fn collect(patterns: &mut Vec<BString>, given: Given<'_>) {
    match given {
        Given::With(pattern) => patterns.push(pattern.to_owned()),
        _ => patterns.clear(),
    }
}

/// The number of digits of an id; `None` if left open.
fn digits(given: Given<'_>) -> Result<Option<usize>, Reply> {
    let number = match given {
        Given::Bare => return Ok(None),
        Given::Negated => return Ok(Some(0)),
        Given::With(value) => leading_int(value),
    };
    match number {
        None => Err(Reply::usage_error(
            "option `abbrev' expects a numerical value",
        )),
        Some(0) => Ok(Some(0)),
        Some(number) => Ok(usize::try_from(number.max(DIGITS_MIN)).ok()),
    }
}

/// Parses a decimal number as C's `strtol` does, truncated to an `int`. `None` if that is not the whole text.
fn leading_int(value: &BStr) -> Option<i32> {
    let text = value.to_str().ok()?;
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let is_negative = text.starts_with('-');
    let saturated = if is_negative { i64::MIN } else { i64::MAX };
    let number = text.parse().unwrap_or(saturated);
    // git cuts it, too.
    Some(number as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{OwnOptions, usage};

    const USAGE: &str = "\
usage: git describe [--all] [--tags] [--contains] [--abbrev=<n>] [<commit-ish>...]
   or: git describe [--all] [--tags] [--contains] [--abbrev=<n>] --dirty[=<mark>]
   or: git describe <blob>

    --[no-]contains       find the tag that comes after the commit
    --[no-]debug          debug search strategy on stderr
    --[no-]all            use any ref
    --[no-]tags           use any tag, even unannotated
    --[no-]long           always use long format
    --[no-]first-parent   only follow first parent
    --[no-]abbrev[=<n>]   use <n> digits to display object names
    --[no-]exact-match    only output exact matches
    --[no-]candidates <n> consider <n> most recent tags (default: 10)
    --[no-]match <pattern>
                          only consider tags matching <pattern>
    --[no-]exclude <pattern>
                          do not consider tags matching <pattern>
    --[no-]always         show abbreviated commit object as fallback
    --[no-]dirty[=<mark>] append <mark> on dirty working tree (default: \"-dirty\")
    --[no-]broken[=<mark>]
                          append <mark> on broken working tree (default: \"-broken\")

";

    fn read(line: &str) -> Result<Arguments, String> {
        let words: Vec<BString> = line.split_whitespace().map(BString::from).collect();
        Arguments::parse(&words).map_err(|reply| String::from_utf8(reply.stderr).unwrap())
    }

    #[test]
    fn the_usage_text_is_git_s() {
        assert_eq!(usage(&TABLE, OwnOptions::IfVigil).as_bstr(), USAGE);
    }

    #[test]
    fn the_last_word_on_an_option_counts() {
        let read = read("--match a --no-match --match=b --exact-match --no-exact-match --dirty --dirty=x --no-dirty c")
            .unwrap();
        assert_eq!(read.options.patterns, ["b"]);
        assert_eq!(read.options.candidates, 10);
        assert_eq!(read.dirty, None);
        assert_eq!(read.revisions, ["c"]);
    }

    #[test]
    fn numbers_are_kept_in_their_limits() {
        for (line, digits) in [
            ("--abbrev", None),
            ("--no-abbrev", Some(0)),
            ("--abbrev=0", Some(0)),
            ("--abbrev=3", Some(4)),
            ("--abbrev=-3", Some(4)),
            ("--abbrev=20", Some(20)),
        ] {
            assert_eq!(read(line).unwrap().options.abbreviation, digits, "{line}");
        }
        for (line, candidates) in [
            ("--candidates=100", CANDIDATES_MAX),
            ("--candidates -1", 0),
            ("--no-candidates", 0),
        ] {
            assert_eq!(read(line).unwrap().options.candidates, candidates, "{line}");
        }
        let complaint = "error: option `abbrev' expects a numerical value\n";
        assert_eq!(read("--abbrev=").unwrap_err(), complaint);
        assert_eq!(read("--abbrev=5x").unwrap_err(), complaint);
    }
}
