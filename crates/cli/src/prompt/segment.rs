//! From an answer to the text that shows it.

use bstr::BStr;

use super::answer::Answer;
use super::escape::{Color, Painted, Painter, Piece};
use super::format::{Element, Format};
use super::settings::Settings;
use super::visible::{columns, head, tail, visible};

/// How many digits of a commit's id are shown.
const COMMIT_LEN: usize = 8;

/// Everything a shell's script receives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Drawn {
    /// The segment; empty if there is no working copy.
    pub(super) fresh: Painted,
    /// The segment as it looks while a newer one is awaited.
    pub(super) stale: Painted,
    /// The directory.
    pub(super) directory: Painted,
}

/// Draws `answer` for the directory `directory`.
pub(super) fn draw(
    answer: Option<&Answer<'_>>,
    directory: &BStr,
    settings: &Settings,
    painter: &Painter,
) -> Drawn {
    let directory = shown_directory(directory, settings);
    let mut pieces = match answer {
        Some(answer) => pieces(answer, &directory, settings),
        None => Vec::new(),
    };
    let fresh = painter.paint(&pieces);
    for piece in &mut pieces {
        piece.color = settings.colors.stale;
    }
    Drawn {
        fresh,
        stale: painter.paint(&pieces),
        directory: painter.paint(&[directory]),
    }
}

/// The elements that have something to show, and the text between them.
fn pieces(answer: &Answer<'_>, directory: &Piece, settings: &Settings) -> Vec<Piece> {
    let default;
    let format = match &settings.format {
        Some(format) => format,
        None => {
            default = Format::default_of(answer.is_mercurial);
            &default
        }
    };
    let text = |text: &str| Piece {
        color: Color::Plain,
        text: visible(text.as_bytes(), settings.charset),
    };
    let mut all = Vec::new();
    let begin = format.elements.first().map(|(before, _)| before);
    for (before, element) in &format.elements {
        let shown = match element {
            Element::Directory => vec![directory.clone()],
            element => of_element(*element, answer, settings),
        };
        if shown.is_empty() {
            continue;
        }
        // The first shown element follows the format's initial text, not its own separator.
        let before = match all.is_empty() {
            true => begin.unwrap_or(before),
            false => before,
        };
        all.push(text(before));
        all.extend(shown);
    }
    if !all.is_empty() {
        all.push(text(&format.end));
    }
    all
}

fn of_element(element: Element, answer: &Answer<'_>, settings: &Settings) -> Vec<Piece> {
    let (colors, symbols) = (&settings.colors, &settings.symbols);
    let name = |symbol: &str, name: &[u8]| match name.is_empty() {
        true => Vec::new(),
        false => vec![
            Piece {
                color: Color::Plain,
                text: symbol.to_owned(),
            },
            Piece {
                color: colors.clean,
                text: cut(&visible(name, settings.charset), settings),
            },
        ],
    };
    let count = |color: Color, symbol: &str, count: usize| match count {
        0 => Vec::new(),
        count => vec![Piece {
            color,
            text: format!("{symbol}{count}"),
        }],
    };
    let distance = |behind: (&str, usize), ahead: (&str, usize)| {
        let pieces = [behind, ahead].map(|(symbol, number)| count(colors.clean, symbol, number));
        pieces.concat()
    };
    let commit = answer.commit.get(..COMMIT_LEN).unwrap_or(answer.commit);
    match element {
        Element::Where if !answer.branch.is_empty() => [
            name("", answer.branch),
            name(&symbols.topic, answer.topic),
            name(&symbols.bookmark, answer.bookmark),
        ]
        .concat(),
        Element::Where if !answer.tag.is_empty() => name(&symbols.tag, answer.tag),
        Element::Where => name(&symbols.commit, commit),
        Element::Branch => name("", answer.branch),
        Element::Tag => name(&symbols.tag, answer.tag),
        Element::Commit => name(&symbols.commit, commit),
        Element::Remote if answer.remote_branch == answer.branch => Vec::new(),
        Element::Remote => name(&symbols.remote, answer.remote_branch),
        Element::Summary => name("", answer.summary),
        Element::Upstream => distance(
            (&symbols.behind, answer.behind),
            (&symbols.ahead, answer.ahead),
        ),
        Element::Push => distance(
            (&symbols.push_behind, answer.push_behind),
            (&symbols.push_ahead, answer.push_ahead),
        ),
        Element::Stashes => count(colors.clean, &symbols.stashes, answer.stashes),
        Element::Action if answer.action.is_empty() => Vec::new(),
        Element::Action => vec![Piece {
            color: colors.conflicted,
            text: visible(answer.action, settings.charset),
        }],
        Element::Conflicted => count(colors.conflicted, &symbols.conflicted, answer.conflicted),
        Element::Staged => count(colors.modified, &symbols.staged, answer.staged),
        Element::Unstaged => count(colors.modified, &symbols.unstaged, answer.unstaged),
        Element::Untracked => count(colors.untracked, &symbols.untracked, answer.untracked),
        Element::Bookmark => name("", answer.bookmark),
        Element::Topic => name("", answer.topic),
        Element::Phase if answer.phase == b"public" => Vec::new(),
        Element::Phase => name("", answer.phase),
        Element::Added => count(colors.modified, &symbols.staged, answer.added),
        Element::Removed => count(colors.modified, &symbols.removed, answer.removed),
        Element::Modified => count(colors.modified, &symbols.unstaged, answer.modified),
        Element::Deleted => count(colors.modified, &symbols.deleted, answer.deleted),
        // The caller handles it: it is not part of the answer.
        Element::Directory => Vec::new(),
    }
}

