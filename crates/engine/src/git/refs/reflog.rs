//! Reference logs, only as far as they are counted (gitrepository-layout(5), "logs").

use std::path::Path;

use bstr::ByteSlice;
use gix_hash::{Kind, ObjectId};

/// The number of well-formed records in the log `path`; git skips the others without a word.
pub(super) fn count(path: &Path, hash: Kind) -> usize {
    // As for git, a log that cannot be read has no records.
    let log = crate::file::read(path).unwrap_or_default();
    log.split_inclusive(|byte| *byte == b'\n')
        .filter(|line| is_record(line, hash).is_some())
        .count()
}

/// `old SP new SP name <email> SP time SP zone TAB message LF`.
fn is_record(line: &[u8], hash: Kind) -> Option<()> {
    let line = line.strip_suffix(b"\n")?;
    let rest = id_and_space(id_and_space(line, hash)?, hash)?;
    let rest = rest.get(rest.find_byte(b'>')?..)?.strip_prefix(b"> ")?;
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (time, rest) = rest.split_at_checked(digits)?;
    // A time of 0 is what git's parser returns for none.
    time.iter().find(|digit| **digit != b'0')?;
    match rest {
        [b' ', b'+' | b'-', a, b, c, d, ..] => [a, b, c, d]
            .iter()
            .all(|digit| digit.is_ascii_digit())
            .then_some(()),
        _ => None,
    }
}

fn id_and_space(line: &[u8], hash: Kind) -> Option<&[u8]> {
    let (id, rest) = line.split_at_checked(hash.len_in_hex())?;
    ObjectId::from_hex(id).ok()?;
    rest.strip_prefix(b" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_records_count() {
        let id = "0".repeat(40);
        let good = format!("{id} {id} A U <a@b> 1700000000 +0000\tWIP\n");
        let judge = |line: &str| is_record(line.as_bytes(), Kind::Sha1).is_some();
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
