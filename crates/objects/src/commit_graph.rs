//! The commit-graph (gitformat-commit-graph(5)): the parents and times of many commits, in one file or in a chain of
//! files. It is only an optimization, so a damaged one counts as missing, apart from what git says of it.

mod layer;

use std::fs::Metadata;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};
use gix_hash::{Kind, ObjectId, oid};
use vigil_linux::map::Map;
use vigil_model::c_string::until_nul;
use vigil_stamp::file;
use vigil_stamp::paths::path_of;

use self::layer::Layer;
use super::table::{id_of, number, wide_number};

/// The value of a parent's position if there is no parent.
const NO_PARENT: u32 = 0x7000_0000;
/// A flag in the position of the second parent: the other bits are the place in the list of extra parents where the
/// second and later parents are listed.
const LISTED: u32 = 1 << 31;
/// A flag on the last listed parent of a commit.
const LAST: u32 = 1 << 31;
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

/// What git reads of the files beside commits, and so complains about (`commitGraph.*` in git-config(1)).
#[derive(Clone, Copy, Debug)]
pub struct OptionalParts {
    /// The better generation numbers (`commitGraph.generationVersion`).
    pub generations: bool,
    /// The filters for changed paths (`commitGraph.changedPathsVersion`).
    pub changed_paths: bool,
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
    /// Opens the first commit-graph in the `folders` of objects: the repository's own and its alternates. git's complaints about
    /// damage are appended to `complaints`, as whole lines.
    pub fn open(
        folders: &[PathBuf],
        hash: Kind,
        parts: OptionalParts,
        complaints: &mut Vec<BString>,
    ) -> Option<Self> {
        let mut opening = Opening {
            folders,
            hash,
            parts,
            complaints,
        };
        folders
            .iter()
            .find_map(|folder| opening.single(folder).or_else(|| opening.chain(folder)))
    }

    fn new(hash: Kind) -> Self {
        Self {
            files: Vec::new(),
            hash,
        }
    }
}

/// The way to a commit-graph.
struct Opening<'a> {
    folders: &'a [PathBuf],
    hash: Kind,
    parts: OptionalParts,
    complaints: &'a mut Vec<BString>,
}

impl Opening<'_> {
    fn layer(&mut self, path: &Path) -> Option<Layer<Map>> {
        // Opening a pipe would block, and a device has no length.
        let file = file::open(path).ok()?;
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        let len = usize::try_from(metadata.len()).ok()?;
        if len == 0 {
            // Nothing can be mapped.
            Layer::parse(&[][..], self.hash, self.parts, self.complaints)?;
            return None;
        }
        let bytes = Map::read_only(&file, len).ok()?;
        Layer::parse(bytes, self.hash, self.parts, self.complaints)
    }

    fn single(&mut self, folder: &Path) -> Option<CommitGraph> {
        let mut graph = CommitGraph::new(self.hash);
        let layer = self.layer(&folder.join("info/commit-graph"))?;
        graph.add(layer, &[], self.complaints)?;
        Some(graph)
    }

    /// Opens the files of a chain, each of which may be in any folder. Those found so far can be used without those that are based
    /// on them.
    fn chain(&mut self, folder: &Path) -> Option<CommitGraph> {
        let list = read_list(&folder.join(CHAIN))?;
        let hex_len = self.hash.len_in_hex();
        if list.len() < hex_len {
            if !list.is_empty() {
                self.complaints
                    .push("warning: commit-graph chain file too small".into());
            }
            return None;
        }
        let lines_max = (list.len() / hex_len.saturating_add(1)).min(FILES_MAX);
        let mut graph = CommitGraph::new(self.hash);
        let mut ids = Vec::new();
        for line in list.lines().take(lines_max) {
            let line = until_nul(line);
            let id = line.get(..hex_len).map(ObjectId::from_hex);
            let Some(Ok(id)) = id else {
                let [before, after] = [
                    "warning: invalid commit-graph chain: line '",
                    "' not a hash",
                ];
                let text = [before.as_bytes(), line, after.as_bytes()].concat();
                self.complaints.push(text.into());
                break;
            };
            let name = [b"info/commit-graphs/graph-", line, b".graph"].concat();
            let folders = self.folders;
            let layer = folders
                .iter()
                .find_map(|folder| self.layer(&folder.join(path_of(name.as_bstr()))));
            if layer
                .and_then(|layer| graph.add(layer, &ids, self.complaints))
                .is_none()
            {
                self.complaints
                    .push("warning: unable to find all commit-graph files".into());
                break;
            }
            ids.push(id);
        }
        (!graph.files.is_empty()).then_some(graph)
    }
}

/// The list of a chain's files.
const CHAIN: &str = "info/commit-graphs/commit-graph-chain";

/// Reads the names of a chain's files, or `None` if the list is longer than any chain needs.
fn read_list(path: &Path) -> Option<Vec<u8>> {
    let file = file::open(path).ok()?;
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    let len = Some(metadata.len()).filter(|len| *len <= LIST_LEN_MAX)?;
    file::read_to_end(file, Some(len), LIST_LEN_MAX).ok()
}

impl<B: Deref<Target = [u8]>> CommitGraph<B> {
    /// Adds a file, which must be based on those before, which have these ids.
    fn add(
        &mut self,
        mut layer: Layer<B>,
        bases: &[ObjectId],
        complaints: &mut Vec<BString>,
    ) -> Option<()> {
        let own: Vec<&[u8]> = self.files.iter().map(Layer::checksum).collect();
        if let Some(complaint) = layer.mismatch(&own, bases) {
            complaints.push(format!("warning: {complaint}").into());
            return None;
        }
        layer.follow(self.count())?;
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
            let row = |position| file.row(position);
            let found = file.fanout.search(id.as_bytes(), row).ok()?;
            file.first.checked_add(found)
        })
    }

    /// Returns the id of the commit at `position`.
    pub fn id_at(&self, position: u32) -> Option<ObjectId> {
        let (file, at) = self.file_of(position)?;
        id_of(file.row(at)?)
    }

    /// Returns the tree of the commit at `position`.
    pub fn tree_at(&self, position: u32) -> Option<ObjectId> {
        let (file, at) = self.file_of(position)?;
        id_of(file.commit(at)?.get(..self.hash.len_in_bytes())?)
    }

    /// Returns the fields of the commit at `position`, and appends its parents' positions to `parents`. `None` if the
    /// file is damaged there.
    pub fn read(&self, position: u32, parents: &mut Vec<u32>) -> Option<Recorded> {
        let (file, at) = self.file_of(position)?;
        let fixed = file.commit(at)?.get(self.hash.len_in_bytes()..)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::CHUNK_LEN;

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
        let ids = [ObjectId::Sha1([9; 20]), ObjectId::Sha1([0xbb; 20])];
        let parts = OptionalParts {
            generations: true,
            changed_paths: true,
        };
        let mut complaints = Vec::new();
        for (bases, file) in files.iter().enumerate() {
            let layer = Layer::parse(file.clone(), Kind::Sha1, parts, &mut complaints)?;
            graph.add(layer, &ids[..bases], &mut complaints)?;
        }
        assert_eq!(complaints, [] as [&str; 0]);
        Some(graph)
    }

    #[test]
    fn what_is_recorded_is_read() {
        let bases = [ObjectId::Sha1([9; 20])];
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
