//! Abbreviated ids, and git's messages if several objects share one.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::names::{Flags, Resolver};
use super::{Hint, Unresolved, date};
use vigil_git::objects::{DIGITS_MIN, Tag};
use vigil_model::c_string::until_nul;
use vigil_model::white_space;
use vigil_objects::commit::subject;

impl Hint {
    /// Parses a value of `core.disambiguate`.
    fn configured(word: &BStr) -> Option<Self> {
        let words = [
            ("commit", Self::Commit),
            ("committish", Self::Committish),
            ("tree", Self::Tree),
            ("treeish", Self::Treeish),
            ("blob", Self::Blob),
        ];
        let mut words = words.into_iter();
        let found = words.find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, hint)| hint)
    }
}

impl Resolver<'_> {
    /// Returns the object with the abbreviated id `name`.
    pub(super) fn abbreviated(
        &mut self,
        name: &BStr,
        flags: Flags,
    ) -> Result<ObjectId, Unresolved> {
        let Some(digits) = digits_of(name) else {
            return Err(Unresolved::Missing);
        };
        let found = self.objects.starting_with(digits.as_bstr())?;
        if let [only] = found.as_slice() {
            return Ok(*only);
        }
        if found.is_empty() {
            return Err(Unresolved::Missing);
        }
        let hint = flags.hint.or_else(|| {
            let word = self.repository?.config.string("core.disambiguate")?;
            Hint::configured(word.as_bstr())
        });
        let mut likely = Vec::new();
        for id in &found {
            if let Some(hint) = hint
                && self.fits(id, hint)?
            {
                likely.push(*id);
            }
        }
        if let [only] = likely.as_slice() {
            return Ok(*only);
        }
        if !flags.quietly {
            let shown = if likely.is_empty() { found } else { likely };
            self.say_ambiguous(digits.as_bstr(), shown)?;
        }
        Err(Unresolved::Ambiguous)
    }

    /// Whether `name` could be an abbreviated id as well.
    pub(super) fn is_abbreviated_id(&mut self, name: &BStr) -> Result<bool, Unresolved> {
        let flags = Flags {
            quietly: true,
            ..Flags::default()
        };
        match self.abbreviated(name, flags) {
            Ok(_) => Ok(true),
            Err(why @ Unresolved::Failed(_)) => Err(why),
            Err(_) => Ok(false),
        }
    }

    fn fits(&self, id: &ObjectId, hint: Hint) -> Result<bool, Unresolved> {
        let kind = self.objects.kind(id)?;
        Ok(match (hint, kind) {
            (_, None) => false,
            (Hint::Commit | Hint::Committish | Hint::Treeish, Some(Kind::Commit)) => true,
            (Hint::Tree | Hint::Treeish, Some(Kind::Tree)) => true,
            (Hint::Blob, Some(Kind::Blob)) => true,
            (Hint::Committish | Hint::Treeish, Some(Kind::Tag)) => {
                match self.objects.peel(id).ok().flatten() {
                    Some((_, Kind::Commit)) => true,
                    Some((_, Kind::Tree)) => hint == Hint::Treeish,
                    _ => false,
                }
            }
            _ => false,
        })
    }

    fn say_ambiguous(
        &mut self,
        digits: &BStr,
        candidates: Vec<ObjectId>,
    ) -> Result<(), Unresolved> {
        self.add_message(&[b"error: short object ID ", digits, b" is ambiguous"]);
        self.add_message(&[b"hint: The candidates are:"]);
        let mut sorted = Vec::new();
        for id in candidates {
            let kind = self.objects.kind(&id)?;
            let rank = match kind {
                None => 0,
                Some(Kind::Tag) => 1,
                Some(Kind::Commit) => 2,
                Some(Kind::Tree) => 3,
                Some(Kind::Blob) => 4,
            };
            sorted.push((rank, id, kind));
        }
        sorted.sort_unstable_by_key(|(rank, id, _)| (*rank, *id));
        for (_, id, kind) in sorted {
            let mut line = BString::from("hint:   ");
            line.extend_from_slice(self.shortened(&id)?.as_bytes());
            line.extend_from_slice(&self.described_candidate(&id, kind)?);
            self.messages.push(line);
        }
        Ok(())
    }

    /// Returns `id` with as many digits as git prints, and as are needed to be unique.
    fn shortened(&self, id: &ObjectId) -> Result<String, Unresolved> {
        let hex = id.to_string();
        let Some(repository) = self.repository else {
            return Ok(hex);
        };
        let short = self.objects.abbreviate(id, &repository.config)?;
        let mut length = short.len();
        if length < hex.len() {
            for other in self.objects.starting_with(short.as_bstr())? {
                let other = other.to_string();
                let pairs = hex.bytes().zip(other.bytes());
                let shared = pairs.take_while(|(one, other)| one == other).count();
                if shared < hex.len() {
                    length = length.max(shared.saturating_add(1));
                }
            }
        }
        Ok(hex.get(..length).unwrap_or(&hex).to_owned())
    }

    fn described_candidate(
        &self,
        id: &ObjectId,
        kind: Option<Kind>,
    ) -> Result<Vec<u8>, Unresolved> {
        let mut content = Vec::new();
        Ok(match kind {
            None => b" [bad object]".to_vec(),
            Some(Kind::Tree) => b" tree".to_vec(),
            Some(Kind::Blob) => b" blob".to_vec(),
            Some(Kind::Commit) => {
                self.objects.read(id, &mut content)?;
                // git treats it as a C string.
                let content = until_nul(&content);
                let (headers, message) = content.split_once_str("\n\n").unwrap_or((content, b""));
                let date = author_date(headers).unwrap_or_default();
                [b" commit ", date.as_bytes(), b" - ", &subject(message)].concat()
            }
            Some(Kind::Tag) => {
                self.objects.read(id, &mut content)?;
                let Ok(tag) = Tag::parse(&content, self.objects.hash_kind()) else {
                    return Ok(b" [bad tag, could not parse it]".to_vec());
                };
                let date = shown_date(tag.time_s, 0);
                [b" tag ", date.as_bytes(), b" - ", &tag.name].concat()
            }
        })
    }
}

