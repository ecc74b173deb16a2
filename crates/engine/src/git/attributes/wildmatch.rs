//! git's shell patterns (gitignore(5), "PATTERN FORMAT").
//!
//! A pattern is compiled to a list of steps and run as an automaton that holds all positions at once, so that no
//! pattern takes more time than its length times the text's, whatever a repository puts into it.

/// How patterns are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    /// `*`, `?` and `[]` do not match `/`, and `**` is special.
    pub(crate) pathname: bool,
    /// ASCII letters match in both cases (`core.ignoreCase`).
    pub(crate) fold_case: bool,
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Wildmatch {
    mode: Mode,
    /// `None` for a malformed pattern, which matches nothing.
    steps: Option<Vec<Step>>,
}

#[derive(Debug)]
enum Step {
    /// This byte.
    Byte(u8),
    /// Any one byte, in pathname mode but `/`.
    Any,
    /// One byte of a set.
    Set(Box<ByteSet>),
    /// Any number of bytes, `/` among them where that is set.
    Many { slash: bool },
    /// `**/`: nothing, or any bytes that end in `/`. Always followed by [`Step::InDirectories`].
    Directories,
    /// Within the bytes of `**/`.
    InDirectories,
}

impl Wildmatch {
    /// Compiles `pattern`.
    pub(crate) fn new(pattern: &[u8], mode: Mode) -> Self {
        Self {
            mode,
            steps: compile(pattern, mode),
        }
    }

    /// Whether all of `text` matches.
    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        let Some(steps) = &self.steps else {
            return false;
        };
        let mut here = vec![false; steps.len().saturating_add(1)];
        let mut next = here.clone();
        enter(steps, &mut here, 0);
        for &byte in text {
            let byte = if self.mode.fold_case {
                byte.to_ascii_lowercase()
            } else {
                byte
            };
            next.fill(false);
            let mut alive = false;
            for (at, step) in steps.iter().enumerate() {
                if !here.get(at).is_some_and(|active| *active) {
                    continue;
                }
                let after = at.saturating_add(1);
                let slash = byte == b'/';
                let (stays, leaves) = match step {
                    Step::Byte(wanted) => (false, *wanted == byte),
                    Step::Any => (false, !slash || !self.mode.pathname),
                    Step::Set(set) => {
                        (false, set.contains(byte) && (!slash || !self.mode.pathname))
                    }
                    Step::Many { slash: crosses } => (*crosses || !slash, false),
                    Step::Directories => (false, false),
                    Step::InDirectories => (true, slash),
                };
                if stays {
                    enter(steps, &mut next, at);
                }
                if leaves {
                    enter(steps, &mut next, after);
                }
                alive |= stays || leaves;
            }
            if !alive {
                return false;
            }
            std::mem::swap(&mut here, &mut next);
        }
        here.last().is_some_and(|active| *active)
    }
}

/// Marks position `at`, and those that are reached from it without a byte.
fn enter(steps: &[Step], active: &mut [bool], mut at: usize) {
    while let Some(mark @ false) = active.get_mut(at) {
        *mark = true;
        match steps.get(at) {
            Some(Step::Many { .. }) => at = at.saturating_add(1),
            Some(Step::Directories) => {
                // The position within is marked at once, it leads nowhere without a byte.
                if let Some(within) = active.get_mut(at.saturating_add(1)) {
                    *within = true;
                }
                at = at.saturating_add(2);
            }
            _ => return,
        }
    }
}

fn compile(pattern: &[u8], mode: Mode) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = pattern;
    // The byte before the one at hand, as written.
    let mut previous = None;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'\\' => {
                let (&escaped, after) = rest.split_first()?;
                rest = after;
                // git folds what it reads from the pattern, but not what follows a backslash.
                steps.push(Step::Byte(escaped));
                previous = Some(escaped);
                continue;
            }
            b'?' => steps.push(Step::Any),
            b'*' => {
                let stars = rest.iter().take_while(|byte| **byte == b'*').count();
                rest = rest.get(stars..).unwrap_or_default();
                let own_component = stars > 0
                    && previous.is_none_or(|byte| byte == b'/')
                    && (rest.is_empty() || rest.starts_with(b"/") || rest.starts_with(b"\\/"));
                if mode.pathname && own_component && rest.starts_with(b"/") {
                    rest = rest.get(1..).unwrap_or_default();
                    steps.push(Step::Directories);
                    steps.push(Step::InDirectories);
                    previous = Some(b'/');
                    continue;
                }
                steps.push(Step::Many {
                    slash: !mode.pathname || own_component,
                });
            }
            b'[' => {
                let (set, after) = ByteSet::parse(rest, mode.fold_case)?;
                rest = after;
                steps.push(Step::Set(Box::new(set)));
            }
            _ if mode.fold_case => steps.push(Step::Byte(byte.to_ascii_lowercase())),
            _ => steps.push(Step::Byte(byte)),
        }
        previous = Some(byte);
    }
    Some(steps)
}

/// A set of bytes: what stands between brackets.
#[derive(Debug, Default)]
struct ByteSet([u64; 4]);

impl ByteSet {
    fn contains(&self, byte: u8) -> bool {
        self.0
            .get(usize::from(byte >> 6))
            .is_some_and(|word| word & (1 << (byte & 63)) != 0)
    }

    fn insert(&mut self, byte: u8) {
        if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
    }

    /// Adds all bytes for which `is_member` holds.
    fn insert_where(&mut self, is_member: impl Fn(u8) -> bool) {
        (0..=u8::MAX)
            .filter(|byte| is_member(*byte))
            .for_each(|byte| self.insert(byte));
    }

