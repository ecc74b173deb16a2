//! Parses templates.

use std::cell::Cell;
use std::collections::HashMap;

use bstr::{BString, ByteSlice};
use vigil_hg::bytes::is_space;

use super::alias::{Alias, TemplateAliases};
use super::filters::Filter;
use super::{Keyword, TemplateExpr};

/// The maximum depth of nesting in a template.
const DEPTH_MAX: u32 = 32;

/// The maximum number of parts that aliases stand for.
const ALIASED_MAX: usize = 10_000;

/// Parses a template; returns `None` if it is malformed, or uses more than is supported here.
pub(super) fn template(text: &[u8], aliases: &TemplateAliases) -> Option<Vec<TemplateExpr>> {
    let mut parser = Parser {
        rest: text,
        depth: 0,
        aliases,
        arguments: HashMap::new(),
        aliased_left: &Cell::new(ALIASED_MAX),
    };
    parser.parts(None)
}

/// Parses the declaration of an alias: a name, perhaps with the names of arguments in parentheses.
pub(super) fn declaration(text: &[u8]) -> Option<(BString, Option<Vec<BString>>)> {
    let mut parser = Parser {
        rest: text,
        depth: 0,
        aliases: &TemplateAliases::default(),
        arguments: HashMap::new(),
        aliased_left: &Cell::new(0),
    };
    parser.skip_space();
    let name = parser.name()?;
    parser.skip_space();
    if parser.rest.is_empty() {
        return Some((name, None));
    }
    if !parser.take(b'(') {
        return None;
    }
    let mut names = Vec::new();
    parser.skip_space();
    while !parser.take(b')') {
        if !names.is_empty() && !parser.take(b',') {
            return None;
        }
        parser.skip_space();
        let name = parser.name().filter(|name| !names.contains(name))?;
        names.push(name);
        parser.skip_space();
    }
    parser.skip_space();
    parser.rest.is_empty().then_some((name, Some(names)))
}

struct Parser<'t> {
    rest: &'t [u8],
    depth: u32,
    aliases: &'t TemplateAliases,
    /// What the arguments of the alias whose definition is parsed stand for.
    arguments: HashMap<BString, TemplateExpr>,
    aliased_left: &'t Cell<usize>,
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
            let name = BString::from(self.word());
            self.skip_space();
            if self.rest.first() == Some(&b'(') || self.arguments.contains_key(&name) {
                return None;
            }
            part = match self.aliases.get(&name) {
                Some(alias) => self.expanded(alias, vec![part])?,
                None => TemplateExpr::Filtered(Box::new(part), Filter::of_name(&name)?),
            };
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

    /// Parses a name that may be declared.
    fn name(&mut self) -> Option<BString> {
        let name = BString::from(self.word());
        let first = name.first().filter(|first| !first.is_ascii_digit());
        first.is_some().then_some(name)
    }

    /// Returns what an alias that is a function stands for, with these arguments.
    fn expanded(&self, alias: &Alias, arguments: Vec<TemplateExpr>) -> Option<TemplateExpr> {
        let parameters = alias.parameters.as_ref()?;
        if parameters.len() != arguments.len() {
            return None;
        }
        let parameters = parameters.iter().cloned();
        self.defined(alias, parameters.zip(arguments).collect())
    }

    /// Parses the definition of an alias.
    fn defined(
        &self,
        alias: &Alias,
        arguments: HashMap<BString, TemplateExpr>,
    ) -> Option<TemplateExpr> {
        self.count_aliased(1)?;
        let mut parser = Parser {
            rest: &alias.definition,
            depth: self.depth,
            aliases: self.aliases,
            arguments,
            aliased_left: self.aliased_left,
        };
        let part = parser.expression()?;
        parser.skip_space();
        parser.rest.is_empty().then_some(part)
    }

    /// Counts parts that an alias stands for. Returns `None` if there are too many.
    fn count_aliased(&self, count: usize) -> Option<()> {
        let left = self.aliased_left.get().checked_sub(count)?;
        self.aliased_left.set(left);
        Some(())
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
        let alias = self.aliases.get(&word);
        if self.take(b'(') {
            if self.arguments.contains_key(&word) {
                return None;
            }
            let arguments = self.arguments()?;
            return match alias {
                Some(alias) => self.expanded(alias, arguments),
                None => function(&word, arguments),
            };
        }
        match (self.arguments.get(&word), alias) {
            (Some(argument), _) => {
                self.count_aliased(argument.size())?;
                Some(argument.clone())
            }
            (None, Some(alias)) if alias.parameters.is_none() => {
                self.defined(alias, HashMap::new())
            }
            _ => keyword(&word),
        }
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
            assert_eq!(
                template(text.as_bytes(), &TemplateAliases::default()),
                None,
                "{text}"
            );
        }
    }
    #[test]
    fn aliases_stand_for_a_bounded_number_of_parts() {
        let read = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, text)| ((*name).into(), (*text).into()));
            TemplateAliases::read(pairs)
        };
        let aliases = read(&[
            ("f(x)", "'{x}{x}'"),
            ("g(x)", "f(f(f(f(f(f(f(f(f(f(f(f(f(f(x))))))))))))))"),
            ("a", "'{b}'"),
            ("b", "a"),
            ("c", "'{path}\\n' "),
        ]);
        let parsed = |text: &str| template(text.as_bytes(), aliases.as_ref().unwrap());
        let plain = |text: &str| template(text.as_bytes(), &TemplateAliases::default());
        assert_eq!(
            parsed("{f('{path}')}"),
            plain("{'{\"{path}\"}{\"{path}\"}'}")
        );
        assert_eq!(parsed("{c}"), plain("{'{path}\\n'}"));
        assert_eq!(parsed("{c|upper}"), plain("{'{path}\\n'|upper}"));
        for text in [
            "{g(path)}",
            "{a}",
            "{f}",
            "{f(path, path)}",
            "{path|c}",
            "{c()}",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
        for wrong in [
            "", "x y", "1", "f(", "f(a b)", "f(a, a)", "f(a,)", "x-y", "f()()",
        ] {
            assert!(read(&[(wrong, "path")]).is_err(), "{wrong}");
        }
    }
}
