//! Logs of references, and how those in files are read (gitrepository-layout(5), "logs").

use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use bstr::{BStr, ByteSlice};
use gix_hash::{Kind, ObjectId};
use vigil_linux::Errno;

/// One change of a reference. Its log says why in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// The object that it pointed to before; null if it did not exist.
    pub old: ObjectId,
    /// The object that it has pointed to since; null if it was deleted.
    pub new: ObjectId,
    /// When it was changed, in seconds since 1970.
    pub time_s: i64,
    /// The time zone in git's notation: hours times 100, plus minutes.
    pub zone: i32,
}

/// How many bytes at the end of a log are read first.
const PART_LEN: u64 = 1 << 14;

/// How many bytes of a line are kept. No record is longer; a file of holes has lines of any length.
const LINE_LEN_MAX: usize = 1 << 20;

/// Calls `found` with each well-formed record in the log `path` and its message, which has no line feed, newest first, until
/// it returns false. git silently skips other lines. What is no regular file has no records.
pub(crate) fn newest_first(
    path: &Path,
    hash: Kind,
    found: impl FnMut(LogRecord, &BStr) -> bool,
) -> io::Result<()> {
    let file = vigil_stamp::file::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(());
    }
    let read_at = |part: &mut [u8], at| file.read_exact_at(part, at);
    records_newest_first(metadata.len(), read_at, hash, found)
}

/// As [`newest_first`], for a log of `len` bytes. `read_at` fills the given room from a position in it.
pub(crate) fn records_newest_first(
    len: u64,
    read_at: impl Fn(&mut [u8], u64) -> io::Result<()>,
    hash: Kind,
    mut found: impl FnMut(LogRecord, &BStr) -> bool,
) -> io::Result<()> {
    lines_last_first(len, read_at, |line| {
        parse(line, hash).is_none_or(|(record, message)| found(record, message))
    })
}

/// Calls `found` with each line, which includes its line feed, the last one first, until it returns false. What a line has
/// after [`LINE_LEN_MAX`] bytes, except for its line feed, is left out.
fn lines_last_first(
    len: u64,
    read_at: impl Fn(&mut [u8], u64) -> io::Result<()>,
    mut found: impl FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    // All bytes from `start` on were read. The line around it begins before it, and its rest is in `rest`.
    let mut start = len;
    let mut rest: Vec<u8> = Vec::new();
    while start > 0 {
        // As much again as there is of a line, so that a long one is not copied and searched over and over.
        let part_len = start.min(PART_LEN.max(rest.len() as u64));
        let room = usize::try_from(part_len).map_err(|_| io::Error::from(Errno::NOMEM))?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(room.saturating_add(rest.len()))
            .map_err(|_| io::Error::from(Errno::NOMEM))?;
        bytes.resize(room, 0);
        start = start.saturating_sub(part_len);
        read_at(&mut bytes, start)?;
        bytes.append(&mut rest);
        let mut lines = bytes.as_slice();
        while let Some((_, before)) = lines.split_last()
            && let Some(end) = before.rfind_byte(b'\n')
            && let Some((earlier, line)) = lines.split_at_checked(end.saturating_add(1))
        {
            if !found(line) {
                return Ok(());
            }
            lines = earlier;
        }
        let is_ended = lines.last() == Some(&b'\n');
        let unfinished = lines.len();
        bytes.truncate(unfinished.min(LINE_LEN_MAX));
        if unfinished > LINE_LEN_MAX && is_ended {
            bytes.push(b'\n');
        }
        rest = bytes;
    }
    if !rest.is_empty() {
        found(&rest);
    }
    Ok(())
}

/// Parses `old SP new SP name <email> SP time SP zone TAB message LF`.
fn parse(line: &[u8], hash: Kind) -> Option<(LogRecord, &BStr)> {
    let line = line.strip_suffix(b"\n")?;
    let (old, rest) = id_and_space(line, hash)?;
    let (new, rest) = id_and_space(rest, hash)?;
    let rest = rest.get(rest.find_byte(b'>')?..)?.strip_prefix(b"> ")?;
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (time, rest) = rest.split_at_checked(digits)?;
    let [b' ', sign @ (b'+' | b'-'), a, b, c, d, rest @ ..] = rest else {
        return None;
    };
    let zone = number(&[*a, *b, *c, *d])?;
    let record = LogRecord {
        old,
        new,
        // git takes a missing time for 0, and skips both.
        time_s: number(time).filter(|time_s| *time_s != 0)?,
        zone: i32::try_from(if *sign == b'-' { -zone } else { zone }).ok()?,
    };
    Some((
        record,
        rest.strip_prefix(b"\t").unwrap_or_default().as_bstr(),
    ))
}