/// Returns `name`, without its middle if it is too long.
fn cut(name: &str, settings: &Settings) -> String {
    let most = settings.name_columns;
    if most == 0 || columns(name) <= most {
        return name.to_owned();
    }
    // As in gitstatus's own prompts: 12 of 32 on each side.
    let side = most.saturating_mul(3).div_euclid(8).max(1);
    let ellipsis = &settings.symbols.ellipsis;
    format!("{}{ellipsis}{}", head(name, side), tail(name, side))
}

/// The directory, with `~` for the home directory, and without its beginning if it is too long.
fn shown_directory(directory: &BStr, settings: &Settings) -> Piece {
    let home = settings.home.as_ref();
    let below_home = home
        .and_then(|home| directory.strip_prefix(home.as_slice()))
        .filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
    let text = match below_home {
        Some(rest) => format!("~{}", visible(rest, settings.charset)),
        None => visible(directory, settings.charset),
    };
    let most = settings.directory_columns;
    let text = match most == 0 || columns(&text) <= most {
        true => text,
        false => {
            let ellipsis = &settings.symbols.ellipsis;
            let left = most.saturating_sub(columns(ellipsis));
            format!("{ellipsis}{}", tail(&text, left))
        }
    };
    Piece {
        color: settings.colors.directory,
        text,
    }
}

#[cfg(test)]
mod tests {
    use vigil_git::environment::Environment;

    use super::super::escape::Shell;
    use super::*;

    fn drawn(answer: Option<&Answer<'_>>, directory: &str, variables: &[(&str, &str)]) -> Drawn {
        let locale = [("LC_ALL", "C.UTF-8"), ("HOME", "/home/me")];
        let variables = locale.iter().chain(variables);
        let variables = variables.map(|&(name, value)| (name.into(), value.into()));
        let settings = Settings::of(&Environment::new(variables, "/"));
        let painter = Painter {
            shell: Shell::Zsh,
            has_color: true,
        };
        draw(answer, directory.into(), &settings, &painter)
    }

