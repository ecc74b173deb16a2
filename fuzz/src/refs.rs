//! References and their logs.

use std::collections::BTreeMap;

use bstr::{BStr, BString, ByteSlice};
use vigil_git::fuzzing::{self, PackedRefs, Reftable};

use crate::input::Input;

/// All records are listed in order, and each is found by its name.
pub(crate) fn packed_refs(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    let traits = input.0.lines().next().unwrap_or_default();
    let traits = traits.strip_prefix(b"# pack-refs with:");
    let is_sorted_by_promise =
        traits.is_some_and(|traits| traits.split_str(" ").any(|word| word == b"sorted"));
    let Ok(packed) = PackedRefs::parse(input.0, hash) else {
        return;
    };
    let mut records = Vec::new();
    let mut is_whole = true;
    for record in packed.from("".into()) {
        match record {
            Ok(record) => records.push(record),
            Err(_) => is_whole = false,
        }
    }
    assert!(records.len() * (hash.len_in_hex() + 2) <= input.0.len());
    let is_sorted = records.is_sorted_by(|a, b| a.0 < b.0);
    for (at, (name, id, _)) in records.iter().enumerate().take(50) {
        let found = packed.find(name.as_ref());
        if is_whole && is_sorted {
            assert_eq!(found, Ok(Some(*id)));
            let rest: Result<Vec<_>, _> = packed.from(name.as_ref()).collect();
            assert_eq!(rest.as_deref(), Ok(&records[at..]));
        }
    }
    if !is_sorted_by_promise {
        assert!(records.is_sorted_by(|a, b| a.0 <= b.0));
        // A slow search, line by line.
        let ids: BTreeMap<&[u8], usize> = input
            .0
            .lines()
            .filter(|line| !line.starts_with(b"^") && !line.starts_with(b"#"))
            .fold(BTreeMap::new(), |mut counts, line| {
                *counts.entry(&line[hash.len_in_hex() + 1..]).or_default() += 1;
                counts
            });
        assert!(ids.values().sum::<usize>() >= records.len());
    }
}

/// A loose reference is an id, a name or broken, and valid names follow git's rules.
pub(crate) fn loose_ref(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    match fuzzing::loose_reference(input.0, hash) {
        Some(Ok(id)) => {
            let written = format!("{id}\n");
            assert!(
                input
                    .0
                    .to_ascii_lowercase()
                    .starts_with(written.trim_end().as_bytes())
            );
            assert_eq!(
                fuzzing::loose_reference(written.as_bytes(), hash),
                Some(Ok(id))
            );
        }
        Some(Err(target)) => {
            assert!(!target.contains(&0));
            // A NUL hid the white space at its end.
            let end = |c| matches!(c, ' ' | '\t' | '\r' | '\n');
            let kept = BString::from(target.trim_end_with(end));
            let written = [b"ref: ", target.as_slice(), b"\n"].concat();
            assert_eq!(fuzzing::loose_reference(&written, hash), Some(Err(kept)));
        }
        None => {}
    }
    if fuzzing::is_reference_name(input.0) {
        let name = input.0;
        assert!(!name.is_empty() && !name.starts_with(b"/") && !name.ends_with(b"/"));
        assert!(!name.contains_str("..") && !name.contains_str("//") && !name.contains(&0));
        assert!(!name.contains_str("/.") && !name.ends_with(b".lock"));
    }
}

/// A log split between two lines has the records of both parts.
pub(crate) fn reflog(data: &[u8]) {
    let mut input = Input(data);
    let hash = input.hash();
    let cut = input.up_to(input.0.len().min(0xffff));
    let records = fuzzing::reflog_newest_first(input.0, hash);
    let count = |text: &[u8]| fuzzing::reflog_newest_first(text, hash).len();
    let cut = input.0[cut.min(input.0.len())..]
        .find_byte(b'\n')
        .map_or(0, |at| cut + at + 1);
    let (first, second) = input.0.split_at(cut);
    assert_eq!(count(first) + count(second), records.len());
    for (_, message) in records {
        assert!(!message.contains(&b'\n'));
        if let Some(target) = fuzzing::switched_to(message.as_ref()) {
            assert!(message.ends_with(target));
        }
    }
}

