//! Extended regular expressions (regex(7), with the escapes of the GNU C library), only to decide whether a text
//! matches: all alternatives are followed at once, so that the time is bounded. Bytes are compared, as in the C
//! locale. Back references are not supported.

use bstr::ByteSlice;

/// The most steps of an expression: repetitions are expanded.
const STEPS_MAX: usize = 100_000;

/// How deep groups may be nested.
const DEPTH_MAX: usize = 128;

/// The largest number in `{m,n}`.
const REPEAT_MAX: usize = 32_767;

/// A set of bytes.
type Set = Box<[bool; 256]>;

/// A condition on a position between two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Assertion {
    Start,
    End,
    WordStart,
    WordEnd,
    WordEdge,
    NoWordEdge,
}

#[derive(Clone, Debug)]
enum Node {
    Byte(u8),
    Set(Set),
    Assertion(Assertion),
    /// A sequence; without nodes, it matches the empty text.
    All(Vec<Node>),
    Any(Vec<Node>),
    Repeat {
        node: Box<Node>,
        min: usize,
        /// `None` for no limit.
        max: Option<usize>,
    },
}

#[derive(Debug)]
enum Step {
    Byte(u8),
    Set(Set),
    Assertion(Assertion),
    /// Continues at both steps.
    Split(usize, usize),
    Jump(usize),
    Match,
}

/// A member of a bracket expression.
enum Member {
    Byte(u8),
    /// Bytes that cannot be the end of a range, even if it is only one.
    Class(Set),
}

/// A regular expression.
#[derive(Debug)]
pub(crate) struct Regex {
    steps: Vec<Step>,
}

impl Regex {
    /// Parses a pattern. `None` if the C library would refuse it, or if it is not supported here.
    pub(crate) fn parse(pattern: &[u8]) -> Option<Self> {
        let mut parser = Parser {
            rest: pattern,
            depth: 0,
        };
        let node = parser.alternatives()?;
        if !parser.rest.is_empty() {
            return None;
        }
        let mut regex = Self { steps: Vec::new() };
        regex.compile(&node)?;
        regex.push(Step::Match)?;
        Some(regex)
    }

    fn push(&mut self, step: Step) -> Option<usize> {
        let at = self.steps.len();
        self.steps.push(step);
        (at < STEPS_MAX).then_some(at)
    }

    fn set(&mut self, at: usize, step: Step) {
        if let Some(old) = self.steps.get_mut(at) {
            *old = step;
        }
    }

    fn compile(&mut self, node: &Node) -> Option<()> {
        match node {
            Node::Byte(byte) => {
                self.push(Step::Byte(*byte))?;
            }
            Node::Set(set) => {
                self.push(Step::Set(set.clone()))?;
            }
            Node::Assertion(assertion) => {
                self.push(Step::Assertion(*assertion))?;
            }
            Node::All(nodes) => {
                for node in nodes {
                    self.compile(node)?;
                }
            }
            Node::Any(nodes) => {
                let mut ends = Vec::new();
                for (at, node) in nodes.iter().enumerate() {
                    if at.saturating_add(1) == nodes.len() {
                        self.compile(node)?;
                        continue;
                    }
                    let split = self.push(Step::Match)?;
                    self.compile(node)?;
                    ends.push(self.push(Step::Match)?);
                    self.set(
                        split,
                        Step::Split(split.saturating_add(1), self.steps.len()),
                    );
                }
                for end in ends {
                    self.set(end, Step::Jump(self.steps.len()));
                }
            }
            Node::Repeat { node, min, max } => {
                for _ in 0..*min {
                    self.compile(node)?;
                }
                match max {
                    None => {
                        let split = self.push(Step::Match)?;
                        self.compile(node)?;
                        self.push(Step::Jump(split))?;
                        self.set(
                            split,
                            Step::Split(split.saturating_add(1), self.steps.len()),
                        );
                    }
                    Some(max) => {
                        let mut splits = Vec::new();
                        for _ in *min..*max {
                            splits.push(self.push(Step::Match)?);
                            self.compile(node)?;
                        }
                        for split in splits {
                            let end = self.steps.len();
                            self.set(split, Step::Split(split.saturating_add(1), end));
                        }
                    }
                }
            }
        }
        Some(())
    }

