//! Packed references in their written form, for callers that need little of each: nothing is copied or decoded.

use bstr::{BStr, ByteSlice};
use vigil_model::path::name_start;

use super::{Packed, Records};

/// Looks at a record, and decides how to go on.
pub type Skim<'a> = &'a dyn Fn(&Skimmed<'_>) -> SkimAction;

/// How to go on after a look at a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkimAction {
    /// Parse this record.
    Parse,
    /// Skip this record.
    Skip,
    /// Skip this record, and those directly after it in its directory that point to the same object, not a tag object.
    SkipSameTarget,
    /// Skip this record, and those after it up to the next that points to a tag object.
    SkipUntilTag,
}

impl SkimAction {
    /// [`Self::Skip`] if `is_needless`, else [`Self::Parse`].
    pub fn skip_if(is_needless: bool) -> Self {
        match is_needless {
            true => Self::Skip,
            false => Self::Parse,
        }
    }
}

/// A record that is certainly well-formed, with a valid name.
#[derive(Clone, Copy, Debug)]
pub struct Skimmed<'a> {
    /// Where it starts in the file.
    pub at: usize,
    /// The full name.
    pub name: &'a BStr,
    /// The lower-case digits of the id that it points to.
    pub id: &'a [u8],
    /// The digits of the id that this peels to, if it is a tag object.
    pub peeled: Option<&'a [u8]>,
    next: usize,
}

impl<'a> Skimmed<'a> {
    /// The digits of the object to which it leads through tags, if the file gives the peeled objects of all references.
    pub fn target(&self) -> &'a [u8] {
        self.peeled.unwrap_or(self.id)
    }

    /// Whether it leads to the object with these lower-case digits.
    pub fn leads_to(&self, digits: &[u8]) -> bool {
        is_same(self.target(), digits)
    }
}

impl Records<'_> {
    /// Skips records that `skim` does not want. Stops at the first record that it wants, that is not certainly well-formed,
    /// whose name does not begin with `prefix`, or is not before `until`.
    pub(crate) fn skim(&mut self, skim: Skim<'_>, prefix: &BStr, until: Option<&BStr>) {
        let packed = self.packed;
        let folder = Folder::new(prefix);
        let Some(folder) = folder.filter(|_| packed.order.is_none() && packed.knows_peeled(prefix))
        else {
            return;
        };
        let mut known = KnownValid::default();
        while let Some(record) = packed.skimmed_in(folder, known, self.at)
            && until.is_none_or(|until| record.name < until)
        {
            known = record.known(folder);
            match skim(&record) {
                SkimAction::Parse => return,
                SkimAction::Skip => self.at = record.next,
                SkimAction::SkipSameTarget => self.at = packed.after_same(&record, until),
                SkimAction::SkipUntilTag => self.at = packed.after_plain(&record, folder, until),
            }
        }
    }
}

impl Packed {
    /// Whether the record that starts at `at` points to the object with these lower-case digits.
    pub(crate) fn points_to(&self, at: usize, digits: &[u8]) -> bool {
        let record = self.bytes.get(at..);
        let id = record.and_then(|record| record.get(..self.hash.len_in_hex()));
        id.is_some_and(|id| is_same(id, digits))
    }

