//! What is shown and in which order: text that contains elements, such as `{where} {staged}`.

use bstr::{BStr, ByteSlice};

/// Something that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// The branch, else the tag, else the commit.
    Where,
    Branch,
    Tag,
    Commit,
    /// The name of the upstream branch, if it differs.
    Remote,
    /// The first paragraph of the commit's message, on one line.
    Summary,
    /// Commits behind and ahead of the upstream.
    Upstream,
    /// Commits behind and ahead of the branch it is pushed to.
    Push,
    Stashes,
    /// The operation in progress.
    Action,
    Conflicted,
    Staged,
    Unstaged,
    Untracked,
    /// For Mercurial: the active bookmark.
    Bookmark,
    /// For Mercurial: the topic of the next commit.
    Topic,
    /// For Mercurial: the phase of the first parent, unless it is public.
    Phase,
    /// For Mercurial, as the three below: the number of files of this kind.
    Added,
    Removed,
    Modified,
    Deleted,
    /// The shell's working directory.
    Directory,
}

const ELEMENTS: [(&str, Element); 22] = [
    ("where", Element::Where),
    ("branch", Element::Branch),
    ("tag", Element::Tag),
    ("commit", Element::Commit),
    ("remote", Element::Remote),
    ("summary", Element::Summary),
    ("upstream", Element::Upstream),
    ("push", Element::Push),
    ("stashes", Element::Stashes),
    ("action", Element::Action),
    ("conflicted", Element::Conflicted),
    ("staged", Element::Staged),
    ("unstaged", Element::Unstaged),
    ("untracked", Element::Untracked),
    ("bookmark", Element::Bookmark),
    ("topic", Element::Topic),
    ("phase", Element::Phase),
    ("added", Element::Added),
    ("removed", Element::Removed),
    ("modified", Element::Modified),
    ("deleted", Element::Deleted),
    ("directory", Element::Directory),
];

/// The default, as in gitstatus's own prompts.
const DEFAULT: &str =
    "{where} {upstream} {push} {stashes} {action} {conflicted} {staged} {unstaged} {untracked}";

/// The default in Mercurial working copies.
const DEFAULT_OF_MERCURIAL: &str =
    "{where} {phase} {action} {conflicted} {added} {removed} {modified} {deleted} {untracked}";

/// Elements, each with the text before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) elements: Vec<(String, Element)>,
    /// The text after the last one.
    pub(super) end: String,
}

impl Format {
    /// The format if none is configured.
    pub(super) fn default_of(is_mercurial: bool) -> Self {
        let text = match is_mercurial {
            true => DEFAULT_OF_MERCURIAL,
            false => DEFAULT,
        };
        Self::parse(BStr::new(text)).unwrap_or(Self {
            elements: Vec::new(),
            end: String::new(),
        })
    }

    /// Parses `text`, in which `{{` and `}}` stand for braces.
    ///
    /// # Errors
    /// The name of an element that does not exist.
    pub(super) fn parse(text: &BStr) -> Result<Self, String> {
        let text = text.to_str_lossy();
        let mut elements = Vec::new();
        let mut before = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let is_doubled = letters.peek() == Some(&letter);
            match letter {
                '{' | '}' if is_doubled => {
                    letters.next();
                    before.push(letter);
                }
                '{' => {
                    let name: String = letters.by_ref().take_while(|one| *one != '}').collect();
                    let found = ELEMENTS.iter().find(|(known, _)| *known == name);
                    let (_, element) = found.ok_or(name)?;
                    elements.push((std::mem::take(&mut before), *element));
                }
                other => before.push(other),
            }
        }
        Ok(Self {
            elements,
            end: before,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_described() {
        let description = include_str!("../../../../docs/prompt.md");
        for (name, _) in ELEMENTS {
            assert!(description.contains(&format!("`{{{name}}}`")), "{name}");
        }
    }

    #[test]
    fn elements_stand_in_text() {
        let format = Format::parse("a{{{where}}}, {push}!".into()).unwrap();
        let elements = [
            ("a{".to_owned(), Element::Where),
            ("}, ".to_owned(), Element::Push),
        ];
        assert_eq!(format.elements, elements);
        assert_eq!(format.end, "!");
        assert_eq!(Format::parse("{nope}".into()), Err("nope".to_owned()));
        assert_eq!(Format::parse("{where".into()).unwrap().elements.len(), 1);
        assert_eq!(Format::parse("".into()).unwrap().elements, []);
        for is_mercurial in [false, true] {
            assert_eq!(Format::default_of(is_mercurial).elements.len(), 9);
        }
    }
}