    /// Whether any part of `text` matches.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        let mut current: Vec<usize> = Vec::new();
        let mut next: Vec<usize> = Vec::new();
        // The position at which each step was last added, counted from 1.
        let mut added = vec![0_usize; self.steps.len()];
        let mut pending = Vec::new();
        for at in 0..=text.len() {
            let place = at.saturating_add(1);
            pending.push(0);
            pending.append(&mut next);
            while let Some(step) = pending.pop() {
                match added.get_mut(step) {
                    Some(last) if *last != place => *last = place,
                    _ => continue,
                }
                match self.steps.get(step) {
                    Some(Step::Match) => return true,
                    Some(Step::Jump(to)) => pending.push(*to),
                    Some(Step::Split(one, other)) => pending.extend([*one, *other]),
                    Some(Step::Assertion(wanted)) if holds(*wanted, text, at) => {
                        pending.push(step.saturating_add(1));
                    }
                    Some(Step::Byte(_) | Step::Set(_)) => current.push(step),
                    Some(Step::Assertion(_)) | None => {}
                }
            }
            let Some(byte) = text.get(at) else {
                return false;
            };
            for step in current.drain(..) {
                let fits = match self.steps.get(step) {
                    Some(Step::Byte(wanted)) => wanted == byte,
                    Some(Step::Set(set)) => set.get(usize::from(*byte)) == Some(&true),
                    _ => false,
                };
                if fits {
                    next.push(step.saturating_add(1));
                }
            }
        }
        false
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn holds(assertion: Assertion, text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| text.get(at));
    let (before, after) = (
        before.is_some_and(|byte| is_word(*byte)),
        text.get(at).is_some_and(|byte| is_word(*byte)),
    );
    match assertion {
        Assertion::Start => at == 0,
        Assertion::End => at == text.len(),
        Assertion::WordStart => !before && after,
        Assertion::WordEnd => before && !after,
        Assertion::WordEdge => before != after,
        Assertion::NoWordEdge => before == after,
    }
}

fn set_of(has: impl Fn(u8) -> bool) -> Set {
    let mut set = Box::new([false; 256]);
    for (byte, slot) in (0..=u8::MAX).zip(set.iter_mut()) {
        *slot = has(byte);
    }
    set
}

