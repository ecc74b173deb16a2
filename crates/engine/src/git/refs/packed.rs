//! `packed-refs`: many references in one sorted file (git-pack-refs(1)).

use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId};

use super::Error;
use crate::file::{self, Contents};

/// How far the file tells what annotated tags point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peeled {
    /// Only where a peeled line is: anything else must be looked up.
    Unknown,
    /// For everything under `refs/tags/`.
    Tags,
    /// For all references.
    Fully,
}

/// The contents of a `packed-refs` file.
#[derive(Debug)]
pub(crate) struct Packed {
    /// The file, as git names it.
    path: PathBuf,
    hash: Kind,
    bytes: Contents,
    /// Where the first record starts.
    body: usize,
    peeled: Peeled,
    /// The starts of all records by name, where the file does not promise that it is sorted.
    order: Option<Vec<usize>>,
}

/// One reference of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// The full name.
    pub(crate) name: &'a BStr,
    /// What it points to.
    pub(crate) id: ObjectId,
    /// What that peels to (itself, unless it is a tag object), where the file knows.
    pub(crate) peeled: Option<ObjectId>,
    next: usize,
}

impl Packed {
    /// No packed references at all.
    pub(crate) fn empty(hash: Kind) -> Self {
        Self {
            path: PathBuf::new(),
            hash,
            bytes: Contents::Read(Vec::new()),
            body: 0,
            peeled: Peeled::Unknown,
            order: None,
        }
    }

    /// Reads the file `path`, which git calls `shown`; without one there are no packed references.
    pub(crate) fn read(path: &Path, shown: &Path, hash: Kind) -> Result<Self, Error> {
        let bytes = match file::read_or_map(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Contents::Read(Vec::new())
            }
            Err(source) => return Err(Error::read(path, source)),
        };
        Self::parse(shown.to_owned(), bytes, hash)
    }

    /// Takes over the bytes of the file `path`.
    pub(crate) fn parse(path: PathBuf, bytes: Contents, hash: Kind) -> Result<Self, Error> {
        let mut packed = Self {
            path,
            bytes,
            ..Self::empty(hash)
        };
        let mut is_sorted = false;
        if packed.bytes.first() == Some(&b'#') {
            let line = packed.line(0);
            let Some(traits) = line.strip_prefix(b"# pack-refs with:") else {
                return Err(packed.unexpected(0));
            };
            let has = |word: &[u8]| {
                traits
                    .split(|byte| *byte == b' ')
                    .any(|found| found == word)
            };
            let peeled = match (has(b"fully-peeled"), has(b"peeled")) {
                (true, _) => Peeled::Fully,
                (false, true) => Peeled::Tags,
                (false, false) => Peeled::Unknown,
            };
            is_sorted = has(b"sorted");
            let body = line.len() + 1;
            packed.peeled = peeled;
            packed.body = body;
        }
        if let Some(last) = packed.bytes.last()
            && *last != b'\n'
        {
            let start = packed.bytes.rfind_byte(b'\n').map_or(0, |at| at + 1);
            return Err(Error::UnterminatedLine {
                path: packed.path.clone(),
                line: packed.line(start).into(),
            });
        }
        if !is_sorted {
            let mut order = Vec::new();
            let mut at = packed.body;
            while let Some(record) = packed.record(at)? {
                order.push(at);
                at = record.next;
            }
            order.sort_by(|a, b| packed.name_at(*a).cmp(packed.name_at(*b)));
            packed.order = Some(order);
        }
        Ok(packed)
    }

    /// The line that starts at `at`, without its end.
    fn line(&self, at: usize) -> &[u8] {
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.get(..rest.find_byte(b'\n').unwrap_or(rest.len()))
            .unwrap_or_default()
    }

    fn unexpected(&self, at: usize) -> Error {
        Error::UnexpectedLine {
            path: self.path.clone(),
            line: self.line(at).into(),
        }
    }

    /// The name in the record that starts at `at`, whatever else is wrong with it.
    fn name_at(&self, at: usize) -> &BStr {
        self.line(at)
            .get(self.hash.len_in_hex() + 1..)
            .unwrap_or_default()
            .as_bstr()
    }

    /// The record that starts at `at`, with the peeled line that follows it.
    fn record(&self, at: usize) -> Result<Option<Record<'_>>, Error> {
        if at >= self.bytes.len() {
            return Ok(None);
        }
        let line = self.line(at);
        let (Some((id, [b' ', name @ ..])), false) = (
            line.split_at_checked(self.hash.len_in_hex()),
            line.starts_with(b"^"),
        ) else {
            return Err(self.unexpected(at));
        };
        let id = ObjectId::from_hex(id).map_err(|_| self.unexpected(at))?;
        let mut next = at + line.len() + 1;
        let mut peeled = self.knows_peeled(name).then_some(id);
        if self.bytes.get(next) == Some(&b'^') {
            let hex = self.line(next + 1);
            peeled = Some(ObjectId::from_hex(hex).map_err(|_| self.unexpected(next))?);
            next += hex.len() + 2;
        }
        Ok(Some(Record {
            name: name.as_bstr(),
            id,
            peeled,
            next,
        }))
    }

    /// The record named `name`.
    pub(crate) fn find(&self, name: &BStr) -> Result<Option<Record<'_>>, Error> {
        Ok(self
            .from(name)
            .next()
            .transpose()?
            .filter(|record| record.name == name))
    }

    /// The records whose names are `name` or later, in byte order.
    pub(crate) fn from(&self, name: &BStr) -> Records<'_> {
        let at = match &self.order {
            Some(order) => order.partition_point(|at| self.name_at(*at) < name),
            None => self.lower_bound(name),
        };
        Records { packed: self, at }
    }

    /// Where the first record named `name` or later starts, in a sorted file.
    fn lower_bound(&self, name: &BStr) -> usize {
        let (mut low, mut high) = (self.body, self.bytes.len());
        while low < high {
            let middle = self.record_start(low + (high - low) / 2, low);
            if self.name_at(middle) < name {
                low = self.record_end(middle);
            } else {
                high = middle;
            }
        }
        low
    }

    /// The start of the record that holds the byte at `at`; not before `low`, which is the start of a record.
    fn record_start(&self, at: usize, low: usize) -> usize {
        let mut start = at;
        loop {
            let before = self.bytes.get(low..start).unwrap_or_default();
            start = before.rfind_byte(b'\n').map_or(low, |end| low + end + 1);
            if start == low || self.bytes.get(start) != Some(&b'^') {
                return start;
            }
            start -= 1;
        }
    }

    fn record_end(&self, at: usize) -> usize {
        let mut next = at + self.line(at).len() + 1;
        if self.bytes.get(next) == Some(&b'^') {
            next += self.line(next).len() + 1;
        }
        next.min(self.bytes.len())
    }
}