/// Each reference is found by its name. Names and messages do not fill the memory.
///
/// If the first byte says so, the footer's checksum is corrected: no mutation would ever get past it
/// otherwise.
pub(crate) fn reftable(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    let hash = if choice & 1 == 0 {
        vigil_model::HashKind::Sha1
    } else {
        vigil_model::HashKind::Sha256
    };
    let mut bytes = input.0.to_vec();
    if choice & 2 == 0 {
        fix_footer_checksum(&mut bytes);
    }
    let Some(table) = Reftable::parse(&bytes, hash) else {
        return;
    };
    let mut found: Vec<(BString, fuzzing::Target)> = Vec::new();
    let mut names_len = 0;
    let is_whole = table.for_each("".into(), |name, target| {
        names_len += name.len();
        found.push((name.into(), target));
    });
    assert!(
        names_len <= NAMES_LEN_MIN.max(bytes.len() * NAMES_GROWTH_MAX),
        "names fill the memory"
    );
    let is_sorted = found.is_sorted_by(|a, b| a.0 < b.0);
    for (name, target) in found.iter().take(50) {
        let single = table.find(name.as_ref());
        // An index may lead elsewhere. Without one, all names are seen.
        if is_whole && is_sorted && (single.is_some() || !has_index(&bytes)) {
            assert_eq!(single.as_ref(), Some(target));
        }
    }
    let mut below = 0;
    let prefix = BStr::new("refs/heads/");
    table.for_each(prefix, |name, _| {
        assert!(name.starts_with(prefix));
        below += 1;
    });
    assert!(below <= bytes.len());
    for name in ["refs/stash", "HEAD"] {
        let mut records = 0;
        table.for_each_log(name.into(), |_, _| records += 1);
        // A log is compressed, at best by a factor of a thousand.
        assert!(records <= bytes.len() * 1100);
    }
}

/// The limit on the length of all names, as a multiple of the table's length.
const NAMES_GROWTH_MAX: usize = 64;
const NAMES_LEN_MIN: usize = 1 << 20;

/// Whether the footer refers to an index of references.
fn has_index(bytes: &[u8]) -> bool {
    let (header, footer) = if bytes[4] == 1 { (24, 68) } else { (28, 72) };
    let at = bytes.len() - footer + header;
    bytes[at..at + 8] != [0; 8]
}

/// Copies the header to the footer, and corrects the footer's checksum (CRC-32).
fn fix_footer_checksum(bytes: &mut [u8]) {
    let (header, footer) = match bytes.get(4) {
        Some(1) => (24, 68),
        Some(2) => (28, 72),
        _ => return,
    };
    let Some(end) = bytes.len().checked_sub(footer).filter(|end| *end >= header) else {
        return;
    };
    bytes.copy_within(..header, end);
    let crc_at = bytes.len() - 4;
    let crc = crc32(&bytes[end..crc_at]);
    bytes[crc_at..].copy_from_slice(&crc.to_be_bytes());
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

/// A name is mapped only to what its refspecs can produce.
pub(crate) fn refspec(data: &[u8]) {
    let mut input = Input(data);
    let name = input.field();
    let refspecs: Vec<&BStr> =
        std::iter::from_fn(|| (!input.0.is_empty()).then(|| input.field())).collect();
    let (tracked, valid) = vigil_history::fuzzing::tracked(&refspecs, name);
    assert!(valid <= refspecs.len());
    for refspec in &refspecs {
        // A refspec that names no reference on either side does not push anything.
        assert!(!refspec.ends_with(b"/") || !vigil_history::fuzzing::is_pushed(refspec));
    }
    if let Some(tracked) = tracked {
        assert!(valid > 0);
        let longest = refspecs
            .iter()
            .map(|text| text.len())
            .max()
            .unwrap_or_default();
        assert!(tracked.len() <= name.len() + longest);
    }
}
