//! The part of Mercurial's language of revisions that is about one changeset, or two with all between them.

use bstr::{BStr, BString, ByteSlice};

use super::not_understood;
use crate::abort::{Abort, Kind};

/// What a text says of changesets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    /// A name.
    Symbol(BString),
    /// `wdir()`.
    WorkingCopy,
    /// `p1()` or `p2()`: the parent of this number, from 0, of the working copy.
    WorkingParent(usize),
    /// `X^`: its first or second parent; with 0 itself.
    Parent(Box<Self>, u8),
    /// `X~N`.
    Ancestor(Box<Self>, u32),
    /// `X:Y`, in which either may be missing.
    Range(Option<Box<Self>>, Option<Box<Self>>),
    /// `X::Y`.
    Path(Box<Self>, Box<Self>),
    /// `desc(TEXT)`: whatever has the text in its description.
    Description(BString),
}

/// The first and the last changeset that are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Nothing is meant.
    None,
    /// One changeset.
    One(Target),
    /// Two, even if they are the same.
    Pair([Target; 2]),
    /// The ends of a set, which may be one changeset.
    Set([Target; 2]),
}

use super::Target;

/// No text nests deeper than this.
const DEPTH_MAX: u32 = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Symbol(BString),
    Caret,
    Tilde,
    Colon,
    Colons,
    Open,
    Close,
}

/// Whether a name means something.
type Lookup<'l> = dyn FnMut(&BStr) -> Result<bool, Abort> + 'l;

impl Expression {
    /// Reads a text. `knows` says which names mean something, where one may be a difference of two.
    ///
    /// # Errors
    /// It is none of this part of the language, or what Mercurial would complain of.
    pub(super) fn parse(text: &BStr, knows: &mut Lookup<'_>) -> Result<Self, Abort> {
        let tokens = tokens(text, knows)?;
        let mut parser = Parser {
            tokens: &tokens,
            text,
            depth: 0,
        };
        let parsed = parser.range()?;
        match parser.tokens {
            [] => Ok(parsed),
            _ => Err(not_understood(text)),
        }
    }
}

fn tokens(text: &BStr, knows: &mut Lookup<'_>) -> Result<Vec<Token>, Abort> {
    let refused = || not_understood(text);
    let mut tokens = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let token = match (*first, after) {
            (byte, _) if byte.is_ascii_whitespace() => continue,
            (b'^', _) => Token::Caret,
            (b'~', _) => Token::Tilde,
            (b'(', _) => Token::Open,
            (b')', _) => Token::Close,
            (b':', [b':', more @ ..]) | (b'.', [b'.', more @ ..]) => {
                rest = more;
                Token::Colons
            }
            (b':', _) => Token::Colon,
            (quote @ (b'\'' | b'"'), _) => {
                let end = after.find_byte(quote).ok_or_else(refused)?;
                let (quoted, more) = after.split_at(end);
                if quoted.is_empty() && text.len() == 2 {
                    let said = "empty string is not a valid revision";
                    return Err(Abort::of(Kind::Parse, said));
                }
                if quoted.is_empty() || quoted.contains(&b'\\') {
                    return Err(refused());
                }
                rest = more.get(1..).unwrap_or_default();
                Token::Symbol(quoted.into())
            }
            // A number from the end.
            (b'-', [digit, ..]) if digit.is_ascii_digit() => {
                let len = after.iter().take_while(|byte| is_within_name(**byte));
                let (digits, more) = after.split_at(len.count());
                let is_operand = matches!(tokens.last(), Some(Token::Symbol(_) | Token::Close));
                if is_operand || !digits.iter().all(u8::is_ascii_digit) {
                    return Err(refused());
                }
                rest = more;
                Token::Symbol([b"-", digits].concat().into())
            }
            (byte, _) if is_first_of_name(byte) => {
                let len = name_len(after);
                let (more_of_name, more) = after.split_at(len);
                let name = BString::from([&[byte], more_of_name].concat());
                rest = more;
                if matches!(name.as_slice(), b"and" | b"or" | b"not") {
                    return Err(refused());
                }
                // What is searched for is no name, and without quotes no difference either.
                if name.contains(&b'-') && is_searched_for(&tokens) {
                    return Err(refused());
                }
                if name.contains(&b'-') && !knows(name.as_bstr())? {
                    let parts = name.split(|byte| *byte == b'-');
                    for part in parts.filter(|part| !part.is_empty()) {
                        if !knows(part.as_bstr())? {
                            return Err(unknown(part));
                        }
                    }
                    return Err(refused());
                }
                Token::Symbol(name)
            }
            _ => return Err(refused()),
        };
        tokens.push(token);
    }
    Ok(tokens)
}