struct Parser<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl Parser<'_> {
    fn take(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn skip(&mut self, text: &[u8]) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn alternatives(&mut self) -> Option<Node> {
        let mut all = vec![self.branch()?];
        while self.skip(b"|") {
            all.push(self.branch()?);
        }
        match all.len() {
            1 => all.pop(),
            _ => Some(Node::Any(all)),
        }
    }

    fn branch(&mut self) -> Option<Node> {
        let mut nodes = Vec::new();
        loop {
            match self.rest.first() {
                None | Some(b'|') => break,
                Some(b')') if self.depth > 0 => break,
                // There is nothing to repeat.
                Some(b'*' | b'+' | b'?' | b'{') => return None,
                Some(_) => {}
            }
            let node = self.atom()?;
            nodes.push(match node {
                // A position cannot be repeated: a repetition operator after it is refused.
                Node::Assertion(_) => node,
                _ => self.repeated(node)?,
            });
        }
        Some(Node::All(nodes))
    }

    fn repeated(&mut self, mut node: Node) -> Option<Node> {
        for _ in 0..DEPTH_MAX {
            let (min, max) = match self.rest.first() {
                Some(b'*') => (0, None),
                Some(b'+') => (1, None),
                Some(b'?') => (0, Some(1)),
                Some(b'{') => {
                    self.take();
                    let (min, max) = self.interval()?;
                    node = repeat(node, min, max);
                    continue;
                }
                _ => return Some(node),
            };
            self.take();
            node = repeat(node, min, max);
        }
        None
    }

    /// Parses an interval after its opening brace.
    fn interval(&mut self) -> Option<(usize, Option<usize>)> {
        let min = self.number()?;
        let (min, max) = match (min, self.take()?) {
            (Some(min), b'}') => (min, Some(min)),
            (min, b',') => {
                let max = self.number()?;
                if self.take()? != b'}' {
                    return None;
                }
                (min.unwrap_or(0), max)
            }
            _ => return None,
        };
        let is_valid = max.is_none_or(|max| min <= max);
        is_valid.then_some((min, max))
    }

    fn number(&mut self) -> Option<Option<usize>> {
        let mut number = None;
        while let Some(digit) = self.rest.first().filter(|byte| byte.is_ascii_digit()) {
            let digit = usize::from(digit.saturating_sub(b'0'));
            let value = number.unwrap_or(0_usize);
            let value = value.checked_mul(10)?.checked_add(digit)?;
            number = Some(value);
            if value > REPEAT_MAX {
                return None;
            }
            self.take();
        }
        Some(number)
    }

    fn atom(&mut self) -> Option<Node> {
        Some(match self.take()? {
            b'.' => Node::Set(set_of(|_| true)),
            b'^' => Node::Assertion(Assertion::Start),
            b'$' => Node::Assertion(Assertion::End),
            b'[' => Node::Set(self.bracket()?),
            b'(' => {
                if self.depth >= DEPTH_MAX {
                    return None;
                }
                self.depth = self.depth.saturating_add(1);
                let inner = self.alternatives()?;
                self.depth = self.depth.saturating_sub(1);
                if !self.skip(b")") {
                    return None;
                }
                // A group, so that a position in it may be repeated.
                Node::All(vec![inner])
            }
            b'\\' => match self.take()? {
                b'w' => Node::Set(set_of(is_word)),
                b'W' => Node::Set(set_of(|byte| !is_word(byte))),
                b's' => Node::Set(set_of(is_c_space)),
                b'S' => Node::Set(set_of(|byte| !is_c_space(byte))),
                b'b' => Node::Assertion(Assertion::WordEdge),
                b'B' => Node::Assertion(Assertion::NoWordEdge),
                b'<' => Node::Assertion(Assertion::WordStart),
                b'>' => Node::Assertion(Assertion::WordEnd),
                b'`' => Node::Assertion(Assertion::Start),
                b'\'' => Node::Assertion(Assertion::End),
                b'1'..=b'9' => return None,
                byte => Node::Byte(byte),
            },
            byte => Node::Byte(byte),
        })
    }

    /// Parses a bracket expression after its opening bracket.
    fn bracket(&mut self) -> Option<Set> {
        let is_negative = self.skip(b"^");
        let mut set = Box::new([false; 256]);
        let mut is_first = true;
        while is_first || !self.skip(b"]") {
            let member = self.member(is_first)?;
            is_first = false;
            let is_range = self.rest.first() == Some(&b'-') && self.rest.get(1) != Some(&b']');
            let added = match member {
                Member::Class(_) if is_range => return None,
                Member::Class(class) => class,
                Member::Byte(first) if is_range => {
                    self.take();
                    let Member::Byte(last) = self.member(true)? else {
                        return None;
                    };
                    if last < first {
                        return None;
                    }
                    set_of(|byte| (first..=last).contains(&byte))
                }
                Member::Byte(only) => set_of(|byte| byte == only),
            };
            for (slot, is_added) in set.iter_mut().zip(*added) {
                *slot |= is_added;
            }
        }
        if is_negative {
            for slot in set.iter_mut() {
                *slot = !*slot;
            }
        }
        Some(set)
    }

    /// Parses one member of a bracket expression: a class `[:name:]`, or a byte, which may be written as `[.x.]` or
    /// `[=x=]`. A hyphen that is not accepted may only be the last one.
    fn member(&mut self, accepts_hyphen: bool) -> Option<Member> {
        if self.skip(b"[:") {
            let end = self.rest.find(b":]")?;
            let (name, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest.get(2..)?;
            return Some(Member::Class(set_of(class(name)?)));
        }
        match self.rest {
            [b'[', b'.', byte, b'.', b']', rest @ ..] => {
                self.rest = rest;
                Some(Member::Byte(*byte))
            }
            [b'[', b'=', byte, b'=', b']', rest @ ..] => {
                self.rest = rest;
                Some(Member::Class(set_of(|other| other == *byte)))
            }
            [b'[', b'.' | b'=', ..] => None,
            [b'-', next, ..] if !accepts_hyphen && *next != b']' => None,
            _ => self.take().map(Member::Byte),
        }
    }
}

fn repeat(node: Node, min: usize, max: Option<usize>) -> Node {
    Node::Repeat {
        node: Box::new(node),
        min,
        max,
    }
}

fn is_c_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Returns the test for the members of a named class.
fn class(name: &[u8]) -> Option<fn(u8) -> bool> {
    Some(match name {
        b"alpha" => |byte| byte.is_ascii_alphabetic(),
        b"digit" => |byte| byte.is_ascii_digit(),
        b"alnum" => |byte| byte.is_ascii_alphanumeric(),
        b"upper" => |byte| byte.is_ascii_uppercase(),
        b"lower" => |byte| byte.is_ascii_lowercase(),
        b"space" => is_c_space,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"punct" => |byte| byte.is_ascii_punctuation(),
        b"print" => |byte| byte.is_ascii_graphic() || byte == b' ',
        b"graph" => |byte| byte.is_ascii_graphic(),
        b"cntrl" => |byte| byte.is_ascii_control(),
        b"xdigit" => |byte| byte.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(pattern: &str, text: &str) -> Option<bool> {
        Some(Regex::parse(pattern.as_bytes())?.is_match(text.as_bytes()))
    }

    #[test]
    fn expressions_match_as_by_the_c_library() {
        for (pattern, text) in [
            ("", ""),
            ("b", "abc"),
            ("^a.c$", "abc"),
            ("a|x", "cba"),
            ("^(ab|c)+$", "abcab"),
            ("x{2,3}", "axxb"),
            ("^x{,2}$", "xx"),
            ("a.b", "a\nb"),
            ("[^x]$", "a\n"),
            ("[]a]", "]"),
            ("[[:digit:]-]+$", "1-2"),
            ("\\bword\\b", "a word."),
            ("\\<w", "a word"),
            ("a)", "a)"),
            ("()", "a"),
            ("a||b", "x"),
            ("\\.", "."),
            ("(a*)*$", "aaa"),
            ("\\Bord\\>", "word "),
            ("a\\Sb_\\w", "a.b__"),
            ("[[:print:]]\\W$", "é \n"),
            ("^[[:graph:]]\\s", "! "),
            ("[[.-.]-/]", "."),
            ("[[=b=][.].]]$", "]"),
            ("[x-]$", "-"),
        ] {
            assert_eq!(judge(pattern, text), Some(true), "{pattern}");
        }
        for (pattern, text) in [
            ("^b", "a\nb"),
            ("a$", "a\nb"),
            ("x{3}", "xx"),
            ("[a-c]", "d"),
            ("\\.", "a"),
            ("\\bord", "word"),
            ("\\Bword|wor\\>", "word"),
            ("\\W", "a_1"),
            ("\\S", " \t\r"),
            ("\\s", "ab"),
            ("[[:graph:]]", " \t"),
            ("[[:print:]]", "\t"),
            ("[[.a.]]", "."),
        ] {
            assert_eq!(judge(pattern, text), Some(false), "{pattern}");
        }
        for pattern in [
            "*a",
            "a|*b",
            "(",
            "[a",
            "[b-a]",
            "a{2",
            "a{2,1}",
            "\\",
            "^*",
            "[[:x:]]",
            // Only a byte can be the end of a range, and a hyphen must be the first or the last one.
            "[[=a=]-c]",
            "[A-[:alpha:]]",
            "[[:alpha:]-c]",
            "[a-b-c]",
            "[[.hyphen.]]",
            "[a[.b]",
        ] {
            assert_eq!(judge(pattern, "a"), None, "{pattern}");
        }
    }

    #[test]
    fn time_and_room_are_bounded() {
        assert_eq!(judge("((a{999}){999}){999}", "a"), None);
        assert_eq!(judge("(a*)*(a*)*(a*)*x", &"a".repeat(2000)), Some(false));
        assert_eq!(judge(&"(".repeat(100_000), "a"), None);
    }
}
