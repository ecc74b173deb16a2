//! Parses templates.

use bstr::{BString, ByteSlice};
use vigil_hg::bytes::is_space;

use super::filters::Filter;
use super::{Keyword, TemplateExpr};

/// The maximum depth of nesting in a template.
const DEPTH_MAX: u32 = 32;

/// Parses a template; returns `None` if it is malformed, or uses more than is supported here.
pub(super) fn template(text: &[u8]) -> Option<Vec<TemplateExpr>> {
    let mut parser = Parser {
        rest: text,
        depth: 0,
    };
    parser.parts(None)
}

struct Parser<'t> {
    rest: &'t [u8],
    depth: u32,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.rest.first() == Some(&byte);
        if is_next {
            self.next();
        }
        is_next
    }

    fn skip_space(&mut self) {
        while self.rest.first().is_some_and(|byte| is_space(*byte)) {
            self.next();
        }
    }

    /// Parses text and expressions up to the end, or up to and including a quote.
    fn parts(&mut self, quote: Option<u8>) -> Option<Vec<TemplateExpr>> {
        self.depth = self
            .depth
            .checked_add(1)
            .filter(|depth| *depth <= DEPTH_MAX)?;
        let mut parts = Vec::new();
        let mut text = Vec::new();
        loop {
            match self.next() {
                None if quote.is_none() => break,
                None => return None,
                byte if byte == quote => break,
                Some(b'{') => {
                    push_text(&mut parts, &mut text);
                    let expression = self.expression()?;
                    self.skip_space();
                    if !self.take(b'}') {
                        return None;
                    }
                    parts.push(expression);
                }
                Some(b'\\') => self.escape(&mut text)?,
                Some(byte) => text.push(byte),
            }
        }
        push_text(&mut parts, &mut text);
        self.depth = self.depth.saturating_sub(1);
        Some(parts)
    }

    /// Parses what follows a backslash, by Python's rules.
    fn escape(&mut self, text: &mut Vec<u8>) -> Option<()> {
        let byte = self.next()?;
        let plain = match byte {
            b'\n' => return Some(()),
            b'\\' | b'\'' | b'"' | b'{' => byte,
            b'a' => 0x07,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'x' => {
                let high = vigil_hg::node::digit(self.next()?)?;
                let low = vigil_hg::node::digit(self.next()?)?;
                high << 4 | low
            }
            b'0'..=b'7' => {
                let mut value = u32::from(byte & 7);
                for _ in 0..2 {
                    match self.rest.first() {
                        Some(digit @ b'0'..=b'7') => {
                            value = value << 3 | u32::from(digit & 7);
                            self.next();
                        }
                        _ => break,
                    }
                }
                u8::try_from(value).ok()?
            }
            other => {
                text.push(b'\\');
                other
            }
        };
        text.push(plain);
        Some(())
    }

    fn expression(&mut self) -> Option<TemplateExpr> {
        self.depth = self
            .depth
            .checked_add(1)
            .filter(|depth| *depth <= DEPTH_MAX)?;
        let depth = self.depth;
        let mut part = self.operand()?;
        loop {
            self.skip_space();
            if !self.take(b'|') {
                break;
            }
            // Each filter nests the expression one level deeper.
            self.depth = self
                .depth
                .checked_add(1)
                .filter(|depth| *depth <= DEPTH_MAX)?;
            self.skip_space();
            let filter = Filter::of_name(self.word())?;
            self.skip_space();
            if self.rest.first() == Some(&b'(') {
                return None;
            }
            part = TemplateExpr::Filtered(Box::new(part), filter);
        }
        self.depth = depth.saturating_sub(1);
        Some(part)
    }

    fn word(&mut self) -> &[u8] {
        let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let len = self.rest.iter().take_while(is_letter).count();
        let (word, rest) = self.rest.split_at_checked(len).unwrap_or_default();
        self.rest = rest;
        word
    }

    fn operand(&mut self) -> Option<TemplateExpr> {
        self.skip_space();
        if self.take(b'(') {
            let part = self.expression()?;
            self.skip_space();
            return self.take(b')').then_some(part);
        }
        if let Some(quote @ (b'\'' | b'"')) = self.rest.first().copied() {
            self.next();
            return self.parts(Some(quote)).map(TemplateExpr::All);
        }
        let word = BString::from(self.word());
        self.skip_space();
        if self.take(b'(') {
            let arguments = self.arguments()?;
            return function(&word, arguments);
        }
        keyword(&word)
    }

    fn arguments(&mut self) -> Option<Vec<TemplateExpr>> {
        let mut arguments = Vec::new();
        loop {
            self.skip_space();
            if arguments.is_empty() && self.take(b')') {
                return Some(arguments);
            }
            arguments.push(self.expression()?);
            self.skip_space();
            match self.next()? {
                b',' => {}
                b')' => return Some(arguments),
                _ => return None,
            }
        }
    }
}

fn push_text(parts: &mut Vec<TemplateExpr>, text: &mut Vec<u8>) {
    if !text.is_empty() {
        parts.push(TemplateExpr::Text(std::mem::take(text).into()));
    }
}

fn keyword(word: &[u8]) -> Option<TemplateExpr> {
    Some(TemplateExpr::Keyword(match word {
        b"path" => Keyword::Path,
        b"status" => Keyword::Status,
        b"source" => Keyword::Source,
        b"itemtype" => Keyword::ItemType,
        b"index" => Keyword::Index,
        _ => return None,
    }))
}

fn function(name: &BString, arguments: Vec<TemplateExpr>) -> Option<TemplateExpr> {
    let mut rest = arguments.into_iter();
    let mut next = || rest.next().map(Box::new);
    let part = match name.as_bytes() {
        b"if" => {
            let (condition, then) = (next()?, next()?);
            let otherwise = next().unwrap_or_else(|| Box::new(TemplateExpr::Missing));
            TemplateExpr::If(condition, then, otherwise)
        }
        b"ifeq" => {
            let (one, other, then) = (next()?, next()?, next()?);
            let otherwise = next().unwrap_or_else(|| Box::new(TemplateExpr::Missing));
            TemplateExpr::IfEqual(one, other, then, otherwise)
        }
        b"separate" => {
            let separator = next()?;
            return Some(TemplateExpr::Separate(separator, rest.collect()));
        }
        b"label" => TemplateExpr::Label(next()?, next()?),
        b"relpath" => TemplateExpr::RelativePath(next()?),
        _ => return None,
    };
    rest.next().is_none().then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_none() {
        for text in [
            "{node}",
            "{path|nope}",
            "{path",
            "{path %}",
            "{}",
            "{if(path)}",
            "{if(path,'a','b','c')}",
            "{'a}",
            "{path|count}",
            "\\x4",
            "a\\",
            "{path + 1}",
            &"{(".repeat(100_000),
            &"{'".repeat(100_000),
        ] {
            assert_eq!(template(text.as_bytes()), None, "{text}");
        }
    }
}
