//! The command line of `vigil status`.

use bstr::{BStr, BString, ByteSlice};

use super::column_style::ColumnStyle;
use crate::inside;
use crate::options::{Argument, Given, OptionEntry, OptionTable, Value, parse, rename_score};
use crate::output::Format;
use crate::reply::{Reply, bytes};

/// The options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Verbose,
    Short,
    Branch,
    ShowStash,
    AheadBehind,
    Porcelain,
    Long,
    Null,
    UntrackedFiles,
    Ignored,
    IgnoreSubmodules,
    Column,
    NoRenames,
    FindRenames,
    Format,
}

const fn flag(
    key: Key,
    short: Option<u8>,
    long: &'static str,
    help: &'static str,
) -> OptionEntry<Key> {
    OptionEntry {
        short,
        ..OptionEntry::flag(key, long, help)
    }
}

const fn valued(
    key: Key,
    short: Option<u8>,
    long: &'static str,
    argument: &'static str,
    help: &'static str,
) -> OptionEntry<Key> {
    OptionEntry {
        argument: Argument::Optional(argument),
        ..flag(key, short, long, help)
    }
}

const fn worded(words: &'static [&'static str], entry: OptionEntry<Key>) -> OptionEntry<Key> {
    OptionEntry {
        value: Value::Words(words),
        ..entry
    }
}

/// The options of git's `status`, then Vigil's own.
pub(super) const TABLE: OptionTable<Key> = OptionTable {
    synopsis: "git status [<options>] [--] [<pathspec>...]",
    headings: &[],
    entries: &[
        flag(Key::Verbose, Some(b'v'), "verbose", "be verbose"),
        flag(Key::Short, Some(b's'), "short", "show status concisely"),
        flag(Key::Branch, Some(b'b'), "branch", "show branch information"),
        flag(Key::ShowStash, None, "show-stash", "show stash information"),
        flag(
            Key::AheadBehind,
            None,
            "ahead-behind",
            "compute full ahead/behind values",
        ),
        worded(
            &["v1", "v2"],
            valued(
                Key::Porcelain,
                None,
                "porcelain",
                "version",
                "machine-readable output",
            ),
        ),
        flag(
            Key::Long,
            None,
            "long",
            "show status in long format (default)",
        ),
        flag(Key::Null, Some(b'z'), "null", "terminate entries with NUL"),
        worded(
            &["all", "normal", "no"],
            valued(
                Key::UntrackedFiles,
                Some(b'u'),
                "untracked-files",
                "mode",
                "show untracked files, optional modes: all, normal, no. (Default: all)",
            ),
        ),
        worded(
            &["traditional", "matching", "no"],
            valued(
                Key::Ignored,
                None,
                "ignored",
                "mode",
                "show ignored files, optional modes: traditional, matching, no. (Default: traditional)",
            ),
        ),
        worded(
            &["all", "dirty", "untracked", "none"],
            valued(
                Key::IgnoreSubmodules,
                None,
                "ignore-submodules",
                "when",
                "ignore changes to submodules, optional when: all, dirty, untracked. (Default: all)",
            ),
        ),
        worded(
            &[
                "always", "never", "auto", "column", "row", "plain", "dense", "nodense",
            ],
            valued(
                Key::Column,
                None,
                "column",
                "style",
                "list untracked files in columns",
            ),
        ),
        flag(Key::NoRenames, None, "no-renames", "do not detect renames"),
        OptionEntry {
            negatable: false,
            ..valued(
                Key::FindRenames,
                Some(b'M'),
                "find-renames",
                "n",
                "detect renames, optionally set similarity index",
            )
        },
        OptionEntry {
            is_own: true,
            argument: Argument::Required("format"),
            ..worded(
                &["json", "line"],
                valued(
                    Key::Format,
                    None,
                    "format",
                    "format",
                    "print in the format 'json' or 'line'",
                ),
            )
        },
    ],
};