    /// Returns the record that starts at `at`, if its name begins with `prefix`, which is that of a directory; `None` if it
    /// takes a full parse to tell what the record is.
    pub(crate) fn skimmed_at(&self, at: usize, prefix: &BStr) -> Option<Skimmed<'_>> {
        self.skimmed_in(Folder::new(prefix)?, KnownValid::default(), at)
    }

    /// Returns the end of the run of records after `record` that have no peeled line, only one line each: all certainly
    /// well-formed, in `folder` and before `until`.
    fn after_plain(&self, record: &Skimmed<'_>, folder: Folder, until: Option<&BStr>) -> usize {
        let mut last = *record;
        loop {
            // Most are in the same directory, and many point to the same object.
            let at = self.after_same(&last, until);
            match self.skimmed_in(folder, last.known(folder), at) {
                Some(next)
                    if next.peeled.is_none() && until.is_none_or(|until| next.name < until) =>
                {
                    last = next;
                }
                _ => return at,
            }
        }
    }

    /// Returns the end of the run of records after `record` that point to the same object and are in the same directory,
    /// with one line each: all certainly well-formed and before `until`.
    fn after_same(&self, record: &Skimmed<'_>, until: Option<&BStr>) -> usize {
        // Usually the first digits already differ.
        let next = self.bytes.get(record.next..).unwrap_or_default();
        if in_common(next, record.id) < size_of::<u64>() {
            return record.next;
        }
        let start = self.start_of(record);
        let mut known = KnownValid {
            at: record.at + start.len(),
            len: (record.name.len() + self.hash.len_in_hex() + 1).saturating_sub(start.len()),
        };
        let mut at = record.next;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let line = rest.split_at_checked(start.len()).and_then(|(same, line)| {
                is_same(same, start).then(|| self.valid_line(line, known))?
            });
            let Some((below, end)) = line else {
                return at;
            };
            let is_before = until.is_none_or(|until| {
                let name = self.hash.len_in_hex() + 1..start.len() + below.len();
                rest.get(name).is_some_and(|name| name < until.as_bytes())
            });
            if end.first() == Some(&b'^') || !is_before {
                return at;
            }
            known = KnownValid {
                at: at + start.len(),
                len: below.len(),
            };
            at = self.bytes.len() - end.len();
        }
    }

    /// As [`valid_line`], for a `text` that may begin like the `known` part of a name.
    fn valid_line<'t>(&self, text: &'t [u8], known: KnownValid) -> Option<(&'t [u8], &'t [u8])> {
        let before = self.bytes.get(known.at..).unwrap_or_default();
        valid_line(text, in_common(text, before).min(known.len))
    }

    /// Returns the line of `record` without the last component of the name.
    fn start_of(&self, record: &Skimmed<'_>) -> &[u8] {
        let folder = name_start(record.name);
        let len = self.hash.len_in_hex() + 1 + folder;
        let line = self.bytes.get(record.at..);
        line.and_then(|line| line.get(..len)).unwrap_or_default()
    }

    fn skimmed_in(&self, folder: Folder, known: KnownValid, at: usize) -> Option<Skimmed<'_>> {
        let digits = self.hash.len_in_hex();
        let (id, line) = self.bytes.get(at..)?.split_at_checked(digits)?;
        let line = line.strip_prefix(b" ")?;
        let (below, end) = self.valid_line(folder.strip_from(line)?, known)?;
        let name = line.get(..folder.len.saturating_add(below.len()))?;
        let (peeled, rest) = match end.strip_prefix(b"^") {
            None => (None, end),
            Some(peeled) => {
                let (peeled, rest) = peeled.split_at_checked(digits)?;
                let rest = rest.strip_prefix(b"\n")?;
                (is_lower_hex(peeled).then_some(Some(peeled))?, rest)
            }
        };
        is_lower_hex(id).then_some(Skimmed {
            at,
            name: name.as_bstr(),
            id,
            peeled,
            next: self.bytes.len() - rest.len(),
        })
    }
}

/// The end of a name in the file that is certainly valid. Neighbours in byte order share prefixes, and what the next name
/// shares with this one need not be checked again.
#[derive(Clone, Copy, Debug, Default)]
struct KnownValid {
    at: usize,
    len: usize,
}

impl Skimmed<'_> {
    /// The part of the name after that of `folder`.
    fn known(&self, folder: Folder) -> KnownValid {
        KnownValid {
            at: self.at + self.id.len() + 1 + folder.len,
            len: self.name.len().saturating_sub(folder.len),
        }
    }
}

/// The name of a directory of references, in a form that is compared with each name at once, without a function call.
#[derive(Clone, Copy, Debug)]
struct Folder {
    name: u128,
    mask: u128,
    len: usize,
}

impl Folder {
    /// Returns `None` if `prefix` is not the name of a directory, or too long to be compared at once.
    fn new(prefix: &BStr) -> Option<Self> {
        let (mut name, mut mask) = ([0; 16], [0; 16]);
        name.get_mut(..prefix.len())?.copy_from_slice(prefix);
        mask.get_mut(..prefix.len())?.fill(0xff);
        prefix.ends_with(b"/").then_some(Self {
            name: u128::from_ne_bytes(name),
            mask: u128::from_ne_bytes(mask),
            len: prefix.len(),
        })
    }

