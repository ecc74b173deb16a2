//! The syntax tree of Mercurial's language of revisions (`hg help revisions`).

use bstr::{BStr, BString, ByteSlice};

use crate::abort::{Abort, Kind};
use crate::bytes::{bytes, is_space};

/// An expression that means a set of changesets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    /// A name.
    Symbol(BString),
    /// A name in quotes.
    Text(BString),
    /// `NAME(...)`, with its arguments.
    Call(BString, Vec<Self>),
    /// `X^`: the first parent.
    FirstParent(Box<Self>),
    /// `X^N`: the parent of this number; with 0, `X` itself.
    Parent(Box<Self>, Box<Self>),
    /// `X~N`.
    Ancestor(Box<Self>, Box<Self>),
    /// `X:Y`, in which either side may be missing.
    Range(Option<Box<Self>>, Option<Box<Self>>),
    /// `X::Y`, in which either side may be missing.
    Path(Option<Box<Self>>, Option<Box<Self>>),
    /// `X and Y`.
    And(Box<Self>, Box<Self>),
    /// `X or Y`.
    Or(Box<Self>, Box<Self>),
    /// `X - Y`.
    Minus(Box<Self>, Box<Self>),
    /// `X % Y`, in which `Y` may be missing.
    Only(Box<Self>, Option<Box<Self>>),
    /// `not X`.
    Not(Box<Self>),
    /// `-X`.
    Negated(Box<Self>),
    /// An expression in parentheses.
    Group(Box<Self>),
    /// Expressions between commas.
    List(Vec<Self>),
    /// `NAME=X`: an argument with its name.
    Named(Box<Self>, Box<Self>),
}

/// The functions whose arguments may be named here.
const NAMED_ARGUMENTS: [&[u8]; 2] = [b"ancestors", b"descendants"];

/// The maximum number of tokens in a text. It also bounds the depth of the tree.
const TOKENS_MAX: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Caret,
    Tilde,
    Colon,
    Colons,
    Minus,
    Percent,
    And,
    Or,
    Not,
    Comma,
    Equals,
    Open,
    Close,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Symbol(BString),
    Text(BString),
    Operator(Operator),
}

/// Returns whether a name means something.
type Lookup<'l> = dyn FnMut(&BStr) -> Result<bool, Abort> + 'l;

impl Expression {
    /// Parses a text. `knows` says which names exist: an unknown name with a dash is a difference of two.
    ///
    /// # Errors
    /// The text is not of this language, or Mercurial would complain of it.
    pub(super) fn parse(text: &BStr, knows: &mut Lookup<'_>) -> Result<Self, Abort> {
        Self::parsed(text, tokens(text, knows, false)?)
    }

