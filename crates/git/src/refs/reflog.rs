//! Reference logs (gitrepository-layout(5), "logs").

use std::path::Path;

use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId, oid};

use super::error::Error;

/// Counts the well-formed records in the log `path`; git skips the others silently.
pub(super) fn count(path: &Path, hash: Kind) -> std::io::Result<usize> {
    Ok(count_in(&vigil_stamp::file::read(path)?, hash))
}

/// Counts the well-formed records in `log`.
pub(crate) fn count_in(log: &[u8], hash: Kind) -> usize {
    log.split_inclusive(|byte| *byte == b'\n')
        .filter(|line| record(line, hash).is_some())
        .count()
}

/// Calls `found` with the new id and the message of each record in the log `path`, newest first, until it returns
/// false.
pub(super) fn newest_first(
    path: &Path,
    hash: Kind,
    mut found: impl FnMut(&oid, &BStr) -> bool,
) -> Result<(), Error> {
    use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    let text = match vigil_stamp::file::read(path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | IsADirectory) => {
            return Ok(());
        }
        Err(error) => return Err(Error::read(path, error)),
    };
    for (id, message) in records_newest_first(&text, hash) {
        if !found(&id, message) {
            break;
        }
    }
    Ok(())
}

/// Returns the new id and the message of each record in the log `text`, newest first.
pub(crate) fn records_newest_first(
    text: &[u8],
    hash: Kind,
) -> impl Iterator<Item = (ObjectId, &BStr)> {
    // The lines are not collected: a log of nothing but line ends would take sixteen times its size.
    let mut rest = text;
    let lines = std::iter::from_fn(move || {
        let (_, before) = rest.split_last()?;
        let start = before.rfind_byte(b'\n').map_or(0, |end| end + 1);
        let (earlier, line) = rest.split_at_checked(start)?;
        rest = earlier;
        Some(line)
    });
    lines.filter_map(move |line| record(line, hash))
}

/// Parses `old SP new SP name <email> SP time SP zone TAB message LF`: returns the new id and the message.
fn record(line: &[u8], hash: Kind) -> Option<(ObjectId, &BStr)> {
    let line = line.strip_suffix(b"\n")?;
    let (_, rest) = id_and_space(line, hash)?;
    let (new, rest) = id_and_space(rest, hash)?;
    let rest = rest.get(rest.find_byte(b'>')?..)?.strip_prefix(b"> ")?;
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (time, rest) = rest.split_at_checked(digits)?;
    // git's parser returns 0 for a missing time.
    time.iter().find(|digit| **digit != b'0')?;
    match rest {
        [b' ', b'+' | b'-', a, b, c, d, rest @ ..] => [a, b, c, d]
            .iter()
            .all(|digit| digit.is_ascii_digit())
            .then(|| (new, rest.strip_prefix(b"\t").unwrap_or_default().as_bstr())),
        _ => None,
    }
}

fn id_and_space(line: &[u8], hash: Kind) -> Option<(ObjectId, &[u8])> {
    let (id, rest) = line.split_at_checked(hash.len_in_hex())?;
    Some((ObjectId::from_hex(id).ok()?, rest.strip_prefix(b" ")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_records_count() {
        let id = "0".repeat(40);
        let good = format!("{id} {id} A U <a@b> 1700000000 +0000\tWIP\n");
        let judge = |line: &str| record(line.as_bytes(), Kind::Sha1).is_some();
        let (_, message) = record(good.as_bytes(), Kind::Sha1).unwrap();
        assert_eq!(message, "WIP");
        assert!(judge(&good));
        assert!(judge(&good.replace('\t', "")));
        assert!(!judge(good.trim_end()));
        assert!(!judge(&good.replace(" 1700000000", " 0")));
        assert!(!judge(&good.replace("+0000", "0000")));
        assert!(!judge(&good.replace('>', "")));
        assert!(!judge(&good[1..]));
        assert!(!judge("\n"));
    }
}