/// The requested format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FormatChoice {
    /// None was requested: the configuration decides.
    #[default]
    Unspecified,
    /// A request was negated: the long format, whatever the configuration says.
    Negated,
    /// `--long`.
    Long,
    /// `--short`.
    Short,
    /// `--porcelain`.
    PorcelainV1,
    /// `--porcelain=v2`.
    PorcelainV2,
}

impl FormatChoice {
    /// The option that requests it.
    fn option(self) -> Option<&'static str> {
        match self {
            Self::Unspecified | Self::Negated => None,
            Self::Long => Some("--long"),
            Self::Short => Some("--short"),
            Self::PorcelainV1 | Self::PorcelainV2 => Some("--porcelain"),
        }
    }
}

/// The values of `--format`, and what they request.
const OWN_FORMATS: [(&str, Format); 2] = [("json", Format::Json), ("line", Format::Line)];

/// The parsed command line; `None` stands for what it does not say. Values that git checks only after parsing the whole line
/// are kept as given.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// The last requested one of git's formats.
    pub format: FormatChoice,
    /// The format of Vigil's own that `--format` requests.
    pub own: Option<Format>,
    pub branch: Option<bool>,
    pub stash: Option<bool>,
    pub ahead_behind: Option<bool>,
    pub nul_terminated: bool,
    pub untracked: Option<BString>,
    pub ignored: Option<BString>,
    pub ignore_submodules: Option<BString>,
    /// `--renames` and `--no-renames`.
    pub renames: Option<bool>,
    /// The score of `--find-renames`; 0 for the default.
    pub rename_score: Option<u32>,
    /// How often `--verbose` was given.
    pub verbosity: usize,
    /// The style of each `--column`, and `None` for each `--no-column`.
    pub columns: Vec<Option<BString>>,
    pub pathspecs: Vec<BString>,
}

impl Arguments {
    /// Parses the command line.
    ///
    /// # Errors
    /// The first problem on it, or the usage text if it is asked for.
    pub(super) fn parse(arguments: &[BString]) -> Result<Self, Reply> {
        let mut this = Self::default();
        this.pathspecs = parse(&TABLE, arguments, |key, given| this.apply(key, given))?;
        // There is no telling which of the two was meant.
        if let (Some(own), Some(other)) = (this.own, this.format.option()) {
            let named = OWN_FORMATS.iter().find(|(_, format)| *format == own);
            let own = named.map_or("", |(name, _)| name);
            return Err(Reply::usage_error(format!(
                "options '--format={own}' and '{other}' cannot be used together"
            )));
        }
        Ok(this)
    }

    fn apply(&mut self, key: Key, given: Given<'_>) -> Result<(), Reply> {
        let is_set = given != Given::Negated;
        let value_or = |default: &str| match given {
            Given::Bare => Some(default.into()),
            Given::With(value) => Some(value.to_owned()),
            Given::Negated => None,
        };
        match key {
            Key::Verbose if is_set => self.verbosity = self.verbosity.saturating_add(1),
            Key::Verbose => self.verbosity = 0,
            Key::Short if is_set => self.format = FormatChoice::Short,
            Key::Long if is_set => self.format = FormatChoice::Long,
            Key::Short | Key::Long => self.format = FormatChoice::Negated,
            Key::Porcelain => self.format = porcelain_version(given)?,
            Key::Format => self.own = inside::format_among(&OWN_FORMATS, given)?,
            Key::Branch => self.branch = Some(is_set),
            Key::ShowStash => self.stash = Some(is_set),
            Key::AheadBehind => self.ahead_behind = Some(is_set),
            Key::Null => self.nul_terminated = is_set,
            Key::UntrackedFiles => self.untracked = value_or("all"),
            Key::Ignored => self.ignored = value_or("traditional"),
            Key::IgnoreSubmodules => self.ignore_submodules = value_or("all"),
            Key::Column => {
                check_column_style(given)?;
                self.columns.push(value_or(""));
            }
            Key::NoRenames => self.renames = Some(!is_set),
            Key::FindRenames => {
                self.rename_score = Some(match given {
                    Given::With(value) => {
                        rename_score(value.strip_prefix(b"=").map_or(value, BStr::new))
                    }
                    _ => 0,
                });
            }
        }
        Ok(())
    }
}

