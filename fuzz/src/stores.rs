//! Object directories: packs, their indexes, loose objects, and lists of alternates.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::ByteSlice;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use vigil_model::{HashKind, ObjectId};
use vigil_objects::{Info, Kind, ObjectFolders, ObjectReader, ObjectStore, StreamError, Wanted};

use crate::input::Input;

/// The maximum number of objects read from a folder.
const OBJECTS_MAX: usize = 64;
/// Larger objects, in bytes, are looked up but not read.
const SIZE_MAX: u64 = 1 << 24;
/// Undeltified objects in a pack that are larger than this, in bytes, are streamed.
const STREAM_THRESHOLD: u64 = 16;

const FANOUT_LEN: usize = 256 * 4;

/// A repository's object directory, and others beside it.
pub(crate) struct Folders {
    top: tempfile::TempDir,
    hash: HashKind,
}

impl Folders {
    pub(crate) fn new(hash: HashKind) -> Self {
        let memory = Path::new("/dev/shm");
        let top = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        Self {
            top: top.expect("a folder"),
            hash,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }

    fn open(&self, alternates: &[u8], messages: &mut Vec<String>) -> Arc<ObjectStore> {
        let folders = ObjectFolders {
            hash: self.hash,
            folder: self.path("own"),
            shown: "own".into(),
            alternates: alternates.into(),
            working_directory: self.top.path().to_owned(),
            work_tree: None,
            uses_multi_pack_index: true,
            promisor: None,
        };
        Arc::new(ObjectStore::open(&folders, messages))
    }

    /// Lists, finds and reads all objects. Whatever they are, all ways to read one give the same result.
    fn read_all(&self) {
        let mut messages = Vec::new();
        let store = self.open(b"", &mut messages);
        let mut ids = Vec::new();
        if let Ok(sorted) = store.sorted(&mut messages) {
            let locations = sorted.take(OBJECTS_MAX).filter_map(Result::ok);
            ids.extend(locations.map(|location| location.id().to_owned()));
        }
        let mut reader = ObjectReader::new(&store);
        if let Ok(all) = store.pack_order(&mut messages) {
            for location in all.take(OBJECTS_MAX).flatten() {
                let _ = reader.facts(&location, Wanted::ALL);
            }
        }
        for id in ids {
            read(&mut reader, id);
        }
        let absent = ObjectId::null(self.hash);
        assert!(matches!(reader.find(&absent), Ok(None)));
    }

    /// Reads the object `id`, if that is possible.
    fn read_one(&self, id: ObjectId) -> Option<(Info, Vec<u8>)> {
        let store = self.open(b"", &mut Vec::new());
        read(&mut ObjectReader::new(&store), id)
    }
}

fn read(reader: &mut ObjectReader, id: ObjectId) -> Option<(Info, Vec<u8>)> {
    let location = reader.find(&id).ok()??;
    assert_eq!(*location.id(), *id);
    let asked = reader.info(&location);
    let _ = reader.facts(&location, Wanted::ALL);
    if asked.as_ref().is_ok_and(|info| info.size > SIZE_MAX) {
        return None;
    }
    let mut out = b"before".to_vec();
    let read = reader.append(&location, &mut out);
    let mut streamed = Vec::new();
    let stream = reader.stream(
        &location,
        STREAM_THRESHOLD,
        &mut |_, piece: &[u8]| match streamed.len() as u64 > SIZE_MAX {
            true => Err(()),
            false => {
                streamed.extend_from_slice(piece);
                Ok(())
            }
        },
    );
    let contents = out.strip_prefix(b"before").expect("what was there before");
    let Ok(info) = read else {
        assert!(contents.is_empty());
        return None;
    };
    assert_eq!(info.size, contents.len() as u64);
    if let Ok(asked) = asked {
        assert_eq!(asked, info);
    }
    match stream {
        // Of a loose object that is not a blob, bytes after the end given in its header do not count.
        Ok(_) => assert!(streamed.starts_with(contents)),
        Err(StreamError::Sink(())) => {}
        Err(StreamError::Read(error)) => panic!("read, but not streamed: {error}"),
    }
    Some((info, contents.to_vec()))
}

/// A zlib stream that stores the bytes uncompressed.
fn stored_zlib(bytes: &[u8]) -> Vec<u8> {
    let mut stream = ZlibEncoder::new(Vec::new(), Compression::none());
    stream.write_all(bytes).expect("a stream in memory");
    stream.finish().expect("a stream in memory")
}

/// An id whose first byte is `number`.
fn id_of(hash: HashKind, number: u8) -> ObjectId {
    let mut bytes = vec![0x11; hash.len_in_bytes()];
    bytes[0] = number;
    ObjectId::from_bytes_or_panic(&bytes)
}

/// A pack built entry by entry, and its index. The checksums are zeros.
struct CraftedPack {
    hash: HashKind,
    pack: Vec<u8>,
    /// The offset of each entry according to the index.
    offsets: Vec<u64>,
}

impl CraftedPack {
    fn new(hash: HashKind) -> Self {
        Self {
            hash,
            pack: b"PACK\0\0\0\x02\0\0\0\0".to_vec(),
            offsets: Vec::new(),
        }
    }