    /// Parses a part of an alias, in which names may begin with a dollar sign, and have no dash.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub(super) fn parse_alias(text: &BStr) -> Result<Self, Abort> {
        Self::parsed(text, tokens(text, &mut |_| Ok(false), true)?)
    }

    fn parsed(text: &BStr, tokens: Vec<Token>) -> Result<Self, Abort> {
        let mut parser = Parser {
            tokens: &tokens,
            text,
        };
        let parsed = parser.parse(0)?;
        match parser.tokens {
            [] => Ok(parsed),
            _ => Err(not_understood(text)),
        }
    }

    /// Makes the checks that Mercurial makes before it looks up any name.
    ///
    /// # Errors
    /// An operator stands where it means nothing.
    pub(super) fn check(&self) -> Result<(), Abort> {
        let wrong = |message: &str| Err(Abort::of(Kind::Parse, message));
        match self {
            Self::Symbol(_) | Self::Text(_) => Ok(()),
            Self::Negated(inner) => match **inner {
                Self::Symbol(_) | Self::Text(_) => Ok(()),
                _ => wrong("can't negate that"),
            },
            Self::Path(None, None) => wrong("can't use '::' in this context"),
            Self::FirstParent(inner) | Self::Not(inner) | Self::Group(inner) => inner.check(),
            Self::Parent(one, other)
            | Self::Ancestor(one, other)
            | Self::And(one, other)
            | Self::Or(one, other)
            | Self::Minus(one, other) => one.check().and_then(|()| other.check()),
            Self::Named(_, value) => value.check(),
            Self::Only(one, other) => {
                let other = other.as_deref();
                one.check().and_then(|()| other.map_or(Ok(()), Self::check))
            }
            Self::Range(one, other) | Self::Path(one, other) => {
                let mut both = [one, other].into_iter().flatten();
                both.try_for_each(|inner| inner.check())
            }
            Self::Call(_, all) | Self::List(all) => all.iter().try_for_each(Self::check),
        }
    }

    /// Makes the same expression of parts that are `made` of its parts.
    ///
    /// # Errors
    /// One cannot be made.
    pub(super) fn rebuilt(
        &self,
        mut made: impl FnMut(&Self) -> Result<Self, Abort>,
    ) -> Result<Self, Abort> {
        let mut one = |part: &Self| made(part).map(Box::new);
        Ok(match self {
            Self::Symbol(_) | Self::Text(_) => self.clone(),
            Self::Call(name, all) => {
                let all: Result<_, _> = all.iter().map(made).collect();
                Self::Call(name.clone(), all?)
            }
            Self::List(all) => Self::List(all.iter().map(made).collect::<Result<_, _>>()?),
            Self::FirstParent(inner) => Self::FirstParent(one(inner)?),
            Self::Not(inner) => Self::Not(one(inner)?),
            Self::Negated(inner) => Self::Negated(one(inner)?),
            Self::Group(inner) => Self::Group(one(inner)?),
            Self::Parent(a, b) => Self::Parent(one(a)?, one(b)?),
            Self::Ancestor(a, b) => Self::Ancestor(one(a)?, one(b)?),
            Self::And(a, b) => Self::And(one(a)?, one(b)?),
            Self::Or(a, b) => Self::Or(one(a)?, one(b)?),
            Self::Minus(a, b) => Self::Minus(one(a)?, one(b)?),
            Self::Named(a, b) => Self::Named(one(a)?, one(b)?),
            Self::Only(a, b) => Self::Only(one(a)?, b.as_deref().map(one).transpose()?),
            Self::Range(a, b) => {
                let a = a.as_deref().map(&mut one).transpose()?;
                Self::Range(a, b.as_deref().map(one).transpose()?)
            }
            Self::Path(a, b) => {
                let a = a.as_deref().map(&mut one).transpose()?;
                Self::Path(a, b.as_deref().map(one).transpose()?)
            }
        })
    }

    /// Returns whether the expression is a range, not counting one in parentheses.
    pub(super) fn is_range(&self) -> bool {
        matches!(self, Self::Range(..))
    }

    /// Whether the expression is the name `name`.
    pub(super) fn is_symbol(&self, name: &str) -> bool {
        matches!(self, Self::Symbol(symbol) if symbol == name)
    }

    /// Returns the word that this expression is, in quotes or not.
    pub(super) fn word(&self) -> Option<BString> {
        match self {
            Self::Symbol(word) | Self::Text(word) => Some(word.clone()),
            Self::Negated(inner) => {
                let word = inner.word()?;
                Some([b"-".as_slice(), &word].concat().into())
            }
            Self::Group(inner) => inner.word(),
            _ => None,
        }
    }
}

fn tokens(text: &BStr, knows: &mut Lookup<'_>, is_alias: bool) -> Result<Vec<Token>, Abort> {
    let refused = || not_understood(text);
    let mut tokens = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        // Each name with a dash is looked up.
        if tokens.len() > TOKENS_MAX {
            return Err(refused());
        }
        rest = after;
        let operator = match (*first, after) {
            (byte, _) if is_space(byte) => continue,
            (b'^', _) => Operator::Caret,
            (b'~', _) => Operator::Tilde,
            (b'(', _) => Operator::Open,
            (b')', _) => Operator::Close,
            (b',', _) => Operator::Comma,
            (b'=', _) => Operator::Equals,
            (b'-', _) => Operator::Minus,
            (b'%', _) => Operator::Percent,
            (b'&', _) => Operator::And,
            (b'|' | b'+', _) => Operator::Or,
            (b'!', _) => Operator::Not,
            (b':', [b':', more @ ..]) | (b'.', [b'.', more @ ..]) => {
                rest = more;
                Operator::Colons
            }
            (b':', _) => Operator::Colon,
            (quote @ (b'\'' | b'"'), _) => {
                let (quoted, more) = quoted(after, quote).ok_or_else(refused)?;
                // Escape sequences in such a text are not understood here.
                if quoted.contains(&b'\\') {
                    return Err(refused());
                }
                rest = more;
                tokens.push(Token::Text(quoted.into()));
                continue;
            }
            (b'r', [quote @ (b'\'' | b'"'), more @ ..]) => {
                let (quoted, more) = quoted(more, *quote).ok_or_else(refused)?;
                rest = more;
                tokens.push(Token::Text(quoted.into()));
                continue;
            }
            (byte, _) if is_first_of_name(byte) || is_alias && byte == b'$' => {
                let len = name_len(after);
                let (more_of_name, more) = after.split_at(len);
                let name = BString::from([&[byte], more_of_name].concat());
                rest = more;
                match name.as_slice() {
                    b"and" => Operator::And,
                    b"or" => Operator::Or,
                    b"not" => Operator::Not,
                    _ if name.contains(&b'-') && !knows(name.as_bstr())? => {
                        difference(&name, &mut tokens);
                        continue;
                    }
                    _ => {
                        tokens.push(Token::Symbol(name));
                        continue;
                    }
                }
            }
            _ => return Err(refused()),
        };
        tokens.push(Token::Operator(operator));
    }
    match tokens.len() > TOKENS_MAX {
        true => Err(refused()),
        false => Ok(tokens),
    }
}

