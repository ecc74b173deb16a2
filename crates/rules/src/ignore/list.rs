//! The rules of one file, sorted by kind so that a path is compared only with those that may match it.

use std::cmp::Reverse;
use std::ops::Range;

use bstr::{BStr, ByteSlice};

use vigil_model::path::name_start;
use vigil_model::wildmatch::{self, Flags};

/// The longest suffix (`*.extension`) that is looked up by hash; longer ones are compared one by one.
const SUFFIX_LEN_MAX: usize = 16;

/// One rule.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) is_negated: bool,
    /// The line it is on, from 1.
    pub(super) line: usize,
    only_directories: bool,
    /// The whole rule in the file.
    text: Range<usize>,
    /// The part of it that is compared with paths.
    body: Range<usize>,
    kind: Kind,
}

/// What a rule is compared with, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The last component must equal the text.
    Name,
    /// The last component must end in the text.
    NameSuffix,
    /// The last component must match a glob that begins with this many literal bytes.
    NameGlob(usize),
    /// The path relative to the rule's directory must equal the text.
    Path,
    /// That path must match a glob that begins with this many literal bytes.
    PathGlob(usize),
}

/// The rules of one file.
#[derive(Debug, Default)]
pub struct PatternList {
    contents: Box<[u8]>,
    /// In the order of the file.
    patterns: Vec<Pattern>,
    ignore_case: bool,
    names: HashIndex,
    suffixes: HashIndex,
    /// Bit n is set if there is a suffix of n bytes.
    suffix_lengths: u32,
    paths: HashIndex,
    /// The positions of all other rules, in the order of the file.
    globs: Vec<usize>,
}

/// Parses a file of rules, one per line. As in git, and beyond gitignore(5), a byte order mark at the start and a
/// carriage return before a newline are ignored, and a line ends at a NUL.
pub fn parse(contents: &[u8], ignore_case: bool) -> PatternList {
    let mut list = PatternList {
        contents: contents.into(),
        ignore_case,
        ..PatternList::default()
    };
    for line in lines(contents) {
        list.add(&line);
    }
    for index in [&mut list.names, &mut list.suffixes, &mut list.paths] {
        index.sort();
    }
    list
}

/// A line with a rule.
pub(crate) struct Line<'a> {
    /// From 1.
    number: usize,
    /// Where the text starts in the file.
    start: usize,
    text: &'a [u8],
    /// Whether it begins with `!`.
    pub(crate) is_negated: bool,
    /// Whether it ends in `/`.
    pub(crate) only_directories: bool,
    /// The text between the `!` and the final `/`.
    pub(crate) pattern: &'a [u8],
}

