//! Abbreviated ids (gitrevisions(7); `core.abbrev` in git-config(1)).

use bstr::{BStr, BString};
use gix_hash::oid;

use super::{Error, Objects};
use crate::config::Config;

/// The minimum length if none is configured, for repositories with few objects.
const LENGTH_MIN: usize = 7;

impl Objects {
    /// Abbreviates `id` as git prints it: as short as `core.abbrev` in `config` says, or as the number of objects
    /// suggests, and longer if several objects share that prefix.
    ///
    /// # Errors
    /// `core.abbrev` has an invalid value, or the objects cannot be listed.
    pub fn abbreviate(&self, id: &oid, config: &Config) -> Result<BString, Error> {
        let wanted = match configured_length(config)? {
            Some(length) => length,
            None => length_for(self.packed_count()?),
        };
        self.abbreviate_to(id, wanted)
    }

    /// Returns the first `wanted` digits of `id` (four or more), and further digits if several objects share them.
    ///
    /// # Errors
    /// The objects cannot be listed.
    pub fn abbreviate_to(&self, id: &oid, wanted: usize) -> Result<BString, Error> {
        let hex = id.to_string();
        if wanted >= hex.len() {
            return Ok(hex.into_bytes().into());
        }
        let mut length = wanted;
        for other in self.all_starting_with(prefix_of(&hex, wanted))? {
            if *other == *id {
                continue;
            }
            let other = other.to_string();
            let shared = hex
                .bytes()
                .zip(other.bytes())
                .take_while(|(left, right)| left == right)
                .count();
            length = length.max(shared.saturating_add(1));
        }
        Ok(prefix_of(&hex, length).to_owned())
    }

    /// Returns the number of objects in packs.
    fn packed_count(&self) -> Result<u64, Error> {
        let count = self
            .readers
            .with_store(|store, messages| store.packed_count(messages).map(Some));
        Ok(count?.unwrap_or_default())
    }
}

/// Returns the length for `count` objects: a collision is expected once there are as many as the square root of the
/// number of prefixes.
fn length_for(count: u64) -> usize {
    let bits = u64::BITS.saturating_sub(count.leading_zeros());
    usize::try_from(bits.max(1).div_ceil(2)).map_or(LENGTH_MIN, |length| length.max(LENGTH_MIN))
}

/// Reads `core.abbrev`; `None` lets the number of objects decide.
fn configured_length(config: &Config) -> Result<Option<usize>, Error> {
    let Some(entry) = config.entry("core.abbrev") else {
        return Ok(None);
    };
    let value = entry.value.unwrap_or_default();
    let is = |word: &str| value.eq_ignore_ascii_case(word.as_bytes());
    if is("auto") {
        return Ok(None);
    }
    if ["", "false", "no", "off"].into_iter().any(is) {
        return Ok(Some(usize::MAX));
    }
    Ok(usize::try_from(entry.int()?).ok())
}

fn prefix_of(hex: &str, length: usize) -> &BStr {
    hex.get(..length).unwrap_or(hex).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_objects_need_more_digits() {
        for (count, length) in [
            (0, 7),
            (1, 7),
            (1 << 13, 7),
            ((1 << 14) - 1, 7),
            (1 << 14, 8),
            (1 << 16, 9),
            (u64::MAX, 32),
        ] {
            assert_eq!(length_for(count), length, "{count}");
        }
    }
}
