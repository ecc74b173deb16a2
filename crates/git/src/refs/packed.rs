//! `packed-refs`: many references in one sorted file (git-pack-refs(1)).

mod skim;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bstr::{BStr, BString, ByteSlice};
use gix_hash::{Kind, ObjectId, oid};
use vigil_linux::errno;

pub use self::skim::{Skim, SkimAction, Skimmed};
use super::error::Error;
use vigil_model::c_string::until_nul;
use vigil_stamp::file::{self, Contents};

/// For which references the file gives what they peel to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peeled {
    /// Only for those with a peeled line: all others must be looked up.
    Unknown,
    /// For everything under `refs/tags/`.
    Tags,
    /// For all references.
    Fully,
}

/// The contents of a `packed-refs` file.
#[derive(Debug)]
pub(crate) struct Packed {
    /// The path, as git names it.
    path: PathBuf,
    hash: Kind,
    bytes: Contents,
    /// Where the first record starts.
    body: usize,
    peeled: Peeled,
    /// Whether tag objects are there that are not peeled, although the file says so; empty until somebody asks.
    lacks_peeled: OnceLock<bool>,
    /// The starts of all records in order of their names, if the file is not marked as sorted.
    order: Option<Vec<usize>>,
}

/// One reference in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// The full name.
    pub(crate) name: &'a BStr,
    /// What it points to.
    pub(crate) id: ObjectId,
    /// What that peels to (itself, unless it is a tag object), if the file gives it.
    pub(crate) peeled: Option<ObjectId>,
    next: usize,
}

impl Packed {
    /// Creates an empty set of packed references.
    pub(crate) fn empty(hash: Kind) -> Self {
        Self {
            path: PathBuf::new(),
            hash,
            bytes: Contents::Read(Vec::new()),
            body: 0,
            peeled: Peeled::Unknown,
            lacks_peeled: OnceLock::new(),
            order: None,
        }
    }

