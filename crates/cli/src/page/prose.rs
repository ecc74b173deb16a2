//! The texts in `pages/`.
//!
//! A line that begins with `# ` is a heading. Empty lines separate paragraphs. A paragraph whose lines all begin with four
//! spaces is preformatted, and one whose first line ends with `::` explains that line. `` `text` `` is to be typed literally, and
//! `<name>` is a placeholder.

use super::model::{Block, Section, Span};

/// Parses the sections of `text`.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for paragraph in text.split("\n\n") {
        let paragraph = paragraph.trim_matches('\n');
        let (heading, rest) = match paragraph.strip_prefix("# ") {
            Some(rest) => {
                let (title, rest) = rest.split_once('\n').unwrap_or((rest, ""));
                (Some(title), rest)
            }
            None => (None, paragraph),
        };
        if let Some(title) = heading {
            sections.push(Section {
                title: title.to_owned(),
                blocks: Vec::new(),
            });
        }
        if let (Some(section), false) = (sections.last_mut(), rest.is_empty()) {
            section.blocks.push(block(rest));
        }
    }
    sections
}

fn block(paragraph: &str) -> Block {
    const INDENT: &str = "    ";
    let literal: Option<Vec<String>> = paragraph
        .lines()
        .map(|line| line.strip_prefix(INDENT).map(str::to_owned))
        .collect();
    if let Some(lines) = literal {
        return Block::Literal(lines);
    }
    let first_line = paragraph.split_once('\n');
    match first_line.and_then(|(first, rest)| Some((first.strip_suffix("::")?, rest))) {
        Some((term, rest)) => Block::Item(spans(term), spans(rest)),
        None => Block::Paragraph(spans(paragraph)),
    }
}

/// Parses the spans of `text`. Any white space becomes one space.
pub(super) fn spans(text: &str) -> Vec<Span> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut spans = Vec::new();
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let quoted = match first {
            '`' => rest.get(1..).and_then(|rest| rest.split_once('`')),
            '<' => rest.get(1..).and_then(|rest| rest.split_once('>')),
            _ => None,
        };
        let Some((inner, behind)) = quoted else {
            plain.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        };
        if !plain.is_empty() {
            spans.push(Span::Plain(std::mem::take(&mut plain)));
        }
        spans.push(match first {
            '`' => Span::Strong(inner.to_owned()),
            _ => Span::Variable(inner.to_owned()),
        });
        rest = behind;
    }
    if !plain.is_empty() {
        spans.push(Span::Plain(plain));
    }
    spans
}
