//! Digests that identify a set of ignore rules across processes.
//!
//! SHA-256, cut to 128 bits: the rules may come from a stranger's repository, and a stranger must not be able to
//! make two different sets of rules with the same digest.

use bstr::BStr;
use sha2::{Digest, Sha256};

use super::PatternList;

/// Must change whenever the same text begins to mean other rules.
const MEANING: &[u8] = b"ignore rules 1";

/// The digest of no rules at all.
pub(super) fn of_none(ignore_case: bool) -> u128 {
    let mut hasher = Sha256::new();
    add(&mut hasher, MEANING);
    hasher.update([u8::from(ignore_case)]);
    cut(hasher)
}

/// The digest of the rules in `list`, which apply in `dir`, on top of rules whose digest is `parent`.
pub(super) fn of(parent: u128, dir: &BStr, list: &PatternList) -> u128 {
    let mut hasher = Sha256::new();
    hasher.update(parent.to_le_bytes());
    add(&mut hasher, dir);
    for text in list.texts() {
        add(&mut hasher, text);
    }
    cut(hasher)
}

/// Adds `bytes` preceded by their length, so that two fields cannot run into one another.
fn add(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn cut(hasher: Sha256) -> u128 {
    let hash: [u8; 32] = hasher.finalize().into();
    let (half, _) = hash.split_first_chunk().unwrap_or((&[0; 16], &[]));
    u128::from_le_bytes(*half)
}
