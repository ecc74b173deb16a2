//! Packs that git would not write.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::damage::Damage;
use super::repositories::SoundRepository;
use crate::random::rng::Rng;

/// The maximum number of objects in a pack.
const COUNT_MAX: u8 = 12;

/// An object of a pack that is being built.
struct Entry {
    id: Vec<u8>,
    offset: u64,
    contents: Vec<u8>,
}

/// A pack with chains of deltas that may be broken or circular, and its index.
pub(super) fn pack(rng: &mut Rng, repository: &SoundRepository) -> Vec<Damage> {
    let count = rng.pick(&[1, 2, 4, 8, COUNT_MAX]);
    let mut ids: Vec<Vec<u8>> = (1..=count).map(|n| id(repository, n)).collect();
    ids.sort();
    let mut order = ids.clone();
    if rng.chance(50) {
        order.reverse();
    }
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    pack.extend((order.len() as u32).to_be_bytes());
    let mut entries: Vec<Entry> = Vec::new();
    for id in order {
        let offset = pack.len() as u64;
        let contents = entry(rng, &ids, &entries, &mut pack);
        entries.push(Entry {
            id,
            offset,
            contents,
        });
    }
    let checksum = vec![7; repository.id_len];
    pack.extend(&checksum);
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    let index = index(rng, &entries, &checksum);
    let path = |extension: &str| {
        let name = format!("work/.git/objects/pack/pack-crafted.{extension}");
        Path::new(&name).to_owned()
    };
    vec![
        Damage::Written(path("pack"), pack),
        Damage::Written(path("idx"), index),
    ]
}

/// An id that no real object has. Different copies of a real object must not exist, except by
/// damage.
fn id(repository: &SoundRepository, number: u8) -> Vec<u8> {
    let mut id = vec![0xcc; repository.id_len];
    id.splice(..2, [number.wrapping_mul(37), number]);
    id
}

/// The ids of the objects that may be in a pack, as hexadecimal digits.
pub(super) fn ids(repository: &SoundRepository) -> Vec<String> {
    let hex = |id: Vec<u8>| id.iter().map(|byte| format!("{byte:02x}")).collect();
    (1..=COUNT_MAX).map(|n| hex(id(repository, n))).collect()
}

/// Adds an object to the pack. Returns its contents, as far as they make sense.
fn entry(rng: &mut Rng, ids: &[Vec<u8>], entries: &[Entry], pack: &mut Vec<u8>) -> Vec<u8> {
    let offset = pack.len() as u64;
    let is_delta = rng.chance(70) && (!entries.is_empty() || rng.chance(20));
    if !is_delta {
        let kind = rng.pick(&[1, 2, 3, 3, 3, 4]);
        let kind = if rng.chance(4) {
            rng.pick(&[0, 5])
        } else {
            kind
        };
        let lines = rng.pick(&[0, 1, 5, 300]);
        let contents = format!("line {offset}\n").repeat(lines).into_bytes();
        header(rng, kind, contents.len(), pack);
        deflate(rng, &contents, pack);
        return contents;
    }
    let base = entries.get(rng.below(entries.len() as u64) as usize);
    let base_contents = base.map_or(&b""[..], |base| &base.contents);
    let (delta, contents) = delta(rng, base_contents, offset);
    if rng.chance(50) {
        header(rng, 7, delta.len(), pack);
        let named = match base {
            Some(base) if rng.chance(75) => base.id.clone(),
            _ => rng.pick(ids),
        };
        pack.extend(named);
    } else {
        header(rng, 6, delta.len(), pack);
        let distance = base.map_or(0, |base| offset - base.offset);
        let distance = match rng.below(20) {
            0 => 0,
            1 => distance + 1,
            2 => 1 << 40,
            3 => offset,
            _ => distance,
        };
        let mut bytes = vec![(distance & 0x7f) as u8];
        let mut left = distance >> 7;
        while left != 0 {
            left -= 1;
            bytes.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        bytes.reverse();
        pack.extend(bytes);
    }
    deflate(rng, &delta, pack);
    contents
}

fn header(rng: &mut Rng, kind: u8, size: usize, pack: &mut Vec<u8>) {
    let mut size = size as u64;
    match rng.below(40) {
        0 => size += 1,
        1 => size = size.saturating_sub(1),
        2 => size += 70_000,
        _ => {}
    }
    let mut byte = kind << 4 | (size & 15) as u8;
    size >>= 4;
    while size != 0 {
        pack.push(byte | 0x80);
        byte = (size & 0x7f) as u8;
        size >>= 7;
    }
    pack.push(byte);
}

fn deflate(rng: &mut Rng, bytes: &[u8], pack: &mut Vec<u8>) {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(rng.pick(&[0, 6])));
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    let mut stream = encoder.finish().unwrap_or_default();
    if rng.chance(3) {
        let at = rng.below(stream.len() as u64) as usize;
        if let Some(byte) = stream.get_mut(at) {
            *byte ^= 0x10;
        }
    }
    pack.extend(stream);
}

/// A delta to `base`, and its result.
fn delta(rng: &mut Rng, base: &[u8], number: u64) -> (Vec<u8>, Vec<u8>) {
    let half = base.len() / 2;
    let own = format!("own {number}\n").into_bytes();
    let mut made = base.get(..half).unwrap_or_default().to_vec();
    made.extend(&own);
    let mut delta = Vec::new();
    let (mut base_size, mut size) = (base.len(), made.len());
    match rng.below(30) {
        0 => base_size += 1,
        1 => size += 1,
        2 => size = size.saturating_sub(1),
        3 => size = 0,
        _ => {}
    }
    for mut number in [base_size, size] {
        while number > 0x7f {
            delta.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        delta.push(number as u8);
    }
    if half > 0 {
        let [low, high, ..] = half.to_le_bytes();
        delta.extend([0xb0, low, high]);
    }
    delta.push(own.len() as u8);
    delta.extend(own);
    match rng.below(30) {
        0 => delta.push(0),
        1 => delta.truncate(3),
        2 => delta.push(0x91),
        _ => {}
    }
    (delta, made)
}

fn index(rng: &mut Rng, entries: &[Entry], checksum: &[u8]) -> Vec<u8> {
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    for byte in 0..=u8::MAX {
        let count = entries
            .iter()
            .filter(|entry| entry.id.first() <= Some(&byte));
        index.extend((count.count() as u32).to_be_bytes());
    }
    for entry in entries {
        index.extend(&entry.id);
    }
    index.extend(vec![0; 4 * entries.len()]);
    let is_wide = rng.chance(20);
    let mut wide = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        // The table of 64-bit offsets has room for all of them but one.
        if is_wide && number > 0 {
            index.extend(((1 << 31) | (wide.len() as u32 / 8)).to_be_bytes());
            wide.extend(entry.offset.to_be_bytes());
        } else {
            index.extend((entry.offset as u32).to_be_bytes());
        }
    }
    index.extend(wide);
    index.extend(checksum);
    index.extend(checksum);
    index
}

/// The offsets of objects according to an index of version 2 without wide offsets.
pub(super) fn offsets(index: &[u8], id_len: usize) -> Vec<usize> {
    let number = |at: usize| {
        let bytes = index.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_be_bytes(*bytes)).ok()
    };
    if !index.starts_with(b"\xfftOc") {
        return Vec::new();
    }
    let count = number(8 + 255 * 4).unwrap_or_default();
    let first = 8 + 256 * 4 + count.saturating_mul(id_len + 4);
    (0..count)
        .map_while(|place| number(first + 4 * place))
        .collect()
}