/// Splits a text at the `quote` that ends it.
fn quoted(text: &[u8], quote: u8) -> Option<(&[u8], &[u8])> {
    let mut at = 0usize;
    loop {
        match *text.get(at)? {
            byte if byte == quote => {
                let (quoted, rest) = text.split_at(at);
                return Some((quoted, rest.get(1..)?));
            }
            b'\\' => at = at.saturating_add(2),
            _ => at = at.saturating_add(1),
        }
    }
}

/// Adds the tokens of an unknown name with dashes: the difference of its parts.
fn difference(name: &BString, tokens: &mut Vec<Token>) {
    for (number, part) in name.split(|byte| *byte == b'-').enumerate() {
        if number > 0 {
            tokens.push(Token::Operator(Operator::Minus));
        }
        if !part.is_empty() {
            tokens.push(Token::Symbol(part.into()));
        }
    }
}

fn is_first_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._@".contains(&byte) || byte >= 0x80
}

fn is_within_name(byte: u8) -> bool {
    is_first_of_name(byte) || b"-/".contains(&byte)
}

/// Returns the length of the rest of a name, which ends at two dots.
fn name_len(rest: &[u8]) -> usize {
    let len = rest
        .iter()
        .take_while(|byte| is_within_name(**byte))
        .count();
    let name = rest.get(..len).unwrap_or_default();
    name.find("..").unwrap_or(len)
}

impl Operator {
    /// Returns how strongly the operator binds what is before it.
    fn strength(self) -> u32 {
        match self {
            Self::Open => 21,
            Self::Caret | Self::Tilde => 18,
            Self::Colons => 17,
            Self::Colon => 15,
            Self::Not => 10,
            Self::Minus | Self::Percent | Self::And => 5,
            Self::Or => 4,
            Self::Equals => 3,
            Self::Comma => 2,
            Self::Close => 0,
        }
    }
}

struct Parser<'t> {
    tokens: &'t [Token],
    text: &'t BStr,
}

