//! Which paths patterns match: those of ignore files and those of a command line (`hg help patterns`, `hg help hgignore`).
//!
//! Patterns are Python regular expressions, or are turned into them. All patterns of a group are compiled into one automaton,
//! except those that are nothing but names, which are looked up, and those with lookahead or lookbehind, which get one each.
//! Size and time are bounded whatever the patterns are.

mod compiled;
mod file;
mod glob;
mod ignore;
mod kinds;
mod line;
mod lookaround;
mod matcher;
mod names;
mod portion;
mod read_alike;
mod regular;
mod sets;
mod user_paths;

pub use compiled::Compiled;
pub use file::{PatternFile, parse as parse_file};
pub use ignore::{Ignore, LoadedIgnore, SubincludeOutcome};
pub use kinds::{Kind, Pattern};
pub use line::{IgnoreLine, ignore_line};
pub use matcher::{Matcher, MatcherQuestion, refers_to_files};
pub use portion::{Nearest, Portion};
pub use regular::{RegexError, count_groups, searched, translate};
pub use user_paths::{
    DirectoriesInReach, canonical, from_top, leads_out_of_reach, outside_of_reach, shown_from,
};
