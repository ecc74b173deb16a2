//! The user's settings for prompts: variables whose names begin with `VIGIL_PROMPT_` (docs/prompt.md has a table).

use bstr::{BStr, BString, ByteSlice};
use vigil_git::environment::Environment;
use vigil_git::locale;

use super::escape::Color;
use super::format::Format;
use super::visible::{Charset, visible};

/// Colours by purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Colors {
    pub(super) clean: Color,
    pub(super) modified: Color,
    pub(super) untracked: Color,
    pub(super) conflicted: Color,
    pub(super) directory: Color,
    /// For everything, while a newer answer is awaited.
    pub(super) stale: Color,
}

/// Symbols before numbers and names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbols {
    pub(super) tag: String,
    pub(super) commit: String,
    pub(super) remote: String,
    pub(super) behind: String,
    pub(super) ahead: String,
    pub(super) push_behind: String,
    pub(super) push_ahead: String,
    pub(super) stashes: String,
    pub(super) conflicted: String,
    pub(super) staged: String,
    pub(super) unstaged: String,
    pub(super) untracked: String,
    pub(super) bookmark: String,
    pub(super) topic: String,
    pub(super) removed: String,
    pub(super) deleted: String,
    /// Stands for what was cut out.
    pub(super) ellipsis: String,
}

/// All settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// `None` if not set: then it depends on the version control system.
    pub(super) format: Option<Format>,
    pub(super) colors: Colors,
    pub(super) symbols: Symbols,
    /// The maximum width of a branch, tag or summary in columns. Longer ones are cut; 0 means never.
    pub(super) name_columns: usize,
    /// The same for the directory.
    pub(super) directory_columns: usize,
    /// Whether to use colour, unless the command line decides.
    pub(super) has_color: bool,
    pub(super) charset: Charset,
    /// The directory shown as `~`.
    pub(super) home: Option<BString>,
}

const NAME_COLUMNS: usize = 32;
const DIRECTORY_COLUMNS: usize = 60;

impl Settings {
    /// Reads `environment`. An invalid value counts as not set.
    pub(super) fn of(environment: &Environment) -> Self {
        let charset = charset(environment);
        let color = |name: &str, default: u8| {
            let value = setting(environment, &format!("COLOR_{name}"));
            let color = value.and_then(|value| Color::parse(value.to_str().ok()?));
            color.unwrap_or(Color::Index(default))
        };
        let symbol = |name: &str, default: &str, plain: &str| match (
            setting(environment, &format!("SYMBOL_{name}")),
            charset,
        ) {
            (Some(value), _) => visible(value, charset),
            (None, Charset::Unicode) => default.to_owned(),
            (None, Charset::Ascii) => plain.to_owned(),
        };
        let number = |name: &str, default: usize| {
            let value = setting(environment, name);
            let number = value.and_then(|value| value.to_str().ok()?.parse().ok());
            number.unwrap_or(default)
        };
        let format = setting(environment, "FORMAT").and_then(|text| Format::parse(text).ok());
        let home = environment
            .get("HOME")
            .map(|home| home.trim_end_with(|c| c == '/'));
        Self {
            format,
            colors: Colors {
                clean: color("CLEAN", 76),
                modified: color("MODIFIED", 178),
                untracked: color("UNTRACKED", 39),
                conflicted: color("CONFLICTED", 196),
                directory: color("DIRECTORY", 39),
                stale: color("STALE", 244),
            },
            symbols: Symbols {
                tag: symbol("TAG", "#", "#"),
                commit: symbol("COMMIT", "@", "@"),
                remote: symbol("REMOTE", ":", ":"),
                behind: symbol("BEHIND", "⇣", "<"),
                ahead: symbol("AHEAD", "⇡", ">"),
                push_behind: symbol("PUSH_BEHIND", "⇠", "<<"),
                push_ahead: symbol("PUSH_AHEAD", "⇢", ">>"),
                stashes: symbol("STASHES", "*", "*"),
                conflicted: symbol("CONFLICTED", "~", "~"),
                staged: symbol("STAGED", "+", "+"),
                unstaged: symbol("UNSTAGED", "!", "!"),
                untracked: symbol("UNTRACKED", "?", "?"),
                bookmark: symbol("BOOKMARK", "@", "@"),
                topic: symbol("TOPIC", "//", "//"),
                removed: symbol("REMOVED", "-", "-"),
                deleted: symbol("DELETED", "✘", "x"),
                ellipsis: symbol("ELLIPSIS", "…", ".."),
            },
            name_columns: number("NAME_COLUMNS", NAME_COLUMNS),
            directory_columns: number("DIRECTORY_COLUMNS", DIRECTORY_COLUMNS),
            has_color: has_color(environment),
            charset,
            home: home
                .filter(|home| home.starts_with(b"/"))
                .map(BString::from),
        }
    }
}

fn setting<'e>(environment: &'e Environment, name: &str) -> Option<&'e BStr> {
    environment.get(&format!("VIGIL_PROMPT_{name}"))
}

/// Returns whether colour is not refused (no-color.org) and the terminal has it.
fn has_color(environment: &Environment) -> bool {
    let is_refused = environment
        .get("NO_COLOR")
        .is_some_and(|value| !value.is_empty());
    !is_refused && environment.get("TERM").is_none_or(|term| term != "dumb")
}

/// The character set of the locale (locale(7)). Without a setting the locale is C.
fn charset(environment: &Environment) -> Charset {
    let locale = locale::of_variables(|name| environment.get(name));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    match locale.contains_str("utf-8") || locale.contains_str("utf8") {
        true => Charset::Unicode,
        false => Charset::Ascii,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let variables = variables
            .iter()
            .map(|&(name, value)| (name.into(), value.into()));
        Settings::of(&Environment::new(variables, "/"))
    }

    #[test]
    fn variables_configure_the_prompt() {
        let settings = settings(&[
            ("HOME", "/home/me/"),
            ("LANG", "de_DE.UTF-8"),
            ("VIGIL_PROMPT_COLOR_CLEAN", "green"),
            ("VIGIL_PROMPT_COLOR_MODIFIED", "no such colour"),
            ("VIGIL_PROMPT_SYMBOL_STAGED", "\x1b●"),
            ("VIGIL_PROMPT_NAME_COLUMNS", "0"),
            ("VIGIL_PROMPT_DIRECTORY_COLUMNS", "many"),
            ("VIGIL_PROMPT_FORMAT", "{branch}"),
        ]);
        assert_eq!(settings.colors.clean, Color::Index(2));
        assert_eq!(settings.colors.modified, Color::Index(178));
        assert_eq!(settings.symbols.staged, "?●");
        assert_eq!(settings.name_columns, 0);
        assert_eq!(settings.directory_columns, DIRECTORY_COLUMNS);
        assert_eq!(settings.format.unwrap().elements.len(), 1);
        assert_eq!(settings.home, Some("/home/me".into()));
        assert!(settings.has_color);
    }

    #[test]
    fn a_locale_without_unicode_has_plain_symbols() {
        assert_eq!(settings(&[]).symbols.ahead, ">");
        let c = settings(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")]);
        assert_eq!(c.symbols.ellipsis, "..");
        let utf = settings(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]);
        assert_eq!(utf.symbols.ahead, "⇡");
    }

    #[test]
    fn colour_can_be_refused() {
        assert!(!settings(&[("NO_COLOR", "1")]).has_color);
        assert!(settings(&[("NO_COLOR", "")]).has_color);
        assert!(!settings(&[("TERM", "dumb")]).has_color);
    }
}
