//! Extended regular expressions (regex(7), with the escapes of the GNU C library), only to decide whether a text
//! matches: all alternatives are followed at once, so that the time is bounded. Back references are not supported.

mod letters;

use bstr::ByteSlice;

use self::letters::{LetterClass, char_at, char_before};

/// The most steps of an expression: repetitions are expanded.
const STEPS_MAX: usize = 100_000;

/// How deep groups may be nested.
const DEPTH_MAX: usize = 128;

/// The largest number in `{m,n}`.
const REPEAT_MAX: usize = 32_767;

/// A set of bytes.
type Set = Box<[bool; 256]>;

/// What is taken for a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Letters {
    /// A byte, as in the C locale.
    Bytes,
    /// A character in UTF-8. Other bytes match nothing but themselves.
    Utf8 {
        /// Ranges may have characters from 0x80 on at their ends. The C library refuses them in the locale C.UTF-8, which has no
        /// order of characters.
        has_order: bool,
    },
}

/// What characters from 0x80 on fit.
#[derive(Clone, Debug, Default)]
struct CharSet {
    is_negative: bool,
    ranges: Vec<(char, char)>,
    classes: Vec<LetterClass>,
}

impl CharSet {
    fn has(&self, letter: char) -> bool {
        let is_listed = self
            .ranges
            .iter()
            .any(|(first, last)| (first..=last).contains(&&letter))
            || self.classes.iter().any(|class| class.has(letter));
        is_listed != self.is_negative
    }
}

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
    /// A character: of ASCII if it is in the set of bytes.
    Char(Set, CharSet),
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
    Char(Set, CharSet),
    Assertion(Assertion),
    /// Continues at both steps.
    Split(usize, usize),
    Jump(usize),
    Match,
}

/// A member of a bracket expression.
enum Member {
    Byte(u8),
    /// A character from 0x80 on.
    Char(char),
    /// Bytes that cannot be the end of a range, even if it is only one, and other characters.
    Class(Set, Option<LetterClass>),
}

/// A regular expression.
#[derive(Debug)]
pub(crate) struct Regex {
    steps: Vec<Step>,
    letters: Letters,
}

