//! Names that are difficult to handle.

use bstr::BString;

use super::rng::Rng;

/// Names of files: prefixes of one another, special characters, bytes that are not text.
const FILES: &[&[u8]] = &[
    b"a",
    b"a.b",
    b"a-b",
    b"a0",
    b"b",
    b"c.txt",
    b"A",
    b"README",
    b"with space",
    b" lead",
    b"trail ",
    b"qu\"ote",
    b"ap'os",
    b"tab\there",
    b"new\nline",
    b"back\\slash",
    b"-dash",
    b"--help",
    b"star*",
    b"[x]",
    b"q?m",
    b"!bang",
    b"#hash",
    b"$HOME",
    b":(top)",
    b"caf\xc3\xa9",
    b"cafe\xcc\x81",
    b"\xff\xfe",
    b"\x01\x7f",
    b"foo.o",
    b"foo.c",
    b".hidden",
    b"..dots",
    b"x.log",
    b"build",
    b"\xe2\x80\x8bzw",
    b"a\xc2\xa0b",
    b"~tilde",
    b"z",
    b"a -> b",
];

/// Names of directories.
const DIRECTORIES: &[&[u8]] = &[
    b"dir",
    b"dir.d",
    b"dir-d",
    b"a",
    b"sub",
    b"build",
    b"s p",
    b"-d",
    b"\xc3\xa9",
    b"d*",
    b"x.log",
    b"Dir",
    b"n\nl",
    b"\xf0\x28",
    b"deep",
];

/// The paths of one run. There are only a few, so that operations often meet.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Files, relative to the working tree, the most frequently used first.
    pub files: Vec<BString>,
    /// Directories, relative to the working tree, the most frequently used first.
    pub directories: Vec<BString>,
}

/// `directory/name`, or `name` if there is no directory.
pub fn join(directory: &[u8], name: &[u8]) -> BString {
    if directory.is_empty() {
        name.into()
    } else {
        [directory, b"/", name].concat().into()
    }
}

impl Pool {
    /// Creates a pool of `size` files. `is_plain` keeps the names ordinary.
    pub fn new(rng: &mut Rng, size: usize, is_plain: bool) -> Self {
        let name = |rng: &mut Rng, names: &[&'static [u8]], plain: usize| -> &'static [u8] {
            let names = if is_plain {
                names.get(..plain).unwrap_or(names)
            } else {
                names
            };
            rng.pick(names)
        };
        let mut directories: Vec<BString> = Vec::new();
        for _ in 0..12 {
            let parent = if rng.chance(50) {
                BString::default()
            } else {
                rng.pick(&directories)
            };
            let directory = join(&parent, name(rng, DIRECTORIES, 6));
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        let mut files: Vec<BString> = Vec::new();
        for number in 0..size {
            let parent = if rng.chance(30) {
                BString::default()
            } else {
                rng.pick(&directories)
            };
            let mut file = join(&parent, name(rng, FILES, 8));
            if files.contains(&file) {
                file = join(&parent, format!("f{number}").as_bytes());
            }
            files.push(file);
        }
        Self { files, directories }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_and_stay_inside() {
        for seed in 0..50 {
            let pool = Pool::new(&mut Rng::new(seed), 80, seed % 2 == 0);
            assert_eq!(pool.files.len(), 80);
            for path in pool.files.iter().chain(&pool.directories) {
                assert!(!path.starts_with(b"/"));
                assert!(path.split(|byte| *byte == b'/').all(|part| {
                    !part.is_empty() && part != b"." && part != b".." && part != b".git"
                }));
            }
        }
    }
}