    /// Adds an entry: its type and size, the bytes between these and the contents, and the contents as they
    /// are.
    fn add(&mut self, kind: u8, size: usize, between: &[u8], contents: &[u8]) {
        self.offsets.push(self.pack.len() as u64);
        let mut byte = (kind & 7) << 4 | (size & 15) as u8;
        let mut left = size >> 4;
        while left != 0 {
            self.pack.push(byte | 0x80);
            byte = (left & 0x7f) as u8;
            left >>= 7;
        }
        self.pack.push(byte);
        self.pack.extend(between);
        self.pack.extend(contents);
    }

    fn write(mut self, folders: &Folders) {
        let count = self.offsets.len() as u32;
        let checksum = vec![0; self.hash.len_in_bytes()];
        self.pack[8..12].copy_from_slice(&count.to_be_bytes());
        self.pack.extend(&checksum);
        let mut index = b"\xfftOc\0\0\0\x02".to_vec();
        for byte in 0..256 {
            index.extend((byte + 1).min(count).to_be_bytes());
        }
        for number in 0..count {
            index.extend(id_of(self.hash, number as u8).as_slice());
        }
        index.extend(vec![0; 4 * count as usize]);
        let mut wide = Vec::new();
        for (number, offset) in self.offsets.iter().enumerate() {
            // The table of 64-bit offsets has room for all of them but one.
            if number > 0 && number % 3 == 0 {
                index.extend((1 << 31 | (wide.len() / 8) as u32).to_be_bytes());
                wide.extend(offset.to_be_bytes());
            } else {
                index.extend((*offset as u32).to_be_bytes());
            }
        }
        index.extend(wide);
        index.extend(&checksum);
        index.extend(&checksum);
        folders.write("own/pack/pack-1.pack", &self.pack);
        folders.write("own/pack/pack-1.idx", &index);
    }
}

/// Entries of any types, sizes and bases, in chains that may be circular, are read or rejected.
pub(crate) fn pack_entries(data: &[u8]) {
    const RAW: u8 = 8;
    const OTHER_SIZE: u8 = 16;
    const OTHER_OFFSET: u8 = 32;
    const OTHER_BASE: u8 = 64;
    let mut input = Input(data);
    let hash = input.hash();
    let mut packing = CraftedPack::new(hash);
    while !input.0.is_empty() && packing.offsets.len() < 16 {
        let control = input.byte();
        let base = input.byte();
        let size = input.up_to(usize::from(u16::MAX));
        let payload = input.part();
        let size = match control & OTHER_SIZE {
            0 => payload.len(),
            _ => size,
        };
        let contents = match control & RAW {
            0 => stored_zlib(payload),
            _ => payload.to_vec(),
        };
        let between = match control & 7 {
            6 if control & OTHER_BASE != 0 => vec![base | 0x80, base & 0x7f],
            6 => {
                let start = packing.offsets.get(usize::from(base));
                let here = packing.pack.len() as u64;
                let distance = here - start.copied().unwrap_or(here).min(here);
                match distance {
                    ..0x80 => vec![distance as u8],
                    _ => vec![((distance >> 7) as u8 - 1) | 0x80, distance as u8 & 0x7f],
                }
            }
            7 => id_of(hash, base).as_slice().to_vec(),
            _ => Vec::new(),
        };
        packing.add(control, size, &between, &contents);
        if control & OTHER_OFFSET != 0
            && let Some(offset) = packing.offsets.last_mut()
        {
            *offset += u64::from(base);
        }
        if packing.pack.len() > 1 << 13 {
            break;
        }
    }
    let folders = Folders::new(hash);
    packing.write(&folders);
    folders.read_all();
}

/// Writes the pack `name` so that it fits its index, as far as the numbers at fixed offsets go.
fn write_pack(folders: &Folders, name: &str, index: &[u8], pack: &[u8]) {
    let id_len = folders.hash.len_in_bytes();
    let fanout = if index.starts_with(b"\xfftOc") { 8 } else { 0 };
    let mut pack = pack.to_vec();
    let last = fanout + FANOUT_LEN - 4;
    if let (Some(claimed), Some(count)) = (pack.get_mut(8..12), index.get(last..last + 4)) {
        claimed.copy_from_slice(count);
    }
    let checksum = index.len().checked_sub(2 * id_len);
    let end = pack.len().checked_sub(id_len).filter(|end| *end >= 12);
    if let (Some(checksum), Some(end)) = (checksum, end) {
        pack[end..].copy_from_slice(&index[checksum..checksum + id_len]);
    }
    folders.write(&format!("own/pack/{name}.idx"), index);
    folders.write(&format!("own/pack/{name}.pack"), &pack);
}

/// Any index and any pack are read or rejected.
pub(crate) fn pack_index(data: &[u8]) {
    let mut input = Input(data);
    let folders = Folders::new(input.hash());
    let index = input.part();
    write_pack(&folders, "pack-1", index, input.0);
    folders.read_all();
}

/// Any multi-pack-index, alone or twice in a chain, is read or rejected. Objects are where it says, or
/// nowhere.
pub(crate) fn multi_pack_index(data: &[u8]) {
    let mut input = Input(data);
    let control = input.byte();
    let hash = match control & 1 {
        0 => HashKind::Sha1,
        _ => HashKind::Sha256,
    };
    let folders = Folders::new(hash);
    let midx = input.part();
    let index = input.part();
    if control & 2 == 0 {
        folders.write("own/pack/multi-pack-index", midx);
    } else {
        let mut chain = String::new();
        for layer in [b'1', b'2'] {
            let name = id_of(hash, layer).to_string();
            let file = format!("own/pack/multi-pack-index.d/multi-pack-index-{name}.midx");
            folders.write(&file, midx);
            chain.push_str(&name);
            chain.push('\n');
        }
        let file = "own/pack/multi-pack-index.d/multi-pack-index-chain";
        folders.write(file, chain.as_bytes());
    }
    // The name of the first pack in the multi-pack-index.
    let name = midx.find(b"pack-").and_then(|start| {
        let rest = &midx[start..];
        let name = rest[..rest.find(b".idx\0")?].to_str().ok()?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (name.len() < 100 && name.bytes().all(is_plain)).then_some(name)
    });
    write_pack(&folders, name.unwrap_or("pack-1"), index, input.0);
    folders.read_all();
}

/// Any file of a loose object, and any header in a sound stream, is read or rejected.
pub(crate) fn loose_object(data: &[u8]) {
    let mut input = Input(data);
    let control = input.byte();
    let (hash, is_stream) = match control & 1 {
        0 => (HashKind::Sha1, control & 2 == 0),
        _ => (HashKind::Sha256, control & 2 == 0),
    };
    let folders = Folders::new(hash);
    let id = id_of(hash, 0xab);
    let hex = id.to_string();
    let (fan, rest) = hex.split_at(2);
    let file = match is_stream {
        true => input.0.to_vec(),
        false => stored_zlib(input.0),
    };
    folders.write(&format!("own/{fan}/{rest}"), &file);
    if let Some((info, contents)) = folders.read_one(id)
        && !is_stream
    {
        let header = format!("{} {}\0", info.kind, info.size);
        assert!(input.0.starts_with(header.as_bytes()));
        assert!(input.0[header.len()..].starts_with(&contents));
    }
}

/// A delta applied to a base gives the same as a slow implementation, or nothing.
pub(crate) fn delta(data: &[u8]) {
    let mut input = Input(data);
    let base = input.part();
    let delta = input.0;
    let hash = HashKind::Sha1;
    let mut packing = CraftedPack::new(hash);
    packing.add(3, base.len(), b"", &stored_zlib(base));
    let base_id = id_of(hash, 0);
    packing.add(7, delta.len(), base_id.as_slice(), &stored_zlib(delta));
    let folders = Folders::new(hash);
    packing.write(&folders);
    let found = folders.read_one(id_of(hash, 1));
    let expected = slow_delta(base, delta).filter(|made| made.len() as u64 <= SIZE_MAX);
    if let Some(expected) = expected {
        let (info, contents) = found.expect("a sound delta");
        assert_eq!(info.kind, Kind::Blob);
        assert_eq!(contents, expected);
    } else {
        assert!(found.is_none());
    }
}

fn slow_delta(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    if delta.len() < 4 {
        return None;
    }
    let mut bytes = delta.iter().copied();
    let mut number = || {
        let (mut value, mut shift) = (0u128, 0);
        loop {
            let byte = bytes.next()?;
            value |= u128::from(byte & 0x7f) << shift;
            shift += 7;
            if shift > 77 || value > u64::MAX.into() {
                return None;
            }
            if byte & 0x80 == 0 {
                return Some(value as u64);
            }
        }
    };
    let (base_size, size) = (number()?, number()?);
    if base_size != base.len() as u64 {
        return None;
    }
    let mut made = Vec::new();
    while let Some(command) = bytes.next() {
        if command == 0 {
            return None;
        }
        if command < 0x80 {
            for _ in 0..command {
                made.push(bytes.next()?);
            }
        } else {
            let mut fields = [0u8; 7];
            for (bit, field) in fields.iter_mut().enumerate() {
                if command >> bit & 1 == 1 {
                    *field = bytes.next()?;
                }
            }
            let [o0, o1, o2, o3, l0, l1, l2] = fields;
            let offset = u32::from_le_bytes([o0, o1, o2, o3]) as usize;
            let len = match u32::from_le_bytes([l0, l1, l2, 0]) {
                0 => 0x10000,
                len => len as usize,
            };
            made.extend(base.get(offset..offset.checked_add(len)?)?);
        }
        if made.len() as u64 > size {
            return None;
        }
    }
    (made.len() as u64 == size).then_some(made)
}

/// Any lists of alternates are followed to an end, with at most one message per line.
pub(crate) fn alternates(data: &[u8]) {
    let mut input = Input(data);
    let folders = Folders::new(HashKind::Sha1);
    let variable = input.field();
    let mut lines = variable.split(|byte| *byte == b':').count();
    for name in ["own", "a", "b", "c"] {
        let list = input.field();
        lines += list.split(|byte| *byte == b'\n').count();
        folders.write(&format!("{name}/info/alternates"), list);
    }
    let mut messages = Vec::new();
    let store = folders.open(variable, &mut messages);
    // And one for each folder whose list is nested too deeply.
    assert!(messages.len() <= lines + 4, "{messages:?}");
    let absent = id_of(HashKind::Sha1, 0xab);
    assert!(matches!(store.find(&absent, &mut messages), Ok(None)));
}