fn porcelain_version(given: Given<'_>) -> Result<FormatChoice, Reply> {
    match given {
        Given::Negated => Ok(FormatChoice::Negated),
        Given::Bare => Ok(FormatChoice::PorcelainV1),
        Given::With(version) => match version.as_bytes() {
            b"v1" | b"1" => Ok(FormatChoice::PorcelainV1),
            b"v2" | b"2" => Ok(FormatChoice::PorcelainV2),
            _ => Err(Reply::fatal(bytes![
                "unsupported porcelain version '",
                version,
                "'"
            ])),
        },
    }
}

/// Columns apply only to the long format, but an invalid style is refused with any format.
fn check_column_style(given: Given<'_>) -> Result<(), Reply> {
    let Given::With(style) = given else {
        return Ok(());
    };
    ColumnStyle::default()
        .apply(style)
        .map_err(|rest| Reply::usage_error(bytes!["unsupported option '", rest, "'"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Result<Arguments, Reply> {
        let words: Vec<BString> = line.split_whitespace().map(BString::from).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn the_last_format_counts() {
        for (line, format) in [
            ("", FormatChoice::Unspecified),
            ("-s --long", FormatChoice::Long),
            ("--long --porcelain", FormatChoice::PorcelainV1),
            ("--porcelain=2 --no-short", FormatChoice::Negated),
            ("--po=v2", FormatChoice::PorcelainV2),
        ] {
            assert_eq!(arguments(line).unwrap().format, format, "{line}");
        }
    }

    #[test]
    fn json_is_no_format_of_git_s() {
        for line in [
            "--format=json",
            "-z --format=json",
            "-s --no-short --format=json",
            "--format json",
        ] {
            let own = arguments(line).unwrap().own;
            assert_eq!(own, Some(Format::Json), "{line}");
        }
        let back = arguments("--format=json --no-format --porcelain").unwrap();
        assert_eq!((back.own, back.format), (None, FormatChoice::PorcelainV1));
        let line = arguments("--format=json --format=line").unwrap();
        assert_eq!(line.own, Some(Format::Line));
        for (line, other) in [
            ("--format=json --porcelain", "--porcelain"),
            ("--porcelain=v2 --format=json", "--porcelain"),
            ("-s --format=json", "--short"),
            ("--format=json --long --branch", "--long"),
        ] {
            let text =
                format!("error: options '--format=json' and '{other}' cannot be used together\n");
            assert_eq!(arguments(line).unwrap_err(), Reply::complained(text, 129));
        }
    }

    #[test]
    fn values_are_joined_or_have_defaults() {
        let read = arguments("-zbuno --ignored -M=50% path -- -x").unwrap();
        assert!(read.nul_terminated);
        assert_eq!(read.branch, Some(true));
        assert_eq!(read.untracked.unwrap(), "no");
        assert_eq!(read.ignored.unwrap(), "traditional");
        assert_eq!(read.rename_score, Some(30_000));
        assert_eq!(read.pathspecs, ["path", "-x"]);
        let read = arguments("-u --no-ignored --renames --no-branch").unwrap();
        assert_eq!(read.untracked.unwrap(), "all");
        assert_eq!(read.ignored, None);
        assert_eq!(read.renames, Some(true));
        assert_eq!(read.branch, Some(false));
    }

    #[test]
    fn the_first_problem_is_reported() {
        let reply = arguments("--porcelain=3 --bogus").unwrap_err();
        let text = "fatal: unsupported porcelain version '3'\n";
        assert_eq!(reply, Reply::complained(text, 128));
        let reply = arguments("--column=row,x,auto").unwrap_err();
        let text = "error: unsupported option 'x,auto'\n";
        assert_eq!(reply, Reply::complained(text, 129));
        let reply = arguments("--format=xml").unwrap_err();
        assert_eq!(reply.code, 128);
    }
}
