//! Abbreviated ids, and git's messages if several objects share one.

use bstr::{BStr, BString, ByteSlice};
use gix_hash::ObjectId;
use gix_object::Kind;

use super::names::{Flags, Resolver};
use super::{Hint, Unresolved, date};
use vigil_objects::commit::subject;

/// The least number of digits of an abbreviated id.
const DIGITS_MIN: usize = 4;

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
                let (headers, message) = content
                    .split_once_str("\n\n")
                    .unwrap_or((content.as_slice(), b""));
                let (time_s, zone) = header(headers, b"author ")
                    .and_then(time_of)
                    .unwrap_or((0, 0));
                let date = date::short(time_s, zone);
                [b" commit ", date.as_bytes(), b" - ", &subject(message)].concat()
            }
            Some(Kind::Tag) => {
                self.objects.read(id, &mut content)?;
                let headers = content
                    .split_once_str("\n\n")
                    .map_or(content.as_slice(), |(headers, _)| headers);
                let Some(name) = header(headers, b"tag ") else {
                    return Ok(b" [bad tag, could not parse it]".to_vec());
                };
                let time = header(headers, b"tagger ").and_then(time_of);
                let date = date::short(time.map_or(0, |(time_s, _)| time_s), 0);
                [b" tag ", date.as_bytes(), b" - ", name].concat()
            }
        })
    }
}

/// Returns the digits of an abbreviated id in lower case, or `None` if `name` cannot be one.
fn digits_of(name: &BStr) -> Option<BString> {
    let is_one = name.len() >= DIGITS_MIN && name.iter().all(u8::is_ascii_hexdigit);
    is_one.then(|| name.to_ascii_lowercase().into())
}

/// Returns the rest of the header line that starts with `word`.
fn header<'a>(headers: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    headers.lines().find_map(|line| line.strip_prefix(word))
}

/// Parses the seconds since 1970 and the zone at the end of a person's line.
fn time_of(person: &[u8]) -> Option<(i64, i32)> {
    let rest = person.get(person.rfind_byte(b'>')?.saturating_add(1)..)?;
    let mut words = rest.fields().map(|word| word.to_str().ok());
    let time_s = words.next()??.parse().ok()?;
    let zone = words.next().flatten().and_then(|zone| zone.parse().ok());
    Some((time_s, zone.unwrap_or(0)))
}