impl Parser<'_> {
    fn next(&mut self) -> Result<Token, Abort> {
        let split = self.tokens.split_first();
        let (first, rest) = split.ok_or_else(|| self.refused())?;
        self.tokens = rest;
        Ok(first.clone())
    }

    fn refused(&self) -> Abort {
        not_understood(self.text)
    }

    fn takes(&mut self, operator: Operator) -> bool {
        match self.tokens.split_first() {
            Some((Token::Operator(first), rest)) if *first == operator => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }

    /// Returns whether the next token may begin an expression.
    fn is_at_term(&self) -> bool {
        use Operator::{Colon, Colons, Minus, Not, Open};
        match self.tokens.first() {
            Some(Token::Symbol(_) | Token::Text(_)) => true,
            Some(Token::Operator(operator)) => {
                matches!(operator, Open | Minus | Colons | Colon | Not)
            }
            None => false,
        }
    }

    fn boxed(&mut self, strength: u32) -> Result<Box<Expression>, Abort> {
        self.parse(strength).map(Box::new)
    }

    /// Parses an expression, up to the first operator that binds no more strongly than `strength`.
    fn parse(&mut self, strength: u32) -> Result<Expression, Abort> {
        let mut found = match self.next()? {
            Token::Symbol(name) => Expression::Symbol(name),
            Token::Text(text) => Expression::Text(text),
            Token::Operator(operator) => match operator {
                Operator::Open => {
                    let inner = self.boxed(1)?;
                    self.close()?;
                    Expression::Group(inner)
                }
                Operator::Minus => Expression::Negated(self.boxed(19)?),
                Operator::Not => Expression::Not(self.boxed(10)?),
                Operator::Colons if self.is_at_term() => {
                    Expression::Path(None, Some(self.boxed(17)?))
                }
                Operator::Colons => Expression::Path(None, None),
                Operator::Colon if self.is_at_term() => {
                    Expression::Range(None, Some(self.boxed(15)?))
                }
                Operator::Colon => Expression::Range(None, None),
                _ => return Err(self.refused()),
            },
        };
        while let Some(Token::Operator(operator)) = self.tokens.first() {
            let operator = *operator;
            if operator.strength() <= strength {
                break;
            }
            self.next()?;
            found = self.joined(found, operator)?;
        }
        Ok(found)
    }

    fn close(&mut self) -> Result<(), Abort> {
        match self.takes(Operator::Close) {
            true => Ok(()),
            false => Err(self.refused()),
        }
    }

    /// Applies `operator` to the expression before it and to what follows.
    fn joined(&mut self, before: Expression, operator: Operator) -> Result<Expression, Abort> {
        let has_more = self.is_at_term();
        let before = Box::new(before);
        Ok(match operator {
            Operator::Open => {
                let Expression::Symbol(name) = *before else {
                    return Err(self.refused());
                };
                if self.takes(Operator::Close) {
                    return Ok(Expression::Call(name, Vec::new()));
                }
                let inner = self.parse(1)?;
                self.close()?;
                let arguments = match inner {
                    Expression::List(all) => all,
                    one => vec![one],
                };
                let has_names = arguments
                    .iter()
                    .any(|argument| matches!(argument, Expression::Named(..)));
                if has_names && !NAMED_ARGUMENTS.contains(&name.as_slice()) {
                    return Err(self.refused());
                }
                Expression::Call(name, arguments)
            }
            Operator::Caret if !has_more => Expression::FirstParent(before),
            Operator::Caret => parent(before, self.parse(18)?),
            Operator::Tilde => Expression::Ancestor(before, self.boxed(18)?),
            Operator::Colons if !has_more => Expression::Path(Some(before), None),
            Operator::Colons => Expression::Path(Some(before), Some(self.boxed(17)?)),
            Operator::Colon if !has_more => Expression::Range(Some(before), None),
            Operator::Colon => Expression::Range(Some(before), Some(self.boxed(15)?)),
            Operator::Percent if !has_more => Expression::Only(before, None),
            Operator::Percent => Expression::Only(before, Some(self.boxed(5)?)),
            Operator::Minus => Expression::Minus(before, self.boxed(5)?),
            Operator::And => Expression::And(before, self.boxed(5)?),
            Operator::Or => Expression::Or(before, self.boxed(4)?),
            Operator::Equals => Expression::Named(before, self.boxed(3)?),
            Operator::Comma => {
                let after = self.parse(2)?;
                let mut all = match *before {
                    Expression::List(all) => all,
                    one => vec![one],
                };
                all.push(after);
                Expression::List(all)
            }
            Operator::Not | Operator::Close => return Err(self.refused()),
        })
    }
}

/// Returns the expression for `X^N`. If a range that begins with a colon follows, it is a range
/// from the first parent.
fn parent(before: Box<Expression>, after: Expression) -> Expression {
    let first = |before| Some(Box::new(Expression::FirstParent(before)));
    match after {
        Expression::Path(None, last) => Expression::Path(first(before), last),
        Expression::Range(None, last) => Expression::Range(first(before), last),
        number => Expression::Parent(before, Box::new(number)),
    }
}

/// Parses a number. Returns `None` if the text may be a number, but only by Python's rules.
///
/// # Errors
/// The text is not a number; `message` says so.
pub(super) fn number(word: Option<&BStr>, message: &str) -> Result<Option<i64>, Abort> {
    let wrong = || Abort::of(Kind::Parse, message);
    let word = word.ok_or_else(wrong)?;
    if let Ok(number) = word.to_str().unwrap_or_default().parse::<i64>() {
        return Ok(Some(number));
    }
    match word.iter().any(u8::is_ascii_digit) || !word.is_ascii() {
        true => Ok(None),
        false => Err(wrong()),
    }
}