    /// Reads the file `path`, which git calls `shown`; if it does not exist, there are no packed references.
    pub(crate) fn read(path: &Path, shown: &Path, hash: Kind) -> Result<Self, Error> {
        let bytes = match file::read_or_map(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Contents::Read(Vec::new())
            }
            Err(source) => {
                return Err(Error::Unread {
                    path: shown.to_owned(),
                    reason: errno::text_of(&source),
                });
            }
        };
        Self::parse(shown.to_owned(), bytes, hash)
    }

    /// Parses the bytes of the file `path`.
    pub(crate) fn parse(path: PathBuf, bytes: Contents, hash: Kind) -> Result<Self, Error> {
        let mut packed = Self {
            path,
            bytes,
            ..Self::empty(hash)
        };
        let mut is_sorted = false;
        if packed.bytes.first() == Some(&b'#') {
            let line = packed.line(0);
            if line.len() == packed.bytes.len() {
                return Err(packed.unterminated(line));
            }
            let Some(traits) = line.strip_prefix(b"# pack-refs with: ") else {
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
        packed.check_end()?;
        if !is_sorted {
            // As in git, a record that is only damaged counts if somebody asks for it.
            let mut order = Vec::new();
            let mut at = packed.body;
            while at < packed.bytes.len() {
                let line = packed.line(at);
                if line.len() < hash.len_in_hex() + 2 {
                    return Err(packed.unexpected(at));
                }
                order.push(at);
                at += line.len() + 1;
                if packed.bytes.get(at) == Some(&b'^') {
                    at += packed.line(at).len() + 1;
                }
            }
            order.sort_by(|a, b| packed.name_at(*a).cmp(packed.name_at(*b)));
            packed.order = Some(order);
        }
        Ok(packed)
    }

    /// Checks the end, as git does first: the last record must end with a line feed, and be long enough for an id.
    fn check_end(&self) -> Result<(), Error> {
        let body = self.bytes.get(self.body..).unwrap_or_default();
        let Some(last) = body.len().checked_sub(1) else {
            return Ok(());
        };
        // A peeled line is part of the record above it.
        let starts =
            |at: usize| body.get(at.wrapping_sub(1)) == Some(&b'\n') && body.get(at) != Some(&b'^');
        let start = (1..=last).rev().find(|at| starts(*at)).unwrap_or(0);
        let record = body.get(start..).unwrap_or_default();
        if body.last() == Some(&b'\n') && record.len() >= self.hash.len_in_hex() + 2 {
            return Ok(());
        }
        if record.contains(&b'\n') {
            return Err(self.unexpected(self.body + start));
        }
        Err(self.unterminated(record))
    }

    /// Copies the contents to memory so that the file is not mapped, if there is room.
    pub(super) fn copy_to_memory(&self) {
        self.bytes.copy_to_memory();
    }

    /// Returns the line that starts at `at`, without its line feed.
    fn line(&self, at: usize) -> &[u8] {
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.get(..rest.find_byte(b'\n').unwrap_or(rest.len()))
            .unwrap_or_default()
    }

    fn unexpected(&self, at: usize) -> Error {
        Error::UnexpectedLine {
            path: self.path.clone(),
            line: shown_part(self.line(at)),
        }
    }

    fn unterminated(&self, line: &[u8]) -> Error {
        Error::UnterminatedLine {
            path: self.path.clone(),
            line: shown_part(line),
        }
    }

    /// Returns the name in the record that starts at `at`, even if the record is otherwise invalid.
    fn name_at(&self, at: usize) -> &BStr {
        self.line(at)
            .get(self.hash.len_in_hex() + 1..)
            .unwrap_or_default()
            .as_bstr()
    }

    /// Parses the record that starts at `at`, with the peeled line that may follow it.
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

    /// Whether the file gives what the reference `name`, or each reference with this prefix, peels to.
    fn knows_peeled(&self, name: &[u8]) -> bool {
        let says_so = match self.peeled {
            Peeled::Fully => true,
            Peeled::Tags => name.starts_with(TAGS),
            Peeled::Unknown => false,
        };
        says_so && self.lacks_peeled.get() != Some(&true)
    }

    /// Checks for some tags whether they are peeled as the file says; if not, only peeled lines count from now on. `git refs
    /// migrate` of git 2.55 says that all references are peeled, and peels none.
    pub(super) fn check_peeled(&self, is_tag_object: &dyn Fn(&oid) -> bool) {
        self.lacks_peeled.get_or_init(|| {
            let is_lacking =
                |record: &Record<'_>| record.peeled == Some(record.id) && is_tag_object(&record.id);
            self.some_tags().iter().any(is_lacking)
        });
    }

    /// Returns about [`CHECKED_TAGS`] tags from all parts of the file; all if there are fewer.
    fn some_tags(&self) -> Vec<Record<'_>> {
        let tags = self.from(BStr::new(TAGS)).at..self.from(BStr::new(AFTER_TAGS)).at;
        let step = tags.len() / CHECKED_TAGS;
        let mut some = Vec::new();
        let mut at = tags.start;
        while at < tags.end {
            let mut records = Records { packed: self, at };
            let Some(Ok(record)) = records.next() else {
                break;
            };
            some.push(record);
            at = match self.order {
                Some(_) => records.at.max(at.saturating_add(step)),
                None => records
                    .at
                    .max(self.record_start(at.saturating_add(step), at)),
            };
        }
        some
    }

    /// Returns the record named `name`. What is wrong with others is no error, as for git.
    pub(crate) fn find(&self, name: &BStr) -> Result<Option<Record<'_>>, Error> {
        let at = self.from(name).offset();
        match at.filter(|at| self.name_at(*at) == name) {
            Some(at) => self.record(at),
            None => Ok(None),
        }
    }

    /// Returns the records from `name` on, in byte order.
    pub(crate) fn from(&self, name: &BStr) -> Records<'_> {
        let at = match &self.order {
            Some(order) => order.partition_point(|at| self.name_at(*at) < name),
            None => self.lower_bound(name),
        };
        Records { packed: self, at }
    }

    /// Returns where the first record named `name` or later starts, in a sorted file.
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

    /// Returns the start of the record that contains the byte at `at`; at least `low`, which is the start of a record.
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
        // There should be one peeled line at most. If a damaged file has more, none of them starts a record.
        while self.bytes.get(next) == Some(&b'^') {
            next += self.line(next).len() + 1;
        }
        next.min(self.bytes.len())
    }
}