    fn all() -> Answer<'static> {
        Answer {
            commit: b"0123456789",
            branch: b"main",
            remote_branch: b"trunk",
            action: b"merge",
            tag: b"v1",
            summary: b"first",
            staged: 1,
            unstaged: 2,
            conflicted: 3,
            untracked: 4,
            ahead: 5,
            behind: 6,
            push_ahead: 7,
            push_behind: 8,
            stashes: 9,
            ..Answer::default()
        }
    }

    #[test]
    fn of_mercurial_all_is_shown() {
        let of_mercurial = Answer {
            is_mercurial: true,
            branch: b"default",
            bookmark: b"book",
            topic: b"top",
            phase: b"draft",
            action: b"graft",
            conflicted: 1,
            added: 2,
            removed: 3,
            modified: 4,
            deleted: 5,
            untracked: 6,
            staged: 5,
            unstaged: 9,
            ..Answer::default()
        };
        let shown = |variables: &[(&str, &str)]| {
            drawn(
                Some(&of_mercurial),
                "/",
                &[variables, &[("NO_COLOR", "1")]].concat(),
            )
        };
        let painted = shown(&[]).fresh.text;
        let want = "%F{76}default%f//%F{76}top%f@%F{76}book draft %F{196}graft ~1 %F{178}+2 -3 !4 ✘5 %F{39}?6%f";
        assert_eq!(painted, want);
        let format = [(
            "VIGIL_PROMPT_FORMAT",
            "{branch} {topic} {bookmark} {staged} {unstaged}",
        )];
        let want = "%F{76}default top book %F{178}+5 !9%f";
        assert_eq!(shown(&format).fresh.text, want);
        let public = Answer {
            phase: b"public",
            ..Answer::default()
        };
        let format = [("VIGIL_PROMPT_FORMAT", "{phase}")];
        assert_eq!(drawn(Some(&public), "/", &format).fresh.text, "");
    }

    #[test]
    fn all_is_shown_as_gitstatus_shows_it() {
        let drawn = drawn(Some(&all()), "/", &[]);
        let want = "%F{76}main ⇣6⇡5 ⇠8⇢7 *9 %F{196}merge ~3 %F{178}+1 !2 %F{39}?4%f";
        assert_eq!(drawn.fresh.text, want);
        assert_eq!(drawn.fresh.columns, 35);
        let stale = "%F{244}main ⇣6⇡5 ⇠8⇢7 *9 merge ~3 +1 !2 ?4%f";
        assert_eq!(drawn.stale.text, stale);
    }

    #[test]
    fn what_is_nothing_is_not_shown_and_no_text_before_it() {
        let branch = Answer {
            branch: b"main",
            ..Answer::default()
        };
        let format = [("VIGIL_PROMPT_FORMAT", "<{staged}, {branch}, {untracked}>")];
        assert_eq!(
            drawn(Some(&branch), "/", &format).fresh.text,
            "<%F{76}main%f>"
        );
        assert_eq!(drawn(Some(&Answer::default()), "/", &format).fresh.text, "");
        assert_eq!(drawn(None, "/", &format).fresh.text, "");
        let format = [("VIGIL_PROMPT_FORMAT", "{branch}{remote} {directory}")];
        assert_eq!(
            drawn(Some(&all()), "/", &format).fresh.text,
            "%F{76}main%f:%F{76}trunk %F{39}/%f"
        );
    }

    #[test]
    fn without_a_branch_there_is_a_tag_or_a_commit() {
        let tag = Answer {
            branch: b"",
            ..all()
        };
        let format = [("VIGIL_PROMPT_FORMAT", "{where}")];
        assert_eq!(drawn(Some(&tag), "/", &format).fresh.text, "#%F{76}v1%f");
        let commit = Answer { tag: b"", ..tag };
        let drawn = drawn(Some(&commit), "/", &format);
        assert_eq!(drawn.fresh.text, "@%F{76}01234567%f");
        assert_eq!(drawn.fresh.columns, 9);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        let long = Answer {
            branch: b"abcdefghijklmnopqrstuvwxyz0123456",
            ..Answer::default()
        };
        assert_eq!(
            drawn(Some(&long), "/", &[]).fresh.text,
            "%F{76}abcdefghijkl…vwxyz0123456%f"
        );
        let narrow = [("VIGIL_PROMPT_NAME_COLUMNS", "1")];
        assert_eq!(drawn(Some(&long), "/", &narrow).fresh.text, "%F{76}a…6%f");
        let narrow = [("VIGIL_PROMPT_DIRECTORY_COLUMNS", "5")];
        for (directory, want, width) in [
            ("/home/me", "~", 1),
            ("/home/me/x", "~/x", 3),
            ("/home/men", "…/men", 5),
            ("/a/日本語", "…本語", 5),
        ] {
            let shown = drawn(None, directory, &narrow).directory;
            let want = format!("%F{{39}}{want}%f");
            assert_eq!((shown.text, shown.columns), (want, width), "{directory}");
        }
    }
}