/// Returns the error for a text that is not understood here.
pub(super) fn not_understood(text: &BStr) -> Abort {
    Abort::unsupported(bytes!("the set of revisions '", text, "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Expression, Abort> {
        Expression::parse(text.into(), &mut |name| Ok(name == "a-b"))
    }

    /// Prints an expression with brackets around everything that belongs together.
    fn grouped(expression: &Expression) -> String {
        let some =
            |inner: &Option<Box<Expression>>| inner.as_deref().map_or(String::new(), grouped);
        let all = |all: &[Expression]| all.iter().map(grouped).collect::<Vec<_>>().join(", ");
        match expression {
            Expression::Symbol(name) => name.to_string(),
            Expression::Text(text) => format!("'{text}'"),
            Expression::Call(name, arguments) => format!("{name}({})", all(arguments)),
            Expression::FirstParent(inner) => format!("[{}^]", grouped(inner)),
            Expression::Parent(inner, which) => format!("[{}^{}]", grouped(inner), grouped(which)),
            Expression::Ancestor(inner, count) => {
                format!("[{}~{}]", grouped(inner), grouped(count))
            }
            Expression::Range(first, last) => format!("[{}:{}]", some(first), some(last)),
            Expression::Path(first, last) => format!("[{}::{}]", some(first), some(last)),
            Expression::And(a, b) => format!("[{} & {}]", grouped(a), grouped(b)),
            Expression::Or(a, b) => format!("[{} | {}]", grouped(a), grouped(b)),
            Expression::Minus(a, b) => format!("[{} - {}]", grouped(a), grouped(b)),
            Expression::Only(a, b) => format!("[{} % {}]", grouped(a), some(b)),
            Expression::Not(inner) => format!("[!{}]", grouped(inner)),
            Expression::Negated(inner) => format!("[-{}]", grouped(inner)),
            Expression::Group(inner) => format!("({})", grouped(inner)),
            Expression::List(inner) => all(inner),
            Expression::Named(name, value) => format!("[{}={}]", grouped(name), grouped(value)),
        }
    }

    #[test]
    fn what_binds_more_strongly_belongs_together() {
        for (text, expected) in [
            ("a-b", "a-b"),
            ("b-c", "[b - c]"),
            ("b--c-", ""),
            (" 'x y' ", "'x y'"),
            ("r'x\\y'", "'x\\y'"),
            ("-2", "[-2]"),
            ("a:-1", "[a:[-1]]"),
            (":", "[:]"),
            ("a:", "[a:]"),
            (":a", "[:a]"),
            ("::a", "[::a]"),
            ("a..b", "[a::b]"),
            ("a::", "[a::]"),
            ("wdir()", "wdir()"),
            ("p2(a or b)^", "[p2([a | b])^]"),
            ("last(a, 2)", "last(a, 2)"),
            ("f(a, b, c)", "f(a, b, c)"),
            ("a^~3", "[[a^]~3]"),
            ("a~-1", "[a~[-1]]"),
            ("a^2", "[a^2]"),
            ("(a)^2", "[(a)^2]"),
            ("a^:b", "[[a^]:b]"),
            ("a^::b", "[[a^]::b]"),
            ("a^::", "[[a^]::]"),
            ("a and b or c", "[[a & b] | c]"),
            ("a | b & !c", "[a | [b & [!c]]]"),
            ("not a:b", "[![a:b]]"),
            ("a - b - c", "[[a - b] - c]"),
            ("a % b", "[a % b]"),
            ("a %", "[a % ]"),
            ("a+b:c", "[a | [b:c]]"),
            ("(a:b)", "([a:b])"),
        ] {
            let message = parsed(text).map_or(String::new(), |parsed| grouped(&parsed));
            assert_eq!(message, expected, "{text}");
        }
    }

    #[test]
    fn what_is_none_of_the_language_is_refused() {
        for text in [
            "",
            "a b",
            "a or",
            "(a",
            "a)",
            "'a",
            "'a\\n'",
            "a##b",
            "a#g[1]",
            "f(x=1)",
            "(a)(b)",
            &"(".repeat(100_000),
            &"a+".repeat(1000),
        ] {
            let refused = parsed(text).unwrap_err();
            assert_eq!(refused.kind, Kind::Unsupported, "{text}");
        }
    }

    #[test]
    fn names_beyond_the_maximum_number_of_tokens_are_not_looked_up() {
        let mut looked_up = 0;
        let mut knows = |_: &BStr| {
            looked_up += 1;
            Ok(false)
        };
        let text = "a-b+".repeat(2 * TOKENS_MAX);
        let refused = Expression::parse(text.as_str().into(), &mut knows).unwrap_err();
        assert_eq!(refused.kind, Kind::Unsupported);
        assert!(looked_up <= TOKENS_MAX, "{looked_up}");
    }

    #[test]
    fn numbers_are_those_of_python() {
        let read = |text: &str| number(Some(text.into()), "").ok();
        assert_eq!(read("-12"), Some(Some(-12)));
        assert_eq!(read("1_0"), Some(None));
        assert_eq!(read("x"), None);
        assert!(number(None, "").is_err());
    }
}