/// Records in byte order of their names. Ends after the first error.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    packed: &'a Packed,
    /// An offset into the bytes, or into the order where there is one.
    at: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = match &self.packed.order {
            Some(order) => self.packed.record(*order.get(self.at)?),
            None => self.packed.record(self.at),
        };
        match (&record, &self.packed.order) {
            (Ok(Some(_)), Some(_)) => self.at += 1,
            (Ok(Some(found)), None) => self.at = found.next,
            _ => self.at = usize::MAX,
        }
        record.transpose()
    }
}

/// Records that are of no use to who looks for the best name of one object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needless<'a> {
    /// All that do not lead to the object whose id this is in lower-case digits,
    pub(crate) target: &'a [u8],
    /// and all without a tag object.
    pub(crate) plain: bool,
}

impl Records<'_> {
    /// Passes over records that are `needless`, up to the first that may be of use, whose name does not begin with
    /// `prefix`, or is not before `until`. What is malformed is left to [`Iterator::next`].
    pub(crate) fn skip_needless(
        &mut self,
        needless: Needless<'_>,
        prefix: &BStr,
        until: Option<&BStr>,
    ) {
        let packed = self.packed;
        if packed.order.is_none() && packed.knows_peeled(prefix) {
            while let Some(next) = packed.after_needless(self.at, needless, prefix, until) {
                self.at = next;
            }
        }
    }
}

impl Packed {
    /// The end of the record at `at`, if it is needless as [`Records::skip_needless`] has it.
    fn after_needless(
        &self,
        at: usize,
        needless: Needless<'_>,
        prefix: &BStr,
        until: Option<&BStr>,
    ) -> Option<usize> {
        let digits = self.hash.len_in_hex();
        let (id, name) = self.bytes.get(at..)?.split_at_checked(digits)?;
        let name = name.strip_prefix(b" ")?;
        if !is_lower_hex(id) || !name.starts_with(prefix) {
            return None;
        }
        let (name, rest) = name.split_at_checked(name.find_byte(b'\n')? + 1)?;
        if is_odd(name) || until.is_some_and(|until| name.trim_end_with(|c| c == '\n') >= until) {
            return None;
        }
        let (is_needless, rest) = match rest.strip_prefix(b"^") {
            None => (needless.plain || id != needless.target, rest),
            Some(peeled) => {
                let (peeled, rest) = peeled.split_at_checked(digits)?;
                let is_needless = is_lower_hex(peeled) && peeled != needless.target;
                (is_needless, rest.strip_prefix(b"\n")?)
            }
        };
        is_needless.then(|| self.bytes.len() - rest.len())
    }

    /// Whether the file tells what the reference `name` peels to, or all whose names begin so.
    fn knows_peeled(&self, name: &[u8]) -> bool {
        match self.peeled {
            Peeled::Fully => true,
            Peeled::Tags => name.starts_with(b"refs/tags/"),
            Peeled::Unknown => false,
        }
    }
}