/// Returns the lines of a file in the format of gitignore(5) that hold a rule.
pub(crate) fn lines(contents: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut next_start = 0;
    contents
        .split(|&byte| byte == b'\n')
        .enumerate()
        .filter_map(move |(index, line)| {
            let mut start = next_start;
            next_start += line.len() + 1;
            let line = match line.strip_prefix(b"\xef\xbb\xbf") {
                Some(line) if index == 0 => {
                    start += 3;
                    line
                }
                _ => line,
            };
            if line.is_empty() || line.starts_with(b"#") {
                return None;
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let line = line.split(|&byte| byte == 0).next().unwrap_or_default();
            let text = without_trailing_spaces(line);
            let unnegated = text.strip_prefix(b"!");
            let rest = unnegated.unwrap_or(text);
            let directory = rest.strip_suffix(b"/");
            Some(Line {
                number: index + 1,
                start,
                text,
                is_negated: unnegated.is_some(),
                only_directories: directory.is_some(),
                pattern: directory.unwrap_or(rest),
            })
        })
}

impl PatternList {
    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// All rules as written, in the order of the file.
    pub(super) fn texts(&self) -> impl Iterator<Item = &BStr> {
        self.patterns.iter().map(|pattern| self.text(pattern))
    }

    /// The rule as written.
    pub(super) fn text(&self, pattern: &Pattern) -> &BStr {
        self.slice(&pattern.text).as_bstr()
    }

    fn slice(&self, range: &Range<usize>) -> &[u8] {
        self.contents.get(range.clone()).unwrap_or_default()
    }

    /// Adds the rule of `line`, if it can ever match.
    fn add(&mut self, line: &Line<'_>) {
        let (kind, body) = classify(line.pattern);
        if body.is_empty() && kind != Kind::NameSuffix {
            return;
        }
        let text_end = line.start + line.text.len();
        let body_end = text_end - usize::from(line.only_directories);
        let position = self.patterns.len();
        let hash = hash_backward(HASH_SEED, body);
        match kind {
            Kind::Name => self.names.insert(hash, position),
            Kind::Path => self.paths.insert(hash, position),
            Kind::NameSuffix if body.len() <= SUFFIX_LEN_MAX => {
                self.suffixes.insert(hash, position);
                self.suffix_lengths |= 1 << body.len();
            }
            Kind::NameSuffix | Kind::NameGlob(_) | Kind::PathGlob(_) => self.globs.push(position),
        }
        self.patterns.push(Pattern {
            is_negated: line.is_negated,
            line: line.number,
            only_directories: line.only_directories,
            text: line.start..text_end,
            body: body_end - body.len()..body_end,
            kind,
        });
    }

    /// Returns the last rule that matches the path of `probe`, whose part from `relative_start` on is relative to
    /// the directory of the rules.
    pub(super) fn last_match(
        &self,
        probe: &mut Probe<'_>,
        relative_start: usize,
    ) -> Option<&Pattern> {
        let mut best = None;
        if !self.names.is_empty() {
            self.improve(
                &mut best,
                &self.names,
                probe.name_hash,
                probe,
                relative_start,
            );
        }
        let mut lengths = self.suffix_lengths;
        while lengths != 0 {
            let length = lengths.trailing_zeros() as usize;
            lengths &= lengths - 1;
            if length <= probe.name.len()
                && let Some(&hash) = probe.suffix_hashes.get(length)
            {
                self.improve(&mut best, &self.suffixes, hash, probe, relative_start);
            }
        }
        if !self.paths.is_empty() {
            let hash = probe.hash_from(relative_start);
            self.improve(&mut best, &self.paths, hash, probe, relative_start);
        }
        for &position in self.globs.iter().rev() {
            if best.is_some_and(|best| position < best) {
                break;
            }
            if self.is_match(position, probe, relative_start) {
                best = Some(position);
                break;
            }
        }
        best.and_then(|position| self.patterns.get(position))
    }

    /// Moves `best` to the last match with `hash` in `index`, if that comes later in the file.
    fn improve(
        &self,
        best: &mut Option<usize>,
        index: &HashIndex,
        hash: u64,
        probe: &Probe<'_>,
        relative_start: usize,
    ) {
        let found = index
            .positions(hash)
            .take_while(|&position| best.is_none_or(|best| position > best))
            .find(|&position| self.is_match(position, probe, relative_start));
        *best = found.or(*best);
    }

    fn is_match(&self, position: usize, probe: &Probe<'_>, relative_start: usize) -> bool {
        let Some(pattern) = self.patterns.get(position) else {
            return false;
        };
        if pattern.only_directories && !probe.is_dir {
            return false;
        }
        let body = self.slice(&pattern.body);
        let relative = || probe.path.get(relative_start..).unwrap_or_default();
        match pattern.kind {
            Kind::Name => self.equal(body, probe.name),
            Kind::NameSuffix => self.ends_with(probe.name, body),
            Kind::NameGlob(literal_len) => {
                self.shares_prefix(body, probe.name, literal_len)
                    && wildmatch::wildmatch(body, probe.name, self.flags(false))
            }
            Kind::Path => self.equal(body, relative()),
            Kind::PathGlob(literal_len) => {
                let path = relative();
                // Keep the last literal byte of the glob: `**` looks at the byte before it.
                let done = literal_len.saturating_sub(1);
                self.shares_prefix(body, path, literal_len)
                    && match (body.get(done..), path.get(done..)) {
                        (Some(glob), Some(rest)) => {
                            wildmatch::wildmatch(glob, rest, self.flags(true))
                        }
                        _ => false,
                    }
            }
        }
    }

    fn flags(&self, pathname: bool) -> Flags {
        Flags {
            pathname,
            fold_case: self.ignore_case,
        }
    }

    fn equal(&self, left: &[u8], right: &[u8]) -> bool {
        if self.ignore_case {
            left.eq_ignore_ascii_case(right)
        } else {
            left == right
        }
    }

    fn shares_prefix(&self, left: &[u8], right: &[u8], len: usize) -> bool {
        match (left.get(..len), right.get(..len)) {
            (Some(left), Some(right)) => self.equal(left, right),
            _ => false,
        }
    }

    fn ends_with(&self, name: &[u8], suffix: &[u8]) -> bool {
        name.len()
            .checked_sub(suffix.len())
            .and_then(|start| name.get(start..))
            .is_some_and(|end| self.equal(end, suffix))
    }
}

/// Returns how the rule `rest`, without `!` and trailing slash, is compared, and the part of it that is compared: a
/// suffix of `rest`.
fn classify(rest: &[u8]) -> (Kind, &[u8]) {
    if !rest.contains(&b'/') {
        return classify_name(rest);
    }
    let rest = rest.strip_prefix(b"/").unwrap_or(rest);
    // `**/name` means `name` at any depth, and a name is cheaper to look up.
    if let Some(name) = rest.strip_prefix(b"**/")
        && !name.contains(&b'/')
        && let (kind @ (Kind::Name | Kind::NameSuffix), body) = classify_name(name)
    {
        return (kind, body);
    }
    match wildmatch::literal_prefix_len(rest) {
        len if len == rest.len() => (Kind::Path, rest),
        len => (Kind::PathGlob(len), rest),
    }
}

fn classify_name(name: &[u8]) -> (Kind, &[u8]) {
    let is_literal = |part: &[u8]| wildmatch::literal_prefix_len(part) == part.len();
    match name {
        _ if is_literal(name) => (Kind::Name, name),
        [b'*', suffix @ ..] if is_literal(suffix) => (Kind::NameSuffix, suffix),
        _ => (Kind::NameGlob(wildmatch::literal_prefix_len(name)), name),
    }
}

/// Returns `line` without its trailing unescaped spaces. If the line ends in a lone backslash, all spaces stay.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut bytes = line.iter().enumerate();
    while let Some((at, &byte)) = bytes.next() {
        match byte {
            b' ' => continue,
            b'\\' if bytes.next().is_none() => return line,
            b'\\' => end = at + 2,
            _ => end = at + 1,
        }
    }
    line.get(..end).unwrap_or(line)
}

