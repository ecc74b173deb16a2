//! The commit-graph (gitformat-commit-graph(5)): the parents and times of many commits, in one file or in a chain of
//! files. It is only an optimization, so a damaged one counts as missing.

use std::fs::Metadata;
use std::ops::{Deref, Range};
use std::path::Path;

use bstr::ByteSlice;
use gix_hash::{Kind, ObjectId, oid};
use vigil_linux::map::Map;
use vigil_stamp::file;

use super::table::{FANOUT_LEN, Fanout, id_of, number, row, wide_number};

const SIGNATURE: &[u8] = b"CGPH\x01";
const HEADER_LEN: usize = 8;
const CHUNK_LEN: usize = 12;
const FANOUT: u32 = u32::from_be_bytes(*b"OIDF");
const IDS: u32 = u32::from_be_bytes(*b"OIDL");
const COMMITS: u32 = u32::from_be_bytes(*b"CDAT");
const EXTRA_PARENTS: u32 = u32::from_be_bytes(*b"EDGE");
const BASES: u32 = u32::from_be_bytes(*b"BASE");
/// The value of a parent's position if there is no parent.
const NO_PARENT: u32 = 0x7000_0000;
/// A flag in the position of the second parent: the other bits are the place in the list of extra parents where the
/// second and later parents are listed.
const LISTED: u32 = 1 << 31;
/// A flag on the last listed parent of a commit.
const LAST: u32 = 1 << 31;
/// The length of a commit's fields after the id of its tree: two parents, then its generation in the bits above its
/// time.
const FIXED_LEN: usize = 16;
/// The number of bits of the time.
const TIME_BITS: u32 = 34;
/// The longest list of a chain's files that is read, in bytes; git writes few.
const LIST_LEN_MAX: u64 = 1 << 20;
/// The most files of a chain that are read.
const FILES_MAX: usize = 256;

/// Commits by position. Each file numbers its commits in the order of their ids, after those of the files that it is
/// based on.
#[derive(Debug)]
pub struct CommitGraph<B = Map> {
    files: Vec<Layer<B>>,
    hash: Kind,
}

/// One file. All tables are within `bytes`, as [`Layer::parse`] has checked.
#[derive(Debug)]
struct Layer<B> {
    bytes: B,
    fanout: Fanout,
    ids: usize,
    commits: usize,
    extra_parents: Range<usize>,
    /// The position of the file's first commit.
    first: u32,
}

/// The fields of a commit that are recorded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The committer's time in seconds since 1970.
    pub time_s: u64,
    /// The commit's distance from the roots; 0 if the writer left it out.
    pub generation: u32,
}

impl CommitGraph {
    /// Opens the commit-graph in the folder `info` of a folder of objects.
    pub fn open(info: &Path, hash: Kind) -> Option<Self> {
        let mut graph = Self {
            files: Vec::new(),
            hash,
        };
        if graph.add(map(&info.join("commit-graph")), &[]).is_some() {
            return Some(graph);
        }
        let chain = info.join("commit-graphs");
        let list = read_list(&chain.join("commit-graph-chain"))?;
        let mut ids = Vec::new();
        for line in list.lines().take(FILES_MAX) {
            // The files found so far can be used without those that are based on them.
            let Ok(id) = ObjectId::from_hex(line) else {
                break;
            };
            let path = chain.join(format!("graph-{id}.graph"));
            if graph.add(map(&path), &ids).is_none() {
                break;
            }
            ids.push(id);
        }
        (!graph.files.is_empty()).then_some(graph)
    }
}

/// Maps a regular file: opening a pipe would block, and a device has no length.
fn map(path: &Path) -> Option<Map> {
    let file = file::open(path).ok()?;
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    Map::read_only(&file, usize::try_from(metadata.len()).ok()?).ok()
}

/// Reads the names of a chain's files, or `None` if the list is longer than any chain needs.
fn read_list(path: &Path) -> Option<Vec<u8>> {
    let file = file::open(path).ok()?;
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    let len = Some(metadata.len()).filter(|len| *len <= LIST_LEN_MAX)?;
    file::read_to_end(file, Some(len), LIST_LEN_MAX).ok()
}

impl<B: Deref<Target = [u8]>> CommitGraph<B> {
    /// Adds a file, which must be based on the files with these ids.
    fn add(&mut self, bytes: Option<B>, bases: &[ObjectId]) -> Option<()> {
        let layer = Layer::parse(bytes?, self.hash, bases, self.count())?;
        self.files.push(layer);
        Some(())
    }

    /// The number of positions.
    pub fn count(&self) -> u32 {
        self.files.last().map_or(0, Layer::end)
    }

    /// Returns the position of the commit `id`.
    pub fn position_of(&self, id: &oid) -> Option<u32> {
        self.files.iter().find_map(|file| {
            let row = |position| file.row(position, self.hash);
            let found = file.fanout.search(id.as_bytes(), row).ok()?;
            file.first.checked_add(found)
        })
    }