    /// Returns what follows this name at the start of `text`. `None` if `text` does not start with it, or is too short to tell.
    fn strip_from(self, text: &[u8]) -> Option<&[u8]> {
        let start = u128::from_ne_bytes(*text.first_chunk()?);
        (start & self.mask == self.name).then(|| text.get(self.len..))?
    }
}

/// Returns how many of their first eight bytes two texts have in common at the start; 0 if one of them is shorter.
fn in_common(left: &[u8], right: &[u8]) -> usize {
    let bytes = |text: &[u8]| text.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    match (bytes(left), bytes(right)) {
        (Some(left), Some(right)) => (left ^ right).trailing_zeros() as usize / 8,
        _ => 0,
    }
}

/// Splits off the first line of `text`, if a name that ends with it, after a slash, is certainly valid; some valid names do
/// not pass. The first `known` bytes are known to be valid, and do not reach the end of the line.
fn valid_line(text: &[u8], known: usize) -> Option<(&[u8], &[u8])> {
    let (start, unknown) = text.split_at_checked(known)?;
    let class_of = |byte: &u8| {
        BYTE_CLASSES
            .get(usize::from(*byte))
            .copied()
            .unwrap_or(NEVER)
    };
    let mut conflict = 0;
    let mut before = start.last().map_or(SLASH, class_of);
    let length = unknown.iter().position(|byte| {
        let class = class_of(byte);
        conflict |= before & (class >> 4);
        let ends = class & NEVER != 0;
        before = if ends { before } else { class };
        ends
    })?;
    let (line, rest) = text.split_at_checked(known + length)?;
    let rest = rest.strip_prefix(b"\n")?;
    (conflict | (before & AT_END) == 0).then_some((line, rest))
}

/// For each byte: in the lower half its class when it comes before another byte, or that it is never allowed; in the upper
/// half the classes after which it is not allowed.
static BYTE_CLASSES: [u8; 256] = {
    let mut places = [0; 256];
    let mut rest: &mut [u8] = &mut places;
    let mut byte: u8 = 0;
    while let Some((class, others)) = rest.split_first_mut() {
        *class = class_of(byte);
        byte = byte.wrapping_add(1);
        rest = others;
    }
    places
};

const SLASH: u8 = 1;
const DOT: u8 = 2;
const NEVER: u8 = 4;
/// The classes that a name may not end with.
const AT_END: u8 = SLASH | DOT;

const fn class_of(byte: u8) -> u8 {
    match byte {
        b'/' => SLASH | (SLASH | DOT) << 4,
        b'.' => DOT | (SLASH | DOT) << 4,
        // It may be the beginning of `.lock`.
        b'l' => DOT << 4,
        // `{` is allowed, but not in `@{`.
        0..=b' ' | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\' | b'{' | 0x7f => NEVER,
        _ => 0,
    }
}

/// Whether two texts are equal, by their first and last 32 bytes, without a function call. Only for lengths from 32 to 64.
fn is_same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len()
        && left.len() <= 64
        && left
            .first_chunk::<32>()
            .is_some_and(|half| Some(half) == right.first_chunk())
        && left
            .last_chunk::<32>()
            .is_some_and(|half| Some(half) == right.last_chunk())
}

/// Whether `text`, an object id, consists of lower-case hexadecimal digits. Checked without a branch for each byte, in two
/// halves that may overlap.
fn is_lower_hex(text: &[u8]) -> bool {
    let is_hex = |half: &[u8; 32]| {
        half.iter().fold(true, |is_hex, byte| {
            is_hex & ((byte.wrapping_sub(b'0') < 10) | (byte.wrapping_sub(b'a') < 6))
        })
    };
    text.len() <= 64
        && text.first_chunk().is_some_and(is_hex)
        && text.last_chunk().is_some_and(is_hex)
}

#[cfg(test)]
mod tests {
    use gix_hash::Kind;

    use super::*;
    use crate::refs::name;
    use vigil_stamp::file::Contents;

    /// Parses `text` whatever its end is: the check of the end, which comes first, sees a complete record.
    fn parse(text: &str) -> Packed {
        let contents = |text: String| Contents::Read(text.into_bytes());
        let whole = contents(format!("{text}{} refs/zz\n", id(1)));
        let mut packed = Packed::parse("packed-refs".into(), whole, Kind::Sha1).unwrap();
        packed.bytes = contents(text.to_owned());
        packed
    }