    /// Reads what follows `[`, up to and with the closing bracket. Gives the set and what follows it, or `None` if
    /// the bracket is not closed or names an unknown class.
    fn parse(mut rest: &[u8], fold_case: bool) -> Option<(Self, &[u8])> {
        let mut set = Self::default();
        let negated = matches!(rest.first(), Some(b'!' | b'^'));
        if negated {
            rest = rest.get(1..)?;
        }
        // The last single byte, from which a range may start.
        let mut from = None;
        let mut first = true;
        loop {
            let (&byte, after) = rest.split_first()?;
            match (byte, after) {
                (b']', _) if !first => {
                    rest = after;
                    break;
                }
                (b'\\', _) => {
                    let (&escaped, after) = after.split_first()?;
                    set.insert(escaped);
                    from = Some(escaped);
                    rest = after;
                }
                (b'-', [next, after @ ..]) if from.is_some() && *next != b']' => {
                    let mut to = *next;
                    rest = after;
                    if to == b'\\' {
                        let (&escaped, after) = rest.split_first()?;
                        to = escaped;
                        rest = after;
                    }
                    let range = from.take().unwrap_or_default()..=to;
                    set.insert_where(|byte| {
                        range.contains(&byte)
                            || (fold_case
                                && byte.is_ascii_lowercase()
                                && range.contains(&byte.to_ascii_uppercase()))
                    });
                }
                (b'[', [b':', class @ ..]) => {
                    let end = class.iter().position(|byte| *byte == b']')?;
                    let (name, after) = class.split_at_checked(end)?;
                    if let Some(name) = name.strip_suffix(b":") {
                        set.insert_class(name, fold_case)?;
                        from = None;
                        rest = after.get(1..)?;
                    } else {
                        set.insert(b'[');
                        from = Some(b'[');
                        rest = rest.get(1..)?;
                    }
                }
                _ => {
                    set.insert(byte);
                    from = Some(byte);
                    rest = after;
                }
            }
            first = false;
        }
        if negated {
            set.0 = set.0.map(|word| !word);
        }
        Some((set, rest))
    }

    fn insert_class(&mut self, name: &[u8], fold_case: bool) -> Option<()> {
        match name {
            b"alnum" => self.insert_where(|byte| byte.is_ascii_alphanumeric()),
            b"alpha" => self.insert_where(|byte| byte.is_ascii_alphabetic()),
            b"blank" => self.insert_where(|byte| matches!(byte, b' ' | b'\t')),
            b"cntrl" => self.insert_where(|byte| byte.is_ascii_control()),
            b"digit" => self.insert_where(|byte| byte.is_ascii_digit()),
            b"graph" => self.insert_where(|byte| byte.is_ascii_graphic()),
            b"lower" => self.insert_where(|byte| byte.is_ascii_lowercase()),
            b"print" => self.insert_where(|byte| matches!(byte, b' '..=b'~')),
            b"punct" => self.insert_where(|byte| byte.is_ascii_punctuation()),
            // Without vertical tab and form feed, unlike the C library's.
            b"space" => self.insert_where(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')),
            b"upper" => self.insert_where(|byte| {
                byte.is_ascii_uppercase() || (fold_case && byte.is_ascii_lowercase())
            }),
            b"xdigit" => self.insert_where(|byte| byte.is_ascii_hexdigit()),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(pattern: &str, text: &str) -> bool {
        let mode = Mode {
            pathname: true,
            fold_case: false,
        };
        Wildmatch::new(pattern.as_bytes(), mode).matches(text.as_bytes())
    }

    fn folded(pattern: &str, text: &str) -> bool {
        let mode = Mode {
            pathname: false,
            fold_case: true,
        };
        Wildmatch::new(pattern.as_bytes(), mode).matches(text.as_bytes())
    }

    #[test]
    fn one_star_stays_in_its_directory_and_two_do_not() {
        assert!(path("a/*.c", "a/x.c"));
        assert!(!path("a/*.c", "a/b/x.c"));
        assert!(path("a/**/x.c", "a/x.c"));
        assert!(path("a/**/x.c", "a/b/c/x.c"));
        assert!(!path("a/**/x.c", "ax.c"));
        assert!(path("**/x", "x"));
        assert!(path("a/**", "a/b/c"));
        assert!(!path("a**/c", "a/b/c"));
        assert!(!path("a/**\\/c", "a/c"));
        assert!(path("a/**\\/c", "a/b/c"));
    }

    #[test]
    fn brackets_hold_sets_ranges_and_classes() {
        assert!(path("[]a]", "]"));
        assert!(path("[!]a]", "b"));
        assert!(path("[a-c]", "b"));
        assert!(path("[a-]", "-"));
        assert!(path("[[:digit:]x]", "7"));
        assert!(path("[[:a]", ":"));
        assert!(!path("[[:nothing:]]", "n"));
        assert!(!path("[a", "a"));
        assert!(!path("[^a]", "/"));
    }

    #[test]
    fn folding_spares_what_is_quoted_or_in_brackets() {
        assert!(folded("A*", "abc"));
        assert!(folded("[[:upper:]]", "a"));
        assert!(folded("[A-C]", "b"));
        assert!(!folded("[A]", "a"));
        assert!(!folded("\\A", "A"));
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = "**/a".repeat(60) + "/b";
        assert!(!path(&pattern, &"a/".repeat(1000)));
    }
}