/// Positions of rules by the hash of their text.
#[derive(Debug, Default)]
struct HashIndex {
    /// Sorted by hash; entries with the same hash are sorted from the last in the file to the first.
    entries: Vec<(u64, Reverse<usize>)>,
    /// Bit n is set if there is a hash whose highest six bits are n, so that most paths need no search.
    present: u64,
}

impl HashIndex {
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn insert(&mut self, hash: u64, position: usize) {
        self.entries.push((hash, Reverse(position)));
        self.present |= 1 << (hash >> 58);
    }

    fn sort(&mut self) {
        self.entries.sort_unstable();
    }

    /// Returns the positions with `hash`, in descending order.
    fn positions(&self, hash: u64) -> impl Iterator<Item = usize> {
        let start = match self.present >> (hash >> 58) & 1 {
            0 => self.entries.len(),
            _ => self.entries.partition_point(|entry| entry.0 < hash),
        };
        let tail = self.entries.get(start..).unwrap_or_default();
        tail.iter()
            .take_while(move |entry| entry.0 == hash)
            .map(|entry| entry.1.0)
    }
}

const HASH_SEED: u64 = 0xcbf2_9ce4_8422_2325;
const HASH_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Continues `hash` (FNV-1a over lower case) with `bytes` from the last to the first, so that one pass gives the
/// hashes of all suffixes of a path. Even if many rules share a hash, that costs no more than git's pass over all
/// rules.
fn hash_backward(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(hash, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(HASH_PRIME)
    })
}

/// The path that rules are looked up for, and what is computed from it once for all files of rules.
pub(super) struct Probe<'a> {
    path: &'a [u8],
    name: &'a [u8],
    is_dir: bool,
    /// The hash of each suffix of the name, indexed by length.
    suffix_hashes: [u64; SUFFIX_LEN_MAX + 1],
    name_hash: u64,
    /// `hashed` is the hash of the path from here to its end.
    hashed_start: usize,
    hashed: u64,
}

impl<'a> Probe<'a> {
    pub(super) fn new(path: &'a [u8], is_dir: bool) -> Self {
        let name_start = name_start(path);
        let name = path.get(name_start..).unwrap_or_default();
        let mut suffix_hashes = [HASH_SEED; SUFFIX_LEN_MAX + 1];
        let mut hash = HASH_SEED;
        for (byte, slot) in name.iter().rev().zip(suffix_hashes.iter_mut().skip(1)) {
            hash = hash_backward(hash, &[*byte]);
            *slot = hash;
        }
        let rest_len = name.len().saturating_sub(SUFFIX_LEN_MAX);
        let name_hash = hash_backward(hash, name.get(..rest_len).unwrap_or_default());
        Self {
            path,
            name,
            is_dir,
            suffix_hashes,
            name_hash,
            hashed_start: name_start,
            hashed: name_hash,
        }
    }

    /// Returns the hash of the path from `start` on. `start` must never grow from one call to the next.
    fn hash_from(&mut self, start: usize) -> u64 {
        let more = self.path.get(start..self.hashed_start).unwrap_or_default();
        self.hashed = hash_backward(self.hashed, more);
        self.hashed_start = self.hashed_start.min(start);
        self.hashed
    }
}