    fn id(n: u32) -> String {
        format!("{n:040x}")
    }

    fn is_surely_valid(end: &[u8]) -> bool {
        valid_line(&[end, b"\nrest"].concat(), 0)
            .is_some_and(|(line, rest)| line == end && rest == b"rest")
    }

    #[test]
    fn only_records_of_which_no_more_is_wanted_are_passed_over() {
        // The digits of ids, and of what they peel to.
        let records = [
            (1, None),
            (2, None),
            (3, Some(1)),
            (4, Some(2)),
            (1, Some(4)),
        ];
        let text: String = (0..)
            .zip(records)
            .map(|(n, (to, peeled))| {
                let peeled = peeled.map(|to| format!("^{}\n", id(to)));
                format!("{} refs/tags/{n}\n{}", id(to), peeled.unwrap_or_default())
            })
            .collect();
        // The names of the records that are not skipped if those that lead to `target` are wanted.
        let rest = |traits: &str, end: &str, target: u32, until: Option<&str>| {
            let packed = parse(&format!("# pack-refs with: {traits} \n{text}{end}"));
            let target = id(target);
            let skim = |record: &Skimmed<'_>| {
                assert_eq!(
                    packed
                        .skimmed_at(record.at, "refs/".into())
                        .map(|again| again.name),
                    Some(record.name)
                );
                SkimAction::skip_if(record.target() != target.as_bytes())
            };
            let prefix = BStr::new("refs/tags/");
            let mut records = packed.from(prefix);
            let mut left = Vec::new();
            loop {
                records.skim(&skim, prefix, until.map(Into::into));
                match records.next() {
                    Some(Ok(record)) => left.push(record.name.to_string()),
                    Some(Err(_)) => left.push("error".into()),
                    None => return left.concat().replace("refs/tags/", ""),
                }
            }
        };
        let fully = "peeled fully-peeled sorted";
        assert_eq!(rest(fully, "", 1, None), "02");
        assert_eq!(rest("peeled sorted", "", 2, None), "13");
        assert_eq!(rest(fully, "", 4, None), "4");
        assert_eq!(rest(fully, "", 9, Some("refs/tags/3")), "34");
        for (end, left) in [
            (format!("{} refs/z\n", id(1)), "refs/z"),
            (format!("{} refs/tags/z.lock\n", id(1)), "z.lock"),
            (format!("{} refs/tags/..\n", id(1)), ".."),
            (format!("{}\n", id(1)), "error"),
            ("junk\n".into(), "error"),
            ("^junk\n".into(), "error"),
            (format!("^{}\n^{}\n", id(1), id(2)), "error"),
            (format!("{:040X} refs/tags/u\n", 0xab), "u"),
            (format!("{} refs/tags/u\n^{:040X}\n", id(1), 0xab), "u"),
        ] {
            assert_eq!(rest(fully, &end, 9, None), left, "{end}");
        }
        assert_eq!(rest("sorted", "", 9, None), "01234");
    }

    #[test]
    fn plain_records_are_passed_over_together_as_one_by_one() {
        let tag = |n: u32| format!("{} refs/tags/{n}\n^{}\n", id(n), id(n + 1));
        let plain = |to: u32, name: &str| format!("{} refs/{name}\n", id(to));
        let long = format!("tags/{}/b", "a".repeat(30));
        let pieces = [
            plain(1, "heads/a"),
            plain(1, "heads/b"),
            plain(2, "heads/b/c"),
            plain(2, "heads/c"),
            plain(2, &long),
            plain(2, "tags/1"),
            plain(2, "tags/2"),
            tag(3),
            plain(2, "tags/4"),
            plain(2, "tags/5.lock"),
            plain(2, "tags/6"),
            tag(7),
            tag(8),
            plain(2, "tags/9"),
            format!("{:040X} refs/tags/A\n", 0xab),
            plain(3, "tags/B"),
            "junk\n".into(),
        ];
        // The names that are not skipped if records without a peeled line are answered with `look`.
        let rest = |text: &str, look: SkimAction, prefix: &str, until: Option<&str>| {
            let packed = parse(&format!(
                "# pack-refs with: peeled fully-peeled sorted \n{text}"
            ));
            let skim = |record: &Skimmed<'_>| match record.peeled {
                None => look,
                Some(_) => SkimAction::Parse,
            };
            let mut records = packed.from(prefix.into());
            let mut left = Vec::new();
            loop {
                records.skim(&skim, prefix.into(), until.map(Into::into));
                match records.next() {
                    Some(Ok(record)) => left.push(record.name.to_string()),
                    Some(Err(error)) => left.push(error.to_string()),
                    None => return left,
                }
            }
        };
        for first in 0..pieces.len() {
            for end in first..=pieces.len() {
                // Records close to the end may be skipped or not.
                let text = pieces[first..end].concat() + &plain(1, "remotes/long-enough");
                for prefix in ["refs/", "refs/heads/", "refs/tags/"] {
                    for until in [
                        None,
                        Some("refs/heads/b/c"),
                        Some("refs/tags/4"),
                        Some("refs/x"),
                    ] {
                        let singly = rest(&text, SkimAction::Skip, prefix, until);
                        for together in [SkimAction::SkipUntilTag, SkimAction::SkipSameTarget] {
                            assert_eq!(rest(&text, together, prefix, until), singly, "{text}");
                        }
                    }
                }
            }
        }
        let all = rest(&pieces.concat(), SkimAction::SkipUntilTag, "refs/", None);
        assert_eq!(all[0], "refs/tags/3");
    }

    #[test]
    fn names_that_begin_alike_are_as_valid_as_alone() {
        let bytes = b"a./l@";
        let (mut ends, mut last) = (vec![Vec::new()], vec![Vec::new()]);
        for _ in 0..3 {
            let longer = |end: Vec<u8>| bytes.map(|byte| [end.as_slice(), &[byte]].concat());
            last = last.into_iter().flat_map(longer).collect();
            ends.extend(last.iter().cloned());
        }
        let mut count = 0;
        for start in ["", "b", "bbbbbb", "bbbbbbb", "bbbbbbbb", "bbbbbbbbb"] {
            let name = |end: &[u8]| [start.as_bytes(), end].concat();
            for first in ends.iter().filter(|end| is_surely_valid(&name(end))) {
                for second in ends.iter().map(|end| name(end)) {
                    let line = |name: &[u8]| {
                        let id = id(1);
                        [id.as_bytes(), b" refs/tags/", name, b"\n"].concat()
                    };
                    let lines = [line(&name(first)), line(&second), line(b"long-enough")].concat();
                    let head = "# pack-refs with: peeled fully-peeled sorted \n";
                    let packed = parse(&format!("{head}{}", lines.to_str().unwrap()));
                    let prefix = BStr::new("refs/tags/");
                    let folder = Folder::new(prefix).unwrap();
                    let first = packed.skimmed_at(head.len(), prefix).unwrap();
                    let found = packed.skimmed_in(folder, first.known(folder), first.next);
                    let is_valid = is_surely_valid(&second);
                    assert_eq!(found.is_some(), is_valid, "{:?}", lines.as_bstr());
                    count += usize::from(is_valid);
                }
            }
        }
        assert!(count > 10_000, "{count}");
    }

    #[test]
    fn what_is_surely_valid_is_valid() {
        let is_valid = |end: &[u8]| name::is_valid(&[b"refs/", end].concat());
        let bytes = b"a./l@{\0\x7f~\n\xe4";
        let (mut ends, mut count) = (vec![Vec::new()], 0);
        for _ in 0..4 {
            let longer = |end: Vec<u8>| bytes.map(|byte| [end.as_slice(), &[byte]].concat());
            ends = ends.into_iter().flat_map(longer).collect();
            for end in ends.iter().filter(|end| is_surely_valid(end)) {
                assert!(is_valid(end), "{:?}", end.as_bstr());
                count += 1;
            }
        }
        assert!(count > 300, "{count}");
        for end in ["tags/v1.2.3", "heads/a-b/@/c_d", "tags/\u{e4}", "@"] {
            assert!(is_surely_valid(end.as_bytes()), "{end}");
        }
        for end in ["tags/a.lock", "", "a/", "a.", "/a", ".a", "tags/a~"] {
            assert!(!is_surely_valid(end.as_bytes()), "{end}");
        }
    }
}