/// The value of decimal digits; the greatest possible one if it does not fit, as in git.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
        Some(value.saturating_mul(10).saturating_add(digit.into()))
    })
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
        let good = format!("{id} {id} A U <a@b> 1700000000 -0130\tWIP\n");
        let judge = |line: &str| parse(line.as_bytes(), Kind::Sha1).is_some();
        let (record, message) = parse(good.as_bytes(), Kind::Sha1).unwrap();
        assert_eq!(message, "WIP");
        assert_eq!((record.time_s, record.zone), (1_700_000_000, -130));
        assert!(judge(&good));
        assert!(judge(&good.replace('\t', "")));
        assert!(judge(
            &good.replace(" 1700000000", &format!(" {}", "9".repeat(30)))
        ));
        assert!(!judge(good.trim_end()));
        assert!(!judge(&good.replace(" 1700000000", " 0")));
        assert!(!judge(&good.replace(" 1700000000", " ")));
        assert!(!judge(&good.replace("-0130", "0130")));
        assert!(!judge(&good.replace('>', "")));
        assert!(!judge(&good[1..]));
        assert!(!judge("\n"));
    }

    #[test]
    fn lines_come_from_the_end_whatever_their_length() {
        let line = |len: u64| "a".repeat(usize::try_from(len).unwrap()) + "\n";
        let long = [
            PART_LEN - 2,
            PART_LEN - 1,
            PART_LEN,
            PART_LEN + 1,
            10 * PART_LEN,
        ]
        .map(line);
        let texts = ["", "\n", "a", "\n\n", "a\nb\n", "a\nb", "\na\n\nb\n\n"].map(String::from);
        let mixed = [long.concat(), format!("x\n{}y\n", long.concat())];
        for text in texts.iter().chain(&long).chain(&mixed) {
            let mut lines = Vec::new();
            let reading = lines_last_first(
                text.len() as u64,
                |part, at| {
                    let at = usize::try_from(at).unwrap();
                    part.copy_from_slice(&text.as_bytes()[at..at + part.len()]);
                    Ok(())
                },
                |line| {
                    lines.push(line.to_vec());
                    true
                },
            );
            reading.unwrap();
            lines.reverse();
            let expected: Vec<_> = text.split_inclusive('\n').map(str::as_bytes).collect();
            assert_eq!(lines, expected);
        }
    }

    #[test]
    fn lines_of_any_length_cost_bounded_memory() {
        let id = "1".repeat(40);
        let record = format!("{id} {id} A U <a@b> 1700000000 +0000\tWIP\n");
        let long = "x".repeat(8 * LINE_LEN_MAX);
        let holes = "\0".repeat(16 * LINE_LEN_MAX);
        let text = [&record, &holes, "\n", &record.replace("WIP", &long)].concat();
        let longest_part = std::cell::Cell::new(0);
        let read_at = |part: &mut [u8], at| {
            longest_part.set(longest_part.get().max(part.len()));
            let at = usize::try_from(at).unwrap();
            part.copy_from_slice(&text.as_bytes()[at..at + part.len()]);
            Ok(())
        };
        let mut messages = Vec::new();
        let reading = records_newest_first(text.len() as u64, read_at, Kind::Sha1, |_, message| {
            messages.push(message.to_owned());
            true
        });
        reading.unwrap();
        assert_eq!(messages.len(), 2);
        assert!(long.as_bytes().starts_with(&messages[0]));
        assert_eq!(messages[1], "WIP");
        assert!(longest_part.get() <= 2 * LINE_LEN_MAX);
    }

    #[test]
    fn no_more_is_read_than_is_asked_for() {
        let id = "1".repeat(40);
        let line = format!("{id} {id} A U <a@b> 1700000000 +0000\tWIP\n");
        let text = line.repeat(10_000);
        let parts = std::cell::Cell::new(0);
        let read_at = |part: &mut [u8], at| {
            parts.set(parts.get() + 1);
            let at = usize::try_from(at).unwrap();
            part.copy_from_slice(&text.as_bytes()[at..at + part.len()]);
            Ok(())
        };
        let mut left = 2;
        let reading = records_newest_first(text.len() as u64, read_at, Kind::Sha1, |_, _| {
            left -= 1;
            left > 0
        });
        reading.unwrap();
        assert_eq!((parts.get(), left), (1, 0));
    }
}