    /// Returns the id of the commit at `position`.
    pub fn id_at(&self, position: u32) -> Option<ObjectId> {
        let (file, at) = self.file_of(position)?;
        id_of(file.row(at, self.hash)?)
    }

    /// Returns the tree of the commit at `position`.
    pub fn tree_at(&self, position: u32) -> Option<ObjectId> {
        let (file, at) = self.file_of(position)?;
        id_of(
            file.commit(at, self.hash)?
                .get(..self.hash.len_in_bytes())?,
        )
    }

    /// Returns the fields of the commit at `position`, and appends its parents' positions to `parents`. `None` if the
    /// file is damaged there.
    pub fn read(&self, position: u32, parents: &mut Vec<u32>) -> Option<Recorded> {
        let (file, at) = self.file_of(position)?;
        let fixed = file
            .commit(at, self.hash)?
            .get(self.hash.len_in_bytes()..)?;
        let mut add = |parent: u32| {
            parents.push(Some(parent).filter(|parent| *parent < file.end())?);
            Some(())
        };
        let (one, two) = (number(fixed, 0)?, number(fixed, 4)?);
        match (one, two) {
            (NO_PARENT, NO_PARENT) => {}
            (_, NO_PARENT) => add(one)?,
            (_, two) if two & LISTED == 0 => {
                add(one)?;
                add(two)?;
            }
            (_, two) => {
                add(one)?;
                let listed = file.bytes.get(file.extra_parents.clone())?;
                let listed = listed.get(((two & !LISTED) as usize).checked_mul(4)?..)?;
                let mut listed = listed.as_chunks::<4>().0.iter();
                loop {
                    let parent = u32::from_be_bytes(*listed.next()?);
                    add(parent & !LAST)?;
                    if parent & LAST != 0 {
                        break;
                    }
                }
            }
        }
        let both = wide_number(fixed, 8)?;
        Some(Recorded {
            time_s: both & ((1 << TIME_BITS) - 1),
            generation: u32::try_from(both >> TIME_BITS).ok()?,
        })
    }

    /// Returns the file that contains a position, and the place in that file.
    fn file_of(&self, position: u32) -> Option<(&Layer<B>, u32)> {
        let file = self.files.iter().find(|file| position < file.end())?;
        Some((file, position.checked_sub(file.first)?))
    }
}

impl<B: Deref<Target = [u8]>> Layer<B> {
    fn parse(bytes: B, hash: Kind, bases: &[ObjectId], first: u32) -> Option<Self> {
        let id_len = hash.len_in_bytes();
        let version = if hash == Kind::Sha1 { 1 } else { 2 };
        let [given_version, count, base_count] = *bytes
            .get(..HEADER_LEN)?
            .strip_prefix(SIGNATURE)?
            .first_chunk::<3>()?;
        if given_version != version || usize::from(base_count) != bases.len() {
            return None;
        }
        let end = bytes.len().checked_sub(id_len)?;
        let chunks = chunks(&bytes, count, end)?;
        let find = |id| {
            let found = chunks.iter().find(|(other, _)| *other == id);
            found.map(|(_, range)| range.clone())
        };
        let fanout = find(FANOUT).filter(|range| range.len() == FANOUT_LEN)?;
        let fanout = Fanout::parse(bytes.get(fanout)?).ok()?;
        let commits = fanout.count() as usize;
        let sized = |id, row_len: usize| {
            let range = find(id)?;
            (Some(range.len()) == commits.checked_mul(row_len)).then_some(range.start)
        };
        if !bases.is_empty() {
            let given = bytes.get(find(BASES)?)?.chunks(id_len);
            if !given.eq(bases.iter().map(|id| id.as_bytes())) {
                return None;
            }
        }
        // Positions must be less than the value that stands for no parent.
        first
            .checked_add(fanout.count())
            .filter(|end| *end <= NO_PARENT)?;
        Some(Self {
            ids: sized(IDS, id_len)?,
            commits: sized(COMMITS, id_len + FIXED_LEN)?,
            extra_parents: find(EXTRA_PARENTS).unwrap_or_default(),
            fanout,
            bytes,
            first,
        })
    }

    /// The position after that of the file's last commit.
    fn end(&self) -> u32 {
        self.first.saturating_add(self.fanout.count())
    }

    /// Returns the bytes of the id at a place in this file.
    fn row(&self, at: u32, hash: Kind) -> Option<&[u8]> {
        let id_len = hash.len_in_bytes();
        row(&self.bytes, self.ids, id_len, at, id_len)
    }

    /// Returns the fields of the commit at a place in this file.
    fn commit(&self, at: u32, hash: Kind) -> Option<&[u8]> {
        let len = hash.len_in_bytes() + FIXED_LEN;
        row(&self.bytes, self.commits, len, at, len)
    }
}