impl Regex {
    /// Parses a pattern. `None` if the C library would refuse it, or if it is not supported here.
    pub(crate) fn parse(pattern: &[u8], letters: Letters) -> Option<Self> {
        let mut parser = Parser {
            rest: pattern,
            depth: 0,
            letters,
        };
        let node = parser.alternatives()?;
        if !parser.rest.is_empty() {
            return None;
        }
        let mut regex = Self {
            steps: Vec::new(),
            letters,
        };
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
            Node::Char(set, others) => {
                self.push(Step::Char(set.clone(), others.clone()))?;
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
        // The steps that continue after one to four bytes.
        let mut next: [Vec<usize>; 4] = Default::default();
        // The position at which each step was last added, counted from 1.
        let mut added = vec![0_usize; self.steps.len()];
        let mut pending = Vec::new();
        for at in 0..=text.len() {
            let place = at.saturating_add(1);
            pending.push(0);
            next.rotate_left(1);
            let [.., due] = &mut next;
            pending.append(due);
            while let Some(step) = pending.pop() {
                match added.get_mut(step) {
                    Some(last) if *last != place => *last = place,
                    _ => continue,
                }
                match self.steps.get(step) {
                    Some(Step::Match) => return true,
                    Some(Step::Jump(to)) => pending.push(*to),
                    Some(Step::Split(one, other)) => pending.extend([*one, *other]),
                    Some(Step::Assertion(wanted)) if self.holds(*wanted, text, at) => {
                        pending.push(step.saturating_add(1));
                    }
                    Some(Step::Byte(_) | Step::Set(_) | Step::Char(..)) => current.push(step),
                    Some(Step::Assertion(_)) | None => {}
                }
            }
            let Some(byte) = text.get(at) else {
                return false;
            };
            for step in current.drain(..) {
                let is_in = |set: &Set| set.get(usize::from(*byte)) == Some(&true);
                let len = match self.steps.get(step) {
                    Some(Step::Byte(wanted)) => usize::from(wanted == byte),
                    Some(Step::Char(_, others)) if !byte.is_ascii() => match char_at(text, at) {
                        Some(letter) if others.has(letter) => letter.len_utf8(),
                        _ => 0,
                    },
                    Some(Step::Set(set) | Step::Char(set, _)) => usize::from(is_in(set)),
                    _ => 0,
                };
                let later = len.checked_sub(1).and_then(|index| next.get_mut(index));
                if let Some(later) = later {
                    later.push(step.saturating_add(1));
                }
            }
        }
        false
    }

    fn holds(&self, assertion: Assertion, text: &[u8], at: usize) -> bool {
        let (before, after) = match self.letters {
            Letters::Bytes => {
                let is_word_at = |at| text.get(at).is_some_and(|byte| is_word(*byte));
                (at.checked_sub(1).is_some_and(is_word_at), is_word_at(at))
            }
            Letters::Utf8 { .. } => {
                let byte = |at| text.get(at).map(|byte| char::from(*byte));
                let before = char_before(text, at);
                let before = before.or_else(|| byte(at.checked_sub(1)?));
                let after = char_at(text, at).or_else(|| byte(at));
                let is_word = |letter| LetterClass::Word.has(letter);
                (before.is_some_and(is_word), after.is_some_and(is_word))
            }
        };
        match assertion {
            Assertion::Start => at == 0,
            Assertion::End => at == text.len(),
            Assertion::WordStart => !before && after,
            Assertion::WordEnd => before && !after,
            Assertion::WordEdge => before != after,
            Assertion::NoWordEdge => before == after,
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
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
    letters: Letters,
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
            b'.' => self.class_node(|_| true, LetterClass::Any, true),
            b'^' => Node::Assertion(Assertion::Start),
            b'$' => Node::Assertion(Assertion::End),
            b'[' => self.bracket()?,
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
                b'w' => self.class_node(is_word, LetterClass::Word, true),
                b'W' => self.class_node(is_word, LetterClass::Word, false),
                b's' => self.class_node(is_c_space, LetterClass::Space, true),
                b'S' => self.class_node(is_c_space, LetterClass::Space, false),
                b'b' => Node::Assertion(Assertion::WordEdge),
                b'B' => Node::Assertion(Assertion::NoWordEdge),
                b'<' => Node::Assertion(Assertion::WordStart),
                b'>' => Node::Assertion(Assertion::WordEnd),
                b'`' => Node::Assertion(Assertion::Start),
                b'\'' => Node::Assertion(Assertion::End),
                b'1'..=b'9' => return None,
                byte => self.literal(byte)?,
            },
            byte => self.literal(byte)?,
        })
    }

    /// What matches the character that begins with `byte`, which was taken.
    fn literal(&mut self, byte: u8) -> Option<Node> {
        let others = match self.letters {
            Letters::Bytes => 0,
            Letters::Utf8 { .. } => {
                let whole = [&[byte], self.rest.get(..3.min(self.rest.len()))?].concat();
                char_at(&whole, 0).map_or(0, |letter| letter.len_utf8().saturating_sub(1))
            }
        };
        if others == 0 {
            return Some(Node::Byte(byte));
        }
        let mut bytes = vec![Node::Byte(byte)];
        for _ in 0..others {
            bytes.push(Node::Byte(self.take()?));
        }
        Some(Node::All(bytes))
    }

    /// What matches the letters that are in a class, or those that are not.
    fn class_node(&self, has: fn(u8) -> bool, class: LetterClass, is_in: bool) -> Node {
        let set = set_of(|byte| has(byte) == is_in);
        match self.letters {
            Letters::Bytes => Node::Set(set),
            Letters::Utf8 { .. } => Node::Char(
                set,
                CharSet {
                    is_negative: !is_in,
                    ranges: Vec::new(),
                    classes: vec![class],
                },
            ),
        }
    }

    /// Parses a bracket expression after its opening bracket.
    fn bracket(&mut self) -> Option<Node> {
        let is_negative = self.skip(b"^");
        let mut others = CharSet {
            is_negative,
            ..CharSet::default()
        };
        let mut set = Box::new([false; 256]);
        let mut is_first = true;
        while is_first || !self.skip(b"]") {
            let member = self.member(is_first)?;
            is_first = false;
            let is_range = self.rest.first() == Some(&b'-') && self.rest.get(1) != Some(&b']');
            let added = match member {
                Member::Class(..) if is_range => return None,
                Member::Class(class, of_others) => {
                    others.classes.extend(of_others);
                    class
                }
                Member::Byte(_) | Member::Char(_) if is_range => {
                    self.take();
                    self.range(&member, &mut others)?
                }
                Member::Byte(only) => set_of(|byte| byte == only),
                Member::Char(only) => {
                    others.ranges.push((only, only));
                    set_of(|_| false)
                }
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
        Some(match self.letters {
            Letters::Bytes => Node::Set(set),
            Letters::Utf8 { .. } => Node::Char(set, others),
        })
    }

    /// Parses the end of a range that begins with `first`. Adds characters from 0x80 on to `others`, and returns the bytes.
    fn range(&mut self, first: &Member, others: &mut CharSet) -> Option<Set> {
        let letter = |member: &Member| match member {
            Member::Byte(byte) => Some((u32::from(*byte), char::from(*byte))),
            Member::Char(letter) => Some((u32::from(*letter), *letter)),
            Member::Class(..) => None,
        };
        let (first, first_char) = letter(first)?;
        let (last, last_char) = letter(&self.member(true)?)?;
        let is_ascii = first_char.is_ascii() && last_char.is_ascii();
        if last < first || !is_ascii && self.letters == (Letters::Utf8 { has_order: false }) {
            return None;
        }
        others.ranges.push((first_char.max('\u{80}'), last_char));
        Some(set_of(|byte| (first..=last).contains(&u32::from(byte))))
    }

    /// Parses one member of a bracket expression: a class `[:name:]`, or a byte, which may be written as `[.x.]` or
    /// `[=x=]`. A hyphen that is not accepted may only be the last one.
    fn member(&mut self, accepts_hyphen: bool) -> Option<Member> {
        if self.skip(b"[:") {
            let end = self.rest.find(b":]")?;
            let (name, rest) = self.rest.split_at_checked(end)?;
            self.rest = rest.get(2..)?;
            let of_others = LetterClass::of(name);
            return Some(Member::Class(set_of(class(name)?), of_others));
        }
        match self.rest {
            [b'[', b'.', byte, b'.', b']', rest @ ..] => {
                self.rest = rest;
                Some(Member::Byte(*byte))
            }
            [b'[', b'=', byte, b'=', b']', rest @ ..] => {
                self.rest = rest;
                Some(Member::Class(set_of(|other| other == *byte), None))
            }
            [b'[', b'.' | b'=', ..] => None,
            [b'-', next, ..] if !accepts_hyphen && *next != b']' => None,
            [byte, ..] if self.letters != Letters::Bytes && !byte.is_ascii() => {
                match char_at(self.rest, 0) {
                    Some(letter) => {
                        self.rest = self.rest.get(letter.len_utf8()..)?;
                        Some(Member::Char(letter))
                    }
                    None => self.take().map(Member::Byte),
                }
            }
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
        judge_bytes(pattern.as_bytes(), text.as_bytes(), Letters::Bytes)
    }

    fn judge_bytes(pattern: &[u8], text: &[u8], letters: Letters) -> Option<bool> {
        Some(Regex::parse(pattern, letters)?.is_match(text))
    }

    #[test]
    fn characters_match_as_by_the_c_library() {
        let letters = Letters::Utf8 { has_order: false };
        for (pattern, text) in [
            ("^.$", "é"),
            ("^.€.$", "\u{1f600}€b"),
            ("^[^a]$", "é"),
            ("[Éé]$", "é"),
            ("^é{2}x?é*$", "ééé"),
            ("^\\w\\W\\s\\S$", "é€\u{2003}€"),
            ("^[[:alpha:]][[:upper:]][[:lower:]][[:alnum:]]$", "éÉé٣"),
            (
                "^[[:punct:]][[:space:]][[:cntrl:]][[:graph:]]$",
                "€\u{2003}\u{85}中",
            ),
            ("\\bé\\B", " éa"),
            ("^[a-c][^é]\\>", "bè "),
            ("[]é-]$", "-"),
            ("^.", "\n"),
        ] {
            let judged = judge_bytes(pattern.as_bytes(), text.as_bytes(), letters);
            assert_eq!(judged, Some(true), "{pattern}");
        }
        for (pattern, text) in [
            ("^..$", "é"),
            ("[^é]", "é"),
            ("[È]", "é"),
            ("\\bx", "éx"),
            ("[[:digit:]]", "٣"),
            ("[[:lower:]]", "É"),
            ("[[:space:]]", "\u{a0}"),
            ("\\W", "éa٣"),
        ] {
            let judged = judge_bytes(pattern.as_bytes(), text.as_bytes(), letters);
            assert_eq!(judged, Some(false), "{pattern}");
        }
        // Bytes that are no characters match themselves, and nothing else.
        for (pattern, is_match) in [
            (&b"^\xe9$"[..], true),
            (b"^.$", false),
            (b"[^a]", false),
            (b"\\W", false),
            (b"[\xe9]", false),
            (b"\xe9\\>", true),
        ] {
            assert_eq!(judge_bytes(pattern, b"\xe9", letters), Some(is_match));
        }
        assert_eq!(judge_bytes(b"\xa9$", "é".as_bytes(), letters), Some(true));
        let range = "^[à-ü]$".as_bytes();
        assert_eq!(judge_bytes(range, "é".as_bytes(), letters), None);
        let letters = Letters::Utf8 { has_order: true };
        assert_eq!(judge_bytes(range, "é".as_bytes(), letters), Some(true));
        assert_eq!(judge_bytes(range, "É".as_bytes(), letters), Some(false));
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