/// Whether what comes after these tokens is a text to search descriptions for.
fn is_searched_for(tokens: &[Token]) -> bool {
    matches!(tokens, [.., Token::Symbol(name), Token::Open] if name == "desc")
}

fn unknown(name: &[u8]) -> Abort {
    let said = [b"unknown revision '", name, b"'"].concat();
    Abort::of(Kind::Input, said)
}

fn is_first_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._@".contains(&byte) || byte >= 0x80
}

fn is_within_name(byte: u8) -> bool {
    is_first_of_name(byte) || b"-/".contains(&byte)
}

/// How long the rest of a name is; two dots end it.
fn name_len(rest: &[u8]) -> usize {
    let len = rest
        .iter()
        .take_while(|byte| is_within_name(**byte))
        .count();
    let name = rest.get(..len).unwrap_or_default();
    name.find("..").unwrap_or(len)
}

struct Parser<'t> {
    tokens: &'t [Token],
    text: &'t BStr,
    depth: u32,
}

impl Parser<'_> {
    fn take(&mut self, token: &Token) -> bool {
        match self.tokens.split_first() {
            Some((first, rest)) if first == token => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }

    fn symbol(&mut self) -> Option<BString> {
        match self.tokens.split_first() {
            Some((Token::Symbol(name), rest)) => {
                self.tokens = rest;
                Some(name.clone())
            }
            _ => None,
        }
    }

    fn is_at_operand(&self) -> bool {
        matches!(self.tokens.first(), Some(Token::Symbol(_) | Token::Open))
    }

    fn range(&mut self) -> Result<Expression, Abort> {
        let first = match self.is_at_operand() {
            true => Some(Box::new(self.operand()?)),
            false => None,
        };
        if let Some(first) = &first
            && self.take(&Token::Colons)
        {
            let last = self.operand()?;
            return Ok(Expression::Path(first.clone(), Box::new(last)));
        }
        if self.take(&Token::Colon) {
            let last = match self.is_at_operand() {
                true => Some(Box::new(self.operand()?)),
                false => None,
            };
            return Ok(Expression::Range(first, last));
        }
        let first = first.ok_or_else(|| not_understood(self.text))?;
        Ok(*first)
    }

    fn operand(&mut self) -> Result<Expression, Abort> {
        let mut operand = self.primary()?;
        loop {
            if self.take(&Token::Caret) {
                let which = match self.is_at_operand() {
                    false => 1,
                    true => {
                        let which = self.symbol();
                        let which = which.as_ref().and_then(|text| number(text.as_bstr()));
                        let is_parent = |which: &u32| *which <= 2;
                        let which = which.filter(is_parent);
                        which.ok_or_else(|| {
                            Abort::of(Kind::Parse, "^ expects a number 0, 1, or 2")
                        })?
                    }
                };
                self.deeper()?;
                let which = u8::try_from(which).unwrap_or(2);
                operand = Expression::Parent(Box::new(operand), which);
            } else if self.take(&Token::Tilde) {
                let count = self.symbol().ok_or_else(|| not_understood(self.text))?;
                let count = number(count.as_bstr());
                let count = count.ok_or_else(|| Abort::of(Kind::Parse, "~ expects a number"))?;
                self.deeper()?;
                operand = Expression::Ancestor(Box::new(operand), count);
            } else {
                return Ok(operand);
            }
        }
    }

    /// What is between the parentheses of `desc`.
    fn description(&mut self) -> Result<Expression, Abort> {
        let text = self.symbol().filter(|_| self.take(&Token::Close));
        let text = text.ok_or_else(|| not_understood(self.text))?;
        let searched = text.strip_prefix(b"literal:").unwrap_or(&text);
        match searched.starts_with(b"re:") && searched.len() == text.len() || !searched.is_ascii() {
            true => Err(not_understood(self.text)),
            false => Ok(Expression::Description(searched.into())),
        }
    }

    fn deeper(&mut self) -> Result<(), Abort> {
        self.depth = self.depth.saturating_add(1);
        match self.depth > DEPTH_MAX {
            true => Err(not_understood(self.text)),
            false => Ok(()),
        }
    }

    fn primary(&mut self) -> Result<Expression, Abort> {
        self.deeper()?;
        if self.take(&Token::Open) {
            let inner = self.range()?;
            // A pair in parentheses is a pair no more.
            let is_one = !matches!(inner, Expression::Range(..) | Expression::Path(..));
            return match self.take(&Token::Close) && is_one {
                true => Ok(inner),
                false => Err(not_understood(self.text)),
            };
        }
        let name = self.symbol().ok_or_else(|| not_understood(self.text))?;
        if !self.take(&Token::Open) {
            return Ok(Expression::Symbol(name));
        }
        let which = match name.as_slice() {
            b"p1" => 0,
            b"p2" => 1,
            b"wdir" if self.take(&Token::Close) => return Ok(Expression::WorkingCopy),
            b"desc" => return self.description(),
            _ => return Err(not_understood(self.text)),
        };
        if self.take(&Token::Close) {
            return Ok(Expression::WorkingParent(which));
        }
        let inner = self.range()?;
        let is_one = !matches!(inner, Expression::Range(..) | Expression::Path(..));
        if !is_one || !self.take(&Token::Close) {
            return Err(not_understood(self.text));
        }
        let which = if which == 0 { 1 } else { 2 };
        Ok(Expression::Parent(Box::new(inner), which))
    }
}

