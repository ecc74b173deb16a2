//! A page as roff(7), with the macros of man(7).

use super::model::{Block, Page, Span};

/// The date of the last change to the content of the pages.
const CHANGED: &str = "2026-11-29";

/// Writes the page for man(1).
pub(crate) fn roff(page: &Page) -> String {
    let mut out = format!(
        ".TH {} 1 {CHANGED} \"Vigil {}\" \"Vigil Manual\"\n.nh\n.ad l\n",
        escape(&page.name.to_uppercase()),
        env!("CARGO_PKG_VERSION")
    );
    for section in &page.sections {
        out.push_str(&format!(".SH \"{}\"\n", escape(&section.title)));
        let mut is_first = true;
        for block in &section.blocks {
            match block {
                Block::Paragraph(spans) => {
                    // A heading separates by itself.
                    out.push_str(if is_first { "" } else { ".PP\n" });
                    line(&mut out, spans);
                }
                Block::Call(spans) => {
                    out.push_str(".HP 4\n");
                    line(&mut out, spans);
                }
                Block::Item(term, text) => {
                    out.push_str(".TP\n");
                    line(&mut out, term);
                    line(&mut out, text);
                }
                Block::Literal(lines) => {
                    out.push_str(if is_first { "" } else { ".PP\n" });
                    out.push_str(".RS 4\n.nf\n");
                    for text in lines {
                        line(&mut out, &[Span::Strong(text.clone())]);
                    }
                    out.push_str(".fi\n.RE\n");
                }
            }
            is_first = false;
        }
    }
    out
}

/// Writes a line of text so that roff does not see a request in it.
fn line(out: &mut String, spans: &[Span]) {
    let mut text = String::new();
    for span in spans {
        match span {
            Span::Plain(plain) => text.push_str(&escape(plain)),
            Span::Strong(strong) => text.push_str(&format!("\\fB{}\\fR", escape(strong))),
            Span::Variable(name) => text.push_str(&format!("\\fI{}\\fR", escape(name))),
        }
    }
    if text.starts_with(['.', '\'']) {
        out.push_str("\\&");
    }
    out.push_str(&text);
    out.push('\n');
}

/// Escapes the characters that roff would replace by typographic ones.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            '"' => escaped.push_str("\\(dq"),
            other => escaped.push(other),
        }
    }
    escaped
}
