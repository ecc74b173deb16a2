//! Damage to the files in which objects are stored.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::crafted;
use super::repositories::SoundRepository;
use crate::random::rng::Rng;

/// The number of bytes of a damage that are printed.
const SHOWN_MAX: usize = 120;

/// One change of a file, whose path is relative to the top of the repository's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Some bytes are overwritten.
    Bytes(PathBuf, usize, Vec<u8>),
    /// The file is truncated.
    Truncated(PathBuf, usize),
    /// Bytes are appended.
    Appended(PathBuf, Vec<u8>),
    /// The file has these contents.
    Written(PathBuf, Vec<u8>),
    /// The file is removed.
    Removed(PathBuf),
    /// The file is replaced by a folder.
    Folder(PathBuf),
    /// The file is replaced by a symbolic link to this target.
    Link(PathBuf, PathBuf),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |bytes: &[u8]| {
            let part = bytes.get(..SHOWN_MAX).unwrap_or(bytes);
            format!("{} bytes \"{}\"", bytes.len(), part.escape_ascii())
        };
        match self {
            Self::Bytes(path, at, bytes) => {
                write!(f, "{} has at {at} {}", path.display(), shown(bytes))
            }
            Self::Truncated(path, len) => write!(f, "{} is cut to {len}", path.display()),
            Self::Appended(path, bytes) => {
                write!(f, "{} goes on with {}", path.display(), shown(bytes))
            }
            Self::Written(path, bytes) => write!(f, "{} is {}", path.display(), shown(bytes)),
            Self::Removed(path) => write!(f, "{} is removed", path.display()),
            Self::Folder(path) => write!(f, "{} is a folder", path.display()),
            Self::Link(path, to) => write!(f, "{} links to {}", path.display(), to.display()),
        }
    }
}

impl Damage {
    /// Whether the ids in the index of a pack may be unsorted afterwards. git sorts them before it lists them, but a
    /// candidate may trust that they are sorted.
    pub fn is_of_index(&self) -> bool {
        let (Self::Bytes(path, ..)
        | Self::Truncated(path, _)
        | Self::Appended(path, _)
        | Self::Written(path, _)
        | Self::Removed(path)
        | Self::Folder(path)
        | Self::Link(path, _)) = self;
        let is_index = path.extension().is_some_and(|name| name == "idx");
        is_index && !path.ends_with("pack-crafted.idx")
    }

    /// Applies the damage to the repository at `top`. A file that no longer exists is skipped.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn apply(&self, top: &Path) -> io::Result<()> {
        match self {
            Self::Bytes(path, at, bytes) => edit(&top.join(path), |contents| {
                let end = at.saturating_add(bytes.len()).min(contents.len());
                let part = contents.get_mut(*at..end).unwrap_or_default();
                part.iter_mut()
                    .zip(bytes)
                    .for_each(|(old, new)| *old = *new);
            }),
            Self::Truncated(path, len) => edit(&top.join(path), |contents| contents.truncate(*len)),
            Self::Appended(path, bytes) => edit(&top.join(path), |contents| contents.extend(bytes)),
            Self::Written(path, bytes) => {
                let path = top.join(path);
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                remove(&path)?;
                match path.is_dir() {
                    true => Ok(()),
                    false => fs::write(path, bytes),
                }
            }
            Self::Removed(path) => remove(&top.join(path)),
            Self::Folder(path) => {
                let path = top.join(path);
                remove(&path)?;
                fs::create_dir_all(path)
            }
            Self::Link(path, to) => {
                let path = top.join(path);
                remove(&path)?;
                match path.symlink_metadata().is_ok() {
                    true => Ok(()),
                    false => std::os::unix::fs::symlink(to, path),
                }
            }
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_dir() => fs::remove_file(path),
        _ => Ok(()),
    }
}

/// Changes a file's contents and keeps its mtime.
fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let modified = path.metadata()?.modified()?;
    let mut contents = fs::read(path)?;
    change(&mut contents);
    fs::write(path, contents)?;
    fs::File::options()
        .write(true)
        .open(path)?
        .set_modified(modified)
}

