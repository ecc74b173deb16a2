//! Sidedata: data stored beside a revision that is not part of its text (`hg help internals.revlogs`, "Sidedata").
//!
//! The number of items in two bytes; for each its key in two bytes, its length in four, and the SHA-1 of its contents; then the
//! contents of all.

use sha1::{Digest, Sha1};

use crate::fields::{array, u16_at, u32_at};

const COUNT_LEN: usize = 2;
const ITEM_LEN: usize = 26;
const SUM_AT: usize = 6;

/// Returns the contents of the item `key`, if there is one.
pub(super) fn item(bytes: &[u8], key: u16) -> Result<Option<&[u8]>, &'static str> {
    let cut = "its sidedata is cut off";
    let count = usize::from(u16_at(bytes, 0).ok_or(cut)?);
    let mut start = COUNT_LEN.saturating_add(count.saturating_mul(ITEM_LEN));
    for number in 0..count {
        let at = COUNT_LEN.saturating_add(number.saturating_mul(ITEM_LEN));
        let (Some(found), Some(len)) = (u16_at(bytes, at), u32_at(bytes, at.saturating_add(2)))
        else {
            return Err(cut);
        };
        let end = start.saturating_add(len as usize);
        if found == key {
            let contents = bytes.get(start..end).ok_or(cut)?;
            let sum: [u8; 20] = array(bytes, at.saturating_add(SUM_AT)).ok_or(cut)?;
            let actual: [u8; 20] = Sha1::digest(contents).into();
            return match actual == sum {
                true => Ok(Some(contents)),
                false => Err("its sidedata has another hash"),
            };
        }
        start = end;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_by_their_keys() {
        let items = [(8u16, &b"one"[..]), (12, b""), (300, b"three")];
        let mut bytes = vec![0, 3];
        for (key, contents) in items {
            bytes.extend(key.to_be_bytes());
            bytes.extend(u32::try_from(contents.len()).unwrap().to_be_bytes());
            bytes.extend(Sha1::digest(contents));
        }
        let first_at = bytes.len();
        bytes.extend(b"onethree");
        for (key, contents) in items {
            assert_eq!(item(&bytes, key), Ok(Some(contents)));
        }
        assert_eq!(item(&bytes, 9), Ok(None));
        for len in 0..bytes.len() {
            assert!(item(&bytes[..len], 300).is_err(), "{len}");
        }
        bytes[first_at] ^= 1;
        assert!(item(&bytes, 8).is_err() && item(&bytes, 300).is_ok());
    }
}