/// Whether the name in `line`, which has its end, may be one that is a reason to give up. Without a branch for each byte.
fn is_odd(line: &[u8]) -> bool {
    let next = line.get(1..).unwrap_or_default();
    line.iter().zip(next).fold(false, |is_odd, (byte, next)| {
        let begins_oddly = (*next == b'/') | (*next == b'.') | (*next == b'\n');
        is_odd | (*byte == 0) | ((*byte == b'/') & begins_oddly)
    })
}

/// Whether all of `text` are lower-case hexadecimal digits. Without a branch for each byte.
fn is_lower_hex(text: &[u8]) -> bool {
    text.iter().fold(true, |is_hex, byte| {
        is_hex & ((byte.wrapping_sub(b'0') < 10) | (byte.wrapping_sub(b'a') < 6))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Packed, Error> {
        let bytes = Contents::Read(text.as_bytes().to_vec());
        Packed::parse("packed-refs".into(), bytes, Kind::Sha1)
    }

    fn id(n: u32) -> String {
        format!("{n:040x}")
    }

    #[test]
    fn every_name_is_found_in_files_of_any_size_with_and_without_order() {
        for count in 0..20 {
            let mut records = Vec::new();
            for n in 0..count {
                let peeled = if n % 3 == 0 {
                    format!("^{}\n", id(1000 + n))
                } else {
                    String::new()
                };
                records.push(format!("{} refs/tags/{n:03}\n{peeled}", id(n)));
            }
            let sorted = format!(
                "# pack-refs with: peeled fully-peeled sorted \n{}",
                records.concat()
            );
            records.reverse();
            for text in [sorted, records.concat()] {
                let packed = parse(&text).unwrap();
                let fully = text.starts_with('#');
                for n in 0..count {
                    let found = packed
                        .find(format!("refs/tags/{n:03}").as_str().into())
                        .unwrap()
                        .unwrap();
                    assert_eq!(found.id.to_string(), id(n));
                    let peeled = if n % 3 == 0 {
                        Some(id(1000 + n))
                    } else {
                        fully.then(|| id(n))
                    };
                    assert_eq!(found.peeled.map(|id| id.to_string()), peeled);
                }
                for absent in ["a", "refs/tags/000a", "refs/tags/", "z"] {
                    assert!(packed.find(absent.into()).unwrap().is_none(), "{absent}");
                }
                assert_eq!(packed.from("".into()).count(), count as usize);
            }
        }
    }

    #[test]
    fn only_needless_records_are_passed_over() {
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
        let rest = |traits: &str, end: &str, target: u32, plain, until: Option<&str>| {
            let packed = parse(&format!("# pack-refs with: {traits} \n{text}{end}")).unwrap();
            let target = id(target);
            let needless = Needless {
                target: target.as_bytes(),
                plain,
            };
            let prefix = BStr::new("refs/tags/");
            let mut records = packed.from(prefix);
            let mut left = Vec::new();
            loop {
                records.skip_needless(needless, prefix, until.map(Into::into));
                match records.next() {
                    Some(Ok(record)) => left.push(record.name.to_string()),
                    Some(Err(_)) => left.push("error".into()),
                    None => return left.concat().replace("refs/tags/", ""),
                }
            }
        };
        let fully = "peeled fully-peeled sorted";
        assert_eq!(rest(fully, "", 1, false, None), "02");
        assert_eq!(rest(fully, "", 1, true, None), "2");
        assert_eq!(rest("peeled sorted", "", 2, false, None), "13");
        assert_eq!(rest(fully, "", 4, true, None), "4");
        assert_eq!(rest(fully, "", 9, false, Some("refs/tags/3")), "34");
        assert_eq!(
            rest(fully, &format!("{} refs/z\n", id(1)), 9, true, None),
            "refs/z"
        );
        for plain in [false, true] {
            assert_eq!(rest("sorted", "", 9, plain, None), "01234");
            assert_eq!(rest(fully, "junk\n", 9, plain, None), "error");
            assert_eq!(rest(fully, "^junk\n", 9, plain, None), "error");
            let upper = id(0xab).to_uppercase();
            assert_eq!(
                rest(fully, &format!("{upper} refs/tags/u\n"), 9, plain, None),
                "u"
            );
        }
    }

    #[test]
    fn what_is_no_record_is_named() {
        let text = |text: &str| match parse(text) {
            Err(error) => error.to_string(),
            Ok(packed) => packed
                .from("".into())
                .find_map(Result::err)
                .unwrap()
                .to_string(),
        };
        assert_eq!(text("junk\n"), "unexpected line in packed-refs: junk");
        assert_eq!(text("# other\n"), "unexpected line in packed-refs: # other");
        let line = format!("{} refs/a", id(1));
        assert_eq!(
            text(&line),
            format!("unterminated line in packed-refs: {line}")
        );
        assert_eq!(
            text(&format!("# pack-refs with: sorted\n^{}\n", id(1))),
            format!("unexpected line in packed-refs: ^{}", id(1))
        );
    }
}