/// The damages of one case: those that its shape needs, and a few more.
///
/// # Errors
/// The repository cannot be read.
pub fn random(rng: &mut Rng, repository: &SoundRepository) -> io::Result<Vec<Damage>> {
    let mut damages = Vec::new();
    match repository.shape {
        "crafted" => damages.extend(crafted::pack(rng, repository)),
        "alternates" => damages.extend(lists_of_alternates(rng, repository)),
        _ => {}
    }
    let mut files = files(&repository.folder)?;
    if repository.is_loose_and_packed() {
        files.retain(|files| files.iter().all(|path| !is_loose(path)));
    }
    let count = rng.pick(&[0, 1, 1, 1, 1, 2, 2, 3]);
    for _ in 0..count {
        damages.extend(random_damage(rng, repository, &files)?);
    }
    Ok(damages)
}

/// The files in which objects are stored, grouped by kind.
fn files(top: &Path) -> io::Result<Vec<Vec<PathBuf>>> {
    let mut found = Vec::new();
    for folder in ["work/.git/objects", "a", "b", "c"] {
        if top.join(folder).is_dir() {
            collect_files(top, Path::new(folder), &mut found)?;
        }
    }
    found.sort();
    // Files that only make git faster, which a candidate may ignore.
    let is_aid = |name: &str| matches!(name, "rev" | "bitmap" | "mtimes");
    let extension = |path: &PathBuf| Some(path.extension()?.to_str()?.to_owned());
    found.retain(|path| !extension(path).is_some_and(|name| is_aid(&name)));
    let kind = |path: &PathBuf| match extension(path).as_deref() {
        Some("pack") => 0,
        Some("idx") => 1,
        Some("midx") => 2,
        Some(_) => 4,
        None if path.ends_with("multi-pack-index") => 2,
        None if path.ends_with("multi-pack-index-chain") => 3,
        None => 5,
    };
    let mut kinds = vec![Vec::new(); 6];
    for path in found {
        if let Some(files) = kinds.get_mut(kind(&path)) {
            files.push(path);
        }
    }
    kinds.retain(|files| !files.is_empty());
    Ok(kinds)
}

/// Whether a file is a loose object: its name is an id without the first two digits.
fn is_loose(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.len() >= 38 && name.iter().all(u8::is_ascii_hexdigit)
}

