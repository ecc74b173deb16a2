//! A page as plain text, laid out like the output of man(1).

use unicode_width::UnicodeWidthStr;

use super::model::{Block, Page, Span};

/// The indents of text and of explanations, in cells.
const INDENT: usize = 7;
const INDENT_OF_ITEM: usize = 14;

/// A narrower terminal gets lines of this width anyway.
const WIDTH_MIN: usize = 40;
/// Longer lines are hard to read.
const WIDTH_MAX: usize = 80;

/// Writes the page in lines of at most `width` cells.
pub(crate) fn text(page: &Page, width: usize) -> String {
    let width = width.clamp(WIDTH_MIN, WIDTH_MAX);
    let mut out = String::new();
    for section in &page.sections {
        out.push_str(if out.is_empty() { "" } else { "\n" });
        out.push_str(&section.title);
        out.push('\n');
        let mut is_first = true;
        for block in &section.blocks {
            let is_parted = !is_first && !matches!(block, Block::Call(_));
            out.push_str(if is_parted { "\n" } else { "" });
            is_first = false;
            match block {
                Block::Paragraph(spans) => fill(&mut out, spans, INDENT, INDENT, width),
                Block::Call(spans) => fill(&mut out, spans, INDENT, INDENT_OF_ITEM, width),
                Block::Item(term, text) => {
                    fill(&mut out, term, INDENT, INDENT_OF_ITEM, width);
                    fill(&mut out, text, INDENT_OF_ITEM, INDENT_OF_ITEM, width);
                }
                Block::Literal(lines) => {
                    for line in lines {
                        let indent = INDENT.saturating_add(4);
                        out.push_str(&format!("{:indent$}{line}\n", ""));
                    }
                }
            }
        }
    }
    out
}

/// Fills lines with the words of `spans`. The first line is indented by `first` cells, the others by `other`.
fn fill(out: &mut String, spans: &[Span], first: usize, other: usize, width: usize) {
    let whole: String = spans.iter().map(plain).collect();
    let mut column = 0;
    for word in whole.split(' ') {
        let needs = word.width().saturating_add(1);
        if column == 0 {
            out.push_str(&" ".repeat(first));
            column = first;
        } else if column.saturating_add(needs) > width {
            out.push('\n');
            out.push_str(&" ".repeat(other));
            column = other;
        } else {
            out.push(' ');
            column = column.saturating_add(1);
        }
        out.push_str(word);
        column = column.saturating_add(word.width());
    }
    out.push('\n');
}

fn plain(span: &Span) -> String {
    match span {
        Span::Plain(text) | Span::Strong(text) => text.clone(),
        Span::Variable(name) => format!("<{name}>"),
    }
}