fn number(text: &BStr) -> Option<u32> {
    text.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Expression, Abort> {
        Expression::parse(text.into(), &mut |name| Ok(name == "a-b"))
    }

    #[test]
    fn names_and_their_relatives_are_read() {
        let symbol = |name: &str| Expression::Symbol(name.into());
        let some = |name: &str| Some(Box::new(symbol(name)));
        for (text, expected) in [
            ("a-b", symbol("a-b")),
            (" 'x y' ", symbol("x y")),
            ("-2", symbol("-2")),
            ("a:-1", Expression::Range(some("a"), some("-1"))),
            (":", Expression::Range(None, None)),
            (
                "a..b",
                Expression::Path(some("a").unwrap(), some("b").unwrap()),
            ),
            ("wdir()", Expression::WorkingCopy),
            ("p2()", Expression::WorkingParent(1)),
            ("desc('i-0')", Expression::Description("i-0".into())),
            (
                "desc(\"literal:re:x\")",
                Expression::Description("re:x".into()),
            ),
            ("p1(a)", Expression::Parent(some("a").unwrap(), 1)),
            ("(a)^2", Expression::Parent(some("a").unwrap(), 2)),
            (
                "a^~3",
                Expression::Ancestor(Box::new(Expression::Parent(some("a").unwrap(), 1)), 3),
            ),
        ] {
            assert_eq!(parsed(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_more_is_refused() {
        for (text, kind) in [
            ("a+b", Kind::Unsupported),
            ("a or b", Kind::Unsupported),
            ("all()", Kind::Unsupported),
            ("desc(re:x)", Kind::Unsupported),
            ("desc('re:x')", Kind::Unsupported),
            ("desc(a-b)", Kind::Unsupported),
            ("desc(x-y)", Kind::Unsupported),
            ("desc(x", Kind::Unsupported),
            ("desc()", Kind::Unsupported),
            ("desc(h\u{e9})", Kind::Unsupported),
            ("(a:b)", Kind::Unsupported),
            ("a::", Kind::Unsupported),
            ("a~-1", Kind::Parse),
            ("a^3", Kind::Parse),
            ("a~x", Kind::Parse),
            ("b-c", Kind::Input),
            ("'a", Kind::Unsupported),
            (&"(".repeat(100_000), Kind::Unsupported),
        ] {
            assert_eq!(parsed(text).unwrap_err().kind, kind, "{text}");
        }
    }
}