/// Parses the table of contents: the ids of chunks and their ranges, up to the checksum at `end`.
fn chunks(bytes: &[u8], count: u8, end: usize) -> Option<Vec<(u32, Range<usize>)>> {
    let mut chunks = Vec::with_capacity(count.into());
    for place in 0..usize::from(count) {
        let at = HEADER_LEN + place * CHUNK_LEN;
        let start = usize::try_from(wide_number(bytes, at + 4)?).ok()?;
        let next = usize::try_from(wide_number(bytes, at + CHUNK_LEN + 4)?).ok()?;
        if next < start || next > end {
            return None;
        }
        chunks.push((number(bytes, at)?, start..next));
    }
    Some(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with two commits. The second has the first one and two from the list of extra parents as parents.
    fn file(bases: &[ObjectId]) -> Vec<u8> {
        let id = |byte| [byte; 20];
        let mut commits = Vec::new();
        for (tree, parents, both) in [
            (7, [NO_PARENT, NO_PARENT], (1u64 << 34) | 5),
            (8, [0, LISTED], (2 << 34) | ((1 << 34) - 1)),
        ] {
            commits.extend(id(tree));
            commits.extend(parents.iter().flat_map(|parent: &u32| parent.to_be_bytes()));
            commits.extend(both.to_be_bytes());
        }
        let fanout = (0..256u32).flat_map(|byte| {
            let count: u32 = u32::from(byte >= 1) + u32::from(byte >= 3);
            count.to_be_bytes()
        });
        let chunks: [(&[u8], Vec<u8>); 5] = [
            (b"OIDF", fanout.collect()),
            (b"OIDL", [id(1), id(3)].concat()),
            (b"CDAT", commits),
            (b"EDGE", [1u32, LAST].map(u32::to_be_bytes).concat()),
            (
                b"BASE",
                bases.iter().flat_map(|id| id.as_bytes()).copied().collect(),
            ),
        ];
        let mut file = b"CGPH\x01\x01\x05".to_vec();
        file.push(u8::try_from(bases.len()).unwrap());
        let mut start = file.len() + 6 * CHUNK_LEN;
        for (name, chunk) in &chunks {
            file.extend_from_slice(name);
            file.extend((start as u64).to_be_bytes());
            start += chunk.len();
        }
        file.extend([0; 4]);
        file.extend((start as u64).to_be_bytes());
        for (_, chunk) in chunks {
            file.extend(chunk);
        }
        file.extend([9; 20]);
        file
    }

    fn graph(files: &[Vec<u8>]) -> Option<CommitGraph<Vec<u8>>> {
        let mut graph = CommitGraph {
            files: Vec::new(),
            hash: Kind::Sha1,
        };
        let ids = [ObjectId::Sha1([0xaa; 20]), ObjectId::Sha1([0xbb; 20])];
        for (bases, file) in files.iter().enumerate() {
            graph.add(Some(file.clone()), &ids[..bases])?;
        }
        Some(graph)
    }

    #[test]
    fn what_is_recorded_is_read() {
        let bases = [ObjectId::Sha1([0xaa; 20])];
        let graph = graph(&[file(&[]), file(&bases)]).unwrap();
        assert_eq!(graph.count(), 4);
        let id = |byte| ObjectId::Sha1([byte; 20]);
        assert_eq!(graph.position_of(&id(3)), Some(1));
        assert_eq!(graph.position_of(&id(2)), None);
        assert_eq!(graph.id_at(3), Some(id(3)));
        assert_eq!(graph.tree_at(2), Some(id(7)));
        assert_eq!((graph.id_at(4), graph.tree_at(4)), (None, None));
        let read = |position| {
            let mut parents = Vec::new();
            let found = graph.read(position, &mut parents);
            found.map(|found| (found.time_s, found.generation, parents))
        };
        assert_eq!(read(0), Some((5, 1, vec![])));
        assert_eq!(read(1), Some(((1 << 34) - 1, 2, vec![0, 1, 0])));
        assert_eq!(read(3), Some(((1 << 34) - 1, 2, vec![0, 1, 0])));
        assert_eq!(read(4), None);
    }

    #[test]
    fn a_file_that_is_based_on_others_is_none() {
        let other = [ObjectId::Sha1([0xbb; 20])];
        assert!(graph(&[file(&other)]).is_none());
        assert!(graph(&[file(&[]), file(&other)]).is_none());
        assert!(graph(&[file(&[]), file(&[])]).is_none());
    }

    #[test]
    fn no_damage_makes_a_reader_panic() {
        let whole = file(&[]);
        let ask = |bytes: Vec<u8>| {
            let Some(graph) = graph(&[bytes]) else {
                return;
            };
            for position in (0..graph.count().min(3)).chain([u32::MAX]) {
                graph.read(position, &mut Vec::new());
                graph.tree_at(position);
                graph.id_at(position);
            }
            graph.position_of(&ObjectId::Sha1([1; 20]));
        };
        for at in 0..whole.len() {
            ask(whole[..at].to_vec());
            for bits in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= bits;
                ask(bytes);
            }
        }
    }
}