/// Returns what git shows of a line: only the beginning of a long one, and nothing from a NUL on.
fn shown_part(line: &[u8]) -> BString {
    let (start, end): (_, &[u8]) = match line.len() < LINE_SHOWN_WHOLE {
        true => (line, b""),
        false => (line.get(..LINE_SHOWN_LEN).unwrap_or(line), b"..."),
    };
    let start = until_nul(start);
    [start, end].concat().into()
}

const TAGS: &[u8] = b"refs/tags/";
/// The first name after those of tags.
const AFTER_TAGS: &[u8] = b"refs/tags0";

/// About how many tags are checked for what the file says of all.
const CHECKED_TAGS: usize = 16;

/// Lines shorter than this are shown whole.
const LINE_SHOWN_WHOLE: usize = 80;
/// How many bytes are shown of longer ones.
const LINE_SHOWN_LEN: usize = 75;

/// Iterates over records in byte order of their names. Ends after the first error.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    packed: &'a Packed,
    /// An offset into the bytes, or an index into the order if there is one.
    at: usize,
}

impl Records<'_> {
    /// Returns where the next record starts in the bytes.
    fn offset(&self) -> Option<usize> {
        match &self.packed.order {
            Some(order) => order.get(self.at).copied(),
            None => Some(self.at),
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.packed.record(self.offset()?);
        match (&record, &self.packed.order) {
            (Ok(Some(_)), Some(_)) => self.at += 1,
            (Ok(Some(found)), None) => self.at = found.next,
            _ => self.at = usize::MAX,
        }
        record.transpose()
    }
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
    fn a_file_that_peels_no_tag_is_not_believed_about_others() {
        let header = "# pack-refs with: peeled fully-peeled";
        for (count, sorted) in [
            (1, true),
            (16, true),
            (40, true),
            (5000, true),
            (5000, false),
        ] {
            let line = |n: u32| format!("{} refs/tags/{n:05}\n", id(n));
            let lines: String = (0..count).map(line).collect();
            let head = format!("{} refs/heads/tags\n", id(0));
            let remote = format!("{} refs/zero\n", id(0));
            let sorted = if sorted { " sorted" } else { "" };
            let text = format!("{header}{sorted} \n{head}{lines}{remote}");
            let peeled = |is_tag_object: &dyn Fn(&oid) -> bool| {
                let packed = parse(&text).unwrap();
                packed.check_peeled(is_tag_object);
                let found = packed.find("refs/tags/00000".into()).unwrap().unwrap();
                let looked_at = packed.some_tags().len();
                (found.peeled, looked_at)
            };
            let (all, looked_at) = peeled(&|id| id.is_null());
            assert_eq!(all, None, "{count}");
            assert!(
                (count.min(16) as usize..=32).contains(&looked_at),
                "{looked_at} of {count}"
            );
            assert_eq!(peeled(&|_| false).0, Some(ObjectId::null(Kind::Sha1)));
        }
        // Peeled lines count as before, and what they belong to is not looked at.
        let lines = format!("{} refs/tags/a\n^{}\n{} refs/tags/b\n", id(1), id(2), id(3));
        let packed = parse(&format!("{header} sorted \n{lines}")).unwrap();
        let first = ObjectId::from_hex(id(1).as_bytes()).unwrap();
        packed.check_peeled(&|id| *id != *first);
        let peeled = |name: &str| packed.find(name.into()).unwrap().unwrap().peeled;
        assert_eq!(peeled("refs/tags/a").unwrap().to_string(), id(2));
        assert_eq!(peeled("refs/tags/b"), None);
    }

    #[test]
    fn peeled_lines_start_no_record_however_many_there_are() {
        for peeled in [
            format!("^{}\n^{}z\n", id(9), id(9)),
            format!("^{}\n", id(9)).repeat(10_000),
        ] {
            let text = format!(
                "# pack-refs with: peeled fully-peeled sorted \n{} refs/tags/a\n{peeled}{} refs/tags/b\n",
                id(1),
                id(2)
            );
            let packed = parse(&text).unwrap();
            for (name, number) in [("refs/tags/a", 1), ("refs/tags/b", 2)] {
                let found = packed.find(name.into()).unwrap().unwrap();
                assert_eq!(found.id.to_string(), id(number));
            }
            // Whoever reads on comes to a line that should not be there.
            let mut all = packed.from("".into());
            assert!(all.next().unwrap().is_ok() && all.next().unwrap().is_err());
        }
    }

    #[test]
    fn a_damaged_record_hides_no_other() {
        let records = format!("{} refs/tags/b\n^junk\n{} refs/tags/d\n", id(1), id(2));
        let header = "# pack-refs with: peeled fully-peeled sorted \n";
        // Without the right header, the first line is a record.
        for text in [
            header.to_owned() + &records,
            header.replace('#', "x") + &records,
        ] {
            let packed = parse(&text).unwrap();
            for absent in ["refs/tags/a", "refs/tags/c", "refs/tags/e"] {
                assert!(packed.find(absent.into()).unwrap().is_none(), "{absent}");
            }
            let found = packed.find("refs/tags/d".into()).unwrap().unwrap();
            assert_eq!(found.id.to_string(), id(2));
            assert!(packed.find("refs/tags/b".into()).is_err());
        }
        let twice = records.replace("^junk", "^junk\n^junk");
        let error = parse(&twice).unwrap_err().to_string();
        assert_eq!(error, "unexpected line in packed-refs: ^junk");
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
        let joined = "# pack-refs with:sorted";
        assert_eq!(
            text(&format!("{joined}\n")),
            format!("unexpected line in packed-refs: {joined}")
        );
        for header in ["#", "# pack-refs with: peeled"] {
            let unterminated = format!("unterminated line in packed-refs: {header}");
            assert_eq!(text(header), unterminated);
        }
        let line = format!("{} refs/a", id(1));
        assert_eq!(
            text(&line),
            format!("unterminated line in packed-refs: {line}")
        );
        assert_eq!(
            text(&format!("# pack-refs with: sorted\n^{}\n", id(1))),
            format!("unexpected line in packed-refs: ^{}", id(1))
        );
        // A record and its peeled line are checked as one, from its start.
        let sorted = format!("# pack-refs with: peeled fully-peeled sorted \n{line}\n");
        for (end, message) in [
            (
                "x\n".to_owned(),
                "unexpected line in packed-refs: x".to_owned(),
            ),
            (
                "\n".to_owned(),
                "unexpected line in packed-refs: ".to_owned(),
            ),
            (
                "#\n".to_owned(),
                "unexpected line in packed-refs: #".to_owned(),
            ),
            (
                format!("^{}", id(2)),
                format!("unexpected line in packed-refs: {line}"),
            ),
            (
                format!("{line}b"),
                format!("unterminated line in packed-refs: {line}b"),
            ),
        ] {
            assert_eq!(
                parse(&(sorted.clone() + &end)).unwrap_err().to_string(),
                message
            );
        }
        assert!(parse(&format!("{sorted}^{}\n", id(2))).is_ok());
        for (line, shown) in [
            ("l".repeat(79), "l".repeat(79)),
            ("l".repeat(80), format!("{}...", "l".repeat(75))),
            ("l\0m".to_owned(), "l".to_owned()),
            ("\0".repeat(80), "...".to_owned()),
        ] {
            let unexpected = format!("unexpected line in packed-refs: {shown}");
            assert_eq!(text(&format!("{line}\n")), unexpected);
            let unterminated = format!("unterminated line in packed-refs: {shown}");
            assert_eq!(text(&line), unterminated);
        }
    }
}