fn collect_files(top: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(top.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect_files(top, &path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

/// Integers at which sizes, offsets and counts tend to go wrong.
const INTEGERS: [u32; 10] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    u32::MAX,
];

fn random_damage(
    rng: &mut Rng,
    repository: &SoundRepository,
    files: &[Vec<PathBuf>],
) -> io::Result<Option<Damage>> {
    let kind = rng.pick(files);
    let path = rng.pick(&kind);
    if kind.is_empty() {
        return Ok(None);
    }
    let contents = fs::read(repository.folder.join(&path))?;
    let at = interesting_offset(rng, repository, &path, &contents)?;
    let byte = contents.get(at).copied().unwrap_or_default();
    let random_len = |rng: &mut Rng| random_below(rng, contents.len().saturating_add(1));
    Ok(Some(match rng.below(100) {
        0..30 => Damage::Bytes(path, at, vec![byte ^ 1 << rng.below(8)]),
        30..36 => Damage::Bytes(path, at, vec![rng.next().to_le_bytes()[0]]),
        36..46 => Damage::Bytes(path, at, rng.pick(&INTEGERS).to_be_bytes().to_vec()),
        46..52 => Damage::Bytes(path, at, vec![0; rng.pick(&[2, 8, 20, 100, 1000])]),
        52..60 => {
            let len = random_len(rng);
            Damage::Truncated(path, len)
        }
        60..63 => Damage::Truncated(path, contents.len().saturating_sub(random_below(rng, 40))),
        63..67 => Damage::Appended(path, random_bytes(rng)),
        67..70 => Damage::Truncated(path, 0),
        70..73 => Damage::Written(path, random_bytes(rng)),
        73..79 => Damage::Removed(path),
        79..81 if path.extension().is_some_and(|name| name == "pack") => Damage::Folder(path),
        81 => Damage::Link(path, "nowhere".into()),
        82 => Damage::Link(path.clone(), path.file_name().unwrap_or_default().into()),
        83..88 => {
            let other = rng.pick(&kind);
            Damage::Written(path, fs::read(repository.folder.join(other))?)
        }
        _ => match reencoded(rng, &contents) {
            Some(bytes) => Damage::Written(path, bytes),
            None => Damage::Bytes(path, at, vec![byte ^ 0x80]),
        },
    }))
}

fn random_below(rng: &mut Rng, bound: usize) -> usize {
    usize::try_from(rng.below(bound as u64)).unwrap_or_default()
}

fn random_bytes(rng: &mut Rng) -> Vec<u8> {
    let len = rng.pick(&[1, 3, 12, 50, 2000]);
    let mut bytes = Vec::new();
    while bytes.len() < len {
        bytes.extend(rng.next().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// An offset at which damage to the file is likely to matter.
fn interesting_offset(
    rng: &mut Rng,
    repository: &SoundRepository,
    path: &Path,
    contents: &[u8],
) -> io::Result<usize> {
    let anywhere = random_below(rng, contents.len());
    Ok(match rng.below(4) {
        0 => random_below(rng, contents.len().min(110)),
        1 => contents
            .len()
            .saturating_sub(1 + random_below(rng, 2 * repository.id_len)),
        2 if path.extension().is_some_and(|name| name == "pack") => {
            let index = fs::read(repository.folder.join(path).with_extension("idx"))?;
            let offsets = crafted::offsets(&index, repository.id_len);
            rng.pick(&offsets) + random_below(rng, 6)
        }
        _ => anywhere,
    })
}

/// A loose object with a wrong header, or with additional contents.
fn reencoded(rng: &mut Rng, contents: &[u8]) -> Option<Vec<u8>> {
    let mut object = Vec::new();
    ZlibDecoder::new(contents).read_to_end(&mut object).ok()?;
    let end = object.iter().position(|byte| *byte == 0)?;
    let (header, rest) = object.split_at_checked(end)?;
    let header = String::from_utf8_lossy(header);
    let (kind, size) = header.split_once(' ')?;
    let size: u64 = size.parse().ok()?;
    // git outputs uninitialized memory if a header promises too much, for objects that it does not stream.
    let first = if kind == "blob" { 0 } else { 2 };
    let header = match first + rng.below(16 - first) {
        0 => format!("{kind} {}", size + 1),
        1 => format!("{kind} {}", size + (1 << 20)),
        2 => format!("{kind} 0"),
        3 => format!("{kind} 0{size}"),
        4 => format!("{kind} {}", size.saturating_sub(1)),
        5 => format!("{kind} {size}00000000000000000000000"),
        6 => format!("{kind}  {size}"),
        7 => format!("{kind} {size} "),
        8 => format!("{kind} -1"),
        9 => kind.to_owned(),
        10 => format!("bolb {size}"),
        11 => format!(" {size}"),
        12 => String::new(),
        13 => format!("{kind} {size}\n"),
        _ => {
            let other = rng.pick(&["blob", "tree", "commit", "tag"]);
            format!("{other} {size}")
        }
    };
    let level = rng.pick(&[0, 1, 9]);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(header.as_bytes()).ok()?;
    encoder.write_all(rest).ok()?;
    if rng.chance(10) {
        encoder.write_all(b"more").ok()?;
    }
    encoder.finish().ok()
}

/// Lists of alternates.
fn lists_of_alternates(rng: &mut Rng, repository: &SoundRepository) -> Vec<Damage> {
    let lists = [
        ("work/.git/objects", "../../../"),
        ("a", "../"),
        ("b", "../"),
        ("c", "../"),
    ];
    let mut damages = Vec::new();
    for (folder, up) in lists {
        if folder != "work/.git/objects" && rng.chance(50) {
            continue;
        }
        let mut text = String::new();
        for _ in 0..rng.pick(&[1, 1, 2, 3, 4]) {
            let other = rng.pick(&["a", "a", "b", "c", "work/.git/objects", "nowhere"]);
            let line = match rng.below(14) {
                0 => format!("{}/{other}", repository.folder.display()),
                1 => format!("\"{up}{other}\""),
                2 => format!("\"{}\"", other.replace('a', "\\141")),
                3 => format!("\"{up}{other}"),
                4 => format!("# {up}{other}"),
                5 => format!("{up}./{other}/../{other}/"),
                6 => format!("{up}{other}//"),
                7 => String::new(),
                8 => format!("{up}{other}\r"),
                9 => format!("{up}{other}/pack/../"),
                _ => format!("{up}{other}"),
            };
            text.push_str(&line);
            text.push('\n');
        }
        if rng.chance(20) {
            text.pop();
        }
        let path = Path::new(folder).join("info/alternates");
        damages.push(Damage::Written(path, text.into_bytes()));
    }
    damages
}