/// Returns the digits of an abbreviated id in lower case, or `None` if `name` cannot be one.
fn digits_of(name: &BStr) -> Option<BString> {
    let is_one = name.len() >= DIGITS_MIN && name.iter().all(u8::is_ascii_hexdigit);
    is_one.then(|| name.to_ascii_lowercase().into())
}

/// Returns the date of the last author that `headers` name; `None` if there is none, or it has no time or no zone.
fn author_date(headers: &[u8]) -> Option<String> {
    let mut authors = headers
        .lines()
        .filter_map(|line| line.strip_prefix(b"author "));
    let author = authors.next_back()?;
    author.get(author.find_byte(b'<')?..)?.find_byte(b'>')?;
    let rest = author.get(author.rfind_byte(b'>')?.saturating_add(1)..)?;
    let (time_s, rest) = number_of(white_space::trim_start(rest))?;
    let rest = white_space::trim_start(rest);
    let (sign, rest) = rest.split_first()?;
    let (zone, _) = number_of(rest)?;
    let zone = i32::try_from(zone).unwrap_or(0);
    match sign {
        b'+' => Some(shown_date(time_s, zone)),
        b'-' => Some(shown_date(time_s, -zone)),
        _ => None,
    }
}

/// Parses the digits at the start of `text`, of which there must be some; also returns the rest. A number that is too large becomes
/// the largest one.
fn number_of(text: &[u8]) -> Option<(u64, &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count)?;
    let number = digits.iter().fold(0_u64, |number, digit| {
        let digit = u64::from(digit.saturating_sub(b'0'));
        number.saturating_mul(10).saturating_add(digit)
    });
    (count > 0).then_some((number, rest))
}

/// The last time whose year the C library can tell, in seconds since 1970.
const SHOWN_MAX_S: i64 = 67_768_036_191_676_799;

/// Formats a time as git does, to which it is 0 if it is too large.
fn shown_date(time_s: u64, zone: i32) -> String {
    let time_s = i64::try_from(time_s).ok();
    match time_s.filter(|time_s| *time_s <= SHOWN_MAX_S) {
        Some(time_s) => date::short(time_s, zone),
        None => date::short(0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_without_time_or_zone_has_no_date() {
        for (headers, date) in [
            ("author A <a> 1700000000 +0000", Some("2023-11-14")),
            ("author A <a> 1700000000 -2359", Some("2023-11-13")),
            ("author A <a>  1700000000   +0200\nx", Some("2023-11-15")),
            (
                "author A <a> 5 +0\nauthor B <b> 1700000000 +0",
                Some("2023-11-14"),
            ),
            ("author A > <a> <b> 1700000000 +0", Some("2023-11-14")),
            (
                "author A <a> 99999999999999999999 +0200",
                Some("1970-01-01"),
            ),
            ("author A <a> 9000000000000000000 +0200", Some("1970-01-01")),
            ("author A <a> 1700000000 +99999999999", Some("2023-11-14")),
            ("author A <a> 1700000000 ", None),
            ("author A <a> 1700000000 0000", None),
            ("author A <a> 1700000000 +", None),
            ("author A <a> -5 +0000", None),
            ("author A <a>", None),
            ("author A a> 1700000000 +0000", None),
            ("author A > 1700000000 <a", None),
            ("committer A <a> 1700000000 +0000", None),
            ("", None),
        ] {
            assert_eq!(
                author_date(headers.as_bytes()).as_deref(),
                date,
                "{headers}"
            );
        }
    }
}
